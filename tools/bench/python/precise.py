"""What coordinates lose: 15 inputs, converted to every format by the command: `precise.py COMMAND FOLDER`.

Makes the inputs in FOLDER, converts each with and without `--origin`, and reads the results with the small readers of
this file, which know nothing of polyhaul. Prints tables in Markdown: the largest distance of an input's point from the
nearest point of the output, what was said, and whether `--strict` refuses; then whether `diff` finds a change of one last
digit. The last lines count what was lost without a word, which must be nothing.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Point = tuple[float, float, float]
TARGETS = (
    "obj", "ply", "ascii.ply", "stl", "ascii.stl", "off", "glb", "gltf", "pbrt", "csv", "tsv", "txt", "xyz", "pts", "npy",
)
COUNT = 30
#: Shown as no error: the rounding of computations in double precision.
SLACK = 1e-8
#: So far may a point be from its place without a warning: half a unit of the sixth decimal, which `plain.obj` has.
HALF_DIGIT = 5e-7


def survey(step: float = 0.017) -> list[Point]:
    """Points of a survey in millimeters."""
    return [
        (round(454123.125 + step * at, 3), round(5411234.456 + step * 61 * at, 3), round(100.5 + 0.003 * at * at, 3)) for at in range(COUNT)
    ]


WIDE = [(round(1e6 * at / COUNT + 0.123, 3), round(777777.777 - 999.999 * at, 3), round(0.001 * at, 3)) for at in range(COUNT)]
LOCAL = [(0.25 * at, 0.125 * at * at, -0.5 * at) for at in range(COUNT)]
PLAIN = [(round(0.1 * at, 6), round(math.sin(at), 6), round(at / 7, 6)) for at in range(COUNT)]
OFFSET = (454123.125, 5411234.456, 100.5)
FACES = [(0, at, at + 1) for at in range(1, COUNT - 1)]


def lines(points: list[Point], separator: str = " ", start: str = "") -> str:
    return "".join(start + separator.join(map(repr, point)) + "\n" for point in points)


def obj(points: list[Point]) -> bytes:
    return (lines(points, start="v ") + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)).encode()


def off(points: list[Point]) -> bytes:
    return (f"OFF\n{COUNT} {len(FACES)} 0\n" + lines(points) + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)).encode()


def ply(points: list[Point], is_text: bool) -> bytes:
    form = "ascii" if is_text else "binary_little_endian"
    header = f"ply\nformat {form} 1.0\nelement vertex {COUNT}\n" + "".join(f"property double {axis}\n" for axis in "xyz")
    header += f"element face {len(FACES)}\nproperty list uchar int vertex_indices\nend_header\n"
    if is_text:
        return (header + lines(points) + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)).encode()
    faces = b"".join(struct.pack("<B3i", 3, *face) for face in FACES)
    return header.encode() + b"".join(struct.pack("<3d", *point) for point in points) + faces


def stl_text(points: list[Point]) -> bytes:
    facets = ("".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in (points[at] for at in face)) for face in FACES)
    body = "".join(f"facet normal 0 0 1\nouter loop\n{facet}endloop\nendfacet\n" for facet in facets)
    return f"solid survey\n{body}endsolid survey\n".encode()


def stl_binary(points: list[Point]) -> bytes:
    body = b"".join(struct.pack("<12fH", 0, 0, 1, *(value for at in face for value in points[at]), 0) for face in FACES)
    return b"a" * 80 + struct.pack("<I", len(FACES)) + body


def npy(points: list[Point]) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({COUNT}, 3), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"".join(struct.pack("<3d", *p) for p in points)


def gltf(points: list[Point]) -> bytes:
    """Local coordinates in a node with a large translation."""
    positions = b"".join(struct.pack("<3f", *point) for point in points)
    indices = b"".join(struct.pack("<3H", *face) for face in FACES)
    data = base64.b64encode(positions + indices).decode()
    low, high = ([pick(point[axis] for point in points) for axis in range(3)] for pick in (min, max))
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": OFFSET}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": COUNT, "type": "VEC3", "min": low, "max": high},
            {"bufferView": 1, "componentType": 5123, "count": 3 * len(FACES), "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": len(positions)}, {"buffer": 0, "byteOffset": len(positions), "byteLength": len(indices)},
        ],
        "buffers": [{"byteLength": len(positions + indices), "uri": "data:application/octet-stream;base64," + data}],
    }).encode()


def pbrt(points: list[Point]) -> bytes:
    place = "Translate " + " ".join(map(repr, OFFSET))
    faces = " ".join(str(at) for face in FACES for at in face)
    numbers = " ".join(repr(value) for point in points for value in point)
    return f'WorldBegin\n{place}\nShape "trianglemesh" "integer indices" [ {faces} ] "point3 P" [ {numbers} ]\n'.encode()


def moved(points: list[Point]) -> list[Point]:
    return [tuple(value + offset for value, offset in zip(point, OFFSET)) for point in points]


def singles(points: list[Point]) -> list[Point]:
    return [struct.unpack("<3f", struct.pack("<3f", *point)) for point in points]


#: Of each input: the file, its bytes, the points that it means, and whether it comes through a pipe.
INPUTS: tuple[tuple[str, bytes, list[Point], bool], ...] = (
    ("survey.obj", obj(survey()), survey(), False),
    ("doubles.ply", ply(survey(), False), survey(), False),
    ("text.ply", ply(survey(), True), survey(), False),
    ("text.stl", stl_text(survey()), survey(), False),
    ("floats.stl", stl_binary(survey(0.51)), singles(survey(0.51)), False),
    ("survey.off", off(survey()), survey(), False),
    ("survey.csv", b"x,y,z\n" + lines(survey(), ",").encode(), survey(), False),
    ("survey.xyz", lines(survey()).encode(), survey(), False),
    ("survey.npy", npy(survey()), survey(), False),
    ("survey.pts", f"{COUNT}\n{lines(survey())}".encode(), survey(), False),
    ("node.gltf", gltf(LOCAL), moved(LOCAL), False),
    ("transform.pbrt", pbrt(LOCAL), moved(LOCAL), False),
    ("wide.obj", obj(WIDE), WIDE, False),
    ("plain.obj", obj(PLAIN), PLAIN, False),
    ("pipe.obj", obj(survey()), survey(), True),
)


def numbers_of(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", text)]


def threes(values: list[float]) -> list[Point]:
    return [tuple(values[at : at + 3]) for at in range(0, len(values) // 3 * 3, 3)]


def read_ply(data: bytes) -> list[Point]:
    header, _, body = data.partition(b"end_header\n")
    words = header.decode().splitlines()
    count = next(int(line.split()[2]) for line in words if line.startswith("element vertex"))
    first = next(at for at, line in enumerate(words) if line.startswith("element vertex"))
    kinds = []
    for line in words[first + 1 :]:
        if line.startswith("element"):
            break
        kinds += [line.split()[1]]
    if b"ascii" in header:
        rows = [list(map(float, line.split())) for line in body.decode().splitlines()[:count]]
    else:
        form = "<" + "".join({"double": "d", "float": "f", "uchar": "B", "int": "i", "uint": "I"}[kind] for kind in kinds)
        rows = list(struct.iter_unpack(form, body[: count * struct.calcsize(form)]))
    return [tuple(row[:3]) for row in rows]


def read_stl(data: bytes) -> list[Point]:
    if data.startswith(b"solid"):
        return [tuple(map(float, line.split()[1:])) for line in data.decode().splitlines() if line.strip().startswith("vertex")]
    facets = struct.iter_unpack("<12fH", data[84:])
    return [facet[at : at + 3] for facet in facets for at in (3, 6, 9)]


def read_gltf(document: dict, buffers: list[bytes]) -> list[Point]:
    points: list[Point] = []

    def visit(number: int, place: Callable[[Point], Point]) -> None:
        node = document["nodes"][number]
        scale, move = node.get("scale", [1, 1, 1]), node.get("translation", [0, 0, 0])
        matrix = node.get("matrix")
        assert "rotation" not in node

        def here(point: Point) -> Point:
            if matrix:
                own = tuple(sum(matrix[4 * k + row] * point[k] for k in range(3)) + matrix[12 + row] for row in range(3))
            else:
                own = tuple(value * factor + offset for value, factor, offset in zip(point, scale, move))
            return place(own)

        for primitive in document["meshes"][node["mesh"]]["primitives"] if "mesh" in node else ():
            accessor = document["accessors"][primitive["attributes"]["POSITION"]]
            view = document["bufferViews"][accessor["bufferView"]]
            start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
            stride = view.get("byteStride", 12)
            data = buffers[view["buffer"]]
            points.extend(here(struct.unpack_from("<3f", data, start + stride * at)) for at in range(accessor["count"]))
        for child in node.get("children", ()):
            visit(child, here)

    for number in document["scenes"][document.get("scene", 0)]["nodes"]:
        visit(number, lambda point: point)
    return points


def read_glb(data: bytes) -> list[Point]:
    size = struct.unpack_from("<I", data, 12)[0]
    return read_gltf(json.loads(data[20 : 20 + size]), [data[28 + size :]])


def read_pbrt(text: str, folder: Path) -> list[Point]:
    points: list[Point] = []
    identity = tuple(float(at % 5 == 0) for at in range(16))
    matrix, stack = identity, []

    def multiplied(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sum(a[4 * k + row] * b[4 * column + k] for k in range(4)) for column in range(4) for row in range(4))

    def add(local: list[Point]) -> None:
        points.extend(
            tuple(sum(matrix[4 * k + row] * point[k] for k in range(3)) + matrix[12 + row] for row in range(3)) for point in local
        )

    world = text[text.index("WorldBegin") :]
    found = re.finditer(
        r"(AttributeBegin|AttributeEnd)|(ConcatTransform|Transform)\s*\[([^]]*)\]|Translate ([^\n]*)|\"point3? P\"\s*\[([^]]*)\]"
        r"|\"string filename\"\s*\[?\s*\"([^\"]*\.ply)\"", world,
    )
    for match in found:
        block, kind, values, translation, inline, file = match.groups()
        if block == "AttributeBegin":
            stack.append(matrix)
        elif block:
            matrix = stack.pop()
        elif kind:
            given = tuple(numbers_of(values))
            matrix = given if kind == "Transform" else multiplied(matrix, given)
        elif translation:
            matrix = multiplied(matrix, identity[:12] + (*numbers_of(translation), 1.0))
        elif inline is not None:
            add(threes(numbers_of(inline)))
        else:
            add(read_ply((folder / file).read_bytes()))
    return points


def read(path: Path) -> list[Point]:
    """The points of a file in its own coordinates."""
    kind = path.suffix[1:]
    data = path.read_bytes()
    if kind == "ply":
        return read_ply(data)
    if kind == "stl":
        return read_stl(data)
    if kind == "glb":
        return read_glb(data)
    if kind == "gltf":
        document = json.loads(data)
        uris = [buffer["uri"] for buffer in document["buffers"]]
        return read_gltf(document, [base64.b64decode(uri.partition(",")[2]) if uri.startswith("data:") else (path.parent / uri).read_bytes() for uri in uris])
    if kind == "pbrt":
        return read_pbrt(data.decode(), path.parent)
    if kind == "npy":
        size = struct.unpack_from("<H", data, 8)[0]
        form = re.search(r"'descr': '<f(\d)'.*\((\d+), (\d+)\)", data[10 : 10 + size].decode())
        assert form, data[:80]
        values = [value for (value,) in struct.iter_unpack("<d" if form[1] == "8" else "<f", data[10 + size :])]
        width = int(form[3])
        return [tuple(values[at : at + 3]) for at in range(0, len(values), width)]
    text = data.decode()
    if kind == "obj":
        return [tuple(map(float, line.split()[1:4])) for line in text.splitlines() if line.startswith("v ")]
    if kind == "off":
        rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
        return [tuple(map(float, row[:3])) for row in rows[2 : 2 + int(rows[1][0])]]
    rows = [re.split(r"[,\s]+", line.strip()) for line in text.splitlines()]
    is_point = lambda row: len(row) >= 3 and re.match(r"[-+.\d]", row[0])
    return [tuple(map(float, row[:3])) for row in rows if is_point(row)]


TURNS: tuple[Callable[[Point], Point], ...] = (
    lambda p: p, lambda p: (p[0], -p[2], p[1]), lambda p: (p[0], p[2], -p[1]), lambda p: (-p[0], p[2], p[1]),
)


def distance(points: list[Point], found: list[Point], origin: Point) -> float:
    """How far a point is from the nearest that was found, at most, whatever the axes."""

    def largest(turn: Callable[[Point], Point]) -> float:
        wanted = [turn(tuple(value - offset for value, offset in zip(point, origin))) for point in points]
        return max(min(max(abs(a - b) for a, b in zip(point, other)) for other in found) for point in wanted)

    return min(map(largest, TURNS))


def run(command: str, source: Path, target: Path, is_piped: bool, *more: str) -> tuple[int, str]:
    words = [command, "convert", "-" if is_piped else str(source), str(target), *more]
    words += ["--from", source.suffix[1:]] if is_piped else []
    done = subprocess.run(words, input=source.read_bytes() if is_piped else None, stdin=None if is_piped else subprocess.DEVNULL, capture_output=True)
    return done.returncode, done.stderr.decode()


def cell(command: str, item: tuple[str, bytes, list[Point], bool], target: str, origin: Point | None, folder: Path) -> tuple[str, bool]:
    """The cell of a table, and whether something was lost in silence."""
    name, _, points, is_piped = item
    path = folder / f"out.{target}"
    options = ["--ascii"] if target.startswith("ascii") else []
    options += ["--origin", ",".join(map(repr, origin))] if origin else []
    code, said = run(command, folder / name, path, is_piped, *options)
    if code:
        return "–" if "cannot" in said or "no " in said else f"exit {code}", False
    has_place = target in ("glb", "gltf", "pbrt")
    found = read(path)
    if not found:
        return "–", False
    # Numbers that stand for floats.
    found = singles(found) if name == "floats.stl" else found
    error = distance(points, found, origin if origin and not has_place else (0.0, 0.0, 0.0))
    strict, _ = run(command, folder / name, path, is_piped, "--strict", *options)
    is_said = "rounded" in said
    text = "0" if error <= SLACK else f"{error:.2g}"
    return text + (" r" if is_said else "") + (" ✗" if strict else ""), error > HALF_DIGIT and not is_said


def table(command: str, folder: Path, origin: bool) -> int:
    print("| input | " + " | ".join(TARGETS) + " |\n|" + " --- |" * (len(TARGETS) + 1))
    silent = 0
    for item in INPUTS:
        first = item[2][0]
        place = tuple(float(round(value)) for value in first) if origin else None
        cells = [cell(command, item, target, place, folder) for target in TARGETS]
        silent += sum(is_silent for _, is_silent in cells)
        print(f"| {item[0]} | " + " | ".join(text for text, _ in cells) + " |", flush=True)
    return silent


def changed(name: str, data: bytes) -> bytes:
    """The same file with one last digit of a coordinate changed."""
    if name.endswith((".npy", "doubles.ply")):
        at = data.index(struct.pack("<d", survey()[7][1]))
        return data[:at] + struct.pack("<d", math.nextafter(survey()[7][1], math.inf)) + data[at + 8 :]
    if name == "floats.stl":
        at = data.index(struct.pack("<f", survey(0.51)[7][1]))
        return data[:at] + struct.pack("<f", singles(survey(0.51))[7][1] + 0.5) + data[at + 4 :]
    for before, after in (("5411241.715", "5411241.716"), ("5411234.456", "5411234.457"), ("770777.784", "770777.785"), ("0.656987", "0.656988")):
        if before.encode() in data:
            return data.replace(before.encode(), after.encode(), 1)
    raise ValueError(name)


def differences(command: str, folder: Path) -> int:
    missed = 0
    for name, data, _, _ in INPUTS:
        other = folder / f"changed-{name}"
        other.write_bytes(changed(name, data))
        done = subprocess.run([command, "diff", folder / name, other], capture_output=True, text=True)
        missed += done.returncode != 1
        print(f"- {name}: {(done.stdout + done.stderr).strip().splitlines()[0]}")
    return missed


def main() -> None:
    command, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data, _, _ in INPUTS:
        (folder / name).write_bytes(data)
    print("Largest error; r: `rounded` was said; ✗: refused by `--strict`; –: not converted.\n")
    silent = table(command, folder, False)
    print("\nWith `--origin` near the first point:\n")
    silent += table(command, folder, True)
    print("\n`diff` after a change of one last digit:\n")
    missed = differences(command, folder)
    print(f"\n{silent} conversions lost something in silence; {missed} of {len(INPUTS)} changes were not found.")


if __name__ == "__main__":
    main()
