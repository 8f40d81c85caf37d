"""`onetag.train`: from data and a method to a finished run folder; the command line calls the same function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onetag.core import process
from onetag.core.errors import OnetagError, UsageError
from onetag.core.labels import LabelState, LabelTable, save_arrays
from onetag.core.progress import Listener
from onetag.core.split import Data, Split
from onetag.recipe import Recipe, differences, load_method
from onetag.runs import Run

ASSUMED_MEAN_TAGS = 2.0


def train(
    data: Data,
    *,
    out: str | Path,
    method: str = "em",
    recipe: Recipe | None = None,
    val: Data | None = None,
    test: Data | None = None,
    use_val: bool = True,
    resume: bool = False,
    strict: bool = False,
    download: bool = False,
    allow_code: tuple[str, ...] = (),
    listener: Listener | None = None,
    checkpoint_seconds: float = 300,
    **settings: Any,
) -> Run:
    """Train a tagger on frozen features and write its run folder.

    `settings` change keys of the method's recipe for data of your own: `seed=1`, or dotted ones as `**{"loss.alpha": 0.2}`.
    `val` and `test` must be completely labelled. Without validation data the last weights are used (`use_val=False` ignores a val side
    of `data`).
    """
    process.prepare()
    from onetag import build
    from onetag.engine.data import Rows
    from onetag.engine.finish import finish
    from onetag.engine.fit import Job, fit
    from onetag.engine.sides import prepare_sides
    from onetag.learn.loss import Facts

    hear = listener or Listener()
    recipe = recipe or load_method(method).recipe()
    recipe = recipe.change(settings, "train") if settings else recipe
    _check_phases(recipe)
    # Names and arguments are checked before anything costly starts.
    labeler = build.build_labeler(recipe, build.build_loss(recipe, recipe.mean_tags or 1.0, allow_code), allow_code)
    run = Run(out)
    with run.writing(resume):
        if (run.path / "recipe.toml").exists():
            _check_same(run, recipe)
        if run.is_finished:
            hear.say(f"{run.path} is finished: there is nothing to resume")
            return run
        backbone = build.build_backbone(recipe.backbone, recipe.weights, recipe.image_size, download)
        sides = prepare_sides(recipe, data, val, test, use_val, backbone, hear, strict)
        split = sides.train.split
        _say_labels(split, hear)
        planned = recipe.for_samples(len(split))
        if labeler is not None and (sentence := labeler.check(planned.num_epochs)):
            hear.say(f"note: {sentence}")
        mean_tags, source = _mean_tags(recipe, split, sides.val.split if sides.val else None)
        loss = build.build_loss(recipe, mean_tags, allow_code)
        if "mean_tags" in loss.needs:
            hear.say(f"{recipe.loss['name']} is told that a picture has {mean_tags:.2f} tags on average ({source})")
        loss.setup(Facts(split.labels, mean_tags, recipe.seed))
        if not (run.path / "recipe.toml").exists():
            run.start(recipe)
        save_arrays(run.path / "labels" / "observed.safetensors", split.labels.arrays())
        weights = build.negative_weights(recipe, loss, split.labels)
        state = LabelState(split.labels, split.ids.tolist())
        job = Job(
            planned,
            split.ids,
            split.classes,
            Rows(sides.train.features),
            state,
            loss,
            labeler,
            weights,
            truth=split.truth,
            groups=sides.train.groups,
        )
        if sides.val is not None:
            job.val, job.validate = Rows(sides.val.features), sides.val.measure
            job.monitor = "map" if sides.val.split.truth is not None else ""
        else:
            hear.say(f"no validation data: {planned.num_epochs} epochs by the recipe, and the last weights")
        fitted = fit(job, run, hear, checkpoint_seconds)
        finish(run, job, fitted, backbone, sides, mean_tags, source, hear)
    return run


def _check_phases(recipe: Recipe) -> None:
    for phase in recipe.phases:
        if phase.train != "features":
            raise UsageError(
                f"recipe {recipe.method}: a phase trains {phase.train!r}, but this version trains heads on frozen features only; "
                'write phases = [{ train = "features", epochs = N }]'
            )


def _check_same(run: Run, recipe: Recipe) -> None:
    changed = list(differences(run.recipe(), recipe))
    if changed:
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        raise UsageError(f"{run.path}: --resume goes on with the same recipe, but {changed[0]}{more}")


def _mean_tags(recipe: Recipe, train: Split, val: Split | None) -> tuple[float, str]:
    """How many tags a picture has on average, and who says so."""
    if recipe.mean_tags > 0:
        return recipe.mean_tags, "given"
    for table, source in (
        (train.labels, "complete training labels"),
        (val.truth if val else None, "complete validation labels"),
    ):
        if table is not None and table.is_complete:
            return max(_mean(table), 1e-6), source
    return max(ASSUMED_MEAN_TAGS, _mean(train.labels)), "assumed; say it with --mean-tags"


def _mean(table: LabelTable) -> float:
    return float(table.positives_per_row().mean()) if len(table) else 0.0


def _say_labels(split: Split, hear: Listener) -> None:
    """What there is to learn from, and classes of which nothing is shown."""
    shown = split.labels.class_counts(1)
    if not shown.sum():
        raise OnetagError("no training picture has a tag: nothing can be learned from this data")
    unknown = int(split.labels.class_counts(0).sum())
    cells = max(len(split) * len(split.classes), 1)
    hear.say(
        f"training on {len(split):,} pictures, {len(split.classes)} classes, {_mean(split.labels):.2f} known tags per picture, "
        f"{100 * unknown / cells:.1f} % of the labels unknown"
    )
    never = [name for name, count in zip(split.classes, shown, strict=True) if not count]
    if never:
        names = ", ".join(never[:5]) + (", ..." if len(never) > 5 else "")
        hear.say(f"note: {len(never)} classes are never shown, so nothing can be learned of them: {names}")
    bare = int((split.labels.positives_per_row() == 0).sum())
    if bare:
        hear.say(f"note: {bare:,} pictures show no tag")
