"""--download against a server on this machine: whole, cut and gone on with, without ranges, wrong, absent, hostile, and done already."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import onetag
from onetag import download
from onetag.core.errors import OnetagError
from onetag.core.progress import Listener
from onetag.download import Archive
from tests.unit.readers import archives


class Server(ThreadingHTTPServer):
    """Serves bytes by name and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []  # name, Range
        self.cuts: list[int] = []  # the next answers end after so many bytes
        self.knows_ranges = True
        self.code = 200

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, asked = self.path[1:], self.headers.get("Range", "")
        self.server.asked.append((name, asked))
        content = self.server.files.get(name)
        if content is None or self.server.code != 200:
            self.send_error(self.server.code if self.server.code != 200 else 404)
            return
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.knows_ranges else 0
        if begin >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        stop = begin + self.server.cuts.pop(0) if self.server.cuts else len(content)
        self.wfile.write(content[begin:stop])

    def log_message(self, *_: object) -> None:
        pass


class Heard(Listener):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.ended: list[str] = []

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def advance(self, task: str, done: int, total: int, note: str = "") -> None:
        assert 0 <= done <= total
        if done == total:
            self.ended.append(task)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    found = Server()
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def _zip(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return stream.getvalue()


def _tar(files: dict[str, bytes], *others: tarfile.TarInfo, mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        for member in others:
            made.addfile(member)
    return stream.getvalue()


def _offer(
    server: Server, monkeypatch: pytest.MonkeyPatch, *offers: tuple[str, bytes, str, bool], to: str = "mini"
) -> None:
    """Archives of a data set: name, content, the place it makes, whether it has labels."""
    made = []
    for name, content, place, labels in offers:
        server.files[name] = content
        digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
        made.append(Archive(server.url(name), digest, len(content), 2 * len(content), (place,), labels))
    monkeypatch.setitem(download.SOURCES, to, tuple(made))


LABELS = _zip({"annotations/one.json": b"{}" + b" " * 1000})
PICTURES = _zip({f"train/{n}.jpg": bytes([n]) * 3000 for n in range(9)})


@pytest.fixture
def mini(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    _offer(
        server, monkeypatch, ("labels.zip", LABELS, "annotations/one.json", True), ("p.zip", PICTURES, "train", False)
    )
    return server


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


WHOLE = {"annotations/one.json", *(f"train/{n}.jpg" for n in range(9))}


def test_all_is_fetched_checked_unpacked_and_put_in_place(mini: Server, tmp_path: Path) -> None:
    hear = Heard()
    download.fetch("mini", tmp_path / "mini", hear)
    assert _names(tmp_path) == {f"mini/{name}" for name in WHOLE}, "no archive and no working folder is left"
    assert (tmp_path / "mini" / "train" / "3.jpg").read_bytes() == bytes([3]) * 3000
    assert [name for name, _ in mini.asked] == ["labels.zip", "p.zip"]
    for task in ("fetching p.zip (MB)", "checking p.zip", "unpacking p.zip"):
        assert hear.ended.count(task) == 1
    assert hear.said == [f"mini lies in {tmp_path / 'mini'}"]


def test_a_second_call_fetches_nothing(mini: Server, tmp_path: Path) -> None:
    download.fetch("mini", tmp_path / "mini", Heard())
    mini.asked.clear()
    download.fetch("mini", tmp_path / "mini", Heard())
    assert mini.asked == [] and _names(tmp_path) == {f"mini/{name}" for name in WHOLE}


def test_labels_alone_then_the_pictures(mini: Server, tmp_path: Path) -> None:
    download.fetch("mini", tmp_path / "mini", Heard(), labels_only=True)
    assert [name for name, _ in mini.asked] == ["labels.zip"]
    assert _names(tmp_path) == {"mini/annotations/one.json"}
    download.fetch("mini", tmp_path / "mini", Heard())
    assert [name for name, _ in mini.asked] == ["labels.zip", "p.zip"]


def test_archives_are_kept_on_request(mini: Server, tmp_path: Path) -> None:
    download.fetch("mini", tmp_path / "mini", Heard(), keep=True)
    assert _names(tmp_path / "mini") == {*WHOLE, "labels.zip", "p.zip"}


def test_cut_connections_are_gone_on_with(mini: Server, tmp_path: Path) -> None:
    mini.cuts = [100, 40, 10_000, 7]
    download.fetch("mini", tmp_path / "mini", Heard())
    assert [asked for _, asked in mini.asked] == ["", "bytes=100-", "bytes=140-", "", "bytes=7-"]
    assert _names(tmp_path) == {f"mini/{name}" for name in WHOLE}
    assert (tmp_path / "mini" / "train" / "8.jpg").read_bytes() == bytes([8]) * 3000


def test_a_later_call_goes_on_where_an_earlier_one_was_broken_off(
    mini: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini.cuts = [len(LABELS), 10_000, *[0] * 20]
    with pytest.raises(OnetagError, match=r"p\.zip cannot be fetched: the connection was cut.*goes on from there"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert _names(tmp_path / "mini") == {"annotations/one.json"}
    assert (tmp_path / "mini.part" / "p.zip.part").stat().st_size == 10_000
    mini.cuts, mini.asked = [], []
    download.fetch("mini", tmp_path / "mini", Heard())
    assert mini.asked == [("p.zip", "bytes=10000-")]
    assert _names(tmp_path) == {f"mini/{name}" for name in WHOLE}


def test_a_whole_archive_that_was_not_unpacked_is_not_fetched_again(mini: Server, tmp_path: Path) -> None:
    (tmp_path / "mini.part").mkdir()
    (tmp_path / "mini.part" / "p.zip.part").write_bytes(PICTURES)
    (tmp_path / "mini.part" / "unpacked").mkdir()
    download.fetch("mini", tmp_path / "mini", Heard())
    assert [name for name, _ in mini.asked] == ["labels.zip"]


def test_a_server_without_ranges_sends_it_all_again(mini: Server, tmp_path: Path) -> None:
    mini.knows_ranges, mini.cuts = False, [50, len(LABELS), 10_000]
    download.fetch("mini", tmp_path / "mini", Heard())
    assert [asked for _, asked in mini.asked] == ["", "bytes=50-", "", "bytes=10000-"]
    assert _names(tmp_path) == {f"mini/{name}" for name in WHOLE}


def test_a_part_that_is_too_long_is_begun_anew(mini: Server, tmp_path: Path) -> None:
    (tmp_path / "mini.part").mkdir()
    (tmp_path / "mini.part" / "p.zip.part").write_bytes(PICTURES + b"more")
    download.fetch("mini", tmp_path / "mini", Heard())
    assert [asked for name, asked in mini.asked if name == "p.zip"] == [f"bytes={len(PICTURES) + 4}-", ""]
    assert _names(tmp_path) == {f"mini/{name}" for name in WHOLE}


def test_a_wrong_checksum_removes_the_file(mini: Server, tmp_path: Path) -> None:
    mini.files["labels.zip"] = LABELS[:-1] + b"x"
    with pytest.raises(OnetagError, match=r"labels\.zip.*is not the official archive.*md5.*was removed"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert not list(tmp_path.rglob("labels.zip*")) and not (tmp_path / "mini").exists()


def test_an_address_without_the_file_says_how_to_place_it(mini: Server, tmp_path: Path) -> None:
    del mini.files["labels.zip"]
    with pytest.raises(OnetagError) as error:
        download.fetch("mini", tmp_path / "mini", Heard())
    for part in (mini.url("labels.zip"), "404", "by hand", str(tmp_path / "mini"), "annotations/one.json"):
        assert part in str(error.value)
    assert len(mini.asked) == 1, "what is not there is not asked for again"


def test_no_network_is_a_sentence_with_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    url = "http://127.0.0.1:9/x.zip"  # nobody listens there
    monkeypatch.setitem(download.SOURCES, "mini", (Archive(url, "0", 10, 10, ("x",)),))
    with pytest.raises(OnetagError, match=r"http://127\.0\.0\.1:9/x\.zip cannot be fetched: .*refused.*by hand"):
        download.fetch("mini", tmp_path / "mini", Heard())


def test_a_server_in_trouble_is_asked_again_only_after_something_came(mini: Server, tmp_path: Path) -> None:
    mini.code = 503
    with pytest.raises(OnetagError, match="503"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert len(mini.asked) == 1


def test_archives_placed_by_hand_are_taken_and_left(mini: Server, tmp_path: Path) -> None:
    (tmp_path / "mini").mkdir()
    for name in ("labels.zip", "p.zip"):
        (tmp_path / "mini" / name).write_bytes(mini.files[name])
    download.fetch("mini", tmp_path / "mini", Heard())
    assert mini.asked == [] and _names(tmp_path / "mini") == {*WHOLE, "labels.zip", "p.zip"}


def test_a_wrong_archive_placed_by_hand_is_refused_and_left(mini: Server, tmp_path: Path) -> None:
    (tmp_path / "mini").mkdir()
    (tmp_path / "mini" / "labels.zip").write_bytes(b"half of it")
    with pytest.raises(OnetagError, match=r"labels\.zip is not the official archive.*replace it"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert (tmp_path / "mini" / "labels.zip").read_bytes() == b"half of it"


def test_what_a_person_has_already_is_never_replaced(mini: Server, tmp_path: Path) -> None:
    archives.write(tmp_path / "mini", {"annotations/two.json": "mine", "annotations/one.json": "mine"})
    download.fetch("mini", tmp_path / "mini", Heard())
    assert (tmp_path / "mini" / "annotations" / "one.json").read_text() == "mine"
    assert _names(tmp_path / "mini") == {*WHOLE, "annotations/two.json"}


def _link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", _zip({"x/ok.txt": b"1", "../out.txt": b"2"})),
        ("a.zip", _zip({"x/ok.txt": b"1", "/tmp/onetag_out.txt": b"2"})),
        ("a.zip", _zip({"x/ok.txt": b"1", "x\\..\\..\\out.txt": b"2"})),
        ("a.zip", _zip({"x/ok.txt": b"1", "C:/out.txt": b"2"})),
        ("a.tgz", _tar({"x/ok.txt": b"1", "../out.txt": b"2"})),
        ("a.tar", _tar({"x/ok.txt": b"1", "x/../../out.txt": b"2"}, mode="w")),
        ("a.tgz", _tar({"x/ok.txt": b"1", "/tmp/onetag_out.txt": b"2"})),
        ("a.tgz", _tar({"x/ok.txt": b"1"}, _link("x/away", "../../.."))),
        ("a.tgz", _tar({"x/ok.txt": b"1"}, _link("x/away", "/etc/passwd"))),
        ("a.tgz", _tar({"x/ok.txt": b"1"}, _link("x/away", "../../out.txt", tarfile.LNKTYPE))),
        ("a.tgz", _tar({"x/ok.txt": b"1"}, _link("x/device", "", tarfile.CHRTYPE))),
        ("a.tgz", _tar({"x/ok.txt": b"1"})[:-20]),
        ("a.zip", b"PK but no archive"),
    ],
)
def test_archives_that_lead_out_or_are_broken_put_nothing_in_place(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    _offer(server, monkeypatch, (name, content, "x", True))
    with pytest.raises(OnetagError, match=r"a\.(zip|tgz|tar).*nothing was put in place"):
        download.fetch("mini", tmp_path / "deep" / "mini", Heard())
    assert {each for each in _names(tmp_path) if "lock" not in each} == {f"deep/mini.part/{name}.part"}
    assert not Path("/tmp/onetag_out.txt").exists()


def test_links_that_stay_inside_are_left_out(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(server, monkeypatch, ("a.tgz", _tar({"x/ok.txt": b"1"}, _link("x/same", "ok.txt")), "x", True))
    hear = Heard()
    download.fetch("mini", tmp_path / "mini", hear)
    assert _names(tmp_path) == {"mini/x/ok.txt"} and "a.tgz: 1 links were left out" in hear.said


def test_too_little_room_is_said_before_anything_is_fetched(
    mini: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = download.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(OnetagError, match=r"mini takes .* MB while it is unpacked, and .* has 0\.0 MB left; make room"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert mini.asked == []


def test_a_folder_that_cannot_be_written_is_a_sentence(mini: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OnetagError, match="mini could not be brought to"):
        download.fetch("mini", tmp_path / "file" / "mini", Heard())


def test_two_processes_do_not_fetch_into_each_others_files(mini: Server, tmp_path: Path) -> None:
    from filelock import FileLock

    (tmp_path / "mini.part").mkdir()
    with FileLock(tmp_path / "mini.part" / "lock"), pytest.raises(OnetagError, match="another process"):
        download.fetch("mini", tmp_path / "mini", Heard())
    assert mini.asked == []


@pytest.mark.parametrize("root", ["sets", None])
def test_a_named_data_set_is_fetched_and_read_then_found(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str | None
) -> None:
    """Into $ONETAG_DATA, or into the cache where that is not set; never without --download."""
    made = archives.voc(tmp_path / "made")
    content = _tar({name: (made / name).read_bytes() for name in sorted(_names(made))}, mode="w")
    _offer(server, monkeypatch, ("VOCtrainval.tar", content, "VOCdevkit/VOC2012", True), to="voc2012")
    monkeypatch.setenv("ONETAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ONETAG_DATA", raising=False)
    if root:
        monkeypatch.setenv("ONETAG_DATA", str(tmp_path / root))
    with pytest.raises(OnetagError, match="--download"):
        onetag.load("voc2012")
    assert server.asked == []
    data = onetag.load("voc2012", download=True)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 2, "test": 1}
    home = tmp_path / (root or "cache/data") / "voc2012"
    assert data.source == home / "VOCdevkit" / "VOC2012"
    assert onetag.load("voc2012").splits.keys() == data.splits.keys() and len(server.asked) == 1


def test_simulate_fetches_labels_alone(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from onetag.cli import main

    made = archives.coco(tmp_path / "made")
    labels = _zip({name: (made / name).read_bytes() for name in sorted(_names(made))})
    _offer(
        server, monkeypatch, ("ann.zip", labels, "annotations/instances_val2014.json", True),
        ("train2014.zip", PICTURES, "train", False), to="coco2014",
    )  # fmt: skip
    monkeypatch.setenv("ONETAG_DATA", str(tmp_path / "sets"))
    out = str(tmp_path / "single.csv")
    monkeypatch.setattr(sys, "argv", ["onetag", "simulate", "coco2014", "--download", "--draw", "official", "-o", out])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, capsys.readouterr().err
    assert [name for name, _ in server.asked] == ["ann.zip"]
    assert Path(out).read_text().splitlines()[0] == "path,tags,split"


def test_the_official_archives() -> None:
    """Their addresses and checksums are decisions: a change is one."""
    known = {archive.name: archive for each in ("voc2012", "coco2014", "cub") for archive in download.SOURCES[each]}
    assert {name: archive.md5 for name, archive in known.items()} == {
        "VOCtrainval_11-May-2012.tar": "6cd6e144f989b92b3379bac3b3de84fd",
        "annotations_trainval2014.zip": "0a379cfc70b0e71301e0f377548639bd",
        "train2014.zip": "0da8c0bd3d6becc4dcb32757491aca88",
        "val2014.zip": "a3d79f5ed8d289b7a7554ce06a5782b3",
        "CUB_200_2011.tgz": "97eceeb196236b17998738112f37df78",
    }
    assert all(archive.url.startswith(("http://", "https://")) for archive in known.values())
    assert [archive.labels for archive in download.SOURCES["coco2014"]] == [True, False, False]
