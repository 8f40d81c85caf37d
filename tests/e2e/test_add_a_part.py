"""A stranger adds a loss in one file of 20 lines: it is listed, documented, contract-tested and trainable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import onetag

_LOSS = '''"""Absolute error on unknown cells: it takes them for negatives, but never pushes hard (Ghosh et al., AAAI 2017)."""

from torch import Tensor, where

from onetag.core.progress import Progress
from onetag.learn import functional as F
from onetag.learn.labels import LabelBatch
from onetag.learn.loss import Loss, LossOutput

__all__ = ["AbsoluteError"]


class AbsoluteError(Loss):
    """P: l+, N: l-, U: strength * p."""

    def __init__(self, strength: float = 0.5) -> None:
        super().__init__()
        self.strength = strength

    def evaluate(self, logits: Tensor, labels: LabelBatch, progress: Progress) -> LossOutput:
        known = where(labels.is_positive, F.positive_loss(logits), F.negative_loss(logits))
        return LossOutput(where(labels.is_unknown, self.strength * logits.sigmoid(), known))
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project with one more file."""
    root = Path(__file__).parents[2]
    shutil.copytree(
        Path(onetag.__file__).parent, tmp_path / "src" / "onetag", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("tests/contracts", "scripts"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "conftest.py"):
        shutil.copy(root / "tests" / name, tmp_path / "tests")
    (tmp_path / "docs").mkdir()
    shutil.copy(root / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "onetag" / "losses" / "absolute.py").write_text(_LOSS)
    return tmp_path


def _run(checkout: Path, *arguments: object) -> str:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=checkout, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_loss_is_one_file(checkout: Path, vectors: Path) -> None:
    assert len(_LOSS.splitlines()) <= 25
    assert "absolute" in _run(checkout, "-m", "onetag", "list", "losses").split()
    _run(checkout, "scripts/catalog_page.py")
    page = (checkout / "docs" / "catalog.md").read_text()
    assert "### `absolute`" in page
    assert "strength: float = 0.5" in page
    tests = _run(
        checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contracts/test_losses.py", "-k", "absolute"
    )
    assert " passed" in tests
    assert "failed" not in tests
    arguments = [
        "train",
        vectors / "train",
        "-o",
        checkout / "run",
        "--set",
        "loss.name=absolute",
        "--set",
        "loss.strength=0.2",
        "--epochs",
        2,
    ]
    assert str(checkout / "run") in _run(checkout, "-m", "onetag", *arguments)
    assert 'name = "absolute"' in (checkout / "run" / "recipe.toml").read_text()


def test_code_of_ones_own_runs_only_when_allowed(checkout: Path, vectors: Path) -> None:
    (checkout / "src" / "mine").mkdir()
    (checkout / "src" / "mine" / "__init__.py").touch()
    (checkout / "src" / "onetag" / "losses" / "absolute.py").rename(checkout / "src" / "mine" / "absolute.py")
    arguments = [
        "-m",
        "onetag",
        "train",
        vectors / "train",
        "-o",
        checkout / "run",
        "--set",
        "loss.name=mine.absolute:AbsoluteError",
        "--epochs",
        1,
    ]
    with pytest.raises(AssertionError, match="--allow-code mine"):
        _run(checkout, *arguments)
    assert str(checkout / "run") in _run(checkout, *arguments, "--allow-code", "mine")
