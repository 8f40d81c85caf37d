"""Every picture is opened once, as training would: can it be used, what kind is it, which bytes has it, what does it look like?"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile

from onetag.audit import likeness
from onetag.core.progress import Listener
from onetag.engine.pictures import PictureError, open_rgb

_TASK = 64  # pictures per task of a thread
_ORIENTATION = 274
TASK = "looking at pictures"


@dataclass(frozen=True)
class Look:
    """One file. `problem`: why it cannot be used ("" where it can)."""

    problem: str = ""
    is_missing: bool = False
    digest: bytes = b""
    kind: str = ""
    mode: str = ""
    size: tuple[int, int] = (0, 0)
    traits: tuple[str, ...] = ()
    grey: bytes = b""


@dataclass
class Looks:
    """All files, in arrays. `digests` are empty where nothing could be read; `hashes` and `small` are what likeness is judged by."""

    digests: NDArray[np.bytes_]
    sizes: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    small: NDArray[np.uint8]
    is_plain: NDArray[np.bool_]
    problems: dict[int, str] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    traits: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def is_usable(self) -> NDArray[np.bool_]:
        usable = np.ones(len(self.sizes), bool)
        usable[list(self.problems)] = False
        return usable


def look_at_all(paths: Sequence[str], listener: Listener) -> Looks:
    """In parallel: Pillow decodes without holding Python's lock. Large JPEGs are decoded at a fraction of their size, but to their end."""
    size = len(paths)
    side = likeness.SMALL
    looks = Looks(
        np.zeros(size, "S16"), np.zeros((size, 2), np.int64), np.zeros(size, np.uint64),
        np.zeros((size, side, side), np.uint8), np.zeros(size, bool),
    )  # fmt: skip
    # Filters of warnings belong to the whole process and threads change them in turn: whatever the order, this is what they find.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for start, part in _in_order(paths):
            _enter(looks, start, part)
            listener.advance(TASK, start + len(part), size)
    return looks


def _in_order(paths: Sequence[str]) -> Iterator[tuple[int, list[Look]]]:
    parts = [paths[start : start + _TASK] for start in range(0, len(paths), _TASK)]
    pool = ThreadPoolExecutor(2 * (os.cpu_count() or 1))  # twice: some wait for the disk
    try:
        for number, part in enumerate(pool.map(lambda part: [look(path) for path in part], parts)):
            yield number * _TASK, part
    finally:
        pool.shutdown(cancel_futures=True)


def _enter(looks: Looks, start: int, part: list[Look]) -> None:
    usable = []
    for at, one in enumerate(part, start):
        if one.digest:
            looks.digests[at] = one.digest
        if one.problem:
            looks.problems[at] = one.problem
            looks.missing |= {at} if one.is_missing else set()
            continue
        usable.append(at)
        looks.sizes[at] = one.size
        looks.kinds[one.kind] += 1
        looks.modes[one.mode] += 1
        for trait in one.traits:
            looks.traits[trait].append(at)
    if usable:
        grey = np.frombuffer(b"".join(one.grey for one in part if not one.problem), np.uint8)
        of = likeness.describe(grey.reshape(len(usable), likeness.SIDE, likeness.SIDE))
        looks.hashes[usable], looks.small[usable], looks.is_plain[usable] = of


def look(path: str) -> Look:
    """One file; nothing that can be wrong with it raises."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return Look("not a file")
        if not status.st_size:
            return Look("the file is empty")
        with open(path, "rb") as stream:
            content = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return Look("the file does not exist", is_missing=True)
    except (OSError, ValueError) as error:
        return Look(f"cannot be read ({getattr(error, 'strerror', None) or error})")
    digest = hashlib.blake2b(content, digest_size=16).digest()
    try:
        kind, mode, size, traits = _header(content)
        picture = open_rgb(path, likeness.SIDE)
    except PictureError as error:
        return Look(str(error), digest=digest)
    grey = picture.convert("L").resize((likeness.SIDE, likeness.SIDE), Image.Resampling.BOX, reducing_gap=2.0)
    return Look("", False, digest, kind, mode, size, traits, grey.tobytes())


def _header(content: bytes) -> tuple[str, str, tuple[int, int], tuple[str, ...]]:
    """Format, mode, size and what is unusual. Where even this fails, `open_rgb` says why."""
    try:
        with Image.open(io.BytesIO(content)) as picture:
            return picture.format or "", picture.mode, picture.size, tuple(_traits(picture))
    except Exception:
        return "", "", (0, 0), ()


def _traits(picture: ImageFile.ImageFile) -> Iterator[str]:
    if picture.mode == "CMYK":
        yield "cmyk"
    # Pillow narrows some of these to 8 bits itself; what stands in the file is seen in how it is decoded.
    if picture.mode.startswith(("I", "F")) or any(";16" in str(tile[3]) for tile in picture.tile):
        yield "sixteen_bit"
    if picture.mode in ("P", "PA"):
        yield "palette"
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        yield "transparent"
    # Cameras put a preview beside the picture (MPO); that moves nothing.
    if picture.format != "MPO" and getattr(picture, "is_animated", False):
        yield "animated"
    if picture.getexif().get(_ORIENTATION, 1) not in (1, None):
        yield "exif_rotated"
