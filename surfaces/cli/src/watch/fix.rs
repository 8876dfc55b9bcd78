//! Tells what `polyhaul watch --fix` achieved: the times of both runs, and what was answered from memory.
//!
//! `recorder/cure.c` of `polyhaul-watch` answers. `linux` runs the program twice.

use crate::human;
use polyhaul_watch::cure::{AsideReason, CuredFile};
use polyhaul_watch::report::Watched;
use polyhaul_watch::trace::{End, Seen};
use serde::Serialize;
use std::fmt::Write;

/// The second run beside the first.
#[derive(Serialize)]
pub struct Fixed {
    /// Seconds of the first run.
    seconds_before: f64,
    /// Seconds of the second run.
    seconds_after: f64,
    /// Exit code or signal of the second run, if it is another one.
    other_end: Option<String>,
    /// What was answered, by file.
    files: Vec<CuredFile>,
}

impl Fixed {
    /// Compares a run with small reads answered with one without.
    pub fn new(before: &Watched, after: Seen) -> Fixed {
        let (end, is_other) = match after.end {
            End::Code(code) => (format!("exit code {code}"), before.exit_code != Some(code)),
            End::Signal(signal) => (format!("signal {signal}"), before.signal != Some(signal)),
        };
        let seconds_after = after.run_ns as f64 / 1e9;
        let other_end = is_other.then_some(end);
        Fixed { seconds_before: before.run_seconds, seconds_after, other_end, files: after.cures }
    }
}

/// Formats the comparison; `None` if no file needed the cure.
pub fn text(fixed: Option<&Fixed>) -> String {
    let Some(fixed) = fixed else { return "\nnothing to fix: no file was read in many small calls\n".into() };
    let [before, after] = [fixed.seconds_before, fixed.seconds_after];
    let mut text = format!(
        "\nfixed: {} instead of {}, {:.1}× faster (both recorded)\n",
        human::seconds(after),
        human::seconds(before),
        before / after.max(1e-9)
    );
    if let Some(end) = &fixed.other_end {
        let _ = writeln!(text, "  the second run ended differently: {end}");
    }
    for CuredFile { file, answered, bytes, asides } in &fixed.files {
        let calls = human::plural(*answered, "read or seek").replace("read or seeks", "reads and seeks");
        let moved = human::bytes(*bytes);
        let _ = writeln!(text, "  {}: {calls} ({moved}) answered from memory", human::safe(file));
        for aside in asides {
            let times = if aside.times > 1 { format!(" ({} times)", human::count(aside.times)) } else { String::new() };
            let _ = writeln!(text, "    stopped{times}: {}", reason(aside.reason));
        }
    }
    text
}

fn reason(reason: AsideReason) -> &'static str {
    match reason {
        AsideReason::Shared => "another process may use its position",
        AsideReason::Written => "it is also opened for writing",
        AsideReason::Changed => "another program changed it",
        AsideReason::Controlled => "a call needs its position in the kernel",
        AsideReason::FileSystem => "its file system may change it without a call",
        AsideReason::Crowded => "over 32 files are read at a time",
        AsideReason::Unseen => "the program can make calls that are not seen",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_watch::cure::Aside;

    #[test]
    fn both_runs_are_told() {
        let asides =
            vec![Aside { reason: AsideReason::Shared, times: 2 }, Aside { reason: AsideReason::Written, times: 1 }];
        let file = CuredFile { file: "part.tga".into(), answered: 786_419, bytes: 786_432, asides };
        let other_end = Some("signal 11".into());
        let fixed = Fixed { seconds_before: 0.3, seconds_after: 0.03, other_end, files: vec![file] };
        let expected = "\nfixed: 30.0 ms instead of 0.30 s, 10.0× faster (both recorded)\n  \
                        the second run ended differently: signal 11\n  \
                        part.tga: 786,419 reads and seeks (786.4 kB) answered from memory\n    \
                        stopped (2 times): another process may use its position\n    \
                        stopped: it is also opened for writing\n";
        assert_eq!(text(Some(&fixed)), expected);
        assert!(text(None).contains("nothing to fix"));
    }
}
