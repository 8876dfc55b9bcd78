"""Concatenation of meshes: :func:`concatenate`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import NONE, Indices
from polyhaul._curve import Curve
from polyhaul._material import Material
from polyhaul._mesh import Mesh
from polyhaul._report import PolyhaulWarning
from polyhaul._scene import Object, Scene
from polyhaul._select import set_groups
from polyhaul._table import Lists

Array = npt.NDArray[Any]


def concatenate(meshes: Iterable[Mesh | Object] | Scene) -> Mesh:
    """Concatenate meshes into one mesh, in order, with all their attributes.

    UVs and normals keep their domain if all meshes have the same domain, and are stored by index otherwise. Equal
    materials are merged, and slots are renumbered. Columns and vertex groups are matched by name.

    If only some of the meshes have an attribute, it is filled with default values for the others, and a
    :class:`polyhaul.PolyhaulWarning` is issued. UVs, normals, materials and colors are marked as missing; float columns
    are NaN, integer columns are 0, lists are empty, and faces are flat. Missing weights of vertex groups are NaN,
    without a warning. A warning is also issued if large integers are rounded, because the columns of other meshes have
    floats or another sign, and if UVs or normals of points are dropped, because others are stored by index.

    Args:
        meshes: meshes, or objects of scenes, whose transforms are applied; or a scene, to concatenate its objects.

    Returns:
        A new mesh. The arrays are copied.

    Raises:
        ValueError: ``meshes`` is empty, or the number of positions or corners exceeds the range of indices.
        TypeError: an item is not a mesh or an object.

    Example:
        >>> import polyhaul
        >>> triangle = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> polyhaul.concatenate([triangle, triangle]).triangles.tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    parts = [_mesh_of(item) for item in (meshes.objects if isinstance(meshes, Scene) else meshes)]
    if not parts:
        raise ValueError("meshes is empty; expected at least one mesh")
    joined = _Joined(parts)
    mesh = joined.mesh()
    for text in joined.lacking:
        warnings.warn(text, PolyhaulWarning, stacklevel=2)
    return mesh


def _mesh_of(item: Any) -> Mesh:
    if isinstance(item, Object):
        mesh = item.to_mesh()
        return mesh if item.transform is None else mesh.transform(item.transform)
    if not isinstance(item, Mesh):
        raise TypeError(f"meshes has an item of type {type(item).__name__}; expected polyhaul.Mesh or polyhaul.Object")
    return item


class _Joined:
    """Builder of the constructor arguments of the concatenated mesh."""

    def __init__(self, parts: list[Mesh]) -> None:
        #: The meshes, and the meshes with per-face arrays instead of statements.
        self.files, self.parts = parts, [part._without_statements() for part in parts]
        #: The messages of warnings.
        self.lacking: list[str] = []
        #: The index of the first position of each mesh.
        self.firsts = _starts([part.position_count for part in parts])

    def mesh(self) -> Mesh:
        parts = self.parts
        given: dict[str, Any] = {"positions": np.concatenate([part.positions for part in parts])}
        given |= self._elements("corner_positions", "face_offsets") | self._elements("line_positions", "line_offsets")
        given["points"] = self._moved([part.points for part in parts])
        given["sharp_edges"] = self._moved([part.sharp_edges for part in parts if part.sharp_edges is not None] or None, [
            first for part, first in zip(parts, self.firsts, strict=True) if part.sharp_edges is not None
        ])
        given |= self._attribute("uvs") | self._attribute("normals")
        given["colors"] = self._values("colors", "their positions have no color", "position_count", (4,), np.nan)
        given["smooth"] = self._values("smooth", "their faces are flat", "face_count", (), False)
        given["vertex_columns"] = self._columns("vertex", "position_count")
        given["face_columns"] = self._columns("face", "face_count")
        given["vertex_groups"] = self._vertex_groups()
        if any(part.position_weights is not None for part in parts):
            weights = [_filled(part.position_weights, (part.position_count,), 1) for part in parts]
            given["position_weights"] = np.concatenate(weights)
        curves = zip(parts, self.firsts, strict=True)
        given["curves"] = [_moved_curve(curve, first) for part, first in curves for curve in part.curves]
        given["material_slots"], given["materials"] = self._slots()
        mesh = Mesh(**given)
        self._add_file_data(mesh)
        return mesh

    def _moved(self, indices: Sequence[Array] | None, firsts: Sequence[int] | None = None) -> Array | None:
        """Return position indices in the concatenated mesh."""
        if indices is None:
            return None
        pairs = zip(indices, self.firsts if firsts is None else firsts, strict=True)
        return np.concatenate([values.astype(np.int64) + first for values, first in pairs])

    def _elements(self, name: str, offsets_name: str) -> dict[str, Any]:
        """Return the faces or lines."""
        corners = self._moved([getattr(part, name) for part in self.parts])
        if corners is None or not len(corners):
            return {}
        offsets = [getattr(part, offsets_name).astype(np.int64) for part in self.parts]
        starts = _starts([int(own[-1]) for own in offsets])
        moved = [own[:-1] + start for own, start in zip(offsets, starts, strict=True)]
        return {name: corners, offsets_name: np.concatenate([*moved, [len(corners)]])}

    def _attribute(self, name: Literal["uvs", "normals"]) -> dict[str, Any]:
        """Return the UVs or normals."""
        domain_name, stream_name = ("uv_domain", "corner_uvs") if name == "uvs" else ("normal_domain", "corner_normals")
        having = [part for part in self.parts if getattr(part, name) is not None]
        if not having:
            return {}
        domains = {getattr(part, domain_name) for part in having}
        missing = [part for part in self.parts if part.face_count and getattr(part, name) is None]
        self._note(len(missing), name, f"their corners have no {name}")
        values = np.concatenate([getattr(part, name) for part in having])
        has_all = all(getattr(part, name) is not None or not part.position_count for part in self.parts)
        if len(domains) == 1 and "indexed" not in domains and not missing and (domains != {"vertex"} or has_all):
            return {name: values, domain_name: domains.pop()}
        points = sum(getattr(part, domain_name) == "vertex" and not part.face_count for part in having)
        if points:
            # Indices of corners cannot refer to values of positions without faces.
            self.lacking.append(f"{name} of points in {points} of {len(self.parts)} meshes are dropped")
        streams, first = [], 0
        for part in self.parts:
            streams.append(_stream(part, domain_name, stream_name, first))
            rows = getattr(part, name)
            first += 0 if rows is None else len(rows)
        return {name: values, stream_name: np.concatenate(streams)}

    def _values(self, name: str, result: str, count: str, shape: tuple[int, ...], missing: Any) -> Array | None:
        """Return the concatenated values of an optional array."""
        arrays = [getattr(part, name) for part in self.parts]
        if all(array is None for array in arrays):
            return None
        counts = [getattr(part, count) for part in self.parts]
        self._note(sum(array is None and size > 0 for array, size in zip(arrays, counts, strict=True)), name, result)
        return np.concatenate(
            [_filled(array, (size, *shape), missing) for array, size in zip(arrays, counts, strict=True)]
        )

    def _columns(self, what: str, count: str) -> dict[str, Any]:
        """Return the columns by name."""
        all_columns = [getattr(part, f"{what}_columns") for part in self.parts]
        counts = [getattr(part, count) for part in self.parts]
        joined: dict[str, Any] = {}
        for name in dict.fromkeys(name for columns in all_columns for name in columns):
            found = [columns.get(name) for columns in all_columns]
            missing = sum(column is None and size > 0 for column, size in zip(found, counts, strict=True))
            kind = np.result_type(*(_numbers_of(column) for column in found if column is not None))
            if large := sum(_exceeds(column, kind) for column in found if column is not None):
                where = f"{large} of {len(self.parts)} meshes"
                self.lacking.append(f"{what} column {name!r} has integers in {where} that are rounded to {kind}")
            value = "NaN" if kind.kind == "f" else "0"
            shapes = {getattr(column, "shape", (0, None))[1:] for column in found if column is not None}
            has_lists = len(shapes) > 1 or (None,) in shapes
            self._note(missing, f"{what} column {name!r}", "its lists are empty there" if has_lists else f"it is {value} there")
            if has_lists:
                joined[name] = _joined_lists(found, counts, kind)
                continue
            fill, [shape] = (np.nan if kind.kind == "f" else 0), shapes
            filled = [_filled(column, (size, *shape), fill, kind) for column, size in zip(found, counts, strict=True)]
            joined[name] = np.concatenate(filled, dtype=kind)
        return joined

    def _vertex_groups(self) -> dict[str, Array] | None:
        names = dict.fromkeys(name for part in self.parts for name in part.vertex_groups)
        groups = [(part.vertex_groups, part.position_count) for part in self.parts]
        members = {name: [_filled(own.get(name), (count,), np.nan) for own, count in groups] for name in names}
        return {name: np.concatenate(weights) for name, weights in members.items()} or None

    def _slots(self) -> tuple[Array | None, list[Material | None]]:
        """Return the slots of all faces, and the materials of all slots."""
        materials: list[Material | None] = []
        tables: list[Array] = []
        for part in self.parts:
            table = []
            for material in part.materials:
                same = (at for at, other in enumerate(materials) if material is other or material == other)
                at = next(same, len(materials)) if material is not None else -1
                if at == len(materials):
                    materials.append(material)
                table.append(at)
            tables.append(np.array(table, np.int32))
        have_equal_slots = all(part.material_slots is None for part in self.parts) and len({table.tobytes() for table in tables}) <= 1
        # The common slot may be empty although others are not.
        if have_equal_slots and (not materials or tables[0][0] == 0):
            return None, materials
        if not materials:
            return self._values("material_slots", "their faces have slot 0", "face_count", (), np.int32(0)), []
        with_faces = [(part, table) for part, table in zip(self.parts, tables, strict=True) if part.face_count]
        self._note(sum(not len(table) for _, table in with_faces), "materials", "their faces have no material")
        return np.concatenate([_renumbered(part, table) for part, table in with_faces] or [np.empty(0, np.int32)]), materials

    def _add_file_data(self, mesh: Mesh) -> None:
        """Add data of files without constructor arguments: face groups, third texture coordinates, and UVs of lines."""
        groups = [part.face_groups for part in self.files]
        if any(own is not None for own in groups):
            names: dict[str, int] = {}
            numbers = []
            for part, own in zip(self.files, groups, strict=True):
                table = np.array([names.setdefault(name, len(names)) for name in part.groups] + [-1], np.int32)
                numbers.append(np.full(part.face_count, -1, np.int32) if own is None else table[own])
            set_groups(mesh, tuple(names), np.concatenate(numbers))
        depths = [part.uv_depths for part in self.parts]
        if any(own is not None for own in depths):
            counts = [0 if part.uvs is None else len(part.uvs) for part in self.parts]
            filled = [_filled(own, (count,), 0) for own, count in zip(depths, counts, strict=True)]
            mesh._set(uv_depths=np.concatenate(filled))
        if any(part.line_uvs is not None for part in self.parts):
            firsts = _starts([0 if part.uvs is None else len(part.uvs) for part in self.parts])
            streams = [_line_stream(part, first) for part, first in zip(self.parts, firsts, strict=True)]
            offsets, corners, _, normals = mesh._data["lines"]
            mesh._set(lines=(offsets, corners, np.concatenate(streams), normals))

    def _note(self, count: int, name: str, result: str) -> None:
        if count:
            lack = "lacks" if count == 1 else "lack"
            self.lacking.append(f"{count} of {len(self.parts)} meshes {lack} {name}; {result}")


def _starts(counts: Sequence[int]) -> list[int]:
    """Return the exclusive prefix sums of counts."""
    _arrays.check_count("meshes", sum(counts))
    return [0, *np.cumsum(counts[:-1], dtype=np.int64).tolist()]


def _filled(array: Any, shape: tuple[int, ...], missing: Any, kind: npt.DTypeLike = np.float32) -> Array:
    """Return the array, or an array of missing values if it is ``None``."""
    if array is not None:
        return np.asarray(array)
    return np.full(shape, missing, type(missing) if isinstance(missing, bool | np.int32) else kind)


def _stream(part: Mesh, domain_name: str, stream_name: str, first: int) -> Indices:
    """Return the index of the UV or normal of each corner, offset by ``first``."""
    domain = getattr(part, domain_name)
    if domain == "indexed":
        own: Indices = getattr(part, stream_name)
        return np.where(own == NONE, own, own + np.uint32(first))
    if domain is None:
        return np.full(part.corner_count, NONE, np.uint32)
    rows: Array = np.arange(part.corner_count) if domain == "corner" else part.corner_positions
    if domain == "face":
        rows = np.repeat(np.arange(part.face_count), np.diff(part.face_offsets))
    return (rows + first).astype(np.uint32)


def _line_stream(part: Mesh, first: int) -> Indices:
    """Return the index of the UV of each polyline corner, offset by ``first``."""
    own = part.line_uvs
    if own is None:
        return np.full(len(part.line_positions), NONE, np.uint32)
    return np.where(own == NONE, own, own + np.uint32(first))


def _renumbered(part: Mesh, table: Array) -> Array:
    """Return the slots of a mesh in the concatenated mesh, -1 for faces without a material.

    ``table`` has the new number of each slot.
    """
    slots = np.zeros(part.face_count, np.int32) if part.material_slots is None else part.material_slots
    has_material = (slots >= 0) & (slots < len(table))
    return np.append(table, np.int32(-1))[np.where(has_material, slots, len(table))]


def _moved_curve(curve: Curve, first: int) -> Curve:
    points = curve.control_points.astype(np.int64) + first
    return Curve(curve.degree, curve.range, control_points=points, knots=curve.knots, rational=curve.rational)


def _numbers_of(column: Any) -> np.dtype[Any]:
    return column.values.dtype if isinstance(column, Lists) else column.dtype


def _exceeds(column: Any, kind: np.dtype[Any]) -> bool:
    """Return whether a column has integers outside the range in which a float type represents all integers."""
    values = column.values if isinstance(column, Lists) else column
    if kind.kind != "f" or values.dtype.kind not in "iu" or not values.size:
        return False
    return max(-int(values.min()), int(values.max())) > 2 ** (int(np.finfo(kind).nmant) + 1)


def _joined_lists(columns: Sequence[Any], counts: Sequence[int], kind: np.dtype[Any]) -> Lists:
    """Concatenate columns as lists. Single numbers are converted to lists with one number."""
    lengths: list[Array] = []
    values: list[Array] = []
    for column, count in zip(columns, counts, strict=True):
        if isinstance(column, Lists):
            lengths.append(np.diff(column.offsets))
            values.append(column.values)
        else:
            width = 0 if column is None else column.size // max(count, 1)
            lengths.append(np.full(count, width))
            values.append(np.empty(0, kind) if column is None else column.reshape(-1))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
    return Lists(offsets.astype(np.uint32), np.concatenate(values, dtype=kind))
