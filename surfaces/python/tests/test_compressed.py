"""Compressed files: recognised by content, written by name or on request, the same bytes for any thread count."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows

BIG = rows(100_000)


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(BIG, 1)
    (tmp_path / "named.obj").write_bytes(packed)
    (tmp_path / "named.obj.gz").write_bytes(packed[:-8] + packed[-8:])
    expected = polyhaul.read(BIG).meshes[0].positions
    sources: list[Any] = [packed, io.BytesIO(packed), tmp_path / "named.obj", tmp_path / "named.obj.gz"]
    for source in sources:
        np.testing.assert_array_equal(polyhaul.read(source).meshes[0].positions, expected)


def test_members_are_read_as_one(tmp_path: Path) -> None:
    half = len(BIG) // 2
    packed = gzip.compress(BIG[:half], 1) + gzip.compress(BIG[half:], 1)
    np.testing.assert_array_equal(polyhaul.read(packed).meshes[0].positions, polyhaul.read(BIG).meshes[0].positions)


@pytest.mark.parametrize("ending", [".gz", ".zst", ".lz4"])
def test_what_is_written_is_read_again(tmp_path: Path, ending: str) -> None:
    scene = polyhaul.read(BIG)
    path = tmp_path / f"x.obj{ending}"
    report = polyhaul.write(scene, path)
    assert report.bytes_out == path.stat().st_size < len(BIG)
    np.testing.assert_array_equal(polyhaul.read(path).meshes[0].positions, scene.meshes[0].positions)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_the_report_says_what_was_decompressed(codec: Any) -> None:
    packed, plain = io.BytesIO(), io.BytesIO()
    polyhaul.write(scene := polyhaul.read(BIG), packed, format="obj", compression=codec)
    polyhaul.write(scene, plain, format="obj")
    for report in (polyhaul.read(packed.getvalue()).report, polyhaul.convert(packed.getvalue(), io.BytesIO(), to_format="obj")):
        assert report is not None and report.codec == codec
        assert report.bytes_in == len(packed.getvalue()) < len(plain.getvalue()) == report.plain_bytes_in


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_the_bytes_do_not_depend_on_threads(codec: Any) -> None:
    scene = polyhaul.read(BIG)

    def packed(threads: int) -> bytes:
        target = io.BytesIO()
        polyhaul.write(scene, target, format="obj", compression=codec, threads=threads)
        return target.getvalue()

    expected = packed(1)
    assert all(packed(threads) == expected for threads in (2, 7))
    plain = io.BytesIO()
    polyhaul.write(scene, plain, format="obj")
    if codec == "gzip":
        assert gzip.decompress(expected) == plain.getvalue()
    np.testing.assert_array_equal(polyhaul.read(expected).meshes[0].positions, scene.meshes[0].positions)


def test_levels_change_the_size() -> None:
    scene = polyhaul.read(BIG)

    def size(level: int) -> int:
        target = io.BytesIO()
        polyhaul.write(scene, target, format="obj", compression="gzip", level=level)
        return len(target.getvalue())

    assert size(9) < size(1)
    with pytest.raises(polyhaul.UsageError):
        size(13)
    with pytest.raises(ValueError, match="level is 99; expected 1 to 22"):
        size(99)


def test_file_objects_are_compressed_by_their_name(tmp_path: Path) -> None:
    with (tmp_path / "x.obj.gz").open("wb") as file:
        polyhaul.write(polyhaul.read(CUBE), file)
    assert gzip.decompress((tmp_path / "x.obj.gz").read_bytes()).startswith(b"#")


def test_broken_streams_are_errors() -> None:
    packed = gzip.compress(BIG, 1)
    for broken in (packed[:-1], packed[: len(packed) // 2], packed[:-8] + bytes(8)):
        with pytest.raises(polyhaul.Error):
            polyhaul.read(broken)
        with pytest.raises(polyhaul.Error):
            polyhaul.read(io.BytesIO(broken))


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    wrong: Any = "rar"
    with pytest.raises(ValueError, match="compression is 'rar'; expected auto, none, gzip"):
        polyhaul.write(polyhaul.Scene(), tmp_path / "x.obj", compression=wrong)
    with pytest.raises(ValueError, match='compression is "none", but the name'):
        polyhaul.write(polyhaul.Scene(), tmp_path / "x.obj.gz", compression="none")
    polyhaul.write(polyhaul.read(CUBE), tmp_path / "x.obj", compression="none")
    assert (tmp_path / "x.obj").read_bytes().startswith(b"#")
