"""The repository's test files: what is read and written through Python's objects is what ``convert`` makes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import REPOSITORY, TESTDATA

FILES = sorted((TESTDATA / "good").rglob("*.obj")) + sorted((TESTDATA / "regression").rglob("*.obj"))
BROKEN = sorted((TESTDATA / "bad").rglob("*.obj"))

#: Of formats with tables: PLY, STL and text.
OTHERS = [path for kind in ("ply", "stl", "table") for path in sorted((REPOSITORY / "testdata" / kind).rglob("*.*"))]

#: Larger ones are left to the tests of the library.
MAX_BYTES = 300_000


def small(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.stat().st_size <= MAX_BYTES]


def test_there_are_files() -> None:
    assert len(FILES) > 10 and len(BROKEN) > 10


def test_good_files_come_out_as_convert_writes_them() -> None:
    for path in small(FILES):
        try:
            scene = polyhaul.read(path)
        except polyhaul.Error as error:
            with pytest.raises(type(error)):
                polyhaul.convert(path, io.BytesIO(), to_format="obj")
            continue
        through, straight = io.BytesIO(), io.BytesIO()
        polyhaul.write(scene, through, format="obj")
        polyhaul.convert(path, straight, to_format="obj")
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


def other(part: str) -> list[Path]:
    suffixes = {".ply", ".stl", ".csv", ".tsv", ".txt", ".xyz", ".pts", ".npy"}
    paths = [path for path in small(OTHERS) if part in path.parts and path.suffix in suffixes]
    assert len(paths) > 10
    return paths


def test_other_good_files_come_out_as_convert_writes_them() -> None:
    for path in other("good"):
        try:
            scene = polyhaul.read(path)
        except polyhaul.Error as error:
            with pytest.raises(type(error)):
                polyhaul.convert(path, io.BytesIO(), to_format="ply", global_scale=2)
            continue
        # What is scaled goes over a scene; as it is, convert would go from table to table.
        through, straight = io.BytesIO(), io.BytesIO()
        polyhaul.write(scene, through, format="ply", global_scale=2)
        polyhaul.convert(path, straight, to_format="ply", global_scale=2)
        assert through.getvalue() == straight.getvalue(), path


def test_tables_of_other_good_files_are_written_and_read_again() -> None:
    for path in other("good"):
        if path.suffix == ".stl":
            continue
        try:
            # Properties of PLY have names.
            read = polyhaul.read_tables(path, missing=0)
            tables = [polyhaul.Table(table.to_dict(), name=table.name or "row") for table in read]
        except polyhaul.UnsupportedError:
            continue
        out = io.BytesIO()
        try:
            polyhaul.write_tables(tables, out)
        except polyhaul.UsageError as error:
            assert "64" in str(error.__notes__) or "PLY" in str(error), path
            continue
        again = polyhaul.read_tables(out.getvalue(), format="ply")
        assert [table.names for table in again] == [table.names for table in tables], path
        for a, b in zip(tables, again, strict=True):
            for left, right in zip(a.columns, b.columns, strict=True):
                pairs = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
                assert all(np.array_equal(x, y, equal_nan=True) for x, y in pairs), path


def test_other_bad_files_are_errors_of_ours() -> None:
    for path in other("bad"):
        for read in (polyhaul.read, polyhaul.read_tables):
            try:
                read(path)
            except polyhaul.Error as error:
                assert error.kind in ("malformed", "limit", "unsupported", "io", "usage"), path
                assert str(error)


def test_scenes_for_a_renderer_come_as_meshes_and_objects() -> None:
    folder = REPOSITORY / "testdata" / "pbrt"
    # One has directives of pbrt-v3, which are errors; one is a part of another.
    for path in sorted(folder.glob("good/*.pbrt")):
        if path.stem.endswith(("_v3", "_included")):
            continue
        scene = polyhaul.read(path)
        assert all(obj.transform is not None for obj in scene.objects), path
    scene = polyhaul.read(folder / "good" / "07_instances.pbrt")
    assert len(scene.objects) == 64 and len(scene.meshes) == 1
    for path in sorted(folder.glob("bad/generated/*.pbrt")):
        try:
            polyhaul.read(path)
        except polyhaul.Error as error:
            assert error.kind in ("malformed", "limit", "unsupported", "io"), path
