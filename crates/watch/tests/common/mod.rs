//! Compiles the programs in C that the tests watch.

use polyhaul_watch::preload;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/NAME.c`. Returns `None`, with a note on standard error, without a compiler or a recorder.
pub fn compiled(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.c"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-pthread", "-w", "-o"]).arg(&target).arg(source);
    let is_compiled = compile.status().is_ok_and(|status| status.success()) && preload::is_available();
    if !is_compiled {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no C compiler");
    }
    is_compiled.then_some(target)
}
