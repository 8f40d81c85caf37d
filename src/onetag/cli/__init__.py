"""The command line: one file per command, loaded when it is called."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

import click

from onetag.core.errors import OnetagError, nearest

# Order and one-line help stand here, so that `onetag --help` imports no command.
COMMANDS = {
    "demo": "The main job on built-in data, in under 2 minutes; writes report.html.",
    "check": "Look at every picture and tag of a data set before training on it.",
    "simulate": "Research: hide tags of complete labels, as published or as people would.",
    "train": "Train a tagger from a folder, a table or feature vectors.",
    "predict": "Tag pictures with a trained tagger.",
    "eval": "Measure a tagger on completely labelled pictures.",
    "features": "Compute the frozen features of a data set once, into a folder.",
    "report": "One HTML page about one or more runs.",
    "list": "What there is: methods, losses, labelers, backbones, readers, datasets.",
}


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"onetag.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"no command {args[0]!r}; {nearest(args[0], COMMANDS)}", context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onetag", prog_name="onetag")
def cli() -> None:
    """Train a multi-label image tagger from one known tag per picture.

    \b
    onetag demo                          see it work
    onetag train photos/ -o runs/a       photos/cat/1.jpg, photos/dog/2.jpg ...
    onetag predict runs/a new/ -o tags.csv
    """


def main() -> None:
    """Entry point: every failure that a person can cause is a sentence, never a traceback."""
    from onetag.core import process

    process.prepare()
    warnings.filterwarnings("ignore", message=".*decompression bomb.*")  # such pictures are skipped, counted and named
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2 if isinstance(error, click.UsageError) else error.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except OnetagError as error:
        click.echo(f"onetag: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `onetag list methods | head`
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
