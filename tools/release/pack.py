"""Pack a folder into a `.tar.gz` or `.zip` with the same bytes on every machine: ``python pack.py FOLDER OUT SECONDS``.

Entries are sorted, belong to nobody, and have the time SECONDS (since 1970); programs stay executable.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import time
import zipfile
from pathlib import Path

PROGRAM = 0o755
FILE = 0o644


def mode(path: Path) -> int:
    """Return the permissions to store."""
    return PROGRAM if path.is_dir() or path.stat().st_mode & 0o100 or path.suffix == ".exe" else FILE


def entries(folder: Path) -> list[tuple[str, Path]]:
    """Return the names in the archive, below the folder's own name, and their files."""
    paths = [folder, *folder.rglob("*")]
    return sorted((path.relative_to(folder.parent).as_posix(), path) for path in paths)


def pack_tar(folder: Path, seconds: int) -> bytes:
    """Return a gzipped tar archive."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in entries(folder):
            entry = archive.gettarinfo(str(path), name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = seconds
            entry.mode = mode(path)
            if entry.isreg():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    return gzip.compress(plain.getvalue(), 9, mtime=seconds)


def pack_zip(folder: Path, seconds: int) -> bytes:
    """Return a zip archive."""
    packed = io.BytesIO()
    date = time.gmtime(seconds)[:6]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in entries(folder):
            if path.is_file():
                entry = zipfile.ZipInfo(name, date)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100000 | mode(path)) << 16
                archive.writestr(entry, path.read_bytes(), compresslevel=9)
    return packed.getvalue()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    pack = pack_zip if target.suffix == ".zip" else pack_tar
    target.write_bytes(pack(source, int(sys.argv[3])))
