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
    found = os.environ.get("POLYHAUL_WHEEL")
    if not found:
        pytest.skip("POLYHAUL_WHEEL does not name a wheel; run `cargo xtask blender`")
    return Path(found)


def packaged(folder: Path) -> Path:
    """The extension as a zip, built by Blender's own tool."""
    tool = Path(bpy.utils.system_resource("SCRIPTS"), "addons_core", "bl_pkg", "cli", "blender_ext.py")
    source = folder / "source"
    (source / "wheels").mkdir(parents=True)
    for file in SOURCE.glob("*.py"):
        (source / file.name).write_bytes(file.read_bytes())
    (source / "wheels" / wheel().name).write_bytes(wheel().read_bytes())
    manifest = (SOURCE / "blender_manifest.toml").read_text()
    manifest = manifest.replace("wheels = []", f'wheels = ["./wheels/{wheel().name}"]')
    (source / "blender_manifest.toml").write_text(manifest)
    command = [sys.executable, str(tool)]
    subprocess.run([*command, "build", "--source-dir", str(source), "--output-dir", str(folder)], check=True)
    package = next(folder.glob("*.zip"))
    subprocess.run([*command, "validate", str(package)], check=True)
    return package


@pytest.fixture(scope="session")
def addon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The extension, installed and enabled."""
    package = packaged(tmp_path_factory.mktemp("package"))
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
