"""The audit: what each kind of finding finds, and what it leaves alone."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import onetag
from onetag.audit import likeness
from onetag.audit.chart import bars
from onetag.audit.examine import Audit, examine, refused
from onetag.audit.findings import Finding, Report, line, place
from onetag.audit.manifest import refuse, write_manifest
from onetag.audit.page import write_page
from onetag.audit.pictures import look, look_at_all
from onetag.audit.rows import table_rows
from onetag.audit.tags import similar_names
from onetag.audit.text import text, visible
from onetag.core.errors import OnetagError, UsageError
from onetag.core.labels import LabelTable
from onetag.core.progress import Listener
from onetag.core.reading import DataError
from onetag.core.split import Data, Split


def photo(number: int, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """A picture with coarse shapes, like no other one."""
    rng = np.random.default_rng(number)
    shapes = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
    return shapes.resize(size, Image.Resampling.BICUBIC)


def save(path: Path, number: int, **how: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    photo(number).save(path, **how)
    return path


def table(folder: Path, content: str, name: str = "tags.csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def kinds(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


def of(audit: Audit, kind: str) -> list[dict]:
    everything = [*audit.report.errors, *audit.report.warnings, *audit.report.unusual]
    return next((list(finding.items) for finding in everything if finding.kind == kind), [])


# ---- one picture


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("cut", [1, 40, 4000])
def test_a_truncated_photo_is_found_although_only_a_fraction_is_decoded(
    tmp_path: Path, cut: int, progressive: bool
) -> None:
    photo(1, (1600, 1200)).save(tmp_path / "a.jpg", quality=95, progressive=progressive)
    content = (tmp_path / "a.jpg").read_bytes()
    with Image.open(io.BytesIO(content)) as picture:
        picture.draft("RGB", (2 * likeness.SIDE, 2 * likeness.SIDE))
        assert picture.size[0] == 200, "large photos are decoded at an eighth of their size"
    (tmp_path / "cut.jpg").write_bytes(content[:-cut])
    assert look(str(tmp_path / "a.jpg")).problem == ""
    assert "truncated" in look(str(tmp_path / "cut.jpg")).problem


def test_what_is_no_picture_says_why_and_nothing_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words.jpg").write_text("no picture")
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "x.heic").write_bytes(b"\0" * 99)
    save(tmp_path / "big.jpg", 1)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    for name, words in (
        ("words.jpg", "not a picture"), ("empty.jpg", "empty"), ("folder.jpg", "not a file"), ("none.jpg", "does not exist"),
        ("x.heic", "pillow-heif"), ("words.jpg/x.jpg", "does not exist"), ("a\0b.jpg", "cannot be read"),
    ):  # fmt: skip
        assert words in look(str(tmp_path / name)).problem, name
    looks = look_at_all([str(tmp_path / "big.jpg"), str(tmp_path / "none.jpg")], Listener())
    assert "decompression bomb" in looks.problems[0]
    assert looks.missing == {1}
    assert not looks.is_usable.any()


def test_unusual_kinds_are_counted(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 6
    photo(1).convert("CMYK").save(tmp_path / "cmyk.jpg")
    Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16).save(tmp_path / "deep.png")
    photo(2).quantize(16).save(tmp_path / "palette.png")
    photo(3).convert("RGBA").save(tmp_path / "transparent.png")
    photo(4).save(tmp_path / "moving.gif", save_all=True, append_images=[photo(5)])
    photo(6).save(tmp_path / "turned.jpg", exif=exif)
    photo(7).save(tmp_path / "plain.jpg")
    photo(8).save(tmp_path / "preview.jpg", format="MPO", save_all=True, append_images=[photo(9)])
    traits = {path.stem: set(look(str(path)).traits) for path in tmp_path.iterdir()}
    assert traits == {
        "cmyk": {"cmyk"}, "deep": {"sixteen_bit"}, "palette": {"palette"}, "transparent": {"transparent"},
        "moving": {"palette", "animated"}, "turned": {"exif_rotated"}, "plain": set(), "preview": set(),
    }  # fmt: skip
    assert look(str(tmp_path / "turned.jpg")).size == (64, 48)


def test_sixteen_bits_in_colour_are_seen_although_pillow_narrows_them(tmp_path: Path) -> None:
    import struct
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes(range(240)) for _ in range(40))  # 40 x 40 of 3 x 16 bits
    header = struct.pack(">IIBBBBB", 40, 40, 16, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    (tmp_path / "deep.png").write_bytes(content)
    seen = look(str(tmp_path / "deep.png"))
    assert (seen.problem, seen.mode, seen.traits) == ("", "RGB", ("sixteen_bit",))


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    class Hear(Listener):
        def advance(self, task: str, done: int, total: int, note: str = "") -> None:
            told.append((done, total))

    paths = [str(save(tmp_path / f"{n}.png", n)) for n in range(70)]
    looks = look_at_all(paths, Hear())
    assert told == [(64, 70), (70, 70)]
    assert looks.is_usable.all()
    assert looks.kinds == {"PNG": 70}


# ---- likeness


def _brute(hashes: NDArray[np.uint64], most: int) -> set[tuple[int, int]]:
    apart = np.bitwise_count(hashes[:, None] ^ hashes[None])
    return {(int(a), int(b)) for a, b in np.argwhere(apart <= most) if a < b}


@pytest.mark.parametrize("most", [2, likeness.DISTANCE, 7])
def test_every_pair_of_near_hashes_is_found_once(most: int) -> None:
    rng = np.random.default_rng(most)
    base = rng.integers(0, 2**63, 150, dtype=np.uint64)
    made = [base]
    for flips in (1, 2, 4, 6, 7, 8, 9):
        bits = np.array([rng.choice(64, flips, replace=False) for _ in base]).astype(np.uint64)
        made.append(base ^ np.bitwise_or.reduce(np.uint64(1) << bits, axis=1))
    hashes = np.unique(np.concatenate(made))
    found = [(int(a), int(b)) for one, other, _ in likeness.near(hashes, most) for a, b in zip(one, other, strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == _brute(hashes, most)
    assert len(found) > 100


def _describe(pictures: list[Image.Image]) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.bool_]]:
    side = likeness.SIDE
    grey = [np.asarray(p.convert("L").resize((side, side), Image.Resampling.BOX)) for p in pictures]
    return likeness.describe(np.stack(grey))


def test_resized_recompressed_grey_and_brighter_copies_look_alike_and_others_do_not() -> None:
    def compressed(picture: Image.Image) -> Image.Image:
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=30)
        return Image.open(content)

    originals = [photo(number, (256, 192)) for number in range(40)]
    for change in (
        lambda p: p.resize((180, 150)), compressed, lambda p: p.convert("L"), lambda p: p.point(lambda v: min(255, v * 1.1 + 4)),
    ):  # fmt: skip
        hashes, small, _ = _describe([*originals, *(change(picture) for picture in originals)])
        within, across = likeness.alike(hashes, small, np.repeat([0, 1], 40))
        assert within.number == 0
        low, high, _ = across.pairs
        assert (high - low == 40).all()
        assert len(high) >= 38


def test_pictures_without_structure_are_not_compared() -> None:
    empty = [Image.new("RGB", (64, 64), (level, level, level)) for level in (0, 128, 255)]
    assert _describe(empty)[2].all()
    assert not _describe([photo(1), photo(2)])[2].any()


def test_many_frames_of_a_still_camera_are_a_line_each() -> None:
    hashes, small, _ = _describe([photo(1)])
    rng = np.random.default_rng(0)
    many = np.repeat(hashes, 3000)
    for bit in range(6):
        many ^= rng.integers(0, 2, 3000).astype(np.uint64) << np.uint64(10 * bit)
    within, _ = likeness.alike(many, np.repeat(small, 3000, axis=0), np.zeros(3000, np.int64))
    assert within.pairs[1].tolist() == list(range(1, 3000))
    assert (within.pairs[0] < within.pairs[1]).all()


def test_a_likeness_of_hashes_alone_is_not_believed() -> None:
    hashes, small, _ = _describe([photo(1), photo(2)])
    same = np.repeat(hashes[:1], 2)
    assert likeness.alike(same, small, np.zeros(2, np.int64))[0].number == 0
    assert likeness.alike(same, small[[0, 0]], np.zeros(2, np.int64))[0].number == 1


# ---- rows


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.csv", "path,tags\na.jpg,x\nb.jpg,y\n", [2, 3]),
        ("a.csv", "\ufeff\n\npath;tags\n\na.jpg;x\n\"b.jpg\";\"y\"\n", [5, 6]),
        ("a.csv", 'note,path,tags\n"two\nlines",a.jpg,x\n,b.jpg,y\n', [2, 3]),
        ("a.tsv", "image\tlabel\na.jpg\tx\nb.jpg\ty\n", [2, 3]),
        ("a.csv", "path,cat,dog\na.jpg,1,0\nb.jpg,0,1\n", [2, 3]),
        ("a.csv", "path,tags,split\na.jpg,x,train\na.jpg,x,validation\nb.jpg,y,Test\n", [2, 3, 4]),
        ("a.jsonl", '{"path": "a.jpg", "tags": ["x"]}\n\n{"tags": ["y"], "path": "b.jpg"}\n', [1, 3]),
    ],
)  # fmt: skip
def test_rows_are_those_that_a_person_counts(tmp_path: Path, name: str, content: str, rows: list[int]) -> None:
    found = table_rows(onetag.load(table(tmp_path, content, name)))
    assert found is not None
    assert found.first.tolist() == rows


def test_rows_of_folders_of_tables(tmp_path: Path) -> None:
    table(tmp_path / "a", "path,tags\na.jpg,x\n", "train.csv")
    table(tmp_path / "a", "path,tags\n\na.jpg,x\n", "test.csv")
    table(tmp_path / "a", "path,tags\na.jpg,x\n", "labels.csv")
    found = table_rows(onetag.load(tmp_path / "a"))
    assert found is not None
    assert [(found.tables[at], row) for at, row in zip(found.table, found.first.tolist(), strict=True)] == [
        ("train.csv", 2),
        ("test.csv", 3),
    ]
    assert not found.again
    for side, row in (("train", "a.jpg"), ("test", "b.jpg")):
        table(tmp_path / "b" / side, f"file_name,label\n{row},x\n{row[0]}2.jpg,y\n", "metadata.csv")
    found = table_rows(onetag.load(tmp_path / "b"))
    assert found is not None
    assert sorted(found.tables) == ["test/metadata.csv", "train/metadata.csv"]
    assert found.first.tolist() == [2, 3, 2, 3]


def test_rows_of_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"path": ["b.jpg", "a.jpg", "b.jpg"], "tags": [["x"], ["y"], ["z"]]}), tmp_path / "a.parquet"
    )
    found = table_rows(onetag.load(tmp_path / "a.parquet"))
    assert found is not None
    assert found.first.tolist() == [1, 2]
    assert found.again == {0: [3]}


def test_rows_are_not_said_where_there_are_none_or_the_table_has_changed(tmp_path: Path) -> None:
    save(tmp_path / "photos" / "cat" / "a.jpg", 1)
    table(tmp_path / "photos", "path,tags\ncat/a.jpg,x\n", "labels.csv")
    assert table_rows(onetag.load(tmp_path / "photos")) is None
    data = onetag.load(table(tmp_path, "path,tags\na.jpg,x\nb.jpg,y\n"))
    table(tmp_path, "path,tags\nc.jpg,x\nb.jpg,y\n")
    assert table_rows(data) is None


# ---- copies, leaks, conflicts


def test_leaks_name_both_sides_and_their_rows(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)):
        save(tmp_path / f"{name}.png", number)
    save(tmp_path / "a2.png", 1)
    photo(2).save(tmp_path / "b2.jpg", quality=60)
    rows = "a,x,train,\nb,x,train,\nc,x,train,\nd,x,train,g1\na2,x,test,\nb2.jpg,y,test,\nc,x,test,\ne,x,test,g1\n"
    rows = "".join(
        f"{r.partition(',')[0]}{'' if '.jpg' in r else '.png'},{r.partition(',')[2]}\n" for r in rows.split()
    )
    audit = examine(onetag.load(table(tmp_path, f"path,tags,split,group\n{rows}")))
    assert kinds(audit.report.errors) == {"leak_same_content", "leak_same_path", "leak_group"}
    first = {"path": "a.png", "row": 2, "side": "train"}
    assert of(audit, "leak_same_content") == [{"path": "a2.png", "row": 6, "side": "test", "same_as": first}]
    assert [item["row"] for item in of(audit, "leak_same_path")] == [8]
    assert [(i["group"], i["row"], i["beside"]["row"]) for i in of(audit, "leak_group")] == [("g1", 5, 9)]
    assert of(audit, "leak_group")[0]["pictures"] == {"train": 1, "test": 1}
    assert [(i["path"], i["same_as"]["row"]) for i in of(audit, "near_leak")] == [("b2.jpg", 3)]
    assert of(audit, "near_duplicates") == of(audit, "exact_duplicates") == []
    assert audit.report.info["near_duplicates"]["pairs"] == {"across_sides": 1, "on_one_side": 0}


def test_copies_on_one_side_are_warned_of_and_only_contradictions_are_errors(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("a2", 1), ("b", 2), ("b2", 2)):
        save(tmp_path / f"{name}.png", number)
    rows = "path,tags,negatives\na.png,x,\na2.png,y,\nb.png,x,\nb2.png,y,x\n"
    audit = examine(onetag.load(table(tmp_path, rows)))
    assert [item["path"] for item in of(audit, "exact_duplicates")] == ["a2.png", "b2.png"]
    conflict = {"path": "b.png", "row": 4, "tag": "x", "against": {"path": "b2.png", "row": 5}}
    assert of(audit, "conflicting_labels") == [conflict]
    # Where an absent tag means absent, a copy without it denies it.
    audit = examine(onetag.load(table(tmp_path, rows), labels="complete"))
    assert [(item["path"], item["tag"]) for item in of(audit, "conflicting_labels")] == [
        ("a.png", "x"), ("a2.png", "y"), ("b.png", "x"), ("b2.png", "y"),
    ]  # fmt: skip


def test_missing_pictures_are_still_compared_by_their_path(tmp_path: Path) -> None:
    rows = "path,tags,negatives,split\na.jpg,x,,train\na.jpg,y,x,test\nb.jpg,x,,train\n"
    audit = examine(onetag.load(table(tmp_path, rows)))
    assert kinds(audit.report.errors) == {"missing_pictures", "leak_same_path", "conflicting_labels"}
    assert [item["row"] for item in of(audit, "missing_pictures")] == [2, 4, 3], "side after side"
    assert "--images" in audit.report.errors[0].message


def test_a_missing_picture_that_is_there_in_another_case_is_named(tmp_path: Path) -> None:
    for name in ("a.JPG", "cafe\u0301.png"):
        save(tmp_path / name, 1)
    rows = "path,tags\na.jpg,x\ncaf\u00e9.png,x\nb.jpg,x\nnowhere/c.jpg,x\n"
    found = of(examine(onetag.load(table(tmp_path, rows))), "missing_pictures")
    assert [item.get("why") for item in found] == [
        "a.JPG is there: its name has another case", "cafe\u0301.png is there: its name has another Unicode form", None, None,
    ]  # fmt: skip


def test_a_table_with_a_row_per_tag_repeats_nothing(tmp_path: Path) -> None:
    rows = "path,tag,value\na.jpg,x,1\na.jpg,y,-1\nb.jpg,x,1\nb.jpg,y,1\n"
    audit = examine(onetag.load(table(tmp_path, rows)))
    assert of(audit, "repeated_rows") == []
    assert [item["row"] for item in of(audit, "missing_pictures")] == [2, 4]


def test_repeated_rows_are_named(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    save(tmp_path / "b.png", 2)
    audit = examine(onetag.load(table(tmp_path, "path,tags\na.png,x\na.png,y\n\na.png,x\nb.png,x\n")))
    assert of(audit, "repeated_rows") == [{"path": "a.png", "row": 2, "also": [3, 5]}]
    assert "2 rows repeat a path" in next(f.message for f in audit.report.warnings if f.kind == "repeated_rows")


def test_what_the_walk_could_not_read_is_an_error_and_what_it_passed_over_is_none(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "a.png", 1)
    save(tmp_path / "dog" / "b.png", 2)
    save(tmp_path / "loose.png", 3)
    (tmp_path / "README.txt").write_text("words")
    audit = examine(onetag.load(tmp_path))
    assert not audit.report.errors
    assert [item["path"] for item in of(audit, "loose_pictures")] == ["loose.png"]
    assert audit.report.info["not_pictures"] == ["README.txt"]
    (tmp_path / "cat" / "loop").symlink_to(tmp_path / "cat")
    (tmp_path / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    audit = examine(onetag.load(tmp_path))
    assert kinds(audit.report.errors) == {"unreadable_files"}
    assert {item["path"] for item in of(audit, "unreadable_files")} == {"cat/loop", "cat/gone.png"}


def test_sizes_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo(1, (31, 400)).save(tmp_path / "tiny.png")
    photo(2, (32, 32)).save(tmp_path / "small.png")
    photo(3, (300, 100)).save(tmp_path / "huge.png")
    monkeypatch.setattr("onetag.audit.examine.HUGE", 29_999)
    audit = examine(onetag.load(table(tmp_path, "path,tags\ntiny.png,x\nsmall.png,x\nhuge.png,x\n")))
    assert of(audit, "tiny_pictures") == [{"path": "tiny.png", "row": 2, "width": 31, "height": 400}]
    assert [item["path"] for item in of(audit, "huge_pictures")] == ["huge.png"]
    assert audit.report.info["sizes"]["largest"] == [300, 100]


# ---- tags


def test_names_that_are_nearly_the_same() -> None:
    names = (
        "cat",
        "Cat",
        "teddy bear",
        "teddy_bear",
        "Teddybear",
        "caf\u00e9",
        "cafe\u0301",
        "c",
        "c++",
        "c#",
        "stra\u00dfe",
        "STRASSE",
        "\uff23at",
    )
    found = {frozenset(item["names"]) for item in similar_names(names).items}
    assert found == {
        frozenset({"cat", "Cat", "\uff23at"}), frozenset({"teddy bear", "teddy_bear", "Teddybear"}),
        frozenset({"caf\u00e9", "cafe\u0301"}), frozenset({"stra\u00dfe", "STRASSE"}),
    }  # fmt: skip
    assert line({"names": ["caf\u00e9", "cafe\u0301", "x"]}) == r"'caf\xe9', 'cafe\u0301', 'x'"


def test_classes_are_counted_where_they_are_learned(tmp_path: Path) -> None:
    table(tmp_path, "many\nfew\nnone\n", "classes.txt")
    rows = [f"{n}.jpg,many,train\n" for n in range(4)] + ["4.jpg,few,train\n", "5.jpg,,train\n"]
    rows += [f"{n}.jpg,none,test\n" for n in range(6, 12)]
    audit = examine(onetag.load(table(tmp_path, f"path,tags,split\n{''.join(rows)}")), least=4)
    assert of(audit, "rare_classes") == [{"tag": "few", "positives": 1}]
    assert of(audit, "unshown_classes") == [{"tag": "none"}]
    assert [item["row"] for item in of(audit, "no_tags")] == [7]
    info = audit.report.info
    assert info["tags"] == {"many": 4, "few": 1, "none": 0}
    assert info["pictures_by_number_of_tags"] == {"0": 1, "1": 5}


def test_feature_vectors_are_checked_without_pictures(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.eye(3, dtype=np.float32))
    data = onetag.load(table(tmp_path, "path,tags\na,x\nb,\nc,y\n", "table.csv").parent)
    audit = examine(data)
    assert not audit.report.errors
    assert [item["path"] for item in of(audit, "no_tags")] == ["b"]
    assert "sizes" not in audit.report.info
    with pytest.raises(UsageError, match="feature vectors"):
        refuse(tmp_path / "clean.csv", data)


# ---- the manifest


def _labels(data: Data) -> dict[str, tuple[str, set[str], set[str]]]:
    found = {}
    for side, split in data.splits.items():
        dense = split.labels.to_dense()
        for row, name in enumerate(split.ids.tolist()):
            signs = [{split.classes[c] for c in np.flatnonzero(dense[row] == sign)} for sign in (1, -1)]
            found[name] = (side, signs[0], signs[1])
    return found


def test_the_manifest_leaves_out_what_is_broken_and_unites_copies(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("a2", 1), ("b", 2), ("c", 3), ("c2", 3), ("d", 4)):
        save(tmp_path / "in" / f"{name}.png", number)
    (tmp_path / "in" / "cut.png").write_bytes((tmp_path / "in" / "a.png").read_bytes()[:-100])
    rows = (
        "path,tags,negatives,split,group\na.png,x,z,train,g\na2.png,y|z,,train,\nb.png,y,,train,\ncut.png,x,,train,\n"
        "none.png,x,,train,\nc.png,x,,train,\nc2.png,y,,test,\nd.png,,,test,\n"
    )
    source = table(tmp_path / "in", rows)
    audit = examine(onetag.load(source))
    said = write_manifest(tmp_path / "clean.csv", audit)
    assert source.read_text() == rows
    read = onetag.load(tmp_path / "clean.csv")
    assert _labels(read) == {
        "in/a.png": ("train", {"x", "y"}, set()), "in/b.png": ("train", {"y"}, set()),
        "in/c2.png": ("test", {"y"}, set()), "in/d.png": ("test", set(), set()),
    }  # fmt: skip
    assert read.splits["train"].groups is not None
    assert read.splits["train"].groups.tolist() == ["g", "in/b.png"]
    assert (said["pictures"], list(said["left_out"].values())) == (4, [2, 1, 1, 0])
    assert not examine(read).report.errors
    assert {path.name for path in tmp_path.iterdir()} == {"in", "clean.csv"}


def test_groups_named_after_a_picture_stay_groups(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2), ("c", 3)):
        save(tmp_path / "in" / f"{name}.png", number)
    source = table(tmp_path / "in", "path,tags,group\na.png,x,\nb.png,x,a.png\nc.png,x,\n")
    write_manifest(tmp_path / "clean.csv", examine(onetag.load(source)))
    groups = onetag.load(tmp_path / "clean.csv").only().groups
    assert groups is not None
    assert groups.tolist() == ["a.png", "a.png", "in/c.png"]


def test_a_complete_manifest_is_read_back_as_complete(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("a2", 1), ("b", 2), ("c", 3), ("c2", 3)):
        save(tmp_path / f"{name}.png", number)
    source = table(tmp_path, "path,tags\na.png,x\na2.png,y\nb.png,x|y\nc.png,x\nc2.png,x\n")
    audit = examine(onetag.load(source, labels="complete"))
    said = write_manifest(tmp_path / "clean.csv", audit)
    # What the copies of a say cannot both be true, and in complete labels nothing can be left open.
    assert (tmp_path / "clean.csv").read_text() == "path,tags\nb.png,x|y\nc.png,x\n"
    assert said["read_with"] == {"labels": "complete"}
    assert said["left_out"]["whose copies contradict each other"] == 2
    read = onetag.load(tmp_path / "clean.csv", **said["read_with"])
    assert _labels(read) == {"b.png": ("all", {"x", "y"}, set()), "c.png": ("all", {"x"}, {"y"})}


def test_rows_that_are_complete_among_partial_ones_keep_their_negatives(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2)):
        save(tmp_path / f"{name}.png", number)
    source = table(tmp_path, "path,x,y,z\na.png,1,0,0\nb.png,1,,0\n")
    write_manifest(tmp_path / "clean.csv", examine(onetag.load(source, zero="negative")))
    assert _labels(onetag.load(tmp_path / "clean.csv")) == {
        "a.png": ("all", {"x"}, {"y", "z"}),
        "b.png": ("all", {"x"}, {"z"}),
    }


def test_pictures_elsewhere_are_named_in_full_and_read_with_images(tmp_path: Path) -> None:
    save(tmp_path / "in" / "deep" / "a.png", 1)
    save(tmp_path / "in" / "b.png", 2)
    source = table(tmp_path / "in", "path,tags\ndeep/a.png,x\nb.png,y\n")
    said = write_manifest(tmp_path / "out" / "clean.csv", examine(onetag.load(source)))
    assert said["read_with"] == {"images": str(tmp_path / "in")}
    with pytest.raises(DataError, match="--images"):
        onetag.load(tmp_path / "out" / "clean.csv")
    read = onetag.load(tmp_path / "out" / "clean.csv", **said["read_with"])
    assert not examine(read).report.errors
    assert set(_labels(read)) == {str(tmp_path / "in" / "deep" / "a.png"), str(tmp_path / "in" / "b.png")}


@pytest.mark.parametrize("name", ["cat, domestic", "a;b", "a|b", 'say "hi"', "x|y;z", "x|y;z,w", "\u00fc n\u00f6"])
def test_class_names_with_separators_survive(tmp_path: Path, name: str) -> None:
    save(tmp_path / "a.png", 1)
    save(tmp_path / "b.png", 2)
    rows = [{"path": "a.png", "tags": [name]}, {"path": "b.png", "tags": ["other"]}]
    source = table(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "in.jsonl")
    said = write_manifest(tmp_path / "clean.csv", examine(onetag.load(source)))
    read = onetag.load(tmp_path / "clean.csv", **said["read_with"])
    assert _labels(read) == {"a.png": ("all", {name}, set()), "b.png": ("all", {"other"}, set())}


def test_whatever_a_reader_lets_through_can_be_audited_and_cleaned(tmp_path: Path) -> None:
    """Random tables over three pictures: nothing raises, rows are known, and a clean manifest has no errors but split groups."""
    for name, number in (("a", 1), ("b", 2), ("c", 1)):
        save(tmp_path / f"{name}.png", number)
    rng = np.random.default_rng(0)
    choices = {
        "path": ["a.png", "b.png", "./a.png", "c.png", "gone.png"], "split": ["train", "test", "Val"], "group": ["", "g", "a.png"],
        "tags": ["", "x", "x|y", "A B", "a_b", "y"], "negatives": ["", "x", "y"], "note": ["1", "", "z"],
    }  # fmt: skip
    cleaned = 0
    for number in range(50):
        columns = ["path", "tags", *rng.permutation(["split", "group", "negatives", "note"])[: rng.integers(0, 5)]]
        rows = [[str(rng.choice(choices[name])) for name in columns] for _ in range(rng.integers(1, 6))]
        content = "\n".join(",".join(row) for row in [columns, *rows]) + "\n"
        try:
            data = onetag.load(table(tmp_path, content), format="csv", labels=(None, "partial", "complete")[number % 3])
        except DataError:
            continue
        audit = examine(data)
        assert audit.samples.rows is not None, content
        assert text(audit.report)
        json.dumps(audit.report.content())
        made = write_manifest(tmp_path / f"{number}.csv", audit)
        if "path" in made:
            again = examine(onetag.load(tmp_path / f"{number}.csv", format="csv", **made["read_with"]))
            assert kinds(again.report.errors) <= {"leak_group"}, content
            assert not of(again, "exact_duplicates")
            cleaned += 1
    assert cleaned > 20


def test_a_manifest_that_would_be_misread_is_not_written(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    ids = np.array(["a.png"])
    split = Split(ids, ("null",), LabelTable.from_lists([[0]], 1), np.array([str(tmp_path / "a.png")]))
    audit = examine(Data({"all": split}, "read as nothing: ", tmp_path))
    with pytest.raises(OnetagError, match="nothing is there"):
        write_manifest(tmp_path / "clean.csv", audit)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_pictures_without_any_tag_can_be_listed(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 1)
    table(tmp_path, "x\n", "classes.txt")
    audit = examine(onetag.load(table(tmp_path, "path,tags\na.png,\n")))
    write_manifest(tmp_path / "clean.csv", audit)
    assert (tmp_path / "clean.csv").read_text() == "path,tags\na.png,\n"


def test_nothing_left_is_said(tmp_path: Path) -> None:
    audit = examine(onetag.load(table(tmp_path, "path,tags\na.png,x\n")))
    assert write_manifest(tmp_path / "clean.csv", audit)["said"] == ["not written: no picture is left"]
    assert not (tmp_path / "clean.csv").exists()


# ---- what people see


def test_the_text_tells_a_few_and_counts_all(tmp_path: Path) -> None:
    names = [f"c{n:02d}" for n in range(30)]
    rows = "".join(f"{n}-{k}.jpg,{name}\n" for n, name in enumerate(names) for k in range(30 - n))
    report = examine(onetag.load(table(tmp_path, f"path,tags\n{rows}"))).report
    said = text(report)
    assert "none of the 465 pictures is there" in said
    assert "and 460 more" in said
    assert "0-0.jpg (row 2)" in said
    assert "c00" in said and "c29" in said and "c15" not in said
    assert "18 others" in said
    assert "\u2588" * 24 in said
    plain = text(report, "ascii")
    assert plain.isascii()
    assert said.splitlines()[-1] == "465 errors, 9 warnings"


def test_names_cannot_steer_a_terminal_or_a_page(tmp_path: Path) -> None:
    assert visible("a\x1b[31m\nb\u202e.jpg") == r"a\x1b[31m\nb\u202e.jpg"
    name = "<script>alert(1)</script>&\x1b"
    report = Report("read as CSV", 1, 1, [Finding("missing_pictures", name, [{"path": name, "row": 1}])])
    report.info = {
        "tags": {name: 1}, "tags_per_picture": 1.0, "pictures_by_number_of_tags": {"1": 1}, "sides": {"all": 1},
        "labels": "partial", "notes": [name],
    }  # fmt: skip
    write_page(tmp_path / "a.html", report, None, name)
    content = (tmp_path / "a.html").read_text()
    assert "<script" not in content
    assert "\x1b" not in content + text(report)
    assert "&lt;script&gt;" in content


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attributes if name in ("src", "href", "action", "srcset")]
        if tag not in ("meta", "img", "rect", "polygon", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "polygon", "meta", "img"):
            assert self.open.pop() == tag


def test_the_page_is_one_file_and_shows_what_it_speaks_of(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("a2", 1), ("b", 2)):
        save(tmp_path / f"{name}.png", number)
    (tmp_path / "cut.png").write_bytes((tmp_path / "b.png").read_bytes()[:-100])
    source = table(tmp_path, "path,tags\na.png,x\na2.png,x\nb.png,<y>\ncut.png,x\n")
    audit = examine(onetag.load(source))
    write_page(tmp_path / "new" / "a.html", audit.report, audit, str(source))
    content = (tmp_path / "new" / "a.html").read_text()
    page = _Links()
    page.feed(content)
    assert page.open == []
    assert len(page.sources) == 2 and all(link.startswith("data:image/jpeg;base64,") for link in page.sources)
    assert "url(" not in content and "@import" not in content
    assert "no picture</span>" in content
    assert "prefers-color-scheme:dark" in content and 'name="viewport"' in content
    assert "&lt;y&gt;" in content
    assert "a2.png (row 3) is the same as a.png (row 2)" in content


def test_the_chart_has_a_bar_per_class_until_there_are_too_many() -> None:
    few = bars({f"c{n}": 100 - n for n in range(60)})
    assert few.count("<rect") == 60
    assert "polygon" not in few
    many = bars({f"c{n}": 1000 - n for n in range(1000)})
    assert many.count("<rect") == 40
    assert many.count("<polygon") == 1
    assert "<rect" not in bars({})


def test_data_that_a_reader_refuses_is_reported_in_the_same_form(tmp_path: Path) -> None:
    source = table(tmp_path, "path,tags\na.jpg,x\n../b.jpg,x\n")
    with pytest.raises(DataError) as caught:
        onetag.load(source)
    content = refused(caught.value).content()
    assert [(e["kind"], e["count"]) for e in content["errors"]] == [("unreadable_data", 1)]
    item = content["errors"][0]["items"][0]
    assert (item["path"], item["row"]) == (str(source), 3)
    assert item["why"].startswith("the path '../b.jpg' leaves")
    assert place(item) == f"{source} (row 3)"
    assert content["info"] == {}
