"""The cache folder, and content hashes of pictures, so that what was computed once is found again by content."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def cache_folder() -> Path:
    """`$ONETAG_CACHE`, else the user's cache folder on this system."""
    if named := os.environ.get("ONETAG_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "onetag"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "onetag" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onetag"


def picture_digests(paths: Sequence[str] | NDArray[np.str_]) -> NDArray[np.str_]:
    """A content hash per file ("" where it cannot be read), in parallel; files seen before (same size and time) are not read again."""
    index = _Index(cache_folder() / "digests.sqlite")
    known = index.known()

    def one(path: str) -> tuple[str, str, int, int, bool]:
        try:
            status = os.stat(path)
            found = known.get(path)
            if found is not None and found[:2] == (status.st_size, status.st_mtime_ns):
                return path, found[2], status.st_size, status.st_mtime_ns, False
            with open(path, "rb") as stream:
                return path, hashlib.file_digest(stream, _blake2b).hexdigest(), status.st_size, status.st_mtime_ns, True
        except OSError:
            return path, "", 0, 0, False

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        rows = list(pool.map(one, (str(path) for path in paths), chunksize=64))
    index.add([row[:4] for row in rows if row[4]])
    return np.array([row[1] for row in rows], dtype=np.str_)


def _blake2b() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


class _Index:
    """Path, size, time -> hash. Losing it costs time, never truth; so a broken or locked one is worked without."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> dict[str, tuple[int, int, str]]:
        try:
            with closing(self._connect()) as connection:
                return {
                    path: (size, time, digest)
                    for path, size, time, digest in connection.execute("SELECT * FROM digests")
                }
        except (sqlite3.Error, OSError):
            return {}

    def add(self, rows: list[tuple[str, str, int, int]]) -> None:
        if not rows:
            return
        try:
            with closing(self._connect()) as connection, connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?)", [(p, s, t, d) for p, d, s, t in rows]
                )
        except (sqlite3.Error, OSError):
            return

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=10)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS digests (path TEXT PRIMARY KEY, size INTEGER, time INTEGER, digest TEXT)"
        )
        return connection
