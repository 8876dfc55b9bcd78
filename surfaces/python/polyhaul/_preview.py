"""Previews of files, scenes, meshes, tables of points and images, including PNG previews for notebooks."""

from __future__ import annotations

import io
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from polyhaul import _options, _polyhaul
from polyhaul._image import Image, image_from_plain, write_image
from polyhaul._io import opened_reading, warn_of
from polyhaul._mesh import Mesh
from polyhaul._option_types import FormatName, ReadOptions
from polyhaul._progress import Progress
from polyhaul._scene import Scene
from polyhaul._sources import Resolver, Source
from polyhaul._table import Table

#: The view directions.
View: TypeAlias = Literal["camera", "iso", "front", "back", "left", "right", "top", "bottom"]
#: The rendering styles.
Style: TypeAlias = Literal["shaded", "normals", "depth", "id", "uv", "wire"]

#: The size of notebook previews in pixels.
NOTEBOOK_SIZE = (640, 480)
#: The default background color.
BACKGROUND = (236, 238, 241)


#: The number of points above which a notebook preview only shows every n-th point.
NOTEBOOK_POINTS = 500_000


def preview(
    source: Source | Scene | Mesh | Table | Image,
    *,
    size: tuple[int, int] = (800, 600),
    view: View = "camera",
    style: Style = "shaded",
    background: tuple[int, int, int] | tuple[int, int, int, int] = BACKGROUND,
    ground: bool = False,
    up_axis: str | None = None,
    format: FormatName | None = None,
    resolver: Resolver | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Image:
    """Render a picture of a file, or of a scene, mesh, table of points or image in memory.

        >>> import polyhaul
        >>> triangle = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> polyhaul.preview(triangle, size=(64, 48)).pixels.shape
        (48, 64, 4)

    Scenes are rendered; images are scaled down. Large meshes in OBJ, STL and binary PLY are rendered while they are
    read, keeping at most their positions in memory. The picture does not depend on the number of threads.

    Args:
        source: a source as for :func:`polyhaul.read`, a scene, a mesh, a table with columns ``x``, ``y`` and ``z``, or
            an image.
        size: the width and height in pixels. Images keep their aspect ratio and are not enlarged.
        view: ``"camera"`` (the camera of the scene, or ``"iso"`` if the scene does not have a camera), ``"iso"`` (from
            the front, right and above), ``"front"``, ``"back"``, ``"left"``, ``"right"``, ``"top"`` or ``"bottom"``.
        style: ``"shaded"`` (lit surfaces), ``"normals"``, ``"depth"``, ``"id"`` (one color per material), ``"uv"``
            (texture coordinates) or ``"wire"`` (with the edges of faces).
        background: red, green, blue (sRGB) and optionally alpha, from 0 to 255.
        ground: whether to draw a shadow on the ground below a scene of meshes.
        up_axis: the axis that points up, such as ``"Z"``; ``None`` uses the up axis of the scene.
        format, resolver, progress, **options: as for :func:`polyhaul.read`.

    Returns:
        The picture. Its ``report`` has the time to the first pixel and the warnings, and is ``None`` for an image in
        memory.

    Raises:
        TypeError, ValueError: an argument is invalid. Sources raise the same exceptions as in :func:`polyhaul.read`.
    """
    look = _look(size, view, style, background, ground, up_axis)
    native = _options.read_options(options, format)
    if isinstance(source, Image):
        return _scaled(source, look["size"])
    if isinstance(source, (Scene, Mesh, Table)):
        scene = _scene_of(source)
        return image_from_plain(_polyhaul.preview_scene(scene._to_plain(), look, options.get("threads"), False))
    with opened_reading(source, native, resolver, progress, "drawing") as reading:
        image = image_from_plain(_polyhaul.preview(reading, look))
    if image.report is not None:
        warn_of(image.report, reading)
    return image


def _look(
    size: tuple[int, int] = NOTEBOOK_SIZE,
    view: View = "camera",
    style: Style = "shaded",
    background: tuple[int, ...] = BACKGROUND,
    ground: bool = False,
    up_axis: str | None = None,
) -> dict[str, Any]:
    """Return the rendering settings as native code expects them."""
    red, green, blue, *alpha = background
    width, height = (int(side) for side in size)
    return {
        "size": (width, height),
        "view": view,
        "style": style,
        "ground": bool(ground),
        "background": (red, green, blue, *(alpha or [255])),
        "up_axis": None if up_axis is None else _options.axis("up_axis", up_axis),
    }


def png(thing: Scene | Mesh | Table | Image) -> bytes | None:
    """Return a PNG preview for notebooks, with less detail for large inputs so that it takes a fraction of a second.

    ``None`` if there is nothing to show, or the input is too large.
    """
    try:
        if isinstance(thing, Image):
            image = preview(thing, size=NOTEBOOK_SIZE)
        else:
            if isinstance(thing, Table):
                thing = thing[:: -(-len(thing) // NOTEBOOK_POINTS) or 1]
            scene = _scene_of(thing)._to_plain()
            image = image_from_plain(_polyhaul.preview_scene(scene, _look(), None, True))
    except ValueError:
        return None
    file = io.BytesIO()
    write_image(image, file, format="png")
    return file.getvalue()


def _scene_of(source: Scene | Mesh | Table) -> Scene:
    """Return a scene that shows a scene, mesh or table of points."""
    if isinstance(source, Scene):
        return source
    scene = Scene(forward_axis="NEGATIVE_Z", up_axis="Y")
    scene.add(_points_of(source) if isinstance(source, Table) else source, name="Mesh")
    return scene


def _points_of(table: Table) -> Mesh:
    """Return the points of a table, with their colors if it has color columns."""
    missing = [name for name in "xyz" if name not in table]
    if missing:
        raise ValueError(f"the table has no column {missing[0]!r}; a table of points has x, y and z")
    positions = np.column_stack([np.asarray(table[name], np.float32) for name in "xyz"])
    all_names = [("red", "green", "blue"), ("r", "g", "b")]
    sets = [names for names in all_names if all(name in table for name in names)]
    if not sets:
        return Mesh(positions)
    channels = [np.asarray(table[name]) for name in sets[0]]
    # Integers other than uint16 are assumed to be bytes, because text files do not specify types.
    types = [channel.dtype for channel in channels]
    white = [(65535 if dtype == np.uint16 else 255) if dtype.kind in "iu" else 1 for dtype in types]
    shares = [channel.astype(np.float32) / maximum for channel, maximum in zip(channels, white, strict=True)]
    colors = np.column_stack(shares)
    return Mesh(positions, colors=colors)


def _scaled(image: Image, size: tuple[int, int]) -> Image:
    """Scale an image down to a size by averaging squares of pixels."""
    width, height = size
    step = max(-(-image.width // max(width, 1)), -(-image.height // max(height, 1)), 1)
    if step == 1:
        return Image(image.pixels, image.color_space, image.premultiplied)
    rows, columns = max(image.height // step, 1), max(image.width // step, 1)
    down, across = min(step, image.height), min(step, image.width)
    squares = image.pixels[: rows * down, : columns * across].reshape(rows, down, columns, across, -1)
    means = squares.mean(axis=(1, 3), dtype=np.float32)
    pixels = means if image.pixels.dtype.kind == "f" else np.rint(means)
    return Image(pixels.astype(image.pixels.dtype), image.color_space, image.premultiplied)
