"""JSON Lines as a source of rows: blocks of whole lines, one object a line, lines with different keys.

Python's parser and not pyarrow's: that one is faster, but a line that says `null` ends the process (apache/arrow#47409), and lists that
begin with null come out wrong (apache/arrow#51305).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onetag.core.reading import DataError
from onetag.readers._source import Source
from onetag.readers._tags import RowError

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 22
_ARRAY = "is a JSON array; one object a line is expected (jq -c '.[]' makes that)"
_EXAMPLE = 'one object a line is expected, such as {"path": "a.jpg", "tags": ["cat"]}'


class JsonLines(Source):
    """A JSON Lines file."""

    def names(self) -> list[str] | None:
        return None  # a later line may bring a new key

    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        done = 0
        for block in self._blocks():
            lines = [line for line in block.split(b"\n") if line.strip()]
            if not lines:
                continue
            try:
                objects = _objects(lines)
                names = dict.fromkeys(key for item in objects for key in item)
                found = {name: _column(name, [item.get(name) for item in objects]) for name in names}
            except RowError as error:
                raise DataError(self.path, error.message, self.row(done + error.record)) from None
            done += len(lines)
            yield len(lines), found

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, about a block of them at a time."""
        try:
            with self.path.open("rb") as file:
                held = file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf")
                while held:
                    yield held + (file.readline() if not held.endswith(b"\n") else b"")
                    held = file.read(_BLOCK)
        except OSError as error:
            raise DataError(self.path, f"cannot be read ({error.strerror})") from error

    def row(self, record: int) -> int:
        """Empty lines are rows to a person, and no records."""
        seen = -1
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                seen += bool(line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").strip())
                if seen == record:
                    return number
        return record + 1


def _objects(lines: list[bytes]) -> list[dict[str, Any]]:
    """One object per line: all at once, and line by line where something is wrong, to say which one."""
    try:
        objects = json.loads(b"[" + b",".join(lines) + b"]")
        if len(objects) == len(lines) and all(type(item) is dict for item in objects):
            return list(objects)
    except (ValueError, RecursionError):
        pass
    made = []
    for record, line in enumerate(lines):
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            if line.lstrip()[:1] == b"[" and record == 0:
                raise RowError(record, _ARRAY) from error
            raise RowError(record, f"is not JSON ({error}); {_EXAMPLE}") from error
        if not isinstance(item, dict):
            what = _ARRAY if isinstance(item, list) and record == 0 else f"holds {_kind(item)}; {_EXAMPLE}"
            raise RowError(record, what)
        made.append(item)
    return made


def _column(name: str, cells: list[Any]) -> pa.Array:
    """Text or lists of text."""
    import pyarrow as pa

    kinds = set(map(type, cells)) - {type(None)}
    if kinds == {dict}:  # what is wrong with a column matters only if it is used
        return pa.array([None if cell is None else {} for cell in cells], pa.struct([]))
    if len(kinds) > 1 and kinds & {list, dict}:
        first = next(cell for cell in cells if cell is not None)
        at = next(at for at, cell in enumerate(cells) if cell is not None and _kind(cell) != _kind(first))
        both = f"{_kind(cells[at])} here, but {_kind(first)} in the rows before"
        raise RowError(at, f"{name[:40]!a} is {both}; write it in one way")
    try:
        return _text(cells, is_list=kinds == {list})
    except (pa.ArrowException, ValueError):
        for at, cell in enumerate(cells):
            try:
                _text([cell], is_list=kinds == {list})
            except (pa.ArrowException, ValueError) as error:
                raise RowError(at, f"{name[:40]!a} holds what is no plain text ({error})") from error
        raise


def _text(cells: list[Any], is_list: bool) -> pa.Array:
    import pyarrow as pa

    kind = pa.list_(pa.string()) if is_list else pa.string()
    try:
        return pa.array(cells, kind)
    except (pa.ArrowTypeError, pa.ArrowInvalid, TypeError):
        return pa.array([_written(cell) for cell in cells], kind)


def _written(cell: Any) -> Any:
    """Numbers as JSON writes them; whole ones without a fraction."""
    if isinstance(cell, list):
        return [
            None if part is None else json.dumps(part) if isinstance(part, list | dict) else _written(part)
            for part in cell
        ]
    if cell is None or isinstance(cell, str):
        return cell
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else json.dumps(cell)


def _kind(cell: Any) -> str:
    return "a list" if isinstance(cell, list) else "an object" if isinstance(cell, dict) else "a single value"
