"""Data of VTK from arrays, which are not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyvista
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints, vtkStringArray


def surface(points: Any, offsets: Any, corners: Any) -> pyvista.PolyData:
    """A surface with these points and polygons; without any, each point is a cell."""
    data = _points(points)
    if len(offsets) > 1:
        data.SetPolys(pyvista.CellArray.from_arrays(offsets.astype(np.int64), corners.astype(np.int64)))
    elif len(points):
        data.SetVerts(pyvista.CellArray.from_arrays(np.arange(len(points) + 1), np.arange(len(points))))
    return data


def lines(points: Any, offsets: Any, corners: Any) -> pyvista.PolyData:
    """Lines between these points."""
    data = _points(points)
    data.SetLines(pyvista.CellArray.from_arrays(offsets.astype(np.int64), corners.astype(np.int64)))
    return data


def _points(points: Any) -> pyvista.PolyData:
    data = pyvista.PolyData()
    of_vtk = vtkPoints()
    of_vtk.SetData(numpy_to_vtk(np.ascontiguousarray(points)))
    data.SetPoints(of_vtk)
    return data


def named(name: str, values: Any) -> Any:
    """An array of VTK with a name."""
    array = numpy_to_vtk(np.ascontiguousarray(values))
    array.SetName(name)
    return array


def texts(name: str, values: list[str]) -> Any:
    """An array of texts."""
    array = vtkStringArray()
    array.SetName(name)
    for value in values:
        array.InsertNextValue(value)
    return array
