"""Features instead of pictures: a matrix [N, D] (.npy, .npz or a Parquet column) and a table of labels in the order of its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import nearest
from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.core.split import Data, Split
from onetag.readers._matrix import load_matrix
from onetag.readers._sources import SUFFIXES, source_of
from onetag.readers._table import TableFile, read_tables

__all__ = ["Features"]

_MATRICES = (".npy", ".npz", ".parquet", ".pq")


class Features(Reader):
    """Beside the matrix stands the table: of the same name, or called labels or table (.csv, .tsv, .parquet, .jsonl). Its path column may be missing."""

    priority = 20

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return _matrix_in(path) is not None
        suffix = path.suffix.casefold()
        return suffix in (".npy", ".npz") or (suffix in (".parquet", ".pq") and _has_features(path))

    def read(self, path: Path, options: ReadOptions) -> Data:
        matrix_file = path
        if path.is_dir():
            found = _matrix_in(path)
            if found is None:
                raise DataError(path, "holds no matrix named features.npy, features.npz or features.parquet")
            matrix_file = found
        features = load_matrix(matrix_file)
        table = _table_of(matrix_file)
        file = TableFile(source_of(table), "all", table.parent)
        data = read_tables(table, [file], options, "features", False, needs_path=False)
        rows = sum(len(split) for split in data.splits.values())
        if rows != len(features):
            repeated = "; rows that repeat a path are united, which a matrix cannot follow" if any("repeat" in note for note in data.notes) else ""
            raise DataError(table, f"has {rows:,} rows of labels for the {len(features):,} rows of {matrix_file.name}; one row each is expected{repeated}")
        return _with_features(data, features, path)


def _with_features(data: Data, features: NDArray[np.floating], path: Path) -> Data:
    from dataclasses import replace

    splits: dict[str, Split] = {}
    for name, split in data.splits.items():
        rows = data.rows[name] if name in data.rows else None
        splits[name] = replace(split, features=features if rows is None else features[rows])
    said = data.read_as.replace("read as features: ", f"read as features: {features.shape[1]:,} per sample, ")
    return replace(data, splits=splits, source=path, read_as=said)
