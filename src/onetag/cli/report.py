"""`onetag report`: one HTML page about runs."""

from __future__ import annotations

import click

from onetag.cli._options import out_path, output_options, show_json


@click.command(name="report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN ...]")
@click.option("-o", "--out", metavar="FILE", help="[report.html in the first run]")
@output_options
def command(runs: tuple[str, ...], out: str | None, as_json: bool, quiet: bool) -> None:
    """One HTML page about one or more runs; several seeds of a method stand in one line, as mean and deviation.

    \b
    onetag report runs/a
    onetag report runs/* -o report.html
    """
    from onetag.reports.page import write_report

    path = write_report(runs, out_path(out) if out else out_path(runs[0]) / "report.html")
    if as_json:
        show_json({"report": str(path)})
    else:
        click.echo(str(path))
