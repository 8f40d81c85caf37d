"""From what a person names as data - a path, or a data set's name - to Data, by the reader that recognises it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag import catalog
from onetag.core.errors import OnetagError, UsageError, nearest
from onetag.core.reading import PICTURE_SUFFIXES, Reader, ReadOptions
from onetag.core.split import Data
from onetag.core.vocabulary import Vocabulary, beside


@dataclass(frozen=True)
class NamedData:
    """A data set that is found by name: which reader reads its folder, and whether absent tags mean absent."""

    reader: str
    complete: bool
    summary: str
    built_in: bool = False


NAMED: Mapping[str, NamedData] = {
    "coco10k": NamedData(
        "csv",
        True,
        "10,500 photographs of MS-COCO with all 80 tags, 256 x 256 (scripts/make_coco10k.py makes it from the official archives)",
    ),
    "scenes": NamedData(
        "scenes", True, "drawn scenes with 24 kinds of objects, made on this machine; full truth known", built_in=True
    ),
}


def load(
    source: str | Path,
    *,
    labels: str | None = None,
    format: str | None = None,
    path_column: str | None = None,
    tags_column: str | None = None,
    group_column: str | None = None,
    separator: str | None = None,
    zero: str | None = None,
    images: str | Path | None = None,
    places: Mapping[str, str] | None = None,
) -> Data:
    """Read data: an image folder, a table, a feature matrix, or a named data set. `labels` says what an absent tag means:
    "partial" (unknown, the default for folders and tables) or "complete" (absent)."""
    for name, value, valid in (("labels", labels, ("partial", "complete")), ("zero", zero, ("unknown", "negative"))):
        if value is not None and value not in valid:
            raise UsageError(f"{name} is {value!r}; {nearest(value, valid)}")
    options = ReadOptions(
        labels, path_column, tags_column, group_column, separator, zero, Path(images) if images else None
    )
    return read(str(source), options, format, places or {})


def read(source: str, options: ReadOptions, format: str | None = None, places: Mapping[str, str] | None = None) -> Data:
    """Data from a path or a data set's name, under the names of a `labels.toml` beside it."""
    data = _read(source, options, format, places)
    found = beside(data.source) if data.source is not None else None
    return data if found is None else Vocabulary.read(found).apply(data)


def _read(
    source: str, options: ReadOptions, format: str | None = None, places: Mapping[str, str] | None = None
) -> Data:
    named = NAMED.get(source)
    if named is not None and not Path(source).exists():
        reader = _reader(named.reader)
        path = Path(source) if named.built_in else _place(source, places or {})
        return reader.read(path, replace(options, labels=options.labels or ("complete" if named.complete else None)))
    path = Path(source)
    if not path.exists():
        raise OnetagError(
            f"{source}: there is no such file or folder, and no data set of that name ({', '.join(NAMED)})"
        )
    if format is not None:
        return _reader(format).read(path, options)
    readers = [_reader(entry.name) for entry in catalog.entries("readers")]
    for reader in sorted(readers, key=lambda reader: reader.priority):
        if reader.recognises(path):
            return reader.read(path, options)
    known = ", ".join(catalog.names("readers"))
    raise OnetagError(f"{source}: not recognised as any of these formats: {known}. `--format NAME` forces one")


def _reader(name: str) -> Reader:
    made = catalog.find("readers", name).load()()
    assert isinstance(made, Reader)
    return made


def _place(name: str, places: Mapping[str, str]) -> Path:
    """Where a named data set lies: `--data NAME=PATH`, or a folder of its name inside `$ONETAG_DATA`."""
    if name in places:
        path = Path(places[name])
        if not path.exists():
            raise OnetagError(f"--data {name}={places[name]}: there is no such folder")
        return path
    root = os.environ.get("ONETAG_DATA")
    if root and (Path(root) / name).exists():
        return Path(root) / name
    raise OnetagError(
        f"data set {name} is not found: say where it lies with --data {name}=PATH, "
        f"or put a folder {name!r} into the one that ONETAG_DATA names"
        + (f" (it names {root})" if root else " (it is not set)")
    )


@dataclass(frozen=True)
class Pictures:
    """Pictures to be tagged: names as they will be written, and where they lie; or feature vectors."""

    ids: list[str]
    paths: list[str]
    features: NDArray[np.floating] | None = None


def pictures(
    source: str, options: ReadOptions, format: str | None = None, places: Mapping[str, str] | None = None
) -> Pictures:
    """What `onetag predict` takes: a picture, a folder of pictures (searched through), a glob, a list of paths (.txt), or data."""
    path = Path(source)
    if format is None and path.is_file() and path.suffix.lower() in PICTURE_SUFFIXES:
        return Pictures([source], [source])
    if format is None and path.is_dir() and not _is_features(path):
        found = sorted(
            str(Path(folder, name).relative_to(path))
            for folder, folders, names in os.walk(path)
            for name in names
            if not name.startswith(".") and Path(name).suffix.lower() in PICTURE_SUFFIXES and _visible(folders)
        )
        if not found:
            raise OnetagError(f"{source}: this folder holds no pictures")
        return Pictures([name.replace(os.sep, "/") for name in found], [str(path / name) for name in found])
    if format is None and path.is_file() and path.suffix.lower() == ".txt":
        try:
            lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
        except UnicodeDecodeError as error:
            raise OnetagError(f"{source}: not a list of paths in UTF-8 ({error})") from error
        return Pictures(lines, [str(path.parent / line) for line in lines])
    if format is None and not path.exists() and any(sign in source for sign in "*?["):
        found = sorted(name for name in glob(source, recursive=True) if Path(name).suffix.lower() in PICTURE_SUFFIXES)
        if not found:
            raise OnetagError(f"{source}: no picture matches")
        return Pictures(found, found)
    split = read(source, options, format, places).only()
    if split.features is not None:
        return Pictures(split.ids.tolist(), [], split.features)
    if split.paths is None:
        raise OnetagError(f"{source}: this data names no pictures")
    return Pictures(split.ids.tolist(), split.paths.tolist())


def _visible(folders: list[str]) -> bool:
    folders[:] = sorted(name for name in folders if not name.startswith("."))  # os.walk goes on with what is left
    return True


def _is_features(path: Path) -> bool:
    return (path / "features.npy").exists()
