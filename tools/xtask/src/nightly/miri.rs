//! The part `miri` of `cargo xtask nightly`: tests inside Miri, an interpreter that finds undefined behavior, and which
//! unsafe blocks they run.
//!
//! The tests run in a copy of the tree where each unsafe block of the product first says that it is run. The list of
//! unsafe blocks (`tools/xtask/unsafe.toml`) must not name more. Programs with undefined behavior on purpose show that
//! Miri would have found it.

use crate::faults;
use crate::steps::{Outcome, Tally, Totals, parse_failure, parse_result};
use crate::tidy::unsafe_code::{self, MEASURED};
use crate::{root, term};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Instant;

/// What a line of a marked block starts with.
const MARK: &str = "polyhaul-unsafe ";

/// Vector instructions of x86-64, so that the kernels for AVX-512 are run as well as those for other levels. Miri
/// does not look at the CPU.
const X86: &str = "+avx2,+bmi1,+bmi2,+lzcnt,+popcnt,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,\
                   +avx512vbmi,+avx512vbmi2,+avx512ifma,+avx512vnni,+avx512vpopcntdq";

/// A run of tests.
struct Job {
    package: &'static str,
    /// Which program of the package.
    binary: &'static [&'static str],
    /// Words in the names of the tests, and options of the program.
    args: &'static [&'static str],
    target: &'static str,
}

const X86_64: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-linux-gnu";

const LIB: &[&str] = &["--lib"];
const ALL: &[&str] = &["--test", "all"];

const fn job(package: &'static str, binary: &'static [&'static str], args: &'static [&'static str]) -> Job {
    Job { package, binary, args, target: X86_64 }
}

/// The longest ones first, because two run at a time. Those of the C library read and write files of all formats.
const JOBS: &[Job] = &[
    job("polyhaul-capi", LIB, &["tests::meshes_go", "tests::a_compressed", "tests::small_meshes"]),
    job("polyhaul-capi", LIB, &["tests::images_are", "tests::small_splats", "tests::small_images"]),
    job(
        "polyhaul-capi",
        LIB,
        &["tests::wrong", "tests::scenes_are", "tests::hosts_read", "tests::tables_are", "a_pool"],
    ),
    job(
        "polyhaul-text",
        ALL,
        &["parse_floats::plain", "parse_floats::output", "parse_floats::an_index", "parse_facets::only"],
    ),
    job("polyhaul-text", ALL, &["parse_faces::output", "parse_faces::tokens", "parse_faces::long", "scan::lines"]),
    job(
        "polyhaul-text",
        ALL,
        &["format_lines::index", "format_lines::no_line", "format_shortest::numbers", "format_page::"],
    ),
    job(
        "polyhaul-text",
        ALL,
        &["rows::a_format", "rows::limits", "rows::named", "rows::blocks", "format_lines::lines_equal"],
    ),
    job(
        "polyhaul-text",
        ALL,
        &["parse_tokens::runs", "parse_tokens::long_rows", "parse_tokens::rows_in", "parse_grid::floats"],
    ),
    job("polyhaul-text", ALL, &["parse_fields::ranges", "parse_fields::lines", "parse_positions::"]),
    job("polyhaul-text", LIB, &["integers_keep", "numbers_have", "a_text_that", "plain_numbers"]),
    job("polyhaul-pipeline", LIB, &["arrays::", "column", "parallel::"]),
    job("polyhaul-spill", &["--test", "in_memory"], &[]),
    Job {
        target: AARCH64,
        ..job("polyhaul-text", ALL, &["parse_floats::output", "parse_grid::floats", "scan::white"])
    },
];

/// Programs with undefined behavior, as tests that are run on request, and words of Miri's message.
const PLANTED: &[(Job, &str)] = &[
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::overlap"]), "strongly protected"),
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::race"]), "strongly protected"),
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::unwritten"]), "uninitialized"),
    (job("polyhaul-model", LIB, &["--ignored", "planted::out_of_bounds"]), "does not exist in the borrow stack"),
];

/// Runs the tests, two at a time, and compares the blocks that they ran with the list.
pub(super) fn step(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let tree = match marked_tree() {
        Ok(tree) => tree,
        Err(error) => {
            term::err(format!("a copy of the tree: {error}\n"));
            return Outcome::Failed;
        }
    };
    // Miri reads what was compiled while it runs, so that nothing may be compiled then.
    let jobs = || JOBS.iter().chain(PLANTED.iter().map(|(job, _)| job));
    if !jobs().all(|job| root::runs(job.command(&tree).arg("--no-run"))) {
        return Outcome::Failed;
    }
    let queue = Mutex::new(JOBS.iter());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(job) = next(&queue) {
                    let result = job.run(&tree);
                    results.lock().expect("no thread panics").push(result);
                }
            });
        }
    });
    let mut is_ok = true;
    let mut ran = BTreeSet::new();
    for result in results.into_inner().expect("no thread panics") {
        is_ok &= result.count(tally);
        ran.extend(result.ran);
    }
    is_ok &= PLANTED.iter().all(|(job, word)| job.finds(&tree, word, tally));
    Outcome::of(store(&ran) && is_ok && is_complete(tally))
}

fn next(queue: &Mutex<std::slice::Iter<'static, Job>>) -> Option<&'static Job> {
    queue.lock().expect("no thread panics").next()
}

/// Says what is not installed.
fn missing() -> Option<String> {
    let is_installed = root::succeeds(Command::new("rustup").args(["run", "nightly", "cargo", "miri", "--version"]));
    let sysroot = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let has_source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.toml").is_file();
    let hint = "not installed (rustup toolchain install nightly --component miri --component rust-src)";
    (!is_installed || !has_source).then(|| hint.into())
}

/// A call of Miri in the tree, with one folder for all that is built.
fn miri(tree: &Path, target: &str) -> Command {
    let mut command = Command::new("rustup");
    // The variables name the toolchain that runs this program.
    root::without_package(command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(tree));
    command.args(["run", "nightly", "cargo", "miri"]);
    let features = if target == X86_64 { format!(" -Ctarget-feature={X86}") } else { String::new() };
    command.env("RUSTFLAGS", format!("--cap-lints=warn{features}"));
    // Tests read files and clocks. Nothing here makes pointers of numbers.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-strict-provenance");
    command.env("CARGO_TARGET_DIR", root::target().join("miri/build")).env("CARGO_INCREMENTAL", "0");
    command
}

/// What a job printed.
struct JobResult {
    name: String,
    output: Output,
    /// The marks: paths and numbers of blocks.
    ran: Vec<String>,
}

impl Job {
    fn command(&self, tree: &Path) -> Command {
        let mut command = miri(tree, self.target);
        command.args(["test", "--quiet", "--target", self.target, "--package", self.package]).args(self.binary);
        command
    }

    fn run(&self, tree: &Path) -> JobResult {
        let start = Instant::now();
        let output = self.command(tree).arg("--").args(self.args).output().expect("cargo starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        let ran = errors.lines().filter_map(|line| line.strip_prefix(MARK)).map(String::from).collect();
        let name = format!("{} {} {} on {}", self.package, self.binary.join(" "), self.args.join(" "), self.target);
        term::out(format!("{name}: {:.0} s\n", start.elapsed().as_secs_f64()));
        JobResult { name, ran, output }
    }

    /// Whether Miri stops at the undefined behavior of a planted program.
    fn finds(&self, tree: &Path, word: &str, tally: &mut Tally) -> bool {
        let result = self.run(tree);
        let errors = String::from_utf8_lossy(&result.output.stderr);
        let is_found = errors.contains("error: Undefined Behavior") && errors.contains(word);
        faults::count(&format!("Miri finds the planted fault of {}", result.name), is_found, tally)
    }
}

impl JobResult {
    /// Prints and counts the results of tests; whether all passed.
    fn count(&self, tally: &mut Tally) -> bool {
        let is_ok = self.output.status.success();
        let text = String::from_utf8_lossy(&self.output.stdout);
        let errors = String::from_utf8_lossy(&self.output.stderr);
        for line in text.lines().filter(|line| !is_ok || line.starts_with("test result")) {
            term::out(format!("{}: {line}\n", self.name));
        }
        for line in errors.lines().filter(|line| !is_ok && !line.starts_with(MARK)) {
            term::err(format!("{line}\n"));
        }
        let mut totals = Totals::default();
        text.lines().filter_map(parse_result).for_each(|result| totals.add(result));
        totals.failed = totals.failed.max(u64::from(!is_ok));
        tally.totals.add(totals);
        tally.failures.extend(text.lines().filter_map(parse_failure));
        is_ok
    }
}

/// Stores which blocks ran, for `cargo xtask unsafe --write`.
fn store(ran: &BTreeSet<String>) -> bool {
    let path = root::target().join(MEASURED);
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let lines: String = ran.iter().map(|line| format!("{line}\n")).collect();
    folder.and_then(|()| std::fs::write(path, lines)).is_ok()
}

/// Whether all blocks ran that the list names.
fn is_complete(tally: &mut Tally) -> bool {
    let missed = unsafe_code::missed().unwrap_or_else(|error| vec![error]);
    missed.iter().for_each(|line| term::out(format!("{line}\n")));
    faults::count("Miri runs the unsafe blocks that the list names", missed.is_empty(), tally)
}

/// Copies the workspace to `target/miri/tree`, with a mark in each unsafe block. Unchanged files keep their times, so
/// that nothing is compiled again.
fn marked_tree() -> std::io::Result<PathBuf> {
    let tree = root::target().join("miri/tree");
    let root = root::root();
    let places =
        ["Cargo.toml", "Cargo.lock", ".cargo", "crates", "surfaces", "tools/testkit", "tools/models", "tools/xtask"];
    let listing = ["ls-files", "-co", "--exclude-standard", "--"];
    let files = root::output(Command::new("git").current_dir(&root).args(listing).args(places));
    let files = files.ok_or_else(|| std::io::Error::other("git cannot list the files"))?;
    for path in files.lines().filter(|path| root.join(path).is_file()) {
        let bytes = std::fs::read(root.join(path))?;
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => marked(path, &text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let copy = tree.join(path);
        if std::fs::read(&copy).ok().as_ref() != Some(&bytes) {
            std::fs::create_dir_all(copy.parent().unwrap_or(&tree))?;
            std::fs::write(copy, bytes)?;
        }
    }
    let data = tree.join("testdata");
    #[cfg(unix)]
    if !data.exists() {
        std::os::unix::fs::symlink(root.join("testdata"), data)?;
    }
    Ok(tree)
}

/// A file whose unsafe blocks print a line when they are run for the first time. Lines keep their numbers.
fn marked(path: &str, text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut copied = 0;
    for (number, block) in unsafe_code::blocks_of(path, text).iter().enumerate() {
        // The compiler cannot print.
        if !block.is_constant {
            marked += &text[copied..block.inside];
            marked += &mark(path, number);
            copied = block.inside;
        }
    }
    marked + &text[copied..]
}

fn mark(path: &str, number: usize) -> String {
    format!(
        " #[allow(unused_unsafe)] {{ \
         use ::core::sync::atomic::{{AtomicBool, Ordering}}; \
         static RAN: AtomicBool = AtomicBool::new(false); \
         unsafe extern \"Rust\" {{ fn miri_write_to_stderr(bytes: &[u8]); }} \
         if !RAN.load(Ordering::Relaxed) {{ \
         RAN.store(true, Ordering::Relaxed); \
         unsafe {{ miri_write_to_stderr(b\"{MARK}{path} {number}\\n\") }} }} }} "
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_marked_in_place() {
        let text = "const A: u8 = unsafe { b() };\nfn c() {\n    unsafe { d() }\n}\n";
        let marked = marked("crates/a/src/b.rs", text);
        let [before, after] = ["fn c() {\n    unsafe {", " d() }\n}\n"];
        assert!(marked.starts_with("const A: u8 = unsafe { b() };\n") && marked.ends_with(after));
        assert!(marked.contains(before) && marked.contains("polyhaul-unsafe crates/a/src/b.rs 1\\n"));
        assert_eq!(marked.lines().count(), text.lines().count());
        assert_eq!(super::marked("crates/a/tests/b.rs", text), text);
    }
}
