"""How often each tag is given, as an SVG that takes the page's colours and fits any width."""

from __future__ import annotations

import html
from collections.abc import Mapping

from onetag.audit.text import visible

_ALL = 60  # up to so many classes each gets a bar
_ENDS = 20  # else so many of the most and of the least frequent ones
_ROW = 20  # pixels
_NAMES, _BARS = 32, 54  # per cent of the width


def bars(tags: Mapping[str, int]) -> str:
    """A bar per class; of very many classes the first and the last, and between them the fall of all."""
    names = list(tags)
    if len(names) <= _ALL:
        return _rows(tags, names)
    middle = f"<p class=note>All {len(names):,} classes, from the most to the least frequent:</p>{_fall(list(tags.values()))}"
    rest = f"<p class=note>The {_ENDS} least frequent:</p>{_rows(tags, names[-_ENDS:])}"
    return f"{_rows(tags, names[:_ENDS])}{middle}{rest}"


def _rows(tags: Mapping[str, int], names: list[str]) -> str:
    most = max((tags[name] for name in names), default=0) or 1
    rows = []
    for row, name in enumerate(names):
        top, size = row * _ROW, _BARS * tags[name] / most
        shown = html.escape(visible(name))
        # Names that are too long end at the edge of their own picture; the title says them in full.
        rows.append(
            f'<svg width="{_NAMES - 2}%" height="{_ROW}" y="{top}"><text x="0" y="14">{shown}<title>{shown}</title></text></svg>'
            f'<rect x="{_NAMES}%" y="{top + 3}" width="{size:.2f}%" height="{_ROW - 6}" rx="2"/>'
            f'<text x="{_NAMES + size + 1:.2f}%" y="{top + 14}" class="number">{tags[name]:,}</text>'
        )
    label = "How many pictures show each tag"
    return f'<svg class="chart" role="img" aria-label="{label}" width="100%" height="{len(names) * _ROW}">{"".join(rows)}</svg>'


def _fall(counts: list[int]) -> str:
    """One step per class, highest first."""
    most = max(counts) or 1
    points = [
        f"{x},{100 - 100 * count / most:.2f} {x + 1},{100 - 100 * count / most:.2f}" for x, count in enumerate(counts)
    ]
    return (
        f'<svg class="chart" role="img" aria-label="Counts of all classes" width="100%" height="120" preserveAspectRatio="none" '
        f'viewBox="0 0 {len(counts)} 100"><polygon points="0,100 {" ".join(points)} {len(counts)},100"/></svg>'
    )
