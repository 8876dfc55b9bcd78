"""Import: create Blender objects, collections and materials from a polyhaul scene.

Coordinates are stored as in the file and rotated by the object's transform, like Blender's own importer. Meshes are in
``meshes``, curves in ``curves``.
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

from . import curves, meshes, shaders

#: The property of objects with the point of the file that is at Blender's origin, if the coordinates of the file are
#: far from the origin.
ORIGIN = "polyhaul_origin"

#: The distance from the origin at which the spacing of float32 is 1/128.
FAR = 1e5


class Settings:
    """The options of an import operator, read once, with defaults for options that only other formats have."""

    def __init__(self, operator: Any) -> None:
        self.clamp_size = 0.0
        self.use_split_objects = self.use_split_groups = self.import_vertex_groups = False
        self.validate_meshes = self.use_mesh_validate = self.use_facet_normal = True
        self.close_spline_loops, self.collection_separator = True, ""
        self.use_scene_unit = self.merge_verts = self.import_attributes = False
        self.import_colors, self.mtl_name_collision_mode = "SRGB", "MAKE_UNIQUE"
        for option in operator.rna_type.properties:
            if not option.is_readonly:
                setattr(self, option.identifier, getattr(operator, option.identifier))
        #: The format-specific class variables of the operator.
        self.keeps_unused, self.is_soup, self.color_name = operator.keeps_unused, operator.is_soup, operator.color_name


class Builder:
    """Creates the objects of files in the active collection."""

    def __init__(self, context: Any, operator: Any) -> None:
        self._context = context
        self._options = Settings(operator)
        self._collection = context.view_layer.active_layer_collection.collection
        #: The objects of all files, in order.
        self._made: list[Any] = []
        #: The materials of the current scene.
        self._materials: list[polyhaul.Material] = []
        #: Whether the current file has normals.
        self._has_normals = False
        #: The point of the file that becomes the origin, if it differs from the file's origin.
        self._origin: np.ndarray | None = None
        #: The normals of a file without faces.
        self._point_normals: np.ndarray | None = None
        #: The minimum and maximum coordinates of each object, if they are needed for ``clamp_size``.
        self._bounds: list[np.ndarray] = []
        #: The created or reused collections, by their path of names from the active collection.
        self._collections: dict[tuple[str, ...], Any] = {}

    def build(self, scene: polyhaul.Scene, path: str) -> bool:
        """Create the objects of a scene. Return ``False`` if the scene is empty."""
        stem = os.path.splitext(os.path.basename(path))[0]
        if self._options.is_soup:
            scene = meshes.joined(scene, stem)
        materials = shaders.Imported(self._options, os.path.dirname(os.path.abspath(path)))
        self._materials = list(scene.materials)
        self._has_normals = not self._options.is_soup and any(mesh.normals is not None for mesh in scene.meshes)
        self._origin = self._origin_of(scene)
        self._point_normals = point_normals(scene)
        objects: list[tuple[str, Any]] = []
        self._bounds = []
        for part in self._parts(scene):
            made = list(self._objects(part, part.name.replace("\n", " ") or stem))
            for _, item in made:
                # Only faces have materials; curves do not.
                for slot in part.materials if item.type == "MESH" else ():
                    # Exporters write empty slots as materials without a name.
                    if self._materials[slot].name:
                        item.data.materials.append(materials.of(self._materials[slot]))
            objects += made
        self._finish(objects, self._matrix(clamping(self._bounds, self._options.clamp_size)))
        return bool(objects)

    def finish(self) -> bool:
        """Link and select all objects, and activate the last one. Return ``False`` if there are no objects."""
        if not self._made:
            return False
        for selected in self._context.selected_objects:
            selected.select_set(False)
        for made in self._made:
            self._collection_of(made).objects.link(made)
        for made in self._made:
            made.select_set(True)
            self._context.view_layer.objects.active = made
        if self._options.merge_verts:
            for made in self._made:
                merge(made, self._context)
        return True

    def _finish(self, objects: list[tuple[str, Any]], matrix: Any) -> None:
        """Sort the objects of a file by name, like Blender. The order determines which names get a numeric suffix."""
        objects.sort(key=lambda named: (named[0].encode().lower(), named[0].encode().swapcase()))
        if any(item.name != name for name, item in objects):
            for _, item in objects:
                item.name = item.data.name = "polyhaul"
            for name, item in objects:
                item.name = item.data.name = name
        for _, item in objects:
            item.matrix_world = matrix
            if self._origin is not None:
                item[ORIGIN] = self._origin.tolist()
        self._made += [item for _, item in objects]

    def _objects(self, part: polyhaul.Part, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the Blender objects for a part of the file: a mesh, and a curve object for each of its curves."""
        has_mesh = bool(part.face_count or part.line_count or (len(part.positions) and not part.curve_count))
        if has_mesh:
            made = self._arrays(part)
            self._measure(made.positions)
            item = bpy.data.objects.new(name, self._mesh(part, made, name))
            if made.groups is not None and made.face_count:
                add_vertex_groups(item, made, part.mesh.groups)
            yield name, item
        if part.curve_count:
            yield from self._curves(part, name, is_first=not has_mesh)

    def _curves(self, part: polyhaul.Part, name: str, *, is_first: bool) -> Iterator[tuple[str, Any]]:
        """Yield the curves of a part.

        The first object of a part has the name of the part, the others the names of their groups.
        """
        positions, groups = self._positions(part), part.mesh.curve_groups
        for number, curve in enumerate(part.mesh.curves):
            if not is_first or number:
                group = -1 if groups is None else groups[number]
                name = (part.mesh.groups[group] if group >= 0 else "") or "New object"
            # The points of curves have a radius of 1.
            self._measure(positions[curve.control_points], 1.0)
            data = curves.curve_of(curve, positions, name, closes=self._options.close_spline_loops)
            yield name, bpy.data.objects.new(name, data)

    def _measure(self, positions: np.ndarray, radius: float = 0.0) -> None:
        if self._options.clamp_size > 0 and len(positions):
            self._bounds.append(np.stack([positions.min(axis=0) - radius, positions.max(axis=0) + radius]))

    def _parts(self, scene: polyhaul.Scene) -> Iterator[polyhaul.Part]:
        """Return the parts of the scene. Each part is imported as one object."""
        return scene.parts(
            by_object=self._options.use_split_objects,
            by_group=self._options.use_split_groups,
            missing_uv=0.0,
            normals=self._options.use_facet_normal,
            unused_positions=self._options.keeps_unused,
        )

    def _arrays(self, part: polyhaul.Part) -> meshes.MeshArrays:
        wants_groups = self._options.import_vertex_groups and not self._options.use_split_groups
        made = meshes.arrays_of(part, self._positions(part), self._slots(part), part.mesh.face_groups if wants_groups else None)
        if self._has_normals and made.smooth is None:
            made.smooth = np.ones(made.face_count, np.bool_)
        return meshes.without_repeated_faces(made) if made.topology is None and self._options.is_soup else made

    def _mesh(self, part: polyhaul.Part, made: meshes.MeshArrays, name: str) -> Any:
        data = bpy.data.meshes.new(name)
        meshes.fill(data, made)
        meshes.connect(data, made)
        meshes.deselect(data)
        meshes.set_normals(data, made)
        meshes.set_colors(data, made, self._options.color_name, self._options.import_colors)
        if self._options.import_attributes:
            meshes.set_attributes(data, part.mesh, self._point_normals)
        if made.topology is None and self._options.validate_meshes and self._options.use_mesh_validate:
            # By default, `validate` drops custom normals.
            data.validate(clean_customdata=False)
        return data

    def _slots(self, part: polyhaul.Part) -> np.ndarray | None:
        """Return (f,) int32: the slots of faces; ``None`` if all faces have the first slot."""
        is_kept = [bool(self._materials[slot].name) for slot in part.materials]
        if part.material_slots is None or (len(is_kept) < 2 and part.material_slots.min() == 0):
            return None
        # Faces without a material also have the first slot.
        numbers = np.where(is_kept, np.cumsum(is_kept) - 1, 0)
        return np.append(numbers, 0).astype(np.int32)[part.material_slots]

    def _positions(self, part: polyhaul.Part) -> np.ndarray:
        """Return (n, 3) float32: the positions of a part, relative to the origin."""
        return part.positions if self._origin is None else (part.mesh.positions - self._origin).astype(np.float32)

    def _origin_of(self, scene: polyhaul.Scene) -> np.ndarray | None:
        """Return (3,) float64: the new origin if coordinates are too far from the file's origin; otherwise ``None``.

        The origin of existing objects is reused if it is near enough, so that files of the same survey are aligned.
        """
        if not self._options.use_local_origin:
            return None
        bounds = [mesh.bounds for mesh in scene.meshes if is_far(mesh)]
        if not bounds:
            return None
        low, high = np.min([low for low, _ in bounds], axis=0), np.max([high for _, high in bounds], axis=0)
        for item in [*self._made, *self._context.scene.objects]:
            known = np.array(item.get(ORIGIN, ()), np.float64)
            if known.shape == (3,) and np.abs(np.stack([low, high]) - known).max() < FAR:
                return known
        return np.round((low + high) / 2)

    def _matrix(self, factor: float) -> Any:
        """Return the transform of the objects: rotated to Blender's axes, and scaled."""
        options = self._options
        turn = axis_conversion(
            from_forward=short(options.forward_axis), from_up=short(options.up_axis), to_forward="Y", to_up="Z"
        ).to_4x4()
        scale = options.global_scale * self._unit() * factor
        return turn @ mathutils.Matrix.Scale(scale, 4)

    def _unit(self) -> float:
        """Return the number of scene units per meter of the file."""
        settings = self._context.scene.unit_settings
        if not self._options.use_scene_unit or settings.system == "NONE":
            return 1.0
        return 1.0 / settings.scale_length

    def _collection_of(self, made: Any) -> Any:
        """Return the collection of an object, named by the parts of the object's name before the last separator."""
        separator = self._options.collection_separator
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
    """Return the axis name that Blender's functions use."""
    return axis.replace("NEGATIVE_", "-")


def clamping(bounds: list[np.ndarray], size: float) -> float:
    """Return the factor that scales everything down to at most ``size``; 1 if ``size`` is 0."""
    if size <= 0 or not bounds:
        return 1.0
    widest = float(np.ptp(np.concatenate(bounds), axis=0).max())
    return size / widest if widest > size else 1.0


def point_normals(scene: polyhaul.Scene) -> np.ndarray | None:
    """Return (n, 3) float32: the normals of points, which Blender stores as an attribute."""
    if len(scene.meshes) != 1 or scene.meshes[0].face_count or scene.meshes[0].normal_domain != "vertex":
        return None
    return scene.meshes[0].normals


def is_far(mesh: polyhaul.Mesh) -> bool:
    """Return whether the finite coordinates of a mesh in double precision are too far from the origin for float32.

    They are too far beyond ``FAR``, or if the spacing of float32 exceeds 1e-5 of their extent.
    """
    bounds = mesh.bounds if mesh.positions.dtype == np.float64 else None
    if bounds is None:
        return False
    farthest, extent = np.abs(bounds).max(), (bounds[1] - bounds[0]).max()
    return bool(farthest > FAR or (extent > 0 and farthest * 2**-23 > 1e-5 * extent))


def merge(made: Any, context: Any) -> None:
    """Merge the vertices of an object by distance, like Blender's own importer."""
    modifier = made.modifiers.new("merge", "WELD")
    modifier.merge_threshold = 1e-4
    merged = bpy.data.meshes.new_from_object(made.evaluated_get(context.evaluated_depsgraph_get()))
    made.modifiers.remove(modifier)
    name, before = made.data.name, made.data
    made.data = merged
    bpy.data.meshes.remove(before)
    merged.name = name


def add_vertex_groups(item: Any, made: meshes.MeshArrays, names: tuple[str, ...]) -> None:
    """Create a vertex group for each face group."""
    corners = np.repeat(made.groups, np.diff(made.face_offsets))
    order = np.argsort(corners, kind="stable")
    numbers, starts = np.unique(corners[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(made.corner_positions[order], starts[1:]), strict=True):
        if number >= 0:
            group = item.vertex_groups.new(name=names[number])
            group.add(np.unique(members).tolist(), 1.0, "REPLACE")
