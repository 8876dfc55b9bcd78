"""Documentation: every example runs, in a folder of its own."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, LIBRARY, REPOSITORY

GUIDE = REPOSITORY / "docs" / "guide"
#: Pages without Python.
OTHERS = (
    "blender.md", "browser.md", "command.md", "convert.md", "c.md", "formats.md", "install.md", "limits.md",
    "losses.md", "messages.md", "options.md", "preview.md", "report.md", "rust.md", "slow.md", "sweep.md",
    "trace.md", "verdict.md", "watch.md", "windows.md",
)
PAGES = [REPOSITORY / "README.md", REPOSITORY / "surfaces" / "python" / "README.md", *sorted(GUIDE.glob("*.md"))]


def blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks of Python in a page, with the line where each begins."""
    text = page.read_text(encoding="utf-8")
    matches = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text[: match.start(1)].count("\n"), match[1]) for match in matches]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_examples_of_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("scene", "in"):
        (tmp_path / f"{name}.obj").write_bytes(CUBE)
    (tmp_path / "cube.mtl").write_bytes(LIBRARY)
    space: dict[str, object] = {"__name__": "__main__"}
    assert blocks(page) or page.name in OTHERS
    for line, code in blocks(page):
        # Errors name the page and the line in it.
        exec(compile("\n" * line + code, str(page), "exec"), space)


def test_examples_in_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tried = 0
    for module in pkgutil.iter_modules(polyhaul.__path__):
        result = doctest.testmod(importlib.import_module(f"polyhaul.{module.name}"), extraglobs={"np": np})
        tried += result.attempted
        assert result.failed == 0
    result = doctest.testmod(polyhaul)
    assert result.failed == 0 and tried + result.attempted > 4


def test_everything_public_is_documented() -> None:
    for name in polyhaul.__all__:
        thing = getattr(polyhaul, name)
        if callable(thing) or isinstance(thing, type):
            assert thing.__doc__, name
        if isinstance(thing, type):
            for part, value in vars(thing).items():
                public = not part.startswith("_") and (callable(value) or isinstance(value, property))
                assert not public or value.__doc__, f"{name}.{part}"


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert polyhaul.__version__ == version("polyhaul")
    except PackageNotFoundError:
        pytest.skip("the package is used without being installed")
