"""polyhaul curves from Blender's NURBS curves. Blender's polygon splines are curves of degree 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polyhaul


def is_nurbs(data: Any) -> bool:
    """Return whether all splines of a curve can be written as NURBS curves."""
    splines = getattr(data, "splines", ())
    return bool(len(splines)) and all(spline.type in ("NURBS", "POLY") and spline.point_count_v == 1 for spline in splines)


def splines(data: Any) -> Iterator[polyhaul.Mesh]:
    """Yield each spline as a mesh with one curve."""
    for spline in data.splines:
        positions = np.empty(len(spline.points) * 4, np.float32)
        spline.points.foreach_get("co", positions)
        positions = np.roll(positions.reshape(-1, 4)[:, :3], -first_point(spline), axis=0)
        points, knots = control_points(spline), knot_vector(spline)
        degree = order(spline) - 1
        curve = polyhaul.Curve(degree, (knots[degree], knots[len(points)]), control_points=points, knots=knots)
        yield polyhaul.Mesh(positions[: max(points) + 1], curves=[curve])


def order(spline: Any) -> int:
    """Return the degree plus one. The order of polygon splines is ignored."""
    return 2 if spline.type == "POLY" else spline.order_u


def first_point(spline: Any) -> int:
    """Return the index of the first control point of a spline."""
    return int(is_bezier(spline) and not spline.use_endpoint_u) + int(is_one_segment(spline))


def control_points(spline: Any) -> list[int]:
    """Return the indices of the control points, starting at the first point. A cyclic spline returns to its start."""
    count, degree = len(spline.points), order(spline) - 1
    if is_one_segment(spline):
        return list(range(count))
    if spline.use_cyclic_u:
        return [*range(count), *range(1 if spline.use_endpoint_u or is_bezier(spline) else degree)]
    if is_bezier(spline):
        # Points of an incomplete segment are dropped.
        count = (count - 1 - first_point(spline)) // degree * degree + 1
    return list(range(count))


def knot_vector(spline: Any) -> list[float]:
    """Return the knots. Curves that are cyclic or do not reach their end points have single knots at both ends."""
    degree = order(spline) - 1
    total = len(control_points(spline)) + degree + 1
    if not (spline.use_endpoint_u or is_bezier(spline)):
        return [float(knot) for knot in range(total)]
    if is_one_segment(spline):
        return [1.0] * (degree + 1) + [2.0] * (degree + 1)
    reaches_ends = spline.use_endpoint_u and not spline.use_cyclic_u
    head = [0] * (degree + 1) if reaches_ends else [0] + [1] * degree
    inner = inner_knots(spline, total - 2 * (degree + 1), head[-1] + 1)
    last = max([head[-1], *inner]) + 1
    tail = [last] * (degree + 1) if reaches_ends else [last] * degree + [last + 1]
    return [float(knot) for knot in (head + inner + tail)[:total]]


def inner_knots(spline: Any, count: int, start: int) -> list[int]:
    """Return the knots between the knots at both ends."""
    repeats = order(spline) - 1 if is_bezier(spline) else 1
    knots = [start + at // repeats for at in range(count)]
    if closes_at_point(spline):
        # A knot in addition to complete segments belongs to the last segment.
        knots[-1] -= 1
    return knots


def is_bezier(spline: Any) -> bool:
    """Return whether inner knots are repeated, so that the curve passes through the points between segments."""
    return bool(spline.use_bezier_u) and order(spline) > 2


def closes_at_point(spline: Any) -> bool:
    """Return whether a closed curve of Bezier segments has one point more than complete segments need."""
    is_closed = is_bezier(spline) and spline.use_cyclic_u and not spline.use_endpoint_u
    return is_closed and len(spline.points) % (order(spline) - 1) == 1


def is_one_segment(spline: Any) -> bool:
    """Return whether a curve that closes at a point has a single segment, with equal knots at each end."""
    return closes_at_point(spline) and len(spline.points) == order(spline)
