"""The defects of the two official repositories (methods.md, section 3), a named test each: none of them survives here.

Tested elsewhere, since they are not about labels, losses, labelers, draws and cuts:
- the engine: A9, A10 (stopping, NaN validation), the augmented view of A11, C2 (dropped last batches), C14 to C16
  (syncs per picture, test data in every epoch, no checkpoint)
- metrics and thresholds: B3 (a cut at 0.5), C6 (classes without positive)
- recipes and phases: C5 (LinearInit for some losses only); readers: C10 (VOC's difficult objects)
Not applicable: A16 (a shadowed loop variable), C17 (commands of a README), C18 (a second pooling layer).
"""

# ruff: noqa: N802  (tests carry the names of the defects)

from __future__ import annotations

import inspect
import math
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

import onetag
from onetag.core.labels import LabelState, LabelTable, Proposal, load_arrays, save_arrays
from onetag.core.progress import Progress
from onetag.labelers.apl import AsymmetricPseudoLabeling
from onetag.learn.labeler import Block
from onetag.learn.labels import LabelBatch, LabelLookup, label_batch
from onetag.learn.loss import Facts, Loss, activate
from onetag.observe import cut, observe

pytestmark = pytest.mark.usefixtures("one_thread")

NOW = Progress()
NAN = math.nan
LOSSES: dict[str, dict[str, Any]] = {
    "an": {}, "asl": {}, "bce": {}, "em": {}, "entmin": {"alpha": 0.1}, "focal": {}, "softmax": {},
    "role": {"mean_tags": 2.0},
}  # fmt: skip
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))


def make(name: str, observed: Tensor) -> Loss:
    made = onetag.loss(name, **LOSSES[name])
    made.setup(Facts(LabelTable.from_dense(observed.numpy()), 2.0))
    return made


def gradient(made: Loss, logits: Tensor, batch: LabelBatch) -> Tensor:
    leaf = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(made(leaf, batch), leaf)
    return found


def blocks(scores: NDArray[np.float32], size: int = 1 << 30) -> Any:
    """Scores as a labeler asks for them."""

    def give() -> Iterator[Block]:
        for start in range(0, len(scores), size):
            rows = np.arange(start, min(start + size, len(scores)))
            yield rows, scores[rows]

    return give


def unknown(rows: int, classes: int = 1) -> LabelState:
    return LabelState(LabelTable.from_dense(np.zeros((rows, classes), np.int8)))


def one(row: int, col: int, value: float, weight: float = 1.0) -> Proposal:
    return Proposal(np.array([row]), np.array([col], np.int32), np.array([value], np.float32), weight)


# ---- A. APL


def test_A1_observed_negative_is_not_trained_as_positive() -> None:
    """There, -1 is read as a soft label of 1 and costs beta * -log p. Here it costs -log(1 - p), beside APL, too."""
    state = LabelState(LabelTable.from_dense(np.array([[1, -1, 0, 0]], np.int8)))
    labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1, weight=0.5)
    proposal = labeler.after_epoch(state, blocks(np.array([[0.9, 0.1, 0.2, 0.3]], np.float32)), Progress(1, 2))
    assert proposal is not None
    lookup = LabelLookup(state)
    lookup.apply(state.apply(proposal, 1))
    batch = lookup.rows(torch.tensor([0]))
    assert batch.is_negative.tolist() == [[False, True, False, False]]
    assert batch.is_pseudo.tolist() == [[False, False, True, True]]
    logits = torch.full((1, 4), 0.7, dtype=torch.float64)
    made = onetag.loss("em")
    assert float(made.compute(logits, batch, NOW).cells[0, 1]) == pytest.approx(math.log1p(math.exp(0.7)), rel=1e-12)
    assert float(gradient(made, logits, batch)[0, 1]) > 0


def test_A1_em_takes_observed_negatives() -> None:
    """There, an assertion refuses them, so that the paper's own MLML experiment cannot run."""
    cells = onetag.loss("em").compute(torch.zeros(1, 3), label_batch(torch.tensor([[1, -1, 0]])), NOW).cells
    assert cells[0, 0] == cells[0, 1] == pytest.approx(math.log(2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_A2_soft_label_of_exactly_zero_stays_a_label(dtype: torch.dtype) -> None:
    """There, -0.0 is not below 0: the cell stays unknown, is selected again in every epoch, and eats up the quota."""
    score = float(torch.sigmoid(torch.tensor(-200.0).to(dtype)))
    assert score == 0.0
    state = unknown(2)
    for epoch in (1, 2):
        labeler = AsymmetricPseudoLabeling(proportion=1.0, warmup=1)
        proposal = labeler.after_epoch(state, blocks(np.full((2, 1), score, np.float32)), Progress(epoch, 3))
        assert proposal is not None
        assert proposal.rows.tolist() == [epoch - 1]
        state.apply(proposal, epoch)
    assert state.num_pseudo == 2
    lookup = LabelLookup(state)
    batch = lookup.rows(torch.tensor([0, 1]))
    assert batch.is_pseudo.all()
    assert not batch.is_unknown.any()
    cells = onetag.loss("em").compute(torch.full((2, 1), 3.0), batch, NOW).cells
    assert cells.view(-1).tolist() == pytest.approx([0.5 * math.log1p(math.exp(3))] * 2)


def test_A2_scores_of_half_precision_logits_are_made_in_float32() -> None:
    """There, the sigmoid of a half is 0 below -17.33 and everything ties."""
    logits = torch.tensor([[-17.5, -18.0, -19.0, -40.0]], dtype=torch.float16)
    scores = activate(logits, "sigmoid")
    assert scores.dtype == torch.float32
    assert (scores > 0).all()
    assert len(scores.unique()) == 4


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.bool_])
def test_A3_integer_label_matrices_keep_pseudo_labels(dtype: Any) -> None:
    """There, -0.3 written into an int64 matrix becomes 0."""
    matrix = np.array([[1, 0], [0, 0]]).astype(dtype)
    state = LabelState(LabelTable.from_dense(matrix.astype(np.int8) if dtype is np.bool_ else matrix))
    state.apply(one(1, 0, 0.3), 1)
    pseudo = state.rows([1]).pseudo
    assert pseudo is not None
    assert pseudo[0, 0] == np.float32(0.3)
    batch = LabelLookup(state).rows(torch.tensor([1]))
    assert batch.pseudo[0, 0] == np.float32(0.3)
    if dtype is not np.bool_:
        user = label_batch(torch.from_numpy(matrix), torch.tensor([[NAN, NAN], [0.3, NAN]]), 0.5)
        assert user.pseudo_weight.tolist() == [[0.0, 0.0], [0.5, 0.0]]


def test_A4_pseudo_labels_reach_the_next_batch_without_loader_workers() -> None:
    """There, they are written into an attribute of the data set, which persistent workers have copied before."""
    state = unknown(4, 3)
    lookup = LabelLookup(state)
    index = torch.tensor([2, 0])
    assert not lookup.rows(index).is_pseudo.any()
    lookup.apply(state.apply(one(2, 1, 0.25, 0.9), 1))
    batch = lookup.rows(index)
    assert batch.is_pseudo.nonzero().tolist() == [[0, 1]]
    assert float(batch.pseudo[0, 1]) == 0.25
    assert float(batch.pseudo_weight[0, 1]) == pytest.approx(0.9)
    assert (
        "index" in inspect.signature(LabelLookup.rows).parameters
    )  # looked up by number: nothing travels with pictures


def test_A5_a_training_set_of_one_batch_gets_its_pseudo_labels() -> None:
    """There, the block that labels stands in the else of `if batch == 0`."""
    state = unknown(16, 2)
    scores = np.random.default_rng(0).random((16, 2), dtype=np.float32)
    proposal = AsymmetricPseudoLabeling(warmup=1).after_epoch(state, blocks(scores), Progress(1, 2))
    assert proposal is not None
    assert len(proposal) == 2 * int(0.9 * 16)


@pytest.mark.parametrize(("quota", "share"), [("initial", 0.9), ("current", 1 - 0.82**5)])
def test_A6_both_quotas_can_be_had_and_the_published_one_is_the_default(quota: str, share: float) -> None:
    """The paper takes a share of the current unknown cells, the code of the initial ones: 63 % and 90 % in the end."""
    assert AsymmetricPseudoLabeling().quota == "initial"
    state = unknown(10_000)
    labeler = AsymmetricPseudoLabeling(quota=quota)
    scores = np.random.default_rng(1).random((10_000, 1), dtype=np.float32)
    for epoch in range(1, 11):
        proposal = labeler.after_epoch(state, blocks(scores), Progress(epoch, 10))
        if proposal is not None:
            state.apply(proposal, epoch)
    assert state.num_pseudo / 10_000 == pytest.approx(share, abs=1e-3)


def test_A7_no_pass_after_the_last_epoch() -> None:
    """There, one more pass than the schedule has, which nothing trains on (108 % in the books)."""
    labeler = AsymmetricPseudoLabeling(warmup=5)
    acting = [epoch for epoch in range(1, 11) if labeler.acts(Progress(epoch, 10))]
    assert acting == [5, 6, 7, 8, 9]
    assert labeler.after_epoch(unknown(10), blocks(np.zeros((10, 1), np.float32)), Progress(10, 10)) is None


@pytest.mark.parametrize("warmup", [10, 11])
def test_A8_warmup_of_all_epochs_neither_divides_by_zero_nor_keeps_quiet(warmup: int) -> None:
    labeler = AsymmetricPseudoLabeling(warmup=warmup)
    for epoch in range(1, 11):
        assert labeler.after_epoch(unknown(10), blocks(np.zeros((10, 1), np.float32)), Progress(epoch, 10)) is None
    assert "below 10" in str(labeler.check(10))


def test_A11_a_pass_draws_no_random_number_and_depends_on_no_order() -> None:
    """There, it goes through the shuffled training loader, and EM and EM+APL are shuffled differently ever after."""
    torch.manual_seed(0)
    np.random.seed(0)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    scores = np.round(np.random.default_rng(2).random((40, 3)), 1).astype(np.float32)
    found = []
    for size in (1, 7, 40):
        proposal = AsymmetricPseudoLabeling(warmup=1).after_epoch(unknown(40, 3), blocks(scores, size), Progress(1, 3))
        assert proposal is not None
        found.append(np.stack([proposal.rows, proposal.cols]))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])


def test_A12_label_state_can_be_saved_revised_and_taken_back_to_an_epoch(tmp_path: Path) -> None:
    """There, nothing is saved, and the best weights come back without the labels of their epoch."""
    state, rng = unknown(30, 4), np.random.default_rng(3)
    labeler = AsymmetricPseudoLabeling(warmup=1)
    pictures: dict[int, NDArray[np.float32]] = {}
    for epoch in range(1, 4):
        proposal = labeler.after_epoch(state, blocks(rng.random((30, 4), dtype=np.float32)), Progress(epoch, 4))
        assert proposal is not None
        written = state.apply(proposal, epoch)
        parts: dict[str, NDArray[Any]] = {"rows": written.rows, "cols": written.cols, "values": written.values}
        save_arrays(
            tmp_path / f"{epoch}.safetensors", {**parts, "weight": written.weights(), "claims": written.directions()}
        )
        pseudo = state.rows(np.arange(30)).pseudo
        assert pseudo is not None
        pictures[epoch] = pseudo
    again = unknown(30, 4)
    for epoch in range(1, 4):
        parts = load_arrays(tmp_path / f"{epoch}.safetensors")
        again.apply(Proposal(parts["rows"], parts["cols"], parts["values"], parts["weight"], parts["claims"]), epoch)  # type: ignore[arg-type]
        replayed = again.rows(np.arange(30))
        assert np.array_equal(replayed.pseudo, pictures[epoch], equal_nan=True)  # type: ignore[arg-type]
    assert np.array_equal(again.added_epoch(np.arange(30)), state.added_epoch(np.arange(30)))
    again.apply(one(int(written.rows[0]), int(written.cols[0]), 0.875), 4)
    revised = again.rows(written.rows[:1]).pseudo
    assert revised is not None
    assert revised[0, written.cols[0]] == 0.875
    assert again.num_pseudo == state.num_pseudo


def test_A13_ties_are_broken_by_sample_id() -> None:
    """There, an unstable sort over shuffled rows decides."""
    ids = [f"{i:03d}" for i in np.random.default_rng(4).permutation(200)]
    state = LabelState(LabelTable.from_dense(np.zeros((200, 1), np.int8)), ids)
    scores = np.zeros((200, 1), np.float32)
    proposal = AsymmetricPseudoLabeling(proportion=0.5, warmup=1).after_epoch(state, blocks(scores, 13), Progress(1, 2))
    assert proposal is not None
    assert sorted(ids[row] for row in proposal.rows) == sorted(ids)[:100]


def test_A14_selection_holds_a_fraction_of_the_scores() -> None:
    """There, a vstack for each batch copies tens of gigabytes (and loops; how long ours takes: test_apl.py)."""
    rows, classes, size = 100_000, 20, 2048
    state = unknown(rows, classes)

    def give() -> Iterator[Block]:
        rng = np.random.default_rng(5)
        for start in range(0, rows, size):
            index = np.arange(start, min(start + size, rows))
            yield index, rng.random((len(index), classes), dtype=np.float32)

    tracemalloc.start()
    proposal = AsymmetricPseudoLabeling(proportion=0.1, warmup=1).after_epoch(state, give, Progress(1, 11))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert proposal is not None
    assert len(proposal) == classes * 1000
    assert peak < rows * classes * 4  # less than the scores alone, let alone copies of them


def test_A15_small_classes_and_classes_without_positive_are_no_special_case() -> None:
    """int(theta U / passes): a class too small for a whole cell per pass stays unknown; no count is divided by."""
    observed = np.zeros((50, 3), np.int8)
    observed[2:, 0] = 1  # two unknown cells
    observed[0, 1] = 1  # one positive; class 2 has none
    state = LabelState(LabelTable.from_dense(observed))
    scores = np.random.default_rng(6).random((50, 3), dtype=np.float32)
    for epoch in range(1, 4):
        proposal = AsymmetricPseudoLabeling(warmup=1).after_epoch(state, blocks(scores), Progress(epoch, 4))
        assert proposal is not None
        state.apply(proposal, epoch)
    assert (state.initial_unknown - state.open_counts()).tolist() == [0, 3 * int(0.9 * 49 / 3), 45]


# ---- B. EM and the loss wrapper


def test_B1_gradient_of_a_confidently_wrong_positive_does_not_vanish() -> None:
    """There, log(p + 1e-5) halves it at z = -11.5 and leaves 1 % at z = -16; eps=1e-5 does the same."""
    logits = torch.tensor([[-11.5], [-16.0], [-60.0]], dtype=torch.float64)
    positive = label_batch(torch.ones(3, 1))
    exact = gradient(onetag.loss("em"), logits, positive) * 3
    official = gradient(onetag.loss("em", eps=1e-5), logits, positive) * 3
    assert exact.view(-1).tolist() == pytest.approx([-1.0, -1.0, -1.0], abs=2e-5)
    ratio = (official / exact).view(-1).tolist()
    assert ratio[0] == pytest.approx(0.50, abs=0.01)
    assert ratio[1] == pytest.approx(0.011, abs=0.001)


def test_B1_losses_of_certain_cells_are_not_negative() -> None:
    """There, -log(1 + 1e-5) < 0, and so is the entropy of a certain cell; both caps are gone."""
    sure = torch.tensor([[40.0, -40.0, 40.0]], dtype=torch.float64)
    batch = label_batch(torch.tensor([[1, -1, 0]]))
    assert (onetag.loss("entmin", alpha=1.0).compute(sure, batch, NOW).cells >= 0).all()
    assert (onetag.loss("entmin", alpha=1.0, eps=1e-5).compute(sure, batch, NOW).cells < 0).all()
    assert float(onetag.loss("bce")(torch.tensor([[-50.0]]), torch.ones(1, 1))) == 50.0
    assert float(onetag.loss("bce", eps=1e-5)(torch.tensor([[-50.0]]), torch.ones(1, 1))) == pytest.approx(
        11.5129, abs=1e-3
    )


def test_B1_eps_moves_the_entropy_by_2e_5_at_most() -> None:
    logits = torch.linspace(-30, 30, 2001, dtype=torch.float64).view(1, -1)
    none = label_batch(torch.zeros(1, 2001))
    cells = [onetag.loss("entmin", alpha=1.0, eps=eps).compute(logits, none, NOW).cells for eps in (0.0, 1e-5)]
    assert float((cells[0] - cells[1]).abs().max()) < 2.1e-5


@every_loss
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_B2_half_precision_is_safe(name: str, dtype: torch.dtype) -> None:
    """There, 1 + 1e-5 rounds to 1 in float16, and 1 - p is 0 for z above 6.2 in bfloat16."""
    observed = torch.tensor([[1, -1, 0, 0]] * 6, dtype=torch.int8)
    logits = torch.tensor([[-20.0], [-6.5], [-0.0], [6.5], [12.0], [20.0]], dtype=dtype).repeat(1, 4)
    batch = label_batch(observed, torch.tensor([[NAN, NAN, NAN, 0.25]] * 6), 0.5, index=torch.arange(6))
    made = make(name, observed)
    exact = made.compute(logits.double(), batch, NOW)
    found = made.compute(logits, batch, NOW)
    assert found.cells.dtype == torch.float32
    torch.testing.assert_close(found.cells.double(), exact.cells, rtol=1e-5, atol=1e-6)
    assert torch.isfinite(gradient(made, logits, batch)).all()


def test_B4_a_negative_training_loss_is_normal_and_bounded() -> None:
    """-alpha log 2 for an unknown cell is the least there is: nothing may watch for losses below 0."""
    logits = torch.linspace(-8, 8, 501, dtype=torch.float64).view(1, -1)
    total = onetag.loss("em", alpha=0.3)(logits, torch.zeros(1, 501))
    assert -0.3 * math.log(2) < float(total) < 0
    assert float(onetag.loss("em", alpha=0.3)(torch.zeros(1, 1), torch.zeros(1, 1))) == pytest.approx(
        -0.3 * math.log(2)
    )


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"softmax", "role"}))
def test_B5_reduction_is_known_so_that_a_ragged_batch_can_be_weighed(name: str) -> None:
    """The published mean over all cells: totals of two batches, weighed by pictures, pool to that of one."""
    rng = np.random.default_rng(7)
    observed = torch.from_numpy(rng.choice([1, -1, 0], (17, 5)).astype(np.int8))
    logits = torch.from_numpy(rng.normal(size=(17, 5)))
    made = make(name, observed)
    whole = made(logits, label_batch(observed))
    parts = [made(logits[at], label_batch(observed[at])) for at in (slice(0, 16), slice(16, 17))]
    torch.testing.assert_close((16 * parts[0] + parts[1]) / 17, whole, rtol=1e-13, atol=1e-13)


@every_loss
def test_B6_no_loss_waits_for_the_device(name: str) -> None:
    """There, assertions on tensors force a sync in each step. On the meta device reading a value is an error."""
    observed = torch.zeros(4, 3, dtype=torch.int8)
    made = make(name, observed)
    logits = torch.zeros(4, 3, device="meta", requires_grad=True)
    batch = LabelBatch(
        observed.to("meta"),
        torch.zeros(4, 3, device="meta"),
        torch.ones(4, 3, device="meta"),
        torch.ones(4, 3, device="meta"),
        torch.arange(4, device="meta"),
    )
    total = made(logits, batch)
    assert total.device.type == "meta"
    total.backward()
    assert logits.grad is not None


# ---- C. Shared code


def test_C1_bce_has_its_negative_term() -> None:
    """There, `loss_iun` asks for -1 in matrices of 0 and 1, and only positives are left."""
    full = torch.tensor([[1, -1, -1]])
    found = gradient(onetag.loss("bce"), torch.zeros(1, 3, dtype=torch.float64), label_batch(full)) * 3
    assert found.tolist() == [[-0.5, 0.5, 0.5]]
    with pytest.raises(ValueError, match="not one of"):
        onetag.loss("bce")(torch.zeros(1, 3), torch.tensor([[1, 2, 0]]))


def test_C1_and_encodings_are_never_guessed() -> None:
    """0 means unknown everywhere; 0/1 matrices where 0 is negative come in through a named converter."""
    assert onetag.labels.from_ignore([[1, 0, -1]]).tolist() == [[1, -1, 0]]
    assert LabelTable.from_dense(np.array([[1, 0]])).to_dense().tolist() == [[1, 0]]
    assert LabelTable.from_dense(np.array([[1, 0]]), rest=-1).to_dense().tolist() == [[1, -1]]


def test_C3_everything_drawn_here_is_seeded() -> None:
    """There, torch is not seeded: initial weights, order and the label estimator differ from run to run."""
    truth = LabelTable.from_dense(np.where(np.random.default_rng(8).random((50, 6)) < 0.4, 1, -1))
    ids = np.array([f"{i}.jpg" for i in range(50)])
    starts, draws = [], []
    for noise in (1, 2):
        torch.manual_seed(noise)
        np.random.seed(noise)
        role = onetag.loss("role", mean_tags=2.0)
        role.setup(Facts(truth, seed=5))
        starts.append(role.get_parameter("estimator").detach().clone())
        draws.append([observe(truth, "one_positive", ids, draw).digest() for draw in ("uniform", "official")])
    assert torch.equal(starts[0], starts[1])
    assert draws[0] == draws[1]
    unknown_cells = LabelTable.from_dense(np.zeros((5, 3), np.int8))
    pair = []
    for seed in (5, 6):
        made = onetag.loss("role", mean_tags=2.0)
        made.setup(Facts(unknown_cells, seed=seed))
        pair.append(made.get_parameter("estimator").detach().clone())
    assert not torch.equal(pair[0], pair[1])


def test_C4_only_touched_rows_of_the_estimator_move() -> None:
    """There, dense Adam goes on moving every row by momentum in every step."""
    role = onetag.loss("role", mean_tags=2.0)
    role.setup(Facts(LabelTable.from_dense(np.zeros((8, 3), np.int8))))
    (group,) = role.parameter_groups()
    assert group.sparse
    assert group.lr_factor == 10.0
    optimizer = torch.optim.SparseAdam(group.parameters, lr=0.1)
    start = role.get_parameter("estimator").detach().clone()
    for rows in ([1, 4], [4, 6], [4]):
        optimizer.zero_grad()
        labels = label_batch(torch.zeros(len(rows), 3), index=torch.tensor(rows))
        role(torch.randn(len(rows), 3), labels).backward()
        optimizer.step()
    moved = (role.get_parameter("estimator").detach() != start).all(dim=1)
    still = (role.get_parameter("estimator").detach() == start).all(dim=1)
    assert moved.nonzero().view(-1).tolist() == [1, 4, 6]
    assert still.nonzero().view(-1).tolist() == [0, 2, 3, 5, 7]


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"role"}))
def test_C4_other_losses_have_no_estimator(name: str) -> None:
    """There, it is built and evaluated for every loss, even AN."""
    made = make(name, torch.zeros(100, 5, dtype=torch.int8))
    assert not list(made.parameters())
    assert not list(made.buffers())


@every_loss
def test_C7_pictures_without_any_tag(name: str) -> None:
    """22 % of NUS-WIDE: they break nothing, beside others and alone."""
    for observed in (torch.tensor([[0, 0, 0], [1, 0, -1]], dtype=torch.int8), torch.zeros(2, 3, dtype=torch.int8)):
        made = make(name, observed)
        logits = torch.tensor([[3.0, -2.0, 0.0], [1.0, 0.0, 2.0]])
        batch = label_batch(observed, index=torch.arange(2))
        assert torch.isfinite(made(logits, batch))
        assert torch.isfinite(gradient(made, logits, batch)).all()


@pytest.mark.parametrize("draw", ["uniform", "official"])
def test_C7_pictures_without_any_tag_can_be_drawn_from(draw: str) -> None:
    truth = LabelTable.from_dense(np.array([[-1, -1, -1], [1, 1, -1]]))
    shown = observe(truth, "one_positive", np.array(["a", "b"]), draw)
    assert shown.positives_per_row().tolist() == [0, 1]
    assert shown.class_counts(-1).tolist() == [0, 0, 0]


@every_loss
def test_C8_classes_without_observed_positive(name: str) -> None:
    observed = torch.tensor([[1, 0, 0], [1, 0, -1]], dtype=torch.int8)
    made = make(name, observed)
    batch = label_batch(observed, index=torch.arange(2))
    found = gradient(made, torch.zeros(2, 3), batch)
    assert torch.isfinite(found).all()


def test_C9_share_of_zero_holds_nothing_out() -> None:
    """There, idx[-0:] is everything: validation on the whole training set."""
    train, val = cut(10, 0.0)
    assert val.tolist() == []
    assert train.tolist() == list(range(10))
    train, val = cut(4, 0.0, groups=np.array(["a", "a", "b", "c"]))
    assert val.tolist() == []
    assert train.tolist() == [0, 1, 2, 3]


def test_C11_only_the_official_draw_depends_on_the_order_of_rows() -> None:
    """There, COCO ids sorted as strings decide which tags are shown."""
    rng = np.random.default_rng(9)
    truth = LabelTable.from_dense(np.where(rng.random((60, 8)) < 0.4, 1, -1))
    ids, order = np.array([f"{i}.jpg" for i in range(60)]), rng.permutation(60)
    for annotation in ("one_positive", "share:0.3", "positives:2,negatives:3"):
        shown = observe(truth, annotation, ids)
        assert observe(truth.select(order), annotation, ids[order]) == shown.select(order)
    official = observe(truth, "one_positive", ids, "official")
    assert observe(truth.select(order), "one_positive", ids[order], "official") != official.select(order)


def test_C12_names_that_numpy_2_has_taken_away_are_not_used() -> None:
    """There, np.Inf and np.bool stop the program."""
    gone = re.compile(
        r"\bnp\.(Inf|Infinity|NaN|NAN|PINF|NINF|float_|int0|bool8|object0|float|int|object|str|in1d|row_stack|trapz)\b"
    )
    files = sorted(Path(inspect.getfile(onetag)).parent.rglob("*.py"))
    assert len(files) > 30
    assert [
        f"{path}: {found.group()}" for path in files for found in gone.finditer(path.read_text(encoding="utf-8"))
    ] == []


@every_loss
def test_C13_a_batch_of_one_keeps_its_axes(name: str) -> None:
    """There, squeeze drops the batch axis of a single picture."""
    observed = torch.tensor([[1, 0, -1]], dtype=torch.int8)
    batch = label_batch(observed, index=torch.arange(1))
    assert make(name, observed).compute(torch.zeros(1, 3), batch, NOW).cells.shape == (1, 3)
    state = LabelState(LabelTable.from_dense(observed.numpy()))
    assert state.rows([0]).observed.shape == (1, 3)
    assert LabelLookup(state).rows(torch.tensor([0])).shape == (1, 3)
    assert activate(torch.zeros(1, 3), "softmax").shape == (1, 3)


def test_C16_label_tables_are_saved_and_read_back(tmp_path: Path) -> None:
    table = LabelTable.from_dense(np.array([[1, 0, -1], [0, 0, 0]]), rest=[0, -1], weights=0.5)
    save_arrays(tmp_path / "observed.safetensors", table.arrays())
    assert LabelTable.from_arrays(load_arrays(tmp_path / "observed.safetensors")) == table
