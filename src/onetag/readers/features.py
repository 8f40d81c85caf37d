"""Features instead of pictures: a matrix [N, D] (.npy, .npz or a Parquet column) and a table of labels in the order of its rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.core.split import Data
from onetag.readers._kinds import first_table, source_of
from onetag.readers._matrix import has_features, load_matrix
from onetag.readers._table import TableFile, read_tables

__all__ = ["Features"]

_IN_FOLDER = ("features.npy", "features.npz", "features.parquet")


class Features(Reader):
    """Beside the matrix stands the table: of the same name, or called labels or table (.csv, .tsv, .parquet, .jsonl).

    Its path column may be missing; samples are then named by row. A Parquet file holds both.
    """

    priority = 20

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return any((path / name).is_file() for name in _IN_FOLDER)
        suffix = path.suffix.casefold()
        return suffix in (".npy", ".npz") or (suffix in (".parquet", ".pq") and has_features(path))

    def read(self, path: Path, options: ReadOptions) -> Data:
        file = next((path / name for name in _IN_FOLDER if (path / name).is_file()), None) if path.is_dir() else path
        if file is None:
            raise DataError(path, f"holds no matrix; one of {', '.join(_IN_FOLDER)} is expected")
        features = load_matrix(file)
        table = file if has_both(file) else first_table(file.parent, file.stem, "labels", "table")
        if table is None:
            raise DataError(
                file,
                f"has no table of labels beside it; {file.stem}.csv, labels.csv or table.csv is expected, one row per row of the matrix",
            )
        data = read_tables(
            path, [TableFile(source_of(table), "all", table.parent)], options, "features", self.complete, features
        )
        shape = f"read as features: {file.name} [{len(features):,} x {features.shape[1]:,}], "
        return replace(data, source=path, read_as=data.read_as.replace("read as features: ", shape, 1))


def has_both(path: Path) -> bool:
    """A Parquet file that has more than its features."""
    if path.suffix.casefold() not in (".parquet", ".pq"):
        return False
    return any(name != "features" for name in source_of(path).names() or ())
