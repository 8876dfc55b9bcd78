"""Meshes of other libraries: from and to trimesh, meshio, PyVista and Open3D.

The libraries are imported when they are needed, and not required. Arrays are copied where the other side may change them. What makes these libraries read files with polyhaul is in ``_accelerate``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul._io import write
from polyhaul._mesh import Mesh
from polyhaul._scene import Scene

Array = npt.NDArray[Any]


def to_trimesh(source: Mesh | Scene, **options: Any) -> Any:
    """A ``trimesh.Trimesh`` of a mesh: triangles, with normals and with uvs or else colors per vertex.

    Args:
        source: the mesh, or a scene that has one.
        options: keywords of ``trimesh.Trimesh``; ``process=False`` unless said otherwise, which keeps the vertices.
    """
    import trimesh

    mesh = _single(source).triangulate().weld()
    given: dict[str, Any] = {"vertices": mesh.positions, "faces": mesh.corner_positions.reshape(-1, 3), "process": False}
    if mesh.normals is not None:
        given["vertex_normals"] = mesh.normals
    if mesh.uvs is not None:
        given["visual"] = trimesh.visual.TextureVisuals(uv=mesh.uvs)
    elif mesh.colors is not None:
        given["vertex_colors"] = _bytes(mesh.colors)
    return trimesh.Trimesh(**(given | options))


def from_trimesh(other: Any) -> Mesh:
    """The mesh of a ``trimesh.Trimesh``, with its uvs, vertex colors, and normals if they were computed or given."""
    given: dict[str, Any] = {}
    if "vertex_normals" in other._cache:
        given |= {"normals": other.vertex_normals, "normal_domain": "vertex"}
    visual = other.visual
    if visual.kind == "texture" and visual.uv is not None:
        given |= {"uvs": visual.uv, "uv_domain": "vertex"}
    elif visual.kind == "vertex":
        given["colors"] = np.asarray(visual.vertex_colors, np.float32) / 255
    return Mesh(np.asarray(other.vertices), np.asarray(other.faces), **given)


def to_meshio(source: Mesh | Scene) -> Any:
    """A ``meshio.Mesh``: faces in blocks of one size each, in their order, uvs and normals per point if they are per vertex
    (see :meth:`polyhaul.Mesh.weld`), and columns."""
    import meshio

    mesh = _single(source)
    columns = mesh.vertex_columns.items()
    data: dict[str, Any] = {name: values for name, values in columns if isinstance(values, np.ndarray)}
    for name, domain, values in (("uvs", mesh.uv_domain, mesh.uvs), ("normals", mesh.normal_domain, mesh.normals)):
        if domain == "vertex":
            data[name] = values
    if mesh.colors is not None:
        data["colors"] = mesh.colors
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
    of_faces = {name: values for name, values in mesh.face_columns.items() if isinstance(values, np.ndarray)}
    cell_data = {
        name: [*(values[faces] for faces in blocks), *(np.zeros(count, values.dtype) for count in rest)]
        for name, values in of_faces.items()
    }
    return meshio.Mesh(mesh.positions, cells, point_data=data, cell_data=cell_data)


def from_meshio(other: Any) -> Mesh:
    """The mesh of a ``meshio.Mesh``: triangles, quads and polygons are faces, lines and vertices are lines and points. Point
    data of one number per point are columns; cell data are left out."""
    faces: list[Array] = []
    lines: list[Array] = []
    points: list[Array] = []
    for block in other.cells:
        if block.type in ("triangle", "quad", "polygon"):
            faces.append(np.asarray(block.data))
        elif block.type == "line":
            lines.append(np.asarray(block.data))
        elif block.type == "vertex":
            points.append(np.asarray(block.data).reshape(-1))
        else:
            raise ValueError(f"cells of type {block.type!r} are not faces of a surface; extract its surface first")
    given: dict[str, Any] = _of_point_data(other.point_data, len(other.points))
    if faces:
        sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in faces])
        given["corner_positions"] = np.concatenate([block.reshape(-1) for block in faces])
        given["face_offsets"] = np.concatenate([[0], np.cumsum(sizes)])
    if lines:
        given["line_positions"] = np.concatenate(lines)
    if points:
        given["points"] = np.concatenate(points)
    positions = np.asarray(other.points)
    if positions.shape[1] == 2:
        positions = np.column_stack([positions, np.zeros(len(positions), positions.dtype)])
    return Mesh(positions, **given)


def to_pyvista(source: Mesh | Scene) -> Any:
    """A ``pyvista.PolyData`` with all polygons, lines and points; texture coordinates, normals and colors per point, columns
    as point and cell data."""
    import pyvista

    mesh = _single(source)
    if {mesh.uv_domain, mesh.normal_domain} - {None, "vertex"}:
        mesh = mesh.weld()
    # VTK may write to its arrays, and those of a mesh are read-only.
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
        # A cloud shows its points.
        count = mesh.position_count
        data.verts = np.column_stack([np.ones(count, np.int64), np.arange(count)]).reshape(-1)
    for name, values in mesh.vertex_columns.items():
        if isinstance(values, np.ndarray):
            data.point_data[name] = np.array(values)
    for name, values in mesh.face_columns.items():
        if isinstance(values, np.ndarray) and data.n_cells == len(values):
            data.cell_data[name] = np.array(values)
    if mesh.normals is not None:
        data.point_data.active_normals = np.array(mesh.normals)
    if mesh.uvs is not None:
        data.active_texture_coordinates = np.array(mesh.uvs)
    if mesh.colors is not None:
        data.point_data["RGB"] = _bytes(mesh.colors[:, :3])
    return data


def from_pyvista(other: Any) -> Mesh:
    """The mesh of a ``pyvista.PolyData``: all polygons, lines and points, with normals, texture coordinates and colors, and point
    and cell data of one number as columns."""
    given: dict[str, Any] = {}
    if other.GetStrips().GetNumberOfCells():
        other = other.triangulate()
    polygons, lines = other.GetPolys(), other.GetLines()
    face_count, line_count = polygons.GetNumberOfCells(), lines.GetNumberOfCells()
    if face_count:
        given["face_offsets"], given["corner_positions"] = _cells(polygons)
    if line_count:
        given["line_offsets"], given["line_positions"] = _cells(lines)
    if other.n_verts and (face_count or line_count):
        given["points"] = _cells(other.GetVerts())[1]
    point_data = {name: np.asarray(other.point_data[name]) for name in other.point_data}
    given |= _of_point_data(point_data, other.n_points)
    if other.n_cells == face_count:
        columns = {name: np.asarray(other.cell_data[name]) for name in other.cell_data}
        given["face_columns"] = {name: values for name, values in columns.items() if values.ndim == 1 and values.dtype.kind in "fiu"}
    return Mesh(np.asarray(other.points), **given)


def write_pyvista(dataset: Any, path: Any, **options: Any) -> None:
    """Writes the surface of a data set."""
    write(from_pyvista(dataset if hasattr(dataset, "GetPolys") else dataset.extract_surface()), path, **options)


def to_open3d(source: Mesh | Scene, *, legacy: bool = False) -> Any:
    """An ``open3d.t.geometry.TriangleMesh``, or the one of Open3D's older classes: triangles with normals and colors per
    vertex, and uvs per corner. A mesh without faces is a point cloud."""
    import open3d

    mesh = _single(source)
    if not mesh.face_count:
        cloud = open3d.t.geometry.PointCloud(open3d.core.Tensor.from_numpy(np.array(mesh.positions)))
        if mesh.colors is not None:
            cloud.point.colors = open3d.core.Tensor.from_numpy(np.ascontiguousarray(mesh.colors[:, :3]))
        return cloud.to_legacy() if legacy else cloud
    mesh = mesh.triangulate().weld()
    tensor = open3d.core.Tensor.from_numpy
    faces = mesh.corner_positions.reshape(-1, 3).astype(np.int32)
    made = open3d.t.geometry.TriangleMesh(tensor(np.array(mesh.positions)), tensor(faces))
    if mesh.normals is not None:
        made.vertex.normals = tensor(np.array(mesh.normals))
    if mesh.colors is not None:
        made.vertex.colors = tensor(np.ascontiguousarray(mesh.colors[:, :3]))
    uvs = mesh.per_corner("uvs")
    if uvs is not None:
        made.triangle.texture_uvs = tensor(uvs.reshape(-1, 3, 2))
    return made.to_legacy() if legacy else made


def from_open3d(other: Any) -> Mesh:
    """The mesh of a triangle mesh or point cloud of Open3D, of its tensor classes or the older ones."""
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
    faces = other.triangle.indices.numpy() if is_mesh else None
    return Mesh(vertices.positions.numpy(), faces, **given)


def _single(source: Mesh | Scene) -> Mesh:
    """The mesh itself, or the only mesh of a scene."""
    if isinstance(source, Mesh):
        return source._without_statements()
    if not isinstance(source, Scene):
        raise TypeError(f"source is of type {type(source).__name__}; expected polyhaul.Mesh or polyhaul.Scene")
    moved = any(placed.transform is not None for placed in source.objects)
    if len(source.meshes) == 1 and not moved:
        return source.meshes[0]._without_statements()
    raise ValueError(
        "the scene has several meshes, or objects with transforms; convert its objects one by one: "
        "one.to_mesh(), and mesh.transform(one.transform) if it has a transform"
    )


def _blocks(mesh: Mesh) -> list[tuple[slice, Array]]:
    """The faces in runs of one size: which they are, and the positions of their corners."""
    if not mesh.face_count:
        return []
    offsets = mesh.face_offsets.astype(np.int64)
    sizes = np.diff(offsets)
    starts = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]
    runs = [slice(start, end) for start, end in zip(starts, starts[1:], strict=False)]
    corners = mesh.corner_positions
    return [(run, corners[offsets[run.start] : offsets[run.stop]].reshape(-1, int(sizes[run.start]))) for run in runs]


def _bytes(colors: Array) -> Array:
    """Colors from 0 to 1 as bytes; white where a file has none."""
    return np.clip(np.rint(np.nan_to_num(colors, nan=1.0) * 255), 0, 255).astype(np.uint8)


def _cells(cells: Any) -> tuple[Array, Array]:
    """The offsets and the corners of cells of VTK."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return np.array(vtk_to_numpy(cells.GetOffsetsArray())), np.array(vtk_to_numpy(cells.GetConnectivityArray()))


def _of_point_data(data: Any, count: int) -> dict[str, Any]:
    """The arguments of a mesh for arrays per point: by their names and shapes."""
    given: dict[str, Any] = {}
    columns: dict[str, Array] = {}
    for name, values in data.items():
        values = np.asarray(values)
        lower_name = name.lower().rsplit(":", 1)[-1]
        if values.dtype.kind not in "fiu" or len(values) != count:
            continue
        if values.ndim == 1:
            columns[name] = values
        elif lower_name in ("normals", "vn") and values.shape[1] == 3:
            given |= {"normals": values, "normal_domain": "vertex"}
        elif lower_name in ("uvs", "uv", "vt", "tcoords", "texture coordinates") and values.shape[1] == 2:
            given |= {"uvs": values, "uv_domain": "vertex"}
        elif lower_name in ("colors", "rgb", "rgba") and values.shape[1] in (3, 4):
            given["colors"] = values / np.float32(255) if values.dtype == np.uint8 else values
    if columns:
        given["vertex_columns"] = columns
    return given
