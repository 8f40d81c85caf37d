"""`onetag eval`: how good a tagger is on completely labelled pictures."""

from __future__ import annotations

from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, download_option, output_options, reading, show_json
from onetag.core.errors import OnetagError


@click.command(name="eval")
@click.argument("run")
@click.argument("data")
@click.option("--labels", type=click.Choice(["complete"]), default="complete", help="What is known of DATA: every tag.")
@download_option("Allow fetching a named data set that is not there yet.")
@data_options
@output_options
def command(run: str, data: str, labels: str, download: bool, as_json: bool, quiet: bool, **values: Any) -> None:
    """Measure the tagger of RUN on DATA, whose absent tags are taken as absent. The test side is used where DATA has one.

    \b
    onetag eval runs/a test.csv
    onetag eval runs/a coco10k --data coco10k=/data/coco10k --json
    """
    import numpy as np

    from onetag.engine.evaluate import complete
    from onetag.loading import load
    from onetag.tagger import Tagger

    options = reading(values, labels)
    tagger = Tagger.load(run)
    with Listening(quiet) as hear:
        loaded = load(data, **options, download=download, listener=hear)
        hear.say(f"{loaded.read_as}, taken as complete")
        split = (loaded.side("test") or loaded.only()).with_classes(tagger.classes, data)
        if split.truth is None:
            raise OnetagError(f"{data}: these labels are partial; mAP on them would be wrong")
        if tagger.takes_features or split.paths is None:
            if split.features is None or not tagger.takes_features:
                raise OnetagError(
                    f"{run} and {data} do not fit: one is about pictures, the other about feature vectors"
                )
            scores, readable = tagger.scores_of_features(split.features), np.ones(len(split), bool)
        else:
            blocks, readable, done = [], np.ones(len(split), bool), 0
            for block, failed in tagger.stream(split.paths.tolist()):
                for row, why in failed.items():
                    hear.say(f"skipped {split.ids[done + row]}: {why}")
                    readable[done + row] = False
                blocks.append(block)
                done += len(block)
                hear.advance("scoring", done, len(split))
            scores = np.concatenate(blocks) if blocks else np.zeros((0, len(tagger.classes)), np.float32)
        if not readable.any():
            raise OnetagError(f"{data}: none of the pictures could be read")
        index = np.flatnonzero(readable)
        chosen = split.select(index)
        assert chosen.truth is not None
        result = complete(scores[index], chosen.truth, tagger.classes, tagger.thresholds)
        result["skipped"] = int((~readable).sum())
    if as_json:
        show_json(result)
        return
    click.echo(
        f"mAP {100 * result['map']:.2f} (classes without positives skipped; counted as 0: {100 * result['map_empty_zero']:.2f})"
    )
    click.echo(
        f"at the model's thresholds: micro F1 {100 * result['micro_f1']:.2f}, macro F1 {100 * result['macro_f1']:.2f}, ",
        nl=False,
    )
    click.echo(f"precision {100 * result['micro_precision']:.2f}, recall {100 * result['micro_recall']:.2f}")
    click.echo(f"tags per picture: {result['tags_per_picture']:.2f} given, {result['true_tags_per_picture']:.2f} true")
    click.echo(f"precision at 1: {100 * result['precision_at_1']:.2f}, recall at 3: {100 * result['recall_at_3']:.2f}")
