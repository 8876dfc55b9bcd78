# Native code of polyhaul. The dicts have the keys of the structs of the same names in src/.

import os
import sys
from collections.abc import Callable
from typing import Any, Literal, Self, final

from polyhaul._errors import Error

__all__ = [
    "Array",
    "CAN_OPEN_URLS",
    "NativeMesh",
    "NativeProfile",
    "NativeRender",
    "__version__",
    "convert",
    "flat_sections",
    "format_rows",
    "gather",
    "import_texture",
    "info",
    "mesh_is_clean",
    "mesh_section",
    "mesh_transform",
    "mesh_triangulate",
    "mesh_weld",
    "per_corner",
    "preview",
    "preview_scene",
    "read",
    "read_array",
    "read_image",
    "read_tables",
    "run_command",
    "topologies",
    "validate",
    "write",
    "write_image",
    "write_rows",
    "write_tables",
]

__version__: str

@final
class Array:
    def __len__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class NativeMesh:
    def __new__(cls, arrays: dict[str, Any]) -> Self: ...
    @staticmethod
    def fitting(given: dict[str, Any]) -> NativeMesh | None: ...
    def arrays(self) -> dict[str, Any]: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int, int, int]: ...

@final
class NativeProfile:
    def __new__(cls, spans: bool, samples: bool) -> Self: ...
    def end(self) -> None: ...
    def verdict(self) -> dict[str, Any]: ...
    def files(self) -> list[dict[str, Any]]: ...
    def phases(self) -> list[tuple[str, float]]: ...
    def picture(self, title: str) -> str: ...
    def write(self, kind: Literal["trace", "report", "chart"], path: str | os.PathLike[str], title: str) -> None: ...

@final
class NativeRender:
    def count(self, kind: str) -> int: ...
    def entity(
        self, kind: str, index: int
    ) -> tuple[str, tuple[str, str] | None, int | None, int | None, str | None, str | None, int | None]: ...
    def is_named(self, index: int) -> bool: ...
    def attribute_before(self, index: int) -> int | None: ...
    def parameters(self, kind: str, index: int) -> list[tuple[str, str, Array | list[str]]]: ...
    def shape(self, index: int) -> tuple[str, int | None, int | None, int | None, tuple[Any, ...]]: ...
    def definitions(self) -> list[tuple[str, int, int, bool]]: ...
    def world_shapes(self) -> list[tuple[int, int]]: ...
    def options(self) -> list[tuple[str, str, bool]]: ...
    @property
    def transform_times(self) -> tuple[float, float] | None: ...
    def place(self, transform: int | None) -> tuple[list[list[float]], list[list[float]]]: ...
    def instance_definitions(self) -> Array: ...
    def instances_move(self) -> bool: ...
    def instance_transforms(self, closes: bool) -> Array: ...
    def instance_transforms32(self, closes: bool) -> Array: ...

def preview(
    source: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
    look: dict[str, Any],
) -> tuple[Any, ...]: ...
def preview_scene(scene: dict[str, Any], look: dict[str, Any], threads: int | None) -> tuple[Any, ...]: ...
def read(
    source: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
    flatten: bool,
    turn: tuple[tuple[str, str] | None, float],
    writable: bool,
) -> tuple[dict[str, Any], dict[str, Any]]: ...
#: Whether native code opens URLs of S3, Google, Azure and web servers.
CAN_OPEN_URLS: bool

def run_command(words: list[str]) -> int: ...
def mesh_section(
    mesh: NativeMesh, start: tuple[int, ...], end: tuple[int, ...], used_only: bool
) -> NativeMesh: ...
def flat_sections(
    mesh: NativeMesh, cuts: list[tuple[tuple[int, ...], tuple[int, ...]]], missing_uv: float, normals: bool, threads: int | None
) -> list[dict[str, Any]]: ...
def topologies(meshes: list[NativeMesh], threads: int | None) -> list[tuple[Any, Any, bool]]: ...
def mesh_is_clean(mesh: NativeMesh, threads: int | None) -> bool: ...
def mesh_weld(mesh: NativeMesh, threads: int | None) -> NativeMesh: ...
def mesh_triangulate(mesh: NativeMesh, threads: int | None) -> NativeMesh: ...
def mesh_transform(mesh: NativeMesh, matrix: list[list[float]], threads: int | None) -> NativeMesh: ...
def per_corner(mesh: NativeMesh, name: str, missing: float, threads: int | None) -> Any: ...
def write(
    scene: dict[str, Any],
    target: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
) -> dict[str, Any]: ...
def convert(
    source: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
    target: dict[str, Any],
    writing: dict[str, Any],
) -> dict[str, Any]: ...
def info(
    source: dict[str, Any], options: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]: ...
def validate(
    source: dict[str, Any], options: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[bool, Error | None, dict[str, Any]]: ...
def write_rows(
    rows: dict[str, Any],
    ends: tuple[bytes, bytes],
    target: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
) -> dict[str, Any]: ...
def format_rows(
    rows: dict[str, Any], out: Any, run: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[Array | None, int]: ...
def read_tables(
    source: dict[str, Any], options: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[list[tuple[str, int, list[tuple[str, str, Array, Array | None]]]], list[str], list[str], dict[str, Any]]: ...
def import_texture(
    source: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
    how: dict[str, Any],
    target: dict[str, Any],
    writing: dict[str, Any],
) -> tuple[int, int, str, int, dict[str, Any]]: ...
def read_image(
    source: dict[str, Any], options: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[str, Array, tuple[int, int, int], Literal["srgb", "linear"], bool, tuple[list[Any], list[Any], list[Any]], dict[str, Any]]: ...
def write_image(
    image: tuple[Any, tuple[int, ...], str, bool, tuple[list[Any], list[Any], list[Any]]],
    target: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
) -> dict[str, Any]: ...
def read_array(
    source: dict[str, Any], options: dict[str, Any], progress: Callable[[int, int | None], Any] | None
) -> tuple[str, Array, tuple[int, int], dict[str, Any]]: ...
def write_tables(
    tables: list[tuple[str, int, list[tuple[str, Any, Any]]]],
    notes: tuple[list[str], list[str]],
    target: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int, int | None], Any] | None,
) -> dict[str, Any]: ...
def gather(columns: list[tuple[Any, Any]], rows: Any, threads: int | None) -> None: ...
