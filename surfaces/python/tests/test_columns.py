"""What scenes and meshes keep of PLY beside their arrays, and the options of PLY and STL."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest

PLY = b"""ply
format ascii 1.0
comment made by hand
obj_info of a cube
element vertex 4
property float x
property float y
property float z
property uchar quality
property double time
property list uchar short tags
element face 2
property list uchar int vertex_indices
property ushort label
element camera 1
property float focal
end_header
0 0 0 7 0.5 0
1 0 0 8 1.5 2 3 4
1 1 0 9 2.5 1 -5
0 1 0 10 3.5 0
3 0 1 2 100
3 0 2 3 200
35.5
"""


def written(scene: polyhaul.Scene | polyhaul.Mesh, **options: Any) -> bytes:
    out = io.BytesIO()
    with_defaults: dict[str, Any] = {"ascii": True} | options
    polyhaul.write(scene, out, format="ply", **with_defaults)
    return out.getvalue()


def test_a_scene_keeps_all_of_a_file() -> None:
    scene = polyhaul.read(PLY, format="ply")
    mesh = scene.meshes[0]
    assert (scene.comments, scene.infos) == (["made by hand"], ["of a cube"])
    assert [(table.name, table["focal"].tolist()) for table in scene.tables] == [("camera", [35.5])]
    assert list(mesh.vertex_columns) == ["quality", "time", "tags"]
    assert mesh.vertex_columns["quality"].dtype == np.uint8 and mesh.vertex_columns["quality"].tolist() == [7, 8, 9, 10]
    assert mesh.vertex_columns["tags"].offsets.tolist() == [0, 0, 2, 3, 3]
    assert mesh.vertex_columns["tags"].values.tolist() == [3, 4, -5]
    assert mesh.face_columns["label"].tolist() == [100, 200]
    assert written(scene) == PLY


def test_columns_of_a_mesh_that_was_read_are_read_only_views() -> None:
    mesh = polyhaul.read(PLY, format="ply").meshes[0]
    quality = mesh.vertex_columns["quality"]
    assert not quality.flags.writeable and np.shares_memory(quality, mesh.vertex_columns["quality"])
    with pytest.raises(ValueError, match="read-only"):
        quality[0] = 1


def test_columns_are_set_and_taken_away() -> None:
    scene = polyhaul.read(PLY, format="ply")
    mesh = scene.meshes[0]
    columns = mesh.vertex_columns
    columns["intensity"] = np.array([0.5, 1, 1.5, 2], np.float32)
    columns["time"] = np.arange(4, dtype=np.int16)
    del columns["quality"]
    del mesh.face_columns["label"]
    assert list(mesh.vertex_columns) == list(columns) == ["time", "tags", "intensity"]
    text = written(scene)
    assert b"property short time\nproperty list uchar short tags\nproperty float intensity\n" in text
    assert b"\n1 0 0 1 2 3 4 1\n" in text and b"label" not in text
    mesh.vertex_columns = {"only": [1, 2, 3, 4.0]}
    assert list(mesh.vertex_columns) == ["only"]
    with pytest.raises(KeyError):
        mesh.vertex_columns["time"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], "vertex column 'a' has 3 rows; expected 4, one per vertex"),
        (["x"] * 4, "vertex column 'a' has dtype <U1; expected integers or floats"),
    ],
)
def test_columns_that_do_not_fit(values: Any, message: str) -> None:
    mesh = polyhaul.read(PLY, format="ply").meshes[0]
    with pytest.raises((ValueError, TypeError), match=message):
        mesh.vertex_columns["a"] = values
    with pytest.raises((ValueError, TypeError), match=message):
        mesh.vertex_columns = {"a": values}
    with pytest.raises(ValueError, match="face column 'a' has 3 rows; expected 2, one per face"):
        mesh.face_columns["a"] = [1, 2, 3]


def test_a_new_mesh_has_columns() -> None:
    given = {"intensity": np.arange(3, dtype=np.uint16)}
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], vertex_columns=given, face_columns={"w": [2.5]})
    text = written(mesh)
    assert b"property ushort intensity\n" in text and b"property double w\n" in text and b"\n0 1 0 1\n" in text
    read = polyhaul.read(text, format="ply").meshes[0]
    assert read.vertex_columns["intensity"].tolist() == [0, 1, 2] and read.face_columns["w"].tolist() == [2.5]


def test_columns_are_copied_and_pickled_with_their_mesh() -> None:
    scene = polyhaul.read(PLY, format="ply")
    for again in (copy.copy(scene), copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert written(again) == PLY


def test_a_copy_of_a_mesh_has_columns_of_its_own() -> None:
    mesh = polyhaul.read(PLY, format="ply").meshes[0]
    other = copy.copy(mesh)
    other.vertex_columns["quality"] = [0, 0, 0, 0]
    assert mesh.vertex_columns["quality"].tolist() == [7, 8, 9, 10]


def test_a_scene_takes_tables_and_comments() -> None:
    scene = polyhaul.Scene()
    scene.add(polyhaul.Mesh(np.eye(3), [[0, 1, 2]]))
    scene.comments.append("hello")
    scene.infos = ["world"]
    scene.tables.append(polyhaul.Table({"at": [1.5]}, name="shot"))
    text = written(scene)
    assert b"comment hello\nobj_info world\n" in text and b"element shot 1\nproperty double at\n" in text


def test_formats_without_columns_say_what_they_leave_out(tmp_path: Path) -> None:
    scene = polyhaul.read(PLY, format="ply")
    report = polyhaul.write(scene, tmp_path / "x.stl")
    assert report.warnings.counts["left-out-columns"] == 4
    assert report.warnings.counts["left-out-tables"] == 1


def test_options_of_ply() -> None:
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], colors=np.array([[0, 0.5, 1]] * 3))
    assert written(mesh, ascii=False).startswith(b"ply\nformat binary_little_endian 1.0\n")
    assert written(mesh, ascii=False, big_endian=True).startswith(b"ply\nformat binary_big_endian 1.0\n")
    assert b"property uchar red" in written(mesh) and b"property float red" in written(mesh, float_colors=True)
    assert b"red" not in written(mesh, colors=False)
    assert b"\n1.000 0.000 0.000 " in written(mesh, digits=3)
    assert b"\n2 0 0 " in written(mesh, global_scale=2)
    with pytest.raises(ValueError, match="cannot be combined"):
        written(mesh, big_endian=True)


def test_axes_turn_ply_only_where_they_are_given() -> None:
    scene = polyhaul.Scene()
    scene.add(polyhaul.Mesh([[1, 2, 3], [0, 0, 0], [4, 5, 6]], [[0, 1, 2]]))
    assert b"\n1 2 3\n" in written(scene)
    assert b"\n1 3 -2\n" in written(scene, forward_axis="-Z", up_axis="Y")


def test_options_of_stl(tmp_path: Path) -> None:
    mesh = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])
    path = tmp_path / "x.stl"
    polyhaul.write(mesh, path)
    assert path.stat().st_size == 84 + 2 * 50
    assert polyhaul.read(path).meshes[0].position_count == 6
    assert polyhaul.read(path, weld=True).meshes[0].position_count == 4
    polyhaul.convert(path, tmp_path / "y.stl", ascii=True, weld=True, digits=2)
    assert b"vertex 1.00 1.00 0.00" in (tmp_path / "y.stl").read_bytes()


def test_a_misspelled_option_is_refused() -> None:
    with pytest.raises(TypeError, match="did you mean 'big_endian'"):
        polyhaul.write(polyhaul.Mesh(np.eye(3)), io.BytesIO(), format="ply", bigendian=True)  # type: ignore[call-arg]


def test_info_tells_what_the_header_says() -> None:
    declared = polyhaul.info(PLY, format="ply").declared
    assert declared is not None and declared.format == "PLY ascii"
    assert (declared.comments, declared.infos) == (("made by hand",), ("of a cube",))
    counts = [(element.name, element.count) for element in declared.elements]
    assert counts == [("vertex", 4), ("face", 2), ("camera", 1)]
    quality, tags = declared.elements[0].properties[3], declared.elements[0].properties[5]
    assert (quality.name, quality.dtype, quality.is_list) == ("quality", np.dtype("u1"), False)
    assert (tags.name, tags.dtype, tags.is_list) == ("tags", np.dtype("i2"), True)
    assert polyhaul.info(b"v 0 0 0\n", format="obj").declared is None
