"""Exports scenes of fresh seeds with Blender's own exporter and with ours, and compares bytes."""
from __future__ import annotations
import os, sys, random
from pathlib import Path
from types import SimpleNamespace
import bpy, polyhaul
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent)); sys.path.insert(0, str(HERE))
import scenes
from blender import gathering

DEFAULTS = dict(forward_axis="NEGATIVE_Z", up_axis="Y", global_scale=1.0, export_uv=True, export_normals=True, export_colors=False, export_materials=True,
  export_pbr_extensions=False, export_triangulated_mesh=False, export_curves_as_nurbs=False, export_object_groups=False, export_material_groups=False,
  export_vertex_groups=False, export_smooth_groups=False, smooth_group_bitflags=False)
HOST = dict(apply_modifiers=True, apply_transform=True, export_selected_objects=False, path_mode="AUTO", collection="", linear_colors=False)
SETS = [
 {}, dict(export_uv=False), dict(export_normals=False), dict(export_materials=False), dict(export_colors=True), dict(export_object_groups=True),
 dict(export_material_groups=True), dict(export_vertex_groups=True), dict(export_smooth_groups=True), dict(export_smooth_groups=True, smooth_group_bitflags=True),
 dict(forward_axis="Y", up_axis="Z"), dict(global_scale=0.01), dict(export_pbr_extensions=True), dict(export_selected_objects=True), dict(apply_modifiers=False),
 dict(export_curves_as_nurbs=True), dict(apply_transform=False), dict(export_uv=False, export_normals=False, export_vertex_groups=True, export_material_groups=True),
]
def body(path):
    if not path.exists(): return None
    return [l for l in path.read_bytes().split(b"\n") if not l.startswith((b"# ", b"mtllib"))]
def main(first, count):
    folder = Path("/dev/shm/bp/par"); folder.mkdir(exist_ok=True)
    bad = 0
    for seed in range(first, first+count):
        scenes.fill(seed)
        for chosen in SETS:
            [f.unlink() for f in folder.glob("*")]
            bpy.ops.wm.obj_export(filepath=str(folder/"a.obj"), **chosen)
            options = DEFAULTS | HOST | chosen
            scene = gathering.gather(bpy.context.evaluated_depsgraph_get(), SimpleNamespace(filepath=str(folder/"b.obj"), **options))
            polyhaul.write(scene, folder/"b.obj", **{k: options[k] for k in DEFAULTS if k!="export_curves_as_nurbs"})
            for ext in ("obj","mtl"):
                a, b = body(folder/f"a.{ext}"), body(folder/f"b.{ext}")
                if a != b and (scene.objects or a is not None):
                    bad += 1
                    where = "missing" if a is None or b is None else next(((n,x,y) for n,(x,y) in enumerate(zip(a,b),1) if x!=y), (len(a),len(b)))
                    print("DIFF", seed, chosen, ext, where)
    print("differing", bad)
main(int(sys.argv[1]), int(sys.argv[2]))
