"""JSON Lines: one object a line with the columns of a CSV table, where tags may be lists; also a folder that holds train.jsonl."""

from __future__ import annotations

from onetag.readers._json_lines import JsonLines
from onetag.readers._table import TableReader

__all__ = ["Jsonl"]


class Jsonl(TableReader):
    """Rows are lines, counted from 1."""

    kind = "JSON Lines"
    suffixes = (".jsonl", ".ndjson")
    source = JsonLines
