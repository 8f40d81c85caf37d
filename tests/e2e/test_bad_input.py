"""Wrong names, wrong values, broken files: a sentence with what would be right, the right exit code, no traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from .conftest import Onetag


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trian", "x"], 2, "did you mean 'train'?"),
        (["train", "{vectors}", "-o", "{out}", "--metod", "em"], 2, "--method"),
        (["train", "{vectors}", "-o", "{out}", "--method", "em_alp"], 2, "did you mean 'em_apl'?"),
        (
            ["train", "{vectors}", "-o", "{out}", "--backbone", "efficientnet_lite9"],
            2,
            "did you mean 'efficientnet_lite",
        ),
        (["train", "{photos}", "-o", "{out}", "--backbone", "timm:resnet18x"], 2, "did you mean 'resnet18'?"),
        (["train", "{photos}", "-o", "{out}", "--backbone", "resnet50"], 1, "--weights FILE"),
        (["train", "{photos}", "-o", "{out}", "--backbone", "features"], 2, "these are pictures"),
        (["train", "{vectors}", "-o", "{out}", "--set", "loss.alhpa=1"], 2, "did you mean 'alpha'?"),
        (["train", "{vectors}", "-o", "{out}", "--set", "loss.alpha=big"], 2, "expected `float`"),
        (["train", "{vectors}", "-o", "{out}", "--set", "optimiser.lr=1"], 2, "did you mean 'optimizer'?"),
        (["train", "{vectors}", "-o", "{out}", "--set", "optimizer.rate=1"], 2, "unknown key 'optimizer.rate'"),
        (["train", "{vectors}", "-o", "{out}", "--set", "loss.name=emm"], 2, "did you mean 'em'?"),
        (["train", "{vectors}", "-o", "{out}", "--set", "alpha"], 2, "KEY=VALUE"),
        (["train", "{vectors}", "-o", "{out}", "--lr", "-1"], 2, "optimizer.lr must be above 0"),
        (["train", "{vectors}", "-o", "{out}", "--epochs", "0"], 2, "epochs"),
        (["train", "{vectors}", "-o", "{out}", "--set", "labels.negative_weight=atuo"], 2, "a number or"),
        (["train", "{vectors}", "-o", "{out}", "--annotation", "one_positve"], 2, "did you mean 'one_positive'?"),
        (
            ["train", "{vectors}", "-o", "{out}", "--annotation", "one_positive", "--labels", "partial"],
            2,
            "hides labels",
        ),
        (["train", "{vectors}", "-o", "{out}", "--val", "x", "--val-share", "0.1"], 2, "give one"),
        (["train", "{vectors}", "-o", "{out}", "--val-share", "1.5"], 2, "val_share"),
        (["train", "{vectors}", "-o", "{out}", "--method", "softmax", "--set", "labeler.name=apl"], 2, "softmax"),
        (["train", "{vectors}", "-o", "{out}", "--set", "loss.name=os.path:join"], 2, "--allow-code os"),
        (["train", "{vectors}", "-o", "{out}", "--set", 'phases=[{train="all",epochs=1}]'], 2, "frozen features"),
        (["train", "{vectors}", "-o", "{out}", "--train", "everything"], 2, "features"),
        (["train", "-o", "{out}"], 2, "say what to train on"),
        (["train", "{out}/nowhere", "-o", "{out}/a"], 1, "no such file or folder"),
        (["train", "coco10k", "-o", "{out}/a"], 1, "--data coco10k=PATH"),
        (["train", "coco10k", "-o", "{out}/a", "--data", "coco10k"], 2, "NAME=PATH"),
        (["train", "{vectors}", "-o", "{out}", "--recipe", "{out}/none.toml"], 2, "cannot be read"),
        (["train", "{vectors}", "-o", "{out}", "--format", "cvs"], 2, "did you mean 'csv'?"),
        (["eval", "{out}/none", "{vectors}"], 1, "no such run folder"),
        (["predict", "{out}/none", "{vectors}"], 1, "no such run folder"),
        (["report", "{out}/none"], 1, "no such run folder"),
        (["list", "loss"], 2, "losses"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(
    onetag: Onetag, vectors: Path, pictures: Path, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    places = {"vectors": vectors / "train", "photos": pictures / "photos", "out": tmp_path}
    answer = onetag(
        *(argument.format(**places) if "{" in argument and "[{" not in argument else argument for argument in arguments)
    )
    assert answer.code == code, answer.err
    assert words in answer.err
    assert not (tmp_path / "config.json").exists()


def test_broken_pictures_are_skipped_counted_and_named(onetag: Onetag, pictures: Path, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    shutil.copytree(pictures / "photos", photos)
    folders = sorted(path for path in photos.iterdir() if path.is_dir())
    good = next(folders[0].glob("*.jpg"))
    (folders[0] / "cut.jpg").write_bytes(good.read_bytes()[:2000])
    (folders[1] / "words.jpg").write_text("no picture")
    (photos / "nothing").mkdir()
    answer = onetag("train", photos, "-o", tmp_path / "a", "--epochs", 2)
    assert answer.code == 0
    for word in ("cut.jpg", "words.jpg", "2 files skipped", "nothing"):
        assert word in answer.err
    assert (tmp_path / "a" / "skipped.jsonl").read_text().count("\n") == 2
    strict = onetag("train", photos, "-o", tmp_path / "b", "--epochs", 2, "--strict")
    assert strict.code == 1
    assert "cut.jpg" in strict.err or "words.jpg" in strict.err
    only_bad = tmp_path / "bad"
    (only_bad / "x").mkdir(parents=True)
    (only_bad / "x" / "words.jpg").write_text("no picture")
    nothing = onetag("train", only_bad, "-o", tmp_path / "c")
    assert nothing.code == 1
    assert "no training picture is left" in nothing.err


def test_a_folder_that_is_not_a_run_is_left_alone(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for extra in ([], ["--resume"]):
        answer = onetag("train", vectors / "train", "-o", tmp_path / "mine", *extra)
        assert answer.code == 2
        assert "holds no run" in answer.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_broken_run_folders_are_answered(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    assert onetag("train", vectors / "train", "-o", tmp_path / "a", "--epochs", 1).code == 0

    def broken(name: str, content: bytes | None) -> str:
        folder = tmp_path / f"b-{name}-{content is None}-{len(content or b'')}"
        shutil.copytree(tmp_path / "a", folder)
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        answer = onetag("eval", folder, vectors / "test")
        assert answer.code == 1
        return answer.err

    assert "not finished" in broken("config.json", None)
    assert "cannot be read" in broken("config.json", b"{")
    assert "schema 99" in broken("config.json", b'{"schema": 99}')
    assert "head.safetensors" in broken("head.safetensors", b"\x00" * 64)
    assert "head.safetensors" in broken("head.safetensors", None)


def test_extreme_sizes_train_or_say_why_not(onetag: Onetag, tmp_path: Path) -> None:
    """One class; one picture; a class without positives; pictures without tags; no tag at all."""

    def train(name: str, rows: list[str], classes: str, *extra: object) -> tuple[int, str]:
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "features.npy", np.random.default_rng(0).normal(size=(len(rows), 4)).astype(np.float32))
        (folder / "table.csv").write_text("path,tags\n" + "".join(f"p{i},{tags}\n" for i, tags in enumerate(rows)))
        (folder / "classes.txt").write_text(classes)
        answer = onetag("train", folder, "-o", folder / "run", *extra)
        return answer.code, answer.err

    assert train("one-class", ["a"] * 10, "a\n")[0] == 0
    assert train("one-picture", ["a"], "a\nb\n")[0] == 0
    code, said = train("unseen", ["a", "b"] * 10, "a\nb\nc\n")
    assert code == 0
    assert "1 classes are never shown" in said
    code, said = train("bare", ["a", "", "b", ""] * 5, "a\nb\n")
    assert code == 0
    assert "10 pictures show no tag" in said
    code, said = train("empty", ["", ""], "a\n")
    assert code == 1
    assert "nothing can be learned" in said
    code, said = train(
        "late", ["a", "b"] * 10, "a\nb\n", "--method", "em_apl", "--epochs", 5, "--set", "labeler.warmup=5"
    )
    assert code == 0
    assert "apl never acts" in said
    code, said = train(
        "one-batch", ["a", "b"] * 4, "a\nb\n", "--method", "em_apl", "--batch-size", 64, "--set", "labeler.warmup=1"
    )
    assert code == 0
    assert list((tmp_path / "one-batch" / "run" / "labels").glob("proposal-*")), (
        "a training set of one batch gets its pseudo-labels"
    )


def test_a_share_beside_a_val_side_is_refused(onetag: Onetag, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.eye(4, dtype=np.float32))
    (tmp_path / "table.csv").write_text("path,tags,split\na,x,train\nb,y,train\nc,x,val\nd,y,val\n")
    answer = onetag("train", tmp_path, "-o", tmp_path / "run", "--val-share", 0.5)
    assert answer.code == 2
    assert "val side of its own (2 samples)" in answer.err
    assert onetag("train", tmp_path, "-o", tmp_path / "run", "--epochs", 2).code == 0


def test_a_test_side_is_never_trained_on(onetag: Onetag, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "table.csv").write_text("path,tags,split\na,x,test\nb,y,test\n")
    answer = onetag("train", tmp_path, "-o", tmp_path / "run")
    assert answer.code == 1
    assert "no training side, only test" in answer.err


def test_a_diverging_model_is_said(onetag: Onetag, vectors: Path, tmp_path: Path) -> None:
    answer = onetag(
        "train",
        vectors / "train",
        "-o",
        tmp_path / "a",
        "--method",
        "an",
        "--lr",
        "1e38",
        "--set",
        "optimizer.name=sgd",
    )
    assert answer.code == 1
    assert "diverged" in answer.err
