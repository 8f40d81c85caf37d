"""`onetag train`: from data to a run folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, download_option, out_path, output_options, reading, show_json
from onetag.core.errors import UsageError

_DIRECT = {
    "backbone": "backbone", "weights": "weights", "annotation": "annotation", "draw": "draw", "annotation_seed": "annotation_seed",
    "batch_size": "batch_size", "lr": "optimizer.lr", "seed": "seed", "mean_tags": "mean_tags", "image_size": "image_size",
    "labels": "data.labels",
}  # fmt: skip

_NUMBERS = (("map", "mAP"), ("micro_f1", "micro F1"), ("macro_f1", "macro F1"))


@click.command(name="train")
@click.argument("data", required=False)
@click.option("-o", "--out", required=True, metavar="RUN", help="The run folder to write.")
@click.option("--method", metavar="NAME", help="A published method (see `onetag list methods`) [em].")
@click.option("--recipe", "recipe_file", metavar="FILE", help="A recipe of your own (TOML).")
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key of the recipe: loss.alpha=0.2."
)
@click.option("--backbone", metavar="NAME", help="See `onetag list backbones` [efficientnet_lite0].")
@click.option("--weights", metavar="FILE", help="Weights for the backbone (safetensors or a PyTorch state dict).")
@click.option(
    "--train",
    "what",
    type=click.Choice(["features"]),
    default="features",
    help="What is trained: a head on frozen features.",
)
@click.option(
    "--labels",
    type=click.Choice(["partial", "complete"]),
    help="What an absent tag means: unknown or absent [the format's default].",
)
@click.option(
    "--annotation",
    metavar="REGIME",
    help="Hide labels of complete data: one_positive, one_positive_all_negatives, positives:K,negatives:M, share:X, full.",
)
@click.option("--draw", type=click.Choice(["uniform", "official"]), help="How the revealed labels are drawn [uniform].")
@click.option("--annotation-seed", type=int, help="Seed of that draw, and of the cut into train and val [1200].")
@click.option("--val", metavar="DATA|none", help="Completely labelled validation data; none: use none.")
@click.option("--val-share", type=float, help="Hold out this share of the training pictures.")
@click.option("--test", metavar="DATA", help="Completely labelled test data, measured once at the end.")
@click.option("--epochs", type=int, help="How long the last phase trains.")
@click.option("--batch-size", type=int)
@click.option("--lr", type=float, help="Learning rate.")
@click.option("--image-size", type=int, help="Pixels a side [the backbone's own].")
@click.option("--seed", type=int, help="Seed of training [0].")
@click.option("--mean-tags", type=float, help="How many tags a picture really has on average.")
@click.option("--resume", is_flag=True, help="Go on with a run that was broken off.")
@click.option("--strict", is_flag=True, help="Stop at pictures that cannot be read, instead of skipping them.")
@download_option("Allow fetching a named data set that is not there yet, and weights from timm's hub.")
@click.option(
    "--allow-code",
    multiple=True,
    metavar="PACKAGE",
    help="Allow parts from this package (package.module:Class) in a recipe.",
)
@data_options
@output_options
def command(data: str | None, out: str, as_json: bool, quiet: bool, **values: Any) -> None:
    """Train a tagger on DATA: an image folder, a table, feature vectors, or a named data set.

    \b
    onetag train photos/ -o runs/a
    onetag train tags.csv -o runs/b --method em_apl --val-share 0.2
    onetag train coco10k --annotation one_positive --val-share 0.2 -o runs/c
    """
    from onetag.loading import load
    from onetag.runs import Run
    from onetag.training import train

    run = Run(out_path(out))
    val_text, test_text = values["val"], values["test"]
    if data is None:
        if not (values["resume"] and (run.path / "recipe.toml").exists()):
            raise UsageError("say what to train on: onetag train DATA -o RUN")
        known = run.recipe().data
        data, val_text, test_text = known.train, val_text or known.val or None, test_text or known.test or None
        recipe = run.recipe()
    else:
        recipe = _recipe(values, data)
    labels = recipe.data.labels or None
    if recipe.annotation != "given" and labels == "partial":
        raise UsageError(
            f"--annotation {recipe.annotation} hides labels of complete data, but --labels partial says they are not complete"
        )
    options = reading(values, labels or ("complete" if recipe.annotation != "given" else None))
    allow = tuple(values["allow_code"])
    with Listening(quiet) as hear:
        options |= {"download": values["download"], "listener": hear}
        loaded = load(data, **options)
        hear.say(loaded.read_as)
        if recipe.annotation != "given" and labels is None:
            hear.say("absent tags are taken as absent, since --annotation needs complete labels")
        for note in loaded.notes:
            hear.say(f"note: {note}")
        if not loaded.complete and recipe.annotation == "given":
            hear.say("absent tags are taken as unknown (--labels complete if they are absent)")
        sides = {}
        for name, text in (("val", val_text), ("test", test_text)):
            if text and text != "none":
                sides[name] = load(text, **{**options, "labels": "complete"})
                hear.say(f"{name}: {sides[name].read_as}, taken as complete")
        if values["backbone"] is None and next(iter(loaded.splits.values())).features is not None:
            recipe = recipe.change({"backbone": "features"})
        made = train(
            loaded, out=run.path, recipe=recipe, val=sides.get("val"), test=sides.get("test"), use_val=val_text != "none",
            resume=values["resume"], strict=values["strict"], download=values["download"], allow_code=allow, listener=hear,
            checkpoint_seconds=float(os.environ.get("ONETAG_CHECKPOINT_SECONDS", "300")),
        )  # fmt: skip
    config = made.config()
    if as_json:
        show_json(
            {
                "run": str(run.path),
                "method": config["method"],
                "epochs": config["epochs"],
                "results": config["results"],
                "skipped": config["skipped"],
            }
        )
        return
    for side, result in config["results"].items():
        click.echo(f"{side}: " + _sentence(result))
    click.echo(str(run.path))


def _recipe(values: dict[str, Any], data: str) -> Any:
    from onetag.recipe import load_file, load_method, parse_setting, set_epochs

    if values["recipe_file"] and values["method"]:
        raise UsageError("--method and --recipe both say what to train with: give one")
    if values["val_share"] is not None and values["val"] is not None:
        raise UsageError("--val and --val-share both say what to validate on: give one")
    recipe = (
        load_file(Path(values["recipe_file"]))
        if values["recipe_file"]
        else load_method(values["method"] or "em").recipe()
    )
    changes: dict[str, Any] = {key: values[name] for name, key in _DIRECT.items() if values[name] is not None}
    changes |= {
        "data.train": data,
        "data.val": values["val"] or "",
        "data.test": values["test"] or "",
        "data.val_share": values["val_share"] or 0.0,
    }
    recipe = recipe.change(changes, "options").change(dict(parse_setting(text) for text in values["changes"]))
    return recipe if values["epochs"] is None else set_epochs(recipe, values["epochs"])


def _sentence(result: dict[str, Any]) -> str:
    if "map" in result:
        numbers = (f"{words} {100 * result[key]:.2f}" for key, words in _NUMBERS)
        return f"{', '.join(numbers)} on {result['pictures']:,} pictures"
    shares = ", ".join(
        f"{100 * result[f'known_tag_in_top_{k}']:.1f} % of known tags among the first {k}" for k in (1, 3, 5)
    )
    return f"{shares} ({result['pictures']:,} pictures; not an mAP)"
