"""Lists of objects that are changed: what is written is what the list has."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, LIBRARY

TRIANGLE = polyhaul.Mesh(np.eye(3), [[0, 1, 2]])


def read() -> polyhaul.Scene:
    return polyhaul.read(CUBE, resolver={"cube.mtl": LIBRARY}.get)


def of_arrays() -> polyhaul.Scene:
    scene = polyhaul.Scene()
    for name in ("first", "second"):
        scene.add(polyhaul.Mesh(np.eye(3) + len(scene.objects), [[0, 1, 2]]), name=name, materials=[name])
    return scene


def text(scene: polyhaul.Scene, **options: Any) -> str:
    out = io.BytesIO()
    polyhaul.write(scene, out, format="obj", **options)
    return out.getvalue().decode()


def names(scene: polyhaul.Scene) -> list[str]:
    """The names of objects as they are written."""
    return [line[2:] for line in text(scene).splitlines() if line.startswith("o ")]


def test_a_scene_of_meshes() -> None:
    scene = polyhaul.Scene(TRIANGLE)
    assert [placed.mesh for placed in scene.objects] == [TRIANGLE] and scene.up_axis == "Z"
    several = polyhaul.Scene([TRIANGLE, polyhaul.Mesh(np.eye(3))], forward_axis="-Z", up_axis="Y")
    assert len(several.objects) == len(several.meshes) == 2 and several.up_axis == "Y"
    assert len(polyhaul.Scene(mesh for mesh in [TRIANGLE, TRIANGLE]).meshes) == 1
    assert len(polyhaul.Scene(read().meshes).materials) == 2
    assert (polyhaul.Scene("-Z", "Y").forward_axis, polyhaul.Scene().forward_axis) == ("NEGATIVE_Z", "Y")
    for wrong in (np.eye(3), ["a"], 3):
        with pytest.raises(TypeError, match="expected polyhaul.Mesh|not iterable"):
            polyhaul.Scene(wrong)  # type: ignore[arg-type]


def test_meshes_and_scenes_write_themselves(tmp_path: Any) -> None:
    report = TRIANGLE.write(tmp_path / "a.ply", ascii=True)
    assert report.bytes_out == (tmp_path / "a.ply").stat().st_size
    out = io.BytesIO()
    of_arrays().write(out, format="stl")
    assert len(out.getvalue()) == 84 + 100
    with pytest.raises(TypeError, match="unknown option 'asci'"):
        TRIANGLE.write(tmp_path / "a.ply", asci=True)


@pytest.mark.parametrize("make", [read, of_arrays])
def test_objects_are_removed(make: Any) -> None:
    for remove in (
        lambda scene: scene.objects.remove(scene.objects["first"]),
        lambda scene: scene.objects.pop(0),
        lambda scene: scene.objects.__delitem__("first"),
        lambda scene: scene.objects.__delitem__(slice(0, 1)),
        lambda scene: setattr(scene, "objects", [scene.objects[1]]),
        lambda scene: setattr(scene, "objects", scene.objects[1:]),
    ):
        scene = make()
        faces = len(scene.objects["second"].faces)
        remove(scene)
        assert [placed.name for placed in scene.objects] == ["second"]
        again = polyhaul.read(text(scene).encode(), format="obj")
        assert names(scene) == ["second"] and again.meshes[0].face_count == faces
        assert again.meshes[0].position_count == 3
    scene = make()
    scene.objects.clear()
    assert len(scene.objects) == len(scene.meshes) == 0 and names(scene) == []


@pytest.mark.parametrize("make", [read, of_arrays])
def test_objects_are_reordered(make: Any) -> None:
    for reorder in (
        lambda scene: scene.objects.reverse(),
        lambda scene: scene.objects.sort(key=lambda placed: placed.name, reverse=True),
        lambda scene: setattr(scene, "objects", scene.objects[::-1]),
        lambda scene: scene.objects.insert(0, scene.objects.pop(1)),
    ):
        scene = make()
        second = scene.objects["second"].to_mesh().positions
        reorder(scene)
        assert names(scene) == ["second", "first"]
        again = polyhaul.read(text(scene, forward_axis=scene.forward_axis, up_axis=scene.up_axis).encode(), format="obj")
        assert np.array_equal(again.meshes[0].positions[:3], second[:3])
        scene.objects.sort()
        assert names(scene) == ["first", "second"]


def test_a_file_whose_objects_are_as_they_were_keeps_its_statements() -> None:
    before = text(read())
    scene = read()
    first = scene.objects.pop(0)
    assert "g left right" not in text(scene)
    scene.objects.insert(0, first)
    assert text(scene) == before
    for again in (copy.copy(scene), copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert text(again) == before
        del again.objects[0]
        assert names(again) == ["second"] and text(scene) == before


@pytest.mark.parametrize("make", [read, of_arrays])
def test_objects_are_appended_with_their_materials(make: Any) -> None:
    scene = make()
    scene.objects.append(polyhaul.Object("third", TRIANGLE, materials=["green"]))
    scene.objects += [polyhaul.Object("fourth", TRIANGLE, transform=np.diag([2, 2, 2, 1]))]
    assert names(scene) == ["first", "second", "third", "fourth"]
    assert len(scene.objects) == 4 and "green" in [material.name for material in scene.materials]
    with_materials = polyhaul.Object("x", polyhaul.Mesh(np.eye(3), [[0, 1, 2]], materials=["azure"]))
    scene.objects[2] = with_materials
    assert "usemtl azure" in text(scene) and "usemtl green" not in text(scene)


def test_scenes_are_merged() -> None:
    one, other = read(), of_arrays()
    for material in one.materials:
        material.name = f"file {material.name}"
    other.objects.extend(one.objects)
    assert names(other) == ["first", "second", "first", "second"]
    assert "usemtl file_red" in text(other) or "usemtl file red" in text(other)
    assert names(one) == ["first", "second"]
    one.objects.extend(of_arrays().objects)
    assert names(one) == ["first", "second", "first", "second"] and "usemtl second" in text(one)


@pytest.mark.parametrize("make", [read, of_arrays])
def test_an_object_shows_another_mesh(make: Any) -> None:
    scene = make()
    shown = scene.objects["second"]
    shown.mesh = polyhaul.Mesh(np.eye(3) * 7, [[0, 1, 2]])
    assert len(shown.faces) == 1 and "7.0" in text(scene) and names(scene) == ["first", "second"]
    shown.mesh = shown.to_mesh().transform(np.diag([2, 2, 2]))
    assert "14.0" in text(scene)
    with pytest.raises(TypeError, match="expected polyhaul.Mesh"):
        shown.mesh = np.eye(3)


def test_an_object_of_a_file_is_moved() -> None:
    scene = read()
    move = np.eye(4)
    move[0, 3] = 100
    scene.objects["second"].transform = move
    again = polyhaul.read(text(scene).encode(), format="obj")
    assert [placed.name for placed in again.objects] == ["first", "second"]
    assert again.meshes[0].positions[:, 0].tolist() == [0, 1, 1, 0, 105, 106, 106]


def test_wrong_objects_are_refused() -> None:
    scene = of_arrays()
    wrongs: list[Any] = [TRIANGLE, "first", None]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="expected polyhaul.Object"):
            scene.objects.append(wrong)
        with pytest.raises(TypeError, match="expected polyhaul.Object"):
            scene.objects = [wrong]
    assert len(scene.objects) == 2
    with pytest.raises(KeyError):
        del scene.objects["none"]
    with pytest.raises(IndexError):
        scene.objects.pop(9)
    render = polyhaul.read(b"WorldBegin", format="pbrt", flatten=False)
    with pytest.raises(ValueError, match="renderer"):
        render.objects.append(polyhaul.Object("a", TRIANGLE))


def test_meshes_and_tables_are_compared() -> None:
    positions = np.array([[0, 0, np.nan], [1, 0, 0], [0, 1, 0]])
    mesh = polyhaul.Mesh(positions, [[0, 1, 2]], materials=["red"], vertex_columns={"a": [1, 2, 3]})
    for same in (copy.copy(mesh), copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh)), mesh.replace(), read().meshes[0]):
        assert mesh.equals(same) == (same.materials == mesh.materials)
    for changes in ({"positions": np.eye(3)}, {"materials": ["blue"]}, {"vertex_columns": {"a": [1.0, 2, 3]}}, {"smooth": True}):
        assert not mesh.equals(mesh.replace(**changes))
    assert read().meshes[0].equals(read().meshes[0])
    # Arrays that can be used as they are take another path than lists.
    assert polyhaul.Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.uint32)).equals(TRIANGLE)
    assert TRIANGLE.equals(polyhaul.Mesh([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2]]))
    table = polyhaul.Table({"x": [1, np.nan], "y": [1, 2]})
    assert table.equals(copy.deepcopy(table)) and table.equals(polyhaul.Table(table))
    for other in (table[["y", "x"]], table[:1], polyhaul.Table({"x": [1, 2], "y": [1, 2]}), polyhaul.Table()):
        assert not table.equals(other)
    assert np.array_equal(np.asarray(table), table.to_array(), equal_nan=True)
    assert list(pickle.loads(pickle.dumps(mesh.vertex_columns))) == ["a"]


def test_faces_of_any_size_are_a_list() -> None:
    faces: list[Any] = [[0, 1, 2], (0, 1, 2, 3), np.array([4, 3, 2])]
    mesh = polyhaul.Mesh(np.random.default_rng(1).random((5, 3)), faces)
    assert mesh.face_offsets.tolist() == [0, 3, 7, 10] and mesh.corner_positions.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 3, 2]
    lines = polyhaul.Mesh(np.eye(3), line_positions=[[0, 1], [0, 1, 2]])
    assert lines.line_offsets.tolist() == [0, 2, 5]
    wrongs: list[tuple[Any, str]] = [
        ([[0, 1], [0, 1, 2]], "at least 3 corners"), ([[0, 1, 2], [0, 1, 2, 9]], "is 9"), ([[0, 1, 2], 3], "not an array"),
    ]
    for wrong, message in wrongs:
        with pytest.raises(ValueError, match=message):
            polyhaul.Mesh(np.eye(3), wrong)


def test_masked_values_are_refused() -> None:
    masked = np.ma.masked_array(np.eye(3, dtype=np.float32), mask=np.eye(3, dtype=bool))
    records = np.ma.masked_array(np.zeros(2, [("x", "f4")]), mask=[(False,), (True,)])
    for make in (
        lambda: polyhaul.Mesh(masked), lambda: polyhaul.Mesh(np.eye(3), colors=masked),
        lambda: polyhaul.Table({"x": masked[0]}), lambda: polyhaul.Mesh(np.eye(3), vertex_columns={"a": masked[0]}),
        lambda: polyhaul.Table(masked), lambda: polyhaul.Table(records),
        lambda: polyhaul.Mesh(np.eye(3), vertex_groups=(["a", "b", "c"], masked)),
        lambda: polyhaul.write_image(masked, io.BytesIO(), format="exr"),
        lambda: polyhaul.format_rows("{x}", {"x": masked[0]}), lambda: polyhaul.format_rows("{x}", records),
    ):
        with pytest.raises(ValueError, match="masked values; fill them first"):
            make()
    assert polyhaul.Mesh(np.ma.masked_array(np.eye(3))).position_count == 3
