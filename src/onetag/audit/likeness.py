"""Which pictures look alike: a 64-bit perceptual hash (pHash: the signs of low frequencies), found by multi-index hashing.

Norouzi, Punjani, Fleet: Fast Exact Search in Hamming Space with Multi-Index Hashing (2014). Two hashes at most 7 bits apart agree in one of
four 16-bit bands but for one bit: so each is compared with those few, not with all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 32  # pixels a side of the grey picture that is hashed
SMALL = 16  # ... that is kept to confirm what the hash suspects
# On photographs, copies that were resized or recompressed differ in at most 6 bits, different pictures in 8 and more.
DISTANCE = 6
CORRELATION = 0.85  # of the small pictures: what only shares its coarse shape stays below
_PLAIN = 2.0  # grey levels of deviation below which there is nothing to compare
_BANDS, _WIDTH = 4, 16
_BLOCK = 1 << 21  # pairs looked at in one step
# The 64 lowest frequencies but for the mean. Neighbours go to different bands: a band of alike ones would hold few distinct values.
_ZIGZAG = [(u, total - u) for total in range(1, 12) for u in range(total + 1)][: _BANDS * _WIDTH]
_FREQUENCIES = [_ZIGZAG[at] for band in range(_BANDS) for at in range(band, len(_ZIGZAG), _BANDS)]

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""(one, other, bits apart)"""


@dataclass(frozen=True)
class Alike:
    """Of all pairs that look alike, for each later picture the one with the nearest earlier picture; and how many pairs there are."""

    pairs: Pairs
    number: int


def describe(grey: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.bool_]]:
    """Hash, small picture, and whether a picture is too plain to be compared, of [N, 32, 32]."""
    pixels = grey.astype(np.float32)
    waves = _cosines()
    spectrum = waves @ pixels @ waves.T
    values = np.stack([spectrum[:, u, v] for u, v in _FREQUENCIES], axis=1)
    bits = values > np.median(values, axis=1, keepdims=True)
    hashes = np.packbits(bits, axis=1, bitorder="little").view("<u8").ravel().astype(np.uint64)
    ratio = SIDE // SMALL
    small = pixels.reshape(-1, SMALL, ratio, SMALL, ratio).mean(axis=(2, 4))
    return hashes, np.rint(small).astype(np.uint8), pixels.std(axis=(1, 2)) < _PLAIN


def _cosines() -> NDArray[np.float32]:
    """The first rows of the discrete cosine transform; their scale does not matter to a median."""
    number = np.arange(SIDE)
    return np.cos(np.pi * np.arange(12)[:, None] * (2 * number + 1) / (2 * SIDE)).astype(np.float32)


def alike(hashes: NDArray[np.uint64], small: NDArray[np.uint8], side: NDArray[np.int64]) -> tuple[Alike, Alike]:
    """Pictures that look alike: on one side, and across sides. Of pictures with one hash on one side each is compared with the first only:
    ten thousand frames of a still camera are ten thousand pairs, not fifty million."""
    distinct, of = np.unique(hashes, return_inverse=True)
    sides = int(side.max(initial=0)) + 1
    owner = np.full((len(distinct), sides), -1, np.int64)
    backwards = np.arange(len(hashes))[::-1]
    owner[of[backwards], side[backwards]] = backwards
    first = owner[of, side]
    repeated = np.flatnonzero(first != np.arange(len(hashes)))
    found = _Nearest(small, side)
    found.add(first[repeated], repeated, np.zeros(len(repeated), np.int64))
    for a in range(sides):
        for b in range(a + 1, sides):
            found.add(owner[:, a], owner[:, b], np.zeros(len(distinct), np.int64))
    for one, other, bits in near(distinct):
        for a in range(sides):
            for b in range(sides):
                found.add(owner[one, a], owner[other, b], bits)
    return found.result(0), found.result(1)


class _Nearest:
    """Takes pairs as they come and keeps the nearest: nothing grows with their number."""

    def __init__(self, small: NDArray[np.uint8], side: NDArray[np.int64]) -> None:
        self._small, self._side, self._size = small, side, len(small)
        self._best = np.full((2, len(small)), np.iinfo(np.int64).max)
        self._number = [0, 0]

    def add(self, one: NDArray[np.int64], other: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
        there = np.flatnonzero((one >= 0) & (other >= 0))
        there = there[_is_confirmed(self._small, one[there], other[there])]
        low, high = np.minimum(one[there], other[there]), np.maximum(one[there], other[there])
        crosses = self._side[low] != self._side[high]
        for kind in (0, 1):
            mine = crosses == bool(kind)
            self._number[kind] += int(mine.sum())
            np.minimum.at(self._best[kind], high[mine], bits[there][mine] * self._size + low[mine])

    def result(self, kind: int) -> Alike:
        high = np.flatnonzero(self._best[kind] < np.iinfo(np.int64).max)
        bits, low = np.divmod(self._best[kind][high], max(self._size, 1))
        return Alike((low, high, bits), self._number[kind])


def near(hashes: NDArray[np.uint64], most: int = DISTANCE) -> Iterator[Pairs]:
    """All pairs of these distinct hashes at most `most` (up to 7) bits apart, each once, the earlier one first, a block at a time."""
    bands = np.stack([(hashes >> np.uint64(band * _WIDTH)).astype(np.uint16) for band in range(_BANDS)])
    for band in range(_BANDS):
        keys = bands[band].astype(np.int64)
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys, minlength=1 << _WIDTH))
        for flip in (0, *(1 << bit for bit in range(_WIDTH))):
            wanted = keys ^ flip
            start = np.where(wanted > 0, ends[wanted - 1], 0)
            for one, other in _candidates(start, ends[wanted], order):
                keep = np.flatnonzero(np.bitwise_count(hashes[one] ^ hashes[other]) <= most)
                keep = keep[one[keep] < other[keep]]
                for earlier in bands[:band]:  # where a band before has met this pair already
                    keep = keep[np.bitwise_count(earlier[one[keep]] ^ earlier[other[keep]]) > 1]
                one, other = one[keep], other[keep]
                yield one, other, np.bitwise_count(hashes[one] ^ hashes[other]).astype(np.int64)


def _candidates(
    start: NDArray[np.int64], stop: NDArray[np.int64], order: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(one, other) for every other in order[start:stop] of one, a block at a time."""
    sizes = stop - start
    ends = np.cumsum(sizes)
    at = 0
    while at < len(sizes):
        base = int(ends[at - 1]) if at else 0
        to = max(at + 1, int(np.searchsorted(ends, base + _BLOCK, side="right")))
        one = np.repeat(np.arange(at, to), sizes[at:to])
        offset = np.arange(len(one)) - np.repeat(ends[at:to] - sizes[at:to] - base, sizes[at:to])
        yield one, order[np.repeat(start[at:to], sizes[at:to]) + offset]
        at = to


def _is_confirmed(small: NDArray[np.uint8], one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the small pictures agree, a block at a time."""
    kept = np.zeros(len(one), bool)
    step = _BLOCK // (SMALL * SMALL)
    for start in range(0, len(one), step):
        part = slice(start, start + step)
        a, b = (small[index[part]].reshape(-1, SMALL * SMALL).astype(np.float32) for index in (one, other))
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
        scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
        kept[part] = (a * b).sum(axis=1) > CORRELATION * scale
    return kept
