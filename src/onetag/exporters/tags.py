"""Predicted tags as CSV, JSON lines, Parquet or sidecar files: streaming, and resumable after a kill.

Rows are appended to `OUT.partial` block by block; a state file beside it says how far. A finished output is renamed into place.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import OnetagError, UsageError, nearest
from onetag.core.predictions import Predictions

FORMATS = (".csv", ".jsonl", ".parquet")


class TagWriter:
    """Appends blocks of rows `(path, [(tag, score), ...])`; `done` pictures are in the file already."""

    def __init__(self, out: Path, what: Sequence[str]) -> None:
        if out.suffix.lower() not in FORMATS:
            raise UsageError(f"-o {out}: the ending says the format; {nearest(out.suffix, FORMATS)}")
        self._out = out
        self._format = out.suffix.lower()
        self._partial, self._state = out.with_name(out.name + ".partial"), out.with_name(out.name + ".state")
        # The same pictures, model and options: only then may a broken-off file be continued.
        self._key = hashlib.blake2b("\x1f".join(what).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        self.done = 0
        self._stream = self._open()

    def _open(self) -> IO[bytes]:
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
            if state["key"] == self._key and self._partial.stat().st_size >= state["size"]:
                stream = self._partial.open("r+b")
                stream.truncate(state["size"])
                stream.seek(state["size"])
                self.done = int(state["done"])
                return stream
        except (OSError, ValueError, KeyError):
            pass
        try:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            stream = self._partial.open("w+b")
        except OSError as error:
            raise OnetagError(f"{self._out}: cannot be written ({error.strerror})") from error
        if self._format == ".csv":
            stream.write(b"path,tag,score\n")
        return stream

    def add(self, rows: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> None:
        if self._format == ".csv":
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows((path, tag, f"{score:.6g}") for path, tags in rows for tag, score in tags)
            self._stream.write(text.getvalue().encode("utf-8", "surrogateescape"))
        else:
            for path, tags in rows:
                line = {"path": path, "tags": [{"tag": tag, "score": round(score, 6)} for tag, score in tags]}
                self._stream.write((json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape"))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.done += len(rows)
        state = {"key": self._key, "done": self.done, "size": self._stream.tell()}
        aside = self._state.with_name(self._state.name + ".tmp")
        aside.write_text(json.dumps(state), encoding="utf-8")
        aside.replace(self._state)

    def close(self) -> None:
        """Leave the output unfinished, to be continued."""
        self._stream.close()

    def finish(self) -> None:
        self._stream.close()
        if self._format == ".parquet":
            _to_parquet(self._partial, self._out)
            self._partial.unlink()
        else:
            self._partial.replace(self._out)
        self._state.unlink(missing_ok=True)


def _to_parquet(lines: Path, out: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("path", pa.string()), ("tag", pa.string()), ("score", pa.float32())])
    aside = out.with_name(out.name + ".tmp")
    with lines.open(encoding="utf-8", errors="surrogateescape") as stream, pq.ParquetWriter(aside, schema) as writer:
        while block := [json.loads(line) for _, line in zip(range(20_000), stream, strict=False)]:
            rows = [(row["path"], tag["tag"], tag["score"]) for row in block for tag in row["tags"]]
            columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(schema.types)]
            writer.write_table(pa.table(columns, schema=schema))
    aside.replace(out)


def write_sidecar(picture: str, tags: Sequence[tuple[str, float]]) -> bool:
    """`x.jpg` -> `x.txt` beside it, one tag a line. A file that is there already is left alone (False): it may be somebody's work."""
    path = Path(picture).with_suffix(".txt")
    if path.exists():
        return False
    aside = path.with_name(path.name + ".tmp")
    aside.write_text("".join(f"{tag}\n" for tag, _ in tags), encoding="utf-8")
    aside.replace(path)
    return True


def write_all_scores(
    out: Path, scores: NDArray[np.float32], ids: Sequence[str], classes: tuple[str, ...], run: str
) -> None:
    """Every score: Parquet with one fixed-size list column."""
    if out.suffix.lower() != ".parquet":
        raise UsageError(f"-o {out}: --all-scores are written as Parquet; name the output *.parquet")
    Predictions(scores, np.asarray(ids, dtype=np.str_), classes, run).save(out)
