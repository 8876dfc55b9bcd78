"""`write.py FOLDER OUTPUT THREADS`: polyhaul writes Blender's arrays, once for each line of input.

The arrays lie in memory, as they do in Blender (`arrays.py` has loaded them). Making polyhaul's meshes and
scene from them is part of what is measured. Prints lines for `cargo xtask bench`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polyhaul

import arrays
import measure


def write(objects: list[arrays.ObjectArrays], output: Path, threads: int) -> None:
    """From arrays to a file."""
    scene = polyhaul.Scene()
    for item in objects:
        mesh = polyhaul.Mesh(
            item.arrays["positions"],
            item.arrays["corner_positions"],
            item.arrays["face_offsets"],
            normals=item.arrays["normals"],
            normal_domain=item.normal_domain,
            uvs=item.arrays["uvs"],
            uv_domain="corner",
            material_slots=item.arrays["material_slots"],
            smooth=item.arrays["smooth"],
        )
        scene.add(
            mesh,
            name=item.name,
            mesh_name=item.mesh_name,
            transform=item.transform,
            materials=item.materials,
        )
    polyhaul.write(scene, output, threads=threads)


def main(folder: str, output: str, threads: str) -> None:
    objects = arrays.load(Path(folder))
    target = Path(output)
    measure.serve(lambda: write(objects, target, int(threads)), target, Path(folder) / "scene.obj")


if __name__ == "__main__":
    main(*sys.argv[1:])
