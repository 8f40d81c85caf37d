"""CSV and TSV: a path and its tags per row, or one column per class; also a folder that holds train.csv (and val.csv, test.csv)."""

from __future__ import annotations

from onetag.readers._delimited import Delimited
from onetag.readers._table import TableReader

__all__ = ["Csv"]


class Csv(TableReader):
    """The delimiter is what the row of column names is written with, whatever the file is called."""

    kind = "CSV"
    suffixes = (".csv", ".tsv", ".tab")
    source = Delimited
