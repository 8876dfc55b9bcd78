//! The machine and the day, as far as a record needs them; never a host name.

use super::build::{Tools, output_of};
use crate::root;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where and when was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Machine {
    /// The CPU's model as the system calls it.
    pub(super) cpu: String,
    /// Cores that may be used.
    pub(super) cores: u64,
    /// The instructions that polyhaul uses there.
    pub(super) level: String,
    pub(super) memory_gib: u64,
    pub(super) kernel: String,
    pub(super) rustc: String,
    /// What of polyhaul was measured.
    pub(super) revision: String,
    /// Whether measurements ran in the real-time class.
    pub(super) real_time: bool,
    /// Year, month and day, UTC.
    pub(super) date: String,
}

impl Machine {
    /// This machine, today.
    pub(super) fn this(tools: &Tools) -> Machine {
        let unknown = || String::from("unknown");
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut revision = Command::new("git");
        revision.args(["describe", "--always", "--dirty"]).current_dir(root::root());
        Machine {
            cpu: system_value("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
            level: output_of(Command::new(&tools.bench).arg("level")).unwrap_or_else(unknown),
            memory_gib: memory_gib(),
            kernel: output_of(Command::new("uname").args(["-s", "-r", "-m"])).unwrap_or_else(unknown),
            rustc: output_of(Command::new("rustc").arg("--version")).unwrap_or_else(unknown),
            revision: output_of(&mut revision).unwrap_or_else(unknown),
            real_time: !tools.prefix.is_empty(),
            date: date(seconds / 86_400),
        }
    }

    /// A name for files: the CPU in lower-case words, and the cores.
    pub(super) fn slug(&self) -> String {
        let cpu = self.cpu.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
        let words = cpu.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !["", "cpu", "processor"].contains(word)).collect();
        format!("{}-{}-cores", words.join("-"), self.cores)
    }
}

/// The value behind `key` in one of Linux's tables of `key : value` lines.
fn system_value(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// Rounded to whole GiB.
fn memory_gib() -> u64 {
    let kibibytes = system_value("/proc/meminfo", "MemTotal")
        .and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok());
    (kibibytes.unwrap_or(0) + (1 << 19)) >> 20
}

/// Year, month and day of a number of days since 1970.
fn date(days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut day) = (1970, days);
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let wanted =
            [(0, "1970-01-01"), (58, "1970-02-28"), (789, "1972-02-29"), (790, "1972-03-01"), (20_777, "2026-11-20")];
        for (days, text) in wanted {
            assert_eq!(date(days), text);
        }
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_453), "2025-12-31");
    }

    #[test]
    fn a_machine_has_a_name_for_files() {
        let machine = Machine { cpu: "Intel(R) Xeon(R) CPU @ 2.60GHz".into(), cores: 2, ..Machine::default() };
        assert_eq!(machine.slug(), "intel-xeon-2-60ghz-2-cores");
    }
}
