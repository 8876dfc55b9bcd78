"""Looking into files: info and validate."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import polyhaul
import pytest
from conftest import CUBE, rows


def test_info_counts_what_is_inside(cube: Path) -> None:
    info = polyhaul.info(cube)
    counts = (info.objects, info.positions, info.uvs, info.normals, info.faces, info.triangles, info.corners)
    assert counts == (2, 7, 3, 1, 3, 3, 9)
    assert (info.quads, info.polygons, info.lines, info.points, info.materials, info.textures) == (0, 0, 1, 1, 2, 1)
    assert info.bounds == ((0, 0, 0), (6, 6, 5))
    assert info.object_names == ("first", "second") and info.material_names == ("red", "blue")
    assert info.material_libraries == ("cube.mtl",) and info.texture_files == ("red.png",)
    assert info.report.bytes_in > 0


def test_info_of_nothing() -> None:
    info = polyhaul.info(b"", format="obj")
    assert info.bounds is None and info.positions == 0
    types = {type(getattr(info, field.name)) for field in dataclasses.fields(info)}
    assert types == {int, tuple, type(None), polyhaul.Report}


def test_validate_lists_everything() -> None:
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 1 2 x\nf 1 2 9\n"
    validation = polyhaul.validate(text)
    assert not validation and not validation.valid
    assert isinstance(validation.error, polyhaul.MalformedError) and validation.error.line == 5
    assert {complaint.line for complaint in validation.complaints} >= {5, 6}
    assert validation.complaints.counts["degenerate-face"] == 1


def test_a_good_file_is_valid(cube: Path) -> None:
    (cube.parent / "red.png").touch()
    assert polyhaul.validate(cube) and not polyhaul.validate(cube).complaints
    (cube.parent / "red.png").unlink()
    validation = polyhaul.validate(cube)
    assert validation and validation.complaints.counts == {"missing-texture": 1} and validation.error is None
    # A missing texture is no fault of the file.
    assert polyhaul.validate(cube, strict=True)
    faulty = cube.parent / "faulty.obj"
    faulty.write_bytes(cube.read_bytes() + b"what 1\n")
    validation = polyhaul.validate(faulty)
    assert not validation and validation.error is None
    assert [complaint.severity for complaint in validation.complaints if complaint.code == "unknown-statement"] == ["fault"]


def test_streams_and_errors_of_the_system() -> None:
    assert polyhaul.validate(io.BytesIO(CUBE.replace(b"mtllib cube.mtl\n", b"")))
    with pytest.raises(FileNotFoundError):
        polyhaul.validate("none.obj")
    with pytest.raises(polyhaul.MalformedError):
        polyhaul.info(b"f 1 2 x\n")


def test_progress_is_told() -> None:
    calls: list[tuple[int, int | None]] = []
    polyhaul.info(rows(1000), progress=lambda *values: calls.append(values))
    assert calls[-1] == (len(rows(1000)),) * 2
