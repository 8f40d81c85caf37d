"""Pascal VOC's XML annotations: the tree of a file, and the boxes of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onetag.core.reading import DataError
from onetag.core.split import Objects

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def tree_of(file: Path) -> Element:
    """The root of an XML file, or a sentence."""
    from xml.etree import ElementTree

    try:
        return ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        raise DataError(file, f"is not XML ({error})", error.position[0]) from error
    except (LookupError, ValueError) as error:
        raise DataError(file, f"is not XML ({error})") from error
    except OSError as error:
        raise DataError(file, f"cannot be read ({error.strerror})") from error


def boxes_of(folder: Path, ids: Sequence[str], classes: Sequence[str]) -> Objects | None:
    """Where things are in these pictures; none where an annotation or a number in it is missing."""
    place = {name: code for code, name in enumerate(classes)}
    rows, codes, boxes, sizes = [], [], [], []
    for row, name in enumerate(ids):
        file = folder / f"{name}.xml"
        if not file.is_file():
            return None
        root = tree_of(file)
        for item in root.findall("object"):
            try:
                box = [float(item.findtext(f"bndbox/{key}", "")) for key in ("xmin", "ymin", "xmax", "ymax")]
                size = [float(root.findtext(f"size/{key}", "")) for key in ("width", "height")]
            except ValueError:
                return None
            if (code := place.get((item.findtext("name") or "").strip())) is not None:
                rows.append(row)
                codes.append(code)
                boxes.append(box)
                sizes.append(size)
    return Objects.from_boxes(rows, codes, boxes, sizes)
