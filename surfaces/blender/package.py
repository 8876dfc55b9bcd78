"""Builds the extension as a zip, with wheels of polyhaul: ``python package.py WHEELS OUT.zip``, in Blender's Python.

Blender's own tool does it and validates the result. The wheels are bundled unmodified.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent

#: Blender's names of the systems and machines in wheel tags.
SYSTEMS = {"win": "windows", "macosx": "macos", "manylinux": "linux", "linux": "linux"}
MACHINES = {"amd64": ["x64"], "x86_64": ["x64"], "arm64": ["arm64"], "aarch64": ["arm64"], "universal2": ["x64", "arm64"]}


def platforms(wheel: str) -> set[str]:
    """Return Blender's names of the platforms of a wheel, from its file name.

    The set is empty if Blender does not support the platforms.
    """
    tags = wheel.removesuffix(".whl").split("-")[-1].split(".")
    found: set[str] = set()
    for tag in tags:
        system = next((name for prefix, name in SYSTEMS.items() if re.match(rf"{prefix}(_|\d)", tag)), None)
        machines = next((names for suffix, names in MACHINES.items() if tag.endswith(f"_{suffix}")), [])
        found |= {f"{system}-{machine}" for machine in machines if system}
    return found


def build(wheels: list[Path], target: Path) -> None:
    """Build the zip from the sources next to this file and the wheels for Blender's platforms."""
    wheels = [wheel for wheel in wheels if platforms(wheel.name)]
    if not wheels:
        sys.exit("no wheels for Blender in the folder")
    import bpy

    tool = Path(bpy.utils.system_resource("SCRIPTS"), "addons_core", "bl_pkg", "cli", "blender_ext.py")
    command = [sys.executable, str(tool)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        (source / "wheels").mkdir(parents=True)
        for file in SOURCE.glob("*.py"):
            if file.name != Path(__file__).name:
                shutil.copy(file, source)
        for wheel in wheels:
            shutil.copy(wheel, source / "wheels")
        listed = "".join(f'    "./wheels/{wheel.name}",\n' for wheel in wheels)
        manifest = (SOURCE / "blender_manifest.toml").read_text(encoding="utf-8")
        names = sorted(set().union(*(platforms(wheel.name) for wheel in wheels)))
        manifest = manifest.replace("platforms = []", f"platforms = {json.dumps(names)}")
        manifest = manifest.replace("wheels = []", f"wheels = [\n{listed}]")
        (source / "blender_manifest.toml").write_text(manifest, encoding="utf-8")
        subprocess.run([*command, "build", "--source-dir", str(source), "--output-filepath", str(target)], check=True)
    subprocess.run([*command, "validate", str(target)], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build(sorted(Path(sys.argv[1]).glob("*.whl")), Path(sys.argv[2]).absolute())
