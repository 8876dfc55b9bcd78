"""Promises about the world outside: files that change, locales, big sizes, paths of all kinds."""

from __future__ import annotations

import io
import locale
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows


@pytest.mark.parametrize("size", [0, 1_000, -1])
def test_a_file_that_shrinks_or_grows_while_it_is_read_is_an_error(tmp_path: Path, size: int) -> None:
    """It is changed when the first progress is told: the device is so slow that most of the file is still to come."""
    path = tmp_path / "x.obj"
    path.write_bytes(b"v 0 0 0\n" * 2_000_000)
    changed: list[int] = []

    def change(completed: int, total: int | None) -> None:
        if not changed:
            changed.append(completed)
            os.truncate(path, size if size >= 0 else path.stat().st_size + 8)

    with pytest.raises(polyhaul.IoError, match="while it was being read"):
        polyhaul.read(path, threads=1, read_rate="20MB", progress=change)
    assert changed and changed[0] < 8_000_000


def _comma_locale() -> str | None:
    """A locale that is installed here and writes decimal commas."""
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "German_Germany"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        return name
    return None


def test_numbers_do_not_depend_on_the_locale() -> None:
    before = locale.setlocale(locale.LC_NUMERIC)
    if _comma_locale() is None:
        pytest.skip("no locale with decimal commas is installed")
    try:
        scene = polyhaul.read(b"v 1.5 -2.25 0.125\n")
        np.testing.assert_array_equal(scene.meshes[0].positions, [[1.5, -2.25, 0.125]])
        target = io.BytesIO()
        polyhaul.write(scene, target, format="obj")
        assert b"v 1.500000 -2.250000 0.125000\n" in target.getvalue()
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def test_line_ends_are_lf_everywhere(tmp_path: Path) -> None:
    polyhaul.write(polyhaul.read(CUBE.replace(b"\n", b"\r\n")), tmp_path / "x.obj")
    assert b"\r" not in (tmp_path / "x.obj").read_bytes()


def test_sparse_files_over_4_gib_are_read_to_their_end(tmp_path: Path) -> None:
    """A hole of 4.5 GiB is one line of NUL bytes: longer than the limit, so it is refused with its place."""
    path = tmp_path / "x.obj"
    with path.open("wb") as file:
        file.write(b"v 0 0 0\n")
        file.truncate(9 << 29)
    with pytest.raises(polyhaul.LimitError, match="line_bytes") as caught:
        polyhaul.read(path, limits=polyhaul.Limits(line_bytes=1 << 20))
    assert caught.value.line == 2


@pytest.mark.parametrize("name", ["a b.obj", "ü€😀.obj", "-x.obj", "percent%20.obj", "new\nline.obj"])
def test_paths_of_all_kinds(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    polyhaul.write(polyhaul.read(CUBE), path)
    assert len(polyhaul.read(str(path)).objects) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="paths are bytes on Linux alone")
def test_paths_that_are_not_utf8(tmp_path: Path) -> None:
    for name in (b"/\xff.obj.gz", b"/\xff.obj"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + name))
        polyhaul.write(polyhaul.read(CUBE), path)
        assert len(polyhaul.read(path).objects) == 2
    with pytest.raises(FileNotFoundError) as caught:
        polyhaul.read(path.with_name(path.name + ".obj"))
    str(caught.value).encode()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.obj"
    path.write_text("old\n")
    with pytest.raises(RuntimeError):
        polyhaul.write(polyhaul.read(rows(10)), path, progress=_fail)
    # Progress may come only when all is done; the file is whole in either case.
    assert path.read_text() == "old\n" or path.read_text().count("\nv ") == 10
    assert sorted(path.suffix for path in tmp_path.iterdir()) in ([".obj"], [".mtl", ".obj"])


def _fail(completed: int, total: int | None) -> None:
    raise RuntimeError("mine")


def test_nothing_is_printed_and_nothing_else_is_imported() -> None:
    code = "import polyhaul, sys; polyhaul.read(b'v 0 0 0'); print({'fsspec', 'tqdm', 'pandas'} & set(sys.modules))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (completed.stdout, completed.stderr) == ("set()\n", "")


def test_the_interpreter_ends_while_a_reader_is_left_behind(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("there are no named pipes in folders")
    os.mkfifo(tmp_path / "pipe.obj")
    code = f"""if True:
        import polyhaul, threading
        source = {str(tmp_path / "pipe.obj")!r}
        threading.Thread(target=polyhaul.read, args=(source,), daemon=True).start()
        threading.Event().wait(0.2)
        """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
