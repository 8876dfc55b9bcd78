"""Scenes: meshes, objects and materials."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, MutableSequence, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from polyhaul import _options
from polyhaul._arrays import Doubles, Flags
from polyhaul._material import Material, material_from_plain, material_to_plain, slots_of
from polyhaul._mesh import Counts, Mesh, mesh_from_native
from polyhaul._option_types import AxisName
from polyhaul._parts import FACES, NOTHING, Cut, Part, made_ahead
from polyhaul._render import Render
from polyhaul._report import Report
from polyhaul._table import Table, table_from_plain

if TYPE_CHECKING:
    from polyhaul._sources import Target

T = TypeVar("T")


class Items(Sequence[T], Generic[T]):
    """The items of a scene, in order. Accessible by index, by slice, and by name if they have names."""

    __slots__ = ("_items",)

    def __init__(self, items: list[T]) -> None:
        self._items = items

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | list[T]:
        if not isinstance(key, str):
            return self._items[key]
        for item in self._items:
            if getattr(item, "name", None) == key:
                return item
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __contains__(self, value: object) -> bool:
        return any(item is value or getattr(item, "name", None) == value for item in self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Object:
    """A named mesh in a scene, or a named section of a mesh.

    Created by :meth:`Scene.add`, by reading, or directly for ``scene.objects.append``.

    Args:
        name: the name.
        mesh: the mesh of the object.
        transform: (4, 4) numbers: a matrix that multiplies column vectors from the left, as rows; ``None`` for no
            transform.
        materials: the materials of the slots: materials, names, or ``None`` for empty slots. If the argument itself is
            ``None``, the object uses the materials of the mesh.
    """

    __slots__ = ("__weakref__", "_end", "_materials", "_mesh", "_start", "_transform", "kind", "mesh_name", "name")

    #: The name; empty for elements before the first ``o`` or ``g`` of a file.
    name: str
    #: The name of the mesh; empty if the mesh does not have one.
    mesh_name: str
    #: How the file declares the object: by ``o``, by ``g``, or not at all.
    kind: Literal["object", "group", "unnamed"]

    def __init__(
        self,
        name: str,
        mesh: Mesh,
        *,
        transform: npt.ArrayLike | None = None,
        materials: Iterable[Material | str | None] | None = None,
    ) -> None:
        self.name = name
        self.mesh_name = ""
        self._mesh = mesh if isinstance(mesh, Mesh) else _checked_mesh(mesh)
        self.kind = "object"
        self._transform: Doubles | None = None if transform is None else _matrix(transform)
        self._materials: tuple[Material | None, ...] | None = None if materials is None else slots_of(materials)
        self._start: Counts | None = None
        self._end: Counts | None = None

    @property
    def mesh(self) -> Mesh:
        """The mesh of the object. Objects of a file are sections of one mesh.

        Settable; the object then uses the whole new mesh.
        """
        return self._mesh

    @mesh.setter
    def mesh(self, value: Mesh) -> None:
        self._mesh = _checked_mesh(value)
        self._start, self._end = None, None

    @property
    def transform(self) -> Doubles | None:
        """(4, 4) float64: a matrix that multiplies column vectors from the left; ``None`` for none. Settable."""
        return self._transform

    @transform.setter
    def transform(self, value: npt.ArrayLike | None) -> None:
        self._transform = None if value is None else _matrix(value)

    @property
    def materials(self) -> tuple[Material | None, ...] | None:
        """The materials of the slots, ``None`` for empty slots. Settable.

        ``None`` if the object uses the materials of its mesh. The slots of objects read from OBJ files are indices into
        ``scene.materials``.
        """
        return self._materials

    @materials.setter
    def materials(self, value: Iterable[Material | str | None] | None) -> None:
        self._materials = None if value is None else slots_of(value)

    @property
    def positions(self) -> range:
        """The range of the object's positions in the mesh."""
        return self._section(0)

    @property
    def faces(self) -> range:
        """The range of the object's faces in the mesh."""
        return self._section(3)

    @property
    def lines(self) -> range:
        """The range of the object's polylines in the mesh."""
        return self._section(4)

    def to_mesh(self, *, used_only: bool = False) -> Mesh:
        """Return the object as a separate mesh.

        The mesh has the positions, UVs and normals of the object's section, indices from 0, the object's materials, and
        material slots and smooth flags instead of statements. The transform is not applied (see
        :meth:`polyhaul.Mesh.transform`).

        Args:
            used_only: drop positions that no face, line, point or curve of the object uses, and order the others as in
                the file. Otherwise, all positions of the object's own section come first.
        """
        mesh = self.mesh if used_only or self._start is not None else self.mesh._without_statements()
        start, end = self._start or (0,) * 7, self._end or mesh._counts
        mesh = mesh._section(start, end, used_only) if used_only or self._start is not None else mesh
        return mesh._with_materials(self._materials)

    def __repr__(self) -> str:
        return f"<polyhaul.Object {self.name!r}: {len(self.positions)} positions, {len(self.faces)} faces>"

    def _section(self, kind: int) -> range:
        if self._start is None or self._end is None:
            return range(self.mesh._counts[kind])
        return range(self._start[kind], self._end[kind])

    def _shown(self, is_apart: bool = False) -> tuple[Mesh, Sequence[Material | None] | None]:
        """Return the mesh to write, and the materials of its slots, which may be the materials of the mesh.

        If ``is_apart`` is set, a section is converted to a separate mesh.
        """
        mesh = self._mesh
        if self._start is not None:
            if not is_apart:
                return mesh, self._materials
            mesh = self.to_mesh()
        elif mesh._of_file:
            mesh = mesh._without_statements()
        if self._materials is not None or not mesh._materials:
            return mesh, self._materials
        return mesh, mesh._slot_materials()

    def _to_plain(self, mesh: int, slots: Sequence[Material | None] | None, numbers: dict[int, int], whole: bool) -> tuple[Any, ...]:
        """Return the object as native code expects it.

        ``mesh`` is the index of its mesh, and ``numbers`` maps identities of materials to indices.
        """
        materials = None if slots is None else [None if slot is None else numbers[id(slot)] for slot in slots]
        names = str(self.name), str(self.mesh_name), self.kind
        start, end = (None, None) if whole else (self._start, self._end)
        return *names, mesh, start, end, self._transform, materials


class Objects(Items[Object], MutableSequence[Object]):
    """The objects of a scene, by index, by slice and by name.

    Objects can be appended, removed and sorted, as in a list.
    """

    __slots__ = ("_scene",)

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene._objects)
        self._scene = scene

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._items[key] = [self._scene._accepted(item) for item in value]
        else:
            self._items[self._place(key)] = self._scene._accepted(value)
        self._scene._prune()

    def __delitem__(self, key: int | str | slice) -> None:
        del self._items[key if isinstance(key, slice) else self._place(key)]
        self._scene._prune()

    def insert(self, index: int, value: Object) -> None:
        """Insert an object before ``index``."""
        self._items.insert(index, self._scene._accepted(value))
        self._scene._add_mesh(value.mesh)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort the objects in place, by name by default."""
        self._items.sort(key=key or (lambda placed: placed.name), reverse=reverse)

    def _place(self, key: int | str) -> int:
        if not isinstance(key, str):
            return key
        for place, placed in enumerate(self._items):
            if placed.name == key:
                return place
        raise KeyError(key)


class Scene:
    """A scene: meshes, objects that refer to them, and materials.

    A new scene has Blender's axes: Y faces forward, Z points up. OBJ files use -Z and Y, so :func:`polyhaul.write`
    rotates the output, like Blender. To keep the coordinates unchanged, pass the axes of the scene
    (``write(scene, "x.obj", forward_axis="Y", up_axis="Z")``), or create a
    ``Scene(forward_axis="NEGATIVE_Z", up_axis="Y")``. Scenes read from files have the axes of OBJ files.

    ``copy.copy(scene)`` has separate lists with the same objects, meshes and materials: adding to the copy does not
    change the original, but changing an object changes it in both. ``copy.deepcopy(scene)`` also copies the arrays.

    Args:
        meshes: a mesh, or several meshes, in the coordinates of these axes. Each mesh becomes an object: see
            :meth:`add`. If two axes are passed instead, they are ``forward_axis`` and ``up_axis``.
        forward_axis: the axis that faces forward: ``"X"``, ``"Y"``, ``"Z"``, ``"NEGATIVE_X"``, ... or ``"-X"``, ...
        up_axis: the axis that points up.

    Example:
        >>> import polyhaul
        >>> mesh = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> scene = polyhaul.Scene()
        >>> scene.add(mesh, name="Triangle", materials=["red"])
        <polyhaul.Object 'Triangle': 3 positions, 1 faces>
    """

    __slots__ = (
        "__weakref__",
        "_folder",
        "_in_file",
        "_libraries",
        "_loose",
        "_material_ids",
        "_materials",
        "_mesh_at",
        "_meshes",
        "_named",
        "_objects",
        "_render",
        "comments",
        "forward_axis",
        "header",
        "infos",
        "report",
        "tables",
        "up_axis",
    )

    #: The axis that faces forward.
    forward_axis: str
    #: The axis that points up.
    up_axis: str
    #: The report of reading, with its warnings; ``None`` if the scene was not read from a file.
    report: Report | None
    #: Elements of a PLY file other than vertices, faces and edges.
    tables: list[Table]
    #: Comments of a PLY file or a point cloud.
    comments: list[str]
    #: The 80-byte header of a binary STL file, which some programs use for data; empty for other formats.
    header: bytes
    #: Remarks about the object (``obj_info`` in PLY).
    infos: list[str]

    def __init__(
        self,
        meshes: Mesh | Iterable[Mesh] | AxisName = (),
        up_axis: AxisName = "Z",
        *,
        forward_axis: AxisName = "Y",
    ) -> None:
        if isinstance(meshes, str):
            forward_axis, meshes = meshes, ()
        self.forward_axis = _options.axis("forward_axis", forward_axis)
        self.up_axis = _options.axis("up_axis", up_axis)
        _options.check_axes(self.forward_axis, self.up_axis)
        self.report = None
        self.tables, self.comments, self.infos = [], [], []
        self.header = b""
        self._meshes: list[Mesh] = []
        self._objects: list[Object] = []
        self._materials: list[Material] = []
        self._libraries: list[str] = []
        #: The folder that file names are relative to, as native code stores it.
        self._folder: Any = None
        self._render: Render | None = None
        #: The index of each mesh, by identity.
        self._mesh_at: dict[int, int] = {}
        #: The identities of the materials, and the materials by their original names.
        self._material_ids: set[int] = set()
        self._named: dict[str, Material] = {}
        #: The meshes of a file that objects do not show.
        self._loose: list[Mesh] = []
        #: The objects of a file, in file order.
        self._in_file: list[Object] = []
        for mesh in (meshes,) if isinstance(meshes, Mesh) else meshes:
            self.add(mesh)

    @property
    def meshes(self) -> Items[Mesh]:
        """The distinct meshes."""
        return Items(self._meshes)

    @property
    def objects(self) -> Objects:
        """The objects, in order. Also accessible by name: ``scene.objects["Cube"]``.

        The list is mutable (``scene.objects.append(polyhaul.Object("Cube", mesh))``, ``del scene.objects["Cube"]``,
        ``scene.objects.sort()``) and settable. Meshes are removed together with the last object that refers to
        them.

        The objects of an OBJ file are sections of one mesh. If some of them are removed or reordered, each is written
        as a separate mesh, without its groups.
        """
        return Objects(self)

    @objects.setter
    def objects(self, value: Iterable[Object]) -> None:
        self.objects[:] = list(value)

    @property
    def materials(self) -> Items[Material]:
        """The materials. Also accessible by name: ``scene.materials["red"].diffuse``."""
        return Items(self._materials)

    @property
    def material_libraries(self) -> tuple[str, ...]:
        """The names of the material libraries in the file (``mtllib``)."""
        return tuple(self._libraries)

    @property
    def render(self) -> Render | None:
        """The contents of a renderer scene (pbrt) that was read with ``flatten=False``; ``None`` otherwise.

        Such a scene does not have objects, and its meshes are the meshes of PLY files.
        """
        return self._render

    def add(
        self,
        mesh: Mesh,
        name: str = "",
        *,
        mesh_name: str | None = None,
        transform: npt.ArrayLike | None = None,
        materials: Iterable[Material | str | None] | None = None,
    ) -> Object:
        """Add an object for ``mesh``. A mesh that is added several times is stored once.

        The mesh of a file is added as one object, with the materials and the smoothing of its faces but without its
        object names and groups. Its arrays are shared, not copied. Objects that only have curves are written as ``g``,
        not ``o``.

        Args:
            mesh: the mesh. It is not copied.
            name: the name; ``"Object"`` and a number by default.
            mesh_name: the name of the mesh, which is written if ``object_groups`` is set.
            transform: (4, 4) numbers: a matrix that multiplies column vectors from the left, as rows, like
                ``Object.matrix_world`` in Blender; ``None`` to write the positions unchanged.
            materials: the materials of the slots: materials, names of materials, or ``None`` for empty slots. A name
                refers to the material of the scene with that name, or to a new one. If the argument itself is ``None``,
                the materials of the mesh are used: see :attr:`Mesh.materials`.

        Returns:
            The object. Its fields may be changed until the scene is written.
        """
        if self._render is not None:
            raise ValueError("cannot add to a renderer scene; read it with flatten=True")
        if _checked_mesh(mesh)._of_file:
            if materials is None and mesh.material_slots is not None:
                materials = mesh._materials
            mesh = mesh._without_statements()
        if materials is None:
            materials = mesh._slot_materials() if mesh._materials else None
        elif not isinstance(materials, str | Material):
            materials = [self._known(material) for material in materials]
        added = Object(name or f"Object{len(self._objects) + 1}", mesh, transform=transform, materials=materials)
        added.mesh_name = mesh_name or ""
        counts = mesh._counts
        faces, curves = counts[3], counts[6]
        if curves and not faces:
            added.kind = "group"  # Blender writes curves as groups
        if added._materials:
            self._take(added._materials)
        self._add_mesh(mesh)
        self._objects.append(added)
        return added

    def write(self, target: Target, **options: Any) -> Report:
        """Write the scene to a file, like ``polyhaul.write(scene, target, **options)``. See :func:`polyhaul.write`."""
        from polyhaul._io import write

        return write(self, target, **options)

    def parts(
        self,
        *,
        by_object: bool = True,
        by_group: bool = False,
        missing_uv: float = math.nan,
        normals: bool = True,
        unused_positions: bool = False,
        threads: int | None = None,
    ) -> Generator[Part]:
        """Split the meshes of the scene by object, in the conventions most programs use: see :class:`Part`.

        Another thread prepares the next parts in the background, so only a few parts are in memory at a time.
        Preparation starts with the first ``next()``. A mesh that several objects refer to is a single part with the
        name of the first object. Transforms are not applied. Third texture coordinates and the UVs of polylines are
        dropped.

        Args:
            by_object: split at objects of a file.
            by_group: split at face groups.
            missing_uv: the value for corners without a UV.
            normals: whether to include normals.
            unused_positions: whether to keep positions that elements do not use.
            threads: worker threads; ``None`` uses all cores.

        Example:
            >>> import polyhaul
            >>> scene = polyhaul.Scene()
            >>> scene.add(polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), name="Triangle")
            <polyhaul.Object 'Triangle': 3 positions, 1 faces>
            >>> [(part.name, part.edges.tolist()) for part in scene.parts()]
            [('Triangle', [[0, 1], [1, 2], [0, 2]])]
        """
        objects: dict[int, list[Object]] = {}
        for placed in self._objects:
            objects.setdefault(id(placed.mesh), []).append(placed)
        cuts = []
        for mesh in self._meshes:
            shown = objects.get(id(mesh), [])
            whole = mesh._with_materials(shown[0]._materials) if shown else mesh
            cuts.append((whole, self._cuts(mesh, shown, by_object, by_group)))
        flat_cuts = [(mesh, cut) for mesh, mesh_cuts in cuts for cut in mesh_cuts]
        return made_ahead(flat_cuts, missing_uv, normals, unused_positions, threads)

    def _cuts(self, mesh: Mesh, objects: list[Object], by_object: bool, by_group: bool) -> list[Cut]:
        """Return the start counts, the end counts and the name of each part of a mesh."""
        counts = mesh._counts
        if objects and objects[0]._start is None:
            return [(NOTHING, counts, objects[0].name)]
        starts: dict[Counts, str] = {NOTHING: ""}
        if by_object:
            starts |= {placed._start: placed.name for placed in objects if placed.kind == "object" and placed._start}
        runs = mesh._data["group_runs"] if by_group else None
        for run in () if runs is None else runs.tolist():
            a, b, c, d, e, f, g, group = run
            starts[a, b, c, d, e, f, g] = mesh.groups[group] if group < len(mesh.groups) else ""
        places = sorted(starts)
        cuts = [(start, end, starts[start]) for start, end in zip(places, [*places[1:], counts], strict=True)]
        if len(cuts) == 1 or all(start[FACES:] != end[FACES:] for start, end, _ in cuts):
            return cuts
        # Positions without elements form a part if they have a name and no element uses any of them.
        is_used = _used_positions(mesh)
        has_points = [bool(name) and end[0] > start[0] and not is_used[start[0] : end[0]].any() for start, end, name in cuts]
        has_content = [points or start[FACES:] != end[FACES:] for points, (start, end, _) in zip(has_points, cuts, strict=True)]
        return list(compress(cuts, has_content)) or [(NOTHING, counts, cuts[-1][2])]

    def _repr_png_(self) -> bytes | None:
        """Return a PNG preview for notebooks, with less detail for large scenes; ``None`` if the scene is too large."""
        from polyhaul._preview import png

        return png(self)

    def __repr__(self) -> str:
        counts = ((self._objects, "objects"), (self._meshes, "meshes"), (self._materials, "materials"))
        parts = ", ".join(f"{len(items)} {name}" for items, name in counts)
        return f"<polyhaul.Scene: {parts}>" if self._render is None else f"<polyhaul.Scene: {self._render}>"

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            # A shallow copy has separate lists, so that adding to it does not change the original.
            setattr(self, name, value.copy() if isinstance(value, (list, dict)) else value)
        self._mesh_at = {id(mesh): at for at, mesh in enumerate(self._meshes)}
        self._material_ids = {id(material) for material in self._materials}

    def _known(self, material: Material | str | None) -> Material | str | None:
        """Return the material of the scene with this name, or the argument if it is not a known name."""
        return self._named.get(material, material) if isinstance(material, str) else material

    def _take(self, materials: Iterable[Material | None]) -> None:
        """Add materials that are not in the scene yet."""
        for material in materials:
            if material is not None and id(material) not in self._material_ids:
                self._material_ids.add(id(material))
                self._materials.append(material)
                self._named.setdefault(material.name, material)

    def _add_mesh(self, mesh: Mesh) -> int:
        at = self._mesh_at.setdefault(id(mesh), len(self._meshes))
        if at == len(self._meshes):
            self._meshes.append(mesh)
        return at

    def _accepted(self, value: Any) -> Object:
        """Validate an object for the list, and add its materials to the scene."""
        if not isinstance(value, Object):
            raise TypeError(f"the object is of type {type(value).__name__}; expected polyhaul.Object, or use scene.add(mesh)")
        if self._render is not None:
            raise ValueError("cannot add to a renderer scene; read it with flatten=True")
        self._take(value._shown()[1] or ())
        return value

    def _prune(self) -> None:
        """Remove meshes that objects no longer show. Meshes that objects never showed are kept."""
        shown = {id(mesh): mesh for mesh in [placed.mesh for placed in self._objects] + self._loose}
        before = [mesh for mesh in self._meshes if id(mesh) in shown]
        self._meshes[:] = before
        self._mesh_at = {id(mesh): at for at, mesh in enumerate(before)}
        for mesh in shown.values():
            self._add_mesh(mesh)

    def _changed_sections(self) -> set[int]:
        """Return the identities of meshes whose sections no longer match their objects.

        Some sections are missing, reordered or changed.
        """
        moved = {
            id(placed._mesh)
            for placed in self._objects
            if placed._start is not None and (placed._transform is not None or placed._materials is not None)
        }
        if self._objects == self._in_file and not moved:
            return set()
        before, now = _sections(self._in_file), _sections(self._objects)
        return {mesh for mesh, objects in now.items() if mesh in moved or objects != before.get(mesh)}

    def _to_plain(self) -> dict[str, Any]:
        """Return the scene as native code expects it."""
        changed = self._changed_sections()
        shown: list[Mesh] = []
        all_slots: list[Sequence[Material | None] | None] = []
        for placed in self._objects:
            mesh = placed._mesh
            slots: Sequence[Material | None] | None = placed._materials
            is_section = placed._start is not None
            if changed if is_section else mesh._of_file or (slots is None and mesh._materials):
                mesh, slots = placed._shown(id(mesh) in changed)
            if slots:
                self._take(slots)
            shown.append(mesh)
            all_slots.append(slots)
        materials, numbers = self._numbered()
        meshes, places = self._placed(shown)
        objects = [
            placed._to_plain(place, slots, numbers, bool(changed) and id(placed._mesh) in changed)
            for placed, place, slots in zip(self._objects, places, all_slots, strict=True)
        ]
        _options.check_axes(self.forward_axis, self.up_axis)
        return {
            "meshes": [mesh._to_native() for mesh in meshes],
            "objects": objects,
            "materials": [material_to_plain(material) for material in materials],
            "material_libraries": self._libraries,
            "folder": self._folder,
            "forward_axis": self.forward_axis,
            "up_axis": self.up_axis,
            "tables": [table._to_plain() for table in self.tables],
            "comments": list(self.comments),
            "header": self.header,
            "infos": list(self.infos),
            "render": self._render and self._render._native,
        }

    def _placed(self, shown: list[Mesh]) -> tuple[list[Mesh], list[int]]:
        """Return the meshes to write, and the index of the mesh of each object."""
        at = self._mesh_at
        places = [at.get(id(mesh), -1) for mesh in shown]
        if len({*places, -1}) - 1 + len(self._loose) == len(self._meshes) and -1 not in places:
            return self._meshes, places
        # The meshes of the scene in their order, followed by meshes created for writing.
        used = {id(mesh): mesh for mesh in shown} | {id(mesh): mesh for mesh in self._loose}
        meshes = {id(mesh): mesh for mesh in self._meshes if id(mesh) in used} | used
        at = {key: number for number, key in enumerate(meshes)}
        return list(meshes.values()), [at[id(mesh)] for mesh in shown]

    def _numbered(self) -> tuple[list[Material], dict[int, int]]:
        """Return the materials, one per name, and the index of each material by identity."""
        numbers: dict[int, int] = {}
        by_name: dict[str, int] = {}
        listed: list[Material] = []
        for material in self._materials:
            at = by_name.setdefault(material.name, len(listed))
            if at == len(listed):
                listed.append(material)
            elif listed[at] != material:
                raise ValueError(f"two different materials are named {material.name!r}")
            numbers[id(material)] = at
        return listed, numbers


def scene_from_plain(plain: dict[str, Any], report: Report) -> Scene:
    """Return a scene from the result of native code."""
    scene = Scene(forward_axis=plain["forward_axis"], up_axis=plain["up_axis"])
    scene.report = report
    scene._libraries = plain["material_libraries"]
    scene._folder = plain["folder"]
    scene.tables = [table_from_plain(table) for table in plain["tables"]]
    scene.comments, scene.infos = plain["comments"], plain["infos"]
    scene.header = plain["header"]
    scene._take(material_from_plain(plain_material) for plain_material in plain["materials"])
    for mesh in plain["meshes"]:
        scene._add_mesh(mesh_from_native(mesh, scene._materials))
    if plain["render"] is not None:
        scene._render = Render(plain["render"], scene._meshes)
    for name, mesh_name, kind, at, start, end, transform, materials in plain["objects"]:
        new = Object(name, scene._meshes[at], transform=transform)
        new.mesh_name, new.kind = mesh_name, kind
        new._start, new._end = tuple(start), tuple(end)
        if materials is not None:
            new._materials = tuple(None if slot is None else scene._materials[slot] for slot in materials)
        scene._objects.append(new)
    _find_sections(scene)
    return scene


def _find_sections(scene: Scene) -> None:
    """Distinguish meshes whose objects are sections from meshes that objects show as a whole.

    Objects are sections in OBJ, and show whole meshes in glTF.
    """
    shown = {id(placed._mesh) for placed in scene._objects}
    scene._loose = [mesh for mesh in scene._meshes if id(mesh) not in shown]
    scene._in_file = scene._objects.copy()
    whole = {
        id(placed._mesh)
        for placed in scene._objects
        if placed._transform is not None or placed._materials is not None
    }
    for placed in scene._objects if whole else ():
        mesh = placed._mesh
        if id(mesh) in whole:
            placed._start, placed._end = None, None
            if mesh._of_file:
                mesh._of_file, mesh._materials = False, placed._materials or ()


def _sections(objects: list[Object]) -> dict[int, list[Object]]:
    """Return the objects that are sections, by the identity of their mesh."""
    sections: dict[int, list[Object]] = {}
    for placed in objects:
        if placed._start is not None:
            sections.setdefault(id(placed._mesh), []).append(placed)
    return sections


def _checked_mesh(mesh: Any) -> Mesh:
    if not isinstance(mesh, Mesh):
        raise TypeError(f"mesh is of type {type(mesh).__name__}; expected polyhaul.Mesh")
    return mesh


def _used_positions(mesh: Mesh) -> Flags:
    """Return (n,) bool: whether an element uses each position."""
    is_used = np.zeros(mesh.position_count, np.bool_)
    for indices in (mesh.corner_positions, mesh.line_positions, mesh.points, *(curve.control_points for curve in mesh.curves)):
        is_used[indices] = True
    return is_used


def _matrix(value: npt.ArrayLike) -> Doubles:
    matrix = np.array(value, dtype=np.float64, order="C")
    if matrix.shape != (4, 4):
        raise ValueError(f"transform has shape {matrix.shape}; expected (4, 4)")
    matrix.flags.writeable = False
    return matrix
