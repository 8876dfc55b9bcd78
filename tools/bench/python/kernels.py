"""The kernels of aarch64, beside the portable ones, on a machine that has no such CPU.

    python tools/bench/python/kernels.py [--mca llvm-mca-19] [--case "v, 3 floats" ...] [--part index|rows|numbers|format ...]
    python tools/bench/python/kernels.py --x86 [...]

Counts the instructions of the benchmarks `parse` and `format` with QEMU (qemu-aarch64 with plugins). Some thousand of them,
as they were executed, are given to llvm-mca, which estimates their cycles for other CPUs, with branches that are all foreseen and
data in the nearest cache. With `--x86`, counts those of x86-64 with callgrind instead, per level. Needs the target aarch64-unknown-linux-gnu, its C compiler and objdump.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

BENCHES = Path(__file__).parents[1]
TARGET = "aarch64-unknown-linux-gnu"
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
LINKER = {"CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc"}
#: The cases of the benchmark's parts, and the values of a round.
ROWS = {"v, 3 floats": 60_000, "vt, 2 floats": 40_000, "f, 12 indices": 240_000}
NUMBERS = (
    "v, 3 floats of 17 digits",
    "17 digits as f32s",
    "17 digits as f64s",
    "17 digits as f64s for f32s",
    "exponents as f64s",
    "integers",
    "list of floats",
    "list of floats of 17 digits",
    "list of integers",
)
#: Cases of the benchmark `format`, whose portable code is all that there is without AVX-512.
FORMAT = {
    "lines of 3 f32s, 6 digits": "lines.*polyhaul_3_f32_portable.*6$",
    "lines of 3 f64s, 6 digits": "lines.*polyhaul_3_f64_portable$",
    "rows of 3 f32s, shortest digits": "shortest.*polyhaul_rows_of_f32$",
    "rows of 3 f64s, shortest digits": "shortest.*polyhaul_rows_of_f64$",
    "faces of 4 corners, 3 indices each": "integers.*polyhaul_face_of_4_corners.*2000000$",
}
PARTS = {
    "index": ROWS,
    "rows": ROWS,
    "numbers": dict.fromkeys(NUMBERS, 60_000),
    "format": dict.fromkeys(FORMAT, 1536),
}
LEVELS = ("Portable", "Vector")
X86_LEVELS = ("Portable", "Vector", "Avx2")
CPUS = ("neoverse-n1", "neoverse-v2", "apple-m1")
#: Rounds of a count: enough that nothing else in the program matters.
ROUNDS = 10
FORMAT_ROUNDS = 1000
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
    cases = [*ROWS, *NUMBERS, *FORMAT]
    parser.add_argument("--case", action="append", choices=cases, help="only this one; several may be given")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; several may be given")
    parser.add_argument("--x86", action="store_true", help="instructions of x86-64")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        if not given.x86:
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", plugin, BENCHES / "qemu_count.c"], check=True)
        for part in given.part or PARTS:
            program = built("format" if part == "format" else "parse", given.x86)
            code = {} if given.x86 else disassembled(program)
            for case in [case for case in PARTS[part] if case in (given.case or PARTS[part])]:
                print(f"{case}, {part}, per value")
                for level, name in names(part, case, X86_LEVELS if given.x86 else LEVELS):
                    if given.x86:
                        count = counted(CALLGRIND, r"Collected : (\d+)", program, name) / PARTS[part][case]
                        print(f"  {level:8} {count:6.1f} instructions", flush=True)
                        continue
                    count = counted([*QEMU, "-plugin", plugin], r"instructions (\d+)", program, name)
                    count /= PARTS[part][case]
                    trace = executed(program, name, code)
                    cycles = {cpu: count * estimated(given.mca, cpu, trace) / len(trace) for cpu in CPUS}
                    shown = ", ".join(f"{cpu} {number:.1f}" for cpu, number in cycles.items())
                    print(f"  {level:8} {count:6.1f} instructions; cycles: {shown}", flush=True)


def names(part: str, case: str, levels: tuple[str, ...]) -> list[tuple[str, str]]:
    """The levels at which a case runs, and its names in the benchmark."""
    if part == "format":
        return [("Portable", FORMAT[case])]
    return [(level, rf"{part}.*{level}, {case}\)") for level in levels]


def built(bench: str, is_x86: bool) -> Path:
    target = [] if is_x86 else ["--target", TARGET]
    command = ["cargo", "bench", "--no-default-features", "--bench", bench, "--no-run", *target]
    ran = subprocess.run(command, cwd=BENCHES, env=os.environ | LINKER, check=True, capture_output=True, text=True)
    return BENCHES / re.findall(r"\((target/\S+)\)", ran.stderr)[-1]


def disassembled(program: Path) -> dict[int, str]:
    command = ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(at, 16): code.split("//")[0].strip() for at, code in re.findall(r"\n +([0-9a-f]+):\t(.*)", text)}


def counted(runner: list[str | Path], shown: str, program: Path, name: str) -> float:
    """Instructions of a round."""

    def instructions(size: int) -> int:
        ran = subprocess.run([*runner, program, *once(name, size)], check=True, capture_output=True, text=True)
        return int(re.findall(shown, ran.stderr)[-1])

    rounds = FORMAT_ROUNDS if name in FORMAT.values() else ROUNDS
    return (instructions(1 + rounds) - instructions(1)) / rounds


def once(name: str, size: int) -> list[str]:
    return ["--bench", name, "--sample-count", "1", "--sample-size", str(size)]


def executed(program: Path, name: str, code: dict[int, str]) -> list[str]:
    """Instructions in the order in which they ran, from the middle of the kernel's work."""
    # As many rounds as have the blocks that are looked at.
    size = ROUNDS if name in FORMAT.values() else 1
    words = [*QEMU, "-d", "exec,nochain", "-D", "/dev/stderr", program, *once(name, size)]
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
        operands = [] if word.startswith("b") else rest.split(",")[:-1]
        return f"{word} {', '.join([*operands, 'here'])}"
    if word in ("adrp", "adr"):
        return f"mov {rest.split(',')[0]}, #4096"
    return re.sub("<.*>", "", f"{word} {rest}")


def estimated(mca: str, cpu: str, trace: list[str]) -> float:
    """The cycles of instructions."""
    words = [mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", "-iterations=1"]
    ran = subprocess.run(words, input="\n".join(["here:", *trace]), check=True, capture_output=True, text=True)
    return float(re.findall(r"Total Cycles:\s+(\d+)", ran.stdout)[0])


if __name__ == "__main__":
    main()
