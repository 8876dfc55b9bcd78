//! An allocation that fails is an error: every large allocation of a reading is made to fail once.
//!
//! Only allocations of at least 1 KiB are: below that are those of the standard library's own
//! bookkeeping (starting a thread, for one), which ends the process where one fails, and which no
//! program can catch with stable Rust. What fails there would fail the program's host as well.
//!
//! A process that ends is what this looks for, so the readings happen in child processes; a child
//! goes from one allocation to the next until it ends, and the next one goes on behind it.

use polyhaul::{ErrorKind, Input, ReadOptions, load};
use polyhaul_testkit::alloc::{self, Failing, fail_at, tell};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::generate;
use polyhaul_testkit::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

const LEAST_BYTES: usize = 1024;
/// A fault that eats all memory must not take the machine with it.
const MOST_BYTES: u64 = 1 << 30;
/// All allocations up to this number are tried, and some of those after it.
const ALL_BELOW: u64 = 300;
/// So many children may die before the test has seen enough.
const MOST_DEATHS: usize = 60;

const CHILD: &str = "POLYHAUL_TEST_OOM_CHILD";
const FIRST: &str = "POLYHAUL_TEST_OOM_FIRST";
const TELL: &str = "POLYHAUL_TEST_OOM_TELL";

/// A scene of all kinds of statements, with a library, names long and short, and warnings.
fn scene(folder: &Folder) -> PathBuf {
    let mut random = Random::new(51);
    let mut text = generate::random(&mut random, 1500);
    generate::grid(200_000, &mut text).unwrap();
    generate::objects(600, &mut text).unwrap();
    let mut more = String::new();
    for index in 0..400 {
        let _ = write!(more, "g group {index}\nusemtl material {index}\nf -1 -2 -3\nnothing\nv nan 0 0 1 1 1\n");
    }
    let long = "n".repeat(3000);
    let _ = write!(more, "o {long}\ng {long}\nusemtl {long}\nmtllib {long}\nf 1 2 3{}\n", " 4".repeat(3000));
    text.extend_from_slice(more.as_bytes());
    text.extend_from_slice(b"\nmtllib x.mtl\n");
    let mut library = String::new();
    for index in 0..400 {
        let _ = write!(library, "newmtl material {index}\nKd 1 1 1\nmap_Kd x.png\nodd {index}\n");
    }
    let _ = write!(library, "newmtl {long}\nmap_Kd {long}\nodd {long}\nKd 1 1 \\\n 1{}\n", " ".repeat(2000));
    folder.file("x.mtl", library).unwrap();
    folder.file("x.obj", text).unwrap()
}

fn options(threads: usize) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options.run.chunk_bytes = Some(16 << 10);
    options
}

/// Tells the parent.
fn say(line: &str) {
    use std::io::Write;
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Lets one allocation after the other fail, and says before each which it is.
fn child(path: &Path, first: u64, threads: usize) {
    alloc::cap(MOST_BYTES);
    let options = options(threads);
    if std::env::var_os(TELL).is_some() {
        tell();
    }
    let mut number = first;
    loop {
        say(&format!("allocation {number}"));
        let input = Input::Path(path.to_path_buf());
        let (result, failed) = fail_at(number, LEAST_BYTES, || load(input, &options));
        if !failed {
            say(&format!("done {number}"));
            return;
        }
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::Memory, "allocation {number}: {error:?}");
        }
        number += if number < ALL_BELOW { 1 } else { 7 + number / 20 };
    }
}

fn run(test: &str, path: &Path, first: u64, tells: bool) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, path).env(FIRST, first.to_string()).env("RUST_BACKTRACE", "0");
    if tells {
        command.env(TELL, "1");
    }
    command.output().unwrap()
}

/// Who asked for the allocation that ends the process; with many threads allocations come in another
/// order each time, so those before it are told as well, and the last is the one.
fn culprit(test: &str, path: &Path, number: u64) -> String {
    let output = run(test, path, number, true);
    if output.status.success() {
        return "somebody who was not there again".to_owned();
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = said.lines().rev().take_while(|line| !line.starts_with("allocation "));
    let line = lines.find_map(|line| line.strip_prefix("asked for by "));
    line.unwrap_or("somebody else").to_owned()
}

/// The test itself where `CHILD` is not set, else a child's part of it.
fn every_allocation(test: &str, threads: usize) {
    if let Some(path) = std::env::var_os(CHILD) {
        let first = std::env::var(FIRST).ok().and_then(|first| first.parse().ok());
        return child(Path::new(&path), first.unwrap_or(0), threads);
    }
    alloc::cap(MOST_BYTES);
    let folder = Folder::new("out-of-memory").unwrap();
    let path = scene(&folder);
    assert!(load(Input::Path(path.clone()), &options(threads)).is_ok());
    let (mut first, mut count) = (0, 0);
    let mut deaths = BTreeMap::new();
    loop {
        let output = run(test, &path, first, false);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            assert!(said.contains("done"), "{said}");
            break;
        }
        let mut lines = said.lines().rev();
        let last = lines.find_map(|line| line.strip_prefix("allocation ")).unwrap_or("0");
        let number: u64 = last.trim().parse().unwrap_or(first);
        deaths.entry(culprit(test, &path, number)).or_insert(number);
        count += 1;
        if count >= MOST_DEATHS {
            break;
        }
        first = number + 1;
    }
    assert!(deaths.is_empty(), "{count} times the process ended, first at these allocations: {deaths:#?}");
}

#[test]
fn with_one_thread() {
    every_allocation("with_one_thread", 1);
}

#[test]
fn with_three_threads() {
    every_allocation("with_three_threads", 3);
}
