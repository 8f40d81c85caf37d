"""The built wheel, in an environment outside the checkout, has its recipes and runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_works_on_its_own(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert sum(name.startswith("onetag/recipes/") and name.endswith(".toml") for name in names) == 23
    assert not any(name.startswith(("tests", "docs")) for name in names)
    venv.create(tmp_path / "env")
    python = next(tmp_path.glob("env/bin/python*"), None) or tmp_path / "env" / "Scripts" / "python.exe"
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    )
    site = Path(place.stdout.strip())
    zipfile.ZipFile(wheel).extractall(site)
    # Dependencies come from this environment, as a plain path: its editable onetag (a .pth file) is not followed from there.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    where = subprocess.run(
        [python, "-c", "import onetag; print(onetag.__file__)"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert str(site) in where.stdout
    listed = subprocess.run(
        [python, "-m", "onetag", "list", "methods"], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert "em_apl" in listed.stdout.split()
    demo = subprocess.run(
        [python, "-m", "onetag", "demo", "--seeds", "1"], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert demo.returncode == 0, demo.stderr
    assert (tmp_path / "onetag-demo" / "report.html").exists()
