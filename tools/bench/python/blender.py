"""Blender's exporter and importer of OBJ.

`blender.py scene monkey|many FOLDER` makes a scene, keeps it as `scene.blend`, takes out the arrays
that the exporter sees (`arrays.py`), and exports `scene.obj` once. `blender.py export FOLDER OUTPUT`
holds that scene and exports it once for each line of input. `blender.py read FILE` imports a file
once. Both print lines for `cargo xtask bench`. Only for Blender's Python.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy
import numpy as np

import arrays
import measure
import scenes

SCENE = "scene.blend"
DOMAINS = {"FACE": "face", "POINT": "vertex", "CORNER": "corner"}


def make(kind: str, folder: Path) -> None:
    """Makes the scene, its arrays and its file, all in one session."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    {"monkey": scenes.monkey, "many": scenes.many}[kind]()
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / SCENE), compress=False)
    objects = evaluated_objects()
    file = folder / "scene.obj"
    _export(file)
    arrays.save(folder, objects)
    size = file.stat().st_size
    positions, faces = (sum(len(made.arrays[name]) for made in objects) for name in ("positions", "smooth"))
    counts = f"megabytes={size // 10**6} bytes={size} positions={positions} faces={faces}\n"
    file.with_suffix(".counts").write_text(counts)


def evaluated_objects() -> list[arrays.ObjectArrays]:
    """All meshes as the exporter meets them."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = (instance.object for instance in depsgraph.object_instances)
    return [_object_arrays(made) for made in evaluated if made.type == "MESH"]


def _object_arrays(made: bpy.types.Object) -> arrays.ObjectArrays:
    mesh = made.data
    domain = mesh.normals_domain
    normals = {"FACE": mesh.polygon_normals, "POINT": mesh.vertex_normals, "CORNER": mesh.corner_normals}
    corners, faces = len(mesh.loops), len(mesh.polygons)
    starts = _take(mesh.polygons, "loop_start", np.int32, faces)
    return arrays.ObjectArrays(
        name=made.name,
        mesh_name=mesh.name,
        materials=[slot.material.name if slot.material else "" for slot in made.material_slots],
        normal_domain=DOMAINS[domain],
        transform=np.array(made.matrix_world, np.float32, order="C"),
        arrays={
            "positions": _take(mesh.vertices, "co", np.float32, len(mesh.vertices), 3),
            "corner_positions": _take(mesh.loops, "vertex_index", np.int32, corners),
            "face_offsets": np.append(starts, np.int32(corners)),
            "normals": _take(normals[domain], "vector", np.float32, len(normals[domain]), 3),
            "uvs": _take(mesh.uv_layers.active.uv, "vector", np.float32, corners, 2),
            "material_slots": _take(mesh.polygons, "material_index", np.int32, faces),
            "smooth": _take(mesh.polygons, "use_smooth", np.bool_, faces),
        },
    )


def _take(
    items: bpy.types.bpy_prop_collection, name: str, kind: type[np.generic], rows: int, columns: int = 1
) -> np.ndarray:
    """One property of all items, in rows."""
    values = np.empty(rows * columns, kind)
    items.foreach_get(name, values)
    return values.reshape(rows, columns) if columns > 1 else values


def _export(path: Path) -> None:
    if bpy.ops.wm.obj_export(filepath=str(path)) != {"FINISHED"}:
        raise RuntimeError(f"Blender did not export {path.name}")


def export(folder: Path, output: Path) -> None:
    """Exports the scene for each line of input, with everything evaluated before."""
    bpy.ops.wm.open_mainfile(filepath=str(folder / SCENE))
    evaluated_objects()
    measure.serve(lambda: _export(output), output, folder / "scene.obj")


def read(file: Path) -> None:
    """Imports a file into an empty scene, once."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    timing = measure.timed(lambda: bpy.ops.wm.obj_import(filepath=str(file)))
    meshes = [made.data for made in bpy.context.scene.objects if made.type == "MESH"]
    positions = sum(len(mesh.vertices) for mesh in meshes)
    faces = sum(len(mesh.polygons) for mesh in meshes)
    measure.tell(timing, positions=positions, faces=faces)
    os._exit(0)


def main(args: list[str]) -> None:
    match args:
        case ["scene", kind, folder]:
            make(kind, Path(folder))
        case ["export", folder, output]:
            export(Path(folder), Path(output))
        case ["read", file]:
            read(Path(file))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
