"""Reads every image of the test data with other decoders (Pillow, OpenCV) and with the polyhaul command, and lists the largest differences.

    python tools/testkit/reference_images.py target/debug/polyhaul [FOLDER]

Needs the packages pillow, opencv-python-headless and numpy. The values that tests need are stored as `expected` beside the files; this
compares all files with all decoders that read them, and writes `testdata/reference_images.txt`. A line is a file, the
decoder, its shape, the checksum of its values (CRC-32 of its samples as they come), and the largest difference in units of the last place of 8
or 16 bits, or in parts of the largest value for floats.
"""

import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = ["bmp", "dds", "exr", "hdr", "jpg", "ktx2", "png", "psd", "tga"]


def by_pillow(path):
    from PIL import Image

    with Image.open(path) as image:
        mode = image.mode
        if mode in ("P", "PA"):
            image = image.convert("RGBA" if "transparency" in image.info or mode == "PA" else "RGB")
        elif mode in ("1", "CMYK", "YCbCr", "LAB"):
            image = image.convert("L" if mode == "1" else "RGB")
        elif "transparency" in image.info:
            image = image.convert({"L": "LA", "RGB": "RGBA"}.get(mode, mode))
        array = np.asarray(image)
    return array.astype(np.uint16) if array.dtype == np.int32 else array


def by_opencv(path):
    import cv2

    flags = cv2.IMREAD_UNCHANGED | cv2.IMREAD_IGNORE_ORIENTATION
    array = cv2.imdecode(np.fromfile(path, np.uint8), flags)
    if array is None:
        raise ValueError("not read")
    if array.ndim == 3 and array.shape[2] >= 3:
        array = np.concatenate([array[..., 2::-1], array[..., 3:]], -1)
    return array


def by_polyhaul(program, path, scratch):
    """Values through PNG, which holds all integers, or through HDR's and EXR's floats by OpenCV."""
    import cv2

    target = scratch / "out.png"
    subprocess.run([program, "convert", "--quiet", path, target], check=True, capture_output=True)
    return by_pillow(target) if cv2.imread(str(target), -1).dtype == np.uint8 else by_opencv(target)


def by_polyhaul_floats(program, path, scratch):
    target = scratch / "out.hdr"
    subprocess.run([program, "convert", "--quiet", path, target], check=True, capture_output=True)
    return by_opencv(target)


def shaped(array):
    return array[..., None] if array.ndim == 2 else array


def same_channels(first, second):
    """Both without what only one of them has: an opaque alpha, or repeated gray."""
    first, second = shaped(first), shaped(second)
    counts = first.shape[2], second.shape[2]
    for count in (3, 1):
        if min(counts) <= count < max(counts):
            first, second = first[..., :count], second[..., :count]
    return first, second


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for format in FORMATS:
            for path in sorted((ROOT / "testdata" / format / "good").rglob(f"*.{format}")):
                name = path.relative_to(ROOT / "testdata")
                for decoder in (by_pillow, by_opencv):
                    label = decoder.__name__[3:]
                    try:
                        theirs = decoder(path)
                    except Exception:
                        continue
                    ours = (by_polyhaul_floats if theirs.dtype == np.float32 else by_polyhaul)(program, path, scratch)
                    checksum = zlib.crc32(np.ascontiguousarray(theirs).tobytes())
                    a, b = same_channels(ours, theirs)
                    if a.shape != b.shape or a.dtype != b.dtype:
                        result = f"{a.shape} {a.dtype} beside {b.shape} {b.dtype}"
                    elif a.dtype == np.float32:
                        result = f"{np.abs(a - b).max() / max(np.abs(b).max(), 1e-30):.2g} of the largest"
                    else:
                        result = str(int(np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0)))
                    lines.append(f"{name}\t{label}\t{theirs.shape}\t{checksum:08x}\t{result}")
    text = "\n".join(lines) + "\n"
    (ROOT / "testdata" / "reference_images.txt").write_text(text)
    print(text)


main()
