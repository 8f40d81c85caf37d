"""What every loss must do, by discovery: a file dropped into `losses/` is tested without a line here."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import onetag
from onetag import catalog
from onetag.core.labels import LabelTable
from onetag.core.progress import Progress
from onetag.learn.labels import LabelBatch, label_batch
from onetag.learn.loss import Facts, Loss, LossOutput, ParameterGroup, activate

ENTRIES = catalog.entries("losses")
NAMES = [entry.name for entry in ENTRIES]
NOW = Progress(epoch=2, num_epochs=5, step=3, num_steps=7)
GIVEN = {"alpha": 0.1, "mean_tags": 2.0}  # what required arguments sensibly are; else a value of the annotated type
PLAIN: dict[Any, Any] = {float: 0.5, int: 1, bool: False, str: ""}

pytestmark = pytest.mark.usefixtures("one_thread")
every_loss = pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)


# ---- made for any loss


def required(entry: catalog.Entry) -> dict[str, Any]:
    arguments = {}
    for name, parameter in inspect.signature(entry.load(), eval_str=True).parameters.items():
        if parameter.default is parameter.empty:
            arguments[name] = GIVEN.get(name, PLAIN.get(parameter.annotation, 0.5))
    return arguments


def make(entry: catalog.Entry, observed: Tensor | None = None) -> Loss:
    """With its required arguments, set up for these labels (a new one each time: losses may have state)."""
    made: Loss = entry.load()(**required(entry))
    if observed is not None:
        made.setup(Facts(LabelTable.from_dense(observed.numpy().astype(np.int8)), mean_tags=2.0, seed=4))
    return made


def draw(seed: int, rows: int = 12, classes: int = 9, scale: float = 3.0) -> tuple[Tensor, Tensor]:
    """Float64 logits, and labels with one positive, several, none, and rows that are completely known."""
    rng = np.random.default_rng(seed)
    observed = rng.choice([1, 0, 0, 0, -1], (rows, classes))
    if rows > 3:
        observed[0] = 0
        observed[1] = np.where(observed[1] == 0, -1, observed[1])
        observed[2] = -1
    return torch.from_numpy(rng.normal(size=(rows, classes)) * scale), torch.from_numpy(observed)


def some_pseudo(seed: int, observed: Tensor) -> Tensor:
    """Pseudo-labels on half the cells, 0 and 1 among them; on observed cells, too, where they count nothing."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.choice([np.nan, np.nan, np.nan, 0.0, 1.0, rng.random()], tuple(observed.shape)))


def batch_of(observed: Tensor, **given: Any) -> LabelBatch:
    return label_batch(observed, index=torch.arange(len(observed)), **given)


def gradient(made: Loss, logits: Tensor, labels: Tensor | LabelBatch) -> Tensor:
    leaf = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(made(leaf, labels), leaf)
    return found


def cell_gradient(made: Loss, logits: Tensor, labels: LabelBatch) -> Tensor:
    """Of the cells alone: terms belong to no cell."""
    leaf = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(made.compute(leaf, labels, NOW).cells.mean(), leaf)
    return found


def is_sigmoid(entry: catalog.Entry) -> bool:
    return bool(entry.load().activation == "sigmoid")


# ---- what there is


def test_every_loss_of_the_folder_is_met() -> None:
    """Eight or more, each constructed and evaluated here once."""
    folder = Path(str(inspect.getfile(catalog))).parent / "losses"
    files = {path.stem for path in folder.glob("*.py") if not path.name.startswith("_")}
    logits, observed = draw(0)
    met = {entry.name for entry in ENTRIES if torch.isfinite(make(entry, observed)(logits, batch_of(observed)))}
    assert met == set(NAMES) >= files
    assert len(met) >= 8
    assert {"bce", "an", "em", "entmin", "focal", "asl", "role", "softmax"} <= met


@every_loss
def test_is_documented(entry: catalog.Entry) -> None:
    assert len(entry.summary.split()) >= 4
    assert entry.documentation
    assert inspect.getdoc(entry.load()) == entry.documentation


@every_loss
def test_is_a_loss_with_a_known_activation(entry: catalog.Entry) -> None:
    made = make(entry)
    assert isinstance(made, Loss)
    scores = activate(torch.randn(3, 4), made.activation)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert all(name in inspect.signature(entry.load()).parameters for name in made.needs)
    assert made.unknown_push >= 0
    assert math.isfinite(made.unknown_push)


@every_loss
def test_can_be_had_by_name(entry: catalog.Entry) -> None:
    assert type(onetag.loss(entry.name, **required(entry))) is entry.load()


@every_loss
def test_wrong_argument_is_named(entry: catalog.Entry) -> None:
    with pytest.raises(ValueError, match=f"losses/{entry.name}: unexpected 'no_such_thing'"):
        onetag.loss(entry.name, **required(entry), no_such_thing=1)
    if required(entry):
        with pytest.raises(ValueError, match=f"losses/{entry.name}: needs '{next(iter(required(entry)))}'"):
            onetag.loss(entry.name)


# ---- calling it


@every_loss
def test_labels_of_any_type_give_the_same_scalar(entry: catalog.Entry) -> None:
    logits, observed = draw(1)
    totals = [make(entry)(logits, observed.to(t)) for t in (torch.int8, torch.int16, torch.int32, torch.int64)]
    totals += [make(entry)(logits, observed.to(t)) for t in (torch.float16, torch.float32, torch.float64)]
    totals += [make(entry)(logits, label_batch(observed)), make(entry)(logits, observed.numpy())]
    assert all(total.shape == () and total.dtype == torch.float64 for total in totals)
    assert all(torch.equal(total, totals[0]) for total in totals)


@every_loss
def test_unsigned_labels_can_say_positive_and_unknown(entry: catalog.Entry) -> None:
    logits, observed = draw(1)
    observed = observed.clamp_min(0)
    assert torch.equal(make(entry)(logits, observed.to(torch.uint8)), make(entry)(logits, observed))


@every_loss
def test_total_is_the_mean_of_cells_plus_the_terms(entry: catalog.Entry) -> None:
    for seed in range(3):
        logits, observed = draw(seed)
        batch = batch_of(observed, pseudo=some_pseudo(seed, observed), pseudo_weight=0.4, weight=0.7)
        made = make(entry, observed)
        output = made.compute(logits, batch, NOW)
        assert isinstance(output, LossOutput)
        assert output.cells.shape == logits.shape
        assert all(term.shape == () for term in output.terms.values())
        expected = output.cells.mean() + sum(output.terms.values())
        torch.testing.assert_close(made(logits, batch, NOW), expected, rtol=1e-14, atol=1e-14)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_differentiable_and_finite(entry: catalog.Entry, dtype: torch.dtype) -> None:
    ends = (0.0, 1.0, 30.0, 1e4, float(torch.finfo(torch.float16).max))
    for seed, scale in enumerate(ends):
        logits, observed = draw(seed, scale=1.0)
        logits = (logits.sign() * scale).to(dtype)
        made = make(entry, observed)
        for pseudo in (None, some_pseudo(seed, observed)):
            found = gradient(made, logits, batch_of(observed, pseudo=pseudo))
            assert found.dtype == dtype
            assert torch.isfinite(found).all()
            assert torch.isfinite(made(logits, batch_of(observed, pseudo=pseudo)))


@every_loss
@pytest.mark.parametrize("shape", [(1, 6), (5, 1), (1, 1)], ids=str)
def test_one_picture_and_one_class(entry: catalog.Entry, shape: tuple[int, int]) -> None:
    for value in (-1, 0, 1):
        observed = torch.zeros(shape, dtype=torch.int8)
        observed[0, 0] = value
        logits = torch.linspace(-2, 2, math.prod(shape), dtype=torch.float64).view(shape)
        made = make(entry, observed)
        assert made.compute(logits, batch_of(observed), NOW).cells.shape == shape
        assert torch.isfinite(gradient(made, logits, batch_of(observed))).all()


@every_loss
def test_picture_without_any_tag(entry: catalog.Entry) -> None:
    """NUS-WIDE: a fifth of the training pictures. Beside others, and a whole batch of them."""
    logits, observed = draw(3)
    for labels in (observed, torch.zeros_like(observed)):
        made = make(entry, labels)
        output = made.compute(logits, batch_of(labels), NOW)
        assert torch.isfinite(output.cells).all()
        assert torch.isfinite(gradient(made, logits, batch_of(labels))).all()


@every_loss
def test_rows_permute(entry: catalog.Entry) -> None:
    logits, observed = draw(4)
    pseudo, order = some_pseudo(4, observed), torch.randperm(len(logits), generator=torch.Generator().manual_seed(2))
    made = make(entry, observed)
    straight = made.compute(logits, batch_of(observed, pseudo=pseudo), NOW)
    mixed = made.compute(logits[order], label_batch(observed[order], pseudo[order], index=order), NOW)
    torch.testing.assert_close(mixed.cells, straight.cells[order], rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(mixed.total(), straight.total(), rtol=1e-13, atol=1e-13)


@every_loss
def test_labels_are_not_written_to(entry: catalog.Entry) -> None:
    logits, observed = draw(5)
    pseudo, weight = some_pseudo(5, observed), torch.full(observed.shape, 0.4)
    before = observed.clone(), pseudo.clone(), weight.clone(), logits.clone()
    gradient(make(entry, observed), logits, batch_of(observed, pseudo=pseudo, weight=weight))
    for now, then in zip((observed, pseudo, weight, logits), before, strict=True):
        torch.testing.assert_close(now, then, rtol=0, atol=0, equal_nan=True)


@every_loss
def test_evaluate_leaves_the_random_streams_alone(entry: catalog.Entry) -> None:
    """Randomness is counter-based: one method more in a plan changes nothing for the others."""
    logits, observed = draw(6)
    torch.manual_seed(7)
    state, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()
    gradient(make(entry, observed), logits, batch_of(observed))
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], legacy)


@every_loss
def test_parameters_of_its_own_are_in_groups(entry: catalog.Entry) -> None:
    _, observed = draw(6)
    made = make(entry, observed)
    groups = made.parameter_groups()
    assert all(isinstance(group, ParameterGroup) for group in groups)
    assert {id(p) for group in groups for p in group.parameters} == {id(p) for p in made.parameters()}


# ---- weights


@every_loss
def test_weight_zero_takes_an_observed_cell_out(entry: catalog.Entry) -> None:
    logits, observed = draw(7)
    weight = torch.ones(observed.shape, dtype=torch.float64)
    weight[::2] = 0.0
    made = make(entry, observed)
    found = cell_gradient(made, logits, batch_of(observed, weight=weight))
    dropped = (observed != 0) & (weight == 0)
    if is_sigmoid(entry):
        assert dropped.any()
        assert not found[dropped].any()
        assert found[(observed != 0) & (weight == 1)].all()
    else:  # a picture with nothing but dropped positives teaches nothing
        assert not found[::2].any()


@every_loss
def test_weights_scale_observed_cells_and_no_others(entry: catalog.Entry) -> None:
    logits, observed = draw(8)
    weight = torch.from_numpy(np.random.default_rng(8).random(tuple(observed.shape))) * 2
    scaled = observed == 1
    if is_sigmoid(entry):
        scaled = observed != 0
    weight = torch.where(observed == -1, weight if is_sigmoid(entry) else torch.ones_like(weight), weight)
    made = make(entry, observed)
    plain = made.compute(logits, batch_of(observed), NOW).cells
    weighted = made.compute(logits, batch_of(observed, weight=weight), NOW).cells
    assert scaled.any()
    torch.testing.assert_close(weighted, torch.where(scaled, plain * weight, plain), rtol=1e-13, atol=1e-13)


@every_loss
def test_weight_may_be_one_number(entry: catalog.Entry) -> None:
    logits, observed = draw(9)
    made = make(entry, observed)
    spread = torch.full(observed.shape, 0.3, dtype=torch.float64)
    assert torch.equal(made(logits, batch_of(observed, weight=0.3)), made(logits, batch_of(observed, weight=spread)))


# ---- what an annotator said is never turned around


def states(seed: int, scale: float) -> list[tuple[Tensor, Tensor, LabelBatch]]:
    """Logits, labels, and the batch: with and without pseudo-labels elsewhere, in batches of several sizes."""
    found = []
    for rows, classes in ((12, 9), (1, 4), (6, 1), (3, 30)):
        logits, observed = draw(seed, rows, classes, scale)
        observed[0, 0] = -1
        found.append((logits, observed, batch_of(observed)))
        found.append((logits, observed, batch_of(observed, pseudo=some_pseudo(seed, observed), pseudo_weight=0.9)))
    return found


@every_loss
@pytest.mark.parametrize("scale", [0.1, 2.0, 8.0, 25.0])
def test_observed_negative_is_never_pushed_up(entry: catalog.Entry, scale: float) -> None:
    """Down by every sigmoid loss; softmax takes it out of the denominator, so that nothing pushes it."""
    for seed in range(6):
        for logits, observed, batch in states(seed, scale):
            found = gradient(make(entry, observed), logits, batch)[observed == -1]
            assert len(found)
            if is_sigmoid(entry):
                assert (found > 0).all(), f"{entry.name} leaves or raises an observed negative: {found.min()}"
            else:
                assert not found.any()


@every_loss
@pytest.mark.parametrize("weight", [0.02, 0.5, 3.0])
def test_partly_trusted_negative_is_never_pushed_up(entry: catalog.Entry, weight: float) -> None:
    for seed in range(4):
        logits, observed = draw(seed, scale=6.0)
        found = gradient(make(entry, observed), logits, batch_of(observed, weight=weight))
        assert (found[observed == -1] >= 0).all()


@every_loss
def test_observed_negative_goes_down_for_good(entry: catalog.Entry) -> None:
    """Not only for one step: gradient steps on the logits, and on what the loss has of its own, never raise it."""
    logits, observed = draw(11, scale=6.0)
    made, logits = make(entry, observed), logits.clone().requires_grad_()
    own = [p for group in made.parameter_groups() for p in group.parameters]
    was = logits.detach().clone()
    for _ in range(30):
        grads = torch.autograd.grad(made(logits, batch_of(observed)), [logits, *own])
        with torch.no_grad():
            logits -= 20 * grads[0]
            for parameter, grad in zip(own, grads[1:], strict=True):
                parameter -= 200 * grad.to_dense()
        assert (logits <= was + 1e-12)[observed == -1].all()
        was = logits.detach().clone()


@every_loss
def test_observed_positive_is_pushed_up(entry: catalog.Entry) -> None:
    """One tag per picture, scores that are not yet certain."""
    for seed in range(6):
        logits, observed = draw(seed, scale=1.0)
        logits = logits.clamp(-2.5, 2.5)
        observed = torch.where(observed == 1, 0, observed)
        observed[1:3] = 0  # among negatives alone softmax has nothing to tell the positive from
        shown = torch.from_numpy(np.random.default_rng(seed).integers(0, observed.shape[1], len(observed)))
        observed[torch.arange(len(observed)), shown] = 1
        for pseudo in (None, some_pseudo(seed, observed)):
            found = gradient(make(entry, observed), logits, batch_of(observed, pseudo=pseudo))
            assert (found[observed == 1] < 0).all()


@every_loss
def test_pseudo_label_cannot_overrule_an_annotator(entry: catalog.Entry) -> None:
    logits, observed = draw(12)
    known = observed != 0
    against = torch.where(known, (observed < 0).double(), torch.nan)
    made = make(entry, observed)
    plain = made.compute(logits, batch_of(observed), NOW).cells
    assert torch.equal(made.compute(logits, batch_of(observed, pseudo=against), NOW).cells, plain)


# ---- pseudo-labels


@every_loss
def test_pseudo_labelled_cells_are_weighted_cross_entropy(entry: catalog.Entry) -> None:
    """beta [s l+ + (1 - s) l-], s = 0 exactly included; other sigmoid cells are as without."""
    made_class = entry.load()
    if made_class.handles_pseudo:
        pytest.skip(f"{entry.name} treats pseudo-labels itself")
    logits, observed = draw(13, scale=5.0)
    pseudo = some_pseudo(13, observed)
    beta = torch.from_numpy(np.random.default_rng(13).random(tuple(observed.shape)))
    made = make(entry, observed)
    plain = made.compute(logits, batch_of(observed), NOW).cells
    cells = made.compute(logits, batch_of(observed, pseudo=pseudo, pseudo_weight=beta), NOW).cells
    is_pseudo = (observed == 0) & ~pseudo.isnan()
    assert (is_pseudo & (pseudo == 0)).any()
    for row, col in is_pseudo.nonzero().tolist():
        z, s, found = float(logits[row, col]), float(pseudo[row, col]), float(cells[row, col].detach())
        plus, minus = math.log1p(math.exp(-abs(z))) + max(-z, 0), math.log1p(math.exp(-abs(z))) + max(z, 0)
        assert found == pytest.approx(float(beta[row, col]) * (s * plus + (1 - s) * minus), rel=1e-12)
    assert torch.equal(cells[~is_pseudo], plain[~is_pseudo])


@every_loss
def test_pseudo_zero_differs_from_no_pseudo_label(entry: catalog.Entry) -> None:
    """In pictures without a positive, where no loss ties the cells of a row together."""
    logits, observed = draw(14)
    observed = observed.clamp_max(0)
    pseudo = torch.where(observed == 0, 0.0, torch.nan)
    found = cell_gradient(make(entry, observed), logits, batch_of(observed, pseudo=pseudo, pseudo_weight=0.5))
    at = observed == 0
    torch.testing.assert_close(found[at] * logits.numel(), 0.5 * torch.sigmoid(logits[at]), rtol=1e-12, atol=1e-15)


@every_loss
def test_pseudo_labels_of_weight_zero_cost_nothing(entry: catalog.Entry) -> None:
    logits, observed = draw(15)
    pseudo = torch.where(observed == 0, 0.3, torch.nan)
    cells = make(entry, observed).compute(logits, batch_of(observed, pseudo=pseudo, pseudo_weight=0.0), NOW).cells
    assert not cells[observed == 0].any()


@every_loss
def test_integer_pseudo_labels_keep_their_weight(entry: catalog.Entry) -> None:
    logits, observed = draw(16)
    made = make(entry, observed)
    whole = torch.from_numpy(np.random.default_rng(16).integers(0, 2, tuple(observed.shape)))
    soft = made(logits, batch_of(observed, pseudo=whole.double(), pseudo_weight=0.25))
    assert torch.equal(made(logits, batch_of(observed, pseudo=whole, pseudo_weight=0.25)), soft)
    assert not torch.equal(made(logits, batch_of(observed, pseudo=whole, pseudo_weight=0.0)), soft)


# ---- what is refused


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


WRONG: list[tuple[str, Callable[[Loss], Any], str]] = [
    ("shapes", lambda f: f(zeros(2, 3), zeros(3, 2)), r"logits have shape \(2, 3\), labels have \(3, 2\)"),
    ("batch-shape", lambda f: f(zeros(2, 3), label_batch(zeros(2, 4))), r"\(2, 3\), labels have \(2, 4\)"),
    ("one-axis", lambda f: f(zeros(3), zeros(3)), "two axes"),
    ("three-axes", lambda f: f(zeros(1, 2, 3), zeros(1, 2, 3)), "two axes"),
    ("soft", lambda f: f(zeros(1, 2), torch.tensor([[1.0, 0.3]])), r"labels\[0, 1\] is 0\.3.*`pseudo`"),
    ("nan", lambda f: f(zeros(1, 2), torch.tensor([[1.0, math.nan]])), r"labels\[0, 1\] is nan"),
    ("two", lambda f: f(zeros(2, 1), torch.tensor([[1], [2]])), r"labels\[1, 0\] is 2, not one of"),
    ("uint8", lambda f: f(zeros(1, 1), torch.tensor([[255]], dtype=torch.uint8)), r"labels\[0, 0\] is 255"),
    ("pseudo-high", lambda f: label_batch(zeros(1, 1), torch.tensor([[1.5]])), r"\[0, 1\]"),
    ("pseudo-low", lambda f: label_batch(zeros(1, 1), torch.tensor([[-0.3]])), r"\[0, 1\]"),
    ("pseudo-shape", lambda f: label_batch(zeros(2, 1), zeros(1, 2)), r"\(1, 2\), labels have \(2, 1\)"),
    ("weight-shape", lambda f: label_batch(zeros(2, 3), weight=torch.ones(3)), r"weight has shape \(3,\)"),
    ("weight-sign", lambda f: label_batch(zeros(2, 3), weight=-0.1), "weight must be finite and not negative"),
    ("weight-nan", lambda f: label_batch(zeros(1, 1), weight=torch.tensor([[math.nan]])), "finite"),
    ("beta-sign", lambda f: label_batch(zeros(2, 3), zeros(2, 3), -1.0), "pseudo_weight must be finite"),
    ("beta-shape", lambda f: label_batch(zeros(2, 3), zeros(2, 3), torch.ones(2)), "pseudo_weight has shape"),
    ("index", lambda f: label_batch(zeros(2, 3), index=torch.arange(3)), r"index has shape \(3,\).*2 rows"),
]


@every_loss
def test_bool_labels_are_refused(entry: catalog.Entry) -> None:
    """They cannot say *unknown*; True and False would be read as positive and unknown."""
    with pytest.raises(TypeError, match=r"bool.*unknown.*\+1"):
        make(entry)(zeros(2, 3), zeros(2, 3, dtype=torch.bool))


@every_loss
@pytest.mark.parametrize(("call", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_mistakes_are_answered_with_a_sentence(entry: catalog.Entry, call: Callable[[Loss], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(make(entry))
