"""Simulated annotations as a table, with the rule, the seed and a hash of the source beside it, so that others can reuse a draw."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from onetag.core.labels import LabelTable
from onetag.core.reading import separator_for
from onetag.core.split import Data, Split

SCHEMA = 1


def write_draw(
    path: Path, data: Data, side: str, observed: LabelTable, rule: dict[str, Any], with_truth: bool
) -> dict[str, Any]:
    """`path,tags[,negatives][,split][,truth]`; returns what stands in the file beside it.

    Paths start at the data's own folder (`--images` names it where the table lies elsewhere), so that a draw fits everybody's copy.
    """
    split = data.splits[side]
    separator, end = separator_for(split.classes)
    columns = {"tags": [observed.positives(row) for row in range(len(split))]}
    if observed.class_counts(-1).sum():
        columns["negatives"] = [np.flatnonzero(row == -1).astype(np.int32) for row in observed.to_dense()]
    if with_truth and split.truth is not None:
        columns["truth"] = [split.truth.positives(row) for row in range(len(split))]
    has_sides = len(data.splits) > 1
    header = ["path", *(name for name in ("tags", "negatives") if name in columns), *(["split"] if has_sides else [])]
    header += ["truth"] if "truth" in columns else []
    paths = _paths(split, data.source)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        for row in range(len(split)):
            named = {name: [split.classes[c] for c in part[row]] for name, part in columns.items()}
            cells = {name: separator.join(tags) + (end if tags else "") for name, tags in named.items()}
            cells |= {"path": paths[row], "split": side}
            writer.writerow([cells[name] for name in header])
    aside.replace(path)
    about = {
        "schema": SCHEMA, **rule, "side": side, "separator": separator, "pictures": len(split), "classes": list(split.classes),
        "shown": int(observed.class_counts(1).sum()), "source_hash": source_hash(split),
    }  # fmt: skip
    beside = path.with_name(f"{path.stem}.draw.json")
    beside.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return about


def _paths(split: Split, source: Path | None) -> list[str]:
    """Paths of the pictures, from the data's folder; the samples' names where there are no pictures, or where they lie elsewhere."""
    if split.paths is None or source is None:
        return [str(name) for name in split.ids]
    folder = (source if source.is_dir() else source.parent).resolve()
    found = []
    for name, place in zip(split.ids.tolist(), split.paths.tolist(), strict=True):
        absolute = Path(os.path.abspath(place))
        found.append(absolute.relative_to(folder).as_posix() if absolute.is_relative_to(folder) else str(name))
    return found


def source_hash(split: Split) -> str:
    """Names, classes and complete labels, in their order: two sources with the same hash give the same draw."""
    content = hashlib.blake2b(digest_size=16)
    for names in (split.ids.tolist(), list(split.classes)):
        content.update("\x1f".join(names).encode("utf-8", "surrogateescape") + b"\x1e")
    truth = split.truth if split.truth is not None else split.labels
    content.update(truth.digest().encode())
    return content.hexdigest()
