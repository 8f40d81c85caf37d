"""One audit from end to end: data in, a report and what a page or a manifest needs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from onetag.audit import copies, likeness, tags
from onetag.audit.findings import Finding, Report, counted
from onetag.audit.neighbours import Neighbours
from onetag.audit.pictures import Looks, look_at_all
from onetag.audit.rows import table_rows
from onetag.audit.samples import Samples
from onetag.core.progress import Listener
from onetag.core.reading import DataError
from onetag.core.split import Data, Problem

TINY = 32  # pixels of the shorter side below which a picture shows nothing
HUGE = 50_000_000  # pixels from which a picture costs seconds, and from Pillow's limit on is refused as a decompression bomb
LEAST = 10  # positives

_UNUSUAL = {
    "cmyk": "in the colours of printers (CMYK); converted to RGB",
    "sixteen_bit": "of more than 8 bits; scaled down to 8",
    "palette": "with a palette; converted to RGB",
    "transparent": "with transparency; it is dropped",
    "animated": "animated or of several pages; the first one counts",
    "exif_rotated": "stored turned or mirrored (EXIF); put upright",
}
# What a reader passes over on purpose is no error.
_LOOSE, _NO_PICTURE = "a picture in no class folder", "not a picture, by its suffix"


@dataclass(frozen=True)
class Audit:
    """The report, and what it was made from."""

    report: Report
    data: Data
    samples: Samples
    looks: Looks | None


def refused(error: DataError) -> Report:
    """The report on data that a reader refuses: readers stop at the first mistake."""
    row = {} if error.row is None else {"row": error.row}
    why = str(error).partition(f", row {error.row}: " if row else f"{error.path}: ")[2]
    item: dict[str, Any] = {"path": str(error.path), **row, "why": why}
    finding = Finding(
        "unreadable_data", "the data cannot be read; correct this and check again, there may be more", [item]
    )
    return Report(errors=[finding])


def examine(data: Data, listener: Listener | None = None, least: int = LEAST) -> Audit:
    """Look at everything there is: tables, pictures, tags. Nothing of the user's is touched."""
    samples = Samples(data, table_rows(data))
    has_pictures = samples.split.paths is not None
    looks = look_at_all(samples.files, listener or Listener()) if has_pictures else None
    codes = copies.same(samples, looks)
    found = copies.groups(codes)
    errors = [_not_read(data.skipped), *([] if looks is None else _unusable(samples, looks))]
    errors += [copies.conflicts(samples, found), *copies.leaks(samples, found)]
    warnings: list[Finding] = []
    info = _facts(data)
    unusual: list[Finding] = []
    if looks is not None:
        alike, pairs = copies.near(samples, looks, codes)
        warnings += [*alike, copies.exact(samples, found), *_sizes(samples, looks)]
        info |= _seen(looks, pairs)
        unusual = [_trait(samples, looks, name) for name in _UNUSUAL]
    warnings.append(copies.repeated_rows(samples))
    warnings += [tags.similar_names(data.classes), *tags.seldom(tags.learned(data), least), tags.untagged(samples)]
    warnings.append(_loose(data.skipped))
    report = Report(
        data.read_as, len(samples), len(data.classes), _met(errors), _met(warnings), info, _met(unusual)
    )  # fmt: skip
    return Audit(report, data, samples, looks)


def _met(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.items]


def _not_read(problems: tuple[Problem, ...]) -> Finding:
    """Links to nowhere, folders without permission, names that are no text: what the reader could not take."""
    items = [{"path": p.where, "why": p.why} for p in problems if p.why not in (_LOOSE, _NO_PICTURE)]
    return Finding(
        "unreadable_files", f"{counted(len(items), 'file or folder', 'files or folders')} cannot be read", items
    )


def _loose(problems: tuple[Problem, ...]) -> Finding:
    items = [{"path": p.where} for p in problems if p.why == _LOOSE]
    return Finding("loose_pictures", f"{counted(len(items), 'picture')} in no class folder, passed over", items)


def _unusable(samples: Samples, looks: Looks) -> list[Finding]:
    missing, hints = sorted(looks.missing), Neighbours()
    broken = [at for at in sorted(looks.problems) if at not in looks.missing]
    none = f"none of the {len(missing):,} pictures is there; if paths start in another folder, say --images DIR"
    some = f"{counted(len(missing), 'picture')} {'is' if len(missing) == 1 else 'are'} missing"
    return [
        Finding(
            "missing_pictures", none if len(missing) == len(samples) > 1 else some,
            [samples.item(at, **hints.hint(samples.files[at])) for at in missing],
        ),
        Finding(
            "unreadable_pictures", f"{counted(len(broken), 'picture')} cannot be used; training would skip them",
            [samples.item(at, why=looks.problems[at]) for at in broken], [(at,) for at in broken],
        ),
    ]  # fmt: skip


def _sizes(samples: Samples, looks: Looks) -> list[Finding]:
    width, height = looks.sizes[:, 0], looks.sizes[:, 1]
    usable = looks.is_usable
    made = []
    for kind, mask, words in (
        ("tiny_pictures", np.minimum(width, height) < TINY, f"smaller than {TINY} pixels on a side"),
        ("huge_pictures", width * height > HUGE, f"larger than {HUGE // 1_000_000} million pixels"),
    ):
        index = np.flatnonzero(mask & usable).tolist()
        items = [samples.item(at, width=int(width[at]), height=int(height[at])) for at in index]
        made.append(Finding(kind, f"{counted(len(index), 'picture')} {words}", items, [(at,) for at in index]))
    return made


def _trait(samples: Samples, looks: Looks, name: str) -> Finding:
    index = looks.traits.get(name, [])
    return Finding(
        name,
        f"{counted(len(index), 'picture')} {_UNUSUAL[name]}",
        [samples.item(at) for at in index],
        [(at,) for at in index],
    )


def _facts(data: Data) -> dict[str, Any]:
    info: dict[str, Any] = {
        "sides": {name: len(split) for name, split in data.splits.items()},
        "labels": "complete" if data.complete else "partial",
        "notes": list(data.notes),
    }
    ignored = [problem.where for problem in data.skipped if problem.why == _NO_PICTURE]
    return {**info, **({"not_pictures": ignored} if ignored else {}), **tags.distribution(data)}


def _seen(looks: Looks, pairs: dict[str, int]) -> dict[str, Any]:
    sizes = looks.sizes[looks.is_usable]
    by_area = sizes[np.argsort(sizes.prod(axis=1), kind="stable")].tolist()
    ends = {"smallest": by_area[0], "median": by_area[len(by_area) // 2], "largest": by_area[-1]} if by_area else {}
    return {
        "formats": dict(looks.kinds.most_common()), "modes": dict(looks.modes.most_common()), "sizes": ends,
        "near_duplicates": {
            "hash": "pHash, 64 bits", "distance": likeness.DISTANCE, "correlation": likeness.CORRELATION, "pairs": pairs,
        },
        "limits": {"tiny": TINY, "huge": HUGE, "refused": Image.MAX_IMAGE_PIXELS},
    }  # fmt: skip
