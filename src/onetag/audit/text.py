"""The report as plain text for a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onetag.audit.findings import Finding, Report, counted, line

_EXAMPLES = 5
_BLOCKS, _PLAIN_BLOCKS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
_WIDTH = 24
_ENDS = 8, 4  # how many of the most and the least frequent tags are named


def text(report: Report, encoding: str = "utf-8") -> str:
    """Everything but the sentence about how the data was read; a few examples of each finding."""
    blocks = _blocks(encoding)
    lines: list[str] = []
    for title, findings in (("errors", report.errors), ("warnings", report.warnings), ("also seen", report.unusual)):
        if findings:
            lines += [title, *(part for finding in findings for part in _finding(finding)), ""]
    if report.info:
        lines += [*_tags(report, blocks), "", *_facts(report)]
    return "\n".join([*lines, report.verdict()])


def visible(name: str) -> str:
    """Nothing in a file's name can steer a terminal."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {visible(finding.message)}"
    for item in finding.items[:_EXAMPLES]:
        yield f"    {visible(line(item))}"
    if len(finding.items) > _EXAMPLES:
        yield f"    and {len(finding.items) - _EXAMPLES:,} more (--json and --html list them all)"


def _tags(report: Report, blocks: str) -> Iterator[str]:
    tags: Mapping[str, int] = report.info["tags"]
    total = sum(tags.values())
    yield f"tags ({counted(total, 'positive')} of {counted(len(tags), 'class')}, {report.info['tags_per_picture']:.2f} per picture)"
    first, last = _ENDS
    names = list(tags)
    hidden = len(names) - first - last
    shown = names if hidden <= 1 else [*names[:first], *names[-last:]]
    wide = max((len(visible(name)) for name in shown), default=0)
    most = max(tags.values(), default=0) or 1
    for number, name in enumerate(shown):
        if hidden > 1 and number == first:
            yield f"  {'':<{wide}}  {_profile([tags[name] for name in names[first:-last]], blocks)} {hidden:,} others"
        size = round(_WIDTH * tags[name] / most)
        yield f"  {visible(name):<{wide}}  {blocks[-1] * max(size, bool(tags[name])):<{_WIDTH}} {tags[name]:,}"


def _profile(counts: Sequence[int], blocks: str) -> str:
    """The classes between, in the width of a bar: heights relative to the first of them."""
    columns = min(len(counts), _WIDTH)
    top = max(counts) or 1
    heights = [max(counts[len(counts) * c // columns : len(counts) * (c + 1) // columns]) / top for c in range(columns)]
    return "".join(blocks[round(height * (len(blocks) - 1))] for height in heights).ljust(_WIDTH)


def _facts(report: Report) -> Iterator[str]:
    info = report.info
    if len(info["sides"]) > 1:
        yield "sides: " + ", ".join(f"{name} {count:,}" for name, count in info["sides"].items())
    if info.get("sizes"):
        small, middle, large = (
            " x ".join(f"{n:,}" for n in info["sizes"][k]) for k in ("smallest", "median", "largest")
        )
        yield f"sizes: {middle} (median), from {small} to {large}" if small != large else f"sizes: all {middle}"
        for name in ("formats", "modes"):
            yield f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in info[name].items())
    for name in info.get("manifest", {}).get("said", ()):
        yield f"manifest: {name}"


def _blocks(encoding: str) -> str:
    try:
        _BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _PLAIN_BLOCKS
    return _BLOCKS
