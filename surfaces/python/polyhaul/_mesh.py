"""Meshes: positions, faces, and uvs and normals per corner, per vertex, per face or by an index."""

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

#: How a corner finds its value of an attribute. ``"point"`` is another name for ``"vertex"``.
Domain: TypeAlias = Literal["corner", "vertex", "point", "face", "indexed"]

#: Seven numbers: positions, uvs, normals, faces, lines, points, curves.
Counts: TypeAlias = tuple[int, int, int, int, int, int, int]


class Mesh(SurfaceMeasures):
    """The arrays of a mesh.

    Faces are polygons: face ``i`` has the corners ``face_offsets[i]:face_offsets[i + 1]``, and corner ``j`` is
    at the position ``corner_positions[j]``. All arrays that the attributes give are read-only.

    Arrays whose type and layout fit (C order; float32; int32 or uint32 for indices; int32 for slots; bool) are used
    without a copy; others are copied once, here. An array used without a copy is kept alive by the mesh, and changing
    it changes the mesh; :func:`polyhaul.write` validates it again. It must not change while that runs.

    Args:
        positions: (n, 3) or flat (n * 3,) numbers: x, y, z. They are kept as float64 if they are not float32 values.
        corner_positions: (c,) integers, per corner the index of its position; or (f, k) for faces of ``k``
            corners each, or a list of faces of any size, which need no ``face_offsets``. ``None`` for a mesh without faces.
        face_offsets: (f + 1,) integers: the first corner of each face, followed by ``c``. Each face has
            at least 3 corners.
        normals: (m, 3) numbers, converted to float32; ``normal_domain`` determines ``m``.
        normal_domain: ``"corner"`` (m = c, the default), ``"vertex"`` or ``"point"`` (m = n), ``"face"`` (m = f), or
            ``"indexed"``: any m, with the index of each corner in ``corner_normals``.
        corner_normals: (c,) integers, per corner the index of its normal, -1 for none. Implies ``"indexed"``.
        uvs: (m, 2) numbers, converted to float32; ``uv_domain`` determines ``m``.
        uv_domain: as ``normal_domain``.
        corner_uvs: (c,) integers, per corner the index of its uv, -1 for none. Implies ``"indexed"``.
        colors: (n, 3) or (n, 4) numbers, converted to float32: red, green, blue and alpha of each position, from 0 to 1.
            Unsigned integers are divided by the maximum of their type (uint8 by 255, uint16 by 65535); signed ones
            are from 0 to 255 and divided by 255, unless only 0 and 1 occur. OBJ files usually contain sRGB, so convert
            linear colors first; OBJ drops alpha, with a warning.
        material_slots: (f,) integers, converted to int32: the material slot of each face in its object. Without them
            all faces have slot 0; -1 means no material. Writing warns about slots that the object does not have.
        smooth: (f,) bools, or one for all faces. ``None``: not specified.
        sharp_edges: (k, 2) integers: edges as pairs of positions. They separate smoothing groups.
        vertex_groups: a dict from names to (n,) weights, or a pair of names and (n, g) weights. NaN where a
            position is not a member.
        line_positions: (c,) integers, or (k, m) for lines of ``m`` corners each (loose edges: m = 2).
        line_offsets: (k + 1,) integers, as ``face_offsets``; each line has at least 2 corners.
        points: (p,) integers: indices of positions that are point elements.
        position_weights: (n,) numbers, converted to float32: the weight of each position in rational curves.
        curves: free-form curves. A curve is written after the positions that it uses.
        vertex_columns: a dict of other data per position: (n,) or (n, k) numbers of any type, or
            :class:`polyhaul.Lists` of them, as in PLY files.
        face_columns: the same per face, (f,) or (f, k).
        materials: the materials of its slots, or their names, ``None`` for an empty slot: for objects that do not have
            materials of their own.

    Raises:
        ValueError: an array has an invalid shape, index or size. The message names the argument, the value and
            what was expected.
        TypeError: an array has an invalid type, such as floats for indices.
    """

    __slots__ = ("__weakref__", "_materials", "_native", "_of_file", "_own", "_plain")

    #: The mesh as native code has it; ``None`` until it is needed, and after a change.
    _native: NativeMesh | None
    #: Its arrays by the names of the library's fields; ``None`` until somebody asks. One of the two is there.
    _plain: dict[str, Any] | None
    #: Whether it was read, so that its statements say where materials and groups begin.
    _of_file: bool
    #: The materials that its slots, or the statements of a file, count in.
    _materials: Sequence[Material | None]
    #: The same mesh without statements, where it was needed.
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
        """(n, 3) float32: x, y, z; float64 if they need it (see the option ``precision``). Settable with the same number
        of rows."""
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
        """(c,) uint32: per corner of a face the index of its position."""
        return or_empty(self._faces[1])

    @property
    def face_offsets(self) -> Indices:
        """(f + 1,) uint32: the first corner of each face, followed by the number of corners."""
        return or_zero(self._faces[0])

    @property
    def normals(self) -> Floats | None:
        """(m, 3) float32, not necessarily of unit length; ``None`` if there are none.

        Settable with the same number of rows; ``None`` removes them. See :meth:`set_normals`.
        """
        return self._data.get("normals")

    @normals.setter
    def normals(self, value: npt.ArrayLike | None) -> None:
        self._replace("normals", value, 3)

    @property
    def normal_domain(self) -> Literal["corner", "vertex", "face", "indexed"] | None:
        """What a row of ``normals`` belongs to; ``None`` if there are none."""
        return self._domain("normals", "normal_domain")

    @property
    def corner_normals(self) -> Indices | None:
        """(c,) uint32: per corner the index of its normal, :data:`polyhaul.NONE` for none. ``None`` if the domain
        is not ``"indexed"``."""
        return self._faces[3]

    def set_normals(
        self,
        normals: npt.ArrayLike | None,
        domain: Domain | None = None,
        corner_normals: npt.ArrayLike | None = None,
    ) -> None:
        """Replaces the normals, in any domain. The arguments are those of the class."""
        self._set_attribute("normals", normals, 3, "normal_domain", domain, "corner_normals", corner_normals)

    @property
    def uvs(self) -> Floats | None:
        """(m, 2) float32; ``None`` if there are none.

        Settable with the same number of rows; ``None`` removes them. See :meth:`set_uvs`.
        """
        return self._data.get("uvs")

    @uvs.setter
    def uvs(self, value: npt.ArrayLike | None) -> None:
        self._replace("uvs", value, 2)

    @property
    def uv_domain(self) -> Literal["corner", "vertex", "face", "indexed"] | None:
        """What a row of ``uvs`` belongs to; ``None`` if there are none."""
        return self._domain("uvs", "uv_domain")

    @property
    def corner_uvs(self) -> Indices | None:
        """(c,) uint32: per corner the index of its uv, :data:`polyhaul.NONE` for none. ``None`` if the domain is
        not ``"indexed"``."""
        return self._faces[2]

    def set_uvs(
        self,
        uvs: npt.ArrayLike | None,
        domain: Domain | None = None,
        corner_uvs: npt.ArrayLike | None = None,
    ) -> None:
        """Replaces the uvs, in any domain. The arguments are those of the class."""
        self._set_attribute("uvs", uvs, 2, "uv_domain", domain, "corner_uvs", corner_uvs)

    @property
    def uv_depths(self) -> Floats | None:
        """(m,) float32: the third texture coordinate of each uv, if the file has them."""
        return self._data.get("uv_depths")

    @property
    def colors(self) -> Floats | None:
        """(n, 4) float32: red, green, blue, alpha of each position; NaN where a file has none. Settable: integers are
        divided by the maximum of their type, as in the constructor."""
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
        """(n,) float32: the weights of positions in rational curves, if there are any."""
        return self._data.get("position_weights")

    @property
    def material_slots(self) -> Slots | None:
        """(f,) int32: per face the slot of its object's materials, -1 for none. Settable.

        For a mesh of a file with statements (OBJ) they are computed from these on each access, and are indices into
        ``scene.materials``.
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
        """(f,) bool: whether a face is shaded smoothly; ``None`` if not specified. Settable."""
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
        """The materials of its slots, ``None`` for an empty slot; for a mesh that was read, those of its file. Objects may
        override them. Settable."""
        return tuple(self._materials)

    @materials.setter
    def materials(self, value: Iterable[Material | str | None]) -> None:
        self._check_own("materials", value)
        self._materials = _material.slots_of(value)

    @property
    def sharp_edges(self) -> Indices | None:
        """(k, 2) uint32: edges that separate smoothing groups."""
        return self._data.get("sharp_edges")

    @property
    def vertex_groups(self) -> dict[str, Floats]:
        """Weights by name: (n,) float32, NaN where a position is not a member."""
        return dict(self._data["vertex_groups"])

    @property
    def vertex_columns(self) -> Columns:
        """Other data per position, by name: (n,) numbers of any type, (n, k) if each position has ``k`` of them, or else
        :class:`polyhaul.Lists`.

        ``mesh.vertex_columns["intensity"] = values`` sets one, and a dict sets all of them.
        """
        return self._columns("vertex_columns", "vertex", self.position_count)

    @vertex_columns.setter
    def vertex_columns(self, value: Mapping[str, ColumnLike]) -> None:
        self._set(vertex_columns=plain_columns(value, "vertex", self.position_count))

    @property
    def face_columns(self) -> Columns:
        """Other data per face, by name: as ``vertex_columns``, (f,) or (f, k)."""
        return self._columns("face_columns", "face", self.face_count)

    @face_columns.setter
    def face_columns(self, value: Mapping[str, ColumnLike]) -> None:
        self._set(face_columns=plain_columns(value, "face", self.face_count))

    @property
    def groups(self) -> tuple[str, ...]:
        """The text of each distinct group statement of a file; one may have several names, separated by spaces."""
        return tuple(self._data["groups"])

    @property
    def face_groups(self) -> Slots | None:
        """(f,) int32: per face the index of its group in ``groups``, -1 for none; ``None`` if the file has no groups."""
        return self._expand("group_runs", _FACES, self.face_count)

    @property
    def curve_groups(self) -> Slots | None:
        """(k,) int32: the index of each curve's group in ``groups``, -1 for none; ``None`` if the file has no groups."""
        return self._expand("group_runs", _CURVES, len(self._data["curves"]))

    @property
    def line_positions(self) -> Indices:
        """(c,) uint32: per corner of a polyline the index of its position."""
        return or_empty(self._data["lines"][1])

    @property
    def line_offsets(self) -> Indices:
        """(k + 1,) uint32: the first corner of each polyline, followed by the number of corners."""
        return or_zero(self._data["lines"][0])

    @property
    def line_edges(self) -> Indices:
        """(k, 2) uint32: the positions of each straight piece of the polylines."""
        corners = self.line_positions
        last = np.zeros(len(corners), np.bool_)
        last[self.line_offsets[1:].astype(np.intp) - 1] = True
        first = np.flatnonzero(~last)
        return np.stack([corners[first], corners[first + 1]], axis=1)

    @property
    def line_uvs(self) -> Indices | None:
        """(c,) uint32: per corner of a polyline the index of its uv, if the file has them."""
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
        """The number of corners of all faces."""
        return size_of(self._faces[1])

    @property
    def triangles(self) -> Indices:
        """(t, 3) uint32: the positions of the corners of triangles. If all faces are triangles, it is a view of
        ``corner_positions``; polygons are cut as by :meth:`triangulate`, on each access."""
        corners = self.corner_positions
        are_triangles = len(corners) == 3 * self.face_count
        return (corners if are_triangles else self.triangulate().corner_positions).reshape(-1, 3)

    def select_faces(self, faces: npt.ArrayLike | slice, *, used_only: bool = True) -> Mesh:
        """A mesh of some of the faces, with all their attributes, groups and materials. Polylines, points and curves are
        left out.

        Args:
            faces: (f,) bools, true for each face to keep; indices of faces, in any order, negative ones from the end; or
                a slice.
            used_only: leave out positions that no selected face uses.

        Returns:
            A new mesh; indices count from 0.

        Raises:
            IndexError: a face does not exist, or the mask has a different length.

        Example:
            >>> import polyhaul
            >>> square = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
            >>> square.select_faces([False, True]).triangles.tolist()
            [[0, 1, 2]]
        """
        from polyhaul._select import select_faces

        return select_faces(self, faces, used_only)

    def replace(self, **changes: Any) -> Mesh:
        """A copy with some arrays replaced; the others are shared with this mesh.

        Args:
            changes: arguments of the constructor. Faces of shape (f, k) also replace ``face_offsets``, and new normals or
                uvs keep their domain unless another one is given. ``None`` removes an attribute.

        Raises:
            ValueError, TypeError: as in the constructor, also if an array that is kept does not fit the new ones.

        Example:
            >>> import polyhaul
            >>> triangle = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
            >>> triangle.replace(positions=triangle.positions * 2).positions.max()
            np.float32(2.0)
        """
        from polyhaul._select import replaced

        return replaced(self, changes)

    def write(self, target: Target, **options: Any) -> Report:
        """Writes the mesh: the same as ``polyhaul.write(mesh, target, **options)``. See :func:`polyhaul.write`."""
        from polyhaul._io import write

        return write(self, target, **options)

    def per_corner(self, name: str, *, missing: float = math.nan, threads: int | None = None) -> npt.NDArray[Any] | None:
        """The values of an attribute at every corner of the faces, whatever its domain: ``None`` if there are none.

        Args:
            name: ``"uvs"`` (c, 2), ``"normals"`` (c, 3), ``"colors"`` (c, 4), or the name of a column per vertex or per
                face, (c,) or (c, k).
            missing: the value for corners without a uv or a normal.
            threads: worker threads; ``None`` for all cores.

        Returns:
            A new array, which may be changed.

        Raises:
            KeyError: the mesh has no column of this name.
            TypeError: the column has lists.
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
            return np.repeat(np.asarray(self.face_columns[name]), sizes)
        raise KeyError(name)

    def equals(self, other: Mesh) -> bool:
        """Whether another mesh has the same arrays, of the same types and in the same order, and equal materials. NaN equals
        NaN. ``==`` compares identities."""
        pairs = ((self._data, other._data), (self.materials, other.materials))
        return all(_arrays.same(own, theirs) for own, theirs in pairs)

    def weld(self, *, threads: int | None = None) -> Mesh:
        """A mesh with one index per corner, as graphics hardware needs it: uvs and normals are per vertex, and a position
        is repeated for each different pair of them. Vertices are in the order of the corners that use them first,
        followed by positions that no face uses."""
        return self._changed(_polyhaul.mesh_weld(self._without_statements()._to_native(), threads))

    def triangulate(self, *, threads: int | None = None) -> Mesh:
        """A mesh with triangles only, in the order of the faces that they come from. Groups of a file are left out, as by
        :meth:`weld` and :meth:`transform`."""
        return self._changed(_polyhaul.mesh_triangulate(self._without_statements()._to_native(), threads))

    def transform(self, matrix: npt.ArrayLike, *, threads: int | None = None) -> Mesh:
        """A mesh moved by a matrix, (4, 4) numbers, or (3, 4) or (3, 3): positions are multiplied from the left, and
        normals stay perpendicular to faces. A matrix that mirrors also reverses the corners of faces."""
        moved = _polyhaul.mesh_transform(self._without_statements()._to_native(), _arrays.matrix(matrix), threads)
        return self._changed(moved)

    def has_clean_faces(self, *, threads: int | None = None) -> bool:
        """Whether no face has a position twice, and no two faces have the same positions. If not, Blender and other
        programs drop faces. Faces are compared by hashes: a clean mesh may be reported as unclean, though in
        practice it is not."""
        return _polyhaul.mesh_is_clean(self._to_native(), threads)

    def _changed(self, native: NativeMesh) -> Mesh:
        """A mesh that native code made of this one."""
        mesh = mesh_from_native(native, self._without_statements()._materials)
        mesh._of_file = False
        return mesh

    def _section(self, start: Counts, end: Counts, used_only: bool) -> Mesh:
        """A section of a file as a mesh of its own."""
        native = _polyhaul.mesh_section(self._to_native(), start, end, used_only)
        return mesh_from_native(native, self._materials)._without_statements() if self._of_file else self._changed(native)

    def _repr_png_(self) -> bytes | None:
        """A PNG preview for notebooks, coarser for large ones; ``None`` if it is far too large."""
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
        """A mesh of the same arrays that says by face what a file says by statements; itself where it was not read."""
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
        """The same arrays with these materials of its slots, if there are any."""
        if materials is None or tuple(materials) == tuple(self._materials):
            return self
        mesh = Mesh.__new__(Mesh)
        mesh._native, mesh._plain = self._native, None if self._plain is None else self._plain.copy()
        mesh._of_file, mesh._materials, mesh._own = self._of_file, materials, None
        return mesh

    def _slot_materials(self) -> list[Material | None] | None:
        """The materials for an object that shows it, without those that no face uses; ``None`` if there are none."""
        if not self._materials:
            return None
        slots = self.material_slots
        count = len(self._materials)
        uses = [1] if slots is None else np.bincount(slots[(slots >= 0) & (slots < count)], minlength=count)
        return [material if uses[at : at + 1] else None for at, material in enumerate(self._materials)]

    def _convert(
        self, *, positions: Any, line_positions: Any, line_offsets: Any, points: Any, sharp_edges: Any, **given: Any
    ) -> None:
        """Takes the arguments of the class that are not taken as they are."""
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
        """All that it has, by the names of the library's fields; changed by ``_set`` alone."""
        if self._plain is None:
            self._plain = plain_of(self._to_native())
        return self._plain

    def _set(self, **fields: Any) -> None:
        self._data.update(fields)
        self._native, self._own = None, None

    def _to_native(self) -> NativeMesh:
        """The mesh as native code takes it."""
        if self._native is None:
            self._native = NativeMesh(self._data)
        return self._native

    def __getstate__(self) -> tuple[Any, ...]:
        return self._data, self._of_file, self._materials, self._own

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        plain, self._of_file, self._materials, self._own = state
        self._native, self._plain = None, dict(plain)  # a shallow copy shares its arrays, and changes by itself

    @property
    def _faces(self) -> Streams:
        faces: Streams = self._data["faces"]
        return faces

    @property
    def _counts(self) -> Counts:
        """How many elements of each kind, in the order of the library."""
        return self._to_native().counts

    def _columns(self, field: str, what: str, count: int) -> Columns:
        def change(columns: list[Plain]) -> None:
            self._set(**{field: columns})

        return Columns(self._data[field], what, count, change)

    def _domain(self, name: str, key: str) -> Any:
        return None if self._data[name] is None else self._data[key]

    def _expand(self, name: str, kind: int, count: int) -> Slots | None:
        """The value of each element of a kind, from the runs of a file: each holds from its element on."""
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
            instead = f"use mesh.replace({name}=...), which makes a new mesh"
            raise ValueError(f"cannot set {name} of a mesh that was read: it is computed from the file's statements; {instead}")

    def _replace(self, name: str, value: npt.ArrayLike | None, columns: int) -> None:
        """Other values for rows that are there; ``None`` for no rows."""
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
        self._set(**{name: None, domain_name: "indexed", "faces": self._faces_with(name, None)})

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
        self._set(**{name: or_none(rows), domain_name: stored, "faces": self._faces_with(name, indices)})

    def _faces_with(self, name: str, indices: Indices | None) -> Streams:
        """The faces with these indices of uvs or normals."""
        offsets, positions, uvs, normals = self._faces
        return (offsets, positions, indices, normals) if name == "uvs" else (offsets, positions, uvs, indices)


_INSTEAD = {"uvs": "write it with export_uv=False", "normals": "write it with export_normals=False"}

#: The columns of a run: the counts of seven kinds, then the value.
_FACES, _CURVES, _VALUE = 3, 6, 7

_HOW = {"corner": "per corner", "vertex": "per vertex", "face": "per face", "indexed": "by index"}


def mesh_from_native(native: NativeMesh, materials: Sequence[Material | None]) -> Mesh:
    """The mesh that native code read, of a scene with these materials."""
    mesh = Mesh.__new__(Mesh)
    mesh._native, mesh._plain = native, None
    mesh._of_file, mesh._materials, mesh._own = True, materials, None
    return mesh


__all__ = ["NONE", "Curve", "Domain", "Mesh"]
