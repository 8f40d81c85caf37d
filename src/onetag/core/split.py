"""Split: the samples of one side (train, val, test): ids, pictures or features, classes, annotations, and the truth if there is any.

Data: what a reader makes of a path: splits by name, and a sentence about how it was understood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onetag.core.errors import OnetagError
from onetag.core.labels import LabelTable


@dataclass(frozen=True)
class Objects:
    """Where things are, one entry per object: its sample's row, its class, the share of the picture that it takes, and how far its middle
    is from the picture's (0: the very middle, 1: a corner)."""

    rows: NDArray[np.int64]
    classes: NDArray[np.int32]
    area: NDArray[np.float32]
    distance: NDArray[np.float32]

    @classmethod
    def from_boxes(cls, rows: ArrayLike, classes: ArrayLike, boxes: ArrayLike, sizes: ArrayLike) -> Objects:
        """From boxes (x0, y0, x1, y1) in pictures of these sizes (width, height), one of each per object."""
        corners = np.asarray(boxes, np.float64).reshape(-1, 4)
        size = np.maximum(np.asarray(sizes, np.float64).reshape(-1, 2), 1)
        extent = np.clip(corners[:, 2:] - corners[:, :2], 0, None) / size
        middle = (corners[:, :2] + corners[:, 2:]) / (2 * size) - 0.5
        return cls(
            np.asarray(rows, np.int64), np.asarray(classes, np.int32), extent.prod(axis=1).astype(np.float32),
            (np.hypot(middle[:, 0], middle[:, 1]) / np.sqrt(0.5)).astype(np.float32),
        )  # fmt: skip

    def select(self, index: NDArray[np.int64]) -> Objects:
        """The objects of these samples, whose rows are counted anew."""
        order = np.argsort(self.rows, kind="stable")
        starts = np.searchsorted(self.rows[order], index)
        counts = np.searchsorted(self.rows[order], index, side="right") - starts
        picks = order[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
        rows = np.repeat(np.arange(len(index)), counts)
        return Objects(rows, self.classes[picks], self.area[picks], self.distance[picks])

    def rename_classes(self, order: Sequence[int]) -> Objects:
        """Class `c` becomes `order[c]`; objects of classes that become -1 are left out."""
        renamed = np.asarray(order, np.int32)[self.classes]
        keep = renamed >= 0
        return Objects(self.rows[keep], renamed[keep], self.area[keep], self.distance[keep])


@dataclass(frozen=True)
class Split:
    """`ids` name samples for good (usually the path as written in the source); `truth` never enters a training batch."""

    ids: NDArray[np.str_]
    classes: tuple[str, ...]
    labels: LabelTable
    paths: NDArray[np.str_] | None = None
    features: NDArray[np.floating] | None = None
    truth: LabelTable | None = None
    groups: NDArray[np.str_] | None = None
    objects: Objects | None = None

    def __post_init__(self) -> None:
        if len(self.classes) != self.labels.num_classes:
            raise ValueError(f"{len(self.classes)} class names for a table of {self.labels.num_classes} classes")
        for name in ("labels", "paths", "features", "truth", "groups"):
            part = getattr(self, name)
            if part is not None and len(part) != len(self.ids):
                raise ValueError(f"{name}: {len(part)} rows for {len(self.ids)} samples")

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, index: ArrayLike) -> Split:
        """The samples of `index`, in its order."""
        at = np.asarray(index, dtype=np.int64)
        return replace(
            self,
            ids=self.ids[at],
            labels=self.labels.select(at),
            paths=None if self.paths is None else self.paths[at],
            features=None if self.features is None else self.features[at],
            truth=None if self.truth is None else self.truth.select(at),
            groups=None if self.groups is None else self.groups[at],
            objects=None if self.objects is None else self.objects.select(at),
        )

    def with_classes(self, classes: Sequence[str], source: str = "this data") -> Split:
        """The same samples with these classes; ones that are new here are unknown, or negative in complete rows."""
        place = {name: index for index, name in enumerate(classes)}
        extra = [name for name in self.classes if name not in place]
        if extra:
            shown = ", ".join(repr(name) for name in extra[:5])
            raise OnetagError(
                f"{source} has {len(extra)} classes that are not among the {len(classes)} known ones: {shown}"
            )
        order = [place[name] for name in self.classes]
        return replace(
            self,
            classes=tuple(classes),
            labels=self.labels.rename_classes(order, len(classes)),
            truth=None if self.truth is None else self.truth.rename_classes(order, len(classes)),
            objects=None if self.objects is None else self.objects.rename_classes(order),
        )


@dataclass(frozen=True)
class Problem:
    """Something that was skipped: where, and why."""

    where: str
    why: str


@dataclass(frozen=True)
class Data:
    """Splits by name ("all" where the source has no sides of its own), how the source was read, and what was skipped."""

    splits: Mapping[str, Split]
    read_as: str
    source: Path | None = None
    complete: bool = False
    skipped: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def classes(self) -> tuple[str, ...]:
        return next(iter(self.splits.values())).classes

    def side(self, *names: str) -> Split | None:
        """The first of these splits that is there."""
        return next((self.splits[name] for name in names if name in self.splits), None)

    def only(self) -> Split:
        """All samples, whichever side they stand on."""
        parts = list(self.splits.values())
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        has = {
            name: all(getattr(p, name) is not None for p in parts) for name in ("paths", "features", "truth", "groups")
        }
        return Split(
            ids=np.concatenate([p.ids for p in parts]),
            classes=first.classes,
            labels=LabelTable.concat([p.labels for p in parts]),
            paths=np.concatenate([p.paths for p in parts if p.paths is not None]) if has["paths"] else None,
            features=np.concatenate([p.features for p in parts if p.features is not None]) if has["features"] else None,
            truth=LabelTable.concat([p.truth for p in parts if p.truth is not None]) if has["truth"] else None,
            groups=np.concatenate([p.groups for p in parts if p.groups is not None]) if has["groups"] else None,
        )
