"""Story 2: loads textures that are not in the page cache, one after another, so it waits for the disk.

    python3 viewer.py --make textures
    polyhaul watch -- python3 viewer.py textures
"""

import os
import sys
from pathlib import Path

TEXTURES = 8
TEXTURE_BYTES = 32 << 20


def make(folder: Path) -> None:
    """Writes the textures."""
    folder.mkdir(exist_ok=True)
    for number in range(TEXTURES):
        with (folder / f"texture_{number}.raw").open("wb") as file:
            file.write(os.urandom(TEXTURE_BYTES))
            os.fsync(file.fileno())


def load(path: Path) -> int:
    """Reads a texture from the disk and returns its size."""
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return sum(len(block) for block in iter(lambda: file.read(1 << 20), b""))


def main() -> None:
    """Makes or loads a folder of textures."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--make"] and len(arguments) == 2:
        make(Path(arguments[1]))
    elif len(arguments) == 1:
        total = sum(load(path) for path in sorted(Path(arguments[0]).glob("*.raw")))
        print(f"{total / 1e6:.0f} MB")
    else:
        sys.exit("usage: viewer.py [--make] FOLDER")


if __name__ == "__main__":
    main()
