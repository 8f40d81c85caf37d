"""Backbones: trunks that turn pictures into features, one file per family."""
