"""polyhaul inside other programs: Blender's own operators against the extension's, and readers of PyVista, trimesh and meshio
against those that polyhaul puts in their place.

`inside.py blender [ROUNDS]` needs Blender's Python (`bpy`) and the wheel; it imports the extension from `blender/`.
`inside.py readers FOLDER [ROUNDS]` needs the wheel, `polyhaul-pyvista`, trimesh and meshio, and makes its files in FOLDER.
Both alternate the two sides and print rows of a table in Markdown: seconds as minimum / median, and for Blender the memory
that each side takes in addition.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def extra_memory(work: Callable[[], object]) -> float:
    """MiB at the peak of some work above what was there before; 0 where the system does not say."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        work()
        return (status("VmHWM") - before) / 1024
    except OSError:
        return 0.0


def status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def row(name: str, theirs: list[float], ours: list[float], memory: tuple[float, float] | None = None) -> None:
    def shown(times: list[float]) -> str:
        return f"{min(times):.3f} / {sorted(times)[len(times) // 2]:.3f}"

    middle = sorted(theirs)[len(theirs) // 2] / sorted(ours)[len(ours) // 2]
    memory_cells = f" {memory[0]:.0f} | {memory[1]:.0f} |" if memory else ""
    print(f"| {name} | {shown(theirs)} | {shown(ours)} | {min(theirs) / min(ours):.1f}× | {middle:.1f}× |{memory_cells}", flush=True)


def alternate(
    name: str, rounds: int, before: Callable[[], object], theirs: Callable[[], object], ours: Callable[[], object]
) -> None:
    """Times both sides in turn, each after the same preparation, and then takes their memory once."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for side, work in enumerate((theirs, ours)):
            before()
            times[side].append(seconds(work))
    peaks = []
    for work in (theirs, ours):
        before()
        peaks.append(extra_memory(work))
    row(name, *times, (peaks[0], peaks[1]))


def blender(rounds: int) -> None:
    import bpy

    sys.path.insert(0, str(ROOT / "surfaces"))
    import blender as extension

    def empty() -> None:
        bpy.ops.wm.read_factory_settings(use_empty=True)

    def monkey(levels: int) -> None:
        empty()
        bpy.ops.mesh.primitive_monkey_add()
        if levels:
            bpy.context.object.modifiers.new("subdivide", "SUBSURF").levels = levels
            bpy.ops.object.modifier_apply(modifier="subdivide")
        bpy.ops.object.shade_smooth()
        bpy.context.object.data.materials.append(bpy.data.materials.new("M"))

    def many(count: int, levels: int) -> None:
        monkey(levels)
        first = bpy.context.object
        for number in range(1, count):
            copy = first.copy()
            copy.data = first.data.copy()
            copy.location = (number % 50 * 3, number // 50 * 3, 0)
            bpy.context.collection.objects.link(copy)

    extension.register()
    print("| | Blender, s | polyhaul, s | min | median | Blender, MiB | polyhaul, MiB |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    scenes = {
        "a mesh of 125,952 quads": lambda: monkey(4),
        "a mesh of 503,808 quads": lambda: monkey(5),
        "a mesh of 2,015,232 quads": lambda: monkey(6),
        "2,000 objects of 500 faces": lambda: many(2000, 0),
        "777 objects of 1,968 faces": lambda: many(777, 1),
    }
    calls(rounds, monkey)
    own_calls(rounds, monkey)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name, make in scenes.items():
            for kind in ("obj", "ply", "stl"):
                make()
                paths = [str(Path(folder, f"{side}.{kind}")) for side in ("theirs", "ours")]
                exports = getattr(bpy.ops.wm, f"{kind}_export"), getattr(bpy.ops.polyhaul, f"{kind}_export")
                alternate(
                    f"export {kind.upper()}, {name}", rounds, lambda: None,
                    lambda: exports[0](filepath=paths[0]), lambda: exports[1](filepath=paths[1]),
                )
                imports = getattr(bpy.ops.wm, f"{kind}_import"), getattr(bpy.ops.polyhaul, f"{kind}_import")
                size = Path(paths[0]).stat().st_size / 1e6
                alternate(
                    f"import {kind.upper()}, {size:.0f} MB, {name}", rounds, empty,
                    lambda: imports[0](filepath=paths[0]), lambda: imports[1](filepath=paths[0]),
                )


def calls(rounds: int, monkey: Callable[[int], None]) -> None:
    """Calls of Blender that the importer does without, on a mesh of two million quads."""
    import bpy
    import numpy as np
    import polyhaul

    monkey(6)
    data = bpy.context.object.data
    arrays = {"position": np.empty(3 * len(data.vertices), np.float32), ".corner_vert": np.empty(len(data.loops), np.int32)}
    data.attributes["position"].data.foreach_get("vector", arrays["position"])
    data.attributes[".corner_vert"].data.foreach_get("value", arrays[".corner_vert"])
    mesh = polyhaul.Mesh(arrays["position"], arrays[".corner_vert"].reshape(-1, 4))
    normals = np.zeros((len(data.loops), 3), np.float32)
    normals[:, 2] = 1

    def attribute() -> None:
        data.attributes.new("custom_normal", "FLOAT_VECTOR", "CORNER").data.foreach_set("vector", normals.reshape(-1))

    def no_normals() -> None:
        if "custom_normal" in data.attributes:
            data.attributes.remove(data.attributes["custom_normal"])

    alternate("validate / has_clean_faces", rounds, lambda: None, data.validate, mesh.has_clean_faces)
    encode = partial(data.normals_split_custom_set, normals)
    alternate("normals_split_custom_set / attribute", 1, no_normals, encode, attribute)
    scene = polyhaul.Scene()
    scene.add(mesh)

    def no_edges() -> None:
        data.edges.foreach_set("select", np.zeros(len(data.edges), np.bool_))

    update = partial(data.update, calc_edges=True)
    alternate("update(calc_edges) / edges of parts", rounds, no_edges, update, lambda: next(scene.parts()).edges)


def own_calls(rounds: int, monkey: Callable[[int], None]) -> None:
    """What Blender itself takes for 2,000 objects: to make them of arrays that are there, and to hand out their arrays."""
    import bpy
    import numpy as np

    monkey(0)
    data = bpy.context.object.data
    fields = {"position": ("vector", np.float32, 3), ".corner_vert": ("value", np.int32, 1), ".edge_verts": ("value", np.int32, 2)}
    fields[".corner_edge"] = ("value", np.int32, 1)

    def taken(data: object) -> dict[str, np.ndarray]:
        arrays = {}
        for name, (field, dtype, width) in fields.items():
            values = data.attributes[name].data
            arrays[name] = np.empty(len(values) * width, dtype)
            values.foreach_get(field, arrays[name])
        return arrays

    arrays, uvs = taken(data), np.zeros(2 * len(data.loops), np.float32)
    starts = np.empty(len(data.polygons), np.int32)
    data.polygons.foreach_get("loop_start", starts)

    def make() -> None:
        for number in range(2000):
            made = bpy.data.meshes.new(f"made {number}")
            made.vertices.add(len(arrays["position"]) // 3)
            made.loops.add(len(arrays[".corner_vert"]))
            made.polygons.add(len(starts))
            made.edges.add(len(arrays[".edge_verts"]) // 2)
            made.polygons.foreach_set("loop_start", starts)
            for name, (field, *_) in fields.items():
                made.attributes[name].data.foreach_set(field, arrays[name])
            made.uv_layers.new(name="UVMap", do_init=False).uv.foreach_set("vector", uvs)
            made.update()
            bpy.context.collection.objects.link(bpy.data.objects.new(made.name, made))
        bpy.context.view_layer.update()

    def take() -> None:
        for shown in bpy.context.evaluated_depsgraph_get().object_instances:
            taken(shown.object.data)

    times: dict[str, list[float]] = {"made": [], "read": []}
    for _ in range(rounds):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        times["made"].append(seconds(make))
        times["read"].append(seconds(take))
    for name, own_seconds in times.items():
        print(f"2,000 objects of 500 faces, {name} by Blender's own calls: {min(own_seconds):.3f} / {sorted(own_seconds)[rounds // 2]:.3f} s", flush=True)


def readers(folder: Path, rounds: int) -> None:
    import meshio
    import polyhaul
    import pyvista
    import trimesh

    sphere = pyvista.Sphere(theta_resolution=400, phi_resolution=400)
    plain = polyhaul.Mesh(sphere.points, sphere.regular_faces)
    print("| | its own reader, s | polyhaul, s | min | median |\n| --- | ---: | ---: | ---: | ---: |")
    readers_of_pyvista = {"obj": pyvista.OBJReader, "ply": pyvista.PLYReader, "stl": pyvista.STLReader}
    for kind, reader in readers_of_pyvista.items():
        path = folder / f"sphere.{kind}"
        sphere.save(path)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            times[0].append(seconds(lambda: reader(path).read()))
            times[1].append(seconds(lambda: pyvista.read(path)))
        row(f"PyVista, {kind.upper()}, {path.stat().st_size / 1e6:.0f} MB", *times)
    plain_files = {f"plain.{kind}": {} for kind in ("obj", "ply", "stl")}
    text_files = {f"text.{kind}": {"ascii": True} for kind in ("ply", "stl")}
    for name, options in (plain_files | text_files).items():
        polyhaul.write(plain, folder / name, **options)
        for library in (trimesh.load_scene, meshio.read):
            compare_accelerated(folder / name, library, rounds)


def compare_accelerated(path: Path, library: Callable[[Path], object], rounds: int) -> None:
    """Times a library's own reader and the one that polyhaul puts in its place."""
    import polyhaul

    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(seconds(lambda: library(path)))
        polyhaul.accelerate()
        times[1].append(seconds(lambda: library(path)))
        polyhaul.accelerate(False)
    kind = path.suffix[1:].upper() + (" as text" if path.stem == "text" else "")
    row(f"{library.__module__.split('.')[0]}, {kind}, {path.stat().st_size / 1e6:.0f} MB", *times)


def main(args: list[str]) -> None:
    match args:
        case ["blender", *rounds]:
            blender(int(rounds[0]) if rounds else 5)
        case ["readers", folder, *rounds]:
            readers(Path(folder), int(rounds[0]) if rounds else 5)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
