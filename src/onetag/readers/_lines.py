"""Small text files of official archives: their lines, their folders, and errors that name the row."""

from __future__ import annotations

import os
from pathlib import Path

from onetag.core.reading import DataError


def lines_of(path: Path) -> list[str]:
    """The lines of a text file without what ends them; empty ones at the end are left out."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(path, "is not UTF-8 text; is this the file of the official archive?") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})") from error
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def pairs_of(path: Path, what: str) -> list[tuple[str, str]]:
    """Lines of two parts, `1 name`, as every list of CUB has."""
    found = []
    for row, line in enumerate(lines_of(path), 1):
        parts = line.split(maxsplit=1)
        if len(parts) != 2:
            raise DataError(path, f"{line[:60]!r} is not {what}", row)
        found.append((parts[0], parts[1].strip()))
    return found


def first_of(root: Path, *names: str) -> Path | None:
    """The first of these that is there; a name that cannot be one is not."""
    return next((root / name for name in names if os.path.exists(root / name)), None)


def needed(root: Path, *names: str) -> Path:
    """The first of these; a DataError where none is there."""
    found = first_of(root, *names)
    if found is None:
        shown = [name[:100] for name in names]
        raise DataError(root, f"{shown[0]} is missing" + (f" (or {', '.join(shown[1:])})" if shown[1:] else ""))
    return found
