"""The surface of a mesh: faults, measures, computed normals."""

from __future__ import annotations

import threading

import numpy as np
import polyhaul
import pytest

CORNERS = np.array([[x, y, z] for z in (0, 2) for y in (0, 2) for x in (0, 2)], np.float32)
SIDES = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])


def test_a_cube_has_its_measures() -> None:
    cube = polyhaul.Mesh(CORNERS, SIDES)
    assert cube.bounds is not None and cube.bounds.dtype == np.float64
    np.testing.assert_array_equal(cube.bounds, [[0, 0, 0], [2, 2, 2]])
    assert (cube.area, cube.volume, cube.is_watertight) == (24.0, 8.0, True)
    check = cube.check()
    counts = (check.face_count, check.position_count, check.edge_count, check.component_count, check.euler_number)
    assert counts == (6, 8, 12, 1, 2)
    assert check.is_solid and check.is_clean
    assert repr(check) == "<polyhaul.SurfaceCheck: 6 faces, watertight, no faults>"
    inside_out = polyhaul.Mesh(CORNERS, SIDES[:, ::-1])
    assert inside_out.volume == -8.0 and inside_out.is_watertight


def test_faults_are_arrays_of_indices() -> None:
    faces = [*SIDES[1:].tolist(), [4, 6, 7, 5], [0, 0, 1]]
    offsets = np.cumsum([0, *map(len, faces)])
    mesh = polyhaul.Mesh(CORNERS, np.concatenate(faces), offsets)
    check = mesh.check()
    np.testing.assert_array_equal(check.open_edges, [[0, 1], [2, 0], [1, 3], [3, 2]])
    np.testing.assert_array_equal(check.duplicate_faces, [5])
    np.testing.assert_array_equal(check.degenerate_faces, [6])
    assert check.non_manifold_edges.shape == (4, 2) and check.flipped_edges.shape == (0, 2)
    assert not check.is_watertight and not check.is_clean
    kinds = "4 open edges, 4 non-manifold edges, 1 duplicate face, 1 degenerate face"
    assert repr(check) == f"<polyhaul.SurfaceCheck: 7 faces, not watertight, {kinds}>"
    flipped = polyhaul.Mesh(CORNERS, [*SIDES[1:], SIDES[0][::-1]]).check()
    assert flipped.is_watertight and not flipped.is_consistent and len(flipped.flipped_edges) == 4


def test_seams_are_closed_unless_indices_count() -> None:
    split = polyhaul.Mesh(CORNERS[SIDES.reshape(-1)], np.arange(24).reshape(6, 4))
    assert split.is_watertight and split.check().component_count == 1
    stored = split.check(merge=False)
    assert len(stored.open_edges) == 24 and stored.component_count == 6


def test_bounds_ignore_what_is_not_finite() -> None:
    assert polyhaul.Mesh(np.empty((0, 3))).bounds is None
    assert polyhaul.Mesh([[np.nan, 0, 0], [np.inf, 0, 0]]).bounds is None
    bounds = polyhaul.Mesh(np.array([[np.nan, 9, 9], [1, 2, 3], [0.1, 5, 3]])).bounds
    np.testing.assert_array_equal(bounds, [[0.1, 2, 3], [1, 5, 3]])


def test_a_mesh_of_a_file_with_objects_is_one_surface() -> None:
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS.astype(int))
    for name, sides in (("a", SIDES[:3]), ("b", SIDES[3:])):
        text += f"o {name}\n" + "".join(f"f {' '.join(str(at + 1) for at in side)}\n" for side in sides)
    scene = polyhaul.read(text.encode())
    assert scene.meshes[0].is_watertight
    assert not any(part.mesh.is_watertight for part in scene.parts())
    smooth = scene.meshes[0].compute_normals()
    assert smooth.normal_domain == "vertex" and smooth.normals is not None


def test_normals_are_smooth_or_flat() -> None:
    cube = polyhaul.Mesh(CORNERS, SIDES, uvs=CORNERS[:, :2].copy(), uv_domain="vertex")
    smooth = cube.compute_normals()
    assert smooth.normals is not None and smooth.normal_domain == "vertex" and smooth.uv_domain == "vertex"
    np.testing.assert_allclose(smooth.normals, (CORNERS - 1) / np.sqrt(3), atol=1e-6)
    flat = cube.compute_normals(flat=True)
    assert flat.normals is not None and flat.normal_domain == "face"
    np.testing.assert_array_equal(flat.normals[:2], [[0, 0, -1], [0, 0, 1]])
    split = polyhaul.Mesh(CORNERS[SIDES.reshape(-1)], np.arange(24).reshape(6, 4))
    sharp, merged = split.compute_normals().normals, split.compute_normals(merge=True).normals
    assert sharp is not None and merged is not None
    np.testing.assert_array_equal(sharp, np.repeat(flat.normals, 4, axis=0))
    np.testing.assert_allclose(merged, (CORNERS[SIDES.reshape(-1)] - 1) / np.sqrt(3), atol=1e-6)
    assert cube.normals is None


def grid(side: int) -> polyhaul.Mesh:
    at = np.arange(side * side).reshape(side, side)
    y, x = np.divmod(np.arange(side * side), side)
    faces = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]], axis=-1).reshape(-1, 4)
    return polyhaul.Mesh(np.column_stack([x, y, np.sin(x * 0.1)]), faces)


def test_large_meshes_are_the_same_for_any_number_of_threads() -> None:
    mesh = grid(300)
    first, normals = mesh.check(threads=1), mesh.compute_normals(threads=1).normals
    assert len(first.open_edges) == 4 * 299
    for threads in (2, 7):
        again = mesh.check(threads=threads)
        assert (again.area, again.volume, again.component_count) == (first.area, first.volume, 1)
        np.testing.assert_array_equal(again.open_edges, first.open_edges)
        np.testing.assert_array_equal(mesh.compute_normals(threads=threads).normals, normals)


def test_other_threads_run_meanwhile() -> None:
    mesh, steps, done = grid(700), [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            steps[0] += 1
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    for _ in range(3):
        mesh.check(threads=1)
    after = steps[0]
    done.set()
    thread.join()
    assert after > before


def test_a_mesh_that_its_arrays_broke_is_an_error() -> None:
    faces = np.array([[0, 1, 2]], np.int32)
    mesh = polyhaul.Mesh(CORNERS, faces)
    faces[0, 1] = 99
    with pytest.raises(polyhaul.UsageError, match="position 99"):
        mesh.check()
    with pytest.raises(polyhaul.UsageError, match="position 99"):
        mesh.compute_normals()
