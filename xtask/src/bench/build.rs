//! The programs that take part: built or set up where they can be, noted down where they cannot.

use super::part::Part;
use super::python::{self, Pythons};
use crate::root;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Peers in C++: program, Debian package, and what the linker needs.
const CPP: &[(&str, &str, &[&str])] = &[
    ("tinyobj", "libtinyobjloader-dev", &[]),
    ("assimp", "libassimp-dev", &["-lassimp"]),
    ("images", "libfreeimage-dev", &["-lfreeimage"]),
];
/// Further Debian packages: a library that open3d loads, and stb_image.
const LIBRARIES: &[&str] = &["libusb-1.0-0", "libstb-dev"];
/// Peers in Rust, by their names in the lock file of `bench/`.
const CRATES: &[&str] = &[
    "tobj",
    "obj",
    "obj-rs",
    "ufbx",
    "serde-ply",
    "ply-rs-bw",
    "stl_io",
    "zmij",
    "ryu",
    "fast-float2",
    "image",
    "png",
];

/// Why pbrt scenes are read beside limits alone.
/// Peers that no registry has.
const NO_PROGRAMS: &str = "fast_obj and rapidobj (C++): in no package registry; measured with --programs DIR";
const NO_PBRT_PEERS: &str = "pbrt-v4, minipbrt and pbrt-parser (C++): in no package registry; the crate pbrt4 0.2 prints \
                             every token and takes no Option with a plain name: not measured here";

/// What there is to measure with.
pub(super) struct Tools {
    /// The benchmark's own program.
    pub(super) bench: PathBuf,
    /// The jobs of the part `verdicts` that take a host.
    pub(super) jobs: PathBuf,
    /// The command `polyhaul`.
    pub(super) command: PathBuf,
    pub(super) tinyobj: Option<PathBuf>,
    pub(super) assimp: Option<PathBuf>,
    /// Where ready programs of peers are, called like them.
    pub(super) programs: Option<PathBuf>,
    /// FreeImage and stb_image.
    pub(super) images: Option<PathBuf>,
    pub(super) pythons: Pythons,
    /// What each measurement is started with: the real-time class, where that is allowed.
    pub(super) prefix: Vec<OsString>,
    /// Whether a process can be held on one core (`taskset`).
    pub(super) taskset: bool,
    /// Each peer with its version.
    pub(super) peers: Vec<String>,
    /// Who does not take part, and why.
    pub(super) notes: Vec<String>,
}

/// Builds what `parts` need.
pub(super) fn tools(parts: &[Part], install: bool, programs_of_peers: Option<&Path>) -> Result<Tools, String> {
    let has_peers = parts.iter().any(|part| *part != Part::Verdicts);
    let programs = bench(has_peers)?;
    let jobs = programs.join("bench-jobs");
    let mut tools = Tools {
        bench: if has_peers { programs.join("bench-obj") } else { jobs.clone() },
        jobs,
        command: PathBuf::new(),
        tinyobj: None,
        assimp: None,
        programs: programs_of_peers.map(Path::to_path_buf),
        images: None,
        pythons: Pythons::default(),
        prefix: real_time(),
        taskset: root::succeeds(Command::new("taskset").args(["-c", "0", "true"])),
        peers: if has_peers { crate_versions() } else { Vec::new() },
        notes: Vec::new(),
    };
    if install {
        install_packages()?;
    }
    if parts.contains(&Part::Obj) {
        let [tinyobj, assimp] = [0, 1].map(|index| cpp(index, &mut tools));
        (tools.tinyobj, tools.assimp) = (tinyobj, assimp);
        if programs_of_peers.is_none() {
            tools.notes.push(NO_PROGRAMS.into());
        }
    }
    if parts.contains(&Part::Images) {
        tools.images = cpp(2, &mut tools);
    }
    if parts.contains(&Part::Pbrt) {
        tools.notes.push(NO_PBRT_PEERS.into());
    }
    if [Part::Python, Part::Gzip, Part::Watch, Part::Verdicts, Part::Sweeps].iter().any(|part| parts.contains(part)) {
        tools.command = command()?;
    }
    if parts.contains(&Part::Blender) && !tools.taskset {
        tools.notes.push("Blender's exporter: no `taskset` to hold it on one core".into());
    }
    tools.pythons = python::set_up(parts, &mut tools.peers, &mut tools.notes);
    Ok(tools)
}

/// Builds the command as it is shipped.
fn command() -> Result<PathBuf, String> {
    let mut command = root::cargo();
    let target = root::root().join("target");
    command.args(["build", "--profile", "dist", "--package", "polyhaul-cli", "--target-dir"]).arg(&target);
    match command.status() {
        Ok(status) if status.success() => Ok(target.join("dist").join("polyhaul")),
        _ => Err("the command did not build".into()),
    }
}

/// Builds the workspace in `bench/`, with its own lock file and target folder, in which the programs are. Without peers
/// there is one that needs none.
fn bench(has_peers: bool) -> Result<PathBuf, String> {
    let folder = root::root().join("bench");
    let target = folder.join("target");
    let mut command = root::cargo();
    command.args(["build", "--release", "--manifest-path"]);
    command.arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(&target);
    if !has_peers {
        command.arg("--no-default-features");
    }
    match command.status() {
        Ok(status) if status.success() => Ok(target.join("release")),
        _ => Err("bench/ did not build".into()),
    }
}

/// `chrt -f 5` puts a process before all others, if one is allowed to.
fn real_time() -> Vec<OsString> {
    let prefix = ["chrt", "-f", "5"];
    if root::succeeds(Command::new(prefix[0]).args(&prefix[1..]).arg("true")) {
        prefix.map(OsString::from).to_vec()
    } else {
        Vec::new()
    }
}

fn install_packages() -> Result<(), String> {
    let packages = CPP.iter().map(|(_, package, _)| package).chain(LIBRARIES);
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes"]).args(packages);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err("apt-get could not install the peers".into()),
    }
}

/// Compiles a peer in C++, or notes why not.
fn cpp(index: usize, tools: &mut Tools) -> Option<PathBuf> {
    let (name, package, libraries) = CPP[index];
    let folder = root::root().join("target").join("bench-peers");
    let program = folder.join(name);
    let source = root::root().join("bench").join("peers");
    let mut command = Command::new("g++");
    command.args(["-O3", "-std=c++17"]);
    command.arg(source.join(name).with_extension("cpp"));
    command.arg("-o").arg(&program).args(libraries);
    let built = std::fs::create_dir_all(&folder)
        .and_then(|()| command.output())
        .map_err(|error| format!("g++: {error}"))
        .and_then(|output| if output.status.success() { Ok(()) } else { Err(first_error(&output.stderr)) });
    match built {
        Ok(()) => {
            let version = output_of(Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]));
            let version = version.unwrap_or_else(|| "version unknown".into());
            tools.peers.push(format!("{package} {version}"));
            Some(program)
        }
        Err(why) => {
            let note = format!("{name}: not built ({why}); --install-peers installs {package}");
            tools.notes.push(note);
            None
        }
    }
}

/// The line of a compiler's output that says what is wrong.
fn first_error(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().find(|line| line.contains("error"));
    let message = line.or(text.lines().next()).unwrap_or("no message");
    // The place is a path of this machine.
    let message = message.split_once("error: ").map_or(message, |(_, what)| what);
    message.trim().into()
}

/// What `command` prints, if it succeeds.
pub(super) fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    output.status.success().then_some(text)
}

/// Peers in Rust with the versions that were built.
fn crate_versions() -> Vec<String> {
    let lock = root::root().join("bench").join("Cargo.lock");
    versions(&std::fs::read_to_string(lock).unwrap_or_default())
}

fn versions(lock: &str) -> Vec<String> {
    let value = |line: &str, key: &str| -> Option<String> {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = ")?;
        Some(quoted.trim_matches('"').into())
    };
    let pairs = lock.lines().zip(lock.lines().skip(1));
    let named = pairs.filter_map(|(a, b)| Some((value(a, "name")?, value(b, "version")?)));
    named
        .filter(|(name, _)| CRATES.contains(&name.as_str()))
        .map(|(name, version)| format!("{name} {version}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock =
            "[[package]]\nname = \"tobj\"\nversion = \"4.0.5\"\n\n[[package]]\nname = \"cc\"\nversion = \"1.0.0\"\n";
        assert_eq!(versions(lock), ["tobj 4.0.5"]);
    }

    #[test]
    fn the_compilers_complaint_is_found_without_its_place() {
        let output = b"peers/a.cpp:4:10: fatal error: a.h: No such file\n  4 | #include\n";
        assert_eq!(first_error(output), "a.h: No such file");
        assert_eq!(first_error(b""), "no message");
    }
}
