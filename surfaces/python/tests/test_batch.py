"""``polyhaul batch``: what is converted, what is skipped, what is left after crashes and kills, and the manifest."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polyhaul
import pytest
from batch_library import BROKEN, make_library, outputs
from conftest import CUBE
from object_server import object_server

POLYHAUL = [sys.executable, "-m", "polyhaul"]


def run(*words: object, code: int = 0, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """What a run of the command prints as JSON."""
    command = [*POLYHAUL, "batch", *map(str, words), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | (environment or {}), timeout=120)
    assert ran.returncode == code, ran.stdout + ran.stderr
    result: dict[str, Any] = json.loads(ran.stdout)
    return result


def counts(result: dict[str, Any]) -> tuple[int, int, int, int]:
    return result["converted"], result["failed"], result["skipped"], result["skipped_failed"]


def test_options_that_are_on_can_be_switched_off(tmp_path: Path) -> None:
    source = tmp_path / "a.obj"
    source.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n")
    for name, options in (
        ("default", {"recursive": False}),
        ("with", {"uv": True}),
        ("export_with", {"export_uv": True, "no_lazy": True}),
        ("without", {"uv": False}),
        ("export_without", {"export_uv": False}),
    ):
        manifest = polyhaul.batch(source, tmp_path / name, to="ply", **options)
        assert len(manifest.done) == 1
        has_uvs = polyhaul.read(tmp_path / name / "a.ply").meshes[0].uvs is not None
        assert has_uvs == (not name.endswith("without")), name


def test_assets_are_converted_once(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 20), tmp_path / "out"
    words = [library, "-o", out, "--to", "ply", "--recursive", "--full-names"]
    assert counts(run(*words, code=3)) == (20, 10, 0, 0)
    assert counts(run(*words, code=3)) == (0, 0, 20, 10)
    assert counts(run(*words, "--retry-failed", code=3)) == (0, 10, 20, 0)
    # Other options are another job; threads and workers are not.
    assert counts(run(*words, "--workers", "1", code=3)) == (0, 0, 20, 10)
    assert counts(run(*words, "--ascii", code=3)) == (20, 10, 0, 0)
    assert counts(run(*words, "--ascii", "--force", code=3)) == (20, 10, 0, 0)


def test_what_changed_is_converted_again(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 6, broken=False), tmp_path / "out"
    words = [library, "-o", out, "--to", "ply", "--recursive"]
    run(*words)
    (library / "part0" / "asset0.obj").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (out / "part1" / "asset1.ply").unlink()
    (out / "part0" / "asset2.ply").write_bytes(b"cut")
    assert counts(run(*words)) == (3, 0, 3, 0)
    rows = polyhaul.read_manifest(out).rows
    assert sorted(row["status"] for row in rows) == ["done"] * 6 + ["replaced"] * 3


def test_broken_assets_are_rows_with_kind_and_place(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 2), tmp_path / "out"
    run(library, "-o", out, "--to", "ply", "--full-names", "--recursive", code=3)
    manifest = polyhaul.read_manifest(out)
    failed = {row["asset"]: row["error"] for row in manifest.failed}
    assert set(failed) == set(BROKEN)
    assert {error["kind"] for error in failed.values()} == {"malformed"}
    assert (failed["word.obj"]["line"], failed["word.obj"]["column"]) == (1, 5)
    assert failed["numbers.obj"]["line"] == 2
    assert all(error["file"].endswith(name) for name, error in failed.items())
    assert len(manifest.done) == 2 and all(len(row["outputs"][0]["hash"]) == 32 for row in manifest.done)
    assert all(row["peak_bytes"] > 1_000_000 for row in manifest.done if sys.platform == "linux")


def test_the_manifest_is_a_parquet_file(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    library, out = make_library(tmp_path / "in", 4), tmp_path / "out"
    run(library, "-o", out, "--to", "ply", "--full-names", "--recursive", code=3)
    table = parquet.read_table(out / ".polyhaul" / "manifest.parquet").to_pylist()
    rows = polyhaul.read_manifest(out).rows
    assert [(row["asset"], row["status"], row["seconds"]) for row in table] == [
        (row["asset"], row["status"], row["seconds"]) for row in rows
    ]
    assert all((row["error_kind"] is None) == (row["status"] == "done") for row in table)
    assert json.loads(table[0]["outputs"]) == rows[0]["outputs"]


def test_names_must_differ(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ["a.obj", "a.stl"]:
        (tmp_path / "in" / name).write_bytes(b"")
    ran = subprocess.run([*POLYHAUL, "batch", tmp_path / "in", "-o", tmp_path / "out", "--to", "ply"],
                          capture_output=True, text=True)
    assert ran.returncode == 2
    assert "would be written to the same file" in ran.stderr and "--full-names" in ran.stderr


def test_outputs_are_not_inputs(tmp_path: Path) -> None:
    library = make_library(tmp_path / "in", 3, broken=False)
    polyhaul.convert(library / "part0" / "asset0.obj", library / "scan.ply")
    before = outputs(library)
    ran = subprocess.run([*POLYHAUL, "batch", library, "-o", library, "--to", "ply"], capture_output=True, text=True)
    assert ran.returncode == 2 and "scan.ply is an input, and would be overwritten" in ran.stderr
    assert outputs(library) == before
    # Beside their inputs, outputs of other names are fine.
    assert counts(run(library, "-o", library, "--to", "ply", "--recursive", "--include", "*.obj"))[0] == 1


def test_job_files_have_options(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 3, broken=False), tmp_path / "out"
    job = tmp_path / "job.toml"
    job.write_text('to = "ply"\nrecursive = true\npreview = 32\n[write]\nascii = true\n')
    assert counts(run(library, "-o", out, "--job", job)) == (3, 0, 0, 0)
    made = outputs(out)
    assert len(made) == 6 and made["part0/asset0.ply"].startswith(b"ply\nformat ascii")
    assert made["part0/asset0.ply.png"].startswith(b"\x89PNG")
    # The same options in words.
    words = ["--to", "ply", "--recursive", "--preview", "32", "--ascii"]
    assert counts(run(library, "-o", out, *words)) == (0, 0, 3, 0)
    job.write_text('to = "ply"\nnonsense = 1\n')
    ran = subprocess.run([*POLYHAUL, "batch", library, "-o", out, "--job", job], capture_output=True, text=True)
    assert ran.returncode == 2 and "--nonsense" in ran.stderr


def test_limits_of_assets_cost_the_asset(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 4, broken=False), tmp_path / "out"
    # 64 MB of numbers, beside the 45 MB of a worker that runs in Python.
    (library / "large.csv").write_text("x,y\n" + "1.25,2.5\n" * 4_000_000)
    words = [library, "-o", out, "--to", "ply", "--recursive", "--include", "*.csv", "--include", "*.obj", "--include", "*.stl"]
    if sys.platform == "linux":
        run(*words, "--asset-memory", "90MB", code=3)
        failed = polyhaul.read_manifest(out).failed
        assert [(row["asset"], row["error"]["kind"]) for row in failed] == [("large.csv", "asset-memory")]
    fifo = library / "endless.obj"
    if hasattr(os, "mkfifo"):
        os.mkfifo(fifo)
        run(fifo, *words, "--asset-timeout", "1", code=3)
        failed = polyhaul.read_manifest(out).failed
        assert ("endless.obj", "asset-timeout") in [(row["asset"], row["error"]["kind"]) for row in failed]
        assert len(polyhaul.read_manifest(out).done) >= 4


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_an_asset_that_kills_its_worker_is_a_row(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 30, broken=False), tmp_path / "out"
    os.mkfifo(tmp_path / "killer.obj")
    words = [*POLYHAUL, "batch", str(library), str(tmp_path / "killer.obj"), "-o", str(out), "--to", "ply"]
    words += ["--recursive", "--workers", "2", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    # Once the others are done, all workers are killed: the one that waits for the FIFO, and an idle one.
    for _ in range(200):
        time.sleep(0.1)
        if len(list(out.rglob("*.ply"))) == 30:
            break
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGSEGV)
    printed = process.communicate(timeout=60)[0]
    assert counts(json.loads(printed))[:2] == (30, 1)
    [failed] = polyhaul.read_manifest(out).failed
    assert failed["asset"] == "killer.obj" and failed["error"]["kind"] == "crash"
    assert "signal 11" in failed["error"]["message"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_run_continues(tmp_path: Path) -> None:
    library, whole, out = make_library(tmp_path / "in", 400), tmp_path / "whole", tmp_path / "out"
    words = ["--to", "ply", "--recursive", "--full-names", "--workers", "2"]
    run(library, "-o", whole, *words, code=3)
    chance = random.Random(7)
    kills = 0
    for _ in range(20):
        process = subprocess.Popen([*POLYHAUL, "batch", library, "-o", out, *words, "--quiet"], start_new_session=True,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.25 + 0.1 * chance.random())
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
    run(library, "-o", out, *words, "--retry-failed", code=3)
    assert kills > 0
    # What a process was writing when it was killed stays for a minute, under a name of its own.
    unfinished = [path for path in out.rglob(".*.tmp") if ".polyhaul-" in path.name]
    assert len(unfinished) <= 2 * kills
    for path in unfinished:
        path.unlink()
    assert outputs(out) == outputs(whole)
    rows = polyhaul.read_manifest(out).rows
    converted = [row["asset"] for row in rows if row["status"] == "done"]
    assert len(converted) == len(set(converted)) == 400
    # Only what was in flight is done twice: at most 32 assets of each worker and kill.
    assert sum(row["status"] == "replaced" for row in rows) <= kills * 64


def test_a_damaged_log_costs_its_lines(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 5, broken=False), tmp_path / "out"
    words = [library, "-o", out, "--to", "ply", "--recursive"]
    run(*words)
    [log] = (out / ".polyhaul" / "log").iterdir()
    lines = log.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"asset", b"usset")
    log.write_bytes(b"".join(lines) + b"0123456789abcdef {cut")
    assert counts(run(*words)) == (1, 0, 4, 0)
    status = json.loads(subprocess.run([*POLYHAUL, "batch", "status", out, "--json"], capture_output=True, text=True).stdout)
    assert (status["done"], status["damaged_lines"]) == (5, 1)


def test_shards_meet_in_one_manifest(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 30, broken=False), tmp_path / "out"
    words = [library, "-o", out, "--to", "ply", "--recursive"]
    made = [counts(run(*words, "--shard", f"{part}/3"))[0] for part in [1, 2, 3]]
    assert sum(made) == 30 and all(made)
    assert not (out / ".polyhaul" / "manifest.parquet").exists()
    subprocess.run([*POLYHAUL, "batch", "merge", out, "--quiet"], check=True)
    assert (out / ".polyhaul" / "manifest.parquet").exists()
    assert len(list((out / ".polyhaul" / "log").iterdir())) == 1
    assert counts(run(*words)) == (0, 0, 30, 0)


def test_the_page_tells_what_failed(tmp_path: Path) -> None:
    library, out, page = make_library(tmp_path / "in", 3), tmp_path / "out", tmp_path / "page.html"
    run(library, "-o", out, "--to", "ply", "--recursive", "--full-names", "--preview", "32", code=3)
    subprocess.run([*POLYHAUL, "batch", "status", out, "--html", page, "--thumbnails"], check=True, capture_output=True)
    text = page.read_text()
    assert "word.obj" in text and "malformed: 10 assets" in text and text.count("data:image/png;base64,") == 3
    assert "http" not in text.replace("http-equiv", "")


def test_python_gets_the_manifest(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 3), tmp_path / "out"
    manifest = polyhaul.batch(library, out, to="ply", recursive=True, full_names=True, include=["*.obj", "*.stl"])
    assert len(manifest.done) == 3 and len(manifest.failed) == 5
    assert manifest.summary["converted"] == 3
    with pytest.raises(polyhaul.Error, match="5 assets failed"):
        polyhaul.batch(library, out, to="ply", recursive=True, full_names=True, include=["*.obj", "*.stl"], check=True)
    with pytest.raises(polyhaul.Error, match="none"):
        polyhaul.batch(tmp_path / "none", out, to="ply")
    with pytest.raises(polyhaul.Error, match="no log"):
        polyhaul.read_manifest(tmp_path)


def test_errors_have_the_class_of_their_cause(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name, error in (("word.obj", polyhaul.MalformedError), ("cut.obj.gz", ValueError)):
        path = tmp_path / name
        path.write_bytes(BROKEN[name])
        with pytest.raises(error, match="1 asset failed; the first: .*" + name) as caught:
            polyhaul.batch(path, out / name.replace(".", ""), to="ply", check=True)
        assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message  # type: ignore[attr-defined]
    with pytest.raises(FileNotFoundError) as missing:
        polyhaul.batch(tmp_path / "none.obj", out, to="ply")
    assert isinstance(missing.value, polyhaul.IoError) and missing.value.path == str(tmp_path / "none.obj")
    with pytest.raises(polyhaul.UsageError):
        polyhaul.batch(path, out, to="nonsense")
    with pytest.raises((polyhaul.UsageError, TypeError), match="nonsense"):
        polyhaul.batch(path, out, to="ply", nonsense=1)
    with pytest.raises(polyhaul.UsageError, match="no log"):
        polyhaul.read_manifest(tmp_path / "none")
    with pytest.raises(polyhaul.Error, match="no log"):
        polyhaul.read_manifest(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
def test_limits_of_assets_have_the_class_of_their_cause(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_text("x,y\n" + "1.25,2.5\n" * 4_000_000)
    with pytest.raises(MemoryError):
        polyhaul.batch(tmp_path / "large.csv", tmp_path / "out", to="ply", asset_memory="90MB", check=True)
    os.mkfifo(tmp_path / "endless.obj")
    with pytest.raises(TimeoutError):
        polyhaul.batch(tmp_path / "endless.obj", tmp_path / "other", to="ply", asset_timeout=1, check=True)


def test_batch_reports_progress(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 40), tmp_path / "out"
    calls: list[tuple[int, int | None]] = []
    threads: set[int] = set()

    def progress(done: int, total: int | None) -> None:
        calls.append((done, total))
        threads.add(threading.get_ident())

    polyhaul.batch(library, out, to="ply", recursive=True, full_names=True, progress=progress)
    assert calls[0] == (0, 50) and calls[-1] == (50, 50) and calls == sorted(calls)
    assert threads == {threading.get_ident()}
    calls.clear()
    polyhaul.batch(library, out, to="ply", recursive=True, full_names=True, progress=progress)
    assert not calls
    with pytest.raises(TypeError, match="progress is of type int"):
        polyhaul.batch(library, out, to="ply", progress=3)  # type: ignore[arg-type]


@pytest.mark.skipif(os.name == "nt", reason="runs a shell script")
def test_messages_of_workers_are_not_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "command"
    lines = ("", "progress a b", "progress 1", "thread 'main' panicked", "progress 1 2")
    command.write_text("#!/bin/sh\n" + "".join(f'echo "{line}" >&2\n' for line in lines))
    command.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(command))
    told: list[tuple[int, int | None]] = []
    assert polyhaul._batch._run([], lambda *counts: told.append(counts)) == ("", "\n".join(lines[:-1]) + "\n")
    assert told == [(1, 2)]


def test_an_exception_of_progress_stops_the_batch(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 1200, broken=False), tmp_path / "out"

    class Enough(Exception):
        pass

    def progress(done: int, total: int | None) -> None:
        if done:
            raise Enough

    with pytest.raises(Enough):
        polyhaul.batch(library, out, to="ply", recursive=True, full_names=True, workers=2, progress=progress)
    done = len(polyhaul.read_manifest(out).done)
    assert 0 < done < 1200 and not [path for path in out.rglob(".*.tmp") if ".polyhaul-" in path.name]
    manifest = polyhaul.batch(library, out, to="ply", recursive=True, full_names=True)
    assert manifest.summary["skipped"] == done and manifest.summary["converted"] == 1200 - done


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_control_c_stops_the_batch_and_its_workers(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.obj")
    code = (
        # a shell's background jobs are started with SIGINT ignored, and so are their children
        "import polyhaul, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    polyhaul.batch(sys.argv[1], sys.argv[2], to='ply', progress=lambda *counts: print(*counts, flush=True))\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "endless.obj"), str(tmp_path / "out")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == "0 1\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "stopped\n"


@pytest.mark.skipif(not polyhaul._polyhaul.CAN_OPEN_URLS, reason="built without the feature cloud")
def test_from_bucket_to_bucket(tmp_path: Path) -> None:
    library, out = make_library(tmp_path / "in", 40), tmp_path / "out"
    run(library, "-o", out, "--to", "ply", "--recursive", "--full-names", code=3)
    with object_server() as server:
        for path in library.rglob("*.*"):
            server.put(f"raw/lib/{path.relative_to(library)}", path.read_bytes())
        server.faults.failing, server.faults.cut_off, server.faults.slow = 0.05, 0.05, 0.02
        words = ["s3://raw/lib/", "-o", "s3://made/lib/", "--to", "ply", "--recursive", "--full-names"]
        environment = server.environment()
        assert counts(run(*words, code=3, environment=environment)) == (40, 10, 0, 0)
        made = {name: data for name, data in server.objects.items() if name.startswith("made/lib/")}
        objects = {name.removeprefix("made/lib/"): data for name, data in made.items() if ".polyhaul" not in name}
        assert objects == outputs(out)
        assert "made/lib/.polyhaul/manifest.parquet" in made and not server.uploads
        assert len([name for name in made if name.endswith(".log")]) == 1
        assert counts(run(*words, code=3, environment=environment)) == (0, 0, 40, 10)
        server.put("raw/lib/part0/asset0.obj", b"v 0 0 0\n")
        del server.objects["made/lib/part1/asset1.stl.ply"]
        assert counts(run(*words, code=3, environment=environment)) == (2, 0, 38, 10)
        rows = json.dumps([data.decode() for name, data in server.objects.items() if name.endswith(".log")])
        assert "polyhaul-secret" not in rows and "polyhaul-test" not in rows


@pytest.mark.skipif(not polyhaul._polyhaul.CAN_OPEN_URLS, reason="built without the feature cloud")
def test_odd_keys_are_failed_rows(tmp_path: Path) -> None:
    out = tmp_path / "out"
    odd = ["x//c.obj", "x/../d.obj", "./e.obj", "/f.obj"]
    with object_server() as server:
        # Folders of a store's own pages, hidden names and notes are no assets.
        for name in ["a.obj", "sub/b.obj", "sub/", "odd.obj/", ".git/g.obj", "x/c.obj", *odd, "cold.obj"]:
            server.put(f"odd/{name}", CUBE)
        server.archived.add("odd/cold.obj")
        words = ["s3://odd/", "-o", out, "--to", "ply", "--recursive"]
        environment = server.environment()
        assert counts(run(*words, code=3, environment=environment)) == (3, 5, 0, 0)
        rows = polyhaul.read_manifest(out).rows
        failed = {row["asset"]: row["error"]["message"] for row in rows if row["status"] == "failed"}
        assert sorted(failed) == sorted([*odd, "cold.obj"])
        assert "archived" in failed.pop("cold.obj")
        assert all("rename the object" in message for message in failed.values())
        assert sorted(outputs(out)) == ["a.ply", "sub/b.ply", "x/c.ply"]
        assert not (tmp_path / "d.ply").exists()
        # An object that is gone.
        del server.objects["odd/sub/b.obj"]
        assert counts(run(*words, "--prune", code=3, environment=environment)) == (0, 0, 2, 5)
        assert sorted(outputs(out)) == ["a.ply", "x/c.ply"]


@pytest.mark.skipif(not polyhaul._polyhaul.CAN_OPEN_URLS, reason="built without the feature cloud")
def test_missing_buckets_are_named(tmp_path: Path) -> None:
    with object_server() as server:
        server.missing_buckets.add("none")
        server.put("some/a.obj", CUBE)
        for source, target in [("s3://none/", tmp_path / "out"), ("s3://some/", "s3://none/out/")]:
            result = run(source, "-o", target, "--to", "ply", code=1, environment=server.environment())
            assert "no such bucket" in result["error"]["message"]
