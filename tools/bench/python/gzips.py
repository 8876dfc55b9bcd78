"""Inflates or deflates a file once: `gzips.py inflate gzip|isal FILE`, `gzips.py deflate gzip|isal FILE OUTPUT`.

Nothing is parsed: this is what a compressor alone takes, Python's own (zlib, level 6) or ISA-L (level 2, its
default). Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from isal import igzip

import measure

BLOCK_BYTES = 256 << 10


def inflate(module: str, file: Path) -> int:
    """Reads to the end and keeps nothing; the number of plain bytes."""
    count = 0
    with {"gzip": gzip.open, "isal": igzip.open}[module](file, "rb") as plain:
        while block := plain.read(BLOCK_BYTES):
            count += len(block)
    return count


def deflate(module: str, file: Path, output: Path) -> int:
    """Compresses a file; the number of compressed bytes."""
    level = {"gzip": 6, "isal": 2}[module]
    with file.open("rb") as plain, {"gzip": gzip.open, "isal": igzip.open}[module](output, "wb", level) as packed:
        while block := plain.read(BLOCK_BYTES):
            packed.write(block)
    return output.stat().st_size


def main(verb: str, module: str, *files: str) -> None:
    paths = [Path(name) for name in files]
    match verb:
        case "inflate":
            timing = measure.timed(lambda: inflate(module, *paths))
        case "deflate":
            timing = measure.timed(lambda: deflate(module, *paths))
            paths[1].unlink()
        case _:
            sys.exit(__doc__)
    measure.tell(timing, bytes=timing.result)


if __name__ == "__main__":
    main(*sys.argv[1:])
