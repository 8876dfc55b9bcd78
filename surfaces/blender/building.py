"""What the importers make: meshes, curves and materials of Blender from a polyhaul scene.

Arrays are set whole (``arrays``). Coordinates stay those of the file: the object's transform turns them, as Blender's own
importer does it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import bpy
import mathutils
import numpy as np
import polyhaul
from bpy_extras.io_utils import axis_conversion

from . import arrays, shaders


class Builder:
    """Makes the objects of files in the active collection."""

    def __init__(self, context: Any, options: Any) -> None:
        self._context = context
        self._options = options
        self._collection = context.view_layer.active_layer_collection.collection
        self._made: list[Any] = []
        #: The materials of the scene that is built.
        self._materials: list[polyhaul.Material] = []
        #: The collections that were made or found, by their names from the active one on.
        self._collections: dict[tuple[str, ...], Any] = {}

    def build(self, scene: polyhaul.Scene, path: str) -> None:
        """Makes everything that a scene has."""
        materials = shaders.Imported(self._options, os.path.dirname(os.path.abspath(path)))
        stem = os.path.splitext(os.path.basename(path))[0]
        self._materials = list(scene.materials)
        objects: list[Any] = []
        bounds: list[np.ndarray] = []
        size = self._option("clamp_size", 0.0)
        for part in self._parts(scene):
            name = part.name.replace("\n", " ") or stem
            made = [bpy.data.objects.new(name, data) for data in self._data(part, name)]
            for item in made:
                for slot in part.materials:
                    # An exporter's empty slot is a material without a name.
                    if self._materials[slot].name:
                        item.data.materials.append(materials.of(self._materials[slot]))
                if self._option("import_vertex_groups", False):
                    add_vertex_groups(item, part)
            if size > 0 and made:
                bounds.append(np.stack([part.positions.min(axis=0), part.positions.max(axis=0)]))
            objects += made
        matrix = self._matrix(clamping(bounds, size))
        for item in objects:
            item.matrix_world = matrix
        self._made += objects

    def _option(self, name: str, usual: Any) -> Any:
        """An option of the operator, or what holds for formats without it."""
        return getattr(self._options, name, usual)

    def _data(self, part: polyhaul.Part, name: str) -> Iterator[Any]:
        """What a part of the file is in Blender: a curve, a mesh, or both."""
        if part.curve_count:
            yield curve_of(part.mesh, name, closes=self._option("close_spline_loops", True))
        if part.face_count or part.line_count or (len(part.positions) and not part.curve_count):
            yield self._mesh(part, name)

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

    def _parts(self, scene: polyhaul.Scene) -> Iterator[polyhaul.Part]:
        """The parts of the scene; each becomes one object in Blender."""
        by_object, by_group = self._option("use_split_objects", True), self._option("use_split_groups", False)
        return scene.parts(by_object=by_object, by_group=by_group, missing_uv=0.0, normals=self._option("use_facet_normal", True))

    def _mesh(self, part: polyhaul.Part, name: str) -> Any:
        data = bpy.data.meshes.new(name)
        fill(data, part, self._slots(part))
        is_as_is = connect(data, part)
        set_normals(data, part)
        set_colors(data, part, self._option("import_colors", "SRGB"))
        if self._option("import_attributes", False):
            set_attributes(data, part.mesh)
        if not is_as_is and self._option("validate_meshes", True) and self._option("use_mesh_validate", True):
            # Its default throws normals away.
            data.validate(clean_customdata=False)
        return data

    def _slots(self, part: polyhaul.Part) -> np.ndarray | None:
        """(f,) int32: the slots of faces; ``None`` if all of them have the first."""
        is_kept = [bool(self._materials[slot].name) for slot in part.materials]
        if part.material_slots is None or (len(is_kept) < 2 and part.material_slots.min() == 0):
            return None
        # Faces without a material have the first one, too.
        numbers = np.where(is_kept, np.cumsum(is_kept) - 1, 0)
        return np.append(numbers, 0).astype(np.int32)[part.material_slots]

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
        separator = self._option("collection_separator", "")
        collection = self._collection
        *folders, name = made.name.split(separator) if separator else [made.name]
        for depth, folder in enumerate(folders, 1):
            path = tuple(folders[:depth])
            if path not in self._collections:
                self._collections[path] = collection.children.get(folder) or bpy.data.collections.new(folder)
                if self._collections[path].name not in collection.children:
                    collection.children.link(self._collections[path])
            collection = self._collections[path]
        if folders:
            made.name = made.data.name = name
        return collection


def short(axis: str) -> str:
    """The name of an axis in Blender's functions."""
    return axis.replace("NEGATIVE_", "-")


def clamping(bounds: list[np.ndarray], size: float) -> float:
    """The factor that makes everything at most ``size`` wide; 0 is any size."""
    if size <= 0 or not bounds:
        return 1.0
    widest = float(np.ptp(np.concatenate(bounds), axis=0).max())
    return size / widest if widest > size else 1.0


def fill(data: Any, part: polyhaul.Part, slots: np.ndarray | None) -> None:
    """Sets positions, faces and what these have."""
    if len(part.positions):
        data.vertices.add(len(part.positions))
        arrays.write(data.attributes["position"].data, "vector", part.positions)
    if part.face_count:
        data.loops.add(len(part.corner_positions))
        arrays.write(data.attributes[".corner_vert"].data, "value", part.corner_positions.view(np.int32))
        data.polygons.add(part.face_count)
        arrays.write(data.polygons, "loop_start", part.face_offsets[:-1].view(np.int32))
    # New attributes are zeros.
    indices = data.attributes.new("material_index", "INT", "FACE").data
    if slots is not None:
        arrays.write(indices, "value", slots)
    sharp = data.attributes.new("sharp_face", "BOOLEAN", "FACE").data
    if part.smooth is None or not part.smooth.all():
        arrays.write(sharp, "value", np.ones(part.face_count, np.bool_) if part.smooth is None else ~part.smooth)
    if part.uvs is not None:
        arrays.write(data.uv_layers.new(name="UVMap", do_init=False).uv, "vector", part.uvs)


def connect(data: Any, part: polyhaul.Part) -> bool:
    """Creates the edges. ``False`` if Blender must validate the mesh: it has lines, or faces that Blender rejects.

    Blender takes much longer than polyhaul to make edges, and to find that nothing is wrong (tools/bench/python/inside.py).
    """
    if part.line_count or not part.has_clean_faces:
        if part.line_count:
            lines = part.mesh.line_edges
            data.edges.add(len(lines))
            arrays.write(data.attributes[".edge_verts"].data, "value", lines.view(np.int32))
        data.update(calc_edges=True, calc_edges_loose=part.line_count > 0)
        return False
    if part.face_count:
        data.edges.add(len(part.edges))
        arrays.write(data.attributes[".edge_verts"].data, "value", part.edges.view(np.int32))
        corner_edges = data.attributes.get(".corner_edge") or data.attributes.new(".corner_edge", "INT", "CORNER")
        arrays.write(corner_edges.data, "value", part.corner_edges.view(np.int32))
    data.update()
    return True


def set_colors(data: Any, part: polyhaul.Part, space: str) -> None:
    """Sets the colors of positions, which are in sRGB or linear."""
    if part.colors is None or space == "NONE":
        return
    colors = data.color_attributes.new("Color", "FLOAT_COLOR", "POINT")
    arrays.write(colors.data, "color_srgb" if space == "SRGB" else "color", np.nan_to_num(part.colors, nan=1.0))


def set_attributes(data: Any, mesh: polyhaul.Mesh) -> None:
    """Sets the other numbers of positions."""
    for name, column in mesh.vertex_columns.items():
        if isinstance(column, np.ndarray):
            attribute = data.attributes.new(name, "FLOAT", "POINT")
            arrays.write(attribute.data, "value", column.astype(np.float32))


def set_normals(data: Any, part: polyhaul.Part) -> None:
    """Sets the normals of corners; those that the file does not have stay Blender's."""
    normals = part.normals
    if normals is None:
        return
    if not part.has_all_normals:
        is_there = np.any(normals != 0, axis=1) & np.isfinite(normals).all(axis=1)
        normals = np.where(is_there[:, None], normals, arrays.read(data.corner_normals, "vector", np.float32, 3))
    if bpy.app.version >= (4, 5):
        # Blender's own call encodes them one by one, which takes much longer (tools/bench/python/inside.py).
        attribute = data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER")
        arrays.write(attribute.data, "vector", normals)
    else:
        data.normals_split_custom_set(normals)


def add_vertex_groups(made: Any, part: polyhaul.Part) -> None:
    """Makes a vertex group of each face group."""
    groups = part.mesh.face_groups
    if groups is None:
        return
    corners = np.repeat(groups, np.diff(part.face_offsets.astype(np.int64)))
    order = np.argsort(corners, kind="stable")
    numbers, starts = np.unique(corners[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(part.corner_positions[order], starts[1:]), strict=True):
        if number >= 0:
            group = made.vertex_groups.new(name=part.mesh.groups[number])
            group.add(np.unique(members).tolist(), 1.0, "REPLACE")


def curve_of(mesh: polyhaul.Mesh, name: str, *, closes: bool) -> Any:
    """A curve of Blender with the splines of a mesh; ``closes`` says whether it joins the ends of those that meet."""
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    data.resolution_u = 5
    for curve in mesh.curves:
        points = list(curve.control_points)
        knots = np.asarray(curve.knots)
        is_cyclic = closes and len(points) > curve.degree and points[: curve.degree] == points[-curve.degree :]
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
