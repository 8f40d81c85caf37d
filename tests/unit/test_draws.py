"""Counter-based draws: the same everywhere and always, whatever was drawn before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onetag
from onetag.core.draws import epoch_order, generator, mix, sample_keys, stream_key, uniform
from onetag.core.progress import Progress

IDS = [f"images/{i:06d}.jpg" for i in range(20_000)]
SCRIPT = """
import numpy as np
np.random.seed({noise})
np.random.rand({noise})
from onetag.core.draws import epoch_order, generator, sample_keys, stream_key, uniform
keys = sample_keys(["a.jpg", "b.jpg", "ä.jpg", "\\udcff.jpg"])
print(stream_key("x", 1, 2.5), keys.tolist(), uniform(keys, 7).tolist())
print(epoch_order(keys, 3, 9).tolist(), generator("g", 1).random())
"""


def split_mix_64(value: int, key: int) -> int:
    """The published finaliser, on Python's integers."""
    z = ((value ^ key) + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_the_same_in_every_process() -> None:
    """Python's own hash of strings differs from process to process."""
    answers = []
    for noise in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": noise, "PYTHONPATH": str(Path(str(onetag.__file__)).parent.parent)}
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(noise=noise)], env=env, capture_output=True, check=True
        )
        answers.append(ran.stdout)
    assert answers[0] == answers[1]
    here = sample_keys(["a.jpg", "b.jpg", "ä.jpg", "\udcff.jpg"])
    assert str(here.tolist()) in answers[0].decode()
    assert str(uniform(here, 7).tolist()) in answers[0].decode()


def test_numbers_are_pinned() -> None:
    """What a seed means may not change between versions: runs could not be resumed or repeated."""
    keys = sample_keys(["a.jpg", "b.jpg", "c.jpg"])
    assert keys.dtype == np.uint64
    assert keys.tolist() == [9918916968011810814, 16059500937911089302, 192392947358100652]
    key = stream_key("order", 0, 1)
    assert mix(keys, key).tolist() == [split_mix_64(value, key) for value in keys.tolist()]
    assert mix(keys, key).tolist() == [7137577173180809530, 3574442513121832209, 4755588975546735139]
    assert epoch_order(sample_keys(IDS[:8]), 0, 1).tolist() == [6, 2, 3, 1, 7, 4, 0, 5]


def test_draws_depend_on_the_id_and_not_on_its_place() -> None:
    keys = sample_keys(IDS[:100])
    order = np.random.default_rng(0).permutation(100)
    assert np.array_equal(uniform(keys[order], 5), uniform(keys, 5)[order])
    assert np.array_equal(uniform(keys[:7], 5), uniform(keys, 5)[:7])


@pytest.mark.parametrize("key", [0, 1, 2**64 - 1, stream_key("observe", 1200, 1, 3)])
def test_roughly_uniform(key: int) -> None:
    found = uniform(sample_keys(IDS), key)
    assert ((found >= 0) & (found < 1)).all()
    counts = np.histogram(found, 20, (0, 1))[0]
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 45.0  # chi-square, 19 degrees: 1 in 1,300 keys would fail
    assert abs(float(np.corrcoef(found[:-1], found[1:])[0, 1])) < 0.03


def test_streams_are_independent() -> None:
    keys = sample_keys(IDS)
    for other in (("observe", 1200, 1, 4), ("observe", 1201, 1, 3), ("observe", 1200, -1, 3), ("order", 1200, 1, 3)):
        both = uniform(keys, stream_key("observe", 1200, 1, 3)), uniform(keys, stream_key(*other))
        assert abs(float(np.corrcoef(*both)[0, 1])) < 0.03


def test_consecutive_keys_give_unrelated_numbers() -> None:
    """The finaliser has to mix: counters are the worst input there is."""
    counter = np.arange(20_000, dtype=np.uint64)
    bits = (mix(counter, 0)[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.02
    assert len(np.unique(mix(counter, 0))) == 20_000


def test_stream_keys_tell_types_and_parts_apart() -> None:
    keys = [stream_key(*parts) for parts in ((1,), ("1",), (1.0,), (1, 1), (11,), ("1", "1"), ("a", "b"), ("ab",), ())]
    assert len(set(keys)) == len(keys)
    assert stream_key("order", 3, 1) != stream_key("order", 1, 3)


def test_epoch_orders_are_permutations_and_differ() -> None:
    keys = sample_keys(IDS[:500])
    orders = [epoch_order(keys, seed, epoch) for seed in (0, 1) for epoch in (1, 2, 3)]
    for order in orders:
        assert np.array_equal(np.sort(order), np.arange(500))
    assert len({order.tobytes() for order in orders}) == 6
    assert np.array_equal(epoch_order(keys, 1, 2), orders[4])
    assert max(np.mean(a == b) for i, a in enumerate(orders) for b in orders[:i]) < 0.02


def test_epoch_order_visits_the_same_pictures_whatever_the_order_of_the_file() -> None:
    keys = sample_keys(IDS[:300])
    moved = np.random.default_rng(1).permutation(300)
    assert np.array_equal(
        np.array(IDS[:300])[moved][epoch_order(keys[moved], 4, 2)], np.array(IDS[:300])[epoch_order(keys, 4, 2)]
    )


def test_generators_are_streams_of_their_own() -> None:
    first = generator("role", 1).random(4)
    assert np.array_equal(generator("role", 1).random(4), first)
    assert not np.array_equal(generator("role", 2).random(4), first)
    assert not np.array_equal(generator("dropout", 1).random(4), first)


def test_nothing_to_draw() -> None:
    assert (
        sample_keys([]).shape == uniform(sample_keys([]), 1).shape == epoch_order(sample_keys([]), 0, 1).shape == (0,)
    )


def test_progress_runs_from_0_to_1() -> None:
    assert Progress().fraction == 0.0
    assert Progress(1, 4, 0, 10).fraction == 0.0
    assert Progress(3, 4, 5, 10).fraction == pytest.approx(0.625)
    assert Progress(4, 4, 10, 10).fraction == 1.0
    assert Progress(1, 0, 0, 0).fraction == 0.0
