"""Scans: what is chosen, in batches, as tables, scenes, files and streams of Arrow."""

from __future__ import annotations

import gc
import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyhaul

ROWS = 50_000


def points(folder: Path, name: str = "points.ply", **options: Any) -> tuple[Path, polyhaul.Table]:
    """A file of points with columns of several types."""
    rng = np.random.default_rng(3)
    table = polyhaul.Table(
        {
            "x": rng.normal(size=ROWS).astype(np.float32),
            "y": rng.normal(size=ROWS).astype(np.float32),
            "z": rng.normal(size=ROWS).astype(np.float32),
            "opacity": rng.normal(size=ROWS).astype(np.float32),
            "label": rng.integers(0, 9, ROWS).astype(np.uint8),
        },
        name="vertex",
    )
    polyhaul.write_table(table, folder / name, **options)
    return folder / name, table


def joined(batches: list[dict[str, Any]], name: str) -> Any:
    return np.concatenate([batch[name] for batch in batches])


@pytest.mark.parametrize("name", ["points.ply", "points.csv", "points.npy", "points.ply.gz"])
def test_batches_are_the_rows_that_numpy_chooses(tmp_path: Path, name: str) -> None:
    path, table = points(tmp_path, name)
    is_chosen = np.asarray((table["opacity"] > 0.5) & (table["label"] != 3) & (np.abs(table["z"]) < 1))
    terms = ["opacity > 0.5 and label != 3", "abs(z) < 1"]
    if name.endswith(".npy"):
        terms = ["column(3) > 0.5 and column(4) != 3", "abs(column(2)) < 1"]
    scan = polyhaul.scan(path)
    for term in terms:
        scan = scan.filter(term)
    batches = list(scan.batches("64KiB"))
    assert len(batches) > 3
    # Text has the digits of a float32, and is read as float64.
    for column, wanted_column in zip(batches[0], table.columns, strict=True):
        assert np.array_equal(joined(batches, column).astype(wanted_column.dtype), wanted_column[is_chosen])
    assert sum(len(batch[next(iter(batch))]) for batch in batches) == is_chosen.sum()
    assert np.array_equal(scan.read().columns[3].astype(np.float32), table["opacity"][is_chosen])


def test_boxes_samples_and_columns(tmp_path: Path) -> None:
    path, table = points(tmp_path)
    inside = np.all([np.abs(table[axis]) <= 1 for axis in "xyz"], axis=0)
    scan = polyhaul.scan(path).filter(box=[[-1, -1, -1], [1, 1, 1]])
    every = scan.sample(every=7).select("label", "x")
    assert list(every.read()) == ["label", "x"]
    assert np.array_equal(every.read()["x"], table["x"][inside][::7])
    assert np.array_equal(joined(list(every.batches(1 << 16)), "label"), table["label"][inside][::7])
    sample = scan.sample(100)
    assert len(sample.read()) == 100
    assert np.array_equal(sample.read()["x"], joined(list(sample.batches(1 << 16)), "x"))
    assert set(sample.read()["x"]) <= set(table["x"][inside])
    moved = scan.transform([[1, 0, 0, 10], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).read()
    assert np.array_equal(moved["x"], (table["x"][inside].astype(float) + 10).astype(np.float32))
    assert np.array_equal(moved["y"], table["y"][inside] * 2)


def test_nothing_left_is_one_batch_without_rows(tmp_path: Path) -> None:
    path, table = points(tmp_path)
    (batch,) = polyhaul.scan(path).filter("x > 1000").batches()
    assert list(batch) == list(table.names)
    assert all(len(values) == 0 for values in batch.values())
    assert batch["label"].dtype == np.uint8


def test_sinks_write_what_is_read(tmp_path: Path) -> None:
    path, _ = points(tmp_path)
    scan = polyhaul.scan(path).filter("opacity > 0").sample(every=3)
    expected = scan.read()
    for name in ["a.ply", "a.csv", "a.npy", "a.tsv.gz"]:
        report = scan.sink(tmp_path / name)
        assert report.bytes_out == (tmp_path / name).stat().st_size
        written = polyhaul.read_table(tmp_path / name)
        for there, here in zip(written.columns, expected.columns, strict=True):
            assert np.array_equal(there.astype(here.dtype), here), name
    scan.sink(tmp_path / "limited.ply", memory_limit="64MiB")
    assert (tmp_path / "limited.ply").read_bytes() == (tmp_path / "a.ply").read_bytes()


def test_faces_go_with_their_vertices(tmp_path: Path) -> None:
    side = 20
    grid = np.stack([*np.meshgrid(np.arange(side), np.arange(side)), np.zeros((side, side))], axis=-1)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.stack([corner, corner + 1, corner + side + 1, corner + side], axis=1)
    whole = polyhaul.Mesh(grid.reshape(-1, 3), faces)
    for name in ["grid.ply", "grid.obj", "grid.glb"]:
        polyhaul.write(whole, tmp_path / name)
        left = polyhaul.scan(tmp_path / name).filter("x < 4.5 and y <= 7").read_scene()
        assert sum(len(mesh.positions) for mesh in left.meshes) == 5 * 8, name
        count = sum(len(mesh.face_offsets) - 1 for mesh in left.meshes)
        assert count == (4 * 7 if name != "grid.glb" else 2 * 4 * 7), name
        positions = left.meshes[0].positions[left.meshes[0].corner_positions]
        assert positions[:, 0].max() == 4 and positions[:, 1].max() == 7
        polyhaul.scan(tmp_path / name).filter("x < 4.5 and y <= 7").sink(tmp_path / "left.obj")
        assert (tmp_path / "left.obj").read_text().count("\nf ") == count


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("x >", "filter:1:4: expected a number, a column or `(`"),
        ("x = 1", "filter:1:3: unexpected `=`"),
        ("x", "filter:1:1: expected a condition, found a number"),
    ],
)
def test_wrong_filters_are_refused_at_once(text: str, wrong: str) -> None:
    with pytest.raises(polyhaul.UsageError) as raised:
        polyhaul.scan(b"").filter(text)
    assert wrong in str(raised.value)


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    path, _ = points(tmp_path)
    scan = polyhaul.scan(path)
    for bad in (lambda: scan.filter(box=[[0, 0, 0]]), lambda: scan.filter(box=[[1, 0, 0], [0, 1, 1]]),
                lambda: scan.sample(every=0), lambda: scan.sample(-1), lambda: scan.transform(np.eye(2)),
                lambda: list(scan.batches(0))):  # fmt: skip
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(polyhaul.UsageError, match="no column named `opacty`"):
        list(scan.filter("opacty > 0").batches())
    with pytest.raises(polyhaul.UsageError, match="no column named `nope`"):
        scan.select("nope").read()
    with pytest.raises(FileNotFoundError):
        list(polyhaul.scan(tmp_path / "missing.ply").batches())
    with pytest.raises(polyhaul.UsageError):
        list(polyhaul.scan(b"v 0 0 0\n", format="obj").batches())
    with pytest.raises(polyhaul.MalformedError, match="a.csv:3"):
        (tmp_path / "a.csv").write_text("x,y\n1,2\n3,oops\n")
        list(polyhaul.scan(tmp_path / "a.csv").batches())


def test_sources_of_every_kind(tmp_path: Path) -> None:
    path, _ = points(tmp_path)
    expected = joined(list(polyhaul.scan(path).filter("x > 0").batches()), "y")
    for source in (path.read_bytes(), io.BytesIO(path.read_bytes()), str(path)):
        assert np.array_equal(joined(list(polyhaul.scan(source).filter("x > 0").batches(1 << 16)), "y"), expected)


def test_batches_may_be_left_behind(tmp_path: Path) -> None:
    path, _ = points(tmp_path)
    before = threading.active_count()
    for _ in range(20):
        batches = polyhaul.scan(path).batches(1 << 12)
        next(batches)
        del batches
    gc.collect()
    assert threading.active_count() == before


def test_arrow_there_and_back(tmp_path: Path) -> None:
    path, table = points(tmp_path)
    scan = polyhaul.scan(path).filter("label == 4")
    back = polyhaul.Table(scan)
    assert back.names == table.names
    for name in table.names:
        assert np.array_equal(back[name], table[name][table["label"] == 4])
        assert back[name].dtype == table[name].dtype
    report = polyhaul.write_table(scan, tmp_path / "four.csv")
    assert report.bytes_out > 0
    assert np.array_equal(polyhaul.read_table(tmp_path / "four.csv")["x"].astype(np.float32), back["x"])


def test_arrow_from_memory_and_from_file_objects(tmp_path: Path) -> None:
    text = "x,y\n" + "1,2\n" * 200_000
    for source in (text.encode(), io.BytesIO(text.encode())):
        table = polyhaul.Table(polyhaul.scan(source, format="csv").filter("x > 0"))
        assert len(table) == 200_000
    path, points_table = points(tmp_path)
    assert len(polyhaul.Table(polyhaul.scan(path.read_bytes()))) == len(points_table)


def test_warnings_are_not_lost(tmp_path: Path) -> None:
    path, table = points(tmp_path)
    (tmp_path / "more.ply").write_bytes(path.read_bytes() + b"more")
    scan = polyhaul.scan(tmp_path / "more.ply", on_error="warn")
    with pytest.warns(polyhaul.PolyhaulWarning):
        assert sum(len(batch["x"]) for batch in scan.batches(1 << 16)) == len(table)
    with pytest.warns(polyhaul.PolyhaulWarning):
        assert len(scan.read()) == len(table)


def test_columns_of_a_mesh_are_those_of_its_vertices(tmp_path: Path) -> None:
    polyhaul.write(polyhaul.Mesh(np.eye(3), [[0, 1, 2]]), tmp_path / "a.ply")
    table = polyhaul.scan(tmp_path / "a.ply").filter("x < 1").select("y").read()
    assert list(table) == ["y"]
    assert table["y"].tolist() == [1, 0]


def test_lists_are_lists_of_arrow(tmp_path: Path) -> None:
    mesh = polyhaul.Mesh(np.zeros((5, 3)), [[0, 1, 2], [2, 3, 4]])
    polyhaul.write(mesh, tmp_path / "a.ply")
    table = polyhaul.Table(polyhaul.scan(tmp_path / "a.ply", element="face"))
    lists = table.columns[0]
    assert lists.offsets.tolist() == [0, 3, 6]
    assert lists.values.tolist() == [0, 1, 2, 2, 3, 4]


def test_polars_and_pyarrow_read_and_are_read(tmp_path: Path) -> None:
    path, table = points(tmp_path)
    pyarrow, compute = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.compute")
    polars = pytest.importorskip("polars")
    scan = polyhaul.scan(path).filter("opacity > 1")
    frame = pyarrow.table(scan)
    assert np.array_equal(frame["x"].to_numpy(), table["x"][table["opacity"] > 1])
    again = polyhaul.Table(frame.filter(compute.field("label") == 2))
    assert np.array_equal(again["y"], table["y"][(table["opacity"] > 1) & (table["label"] == 2)])
    lazy = polars.DataFrame(scan).filter(polars.col("label") == 2).select("z", "label")
    polyhaul.write_table(lazy, tmp_path / "two.npy")
    assert np.array_equal(polyhaul.read_table(tmp_path / "two.npy").columns[0], again["z"])
    with pytest.raises(ValueError, match="missing values"):
        polyhaul.Table(pyarrow.table({"x": [1.0, None]}))
    with pytest.raises(ValueError, match="missing values"):
        polyhaul.Table(pyarrow.table({"x": [[1.0, None], [2.0]]}))
    lists = polyhaul.Table(polars.DataFrame({"x": [[1, 2], [], [3]]}))["x"]
    assert lists.offsets.tolist() == [0, 2, 2, 3]
    assert lists.values.tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="expected numbers"):
        polyhaul.Table(pyarrow.table({"x": ["a"]}))
