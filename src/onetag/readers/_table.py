"""Readers of tables: one file, or a folder with a table per side; what CSV, Parquet and JSON Lines share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Split
from onetag.readers._paths import PathCheck
from onetag.readers._rows import Rows
from onetag.readers._sides import ORDER, SIDES, class_names, echo
from onetag.readers._source import Source
from onetag.readers._tags import Vocabulary


@dataclass(frozen=True)
class TableFile:
    """A table and what its place says: the side it holds, where its paths start, what stands before its ids."""

    source: Source
    side: str
    folder: Path
    prefix: str = ""


class TableReader(Reader):
    """A reader of one table format. `kind` is its name for people, `suffixes` its file names' endings."""

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    source: ClassVar[type[Source]]
    priority = 60

    def recognises(self, path: Path) -> bool:
        if path.is_dir():
            return "train" in side_files(path, self.suffixes)
        return path.suffix.casefold() in self.suffixes

    def read(self, path: Path, options: ReadOptions) -> Data:
        if path.is_dir():
            found = side_files(path, self.suffixes)
            if not found:
                raise DataError(path, f"holds no table named train{self.suffixes[0]}")
        else:
            found = {"all": path}
        files = [TableFile(self.source(file), side, options.images or file.parent) for side, file in found.items()]
        return read_tables(path, files, options, self.kind, self.complete)


def side_files(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """The tables of a folder by side: `train.csv`, `val.csv`, `test.csv`."""
    found: dict[str, Path] = {}
    for suffix in suffixes:
        for name, side in SIDES.items():
            file = folder / f"{name}{suffix}"
            if file.is_file():
                if side in found:
                    raise DataError(
                        folder,
                        f"holds two tables of the same side, {found[side].name} and {file.name}; keep one of them",
                    )
                found[side] = file
    return {side: found[side] for side in ORDER if side in found}


def vocabulary_beside(folder: Path) -> Vocabulary:
    """The classes of a `classes.txt`, or a vocabulary that grows."""
    file = folder / "classes.txt"
    return Vocabulary(class_names(file), str(file)) if file.is_file() else Vocabulary()


def read_tables(
    path: Path,
    files: list[TableFile],
    options: ReadOptions,
    kind: str,
    default: bool,
    features: NDArray[np.floating] | None = None,
) -> Data:
    """Tables that share one list of classes, as Data. With features, paths are names only, and may be missing."""
    needs_path = features is None
    complete = is_complete(options, default)
    thing = "picture" if needs_path else "sample"
    vocabulary = vocabulary_beside(path if path.is_dir() else path.parent)
    gathered = []
    for file in files:
        check = PathCheck(file.folder, file.prefix) if needs_path else None
        gathered.append((file, Rows(file.source, options, complete, vocabulary, check).gather()))
    classes, order = vocabulary.order()
    splits: dict[str, Split] = {}
    notes: list[str] = []
    for file, rows in gathered:
        for side, split in rows.splits(
            order, classes, file.side, _root(file) if needs_path else None, features
        ).items():
            if side in splits:
                raise DataError(
                    file.source.path,
                    f"says that it holds pictures of {side!r}, which another file holds; keep one of them",
                )
            splits[side] = split
        notes += rows.notes if len(gathered) == 1 else [f"{file.source.path.name}: {note}" for note in rows.notes]
    if not complete and options.labels is None:
        complete = _is_all_known(splits)
    if complete:
        splits = {name: _with_truth(split) for name, split in splits.items()}
    splits = {name: splits[name] for name in ORDER if name in splits}
    return Data(splits, echo(kind, gathered[0][1].echo(), splits, complete, thing), path, complete, (), tuple(notes))


def _root(file: TableFile) -> str:
    """Where ids start: without the prefix they carry."""
    folder = str(file.folder)
    return folder[: -len(file.prefix)].rstrip("/") or "/" if file.prefix else folder


def _is_all_known(splits: Mapping[str, Split]) -> bool:
    """Labelled completely in fact: 0/1 columns whose zeros the person called negative, with no empty cell."""
    return all((split.labels.rest == -1).all() for split in splits.values())


def _with_truth(split: Split) -> Split:
    return split if split.truth is not None else replace(split, truth=split.labels)
