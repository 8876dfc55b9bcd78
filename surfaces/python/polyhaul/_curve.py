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
    """A B-spline curve over positions of a mesh (NURBS where ``rational``).

    The arguments are the attributes; any integers and numbers are accepted.

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
    #: (k,) uint32, indices of positions.
    control_points: Indices
    #: (m,) float32, the knot vector; m is k + degree + 1 for a B-spline.
    knots: Floats
    #: Whether the position weights count.
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
    """A curve of a mesh's arrays."""
    names = ("degree", "range", "control_points", "knots", "rational")
    return Curve(**{name: plain[name] for name in names})


def curve_from_plain(plain: dict[str, Any]) -> dict[str, Any]:
    """What native code returned, with arrays that are views of that memory."""
    control_points = _arrays.view(plain["control_points"], np.uint32)
    knots = _arrays.view(plain["knots"], np.float32)
    return plain | {"range": tuple(plain["range"]), "control_points": control_points, "knots": knots}


def curves_to_plain(curves: Sequence[Curve], count: int) -> list[dict[str, Any]]:
    """Curves of a mesh with ``count`` positions, each with the counts of what comes before it in a file."""
    plain = []
    before = 0
    for number, curve in enumerate(curves):
        if not isinstance(curve, Curve):
            raise TypeError(f"curves[{number}] is of type {type(curve).__name__}; expected polyhaul.Curve")
        points = _arrays.indices(f"curves[{number}].control_points", curve.control_points, count)
        fields = {name: getattr(curve, name) for name in ("degree", "rational", "range", "knots")}
        plain.append(fields | {"control_points": points, "at": (before, 0, 0, 0, 0, 0, number)})
        # Its positions are written with it, those that come before them too.
        before = max(before, int(points.max(initial=0)) + 1) if points.size else before
    return plain
