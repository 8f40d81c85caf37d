"""From what a person names as data - a path, or a data set's name - to Data, by the reader that recognises it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onetag import catalog
from onetag import download as fetching
from onetag.core.errors import OnetagError, UsageError, nearest
from onetag.core.progress import Listener
from onetag.core.reading import PICTURE_SUFFIXES, Reader, ReadOptions
from onetag.core.split import Data
from onetag.core.vocabulary import Vocabulary, beside


@dataclass(frozen=True)
class NamedData:
    """A data set that is found by name: which reader reads its folder, and whether absent tags mean absent.

    `inside`: the folder the data set begins in, where there is one, so that a draw names its pictures as everybody's does.
    `sides`: what its sides are called here, where the paper calls them otherwise.
    """

    reader: str
    complete: bool
    summary: str
    built_in: bool = False
    inside: tuple[str, ...] = ()
    sides: Mapping[str, str] = field(default_factory=dict)


# The paper tests on the official validation sets: those of the tests were never given out.
_VAL_IS_TEST = {"val": "test"}
Download = bool | Literal["labels"]

NAMED: Mapping[str, NamedData] = {
    "coco10k": NamedData(
        "csv",
        True,
        "10,500 photographs of MS-COCO with all 80 tags, 256 x 256 (scripts/make_coco10k.py makes it from the official archives)",
    ),
    "coco2014": NamedData(
        "coco",
        True,
        "MS-COCO 2014: 82,081 and 40,137 photographs of everyday scenes with all of 80 tags",
        sides=_VAL_IS_TEST,
    ),
    "cub": NamedData(
        "cub", True, "CUB-200-2011: 5,994 and 5,794 photographs of birds with 312 attributes", inside=("CUB_200_2011",)
    ),
    "nuswide": NamedData(
        "nuswide", True, "NUS-WIDE: photographs of Flickr with 81 concepts, given out for a signed form"
    ),
    "scenes": NamedData(
        "scenes", True, "drawn scenes with 24 kinds of objects, made on this machine; full truth known", built_in=True
    ),
    "voc2012": NamedData(
        "voc",
        True,
        "Pascal VOC 2012: 5,717 and 5,823 photographs with all of 20 tags",
        inside=("VOCdevkit/VOC2012", "VOC2012"),
        sides=_VAL_IS_TEST,
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
    difficult: str | None = None,
    certainty: int | None = None,
    places: Mapping[str, str] | None = None,
    download: Download = False,
    listener: Listener | None = None,
) -> Data:
    """Read data: an image folder, a table, a feature matrix, or a named data set. `labels` says what an absent tag means:
    "partial" (unknown, the default for folders and tables) or "complete" (absent). `download` allows a named data set to be
    fetched where it is not there yet ("labels": without its pictures, where they come apart)."""
    for name, value, valid in (
        ("labels", labels, ("partial", "complete")),
        ("zero", zero, ("unknown", "negative")),
        ("difficult", difficult, ("unknown", "positive", "negative")),
    ):
        if value is not None and value not in valid:
            raise UsageError(f"{name} is {value!r}; {nearest(value, valid)}")
    options = ReadOptions(
        labels, path_column, tags_column, group_column, separator, zero, Path(images) if images else None,
        difficult, certainty,
    )  # fmt: skip
    return read(str(source), options, format, places or {}, download, listener)


def read(
    source: str,
    options: ReadOptions,
    format: str | None = None,
    places: Mapping[str, str] | None = None,
    download: Download = False,
    listener: Listener | None = None,
) -> Data:
    """Data from a path or a data set's name, under the names of a `labels.toml` beside it."""
    named, places = NAMED.get(source), places or {}
    if named is not None and (source in places or not _is_another(source)):
        data = _named(source, named, options, places, download, listener or Listener())
    else:
        data = _read(source, options, format)
    found = beside(data.source) if data.source is not None else None
    return data if found is None else Vocabulary.read(found).apply(data)


def _named(
    name: str, named: NamedData, options: ReadOptions, places: Mapping[str, str], download: Download, listener: Listener
) -> Data:
    """A data set by its name, its sides called as everybody calls them."""
    options = replace(options, labels=options.labels or ("complete" if named.complete else None))
    reader = _reader(named.reader)
    if named.built_in:
        return reader.read(Path(name), options)
    place = _place(name, places, download, listener)
    root = next((place / part for part in named.inside if (place / part).is_dir()), place)
    data = reader.read(root, options)
    if root != place and beside(root) is None and (outer := beside(place)) is not None:
        data = Vocabulary.read(outer).apply(data)
    new = {
        side: now for side, now in named.sides.items() if side in data.splits
    }  # one that is called so already gives way
    splits = {
        new.get(side, side): split for side, split in data.splits.items() if side in new or side not in new.values()
    }
    renamed = [f"its {side} is {name}'s {now}" for side, now in new.items()]
    absent = [archive.name for archive in fetching.missing(name, place) if not archive.labels]
    notes = data.notes
    if absent and name not in places and options.images is None:
        notes = (*notes, f"the pictures are not all here: --download brings {' and '.join(absent)}")
    return replace(data, splits=splits, read_as="; ".join([data.read_as, *renamed]), notes=notes)


def _is_another(name: str) -> bool:
    """Whether a data set's name is also a path here, to something else than that data set's own folder."""
    path = Path(name)
    return path.exists() and not any(home.exists() and home.samefile(path) for home in fetching.homes(name))


def _read(source: str, options: ReadOptions, format: str | None = None) -> Data:
    path = Path(source)
    if not path.exists():
        raise OnetagError(
            f"{source}: there is no such file or folder, and no data set of that name ({', '.join(NAMED)})"
        )
    if format is not None:
        return _reader(format).read(path, options)
    readers: list[Reader] = [entry.load()() for entry in catalog.entries("readers")]
    for reader in sorted(readers, key=lambda reader: reader.priority):
        if reader.recognises(path):
            return reader.read(path, options)
    known = ", ".join(catalog.names("readers"))
    raise OnetagError(f"{source}: not recognised as any of these formats: {known}. `--format NAME` forces one")


def _reader(name: str) -> Reader:
    made = catalog.find("readers", name).load()()
    assert isinstance(made, Reader)
    return made


def _place(name: str, places: Mapping[str, str], download: Download, listener: Listener) -> Path:
    """Where a named data set lies: `--data NAME=PATH`, a folder of its name inside `$ONETAG_DATA`, or where it was downloaded to."""
    if name in places:
        path = Path(places[name])
        if not path.exists():
            raise OnetagError(f"--data {name}={places[name]}: there is no such folder")
        return path
    homes = fetching.homes(name)
    found = next((home for home in homes if home.exists()), None)
    if download and name in fetching.SOURCES:
        found = found or homes[0]
        fetching.fetch(name, found, listener, labels_only=download == "labels")
    if found is not None:
        return found
    if download and name in fetching.BY_HAND:
        raise OnetagError(fetching.BY_HAND[name].format(folder=homes[0]))
    root = os.environ.get("ONETAG_DATA")
    size = sum(archive.size for archive in fetching.SOURCES.get(name, ()))
    raise OnetagError(
        f"data set {name} is not found: say where it lies with --data {name}=PATH, "
        f"or put a folder {name!r} into the one that ONETAG_DATA names"
        + (f" (it names {root})" if root else " (it is not set)")
        + (f"; train, eval, features and simulate fetch it with --download ({fetching.in_words(size)})" if size else "")
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
