"""Images, and image I/O: read_image, write_image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, Unpack, get_args

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _options, _polyhaul
from polyhaul._io import opened_reading, warn_of
from polyhaul._option_types import ColorSpace, FormatName, ReadOptions, WriteOptions
from polyhaul._progress import Progress, reporter
from polyhaul._report import Report, report_from_plain
from polyhaul._sources import Source, Target, opened_target
from polyhaul._table import memory

#: The supported numbers of samples per pixel, and the supported dtypes.
CHANNELS = (1, 2, 3, 4)
TYPES = ("uint8", "uint16", "float32")

#: The supported dtypes of additional channels.
CHANNEL_TYPES = ("uint8", "uint16", "uint32", "float16", "float32")


@dataclass(slots=True)
class Image:
    """An image, as an array of rows, columns and channels.

    >>> import numpy as np, polyhaul
    >>> image = polyhaul.Image(np.zeros((2, 3, 4), np.uint8))
    >>> image.width, image.height, image.has_alpha
    (3, 2, True)

    ``np.asarray(image)`` returns the pixels.
    """

    #: ``(height, width, channels)`` of uint8, uint16 or float32, from the top left. The channels are gray, gray and
    #: alpha, RGB, or RGBA.
    pixels: npt.NDArray[Any]
    #: The encoding of color samples: ``"srgb"`` or ``"linear"``.
    color_space: ColorSpace = "srgb"
    #: Whether the colors are premultiplied by alpha.
    premultiplied: bool = False
    #: The report of reading; ``None`` if the image was not read from a file.
    report: Report | None = None
    #: Additional channels by name (``"Z"``, ``"diffuse.R"``), each ``(height, width)`` of uint8, uint16, uint32,
    #: float16 or float32. Only EXR stores them.
    extra: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    #: The name and type of each channel of ``pixels`` in an EXR file, if they are not the default. The name is empty if
    #: the file does not have that channel. EXR files are written with these names and types.
    stored: list[tuple[str, str]] = field(default_factory=list)
    #: The attributes of an EXR file by name: the type and the bytes of the value.
    attributes: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the pixels."""
        array = np.asarray(self.pixels, dtype)
        return array.copy() if copy and array is self.pixels else array

    def _repr_png_(self) -> bytes | None:
        """Return a PNG preview for notebooks."""
        from polyhaul._preview import png

        return png(self)

    @property
    def width(self) -> int:
        """The number of pixels per row."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.pixels.shape[0])

    @property
    def has_alpha(self) -> bool:
        """Whether the last channel is alpha."""
        return self.pixels.shape[2] in (2, 4)


def read_image(
    source: Source,
    *,
    format: FormatName | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Image:
    """Read an image.

        >>> import polyhaul
        >>> dot = bytes([0, 0, 2, *[0] * 9, 1, 0, 1, 0, 24, 0, 3, 2, 1])
        >>> polyhaul.read_image(dot, format="tga").pixels
        array([[[1, 2, 3]]], dtype=uint8)

    The pixels are a new, writable array. The GIL is released while reading, and Ctrl-C interrupts the call.

    Args:
        source: as for :func:`polyhaul.read`: a path, a URL, bytes, or a file object in binary mode; compressed or not.
        format: ``"tga"``, ``"png"``, ``"hdr"`` and so on; ``None`` infers it from the name or the content.
        progress: as for :func:`polyhaul.read`.
        **options: layer, part, limits and more: see :class:`polyhaul.ReadOptions`. ``Limits.pixels`` applies to images.
            A warning in ``image.report`` lists the parts of an EXR file that were not read.

    Returns:
        The image: uint8 or uint16 if the file stores integers, float32 if it stores floats.

    Raises:
        polyhaul.MalformedError: the data is invalid; the exception includes the location.
        polyhaul.LimitError: the image has more pixels than ``limits`` allows.
        polyhaul.UsageError: the format does not store images.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``FileNotFoundError``.
    """
    native = _options.read_options(options, format)
    with opened_reading(source, native, None, progress, "reading") as reading:
        image = image_from_plain(_polyhaul.read_image(reading))
    if image.report is not None:
        warn_of(image.report, reading)
    return image


def image_from_plain(plain: tuple[Any, ...]) -> Image:
    """Return an image and its report from the result of native code."""
    kind, samples, shape, color_space, premultiplied, beside, plain_report = plain
    channels, stored, attributes = beside
    return Image(
        memory(samples, kind).reshape(shape),
        color_space,
        premultiplied,
        report_from_plain(plain_report),
        {name: memory(plane, kind).reshape(shape[:2]) for name, kind, plane in channels},
        stored,
        {name: (kind, bytes(value)) for name, kind, value in attributes},
    )


def write_image(
    image: Image | npt.ArrayLike,
    target: Target,
    *,
    color_space: ColorSpace | None = None,
    premultiplied: bool | None = None,
    format: FormatName | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[WriteOptions],
) -> Report:
    """Write an image. Files are replaced atomically.

        >>> import io, numpy as np, polyhaul
        >>> out = io.BytesIO()
        >>> report = polyhaul.write_image(np.full((64, 64, 3), 200, np.uint8), out, format="tga", rle=True)
        >>> np.asarray(polyhaul.read_image(out.getvalue(), format="tga"))[0, 0]
        array([200, 200, 200], dtype=uint8)

    Other threads must not change the pixels while writing.

    Args:
        image: an image, or a (height, width, channels) or (height, width) array of uint8, uint16 or floats.
        target: as for :func:`polyhaul.write`: a path, a URL, or a file object in binary mode.
        color_space: the encoding of color samples: ``"srgb"`` or ``"linear"``. ``None`` uses the color space of the
            image; arrays are linear if they have floats, and sRGB if they have integers.
        premultiplied: whether the colors are premultiplied by alpha; ``None`` uses the value of the image.
        format: ``"tga"``, ``"png"``, ``"hdr"`` and so on; ``None`` infers it from the name.
        progress: as for :func:`polyhaul.write`.
        **options: quality, png_level, threads, strict and more: see :class:`polyhaul.WriteOptions`.

    Returns:
        The report, with measurements and warnings.

    Raises:
        polyhaul.UsageError: the format cannot store this image.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``PermissionError``.
        TypeError, ValueError: an argument is invalid.
    """
    given = image if isinstance(image, Image) else _image_of(image)
    space = color_space or given.color_space
    if space not in get_args(ColorSpace):
        raise ValueError(f"color_space is {space!r}; expected 'srgb' or 'linear'")
    pixels = _pixels(given.pixels)
    native = _options.write_options(options, format)
    multiplied = given.premultiplied if premultiplied is None else bool(premultiplied)
    extra = [(name, *_plane(name, plane, pixels.shape)) for name, plane in given.extra.items()]
    attributes = [(name, kind, bytes(value)) for name, (kind, value) in given.attributes.items()]
    plain_image = (pixels.reshape(-1), pixels.shape, space, multiplied, (extra, list(given.stored), attributes))
    with opened_target(target, native) as plain, reporter(progress, "writing") as report_progress:
        return report_from_plain(_polyhaul.write_image(plain_image, plain, native, report_progress))


def _image_of(value: npt.ArrayLike) -> Image:
    """Return an array as an image."""
    pixels = _pixels(value)
    return Image(pixels, "linear" if pixels.dtype.kind == "f" else "srgb")


def _plane(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> tuple[str, npt.NDArray[Any]]:
    """Return the dtype name and the flat samples of a channel. float16 samples are returned as their bits (uint16)."""
    _arrays.check_mask(f"the channel {name!r}", value)
    array = np.asarray(value)
    if array.shape != shape[:2]:
        raise ValueError(f"the channel {name!r} has shape {array.shape}; expected {shape[:2]}")
    kind = array.dtype.newbyteorder("=").name
    if kind not in CHANNEL_TYPES:
        raise TypeError(f"the channel {name!r} has dtype {array.dtype}; expected one of {', '.join(CHANNEL_TYPES)}")
    plane = np.ascontiguousarray(array, kind).reshape(-1)
    return kind, plane.view(np.uint16) if kind == "float16" else plane


def _pixels(value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a (height, width, channels) array of a dtype that images support. Copies only if necessary."""
    _arrays.check_mask("the image", value)
    array = np.asarray(value)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or array.shape[2] not in CHANNELS:
        raise ValueError(f"the image has shape {array.shape}; expected (height, width, channels) with 1 to 4 channels")
    kind = "float32" if array.dtype.kind == "f" else array.dtype.newbyteorder("=").name
    if kind not in TYPES:
        raise TypeError(f"the image has dtype {array.dtype}; expected uint8, uint16 or floats")
    return np.ascontiguousarray(array, kind)
