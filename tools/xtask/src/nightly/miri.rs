//! The part `miri` of `cargo xtask nightly`: runs tests in Miri, an interpreter that detects undefined behavior, and
//! determines which unsafe blocks they cover.
//!
//! The tests run in a copy of the tree in which each unsafe block of the product first reports itself. The list of
//! unsafe blocks (`tools/xtask/unsafe.toml`) must not claim more. Planted programs with undefined behavior show that
//! Miri detects it.

use crate::faults;
use crate::steps::{Outcome, Tally, Totals, parse_failure, parse_result};
use crate::tidy::unsafe_code::{self, MEASURED};
use crate::{root, term};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Instant;

/// Prefix of the line that an instrumented block prints.
const MARK: &str = "polyhaul-unsafe ";

/// Vector instructions of x86-64, so that the kernels of all levels run, including AVX-512. Miri emulates them on any
/// CPU.
const X86: &str = "+avx2,+bmi1,+bmi2,+lzcnt,+popcnt,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,\
                   +avx512vbmi,+avx512vbmi2,+avx512ifma,+avx512vnni,+avx512vpopcntdq";

/// A run of tests.
struct Job {
    package: &'static str,
    /// Arguments of Cargo that select the test binary.
    binary: &'static [&'static str],
    /// Test name filters, and options of the binary.
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

/// Sorted by decreasing time, because two run at a time. The tests of the C library read and write all formats.
const JOBS: &[Job] = &[
    job("polyhaul-capi", LIB, &["tests::small_meshes"]),
    job("polyhaul-capi", LIB, &["tests::meshes_go", "tests::a_compressed"]),
    // With AVX-512, images use instructions that Miri does not support.
    Job {
        target: AARCH64,
        ..job("polyhaul-capi", LIB, &["tests::images_are", "tests::small_splats", "tests::small_images"])
    },
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
    job("polyhaul-text", ALL, &["rows::cells"]),
    job("polyhaul-text", LIB, &["integers_keep", "numbers_have", "a_text_that", "plain_numbers"]),
    job("polyhaul-pipeline", LIB, &["arrays::", "column", "parallel::"]),
    job("polyhaul-spill", &["--test", "in_memory"], &[]),
    Job {
        target: AARCH64,
        ..job("polyhaul-text", ALL, &["parse_floats::output", "parse_grid::floats", "scan::white"])
    },
];

/// Ignored tests with undefined behavior, and words of Miri's message.
const PLANTED: &[(Job, &str)] = &[
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::overlap"]), "strongly protected"),
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::race"]), "strongly protected"),
    (job("polyhaul-pipeline", LIB, &["--ignored", "planted::unwritten"]), "uninitialized"),
    (job("polyhaul-model", LIB, &["--ignored", "planted::out_of_bounds"]), "does not exist in the borrow stack"),
];

/// Runs the tests, two at a time, and compares the covered blocks with the list.
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
    // Everything is built first: Miri reads build output while it runs, so it must not change.
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

/// Describes missing requirements.
fn missing() -> Option<String> {
    let is_installed = root::succeeds(Command::new("rustup").args(["run", "nightly", "cargo", "miri", "--version"]));
    let sysroot = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let has_source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.toml").is_file();
    let hint = "not installed (rustup toolchain install nightly --component miri --component rust-src)";
    (!is_installed || !has_source).then(|| hint.into())
}

/// Calls Miri in the tree, with a shared target folder.
fn miri(tree: &Path, target: &str) -> Command {
    let mut command = Command::new("rustup");
    // The variables name the toolchain that runs this program.
    root::without_package(command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(tree));
    command.args(["run", "nightly", "cargo", "miri"]);
    let features = if target == X86_64 { format!(" -Ctarget-feature={X86}") } else { String::new() };
    command.env("RUSTFLAGS", format!("--cap-lints=warn{features}"));
    // Tests read files and clocks. No code casts integers to pointers.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-strict-provenance");
    command.env("CARGO_TARGET_DIR", root::target().join("miri/build")).env("CARGO_INCREMENTAL", "0");
    command
}

/// Output of a job.
struct JobResult {
    name: String,
    output: Output,
    /// Reported blocks: paths and numbers.
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

    /// Returns whether Miri detects the undefined behavior of a planted program.
    fn finds(&self, tree: &Path, word: &str, tally: &mut Tally) -> bool {
        let result = self.run(tree);
        let errors = String::from_utf8_lossy(&result.output.stderr);
        let is_found = errors.contains("error: Undefined Behavior") && errors.contains(word);
        faults::count(&format!("Miri finds the planted fault of {}", result.name), is_found, tally)
    }
}

impl JobResult {
    /// Prints and counts test results; returns whether all passed.
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

/// Stores the covered blocks for `cargo xtask unsafe --write`.
fn store(ran: &BTreeSet<String>) -> bool {
    let path = root::target().join(MEASURED);
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let lines: String = ran.iter().map(|line| format!("{line}\n")).collect();
    folder.and_then(|()| std::fs::write(path, lines)).is_ok()
}

/// Returns whether all blocks that the list claims were covered.
fn is_complete(tally: &mut Tally) -> bool {
    let missed = unsafe_code::missed().unwrap_or_else(|error| vec![error]);
    missed.iter().for_each(|line| term::out(format!("{line}\n")));
    faults::count("Miri runs the unsafe blocks that the list names", missed.is_empty(), tally)
}

/// Copies the workspace to `target/miri/tree`, with instrumented unsafe blocks. Unchanged files keep their modification
/// times, to avoid recompilation.
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

/// Instruments a file: unsafe blocks print a line when they first run. Line numbers do not change.
fn marked(path: &str, text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut copied = 0;
    for (number, block) in unsafe_code::blocks_of(path, text).iter().enumerate() {
        // Constant evaluation cannot print.
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
