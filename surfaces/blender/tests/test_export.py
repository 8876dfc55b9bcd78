"""The bytes are those of Blender's own exporter, for randomly generated scenes."""

from __future__ import annotations

import importlib
import itertools
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import addon_utils
import bpy
import kinds
import pairs
import pytest
import scenes

#: The first seed of the scenes.
FIRST = int(os.environ.get("POLYHAUL_SEED", "1000"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("POLYHAUL_SCENES", "1")))
#: How many exports are equal, and why others differ.
VERDICTS: Counter[str] = Counter()

def lines(path: Path) -> list[bytes]:
    """The lines of a file without comments and the name of the library; none if there is no file."""
    if not path.exists():
        return []
    return [line for line in path.read_bytes().split(b"\n") if not line.startswith((b"# ", b"mtllib"))]


def first_difference(ours: list[bytes], theirs: list[bytes]) -> str | None:
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
        if a != b:
            return f"line {number}: {a!r}, and Blender has {b!r}"
    return None if len(ours) == len(theirs) else f"{len(ours)} lines, and Blender has {len(theirs)}"


@pytest.mark.parametrize("extension", pairs.VALUES)
@pytest.mark.parametrize("kind", kinds.KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_files_are_those_of_blender(addon: Any, tmp_path: Path, seed: int, kind: str, extension: str) -> None:
    """With every option, the bytes are the same, or differ as the guide says."""
    kinds.fill(seed, kind)
    addon_utils.enable("bl_ext.user_default.polyhaul")
    rng = random.Random(f"{seed} {kind} {extension}")
    for variation in pairs.variations(extension, rng):
        options = pairs.survived(extension, variation, rng)
        theirs = pairs.export(bpy.ops.wm, extension, tmp_path / "theirs", options)
        ours = pairs.export(bpy.ops.polyhaul, extension, tmp_path / "ours", options)
        verdict = pairs.verdict(extension, options, theirs, ours)
        VERDICTS[verdict] += 1
        assert verdict != "other", (seed, kind, options)


def test_batches_write_each_object_to_its_own_file(addon: Any) -> None:
    addon_utils.enable("bl_ext.user_default.polyhaul")
    names = importlib.import_module("bl_ext.user_default.polyhaul.paths").BatchNames("/out/", "")
    assert [names.of(name) for name in ("a", "a.", "a")] == ["/out/a.stl", "/out/a._1.stl", "/out/a_1.stl"]


def test_most_files_are_equal_byte_for_byte() -> None:
    """So that the reasons for differences do not become excuses."""
    assert VERDICTS["equal"] >= 0.75 * VERDICTS.total(), VERDICTS
    print(dict(VERDICTS))


@pytest.mark.parametrize("mode", ["AUTO", "ABSOLUTE", "RELATIVE", "MATCH", "STRIP", "COPY"])
def test_images_are_named_as_blender_names_them(empty: Any, tmp_path: Path, mode: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "below").mkdir()
    bpy.ops.mesh.primitive_plane_add()
    material = bpy.data.materials.new("textured")
    material.use_nodes = True
    tree = material.node_tree
    shader = tree.nodes["Principled BSDF"]
    for place, name in (("beside", "Base Color"), ("out", "Roughness"), ("out/below", "Alpha")):
        image = bpy.data.images.new(name, 4, 4)
        (tmp_path / place).mkdir(exist_ok=True)
        image.filepath_raw = str(tmp_path / place / f"{name} 1.png")
        image.file_format = "PNG"
        image.save()
        node = tree.nodes.new("ShaderNodeTexImage")
        node.image = image
        tree.links.new(node.outputs["Color"], shader.inputs[name])
    mapping = tree.nodes.new("ShaderNodeMapping")
    mapping.inputs["Scale"].default_value = (2, 3.5, 1)
    tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])
    bpy.context.object.data.materials.append(material)
    theirs, ours = tmp_path / "out" / "theirs.obj", tmp_path / "out" / "ours.obj"
    bpy.ops.wm.obj_export(filepath=str(theirs), path_mode=mode)
    bpy.ops.polyhaul.obj_export(filepath=str(ours), path_mode=mode)
    assert lines(ours.with_suffix(".mtl")) == lines(theirs.with_suffix(".mtl"))


def test_names_with_line_breaks_leave_a_file_that_can_be_read(empty: Any, tmp_path: Path) -> None:
    import polyhaul

    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.name = "two\nlines"
    bpy.context.object.data.materials.append(bpy.data.materials.new("also\r\ntwo"))
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"))
    scene = polyhaul.read(tmp_path / "a.obj")
    assert len(scene.objects) == len(scene.materials) == 1
    assert not scene.report.warnings.total and not scene.materials[0].missing


def test_frames_are_files_of_their_own(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    for frame in (1, 3):
        cube.location.x = frame
        cube.keyframe_insert("location", frame=frame)
    for name, export in (("theirs", bpy.ops.wm.obj_export), ("ours", bpy.ops.polyhaul.obj_export)):
        export(filepath=str(tmp_path / f"{name}.obj"), export_animation=True, start_frame=1, end_frame=3)
    theirs = sorted(tmp_path.glob("theirs*.obj"))
    assert [path.name.replace("theirs", "ours") for path in theirs] == [path.name for path in sorted(tmp_path.glob("ours*.obj"))]
    assert len(theirs) == 3
    for path in theirs:
        assert lines(path) == lines(path.with_name(path.name.replace("theirs", "ours")))


@pytest.mark.parametrize("mode", [{"export_eval_mode": "DAG_EVAL_RENDER"}, {"evaluation_mode": "RENDER"}])
@pytest.mark.parametrize("extension", pairs.VALUES)
def test_objects_are_exported_as_they_are_rendered(empty: Any, tmp_path: Path, extension: str, mode: dict[str, str]) -> None:
    import polyhaul

    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.hide_viewport = True
    subdivision = bpy.context.object.modifiers.new("subdivision", "SUBSURF")
    subdivision.levels, subdivision.render_levels = 1, 2
    path = tmp_path / f"a.{extension}"
    getattr(bpy.ops.polyhaul, f"{extension}_export")(filepath=str(path), **mode)
    assert [len(mesh.face_offsets) - 1 for mesh in polyhaul.read(path).meshes] == [192 if extension == "stl" else 96]
    assert not bpy.data.collections
    with pytest.raises(RuntimeError, match=r"cannot be compressed"):
        getattr(bpy.ops.polyhaul, f"{extension}_export")(filepath=f"{path}.gz", **mode)


@pytest.mark.parametrize("extension", pairs.VALUES)
def test_collections_are_evaluated_as_blender_does(empty: Any, tmp_path: Path, extension: str) -> None:
    bpy.ops.mesh.primitive_cube_add()
    subdivision = bpy.context.object.modifiers.new("subdivision", "SUBSURF")
    subdivision.levels, subdivision.render_levels = 1, 2
    for number in range(2):
        hidden = bpy.context.object.copy()
        hidden.hide_render, hidden.hide_viewport = number == 0, number == 1
        bpy.context.collection.objects.link(hidden)
    collection = bpy.data.collections.new("C")
    bpy.context.scene.collection.children.link(collection)
    for item in bpy.context.scene.collection.objects:
        collection.objects.link(item)
    options = {"collection": "C", **({"export_materials": False} if extension == "obj" else {})}
    files = [pairs.export(module, extension, tmp_path / "out", options) for module in (bpy.ops.wm, bpy.ops.polyhaul)]
    assert files[0] == files[1]
    with pytest.raises(RuntimeError, match="Unable to find collection"):
        getattr(bpy.ops.polyhaul, f"{extension}_export")(filepath=str(tmp_path / "b"), collection="none")


@pytest.mark.parametrize("extension", pairs.VALUES)
def test_the_operator_decides_the_format(empty: Any, tmp_path: Path, extension: str) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.data.materials.append(bpy.data.materials.new("m"))
    for name in ("a.txt", "a.stl", "a.ply", "a.obj", "a", "a.b.c", "a.glb"):
        files = []
        for module in (bpy.ops.wm, bpy.ops.polyhaul):
            folder = tmp_path / "out"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            getattr(module, f"{extension}_export")(filepath=str(folder / name))
            files.append({path.name: len(path.read_bytes().split(b"\nf ")) for path in folder.iterdir()})
        assert files[0] == files[1]
    bpy.ops.polyhaul.ply_export(filepath=str(tmp_path / "a.txt.gz"))
    assert (tmp_path / "a.txt.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_units_that_are_off_do_not_scale(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    units = bpy.context.scene.unit_settings
    for system in ("NONE", "METRIC", "IMPERIAL"):
        units.system, units.scale_length = system, 0.25
        options = {"use_scene_unit": True}
        files = [pairs.export(module, "stl", tmp_path / "out", options) for module in (bpy.ops.wm, bpy.ops.polyhaul)]
        assert files[0] == files[1]


def test_files_of_batches_have_the_names_of_blender(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    names = [f"a{chr(code)}b" for code in (*range(1, 128), 0xE9, 0x65E5)] + [".", "..", "...", " ", ".a", "a.", "CON", "x.stl"]
    for name in names:
        bpy.context.object.name = name
        for prefix in ("p_.stl", "p.txt", "p", "p.STL"):
            files = []
            for module in (bpy.ops.wm, bpy.ops.polyhaul):
                folder = tmp_path / "out"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                module.stl_export(filepath=str(folder / prefix), use_batch=True)
                files.append([path.name for path in folder.iterdir()])
            assert files[0] == files[1], (name, prefix)


@pytest.mark.parametrize("corners", [255, 256, 300])
def test_polygons_too_long_for_ply_are_cut_as_blender_cuts_them(empty: Any, tmp_path: Path, corners: int) -> None:
    bpy.ops.mesh.primitive_cylinder_add(vertices=corners, end_fill_type="NGON")
    data = bpy.context.object.data
    data.attributes.new("weight", "FLOAT", "POINT").data.foreach_set("value", range(2 * corners))
    data.attributes.new("matrix", "FLOAT4X4", "CORNER")
    colors = data.color_attributes.new("colors", "BYTE_COLOR", "CORNER")
    colors.data.foreach_set("color", [number % 7 / 7 for number in range(4 * len(colors.data))])
    data.color_attributes.active_color_index = 0
    bpy.ops.polyhaul.ply_export(filepath=str(tmp_path / "ours.ply"))
    assert "matrix" in data.attributes
    # Blender crashes.
    data.attributes.remove(data.attributes["matrix"])
    bpy.ops.wm.ply_export(filepath=str(tmp_path / "theirs.ply"))
    assert pairs.content(tmp_path / "ours.ply") == pairs.content(tmp_path / "theirs.ply")


def test_weights_and_loose_edges_of_several_objects_are_kept(empty: Any, tmp_path: Path) -> None:
    """Blender loses the weights of the third object, and takes the edges for those of the first."""
    for number in range(3):
        data = bpy.data.meshes.new("m")
        data.from_pydata([(number, 0, 0), (number, 1, 0), (number, 0, 1), (9, 9, number)], [(0, 3)], [(0, 1, 2)])
        made = bpy.data.objects.new(f"o{number}", data)
        bpy.context.collection.objects.link(made)
        if number != 1:
            made.vertex_groups.new(name="g").add([0, 1, 2], 1.0, "REPLACE")
    bpy.ops.polyhaul.ply_export(filepath=str(tmp_path / "a.ply"), ascii_format=True)
    rows = (tmp_path / "a.ply").read_text().split("end_header\n")[1].splitlines()
    assert [row.split()[3] for row in rows[:12]] == [*"1110", *"0000", *"1110"]
    assert rows[-3:] == ["0 3", "4 7", "8 11"]


def test_materials_are_those_of_the_active_output(empty: Any, tmp_path: Path) -> None:
    """Blender takes the first one."""
    bpy.ops.mesh.primitive_plane_add()
    material = bpy.data.materials.new("m")
    material.use_nodes = True
    bpy.context.object.data.materials.append(material)
    tree = material.node_tree
    output, shader = tree.nodes.new("ShaderNodeOutputMaterial"), tree.nodes.new("ShaderNodeBsdfPrincipled")
    shader.inputs["Base Color"].default_value = (1, 0, 0, 1)
    tree.links.new(shader.outputs[0], output.inputs[0])
    output.is_active_output = True
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"))
    assert b"Kd 1.000000 0.000000 0.000000" in lines(tmp_path / "a.mtl")


def test_hair_stops_no_export(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    hair = bpy.data.hair_curves.new("hair")
    hair.add_curves([3])
    bpy.context.collection.objects.link(bpy.data.objects.new("hair", hair))
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"))
    assert sum(line.startswith(b"f ") for line in lines(tmp_path / "a.obj")) == 6


def test_curves_with_instances_are_exported(empty: Any, tmp_path: Path) -> None:
    """Blender crashes."""
    bpy.ops.curve.primitive_bezier_circle_add()
    kinds.KindFiller(random.Random(1)).nodes(bpy.context.object, "mesh", None)
    for options in ({}, {"apply_modifiers": False}):
        assert bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"), **options) == {"FINISHED"}


def test_splines_become_the_curves_of_blender(empty: Any, tmp_path: Path) -> None:
    """All orders, with all numbers of points."""
    flags = list(itertools.product((False, True), repeat=3))
    for kind, order, count, (cyclic, bezier, ends) in itertools.product(("NURBS", "POLY"), range(2, 6), range(2, 10), flags):
        data = bpy.data.curves.new("c", "CURVE")
        data.dimensions = "3D"
        spline = data.splines.new(kind)
        spline.points.add(count - 1)
        for number, point in enumerate(spline.points):
            point.co = (number, number * number, 0, 1)
        spline.order_u, spline.use_cyclic_u, spline.use_bezier_u, spline.use_endpoint_u = order, cyclic, bezier, ends
        bpy.context.collection.objects.link(bpy.data.objects.new(f"{kind} {order} {count} {cyclic} {bezier} {ends}", data))
    for name, module in (("theirs", bpy.ops.wm), ("ours", bpy.ops.polyhaul)):
        module.obj_export(filepath=str(tmp_path / f"{name}.obj"), export_curves_as_nurbs=True, export_materials=False)
    assert first_difference(lines(tmp_path / "ours.obj"), lines(tmp_path / "theirs.obj")) is None


def test_what_is_being_edited_is_written(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide()
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"))
    assert bpy.context.object.mode == "EDIT"
    assert sum(line.startswith(b"f ") for line in lines(tmp_path / "a.obj")) == 24


def test_colors_of_large_meshes_are_in_srgb(empty: Any, tmp_path: Path) -> None:
    """Even if the ones that are looked at are the same in both spaces."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=80, y_subdivisions=80)
    data = bpy.context.object.data
    colors = data.color_attributes.new("c", "FLOAT_COLOR", "POINT")
    values = [0.25] * (4 * len(data.vertices))
    for at in (0, len(data.vertices) // 2, len(data.vertices) - 1):
        values[4 * at : 4 * at + 4] = [0.0] * 4
    colors.data.foreach_set("color", values)
    data.color_attributes.active_color_index = 0
    for name, module in (("theirs", bpy.ops.wm), ("ours", bpy.ops.polyhaul)):
        module.obj_export(filepath=str(tmp_path / f"{name}.obj"), export_colors=True)
    assert first_difference(lines(tmp_path / "ours.obj"), lines(tmp_path / "theirs.obj")) is None


def test_compressed_names_keep_their_ending(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj.gz"), export_animation=True, start_frame=1, end_frame=1)
    assert [path.name for path in tmp_path.glob("*.obj.gz")] == ["a0001.obj.gz"]


def test_nothing_is_written_if_there_is_nothing(empty: Any, tmp_path: Path) -> None:
    assert bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj")) == {"CANCELLED"}
    assert not list(tmp_path.iterdir())


def test_instances_do_not_overwrite_each_other(empty: Any, tmp_path: Path) -> None:
    scenes.Filler(random.Random(5)).instances()
    bpy.ops.polyhaul.stl_export(filepath=str(tmp_path / "part_.stl"), use_batch=True)
    assert len(list(tmp_path.glob("*.stl"))) == 4


@pytest.mark.parametrize("extension", ["obj", "ply", "stl"])
def test_quads_are_cut_as_blender_cuts_them(empty: Any, tmp_path: Path, extension: str) -> None:
    """Flat ones, bent ones, and such that fold. Where both diagonals are as good, Blender's rounding decides."""
    made = random.Random(FIRST)
    corners = []
    for number in range(8000):
        spread, height = (0.05, 0.2, 0.4, 0.8)[number % 4], (0, 1e-4, 0.3, 1)[number // 4 % 4]
        for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)):
            corners.append((x + made.gauss(0, spread), y + made.gauss(0, spread), made.gauss(0, spread) * height))
    data = bpy.data.meshes.new("quads")
    data.from_pydata(corners, [], [range(4 * number, 4 * number + 4) for number in range(8000)])
    bpy.context.collection.objects.link(bpy.data.objects.new("quads", data))
    for name, module in (("theirs", bpy.ops.wm), ("ours", bpy.ops.polyhaul)):
        export = getattr(module, f"{extension}_export")
        options = {} if extension == "stl" else {"export_triangulated_mesh": True, "export_normals": False}
        export(filepath=str(tmp_path / f"{name}.{extension}"), **options)
    ours, theirs = (tmp_path / f"{name}.{extension}" for name in ("ours", "theirs"))
    if extension != "obj":
        assert pairs.content(ours) == pairs.content(theirs)
    else:
        assert first_difference(lines(ours), lines(theirs)) is None


def test_names_that_meet_get_numbers(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    active = bpy.context.object
    for name in ("a b", "a_b"):
        active.data.attributes.new(name, "FLOAT", "POINT")
    active.vertex_groups.new(name="a b")
    bpy.ops.polyhaul.ply_export(filepath=str(tmp_path / "a.ply"), ascii_format=True)
    header = (tmp_path / "a.ply").read_text().split("end_header")[0]
    assert [name for name in ("a_b", "a_b_1", "a_b_2") if f"property float {name}\n" in header] == ["a_b", "a_b_1", "a_b_2"]


def test_attributes_are_exported_to_ply(empty: Any, tmp_path: Path) -> None:
    """All types."""
    bpy.ops.mesh.primitive_cube_add()
    data = bpy.context.object.data
    data.uv_layers.remove(data.uv_layers.active)
    kinds = ("FLOAT", "INT", "INT8", "BOOLEAN", "FLOAT2", "FLOAT_VECTOR", "INT16_2D", "INT32_2D", "QUATERNION", "FLOAT_COLOR")
    for number, kind in enumerate(kinds):
        field = {"FLOAT2": "vector", "FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}.get(kind, "value")
        values = data.attributes.new(f"a {kind}", kind, "POINT").data
        width = {"FLOAT2": 2, "INT16_2D": 2, "INT32_2D": 2, "FLOAT_VECTOR": 3, "QUATERNION": 4, "FLOAT_COLOR": 4}.get(kind, 1)
        values.foreach_set(field, [(number + at) % 2 for at in range(8 * width)])
    columns = []
    for name, module in (("theirs", bpy.ops.wm), ("ours", bpy.ops.polyhaul)):
        path = tmp_path / f"{name}.ply"
        module.ply_export(filepath=str(path), ascii_format=True, export_colors="NONE")
        header, rows = path.read_text().split("end_header\n")
        names = [line[15:].replace(" ", "_") for line in header.splitlines() if line.startswith("property float")]
        values = [line.split() for line in rows.splitlines()[:8]]
        columns.append({name: [row[at] for row in values] for at, name in enumerate(names)})
    assert columns[0] == columns[1]


@pytest.mark.parametrize("extension", ["ply", "stl"])
def test_meshes_come_back_from_other_formats(empty: Any, tmp_path: Path, extension: str) -> None:
    """What Blender's own importer makes of both files: the same triangles, in whatever order of vertices."""
    import numpy as np

    bpy.ops.mesh.primitive_monkey_add(location=(1, 2, 3), rotation=(0.3, 0.2, 0.1), scale=(1, 2, -1))
    counts = {}
    for name, module in (("theirs", bpy.ops.wm), ("ours", bpy.ops.polyhaul)):
        path = str(tmp_path / f"{name}.{extension}")
        getattr(module, f"{extension}_export")(filepath=path)
        getattr(bpy.ops.wm, f"{extension}_import")(filepath=path)
        data = bpy.context.object.data
        bpy.data.objects.remove(bpy.context.object)
        corners = np.empty(len(data.loops), np.int32)
        data.attributes[".corner_vert"].data.foreach_get("value", corners)
        positions = np.empty(3 * len(data.vertices), np.float32)
        data.attributes["position"].data.foreach_get("vector", positions)
        area = sum(face.area for face in data.polygons)
        counts[name] = (len(data.polygons), area, positions.reshape(-1, 3).min(axis=0), positions.reshape(-1, 3).max(axis=0))
    # Quads are cut along other diagonals, which leaves one triangle more or less without area.
    assert abs(counts["ours"][0] - counts["theirs"][0]) <= 2
    # The area of bent quads depends on the diagonal.
    for ours, theirs, tolerance in zip(counts["ours"][1:], counts["theirs"][1:], (1e-2, 1e-5, 1e-5), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=1e-5)
