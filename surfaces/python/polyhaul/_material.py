"""Materials: the classic parameters of MTL, its PBR extensions, and texture maps with options."""

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


#: Red, green, blue from 0 to 1, or one of the two rarer forms.
Color: TypeAlias = Vector | Xyz | Spectral

#: What a texture map drives.
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
    """A texture map and its options; unset options are ``None``."""

    #: What it drives.
    kind: MapKind
    #: The image file, as written in the library.
    file: str
    _: KW_ONLY
    #: The keyword as it was written (``map_Bump`` and ``bump`` are one kind); empty for the usual one.
    keyword: str = ""
    #: ``-o``: offset of u, v, w.
    offset: Vector | None = None
    #: ``-s``: scale of u, v, w.
    scale: Vector | None = None
    #: ``-t``: turbulence of u, v, w.
    turbulence: Vector | None = None
    #: ``-mm``: base and gain of the values.
    base_gain: tuple[float, float] | None = None
    #: ``-bm``: bump multiplier.
    bump_multiplier: float | None = None
    #: ``-boost`` of mip levels.
    boost: float | None = None
    #: ``-texres``.
    resolution: float | None = None
    #: ``-blendu``.
    blend_u: bool | None = None
    #: ``-blendv``.
    blend_v: bool | None = None
    #: ``-clamp``.
    clamp: bool | None = None
    #: ``-cc``: colour correction.
    color_correction: bool | None = None
    #: ``-imfchan``: the channel used, one of ``r g b m l z``.
    channel: str | None = None
    #: ``-type`` of a reflection map (``"sphere"``, ``"cube_top"``, ...).
    projection: str | None = None
    #: ``-colorspace`` (``"sRGB"``, ``"linear"``).
    color_space: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(MapKind):
            raise ValueError(f"kind is {self.kind!r}; expected one of {', '.join(get_args(MapKind))}")

    def __repr__(self) -> str:
        return _short_repr(self)


@dataclass(slots=True, repr=False)
class Material:
    """A material as in MTL. A parameter that is ``None`` is not written."""

    #: The name by which faces refer to it.
    name: str
    _: KW_ONLY
    #: ``Ka``: ambient colour.
    ambient: Color | None = None
    #: ``Kd``: diffuse colour.
    diffuse: Color | None = None
    #: ``Ks``: specular colour.
    specular: Color | None = None
    #: ``Ke``: emitted colour.
    emission: Color | None = None
    #: ``Tf``: transmission filter.
    transmission: Color | None = None
    #: ``Ns``: specular exponent, 0 to 1000.
    shininess: float | None = None
    #: ``Ni``: index of refraction.
    refraction_index: float | None = None
    #: ``d``: 1 is opaque.
    opacity: float | None = None
    #: ``d -halo``: the opacity depends on the angle of view.
    halo: bool = False
    #: ``sharpness`` of local reflections.
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
    #: ``anisor``: rotation of the anisotropy.
    anisotropy_rotation: float | None = None
    #: Whether alpha blends, or is ignored; ``None`` if the opacity decides, as in MTL. Of glTF, like the next four.
    alpha_blended: bool | None = None
    #: The alpha from which the surface is solid; below, there is a hole.
    alpha_cutoff: float | None = None
    #: Whether back faces are hidden.
    single_sided: bool = False
    #: Whether the color is shown as it is, without light.
    unlit: bool = False
    #: Data of applications, as JSON.
    extras: str | None = None
    #: ``map_aat``: anti-aliasing of the textures.
    texture_antialiasing: bool | None = None
    #: Texture maps, in file order; a kind may occur more than once.
    maps: list[TextureMap] = field(default_factory=list)
    #: Statements that polyhaul does not know, unchanged, one line each.
    other: list[str] = field(default_factory=list)
    #: Whether it is used but no library defines it: then it has only a name.
    missing: bool = False
    #: The folder that its files are relative to, as native code has it.
    _folder: Any = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return _short_repr(self)


def _short_repr(self: Any) -> str:
    """The fields that are set."""
    given = [(field.name, getattr(self, field.name)) for field in fields(self) if field.repr]
    said = [f"{name}={value!r}" for name, value in given if value not in (None, "", False, [])]
    return f"{type(self).__name__}({', '.join(said)})"


_COLORS = ("ambient", "diffuse", "specular", "emission", "transmission")


def material_of(value: Material | str | None) -> Material | None:
    """The material of a slot; a name is a new material."""
    if isinstance(value, Material) or value is None:
        return value
    if isinstance(value, str):
        return Material(value) if value else None
    raise TypeError(f"material is of type {type(value).__name__}; expected polyhaul.Material, a name or None")


def slots_of(values: Iterable[Material | str | None]) -> tuple[Material | None, ...]:
    """The materials of slots."""
    if isinstance(values, str | Material):
        raise TypeError(f"materials is {values!r}; expected a list with a material for each slot")
    return tuple(material_of(value) for value in values)


def material_from_plain(plain: dict[str, Any]) -> Material:
    """The material that native code returned."""
    for name in _COLORS:
        if plain[name] is not None:
            plain[name] = _color_from_plain(*plain[name])
    maps = [TextureMap(**{name: _as_tuple(value) for name, value in fields.items()}) for fields in plain.pop("maps")]
    return Material(**plain, maps=maps)


def material_to_plain(material: Material) -> dict[str, Any]:
    """The material as native code takes it."""
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
