"""The engine behind ``polyhaul batch --engine ray``: tasks from standard input, rows to standard output.

Each Ray task gets some assets: many small ones or one large one. Its process keeps an agent, ``polyhaul batch --agent``,
which converts them in a worker of its own, so that an asset that crashes it is a row here as well as on one machine. Ray
does what it is good at: places tasks by CPU and memory, starts nodes, and repeats tasks whose node was lost. Repeating is
harmless: outputs appear when they are complete, and this process passes on one row per asset.

Ray Data plans memory per operation of a pipeline; assets differ by five orders of magnitude. So the engine uses Ray's
tasks, and :func:`polyhaul.ray.map_assets` is there for pipelines of Ray Data.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import IO, Any

from ._agent import convert_assets

#: Assets of one Ray task together: at most so many bytes, and so many assets.
BUNDLE_BYTES = 32 << 20
BUNDLE_ASSETS = 64
#: Memory that a task is expected to need, by the size of its largest source, besides what its process has anyway.
MEMORY_PER_BYTE = 4
BASE_MEMORY = 200 << 20

Task = dict[str, Any]
Row = dict[str, Any]


def main() -> None:
    """Connects to the cluster and works until standard input ends."""
    parser = argparse.ArgumentParser(prog="polyhaul._ray_engine")
    parser.add_argument("--address")
    parser.add_argument("words", nargs="+")
    given = parser.parse_args()
    rows = _own_output()
    try:
        import ray
    except ImportError:
        sys.exit("Ray is not installed (pip install polyhaul[ray])")
    address = given.address or os.environ.get("RAY_ADDRESS")
    ray.init(address=address, log_to_driver=False, configure_logging=False, include_dashboard=False)
    try:
        for row in run(sys.stdin, given.words):
            rows.write(json.dumps(row) + "\n")
            rows.flush()
    finally:
        ray.shutdown()


def _own_output() -> IO[str]:
    """Standard output for rows alone: whatever else prints goes to standard error."""
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return rows


def run(lines: IO[str], words: list[str]) -> Iterator[Row]:
    """The rows of all tasks in ``lines``, as they come."""
    import ray

    tasks: SimpleQueue[Task | None] = SimpleQueue()
    threading.Thread(target=_read, args=(lines, tasks), daemon=True).start()
    # A lost node costs its tasks nothing but time, however often that happens.
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
        done, _ = ray.wait(list(pending), num_returns=1, timeout=0.05) if pending else ([], [])
        for reference in done:
            yield from _rows(reference, pending.pop(reference))


def _rows(reference: Any, bundle: list[Task]) -> list[Row]:
    """The rows of a Ray task; if it failed as a whole, one error for each of its assets."""
    import ray

    try:
        rows: list[Row] = ray.get(reference)
    except Exception as error:
        rows = [_failed(task, f"{type(error).__name__}: {error}") for task in bundle]
    return rows


def _failed(task: Task, message: str) -> Row:
    """The row of an asset that no worker came to. It lacks the hash of the options, so the next run tries again."""
    given = {"id": task["id"], "asset": task["asset"], "attempt": task["attempt"], "source": task["source"]}
    known = {"source_version": task["version"], "source_bytes": task["bytes"]}
    return given | known | {"seconds": 0.0, "error": {"kind": "engine", "message": message[:2000]}}


def _read(lines: IO[str], tasks: SimpleQueue[Task | None]) -> None:
    for line in lines:
        tasks.put(json.loads(line))
    tasks.put(None)


def _bundle(tasks: SimpleQueue[Task | None], must_wait: bool) -> tuple[list[Task], bool]:
    """Tasks for one Ray task, of those that are there, and whether more may come."""
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
