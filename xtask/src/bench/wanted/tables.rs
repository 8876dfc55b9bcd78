//! What text of numbers must reach. Peers are held against as many threads as they had.

use super::super::plan::{ARRAYS, NUMPY, ONE_THREAD, POLARS, TWO_THREADS};
use super::{Outcome, Verdict, counts, faster, same_bytes};

const OURS: [&str; 2] = [ONE_THREAD, TWO_THREADS];

/// The bytes of the input are numpy's: its own row says so too.
pub(super) fn writing(outcome: &Outcome) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (ours, polars) in OURS.into_iter().zip(POLARS) {
        verdicts.push(against(outcome, ours, NUMPY, 60.0));
        verdicts.push(against(outcome, ours, polars, 8.0));
    }
    let rows = [ONE_THREAD, TWO_THREADS, NUMPY].into_iter().filter_map(|name| outcome.row(name));
    verdicts.extend(rows.map(|row| same_bytes(outcome.group.key, row)));
    verdicts
}

pub(super) fn reading(outcome: &Outcome) -> Vec<Verdict> {
    let ours = [OURS].into_iter().chain(ARRAYS).flatten();
    let pairs = ours.clone().zip(POLARS.into_iter().cycle());
    let mut verdicts: Vec<Verdict> = pairs.map(|(ours, polars)| against(outcome, ours, polars, 6.0)).collect();
    verdicts.extend(ours.filter_map(|name| outcome.row(name)).map(|row| counts(outcome, row)));
    verdicts
}

fn against(outcome: &Outcome, ours: &str, theirs: &str, least: f64) -> Verdict {
    faster(outcome, &format!("{ours}: speed against {theirs}"), [ours, theirs], least)
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::group;
    use super::super::super::runs::tests::row;
    use super::*;

    #[test]
    fn threads_are_equal() {
        let one = |name, seconds| row(name, &[seconds], 1, 0);
        let rows = vec![one(NUMPY, 6.0), one(POLARS[0], 0.9), one(POLARS[1], 0.4), one(TWO_THREADS, 0.1)];
        let outcome = Outcome { group: group("write table"), rows };
        let met: Vec<Option<bool>> = writing(&outcome).iter().map(|verdict| verdict.met).collect();
        let [yes, no] = [Some(true), Some(false)];
        // Nobody had one thread; 60 times numpy, 4 times polars; the bytes of both.
        assert_eq!(met, [None, None, yes, no, yes, yes]);
        let met: Vec<Option<bool>> = reading(&outcome).iter().map(|verdict| verdict.met).collect();
        assert_eq!(met, [None, no, None, None, None, None, yes]);
    }
}
