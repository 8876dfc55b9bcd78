"""A small object store on the loopback, with faults: for tests and benchmarks.

It speaks as much of S3 as polyhaul uses (ranges, listing, uploads in one or many parts) and of a plain web server, checks
no signatures, and keeps objects in memory. :class:`Faults` makes it fail, stall, cut bodies off, or slow down.

S3's interface: https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_STEP_BYTES = 1 << 18


@dataclass
class Faults:
    """How often a request fails (0 to 1 each), and how fast bodies are sent."""

    failing: float = 0
    cut_off: float = 0
    slow: float = 0
    slow_seconds: float = 0.2
    #: Bytes per second over all connections; 0 is no limit.
    rate: float = 0
    #: Whether ranges are ignored, as by simple web servers.
    without_ranges: bool = False
    random: random.Random = field(default_factory=lambda: random.Random(1))

    def strikes(self, share: float) -> bool:
        return share > 0 and self.random.random() < share


class ObjectServer(ThreadingHTTPServer):
    """The server; ``objects`` maps ``bucket/key`` to bytes."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        #: Buckets that do not exist, and objects in Glacier.
        self.missing_buckets: set[str] = set()
        self.archived: set[str] = set()
        #: Where objects have moved to.
        self.redirects: dict[str, str] = {}
        self.uploads: dict[str, tuple[str, dict[int, bytes]]] = {}
        self.aborted = 0
        self.requests: list[str] = []
        self.faults = Faults()
        self.lock = threading.Lock()
        self.free_at = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def environment(self) -> dict[str, str]:
        """What leads S3's clients here."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "polyhaul-test",
            "AWS_SECRET_ACCESS_KEY": "polyhaul-secret",
            "AWS_REGION": "us-east-1",
        }

    def put(self, name: str, data: bytes) -> str:
        with self.lock:
            self.objects[name] = data
            self.tags[name] = f'"{hashlib.md5(data).hexdigest()}"'
            return self.tags[name]

    def wait_for(self, count: int) -> None:
        """Waits until the link has carried so many bytes more."""
        if self.faults.rate:
            with self.lock:
                self.free_at = max(self.free_at, time.monotonic()) + count / self.faults.rate
                delay = self.free_at - time.monotonic()
            time.sleep(max(0, delay))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ObjectServer
    # Without this, each answer waits for the client's acknowledgement.
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def _begin(self) -> tuple[str, dict[str, list[str]]] | None:
        """The object and the query, unless the request fails."""
        split = urlsplit(self.path)
        server, faults = self.server, self.server.faults
        with server.lock:
            server.requests.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            fails, is_slow = faults.strikes(faults.failing), faults.strikes(faults.slow)
        if is_slow:
            time.sleep(faults.slow_seconds)
        if fails:
            self._body()
            self._answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return None
        name = unquote(split.path).removeprefix("/")
        if name.split("/")[0] in server.missing_buckets:
            self._body()
            self._answer(404, b"<Error><Code>NoSuchBucket</Code><Message>No bucket</Message></Error>")
            return None
        return name, parse_qs(split.query, keep_blank_values=True)

    def _body(self) -> bytes:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("x-amz-content-sha256", "").startswith("STREAMING"):
            raise NotImplementedError
        return data

    def _answer(self, status: int, body: bytes | memoryview = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        with self.server.lock:
            is_cut = self.command == "GET" and self.server.faults.strikes(self.server.faults.cut_off)
        end = len(body) // 2 if is_cut else len(body)
        for at in range(0, end, _STEP_BYTES):
            step = body[at : min(at + _STEP_BYTES, end)]
            self.server.wait_for(len(step))
            self.wfile.write(step)
        if is_cut:
            self.close_connection = True

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        begun = self._begin()
        if begun is None:
            return
        name, query = begun
        if "list-type" in query:
            return self._list(name, query)
        if name in self.server.redirects:
            return self._answer(302, headers={"Location": self.server.redirects[name]})
        data = self.server.objects.get(name)
        if data is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if name in self.server.archived and self.command == "GET":
            return self._answer(403, b"<Error><Code>InvalidObjectState</Code><Message>Storage class</Message></Error>")
        changed = "Thu, 26 Nov 2026 12:00:00 GMT"
        headers = {"ETag": self.server.tags[name], "Last-Modified": changed, "Accept-Ranges": "bytes"}
        byte_range = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        view = memoryview(data)
        if byte_range is None or self.server.faults.without_ranges:
            if self.command == "HEAD":
                return self._head(len(data), headers)
            return self._answer(200, view, headers)
        start, end = int(byte_range[1]), min(int(byte_range[2]) + 1, len(data))
        if start >= len(data):
            return self._answer(416, headers=headers)
        content_range = f"bytes {start}-{end - 1}/{len(data)}"
        self._answer(206, view[start:end], headers | {"Content-Range": content_range})

    def _head(self, size: int, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def _list(self, bucket: str, query: dict[str, list[str]]) -> None:
        bucket = bucket.rstrip("/")
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        start = query.get("continuation-token", query.get("start-after", [""]))[0]
        with self.server.lock:
            names = sorted(n[len(bucket) + 1 :] for n in self.server.objects if n.startswith(f"{bucket}/{prefix}"))
        keys = [n for n in names if n > start and not (delimiter and delimiter in n[len(prefix) :])]
        page, rest = keys[:1000], keys[1000:]
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-26T12:00:00.000Z"
            f"</LastModified><ETag>{escape(self.server.tags[f'{bucket}/{key}'])}</ETag>"
            f"<Size>{len(self.server.objects[f'{bucket}/{key}'])}</Size></Contents>"
            for key in page
        )
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
        text = f"<ListBucketResult><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>{more}{entries}</ListBucketResult>"
        self._answer(200, text.encode(), {"Content-Type": "application/xml"})

    def do_PUT(self) -> None:
        begun = self._begin()
        if begun is None:
            return
        (name, query), data = begun, self._body()
        if "uploadId" not in query:
            return self._answer(200, headers={"ETag": self.server.put(name, data)})
        tag = f'"{hashlib.md5(data).hexdigest()}"'
        with self.server.lock:
            upload = self.server.uploads.get(query["uploadId"][0])
            if upload is not None:
                upload[1][int(query["partNumber"][0])] = data
        self._answer(200 if upload else 404, headers={"ETag": tag})

    def do_POST(self) -> None:
        begun = self._begin()
        if begun is None:
            return
        name, query = begun
        data = self._body()
        if "uploads" in query:
            with self.server.lock:
                upload = f"upload{len(self.server.requests)}"
                self.server.uploads[upload] = (name, {})
            text = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return self._answer(200, text.encode())
        if "uploadId" in query:
            with self.server.lock:
                _, parts = self.server.uploads.pop(query["uploadId"][0])
            numbers = [int(n) for n in re.findall(rb"<PartNumber>(\d+)</PartNumber>", data)]
            tag = self.server.put(name, b"".join(parts[n] for n in numbers))
            text = f"<CompleteMultipartUploadResult><ETag>{escape(tag)}</ETag></CompleteMultipartUploadResult>"
            return self._answer(200, text.encode())
        self._answer(400)

    def do_DELETE(self) -> None:
        begun = self._begin()
        if begun is None:
            return
        name, query = begun
        with self.server.lock:
            if "uploadId" in query:
                self.server.uploads.pop(query["uploadId"][0], None)
                self.server.aborted += 1
            else:
                self.server.objects.pop(name, None)
        self._answer(204)


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A running server."""
    server = ObjectServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
