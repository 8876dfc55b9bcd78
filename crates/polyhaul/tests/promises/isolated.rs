//! Work in a process of its own: the counters of the allocator then belong to it alone.

use polyhaul_testkit::alloc;
use std::process::Command;

/// The test that the process runs, if it was started by another one.
const CHILD: &str = "POLYHAUL_PROMISES_CHILD";

/// No sample needs more; a fault that takes all memory must not take down the machine.
const MAX_BYTES: u64 = 3 << 30;

/// Where the C library is glibc, freed memory is not given back to the kernel: it zeroes fresh pages, which made linear
/// work look four times too slow once results were larger than what is kept by default.
const ALLOCATOR: [&str; 2] =
    ["GLIBC_TUNABLES", "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296:glibc.malloc.arena_max=1"];

/// Runs `work`, the test with this full name, in a process of its own.
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
