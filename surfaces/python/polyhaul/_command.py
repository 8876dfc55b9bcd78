"""The command ``polyhaul``, which is installed with the package."""

from __future__ import annotations

import os
import sys

from polyhaul import _polyhaul


def main() -> None:
    """Run the command with the arguments of this process, and exit with its exit code."""
    sys.stdout.flush()
    # The interpreter that ``polyhaul batch`` starts worker processes with.
    os.environ["POLYHAUL_PYTHON"] = sys.executable
    sys.exit(_polyhaul.run_command(["polyhaul", *sys.argv[1:]]))
