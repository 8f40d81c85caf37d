"""`onetag predict`: tags for pictures."""

from __future__ import annotations

from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, out_path, output_options, reading, show_json
from onetag.core.errors import OnetagError, UsageError


@click.command(name="predict")
@click.argument("run")
@click.argument("pictures")
@click.option("-o", "--out", metavar="FILE", help="tags.csv, tags.jsonl or tags.parquet; without it, lines on stdout.")
@click.option(
    "--sidecar", is_flag=True, help="x.jpg -> x.txt beside it, one tag a line; existing files are left alone."
)
@click.option("--top", type=click.IntRange(min=1), metavar="K", help="The K best tags of each picture.")
@click.option(
    "--min-score", type=float, metavar="X", help="Tags with this score or more, instead of each tag's own threshold."
)
@click.option("--all-scores", is_flag=True, help="Every score, as Parquet with one list column.")
@data_options
@output_options
def command(
    run: str,
    pictures: str,
    out: str | None,
    sidecar: bool,
    top: int | None,
    min_score: float | None,
    all_scores: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Tag PICTURES (a file, folder, glob, list of paths, or data) with the tagger of RUN. A broken-off output is continued.

    \b
    onetag predict runs/a new/ -o tags.csv
    onetag predict runs/a cat.jpg --top 3
    """
    if sum([out is not None, sidecar]) > 1:
        raise UsageError("-o and --sidecar both say where tags go: give one")
    if all_scores and out is None:
        raise UsageError("--all-scores needs -o scores.parquet")
    from onetag.core.reading import ReadOptions
    from onetag.loading import pictures as find
    from onetag.tagger import Tagger

    options = reading(values)
    format, places = options.pop("format"), options.pop("places")
    from pathlib import Path

    images = options.pop("images")
    found = find(pictures, ReadOptions(**options, images=Path(images) if images else None), format, places)
    tagger = Tagger.load(run)
    if tagger.takes_features != (found.features is not None):
        raise OnetagError(
            f"{run} was trained on "
            + (
                "feature vectors; these are pictures"
                if tagger.takes_features
                else "pictures; these are feature vectors"
            )
        )
    with Listening(quiet) as hear:
        import numpy as np

        from onetag.exporters.tags import TagWriter, write_all_scores, write_sidecar

        writer = None
        if out is not None and not all_scores:
            what = [
                str(Path(run).resolve()),
                tagger.config["backbone"]["fingerprint"],
                str(tagger.thresholds.tolist()),
                str((top, min_score)),
                *found.ids,
            ]
            writer = TagWriter(out_path(out), what)
            if writer.done:
                hear.say(f"going on after {writer.done:,} of {len(found.ids):,} pictures")
        at = writer.done if writer else 0
        rows: list[tuple[str, list[Any]]] = []
        kept, failures, left = [], [], 0
        if found.features is not None:
            blocks = (
                (tagger.scores_of_features(found.features[s : s + 4096]), dict[int, str]())
                for s in range(at, len(found.ids), 4096)
            )
        else:
            blocks = ((b, f) for b, f in tagger.stream(found.paths[at:]))
        for scores, failed in blocks:
            tagged = [
                (found.ids[at + row], tagger.tags(scores[row], top, min_score) if row not in failed else [])
                for row in range(len(scores))
            ]
            failures += [(found.ids[at + row], why) for row, why in failed.items()]
            if writer:
                writer.add(tagged)
            elif sidecar:
                left += sum(
                    not write_sidecar(found.paths[at + row], tagged[row][1])
                    for row in range(len(tagged))
                    if row not in failed
                )
            elif not all_scores:
                rows += tagged
            if all_scores:
                kept.append(scores)
            at += len(scores)
            hear.advance("tagging", at, len(found.ids))
        if writer:
            writer.finish()
        if all_scores and out is not None:
            whole = np.concatenate(kept) if kept else np.zeros((0, len(tagger.classes)), np.float32)
            write_all_scores(out_path(out), whole, found.ids, tagger.classes, run)
    for path, why in failures:
        click.echo(f"skipped {path}: {why}", err=True)
    if left:
        click.echo(f"{left:,} sidecar files were there already and were left alone", err=True)
    if as_json:
        content: dict[str, Any] = {
            "pictures": len(found.ids),
            "skipped": [{"path": p, "why": w} for p, w in failures],
            "out": out,
        }
        if not out and not sidecar:
            content["tags"] = [
                {"path": path, "tags": [{"tag": t.name, "score": round(t.score, 6)} for t in tags]}
                for path, tags in rows
            ]
        show_json(content)
    else:
        for path, tags in rows:
            for tag in tags:
                click.echo(f"{path}\t{tag.name}\t{tag.score:.4f}")
        if out:
            click.echo(out)
    if failures and len(failures) == len(found.ids):
        raise OnetagError("none of the pictures could be read")
