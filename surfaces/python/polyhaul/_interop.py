"""Conversion of meshes from and to trimesh, meshio, PyVista and Open3D.

The libraries are optional, and imported on use. Arrays are copied if the other library may change them. ``_accelerate``
makes these libraries read files with polyhaul.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Container
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyhaul._mesh import Mesh
from polyhaul._report import PolyhaulWarning
from polyhaul._scene import Scene
from polyhaul._table import Lists

Array = npt.NDArray[Any]


def to_trimesh(source: Mesh | Scene, **options: Any) -> Any:
    """Convert a mesh to a ``trimesh.Trimesh``, or a scene to a ``trimesh.Scene``.

    Faces are triangulated. Normals, and UVs or colors, are per vertex; colors are dropped if the mesh has UVs. Columns
    are vertex and face attributes.

    Args:
        source: a mesh or a scene. A scene with several meshes or objects, or with a transform, is converted to a
            ``trimesh.Scene`` with one node per object. Meshes shared by several objects are stored once.
        options: keywords of ``trimesh.Trimesh``. The default is ``process=False``, which keeps the vertices.

    Warns:
        PolyhaulWarning: trimesh cannot store some of the data. The message lists the dropped data.
    """
    import trimesh

    if (mesh := _single(source)) is not None:
        return _trimesh_of(mesh, options)
    made = trimesh.Scene()
    names: dict[int, str] = {}
    for placed in _placed(source):
        if id(placed.origin) not in names:
            names[id(placed.origin)] = trimesh.util.unique_name(placed.name or "mesh", made.geometry)
            made.geometry[names[id(placed.origin)]] = _trimesh_of(placed.mesh, options)
        node = trimesh.util.unique_name(placed.name or "object", made.graph.nodes)
        made.graph.update(frame_to=node, matrix=placed.matrix, geometry=names[id(placed.origin)])
    return made


def _trimesh_of(mesh: Mesh, options: dict[str, Any]) -> Any:
    import trimesh

    columns = _Columns(mesh, "trimesh", ("line_positions", "points", "curves", "vertex_groups"))
    mesh = mesh.triangulate().weld()
    given: dict[str, Any] = {"vertices": mesh.positions, "faces": mesh.corner_positions.reshape(-1, 3), "process": False}
    if mesh.normals is not None:
        given["vertex_normals"] = mesh.normals
    if mesh.uvs is not None:
        given["visual"] = trimesh.visual.TextureVisuals(uv=mesh.uvs)
        if mesh.colors is not None:
            columns.dropped.append("colors of meshes with uvs")
    elif mesh.colors is not None:
        given["vertex_colors"] = _bytes(mesh.colors)
    given["vertex_attributes"] = columns.of(mesh.vertex_columns)
    given["face_attributes"] = columns.of(mesh.face_columns)
    columns.warn()
    return trimesh.Trimesh(**(given | options))


def from_trimesh(other: Any) -> Mesh | Scene:
    """Convert a ``trimesh.Trimesh`` to a mesh, or a ``trimesh.Scene`` to a scene.

    The mesh has the UVs, vertex colors and attributes, and the normals if they are computed or set. The scene has one
    object for each node with a mesh.

    Warns:
        PolyhaulWarning: meshes cannot store some of the data. The message lists the dropped data.
    """
    if hasattr(other, "geometry") and hasattr(other, "graph"):
        scene = Scene("NEGATIVE_Z", "Y")
        meshes = {name: _from_trimesh(part) for name, part in other.geometry.items() if hasattr(part, "faces")}
        _warn_dropped("polyhaul", [f"the geometry {name!r} without faces" for name in other.geometry if name not in meshes])
        for node in other.graph.nodes_geometry:
            matrix, name = other.graph[node]
            if name in meshes:
                moved = None if np.array_equal(matrix, np.eye(4)) else matrix
                scene.add(meshes[name], name=str(node), mesh_name=name, transform=moved)
        return scene
    return _from_trimesh(other)


def _from_trimesh(other: Any) -> Mesh:
    columns = _Columns(None, "polyhaul", ())
    given: dict[str, Any] = {}
    if "vertex_normals" in other._cache:
        given |= {"normals": other.vertex_normals, "normal_domain": "vertex"}
    visual = other.visual
    if visual.kind == "texture" and visual.uv is not None:
        given |= {"uvs": visual.uv, "uv_domain": "vertex"}
    elif visual.kind == "vertex":
        given["colors"] = np.asarray(visual.vertex_colors, np.float32) / 255
    elif visual.kind == "face":
        columns.dropped.append("the colors of faces")
    given["vertex_columns"] = columns.taken(other.vertex_attributes, len(other.vertices))
    given["face_columns"] = columns.taken(other.face_attributes, len(other.faces))
    columns.warn()
    return Mesh(np.asarray(other.vertices), np.asarray(other.faces), **given)


def to_meshio(source: Mesh | Scene) -> Any:
    """Convert a mesh or scene to a ``meshio.Mesh``.

    Consecutive faces with the same number of corners form a block. UVs and normals are point data if they are per
    vertex (see :meth:`polyhaul.Mesh.weld`). Columns are point and cell data. The objects of a scene are joined, with
    their transforms applied.

    Warns:
        PolyhaulWarning: meshio cannot store some of the data. The message lists the dropped data.
    """
    import meshio

    mesh = _joined(source)
    columns = _Columns(mesh, "meshio", ("curves", "vertex_groups"))
    data: dict[str, Any] = {} if mesh.colors is None else {"colors": mesh.colors}
    for name, domain, values in (("uvs", mesh.uv_domain, mesh.uvs), ("normals", mesh.normal_domain, mesh.normals)):
        if domain == "vertex":
            data[name] = values
        elif domain is not None:
            columns.dropped.append(f"{name} that are not per vertex (weld() converts them)")
    data = columns.of(mesh.vertex_columns, data) | data
    cells: list[tuple[str, Array]] = []
    blocks: list[slice] = []
    for faces, block in _blocks(mesh):
        kind = {3: "triangle", 4: "quad"}.get(block.shape[1], "polygon")
        cells.append((kind, block))
        blocks.append(faces)
    if len(mesh.line_positions):
        cells.append(("line", mesh.line_edges))
    if len(mesh.points):
        cells.append(("vertex", mesh.points.reshape(-1, 1)))
    rest = [len(block) for _, block in cells[len(blocks) :]]
    cell_data = {
        name: [*(values[faces] for faces in blocks), *(np.zeros((count, *values.shape[1:]), values.dtype) for count in rest)]
        for name, values in columns.of(mesh.face_columns).items()
    }
    columns.warn()
    return meshio.Mesh(mesh.positions, cells, point_data=data, cell_data=cell_data)


def from_meshio(other: Any) -> Mesh:
    """Convert a ``meshio.Mesh`` to a mesh.

    Triangles, quads and polygons are converted to faces, lines to polylines, and vertices to points. Point data, and
    the cell data of faces, are columns, except normals, UVs and colors.

    Raises:
        ValueError: the mesh has other types of cells.

    Warns:
        PolyhaulWarning: meshes cannot store some of the data. The message lists the dropped data.
    """
    faces: list[Array] = []
    at_faces: list[int] = []
    lines: list[Array] = []
    points: list[Array] = []
    for at, block in enumerate(other.cells):
        if block.type in ("triangle", "quad", "polygon"):
            faces.append(np.asarray(block.data))
            at_faces.append(at)
        elif block.type == "line":
            lines.append(np.asarray(block.data))
        elif block.type == "vertex":
            points.append(np.asarray(block.data).reshape(-1))
        else:
            raise ValueError(f"cells of type {block.type!r} are not faces of a surface; extract its surface first")
    columns = _Columns(None, "polyhaul", ())
    given: dict[str, Any] = _of_point_data(other.point_data, len(other.points), columns)
    if faces:
        sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in faces])
        given["corner_positions"] = np.concatenate([block.reshape(-1) for block in faces])
        given["face_offsets"] = np.concatenate([[0], np.cumsum(sizes)])
        of_faces = {name: np.concatenate([np.asarray(blocks[at]) for at in at_faces]) for name, blocks in other.cell_data.items()}
        given["face_columns"] = columns.taken(of_faces, len(sizes))
    at_others = set(range(len(other.cells))) - set(at_faces)
    for name, blocks in other.cell_data.items():
        columns.leave(name, [np.asarray(blocks[at]) for at in at_others])
    if lines:
        given["line_positions"] = np.concatenate(lines)
    if points:
        given["points"] = np.concatenate(points)
    positions = np.asarray(other.points)
    if positions.shape[1] == 2:
        positions = np.column_stack([positions, np.zeros(len(positions), positions.dtype)])
    columns.warn()
    return Mesh(positions, **given)


def to_pyvista(source: Mesh | Scene) -> Any:
    """Convert a mesh to a ``pyvista.PolyData``, or a scene to a ``pyvista.MultiBlock``.

    The result has all polygons, lines and points. Texture coordinates, normals and colors are per point, and columns
    are point and cell data. A scene with several meshes or objects, or with a transform, is converted to a
    ``pyvista.MultiBlock`` with one block per object, with its transform applied.

    Warns:
        PolyhaulWarning: PyVista cannot store some of the data. The message lists the dropped data.
    """
    import pyvista

    if (mesh := _single(source)) is not None:
        return _pyvista_of(mesh)
    made = pyvista.MultiBlock()
    for number, placed in enumerate(_placed(source)):
        made.append(_pyvista_of(placed.moved()), placed.name or f"object {number + 1}")
    return made


def _pyvista_of(mesh: Mesh) -> Any:
    import pyvista

    columns = _Columns(mesh, "PyVista", ("curves", "vertex_groups"))
    if {mesh.uv_domain, mesh.normal_domain} - {None, "vertex"}:
        mesh = mesh.weld()
    # Copy the arrays, because VTK may write to its arrays and the arrays of a mesh are read-only.
    data = pyvista.PolyData(np.array(mesh.positions))
    data.verts = data.lines = data.faces = np.empty(0, np.int64)
    if mesh.face_count:
        cells = pyvista.CellArray.from_arrays(mesh.face_offsets.astype(np.int64), mesh.corner_positions.astype(np.int64))
        data.SetPolys(cells)
    if len(mesh.line_positions):
        data.SetLines(pyvista.CellArray.from_arrays(mesh.line_offsets.astype(np.int64), mesh.line_positions.astype(np.int64)))
    if len(mesh.points):
        data.verts = np.column_stack([np.ones(len(mesh.points), np.int64), mesh.points]).reshape(-1)
    elif not mesh.face_count and not len(mesh.line_positions):
        # Point clouds need vertex cells to be visible.
        count = mesh.position_count
        data.verts = np.column_stack([np.ones(count, np.int64), np.arange(count)]).reshape(-1)
    given = {"Normals": mesh.normals, "Texture Coordinates": mesh.uvs, "RGB": mesh.colors}
    used = [name for name, values in given.items() if values is not None]
    for name, values in columns.of(mesh.vertex_columns, used).items():
        data.point_data[name] = np.array(values)
    for name, values in columns.of(mesh.face_columns).items():
        # VTK numbers points and lines before polygons.
        before = np.zeros((data.n_cells - len(values), *values.shape[1:]), values.dtype)
        data.cell_data[name] = np.concatenate([before, values])
    if mesh.normals is not None:
        data.point_data.active_normals = np.array(mesh.normals)
    if mesh.uvs is not None:
        data.active_texture_coordinates = np.array(mesh.uvs)
    if mesh.colors is not None:
        data.point_data["RGB"] = _bytes(columns.opaque(mesh.colors))
    columns.warn()
    return data


def from_pyvista(other: Any) -> Mesh | Scene:
    """Convert a ``pyvista.PolyData`` to a mesh, or a ``pyvista.MultiBlock`` to a scene.

    The mesh has all polygons, lines and points, the active normals and texture coordinates, the colors, and other point
    and cell data as columns. The scene has one object per block that is not ``None``.

    Warns:
        PolyhaulWarning: meshes cannot store some of the data. The message lists the dropped data.
    """
    if hasattr(other, "keys") and hasattr(other, "n_blocks"):
        scene = Scene("NEGATIVE_Z", "Y")
        for name, block in zip(other.keys(), other, strict=True):
            if block is not None:
                scene.add(_from_pyvista(block), name=name or "")
        return scene
    return _from_pyvista(other)


def _from_pyvista(other: Any) -> Mesh:
    columns = _Columns(None, "polyhaul", ())
    given: dict[str, Any] = {}
    if other.GetStrips().GetNumberOfCells():
        other = _without_strips(other)
    polygons, lines = other.GetPolys(), other.GetLines()
    face_count, line_count = polygons.GetNumberOfCells(), lines.GetNumberOfCells()
    if face_count:
        given["face_offsets"], given["corner_positions"] = _cells(polygons)
    if line_count:
        given["line_offsets"], given["line_positions"] = _cells(lines)
    if other.n_verts and (face_count or line_count):
        given["points"] = _cells(other.GetVerts())[1]
    point_data = {name: np.asarray(other.point_data[name]) for name in other.point_data}
    active = _active(other.GetPointData(), point_data)
    given |= _of_point_data(point_data, other.n_points, columns, active) | active
    # VTK numbers points and lines before polygons.
    first_face = other.n_cells - face_count
    cell_data = {name: np.asarray(other.cell_data[name]) for name in other.cell_data}
    for name, values in cell_data.items():
        columns.leave(name, [values[:first_face]])
    given["face_columns"] = columns.taken({name: values[first_face:] for name, values in cell_data.items()}, face_count)
    columns.warn()
    return Mesh(np.asarray(other.points), **given)


def _without_strips(data: Any) -> Any:
    """Return a PolyData with triangles instead of polygons and strips.

    PyVista's own ``triangulate`` drops lines and points.
    """
    import pyvista
    from vtkmodules.vtkFiltersCore import vtkTriangleFilter

    triangles = vtkTriangleFilter()
    triangles.SetInputData(data)
    triangles.Update()
    return pyvista.wrap(triangles.GetOutput())


def _active(fields: Any, data: dict[str, Array]) -> dict[str, Any]:
    """Return the active normals and texture coordinates, regardless of their names, and remove them from ``data``."""
    given: dict[str, Any] = {}
    for array, name, width in ((fields.GetNormals(), "normals", 3), (fields.GetTCoords(), "uvs", 2)):
        values = None if array is None else data.get(array.GetName())
        if values is not None and values.ndim == 2 and values.shape[1] == width:
            given |= {name: values, f"{name[:-1]}_domain": "vertex"}
            del data[array.GetName()]
    return given


def to_open3d(source: Mesh | Scene, *, legacy: bool = False) -> Any:
    """Convert a mesh or scene to an Open3D triangle mesh, or to a point cloud if it does not have faces.

    Faces are triangulated. Normals and colors are per vertex, UVs per corner, and columns are attributes of vertices
    and triangles. The objects of a scene are joined, with their transforms applied.

    Args:
        source: a mesh or a scene.
        legacy: whether to return a legacy class, such as ``open3d.geometry.TriangleMesh``, instead of
            ``open3d.t.geometry.TriangleMesh``. Legacy classes do not store columns.

    Warns:
        PolyhaulWarning: Open3D cannot store some of the data. The message lists the dropped data.
    """
    import open3d

    mesh = _joined(source)
    columns = _Columns(mesh, "Open3D", ("line_positions", "points", "curves", "vertex_groups"))
    tensor = open3d.core.Tensor.from_numpy
    if not mesh.face_count:
        made = open3d.t.geometry.PointCloud(tensor(np.array(mesh.positions)))
        vertices = made.point
    else:
        mesh = mesh.triangulate().weld()
        faces = mesh.corner_positions.reshape(-1, 3).astype(np.int32)
        made = open3d.t.geometry.TriangleMesh(tensor(np.array(mesh.positions)), tensor(faces))
        vertices = made.vertex
        uvs = mesh.per_corner("uvs")
        if uvs is not None:
            made.triangle.texture_uvs = tensor(uvs.reshape(-1, 3, 2))
        for name, values in columns.of({} if legacy else mesh.face_columns, _OPEN3D_NAMES).items():
            made.triangle[name] = tensor(np.array(values).reshape(len(values), -1))
    if mesh.normals is not None and mesh.normal_domain == "vertex":
        vertices.normals = tensor(np.array(mesh.normals))
    elif mesh.normals is not None:
        columns.dropped.append("normals that are not per vertex")
    if mesh.uvs is not None and not mesh.face_count:
        columns.dropped.append("UVs of points")
    if mesh.colors is not None:
        vertices.colors = tensor(np.ascontiguousarray(columns.opaque(mesh.colors)))
    for name, values in columns.of({} if legacy else mesh.vertex_columns, _OPEN3D_NAMES).items():
        vertices[name] = tensor(np.array(values).reshape(len(values), -1))
    if legacy:
        columns.dropped += [f"the column {name!r}" for name in (*mesh.vertex_columns, *mesh.face_columns)]
    columns.warn()
    return made.to_legacy() if legacy else made


def from_open3d(other: Any) -> Mesh:
    """Convert a triangle mesh or point cloud of Open3D, tensor-based or legacy, to a mesh.

    Warns:
        PolyhaulWarning: meshes cannot store some of the data. The message lists the dropped data.
    """
    import open3d

    if isinstance(other, open3d.geometry.PointCloud):
        other = open3d.t.geometry.PointCloud.from_legacy(other)
    elif isinstance(other, open3d.geometry.TriangleMesh):
        other = open3d.t.geometry.TriangleMesh.from_legacy(other)
    is_mesh = isinstance(other, open3d.t.geometry.TriangleMesh)
    vertices = other.vertex if is_mesh else other.point
    given: dict[str, Any] = {}
    if "normals" in vertices:
        given |= {"normals": vertices.normals.numpy(), "normal_domain": "vertex"}
    if "colors" in vertices:
        colors = vertices.colors.numpy()
        given["colors"] = colors / np.float32(255) if colors.dtype == np.uint8 else colors
    if is_mesh and "texture_uvs" in other.triangle:
        given |= {"uvs": other.triangle.texture_uvs.numpy().reshape(-1, 2), "uv_domain": "corner"}
    columns = _Columns(None, "polyhaul", ())
    given["vertex_columns"] = columns.taken(_others(vertices), len(vertices.positions))
    if is_mesh:
        given["face_columns"] = columns.taken(_others(other.triangle), len(other.triangle.indices))
    columns.warn()
    faces = other.triangle.indices.numpy() if is_mesh else None
    return Mesh(vertices.positions.numpy(), faces, **given)


#: The attributes of vertices and triangles that Open3D itself uses.
_OPEN3D_NAMES = ("positions", "normals", "colors", "indices", "texture_uvs")


def _others(attributes: Any) -> dict[str, Array]:
    """Return attributes that Open3D itself does not use, as columns."""
    values = {name: attribute.numpy() for name, attribute in attributes.items() if name not in _OPEN3D_NAMES}
    return {name: array.reshape(-1) if array.shape[1:] == (1,) else array for name, array in values.items()}


class _Placed(NamedTuple):
    """An object of a scene."""

    name: str
    mesh: Mesh
    #: The identity shared by objects of the same mesh.
    origin: object
    #: (4, 4), or ``None``.
    transform: Array | None

    @property
    def matrix(self) -> Array:
        return np.eye(4) if self.transform is None else self.transform

    def moved(self) -> Mesh:
        """Return the mesh with the transform applied."""
        return self.mesh if self.transform is None else self.mesh.transform(self.transform)


def _placed(source: Mesh | Scene) -> list[_Placed]:
    """Return the objects of a scene."""
    placed = []
    for one in source.objects if isinstance(source, Scene) else ():
        is_whole = one._start is None
        origin = one.mesh if is_whole else one
        placed.append(_Placed(one.name, one.to_mesh(), origin, one.transform))
    return placed


def _single(source: Mesh | Scene) -> Mesh | None:
    """Return the mesh, or the only mesh of a scene whose objects have no transform; otherwise ``None``."""
    if isinstance(source, Mesh):
        return source._without_statements()
    if not isinstance(source, Scene):
        raise TypeError(f"source is of type {type(source).__name__}; expected polyhaul.Mesh or polyhaul.Scene")
    whole = [placed for placed in source.objects if placed._start is None]
    is_moved = any(placed.transform is not None for placed in source.objects)
    if len(source.meshes) == 1 and len(whole) <= 1 and not is_moved:
        return source.meshes[0]._without_statements()
    return None


def _joined(source: Mesh | Scene) -> Mesh:
    """Return the mesh, or a mesh with the faces, lines and points of all objects of a scene in world coordinates."""
    if (mesh := _single(source)) is not None:
        return mesh
    meshes = [placed.moved() for placed in _placed(source)]
    if any({mesh.uv_domain, mesh.normal_domain} - {None, "vertex"} for mesh in meshes):
        meshes = [mesh.weld() for mesh in meshes]
    if not meshes:
        return Mesh(np.empty((0, 3), np.float32))
    dropped: list[str] = []
    given: dict[str, Any] = {}
    starts = np.cumsum([0, *(mesh.position_count for mesh in meshes)])
    for field in ("corner_positions", "line_positions", "points"):
        given[field] = np.concatenate([getattr(mesh, field) + start for mesh, start in zip(meshes, starts, strict=False)])
    for field in ("face_offsets", "line_offsets"):
        sizes = np.concatenate([np.diff(getattr(mesh, field).astype(np.int64)) for mesh in meshes])
        given[field] = np.concatenate([[0], np.cumsum(sizes)])
    for field, domain in (("uvs", "uv_domain"), ("normals", "normal_domain"), ("colors", None)):
        values = [getattr(mesh, field) for mesh in meshes]
        if all(rows is not None for rows in values):
            given |= {field: np.concatenate(values)} | ({} if domain is None else {domain: "vertex"})
        elif any(rows is not None for rows in values):
            dropped.append(f"{field} that only some objects have")
    for field in ("vertex_columns", "face_columns"):
        columns = [{name: _dense(column) for name, column in getattr(mesh, field).items()} for mesh in meshes]
        shared = [name for name in columns[0] if all(_is_alike(columns[0][name], other.get(name)) for other in columns)]
        given[field] = {name: np.concatenate([other[name] for other in columns]) for name in shared}
        names = dict.fromkeys(name for other in columns for name in other)
        dropped += [f"the column {name!r} that only some objects have" for name in names if name not in shared]
    dropped += [_FIELDS[field] for field in ("curves", "vertex_groups") if any(len(getattr(mesh, field)) for mesh in meshes)]
    _warn_dropped("a joined mesh", dropped)
    return Mesh(np.concatenate([mesh.positions for mesh in meshes]), **given)


def _is_alike(first: Array | None, other: Array | None) -> bool:
    return first is not None and other is not None and first.dtype == other.dtype and first.shape[1:] == other.shape[1:]


def _dense(column: Array | Lists) -> Array | None:
    """Return a column as an array; ``None`` for lists of different lengths."""
    return None if isinstance(column, Lists) else column


class _Columns:
    """The columns of a mesh for a library, and the names of dropped data."""

    def __init__(self, mesh: Mesh | None, library: str, fields: tuple[str, ...]) -> None:
        self._library = library
        self.dropped = [] if mesh is None else [_FIELDS[field] for field in fields if len(getattr(mesh, field))]

    def of(self, columns: Any, used: Container[str] = ()) -> dict[str, Array]:
        """Return columns of numbers, and of lists of equal length, except those whose names have another use."""
        dense = {name: _dense(column) for name, column in columns.items() if name not in used}
        self.dropped += [f"the column {name!r}, whose name has another use" for name in columns if name in used]
        self.dropped += [f"the column {name!r} of lists" for name, values in dense.items() if values is None]
        return {name: values for name, values in dense.items() if values is not None}

    def taken(self, data: Any, count: int) -> dict[str, Array]:
        """Return the arrays of another library that a mesh can store: one or several numbers per row."""
        taken = {}
        for name, values in data.items():
            values = np.asarray(values)
            values = values.astype(np.uint8) if values.dtype == np.bool_ else values
            if values.dtype.kind in "fiu" and values.dtype.itemsize <= 8 and values.shape[:1] == (count,) and values.ndim in (1, 2):
                taken[str(name)] = values
            else:
                self.dropped.append(f"the array {name!r} of {values.dtype} and shape {values.shape}")
        return taken

    def leave(self, name: str, values: list[Array]) -> None:
        """Note that the values of an array for lines and points are dropped, unless they are zeros, which fill gaps."""
        if any(part.size and (part.dtype.kind not in "fiub" or part.any()) for part in values):
            self.dropped.append(f"the array {name!r} of lines and points")

    def opaque(self, colors: Array) -> Array:
        """Return colors without alpha."""
        if np.any(colors[:, 3] < 1):
            self.dropped.append("the alpha of colors")
        return colors[:, :3]

    def warn(self) -> None:
        """Warn about dropped data."""
        _warn_dropped(self._library, self.dropped)


#: The names of mesh fields in warnings.
_FIELDS = {"line_positions": "lines", "points": "point elements", "curves": "curves", "vertex_groups": "vertex groups"}


def _warn_dropped(library: str, dropped: list[str]) -> None:
    """Issue the warning at the caller outside this module."""
    if not dropped:
        return
    level = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        level += 1
        frame = frame.f_back
    warnings.warn(f"dropped data that {library} cannot store: {', '.join(dropped)}", PolyhaulWarning, stacklevel=level + 1)


def _blocks(mesh: Mesh) -> list[tuple[slice, Array]]:
    """Return runs of faces with the same number of corners: the slice of faces, and their corner positions."""
    if not mesh.face_count:
        return []
    offsets = mesh.face_offsets.astype(np.int64)
    sizes = np.diff(offsets)
    starts = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]
    runs = [slice(start, end) for start, end in zip(starts, starts[1:], strict=False)]
    corners = mesh.corner_positions
    return [(run, corners[offsets[run.start] : offsets[run.stop]].reshape(-1, int(sizes[run.start]))) for run in runs]


def _bytes(colors: Array) -> Array:
    """Convert colors from 0 to 1 to bytes. Missing colors are white."""
    return np.clip(np.rint(np.nan_to_num(colors, nan=1.0) * 255), 0, 255).astype(np.uint8)


def _cells(cells: Any) -> tuple[Array, Array]:
    """Return the offsets and corners of VTK cells."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return np.array(vtk_to_numpy(cells.GetOffsetsArray())), np.array(vtk_to_numpy(cells.GetConnectivityArray()))


def _of_point_data(data: Any, count: int, columns: _Columns, known: Collection[str] = ()) -> dict[str, Any]:
    """Return the constructor arguments for arrays per point, detected by name and shape.

    Attributes in ``known`` are not detected. If several arrays fit, all but the first are columns.
    """
    given: dict[str, Any] = {}
    others: dict[str, Array] = {}
    for name, values in data.items():
        values = np.asarray(values)
        lower_name = name.lower().rsplit(":", 1)[-1]
        is_rows = values.dtype.kind in "fiu" and values.ndim == 2 and len(values) == count
        width = values.shape[1] if is_rows else 0
        taken = {*known, *given}
        if lower_name in ("normals", "vn") and width == 3 and "normals" not in taken:
            given |= {"normals": values, "normal_domain": "vertex"}
        elif lower_name in ("uvs", "uv", "vt", "tcoords", "texture coordinates") and width == 2 and "uvs" not in taken:
            given |= {"uvs": values, "uv_domain": "vertex"}
        elif lower_name in ("colors", "rgb", "rgba") and width in (3, 4) and "colors" not in taken:
            given["colors"] = values / np.float32(255) if values.dtype == np.uint8 else values
        else:
            others[name] = values
    given["vertex_columns"] = columns.taken(others, count)
    return given
