"""The engine of ``polyhaul batch --engine ray``: reads tasks from standard input, writes rows to standard output.

Each Ray task converts many small assets or one large asset. Its process keeps an agent, ``polyhaul batch --agent``,
which converts the assets in a separate worker process, so an asset that crashes the worker is reported as a row, as on
a single machine. Ray schedules tasks by CPU and memory, starts nodes, and retries the tasks of lost nodes. Retries are
harmless: outputs only appear when they are complete, and this process writes one row per asset.

Ray Data plans memory per operation of a pipeline, but asset sizes differ by five orders of magnitude. The engine
therefore uses Ray tasks. For Ray Data pipelines, use :func:`polyhaul.ray.map_assets`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import IO, Any

from ._agent import convert_assets

#: A Ray task is full when it reaches this number of bytes or assets.
BUNDLE_BYTES = 32 << 20
BUNDLE_ASSETS = 64
#: The memory that a task requests: the base, plus this number of bytes per byte of its largest source.
MEMORY_PER_BYTE = 4
BASE_MEMORY = 200_000_000

Task = dict[str, Any]
Row = dict[str, Any]


def main() -> None:
    """Connect to the cluster, and process tasks until the end of standard input."""
    parser = argparse.ArgumentParser(prog="polyhaul._ray_engine")
    parser.add_argument("--address")
    parser.add_argument("words", nargs="+")
    given = parser.parse_args()
    rows = _own_output()
    try:
        import ray
    except ImportError:
        sys.exit("Ray is not installed (pip install ray[data])")
    address = given.address or os.environ.get("RAY_ADDRESS")
    ray.init(address=address, log_to_driver=False, configure_logging=False, include_dashboard=False)
    try:
        for row in run(sys.stdin, given.words):
            rows.write(json.dumps(row) + "\n")
            rows.flush()
    finally:
        ray.shutdown()


def _own_output() -> IO[str]:
    """Reserve standard output for rows, and redirect all other output to standard error."""
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return rows


def run(lines: IO[str], words: list[str]) -> Iterator[Row]:
    """Yield the rows of all tasks in ``lines`` as they finish."""
    import ray

    tasks: SimpleQueue[Task | None] = SimpleQueue()
    threading.Thread(target=_read, args=(lines, tasks), daemon=True).start()
    # Retry the tasks of lost nodes without a limit.
    remote = ray.remote(num_cpus=1, max_retries=-1)(convert_assets)
    pending: dict[Any, list[Task]] = {}
    is_open = True
    while is_open or pending:
        room = max(16, int(4 * ray.cluster_resources().get("CPU", 1)))
        while is_open and len(pending) < room:
            bundle, is_open = _bundle(tasks, must_wait=not pending)
            if not bundle:
                break
            memory = BASE_MEMORY + MEMORY_PER_BYTE * max(task["bytes"] for task in bundle)
            pending[remote.options(memory=memory).remote(words, bundle)] = bundle
        ready, _ = ray.wait(list(pending), num_returns=1, timeout=0.05) if pending else ([], [])
        for reference in ready:
            yield from _rows(reference, pending.pop(reference))


def _rows(reference: Any, bundle: list[Task]) -> list[Row]:
    """Return the rows of a Ray task, or a failed row for each of its assets if the whole task failed."""
    import ray

    try:
        rows: list[Row] = ray.get(reference)
    except Exception as error:
        rows = [_failed(task, f"{type(error).__name__}: {error}") for task in bundle]
    return rows


def _failed(task: Task, message: str) -> Row:
    """Return a row for an asset whose Ray task failed.

    The row does not have the hash of the options, so the next run retries the asset.
    """
    given = {"id": task["id"], "asset": task["asset"], "attempt": task["attempt"], "source": task["source"]}
    version = {"source_version": task["version"], "source_bytes": task["bytes"]}
    return given | version | {"seconds": 0.0, "started": time.time(), "error": {"kind": "engine", "message": message[:2000]}}


def _read(lines: IO[str], tasks: SimpleQueue[Task | None]) -> None:
    for line in lines:
        tasks.put(json.loads(line))
    tasks.put(None)


def _bundle(tasks: SimpleQueue[Task | None], must_wait: bool) -> tuple[list[Task], bool]:
    """Return the next available tasks for one Ray task, and whether more may follow."""
    bundle: list[Task] = []
    total = 0
    while len(bundle) < BUNDLE_ASSETS and total < BUNDLE_BYTES:
        try:
            task = tasks.get(timeout=0.5 if must_wait and not bundle else 0.002)
        except Empty:
            break
        if task is None:
            return bundle, False
        bundle.append(task)
        total += task["bytes"]
    return bundle, True


if __name__ == "__main__":
    main()
