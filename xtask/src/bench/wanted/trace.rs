//! What tracing may cost.

use super::{Bound, Verdict, all_right, kernels_over, ratio};
use crate::bench::runs::Kernel;

/// What the groups of traces begin with.
pub(super) const GROUPS: &str = "trace: ";

/// Totals, which the command always has, and spans beside no trace: at most these shares more.
const DEMANDS: [(&str, f64); 2] = [("totals", 1.01), ("spans", 1.03)];

/// What asking whether anybody traces may take of a job that nobody traces.
const ASKING: f64 = 0.01;

pub(super) fn costs(kernels: &[Kernel]) -> Vec<Verdict> {
    let groups = kernels.chunk_by(|a, b| a.group == b.group).filter_map(|of_one| of_one.first());
    let demand = |group: &str, (what, most): (&str, f64)| {
        let got = kernels_over(kernels, group, what, "no trace");
        ratio(format!("{group}: time with {what} against none"), got, Bound::AtMost(most))
    };
    let asking = |group: &str| {
        let got = kernels_over(kernels, group, "asking", "no trace");
        ratio(format!("{group}: share of asking whether anybody traces"), got, Bound::AtMost(ASKING))
    };
    let of_group = |first: &Kernel| {
        let asking = asking(&first.group);
        DEMANDS.map(|it| demand(&first.group, it)).into_iter().chain([asking])
    };
    let costs = groups.flat_map(of_group);
    costs.chain([all_right("trace: as many bytes with and without", kernels)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_judged_by_group() {
        let kernel = |group: &str, name: &str, ns: f64| Kernel {
            group: group.into(),
            name: name.into(),
            ns,
            median_ns: ns,
            agrees: "yes".into(),
        };
        let cheap = [("no trace", 100.0), ("totals", 100.0), ("spans", 100.0), ("asking", 0.9)];
        let dear = [("no trace", 100.0), ("totals", 100.9), ("spans", 104.0), ("asking", 1.1)];
        let [cheap, dear] = [("trace: read", cheap), ("trace: write", dear)]
            .map(|(group, all)| all.map(|(name, ns)| kernel(group, name, ns)));
        let met: Vec<_> = costs(&[cheap, dear].concat()).iter().map(|it| it.met.unwrap()).collect();
        assert_eq!(met, [true, true, true, true, false, false, true]);
    }
}
