"""What the importer makes is what Blender's own makes: objects, meshes, materials, normals as they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import addon_utils
import bpy
import numpy as np
import pytest
import scenes

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
