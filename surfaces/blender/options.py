"""Options of the operators: Blender's own names and defaults, with our descriptions."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

AXES = [
    ("X", "X", "Positive X axis"),
    ("Y", "Y", "Positive Y axis"),
    ("Z", "Z", "Positive Z axis"),
    ("NEGATIVE_X", "-X", "Negative X axis"),
    ("NEGATIVE_Y", "-Y", "Negative Y axis"),
    ("NEGATIVE_Z", "-Z", "Negative Z axis"),
]

PATH_MODES = [
    ("AUTO", "Auto", "Relative paths for files in the same folder and below, absolute paths for others"),
    ("ABSOLUTE", "Absolute", "Absolute paths"),
    ("RELATIVE", "Relative", "Relative paths where possible"),
    ("MATCH", "Match", "Absolute or relative paths as in the scene"),
    ("STRIP", "Strip", "File names only"),
    ("COPY", "Copy", "Copy the files next to the exported file"),
]

COLOR_SPACES = [
    ("NONE", "None", "No colors"),
    ("SRGB", "sRGB", "The file's colors are in sRGB"),
    ("LINEAR", "Linear", "The file's colors are linear"),
]


def axis(name: str, default: str) -> Any:
    """Return an enum property for an axis of the file."""
    return EnumProperty(name=name, items=AXES, default=default)


def flag(name: str, default: bool, description: str) -> Any:
    """Return a boolean property."""
    return BoolProperty(name=name, default=default, description=description)


class ExportOptions:
    """The options of all exporters."""

    export_selected_objects: flag("Export Selected Objects", False, "Export only the selected objects")
    apply_modifiers: flag("Apply Modifiers", True, "Export meshes with their modifiers")
    collection: StringProperty(name="Collection", description="Export only the objects of this collection", options={"HIDDEN"})
    export_eval_mode: EnumProperty(
        name="Object Properties",
        items=[
            ("DAG_EVAL_RENDER", "Render", "Export objects as they are rendered"),
            ("DAG_EVAL_VIEWPORT", "Viewport", "Export objects as the viewport shows them"),
        ],
        default="DAG_EVAL_VIEWPORT",
        description="How objects are evaluated; by default, exporters of collections to PLY and STL evaluate for rendering",
    )
    # The name of this option in Blender 5.3.
    evaluation_mode: EnumProperty(
        name="Evaluation Mode", items=[("RENDER", "Render", ""), ("VIEWPORT", "Viewport", "")], default="VIEWPORT", options={"HIDDEN"}
    )


class ObjExportOptions(ExportOptions):
    """The options of Blender's OBJ exporter."""

    forward_axis: axis("Forward Axis", "NEGATIVE_Z")
    up_axis: axis("Up Axis", "Y")
    global_scale: FloatProperty(name="Scale", default=1.0, min=0.0001, max=10000.0, description="Scale factor of the scene")
    export_animation: flag("Export Animation", False, "Export a file for each frame")
    start_frame: IntProperty(name="Start Frame", default=-(2**31), description="First frame; the scene's first frame by default")
    end_frame: IntProperty(name="End Frame", default=2**31 - 1, description="Last frame; the scene's last frame by default")
    apply_transform: flag("Apply Transform", True, "Apply the transforms of objects to positions")
    export_uv: flag("Export UVs", True, "Write texture coordinates")
    export_normals: flag("Export Normals", True, "Write normals: one per flat face, one per corner of smooth faces")
    export_colors: flag("Export Colors", False, "Write the active vertex colors")
    export_materials: flag("Export Materials", True, "Write a material library")
    export_pbr_extensions: flag("PBR Extensions", False, "Write roughness, metallic, sheen, coat, anisotropy and transmission")
    path_mode: EnumProperty(name="Path Mode", items=PATH_MODES, default="AUTO", description="How paths of images are written")
    export_triangulated_mesh: flag("Triangulated Mesh", False, "Triangulate faces")
    export_curves_as_nurbs: flag("Curves as NURBS", False, "Write curves as NURBS instead of meshes")
    export_object_groups: flag("Object Groups", False, "Write objects as groups, named after the object and its mesh")
    export_material_groups: flag("Material Groups", False, "Start a group for each material")
    export_vertex_groups: flag("Vertex Groups", False, "Start a group for the vertex group with the most weight on a face")
    export_smooth_groups: flag("Smooth Groups", False, "Number the smooth regions between sharp edges")
    smooth_group_bitflags: flag("Bitflags", False, "Number smooth regions by bits that adjacent regions do not share")


class PlyExportOptions(ExportOptions):
    """The options of Blender's PLY exporter."""

    forward_axis: axis("Forward Axis", "Y")
    up_axis: axis("Up Axis", "Z")
    global_scale: FloatProperty(name="Scale", default=1.0, min=0.0001, max=10000.0, description="Scale factor of the scene")
    export_uv: flag("Export UVs", True, "Write texture coordinates")
    export_normals: flag("Vertex Normals", False, "Write vertex normals")
    export_colors: EnumProperty(name="Vertex Colors", items=COLOR_SPACES, default="SRGB")
    export_attributes: flag("Vertex Attributes", True, "Write other vertex attributes and the weights of vertex groups")
    export_triangulated_mesh: flag("Triangulated Mesh", False, "Triangulate faces")
    ascii_format: flag("ASCII", False, "Write text")


class StlExportOptions(ExportOptions):
    """The options of Blender's STL exporter."""

    forward_axis: axis("Forward Axis", "Y")
    up_axis: axis("Up Axis", "Z")
    global_scale: FloatProperty(name="Scale", default=1.0, min=1e-6, max=1e6, description="Scale factor of the scene")
    use_scene_unit: flag("Scene Unit", False, "Apply the unit scale of the scene")
    use_batch: flag("Batch Export", False, "Export a file for each object")
    ascii_format: flag("ASCII", False, "Write text")


def part_axes(operator: Any) -> None:
    """Change the forward axis of an operator to the next axis if both axes are parallel, like Blender."""
    if operator.forward_axis[-1] == operator.up_axis[-1]:
        names = [name for name, _, _ in AXES]
        operator.forward_axis = names[(names.index(operator.forward_axis) + 1) % len(names)]


class ImportOptions:
    """The options of all importers."""

    use_local_origin: flag(
        "Local Origin",
        True,
        "If coordinates are too far from the origin for 32-bit floats, subtract a point from them, and keep it in the property "
        "`polyhaul_origin` of the objects",
    )
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    files: bpy.props.CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})


class ObjImportOptions(ImportOptions):
    """The options of Blender's OBJ importer."""

    global_scale: FloatProperty(name="Scale", default=1.0, min=0.0001, max=10000.0, description="Scale factor of the objects")
    clamp_size: FloatProperty(
        name="Clamp Bounding Box", default=0.0, min=0.0, max=1000.0, description="Maximum size of the bounding box; 0 for no limit"
    )
    forward_axis: axis("Forward Axis", "NEGATIVE_Z")
    up_axis: axis("Up Axis", "Y")
    use_split_objects: flag("Split By Object", True, "Create an object for each `o` statement")
    use_split_groups: flag("Split By Group", False, "Create an object for each `g` statement")
    import_vertex_groups: flag("Vertex Groups", False, "Create a vertex group for each `g` statement")
    validate_meshes: flag("Validate Meshes", True, "Drop faces that Blender cannot edit")
    close_spline_loops: flag("Detect Cyclic Curves", True, "Close curves that end where they start")
    collection_separator: StringProperty(name="Path Separator", description="Separator of collection names in object names")
    mtl_name_collision_mode: EnumProperty(
        name="Material Name Collision",
        items=[
            ("MAKE_UNIQUE", "Make Unique", "Create new materials with unique names"),
            ("REFERENCE_EXISTING", "Reference Existing", "Use existing materials with the same names"),
        ],
        default="MAKE_UNIQUE",
    )


class PlyImportOptions(ImportOptions):
    """The options of Blender's PLY importer."""

    global_scale: FloatProperty(name="Scale", default=1.0, min=1e-6, max=1e6, description="Scale factor of the object")
    use_scene_unit: flag("Scene Unit", False, "Apply the unit scale of the scene")
    forward_axis: axis("Forward Axis", "Y")
    up_axis: axis("Up Axis", "Z")
    import_colors: EnumProperty(name="Vertex Colors", items=COLOR_SPACES, default="SRGB")
    import_attributes: flag("Vertex Attributes", True, "Import other vertex attributes")
    merge_verts: flag("Merge Vertices", False, "Merge vertices at the same position")


class StlImportOptions(ImportOptions):
    """The options of Blender's STL importer."""

    global_scale: FloatProperty(name="Scale", default=1.0, min=1e-6, max=1e6, description="Scale factor of the object")
    use_scene_unit: flag("Scene Unit", False, "Apply the unit scale of the scene")
    use_facet_normal: flag("Facet Normals", False, "Use the normals of the file")
    forward_axis: axis("Forward Axis", "Y")
    up_axis: axis("Up Axis", "Z")
    use_mesh_validate: flag("Validate Mesh", True, "Drop faces that Blender cannot edit")
