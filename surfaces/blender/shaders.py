"""Conversion between Blender materials and MTL: the values and textures of a Principled BSDF, or the viewport display.

testdata/obj/blender/README.md documents the output of Blender for each node.
"""

from __future__ import annotations

import math
import os
from typing import Any

import bpy
import numpy as np
import polyhaul

from . import paths

#: The inputs of a Principled BSDF whose images are written, the kind of map, and whether it is written without or with
#: the PBR extensions, or both. In the order of Blender's files.
MAPS = (
    ("Base Color", "diffuse", (False, True)),
    ("Metallic", "metallic", (True,)),
    ("Specular IOR Level", "specular", (False, True)),
    ("Roughness", "shininess", (False,)),
    ("Roughness", "roughness", (True,)),
    ("Metallic", "reflection", (False,)),
    ("Sheen Weight", "sheen", (True,)),
    ("Emission Color", "emission", (False, True)),
    ("Alpha", "opacity", (False, True)),
)


class Exported:
    """The exported materials, each created once."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self._made: dict[str, polyhaul.Material] = {}

    def of(self, material: Any) -> polyhaul.Material | None:
        """Return the material for a Blender material; ``None`` for an empty slot."""
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
            # A map replaces the value of its parameter.
            for kind in {map_.kind for map_ in made.maps} - {"bump", "reflection"}:
                setattr(made, kind, None)
        return made

    def _maps(self, material: Any, shader: Any) -> list[polyhaul.TextureMap]:
        placed = placement(material.node_tree)
        maps = []
        for name, kind, extensions in MAPS:
            image = self._options.export_pbr_extensions in extensions and image_of(shader.inputs.get(name))
            if image and not (name == "Emission Color" and not number(shader, "Emission Strength")):
                maps.append(self._map(kind, image, placed))
        normal = linked(shader.inputs.get("Normal"), "NORMAL_MAP")
        image = normal and image_of(normal.inputs["Color"])
        if image:
            # Blender writes six digits.
            strength = round(normal.inputs["Strength"].default_value, 6)
            maps.append(self._map("bump", image, placed, bump_multiplier=strength))
        return maps

    def _map(self, kind: str, image: Any, placed: dict[str, Any], **more: Any) -> polyhaul.TextureMap:
        return polyhaul.TextureMap(kind, paths.reference(image, self._options), **placed, **more)


def principled(material: Any) -> Any:
    """Return the Principled BSDF of the active output; ``None`` if there is none."""
    tree = material.node_tree if material.use_nodes else None
    if tree is None:
        return None
    outputs = [node for node in tree.nodes if node.type == "OUTPUT_MATERIAL" and node.is_active_output]
    return linked(outputs[0].inputs.get("Surface"), "BSDF_PRINCIPLED") if outputs else None


def linked(socket: Any, kind: str) -> Any:
    """Return the node of this type that is linked to a socket; ``None`` if there is none."""
    links = socket.links if socket is not None and socket.is_linked else ()
    return next((link.from_node for link in links if link.from_node.type == kind), None)


def image_of(socket: Any) -> Any:
    """Return the image file that is linked to a socket; ``None`` if there is none."""
    node = linked(socket, "TEX_IMAGE")
    image = node and node.image
    return image if image and image.filepath else None


def placement(tree: Any) -> dict[str, Any]:
    """Return the offset and scale of the textures of a material.

    Like in Blender, the mapping of the first image in the tree applies to all of them.
    """
    first = next((node for node in tree.nodes if node.type == "TEX_IMAGE"), None)
    mapping = first and linked(first.inputs["Vector"], "MAPPING")
    if mapping is None:
        return {}
    options = {}
    for name, socket, usual in (("offset", "Location", 0.0), ("scale", "Scale", 1.0)):
        value = tuple(mapping.inputs[socket].default_value)
        if any(part != usual for part in value):
            options[name] = value
    return options


def number(shader: Any, name: str, usual: float = 0.0) -> np.float32:
    """Return the value of a shader input."""
    socket = shader.inputs.get(name)
    return np.float32(usual if socket is None else socket.default_value)


def shader_values(shader: Any) -> dict[str, Any]:
    """Return the values of a Principled BSDF."""
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
    """Return the values of the viewport display."""
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
    """Return the parameters of MTL without its extensions."""
    smoothness = np.float32(1.0) - np.clip(values["roughness"], np.float32(0), np.float32(1))
    ambient = values["metallic"] if values["metallic"] > 0 else 1.0
    return shared(values) | {
        # In Blender's order.
        "shininess": float(smoothness * np.float32(1000.0) * smoothness),
        "ambient": (float(ambient),) * 3,
    }


def extended(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of MTL with its PBR extensions."""
    names = ("roughness", "metallic", "sheen", "clearcoat", "clearcoat_roughness", "anisotropy", "anisotropy_rotation")
    extras = shared(values) | {name: float(values[name]) for name in names if name in values}
    if values.get("transmission", 0) > 0:
        extras["transmission"] = (float(values["transmission"]),) * 3
    return extras


def shared(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of MTL that are written with and without its extensions."""
    return {
        "diffuse": tuple(map(float, values["color"])),
        "specular": (float(values["specular"]),) * 3,
        "emission": tuple(map(float, values["emission"])),
        "refraction_index": float(values["refraction_index"]),
        "opacity": float(values["alpha"]),
        "illumination": illumination(values),
    }


def illumination(values: dict[str, Any]) -> int:
    """Return the illumination model of MTL."""
    if not values["specular"] > 0:
        return 1
    is_transparent = values["alpha"] < 1
    if values["metallic"] > 0:
        return 6 if is_transparent else 3
    return 9 if is_transparent else 2


class Imported:
    """The materials of a file in Blender, each created once."""

    def __init__(self, options: Any, folder: str) -> None:
        self._reuse = options.mtl_name_collision_mode == "REFERENCE_EXISTING"
        self._folder = folder
        self._made: dict[int, Any] = {}

    def of(self, material: polyhaul.Material) -> Any:
        """Return the Blender material for a material of the file."""
        made = self._made.get(id(material))
        if made is None:
            made = bpy.data.materials.get(material.name) if self._reuse else None
            made = self._made[id(material)] = made or self._make(material)
        return made

    def _make(self, material: polyhaul.Material) -> Any:
        made = bpy.data.materials.new(material.name)
        if not made.use_nodes:
            made.use_nodes = True
        values = values_of(material)
        shader = next(node for node in made.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
        shader.location = (0, 300)
        next(node for node in made.node_tree.nodes if node.type == "OUTPUT_MATERIAL").location = (280, 300)
        for name, value in values.items():
            shader.inputs[name].default_value = value
        made.diffuse_color = values["Base Color"]
        made.metallic, made.roughness = values["Metallic"], values["Roughness"]
        for place, (name, texture) in enumerate(textures_of(material)):
            self._link(made.node_tree, shader, (name, texture), 300.0 - 300.0 * place)
        return made

    def _link(self, tree: Any, shader: Any, texture: tuple[str, polyhaul.TextureMap], height: float) -> None:
        """Link an image to an input of the shader, at a height in the node editor."""
        name, map_ = texture
        node = tree.nodes.new("ShaderNodeTexImage")
        node.location = (-480, height)
        node.image = loaded_image(self._folder, map_.file.replace("\\", os.sep))
        if map_.projection:
            node.projection = "SPHERE"
        if map_.offset or map_.scale:
            place(tree, node, map_, height)
        if name == "Normal":
            normal = tree.nodes.new("ShaderNodeNormalMap")
            normal.location = (-200, height)
            # MTL's default is 1. Blender uses 0, which disables the map.
            normal.inputs["Strength"].default_value = 1.0 if map_.bump_multiplier is None else map_.bump_multiplier
            tree.links.new(node.outputs["Color"], normal.inputs["Color"])
            tree.links.new(normal.outputs["Normal"], shader.inputs["Normal"])
        else:
            tree.links.new(node.outputs["Alpha" if name == "Alpha" else "Color"], shader.inputs[name])


def place(tree: Any, node: Any, map_: polyhaul.TextureMap, height: float) -> None:
    """Set the location of a texture to the offset and scale of its map."""
    coordinates, mapping = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeMapping")
    coordinates.location, mapping.location = (-880, height), (-680, height)
    mapping.inputs["Location"].default_value = map_.offset or (0, 0, 0)
    mapping.inputs["Scale"].default_value = map_.scale or (1, 1, 1)
    tree.links.new(coordinates.outputs["UV"], mapping.inputs["Vector"])
    tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])


def loaded_image(folder: str, name: str) -> Any:
    """Return the image of a file, from its path or from the folder.

    If the file does not exist, return an empty image that keeps the path.
    """
    path = os.path.join(folder, name)
    for candidate in (path, os.path.join(folder, os.path.basename(name))):
        if os.path.isfile(candidate):
            try:
                return bpy.data.images.load(candidate, check_existing=True)
            except RuntimeError:
                pass
    existing = next((image for image in bpy.data.images if image.filepath == path), None)
    if existing is not None:
        return existing
    image = bpy.data.images.new(os.path.basename(path), 1, 1)
    image.source, image.filepath = "FILE", path
    return image


def textures_of(material: polyhaul.Material) -> list[tuple[str, polyhaul.TextureMap]]:
    """Return the maps that the shader has inputs for, in Blender's order, the last map of each kind."""
    by_kind = {map_.kind: map_ for map_ in material.maps}
    return [(name, by_kind[kind]) for kind, name in INPUTS.items() if kind in by_kind]


#: The input of a Principled BSDF for each kind of map.
INPUTS = {
    "diffuse": "Base Color",
    "metallic": "Metallic",
    "specular": "Specular IOR Level",
    "shininess": "Roughness",
    "roughness": "Roughness",
    "sheen": "Sheen Weight",
    "reflection": "Metallic",
    "emission": "Emission Color",
    "opacity": "Alpha",
    "bump": "Normal",
    "normal": "Normal",
}


def values_of(material: polyhaul.Material) -> dict[str, Any]:
    """Return the inputs of a Principled BSDF for the parameters of MTL."""
    model = material.illumination or 0
    # Model 2 has highlights. Blender assumes full highlights if the file does not specify them.
    has_highlights = model == 2
    roughness = material.roughness
    if roughness is None:
        shininess = material.shininess
        if shininess is None:
            shininess = 1000.0 if has_highlights else 0.0
        roughness = 1.0 - math.sqrt(min(max(shininess, 0.0), 1000.0) / 1000.0)
    metallic = material.metallic
    if metallic is None:
        metallic = (mean(material.ambient) if material.ambient else 1.0) if 3 <= model <= 8 else 0.0
    refraction = material.refraction_index
    values = {
        "Base Color": (*(rgb(material.diffuse) or (0.8, 0.8, 0.8)), 1.0),
        "Metallic": metallic,
        "Roughness": roughness,
        "IOR": refraction if refraction and refraction > 0 else 1.0 if model in (6, 7) else 1.5,
        "Alpha": 1.0 if material.opacity is None else material.opacity,
        "Specular IOR Level": 1.0 if has_highlights and material.specular is None else mean(material.specular),
        "Transmission Weight": mean(material.transmission),
    }
    emitted = rgb(material.emission)
    if emitted is not None:
        strength = max(*emitted, 1.0)
        values["Emission Color"] = (*(channel / strength for channel in emitted), 1.0)
        values["Emission Strength"] = strength
    elif any(map_.kind == "emission" for map_ in material.maps):
        values["Emission Strength"] = 1.0
    for name, value in (
        ("Sheen Weight", material.sheen),
        ("Coat Weight", None if material.clearcoat is None else 0.25 * material.clearcoat),
        ("Coat Roughness", material.clearcoat_roughness),
        ("Anisotropic", material.anisotropy),
        ("Anisotropic Rotation", material.anisotropy_rotation),
    ):
        if value is not None:
            values[name] = value
    return values


def rgb(color: Any) -> tuple[float, float, float] | None:
    """Return a color; ``None`` if it is not set or not in RGB."""
    return color if type(color) is tuple else None


def mean(color: Any) -> float:
    """Return the mean of red, green and blue; 0 without an RGB color."""
    channels = rgb(color)
    return sum(channels) / 3 if channels else 0.0
