"""Parquet files as a source of rows: only the columns that are needed, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from onetag.core.reading import DataError
from onetag.readers._source import Source, ahead

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1 << 17


class Columnar(Source):
    """A Parquet file."""

    @cached_property
    def _schema(self) -> pa.Schema:
        schema = self._open().schema_arrow
        twice = next((name for at, name in enumerate(schema.names) if name in schema.names[:at]), None)
        if twice is not None:
            raise DataError(self.path, f"two columns are named {twice!r}; give each its own name")
        return schema

    def _open(self, **how: Any) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self.path, **how)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(self.path, f"cannot be read as Parquet ({_short(error)})") from error

    def names(self) -> list[str]:
        return list(self._schema.names)

    def batches(self, columns: Sequence[str] | None) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        import pyarrow as pa
        import pyarrow.types as types

        wanted = self.names() if columns is None else list(columns)
        # Text that repeats stays a dictionary: its distinct values are looked at, not every cell.
        texts = [name for name in wanted[1:] if types.is_string(self._schema.field(name).type)]
        file = self._open(read_dictionary=texts, pre_buffer=False)
        try:
            for batch in ahead(file.iter_batches(_BATCH, columns=wanted)):
                batch.validate(full=True)  # text in a file may be no text
                if len(batch):
                    yield len(batch), {name: batch.column(name) for name in wanted}
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(self.path, f"cannot be read as Parquet ({_short(error)})") from error


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
