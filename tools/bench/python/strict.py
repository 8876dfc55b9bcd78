"""What `--strict` refuses: `strict.py OLD NEW FILES [MAX_BYTES]`.

Converts every file of the folder FILES that has a known ending and lies in a folder `good` to nine formats with NEW, and
prints how many pairs say nothing, notes, losses or faults at most, and how many pass `--strict` with OLD and NEW, and
`--strict=all` with NEW. A pair that passed and does not any more is listed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TARGETS = ("obj", "ply", "stl", "off", "glb", "pbrt", "csv", "npy", "xyz")
ENDINGS = {".obj", ".ply", ".stl", ".off", ".glb", ".gltf", ".pbrt", ".csv", ".tsv", ".txt", ".xyz", ".pts", ".npy", ".spz", ".splat"}


def passes(command: str, source: Path, target: Path, strict: str) -> bool:
    words = [command, "convert", source, target, strict, "-q", "--allow-outside"]
    return subprocess.run(words, capture_output=True).returncode == 0


def main() -> None:
    old, new, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    max_bytes = int(sys.argv[4]) if len(sys.argv) > 4 else 3_000_000
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in ENDINGS and "good" in path.parts and path.stat().st_size < max_bytes]
    worst: dict[str, Counter[str]] = {target: Counter() for target in TARGETS}
    strict: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as made:
        for path in files:
            for ending in TARGETS:
                target = Path(made) / f"x.{ending}"
                done = subprocess.run([new, "convert", path, target, "--json", "--allow-outside"], capture_output=True, text=True)
                if done.returncode:
                    strict["refused always"] += 1
                    continue
                severities = json.loads(done.stdout)["warnings"]["severities"]
                worst[ending][next((name for name in ("fault", "loss", "note") if severities[name]), "nothing")] += 1
                before, after = (passes(command, path, target, "--strict") for command in (old, new))
                strict["pairs"] += 1
                strict["pass with OLD"] += before
                strict["pass with NEW"] += after
                strict["pass --strict=all"] += passes(new, path, target, "--strict=all")
                if before and not after:
                    print(f"passed before: {path} to {ending}")
    names = ("nothing", "note", "loss", "fault")
    print(f"{len(files)} files\n\n| target | " + " | ".join(names) + " |\n| --- | --- | --- | --- | --- |")
    for ending, counts in worst.items():
        print(f"| {ending} | " + " | ".join(str(counts[name]) for name in names) + " |")
    print("\n" + "\n".join(f"- {name}: {count}" for name, count in strict.items()))


if __name__ == "__main__":
    main()
