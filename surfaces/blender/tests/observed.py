"""What an import leaves in Blender: all that scripts can see of its objects, their data, materials and images."""

from __future__ import annotations

import re
from typing import Any

import bpy
import numpy as np

#: The field of the elements of attributes by type, and how many numbers it has.
FIELDS = {
    "FLOAT": ("value", 1),
    "INT": ("value", 1),
    "INT8": ("value", 1),
    "BOOLEAN": ("value", 1),
    "FLOAT2": ("vector", 2),
    "FLOAT_VECTOR": ("vector", 3),
    "INT32_2D": ("value", 2),
    "INT16_2D": ("value", 2),
    "FLOAT_COLOR": ("color", 4),
    "BYTE_COLOR": ("color", 4),
}

#: What curves and their splines have.
CURVE = ("dimensions", "resolution_u", "resolution_v", "bevel_depth", "fill_mode", "twist_mode", "use_path")
SPLINE = ("type", "order_u", "use_cyclic_u", "use_endpoint_u", "use_bezier_u", "resolution_u", "use_smooth", "material_index")


def everything() -> dict[str, Any]:
    """All of the present file."""
    scene = bpy.context.scene
    return {
        "objects": {item.name: object_of(item) for item in bpy.data.objects},
        "collections": {item.name: collection_of(item) for item in [scene.collection, *bpy.data.collections]},
        "meshes": {item.name: (item.users, mesh_of(item)) for item in bpy.data.meshes},
        "curves": {item.name: (item.users, curve_of(item)) for item in bpy.data.curves},
        "materials": {item.name: material_of(item) for item in bpy.data.materials},
        "images": {item.name: image_of(item) for item in bpy.data.images},
        "selected": [item.name for item in bpy.context.selected_objects],
        "active": getattr(bpy.context.view_layer.objects.active, "name", None),
    }


def collection_of(collection: Any) -> dict[str, Any]:
    return {
        "objects": [item.name for item in collection.objects],
        "children": [item.name for item in collection.children],
    }


def object_of(item: Any) -> dict[str, Any]:
    return {
        "type": item.type,
        "data": getattr(item.data, "name", None),
        "matrix": np.array(item.matrix_world),
        "location": np.array(item.location),
        "scale": np.array(item.scale),
        "materials": [(slot.link, getattr(slot.material, "name", None)) for slot in item.material_slots],
        "groups": {group.name: members(item, group.index) for group in item.vertex_groups},
        "active group": item.vertex_groups.active_index if item.vertex_groups else None,
        "modifiers": [modifier.type for modifier in item.modifiers],
        "properties": dict(item.items()),
    }


def members(item: Any, group: int) -> list[tuple[int, float]]:
    """The vertices of a vertex group, and their weights."""
    found = ((vertex.index, member) for vertex in item.data.vertices for member in vertex.groups)
    return [(vertex, member.weight) for vertex, member in found if member.group == group]


def mesh_of(data: Any) -> dict[str, Any]:
    """A mesh. Its custom normals are compared as they are shown."""
    data.update()
    return {
        "counts": tuple(map(len, (data.vertices, data.edges, data.polygons, data.loops))),
        "vertices": numbers(data.vertices, "co", 3),
        "edges": {tuple(sorted(edge.vertices)) for edge in data.edges},
        "loose edges": {tuple(sorted(edge.vertices)) for edge in data.edges if edge.is_loose},
        "faces": [tuple(face.vertices) for face in data.polygons],
        "slots": [face.material_index for face in data.polygons],
        "smooth": [face.use_smooth for face in data.polygons],
        "sharp edges": {tuple(sorted(edge.vertices)) for edge in data.edges if edge.use_edge_sharp},
        "materials": [getattr(material, "name", None) for material in data.materials],
        "normals": numbers(data.corner_normals, "vector", 3),
        "has normals": data.has_custom_normals,
        "uvs": [(layer.name, layer.active, layer.active_render, numbers(layer.uv, "vector", 2)) for layer in data.uv_layers],
        "colors": [(layer.name, layer.data_type, layer.domain) for layer in data.color_attributes],
        "active color": data.color_attributes.active_color_name,
        "rendered color": data.color_attributes.default_color_name,
        "attributes": {item.name: attribute_of(item) for item in data.attributes if item.name not in BUILT_IN},
        "properties": dict(data.items()),
    }


#: Attributes that are compared as something else.
BUILT_IN = {"position", ".edge_verts", ".corner_vert", ".corner_edge", "material_index", "sharp_face", "sharp_edge", "custom_normal"}


def attribute_of(attribute: Any) -> tuple[str, str, np.ndarray | None]:
    field, width = FIELDS.get(attribute.data_type, (None, 0))
    values = None if field is None else numbers(attribute.data, field, width)
    return attribute.data_type, attribute.domain, values


def numbers(collection: Any, field: str, width: int) -> np.ndarray:
    values = np.empty(len(collection) * width, np.float32)
    collection.foreach_get(field, values)
    return values.reshape(-1, width)


def curve_of(data: Any) -> dict[str, Any]:
    contents = {name: getattr(data, name) for name in CURVE}
    contents["materials"] = [getattr(material, "name", None) for material in data.materials]
    contents["splines"] = [
        {name: getattr(spline, name) for name in SPLINE} | {"points": numbers(spline.points, "co", 4)} for spline in data.splines
    ]
    return contents


def material_of(material: Any) -> dict[str, Any]:
    contents: dict[str, Any] = {
        "users": material.users,
        "color": np.array(material.diffuse_color),
        "numbers": np.array([material.metallic, material.roughness, material.specular_intensity, material.alpha_threshold]),
        "method": (material.surface_render_method, material.use_backface_culling),
    }
    tree = material.node_tree
    if tree is None:
        return contents
    contents["nodes"] = {node.name: node_of(node) for node in tree.nodes}
    contents["links"] = {
        (link.from_node.name, link.from_socket.name, link.to_node.name, link.to_socket.name) for link in tree.links
    }
    return contents


def node_of(node: Any) -> dict[str, Any]:
    values = {socket.name: value_of(socket) for socket in node.inputs if hasattr(socket, "default_value")}
    contents = {"type": node.type, "label": node.label, "location": np.array(node.location), "values": values}
    if node.type == "TEX_IMAGE":
        contents["image"] = getattr(node.image, "name", None)
        contents["modes"] = (node.projection, node.interpolation, node.extension)
    return contents


def value_of(socket: Any) -> Any:
    value = socket.default_value
    return value if isinstance(value, (str, bool)) else np.array(value, np.float32) if socket.type != "MENU" else value


def image_of(image: Any) -> dict[str, Any]:
    return {
        "users": image.users,
        "path": image.filepath,
        "source": image.source,
        "size": tuple(image.size),
        "space": image.colorspace_settings.name,
        "alpha": image.alpha_mode,
    }


#: What the guide says about differences: which they are, and what the file must have for them; nothing if it is enough to
#: be of the format.
DOCUMENTED: dict[str, list[tuple[str, str]]] = {
    "obj": [
        (r"/sharp edges", "normals"),
        (r"/smooth/", "smoothing and normals"),
        (r"/(smooth/|normals)", "smoothing across groups"),
        (r"/has normals", "normals of some"),
        (r"/normals", "normals of some"),
        (r"^/meshes/.*/|^/objects/.*/(scale|matrix)", "repeated corners"),
        (r"^/meshes/.*/|^/objects/.*/(scale|matrix)", "two corners"),
        (r"^/meshes/.*/(counts|vertices|attributes|colors)|^/objects|^/coll|^/meshes:|^/active|^/selected", "points"),
        (r"", "loose object"),
        (r"", "unnamed group"),
        (r"", "faces behind a curve"),
        (r"color|attributes", "colors of some"),
        (r"/materials|/slots", "unused material"),
        (r"/(groups|active group)", "unused group"),
        (r"/values/Alpha", "Tr"),
        (r"^/materials|^/images", "norm"),
        (r"/Normal Map/values/Strength", "bump"),
        (r"^/materials/.*/(links|nodes)", "textures of one input"),
        (r"/normals", "equal faces"),
    ],
    "ply": [
        (r"^/meshes", "repeated corners"),
        (r"^/meshes/.*/(edges|loose|counts)", "two corners"),
        (r"/(uvs|attributes)", "other names of uvs"),
        (r"/(uvs|attributes)", "uvs without faces"),
        (r"/normals", "equal positions"),
    ],
    "stl": [("", "no triangles")],
}


def is_documented(kind: str, odd: set[str], difference: str) -> bool:
    """Whether the guide explains a difference in a file with some oddities."""
    return any(oddity in odd and re.search(pattern, difference) for pattern, oddity in DOCUMENTED[kind])


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two observations differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if list(ours) != list(theirs):
            missing, extra = [key for key in theirs if key not in ours], [key for key in ours if key not in theirs]
            if missing or extra:
                return [f"{path}: without {missing}, with {extra}"]
        return [found for key in theirs for found in differences(ours[key], theirs[key], f"{path}/{key}")]
    if isinstance(theirs, np.ndarray) and isinstance(ours, np.ndarray):
        if path.endswith("normals") and ours.shape == theirs.shape:
            # Blender's two angles do not reach some directions.
            theirs = np.where(np.abs(np.linalg.norm(theirs, axis=-1, keepdims=True) - 1) > 1e-2, ours, theirs)
        tolerance = 2e-2 if path.endswith("normals") else 1e-6
        if ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6, atol=tolerance, equal_nan=True):
            return []
        return [f"{path}: {shown(ours)}, and Blender has {shown(theirs)}"]
    if isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return [found for at, (mine, other) in enumerate(pairs) for found in differences(mine, other, f"{path}/{at}")]
    return [] if ours == theirs else [f"{path}: {shown(ours)}, and Blender has {shown(theirs)}"]


def shown(value: Any) -> str:
    text = " ".join(str(value.tolist() if isinstance(value, np.ndarray) else value).split())
    return text if len(text) < 200 else text[:200] + "…"
