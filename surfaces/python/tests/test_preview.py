"""Pictures, as Python has them: of files and of what is in memory."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import polyhaul
import pytest

SQUARE = b"v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nf 1 2 3 4\n"


def test_a_file_and_its_scene_give_the_same_picture() -> None:
    drawn = polyhaul.preview(SQUARE, size=(64, 48), format="obj")
    scene = polyhaul.read(SQUARE, format="obj")
    assert drawn.pixels.shape == (48, 64, 4) and drawn.pixels.dtype == np.uint8
    assert np.array_equal(polyhaul.preview(scene, size=(64, 48)).pixels, drawn.pixels)
    assert drawn.report is not None and drawn.report.first_pixel is not None
    assert 0 < drawn.report.first_pixel <= drawn.report.seconds
    assert np.array_equal(polyhaul.preview(SQUARE, size=(64, 48), format="obj", threads=1).pixels, drawn.pixels)


def test_views_styles_and_backgrounds() -> None:
    front = polyhaul.preview(SQUARE, size=(60, 60), view="front", style="normals", background=(1, 2, 3, 0), format="obj")
    assert front.pixels[30, 30].tolist() == [128, 128, 255, 255]
    assert front.pixels[0, 0].tolist() == [1, 2, 3, 0]
    top = polyhaul.preview(SQUARE, size=(60, 60), view="front", up_axis="Z", background=(9, 9, 9), format="obj")
    assert top.pixels[30, 30].tolist() == [9, 9, 9, 255] or (top.pixels[:, :, 0] != 9).mean() < 0.1
    with pytest.raises(ValueError, match='unknown view "up"; expected one of "camera", "iso"'):
        polyhaul.preview(SQUARE, view="up", format="obj")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='unknown style "x"'):
        polyhaul.preview(SQUARE, style="x", format="obj")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="up_axis"):
        polyhaul.preview(SQUARE, up_axis="W", format="obj")
    with pytest.raises(polyhaul.UsageError, match="0 x 10 pixels"):
        polyhaul.preview(SQUARE, size=(0, 10), format="obj")


def test_meshes_tables_and_images() -> None:
    mesh = polyhaul.Mesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0]], [[0, 1, 2]])
    assert len(np.unique(polyhaul.preview(mesh, size=(40, 30)).pixels.reshape(-1, 4), axis=0)) > 1
    numbers = np.linspace(0, 1, 50)
    points = polyhaul.Table({"x": numbers, "y": numbers**2, "z": 0 * numbers, "red": np.full(50, 255, np.uint8),
                             "green": np.zeros(50, np.uint8), "blue": np.zeros(50, np.uint8)})
    pixels = polyhaul.preview(points, size=(40, 30), view="front").pixels.reshape(-1, 4).astype(int)
    assert ((pixels[:, 0] > 200) & (pixels[:, 1] < 60)).any()
    with pytest.raises(ValueError, match="no column 'z'"):
        polyhaul.preview(points[["x", "y"]])
    image = polyhaul.Image(np.arange(100 * 80 * 3, dtype=np.uint16).reshape(80, 100, 3))
    small = polyhaul.preview(image, size=(50, 50))
    assert small.pixels.shape == (40, 50, 3) and small.pixels.dtype == np.uint16
    assert np.allclose(small.pixels[0, 0], image.pixels[:2, :2].mean(axis=(0, 1)), atol=0.5)


def test_notebooks_show_pictures() -> None:
    scene = polyhaul.read(SQUARE, format="obj")
    image = polyhaul.Image(np.zeros((3, 2, 4), np.uint8))
    points = polyhaul.Table({"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [0.0, 1.0]})
    files = [scene._repr_png_(), scene.meshes[0]._repr_png_(), points._repr_png_(), image._repr_png_()]
    for file, shape in zip(files, [(480, 640)] * 3 + [(3, 2)], strict=True):
        assert file is not None
        assert polyhaul.read_image(io.BytesIO(file)).pixels.shape[:2] == shape
    assert polyhaul.Table({"x": [0.0], "age": [1]})._repr_png_() is None


def test_pictures_in_notebooks_have_a_budget_of_work() -> None:
    side = np.arange(1200, dtype=np.float32)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    points = np.column_stack([grid, np.sin(grid.sum(axis=1) / 50) * 20])
    number = np.arange(1200 * 1200).reshape(1200, 1200)
    quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], -1).reshape(-1, 4)
    mesh = polyhaul.Mesh(points, quads)
    table = polyhaul.Table({name: np.tile(points[:, at], 4) for at, name in enumerate("xyz")})
    for thing in (mesh, polyhaul.Scene(mesh), table):
        file = thing._repr_png_()
        assert file is not None and file == thing._repr_png_()
        assert len(np.unique(polyhaul.read_image(io.BytesIO(file)).pixels)) > 10


def many_places() -> bytes:
    """A glTF file that shows a mesh of 10,000 triangles at 1,200 places."""
    places = 1200
    nodes = [{"mesh": 0, "translation": [at % 40, at // 40, 0]} for at in range(places)]
    positions = base64.b64encode(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32).tobytes()).decode()
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": list(range(places))}],
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"componentType": 5125, "count": 30_000, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": f"data:application/octet-stream;base64,{positions}"}],
    }
    return json.dumps(document).encode()


def test_coarse_pictures_say_so() -> None:
    drawn = polyhaul.preview(many_places(), size=(64, 48), format="glb")
    assert drawn.report is not None and drawn.report.warnings.counts["coarse-picture"] == 1
    exact = polyhaul.preview(SQUARE, size=(64, 48), format="obj")
    assert exact.report is not None and "coarse-picture" not in exact.report.warnings.counts


def test_renderer_scenes_have_their_camera() -> None:
    text = b'LookAt 0 0 -5 0 0 0 0 1 0 Camera "perspective" "float fov" 40 WorldBegin Shape "sphere"'
    drawn = polyhaul.preview(text, size=(50, 50), format="pbrt", background=(0, 0, 0, 0))
    alpha = drawn.pixels[:, :, 3] > 127
    # The angle of a sphere of radius 1 from a distance of 5, in a view of 40 degrees.
    assert abs(alpha[25].sum() / 50 - np.tan(np.arcsin(1 / 5)) / np.tan(np.radians(20))) < 0.05
    scene = polyhaul.read(text, format="pbrt", flatten=False)
    assert np.array_equal(polyhaul.preview(scene, size=(50, 50), background=(0, 0, 0, 0)).pixels, drawn.pixels)
