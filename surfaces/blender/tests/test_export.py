"""The bytes are those of Blender's own exporter, for scenes that nobody has seen before."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import addon_utils
import bpy
import pytest
import scenes

#: Another number gives other scenes.
FIRST = int(os.environ.get("POLYHAUL_SEED", "1000"))
SEEDS = range(FIRST, FIRST + 12)

OPTIONS: list[dict[str, Any]] = [
    {},
    {"export_uv": False},
    {"export_normals": False},
    {"export_materials": False},
    {"export_colors": True},
    {"export_object_groups": True},
    {"export_material_groups": True},
    {"export_vertex_groups": True},
    {"export_smooth_groups": True},
    {"export_smooth_groups": True, "smooth_group_bitflags": True},
    {"forward_axis": "Y", "up_axis": "Z"},
    {"forward_axis": "NEGATIVE_X", "up_axis": "Y", "global_scale": 37.25},
    {"global_scale": 0.01},
    {"export_pbr_extensions": True},
    {"export_selected_objects": True},
    {"apply_modifiers": False},
    {"export_curves_as_nurbs": True},
    {"export_uv": False, "export_normals": False, "export_vertex_groups": True, "export_material_groups": True},
]


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


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bytes_are_those_of_blender(addon: Any, tmp_path: Path, seed: int) -> None:
    scenes.fill(seed)
    addon_utils.enable("bl_ext.user_default.polyhaul")
    for number, options in enumerate(OPTIONS):
        if "apply_transform" in bpy.ops.wm.obj_export.get_rna_type().properties and number % 3 == 0:
            options = options | {"apply_transform": number % 2 == 0}
        theirs, ours = tmp_path / f"theirs{number}.obj", tmp_path / f"ours{number}.obj"
        bpy.ops.wm.obj_export(filepath=str(theirs), **options)
        bpy.ops.polyhaul.obj_export(filepath=str(ours), **options)
        for extension in (".obj", ".mtl"):
            difference = first_difference(lines(ours.with_suffix(extension)), lines(theirs.with_suffix(extension)))
            # With nothing to export, Blender writes a library without a file.
            assert difference is None or (not lines(theirs) and not ours.exists()), (seed, options, extension, difference)


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


def test_render_evaluation_is_left_to_blender(empty: Any, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.hide_viewport = True
    bpy.ops.polyhaul.obj_export(filepath=str(tmp_path / "a.obj"), export_eval_mode="DAG_EVAL_RENDER")
    assert any(line.startswith(b"v ") for line in lines(tmp_path / "a.obj"))


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


#: Options of the other formats. Text is compared in polyhaul's own tests: exponents look different there.
OTHERS: dict[str, list[dict[str, Any]]] = {
    "stl": [{}, {"apply_modifiers": False}, {"forward_axis": "X", "up_axis": "Y", "global_scale": 2.5}],
    "ply": [
        {},
        {"export_uv": False},
        {"export_normals": True},
        {"export_colors": "LINEAR"},
        {"export_colors": "NONE", "export_attributes": False},
        {"forward_axis": "X", "up_axis": "Y", "global_scale": 2.5, "apply_modifiers": False},
    ],
}


def comparable(path: Path) -> bytes:
    """A file without what differs on purpose: comments, and spaces in the names of PLY, which would split them."""
    content = path.read_bytes()
    if path.suffix == ".stl":
        return content[80:]
    header, rows = content.split(b"end_header\n", 1)
    words = [line.split(b" ") for line in header.split(b"\n") if not line.startswith(b"comment")]
    named = [[*line[:2], b"_".join(line[2:])] if line[:2] == [b"property", b"float"] else line for line in words]
    return b"\n".join(b" ".join(line) for line in named) + rows


def is_known(extension: str, item: Any, options: dict[str, Any]) -> bool:
    """Whether Blender's bytes can be had: its cuts of polygons of five and more corners, and normals of objects without
    a volume, are unknown."""
    shown = item.evaluated_get(bpy.context.evaluated_depsgraph_get())
    if extension == "stl" and any(face.loop_total > 4 for data in (item.data, shown.data) for face in data.polygons):
        return False
    return "export_normals" not in options or abs(shown.matrix_world.to_3x3().determinant()) > 1e-15


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("extension", OTHERS)
def test_the_bytes_of_other_formats_are_those_of_blender(addon: Any, tmp_path: Path, extension: str, seed: int) -> None:
    """Object by object: of objects with and without uvs in one PLY file, Blender mixes up the uvs."""
    scenes.fill(seed)
    addon_utils.enable("bl_ext.user_default.polyhaul")
    compared = 0
    for item in [item for item in bpy.context.scene.objects if item.type == "MESH"]:
        bpy.ops.object.select_all(action="DESELECT")
        item.select_set(True)
        for options in OTHERS[extension]:
            if not is_known(extension, item, options):
                continue
            paths = [tmp_path / f"{module}.{extension}" for module in ("wm", "polyhaul")]
            for module, path in zip((bpy.ops.wm, bpy.ops.polyhaul), paths, strict=True):
                export = getattr(module, f"{extension}_export")
                assert export(filepath=str(path), export_selected_objects=True, **options) == {"FINISHED"}
            theirs, ours = map(comparable, paths)
            assert ours == theirs, (seed, item.name, options)
            compared += 1
    assert compared


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
        assert comparable(ours) == comparable(theirs)
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
    """All types, in whatever order: that of Blender is that of its hash table."""
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


@pytest.mark.parametrize("extension", OTHERS)
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
