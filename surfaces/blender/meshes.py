"""Meshes of Blender from parts of a polyhaul scene. Arrays are set whole (``arrays``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import mathutils
import numpy as np
import polyhaul

from . import arrays


@dataclass
class MeshArrays:
    """What a mesh of Blender is made of: arrays of a part, some of them changed."""

    positions: np.ndarray
    corner_positions: np.ndarray
    face_offsets: np.ndarray
    #: (k, 2) int32: edges beside those of faces.
    lines: np.ndarray
    colors: np.ndarray | None
    uvs: np.ndarray | None
    normals: np.ndarray | None
    #: Whether every corner has a normal.
    has_all_normals: bool
    #: (f,) int32: ``None`` if all faces have the first slot.
    slots: np.ndarray | None
    #: (f,) bool: whether a face is smooth; ``None`` if not specified.
    smooth: np.ndarray | None
    #: (f,) int32: the group of each face, -1 for none; ``None`` if there are none.
    groups: np.ndarray | None
    #: The edges and the edge of each corner; ``None`` if Blender must make them and look for wrong faces.
    topology: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def face_count(self) -> int:
        return len(self.face_offsets) - 1


def arrays_of(
    part: polyhaul.Part, positions: np.ndarray, slots: np.ndarray | None, groups: np.ndarray | None
) -> MeshArrays:
    """The arrays of a part at some positions, with faces that Blender can have. Blender takes much longer than polyhaul
    to make edges, and to find that nothing is wrong (tools/bench/python/inside.py)."""
    made = MeshArrays(
        positions,
        part.corner_positions.view(np.int32),
        part.face_offsets.view(np.int32),
        part.mesh.line_edges.view(np.int32) if part.line_count else np.empty((0, 2), np.int32),
        part.colors,
        part.uvs,
        part.normals if part.has_unit_normals or part.normals is None else unit(part.normals),
        part.has_all_normals,
        slots,
        part.smooth,
        groups,
    )
    if not part.has_clean_faces:
        made = without_repeated_corners(made)
    elif not part.line_count:
        made.topology = part.edges.view(np.int32), part.corner_edges.view(np.int32)
    return without_curve_points(made) if part.curve_count else made


def unit(normals: np.ndarray) -> np.ndarray:
    """Normals with a length of 1; zeros and NaN stay."""
    lengths = np.linalg.norm(normals.astype(np.float64), axis=1, keepdims=True)
    return (normals / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def without_curve_points(made: MeshArrays) -> MeshArrays:
    """Only the positions of faces and lines."""
    used = np.unique(np.concatenate([made.corner_positions, made.lines.reshape(-1)]))
    numbers = np.zeros(len(made.positions), np.int32)
    numbers[used] = np.arange(len(used), dtype=np.int32)
    return replace(
        made,
        positions=made.positions[used],
        corner_positions=numbers[made.corner_positions],
        lines=numbers[made.lines],
        colors=None if made.colors is None else made.colors[used],
        topology=None,
    )


def without_repeated_corners(made: MeshArrays) -> MeshArrays:
    """Faces that have a position twice are cut there; the pieces follow the other faces."""
    repeated = faces_with_repeated_corners(made)
    if not len(repeated):
        return made
    sizes = np.diff(made.face_offsets)
    corners, sources = [], []
    for face in repeated.tolist():
        start, end = made.face_offsets[face], made.face_offsets[face + 1]
        for piece in pieces(made.corner_positions[start:end].tolist(), made.positions):
            corners.append(start + np.array(piece))
            sources.append(face)
    is_whole = np.ones(made.face_count, np.bool_)
    is_whole[repeated] = False
    source = np.concatenate([np.flatnonzero(is_whole), np.array(sources, np.intp)])
    corner = np.concatenate([np.flatnonzero(np.repeat(is_whole, sizes)), *corners])
    sizes = np.concatenate([sizes[is_whole], np.array(list(map(len, corners)), np.int32)])

    def picked(values: np.ndarray | None, which: np.ndarray) -> np.ndarray | None:
        return None if values is None else values[which]

    return replace(
        made,
        corner_positions=made.corner_positions[corner],
        face_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        uvs=picked(made.uvs, corner),
        normals=picked(made.normals, corner),
        slots=picked(made.slots, source),
        smooth=picked(made.smooth, source),
        groups=picked(made.groups, source),
    )


def faces_with_repeated_corners(made: MeshArrays) -> np.ndarray:
    """The faces that have a position twice."""
    sizes, repeated = np.diff(made.face_offsets), []
    for size in np.unique(sizes):
        faces = np.flatnonzero(sizes == size)
        corners = made.corner_positions[made.face_offsets[faces][:, None] + np.arange(size)]
        repeated.append(faces[(np.diff(np.sort(corners, axis=1), axis=1) == 0).any(axis=1)])
    return np.sort(np.concatenate(repeated))


def pieces(corners: list[int], positions: np.ndarray) -> list[list[int]]:
    """The faces that a face with repeated positions stands for, each by its places in ``corners``: what is between two
    corners with the same position, and the rest. Of a polygon that goes to a hole and back, triangles beside the hole."""
    loops: list[list[int]] = []
    path: list[int] = []
    starts: dict[int, int] = {}
    for place, position in enumerate(corners):
        start = starts.get(position)
        if start is not None and start + 1 < len(path):
            loops.append(path[start:])
            for at in path[start:]:
                del starts[corners[at]]
            path = path[:start]
        if position not in starts:
            starts[position] = len(path)
            path.append(place)
    loops = [loop for loop in [*loops, path] if len(loop) > 2]
    sides = set(zip(corners, corners[1:] + corners[:1], strict=True))
    if len(loops) > 1 and any((end, start) in sides for start, end in sides):
        outlines = [[mathutils.Vector(positions[corners[at]]) for at in loop] for loop in loops]
        places = [at for loop in loops for at in loop]
        return [[places[at] for at in triangle] for triangle in mathutils.geometry.tessellate_polygon(outlines)]
    # In Blender, the last corner comes first.
    return [loop[-1:] + loop[:-1] for loop in loops]


def without_repeated_faces(made: MeshArrays) -> MeshArrays:
    """Triangles without those that have two corners in common, or all of them with an earlier one."""
    triangles = made.corner_positions.reshape(-1, 3)
    ordered = np.sort(triangles, axis=1)
    _, first = np.unique(ordered, axis=0, return_index=True)
    is_kept = np.zeros(len(triangles), np.bool_)
    is_kept[first] = True
    is_kept &= (np.diff(ordered, axis=1) != 0).all(axis=1)
    count = int(is_kept.sum())
    return replace(
        made,
        corner_positions=triangles[is_kept].reshape(-1),
        face_offsets=np.arange(0, 3 * count + 1, 3, dtype=np.int32),
        normals=None if made.normals is None else made.normals.reshape(-1, 3, 3)[is_kept].reshape(-1, 3),
        smooth=None if made.smooth is None else made.smooth[is_kept],
    )


def joined(scene: polyhaul.Scene, name: str) -> polyhaul.Scene:
    """All triangles of a scene as one mesh, whose triangles share positions with equal coordinates."""
    if len(scene.meshes) < 2:
        return scene
    every = list(scene.meshes)
    starts = np.cumsum([0, *(mesh.position_count for mesh in every)])
    positions = np.concatenate([mesh.positions for mesh in every])
    corners = np.concatenate([mesh.corner_positions + start for mesh, start in zip(every, starts[:-1], strict=True)])
    # Without the sign of zero.
    _, first, number = np.unique(positions + 0.0, axis=0, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), np.uint32)
    ranks[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    mesh = polyhaul.Mesh(positions[np.sort(first)], ranks[number.reshape(-1)][corners].reshape(-1, 3))
    if all(mesh.normals is not None for mesh in every):
        mesh.set_normals(np.concatenate([mesh.normals for mesh in every]), domain="face")
    scene = polyhaul.Scene()
    scene.add(mesh, name=name)
    return scene


def fill(data: Any, made: MeshArrays) -> None:
    """Sets positions, faces and what these have."""
    if len(made.positions):
        data.vertices.add(len(made.positions))
        arrays.write(data.attributes["position"].data, "vector", made.positions)
    if made.face_count:
        data.loops.add(len(made.corner_positions))
        arrays.write(data.attributes[".corner_vert"].data, "value", made.corner_positions)
        data.polygons.add(made.face_count)
        arrays.write(data.polygons, "loop_start", made.face_offsets[:-1])
    # New attributes are zeros.
    indices = data.attributes.new("material_index", "INT", "FACE").data
    if made.slots is not None:
        arrays.write(indices, "value", made.slots)
    sharp = data.attributes.new("sharp_face", "BOOLEAN", "FACE").data
    if made.smooth is None or not made.smooth.all():
        arrays.write(sharp, "value", np.ones(made.face_count, np.bool_) if made.smooth is None else ~made.smooth)
    if made.uvs is not None:
        arrays.write(data.uv_layers.new(name="UVMap", do_init=False).uv, "vector", made.uvs)


def connect(data: Any, made: MeshArrays) -> None:
    """Creates the edges."""
    edges = made.lines if made.topology is None else made.topology[0]
    if len(edges):
        data.edges.add(len(edges))
        arrays.write(data.attributes[".edge_verts"].data, "value", edges)
    if made.topology is None:
        data.update(calc_edges=True, calc_edges_loose=len(made.lines) > 0)
        return
    if made.face_count:
        corner_edges = data.attributes.get(".corner_edge") or data.attributes.new(".corner_edge", "INT", "CORNER")
        arrays.write(corner_edges.data, "value", made.topology[1])
    data.update()


def deselect(data: Any) -> None:
    """New elements are selected in edit mode, unlike those that Blender imports."""
    for name in (".select_vert", ".select_edge", ".select_poly"):
        layer = data.attributes.get(name)
        if layer is not None:
            data.attributes.remove(layer)


def set_colors(data: Any, made: MeshArrays, name: str, space: str) -> None:
    """Sets the colors of positions, which are in sRGB or linear; those that the file does not give are white."""
    if made.colors is None or space == "NONE" or (np.isnan(made.colors[:1]).all() and np.isnan(made.colors).all()):
        return
    colors = data.color_attributes.new(name, "FLOAT_COLOR", "POINT")
    arrays.write(colors.data, "color_srgb" if space == "SRGB" else "color", np.nan_to_num(made.colors, nan=1.0))


def set_attributes(data: Any, mesh: polyhaul.Mesh, normals: np.ndarray | None) -> None:
    """Sets the other numbers of positions, and normals that no face has."""
    if normals is not None:
        arrays.write(data.attributes.new("normal", "FLOAT_VECTOR", "POINT").data, "vector", normals)
    for name, column in mesh.vertex_columns.items():
        if isinstance(column, np.ndarray):
            attribute = data.attributes.new(name, "FLOAT", "POINT")
            arrays.write(attribute.data, "value", column.astype(np.float32))


def set_normals(data: Any, made: MeshArrays) -> None:
    """Sets the normals of corners; those that the file does not have stay Blender's."""
    normals = made.normals
    if normals is None:
        return
    if not made.has_all_normals:
        is_there = np.any(normals != 0, axis=1) & np.isfinite(normals).all(axis=1)
        normals = np.where(is_there[:, None], normals, arrays.read(data.corner_normals, "vector", np.float32, 3))
    if bpy.app.version >= (4, 5):
        # Blender's own call encodes them one by one, which takes much longer (tools/bench/python/inside.py).
        attribute = data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER")
        arrays.write(attribute.data, "vector", normals)
    else:
        data.normals_split_custom_set(normals)
