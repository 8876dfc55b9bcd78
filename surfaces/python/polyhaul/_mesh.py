"""Meshes: positions and faces, with UVs and normals per corner, per vertex, per face or by index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _given, _material, _polyhaul
from polyhaul._arrays import NONE, Coordinates, Flags, Floats, Indices, Slots
from polyhaul._check import SurfaceMeasures
from polyhaul._curve import Curve, curve_of, curves_to_plain
from polyhaul._given import Streams, VertexGroups
from polyhaul._material import Material
from polyhaul._mesh_data import NOTHING, element_count, or_empty, or_none, or_zero, plain_of, size_of
from polyhaul._polyhaul import NativeMesh
from polyhaul._table import ColumnLike, Columns, Lists, Plain, plain_columns

if TYPE_CHECKING:
    from polyhaul._report import Report
    from polyhaul._sources import Target

#: The mapping from corners to the values of an attribute. ``"point"`` is an alias of ``"vertex"``.
Domain: TypeAlias = Literal["corner", "vertex", "point", "face", "indexed"]

#: Element counts: positions, UVs, normals, faces, lines, points, curves.
Counts: TypeAlias = tuple[int, int, int, int, int, int, int]


class Mesh(SurfaceMeasures):
    """A mesh: positions, faces, lines, points and curves, with their attributes, as arrays.

    Faces are polygons: face ``i`` has the corners ``face_offsets[i]:face_offsets[i + 1]``, and corner ``j`` has the
    position ``corner_positions[j]``. The arrays of all attributes are read-only, unless the mesh was read with
    ``writable=True``.

    Arrays of matching type and layout (C order; float32; int32 or uint32 for indices; int32 for slots; bool) are not
    copied; others are copied once, by the constructor. The mesh keeps a reference to each array that it does not copy,
    and changing the array changes the mesh. :func:`polyhaul.write` validates such arrays again; they must not change
    while it runs.

    Args:
        positions: (n, 3) or flat (n * 3,) numbers: x, y, z. Stored as float32, and also as float64 if float32 cannot
            represent them exactly.
        corner_positions: (c,) integers: the index of the position of each corner; or, without ``face_offsets``, (f, k)
            integers for faces with ``k`` corners each, or a list of faces of any size. ``None`` for a mesh without
            faces.
        face_offsets: (f + 1,) integers: the first corner of each face, followed by ``c``. Each face has at least 3
            corners.
        normals: (m, 3) numbers, converted to float32; ``normal_domain`` determines ``m``.
        normal_domain: ``"corner"`` (m = c, the default), ``"vertex"`` or ``"point"`` (m = n), ``"face"`` (m = f), or
            ``"indexed"`` (any m, with an index per corner in ``corner_normals``).
        corner_normals: (c,) integers: the index of the normal of each corner, -1 for none. Implies ``"indexed"``.
        uvs: (m, 2) numbers, converted to float32; ``uv_domain`` determines ``m``.
        uv_domain: as ``normal_domain``.
        corner_uvs: (c,) integers: the index of the UV of each corner, -1 for none. Implies ``"indexed"``.
        colors: (n, 3) or (n, 4) numbers, converted to float32: red, green, blue and alpha of each position, from 0 to 1.
            Unsigned integers are divided by the maximum of their type (uint8 by 255, uint16 by 65535). Signed integers
            must be from 0 to 255 and are divided by 255, unless only 0 and 1 occur. OBJ files usually contain sRGB, so
            convert linear colors first. OBJ drops alpha, with a warning.
        material_slots: (f,) integers, converted to int32: the material slot of each face in its object. ``None``
            assigns slot 0 to all faces; -1 means no material. Writing warns about slots that the object does not have.
        smooth: (f,) bools, or a single bool for all faces. ``None`` means not specified.
        sharp_edges: (k, 2) integers: edges, as pairs of positions, that separate smoothing groups.
        vertex_groups: a dict from names to (n,) weights, or a pair of names and (n, g) weights. NaN for positions that
            are not members.
        line_positions: (c,) integers, or (k, m) for lines of ``m`` corners each (loose edges: m = 2).
        line_offsets: (k + 1,) integers, as ``face_offsets``; each line has at least 2 corners.
        points: (p,) integers: indices of positions that are point elements.
        position_weights: (n,) numbers, converted to float32: the weight of each position in rational curves.
        curves: free-form curves. A curve is written after the positions that it uses.
        vertex_columns: a dict of additional data per position: (n,) or (n, k) numbers of any type, or
            :class:`polyhaul.Lists` of numbers, as in PLY files.
        face_columns: additional data per face, (f,) or (f, k).
        materials: the materials of the slots, or their names, and ``None`` for empty slots. Objects without their own
            materials use them.

    Raises:
        ValueError: an array has an invalid shape, index or size. The message includes the argument, its value and the
            expected value.
        TypeError: an array has an invalid type, such as floats for indices.
    """

    __slots__ = ("__weakref__", "_materials", "_native", "_of_file", "_own", "_plain")

    #: The native mesh; ``None`` until it is needed, and after a change.
    _native: NativeMesh | None
    #: The arrays by the field names of the library; ``None`` until they are accessed. At least one of ``_native`` and
    #: ``_plain`` is always set.
    _plain: dict[str, Any] | None
    #: Whether the mesh was read from a file, so that its statements define where materials and groups start.
    _of_file: bool
    #: The materials that its slots, or the statements of a file, refer to.
    _materials: Sequence[Material | None]
    #: The same mesh without statements; ``None`` until it is needed.
    _own: Mesh | None

    def __init__(
        self,
        positions: npt.ArrayLike,
        corner_positions: npt.ArrayLike | None = None,
        face_offsets: npt.ArrayLike | None = None,
        *,
        normals: npt.ArrayLike | None = None,
        normal_domain: Domain | None = None,
        corner_normals: npt.ArrayLike | None = None,
        uvs: npt.ArrayLike | None = None,
        uv_domain: Domain | None = None,
        corner_uvs: npt.ArrayLike | None = None,
        colors: npt.ArrayLike | None = None,
        material_slots: npt.ArrayLike | None = None,
        smooth: npt.ArrayLike | None = None,
        sharp_edges: npt.ArrayLike | None = None,
        vertex_groups: VertexGroups | None = None,
        line_positions: npt.ArrayLike | None = None,
        line_offsets: npt.ArrayLike | None = None,
        points: npt.ArrayLike | None = None,
        position_weights: npt.ArrayLike | None = None,
        curves: Sequence[Curve] = (),
        vertex_columns: Mapping[str, ColumnLike] | None = None,
        face_columns: Mapping[str, ColumnLike] | None = None,
        materials: Iterable[Material | str | None] = (),
    ) -> None:
        given = {
            "positions": positions,
            "corner_positions": corner_positions,
            "face_offsets": face_offsets,
            "normals": normals,
            "normal_domain": normal_domain,
            "corner_normals": corner_normals,
            "uvs": uvs,
            "uv_domain": uv_domain,
            "corner_uvs": corner_uvs,
            "colors": colors,
            "material_slots": material_slots,
            "smooth": smooth,
            "sharp_edges": sharp_edges,
            "vertex_groups": vertex_groups,
            "line_positions": line_positions,
            "line_offsets": line_offsets,
            "points": points,
            "position_weights": position_weights,
            "curves": curves,
            "vertex_columns": vertex_columns,
            "face_columns": face_columns,
        }
        self._of_file, self._own = False, None
        self._materials = _material.slots_of(materials) if materials else ()
        self._native, self._plain = NativeMesh.fitting(given), None
        if self._native is None:
            self._convert(**given)

    @property
    def positions(self) -> Coordinates:
        """(n, 3) float32: x, y, z; float64 if float32 is not exact (see the option ``precision``).

        Settable with the same number of rows.
        """
        exact: Coordinates | None = self._data["exact_positions"]
        singles: Coordinates = self._data["positions"]
        return singles if exact is None else exact

    @positions.setter
    def positions(self, value: npt.ArrayLike) -> None:
        rows, exact = _arrays.positions("positions", value)
        self._check_rows("positions", rows, self.position_count)
        self._set(positions=rows, exact_positions=exact)

    @property
    def corner_positions(self) -> Indices:
        """(c,) uint32: the index of the position of each face corner."""
        return or_empty(self._faces[1])

    @property
    def face_offsets(self) -> Indices:
        """(f + 1,) uint32: the first corner of each face, followed by the number of corners."""
        return or_zero(self._faces[0])

    @property
    def normals(self) -> Floats | None:
        """(m, 3) float32, not necessarily of unit length; ``None`` if the mesh does not have normals.

        Settable with the same number of rows; ``None`` removes them. See :meth:`set_normals`.
        """
        return self._data.get("normals")

    @normals.setter
    def normals(self, value: npt.ArrayLike | None) -> None:
        self._replace("normals", value, 3)

    @property
    def normal_domain(self) -> Literal["corner", "vertex", "face", "indexed"] | None:
        """The element that each row of ``normals`` belongs to; ``None`` if the mesh does not have normals."""
        return self._domain("normals", "normal_domain")

    @property
    def corner_normals(self) -> Indices | None:
        """(c,) uint32: the index of the normal of each corner, :data:`polyhaul.NONE` for none.

        ``None`` if the domain is not ``"indexed"``.
        """
        return self._faces[3]

    def set_normals(
        self,
        normals: npt.ArrayLike | None,
        domain: Domain | None = None,
        corner_normals: npt.ArrayLike | None = None,
    ) -> None:
        """Replace the normals, in any domain. The arguments are the same as for the constructor."""
        self._set_attribute("normals", normals, 3, "normal_domain", domain, "corner_normals", corner_normals)

    @property
    def uvs(self) -> Floats | None:
        """(m, 2) float32; ``None`` if the mesh does not have UVs.

        Settable with the same number of rows; ``None`` removes them. See :meth:`set_uvs`.
        """
        return self._data.get("uvs")

    @uvs.setter
    def uvs(self, value: npt.ArrayLike | None) -> None:
        self._replace("uvs", value, 2)

    @property
    def uv_domain(self) -> Literal["corner", "vertex", "face", "indexed"] | None:
        """The element that each row of ``uvs`` belongs to; ``None`` if the mesh does not have UVs."""
        return self._domain("uvs", "uv_domain")

    @property
    def corner_uvs(self) -> Indices | None:
        """(c,) uint32: the index of the UV of each corner, :data:`polyhaul.NONE` for none.

        ``None`` if the domain is not ``"indexed"``.
        """
        return self._faces[2]

    def set_uvs(
        self,
        uvs: npt.ArrayLike | None,
        domain: Domain | None = None,
        corner_uvs: npt.ArrayLike | None = None,
    ) -> None:
        """Replace the UVs, in any domain. The arguments are the same as for the constructor."""
        self._set_attribute("uvs", uvs, 2, "uv_domain", domain, "corner_uvs", corner_uvs)

    @property
    def uv_depths(self) -> Floats | None:
        """(m,) float32: the third texture coordinate of each UV; ``None`` if the file does not have them."""
        return self._data.get("uv_depths")

    @property
    def colors(self) -> Floats | None:
        """(n, 4) float32: red, green, blue and alpha of each position, NaN where the file does not define a color.

        ``None`` if the mesh does not have colors. Settable: integers are converted as in the constructor.
        """
        return self._data.get("colors")

    @colors.setter
    def colors(self, value: npt.ArrayLike | None) -> None:
        if value is None:
            self._set(colors=None)
            return
        rows = _arrays.colors("colors", value)
        if len(rows) != self.position_count:
            raise ValueError(f"colors has shape {np.shape(value)}; expected {self.position_count} rows")
        self._set(colors=rows)

    @property
    def position_weights(self) -> Floats | None:
        """(n,) float32: the weight of each position in rational curves; ``None`` if not specified."""
        return self._data.get("position_weights")

    @property
    def material_slots(self) -> Slots | None:
        """(f,) int32: the slot of each face in the materials of its object, -1 for none. Settable.

        ``None`` if not specified. For a mesh read from a file with statements (OBJ), the slots are computed from the
        statements on each access, and are indices into ``scene.materials``.
        """
        slots: Slots | None = self._data.get("face_materials")
        return self._expand("material_runs", _FACES, self.face_count) if slots is None and self._of_file else slots

    @material_slots.setter
    def material_slots(self, value: npt.ArrayLike | None) -> None:
        self._check_own("material_slots", value)
        slots = None if value is None else _arrays.slots("material_slots", value, self.face_count)
        self._set(face_materials=slots)

    @property
    def smooth(self) -> Flags | None:
        """(f,) bool: whether each face is shaded smoothly; ``None`` if not specified. Settable."""
        flags = self._data.get("face_smooth")
        if flags is None and self._of_file:
            groups = self._expand("smoothing_runs", _FACES, self.face_count)
            return None if groups is None else groups > 0
        return None if flags is None else flags.view(np.bool_)

    @smooth.setter
    def smooth(self, value: npt.ArrayLike | None) -> None:
        self._check_own("smooth", value)
        flags = None if value is None else _arrays.flags("smooth", value, self.face_count, "face")
        self._set(face_smooth=None if flags is None else flags.view(np.uint8))

    @property
    def materials(self) -> tuple[Material | None, ...]:
        """The materials of the slots, ``None`` for empty slots. Settable.

        For a mesh read from a file, the materials of the file. Objects may override them.
        """
        return tuple(self._materials)

    @materials.setter
    def materials(self, value: Iterable[Material | str | None]) -> None:
        self._check_own("materials", value)
        self._materials = _material.slots_of(value)

    @property
    def sharp_edges(self) -> Indices | None:
        """(k, 2) uint32: edges that separate smoothing groups; ``None`` if not specified."""
        return self._data.get("sharp_edges")

    @property
    def vertex_groups(self) -> dict[str, Floats]:
        """Weights by name: (n,) float32, NaN for positions that are not members."""
        return dict(self._data["vertex_groups"])

    @property
    def vertex_columns(self) -> Columns:
        """Additional data per position, by name.

        Each column is (n,) or (n, k) numbers of any type, or :class:`polyhaul.Lists` if the rows have different
        lengths. ``mesh.vertex_columns["intensity"] = values`` sets one column; assigning a dict sets all columns.
        """
        return self._columns("vertex_columns", "vertex", self.position_count)

    @vertex_columns.setter
    def vertex_columns(self, value: Mapping[str, ColumnLike]) -> None:
        self._set(vertex_columns=plain_columns(value, "vertex", self.position_count))

    @property
    def face_columns(self) -> Columns:
        """Additional data per face, by name: (f,) or (f, k), as for ``vertex_columns``."""
        return self._columns("face_columns", "face", self.face_count)

    @face_columns.setter
    def face_columns(self, value: Mapping[str, ColumnLike]) -> None:
        self._set(face_columns=plain_columns(value, "face", self.face_count))

    @property
    def groups(self) -> tuple[str, ...]:
        """The text of each distinct group statement of the file. It may contain several names, separated by spaces."""
        return tuple(self._data["groups"])

    @property
    def face_groups(self) -> Slots | None:
        """(f,) int32: the index of each face's group in ``groups``, -1 for none.

        ``None`` if the file does not have groups.
        """
        return self._expand("group_runs", _FACES, self.face_count)

    @property
    def curve_groups(self) -> Slots | None:
        """(k,) int32: the index of each curve's group in ``groups``, -1 for none.

        ``None`` if the file does not have groups.
        """
        return self._expand("group_runs", _CURVES, len(self._data["curves"]))

    @property
    def line_positions(self) -> Indices:
        """(c,) uint32: the index of the position of each polyline corner."""
        return or_empty(self._data["lines"][1])

    @property
    def line_offsets(self) -> Indices:
        """(k + 1,) uint32: the first corner of each polyline, followed by the number of corners."""
        return or_zero(self._data["lines"][0])

    @property
    def line_edges(self) -> Indices:
        """(k, 2) uint32: the positions of each segment of the polylines."""
        corners = self.line_positions
        last = np.zeros(len(corners), np.bool_)
        last[self.line_offsets[1:].astype(np.intp) - 1] = True
        first = np.flatnonzero(~last)
        return np.stack([corners[first], corners[first + 1]], axis=1)

    @property
    def line_uvs(self) -> Indices | None:
        """(c,) uint32: the index of the UV of each polyline corner; ``None`` if the file does not have them."""
        uvs: Indices | None = self._data["lines"][2]
        return uvs

    @property
    def points(self) -> Indices:
        """(p,) uint32: indices of positions that are point elements."""
        return or_empty(self._data["points"])

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The free-form curves."""
        return tuple(curve_of(plain) for plain in self._data["curves"])

    @property
    def position_count(self) -> int:
        """The number of positions."""
        return len(self._data["positions"])

    @property
    def face_count(self) -> int:
        """The number of faces."""
        return element_count(self._faces)

    @property
    def corner_count(self) -> int:
        """The total number of corners of all faces."""
        return size_of(self._faces[1])

    @property
    def triangles(self) -> Indices:
        """(t, 3) uint32: the positions of the corners of each triangle.

        If all faces are triangles, this is a view of ``corner_positions``. Otherwise, polygons are triangulated on each
        access: see :meth:`triangulate`.
        """
        corners = self.corner_positions
        are_triangles = len(corners) == 3 * self.face_count
        return (corners if are_triangles else self.triangulate().corner_positions).reshape(-1, 3)

    def select_faces(self, faces: npt.ArrayLike | slice, *, used_only: bool = True) -> Mesh:
        """Return a mesh with a selection of the faces, including their attributes, groups and materials.

        Polylines, points and curves are dropped.

        Args:
            faces: (f,) bools, true for each face to keep; indices of faces, in any order, where negative indices count
                from the end; or a slice.
            used_only: drop positions that the selected faces do not use.

        Returns:
            A new mesh, with indices from 0.

        Raises:
            IndexError: an index is out of range, or the mask has a different length.

        Example:
            >>> import polyhaul
            >>> square = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
            >>> square.select_faces([False, True]).triangles.tolist()
            [[0, 1, 2]]
        """
        from polyhaul._select import select_faces

        return select_faces(self, faces, used_only)

    def replace(self, **changes: Any) -> Mesh:
        """Return a copy with some arrays replaced. All other arrays are shared with this mesh.

        Args:
            changes: arguments of the constructor. Faces of shape (f, k) also replace ``face_offsets``. New normals or
                UVs keep their domain unless a new one is passed. ``None`` removes an attribute.

        Raises:
            ValueError, TypeError: as in the constructor, and if an unchanged array does not match the new ones.

        Example:
            >>> import polyhaul
            >>> triangle = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
            >>> triangle.replace(positions=triangle.positions * 2).positions.max()
            np.float32(2.0)
        """
        from polyhaul._select import replaced

        return replaced(self, changes)

    def write(self, target: Target, **options: Any) -> Report:
        """Write the mesh to a file, like ``polyhaul.write(mesh, target, **options)``. See :func:`polyhaul.write`."""
        from polyhaul._io import write

        return write(self, target, **options)

    def per_corner(self, name: str, *, missing: float = math.nan, threads: int | None = None) -> npt.NDArray[Any] | None:
        """Return the values of an attribute at each corner of the faces, in any domain.

        Args:
            name: ``"uvs"`` (c, 2), ``"normals"`` (c, 3), ``"colors"`` (c, 4), or the name of a vertex or face column,
                (c,) or (c, k).
            missing: the value for corners without a UV or a normal.
            threads: worker threads; ``None`` uses all cores.

        Returns:
            A new, writable array; ``None`` if the mesh does not have the UVs, normals or colors.

        Raises:
            KeyError: the mesh does not have a column of this name.
            TypeError: the column contains lists.
        """
        if name in ("uvs", "normals", "colors"):
            values = _polyhaul.per_corner(self._to_native(), name, missing, threads)
            columns = {"uvs": 2, "normals": 3, "colors": 4}[name]
            return None if values is None else np.frombuffer(values, np.float32).reshape(-1, columns)
        column = self.vertex_columns[name] if name in self.vertex_columns else self.face_columns.get(name)
        if isinstance(column, Lists):
            raise TypeError(f"the column {name!r} has lists")
        if name in self.vertex_columns:
            return np.asarray(column)[self.corner_positions]
        if name in self.face_columns:
            sizes: npt.NDArray[np.int64] = self.face_offsets[1:].astype(np.int64) - self.face_offsets[:-1]
            return np.repeat(np.asarray(self.face_columns[name]), sizes, axis=0)
        raise KeyError(name)

    def equals(self, other: Mesh) -> bool:
        """Return whether another mesh has the same arrays and equal materials.

        Arrays must have the same types and order. NaN equals NaN. The operator ``==`` compares identities.
        """
        pairs = ((self._data, other._data), (self.materials, other.materials))
        return all(_arrays.same(own, theirs) for own, theirs in pairs)

    def weld(self, *, threads: int | None = None) -> Mesh:
        """Return a mesh with a single index per corner, as graphics hardware requires.

        Each distinct combination of the indices of a position, a UV and a normal becomes a vertex; equal positions with
        different indices are not merged. Vertices are in order of first use by a corner, followed by positions that
        faces do not use. Group statements of a file are dropped.
        """
        return self._changed(_polyhaul.mesh_weld(self._without_statements()._to_native(), threads))

    def triangulate(self, *, threads: int | None = None) -> Mesh:
        """Return a mesh that only has triangles, in the order of the faces that they come from.

        Group statements of a file are dropped, as by :meth:`weld` and :meth:`transform`.
        """
        return self._changed(_polyhaul.mesh_triangulate(self._without_statements()._to_native(), threads))

    def transform(self, matrix: npt.ArrayLike, *, threads: int | None = None) -> Mesh:
        """Return a mesh transformed by a matrix of shape (4, 4), (3, 4) or (3, 3).

        The matrix multiplies positions, as column vectors, from the left. Normals stay perpendicular to faces. If the
        matrix mirrors, the corners of faces are reversed. Group statements of a file are dropped.
        """
        moved = _polyhaul.mesh_transform(self._without_statements()._to_native(), _arrays.matrix(matrix), threads)
        return self._changed(moved)

    def has_clean_faces(self, *, threads: int | None = None) -> bool:
        """Return whether all faces have distinct positions, and no two faces have the same positions.

        Blender and other programs drop degenerate and duplicate faces on import. Faces are compared by hash, so a
        collision could report a clean mesh as not clean, though this does not occur in practice.
        """
        return _polyhaul.mesh_is_clean(self._to_native(), threads)

    def _changed(self, native: NativeMesh) -> Mesh:
        """Return a mesh that native code derived from this one."""
        mesh = mesh_from_native(native, self._without_statements()._materials)
        mesh._of_file = False
        return mesh

    def _section(self, start: Counts, end: Counts, used_only: bool) -> Mesh:
        """Return a section of a file as a separate mesh."""
        native = _polyhaul.mesh_section(self._to_native(), start, end, used_only)
        return mesh_from_native(native, self._materials)._without_statements() if self._of_file else self._changed(native)

    def _repr_png_(self) -> bytes | None:
        """Return a PNG preview for notebooks, with less detail for large meshes; ``None`` if the mesh is too large."""
        from polyhaul._preview import png

        return png(self)

    def __repr__(self) -> str:
        parts = [f"{self.position_count} positions", f"{self.face_count} faces", f"{self.corner_count} corners"]
        for name, domain in (("uvs", self.uv_domain), ("normals", self.normal_domain)):
            if domain is not None:
                parts.append(f"{name} {_HOW[domain]}")
        parts += [f"{count} {name}" for name, count in self._extras() if count]
        return f"<polyhaul.Mesh: {', '.join(parts)}>"

    def _extras(self) -> list[tuple[str, int]]:
        lines, points, curves = self._counts[4:]
        counts = [("lines", lines), ("points", points), ("curves", curves)]
        counts += [("vertex columns", len(self._data["vertex_columns"])), ("face columns", len(self._data["face_columns"]))]
        return [*counts, ("vertex groups", len(self._data["vertex_groups"])), ("colors", size_of(self._data["colors"]))]

    def _without_statements(self) -> Mesh:
        """Return the mesh with per-face arrays instead of statements; ``self`` if it was not read from a file."""
        if not self._of_file:
            return self
        if self._own is None:
            copy = Mesh.__new__(Mesh)
            copy._of_file, copy._materials, copy._own, copy._native = False, (), None, None
            runs = ("material_runs", "group_runs", "smoothing_runs")
            copy._plain = self._data | dict.fromkeys(runs) | {"groups": ()}
            slots = self.material_slots
            copy.material_slots, copy.smooth = slots, self.smooth
            copy._materials = () if slots is None else self._materials
            self._own = copy
        return self._own

    def _with_materials(self, materials: Sequence[Material | None] | None) -> Mesh:
        """Return a mesh with the same arrays and these slot materials.

        Return ``self`` if ``materials`` is ``None`` or the same.
        """
        if materials is None or tuple(materials) == tuple(self._materials):
            return self
        mesh = Mesh.__new__(Mesh)
        mesh._native, mesh._plain = self._native, None if self._plain is None else self._plain.copy()
        mesh._of_file, mesh._materials, mesh._own = self._of_file, materials, None
        return mesh

    def _slot_materials(self) -> list[Material | None] | None:
        """Return the materials for an object of the mesh, with ``None`` for unused ones.

        Return ``None`` if the mesh does not have materials.
        """
        if not self._materials:
            return None
        slots = self.material_slots
        count = len(self._materials)
        uses = [1] if slots is None else np.bincount(slots[(slots >= 0) & (slots < count)], minlength=count)
        return [material if uses[at : at + 1] else None for at, material in enumerate(self._materials)]

    def _convert(
        self, *, positions: Any, line_positions: Any, line_offsets: Any, points: Any, sharp_edges: Any, **given: Any
    ) -> None:
        """Convert and store constructor arguments that cannot be used as they are."""
        self._plain = NOTHING.copy()
        rows, exact = _arrays.positions("positions", positions)
        self._set(positions=rows, exact_positions=exact)
        faces = _given.elements("face", given["corner_positions"], given["face_offsets"], len(rows), 3)
        self._set(faces=faces, lines=_given.elements("line", line_positions, line_offsets, len(rows), 2))
        if points is not None:
            self._set(points=or_none(_arrays.indices("points", points, len(rows)).reshape(-1)))
        self.set_normals(given["normals"], given["normal_domain"], given["corner_normals"])
        self.set_uvs(given["uvs"], given["uv_domain"], given["corner_uvs"])
        for name in ("colors", "material_slots", "smooth"):
            if given[name] is not None:
                setattr(self, name, given[name])
        if sharp_edges is not None:
            self._set(sharp_edges=or_none(_given.pairs("sharp_edges", sharp_edges, len(rows))))
        if given["vertex_groups"] is not None:
            self._set(vertex_groups=_given.vertex_groups(given["vertex_groups"], len(rows)))
        if given["position_weights"] is not None:
            weights = _arrays.values("position_weights", given["position_weights"], len(rows), "position")
            self._set(position_weights=or_none(weights))
        self._set(curves=curves_to_plain(given["curves"], len(rows)))
        for name in ("vertex_columns", "face_columns"):
            if given[name] is not None:
                setattr(self, name, given[name])

    @property
    def _data(self) -> dict[str, Any]:
        """All fields of the mesh, by the field names of the library. Only ``_set`` changes them."""
        if self._plain is None:
            self._plain = plain_of(self._to_native())
        return self._plain

    def _set(self, **fields: Any) -> None:
        self._data.update(fields)
        self._native, self._own = None, None

    def _to_native(self) -> NativeMesh:
        """Return the native mesh."""
        if self._native is None:
            self._native = NativeMesh(self._data)
        return self._native

    def __getstate__(self) -> tuple[Any, ...]:
        return self._data, self._of_file, self._materials, self._own

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        plain, self._of_file, self._materials, self._own = state
        self._native, self._plain = None, dict(plain)  # a shallow copy shares the arrays, but changes independently

    @property
    def _faces(self) -> Streams:
        faces: Streams = self._data["faces"]
        return faces

    @property
    def _counts(self) -> Counts:
        """The number of elements of each kind, in the order of the library."""
        return self._to_native().counts

    def _columns(self, field: str, what: str, count: int) -> Columns:
        def change(columns: list[Plain]) -> None:
            self._set(**{field: columns})

        return Columns(self._data[field], what, count, change)

    def _domain(self, name: str, key: str) -> Any:
        return None if self._data[name] is None else self._data[key]

    def _expand(self, name: str, kind: int, count: int) -> Slots | None:
        """Return the value of each element of a kind.

        Each run of a file applies from its first element up to the next run.
        """
        runs: Indices | None = self._data[name]
        if runs is None:
            return None
        starts = np.append(runs[:, kind], np.uint32(count)).astype(np.int64)
        before = np.full(starts[0], -1, np.int32)
        return np.concatenate([before, np.repeat(runs[:, _VALUE].astype(np.int32), np.diff(starts))])

    def _check_rows(self, name: str, rows: npt.NDArray[Any], count: int) -> None:
        if len(rows) != count:
            raise ValueError(f"{name} has shape {rows.shape}; expected {count} rows")

    def _check_own(self, name: str, value: Any) -> None:
        if self._of_file and value is not None:
            instead = f"use mesh.replace({name}=...), which returns a new mesh"
            raise ValueError(f"cannot set {name} of a mesh that was read: it is computed from the file's statements; {instead}")

    def _replace(self, name: str, value: npt.ArrayLike | None, columns: int) -> None:
        """Replace the values of existing rows; ``None`` removes the attribute."""
        if value is None:
            self._clear(name)
            return
        before = self._data[name]
        if before is None:
            raise ValueError(f"the mesh has no {name}; use set_{name}() to add them with a domain")
        rows = _arrays.floats(name, value, columns)
        self._check_rows(name, rows, len(before))
        self._set(**{name: rows})

    def _clear(self, name: str) -> None:
        if self._data[name] is None:
            return
        if self._of_file:
            raise ValueError(f"cannot remove {name} of a mesh that was read: its objects are sections of them; {_INSTEAD[name]}")
        domain_name = "uv_domain" if name == "uvs" else "normal_domain"
        self._set(**{name: None, domain_name: "indexed", **self._streams_with(name, None)})

    def _set_attribute(
        self,
        name: str,
        value: npt.ArrayLike | None,
        columns: int,
        domain_name: str,
        domain: Domain | None,
        stream_name: str,
        stream: npt.ArrayLike | None,
    ) -> None:
        if value is None:
            if domain is not None or stream is not None:
                raise ValueError(f"{domain_name} and {stream_name} need {name}")
            self._clear(name)
            return
        if self._of_file:
            raise ValueError(f"cannot replace {name} of a mesh that was read: its objects are sections of them; use mesh.replace()")
        rows = _arrays.floats(name, value, columns)
        chosen = _given.chosen_domain(domain_name, domain, stream_name, stream)
        counts = {"corner": self.corner_count, "vertex": self.position_count, "face": self.face_count}
        if len(rows) != counts.get(chosen, len(rows)):
            expected = f"{counts[chosen]} rows, one per {chosen} ({domain_name}={chosen!r})"
            raise ValueError(f"{name} has shape {rows.shape}; expected {expected}")
        indices = None
        if stream is not None:
            indices = _arrays.indices(stream_name, stream, len(rows), none=True).reshape(-1)
            if len(indices) != self.corner_count:
                expected = f"{self.corner_count}, one per corner"
                raise ValueError(f"{stream_name} has {len(indices)} values; expected {expected}")
        stored = chosen if rows.size else "indexed"
        self._set(**{name: or_none(rows), domain_name: stored, **self._streams_with(name, indices)})

    def _streams_with(self, name: str, indices: Indices | None) -> dict[str, Any]:
        """Return fields with new face indices of UVs or normals, and without other references to the old rows."""
        offsets, positions, uvs, normals = self._faces
        at, ends, line_uvs, line_normals = self._data["lines"]
        if name == "uvs":
            faces = (offsets, positions, indices, normals)
            return {"faces": faces, "lines": (at, ends, None, line_normals), "uv_depths": None}
        return {"faces": (offsets, positions, uvs, indices), "lines": (at, ends, line_uvs, None)}


_INSTEAD = {"uvs": "write it with export_uv=False", "normals": "write it with export_normals=False"}

#: The columns of a run: seven element counts, then the value.
_FACES, _CURVES, _VALUE = 3, 6, 7

_HOW = {"corner": "per corner", "vertex": "per vertex", "face": "per face", "indexed": "by index"}


def mesh_from_native(native: NativeMesh, materials: Sequence[Material | None]) -> Mesh:
    """Return the mesh that native code read, with the materials of its scene."""
    mesh = Mesh.__new__(Mesh)
    mesh._native, mesh._plain = native, None
    mesh._of_file, mesh._materials, mesh._own = True, materials, None
    return mesh


__all__ = ["NONE", "Curve", "Domain", "Mesh"]
