"""polyhaul in Blender: import and export of OBJ, PLY and STL.

Registers the operators of ``operators`` in the menus File > Import and File > Export, as handlers of files dropped into
the viewport, and as collection exporters. This module does not read or write files.
"""

from __future__ import annotations

from typing import Any

import bpy

from . import operators

#: The label and the file extensions of each format.
FORMATS = {
    "obj": ("Wavefront OBJ", ".obj;.obj.gz;.obj.zst;.obj.lz4"),
    "ply": ("PLY", ".ply;.ply.gz;.ply.zst;.ply.lz4"),
    "stl": ("STL", ".stl;.stl.gz;.stl.zst;.stl.lz4"),
}


def handler(name: str) -> type:
    """Create the file handler of a format, for dropped files and collection exporters."""
    label, extensions = FORMATS[name]

    def poll_drop(cls: type, context: Any) -> bool:
        return context.area is not None and context.area.type in {"VIEW_3D", "OUTLINER"}

    fields = {
        "bl_idname": f"IO_FH_polyhaul_{name}",
        "bl_label": f"{label} (polyhaul)",
        "bl_import_operator": f"polyhaul.{name}_import",
        "bl_export_operator": f"polyhaul.{name}_export",
        "bl_file_extensions": extensions,
        "poll_drop": classmethod(poll_drop),
    }
    return type(f"IO_FH_polyhaul_{name}", (bpy.types.FileHandler,), fields)


CLASSES = (*operators.CLASSES, *(handler(name) for name in FORMATS))


def import_menu(self: Any, context: Any) -> None:
    for name, (label, _) in FORMATS.items():
        self.layout.operator(f"polyhaul.{name}_import", text=f"{label} (polyhaul)")


def export_menu(self: Any, context: Any) -> None:
    for name, (label, _) in FORMATS.items():
        self.layout.operator(f"polyhaul.{name}_export", text=f"{label} (polyhaul)")


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.TOPBAR_MT_file_import.append(import_menu)
    bpy.types.TOPBAR_MT_file_export.append(export_menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_export.remove(export_menu)
    bpy.types.TOPBAR_MT_file_import.remove(import_menu)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
