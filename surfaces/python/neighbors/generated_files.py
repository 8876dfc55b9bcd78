"""Files that readers of OBJ, PLY, STL and OFF treat differently, each made of a number: all ways to write indices, numbers, lines,
materials, groups, properties and types that are found in files, and some that no reader accepts."""

from __future__ import annotations

import random
import struct

#: A material library for the generated OBJ files.
MTL = (
    "newmtl red\nKd 1 0 0\nKa .1 .1 .1\nNs 10\nillum 2\nnewmtl blue\nKd 0 0 1\nmap_Kd missing.png\n"
    "newmtl two words\nKs 1 1 1\n"
)


def make(kind: str, seed: int) -> bytes:
    """A file of a kind: ``"obj"``, ``"ply"``, ``"stl"`` or ``"off"``."""
    return {"obj": obj, "ply": ply, "stl": stl, "off": off}[kind](random.Random(f"{kind} {seed}"))


def number(rng: random.Random) -> str:
    """A number as text, in one of many forms."""
    form, value = rng.random(), rng.uniform(-3, 3)
    for share, text in (
        (0.5, f"{value:.6f}"),
        (0.6, repr(value)),
        (0.65, f"{value:.9e}"),
        (0.7, str(rng.randint(-3, 3))),
        (0.73, rng.choice(["0", "-0", "-0.0", "+1", ".5", "1.", "1e-5", "1E+2", "-1e-3"])),
        (0.732, rng.choice(["nan", "inf", "-inf", "NaN"])),
    ):
        if form < share:
            return text
    return f"{value:.3g}"


def numbers(rng: random.Random, count: int) -> list[str]:
    return [number(rng) for _ in range(count)]


def maybe(rng: random.Random, share: float, *choices: str) -> list[str]:
    """One of the choices, sometimes."""
    return [rng.choice(choices)] if rng.random() < share else []


def obj(rng: random.Random) -> bytes:
    """An OBJ file with faces; a quarter of them with rare things."""
    is_rare = rng.random() < 0.25
    counts = [rng.randint(3, 9), rng.randint(1, 9), rng.randint(1, 6)]
    if rng.random() < 0.4:
        counts = counts[:1] * 3
    style = rng.choice(["v", "v", "v/t", "v/t", "v//n", "v/t/n", "v/t/n", "mixed", "same", "same/t"])
    lines = maybe(rng, 0.3, "# made", "#", "", "  ", "# usemtl in a comment", "# f 1 2 3", "# a\n# b")
    lines += maybe(rng, 0.35, "mtllib a.mtl", "mtllib missing.mtl", "mtllib a b.mtl", "mtllib a.mtl b.mtl")
    lines += maybe(rng, 0.3, "o first", "g first", "o a b", "s 1", "s off", "g", "o")
    lines += obj_vertices(rng, counts, is_rare) + obj_faces(rng, counts, style, is_rare)
    lines += maybe(rng, 0.1, "usemtl last", "g last", "# end", "")
    lines += maybe(rng, 0.05, "l 1 2 3")
    end = rng.choice(["\n", "\n", "\n", "\r\n"])
    text = end.join("\n".join(lines).split("\n")) + rng.choice([end, end, "", end + end])
    if is_rare and rng.random() < 0.06:
        text = rng.choice(["\ufeff", "\n", "  "]) + text
    if is_rare and rng.random() < 0.1:
        text = text.replace("o first", "o \xe9t\xe9")
    return text.encode("latin1" if is_rare and rng.random() < 0.05 and "\ufeff" not in text else "utf-8")


def obj_vertices(rng: random.Random, counts: list[int], is_rare: bool) -> list[str]:
    colors = rng.choice([0, 0, 0, 0, 3, 3, 4, -1])
    vertices = []
    for _ in range(counts[0]):
        channels = [f"{rng.randint(0, 255) / 255:.6f}" if rng.random() < 0.5 else f"{rng.random():.3f}" for _ in range(4)]
        vertices.append("v " + " ".join(numbers(rng, 3) + channels[: rng.choice([0, 3]) if colors < 0 else colors]))
    if is_rare and rng.random() < 0.2 and not colors:
        vertices[rng.randrange(counts[0])] += " 1.0"
    if is_rare and rng.random() < 0.2:
        vertices[0] = vertices[0].replace("v ", rng.choice(["v\t", "v  ", " v ", "\tv "]))
    if is_rare and rng.random() < 0.2:
        vertices[0] += rng.choice([" ", "\t", " # c", "  # f 1 2 3"])
    columns = rng.choice([2, 2, 2, 3, 1]) if is_rare else 2
    uvs = ["vt " + " ".join(numbers(rng, columns)) for _ in range(counts[1])]
    normals = ["vn " + " ".join(numbers(rng, 3)) for _ in range(counts[2])]
    order = rng.choice(["blocks", "blocks", "normals first", "interleaved"])
    rows = normals + uvs + vertices if order == "normals first" else vertices + uvs + normals
    if order == "interleaved":
        rng.shuffle(rows)
    return rows


def obj_faces(rng: random.Random, counts: list[int], style: str, is_rare: bool) -> list[str]:
    sizes = rng.choice([[3], [3], [4], [5], [3, 4], [3, 4, 5, 6]])
    lines = []
    for _ in range(rng.randint(0 if rng.random() < 0.08 else 1, 8)):
        how = rng.choice(["v", "v/t", "v//n", "v/t/n"]) if style == "mixed" else style
        line = "f " + " ".join(corner(rng, counts, how, is_rare) for _ in range(rng.choice(sizes)))
        if is_rare and rng.random() < 0.08:
            line += rng.choice([" ", " # c", "\t"])
        if is_rare and rng.random() < 0.07:
            line = line.replace(" ", rng.choice(["  ", "\t", " \\\n"]), 2)
        lines += maybe(rng, 0.2, "usemtl red", "usemtl blue", "usemtl red", "usemtl none", "usemtl two words", "usemtl")
        lines += maybe(rng, 0.15, "g a", "g b c", "g", "o x", "o y", "s 1", "s off", "# note", "", "g a\ng b")
        lines += maybe(rng, 0.05 * is_rare, "l 1 2", "p 1", "vp 1 2", "foo 1 2", "fo 1", "f 1 2", "f 1 2 99", "f 0 1 2", "v 1 2 3")
        lines += maybe(rng, 0.05 * is_rare, "vx 1", "usemtl red # c", "\tg t", "curv 1 2")
        lines.append(line)
    return lines


def corner(rng: random.Random, counts: list[int], how: str, is_rare: bool) -> str:
    def index(count: int) -> int:
        return -rng.randint(1, count) if is_rare and rng.random() < 0.1 else rng.randint(1, count)

    if how.startswith("same"):
        number = rng.randint(1, min(counts))
        return f"{number}/{number}" if how == "same/t" else f"{number}/{number}/{number}"
    v, t, n = (index(count) for count in counts)
    return {"v": f"{v}", "v/t": f"{v}/{t}", "v//n": f"{v}//{n}", "v/t/n": f"{v}/{t}/{n}"}[how]


#: The integers of PLY: the values that are used, and the code of ``struct``.
INTEGERS = {
    "char": (-128, 127, "b"),
    "uchar": (0, 255, "B"),
    "short": (-999, 999, "h"),
    "ushort": (0, 999, "H"),
    "int": (-9999, 9999, "i"),
    "uint": (0, 9999, "I"),
    "int8": (-5, 5, "b"),
    "uint8": (0, 255, "B"),
    "int16": (-9, 9, "h"),
    "uint16": (0, 9, "H"),
    "int32": (-9, 9, "i"),
    "uint32": (0, 9, "I"),
}
CODES = {name: code for name, (_, _, code) in INTEGERS.items()} | {"float": "f", "float32": "f", "double": "d"}

#: The properties of an element: their types (of a list: that of its length and that of its values) and names.
Properties = list[tuple[str | tuple[str, str], str]]


def ply(rng: random.Random) -> bytes:
    """A PLY file with vertices, mostly with faces, as text or in binary."""
    encoding = rng.choice(["ascii", "ascii", "binary_little_endian", "binary_little_endian", "binary_big_endian"])
    count = rng.choice([1, 2, 3, 4, 5, 8, 0]) if rng.random() < 0.3 else rng.choice([4, 6, 9])
    elements = [("vertex", count, ply_vertex(rng))]
    if rng.random() < 0.92:
        elements.append(("face", rng.choice([0, 1, 2, 5]) if count > 2 else 0, ply_face(rng)))
    if rng.random() < 0.1:
        elements.append(("edge", 1, [("int", "vertex1"), ("int", "vertex2")]))
    if rng.random() < 0.03:
        elements.reverse()
    header = ["ply", f"format {encoding} 1.0", *maybe(rng, 0.3, "comment made", "comment TextureFile missing.png", "obj_info x")]
    for name, length, properties in elements:
        header.append(f"element {name} {length}")
        for kind, field in properties:
            header.append(f"property {kind} {field}" if isinstance(kind, str) else f"property list {kind[0]} {kind[1]} {field}")
    header.append("end_header")
    rows, blob = ply_rows(rng, elements, ">" if "big" in encoding else "<")
    end = rng.choice(["\n", "\n", "\n", "\n", "\r\n"]) if encoding == "ascii" else "\n"
    head = (end.join(header) + end).encode()
    if encoding != "ascii":
        return head + blob + (b"x" if rng.random() < 0.03 else b"")
    text = end.join(rows) + (rng.choice([end, end, "", end + end]) if rows else "")
    if rng.random() < 0.04 and rows:
        text = text.replace(" ", end, 1)
    if rng.random() < 0.03:
        text = text.replace(end, end + end, 1)
    return head + text.encode()


def ply_vertex(rng: random.Random) -> Properties:
    real = rng.choice(["float", "float", "float32", "double"])
    properties: Properties = [(real, name) for name in "xyz"]
    if rng.random() < 0.35:
        properties += [(rng.choice(["float", real]), name) for name in ("nx", "ny", "nz")]
    if rng.random() < 0.35:
        pairs = [("s", "t"), ("u", "v"), ("texture_u", "texture_v"), ("texture_s", "texture_t")]
        properties += [("float", name) for name in rng.choice(pairs)]
    if rng.random() < 0.4:
        kind = rng.choice(["uchar", "uchar", "uchar", "uint8", "float"])
        prefix = "diffuse_" if rng.random() < 0.05 else ""
        properties += [(kind, prefix + name) for name in ("red", "green", "blue", *(["alpha"] if rng.random() < 0.4 else []))]
    if rng.random() < 0.3:
        name = rng.choice(["quality", "label", "intensity", "confidence", "a.b", "flags"])
        properties.append((rng.choice([*INTEGERS, "float", "double"]), name))
    if rng.random() < 0.05:
        rng.shuffle(properties)
    return properties


def ply_face(rng: random.Random) -> Properties:
    kinds = rng.choice(["uchar", "uchar", "uint8", "int", "ushort"]), rng.choice(["int", "uint", "int32", "uchar", "short"])
    properties: Properties = [(kinds, rng.choice(["vertex_indices", "vertex_indices", "vertex_indices", "vertex_index"]))]
    if rng.random() < 0.2:
        properties += [("uchar", name) for name in ("red", "green", "blue", *(["alpha"] if rng.random() < 0.3 else []))]
    if rng.random() < 0.15:
        properties.append((rng.choice([*INTEGERS, "float", "double"]), rng.choice(["quality", "flags", "intensity"])))
    if rng.random() < 0.08:
        properties.append((("uchar", "float"), "texcoord"))
    return properties[1:] + properties[:1] if rng.random() < 0.05 else properties


def ply_rows(rng: random.Random, elements: list[tuple[str, int, Properties]], order: str) -> tuple[list[str], bytes]:
    """The rows of all elements as text, and the same in binary."""
    sizes = rng.choice([[3], [3], [3], [4], [3, 4], [3, 4, 5], [1, 2, 3]])
    count = dict((name, length) for name, length, _ in elements)["vertex"]
    rows, blob = [], b""
    for _, length, properties in elements:
        for _ in range(length):
            words: list[str] = []
            size = rng.choice(sizes)
            for kind, field in properties:
                is_list = not isinstance(kind, str)
                of_values = kind[1] if is_list else kind
                width = 2 * size if field == "texcoord" else size if is_list else 1
                is_index = is_list or field.startswith("vertex")
                values = [ply_value(rng, str(of_values), count if is_index and field != "texcoord" else 0) for _ in range(width)]
                if is_list:
                    words.append(str(width))
                    blob += struct.pack(order + CODES[kind[0]], width)
                words += values
                code = CODES[str(of_values)]
                blob += b"".join(struct.pack(order + code, float(value) if code in "fd" else int(value)) for value in values)
            rows.append(rng.choice([" ", " ", " ", "  "]).join(words) + rng.choice(["", "", " "]))
    return rows, blob


def ply_value(rng: random.Random, kind: str, count: int) -> str:
    """A number of a type; if ``count`` is not 0, an index below it."""
    if count:
        return str(rng.randrange(count))
    return str(rng.randint(*INTEGERS[kind][:2])) if kind in INTEGERS else number(rng)


def stl(rng: random.Random) -> bytes:
    """An STL file, as text or in binary, with repeated points, some of which differ by the sign of a zero."""
    count = rng.choice([0, 1, 2, 4, 6])
    points = [numbers(rng, 3) for _ in range(5)]
    if rng.random() < 0.4:
        points.append(["-" + word if word[0] == "0" else word for word in points[0]])
    facets = [(numbers(rng, 3), [rng.choice(points) for _ in range(3)]) for _ in range(count)]
    if rng.random() < 0.55:
        return stl_text(rng, facets)
    header = rng.choice([b"solid x", b"made", b"\xff\x00", b""]).ljust(80, rng.choice([b" ", b"\0"]))
    rows = [
        struct.pack("<12fH", *map(float, normal), *(float(word) for point in corners for word in point), rng.choice([0, 0, 0, 7]))
        for normal, corners in facets
    ]
    return header + struct.pack("<I", count) + b"".join(rows) + (b"x" if rng.random() < 0.03 else b"")


def stl_text(rng: random.Random, facets: list[tuple[list[str], list[list[str]]]]) -> bytes:
    is_upper = rng.random() < 0.1
    solids = rng.choice([1, 1, 1, 2, 3])
    lines = []
    for solid in range(solids):
        name = rng.choice(["", "part", "Part A", "part", "a vertex", "solid", "\xe9"]) if rng.random() < 0.5 else f"s{solid}"
        lines.append(f"solid {name}".rstrip() if rng.random() < 0.9 else f"solid {name}")
        for normal, corners in facets[solid::solids]:
            body = ["facet normal " + " ".join(normal), " outer loop"]
            body += ["  vertex " + " ".join(point) for point in corners] + [" endloop", "endfacet"]
            if rng.random() < 0.03:
                body.insert(1, rng.choice(["", "# c", "color 1 2 3"]))
            lines += [line.upper() for line in body] if is_upper else body
        lines.append(rng.choice([f"endsolid {name}", "endsolid", "endsolid x"]))
    end = rng.choice(["\n", "\n", "\r\n"])
    text = end.join(lines) + rng.choice([end, end, "", end + end])
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-8", "latin1"]))


def off(rng: random.Random) -> bytes:
    """An OFF file with triangles, quads or polygons."""
    vertices, faces = rng.randint(1, 7), rng.randint(0, 6)
    sizes = rng.choice([[3], [3], [3], [4], [3, 4, 5]])
    lines = [rng.choice(["OFF", "OFF", "OFF", "OFF ", "COFF", "off"]), *maybe(rng, 0.1, "# c", "")]
    counts = [f"{vertices} {faces} 0", f"{vertices} {faces} 0", f"{vertices}  {faces} 0", f"{vertices} {faces}"]
    lines.append(rng.choice(counts))
    for _ in range(vertices):
        lines.append(" ".join(numbers(rng, 3) + (["255", "0", "0", "255"] if lines[0] == "COFF" else [])))
    for _ in range(faces):
        size = rng.choice(sizes)
        words = [size, *(rng.randrange(vertices) for _ in range(size))]
        lines.append(" ".join(map(str, words)) + (" 1 0 0" if rng.random() < 0.05 else ""))
    if rng.random() < 0.05:
        lines.insert(3, "# c")
    end = rng.choice(["\n", "\n", "\r\n"])
    return (end.join(lines) + rng.choice([end, ""])).encode()
