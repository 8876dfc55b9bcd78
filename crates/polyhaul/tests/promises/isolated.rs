//! Work in a process of its own: the counters of the allocator then belong to it alone.

use polyhaul_testkit::alloc;
use std::process::Command;

/// The test that the process runs, if it was started by another one.
const CHILD: &str = "POLYHAUL_PROMISES_CHILD";

/// No sample needs more; a fault that takes all memory must not take down the machine.
const MAX_BYTES: u64 = 3 << 30;

/// Runs `work`, the test with this full name, in a process of its own.
pub fn isolated(test: &str, work: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        alloc::cap(MAX_BYTES);
        return work();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args([test, "--exact", "--nocapture"]).env(CHILD, test).output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{test}: {}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "there is no test {test}:\n{stdout}");
}
