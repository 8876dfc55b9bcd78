//! Compressed files: reading .obj.gz beside its halves (inflating alone, parsing alone), and writing.

use super::{Contestant, Group, Input, LIMIT_WRITE, ONE_THREAD, TWO_THREADS};
use super::{command, compressed, large, output, reader, script, writer};
use crate::bench::build::Tools;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inflating alone with 1 and 2 threads, in bytes that nobody keeps.
pub(in crate::bench) const INFLATE: [&str; 2] = ["limit: inflate alone, 1 thread", "limit: inflate alone, 2 threads"];
/// Parsing alone: the plain file.
pub(in crate::bench) const PARSE: [&str; 2] = ["limit: the plain file, 1 thread", "limit: the plain file, 2 threads"];
pub(in crate::bench) const PYTHON_GZIP: &str = "Python's gzip, inflating alone";
pub(in crate::bench) const ISAL: &str = "ISA-L, inflating alone";
const PIPE: &str = "gzip -dc into polyhaul, 2 threads";
const DEFLATE: &str = "Python's gzip, level 6";

/// Writing compressed takes seconds.
const WRITING_ROUNDS: usize = 3;

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let plain = large(tools, data, megabytes)?;
    let stream = compressed(&plain.path, &data.join("single.obj.gz"), |output| {
        let mut gzip = Command::new("gzip");
        gzip.arg("-c").arg(&plain.path).stdout(std::fs::File::create(output)?);
        gzip.status()
    })?;
    let members = compressed(&plain.path, &data.join("members.obj.gz"), |output| {
        Command::new(&tools.command).args(["convert", "--quiet"]).args([&plain.path, output]).status()
    })?;
    Ok(vec![
        reading(tools, "read gzip", "Reading .obj.gz, one member", &plain, stream),
        reading(tools, "read members", "Reading .obj.gz, many members", &plain, members),
        writing(tools, &plain, data),
    ])
}

fn reading(tools: &Tools, key: &'static str, title: &str, plain: &Input, file: PathBuf) -> Group {
    let read = |name, kind, file: &Path, threads| reader(tools, name, kind, file, threads);
    let mut contestants = vec![
        read(INFLATE[0], "limit-inflate", &file, 1),
        read(INFLATE[1], "limit-inflate", &file, 2),
        read(PARSE[0], "polyhaul", &plain.path, 1),
        read(PARSE[1], "polyhaul", &plain.path, 2),
        read(ONE_THREAD, "polyhaul", &file, 1),
        read(TWO_THREADS, "polyhaul", &file, 2),
        Contestant::new(PIPE, command(tools, Path::new("sh"), pipe(tools, &file))),
    ];
    let inflate = |name, module| gzips(tools, name, "inflate", module, [&file]);
    contestants.extend(inflate(PYTHON_GZIP, "gzip"));
    contestants.extend(inflate(ISAL, "isal"));
    let input = Input { path: file, ..plain.clone() };
    Group { key, title: title.into(), input, baseline: PIPE, limit: INFLATE[1], contestants }
}

/// Arguments of a shell: the file inflated by gzip, read from standard input.
fn pipe(tools: &Tools, file: &Path) -> [OsString; 4] {
    let line = "gzip -dc \"$0\" | \"$1\" read polyhaul - 2";
    ["-c".into(), line.into(), file.into(), tools.bench.clone().into()]
}

fn writing(tools: &Tools, plain: &Input, data: &Path) -> Group {
    let write = |name, kind, threads| {
        let contestant = writer(tools, name, kind, &plain.path, output(data, "single.obj.gz"), threads);
        Contestant { rounds: WRITING_ROUNDS, ..contestant }
    };
    let mut contestants =
        vec![write(LIMIT_WRITE, "limit", 1), write(ONE_THREAD, "polyhaul", 1), write(TWO_THREADS, "polyhaul", 2)];
    let deflate = |name, module| {
        let contestant = gzips(tools, name, "deflate", module, [&plain.path, &output(data, "single.obj.gz")])?;
        Some(Contestant { rounds: 1, ..contestant })
    };
    contestants.extend(deflate(DEFLATE, "gzip"));
    contestants.extend(deflate("ISA-L, level 2", "isal"));
    Group {
        key: "write gzip",
        title: "Writing .obj.gz".into(),
        input: plain.clone(),
        baseline: DEFLATE,
        limit: LIMIT_WRITE,
        contestants,
    }
}

/// A compressor of Python's, alone: nothing is parsed or formatted.
fn gzips<const N: usize>(
    tools: &Tools,
    name: &'static str,
    verb: &str,
    module: &str,
    files: [&Path; N],
) -> Option<Contestant> {
    let python = tools.pythons.small.as_ref()?;
    let words = [script("gzips.py"), verb.into(), module.into()];
    let files = files.into_iter().map(OsString::from);
    Some(Contestant::new(name, command(tools, python, words.into_iter().chain(files))))
}
