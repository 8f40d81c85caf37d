"""Cells of tags become class codes: the separator is found, every distinct tag is looked at once, and no row is looked at in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import nearest
from onetag.readers._strings import raw

if TYPE_CHECKING:
    import pyarrow as pa

_CANDIDATES = ("|", ";", ",")
_NO_TAG = frozenset({"nan", "null", "<na>", "#n/a"})  # how programs write that nothing is there
_LONGEST = 1000
_MOST = 1_000_000


class RowError(Exception):
    """Something is wrong with a record (counted from 0 in its source, or in its block of it)."""

    def __init__(self, record: int, message: str) -> None:
        super().__init__(message)
        self.record, self.message = record, message

    def moved(self, by: int) -> RowError:
        return RowError(self.record + by, self.message)


class Vocabulary:
    """Class names and their codes: fixed by a list of classes, or grown in the order of first sight."""

    def __init__(self, names: Sequence[str] | None = None, source: str = "classes.txt") -> None:
        self.is_fixed, self._source = names is not None, source
        self._codes = {name: code for code, name in enumerate(names or ())}
        self._seen: dict[str, int] = {"": -1}

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._codes)

    def codes(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """The code of each tag; -1 for an empty one. A RowError counts the tags given here."""
        found = [self._seen.get(tag) for tag in tags]
        if None in found:
            for at, code in enumerate(found):
                if code is None:
                    found[at] = self._seen[tags[at]] = self._learn(tags[at], at)
        return np.array(found, dtype=np.int32)

    def _learn(self, tag: str, at: int) -> int:
        name = tag.strip()
        if not name:
            return -1
        if name in self._codes:
            return self._codes[name]
        if name.casefold() in _NO_TAG:
            raise RowError(
                at,
                f"{name!r} is how programs write that nothing is there, not a tag; leave the cell empty for a picture without tags",
            )
        if len(name) > _LONGEST:
            raise RowError(
                at,
                f"a tag of {len(name):,} characters ({name[:40]!r} ...); tags have a separator, names at most {_LONGEST:,} characters",
            )
        if "\n" in name or "\r" in name or "\0" in name:
            raise RowError(
                at,
                f"the tag {name[:60]!r} holds a line break or a zero byte; a quote is probably opened and never closed",
            )
        if self.is_fixed:
            raise RowError(
                at,
                f"the tag {name!r} is not among the {len(self._codes)} classes of {self._source}; {nearest(name, self._codes)}",
            )
        if len(self._codes) >= _MOST:
            raise RowError(
                at, f"more than {_MOST:,} different tags; is this the column of tags, and is its separator right?"
            )
        return self._codes.setdefault(name, len(self._codes))

    def order(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The final names (sorted, unless they were fixed) and the place of each code in them."""
        names = self.names if self.is_fixed else tuple(sorted(self._codes))
        place = {name: at for at, name in enumerate(names)}
        return names, np.array([place[name] for name in self._codes], dtype=np.int32)


class Separator:
    """What stands between the tags of a cell: as given, or the first of `|`, `;`, `,` that occurs.

    A character that is part of a known class name separates nothing, and neither does a space, unless it is given: names have spaces.
    """

    def __init__(self, given: str | None, vocabulary: Vocabulary) -> None:
        self.given = {"\\t": "\t", "tab": "\t", "space": " "}.get(given, given) if given else None
        self.found = self.given
        self.occurs = False
        self.others: dict[str, int] = {}
        self._candidates = [
            c for c in _CANDIDATES if not (vocabulary.is_fixed and any(c in name for name in vocabulary.names))
        ]

    def look(self, text: pa.StringArray, first: int) -> str | None:
        """The separator that occurs in these cells, the first of which is record `first`."""
        import pyarrow.compute as pc

        data = raw(text)
        for candidate in self._candidates:
            if candidate != self.found and candidate not in self.others and candidate.encode() in data:
                if self.found is None:
                    self.found = candidate
                else:
                    self.others[candidate] = first + int(pc.index(pc.match_substring(text, candidate), True).as_py())
        occurs = self.found is not None and self.found.encode() in data
        self.occurs |= occurs
        return self.found if occurs else None

    def is_absent(self, column: pa.DictionaryArray) -> bool:
        """Whether the distinct values of a column are few, and hold nothing that separates."""
        import pyarrow.types as types

        if (
            len(column.dictionary) > len(column)
            or is_list(column.type.value_type)
            or types.is_nested(column.type.value_type)
        ):
            return False
        data = raw(as_text(column.dictionary))
        return not any(sign.encode() in data for sign in {*self._candidates, self.found or "|"})

    def wrong(self) -> tuple[int, str] | None:
        """Where a given separator occurs nowhere and another one does: the record, and the other one."""
        for other in ("|", ";"):
            if self.given is not None and not self.occurs and other in self.others:
                return self.others[other], other
        return None

    @property
    def echo(self) -> str:
        shown = {" ": "space", "\t": "tab"}.get(self.found or "", self.found)
        return f"separator {shown}" if self.found else "one tag per cell"


def encode(
    column: pa.Array, separator: Separator, vocabulary: Vocabulary, first: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every tag of a column of text or lists as (row in the column, class code), by row."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    rows = np.arange(len(column), dtype=np.int32)
    if types.is_dictionary(column.type) and separator.is_absent(column):
        encoded = column
    elif is_list(column.type):
        sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        rows, encoded = np.repeat(rows, sizes), as_text(pc.list_flatten(column)).dictionary_encode()
    else:
        flat = as_text(column)
        between = separator.look(flat, first)
        if between is not None:
            lists = pc.split_pattern(flat, between)
            rows, flat = np.repeat(rows, np.diff(lists.offsets.to_numpy())), lists.flatten()
        encoded = flat.dictionary_encode()
    indices = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    tags = [*as_text(encoded.dictionary).to_pylist(), ""]
    if encoded is column:  # the dictionary of a file may hold what no row uses
        is_used = np.bincount(indices, minlength=len(tags)) > 0
        tags = [tag if used else "" for tag, used in zip(tags, is_used.tolist(), strict=True)]
    try:
        codes = vocabulary.codes(tags)[indices]
    except RowError as error:
        raise RowError(int(rows[np.argmax(indices == error.record)]), error.message) from None
    if len(codes) and codes.min() < 0:
        keep = codes >= 0
        rows, codes = rows[keep], codes[keep]
    return rows, codes


def is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def as_text(column: pa.Array) -> pa.StringArray:
    """Cells of any plain type as text; missing ones are empty, whole numbers have no fraction (a table of pandas makes 3 to 3.0)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        if pc.all(pc.fill_null(pc.equal(column, pc.round(column)), True)).as_py():
            column = column.cast(pa.int64(), safe=False)
    if types.is_nested(kind) or (types.is_binary(kind) and not types.is_string(kind)):
        raise RowError(0, f"the column holds {kind}, where text is expected")
    text = column if types.is_string(kind) else column.cast(pa.string())
    return pc.fill_null(text, "") if text.null_count else text
