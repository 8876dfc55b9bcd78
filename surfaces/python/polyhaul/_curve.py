"""Free-form curves of meshes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import NONE, Floats, Indices


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Curve:
    """A B-spline curve over positions of a mesh; a NURBS curve if ``rational``.

    The arguments are the same as the attributes, and are converted to their types.

    Raises:
        ValueError, TypeError: a value is invalid.

    Example:
        >>> import polyhaul
        >>> positions = [[0, 0, 0], [1, 2, 0], [2, 0, 0]]
        >>> curve = polyhaul.Curve(2, (0, 1), control_points=[0, 1, 2], knots=[0, 0, 0, 1, 1, 1])
        >>> mesh = polyhaul.Mesh(positions, curves=[curve])
        >>> mesh.curves[0].degree
        2
    """

    #: The polynomial degree, 1 or more.
    degree: int
    #: The first and the last parameter value.
    range: tuple[float, float]
    #: (k,) uint32: the indices of the control points in the positions.
    control_points: Indices
    #: (m,) float32: the knot vector. For a B-spline, m is k + degree + 1.
    knots: Floats
    #: Whether the position weights apply.
    rational: bool

    def __init__(
        self,
        degree: int,
        range: tuple[float, float],
        *,
        control_points: npt.ArrayLike,
        knots: npt.ArrayLike,
        rational: bool = False,
    ) -> None:
        first, last = range
        fields = {
            "degree": operator.index(degree),
            "range": (float(first), float(last)),
            "control_points": _arrays.indices("control_points", control_points, NONE).reshape(-1),
            "knots": _arrays.floats("knots", knots, 1).reshape(-1),
            "rational": bool(rational),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if not 1 <= self.degree < 2**31:
            raise ValueError(f"degree is {degree}; expected 1 or more")


def curve_of(plain: dict[str, Any]) -> Curve:
    """Return a curve from the fields of a mesh."""
    names = ("degree", "range", "control_points", "knots", "rational")
    return Curve(**{name: plain[name] for name in names})


def curve_from_plain(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a native curve, with arrays that are views of its memory."""
    control_points = _arrays.view(plain["control_points"], np.uint32)
    knots = _arrays.view(plain["knots"], np.float32)
    return plain | {"range": tuple(plain["range"]), "control_points": control_points, "knots": knots}


def curves_to_plain(curves: Sequence[Curve], count: int) -> list[dict[str, Any]]:
    """Return the curves of a mesh with ``count`` positions, each with the counts of preceding elements in a file."""
    plain = []
    before = 0
    for number, curve in enumerate(curves):
        if not isinstance(curve, Curve):
            raise TypeError(f"curves[{number}] is of type {type(curve).__name__}; expected polyhaul.Curve")
        points = _arrays.indices(f"curves[{number}].control_points", curve.control_points, count)
        fields = {name: getattr(curve, name) for name in ("degree", "rational", "range", "knots")}
        plain.append(fields | {"control_points": points, "at": (before, 0, 0, 0, 0, 0, number)})
        # A curve is written after its positions, and all positions before them.
        before = max(before, int(points.max(initial=0)) + 1) if points.size else before
    return plain
