"""NURBS curves of Blender as curves of polyhaul. Its polygons are curves of degree 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polyhaul


def is_nurbs(data: Any) -> bool:
    """Whether all of a curve can be written as NURBS curves."""
    splines = getattr(data, "splines", ())
    return bool(len(splines)) and all(spline.type in ("NURBS", "POLY") and spline.point_count_v == 1 for spline in splines)


def splines(data: Any) -> Iterator[polyhaul.Mesh]:
    """Each spline as a mesh with a curve."""
    for spline in data.splines:
        positions = np.empty(len(spline.points) * 4, np.float32)
        spline.points.foreach_get("co", positions)
        positions = np.roll(positions.reshape(-1, 4)[:, :3], -first_point(spline), axis=0)
        points, knots = control_points(spline), knot_vector(spline)
        degree = order(spline) - 1
        curve = polyhaul.Curve(degree, (knots[degree], knots[len(points)]), control_points=points, knots=knots)
        yield polyhaul.Mesh(positions[: max(points) + 1], curves=[curve])


def order(spline: Any) -> int:
    """The degree plus one. Polygons have an order that does not count."""
    return 2 if spline.type == "POLY" else spline.order_u


def first_point(spline: Any) -> int:
    """The point that a spline starts with."""
    return int(is_bezier(spline) and not spline.use_endpoint_u) + int(is_one_segment(spline))


def control_points(spline: Any) -> list[int]:
    """The points that count, from the first one on: a cyclic spline comes back to its start."""
    count, degree = len(spline.points), order(spline) - 1
    if is_one_segment(spline):
        return list(range(count))
    if spline.use_cyclic_u:
        return [*range(count), *range(1 if spline.use_endpoint_u or is_bezier(spline) else degree)]
    if is_bezier(spline):
        # Points that do not make a whole segment are left out.
        count = (count - 1 - first_point(spline)) // degree * degree + 1
    return list(range(count))


def knot_vector(spline: Any) -> list[float]:
    """The knots: with single knots at both ends of a curve that is cyclic or does not reach its end points."""
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
    """The knots between those of both ends."""
    repeats = order(spline) - 1 if is_bezier(spline) else 1
    knots = [start + at // repeats for at in range(count)]
    if closes_at_point(spline):
        # One knot more than whole segments have belongs to the last of them.
        knots[-1] -= 1
    return knots


def is_bezier(spline: Any) -> bool:
    """Whether inner knots are repeated, so that the curve passes through every point between two segments."""
    return bool(spline.use_bezier_u) and order(spline) > 2


def closes_at_point(spline: Any) -> bool:
    """Whether a closed curve of Bezier segments has the points of whole segments and one more."""
    is_closed = is_bezier(spline) and spline.use_cyclic_u and not spline.use_endpoint_u
    return is_closed and len(spline.points) % (order(spline) - 1) == 1


def is_one_segment(spline: Any) -> bool:
    """Whether such a curve has a single segment, at whose ends all knots are equal."""
    return closes_at_point(spline) and len(spline.points) == order(spline)
