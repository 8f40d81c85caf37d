"""The benchmarks of the paper by name: found, called train and test, drawn from as published, and as large as the paper says."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import onetag
from onetag import observe
from onetag.core.errors import OnetagError, UsageError
from onetag.core.split import Data
from onetag.loading import NAMED
from tests.unit.readers import archives

CLASSES = ("aeroplane", "bird", "cat", "dog", "horse")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is found but what a test puts there; those of the real data name its place themselves."""
    monkeypatch.delenv("ONETAG_DATA", raising=False)
    monkeypatch.setenv("ONETAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def _labels(rows: int, seed: int) -> np.ndarray:
    """[rows, classes] of 1, 0 (difficult), -1, each row with a 1."""
    rng = np.random.default_rng(seed)
    dense = rng.choice([1, 0, -1], size=(rows, len(CLASSES)), p=[0.35, 0.1, 0.55])
    dense[np.arange(rows), rng.integers(len(CLASSES), size=rows)] = 1
    return dense


def _voc(root: Path, train: np.ndarray, val: np.ndarray) -> Path:
    """The official lists, in an order that is not sorted, as VOCtrainval_11-May-2012.tar has them; no pictures."""
    lists = root / "VOCdevkit" / "VOC2012" / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    for side, dense in (("train", train), ("val", val), ("trainval", np.concatenate([train, val]))):
        order = np.random.default_rng(9).permutation(len(dense))
        for column, name in enumerate(CLASSES):
            rows = [f"2008_{row:06d} {dense[row, column]:2d}" for row in order]
            (lists / f"{name}_{side}.txt").write_text("\n".join(rows) + "\n")
        (lists / f"{side}.txt").write_text("".join(f"2008_{row:06d}\n" for row in order))
    return root


def _coco(root: Path, image_ids: list[int]) -> tuple[Path, dict[int, list[int]]]:
    """instances_train2014.json and instances_val2014.json; what each picture of train has, as places in the order of category ids."""
    rng, categories = np.random.default_rng(5), [90, 1, 18, 3, 44]
    (root / "annotations").mkdir(parents=True)
    truth: dict[int, list[int]] = {}
    for side in ("train", "val"):
        annotations = []
        for image in image_ids:
            chosen = rng.choice(categories, size=int(rng.integers(1, 5)), replace=True).tolist()
            if side == "train":
                truth[image] = sorted({sorted(categories).index(c) for c in chosen})
            annotations += [{"image_id": image, "category_id": c, "iscrowd": i % 2} for i, c in enumerate(chosen)]
        shuffled = [annotations[at] for at in rng.permutation(len(annotations))]
        content = {
            "images": [
                {"id": i, "file_name": f"COCO_{side}2014_{i:012d}.jpg", "height": 10, "width": 10}
                for i in [*image_ids, 777]
            ],
            "annotations": shuffled,
            "categories": [{"id": c, "name": f"thing{c}"} for c in categories],
        }
        (root / "annotations" / f"instances_{side}2014.json").write_text(json.dumps(content))
    return root, truth


def _published(rows: list[list[int]], num_classes: int) -> list[int]:
    """The official draw, written down anew: one generator; positives shuffled, the first kept, then negatives shuffled."""
    rng, kept = np.random.RandomState(1200), []
    for positives in rows:
        shown, hidden = np.array(sorted(positives)), np.array([c for c in range(num_classes) if c not in positives])
        rng.shuffle(shown)
        kept.append(int(shown[0]))
        rng.shuffle(hidden)
    return kept


def _shown(data: Data) -> list[int]:
    split = data.splits["train"]
    assert split.truth is not None
    observed = observe.observe(split.truth, "one_positive", split.ids, draw="official")
    assert (observed.positives_per_row() == 1).all()
    return [int(observed.positives(row)[0]) for row in range(len(split))]


def test_the_official_draw_from_lists_of_voc() -> None:
    train, val = _labels(40, 1), _labels(10, 2)
    root = _voc(Path("anywhere"), train, val)
    data = onetag.load("voc2012", places={"voc2012": str(root)})
    assert data.complete and list(data.splits) == ["train", "test"]
    assert data.splits["train"].ids.tolist() == [f"2008_{row:06d}" for row in range(40)]
    rows = [np.flatnonzero(row == 1).tolist() for row in train]  # difficult is not positive
    assert _shown(data) == _published(rows, len(CLASSES))


def test_the_official_draw_from_instances_of_coco() -> None:
    """Rows are ordered by the id as text: 100 comes before 9."""
    ids = [9, 100, 25, 3, 581929, 30, 1000, 42, 7, 77, 12, 8]
    root, truth = _coco(Path("anywhere"), ids)
    data = onetag.load("coco2014", places={"coco2014": str(root)})
    assert data.complete and list(data.splits) == ["train", "test"]
    order = sorted(ids, key=str)
    assert data.splits["train"].ids.tolist() == [str(number) for number in order]  # 777 has no annotations
    assert _shown(data) == _published([truth[number] for number in order], 5)


def test_names_are_found_in_the_folder_of_data_sets_and_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONETAG_DATA", str(tmp_path / "sets"))
    archives.cub(tmp_path / "sets" / "cub")
    archives.nuswide(tmp_path / "sets" / "nuswide")
    archives.voc(tmp_path / "cache" / "data" / "voc2012")
    assert {name: len(split) for name, split in onetag.load("cub").splits.items()} == {"train": 2, "test": 1}
    assert {name: len(split) for name, split in onetag.load("nuswide").splits.items()} == {"train": 3, "test": 1}
    assert {name: len(split) for name, split in onetag.load("voc2012").splits.items()} == {"train": 2, "test": 1}
    assert all(onetag.load(name).complete for name in ("cub", "nuswide", "voc2012"))
    assert not onetag.load("cub", labels="partial").complete


def test_pictures_are_named_alike_whichever_folder_is_given(tmp_path: Path) -> None:
    archives.voc(tmp_path / "voc")
    archives.cub(tmp_path / "cub")
    for name, outer, inner in (("voc2012", "voc", "voc/VOCdevkit/VOC2012"), ("cub", "cub", "cub/CUB_200_2011")):
        sources = [onetag.load(name, places={name: str(tmp_path / place)}).source for place in (outer, inner)]
        assert sources[0] == sources[1] == tmp_path / inner


def test_the_right_year_is_taken_from_a_folder_of_several(tmp_path: Path) -> None:
    archives.voc(tmp_path)
    (tmp_path / "VOCdevkit" / "VOC2007" / "ImageSets" / "Main").mkdir(parents=True)
    assert set(onetag.load("voc2012", places={"voc2012": str(tmp_path)}).splits) == {"train", "test"}


def test_labels_toml_is_honoured_beside_the_archives_folder_too(tmp_path: Path) -> None:
    archives.voc(tmp_path)
    (tmp_path / "labels.toml").write_text('leave_out = ["cat"]\n')
    assert onetag.load("voc2012", places={"voc2012": str(tmp_path)}).classes == ("aeroplane", "dog")


def test_what_is_read_says_which_side_is_the_test(tmp_path: Path) -> None:
    said = onetag.load("voc2012", places={"voc2012": str(archives.voc(tmp_path))}).read_as
    assert said.endswith("; its val is voc2012's test")
    assert list(onetag.load(tmp_path).splits) == ["train", "val"], "a path keeps the names of its files"


@pytest.mark.parametrize(("difficult", "cell"), [(None, -1), ("negative", -1), ("positive", 1), ("unknown", 0)])
def test_difficult_is_what_one_says(tmp_path: Path, difficult: str | None, cell: int) -> None:
    data = onetag.load("voc2012", places={"voc2012": str(archives.voc(tmp_path))}, difficult=difficult)
    assert data.splits["train"].labels.to_dense()[0, 1] == cell  # 2008_000002's cat


def test_certainty_makes_attributes_unknown(tmp_path: Path) -> None:
    places = {"cub": str(archives.cub(tmp_path))}
    assert (onetag.load("cub", places=places).splits["train"].labels.to_dense() != 0).all()
    sure = onetag.load("cub", places=places, certainty=4).splits["train"].labels.to_dense()
    assert (sure == [[0, 0, 1], [0, 0, 0]]).all()


def test_wrong_words_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'unknown'"):
        onetag.load("voc2012", difficult="unknwon")
    with pytest.raises(UsageError, match=r"4 \(definitely"):
        onetag.load("cub", places={"cub": str(archives.cub(tmp_path))}, certainty=5)


def test_what_is_not_there_says_how_to_come_by_it(tmp_path: Path) -> None:
    with pytest.raises(OnetagError, match=r"ONETAG_DATA names .it is not set.*--download .2\.0 GB"):
        onetag.load("voc2012")
    with pytest.raises(OnetagError, match="NUS-WIDE") as error:
        onetag.load("nuswide", download=True)
    for part in ("signed form", "Concepts81.txt", "ImageList/TrainImagelist.txt", "TrainTestLabels", "Flickr"):
        assert part in str(error.value)
    with pytest.raises(OnetagError, match=r"make_coco10k\.py"):
        onetag.load("coco10k", download=True)
    assert not (tmp_path / "cache").exists()


def test_a_path_of_that_name_is_a_path_unless_it_is_the_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives.voc(tmp_path / "voc2012")
    assert set(onetag.load("voc2012").splits) == {"train", "val"}
    monkeypatch.setenv("ONETAG_DATA", str(tmp_path))
    assert set(onetag.load("voc2012").splits) == {"train", "test"}


def test_the_note_about_absent_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONETAG_DATA", str(tmp_path))
    archives.coco(tmp_path / "coco2014")
    assert any("train2014.zip and val2014.zip" in note for note in onetag.load("coco2014").notes)
    for name in ("train2014", "val2014"):
        (tmp_path / "coco2014" / name).mkdir()
    assert not any("zip" in note for note in onetag.load("coco2014").notes)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    from onetag.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onetag", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_simulate_on_the_command_line(command: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    train = _labels(30, 3)
    root, out = _voc(tmp_path / "voc", train, _labels(5, 4)), tmp_path / "single.csv"
    code, _, error = command("simulate", "voc2012", "--data", f"voc2012={root}", "--draw", "official", "-o", out)
    assert code == 0, error
    rows = [np.flatnonzero(row == 1).tolist() for row in train]
    with out.open() as stream:
        found = [(row["path"], row["tags"]) for row in csv.DictReader(stream)]
    wanted = [CLASSES[c] for c in _published(rows, len(CLASSES))]
    assert found == [(f"JPEGImages/2008_{row:06d}.jpg", tag) for row, tag in enumerate(wanted)]


def test_download_of_what_needs_a_form_ends_with_1(command: Callable[..., tuple[int, str, str]]) -> None:
    code, _, error = command("simulate", "nuswide", "--download", "-o", "x.csv")
    assert code == 1 and "signed form" in error and "Flickr" in error
    code, _, error = command("simulate", "voc2012", "--difficult", "maybe", "-o", "x.csv")
    assert code == 2 and "unknown" in error


# The paper's table: classes, train and val after the cut, test, positives per training picture as printed.
TABLE = {
    "voc2012": (20, 4574, 1143, 5823, "1.46"),
    "coco2014": (80, 65665, 16416, 40137, "2.94"),
    "nuswide": (81, 120000, 30000, 60260, "1.89"),
    "cub": (312, 4795, 1199, 5794, "31.4"),
}
ROOT = os.path.abspath(os.environ["ONETAG_DATA"]) if os.environ.get("ONETAG_DATA") else ""


def _real(name: str) -> Data:
    if not ROOT or not (Path(ROOT) / name).exists():
        pytest.skip(f"the real {name} is not here: no folder of that name in ONETAG_DATA ({ROOT or 'not set'})")
    return onetag.load(name, places={name: str(Path(ROOT) / name)})


@pytest.mark.parametrize("name", sorted(TABLE))
def test_statistics_of_the_papers_table(name: str) -> None:
    data = _real(name)
    classes, num_train, num_val, num_test, positives = TABLE[name]
    assert data.complete and list(data.splits) == ["train", "test"] and len(data.classes) == classes
    whole, test = data.splits["train"].truth, data.splits["test"].truth
    assert whole is not None and whole.is_complete and test is not None and test.is_complete
    if name == "nuswide" and len(whole) == 161_789:
        assert len(test) == 107_859
        pytest.skip(
            "these are the original lists of NUS-WIDE (161,789 and 107,859), not the paper's (150,000 and 60,260)"
        )
    train, val = observe.cut(len(whole), 0.2)
    assert (len(train), len(val), len(test)) == (num_train, num_val, num_test)
    mean = float(whole.positives_per_row()[train].mean())
    assert f"{mean:.{len(positives.partition('.')[2])}f}" == positives


def test_first_rows_of_the_official_draw_of_voc2012() -> None:
    data = _real("voc2012")
    found = [(str(name), data.classes[c]) for name, c in zip(data.splits["train"].ids, _shown(data), strict=True)]
    assert found[:6] == [
        ("2008_000008", "horse"), ("2008_000015", "bottle"), ("2008_000019", "dog"), ("2008_000023", "tvmonitor"),
        ("2008_000028", "car"), ("2008_000033", "aeroplane"),
    ]  # fmt: skip


def test_the_benchmarks_are_listed() -> None:
    assert set(TABLE) | {"coco10k", "scenes"} == set(NAMED)
