"""Data sets that may be fetched (`--download`): resumable, checked, unpacked aside and then put in place. Nothing here runs unasked."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from onetag.core.cache import cache_folder
from onetag.core.errors import OnetagError
from onetag.core.progress import Listener

TIMEOUT = 60.0  # seconds without a byte
TRIES = 4  # in a row that brought nothing, once something came
PAUSE = 2.0  # seconds between them
_MB = 10**6
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Archive:
    """A file on a server. `places`: any of these in the data set's folder says that its content is there; the first is what it makes."""

    url: str
    md5: str
    size: int
    unpacked: int  # bytes, roughly
    places: tuple[str, ...]
    labels: bool = True  # whether labels are read from it

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


_COCO = "http://images.cocodataset.org"
SOURCES: dict[str, tuple[Archive, ...]] = {
    "voc2012": (
        Archive("http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd",
                1_999_639_040, 2_100_000_000, ("VOCdevkit/VOC2012", "VOC2012", "ImageSets")),
    ),
    "coco2014": (  # labels first: they are of use before the pictures are there
        Archive(f"{_COCO}/annotations/annotations_trainval2014.zip", "0a379cfc70b0e71301e0f377548639bd", 252_872_794, 900_000_000,
                ("annotations/instances_val2014.json", "instances_val2014.json")),
        Archive(f"{_COCO}/zips/train2014.zip", "0da8c0bd3d6becc4dcb32757491aca88", 13_510_573_713, 13_700_000_000,
                ("train2014", "images"), labels=False),
        Archive(f"{_COCO}/zips/val2014.zip", "a3d79f5ed8d289b7a7554ce06a5782b3", 6_645_013_297, 6_800_000_000,
                ("val2014", "images"), labels=False),
    ),
    "cub": (
        Archive("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz", "97eceeb196236b17998738112f37df78",
                1_150_585_339, 1_400_000_000, ("CUB_200_2011", "images.txt")),
    ),
}  # fmt: skip

# What may not be fetched, and how to come by it.
BY_HAND = {
    "nuswide": (
        "nuswide cannot be fetched: its pictures are given out by the National University of Singapore for a signed form "
        "(https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html). Place the files so:\n"
        "  {folder}/Concepts81.txt (or ConceptsList/Concepts81.txt)\n"
        "  {folder}/ImageList/TrainImagelist.txt, TestImagelist.txt\n"
        "  {folder}/TrainTestLabels/Labels_<concept>_Train.txt, Labels_<concept>_Test.txt (or Groundtruth/TrainTestLabels/...)\n"
        "  {folder}/Flickr/... (the pictures; labels are read without them)"
    ),
    "coco10k": (
        "coco10k is not fetched but made, of the official archives of MS-COCO 2014: "
        "scripts/make_coco10k.py --annotations annotations_trainval2014.zip --train train2014.zip --val val2014.zip -o {folder}"
    ),
}


def homes(name: str) -> list[Path]:
    """Where a data set is looked for; what is fetched goes into the first."""
    root = os.environ.get("ONETAG_DATA")
    return [*([Path(root).expanduser() / name] if root else []), cache_folder() / "data" / name]


def missing(name: str, folder: Path, labels_only: bool = False) -> list[Archive]:
    """The archives whose content is not in the folder."""
    return [
        archive
        for archive in SOURCES.get(name, ())
        if (archive.labels or not labels_only) and not any((folder / place).exists() for place in archive.places)
    ]


def fetch(name: str, folder: Path, listener: Listener, *, labels_only: bool = False, keep: bool = False) -> None:
    """Bring what is missing of a data set into its folder; what was broken off goes on. `keep` leaves the archives in the folder.

    Archives that a person put into the folder are taken from there, and left there.
    """
    work = folder.with_name(folder.name + ".part")
    if not missing(name, folder, labels_only):
        return
    from filelock import FileLock, Timeout

    try:
        work.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(work / "lock", timeout=0):
                wanted = missing(name, folder, labels_only)
                _check_space(name, folder, work, wanted, keep)
                for archive in wanted:
                    _bring(archive, folder, work, listener, keep)
        except Timeout as error:
            raise OnetagError(f"{name} is being fetched by another process ({work}); wait for it") from error
        if not list(work.glob("*.part")):  # else what was broken off of the pictures, where labels alone were asked for
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise OnetagError(f"{name} could not be brought to {folder}: {error.strerror or error}") from error
    listener.say(f"{name} lies in {folder}")


def _bring(archive: Archive, folder: Path, work: Path, listener: Listener, keep: bool) -> None:
    """One archive: fetched, checked, unpacked aside, put in place. It is removed before the next one needs its room."""
    given, part, aside = folder / archive.name, work / f"{archive.name}.part", work / "unpacked"
    path = given if given.is_file() else part
    if path == part and _size(part) != archive.size:  # a whole one was broken off while it was checked or unpacked
        _download(archive, part, folder, listener)
    _check(archive, path, path == part, listener)
    try:
        _unpack(path, aside, archive.name, listener)
        _merge(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    if path == part and keep:
        part.replace(given)
    elif path == part:
        part.unlink()


def _check_space(name: str, folder: Path, work: Path, wanted: Sequence[Archive], keep: bool) -> None:
    """Only one archive lies there at a time, beside all that was unpacked before."""
    stays = most = 0
    for archive in wanted:
        comes = 0 if (folder / archive.name).is_file() else archive.size - _size(work / f"{archive.name}.part")
        most = max(most, stays + max(comes, 0) + archive.unpacked)
        stays += archive.unpacked + (archive.size if keep else 0)
    free = shutil.disk_usage(work).free
    if most > free:
        raise OnetagError(
            f"{name} takes {in_words(most)} while it is unpacked, and {work.parent} has {in_words(free)} left; make room, "
            "or let ONETAG_DATA name another folder"
        )


def _download(archive: Archive, part: Path, folder: Path, listener: Listener) -> None:
    """Go on until all has come, as long as something comes."""
    left = 0  # a server that never answers is not asked again
    while True:
        before = _size(part)
        try:
            if _receive(archive, part, listener):
                return
            why = "the connection was cut"
        except HTTPError as error:
            why = f"the server answers {error.code} ({error.reason})"
            if error.code < 500 and error.code != 429:
                left = 0
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            why = str(getattr(error, "reason", error)) or type(error).__name__
        if _size(part) > before:
            left = TRIES
        elif left == 0:
            kept = " What came is kept: the same call goes on from there." if _size(part) else ""
            raise OnetagError(
                f"{archive.url} cannot be fetched: {why}.{kept} To place it by hand: get {archive.name} in another way, put it into "
                f"{folder} and repeat with --download (it is checked and unpacked), or unpack it there, "
                f"so that {folder / archive.places[0]} exists"
            )
        left -= 1
        time.sleep(PAUSE)


def _receive(archive: Archive, part: Path, listener: Listener) -> bool:
    """One request, for what is not there yet; whether all has come, as far as the server says."""
    have = _size(part)
    headers = {"User-Agent": "onetag", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        answer = urlopen(Request(archive.url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != 416 or not have:
            raise
        part.unlink()  # longer than the file there: not that file
        return _receive(archive, part, listener)
    with answer:
        if answer.status != 206 or not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0  # it sends the whole file
        length = answer.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else None
        size = -(-(total or archive.size) // _MB)
        with part.open("ab" if have else "wb") as stream:
            while block := answer.read(_BLOCK):
                stream.write(block)
                have += len(block)
                if have != total:
                    listener.advance(f"fetching {archive.name} (MB)", min(have // _MB, size - 1), size)
    whole = total is None or have == total
    if whole:
        listener.advance(f"fetching {archive.name} (MB)", size, size)
    return whole


def _check(archive: Archive, path: Path, ours: bool, listener: Listener) -> None:
    """Refuse what is not the official file; a file that a person put there is left alone."""
    digest, done, total = hashlib.md5(usedforsecurity=False), 0, max(_size(path), 1)
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            done += len(block)
            listener.advance(f"checking {archive.name}", 100 * done // total, 100, "%")
    if digest.hexdigest() == archive.md5:
        return
    wrong = f"is not the official archive (its md5 is {digest.hexdigest()}, not {archive.md5})"
    if not ours:
        raise OnetagError(f"{path} {wrong}; replace it, or take it away to have it fetched")
    path.unlink()
    raise OnetagError(
        f"{archive.name}, as it came from {archive.url}, {wrong}, and was removed; try again later or from another network"
    )


def _unpack(path: Path, aside: Path, name: str, listener: Listener) -> None:
    """Into a new folder; a member that leads out of it ends everything."""
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        (_unpack_zip if name.endswith(".zip") else _unpack_tar)(path, aside, name, listener)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise OnetagError(f"{name} cannot be unpacked: {error}; nothing was put in place") from error


def _unpack_tar(path: Path, aside: Path, name: str, listener: Listener) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise OnetagError(f"unpacking {name} safely needs Python 3.11.4 or newer; or unpack it by hand")
    total, passed = max(_size(path), 1), 0
    with path.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:*") as archive:
        for member in archive:
            _refuse_outside(member.name, name)
            tarfile.data_filter(member, str(aside))
            # No link is ever made: links that stay inside are not needed, and they are what filters were got around with.
            if member.isreg() or member.isdir():
                archive.extract(member, aside, filter="data")
            else:
                passed += 1
            listener.advance(f"unpacking {name}", min(100 * raw.tell() // total, 99), 100, "%")
    listener.advance(f"unpacking {name}", 100, 100, "%")
    if passed:
        listener.say(f"{name}: {passed} links were left out")


def _unpack_zip(path: Path, aside: Path, name: str, listener: Listener) -> None:
    with zipfile.ZipFile(path) as archive:
        for done, member in enumerate(members := archive.infolist(), 1):
            _refuse_outside(member.filename, name)
            archive.extract(member, aside)
            listener.advance(f"unpacking {name}", done, len(members))


def _refuse_outside(member: str, name: str) -> None:
    path = PurePosixPath(member.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        raise OnetagError(f"{name} holds {member!r}, which leads out of its folder; nothing was put in place")


def _merge(source: Path, target: Path) -> None:
    """Move what is not there yet, each folder in one go; what is there stays as it is. Files first: folders say that all is there."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
    elif source.is_dir() and target.is_dir():
        for entry in sorted(source.iterdir(), key=lambda entry: (entry.is_dir(), entry.name)):
            _merge(entry, target / entry.name)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def in_words(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
