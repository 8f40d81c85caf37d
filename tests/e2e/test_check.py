"""`onetag check`: exit codes, text, JSON, page and manifest, on data as people have it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

import onetag
from onetag.cli.check import command
from onetag.core.errors import OnetagError, UsageError
from onetag.readers import _scenes


def check(*arguments: object) -> Result:
    """The command in this process; what it refuses is left in `exception`, as `onetag` would turn it into a sentence."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def broken(pictures: Path, tmp_path: Path) -> Path:
    """A table of drawn scenes with one of everything that can be wrong."""
    folder = tmp_path / "data"
    folder.mkdir()
    scenes = sorted((pictures / "test").glob("*.jpg"))
    names = [path.name for path in scenes[:12]]
    for path in scenes[:12]:
        shutil.copy(path, folder)
    shutil.copy(folder / names[0], folder / "copy.jpg")
    shutil.copy(folder / names[1], folder / "leak.jpg")
    with Image.open(folder / names[2]) as picture:
        picture.resize((150, 150)).save(folder / "near.jpg", quality=60)
    Image.new("RGB", (20, 40), "red").save(folder / "tiny.png")
    (folder / "cut.jpg").write_bytes((folder / names[3]).read_bytes()[:-1])
    rows = [f"{name},Dog|cat,,train" for name in names]
    rows += ["copy.jpg,,cat,train", "leak.jpg,cat,,test", "near.jpg,cat,,test", "tiny.png,dog,,test"]
    rows += ["cut.jpg,cat,,train", "gone.jpg,cat,,train", f"{names[0]},cat,,train"]
    (folder / "tags.csv").write_text("path,tags,negatives,split\n" + "\n".join(rows) + "\n")
    return folder / "tags.csv"


ERRORS = {"missing_pictures", "unreadable_pictures", "conflicting_labels", "leak_same_content"}
WARNINGS = {
    "near_leak", "exact_duplicates", "tiny_pictures", "repeated_rows", "similar_class_names", "rare_classes",
    "unshown_classes", "no_tags",
}  # fmt: skip


def test_everything_wrong_is_found_with_its_row(broken: Path) -> None:
    before = snapshot(broken.parent)
    answer = check(broken, "--json", "--min-positives", 20)
    assert answer.exit_code == 1, answer.output
    report = json.loads(answer.stdout)
    assert set(report) == {"read_as", "pictures", "classes", "errors", "warnings", "info"}
    assert report["pictures"] == 18
    found = {finding["kind"]: finding for finding in [*report["errors"], *report["warnings"]]}
    assert {finding["kind"] for finding in report["errors"]} == ERRORS
    assert {finding["kind"] for finding in report["warnings"]} == WARNINGS
    for finding in found.values():
        assert set(finding) == {"kind", "message", "count", "items"}
        assert finding["count"] == len(finding["items"]) > 0
    rows = {kind: [item.get("row") for item in finding["items"]] for kind, finding in found.items()}
    assert rows["unreadable_pictures"] == [18]
    assert rows["missing_pictures"] == [19]
    assert rows["leak_same_content"] == [15]
    assert rows["near_leak"] == [16]
    assert rows["tiny_pictures"] == [17]
    assert found["repeated_rows"]["items"][0]["also"] == [20]
    assert found["conflicting_labels"]["items"][0]["against"] == {"path": "copy.jpg", "row": 14, "side": "train"}
    assert "truncated" in found["unreadable_pictures"]["items"][0]["why"]
    assert found["similar_class_names"]["items"] == [{"names": ["Dog", "dog"]}]
    assert snapshot(broken.parent) == before


def test_the_text_says_the_same_to_people(broken: Path) -> None:
    answer = check(broken, "--quiet")
    assert answer.exit_code == 1
    assert answer.stderr == ""
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("read as CSV: path=path, tags=tags")
    assert "    cut.jpg (row 18, train): broken: image file is truncated" in answer.stdout
    assert "    leak.jpg (row 15, test) is the same as 001.jpg (row 3, train)" in lines
    assert "    'Dog', 'dog'" in lines
    assert "errors" in lines and "warnings" in lines
    report = json.loads(check(broken, "--json").stdout)
    errors, warnings = (sum(finding["count"] for finding in report[kind]) for kind in ("errors", "warnings"))
    assert lines[-1] == f"{errors} errors, {warnings} warnings"
    for finding in [*report["errors"], *report["warnings"]]:
        assert f"  {finding['message']}" in lines


def test_sound_data_are_said_to_be_sound(pictures: Path) -> None:
    answer = check(pictures / "photos", "--min-positives", 1)
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[0].startswith("read as image folder")
    assert answer.stdout.splitlines()[-1] == "nothing is wrong", "drawn scenes are not taken for one another"
    warned = check(pictures / "photos")
    assert warned.exit_code == 0
    assert "with fewer than 10 positives" in warned.stdout
    complete = check(pictures / "test" / "test.csv", "--labels", "complete", "--json", "--quiet")
    assert complete.exit_code == 0
    assert json.loads(complete.stdout)["info"]["labels"] == "complete"


def test_what_a_reader_refuses_is_reported_in_the_same_form(pictures: Path, tmp_path: Path) -> None:
    for name, content, row, words in (
        ("out", "path,tags\na.jpg,x\n../b.jpg,x\n", 3, "leaves"),
        ("cells", "path,tags\na.jpg,x\nb.jpg,x,y\n", 3, "3 cells"),
        ("both", "path,tags,negatives\na.jpg,x,\na.jpg,y,x\n", 3, "positive and as negative"),
        ("bytes", "\0\1\2", None, "binary"),
    ):
        (tmp_path / f"{name}.csv").write_text(content)
        answer = check(
            tmp_path / f"{name}.csv", "--json", "--html", tmp_path / f"{name}.html", "--manifest", tmp_path / "m.csv"
        )
        assert answer.exit_code == 1, answer.output
        (finding,) = json.loads(answer.stdout)["errors"]
        assert finding["kind"] == "unreadable_data"
        assert finding["items"][0].get("row") == row
        assert words in finding["items"][0]["why"]
        assert words in (tmp_path / f"{name}.html").read_text()
        said = check(tmp_path / f"{name}.csv")
        assert said.exit_code == 1
        assert words in said.stdout
    assert not (tmp_path / "m.csv").exists()


def test_the_manifest_is_clean(broken: Path, tmp_path: Path) -> None:
    before = snapshot(broken.parent)
    answer = check(broken, "--manifest", tmp_path / "clean.csv", "--json")
    assert answer.exit_code == 1, "the errors are those of the data, clean list or not"
    made = json.loads(answer.stdout)["info"]["manifest"]
    assert made["pictures"] == len(onetag.load(tmp_path / "clean.csv").only()) == 14
    again = check(tmp_path / "clean.csv", "--json")
    assert again.exit_code == 0, again.output
    kinds = {finding["kind"] for finding in json.loads(again.stdout)["warnings"]}
    assert not kinds & {"exact_duplicates", "repeated_rows"}
    assert snapshot(broken.parent) == before
    said = check(broken, "--manifest", tmp_path / "other.csv")
    assert f"manifest: {tmp_path / 'other.csv'}: 14 pictures; left out: 2 missing or unusable" in said.stdout


def test_nothing_of_the_users_is_overwritten(broken: Path, tmp_path: Path) -> None:
    before = snapshot(broken.parent)
    for arguments, words in (
        (["--manifest", broken], "exists"),
        (["--manifest", tmp_path / "clean.txt"], "*.csv"),
        (["--html", broken], "*.html"),
    ):
        answer = check(broken, *arguments)
        assert isinstance(answer.exception, UsageError)
        assert words in str(answer.exception)
    (tmp_path / "labels.toml").write_text("")
    assert isinstance(check(broken, "--manifest", tmp_path / "clean.csv").exception, UsageError)
    assert snapshot(broken.parent) == before


def test_wrong_words_are_usage_errors(pictures: Path, tmp_path: Path) -> None:
    assert check(pictures / "photos", "--labels", "some").exit_code == 2
    assert check(pictures / "photos", "--min-positives", "0").exit_code == 2
    assert check().exit_code == 2
    assert isinstance(check(tmp_path / "nowhere").exception, OnetagError)


def test_the_page_shows_pairs(broken: Path, tmp_path: Path) -> None:
    answer = check(broken, "--html", tmp_path / "check.html", "--quiet")
    assert answer.exit_code == 1
    page = (tmp_path / "check.html").read_text()
    assert page.count("data:image/jpeg;base64,") >= 8
    assert "http" not in page.replace("http-equiv", "")
    assert f"page: {tmp_path / 'check.html'}" in answer.stdout


def test_no_torch_is_loaded(broken: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom onetag.cli.check import command\n"
        f"try:\n    command([{str(broken)!r}, '--html', {str(tmp_path / 'a.html')!r}, '--manifest', {str(tmp_path / 'a.csv')!r}])\n"
        "except SystemExit as ended:\n    assert ended.code == 1\n"
        "print('loaded:', *[m for m in ('torch', 'torchvision', 'timm', 'matplotlib') if m in sys.modules])\n"
    )
    source = str(Path(onetag.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].strip() == "loaded:"


def test_a_thousand_pictures_take_seconds(tmp_path: Path) -> None:
    """A few scenes, each saved in many sizes: decoding, and a search for likeness where nearly everything is alike."""
    import time

    for index in range(20):
        scene = _scenes.draw(3, "train", index)
        for size in range(50):
            folder = tmp_path / _scenes.CLASSES[scene.tags[0]]
            folder.mkdir(exist_ok=True)
            scene.image.resize((64 + size, 64 + size)).save(folder / f"{index}-{size}.jpg")
    began = time.perf_counter()
    answer = check(tmp_path, "--json", "--quiet")
    assert time.perf_counter() - began < 20
    near = next(f for f in json.loads(answer.stdout)["warnings"] if f["kind"] == "near_duplicates")
    assert near["count"] > 900
