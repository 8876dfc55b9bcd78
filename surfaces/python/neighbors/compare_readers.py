"""Compares what PyVista, trimesh and meshio read by themselves with what they read with polyhaul in their place.

    python compare_readers.py FOLDER

reads every OBJ, PLY, STL and OFF file in FOLDER with each library that has a reader for it, twice, and compares everything that
comes out: arrays bit for bit with their types and shapes, names and their order, active arrays, metadata, materials and scene graphs;
also with the keywords of trimesh's loaders. It prints one line for each pair that is not equal, and counts: equal, fallback to the
library's own reader (with the reason), rejected by the library itself, different.
"""

from __future__ import annotations

import contextlib
import io
import logging
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import meshio
import numpy as np
import polyhaul
import polyhaul_pyvista
import pyvista
import trimesh

#: The formats that each library reads, by the endings of files.
FORMATS = {"trimesh": ("obj", "ply", "stl", "off"), "meshio": ("obj", "ply", "stl", "off"), "pyvista": ("obj", "ply", "stl")}

#: Keywords of trimesh's loaders.
KEYWORDS: tuple[dict[str, Any], ...] = (
    {},
    {"process": False},
    {"validate": True},
    {"maintain_order": True, "process": False},
    {"split_objects": True},
    {"split_groups": True, "group_material": False},
    {"group_material": False},
    {"skip_materials": True},
    {"prefer_color": "face"},
    {"fix_texture": False},
    {"metadata": {"origin": "here"}},
)


class Outcome(NamedTuple):
    """How the two sides compare: ``"equal"``, ``"fallback"``, ``"rejected"`` or ``"different"``, and why."""

    status: str
    reason: str = ""


def compare(path: Path, library: str) -> Outcome:
    """Reads a file with a library, with polyhaul and without, and compares the results."""
    expected = [attempt(read) for read in calls(path, library)]
    if difference(expected, [attempt(read) for read in calls(path, library)], "") is not None:
        return Outcome("rejected", "results that differ from call to call")
    with accelerated(library), log() as records:
        found = [attempt(read) for read in calls(path, library, is_fast=True)]
    if expected[0][0] == "error" and found[0] == expected[0]:
        return Outcome("rejected", str(expected[0][1]))
    reasons = [record.split("fallback: ")[1] for record in records if "fallback" in record]
    if len(reasons) == len(expected):
        return Outcome("fallback", reasons[0])
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if (place := difference(theirs, ours, f"call {number}")) is not None:
            return Outcome("different", place)
    if reasons:
        return Outcome("fallback", reasons[0])
    return Outcome("equal") if records else Outcome("fallback", "not called")


def compare_all(paths: list[Path], library: str) -> Iterator[Outcome]:
    """Compares files in another process, and in a new one after each file for which a library's own reader crashes."""
    rest = paths
    while rest:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=send_outcomes, args=(rest, library, sender))
        process.start()
        sender.close()
        count = 0
        with contextlib.suppress(EOFError):
            for _ in rest:
                yield receiver.recv()
                count += 1
        process.join()
        if count < len(rest):
            yield Outcome("rejected", "crash")
        rest = rest[count + 1 :]


def send_outcomes(paths: list[Path], library: str, sender: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # VTK writes its errors there
    for path in paths:
        sender.send(compare(path, library))


def calls(path: Path, library: str, is_fast: bool = False) -> list[Callable[[], Any]]:
    """The ways in which a file is read."""
    if library == "meshio":
        return [lambda: meshio.read(path)]
    if library == "trimesh":
        return [lambda keywords=keywords: trimesh.load_scene(path, **keywords) for keywords in KEYWORDS]
    kind = path.suffix[1:].lower()
    if is_fast:
        return [lambda: getattr(polyhaul_pyvista, f"read_{kind}")(str(path))]
    own = {"obj": pyvista.OBJReader, "ply": pyvista.PLYReader, "stl": pyvista.STLReader}[kind]
    return [lambda: own(path).read()]


def attempt(read: Callable[[], Any]) -> Any:
    """What a call returns, as plain things; or the type of its error."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            result = read()
        except (Exception, SystemExit) as error:
            return "error", type(error).__name__
        return "result", plain(result)


@contextlib.contextmanager
def accelerated(library: str) -> Iterator[None]:
    """polyhaul in place of the readers of trimesh and meshio."""
    if library != "pyvista":
        polyhaul.accelerate()
    try:
        yield
    finally:
        polyhaul.accelerate(False)


@contextlib.contextmanager
def log() -> Iterator[list[str]]:
    """The messages of ``polyhaul.accelerate``."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("polyhaul.accelerate"), Collector()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def plain(value: Any) -> Any:
    """A value as dicts, lists and bytes: all that makes a difference to somebody who uses it."""
    if isinstance(value, np.ndarray):
        return plain_array(value)
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return {"keys": [str(key) for key in value], **{str(key): plain(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    for kind, describe in PLAIN.items():
        if type(value).__name__ == kind:
            return {"type": kind, **{name: plain(item) for name, item in describe(value).items()}}
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return value if value == value else "nan"
    return type(value).__name__


def plain_array(array: Any) -> Any:
    if array.dtype.hasobject:
        return "object", array.shape, [plain(item) for item in array.reshape(-1).tolist()]
    kind = array.dtype.str if array.dtype.names is None else str(array.dtype)
    return kind, array.shape, "writable" if array.flags.writeable else READ_ONLY, np.ascontiguousarray(array).tobytes()


#: Arrays of polyhaul may be writable where those of a library are not.
READ_ONLY = "read-only"


def of_trimesh(mesh: Any) -> dict[str, Any]:
    return {
        "metadata": mesh.metadata,
        "data": {name: mesh._data[name] for name in ("vertices", "faces") if name in mesh._data},
        "normals": {name: mesh._cache.cache.get(name) for name in ("vertex_normals", "face_normals")},
        "visual": mesh.visual,
        "vertex_attributes": dict(mesh.vertex_attributes),
        "face_attributes": dict(mesh.face_attributes),
        "file_type": mesh._source.file_type,
    }


def of_vtk(data: Any) -> dict[str, Any]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    def arrays(fields: Any) -> dict[str, Any]:
        every = [fields.GetAbstractArray(number) for number in range(fields.GetNumberOfArrays())]
        return {array.GetName(): values(array) for array in every}

    def values(array: Any) -> Any:
        is_text = array.GetClassName() == "vtkStringArray"
        return [array.GetValue(at) for at in range(array.GetNumberOfValues())] if is_text else vtk_to_numpy(array)

    def active(fields: Any) -> dict[str, Any]:
        found = {kind: fields.GetAbstractAttribute(number) for number, kind in ACTIVE.items()}
        return {kind: None if array is None else array.GetName() for kind, array in found.items()}

    def cells(array: Any) -> Any:
        return vtk_to_numpy(array.GetOffsetsArray()).astype(np.int64), vtk_to_numpy(array.GetConnectivityArray()).astype(np.int64)

    return {
        "points": np.array(data.points),
        **{name: cells(getattr(data, f"Get{name}")()) for name in ("Verts", "Lines", "Polys", "Strips")},
        **{name: arrays(getattr(data, f"Get{name}")()) for name in ("PointData", "CellData", "FieldData")},
        **{f"active {name}": active(getattr(data, f"Get{name}")()) for name in ("PointData", "CellData")},
    }


#: The attributes of VTK that are active arrays.
ACTIVE = {0: "scalars", 1: "vectors", 2: "normals", 3: "texture coordinates"}


def of_field_data(fields: Any) -> dict[str, Any]:
    return {name: np.array(fields[name]) for name in fields.keys()}


#: By the name of a type, what of it is compared.
PLAIN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Scene": lambda scene: {
        "geometry": dict(scene.geometry),
        "graph": scene.graph.to_edgelist(),
        "nodes": list(scene.graph.nodes),
        "base_frame": scene.graph.base_frame,
        "metadata": scene.metadata,
        "file_type": scene._source.file_type,
    },
    "Trimesh": of_trimesh,
    "PointCloud": lambda cloud: {
        "vertices": np.array(cloud.vertices),
        "colors": np.array(cloud.visual.vertex_colors),
        "data": {name: cloud._data[name] for name in cloud._data.data},
        "metadata": cloud.metadata,
    },
    "Path3D": lambda path: {"vertices": np.array(path.vertices), "entities": [entity.points for entity in path.entities]},
    "TextureVisuals": lambda visual: {"uv": visual.uv, "material": visual.material, "attributes": dict(visual.vertex_attributes)},
    "ColorVisuals": lambda visual: {"kind": visual.kind, "data": {name: visual._data[name] for name in visual._data.data}},
    "SimpleMaterial": lambda material: {
        name: getattr(material, name) for name in ("name", "diffuse", "ambient", "specular", "glossiness", "image", "kwargs")
    },
    "Mesh": lambda mesh: {
        "points": mesh.points,
        "cells": [(block.type, block.data) for block in mesh.cells],
        "point_data": mesh.point_data,
        "cell_data": mesh.cell_data,
        "field_data": mesh.field_data,
        "sets": (mesh.point_sets, mesh.cell_sets),
    },
    "PolyData": of_vtk,
    "TrackedArray": lambda array: {"array": np.array(array)},
}


def difference(expected: Any, found: Any, place: str) -> str | None:
    """Where two values differ first."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in expected or key not in found:
                return f"{place}: {key} is {'missing' if key in expected else 'new'}"
            if (inner := difference(expected[key], found[key], f"{place}.{key}")) is not None:
                return inner
        return None
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)) and len(expected) == len(found):
        inner_places = (difference(a, b, f"{place}[{at}]") for at, (a, b) in enumerate(zip(expected, found, strict=True)))
        return next((inner for inner in inner_places if inner is not None), None)
    if expected == READ_ONLY or (expected == found and type(expected) is type(found)):
        return None
    return f"{place}: expected {expected!r:.80}, found {found!r:.80}"


def main(args: list[str]) -> int:
    counts: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    every = [path for path in sorted(Path(args[0]).rglob("*")) if path.is_file()]
    for library, formats in FORMATS.items():
        paths = [path for path in every if path.suffix[1:].lower() in formats]
        for path, outcome in zip(paths, compare_all(paths, library), strict=True):
            counts[library, path.suffix[1:].lower(), outcome.status] += 1
            if outcome.status == "fallback":
                reasons[f"{library}: {outcome.reason}"[:140]] += 1
            if outcome.status != "equal":
                print(f"{outcome.status}: {library}, {path}: {outcome.reason}", flush=True)
    print()
    for library, kind in sorted({key[:2] for key in counts}):
        print(f"{library}, {kind}: " + ", ".join(f"{counts[library, kind, status]} {status}" for status in STATUSES))
    totals = {status: sum(count for key, count in counts.items() if key[2] == status) for status in STATUSES}
    share = totals["equal"] / max(1, totals["equal"] + totals["fallback"] + totals["different"])
    print("all: " + ", ".join(f"{count} {status}" for status, count in totals.items()) + f"; read by polyhaul: {share:.1%}")
    for reason, count in reasons.most_common():
        print(f"{count} x {reason}")
    return 1 if totals["different"] else 0


STATUSES = ("equal", "fallback", "rejected", "different")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
