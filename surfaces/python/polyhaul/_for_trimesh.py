"""Loaders for trimesh that parse with polyhaul, with the keywords and results of trimesh's own loaders."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyhaul._arrays import NONE
from polyhaul._errors import Error
from polyhaul._facets import is_binary_stl, solids_of
from polyhaul._fallback import FallbackError, check_faults, check_mapped, log_fallback, log_read
from polyhaul._io import read
from polyhaul._mesh import Mesh
from polyhaul._statements import Statements, numbers_per_line, text_of

Array = npt.NDArray[Any]


def loader(before: Any, format: str, load: Callable[..., Any]) -> Any:
    """Return a loader that calls ``load`` with the bytes of a file.

    If ``load`` cannot reproduce the result exactly, the loader calls trimesh's own loader, ``before``.
    """

    def load_file(file_obj: Any, **options: Any) -> Any:
        start = file_obj.tell() if file_obj.seekable() else None
        data = file_obj.read()
        try:
            loaded = load(data.encode() if isinstance(data, str) else data, getattr(file_obj, "name", None), **options)
        except (FallbackError, Error) as reason:
            log_fallback("trimesh", format, reason)
        else:
            log_read("trimesh", format)
            return loaded
        if start is None:
            file_obj = _named(data, file_obj)
        else:
            file_obj.seek(start)
        return before(file_obj, **options)

    return load_file


def _named(data: Any, original: Any) -> Any:
    again: Any = io.StringIO(data) if isinstance(data, str) else io.BytesIO(data)
    name = getattr(original, "name", None)
    if name is not None:
        again.name = name
    return again


class Chunk(NamedTuple):
    """Consecutive faces, and the material, object and group that preceding statements set."""

    material: str | None
    object: str | None
    group: str | None
    faces: range


def load_obj(
    data: bytes,
    name: str | None,
    resolver: Any = None,
    group_material: bool = True,
    skip_materials: bool = False,
    maintain_order: bool = False,
    metadata: Any = None,
    split_objects: bool = False,
    split_groups: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Load an OBJ file like trimesh: as one mesh per material, or per object or group if requested.

    Each mesh has the vertices that it uses, one for each combination of a position, a UV and a normal.
    """
    text = text_of(data)
    text = text.replace(b"\\\n", b"") if b"\\" in text else text
    text = text.strip() if text[:1].isspace() else text
    statements = Statements(text)
    if not statements.count(b"v") and not statements.count(b"f"):
        return {"geometry": {}, "graph": []}
    mesh = _checked(read(text, format="obj", load_materials=False, precision="double", writable=True), statements)
    vertices = _Vertices(mesh, statements)
    if not mesh.face_count:
        return vertices.cloud()
    materials = {} if skip_materials else _materials(statements, resolver)
    chunks = _chunks(statements, split_objects, split_groups)
    if group_material or split_objects or split_groups:
        groups = _grouped(chunks, (group_material, split_objects, split_groups))
    else:
        groups = [(chunk, [chunk.faces]) for chunk in chunks]
    geometry: dict[str, Any] = {}
    default_name = getattr(resolver, "file_name", None) or name or "geometry"
    from trimesh.util import unique_name

    for chunk, faces in reversed(groups):
        names = [chunk.object if split_objects else None, chunk.group if split_groups else None]
        names.append(chunk.material if group_material and len(materials) > 1 else None)
        parts = [part for part in names if part is not None]
        own_name = "_".join(parts) if parts else chunk.object if chunk.object is not None else default_name
        made = options | vertices.part(_Corners(mesh, faces), maintain_order)
        made["visual"] = _visual(chunk.material, materials, made.pop("uv"), len(made["vertices"]))
        geometry[unique_name(own_name, geometry)] = made
    return {"geometry": geometry, "graph": [{"geometry": key, "frame_to": key} for key in geometry]}


def _checked(scene: Any, statements: Statements) -> Mesh:
    """Return the mesh of a file if polyhaul and trimesh find the same statements in it."""
    check_faults(scene, allowed=("empty-index", "unknown-statement", "extra-value"))
    mesh: Mesh = scene.meshes[0]
    found = (mesh.position_count, mesh.face_count)
    if found != (statements.count(b"v"), statements.count(b"f")):
        raise FallbackError("statements that trimesh skips")
    if statements.has_in_faces(b"-"):
        raise FallbackError("relative indices")
    return mesh


class _Vertices:
    """The numbers of an OBJ file as float64."""

    def __init__(self, mesh: Mesh, statements: Statements) -> None:
        self._positions = mesh.positions.astype(np.float64, copy=False)
        self._uvs = statements.numbers(b"vt")
        self._normals = statements.numbers(b"vn")
        if self._uvs is not None:
            self._uvs = self._uvs[:, :2]
        self._colors = None if mesh.colors is None else _colors(statements)

    def cloud(self) -> dict[str, Any]:
        """Return the points of a file without faces."""
        given = {"vertices": self._positions, "vertex_normals": self._normals, "vertex_colors": self._colors}
        return {name: values for name, values in given.items() if values is not None}

    def part(self, corners: _Corners, maintain_order: bool) -> dict[str, Any]:
        """Return the arguments of ``trimesh.Trimesh`` for a set of faces, and ``uv``."""
        faces, uvs, normals = corners.indices()
        at_normals = None
        if uvs is not None:
            faces, at, at_uvs, *rest = _unmerged(faces, uvs, normals, maintain_order)
            at_normals = rest[0] if rest else None
        elif normals is not None and self._normals is not None:
            faces, at, at_normals = _unmerged(faces, normals, None, maintain_order)
        else:
            at, faces = self._used(faces, maintain_order)
        made = {"vertices": self._positions[at], "faces": faces}
        made["uv"] = None if uvs is None else _rows(self._uvs, at_uvs)
        given = {"vertex_colors": _rows(self._colors, at)}
        normals = None if at_normals is None else _rows(self._normals, at_normals)
        if normals is not None and normals.shape == made["vertices"].shape:
            given["vertex_normals"] = normals
        return made | {name: values for name, values in given.items() if values is not None}

    def _used(self, faces: Array, maintain_order: bool) -> tuple[Any, Array]:
        """Return the used positions, and the faces with indices into them."""
        count = len(self._positions)
        used = np.full(count, maintain_order)
        used[faces] = True
        if used.all():
            return slice(None), faces
        numbers = np.zeros(count, np.int64)
        numbers[used] = np.arange(np.count_nonzero(used))
        return used, numbers[faces]


def _rows(values: Array | None, at: Any) -> Array | None:
    """Return the selected rows; ``None`` if a row does not exist.

    trimesh's option ``maintain_order`` can select rows that do not exist.
    """
    try:
        return None if values is None else values[at]
    except IndexError:
        return None


def _colors(statements: Statements) -> Array | None:
    """Return the colors after positions; ``None`` if some positions do not have a color, like trimesh."""
    try:
        values = statements.numbers(b"v")
    except FallbackError:
        if statements.fewest_numbers(b"v") < 6:
            return None
        raise
    return None if values is None else values[:, 3:6]


def _unmerged(faces: Array, first: Array, second: Array | None, maintain_order: bool) -> Any:
    from trimesh.visual.texture import unmerge_faces

    return unmerge_faces(faces, first, *(() if second is None else (second,)), maintain_faces=maintain_order)


class _Corners:
    """The indices of the corners of a set of faces, as trimesh parses them.

    They are rows if the lines of all faces have the same number of values, and triangles otherwise.
    """

    def __init__(self, mesh: Mesh, faces: list[range]) -> None:
        offsets = mesh.face_offsets
        is_all = len(faces) == 1 and len(faces[0]) == mesh.face_count
        sizes = np.diff(offsets)
        self._sizes = sizes if is_all else np.concatenate([sizes[run.start : run.stop] for run in faces])
        cuts = [slice(int(offsets[run.start]), int(offsets[run.stop])) for run in faces]

        def of(stream: Array | None) -> Array | None:
            if stream is None:
                return None
            return stream if is_all else np.concatenate([stream[cut] for cut in cuts])

        self._streams = [of(stream) for stream in (mesh.corner_positions, mesh.corner_uvs, mesh.corner_normals)]

    def indices(self) -> tuple[Array, Array | None, Array | None]:
        """Return (f, k) int64: positions, UVs and normals; ``None`` if some corners do not have UVs or normals."""
        positions, *others = self._streams
        missing = [None if stream is None else stream == NONE for stream in others]
        is_partial = any(some is not None and bool(some.any()) and not bool(some.all()) for some in missing)
        streams = [None if positions is None else positions.astype(np.int64)]
        for stream, some in zip(others, missing, strict=True):
            streams.append(None if stream is None or some is None or bool(some.any()) else stream.astype(np.int64))
        if is_partial and self._has_even_lines(missing):
            raise FallbackError("corners with and without UVs or normals on lines with the same number of values")
        if not is_partial and bool((self._sizes == self._sizes[0]).all()):
            shape = (-1, int(self._sizes[0]))
            return tuple(None if stream is None else stream.reshape(shape) for stream in streams)  # type: ignore[return-value]
        at = _fans(self._sizes.astype(np.int64))
        return tuple(None if stream is None else stream[at] for stream in streams)  # type: ignore[return-value]

    def _has_even_lines(self, missing: list[Array | None]) -> bool:
        numbers = np.ones(int(self._sizes.sum()), np.int64) + sum(~some for some in missing if some is not None)
        starts = np.concatenate([[0], np.cumsum(self._sizes, dtype=np.int64)[:-1]])
        counts = np.add.reduceat(numbers, starts)
        return bool((counts == counts[0]).all())


def _fans(sizes: Array) -> Array:
    """Return (t, 3): the corners of the triangles of polygons.

    Quads are split along the diagonal from the first to the third corner, and the second triangle starts at the third
    corner.
    """
    starts = np.cumsum(sizes) - sizes
    counts = sizes - 2
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(starts, counts)
    triangles = np.stack([first, first + number + 1, first + number + 2], axis=1)
    is_second = (np.repeat(sizes, counts) == 4) & (number == 1)
    triangles[is_second] = np.roll(triangles[is_second], -1, axis=1)
    return triangles


def _chunks(statements: Statements, split_objects: bool, split_groups: bool) -> list[Chunk]:
    """Split the faces at material statements, and at objects and groups if requested."""
    material: str | None = None
    object_name: str | None = None
    group: str | None = None
    chunks: list[Chunk] = []
    start, is_first = 0, True
    end = statements.count(b"f")
    for text, face in [*statements.remarks, (b"usemtl ", end)]:
        at = text.find(b"usemtl ")
        keyword = text[:2]
        is_split = (split_objects and keyword == b"o ") or (split_groups and keyword == b"g ")
        is_start = is_first and keyword in (b"o ", b"g ") and not face
        if at > 0 or (at == 0 and is_split):
            raise FallbackError("usemtl inside a line")
        if at == 0 or is_split:
            if face > start:
                chunks.append(Chunk(material, object_name, group, range(start, face)))
            start = face
        if at == 0:
            material = text[7:].decode().strip()
        elif keyword == b"o " and (is_split or is_start):
            object_name = text[2:].decode().strip()
        elif keyword == b"g " and (is_split or is_start):
            group = text[2:].decode().strip()
        is_first = is_first and at != 0 and keyword not in (b"o ", b"g ", b"s ") and not face
    return chunks


def _grouped(chunks: list[Chunk], by: tuple[bool, bool, bool]) -> list[tuple[Chunk, list[range]]]:
    """Return the chunks grouped by the selected keys, in order of first use."""
    last: dict[Any, Chunk] = {}
    faces: dict[Any, list[range]] = {}
    for chunk in chunks:
        key = tuple(value if is_key else None for value, is_key in zip(chunk[:3], by, strict=True))
        last[key] = chunk
        faces.setdefault(key, []).append(chunk.faces)
    return [(last[key], runs) for key, runs in faces.items()]


def _materials(statements: Statements, resolver: Any) -> dict[str, Any]:
    """Return the materials of the first library in the file, parsed by trimesh."""
    for text, _ in statements.remarks:
        at = text.find(b"mtllib")
        if at >= 0:
            break
    else:
        return {}
    from trimesh.exchange.obj import parse_mtl
    from trimesh.visual.material import SimpleMaterial

    try:
        plain = parse_mtl(resolver[text[at + 6 :].decode().strip()], resolver=resolver)
        return {name: SimpleMaterial(**values) for name, values in plain.items()}
    except BaseException:  # like trimesh, which continues without materials
        return {}


def _visual(material: str | None, materials: dict[str, Any], uv: Array | None, vertex_count: int) -> Any:
    from trimesh.visual.texture import TextureVisuals

    if material in materials:
        return TextureVisuals(uv=uv, material=materials[material])
    return TextureVisuals(uv=uv) if uv is not None and len(uv) == vertex_count else None


def load_stl(data: bytes, name: str | None, **options: Any) -> dict[str, Any]:
    """Load an STL file like trimesh: three vertices per triangle, the normals of the file, and names or attributes."""
    if is_binary_stl(data):
        return _binary_stl(data)
    from trimesh.util import unique_name

    made: dict[str, Any] = {}
    for solid in solids_of(text_of(data).strip()):
        corners = solid.corners.reshape(-1, 3)
        own_name = unique_name(solid.name, made)
        made[own_name] = {
            "vertices": corners,
            "face_normals": solid.normals,
            "faces": np.arange(len(corners)).reshape(-1, 3),
            "metadata": {"name": own_name},
        }
    return next(iter(made.values())) if len(made) == 1 else {"geometry": made}


def _binary_stl(data: bytes) -> dict[str, Any]:
    check_mapped(data)
    mesh = read(data, format="stl", precision="single", writable=True).meshes[0]
    if not mesh.face_count:
        return {"geometry": {}}
    attributes = mesh.face_columns.get("attribute")
    normals = mesh.normals
    if mesh.normal_domain != "face" or 3 * mesh.face_count != mesh.position_count:
        raise FallbackError("triangles without normals")
    given: dict[str, Any] = {
        "vertices": mesh.positions,
        "face_normals": normals,
        "faces": np.arange(np.uint32(3 * mesh.face_count)).reshape(-1, 3),
        "face_attributes": {"stl": np.zeros(mesh.face_count, np.uint16) if attributes is None else attributes},
    }
    from trimesh.util import decode_text

    try:
        given["metadata"] = {"header": decode_text(data[:80]).strip()}
    except BaseException:  # like trimesh, which continues without a header
        given["metadata"] = {}
    return given


def load_off(data: bytes, name: str | None, **options: Any) -> dict[str, Any]:
    """Load an OFF file like trimesh: its triangles, followed by the triangles of its quads and of other polygons."""
    from trimesh.geometry import triangulate_quads
    from trimesh.util import comment_strip

    text = text_of(data)
    if b"#" in text:
        text = comment_strip(text.decode()).encode()
    if re.match(rb"C?OFF[\s\d]", text := text.lstrip()) is None:
        raise FallbackError("a header in an unexpected form")
    mesh = read(text, format="off", precision="double", writable=True).meshes[0]
    if not mesh.face_count or len(mesh.points) or len(mesh.line_positions):
        raise FallbackError("no faces, or some with fewer than three corners")
    sizes = np.diff(mesh.face_offsets.astype(np.int64))
    _check_off_rows(text, np.full(mesh.position_count, 3), sizes + 1)
    offsets = mesh.face_offsets.astype(np.int64)
    corners = mesh.corner_positions.astype(np.int64)
    is_even = bool((sizes == sizes[0]).all())
    if not is_even and int(sizes.max()) > 4:
        raise FallbackError("faces of different sizes, some with more than four corners")
    faces: Any = corners.reshape(-1, int(sizes[0])) if is_even else np.split(corners, offsets[1:-1])
    return {"vertices": mesh.positions.astype(np.float64, copy=False), "faces": triangulate_quads(faces)}


def _check_off_rows(text: bytes, vertices: Array, faces: Array) -> None:
    """Raise ``FallbackError`` unless each vertex and each face is a line with at least the expected number of words.

    All vertex lines must have the same number of words.
    """
    expected = np.concatenate([vertices, faces])
    words = numbers_per_line(text)
    words = words[words > 0]
    rows = words[2 if words[0] == 1 else 1 :]
    if len(rows) != len(expected) or bool((rows < expected).any()) or bool(np.diff(rows[: len(vertices)]).any()):
        raise FallbackError("rows that are not lines")
