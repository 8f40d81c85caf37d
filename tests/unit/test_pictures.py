"""Pictures as people have them: modes, rotation, animation, broken files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from onetag.engine.pictures import PictureError, open_rgb, square


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK", "P", "RGBA", "LA", "1"])
def test_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    suffix = "tif" if mode == "CMYK" else "png"
    Image.new("RGB", (30, 20), (200, 200, 200)).convert(mode).save(tmp_path / f"x.{suffix}")
    pixels = square(str(tmp_path / f"x.{suffix}"), 16, "bicubic")
    assert pixels.shape == (16, 16, 3)
    assert pixels.dtype == np.uint8
    assert 180 <= pixels.mean() <= 255


def test_sixteen_bits_are_scaled_and_not_clipped(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 32768, np.uint16)).save(tmp_path / "x.png")
    assert abs(square(str(tmp_path / "x.png"), 8, "bicubic").mean() - 127) < 2


def test_rotation_of_cameras_is_undone(tmp_path: Path) -> None:
    picture = Image.new("RGB", (40, 20), (255, 0, 0))
    exif = Image.Exif()
    exif[274] = 6
    picture.save(tmp_path / "x.jpg", exif=exif)
    assert open_rgb(str(tmp_path / "x.jpg")).size == (20, 40)


def test_of_an_animation_the_first_frame_counts(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in ((255, 0, 0), (0, 255, 0))]
    frames[0].save(tmp_path / "x.gif", save_all=True, append_images=frames[1:])
    assert square(str(tmp_path / "x.gif"), 4, "bicubic")[0, 0].tolist() == [255, 0, 0]


def test_what_is_no_picture_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words.jpg").write_text("no picture")
    (tmp_path / "x.heic").write_bytes(b"\x00" * 100)
    Image.effect_noise((200, 200), 90).convert("RGB").save(tmp_path / "x.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "x.jpg").read_bytes()[:500])
    for name, words in (
        ("none.jpg", "does not exist"),
        ("words.jpg", "not a picture"),
        ("x.heic", "pillow-heif"),
        ("cut.jpg", "broken"),
    ):
        with pytest.raises(PictureError, match=words):
            square(str(tmp_path / name), 8, "bicubic")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(PictureError, match="decompression bomb"):
        square(str(tmp_path / "x.jpg"), 200, "bicubic")
