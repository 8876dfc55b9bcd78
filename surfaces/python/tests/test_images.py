"""Images: arrays of rows, columns and channels, there and back."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import REPOSITORY
from polyhaul import Image

DATA = REPOSITORY / "testdata"
RANDOM = np.random.default_rng(3)


def written(image: Any, format: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    polyhaul.write_image(image, out, format=format, **options)
    return out.getvalue()


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("rle", [False, True])
def test_tga_comes_back(channels: int, rle: bool) -> None:
    pixels = np.repeat(RANDOM.integers(0, 256, (7, 5, channels), np.uint8), 3, axis=1)
    image = polyhaul.read_image(written(pixels, "tga", rle=rle), format="tga")
    np.testing.assert_array_equal(image.pixels, pixels)
    assert (image.height, image.width, image.has_alpha) == (7, 15, channels == 4)
    assert (image.color_space, image.premultiplied) == ("srgb", False)
    assert image.report is not None and image.report.warnings.total == 0


def test_packets_are_smaller() -> None:
    flat = np.full((64, 64, 3), 9, np.uint8)
    assert len(written(flat, "tga", rle=True)) < len(written(flat, "tga")) // 10


def test_light_is_float32_and_linear() -> None:
    pixels = np.array([[[1, 0.5, 0.25]], [[16, 8, 4]]])
    image = polyhaul.read_image(written(pixels, "hdr"), format="hdr")
    assert image.pixels.dtype == np.float32 and image.color_space == "linear"
    np.testing.assert_array_equal(image.pixels, pixels)


def test_files_of_others_are_read_as_they_are(tmp_path: Path) -> None:
    image = polyhaul.read_image(DATA / "tga" / "good" / "pillow" / "200x32_rgb_bl_rle.tga")
    assert image.pixels.shape == (32, 200, 3)
    polyhaul.write_image(image, tmp_path / "a.tga.gz")
    np.testing.assert_array_equal(polyhaul.read_image(tmp_path / "a.tga.gz").pixels, image.pixels)


def test_pixels_may_be_changed_and_numpy_takes_images() -> None:
    image = polyhaul.read_image(written(np.zeros((2, 2, 3), np.uint8), "tga"), format="tga")
    image.pixels[0, 0] = 7
    assert np.asarray(image)[0, 0, 1] == 7
    assert np.array(image, copy=True) is not image.pixels


def test_views_need_no_copy_of_the_caller() -> None:
    pixels = RANDOM.integers(0, 256, (6, 8, 3), np.uint8)
    for view in (pixels[::-1], pixels[:, ::2], pixels.transpose(1, 0, 2), pixels[:, :, 0]):
        back = polyhaul.read_image(written(view, "tga"), format="tga").pixels
        np.testing.assert_array_equal(back.reshape(view.shape), view)


def test_results_do_not_depend_on_threads() -> None:
    pixels = RANDOM.integers(0, 256, (300, 500, 4), np.uint8)
    files = {written(pixels, "tga", threads=threads) for threads in (1, 2, 7)}
    assert len(files) == 1
    for threads in (1, 2, 7):
        np.testing.assert_array_equal(polyhaul.read_image(next(iter(files)), threads=threads).pixels, pixels)


@pytest.mark.parametrize(
    ("image", "error"),
    [
        (np.zeros((2, 2, 5), np.uint8), ValueError),
        (np.zeros(4, np.uint8), ValueError),
        (np.zeros((2, 2, 3), np.int32), TypeError),
        ("picture", (TypeError, ValueError)),
    ],
)
def test_what_is_no_image_is_said(image: Any, error: Any) -> None:
    with pytest.raises(error):
        written(image, "tga")


def test_errors_say_where() -> None:
    with pytest.raises(polyhaul.MalformedError, match=r"byte|ends"):
        polyhaul.read_image(written(np.zeros((9, 9, 3), np.uint8), "tga")[:100], format="tga")
    with pytest.raises(polyhaul.LimitError, match="pixels"):
        polyhaul.read_image(written(np.zeros((9, 9, 3), np.uint8), "tga"), limits=polyhaul.Limits(pixels=80))
    with pytest.raises(polyhaul.UsageError, match="not an image format"):
        polyhaul.read_image(b"v 0 0 0\n", format="obj")
    with pytest.raises(ValueError, match="color_space"):
        written(Image(np.zeros((1, 1, 3), np.uint8), "linaer"), "tga")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rel"):
        written(np.zeros((1, 1, 3), np.uint8), "tga", rel=True)


def test_a_callback_of_a_file_object_is_asked_in_blocks() -> None:
    class Counted(io.BytesIO):
        calls = 0

        def read(self, size: int | None = -1) -> bytes:
            Counted.calls += 1
            return super().read(size)

        def readinto(self, buffer: Any) -> int:
            Counted.calls += 1
            return super().readinto(buffer)

    file = written(RANDOM.integers(0, 256, (512, 512, 3), np.uint8), "tga")
    polyhaul.read_image(Counted(file), format="tga")
    assert Counted.calls <= -(-len(file) // 65536) + 4


def test_png_and_exr_come_back() -> None:
    pixels = RANDOM.integers(0, 65536, (9, 7, 4), np.uint16)
    for level in ("fast", "best"):
        back = polyhaul.read_image(written(pixels, "png", png_level=level), format="png")
        np.testing.assert_array_equal(back.pixels, pixels)
    light = RANDOM.random((5, 6, 3), np.float32)
    back = polyhaul.read_image(written(light, "exr", exr_float=True), format="exr")
    np.testing.assert_array_equal(back.pixels, light)
    assert np.abs(polyhaul.read_image(written(light, "exr"), format="exr").pixels - light).max() < 1e-3


def test_jpeg_is_nearly_the_same_by_its_quality() -> None:
    ramp = np.linspace(0, 255, 64).astype(np.uint8)
    pixels = np.stack([np.tile(ramp, (64, 1)), np.tile(ramp[:, None], (1, 64)), np.full((64, 64), 90, np.uint8)], axis=2)
    sizes = []
    for quality in (30, 90, 100):
        file = written(pixels, "jpg", quality=quality)
        back = polyhaul.read_image(file, format="jpg")
        assert np.abs(back.pixels.astype(int) - pixels).max() < 120 / quality * 8
        sizes.append(len(file))
    assert sizes == sorted(sizes) and written(pixels, "jpg") == written(pixels, "jpg", quality=90)
    for wrong in (0, 101):
        with pytest.raises(ValueError, match="quality"):
            written(pixels, "jpg", quality=wrong)


def test_what_a_format_does_not_hold_is_noted() -> None:
    out = io.BytesIO()
    report = polyhaul.write_image(np.full((2, 2, 3), 4.0, np.float32), out, format="tga")
    assert report.warnings.counts == {"cut-samples": 12}
    np.testing.assert_array_equal(polyhaul.read_image(out.getvalue(), format="tga").pixels, 255)


def test_channels_beside_the_colours_come_back() -> None:
    light = RANDOM.random((6, 5, 3), np.float32)
    extra: dict[str, Any] = {
        "Z": RANDOM.random((6, 5), np.float32),
        "diffuse.R": RANDOM.random((6, 5), np.float32).astype(np.float16),
        "id": RANDOM.integers(0, 2**32, (6, 5), np.uint32),
    }
    attributes = {"owner": ("string", b"me")}
    image = Image(light, "linear", extra=extra, attributes=attributes)
    file = written(image, "exr", exr_float=True)
    back = polyhaul.read_image(file, format="exr")
    np.testing.assert_array_equal(back.pixels, light)
    assert back.attributes == attributes
    assert back.stored == [("R", "float32"), ("G", "float32"), ("B", "float32")]
    assert list(back.extra) == list(extra)
    for name, plane in extra.items():
        assert back.extra[name].dtype == plane.dtype
        np.testing.assert_array_equal(back.extra[name], plane)
    assert written(back, "exr") == file
    chosen = polyhaul.read_image(file, format="exr", layer="diffuse")
    np.testing.assert_array_equal(chosen.pixels[:, :, 0], extra["diffuse.R"])
    assert chosen.extra == {}
    with pytest.raises(polyhaul.UsageError, match="`diffuse`"):
        polyhaul.read_image(file, format="exr", layer="specular")
    with pytest.raises(polyhaul.UsageError, match="part"):
        polyhaul.read_image(file, format="exr", part=3)
    report = polyhaul.write_image(back, io.BytesIO(), format="hdr")
    # Random floats: no pixel fits the mantissas of Radiance HDR.
    assert report.warnings.counts == {"changed-samples": 30, "left-out-channels": 3, "left-out-attributes": 1}
    with pytest.raises(ValueError, match="shape"):
        written(Image(light, "linear", extra={"Z": np.zeros((5, 6))}), "exr")
    with pytest.raises(TypeError, match="float64"):
        written(Image(light, "linear", extra={"Z": np.zeros((6, 5))}), "exr")


@pytest.mark.parametrize("name", ["wood.dds", "wood.ktx2"])
def test_textures_are_imported(name: str, tmp_path: Path) -> None:
    pixels = np.repeat(np.repeat(RANDOM.integers(0, 256, (8, 16, 3), np.uint8), 8, axis=0), 8, axis=1)
    polyhaul.write_image(pixels, tmp_path / "wood.png")
    made = polyhaul.import_texture(tmp_path / "wood.png", tmp_path / name, quality="fast")
    assert (made.width, made.height, made.encoding, made.level_count) == (128, 64, "bc7", 8)
    back = polyhaul.read_image(tmp_path / name).pixels[:, :, :3].astype(int)
    assert np.abs(back - pixels).mean() < 4
    plain = polyhaul.import_texture(tmp_path / "wood.png", tmp_path / name, encoding="rgba8", mips="none", zstd_level=None)
    assert (plain.encoding, plain.level_count) == ("rgba8", 1)
    np.testing.assert_array_equal(polyhaul.read_image(tmp_path / name).pixels[:, :, :3], pixels)


WRONG_SETTINGS = [
    {"encoding": "bc9"}, {"encoding": 5}, {"quality": "most"}, {"quality": None}, {"mips": "cubic"}, {"mips": None},
    {"mips": True}, {"color_space": "gamma"}, {"format": "png"}, {"alpha_cutoff": 50}, {"alpha_cutoff": np.nan},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_SETTINGS)
def test_what_textures_do_not_know_is_said(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        polyhaul.import_texture(b"", io.BytesIO(), **wrong)
