"""Columns of text in Arrow without a Python object per row: raw bytes, matrices of them, repeated texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core import draws

if TYPE_CHECKING:
    import pyarrow as pa

_CACHED = 4096  # rows whose words stay in the cache while they are hashed
_PIECE = 1 << 22  # bytes of the matrix that one step of a conversion may take


def lengths(text: pa.StringArray) -> NDArray[np.int32]:
    """Bytes per text."""
    if not len(text):
        return np.zeros(0, np.int32)
    offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset : text.offset + len(text) + 1]
    return np.asarray(np.diff(offsets), np.int32)


def raw(text: pa.StringArray) -> bytes:
    """All texts of an array, one after the other."""
    if not len(text) or text.buffers()[2] is None:
        return b""
    offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset : text.offset + len(text) + 1]
    return bytes(memoryview(text.buffers()[2])[int(offsets[0]) : int(offsets[-1])])


def matrices(text: pa.StringArray) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """[n, width] of bytes, padded with zeros to a multiple of eight, in pieces."""
    import pyarrow.compute as pc

    width = (max(int(lengths(text).max(initial=0)), 1) + 7) // 8 * 8
    step = max(_PIECE // width, 1)
    for start in range(0, len(text), step):
        piece = text.slice(start, step)
        # Padding with `ascii_` counts bytes, which is what is wanted here, for any text.
        padded = raw(pc.ascii_rpad(piece, width, "\0"))
        yield slice(start, start + len(piece)), np.frombuffer(padded, np.uint8).reshape(len(piece), width)


def first_rows(chunks: Sequence[pa.StringArray], salt: NDArray[np.int8] | None = None) -> NDArray[np.int32] | None:
    """For each row the first row with the same text (and the same salt); None where no text repeats."""
    import pyarrow as pa

    if _is_ascending(chunks) or not _may_repeat(chunks):
        return None
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]).astype(np.int64)
    if salt is not None:
        codes = codes * 256 + salt
    _, first, member = np.unique(codes, return_index=True, return_inverse=True)
    return None if len(first) == len(codes) else np.asarray(first[member], np.int32)


def _is_ascending(chunks: Sequence[pa.StringArray]) -> bool:
    import pyarrow.compute as pc

    last: str | None = None
    for chunk in chunks:
        if not len(chunk):
            continue
        if last is not None and not last.encode() < chunk[0].as_py().encode():
            return False
        if len(chunk) > 1 and not pc.all(pc.less(chunk.slice(0, len(chunk) - 1), chunk.slice(1))).as_py():
            return False
        last = chunk[len(chunk) - 1].as_py()
    return True


def _may_repeat(chunks: Sequence[pa.StringArray]) -> bool:
    """By a 64-bit hash per text: a tenth of the time and memory of an exact answer, which is then rarely needed."""
    keys = np.empty(sum(len(chunk) for chunk in chunks), np.uint64)
    start = 0
    for chunk in chunks:
        for part, matrix in matrices(chunk):
            words = matrix.view(np.uint64)
            for at in range(0, len(words), _CACHED):
                block = words[at : at + _CACHED]
                keys[start + part.start + at : start + part.start + at + len(block)] = _hashes(block)
        start += len(chunk)
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number per row; words of zeros add nothing, so that padding does not matter."""
    odd = draws.mix(
        np.arange(2 * words.shape[1], dtype=np.uint64), draws.stream_key("readers", "repeated")
    ) | np.uint64(1)
    made = np.zeros(len(words), np.uint64)
    for at in range(words.shape[1]):
        word = words[:, at] * odd[2 * at]
        word ^= word >> np.uint64(32)
        word *= odd[2 * at + 1]
        made += word
    return made
