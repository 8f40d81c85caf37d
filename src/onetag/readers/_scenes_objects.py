"""The single drawings of the `scenes` demo data: each is a list of filled polygons in a unit square, y down."""

from __future__ import annotations

import math
from collections.abc import Callable

from onetag.readers._scenes_pen import CIRCLE, DARK, Colour, Dice, Pen, Point, arc

_WOOD = 0.08


def _shade(colour: Colour, k: float) -> Colour:
    """The colour made darker (k < 1) or lighter (k > 1)."""
    return min(255, int(colour[0] * k)), min(255, int(colour[1] * k)), min(255, int(colour[2] * k))


def _spikes(n: int, outer: float, inner: float, turn: float = -0.25) -> list[Point]:
    """The corners of a star with n points."""
    radii = (outer, inner)
    angles = [2 * math.pi * (turn + i / (2 * n)) for i in range(2 * n)]
    return [(radii[i % 2] * math.cos(t), radii[i % 2] * math.sin(t)) for i, t in enumerate(angles)]


def _cloud(p: Pen, d: Dice) -> None:
    c = d.colour(0.6, 0.2, 0.08, 0.92)
    n = d.whole(3, 5)
    for i in range(n):
        x = -0.65 + 1.3 * i / (n - 1)
        r = d.real(0.28, 0.5) * (1.15 - 0.5 * abs(x))
        p.oval(_shade(c, d.real(0.94, 1.05)), x, d.real(-0.12, 0.05), r * 1.15, r)
    p.oval(c, 0.0, 0.16, 0.95, 0.26)


def _tree(p: Pen, d: Dice) -> None:
    trunk, leaf = d.colour(_WOOD, 0.1, 0.6, 0.5), d.colour(0.32, 0.25, 0.7, 0.6)
    w = d.real(0.08, 0.15)
    p.poly(trunk, (-w, 0.1), (w, 0.1), (1.5 * w, 1.0), (-1.5 * w, 1.0))
    if d.chance(0.5):
        for i in range(3):
            y, half = -1.0 + 0.42 * i, 0.4 + 0.15 * i
            p.poly(_shade(leaf, 0.9 + 0.08 * i), (0.0, y), (half, y + 0.7), (-half, y + 0.7))
    else:
        for x, y, r in ((-0.35, -0.15, 0.42), (0.36, -0.18, 0.4), (0.0, -0.5, 0.5), (0.02, -0.1, 0.36)):
            p.oval(_shade(leaf, d.real(0.88, 1.12)), x, y, r, r * d.real(0.85, 1.1))


def _house(p: Pen, d: Dice) -> None:
    wall, roof = d.colour(0.1, 0.5, 0.4, 0.85), d.colour(0.01, 0.35, 0.75, 0.65)
    glass, door = d.colour(0.55, 0.3, 0.4, 0.9), d.colour(_WOOD, 0.5, 0.7, 0.45)
    peak, eave = d.real(-1.0, -0.7), d.real(-0.2, 0.0)
    p.rect(_shade(wall, 0.7), 0.35, peak + 0.05, 0.55, eave)
    p.rect(wall, -0.75, eave, 0.75, 1.0)
    p.poly(roof, (-0.95, eave + 0.05), (d.real(-0.15, 0.15), peak), (0.95, eave + 0.05))
    x = d.real(-0.35, 0.1)
    p.rect(door, x, 0.4, x + 0.3, 1.0)
    for wx in (-0.62, 0.42):
        p.rect(glass, wx, 0.2, wx + 0.22, 0.5)


def _sun(p: Pen, d: Dice) -> None:
    c = d.colour(0.13, 0.12, 0.85, 0.97)
    p.poly(_shade(c, 0.9), *_spikes(d.whole(8, 13), 1.0, d.real(0.52, 0.66)))
    p.oval(c, 0.0, 0.0, 0.5, 0.5)


def _flower(p: Pen, d: Dice) -> None:
    stem, petal, core = d.colour(0.33, 0.1, 0.7, 0.55), d.colour(None, sat=0.75, value=0.9), d.colour(0.13, 0.3)
    p.line(stem, 0.1, (0.0, -0.3), (d.real(-0.1, 0.1), 0.3), (0.0, 1.0))
    p.poly(stem, (0.0, 0.75), (0.25, 0.35), (0.6, 0.3), (0.4, 0.6))
    n, r = d.whole(5, 8), d.real(0.22, 0.28)
    for i in range(n):
        t = 2 * math.pi * i / n
        p.oval(petal, 0.42 * math.cos(t), -0.45 + 0.42 * math.sin(t), r, r)
    p.oval(core, 0.0, -0.45, 0.24, 0.24)


def _bird(p: Pen, d: Dice) -> None:
    c = d.colour(None, sat=0.6, value=0.75)
    wing = _shade(c, 0.75)
    p.poly(wing, (-0.45, 0.0), (-1.0, -0.2), (-0.95, 0.15), (-0.4, 0.2))
    p.oval(c, -0.05, 0.1, 0.52, 0.28)
    p.oval(c, 0.5, -0.12, 0.24, 0.22)
    p.poly(d.colour(0.1, 0.1, 0.9, 0.9), (0.7, -0.2), (1.0, -0.06), (0.7, 0.0))
    lift = d.real(-1.0, -0.5)
    p.poly(wing, (-0.35, 0.1), (-0.55, lift), (-0.1, lift + 0.25), (0.25, 0.05))
    p.oval((20, 20, 20), 0.56, -0.16, 0.06, 0.06)


def _boat(p: Pen, d: Dice) -> None:
    hull, sail = d.colour(None, value=0.65), d.colour(0.1, 0.4, 0.2, 0.95)
    p.rect(DARK, -0.05, -0.95, 0.03, 0.45)
    p.poly(sail, (0.06, -0.9), (0.06, 0.3), (d.real(0.6, 0.85), 0.3))
    p.poly(_shade(sail, 0.88), (-0.08, -0.75), (-0.08, 0.3), (d.real(-0.75, -0.5), 0.3))
    p.poly(hull, (-1.0, 0.42), (1.0, 0.42), (0.65, 0.9), (-0.6, 0.9))
    p.rect(_shade(hull, 1.4), -0.93, 0.5, 0.93, 0.58)


def _car(p: Pen, d: Dice) -> None:
    c, glass = d.colour(None, value=0.85), d.colour(0.55, 0.1, 0.3, 0.9)
    top = d.real(-0.5, -0.35)
    p.poly(c, (-0.6, 0.0), (-0.35, top), (0.3, top), (0.6, 0.0))
    p.poly(glass, (-0.47, -0.02), (-0.29, top + 0.09), (-0.04, top + 0.09), (-0.04, -0.02))
    p.poly(glass, (0.04, -0.02), (0.04, top + 0.09), (0.25, top + 0.09), (0.46, -0.02))
    p.poly(c, (-1.0, 0.05), (-0.9, -0.02), (0.9, 0.0), (1.0, 0.1), (1.0, 0.4), (-1.0, 0.4))
    p.rect((240, 220, 120), 0.88, 0.1, 1.0, 0.2)
    for x in (-0.55, 0.55):
        p.oval((35, 35, 38), x, 0.4, 0.24, 0.24)
        p.oval((170, 170, 175), x, 0.4, 0.1, 0.1)


def _book(p: Pen, d: Dice) -> None:
    cover, page = d.colour(None, value=0.65), d.colour(0.12, 0.1, 0.12, 0.95)
    p.poly(cover, (-1.0, -0.5), (0.0, -0.38), (1.0, -0.5), (1.0, 0.65), (0.0, 0.78), (-1.0, 0.65))
    p.poly(page, (-0.9, -0.58), (0.0, -0.4), (0.0, 0.65), (-0.9, 0.5))
    p.poly(_shade(page, 0.9), (0.9, -0.58), (0.0, -0.4), (0.0, 0.65), (0.9, 0.5))
    for i in range(4):
        y = -0.32 + 0.2 * i
        p.line((120, 115, 110), 0.05, (-0.78, y - 0.06), (-0.14, y + 0.06))
        p.line((120, 115, 110), 0.05, (0.78, y - 0.06), (0.14, y + 0.06))


def _cup(p: Pen, d: Dice) -> None:
    c = d.colour(None, value=0.85)
    p.ring(_shade(c, 0.85), 0.6, 0.15, 0.38, 0.38, 0.13)
    p.poly(c, (-0.7, -0.4), (0.6, -0.4), (0.48, 0.85), (-0.58, 0.85))
    p.rect(_shade(c, d.pick((0.6, 1.5))), -0.63, 0.1, 0.53, 0.3)
    p.oval((90, 60, 45), -0.05, -0.4, 0.65, 0.15)
    if d.chance(0.6):
        for x in (-0.25, 0.15):
            p.line((225, 225, 225), 0.06, (x, -0.55), (x + 0.1, -0.7), (x, -0.85), (x + 0.1, -1.0))


def _fish(p: Pen, d: Dice) -> None:
    c = d.colour(None, sat=0.8, value=0.88)
    fin, high = _shade(c, 0.72), d.real(0.35, 0.52)
    p.poly(fin, (-0.5, 0.0), (-1.0, -0.42), (-0.88, 0.0), (-1.0, 0.42))
    p.poly(fin, (-0.2, -high + 0.1), (0.05, -high - 0.3), (0.35, -high + 0.1))
    p.oval(c, 0.15, 0.0, 0.75, high)
    p.line(fin, 0.08, (0.42, -0.26), (0.34, 0.0), (0.42, 0.26))
    p.oval((250, 250, 250), 0.62, -0.1, 0.11, 0.11)
    p.oval((15, 15, 15), 0.64, -0.1, 0.06, 0.06)


def _lamp(p: Pen, d: Dice) -> None:
    shade, foot = d.colour(0.13, 0.5, 0.6, 0.95), d.colour(_WOOD, 0.5, 0.4, 0.5)
    p.rect(foot, -0.07, -0.2, 0.07, 0.85)
    p.sector(foot, 0.0, 0.95, 0.45, 0.22, 0.5, 1.0)
    k = d.real(0.25, 0.42)
    p.poly(shade, (-k, -1.0), (k, -1.0), (0.75, -0.1), (-0.75, -0.1))
    p.poly(_shade(shade, 0.8), (-0.68, -0.22), (0.68, -0.22), (0.75, -0.1), (-0.75, -0.1))


def _moon(p: Pen, d: Dice) -> None:
    bend = d.real(0.15, 0.5)
    c = d.colour(0.14, 0.2, 0.25, 0.95)
    p.poly(c, *arc(0.3, 0.0, 0.9, 0.95, 0.25, 0.75), *arc(0.3, 0.0, bend, 0.95, 0.75, 0.25))


def _star(p: Pen, d: Dice) -> None:
    p.poly(d.colour(0.14, 0.4, 0.7, 0.95), *_spikes(5, 1.0, d.real(0.36, 0.48)))


def _umbrella(p: Pen, d: Dice) -> None:
    c = d.colour(None, value=0.85)
    p.line(DARK, 0.08, (0.0, -0.2), (0.0, 0.8), (0.1, 0.95), (0.25, 0.9), (0.28, 0.75))
    p.sector(c, 0.0, 0.0, 1.0, 0.9, 0.5, 1.0)
    p.sector(_shade(c, 0.72), 0.0, 0.0, 0.36, 0.9, 0.5, 1.0)
    p.line(DARK, 0.06, (0.0, -0.9), (0.0, -1.0))


def _clock(p: Pen, d: Dice) -> None:
    rim, face = d.colour(None, value=0.6), d.colour(0.12, 0.2, 0.1, 0.96)
    for s in (-1.0, 1.0):
        p.oval(_shade(rim, 0.8), 0.5 * s, -0.72, 0.26, 0.24)
        p.line(rim, 0.14, (0.4 * s, 0.6), (0.65 * s, 0.98))
    p.oval(rim, 0.0, 0.05, 0.85, 0.85)
    p.oval(face, 0.0, 0.05, 0.68, 0.68)
    for i in range(4):
        x, y = CIRCLE[5 * i]
        p.line(DARK, 0.08, (0.5 * x, 0.05 + 0.5 * y), (0.64 * x, 0.05 + 0.64 * y))
    for length, width in ((0.36, 0.1), (0.55, 0.07)):
        x, y = d.pick(CIRCLE)
        p.line(DARK, width, (0.0, 0.05), (length * x, 0.05 + length * y))


def _flag(p: Pen, d: Dice) -> None:
    bands = [d.colour(None, value=0.9) for _ in range(3)]
    wave = d.real(0.05, 0.16)
    for i, c in enumerate(bands):
        y = -0.9 + 0.3 * i
        upper = [(-0.6 + 0.38 * j, y + wave * math.sin(1.6 * j)) for j in range(5)]
        p.poly(c, *upper, *[(x, v + 0.31) for x, v in reversed(upper)])
    p.rect(d.colour(_WOOD, 0.3, 0.4, 0.5), -0.7, -1.0, -0.58, 1.0)


def _mushroom(p: Pen, d: Dice) -> None:
    cap, stalk = d.colour(0.0, 0.3, 0.8, 0.8), d.colour(0.1, 0.1, 0.15, 0.93)
    w = d.real(0.18, 0.3)
    p.poly(stalk, (-w, -0.05), (w, -0.05), (1.35 * w, 0.95), (-1.35 * w, 0.95))
    p.sector(cap, 0.0, 0.05, 0.95, d.real(0.8, 1.0), 0.5, 1.0)
    for x, y, r in ((-0.5, -0.22, 0.12), (0.05, -0.5, 0.15), (0.48, -0.2, 0.11), (-0.08, -0.14, 0.09)):
        p.oval((245, 240, 230), x, y, r, r)


def _kite(p: Pen, d: Dice) -> None:
    a, b = d.colour(None, value=0.9), d.colour(None, value=0.9)
    top, side, mid, low = (0.0, -1.0), 0.55, -0.45, (0.0, 0.4)
    p.line(DARK, 0.05, low, (0.12, 0.55), (-0.1, 0.7), (0.12, 0.85), (0.0, 1.0))
    p.poly(a, top, (side, mid), (0.0, mid))
    p.poly(b, top, (-side, mid), (0.0, mid))
    p.poly(b, low, (side, mid), (0.0, mid))
    p.poly(a, low, (-side, mid), (0.0, mid))
    for x, y in ((0.1, 0.58), (0.08, 0.84)):
        p.poly(a, (x - 0.15, y - 0.08), (x + 0.15, y + 0.08), (x + 0.15, y - 0.08), (x - 0.15, y + 0.08))


def _balloon(p: Pen, d: Dice) -> None:
    a, b = d.colour(None, value=0.9), d.colour(None, value=0.95)
    for s in (-1.0, 1.0):
        p.line(DARK, 0.04, (0.45 * s, 0.15), (0.16 * s, 0.72))
    p.poly(a, *arc(0.0, -0.3, 0.72, 0.7, 0.45, 1.05), (0.2, 0.5), (-0.2, 0.5))
    p.poly(b, *arc(0.0, -0.3, 0.42, 0.7, 0.45, 1.05), (0.12, 0.5), (-0.12, 0.5))
    p.poly(a, *arc(0.0, -0.3, 0.15, 0.7, 0.45, 1.05), (0.05, 0.5), (-0.05, 0.5))
    p.rect(d.colour(_WOOD, 0.1, 0.6, 0.55), -0.2, 0.7, 0.2, 1.0)


def _wheel(p: Pen, d: Dice) -> None:
    hub = d.colour(0.6, 0.5, 0.2, 0.6)
    n = d.whole(4, 7)
    for i in range(n):
        x, y = math.cos(math.pi * i / n), math.sin(math.pi * i / n)
        p.line(hub, 0.05, (-0.85 * x, -0.85 * y), (0.85 * x, 0.85 * y))
    p.ring(d.colour(None, sat=0.3, value=0.35), 0.0, 0.0, 1.0, 1.0, d.real(0.13, 0.22))
    p.oval(hub, 0.0, 0.0, 0.15, 0.15)


def _ladder(p: Pen, d: Dice) -> None:
    c = d.colour(_WOOD, 0.4, 0.6, 0.65)
    n, top = d.whole(4, 6), d.real(0.32, 0.46)
    for i in range(n):
        y = -0.8 + 1.6 * i / (n - 1)
        p.rect(_shade(c, 0.85), -0.42, y - 0.07, 0.42, y + 0.07)
    for s in (-1.0, 1.0):
        p.line(c, 0.16, (top * s, -1.1), (0.48 * s, 1.1))


def _cactus(p: Pen, d: Dice) -> None:
    c = d.colour(0.36, 0.15, 0.65, 0.55)
    for s, y, up in ((-1.0, d.real(0.0, 0.4), d.real(-0.5, -0.2)), (1.0, d.real(-0.1, 0.2), d.real(-0.7, -0.4))):
        p.line(c, 0.26, (0.1 * s, y), (0.65 * s, y))
        p.line(c, 0.26, (0.54 * s, y + 0.1), (0.54 * s, up))
        p.oval(c, 0.54 * s, up, 0.13, 0.14)
    p.rect(c, -0.22, -0.75, 0.22, 1.0)
    p.sector(c, 0.0, -0.74, 0.22, 0.25, 0.5, 1.0)
    for x in (-0.08, 0.08):
        p.line(_shade(c, 0.7), 0.04, (x, -0.7), (x, 0.9))


def _key(p: Pen, d: Dice) -> None:
    c = d.colour(0.12, 0.4, 0.6, 0.75)
    p.ring(c, -0.65, 0.0, 0.5, 0.46, 0.18)
    p.rect(c, -0.2, -0.1, 1.15, 0.1)
    for x in (0.55, 0.9):
        p.rect(c, x, 0.05, x + 0.19, d.real(0.32, 0.5))


def fragment(p: Pen, d: Dice) -> None:
    """A piece of clutter that belongs to no class."""
    c, form = d.colour(None, sat=0.5, value=0.7), d.whole(0, 4)
    if form == 0:
        p.poly(c, *[(d.real(-1, 1), d.real(-1, 1)) for _ in range(d.whole(3, 5))])
    elif form == 1:
        p.line(c, d.real(0.05, 0.2), *[(-1.0 + 0.5 * i, d.real(-0.6, 0.6)) for i in range(5)])
    elif form == 2:
        p.sector(c, 0.0, 0.0, 1.0, d.real(0.3, 1.0), d.unit(), d.real(1.1, 1.7))
    elif form == 3:
        for i in range(d.whole(2, 4)):
            p.rect(c, -1.0, -0.8 + 0.5 * i, d.real(-0.2, 1.0), -0.6 + 0.5 * i)
    else:
        p.poly(c, *arc(0.0, 0.0, 1.0, 1.0, 0.0, d.real(0.2, 0.6)), *arc(0.0, 0.0, 0.75, 0.75, 0.4, 0.0))


# Name -> drawing, the largest tilt in turns. The order is the class order.
OBJECTS: dict[str, tuple[Callable[[Pen, Dice], None], float]] = {
    "cloud": (_cloud, 0.02), "tree": (_tree, 0.04), "house": (_house, 0.03), "sun": (_sun, 0.5),
    "flower": (_flower, 0.08), "bird": (_bird, 0.07), "boat": (_boat, 0.05), "car": (_car, 0.05),
    "book": (_book, 0.1), "fish": (_fish, 0.1), "lamp": (_lamp, 0.04), "key": (_key, 0.5),
    "moon": (_moon, 0.12), "kite": (_kite, 0.15), "star": (_star, 0.5), "umbrella": (_umbrella, 0.1),
    "flag": (_flag, 0.04), "cup": (_cup, 0.04), "cactus": (_cactus, 0.03), "balloon": (_balloon, 0.04),
    "ladder": (_ladder, 0.08), "clock": (_clock, 0.05), "mushroom": (_mushroom, 0.06), "wheel": (_wheel, 0.5),
}  # fmt: skip
