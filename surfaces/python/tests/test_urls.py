"""URLs of object stores and web servers, which native code opens: against a server on the loopback, with faults."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import CUBE
from object_server import ObjectServer, object_server

MTL = b"newmtl red\nKd 1 0 0\nmap_Kd wood 1.png\nnewmtl blue\nKd 0 0 1\n"

pytestmark = pytest.mark.skipif(not polyhaul._polyhaul.CAN_OPEN_URLS, reason="built without the feature cloud")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with object_server() as server:
        server.put("lib/cube.obj", CUBE)
        server.put("lib/cube.mtl", MTL)
        server.put("lib/wood 1.png", b"no picture")
        # Buckets are connected to once per process, so each test has its own.
        yield server


def run(server: ObjectServer, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own."""
    variables = os.environ | server.environment() | {"POLYHAUL_NETWORK_TIMEOUT": "2"} | environment
    return subprocess.run(
        [sys.executable, "-m", "polyhaul", *words], env=variables, capture_output=True, text=True, timeout=60
    )


def large_ply(vertices: int = 1_500_000) -> bytes:
    """A mesh of several parts: 18 MB."""
    points = np.random.default_rng(3).random((vertices, 3), np.float32)
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n"
    header += "property float x\nproperty float y\nproperty float z\nend_header\n"
    return header.encode() + points.astype("<f4").tobytes()


def test_the_web_is_read(server: ObjectServer) -> None:
    scene = polyhaul.read(f"{server.url}/lib/cube.obj")
    assert len(scene.objects) == 2
    assert scene.materials[0].diffuse == pytest.approx((1, 0, 0))
    # A name in a file is percent-encoded where it must be.
    assert scene.report is not None and not scene.report.warnings


def test_s3_is_read_and_written(server: ObjectServer, tmp_path: Path) -> None:
    ran = run(server, "convert", "s3://lib/cube.obj", "s3://out/a/cube.ply", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert server.objects["out/a/cube.ply"].startswith(b"ply\n")
    ran = run(server, "convert", "s3://lib/cube.obj", str(tmp_path / "cube.ply"), "--quiet")
    assert (tmp_path / "cube.ply").read_bytes() == server.objects["out/a/cube.ply"]


def test_references_are_found_and_copied_beside_urls(server: ObjectServer) -> None:
    ran = run(server, "convert", "s3://lib/cube.obj", "s3://out/cube.obj", "--copy-assets")
    assert ran.returncode == 0, ran.stderr
    assert sorted(name for name in server.objects if name.startswith("out/")) == [
        "out/cube.mtl", "out/cube.obj", "out/wood 1.png",
    ]
    ran = run(server, "convert", "s3://lib/cube.obj", "s3://lib/sub/cube.obj")
    assert b"map_Kd ../wood 1.png" in server.objects["lib/sub/cube.mtl"], ran.stderr


def test_names_do_not_lead_out(server: ObjectServer) -> None:
    server.put("lib/evil/a.obj", b"mtllib ../cube.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    server.put("lib/evil/b.obj", b"mtllib /etc/passwd\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for name in "ab":
        for more in [[], ["--allow-outside"]]:
            ran = run(server, "info", f"s3://lib/evil/{name}.obj", "--json", *more)
            assert ran.returncode == 0, ran.stderr
            assert ("missing-library" in ran.stdout or "allow-outside" in ran.stdout) == (name == "b" or not more)
    assert not any("passwd" in request for request in server.requests)


def test_a_prefix_is_a_folder(server: ObjectServer) -> None:
    for number in range(3):
        server.put(f"lib/many/deep/{number}.obj", CUBE)
    ran = run(server, "convert", "s3://lib/many/", "s3://out/", "--to", "stl", "--recursive", "--quiet")
    assert ran.returncode == 0, ran.stderr
    made = {name for name in server.objects if name.endswith(".stl")}
    assert made == {f"out/deep/{number}.stl" for number in range(3)}


def test_large_objects_have_many_parts_each_way(server: ObjectServer) -> None:
    data = large_ply()
    server.put("lib/large.ply", data)
    ran = run(server, "convert", "s3://lib/large.ply", "s3://out/large.ply", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert server.objects["out/large.ply"][-1000:] == data[-1000:]
    gets = [request for request in server.requests if request.startswith("GET /lib/large.ply")]
    assert 4 < len(gets) < 20
    assert sum("partNumber" in request for request in server.requests) == 3
    assert not server.uploads


def test_compressed_objects(server: ObjectServer) -> None:
    server.put("lib/cube.obj.gz", gzip.compress(CUBE))
    assert len(polyhaul.read(f"{server.url}/lib/cube.obj.gz").objects) == 2


def test_servers_without_ranges_are_streams(server: ObjectServer) -> None:
    server.faults.without_ranges = True
    server.put("lib/large.ply", large_ply())
    assert len(polyhaul.read(f"{server.url}/lib/large.ply").meshes[0].positions) == 1_500_000


def test_an_empty_object_is_an_empty_file(server: ObjectServer) -> None:
    server.put("lib/empty.obj", b"")
    ran = run(server, "info", "s3://lib/empty.obj")
    assert ran.returncode == 0, ran.stderr


def test_faults_are_overcome(server: ObjectServer) -> None:
    data = large_ply()
    server.put("lib/large.ply", data)
    whole = run(server, "convert", "s3://lib/large.ply", "s3://out/whole.ply", "--quiet")
    assert whole.returncode == 0
    faults = server.faults
    faults.failing, faults.cut_off, faults.slow = 0.15, 0.15, 0.1
    for _ in range(2):
        ran = run(server, "convert", "s3://lib/large.ply", "s3://out/large.ply", "--quiet")
        assert ran.returncode == 0, ran.stderr
        assert server.objects["out/large.ply"] == server.objects["out/whole.ply"]
        assert len(polyhaul.read(f"{server.url}/lib/cube.obj").objects) == 2


def test_failures_name_the_request_and_no_secret(server: ObjectServer) -> None:
    ran = run(server, "info", "s3://lib/none.obj")
    assert ran.returncode == 1
    assert "s3://lib/none.obj" in ran.stderr and "no such object" in ran.stderr
    server.faults.failing = 1
    ran = run(server, "info", "s3://lib/cube.obj", AWS_SECRET_ACCESS_KEY="hidden-key")
    assert ran.returncode == 1 and "503" in ran.stderr and "hidden-key" not in ran.stderr
    with pytest.raises(OSError, match="503") as caught:
        polyhaul.read(server.url.replace("//", "//me:hidden@") + "/lib/cube.obj?signature=hidden")
    assert "hidden" not in str(caught.value)
    server.faults.failing = 0
    with pytest.raises(FileNotFoundError):
        polyhaul.read(f"{server.url}/lib/none.obj")


def test_a_silent_server_times_out(server: ObjectServer) -> None:
    server.faults.slow, server.faults.slow_seconds = 1, 3
    ran = run(server, "info", f"{server.url}/lib/cube.obj", POLYHAUL_NETWORK_TIMEOUT="1")
    assert ran.returncode == 1 and "timed out" in ran.stderr


def test_a_dripping_server_is_given_up(server: ObjectServer) -> None:
    server.put("lib/large.ply", large_ply())
    server.faults.rate = 100_000
    variables = {"POLYHAUL_NETWORK_TIMEOUT": "1", "POLYHAUL_NETWORK_MIN_RATE": "100000000"}
    ran = run(server, "info", f"{server.url}/lib/large.ply", **variables)
    assert ran.returncode == 1 and "POLYHAUL_NETWORK_" in ran.stderr, ran.stderr


@pytest.mark.parametrize("name", ["TIMEOUT", "MIN_RATE", "REDIRECTS"])
def test_settings_that_are_not_understood_are_errors(server: ObjectServer, name: str) -> None:
    ran = run(server, "info", f"{server.url}/lib/cube.obj", **{f"POLYHAUL_NETWORK_{name}": "http://x/"})
    assert ran.returncode == 1 and f"POLYHAUL_NETWORK_{name}" in ran.stderr, ran.stderr


def test_redirects_elsewhere_need_permission(server: ObjectServer) -> None:
    with object_server() as other:
        other.put("lib/cube.obj", CUBE)
        server.redirects["lib/moved.obj"] = f"{other.url.replace('127.0.0.1', 'localhost')}/lib/cube.obj"
        url = f"{server.url}/lib/moved.obj".replace("//", "//me:hidden@")
        ran = run(server, "info", url)
        assert ran.returncode == 1 and "POLYHAUL_NETWORK_REDIRECTS=localhost" in ran.stderr, ran.stderr
        ran = run(server, "info", url, POLYHAUL_NETWORK_REDIRECTS="localhost")
        assert ran.returncode == 1 and "private address" in ran.stderr and "hidden" not in ran.stderr, ran.stderr
        assert not other.requests
        ran = run(server, "info", url, POLYHAUL_NETWORK_REDIRECTS="localhost,private")
        assert ran.returncode == 0 and other.requests, ran.stderr


def test_a_failed_upload_leaves_nothing(server: ObjectServer, tmp_path: Path) -> None:
    # Damaged at its end, so that parts are sent before the reader finds out.
    (tmp_path / "bad.csv").write_bytes(b"a,b\n" + b"1.5,2.5\n" * 4_000_000 + b"x,y\n")
    server.put("out/t.npy", b"old")
    ran = run(server, "convert", str(tmp_path / "bad.csv"), "s3://out/t.npy")
    assert ran.returncode == 1
    assert server.objects["out/t.npy"] == b"old" and not server.uploads


def test_a_changed_object_is_an_error(server: ObjectServer) -> None:
    server.put("lib/large.ply", large_ply())
    original, count = ObjectServer.wait_for, 0

    def replace(self: ObjectServer, size: int) -> None:
        nonlocal count
        count += 1
        if count == 3:
            self.put("lib/large.ply", large_ply())
            self.tags["lib/large.ply"] = '"another"'
        original(self, size)

    server.wait_for = replace.__get__(server)  # type: ignore[method-assign]
    with pytest.raises(OSError, match="changed while it was being read"):
        polyhaul.read(f"{server.url}/lib/large.ply")


def test_web_servers_take_small_outputs(server: ObjectServer) -> None:
    polyhaul.write(polyhaul.read(CUBE), f"{server.url}/put/cube.stl")
    assert len(server.objects["put/cube.stl"]) > 84


def test_profiles_have_credentials(server: ObjectServer, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = a\naws_secret_access_key = b\n")
    (tmp_path / "config").write_text(f"[profile work]\nregion = eu-west-1\nendpoint_url = {server.url}\n")
    empty = {name: "" for name in server.environment()}
    files = {f"AWS_{n}": str(tmp_path / f) for n, f in [("CONFIG_FILE", "config"), ("SHARED_CREDENTIALS_FILE", "credentials")]}
    variables = {k: v for k, v in os.environ.items() if k not in empty} | files | {"AWS_PROFILE": "work"}
    words = [sys.executable, "-m", "polyhaul", "info", "s3://lib/cube.obj"]
    ran = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
