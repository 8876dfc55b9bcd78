"""Verdicts on surfaces beside trimesh's and PyVista's: 30 meshes, with and without faults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polyhaul
import pytest
import pyvista
import trimesh

Triangles = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def made(mesh: trimesh.Trimesh) -> Triangles:
    return np.array(mesh.vertices), np.array(mesh.faces)


def pair() -> Triangles:
    first, second = made(trimesh.creation.icosphere(subdivisions=2)), made(trimesh.creation.box())
    return np.concatenate([first[0], second[0] + 5]), np.concatenate([first[1], second[1] + len(first[0])])


def plane() -> Triangles:
    at = np.arange(12 * 9).reshape(9, 12)
    y, x = np.divmod(np.arange(12 * 9), 12)
    quads = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]], axis=-1).reshape(-1, 4)
    return np.column_stack([x, y, np.sin(x * 0.7)]), np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])


def moebius() -> Triangles:
    steps, at = 40, np.arange(40)
    turn = at / steps * 2 * np.pi
    edges = [
        np.column_stack([(2 + s * np.cos(turn / 2)) * np.cos(turn), (2 + s * np.cos(turn / 2)) * np.sin(turn), s * np.sin(turn / 2)])
        for s in (-0.5, 0.5)
    ]
    after = np.where(at + 1 < steps, at + 1, steps)
    a, b, c, d = at, at + steps, (at + 1) % steps + steps, after % steps
    c, d = np.where(at + 1 < steps, c, 0), np.where(at + 1 < steps, d, steps)
    return np.concatenate(edges), np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


SHAPES: dict[str, Callable[[], Triangles]] = {
    "box": lambda: made(trimesh.creation.box(extents=(1, 2, 3))),
    "sphere": lambda: made(trimesh.creation.icosphere(subdivisions=3)),
    "cylinder": lambda: made(trimesh.creation.cylinder(radius=1, height=3)),
    "torus": lambda: made(trimesh.creation.torus(2, 0.5)),
    "annulus": lambda: made(trimesh.creation.annulus(1, 2, height=1)),
    "capsule": lambda: made(trimesh.creation.capsule(2, 1)),
    "cone": lambda: made(trimesh.creation.cone(1, 2)),
    "pair": pair,
    "plane": plane,
    "moebius strip": moebius,
}


def as_is(positions: npt.NDArray[np.float64], faces: npt.NDArray[np.int64]) -> Triangles:
    return positions, faces


def faulty(positions: npt.NDArray[np.float64], faces: npt.NDArray[np.int64]) -> Triangles:
    """A hole, a flipped face, a face twice, and a fin."""
    faces = np.delete(faces, 2, axis=0)
    faces[5] = faces[5, ::-1]
    positions = np.concatenate([positions, [[20.0, 20.0, 20.0]]])
    return positions, np.concatenate([faces, faces[8:9], [[*faces[0, :2], len(positions) - 1]]])


def soup(positions: npt.NDArray[np.float64], faces: npt.NDArray[np.int64]) -> Triangles:
    """Each triangle with its own positions."""
    return positions[faces.reshape(-1)], np.arange(faces.size).reshape(-1, 3)


def feature_edges(surface: pyvista.PolyData, kind: str) -> int:
    kinds = dict.fromkeys(("boundary_edges", "non_manifold_edges", "feature_edges", "manifold_edges"), False)
    return int(surface.extract_feature_edges(**(kinds | {kind: True})).n_cells)


@pytest.mark.parametrize("change", [as_is, faulty, soup])
@pytest.mark.parametrize("shape", SHAPES)
def test_verdicts_are_those_of_others(shape: str, change: Callable[..., Triangles]) -> None:
    positions, faces = change(*SHAPES[shape]())
    mesh = polyhaul.Mesh(positions, faces)
    check = mesh.check()

    theirs = trimesh.Trimesh(positions, faces, process=True)
    assert (check.is_watertight, check.is_consistent) == (theirs.is_watertight, theirs.is_winding_consistent)
    assert check.euler_number == theirs.euler_number
    assert (check.face_count, check.position_count) == (len(theirs.faces), len(theirs.vertices))
    assert check.edge_count == len(theirs.edges_unique)
    assert check.area == pytest.approx(theirs.area)
    np.testing.assert_allclose(mesh.bounds, theirs.bounds)

    surface = pyvista.PolyData.from_regular_faces(positions, faces).clean()
    assert check.is_watertight == surface.is_manifold
    assert len(check.open_edges) == feature_edges(surface, "boundary_edges")
    assert len(check.non_manifold_edges) == feature_edges(surface, "non_manifold_edges")
    assert check.component_count == surface.connectivity()["RegionId"].max() + 1
    assert check.area == pytest.approx(surface.area, rel=1e-5)
    if check.is_solid:
        # The volumes of open surfaces depend on the origin, which differs.
        assert check.volume == pytest.approx(theirs.volume) and check.volume == pytest.approx(surface.volume, rel=1e-5)


@pytest.mark.parametrize("shape", ["box", "sphere", "torus"])
def test_smooth_normals_are_those_of_trimesh(shape: str) -> None:
    positions, faces = SHAPES[shape]()
    normals = polyhaul.Mesh(positions, faces).compute_normals().normals
    theirs = trimesh.Trimesh(positions, faces, process=False)
    np.testing.assert_allclose(normals, theirs.vertex_normals, atol=1e-6)


def test_a_collapsed_triangle_is_ignored_where_others_count_it() -> None:
    positions, faces = SHAPES["box"]()
    faces = np.concatenate([faces, [[*faces[0, :2], faces[0, 0]]]])
    assert polyhaul.Mesh(positions, faces).is_watertight
    assert not trimesh.Trimesh(positions, faces, process=True).is_watertight
