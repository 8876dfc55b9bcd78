"""What the importer makes is what Blender's own makes: objects, meshes, materials, normals as they are shown."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import addon_utils
import bpy
import conftest
import files
import numpy as np
import observed
import pytest
import scenes
from bpy_extras.io_utils import axis_conversion

CASES = {
    "two objects": "o a b\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nvt 0 0\nvt 1 1\nvn 0 0 1\nusemtl r\ns 1\nf 1/1/1 2/2/1 3//1\n"
    "o c\nv 5 0 0\nv 6 0 0\nv 5 5 0\nusemtl z\ns off\nf 5 6 2\nl 5 6\n",
    "no object": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "points": "o p\nv 0 0 0\nv 1 0 0\nv 0 1 0\n",
    "groups": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\ng one\nf 1 2 3\ng two\nf 2 4 3\n",
    "groups between positions": "g one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\ng two\nv 1 1 0\nv 2 1 0\nf 2 4 5\nf 1 4 5\n",
    "objects and groups": "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\ng one\nf 1 2 3\no b\ng two\nv 1 1 0\nf 2 4 3\ng three\nf 1 2 4\n",
    "colors": "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 .5 .5 .5\nf 1 2 3\n",
    "twice the same face": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 3 2 1\nf 2 4 3\n",
    "loose edges": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nl 1 2 3 4\nl 4 1\n",
    "the same name": "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no a\nv 5 0 0\nv 6 0 0\nv 5 5 0\nf 4 5 6\n",
}

MATERIALS = {
    "classic": "Ns 250\nKa 1 1 1\nKd .8 .1 .2\nKs .5 .5 .5\nKe 0 0 0\nNi 1.45\nd .7\nillum 2\n",
    "metal": "Ns 10\nKa .3 .3 .3\nKs .4 .4 .4\nillum 3\n",
    "glass": "Kd .1 .1 .1\nillum 6\n",
    "pbr": "Pr .2\nPm .3\nPs .4\nPc .5\nPcr .6\naniso .7\nanisor .8\nTf .3 .3 .3\nKe 1 2 3\n",
    "empty": "",
}


def both(path: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    """What Blender's importer makes of a file, and what ours does."""
    made = []
    for module in ("wm", "polyhaul"):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        addon_utils.enable("bl_ext.user_default.polyhaul")
        getattr(bpy.ops, module).obj_import(filepath=str(path), **options)
        made.append([summary(item) for item in bpy.data.objects])
    return made[0], made[1]


def summary(item: Any) -> dict[str, Any]:
    """All that is compared of an object."""
    contents: dict[str, Any] = {
        "name": item.name,
        "type": item.type,
        "matrix": np.array(item.matrix_world),
        "materials": [slot.material.name for slot in item.material_slots],
        "selected": item.select_get(),
        "active": bpy.context.view_layer.objects.active == item,
        "groups": [group.name for group in item.vertex_groups],
    }
    if item.type != "MESH":
        return contents
    data = item.data
    contents["vertices"] = np.array([vertex.co for vertex in data.vertices])
    contents["faces"] = [tuple(face.vertices) for face in data.polygons]
    contents["edges"] = {tuple(sorted(edge.vertices)) for edge in data.edges}
    contents["slots"] = [face.material_index for face in data.polygons]
    contents["smooth"] = [face.use_smooth for face in data.polygons]
    contents["normals"] = np.array([normal.vector for normal in data.corner_normals])
    contents["uvs"] = np.array([uv.vector for uv in data.uv_layers[0].uv]) if data.uv_layers else None
    contents["colors"] = [tuple(np.round(sample.color, 4)) for sample in data.color_attributes[0].data] if data.color_attributes else None
    return contents


def compare(theirs: list[Any], ours: list[Any]) -> None:
    assert [item["name"] for item in ours] == [item["name"] for item in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for key, value in other.items():
            if key == "normals":
                # Blender keeps them as two angles of 16 bits, which some directions are beyond.
                assert mine[key].shape == value.shape
                wrong = (np.abs(mine[key] - value) > 2e-2).any(axis=-1).sum() if value.size else 0
                assert wrong <= len(value) / 200, (mine["name"], wrong)
            elif isinstance(value, np.ndarray):
                np.testing.assert_allclose(mine[key], value, atol=1e-6, err_msg=key)
            else:
                assert mine[key] == value, (key, mine["name"])


@pytest.mark.parametrize("name", CASES)
def test_objects_are_those_of_blender(empty: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "case.obj").write_text(CASES[name])
    compare(*both(tmp_path / "case.obj"))


@pytest.mark.parametrize(
    "options",
    [
        {"forward_axis": "Y", "up_axis": "Z", "global_scale": 2.0},
        {"clamp_size": 7.0},
        {"use_split_objects": False},
        {"use_split_objects": False, "import_vertex_groups": True},
        {"use_split_objects": False, "use_split_groups": True},
        {"import_vertex_groups": True},
    ],
)
def test_options_do_what_they_do_in_blender(empty: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    for name in ("two objects", "groups", "groups between positions"):
        (tmp_path / "case.obj").write_text(CASES[name].replace("9 9 9", "90 9 9"))
        compare(*both(tmp_path / "case.obj", **options))


@pytest.mark.parametrize("name", MATERIALS)
def test_materials_have_the_values_of_blender(empty: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "m.mtl").write_text("newmtl m\n" + MATERIALS[name])
    (tmp_path / "m.obj").write_text("mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1 2 3\n")
    values = []
    for module in ("wm", "polyhaul"):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        addon_utils.enable("bl_ext.user_default.polyhaul")
        getattr(bpy.ops, module).obj_import(filepath=str(tmp_path / "m.obj"))
        material = bpy.data.materials["m"]
        shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
        numbers = [np.array(socket.default_value) for socket in shader.inputs if hasattr(socket, "default_value")]
        numbers += [np.array(material.diffuse_color), np.array([material.metallic, material.roughness])]
        values.append(np.concatenate([np.atleast_1d(number) for number in numbers]))
    np.testing.assert_allclose(values[1], values[0], atol=1e-6)


#: The first seed of the files.
FIRST = int(os.environ.get("POLYHAUL_SEED", "3000"))

#: All options of the importers. Axes that are on one line are options, too.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "obj": [
        {},
        {"forward_axis": "Y", "up_axis": "Z", "global_scale": 2.5},
        {"forward_axis": "NEGATIVE_X", "up_axis": "X", "clamp_size": 7.0},
        {"use_split_objects": False},
        {"use_split_groups": True},
        {"use_split_objects": False, "use_split_groups": True},
        {"import_vertex_groups": True},
        {"import_vertex_groups": True, "use_split_objects": False},
        {"import_vertex_groups": True, "use_split_groups": True},
        {"validate_meshes": False},
        {"close_spline_loops": False},
        {"collection_separator": "/"},
        {"collection_separator": "/", "use_split_groups": True},
        {"mtl_name_collision_mode": "REFERENCE_EXISTING"},
    ],
    "ply": [
        {},
        {"merge_verts": True},
        {"use_scene_unit": True},
        {"import_colors": "NONE"},
        {"import_colors": "LINEAR"},
        {"import_attributes": False},
        {"forward_axis": "NEGATIVE_X", "up_axis": "Y", "global_scale": 0.5},
    ],
    "stl": [
        {},
        {"use_facet_normal": True},
        {"use_mesh_validate": False},
        {"use_facet_normal": True, "use_mesh_validate": False},
        {"use_scene_unit": True},
        {"forward_axis": "Z", "up_axis": "Y", "global_scale": 0.5},
    ],
}

#: Files that Blender ends with, if it is to make vertex groups of them.
ENDS_BLENDER = {"equal faces", "ungrouped faces", "two corners", "repeated corners"}


def left_by(module: str, path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What an importer leaves in a scene that has an object, a material and a collection with names that files have."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    addon_utils.enable("bl_ext.user_default.polyhaul")
    bpy.context.scene.unit_settings.scale_length = 0.01
    bpy.ops.mesh.primitive_plane_add()
    bpy.context.object.name = "x"
    bpy.data.materials.new("red")
    bpy.context.scene.collection.children.link(bpy.data.collections.new("left"))
    try:
        result = getattr(getattr(bpy.ops, module), f"{path.suffix[1:]}_import")(filepath=str(path), **options)
    except RuntimeError:
        result = {"ERROR"}
    return observed.everything() | {"result": sorted(result)}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
@pytest.mark.parametrize("kind", OPTIONS)
def test_everything_is_what_blender_leaves(addon: Any, tmp_path: Path, kind: str, seed: int) -> None:
    path, pairs = tmp_path / f"case.{kind}", Counter[str]()
    odd = getattr(files, kind)(random.Random(seed), path)
    for options in OPTIONS[kind]:
        if options.get("import_vertex_groups") and odd & ENDS_BLENDER:
            pairs["documented"] += 1
            continue
        found = observed.differences(left_by("polyhaul", path, options), left_by("wm", path, options))
        others = [difference for difference in found if not observed.is_documented(kind, odd, difference)]
        pairs["other" if others else "documented" if found else "equal"] += 1
        assert not others, (seed, options, odd, others[:5])
    print(f"{kind} {seed}: {dict(pairs)}")


HEADER = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
FACET = "facet normal 0 0 1\nouter loop\nvertex {} 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
CURVE = "cstype bspline\ndeg 2\ncurv 0 2 1 2 3 {}\nparm u 0 0 0 1 2 2 2\nend\n"
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"

#: Files that both importers make the same of: their format, their text, and options.
EQUAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "corner twice": ("obj", TRIANGLE + "f 1 2 2 3\n", {}),
    "corner twice, unchecked": ("obj", TRIANGLE + "f 1 2 2 3\n", {"validate_meshes": False}),
    "first corner last": ("obj", TRIANGLE + "f 1 2 3 1\n", {}),
    "no area": ("obj", TRIANGLE + "f 1 2 3\nf 1 2 1\nf 1 1 1\n", {}),
    "colors of one": ("obj", "o A\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\no B\n" + TRIANGLE + "f 4 5 6\n", {}),
    "groups of objects": (
        "obj",
        f"o X\n{TRIANGLE}v 0 0 1\ng a\nf 1 2 3\ng b\nf 1 2 4\no Y\nv 9 0 0\nv 9 1 0\nv 9 1 1\ng a\nf 5 6 7\n",
        {"use_split_groups": True},
    ),
    "order of names": ("obj", TRIANGLE + "".join(f"o {name}\nf 1 2 3\n" for name in ("b", "B", "a10", "a2", "_", "Z", "a", "é", "a")), {}),
    "curves": ("obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\no A\n" + CURVE.format(4) + CURVE.format(1) + "o B\nf 1 2 3\n", {}),
    "open curves": ("obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n" + CURVE.format(4) + CURVE.format(1), {"close_spline_loops": False}),
    "curves of groups": ("obj", TRIANGLE + "v 1 1 0\ng first\n" + CURVE.format(4) + "g second\n" + CURVE.format(1), {}),
    "groups are objects": ("obj", TRIANGLE + "g a\nf 1 2 3\n", {"use_split_groups": True, "import_vertex_groups": True}),
    "unused vertices": ("ply", HEADER + "element face 1\nproperty list uchar int vertex_indices\nend_header\n9 9 9\n0 0 0\n1 0 0\n0 1 0\n3 1 2 3\n", {}),
    "merged vertices": ("ply", HEADER + "end_header\n0 0 0\n0 0 0\n1 0 0\n0 0 0.00001\n", {"merge_verts": True}),
    "colors": ("ply", HEADER + "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n" + "0 0 0 9 9 200\n" * 4, {}),
    "solids": ("stl", "solid a\n" + FACET.format(0) + "endsolid a\nsolid b\n" + FACET.format(5) + "endsolid b\n", {}),
    "a triangle twice": ("stl", "solid\n" + 2 * FACET.format(0) + "endsolid\n", {"use_mesh_validate": False}),
}


@pytest.mark.parametrize("name", EQUAL)
def test_both_importers_make_the_same(addon: Any, tmp_path: Path, name: str) -> None:
    kind, text, options = EQUAL[name]
    path = tmp_path / f"case.{kind}"
    path.write_text(text)
    assert not observed.differences(left_by("polyhaul", path, options), left_by("wm", path, options))


def faces_of(item: Any) -> list[tuple[int, ...]]:
    return [tuple(face.vertices) for face in item.data.polygons]


def test_vertex_groups_without_faces_do_not_stop_an_import(empty: Any, tmp_path: Path) -> None:
    """Blender leaves the points out."""
    (tmp_path / "a.obj").write_text(f"o cube\n{TRIANGLE}g a\nf 1 2 3\no points\ng off\nv 5 5 5\no line\ng b\nl 1 2\n")
    bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / "a.obj"), import_vertex_groups=True)
    assert [item.name for item in bpy.data.objects] == ["cube", "line", "points"]
    assert [group.name for group in bpy.data.objects["cube"].vertex_groups] == ["a"]


def test_faces_that_blender_ends_with_get_their_vertex_groups(empty: Any, tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(TRIANGLE + "v 1 1 0\nf 1 2 4\ng a\nf 1 2 3\nf 3 2 1\ng b\nf 2 2 4 3\n")
    bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / "a.obj"), import_vertex_groups=True)
    item = bpy.context.object
    assert faces_of(item) == [(0, 1, 3), (0, 1, 2), (2, 1, 3)]
    groups = {group.name: [vertex.index for vertex in item.data.vertices for own in vertex.groups if own.group == group.index] for group in item.vertex_groups}
    assert groups == {"a": [0, 1, 2], "b": [1, 2, 3]}


def test_faces_that_touch_themselves_are_cut(empty: Any, tmp_path: Path) -> None:
    """A bow of two triangles, a spike, and a square that goes to a hole and back."""
    bow = "v -1 -1 0\nv -1 1 0\nv 0 0 0\nv 1 -1 0\nv 1 1 0\nf 1 3 4 5 3 2\nf 1 3 4 3 2\n"
    hole = "".join(f"v {x} {y} 9\n" for x, y in ((0, 0), (3, 0), (3, 3), (0, 3), (1, 1), (1, 2), (2, 2), (2, 1)))
    (tmp_path / "a.obj").write_text(f"o bow\n{bow}o hole\n{hole}f 6 7 8 9 6 10 11 12 13 10\n")
    bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / "a.obj"))
    assert sorted(map(sorted, faces_of(bpy.data.objects["bow"]))) == [[0, 1, 2], [2, 3, 4]]
    square = bpy.data.objects["hole"].data
    assert sum(face.area for face in square.polygons) == pytest.approx(8) and len(square.polygons) == 8
    assert all(face.normal.z > 0 for face in square.polygons)


@pytest.mark.parametrize("unit", ["NONE", "METRIC", "IMPERIAL"])
@pytest.mark.parametrize("kind", ["ply", "stl"])
def test_units_of_the_scene_scale_as_in_blender(empty: Any, tmp_path: Path, kind: str, unit: str) -> None:
    getattr(files, kind)(random.Random(2), tmp_path / f"case.{kind}")
    scales = []
    for module in (bpy.ops.wm, bpy.ops.polyhaul):
        settings = bpy.context.scene.unit_settings
        settings.system, settings.scale_length = unit, 0.01
        getattr(module, f"{kind}_import")(filepath=str(tmp_path / f"case.{kind}"), use_scene_unit=True)
        scales.append(tuple(bpy.context.object.scale))
    assert scales[0] == scales[1]
    assert (scales[0][0] == 1) == (unit == "NONE")


AXES = ["X", "Y", "Z", "NEGATIVE_X", "NEGATIVE_Y", "NEGATIVE_Z"]


@pytest.mark.parametrize("kind", ["obj", "ply", "stl"])
@pytest.mark.parametrize("up", AXES)
def test_axes_on_one_line_are_turned_as_in_blender(empty: Any, tmp_path: Path, kind: str, up: str) -> None:
    bpy.ops.mesh.primitive_cone_add(vertices=4)
    for forward in [axis for axis in AXES if axis[-1] == up[-1]]:
        axes = {"forward_axis": forward, "up_axis": up}
        corners, matrices = [], []
        for module in (bpy.ops.wm, bpy.ops.polyhaul):
            path = str(tmp_path / f"a.{kind}")
            getattr(module, f"{kind}_export")(filepath=path, **axes)
            bpy.ops.wm.obj_import(filepath=path) if kind == "obj" else getattr(bpy.ops.wm, f"{kind}_import")(filepath=path)
            corners.append([tuple(vertex.co) for vertex in bpy.context.object.data.vertices])
            bpy.data.objects.remove(bpy.context.object)
            getattr(module, f"{kind}_import")(filepath=path, **axes)
            matrices.append(np.array(bpy.context.object.matrix_world))
            bpy.data.objects.remove(bpy.context.object)
        np.testing.assert_allclose(np.sort(corners[1], axis=0), np.sort(corners[0], axis=0), atol=1e-6)
        # By Blender, STL is not turned at all.
        np.testing.assert_allclose(matrices[1], np.array(by_hand(axes)) if kind == "stl" else matrices[0], atol=1e-6)


def by_hand(axes: dict[str, str]) -> Any:
    """The transform for the axes that Blender takes instead."""
    forward = AXES[(AXES.index(axes["forward_axis"]) + 1) % 6]
    short = [axis.replace("NEGATIVE_", "-") for axis in (forward, axes["up_axis"])]
    return axis_conversion(from_forward=short[0], from_up=short[1], to_forward="Y", to_up="Z").to_4x4()


def is_flat(vertices: np.ndarray) -> bool:
    """Whether all of the vertices are on a plane, or nearly."""
    if len(vertices) < 4:
        return True
    extents = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    return bool(extents[-1] < 1e-3 * extents[0])


@pytest.mark.parametrize("seed", range(2000, 2008))
def test_scenes_come_back_as_blender_brings_them_back(addon: Any, tmp_path: Path, seed: int) -> None:
    scenes.fill(seed)
    bpy.ops.wm.obj_export(filepath=str(tmp_path / "scene.obj"))
    theirs, ours = both(tmp_path / "scene.obj")
    for item in (*theirs, *ours):
        if item["type"] != "MESH":
            continue
        # Blender marks faces as flat whose normals in the file say so: they look the same.
        del item["smooth"], item["active"]
        # What becomes of empty slots depends on what came before in the file.
        del item["materials"], item["slots"]
        # Objects without extent in some direction have zeros for normals in the file.
        if is_flat(item["vertices"]):
            del item["normals"]
    compare(theirs, ours)


def test_what_is_wrong_is_reported_with_its_place(empty: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="missing.obj"):
        bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / "missing.obj"))
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\n")
    with pytest.raises(RuntimeError, match=r"broken\.ply"):
        bpy.ops.polyhaul.ply_import(filepath=str(tmp_path / "broken.ply"))


@pytest.mark.parametrize("names", [["a", "gone", "b"], ["gone", "a"], ["a", "gone"], ["gone", "lost"]])
def test_a_missing_file_does_not_stop_the_others(empty: Any, tmp_path: Path, names: list[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.obj").write_text(CASES["no object"])
    made = []
    for module in (bpy.ops.wm, bpy.ops.polyhaul):
        with pytest.raises(RuntimeError) as caught:
            module.obj_import(directory=str(tmp_path), files=[{"name": f"{name}.obj"} for name in names])
        for name in {"gone", "lost"} & set(names):
            assert f"{name}.obj" in str(caught.value)
        made.append([item.name for item in bpy.data.objects])
        for item in list(bpy.data.objects):
            bpy.data.objects.remove(item)
    assert made[0] == made[1] == sorted({"a", "b"} & set(names))


def survey(name: str, shift: float = 0.0) -> str:
    """A triangle far from the origin, with coordinates that a 32-bit float cannot hold."""
    corners = [(500000.25 + shift, 5411234.456, 12.5), (500010.25 + shift, 5411234.457, 12.5), (500000.25 + shift, 5411244.458, 13.5)]
    return f"o {name}\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "f -3 -2 -1\n"


def global_positions(item: Any) -> np.ndarray:
    return np.array([vertex.co for vertex in item.data.vertices], np.float64) + item["polyhaul_origin"]


def test_coordinates_far_away_keep_their_digits(empty: Any, tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(survey("a"))
    (tmp_path / "b.obj").write_text(survey("b", 2000.0))
    (tmp_path / "near.obj").write_text(CASES["no object"])
    for name in ("a", "b", "near"):
        bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / f"{name}.obj"))
    first, second, near = (bpy.data.objects[name] for name in ("a", "b", "near"))
    assert tuple(first.location) == (0, 0, 0) and "polyhaul_origin" not in near
    # Files of one survey fit together.
    assert list(first["polyhaul_origin"]) == list(second["polyhaul_origin"])
    for item, shift in ((first, 0.0), (second, 2000.0)):
        expected = np.array([(500000.25 + shift, 5411234.456, 12.5), (500010.25 + shift, 5411234.457, 12.5), (500000.25 + shift, 5411244.458, 13.5)])
        np.testing.assert_allclose(global_positions(item), expected, rtol=0, atol=2e-4)
    np.testing.assert_allclose(np.abs(np.array(first.data.vertices[0].co)).max(), 0, atol=20)


def test_a_point_that_is_not_a_number_does_not_hide_that_others_are_far_away(empty: Any, tmp_path: Path) -> None:
    properties = "".join(f"property double {axis}\n" for axis in "xyz")
    points = "nan nan nan\n5000000.25 5000000.5 0\n5000001.25 5000000.5 0\n"
    (tmp_path / "a.ply").write_text(f"ply\nformat ascii 1.0\nelement vertex 3\n{properties}end_header\n{points}")
    bpy.ops.polyhaul.ply_import(filepath=str(tmp_path / "a.ply"))
    found = global_positions(bpy.context.object)[1:]
    np.testing.assert_array_equal(found, [[5000000.25, 5000000.5, 0], [5000001.25, 5000000.5, 0]])


def test_the_origin_is_left_alone_if_that_is_asked_for(empty: Any, tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(survey("a"))
    bpy.ops.polyhaul.obj_import(filepath=str(tmp_path / "a.obj"), use_local_origin=False)
    item = bpy.context.object
    assert "polyhaul_origin" not in item and item.data.vertices[0].co.y > 5e6


@pytest.mark.parametrize("kind", ["ply", "stl"])
def test_other_formats_keep_the_digits_too(empty: Any, tmp_path: Path, kind: str) -> None:
    import polyhaul

    (tmp_path / "a.obj").write_text(survey("a"))
    polyhaul.convert(tmp_path / "a.obj", tmp_path / f"a.{kind}", **({"ascii": True} if kind == "stl" else {}))
    getattr(bpy.ops.polyhaul, f"{kind}_import")(filepath=str(tmp_path / f"a.{kind}"))
    assert np.abs(global_positions(bpy.context.object)[:, 1].min() - 5411234.456) < 1e-4


def test_the_manifest_names_the_platforms_of_the_wheels(addon: Any, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("package", conftest.SOURCE / "package.py")
    assert spec and spec.loader
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    for wheel, expected in {
        "linux_x86_64": {"linux-x64"},
        "manylinux_2_17_x86_64.manylinux2014_x86_64": {"linux-x64"},
        "manylinux_2_28_aarch64": {"linux-arm64"},
        "macosx_11_0_arm64": {"macos-arm64"},
        "macosx_10_12_universal2": {"macos-x64", "macos-arm64"},
        "win_amd64": {"windows-x64"},
        "win_arm64": {"windows-arm64"},
        "musllinux_1_2_x86_64": set(),
    }.items():
        assert package.platforms(f"polyhaul-0.1.0-cp311-abi3-{wheel}.whl") == expected, wheel
    subprocess.run([sys.executable, str(conftest.SOURCE / "package.py"), str(conftest.wheel().parent), str(tmp_path / "p.zip")], check=True)
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
    assert manifest["platforms"] == sorted(package.platforms(conftest.wheel().name))


def test_many_files_at_once(empty: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.obj").write_text(CASES["no object"])
    files = [{"name": "a.obj"}, {"name": "b.obj"}]
    bpy.ops.polyhaul.obj_import(directory=str(tmp_path), files=files)
    assert sorted(item.name for item in bpy.data.objects) == ["a", "b"]


def test_dropped_files_and_collections_have_handlers(addon: Any) -> None:
    for name in ("obj", "ply", "stl"):
        handler = getattr(bpy.types, f"IO_FH_polyhaul_{name}")
        assert handler.bl_import_operator == f"polyhaul.{name}_import"
        assert handler.bl_export_operator == f"polyhaul.{name}_export"
        assert f".{name}" in handler.bl_file_extensions
