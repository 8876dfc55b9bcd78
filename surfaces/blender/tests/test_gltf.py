"""Blender's own importer of glTF reads what polyhaul writes: the triangles and materials of the OBJ file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
import scenes

#: Blender 5.0 does not read EXT_meshopt_compression.
OPTIONS: list[dict[str, Any]] = [{}, {"quantize": True}]


def contents() -> tuple[np.ndarray[Any, Any], set[str]]:
    """The sums of the scene's triangles that matter: of their corners, their areas and their normals; and materials."""
    corners, materials = [np.empty((0, 3, 3))], set()
    for item in bpy.context.scene.objects:
        if item.type != "MESH":
            continue
        mesh = item.data
        mesh.calc_loop_triangles()
        points = np.array([item.matrix_world @ vertex.co for vertex in mesh.vertices]).reshape(-1, 3)
        corners.append(points[np.array([triangle.vertices[:] for triangle in mesh.loop_triangles], int).reshape(-1, 3)])
        slots = {triangle.material_index for triangle in mesh.loop_triangles if mesh.materials}
        materials |= {name_of(mesh.materials[slot]) for slot in slots}
    triangles = np.concatenate(corners)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    return np.array([len(triangles), areas.sum(), *normals.sum(0), *triangles.mean(1).sum(0)]), materials


def name_of(material: Any) -> str:
    """The name, without that which either importer gives to a material that has none."""
    return re.sub(r"^Material(_\d+)?$", "", material.name)


def emptied() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_triangles_and_materials_are_those_of_the_obj_file(addon: Any, tmp_path: Path, seed: int) -> None:
    import polyhaul

    scenes.fill(seed)
    source = tmp_path / "scene.obj"
    bpy.ops.wm.obj_export(filepath=str(source), export_triangulated_mesh=True, apply_modifiers=True)
    emptied()
    bpy.ops.wm.obj_import(filepath=str(source))
    expected, materials = contents()
    assert expected[0] > 0
    for number, options in enumerate(OPTIONS):
        target = tmp_path / f"{number}.glb"
        polyhaul.convert(source, target, **options)
        emptied()
        bpy.ops.import_scene.gltf(filepath=str(target))
        triangles, own_materials = contents()
        assert triangles[0] == expected[0], options
        tolerance = 1e-2 * max(1, expected[0] ** 0.5)
        np.testing.assert_allclose(triangles, expected, rtol=1e-3, atol=tolerance, err_msg=str(options))
        assert own_materials == materials, options
