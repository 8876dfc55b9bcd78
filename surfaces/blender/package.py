"""Builds the extension as a zip, with wheels of polyhaul: ``python package.py WHEELS OUT.zip``, in Blender's Python.

Blender's own tool does it and validates the result. The wheels are bundled unmodified.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent


def build(wheels: list[Path], target: Path) -> None:
    """Makes the zip of the sources beside this file and some wheels."""
    if not wheels:
        sys.exit("there are no wheels in the folder")
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
        manifest = manifest.replace("wheels = []", f"wheels = [\n{listed}]")
        (source / "blender_manifest.toml").write_text(manifest, encoding="utf-8")
        subprocess.run([*command, "build", "--source-dir", str(source), "--output-filepath", str(target)], check=True)
    subprocess.run([*command, "validate", str(target)], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build(sorted(Path(sys.argv[1]).glob("*.whl")), Path(sys.argv[2]).absolute())
