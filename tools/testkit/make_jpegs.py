"""Makes `testdata/jpg/matrix/matrix.bin`: small JPEG files of all widths and heights up to 40, and libjpeg's pixels.

Needs libjpeg-turbo's `cjpeg` and `djpeg`. A record is the size of a file (4 bytes, little-endian), the checksum of its
pixels (CRC-32, 4 bytes) as `djpeg -dct int` decodes it, the length of a name (1 byte), the name, and the file. With
`all PROGRAM`, every combination is made and compared with what the polyhaul command reads from it; nothing is written.
"""

import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

OUT = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "jpg" / "matrix" / "matrix.bin"

SAMPLINGS = {"444": "1x1", "422": "2x1", "420": "2x2", "440": "1x2", "411": "4x1"}

PROGRESSIVE = "1: 0-0, 0, 0; 0: 0-0, 0, 0; 2: 0-0, 0, 0; 2: 1-63, 0, 0; 0: 1-5, 0, 2; 0: 6-63, 0, 2; 1: 1-63, 0, 0;" \
    " 0: 1-63, 2, 1; 0: 1-63, 1, 0;"
REFINED = "0 1 2: 0-0, 0, 2; 0 1 2: 0-0, 2, 1; 0: 0-0, 1, 0; 1 2: 0-0, 1, 0; 2: 1-63, 0, 1; 0: 1-63, 0, 2;" \
    " 0: 1-63, 2, 1; 0: 1-63, 1, 0; 1: 1-63, 0, 1; 1: 1-63, 1, 0; 2: 1-63, 1, 0;"

# The options of a kind of file, and its scans.
KINDS = {
    "baseline": ([], None),
    "optimized": (["-optimize"], None),
    "restarts": (["-restart", "1"], None),
    "restart_blocks": (["-restart", "3B"], None),
    "progressive": (["-progressive"], None),
    "apart": ([], "0; 1; 2;"),
    "apart_reversed": ([], "2; 1; 0;"),
    "apart_turned": ([], "1; 2; 0;"),
    "pair_first": ([], "0 1; 2;"),
    "pair_last": ([], "0; 1 2;"),
    "pair_apart": ([], "1; 0 2;"),
    "apart_restarts": (["-restart", "2B"], "2; 0; 1;"),
    "progressive_apart": ([], PROGRESSIVE),
    "progressive_refined": ([], REFINED),
    "progressive_restarts": (["-restart", "2B"], REFINED),
}


def picture(width, height):
    """Waves of colors with edges."""
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            pixels.append(int(128 + 120 * math.sin(x / 3 + y / 5)))
            pixels.append(int(128 + 120 * math.cos(x / 4 - y / 2)))
            pixels.append((x * 7 + y * 13) % 256)
    return b"P6 %d %d 255\n" % (width, height) + bytes(pixels)


def pixels(ppm):
    return ppm.split(b"\n", 3)[3]


def made(width, height, sampling, kind, scratch):
    """The file, and libjpeg's pixels."""
    options, scans = KINDS[kind]
    command = ["cjpeg", "-quality", "30", "-sample", SAMPLINGS[sampling], *options]
    if scans:
        script = scratch / "scans.txt"
        script.write_text(scans.replace(";", ";\n"))
        command += ["-scans", str(script)]
    run = lambda command, data: subprocess.run(command, input=data, capture_output=True, check=True).stdout
    file = run(command, picture(width, height))
    return file, pixels(run(["djpeg", "-dct", "int", "-pnm"], file))


def chosen():
    """Each width and each height with each sampling, with the kinds in turn."""
    kinds = list(KINDS)
    turn = 0
    for sampling in SAMPLINGS:
        for side in range(1, 41):
            for width, height in [(side, 1 + side * 7 % 23), (1 + side * 5 % 19, side)]:
                yield width, height, sampling, kinds[turn % len(kinds)]
                turn += 1


def everything():
    for width in range(1, 41):
        for height in range(1, 41):
            for sampling in SAMPLINGS:
                for kind in KINDS:
                    yield width, height, sampling, kind


def compare(program, scratch):
    """Compares the pixels of TGA files, which hold them as they are: rows of blue, green and red from the top or bottom."""
    wrong = count = 0
    source, target = scratch / "file.jpg", scratch / "file.tga"
    for width, height, sampling, kind in everything():
        file, expected = made(width, height, sampling, kind, scratch)
        source.write_bytes(file)
        subprocess.run([program, "convert", "--quiet", source, target], check=True)
        tga = target.read_bytes()
        stored = tga[18 + tga[0]:][:3 * width * height]
        rows = [stored[at:at + 3 * width] for at in range(0, len(stored), 3 * width)]
        rows = rows if tga[17] & 0x20 else rows[::-1]
        turned = bytearray(b"".join(rows))
        turned[0::3], turned[2::3] = turned[2::3], turned[0::3]
        count += 1
        if bytes(turned) != expected:
            wrong += 1
            print(f"{width} x {height} {sampling} {kind}")
    print(f"{count} files, {wrong} differ")


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        if sys.argv[1:2] == ["all"]:
            compare(sys.argv[2], scratch)
            return
        records = []
        for width, height, sampling, kind in chosen():
            file, expected = made(width, height, sampling, kind, scratch)
            name = f"{width}x{height}_{sampling}_{kind}".encode()
            records.append(struct.pack("<IIB", len(file), zlib.crc32(expected), len(name)) + name + file)
        OUT.write_bytes(b"".join(records))
        print(f"{len(records)} files, {OUT.stat().st_size} bytes")


main()
