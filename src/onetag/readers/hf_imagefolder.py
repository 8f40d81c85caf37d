"""Hugging Face `imagefolder`: metadata.csv, .jsonl or .parquet with a column file_name, beside the pictures or in each of train/, test/."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.core.split import Data
from onetag.readers._kinds import first_table, source_of
from onetag.readers._sides import ORDER, side_of
from onetag.readers._table import TableFile, read_tables

__all__ = ["HuggingFaceImageFolder"]


class HuggingFaceImageFolder(Reader):
    """Sides are folders with metadata of their own, or what the paths of one metadata file begin with."""

    priority = 40

    def recognises(self, path: Path) -> bool:
        return path.is_dir() and bool(_tables(path))

    def read(self, path: Path, options: ReadOptions) -> Data:
        tables = _tables(path) if path.is_dir() else {}
        if not tables:
            raise DataError(
                path, "holds no metadata.csv, metadata.jsonl or metadata.parquet, nor do folders train and test in it"
            )
        named = options if options.path_column is not None else replace(options, path_column="file_name")
        files = []
        for name, table in tables.items():
            folder = (options.images or path) / name
            files.append(TableFile(source_of(table), side_of(name) or "all", folder, name))
        data = read_tables(path, files, named, "Hugging Face imagefolder", self.complete)
        return _by_folder(data) if set(data.splits) == {"all"} else data


def _tables(folder: Path) -> dict[str, Path]:
    """Metadata by the folder they lie in ("" = the root)."""
    own = first_table(folder, "metadata")
    if own is not None:
        return {"": own}
    try:
        names = sorted(entry.name for entry in folder.iterdir() if side_of(entry.name) is not None and entry.is_dir())
    except OSError:
        return {}
    found = {name: first_table(folder / name, "metadata") for name in names}
    return {name: table for name, table in found.items() if table is not None}


def _by_folder(data: Data) -> Data:
    """Sides from the folders that the paths begin with, where all of them are sides."""
    whole = data.splits["all"]
    tops = np.strings.partition(whole.ids, np.array("/", dtype=whole.ids.dtype))[0]
    names = {str(name): side_of(str(name)) for name in np.unique(tops)[:100]}
    if None in names.values():
        return data
    sides = {side: np.isin(tops, [name for name, mine in names.items() if mine == side]) for side in ORDER}
    splits = {side: whole.select(np.flatnonzero(mask)) for side, mask in sides.items() if mask.any()}
    shown = ", ".join(f"{side} {len(split):,}" for side, split in splits.items())
    return replace(data, splits=splits, read_as=data.read_as.replace(" pictures,", f" pictures ({shown}),", 1))
