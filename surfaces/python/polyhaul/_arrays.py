"""Convert the caller's arrays to the arrays of the model, and native buffers to numpy arrays.

Functions that accept an array return a read-only view of its memory if type and layout allow it, and a copy otherwise.
Exceptions name the argument, its value and the expected value.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
#: Positions, in single or double precision.
Coordinates: TypeAlias = npt.NDArray[np.floating[Any]]
Indices: TypeAlias = npt.NDArray[np.uint32]
Slots: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: The index that represents a missing value, such as a corner without a UV.
NONE = 0xFFFF_FFFF

#: The maximum number of elements of one kind.
MOST = NONE - 1


def view(buffer: Any, dtype: npt.DTypeLike, columns: int = 0) -> npt.NDArray[Any]:
    """Return a native buffer as an array, of shape (n, ``columns``) if ``columns`` is not 0.

    The array is read-only if the buffer is, which is the default unless the caller requested writable arrays.
    """
    array = np.frombuffer(buffer, dtype) if len(buffer) else np.empty(0, dtype)
    return array.reshape(-1, columns) if columns else array


def floats(name: str, value: npt.ArrayLike, columns: int) -> Floats:
    """Return rows of ``columns`` float32.

    Flat arrays, such as arrays filled by Blender's ``foreach_get``, are reshaped to rows.
    """
    array = _asarray(name, value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}; expected numbers that can be converted to float32")
    return _sealed(_rows(name, _plain(array, np.float32), columns))


def colors(name: str, value: npt.ArrayLike) -> Floats:
    """Return (n, 4) float32: red, green, blue and alpha from 0 to 1. Alpha is 1 if there are three columns.

    Unsigned integers are divided by the maximum of their type. Signed integers, which numpy uses for Python integers by
    default, are divided by 255, or by 1 if they are all 0 or 1.
    """
    array = _asarray(name, value)
    if array.ndim == 2 and array.shape[1] not in (3, 4):
        raise ValueError(f"{name} has shape {array.shape}; expected (n, 3) or (n, 4)")
    if array.dtype.kind == "u":
        array = array / np.float32(np.iinfo(array.dtype).max)
    elif array.dtype.kind == "i" and array.size:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high > 255:
            expected = "integers from 0 to 255, unsigned integers such as uint16, or floats from 0 to 1"
            raise ValueError(f"{name} has integers from {low} to {high}; expected {expected}")
        array = array / np.float32(255 if high > 1 else 1)
    if array.ndim == 2 and array.shape[1] == 3:
        array = np.column_stack([array.astype(np.float32), np.ones(len(array), np.float32)])
    return floats(name, array, 4)


def positions(name: str, value: npt.ArrayLike) -> tuple[Floats, Doubles | None]:
    """Return rows of x, y, z as float32, and also as float64 if float32 cannot represent them exactly."""
    array = _asarray(name, value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}; expected numbers that can be converted to float64")
    rows = _rows(name, array, 3)
    with np.errstate(over="ignore"):
        singles = _sealed(_plain(rows, np.float32))
    if np.can_cast(array.dtype, np.float32):
        return singles, None
    doubles = _plain(rows, np.float64)
    if bool(((singles == doubles) | np.isnan(doubles)).all()):
        return singles, None
    # If the caller changes its array, native code computes the floats again.
    return singles, _sealed(doubles)


def values(name: str, value: npt.ArrayLike, count: int, what: str) -> Floats:
    """Return one float32 for each of ``count`` elements."""
    array = _asarray(name, value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}; expected numbers that can be converted to float32")
    return _sealed(_counted(name, _plain(array, np.float32), count, what))


def indices(name: str, value: npt.ArrayLike, end: int, *, none: bool = False) -> Indices:
    """Return indices from 0 up to ``end`` (exclusive), as uint32 of any shape.

    If ``none`` is set, -1 is allowed and represents a missing value. uint32 and int32 arrays are not copied.
    """
    array = _asarray(name, value)
    if array.dtype.kind not in "iu":
        if array.size:
            raise TypeError(f"{name} has dtype {array.dtype}; expected integers (uint32 and int32 are not copied)")
        array = array.astype(np.uint32)
    if array.dtype.newbyteorder("=") in (np.int32, np.uint32):
        # A negative int32 exceeds 2**31 as uint32, so one pass over the maximum detects both errors.
        plain = _plain(array, array.dtype.newbyteorder("=")).view(np.uint32)
    else:
        _check_range(name, array, end, none)
        return _sealed(_plain(array, np.uint32))
    if plain.size and int(plain.max()) >= end:
        _check_range(name, array, end, none)
    return _sealed(plain)


def slots(name: str, value: npt.ArrayLike, count: int) -> Slots:
    """Return one int32 per face. All int32 values are allowed; values that are not valid slots mean no material."""
    array = _asarray(name, value)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} has dtype {array.dtype}; expected integers (int32 is not copied)")
    if array.size and (int(array.max()) > 2**31 - 1 or int(array.min()) < -(2**31)):
        raise ValueError(f"{name} has values that do not fit into int32")
    return _sealed(_counted(name, _plain(array, np.int32), count, "faces"))


def flags(name: str, value: npt.ArrayLike, count: int, what: str) -> Flags:
    """Return one bool for each of ``count`` elements. A single bool applies to all of them."""
    array = _asarray(name, value)
    if array.dtype.kind not in "biu":
        raise TypeError(f"{name} has dtype {array.dtype}; expected bool")
    if array.ndim == 0:
        return _sealed(np.full(count, bool(array)))
    if array.dtype == np.uint8 and array.flags.c_contiguous and array.size and int(array.max()) <= 1:
        return _sealed(_counted(name, array.view(np.bool_), count, what))
    return _sealed(_counted(name, _plain(array, np.bool_), count, what))


def offsets(name: str, value: npt.ArrayLike, corners: int, min_corners: int, what: str) -> Indices:
    """Return the start offsets of elements: from 0 to ``corners`` in steps of at least ``min_corners``."""
    array = indices(name, value, corners + 1)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}; expected (number of {what}s + 1,)")
    if array[0] != 0 or array[-1] != corners:
        expected = f"expected from 0 to {corners}, the number of corners"
        raise ValueError(f"{name} ranges from {array[0]} to {array[-1]}; {expected}")
    steps = np.diff(array)  # wraps around if the offsets decrease, and is then too large
    wrong = steps.size and (int(steps.min()) < min_corners or int(steps.max()) > corners)
    if wrong:
        at = int(np.argmax((steps < min_corners) | (steps > corners)))
        raise ValueError(
            f"{name}[{at}:{at + 2}] is {array[at]}, {array[at + 1]}; a {what} has at least {min_corners} corners"
        )
    return array


def even_offsets(count: int, corners: int) -> Indices:
    """Return the offsets of ``count`` elements with ``corners`` corners each."""
    check_count("the corners", count * corners)
    return _sealed(np.arange(0, count * corners + 1, corners, dtype=np.uint32))


def check_count(name: str, count: int) -> None:
    """Raise ``ValueError`` if there are more elements than indices can address."""
    if count > MOST:
        raise ValueError(f"{name}: {count} elements; at most {MOST} (2**32 - 2) are possible")


def matrix(given: npt.ArrayLike) -> list[list[float]]:
    """Return a transform of shape (4, 4), (3, 4) or (3, 3) as four rows."""
    array = np.asarray(given, np.float64)
    if array.shape not in ((4, 4), (3, 4), (3, 3)):
        raise ValueError(f"matrix has shape {array.shape}; expected (4, 4), (3, 4) or (3, 3)")
    whole = np.eye(4)
    whole[: array.shape[0], : array.shape[1]] = array
    return whole.tolist()


def box(given: npt.ArrayLike) -> list[list[float]]:
    """Return the minimum and maximum x, y, z of a (2, 3) array."""
    array = np.asarray(given, np.float64)
    if array.shape != (2, 3):
        raise ValueError(f"box has shape {array.shape}; expected (2, 3): the smallest and the largest x, y, z")
    if not (array[0] <= array[1]).all():
        raise ValueError("box is empty; expected the smallest x, y, z before the largest")
    return cast(list[list[float]], array.tolist())


def _asarray(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    if value is None:
        raise TypeError(f"{name} is None; expected an array")
    check_mask(name, value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None


def check_mask(name: str, value: Any) -> None:
    """Raise ``ValueError`` for masked values, which would otherwise be treated as numbers."""
    # The masks of structured arrays have a bool per field.
    if isinstance(value, np.ma.MaskedArray) and np.ascontiguousarray(np.ma.getmask(value)).view(np.bool_).any():
        raise ValueError(f"{name} has masked values; fill them first, as in {name}.filled(0)")


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal, including nested dicts, lists and tuples.

    Arrays must have the same dtype. NaN equals NaN in arrays.
    """
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        are_arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype
        return are_arrays and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def _plain(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the array itself if it has this type, C order and alignment, and a copy otherwise."""
    return np.require(array, dtype, ["C", "A"])


def _sealed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    sealed = array.view()
    sealed.flags.writeable = False
    return sealed


def _rows(name: str, array: npt.NDArray[Any], columns: int) -> npt.NDArray[Any]:
    fits = array.size % columns == 0 if array.ndim == 1 else array.ndim > 1 and array.shape[-1] == columns
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}; expected (n, {columns}), or flat (n * {columns},)")
    rows = array.reshape(-1, columns)
    check_count(name, len(rows))
    return rows


def _counted(name: str, array: npt.NDArray[Any], count: int, what: str) -> npt.NDArray[Any]:
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({count},), one per {what}")
    return array


def _check_range(name: str, array: npt.NDArray[Any], end: int, none: bool) -> None:
    """Raise ``ValueError`` for the first index that is not from 0 up to ``end`` (exclusive)."""
    if not array.size:
        return
    wrong = (array < 0) | (array >= end)
    if none:
        wrong &= (array != -1) if array.dtype.kind == "i" else (array != NONE)
    if wrong.any():
        at = np.unravel_index(int(np.argmax(wrong)), array.shape)
        where = ", ".join(str(int(part)) for part in at)
        expected = f"expected an index from 0 to {end - 1}" if end else "there are no elements to refer to"
        hint = " (-1 means none)" if none else ""
        raise ValueError(f"{name}[{where}] is {array[at]}; {expected}{hint}")
