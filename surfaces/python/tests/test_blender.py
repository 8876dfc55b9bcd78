"""Blender's own files, made again from the arrays that Blender was given: the bytes are the same.

What each array means, and how Blender makes text of it, is in testdata/obj/blender/README.md.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import TESTDATA

FOLDER = TESTDATA / "blender"

#: What each file was written with, other than the defaults of Blender.
OPTIONS: dict[str, dict[str, Any]] = {
    "edge_cases": {},
    "monkey2": {},
    "monkey3": {},
    "splash60": {},
    "opt_default": {},
    "opt_axis_negx_up_y": {"forward_axis": "NEGATIVE_X", "up_axis": "Y"},
    "opt_axis_y_up_z": {"forward_axis": "Y", "up_axis": "Z"},
    "opt_scale_0p01": {"global_scale": 0.01},
    "opt_scale_0p0254": {"global_scale": 0.0254},
    "opt_scale_1000": {"global_scale": 1000},
    "opt_scale_37p25_axis_x_up_z": {"global_scale": 37.25, "forward_axis": "X", "up_axis": "Z"},
    "opt_no_uv": {"export_uv": False},
    "opt_no_normals": {"export_normals": False},
    "opt_no_uv_no_normals": {"export_uv": False, "export_normals": False},
    "opt_no_materials": {"export_materials": False},
    "opt_material_groups": {"export_material_groups": True},
    "opt_object_groups": {"export_object_groups": True},
    "opt_vertex_groups": {"export_vertex_groups": True},
    "opt_pbr_extensions": {"export_pbr_extensions": True},
    "opt_smooth_groups": {"smoothing": "groups"},
    "opt_smooth_bitflags": {"smoothing": "bitflags"},
    "opt_smooth_groups_flat_first": {"smoothing": "groups"},
    "opt_smooth_bitflags_flat_first": {"smoothing": "bitflags"},
    "opt_vertex_and_material_groups": {"export_vertex_groups": True, "export_material_groups": True},
    "grid40k_material_groups": {"export_material_groups": True, "export_uv": False, "export_normals": False},
}

#: Kept for the tests of one thread alone: they say nothing more about threads, and take longest.
ONE_THREAD = {"monkey3", "grid40k_material_groups"}


class Arrays:
    """The arrays of a file, cut into objects."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.data = {name: file[name] for name in file.files}
        counts = self.data["object_counts"]
        self.starts = np.vstack([np.zeros((1, 3), np.int64), np.cumsum(counts, axis=0)])
        edges = self.data.get("edge_counts", np.zeros((len(counts), 2), np.int64))
        self.edge_starts = np.vstack([np.zeros((1, 2), np.int64), np.cumsum(edges, axis=0)])

    def part(self, name: str, kind: int, number: int) -> Any:
        """The part of an array that belongs to object ``number``: kind 0 vertices, 1 corners, 2 faces."""
        if name not in self.data:
            return None
        return self.data[name][self.starts[number, kind] : self.starts[number + 1, kind]]

    def edges(self, name: str, kind: int, number: int) -> Any:
        """The same for edges: kind 0 loose ones, 1 all."""
        if name not in self.data:
            return None
        return self.data[name][self.edge_starts[number, kind] : self.edge_starts[number + 1, kind]]

    def normals(self, number: int) -> dict[str, Any]:
        """Normals in the domain that Blender has them in."""
        domain = str(self.data["normals_domain"][number])
        corners = self.part("corner_normal", 1, number)
        if domain == "FACE":
            sizes = self.part("face_size", 2, number)
            first = np.cumsum(sizes) - sizes
            return {"normals": corners[first], "normal_domain": "face"}
        if domain == "POINT":
            normals = self.part("vertex_normal", 0, number)
            if normals is None:
                normals = np.zeros((len(self.part("positions", 0, number)), 3), np.float32)
                normals[self.part("loop_vert", 1, number)] = corners
            return {"normals": normals, "normal_domain": "point"}
        return {"normals": corners, "normal_domain": "corner"}

    def attributes(self, number: int) -> dict[str, Any]:
        """All that an object has beside positions and faces."""
        attributes: dict[str, Any] = {"material_slots": self.part("face_material", 2, number)}
        attributes["smooth"] = self.part("face_smooth", 2, number)
        if len(self.part("loop_vert", 1, number)):
            attributes |= self.normals(number)
        if self.data["object_has_uv"][number] and len(self.part("loop_vert", 1, number)):
            attributes["uvs"] = self.part("corner_uv", 1, number)
        loose = self.edges("loose_edges", 0, number)
        if loose is not None and len(loose):
            attributes["line_positions"] = loose
        if "sharp_edge" in self.data:
            edges, sharp = self.edges("edges", 1, number), self.edges("sharp_edge", 1, number)
            attributes["sharp_edges"] = edges[sharp]
        if "vertex_color" in self.data and self.data["object_has_color"][number]:
            attributes["colors"] = srgb(self.part("vertex_color", 0, number)[:, :3])
        if "object_vertex_groups" in self.data:
            names = [name for name in str(self.data["object_vertex_groups"][number]).split("\n") if name]
            weights = self.part("vertex_group_weight", 0, number)
            attributes["vertex_groups"] = (names, weights[:, : len(names)])
        return attributes

    def mesh(self, number: int) -> polyhaul.Mesh:
        sizes = self.part("face_size", 2, number)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        positions = self.part("positions", 0, number)
        return polyhaul.Mesh(positions, self.part("loop_vert", 1, number), offsets, **self.attributes(number))

    def scene(self) -> polyhaul.Scene:
        scene = polyhaul.Scene()
        for number, name in enumerate(self.data["object_name"]):
            slots = str(self.data["object_materials"][number])
            scene.add(
                self.mesh(number),
                name=str(name),
                mesh_name=str(self.data["object_mesh_name"][number]),
                transform=self.data["matrix_world"][number],
                materials=slots.split("\n") if slots else [],
            )
        return scene


def srgb(linear: Any) -> Any:
    """Colours as Blender writes them."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0) ** (1 / 2.4) - 0.055)


def golden(name: str) -> bytes:
    packed = FOLDER / f"{name}.obj.gz"
    return gzip.decompress(packed.read_bytes()) if packed.exists() else (FOLDER / f"{name}.obj").read_bytes()


def without_header(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if not line.startswith((b"#", b"mtllib"))]


def written(scene: polyhaul.Scene, threads: int, options: dict[str, Any]) -> list[bytes]:
    target = io.BytesIO()
    polyhaul.write(scene, target, format="obj", dialect="blender", threads=threads, **options)
    return without_header(target.getvalue())


def difference(actual: list[bytes], expected: list[bytes]) -> str | None:
    """The first line that differs."""
    for number, (a, b) in enumerate(zip(actual, expected, strict=False), 1):
        if a != b:
            return f"line {number}: {a!r}, and Blender has {b!r}"
    return None if len(actual) == len(expected) else f"{len(actual)} lines, and Blender has {len(expected)}"


@pytest.mark.parametrize("name", OPTIONS)
def test_the_bytes_are_those_of_blender(name: str) -> None:
    scene = Arrays(FOLDER / f"{name}.npz").scene()
    expected = without_header(golden(name))
    for threads in (2,) if name in ONE_THREAD else (1, 2, 7, 64):
        assert difference(written(scene, threads, OPTIONS[name]), expected) is None, threads


def splines(path: Path) -> polyhaul.Scene:
    """The curves of a file, each spline as an object."""
    with np.load(path) as file:
        data = {name: file[name] for name in file.files}
    scene = polyhaul.Scene()
    starts = np.concatenate([[0], np.cumsum(data["curve_splines"][:, 1])])
    for start, (owner, count, order, cyclic, endpoint) in zip(starts, data["curve_splines"].tolist(), strict=False):
        degree = order - 1
        points = [*range(count), *range(degree if cyclic else 0)]
        last = len(points) - order + 1
        clamped = [0] * order + list(range(1, last)) + [last] * order
        knots = clamped if endpoint else list(range(len(points) + order))
        curve = polyhaul.Curve(degree, (knots[degree], knots[len(points)]), control_points=points, knots=knots)
        mesh = polyhaul.Mesh(data["curve_points"][start : start + count, :3], curves=[curve])
        scene.add(mesh, name=str(data["curve_object_name"][owner]), transform=data["curve_matrix_world"][owner])
    return scene


def test_curves_are_those_of_blender() -> None:
    scene = splines(FOLDER / "opt_curves_as_nurbs.npz")
    expected = without_header(golden("opt_curves_as_nurbs"))
    for threads in (1, 2, 7):
        assert difference(written(scene, threads, {}), expected) is None


def test_every_file_of_the_folder_is_tested() -> None:
    tested = set(OPTIONS) | {"opt_colors", "opt_curves_as_nurbs", "opt_curves_as_mesh", *TRIANGULATED}
    assert {path.name.split(".")[0] for path in FOLDER.glob("*.obj*")} == tested


def test_colors_agree_but_for_the_last_digit() -> None:
    """Blender's conversion to sRGB cannot be had to the last digit: 0.0002 is allowed."""
    actual = written(Arrays(FOLDER / "opt_colors.npz").scene(), 2, {"export_colors": True})
    expected = without_header(golden("opt_colors"))
    assert len(actual) == len(expected)
    colored = 0
    for ours, theirs in zip(actual, expected, strict=True):
        if ours != theirs:
            a, b = ours.split(), theirs.split()
            assert a[:4] == b[:4] and len(a) == len(b) == 7
            assert max(abs(float(x) - float(y)) for x, y in zip(a[4:], b[4:], strict=True)) <= 0.00021
        colored += theirs.startswith(b"v ") and len(theirs.split()) == 7
    assert colored > 0


#: Each with the objects whose faces are compared, and how many of their quads may be cut the other way. The quads of the
#: cone are flat, with diagonals that are equal but for rounding, which decides for one of them.
TRIANGULATED = {
    "opt_triangulated": {"Cube_one": 0, "Cone": 1, "Torus_3": 0},
    "opt_triangulated_quads": {"Unit": 0, "Rough": 0},
}


def by_object(lines: list[bytes]) -> dict[str, list[bytes]]:
    """The lines of each object."""
    objects: dict[str, list[bytes]] = {}
    current: list[bytes] = []
    for line in lines:
        if line.startswith(b"o "):
            current = objects.setdefault(line[2:].decode(), [])
        current.append(line)
    return objects


def positions_of(face: bytes) -> list[bytes]:
    return [corner.split(b"/")[0] for corner in face.split()[1:]]


@pytest.mark.parametrize("name", TRIANGULATED)
def test_triangles_are_cut_and_ordered_as_in_blender(name: str) -> None:
    """Normals are our own, and so are the triangles of polygons with more than four corners."""
    scene = Arrays(FOLDER / f"{name}.npz").scene()
    actual = by_object(written(scene, 2, {"export_triangulated_mesh": True}))
    expected = by_object(without_header(golden(name)))
    assert actual.keys() == expected.keys()
    for name_of_object, lines in expected.items():
        ours = actual[name_of_object]
        assert [line for line in ours if line.startswith(b"v ")] == [line for line in lines if line.startswith(b"v ")]
        sides = [[line for line in side if line.startswith(b"f ")] for side in (ours, lines)]
        assert len(sides[0]) == len(sides[1])
        assert all(len(line.split()) == 4 for line in sides[0])
        if name_of_object in TRIANGULATED[name]:
            pairs = list(zip(*sides, strict=True))
            quads = {"Cone": 9}.get(name_of_object, len(pairs) // 2)
            same = [a for a, b in pairs if positions_of(a) == positions_of(b)]
            wrong = 2 * TRIANGULATED[name][name_of_object]
            assert len(same) >= 2 * quads - wrong, name_of_object


def test_squares_become_the_bytes_of_blender() -> None:
    """Normals of flat faces are known, so nothing is left open."""
    for name, squares in (("opt_triangulated", "Cube_one"), ("opt_triangulated_quads", "Unit")):
        scene = Arrays(FOLDER / f"{name}.npz").scene()
        actual = by_object(written(scene, 2, {"export_triangulated_mesh": True}))
        assert actual[squares] == by_object(without_header(golden(name)))[squares]


def test_alpha_is_dropped_with_a_warning() -> None:
    positions, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]
    scene = polyhaul.Scene(forward_axis="NEGATIVE_Z", up_axis="Y")
    colors = np.array([[1, 0.5, 0, 0.25], [1, 1, 1, 1], [0, 0, 0, 0]], np.float32)
    scene.add(polyhaul.Mesh(positions, faces, colors=colors))
    target = io.BytesIO()
    report = polyhaul.write(scene, target, format="obj")
    lines = [line for line in target.getvalue().split(b"\n") if line.startswith(b"v ")]
    assert lines[0] == b"v 0.000000 0.000000 0.000000 1.0000 0.5000 0.0000"
    assert all(len(line.split()) == 7 for line in lines)
    assert report.warnings.counts == {"left-out-alpha": 2}
