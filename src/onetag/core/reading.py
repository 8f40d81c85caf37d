"""The contract of readers: files on disk become Data, and everything that is wrong is said with file, row and what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from onetag.core.errors import OnetagError
from onetag.core.split import Data

_SEPARATORS = ("|", ";", ",", "\t")

PICTURE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jfif"}
)


@dataclass(frozen=True)
class ReadOptions:
    """What a person may say about data that does not say it itself; None: find out, or take the format's default."""

    labels: str | None = None
    path_column: str | None = None
    tags_column: str | None = None
    group_column: str | None = None
    separator: str | None = None
    zero: str | None = None
    images: Path | None = None
    difficult: str | None = None  # Pascal VOC: what objects marked difficult are: "unknown", "positive" or "negative"
    certainty: int | None = None  # CUB: annotations of a lower certainty (1 not visible .. 4 definitely) are unknown


class DataError(OnetagError):
    """Data that cannot be read: file, row (counted as a person counts them in the file), what is wrong, what would be right."""

    def __init__(self, path: Path, message: str, row: int | None = None) -> None:
        where = f"{path}, row {row}" if row is not None else f"{path}"
        super().__init__(f"{where}: {message}")
        self.path, self.row = path, row


class Reader:
    """Base of all readers. `priority`: lower ones are asked first whether they recognise a path. `complete`: what an absent tag means by
    default (False: unknown). A reader looks at names and first lines to recognise, and never reads pictures' pixels."""

    priority: ClassVar[int] = 50
    complete: ClassVar[bool] = False

    def recognises(self, path: Path) -> bool:
        raise TypeError(f"{type(self).__name__} does not say what it recognises: define recognises(path)")

    def read(self, path: Path, options: ReadOptions) -> Data:
        raise TypeError(f"{type(self).__name__} does not say how it reads: define read(path, options)")


def is_complete(options: ReadOptions, default: bool) -> bool:
    """Whether an absent tag means *absent*: as the person says, else the format's default."""
    return default if options.labels is None else options.labels == "complete"


def separator_for(classes: Sequence[str]) -> tuple[str, str]:
    """What stands between tags in a cell, and what ends a cell: where a name has a character that a reader might take for a
    separator, the real one ends every cell, so that it is met first."""
    used = [sign for sign in _SEPARATORS if any(sign in name for name in classes)]
    free = next((sign for sign in _SEPARATORS if sign not in used), None)
    if free is None:
        raise OnetagError(
            "the class names use |, ; , and tab: no separator is left for a table; rename one in labels.toml"
        )
    return free, free if used else ""
