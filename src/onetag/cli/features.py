"""`onetag features`: frozen features into a folder of your own."""

from __future__ import annotations

import csv
from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, download_option, out_path, output_options, reading, show_json
from onetag.core.errors import OnetagError, UsageError


@click.command(name="features")
@click.argument("data")
@click.option(
    "--backbone", default="efficientnet_lite0", metavar="NAME", help="See `onetag list backbones` [efficientnet_lite0]."
)
@click.option("--weights", default="", metavar="FILE", help="Weights for the backbone.")
@click.option("--image-size", type=int, default=0, help="Pixels a side [the backbone's own].")
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="FOLDER",
    help="Gets features.npy and table.csv; it can be given as DATA afterwards.",
)
@click.option("--labels", type=click.Choice(["partial", "complete"]), help="What an absent tag means.")
@download_option("Allow fetching a named data set that is not there yet, and weights from timm's hub.")
@data_options
@output_options
def command(
    data: str,
    backbone: str,
    weights: str,
    image_size: int,
    out: str,
    labels: str | None,
    download: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Compute the frozen features of DATA once. FOLDER holds features.npy and table.csv; pictures that cannot be read are left out of both.

    \b
    onetag features photos/ -o feats/
    onetag train feats/ -o runs/a
    """
    import numpy as np

    from onetag.build import build_backbone
    from onetag.core.reading import separator_for
    from onetag.engine.features import compute
    from onetag.loading import load

    folder = out_path(out)
    options = reading(values, labels)
    with Listening(quiet) as hear:
        if (folder / "table.csv").exists():
            raise UsageError(f"{folder} already holds features; choose another folder")
        loaded = load(data, **options, download=download, listener=hear)
        hear.say(loaded.read_as)
        sides = list(loaded.splits.items())
        split = loaded.only()
        if split.paths is None:
            raise OnetagError(f"{data} names no pictures")
        trunk = build_backbone(backbone, weights, image_size, download)
        found = compute(trunk, split.paths.tolist(), folder / "all", hear)
        rows = found.readable()
        for row, why in sorted(found.unreadable.items()):
            hear.say(f"skipped {split.paths[row]}: {why}")
        chosen, side = split.select(rows), np.concatenate([np.full(len(part), name) for name, part in sides])[rows]
        np.save(folder / "features.tmp.npy", np.ascontiguousarray(found.values[rows]))
        (folder / "features.tmp.npy").replace(folder / "features.npy")
        (folder / "classes.txt").write_text("".join(f"{name}\n" for name in chosen.classes), encoding="utf-8")
        sign, end = separator_for(chosen.classes)
        with (folder / "table.csv.tmp").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["path", "tags", "negatives", "split"] if len(sides) > 1 else ["path", "tags", "negatives"])
            for row in range(len(chosen)):
                tags = [
                    sign.join(chosen.classes[c] for c in part) + (end if len(part) else "")
                    for part in (chosen.labels.positives(row), chosen.labels.negatives(row))
                ]
                writer.writerow([chosen.ids[row], *tags, side[row]] if len(sides) > 1 else [chosen.ids[row], *tags])
        (folder / "table.csv.tmp").replace(folder / "table.csv")
        for name in ("features.npy", "features.json"):
            (folder / "all" / name).unlink()
        (folder / "all").rmdir()
        (folder / "all.lock").unlink(missing_ok=True)
    if as_json:
        show_json({"out": str(folder), "pictures": len(rows), "dim": trunk.dim, "skipped": len(found.unreadable)})
    else:
        click.echo(str(folder))
