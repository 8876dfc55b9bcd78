"""What double precision costs: `survey.py OLD NEW FOLDER [ROUNDS]`.

OLD and NEW are commands, of which OLD may round. Makes four OBJ files of a grid in FOLDER: near the origin, in a survey with 3
and with 6 decimals, and one whose last number alone needs doubles. Converts each to OBJ and PLY with both in turn, with 1 and 2
threads, and prints rows of a table in Markdown: the shortest times, NEW's time relative to OLD's, and how many bytes per
vertex NEW's peak of memory is higher. Run it with `chrt -f 5` where that is allowed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path

SIDE = 700


def rows(x: float, y: float, digits: int) -> list[str]:
    def row(at: int) -> str:
        column, line = at % SIDE, at // SIDE
        height = math.sin(column * 0.1) * math.cos(line * 0.07)
        return f"v {x + column * 0.013:.{digits}f} {y + line * 0.017:.{digits}f} {height:.{digits}f}\n"

    return [row(at) for at in range(SIDE * SIDE)]


def make(folder: Path) -> list[Path]:
    corners = [line * SIDE + column + 1 for line in range(SIDE - 1) for column in range(SIDE - 1)]
    faces = [f"f {corner} {corner + 1} {corner + SIDE + 1} {corner + SIDE}\n" for corner in corners]
    plain = rows(0, 0, 3)
    texts = {
        "plain.obj": plain + faces,
        "geo.obj": rows(454123, 5411234, 3) + faces,
        "geo6.obj": rows(454123, 5411234, 6) + faces,
        "late.obj": faces + plain[:-1] + ["v 5411234.456 1 2\n"],
    }
    for name, lines in texts.items():
        (folder / name).write_text("".join(lines))
    return [folder / name for name in texts]


def measured(command: str, source: Path, target: Path, threads: int) -> tuple[float, int]:
    """The seconds of a conversion, and the peak of its memory in bytes."""
    start = time.perf_counter()
    words = [command, "convert", source, target, "--json", "-j", str(threads)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start, json.loads(done.stdout)["peak_bytes"]


def main() -> None:
    old, new, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    folder.mkdir(parents=True, exist_ok=True)
    print("| conversion | threads | old, ms | new, ms | time | bytes per vertex |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for source in make(folder):
        for target in (folder / "x.obj", folder / "x.ply"):
            for threads in (1, 2):
                pairs = [[measured(command, source, target, threads) for command in (old, new)] for _ in range(rounds)]
                times = [min(pair[which][0] for pair in pairs) for which in (0, 1)]
                peaks = [min(pair[which][1] for pair in pairs) for which in (0, 1)]
                more = (peaks[1] - peaks[0]) / SIDE**2
                name = f"{source.name} to {target.suffix[1:].upper()}"
                print(f"| {name} | {threads} | {times[0] * 1e3:.1f} | {times[1] * 1e3:.1f} | {times[1] / times[0]:.2f} | {more:.1f} |", flush=True)


if __name__ == "__main__":
    main()
