"""Materials of Blender as materials of MTL libraries: the values and textures of a Principled BSDF, or what the viewport
shows if there is none.

What Blender writes for which node is in testdata/obj/blender/README.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polyhaul

from . import paths

#: Inputs of a Principled BSDF whose images are written: the kind of map, and whether it needs the PBR extensions.
#: In the order of Blender's file.
MAPS = {
    "Base Color": ("diffuse", None),
    "Specular IOR Level": ("specular", None),
    "Roughness": ("shininess", "roughness"),
    "Metallic": ("reflection", "metallic"),
    "Sheen Weight": (None, "sheen"),
    "Emission Color": ("emission", None),
    "Alpha": ("opacity", None),
}


class Exported:
    """The materials that are written, each made once."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self._made: dict[str, polyhaul.Material] = {}

    def of(self, material: Any) -> polyhaul.Material | None:
        """The material for one of Blender's; ``None`` for an empty slot."""
        if material is None:
            return None
        made = self._made.get(material.name)
        if made is None:
            made = self._made[material.name] = self._make(material)
        return made

    def _make(self, material: Any) -> polyhaul.Material:
        shader = principled(material)
        values = viewport_values(material) if shader is None else shader_values(shader)
        made = polyhaul.Material(material.name, **classic(values))
        if self._options.export_pbr_extensions:
            made = polyhaul.Material(material.name, **extended(values))
        if shader is not None:
            made.maps = self._maps(material, shader)
        return made

    def _maps(self, material: Any, shader: Any) -> list[polyhaul.TextureMap]:
        placed = placement(material.node_tree)
        found = []
        for name, kinds in MAPS.items():
            kind = (self._options.export_pbr_extensions and kinds[1]) or kinds[0]
            image = kind and image_of(shader.inputs.get(name))
            if image and not (name == "Emission Color" and not number(shader, "Emission Strength")):
                found.append(self._map(kind, image, placed))
        normal = linked(shader.inputs.get("Normal"), "NORMAL_MAP")
        image = normal and image_of(normal.inputs["Color"])
        if image:
            strength = normal.inputs["Strength"].default_value
            found.append(self._map("bump", image, placed, bump_multiplier=strength))
        return found

    def _map(self, kind: str, image: Any, placed: dict[str, Any], **more: Any) -> polyhaul.TextureMap:
        return polyhaul.TextureMap(kind, paths.reference(image, self._options), **placed, **more)


def principled(material: Any) -> Any:
    """The Principled BSDF that the material shows, if it has one."""
    tree = material.node_tree if material.use_nodes else None
    if tree is None:
        return None
    outputs = [node for node in tree.nodes if node.type == "OUTPUT_MATERIAL" and node.is_active_output]
    return linked(outputs[0].inputs.get("Surface"), "BSDF_PRINCIPLED") if outputs else None


def linked(socket: Any, kind: str) -> Any:
    """The node of a kind that is linked to a socket."""
    links = socket.links if socket is not None and socket.is_linked else ()
    return next((link.from_node for link in links if link.from_node.type == kind), None)


def image_of(socket: Any) -> Any:
    """The image file that is linked to a socket."""
    node = linked(socket, "TEX_IMAGE")
    image = node and node.image
    return image if image and image.filepath else None


def placement(tree: Any) -> dict[str, Any]:
    """Where the textures of a material are: as the first mapping node of its tree says."""
    mapping = next((node for node in tree.nodes if node.type == "MAPPING"), None)
    if mapping is None:
        return {}
    found = {}
    for name, socket, usual in (("offset", "Location", 0.0), ("scale", "Scale", 1.0)):
        value = tuple(mapping.inputs[socket].default_value)
        if any(part != usual for part in value):
            found[name] = value
    return found


def number(shader: Any, name: str, usual: float = 0.0) -> np.float32:
    """The value of an input of a shader."""
    socket = shader.inputs.get(name)
    return np.float32(usual if socket is None else socket.default_value)


def shader_values(shader: Any) -> dict[str, Any]:
    """The values of a Principled BSDF."""
    color, emitted = shader.inputs["Base Color"].default_value, shader.inputs["Emission Color"].default_value
    strength = number(shader, "Emission Strength")
    return {
        "color": np.float32(color[:3]),
        "emission": np.float32(emitted[:3]) * strength,
        "specular": number(shader, "Specular IOR Level"),
        "roughness": number(shader, "Roughness"),
        "metallic": number(shader, "Metallic"),
        "refraction_index": number(shader, "IOR"),
        "alpha": number(shader, "Alpha"),
        "sheen": number(shader, "Sheen Weight"),
        "clearcoat": np.float32(4.0) * number(shader, "Coat Weight"),
        "clearcoat_roughness": number(shader, "Coat Roughness"),
        "anisotropy": number(shader, "Anisotropic"),
        "anisotropy_rotation": number(shader, "Anisotropic Rotation"),
        "transmission": number(shader, "Transmission Weight"),
    }


def viewport_values(material: Any) -> dict[str, Any]:
    """The values that the viewport shows."""
    return {
        "color": np.float32(material.diffuse_color[:3]),
        "emission": np.zeros(3, np.float32),
        "specular": np.float32(material.specular_intensity),
        "roughness": np.float32(material.roughness),
        "metallic": np.float32(material.metallic),
        "refraction_index": np.float32(1.0),
        "alpha": np.float32(material.diffuse_color[3]),
    }


def classic(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of MTL, without those of its extensions."""
    smoothness = np.float32(1.0) - np.clip(values["roughness"], np.float32(0), np.float32(1))
    ambient = values["metallic"] if values["metallic"] > 0 else 1.0
    return shared(values) | {
        # In Blender's order.
        "shininess": float(smoothness * np.float32(1000.0) * smoothness),
        "ambient": (float(ambient),) * 3,
    }


def extended(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of MTL and its PBR extensions."""
    names = ("roughness", "metallic", "sheen", "clearcoat", "clearcoat_roughness", "anisotropy", "anisotropy_rotation")
    found = shared(values) | {name: float(values[name]) for name in names if name in values}
    if values.get("transmission", 0) > 0:
        found["transmission"] = (float(values["transmission"]),) * 3
    return found


def shared(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters that MTL has with its extensions and without."""
    return {
        "diffuse": tuple(map(float, values["color"])),
        "specular": (float(values["specular"]),) * 3,
        "emission": tuple(map(float, values["emission"])),
        "refraction_index": float(values["refraction_index"]),
        "opacity": float(values["alpha"]),
        "illumination": illumination(values),
    }


def illumination(values: dict[str, Any]) -> int:
    """The illumination model of MTL."""
    if not values["specular"] > 0:
        return 1
    is_transparent = values["alpha"] < 1
    if values["metallic"] > 0:
        return 6 if is_transparent else 3
    return 9 if is_transparent else 2
