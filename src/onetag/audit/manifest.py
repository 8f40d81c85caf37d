"""A clean list of the data: what cannot be used left out, copies merged. Written aside, read back, and only then given its name."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag import loading
from onetag.audit import copies
from onetag.audit.examine import Audit
from onetag.audit.findings import counted
from onetag.core.errors import OnetagError, UsageError
from onetag.core.reading import separator_for
from onetag.core.split import Data
from onetag.core.vocabulary import NAME


def refuse(path: Path, data: Data | None = None) -> None:
    """A UsageError, before hours of work, for a manifest that cannot or must not be written."""
    if path.suffix.casefold() != ".csv":
        raise UsageError(f"--manifest {path}: a manifest is written as CSV; name it *.csv")
    if path.exists():
        raise UsageError(f"--manifest {path} exists; name another file, or remove it")
    if (path.parent / NAME).exists():
        raise UsageError(f"--manifest {path}: the {NAME} beside it would be applied to it again; choose another folder")
    if data is not None and data.only().paths is None:
        raise UsageError("--manifest lists pictures; these data are feature vectors")


def write_manifest(path: Path, audit: Audit) -> dict[str, Any]:
    """`path,tags[,negatives][,split][,group]`, and what was left out. Paths start at the manifest's folder; where a picture lies
    elsewhere they are absolute, and `--images` must name a folder above them."""
    chosen = _Chosen(audit)
    if not chosen.rows:
        return {"said": ["not written: no picture is left"], "left_out": chosen.left_out}
    split, samples = audit.samples.split, audit.samples
    folder, files = path.absolute().parent, [os.path.abspath(samples.files[at]) for at in chosen.rows]
    start = os.path.join(os.path.normpath(folder), "")
    outside = not all(file.startswith(start) for file in files)
    paths = files if outside else [file[len(start) :].replace(os.sep, "/") for file in files]
    images = os.path.commonpath([os.path.dirname(file) for file in files]) if outside else None
    is_complete = bool((split.labels.rest == -1).all())
    separator, end = separator_for(split.classes)
    columns: dict[str, list[str]] = {"path": paths}
    tags = list(chosen.tags(is_complete))
    for name, number in (("tags", 0), ("negatives", 1)):
        cells = [separator.join(split.classes[c] for c in row[number]) for row in tags]
        if name == "tags" or any(cells):
            columns[name] = [cell + end if cell else "" for cell in cells]
    if samples.sides != ("all",):
        columns["split"] = [samples.sides[samples.side[at]] for at in chosen.rows]
    if split.groups is not None:
        names = [(str(split.groups[at]), str(split.ids[at])) for at in chosen.rows]
        size = Counter(group for group, _ in names)
        # A picture without a group is a group of its own, named by its path; nothing need be said of it.
        columns["group"] = ["" if group == name and size[group] == 1 else group for group, name in names]
    labels, sign = "complete" if is_complete else None, separator if separator != "|" else None
    given = {name: value for name, value in (("labels", labels), ("images", images), ("separator", sign)) if value}
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.stem}.{os.getpid()}.csv")
    try:
        _write(aside, columns)
        read = loading.load(aside, format="csv", labels=labels, images=images, separator=sign)
        _compare(read, columns, tags, split.classes)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    how = " ".join(f"--{name} {_quoted(value)}" for name, value in given.items())
    left = ", ".join(f"{number:,} {why}" for why, number in chosen.left_out.items() if number) or "nothing"
    said = [f"{path}: {counted(len(paths), 'picture')}; left out: {left}", *([f"read it with {how}"] if how else [])]
    return {"path": str(path), "pictures": len(paths), "left_out": chosen.left_out, "read_with": given, "said": said}


class _Chosen:
    """Which samples stay, and which tags they have."""

    def __init__(self, audit: Audit) -> None:
        assert audit.looks is not None
        samples, self._labels = audit.samples, audit.samples.split.labels
        usable = audit.looks.is_usable
        stays = usable.copy()
        self._merged: dict[int, NDArray[np.int64]] = {}
        contradict = leaks = copied = 0
        codes = copies.same(samples, audit.looks)
        for group in copies.groups(np.where(usable, codes, -1 - np.arange(len(codes)))):
            # Of a picture on two sides the later one stays: a test keeps its pictures, whatever is trained on.
            last = group[samples.side[group] == samples.side[group].max()]
            stays[group] = False
            leaks += len(group) - len(last)
            if (self._labels.rest[last] == -1).all() and copies.contradictions(self._labels, last):
                contradict += len(last)  # in complete labels no tag can be left open
                continue
            stays[last[0]] = True
            copied += len(last) - 1
            self._merged[int(last[0])] = last
        self.rows: list[int] = np.flatnonzero(stays).tolist()
        self.left_out = {
            "missing or unusable": int((~usable).sum()),
            "copies (their tags united)": copied,
            "that stand on a later side, too": leaks,
            "whose copies contradict each other": contradict,
        }

    def tags(self, is_complete: bool) -> Iterator[tuple[list[int], list[int]]]:
        """(positives, negatives) per row that stays. Negatives are told one by one unless all labels are complete."""
        parts = self._labels.arrays()
        indptr, classes, values = (np.asarray(parts[name]) for name in ("indptr", "classes", "values"))
        rest = self._labels.rest
        for row in self.rows:
            group = self._merged.get(row)
            if (group is not None and len(group) > 1) or (rest[row] == -1 and not is_complete):
                dense = self._labels.select(np.array([row]) if group is None else group).to_dense()
                yes, no = (dense == 1).any(axis=0), (dense == -1).any(axis=0)
                found = np.flatnonzero(yes & ~no), np.flatnonzero(no & ~yes)
            else:
                part = slice(int(indptr[row]), int(indptr[row + 1]))
                found = classes[part][values[part] == 1], classes[part][values[part] == -1]
            yield found[0].tolist(), [] if is_complete else found[1].tolist()


def _write(path: Path, columns: dict[str, list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _compare(
    read: Data, columns: dict[str, list[str]], tags: list[tuple[list[int], list[int]]], classes: tuple[str, ...]
) -> None:
    """Whether a reader understands what was meant: the same pictures in the same order, the same tags as often."""
    sides = columns.get("split") or ["all"] * len(tags)
    for side, split in read.splits.items():
        mine = [at for at, name in enumerate(sides) if name == side]
        is_same = split.ids.tolist() == [columns["path"][at] for at in mine]
        for number, value in ((0, 1), (1, -1)) if not read.complete else ((0, 1),):
            meant = Counter(classes[c] for at in mine for c in tags[at][number])
            told = zip(split.classes, split.labels.class_counts(value).tolist(), strict=True)
            is_same &= meant == Counter({name: count for name, count in told if count})
        if not is_same:
            raise OnetagError(
                "the manifest would not be read back as it is meant; is there an unusual path or class name?"
            )


def _quoted(value: str) -> str:
    import shlex

    return "tab" if value == "\t" else shlex.quote(value)
