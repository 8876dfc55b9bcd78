//! How much other programs use the cores during a measurement, according to Linux.
//!
//! Elsewhere nothing is known and the machine counts as quiet. Nothing here measures rates, or judges the load: that is
//! [`crate::ceilings::Ceilings::is_quiet`].

/// Seconds that cores worked until now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CoreTime {
    /// All cores of the machine, for all programs; for a virtual machine including the time taken by its host.
    busy: f64,
    /// This process.
    own_process: f64,
    /// The number of cores of the machine.
    cores: usize,
}

/// Ticks of the counters per second: Linux reports them so on every machine.
const TICKS: f64 = 100.0;

/// The time used so far; `None` if the system does not report it.
pub(super) fn now() -> Option<CoreTime> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    if !cfg!(target_os = "linux") {
        return None;
    }
    parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
}

/// How many cores others used between two moments, this many seconds apart, beyond those that a process with
/// `wanted_cores` cores leaves to them.
pub(super) fn others(start: CoreTime, end: CoreTime, seconds: f64, wanted_cores: usize) -> f64 {
    let used = (end.busy - start.busy) - (end.own_process - start.own_process);
    let spare = end.cores.saturating_sub(wanted_cores) as f64;
    if seconds > 0.0 { (used / seconds - spare).max(0.0) } else { 0.0 }
}

/// Reads proc_stat(5) and proc_pid_stat(5).
fn parse(stat: &str, own_stat: &str) -> Option<CoreTime> {
    let is_core =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let ticks: Vec<f64> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // User, nice, system, (idle, waiting for disks,) interrupts of two kinds, and steal time.
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&index| ticks.get(index)).sum();
    // The program's name may contain blanks and brackets.
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
        // Ten seconds on two cores, of which this process had 15 s and others 4 s.
        assert_eq!(others(at(100.0, 5.0, 2), at(119.0, 20.0, 2), 10.0, 2), 0.4);
        // On eight cores, of which it may use two, there is room for the others.
        assert_eq!(others(at(100.0, 5.0, 8), at(119.0, 20.0, 8), 10.0, 2), 0.0);
        assert_eq!(others(at(100.0, 5.0, 2), at(100.0, 5.0, 2), 0.0, 2), 0.0);
    }
}
