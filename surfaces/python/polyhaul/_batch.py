"""Batch conversion: :func:`batch` runs the command ``polyhaul batch``, and :class:`Manifest` has the results."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from ._errors import Error, of_command
from ._polyhaul import option_rows
from ._progress import Progress, reporter


class Manifest:
    """The results for a library: one row per asset and attempt.

    A row is a dict with ``asset``, ``attempt``, ``status`` (``done``, ``failed``, or ``replaced`` by a later success),
    ``source``, ``source_version``, ``source_bytes``, ``options``, ``outputs`` (dicts of ``path``, ``bytes``, ``hash``),
    ``started`` and ``seconds``, ``phases``, ``verdict``, ``peak_bytes``, ``warnings``, ``error`` (a dict of ``kind``,
    ``message``, ``file``, ``line``, ``column``, ``offset``, or None), ``worker``.

    The Parquet or JSON Lines file at ``path`` has the same rows, for pandas, polars, DuckDB and other tools.
    """

    def __init__(self, rows: list[dict[str, Any]], path: str, summary: dict[str, Any]) -> None:
        self.rows = rows
        #: The path or URL of the Parquet file (``.parquet``) or JSON Lines file (``.jsonl``).
        self.path = path
        #: The number of assets in total, and of those converted, skipped and failed in this run.
        self.summary = summary

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<Manifest of {len(self.done)} assets done, {len(self.failed)} failed: {self.path}>"

    @property
    def done(self) -> list[dict[str, Any]]:
        """The row of the last success of each converted asset."""
        return [row for row in self.rows if row["status"] == "done"]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The last row of each asset whose last attempt failed."""
        last = {row["asset"]: row for row in self.rows}
        return [row for row in last.values() if row["status"] == "failed"]

    def to_arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``. Requires pyarrow."""
        if self.path.endswith(".jsonl"):
            import pyarrow.json

            return pyarrow.json.read_json(self.path)
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self.path)


def batch(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    to: str,
    check: bool = False,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Manifest:
    """Convert a library of assets, like the command ``polyhaul batch``.

    Assets that are already converted are skipped, so a new run resumes an interrupted one. A failed asset is reported
    as a row, not as an exception.

    Ctrl-C, or an exception raised by ``progress``, stops the run. Finished assets are kept, and the exception is raised
    unchanged after the workers have stopped.

    Args:
        sources: files, folders or URLs. URLs of folders end with a slash.
        output: the output folder or URL.
        to: the output format.
        check: whether to raise the error of the first failed asset at the end of the run.
        progress: called on this thread as ``progress(done, total)``, with asset counts, whenever assets are finished.
            Skipped assets are not counted. ``True`` shows a progress bar (requires tqdm).
        options: the long options of the command, with underscores: ``recursive=True``, ``workers=8``,
            ``retry_failed=True``, ``force=True``, ``asset_memory="4GB"``, ``asset_timeout=60``, ``engine="ray"``,
            ``address="auto"``, ``shard="1/4"``, ``include=["*.obj"]``, ``triangulate=True``, ``uv=False``, ...

    Returns:
        The rows of all assets, including earlier runs. ``summary`` has the counts of this run.

    Raises:
        polyhaul.Error: the run failed as a whole, or an asset failed and ``check`` is set. The class of the exception
            depends on the cause, such as :class:`polyhaul.MalformedError`, ``FileNotFoundError``, ``MemoryError`` for
            ``asset_memory``, or ``TimeoutError`` for ``asset_timeout``.

    Example:
        >>> manifest = polyhaul.batch("scans", "out", to="ply", recursive=True)    # doctest: +SKIP
        >>> [(row["asset"], row["error"]["message"]) for row in manifest.failed]   # doctest: +SKIP
    """
    inputs = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    words = ["--json", "--to", to, *_words(options), "--output", os.fspath(output), "--", *(os.fspath(path) for path in inputs)]
    with reporter(progress, "converting", "asset") as report_progress:
        printed, notes = _run(words, report_progress)
    try:
        result: dict[str, Any] = json.loads(printed)
    except ValueError:
        raise _error_in(notes or printed) from None
    if result.get("error") is not None:
        raise of_command(result["error"])
    manifest = read_manifest(output, result)
    if check and manifest.failed:
        count = len(manifest.failed)
        raise of_command(manifest.failed[0]["error"], f"{count} {'asset' if count == 1 else 'assets'} failed; the first: ")
    return manifest


def _run(words: list[str], progress: Progress | None) -> tuple[str, str]:
    """Run the command, and return its standard output and its messages from standard error."""
    command = [sys.executable, "-P", "-m", "polyhaul", "batch", *words]
    # In its own process group, the command receives Ctrl-C only from here. A second one would terminate it immediately.
    apart: dict[str, Any] = {} if os.name == "nt" else {"process_group": 0}
    environment = os.environ | {"POLYHAUL_PROGRESS": "1"}
    notes: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        process = subprocess.Popen(
            command, stdout=printed, stderr=subprocess.PIPE, env=environment, encoding="utf-8", errors="replace", **apart
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                # Workers print other lines, including empty ones, such as Rust panics and messages of Ray.
                counts = re.fullmatch(r"progress ([0-9]+) ([0-9]+)", line.rstrip())
                if counts is None:
                    notes.append(line)
                elif progress is not None:
                    progress(int(counts[1]), int(counts[2]))
        except BaseException:
            process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
            raise
        finally:
            process.stderr.close()
            process.wait()
        printed.seek(0)
        return printed.read(), "".join(notes)


def read_manifest(output: str | os.PathLike[str], summary: dict[str, Any] | None = None) -> Manifest:
    """Read the rows of the library whose outputs are in ``output``.

    Raises:
        polyhaul.Error: the log of a batch run was not found.
    """
    words = [sys.executable, "-P", "-m", "polyhaul", "batch", "rows", "--json", os.fspath(output)]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode != 0:
        raise _error_in(ran.stderr)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    folder = os.fspath(output)
    slash = "" if folder.endswith("/") else "/"
    state = f"{folder}{slash}.polyhaul/"
    ending = "jsonl" if os.path.exists(state + "manifest.jsonl") else "parquet"
    return Manifest(rows, f"{state}manifest.{ending}", summary or {})


def _error_in(notes: str) -> Error:
    """Return the exception for the error that the command printed to standard error."""
    try:
        return of_command(json.loads(notes.strip().splitlines()[-1])["error"])
    except (ValueError, LookupError, TypeError):
        return Error(notes.strip() or "polyhaul batch failed")


def _words(options: dict[str, Any]) -> list[str]:
    """Convert options to command-line arguments."""
    # These options are on by default, so they have only flags that switch them off.
    on = {name for row in option_rows() if row["default"] == "true" for name in (row["name"], row["alias"])}
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool) and name in on:
            off = option.replace("--no-", "--") if name.startswith("no_") else option.replace("--", "--no-")
            words += [] if value else [off]
        elif value is True:
            words.append(option)
        elif isinstance(value, list | tuple):
            words += [f"{option}={item}" for item in value]
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return words
