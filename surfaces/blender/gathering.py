"""What the exporters write: the objects that Blender shows, as a polyhaul scene.

Meshes are evaluated by Blender, with their modifiers; an instance is an object of its own, in Blender's order. Materials
are in ``shaders``, bulk access in ``arrays``.
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
    """The scene that is to be written. Its arrays are Blender's own: write it before Blender evaluates anything again.

    ``options`` has the properties of an operator, those of Blender's own exporter.
    """
    gathered = Gathered(options)
    for shown in shown_objects(depsgraph, options):
        gathered.add(shown.object, shown.matrix_world)
    return gathered.finish()


def shown_objects(depsgraph: Any, options: Any) -> Iterator[Any]:
    """The instances of objects that are exported."""
    names = None
    if options.collection:
        import bpy

        collection = bpy.data.collections.get(options.collection)
        names = set() if collection is None else {item.name_full for item in collection.all_objects}
    for instance in depsgraph.object_instances:
        # What an object is made of by its own instances counts as that object.
        owner = (instance.parent if instance.is_instance else instance.object).original
        if options.export_selected_objects and not owner.select_get():
            continue
        if names is None or owner.name_full in names:
            yield instance


class Settings:
    """The options of an operator, asked for once, and those that only other formats have."""

    def __init__(self, operator: Any, filepath: str) -> None:
        self.apply_transform, self.path_mode = True, "AUTO"
        self.export_materials = self.export_pbr_extensions = self.export_curves_as_nurbs = False
        self.export_uv = self.export_normals = self.export_vertex_groups = self.export_smooth_groups = False
        self.export_attributes = self.export_triangulated_mesh = False
        for option in operator.rna_type.properties:
            if not option.is_readonly:
                setattr(self, option.identifier, getattr(operator, option.identifier))
        #: What the format stores: edges, shading (smoothing and materials), curves, vertices (alpha and normals per vertex),
        #: triangles alone, long faces (of more than 255 corners).
        self.stores = operator.stores
        #: The file that is written.
        self.filepath = filepath
        colors = getattr(operator, "export_colors", False)
        self.export_colors, self.linear_colors = colors not in (False, "NONE"), colors == "LINEAR"

    @cached_property
    def byte_values(self) -> np.ndarray:
        """(256,) float32: the colors of bytes, which are in sRGB, by Blender's own conversions: nothing else reproduces
        their last digits."""
        table = [mathutils.Color([byte / 255] * 3).from_srgb_to_scene_linear() for byte in range(256)]
        table = table if self.linear_colors else [color.from_scene_linear_to_srgb() for color in table]
        return np.array([color.r for color in table], np.float32)


class Gathered:
    """A scene in the making."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self._scene = polyhaul.Scene()
        #: The meshes by the address of Blender's, which may have a million instances.
        self._meshes: dict[int, polyhaul.Mesh] = {}
        self._materials = shaders.Exported(options)
        #: Curves that are written as such: after everything else, as Blender does.
        self._curves: list[tuple[str, polyhaul.Mesh, Any]] = []

    def add(self, shown: Any, matrix: Any) -> None:
        """Adds an evaluated object at a place, if it has anything to write."""
        if shown.type == "MESH":
            is_applied = self.options.apply_modifiers or shown.original.type != "MESH"
            source = shown if is_applied else shown.original
            data = source.data
            mesh = self._meshes.get(data.as_pointer())
            if mesh is None:
                mesh = self._meshes[data.as_pointer()] = self._mesh(data, source)
            # As Blender calls what it has cut.
            name = "Mesh" if self.options.export_triangulated_mesh and len(data.polygons) else data.name
            slots = self._slots(shown, len(data.materials))
            self._scene.add(mesh, name=shown.name, mesh_name=name, transform=self._transform(matrix), materials=slots)
        elif shown.type == "CURVE" and "curves" in self.options.stores:
            self._add_curve(shown, matrix)

    def finish(self) -> polyhaul.Scene:
        """The scene, after the last object."""
        for name, mesh, place in self._curves:
            self._scene.add(mesh, name=name, transform=place)
        return self._scene

    def _mesh(self, data: Any, source: Any) -> polyhaul.Mesh:
        """The mesh of an object, whose faces have at most as many corners as the format stores."""
        if "long faces" in self.options.stores or triangles.largest_face(data) <= triangles.MAX_CORNERS:
            return mesh_of(data, source, self.options)
        with triangles.without_long_faces(data) as cut:
            return mesh_of(cut, source, self.options, is_temporary=True)

    def _add_curve(self, curve: Any, matrix: Any) -> None:
        if self.options.export_curves_as_nurbs and nurbs.is_nurbs(curve.data):
            # Blender moves control points in any case.
            place = np.array(matrix, np.float32)
            self._curves += [(curve.name, mesh, place) for mesh in nurbs.splines(curve.data)]
            return
        data = curve.to_mesh()
        # Blender names a curve whose splines make nothing, and leaves out one that has none.
        if data is not None and (len(data.vertices) or len(curve.data.splines)):
            mesh, name = mesh_of(data, curve, self.options, is_temporary=True), data.name
            curve.to_mesh_clear()
            # A curve that makes no faces has no materials.
            slots = self._slots(curve, len(curve.material_slots) if mesh.face_count else 0)
            self._scene.add(mesh, name=curve.name, mesh_name=name, transform=self._transform(matrix), materials=slots)

    def _transform(self, matrix: Any) -> np.ndarray:
        return np.array(matrix, np.float32) if self.options.apply_transform else np.eye(4, dtype=np.float32)

    def _slots(self, shown: Any, count: int) -> list[polyhaul.Material | None]:
        """The materials of as many slots of an evaluated object as its mesh has; none if the format has none."""
        if "shading" not in self.options.stores:
            return []
        materials = [slot.material for slot in shown.material_slots][:count]
        return [self._materials.of(material) for material in materials] + [None] * (count - len(materials))


def mesh_of(data: Any, source: Any, options: Any, *, is_temporary: bool = False) -> polyhaul.Mesh:
    """The mesh with what the options ask for; with copies of all arrays if Blender's are temporary."""
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
    """What faces have beside their corners."""
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


#: Blender's domains of normals: ours, and where they are.
NORMALS = {
    "POINT": ("point", "vertex_normals"),
    "FACE": ("face", "polygon_normals"),
    "CORNER": ("corner", "corner_normals"),
}


def positions_of(data: Any) -> np.ndarray:
    """(n, 3) float32: a mesh without vertices may have no array."""
    positions = arrays.attribute(data, "position", "vector", np.float32, 3)
    return np.empty((0, 3), np.float32) if positions is None else positions


def edges_of(data: Any) -> np.ndarray:
    """(e, 2) int32: the positions of each edge."""
    edges = arrays.attribute(data, ".edge_verts", "value", np.int32, 2)
    return np.empty((0, 2), np.int32) if edges is None else edges


def loose_edges(data: Any) -> np.ndarray | None:
    """(k, 2) int32: the edges that no face has."""
    if not len(data.edges):
        return None
    loose = np.ones(len(data.edges), np.bool_)
    if len(data.loops):
        loose[arrays.attribute(data, ".corner_edge", "value", np.int32)] = False
    return edges_of(data)[loose] if loose.any() else None


def sharp_edges(data: Any) -> np.ndarray | None:
    """(k, 2) int32: the edges that separate smoothing groups."""
    sharp = arrays.attribute(data, "sharp_edge", "value", np.bool_)
    return None if sharp is None else edges_of(data)[sharp]


def colors(data: Any, options: Settings, *, has_alpha: bool) -> np.ndarray | None:
    """(n, 3) or (n, 4) float32: the active colors per position, in sRGB or linear."""
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
    """The values of a color layer per position: the means of those of corners, and opaque black where there are none."""
    if layer.domain == "POINT":
        return values
    corners = arrays.attribute(data, ".corner_vert", "value", np.int32)
    means = mean_by(corners, values, len(data.vertices))
    is_bare = np.ones(len(means), np.bool_)
    is_bare[corners] = False
    means[is_bare, 3] = opaque
    return means


def srgb(linear: np.ndarray) -> np.ndarray:
    """(n, 3) float32: colors in sRGB. Blender's conversion takes one at a time."""
    converted = [mathutils.Color(color).from_scene_linear_to_srgb() for color in linear]
    return np.array(converted, np.float32).reshape(-1, 3)


def mean_by(corners: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """(count, k): the mean of the values of the corners at each position, in float32; 0 where there are none."""
    total = np.zeros((count, values.shape[1]), np.float32)
    np.add.at(total, corners, values)
    weights = np.bincount(corners, minlength=count).astype(np.float32)
    return total * (np.float32(1) / np.maximum(weights, np.float32(1)))[:, None]
