"""``polyhaul batch --engine ray`` on a cluster of two nodes, one of which is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polyhaul
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from batch_library import make_library, outputs  # noqa: E402

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

WORDS = ["--to", "ply", "--recursive", "--full-names", "--json"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def command(library: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "polyhaul", "batch", str(library), "-o", str(out), *WORDS, *more]


def test_a_lost_node_costs_nothing_but_time(cluster: Cluster, tmp_path: Path) -> None:
    library, local, out = make_library(tmp_path / "in", 600), tmp_path / "local", tmp_path / "out"
    subprocess.run(command(library, local), stdout=subprocess.DEVNULL)
    second = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    cluster.wait_for_nodes()
    words = command(library, out, "--engine", "ray", "--address", cluster.address)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    while len(outputs(out)) < 100 and process.poll() is None:
        time.sleep(0.05)
    cluster.remove_node(second, allow_graceful=False)
    printed = json.loads(process.communicate(timeout=100)[0])
    assert (printed["converted"], printed["failed"]) == (600, 10), printed
    assert outputs(out) == outputs(local)
    rows = polyhaul.read_manifest(out).rows
    assert len(rows) == 610 and len({row["asset"] for row in rows}) == 610
    kinds = {row["asset"]: (row["error"] or {}).get("kind") for row in rows}
    assert kinds == {row["asset"]: (row["error"] or {}).get("kind") for row in polyhaul.read_manifest(local)}
    again = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    assert (again["converted"], again["skipped"], again["skipped_failed"]) == (0, 600, 10)


def test_assets_in_a_pipeline(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("ray.data")
    library = make_library(tmp_path / "in", 6)
    ray.init(address=cluster.address, ignore_reinit_error=True, log_to_driver=False)
    paths = [{"path": str(path)} for path in sorted(library.rglob("*.*")) if path.is_file()]
    from polyhaul.ray import map_assets

    rows = map_assets(ray.data.from_items(paths), _count).take_all()
    assert len(rows) == 16
    sound = [row for row in rows if not row["error"]]
    assert len(sound) == 6 and all(row["faces"] > 0 for row in sound)
    assert {row["error_kind"] for row in rows if row["error"]} == {"malformed"}


def _count(scene: polyhaul.Scene) -> dict[str, int]:
    return {"faces": sum(mesh.face_count for mesh in scene.meshes)}
