//! Builds or sets up the contestants, and notes which are unavailable.

use super::plan::{self, Cpp, PLAN, Part};
use super::python;
use crate::root;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs for measuring.
#[derive(Default)]
pub(super) struct Tools {
    /// Available programs, by their names in the plan.
    pub(super) programs: BTreeMap<&'static str, PathBuf>,
    /// Prefix of each measurement's command: runs it in the real-time class, if permitted.
    pub(super) prefix: Vec<OsString>,
    /// Peers with their versions.
    pub(super) peers: Vec<String>,
    /// Missing contestants, with reasons.
    pub(super) notes: Vec<String>,
}

/// Builds the programs that `parts` need.
pub(super) fn tools(parts: &[&'static Part], install: bool, ready: Option<&Path>) -> Result<Tools, String> {
    let uses = plan::uses(parts);
    let mut tools = Tools { prefix: real_time(), peers: crate_versions(), ..Tools::default() };
    tools.programs.insert("bench", bench()?);
    if install {
        install_packages()?;
    }
    PLAN.cpp.iter().filter(|peer| uses.contains(peer.name.as_str())).for_each(|peer| cpp(peer, &mut tools));
    tools.notes.extend(parts.iter().filter_map(|part| part.note.clone()));
    if uses.contains("command") {
        tools.programs.insert("command", command()?);
    }
    for (name, words) in [("taskset", &["-c", "0", "true"][..]), ("strace", &["--version"])] {
        if root::succeeds(Command::new(name).args(words)) {
            tools.programs.insert(name, name.into());
        } else if name == "taskset" && uses.contains(name) {
            tools.notes.push("Blender's exporter: no `taskset` to hold it on one core".into());
        }
    }
    for name in PLAN.ready.iter().filter(|name| uses.contains(name.as_str())) {
        match ready.map(|folder| folder.join(name)).filter(|program| program.is_file()) {
            Some(program) => _ = tools.programs.insert(name, program),
            None => tools
                .notes
                .push(format!("{name} (C++): in no package registry; --programs DIR measures a ready program")),
        }
    }
    python::set_up(&uses, &mut tools);
    Ok(tools)
}

/// Builds the command with the profile of releases.
fn command() -> Result<PathBuf, String> {
    let mut command = root::cargo();
    let target = root::root().join("target");
    command.args(["build", "--profile", "dist", "--package", "polyhaul-cli", "--target-dir"]).arg(&target);
    match command.status() {
        Ok(status) if status.success() => Ok(target.join("dist").join("polyhaul")),
        _ => Err("the command did not build".into()),
    }
}

/// Builds `bench-obj` in the workspace `tools/bench`, which has a separate lock file and target folder.
fn bench() -> Result<PathBuf, String> {
    let folder = root::root().join("tools/bench");
    let target = folder.join("target");
    let mut command = root::cargo();
    command.args(["build", "--release", "--manifest-path"]);
    command.arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(&target);
    match command.status() {
        Ok(status) if status.success() => Ok(target.join("release/bench-obj")),
        _ => Err("tools/bench did not build".into()),
    }
}

/// Returns `chrt -f 5`, which gives a process priority over all normal processes, if permitted.
fn real_time() -> Vec<OsString> {
    let prefix = ["chrt", "-f", "5"];
    if root::succeeds(Command::new(prefix[0]).args(&prefix[1..]).arg("true")) {
        prefix.map(OsString::from).to_vec()
    } else {
        Vec::new()
    }
}

fn install_packages() -> Result<(), String> {
    let packages = PLAN.cpp.iter().map(|peer| &peer.package).chain(&PLAN.packages);
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes"]).args(packages);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err("apt-get could not install the peers".into()),
    }
}

/// Compiles a C++ peer, or notes why that failed.
fn cpp(peer: &'static Cpp, tools: &mut Tools) {
    let Cpp { name, package, libraries } = peer;
    let folder = root::root().join("target").join("bench-peers");
    let program = folder.join(name);
    let source = root::root().join("tools/bench/peers");
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
            let version = output_of(Command::new("dpkg-query").args(["-W", "-f", "${Version}", package.as_str()]));
            let version = version.unwrap_or_else(|| "version unknown".into());
            tools.peers.push(format!("{package} {version}"));
            tools.programs.insert(name, program);
        }
        Err(why) => {
            let note = format!("{name}: not built ({why}); --install-peers installs {package}");
            tools.notes.push(note);
        }
    }
}

/// Returns the first error message in a compiler's output.
fn first_error(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().find(|line| line.contains("error"));
    let message = line.or(text.lines().next()).unwrap_or("no message");
    // Without the location, which is a path of this machine.
    let message = message.split_once("error: ").map_or(message, |(_, what)| what);
    message.trim().into()
}

/// Returns the output of `command`, if it succeeds.
pub(super) fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    output.status.success().then_some(text)
}

/// Returns the Rust peers with their built versions.
fn crate_versions() -> Vec<String> {
    let lock = root::root().join("tools/bench").join("Cargo.lock");
    versions(&std::fs::read_to_string(lock).unwrap_or_default())
}

fn versions(lock: &str) -> Vec<String> {
    let value = |line: &str, key: &str| -> Option<String> {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = ")?;
        Some(quoted.trim_matches('"').into())
    };
    let pairs = lock.lines().zip(lock.lines().skip(1));
    let named = pairs.filter_map(|(a, b)| Some((value(a, "name")?, value(b, "version")?)));
    named.filter(|(name, _)| PLAN.crates.contains(name)).map(|(name, version)| format!("{name} {version}")).collect()
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
