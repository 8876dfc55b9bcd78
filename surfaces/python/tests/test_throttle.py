"""Sources and targets that are made slow."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest

TEXT = b"v 1 2 3\n" * 25_000
MIN_SECONDS = 0.02
RATE = int(len(TEXT) / MIN_SECONDS)


def takes(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a call that takes its time."""
    start = time.perf_counter()
    result = call(*arguments, **options)
    assert time.perf_counter() - start >= MIN_SECONDS
    return result


@pytest.mark.parametrize("options", [{"read_rate": RATE}, {"read_rate": f"{RATE} B/s"}, {"read_latency": MIN_SECONDS}])
def test_reading_takes_its_time_and_gives_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "points.obj"
    path.write_bytes(TEXT)
    for source in (path, TEXT, io.BytesIO(TEXT)):
        scene = takes(polyhaul.read, source, format="obj", **options)
        np.testing.assert_array_equal(scene.meshes[0].positions, [[1, 2, 3]] * 25_000)
    assert takes(polyhaul.info, path, **options).positions == 25_000
    assert takes(polyhaul.validate, path, **options).valid
    assert len(takes(polyhaul.read_table, b"1,2\n" * 50_000, format="csv", **options)) == 50_000
    assert takes(polyhaul.loadtxt, b"1 2\n" * 50_000, **options).shape == (50_000, 2)


def test_writing_takes_its_time_and_gives_the_same() -> None:
    scene, out, slow = polyhaul.read(TEXT, format="obj"), io.BytesIO(), io.BytesIO()
    polyhaul.write(scene, out, format="obj")
    rate = len(out.getvalue()) / MIN_SECONDS
    takes(polyhaul.write, scene, slow, format="obj", write_rate=float(int(rate)))
    assert slow.getvalue() == out.getvalue()
    takes(polyhaul.convert, TEXT, io.BytesIO(), from_format="obj", to_format="ply", write_latency=MIN_SECONDS)
    takes(polyhaul.savetxt, io.BytesIO(), np.zeros((9, 3)), write_latency=MIN_SECONDS)
    takes(polyhaul.write_table, np.zeros((9, 3)), io.BytesIO(), format="csv", write_latency=MIN_SECONDS)
    image = io.BytesIO()
    takes(polyhaul.write_image, np.zeros((8, 8, 3), np.uint8), image, format="tga", write_latency=MIN_SECONDS)
    takes(polyhaul.read_image, image.getvalue(), format="tga", read_latency=MIN_SECONDS)
    texture: dict[str, Any] = {"from_format": "tga", "format": "dds"}
    for latency in ("read_latency", "write_latency"):
        takes(polyhaul.import_texture, image.getvalue(), io.BytesIO(), **texture, **{latency: MIN_SECONDS})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"read_rate": 0}, ValueError, "read_rate is 0"),
        ({"read_rate": 0.4}, ValueError, "read_rate is 0"),
        ({"read_rate": float("inf")}, TypeError, "read_rate is inf of type float"),
        ({"read_rate": "fast"}, ValueError, "read_rate is 'fast'"),
        ({"read_latency": -1}, ValueError, "read_latency is -1; expected seconds"),
        ({"read_latency": float("nan")}, ValueError, "read_latency is nan"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        polyhaul.read(TEXT, format="obj", **options)


def test_rates_need_not_be_whole() -> None:
    assert polyhaul.read(TEXT, format="obj", read_rate=1e9 / 3).meshes
