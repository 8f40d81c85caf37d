"""A few example pictures of a run, with the tags found, missed and wrong, kept small in the run folder for reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onetag.core import draws
from onetag.engine.pictures import PictureError, open_rgb
from onetag.engine.sides import Side
from onetag.engine.thresholds import Thresholds
from onetag.runs import Run, write_json

COUNT = 12
_SIDE = 192


def save_examples(run: Run, name: str, side: Side, scores: NDArray[np.float32], cut: Thresholds) -> None:
    """Pictures are chosen by a hash of their ids: the same ones for every run on the same data, good or bad."""
    split = side.split
    if split.paths is None or not len(split):
        return
    order = np.argsort(draws.mix(draws.sample_keys(split.ids), draws.stream_key("examples")), kind="stable")[:COUNT]
    folder = run.path / "examples"
    folder.mkdir(exist_ok=True)
    told = []
    for number, row in enumerate(order):
        try:
            picture = open_rgb(str(split.paths[row]), _SIDE)
        except PictureError:
            continue
        picture.thumbnail((_SIDE, _SIDE))
        picture.save(folder / f"{number:02d}.jpg", quality=85)
        given = [
            {"tag": split.classes[c], "score": float(scores[row, c])}
            for c in np.argsort(-scores[row])
            if scores[row, c] >= cut.values[c]
        ]
        told.append(
            {
                "file": f"{number:02d}.jpg", "path": str(split.ids[row]), "side": name, "given": given,
                "true": None if split.truth is None else [split.classes[c] for c in split.truth.positives(int(row))],
                "known": [split.classes[c] for c in split.labels.positives(int(row))],
            }
        )  # fmt: skip
    write_json(folder / "examples.json", told)
