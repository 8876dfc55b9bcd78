//! Who is measured on what: the input files, and the contestants of each group.

use super::build::Tools;
use super::runs;
use crate::{root, term};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The contestants that verdicts ask for.
pub(super) const ONE_THREAD: &str = "polyhaul, 1 thread";
pub(super) const TWO_THREADS: &str = "polyhaul, 2 threads";
pub(super) const TOBJ: &str = "tobj";
pub(super) const LIMIT_LINES: &str = "limit: read once, count lines";
pub(super) const LIMIT_MEMORY: &str = "limit: read into fresh memory";
pub(super) const LIMIT_WRITE: &str = "limit: plain write";

/// An input file and what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// What it is, for headings.
    pub(super) title: &'static str,
    megabytes: u64,
    pub(super) bytes: u64,
    pub(super) positions: u64,
    pub(super) faces: u64,
}

/// Contestants on one input.
pub(super) struct Group {
    /// Its name in records and verdicts.
    pub(super) key: &'static str,
    pub(super) title: String,
    pub(super) input: Input,
    /// The contestant that the others are compared with: a peer.
    pub(super) baseline: &'static str,
    /// The same, for what the machine can do at best.
    pub(super) limit: &'static str,
    pub(super) contestants: Vec<Contestant>,
}

/// A name and a command that prints a line of results.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) command: Vec<OsString>,
}

/// The three input files, made where they are not there yet in this size.
pub(super) fn inputs(tools: &Tools, data: &Path, megabytes: u64) -> Result<[Input; 3], String> {
    let small = megabytes.div_ceil(10);
    Ok([
        input(tools, data, ("single", "one mesh"), "single", megabytes)?,
        input(tools, data, ("objects", "many objects"), "objects", megabytes)?,
        input(tools, data, ("small", "one small mesh"), "plain", small)?,
    ])
}

fn input(
    tools: &Tools,
    data: &Path,
    (name, title): (&str, &'static str),
    kind: &str,
    megabytes: u64,
) -> Result<Input, String> {
    let path = data.join(name).with_extension("obj");
    let there = || {
        let counts = std::fs::read_to_string(path.with_extension("counts")).ok()?;
        let input = parse_counts(&counts, &path, title)?;
        let bytes = std::fs::metadata(&path).ok()?.len();
        (input.megabytes == megabytes && input.bytes == bytes).then_some(input)
    };
    if let Some(input) = there() {
        return Ok(input);
    }
    term::out(format!("making {name}.obj, {megabytes} MB\n"));
    let mut command = Command::new(&tools.bench);
    command.args(["generate", kind, &megabytes.to_string()]).arg(&path);
    let made = command.status().is_ok_and(|status| status.success());
    there().filter(|_| made).ok_or(format!("{name}.obj could not be made"))
}

fn parse_counts(line: &str, path: &Path, title: &'static str) -> Option<Input> {
    let field = |name| runs::field(line, name)?.parse().ok();
    Some(Input {
        path: path.into(),
        title,
        megabytes: field("megabytes")?,
        bytes: field("bytes")?,
        positions: field("positions")?,
        faces: field("faces")?,
    })
}

/// All groups, in the order in which they run.
pub(super) fn groups(tools: &Tools, inputs: &[Input; 3], out: &Path) -> Vec<Group> {
    let [single, objects, small] = inputs;
    vec![
        reading(tools, "read single", single, false),
        reading(tools, "read objects", objects, false),
        reading(tools, "read small", small, true),
        writing(tools, "write single", single, out),
        writing(tools, "write objects", objects, out),
    ]
}

fn reading(tools: &Tools, key: &'static str, input: &Input, slow_peers: bool) -> Group {
    let read = |name: &'static str, reader: &str, threads: &str| {
        let args = ["read", reader].map(OsString::from);
        let file = [input.path.clone().into(), threads.into()];
        Contestant { name, command: command(tools, &tools.bench, args.into_iter().chain(file)) }
    };
    let mut contestants = vec![
        read(LIMIT_LINES, "limit-lines", "1"),
        read(LIMIT_MEMORY, "limit-memory", "1"),
        read(ONE_THREAD, "polyhaul", "1"),
        read(TWO_THREADS, "polyhaul", "2"),
        read("ufbx", "ufbx", "1"),
        read("obj", "obj", "1"),
        read("obj-rs", "obj-rs", "1"),
        read(TOBJ, "tobj", "1"),
    ];
    let other = |name, program: &PathBuf, args: Vec<OsString>| {
        let args = args.into_iter().chain([input.path.clone().into()]);
        Contestant { name, command: command(tools, program, args) }
    };
    contestants.extend(tools.tinyobj.iter().map(|program| other("tinyobjloader", program, vec![])));
    if slow_peers {
        contestants.extend(tools.assimp.iter().map(|program| other("assimp", program, vec![])));
        for (python, name) in tools.python.iter().flat_map(|p| [(p, "trimesh"), (p, "meshio")]) {
            let script = root::root().join("bench").join("peers").join("read.py");
            contestants.push(other(name, python, vec![script.into(), name.into()]));
        }
    }
    Group {
        key,
        title: format!("Reading {}", input.title),
        input: input.clone(),
        baseline: TOBJ,
        limit: LIMIT_LINES,
        contestants,
    }
}

fn writing(tools: &Tools, key: &'static str, input: &Input, out: &Path) -> Group {
    let write = |name: &'static str, writer: &str, threads: &str| {
        let output = out.join(input.path.file_name().unwrap_or_default());
        let args = ["write".into(), writer.into(), input.path.clone().into(), output.into(), threads.into()];
        Contestant { name, command: command(tools, &tools.bench, args) }
    };
    Group {
        key,
        title: format!("Writing {}", input.title),
        input: input.clone(),
        baseline: "obj",
        limit: LIMIT_WRITE,
        contestants: vec![
            write(LIMIT_WRITE, "limit", "1"),
            write(ONE_THREAD, "polyhaul", "1"),
            write(TWO_THREADS, "polyhaul", "2"),
            write("obj", "obj", "1"),
        ],
    }
}

/// A program and its arguments, behind what every measurement is started with.
fn command(tools: &Tools, program: &Path, args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut command = tools.prefix.clone();
    command.push(program.into());
    command.extend(args);
    command
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A group without contestants, on an input of four positions and a face.
    pub(crate) fn group(key: &'static str) -> Group {
        let line = "megabytes=1 bytes=1000 positions=4 faces=1";
        let input = parse_counts(line, Path::new("a.obj"), "a").unwrap();
        Group { key, title: key.into(), input, baseline: TOBJ, limit: LIMIT_LINES, contestants: Vec::new() }
    }

    #[test]
    fn counts_of_an_input_are_read() {
        let line = "megabytes=30 bytes=27729966 positions=178929 faces=178506\n";
        let input = parse_counts(line, Path::new("a.obj"), "a").unwrap();
        assert_eq!((input.megabytes, input.faces), (30, 178_506));
        assert_eq!(parse_counts("megabytes=30\n", Path::new("a.obj"), "a"), None);
    }
}
