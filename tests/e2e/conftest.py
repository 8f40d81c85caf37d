"""Data small enough to train on in a second, and the command line as a function."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from onetag.readers import _scenes


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    def json(self) -> dict:
        return json.loads(self.out)


Onetag = Callable[..., Answer]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the tests' own: nothing of the user's is touched or relied on."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("ONETAG_CACHE")
    os.environ["ONETAG_CACHE"] = str(folder)
    yield folder
    os.environ.pop("ONETAG_CACHE")
    if before is not None:
        os.environ["ONETAG_CACHE"] = before


@pytest.fixture
def onetag(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Onetag:
    """The command line in this process: exit code, stdout, stderr."""
    from onetag.cli import main

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["onetag", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Answer(int(ended.value.code or 0), said.out, said.err)

    return run


def in_a_process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "onetag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder per class, 48 drawn pictures, each under one of its tags; and tables with all tags of 24 others."""
    root = tmp_path_factory.mktemp("pictures")
    for index in range(48):
        scene = _scenes.draw(1, "train", index)
        tag = _scenes.CLASSES[scene.tags[index % len(scene.tags)]]
        (root / "photos" / tag).mkdir(parents=True, exist_ok=True)
        scene.image.save(root / "photos" / tag / f"{index:03d}.jpg")
    (root / "test").mkdir()
    shown = {path.name for path in (root / "photos").iterdir()}
    with (root / "test" / "test.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "tags"])
        for index in range(24):
            scene = _scenes.draw(1, "test", index)
            scene.image.save(root / "test" / f"{index:03d}.jpg")
            writer.writerow([f"{index:03d}.jpg", "|".join(n for c in scene.tags if (n := _scenes.CLASSES[c]) in shown)])
    return root


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Feature vectors with complete tags: 600 samples, 32 numbers, 8 classes that a linear head can learn."""
    root = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(0)
    for name, size in (("train", 600), ("test", 200)):
        values = rng.normal(size=(size, 32)).astype(np.float32)
        (root / name).mkdir()
        np.save(root / name / "features.npy", values)
        tags = values[:, :8] + 0.3 * rng.normal(size=(size, 8)) > 0.6
        with (root / name / "table.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["path", "tags"])
            for row in range(size):
                found = [f"c{c}" for c in np.flatnonzero(tags[row])] or [f"c{int(values[row, :8].argmax())}"]
                writer.writerow([f"{name}-{row}", "|".join(found)])
    return root
