"""`onetag check`: what was understood of the data, and what is wrong with it."""

from __future__ import annotations

import sys
from typing import Any

import click

from onetag.cli._listener import Listening
from onetag.cli._options import data_options, out_path, output_options, reading, show_json
from onetag.core.errors import UsageError


@click.command(name="check")
@click.argument("data")
@click.option("--manifest", metavar="FILE.csv", help="Write a clean table: broken pictures left out, copies merged.")
@click.option("--html", "page", metavar="FILE.html", help="Write the report as a page, with examples.")
@click.option("--labels", type=click.Choice(["partial", "complete"]), help="What an absent tag means.")
@click.option(
    "--min-positives", type=click.IntRange(min=1), default=10, show_default=True, metavar="K", help="Warn of classes with fewer."
)  # fmt: skip
@data_options
@output_options
def command(
    data: str,
    manifest: str | None,
    page: str | None,
    labels: str | None,
    min_positives: int,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Look at every picture and every tag of DATA. Ends with 1 if there are errors; warnings are for you to judge. DATA is never changed.

    \b
    onetag check photos/
    onetag check tags.csv --html check.html --manifest clean.csv
    """
    from onetag.audit.examine import examine, refused
    from onetag.audit.manifest import refuse, write_manifest
    from onetag.audit.page import write_page
    from onetag.audit.text import text, visible
    from onetag.core.reading import DataError
    from onetag.loading import load

    if page is not None and out_path(page).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--html {page}: name the page *.html")
    if manifest is not None:
        refuse(out_path(manifest))
    options = reading(values, labels)
    audit = None
    with Listening(quiet) as hear:
        try:
            loaded = load(data, **options)
        except DataError as error:
            report = refused(error)
            if manifest is not None:
                hear.say(f"{manifest} is not written: the data cannot be read")
        else:
            if manifest is not None:
                refuse(out_path(manifest), loaded)
            if not as_json:
                click.echo(visible(loaded.read_as))
                for note in () if quiet else loaded.notes:
                    click.echo(f"note: {visible(note)}")
                click.echo()
            audit = examine(loaded, hear, min_positives)
            report = audit.report
            if manifest is not None:
                report.info["manifest"] = write_manifest(out_path(manifest), audit)
        if page is not None:
            write_page(out_path(page), report, audit, data)
    if as_json:
        show_json(report.content())
    else:
        click.echo(text(report, sys.stdout.encoding or "ascii"))
        if page is not None:
            click.echo(f"page: {page}")
    click.get_current_context().exit(1 if report.errors else 0)
