"""Makes other libraries read files with polyhaul: the same results, faster.

A reader here takes over only what it returns exactly as the library's own reader would; every other file goes to that one,
and so does a file that polyhaul rejects, for the library's own error. Conversions on request are in ``_interop``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from polyhaul import _polyhaul
from polyhaul._errors import Error
from polyhaul._interop import from_pyvista
from polyhaul._io import read, write
from polyhaul._mesh import Mesh, mesh_from_native

#: What puts back the readers that were replaced.
_undo: list[Callable[[], None]] = []


class _NotExact(Exception):
    """What polyhaul has read is not what the other library would return."""


def accelerate(enable: bool = True) -> tuple[str, ...]:
    """Makes trimesh, meshio and PyVista use polyhaul, as far as they are installed:

    - trimesh reads OBJ files that have only positions and triangles
    - meshio reads OBJ and binary STL
    - PyVista writes OBJ; it reads OBJ, PLY and STL with polyhaul if the package ``polyhaul-pyvista`` is installed

    They return what they returned before; of OBJ files, only texture coordinates and normals are rounded to float32. Everything
    else is read by their own readers.

    Args:
        enable: ``False`` undoes it.

    Returns:
        The names of the libraries.
    """
    while _undo:
        _undo.pop()()
    if not enable:
        return ()
    return tuple(name for name, install in (("trimesh", _trimesh), ("meshio", _meshio), ("pyvista", _pyvista)) if install())


def _replace(table: dict[str, Any], key: str, make: Callable[[Any], Any]) -> None:
    before = table[key]
    table[key] = make(before)
    _undo.append(lambda: table.__setitem__(key, before))


def _trimesh() -> bool:
    try:
        from trimesh.exchange import load
    except ImportError:
        return False
    _replace(load.mesh_loaders, "obj", lambda before: _loader(before, "obj", _trimesh_obj))
    return True


def _loader(before: Any, format: Any, convert: Callable[[Mesh, Any], Any]) -> Any:
    """A loader of trimesh that reads with polyhaul what ``convert`` can convert."""

    def load(file_obj: Any, *arguments: Any, **options: Any) -> Any:
        data = file_obj.read()
        data = data.encode() if isinstance(data, str) else data
        asks_for_more = any(options.get(name) for name in _ASKED)
        if not asks_for_more and not arguments:
            try:
                scene = read(data, format=format, load_materials=False, precision="double")
                return convert(_plain_mesh(scene), options | {"name": getattr(file_obj, "name", None)})
            except (_NotExact, Error):
                pass
        return before(_named(data, file_obj), *arguments, **options)

    return load


#: Options of trimesh's loaders that change what is returned.
_ASKED = ("split_objects", "split_groups", "maintain_order", "metadata", "prefer_color")


def _named(data: bytes, original: Any) -> Any:
    again = io.BytesIO(data)
    name = getattr(original, "name", None)
    if name is not None:
        again.name = name
    return again


def _plain_mesh(scene: Any) -> Mesh:
    """The mesh of a scene that has one, and no materials."""
    if len(scene.meshes) != 1 or scene.materials or scene.material_libraries:
        raise _NotExact
    mesh: Mesh = scene.meshes[0]
    sizes = mesh.face_offsets
    is_triangles = len(sizes) > 1 and len(mesh.corner_positions) == 3 * (len(sizes) - 1)
    if not is_triangles or bool((np.diff(sizes) != 3).any()) or mesh.curves:
        raise _NotExact
    return mesh


def _trimesh_obj(mesh: Mesh, options: dict[str, Any]) -> Any:
    """What trimesh makes of an OBJ file with positions and triangles alone: the positions that are used, in order."""
    if mesh.uvs is not None or mesh.normals is not None or mesh.colors is not None or len(mesh.line_positions):
        raise _NotExact
    if len(mesh._data["group_runs"] if mesh._data["group_runs"] is not None else ()):
        raise _NotExact
    used = _polyhaul.mesh_section(mesh._to_native(), (0,) * 7, mesh._counts, True)
    arrays = used.arrays()
    vertices = mesh_from_native(used, ()).positions.astype(np.float64)
    faces = np.frombuffer(arrays["faces"][1], np.uint32).reshape(-1, 3).astype(np.int64)
    resolver = options.get("resolver")
    name = getattr(resolver, "file_name", None) or options["name"] or "geometry"
    geometry = {name: {"vertices": vertices, "faces": faces, "visual": None}}
    return {"geometry": geometry, "graph": [{"geometry": name, "frame_to": name}]}


def _meshio() -> bool:
    try:
        from meshio import _helpers
    except ImportError:
        return False
    _replace(_helpers.reader_map, "obj", lambda before: _reader(before, "obj", _meshio_obj))
    _replace(_helpers.reader_map, "stl", lambda before: _reader(before, "stl", _meshio_stl))
    return True


def _reader(before: Any, format: Any, convert: Callable[[Any], Any]) -> Any:
    """A reader of meshio that reads with polyhaul what ``convert`` can convert."""

    def read_file(filename: Any) -> Any:
        if isinstance(filename, str) or hasattr(filename, "__fspath__"):
            try:
                if format != "stl" or _is_binary_stl(filename):
                    return convert(read(filename, format=format, load_materials=False, weld=True, precision=_PRECISION[format]))
            except (_NotExact, Error):
                pass
        return before(filename)

    return read_file


#: What keeps coordinates as meshio returns them.
_PRECISION: dict[str, Any] = {"obj": "double", "stl": "single"}


def _meshio_obj(scene: Any) -> Any:
    """What meshio makes of an OBJ file: blocks of faces of one size, which end where a group begins."""
    import meshio

    if len(scene.meshes) != 1:
        raise _NotExact
    mesh = scene.meshes[0]
    if not mesh.face_count or mesh.colors is not None or mesh.position_weights is not None or mesh.curves:
        raise _NotExact
    offsets, corners = mesh.face_offsets.astype(np.int64), mesh.corner_positions.astype(np.int64)
    sizes = np.diff(offsets)
    runs = mesh._data["group_runs"]
    starts_of_groups = np.empty(0, np.int64) if runs is None else runs[:, 3].astype(np.int64)
    starts = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(sizes)) + 1, starts_of_groups]))
    starts = starts[starts < len(sizes)]
    ends = np.append(starts[1:], len(sizes))
    groups = np.searchsorted(starts_of_groups, starts, side="right") - 1
    cells, ids = [], []
    for start, end, group in zip(starts, ends, groups, strict=True):
        size = int(sizes[start])
        kind = {3: "triangle", 4: "quad"}.get(size, "polygon")
        cells.append((kind, corners[offsets[start] : offsets[end]].reshape(-1, size)))
        ids.append([int(group)] * int(end - start))
    data = {}
    if mesh.uvs is not None and mesh.uv_depths is None:
        data["obj:vt"] = mesh.uvs.astype(np.float64)
    elif mesh.uvs is not None:
        raise _NotExact
    if mesh.normals is not None:
        data["obj:vn"] = mesh.normals.astype(np.float64)
    return meshio.Mesh(mesh.positions.astype(np.float64), cells, point_data=data, cell_data={"obj:group_ids": ids})


def _meshio_stl(scene: Any) -> Any:
    """What meshio makes of a binary STL file: its different positions in the order in which they first occur."""
    import meshio

    mesh = scene.meshes[0]
    if not mesh.face_count or np.isnan(mesh.positions).any():
        raise _NotExact
    return meshio.Mesh(np.array(mesh.positions), [("triangle", mesh.corner_positions.reshape(-1, 3).astype(np.int64))])


def _is_binary_stl(path: Any) -> bool:
    """Whether the size of a file is that of as many triangles as it says."""
    with open(path, "rb") as file:
        head = file.read(84)
        return len(head) == 84 and file.seek(0, io.SEEK_END) == 84 + 50 * int.from_bytes(head[80:], "little")


def _pyvista() -> bool:
    try:
        from pyvista.core.utilities import writer_registry
    except ImportError:
        return False
    # The writers of PLY and STL have options that a registered writer does not get.
    writers = getattr(writer_registry, "_custom_ext_writers", None)
    if writers is None:
        return False
    writer_registry.register_writer(".obj", _write_pyvista, override=True)
    _undo.append(lambda: writers.pop(".obj", None))
    return True


def _write_pyvista(dataset: Any, path: Any, **options: Any) -> None:
    """Writes the surface of a data set."""
    write(from_pyvista(dataset if hasattr(dataset, "GetPolys") else dataset.extract_surface()), path, **options)
