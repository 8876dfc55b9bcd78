"""Exports by Blender and by polyhaul, compared: with which options, and what differs on purpose."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

AXES = ["X", "Y", "Z", "NEGATIVE_X", "NEGATIVE_Y", "NEGATIVE_Z"]
#: Values of the options of each format that are not defaults.
VALUES: dict[str, dict[str, list[Any]]] = {
    "obj": {
        "global_scale": [0.0001, 0.01, 37.25, 10000.0],
        "apply_modifiers": [False],
        "apply_transform": [False],
        "export_eval_mode": ["DAG_EVAL_RENDER"],
        "export_selected_objects": [True],
        "export_uv": [False],
        "export_normals": [False],
        "export_colors": [True],
        "export_materials": [False],
        "export_pbr_extensions": [True],
        "path_mode": ["ABSOLUTE", "RELATIVE", "MATCH", "STRIP", "COPY"],
        "export_triangulated_mesh": [True],
        "export_curves_as_nurbs": [True],
        "export_object_groups": [True],
        "export_material_groups": [True],
        "export_vertex_groups": [True],
        "export_smooth_groups": [True],
        "smooth_group_bitflags": [True],
        "export_animation": [True],
    },
    "ply": {
        "global_scale": [0.0001, 0.01, 37.25, 10000.0],
        "apply_modifiers": [False],
        "export_selected_objects": [True],
        "export_uv": [False],
        "export_normals": [True],
        "export_colors": ["NONE", "LINEAR"],
        "export_attributes": [False],
        "export_triangulated_mesh": [True],
        "ascii_format": [True],
    },
    "stl": {
        "global_scale": [1e-6, 0.01, 37.25, 1e6],
        "apply_modifiers": [False],
        "export_selected_objects": [True],
        "use_scene_unit": [True],
        "use_batch": [True],
        "ascii_format": [True],
    },
}


def variations(extension: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    """The options to compare: each value of each option alone, all axes, all collections, and mixtures."""
    values = VALUES[extension]
    yield {}
    for name, choices in values.items():
        for choice in choices:
            yield {name: choice} | ({"export_smooth_groups": True} if name == "smooth_group_bitflags" else {})
    for forward, up in itertools.product(AXES, AXES):
        if forward[-1] != up[-1]:
            yield {"forward_axis": forward, "up_axis": up}
    for collection in bpy.data.collections:
        yield {"collection": collection.name}
    for _ in range(12):
        yield {name: rng.choice(values[name]) for name in rng.sample(sorted(values), 4)}


def survived(extension: str, options: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The options without those that Blender 5.0.1 crashes on, or writes memory that is nobody's for."""
    if extension == "obj":
        return options | ({"start_frame": 1, "end_frame": 3} if options.get("export_animation") else {})
    shown = [
        (
            (instance.parent if instance.is_instance else instance.object).original.name,
            instance.object.original.type,
            abs(instance.matrix_world.to_3x3().determinant()),
        )
        for instance in bpy.context.evaluated_depsgraph_get().object_instances
        if instance.object.type == "MESH"
    ]
    if any(kind != "MESH" for _, kind, _ in shown):
        options = without(options, "apply_modifiers")
    if any(volume < 1e-15 for _, _, volume in shown):
        # Of a matrix whose determinant is 0 but for rounding, the inverse is noise.
        options = without(options, "export_normals")
    if extension == "stl" or len(shown) < 2:
        return options
    # With several objects, Blender reads and writes past the uvs and the weights of those that have none.
    owners = Counter(name for name, _, _ in shown)
    singles = [name for name, count in owners.items() if count == 1]
    if options.get("collection") or not singles or rng.random() < 0.3:
        return options | {"export_uv": False, "export_attributes": False, "export_colors": "NONE"}
    chosen = rng.choice(singles)
    for item in bpy.context.view_layer.objects:
        item.select_set(item.name == chosen)
    return options | {"export_selected_objects": True}


def without(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in options.items() if other != name}


def export(module: Any, extension: str, folder: Path, options: dict[str, Any]) -> dict[str, bytes]:
    """The files that an operator writes into a new folder, without comments."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    getattr(module, f"{extension}_export")(filepath=str(folder / f"x.{extension}"), **options)
    return {path.name: content(path) for path in sorted(folder.iterdir())}


def content(path: Path) -> bytes:
    """The content of a file without comments."""
    content = path.read_bytes()
    if path.suffix == ".stl":
        return content if content.startswith(b"solid") else content[80:]
    if path.suffix == ".ply":
        header, rows = content.split(b"end_header\n", 1)
        return b"\n".join(line for line in header.split(b"\n") if not line.startswith(b"comment")) + b"end_header\n" + rows
    return b"\n".join(line for line in content.split(b"\n") if not line.startswith(b"# "))


def verdict(extension: str, options: dict[str, Any], theirs: dict[str, bytes], ours: dict[str, bytes]) -> str:
    """``equal``, the reason that the guide gives for the difference, or ``other``."""
    if theirs == ours:
        return "equal"
    if options.get("export_eval_mode"):
        # Both are Blender's, which does not evaluate all modifiers in the same way twice.
        return "as rendered" if theirs.keys() == ours.keys() else "other"
    if not ours and all(is_empty(content) for content in theirs.values()):
        return "nothing to export"
    if options.get("use_batch") and theirs.keys() < ours.keys():
        # Blender's text goes on where a longer one was before.
        is_last = [content.startswith(last(ours, name)) for name, content in theirs.items()]
        return "names of batches" if all(is_last) else "other"
    if theirs.keys() != ours.keys():
        return "other"
    reasons = {reason(options, theirs[name], ours[name]) for name in ours if theirs[name] != ours[name]}
    return next(iter(reasons)) if len(reasons) == 1 else "other" if "other" in reasons else "several"


def is_empty(content: bytes) -> bool:
    """Whether a file has no geometry."""
    if content.startswith(b"ply"):
        return b"element vertex 0\n" in content
    return content in (bytes(4), b"solid \nendsolid \n") or not re.search(rb"^(v|o|g) ", content, re.MULTILINE)


def last(files: dict[str, bytes], name: str) -> bytes | None:
    """The last of the files of one name, which is the one that Blender leaves."""
    stem, extension = name.rsplit(".", 1)
    numbered = [found for found in files if re.fullmatch(re.escape(stem) + r"_\d+\." + extension, found)]
    return files[max(numbered, key=lambda found: int(found[len(stem) + 1 : -len(extension) - 1]))] if numbered else files[name]


def reason(options: dict[str, Any], theirs: bytes, ours: bytes) -> str:
    """Why two files differ."""
    if theirs.startswith(b"ply"):
        if words(theirs) == ours:
            return "spaces in names"
        if without_edges(words(theirs)) == without_edges(ours):
            return "loose edges"
        if options.get("export_triangulated_mesh") and properties(theirs) == properties(ours):
            return "triangulated"
        return "other"
    if options.get("export_triangulated_mesh"):
        (lines, loose), (our_lines, our_loose) = outline(theirs, options), outline(ours, options)
        # Blender drops triangles that are there twice, and their edges become loose.
        return "triangulated" if lines == our_lines and our_loose <= loose else "other"
    return "other"


def words(content: bytes) -> bytes:
    """A PLY file with underscores for spaces in names."""
    header, rows = content.split(b"end_header\n", 1)
    spaced = re.sub(rb"(?m)^(property float )(.*)$", lambda line: line[1] + line[2].replace(b" ", b"_"), header)
    return spaced + b"end_header\n" + rows


def without_edges(content: bytes) -> bytes:
    """A PLY file without its edges, which are last."""
    header, rows = content.split(b"end_header\n", 1)
    count = re.search(rb"element edge (\d+)", header)
    if not count:
        return content
    if b"format ascii" in header:
        return header + b"\n".join(rows.split(b"\n")[: -int(count[1]) - 1])
    return header + rows[: len(rows) - 8 * int(count[1])]


def properties(content: bytes) -> list[bytes]:
    """The properties of vertices and faces in a PLY file: numbers of vertices depend on uvs, and of edges on faces."""
    header = words(content).split(b"end_header\n", 1)[0]
    return re.findall(rb"(?m)^property .*$", header.split(b"element edge", 1)[0])


def outline(content: bytes, options: dict[str, Any]) -> tuple[list[bytes], Counter[bytes]]:
    """The positions, objects, groups, materials and lines of an OBJ file: all that triangles do not decide."""
    lines = content.split(b"\n")
    kinds = (b"v ", b"o ") if options.get("export_vertex_groups") else (b"v ", b"o ", b"g ")
    # Colors of corners are averaged over the triangles in Blender.
    named = [b" ".join(line.split(b" ")[:4]) if line[:2] == b"v " else line for line in lines if line[:2] in kinds]
    return named, Counter(line for line in lines if line[:2] in (b"us", b"l "))
