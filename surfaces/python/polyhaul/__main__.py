"""Entry point of ``python -m polyhaul``: run the command."""

from ._command import main

if __name__ == "__main__":
    main()
