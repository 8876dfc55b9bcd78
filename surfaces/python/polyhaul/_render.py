"""Renderer scenes (pbrt-v4): shapes, instances, materials, lights and a camera.

They are read-only. Python objects are created on access, and arrays are views of the memory that the file was parsed
into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import Coordinates, Floats, Indices
from polyhaul._mesh import Mesh
from polyhaul._polyhaul import NativeRender

T = TypeVar("T")

#: The type of a parameter.
ParameterType: TypeAlias = Literal[
    "bool",
    "integer",
    "float",
    "point2",
    "vector2",
    "point3",
    "vector3",
    "normal",
    "string",
    "texture",
    "rgb",
    "blackbody",
    "spectrum",
]

#: The number of components of types with more than one.
_WIDTHS = {"point2": 2, "vector2": 2, "spectrum": 2, "point3": 3, "vector3": 3, "normal": 3, "rgb": 3}

Doubles: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter: its type and values."""

    #: The pbrt type.
    type: ParameterType
    #: (n,) float32, int32 or bool; (n, 2) or (n, 3) float32 for points, vectors, normals and colors; (n, 2) float32 for
    #: the wavelengths and values of a spectrum; (n,) str, with dtype object, for strings and for names of textures and
    #: spectra. Points that float32 cannot represent are float64. Read-only.
    values: npt.NDArray[Any]

    @property
    def value(self) -> Any:
        """The value of a parameter that has exactly one: a number, a bool, a string, or a row such as an RGB color.

        Raises:
            ValueError: the parameter does not have exactly one value.
        """
        if len(self.values) != 1:
            raise ValueError(f"expected a parameter with 1 value, found {len(self.values)}")
        return self.values[0] if self.values.ndim > 1 else self.values.item()


#: Parameters by name, in file order.
Parameters: TypeAlias = Mapping[str, Parameter]


class _Placed:
    """Base class of objects with a transform."""

    __slots__ = ("_end", "_render", "_start")

    _render: Render
    _start: int | None
    _end: int | None

    @property
    def transform(self) -> Doubles:
        """(4, 4) float64: the transform, at shutter open if it is animated.

        The matrix multiplies column vectors from the left.
        """
        return self._place(self._start)[0]

    @property
    def transform32(self) -> Floats:
        """(4, 4) float32: the transform, computed with the same operations in the same order as in pbrt."""
        return self._place(self._start)[1]

    @property
    def end_transform(self) -> Doubles | None:
        """(4, 4) float64: the transform at shutter close; ``None`` if it is not animated."""
        return None if self._end == self._start else self._place(self._end)[0]

    def _place(self, node: int | None) -> tuple[Doubles, Floats]:
        double, single = self._render._native.place(node)
        return np.array(double, np.float64), np.array(single, np.float32)


class Entity(_Placed):
    """A camera, film, material, texture, light, medium or other setting."""

    __slots__ = ("_attributes", "_where", "color_space", "kind", "medium", "name", "value_type")

    #: The type, such as ``"perspective"``, ``"diffuse"`` or ``"imagemap"``. For named materials and media, the value of
    #: the parameter ``type``.
    kind: str
    #: The name; empty if unnamed.
    name: str
    #: The value type of a texture; empty for other entities.
    value_type: Literal["float", "spectrum", ""]
    #: The color space of the colors.
    color_space: str
    #: The surrounding medium of a camera or light; ``None`` if not specified.
    medium: str | None

    def __init__(self, render: Render, kind: str, index: int) -> None:
        name, texture, self._start, self._end, space, self.medium, self._attributes = render._native.entity(kind, index)
        self._render, self._where = render, (kind, index)
        self.color_space = space or "srgb"
        self.kind, self.name, self.value_type = name, "", ""
        if texture:
            self.name, self.kind = name, texture[0]
            self.value_type = "spectrum" if texture[1] == "spectrum" else "float"
        elif kind == "media" or (kind == "materials" and render._native.is_named(index)):
            given = self.parameters.get("type")
            self.name, self.kind = name, given.value if given and given.type == "string" else ""

    @property
    def parameters(self) -> Parameters:
        """The parameters by name."""
        return self._render._parameters(*self._where)

    @property
    def attributes(self) -> Parameters:
        """Parameters set by preceding ``Attribute`` directives, by name; ``parameters`` takes precedence."""
        return self._render._attributes(self._attributes)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<polyhaul.Entity {self.kind}{name}: {', '.join(self.parameters)}>"


class Shape(_Placed):
    """A shape."""

    __slots__ = ("_mesh", "_state", "index", "kind")

    #: The type, such as ``"trianglemesh"``, ``"plymesh"`` or ``"sphere"``.
    kind: str
    #: The index in ``shapes`` of the scene.
    index: int

    def __init__(self, render: Render, index: int) -> None:
        self._render, self.index = render, index
        self.kind, self._start, self._end, self._mesh, self._state = render._native.shape(index)

    @property
    def parameters(self) -> Parameters:
        """The parameters by name. Arrays are not copied."""
        return self._render._parameters("shapes", self.index)

    @property
    def attributes(self) -> Parameters:
        """Parameters set by preceding ``Attribute "shape"`` directives, by name; ``parameters`` takes precedence."""
        return self._render._attributes(self._state[4])

    @property
    def mesh(self) -> Mesh | None:
        """The untransformed mesh; ``None`` for shapes without a mesh, and if the PLY file was not read.

        This is the PLY mesh of a ``plymesh``, or the arrays of a ``trianglemesh``, ``bilinearmesh`` or ``loopsubdiv``
        (its control mesh). Arrays are not copied, except the indices of a ``bilinearmesh``.

        Raises:
            ValueError: an index is out of range.
        """
        if self._mesh is not None:
            return self._render._meshes[self._mesh]
        return _own_mesh(self.kind, self.parameters)

    @property
    def material(self) -> Entity | None:
        """The material; ``None`` if the shape does not have one, or if it is not defined."""
        index, name = self._state[0]
        if index is not None:
            return self._render.materials[index]
        return None if name is None else self._render._named_materials.get(name)

    @property
    def material_name(self) -> str | None:
        """The name of the material; ``None`` if the material is unnamed."""
        return self._state[0][1]

    @property
    def area_light(self) -> Entity | None:
        """The area light; ``None`` if the shape does not emit light."""
        index = self._state[1]
        return None if index is None else self._render.area_lights[index]

    @property
    def inside(self) -> str | None:
        """The name of the medium inside; ``None`` if not specified."""
        return self._state[2][0]

    @property
    def outside(self) -> str | None:
        """The name of the medium outside; ``None`` if not specified."""
        return self._state[2][1]

    @property
    def reverse_orientation(self) -> bool:
        """Whether the orientation of the surface is reversed. This does not affect ``mesh``."""
        return self._state[3]

    @property
    def color_space(self) -> str:
        """The color space of the colors."""
        return self._state[5] or "srgb"

    def __repr__(self) -> str:
        return f"<polyhaul.Shape {self.kind}: {', '.join(self.parameters)}>"


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose items are created on access."""

    __slots__ = ("_make", "_places")

    def __init__(self, places: Sequence[int], make: Callable[[int], T]) -> None:
        self._places, self._make = places, make

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[T]: ...
    def __getitem__(self, key: int | slice) -> T | Sequence[T]:
        if isinstance(key, slice):
            return Lazy(self._places[key], self._make)
        return self._make(self._places[key])

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<polyhaul.Lazy: {len(self)} items>"


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """An object definition (``ObjectBegin``): named shapes that instances refer to."""

    #: The name.
    name: str
    #: The shapes.
    shapes: Sequence[Shape]
    #: Whether the definition is used but not defined. Missing definitions do not have shapes.
    missing: bool


class Instances:
    """The instances of a scene, in file order, as arrays with one row per instance."""

    def __init__(self, native: NativeRender) -> None:
        self._native = native

    def __len__(self) -> int:
        return self._native.count("instances")

    @cached_property
    def definition_indices(self) -> Indices:
        """(n,) uint32: the index of each definition in ``render.definitions``."""
        return _arrays.view(self._native.instance_definitions(), np.uint32)

    @cached_property
    def transforms(self) -> Doubles:
        """(n, 4, 4) float64: the transforms, at shutter open for animated instances.

        The matrices multiply column vectors from the left. Computed on first access; 128 bytes per instance.
        """
        return _matrices(self._native.instance_transforms(False), np.float64)

    @cached_property
    def transforms32(self) -> Floats:
        """(n, 4, 4) float32: the transforms, computed with the same operations in the same order as in pbrt.

        Computed on first access; 64 bytes per instance.
        """
        return _matrices(self._native.instance_transforms32(False), np.float32)

    @cached_property
    def end_transforms(self) -> Doubles | None:
        """(n, 4, 4) float64: the transforms at shutter close; ``None`` if no instance is animated."""
        return _matrices(self._native.instance_transforms(True), np.float64) if self._native.instances_move() else None

    def __repr__(self) -> str:
        return f"<polyhaul.Instances: {len(self)}>"


class Render:
    """A renderer scene (pbrt), as returned by ``polyhaul.read(path, flatten=False).render``.

    Read-only. :func:`polyhaul.write` writes all of it.
    """

    def __init__(self, native: NativeRender, meshes: list[Mesh]) -> None:
        self._native, self._meshes = native, meshes

    @cached_property
    def camera(self) -> Entity | None:
        """The camera. Its transform is from world to camera space, as in pbrt."""
        return self._setting("camera")

    @cached_property
    def film(self) -> Entity | None:
        """The film."""
        return self._setting("film")

    @cached_property
    def filter(self) -> Entity | None:
        """The pixel filter."""
        return self._setting("filter")

    @cached_property
    def sampler(self) -> Entity | None:
        """The sampler."""
        return self._setting("sampler")

    @cached_property
    def integrator(self) -> Entity | None:
        """The integrator."""
        return self._setting("integrator")

    @cached_property
    def accelerator(self) -> Entity | None:
        """The accelerator."""
        return self._setting("accelerator")

    @cached_property
    def options(self) -> Mapping[str, str | bool | int | float]:
        """The values of ``Option`` directives by name. If an option is set several times, the last value applies."""
        return {name: value if quoted else _word(value) for name, value, quoted in self._native.options()}

    @property
    def transform_times(self) -> tuple[float, float]:
        """The times of ``transform`` and ``end_transform``."""
        start, end = self._native.transform_times or (0.0, 1.0)
        return start, end

    @cached_property
    def materials(self) -> Sequence[Entity]:
        """All materials, named and unnamed."""
        return self._all("materials")

    @cached_property
    def textures(self) -> Sequence[Entity]:
        """The textures."""
        return self._all("textures")

    @cached_property
    def media(self) -> Sequence[Entity]:
        """The media."""
        return self._all("media")

    @cached_property
    def lights(self) -> Sequence[Entity]:
        """The lights, except area lights."""
        return self._all("lights")

    @cached_property
    def area_lights(self) -> Sequence[Entity]:
        """The area lights."""
        return self._all("area_lights")

    @property
    def shapes(self) -> Sequence[Shape]:
        """All shapes, including those of definitions."""
        return Lazy(range(self._native.count("shapes")), self._shape)

    @property
    def world_shapes(self) -> Sequence[Shape]:
        """The shapes outside definitions."""
        return Lazy([at for start, end in self._native.world_shapes() for at in range(start, end)], self._shape)

    @cached_property
    def definitions(self) -> Mapping[str, Definition]:
        """The object definitions by name, in the order of ``instances.definition_indices``."""
        return {
            name: Definition(name, Lazy(range(start, end), self._shape), missing)
            for name, start, end, missing in self._native.definitions()
        }

    @cached_property
    def instances(self) -> Instances:
        """The instances."""
        return Instances(self._native)

    def __repr__(self) -> str:
        shown = ("shapes", "instances", "materials", "textures", "lights")
        return f"<polyhaul.Render: {', '.join(f'{self._native.count(kind)} {kind}' for kind in shown)}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Render:
        return self  # immutable

    @cached_property
    def _named_materials(self) -> dict[str, Entity]:
        return {material.name: material for material in self.materials if material.name}

    def _setting(self, kind: str) -> Entity | None:
        return Entity(self, kind, 0) if self._native.count(kind) else None

    def _all(self, kind: str) -> tuple[Entity, ...]:
        return tuple(Entity(self, kind, index) for index in range(self._native.count(kind)))

    def _shape(self, index: int) -> Shape:
        return Shape(self, index)

    def _parameters(self, kind: str, index: int) -> dict[str, Parameter]:
        parameters = self._native.parameters(kind, index)
        return {name: _parameter(type, values, is_exact) for name, type, values, is_exact in parameters}

    def _attributes(self, last: int | None) -> dict[str, Parameter]:
        """Return the parameters of a chain of attributes. Later attributes take precedence."""
        attributes: dict[str, Parameter] = {}
        while last is not None:
            attributes = self._parameters("attributes", last) | attributes
            last = self._native.attribute_before(last)
        return attributes


def _parameter(type: Any, values: Any, is_exact: bool) -> Parameter:
    if isinstance(values, list):
        strings = np.array(values, object)
        strings.flags.writeable = False
        return Parameter(type, strings)
    dtype: npt.DTypeLike = {"integer": np.int32, "bool": np.bool_}.get(type, np.float64 if is_exact else np.float32)
    return Parameter(type, _arrays.view(values, dtype, _WIDTHS.get(type, 0)))


def _matrices(buffer: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return _arrays.view(buffer, dtype, 16).reshape(-1, 4, 4)


def _word(text: str) -> str | bool | int | float:
    """Return the value of an unquoted word."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _own_mesh(kind: str, parameters: Parameters) -> Mesh | None:
    """Return the mesh defined by the array parameters of a shape."""
    corners = {"trianglemesh": 3, "loopsubdiv": 3, "bilinearmesh": 4}.get(kind)
    positions = _rows(parameters, "P", 3)
    if corners is None or positions is None:
        return None
    given = parameters.get("indices")
    if given is not None and given.type == "integer":
        indices = given.values[: len(given.values) // corners * corners].reshape(-1, corners)
    else:
        indices = np.arange(corners if len(positions) >= corners else 0, dtype=np.int32).reshape(-1, corners)
    if corners == 4:
        indices = indices[:, [0, 1, 3, 2]]  # pbrt stores the corners in row order
    fields: dict[str, Any] = {}
    for name, attribute, width in (("uv", "uv", 2), ("N", "normal", 3)):
        values = _rows(parameters, name, width)
        if values is not None and len(values) == len(positions):
            fields |= {f"{attribute}s": values, f"{attribute}_domain": "vertex"}
    return Mesh(positions, indices if len(indices) else None, **fields)


def _rows(parameters: Parameters, name: str, width: int) -> Coordinates | None:
    """Return the values of a float parameter as rows of ``width``; ``None`` if the values are not floats."""
    given = parameters.get(name)
    if given is None or given.values.dtype not in (np.float32, np.float64):
        return None
    flat = given.values.reshape(-1)
    return flat[: len(flat) // width * width].reshape(-1, width)
