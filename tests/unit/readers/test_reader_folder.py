"""Image folders: what lies where, copies of a picture, and everything else that lies around in folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from onetag.core.reading import DataError, ReadOptions
from onetag.core.split import Data, Split
from onetag.readers.folder import Folder


def put(root: Path, *names: str, content: str | None = None) -> None:
    """Files that look like pictures by their names; the reader never looks at pixels."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content or f"picture {name}")


def read(root: Path, **options: str) -> Data:
    assert Folder().recognises(root)
    return Folder().read(root, ReadOptions(**options))  # type: ignore[arg-type]


def tags(split: Split) -> dict[str, list[str]]:
    return {str(name): [split.classes[c] for c in split.labels.positives(row)] for row, name in enumerate(split.ids)}


def test_a_folder_per_class(tmp_path: Path) -> None:
    put(tmp_path, "dog/2.JPG", "cat/1.jpg", "cat/deep/er/3.Png", "potted plant/ä.webp")
    data = read(tmp_path)
    split = data.only()
    assert tags(split) == {
        "cat/1.jpg": ["cat"],
        "cat/deep/er/3.Png": ["cat"],
        "dog/2.JPG": ["dog"],
        "potted plant/ä.webp": ["potted plant"],
    }
    assert split.paths is not None
    assert split.paths[0] == str(tmp_path / "cat/1.jpg")
    assert not data.complete and (split.labels.rest == 0).all()
    assert data.read_as == (
        "read as image folder: one folder per class, 4 pictures, 3 classes, 1.00 positives per picture, rest unknown"
    )
    assert data.notes == () and data.skipped == ()


def test_complete_folders(tmp_path: Path) -> None:
    put(tmp_path, "dog/2.jpg", "cat/1.jpg")
    data = read(tmp_path, labels="complete")
    assert data.complete
    assert data.only().truth == data.only().labels
    assert data.only().labels.to_dense().tolist() == [[1, -1], [-1, 1]]


@pytest.mark.parametrize(
    ("names", "sides"),
    [
        (("train", "val"), ["train", "val"]),
        (("Training", "validation", "test"), ["train", "val", "test"]),
        (("train", "valid"), ["train", "val"]),
        (("train",), ["train"]),
    ],
)
def test_sides(tmp_path: Path, names: tuple[str, ...], sides: list[str]) -> None:
    for name in names:
        put(tmp_path, f"{name}/cat/{name}1.jpg")
    put(tmp_path, f"{names[0]}/dog/2.jpg")
    data = read(tmp_path)
    assert list(data.splits) == sides
    assert all(split.classes == ("cat", "dog") for split in data.splits.values())
    assert f"{names[0]}/dog/2.jpg" in data.splits["train"].ids.tolist()


def test_a_class_called_train_is_a_class(tmp_path: Path) -> None:
    put(tmp_path, "train/1.jpg", "bus/2.jpg")
    assert read(tmp_path).classes == ("bus", "train")
    put(tmp_path, "train/steam/3.jpg")
    assert read(tmp_path).classes == ("bus", "train")


def test_what_lies_beside_the_sides(tmp_path: Path) -> None:
    put(tmp_path, "train/cat/1.jpg", "val/cat/2.jpg", "test/3.jpg", "labels/x.json", "4.jpg")
    data = read(tmp_path)
    assert list(data.splits) == ["train", "val"]
    assert {problem.where for problem in data.skipped} == {"test/3.jpg", "labels/x.json", "4.jpg"}


def test_two_folders_of_the_same_side(tmp_path: Path) -> None:
    put(tmp_path, "train/cat/1.jpg", "val/cat/2.jpg", "valid/cat/3.jpg")
    with pytest.raises(DataError, match="val and valid are the same side"):
        read(tmp_path)


def test_the_same_picture_in_two_class_folders_has_two_tags(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg", "dog/copy.jpg", content="x" * 100_000)
    put(tmp_path, "cat/almost.jpg", content="x" * 99_999 + "y")
    put(tmp_path, "cat/other.jpg", content="z" * 100_000)
    put(tmp_path, "cat/empty.jpg", "dog/empty.jpg")
    (tmp_path / "cat/empty.jpg").write_bytes(b"")
    (tmp_path / "dog/empty.jpg").write_bytes(b"")
    data = read(tmp_path)
    assert tags(data.only()) == {
        "cat/1.jpg": ["cat", "dog"],
        "cat/almost.jpg": ["cat"],
        "cat/empty.jpg": ["cat"],
        "cat/other.jpg": ["cat"],
        "dog/empty.jpg": ["dog"],
    }
    assert any("1 copy of pictures in several places" in note for note in data.notes)


def test_copies_on_two_sides_stay_on_both(tmp_path: Path) -> None:
    put(tmp_path, "train/cat/1.jpg", "val/dog/1.jpg", content="same")
    data = read(tmp_path)
    assert tags(data.splits["train"]) == {"train/cat/1.jpg": ["cat"]}
    assert tags(data.splits["val"]) == {"val/dog/1.jpg": ["dog"]}


def test_what_is_no_picture_is_counted(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg", "cat/notes.TXT", "cat/x.txt", "cat/Thumbs.db", "cat/.hidden.jpg", ".git/x.jpg", "a.csv")
    (tmp_path / "cow").mkdir()
    data = read(tmp_path)
    assert data.classes == ("cat", "cow")
    assert tags(data.only()) == {"cat/1.jpg": ["cat"]}
    assert any("1 class without pictures: cow" in note for note in data.notes)
    assert any("4 files that are no pictures: 2 .txt" in note for note in data.notes)
    assert {problem.where for problem in data.skipped} == {"cat/notes.TXT", "cat/x.txt", "cat/Thumbs.db", "a.csv"}


def test_pictures_without_class_folders(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg", "2.jpg")
    with pytest.raises(
        DataError, match=r"2 pictures that are in no class folder; one folder per class is expected: .*/cat/1.jpg"
    ):
        read(tmp_path)
    put(tmp_path, "cat/1.jpg")
    data = read(tmp_path)
    assert tags(data.only()) == {"cat/1.jpg": ["cat"]}
    assert any("2 pictures in no class folder were skipped" in note for note in data.notes)


def test_a_folder_without_pictures(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no pictures; one folder per class is expected"):
        read(tmp_path)
    put(tmp_path, "cat/x.txt")
    with pytest.raises(DataError, match="holds no pictures"):
        read(tmp_path)
    with pytest.raises(DataError, match="is no folder"):
        Folder().read(tmp_path / "cat/x.txt", ReadOptions())


def test_links_do_not_hang(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "cat/1.jpg")
    (root / "cat/loop").symlink_to(root)
    (root / "cat/self").symlink_to(root / "cat/self")
    (root / "cat/gone.jpg").symlink_to(tmp_path / "nothing.jpg")
    put(tmp_path, "elsewhere/2.jpg")
    (root / "dog").symlink_to(tmp_path / "elsewhere")
    (root / "cat/link.jpg").symlink_to(tmp_path / "elsewhere/2.jpg")
    data = read(root)
    assert tags(data.only()) == {"cat/1.jpg": ["cat"], "cat/link.jpg": ["cat", "dog"]}
    whys = {problem.where: problem.why for problem in data.skipped}
    assert "leads back" in whys["cat/loop"]
    assert "link" in whys["cat/gone.jpg"]
    assert any("could not be read" in note for note in data.notes)


def test_folders_that_link_to_each_other_do_not_multiply(tmp_path: Path) -> None:
    for one in range(12):
        put(tmp_path, f"c{one}/{one}.jpg")
        for other in range(12):
            if other != one:
                (tmp_path / f"c{one}/to{other}").symlink_to(tmp_path / f"c{other}")
    assert len(read(tmp_path).only()) == 12


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg")
    os.mkfifo(tmp_path / "cat/pipe.jpg")
    assert [problem.where for problem in read(tmp_path).skipped] == ["cat/pipe.jpg"]


def test_names_that_are_not_utf8_are_skipped(tmp_path: Path) -> None:
    put(tmp_path, "cat/1.jpg")
    with open(os.fsencode(tmp_path) + b"/cat/caf\xe9.jpg", "wb") as file:
        file.write(b"x")
    data = read(tmp_path)
    assert tags(data.only()) == {"cat/1.jpg": ["cat"]}
    assert "not UTF-8" in data.skipped[0].why
    data.skipped[0].where.encode()


def test_unreadable_folders_are_named() -> None:
    with tempfile.TemporaryDirectory() as place:  # not tmp_path: its parents are root's own where root runs the tests
        root = Path(place)
        put(root, "cat/1.jpg", "dog/2.jpg")
        root.chmod(0o755)
        (root / "dog").chmod(0)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)  # root reads everything
            data = read(root)
        finally:
            os.seteuid(user)
            (root / "dog").chmod(0o755)
    assert data.classes == ("cat", "dog")
    assert [problem.where for problem in data.skipped] == ["dog"]
