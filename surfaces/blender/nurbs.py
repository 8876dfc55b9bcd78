"""NURBS curves of Blender as curves of polyhaul."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polyhaul


def is_nurbs(data: Any) -> bool:
    """Whether all of a curve can be written as NURBS curves."""
    splines = getattr(data, "splines", ())
    return bool(len(splines)) and all(spline.type == "NURBS" and spline.point_count_v == 1 for spline in splines)


def splines(data: Any) -> Iterator[polyhaul.Mesh]:
    """Each spline as a mesh with a curve."""
    for spline in data.splines:
        positions = np.empty(len(spline.points) * 4, np.float32)
        spline.points.foreach_get("co", positions)
        positions = np.roll(positions.reshape(-1, 4)[:, :3], -first_point(spline), axis=0)
        points, knots = control_points(spline), knot_vector(spline)
        degree = spline.order_u - 1
        curve = polyhaul.Curve(degree, (knots[degree], knots[len(points)]), control_points=points, knots=knots)
        yield polyhaul.Mesh(positions[: max(points) + 1], curves=[curve])


def first_point(spline: Any) -> int:
    """The point that a spline begins with."""
    return int(is_bezier(spline) and not spline.use_endpoint_u)


def control_points(spline: Any) -> list[int]:
    """The points that count, from the first one on: a cyclic spline comes back to its beginning."""
    count, degree = len(spline.points), spline.order_u - 1
    if spline.use_cyclic_u:
        return [*range(count), *range(1 if spline.use_endpoint_u or is_bezier(spline) else degree)]
    if is_bezier(spline):
        # What is not enough for a whole segment is left out.
        count = (count - 1 - first_point(spline)) // degree * degree + 1
    return list(range(count))


def knot_vector(spline: Any) -> list[float]:
    """The knots: with single knots at both ends of a curve that is cyclic or does not reach its end points."""
    order, degree = spline.order_u, spline.order_u - 1
    total = len(control_points(spline)) + order
    if not (spline.use_endpoint_u or is_bezier(spline)):
        return [float(knot) for knot in range(total)]
    reaches_ends = spline.use_endpoint_u and not spline.use_cyclic_u
    head = [0] * order if reaches_ends else [0] + [1] * degree
    repeats = degree if is_bezier(spline) else 1
    inner = [head[-1] + 1 + at // repeats for at in range(total - 2 * order)]
    last = max([head[-1], *inner]) + 1
    tail = [last] * order if reaches_ends else [last] * degree + [last + 1]
    return [float(knot) for knot in (head + inner + tail)[:total]]


def is_bezier(spline: Any) -> bool:
    """Whether inner knots are repeated, so that the curve passes through every point between two segments."""
    return bool(spline.use_bezier_u) and spline.order_u > 2
