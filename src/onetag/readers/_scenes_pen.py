"""What the scenes are drawn with: counter-based dice, and a pen that collects filled polygons in a unit square, y down."""

from __future__ import annotations

import colorsys
import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from PIL import Image, ImageDraw

T = TypeVar("T")
Colour = tuple[int, int, int]
Point = tuple[float, float]

_OVER = 2  # drawn at twice the size and reduced: smooth edges at little cost
STEPS = 20
CIRCLE = [(math.cos(2 * math.pi * i / STEPS), math.sin(2 * math.pi * i / STEPS)) for i in range(STEPS)]
DARK: Colour = (58, 46, 44)


def arc(x: float, y: float, rx: float, ry: float, a0: float, a1: float) -> list[Point]:
    """Points along an ellipse from one angle to another, in turns."""
    n = max(3, int(STEPS * abs(a1 - a0)) + 1)
    angles = [2 * math.pi * (a0 + (a1 - a0) * i / (n - 1)) for i in range(n)]
    return [(x + rx * math.cos(t), y + ry * math.sin(t)) for t in angles]


class Dice:
    """Uniform numbers from a counter-based generator keyed by the given words."""

    def __init__(self, *words: object) -> None:
        # The raw stream of Philox is fixed for good; the distributions numpy builds on it are not.
        key = hashlib.blake2b("\x1f".join(map(str, words)).encode(), digest_size=16).digest()
        self._bits = np.random.Philox(key=int.from_bytes(key, "little"))
        self._left: list[float] = []

    def unit(self) -> float:
        """Uniform in [0, 1)."""
        if not self._left:
            raw = np.asarray(self._bits.random_raw(256), dtype=np.uint64)
            self._left = ((raw >> np.uint64(11)) * 2.0**-53).tolist()
        return self._left.pop()

    def real(self, low: float, high: float) -> float:
        """Uniform in [low, high)."""
        return low + (high - low) * self.unit()

    def whole(self, low: int, high: int) -> int:
        """Uniform integer from low to high, both included."""
        return low + int((high - low + 1) * self.unit())

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.unit() < p

    def pick(self, items: Sequence[T]) -> T:
        """One item, all equally likely."""
        return items[int(len(items) * self.unit())]

    def colour(self, hue: float | None = None, free: float = 0.3, sat: float = 0.7, value: float = 0.8) -> Colour:
        """A colour near the hue, or of any hue with probability `free` or where no hue is given."""
        any_hue = hue is None or self.chance(free)
        h = self.unit() if hue is None or any_hue else hue + self.real(-0.05, 0.05)
        s = min(1.0, max(0.0, sat * self.real(0.7, 1.25)))
        v = min(1.0, value * self.real(0.72, 1.2))
        r, g, b = colorsys.hsv_to_rgb(h % 1.0, s, v)
        return int(255 * r), int(255 * g), int(255 * b)


class Pen:
    """Collects the polygons of one drawing."""

    def __init__(self) -> None:
        self.shapes: list[tuple[Colour, list[Point]]] = []

    def poly(self, colour: Colour, *points: Point) -> None:
        """A filled polygon."""
        self.shapes.append((colour, list(points)))

    def rect(self, colour: Colour, x0: float, y0: float, x1: float, y1: float) -> None:
        """A filled rectangle."""
        self.shapes.append((colour, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]))

    def oval(self, colour: Colour, x: float, y: float, rx: float, ry: float) -> None:
        """A filled ellipse."""
        self.shapes.append((colour, [(x + rx * c, y + ry * s) for c, s in CIRCLE]))

    def sector(self, colour: Colour, x: float, y: float, rx: float, ry: float, a0: float, a1: float) -> None:
        """The part of an ellipse between two angles (turns, clockwise from the right), closed by its chord."""
        self.shapes.append((colour, arc(x, y, rx, ry, a0, a1)))

    def ring(self, colour: Colour, x: float, y: float, rx: float, ry: float, width: float) -> None:
        """A ring with an open middle."""
        inner = arc(x, y, rx - width, ry - width, 1.0, 0.0)
        self.shapes.append((colour, arc(x, y, rx, ry, 0.0, 1.0) + inner))

    def line(self, colour: Colour, width: float, *points: Point) -> None:
        """A stroke through the points."""
        for (x, y), (u, v) in pairwise(points):
            k = 0.5 * width / max(1e-6, math.hypot(u - x, v - y))
            dx, dy = (y - v) * k, (u - x) * k
            self.poly(colour, (x + dx, y + dy), (u + dx, v + dy), (u - dx, v - dy), (x - dx, y - dy))

    def render(self, dice: Dice, radius: float, tilt: float, outline: bool) -> Image.Image:
        """Draw the polygons, tilted by up to `tilt` turns, on a transparent tile cut to fit."""
        turn = 2 * math.pi * dice.real(-tilt, tilt)
        wide = math.exp(dice.real(-0.25, 0.25))
        kx = radius * _OVER * wide * dice.pick((-1.0, 1.0))
        ky = radius * _OVER / wide
        lean = dice.real(-0.12, 0.12)
        cos, sin = math.cos(turn), math.sin(turn)
        a, b, c, d = kx * cos, ky * (lean * cos - sin), kx * sin, ky * (lean * sin + cos)
        moved = [(colour, [(a * x + b * y, c * x + d * y) for x, y in pts]) for colour, pts in self.shapes]
        xs = [x for _, pts in moved for x, _ in pts]
        ys = [y for _, pts in moved for _, y in pts]
        left, top = min(xs) - 2 * _OVER, min(ys) - 2 * _OVER
        size = [_OVER * (int((high - low) / _OVER) + 3) for low, high in ((left, max(xs)), (top, max(ys)))]
        tile = Image.new("RGBA", (size[0], size[1]))
        draw = ImageDraw.Draw(tile)
        for colour, pts in moved:
            corners = [(x - left, y - top) for x, y in pts]
            draw.polygon(corners, fill=(*colour, 255))
            if outline:
                draw.line([*corners, corners[0]], fill=(*DARK, 255), width=2)
        return tile.reduce(_OVER)
