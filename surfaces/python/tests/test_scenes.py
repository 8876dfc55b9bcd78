"""Scenes made from meshes, and what is written of them."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows

TRIANGLE = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])


def written(scene: polyhaul.Scene | polyhaul.Mesh, **options: Any) -> list[str]:
    """The lines of the file, without its header."""
    target = io.BytesIO()
    polyhaul.write(scene, target, **{"format": "obj"} | options)
    return [line for line in target.getvalue().decode().splitlines() if not line.startswith("#")]


def obj_scene(**axes: Any) -> polyhaul.Scene:
    """A scene that is not turned when it is written."""
    return polyhaul.Scene("-Z", "Y")


def test_a_new_scene_has_blenders_axes_and_is_turned() -> None:
    scene = polyhaul.Scene()
    assert (scene.forward_axis, scene.up_axis) == ("Y", "Z")
    scene.add(polyhaul.Mesh([[1, 2, 3]]), name="a")
    assert "v 1.000000 3.000000 -2.000000" in written(scene)
    assert "v 1.000000 2.000000 3.000000" in written(scene, forward_axis="Y", up_axis="Z")


@pytest.mark.parametrize("axes", [("NEGATIVE_Z", "Y"), ("-Z", "Y"), ("-z", "POSITIVE_Y")])
def test_a_scene_with_the_axes_of_the_file_is_not_turned(axes: Any) -> None:
    scene = polyhaul.Scene(*axes)
    scene.add(polyhaul.Mesh([[1, 2, 3]]), name="a")
    assert "v 1.000000 2.000000 3.000000" in written(scene)


def test_axes_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="are parallel"):
        polyhaul.Scene("Y", "-Y")
    with pytest.raises(ValueError, match="up_axis is 'up'"):
        polyhaul.Scene("Y", "up")  # type: ignore[arg-type]


def test_a_single_mesh_is_written_as_it_is() -> None:
    assert written(TRIANGLE) == [
        "o Mesh",
        "v 0.000000 0.000000 0.000000",
        "v 1.000000 0.000000 0.000000",
        "v 0.000000 1.000000 0.000000",
        "f 1 2 3",
    ]


def test_a_mesh_that_is_added_twice_is_stored_once() -> None:
    scene = obj_scene()
    first, second = scene.add(TRIANGLE, "a"), scene.add(TRIANGLE, "b")
    assert len(scene.meshes) == 1 and first.mesh is second.mesh is TRIANGLE
    lines = written(scene)
    assert [line for line in lines if line[0] in "of"] == ["o a", "f 1 2 3", "o b", "f 4 5 6"]


def test_objects_without_a_name_get_one() -> None:
    scene = obj_scene()
    assert [scene.add(TRIANGLE).name, scene.add(TRIANGLE).name] == ["Object1", "Object2"]


def test_transforms_are_checked_and_applied() -> None:
    scene = obj_scene()
    matrix = np.eye(4)
    matrix[:3, 3] = [10, 20, 30]
    added = scene.add(TRIANGLE, "a", transform=matrix)
    assert added.transform is not None and added.transform.dtype == np.float64
    assert "v 11.000000 20.000000 30.000000" in written(scene)
    for wrong in (np.eye(3), [1, 2, 3]):
        with pytest.raises(ValueError, match=r"transform has shape .*; expected \(4, 4\)"):
            added.transform = wrong


def test_materials_are_given_as_objects_or_names() -> None:
    scene = obj_scene()
    red = polyhaul.Material("red", diffuse=(1, 0, 0))
    quad = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [1, 3, 2]], material_slots=[1, 0])
    added = scene.add(quad, "a", materials=[red, "blue"])
    assert [material.name for material in scene.materials] == ["red", "blue"] and scene.materials["red"] is red
    assert added.materials == (red, scene.materials["blue"])
    again = scene.add(quad, "b", materials=["blue", None])
    assert again.materials is not None and again.materials[0] is scene.materials["blue"] and again.materials[1] is None
    lines = written(scene)
    assert [line.rstrip() for line in lines if line.startswith("usemtl")] == [
        "usemtl red",
        "usemtl blue",
        "usemtl blue",
        "usemtl (null)",
    ]
    with pytest.raises(TypeError, match="material is of type int"):
        scene.add(quad, "c", materials=[3])  # type: ignore[list-item]


def test_two_different_materials_of_one_name_are_an_error() -> None:
    scene = obj_scene()
    scene.add(TRIANGLE, "a", materials=[polyhaul.Material("red", diffuse=(1, 0, 0))])
    scene.add(TRIANGLE, "b", materials=[polyhaul.Material("red", diffuse=(1, 0, 0))])
    assert written(scene)
    scene.add(TRIANGLE, "c", materials=[polyhaul.Material("red", diffuse=(0, 0, 0))])
    with pytest.raises(ValueError, match="two different materials are named 'red'"):
        written(scene)


def test_the_library_is_written_beside_the_file(tmp_path: Path) -> None:
    texture = polyhaul.TextureMap("normal", "n.png", bump_multiplier=0.5)
    looks = {"diffuse": (0.1, 0.2, 0.3), "specular": polyhaul.Xyz(1, 2, 3), "opacity": 0.25, "roughness": 0.5}
    material = polyhaul.Material("red", maps=[texture], **looks)  # type: ignore[arg-type]
    scene = obj_scene()
    scene.add(TRIANGLE, "a", materials=[material])
    report = polyhaul.write(scene, tmp_path / "x.obj", pbr_extensions=True)
    assert report.bytes_out > 0 and (tmp_path / "x.mtl").exists()
    (read_material,) = polyhaul.read(tmp_path / "x.obj").materials
    for name, value in looks.items():
        assert getattr(read_material, name) == value, name
    image = read_material.maps[0]
    assert (image.kind, image.file, image.bump_multiplier) == ("normal", "n.png", 0.5)
    with pytest.raises(ValueError, match="diffuse has 2 values"):
        material.diffuse = (1, 2)  # type: ignore[assignment]
        polyhaul.write(scene, io.BytesIO(), format="obj")
    with pytest.raises(ValueError, match="kind is 'colour'"):
        polyhaul.TextureMap("colour", "x.png")  # type: ignore[arg-type]


def test_a_scene_that_was_read_is_written_as_convert_writes_it(cube: Path, tmp_path: Path) -> None:
    polyhaul.write(polyhaul.read(cube), tmp_path / "a.obj")
    polyhaul.convert(cube, tmp_path / "b.obj")
    a, b = (tmp_path / "a.obj").read_bytes(), (tmp_path / "b.obj").read_bytes()
    assert a.replace(b"a.mtl", b"b.mtl") == b


def test_materials_of_a_scene_that_was_read_can_be_changed(cube: Path, tmp_path: Path) -> None:
    scene = polyhaul.read(cube)
    scene.materials["red"].diffuse = (0.25, 0.5, 1)
    polyhaul.write(scene, tmp_path / "x.obj")
    assert polyhaul.read(tmp_path / "x.obj").materials["red"].diffuse == (0.25, 0.5, 1)


def test_the_mesh_of_a_file_can_join_another_scene(cube: Path) -> None:
    read = polyhaul.read(cube)
    scene = obj_scene()
    first = scene.add(read.meshes[0], "joined", transform=np.diag([2, 2, 2, 1]))
    second = scene.add(read.meshes[0], "again", materials=["a", "b"])
    assert first.mesh is second.mesh and first.mesh.position_count == 7 and len(scene.meshes) == 1
    assert np.shares_memory(first.mesh.positions, read.meshes[0].positions)
    assert first.materials is not None and first.materials[0] is read.materials["red"]
    np.testing.assert_array_equal(first.mesh.material_slots, [0, 1, 1])
    lines = written(scene)
    assert [line for line in lines if line[:2] == "o "] == ["o joined", "o again"]
    used = [line.split()[1] for line in lines if line.startswith("usemtl")]
    assert used == ["red", "blue", "a", "b"]
    assert "v 12.000000 12.000000 10.000000" in lines
    assert repr(read.objects[0]) == "<polyhaul.Object 'first': 4 positions, 2 faces>"  # and that scene is as it was


def test_objects_can_join_a_scene_that_was_read(cube: Path) -> None:
    scene = polyhaul.read(cube)
    before = written(scene)
    scene.add(TRIANGLE, "more", transform=np.eye(4), materials=["red"])
    after = written(scene)
    assert after[: len(before)] == before
    assert [line for line in after if line[:2] == "o "] == ["o first", "o second", "o more"]
    assert after[-1] == "f 8 9 10"


def test_options_have_their_effect(cube: Path) -> None:
    scene = polyhaul.read(cube)
    assert not any(line.startswith("vn") for line in written(scene, normals=False))
    assert not any(line.startswith("vt") for line in written(scene, uv=False))
    assert not any("usemtl" in line or "mtllib" in line for line in written(scene, materials=False))
    assert "g first" in written(scene, object_groups=True)
    assert "v 1.00 0.00 0.00" in written(scene, digits=2)
    assert "v 1 0 0" in written(scene, digits={"positions": "shortest"})
    assert "v 2.000000 0.000000 0.000000" in written(scene, global_scale=2)


def test_sizes_that_break_the_model_are_an_error_of_usage() -> None:
    scene = polyhaul.read(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    scene._materials.clear()  # what no method does
    with pytest.raises(polyhaul.UsageError):
        written(scene)


@pytest.mark.parametrize("threads", [1, 2, 7, 64])
def test_threads_make_no_difference(threads: int) -> None:
    scene = polyhaul.read(rows(3_000))
    assert written(scene, threads=threads, memory_limit="4MiB") == written(scene, threads=1)


def test_scenes_can_be_copied() -> None:
    scene = obj_scene()
    scene.add(TRIANGLE, "a", materials=["red"])
    other = copy.deepcopy(scene)
    other.add(other.meshes[0], "b")
    assert len(other.meshes) == 1 and len(scene.objects) == 1
    assert written(scene)[:2] == written(other)[:2]


def test_objects_may_be_changed_until_they_are_written() -> None:
    scene = obj_scene()
    added = scene.add(TRIANGLE, "a")
    added.name, added.materials = "b", (polyhaul.Material("new"),)
    lines = written(scene)
    assert "o b" in lines and "usemtl new" in lines
    with pytest.raises(TypeError, match=r"mesh is of type list; expected polyhaul\.Mesh"):
        scene.add([[0, 0, 0]], "c")  # type: ignore[arg-type]


def test_writing_copies_nothing() -> None:
    """Peak memory of writing 180 MB of arrays, in a process of its own."""
    if sys.platform != "linux":
        pytest.skip("the peak is Linux's")
    code = textwrap.dedent("""\
        import numpy as np, polyhaul, resource
        count = 3_000_000
        positions = np.zeros((count, 3), np.float32)
        corners = np.arange(count, dtype=np.int32).reshape(-1, 3)
        normals = np.ones((count, 3), np.float32)
        corner_normals = np.arange(count, dtype=np.uint32)
        class Nothing:
            def write(self, data): pass
        polyhaul.write(polyhaul.Mesh(positions[:3], [[0, 1, 2]]), Nothing(), format="obj", memory_limit="8MB")
        mesh = polyhaul.Mesh(positions, corners, normals=normals, corner_normals=corner_normals)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        polyhaul.write(mesh, Nothing(), format="obj", threads=1, memory_limit="8MB")
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 32 << 10


def test_references_are_found_from_the_new_place(tmp_path: Path) -> None:
    for name, text in {
        "s/lib/wood.png": "pixels",
        "s/lib/a.mtl": "newmtl wood\nmap_Kd wood.png\n",
        "s/a.obj": "mtllib lib/a.mtl\nusemtl wood\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "t").mkdir()
    scene = polyhaul.read(tmp_path / "s/a.obj")
    report = polyhaul.write(scene, tmp_path / "t/linked.obj")
    assert report.warnings.counts == {"outside-reference": 1} and report.copied_files == 0
    assert "map_Kd ../s/lib/wood.png\n" in (tmp_path / "t/linked.mtl").read_text()
    report = polyhaul.write(scene, tmp_path / "t/copied.obj", copy_assets=True)
    assert (report.warnings.total, report.copied_files, report.copied_bytes) == (0, 1, 6)
    assert "map_Kd wood.png\n" in (tmp_path / "t/copied.mtl").read_text()
    assert (tmp_path / "t/wood.png").read_text() == "pixels"
    assert scene.materials["wood"] == polyhaul.Material("wood", maps=[polyhaul.TextureMap("diffuse", "wood.png", keyword="map_Kd")])


def test_options_of_gltf(tmp_path: Path) -> None:
    text = "v 0 0 0\nv 1 0 0\nv 0 0.7 0.3\nf 1 2 3\n"
    scene = polyhaul.read(io.BytesIO(text.encode()), format="obj")
    plain, small = tmp_path / "plain.glb", tmp_path / "small.glb"
    polyhaul.write(scene, plain)
    report = polyhaul.write(scene, small, quantize=True, meshopt=True, instances="nodes")
    assert b"KHR_mesh_quantization" in small.read_bytes() and b"EXT_meshopt_compression" in small.read_bytes()
    assert b"KHR_mesh_quantization" not in plain.read_bytes()
    assert report.warnings.counts["changed-positions"] == 3
    with pytest.raises(ValueError, match="instances is 'all'"):
        polyhaul.write(scene, plain, instances="all")  # type: ignore[arg-type]
