"""Counter-based randomness: every draw is a hash of (seed, purpose, epoch, sample id), never of what was drawn before.

Resuming in the middle, other numbers of workers, or one method more in a plan then change neither order, nor pictures, nor
initial weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)


def stream_key(*parts: int | str | float) -> int:
    """A 64-bit key for a named stream of draws; parts are joined unambiguously (1 and "1" differ, 3 and numpy's 3 do not)."""
    text = repr(
        tuple(
            str(part) if isinstance(part, str) else part.__index__() if hasattr(part, "__index__") else float(part)
            for part in parts
        )
    )
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def sample_keys(ids: Iterable[str]) -> NDArray[np.uint64]:
    """One 64-bit key per sample id."""
    digests = b"".join(hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest() for name in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mix(values: NDArray[np.uint64], key: int) -> NDArray[np.uint64]:
    """SplitMix64's finaliser over `values` shifted by a stream's key: one well-mixed 64-bit number per value."""
    with np.errstate(over="ignore"):
        z = (values ^ np.uint64(key)) + _STEP
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


@lru_cache(maxsize=4)
def counters(count: int) -> NDArray[np.uint64]:
    """0, 1, 2 ... far apart in their bits: what `mix` turns into a stream of numbers."""
    with np.errstate(over="ignore"):
        made = np.arange(count, dtype=np.uint64) * _STEP
    made.flags.writeable = False  # shared by all callers
    return made


def uniform(values: NDArray[np.uint64], key: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), one per value."""
    return (mix(values, key) >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def epoch_order(keys: NDArray[np.uint64], seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch visits its samples."""
    return np.argsort(mix(keys, stream_key("order", seed, epoch)), kind="stable")


def generator(*parts: int | str | float) -> np.random.Generator:
    """A numpy generator for draws that need more than one number per sample."""
    return np.random.Generator(np.random.Philox(key=stream_key(*parts)))
