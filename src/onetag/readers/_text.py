"""Text as numpy arrays: fixed-width where it is small; where it is large, in Arrow's buffers until an array is needed.

Five million paths of fixed width would take a gigabyte, and a single long one among them many more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from onetag.readers._strings import lengths, matrices

if TYPE_CHECKING:
    import pyarrow as pa

_FIXED_WIDTH = 1 << 24  # characters up to which a whole column is kept as fixed-width text (4 bytes each)


def column(chunks: Sequence[pa.StringArray]) -> NDArray[np.str_]:
    """A column that came in chunks."""
    rows = sum(len(chunk) for chunk in chunks)
    width = max((int(lengths(chunk).max(initial=1)) for chunk in chunks), default=1)
    if rows * width > _FIXED_WIDTH:
        return cast("NDArray[np.str_]", LargeText(chunks))
    return np.array([name for chunk in chunks for name in chunk.to_pylist()], dtype=np.str_)


def text_array(names: Sequence[str]) -> NDArray[np.str_]:
    """Names that are in memory already."""
    width = max(map(len, names), default=1)
    kind = np.str_ if len(names) * width <= _FIXED_WIDTH else np.dtypes.StringDType()
    return cast("NDArray[np.str_]", np.array(names, dtype=kind))


def joined(folder: str, ids: NDArray[np.str_], some_are_absolute: bool = False) -> NDArray[np.str_]:
    """Full paths; ids that are absolute already stay as they are."""
    prefix = folder if folder.endswith("/") else folder + "/"
    if isinstance(ids, LazyText):
        return cast("NDArray[np.str_]", JoinedText(prefix, ids, some_are_absolute))
    return _join(prefix, ids, some_are_absolute)


def _join(prefix: str, ids: NDArray[np.str_], some_are_absolute: bool) -> NDArray[np.str_]:
    if not len(ids):
        return ids
    paths = np.strings.add(np.array(prefix, dtype=ids.dtype if ids.dtype.kind == "T" else np.str_), ids)
    if some_are_absolute:
        is_absolute = np.strings.startswith(ids, "/")
        paths[is_absolute] = ids[is_absolute]
    return paths


class LazyText(NDArrayOperatorsMixin, ABC):
    """Behaves as the numpy array that it becomes (of StringDType) when anything but its length or single texts is asked for."""

    def __init__(self) -> None:
        self._made: NDArray[Any] | None = None
        self._lock = Lock()

    @abstractmethod
    def _make(self) -> NDArray[Any]:
        """The array."""

    def _let_go(self) -> None:
        """Of what the array was made from."""

    @abstractmethod
    def _text(self, at: int) -> str:
        """A single text."""

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.asarray(self),)  # to other processes it goes as an array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        with self._lock:  # whoever comes second waits, and finds it made
            if self._made is None:
                self._made = self._make()
                self._let_go()
        made = self._made if dtype is None else self._made.astype(dtype)
        return made.copy() if copy else made

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, LazyText) else x for x in inputs), **how)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # those of other protocols, such as pickle's, must not find an array's
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __getitem__(self, at: Any) -> Any:
        if self._made is None and isinstance(at, int | np.integer) and -len(self) <= at < len(self):
            return self._text(int(at) % len(self))
        return np.asarray(self)[at]

    def __iter__(self) -> Iterator[str]:
        return iter(np.asarray(self))

    @abstractmethod
    def __len__(self) -> int: ...

    def __repr__(self) -> str:
        return repr(np.asarray(self))


class LargeText(LazyText):
    """A column of text in Arrow's buffers; these are let go when it becomes an array."""

    def __init__(self, chunks: Sequence[pa.StringArray]) -> None:
        super().__init__()
        self._chunks = list(chunks)
        self._starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _text(self, at: int) -> str:
        chunks, place = self._chunks, int(np.searchsorted(self._starts, at, side="right")) - 1
        if not chunks:  # another thread has made the array meanwhile
            return str(np.asarray(self)[at])
        return str(chunks[place][at - int(self._starts[place])].as_py())

    def _make(self) -> NDArray[Any]:
        made = np.empty(len(self), dtype=np.dtypes.StringDType())
        for start, chunk in zip(self._starts.tolist(), self._chunks, strict=False):
            for part, matrix in matrices(chunk):
                made[start + part.start : start + part.stop] = matrix.view(f"S{matrix.shape[1]}").ravel()
        return made

    def _let_go(self) -> None:
        self._chunks = []


class JoinedText(LazyText):
    """Full paths of ids."""

    def __init__(self, prefix: str, ids: LazyText, some_are_absolute: bool) -> None:
        super().__init__()
        self._prefix, self._ids, self._some_are_absolute = prefix, ids, some_are_absolute

    def __len__(self) -> int:
        return len(self._ids)

    def _text(self, at: int) -> str:
        name = str(self._ids[at])
        return name if name.startswith("/") else self._prefix + name

    def _make(self) -> NDArray[Any]:
        return _join(self._prefix, np.asarray(self._ids), self._some_are_absolute)
