"""OBJ writer for PyVista: the statements of VTK's own writer, formatted by polyhaul.

The readers are in the package ``polyhaul-pyvista``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul._fallback import FallbackError, log_fallback
from polyhaul._polyhaul import __version__
from polyhaul._rows import format_rows

Array = npt.NDArray[Any]


def write_obj(dataset: Any, path: Any, **options: Any) -> None:
    """Write the surface of a data set: points, active normals and texture coordinates, and polygons."""
    surface = dataset if hasattr(dataset, "GetPolys") else dataset.extract_surface()
    try:
        parts = _parts(surface)
    except FallbackError as reason:
        log_fallback("PyVista", "obj", reason)
        from vtkmodules.vtkIOGeometry import vtkOBJWriter

        writer = vtkOBJWriter()
        writer.SetFileName(str(path))
        writer.SetInputData(surface)
        writer.Write()
        return
    with open(path, "wb") as file:
        file.writelines(parts)


def _parts(surface: Any) -> list[Any]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    polygons, points = surface.GetPolys(), surface.GetPointData()
    others = (surface.GetVerts(), surface.GetLines(), surface.GetStrips())
    if any(cells.GetNumberOfCells() for cells in others) or not polygons.GetNumberOfCells():
        raise FallbackError("points, lines or strips")
    if surface.GetFieldData().GetNumberOfArrays() or surface.GetCellData().HasArray("MaterialIds"):
        raise FallbackError("materials")
    streams = {"v": surface.GetPoints().GetData(), "vn": points.GetNormals(), "vt": points.GetTCoords()}
    # VTK formats values as doubles, regardless of the type of the array.
    rows = {keyword: vtk_to_numpy(array).astype(np.float64) for keyword, array in streams.items() if array is not None}
    widths = {"v": 3, "vn": 3, "vt": 2}
    is_marked = "vt" in rows and bool((rows["vt"] == -1).any())  # VTK's marker for missing texture coordinates
    if is_marked or any(values.shape[1] != widths[keyword] for keyword, values in rows.items()):
        raise FallbackError("texture coordinates in an unexpected form")
    parts: list[Any] = [f"# polyhaul {__version__}\n".encode()]
    parts += [_lines(keyword + " ", values, "{%s}") for keyword, values in rows.items()]
    corner = {(False, False): "{%s}", (True, False): "{%s}//{%s}", (False, True): "{%s}/{%s}", (True, True): "{%s}/{%s}/{%s}"}
    offsets = vtk_to_numpy(polygons.GetOffsetsArray()).astype(np.int64)
    corners = vtk_to_numpy(polygons.GetConnectivityArray()).astype(np.int64) + 1
    sizes = np.diff(offsets)
    starts = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]
    for start, end in zip(starts, starts[1:], strict=False):
        block = corners[offsets[start] : offsets[end]].reshape(end - start, -1)
        parts.append(_lines("f ", block, corner["vn" in rows, "vt" in rows]))
    return parts


def _lines(keyword: str, rows: Array, template: str) -> memoryview:
    """Format a line for each row, starting with a keyword."""
    names = [f"c{column}" for column in range(rows.shape[1])]
    fields = " ".join(template.replace("%s", name) for name in names)
    columns = {name: np.ascontiguousarray(rows[:, column]) for column, name in enumerate(names)}
    return format_rows(f"{keyword}{fields}\n", columns)
