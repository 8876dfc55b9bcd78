"""Scenes for a renderer (pbrt): what they have, and what becomes of it when they are written."""

from __future__ import annotations

import copy
import gc
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import REPOSITORY

FOLDER = REPOSITORY / "testdata" / "pbrt" / "good"

SCENE = """
Option "seed" 3
Option "disablepixeljitter" true
Option "msereferenceimage" "ref.exr"
LookAt 0 0 5  0 0 0  0 1 0
ColorSpace "rec2020"
Camera "perspective" "float fov" 50
ColorSpace "srgb"
Film "rgb" "integer xresolution" [8] "string filename" "a.exr"
Sampler "halton" "integer pixelsamples" 16
MakeNamedMedium "fog" "string type" "homogeneous" "float scale" 0.5
WorldBegin
Texture "grid" "spectrum" "imagemap" "string filename" "grid.png" "bool invert" false
LightSource "distant" "point3 from" [0 0 5 1 2 3] "rgb L" [1 0.5 0.25]
MakeNamedMaterial "red" "string type" "diffuse" "texture reflectance" "grid"
ObjectBegin "pair"
  NamedMaterial "red"
  Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "integer indices" [0 1 2 1 3 2] "point2 uv" [0 0 1 0 0 1 1 1]
  Shape "bilinearmesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "normal N" [0 0 1 0 0 1 0 0 1 0 0 1]
ObjectEnd
Attribute "shape" "float alpha" 0.5 "integer level" 1
AttributeBegin
  Translate 1 2 3
  ObjectInstance "pair"
  Scale 2 2 2
  ObjectInstance "pair"
  ObjectInstance "gone"
AttributeEnd
AttributeBegin
  ActiveTransform EndTime
  Translate 0 0 9
  ActiveTransform All
  ObjectInstance "pair"
  Attribute "shape" "float alpha" 0.25
  Material "conductor" "spectrum eta" "metal-Cu-eta" "spectrum k" [400 1 700 2]
  AreaLightSource "diffuse" "blackbody L" 5500
  MediumInterface "fog" ""
  ReverseOrientation
  Shape "sphere" "float radius" 2 "float alpha" 1
AttributeEnd
Shape "plymesh" "string filename" "mesh.ply"
"""

MESH = b"""ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 2 0
3 0 1 2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The scene, with its mesh beside it."""
    (tmp_path / "mesh.ply").write_bytes(MESH)
    path = tmp_path / "scene.pbrt"
    path.write_text(SCENE)
    return path


def read(path: Path, load_meshes: bool = True) -> polyhaul.Render:
    render = polyhaul.read(path, flatten=False, on_error="warn", load_meshes=load_meshes).render
    assert render is not None
    return render


pytestmark = pytest.mark.filterwarnings("ignore::polyhaul.PolyhaulWarning")


def test_settings_come_with_their_parameters(path: Path) -> None:
    render = read(path)
    assert render.options == {"seed": 3, "disablepixeljitter": True, "msereferenceimage": "ref.exr"}
    assert render.camera is not None and render.film is not None and render.sampler is not None
    assert (render.camera.kind, render.camera.parameters["fov"].value, render.camera.color_space) == ("perspective", 50, "rec2020")
    assert render.camera.transform[:3, 3].tolist() == [0, 0, 5]
    assert render.film.parameters["xresolution"].value == 8 and render.film.parameters["filename"].value == "a.exr"
    assert render.filter is None and render.integrator is None and render.accelerator is None
    assert render.transform_times == (0, 1)
    assert {medium.name: medium.kind for medium in render.media} == {"fog": "homogeneous"}


def test_parameters_have_their_types(path: Path) -> None:
    render = read(path)
    light = render.lights[0].parameters
    assert {name: parameter.type for name, parameter in light.items()} == {"from": "point3", "L": "rgb"}
    assert light["L"].value.tolist() == [1, 0.5, 0.25] and light["from"].values.shape == (2, 3)
    with pytest.raises(ValueError, match="found 2"):
        light["from"].value
    texture = render.textures[0]
    assert (texture.name, texture.kind, texture.value_type) == ("grid", "imagemap", "spectrum")
    assert texture.parameters["invert"].value is False and texture.parameters["invert"].values.dtype == bool
    sphere = render.world_shapes[0]
    material = sphere.material
    assert material is not None and (material.kind, material.name) == ("conductor", "")
    assert material.parameters["eta"].values.tolist() == ["metal-Cu-eta"]
    assert material.parameters["k"].values.tolist() == [[400, 1], [700, 2]]
    indices = render.shapes[0].parameters["indices"].values
    assert indices.dtype == np.int32 and indices.tolist() == [0, 1, 2, 1, 3, 2]


def test_shapes_know_what_holds_for_them(path: Path) -> None:
    render = read(path)
    assert [shape.kind for shape in render.shapes] == ["trianglemesh", "bilinearmesh", "sphere", "plymesh"]
    assert [shape.index for shape in render.shapes[::-2]] == [3, 1]
    first, _, sphere, last = render.shapes
    assert not first.attributes
    assert first.material is not None and first.material.name == first.material_name == "red"
    assert first.material.parameters["reflectance"].value == "grid"
    assert (sphere.material_name, sphere.inside, sphere.outside, sphere.reverse_orientation) == (None, "fog", None, True)
    assert sphere.area_light is not None and sphere.area_light.parameters["L"].value == 5500
    assert {name: parameter.value for name, parameter in sphere.attributes.items()} == {"alpha": 0.25, "level": 1}
    assert sphere.parameters["alpha"].value == 1 and last.attributes["alpha"].value == 0.5
    assert sphere.end_transform is not None and sphere.end_transform[2, 3] == 9
    assert (last.material, last.area_light, last.end_transform, last.reverse_orientation) == (None, None, None, False)
    with pytest.raises(IndexError):
        render.shapes[4]


def test_instances_are_arrays(path: Path) -> None:
    render = read(path)
    instances, names = render.instances, list(render.definitions)
    assert [names[at] for at in instances.definition_indices] == ["pair", "pair", "gone", "pair"]
    assert len(render.definitions["pair"].shapes) == 2 and not render.definitions["pair"].missing
    assert render.definitions["gone"].missing and not render.definitions["gone"].shapes
    expected = np.array([np.eye(4)] * 4)
    expected[:3, :3, 3] = 1, 2, 3
    expected[1:3, range(3), range(3)] = 2
    assert instances.transforms.dtype == np.float64 and instances.transforms32.dtype == np.float32
    np.testing.assert_array_equal(instances.transforms, expected)
    np.testing.assert_array_equal(instances.transforms32, expected)
    expected[3, 2, 3] = 9
    assert instances.end_transforms is not None
    np.testing.assert_array_equal(instances.end_transforms, expected)
    assert len(instances) == 4 and read(FOLDER / "07_instances.pbrt").instances.end_transforms is None


def test_transforms_are_those_of_the_flat_scene() -> None:
    path = FOLDER / "07_instances.pbrt"
    flat = np.array([obj.transform for obj in polyhaul.read(path).objects])
    np.testing.assert_allclose(read(path).instances.transforms32, flat, atol=1e-6)


def test_meshes_are_not_copied(path: Path) -> None:
    render = read(path)
    triangles, patch, sphere, ply = (shape.mesh for shape in render.shapes)
    assert triangles is not None and patch is not None and ply is not None and sphere is None
    parameters = render.shapes[0].parameters
    for array, name in ((triangles.positions, "P"), (triangles.uvs, "uv"), (triangles.corner_positions, "indices")):
        other = render.shapes[0].parameters[name].values
        assert array is not None and not array.flags.writeable
        # Asked for twice, and still the same memory: that of the file's arrays.
        assert np.shares_memory(array, other) and np.shares_memory(parameters[name].values, other) and not other.flags.writeable
    assert patch.corner_positions.tolist() == [0, 1, 3, 2] and patch.normals is not None and patch.face_count == 1
    assert ply.positions[2].tolist() == [0, 2, 0]
    positions = render.shapes[0].parameters["P"].values
    del render, triangles, parameters
    gc.collect()
    assert positions[3].tolist() == [1, 1, 0]


def test_parameters_of_odd_types_make_no_meshes_or_errors() -> None:
    def mesh(parameters: str) -> polyhaul.Mesh | None:
        render = polyhaul.read(f'WorldBegin Shape "trianglemesh" {parameters}'.encode(), format="pbrt", flatten=False).render
        assert render is not None
        arrays = [parameter.values for parameter in render.shapes[0].parameters.values()]
        assert repr(render.shapes[0]) and all(array.size >= 0 for array in arrays)
        return render.shapes[0].mesh

    assert mesh('"string P" "x"') is None and mesh('"integer P" [0 0 0]') is None and mesh("") is None
    points = '"point3 P" [0 0 0 1 0 0 0 1 0]'
    for odd in ('"float indices" [0 1 2]', '"float uv" [1 2]', '"string N" "x"', ""):
        shape = mesh(f"{points} {odd}")
        assert shape is not None and shape.corner_positions.tolist() == [0, 1, 2]
        assert shape.uvs is None and shape.normals is None
    with pytest.raises(ValueError, match="index 3 of this `trianglemesh` is out of range"):
        mesh(f'{points} "integer indices" [0 1 3]')


def test_a_lazy_reading_leaves_meshes_alone(path: Path) -> None:
    (path.parent / "mesh.ply").write_bytes(b"no mesh")
    path.write_text(SCENE.replace('  ObjectInstance "gone"\n', ""))
    with pytest.raises(polyhaul.MalformedError):
        polyhaul.read(path, flatten=False)
    render = read(path, load_meshes=False)
    assert render.shapes[3].mesh is None and render.shapes[3].parameters["filename"].value == "mesh.ply"


def test_what_was_read_is_written(path: Path) -> None:
    scene = polyhaul.read(path, flatten=False, on_error="warn")
    first, second = path.parent / "first.pbrt", path.parent / "second.pbrt"
    polyhaul.write(scene, first)
    again = polyhaul.read(first, flatten=False, on_error="warn")
    polyhaul.write(again, second)
    assert first.read_bytes() == second.read_bytes()
    original, other = scene.render, again.render
    assert original is not None and other is not None
    assert [shape.kind for shape in original.shapes] == [shape.kind for shape in other.shapes]
    np.testing.assert_array_equal(original.instances.transforms, other.instances.transforms)
    polyhaul.write(copy.deepcopy(scene), second)
    assert first.read_bytes() == second.read_bytes()


def test_options_of_writing(path: Path) -> None:
    scene = polyhaul.read(path, flatten=False, on_error="warn")
    out = path.parent / "out"
    out.mkdir()
    polyhaul.write(scene, out / "pretty.pbrt")
    polyhaul.write(scene, out / "compact.pbrt", compact=True)
    assert len((out / "compact.pbrt").read_bytes()) < len((out / "pretty.pbrt").read_bytes())
    polyhaul.write(scene, out / "kept.pbrt", meshes="ply:5")
    assert len(list(out.iterdir())) == 3
    polyhaul.write(scene, out / "moved.pbrt.gz", meshes="ply:4")
    moved = sorted(path.name for path in out.glob("moved*"))
    assert len(moved) == 2 and moved[0].endswith((".ply.gz", ".ply"))
    written = polyhaul.read(out / "moved.pbrt.gz", flatten=False, on_error="warn").render
    assert written is not None and written.shapes[0].kind == "plymesh"
    mesh = written.shapes[0].mesh
    assert mesh is not None and mesh.positions[3].tolist() == [1, 1, 0]
    polyhaul.write(scene, out / "split.pbrt", parts=2)
    assert len(list(out.glob("split-part-*.pbrt"))) >= 1
    report = polyhaul.convert(path, out / "converted.pbrt", on_error="warn", load_meshes=False, compact=True)
    assert (out / "converted.pbrt").read_bytes() == (out / "compact.pbrt").read_bytes() and report.bytes_out


def test_options_that_make_no_sense(path: Path) -> None:
    scene = polyhaul.read(path, flatten=False, on_error="warn")
    with pytest.raises(ValueError, match="meshes is 'obj'; expected keep, inline, ply or ply:N"):
        polyhaul.write(scene, path, meshes="obj")
    with pytest.raises(ValueError, match="parts is -1"):
        polyhaul.write(scene, path, parts=-1)
    with pytest.raises(ValueError, match="renderer scene"):
        scene.add(polyhaul.Mesh([[0, 0, 0]]))


def test_other_formats_get_the_flat_scene(path: Path) -> None:
    scene = polyhaul.read(path, flatten=False, on_error="warn")
    polyhaul.write(scene, path.parent / "a.obj")
    polyhaul.write(polyhaul.read(path, on_error="warn"), path.parent / "b.obj")
    assert len(polyhaul.read(path.parent / "a.obj").objects) == len(polyhaul.read(path.parent / "b.obj").objects) > 0
    assert polyhaul.read(path.parent / "a.obj", flatten=False).render is None


def test_info_tells_of_files_and_directives(path: Path) -> None:
    (path.parent / "lamp.png").touch()
    text = SCENE.replace('  ObjectInstance "gone"\n', "") + 'LightSource "infinite" "string filename" "lamp.png"\n'
    path.write_text(text)
    summary = polyhaul.info(path)
    render = summary.render
    assert render is not None
    assert (render.shapes, render.instances, render.unique_triangles, render.instanced_triangles) == (4, 3, 3, 7)
    assert render.directives["ObjectInstance"] == 3 and render.directives["Translate"] == 2
    assert sum(render.classes.values()) == 4 and list(render.directives) == sorted(render.directives)
    assert render.files["pbrt"] == polyhaul.FileSummary(1, 0, len(text), len(text))
    assert render.files["ply"] == polyhaul.FileSummary(1, 0, len(MESH), len(MESH))
    assert render.files["texture"] == polyhaul.FileSummary(1, 1, 0, None)
    assert render.texture_files == ("grid.png", "lamp.png") and render.missing_textures == ("grid.png",)
    assert summary.report.warnings.counts == {"missing-texture": 1}
    lazy = polyhaul.info(path, load_meshes=False).render
    assert lazy is not None
    assert (lazy.unread_meshes, lazy.unique_triangles, lazy.instanced_triangles, lazy.positions) == (1, None, None, None)
    assert lazy.files["ply"] == polyhaul.FileSummary(1, 0, len(MESH), None)
    assert polyhaul.info(b"v 0 0 0\n").render is None
