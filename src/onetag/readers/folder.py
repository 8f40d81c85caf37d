"""Image folders: one folder per class, root/class/x.jpg or root/{train,val,test}/class/x.jpg; one picture in two classes is one sample."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN, LabelTable
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Problem, Split
from onetag.readers import _walk
from onetag.readers._sides import ORDER, counted, echo, listed, side_of, table_of
from onetag.readers._text import joined, text_array

__all__ = ["Folder"]

_LAYOUT = "one folder per class is expected: {0}/cat/1.jpg, {0}/dog/2.jpg, or the same below {0}/train and {0}/val"


class Folder(Reader):
    """Pictures at any depth below a class folder are of that class; a class folder without pictures stays a class. Hidden files
    are passed over, links followed; what cannot be read is named and skipped."""

    priority = 90

    def recognises(self, path: Path) -> bool:
        return path.is_dir()

    def read(self, path: Path, options: ReadOptions) -> Data:
        if not path.is_dir():
            raise DataError(path, f"is no folder; {_LAYOUT.format('pictures')}")
        found = _walk.Walk(path)
        sides = _sides(found)
        roots = sorted(sides, key=lambda name: ORDER.index(sides[name]))
        twice = next((side for side, count in Counter(sides.values()).items() if count > 1), None)
        if twice is not None:
            both = " and ".join(name for name in roots if sides[name] == twice)
            raise DataError(path, f"the folders {both} are the same side ({twice}); keep one of them")
        classes = sorted({name for root in roots for name in found.folders(root)})
        loose = [name for root in dict.fromkeys(["", *roots]) for name in found.loose(root)]
        beside = [name for name in found.folders("") if sides.keys() != {""} and name not in sides]
        loose += [name for folder in beside for name in found.pictures("", folder)]
        if not any(found.pictures(root, name) for root in roots for name in classes):
            what = (
                f"holds {counted(len(loose), 'picture')} that are in no class folder" if loose else "holds no pictures"
            )
            raise DataError(path, f"{what}; {_LAYOUT.format(path.name or path)} (or a table of paths and tags)")
        complete, notes = is_complete(options, self.complete), list[str]()
        splits = {sides[root]: self._split(found, root, classes, complete, notes) for root in roots}
        empty = [name for name in classes if not any(found.pictures(root, name) for root in roots)]
        if empty:
            notes.append(f"{counted(len(empty), 'class')} without pictures: {listed(empty)}")
        skipped = [*found.problems, *(Problem(name, "a picture in no class folder") for name in loose)]
        if loose:
            notes.append(f"{counted(len(loose), 'picture')} in no class folder were skipped: {listed(loose, 3)}")
        if found.others:
            suffixes = Counter(Path(name).suffix.casefold() or "no suffix" for name in found.others)
            shown = listed(f"{number:,} {suffix}" for suffix, number in suffixes.most_common())
            notes.append(f"{counted(len(found.others), 'file')} that are no pictures: {shown}")
            skipped += [Problem(name, "not a picture, by its suffix") for name in found.others]
        if found.problems:
            shown = listed((problem.where for problem in found.problems), 3)
            notes.append(
                f"{counted(len(found.problems), 'file or folder', 'files or folders')} could not be read: {shown}"
            )
        said = echo("image folder", ["one folder per class"], splits, complete)
        return Data(splits, said, path, complete, tuple(skipped), tuple(notes))

    def _split(self, found: _walk.Walk, root: str, classes: list[str], complete: bool, notes: list[str]) -> Split:
        names: list[str] = []
        codes: list[int] = []
        for code, name in enumerate(classes):
            mine = found.pictures(root, name)
            names += mine
            codes += [code] * len(mine)
        owner = _walk.same_content(found.root, names)
        labels, keep = _united(np.array(codes, np.int32), owner, len(classes), complete)
        gone = len(names) - len(keep)
        if gone:
            where = f" of {root}" if root else ""
            notes.append(
                f"{counted(gone, 'copy', 'copies')} of pictures{where} in several places: each picture is one sample with all its tags"
            )
        order = np.argsort(np.array(names, dtype=object)[keep], kind="stable")
        ids = text_array([names[at] for at in keep[order].tolist()])
        paths = joined(str(found.root), ids)
        labels = labels.select(order)
        return Split(ids, tuple(classes), labels, paths, truth=labels if complete else None)


def _sides(found: _walk.Walk) -> dict[str, str]:
    """The folders that are sides, or the root alone. A class may be called `train`: it has no class folders, or stands beside classes."""
    tops = found.folders("")
    sides = {name: side for name in tops if (side := side_of(name)) is not None and found.folders(name)}
    others = [name for name in tops if name not in sides and side_of(name) is None and found.pictures("", name)]
    is_split = len(set(sides.values())) > 1 or ("train" in sides.values() and not others)
    return sides if is_split else {"": "all"}


def _united(
    codes: NDArray[np.int32], owner: NDArray[np.int64], num_classes: int, complete: bool
) -> tuple[LabelTable, NDArray[np.int64]]:
    """One row per distinct picture, with the classes of all its copies."""
    keep, row = np.unique(owner, return_inverse=True)
    cells = np.unique(row.astype(np.int64) * max(num_classes, 1) + codes)
    rows, classes = cells // max(num_classes, 1), (cells % max(num_classes, 1)).astype(np.int32)
    rest = REST_NEGATIVE if complete else REST_UNKNOWN
    return table_of(rows, classes, np.ones(len(rows), np.int8), len(keep), num_classes, rest), keep
