"""Parts of a scene in the form that most programs use, made on another thread while the caller takes earlier ones.

Where they begin is in ``_scene``; the arrays are made by native code.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from polyhaul import _polyhaul
from polyhaul._arrays import Flags, Floats, Indices, Slots, view
from polyhaul._mesh import Counts, Mesh, mesh_from_native

#: A section of a mesh: from which counts to which, and its name.
Cut: TypeAlias = "tuple[Counts, Counts, str]"

#: The start of every mesh.
NOTHING: Counts = (0, 0, 0, 0, 0, 0, 0)

#: Which of the counts is that of faces.
FACES = 3

#: How many positions and faces are made at a time.
BATCH = 1 << 16


class Part:
    """A part of a scene, such as an object of a file, in the form that most programs use: with its own positions;
    uvs and normals per corner; materials and smoothing per face; and edges. Made by :meth:`Scene.parts`. The arrays are
    read-only.
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

    #: The name of the object or group; empty if the file gives none.
    name: str
    #: The same part as a mesh, with everything else: colors, columns, groups, lines, curves.
    mesh: Mesh
    #: (n, 3) float32: the positions that its elements use, or all of its own if those were asked for.
    positions: Floats
    #: (c,) uint32: the position of each corner of the faces.
    corner_positions: Indices
    #: (f + 1,) uint32: the first corner of each face, then the number of corners.
    face_offsets: Indices
    #: (c, 2) float32; ``None`` if there are none.
    uvs: Floats | None
    #: (c, 3) float32, NaN for corners without one; ``None`` if there are none.
    normals: Floats | None
    #: Whether every corner has a finite normal other than zero.
    has_all_normals: bool
    #: Whether, moreover, all of them have a length of 1, up to the rounding of a file with three decimals.
    has_unit_normals: bool
    #: (f,) int32: per face an index into ``materials``, -1 for none; ``None`` if the faces have no materials.
    material_slots: Slots | None
    #: (f,) bool: whether a face is shaded smoothly; ``None`` if not specified.
    smooth: Flags | None
    #: The materials of its faces, each once, in the order of their first faces: indices into ``scene.materials``, or slots
    #: of an object that was not read.
    materials: list[int]
    #: (n, 4) float32: red, green, blue, alpha of each position; ``None`` if there are none.
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
        """(e, 2) uint32: the positions of each edge, the lower one first: those of polylines, then those of faces. Waits
        until they are made."""
        return view(self._found()[0], np.uint32, 2)

    @property
    def corner_edges(self) -> Indices:
        """(c,) uint32: the edge from each corner to the next one of its face, ``0xFFFFFFFF`` where both have the same
        position."""
        return view(self._found()[1], np.uint32)

    @property
    def has_clean_faces(self) -> bool:
        """As :meth:`Mesh.has_clean_faces`."""
        return self._found()[2]

    def _found(self) -> tuple[Any, Any, bool]:
        topology, number = self._topology
        return topology.result()[number]

    def __repr__(self) -> str:
        return f"<polyhaul.Part {self.name!r}: {len(self.positions)} positions, {self.face_count} faces>"


#: The edges, the edges of corners, and whether the faces are clean, of each part of a batch.
Topologies: TypeAlias = "list[tuple[Any, Any, bool]]"


def made_ahead(
    cuts: list[tuple[Mesh, Cut]], missing_uv: float, normals: bool, unused_positions: bool, threads: int | None
) -> Generator[Part]:
    """The parts in order, while another thread makes the next ones and the topology of the last ones."""

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
            # Nobody waits for these any more.
            for *_, made, topology in waiting:
                made.cancel()
                topology.cancel()


def taken(mesh: Mesh, cuts: list[Cut], made: Future[Any], topology: Future[Topologies]) -> Iterator[Part]:
    """The parts of a batch."""
    for number, (cut, arrays) in enumerate(zip(cuts, made.result(), strict=True)):
        yield Part(cut[2], arrays, mesh, topology, number)


def batches(cuts: list[tuple[Mesh, Cut]]) -> Iterator[tuple[Mesh, list[Cut]]]:
    """The cuts in order, some of the same mesh at a time."""
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
