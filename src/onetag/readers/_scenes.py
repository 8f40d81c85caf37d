"""The built-in demo data `scenes`: drawn pictures whose complete truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from onetag.readers._scenes_objects import OBJECTS, fragment
from onetag.readers._scenes_pen import Colour, Dice, Pen

VERSION: int = 1
SIZE: int = 224
DEFAULT: float = 3.0
CLASSES: tuple[str, ...] = tuple(OBJECTS)

_VISIBLE = 0.25  # an object counts where at least this share of its pixels is seen
_MOST = 18  # tags in one picture
_TRIES = 8  # places tried for one object
_LEAK = 0.05  # weight of a class in a kind of scene it does not belong to
_RADIUS = (32.0, 58.0)  # half the extent of an object in pixels, before it shrinks for many tags
_FRAGMENT = (6.0, 26.0)
_HIGH = frozenset({"cloud", "sun", "moon", "star", "kite", "balloon", "bird"})

# How readily a class turns up, in class order. Fitted so that the classes' shares fall from about 60 % to about 1 %
# of the pictures at the default number of tags.
_WEIGHT = (
    1.62, 1.0, 0.739, 0.384, 0.632, 0.272, 1.07, 0.714, 0.711, 0.674, 0.229, 0.52,
    0.484, 0.546, 0.217, 0.136, 0.194, 0.271, 0.491, 0.246, 0.103, 0.0738, 0.092, 0.0314,
)  # fmt: skip


@dataclass(frozen=True)
class _Kind:
    share: float
    natives: frozenset[str]
    sky: tuple[float | None, float, float]  # hue, saturation, value
    ground: tuple[float | None, float, float]
    horizon: tuple[float, float]  # range, as a share of the height


def _kind(share: float, natives: str, sky: tuple[float | None, float, float],
          ground: tuple[float | None, float, float], horizon: tuple[float, float]) -> _Kind:  # fmt: skip
    return _Kind(share, frozenset(natives.split()), sky, ground, horizon)


_KINDS = (
    _kind(0.20, "cloud tree house sun bird car lamp flag umbrella clock wheel ladder",
          (0.58, 0.3, 0.9), (0.1, 0.12, 0.6), (0.5, 0.7)),
    _kind(0.18, "cloud sun bird boat fish star flag umbrella", (0.55, 0.4, 0.92), (0.57, 0.55, 0.65), (0.35, 0.6)),
    _kind(0.22, "cloud tree house sun flower bird mushroom wheel ladder umbrella",
          (0.56, 0.35, 0.92), (0.3, 0.5, 0.65), (0.4, 0.65)),
    _kind(0.10, "cloud sun bird kite balloon", (0.57, 0.45, 0.92), (0.55, 0.25, 0.9), (0.8, 1.0)),
    _kind(0.10, "moon star cloud tree house lamp", (0.66, 0.6, 0.32), (0.62, 0.45, 0.25), (0.55, 0.75)),
    _kind(0.14, "book cup lamp clock key flower", (None, 0.2, 0.85), (0.08, 0.45, 0.6), (0.3, 0.6)),
    _kind(0.06, "cactus sun cloud star car bird moon", (0.1, 0.35, 0.95), (0.11, 0.45, 0.85), (0.45, 0.65)),
)  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A picture with its complete truth."""

    image: Image.Image
    tags: tuple[int, ...]  # ascending class indices
    boxes: tuple[tuple[int, int, int, int, int], ...]  # class, x0, y0, x1, y1 of what is seen; x1, y1 exclusive


@dataclass
class _Item:
    """A drawing placed in the picture; clutter has the class -1."""

    label: int
    tile: Image.Image
    x: int
    y: int
    area: int  # pixels of the whole drawing, also of what the frame cuts off
    seen: int  # pixels still visible

    @property
    def shown(self) -> bool:
        """Whether enough is seen for it to be a tag."""
        return self.label >= 0 and self.seen >= _VISIBLE * self.area


@dataclass
class _Layout:
    """What lies where; `ids` holds 1 + the index of the topmost item of every pixel, 0 for the background."""

    kind: _Kind
    horizon: int
    items: list[_Item] = field(default_factory=list)
    ids: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((SIZE, SIZE), np.uint8))

    def tags(self) -> tuple[int, ...]:
        """The classes shown, ascending."""
        return tuple(sorted({item.label for item in self.items if item.shown}))

    def boxes(self) -> tuple[tuple[int, int, int, int, int], ...]:
        """The class and the frame of the visible part of every object shown."""
        found = []
        for i, item in enumerate(self.items):
            if item.shown:
                x, y = max(0, item.x), max(0, item.y)
                mine = self.ids[y : item.y + item.tile.height, x : item.x + item.tile.width] == i + 1
                xs, ys = np.flatnonzero(mine.any(axis=0)).tolist(), np.flatnonzero(mine.any(axis=1)).tolist()
                found.append((item.label, x + xs[0], y + ys[0], x + xs[-1] + 1, y + ys[-1] + 1))
        return tuple(found)

    def put(self, label: int, tile: Image.Image, x: int, y: int, bury: bool) -> bool:
        """Lay a tile on top unless too little of it is in the frame or, without `bury`, it would hide a tag."""
        mask = np.asarray(tile.getchannel("A")) > 127
        part = mask[max(0, -y) : SIZE - y, max(0, -x) : SIZE - x]
        under = self.ids[max(0, y) : y + tile.height, max(0, x) : x + tile.width]
        lost = np.bincount(under[part], minlength=len(self.items) + 1).tolist()
        area, seen = int(np.count_nonzero(mask)), sum(lost)
        if label >= 0 and seen < 2 * _VISIBLE * area:
            return False
        if not bury:
            pairs = list(zip(self.items, lost[1:], strict=True))
            after = {item.label for item, gone in pairs if item.seen - gone >= _VISIBLE * item.area}
            if any(item.shown and item.label not in after for item in self.items):
                return False
        for item, gone in zip(self.items, lost[1:], strict=True):
            item.seen -= gone
        self.items.append(_Item(label, tile, x, y, area, seen))
        under[part] = len(self.items)
        return True


def _wanted(dice: Dice, mean_tags: float) -> int:
    """How many tags a picture gets: one and a Poisson number of others."""
    u, k = dice.unit(), 0
    p = math.exp(1.0 - mean_tags)
    while u >= p and k < _MOST - 1:
        u -= p
        k += 1
        p *= (mean_tags - 1.0) / k
    return 1 + k


def _classes(dice: Dice, kind: _Kind) -> list[int]:
    """All classes in the order of a weighted draw without replacement."""
    keys = []
    for i, name in enumerate(CLASSES):
        weight = _WEIGHT[i] * (1.0 if name in kind.natives else _LEAK)
        keys.append((math.log(1.0 - dice.unit()) / weight, i))
    return [i for _, i in sorted(keys, reverse=True)]


def _add(scene: _Layout, dice: Dice, label: int, scale: float, outline: bool, bury: bool) -> None:
    """Draw one object, or clutter for the label -1, and lay it somewhere it may lie."""
    pen = Pen()
    drawing, tilt = OBJECTS[CLASSES[label]] if label >= 0 else (fragment, 0.5)
    drawing(pen, dice)
    tile = pen.render(dice, scale * dice.real(*(_RADIUS if label >= 0 else _FRAGMENT)), tilt, outline)
    high = label >= 0 and CLASSES[label] in _HIGH
    for attempt in range(_TRIES):
        inside = attempt == _TRIES - 1  # the last place tried lies wholly in the frame
        slack_x, slack_y = (0.0, 0.0) if inside else (0.25 * tile.width, 0.25 * tile.height)
        x = dice.real(-slack_x, SIZE - tile.width + slack_x)
        low_y, high_y = -slack_y, SIZE - tile.height + slack_y
        if high:
            high_y = max(low_y + 20.0, min(high_y, scene.horizon - 0.6 * tile.height))
        elif label >= 0:
            low_y = min(high_y - 20.0, max(low_y, scene.horizon - 0.8 * tile.height))
        if scene.put(label, tile, int(x), int(dice.real(low_y, high_y)), bury and not inside):
            return


def _layout(seed: int, split: str, index: int, mean_tags: float) -> _Layout:
    """Everything that decides the truth: the objects, their places and what hides what."""
    if not 1.0 <= mean_tags <= 10.0:
        raise ValueError(f"mean_tags must lie between 1 and 10, got {mean_tags}")
    dice = Dice(VERSION, seed, split, index, float(mean_tags), "layout")
    u, kind = dice.unit(), _KINDS[-1]
    for candidate in _KINDS:
        u -= candidate.share
        if u < 0:
            kind = candidate
            break
    scene = _Layout(kind, int(SIZE * dice.real(*kind.horizon)))
    want = _wanted(dice, mean_tags)
    order = _classes(dice, kind)
    scale = min(1.1, (4.0 / (want + 1.0)) ** 0.3)
    outline = dice.chance(0.35)
    # What belongs in the sky mostly lies behind the rest.
    first = sorted(order[:want], key=lambda c: (0.0 if CLASSES[c] in _HIGH else 0.6) + dice.unit())
    for label in first:
        for copy in range(dice.pick((1, 1, 1, 2, 3)) if want < 6 else 1):
            _add(scene, dice, label, scale * (0.8 if copy else 1.0), outline, dice.chance(0.15))
        if dice.chance(0.6):
            _add(scene, dice, -1, 1.0, outline, False)
    for label in order:
        tags = scene.tags()
        if len(tags) >= want:
            break
        if label not in tags:
            _add(scene, dice, label, 0.8 * scale, outline, False)
    return scene


@lru_cache(maxsize=1)
def _fields() -> tuple[NDArray[np.int16], ...]:
    """Fixed fields of noise, -128..127, twice the picture's size, from fine grain to broad blotches."""
    bits = np.random.Philox(key=VERSION)
    fields = []
    for cells in (2 * SIZE, 150, 50, 16, 6):
        raw = np.asarray(bits.random_raw((cells * cells * 3 + 7) // 8), dtype=np.uint64).astype("<u8").view(np.uint8)
        small = Image.fromarray(raw[: cells * cells * 3].reshape(cells, cells, 3))
        big = small.resize((2 * SIZE, 2 * SIZE), Image.Resampling.BICUBIC)
        fields.append(np.asarray(big).astype(np.int16) - 128)
    return tuple(fields)


def _noise(dice: Dice, grain: int, strength: float) -> NDArray[np.int16]:
    """A random cut of a noise field, at most `strength` strong."""
    x, y = dice.whole(0, SIZE - 1), dice.whole(0, SIZE - 1)
    cut = _fields()[grain][y : y + SIZE, x : x + SIZE]
    if dice.chance(0.5):
        cut = cut[:, :, dice.whole(0, 2)][:, :, None]
    return (cut * np.int16(strength)) >> 7


def _background(dice: Dice, scene: _Layout) -> Image.Image:
    """Sky and ground with gradients, blotches, and strokes and shapes that belong to no class."""
    kind, horizon = scene.kind, scene.horizon
    rows = np.empty((SIZE, 1, 3), np.float64)
    tones: list[Colour] = []
    for (hue, sat, value), part in ((kind.sky, slice(0, horizon)), (kind.ground, slice(horizon, SIZE))):
        a, b = (dice.colour(hue, 0.2, sat, value) for _ in range(2))
        tones.append(b)
        ramp = np.linspace(0.0, 1.0, rows[part].shape[0])[:, None, None]
        rows[part] = np.array(a) * (1.0 - ramp) + np.array(b) * ramp
    base = rows.astype(np.int16) + _noise(dice, dice.whole(3, 4), dice.real(4.0, 32.0))
    base += _noise(dice, dice.whole(1, 2), dice.real(2.0, 18.0))
    image = Image.fromarray(base.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    step, rise = dice.whole(8, 40), dice.real(0.0, 40.0)
    if dice.chance(0.6):  # a skyline: hills, roofs or waves in a tone of the ground
        tops: list[tuple[float, float]] = []
        square = dice.chance(0.4)
        for left in range(0, SIZE + step, step):
            top = horizon - rise * dice.unit()
            tops += [(left, top), (left + step, top)] if square else [(left, top)]
        pen.polygon([(0, horizon + 4), *tops, (SIZE, horizon + 4)], fill=tones[dice.whole(0, 1)])
    for _ in range(dice.whole(0, 14)):
        x, y, dx, dy = dice.real(0, SIZE), dice.real(0, SIZE), dice.real(-30, 30), dice.real(-12, 12)
        tone = dice.pick(tones)
        colour = (tone[0] + dice.whole(-50, 50), tone[1] + dice.whole(-50, 50), tone[2] + dice.whole(-50, 50))
        pen.line((x, y, x + dx, y + dy), tuple(min(255, max(0, c)) for c in colour), dice.whole(1, 4))
    return image


def _finish(dice: Dice, image: Image.Image) -> Image.Image:
    """Light, tone, blur, coarse colour and grain over the whole picture."""
    gain, power = dice.real(0.75, 1.15), dice.real(0.8, 1.3)
    table: list[int] = []
    for _ in range(3):
        cast = gain * dice.real(0.9, 1.08)
        table += [min(255, int(255.0 * cast * (i / 255.0) ** power)) for i in range(256)]
    image = image.point(table)
    if dice.chance(0.3):
        image = image.filter(ImageFilter.BoxBlur(dice.real(0.4, 1.0)))
    if dice.chance(0.3):  # colour kept at a quarter of the resolution, as strong JPEG does
        light, *colour = image.convert("YCbCr").split()
        coarse = [c.reduce(4).resize((SIZE, SIZE), Image.Resampling.NEAREST) for c in colour]
        image = Image.merge("YCbCr", (light, *coarse)).convert("RGB")
    pixels = np.asarray(image).astype(np.int16)
    pixels += _noise(dice, 4, dice.real(0.0, 30.0))
    pixels += _noise(dice, dice.whole(0, 1), dice.real(2.0, 20.0))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def _paint(seed: int, split: str, index: int, mean_tags: float, scene: _Layout) -> Image.Image:
    """The picture of a layout. Its looks have their own random numbers and cannot change the truth."""
    dice = Dice(VERSION, seed, split, index, float(mean_tags), "look")
    image = _background(dice, scene)
    for item in scene.items:
        image.paste(item.tile, (item.x, item.y), item.tile)
    return _finish(dice, image)


def draw(seed: int, split: str, index: int, mean_tags: float = DEFAULT) -> Scene:
    """Draw one picture; the same arguments always give the same pixels and the same truth."""
    scene = _layout(seed, split, index, mean_tags)
    return Scene(_paint(seed, split, index, mean_tags, scene), scene.tags(), scene.boxes())
