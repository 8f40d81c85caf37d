"""Tables that are not as they should be: every answer names the file, the row and what would be right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onetag.core.reading import DataError, Reader, ReadOptions
from onetag.readers.csv import Csv
from onetag.readers.jsonl import Jsonl
from onetag.readers.parquet import Parquet


def refused(reader: Reader, path: Path, row: int | None, *said: str, **options: Any) -> None:
    with pytest.raises(DataError) as caught:
        reader.read(path, ReadOptions(**options))
    message = str(caught.value)
    assert caught.value.path == path
    assert caught.value.row == row, message
    for part in said:
        assert re.search(part, message), message


CASES: list[tuple[str, int | None, tuple[str, ...]]] = [
    ("", 1, ("is empty", "path,tags")),
    ("\n\n", 1, ("is empty",)),
    ("path,tags\n", None, ("no rows",)),
    ("a.jpg,cat\nb.jpg,dog\n", 1, ("names of the columns are missing", "path,tags")),
    ("file,tags\na.jpg,cat\n", None, ("no column of paths", "--path-column", "file, tags")),
    ("path,what\na.jpg,cat\n", 2, ("no column of tags", "--tags-column", "'cat'")),
    ("path\na.jpg\n", None, ("no column of tags",)),
    ("path,tags,path\na.jpg,cat,x\n", 1, ("'path' stands over the columns 1, 3",)),
    ("path,tags\na.jpg,cat\nb.jpg,cat,dog\n", 3, ("3 cells", "has 2", "quote")),
    ("path,tags\na.jpg,cat\n\n\nb.jpg\n", 5, ("1 cells", "has 2")),
    ('path,tags\na.jpg,"two\nlines, one row"\n', 2, ("line break",)),
    ('path,tags,note\na.jpg,cat,"two\nlines"\nb.jpg,dog,\nb.jpg\n', 4, ("1 cells",)),
    ('path,tags\na.jpg,"cat\nb.jpg,dog\n', 2, ("quote",)),
    ('path,"tags\na.jpg,cat\n', 1, ("quote",)),
    ("path,tags\na.jpg,cat\n,dog\n", 3, ("no path",)),
    ("path,tags\na.jpg,cat\nnan,dog\n", 3, ("'nan'",)),
    ("path,tags\na.jpg,cat\nb.jpg,NaN\n", 3, ("'NaN'", "leave the cell empty")),
    ("path,tags\na.jpg,cat\n../b.jpg,dog\n", 3, ("leaves", "--images")),
    ("path,tags\na.jpg,cat\nx/../../b.jpg,dog\n", 3, ("leaves",)),
    ("path,tags\na.jpg,cat\n..\\b.jpg,dog\n", 3, ("leaves",)),
    ("path,tags\n/etc/passwd,cat\n", 2, ("outside", "--images")),
    ("path,tags\nC:\\pictures\\a.jpg,cat\n", 2, ("outside",)),
    ("path,tags,negatives\na.jpg,cat,\n\nb.jpg,cat|dog,dog\n", 4, ("'dog'", "in the same row")),
    ("path,tags,negatives\na.jpg,cat,\nb.jpg,dog,\n\na.jpg,,cat\n", 5, ("'cat'", "rows 2 and 5")),
    ("path,tags,split\na.jpg,cat,train\nb.jpg,dog,trian\n", 3, ("'trian'", "did you mean 'train'")),
    ("path,tags,split\na.jpg,cat,train\nb.jpg,dog,\n", 3, ("no split",)),
    ("path,cat,dog\na.jpg,1,0\nb.jpg,0,1\nc.jpg,2,1\n", 4, ("column 'cat' holds '2'",)),
    ("path,tag,value\na.jpg,cat,1\nb.jpg,dog,yes\n", 3, ("'yes'",)),
    ("path,tags\na.jpg," + "x" * 1_000_000 + "\n", 2, ("a tag of 1,000,000 characters",)),
    ("path,tags\n" + "x" * 1_000_000 + ",cat\n", 2, ("a path of 1,000,000 bytes",)),
    ("path,tags\nok.jpg,cat\na\0b.jpg,cat\n", None, ("binary",)),
]


@pytest.mark.parametrize(("text", "row", "said"), CASES)
def test_csv_is_refused_with_row_and_remedy(tmp_path: Path, text: str, row: int | None, said: tuple[str, ...]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    refused(Csv(), path, row, *said)


def test_what_is_no_utf8_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("path,tags\na.jpg,cat\nb.jpg,café\n".encode("latin-1"))
    refused(Csv(), path, 3, "not UTF-8", "save the table as UTF-8")
    path.write_bytes("päth,tags\na.jpg,cat\n".encode("latin-1"))
    refused(Csv(), path, 1, "not UTF-8")
    path.write_bytes("path,tags\na.jpg,cat\n".encode("utf-16"))
    refused(Csv(), path, None, "UTF-16")
    path.write_bytes(bytes(range(256)) * 10)
    refused(Csv(), path, None, "binary")
    path.write_bytes(b"path,tags\n" + b"a.jpg,cat\n" * 10_000 + b"a\0b.jpg,cat\n")
    refused(Csv(), path, 10_002, "zero byte")


def test_absolute_paths_that_leave(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"path,tags\n{tmp_path}/x/../a.jpg,cat\n{tmp_path}/../b.jpg,dog\n")
    refused(Csv(), path, 3, "outside", "--images")
    path.write_text(f"path,tags\n{tmp_path}/a.jpg,cat\n{tmp_path}x/b.jpg,dog\n")
    refused(Csv(), path, 3, "outside")


def test_unknown_classes_name_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("cat\npotted plant\n")
    path = tmp_path / "t.csv"
    path.write_text("path,tags\na.jpg,cat\nb.jpg,cat|poted plant\n")
    refused(Csv(), path, 3, "'poted plant'", "did you mean 'potted plant'", "classes.txt")
    (tmp_path / "classes.txt").write_text("cat\ndog\n\ncat\n")
    with pytest.raises(DataError, match=r"classes.txt, row 4: class 'cat' is named in rows 1 and 4"):
        Csv().read(path, ReadOptions())


def test_a_separator_that_occurs_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("path,tags\na.jpg,cat\nb.jpg,cat|dog\n")
    refused(Csv(), path, 3, "';' occurs nowhere", r"--separator '\|'", separator=";")


def test_columns_that_do_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("path,tags\na.jpg,cat\n")
    refused(Csv(), path, None, "no column 'tag'", "did you mean 'tags'", tags_column="tag")
    refused(Csv(), path, None, "no column 'album'", group_column="album")


def test_rows_are_counted_over_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{i:07d}_{'x' * 90}.jpg,cat\n" for i in range(120_000)]
    lines[110_000] = "../a.jpg,cat\n"
    path.write_text("path,tags\n" + "".join(lines))
    refused(Csv(), path, 110_002, "leaves")


def test_two_tables_of_one_side(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("path,tags\na.jpg,cat\n")
    (tmp_path / "val.csv").write_text("path,tags\na.jpg,cat\n")
    (tmp_path / "valid.csv").write_text("path,tags\na.jpg,cat\n")
    refused(Csv(), tmp_path, None, "val.csv and valid.csv")


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    refused(Csv(), tmp_path / "t.csv", None, "train.csv")
    refused(Csv(), tmp_path / "none.csv", None, "No such file")


JSON_CASES: list[tuple[str, int | None, tuple[str, ...]]] = [
    ("", None, ("no rows",)),
    ("\n\n", None, ("no rows",)),
    ("[\n", 1, ("JSON array", "one object a line")),
    ('[{"path": "a.jpg", "tags": "cat"}]\n', 1, ("one object a line",)),
    ('{"path": "a.jpg", "tags": "cat"}\n\n{"path": "b.jpg", \n', 3, ("not JSON",)),
    ('{"path": "a.jpg", "tags": "cat"}\n17\n', 2, ("holds a single value",)),
    ('{"path": "a.jpg", "tags": "cat"}\n{"path": "b.jpg", "tags": ["cat"]}\n', 2, ("'tags' is a list here",)),
    ('{"path": "a.jpg", "tags": {"cat": 1}}\n', 1, ("where text is expected",)),
    ('{"path": "a.jpg", "tags": "cat"}\n{"tags": "cat"}\n', 2, ("no path",)),
    ('{"path": "a.jpg", "tags": "cat"}\n{"path": null, "tags": "cat"}\n', 2, ("no path",)),
    ('{"path": ["a.jpg"], "tags": "cat"}\n', 1, ("where text is expected",)),
    ('{"file": "a.jpg", "tags": "cat"}\n', None, ("no column of paths",)),
    ('{"path": "a.jpg", "path": "b.jpg", "tags": "cat", "tags": "dog"}\n{"path": 1}\n{', 3, ("not JSON",)),
    ('{"path": "a.jpg", "tags": "cat"}\n{"path": "../b.jpg", "tags": "cat"}\n', 2, ("leaves",)),
    ('{"path": "a.jpg", "tags": "\\ud800"}\n', None, ()),
    ("[" * 100_000, 1, ("JSON",)),
]


@pytest.mark.parametrize(("text", "row", "said"), JSON_CASES)
def test_json_lines_are_refused(tmp_path: Path, text: str, row: int | None, said: tuple[str, ...]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    if said:
        refused(Jsonl(), path, row, *said)
    else:
        with pytest.raises(DataError):
            Jsonl().read(path, ReadOptions())


def test_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"

    def put(columns: dict[str, Any]) -> None:
        pq.write_table(pa.table(columns), path)

    path.write_bytes(b"PAR1 is not enough PAR1")
    refused(Parquet(), path, None, "cannot be read as Parquet")
    put({"path": ["a.jpg", None], "tags": ["cat", "dog"]})
    refused(Parquet(), path, 2, "no path")
    put({"path": ["a.jpg", "../b.jpg"], "tags": ["cat", "dog"]})
    refused(Parquet(), path, 2, "leaves")
    put({"path": pa.array([], pa.string()), "tags": pa.array([], pa.string())})
    refused(Parquet(), path, None, "no rows")
    put({"image": [{"bytes": b"x", "path": "a.jpg"}], "label": [1]})
    refused(Parquet(), path, 1, "struct")
    put({"path": ["a.jpg", "b.jpg"], "tags": [["cat"], ["dog"]], "negatives": [[], ["dog"]]})
    refused(Parquet(), path, 2, "'dog'", "in the same row")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(Parquet(), path, None, "cannot be read as Parquet")
