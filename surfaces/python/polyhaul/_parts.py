"""Parts of a scene in the conventions most programs use, prepared on another thread.

``_scene`` computes where the parts start; native code creates the arrays.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from polyhaul import _polyhaul
from polyhaul._arrays import Flags, Floats, Indices, Slots, view
from polyhaul._mesh import Counts, Mesh, mesh_from_native

#: A section of a mesh: the counts at its start and at its end, and its name.
Cut: TypeAlias = "tuple[Counts, Counts, str]"

#: The counts at the start of a mesh.
NOTHING: Counts = (0, 0, 0, 0, 0, 0, 0)

#: The index of the face count.
FACES = 3

#: The number of positions and faces per batch.
BATCH = 1 << 16


class Part:
    """A part of a scene, such as an object of a file, in the conventions most programs use.

    It has its own positions; UVs and normals per corner; materials and smoothing per face; and edges. Created by
    :meth:`Scene.parts`. The arrays are read-only.
    """

    __slots__ = (
        "_topology",
        "colors",
        "corner_positions",
        "curve_count",
        "face_count",
        "face_offsets",
        "has_all_normals",
        "has_unit_normals",
        "line_count",
        "material_slots",
        "materials",
        "mesh",
        "name",
        "normals",
        "positions",
        "smooth",
        "uvs",
    )

    #: The name of the object or group; empty if the file does not name it.
    name: str
    #: The same part as a mesh, which also has columns, groups, lines and curves.
    mesh: Mesh
    #: (n, 3) float32: the positions that the elements use, or all positions of the section with
    #: ``unused_positions=True``.
    positions: Floats
    #: (c,) uint32: the index of the position of each face corner.
    corner_positions: Indices
    #: (f + 1,) uint32: the first corner of each face, followed by the number of corners.
    face_offsets: Indices
    #: (c, 2) float32: the UV of each corner; ``None`` if the part does not have UVs.
    uvs: Floats | None
    #: (c, 3) float32: the normal of each corner, NaN where missing; ``None`` if the part does not have normals.
    normals: Floats | None
    #: Whether all corners have finite, nonzero normals.
    has_all_normals: bool
    #: Whether, in addition, all normals have unit length, within the rounding error of three decimals.
    has_unit_normals: bool
    #: (f,) int32: the index of each face's material in ``materials``, -1 for none; ``None`` if the faces do not have
    #: materials.
    material_slots: Slots | None
    #: (f,) bool: whether each face is shaded smoothly; ``None`` if not specified.
    smooth: Flags | None
    #: The distinct materials of the faces, in order of first use: indices into ``scene.materials``, or slots of an
    #: object that was not read from a file.
    materials: list[int]
    #: (n, 4) float32: red, green, blue and alpha of each position; ``None`` if the part does not have colors.
    colors: Floats | None
    #: The number of faces.
    face_count: int
    #: The number of polylines.
    line_count: int
    #: The number of free-form curves.
    curve_count: int

    def __init__(self, name: str, made: dict[str, Any], whole: Mesh, topology: Future[Topologies], number: int) -> None:
        self.name = name
        self.mesh = mesh_from_native(made["native"], whole._materials)
        self.mesh._of_file = False
        *_, self.face_count, self.line_count, _, self.curve_count = made["counts"]
        self.positions = view(made["positions"], np.float32, 3)
        self.corner_positions = view(made["corner_positions"], np.uint32)
        self.face_offsets = view(made["face_offsets"], np.uint32) if self.face_count else np.zeros(1, np.uint32)
        self.colors = view(made["colors"], np.float32, 4) if len(made["colors"]) else None
        self.uvs = view(made["uvs"], np.float32, 2) if len(made["uvs"]) else None
        self.normals = view(made["normals"], np.float32, 3) if len(made["normals"]) else None
        self.material_slots = view(made["material_slots"], np.int32) if len(made["material_slots"]) else None
        self.smooth = view(made["smooth"], np.bool_) if len(made["smooth"]) else None
        self.materials = made["materials"]
        self.has_all_normals = made["has_all_normals"]
        self.has_unit_normals = made["has_unit_normals"]
        self._topology = topology, number

    @property
    def edges(self) -> Indices:
        """(e, 2) uint32: the positions of each edge, the lower index first.

        Edges of polylines come before edges of faces. Waits until the edges are available.
        """
        return view(self._found()[0], np.uint32, 2)

    @property
    def corner_edges(self) -> Indices:
        """(c,) uint32: the edge from each corner to the next corner of its face.

        ``0xFFFFFFFF`` if both corners have the same position.
        """
        return view(self._found()[1], np.uint32)

    @property
    def has_clean_faces(self) -> bool:
        """Whether the faces are clean: see :meth:`Mesh.has_clean_faces`."""
        return self._found()[2]

    def _found(self) -> tuple[Any, Any, bool]:
        topology, number = self._topology
        return topology.result()[number]

    def __repr__(self) -> str:
        return f"<polyhaul.Part {self.name!r}: {len(self.positions)} positions, {self.face_count} faces>"


#: The edges, the edge of each corner, and whether the faces are clean, for each part of a batch.
Topologies: TypeAlias = "list[tuple[Any, Any, bool]]"


def made_ahead(
    cuts: list[tuple[Mesh, Cut]], missing_uv: float, normals: bool, unused_positions: bool, threads: int | None
) -> Generator[Part]:
    """Yield the parts in order, while another thread prepares the next batch and the topology of the current one."""

    def make(mesh: Mesh, cuts: list[Cut]) -> list[dict[str, Any]]:
        return _polyhaul.flat_sections(
            mesh._to_native(), [cut[:2] for cut in cuts], missing_uv, normals, unused_positions, threads
        )

    def connect(made: Future[list[dict[str, Any]]]) -> Topologies:
        return _polyhaul.topologies([arrays["native"] for arrays in made.result()], threads)

    waiting: list[tuple[Mesh, list[Cut], Future[Any], Future[Topologies]]] = []
    with ThreadPoolExecutor(max_workers=1) as executor:
        try:
            for batch in [*batches(cuts), None]:
                if batch is not None:
                    made = executor.submit(make, *batch)
                    waiting.append((*batch, made, executor.submit(connect, made)))
                if waiting and (batch is None or len(waiting) > 1):
                    yield from taken(*waiting.pop(0))
        finally:
            # Cancel the remaining batches if the caller stops early.
            for *_, made, topology in waiting:
                made.cancel()
                topology.cancel()


def taken(mesh: Mesh, cuts: list[Cut], made: Future[Any], topology: Future[Topologies]) -> Iterator[Part]:
    """Yield the parts of a batch."""
    for number, (cut, arrays) in enumerate(zip(cuts, made.result(), strict=True)):
        yield Part(cut[2], arrays, mesh, topology, number)


def batches(cuts: list[tuple[Mesh, Cut]]) -> Iterator[tuple[Mesh, list[Cut]]]:
    """Group consecutive cuts of the same mesh into batches."""
    batch: list[Cut] = []
    size = 0
    for number, (mesh, cut) in enumerate(cuts):
        batch.append(cut)
        start, end, _ = cut
        size += end[0] - start[0] + end[FACES] - start[FACES]
        if size >= BATCH or number + 1 == len(cuts) or cuts[number + 1][0] is not mesh:
            yield mesh, batch
            batch, size = [], 0


__all__ = ["Part"]
