"""Compares pictures with casting rays by Embree: `raycast.py COMMAND FILE...`.

Each file is drawn by polyhaul in the styles `normals` and `depth`, and rays are cast at its triangles through the same
samples. Prints, for each file, the share of pixels where both see something or both do not, apart from those at an
edge, and how much depths and normals differ.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import embreex.mesh_construction
import embreex.rtcore_scene
import numpy as np
import numpy.typing as npt
import polyhaul

SIZE = 400, 300
HALF_ANGLE, FILLED = 0.1403, 0.92
Floats = npt.NDArray[np.float64]


def triangles(file: str) -> npt.NDArray[np.float32]:
    """The corners of all triangles of a file, in fans."""
    scene = polyhaul.read(file, load_materials=False)
    all_corners = []
    for mesh in scene.meshes:
        offsets, corners = np.asarray(mesh.face_offsets), np.asarray(mesh.corner_positions)
        for count in np.unique(np.diff(offsets)):
            first = offsets[:-1][np.diff(offsets) == count]
            for at in range(2, count):
                fan = np.stack([first, first + at - 1, first + at], 1)
                all_corners.append(np.asarray(mesh.positions)[corners[fan]])
    return np.concatenate(all_corners).astype(np.float32)


def camera(low: Floats, high: Floats) -> tuple[Floats, Floats, float, Floats]:
    """The default camera around a box: rows right, up, toward; its place; the focal length; depth's near and far."""
    front, right, up = np.array([0, 0, 1.0]), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    toward = front + 0.7 * right + 0.55 * up
    toward /= np.linalg.norm(toward)
    across = np.cross(up, toward)
    across /= np.linalg.norm(across)
    rows = np.stack([across, np.cross(toward, across), toward])
    middle, half = (low + high) / 2, (high - low) / 2
    focal = SIZE[1] / 2 / math.tan(HALF_ANGLE)
    seen = np.array(SIZE) / 2 / focal * FILLED
    signs = np.array([[1 if number >> axis & 1 else -1 for axis in range(3)] for number in range(8)])
    x, y, near = rows @ (signs * half).T
    size = np.linalg.norm(half)
    distance = max((near + abs(x) / seen[0]).max(), (near + abs(y) / seen[1]).max(), size * 1.01)
    reach = np.array([max(distance - 2 * size, distance * 1e-3), distance + 2 * size])
    return rows, middle + rows[2] * distance, focal, reach


def drawn(command: str, file: str, style: str, folder: Path) -> Floats:
    """A picture without background, as floats from 0 to 1."""
    picture = folder / f"{style}.png"
    size = f"{SIZE[0]}x{SIZE[1]}"
    options = ["--size", size, "--style", style, "--background", "none", "-q"]
    words = [command, "preview", file, "-o", str(picture), *options]
    subprocess.run(words, check=True)
    pixels = polyhaul.read_image(picture).pixels
    return pixels.astype(float) / np.iinfo(pixels.dtype).max


def compare(command: str, file: str) -> str:
    # The same triangles, without normals, as a file of their own.
    corners = triangles(file)
    plain = Path(folder) / "triangles.ply"
    faces = np.arange(corners.size // 3, dtype=np.int32).reshape(-1, 3)
    polyhaul.write(polyhaul.Mesh(corners.reshape(-1, 3), faces), plain)
    file, name = str(plain), Path(file).name
    finite = corners.reshape(-1, 3)[np.isfinite(corners.reshape(-1, 3)).all(1)].astype(float)
    rows, eye, focal, (near, far) = camera(finite.min(0), finite.max(0))
    scene = embreex.rtcore_scene.EmbreeScene()
    embreex.mesh_construction.TriangleMesh(scene, corners)
    places = np.array([[96, 32], [224, 96], [32, 160], [160, 224]]) / 256
    y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    covers, depths, normals = [], [], []
    for dx, dy in places:
        right, up = (x + dx - SIZE[0] / 2) / focal, (SIZE[1] / 2 - y - dy) / focal
        rays = right[..., None] * rows[0] + up[..., None] * rows[1] - rows[2]
        flat = rays.reshape(-1, 3).astype(np.float32)
        met = scene.run(np.broadcast_to(eye.astype(np.float32), flat.shape).copy(), flat, output=1)
        hit = met["geomID"].reshape(SIZE[1], SIZE[0]) >= 0
        normal = met["Ng"].reshape(SIZE[1], SIZE[0], 3).astype(float)
        normal /= np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), 1e-30)
        normal *= np.where((normal * rays).sum(2, keepdims=True) > 0, -1, 1)
        covers.append(hit)
        depths.append(met["tfar"].reshape(SIZE[1], SIZE[0]).astype(float))
        normals.append(normal @ rows.T)
    cover = np.mean(covers, 0)
    alpha = drawn(command, file, "normals", Path(folder))
    whole = (cover == 1) & (alpha[..., 3] > 0.99)
    # Away from edges, all four samples see the same, or nothing.
    inner = (cover == 0) | (cover == 1)
    agree = ((cover > 0.5) == (alpha[..., 3] > 0.5))[inner].mean()
    spread = np.ptp(np.array(depths), axis=0)
    size = np.linalg.norm(finite.max(0) - finite.min(0))
    smooth = whole & (spread < 0.01 * size) & (np.min((np.array(normals) * normals[0]).sum(3), 0) > 0.9998)
    depth = drawn(command, file, "depth", Path(folder))[..., 0]
    # Depth d has the shade 1 - 0.9 (far - far near / d) / (far - near).
    expected = 1 - 0.9 * np.mean([far - far * near / depth for depth in depths], 0) / (far - near)
    depth_off = abs(depth - expected)[smooth].max(initial=0) * (far - near) / 0.9 / size
    mean = np.mean(normals, 0)
    mean /= np.maximum(np.linalg.norm(mean, axis=2, keepdims=True), 1e-30)
    actual = alpha[..., :3] * 2 - 1
    actual /= np.maximum(np.linalg.norm(actual, axis=2, keepdims=True), 1e-30)
    angles = np.degrees(np.arccos(np.clip((mean * actual).sum(2), -1, 1)))[smooth]
    worst = np.percentile(angles, 99.9) if angles.size else 0.0
    return f"{name}: covered agree {agree:.5%}, depth off {depth_off:.2e} of the size, normals off {worst:.2f} degrees"


with tempfile.TemporaryDirectory() as folder:
    for case in sys.argv[2:]:
        print(compare(sys.argv[1], case))
