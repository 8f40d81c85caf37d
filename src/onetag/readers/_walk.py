"""Folders of pictures: what lies where, and which files have the same content."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from onetag.core.reading import PICTURE_SUFFIXES
from onetag.core.split import Problem

R = TypeVar("R")
_QUICK = 1 << 16
_TASK = 64  # files that one task of a thread looks at: a task each would cost more than it does
_MOST_LINKS = 16  # folders that link to each other would otherwise multiply


class Walk:
    """Everything below a folder, names relative to it with forward slashes. Links are followed, a loop of them only once around."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[Problem] = []
        self.others: list[str] = []
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._pictures: dict[str, list[str]] = defaultdict(list)
        self._visit()

    def folders(self, name: str) -> list[str]:
        """The names of the folders directly in a folder ("" = the root)."""
        return self._folders.get(name, [])

    def loose(self, name: str) -> list[str]:
        """Pictures directly in a folder."""
        return self._pictures.get(name, [])

    def pictures(self, root: str, name: str) -> list[str]:
        """All pictures below root/name."""
        start = f"{root}/{name}" if root else name
        found: list[str] = []
        open_ = [start]
        while open_:
            folder = open_.pop()
            found += self._pictures.get(folder, [])
            open_ += [f"{folder}/{inner}" for inner in reversed(self._folders.get(folder, []))]
        return found

    def _visit(self) -> None:
        # A folder is entered again through a link only where that is no loop: where it is none of its own ancestors.
        open_: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
        times: Counter[tuple[int, int]] = Counter()
        while open_:
            folder, above = open_.pop()
            here = self.root / folder
            try:
                status = here.stat()
                mark = (status.st_dev, status.st_ino)
                if mark in above:
                    self.problems.append(Problem(folder, "a link that leads back to a folder above it"))
                    continue
                times[mark] += 1
                if times[mark] > _MOST_LINKS:
                    self.problems.append(Problem(folder, f"reached through more than {_MOST_LINKS} links"))
                    continue
                with os.scandir(here) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.problems.append(Problem(folder or str(self.root), f"folder cannot be read ({error.strerror})"))
                continue
            inner: list[str] = []
            for entry in entries:
                if not entry.name.startswith("."):
                    self._take(entry, folder, inner)
            self._folders[folder] = [name.rpartition("/")[2] for name in inner]
            open_ += [(name, above | {mark}) for name in reversed(inner)]

    def _take(self, entry: os.DirEntry[str], folder: str, inner: list[str]) -> None:
        name = f"{folder}/{entry.name}" if folder else entry.name
        try:
            name.encode("utf-8")
            if entry.is_dir():
                inner.append(name)
            elif not entry.is_file():
                self.problems.append(
                    Problem(name, "a link to nothing" if entry.is_symlink() else "neither a file nor a folder")
                )
            elif os.path.splitext(entry.name)[1].casefold() in PICTURE_SUFFIXES:
                self._pictures[folder].append(name)
            else:
                self.others.append(name)
        except UnicodeEncodeError:
            shown = name.encode("utf-8", "backslashreplace").decode()
            self.problems.append(Problem(shown, "a file name that is not UTF-8; rename it"))
        except OSError as error:
            self.problems.append(Problem(name, f"cannot be read ({error.strerror})"))


def same_content(root: Path, names: Sequence[str]) -> NDArray[np.int64]:
    """For each file the first one with the same bytes. Only files of equal size are read: their first 64 KiB, then all of them."""
    owner = np.arange(len(names), dtype=np.int64)
    with ThreadPoolExecutor(8) as pool:

        def each(make: Callable[[Path], R], members: Sequence[int]) -> list[R]:
            parts = [members[start : start + _TASK] for start in range(0, len(members), _TASK)]
            made = pool.map(lambda part: [make(root / names[at]) for at in part], parts)
            return [one for part in made for one in part]

        sizes = each(_size, range(len(names)))
        groups = _groups((size, at) for at, size in enumerate(sizes) if size)  # empty files are broken, not alike
        members = [at for group in groups for at in group]
        groups = _groups((pair, at) for at, pair in _hashed(sizes, members, each(_quick_hash, members)))
        done = [group for group in groups if sizes[group[0]] <= _QUICK]
        members = [at for group in groups for at in group if sizes[at] > _QUICK]
        groups = done + _groups((pair, at) for at, pair in _hashed(sizes, members, each(_hash, members)))
    for group in groups:
        owner[group] = group[0]
    return owner


def _hashed(sizes: list[int], members: list[int], hashes: list[bytes]) -> Iterator[tuple[int, tuple[int, bytes]]]:
    """(file, (size, hash)) of those that could be read."""
    return ((at, (sizes[at], found)) for at, found in zip(members, hashes, strict=True) if found)


def _groups(pairs: Iterable[tuple[Hashable, int]]) -> list[list[int]]:
    """The members that share a key with another one."""
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    for key, at in pairs:
        by_key[key].append(at)
    return [sorted(group) for group in by_key.values() if len(group) > 1]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _quick_hash(path: Path) -> bytes:
    """Of the first bytes."""
    return _hash(path, _QUICK)


def _hash(path: Path, most: int | None = None) -> bytes:
    """Empty for a file that cannot be read: it is like no other, and `check` says what is wrong with it."""
    content = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(most or 1 << 20):
                content.update(block)
                if most:
                    break
    except OSError:
        return b""
    return content.digest()
