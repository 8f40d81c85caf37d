"""Make the data set coco10k from the official archives of MS-COCO 2014.

    python scripts/make_coco10k.py --annotations annotations_trainval2014.zip --train train2014.zip --val val2014.zip -o coco10k/

The archives are those of cocodataset.org (13 GB, 6 GB, 241 MB). 8,000 pictures of train2014 and 2,500 of val2014, whose ids stand in
coco10k_ids.txt, are squashed to 256 x 256 and written with `train.csv`, `test.csv` (path, tags) and `classes.txt`. Tags come from every
instance annotation, crowds included; classes in the order of their category ids. Other versions of Pillow or libjpeg may give
other bytes; labels, order and splits are exact.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from PIL import Image

IDS = Path(__file__).with_name("coco10k_ids.txt")


def wanted() -> dict[str, list[int]]:
    """The ids of each side, in their order."""
    lines = (line.split() for line in IDS.read_text().splitlines() if not line.startswith("#"))
    return {name: [int(number) for number in numbers] for name, *numbers in lines}


def instances(archive: Path, year: str) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as annotations:
        content = json.loads(annotations.read(f"annotations/instances_{year}.json"))
    assert isinstance(content, dict)
    return content


def make(annotations: Path, pictures: dict[str, tuple[str, Path]], out: Path) -> None:
    """`pictures`: side -> (COCO's name of the split, its archive)."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    for side, (year, archive) in pictures.items():
        content = instances(annotations, year)
        names = {category["id"]: category["name"] for category in sorted(content["categories"], key=lambda c: c["id"])}
        (out / "classes.txt").write_text("".join(f"{name}\n" for name in names.values()))
        tags: dict[int, set[int]] = defaultdict(set)
        for annotation in content["annotations"]:
            tags[annotation["image_id"]].add(annotation["category_id"])
        with zipfile.ZipFile(archive) as source, (out / f"{side}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["path", "tags"])
            for number in wanted()[side]:
                with Image.open(io.BytesIO(source.read(f"{year}/COCO_{year}_{number:012d}.jpg"))) as picture:
                    picture.resize((256, 256), Image.Resampling.BICUBIC).save(
                        out / "images" / f"{number:012d}.jpg", quality=75
                    )
                writer.writerow([f"images/{number:012d}.jpg", "|".join(names[c] for c in names if c in tags[number])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("annotations", "train", "val"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    make(given.annotations, {"train": ("train2014", given.train), "test": ("val2014", given.val)}, given.out)


if __name__ == "__main__":
    main()
