"""What polyhaul writes as glTF, in other readers: the same triangles and materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polyhaul
import pygltflib
import pytest
import trimesh

MODELS = Path(__file__).parents[3] / "testdata"
FILES = ["glb/programs/model.obj", "obj/blender/monkey2.obj", "obj/blender/splash60.obj", "obj/blender/opt_default.obj"]
TYPES = {5123: np.uint16, 5125: np.uint32, 5126: np.float32}

#: The number of triangles of a material, and the sum of their vectors of area, which does not depend on how polygons are cut.
Amount = tuple[int, npt.NDArray[np.float64]]


def counted(corners: npt.NDArray[np.floating]) -> Amount:
    a, b, c = corners.astype(np.float64).reshape(-1, 3, 3).transpose(1, 0, 2)
    return len(a), np.cross(b - a, c - a).sum(axis=0) / 2


def add(all_found: dict[str, Amount], name: str, corners: npt.NDArray[np.floating]) -> None:
    count, area = counted(corners)
    before, total = all_found.get(name, (0, np.zeros(3)))
    all_found[name] = before + count, total + area


def expected(path: Path) -> dict[str, Amount]:
    """By a few lines that read OBJ."""
    positions: list[list[float]] = []
    triangles: dict[str, list[list[list[float]]]] = {}
    material = ""
    for line in path.read_text().splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            positions.append([float(word) for word in rest[:3]])
        elif word == "usemtl":
            material = " ".join(rest)
        elif word == "f":
            numbers = [int(word.split("/")[0]) for word in rest]
            corners = [positions[number - 1 if number > 0 else number] for number in numbers]
            fans = [[corners[0], corners[at], corners[at + 1]] for at in range(1, len(corners) - 1)]
            triangles.setdefault(material, []).extend(fans)
    return {name: counted(np.array(all_corners)) for name, all_corners in triangles.items()}


def same(amounts: dict[str, Amount], path: Path) -> None:
    in_obj = expected(path)
    assert {name: count for name, (count, _) in amounts.items()} == {name: count for name, (count, _) in in_obj.items()}
    for name, (_, area) in in_obj.items():
        np.testing.assert_allclose(amounts[name][1], area, atol=1e-4 * max(1, np.abs(area).max()), err_msg=name)


def values(file: pygltflib.GLTF2, blob: bytes, number: int, width: int) -> npt.NDArray[np.generic]:
    accessor = file.accessors[number]
    view = file.bufferViews[accessor.bufferView]
    start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
    scalar = np.dtype(TYPES[accessor.componentType])
    stride = view.byteStride or width * scalar.itemsize
    rows = [np.frombuffer(blob, scalar, width, start + row * stride) for row in range(accessor.count)]
    return np.array(rows)


@pytest.mark.parametrize("name", FILES)
def test_trimesh_reads_the_same_triangles_and_materials(name: str, tmp_path: Path) -> None:
    target = tmp_path / "model.glb"
    polyhaul.convert(MODELS / name, target)
    amounts: dict[str, Amount] = {}
    for mesh in trimesh.load_scene(target, process=False).dump():
        if isinstance(mesh, trimesh.Trimesh):
            material = getattr(mesh.visual, "material", None)
            add(amounts, getattr(material, "name", None) or "", mesh.vertices[mesh.faces])
    same(amounts, MODELS / name)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_pygltflib_reads_the_same_triangles_and_materials(name: str, kind: str, tmp_path: Path) -> None:
    target = tmp_path / f"model.{kind}"
    polyhaul.convert(MODELS / name, target)
    file = pygltflib.GLTF2().load(target)
    blob = file.binary_blob() if kind == "glb" else (tmp_path / file.buffers[0].uri).read_bytes()
    amounts: dict[str, Amount] = {}
    for node in file.nodes:
        assert node.matrix is None and node.translation is None and node.rotation is None and node.scale is None
        for part in file.meshes[node.mesh].primitives if node.mesh is not None else []:
            if part.mode in (None, pygltflib.TRIANGLES):
                positions = values(file, blob, part.attributes.POSITION, 3)
                corners = positions[values(file, blob, part.indices, 1).ravel()]
                add(amounts, "" if part.material is None else file.materials[part.material].name, corners)
    same(amounts, MODELS / name)


def test_gltf_that_pygltflib_saves_is_read(tmp_path: Path) -> None:
    source = MODELS / "glb/programs/model.obj"
    polyhaul.convert(source, tmp_path / "a.glb")
    file = pygltflib.GLTF2().load(tmp_path / "a.glb")
    for target in (tmp_path / "b.glb", tmp_path / "b.gltf", tmp_path / "c.gltf"):
        if target.name == "c.gltf":
            file.convert_buffers(pygltflib.BufferFormat.DATAURI)
        file.save(target)
        polyhaul.convert(target, tmp_path / "back.obj")
        same(expected(tmp_path / "back.obj"), source)
