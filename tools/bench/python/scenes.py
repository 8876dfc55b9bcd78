"""The two scenes that Blender and polyhaul export, made in Blender from fixed seeds.

`monkey`: Suzanne, subdivided six times, smooth, one material. `many`: two thousand objects with what
makes an exporter work: nested parents, mirrored and sheared transforms, normals of all three domains,
one to four materials each, triangles, quads and hexagons, uvs with seams, names that are not ASCII.
Only for Blender's Python; nothing here is measured.
"""

from __future__ import annotations

import bpy
import numpy as np

MONKEY_LEVEL = 6
OBJECTS = 2000
MATERIALS = 24
# A parent is one of so many objects before, so that chains get deep.
PARENT_REACH = 12
# Rows and columns of a mesh lie between these.
SIDES = (10, 51)


def monkey() -> None:
    """Suzanne, subdivided as the modifier does it, as a mesh of its own."""
    bpy.ops.mesh.primitive_monkey_add()
    monkey = bpy.context.object
    monkey.name = monkey.data.name = "Suzanne"
    monkey.modifiers.new("Subdivision", "SUBSURF").levels = MONKEY_LEVEL
    evaluated = monkey.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = bpy.data.meshes.new_from_object(evaluated)
    monkey.modifiers.clear()
    monkey.data = mesh
    mesh.shade_smooth()
    mesh.materials.append(bpy.data.materials.new("Fur"))


def many() -> None:
    """Two thousand objects, each with a mesh of its own."""
    materials = [bpy.data.materials.new(name) for name in _names("Mat", MATERIALS)]
    objects: list[bpy.types.Object] = []
    for index, name in enumerate(_names("Object", OBJECTS)):
        random = np.random.default_rng(index)
        count = int(random.integers(1, 5))
        mesh = _mesh(random, f"Mesh {index}", count)
        for slot in random.choice(MATERIALS, count, replace=False):
            mesh.materials.append(materials[slot])
        _shade(mesh, random, ("flat", "smooth", "custom", "mixed")[index % 4])
        made = bpy.data.objects.new(name, mesh)
        bpy.context.collection.objects.link(made)
        if objects and random.random() < 0.4:
            made.parent = objects[-int(random.integers(1, min(PARENT_REACH, len(objects)) + 1))]
        _place(made, random)
        objects.append(made)


def _names(word: str, count: int) -> list[str]:
    forms = ("{} {:04}", "{}.{:04}", "Объект {} {:04}", "{}#é{:04}")
    return [forms[index % len(forms)].format(word, index) for index in range(count)]


def _place(made: bpy.types.Object, random: np.random.Generator) -> None:
    """A third of all objects are mirrored, along one axis or along all."""
    made.location = random.uniform(-8, 8, 3)
    made.rotation_euler = random.uniform(-np.pi, np.pi, 3)
    scale = random.uniform(0.6, 1.4, 3)
    mirrored = random.random()
    if mirrored < 1 / 6:
        scale[random.integers(3)] *= -1
    elif mirrored < 1 / 3:
        scale *= -1
    made.scale = scale


def _mesh(random: np.random.Generator, name: str, slots: int) -> bpy.types.Mesh:
    """A tube of hills: a grid whose last column of faces joins the first."""
    rows, columns = (int(side) for side in random.integers(*SIDES, 2))
    columns += columns % 2
    corners, sizes = _faces(random, rows, columns)
    row, column = corners // (columns + 1), corners % (columns + 1)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(rows * columns)
    mesh.loops.add(len(corners))
    mesh.polygons.add(len(sizes))
    mesh.vertices.foreach_set("co", _positions(random, rows, columns).ravel())
    mesh.loops.foreach_set("vertex_index", (row * columns + column % columns).astype(np.int32))
    mesh.polygons.foreach_set("loop_start", offsets[:-1].astype(np.int32))
    slot = (offsets[:-1] * 3 // 160 + random.integers(0, slots)) % slots
    mesh.polygons.foreach_set("material_index", slot.astype(np.int32))
    # Every slot has its own part of the picture: a seam wherever two of them meet.
    uvs = np.stack((column / columns, row / rows), axis=1) * 0.5
    island = np.repeat(slot, sizes)
    uvs += np.stack((island % 2, island // 2), axis=1) * 0.5
    mesh.uv_layers.new(name="UVMap", do_init=False).uv.foreach_set("vector", uvs.astype(np.float32).ravel())
    mesh.update(calc_edges=True)
    return mesh


def _faces(random: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners, as places in a grid with one column more, and the sizes of faces: of each two cells
    side by side either both stay quads, or one is cut into triangles, or they become a hexagon."""
    wide = columns + 1
    corners: list[int] = []
    sizes: list[int] = []
    kinds = random.integers(0, 8, (rows - 1, columns // 2))
    for at, kind in np.ndenumerate(kinds):
        a = at[0] * wide + at[1] * 2
        b, c = a + 1, a + 2
        d, e, f = a + wide, b + wide, c + wide
        if kind == 0:
            corners += (a, b, c, f, e, d)
            sizes.append(6)
        elif kind == 1:
            corners += (a, b, e, a, e, d, b, c, f, e)
            sizes += (3, 3, 4)
        else:
            corners += (a, b, e, d, b, c, f, e)
            sizes += (4, 4)
    return np.array(corners), np.array(sizes)


def _positions(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    row, column = np.divmod(np.arange(rows * columns), columns)
    turn = column / columns * 2 * np.pi
    radius = 1 + 0.2 * np.sin(turn * 5 + row * 0.3) + random.normal(0, 0.02, len(row))
    places = np.stack((radius * np.cos(turn), radius * np.sin(turn), row / rows * 4 - 2), axis=1)
    return places.astype(np.float32)


def _shade(mesh: bpy.types.Mesh, random: np.random.Generator, kind: str) -> None:
    """Flat: normals per face. Smooth: per vertex. Custom, and flat and smooth mixed: per corner."""
    smooth = np.full(len(mesh.polygons), kind != "flat")
    if kind == "mixed":
        smooth = random.random(len(smooth)) < 0.7
    mesh.polygons.foreach_set("use_smooth", smooth)
    if kind == "custom":
        normals = np.zeros(len(mesh.vertices) * 3, np.float32)
        mesh.vertices.foreach_get("normal", normals)
        bent = normals.reshape(-1, 3) + random.normal(0, 0.2, (len(mesh.vertices), 3))
        mesh.normals_split_custom_set_from_vertices(bent.tolist())
    mesh.update()
