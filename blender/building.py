"""What the importers make: meshes, curves and materials of Blender from a polyhaul scene.

Arrays are set whole (``arrays``). Coordinates stay those of the file: the object's transform turns them, as Blender's own
importer does it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import bpy
import mathutils
import numpy as np
import polyhaul
from bpy_extras.io_utils import axis_conversion

from . import arrays, shaders

#: Objects of a file from which on they are made one after another.
MANY = 64


class Builder:
    """Makes the objects of files in the active collection."""

    def __init__(self, context: Any, options: Any) -> None:
        self._context = context
        self._options = options
        self._collection = context.view_layer.active_layer_collection.collection
        self._made: list[Any] = []

    def build(self, scene: polyhaul.Scene, path: str) -> None:
        """Makes everything that a scene has."""
        materials = shaders.Imported(self._options, os.path.dirname(os.path.abspath(path)))
        stem = os.path.splitext(os.path.basename(path))[0]
        found: list[Any] = []
        bounds: list[np.ndarray] = []
        size = getattr(self._options, "clamp_size", 0.0)
        for part in ahead(self._parts(scene, stem)):
            if not part.mesh.position_count:
                continue
            data = curve_of(part.mesh, part.name) if part.mesh.curves else self._mesh(part)
            for slot in part.slots:
                data.materials.append(materials.of(scene.materials[slot]))
            made = bpy.data.objects.new(part.name, data)
            if getattr(self._options, "import_vertex_groups", False):
                add_vertex_groups(made, part)
            found.append(made)
            if size > 0:
                bounds.append(part.bounds())
        matrix = self._matrix(clamping(bounds, size))
        for made in found:
            made.matrix_world = matrix
        self._made += found

    def finish(self) -> bool:
        """Shows the objects: all of them selected, the last one active. ``False`` if there are none."""
        for selected in self._context.selected_objects:
            selected.select_set(False)
        for made in self._made:
            self._collection_of(made).objects.link(made)
        for made in self._made:
            made.select_set(True)
            self._context.view_layer.objects.active = made
        return bool(self._made)

    def _parts(self, scene: polyhaul.Scene, stem: str) -> list[Callable[[], Part]]:
        """What makes the parts of the file: its objects, or its whole mesh."""
        splits = getattr(self._options, "use_split_objects", True) or getattr(self._options, "use_split_groups", False)
        objects = scene.objects if splits else [polyhaul.Scene().add(mesh) for mesh in scene.meshes]
        validates = getattr(self._options, "validate_meshes", True)
        # An exporter's empty slot is a material without a name.
        named = [number for number, material in enumerate(scene.materials) if material.name]
        return [partial(Part, one, stem if not splits or not one.name else one.name, named, validates) for one in objects]

    def _mesh(self, part: Part) -> Any:
        data = bpy.data.meshes.new(part.name)
        fill(data, part)
        set_colors(data, part.mesh, getattr(self._options, "import_colors", "SRGB"))
        if getattr(self._options, "import_attributes", False):
            set_attributes(data, part.mesh)
        if part.must_be_validated:
            # Its default throws normals away.
            data.validate(clean_customdata=False)
        return data

    def _matrix(self, factor: float) -> Any:
        """Where the objects are: turned to Blender's axes, and scaled."""
        options = self._options
        turn = axis_conversion(
            from_forward=short(options.forward_axis), from_up=short(options.up_axis), to_forward="Y", to_up="Z"
        ).to_4x4()
        unit = self._context.scene.unit_settings.scale_length if getattr(options, "use_scene_unit", False) else 1.0
        scale = options.global_scale * unit * factor
        return turn @ mathutils.Matrix.Scale(scale, 4)

    def _collection_of(self, made: Any) -> Any:
        """The collection of an object, named by the parts of its name before the last separator."""
        separator = getattr(self._options, "collection_separator", "")
        collection = self._collection
        *folders, name = made.name.split(separator) if separator else [made.name]
        for folder in folders:
            below = collection.children.get(folder)
            if below is None:
                below = bpy.data.collections.new(folder)
                collection.children.link(below)
            collection = below
        if folders:
            made.name = made.data.name = name
        return collection


class Part:
    """An object of a file, with everything that takes time and no Blender."""

    def __init__(self, one: Any, name: str, materials: list[int], validates: bool) -> None:
        self.name = name.replace("\n", " ")
        self.mesh = mesh = one.to_mesh(used_only=True)
        self.uvs = mesh.per_corner("uvs", missing=0.0)
        self.normals = mesh.per_corner("normals")
        #: The group of each face, and the names of the groups.
        groups = one.mesh.face_groups
        self.groups = None if groups is None else groups[one.faces.start : one.faces.stop]
        self.group_names = one.mesh.groups
        slots = mesh.material_slots
        self.slots = [] if slots is None else [slot for slot in used_slots(slots) if slot in materials]
        self.face_slots = None if slots is None else renumbered(slots, self.slots)
        self.lines = line_edges(mesh)
        # Blender needs a second for 2 million faces; polyhaul sees in a tenth of that whether there is anything to do.
        self.must_be_validated = validates and (len(self.lines) > 0 or not mesh.has_clean_faces())


    def bounds(self) -> np.ndarray:
        """(2, 3): its least and largest coordinates."""
        return np.stack([self.mesh.positions.min(axis=0), self.mesh.positions.max(axis=0)])


def ahead(makers: list[Callable[[], Part]]) -> Iterator[Part]:
    """The parts in order. If there are few, which are large then, another thread makes them while Blender takes the
    earlier ones; handing over thousands of small ones takes longer than making them."""
    if len(makers) > MANY:
        yield from (maker() for maker in makers)
        return
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield from executor.map(lambda maker: maker(), makers)


def short(axis: str) -> str:
    """The name of an axis in Blender's functions."""
    return axis.replace("NEGATIVE_", "-")


def clamping(bounds: list[np.ndarray], size: float) -> float:
    """The factor that makes everything at most ``size`` wide; 0 is any size."""
    if size <= 0 or not bounds:
        return 1.0
    widest = float(np.ptp(np.concatenate(bounds), axis=0).max())
    return size / widest if widest > size else 1.0


def used_slots(slots: np.ndarray) -> list[int]:
    """The materials of faces, in the order of their first faces."""
    if not slots.size:
        return []
    changes = np.flatnonzero(np.diff(slots)) + 1
    found = dict.fromkeys([int(slots[0]), *slots[changes].tolist()])
    return [slot for slot in found if slot >= 0]


def fill(data: Any, part: Part) -> None:
    """Sets everything that a mesh has."""
    mesh = part.mesh
    if mesh.position_count:
        data.vertices.add(mesh.position_count)
        arrays.write(data.attributes["position"].data, "vector", mesh.positions)
    if len(part.lines):
        data.edges.add(len(part.lines))
        arrays.write(data.attributes[".edge_verts"].data, "value", part.lines)
    if mesh.face_count:
        data.loops.add(mesh.corner_count)
        arrays.write(data.attributes[".corner_vert"].data, "value", mesh.corner_positions.view(np.int32))
        data.polygons.add(mesh.face_count)
        arrays.write(data.polygons, "loop_start", mesh.face_offsets[:-1].view(np.int32))
    fill_faces(data, part)
    data.update(calc_edges=True, calc_edges_loose=len(part.lines) > 0)
    set_normals(data, part.normals)


def fill_faces(data: Any, part: Part) -> None:
    """Sets what faces have beside their corners."""
    mesh, count = part.mesh, part.mesh.face_count
    slots = data.attributes.new("material_index", "INT", "FACE").data
    if part.face_slots is not None:
        arrays.write(slots, "value", part.face_slots)
    smooth = np.zeros(count, np.bool_) if mesh.smooth is None else mesh.smooth
    arrays.write(data.attributes.new("sharp_face", "BOOLEAN", "FACE").data, "value", ~smooth)
    if part.uvs is not None:
        arrays.write(data.uv_layers.new(name="UVMap", do_init=False).uv, "vector", part.uvs)


def set_colors(data: Any, mesh: polyhaul.Mesh, space: str) -> None:
    """Sets the colors of positions, which are in sRGB or linear."""
    if mesh.colors is None or space == "NONE":
        return
    colors = data.color_attributes.new("Color", "FLOAT_COLOR", "POINT")
    arrays.write(colors.data, "color_srgb" if space == "SRGB" else "color", np.nan_to_num(mesh.colors, nan=1.0))


def set_attributes(data: Any, mesh: polyhaul.Mesh) -> None:
    """Sets the other numbers of positions."""
    for name, column in mesh.vertex_columns.items():
        if isinstance(column, np.ndarray):
            attribute = data.attributes.new(name, "FLOAT", "POINT")
            arrays.write(attribute.data, "value", column.astype(np.float32))


def renumbered(slots: np.ndarray, used: list[int]) -> np.ndarray:
    """(f,) int32: the slots of faces as indices of those used; 0 for none."""
    numbers = np.zeros(max(int(slots.max(initial=0)), 0) + 2, np.int32)
    numbers[used] = np.arange(len(used))
    return numbers[slots]


def line_edges(mesh: polyhaul.Mesh) -> np.ndarray:
    """(k, 2) int32: the edges of polylines."""
    corners = mesh.line_positions.view(np.int32)
    if not corners.size:
        return np.empty((0, 2), np.int32)
    is_last = np.zeros(len(corners), np.bool_)
    is_last[mesh.line_offsets[1:].astype(np.intp) - 1] = True
    first = np.flatnonzero(~is_last)
    return np.stack([corners[first], corners[first + 1]], axis=1)


def set_normals(data: Any, normals: np.ndarray | None) -> None:
    """Sets the normals of corners; those that the file does not have stay Blender's."""
    if normals is None or not len(normals):
        return
    # Most normals have an x: one look at that column leaves few.
    odd = np.flatnonzero(~(normals[:, 0] * normals[:, 0] > 0))
    missing = odd[~(np.abs(normals[odd]).max(axis=1, initial=0) > 0)]
    if len(missing):
        own = arrays.read(data.corner_normals, "vector", np.float32, 3)
        normals[missing] = own[missing]
    if bpy.app.version >= (4, 5):
        # Blender's own call encodes them one by one: 5.1 s in place of 0.06 s for 2 million corners.
        attribute = data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER")
        arrays.write(attribute.data, "vector", normals)
    else:
        data.normals_split_custom_set(normals)


def add_vertex_groups(made: Any, part: Part) -> None:
    """Makes a vertex group of each face group."""
    if part.groups is None:
        return
    sizes = np.diff(part.mesh.face_offsets.astype(np.int64))
    for number, name in enumerate(part.group_names):
        members = np.unique(part.mesh.corner_positions[np.repeat(part.groups == number, sizes)])
        if members.size:
            made.vertex_groups.new(name=name).add(members.tolist(), 1.0, "REPLACE")


def curve_of(mesh: polyhaul.Mesh, name: str) -> Any:
    """A curve of Blender with the splines of a mesh."""
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    data.resolution_u = 5
    for curve in mesh.curves:
        points = list(curve.control_points)
        knots = np.asarray(curve.knots)
        is_cyclic = len(points) > curve.degree and points[: curve.degree] == points[-curve.degree :]
        points = points[: -curve.degree] if is_cyclic else points
        spline = data.splines.new("NURBS")
        spline.points.add(len(points) - 1)
        weighted = np.ones((len(points), 4), np.float32)
        weighted[:, :3] = mesh.positions[points]
        arrays.write(spline.points, "co", weighted)
        spline.use_cyclic_u = is_cyclic
        spline.order_u = curve.degree + 1
        spline.use_endpoint_u = bool(len(knots) > curve.degree and knots[0] == knots[curve.degree])
    return data
