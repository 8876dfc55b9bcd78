//! What reading pbrt scenes must reach.

use super::super::plan::{CAT, INFLATE, ONE_THREAD, PARSE, TWO_THREADS};
use super::super::runs::Row;
use super::{Bound, Outcome, Verdict, counts, longer_half, over, ratio};

/// Bytes of text a second with one thread and with two.
const RATES: [f64; 2] = [600e6, 1.1e9];
/// Or, with two threads, so many times as long as `cat`.
const CATS: f64 = 6.3;
/// The most memory for each byte of text.
const MEMORY: f64 = 0.6;

/// Speed, peak memory and counts of a plain scene.
pub(super) fn plain(outcome: &Outcome) -> Vec<Verdict> {
    let mut verdicts = vec![one(outcome), two(outcome)];
    verdicts.extend(of_rows(outcome));
    verdicts
}

/// A compressed scene against the longer of its two halves; peak memory and counts.
pub(super) fn packed(outcome: &Outcome) -> Vec<Verdict> {
    let mut verdicts = vec![longer_half(outcome, [INFLATE[1], PARSE[1]])];
    verdicts.extend(of_rows(outcome));
    verdicts
}

fn one(outcome: &Outcome) -> Verdict {
    let rate = outcome.row(ONE_THREAD).and_then(|row| outcome.rate(row));
    Verdict {
        what: format!("{}, 1 thread: rate", outcome.group.key),
        wanted: format!(">= {:.2} GB/s", RATES[0] / 1e9),
        got: rate.map_or("-".into(), |rate| format!("{:.2} GB/s", rate / 1e9)),
        met: rate.map(|rate| rate >= RATES[0]),
    }
}

fn two(outcome: &Outcome) -> Verdict {
    let rate = outcome.row(TWO_THREADS).and_then(|row| outcome.rate(row));
    let both = rate.zip(over(outcome, TWO_THREADS, CAT));
    Verdict {
        what: format!("{}, 2 threads: rate, or time against cat", outcome.group.key),
        wanted: format!(">= {:.2} GB/s or <= {CATS} x", RATES[1] / 1e9),
        got: both.map_or("-".into(), |(rate, cats)| format!("{:.2} GB/s, {cats:.2} x", rate / 1e9)),
        met: both.map(|(rate, cats)| rate >= RATES[1] || cats <= CATS),
    }
}

fn of_rows(outcome: &Outcome) -> Vec<Verdict> {
    let rows = [ONE_THREAD, TWO_THREADS].into_iter().filter_map(|name| outcome.row(name));
    rows.flat_map(|row| [memory(outcome, row), counts(outcome, row)]).collect()
}

fn memory(outcome: &Outcome, row: &Row) -> Verdict {
    let part = row.peak_bytes().map(|bytes| bytes as f64 / outcome.group.input.bytes as f64);
    ratio(format!("{}, {}: peak memory against the text", outcome.group.key, row.name), part, Bound::AtMost(MEMORY))
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::tests::group;
    use super::super::super::runs::tests::row;
    use super::*;

    fn met(verdicts: &[Verdict]) -> Vec<Option<bool>> {
        verdicts.iter().map(|verdict| verdict.met).collect()
    }

    #[test]
    fn plain_scenes_are_judged_by_rate_or_cat() {
        let [yes, no] = [Some(true), Some(false)];
        let outcome = |seconds: [f64; 3]| {
            let rows = vec![
                row(CAT, &seconds[..1], 1, 0),
                row(ONE_THREAD, &seconds[1..2], 600, 0),
                row(TWO_THREADS, &seconds[2..], 601, 0),
            ];
            Outcome { group: group("read pbrt one"), rows }
        };
        // The input has a thousand bytes: rates of 0.5 and 0.4 kB/s are 1e6 times too low. Two threads: 4 times cat.
        assert_eq!(met(&plain(&outcome([0.5, 2.5, 2.0]))), [no, yes, yes, yes, no, yes]);
        assert_eq!(met(&plain(&outcome([0.1, 1.6e-6, 0.9e-6])))[..2], [yes, yes]);
        assert_eq!(met(&plain(&outcome([1e-7, 1.7e-6, 1e-6])))[..2], [no, no]);
    }

    #[test]
    fn compressed_scenes_are_judged_by_the_longer_half() {
        let rows = |seconds| {
            vec![row(INFLATE[1], &[0.6], 1, 0), row(PARSE[1], &[0.5], 1, 0), row(TWO_THREADS, &[seconds], 1, 0)]
        };
        let judge = |seconds| met(&packed(&Outcome { group: group("read pbrt one gz"), rows: rows(seconds) }))[0];
        assert_eq!([judge(0.68), judge(0.7)], [Some(true), Some(false)]);
        let outcome = Outcome { group: group("read pbrt one gz"), rows: vec![row(INFLATE[1], &[0.6], 1, 0)] };
        assert_eq!(met(&packed(&outcome)), [None]);
    }
}
