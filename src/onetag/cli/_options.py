"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from onetag.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def output_options(function: F) -> F:
    """--json and --quiet."""
    function = click.option("--quiet", is_flag=True, help="No progress, no notes.")(function)
    return click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")(function)


def data_options(function: F) -> F:
    """How DATA is to be read where it does not say so itself."""
    for option in reversed(
        [
            click.option("--format", "format", metavar="NAME", help="Force a reader (see `onetag list readers`)."),
            click.option("--path-column", metavar="NAME", help="The column with the picture's path."),
            click.option("--tags-column", metavar="NAME", help="The column with the tags."),
            click.option(
                "--group-column", metavar="NAME", help="Pictures of one group never stand on two sides of a split."
            ),
            click.option("--separator", metavar="CHAR", help="What separates tags in a cell."),
            click.option(
                "--zero", type=click.Choice(["unknown", "negative"]), help="What 0 means in 0/1 columns [unknown]."
            ),
            click.option("--images", metavar="DIR", help="Where relative paths start [beside the table]."),
            click.option(
                "--difficult",
                type=click.Choice(["unknown", "positive", "negative"]),
                help="Pascal VOC: what a class is whose objects are all marked difficult [negative].",
            ),
            click.option(
                "--certainty",
                type=click.IntRange(1, 4),
                help="CUB: attributes that people were less sure of are unknown; 1 not visible .. 4 definitely [1].",
            ),
            click.option("--data", "places", multiple=True, metavar="NAME=PATH", help="Where a named data set lies."),
        ]
    ):
        function = option(function)
    return function


DATA_KEYS = (
    "format", "path_column", "tags_column", "group_column", "separator", "zero", "images", "difficult", "certainty", "places",
)  # fmt: skip


def download_option(help: str) -> Callable[[F], F]:
    """--download: nothing is fetched from a network without it."""
    return click.option("--download", is_flag=True, help=help)


def reading(values: dict[str, Any], labels: str | None = None) -> dict[str, Any]:
    """Take the data options out of a command's values, as arguments of `onetag.load`."""
    taken = {key: values.pop(key) for key in DATA_KEYS}
    places = {}
    for text in taken["places"]:
        name, equals, path = text.partition("=")
        if not equals:
            raise UsageError(f"--data {text!r}: write NAME=PATH, as in coco10k=/data/coco10k")
        places[name] = path
    return {**taken, "places": places, "labels": labels}


def show_json(content: Any) -> None:
    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def show_table(rows: list[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """A table for people; one bare item a line when stdout is no terminal."""
    import sys

    if not sys.stdout.isatty():
        for row in rows:
            click.echo(row[0])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def out_path(text: str) -> Path:
    return Path(text).expanduser()
