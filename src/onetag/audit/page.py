"""The report as one HTML page: pictures inside it, no links to anywhere."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from onetag.audit.chart import bars
from onetag.audit.examine import Audit
from onetag.audit.findings import Finding, Item, Report, counted, line
from onetag.audit.style import STYLE
from onetag.audit.text import visible
from onetag.engine.pictures import PictureError, open_rgb

_EXAMPLES = 12  # with pictures; the list below has all
_LINES = 6  # without pictures, before one has to unfold the list
_THUMB = 160  # pixels


def write_page(path: Path, report: Report, audit: Audit | None, source: str) -> None:
    """`audit` is None where the data could not even be read."""
    thumbs = _Thumbs(audit)
    parts = [_head(report, source)]
    for kind, title, findings in (
        ("error", "Errors", report.errors), ("warning", "Warnings", report.warnings), ("info", "Also seen", report.unusual),
    ):  # fmt: skip
        if findings:
            parts.append(f"<h2>{title}</h2>{''.join(_finding(finding, kind, thumbs) for finding in findings)}")
    if report.info:
        parts += [_tags(report), _facts(report)]
    body = "\n".join(parts)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>onetag check</title>\n<style>{STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    aside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    aside.replace(path)


def _head(report: Report, source: str) -> str:
    errors, warnings = (sum(len(f.items) for f in found) for found in (report.errors, report.warnings))
    chips = [("error", counted(errors, "error"))] if errors else [("fine", "no errors")]
    chips += [("warning", counted(warnings, "warning"))] if warnings else []
    shown = "".join(f"<span class='chip {kind}'>{words}</span>" for kind, words in chips)
    notes = "".join(f"<li>{_safe(note)}</li>" for note in report.info.get("notes", ()))
    notes = f"<ul class=note>{notes}</ul>" if notes else ""
    return f"<h1>{_safe(source)}</h1><p class=chips>{shown}</p><p>{_safe(report.read_as)}</p>{notes}"


def _finding(finding: Finding, kind: str, thumbs: _Thumbs) -> str:
    cards = [
        f"<figure class=n{len(at)}>{''.join(thumbs.image(one) for one in at)}<figcaption>{_safe(line(item))}</figcaption></figure>"
        for item, at in zip(finding.items[:_EXAMPLES], finding.shown, strict=False)
    ]
    gallery = f"<div class=gallery>{''.join(cards)}</div>" if cards else ""
    rest = "" if len(cards) == len(finding.items) else _list(finding.items, 0 if cards else _LINES)
    return f"<section class={kind}><h3>{_safe(finding.message)}</h3>{gallery}{rest}</section>"


def _list(items: Sequence[Item], open_: int) -> str:
    """All items: the first ones open, all of them folded where there are more."""
    lines = [_safe(line(item)) for item in items]
    first = f"<pre>{chr(10).join(lines[:open_])}</pre>" if open_ else ""
    if len(lines) <= open_:
        return first
    return f"{first}<details><summary>all {len(lines):,} as a list</summary><pre>{chr(10).join(lines)}</pre></details>"


class _Thumbs:
    """Small pictures as data: URIs."""

    def __init__(self, audit: Audit | None) -> None:
        self._audit = audit

    def image(self, at: int) -> str:
        if self._audit is None or self._audit.looks is None:
            return ""
        samples = self._audit.samples
        content = "" if at in self._audit.looks.problems else _thumb(samples.files[at])
        alt = _safe(samples.name(at))
        if not content:
            return f'<span class=broken role=img aria-label="{alt}">no picture</span>'
        return f'<img alt="{alt}" loading=lazy src="data:image/jpeg;base64,{content}">'


@lru_cache(maxsize=1024)
def _thumb(path: str) -> str:
    try:
        picture = open_rgb(path, _THUMB)
    except PictureError:
        return ""
    picture.thumbnail((_THUMB, _THUMB))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=75)
    return base64.b64encode(content.getvalue()).decode()


def _tags(report: Report) -> str:
    tags, per = report.info["tags"], report.info["tags_per_picture"]
    spread = ", ".join(f"{number}: {count:,}" for number, count in report.info["pictures_by_number_of_tags"].items())
    every = "\n".join(f"{count:>9,}  {_safe(name)}" for name, count in tags.items())
    return (
        f"<h2>Tags</h2><p>{counted(sum(tags.values()), 'positive')} of {counted(len(tags), 'class')}, {per:.2f} per picture "
        f"(pictures by number of tags: {spread}).</p>{bars(tags)}<details><summary>as a list</summary><pre>{every}</pre></details>"
    )


def _facts(report: Report) -> str:
    info = report.info
    rows = [
        ("sides", ", ".join(f"{name} {count:,}" for name, count in info["sides"].items())),
        ("labels", info["labels"]),
    ]
    rows += [
        (name, ", ".join(f"{kind} {count:,}" for kind, count in info[name].items()))
        for name in ("formats", "modes")
        if info.get(name)
    ]
    rows += [(f"{name} picture", f"{size[0]:,} x {size[1]:,} pixels") for name, size in info.get("sizes", {}).items()]
    if "near_duplicates" in info:
        near = info["near_duplicates"]
        pairs = near["pairs"]
        said = f"{near['hash']}, at most {near['distance']} bits apart, correlation of the small pictures above {near['correlation']}"
        rows.append(
            (
                "look alike means",
                f"{said}; {pairs['on_one_side']:,} pairs on one side, {pairs['across_sides']:,} across sides",
            )
        )
    rows += [("manifest", sentence) for sentence in info.get("manifest", {}).get("said", ())]
    if info.get("not_pictures"):
        rows.append(("no pictures, by suffix", f"{len(info['not_pictures']):,} files"))
    table = "".join(f"<tr><th scope=row>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in rows)
    return f"<h2>Facts</h2><table>{table}</table>"


def _safe(text: str) -> str:
    return html.escape(visible(text))
