"""Makes the files of SOG in `testdata/sog`, except for those of another program in `peer`.

Each byte of an image is a simple function of its place, so readers can be checked exactly. The images are lossless WebP
whose codes all have 8 bits. `joined` has JSON and images one after the other, for the fuzz target.
"""

import json
import struct
import zipfile
from pathlib import Path

SOG = Path(__file__).parents[2] / "testdata" / "sog"
MORE = [0, 3, 8, 15]
NAMES = ["means_l", "means_u", "scales", "quats", "sh0", "shN_centroids", "shN_labels"]


class Bits:
    """Bits from the lowest one of each byte on."""

    def __init__(self) -> None:
        self.value, self.count = 0, 0

    def put(self, value: int, count: int) -> None:
        self.value |= value << self.count
        self.count += count

    def code(self, byte: int) -> None:
        """A code of 8 bits, the highest first."""
        self.put(int(f"{byte:08b}"[::-1], 2), 8)

    def data(self) -> bytes:
        return self.value.to_bytes(-(-self.count // 8), "little")


def vp8l(width: int, height: int, pixels: list[tuple[int, int, int, int]], alpha: bool = True) -> bytes:
    bits = Bits()
    for value, count in ((0x2F, 8), (width - 1, 14), (height - 1, 14), (int(alpha), 1), (0, 3)):
        bits.put(value, count)
    bits.put(0, 3)  # no transforms, no cache of colors, one group of codes
    for symbols in (280, 256, 256, 256):
        bits.put(0, 1)
        bits.put(12 - 4, 4)  # lengths of the codes of lengths 17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8
        for length in (0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1):
            bits.put(length, 3)
        bits.put(0, 1)
        for symbol in range(symbols):
            bits.put(int(symbol < 256), 1)
    bits.put(0b0001, 4)  # distances: one symbol, 0
    for red, green, blue, opacity in pixels:
        for byte in (green, red, blue, opacity):
            bits.code(byte)
    return bits.data()


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2) for name, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def webp(width: int, height: int, pixel, alpha: bool = True) -> bytes:
    return riff((b"VP8L", vp8l(width, height, [pixel(at) for at in range(width * height)], alpha)))


def images(count: int, degree: int) -> dict[str, bytes]:
    """The images of splats, in rows of 4."""
    byte = lambda at, step: (at * step + 11) % 256
    height = max(1, -(-count // 4))
    pictures = {
        "means_l": webp(4, height, lambda at: (byte(at, 3), byte(at, 5), byte(at, 7), 255), alpha=False),
        "means_u": webp(4, height, lambda at: (byte(at, 17), byte(at, 19), byte(at, 23), 255), alpha=False),
        "scales": webp(4, height, lambda at: (at % 256, byte(at, 2), 255 - at % 256, 255), alpha=False),
        "quats": webp(4, height, lambda at: (byte(at, 29), byte(at, 31), byte(at, 37), 252 + at % 4)),
        "sh0": webp(4, height, lambda at: (byte(at, 41), byte(at, 43), byte(at, 47), at * 17 % 256)),
    }
    if degree:
        width = 64 * MORE[degree]
        pictures["shN_centroids"] = webp(width, 2, lambda at: (byte(at, 3), byte(at, 5), byte(at, 7), 255), alpha=False)
        pictures["shN_labels"] = webp(4, height, lambda at: (at * 9 % 70, 0, 0, 255), alpha=False)
    return pictures


def files(*names: str) -> dict:
    return {"files": [f"{name}.webp" for name in names]}


def version_2(count: int, degree: int = 0) -> dict:
    codebook = lambda step: {"codebook": [at * step % 10 for at in range(256)]}
    meta = {"version": 2, "count": count, "antialias": True}
    meta["means"] = {"mins": [-1, -2, 0], "maxs": [1, 2, 3]} | files("means_l", "means_u")
    meta["scales"] = codebook(3) | files("scales")
    meta["quats"] = files("quats")
    meta["sh0"] = codebook(7) | files("sh0")
    if degree:
        meta["shN"] = {"count": 70, "bands": degree} | codebook(1) | files("shN_centroids", "shN_labels")
    return meta


def version_1(count: int, degree: int = 0) -> dict:
    part = lambda mins, maxs, *names: {"shape": [count, len(mins)], "mins": mins, "maxs": maxs} | files(*names)
    meta = {"means": part([-1, -2, 0], [1, 2, 3], "means_l", "means_u")}
    meta["scales"] = part([-8, -7, -6], [0, 1, 2], "scales")
    meta["quats"] = {"shape": [count, 4], "encoding": "quaternion_packed"} | files("quats")
    meta["sh0"] = part([-1, -2, -3, -4], [1, 2, 3, 4], "sh0")
    if degree:
        meta["shN"] = {"mins": -0.5, "maxs": 1.5} | files("shN_centroids", "shN_labels")
    return meta


def text(meta: dict) -> bytes:
    return json.dumps(meta, separators=(",", ":")).encode()


def members(meta: bytes, pictures: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.webp": data for name, data in pictures.items()} | {"meta.json": meta}


def bundle(path: str, meta: dict | bytes, pictures: dict[str, bytes], prefix: str = "", packed: bool = False) -> None:
    meta = meta if isinstance(meta, bytes) else text(meta)
    (SOG / path).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(SOG / path, "w") as archive:
        for name, data in members(meta, pictures).items():
            info = zipfile.ZipInfo(prefix + name)
            info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            archive.writestr(info, data)


def joined(name: str, meta: dict, pictures: dict[str, bytes]) -> None:
    (SOG / "joined").mkdir(parents=True, exist_ok=True)
    data = text(meta) + b"".join(pictures[name] for name in NAMES if name in pictures)
    (SOG / "joined" / f"{name}.joined").write_bytes(data)


good = {
    "v2": (version_2(10), images(10, 0)),
    "v2_degree1": (version_2(10, 1), images(10, 1)),
    "v2_degree3": (version_2(9, 3), images(9, 3)),
    "v1": (version_1(10), images(10, 0)),
    "v1_degree1": (version_1(10, 1), images(10, 1)),
    "v1_degree2": (version_1(7, 2), images(7, 2)),
    "empty": (version_2(0), images(0, 0)),
}
for name, (meta, images_of_case) in good.items():
    bundle(f"good/{name}.sog", meta, images_of_case)
    if sum(map(len, images_of_case.values())) < 6000:
        joined(name, meta, images_of_case)
null = version_2(10)
null["scales"]["codebook"][0] = None
bundle("good/null.sog", null, images(10, 0))
bundle("good/many.sog", version_2(50_000), images(50_000, 0), packed=True)
bundle("good/packed.sog", version_2(10, 1), images(10, 1), prefix="scene/", packed=True)
extended = images(10, 0)
canvas = struct.pack("<IBHBH", 0x18, 3, 0, 2, 0)
extended["quats"] = riff((b"VP8X", canvas), (b"VP8L", extended["quats"][20:]), (b"EXIF", b"abc"))
bundle("good/extended.sog", version_2(10), extended)
folder = SOG / "folder"
folder.mkdir(exist_ok=True)
for name, data in members(text(version_2(10, 1)), images(10, 1)).items():
    (folder / name).write_bytes(data)

whole, more = images(10, 0), images(10, 1)
changed = lambda **parts: version_2(10, 1) | parts
bad = {
    "json": (b'{"means": {"mins": [', whole),
    "version": (version_2(10) | {"version": 3}, whole),
    "count": (version_2(13), whole),
    "huge": (version_2(4_000_000_000), whole),
    "no_count": ({k: v for k, v in version_2(10).items() if k != "count"}, whole),
    "codebook": (changed(sh0={"codebook": [0] * 255} | files("sh0")), more),
    "null": (changed(sh0={"codebook": [0] * 200 + [None] * 56} | files("sh0")), more),
    "range": (changed(means={"mins": [0, 0, 0], "maxs": [1, 1, 100]} | files("means_l", "means_u")), more),
    "ranges": (changed(means={"mins": [0, 0], "maxs": [1, 1, 1]} | files("means_l", "means_u")), more),
    "overflow": (version_1(10) | {"scales": {"mins": [-1e300] * 3, "maxs": [1e300] * 3} | files("scales")}, whole),
    "files": (changed(means={"mins": [0, 0, 0], "maxs": [1, 1, 1]} | files("means_l")), more),
    "no_files": (changed(shN=version_2(1, 1)["shN"] | {"files": []}), more),
    "missing": (version_2(10), {name: data for name, data in whole.items() if name != "quats"}),
    "outside": (changed(quats=files("../quats")), more),
    "bands": (changed(shN=version_2(1, 1)["shN"] | {"bands": 2}), more),
    "palette": (changed(shN=version_2(1, 1)["shN"] | {"count": 129}), more),
    "label": (changed(shN=version_2(1, 1)["shN"] | {"count": 60}), more),
    "quat": (version_2(10), whole | {"quats": webp(4, 3, lambda at: (1, 2, 3, 251))}),
    "png": (version_2(10), whole | {"quats": b"\x89PNG\r\n\x1a\n" + bytes(40)}),
    "lossy": (version_2(10), whole | {"quats": riff((b"VP8 ", bytes(40)))}),
    "animated": (version_2(10), whole | {"quats": riff((b"VP8X", bytes(10)), (b"ANIM", bytes(6)), (b"ANMF", bytes(24)))}),
    "cut": (version_2(10), whole | {"quats": whole["quats"][:-20]}),
    "large": (version_2(10), whole | {"quats": riff((b"VP8L", vp8l(16384, 16384, [])))}),
    "no_pixels": (version_2(10), whole | {"quats": riff((b"EXIF", b"ab"))}),
}
for name, (meta, images_of_case) in bad.items():
    bundle(f"bad/{name}.sog", meta, images_of_case)
