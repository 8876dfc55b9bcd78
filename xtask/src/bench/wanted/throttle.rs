//! How exact throttles are to be.

use super::Verdict;
use crate::bench::runs::Kernel;

/// What the groups of throttles begin with.
pub(super) const GROUPS: &str = "throttle: ";

/// The share by which the middle round may be off the rate.
const MOST_OFF: f64 = 0.05;

pub(super) fn exact(kernels: &[Kernel]) -> Vec<Verdict> {
    let groups = kernels.chunk_by(|a, b| a.group == b.group);
    groups.flat_map(|group| group.iter().filter(|it| it.name != "rate").map(|it| demand(group, it))).collect()
}

fn demand(group: &[Kernel], kernel: &Kernel) -> Verdict {
    let rate = group.iter().find(|it| it.name == "rate");
    let off = rate.map(|rate| kernel.median_ns / rate.ns - 1.0);
    Verdict {
        what: format!("{}, {}: off the rate", kernel.group, kernel.name),
        wanted: format!("within {:.0} %", 100.0 * MOST_OFF),
        got: off.map_or("-".into(), |off| format!("{:+.1} %", 100.0 * off)),
        met: off.map(|off| off.abs() <= MOST_OFF),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_judged_both_ways() {
        let kernel = |name: &str, median_ns: f64| Kernel {
            group: "throttle: 10 MB/s".into(),
            name: name.into(),
            ns: median_ns,
            median_ns,
            agrees: "yes".into(),
        };
        let of = |names: &[(&str, f64)]| {
            let kernels: Vec<_> = names.iter().map(|(name, ns)| kernel(name, *ns)).collect();
            exact(&kernels).iter().map(|it| it.met).collect::<Vec<_>>()
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(of(&[("rate", 100.0), ("read", 104.9), ("written", 94.9), ("more", 106.0)]), [yes, no, no]);
        assert_eq!(of(&[("read", 100.0)]), [None]);
    }
}
