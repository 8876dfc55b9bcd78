//! Measures the CPU load of other programs, on Linux only.
//!
//! On other systems the load is unknown and the machine counts as quiet. Rates are measured elsewhere, and
//! [`crate::ceilings::Ceilings::is_quiet`] evaluates the load.

/// CPU seconds used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CoreTime {
    /// By all programs on all cores; on virtual machines including steal time.
    busy: f64,
    /// By this process.
    own_process: f64,
    /// Number of cores of the machine.
    cores: usize,
}

/// Counter ticks per second: 100 on every Linux machine.
const TICKS: f64 = 100.0;

/// CPU time used so far, or `None` if the system does not report it.
pub(super) fn now() -> Option<CoreTime> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    if !cfg!(target_os = "linux") {
        return None;
    }
    parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
}

/// Cores used by other programs between two moments `seconds` apart, beyond the cores that a process with
/// `wanted_cores` cores leaves free.
pub(super) fn others(start: CoreTime, end: CoreTime, seconds: f64, wanted_cores: usize) -> f64 {
    let used = (end.busy - start.busy) - (end.own_process - start.own_process);
    let spare = end.cores.saturating_sub(wanted_cores) as f64;
    if seconds > 0.0 { (used / seconds - spare).max(0.0) } else { 0.0 }
}

/// Parses proc_stat(5) and proc_pid_stat(5).
fn parse(stat: &str, own_stat: &str) -> Option<CoreTime> {
    let is_core =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let ticks: Vec<f64> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // User, nice, system, (idle, iowait,) irq, softirq, and steal time.
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&index| ticks.get(index)).sum();
    // The program name may contain spaces and parentheses.
    let fields = own_stat.rsplit_once(')')?.1.split_whitespace();
    let mut fields = fields.skip(11).map_while(|field| field.parse::<f64>().ok());
    let user = fields.next()?;
    let system = fields.next()?;
    let cores = stat.lines().filter(is_core).count();
    (ticks.len() >= 4).then_some(CoreTime { busy: busy / TICKS, own_process: (user + system) / TICKS, cores })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  1000 100 300 90000 50 10 20 70 5 0\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 5 6\ncpufreq 7\n";
    const OWN: &str = "42 (a (b) c) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 3\n";

    #[test]
    fn counters_are_read_whatever_the_program_is_called() {
        assert_eq!(parse(STAT, OWN), Some(CoreTime { busy: 15.0, own_process: 3.0, cores: 2 }));
        for (stat, own_stat) in [("", OWN), ("cpu  1 2\n", OWN), ("cpu x\n", OWN), (STAT, ""), (STAT, "1 (a) R 1 2")] {
            assert_eq!(parse(stat, own_stat), None, "{stat} {own_stat}");
        }
        assert!(cfg!(not(target_os = "linux")) || now().is_some_and(|time| time.cores > 0));
    }

    #[test]
    fn others_are_what_is_neither_ours_nor_spare() {
        let at = |busy, own_process, cores| CoreTime { busy, own_process, cores };
        // Ten seconds on two cores: 15 s used by this process and 4 s by others.
        assert_eq!(others(at(100.0, 5.0, 2), at(119.0, 20.0, 2), 10.0, 2), 0.4);
        // On eight cores, of which the process may use two, the others have enough.
        assert_eq!(others(at(100.0, 5.0, 8), at(119.0, 20.0, 8), 10.0, 2), 0.0);
        assert_eq!(others(at(100.0, 5.0, 2), at(100.0, 5.0, 2), 0.0, 2), 0.0);
    }
}
