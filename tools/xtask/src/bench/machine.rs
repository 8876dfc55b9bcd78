//! Describes the machine and date of a record; never includes a host name.

use super::build::{Tools, output_of};
use crate::root;
use serde::Serialize;
use std::process::Command;

/// Machine and date of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Machine {
    /// CPU model, as reported by the system.
    pub(super) cpu: String,
    /// Number of available cores.
    pub(super) cores: u64,
    /// Instruction set that polyhaul uses.
    pub(super) level: String,
    pub(super) memory_gib: u64,
    pub(super) kernel: String,
    pub(super) rustc: String,
    /// Revision of polyhaul.
    pub(super) revision: String,
    /// Whether measurements ran in the real-time class.
    pub(super) real_time: bool,
    /// Year, month and day, UTC.
    #[serde(skip)]
    pub(super) date: String,
}

impl Machine {
    /// Describes this machine, today.
    pub(super) fn this(tools: &Tools) -> Machine {
        let unknown = || String::from("unknown");
        let level = [&tools.prefix[..], &[tools.programs["bench"].clone().into(), "level".into()]].concat();
        let mut revision = Command::new("git");
        revision.args(["describe", "--always", "--dirty"]).current_dir(root::root());
        Machine {
            cpu: system_value("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
            level: super::runs::output(&level).map_or_else(|_| unknown(), |text| text.trim().into()),
            memory_gib: memory_gib(),
            kernel: output_of(Command::new("uname").args(["-s", "-r", "-m"])).unwrap_or_else(unknown),
            rustc: output_of(Command::new("rustc").arg("--version")).unwrap_or_else(unknown),
            revision: output_of(&mut revision).unwrap_or_else(unknown),
            real_time: tools.prefix.iter().any(|word| word == "chrt"),
            date: output_of(Command::new("date").args(["-u", "+%F"])).unwrap_or_else(unknown),
        }
    }

    /// Returns a part of file names: the CPU in lower-case words, and the number of cores.
    pub(super) fn slug(&self) -> String {
        let cpu = self.cpu.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
        let words = cpu.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !["", "cpu", "processor"].contains(word)).collect();
        format!("{}-{}-cores", words.join("-"), self.cores)
    }
}

/// Returns the value of `key` in a Linux file of `key : value` lines.
fn system_value(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// Returns the memory of this machine, rounded to whole GiB, or 0 if it is unknown.
fn memory_gib() -> u64 {
    let kibibytes = system_value("/proc/meminfo", "MemTotal")
        .and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok());
    (kibibytes.unwrap_or(0) + (1 << 19)) >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_name_for_files() {
        let machine = Machine { cpu: "Intel(R) Xeon(R) CPU @ 2.60GHz".into(), cores: 2, ..Machine::default() };
        assert_eq!(machine.slug(), "intel-xeon-2-60ghz-2-cores");
    }
}
