//! Text of numbers in Python: polyhaul's `savetxt` and `loadtxt` beside numpy, pandas, polars, pyarrow and
//! DuckDB, with one thread and with two where they can be told. Reading is measured without Python too.

use super::{Contestant, Group, Input, LIMIT_LINES, LIMIT_MEMORY, LIMIT_WRITE, ONE_THREAD, TWO_THREADS};
use super::{command, made, output, reader, script, writer};
use crate::bench::build::Tools;
use std::ffi::OsString;
use std::path::Path;

pub(in crate::bench) const NUMPY: &str = "numpy";
/// polars with 1 and 2 threads.
pub(in crate::bench) const POLARS: [&str; 2] = ["polars, 1 thread", "polars, 2 threads"];
/// polyhaul's reader without Python, with 1 and 2 threads.
pub(in crate::bench) const ARRAYS: [[&str; 2]; 2] = [
    ["polyhaul in Rust, 1 thread", "polyhaul in Rust, 2 threads"],
    ["polyhaul in Rust, f32, 1 thread", "polyhaul in Rust, f32, 2 threads"],
];
const POLYHAUL: [&str; 2] = [ONE_THREAD, TWO_THREADS];
const PYARROW: [&str; 2] = ["pyarrow, 1 thread", "pyarrow, 2 threads"];
const DUCKDB: [&str; 2] = ["DuckDB, 1 thread", "DuckDB, 2 threads"];

/// What takes many seconds takes one turn.
const SLOW_ROUNDS: usize = 1;

/// A peer: its name, how the script calls it, how many threads it may take, in how many rounds it takes part.
type Peer = (&'static str, &'static str, usize, usize);

const fn fast([one, two]: [&'static str; 2], kind: &'static str) -> [Peer; 2] {
    [(one, kind, 1, usize::MAX), (two, kind, 2, usize::MAX)]
}

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let input = made(tools, &data.join("numbers.txt"), "rows of three floats", "table", megabytes)?;
    Ok(vec![writing(tools, &input, data), reading(tools, &input)])
}

fn writing(tools: &Tools, input: &Input, data: &Path) -> Group {
    let written = output(data, "numbers.txt");
    let array = input.path.with_extension("npy");
    let files = [array.as_path(), &input.path, &written];
    // pyarrow writes with one thread, however many it has.
    let peers = [&fast(POLARS, "polars")[..], &fast(PYARROW, "pyarrow")[..1], &fast(DUCKDB, "duckdb")];
    let slow = [("pandas", "pandas", 1, SLOW_ROUNDS), (NUMPY, "numpy", 1, SLOW_ROUNDS)];
    let mut contestants = vec![writer(tools, LIMIT_WRITE, "limit", &input.path, written.clone(), 1)];
    contestants.extend(contenders(tools, "write", "savetxt", &files, peers.concat().into_iter().chain(slow)));
    Group {
        key: "write table",
        title: "Writing numbers by %.6f in Python".into(),
        input: input.clone(),
        baseline: NUMPY,
        limit: LIMIT_WRITE,
        contestants,
    }
}

fn reading(tools: &Tools, input: &Input) -> Group {
    let peers = [fast(POLARS, "polars"), fast(PYARROW, "pyarrow"), fast(DUCKDB, "duckdb")];
    let slow = [("pandas", "pandas", 1, SLOW_ROUNDS), (NUMPY, "numpy", 1, SLOW_ROUNDS)];
    let read = |name, kind| reader(tools, name, kind, &input.path, 1);
    let mut contestants = vec![read(LIMIT_LINES, "limit-lines"), read(LIMIT_MEMORY, "limit-memory")];
    for (names, kind) in ARRAYS.into_iter().zip(["array", "array-f32"]) {
        contestants
            .extend(names.into_iter().zip(1..).map(|(name, threads)| reader(tools, name, kind, &input.path, threads)));
    }
    let peers = peers.concat().into_iter().chain(slow);
    contestants.extend(contenders(tools, "read", "loadtxt", &[&input.path], peers));
    Group {
        key: "read table",
        title: "Reading numbers".into(),
        input: input.clone(),
        baseline: POLARS[1],
        limit: LIMIT_LINES,
        contestants,
    }
}

/// polyhaul, if its package has the `function`, and the peers; none without their environments.
fn contenders(
    tools: &Tools,
    verb: &str,
    function: &str,
    files: &[&Path],
    peers: impl Iterator<Item = Peer>,
) -> Vec<Contestant> {
    let pythons = &tools.pythons;
    let contestant = |python: &Path, (name, kind, threads, rounds): Peer| {
        let files = files.iter().map(OsString::from);
        let args = [script("tables.py"), verb.into(), kind.into()].into_iter().chain(files);
        let args = args.chain([threads.to_string().into()]);
        Contestant { rounds, ..Contestant::new(name, command(tools, python, args)) }
    };
    let polyhaul = pythons.polyhaul.as_deref().filter(|_| pythons.functions.contains(&function));
    let own = polyhaul.map(|python| fast(POLYHAUL, "polyhaul").map(|peer| contestant(python, peer)));
    let peers = pythons.peers.as_deref().map(|python| peers.map(move |peer| contestant(python, peer)));
    own.into_iter().flatten().chain(peers.into_iter().flatten()).collect()
}
