"""Watching real programs: `watched.py POLYHAUL FOLDER [ROUNDS]` (Linux).

POLYHAUL is the command. Makes files in FOLDER, and runs each program alone, with `polyhaul watch`, `strace -f -c`, `perf
record` and `ltrace -f -c`, in turns. A tool that takes over MAX_SECONDS is stopped. Prints two tables. The first has the
first line of the report, the seconds alone, the seconds with each tool divided by them (minima of ROUNDS, 5), and whether
the program wrote the same bytes. The second has the number of reads and writes of files, with their bytes, as `strace`
and `polyhaul watch` count them in separate runs; both without the shared libraries that the dynamic linker loads before
any program runs. The third has the number of futex waits that returned, as both count them in one run. Programs and
tools that are missing are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: A tool that takes longer is stopped.
MAX_SECONDS = 15
#: What `strace` shows for the second table.
MOVES = "read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,sendfile,copy_file_range"
EXAMPLES = Path(__file__).parents[3] / "examples" / "slow"
READER = """
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
int main(int, char **arguments) {
    std::ifstream file(arguments[1]);
    std::vector<double> numbers;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        double x, y, z;
        if (words >> kind >> x >> y >> z) numbers.insert(numbers.end(), {x, y, z});
    }
    std::cout << numbers.size() << "\\n";
}
"""
MAPPER = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
int main(int count, char **arguments) {
    struct stat status;
    int file = open(arguments[1], O_RDONLY);
    fstat(file, &status);
    const unsigned char *bytes = mmap(0, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    unsigned long sum = 0;
    for (long index = 0; index < status.st_size; index++) sum += bytes[index];
    printf("%lu\\n", sum);
    return count != 2;
}
"""
BLOCKS = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **arguments) {
    static char block[65536];
    long bytes = 0, got;
    for (int turn = 0; turn < 20; turn++) {
        int file = open(arguments[1], O_RDONLY);
        while ((got = read(file, block, sizeof(block))) > 0) bytes += got;
        close(file);
    }
    printf("%ld\\n", bytes);
    return count != 2;
}
"""
ROWS = """
import pathlib, sqlite3
pathlib.Path("rows.db").unlink(missing_ok=True)
rows = sqlite3.connect("rows.db")
rows.execute("create table t (a integer, b text)")
for number in range(100_000):
    rows.execute("insert into t values (?, ?)", (number, str(number)))
    if number % 1000 == 999:
        rows.commit()
print(rows.execute("select count(*) from t").fetchone())
"""
BLENDER = """
import bpy, numpy, os
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
bpy.ops.wm.read_factory_settings(use_empty=True)
side = numpy.arange(1000)
x, y = numpy.meshgrid(side, side)
vertices = numpy.stack([x, y, numpy.sin(x / 50) * numpy.cos(y / 50)], axis=-1)
corners = (y[:-1, :-1] * 1000 + x[:-1, :-1]).reshape(-1, 1) + [0, 1, 1001, 1000]
mesh = bpy.data.meshes.new("grid")
mesh.vertices.add(vertices.size // 3)
mesh.vertices.foreach_set("co", vertices.ravel())
mesh.loops.add(corners.size)
mesh.loops.foreach_set("vertex_index", corners.ravel())
mesh.polygons.add(len(corners))
mesh.polygons.foreach_set("loop_start", numpy.arange(len(corners)) * 4)
mesh.update()
bpy.context.collection.objects.link(bpy.data.objects.new("grid", mesh))
for _ in range(10):
    bpy.ops.wm.obj_export(filepath="blender.obj", export_materials=False)
"""


class Program(NamedTuple):
    """A program, and the file that it writes, if any."""

    name: str
    command: list[str]
    output: str | None = None


class Moved(NamedTuple):
    """Reads and writes, with their bytes."""

    reads: int
    bytes_read: int
    writes: int
    bytes_written: int


def compile_source(folder: Path, name: str, source: str, compiler: list[str]) -> None:
    """Compiles a program of one file."""
    path = folder / f"{name}.{'cpp' if compiler[0] == 'g++' else 'c'}"
    path.write_text(source)
    subprocess.run([*compiler, "-o", folder / name, path, "-lm"], check=True)


def prepare(folder: Path) -> None:
    """Makes the files that the programs read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ["exporter", "importer", "serializer"]:
        compile_source(folder, name, (EXAMPLES / f"{name}.c").read_text(), ["cc", "-O2", "-g", "-pthread"])
    compile_source(folder, "reader", READER, ["g++", "-O2"])
    compile_source(folder, "mapper", MAPPER, ["cc", "-O2"])
    compile_source(folder, "blocks", BLOCKS, ["cc", "-O2"])
    subprocess.run([folder / "exporter", "mesh.obj", "1000000"], cwd=folder, check=True)
    subprocess.run([folder / "importer", "--make", "part.tga"], cwd=folder, check=True)
    (folder / "large").write_bytes((folder / "mesh.obj").read_bytes() * 16)
    many = folder / "many"
    many.mkdir(exist_ok=True)
    for number in range(2000):
        (many / f"{number}.txt").write_text(f"{number}\n" * 100)
    if shutil.which("git") and not (many / ".git").exists():
        for arguments in [["init", "-q"], ["add", "."]]:
            subprocess.run(["git", *arguments], cwd=many, check=True)


def programs() -> Iterator[Program]:
    """The programs that this system has."""
    yield Program("exporter (story 1)", ["./exporter", "out.obj", "1000000"], "out.obj")
    yield Program("viewer (story 2)", [sys.executable, str(EXAMPLES / "viewer.py"), "textures"])
    yield Program("importer (story 3)", ["./importer", "part.tga"])
    yield Program("serializer (story 4): 16 threads, one lock", ["./serializer"])
    yield Program("cp, 512 MB", ["cp", "large", "copy"], "copy")
    yield Program("tar, 2,000 files", ["tar", "--mtime=@0", "-cf", "many.tar", "many"], "many.tar")
    yield Program("gzip, 32 MB", ["gzip", "-kfn", "mesh.obj"], "mesh.obj.gz")
    yield Program("Python, import numpy", [sys.executable, "-c", "import numpy; print(numpy.pi)"])
    yield Program("Blender exporting OBJ, ten times 93 MB", [sys.executable, "-c", BLENDER], "blender.obj")
    yield Program("C++ reader of OBJ", ["./reader", "mesh.obj"])
    yield Program("ImageMagick", ["convert", "part.tga", "-resize", "200%", "part.png"], None)
    yield Program("sort, 4 threads", ["sort", "--parallel=4", "mesh.obj", "-o", "sorted"], "sorted")
    yield Program("git status, 2,000 files", ["git", "-C", "many", "status", "--short"])
    yield Program("compiling C++", ["g++", "-O2", "-c", "reader.cpp", "-o", "reader.o"], "reader.o")
    yield Program("SQLite, 100,000 rows", [sys.executable, "-c", ROWS])
    yield Program("mapping 512 MB", ["./mapper", "large"])
    yield Program("reading 10 GB in 64 KiB", ["./blocks", "large"])


def digest(folder: Path, program: Program, output: bytes) -> str:
    """A hash of what a program wrote."""
    written = (folder / program.output).read_bytes() if program.output else b""
    return hashlib.sha256(output + written).hexdigest()


def timed(folder: Path, program: Program, tool: list[str]) -> tuple[float, str]:
    """Seconds of a program with a tool, and the hash of its output."""
    start = time.perf_counter()
    try:
        ran = subprocess.run([*tool, *program.command], cwd=folder, capture_output=True, check=True, timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return float("inf"), ""
    except subprocess.CalledProcessError:
        # `ltrace` breaks some programs.
        return float("nan"), ""
    return time.perf_counter() - start, digest(folder, program, ran.stdout)


def is_counted(name: str) -> bool:
    """Whether a file counts for the second table."""
    return name.startswith("/") and not name.startswith(("/dev/", "/proc/", "/sys/")) and ".so" not in name


def count_by_strace(folder: Path, program: Program) -> Moved:
    """Reads and writes as `strace` counts them."""
    log = folder / "strace.txt"
    subprocess.run(
        ["strace", "-f", "-y", "-s", "0", "-o", log, "-e", f"trace={MOVES}", *program.command],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    counts = [0, 0, 0, 0]
    unfinished: dict[str, str] = {}
    for line in log.read_text(errors="replace").splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            unfinished[process] = call.removesuffix("<unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>\s*(.*)", call):
            call = unfinished.pop(process, "") + resumed[1]
        if parts := re.match(r"(\w+)\((.*)\)\s*= (-?\d+)", call):
            name, arguments, result = parts[1], parts[2], int(parts[3])
            files = re.findall(r"\d+<((?:[^<>]|<[^>]*>)*?)>", arguments)
            add_call(counts, name, files, result)
    return Moved(*counts)


def add_call(counts: list[int], name: str, files: list[str], result: int) -> None:
    """Adds a call to reads and writes."""
    pairs = {"sendfile": [(1, 0), (0, 2)], "copy_file_range": [(0, 0), (1, 2)]}
    for file, place in pairs.get(name, [(0, 2 if "write" in name else 0)]):
        if len(files) > file and is_counted(files[file]):
            counts[place] += 1
            counts[place + 1] += max(result, 0)


def count_waits(polyhaul: str, folder: Path, program: Program) -> tuple[int, int]:
    """Futex waits that returned as `strace` counts them in a run, and as `polyhaul watch` does in the same run."""
    report, log = folder / "report.json", folder / "strace.txt"
    strace = ["strace", "-f", "-o", log, "-e", "trace=futex,execve,clone,clone3,fork,vfork"]
    run = [*strace, polyhaul, "watch", "--json", "-o", report, "--", *program.command]
    subprocess.run(run, cwd=folder, capture_output=True, check=True)
    calls: dict[str, str] = {}
    watched: set[str] = set()
    waits = 0
    lines = [line.split(maxsplit=1) for line in log.read_text(errors="replace").splitlines()]
    for task, call in lines:
        if call.endswith("<unfinished ...>"):
            calls[task] = call
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", call):
            call = calls.pop(task, "") + resumed[1]
        if call.startswith("execve(") and task != lines[0][0]:
            watched.add(task)
        if (born := re.match(r"(?:clone3?|v?fork)\(.*= (\d+)$", call)) and task in watched:
            watched.add(born[1])
        waits += task in watched and is_wait(call)
    return waits, json.loads(report.read_text())["locks"]["waits"]


def is_wait(call: str) -> bool:
    """Whether a call is a futex wait that returned. The recorder waits for the command with a limit of one second."""
    is_recorder = re.search(r"FUTEX_WAIT, \d+, \{tv_sec=1, tv_nsec=0\}", call)
    return bool(re.match(r"futex\([^,]*, FUTEX_(WAIT|LOCK_PI).*= -?\d", call)) and not is_recorder


def watch(polyhaul: str, folder: Path, program: Program) -> tuple[str, Moved]:
    """The first line of the report, and reads and writes."""
    report = folder / "report.json"
    run = [polyhaul, "watch", "-o", report]
    subprocess.run([*run, "--", *program.command], cwd=folder, capture_output=True, check=True)
    line = report.read_text().splitlines()[0]
    subprocess.run([*run, "--json", "--", *program.command], cwd=folder, capture_output=True, check=True)
    counts = [0, 0, 0, 0]
    for row in json.loads(report.read_text())["files"]:
        if is_counted(str((folder / row["file"]).resolve())) and ".so" not in row["file"]:
            sums = [row["reads"]["calls"], row["reads"]["bytes"], row["writes"]["calls"], row["writes"]["bytes"]]
            counts = [sum(pair) for pair in zip(counts, sums, strict=True)]
    return line, Moved(*counts)


def can_run(folder: Path, program: Program) -> bool:
    """Whether this system has a program with what it needs."""
    try:
        return subprocess.run(program.command, cwd=folder, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def shown(ratio: float, alone: float) -> str:
    """A tool's time divided by the time alone."""
    if math.isnan(ratio):
        return "fails"
    return f"{ratio:.2f}" if ratio < float("inf") else f"> {MAX_SECONDS / alone:.0f}"


def main() -> None:
    """Runs all programs and prints the tables."""
    polyhaul, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    prepare(folder)
    subprocess.run([sys.executable, EXAMPLES / "viewer.py", "--make", folder / "textures"], check=True)
    tools = {
        "watch": [polyhaul, "watch", "-o", "report.txt", "--"],
        "strace": ["strace", "-f", "-c", "-o", "strace.txt"],
        "perf": ["perf", "record", "-q", "-e", "cpu-clock", "-g", "-o", "perf.data", "--"],
        "ltrace": ["ltrace", "-f", "-c", "-o", "ltrace.txt"],
    }
    tools = {name: tool for name, tool in tools.items() if shutil.which(tool[0])}
    print(f"| program | first line | alone | {' | '.join(tools)} | same bytes |")
    print(f"|---|---|--:|{'--:|' * len(tools)}---|")
    counted = []
    waits = []
    for program in programs():
        if not can_run(folder, program):
            continue
        samples: dict[str, list[tuple[float, str]]] = {"alone": []} | {name: [] for name in tools}
        for turn in range(rounds):
            names = list(samples)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                if samples[name] and samples[name][0][0] > MAX_SECONDS / 2:
                    continue
                samples[name].append(timed(folder, program, tools.get(name, [])))
        best = {name: min(seconds for seconds, _ in runs) for name, runs in samples.items()}
        is_same = len({hashed for name in ["alone", "watch"] for _, hashed in samples[name]}) == 1
        line, moved = watch(polyhaul, folder, program)
        ratios = " | ".join(shown(best[name] / best["alone"], best["alone"]) for name in tools)
        print(f"| {program.name} | {line} | {best['alone']:.2f} s | {ratios} | {'yes' if is_same else 'NO'} |", flush=True)
        if "strace" in tools and best["strace"] < MAX_SECONDS:
            counted.append((program.name, count_by_strace(folder, program), moved))
            waits.append((program.name, *count_waits(polyhaul, folder, program)))
    print("\n| program | reads | bytes read | writes | bytes written | as `strace` |")
    print("|---|--:|--:|--:|--:|---|")
    for name, by_strace, moved in counted:
        numbers = " | ".join(f"{number:,}" for number in moved)
        same = "the same" if moved == by_strace else " / ".join(f"{number:,}" for number in by_strace)
        print(f"| {name} | {numbers} | {same} |")
    print("\n| program | waits by `strace` | waits by `polyhaul watch` |")
    print("|---|--:|--:|")
    for name, by_strace, by_watch in waits:
        print(f"| {name} | {by_strace:,} | {by_watch:,} |")


if __name__ == "__main__":
    main()
