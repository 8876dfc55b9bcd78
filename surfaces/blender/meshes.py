"""Blender meshes from parts of a polyhaul scene, set with bulk access (``arrays``)."""

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
    """The arrays of a Blender mesh: arrays of a part, possibly modified."""

    positions: np.ndarray
    corner_positions: np.ndarray
    face_offsets: np.ndarray
    #: (k, 2) int32: edges in addition to the edges of faces.
    lines: np.ndarray
    colors: np.ndarray | None
    uvs: np.ndarray | None
    normals: np.ndarray | None
    #: Whether every corner has a normal.
    has_all_normals: bool
    #: (f,) int32: the slot of each face; ``None`` if all faces have the first slot.
    slots: np.ndarray | None
    #: (f,) bool: whether each face is smooth; ``None`` if not specified.
    smooth: np.ndarray | None
    #: (f,) int32: the group of each face, -1 for none; ``None`` if the mesh does not have groups.
    groups: np.ndarray | None
    #: The edges, and the edge of each corner; ``None`` if Blender must compute the edges and check for invalid faces.
    topology: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def face_count(self) -> int:
        return len(self.face_offsets) - 1


def arrays_of(
    part: polyhaul.Part, positions: np.ndarray, slots: np.ndarray | None, groups: np.ndarray | None
) -> MeshArrays:
    """Return the arrays of a part with the given positions, with faces that are valid in Blender.

    Blender is much slower than polyhaul at computing edges and at validating faces (tools/bench/python/inside.py).
    """
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
    """Return normals scaled to unit length. Zeros and NaN are unchanged."""
    lengths = np.linalg.norm(normals.astype(np.float64), axis=1, keepdims=True)
    return (normals / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def without_curve_points(made: MeshArrays) -> MeshArrays:
    """Drop positions that faces and lines do not use."""
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
    """Split faces that use a position twice at that position. The pieces follow the other faces."""
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
    """Return the faces that use a position twice."""
    sizes, repeated = np.diff(made.face_offsets), []
    for size in np.unique(sizes):
        faces = np.flatnonzero(sizes == size)
        corners = made.corner_positions[made.face_offsets[faces][:, None] + np.arange(size)]
        repeated.append(faces[(np.diff(np.sort(corners, axis=1), axis=1) == 0).any(axis=1)])
    return np.sort(np.concatenate(repeated))


def pieces(corners: list[int], positions: np.ndarray) -> list[list[int]]:
    """Split a face with repeated positions into simple faces, each as indices into ``corners``.

    The pieces are the loops between two corners with the same position, and the rest. A polygon with a bridge to a hole
    is triangulated around the hole.
    """
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
    """Drop triangles with repeated corners, and triangles with the same corners as an earlier one."""
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
    """Join all triangles of a scene into one mesh with welded positions."""
    if len(scene.meshes) < 2:
        return scene
    every = list(scene.meshes)
    starts = np.cumsum([0, *(mesh.position_count for mesh in every)])
    positions = np.concatenate([mesh.positions for mesh in every])
    corners = np.concatenate([mesh.corner_positions + start for mesh, start in zip(every, starts[:-1], strict=True)])
    # Normalize negative zeros.
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
    """Set positions and faces, and the attributes of faces and corners."""
    if len(made.positions):
        data.vertices.add(len(made.positions))
        arrays.write(data.attributes["position"].data, "vector", made.positions)
    if made.face_count:
        data.loops.add(len(made.corner_positions))
        arrays.write(data.attributes[".corner_vert"].data, "value", made.corner_positions)
        data.polygons.add(made.face_count)
        arrays.write(data.polygons, "loop_start", made.face_offsets[:-1])
    # New attributes are initialized to zero.
    indices = data.attributes.new("material_index", "INT", "FACE").data
    if made.slots is not None:
        arrays.write(indices, "value", made.slots)
    sharp = data.attributes.new("sharp_face", "BOOLEAN", "FACE").data
    if made.smooth is None or not made.smooth.all():
        arrays.write(sharp, "value", np.ones(made.face_count, np.bool_) if made.smooth is None else ~made.smooth)
    if made.uvs is not None:
        arrays.write(data.uv_layers.new(name="UVMap", do_init=False).uv, "vector", made.uvs)


def connect(data: Any, made: MeshArrays) -> None:
    """Create the edges."""
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
    """Remove the selection: unlike elements that Blender imports, new elements are selected in edit mode."""
    for name in (".select_vert", ".select_edge", ".select_poly"):
        layer = data.attributes.get(name)
        if layer is not None:
            data.attributes.remove(layer)


def set_colors(data: Any, made: MeshArrays, name: str, space: str) -> None:
    """Set the colors of positions, sRGB or linear. Missing colors are white."""
    if made.colors is None or space == "NONE" or (np.isnan(made.colors[:1]).all() and np.isnan(made.colors).all()):
        return
    colors = data.color_attributes.new(name, "FLOAT_COLOR", "POINT")
    arrays.write(colors.data, "color_srgb" if space == "SRGB" else "color", np.nan_to_num(made.colors, nan=1.0))


def set_attributes(data: Any, mesh: polyhaul.Mesh, normals: np.ndarray | None) -> None:
    """Set additional attributes of positions, and the normals of points."""
    if normals is not None:
        arrays.write(data.attributes.new("normal", "FLOAT_VECTOR", "POINT").data, "vector", normals)
    for name, column in mesh.vertex_columns.items():
        if isinstance(column, np.ndarray):
            attribute = data.attributes.new(name, "FLOAT", "POINT")
            arrays.write(attribute.data, "value", column.astype(np.float32))


def set_normals(data: Any, made: MeshArrays) -> None:
    """Set the normals of corners. Corners without a normal keep Blender's normal."""
    normals = made.normals
    if normals is None:
        return
    if not made.has_all_normals:
        is_there = np.any(normals != 0, axis=1) & np.isfinite(normals).all(axis=1)
        normals = np.where(is_there[:, None], normals, arrays.read(data.corner_normals, "vector", np.float32, 3))
    if bpy.app.version >= (4, 5):
        # Blender's own function encodes normals one by one, which is much slower (tools/bench/python/inside.py).
        attribute = data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER")
        arrays.write(attribute.data, "vector", normals)
    else:
        data.normals_split_custom_set(normals)
