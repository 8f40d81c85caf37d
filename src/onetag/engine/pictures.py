"""Pictures from files to uint8 arrays: upright (EXIF), RGB, first frame, squashed to a square."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

_RESAMPLING = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "lanczos": Image.Resampling.LANCZOS,
}


class PictureError(Exception):
    """A file that cannot be used as a picture, and why."""


def open_rgb(path: str, at_least: int = 0) -> Image.Image:
    """An upright RGB picture. Large JPEGs are decoded at a reduced size, still twice `at_least`: much faster."""
    try:
        with Image.open(path) as picture:
            # Pillow itself only warns between one and two times its limit; filters of warnings belong to the process, not to a thread.
            if Image.MAX_IMAGE_PIXELS is not None and picture.width * picture.height > Image.MAX_IMAGE_PIXELS:
                raise Image.DecompressionBombError
            if at_least:
                picture.draft("RGB", (2 * at_least, 2 * at_least))
            picture.load()
            return _to_rgb(ImageOps.exif_transpose(picture))
    except FileNotFoundError as error:
        raise PictureError("the file does not exist") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PictureError(
            f"too many pixels, perhaps a decompression bomb (Pillow's limit is {Image.MAX_IMAGE_PIXELS:,})"
        ) from error
    except UnidentifiedImageError as error:
        heic = path.lower().endswith((".heic", ".heif"))
        raise PictureError(
            "HEIC needs the package pillow-heif" if heic else "not a picture that Pillow can read"
        ) from error
    except Exception as error:  # decoders raise OSError, SyntaxError, ValueError, struct.error ... for broken files
        raise PictureError(f"broken: {error}".rstrip()) from error


def _to_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGB":
        return picture
    if picture.mode.startswith(("I", "F")):  # 16 bits and more: Pillow's own conversion would clip, not scale
        values = np.asarray(picture, dtype=np.float64)
        top = 65535.0 if picture.mode.startswith("I") else 1.0
        scaled = np.clip(values * (255.0 / max(top, float(values.max(initial=0.0)))), 0, 255)
        return Image.fromarray(scaled.astype(np.uint8)).convert("RGB")
    if "transparency" in picture.info:
        picture = picture.convert("RGBA")
    return picture.convert("RGB")


def to_square(picture: Image.Image, size: int, interpolation: str) -> NDArray[np.uint8]:
    """[size, size, 3] uint8, the whole picture squashed."""
    picture = _to_rgb(picture)
    if picture.size != (size, size):
        picture = picture.resize((size, size), _RESAMPLING.get(interpolation, Image.Resampling.BICUBIC))
    return np.asarray(picture)


def square(path: str, size: int, interpolation: str) -> NDArray[np.uint8]:
    """The same from a file."""
    return to_square(open_rgb(path, size), size, interpolation)
