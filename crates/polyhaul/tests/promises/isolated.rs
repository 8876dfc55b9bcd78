//! Runs tests in child processes, so that the allocator's counters belong to a single test.

use polyhaul_testkit::alloc;
use std::process::Command;

/// Environment variable with the test that a child process runs.
const CHILD: &str = "POLYHAUL_PROMISES_CHILD";

/// No sample needs more; a fault that takes all memory must not take down the machine.
const MAX_BYTES: u64 = 3 << 30;

/// Prevents glibc from returning freed memory to the kernel. The kernel zeroes fresh pages, which made linear work look
/// four times too slow once results were larger than the memory that glibc keeps by default.
const ALLOCATOR: [&str; 2] =
    ["GLIBC_TUNABLES", "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296:glibc.malloc.arena_max=1"];

/// Runs `work`, the test with this full name, in a child process.
pub fn isolated(test: &str, work: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        alloc::cap(MAX_BYTES);
        return work();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let [variable, tunables] = ALLOCATOR;
    child.args([test, "--exact", "--nocapture"]).env(CHILD, test).env(variable, tunables);
    let output = child.output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{test}: {}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "there is no test {test}:\n{stdout}");
}
