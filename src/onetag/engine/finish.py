"""After the last epoch: thresholds, the test once, and everything a reader of the run folder needs. config.json is written last."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from onetag import __version__
from onetag.core.labels import save_arrays
from onetag.core.predictions import Predictions
from onetag.core.progress import Listener
from onetag.engine import evaluate, thresholds
from onetag.engine.data import Rows
from onetag.engine.examples import save_examples
from onetag.engine.fit import Fitted, Job
from onetag.engine.score import scores
from onetag.engine.sides import Side, Sides
from onetag.engine.thresholds import Thresholds
from onetag.learn.backbone import Backbone
from onetag.runs import SCHEMA, Run, write_json, write_text


def finish(
    run: Run, job: Job, fitted: Fitted, backbone: Backbone, sides: Sides, mean_tags: float, source: str, hear: Listener
) -> None:
    activation = job.loss.activation
    scored = {
        name: scores(fitted.head, Rows(side.features), activation)
        for name, side in sides.named().items()
        if name != "train"
    }
    cut, held_out = _thresholds(job, fitted, sides, scored, mean_tags, source, hear)
    if held_out is not None:
        scored = {"train": held_out, **scored}
    results = {
        name: _measure(side, scored[name], cut)
        for name, side in sides.named().items()
        if name in ("val", "test") and name in scored
    }
    if "test" in results:
        run.append("metrics.jsonl", {"epoch": fitted.best_epoch, "test": results["test"]})
    save_arrays(
        run.path / "head.safetensors", {name: value.detach().numpy() for name, value in fitted.head.named_parameters()}
    )
    if scored:
        _save_predictions(run, sides, scored)
    side = next((name for name in ("test", "val", "train") if name in scored), None)
    if side is not None:
        save_examples(run, side, sides.named()[side], scored[side], cut)
    if sides.skipped:
        lines = (
            json.dumps({"path": problem.where, "why": problem.why}, ensure_ascii=False) for problem in sides.skipped
        )
        write_text(run.path / "skipped.jsonl", "".join(f"{line}\n" for line in lines))
    shown = job.labels.observed.class_counts(1)
    config = {
        "schema": SCHEMA,
        "version": __version__,
        "architecture": {"trunk": backbone.name, "frozen": True, "head": "linear", "inputs": job.rows.dim},
        "method": job.recipe.method,
        "activation": activation,
        "classes": list(job.classes),
        "thresholds": [float(value) for value in cut.values],
        "thresholds_from": cut.rule,
        "mean_tags": {"value": mean_tags, "source": source},
        "backbone": {
            "name": backbone.name, "weights": backbone.weights, "fingerprint": backbone.fingerprint(),
            "preprocessing": backbone.preprocessing.describe(), "dim": job.rows.dim,
        },
        "epochs": {"best": fitted.best_epoch, "last": fitted.last_epoch},
        "train": {"pictures": len(job.ids), "shown": dict(zip(job.classes, shown.tolist(), strict=True))},
        "skipped": len(sides.skipped),
        "results": results,
    }  # fmt: skip
    write_text(run.path / "README.md", model_card(config))
    write_json(run.path / "config.json", config)


def _thresholds(
    job: Job,
    fitted: Fitted,
    sides: Sides,
    scored: dict[str, NDArray[np.float32]],
    mean_tags: float,
    source: str,
    hear: Listener,
) -> tuple[Thresholds, NDArray[np.float32] | None]:
    """Best information first: complete validation labels, complete training labels, else matched to the mean number of tags."""
    if sides.val is not None and sides.val.split.truth is not None:
        return thresholds.from_complete(scored["val"], sides.val.split.truth), None
    held_out = thresholds.cross_fitted(job, fitted.best_epoch, hear)
    observed = job.labels.observed
    if observed.is_complete:
        found = thresholds.from_complete(held_out, observed)
        rule = {**found.rule, "on": f"complete training labels, {thresholds.FOLDS}-fold cross-fitted scores"}
        return Thresholds(found.values, rule), held_out
    hear.say(f"thresholds are matched to {mean_tags:.2f} tags per picture ({source})")
    return thresholds.matched(held_out, observed, mean_tags, source), held_out


def _measure(side: Side, values: NDArray[np.float32], cut: Thresholds) -> dict[str, Any]:
    if side.split.truth is None:
        return {"pictures": len(values), **evaluate.known_tags(values, side.split.labels)}
    return evaluate.complete(values, side.split.truth, side.split.classes, cut.values)


def _save_predictions(run: Run, sides: Sides, scored: dict[str, NDArray[np.float32]]) -> None:
    named = sides.named()
    ids = np.concatenate([named[name].split.ids for name in scored])
    side = np.concatenate([np.full(len(values), name) for name, values in scored.items()])
    Predictions(np.concatenate(list(scored.values())), ids, sides.train.split.classes, "", side).save(
        run.path / "predictions.parquet"
    )


def model_card(config: dict[str, Any]) -> str:
    """README.md of a run: what a stranger must know before using the model."""
    shown = config["train"]["shown"]
    rule = config["thresholds_from"]
    lines = [
        f"# A tagger with {len(config['classes'])} tags",
        "",
        f"Made by onetag: method `{config['method']}`, backbone `{config['backbone']['name']}` "
        f"(frozen, weights: {config['backbone']['weights'] or 'none'}), "
        f"{config['train']['pictures']:,} training pictures with {sum(shown.values()):,} known tags.",
        "",
        f"Scores are {config['activation']} values, **not calibrated probabilities**. "
        "A tag is given where its score reaches the tag's own threshold "
        f"(rule: {rule['rule']}, on {rule['on']}"
        + (f", {rule['mean_tags']:.2f} tags per picture, {rule['mean_tags_source']}" if "mean_tags" in rule else "")
        + ").",
        "",
        "| split | pictures | mAP (classes without positives skipped) | micro F1 | macro F1 |",
        "|---|---|---|---|---|",
    ]
    for name, result in config["results"].items():
        if "map" in result:
            numbers = " | ".join(f"{100 * result[key]:.2f}" for key in ("map", "micro_f1", "macro_f1"))
            lines.append(f"| {name} | {result['pictures']:,} | {numbers} |")
    if not any("map" in result for result in config["results"].values()):
        lines.append("| - | no completely labelled pictures were given: no mAP can be stated | | | |")
    lines += [
        "",
        "Tags and how often each was shown in training: "
        + ", ".join(f"{name} ({count})" for name, count in shown.items())
        + ".",
        "",
    ]
    return "\n".join(lines)


def load_head(run: Run, classes: tuple[str, ...]) -> torch.nn.Module:
    """The head of a finished run."""
    from onetag.core.errors import OnetagError
    from onetag.core.labels import load_arrays
    from onetag.engine.head import LinearHead

    path = run.path / "head.safetensors"
    parts = load_arrays(path)
    weight = np.asarray(parts.get("weight", np.zeros((0, 0), np.float32)), np.float32)
    if weight.ndim != 2 or len(weight) != len(classes) or "bias" not in parts:
        raise OnetagError(f"{path}: does not fit the {len(classes)} classes of config.json")
    head = LinearHead(weight.shape[1], classes)
    head.load_state_dict({name: torch.from_numpy(np.array(parts[name], np.float32)) for name in ("weight", "bias")})
    return head.eval()
