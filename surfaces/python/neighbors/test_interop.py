"""Scenes and columns for other libraries and back: nothing is lost without a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polyhaul
import pytest
import pyvista
import trimesh

#: A move by 5 along each axis.
MOVE = np.array([[1.0, 0, 0, 5], [0, 1, 0, 5], [0, 0, 1, 5], [0, 0, 0, 1]])

LIBRARIES = ("trimesh", "meshio", "pyvista")


def square(**columns: Any) -> polyhaul.Mesh:
    return polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]], **columns)


def scene(mesh: polyhaul.Mesh | None = None) -> polyhaul.Scene:
    """Two objects that show a square, one of them moved, and a triangle."""
    made = polyhaul.Scene()
    shared = mesh or square()
    made.add(shared, name="one")
    made.add(shared, name="two", transform=MOVE)
    made.add(polyhaul.Mesh([[0, 0, 9], [1, 0, 9], [0, 1, 9]], [[0, 1, 2]]), name="three")
    return made


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", polyhaul.PolyhaulWarning)
        yield


def converter(library: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return getattr(polyhaul, f"to_{library}"), getattr(polyhaul, f"from_{library}")


def test_all_converters_are_public() -> None:
    for library in (*LIBRARIES, "open3d"):
        assert {f"to_{library}", f"from_{library}"} <= set(polyhaul.__all__)


def test_trimesh_has_the_objects_of_a_scene_with_shared_meshes() -> None:
    made = polyhaul.to_trimesh(scene())
    assert isinstance(made, trimesh.Scene)
    assert list(made.geometry) == ["one", "three"] and set(made.graph.nodes_geometry) == {"one", "two", "three"}
    assert made.graph["two"][1] == "one"
    np.testing.assert_array_equal(made.graph["two"][0], MOVE)
    np.testing.assert_array_equal(made.bounds, [[0, 0, 0], [6, 6, 9]])


def test_pyvista_has_a_block_for_each_object() -> None:
    made = polyhaul.to_pyvista(scene())
    assert isinstance(made, pyvista.MultiBlock) and made.keys() == ["one", "two", "three"]
    np.testing.assert_array_equal(made["two"].points, np.asarray(square().positions) + 5)
    assert made["two"].n_faces == 1


def test_meshio_has_all_objects_where_they_are() -> None:
    made = polyhaul.to_meshio(scene())
    assert [(block.type, len(block.data)) for block in made.cells] == [("quad", 2), ("triangle", 1)]
    assert made.points.max(axis=0).tolist() == [6, 6, 9]
    assert made.cells[1].data.tolist() == [[8, 9, 10]]


@pytest.mark.parametrize("library", ["trimesh", "pyvista"])
def test_scenes_come_back(library: str) -> None:
    to, back = converter(library)
    again = back(to(scene()))
    assert isinstance(again, polyhaul.Scene)
    assert {placed.name for placed in again.objects} == {"one", "two", "three"}
    corners = {placed.name: placed.mesh.transform(np.eye(4) if placed.transform is None else placed.transform) for placed in again.objects}
    assert corners["two"].positions.min() == 5 and corners["one"].positions.max() == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_sections_of_a_file_are_one_mesh(library: str) -> None:
    read = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 1 1 0\nf 2 3 4\n")
    made = converter(library)[0](read)
    assert len(made.vertices if library == "trimesh" else made.points) == 4


@pytest.mark.parametrize("library", LIBRARIES)
def test_sections_with_transforms_are_moved(library: str) -> None:
    read = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 1 1 0\nf 2 3 4\n")
    read.objects["b"].transform = MOVE
    made = converter(library)[0](read)
    bounds = made.bounds if library != "meshio" else [made.points.min(axis=0), made.points.max(axis=0)]
    high = np.asarray(bounds)[1] if library != "pyvista" else np.asarray(bounds)[1::2] if np.ndim(bounds) == 1 else np.asarray(bounds)[1]
    np.testing.assert_array_equal(high, [6, 6, 5])


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_go_along_and_come_back(library: str) -> None:
    to, back = converter(library)
    vertex = {"quality": np.arange(4, dtype=np.float32), "label": np.arange(4, dtype=np.int16), "flow": np.arange(12.0).reshape(4, 3)}
    again = back(to(square(vertex_columns=vertex, face_columns={"part": np.array([7], np.uint8)})))
    assert set(again.vertex_columns) == set(vertex) and set(np.asarray(again.face_columns["part"]).tolist()) == {7}
    for name, values in vertex.items():
        np.testing.assert_array_equal(again.vertex_columns[name], values)
        assert again.vertex_columns[name].dtype == values.dtype


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_a_library_cannot_store_warn(library: str) -> None:
    lists = polyhaul.Lists(np.array([0, 1, 2, 3, 5], np.uint32), np.arange(5))
    with pytest.warns(polyhaul.PolyhaulWarning, match="the column 'bones' of lists") as caught:
        converter(library)[0](square(vertex_columns={"bones": lists}))
    assert caught[0].filename == __file__


def test_lines_and_groups_that_trimesh_cannot_store_warn() -> None:
    groups = {"arm": [1, np.nan, 0.5, np.nan]}
    with pytest.warns(polyhaul.PolyhaulWarning, match="lines, vertex groups"):
        polyhaul.to_trimesh(square(line_positions=[[0, 2]], vertex_groups=groups))


def test_alpha_that_pyvista_cannot_store_warns() -> None:
    polyhaul.to_pyvista(square(colors=np.ones((4, 4), np.float32)))
    with pytest.warns(polyhaul.PolyhaulWarning, match="the alpha of colors"):
        polyhaul.to_pyvista(square(colors=np.full((4, 4), 0.5, np.float32)))


@pytest.mark.parametrize("library", ["meshio", "trimesh", "pyvista"])
def test_arrays_that_a_mesh_cannot_store_warn(library: str) -> None:
    made = converter(library)[0](square())
    data = {"meshio": "point_data", "trimesh": "vertex_attributes", "pyvista": "point_data"}[library]
    count = len(made.vertices if library == "trimesh" else made.points)
    getattr(made, data)["waves"] = np.zeros((count, 2, 2)) if library != "pyvista" else np.array(["a"] * count)
    with pytest.warns(polyhaul.PolyhaulWarning, match="the array 'waves'"):
        converter(library)[1](made)


@pytest.mark.parametrize(
    ("library", "name"),
    [("meshio", "normals"), ("meshio", "uvs"), ("meshio", "colors"), ("pyvista", "Normals"), ("pyvista", "RGB")],
)
def test_columns_do_not_replace_attributes_of_the_same_name(library: str, name: str) -> None:
    convert = converter(library)[0]
    given: dict[str, Any] = {"normals": np.full((4, 3), 0.5), "normal_domain": "vertex", "colors": np.ones((4, 4))}
    given |= {"uvs": np.zeros((4, 2)), "uv_domain": "vertex"}
    mesh = square(vertex_columns={name: np.full((4, 3), 9.0)}, **given)
    with pytest.warns(polyhaul.PolyhaulWarning, match=f"the column '{name}', whose name has another use"):
        made = convert(mesh)
    np.testing.assert_array_equal(made.point_data[name], convert(square(**given)).point_data[name])


def test_columns_that_not_all_objects_have_warn() -> None:
    made = scene(square(vertex_columns={"quality": np.arange(4.0)}))
    with pytest.warns(polyhaul.PolyhaulWarning, match="the column 'quality' that only some objects have"):
        polyhaul.to_meshio(made)


def test_active_arrays_of_pyvista_are_taken_whatever_their_names() -> None:
    data = pyvista.Plane(i_resolution=1, j_resolution=1)
    data.point_data["mine"] = data.active_texture_coordinates * 2
    data.point_data.active_texture_coordinates_name = "mine"
    again = polyhaul.from_pyvista(data)
    np.testing.assert_array_equal(again.uvs, data.point_data["mine"])


def test_face_columns_beside_lines_stay_with_their_faces() -> None:
    mesh = square(line_positions=[[0, 2]], face_columns={"part": np.array([7])})
    data = polyhaul.to_pyvista(mesh)
    assert data.cell_data["part"].tolist() == [0, 7]
    assert polyhaul.from_pyvista(data).face_columns["part"].tolist() == [7]


@pytest.mark.parametrize("library", ["meshio", "pyvista"])
def test_data_of_lines_is_not_dropped_silently(library: str) -> None:
    made = converter(library)[0](square(line_positions=[[0, 2]], face_columns={"part": np.array([7])}))
    if library == "meshio":
        made.cell_data["part"][1][:] = 5
    else:
        made.cell_data["part"][0] = 5
    with pytest.warns(polyhaul.PolyhaulWarning, match="the array 'part' of lines and points"):
        again = converter(library)[1](made)
    assert again.face_columns["part"].tolist() == [7]


def test_lines_beside_strips_are_kept() -> None:
    data = pyvista.PolyData(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), strips=[4, 0, 1, 2, 3], lines=[2, 0, 3])
    again = polyhaul.from_pyvista(data)
    assert again.face_count == 2 and again.line_positions.tolist() == [0, 3]


def test_a_second_array_of_colors_is_a_column() -> None:
    data = polyhaul.to_meshio(square())
    data.point_data |= {"colors": np.zeros((4, 3)), "rgb": np.ones((4, 3))}
    again = polyhaul.from_meshio(data)
    assert again.colors is not None and not again.colors[:, :3].any() and again.vertex_columns["rgb"].all()


def test_parts_of_trimesh_that_a_scene_cannot_store_warn() -> None:
    made = polyhaul.to_trimesh(square())
    made.visual.face_colors = [[255, 0, 0, 255], [0, 255, 0, 255]]
    with pytest.warns(polyhaul.PolyhaulWarning, match="the colors of faces"):
        polyhaul.from_trimesh(made)
    cloud = trimesh.Scene({"a": polyhaul.to_trimesh(square()), "b": trimesh.PointCloud(np.eye(3))})
    with pytest.warns(polyhaul.PolyhaulWarning, match="the geometry 'b' without faces"):
        polyhaul.from_trimesh(cloud)


def test_groups_that_a_joined_mesh_cannot_store_warn() -> None:
    with pytest.warns(polyhaul.PolyhaulWarning, match="vertex groups"):
        polyhaul.to_meshio(scene(square(vertex_groups={"arm": [1, np.nan, 0.5, np.nan]})))


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="expected polyhaul.Mesh or polyhaul.Scene"):
        polyhaul.to_trimesh("a.obj")
