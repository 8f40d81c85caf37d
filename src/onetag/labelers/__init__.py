"""Labelers, one file each: they propose pseudo-labels between epochs."""
