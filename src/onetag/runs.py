"""The run folder: everything after training reads only this. One writer (a lock), a schema number, append or write aside and rename."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from onetag.core.errors import OnetagError, UsageError
from onetag.recipe import Recipe, parse

SCHEMA = 1
_PACKAGES = ("torch", "torchvision", "timm", "numpy", "pillow", "pyarrow", "safetensors")


def write_text(path: Path, text: str) -> None:
    """Write aside and rename: a reader sees the old file or the new one, never half of one."""
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(path)


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


class Run:
    """A run folder. `config.json` is written last: a run that has it is finished."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    # ---- reading

    @classmethod
    def open(cls, path: Path | str) -> Run:
        """A finished run, to be read."""
        run = cls(path)
        if not run.path.is_dir():
            raise OnetagError(f"{path}: there is no such run folder")
        if not (run.path / "recipe.toml").exists():
            raise OnetagError(f"{path}: not a run folder (it has no recipe.toml)")
        if not run.is_finished:
            raise OnetagError(
                f"{path}: this run is not finished; `onetag train ... -o {path} --resume` goes on with it"
            )
        schema = run.config().get("schema")
        if schema != SCHEMA:
            raise OnetagError(f"{path}: written with schema {schema}, this version of onetag reads schema {SCHEMA}")
        return run

    @property
    def is_finished(self) -> bool:
        return (self.path / "config.json").exists()

    def config(self) -> dict[str, Any]:
        try:
            content = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise OnetagError(f"{self.path / 'config.json'}: cannot be read ({error})") from error
        if not isinstance(content, dict):
            raise OnetagError(f"{self.path / 'config.json'}: not a configuration of onetag")
        return content

    def recipe(self) -> Recipe:
        import tomllib

        path = self.path / "recipe.toml"
        try:
            return parse(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except (OSError, ValueError) as error:
            raise OnetagError(f"{path}: cannot be read ({error})") from error

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; one per epoch, then one with the test."""
        try:
            lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            return [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise OnetagError(f"{self.path / 'metrics.jsonl'}: cannot be read ({error})") from error

    # ---- writing

    @contextmanager
    def writing(self, resume: bool) -> Iterator[Run]:
        """Be the one writer. A folder that holds a run already is refused unless it is to be resumed."""
        from filelock import FileLock, Timeout

        holds = self.path.is_dir() and any(entry.name != "lock" for entry in self.path.iterdir())
        is_run = (self.path / "recipe.toml").exists()
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; -o names a folder for the run")
        if holds and not is_run and not (self.path / "recipe.toml.tmp").exists():
            raise UsageError(f"{self.path} is not empty and holds no run; choose another folder with -o")
        if holds and is_run and not resume:
            raise UsageError(
                f"{self.path} already holds a run; add --resume to go on with it, or choose another folder with -o"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OnetagError(f"{self.path}: cannot be made ({error.strerror})") from error
        lock = FileLock(self.path / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise OnetagError(f"{self.path}: another process is writing this run") from error
        try:
            yield self
        finally:
            lock.release()
            (self.path / "lock").unlink(missing_ok=True)

    def start(self, recipe: Recipe) -> None:
        """Recipe and surroundings, at the beginning of a new run."""
        (self.path / "labels").mkdir(exist_ok=True)
        write_json(self.path / "environment.json", environment())
        write_text(self.path / "recipe.toml", recipe.to_toml())

    def append(self, name: str, record: dict[str, Any]) -> None:
        with (self.path / name).open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(json.dumps(record, sort_keys=True, ensure_ascii=False) + "\n")

    def cut_back(self, name: str, size: int) -> None:
        """Forget what was appended after a checkpoint."""
        path = self.path / name
        if path.exists():
            with path.open("r+b") as stream:
                stream.truncate(size)
        elif size:
            raise OnetagError(f"{path} is gone, but the checkpoint counts on it; start again in another folder")

    def size(self, name: str) -> int:
        path = self.path / name
        return path.stat().st_size if path.exists() else 0

    def clear_checkpoints(self) -> None:
        shutil.rmtree(self.path / "checkpoint", ignore_errors=True)


def environment() -> dict[str, Any]:
    """What numbers may depend on; no times, so that equal runs are equal bytes."""
    from onetag import __version__

    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "schema": SCHEMA, "onetag": __version__, "python": platform.python_version(), "platform": sys.platform,
        "machine": platform.machine(), "cpu_count": os.cpu_count(), "packages": versions,
    }  # fmt: skip
