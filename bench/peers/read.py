"""Reads an OBJ file with a Python package: `read.py trimesh|meshio FILE`.

Prints the line that `cargo xtask bench` takes. Importing the package is not measured.
"""

import os
import resource
import sys
import time


def read_trimesh(file):
    import trimesh

    def read():
        return trimesh.load(file, process=False)

    def count(model):
        meshes = getattr(model, "geometry", {"": model}).values()
        return sum(len(m.vertices) for m in meshes), sum(len(m.faces) for m in meshes)

    return read, count


def read_meshio(file):
    import meshio

    def read():
        return meshio.read(file)

    def count(model):
        return len(model.points), sum(len(cells.data) for cells in model.cells)

    return read, count


READERS = {"trimesh": read_trimesh, "meshio": read_meshio}


def main(name, file):
    read, count = READERS[name](file)
    cpu, start = time.process_time(), time.perf_counter()
    model = read()
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    positions, faces = count(model)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(
        f"bench seconds={seconds:.6f} cpu_seconds={used:.6f} peak_rss_bytes={peak}"
        f" bytes={os.path.getsize(file)} positions={positions} faces={faces}",
        flush=True,
    )
    # Taking the model apart is not measured.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
