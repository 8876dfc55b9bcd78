"""Options: Python offers every row of the library's table, by name, with its type."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import option_types
import polyhaul
import pytest
from polyhaul import _options, _polyhaul
from polyhaul._options import ROWS, Row

TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
OPTIONS = [row for row in ROWS if row.group not in ("limits", "texture") and row.name != "format"]


def test_the_types_are_generated_from_the_table() -> None:
    message = "run cargo xtask option-types"
    assert option_types.TARGET.read_text(encoding="utf-8") == option_types.generated(), message


def test_names_and_aliases_are_unique() -> None:
    names = [name for row in OPTIONS for name in (row.name, row.alias) if name]
    assert len(set(names)) == len(names)
    assert {field.name: str(field.default) for field in fields(polyhaul.Limits)} == {
        row.name: row.default for row in ROWS if row.group == "limits"
    }


def native(row: Row, options: dict[str, Any]) -> str | None:
    """The text that native code has for an option."""
    make: Any = _options.read_options if row.reads else _options.write_options
    text: str | None = make(options).get(row.name)
    return text


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.name)
def test_every_option_is_set_by_name_alias_and_text(row: Row) -> None:
    if row.name in ("bounds", "columns", "transform"):
        return  # arrays and lists, which are not passed as text
    assert native(row, {}) == native(row, {row.name: None} if row.kind != "text" else {}) == row.default
    samples: dict[str, Any] = {
        "flag": row.default == "false", "integer": 2, "size": 7, "positive": 0.5, "text": "x", "Axis": "NEGATIVE_X",
        "Digits": 3, "DigitsList": [3, "shortest"], "Delimiter": ";", "Missing": -1, "Meshes": "ply:7", "Filter": "x > 1",
            "Kinds": "left-out-uvs", "Origin": (1, 2.5, 3),
    }  # fmt: skip
    value = row.choices[-1] if row.kind == "choice" else samples[row.kind]
    text = native(row, {row.name: value})
    assert text is not None and text != row.default
    for name in (row.name, row.alias):
        assert not name or native(row, {name: text}) == native(row, {name: value}) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": 101}, "quality is 101; expected 1 to 100"),
        ({"parts": 5001}, "parts is 5001; expected 0 to 5000"),
        ({"strict": "perhaps"}, "strict is 'perhaps'; expected false, true or all"),
        ({"column_digits": [1, 99]}, r"column_digits is \[1, 99\]; expected 0 to 12"),
        ({"instances": True}, "instances is True; expected auto, flatten"),
        ({"global_scale": "big"}, "global_scale is 'big'; expected a positive number"),
    ],
)
def test_values_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        polyhaul.write(polyhaul.Scene(), io.BytesIO(), format="obj", **options)


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match=r"limits\.files is 'many'; expected"):
        polyhaul.read(TRIANGLE, limits=polyhaul.Limits(files="many"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"limits\.files is 0\.5 of type float"):
        polyhaul.read(TRIANGLE, limits=polyhaul.Limits(files=0.5))  # type: ignore[arg-type]


def test_conversions_take_options_of_both_sides() -> None:
    out = io.BytesIO()
    polyhaul.convert(
        b"x|y|z\n1|2|3\n4|5|6\n", out, from_format="csv", to_format="csv", delimiter="|", filter="x > 1",
        columns=["z", 0], out_header=False, digits=1,
    )
    assert out.getvalue() == b"6,4\n"
    with pytest.raises(TypeError, match="unknown option 'format'"):
        polyhaul.convert(TRIANGLE, out, format="obj")  # type: ignore[call-arg]


def test_names_of_columns_may_be_numbers_and_have_commas() -> None:
    text = b'"a,b",0,x\n1,2,3\n'
    table = polyhaul.read_table(text, format="csv", columns=["0", "a,b", 0])
    assert [column.tolist() for column in table.columns] == [[2], [1], [1]]


@pytest.mark.parametrize("smoothing", ["none", "flags", "groups", "bitflags"])
def test_smoothing_is_one_option(smoothing: Literal["none", "flags", "groups", "bitflags"]) -> None:
    out = io.BytesIO()
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], smooth=True)
    polyhaul.write(mesh, out, format="obj", smoothing=smoothing)
    assert (b"\ns 1\n" in out.getvalue()) == (smoothing != "none")


def test_boxes_may_be_infinite() -> None:
    scan = polyhaul.scan(b"x,y,z\n0,0,0\n9,9,9\n", format="csv", box=np.array([[1] * 3, [np.inf] * 3]))
    assert scan.read()["x"].tolist() == [9]
    with pytest.raises(ValueError, match="has a box already"):
        scan.filter(box=[[0, 0, 0], [1, 1, 1]])


def test_the_rows_name_their_formats() -> None:
    assert set(_polyhaul.FORMATS) >= {"obj", "ply", "compressed.ply"}
    names = {name.replace(".", "_") for name in _polyhaul.FORMATS} | {"images", "tables"}
    assert all(set(row.formats) <= names for row in ROWS)
