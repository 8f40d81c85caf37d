"""Tables that are as they should be: what CSV, TSV, Parquet and JSON Lines mean."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onetag.core.reading import Reader, ReadOptions
from onetag.core.split import Data, Split
from onetag.readers.csv import Csv
from onetag.readers.jsonl import Jsonl
from onetag.readers.parquet import Parquet


def read_csv(folder: Path, text: str, name: str = "t.csv", encoding: str = "utf-8", **options: Any) -> Data:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    assert Csv().recognises(path)
    return Csv().read(path, ReadOptions(**options))


def tags(split: Split, negative: bool = False) -> dict[str, list[str]]:
    take = split.labels.negatives if negative else split.labels.positives
    return {str(name): [split.classes[c] for c in take(row)] for row, name in enumerate(split.ids)}


def test_the_echo_says_how_a_table_was_understood(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "file_name,labels\na.jpg,cat|dog\nb.jpg,dog\n")
    assert data.read_as == (
        "read as CSV: path=file_name, tags=labels, separator |, 2 pictures, 2 classes, 1.50 positives per picture,"
        " rest unknown"
    )
    split = data.only()
    assert list(data.splits) == ["all"]
    assert data.source == tmp_path / "t.csv"
    assert not data.complete and split.truth is None
    assert tags(split) == {"a.jpg": ["cat", "dog"], "b.jpg": ["dog"]}
    assert split.paths is not None
    assert split.paths.tolist() == [str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")]
    assert (split.labels.rest == 0).all()


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("path,tags\na.jpg,cat|dog\n", "|"),
        ("path,tags\na.jpg,cat;dog\n", ";"),
        ('path,tags\na.jpg,"cat,dog"\n', ","),
        ('path,tags\na.jpg,"cat, dog"\n', ","),
        ("path\ttags\na.jpg\tcat,dog\n", ","),
        ("path;tags\na.jpg;cat|dog\n", "|"),
        ('path;tags\na.jpg;"cat;dog"\n', ";"),
        ("path|tags\na.jpg|cat,dog\n", ","),
        ('"path","tags"\r\n"a.jpg","cat|dog"\r\n', "|"),
        ("\ufeffpath,tags\r\na.jpg,cat|dog\r\n", "|"),
        ("path,tags\ra.jpg,cat|dog\r", "|"),
        ("\n\n path , tags \n\na.jpg, cat | dog |\n\n", "|"),
        ("Path,TAGS\na.jpg,cat|dog|cat\n", "|"),
    ],
)
def test_separators_are_found(tmp_path: Path, text: str, separator: str) -> None:
    data = read_csv(tmp_path, text)
    assert f"separator {separator}," in data.read_as
    assert tags(data.only()) == {"a.jpg": ["cat", "dog"]}


def test_a_space_separates_only_when_it_is_said(tmp_path: Path) -> None:
    text = "path,tags\na.jpg,potted plant\nb.jpg,cat\n"
    assert read_csv(tmp_path, text).classes == ("cat", "potted plant")
    data = read_csv(tmp_path, text, separator=" ")
    assert data.classes == ("cat", "plant", "potted")
    assert "separator space" in data.read_as


def test_a_separator_that_is_given_wins(tmp_path: Path) -> None:
    data = read_csv(tmp_path, 'path,tags\na.jpg,"tench, Tinca tinca/cat"\n', separator="/")
    assert data.classes == ("cat", "tench, Tinca tinca")
    data = read_csv(tmp_path, 'path,tags\na.jpg,"tench, Tinca tinca"\n', separator="|")
    assert data.classes == ("tench, Tinca tinca",)


def test_empty_cells_are_pictures_without_tags(tmp_path: Path) -> None:
    data = read_csv(tmp_path, 'path,tags\na.jpg,\nb.jpg,""\nc.jpg," "\nd.jpg,cat\n')
    assert tags(data.only()) == {"a.jpg": [], "b.jpg": [], "c.jpg": [], "d.jpg": ["cat"]}


def test_negatives_split_and_group(tmp_path: Path) -> None:
    text = (
        "path,tags,negatives,split,group\n"
        "a.jpg,cat,dog|cow,Train,x\nb.jpg,dog,,VALID,y\nc.jpg,,cat,test,\nd.jpg,cow,,train,x\n"
    )
    data = read_csv(tmp_path, text)
    assert list(data.splits) == ["train", "val", "test"]
    train = data.splits["train"]
    assert tags(train) == {"a.jpg": ["cat"], "d.jpg": ["cow"]}
    assert tags(train, negative=True) == {"a.jpg": ["cow", "dog"], "d.jpg": []}
    assert train.groups is not None
    assert train.groups.tolist() == ["x", "x"]
    assert data.splits["test"].groups is not None
    assert data.splits["test"].groups.tolist() == ["c.jpg"]  # nobody's group but its own
    assert "4 pictures (train 2, val 1, test 1), 3 classes" in data.read_as
    assert "0.75 negatives per picture" in data.read_as


def test_complete_means_that_the_rest_is_negative(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "path,tags,negatives\na.jpg,cat,dog\nb.jpg,dog,\n", labels="complete")
    split = data.only()
    assert data.complete
    assert split.truth is not None and split.truth == split.labels
    assert split.labels.is_complete
    assert split.labels.to_dense().tolist() == [[1, -1], [-1, 1]]
    assert data.read_as.endswith("rest negative")


def test_truth_is_read_beside_what_is_known(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "path,tags,truth\na.jpg,cat,cat|dog\nb.jpg,dog,dog\n")
    split = data.only()
    assert split.truth is not None
    assert split.truth.to_dense().tolist() == [[1, 1], [-1, 1]]
    assert split.labels.to_dense().tolist() == [[1, 0], [0, 1]]


def test_one_column_per_class(tmp_path: Path) -> None:
    text = ",path,dog,cat,width,note\n0,a.jpg,1,0,640,\n1,b.jpg,,1.0,480,\n2,c.jpg,-1,,333,\n"
    data = read_csv(tmp_path, text)
    split = data.only()
    assert split.classes == ("cat", "dog")
    assert split.labels.to_dense().tolist() == [[0, 1], [1, 0], [0, -1]]
    assert "one column per class, 0 = unknown" in data.read_as
    assert any("width" in note for note in data.notes)
    assert any("note" in note for note in data.notes)
    split = read_csv(tmp_path, text, zero="negative").only()
    assert split.labels.to_dense().tolist() == [[-1, 1], [1, 0], [0, -1]]
    assert split.labels.rest.tolist() == [-1, 0, 0]
    split = read_csv(tmp_path, text, labels="complete").only()
    assert split.labels.to_dense().tolist() == [[-1, 1], [1, -1], [-1, -1]]


def test_zeros_called_negative_without_a_gap_are_complete_labels(tmp_path: Path) -> None:
    text = "path,cat,dog\na.jpg,1,0\nb.jpg,0,0\n"
    data = read_csv(tmp_path, text, zero="negative")
    assert data.complete and data.only().truth is not None
    assert not read_csv(tmp_path, text, zero="negative", labels="partial").complete
    assert not read_csv(tmp_path, text).complete


def test_the_long_form_with_values(tmp_path: Path) -> None:
    text = "path,tag,value,source\na.jpg,cat,1,given\na.jpg,dog,-1,model\nb.jpg,dog,+1,model\nb.jpg,cow,0,person\n"
    data = read_csv(tmp_path, text)
    assert tags(data.only()) == {"a.jpg": ["cat"], "b.jpg": ["dog"]}
    assert tags(data.only(), negative=True) == {"a.jpg": ["dog"], "b.jpg": []}


def test_rows_of_the_same_path_are_united(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "path,tags,negatives\nb.jpg,cat,\na.jpg,dog,\nb.jpg,dog,cow\nb.jpg,cat,\n")
    assert tags(data.only()) == {"b.jpg": ["cat", "dog"], "a.jpg": ["dog"]}
    assert tags(data.only(), negative=True)["b.jpg"] == ["cow"]
    assert data.notes == ("2 rows repeat a path; their tags were united",)


def test_the_same_path_on_two_sides_stays_on_both(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "path,tags,split\na.jpg,cat,train\na.jpg,dog,val\na.jpg,cow,train\n")
    assert tags(data.splits["train"]) == {"a.jpg": ["cat", "cow"]}
    assert tags(data.splits["val"]) == {"a.jpg": ["dog"]}


def test_classes_txt_fixes_order_and_names(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("\ufeffdog\ncat\n\nboat, sailing\n", encoding="utf-8")
    data = read_csv(tmp_path, 'path,tags\na.jpg,cat|dog\nb.jpg,"boat, sailing"\n')
    assert data.classes == ("dog", "cat", "boat, sailing")
    assert tags(data.only()) == {"a.jpg": ["dog", "cat"], "b.jpg": ["boat, sailing"]}
    data = read_csv(tmp_path, "path,cat,width\na.jpg,1,0\n")
    assert data.classes == ("dog", "cat", "boat, sailing")
    assert data.only().labels.to_dense().tolist() == [[0, 1, 0]]


def test_unicode_is_kept_as_it_is(tmp_path: Path) -> None:
    text = "path,tags\nbilder/\u00e4.jpg,caf\u00e9|cafe\u0301\n\u65e5\u672c/\U0001f600.png,Katze\n"
    data = read_csv(tmp_path, text)
    assert data.classes == ("Katze", "cafe\u0301", "caf\u00e9")
    assert data.only().ids.tolist() == ["bilder/\u00e4.jpg", "\u65e5\u672c/\U0001f600.png"]


def test_paths_have_forward_slashes_and_start_at_images(tmp_path: Path) -> None:
    data = read_csv(tmp_path, "path,tags\nsub\\a.jpg,cat\n./b..jpg,dog\nx/../c.jpg,dog\n", images=tmp_path / "pics")
    split = data.only()
    assert split.ids.tolist() == ["sub/a.jpg", "./b..jpg", "x/../c.jpg"]
    assert split.paths is not None
    assert split.paths[0] == str(tmp_path / "pics" / "sub/a.jpg")


def test_absolute_paths_inside_the_folder_stay(tmp_path: Path) -> None:
    data = read_csv(tmp_path, f"path,tags\n{tmp_path}/sub/a.jpg,cat\nb.jpg,dog\n")
    assert data.only().paths is not None
    assert data.only().paths.tolist() == [f"{tmp_path}/sub/a.jpg", f"{tmp_path}/b.jpg"]  # type: ignore[union-attr]


def test_columns_are_named_by_option(tmp_path: Path) -> None:
    text = "id,what,album,tags\n1.jpg,cat,x,no\n2.jpg,dog,x,no\n"
    data = read_csv(tmp_path, text, path_column="id", tags_column="what", group_column="album")
    assert tags(data.only()) == {"1.jpg": ["cat"], "2.jpg": ["dog"]}
    assert data.only().groups is not None
    assert "path=id, tags=what, group=album" in data.read_as


def test_quoted_cells_hold_anything(tmp_path: Path) -> None:
    data = read_csv(tmp_path, 'path,tags,note\n"a,1.jpg","the ""cat"""," two\nlines"\n')
    assert tags(data.only()) == {"a,1.jpg": ['the "cat"']}


def test_a_line_of_a_megabyte_is_read(tmp_path: Path) -> None:
    many = "|".join(f"t{i}" for i in range(200_000))
    data = read_csv(tmp_path, f"path,tags\na.jpg,cat\nb.jpg,{many}\nc.jpg,cat\n", separator="|")
    assert data.only().labels.positives_per_row().tolist() == [1, 200_000, 1]
    note = "x" * 9_000_000  # longer than a block
    data = read_csv(tmp_path, f"path,tags,note\na.jpg,cat,\nb.jpg,dog,{note}\nc.jpg,cat,\n")
    assert tags(data.only()) == {"a.jpg": ["cat"], "b.jpg": ["dog"], "c.jpg": ["cat"]}


def test_a_folder_with_a_table_per_side(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("path\ttags\na.jpg\tcat|dog\n")
    (tmp_path / "valid.csv").write_text("path,labels\nb.jpg,cow\n")
    (tmp_path / "test.csv").write_text("path,tags\nc.jpg,cat\n")
    assert Csv().recognises(tmp_path)
    assert not Parquet().recognises(tmp_path)
    data = Csv().read(tmp_path, ReadOptions())
    assert list(data.splits) == ["train", "val", "test"]
    assert all(split.classes == ("cat", "cow", "dog") for split in data.splits.values())
    assert tags(data.splits["val"]) == {"b.jpg": ["cow"]}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], Split]:
    """As fixed-width text, its paths would take a hundred megabytes."""
    folder = tmp_path_factory.mktemp("large")
    names = [
        f"pictures/of/some/considerable/length/in/all/of/them/{i * 7919 % 300_007:06d}.jpg" for i in range(300_000)
    ]
    names[7] = "pictures/\u00e4.jpg"
    text = "path,tags\n" + "".join(f"{name},c{i % 10}|d{i % 7}\n" for i, name in enumerate(names))
    return folder, names, read_csv(folder, text).only()


def test_large_tables_keep_their_order(large: tuple[Path, list[str], Split]) -> None:
    folder, names, split = large
    assert split.paths is not None
    assert split.paths[299_999] == f"{folder}/{names[-1]}"
    assert [split.ids[at] for at in (0, 7, 150_000, -1, np.int64(3))] == [names[at] for at in (0, 7, 150_000, -1, 3)]
    assert split.ids.tolist() == names
    assert split.paths.tolist() == [f"{folder}/{name}" for name in names]
    rows, codes, _, _ = split.labels.entries()
    assert [split.classes[c] for c in codes[rows == 123_456]] == ["c6", "d4"]


def test_large_columns_behave_as_arrays(large: tuple[Path, list[str], Split]) -> None:
    folder, names, _ = large
    split = Csv().read(folder / "t.csv", ReadOptions()).only()
    assert split.paths is not None
    with pytest.raises(IndexError):
        split.ids[300_000]
    for part, start in ((split.ids, ""), (split.paths, f"{folder}/")):
        expected = [start + name for name in names]
        assert part.shape == (300_000,) and part.dtype.kind == "T"
        assert np.flatnonzero(part == expected[77]).tolist() == [77]
        assert part[[5, 3]].tolist() == [expected[5], expected[3]]
        assert part[2:4].tolist() == expected[2:4]
        assert list(part) == expected
        assert np.isin(part, expected[9:11]).sum() == 2
        assert np.argsort(part)[0] == np.argsort(np.array(expected))[0]
        again = pickle.loads(pickle.dumps(part))
        assert isinstance(again, np.ndarray) and again.tolist() == expected
        assert np.concatenate([part, np.array(["x"])]).tolist() == [*expected, "x"]
        assert "array" in repr(part)
    chosen = split.select([5, 3])
    assert chosen.ids.tolist() == [names[5], names[3]]


def test_large_columns_are_made_once_by_many_threads(large: tuple[Path, list[str], Split]) -> None:
    folder, names, _ = large
    split = Csv().read(folder / "t.csv", ReadOptions()).only()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda at: str(split.ids[at]) if at % 3 else str(np.asarray(split.ids)[at]), range(2000)))
    assert found == names[:2000]


def test_repeated_paths_in_large_tables_are_found(tmp_path: Path) -> None:
    rows = [f"{i * 7919 % 100_003:06d}.jpg,c{i % 3}\n" for i in range(100_000)]
    rows.insert(70_000, rows[12].split(",")[0] + ",extra\n")
    data = read_csv(tmp_path, "path,tags\n" + "".join(rows))
    assert len(data.only()) == 100_000
    assert tags(data.only().select([12])) == {"095028.jpg": ["c0", "extra"]}


# ---- Parquet and JSON Lines


def as_parquet(folder: Path, columns: dict[str, Any]) -> tuple[Reader, Path]:
    pq.write_table(pa.table(columns), folder / "t.parquet")
    return Parquet(), folder / "t.parquet"


def as_jsonl(folder: Path, columns: dict[str, Any]) -> tuple[Reader, Path]:
    plain = {name: cells.to_pylist() if isinstance(cells, pa.Array) else cells for name, cells in columns.items()}
    rows = [dict(zip(plain, cells, strict=True)) for cells in zip(*plain.values(), strict=True)]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Jsonl(), folder / "t.jsonl"


@pytest.mark.parametrize("write", [as_parquet, as_jsonl])
def test_lists_of_tags(tmp_path: Path, write: Any) -> None:
    columns = {
        "image": ["a.jpg", "b.jpg", "c.jpg"],
        "tags": [["cat", "dog"], None, []],
        "negatives": [None, ["cat"], []],
    }
    reader, path = write(tmp_path, columns)
    assert reader.recognises(path)
    data = reader.read(path, ReadOptions())
    assert tags(data.only()) == {"a.jpg": ["cat", "dog"], "b.jpg": [], "c.jpg": []}
    assert tags(data.only(), negative=True)["b.jpg"] == ["cat"]
    assert "lists of tags" in data.read_as


@pytest.mark.parametrize("write", [as_parquet, as_jsonl])
def test_text_of_tags(tmp_path: Path, write: Any) -> None:
    reader, path = write(tmp_path, {"path": ["a.jpg", "b.jpg"], "labels": ["cat;dog", None], "split": ["train", "val"]})
    data = reader.read(path, ReadOptions(labels="complete"))
    assert tags(data.splits["train"]) == {"a.jpg": ["cat", "dog"]}
    assert data.splits["val"].labels.to_dense().tolist() == [[-1, -1]]


@pytest.mark.parametrize("write", [as_parquet, as_jsonl])
def test_numbers_as_tags(tmp_path: Path, write: Any) -> None:
    reader, path = write(tmp_path, {"path": ["a.jpg", "b.jpg", "c.jpg"], "label": [3, 12, 3]})
    assert tags(reader.read(path, ReadOptions()).only()) == {"a.jpg": ["3"], "b.jpg": ["12"], "c.jpg": ["3"]}
    reader, path = write(tmp_path, {"path": ["a.jpg", "b.jpg"], "label": [3.0, None]})
    assert tags(reader.read(path, ReadOptions()).only()) == {"a.jpg": ["3"], "b.jpg": []}


@pytest.mark.parametrize("write", [as_parquet, as_jsonl])
def test_columns_per_class_of_any_type(tmp_path: Path, write: Any) -> None:
    columns = {"path": ["a.jpg", "b.jpg"], "cat": [1, 0], "dog": [True, False], "cow": [1.0, None], "size": [4, 9]}
    reader, path = write(tmp_path, columns)
    split = reader.read(path, ReadOptions(zero="negative")).only()
    assert split.classes == ("cat", "cow", "dog")
    assert split.labels.to_dense().tolist() == [[1, 1, 1], [-1, 0, -1]]


def test_parquet_with_other_text_types(tmp_path: Path) -> None:
    columns = {
        "path": pa.array(["a.jpg", "b.jpg", "c.jpg"], pa.large_string()),
        "tags": pa.array(["cat", "dog|cat", None]).dictionary_encode(),
        "width": pa.array([1, 2, 3]),
    }
    reader, path = as_parquet(tmp_path, columns)
    assert tags(reader.read(path, ReadOptions()).only()) == {"a.jpg": ["cat"], "b.jpg": ["cat", "dog"], "c.jpg": []}
    lists = pa.array([["cat"], ["dog", None, "cat"], None], pa.large_list(pa.large_string()))
    reader, path = as_parquet(tmp_path, columns | {"tags": lists})
    assert tags(reader.read(path, ReadOptions()).only()) == {"a.jpg": ["cat"], "b.jpg": ["cat", "dog"], "c.jpg": []}


def test_json_lines_with_different_keys_and_dates(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '\ufeff{"path": "a.jpg", "tags": ["2024-01-01"], "group": "2024-01-01"}\r\n\n'
        '{"tags": [], "path": "b.jpg", "extra": {"x": 1}}\n{"path": "c.jpg"}',
        encoding="utf-8",
    )
    split = Jsonl().read(tmp_path / "t.jsonl", ReadOptions()).only()
    assert tags(split) == {"a.jpg": ["2024-01-01"], "b.jpg": [], "c.jpg": []}
    assert split.groups is not None
    assert split.groups.tolist() == ["2024-01-01", "b.jpg", "c.jpg"]


def test_json_lines_in_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetag.readers._json_lines._BLOCK", 64)
    lines = [f'{{"path": "{i:03d}.jpg", "tags": "c{i % 3}"}}' for i in range(100)]
    lines[50] = '{"path": "050.jpg", "tags": "c0", "negatives": ["c1"], "group": "g"}'
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    split = Jsonl().read(tmp_path / "t.jsonl", ReadOptions()).only()
    assert split.ids.tolist() == [f"{i:03d}.jpg" for i in range(100)]
    assert tags(split.select([50]), negative=True) == {"050.jpg": ["c1"]}
    assert split.groups is not None
    assert split.groups.tolist() == ["g" if i == 50 else f"{i:03d}.jpg" for i in range(100)]


def test_a_reader_is_cheap_to_import() -> None:
    import subprocess
    import sys

    code = (
        "import sys, onetag.readers.csv, onetag.readers.parquet, onetag.readers.jsonl, onetag.readers.folder,"
        " onetag.readers.features; print(sorted({'pyarrow', 'PIL', 'torch'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_row_order_does_not_depend_on_the_table_type(tmp_path: Path) -> None:
    columns = {"path": ["z.jpg", "a.jpg", "m.jpg"], "tags": ["b", "a|b", ""]}
    frames = []
    for write in (as_parquet, as_jsonl):
        reader, path = write(tmp_path, columns)
        frames.append(reader.read(path, ReadOptions()).only())
    frames.append(read_csv(tmp_path, "path,tags\nz.jpg,b\na.jpg,a|b\nm.jpg,\n").only())
    assert all(frame.ids.tolist() == ["z.jpg", "a.jpg", "m.jpg"] for frame in frames)
    assert all(frame.labels == frames[0].labels for frame in frames)
    assert np.array_equal(frames[0].labels.to_dense(), [[0, 1], [1, 1], [0, 0]])
