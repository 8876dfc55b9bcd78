"""Makes the files of Gaussian splats in `testdata`: the folders `splat`, `spz` and `packed_ply`.

Each number of a splat is a whole code of its format, so readers can be checked exactly. Needs Python 3.14 for zstd
(version 4 of SPZ), or the package `zstandard`.
"""

import gzip
import struct
from pathlib import Path

try:
    from compression.zstd import compress
except ImportError:
    from zstandard import compress

TESTDATA = Path(__file__).parents[2] / "testdata"
MORE = [0, 3, 8, 15, 24]


def rows(count: int) -> bytes:
    out = b""
    for i in range(count):
        out += struct.pack("<6f", i * 0.5, -i, i * i / 8, 2.0 ** (i % 5 - 3), 1.0, 0.25)
        out += bytes([i * 7 % 256, 255 - i, 128, i * 37 % 256, 128 + i % 100, 128, 64, 200])
    return out


def attributes(version: int, count: int, degree: int) -> list[bytes]:
    code = lambda i, step: (i * step + 11) % 256
    if version == 1:
        positions = b"".join(struct.pack("<3e", i / 4, -i, 0.5) for i in range(count))
    else:
        places = [(i * 1024, -i * 4096, 2048) for i in range(count)]
        positions = b"".join(v.to_bytes(3, "little", signed=True) for place in places for v in place)
    if version >= 3:
        word = lambda i: (i % 4) << 30 | (i * 7 % 1024) << 20 | (i * 13 % 1024) << 10 | i * 29 % 1024
        rotations = b"".join(struct.pack("<I", word(i)) for i in range(count))
    else:
        rotations = bytes(64 + code(i, 5) // 2 for i in range(3 * count))
    return [
        positions,
        bytes(code(i, 3) for i in range(count)),
        bytes(code(i, 17) for i in range(3 * count)),
        bytes(code(i, 29) for i in range(3 * count)),
        rotations,
        bytes(code(i, 41) for i in range(3 * MORE[degree] * count)),
    ]


def header(version: int, count: int, degree: int, flags: int = 0, last: int = 0) -> bytes:
    return b"NGSP" + struct.pack("<IIBBBB", version, count, degree, 12, flags, last)


def spz(version: int, count: int, degree: int, flags: int = 0, tail: bytes = b"") -> bytes:
    return header(version, count, degree, flags) + b"".join(attributes(version, count, degree)) + tail


def streams(count: int, degree: int, flags: int = 0, extensions: bytes = b"") -> bytes:
    parts = [part for part in attributes(4, count, degree) if part]
    packed = [compress(part) for part in parts]
    out = header(4, count, degree, flags, len(parts)) + struct.pack("<I12x", 32 + len(extensions)) + extensions
    out += b"".join(struct.pack("<QQ", len(p), len(part)) for p, part in zip(packed, parts))
    return out + b"".join(packed)


def packed_ply(count: int, degree: int, colors: bool = True) -> bytes:
    chunks = -(-count // 256)
    names = [f"{end}{of}_{axis}" for of in ("", "_scale") for end in ("min", "max") for axis in "xyz"]
    names += [f"{end}_{axis}" for end in ("min", "max") for axis in "rgb"] if colors else []
    lines = ["ply", "format binary_little_endian 1.0", "comment made by hand", f"element chunk {chunks}"]
    lines += [f"property float {name}" for name in names] + [f"element vertex {count}"]
    lines += [f"property uint packed_{name}" for name in ("position", "rotation", "scale", "color")]
    rest = 3 * MORE[degree]
    lines += ([f"element sh {count}"] if rest else []) + [f"property uchar f_rest_{i}" for i in range(rest)]
    body = b""
    for c in range(chunks):
        ranges = [-1 - c, 0, 2, 1, 4, 2, -8, -8, -8, 0, -2, 1, 0, 0, -0.5, 1, 1.5, 1]
        body += struct.pack(f"<{len(names)}f", *ranges[: len(names)])
    for i in range(count):
        word = lambda step: (i * step * 2654435761 + 12345) % 2**32
        body += struct.pack("<4I", word(1), word(3), word(5), word(7))
    body += bytes((i * 31 + 5) % 256 for i in range(rest * count))
    return ("\n".join([*lines, "end_header"]) + "\n").encode() + body


def write(folder: str, name: str, data: bytes) -> None:
    (TESTDATA / folder / name).write_bytes(data)


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


write("splat", "good/rows.splat", rows(20))
write("splat", "good/empty.splat", b"")
write("splat", "good/far.splat", struct.pack("<6f8B", 0, 1e30, 0, 1, 1, 1, 200, 100, 50, 255, 255, 128, 128, 128))
write("splat", "bad/cut.splat", rows(3)[:-5])
for version in (1, 2, 3):
    write("spz", f"good/v{version}.spz", gz(spz(version, 12, 0)))
    write("spz", f"good/v{version}_degree3.spz", gz(spz(version, 5, 3)))
write("spz", "good/plain.spz", spz(3, 9, 1))
write("spz", "good/degree4.spz", gz(spz(3, 4, 4, 1)))
write("spz", "good/empty.spz", gz(spz(3, 0, 0)))
write("spz", "good/extension.spz", gz(spz(3, 4, 0, 2, struct.pack("<II", 7, 4) + b"abcd")))
write("spz", "good/v4.spz", streams(9, 2, 1))
write("spz", "good/v4_extension.spz", streams(3, 0, 2, struct.pack("<II", 7, 4) + b"abcd"))
write("spz", "bad/cut.spz", gz(spz(3, 9, 1)[:-3]))
write("spz", "bad/huge.spz", gz(header(3, 4_000_000_000, 3) + bytes(100)))
write("spz", "bad/plain_huge.spz", header(2, 4_000_000_000, 3) + bytes(100))
write("spz", "bad/version.spz", gz(header(9, 1, 0) + bytes(100)))
write("spz", "bad/degree.spz", gz(header(3, 1, 5) + bytes(300)))
write("spz", "bad/bits.spz", gz(header(3, 1, 0)[:13] + b"\xff\0\0" + bytes(20)))
write("spz", "bad/magic.spz", b"NGSQ" + spz(3, 2, 0)[4:])
write("spz", "bad/trailing.spz", gz(spz(3, 2, 0, 0, b"more")))
whole = streams(9, 1)
write("spz", "bad/v4_cut.spz", whole[:-9])
write("spz", "bad/v4_table.spz", whole[:16] + struct.pack("<I", 4) + whole[20:])
write("spz", "bad/v4_streams.spz", whole[:15] + b"\x02" + whole[16:])
write("spz", "bad/v4_size.spz", whole[:32] + struct.pack("<QQ", 2**63, 81) + whole[48:])
write("spz", "bad/v4_longer.spz", whole[:40] + struct.pack("<Q", 2**40) + whole[48:])
write("packed_ply", "good/degree0.ply", packed_ply(7, 0))
write("packed_ply", "good/chunks.ply", packed_ply(300, 1)[:])
write("packed_ply", "good/no_colors.ply", packed_ply(5, 2, False))
write("packed_ply", "bad/cut.ply", packed_ply(7, 1)[:-4])
