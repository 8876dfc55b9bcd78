"""Ctrl-C: it takes effect wherever the work is, and leaves no litter.

Each case is a process of its own that says ``ready`` when the work is under way; it then gets SIGINT. The bounds
are generous: what is measured is that it ends at all. The times are in the process's own words where they matter.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")

#: How long a case may take before it counts as hanging, in seconds.
PATIENCE = 30

HEAD = """\
    import io, os, signal, sys, threading, time
    import polyhaul

    # a shell's background jobs are started with SIGINT ignored, and so are their children
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def ready():
        print("ready", flush=True)

    def soon():
        # the call that comes next must have begun to wait: Python itself misses a signal just before it
        threading.Timer(0.3, ready).start()

    def big(count=200_000):
        return b"v 0.25 1.5 -3\\n" * count + b"f 1 2 3\\n" * count

    class Endless(io.RawIOBase):
        # a source that has always more
        told = False

        def read(self, size=-1):
            if not self.told:
                self.told = True
                ready()
            return b"v 0 0 0\\n" * (size // 8)

    folder = sys.argv[1]
    target = os.path.join(folder, "x.obj")
    try:
"""

TAIL = """\
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("finished", flush=True)
"""


def run(folder: Path, body: str) -> str:
    """What the process printed after ``ready``, when it was interrupted there."""
    script = textwrap.dedent(HEAD) + textwrap.indent(textwrap.dedent(body), "    ") + "\n" + textwrap.dedent(TAIL)
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return output


def test_while_a_file_object_goes_on_for_ever(tmp_path: Path) -> None:
    assert run(tmp_path, "polyhaul.read(Endless(), limits=polyhaul.Limits(elements=2**32 - 2))") == "interrupted\n"


def test_while_a_file_object_blocks(tmp_path: Path) -> None:
    body = """\
        end, _ = os.pipe()
        class Blocking(io.RawIOBase):
            def read(self, size=-1):
                soon()
                return os.read(end, size)
        polyhaul.read(Blocking(), format="obj")
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_while_a_table_goes_on_for_ever(tmp_path: Path) -> None:
    body = """\
        class Rows(Endless):
            def read(self, size=-1):
                super().read(size)
                return b"1 2 3 4\\n" * (size // 8)
        polyhaul.read_table(Rows(), format="txt", types="u1")
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_while_rows_are_taken(tmp_path: Path) -> None:
    body = """\
        import numpy as np
        table = polyhaul.Table({name: np.zeros(200_000, "f4") for name in "abcdefgh"})
        rows = np.zeros(2_000_000, int)
        ready()
        while True:
            table.take(rows)
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_while_native_code_blocks_in_a_pipe(tmp_path: Path) -> None:
    """Nobody ever writes to it: the reading thread is left behind, and the process ends all the same."""
    os.mkfifo(tmp_path / "pipe.obj")
    body = """\
        soon()
        polyhaul.read(os.path.join(folder, "pipe.obj"))
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_a_conversion_that_waits_for_its_source_makes_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.obj")
    body = """\
        soon()
        polyhaul.convert(os.path.join(folder, "pipe.obj"), target)
        """
    assert run(tmp_path, body) == "interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.obj"]


def test_while_a_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "x.obj").write_text("old\n")
    body = """\
        scene = polyhaul.read(big())
        told = []
        def progress(done, total):
            if not told:
                told.append(True)
                ready()
        while True:
            told.clear()
            polyhaul.write(scene, target, threads=1, memory_limit=1, progress=progress)
            with open(target, "w") as file:
                file.write("old\\n")
        """
    # It may also come between two writes, when no file is open: then too nothing is left behind.
    assert run(tmp_path, body) == "interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.obj"]


def test_while_a_target_blocks(tmp_path: Path) -> None:
    body = """\
        _, end = os.pipe()
        os.set_blocking(end, True)
        class Blocking(io.RawIOBase):
            def write(self, data):
                soon()
                return os.write(end, data + bytes(1 << 20))
        polyhaul.write(polyhaul.read(big(1000)), Blocking(), format="obj")
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_the_work_is_not_waited_for_where_nothing_can_be_lost(tmp_path: Path) -> None:
    """Neither source ever ends, so waiting for the work would be waiting forever."""
    os.mkfifo(tmp_path / "pipe.obj")
    body = """\
        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)
        endless = Endless()
        endless.told = True
        for source in (endless, os.path.join(folder, "pipe.obj")):
            threading.Timer(0.1, interrupt).start()
            try:
                polyhaul.read(source)
            except KeyboardInterrupt:
                continue
            raise AssertionError("not interrupted")
        ready()
        time.sleep(30)
        """
    assert run(tmp_path, body) == "interrupted\n"


def test_other_handlers_of_signals_work_too(tmp_path: Path) -> None:
    body = """\
        class Stop(Exception):
            pass
        def stop(number, frame):
            raise Stop
        signal.signal(signal.SIGINT, stop)
        try:
            polyhaul.read(Endless())
        except Stop:
            print("stopped", flush=True)
        """
    assert run(tmp_path, body) == "stopped\nfinished\n"
