//! What reading and writing PLY must reach.

use super::super::plan::{
    LIMIT_COPY, LIMIT_MEMORY, ONE_THREAD, OPEN3D, SERDE_PLY, TABLES_ONE, TABLES_TWO, TWO_THREADS,
};
use super::{
    BUDGET_BYTES, Bound, Outcome, PROGRAM_BYTES, Verdict, counts, faster, memory, over, ratio, same_bytes, yes,
};

const ALL: [&str; 4] = [ONE_THREAD, TWO_THREADS, TABLES_ONE, TABLES_TWO];

/// Speed of the scene and of the tables with two threads; memory and counts of all.
pub(super) fn reading(outcome: &Outcome) -> Vec<Verdict> {
    let key = outcome.group.key;
    let mut verdicts = Vec::new();
    for ours in [TWO_THREADS, TABLES_TWO] {
        verdicts.extend(speed(outcome, ours));
    }
    for row in ALL.into_iter().filter_map(|name| outcome.row(name)) {
        verdicts.push(memory(key, row, BUDGET_BYTES + PROGRAM_BYTES));
        verdicts.push(counts(outcome, row));
    }
    verdicts
}

/// Nothing is asked of splats: their speed is in the table.
fn speed(outcome: &Outcome, ours: &str) -> Vec<Verdict> {
    let key = outcome.group.key;
    let against =
        |theirs: &str, least| faster(outcome, &format!("{ours}: speed against {theirs}"), [ours, theirs], least);
    match key {
        "read ply binary" => vec![
            ratio(
                format!("{key}, {ours}: time against reading into fresh memory"),
                over(outcome, ours, LIMIT_MEMORY),
                Bound::AtMost(1.6),
            ),
            against(SERDE_PLY, 4.0),
            against(OPEN3D, 8.0),
        ],
        "read ply ascii" => vec![against(SERDE_PLY, 8.0)],
        _ => Vec::new(),
    }
}

pub(super) fn writing(outcome: &Outcome) -> Vec<Verdict> {
    let key = outcome.group.key;
    let rows = [ONE_THREAD, TWO_THREADS].into_iter().filter_map(|name| outcome.row(name));
    rows.flat_map(|row| [memory(key, row, BUDGET_BYTES + PROGRAM_BYTES), same_bytes(key, row)]).collect()
}

/// Reading, filtering in numpy and writing; what is alive besides work in flight are the columns before and after.
pub(super) fn filtering(outcome: &Outcome) -> Vec<Verdict> {
    let key = outcome.group.key;
    let mut verdicts = vec![ratio(
        format!("{key}, 2 threads: time against copying the file"),
        over(outcome, TWO_THREADS, LIMIT_COPY),
        Bound::AtMost(3.0),
    )];
    for row in [ONE_THREAD, TWO_THREADS].into_iter().filter_map(|name| outcome.row(name)) {
        verdicts.push(memory(key, row, BUDGET_BYTES + PROGRAM_BYTES));
        let same = row.samples.iter().all(|sample| sample.identical == Some(true));
        verdicts.push(yes(format!("{key}, {}: rows", row.name), "as numpy has them", row, same));
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::group;
    use super::super::super::runs::tests::row;
    use super::*;

    #[test]
    fn demands_on_reading_are_judged() {
        let rows = vec![
            row(LIMIT_MEMORY, &[0.1], 1, 0),
            row(SERDE_PLY, &[0.7], 1, 0),
            row(TWO_THREADS, &[0.17], 90 << 20, 5 << 20),
            row(TABLES_TWO, &[0.1], 85 << 20, 5 << 20),
        ];
        let outcome = Outcome { group: group("read ply binary"), rows };
        let met: Vec<Option<bool>> = reading(&outcome).iter().map(|verdict| verdict.met).collect();
        let [yes, no] = [Some(true), Some(false)];
        // Time, serde-ply, open3d, which was not there; the tables'; memory and counts of both.
        assert_eq!(met, [no, yes, None, yes, yes, None, no, yes, yes, yes]);
    }

    #[test]
    fn filtering_is_held_against_a_copy() {
        let verdicts = |own| {
            filtering(&Outcome { group: group("filter ply splats"), rows: vec![row(LIMIT_COPY, &[0.2], 1, 0), own] })
        };
        let met = |own| verdicts(own).iter().map(|verdict| verdict.met).collect::<Vec<_>>();
        let slow = row(TWO_THREADS, &[0.65], 90 << 20, 5 << 20);
        assert_eq!(met(slow), [Some(false), Some(false), Some(true)]);
        let mut other = row(TWO_THREADS, &[0.6], 85 << 20, 5 << 20);
        other.samples[0].identical = Some(false);
        assert_eq!(met(other), [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn text_and_splats_have_demands_of_their_own() {
        let rows = || vec![row(SERDE_PLY, &[0.8], 1, 0), row(TWO_THREADS, &[0.1], 1, 0)];
        let verdicts = |key| reading(&Outcome { group: group(key), rows: rows() });
        assert_eq!(verdicts("read ply ascii")[0].met, Some(true));
        assert_eq!(verdicts("read ply splats").len(), 2);
    }
}
