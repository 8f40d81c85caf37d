"""Losses, one file each: what stands in `__all__` of a file is listed, documented and tested by itself."""
