"""Throttled programs: `throttled.py POLYHAUL FOLDER [ROUNDS] [PYTHON]` (Linux).

POLYHAUL is the command; PYTHON has Blender's module `bpy`. Makes files in FOLDER. Prints the rate that a program measures
itself while it reads with `polyhaul watch --read-rate`, as a percentage of the lower of the requested rate and its rate
without a limit (medians of ROUNDS, 3): for reads of several sizes, and for a mapped file, with 1, 4 and 16 threads. Then
prints sweeps (`polyhaul sweep --program`): of a loader that maps its input, plain and compressed with gzip, and of
Blender's importer of OBJ files, both with the largest error of the model.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

READER = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const char *path;
static long size, threads, total;
static const volatile char *mapped;
static void *work(void *argument) {
    long part = total / threads, at = (long)argument * part, end = at + part;
    char *buffer = malloc(size + 1);
    int file = open(path, O_RDONLY);
    long sum = 0;
    if (mapped) {
        for (; at < end; at += 4096) sum += mapped[at];
    } else {
        lseek(file, at, SEEK_SET);
        for (long got; at < end; at += got) {
            got = read(file, buffer, size < end - at ? size : end - at);
            if (got <= 0) abort();
        }
    }
    close(file);
    free(buffer);
    return (void *)sum;
}
int main(int count, char **arguments) {
    struct timespec start, end;
    pthread_t ids[64];
    path = arguments[1], size = atol(arguments[2]), threads = atol(arguments[3]), total = atol(arguments[4]);
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (size == 0) mapped = mmap(0, total, PROT_READ, MAP_PRIVATE, open(path, O_RDONLY), 0);
    for (long index = 0; index < threads; index++) pthread_create(&ids[index], 0, work, (void *)index);
    for (long index = 0; index < threads; index++) pthread_join(ids[index], 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.9f\\n", end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9);
    return 0;
}
"""
LOADER = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>
int main(int count, char **arguments) {
    static unsigned char text[1 << 18];
    struct stat status;
    int file = open(arguments[1], O_RDONLY);
    fstat(file, &status);
    unsigned char *bytes = mmap(0, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    unsigned long sum = 0;
    if (strstr(arguments[1], ".gz")) {
        z_stream stream;
        memset(&stream, 0, sizeof stream);
        inflateInit2(&stream, 31);
        stream.next_in = bytes, stream.avail_in = status.st_size;
        int result;
        do {
            stream.next_out = text, stream.avail_out = sizeof text;
            result = inflate(&stream, Z_NO_FLUSH);
            for (unsigned long at = 0; at < sizeof text - stream.avail_out; at++) sum = sum * 31 + text[at];
        } while (result == Z_OK);
    } else {
        for (long at = 0; at < status.st_size; at++) sum = sum * 31 + bytes[at];
    }
    printf("%lx\\n", sum);
    return 0;
}
"""
#: Names and sizes of reads; 0 stands for a mapped file.
SIZES = {"3 B": 3, "4 KiB": 4096, "64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB": 16 << 20, "mapped": 0}
#: Names, bytes per second, and bytes to read.
RATES = [("10 MB/s", 10e6, 8e6), ("100 MB/s", 100e6, 80e6), ("500 MB/s", 500e6, 400e6), ("2 GB/s", 2e9, 400e6)]
THREADS = (1, 4, 16)
#: Smaller reads need so long for more bytes that only the time of the calls would be measured.
MAX_SMALL = 6_000_000


def program(folder: Path, name: str, source: str, *options: str) -> Path:
    code = folder / f"{name}.c"
    code.write_text(source)
    subprocess.run(["cc", "-O2", "-pthread", "-o", folder / name, code, *options], check=True)
    return folder / name


def seconds(command: list[str], rounds: int) -> float:
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def print_rates(polyhaul: str, folder: Path, rounds: int) -> None:
    reader = str(program(folder, "reader", READER))
    data = folder / "data"
    data.write_bytes(random.Random(1).randbytes(1_000_000) * 400)
    print("| rate | threads | " + " | ".join(SIZES) + " |")
    print("|---|---:|" + "---:|" * len(SIZES))
    for name, rate, total in RATES:
        for threads in THREADS:
            cells = []
            for size in SIZES.values():
                count = min(int(total), MAX_SMALL) if size == 3 else int(total)
                command = [reader, str(data), str(size), str(threads), str(count)]
                free = count / seconds([polyhaul, "watch", *command], rounds)
                limited = [polyhaul, "watch", "--read-rate", f"{int(rate)}B/s", *command]
                measured = count / seconds(limited, rounds)
                cells.append(f"{100 * measured / min(rate, free):.1f}%")
            print(f"| {name} | {threads} | " + " | ".join(cells) + " |", flush=True)


def print_sweep(polyhaul: str, rates: str, variants: dict[str, str], threads: str) -> None:
    commands = [option for name, command in variants.items() for option in ("--variant", f"{name}={command}")]
    limits = ["--rates", rates, "--sweep-threads", threads, "--time-limit", "600s"]
    swept = subprocess.run(
        [polyhaul, "sweep", "--program", *commands, *limits, "--json"], capture_output=True, text=True, check=True
    )
    result = json.loads(swept.stdout)
    print(f"\n{result['asset']}: " + ", ".join(f"{row['name']} {row['bytes'] / 1e6:.1f} MB" for row in result["stored"]))
    print("\n| | rate | threads | seconds | model |\n|---|---:|---:|---:|---:|")
    errors = []
    for cell in result["cells"]:
        rate = f"{cell['bytes_per_second'] / 1e6:,.0f} MB/s" if cell["bytes_per_second"] else "unlimited"
        median, model = cell["median_seconds"], cell["predicted_seconds"]
        shown = [f"{value:.3f}" if value else "-" for value in (median, model)]
        print(f"| {cell['stored']} | {rate} | {cell['threads']} | {shown[0]} | {shown[1]} |")
        if median and model:
            errors.append(model / median - 1)
    print(f"\nlargest error of the model: {max(errors, key=abs):+.1%}")
    print("\n".join(line for row in result["advice"] for line in row["advice"]))


def main() -> None:
    polyhaul, folder = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    folder.mkdir(parents=True, exist_ok=True)
    print_rates(polyhaul, folder, rounds)
    loader = program(folder, "loader", LOADER, "-lz")
    number = random.Random(1).random
    text = folder / "text.obj"
    lines = (f"v {number():.6f} {number():.6f} {number():.6f}\n" for _ in range(4_000_000))
    text.write_text("".join(lines))
    subprocess.run(["gzip", "-kf", text], check=True)
    loads = {"plain": f"{loader} {text}", "gz": f"{loader} {text}.gz"}
    print_sweep(polyhaul, "20MB/s..2GB/s", loads, "1")
    if len(sys.argv) > 4:
        script = f"import bpy; bpy.ops.wm.obj_import(filepath='{text}')"
        print_sweep(polyhaul, "10MB/s..1GB/s", {"Blender": f'{sys.argv[4]} -c "{script}"'}, "2")


if __name__ == "__main__":
    main()
