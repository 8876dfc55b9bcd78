//! What reading and writing STL must reach: what a user of the fastest peer would ask for.

use super::super::plan::{LIMIT_MEMORY, LIMIT_WRITE, NUMPY_STL, ONE_THREAD, STL_IO, TWO_THREADS};
use super::{
    BUDGET_BYTES, Bound, Outcome, PROGRAM_BYTES, Row, Verdict, counts, faster, memory, over, ratio, same_bytes,
};

fn rows(outcome: &Outcome) -> impl Iterator<Item = &Row> {
    [ONE_THREAD, TWO_THREADS].into_iter().filter_map(|name| outcome.row(name))
}

fn against(outcome: &Outcome, theirs: &str, least: f64) -> Verdict {
    faster(outcome, &format!("{TWO_THREADS}: speed against {theirs}"), [TWO_THREADS, theirs], least)
}

fn at_most(outcome: &Outcome, what: &str, limit: &str, most: f64) -> Verdict {
    let what = format!("{}, {TWO_THREADS}: time against {what}", outcome.group.key);
    ratio(what, over(outcome, TWO_THREADS, limit), Bound::AtMost(most))
}

pub(super) fn reading(outcome: &Outcome) -> Vec<Verdict> {
    let key = outcome.group.key;
    let mut verdicts = match key {
        "read stl binary" => vec![
            at_most(outcome, "reading into fresh memory", LIMIT_MEMORY, 1.6),
            against(outcome, STL_IO, 4.0),
            against(outcome, NUMPY_STL, 1.2),
        ],
        _ => vec![against(outcome, STL_IO, 8.0), against(outcome, NUMPY_STL, 8.0)],
    };
    for row in rows(outcome) {
        verdicts.push(memory(key, row, BUDGET_BYTES + PROGRAM_BYTES));
        verdicts.push(counts(outcome, row));
    }
    verdicts
}

pub(super) fn writing(outcome: &Outcome) -> Vec<Verdict> {
    let key = outcome.group.key;
    let is_binary = key == "write stl binary";
    let speed = is_binary.then(|| at_most(outcome, "plain write", LIMIT_WRITE, 2.0));
    let own = rows(outcome);
    let rest = own.flat_map(|row| [memory(key, row, BUDGET_BYTES + PROGRAM_BYTES), same_bytes(key, row)]);
    speed.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::group;
    use super::super::super::runs::tests::row;
    use super::*;

    #[test]
    fn demands_are_judged() {
        let rows = vec![
            row(LIMIT_MEMORY, &[0.1], 1, 0),
            row(STL_IO, &[0.7], 1, 0),
            row(LIMIT_WRITE, &[0.2], 1, 0),
            row(TWO_THREADS, &[0.17], 90 << 20, 5 << 20),
        ];
        let met = |verdicts: Vec<Verdict>| verdicts.iter().map(|verdict| verdict.met).collect::<Vec<_>>();
        let [yes, no] = [Some(true), Some(false)];
        let mut outcome = Outcome { group: group("read stl binary"), rows };
        // Time, stl_io, numpy-stl, which was not there; memory and counts.
        assert_eq!(met(reading(&outcome)), [no, yes, None, no, yes]);
        outcome.group.key = "read stl ascii";
        assert_eq!(met(reading(&outcome))[..2], [no, None]);
        outcome.group.key = "write stl binary";
        assert_eq!(met(writing(&outcome))[0], yes);
    }
}
