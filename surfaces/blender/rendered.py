"""Export of objects as rendered. Only Blender can evaluate them, so Blender's own exporters write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy


def export(operator: Any, context: Any) -> set[str]:
    """Write the selection of an operator with Blender's exporter for the same format."""
    if operator.filepath.lower().endswith((".gz", ".zst", ".lz4")):
        raise ValueError("objects as rendered cannot be compressed: choose a name without .gz, .zst or .lz4")
    theirs = getattr(bpy.ops.wm, f"{operator.format}_export")
    options = shared_options(operator, theirs)
    has_mode = False
    for mode, value in (("export_eval_mode", "DAG_EVAL_RENDER"), ("evaluation_mode", "RENDER")):
        if mode in options:
            options[mode] = value
            has_mode = True
    operator.report({"INFO"}, "Objects as rendered: written by Blender's own exporter")
    if has_mode or operator.collection:
        return theirs(**options)
    # Without this option, Blender evaluates collections for rendering.
    with everything(context.scene) as collection:
        return theirs(**options | {"collection": collection.name})


def shared_options(operator: Any, theirs: Any) -> dict[str, Any]:
    """Return the options that another operator also has."""
    names = {property.identifier for property in theirs.get_rna_type().properties}
    operator_names = {property.identifier for property in operator.rna_type.properties}
    return {name: getattr(operator, name) for name in names & operator_names - {"rna_type"}}


@contextmanager
def everything(scene: Any) -> Iterator[Any]:
    """Create a temporary collection with the contents of a scene."""
    collection = bpy.data.collections.new("polyhaul")
    try:
        for child in scene.collection.children:
            collection.children.link(child)
        for item in scene.collection.objects:
            collection.objects.link(item)
        yield collection
    finally:
        bpy.data.collections.remove(collection)
