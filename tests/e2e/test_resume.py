"""A kill costs minutes, never data: after `kill -9` and `--resume` a run has the bytes it would have had."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Onetag, in_a_process

_TRAIN = [
    "--method",
    "em_apl",
    "--annotation",
    "one_positive",
    "--val-share",
    "0.2",
    "--epochs",
    "40",
    "--set",
    "labeler.warmup=3",
]


def _contents(run: Path) -> dict[str, bytes]:
    """Everything but timings, and checkpoints (their step numbers depend on when the clock asked for one)."""
    kept = [
        path
        for path in run.rglob("*")
        if path.is_file() and "checkpoint" not in path.parts and path.name != "timings.jsonl"
    ]
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(kept)}


def _start(*arguments: object, said: Path | None = None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "ONETAG_CHECKPOINT_SECONDS": "0.05"}
    command = [sys.executable, "-m", "onetag", "train", *map(str, arguments), "--quiet"]
    with (said or Path(os.devnull)).open("wb") as stream:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stream)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["em_apl", "role"])
def test_kill_at_random_moments(vectors: Path, tmp_path: Path, method: str) -> None:
    arguments = [vectors / "train", "--test", vectors / "test", *_TRAIN, "--method", method, "--mean-tags", "2"]
    arguments = arguments if method == "em_apl" else [a for a in arguments if a not in ("--set", "labeler.warmup=3")]
    began = time.monotonic()
    assert _start(*arguments, "-o", tmp_path / "whole").wait() == 0
    whole_time = time.monotonic() - began
    rng = random.Random(0)
    kills = 0
    for _ in range(40):
        process = _start(*arguments, "-o", tmp_path / "killed", "--resume", said=tmp_path / "said")
        try:
            process.wait(rng.uniform(0.55, 1.0) * whole_time if kills < 5 else rng.uniform(0.3, 1.1) * whole_time)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        if process.returncode == 0:
            if kills >= 10:
                break
            # Finished before ten kills: begin another run, which must end the same.
            assert _contents(tmp_path / "killed") == _contents(tmp_path / "whole")
            (tmp_path / "killed").rename(tmp_path / f"done-{kills}-{time.monotonic_ns()}")
        elif process.returncode != -signal.SIGKILL:
            pytest.fail((tmp_path / "said").read_text())
        if kills >= 10 and not (tmp_path / "killed").exists():
            break
    assert kills >= 10
    if (tmp_path / "killed").exists():
        assert _start(*arguments, "-o", tmp_path / "killed", "--resume").wait() == 0
        assert _contents(tmp_path / "killed") == _contents(tmp_path / "whole")


@pytest.mark.parametrize("when", ["mid-epoch", "between epochs", "at the end"])
def test_resume_from_any_place(vectors: Path, tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in one process: training breaks off at a chosen call and goes on."""
    import onetag
    from onetag.engine import finish
    from onetag.engine import fit as engine

    data = onetag.load(vectors / "train", labels="complete")
    settings = {"annotation": "one_positive", "data.val_share": 0.2, "backbone": "features", "labeler.warmup": 2}

    def train(out: Path) -> Path:
        return onetag.train(data, method="em_apl", out=out, checkpoint_seconds=0, resume=True, **settings).path

    whole = train(tmp_path / "whole")
    calls = {"left": {"mid-epoch": 77, "between epochs": 5, "at the end": 1}[when]}
    place = {
        "mid-epoch": (engine._Fit, "_step"),
        "between epochs": (engine._Fit, "_keep"),
        "at the end": (finish, "write_json"),
    }[when]
    original = getattr(*place)

    def break_off(*arguments: object, **named: object) -> object:
        calls["left"] -= 1
        if calls["left"] == 0:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(*place, break_off)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "part")
    assert not (tmp_path / "part" / "config.json").exists()
    assert _contents(train(tmp_path / "part")) == _contents(whole)


def test_equal_runs_are_equal_bytes_and_seeds_differ(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert (
            onetag("train", vectors / "train", *_TRAIN, "--seed", seed, "--epochs", 5, "-o", tmp_path / name).code == 0
        )
    first, second, third = (_contents(tmp_path / name) for name in ("a", "b", "c"))
    assert first == second
    assert first["head.safetensors"] != third["head.safetensors"]
    assert first["labels/observed.safetensors"] == third["labels/observed.safetensors"], (
        "seeds vary training, not the draw"
    )


def test_resume_refuses_another_recipe_and_a_finished_run_stays(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    arguments = ["train", vectors / "train", "-o", tmp_path / "a", "--epochs", 2]
    assert onetag(*arguments).code == 0
    before = _contents(tmp_path / "a")
    again = onetag(*arguments)
    assert again.code == 2
    assert "--resume" in again.err
    other = onetag(*arguments, "--lr", 0.5, "--resume")
    assert other.code == 2
    assert "optimizer.lr was" in other.err
    same = onetag(*arguments, "--resume")
    assert same.code == 0
    assert "nothing to resume" in same.err
    assert _contents(tmp_path / "a") == before
    without_data = onetag("train", "-o", tmp_path / "a", "--resume")
    assert without_data.code == 0


def test_two_writers_are_refused(vectors: Path, tmp_path: Path) -> None:
    from filelock import FileLock

    (tmp_path / "a").mkdir()
    with FileLock(tmp_path / "a" / "lock"):
        answer = in_a_process("train", vectors / "train", "-o", tmp_path / "a")
    assert answer.returncode == 1
    assert "another process is writing this run" in answer.stderr
