"""Export and import operators for OBJ, PLY and STL.

``gathering`` creates the scene to write, and ``building`` creates objects from files. Operators called from scripts run
synchronously. polyhaul runs each job on all cores.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import bpy
import polyhaul
from bpy.props import StringProperty

from . import building, gathering, options, paths, rendered

#: polyhaul options with the same names as in Blender.
WRITTEN = (
    "forward_axis",
    "up_axis",
    "global_scale",
    "export_uv",
    "export_normals",
    "export_colors",
    "export_materials",
    "export_pbr_extensions",
    "export_triangulated_mesh",
    "export_object_groups",
    "export_material_groups",
    "export_vertex_groups",
)


class Job:
    """A job with progress next to the pointer, and messages at the end."""

    def __init__(self, operator: Any, context: Any) -> None:
        self._operator = operator
        self._manager = context.window_manager

    def __enter__(self) -> Job:
        self._manager.progress_begin(0, 100)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self._manager.progress_end()
        if isinstance(error, (polyhaul.Error, OSError, ValueError)):
            # The message includes the location in the file.
            self._operator.report({"ERROR"}, str(error))
            return True
        return False

    def progress(self, completed: int, total: int | None) -> None:
        if total:
            self._manager.progress_update(100 * completed // total)

    def wrote(self, path: str, report: polyhaul.Report) -> None:
        """Report a file that was written, and data that its format cannot store."""
        for warning in report.warnings:
            self._operator.report({"INFO"}, str(warning))
        self._say(path, report.bytes_out, report.seconds)

    def read(self, path: str, report: polyhaul.Report) -> None:
        """Report a file that was read, and its problems."""
        for warning in report.warnings:
            self._operator.report({"INFO" if warning.severity == "note" else "WARNING"}, str(warning))
        self._say(path, report.bytes_in, report.seconds)

    def _say(self, path: str, moved: int, seconds: float) -> None:
        rate = moved / max(seconds, 1e-9) / 1e6
        self._operator.report({"INFO"}, f"{os.path.basename(path)}: {moved / 1e6:.1f} MB in {seconds:.2f} s ({rate:.0f} MB/s)")


@contextmanager
def object_mode(context: Any) -> Iterator[None]:
    """Switch to object mode for the duration of the block, which updates the mesh with changes from edit mode."""
    mode = context.object.mode if context.object else "OBJECT"
    if mode == "OBJECT":
        yield
        return
    bpy.ops.object.mode_set(mode="OBJECT")
    try:
        yield
    finally:
        bpy.ops.object.mode_set(mode=mode)


def split(path: str) -> tuple[str, str]:
    """Split a path before its extension, which includes the extension of compressed files: ``.obj.gz``."""
    stem, extension = os.path.splitext(path)
    if extension.lower() in (".gz", ".zst", ".lz4"):
        stem, format = os.path.splitext(stem)
        extension = format + extension
    return stem, extension


class Exporter:
    """Base class of the exporters."""

    #: Whether Blender evaluates exported collections for rendering.
    renders_collections: ClassVar[bool] = False
    filepath: StringProperty(subtype="FILE_PATH")
    check_existing: bpy.props.BoolProperty(default=True, options={"HIDDEN"})
    bl_options = {"PRESET"}

    def invoke(self, context: Any, event: Any) -> set[str]:
        if not self.filepath:
            stem = os.path.splitext(bpy.data.filepath)[0] or "untitled"
            self.filepath = stem + self.filename_ext
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def check(self, context: Any) -> bool:
        if self.filename_ext in split(self.filepath)[1].lower():
            return False
        self.filepath = bpy.path.ensure_ext(self.filepath, self.filename_ext)
        return True

    def execute(self, context: Any) -> set[str]:
        options.part_axes(self)
        written = []
        with object_mode(context), Job(self, context) as job:
            if self.collection and self.collection not in bpy.data.collections:
                raise ValueError(f"Unable to find collection '{self.collection}'")
            if self.is_evaluated_for_render():
                return rendered.export(self, context)
            written = [self.write(context, path, job) for path in self.paths(context)]
        return {"FINISHED"} if written and all(written) else {"CANCELLED"}

    def is_evaluated_for_render(self) -> bool:
        """Return whether objects are evaluated for rendering. The default is the same as in Blender."""
        modes = ("export_eval_mode", "evaluation_mode")
        if not any(self.properties.is_property_set(mode) for mode in modes):
            return bool(self.collection) and self.renders_collections
        return self.export_eval_mode == "DAG_EVAL_RENDER" or self.evaluation_mode == "RENDER"

    def paths(self, context: Any) -> Iterator[str]:
        """Yield the files to write, sequentially."""
        yield bpy.path.abspath(self.filepath)

    def write(self, context: Any, path: str, job: Job) -> bool:
        """Write a file. Return ``False`` if there is nothing to write."""
        scene = gathering.gather(context.evaluated_depsgraph_get(), gathering.Settings(self, path))
        if not scene.objects:
            self.report({"WARNING"}, "Nothing to export")
            return False
        self.write_scene(context, scene, path, job)
        return True

    def write_scene(self, context: Any, scene: polyhaul.Scene, path: str, job: Job) -> None:
        """Write a scene in the format of the operator, regardless of the file name."""
        report = polyhaul.write(scene, path, format=self.format, progress=job.progress, **self.written(context))
        job.wrote(path, report)


class EXPORT_OT_polyhaul_obj(bpy.types.Operator, Exporter, options.ObjExportOptions):
    """Save the scene as Wavefront OBJ, as Blender does, in a fraction of the time"""

    bl_idname = "polyhaul.obj_export"
    format: ClassVar[str] = "obj"
    stores: ClassVar[set[str]] = {"edges", "shading", "curves", "long faces"}
    bl_label = "Export OBJ (polyhaul)"
    filename_ext = ".obj"
    filter_glob: StringProperty(default="*.obj;*.mtl", options={"HIDDEN"})

    def paths(self, context: Any) -> Iterator[str]:
        scene, (stem, extension) = context.scene, split(bpy.path.abspath(self.filepath))
        if not self.export_animation:
            yield stem + extension
            return
        first = scene.frame_start if self.start_frame == -(2**31) else self.start_frame
        last = scene.frame_end if self.end_frame == 2**31 - 1 else self.end_frame
        before, part = scene.frame_current, scene.frame_subframe
        try:
            for frame in range(first, last + 1):
                scene.frame_set(frame)
                yield f"{stem}{frame:04d}{extension}"
        finally:
            scene.frame_set(before, subframe=part)

    def written(self, context: Any) -> dict[str, Any]:
        groups = "bitflags" if self.smooth_group_bitflags else "groups"
        smoothing = groups if self.export_smooth_groups else "flags"
        return {name: getattr(self, name) for name in WRITTEN} | {"smoothing": smoothing, "dialect": "blender"}


class EXPORT_OT_polyhaul_ply(bpy.types.Operator, Exporter, options.PlyExportOptions):
    """Save the scene as one PLY mesh"""

    bl_idname = "polyhaul.ply_export"
    format: ClassVar[str] = "ply"
    stores: ClassVar[set[str]] = {"edges", "vertices"}
    renders_collections: ClassVar[bool] = True
    bl_label = "Export PLY (polyhaul)"
    filename_ext = ".ply"
    filter_glob: StringProperty(default="*.ply", options={"HIDDEN"})

    def written(self, context: Any) -> dict[str, Any]:
        names = ("forward_axis", "up_axis", "global_scale", "export_uv", "export_normals", "export_triangulated_mesh")
        colors = self.export_colors != "NONE"
        options = {name: getattr(self, name) for name in names}
        return options | {"ascii": self.ascii_format, "export_colors": colors, "dialect": "blender"}


class EXPORT_OT_polyhaul_stl(bpy.types.Operator, Exporter, options.StlExportOptions):
    """Save the scene as STL triangles"""

    bl_idname = "polyhaul.stl_export"
    format: ClassVar[str] = "stl"
    stores: ClassVar[set[str]] = {"triangles", "long faces"}
    renders_collections: ClassVar[bool] = True
    bl_label = "Export STL (polyhaul)"
    filename_ext = ".stl"
    filter_glob: StringProperty(default="*.stl", options={"HIDDEN"})

    def write(self, context: Any, path: str, job: Job) -> bool:
        if not self.use_batch:
            return super().write(context, path, job)
        scene = gathering.gather(context.evaluated_depsgraph_get(), gathering.Settings(self, path))
        names = paths.BatchNames(*split(path))
        for item in scene.objects:
            single = polyhaul.Scene()
            single.add(item.mesh, name=item.name, transform=item.transform)
            self.write_scene(context, single, names.of(item.name), job)
        return len(scene.objects) > 0

    def written(self, context: Any) -> dict[str, Any]:
        units = context.scene.unit_settings
        unit = units.scale_length if self.use_scene_unit and units.system != "NONE" else 1.0
        axes = {"forward_axis": self.forward_axis, "up_axis": self.up_axis}
        return axes | {"global_scale": self.global_scale * unit, "ascii": self.ascii_format, "dialect": "blender"}


class Importer:
    """Base class of the importers."""

    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    bl_options = {"UNDO", "PRESET"}
    #: Whether to keep positions that elements do not use.
    keeps_unused: ClassVar[bool] = False
    #: Whether files are unordered sets of triangles, without duplicates.
    is_soup: ClassVar[bool] = False
    #: The name of the color attribute.
    color_name: ClassVar[str] = "Color"
    #: The report type for files without anything to import.
    emptiness: ClassVar[str] = "ERROR"

    def invoke(self, context: Any, event: Any) -> set[str]:
        # Dropped files are set before `invoke`.
        if self.filepath or self.files:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: Any) -> set[str]:
        options.part_axes(self)
        builder = building.Builder(context, self)
        for path in self.paths():
            # A file that cannot be read is reported, and the remaining files are imported.
            with Job(self, context) as job:
                self.read(path, builder, job)
        return {"FINISHED"} if builder.finish() else {"CANCELLED"}

    def read(self, path: str, builder: building.Builder, job: Job) -> None:
        """Read a file."""
        with warnings.catch_warnings():
            # The warnings are reported individually.
            warnings.simplefilter("ignore", polyhaul.PolyhaulWarning)
            # Blender uses float32; a warning reports the loss of precision.
            precision = "auto" if self.use_local_origin else "single"
            scene = polyhaul.read(path, on_error="warn", progress=job.progress, precision=precision, **self.reading())
        if not builder.build(scene, path):
            self.report({self.emptiness}, f"{path}: nothing to import")
        job.read(path, scene.report)

    def paths(self) -> list[str]:
        """Return the files that were selected or dropped."""
        chosen = [os.path.join(self.directory, file.name) for file in self.files if file.name]
        path = bpy.path.abspath(self.filepath)
        if not chosen or (os.path.isfile(path) and path not in chosen):
            chosen.insert(0, path)
        return chosen

    def reading(self) -> dict[str, Any]:
        return {}


class IMPORT_OT_polyhaul_obj(bpy.types.Operator, Importer, options.ObjImportOptions):
    """Load Wavefront OBJ files"""

    bl_idname = "polyhaul.obj_import"
    bl_label = "Import OBJ (polyhaul)"
    filter_glob: StringProperty(default="*.obj;*.obj.gz;*.obj.zst;*.obj.lz4", options={"HIDDEN"})
    emptiness = "WARNING"


class IMPORT_OT_polyhaul_ply(bpy.types.Operator, Importer, options.PlyImportOptions):
    """Load PLY files"""

    bl_idname = "polyhaul.ply_import"
    bl_label = "Import PLY (polyhaul)"
    filter_glob: StringProperty(default="*.ply;*.ply.gz;*.ply.zst;*.ply.lz4", options={"HIDDEN"})
    keeps_unused = True
    color_name = "Col"


class IMPORT_OT_polyhaul_stl(bpy.types.Operator, Importer, options.StlImportOptions):
    """Load STL files"""

    bl_idname = "polyhaul.stl_import"
    bl_label = "Import STL (polyhaul)"
    filter_glob: StringProperty(default="*.stl;*.stl.gz;*.stl.zst;*.stl.lz4", options={"HIDDEN"})
    is_soup = True

    def reading(self) -> dict[str, Any]:
        # Weld corners with equal coordinates, like Blender.
        return {"weld": True}


CLASSES = (
    EXPORT_OT_polyhaul_obj,
    EXPORT_OT_polyhaul_ply,
    EXPORT_OT_polyhaul_stl,
    IMPORT_OT_polyhaul_obj,
    IMPORT_OT_polyhaul_ply,
    IMPORT_OT_polyhaul_stl,
)
