"""The documentation's examples run and say what it says they say; its links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import onetag

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def _write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _write_array(name: str, values: list[object]) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    np.save(name, np.array(values))


def test_examples_of_every_format_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"onetag": onetag, "write": _write, "write_array": _write_array}
    text = (ROOT / "docs" / "data.md").read_text()
    # A fence ends an example's expected output as an empty line does.
    test = doctest.DocTestParser().get_doctest(text.replace("```", ""), names, "data.md", "data.md", 0)
    assert len(test.examples) > 40
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not failed, "".join(said)


def test_every_reader_is_in_the_page() -> None:
    from onetag import catalog

    text = (ROOT / "docs" / "data.md").read_text().casefold()
    words = {
        "csv": "csv",
        "coco": "## coco",
        "voc": "pascal voc",
        "openimages": "open images",
        "nuswide": "nus-wide",
        "predecessor_npy": "predecessor",
    }
    words |= {
        "hf_imagefolder": "hugging face imagefolder",
        "folder": "image folders",
        "features": "feature vectors",
        "jsonl": "json lines",
    }
    words |= {"parquet": "parquet", "cub": "cub-200-2011"}
    for entry in catalog.entries("readers"):
        if entry.name != "scenes":
            assert words[entry.name] in text


def test_docstring_examples_run() -> None:
    found = 0
    for info in pkgutil.walk_packages(onetag.__path__, "onetag."):
        if info.name.endswith("__main__") or not info.name.startswith(("onetag.labels", "onetag.metrics")):
            continue
        result = doctest.testmod(importlib.import_module(info.name))
        assert not result.failed, info.name
        found += result.attempted
    assert found >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
