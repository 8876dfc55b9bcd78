"""The options of all functions, validated and converted for native code."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal, TypeAlias, TypedDict, cast, get_args

import numpy as np
import numpy.typing as npt

#: Blender's names for the directions of axes, and short ones.
AxisName: TypeAlias = Literal[
    "X", "Y", "Z", "NEGATIVE_X", "NEGATIVE_Y", "NEGATIVE_Z", "-X", "-Y", "-Z"
]

#: A format that polyhaul reads and writes.
FormatName: TypeAlias = Literal[
    "obj", "ply", "stl", "pbrt", "csv", "tsv", "txt", "xyz", "pts", "npy",
    "tga", "hdr", "png", "jpg", "exr", "bmp", "psd", "dds", "ktx2",
    "off", "glb", "spz", "splat", "compressed.ply", "sog",
]

#: How a file is compressed.
CompressionName: TypeAlias = Literal["gzip", "zstd", "lz4", "none"]

#: Digits after the point (0 to 12), or ``"shortest"``: the fewest that read back as the same number.
Digits: TypeAlias = int | Literal["shortest"]

#: Bytes per second: a number, or text such as ``"500MB"``.
Rate: TypeAlias = float | str

#: The types of columns: one for all, one for each, or by name.
Types: TypeAlias = npt.DTypeLike | Sequence[npt.DTypeLike] | Mapping[str, npt.DTypeLike]


class ObjOptions(TypedDict, total=False):
    """How OBJ is written: keywords of :func:`polyhaul.write` and :func:`polyhaul.convert`.

    The names and defaults are those of Blender's exporter where it has the option: reading and writing a file from
    Blender gives the same bytes.
    """

    forward_axis: AxisName
    """The axis that faces forward in the file (``"NEGATIVE_Z"``)."""
    up_axis: AxisName
    """The axis that points up in the file (``"Y"``)."""
    global_scale: float
    """Scales positions, through the object's matrix (1)."""
    export_uv: bool
    """Write uvs (True)."""
    export_normals: bool
    """Write normals (True)."""
    export_colors: bool
    """Write vertex colors, if there are any, as six numbers per ``v``; alpha is dropped with a warning (True)."""
    export_materials: bool
    """Write ``usemtl`` and the material library (True)."""
    export_pbr_extensions: bool
    """Write the PBR extensions of materials (True)."""
    export_triangulated_mesh: bool
    """Triangulate faces, along the diagonals and in the order of Blender as far as these are known (False)."""
    export_object_groups: bool
    """Write ``g OBJECT`` in place of ``o OBJECT`` (False)."""
    export_material_groups: bool
    """Write ``g OBJECT_MATERIAL`` before each ``usemtl`` (False)."""
    export_groups: bool
    """Write the face groups of a file that was read, ``g`` (True)."""
    export_vertex_groups: bool
    """Write the vertex group with the most weight on each face, ``g`` (False)."""
    export_smoothing: bool
    """Write ``s``: 1 for smooth and 0 for flat faces, or as the next two options specify (True)."""
    export_smooth_groups: bool
    """Write numbers of smoothing groups: smooth faces connected over edges that are not sharp (False)."""
    smooth_group_bitflags: bool
    """With ``export_smooth_groups``, write bits instead of numbers (False)."""
    export_curves: bool
    """Write free-form curves (True)."""
    digits: Digits | Mapping[Literal["positions", "uvs", "normals", "colors"], Digits]
    """Decimal places: one number for all, or a dict by attribute (6 for positions and uvs, 4 for
    normals and colors)."""


class WriteOptions(ObjOptions, total=False):
    """How scenes are written: keywords of :func:`polyhaul.write` and :func:`polyhaul.convert`.

    Of :class:`polyhaul.ObjOptions`, PLY and STL use the axes, the scale, uvs, normals, colors, triangles and one number
    of decimal places; coordinates are unchanged unless an axis is given, and digits default to the shortest.
    """

    ascii: bool
    """Write PLY and STL as text (False)."""
    big_endian: bool
    """Write big-endian numbers, PLY (False)."""
    dialect: Literal["common", "blender"]
    """The conventions of PLY and STL files: those of most programs, or Blender's ("common")."""
    float_colors: bool
    """Write colors as floats instead of bytes, PLY and OFF (False)."""
    spz_version: Literal[2, 3, 4]
    """The version of SPZ files (3)."""
    spz_level: int
    """The level of compression of SPZ files, 1 (fast) to 12 (small), or to 22 for version 4 (1)."""
    sh_degree: int
    """The highest degree of spherical harmonics of Gaussian splats that is written, 0 to 4 (as many as the format stores)."""
    keep_order: bool
    """Keep the order of Gaussian splats, compressed PLY (False)."""
    copy_assets: bool
    """Copy the files that the scene refers to (textures, meshes, spectra) into the target's folder, and refer to the copies
    (False). Files outside the scene's folder are copied only if it was read with ``allow_outside=True``."""
    compact: bool
    """Write one item per line without indentation, pbrt (False)."""
    meshes: Literal["inline", "ply"]
    """Where the arrays of meshes are written, pbrt: in the text, or in PLY files next to it (unchanged)."""
    mesh_vertices: int
    """The minimum number of vertices of a mesh that goes into a PLY file, with ``meshes="ply"`` (0)."""
    parts: int
    """Approximate number of files for shapes and instances, imported by the main file, pbrt (1)."""
    instances: Literal["gpu", "nodes"]
    """How objects that share a mesh are written, glTF: as instances, without their names, or as a node each. By default,
    they are instances if no name is lost by that."""
    quantize: bool
    """Store positions, uvs and colors in 16 bits and normals in 8 bits, glTF (False)."""
    meshopt: bool
    """Compress vertices and indices with meshopt, glTF (False)."""


class ImageOptions(TypedDict, total=False):
    """How images are written: keywords of :func:`polyhaul.write_image`."""

    rle: bool
    """Write runs of equal pixels as packets, TGA: smaller and slower (False)."""
    png_level: Literal["fast", "balanced", "best"]
    """Compression effort of PNG; the pixels are the same (``"balanced"``)."""
    quality: int
    """The quality of a JPEG, 1 (small) to 100 (nearly lossless) (90)."""
    exr_float: bool
    """Write 32-bit instead of 16-bit floats, OpenEXR (False)."""


class TextOptions(TypedDict, total=False):
    """How the text of tables is read: keywords of :func:`polyhaul.read_table` and :func:`polyhaul.read_tables`.

    PLY and npy ignore them.
    """

    delimiter: str | None
    """The delimiter of fields, one character; ``" "`` is any run of whitespace. ``None`` detects it."""
    header: bool | None
    """Whether the first row holds the column names; ``None`` detects it."""
    columns: Sequence[str | int] | str | int | None
    """The columns to keep, in this order, by name or by index from 0; ``None`` for all."""
    types: Types | None
    """One numpy type for all columns, a sequence with one for each (``None`` to detect it), or a dict by
    name together with ``columns``. Without it columns are int64 where all values are integers, float64 otherwise."""
    missing: float | None
    """The value of an empty field; ``None`` makes it an error."""
    comment: str | None
    """The start of a comment (``"#"``); ``None`` for no comments."""
    skip_lines: int
    """Lines to skip at the start, including comments and empty lines (0)."""
    max_rows: int | None
    """The maximum number of rows to read; the rest of the file is ignored."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what a file may demand; exceeding one raises a :class:`polyhaul.LimitError` that names it."""

    #: The longest line, in bytes (256 MiB, at most 1 GiB). It counts on top of ``memory_limit``.
    line_bytes: int = 256 << 20
    #: The longest name of an object, group, material or file, in bytes (64 KiB).
    name_bytes: int = 64 << 10
    #: The maximum number of elements of each kind (2**32 - 2).
    elements: int = 2**32 - 2
    #: The maximum number of objects, and of distinct groups, that an OBJ file declares (1,000,000).
    objects: int = 1_000_000
    #: The maximum number of materials that an OBJ file uses, or a material library defines (100,000).
    materials: int = 100_000
    #: The maximum pixels of an image, or of all pictures of a texture (2**28: 16,384 x 16,384). Of an image with more
    #: than four channels each four count as a picture.
    pixels: int = 1 << 28
    #: The maximum bytes of pixels per byte of a compressed image file, checked for images of more than 512 MiB (100).
    image_ratio: int = 100
    #: The maximum number of columns of a table (100,000).
    columns: int = 100_000
    #: The maximum number of elements and properties that the header of a PLY file declares (10,000).
    properties: int = 10_000
    #: The longest header of a PLY file, in bytes (8 MiB).
    header_bytes: int = 8 << 20
    #: The most files that one scene may refer to (10,000).
    files: int = 10_000
    #: The largest file that a scene refers to, in bytes, plain where it is compressed (64 MiB).
    referenced_file_bytes: int = 64 << 20
    #: The maximum uncompressed size of a source, in bytes (no limit).
    decompressed_bytes: int = 2**64 - 1
    #: The maximum ratio of uncompressed to compressed bytes, checked after 64 MiB (2,000).
    decompressed_ratio: int = 2000
    #: Max bytes of text that a pbrt scene may include again (256 MiB).
    included_bytes: int = 256 << 20
    #: Max vertices, and max faces, that the instances of a scene may multiply to in a file (10**9).
    instanced_elements: int = 1_000_000_000
    #: Max objects that the instances of a scene may multiply to (10**7).
    instanced_objects: int = 10_000_000


def read_options(
    *,
    format: str | None,
    threads: int | None,
    memory_limit: int | str | None,
    limits: Limits | None,
    allow_outside: bool,
    pace: tuple[Rate | None, float | None] = (None, None),
    on_error: str = "raise",
    strict: bool = False,
    load_materials: bool = True,
    load_meshes: bool = True,
    weld: bool = False,
    image: tuple[str | None, str | None] = (None, None),
    table: dict[str, Any] | None = None,
    rows: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The options of reading as native code takes them."""
    if on_error not in ("raise", "warn"):
        raise ValueError(f'on_error is {on_error!r}; expected "raise" or "warn"')
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits is of type {type(limits).__name__}; expected polyhaul.Limits")
    return {
        "run": run_options(format, threads, memory_limit, "read", pace),
        "warn": on_error == "warn",
        "strict": bool(strict),
        "limits": astuple(limits or Limits()),
        "load_materials": bool(load_materials),
        "load_meshes": bool(load_meshes),
        "allow_outside": bool(allow_outside),
        "weld": bool(weld),
        "image": image,
        "table": table,
        "rows": rows,
    }


def write_options(
    *,
    format: str | None,
    threads: int | None,
    memory_limit: int | str | None,
    compression: str | None,
    level: int | None,
    durable: bool,
    written: WriteOptions,
    strict: bool = False,
    pace: tuple[Rate | None, float | None] = (None, None),
    table: dict[str, Any] | None = None,
    image: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The options of writing as native code takes them."""
    if compression is not None and compression not in get_args(CompressionName):
        raise ValueError(f"compression is {compression!r}; expected one of {_listed(get_args(CompressionName))}")
    return {
        "run": run_options(format, threads, memory_limit, "write", pace),
        "compression": compression,
        "level": None if level is None else _whole("level", level),
        "durable": bool(durable),
        "strict": bool(strict),
        "copy_assets": bool(written.get("copy_assets")),
        "obj": obj_options(written),
        "bytes": _byte_options(written),
        "gltf": _gltf_options(written),
        "splats": _splat_options(written),
        "pbrt": _pbrt_options(written),
        "table": table,
        "image": image,
    }


def image_options(given: ImageOptions, zstd_level: int | None = 3) -> dict[str, Any]:
    """How an image or a texture is written, as native code takes it."""
    _check_names(cast(dict[str, Any], given), ImageOptions)
    png_level = given.get("png_level", "balanced")
    if png_level not in ("fast", "balanced", "best"):
        raise ValueError(f"png_level is {png_level!r}; expected 'fast', 'balanced' or 'best'")
    quality = _whole("quality", given.get("quality", 90))
    if not 1 <= quality <= 100:
        raise ValueError(f"quality is {quality}; expected 1 to 100")
    return {
        "rle": bool(given.get("rle", False)),
        "png_level": png_level,
        "quality": quality,
        "exr_float": bool(given.get("exr_float", False)),
        "ktx2_zstd_level": None if zstd_level is None else _whole("zstd_level", zstd_level),
    }


def table_options(given: TextOptions) -> dict[str, Any]:
    """How the text of a table is read, as native code takes it."""
    _check_names(cast(dict[str, Any], given), TextOptions)
    kept, types = wanted_columns("columns", given.get("columns")), given.get("types")
    header, missing, max_rows = given.get("header"), given.get("missing"), given.get("max_rows")
    if isinstance(types, Mapping):
        names = [] if kept is None else kept
        if unknown := [name for name in types if name not in names]:
            raise ValueError(f"types has {unknown[0]!r}; expected names that are in columns")
        types = [types.get(str(name)) for name in names]
    is_each = isinstance(types, list | tuple)
    return {
        "delimiter": _delimiter(given.get("delimiter")),
        "header": None if header is None else bool(header),
        "columns": kept,
        "every": None if is_each or types is None else type_name(cast(npt.DTypeLike, types)),
        "each": [None if it is None else type_name(it) for it in cast(Any, types)] if is_each else None,
        "missing": None if missing is None else float(missing),
        "comment": given.get("comment", "#"),
        "skip_lines": count("skip_lines", given.get("skip_lines", 0)),
        "max_rows": None if max_rows is None else count("max_rows", max_rows),
    }


def style_options(
    *, delimiter: str | None, header: bool | None, digits: Any, nan: str, comment: str, names: Sequence[str],
    csv_safe: bool = False,
) -> dict[str, Any]:
    """How the text of a table is written, as native code takes it."""
    shared, each = (None, digits) if isinstance(digits, list | tuple) else (digits, [])
    if isinstance(digits, Mapping):
        if unknown := [name for name in digits if name not in names]:
            raise ValueError(f"digits has {unknown[0]!r}, which is not a column")
        shared, each = None, [digits.get(name, "shortest") for name in names]
    return {
        "delimiter": _delimiter(delimiter),
        "header": None if header is None else bool(header),
        "comment": str(comment),
        "digits": None if shared is None else _digit(shared),
        "column_digits": [_digit(it) for it in each],
        "nan": str(nan),
        "csv_safe": bool(csv_safe),
    }


def wanted_columns(name: str, columns: Any) -> list[str | int] | None:
    """Columns by name or by place; a single one stands for a list."""
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        columns = [columns]
    return [it if isinstance(it, str) else count(name, it) for it in columns]


def count(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    number = _whole(name, value)
    if number < 0:
        raise ValueError(f"{name} is {number}; expected 0 or more")
    return number


def type_name(given: npt.DTypeLike) -> str:
    """What native code calls a type of numbers."""
    dtype = np.dtype(given)
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        raise TypeError(f"the type {dtype} is not supported; expected integers of 8 to 64 bits, float32 or float64")
    return name


def _delimiter(text: str | None) -> int | None:
    if text is None:
        return None
    if not isinstance(text, str) or len(text) != 1 or not text.isascii():
        raise ValueError(f"delimiter is {text!r}; expected one ASCII character, or None")
    return ord(text)


def _byte_options(written: WriteOptions) -> dict[str, Any]:
    """How PLY and STL are written, where it is not as OBJ."""
    digits = written.get("digits", "shortest")
    plain: dict[str, Any] = {name: bool(written.get(name)) for name in ("ascii", "big_endian", "float_colors")}
    if plain["ascii"] and plain["big_endian"]:
        raise ValueError("ascii and big_endian cannot be combined")
    dialect = written.get("dialect", "common")
    if dialect not in ("common", "blender"):
        raise ValueError(f'dialect is {dialect!r}; expected "common" or "blender"')
    plain["is_blenders"] = dialect == "blender"
    plain["turns"] = "forward_axis" in written or "up_axis" in written
    plain["digits"] = None if isinstance(digits, Mapping) else _digit(digits)
    return plain


def _gltf_options(written: WriteOptions) -> dict[str, Any]:
    """How glTF is written."""
    instances = written.get("instances")
    if instances not in (None, "gpu", "nodes"):
        raise ValueError(f'instances is {instances!r}; expected "gpu" or "nodes"')
    return {"instances": instances} | {name: bool(written.get(name)) for name in ("quantize", "meshopt")}


def _splat_options(written: WriteOptions) -> dict[str, Any]:
    """How Gaussian splats are written."""
    style = {
        "version": _whole("spz_version", written.get("spz_version", 3)),
        "level": _whole("spz_level", written.get("spz_level", 1)),
        "degree": _whole("sh_degree", written.get("sh_degree", 4)),
        "keep_order": bool(written.get("keep_order")),
    }
    for name, key, least, most in (("spz_version", "version", 2, 4), ("spz_level", "level", 1, 22), ("sh_degree", "degree", 0, 4)):
        if not least <= style[key] <= most:
            raise ValueError(f"{name} is {style[key]}; expected {least} to {most}")
    return style


def _pbrt_options(written: WriteOptions) -> dict[str, Any]:
    """How pbrt is written."""
    meshes = written.get("meshes")
    if meshes not in (None, "inline", "ply"):
        raise ValueError(f'meshes is {meshes!r}; expected "inline" or "ply"')
    if meshes != "ply" and "mesh_vertices" in written:
        raise ValueError('mesh_vertices needs meshes="ply"')
    return {
        "compact": bool(written.get("compact")),
        "meshes": meshes,
        "mesh_vertices": count("mesh_vertices", written.get("mesh_vertices", 0)),
        "parts": count("parts", written.get("parts", 1)),
    }


def run_options(
    format: str | None,
    threads: int | None,
    memory_limit: int | str | None,
    job: str = "",
    pace: tuple[Rate | None, float | None] = (None, None),
) -> dict[str, Any]:
    """What reading and writing share; the pace is a rate and a latency of the job, which is called so."""
    rate, latency = pace
    if format is not None and format not in get_args(FormatName):
        raise ValueError(f"format is {format!r}; expected one of {_listed(get_args(FormatName))}")
    if threads is not None:
        threads = _whole("threads", threads)
        if not 1 <= threads <= 1024:
            raise ValueError(f"threads is {threads}; expected 1 to 1024, or None for all cores")
    return {
        "format": format,
        "threads": threads,
        "memory_limit": None if memory_limit is None else size("memory_limit", memory_limit),
        "rate": None if rate is None else _rate(f"{job}_rate", rate),
        "latency": None if latency is None else _latency(f"{job}_latency", latency),
    }


_FLAGS: dict[str, bool] = {
    "export_uv": True,
    "export_normals": True,
    "export_colors": True,
    "export_materials": True,
    "export_pbr_extensions": True,
    "export_triangulated_mesh": False,
    "export_object_groups": False,
    "export_material_groups": False,
    "export_groups": True,
    "export_vertex_groups": False,
    "export_smoothing": True,
    "export_smooth_groups": False,
    "smooth_group_bitflags": False,
    "export_curves": True,
}

#: The digits of each attribute where nobody says otherwise.
_DIGITS: dict[str, Digits] = {"positions": 6, "uvs": 6, "normals": 4, "colors": 4}


def obj_options(options: WriteOptions) -> dict[str, Any]:
    """How OBJ is written, with the defaults filled in."""
    given = cast(dict[str, Any], options)
    _check_names(given, WriteOptions)
    plain: dict[str, Any] = {name: bool(given.get(name, default)) for name, default in _FLAGS.items()}
    plain["forward_axis"] = axis("forward_axis", given.get("forward_axis", "NEGATIVE_Z"))
    plain["up_axis"] = axis("up_axis", given.get("up_axis", "Y"))
    check_axes(plain["forward_axis"], plain["up_axis"])
    plain["global_scale"] = float(given.get("global_scale", 1.0))
    if not (math.isfinite(plain["global_scale"]) and plain["global_scale"] > 0):
        raise ValueError(f"global_scale is {plain['global_scale']}; expected a positive number")
    plain["digits"] = _digits(given.get("digits", {}))
    return plain


def axis(name: str, value: str) -> str:
    """Blender's name of an axis."""
    text = str(value).upper().replace("POSITIVE_", "").replace("-", "NEGATIVE_")
    if text not in get_args(AxisName):
        raise ValueError(f'{name} is {value!r}; expected "X", "Y", "Z", "NEGATIVE_X", "NEGATIVE_Y" or "NEGATIVE_Z"')
    return text


def check_axes(forward: str, up: str) -> None:
    """Forward and up are not on one line."""
    if forward[-1] == up[-1]:
        raise ValueError(f"forward_axis {forward!r} and up_axis {up!r} are on the same axis")


def _check_names(given: Mapping[str, Any], options: Any) -> None:
    """All of them are options."""
    known = options.__annotations__
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"unknown option {name!r}{hint}")


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; expected an integer") from None


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))


_UNITS = {"": 1, "b": 1}
_UNITS |= {prefix: 1000**power for power, prefix in enumerate("kmgt", 1)}
_UNITS |= {f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", 1)}
_UNITS |= {f"{prefix}i": 1024**power for power, prefix in enumerate("kmgt", 1)}
_UNITS |= {f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", 1)}


def size(name: str, value: float | str) -> int:
    """A size in bytes: a number, or text such as ``"64MB"``, ``"1.5GB"``, ``"512KiB"``."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        unit = _UNITS.get(match[2].lower()) if match else None
        if not match or unit is None:
            raise ValueError(f'{name} is {value!r}; expected bytes as a number, or text such as "64MB" or "1.5GiB"')
        count = int(match[1]) * unit if match[1].isdigit() else int(float(match[1]) * unit)
    else:
        count = _whole(name, value)
    if not 0 < count < 2**63:
        raise ValueError(f"{name} is {value!r}; expected more than 0 bytes")
    return count


def _rate(name: str, value: Rate) -> int:
    """Bytes per second."""
    if isinstance(value, str):
        value = value.strip().removesuffix("/s")
    return size(name, round(value) if isinstance(value, float) and math.isfinite(value) else value)


def _latency(name: str, value: float) -> float:
    """Seconds."""
    seconds = float(value)
    if not 0 <= seconds <= 3600:
        raise ValueError(f"{name} is {value!r}; expected seconds, from 0 to 3600")
    return seconds


def _digits(given: Any) -> list[int | None]:
    by_name = given if isinstance(given, Mapping) else dict.fromkeys(_DIGITS, given)
    for name in by_name:
        if name not in _DIGITS:
            raise ValueError(f"digits has the key {name!r}; expected {', '.join(map(repr, _DIGITS))}")
    return [_digit(by_name.get(name, default)) for name, default in _DIGITS.items()]


def _digit(value: Any) -> int | None:
    if value == "shortest":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 12:
        raise ValueError(f'digits is {value!r}; expected 0 to 12, or "shortest"')
    return value
