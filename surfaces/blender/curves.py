"""Blender curves from polyhaul curves."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import polyhaul

from . import arrays


def curve_of(curve: polyhaul.Curve, positions: np.ndarray, name: str, *, closes: bool) -> Any:
    """Return a Blender curve with one spline. If ``closes`` is set, the spline is cyclic if its ends meet."""
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    points, degree = list(curve.control_points), curve.degree
    reaches_ends = is_clamped(np.asarray(curve.knots), degree)
    # A closed curve repeats its first points; if it is clamped, only its first point.
    repeated = 1 if reaches_ends else degree
    is_cyclic = closes and len(points) > repeated and points[:repeated] == points[-repeated:]
    points = points[:-repeated] if is_cyclic else points
    spline = data.splines.new("NURBS")
    spline.points.add(len(points) - 1)
    weighted = np.ones((len(points), 4), np.float32)
    weighted[:, :3] = positions[points]
    arrays.write(spline.points, "co", weighted)
    spline.use_cyclic_u = is_cyclic
    spline.order_u = degree + 1
    spline.use_endpoint_u = reaches_ends
    spline.use_bezier_u = reaches_ends and degree > 1 and are_bezier(np.asarray(curve.knots)[1:-1], degree)
    return data


def are_bezier(knots: np.ndarray, degree: int) -> bool:
    """Return whether each knot is repeated ``degree`` times, so that the curve consists of Bezier segments."""
    return len(knots) % degree == 0 and bool((knots.reshape(-1, degree) == knots[::degree, None]).all())


def is_clamped(knots: np.ndarray, degree: int) -> bool:
    """Return whether the first and last knots are repeated, so that the curve reaches its end points."""
    inner = knots[1:-1]
    return len(inner) >= 2 * degree and bool((inner[:degree] == inner[0]).all() and (inner[-degree:] == inner[-1]).all())
