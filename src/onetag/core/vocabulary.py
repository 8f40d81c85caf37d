"""`labels.toml` beside the data: aliases to merge, classes to leave out, an order. Every command that reads the data honours it.

order = ["person", "dog", "cat"]      # these first, the others after them
leave_out = ["misc"]

[aliases]
cat = ["Cat", "kitty"]                # these become cat
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from onetag.core.errors import nearest
from onetag.core.labels import REST_NEGATIVE, LabelTable
from onetag.core.reading import DataError
from onetag.core.split import Data, Split

NAME = "labels.toml"
_KEYS = ("aliases", "leave_out", "order")


@dataclass(frozen=True)
class Vocabulary:
    """What a person says about class names."""

    path: Path
    aliases: dict[str, str]
    leave_out: tuple[str, ...]
    order: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(path, f"cannot be read as TOML ({error})") from error
        for key in content:
            if key not in _KEYS:
                raise DataError(path, f"unknown key {key!r}; {nearest(key, _KEYS)}")
        aliases: dict[str, str] = {}
        given = content.get("aliases", {})
        if not isinstance(given, dict):
            raise DataError(path, 'aliases is a table: [aliases], then cat = ["Cat", "kitty"]')
        for name, others in given.items():
            for other in _names(path, f"aliases.{name}", others):
                if aliases.setdefault(other, name) != name:
                    raise DataError(path, f"{other!r} is an alias of {aliases[other]!r} and of {name!r}; keep one")
        chained = next((name for name in aliases.values() if name in aliases and aliases[name] != name), None)
        if chained is not None:
            raise DataError(path, f"{chained!r} has aliases and is itself an alias of {aliases[chained]!r}")
        leave_out = _names(path, "leave_out", content.get("leave_out", []))
        order = _names(path, "order", content.get("order", []))
        if len(set(order)) < len(order):
            raise DataError(path, f"order names {next(n for n in order if order.count(n) > 1)!r} twice")
        return cls(path, aliases, leave_out, order)

    def apply(self, data: Data) -> Data:
        """The data under these names; a name that the data does not have is an error, since it is probably misspelt."""
        classes = data.classes
        renamed = [self.aliases.get(name, name) for name in classes]
        for key, names, known in (
            ("aliases", tuple(self.aliases), classes),
            ("leave_out", self.leave_out, (*classes, *renamed)),
            ("order", self.order, renamed),
        ):
            for name in names:
                if name not in known:
                    raise DataError(
                        self.path, f"{key} names {name!r}, which the data does not have; {nearest(name, known)}"
                    )
        dropped = set(self.leave_out)
        kept = list(dict.fromkeys(n for n, old in zip(renamed, classes, strict=True) if not {n, old} & dropped))
        final = [name for name in self.order if name in kept]
        final += [name for name in kept if name not in self.order]
        place = {name: code for code, name in enumerate(final)}
        codes = [-1 if {n, old} & dropped else place[n] for n, old in zip(renamed, classes, strict=True)]
        splits = {side: self._split(split, codes, tuple(final)) for side, split in data.splits.items()}
        merged, left = len(classes) - len(set(renamed)), len(set(renamed)) - len(final)
        note = f"{NAME}: {len(classes)} classes became {len(final)} ({merged} merged, {left} left out)"
        return replace(data, splits=splits, notes=(*data.notes, note))

    def _split(self, split: Split, codes: Sequence[int], classes: tuple[str, ...]) -> Split:
        return replace(
            split,
            classes=classes,
            labels=self._table(split, split.labels, codes, len(classes)),
            truth=None if split.truth is None else self._table(split, split.truth, codes, len(classes)),
            objects=None if split.objects is None else split.objects.rename_classes(codes),
        )

    def _table(self, split: Split, table: LabelTable, codes: Sequence[int], size: int) -> LabelTable:
        """A merged class is present where one of its names is; absent only where all of its names are."""
        rows, old, values, weights = table.entries()
        new = np.asarray(codes, np.int64)[old]
        keep = new >= 0
        cells = rows[keep] * max(size, 1) + new[keep]
        distinct, member = np.unique(cells, return_inverse=True)
        members = np.bincount(np.asarray(codes)[np.asarray(codes) >= 0], minlength=size)
        yes = np.bincount(member, values[keep] == 1, len(distinct)) > 0
        no = np.bincount(member, values[keep] == -1, len(distinct))
        if (yes & (no > 0)).any():
            cell = int(distinct[yes & (no > 0)][0])
            raise DataError(
                self.path,
                f"merging makes {split.ids[cell // size]!r} both positive and negative for class {cell % size}: "
                "its aliases contradict each other there",
            )
        is_rest_negative = table.rest[distinct // max(size, 1)] == REST_NEGATIVE
        is_negative = ~yes & ((no >= members[distinct % max(size, 1)]) | is_rest_negative)
        known = yes | is_negative
        weight = np.zeros(len(distinct), np.float32)
        np.maximum.at(weight, member, weights[keep])
        chosen = distinct[known]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(chosen // max(size, 1), minlength=table.num_rows))])
        signs = np.where(yes, 1, -1)[known]
        kept_weights = weight[known] if table.is_weighted else None
        return LabelTable(indptr, chosen % max(size, 1), signs, size, table.rest, kept_weights)


def beside(source: Path) -> Path | None:
    """The `labels.toml` of a data path, if there is one."""
    path = (source if source.is_dir() else source.parent) / NAME
    return path if path.is_file() else None


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DataError(path, f'{key} is a list of names, as in ["cat", "dog"]')
    return tuple(value)
