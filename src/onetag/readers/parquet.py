"""Parquet: the columns of a CSV table, where tags may also be real lists; also a folder that holds train.parquet."""

from __future__ import annotations

from onetag.readers._columnar import Columnar
from onetag.readers._table import TableReader

__all__ = ["Parquet"]


class Parquet(TableReader):
    """Rows are counted from 1: there is no row of column names."""

    kind = "Parquet"
    suffixes = (".parquet", ".pq")
    source = Columnar
