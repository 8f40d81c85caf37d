"""The torch contracts: losses, labelers, backbones, label batches, and the per-cell formulas they share."""
