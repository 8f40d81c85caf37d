"""What the audit says about tags: names that are nearly the same, classes seldom or never shown, pictures without tags."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import Any

import numpy as np

from onetag.audit.findings import Finding, counted
from onetag.audit.samples import Samples
from onetag.core.split import Data, Split


def similar_names(classes: tuple[str, ...]) -> Finding:
    """Names that become equal without case, spaces, underscores, hyphens and differences of Unicode form."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in classes:
        alike[_plain(name)].append(name)
    items = [{"names": names} for names in alike.values() if len(names) > 1]
    what = f"{counted(len(items), 'class name')} written in several ways; labels.toml can merge them"
    return Finding("similar_class_names", what, items)


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return re.sub(r"[\s_\-\u2010-\u2015]+", "", folded) or folded


def seldom(split: Split, least: int) -> list[Finding]:
    """Classes with fewer positives than `least`, and those without any, where a model would learn them."""
    counts = split.labels.class_counts(1)
    rare = [{"tag": split.classes[c], "positives": int(counts[c])} for c in np.argsort(counts, kind="stable")]
    few = [item for item in rare if 0 < item["positives"] < least]
    none = [{"tag": item["tag"]} for item in rare if not item["positives"]]
    return [
        Finding("unshown_classes", f"{counted(len(none), 'class')} without any positive: nothing can be learned of them", none),
        Finding("rare_classes", f"{counted(len(few), 'class')} with fewer than {least} positives", few),
    ]  # fmt: skip


def untagged(samples: Samples) -> Finding:
    bare = np.flatnonzero(samples.split.labels.positives_per_row() == 0)
    what = f"{counted(len(bare), 'picture')} without tags"
    return Finding("no_tags", what, [samples.item(int(at)) for at in bare], [(int(at),) for at in bare])


def learned(data: Data) -> Split:
    """Where a model would learn: the training side, or everything."""
    return data.side("train", "all") or data.only()


def distribution(data: Data) -> dict[str, Any]:
    """How often each tag is given, most often first, and how many tags pictures have."""
    split = learned(data)
    counts, denied = split.labels.class_counts(1), split.labels.class_counts(-1)
    order = np.argsort(-counts, kind="stable")
    per_picture = split.labels.positives_per_row()
    found: dict[str, Any] = {
        "tags": {split.classes[c]: int(counts[c]) for c in order},
        "tags_per_picture": round(float(per_picture.mean()), 4) if len(split) else 0.0,
        "pictures_by_number_of_tags": {
            str(number): int(count) for number, count in enumerate(np.bincount(per_picture)) if count
        },
    }
    if denied.any() and not data.complete:
        found["negatives"] = {split.classes[c]: int(denied[c]) for c in order}
    return found
