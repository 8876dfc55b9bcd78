"""Materials: MTL parameters, their PBR extensions, and texture maps with options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

Vector: TypeAlias = tuple[float, float, float]


class Xyz(NamedTuple):
    """A color in CIE XYZ (``Kd xyz x y z``)."""

    x: float
    y: float
    z: float


class Spectral(NamedTuple):
    """A color as a spectral curve file (``Kd spectral FILE FACTOR``)."""

    file: str
    factor: float = 1.0


#: Red, green and blue from 0 to 1, a CIE XYZ color, or a spectral curve.
Color: TypeAlias = Vector | Xyz | Spectral

#: The material parameter that a texture map controls.
MapKind: TypeAlias = Literal[
    "ambient",
    "diffuse",
    "specular",
    "emission",
    "shininess",
    "opacity",
    "transparency",
    "bump",
    "displacement",
    "decal",
    "reflection",
    "roughness",
    "metallic",
    "sheen",
    "clearcoat",
    "clearcoat_roughness",
    "normal",
    "occlusion",
]


@dataclass(slots=True, repr=False)
class TextureMap:
    """A texture map and its options. Options that are not set are ``None``."""

    #: The material parameter that the map controls.
    kind: MapKind
    #: The image file, as written in the library.
    file: str
    _: KW_ONLY
    #: The keyword in the file, since ``map_Bump`` and ``bump`` are the same kind; empty for the default keyword.
    keyword: str = ""
    #: ``-o``: offset of u, v, w.
    offset: Vector | None = None
    #: ``-s``: scale of u, v, w.
    scale: Vector | None = None
    #: ``-t``: turbulence of u, v, w.
    turbulence: Vector | None = None
    #: ``-mm``: base and gain of texture values.
    base_gain: tuple[float, float] | None = None
    #: ``-bm``: bump multiplier.
    bump_multiplier: float | None = None
    #: ``-boost``: sharpness of mip levels.
    boost: float | None = None
    #: ``-texres``: texture resolution.
    resolution: float | None = None
    #: ``-blendu``: blending in u.
    blend_u: bool | None = None
    #: ``-blendv``: blending in v.
    blend_v: bool | None = None
    #: ``-clamp``: clamping to the range 0 to 1.
    clamp: bool | None = None
    #: ``-cc``: color correction.
    color_correction: bool | None = None
    #: ``-imfchan``: the channel, one of ``r g b m l z``.
    channel: str | None = None
    #: ``-type``: the projection of a reflection map (``"sphere"``, ``"cube_top"``, ...).
    projection: str | None = None
    #: ``-colorspace``: the color space (``"sRGB"``, ``"linear"``).
    color_space: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(MapKind):
            raise ValueError(f"kind is {self.kind!r}; expected one of {', '.join(get_args(MapKind))}")

    def __repr__(self) -> str:
        return _short_repr(self)


@dataclass(slots=True, repr=False)
class Material:
    """A material, with the parameters of MTL. Parameters that are ``None`` are not written."""

    #: The name that faces refer to.
    name: str
    _: KW_ONLY
    #: ``Ka``: ambient color.
    ambient: Color | None = None
    #: ``Kd``: diffuse color.
    diffuse: Color | None = None
    #: ``Ks``: specular color.
    specular: Color | None = None
    #: ``Ke``: emission color.
    emission: Color | None = None
    #: ``Tf``: transmission filter.
    transmission: Color | None = None
    #: ``Ns``: specular exponent, 0 to 1000.
    shininess: float | None = None
    #: ``Ni``: index of refraction.
    refraction_index: float | None = None
    #: ``d``: opacity, where 1 is opaque.
    opacity: float | None = None
    #: ``d -halo``: whether opacity depends on the viewing angle.
    halo: bool = False
    #: ``sharpness``: sharpness of local reflections.
    sharpness: float | None = None
    #: ``illum``: the illumination model, 0 to 10.
    illumination: int | None = None
    #: ``Pr``: roughness.
    roughness: float | None = None
    #: ``Pm``: metallic.
    metallic: float | None = None
    #: ``Ps``: sheen.
    sheen: float | None = None
    #: ``Pc``: clearcoat thickness.
    clearcoat: float | None = None
    #: ``Pcr``: clearcoat roughness.
    clearcoat_roughness: float | None = None
    #: ``aniso``: anisotropy.
    anisotropy: float | None = None
    #: ``anisor``: anisotropy rotation.
    anisotropy_rotation: float | None = None
    #: Whether alpha is blended. If ``False``, alpha is ignored; if ``None``, blending depends on ``opacity``, as in
    #: MTL. Set by glTF only.
    alpha_blended: bool | None = None
    #: The alpha threshold: the surface is opaque at or above it, and invisible below. Set by glTF only.
    alpha_cutoff: float | None = None
    #: Whether back faces are culled. Set by glTF only.
    single_sided: bool = False
    #: Whether the color is shown without lighting. Set by glTF only.
    unlit: bool = False
    #: Application-specific data, as JSON. Set by glTF only.
    extras: str | None = None
    #: ``map_aat``: texture anti-aliasing.
    texture_antialiasing: bool | None = None
    #: Texture maps, in file order. Several maps may have the same kind.
    maps: list[TextureMap] = field(default_factory=list)
    #: Unknown statements, unchanged, one per line.
    other: list[str] = field(default_factory=list)
    #: Whether the material is used but not defined in any library. Such materials only have a name.
    missing: bool = False
    #: The folder that file names are relative to, as native code stores it.
    _folder: Any = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return _short_repr(self)


def _short_repr(self: Any) -> str:
    """Return a repr with the fields that are set."""
    given = [(field.name, getattr(self, field.name)) for field in fields(self) if field.repr]
    said = [f"{name}={value!r}" for name, value in given if value not in (None, "", False, [])]
    return f"{type(self).__name__}({', '.join(said)})"


_COLORS = ("ambient", "diffuse", "specular", "emission", "transmission")


def material_of(value: Material | str | None) -> Material | None:
    """Return the material of a slot. A name is converted to a new material."""
    if isinstance(value, Material) or value is None:
        return value
    if isinstance(value, str):
        return Material(value) if value else None
    raise TypeError(f"material is of type {type(value).__name__}; expected polyhaul.Material, a name or None")


def slots_of(values: Iterable[Material | str | None]) -> tuple[Material | None, ...]:
    """Return the materials of slots as a tuple."""
    if isinstance(values, str | Material):
        raise TypeError(f"materials is {values!r}; expected a list with a material for each slot")
    return tuple(material_of(value) for value in values)


def material_from_plain(plain: dict[str, Any]) -> Material:
    """Return a material from the result of native code."""
    for name in _COLORS:
        if plain[name] is not None:
            plain[name] = _color_from_plain(*plain[name])
    maps = [TextureMap(**{name: _as_tuple(value) for name, value in fields.items()}) for fields in plain.pop("maps")]
    return Material(**plain, maps=maps)


def material_to_plain(material: Material) -> dict[str, Any]:
    """Return a material as native code expects it."""
    plain = {name: getattr(material, name) for name in _NAMES}
    for name in _COLORS:
        if plain[name] is not None:
            plain[name] = _color_to_plain(material.name, name, plain[name])
    plain["maps"] = [{name: getattr(texture_map, name) for name in _MAP_NAMES} for texture_map in material.maps]
    return plain


def _color_from_plain(kind: str, values: Any) -> Color:
    if kind == "rgb":
        return cast(Vector, tuple(values))
    return Xyz(*values) if kind == "xyz" else Spectral(*values)


def _color_to_plain(material: str, name: str, color: Any) -> tuple[str, Any]:
    if isinstance(color, Spectral):
        return "spectral", tuple(color)
    values = [float(value) for value in color]
    if len(values) != 3:
        raise ValueError(f"material {material!r}: {name} has {len(values)} values; expected 3 (red, green, blue)")
    return "xyz" if isinstance(color, Xyz) else "rgb", values


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_NAMES = tuple(field.name for field in fields(Material))
_MAP_NAMES = tuple(field.name for field in fields(TextureMap))
