"""Readers: files on disk become Data, one file per format."""
