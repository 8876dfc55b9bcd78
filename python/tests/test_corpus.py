"""The repository's test files: what is read and written through Python's objects is what ``convert`` makes."""

from __future__ import annotations

import io
from pathlib import Path

import polyhaul
import pytest
from conftest import TESTDATA

FILES = sorted((TESTDATA / "good").rglob("*.obj")) + sorted((TESTDATA / "regression").rglob("*.obj"))
BROKEN = sorted((TESTDATA / "bad").rglob("*.obj"))

#: Larger ones are left to the tests of the library.
MOST_BYTES = 300_000


def small(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.stat().st_size <= MOST_BYTES]


def test_there_are_files() -> None:
    assert len(FILES) > 10 and len(BROKEN) > 10


def test_good_files_come_out_as_convert_writes_them() -> None:
    for path in small(FILES):
        try:
            scene = polyhaul.read(path)
        except polyhaul.Error as error:
            with pytest.raises(type(error)):
                polyhaul.convert(path, io.BytesIO())
            continue
        through, straight = io.BytesIO(), io.BytesIO()
        polyhaul.write(scene, through)
        polyhaul.convert(path, straight)
        assert through.getvalue() == straight.getvalue(), path
        for mesh in scene.meshes:
            assert mesh.material_slots is None or len(mesh.material_slots) == mesh.face_count, path
            assert mesh.smooth is None or len(mesh.smooth) == mesh.face_count, path
            assert repr(mesh).startswith("<polyhaul.Mesh")


def test_bad_files_are_errors_of_ours() -> None:
    for path in small(BROKEN):
        try:
            polyhaul.read(path)
        except polyhaul.Error as error:
            assert error.kind in ("malformed", "limit", "unsupported", "io"), path
            assert str(error)
