"""A fresh profile of Blender with the extension in it, installed as users install it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

# Read by Blender's module when it is imported.
os.environ["BLENDER_USER_RESOURCES"] = tempfile.mkdtemp(prefix="blender-profile-")

import bpy

SOURCE = Path(__file__).resolve().parents[1]


def wheel() -> Path:
    """The wheel that the chore built."""
    given = os.environ.get("POLYHAUL_WHEEL")
    if not given:
        pytest.skip("POLYHAUL_WHEEL does not name a wheel; run `cargo xtask nightly blender`")
    return Path(given)


@pytest.fixture(scope="session")
def addon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The extension, installed and enabled."""
    package = tmp_path_factory.mktemp("package") / "polyhaul.zip"
    subprocess.run([sys.executable, str(SOURCE / "package.py"), str(wheel().parent), str(package)], check=True)
    bpy.ops.extensions.package_install_files(filepath=str(package), repo="user_default", enable_on_install=True)
    return sys.modules["bl_ext.user_default.polyhaul"]


@pytest.fixture
def empty(addon: Any) -> Any:
    """An empty scene."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    # Factory settings disable it.
    import addon_utils

    addon_utils.enable("bl_ext.user_default.polyhaul")
    return addon
