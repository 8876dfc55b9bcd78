"""Save the triangles of any mesh file as numpy arrays, for training or simulation.

    python mesh_to_npz.py scene.glb scene.npz

The file has `positions` (n, 3), `triangles` (t, 3), and `normals` (n, 3): smooth normals at the positions.
"""

from __future__ import annotations

import sys

import numpy as np
import polyhaul


def save(source: str, target: str) -> int:
    """Save the meshes of a scene as one; return the number of triangles."""
    scene = polyhaul.read(source)
    mesh = polyhaul.concatenate([part.mesh for part in scene.objects] or scene.meshes)
    smooth = mesh.compute_normals()
    np.savez_compressed(target, positions=mesh.positions, triangles=mesh.triangles, normals=smooth.normals)
    return len(mesh.triangles)


if __name__ == "__main__":
    print(save(*sys.argv[1:3]), "triangles")
