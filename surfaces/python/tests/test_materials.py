"""Materials travel with meshes, and colors of any type are from 0 to 1."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, LIBRARY

RED, BLUE = polyhaul.Material("red", diffuse=(1, 0, 0)), polyhaul.Material("blue", diffuse=(0, 0, 1))
QUADS = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])


def names(mesh: polyhaul.Mesh) -> list[str | None]:
    """The name of the material of each face."""
    slots = [0] * mesh.face_count if mesh.material_slots is None else mesh.material_slots.tolist()
    found = [mesh.materials[slot] if 0 <= slot < len(mesh.materials) else None for slot in slots]
    return [None if material is None else material.name for material in found]


def of_arrays(folder: Path) -> polyhaul.Mesh:
    scene = polyhaul.Scene()
    mesh = polyhaul.Mesh(np.random.default_rng(1).random((8, 3)), QUADS, material_slots=[0, 1])
    return scene.add(mesh, materials=[RED, BLUE]).to_mesh()


def of_obj(folder: Path) -> polyhaul.Mesh:
    return polyhaul.read(CUBE, resolver={"cube.mtl": LIBRARY}.get).objects[0].to_mesh()


def of_glb(folder: Path) -> polyhaul.Mesh:
    polyhaul.write(of_arrays(folder), folder / "x.glb")
    return polyhaul.read(folder / "x.glb").meshes[0]


@pytest.mark.parametrize("source", [of_arrays, of_obj, of_glb])
@pytest.mark.parametrize(
    "change",
    [
        lambda mesh: mesh.triangulate(),
        lambda mesh: mesh.weld(),
        lambda mesh: mesh.transform(np.diag([2, 2, 2])),
        lambda mesh: mesh.triangulate().weld().transform(np.eye(4)),
        lambda mesh: mesh.select_faces(slice(None)),
        lambda mesh: mesh.replace(positions=mesh.positions * 2),
        lambda mesh: polyhaul.concatenate([mesh]),
        lambda mesh: polyhaul.Scene(mesh).objects[0].to_mesh(),
        lambda mesh: polyhaul.Scene(mesh).objects[0].to_mesh(used_only=True),
        lambda mesh: next(iter(polyhaul.Scene(mesh).parts())).mesh,
        copy.copy,
        copy.deepcopy,
        lambda mesh: pickle.loads(pickle.dumps(mesh)),
    ],
)
def test_materials_survive(source: Callable[[Path], polyhaul.Mesh], change: Any, tmp_path: Path) -> None:
    mesh = source(tmp_path)
    changed = change(mesh)
    before, after = names(mesh), names(changed)
    assert len({name for name in before if name}) == 2
    assert list(dict.fromkeys(after)) == list(dict.fromkeys(before))
    # What is written has them, with their values.
    report = polyhaul.write(changed, tmp_path / "out.obj")
    assert not report.warnings.counts.get("missing-slot")
    read = polyhaul.read(tmp_path / "out.obj")
    red: Any = read.materials["red"].diffuse
    assert red[0] > 0.7
    polyhaul.write(changed, tmp_path / "out.glb")
    assert {material.name for material in polyhaul.read(tmp_path / "out.glb").materials} >= {"red", "blue"}


def test_a_part_has_only_the_materials_that_it_uses() -> None:
    scene = polyhaul.read(CUBE, resolver={"cube.mtl": LIBRARY}.get)
    part = scene.meshes[0].select_faces([0])
    other = polyhaul.Scene(part)
    assert [material.name for material in other.materials] == ["red"]


@pytest.mark.parametrize("format", ["obj", "glb"])
def test_a_slot_without_a_material_warns(format: Any) -> None:
    def warned(mesh: polyhaul.Mesh, materials: Any = None, **options: Any) -> int:
        scene = polyhaul.Scene()
        scene.add(mesh, name="Cube", materials=materials)
        report = polyhaul.write(scene, io.BytesIO(), format=format, **options)
        if "missing-slot" in report.warnings.counts:
            assert "object `Cube`" in str(report.warnings[0]) and report.warnings[0].severity == "loss"
        return report.warnings.counts.get("missing-slot", 0)

    corners = np.random.default_rng(1).random((8, 3))
    for slots, materials, expected in (
        ([0, 1], ["red"], 1), ([0, 5], ["red", "blue"], 1), ([0, 1], None, 1), ([0, 2**31 - 1], ["red"], 1),
        ([0, 1], ["red", None], 0), ([0, 0], None, 0), ([0, -1], ["red"], 0), ([-1, -1], None, 0), ([0, 1], ["red", "blue"], 0),
    ):
        assert warned(polyhaul.Mesh(corners, QUADS, material_slots=slots), materials) == expected, (slots, materials)
    lost = polyhaul.Mesh(corners, QUADS, material_slots=[0, 1])
    with pytest.raises(polyhaul.UnsupportedError, match="material slot"):
        warned(lost, strict=True)
    assert warned(lost, materials=["red"], strict=True, allow=["missing-slot", "left-out-materials"]) == 1
    assert not polyhaul.write(lost, io.BytesIO(), format="ply").warnings.counts.get("missing-slot")


def test_a_mesh_takes_materials() -> None:
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], materials=["red"])
    assert names(mesh) == ["red"]
    mesh.materials = [BLUE, None]
    assert mesh.materials == (BLUE, None)
    assert [material.name for material in polyhaul.Scene(mesh).materials] == ["blue"]
    # Objects have the last word.
    scene = polyhaul.Scene()
    scene.add(mesh, materials=["green"])
    assert [material.name for material in scene.materials] == ["green"]
    for wrong in ("red", BLUE):
        with pytest.raises(TypeError, match="expected a list"):
            polyhaul.Mesh(np.eye(3), materials=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected a list"):
            scene.add(mesh, materials=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "maximum"), [("u1", 255), ("u2", 65535), ("u4", 2**32 - 1), ("i1", 1), ("i2", 255), ("i4", 255), ("i8", 255)]
)
@pytest.mark.parametrize("columns", [3, 4])
def test_integer_colors_are_divided_by_their_maximum(dtype: str, maximum: int, columns: int) -> None:
    colors = np.zeros((3, columns), dtype)
    colors[0], colors[1, 0] = maximum, maximum // 2
    expected = np.ones((3, 4))
    expected[:, :columns] = colors / maximum
    made = polyhaul.Mesh(np.eye(3), colors=colors)
    assert made.colors is not None and made.colors.dtype == np.float32
    np.testing.assert_allclose(made.colors, expected, rtol=1e-6)
    mesh = polyhaul.Mesh(np.eye(3))
    mesh.colors = colors
    np.testing.assert_array_equal(mesh.colors, made.colors)
    np.testing.assert_array_equal(mesh.replace(colors=colors).colors, made.colors)
    if columns == 4:
        np.testing.assert_array_equal(polyhaul.Mesh(np.eye(3), colors=colors.reshape(-1)).colors, made.colors)


def test_bytes_come_back_as_they_were() -> None:
    colors = np.random.default_rng(2).integers(0, 256, (100, 4)).astype(np.uint8)
    out = io.BytesIO()
    polyhaul.write(polyhaul.Mesh(np.random.default_rng(3).random((100, 3)), colors=colors), out, format="ply")
    read = polyhaul.read(out.getvalue()).meshes[0].colors
    assert read is not None and np.array_equal(np.rint(read * 255), colors)
    floats = np.linspace(0, 2, 12, dtype=np.float32).reshape(3, 4)
    made = polyhaul.Mesh(np.eye(3), colors=floats).colors
    np.testing.assert_array_equal(made, floats)


def test_python_integers_are_bytes_or_zeros_and_ones() -> None:
    def first(colors: Any) -> list[float]:
        made = polyhaul.Mesh(np.eye(3), colors=colors).colors
        assert made is not None
        return made[0].tolist()

    assert first([[1, 0, 0]] * 3) == [1, 0, 0, 1]
    assert first([[255, 0, 0]] * 3) == [1, 0, 0, 1]
    for wrong in ([[256, 0, 0]] * 3, [[-1, 0, 0]] * 3):
        with pytest.raises(ValueError, match="expected integers from 0 to 255"):
            first(wrong)
    with pytest.raises(ValueError, match=r"colors has shape \(3, 2\); expected \(n, 3\) or \(n, 4\)"):
        first([[1, 0]] * 3)
    with pytest.raises(ValueError, match=r"colors has shape \(2, 3\); expected 3 rows"):
        first([[1, 0, 0]] * 2)
