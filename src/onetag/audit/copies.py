"""The same picture more than once: copies on one side, leaks between sides, labels that contradict each other, pictures that look alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from onetag.audit import likeness
from onetag.audit.findings import Finding, counted
from onetag.audit.pictures import Looks
from onetag.audit.samples import Samples
from onetag.core.labels import LabelTable


def same(samples: Samples, looks: Looks | None) -> NDArray[np.int64]:
    """A number per sample, equal for the same picture: the same bytes, or, where they cannot be read, the same path."""
    paths = np.unique(np.array(samples.files, dtype=object), return_inverse=True)[1].astype(np.int64)
    if looks is None:
        return paths
    contents = np.unique(looks.digests, return_inverse=True)[1].astype(np.int64)
    return np.where(looks.digests == b"", paths + len(samples), contents)


def groups(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The members of every number that more than one sample has, by first member."""
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return sorted((part for part in np.split(order, cuts) if len(part) > 1), key=lambda part: int(part[0]))


def conflicts(samples: Samples, found: Sequence[NDArray[np.int64]]) -> Finding:
    """Tags that one copy of a picture has and another one denies. What is merely unknown in one of them denies nothing."""
    items, shown = [], []
    for group in found:
        for column, yes, no in contradictions(samples.split.labels, group):
            tag = samples.split.classes[column]
            items.append(samples.item(int(yes), tag=tag, against=samples.item(int(no))))
            shown.append((int(yes), int(no)))
    what = f"{counted(len(items), 'conflicting label')}: the same picture is said to have a tag and not to have it"
    return Finding("conflicting_labels", what, items, shown)


def contradictions(labels: LabelTable, group: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """(class, a sample that has it, a sample that denies it) among samples of one picture."""
    dense = labels.select(group).to_dense()
    both = np.flatnonzero((dense == 1).any(axis=0) & (dense == -1).any(axis=0))
    return [(int(c), int(group[(dense[:, c] == 1).argmax()]), int(group[(dense[:, c] == -1).argmax()])) for c in both]


def leaks(samples: Samples, found: Sequence[NDArray[np.int64]]) -> list[Finding]:
    """Pictures on two sides: each later sample with the first one on another side."""
    by_path: list[tuple[int, int]] = []
    by_content: list[tuple[int, int]] = []
    for group in found:
        first, *others = (int(at) for at in group)
        for at in others:
            if samples.side[at] != samples.side[first]:
                is_path = any(
                    samples.files[at] == samples.files[one] for one in group if samples.side[one] != samples.side[at]
                )
                (by_path if is_path else by_content).append((first, at))
    path, content = (
        _pairs(samples, "leak_same_path", by_path, lambda n: f"{counted(n, 'picture')} of one side stand{_s(n)} on another, too"),
        _pairs(
            samples, "leak_same_content", by_content,
            lambda n: f"{counted(n, 'picture')} of one side {'is' if n == 1 else 'are'} on another under a different name, byte by byte",
        ),
    )  # fmt: skip
    return [path, content, _groups_on_two_sides(samples)]


def _groups_on_two_sides(samples: Samples) -> Finding:
    items, shown = [], []
    if samples.split.groups is not None and samples.has_sides:
        names, code = np.unique(samples.split.groups, return_inverse=True)
        for members in groups(code.astype(np.int64)):
            sides, firsts, counts = np.unique(samples.side[members], return_index=True, return_counts=True)
            name = str(names[code[members[0]]])
            # A picture without a group is a group of its own, named by its path; that one is a leak of its path.
            if (
                len(sides) > 1
                and name
                and name not in (samples.name(int(members[0])), str(samples.split.ids[members[0]]))
            ):
                pictures = {samples.sides[side]: int(count) for side, count in zip(sides, counts, strict=True)}
                one, other = (int(members[first]) for first in firsts[:2])
                items.append(samples.item(one, group=name, pictures=pictures, beside=samples.item(other)))
                shown.append((one, other))
    what = f"{counted(len(items), 'group')} {'has' if len(items) == 1 else 'have'} pictures on two sides"
    return Finding("leak_group", what, items, shown)


def exact(samples: Samples, found: Sequence[NDArray[np.int64]]) -> Finding:
    """Copies on the same side, each with the first one there."""
    pairs = []
    for group in found:
        first: dict[int, int] = {}
        for at in group:
            one = first.setdefault(int(samples.side[at]), int(at))
            if one != at:
                pairs.append((one, int(at)))
    within = " of the same side" if samples.has_sides else ""
    return _pairs(
        samples, "exact_duplicates", sorted(pairs, key=lambda pair: pair[1]),
        lambda n: f"{counted(n, 'picture')} {'is an exact copy' if n == 1 else 'are exact copies'} of another one{within}",
    )  # fmt: skip


def near(samples: Samples, looks: Looks, codes: NDArray[np.int64]) -> tuple[list[Finding], dict[str, int]]:
    """Pictures that look alike and are no exact copies: across sides, and on one side; and how many pairs there are of each."""
    usable = np.flatnonzero(looks.is_usable & ~looks.is_plain)
    usable = usable[np.sort(np.unique(codes[usable], return_index=True)[1])]  # exact copies are told elsewhere
    found = likeness.alike(looks.hashes[usable], looks.small[usable], samples.side[usable])
    here = "look{} like another one" + (" of the same side" if samples.has_sides else "")
    words = here, "look{} like one on another side: perhaps a leak"
    made = []
    for kind, part, what in zip(("near_duplicates", "near_leak"), found, words, strict=True):
        one, other, bits = part.pairs
        pairs = list(zip(usable[one].tolist(), usable[other].tolist(), strict=True))
        items = [
            samples.item(b, same_as=samples.item(a), distance=apart)
            for (a, b), apart in zip(pairs, bits.tolist(), strict=True)
        ]
        limit = f"(at most {likeness.DISTANCE} of 64 bits apart)"
        message = f"{counted(len(items), 'picture')} {what.format(_s(len(items)))} {limit}"
        made.append(Finding(kind, message, items, pairs))
    return made[::-1], {"across_sides": found[1].number, "on_one_side": found[0].number}


def repeated_rows(samples: Samples) -> Finding:
    """Paths that stand in several rows of one side; the reader has united their tags."""
    again = samples.rows.again if samples.rows is not None else {}
    if 2 * len(again) > len(samples):  # a row per tag: that is how such a table is written
        again = {}
    items = [samples.item(at, also=rows) for at, rows in sorted(again.items())]
    number = sum(len(rows) for rows in again.values())
    what = f"{counted(number, 'row')} repeat{_s(number)} a path; their tags were united"
    return Finding("repeated_rows", what, items)


def _pairs(samples: Samples, kind: str, pairs: list[tuple[int, int]], words: Callable[[int], str]) -> Finding:
    items = [samples.item(at, same_as=samples.item(first)) for first, at in pairs]
    return Finding(kind, words(len(items)), items, pairs)


def _s(number: int) -> str:
    """One picture looks, two pictures look."""
    return "s" if number == 1 else ""
