"""Make other libraries read files with polyhaul: the same results, faster.

A replacement reader only handles files for which its result is identical to the result of the library's own reader. All
other files are read by the library's own reader, including files that polyhaul rejects, so that the library raises its
own error. Explicit conversions are in ``_interop``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

#: Callbacks that restore the replaced readers.
_undo: list[Callable[[], None]] = []


def accelerate(enable: bool = True) -> tuple[str, ...]:
    """Make trimesh, meshio and PyVista use polyhaul, if they are installed.

    - trimesh reads OBJ, PLY, STL and OFF
    - meshio reads OBJ, PLY, STL and OFF
    - PyVista writes OBJ; it also reads OBJ, PLY and STL with polyhaul if the package ``polyhaul-pyvista`` is installed

    The libraries accept the same keywords and return the same results as before, including all digits, types, names,
    order and metadata. If polyhaul cannot reproduce the result for a file, the library's own reader reads it. The
    logger ``polyhaul.accelerate`` of ``logging`` records each file at level DEBUG, with the reason.

    Args:
        enable: ``False`` restores the original readers and writers.

    Returns:
        The names of the accelerated libraries.
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

    # Registered writers do not receive the options that the writers of PLY and STL have.
    writers = getattr(writer_registry, "_custom_ext_writers", None)
    if writers is None:
        return False
    writer_registry.register_writer(".obj", write_obj, override=True)
    _undo.append(lambda: writers.pop(".obj", None))
    return True
