"""Progress on stderr: bars where it is a terminal, plain sentences where it is not."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

from onetag.core.progress import Listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class _Bars(Listener):
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress: Progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=Console(stderr=True),
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._progress.start()

    def say(self, sentence: str) -> None:
        self._progress.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def advance(self, task: str, done: int, total: int, note: str = "") -> None:
        if task not in self._tasks:
            self._tasks[task] = self._progress.add_task(task, total=total, note=note)
        self._progress.update(self._tasks[task], completed=done, total=total, note=note)
        if done >= total:
            self._progress.stop_task(self._tasks.pop(task))

    def stop(self) -> None:
        self._progress.stop()


class _Lines(Listener):
    """A line at most every ten seconds, and one at the end of a task that took longer than that."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._last = time.monotonic()

    def say(self, sentence: str) -> None:
        click.echo(sentence, err=True)

    def advance(self, task: str, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        began = self._began.setdefault(task, now)
        if done >= total:
            del self._began[task]
        if now - self._last > 10 or (done >= total and now - began > 10):
            self._last = now
            click.echo(f"{task}: {done:,} of {total:,}" + (f" ({note})" if note else ""), err=True)


class Listening:
    """`with Listening(quiet) as hear:` gives the right listener and ends its bars."""

    def __init__(self, quiet: bool) -> None:
        self._listener = Listener() if quiet else _Bars() if sys.stderr.isatty() else _Lines()

    def __enter__(self) -> Listener:
        return self._listener

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._listener, _Bars):
            self._listener.stop()
