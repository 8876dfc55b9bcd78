"""The calls that move scenes: read, write, convert. Those that look into them are in ``_inspect``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Unpack

import numpy.typing as npt

from polyhaul import _options, _polyhaul
from polyhaul._mesh import Mesh
from polyhaul._options import AxisName, CompressionName, FormatName, Limits, Rate, WriteOptions
from polyhaul._progress import Progress, reporter
from polyhaul._report import PolyhaulWarning, Report, report_from_plain
from polyhaul._scene import Scene, scene_from_plain
from polyhaul._sources import Resolver, Source, Target, opened_resolver, opened_source, opened_target

#: What to do with data that breaks its format's rules.
OnError = Literal["raise", "warn"]


class Reading(NamedTuple):
    """A source that is open and how to read it, as native code takes them."""

    source: dict[str, Any]
    options: dict[str, Any]
    progress: Progress | None


@contextmanager
def opened_reading(
    source: Source, options: dict[str, Any], resolver: Resolver | None, progress: Progress | bool | None, label: str
) -> Iterator[Reading]:
    """What calls that read are made with, while all of it is open."""
    with (
        opened_source(source) as plain,
        opened_resolver(resolver, source) as answer,
        reporter(progress, label) as report_progress,
    ):
        yield Reading(plain, options | {"resolver": answer}, report_progress)


def read(
    source: Source,
    *,
    format: FormatName | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    read_rate: Rate | None = None, read_latency: float | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
    limits: Limits | None = None,
    load_materials: bool = True,
    load_meshes: bool = True,
    flatten: bool = True,
    weld: bool = False,
    forward_axis: AxisName | None = None, up_axis: AxisName | None = None, scale: float = 1.0,
    writable: bool = False,
    allow_outside: bool = False,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
) -> Scene:
    """Reads a scene. Its arrays are read-only views of the memory that the file was parsed into.

    Other Python threads run meanwhile, and Ctrl-C works. Exceptions of callbacks and file objects are raised unchanged.

    Args:
        source: a path, a URL, bytes (any buffer: it is not copied, and must not change meanwhile), or a
            file object in binary mode, which is read from its current position in calls of at least 64 KiB, on this
            thread. Compressed data (gzip, zstd, lz4) is detected.
        format: ``"obj"``, ``"ply"``, ``"stl"``, ``"xyz"`` and so on; ``None`` infers it from the name or the content. Data
            without an array is in ``vertex_columns`` and ``face_columns`` of the mesh, and in ``scene.tables``.
        threads: worker threads; ``None`` for all cores that the process may use. No result depends on it.
        memory_limit: memory for work in progress, in addition to the arrays, in bytes or as text such as ``"256MB"`` (64 MiB).
        read_rate, read_latency: simulate a slower device: bytes per second (a number, or text such as ``"500MB"``) over
            all files, counting compressed bytes; and additional seconds per call.
        on_error: ``"raise"`` stops at the first invalid statement; ``"warn"`` skips invalid statements, counts
            them in ``scene.report.warnings`` and issues one :class:`polyhaul.PolyhaulWarning`.
        strict: raise for each warning, such as that for a missing material library.
        limits: caps on what the data may demand.
        load_materials: whether to read material libraries that the file refers to.
        load_meshes: whether to read the PLY files that a pbrt scene refers to. Otherwise only their names are kept.
        flatten: whether to convert a pbrt scene to meshes and objects with transforms, one per shape and instance, without
            spheres, curves, lights and so on. ``False`` keeps everything, as ``scene.render``.
        weld: merge positions with the same coordinates (STL).
        forward_axis, up_axis, scale: turn the scene so that these axes face forward and up (``"Y"``, ``"Z"`` for Blender;
            ``None`` keeps those of the format), and multiply positions.
        writable: whether arrays of meshes, apart from columns, may be written to, which changes the meshes.
        allow_outside: whether files that the scene refers to may be outside its folder.
        resolver: called as ``resolver(name)``, on this thread, for each file that the scene refers to; the result
            (bytes, a path, or a file object in binary mode) is read in place of a file next to the scene. ``None``
            means that the file is looked up next to the scene. ``dict.get`` is a resolver. Names may be hostile.
        progress: called as ``progress(done, total)`` with bytes, ``total`` being ``None`` if unknown, on this
            thread, at most 20 times a second and once at the end; ``True`` shows a bar (with tqdm).

    Returns:
        The scene; ``scene.report`` has the measurements and all warnings.

    Raises:
        polyhaul.MalformedError: the data is invalid; the exception has the place.
        polyhaul.LimitError: the data demands more than ``limits`` allow.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``FileNotFoundError``.
        TypeError, ValueError: an invalid argument.
    """
    options = _options.read_options(
        format=format, threads=threads, memory_limit=memory_limit, limits=limits, allow_outside=allow_outside,
        on_error=on_error, strict=strict, load_materials=load_materials, load_meshes=load_meshes, weld=weld,
        pace=(read_rate, read_latency),
    )
    turn = _turn(forward_axis, up_axis, scale)
    with opened_reading(source, options, resolver, progress, "reading") as reading:
        scene, done = _polyhaul.read(*reading, bool(flatten), turn, bool(writable))
    report = report_from_plain(done)
    warn_of(report, on_error, reading)
    return scene_from_plain(scene, report)


def write(
    scene: Scene | Mesh | tuple[npt.ArrayLike, ...],
    target: Target,
    *,
    format: FormatName | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    write_rate: Rate | None = None, write_latency: float | None = None,
    strict: bool = False,
    durable: bool = False,
    compression: CompressionName | None = None,
    level: int | None = None,
    progress: Progress | bool | None = None,
    **written: Unpack[WriteOptions],
) -> Report:
    """Writes a scene, a single mesh, or the positions and faces of one. A file is replaced as a whole or not at all.

    Other Python threads run meanwhile; they must not change arrays of the scene. Ctrl-C works and leaves the old
    file unchanged.

    A ``Scene()`` has Blender's axes and is rotated to those of OBJ files unless ``forward_axis`` and ``up_axis`` are
    given; a scene that was read is not rotated. Neither is a single mesh: its coordinates are written unchanged.

    Args:
        scene: the scene or mesh to write. Only arrays that the options change are copied.
        target: a path, a URL, or a file object in binary mode. The material library (``.mtl``) is written
            next to a path; otherwise it is only referred to by name.
        format: ``"obj"``, ``"ply"``, ``"stl"``, ``"xyz"`` and so on; ``None`` infers it from the name.
        threads: worker threads; ``None`` for all cores that the process may use. The bytes do not depend on it.
        memory_limit: memory for work in progress, in bytes or as text such as ``"256MB"`` (64 MiB).
        write_rate, write_latency: simulate a slower device: see ``read_rate`` of :func:`read`.
        strict: raise for each warning while writing, such as that for materials that the format cannot store;
            an existing file stays unchanged.
        durable: whether the file is on the disk, safe from power failures, when this returns.
        compression: ``"gzip"``, ``"zstd"``, ``"lz4"`` or ``"none"``; ``None`` infers it from the name (``.gz``,
            ``.zst``, ``.lz4``).
        level: the level on the codec's own scale (gzip 1 to 12, zstd 1 to 22); a fast one by default.
        progress: as for :func:`read`.
        **written: options of the format: see :class:`polyhaul.ObjOptions` and, for PLY, STL and pbrt,
            :class:`polyhaul.WriteOptions`.

    Returns:
        The report: measurements and warnings.

    Raises:
        polyhaul.UsageError: the scene is invalid, for example an index is out of range.
        polyhaul.UnsupportedError: with ``strict``, the format cannot store all of the scene.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``PermissionError``.
        TypeError, ValueError: an invalid argument.

    Exceptions of callbacks and file objects are raised unchanged.
    """
    if isinstance(scene, tuple):
        scene = Mesh(*scene)
    if isinstance(scene, Mesh):
        scene = _scene_of(scene, written)
    if not isinstance(scene, Scene):
        raise TypeError(f"scene is of type {type(scene).__name__}; expected polyhaul.Scene, polyhaul.Mesh or (positions, faces)")
    options = _options.write_options(
        format=format,
        threads=threads,
        memory_limit=memory_limit,
        pace=(write_rate, write_latency),
        compression=compression,
        level=level,
        durable=durable,
        written=written,
        strict=strict,
    )
    with opened_target(target, compression) as plain, reporter(progress, "writing") as report_progress:
        return report_from_plain(_polyhaul.write(scene._to_plain(), plain, options, report_progress))


def convert(
    source: Source,
    target: Target,
    *,
    from_format: FormatName | None = None,
    to_format: FormatName | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    read_rate: Rate | None = None, read_latency: float | None = None,
    write_rate: Rate | None = None, write_latency: float | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
    limits: Limits | None = None,
    load_meshes: bool = True,
    weld: bool = False,
    allow_outside: bool = False,
    resolver: Resolver | None = None,
    durable: bool = False,
    compression: CompressionName | None = None,
    level: int | None = None,
    progress: Progress | bool | None = None,
    **written: Unpack[WriteOptions],
) -> Report:
    """Reads a scene and writes it, without creating Python objects for it.

    The arguments are those of :func:`read` and :func:`write`; ``strict`` is for both, and ``progress`` goes from 0 to
    the end twice. ``memory_limit`` is the memory of the whole conversion: on Linux, what does not fit is moved to
    temporary files beside the target. Without it, the arrays stay in memory.

    Returns:
        The report of both, with the warnings of both.
    """
    options = _options.read_options(
        format=from_format,
        threads=threads,
        memory_limit=memory_limit,
        pace=(read_rate, read_latency),
        limits=limits,
        load_meshes=load_meshes,
        weld=weld,
        allow_outside=allow_outside,
        on_error=on_error,
        strict=strict,
    )
    writing = _options.write_options(
        format=to_format,
        threads=threads,
        memory_limit=memory_limit,
        pace=(write_rate, write_latency),
        compression=compression,
        level=level,
        durable=durable,
        written=written,
        strict=strict,
    )
    with (
        opened_reading(source, options, resolver, progress, "converting") as reading,
        opened_target(target, compression) as plain,
    ):
        done = _polyhaul.convert(*reading, plain, writing)
    report = report_from_plain(done)
    warn_of(report, on_error, reading)
    return report


def _turn(
    forward_axis: AxisName | None, up_axis: AxisName | None, scale: float
) -> tuple[tuple[str, str] | None, float]:
    """The axes of what is read, if they are not those of the file, and the scale."""
    if not (scale > 0 and math.isfinite(scale)):
        raise ValueError(f"scale is {scale!r}; expected a positive number")
    if forward_axis is None and up_axis is None:
        return None, scale
    if forward_axis is None or up_axis is None:
        raise ValueError("forward_axis and up_axis need each other")
    forward, up = _options.axis("forward_axis", forward_axis), _options.axis("up_axis", up_axis)
    _options.check_axes(forward, up)
    return (forward, up), scale


def _scene_of(mesh: Mesh, written: WriteOptions) -> Scene:
    """A scene of one mesh, with the axes that the file is to have."""
    scene = Scene(written.get("forward_axis", "NEGATIVE_Z"), written.get("up_axis", "Y"))
    scene.add(mesh, name="Mesh")
    return scene


def warn_of(report: Report, on_error: OnError, reading: Reading) -> None:
    """Issues one warning for everything that was repaired or skipped."""
    if on_error == "warn" and report.warnings.total:
        first = f"; the first: {report.warnings[0]}" if report.warnings else ""
        warnings.warn(f"{reading.source['name']}: {report.warnings}{first}", PolyhaulWarning, stacklevel=3)
