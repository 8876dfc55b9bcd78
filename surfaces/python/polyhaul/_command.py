"""The command ``polyhaul``, which installing the package puts beside Python."""

from __future__ import annotations

import os
import sys

from polyhaul import _polyhaul


def main() -> None:
    """Runs the command with the arguments of this process, and exits with its code."""
    sys.stdout.flush()
    # What worker processes of ``polyhaul batch`` are started with.
    os.environ["POLYHAUL_PYTHON"] = sys.executable
    sys.exit(_polyhaul.run_command(["polyhaul", *sys.argv[1:]]))
