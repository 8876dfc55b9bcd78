"""``python -m polyhaul``: the command."""

from ._command import main

main()
