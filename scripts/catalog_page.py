"""Write docs/catalog.md from the parts themselves; `--check` says whether it is in step."""

from __future__ import annotations

import sys
from pathlib import Path

from onetag import catalog
from onetag.recipe import load_method, methods

PAGE = Path(__file__).parent.parent / "docs" / "catalog.md"
DATA_SETS = {"voc2012": "VOC", "coco2014": "COCO", "nuswide": "NUS", "cub": "CUB"}


def page() -> str:
    """The whole page, made from sources without importing a component."""
    lines = ["# Catalog", "", "Made by `make docs` from the parts themselves; do not edit.", "", "## Methods", ""]
    lines += [
        "| name | what it does | " + " | ".join(DATA_SETS.values()) + " | from |",
        "|---|---|" + "---|" * (len(DATA_SETS) + 1),
    ]
    for name in methods():
        method = load_method(name)
        published = [
            f"{method.published[d][0]:.2f} ± {method.published[d][1]:.2f}" if d in method.published else "-"
            for d in DATA_SETS
        ]
        lines.append(f"| `{name}` | {method.summary} | " + " | ".join(published) + f" | {method.paper} |")
    lines += ["", "Numbers: published test mAP (ResNet-50, 448 px, end to end), as the seed paper prints them.", ""]
    for kind in catalog.KINDS:
        lines += [f"## {kind.capitalize()}", ""]
        for entry in catalog.entries(kind):
            takes = f"({entry.signature})" if kind in ("losses", "labelers") else ""
            lines += [f"### `{'`, `'.join(entry.names)}`", "", entry.summary, ""]
            if takes:
                lines += [f"`{entry.name}{takes}`", ""]
            if entry.documentation:
                lines += [entry.documentation, ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    made = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != made:
            sys.exit(f"{PAGE} is not in step with the parts: run `make docs`")
        return
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
