"""Paths of pictures as a table writes them: normalised, and refused where they leave the folder of the pictures."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core.reading import DataError
from onetag.readers._strings import lengths, raw
from onetag.readers._tags import RowError, as_text

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 4096  # rows; what is made of more of them at once is given back to the kernel each time, and faulted in again
_SLASH, _DOT = ord("/"), ord(".")
_REMEDY = "give --images DIR, the folder that holds the pictures, and paths inside it"
_LONGEST = 4096  # what file systems take
_NO_PATH = frozenset({"nan", "NaN", "None", "null", "NULL", "<NA>"})


class PathCheck:
    """Checks a column of paths, a batch at a time. `folder` is where relative paths start; `prefix` is put before every path."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder = folder
        self.prefix = prefix
        self.met_absolute = False
        self._inside = tuple({posixpath.join(str(p), "") for p in (folder.absolute(), folder.resolve())})

    def __call__(self, column: pa.Array) -> pa.StringArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        paths = as_text(column)
        starts = range(0, len(paths), _PIECE)
        if any(b"\\" in raw(paths.slice(start, _PIECE)) for start in starts):
            paths = pc.replace_substring(paths, "\\", "/")
        for start in starts:
            try:
                self._look(paths.slice(start, _PIECE))
            except RowError as error:
                raise error.moved(start) from None
        return pc.binary_join_element_wise(pa.scalar(self.prefix), paths, "/") if self.prefix else paths

    def _look(self, paths: pa.StringArray) -> None:
        import pyarrow.compute as pc

        data = raw(paths)
        self._refuse_nonsense(paths, data)
        suspects = self._outside(paths, data)
        dots = np.flatnonzero(np.frombuffer(data, np.uint8) == _DOT)
        if (dots[1:] - dots[:-1] == 1).any():  # twice as fast as to search the bytes for two dots
            suspects |= pc.match_substring(paths, "..").to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(suspects).tolist():
            path = posixpath.normpath(paths[at].as_py())
            if path.startswith("/") or path[1:3] == ":/":
                if not path.startswith(self._inside):
                    raise RowError(at, f"the path {path!r} lies outside {self.folder}; {_REMEDY}")
            elif path.split("/")[0] == "..":
                raise RowError(at, f"the path {path!r} leaves {self.folder}; {_REMEDY}")

    def _outside(self, paths: pa.StringArray, data: bytes) -> NDArray[np.bool_]:
        """Absolute paths that do not begin with the folder."""
        import pyarrow.compute as pc

        ends = np.cumsum(lengths(paths))
        absolute: NDArray[np.bool_] = np.frombuffer(data, np.uint8)[np.concatenate([[0], ends[:-1]])] == _SLASH
        if b":" in data:
            absolute |= pc.match_substring_regex(paths, r"^[A-Za-z]:/").to_numpy(zero_copy_only=False)
        if absolute.any():
            self.met_absolute = True
            for folder in self._inside:
                absolute &= ~pc.starts_with(paths, folder).to_numpy(zero_copy_only=False)
        return np.asarray(absolute)

    def _refuse_nonsense(self, paths: pa.StringArray, data: bytes) -> None:
        import pyarrow.compute as pc

        sizes = lengths(paths)
        if not sizes.min(initial=1):
            raise RowError(int((sizes == 0).argmax()), "no path; every row names a picture")
        if sizes.max(initial=0) > _LONGEST:
            at = int((sizes > _LONGEST).argmax())
            raise RowError(
                at,
                f"a path of {sizes[at]:,} bytes ({paths[at].as_py()[:40]!r} ...); file systems take {_LONGEST:,}; is the separator right?",
            )
        for wrong, what in (
            (b"\n", "a line break; a quote is probably opened and never closed"),
            (b"\r", "a line break"),
            (b"\0", "a zero byte"),
        ):
            if wrong in data:
                at = int(pc.index(pc.match_substring(paths, wrong.decode()), True).as_py())
                raise RowError(at, f"the path {paths[at].as_py()[:60]!r} holds {what}")
        if sizes.min(initial=9) <= 4:
            for at in np.flatnonzero(sizes <= 4).tolist():
                if paths[at].as_py() in _NO_PATH:
                    raise RowError(
                        at,
                        f"the path is {paths[at].as_py()!r}, which is how programs write that nothing is there; every row names a picture",
                    )


def refuse_outside(source: Path, names: Iterable[str], first_row: int | None = 1) -> None:
    """A DataError for the first of these names that leaves the folder of the pictures."""
    for at, name in enumerate(names):
        if name.startswith("/") or posixpath.normpath(name).split("/")[0] == ".." or "\0" in name or not name:
            row = None if first_row is None else first_row + at
            raise DataError(source, f"{name[:80]!r} is no path inside the folder of the pictures; {_REMEDY}", row)
