//! Who is measured on what: the input files, and the contestants of each group.
//!
//! A module per part has its groups: [`obj`] programs in Rust and C++, [`python`] readers in Python,
//! [`blender`] Blender's exporter, [`gzip`] compressed files, [`ply`] scans and splats, [`stl`] triangles,
//! [`pbrt`] scenes, [`tables`] text of numbers.

mod blender;
mod gzip;
mod obj;
mod pbrt;
mod ply;
mod python;
mod stl;
mod tables;
mod watch;

use super::build::Tools;
use super::part::Part;
use super::runs;
use crate::{root, term};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) use self::gzip::{INFLATE, PARSE};
pub(super) use self::ply::OPEN3D;
pub(super) use self::python::TRIMESH;

/// The contestants that verdicts ask for.
pub(super) const ONE_THREAD: &str = "polyhaul, 1 thread";
pub(super) const TWO_THREADS: &str = "polyhaul, 2 threads";
pub(super) const TOBJ: &str = "tobj";
pub(super) const LIMIT_LINES: &str = "limit: read once, count lines";
/// The same as processes, from their start to their end, as peers without a measurement of their own are measured.
const WHOLE: [&str; 2] = ["polyhaul as a process, 1 thread", "polyhaul as a process, 2 threads"];
const LIMIT_ONCE: &str = "limit: read once";
pub(super) const LIMIT_MEMORY: &str = "limit: read into fresh memory";
pub(super) const LIMIT_WRITE: &str = "limit: plain write";

/// An input file and what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// What it is, for headings.
    pub(super) title: &'static str,
    megabytes: u64,
    /// The bytes of its text.
    pub(super) bytes: u64,
    /// What it takes on the disk: a compressed one less, a scene with other files more.
    disk_bytes: u64,
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
    /// Whether it is started once, holds its data, and prints a line for each line that it is given.
    pub(super) resident: bool,
    /// In how many rounds it takes part at most.
    pub(super) rounds: usize,
}

impl Contestant {
    /// Started anew in every round.
    fn new(name: &'static str, command: Vec<OsString>) -> Contestant {
        Contestant { name, command, resident: false, rounds: usize::MAX }
    }
}

/// The groups of a part, in the order in which they run. Inputs are made where they are not there.
pub(super) fn groups(part: Part, tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    match part {
        Part::Obj => obj::groups(tools, data, megabytes),
        Part::Python => python::groups(tools, data, megabytes),
        Part::Blender => blender::groups(tools, data),
        Part::Gzip => gzip::groups(tools, data, megabytes),
        Part::Ply => ply::groups(tools, data, megabytes),
        Part::Pbrt => pbrt::groups(tools, data, megabytes),
        Part::Stl => stl::groups(tools, data, megabytes),
        Part::Tables => tables::groups(tools, data, megabytes),
        Part::Watch => watch::groups(tools, data, megabytes),
        Part::Images | Part::Numbers | Part::Records | Part::Trace | Part::Throttle | Part::Verdicts | Part::Sweeps => {
            Ok(Vec::new())
        }
    }
}

/// The large mesh that OBJ is measured with.
pub(super) fn large(tools: &Tools, data: &Path, megabytes: u64) -> Result<Input, String> {
    generated(tools, data, ("single", "one mesh"), "single", megabytes)
}

/// The scene of many files that pbrt is measured with.
pub(super) fn large_scene(tools: &Tools, data: &Path, megabytes: u64) -> Result<Input, String> {
    pbrt::many(tools, data, pbrt::megabytes(megabytes))
}

/// A generated OBJ file of about so many megabytes, made unless it is there.
fn generated(
    tools: &Tools,
    data: &Path,
    (name, title): (&str, &'static str),
    kind: &str,
    megabytes: u64,
) -> Result<Input, String> {
    made(tools, &data.join(name).with_extension("obj"), title, kind, megabytes)
}

/// The same for any file. Whether there is one of that size, its counts say.
fn made(tools: &Tools, path: &Path, title: &'static str, kind: &str, megabytes: u64) -> Result<Input, String> {
    let there = || known(path, title).filter(|input| input.megabytes == megabytes);
    if let Some(input) = there() {
        return Ok(input);
    }
    let name = path.file_name().unwrap_or_default().display();
    term::out(format!("making {name}, {megabytes} MB\n"));
    let mut command = Command::new(&tools.bench);
    command.args(["generate", kind, &megabytes.to_string()]).arg(path);
    let made = command.status().is_ok_and(|status| status.success());
    there().filter(|_| made).ok_or(format!("{name} could not be made"))
}

/// An input, a file or a folder, that is there as it was made: its size is the one beside it.
fn known(path: &Path, title: &'static str) -> Option<Input> {
    let counts = std::fs::read_to_string(path.with_extension("counts")).ok()?;
    let input = parse_counts(&counts, path, title)?;
    (disk_bytes(path)? == input.disk_bytes).then_some(input)
}

/// The size of a file, or of all files below a folder.
fn disk_bytes(path: &Path) -> Option<u64> {
    let data = std::fs::metadata(path).ok()?;
    if !data.is_dir() {
        return Some(data.len());
    }
    let entries: Vec<_> = std::fs::read_dir(path).ok()?.collect::<Result<_, _>>().ok()?;
    entries.iter().map(|entry| disk_bytes(&entry.path())).sum()
}

fn parse_counts(line: &str, path: &Path, title: &'static str) -> Option<Input> {
    let field = |name| runs::field(line, name)?.parse().ok();
    let bytes = field("bytes")?;
    Some(Input {
        path: path.into(),
        title,
        megabytes: field("megabytes")?,
        bytes,
        disk_bytes: field("disk_bytes").unwrap_or(bytes),
        positions: field("positions")?,
        faces: field("faces")?,
    })
}

/// A compressed copy of `plain`, made by `make` unless there is one that is younger.
fn compressed(
    plain: &Path,
    path: &Path,
    make: impl FnOnce(&PathBuf) -> std::io::Result<std::process::ExitStatus>,
) -> Result<PathBuf, String> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    if changed(path) > changed(plain) {
        return Ok(path.into());
    }
    let name = path.file_name().unwrap_or_default().display();
    term::out(format!("making {name}\n"));
    match make(&path.into()) {
        Ok(status) if status.success() => Ok(path.into()),
        _ => {
            // A part of it would be taken for the whole the next time.
            let _ = std::fs::remove_file(path);
            Err(format!("{name} could not be made"))
        }
    }
}

/// A reader of the benchmark's own program.
fn reader(tools: &Tools, name: &'static str, reader: &str, file: &Path, threads: usize) -> Contestant {
    let args = ["read".into(), reader.into(), file.into(), threads.to_string().into()];
    Contestant::new(name, command(tools, &tools.bench, args))
}

/// A writer of the benchmark's own program: it writes what `file` holds to `output`.
fn writer(tools: &Tools, name: &'static str, writer: &str, file: &Path, output: PathBuf, threads: usize) -> Contestant {
    let args = ["write".into(), writer.into(), file.into(), output.into(), threads.to_string().into()];
    Contestant::new(name, command(tools, &tools.bench, args))
}

/// A ready program of a peer, as a whole process, and polyhaul's reader as one beside it.
fn ready(tools: &Tools, peer: &'static str, own: &str, file: &Path, input: &Path) -> Vec<Contestant> {
    let Some(program) = tools.programs.as_ref().map(|folder| folder.join(peer)).filter(|program| program.exists())
    else {
        return Vec::new();
    };
    let whole = |name, args: Vec<OsString>| {
        let args = [OsString::from("whole")].into_iter().chain(args);
        Contestant::new(name, command(tools, &tools.bench, args))
    };
    let polyhaul = |threads: &str| {
        let args: [OsString; 5] = [tools.bench.clone().into(), "read".into(), own.into(), input.into(), threads.into()];
        args.to_vec()
    };
    vec![whole(peer, vec![program.into(), file.into()]), whole(WHOLE[0], polyhaul("1")), whole(WHOLE[1], polyhaul("2"))]
}

/// A script of the benchmark.
fn script(name: &str) -> OsString {
    root::root().join("bench").join("python").join(name).into()
}

/// A program and its arguments, behind what every measurement is started with.
fn command(tools: &Tools, program: &Path, args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut command = tools.prefix.clone();
    command.push(program.into());
    command.extend(args);
    command
}

/// Readers in Python take so many turns, and one where a file takes them many seconds.
const PYTHON_ROUNDS: usize = 3;

/// A peer: its name, how its reader is called, and in how many rounds it takes part.
type Peer = (&'static str, &'static str, usize);

/// A peer in Python; none without its environment.
fn scripted(tools: &Tools, name: &str, peer: Peer, files: &[&Path]) -> Option<Contestant> {
    let python = tools.pythons.peers.as_ref()?;
    let (shown, kind, rounds) = peer;
    let files = files.iter().map(OsString::from);
    let args = [script(name), kind.into()].into_iter().chain(files);
    Some(Contestant { rounds, ..Contestant::new(shown, command(tools, python, args)) })
}

/// Where writers write.
fn output(data: &Path, name: &str) -> PathBuf {
    data.join("out").join(name)
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
        assert_eq!(input.disk_bytes, input.bytes);
        let scene = parse_counts(&line.replace("pos", "disk_bytes=9 pos"), Path::new("a"), "a").unwrap();
        assert_eq!((scene.bytes, scene.disk_bytes), (27_729_966, 9));
        assert_eq!(parse_counts("megabytes=30\n", Path::new("a.obj"), "a"), None);
    }
}
