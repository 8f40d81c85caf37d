"""`onetag list`: what there is."""

from __future__ import annotations

from typing import Any

import click

from onetag.cli._options import output_options, show_json, show_table

KINDS = ("methods", "losses", "labelers", "backbones", "readers", "datasets")


@click.command(name="list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@output_options
def command(kind: str | None, as_json: bool, quiet: bool) -> None:
    """List METHODS, LOSSES, LABELERS, BACKBONES, READERS or DATASETS; without a word, all of them.

    \b
    onetag list methods
    onetag list losses --json
    """
    kinds = [kind] if kind else list(KINDS)
    found = {name: _items(name) for name in kinds}
    if as_json:
        show_json(found[kind] if kind else found)
        return
    for name, items in found.items():
        if kind is None:
            click.echo(("" if name == kinds[0] else "\n") + name)
        show_table(
            [(item["name"], item["summary"], item.get("takes", "")) for item in items], ("name", "what it is", "takes")
        )


def _items(kind: str) -> list[dict[str, Any]]:
    if kind == "methods":
        from onetag.recipe import load_method, methods

        loaded = [load_method(name) for name in methods()]
        return [
            {
                "name": m.name,
                "summary": m.summary,
                "paper": m.paper,
                "published": dict(m.published),
                "columns": list(m.columns),
            }
            for m in loaded
        ]
    if kind == "datasets":
        from onetag.loading import NAMED

        return [{"name": name, "summary": data.summary} for name, data in sorted(NAMED.items())]
    from onetag.catalog import entries

    return [
        {"name": name, "summary": e.summary, "takes": e.signature if kind in ("losses", "labelers") else ""}
        for e in entries(kind)
        for name in e.names
    ]
