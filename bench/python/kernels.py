"""The kernels of aarch64, beside the portable ones, on a machine that has no such CPU.

    python bench/python/kernels.py [--mca llvm-mca-19] [--case "v, 3 floats" ...] [--part index|rows ...]

Counts the instructions of the benchmark `parse` of polyhaul-text with QEMU (qemu-aarch64 with plugins). Some thousand of them,
as they were executed, are given to llvm-mca, which estimates their cycles for other CPUs, with branches that are all foreseen and
data in the nearest cache. Needs the target aarch64-unknown-linux-gnu, its C compiler and objdump.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = "aarch64-unknown-linux-gnu"
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
LINKER = {"CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc"}
#: The cases of the benchmark, and the values of a round.
CASES = {"v, 3 floats": 60_000, "vt, 2 floats": 40_000, "f, 12 indices": 240_000}
PARTS = ("index", "rows")
LEVELS = ("Portable", "Vector")
CPUS = ("neoverse-n1", "neoverse-v2", "apple-m1")
ROUNDS = 10
#: Where QEMU puts the program.
BASE = 0x55_0000_0000
#: How much of the end of a log is read, and how many blocks of it are left out at the end and taken before that.
LOG_BYTES = 6_000_000
SKIPPED_BLOCKS = 2000
TAKEN_BLOCKS = 2000
BRANCH = re.compile(r"(?:b|b\.\w+|bl|blr|br|ret|cbn?z|tbn?z)$")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; several may be given")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; several may be given")
    given = parser.parse_args()
    mca = given.mca
    program = built()
    code = disassembled(program)
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", plugin, ROOT / "bench/qemu_count.c"], check=True)
        for case in given.case or CASES:
            values = CASES[case]
            for part in given.part or PARTS:
                print(f"{case}, {part}, per value")
                for level in LEVELS:
                    name = f"{part}.*{level}, {case}"
                    count = counted(program, plugin, name) / values
                    trace = executed(program, name, code)
                    cycles = {cpu: count * estimated(mca, cpu, trace) / len(trace) for cpu in CPUS}
                    shown = ", ".join(f"{cpu} {number:.1f}" for cpu, number in cycles.items())
                    print(f"  {level:8} {count:6.1f} instructions; cycles: {shown}", flush=True)


def built() -> Path:
    command = ["cargo", "bench", "-p", "polyhaul-text", "--bench", "parse", "--no-run", "--target", TARGET]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | LINKER, check=True, capture_output=True, text=True)
    return ROOT / re.findall(r"\((target/\S+)\)", done.stderr)[-1]


def disassembled(program: Path) -> dict[int, str]:
    command = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(at, 16): code.split("//")[0].strip() for at, code in re.findall(r"\n +([0-9a-f]+):\t(.*)", text)}


def counted(program: Path, plugin: Path, name: str) -> float:
    """Instructions of a round."""

    def instructions(size: int) -> int:
        words = [*QEMU, "-plugin", plugin, program, *once(name, size)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return int(re.findall(r"instructions (\d+)", done.stderr)[-1])

    return (instructions(1 + ROUNDS) - instructions(1)) / ROUNDS


def once(name: str, size: int) -> list[str]:
    return ["--bench", name, "--sample-count", "1", "--sample-size", str(size)]


def executed(program: Path, name: str, code: dict[int, str]) -> list[str]:
    """Instructions in the order in which they ran, from the middle of the kernel's work."""
    words = [*QEMU, "-d", "exec,nochain", "-D", "/dev/stderr", program, *once(name, 1)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        assert running.stderr
        log = subprocess.run(["tail", "-c", str(LOG_BYTES)], stdin=running.stderr, check=True, capture_output=True)
    blocks = [int(at, 16) - BASE for at in re.findall(rb"\[[0-9a-f]+/([0-9a-f]+)/", log.stdout)]
    common, _ = Counter(blocks).most_common(1)[0]
    end = len(blocks) - blocks[::-1].index(common) - SKIPPED_BLOCKS
    trace: list[str] = []
    for start in blocks[end - TAKEN_BLOCKS : end]:
        at = start
        while at in code:
            trace.append(standing_alone(code[at]))
            if BRANCH.match(code[at].split()[0]):
                break
            at += 4
    return trace


def standing_alone(code: str) -> str:
    """An instruction without places in the program."""
    word, _, rest = code.partition("\t")
    if word in ("bl", "blr", "br", "ret") or re.match(r"\w+, [0-9a-f]+ <", rest) and word == "ldr":
        return "nop"
    if BRANCH.match(word):
        kept = [] if word.startswith("b") else rest.split(",")[:-1]
        return f"{word} {', '.join([*kept, 'here'])}"
    if word in ("adrp", "adr"):
        return f"mov {rest.split(',')[0]}, #4096"
    return re.sub("<.*>", "", f"{word} {rest}")


def estimated(mca: str, cpu: str, trace: list[str]) -> float:
    """The cycles of instructions."""
    words = [mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", "-iterations=1"]
    done = subprocess.run(words, input="\n".join(["here:", *trace]), check=True, capture_output=True, text=True)
    return float(re.findall(r"Total Cycles:\s+(\d+)", done.stdout)[0])


if __name__ == "__main__":
    main()
