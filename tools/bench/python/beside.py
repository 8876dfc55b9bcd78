"""One build of the command beside another: `beside.py OLD NEW FOLDER [ROUNDS]`.

OLD and NEW are commands. Makes files of up to 80 MB in FOLDER, starts both in turn and converts each file with both, with 1
and 2 threads, and prints rows of a table in Markdown: the shortest times, and their ratio. Run it with `chrt -f 5` where that is allowed.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import time
from pathlib import Path

SIDE = 700
PIXELS = 2200
#: Files that OLD makes of the first two and the image, and the conversions that are timed.
MADE = {"a.obj": ("a.ply", "a.stl", "a.glb", "a.pbrt", "a.off"), "a.csv": ("a.npy",), "a.tga": ("a.png", "a.exr", "a.jpg", "a.hdr")}
CONVERSIONS = (
    *(("a.obj", f"x.{to}") for to in ("obj", "ply", "stl", "glb", "pbrt", "off", "obj.gz", "obj.zst")),
    *((f"a.{format_}", "x.obj") for format_ in ("ply", "stl", "glb", "pbrt", "off")),
    *((f"a.{format_}", f"x.{format_}") for format_ in ("ply", "stl", "glb", "pbrt", "off", "csv")),
    *(("a.ply", "x.csv"), ("a.csv", "x.npy"), ("a.npy", "x.csv")),
    *((f"a.{format_}", "x.tga") for format_ in ("png", "exr", "jpg", "hdr")),
    *(("a.tga", f"x.{to}") for to in ("png", "exr", "jpg")),
)


def make(old: str, folder: Path) -> None:
    """Makes a mesh, a table and an image, and the other formats of them."""
    chance = random.Random(1)
    grid = [(x, y) for y in range(SIDE) for x in range(SIDE)]
    corners = [y * SIDE + x + 1 for x, y in grid if x + 1 < SIDE and y + 1 < SIDE]
    with open(folder / "a.obj", "w") as file:
        file.writelines(f"v {x * 0.013:.6f} {y * 0.017:.6f} {math.sin(x * 0.1) * math.cos(y * 0.07):.6f}\n" for x, y in grid)
        file.writelines(f"vt {x / SIDE:.6f} {y / SIDE:.6f}\n" for x, y in grid)
        file.writelines(f"vn {math.sin(x * 0.1):.4f} {math.cos(y * 0.1):.4f} 0.5000\n" for x, y in grid)
        for corner in corners:
            face = (corner, corner + 1, corner + SIDE + 1, corner + SIDE)
            file.write("f " + " ".join(f"{index}/{index}/{index}" for index in face) + "\n")
    with open(folder / "a.csv", "w") as file:
        file.write("x,y,z,w\n")
        rows = range(900_000)
        file.writelines(f"{chance.random() * 100:.5f},{chance.random():.7f},{row},{chance.gauss(0, 1):.4f}\n" for row in rows)
    header = bytes([0, 0, 2, *[0] * 9]) + PIXELS.to_bytes(2, "little") * 2 + bytes([24, 0x20])
    pixels = ((x * y // 97 & 255, x // 9 & 255, (y // 7 + chance.getrandbits(2)) & 255) for y in range(PIXELS) for x in range(PIXELS))
    (folder / "a.tga").write_bytes(header + bytes(sample for pixel in pixels for sample in pixel))
    for source, targets in MADE.items():
        for target in targets:
            subprocess.run([old, "convert", folder / source, folder / target, "-q"], check=True)


def seconds(command: str, source: Path, target: Path, threads: int) -> float:
    """How long one conversion takes."""
    start = time.perf_counter()
    subprocess.run([command, "convert", source, target, "-q", "-j", str(threads)], check=True)
    return time.perf_counter() - start


def start_seconds(command: str) -> float:
    """How long a start takes."""
    start = time.perf_counter()
    subprocess.run([command, "--version"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Prints the rows."""
    old, new, folder, *rest = sys.argv[1:]
    rounds = int(rest[0]) if rest else 7
    make(old, Path(folder))
    print("| conversion | threads | old, ms | new, ms | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    starts = [(start_seconds(old), start_seconds(new)) for _ in range(5 * rounds)]
    before, after = (1000 * min(times) for times in zip(*starts, strict=True))
    print(f"| none: `--version` | | {before:.2f} | {after:.2f} | {after / before:.3f} |")
    for source, target in CONVERSIONS:
        for threads in (1, 2):
            times: dict[str, list[float]] = {old: [], new: []}
            contents = {}
            for turn in range(rounds):
                for command in (old, new) if turn % 2 else (new, old):
                    times[command].append(seconds(command, Path(folder, source), Path(folder, target), threads))
                    contents[command] = Path(folder, target).read_bytes()
            before, after = 1000 * min(times[old]), 1000 * min(times[new])
            note = "" if contents[old] == contents[new] else " (other bytes)"
            print(f"| {source} to {target}{note} | {threads} | {before:.1f} | {after:.1f} | {after / before:.3f} |", flush=True)


if __name__ == "__main__":
    main()
