"""Conversion and validation of mesh arguments that cannot be used as they are.

Native code (``src/fitting.rs``) detects meshes that do not need conversion. It does not produce messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import Floats, Indices

#: Weights by vertex group; NaN for positions that are not members.
VertexGroups: TypeAlias = Mapping[str, npt.ArrayLike] | tuple[Sequence[str], npt.ArrayLike]

#: Faces or lines: offsets, followed by the indices of the position, UV and normal of each corner.
Streams: TypeAlias = tuple[Indices | None, Indices | None, Indices | None, Indices | None]


def elements(
    what: str, positions: npt.ArrayLike | None, offsets: npt.ArrayLike | None, count: int, min_corners: int
) -> Streams:
    """Return faces or lines from the position index of each corner and the start offset of each element."""
    name = "corner_positions" if what == "face" else "line_positions"
    if positions is None:
        if offsets is not None:
            raise ValueError(f"{what}_offsets needs {name}")
        return None, None, None, None
    if offsets is None:
        positions, offsets = _joined(positions)
    corners = _arrays.indices(name, positions, count)
    if offsets is None:
        if corners.size and (corners.ndim != 2 or corners.shape[1] < min_corners):
            expected = f"({what}s, corners of each), at least {min_corners} of them"
            raise ValueError(f"{name} has shape {corners.shape}; expected {expected}, or {what}_offsets in addition")
        starts = _arrays.even_offsets(*corners.shape) if corners.size else corners
    else:
        if corners.ndim != 1:
            raise ValueError(f"{name} has shape {corners.shape}; expected (corners,), because {what}_offsets is given")
        _arrays.check_count(name, corners.size)
        starts = _arrays.offsets(f"{what}_offsets", offsets, corners.size, min_corners, what)
    return (starts, corners.reshape(-1), None, None) if corners.size else (None, None, None, None)


def _joined(elements: npt.ArrayLike) -> tuple[npt.ArrayLike, npt.ArrayLike | None]:
    """Return the corners and offsets of a list of elements of different sizes."""
    if not isinstance(elements, list | tuple):
        return elements, None
    try:
        return np.asarray(elements), None
    except ValueError:
        arrays = [np.asarray(corners) for corners in elements]
    if not all(corners.ndim == 1 for corners in arrays):
        return elements, None
    return np.concatenate(arrays), np.cumsum([0, *map(len, arrays)])


def pairs(name: str, value: npt.ArrayLike, count: int) -> Indices:
    pairs = _arrays.indices(name, value, count)
    if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
        raise ValueError(f"{name} has shape {pairs.shape}; expected (k, 2), the two positions of each edge")
    return pairs.reshape(-1, 2)


def vertex_groups(groups: VertexGroups, count: int) -> list[tuple[str, Floats]]:
    if isinstance(groups, Mapping):
        items = list(groups.items())
    else:
        names, weights = groups
        _arrays.check_mask("vertex_groups", weights)
        array = np.asarray(weights)
        if array.shape != (count, len(names)):
            raise ValueError(f"vertex_groups has weights of shape {array.shape}; expected ({count}, {len(names)})")
        items = [(name, array[:, column]) for column, name in enumerate(names)]
    return [(str(name), _arrays.values(f"vertex_groups[{name!r}]", array, count, "position")) for name, array in items]


def chosen_domain(domain_name: str, domain: str | None, stream_name: str, stream: Any) -> str:
    chosen = {"point": "vertex", None: "corner" if stream is None else "indexed"}.get(domain, domain)
    if chosen not in ("corner", "vertex", "face", "indexed"):
        raise ValueError(f'{domain_name} is {domain!r}; expected "corner", "vertex", "face" or "indexed"')
    if chosen == "indexed" and stream is None:
        raise ValueError(f'{domain_name}="indexed" needs {stream_name}')
    if chosen != "indexed" and stream is not None:
        raise ValueError(f'{stream_name} needs {domain_name}="indexed", not {chosen!r}')
    return chosen
