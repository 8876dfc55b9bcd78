"""From bucket to bucket in stores that others wrote: moto (S3) and, where it is installed, azurite (Azure)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from batch_library import make_library, outputs  # noqa: E402

POLYHAUL = [sys.executable, "-m", "polyhaul"]
WORDS = ["--to", "ply", "--recursive", "--full-names", "--json"]


def test_s3(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    boto3 = pytest.importorskip("boto3")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    with server([sys.executable, "-m", "moto.server", "-p", str(port)], port):
        store = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        for bucket in ["source", "made"]:
            store.create_bucket(Bucket=bucket)
        convert_buckets(tmp_path, "s3", environment)
        assert "Uploads" not in store.list_multipart_uploads(Bucket="made")


def test_azure(tmp_path: Path) -> None:
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite is not installed (npm install --global azurite)")
    # The address that clients of the emulator expect.
    with server([program, "--silent", "--inMemoryPersistence", "--skipApiVersionCheck"], 10000):
        for container in ["source", "made"]:
            create_container(container)
        convert_buckets(tmp_path, "az", {"AZURE_STORAGE_USE_EMULATOR": "true"})


def convert_buckets(folder: Path, scheme: str, environment: dict[str, str]) -> None:
    """Converts a library on disk and in the store, and compares the outputs."""
    library, out, back = make_library(folder / "in", 20), folder / "out", folder / "back"
    run(environment, "batch", library, "-o", out, *WORDS)
    for name, data in outputs(library).items():
        put(environment, scheme, f"{scheme}://source/lib/{name}", data)
    words = ["batch", f"{scheme}://source/lib/", "-o", f"{scheme}://made/lib/", *WORDS]
    first, second = run(environment, *words), run(environment, *words)
    assert (first["converted"], first["failed"]) == (20, 10), first
    assert (second["converted"], second["skipped"], second["skipped_failed"]) == (0, 20, 10), second
    run(environment, "convert", f"{scheme}://made/lib/", back, *WORDS[:3], "--json")
    assert outputs(back) == outputs(out)


def put(environment: dict[str, str], scheme: str, url: str, data: bytes) -> None:
    """Writes an object as it is."""
    bucket, _, key = url.removeprefix(f"{scheme}://").partition("/")
    if scheme == "s3":
        import boto3

        given = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=environment["AWS_ENDPOINT_URL"], **given)
        client.put_object(Bucket=bucket, Key=key, Body=data)
    else:
        azure_put(f"{bucket}/{key}", data, {"x-ms-blob-type": "BlockBlob"})


def run(environment: dict[str, str], *words: object) -> dict[str, object]:
    ran = subprocess.run([*POLYHAUL, *map(str, words)], capture_output=True, text=True, env=os.environ | environment)
    assert ran.returncode in (0, 3), ran.stdout + ran.stderr
    result: dict[str, object] = json.loads(ran.stdout)
    return result


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def server(words: list[str], port: int) -> Iterator[None]:
    """A server, once it listens."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


#: The emulator's account, which is public: https://learn.microsoft.com/azure/storage/common/storage-use-azurite
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def create_container(name: str) -> None:
    azure_put(name, b"", {}, "restype=container")


def azure_put(name: str, data: bytes, headers: dict[str, str], query: str = "") -> None:
    """A PUT, signed as https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key says."""
    now = datetime.now(timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = dict(sorted((headers | {"x-ms-date": now, "x-ms-version": "2021-08-06"}).items()))
    listed = "".join(f"{key}:{value}\n" for key, value in headers.items())
    length = str(len(data)) if data else ""
    kind = "application/octet-stream"
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}" + (f"\n{query.replace('=', ':')}" if query else "")
    text = f"PUT\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{listed}{resource}"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Length": str(len(data)), "Content-Type": kind}
    url = f"http://127.0.0.1:10000/{ACCOUNT}/{name}" + (f"?{query}" if query else "")
    urlopen(Request(url, data=data, method="PUT", headers=headers)).close()
