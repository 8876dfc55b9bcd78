"""Meshes of parts of others, with other arrays, and of several: nothing is lost on the way."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, LIBRARY

POSITIONS = np.arange(24, dtype=np.float32).reshape(8, 3)
#: A triangle, two quads and a pentagon; position 7 is unused.
CORNERS = np.array([0, 1, 2, 0, 2, 3, 4, 1, 2, 5, 6, 0, 1, 2, 3, 4], np.uint32)
OFFSETS = np.array([0, 3, 7, 11, 16], np.uint32)
DOMAINS = {"corner": 16, "vertex": 8, "face": 4}


def full(domain: str = "corner", seed: int = 0, **more: Any) -> polyhaul.Mesh:
    """A mesh with everything."""
    random = np.random.default_rng(seed)
    attribute: dict[str, Any] = {}
    for name, stream, columns in (("uvs", "corner_uvs", 2), ("normals", "corner_normals", 3)):
        if domain == "indexed":
            indices = random.integers(-1, 5, 16).astype(np.int32)
            attribute |= {name: random.random((6, columns), np.float32), stream: indices}
        else:
            attribute |= {name: random.random((DOMAINS[domain], columns), np.float32), f"{name[:-1]}_domain": domain}
    given: dict[str, Any] = attribute | {
        "colors": random.random((8, 4), np.float32),
        "material_slots": np.array([0, 1, 1, -1], np.int32),
        "smooth": np.array([True, False, True, False]),
        "sharp_edges": [[0, 1], [2, 3], [5, 6]],
        "vertex_groups": {"left": np.where(np.arange(8) % 2, np.nan, 0.5)},
        "vertex_columns": {
            "heat": np.arange(8, dtype=np.uint16), "speed": random.random((8, 3)),
            "tags": polyhaul.Lists(np.array([0, 0, 1, 3, 3, 4, 4, 6, 6], np.uint32), np.arange(6, dtype=np.int16)),
        },
        "face_columns": {"label": np.arange(4.0), "pair": np.arange(8).reshape(4, 2)},
        "position_weights": np.arange(1, 9, dtype=np.float32),
        "materials": ["red", polyhaul.Material("blue", diffuse=(0, 0, 1))],
    }
    return polyhaul.Mesh(POSITIONS + seed, CORNERS, OFFSETS, **given | more)


def values(mesh: polyhaul.Mesh, face: int) -> list[Any]:
    """All that one face has, whatever its numbers are."""
    corners = slice(int(mesh.face_offsets[face]), int(mesh.face_offsets[face + 1]))
    points = mesh.corner_positions[corners]
    parts: list[Any] = [mesh.positions[points]]
    parts += [None if (per := mesh.per_corner(name, missing=-9)) is None else per[corners] for name in ("uvs", "normals")]
    parts += [None if rows is None else rows[points] for rows in (mesh.colors, mesh.position_weights)]
    parts += [weights[points] for weights in mesh.vertex_groups.values()]
    for name, column in mesh.vertex_columns.items():
        if isinstance(column, polyhaul.Lists):
            column = [column.values[column.offsets[at] : column.offsets[at + 1]].tolist() for at in range(len(mesh.positions))]
            parts.append((name, [column[point] for point in points]))
        else:
            parts += [name, column.dtype, column[points]]
    parts += [(name, column[face]) for name, column in mesh.face_columns.items()]
    slots = mesh.material_slots
    slot = 0 if slots is None else int(slots[face])
    parts.append(mesh.materials[slot] if 0 <= slot < len(mesh.materials) else None)
    parts.append(None if mesh.smooth is None else bool(mesh.smooth[face]))
    groups = mesh.face_groups
    parts.append(None if groups is None or groups[face] < 0 else mesh.groups[groups[face]])
    return parts


def assert_same(a: list[Any], b: list[Any]) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize("domain", [*DOMAINS, "indexed"])
@pytest.mark.parametrize("used_only", [True, False])
@pytest.mark.parametrize(
    "faces",
    [[True, False, True, True], [3], [2, 0], [-1, 1, 1], np.array([1], np.uint8), slice(1, 3), slice(None, None, -1), [], [False] * 4],
)
def test_selected_faces_keep_everything(domain: str, used_only: bool, faces: Any) -> None:
    mesh = full(domain)
    part = mesh.select_faces(faces, used_only=used_only)
    numbers = np.arange(4)[faces] if len(np.atleast_1d(np.asarray(faces, object))) else np.array([], int)
    assert part.face_count == len(numbers)
    for at, number in enumerate(numbers):
        assert_same(values(part, at), values(mesh, int(number)))
    used = np.unique(part.corner_positions)
    assert len(used) == part.position_count if used_only else part.position_count == 8
    assert part.materials == mesh.materials and part.uv_domain in (domain, None)
    polyhaul.write(part, io.BytesIO(), format="ply")


def test_selected_faces_of_a_file_keep_groups_and_materials() -> None:
    scene = polyhaul.read(CUBE, resolver={"cube.mtl": LIBRARY}.get)
    mesh = scene.meshes[0]
    part = mesh.select_faces([2, 1])
    for at, face in enumerate([2, 1]):
        assert_same(values(part, at), values(mesh, face))
    assert part.groups == mesh.groups and len(part.line_positions) == 0
    out = io.BytesIO()
    polyhaul.write(part, out, format="obj", groups=True)
    assert b"usemtl blue" in out.getvalue() and b"g left right" in out.getvalue()


def test_selecting_says_what_is_wrong() -> None:
    for faces, message in (
        ([True] * 3, "the mask has 3 values for 4 faces"), ([4], "the faces range from 4 to 4, but there are 4"),
        ([-5], "range from -5"), ([[0]], "shape"), ([0.5], "dtype float64"), (2, "shape"),
    ):
        with pytest.raises(IndexError, match=message):
            full().select_faces(faces)


def test_triangles_are_a_view_or_computed() -> None:
    mesh = polyhaul.Mesh(POSITIONS, [[0, 1, 2], [2, 3, 4]])
    assert mesh.triangles.dtype == np.uint32 and mesh.triangles.tolist() == [[0, 1, 2], [2, 3, 4]]
    assert np.shares_memory(mesh.triangles, mesh.corner_positions)
    polygons = full()
    assert np.array_equal(polygons.triangles, polygons.triangulate().corner_positions.reshape(-1, 3))
    assert polygons.triangles.shape == (8, 3)
    assert polyhaul.Mesh(POSITIONS).triangles.shape == (0, 3)
    assert polyhaul.read(CUBE).meshes[0].triangles.shape == (3, 3)


def test_arrays_are_replaced_in_a_copy() -> None:
    mesh = full()
    moved = mesh.replace(positions=mesh.positions + 1)
    assert moved.positions[0, 0] == 1 and mesh.positions[0, 0] == 0
    assert np.shares_memory(moved.corner_positions, mesh.corner_positions) and np.shares_memory(moved.uvs, mesh.uvs)
    for face in range(4):
        assert_same(values(moved, face)[1:], values(mesh, face)[1:])
    assert mesh.replace(normals=None).normals is None
    assert mesh.replace(uvs=np.zeros((8, 2)), uv_domain="vertex").uv_domain == "vertex"
    indexed = full("indexed")
    np.testing.assert_array_equal(indexed.replace(uvs=np.zeros((6, 2))).corner_uvs, indexed.corner_uvs)
    assert mesh.replace(uvs=np.zeros((1, 2)), corner_uvs=np.zeros(16, int)).uv_domain == "indexed"
    slots = mesh.replace(material_slots=[0] * 4, materials=["new"], smooth=None)
    assert slots.materials[0] is not None and slots.materials[0].name == "new" and slots.smooth is None
    cut = mesh.replace(
        corner_positions=[[0, 1, 2]], uvs=None, normals=None, material_slots=None, smooth=None, face_columns=None
    )
    assert cut.face_count == 1 and list(cut.vertex_columns) == ["heat", "speed", "tags"]
    points = mesh.replace(
        corner_positions=None, uvs=None, normals=None, material_slots=None, smooth=None, face_columns=None
    )
    assert points.face_count == 0 and points.position_count == 8
    file = polyhaul.read(CUBE).meshes[0]
    assert file.replace(material_slots=[0, 0, 0]).material_slots.tolist() == [0, 0, 0]  # type: ignore[union-attr]
    assert file.replace().groups == file.groups
    np.testing.assert_array_equal(file.replace().face_groups, file.face_groups)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"positions": np.zeros((7, 3))}, ValueError, "corner_positions|colors|7"),
        ({"corner_positions": [[0, 1, 2]]}, ValueError, "normals has shape|uvs has shape|expected 3 rows"),
        ({"normal": np.zeros((16, 3))}, TypeError, "unknown argument 'normal'"),
        ({"colors": np.zeros((8, 2))}, ValueError, r"colors has shape \(8, 2\); expected \(n, 3\) or \(n, 4\)"),
    ],
)
def test_replacing_says_what_does_not_fit(changes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        full().replace(**changes)


@pytest.mark.parametrize("domains", [("corner", "corner"), ("vertex", "vertex"), ("face", "face"), ("indexed", "indexed"),
                                     ("corner", "vertex"), ("face", "indexed", "vertex")])
def test_joined_meshes_keep_everything(domains: tuple[str, ...]) -> None:
    meshes = [full(domain, seed) for seed, domain in enumerate(domains)]
    joined = polyhaul.concatenate(meshes)
    assert joined.face_count == 4 * len(meshes) and joined.position_count == 8 * len(meshes)
    for at, mesh in enumerate(meshes):
        for face in range(4):
            assert_same(values(joined, 4 * at + face), values(mesh, face))
    assert joined.uv_domain == (domains[0] if len(set(domains)) == 1 else "indexed")
    assert [material and material.name for material in joined.materials] == ["red", "blue"]
    assert joined.sharp_edges is not None and joined.sharp_edges.tolist()[3:6] == [[8, 9], [10, 11], [13, 14]]


def test_what_some_meshes_lack_is_filled_and_said() -> None:
    plain = polyhaul.Mesh(POSITIONS, [[0, 1, 2]])
    with pytest.warns(polyhaul.PolyhaulWarning) as caught:
        joined = polyhaul.concatenate([full(), plain])
    said = " ".join(str(warning.message) for warning in caught)
    for name in ("uvs", "normals", "colors", "smooth", "materials", "'heat'", "'speed'", "'tags'", "'label'", "'pair'"):
        assert name in said, name
    assert caught[0].filename == __file__
    for face in range(4):
        assert_same(values(joined, face), values(full(), face))
    assert joined.corner_uvs is not None and (joined.corner_uvs[-3:] == polyhaul.NONE).all()
    assert joined.colors is not None and np.isnan(joined.colors[-8:]).all()
    assert joined.material_slots is not None and joined.material_slots[-1] == -1
    assert np.isnan(joined.vertex_columns["speed"][-1]).all() and joined.vertex_columns["heat"][-1] == 0
    assert joined.position_weights is not None and (joined.position_weights[-8:] == 1).all()
    # Points have no faces that could lack anything.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyhaul.concatenate([plain, polyhaul.Mesh(POSITIONS)])


def test_values_that_change_where_they_are_joined_are_said() -> None:
    large = polyhaul.Mesh(POSITIONS, vertex_columns={"id": np.full(8, 2**53 + 1)})
    floats = polyhaul.Mesh(POSITIONS, vertex_columns={"id": np.zeros(8)})
    with pytest.warns(polyhaul.PolyhaulWarning, match="'id' has integers in 1 of 2 meshes that are rounded to float64"):
        polyhaul.concatenate([large, floats])
    cloud = polyhaul.Mesh(POSITIONS, normals=POSITIONS, normal_domain="vertex")
    triangle = polyhaul.Mesh(POSITIONS, [[0, 1, 2]], normals=POSITIONS[:3])
    with pytest.warns(polyhaul.PolyhaulWarning, match="normals of points in 1 of 2 meshes"):
        polyhaul.concatenate([cloud, triangle])


def test_lines_points_and_curves_are_joined() -> None:
    curve = polyhaul.Curve(2, (0, 1), control_points=[0, 1, 2], knots=[0, 0, 0, 1, 1, 1])
    one = polyhaul.Mesh(POSITIONS, line_positions=[[0, 1], [2, 3]], points=[7], curves=[curve])
    joined = polyhaul.concatenate([one, full(), one][::2])
    assert joined.line_edges.tolist() == [[0, 1], [2, 3], [8, 9], [10, 11]] and joined.points.tolist() == [7, 15]
    assert [curve.control_points.tolist() for curve in joined.curves] == [[0, 1, 2], [8, 9, 10]]
    file = polyhaul.read(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0 1\nvt 1 0 2\nl 1/1 2/2\ng a\nf 1/1 2/2 3/1\n", format="obj").meshes[0]
    both = polyhaul.concatenate([file, file])
    assert both.line_uvs is not None and both.line_uvs.tolist() == [0, 1, 2, 3]
    assert both.uv_depths is not None and both.uv_depths.tolist() == [1, 2, 1, 2]
    assert both.groups == ("a",) and both.face_groups is not None and both.face_groups.tolist() == [0, 0]


def test_third_coordinates_and_uvs_of_lines_follow_their_uvs() -> None:
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0 1\nvt 1 0 2\nl 1/1 2/2\nf 1/1 2/2 3/1\n"
    file = polyhaul.read(text, format="obj").meshes[0]
    picked = file.weld().select_faces([0])
    assert picked.uv_domain == "vertex" and picked.uv_depths is not None and picked.uv_depths.tolist() == [1, 2, 1]
    cleared, replaced = file.triangulate(), file.triangulate()
    assert cleared.uv_depths is not None and cleared.line_uvs is not None
    cleared.uvs = None
    replaced.set_uvs(np.zeros((3, 2)), "corner")
    for mesh in (cleared, replaced):
        assert mesh.uv_depths is None and mesh.line_uvs is None
        polyhaul.write(mesh, io.BytesIO(), format="obj")


def test_empty_slots_stay_empty_where_they_are_joined() -> None:
    mesh = polyhaul.Mesh(POSITIONS[:3], [[0, 1, 2]], materials=[None, "b"])
    joined = polyhaul.concatenate([mesh, mesh])
    assert joined.material_slots is not None and joined.material_slots.tolist() == [-1, -1]
    filled = mesh.replace(materials=["a", "b"])
    assert polyhaul.concatenate([filled, filled]).material_slots is None


def test_scenes_and_objects_are_joined_where_they_stand() -> None:
    scene = polyhaul.Scene()
    move = np.eye(4)
    move[0, 3] = 10
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]])
    scene.add(mesh, materials=["red"])
    scene.add(mesh, materials=["blue"], transform=move)
    joined = polyhaul.concatenate(scene)
    assert joined.positions[:, 0].tolist() == [1, 0, 0, 11, 10, 10]
    assert [values(joined, face)[-3].name for face in range(2)] == ["red", "blue"]
    assert np.array_equal(polyhaul.concatenate(scene.objects).positions, joined.positions)
    double = polyhaul.Mesh(np.array([[1e9 + 0.25, 0, 0]]))
    assert polyhaul.concatenate([double, mesh]).positions[0, 0] == 1e9 + 0.25
    with pytest.raises(ValueError, match="expected at least one mesh"):
        polyhaul.concatenate([])
    with pytest.raises(TypeError, match="an item of type str"):
        polyhaul.concatenate(["a.obj"])  # type: ignore[list-item]


def test_joined_meshes_are_what_numpy_joins() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        meshes = []
        for _ in range(int(random.integers(1, 5))):
            count, faces = int(random.integers(3, 30)), int(random.integers(0, 40))
            meshes.append(polyhaul.Mesh(random.random((count, 3)), random.integers(0, count, (faces, 3))))
        joined = polyhaul.concatenate(meshes)
        firsts = np.cumsum([0, *(mesh.position_count for mesh in meshes)])
        expected = np.concatenate([mesh.triangles + first for mesh, first in zip(meshes, firsts[:-1], strict=True)])
        assert np.array_equal(joined.triangles, expected)
        assert np.array_equal(joined.positions, np.concatenate([mesh.positions for mesh in meshes]))


def test_wide_columns_are_arrays_of_two_dimensions() -> None:
    mesh = polyhaul.Mesh(POSITIONS, CORNERS, OFFSETS)
    velocity = np.arange(24.0).reshape(8, 3)
    mesh.vertex_columns["velocity"] = velocity
    mesh.face_columns = {"pair": np.arange(8, dtype=np.int16).reshape(4, 2), "one": np.ones((4, 1), np.uint8)}
    assert mesh.vertex_columns["velocity"].shape == (8, 3) and mesh.face_columns["one"].shape == (4, 1)
    assert np.shares_memory(mesh.vertex_columns["velocity"], velocity)
    for again in (copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh)), mesh.transform(np.eye(4)), mesh.replace()):
        assert np.array_equal(again.vertex_columns["velocity"], velocity)
    out = io.BytesIO()
    polyhaul.write(mesh, out, format="ply")
    back = polyhaul.read(out.getvalue()).meshes[0]
    assert np.array_equal(back.vertex_columns["velocity"], velocity)
    assert back.face_columns["pair"].dtype == np.int16 and back.face_columns["pair"].shape == (4, 2)
    assert mesh.per_corner("velocity").shape == (16, 3)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="vertex column 'a' has shape"):
        mesh.vertex_columns["a"] = np.zeros((8, 3, 3))
    mesh.vertex_columns["ragged"] = polyhaul.Lists(np.array([0, 1, 1, 1, 1, 1, 1, 1, 8], np.uint32), np.arange(8))
    assert isinstance(mesh.vertex_columns["ragged"], polyhaul.Lists)
