"""What an audit says: findings of one kind each, with every place they were met, and the report that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]
"""One place: path, row (only where the source has rows), side, and what this kind of finding says about it."""


@dataclass(frozen=True)
class Finding:
    """All that is wrong in one way. `shown` are, item by item, the samples whose pictures explain it."""

    kind: str
    message: str
    items: Sequence[Item]
    shown: Sequence[tuple[int, ...]] = ()

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message, "count": len(self.items), "items": list(self.items)}


@dataclass
class Report:
    """Errors make the data unfit, warnings are for a person to judge, info is neither."""

    read_as: str = ""
    pictures: int = 0
    classes: int = 0
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    unusual: list[Finding] = field(default_factory=list)

    def content(self) -> dict[str, Any]:
        info = {**self.info, "unusual": [finding.content() for finding in self.unusual]} if self.info else {}
        return {
            "read_as": self.read_as, "pictures": self.pictures, "classes": self.classes,
            "errors": [finding.content() for finding in self.errors],
            "warnings": [finding.content() for finding in self.warnings], "info": info,
        }  # fmt: skip

    def verdict(self) -> str:
        """The sentence at the end."""
        errors, warnings = (sum(len(f.items) for f in found) for found in (self.errors, self.warnings))
        if not errors and not warnings:
            return "nothing is wrong"
        return f"{counted(errors, 'error') if errors else 'no errors'}, {counted(warnings, 'warning') if warnings else 'no warnings'}"


def counted(number: int, word: str, plural: str = "") -> str:
    """`1 picture`, `12,345 pictures`, `2 classes`."""
    return f"{number:,} {word if number == 1 else plural or word + ('es' if word.endswith('s') else 's')}"


def place(item: Item) -> str:
    """`images/a.jpg (row 17, test)`."""
    row = f"{item['table']} row {item['row']:,}" if "table" in item else f"row {item['row']:,}" if "row" in item else ""
    inside = ", ".join(part for part in (row, item.get("side", "")) if part)
    return f"{item['path']} ({inside})" if inside else str(item["path"])


def line(item: Item) -> str:
    """An item as a person reads it."""
    if "names" in item:
        return ", ".join(_told_apart(item["names"]))
    said = place(item) if "path" in item else str(item.get("group", item.get("tag", "")))
    if "why" in item:
        said += f": {item['why']}"
    if "against" in item:
        said += f": {item['tag']} is positive here, negative in {place(item['against'])}"
    if "same_as" in item:
        apart = f" ({counted(item['distance'], 'bit')} apart)" if "distance" in item else ""
        said += f" {'is like' if 'distance' in item else 'is the same as'} {place(item['same_as'])}{apart}"
    if "pictures" in item:
        sides = ", ".join(f"{number:,} {side}" for side, number in item["pictures"].items())
        said = f"{item['group']}: {sides}, such as {place(item)} and {place(item['beside'])}"
    if "also" in item:
        said += f" again in row{'s' * (len(item['also']) > 1)} {', '.join(f'{row:,}' for row in item['also'])}"
    if "width" in item:
        said += f": {item['width']:,} x {item['height']:,} pixels"
    if "positives" in item:
        said += f": {counted(item['positives'], 'positive')}"
    return said


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names that look the same on a screen are written with their code points."""
    import unicodedata

    looks = [unicodedata.normalize("NFC", name) for name in names]
    return [ascii(name) if looks.count(look) > 1 else repr(name) for name, look in zip(names, looks, strict=True)]
