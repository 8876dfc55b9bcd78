"""The calls that look into files: info, validate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from polyhaul import _options, _polyhaul
from polyhaul._errors import Error
from polyhaul._io import opened_reading
from polyhaul._material import Vector
from polyhaul._option_types import FormatName, ReadOptions
from polyhaul._progress import Progress
from polyhaul._report import Report, Warnings, report_from_plain
from polyhaul._sources import Resolver, Source


@dataclass(frozen=True, slots=True)
class DeclaredProperty:
    """A property of a row: a number, or a list of numbers."""

    #: The name.
    name: str
    #: The type of the number, or of those of the list.
    dtype: np.dtype[Any]
    #: Whether it is a list.
    is_list: bool


@dataclass(frozen=True, slots=True)
class DeclaredElement:
    """A kind of row, such as the vertices of a PLY file."""

    #: The name, such as ``"vertex"``.
    name: str
    #: How many rows there are.
    count: int
    #: The properties of a row, in the file's order.
    properties: tuple[DeclaredProperty, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a file declares before its rows: the header of a PLY file."""

    #: ``"PLY ascii"``, ``"PLY binary little endian"`` or ``"PLY binary big endian"``.
    format: str
    #: The elements, in the file's order.
    elements: tuple[DeclaredElement, ...]
    #: The comments, in the file's order.
    comments: tuple[str, ...]
    #: The remarks about the object (``obj_info``), in the file's order.
    infos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileSummary:
    """Files of one kind that a scene consists of."""

    #: How many there are. A file that is included twice is read twice, and counts twice.
    count: int
    #: How many are named and missing; they are not in ``count``.
    missing: int
    #: Their bytes as they are stored, compressed or not. Textures that a resolver has are not counted.
    bytes: int
    #: What those bytes came to when they were decompressed; ``None`` for files that were not read.
    plain_bytes: int | None


@dataclass(frozen=True, slots=True)
class RenderInfo:
    """The contents of a renderer scene (pbrt)."""

    #: Shapes, those of object definitions once.
    shapes: int
    #: Object definitions that instances may show.
    definitions: int
    #: Instances.
    instances: int
    #: Positions of all meshes; ``None`` where some were not read.
    positions: int | None
    #: Triangles of all meshes, each once; ``None`` where some were not read.
    unique_triangles: int | None
    #: Triangles as a renderer sees them: those of a definition once per instance; ``None`` where some were not read.
    instanced_triangles: int | None
    #: Shapes whose PLY file was not read: it is missing, or ``load_meshes`` is off.
    unread_meshes: int
    #: Materials, named and not.
    materials: int
    #: Textures.
    textures: int
    #: Lights.
    lights: int
    #: Lights that shapes give.
    area_lights: int
    #: Media.
    media: int
    #: How many shapes of each class there are.
    classes: Mapping[str, int]
    #: How often each directive stands in the files.
    directives: Mapping[str, int]
    #: The files by kind: ``"pbrt"``, ``"ply"``, ``"texture"``. A kind that could not be looked for is not there.
    files: Mapping[str, FileSummary]
    #: The images that textures, materials, lights and shapes name: sorted, each once.
    texture_files: tuple[str, ...]
    #: Those of them that do not exist, or are not regular files.
    missing_textures: tuple[str, ...]
    #: Those of them that lie outside the scene's folder; reading them needs ``allow_outside=True``.
    outside_textures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The contents of a file: counts over all its meshes, bounds and names."""

    #: Objects: named sections of meshes.
    objects: int
    #: Positions.
    positions: int
    #: Texture coordinates.
    uvs: int
    #: Normals.
    normals: int
    #: Colours of positions.
    colors: int
    #: Faces of any size.
    faces: int
    #: Faces of three corners.
    triangles: int
    #: Faces of four corners.
    quads: int
    #: All other faces.
    polygons: int
    #: Corners of all faces.
    corners: int
    #: Polylines.
    lines: int
    #: Points.
    points: int
    #: Free-form curves.
    curves: int
    #: Distinct group statements.
    groups: int
    #: Materials, those that no library defines included.
    materials: int
    #: Materials that are used and that no library defines.
    missing_materials: int
    #: Texture maps of all materials.
    textures: int
    #: The box around all finite positions, its smallest and its largest x, y, z; ``None`` where there are none.
    bounds: tuple[Vector, Vector] | None
    #: The name of each object, in file order; empty for what was not named.
    object_names: tuple[str, ...]
    #: The name of each material.
    material_names: tuple[str, ...]
    #: The material libraries, as the file names them.
    material_libraries: tuple[str, ...]
    #: The files that texture maps name, sorted, each once.
    texture_files: tuple[str, ...]
    #: What the header of a PLY file says; ``None`` for other formats.
    declared: Declared | None
    #: What a scene for a renderer holds (pbrt), where the counts above are 0; ``None`` for other formats.
    render: RenderInfo | None
    #: What reading did, with its warnings.
    report: Report


@dataclass(frozen=True, slots=True)
class Validation:
    """The problems of a file. True if it is valid."""

    #: Whether the file keeps the rules of its format: a read succeeds, and no complaint is a fault.
    valid: bool
    #: The error that ends a plain read, where one does.
    error: Error | None
    #: What reading did.
    report: Report

    @property
    def complaints(self) -> Warnings:
        """All problems, with their places: the first 1,000 and the counts of all."""
        return self.report.warnings

    def __bool__(self) -> bool:
        return self.valid


def info(
    source: Source,
    *,
    format: FormatName | None = None,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Info:
    """Returns the contents of a file, without creating arrays for Python.

    Textures of a pbrt scene, and its PLY files with ``load_meshes=False``, are looked up but not opened: missing ones
    are warnings in ``report``.

    The arguments and the exceptions are those of :func:`polyhaul.read`.
    """
    native = _options.read_options(options, format)
    with opened_reading(source, native, resolver, progress, "reading") as reading:
        plain, plain_report = _polyhaul.info(reading)
    bounds, declared, render = plain.pop("bounds"), plain.pop("declared"), plain.pop("render")
    lists: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
    return Info(
        **lists,
        bounds=bounds and (tuple(bounds[0]), tuple(bounds[1])),
        declared=declared and _declared(*declared),
        render=render and _render(render),
        report=report_from_plain(plain_report),
    )


def _render(plain: dict[str, Any]) -> RenderInfo:
    if plain["unread_meshes"]:
        plain |= dict.fromkeys(("positions", "unique_triangles", "instanced_triangles"))
    for name in ("texture_files", "missing_textures", "outside_textures"):
        plain[name] = tuple(plain[name])
    files = {kind: FileSummary(*counts) for kind, *counts in plain.pop("files")}
    return RenderInfo(**plain, files=files)


def _declared(format: str, elements: list[Any], comments: list[str], infos: list[str]) -> Declared:
    return Declared(
        format,
        tuple(
            DeclaredElement(name, count, tuple(DeclaredProperty(property_name, np.dtype(kind), many) for property_name, kind, many in properties))
            for name, count, properties in elements
        ),
        tuple(comments),
        tuple(infos),
    )


def validate(
    source: Source,
    *,
    format: FormatName | None = None,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Validation:
    """Reads a file to its end and lists all of its problems.

    Besides the problems found while reading, these are ``degenerate-face`` (a face uses a position twice), and, for
    files and with a ``resolver``, ``missing-texture`` and ``outside-texture``. A source with problems is read twice.

    The arguments are those of :func:`polyhaul.read`. Only faults make a file invalid: problems whose ``severity`` is
    ``"fault"``, and errors. What polyhaul cannot represent does not.

    Returns:
        The problems; true if the file is valid: ``if polyhaul.validate(path): ...``.

    Raises:
        polyhaul.IoError: the source cannot be opened or read. Problems of its data do not raise exceptions here.
    """
    native = _options.read_options(options, format)
    with opened_reading(source, native, resolver, progress, "validating") as reading:
        valid, error, plain_report = _polyhaul.validate(reading)
    return Validation(valid, error, report_from_plain(plain_report))
