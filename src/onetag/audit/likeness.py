"""Which pictures look alike: a 64-bit perceptual hash (pHash: the signs of low frequencies), found by multi-index hashing.

Norouzi, Punjani, Fleet: Fast Exact Search in Hamming Space with Multi-Index Hashing (2014). Two hashes at most 7 bits apart agree in one of
four 16-bit bands but for one bit: so each is compared with those few, not with all.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def alike(hashes: NDArray[np.uint64], small: NDArray[np.uint8], side: NDArray[np.int64]) -> Pairs:
    """Pairs of pictures that look alike. Of pictures with one hash on one side each is paired with the first, not with all others."""
    distinct, of = np.unique(hashes, return_inverse=True)
    sides = int(side.max(initial=0)) + 1
    owner = np.full((len(distinct), sides), -1, np.int64)
    backwards = np.arange(len(hashes))[::-1]
    owner[of[backwards], side[backwards]] = backwards
    first = owner[of, side]
    repeated = np.flatnonzero(first != np.arange(len(hashes)))
    found: list[Pairs] = [(first[repeated], repeated, np.zeros(len(repeated), np.int64))]
    one, other, bits = near(distinct)
    zero = np.zeros(len(distinct), np.int64)
    for a in range(sides):
        found += [(owner[:, a], owner[:, b], zero) for b in range(a + 1, sides)]
        found += [(owner[one, a], owner[other, b], bits) for b in range(sides)]
    left, right, bits = (np.concatenate(parts) for parts in zip(*found, strict=True))
    there = np.flatnonzero((left >= 0) & (right >= 0))
    there = there[_is_confirmed(small, left[there], right[there])]
    low, high = np.minimum(left[there], right[there]), np.maximum(left[there], right[there])
    return low, high, bits[there]


def near(hashes: NDArray[np.uint64], most: int = DISTANCE) -> Pairs:
    """All pairs of these distinct hashes at most `most` (up to 7) bits apart, the earlier one first."""
    found: list[Pairs] = []
    for band in range(_BANDS):
        keys = (hashes >> np.uint64(band * _WIDTH)).astype(np.uint16).astype(np.int64)
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys, minlength=1 << _WIDTH))
        for flip in (0, *(1 << bit for bit in range(_WIDTH))):
            wanted = keys ^ flip
            stop = ends[wanted]
            start = np.where(wanted > 0, ends[wanted - 1], 0)
            for one, other in _candidates(start, stop, order):
                bits = np.bitwise_count(hashes[one] ^ hashes[other]).astype(np.int64)
                keep = (one < other) & (bits <= most)
                found.append((one[keep], other[keep], bits[keep]))
    one, other, bits = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _, once = np.unique(one * len(hashes) + other, return_index=True)  # bands find the same pair
    return one[once], other[once], bits[once]


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


def nearest(pairs: Pairs) -> Pairs:
    """Of all pairs, for each later picture the one with the earlier picture that is nearest: a line each, however many there are."""
    low, high, bits = pairs
    order = np.lexsort((low, bits, high))
    _, first = np.unique(high[order], return_index=True)
    chosen = order[first]
    return low[chosen], high[chosen], bits[chosen]
