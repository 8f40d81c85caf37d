"""The training loop, to be read in one sitting.

A `Job` says what is trained on what; `fit` walks its epochs. With a run folder it keeps metrics, pseudo-labels and
checkpoints there, and goes on after a kill to the same bytes; without one (cross-fitting) it only trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onetag.core.errors import OnetagError
from onetag.core.labels import LabelState, LabelTable
from onetag.core.progress import Listener, Progress
from onetag.engine import checkpoint, pseudo
from onetag.engine.data import Batches, Rows
from onetag.engine.head import LinearHead, drop
from onetag.engine.optimize import make_optimizers, penalty, set_rates
from onetag.engine.score import score_blocks, scores
from onetag.learn.functional import positive_loss
from onetag.learn.labeler import Labeler
from onetag.learn.labels import LabelBatch, LabelLookup, NegativeWeights
from onetag.learn.loss import Loss, LossOutput
from onetag.recipe import Recipe
from onetag.runs import Run

Validate = Callable[[NDArray[np.float32]], dict[str, float]]


@dataclass
class Job:
    """What is trained on what.

    `validate` turns scores of `val` into named numbers; `monitor` names the one that chooses the best epoch ("": none).
    `truth` is for the log alone (how many pseudo-labels are right): no training batch ever sees it.
    """

    recipe: Recipe
    ids: NDArray[np.str_]
    classes: tuple[str, ...]
    rows: Rows
    labels: LabelState
    loss: Loss
    labeler: Labeler | None
    negative_weight: NegativeWeights
    val: Rows | None = None
    validate: Validate | None = None
    monitor: str = ""
    truth: LabelTable | None = None
    groups: NDArray[np.int64] | None = None
    """Rows with the same number stay in one fold when scores are cross-fitted."""


@dataclass
class Fitted:
    head: LinearHead
    best_epoch: int
    last_epoch: int
    history: list[dict[str, Any]]


@dataclass
class _Position:
    """Where training stands: the epoch and step to do next, and the best epoch so far (0: none)."""

    epoch: int = 1
    step: int = 0
    best_epoch: int = 0
    best_value: float = float("-inf")
    stopped: bool = False
    metrics_size: int = 0


@dataclass
class _Sums:
    """Running sums of an epoch, kept as tensors so that no step waits for a number."""

    loss: Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.float64))
    positive: Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.float64))
    positives: Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.float64))
    terms: dict[str, Tensor] = field(default_factory=dict)


def fit(job: Job, run: Run | None = None, listener: Listener | None = None, checkpoint_seconds: float = 300) -> Fitted:
    """Train to the end, from the last checkpoint of `run` where there is one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a step of a linear head is too small to share: threads would wait for each other
    try:
        return _Fit(job, run, listener or Listener(), checkpoint_seconds).train()
    finally:
        torch.set_num_threads(threads)


class _Fit:
    def __init__(self, job: Job, run: Run | None, listener: Listener, checkpoint_seconds: float) -> None:
        recipe = job.recipe
        self.job, self.run, self.listener = job, run, listener
        self.head = LinearHead(job.rows.dim, job.classes, recipe.seed)
        self.best = {name: value.detach().clone() for name, value in self.head.named_parameters()}
        self.optimizers = make_optimizers(self.head, job.loss, recipe.optimizer)
        self.lookup = LabelLookup(job.labels, negative_weight=job.negative_weight)
        self.batches = Batches(job.ids, recipe.batch_size, recipe.seed)
        self.at, self.sums = _Position(), _Sums()
        self.history: list[dict[str, Any]] = []
        self.checkpoint_seconds, self.last_kept = checkpoint_seconds, time.monotonic()

    def train(self) -> Fitted:
        self._restore()
        num_epochs = self.job.recipe.num_epochs
        while self.at.epoch <= num_epochs and not self.at.stopped:
            began = time.monotonic()
            order = self.batches.epoch(self.at.epoch)
            for step in range(self.at.step, len(order)):
                self._step(order[step], Progress(self.at.epoch, num_epochs, step, len(order)))
                self.at.step = step + 1
                if time.monotonic() - self.last_kept > self.checkpoint_seconds:
                    self._keep()
            record = self._end_epoch(Progress(self.at.epoch, num_epochs, len(order), len(order)))
            self._log(record, time.monotonic() - began)
            self.at.epoch, self.at.step, self.sums = self.at.epoch + 1, 0, _Sums()
            is_last = self.at.epoch > num_epochs or self.at.stopped
            if is_last or time.monotonic() - self.last_kept > min(1, self.checkpoint_seconds):
                self._keep()  # epochs of less than a second share a checkpoint
        last_epoch = self.at.epoch - 1
        if last_epoch < num_epochs:
            self.listener.advance("training", num_epochs, num_epochs, f"stopped after epoch {last_epoch}")
        if self.at.best_epoch:
            self.head.load_state_dict(self.best)
        return Fitted(self.head.eval(), self.at.best_epoch or last_epoch, last_epoch, self.history)

    def _step(self, index: Tensor, progress: Progress) -> None:
        job, recipe = self.job, self.job.recipe
        features = drop(job.rows.batch(index), recipe.dropout, recipe.seed, progress.epoch, progress.step)
        logits, labels = self.head(features), self.lookup.rows(index)
        output = job.loss.compute(logits, labels, progress)
        if recipe.optimizer.l1 or recipe.optimizer.l2:
            output = LossOutput(output.cells, {**output.terms, "weight_penalty": penalty(self.head, recipe.optimizer)})
        total = output.total()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(total)
        set_rates(self.optimizers, recipe.optimizer.schedule, progress.fraction)
        for optimizer in self.optimizers:
            optimizer.step()
        self._sum_up(total, output, logits, labels)

    @torch.no_grad()
    def _sum_up(self, total: Tensor, output: LossOutput, logits: Tensor, labels: LabelBatch) -> None:
        sums, size = self.sums, len(logits)
        sums.loss += total.double() * size
        sums.positive += _shown_loss(logits, labels, self.job.loss.activation).sum()
        sums.positives += labels.is_positive.sum()
        for name, term in output.terms.items():
            sums.terms[name] = sums.terms.get(name, torch.zeros((), dtype=torch.float64)) + term.double() * size

    def _end_epoch(self, progress: Progress) -> dict[str, Any]:
        """Say how the epoch went, let the labeler act, validate, choose."""
        job, sums, size = self.job, self.sums, len(self.job.ids)
        loss = float(sums.loss / size)
        if not np.isfinite(loss):
            raise OnetagError(f"epoch {progress.epoch}: the loss is {loss}; the model has diverged (a lower --lr?)")
        shown = float(sums.positive / sums.positives) if float(sums.positives) else None
        record: dict[str, Any] = {"epoch": progress.epoch, "loss": loss, "positive_loss": shown}
        if sums.terms:
            record["terms"] = {name: float(value / size) for name, value in sorted(sums.terms.items())}
        if job.labeler is not None and job.labeler.acts(progress):
            record |= self._label(job.labeler, progress)
        if job.val is not None and job.validate is not None:
            record["val"] = job.validate(scores(self.head, job.val, job.loss.activation))
            self._choose(record["val"].get(job.monitor, float("nan")))
        return record

    def _label(self, labeler: Labeler, progress: Progress) -> dict[str, Any]:
        job = self.job
        blocks = lambda: score_blocks(self.head, job.rows, job.loss.activation)  # noqa: E731 (computed only when asked for)
        proposal = labeler.after_epoch(job.labels, blocks, progress)
        if proposal is None:
            return {}
        written = job.labels.apply(proposal, progress.epoch)
        self.lookup.apply(written)
        if self.run is not None:
            pseudo.save(self.run.path / "labels", written, progress.epoch)
        return pseudo.describe(job.labels, written, job.truth)

    def _choose(self, value: float) -> None:
        """Keep the best weights; stop after more than `patience` epochs without better ones (NaN is never better)."""
        at, stopping = self.at, self.job.recipe.stopping
        if np.isfinite(value) and value > at.best_value:
            at.best_value, at.best_epoch = float(value), at.epoch
            for name, parameter in self.head.named_parameters():
                self.best[name].copy_(parameter.detach())
        waited = at.epoch - at.best_epoch
        at.stopped = 0 <= stopping.patience < waited and at.epoch >= stopping.floor and at.best_epoch > 0

    def _log(self, record: dict[str, Any], seconds: float) -> None:
        self.history.append(record)
        if self.run is not None:
            self.run.append("metrics.jsonl", record)
            self.run.append("timings.jsonl", {"epoch": record["epoch"], "seconds": round(seconds, 3)})
        value = record.get("val", {}).get(self.job.monitor)
        note = f"loss {record['loss']:.4f}" + ("" if value is None else f", val {self.job.monitor} {100 * value:.2f}")
        self.listener.advance("training", record["epoch"], self.job.recipe.num_epochs, note)

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that training changes, but the optimizers' moments and the pseudo-labels."""
        tensors: dict[str, Tensor] = {f"head.{name}": value for name, value in self.head.named_parameters()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= {f"loss.{name}": value for name, value in self.job.loss.named_parameters()}
        tensors |= {"sums.loss": self.sums.loss, "sums.positive": self.sums.positive}
        return tensors | {"sums.positives": self.sums.positives}

    def _keep(self) -> None:
        if self.run is None:
            return
        self.at.metrics_size = self.run.size("metrics.jsonl")
        moments, numbers = checkpoint.pack(self.optimizers)
        terms = {f"term.{name}": value for name, value in self.sums.terms.items()}
        state = {"position": asdict(self.at), "numbers": numbers}
        checkpoint.save(
            self.run.path / "checkpoint", self.at.epoch, self.at.step, self._tensors() | terms | moments, state
        )
        self.last_kept = time.monotonic()

    @torch.no_grad()
    def _restore(self) -> None:
        """Put everything where the last checkpoint left it, and forget what was logged after it."""
        if self.run is None:
            return
        saved = checkpoint.latest(self.run.path / "checkpoint")
        tensors, state = saved or ({}, {"position": asdict(self.at), "numbers": {}})
        self.at = _Position(**state["position"])
        if saved is not None:
            for name, value in self._tensors().items():
                value.copy_(tensors[name])
            self.sums.terms = {n.removeprefix("term."): v for n, v in tensors.items() if n.startswith("term.")}
            checkpoint.unpack(self.optimizers, tensors, state["numbers"])
        self.run.cut_back("metrics.jsonl", self.at.metrics_size)
        self.history = self.run.metrics() if self.at.metrics_size else []
        for epoch, written in pseudo.load(self.run.path / "labels", before=self.at.epoch):
            self.lookup.apply(self.job.labels.apply(written, epoch))


def _shown_loss(logits: Tensor, labels: LabelBatch, activation: str) -> Tensor:
    """-log(score) of observed positives: the paper's positive training loss."""
    loss = positive_loss(logits) if activation == "sigmoid" else torch.logsumexp(logits, dim=1, keepdim=True) - logits
    return torch.where(labels.is_positive, loss, torch.zeros_like(loss))
