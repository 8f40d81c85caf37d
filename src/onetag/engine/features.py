"""Frozen features: a trunk's output over pictures, computed once, kept as float16 memory maps keyed by content."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from onetag.core.cache import cache_folder
from onetag.core.progress import Listener
from onetag.engine.pictures import PictureError, square
from onetag.learn.backbone import Backbone

_BATCH = 32
_NAME = "features.npy"


@dataclass(frozen=True)
class Features:
    """Rows of a feature matrix; `unreadable` maps row numbers to reasons (their features are zeros, never to be used)."""

    values: NDArray[np.float16]
    unreadable: dict[int, str]

    def readable(self) -> NDArray[np.int64]:
        return np.array([row for row in range(len(self.values)) if row not in self.unreadable], dtype=np.int64)


def cached(backbone: Backbone, paths: Sequence[str], digests: NDArray[np.str_], listener: Listener) -> Features:
    """Features of these pictures from the cache, computed first where they are not there yet (a broken-off computation goes on)."""
    folder = cache_folder() / "features" / _key(backbone, digests)
    if not (folder / _NAME).exists():
        _fill(folder, backbone, paths, listener)
    else:
        size = (folder / _NAME).stat().st_size
        listener.say(
            f"features of {len(paths):,} pictures by {backbone.name}: reused from the cache ({size / 1e6:,.0f} MB, {folder})"
        )
    return load(folder)


def compute(backbone: Backbone, paths: Sequence[str], folder: Path, listener: Listener) -> Features:
    """Features of these pictures into a folder of one's own."""
    _fill(folder, backbone, paths, listener)
    return load(folder)


def load(folder: Path) -> Features:
    about = json.loads((folder / "features.json").read_text(encoding="utf-8"))
    values = np.load(folder / _NAME, mmap_mode="c", allow_pickle=False)
    return Features(values, {int(row): why for row, why in about["unreadable"].items()})


def _key(backbone: Backbone, digests: NDArray[np.str_]) -> str:
    """Weights, preprocessing, view and precision, and the pictures' content in their order."""
    content = hashlib.blake2b(digest_size=16)
    content.update(backbone.fingerprint().encode() + b"plain,float32,float16")
    content.update("\n".join(digests.tolist()).encode())
    return content.hexdigest()


@contextmanager
def _locked(folder: Path, listener: Listener) -> Iterator[None]:
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.with_name(folder.name + ".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        listener.say("another process computes these features; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fill(folder: Path, backbone: Backbone, paths: Sequence[str], listener: Listener) -> None:
    with _locked(folder, listener):
        if (folder / _NAME).exists():  # by the process waited for
            return
        folder.mkdir(parents=True, exist_ok=True)
        part, state = folder / "part.npy", folder / "part.json"
        shape = (len(paths), backbone.dim)
        done, unreadable = _restore(part, state, shape)
        values = np.lib.format.open_memmap(part, mode="r+" if done else "w+", dtype=np.float16, shape=shape)
        for rows, block, why in _forward(backbone, paths, done):
            values[rows] = block
            unreadable |= why
            done = rows.stop
            if done % (32 * _BATCH) == 0:
                values.flush()
                _write(state, {"done": done, "unreadable": unreadable})
            listener.advance(f"features by {backbone.name}", done, len(paths))
        values.flush()
        del values
        _write(folder / "features.json", {"backbone": backbone.name, "dim": backbone.dim, "unreadable": unreadable})
        state.unlink(missing_ok=True)
        part.replace(folder / _NAME)


def _restore(part: Path, state: Path, shape: tuple[int, int]) -> tuple[int, dict[int, str]]:
    try:
        about = json.loads(state.read_text(encoding="utf-8"))
        if np.load(part, mmap_mode="r", allow_pickle=False).shape == shape:
            return int(about["done"]), {int(row): why for row, why in about["unreadable"].items()}
    except (OSError, ValueError, KeyError):
        pass
    return 0, {}


def _write(path: Path, content: object) -> None:
    aside = path.with_name(path.name + ".tmp")
    aside.write_text(json.dumps(content), encoding="utf-8")
    aside.replace(path)


def _forward(
    backbone: Backbone, paths: Sequence[str], start: int
) -> Iterator[tuple[slice, NDArray[np.float32], dict[int, str]]]:
    """Batches through the trunk, decoding ahead in threads."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        ahead: deque[tuple[slice, list[Future[NDArray[np.uint8] | str]]]] = deque()
        starts = iter(range(start, len(paths), _BATCH))

        def submit() -> None:
            begin = next(starts, None)
            if begin is not None:
                rows = slice(begin, min(begin + _BATCH, len(paths)))
                ahead.append(
                    (rows, [pool.submit(_decode, str(paths[row]), backbone) for row in range(rows.start, rows.stop)])
                )

        for _ in range(3):
            submit()
        while ahead:
            rows, futures = ahead.popleft()
            pictures = [future.result() for future in futures]
            submit()
            why = {rows.start + at: picture for at, picture in enumerate(pictures) if isinstance(picture, str)}
            is_there = [not isinstance(picture, str) for picture in pictures]
            yield (
                rows,
                embed(backbone, [picture for picture in pictures if not isinstance(picture, str)], is_there),
                why,
            )


def _decode(path: str, backbone: Backbone) -> NDArray[np.uint8] | str:
    try:
        return square(path, backbone.preprocessing.size, backbone.preprocessing.interpolation)
    except PictureError as error:
        return str(error)


def embed(
    backbone: Backbone, pictures: Sequence[NDArray[np.uint8]], is_there: Sequence[bool] | None = None
) -> NDArray[np.float32]:
    """Features of decoded pictures; rows of zeros where `is_there` says no picture is."""
    present = np.ones(len(pictures), bool) if is_there is None else np.asarray(is_there, bool)
    values = np.zeros((len(present), backbone.dim), np.float32)
    if pictures:
        with torch.inference_mode():
            # [B, H, W, 3] seen as [B, 3, H, W] is channels_last already
            batch = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
            values[present] = backbone(batch).float().numpy()
    return values
