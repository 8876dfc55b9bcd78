"""Text of numbers: `tables.py write NAME ARRAY TEXT OUTPUT THREADS`, `tables.py read NAME TEXT THREADS`.

ARRAY is an .npy file with rows of three floats, TEXT what numpy writes of it by `%.6f`. A writer gets the numbers in
its own package's form; that is made before. What it writes is compared with TEXT, and removed. pyarrow cannot be
told the number of digits. Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import filecmp
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import measure

COLUMNS = ["a", "b", "c"]

# Writes to a file.
Writer = Callable[[str], object]
# Reads a file; tells the shape of what that gave.
Reader = tuple[Callable[[], Any], Callable[[Any], tuple[int, int]]]


def write_polyhaul(array: np.ndarray, threads: int) -> Writer:
    import polyhaul

    return lambda output: polyhaul.savetxt(output, array, fmt="%.6f", threads=threads)


def write_numpy(array: np.ndarray, threads: int) -> Writer:
    return lambda output: np.savetxt(output, array, fmt="%.6f")


def write_pandas(array: np.ndarray, threads: int) -> Writer:
    import pandas

    frame = pandas.DataFrame(array)
    return lambda output: frame.to_csv(output, sep=" ", header=False, index=False, float_format="%.6f")


def write_polars(array: np.ndarray, threads: int) -> Writer:
    import polars

    frame = polars.DataFrame(_columns(array))
    return lambda output: frame.write_csv(output, include_header=False, separator=" ", float_precision=6)


def write_pyarrow(array: np.ndarray, threads: int) -> Writer:
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(threads)
    table = pyarrow.table(_columns(array))
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ")
    return lambda output: pyarrow.csv.write_csv(table, output, options)


def write_duckdb(array: np.ndarray, threads: int) -> Writer:
    import duckdb
    import pyarrow

    connection = duckdb.connect(config={"threads": threads})
    connection.register("given", pyarrow.table(_columns(array)))
    connection.execute("create table numbers as select * from given")
    texts = ", ".join(f"printf('%.6f', {name}::double)" for name in COLUMNS)
    copy = f"copy (select {texts} from numbers) to '{{}}' (format csv, header false, delimiter ' ')"
    return lambda output: connection.execute(copy.format(output))


def read_polyhaul(file: str, threads: int) -> Reader:
    import polyhaul

    return lambda: polyhaul.loadtxt(file, threads=threads), np.shape


def read_numpy(file: str, threads: int) -> Reader:
    return lambda: np.loadtxt(file), np.shape


def read_pandas(file: str, threads: int) -> Reader:
    import pandas

    return lambda: pandas.read_csv(file, sep=" ", header=None), np.shape


def read_polars(file: str, threads: int) -> Reader:
    import polars

    return lambda: polars.read_csv(file, has_header=False, separator=" "), lambda frame: frame.shape


def read_pyarrow(file: str, threads: int) -> Reader:
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(threads)
    names = pyarrow.csv.ReadOptions(column_names=COLUMNS, use_threads=threads > 1)
    blanks = pyarrow.csv.ParseOptions(delimiter=" ")
    return lambda: pyarrow.csv.read_csv(file, names, blanks), lambda table: table.shape


def read_duckdb(file: str, threads: int) -> Reader:
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    types = ", ".join(f"'{name}': 'double'" for name in COLUMNS)
    text = f"read_csv('{file}', delim=' ', header=false, columns={{{types}}})"

    def count(_: Any) -> tuple[int, int]:
        [(rows,)] = connection.execute("select count(*) from numbers").fetchall()
        return rows, len(COLUMNS)

    return lambda: connection.execute(f"create table numbers as select * from {text}"), count


def _columns(array: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(column) for name, column in zip(COLUMNS, array.T, strict=True)}


WRITERS: dict[str, Callable[[np.ndarray, int], Writer]] = {
    "polyhaul": write_polyhaul,
    "numpy": write_numpy,
    "pandas": write_pandas,
    "polars": write_polars,
    "pyarrow": write_pyarrow,
    "duckdb": write_duckdb,
}
READERS: dict[str, Callable[[str, int], Reader]] = {
    "polyhaul": read_polyhaul,
    "numpy": read_numpy,
    "pandas": read_pandas,
    "polars": read_polars,
    "pyarrow": read_pyarrow,
    "duckdb": read_duckdb,
}


def write(name: str, array: str, text: str, output: str, threads: str) -> None:
    writer = WRITERS[name](np.load(array), int(threads))
    target = Path(output)
    target.unlink(missing_ok=True)
    timing = measure.timed(lambda: writer(output))
    fields = {} if timing.before_bytes is None else {"base_bytes": timing.before_bytes}
    same = filecmp.cmp(output, text, shallow=False)
    measure.tell(timing, bytes=target.stat().st_size, identical=int(same), **fields)
    target.unlink()


def read(name: str, text: str, threads: str) -> None:
    reader, shape = READERS[name](text, int(threads))
    timing = measure.timed(reader)
    rows, columns = shape(timing.result)
    if columns != len(COLUMNS):
        sys.exit(f"{columns} columns")
    measure.tell(timing, positions=rows, faces=0)


def main(verb: str, *rest: str) -> None:
    # polars counts its threads when it is imported.
    os.environ["POLARS_MAX_THREADS"] = rest[-1]
    {"write": write, "read": read}[verb](*rest)
    # Taking the numbers apart is not measured.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
