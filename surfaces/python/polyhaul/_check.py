"""Surface checks and measurements of meshes, and normals computed from faces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _polyhaul
from polyhaul._arrays import Coordinates, Indices

if TYPE_CHECKING:
    from polyhaul._mesh import Mesh
    from polyhaul._polyhaul import NativeMesh


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceCheck:
    """The defects and measurements of a mesh's surface, as returned by :meth:`polyhaul.Mesh.check`.

    Edges are pairs of positions. If several positions are equal, edges contain the index of the first. Faces with fewer
    than three distinct positions count as degenerate, and are otherwise ignored.
    """

    #: The number of faces.
    face_count: int
    #: The number of distinct positions that faces use.
    position_count: int
    #: The number of distinct edges.
    edge_count: int
    #: The number of connected components: sets of faces that do not share positions with other faces.
    component_count: int
    #: Positions minus edges plus faces.
    euler_number: int
    #: The total area of the faces.
    area: float
    #: The enclosed volume, negative if faces face inward. It depends on the origin unless ``is_solid``.
    volume: float
    #: Whether the surface is closed: each edge is used exactly twice.
    is_watertight: bool
    #: Whether the two faces at each edge have the same orientation.
    is_consistent: bool
    #: (n, 2) uint32: edges used by a single face, in the direction of that face.
    open_edges: Indices
    #: (n, 2) uint32: edges used more than twice.
    non_manifold_edges: Indices
    #: (n, 2) uint32: edges that two faces use in the same direction, so one of the faces is flipped.
    flipped_edges: Indices
    #: (n,) uint32: faces with the same positions as an earlier face, in the same or the opposite order.
    duplicate_faces: Indices
    #: (n,) uint32: faces that use a position more than once, or whose area is zero.
    degenerate_faces: Indices

    @property
    def is_solid(self) -> bool:
        """Whether the surface encloses a volume: it is watertight and consistent."""
        return self.is_watertight and self.is_consistent

    @property
    def is_clean(self) -> bool:
        """Whether the surface is free of defects: all lists of edges and faces are empty."""
        edges = (self.open_edges, self.non_manifold_edges, self.flipped_edges)
        return not any(len(faults) for faults in (*edges, self.duplicate_faces, self.degenerate_faces))

    def __repr__(self) -> str:
        kinds = {
            "open edge": self.open_edges,
            "non-manifold edge": self.non_manifold_edges,
            "flipped edge": self.flipped_edges,
            "duplicate face": self.duplicate_faces,
            "degenerate face": self.degenerate_faces,
        }
        counts = {kind: len(faults) for kind, faults in kinds.items()}
        faults = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
        state = ["watertight" if self.is_watertight else "not watertight", *(faults or ["no faults"])]
        return f"<polyhaul.SurfaceCheck: {self.face_count} faces, {', '.join(state)}>"


class SurfaceMeasures:
    """The surface properties of :class:`polyhaul.Mesh`. All of them are recomputed on each access."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def positions(self) -> Coordinates: ...
        def _to_native(self) -> NativeMesh: ...
        def _without_statements(self) -> Mesh: ...
        def _changed(self, native: NativeMesh) -> Mesh: ...

    @property
    def bounds(self) -> npt.NDArray[np.float64] | None:
        """(2, 3) float64: the minimum and maximum x, y, z of all finite positions; ``None`` if there are none."""
        positions = self.positions
        if not len(positions):
            return None
        bounds = np.stack([positions.min(axis=0), positions.max(axis=0)])
        if not np.isfinite(bounds).all():
            positions = positions[np.isfinite(positions).all(axis=1)]
            if not len(positions):
                return None
            bounds = np.stack([positions.min(axis=0), positions.max(axis=0)])
        return bounds.astype(np.float64)

    @property
    def area(self) -> float:
        """The total area of the faces.

        The area of a polygon is the area of its projection along its mean normal.
        """
        return self.check().area

    @property
    def volume(self) -> float:
        """The enclosed volume, negative if faces face inward.

        If the surface is not closed, this is the sum of the signed volumes of the cones from the origin to the faces.
        """
        return self.check().volume

    @property
    def is_watertight(self) -> bool:
        """Whether the surface is closed: each edge is used exactly twice. Equal positions are merged."""
        return self.check().is_watertight

    def check(self, *, merge: bool = True, threads: int | None = None) -> SurfaceCheck:
        """Find open, non-manifold and flipped edges and duplicate and degenerate faces, and measure the surface.

        Args:
            merge: merge equal positions, so that UV and normal seams, where files repeat positions, do not count as
                open edges. If ``False``, faces are only adjacent if they share indices.
            threads: worker threads; ``None`` uses all cores. The result does not depend on it.
        """
        found: dict[str, Any] = _polyhaul.mesh_check(self._to_native(), merge, threads)
        for name in ("open_edges", "non_manifold_edges", "flipped_edges"):
            found[name] = _arrays.view(found[name], np.uint32, 2)
        for name in ("duplicate_faces", "degenerate_faces"):
            found[name] = _arrays.view(found[name], np.uint32)
        return SurfaceCheck(**found)

    def compute_normals(self, *, flat: bool = False, merge: bool = False, threads: int | None = None) -> Mesh:
        """Return a mesh with normals computed from its faces, which replace existing normals.

        Normals are smooth and per position: the mean of the normals of the adjacent faces, weighted by their angles at
        the position. Positions without faces get (0, 0, 0).

        Args:
            flat: compute one normal per face instead.
            merge: give equal positions the same normal, so that the surface is smooth across seams, and across edges
                that a file made sharp by repeating positions.
            threads: worker threads; ``None`` uses all cores.
        """
        return self._changed(_polyhaul.mesh_normals(self._without_statements()._to_native(), flat, merge, threads))
