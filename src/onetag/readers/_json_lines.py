"""JSON Lines as a source of rows: blocks of whole lines through pyarrow, and through Python where pyarrow refuses or would guess a date."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onetag.core.reading import DataError
from onetag.readers._source import Source, ahead
from onetag.readers._tags import RowError

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 23
_ARRAY = "is a JSON array; one object a line is expected (jq -c '.[]' makes that)"


class JsonLines(Source):
    """One JSON object a line; lines may have different keys."""

    def names(self) -> list[str] | None:
        return None  # a later line may bring a new key

    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        done = 0
        for block, table in ahead((block, _fast(block)) for block in self._blocks()):
            try:
                size, found = (
                    (len(table), {name: table.column(name) for name in table.column_names})
                    if table is not None
                    else _slow(block)
                )
            except RowError as error:
                raise DataError(self.path, error.message, self.row(done + error.record)) from None
            if size:
                done += size
                yield size, found

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, about a block of them at a time."""
        try:
            with self.path.open("rb") as file:
                held = file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf")
                while held:
                    more = file.readline() if not held.endswith(b"\n") else b""
                    yield held + more
                    held = file.read(_BLOCK)
        except OSError as error:
            raise DataError(self.path, f"cannot be read ({error.strerror})") from error

    def row(self, record: int) -> int:
        """Empty lines are rows to a person, and no records."""
        seen = -1
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                seen += bool(line.strip(b" \t\r\n\xef\xbb\xbf"))
                if seen == record:
                    return number
        return record + 1


def _fast(block: bytes) -> Any:
    """The block as a record batch; None where it needs a closer look."""
    import io

    import pyarrow as pa
    import pyarrow.json as arrow
    import pyarrow.types as types

    try:
        block.decode("utf-8")
        table = arrow.read_json(io.BytesIO(block), arrow.ReadOptions(use_threads=False, block_size=len(block) + 1))
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if len(set(table.column_names)) < table.num_columns or any(
        types.is_timestamp(field.type) or _holds_date(field.type) for field in table.schema
    ):
        return None
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else None


def _holds_date(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_list(kind) and types.is_timestamp(kind.value_type))


def _slow(block: bytes) -> tuple[int, dict[str, pa.Array]]:
    """Line by line: says which line is wrong, and where a column changes between text and lists."""
    import pyarrow as pa

    lines = [line for line in block.split(b"\n") if line.strip()]
    objects: list[dict[str, Any]] = []
    for record, line in enumerate(lines):
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            if line.lstrip()[:1] == b"[" and record == 0:
                raise RowError(
                    record, "is a JSON array; one object a line is expected (jq -c '.[]' makes that)"
                ) from error
            raise RowError(
                record,
                f'is not JSON ({error}); one object a line is expected, such as {{"path": "a.jpg", "tags": ["cat"]}}',
            ) from error
        if isinstance(item, list) and record == 0:
            raise RowError(record, _ARRAY)
        if not isinstance(item, dict):
            raise RowError(
                record,
                f'holds {type(item).__name__}, where an object is expected, such as {{"path": "a.jpg", "tags": ["cat"]}}',
            )
        objects.append(item)
    columns = {}
    for name in dict.fromkeys(key for item in objects for key in item):
        cells = [item.get(name) for item in objects]
        columns[name] = _column(name, cells, pa)
    return len(objects), columns


def _column(name: str, cells: list[Any], pa: Any) -> pa.Array:
    kinds = [
        ("a list" if isinstance(cell, list) else "an object" if isinstance(cell, dict) else "text") for cell in cells
    ]
    first = next((at for at, cell in enumerate(cells) if cell is not None), 0)
    for at, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        if cell is not None and kind != kinds[first]:
            raise RowError(at, f"{name!r} is {kind} here, but {kinds[first]} in the rows before; write it in one way")
    try:
        if kinds and kinds[first] == "a list":
            return pa.array(
                [None if cell is None else [_text(part) for part in cell] for cell in cells], pa.list_(pa.string())
            )
        if kinds and kinds[first] == "an object":
            return pa.array([None if cell is None else {} for cell in cells], pa.struct([]))
        return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise RowError(0, f"{name!r} cannot be read ({error})") from error


def _text(cell: Any) -> str | None:
    return None if cell is None else cell if isinstance(cell, str) else json.dumps(cell)
