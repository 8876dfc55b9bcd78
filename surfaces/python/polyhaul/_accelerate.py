"""Makes other libraries read files with polyhaul: the same results, faster.

A reader here takes over only what it returns exactly as the library's own reader would; every other file goes to that one,
and so does a file that polyhaul rejects, for the library's own error. Conversions on request are in ``_interop``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

#: What puts back the readers that were replaced.
_undo: list[Callable[[], None]] = []


def accelerate(enable: bool = True) -> tuple[str, ...]:
    """Makes trimesh, meshio and PyVista use polyhaul, as far as they are installed:

    - trimesh reads OBJ, PLY, STL and OFF
    - meshio reads OBJ, PLY, STL and OFF
    - PyVista writes OBJ; it reads OBJ, PLY and STL with polyhaul if the package ``polyhaul-pyvista`` is installed

    They take the same keywords and return what they returned before: the same values in all digits, types, names, order and
    metadata. A file that polyhaul does not return in the same way is read by the library's own reader; the logger
    ``polyhaul.accelerate`` of ``logging`` has a record at level DEBUG for each file, with the reason.

    Args:
        enable: ``False`` undoes it.

    Returns:
        The names of the libraries.
    """
    while _undo:
        _undo.pop()()
    if not enable:
        return ()
    return tuple(name for name, install in (("trimesh", _trimesh), ("meshio", _meshio), ("pyvista", _pyvista)) if install())


def _replace(table: dict[str, Any], key: str, make: Callable[[Any], Any]) -> None:
    before = table.get(key)
    if before is not None:
        table[key] = make(before)
        _undo.append(lambda: table.__setitem__(key, before))


def _trimesh() -> bool:
    try:
        from trimesh.exchange import load, ply
    except ImportError:
        return False
    from polyhaul import _for_trimesh, _ply_for_trimesh

    for key, format, convert in (
        ("obj", "obj", _for_trimesh.load_obj),
        ("off", "off", _for_trimesh.load_off),
        ("stl", "stl", _for_trimesh.load_stl),
        ("stl_ascii", "stl", _for_trimesh.load_stl),
    ):
        _replace(load.mesh_loaders, key, partial(_for_trimesh.loader, format=format, load=convert))
    for name, fill in (("_ply_ascii", _ply_for_trimesh.ascii_data), ("_ply_binary", _ply_for_trimesh.binary_data)):
        _replace(vars(ply), name, partial(_ply_for_trimesh.filler, fill=fill))
    return True


def _meshio() -> bool:
    try:
        from meshio import _helpers
    except ImportError:
        return False
    from polyhaul import _for_meshio

    for format, convert in _for_meshio.READERS.items():
        _replace(_helpers.reader_map, format, partial(_for_meshio.reader, format=format, convert=convert))
    return True


def _pyvista() -> bool:
    try:
        from pyvista.core.utilities import writer_registry
    except ImportError:
        return False
    from polyhaul._for_pyvista import write_obj

    # The writers of PLY and STL have options that a registered writer does not get.
    writers = getattr(writer_registry, "_custom_ext_writers", None)
    if writers is None:
        return False
    writer_registry.register_writer(".obj", write_obj, override=True)
    _undo.append(lambda: writers.pop(".obj", None))
    return True
