"""The training loop, to be read in one sitting.

A `Job` says what is trained on what; `fit` walks its epochs. With a run folder it keeps metrics, pseudo-labels and checkpoints there and
goes on after a kill to the same bytes; without one (cross-fitting) it only trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onetag.core.errors import OnetagError
from onetag.core.labels import LabelState, LabelTable, Proposal, load_arrays, save_arrays
from onetag.core.progress import Listener, Progress
from onetag.engine import checkpoint
from onetag.engine.data import Batches, Rows
from onetag.engine.head import LinearHead, drop
from onetag.engine.score import score_blocks, scores
from onetag.learn.functional import positive_loss
from onetag.learn.labeler import Labeler
from onetag.learn.labels import LabelBatch, LabelLookup
from onetag.learn.loss import Loss, LossOutput
from onetag.recipe import Recipe
from onetag.runs import Run

Validate = Callable[[NDArray[np.float32]], dict[str, float]]


@dataclass
class Job:
    """What is trained on what. `validate` turns scores of `val` into named numbers; `monitor` names the one that chooses the best epoch."""

    recipe: Recipe
    ids: NDArray[np.str_]
    classes: tuple[str, ...]
    rows: Rows
    labels: LabelState
    loss: Loss
    labeler: Labeler | None
    negative_weight: NDArray[np.float32]
    val: Rows | None = None
    validate: Validate | None = None
    monitor: str = ""
    truth: LabelTable | None = None
    """Only for the precision of pseudo-labels in the log; no training batch ever sees it."""


@dataclass
class Fitted:
    head: LinearHead
    best_epoch: int
    last_epoch: int
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Sums:
    """Running sums of an epoch, kept as tensors so that no step waits for a number."""

    loss: Tensor
    positive: Tensor
    positives: Tensor
    terms: dict[str, Tensor]

    @classmethod
    def zero(cls) -> _Sums:
        return cls(*(torch.zeros((), dtype=torch.float64) for _ in range(3)), {})


def fit(job: Job, run: Run | None = None, listener: Listener | None = None, checkpoint_seconds: float = 300) -> Fitted:
    recipe, hear = job.recipe, listener or Listener()
    head = LinearHead(job.rows.dim, job.classes, recipe.seed)
    optimizers = _optimizers(head, job.loss, recipe)
    lookup = LabelLookup(job.labels, negative_weight=job.negative_weight)
    batches = Batches(job.ids, recipe.batch_size, recipe.seed)
    best = {name: value.detach().clone() for name, value in head.named_parameters()}
    state: dict[str, Any] = {"epoch": 1, "step": 0, "best_epoch": 0, "best_value": None, "stopped": False, "metrics_size": 0}
    sums, history, num_epochs = _Sums.zero(), list[dict[str, Any]](), recipe.num_epochs

    if run is not None and (saved := checkpoint.latest(run.path / "checkpoint")):
        state = _restore(saved, run, job, head, optimizers, best, sums, lookup)
        history = run.metrics()

    def keep() -> None:
        nonlocal last_kept
        if run is not None:
            state["metrics_size"] = run.size("metrics.jsonl")
            _save(run, state, job, head, optimizers, best, sums)
            last_kept = time.monotonic()

    last_kept = time.monotonic()
    while state["epoch"] <= num_epochs and not state["stopped"]:
        epoch, began = state["epoch"], time.monotonic()
        order = batches.epoch(epoch)
        for step in range(state["step"], len(order)):
            progress = Progress(epoch, num_epochs, step, len(order))
            _step(job, head, optimizers, lookup, order[step], progress, sums)
            state["step"] = step + 1
            if time.monotonic() - last_kept > checkpoint_seconds:
                keep()
        record = _summary(sums, len(job.ids), epoch)
        if not np.isfinite(record["loss"]):
            raise OnetagError(f"epoch {epoch}: the loss is {record['loss']}; the model has diverged (a lower --lr?)")
        progress = Progress(epoch, num_epochs, len(order), len(order))
        if job.labeler is not None and job.labeler.acts(progress):
            record |= _label(job, head, lookup, progress, run)
        if job.val is not None and job.validate is not None:
            record["val"] = job.validate(scores(head, job.val, job.loss.activation))
            _choose(state, record["val"].get(job.monitor, float("nan")), epoch, recipe, head, best)
        history.append(record)
        if run is not None:
            run.append("metrics.jsonl", record)
            run.append("timings.jsonl", {"epoch": epoch, "seconds": round(time.monotonic() - began, 3)})
        state["epoch"], state["step"], sums = epoch + 1, 0, _Sums.zero()
        keep()
        hear.advance("training", epoch, num_epochs, _note(record, job.monitor))

    last_epoch = state["epoch"] - 1
    if last_epoch < num_epochs:
        hear.advance("training", num_epochs, num_epochs, f"stopped after epoch {last_epoch}")
    if state["best_epoch"]:
        head.load_state_dict(best)
    return Fitted(head.eval(), state["best_epoch"] or last_epoch, last_epoch, history)


def _step(
    job: Job, head: LinearHead, optimizers: list[torch.optim.Optimizer], lookup: LabelLookup, index: Tensor, progress: Progress, sums: _Sums
) -> None:
    recipe = job.recipe
    features = drop(job.rows.batch(index), recipe.dropout, recipe.seed, progress.epoch, progress.step)
    logits, labels = head(features), lookup.rows(index)
    output = job.loss.compute(logits, labels, progress)
    if recipe.optimizer.l1 or recipe.optimizer.l2:
        output = LossOutput(output.cells, {**output.terms, "weight_penalty": _penalty(head, recipe)})
    total = output.total()
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=True)
    total.backward()
    for optimizer in optimizers:
        optimizer.step()
    with torch.no_grad():
        sums.loss += total.double() * len(index)
        shown = _shown_loss(logits, labels, job.loss.activation)
        sums.positive += shown.sum()
        sums.positives += labels.is_positive.sum()
        for name, term in output.terms.items():
            sums.terms[name] = sums.terms.get(name, torch.zeros((), dtype=torch.float64)) + term.double() * len(index)


def _shown_loss(logits: Tensor, labels: LabelBatch, activation: str) -> Tensor:
    """-log(score) of observed positives: the paper's positive training loss."""
    loss = positive_loss(logits) if activation == "sigmoid" else torch.logsumexp(logits, dim=1, keepdim=True) - logits
    return torch.where(labels.is_positive, loss, torch.zeros_like(loss))


def _penalty(head: LinearHead, recipe: Recipe) -> Tensor:
    penalty = torch.zeros(())
    for parameter in head.parameters():
        if recipe.optimizer.l1:
            penalty = penalty + recipe.optimizer.l1 * parameter.abs().sum()
        if recipe.optimizer.l2:
            penalty = penalty + recipe.optimizer.l2 * parameter.square().sum()
    return penalty


def _optimizers(head: LinearHead, loss: Loss, recipe: Recipe) -> list[torch.optim.Optimizer]:
    settings = recipe.optimizer
    kinds: dict[str, Callable[..., torch.optim.Optimizer]] = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    extra = {"momentum": 0.9} if settings.name == "sgd" else {}
    made = [kinds[settings.name](head.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True, **extra)]
    for group in loss.parameter_groups():
        kind: Callable[..., torch.optim.Optimizer] = torch.optim.SparseAdam if group.sparse else torch.optim.Adam
        made.append(kind(group.parameters, lr=settings.lr * group.lr_factor))
    return made


def _label(job: Job, head: LinearHead, lookup: LabelLookup, progress: Progress, run: Run | None) -> dict[str, Any]:
    """Ask the labeler, apply what it proposes, and say how right it was where the truth is known."""
    assert job.labeler is not None
    proposal = job.labeler.after_epoch(job.labels, lambda: score_blocks(head, job.rows, job.loss.activation), progress)
    if proposal is None:
        return {}
    written = job.labels.apply(proposal, progress.epoch)
    lookup.apply(written)
    if run is not None:
        save_arrays(
            run.path / "labels" / f"proposal-{progress.epoch:05d}.safetensors",
            {"rows": written.rows, "cols": written.cols, "values": written.values, "weights": written.weights()},
        )
    record: dict[str, Any] = {"pseudo_added": len(written), "pseudo_total": job.labels.num_pseudo}
    if job.truth is not None and len(written):
        said, _ = _precision(job, written.rows, written.cols, written.values)
        rows, cols, values, _epochs = job.labels.pseudo_entries()
        pooled, coin = _precision(job, rows, cols, values)
        record |= {"pseudo_precision": said, "pseudo_precision_pooled": pooled, "pseudo_precision_of_a_coin": coin}
    return record


def _precision(job: Job, rows: NDArray[np.int64], cols: NDArray[np.integer], values: NDArray[np.float32]) -> tuple[float, float]:
    """How many pseudo-labels agree with the truth (at 0.5), and how many would if the same cells were drawn from all unknown ones."""
    assert job.truth is not None
    truth = job.truth.to_dense()
    is_right = np.where(values >= 0.5, 1, -1) == truth[rows, cols]
    unknown = job.labels.observed.to_dense() == 0
    return float(is_right.mean()), float((truth[unknown] == -1).mean())


def _choose(state: dict[str, Any], value: float, epoch: int, recipe: Recipe, head: LinearHead, best: dict[str, Tensor]) -> None:
    """Keep the best weights; stop when there was nothing better for more than `patience` epochs (NaN is never better)."""
    if np.isfinite(value) and (state["best_value"] is None or value > state["best_value"]):
        state["best_value"], state["best_epoch"] = float(value), epoch
        for name, parameter in head.named_parameters():
            best[name].copy_(parameter.detach())
    patience, since = recipe.stopping.patience, epoch - state["best_epoch"]
    state["stopped"] = patience >= 0 and epoch >= recipe.stopping.floor and state["best_epoch"] > 0 and since > patience


def _summary(sums: _Sums, size: int, epoch: int) -> dict[str, Any]:
    shown = float(sums.positive / sums.positives) if float(sums.positives) else None
    record: dict[str, Any] = {"epoch": epoch, "loss": float(sums.loss / size), "positive_loss": shown}
    if sums.terms:
        record["terms"] = {name: float(value / size) for name, value in sorted(sums.terms.items())}
    return record


def _note(record: dict[str, Any], monitor: str) -> str:
    value = record.get("val", {}).get(monitor)
    return f"loss {record['loss']:.4f}" + (f", val {monitor} {100 * value:.2f}" if value is not None else "")


def _save(
    run: Run, state: dict[str, Any], job: Job, head: LinearHead, optimizers: list[torch.optim.Optimizer], best: dict[str, Tensor], sums: _Sums
) -> None:
    moments, numbers = checkpoint.pack(optimizers)
    tensors = {f"head.{name}": value for name, value in head.named_parameters()}
    tensors |= {f"best.{name}": value for name, value in best.items()}
    tensors |= {f"loss.{name}": value for name, value in job.loss.named_parameters()}
    tensors |= {"sums.loss": sums.loss, "sums.positive": sums.positive, "sums.positives": sums.positives}
    tensors |= {f"term.{name}": value for name, value in sums.terms.items()}
    checkpoint.save(run.path / "checkpoint", state["epoch"], state["step"], tensors | moments, {**state, "numbers": numbers})


@torch.no_grad()
def _restore(
    saved: tuple[dict[str, Tensor], dict[str, Any]],
    run: Run,
    job: Job,
    head: LinearHead,
    optimizers: list[torch.optim.Optimizer],
    best: dict[str, Tensor],
    sums: _Sums,
    lookup: LabelLookup,
) -> dict[str, Any]:
    """Put everything where the checkpoint left it: weights, moments, sums, pseudo-labels; forget what was logged after it."""
    tensors, state = saved
    for name, parameter in head.named_parameters():
        parameter.copy_(tensors[f"head.{name}"])
        best[name].copy_(tensors[f"best.{name}"])
    for name, parameter in job.loss.named_parameters():
        parameter.copy_(tensors[f"loss.{name}"])
    sums.loss, sums.positive, sums.positives = (tensors[f"sums.{name}"] for name in ("loss", "positive", "positives"))
    sums.terms = {name.removeprefix("term."): value for name, value in tensors.items() if name.startswith("term.")}
    checkpoint.unpack(optimizers, tensors, state.pop("numbers"))
    run.cut_back("metrics.jsonl", state["metrics_size"])
    for path in sorted((run.path / "labels").glob("proposal-*.safetensors")):
        if (epoch := int(path.stem.removeprefix("proposal-"))) < state["epoch"]:
            lookup.apply(job.labels.apply(_read_proposal(path), epoch))
        else:
            path.unlink()
    return state


def _read_proposal(path: Path) -> Proposal:
    parts = load_arrays(path)
    return Proposal(*(np.asarray(parts[name]) for name in ("rows", "cols", "values", "weights")))
