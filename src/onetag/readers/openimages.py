"""Open Images image-level labels (ImageID, Source, LabelName, Confidence): verified positives (1) and negatives (0), the rest unknown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core.labels import REST_NEGATIVE, REST_UNKNOWN
from onetag.core.reading import DataError, Reader, ReadOptions, is_complete
from onetag.core.split import Data, Split
from onetag.readers import _strings
from onetag.readers._delimited import Delimited
from onetag.readers._lines import lines_of
from onetag.readers._paths import PathCheck
from onetag.readers._sides import ORDER, counted, echo, side_of, table_of
from onetag.readers._tags import RowError, Separator, Vocabulary, as_text, encode
from onetag.readers._text import column, joined
from onetag.readers._unite import Entries, gathered

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OpenImages"]

_COLUMNS = ("ImageID", "LabelName", "Confidence")


class OpenImages(Reader):
    """The side is what the file's name begins with (train-, validation-, test-); class-descriptions*.csv beside it names the classes.

    A label that people answered both ways is unknown; labels of machines (a confidence between 0 and 1) are left out.
    """

    priority = 30

    def recognises(self, path: Path) -> bool:
        return bool(_files(path)) if path.is_dir() else path.suffix.casefold() == ".csv" and _has_columns(path)

    def read(self, path: Path, options: ReadOptions) -> Data:
        files = _files(path) if path.is_dir() else [path]
        if not files:
            raise DataError(path, "holds no table such as train-annotations-human-imagelabels.csv")
        complete = is_complete(options, self.complete)
        vocabulary, notes = Vocabulary(), list[str]()
        tables = {}
        for file in files:
            side = side_of(file.name.split("-")[0]) or "all"
            if side in tables:
                raise DataError(path, f"holds several tables of the side {side!r}; name the file that is meant")
            tables[side] = _Table(file, vocabulary)
        folder = path if path.is_dir() else path.parent
        titles = _titles(folder)
        titled = _unique({mid: titles.get(mid, mid) for mid in vocabulary.names})
        classes = tuple(sorted(titled.values()))
        place = {name: at for at, name in enumerate(classes)}
        order = np.array([place[titled[mid]] for mid in vocabulary.names], np.int32)
        splits: dict[str, Split] = {}
        for side in ORDER:
            if side in tables:
                pictures = options.images or next((f for f in (folder / side, folder / "images") if f.is_dir()), folder)
                splits[side] = tables[side].split(order, classes, complete, pictures, notes)
        if titles:
            missing = sum(mid not in titles for mid in vocabulary.names)
            notes += [f"{counted(missing, 'class')} without a description keep their machine ids"] if missing else []
        said = ["names by class-descriptions" if titles else "machine ids as names"]
        return Data(splits, echo("Open Images", said, splits, complete), path, complete, (), tuple(notes))


class _Table:
    """One table: pictures in the order they first appear."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.path, self.source = path, Delimited(path)
        missing = [name for name in _COLUMNS if name not in self.source.names()]
        if missing:
            raise DataError(
                path, f"no column {missing[0]!r}; the columns ImageID, Source, LabelName, Confidence are expected", 1
            )
        check, separator = PathCheck(path.parent), Separator("\n", vocabulary)
        self.ids: list[pa.StringArray] = []
        self.parts: list[Entries] = []
        self.machine = records = runs = 0
        for size, batch in self.source.batches(_COLUMNS):
            try:
                ids = check(batch["ImageID"])
                # Rows of a picture follow each other: its name is kept once, not for each of its labels.
                is_new = np.ones(size, bool)
                is_new[1:] = pc.not_equal(ids.slice(1), ids.slice(0, size - 1)).to_numpy(zero_copy_only=False)
                self.ids.append(ids.filter(pa.array(is_new)))
                rows, codes = encode(batch["LabelName"], separator, vocabulary, records)
                if len(rows) < size:
                    raise RowError(int(np.setdiff1d(np.arange(size), rows)[0]), "no LabelName; every row names a label")
                values = _signs(as_text(batch["Confidence"]))
            except RowError as error:
                raise DataError(path, error.message, self.source.row(records + error.record)) from None
            known = values != 0
            self.machine += int((~known).sum())
            run = runs + np.cumsum(is_new, dtype=np.int32) - 1
            self.parts.append((run[known].astype(np.int32), codes[known], values[known]))
            records, runs = records + size, runs + int(is_new.sum())
        if not records:
            raise DataError(path, "has no rows")

    def split(
        self, order: NDArray[np.int32], classes: tuple[str, ...], complete: bool, folder: Path, notes: list[str]
    ) -> Split:
        names = np.asarray(column(self.ids))
        first = _strings.first_rows(self.ids)
        rows, codes, values = gathered(self.parts)
        if first is not None:
            keep, member = np.unique(first, return_inverse=True)
            names, rows = names[keep], member.astype(np.int32)[rows]
        cells = rows.astype(np.int64) * len(classes) + order[codes]
        cells, member = np.unique(cells, return_inverse=True)
        ups, downs = (np.bincount(member[values == sign], minlength=len(cells)) for sign in (1, -1))
        both = (ups > 0) & (downs > 0)
        if both.any():
            notes.append(f"{counted(int(both.sum()), 'label')} of {self.path.name} answered both ways are unknown")
        if self.machine:
            notes.append(f"{counted(self.machine, 'label')} of machines in {self.path.name} were left out")
        cells, signs = cells[~both], np.where(ups[~both] > 0, 1, -1).astype(np.int8)
        rest = REST_NEGATIVE if complete else REST_UNKNOWN
        table = table_of(
            cells // len(classes), (cells % len(classes)).astype(np.int32), signs, len(names), len(classes), rest
        )
        files = np.strings.add(names, np.array(".jpg", dtype=names.dtype)) if len(names) else names
        return Split(names, classes, table, joined(str(folder), files), truth=table if complete else None)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*-imagelabels*.csv") if file.is_file())


def _has_columns(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            names = file.readline(1 << 12).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").strip().split(",")
    except OSError:
        return False
    return set(_COLUMNS) <= {name.strip().strip('"') for name in names}


def _titles(folder: Path) -> dict[str, str]:
    """Display names by machine id; the file has a row of column names in its newer versions only."""
    import csv

    found: dict[str, str] = {}
    for file in sorted(folder.glob("*class-descriptions*.csv")):
        lines = lines_of(file)
        try:
            for row, cells in enumerate(csv.reader(lines), 1):
                if cells and cells[0] != "LabelName":
                    if len(cells) < 2 or not cells[1].strip():
                        raise DataError(file, "a machine id and a name are expected: /m/01yrx,Cat", row)
                    found[cells[0].strip()] = cells[1].strip()
        except csv.Error as error:
            raise DataError(file, f"cannot be read ({error})") from error
    return found


def _unique(titles: dict[str, str]) -> dict[str, str]:
    """Different classes of the same name keep their machine id beside it."""
    names = list(titles.values())
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    return {mid: f"{name} ({mid})" if name in twice else name for mid, name in titles.items()}


def _signs(text: pa.StringArray) -> NDArray[np.int8]:
    """+1, -1, or 0 for what a machine said."""
    encoded = text.dictionary_encode()
    cells = encoded.dictionary.to_pylist()
    kinds = []
    for cell in cells:
        try:
            number = float(cell)
        except ValueError:
            number = -1.0
        kinds.append(1 if number == 1 else -1 if number == 0 else 0 if 0 < number < 1 else 2)
    signs = np.asarray(np.array(kinds, np.int8)[encoded.indices.to_numpy()], np.int8)
    if (signs == 2).any():
        at = int((signs == 2).argmax())
        raise RowError(
            at,
            f"the Confidence {text[at].as_py()[:40]!r} is no number from 0 (verified absent) to 1 (verified present)",
        )
    return signs
