"""Whatever is done to the bytes of valid data, every reader answers with data or with a sentence: no other exception, no hang."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onetag.core.errors import OnetagError
from onetag.core.reading import Reader, ReadOptions
from onetag.readers.coco import Coco
from onetag.readers.csv import Csv
from onetag.readers.cub import Cub
from onetag.readers.features import Features
from onetag.readers.folder import Folder
from onetag.readers.hf_imagefolder import HuggingFaceImageFolder
from onetag.readers.jsonl import Jsonl
from onetag.readers.nuswide import NusWide
from onetag.readers.openimages import OpenImages
from onetag.readers.parquet import Parquet
from onetag.readers.predecessor_npy import PredecessorNpy
from onetag.readers.voc import Voc

sys.path.insert(0, str(Path(__file__).parent))
import archives

EXAMPLES = int(os.environ.get("ONETAG_FUZZ_EXAMPLES", "40"))
SECONDS = 20.0


def table(root: Path) -> Path:
    text = 'path,tags,negatives,split,group\na.jpg,cat|dog,cow,train,x\n"b,1.jpg",,dog,val,\nsub/c.jpg,"cow",,test,y\n'
    return archives.write(root, {"t.csv": text}) / "t.csv"


def wide_table(root: Path) -> Path:
    return (
        archives.write(
            root, {"t.csv": "path\tcat\tdog\twidth\na.jpg\t1\t0\t7\nb.jpg\t-1\t\t8\n", "classes.txt": "dog\ncat\n"}
        )
        / "t.csv"
    )


def json_lines(root: Path) -> Path:
    rows = [{"path": "a.jpg", "tags": ["cat", "dog"], "n": 1}, {"path": "b.jpg", "tags": [], "group": "g"}]
    return archives.write(root, {"t.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}) / "t.jsonl"


def parquet(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({"path": ["a.jpg", "b.jpg"], "tags": [["cat"], ["dog", "cow"]], "x": [1, 2]}), root / "t.parquet"
    )
    return root / "t.parquet"


def matrix(root: Path) -> Path:
    archives.write(root, {"table.csv": "path,tags\na,cat\nb,dog\n"})
    np.save(root / "features.npy", np.ones((2, 3), np.float32))
    return root


def archive(root: Path) -> Path:
    archives.write(root, {"x.csv": "path,tags\na,cat\nb,dog\n"})
    np.savez_compressed(root / "x.npz", features=np.ones((2, 3), np.float32))
    return root / "x.npz"


def parquet_features(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"tags": ["cat", "dog"], "features": [[1.0, 2.0], [3.0, 4.0]]}), root / "x.parquet")
    return root / "x.parquet"


def folder(root: Path) -> Path:
    return archives.write(root, {"train/cat/1.jpg": "x", "train/dog/2.jpg": "x", "val/dog/3.jpg": "y"})


def voc_xml(root: Path) -> Path:
    archives.voc(root)
    for file in (root / "VOCdevkit/VOC2012/ImageSets/Main").glob("*_*.txt"):
        file.unlink()
    return root


MADE: dict[str, tuple[type[Reader], Callable[[Path], Path]]] = {
    "csv": (Csv, table), "wide csv": (Csv, wide_table), "jsonl": (Jsonl, json_lines), "parquet": (Parquet, parquet),
    "npy": (Features, matrix), "npz": (Features, archive), "features": (Features, parquet_features),
    "folder": (Folder, folder), "coco": (Coco, archives.coco), "voc": (Voc, archives.voc), "voc xml": (Voc, voc_xml),
    "cub": (Cub, archives.cub), "nuswide": (NusWide, archives.nuswide), "openimages": (OpenImages, archives.openimages),
    "predecessor": (PredecessorNpy, archives.predecessor), "hf": (HuggingFaceImageFolder, archives.hf),
}  # fmt: skip

NASTY = [b"", b"\0", b"\xff", b'"', b"\n", b"\r", b",", b"\t", b"|", b"..", b"../", b"/", b"\\", b"nan", b"-1", b"1e999", b"\xef\xbb\xbf",
         b"\xff\xfe", b"[", b"{", b"}", b"]", b":", b"null", b"0", b"99999999999999999999", b"\xed\xa0\x80", b"x" * 5000, b"<", b"&a;",
         b"path", b"tags", "\u00e9".encode(), b" ", b"\\u0000", b"\\ud800", b"true", b"-0", b"cat"]  # fmt: skip

changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "cut", "copy", "flip", "all"]),
        st.floats(0, 1),
        st.integers(0, 40),
        st.one_of(st.sampled_from(NASTY), st.binary(max_size=20)),
    ),
    min_size=1,
    max_size=4,
)


def changed(content: bytes, steps: list[tuple[str, float, int, bytes]]) -> bytes:
    for what, place, size, extra in steps:
        at = int(place * len(content))
        if what == "put":
            content = content[:at] + extra + content[at:]
        elif what == "cut":
            content = content[:at] + content[at + size :]
        elif what == "copy":
            content = content[:at] + content[at : at + size] * 2 + content[at + size :]
        elif what == "flip":
            content = content[:at] + bytes(b ^ (size + 1) for b in content[at : at + 1]) + content[at + 1 :]
        else:
            content = extra * (size + 1)
    return content


@pytest.mark.parametrize("name", MADE)
def test_readers_answer_with_data_or_with_a_sentence(name: str) -> None:
    kind, make = MADE[name]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(
        st.floats(0, 0.999),
        changes,
        st.sampled_from([None, "complete", "partial"]),
        st.sampled_from([None, "negative"]),
    )
    def attack(which: float, steps: list[tuple[str, float, int, bytes]], labels: str | None, zero: str | None) -> None:
        with tempfile.TemporaryDirectory() as place:
            path = make(Path(place) / "data")
            files = sorted(file for file in (Path(place) / "data").rglob("*") if file.is_file())
            target = files[int(which * len(files))]
            target.write_bytes(changed(target.read_bytes(), steps))
            start = time.monotonic()
            reader = kind()
            reader.recognises(path)
            data = None
            try:
                data = reader.read(path, ReadOptions(labels=labels, zero=zero))
            except OnetagError as error:
                str(error).encode()  # can be printed
            if data is not None:
                assert data.read_as
                for split in data.splits.values():
                    assert len(split) and split.labels.num_classes == len(data.classes)
                    "".join(split.ids.tolist()).encode()
            assert time.monotonic() - start < SECONDS

    attack()
