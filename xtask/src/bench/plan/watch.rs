//! A program that reads a file in small calls, and in large ones, alone and watched by `polyhaul watch` and by strace.
//!
//! Each tells how long its reading took by its own clock, so that starting the watcher does not count.

use super::{Contestant, Group, Input, command, generated, large, output};
use crate::bench::build::Tools;
use crate::root;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

const PLAIN: &str = "alone";
const STRACE: &str = "strace -f -c";
/// The calls that strace counts: it too lets the kernel pick them.
const COUNTED: &str = "trace=openat,close,read,write,pread64,pwrite64,lseek,mmap,futex";
/// strace takes tens of seconds for what is done in one.
const SLOW_ROUNDS: usize = 1;

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let small = generated(tools, data, ("watched", "3 bytes a call"), "plain", 1)?;
    let large = Input { title: "1 MiB a call", ..large(tools, data, megabytes)? };
    Ok(vec![group(tools, "watch small", &small, data, 3), group(tools, "watch large", &large, data, 1 << 20)])
}

fn group(tools: &Tools, key: &'static str, input: &Input, data: &Path, call_bytes: usize) -> Group {
    let program = |watcher: &[OsString]| {
        let program = tools.bench.clone().into();
        let args = ["read".into(), "limit-calls".into(), input.path.clone().into(), call_bytes.to_string().into()];
        let mut all = watcher.iter().cloned().chain([program]).chain(args);
        let first = all.next().unwrap_or_default();
        command(tools, Path::new(&first), all)
    };
    let report = output(data, "watched.txt");
    let watched = |more: &[&str]| {
        let more = more.iter().map(OsString::from);
        let args = ["watch".into(), "-o".into(), report.clone().into()].into_iter().chain(more).chain(["--".into()]);
        program(&[tools.command.clone().into()].into_iter().chain(args).collect::<Vec<_>>())
    };
    let strace = ["strace", "-f", "-c", "--seccomp-bpf", "-e", COUNTED, "-o"].map(OsString::from);
    let strace: Vec<_> = strace.into_iter().chain([report.clone().into()]).collect();
    let mut contestants = vec![
        Contestant::new(PLAIN, program(&[])),
        Contestant::new("polyhaul watch", watched(&[])),
        Contestant::new("polyhaul watch --stacks", watched(&["--stacks"])),
    ];
    if root::succeeds(Command::new("strace").arg("--version")) {
        contestants.push(Contestant { rounds: SLOW_ROUNDS, ..Contestant::new(STRACE, program(&strace)) });
    }
    let title = format!("Watching a program that reads: {}", input.title);
    Group { key, title, input: input.clone(), baseline: PLAIN, limit: PLAIN, contestants }
}
