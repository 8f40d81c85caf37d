"""Feature matrices with a table of labels in the order of their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onetag.core.reading import DataError, ReadOptions
from onetag.core.split import Data
from onetag.readers.features import Features
from onetag.readers.parquet import Parquet

X = np.arange(12, dtype=np.float32).reshape(3, 4)
TABLE = "path,tags\nc.jpg,cat\na.jpg,cat|dog\nb.jpg,\n"


def read(path: Path, **options: str) -> Data:
    assert Features().recognises(path)
    return Features().read(path, ReadOptions(**options))  # type: ignore[arg-type]


def check(data: Data, matrix: np.ndarray = X) -> None:
    split = data.only()
    assert split.features is not None
    assert np.array_equal(np.asarray(split.features), matrix)
    assert split.ids.tolist() == ["c.jpg", "a.jpg", "b.jpg"]
    assert split.labels.to_dense().tolist() == [[1, 0], [1, 1], [0, 0]]
    assert split.paths is None


@pytest.mark.parametrize("table", ["x.csv", "labels.csv", "table.csv", "labels.tsv"])
def test_a_matrix_and_the_table_beside_it(tmp_path: Path, table: str) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / table).write_text(TABLE)
    data = read(tmp_path / "x.npy")
    check(data)
    assert isinstance(data.only().features, np.memmap)
    assert data.read_as == (
        "read as features: x.npy [3 x 4], path=path, tags=tags, separator |, 3 samples, 2 classes,"
        " 1.00 positives per sample, rest unknown"
    )
    data.only().features[0, 0] = 99  # type: ignore[index]  # a private page, not the file
    assert np.load(tmp_path / "x.npy")[0, 0] == 0


def test_a_folder_of_features(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", X.astype(np.float16))
    (tmp_path / "table.csv").write_text(TABLE)
    check(read(tmp_path))


def test_archives(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text(
        '{"path": "c.jpg", "tags": "cat"}\n{"path": "a.jpg", "tags": "cat|dog"}\n{"path": "b.jpg"}\n'
    )
    np.savez(tmp_path / "x.npz", something=X, ids=np.arange(3))
    check(read(tmp_path / "x.npz"))
    np.savez_compressed(tmp_path / "x.npz", features=X, other=X + 1)
    check(read(tmp_path / "x.npz"))
    np.savez(tmp_path / "x.npz", one=X, other=X + 1)
    with pytest.raises(DataError, match=r"holds 2 matrices \(one, other\); name the one of the features"):
        read(tmp_path / "x.npz")


def test_one_parquet_file_with_everything(tmp_path: Path) -> None:
    columns = {"path": ["c.jpg", "a.jpg", "b.jpg"], "tags": [["cat"], ["cat", "dog"], []]}
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)
    pq.write_table(pa.table(columns | {"features": lists}), tmp_path / "x.parquet")
    check(read(tmp_path / "x.parquet"))
    pq.write_table(pa.table({"features": lists}), tmp_path / "y.parquet")
    (tmp_path / "y.csv").write_text(TABLE)
    check(read(tmp_path / "y.parquet"))
    pq.write_table(pa.table(columns), tmp_path / "z.parquet")
    assert not Features().recognises(tmp_path / "z.parquet")
    assert Parquet().recognises(tmp_path / "z.parquet")


def test_without_paths_samples_are_named_by_row(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.csv").write_text("cat,dog\n1,0\n0,1\n,\n")
    split = read(tmp_path / "x.npy").only()
    assert split.ids.tolist() == ["1", "2", "3"]
    assert split.labels.to_dense().tolist() == [[1, 0], [0, 1], [0, 0]]


def test_sides_and_groups_take_their_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.csv").write_text("path,tags,split,group\nc,cat,val,g\na,dog,train,\nb,cat,val,g\n")
    data = read(tmp_path / "x.npy", labels="complete")
    assert np.array_equal(np.asarray(data.splits["val"].features), X[[0, 2]])
    assert np.array_equal(np.asarray(data.splits["train"].features), X[[1]])
    assert data.splits["val"].truth is not None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_named_by_row(tmp_path: Path, value: float) -> None:
    wrong = X.copy()
    wrong[1, 2] = value
    np.save(tmp_path / "x.npy", wrong)
    (tmp_path / "x.csv").write_text(TABLE)
    with pytest.raises(DataError, match=r"x.npy, row 2: feature 3 is -?(nan|inf)"):
        read(tmp_path / "x.npy")


def test_rows_must_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataError, match=r"no table of labels beside it; x.csv, labels.csv or table.csv"):
        read(tmp_path / "x.npy")
    (tmp_path / "x.csv").write_text(TABLE + "d.jpg,cat\n")
    with pytest.raises(DataError, match="4 rows of labels for 3 rows of features"):
        read(tmp_path / "x.npy")
    (tmp_path / "x.csv").write_text("path,tags\na,cat\nb,cat\na,dog\n")
    with pytest.raises(DataError, match=r"x.csv, row 4: the same path as in row 2"):
        read(tmp_path / "x.npy")


def test_no_pickle_is_ever_opened(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(TABLE)
    np.save(tmp_path / "x.npy", np.array([{"run": "me"}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read as a NumPy array"):
        read(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", features=np.array([{"run": "me"}], dtype=object))
    with pytest.raises(DataError, match="cannot be read as an archive"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (np.zeros(3), "shape"),
        (np.zeros((3, 0)), "shape"),
        (np.zeros((0, 3)), "no rows"),
        (np.array([["a", "b"]] * 3), "numbers are expected"),
        (np.zeros((3, 2), complex), "numbers are expected"),
    ],
)
def test_what_is_no_matrix_of_numbers(tmp_path: Path, matrix: np.ndarray, said: str) -> None:
    np.save(tmp_path / "x.npy", matrix)
    (tmp_path / "x.csv").write_text(TABLE)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "x.npy")


def test_lists_of_different_lengths(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"path": ["a", "b"], "tags": ["x", "y"], "features": [[1.0, 2.0], [1.0]]}), tmp_path / "x.parquet"
    )
    with pytest.raises(DataError, match=r"x.parquet, row 2: has 1 features, where row 1 has 2"):
        read(tmp_path / "x.parquet")


def test_integers_become_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.int16))
    (tmp_path / "x.csv").write_text(TABLE)
    data = read(tmp_path / "x.npy")
    assert data.only().features is not None
    assert data.only().features.dtype == np.float32  # type: ignore[union-attr]
