"""Pillow and OpenImageIO: decode the files of a folder, and print a line for each reader of each file.

    images.py FOLDER ROUNDS FILE...

The lines are those of `bench-obj images`. Pillow reads through a Python file too, whose calls are counted.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import OpenImageIO
from PIL import Image

Image.MAX_IMAGE_PIXELS = None

Reader = Callable[[Path], numpy.ndarray]


class Counted(io.FileIO):
    """A file whose reads are counted; nothing is buffered."""

    calls = 0

    def read(self, size: int = -1) -> bytes:
        Counted.calls += 1
        return super().read(size)


def pillow(path: Path) -> numpy.ndarray:
    with Image.open(path) as image:
        return numpy.asarray(image)


def pillow_called(path: Path) -> numpy.ndarray:
    with Counted(path, "rb") as file, Image.open(file) as image:
        return numpy.asarray(image)


def openimageio(path: Path) -> numpy.ndarray:
    source = OpenImageIO.ImageInput.open(str(path))
    if source is None:
        raise OSError(OpenImageIO.geterror())
    try:
        kind = "float" if path.suffix == ".hdr" else "uint8"
        return source.read_image(0, 0, 0, source.spec().nchannels, kind)
    finally:
        source.close()


READERS: dict[str, Reader] = {"Pillow": pillow, "Pillow,_callbacks": pillow_called, "OpenImageIO": openimageio}


def measure(path: Path, name: str, read: Reader, rounds: int) -> None:
    Counted.calls = 0
    pixels = read(path)
    calls, count = Counted.calls, pixels.shape[0] * pixels.shape[1]
    total = float(pixels.sum(dtype=numpy.float64))
    del pixels
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        read(path)
        times.append(time.perf_counter() - start)
    times.sort()
    print(
        f"image group={path.name} name={name} seconds={times[0]:.6f} median_seconds={times[len(times) // 2]:.6f} "
        f"pixels={count} sum={total!r} calls={calls} extra_bytes=0",
        flush=True,
    )


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    OpenImageIO.attribute("threads", 1)
    for name in sys.argv[3:]:
        for reader, read in READERS.items():
            # Pillow has no floats of HDR.
            if not (name.endswith(".hdr") and reader.startswith("Pillow")):
                measure(folder / name, reader, read, rounds)


if __name__ == "__main__":
    main()
