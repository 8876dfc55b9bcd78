"""Scenes as parts: what most programs keep of a mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polyhaul
import pytest

TEXT = (
    "o first\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nvt 0 0\nvt 1 1\nvn 0 0 1\nusemtl red\ns 1\n"
    "f 1/1/1 2/2/1 3/1/1\no second\nv 5 0 0\nv 6 0 0\nusemtl blue\ns off\nf 5 6 2\ng inner\nusemtl red\nf 5 2 6 1\nl 1 5\n"
)


@pytest.fixture
def scene(tmp_path: Path) -> polyhaul.Scene:
    path = tmp_path / "two.obj"
    path.write_text(TEXT)
    with pytest.warns(polyhaul.PolyhaulWarning, match="missing-material"):
        return polyhaul.read(path, on_error="warn")


def test_parts_have_everything_by_corner_or_face(scene: polyhaul.Scene) -> None:
    first, second = scene.parts(missing_uv=-1.0)
    assert (first.name, second.name) == ("first", "second")
    assert first.positions.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert first.uvs is not None and first.uvs.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert first.normals is not None and first.normals.tolist() == [[0, 0, 1]] * 3
    assert first.has_all_normals and first.has_unit_normals
    assert first.smooth is not None and first.smooth.tolist() == [True]
    # No corner of the second part has a uv, and none a normal.
    assert second.uvs is None and second.normals is None and not second.has_all_normals
    assert second.positions.tolist() == [[0, 0, 0], [1, 0, 0], [5, 0, 0], [6, 0, 0]]
    assert second.corner_positions.tolist() == [2, 3, 1, 2, 1, 3, 0]
    assert second.face_offsets.tolist() == [0, 3, 7]
    assert [scene.materials[slot].name for slot in second.materials] == ["blue", "red"]
    assert second.material_slots is not None and second.material_slots.tolist() == [0, 1]
    assert second.smooth is not None and second.smooth.tolist() == [False, False]
    assert second.mesh.line_edges.tolist() == [[0, 2]] and (first.line_count, second.line_count) == (0, 1)


def test_corners_without_values(tmp_path: Path) -> None:
    path = tmp_path / "some.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 1 1\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\nf 3 2 1\n")
    (part,) = polyhaul.read(path).parts(missing_uv=-1.0)
    assert part.uvs is not None and part.uvs.tolist() == [[1, 1]] * 3 + [[-1, -1]] * 3
    assert part.normals is not None and np.isnan(part.normals[3:]).all() and not part.has_all_normals
    assert not part.has_clean_faces  # both faces have the same positions


def test_edges_are_those_of_lines_and_faces(scene: polyhaul.Scene) -> None:
    _, second = scene.parts()
    assert second.edges.tolist() == [[0, 2], [2, 3], [1, 3], [1, 2], [0, 3]]
    assert second.corner_edges.tolist() == [1, 2, 3, 3, 2, 4, 0]
    assert second.has_clean_faces


def test_parts_begin_at_groups_too(scene: polyhaul.Scene) -> None:
    assert [part.name for part in scene.parts(by_group=True)] == ["first", "second", "inner"]
    (whole,) = scene.parts(by_object=False)
    assert (whole.name, whole.face_count, whole.mesh.groups) == ("", 3, ("inner",))


LOOSE = {
    # Positions before the first group, which has all of them, or some.
    "o X\nv 0 0 0\nv 1 0 0\nv 0 1 0\ng a\nf 1 2 3\no Y\nv 9 0 0\nv 9 1 0\nv 9 1 1\ng a\nf 4 5 6\n": [("a", 3), ("a", 3)],
    "o X\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng a\nf 1 2 3\n": [("a", 3)],
    # Positions that nothing uses.
    "o X\nv 7 7 7\no Y\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 2 3 4\n": [("X", 1), ("Y", 3)],
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng a\nf 1 2 3\n": [("a", 3)],
    # No elements at all.
    "v 0 0 0\nv 1 0 0\ng a\n": [("a", 2)],
    "o A\nv 0 0 0\no B\no C\nv 1 0 0\n": [("A", 1), ("C", 1)],
}


@pytest.mark.parametrize("text", LOOSE)
def test_positions_alone_are_parts_if_nothing_else_has_them(text: str) -> None:
    parts = polyhaul.read(text.encode(), format="obj").parts(by_group=True)
    assert [(part.name, len(part.positions)) for part in parts] == LOOSE[text]


def test_parts_can_be_written(scene: polyhaul.Scene, tmp_path: Path) -> None:
    path = tmp_path / "sparse.obj"
    path.write_text("v 0 0 0\n" * 6 + "vt 0 0\nvn 0 0 1\ng a\nf 1/1/1 3/1/1 5/1/1\n")
    for read in (scene, polyhaul.read(path)):
        for part in read.parts(by_group=True):
            copy = polyhaul.Scene()
            copy.add(part.mesh, name="part")
            polyhaul.write(copy, tmp_path / "part.obj")
            (again,) = polyhaul.read(tmp_path / "part.obj").meshes
            assert again.face_count == part.face_count and again.position_count == len(part.positions)


def test_normals_are_left_out_where_nobody_wants_them(scene: polyhaul.Scene) -> None:
    first, _ = scene.parts(normals=False)
    assert first.normals is None and not first.has_all_normals


def test_many_parts_are_the_sections_of_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    scene = polyhaul.Scene()
    for number in range(300):
        count = int(rng.integers(3, 2000))
        corners = rng.integers(0, count, (2 * count, 3))
        mesh = polyhaul.Mesh(rng.random((count, 3)), corners, normals=rng.random((count, 3)), normal_domain="vertex")
        scene.add(mesh, name=f"part {number}", transform=np.eye(4))
    path = tmp_path / "many.obj"
    polyhaul.write(scene, path)
    read = polyhaul.read(path)
    for threads in (1, 2):
        parts = list(read.parts(threads=threads))
        assert len(parts) == len(read.objects) == 300
        for part, placed in zip(parts, read.objects, strict=True):
            mesh = placed.to_mesh(used_only=True)
            assert part.name == placed.name
            assert np.array_equal(part.positions, mesh.positions.astype(np.float32))
            assert np.array_equal(part.corner_positions, mesh.corner_positions)
            normals = mesh.per_corner("normals")
            assert part.normals is not None and normals is not None and np.array_equal(part.normals, normals)
            assert part.has_clean_faces == mesh.has_clean_faces()
            ends = np.stack([part.corner_positions, np.roll(part.corner_positions.reshape(-1, 3), -1, axis=1).reshape(-1)], axis=1)
            ends.sort(axis=1)
            is_edge = ends[:, 0] != ends[:, 1]
            assert np.array_equal(part.edges[part.corner_edges[is_edge]], ends[is_edge])
            assert (part.corner_edges[~is_edge] == polyhaul.NONE).all()
            assert len(np.unique(ends[is_edge], axis=0)) == len(part.edges)


def test_parts_of_own_scenes_are_whole_meshes() -> None:
    mesh = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [7, 7, 7]], [[0, 1, 2]], material_slots=[3])
    scene = polyhaul.Scene()
    scene.add(mesh, name="one")
    scene.add(mesh, name="two")
    (part,) = scene.parts()
    assert (part.name, part.materials) == ("one", [3])
    assert list(polyhaul.Scene().parts()) == []


def test_parts_keep_positions_that_nothing_uses(scene: polyhaul.Scene) -> None:
    first, second = scene.parts(unused_positions=True)
    assert first.positions.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]]
    # Its own, then those of others.
    assert second.positions.tolist() == [[5, 0, 0], [6, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert second.corner_positions.tolist() == [0, 1, 3, 0, 3, 1, 2]


def test_parts_that_nobody_takes_end(scene: polyhaul.Scene) -> None:
    parts = scene.parts()
    assert next(parts).name == "first"
    parts.close()
