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

#: Above this many objects, they are made one after another.
MANY = 64
#: The place of faces among the counts of elements.
FACES = 3


class Builder:
    """Makes the objects of files in the active collection."""

    def __init__(self, context: Any, options: Any) -> None:
        self._context = context
        self._options = options
        self._collection = context.view_layer.active_layer_collection.collection
        self._made: list[Any] = []
        #: The collections that were made or found, by their names from the active one on.
        self._collections: dict[tuple[str, ...], Any] = {}

    def build(self, scene: polyhaul.Scene, path: str) -> None:
        """Makes everything that a scene has."""
        materials = shaders.Imported(self._options, os.path.dirname(os.path.abspath(path)))
        stem = os.path.splitext(os.path.basename(path))[0]
        found: list[Any] = []
        bounds: list[np.ndarray] = []
        size = self._option("clamp_size", 0.0)
        for part in ahead(self._parts(scene, stem)):
            made = [bpy.data.objects.new(part.name, data) for data in self._data(part)]
            for one in made:
                for slot in part.slots:
                    one.data.materials.append(materials.of(scene.materials[slot]))
                if part.groups is not None:
                    add_vertex_groups(one, part)
            if size > 0 and made:
                bounds.append(part.bounds())
            found += made
        matrix = self._matrix(clamping(bounds, size))
        for one in found:
            one.matrix_world = matrix
        self._made += found

    def _option(self, name: str, usual: Any) -> Any:
        """An option of the operator, or what holds for formats without it."""
        return getattr(self._options, name, usual)

    def _data(self, part: Part) -> Iterator[Any]:
        """What an object of the file is in Blender: a curve, a mesh, or both."""
        if part.mesh.curves:
            yield curve_of(part.mesh, part.name, closes=self._option("close_spline_loops", True))
        if part.mesh.face_count or len(part.lines) or (part.mesh.position_count and not part.mesh.curves):
            yield self._mesh(part)

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
        """What makes the parts of the file."""
        by_object, by_group = self._option("use_split_objects", True), self._option("use_split_groups", False)
        # An exporter's empty slot is a material without a name.
        named = {number for number, material in enumerate(scene.materials) if material.name}
        make = partial(
            Part,
            materials=named,
            validates=self._option("validate_meshes", True) and self._option("use_mesh_validate", True),
            takes_normals=self._option("use_facet_normal", True),
        )
        parts: list[Callable[[], Part]] = []
        for mesh in scene.meshes:
            groups = mesh.face_groups if self._option("import_vertex_groups", False) else None
            for start, end, name in self._cuts(scene, mesh, by_object, by_group):
                own = None if groups is None else groups[start[FACES] : end[FACES]]
                parts.append(partial(make, mesh, start, end, name or stem, own))
        return parts

    def _cuts(self, scene: polyhaul.Scene, mesh: polyhaul.Mesh, by_object: bool, by_group: bool) -> list[Cut]:
        """Where the objects of a mesh begin and end: the counts of its elements, and their names."""
        starts: dict[tuple[int, ...], str] = {(0,) * len(mesh._counts): ""}
        if by_object:
            objects = (one for one in scene.objects if one.mesh is mesh and one.kind == "object" and one._start)
            starts |= {one._start: one.name for one in objects}
        runs = mesh._data["group_runs"] if by_group else None
        for run in () if runs is None else runs.tolist():
            *start, group = run
            starts[tuple(start)] = mesh.groups[group] if group < len(mesh.groups) else ""
        places = sorted(starts)
        cuts = [(start, end, starts[start]) for start, end in zip(places, [*places[1:], mesh._counts], strict=True)]
        # Positions before the first object or group are no object of their own.
        has_elements = len(places) == 1 or places[1][FACES:] != places[0][FACES:]
        return cuts if has_elements or starts[places[0]] else cuts[1:]

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


#: A section of a mesh: from which counts to which, and its name.
Cut = tuple[tuple[int, ...], tuple[int, ...], str]


class Part:
    """An object of a file, with everything that takes time and no Blender."""

    def __init__(
        self,
        whole: polyhaul.Mesh,
        start: tuple[int, ...],
        end: tuple[int, ...],
        name: str,
        groups: np.ndarray | None,
        *,
        materials: set[int],
        validates: bool,
        takes_normals: bool,
    ) -> None:
        self.name = name.replace("\n", " ")
        self.mesh = mesh = whole._section(start, end, True)
        self.uvs = mesh.per_corner("uvs", missing=0.0)
        self.normals = mesh.per_corner("normals") if takes_normals else None
        #: The group of each face, and the names of the groups.
        self.groups = groups
        self.group_names = whole.groups
        slots = mesh.material_slots
        self.slots = [] if slots is None else [slot for slot in used_slots(slots) if slot in materials]
        self.face_slots = None if slots is None else renumbered(slots, self.slots)
        self.lines = mesh.line_edges.view(np.int32)
        # Blender takes much longer than polyhaul to find that there is nothing to do (bench/python/inside.py).
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
        waiting = None
        for maker in makers:
            following = executor.submit(maker)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()


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
        # Blender's own call encodes them one by one, which takes much longer (bench/python/inside.py).
        attribute = data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER")
        arrays.write(attribute.data, "vector", normals)
    else:
        data.normals_split_custom_set(normals)


def add_vertex_groups(made: Any, part: Part) -> None:
    """Makes a vertex group of each face group."""
    corners = np.repeat(part.groups, np.diff(part.mesh.face_offsets.astype(np.int64)))
    order = np.argsort(corners, kind="stable")
    numbers, starts = np.unique(corners[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(part.mesh.corner_positions[order], starts[1:]), strict=True):
        if number >= 0:
            group = made.vertex_groups.new(name=part.group_names[number])
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
