"""What holds the house together: layers, public names, commands and flags, speed of `--help`, generated pages."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

import onetag

ROOT = Path(__file__).parents[2]
SOURCE = Path(onetag.__file__).parent

# A new command or flag is a decision: it is written here, too.
_DATA = {
    "--format", "--path-column", "--tags-column", "--group-column", "--separator", "--zero", "--images", "--difficult", "--certainty",
    "--data",
}  # fmt: skip
_OUTPUT = {"--json", "--quiet", "--help"}
COMMANDS = {
    "demo": {"-o", "--out", "--seeds", "--overwrite"},
    "train": {
        "-o", "--out", "--method", "--recipe", "--set", "--backbone", "--weights", "--train", "--labels", "--annotation", "--draw",
        "--annotation-seed", "--val", "--val-share", "--test", "--epochs", "--batch-size", "--lr", "--image-size", "--seed",
        "--mean-tags", "--resume", "--strict", "--download", "--allow-code", *_DATA,
    },
    "check": {"--manifest", "--html", "--labels", "--min-positives", *_DATA},
    "simulate": {"-o", "--out", "--annotation", "--draw", "--seed", "--with-truth", "--download", *_DATA},
    "predict": {"-o", "--out", "--sidecar", "--top", "--min-score", "--all-scores", *_DATA},
    "eval": {"--labels", "--download", *_DATA},
    "features": {"-o", "--out", "--backbone", "--weights", "--image-size", "--labels", "--download", *_DATA},
    "report": {"-o", "--out"},
    "list": set(),
}  # fmt: skip


def _python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_and_flags_are_the_ones_decided_on() -> None:
    from onetag.cli import COMMANDS as KNOWN

    assert set(KNOWN) == set(COMMANDS)
    for name, flags in COMMANDS.items():
        command = importlib.import_module(f"onetag.cli.{name}").command
        found = {flag for parameter in command.params if isinstance(parameter, click.Option) for flag in parameter.opts}
        assert found | {"--help"} == flags | _OUTPUT, name


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = importlib.import_module(f"onetag.cli.{name}").command
    text = command.get_help(click.Context(command, info_name=f"onetag {name}"))
    assert f"onetag {name}" in text.split("Options:")[0].split("\n", 1)[1]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.opts[0] not in ("-o", "--batch-size"):
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"


def test_help_answers_within_three_tenths_of_a_second() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    times = []
    for _ in range(5):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "onetag", "--help"], capture_output=True, env=environment)
        times.append(time.perf_counter() - began)
        assert done.returncode == 0
    assert min(times) < 0.3


def test_listing_imports_neither_torch_nor_pyarrow() -> None:
    code = "import sys\nfrom onetag.cli.list import KINDS, _items\n[_items(kind) for kind in KINDS]\n"
    loaded = _python(code + "print(*[m for m in ('torch','pyarrow','matplotlib','PIL','timm') if m in sys.modules])")
    assert loaded.strip() == ""


def test_importing_the_package_loads_nothing() -> None:
    loaded = _python(
        "import sys, onetag; print(*[m for m in ('torch', 'numpy', 'click', 'pyarrow') if m in sys.modules])"
    )
    assert loaded.strip() == ""


def test_importing_the_package_leaves_the_process_alone() -> None:
    assert (
        _python(
            "import os; before = dict(os.environ); import onetag, onetag.build; print(os.environ == before)"
        ).strip()
        == "True"
    )


def test_the_training_path_runs_without_pyarrow_rich_and_matplotlib() -> None:
    code = "import sys, onetag.engine.fit, onetag.labelers.apl, onetag.losses.role\n"
    assert _python(code + "print(*[m for m in ('pyarrow', 'rich', 'matplotlib') if m in sys.modules])").strip() == ""


def test_public_names() -> None:
    assert set(onetag.__all__) == {
        "Tag",
        "Tagger",
        "__version__",
        "label_batch",
        "labels",
        "load",
        "loss",
        "metrics",
        "train",
    }
    for name in onetag.__all__:
        assert getattr(onetag, name) is not None
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    functions = {name for name in onetag.__all__ if callable(getattr(onetag, name))}
    assert not functions & packages, "a public function never has the name of a package beside it"
    with pytest.raises(AttributeError, match="no attribute 'los'"):
        _ = onetag.los


def test_no_module_is_a_drawer_for_everything() -> None:
    names = {path.stem for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


def test_the_catalog_page_is_in_step() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "catalog_page.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_versions_agree() -> None:
    import tomllib

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == onetag.__version__


def test_nothing_names_a_machine_or_a_registry() -> None:
    """The project speaks of itself alone."""
    words = ("/work/", "/farm/", "files.python" + "hosted", "pypi" + ".org/simple")
    done = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        pytest.skip("not a git checkout")
    for name in done.stdout.split():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json") and path != Path(__file__) and path.exists():
            text = path.read_text(encoding="utf-8")
            assert not any(word in text for word in words), name
