"""Every loss of methods.md 2.0b against a naive loop over cells, written from its formula with the math module."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from onetag import catalog
from onetag.core.labels import LabelTable
from onetag.core.progress import Progress
from onetag.learn.labels import LabelBatch, label_batch
from onetag.learn.loss import Facts, Loss

pytestmark = pytest.mark.usefixtures("one_thread")

NOW = Progress()
OFFICIAL_EPS = 1e-5
SCALES = (1.0, 5.0, 40.0, 700.0)
SHAPES = ((1, 1), (1, 6), (5, 1), (7, 9))
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@cache
def component(name: str) -> Callable[..., Loss]:
    made: Callable[..., Loss] = catalog.find("losses", name).load()
    return made


def loss(name: str, **given: Any) -> Loss:
    return component(name)(**given)


# ---- the formulas, one cell at a time


def p_of(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def log_p(z: float) -> float:
    return -math.log1p(math.exp(-z)) if z >= 0 else z - math.log1p(math.exp(z))


def plus(z: float, eps: float = 0.0) -> float:
    """l+: -log p, or the official -log(p + eps)."""
    return -math.log(p_of(z) + eps) if eps else -log_p(z)


def minus(z: float, eps: float = 0.0) -> float:
    """l-: -log(1 - p), or the official -log(1 - p + eps)."""
    return -math.log(1 - p_of(z) + eps) if eps else -log_p(-z)


def entropy(z: float, eps: float = 0.0) -> float:
    return p_of(z) * plus(z, eps) + p_of(-z) * minus(z, eps)


def bce(z: float, y: int, eps: float = 0.0) -> float:
    return {1: plus(z, eps), -1: minus(z, eps), 0: 0.0}[y]


def an(
    z: float, y: int, negative_weight: float = 1.0, smoothing: float = 0.0, smooth: str = "all", eps: float = 0.0
) -> float:
    s = smoothing
    if y == 1:
        return (1 - s) * plus(z, eps) + s * minus(z, eps) if smooth == "all" else plus(z, eps)
    if y == 0:
        return negative_weight * ((1 - s) * minus(z, eps) + s * plus(z, eps))
    return minus(z, eps)


def em(z: float, y: int, alpha: float = 0.1, eps: float = 0.0) -> float:
    return {1: plus(z, eps), -1: minus(z, eps), 0: -alpha * entropy(z, eps)}[y]


def entmin(z: float, y: int, alpha: float, eps: float = 0.0) -> float:
    return {1: plus(z, eps), -1: minus(z, eps), 0: alpha * entropy(z, eps)}[y]


def focal(z: float, y: int, gamma: float = 2.0, alpha: float = 0.75) -> float:
    p, q = p_of(z), p_of(-z)
    return {1: alpha * q**gamma * plus(z), -1: minus(z), 0: (1 - alpha) * p**gamma * minus(z)}[y]


def asl(
    z: float,
    y: int,
    gamma_positive: float = 0.0,
    gamma_negative: float = 2.0,
    margin: float = 0.2,
    stop_gradient: bool = False,
) -> float:
    p, q = p_of(z), p_of(-z)
    if y == 1:
        return q**gamma_positive * plus(z)
    if y == -1:
        return minus(z)
    shifted = max(p - margin, 0.0)
    return shifted**gamma_negative * (-math.log(1 - shifted) if margin else minus(z))


CELLS: dict[str, Callable[..., float]] = {"bce": bce, "an": an, "em": em, "entmin": entmin, "focal": focal, "asl": asl}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("bce", {}),
    ("an", {}),
    ("an", {"negative_weight": 0.3}),
    ("an", {"smoothing": 0.1}),
    ("an", {"smoothing": 0.3, "smooth": "negatives"}),
    ("an", {"smoothing": 0.2, "smooth": "all", "negative_weight": 0.1}),
    ("an", {"smoothing": 0.2, "smooth": "negatives", "negative_weight": 0.1}),
    ("em", {}),
    ("em", {"alpha": 1.0}),
    ("em", {"alpha": 0.01}),
    ("entmin", {"alpha": 0.1}),
    ("entmin", {"alpha": 0.9}),
    ("focal", {}),
    ("focal", {"gamma": 0.0, "alpha": 0.5}),
    ("focal", {"gamma": 2.5, "alpha": 0.25}),
    ("focal", {"gamma": 0.5}),
    ("asl", {}),
    ("asl", {"gamma_positive": 1.0, "gamma_negative": 4.0, "margin": 0.05}),
    ("asl", {"gamma_negative": 2.0, "margin": 0.0}),
    ("asl", {"gamma_negative": 0.0, "margin": 0.2}),
    ("asl", {"gamma_negative": 0.0, "margin": 0.0}),
    ("asl", {"gamma_positive": 2.0, "gamma_negative": 1.0, "margin": 0.0, "stop_gradient": True}),
    ("asl", {"gamma_positive": 1.0, "stop_gradient": True}),
]
WITH_EPS = [(name, {**given, "eps": OFFICIAL_EPS}) for name, given in SETTINGS if name in ("bce", "an", "em", "entmin")]
EVERY = [*SETTINGS, *WITH_EPS, ("softmax", {}), ("softmax", {"smoothing": 0.1}), ("role", {"mean_tags": 2.0})]


def named(settings: list[tuple[str, dict[str, Any]]]) -> Any:
    names = ["-".join([name, *(f"{k}={v}" for k, v in given.items())]) for name, given in settings]
    return pytest.mark.parametrize(("name", "given"), settings, ids=names)


# ---- label states of every kind


@dataclass
class Case:
    """Logits and a label state: observed +1/0/-1, pseudo-labels (NaN = none) and their weights, weights of observed."""

    logits: NDArray[np.float64]
    observed: NDArray[np.int8]
    pseudo: NDArray[np.float64]
    beta: NDArray[np.float64]
    weight: NDArray[np.float64]

    def batch(self) -> LabelBatch:
        return label_batch(
            torch.from_numpy(self.observed),
            torch.from_numpy(self.pseudo),
            torch.from_numpy(self.beta),
            torch.from_numpy(self.weight),
            torch.arange(len(self.observed)),
        )

    def make(self, name: str, given: dict[str, Any]) -> Loss:
        made = loss(name, **given)
        made.setup(Facts(LabelTable.from_dense(self.observed), given.get("mean_tags"), seed=3))
        return made


def draw(
    seed: int, shape: tuple[int, int], scale: float, pseudo_share: float = 0.3, negative_share: float = 0.2
) -> Case:
    """Rows with several positives, one, or none; all-negative rows; pseudo-labels of exactly 0 and 1 among them."""
    rng = np.random.default_rng(seed)
    kinds = rng.random(shape)
    observed = np.where(kinds < 0.25, 1, np.where(kinds < 0.25 + negative_share, -1, 0)).astype(np.int8)
    if shape[0] > 4:
        observed[0] = 0  # a picture without any tag
        observed[1] = -1  # nothing but negatives
        observed[2] = -1
        observed[2, 0] = 1  # one positive, all others negative
    pseudo = np.where(rng.random(shape) < pseudo_share, rng.choice([0.0, 1.0, 0.031, 0.5, rng.random()], shape), np.nan)
    weight = rng.choice([0.0, 0.05, 0.3, 1.0, 2.5], shape)
    logits = np.clip(rng.normal(size=shape) * scale, -700, 700)
    return Case(logits, observed, pseudo, rng.choice([0.0, 0.02, 0.9, 1.0], shape), weight)


def every_cell(case: Case, cell: Callable[[float, int], float]) -> list[list[float]]:
    pairs = zip(case.logits.tolist(), case.observed.tolist(), strict=True)
    return [[cell(z, y) for z, y in zip(logits, labels, strict=True)] for logits, labels in pairs]


def wrap(case: Case, cells: list[list[float]], eps: float = 0.0) -> list[list[float]]:
    """Weights and pseudo-labels around the cells of a formula."""
    rows = []
    for n, row in enumerate(cells):
        done = []
        for c, value in enumerate(row):
            z, y, s = float(case.logits[n, c]), int(case.observed[n, c]), float(case.pseudo[n, c])
            if y == 0 and not math.isnan(s):
                done.append(float(case.beta[n, c]) * (s * plus(z, eps) + (1 - s) * minus(z, eps)))
            else:
                done.append(value * (float(case.weight[n, c]) if y else 1.0))
        rows.append(done)
    return rows


def mean(rows: list[list[float]]) -> float:
    return math.fsum(v for row in rows for v in row) / (len(rows) * len(rows[0]))


def near(ours: Tensor | float, naive: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(
        torch.as_tensor(ours).detach().numpy(), np.asarray(naive), rtol=tolerance, atol=tolerance
    )


# ---- values


@named(SETTINGS)
@pytest.mark.parametrize("scale", SCALES)
def test_values_agree_with_the_formula(name: str, given: dict[str, Any], scale: float) -> None:
    for number, shape in enumerate(SHAPES):
        case = draw(number, shape, scale)
        made, logits = case.make(name, given), torch.from_numpy(case.logits)
        output = made.compute(logits, case.batch(), NOW)
        cells = wrap(case, every_cell(case, lambda z, y: CELLS[name](z, y, **given)))
        assert output.cells.dtype == torch.float64
        assert output.cells.shape == shape
        near(output.cells, cells)
        near(made(logits, case.batch()), mean(cells))


@named(WITH_EPS)
@pytest.mark.parametrize("scale", SCALES)
def test_eps_gives_the_official_definition(name: str, given: dict[str, Any], scale: float) -> None:
    for number, shape in enumerate(SHAPES):
        case = draw(number, shape, scale)
        cells = wrap(case, every_cell(case, lambda z, y: CELLS[name](z, y, **given)), OFFICIAL_EPS)
        made = case.make(name, given)
        near(made.compute(torch.from_numpy(case.logits), case.batch(), NOW).cells, cells, 1e-9)
        near(made(torch.from_numpy(case.logits), case.batch()), mean(cells), 1e-9)


def test_eps_changes_pseudo_labelled_cells_too() -> None:
    """Officially a soft label costs beta [s neg_log(p) + (1 - s) neg_log(1 - p)], and neg_log caps at 11.51."""
    observed, logits = torch.tensor([[1, 0]]), torch.tensor([[0.0, 40.0]], dtype=torch.float64)
    batch = label_batch(observed, torch.tensor([[float("nan"), 0.0]]), 0.5)
    capped = loss("em", eps=OFFICIAL_EPS).compute(logits, batch, NOW).cells[0, 1]
    near(capped, 0.5 * -math.log(1e-5), 1e-9)
    near(loss("em").compute(logits, batch, NOW).cells[0, 1], 0.5 * 40)


@named(SETTINGS)
def test_plain_matrix_is_the_mean_over_all_cells(name: str, given: dict[str, Any]) -> None:
    case = draw(11, (6, 5), 4.0)
    total = sum(CELLS[name](z, int(y), **given) for z, y in zip(case.logits.flat, case.observed.flat, strict=True))
    for dtype in (torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64):
        near(
            loss(name, **given)(torch.from_numpy(case.logits), torch.from_numpy(case.observed).to(dtype)),
            total / 30,
        )


def test_label_smoothing_is_s_and_not_half_of_it() -> None:
    """LS moves positives and unknown cells by s, N-LS unknown cells alone; an observed negative is left as it is."""
    logits, observed = torch.tensor([[2.0, 2.0, 2.0]], dtype=torch.float64), torch.tensor([[1, 0, -1]])
    up, down = math.log1p(math.exp(-2)), math.log1p(math.exp(2))
    ls = loss("an", smoothing=0.1).compute(logits, label_batch(observed), NOW).cells
    nls = loss("an", smoothing=0.1, smooth="negatives").compute(logits, label_batch(observed), NOW).cells
    near(ls, [[0.9 * up + 0.1 * down, 0.9 * down + 0.1 * up, down]])
    near(nls, [[up, 0.9 * down + 0.1 * up, down]])


def test_down_weighting_leaves_observed_negatives_alone() -> None:
    logits, observed = torch.tensor([[0.5, 0.5]], dtype=torch.float64), torch.tensor([[0, -1]])
    near(
        loss("an", negative_weight=0.1).compute(logits, label_batch(observed), NOW).cells,
        [[0.1 * minus(0.5), minus(0.5)]],
    )


def test_bce_and_an_differ_where_positives_are_hidden() -> None:
    """Full labels: the same. One positive and all negatives: `an` would take the hidden positive for a negative."""
    logits = torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
    full, hidden = torch.tensor([[1, -1, 1]]), torch.tensor([[1, -1, 0]])
    near(loss("bce")(logits, full), loss("an")(logits, full))
    near(loss("bce")(logits, hidden), (plus(1.0) + minus(-2.0)) / 3)
    near(loss("an")(logits, hidden), (plus(1.0) + minus(-2.0) + minus(3.0)) / 3)


def test_bce_divides_by_all_cells_also_where_most_are_unknown() -> None:
    observed = torch.zeros(4, 25, dtype=torch.int8)
    observed[0, 0] = 1
    near(loss("bce")(torch.zeros(4, 25, dtype=torch.float64), observed), math.log(2) / 100)


def test_em_total_is_negative_and_bounded() -> None:
    """B4: a negative training loss is normal; the least an unknown cell gives is -alpha log 2."""
    near(loss("em", alpha=0.2)(torch.zeros(3, 4, dtype=torch.float64), torch.zeros(3, 4)), -0.2 * math.log(2))


# ---- gradients


def gradient(made: Loss, logits: Tensor, batch: Tensor | LabelBatch) -> Tensor:
    leaf = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(made(leaf, batch), leaf)
    return found


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-5)])
def test_em_gradient_has_the_closed_form(alpha: float, dtype: torch.dtype, tolerance: float) -> None:
    """alpha z p (1 - p), into the tails where p (1 - p) is 1e-35."""
    logits = torch.linspace(-80, 80, 6401, dtype=dtype)
    logits = logits[logits.abs() > 1e-3].view(1, -1)
    found = gradient(loss("em", alpha=alpha), logits, torch.zeros(logits.shape, dtype=torch.int8)) * logits.numel()
    closed = [alpha * z * p_of(z) * p_of(-z) for z in logits.double().view(-1).tolist()]
    np.testing.assert_allclose(found.double().numpy()[0], closed, rtol=tolerance)


def test_em_gradient_vanishes_at_zero_and_peaks_where_the_paper_says() -> None:
    logits = torch.linspace(-4, 4, 8001, dtype=torch.float64).view(1, -1)
    found = gradient(loss("em", alpha=1.0), logits, torch.zeros(logits.shape)).view(-1) * logits.numel()
    assert abs(float(found[4000])) < 1e-15
    assert float(found.max()) == pytest.approx(0.2239, abs=1e-4)
    assert abs(float(logits[0, found.argmax()])) == pytest.approx(1.543, abs=2e-3)


@named([pair for pair in EVERY if pair[0] != "role" and not pair[1].get("stop_gradient")])
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_gradcheck(name: str, given: dict[str, Any], scale: float) -> None:
    for shape in ((4, 5), (6, 1), (1, 4)):
        case = draw(5, shape, scale)
        made, batch = case.make(name, given), case.batch()
        logits = torch.from_numpy(case.logits).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda z, made=made, batch=batch: made(z, batch), (logits,), atol=1e-7, rtol=1e-5
        )


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("alpha", [0.25, 0.75])
def test_focal_gradient_flows_through_the_factor(gamma: float, alpha: float) -> None:
    for z in (-30.0, -3.0, -0.2, 0.0, 1.0, 4.0, 30.0):
        p, q = p_of(z), p_of(-z)
        found = gradient(
            loss("focal", gamma=gamma, alpha=alpha),
            torch.full((1, 2), z, dtype=torch.float64),
            torch.tensor([[1, 0]]),
        )
        near(2 * found[0, 0], -alpha * q**gamma * (q + gamma * p * plus(z)))
        near(2 * found[0, 1], (1 - alpha) * p**gamma * (p + gamma * q * minus(z)))


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize(
    ("up", "down", "margin"), [(0.0, 2.0, 0.2), (1.0, 4.0, 0.05), (2.0, 1.0, 0.0), (1.5, 0.5, 0.3)]
)
def test_asl_has_both_official_gradients(stop: bool, up: float, down: float, margin: float) -> None:
    """The class AsymmetricLoss stops the gradient through the focusing factor, AsymmetricLossOptimized does not."""
    made = loss("asl", gamma_positive=up, gamma_negative=down, margin=margin, stop_gradient=stop)
    for z in (-30.0, -3.0, -1.0, 0.0, 1.0, 4.0, 30.0):
        p, q = p_of(z), p_of(-z)
        found = gradient(made, torch.full((1, 2), z, dtype=torch.float64), torch.tensor([[1, 0]])) * 2
        through = 0.0 if stop else up * q**up * -p * plus(z)
        near(found[0, 0], q**up * -q + through)
        shifted = max(p - margin, 0.0)
        if not shifted:
            near(found[0, 1], 0.0)
            continue
        decay = -math.log(1 - shifted) if margin else minus(z)
        through = 0.0 if stop else down * shifted ** (down - 1) * p * q * decay
        near(found[0, 1], shifted**down * p * q / (q + margin) + through)


# ---- softmax


def softmax(case: Case, smoothing: float = 0.0) -> float:
    """The mean over pictures with a positive; an observed negative of weight w keeps 1 - w of its place below."""
    pictures = []
    for n, logits in enumerate(case.logits.tolist()):
        positives = [c for c in range(len(logits)) if case.observed[n, c] == 1]
        if not positives:
            continue
        present = [c for c in range(len(logits)) if case.observed[n, c] != -1]
        share = [1.0 if c in present else 1 - min(float(case.weight[n, c]), 1.0) for c in range(len(logits))]
        top = max(logits)
        norm = top + math.log(math.fsum(k * math.exp(z - top) for k, z in zip(share, logits, strict=True)))
        even = math.fsum(norm - logits[c] for c in present) / len(present)
        costs = [
            ((1 - smoothing) * (norm - logits[c]) + smoothing * even) * float(case.weight[n, c]) for c in positives
        ]
        pictures.append(math.fsum(costs) / len(positives))
    return math.fsum(pictures) / len(pictures) if pictures else 0.0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (5, 1), (7, 9), (11, 13)])
def test_softmax_agrees_with_the_formula(smoothing: float, scale: float, shape: tuple[int, int]) -> None:
    for seed in range(4):
        case = draw(seed, shape, scale, pseudo_share=0.0)
        made = loss("softmax", smoothing=smoothing)
        near(made(torch.from_numpy(case.logits), case.batch()), softmax(case, smoothing))
        case.weight[:] = 1.0
        near(made(torch.from_numpy(case.logits), torch.from_numpy(case.observed)), softmax(case, smoothing))


def test_softmax_total_is_the_mean_over_pictures_with_a_positive() -> None:
    logits = torch.tensor([[1.0, 2.0], [5.0, -1.0], [0.0, 3.0]], dtype=torch.float64)
    observed = torch.tensor([[1, 0], [0, 0], [0, -1]])
    made = loss("softmax")
    near(made(logits, observed), math.log(1 + math.e))
    found = gradient(made, logits, observed)
    assert torch.equal(found[1:], torch.zeros(2, 2, dtype=torch.float64))
    near(found[0], [p_of(-1.0) - 1, p_of(1.0)])


def test_softmax_without_any_positive_is_zero_with_zero_gradient() -> None:
    for observed in (torch.zeros(3, 4), torch.full((3, 4), -1.0)):
        logits = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        assert float(loss("softmax")(logits, observed)) == 0.0
        assert not gradient(loss("softmax", smoothing=0.1), logits, observed).any()


def test_softmax_observed_negatives_leave_the_denominator() -> None:
    logits = torch.tensor([[1.0, 50.0, 2.0]], dtype=torch.float64)
    found = gradient(loss("softmax"), logits, torch.tensor([[1, -1, 0]]))
    near(loss("softmax")(logits, torch.tensor([[1, -1, 0]])), math.log(1 + math.e))
    assert float(found[0, 1]) == 0.0
    assert float(loss("softmax")(logits, torch.tensor([[1, -1, -1]]))) == 0.0  # nothing left to tell it from


def test_softmax_several_positives_and_partly_trusted_negatives() -> None:
    logits = torch.tensor([[0.3, -1.0, 2.0, 0.7]], dtype=torch.float64)
    weight = torch.tensor([[1.0, 1.0, 0.25, 1.0]], dtype=torch.float64)
    batch = label_batch(torch.tensor([[1, 1, -1, 0]]), weight=weight)
    norm = math.log(math.exp(0.3) + math.exp(-1) + 0.75 * math.exp(2) + math.exp(0.7))
    near(loss("softmax")(logits, batch), norm - (0.3 - 1.0) / 2)


# ---- role


def estimates(made: Loss) -> list[list[float]]:
    found: list[list[float]] = made.get_parameter("estimator").detach().double().tolist()
    return found


@pytest.mark.parametrize("scale", [1.0, 5.0, 40.0, 700.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_role_agrees_with_the_formula(scale: float, shape: tuple[int, int]) -> None:
    """mean(1/2 [1_P l+(p) + 1_P l+(q) + CE(q -> p) + CE(p -> q)] + 1_N l-(p)) + 1/2 [R(p) + R(q)]."""
    for seed in range(3):
        case = draw(seed, shape, scale, pseudo_share=0.2 if seed else 0.0)
        made = case.make("role", {"mean_tags": 2.9})
        guess = estimates(made)
        plain = []
        for n, row in enumerate(guess):
            done = []
            for c, t in enumerate(row):
                z, y = float(case.logits[n, c]), int(case.observed[n, c])
                both = p_of(t) * plus(z) + p_of(-t) * minus(z) + p_of(z) * plus(t) + p_of(-z) * minus(t)
                shown = plus(z) + plus(t) if y == 1 else 0.0
                done.append(0.5 * (both + shown) + (minus(z) if y == -1 else 0.0))
            plain.append(done)
        cells = wrap(case, plain)
        terms = []
        for logits in (case.logits.tolist(), guess):
            tags = math.fsum(p_of(z) for row in logits for z in row) / shape[0]
            terms.append(((tags - 2.9) / shape[1]) ** 2)
        output = made.compute(torch.from_numpy(case.logits), case.batch(), NOW)
        near(output.cells, cells)
        assert list(output.terms) == ["mean_tags"]
        near(output.terms["mean_tags"], 0.5 * sum(terms))
        near(made(torch.from_numpy(case.logits), case.batch()), mean(cells) + 0.5 * sum(terms))


@pytest.mark.parametrize("scale", [1.0, 4.0, 20.0])
def test_role_gradients_are_stopped_where_cole_stops_them(scale: float) -> None:
    """Each cross-entropy teaches one side only; an observed negative is pushed down, never up."""
    case = draw(8, (6, 7), scale, pseudo_share=0.0)
    case.weight[:] = 1.0
    made = case.make("role", {"mean_tags": 2.0})
    logits = torch.from_numpy(case.logits).requires_grad_()
    made(logits, case.batch()).backward()
    cells, (rows, classes) = case.logits.size, case.logits.shape
    p_sum = math.fsum(p_of(z) for z in case.logits.flat) / rows
    q_sum = math.fsum(p_of(t) for row in estimates(made) for t in row) / rows
    grad_p, grad_q = np.zeros(case.logits.shape), np.zeros(case.logits.shape)
    for n, row in enumerate(estimates(made)):
        for c, t in enumerate(row):
            z, y = float(case.logits[n, c]), int(case.observed[n, c])
            p, q = p_of(z), p_of(t)
            pull_p = (p_sum - 2.0) / classes**2 * p * p_of(-z) / rows
            pull_q = (q_sum - 2.0) / classes**2 * q * p_of(-t) / rows
            if y == -1:
                grad_p[n, c] = (0.5 * max(p - q, 0.0) + p) / cells
            else:
                grad_p[n, c] = 0.5 * ((p - q) - (p_of(-z) if y == 1 else 0.0)) / cells + pull_p
            grad_q[n, c] = 0.5 * ((q - p) - (p_of(-t) if y == 1 else 0.0)) / cells + pull_q
    assert logits.grad is not None
    near(logits.grad, grad_p)
    found = made.get_parameter("estimator").grad
    assert found is not None
    np.testing.assert_allclose(
        found.to_dense().double().numpy(), grad_q, rtol=1e-5, atol=1e-8
    )  # the estimator is float32


def test_role_estimator_starts_where_cole_starts_it() -> None:
    """Positives at 0.995, unknown cells at U[-logit .6, logit .6]; observed negatives (no official code) at 0.005."""
    rng = np.random.default_rng(12)
    observed = rng.choice([1, 0, 0, 0, -1], (400, 50)).astype(np.int8)
    made = loss("role", mean_tags=2.0)
    made.setup(Facts(LabelTable.from_dense(observed), seed=1))
    found = made.get_parameter("estimator").detach()
    assert found.dtype == torch.float32
    q = torch.sigmoid(found.double()).numpy()
    np.testing.assert_allclose(q[observed == 1], 0.995, rtol=1e-6)
    np.testing.assert_allclose(q[observed == -1], 0.005, rtol=1e-5)
    start, end = found.numpy()[observed == 0], math.log(0.6 / 0.4)
    assert start.min() > -end
    assert start.max() < end
    counts = np.histogram(start, 10, (-end, end))[0]
    assert np.abs(counts - len(start) / 10).max() < 5 * math.sqrt(len(start) / 10)


def test_role_mean_tags_term_is_squared_over_classes_squared() -> None:
    """((mean number of positives) - k)^2 / C^2, half of it for p and half for q; the mean is over the batch."""
    made = loss("role", mean_tags=3.0)
    made.setup(Facts(LabelTable.from_dense(np.ones((6, 4), np.int8))))
    batch = label_batch(torch.ones(2, 4), index=torch.tensor([5, 1]))
    term = made.compute(torch.zeros(2, 4, dtype=torch.float64), batch, NOW).terms["mean_tags"]
    near(term, 0.5 * ((2 - 3) ** 2 + (4 * 0.995 - 3) ** 2) / 16, 1e-7)


def test_role_gives_gradients_to_the_rows_of_the_batch_alone() -> None:
    made = loss("role", mean_tags=2.0)
    made.setup(Facts(LabelTable.from_dense(np.zeros((9, 4), np.int8))))
    made(torch.randn(3, 4), label_batch(torch.zeros(3, 4), index=torch.tensor([7, 0, 7]))).backward()
    found = made.get_parameter("estimator").grad
    assert found is not None
    assert found.is_sparse
    assert found.coalesce().indices().tolist() == [[0, 7]]


def test_role_training_leaves_other_rows_byte_for_byte_as_they_were() -> None:
    made = loss("role", mean_tags=2.0)
    made.setup(Facts(LabelTable.from_dense(np.zeros((9, 4), np.int8))))
    estimator = made.get_parameter("estimator")
    (group,) = made.parameter_groups()
    assert group.sparse
    optimizer = torch.optim.SparseAdam(group.parameters, lr=0.01)
    before = estimator.detach().numpy().copy()
    for index in ([2, 5], [5, 6], [5, 2]):
        optimizer.zero_grad()
        made(torch.full((2, 4), 3.0), label_batch(torch.zeros(2, 4), index=torch.tensor(index))).backward()
        optimizer.step()
    after = estimator.detach().numpy()
    moved = [row for row in range(9) if after[row].tobytes() != before[row].tobytes()]
    assert moved == [2, 5, 6]
    assert (np.abs(after[moved] - before[moved]) > 1e-4).all()


def test_role_says_what_it_misses() -> None:
    """Its rows belong to samples: never to whichever pictures happen to come first."""
    batch = label_batch(torch.zeros(2, 4), index=torch.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="call setup"):
        loss("role", mean_tags=2.0)(torch.zeros(2, 4), batch)
    made = loss("role", mean_tags=2.0)
    made(torch.zeros(2, 2), torch.tensor([[1, 0], [0, 0]]))
    made(torch.zeros(2, 2), torch.tensor([[1, 0], [0, 0]]).float())  # the whole training set, again
    for other in (torch.tensor([[0, 1], [0, 0]]), torch.tensor([[1, 0]])):
        with pytest.raises(ValueError, match=r"label_batch\(observed, index="):
            made(torch.zeros(len(other), 2), other)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="mean_tags"):
            loss("role", mean_tags=wrong)


# ---- numbers at the ends of what a float holds


EXTREMES = (
    -65504.0,
    -1e4,
    -1000.0,
    -104.0,
    -89.0,
    -88.0,
    -17.4,
    -17.3,
    -1.0,
    -0.0,
    0.0,
    1e-7,
    1.0,
    6.3,
    17.4,
    88.0,
    89.0,
    104.0,
    1000.0,
    1e4,
    65504.0,
)


def at_extremes(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Every extreme in every kind of cell (positive, negative, unknown, pseudo 0, 1, 0.3); and rows of one kind."""
    kinds = [(1, math.nan), (-1, math.nan), (0, math.nan), (0, 0.0), (0, 1.0), (0, 0.3)]
    one = torch.tensor(EXTREMES, dtype=dtype).clamp(torch.finfo(dtype).min, torch.finfo(dtype).max)
    rows = [one.repeat(len(kinds)), *(one.repeat(len(kinds)) for _ in kinds)]
    mixed = [kind for kind in kinds for _ in EXTREMES]
    pure = [[kind] * len(mixed) for kind in kinds]
    states = [mixed, *pure]
    observed = torch.tensor([[y for y, _ in row] for row in states], dtype=torch.int8)
    pseudo = torch.tensor([[s for _, s in row] for row in states])
    return torch.stack(rows), observed, pseudo


@named(EVERY)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nothing_is_nan_or_infinite(name: str, given: dict[str, Any], dtype: torch.dtype) -> None:
    logits, observed, pseudo = at_extremes(dtype)
    for state in (
        label_batch(observed, index=torch.arange(7)),
        label_batch(observed, pseudo, 0.5, 0.3, torch.arange(7)),
    ):
        made = loss(name, **given)
        made.setup(Facts(LabelTable.from_dense(observed.numpy()), 2.0))
        leaf = logits.clone().requires_grad_()
        total = made(leaf, state)
        total.backward()
        assert leaf.grad is not None
        assert torch.isfinite(total)
        assert torch.isfinite(leaf.grad).all()
        assert torch.isfinite(made.compute(logits, state, NOW).cells).all()


@named(EVERY)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32(name: str, given: dict[str, Any], dtype: torch.dtype) -> None:
    case = draw(2, (6, 8), 9.0)
    half = torch.from_numpy(case.logits).to(dtype)
    made, batch = case.make(name, given), case.batch()
    total = made(half, batch)
    assert total.dtype == torch.float32
    assert torch.equal(total, made(half.float(), batch))
    assert torch.equal(gradient(made, half, batch), gradient(made, half.float(), batch).to(dtype))


@named(EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_precision_of_the_logits_is_that_of_the_total(name: str, given: dict[str, Any], dtype: torch.dtype) -> None:
    """Neither double weights widen a float32 loss, nor do integer counts or float32 weights narrow a float64 one."""
    case = draw(2, (6, 8), 9.0)
    batch = label_batch(torch.from_numpy(case.observed), torch.from_numpy(case.pseudo), 0.1, 0.3, torch.arange(6))
    made = case.make(name, given)
    total = made(torch.from_numpy(case.logits).to(dtype), batch)
    assert total.dtype == dtype
    assert made(torch.from_numpy(case.logits).to(dtype), torch.from_numpy(case.observed)).dtype == dtype
    if dtype == torch.float64:
        case.beta[:], case.weight[:] = 0.1, 0.3
        near(total, made(torch.from_numpy(case.logits), case.batch()).detach(), 1e-15)


@named([pair for pair in EVERY if pair[0] != "role"])
def test_float32_is_as_good_as_float32_can_be(name: str, given: dict[str, Any]) -> None:
    case = draw(4, (20, 10), 12.0)
    made, batch = case.make(name, given), case.batch()
    single = made.compute(torch.from_numpy(case.logits).float(), batch, NOW).cells.double()
    exact = made.compute(torch.from_numpy(case.logits).float().double(), batch, NOW).cells
    np.testing.assert_allclose(single.detach().numpy(), exact.detach().numpy(), rtol=3e-5, atol=2e-6)
