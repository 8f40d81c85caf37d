"""The sides of a training run - train, val, test - from data: what is revealed, what is held out, features, and what had to be skipped."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onetag.core.cache import picture_digests
from onetag.core.errors import OnetagError, UsageError
from onetag.core.progress import Listener
from onetag.core.split import Data, Problem, Split
from onetag.engine import evaluate
from onetag.engine.features import cached
from onetag.learn.backbone import Backbone
from onetag.observe import cut, observe
from onetag.recipe import Recipe


@dataclass(frozen=True)
class Side:
    """A split and its features; rows whose pictures cannot be read are gone."""

    split: Split
    features: NDArray[np.floating]
    groups: NDArray[np.int64] | None = None
    """Samples with the same number - one album, or copies of a picture - belong into one fold."""

    def measure(self, scores: NDArray[np.float32]) -> dict[str, float]:
        """mAP where the truth is known; else how often the known tag is near the top."""
        if self.split.truth is not None:
            return evaluate.map_only(scores, self.split.truth)
        return evaluate.known_tags(scores, self.split.labels)


@dataclass(frozen=True)
class Sides:
    train: Side
    val: Side | None
    test: Side | None
    skipped: tuple[Problem, ...]

    def named(self) -> dict[str, Side]:
        sides = {"train": self.train, "val": self.val, "test": self.test}
        return {name: side for name, side in sides.items() if side is not None}


def prepare_sides(
    recipe: Recipe,
    data: Data,
    val: Data | None,
    test: Data | None,
    use_val: bool,
    backbone: Backbone,
    hear: Listener,
    strict: bool,
) -> Sides:
    own = data.side("val") if use_val and val is None else None
    if own is not None and recipe.data.val_share > 0:
        raise UsageError(
            f"a share is to be held out, but this data has a val side of its own ({len(own):,} samples): leave the share out"
        )
    whole = _revealed(recipe, data)
    skipped = list(data.skipped)
    gather = _Gather(backbone, hear, skipped)
    features, readable, digests = gather.features(whole)
    is_val, groups = np.zeros(len(whole), bool), _groups(whole, digests)
    val_split = _given(val, whole, "--val") if val is not None else own
    if val_split is None and use_val and recipe.data.val_share > 0:
        is_val = _held_out(whole, groups, recipe.data.val_share, recipe.annotation_seed)
    test_split = _given(test, whole, "--test") if test is not None else data.side("test")

    def part(rows: NDArray[np.bool_]) -> Side:
        index = np.flatnonzero(rows & readable)
        return Side(whole.select(index), features[index], None if groups is None else groups[index])

    train = part(~is_val)
    val_side = part(is_val) if is_val.any() else gather.side(val_split, whole.classes, "the val side")
    test_side = gather.side(test_split, whole.classes, "the test side")
    _report(skipped, hear, strict)
    if not len(train.split):
        raise OnetagError(
            "no training picture is left" + (f": {skipped[0].where}: {skipped[0].why}" if skipped else "")
        )
    if val_side is not None and val_side.split.truth is None:
        hear.say(
            "validation labels are partial: known tags near the top are reported, never an mAP; the last weights are used"
        )
    return Sides(train, val_side, test_side, tuple(skipped))


def _revealed(recipe: Recipe, data: Data) -> Split:
    """The training samples, with the labels that the annotation regime leaves of them."""
    whole = data.side("train", "all")
    if whole is None:
        raise OnetagError(f"{data.source or 'this data'} has no training side, only {' and '.join(data.splits)}")
    if recipe.annotation == "given":
        return whole
    if whole.truth is None:
        raise UsageError(
            f'annotation = "{recipe.annotation}" hides labels of complete data, but these labels are partial '
            "(say --labels complete if they are not)"
        )
    return replace(
        whole,
        labels=observe(whole.truth, recipe.annotation, whole.ids, recipe.draw, recipe.annotation_seed, whole.objects),
    )


def _given(data: Data, train: Split, option: str) -> Split:
    split = data.only()
    if split.truth is None:
        raise UsageError(
            f"{option} needs completely labelled data, but {data.source or 'this data'} is partial: mAP on partial labels would be wrong"
        )
    return split.with_classes(train.classes, str(data.source or option))


def _held_out(split: Split, groups: NDArray[np.int64] | None, share: float, seed: int) -> NDArray[np.bool_]:
    """Albums are cut as wholes. Without them it is the official cut, after which copies of training pictures go back to train."""
    by_group = groups if split.groups is not None else None
    is_val = np.zeros(len(split), bool)
    is_val[cut(len(split), share, seed, by_group)[1]] = True
    if groups is not None and by_group is None:
        is_val &= ~np.isin(groups, groups[~is_val])
    return is_val


def _groups(split: Split, digests: NDArray[np.str_] | None) -> NDArray[np.int64] | None:
    """Samples that must stand on one side: the same group, or the same content; joined where one sample links two."""
    named = [names for names in (split.groups, digests) if names is not None]
    if not named:
        return None
    links = [_codes(names) for names in named]
    member = links[0]
    for other in links[1:]:
        while True:  # spread the smallest number over both kinds of links until nothing changes
            joined = _smallest(member, other)[other]
            low = _smallest(joined, member)
            if (low[member] == member).all():
                break
            member = low[member]
    return member


def _codes(names: NDArray[np.str_]) -> NDArray[np.int64]:
    """A number per name; samples without one stand alone."""
    found, codes = np.unique(np.asarray(names.tolist(), dtype=np.str_), return_inverse=True)
    alone = np.asarray(found == "")[codes]
    return np.where(alone, len(found) + np.arange(len(codes)), codes).astype(np.int64)


def _smallest(values: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest value of each code."""
    low = np.full(int(at.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(low, at, values)
    return low


class _Gather:
    """Features of splits, and the list of what was skipped on the way."""

    def __init__(self, backbone: Backbone, hear: Listener, skipped: list[Problem]) -> None:
        self._backbone, self._hear, self._skipped = backbone, hear, skipped

    def features(self, split: Split) -> tuple[NDArray[np.floating], NDArray[np.bool_], NDArray[np.str_] | None]:
        if split.features is not None:
            if self._backbone.name != "features":
                raise UsageError(f"the data are feature vectors: use --backbone features, not {self._backbone.name}")
            return split.features, np.ones(len(split), bool), None
        if split.paths is None or self._backbone.name == "features":
            raise UsageError(
                "--backbone features needs data that are feature vectors (.npy, .npz, Parquet); these are pictures"
            )
        digests = picture_digests(split.paths)
        found = cached(self._backbone, split.paths.tolist(), digests, self._hear)
        readable = np.ones(len(split), bool)
        for row, why in sorted(found.unreadable.items()):
            readable[row] = False
            self._skipped.append(Problem(str(split.paths[row]), why))
        return found.values, readable, digests

    def side(self, split: Split | None, classes: tuple[str, ...], name: str) -> Side | None:
        if split is None or not len(split):
            return None
        split = split if split.classes == classes else split.with_classes(classes, name)
        features, readable, _ = self.features(split)
        index = np.flatnonzero(readable)
        return Side(split.select(index), features[index])


def _report(skipped: list[Problem], hear: Listener, strict: bool) -> None:
    if not skipped:
        return
    if strict:
        raise OnetagError(
            f"{skipped[0].where}: {skipped[0].why} ({len(skipped)} pictures cannot be read; without --strict they are skipped)"
        )
    for problem in skipped[:10]:
        hear.say(f"skipped {problem.where}: {problem.why}")
    hear.say(f"{len(skipped)} files skipped" + (", all of them named in skipped.jsonl" if len(skipped) > 10 else ""))
