"""Asymmetric pseudo-labeling against a brute-force reading of the paper's Algorithm 1: loops, lists and `sorted`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onetag.core.labels import LabelState, LabelTable, Proposal
from onetag.core.progress import Progress
from onetag.labelers.apl import AsymmetricPseudoLabeling
from onetag.learn.labeler import Block

Cell = tuple[int, int]
Scores = NDArray[np.float32]
TIED = (0.0, 1e-45, 0.1, 0.25, 0.5, 0.5000001, 0.9, 1.0)

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# ---- Algorithm 1, read literally


def algorithm_1(
    labeler: AsymmetricPseudoLabeling,
    observed: list[list[int]],
    ids: Sequence[str],
    scores: list[list[float]],
    taken: set[Cell],
    num_epochs: int,
) -> dict[Cell, float]:
    """theta' % lowest of U_c, class by class; ties by sample id. Positives are the other end of the same order."""
    chosen: dict[Cell, float] = {}
    for c in range(len(observed[0]) if observed else 0):
        unannotated = [n for n in range(len(observed)) if observed[n][c] == 0]
        open_cells = [n for n in unannotated if (n, c) not in taken]
        size = len(unannotated) if labeler.quota == "initial" else len(open_cells)
        order = sorted(open_cells, key=lambda n: (scores[n][c], ids[n]))
        lowest = int(labeler.proportion * size / (num_epochs - labeler.warmup))
        highest = int(labeler.positives * size / (num_epochs - labeler.warmup))
        for place, n in enumerate(order):
            if place < lowest:
                chosen[n, c] = scores[n][c] if labeler.soft else 0.0
            elif place >= len(order) - highest:
                chosen[n, c] = scores[n][c] if labeler.soft else 1.0
    return chosen


# ---- ours


def as_blocks(scores: Scores, parts: Sequence[NDArray[np.int64]]) -> Iterator[Block]:
    for rows in parts:
        yield rows, scores[rows]


def cells(proposal: Proposal | None) -> dict[Cell, float]:
    """What is proposed, by cell; the low end claims to be negative, whatever the soft label, the high end positive."""
    assert proposal is not None
    assert set(proposal.directions().tolist()) <= {-1, 1}
    found = {(int(n), int(c)): float(v) for n, c, v in zip(proposal.rows, proposal.cols, proposal.values, strict=True)}
    assert len(found) == len(proposal), "a cell is proposed twice"
    return found


@dataclass
class World:
    """A training set, how it is cut into blocks in each epoch, and the scores of each epoch."""

    observed: NDArray[np.int8]
    ids: list[str]
    epochs: list[Scores]
    parts: list[list[NDArray[np.int64]]]

    def state(self) -> LabelState:
        return LabelState(LabelTable.from_dense(self.observed), self.ids)


@st.composite
def worlds(draw: st.DrawFn, max_rows: int = 14, max_epochs: int = 6) -> World:
    rows, classes = draw(st.integers(1, max_rows)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    observed = rng.choice([0, 0, 0, 0, 1, -1], (rows, classes)).astype(np.int8)
    if draw(st.booleans()):
        observed[:, 0] = np.minimum(observed[:, 0], 0)  # a class without positive
    ids = [f"{'ab'[i % 2]}/{i}.jpg" for i in rng.permutation(rows)]
    epochs, parts = [], []
    ties = draw(st.booleans())
    for _ in range(draw(st.integers(1, max_epochs))):
        scores = rng.choice(TIED, (rows, classes)) if ties else rng.random((rows, classes))
        epochs.append(scores.astype(np.float32))
        cuts = np.sort(rng.integers(0, rows + 1, draw(st.integers(0, 4))))
        parts.append(np.split(rng.permutation(rows), cuts))
    return World(observed, ids, epochs, parts)


@st.composite
def labelers(draw: st.DrawFn, num_epochs: int) -> AsymmetricPseudoLabeling:
    proportion = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1))
    return AsymmetricPseudoLabeling(
        proportion=proportion,
        warmup=draw(st.integers(0, num_epochs - 1)),
        weight=draw(st.sampled_from([0.02, 0.5, 1.0])),
        soft=draw(st.booleans()),
        quota=draw(st.sampled_from(["initial", "current"])),
        positives=draw(st.sampled_from([0.0, min(0.1, 1 - proportion), 1 - proportion])),
    )


@quick
@given(st.data())
def test_one_pass_agrees_cell_by_cell(data: st.DataObject) -> None:
    world = data.draw(worlds(max_epochs=1))
    num_epochs = data.draw(st.integers(2, 5))
    labeler = data.draw(labelers(num_epochs))
    progress = Progress(epoch=max(labeler.warmup, 1), num_epochs=num_epochs)
    proposal = labeler.after_epoch(world.state(), lambda: as_blocks(world.epochs[0], world.parts[0]), progress)
    expected = algorithm_1(labeler, world.observed.tolist(), world.ids, world.epochs[0].tolist(), set(), num_epochs)
    assert cells(proposal) == expected
    assert proposal is not None
    assert (proposal.weights() == np.float32(labeler.weight)).all()


@quick
@given(st.data())
def test_a_whole_schedule_agrees_cell_by_cell(data: st.DataObject) -> None:
    """Passes after epochs T_w .. T - 1; what is labelled stays as it was; nobody overrules an annotator."""
    world = data.draw(worlds())
    num_epochs = len(world.epochs)
    labeler = data.draw(labelers(num_epochs))
    state, diary = world.state(), {}
    written: dict[Cell, float] = {}
    for epoch, (scores, parts) in enumerate(zip(world.epochs, world.parts, strict=True), start=1):
        blocks = lambda scores=scores, parts=parts: as_blocks(scores, parts)  # noqa: E731
        proposal = labeler.after_epoch(state, blocks, Progress(epoch, num_epochs))
        assert labeler.acts(Progress(epoch, num_epochs)) == (labeler.warmup <= epoch < num_epochs)
        assert (proposal is not None) == labeler.acts(Progress(epoch, num_epochs))
        if proposal is None:
            continue
        expected = algorithm_1(labeler, world.observed.tolist(), world.ids, scores.tolist(), set(written), num_epochs)
        assert cells(proposal) == expected
        assert not expected.keys() & written.keys()
        assert len(state.apply(proposal, epoch)) == len(expected)
        written |= expected
        diary |= dict.fromkeys(expected, epoch)
    everything = np.arange(state.num_rows)
    added, pseudo = state.added_epoch(everything), state.rows(everything).pseudo
    assert {(n, c): int(added[n, c]) for n, c in np.argwhere(added).tolist()} == diary
    if pseudo is not None:
        assert {(n, c): float(pseudo[n, c]) for n, c in np.argwhere(~np.isnan(pseudo)).tolist()} == written
    assert (pseudo is None) == (not written)
    assert np.array_equal(state.rows(np.arange(state.num_rows)).observed, world.observed)


@quick
@given(st.data())
def test_order_of_rows_and_blocks_changes_nothing(data: st.DataObject) -> None:
    """A permuted data set proposes the same samples: ties go by sample id, not by place."""
    world = data.draw(worlds(max_epochs=1))
    labeler = replace_positives(data.draw(labelers(3)))
    order = np.array(data.draw(st.permutations(range(len(world.ids)))), np.int64)
    moved = replace(world, observed=world.observed[order], ids=[world.ids[n] for n in order])
    progress = Progress(max(labeler.warmup, 1), 3)
    straight = labeler.after_epoch(world.state(), lambda: as_blocks(world.epochs[0], world.parts[0]), progress)
    mixed = labeler.after_epoch(moved.state(), lambda: as_blocks(world.epochs[0][order], world.parts[0]), progress)
    by_id = [{(w.ids[n], c): v for (n, c), v in cells(p).items()} for w, p in ((world, straight), (moved, mixed))]
    assert by_id[0] == by_id[1]


def replace_positives(labeler: AsymmetricPseudoLabeling) -> AsymmetricPseudoLabeling:
    """The same with as many positives as there is room for."""
    labeler.positives = 1 - labeler.proportion
    return labeler


# ---- its shape over time


def run(labeler: AsymmetricPseudoLabeling, state: LabelState, num_epochs: int, seed: int = 0) -> list[int]:
    """Numbers of pseudo-labels per epoch, under fresh random scores."""
    rng = np.random.default_rng(seed)
    found = []
    for epoch in range(1, num_epochs + 1):
        scores = rng.random((state.num_rows, state.num_classes), dtype=np.float32)
        blocks = lambda scores=scores: as_blocks(scores, [np.arange(len(scores))])  # noqa: E731
        proposal = labeler.after_epoch(state, blocks, Progress(epoch, num_epochs))
        found.append(0 if proposal is None else len(state.apply(proposal, epoch)))
    return found


@pytest.mark.parametrize(("warmup", "num_epochs"), [(5, 10), (4, 10), (3, 10), (1, 2), (9, 10)])
def test_initial_quota_ends_at_the_proportion(warmup: int, num_epochs: int) -> None:
    """How the published numbers were made: equal steps, 90 % of the unknown cells of every class in the end."""
    state = LabelState(LabelTable.from_dense(np.zeros((5040, 3), np.int8)))
    counts = run(AsymmetricPseudoLabeling(warmup=warmup), state, num_epochs)
    assert counts[: warmup - 1] == [0] * (warmup - 1)
    assert counts[-1] == 0
    assert len(set(counts[warmup - 1 : -1])) == 1
    passes = num_epochs - warmup
    assert state.num_pseudo == pytest.approx(0.9 * 5040 * 3, abs=3 * passes)
    assert state.open_counts().tolist() == [5040 - passes * int(0.9 * 5040 / passes)] * 3


@pytest.mark.parametrize(("warmup", "share"), [(5, 0.628), (4, 0.623)])
def test_current_quota_ends_at_62_to_63_percent(warmup: int, share: float) -> None:
    """As Eq. 6 reads: a share of what is still open, 1 - (1 - .9 / n) ** n in the end."""
    state = LabelState(LabelTable.from_dense(np.zeros((20000, 2), np.int8)))
    counts = run(AsymmetricPseudoLabeling(warmup=warmup, quota="current"), state, 10)
    passes = 10 - warmup
    assert state.num_pseudo / 40000 == pytest.approx(1 - (1 - 0.9 / passes) ** passes, abs=1e-3)
    assert state.num_pseudo / 40000 == pytest.approx(share, abs=1e-2)
    assert sorted(counts[warmup - 1 : -1], reverse=True) == counts[warmup - 1 : -1]
    assert len(set(counts[warmup - 1 : -1])) == passes


def test_positives_and_negatives_may_share_out_everything() -> None:
    """Also where all scores are equal: one order for both ends, so no cell is claimed twice and none is lost."""
    state = LabelState(LabelTable.from_dense(np.zeros((100, 2), np.int8)), [f"{i:03d}" for i in range(100)])
    labeler = AsymmetricPseudoLabeling(proportion=0.9, positives=0.1, warmup=1, soft=False)
    scores = np.full((100, 2), 0.5, np.float32)
    for epoch in (1, 2):
        proposal = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(100)]), Progress(epoch, 3))
        found = cells(proposal)
        assert sorted(found.values()) == [0.0] * 90 + [1.0] * 10
        assert proposal is not None
        state.apply(proposal, epoch)
    assert state.num_pseudo == 200


def test_positives_are_the_highest_scores() -> None:
    state = LabelState(LabelTable.from_dense(np.zeros((20, 1), np.int8)))
    scores = np.linspace(0, 1, 20, dtype=np.float32).reshape(-1, 1)
    labeler = AsymmetricPseudoLabeling(proportion=0.5, positives=0.1, warmup=1)
    proposal = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(20)]), Progress(1, 2))
    assert cells(proposal) == {(n, 0): float(scores[n, 0]) for n in [*range(10), 18, 19]}
    assert proposal is not None
    assert dict(zip(proposal.rows.tolist(), proposal.directions().tolist(), strict=True)) == {
        n: -1 if n < 10 else 1 for n in [*range(10), 18, 19]
    }


def test_soft_labels_above_a_half_are_still_meant_as_negatives() -> None:
    """EM holds everything it does not know near 0.5: the low end of a class may lie above it."""
    state = LabelState(LabelTable.from_dense(np.zeros((4, 1), np.int8)))
    scores = np.array([[0.6], [0.7], [0.8], [0.9]], np.float32)
    labeler = AsymmetricPseudoLabeling(proportion=0.5, warmup=1)
    proposal = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(4)]), Progress(1, 2))
    assert cells(proposal) == {(0, 0): float(scores[0, 0]), (1, 0): float(scores[1, 0])}
    assert proposal is not None
    assert state.apply(proposal, 1).directions().tolist() == [-1, -1]
    assert state.pseudo_entries()[2].tolist() == [-1, -1]


# ---- observed cells, soft zero, small and odd data


def test_observed_cells_are_never_proposed() -> None:
    """Their scores are the lowest there are, and they are in the blocks."""
    observed = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 0], [0, 0, 0]], np.int8)
    scores = np.where(observed == 0, 0.9, 0.0).astype(np.float32)
    state = LabelState(LabelTable.from_dense(observed))
    labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1)
    found = cells(labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(4)]), Progress(1, 2)))
    assert set(found) == {(n, c) for n, c in np.argwhere(observed == 0).tolist()}


def test_rows_known_completely_have_nothing_open() -> None:
    table = LabelTable.from_dense(np.array([[1, 0], [0, 0]], np.int8), rest=[-1, 0])
    state = LabelState(table)
    assert state.initial_unknown.tolist() == [1, 1]
    labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1)
    scores = np.zeros((2, 2), np.float32)
    found = cells(labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(2)]), Progress(1, 2)))
    assert set(found) == {(1, 0), (1, 1)}


def test_soft_label_of_exactly_zero_is_one_and_is_not_selected_again() -> None:
    """fp16 scores underflow to 0 at logits below -17.4; the official code stored -0.0 and lost it."""
    state = LabelState(LabelTable.from_dense(np.zeros((10, 1), np.int8)))
    scores = np.zeros((10, 1), np.float32)
    labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1)
    seen: set[Cell] = set()
    for epoch in range(1, 6):
        proposal = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(10)]), Progress(epoch, 6))
        assert proposal is not None
        assert not seen & cells(proposal).keys()
        seen |= cells(state.apply(proposal, epoch)).keys()
        assert state.num_pseudo == 2 * epoch
    assert seen == {(n, 0) for n in range(10)}
    assert not state.is_open(np.arange(10)).any()


def test_hard_labels_are_zero_and_one() -> None:
    state = LabelState(LabelTable.from_dense(np.zeros((10, 1), np.int8)))
    scores = np.linspace(0.2, 0.8, 10, dtype=np.float32).reshape(-1, 1)
    labeler = AsymmetricPseudoLabeling(proportion=0.5, positives=0.5, warmup=1, soft=False)
    found = cells(labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(10)]), Progress(1, 2)))
    assert found == {(n, 0): float(n >= 5) for n in range(10)}


@pytest.mark.parametrize(("rows", "classes", "size"), [(1, 1, 1), (1, 5, 1), (7, 1, 7), (7, 1, 2), (16, 3, 16)])
def test_one_batch_one_picture_one_class(rows: int, classes: int, size: int) -> None:
    """A single batch is enough; where a class is smaller than the number of passes, int() leaves it alone."""
    state = LabelState(LabelTable.from_dense(np.zeros((rows, classes), np.int8)))
    scores = np.random.default_rng(0).random((rows, classes), dtype=np.float32)
    parts = np.split(np.arange(rows), range(size, rows, size))
    labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1)
    proposal = labeler.after_epoch(state, lambda: as_blocks(scores, parts), Progress(1, 2))
    assert len(cells(proposal)) == rows * classes
    labeler = AsymmetricPseudoLabeling(proportion=0.9, warmup=1)
    assert (
        len(cells(labeler.after_epoch(state, lambda: as_blocks(scores, parts), Progress(1, 2))))
        == int(0.9 * rows) * classes
    )


def test_class_without_positive_and_picture_without_tags() -> None:
    observed = np.zeros((50, 3), np.int8)
    observed[:25, 0] = 1  # rows 25 .. 49 have no tag, classes 1 and 2 no positive
    state = LabelState(LabelTable.from_dense(observed))
    run(AsymmetricPseudoLabeling(warmup=1), state, 4)
    assert (50 - state.open_counts())[1:].tolist() == [45, 45]
    assert 25 - int(state.open_counts()[0]) == 21  # 3 * int(.9 * 25 / 3)


def test_nothing_unknown_proposes_nothing() -> None:
    for observed in (np.ones((4, 2), np.int8), np.zeros((0, 3), np.int8)):
        state = LabelState(LabelTable.from_dense(observed))
        scores = np.zeros(observed.shape, np.float32)
        parts = [np.arange(len(observed))]
        labeler = AsymmetricPseudoLabeling(warmup=1, positives=0.1)
        proposal = labeler.after_epoch(
            state, lambda scores=scores, parts=parts: as_blocks(scores, parts), Progress(1, 2)
        )
        assert cells(proposal) == {}


@pytest.mark.parametrize("positives", [0.0, 0.1])
def test_nan_scores_raise(positives: float) -> None:
    state = LabelState(LabelTable.from_dense(np.zeros((6, 2), np.int8)))
    scores = np.full((6, 2), 0.5, np.float32)
    scores[3, 1] = np.nan
    labeler = AsymmetricPseudoLabeling(warmup=1, positives=positives)
    with pytest.raises(FloatingPointError, match="NaN"):
        labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(6)]), Progress(1, 2))


def test_half_precision_scores_are_ranked_and_kept() -> None:
    state = LabelState(LabelTable.from_dense(np.zeros((40, 2), np.int8)), [f"{i:02d}" for i in range(40)][::-1])
    scores = np.round(np.random.default_rng(3).random((40, 2)), 1).astype(np.float16)
    labeler = AsymmetricPseudoLabeling(proportion=0.5, positives=0.2, warmup=1)
    proposal = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(17), np.arange(17, 40)]), Progress(1, 3))  # type: ignore[arg-type]
    ids = [f"{i:02d}" for i in range(40)][::-1]
    assert cells(proposal) == algorithm_1(labeler, np.zeros((40, 2), int).tolist(), ids, scores.tolist(), set(), 3)


# ---- when it acts


def test_scores_are_not_asked_for_outside_its_epochs() -> None:
    def never() -> Iterator[Block]:
        raise AssertionError("scores were computed for nothing")

    state = LabelState(LabelTable.from_dense(np.zeros((6, 2), np.int8)))
    labeler = AsymmetricPseudoLabeling(warmup=3)
    for epoch in (1, 2, 10):  # in the warm-up, and after the last epoch, when nothing would train on it
        assert not labeler.acts(Progress(epoch, 10))
        assert labeler.after_epoch(state, never, Progress(epoch, 10)) is None
    assert [e for e in range(1, 11) if labeler.acts(Progress(e, 10))] == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("warmup", "num_epochs"), [(10, 10), (12, 10), (1, 1), (0, 1)])
def test_warmup_of_all_epochs_never_acts_and_says_so(warmup: int, num_epochs: int) -> None:
    labeler = AsymmetricPseudoLabeling(warmup=warmup)
    state = LabelState(LabelTable.from_dense(np.zeros((6, 2), np.int8)))
    assert run(labeler, state, num_epochs) == [0] * num_epochs
    said = labeler.check(num_epochs)
    assert said is not None
    assert f"warm-up of {warmup} epochs" in said
    assert "never acts" in said


@pytest.mark.parametrize(("warmup", "num_epochs"), [(0, 2), (1, 2), (9, 10), (5, 10)])
def test_check_is_silent_where_it_acts(warmup: int, num_epochs: int) -> None:
    labeler = AsymmetricPseudoLabeling(warmup=warmup)
    assert labeler.check(num_epochs) is None
    assert any(labeler.acts(Progress(e, num_epochs)) for e in range(1, num_epochs + 1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"proportion": 1.1}, {"proportion": -0.1}, {"positives": 0.2}, {"positives": -0.1}, {"quota": "start"},
        {"warmup": -1}, {"weight": -0.5}, {"proportion": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        AsymmetricPseudoLabeling(**wrong)


def test_it_is_pure() -> None:
    """It writes nothing, draws nothing, and says the same twice."""
    state = LabelState(LabelTable.from_dense(np.zeros((30, 4), np.int8)))
    scores = np.random.default_rng(1).random((30, 4), dtype=np.float32)
    before, legacy, torch_state = scores.copy(), np.random.get_state()[1].copy(), torch.get_rng_state()
    labeler = AsymmetricPseudoLabeling(proportion=0.8, positives=0.1, warmup=1)
    first = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(30)]), Progress(1, 2))
    again = labeler.after_epoch(state, lambda: as_blocks(scores, [np.arange(30)[::-1]]), Progress(1, 2))
    assert cells(first) == cells(again)
    assert state.num_pseudo == 0
    assert np.array_equal(scores, before)
    assert np.array_equal(np.random.get_state()[1], legacy)
    assert torch.equal(torch.get_rng_state(), torch_state)


# ---- size


@pytest.fixture(scope="module")
def large() -> tuple[LabelState, Scores]:
    rng = np.random.default_rng(0)
    observed = np.zeros((100_000, 100), np.int8)
    observed[np.arange(100_000), rng.integers(0, 100, 100_000)] = 1
    state = LabelState(LabelTable.from_dense(observed), [f"{i:06d}" for i in rng.permutation(100_000)])
    return state, rng.random((100_000, 100), dtype=np.float32)


@pytest.mark.parametrize("kind", ["random", "saturated", "positives"])
def test_100_000_by_100_scores_select_in_under_a_second(large: tuple[LabelState, Scores], kind: str) -> None:
    """Saturated: nine tenths of the scores are 0, as in half precision, so that most of the selection is ties."""
    state, scores = large
    if kind == "saturated":
        scores = np.maximum(scores - np.float32(0.9), 0)
    labeler = AsymmetricPseudoLabeling(positives=0.1 if kind == "positives" else 0.0)
    parts = np.split(np.arange(100_000), range(4096, 100_000, 4096))
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        proposal = labeler.after_epoch(state, lambda: as_blocks(scores, parts), Progress(5, 10))
        taken.append(time.perf_counter() - start)
    assert proposal is not None
    per_class = (0.9 * state.initial_unknown / 5).astype(int)
    assert np.array_equal(np.bincount(proposal.cols[proposal.values <= 0.5], minlength=100), per_class)
    assert min(taken) < 1.0, f"best of three: {min(taken):.2f} s"
