"""`onetag demo`: the main job on drawn scenes."""

from __future__ import annotations

import time
from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import out_path, output_options, show_json
from onetag.core.errors import UsageError
from onetag.core.progress import Listener

METHODS = ("an", "softmax", "em", "em_apl", "bce_full")


@click.command(name="demo")
@click.option(
    "-o", "--out", default="onetag-demo", show_default=True, metavar="FOLDER", help="Gets the runs and report.html."
)
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Trainings per method.")
@click.option("--overwrite", is_flag=True, help="Replace the demo that FOLDER holds.")
@output_options
def command(out: str, seeds: int, overwrite: bool, as_json: bool, quiet: bool) -> None:
    """Draw pictures whose every tag is known, show one tag of each to four methods (and all tags to a fifth), and compare.

    \b
    onetag demo
    """
    import shutil
    from dataclasses import replace

    from onetag.core.reading import ReadOptions
    from onetag.readers.scenes import ScenesReader
    from onetag.recipe import load_method
    from onetag.reports.page import group, spread, write_report
    from onetag.training import train

    folder = out_path(out)
    if folder.exists() and any(folder.iterdir()):
        if not overwrite or not (folder / "runs").is_dir():
            raise UsageError(f"{folder} is not empty: --overwrite replaces a demo, -o names another folder")
        shutil.rmtree(folder / "runs")
    began = time.monotonic()
    with Listening(quiet) as hear:
        data = ScenesReader(listener=hear).read(folder, ReadOptions(labels="complete"))
        hear.say(data.read_as)
        hear.say("each training picture shows one of its tags; validation and test pictures are completely labelled")
        made = []
        total = len(METHODS) * seeds
        for method in METHODS:
            for seed in range(seeds):
                recipe = (
                    load_method(method)
                    .recipe()
                    .change(
                        {
                            "annotation": "full" if method == "bce_full" else "one_positive",
                            "seed": seed,
                            "data.train": "scenes",
                        }
                    )
                )
                run = train(data, out=folder / "runs" / f"{method}-{seed}", recipe=recipe, listener=_Quiet(hear))
                made.append(run)
                hear.advance(
                    "training and testing",
                    len(made),
                    total,
                    f"{method}, seed {seed}: mAP {100 * run.config()['results']['test']['map']:.1f}",
                )
        blind = replace(data, splits={name: split for name, split in data.splits.items() if name != "val"})
        recipe = load_method("em").recipe().change({"annotation": "one_positive", "data.train": "scenes"})
        made.append(
            train(blind, out=folder / "runs" / "em-without-complete-labels", recipe=recipe, listener=_Quiet(hear))
        )
        report = write_report([run.path for run in made], folder / "report.html")
    seconds = time.monotonic() - began
    groups = group(made)
    if as_json:
        results: dict[str, Any] = {
            part.name: {key: part.values(key) for key in ("map", "micro_f1", "macro_f1")} for part in groups
        }
        show_json({"report": str(report), "seconds": round(seconds, 1), "results": results})
        return
    click.echo(f"{'method':<28} {'mAP':>12} {'micro F1':>12} {'macro F1':>12}")
    for part in groups:
        click.echo(
            f"{part.name:<28} " + " ".join(f"{spread(part.values(key)):>12}" for key in ("map", "micro_f1", "macro_f1"))
        )
    click.echo(f"test pictures, percent, mean ± deviation over {seeds} seeds; {seconds:.0f} seconds")
    click.echo(f"look at {report}")


class _Quiet(Listener):
    """Of the single trainings, only the long steps that several of them share are shown."""

    def __init__(self, hear: Listener) -> None:
        self._hear = hear

    def say(self, sentence: str) -> None:
        return

    def advance(self, task: str, done: int, total: int, note: str = "") -> None:
        if task.startswith("features"):
            self._hear.advance(task, done, total, note)
