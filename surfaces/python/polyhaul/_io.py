"""Scene I/O: read, write, convert. Functions that inspect files are in ``_inspect``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Unpack

import numpy.typing as npt

from polyhaul import _options, _polyhaul
from polyhaul._mesh import Mesh
from polyhaul._option_types import AxisName, ConvertOptions, FormatName, ReadOptions, WriteOptions
from polyhaul._progress import Progress, reporter
from polyhaul._report import PolyhaulWarning, Report, report_from_plain
from polyhaul._scene import Scene, scene_from_plain
from polyhaul._sources import Resolver, Source, Target, opened_resolver, opened_source, opened_target


class Reading(NamedTuple):
    """An open source and its read options, as native code expects them."""

    source: dict[str, Any]
    options: _polyhaul.NativeReadOptions
    #: Called with the name of each file that the source refers to.
    resolver: Callable[[str], Any] | None
    progress: Progress | None


@contextmanager
def opened_reading(
    source: Source,
    options: _polyhaul.NativeReadOptions,
    resolver: Resolver | None,
    progress: Progress | bool | None,
    label: str,
) -> Iterator[Reading]:
    """Open the source, the resolver and the progress reporter of a read call for the duration of the block."""
    with (
        opened_source(source) as plain,
        opened_resolver(resolver, source) as answer,
        reporter(progress, label) as report_progress,
    ):
        yield Reading(plain, options, answer, report_progress)


def read(
    source: Source,
    *,
    format: FormatName | None = None,
    flatten: bool = True,
    forward_axis: AxisName | None = None, up_axis: AxisName | None = None, scale: float = 1.0,
    writable: bool = False,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Scene:
    """Read a scene from a file.

    The arrays are views of the memory that the file was parsed into, and read-only by default. The GIL is released
    while reading, and Ctrl-C interrupts the call. Exceptions raised by callbacks and file objects are propagated
    unchanged.

    Args:
        source: a path, a URL or a chain of them (fsspec), bytes (any buffer; it is not copied, and must not change
            while reading), or a file object in binary mode, which is read from its current position in calls of at
            least 64 KiB, on this thread. Compressed data (gzip, zstd, lz4) is detected.
        format: ``"obj"``, ``"ply"``, ``"stl"``, ``"xyz"`` and so on; ``None`` infers it from the name, including the
            name of a file object, or from the content.
        flatten: whether to convert a pbrt scene to meshes and objects with transforms, one per shape and instance,
            without spheres, curves, lights and so on. ``False`` keeps everything, as ``scene.render``.
        forward_axis, up_axis, scale: rotate the scene so that these axes face forward and up (``"Y"`` and ``"Z"`` for
            Blender; ``None`` keeps the axes of the format), and multiply positions by ``scale``.
        writable: whether the arrays of meshes, except columns, are writable. Writing to them changes the meshes.
            ``torch.from_numpy`` warns about arrays that are not writable.
        resolver: called on this thread as ``resolver(name)`` for each file that the scene refers to. The result (bytes,
            a path, or a file object in binary mode) is read instead of a file next to the scene; ``None`` falls back to
            the file next to the scene. ``dict.get`` is a valid resolver. Names may be hostile.
        progress: called on this thread as ``progress(done, total)``, in bytes, at most 20 times per second and once at
            the end. ``total`` is ``None`` if unknown. ``True`` shows a progress bar (requires tqdm).
        **options: threads, memory_limit, on_error, strict, limits and more: see :class:`polyhaul.ReadOptions`. With
            ``on_error="warn"``, invalid statements are counted in ``scene.report.warnings``, and one
            :class:`polyhaul.PolyhaulWarning` is issued.

    Returns:
        The scene. ``scene.report`` has the measurements and all warnings. Data without a dedicated array is in
        ``vertex_columns`` and ``face_columns`` of the mesh, and in ``scene.tables``.

    Raises:
        polyhaul.MalformedError: the data is invalid; the exception includes the location.
        polyhaul.LimitError: the data exceeds ``limits``.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``FileNotFoundError``.
        TypeError, ValueError: an argument is invalid.
    """
    native = _options.read_options(options, format)
    turn = _turn(forward_axis, up_axis, scale)
    with opened_reading(source, native, resolver, progress, "reading") as reading:
        scene, plain_report = _polyhaul.read(reading, bool(flatten), turn, bool(writable))
    report = report_from_plain(plain_report)
    warn_of(report, reading)
    return scene_from_plain(scene, report)


def write(
    scene: Scene | Mesh | tuple[npt.ArrayLike, ...],
    target: Target,
    *,
    format: FormatName | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[WriteOptions],
) -> Report:
    """Write a scene, a mesh, or positions and faces to a file.

    Files are replaced atomically. The GIL is released while writing; other threads must not change arrays of the scene.
    Ctrl-C interrupts the call and leaves the old file unchanged.

    A ``Scene()`` has Blender's axes and is rotated to the axes of OBJ files unless ``forward_axis`` and ``up_axis`` are
    set. Scenes read from files are not rotated, and neither are single meshes: their coordinates are written unchanged.

    Args:
        scene: the scene or mesh to write. Only arrays that the options change are copied.
        target: a path, a URL, or a file object in binary mode. The material library (``.mtl``) is written next to a
            path; for other targets, the file only refers to it by name. If a file object does not accept all bytes, an
            exception is raised: ``BlockingIOError`` for a raw file in non-blocking mode.
        format: ``"obj"``, ``"ply"``, ``"stl"``, ``"xyz"`` and so on; ``None`` infers it from the name, which is
            ``target.name`` for a file object.
        progress: as for :func:`read`.
        **options: threads, strict, compression, digits and more: see :class:`polyhaul.WriteOptions`.

    Returns:
        The report, with measurements and warnings.

    Raises:
        polyhaul.UsageError: the scene is invalid, for example an index is out of range, or the format is neither passed
            nor implied by the name.
        polyhaul.UnsupportedError: ``strict`` is set, and the format cannot store the whole scene.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``PermissionError``.
        TypeError, ValueError: an argument is invalid.

    Exceptions raised by callbacks and file objects are propagated unchanged.
    """
    if isinstance(scene, tuple):
        scene = Mesh(*scene)
    if isinstance(scene, Mesh):
        scene = _scene_of(scene, options)
    if not isinstance(scene, Scene):
        if hasattr(scene, "__arrow_c_stream__"):
            raise TypeError(f"scene is of type {type(scene).__name__}; use polyhaul.write_table for tables")
        raise TypeError(f"scene is of type {type(scene).__name__}; expected polyhaul.Scene, polyhaul.Mesh or (positions, faces)")
    native = _options.write_options(options, format)
    with opened_target(target, native) as plain, reporter(progress, "writing") as report_progress:
        return report_from_plain(_polyhaul.write(scene._to_plain(), plain, native, report_progress))


def convert(
    source: Source,
    target: Target,
    *,
    from_format: FormatName | None = None,
    to_format: FormatName | None = None,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ConvertOptions],
) -> Report:
    """Convert a file, without creating Python objects for its contents.

    The arguments are the same as for :func:`read` and :func:`write`. ``strict`` applies to both, and ``progress`` runs
    from 0 to the end twice. ``memory_limit`` applies to the whole conversion: on Linux, data that exceeds it is spilled
    to temporary files next to the target. Without a limit, the arrays stay in memory.

    Returns:
        The combined report of reading and writing, with all warnings.
    """
    native, writing = _options.convert_options(options, from_format, to_format)
    with (
        opened_reading(source, native, resolver, progress, "converting") as reading,
        opened_target(target, writing) as plain,
    ):
        plain_report = _polyhaul.convert(reading, plain, writing)
    report = report_from_plain(plain_report)
    warn_of(report, reading)
    return report


def _turn(
    forward_axis: AxisName | None, up_axis: AxisName | None, scale: float
) -> tuple[tuple[str, str] | None, float]:
    """Return the requested axes, or ``None`` to keep the axes of the file, and the scale."""
    if not (scale > 0 and math.isfinite(scale)):
        raise ValueError(f"scale is {scale!r}; expected a positive number")
    if forward_axis is None and up_axis is None:
        return None, scale
    if forward_axis is None or up_axis is None:
        raise ValueError("forward_axis and up_axis must be set together")
    forward, up = _options.axis("forward_axis", forward_axis), _options.axis("up_axis", up_axis)
    _options.check_axes(forward, up)
    return (forward, up), scale


def _scene_of(mesh: Mesh, options: WriteOptions) -> Scene:
    """Return a scene with one mesh and the axes of the output file."""
    forward, up = options.get("forward_axis") or "NEGATIVE_Z", options.get("up_axis") or "Y"
    scene = Scene(forward_axis=forward, up_axis=up)
    scene.add(mesh, name="Mesh")
    return scene


def warn_of(report: Report, reading: Reading) -> None:
    """Issue a single warning for all repaired or skipped data."""
    if report.warnings.total and reading.options.get("on_error") == "warn":
        first = f"; the first: {report.warnings[0]}" if report.warnings else ""
        warnings.warn(f"{reading.source['name']}: {report.warnings}{first}", PolyhaulWarning, stacklevel=3)
