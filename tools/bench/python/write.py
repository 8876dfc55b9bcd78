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
    for found in objects:
        mesh = polyhaul.Mesh(
            found.arrays["positions"],
            found.arrays["corner_positions"],
            found.arrays["face_offsets"],
            normals=found.arrays["normals"],
            normal_domain=found.normal_domain,
            uvs=found.arrays["uvs"],
            uv_domain="corner",
            material_slots=found.arrays["material_slots"],
            smooth=found.arrays["smooth"],
        )
        scene.add(
            mesh,
            name=found.name,
            mesh_name=found.mesh_name,
            transform=found.transform,
            materials=found.materials,
        )
    polyhaul.write(scene, output, threads=threads)


def main(folder: str, output: str, threads: str) -> None:
    objects = arrays.load(Path(folder))
    target = Path(output)
    measure.serve(lambda: write(objects, target, int(threads)), target, Path(folder) / "scene.obj")


if __name__ == "__main__":
    main(*sys.argv[1:])
