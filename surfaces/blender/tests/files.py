"""Files that are different for every seed: all that Blender's importers of OBJ, PLY and STL know, and what only some
programs write."""

from __future__ import annotations

import random
import struct
from pathlib import Path

NAMES = ["Cube", "Würfel", "two words", "日本語", "x", "Cube", "a.001", "left/arm/hand", "left/leg", "with#hash"]


def obj(rng: random.Random, path: Path) -> set[str]:
    """Writes an OBJ file, its material libraries and some of their images. Returns what is odd in it."""
    file = ObjFile(rng, path)
    file.write()
    return file.odd


#: What only some files have: each of these makes a difference that the guide names.
ODDITIES = (
    "repeated corners",
    "equal faces",
    "two corners",
    "points",
    "loose object",
    "colors of some",
    "normals of some",
    "unused material",
    "unnamed group",
    "ungrouped faces",
    "faces behind a curve",
    "Tr",
    "norm",
    "bump",
    "textures of one input",
)


class ObjFile:
    """One OBJ file."""

    def __init__(self, rng: random.Random, path: Path) -> None:
        self.rng = rng
        self.path = path
        self.lines: list[str] = []
        self.counts = {"v": 0, "vt": 0, "vn": 0}
        self.materials = [rng.choice(["red", "Grün", "two words", f"m{at}", "none", "a.001"]) for at in range(rng.randint(0, 4))]
        #: What may be odd in this file, and what is.
        self.oddities = {name for name in ODDITIES if rng.random() < 0.06}
        self.odd: set[str] = set()
        self.has_colors, self.has_uvs, self.has_normals, self.has_smoothing = (rng.random() < 0.4 for _ in range(4))
        self.has_groups = rng.random() < 0.4
        if self.has_normals and self.has_smoothing:
            self.odd.add("smoothing and normals")
        if self.has_groups and self.has_smoothing:
            self.odd.add("smoothing across groups")
        if self.has_normals:
            self.odd.add("normals")
        #: Whether objects only use positions of their own.
        self.is_apart = rng.random() < 0.5
        self.first = 1
        #: The positions of the faces so far.
        self.faces: set[frozenset[int]] = set()
        self.is_grouped = self.has_curves = False

    def is_odd(self, name: str, chance: float = 0.3) -> bool:
        """Whether to do something that is odd."""
        if name not in self.oddities or self.rng.random() > chance:
            return False
        self.odd.add(name)
        return True

    def write(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            self.lines.append("# made by nobody")
        if self.materials and rng.random() < 0.9:
            self.lines.append(f"mtllib {self.path.stem}.mtl")
            self.path.with_suffix(".mtl").write_text("".join(map(self.material, dict.fromkeys(self.materials))), encoding="utf-8")
        if rng.random() < 0.3:
            self.values()
        for _ in range(rng.randint(1, 4)):
            self.item()
        end = rng.choice(["\n", "\n", "\r\n"])
        self.path.write_bytes((end.join(self.lines) + rng.choice([end, ""])).encode())

    def item(self) -> None:
        """An object, with values before or behind its name."""
        rng = self.rng
        start = f"o {rng.choice(NAMES)}"
        self.first = self.counts["v"] + 1 if self.is_apart else 1
        if self.lines and rng.random() < 0.2:
            self.values()
            self.lines.append(start)
        else:
            self.lines.append(start)
            self.values()
        if self.is_odd("loose object"):
            return
        if self.has_curves:
            # Where objects are not split.
            self.odd.add("faces behind a curve")
        self.is_grouped = False
        if rng.random() < 0.12:
            self.has_curves = True
            self.curve()
            for _ in range(rng.choice([0, 0, 1])):
                self.curve()
            if self.is_odd("faces behind a curve"):
                self.elements()
            return
        if self.has_smoothing:
            self.lines.append(f"s {rng.choice(['off', '0', '1', '2'])}")
        for _ in range(rng.choice([1, 1, 2, 3])):
            self.elements()

    def values(self) -> None:
        rng = self.rng
        has_colors = self.has_colors and rng.random() < 0.8
        for _ in range(rng.randint(5, 12)):
            color = self.numbers(3, 0, 1) if has_colors and not self.is_odd("colors of some") else ""
            self.lines.append(f"v {self.numbers(3)} {color}".rstrip())
            self.counts["v"] += 1
        if has_colors != self.has_colors or (self.has_colors and not self.is_apart):
            # Some objects may use positions of both kinds.
            self.odd.add("colors of some")
        for kind, width, is_there in (("vt", 2, self.has_uvs), ("vn", 3, self.has_normals)):
            for _ in range(rng.choice([1, 3, 5]) if is_there else 0):
                self.lines.append(f"{kind} {self.numbers(width, -1, 1)}")
                self.counts[kind] += 1

    def numbers(self, count: int, low: float = -9, high: float = 9) -> str:
        return " ".join(f"{self.rng.uniform(low, high):.{self.rng.choice([1, 3, 6])}f}" for _ in range(count))

    def elements(self) -> None:
        """Some faces and lines with the same state."""
        rng = self.rng
        if self.has_groups and rng.random() < 0.8:
            self.lines.append(rng.choice(["g {}", "g {}", "g {} {}"]).format(rng.choice(NAMES), rng.choice(NAMES)))
            self.is_grouped = True
        if self.is_odd("unnamed group"):
            self.lines.append("g")
        if self.has_groups and not self.is_grouped:
            self.odd.add("ungrouped faces")
        for chance, line in (
            (0.3 if self.has_smoothing else 0, f"s {rng.choice(['off', '0', '1', '2', '7'])}"),
            (1 if self.is_odd("unused material") else 0, "usemtl nobody's"),
            (0.5, f"usemtl {rng.choice([*self.materials, *self.materials, 'unknown'])}"),
        ):
            if rng.random() < chance:
                self.lines.append(line)
        form = "v" + "t" * (self.has_uvs and rng.random() < 0.8) + "n" * (self.has_normals and not self.is_odd("normals of some"))
        count = len(self.lines)
        for _ in range(rng.randint(1, 6)):
            self.face(form)
        if len(self.lines) == count:
            # No face was a new one.
            self.odd |= {"unused material", "unused group"}
        if rng.random() < 0.2:
            self.lines.append("l " + " ".join(self.corner("v") for _ in range(rng.randint(2, 5))))
        if self.is_odd("points"):
            self.lines.append(f"p {self.corner('v')}")

    def face(self, form: str) -> None:
        rng = self.rng
        available = range(self.first, self.counts["v"] + 1)
        corners = rng.sample(available, min(rng.choice([3, 3, 3, 4, 4, 5, 7]), len(available)))
        if self.is_odd("repeated corners"):
            at = rng.randrange(len(corners))
            corners.insert(at, corners[at])
        elif self.is_odd("two corners"):
            corners = corners[:2]
        elif frozenset(corners) in self.faces:
            return
        self.faces.add(frozenset(corners))
        words = [self.corner(form, corner) for corner in corners]
        self.lines.append("f " + " ".join(words))
        if rng.random() < 0.03:
            self.lines[-1] = self.lines[-1].replace(" ", " \\\n", 1)
        elif self.is_odd("equal faces"):
            # From another corner on, or turned over.
            words = words[1:] + words[:1] if rng.random() < 0.5 else words[::-1]
            self.lines.append("f " + " ".join(words))

    def corner(self, form: str, position: int | None = None) -> str:
        if position is None:
            position = self.rng.randint(self.first, self.counts["v"])
        indices = [self.index("v", position), "", ""]
        for at, (mark, kind) in enumerate((("t", "vt"), ("n", "vn")), 1):
            if mark in form:
                indices[at] = self.index(kind, self.rng.randint(1, self.counts[kind]))
        return "/".join(indices).rstrip("/")

    def index(self, kind: str, number: int) -> str:
        return str(number - self.counts[kind] - 1 if self.rng.random() < 0.1 else number)

    def curve(self) -> None:
        rng = self.rng
        degree = rng.randint(1, 4)
        available = range(self.first, self.counts["v"] + 1)
        points = rng.choices(available, k=max(degree + 2, rng.randint(3, 7)))
        if rng.random() < 0.5:
            points += points[: rng.choice([1, degree])]
        count = len(points) + degree + 1
        knots = list(range(count))
        if rng.random() < 0.5:
            knots = [knots[degree]] * degree + knots[degree:-degree] + [knots[-degree - 1]] * degree
        if self.has_groups:
            self.lines.append(f"g {rng.choice(NAMES)}")
            self.odd.add("unused group")
        self.lines += [
            f"cstype {rng.choice(['bspline', 'bspline', 'rat bspline'])}",
            f"deg {degree}",
            f"curv {knots[degree]} {knots[-degree - 1]} " + " ".join(map(str, points)),
            "parm u " + " ".join(map(str, knots)),
            "end",
        ]

    def material(self, name: str) -> str:
        """A material of a library, with some of all that MTL has."""
        rng = self.rng
        lines = []
        for key in ("Kd", "Ka", "Ks", "Ke", "Tf"):
            if rng.random() < 0.5:
                # Blender's viewport takes metals of which scripts have at most 1.
                lines.append(f"{key} {self.numbers(3, 0, 1 if key == 'Ka' else rng.choice([1, 1, 3]))}")
        for key, high in (("Ns", 1000), ("Ni", 2), ("d", 1), ("Pr", 1), ("Pm", 1), ("Ps", 1), ("Pc", 1), ("Pcr", 1), ("aniso", 1), ("anisor", 1)):
            if rng.random() < 0.35:
                lines.append(f"{key} {self.numbers(1, 0, high)}")
        if self.is_odd("Tr"):
            lines.append(f"Tr {self.numbers(1, 0, 1)}")
        if rng.random() < 0.7:
            lines.append(f"illum {rng.randint(0, 10)}")
        for keys in (("map_Kd",), ("map_Ks", "map_Ps"), ("map_Ns", "map_Pr"), ("map_d",), ("map_Ke",), ("refl", "map_refl", "map_Pm"), ("map_Bump", "bump"), ("map_Ka",)):
            if rng.random() < 0.2:
                lines.append(self.texture(rng.choice(keys)))
        for keys in (("map_Ks", "map_Ps"), ("map_Ns", "map_Pr"), ("refl", "map_Pm")):
            if self.is_odd("textures of one input"):
                lines += map(self.texture, keys)
        if self.is_odd("norm"):
            lines.append(self.texture("norm"))
        rng.shuffle(lines)
        return "\n".join([f"newmtl {name}", *lines]) + rng.choice(["\n", "\n\n"])

    def texture(self, key: str) -> str:
        rng = self.rng
        name = rng.choice(["a.png", "b b.png", "sub/c.png", "missing.png", "elsewhere/a.png"])
        if "missing" not in name and "elsewhere" not in name:
            image = self.path.parent / name
            image.parent.mkdir(exist_ok=True)
            image.write_bytes(PNG)
        options = ""
        for chance, option in (
            (0.2, f"-o {self.numbers(3)}"),
            (0.2, f"-s {self.numbers(3, 0, 3)}"),
            (1 if "ump" in key and not self.is_odd("bump") else 0, f"-bm {self.numbers(1, 0, 2)}"),
            (0.5 if "refl" in key else 0, "-type sphere"),
            (0.05, "-clamp on"),
        ):
            options += f"{option} " if rng.random() < chance else ""
        return f"{key} {options}{name}"


#: One red pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)

#: Types of PLY: their names, their codes in `struct`, and whether they have decimals.
PLY_TYPES = {
    "char": "b",
    "uchar": "B",
    "short": "h",
    "ushort": "H",
    "int": "i",
    "uint": "I",
    "float": "f",
    "double": "d",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "float32": "f",
    "float64": "d",
}


def ply(rng: random.Random, path: Path) -> set[str]:
    """Writes a PLY file. Returns what is odd in it."""
    file = PlyFile(rng)
    file.write(path)
    return file.odd


class PlyFile:
    """One PLY file: its elements, each a list of properties and rows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.form = rng.choice(["ascii", "binary_little_endian", "binary_big_endian"])
        self.count = rng.randint(3, 12)
        self.odd: set[str] = set()
        self.elements = [self.vertices()]
        if rng.random() < 0.85:
            self.elements.append(self.faces())
        elif "uvs" in self.odd:
            self.odd.add("uvs without faces")
        if rng.random() < 0.3:
            self.elements.append(self.edges())
        if rng.random() < 0.1:
            self.elements.append(("camera", [("float", "fov", None)], [[45.0]]))

    def vertices(self) -> tuple[str, list[tuple[str, str, str | None]], list[list[object]]]:
        rng = self.rng
        properties = [(rng.choice(["float", "float", "float", "float32", "double"]), name, None) for name in "xyz"]
        if rng.random() < 0.4:
            properties += [("float", name, None) for name in ("nx", "ny", "nz")]
        if rng.random() < 0.5:
            kind = rng.choice(["uchar", "uchar", "uint8", "float"])
            names = ["red", "green", "blue", *(["alpha"] if rng.random() < 0.5 else [])]
            properties += [(kind, name, None) for name in names]
        if rng.random() < 0.4:
            names = rng.choice([("s", "t"), ("s", "t"), ("s", "t"), ("u", "v"), ("texture_u", "texture_v")])
            self.odd.add("uvs" if names == ("s", "t") else "other names of uvs")
            properties += [("float", name, None) for name in names]
        for name in ("id", "quality", "wörtlich", "intensity", "confidence", "a_x", "a_y", "group"):
            if rng.random() < 0.15:
                properties.append((rng.choice(list(PLY_TYPES)), name, None))
        if rng.random() < 0.1:
            rng.shuffle(properties)
        rows = [[self.value(kind, name) for kind, name, _ in properties] for _ in range(self.count)]
        if rng.random() < 0.3:
            # Equal positions, for what merges them.
            axes = [at for at, (_, name, _) in enumerate(properties) if name in ("x", "y", "z")]
            for at in axes:
                rows[-1][at] = rows[0][at]
            self.odd.add("equal positions")
        return "vertex", properties, rows

    def value(self, kind: str, name: str) -> object:
        rng, code = self.rng, PLY_TYPES[kind]
        if code in "fd":
            low, high = (0, 1) if name in ("red", "green", "blue", "alpha") else (-9, 9)
            return struct.unpack("<f", struct.pack("<f", round(rng.uniform(low, high), 3)))[0]
        return rng.randint(0, 255) if code == "B" else rng.randint(0 if code in "HI" else -100, 100)

    def faces(self) -> tuple[str, list[tuple[str, str, str | None]], list[list[object]]]:
        rng = self.rng
        count, kind = rng.choice(["uchar", "uint8", "int"]), rng.choice(["int", "uint", "int32", "ushort", "uchar"])
        properties = [(kind, rng.choice(["vertex_indices", "vertex_index"]), count)]
        if rng.random() < 0.15:
            properties.insert(rng.randint(0, 1), (rng.choice(["uchar", "int", "float"]), "flags", None))
        rows = []
        for _ in range(rng.randint(1, 6)):
            corners = rng.sample(range(self.count), min(rng.choice([3, 3, 3, 4, 4, 5]), self.count))
            if rng.random() < 0.04:
                corners[1] = corners[0]
                self.odd.add("repeated corners")
            if rng.random() < 0.02:
                self.odd.add("two corners")
                corners = corners[:2]
            if rng.random() < 0.05 and rows:
                corners = next(value for value in rows[-1] if isinstance(value, list))[::-1]
            rows.append([corners if size else 1 for _, _, size in properties])
        return "face", properties, rows

    def edges(self) -> tuple[str, list[tuple[str, str, str | None]], list[list[object]]]:
        rows = [self.rng.sample(range(self.count), 2) for _ in range(self.rng.randint(1, 4))]
        return "edge", [("int", "vertex1", None), ("int", "vertex2", None)], rows

    def write(self, path: Path) -> None:
        lines = ["ply", f"format {self.form} 1.0"]
        if self.rng.random() < 0.5:
            lines.append("comment made by nobody")
        for element, properties, rows in self.elements:
            lines.append(f"element {element} {len(rows)}")
            lines += [f"property {f'list {size} ' if size else ''}{kind} {name}" for kind, name, size in properties]
        header = "\n".join([*lines, "end_header", ""]).encode()
        path.write_bytes(header + b"".join(self.row(properties, row) for _, properties, rows in self.elements for row in rows))

    def row(self, properties: list[tuple[str, str, str | None]], row: list[object]) -> bytes:
        values = []
        for (kind, _, size), value in zip(properties, row, strict=True):
            if size:
                values.append((size, len(value)))
            values += [(kind, part) for part in (value if size else [value])]
        if self.form == "ascii":
            return " ".join(f"{value:.9g}" for _, value in values).encode() + b"\n"
        order = "<" if "little" in self.form else ">"
        return b"".join(struct.pack(order + PLY_TYPES[kind], value) for kind, value in values)


def stl(rng: random.Random, path: Path) -> set[str]:
    """Writes an STL file: text or binary, of triangles that share corners. Returns what is odd in it."""
    points = [[struct.unpack("<f", struct.pack("<f", round(rng.uniform(-9, 9), 3)))[0] for _ in range(3)] for _ in range(rng.randint(3, 9))]
    triangles = [rng.sample(points, 3) for _ in range(rng.randint(0, 9))]
    for triangle in list(triangles):
        if rng.random() < 0.08:
            # The same one again, or turned over; or a triangle without an area.
            triangles.append(rng.choice([triangle, triangle[::-1], [triangle[0], triangle[0], triangle[1]]]))
    odd = set() if triangles else {"no triangles"}
    normals = [rng.choice([[0, 0, 0], [0, 0, 1], [0.6, 0.8, 0]]) for _ in triangles]
    if rng.random() < 0.5:
        colors = rng.choice([0, 0, 0x801F])
        rows = [struct.pack("<12fH", *normal, *sum(corners, []), colors) for normal, corners in zip(normals, triangles, strict=True)]
        path.write_bytes(rng.choice([b"solid binary", b"made by nobody"]).ljust(80, b"\0") + struct.pack("<I", len(rows)) + b"".join(rows))
        return odd
    end = rng.choice(["\n", "\r\n"])
    lines, cut = [f"solid {rng.choice(['', 'name', 'two words'])}"], rng.choice([-1, -1, len(triangles) // 2])
    for at, (normal, corners) in enumerate(zip(normals, triangles, strict=True)):
        if at == cut:
            lines += ["endsolid", "solid second"]
        lines.append("  facet normal " + " ".join(f"{value:g}" for value in normal))
        lines.append("    outer loop")
        lines += ["      vertex " + " ".join(f"{value:.9g}" for value in corner) for corner in corners]
        lines += ["    endloop", "  endfacet"]
    path.write_bytes((end.join([*lines, "endsolid"]) + end).encode())
    return odd
