"""Export: create a polyhaul scene from the objects that Blender shows.

Blender evaluates the meshes, including their modifiers. Each instance is a separate object, in Blender's order.
Materials are in ``shaders``, bulk access in ``arrays``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import mathutils
import numpy as np
import polyhaul

from . import arrays, attributes, nurbs, shaders, triangles

def gather(depsgraph: Any, options: Any) -> polyhaul.Scene:
    """Return the scene to write.

    Its arrays may be views of Blender's arrays: write it before Blender evaluates the scene again. ``options`` has the
    properties of an operator, which match the properties of Blender's own exporter.
    """
    gathered = Gathered(options)
    for shown in shown_objects(depsgraph, options):
        gathered.add(shown.object, shown.matrix_world)
    return gathered.finish()


def shown_objects(depsgraph: Any, options: Any) -> Iterator[Any]:
    """Yield the object instances to export."""
    names = None
    if options.collection:
        import bpy

        collection = bpy.data.collections.get(options.collection)
        names = set() if collection is None else {item.name_full for item in collection.all_objects}
    for instance in depsgraph.object_instances:
        # Instances that an object creates belong to that object.
        owner = (instance.parent if instance.is_instance else instance.object).original
        if options.export_selected_objects and not owner.select_get():
            continue
        if names is None or owner.name_full in names:
            yield instance


class Settings:
    """The options of an export operator, read once, with defaults for options that only other formats have."""

    def __init__(self, operator: Any, filepath: str) -> None:
        self.apply_transform, self.path_mode = True, "AUTO"
        self.export_materials = self.export_pbr_extensions = self.export_curves_as_nurbs = False
        self.export_uv = self.export_normals = self.export_vertex_groups = self.export_smooth_groups = False
        self.export_attributes = self.export_triangulated_mesh = False
        for option in operator.rna_type.properties:
            if not option.is_readonly:
                setattr(self, option.identifier, getattr(operator, option.identifier))
        #: The features of the format: edges, shading (smoothing and materials), curves, vertices (alpha and normals per
        #: vertex), triangles (only triangles), long faces (of more than 255 corners).
        self.stores = operator.stores
        #: The output file.
        self.filepath = filepath
        colors = getattr(operator, "export_colors", False)
        self.export_colors, self.linear_colors = colors not in (False, "NONE"), colors == "LINEAR"

    @cached_property
    def byte_values(self) -> np.ndarray:
        """(256,) float32: the colors of sRGB bytes.

        Computed by Blender's own conversions, because other implementations do not reproduce their last digits.
        """
        table = [mathutils.Color([byte / 255] * 3).from_srgb_to_scene_linear() for byte in range(256)]
        table = table if self.linear_colors else [color.from_scene_linear_to_srgb() for color in table]
        return np.array([color.r for color in table], np.float32)


class Gathered:
    """Builder of the exported scene."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self._scene = polyhaul.Scene()
        #: The meshes by address of the Blender mesh, which may have a million instances.
        self._meshes: dict[int, polyhaul.Mesh] = {}
        self._materials = shaders.Exported(options)
        #: Curves that are written as NURBS, after all other objects, like Blender.
        self._curves: list[tuple[str, polyhaul.Mesh, Any]] = []

    def add(self, shown: Any, matrix: Any) -> None:
        """Add an evaluated object with its transform, if it has data to write."""
        if shown.type == "MESH":
            is_applied = self.options.apply_modifiers or shown.original.type != "MESH"
            source = shown if is_applied else shown.original
            data = source.data
            mesh = self._meshes.get(data.as_pointer())
            if mesh is None:
                mesh = self._meshes[data.as_pointer()] = self._mesh(data, source)
            # Blender uses this name for triangulated meshes.
            name = "Mesh" if self.options.export_triangulated_mesh and len(data.polygons) else data.name
            slots = self._slots(shown, len(data.materials))
            self._scene.add(mesh, name=shown.name, mesh_name=name, transform=self._transform(matrix), materials=slots)
        elif shown.type == "CURVE" and "curves" in self.options.stores:
            self._add_curve(shown, matrix)

    def finish(self) -> polyhaul.Scene:
        """Return the scene after the last object."""
        for name, mesh, place in self._curves:
            self._scene.add(mesh, name=name, transform=place)
        return self._scene

    def _mesh(self, data: Any, source: Any) -> polyhaul.Mesh:
        """Return the mesh of an object, with faces cut to the maximum number of corners of the format."""
        if "long faces" in self.options.stores or triangles.largest_face(data) <= triangles.MAX_CORNERS:
            return mesh_of(data, source, self.options)
        with triangles.without_long_faces(data) as cut:
            return mesh_of(cut, source, self.options, is_temporary=True)

    def _add_curve(self, curve: Any, matrix: Any) -> None:
        if self.options.export_curves_as_nurbs and nurbs.is_nurbs(curve.data):
            # Blender always transforms control points.
            place = np.array(matrix, np.float32)
            self._curves += [(curve.name, mesh, place) for mesh in nurbs.splines(curve.data)]
            return
        data = curve.to_mesh()
        # Blender writes a curve whose splines are empty, and drops a curve without splines.
        if data is not None and (len(data.vertices) or len(curve.data.splines)):
            mesh, name = mesh_of(data, curve, self.options, is_temporary=True), data.name
            curve.to_mesh_clear()
            # Curves without faces do not have materials.
            slots = self._slots(curve, len(curve.material_slots) if mesh.face_count else 0)
            self._scene.add(mesh, name=curve.name, mesh_name=name, transform=self._transform(matrix), materials=slots)

    def _transform(self, matrix: Any) -> np.ndarray:
        return np.array(matrix, np.float32) if self.options.apply_transform else np.eye(4, dtype=np.float32)

    def _slots(self, shown: Any, count: int) -> list[polyhaul.Material | None]:
        """Return the materials of the slots of an evaluated object; empty if the format does not store materials.

        ``count`` is the number of slots of its mesh.
        """
        if "shading" not in self.options.stores:
            return []
        materials = [slot.material for slot in shown.material_slots][:count]
        return [self._materials.of(material) for material in materials] + [None] * (count - len(materials))


def mesh_of(data: Any, source: Any, options: Any, *, is_temporary: bool = False) -> polyhaul.Mesh:
    """Return the mesh with the attributes that the options select. Arrays are copied if ``is_temporary`` is set."""
    given: dict[str, Any] = {"positions": positions_of(data)}
    if "edges" in options.stores:
        given["line_positions"] = loose_edges(data)
    if len(data.polygons):
        if "triangles" in options.stores and triangles.largest_face(data) > 4:
            given["corner_positions"] = triangles.shown(data)
        else:
            given["corner_positions"] = arrays.attribute(data, ".corner_vert", "value", np.int32)
            given["face_offsets"] = arrays.face_offsets(data)
        given |= faces_of(data, options)
    if options.export_colors:
        given["colors"] = colors(data, options, has_alpha="vertices" in options.stores)
    if options.export_normals and "vertices" in options.stores and len(data.vertices):
        given["normals"], given["normal_domain"] = arrays.read(data.vertex_normals, "vector", np.float32, 3), "point"
    if options.export_attributes:
        given["vertex_columns"] = attributes.columns(data, source) or None
    if options.export_vertex_groups:
        given["vertex_groups"] = attributes.vertex_groups(data, source)
    if options.export_smooth_groups:
        given["sharp_edges"] = sharp_edges(data)
    given = {name: value for name, value in given.items() if value is not None}
    if is_temporary:
        given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}
    return polyhaul.Mesh(**given)


def faces_of(data: Any, options: Any) -> dict[str, Any]:
    """Return the attributes of faces and their corners."""
    faces: dict[str, Any] = {}
    if "shading" in options.stores:
        sharp = arrays.attribute(data, "sharp_face", "value", np.bool_)
        faces["smooth"] = True if sharp is None else ~sharp
        faces["material_slots"] = arrays.attribute(data, "material_index", "value", np.int32)
    if options.export_normals and "vertices" not in options.stores:
        domain, collection = NORMALS[data.normals_domain]
        faces["normals"] = arrays.read(getattr(data, collection), "vector", np.float32, 3)
        faces["normal_domain"] = domain
    layer = data.uv_layers.active if options.export_uv else None
    if layer is not None:
        faces["uvs"], faces["uv_domain"] = arrays.read(layer.uv, "vector", np.float32, 2), "corner"
    return faces


#: The domain and the collection for each of Blender's normal domains.
NORMALS = {
    "POINT": ("point", "vertex_normals"),
    "FACE": ("face", "polygon_normals"),
    "CORNER": ("corner", "corner_normals"),
}


def positions_of(data: Any) -> np.ndarray:
    """Return (n, 3) float32: the positions. A mesh without vertices may not have an array."""
    positions = arrays.attribute(data, "position", "vector", np.float32, 3)
    return np.empty((0, 3), np.float32) if positions is None else positions


def edges_of(data: Any) -> np.ndarray:
    """Return (e, 2) int32: the positions of each edge."""
    edges = arrays.attribute(data, ".edge_verts", "value", np.int32, 2)
    return np.empty((0, 2), np.int32) if edges is None else edges


def loose_edges(data: Any) -> np.ndarray | None:
    """Return (k, 2) int32: the edges that faces do not use; ``None`` if there are none."""
    if not len(data.edges):
        return None
    loose = np.ones(len(data.edges), np.bool_)
    if len(data.loops):
        loose[arrays.attribute(data, ".corner_edge", "value", np.int32)] = False
    return edges_of(data)[loose] if loose.any() else None


def sharp_edges(data: Any) -> np.ndarray | None:
    """Return (k, 2) int32: the edges that separate smoothing groups; ``None`` if sharpness is not specified."""
    sharp = arrays.attribute(data, "sharp_edge", "value", np.bool_)
    return None if sharp is None else edges_of(data)[sharp]


def colors(data: Any, options: Settings, *, has_alpha: bool) -> np.ndarray | None:
    """Return (n, 3) or (n, 4) float32: the active colors per position, sRGB or linear; ``None`` if there are none."""
    are_linear = options.linear_colors
    layer = data.color_attributes.active_color
    if layer is None or not len(data.vertices):
        return None
    if not len(layer.data):
        return np.zeros((len(data.vertices), 4 if has_alpha else 3), np.float32)
    if layer.data_type == "BYTE_COLOR":
        values = np.rint(arrays.read(layer.data, "color_srgb", np.float32, 4, is_stored=False) * 255)
        # Blender rounds means of bytes down.
        colors = per_position(data, layer, values, 255).astype(np.intp)
        rgb, alpha = options.byte_values[colors[:, :3]], colors[:, 3:].astype(np.float32) / np.float32(255)
    elif layer.domain == "POINT":
        colors = arrays.read(layer.data, "color" if are_linear else "color_srgb", np.float32, 4, is_stored=are_linear)
        rgb, alpha = colors[:, :3], colors[:, 3:]
    else:
        colors = per_position(data, layer, arrays.read(layer.data, "color", np.float32, 4), 1)
        rgb, alpha = colors[:, :3] if are_linear else srgb(colors[:, :3]), colors[:, 3:]
    return np.concatenate([rgb, alpha], axis=1) if has_alpha else rgb


def per_position(data: Any, layer: Any, values: np.ndarray, opaque: float) -> np.ndarray:
    """Return the values of a color layer per position.

    Values per corner are averaged. Positions without corners are black, with an alpha of ``opaque``.
    """
    if layer.domain == "POINT":
        return values
    corners = arrays.attribute(data, ".corner_vert", "value", np.int32)
    means = mean_by(corners, values, len(data.vertices))
    is_bare = np.ones(len(means), np.bool_)
    is_bare[corners] = False
    means[is_bare, 3] = opaque
    return means


def srgb(linear: np.ndarray) -> np.ndarray:
    """Return (n, 3) float32: linear colors converted to sRGB. Blender converts one color at a time."""
    converted = [mathutils.Color(color).from_scene_linear_to_srgb() for color in linear]
    return np.array(converted, np.float32).reshape(-1, 3)


def mean_by(corners: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return (count, k) float32: the mean of the values of the corners at each position, 0 without corners."""
    total = np.zeros((count, values.shape[1]), np.float32)
    np.add.at(total, corners, values)
    weights = np.bincount(corners, minlength=count).astype(np.float32)
    return total * (np.float32(1) / np.maximum(weights, np.float32(1)))[:, None]
