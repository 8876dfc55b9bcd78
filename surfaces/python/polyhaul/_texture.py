"""GPU textures from images: import_texture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, Unpack, get_args

from polyhaul import _options, _polyhaul
from polyhaul._io import opened_reading, warn_of
from polyhaul._option_types import (
    ColorSpace,
    EncodingName,
    FormatName,
    MipsName,
    QualityName,
    Rate,
    ReadOptions,
)
from polyhaul._progress import Progress
from polyhaul._report import Report, report_from_plain
from polyhaul._sources import Source, Target, opened_target

ContainerName: TypeAlias = Literal["dds", "ktx2"]


@dataclass(frozen=True, slots=True)
class ImportedTexture:
    """The result of :func:`polyhaul.import_texture`."""

    #: The width of the largest level in pixels.
    width: int
    #: The height of the largest level in pixels.
    height: int
    #: The encoding, such as ``"bc7"``.
    encoding: str
    #: The number of mip levels.
    level_count: int
    #: The report of reading and writing.
    report: Report


def import_texture(
    source: Source,
    target: Target,
    *,
    encoding: EncodingName | None = None,
    quality: QualityName = "normal",
    mips: MipsName = "box",
    alpha_cutoff: float | None = None,
    normal_map: bool | None = None,
    color_space: ColorSpace | None = None,
    zstd_level: int | None = 3,
    from_format: FormatName | None = None,
    format: ContainerName | None = None,
    write_rate: Rate | None = None, write_latency: float | None = None, durable: bool = False,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> ImportedTexture:
    """Convert an image to a DDS or KTX2 texture, with mip levels and block compression.

        >>> import io, numpy as np, polyhaul
        >>> image, texture = io.BytesIO(), io.BytesIO()
        >>> report = polyhaul.write_image(np.full((8, 8, 3), 200, np.uint8), image, format="tga")
        >>> made = polyhaul.import_texture(image.getvalue(), texture, from_format="tga", format="dds", encoding="bc1")
        >>> made.encoding, made.level_count
        ('bc1', 4)

    Args:
        source: as for :func:`polyhaul.read_image`.
        target: as for :func:`polyhaul.write`; a name ending in ``.dds`` or ``.ktx2`` determines the format.
        encoding: ``"bc1"``, ``"bc3"``, ``"bc4"``, ``"bc5"``, ``"bc6h"``, ``"bc7"``, ``"rgba8"``. ``None`` uses BC5 for
            normal maps, BC4 for grayscale, BC6H for floats (uncompressed float16 with alpha), and BC7 otherwise.
        quality: the quality of block compression: ``"fast"``, ``"normal"``, ``"best"``.
        mips: the filter for mip levels: ``"box"``, ``"kaiser"``, ``"none"``.
        alpha_cutoff: preserve the share of pixels with at least this alpha (0 to 1) in all mip levels.
        normal_map: whether the image is a normal map; ``None`` detects it by names ending in ``_n``, ``_nrm``,
            ``_normal`` and similar.
        color_space: the encoding of color samples; ``None`` uses the color space declared in the file.
        zstd_level: the zstd level in KTX2, 1 to 22; ``None`` disables zstd.
        from_format: the format of the image; ``None`` infers it from the name or the content.
        format: ``"dds"`` or ``"ktx2"``; ``None`` infers it from the name.
        write_rate, write_latency, durable, progress: as for :func:`polyhaul.write`.
        **options: threads, limits and more: see :class:`polyhaul.ReadOptions`.

    Returns:
        The encoding, size and levels of the texture, with the report.

    Raises:
        polyhaul.MalformedError: the data is invalid; the exception includes the location.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``FileNotFoundError``.
        TypeError, ValueError: an argument is invalid.
    """
    if format not in (*get_args(ContainerName), None):
        raise ValueError(f"format is {format!r}; expected 'dds' or 'ktx2'")
    settings = [("quality", str(quality)), ("mips", str(mips))]
    settings += _given(encoding=encoding, normal_map=normal_map, color_space=color_space)
    cutoff = None if alpha_cutoff is None else float(alpha_cutoff)
    if cutoff is not None and not 0 <= cutoff <= 1:
        raise ValueError(f"alpha_cutoff is {alpha_cutoff!r}; expected a number from 0 to 1")
    native = _options.read_options(options, from_format)
    writing = _options.write_options(
        {
            "zstd_level": 0 if zstd_level is None else zstd_level, "compression": "none", "durable": durable,
            "write_rate": write_rate, "write_latency": write_latency,
        },
        format,
    )
    with opened_reading(source, native, None, progress, "importing") as reading, opened_target(
        target, writing, needs_format=False
    ) as plain:
        imported = _polyhaul.import_texture(reading, settings, cutoff, plain, writing)
    width, height, name, level_count, plain_report = imported
    report = report_from_plain(plain_report)
    warn_of(report, reading)
    return ImportedTexture(width, height, name, level_count, report)


def _given(**options: str | bool | None) -> list[tuple[str, str]]:
    """Return the options that are not ``None``, as strings for the table of options."""
    given = {name: value for name, value in options.items() if value is not None}
    return [(name, value if isinstance(value, str) else str(bool(value)).lower()) for name, value in given.items()]
