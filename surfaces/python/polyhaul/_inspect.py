"""File inspection: info, validate."""

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
    """A property of an element: a number, or a list of numbers."""

    #: The name.
    name: str
    #: The type of the number, or of the numbers in the list.
    dtype: np.dtype[Any]
    #: Whether the property is a list.
    is_list: bool


@dataclass(frozen=True, slots=True)
class DeclaredElement:
    """An element of a file, such as the vertices of a PLY file."""

    #: The name, such as ``"vertex"``.
    name: str
    #: The number of rows.
    count: int
    #: The properties of each row, in file order.
    properties: tuple[DeclaredProperty, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """The header of a PLY file."""

    #: ``"PLY ascii"``, ``"PLY binary little endian"`` or ``"PLY binary big endian"``.
    format: str
    #: The elements, in file order.
    elements: tuple[DeclaredElement, ...]
    #: The comments, in file order.
    comments: tuple[str, ...]
    #: The remarks about the object (``obj_info``), in file order.
    infos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileSummary:
    """A summary of the files of one kind that a scene refers to."""

    #: The number of existing files. A file that is included twice is read twice and counted twice.
    count: int
    #: The number of missing files, which are not included in ``count``.
    missing: int
    #: The total stored size in bytes, compressed or not. Textures provided by a resolver are not counted.
    bytes: int
    #: The total size in bytes after decompression; ``None`` for files that were not read.
    plain_bytes: int | None


@dataclass(frozen=True, slots=True)
class RenderInfo:
    """The contents of a renderer scene (pbrt)."""

    #: The number of shapes. Shapes of object definitions are counted once.
    shapes: int
    #: The number of object definitions that instances can refer to.
    definitions: int
    #: The number of instances.
    instances: int
    #: The number of positions of all meshes; ``None`` if some meshes were not read.
    positions: int | None
    #: The number of triangles of all meshes, without instancing; ``None`` if some meshes were not read.
    unique_triangles: int | None
    #: The number of triangles that a renderer sees: triangles of definitions are counted once per instance; ``None`` if
    #: some meshes were not read.
    instanced_triangles: int | None
    #: The number of shapes whose PLY file was not read, because it is missing or ``load_meshes`` is off.
    unread_meshes: int
    #: The number of materials, named and unnamed.
    materials: int
    #: The number of textures.
    textures: int
    #: The number of lights that are not area lights.
    lights: int
    #: The number of area lights.
    area_lights: int
    #: The number of media.
    media: int
    #: The number of shapes by type.
    classes: Mapping[str, int]
    #: The number of occurrences of each directive in the files.
    directives: Mapping[str, int]
    #: The files by kind: ``"pbrt"``, ``"ply"``, ``"texture"``. Kinds that could not be looked up are omitted.
    files: Mapping[str, FileSummary]
    #: The distinct image files that textures, materials, lights and shapes refer to, sorted.
    texture_files: tuple[str, ...]
    #: The files in ``texture_files`` that do not exist or are not regular files.
    missing_textures: tuple[str, ...]
    #: The files in ``texture_files`` outside the scene's folder. Reading them requires ``allow_outside=True``.
    outside_textures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The contents of a file: total counts of all meshes, bounds and names."""

    #: The number of objects, which are named sections of meshes.
    objects: int
    #: The number of positions.
    positions: int
    #: The number of texture coordinates.
    uvs: int
    #: The number of normals.
    normals: int
    #: The number of colors of positions.
    colors: int
    #: The number of faces of any size.
    faces: int
    #: The number of faces with three corners.
    triangles: int
    #: The number of faces with four corners.
    quads: int
    #: The number of faces with more than four corners.
    polygons: int
    #: The number of corners of all faces.
    corners: int
    #: The number of polylines.
    lines: int
    #: The number of point elements.
    points: int
    #: The number of free-form curves.
    curves: int
    #: The number of distinct group statements.
    groups: int
    #: The number of materials, including materials that are not defined in any library.
    materials: int
    #: The number of materials that are used but not defined in any library.
    missing_materials: int
    #: The number of texture maps of all materials.
    textures: int
    #: The minimum and maximum x, y, z of all finite positions; ``None`` if no position is finite.
    bounds: tuple[Vector, Vector] | None
    #: The name of each object, in file order; empty for unnamed objects.
    object_names: tuple[str, ...]
    #: The name of each material.
    material_names: tuple[str, ...]
    #: The names of the material libraries in the file.
    material_libraries: tuple[str, ...]
    #: The distinct files that texture maps refer to, sorted.
    texture_files: tuple[str, ...]
    #: The header of a PLY file; ``None`` for other formats.
    declared: Declared | None
    #: The contents of a renderer scene (pbrt), for which the counts above are 0; ``None`` for other formats.
    render: RenderInfo | None
    #: The report of reading, with its warnings.
    report: Report


@dataclass(frozen=True, slots=True)
class Validation:
    """The problems of a file. Truthy if the file is valid."""

    #: Whether the file conforms to its format: reading succeeds, and no problem has the severity ``"fault"``.
    valid: bool
    #: The error that a read raises; ``None`` if reading succeeds.
    error: Error | None
    #: The report of reading.
    report: Report

    @property
    def complaints(self) -> Warnings:
        """All problems, with their locations. Includes the first 1,000 problems and the counts of all of them."""
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
    """Return a summary of the contents of a file, without creating arrays.

    Textures of a pbrt scene, and its PLY files with ``load_meshes=False``, are looked up but not opened. Missing files
    are warnings in ``report``.

    The arguments and exceptions are the same as for :func:`polyhaul.read`.
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
    """Read a whole file and list its problems.

    Besides the problems found while reading, it reports ``degenerate-face`` (a face uses a position twice), and, for
    files or with a ``resolver``, ``missing-texture`` and ``outside-texture``. A source with problems is read twice.

    The arguments are the same as for :func:`polyhaul.read`. A file is invalid if reading raises an error or a problem
    has the ``severity`` ``"fault"``. Features that polyhaul cannot represent do not make a file invalid.

    Returns:
        The problems. The result is truthy if the file is valid: ``if polyhaul.validate(path): ...``.

    Raises:
        polyhaul.IoError: the source cannot be opened or read. Invalid data does not raise exceptions.
    """
    native = _options.read_options(options, format)
    with opened_reading(source, native, resolver, progress, "validating") as reading:
        valid, error, plain_report = _polyhaul.validate(reading)
    return Validation(valid, error, report_from_plain(plain_report))
