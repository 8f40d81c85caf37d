"""The engine: cached features, one training loop, scoring, checkpoints. It runs without pyarrow, rich and matplotlib."""
