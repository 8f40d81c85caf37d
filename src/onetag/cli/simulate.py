"""`onetag simulate`: single positives (and other regimes) from complete labels, as a file others can reuse."""

from __future__ import annotations

from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, download_option, out_path, output_options, reading, show_json
from onetag.core.errors import OnetagError, UsageError


@click.command(name="simulate")
@click.argument("data")
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="FILE.csv",
    help="Gets path and tags; FILE.draw.json says how they were drawn.",
)
@click.option(
    "--annotation", default="one_positive", metavar="REGIME", show_default=True,
    help="one_positive, one_positive_all_negatives, positives:K,negatives:M, share:X.",
)  # fmt: skip
@click.option(
    "--draw", type=click.Choice(["uniform", "official", "frequent", "largest", "central"]), default="uniform", show_default=True,
    help="Which tags are shown: by chance, as published, or as people would: the most frequent, the largest, the most central one.",
)  # fmt: skip
@click.option("--seed", type=int, default=1200, show_default=True, help="Seed of the draw.")
@click.option("--with-truth", is_flag=True, help="A column with all true tags, too.")
@download_option("Allow fetching the labels of a named data set that is not there yet.")
@data_options
@output_options
def command(
    data: str,
    out: str,
    annotation: str,
    draw: str,
    seed: int,
    with_truth: bool,
    download: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Hide tags of completely labelled DATA. No picture file is needed. Only training pictures are simulated: a test keeps its labels.

    \b
    onetag simulate coco2014 --draw official -o single.csv
    onetag simulate tags.csv --annotation positives:2,negatives:3 -o partial.csv --with-truth
    """
    from onetag.exporters.draws import write_draw
    from onetag.loading import load
    from onetag.observe import Regime, observe

    path = out_path(out)
    if path.suffix.lower() != ".csv":
        raise UsageError(f"-o {out}: a draw is written as CSV; name the output *.csv")
    if annotation != "full":
        Regime.parse(annotation)
    options = reading(values, "complete")
    with Listening(quiet) as hear:
        loaded = load(data, **options, download="labels" if download else False, listener=hear)
        hear.say(f"{loaded.read_as}, taken as complete")
        side = next((name for name in ("train", "all") if name in loaded.splits), None)
        split = loaded.splits[side] if side is not None else None
        if side is None or split is None or split.truth is None:
            raise OnetagError(f"{data}: has no completely labelled training pictures")
        observed = observe(split.truth, annotation, split.ids, draw, seed, split.objects)
        rule = {"data": data, "annotation": annotation, "draw": draw, "seed": seed}
        about = write_draw(path, loaded, side, observed, rule, with_truth)
        if about["separator"] != "|":
            hear.say(f"class names contain |: read the table with --separator {about['separator']!r}")
    if as_json:
        show_json({"out": str(path), **about})
    else:
        click.echo(str(path))
