//! Files that break a rule of their format are never read silently: reading fails or warns.

use crate::samples::{Samples, Way};

crate::test_each_format!(check);

fn check(rows: &[&Samples], _: &str) {
    let strict = Way { strict: true, ..Way::default() };
    let mut complaints = Vec::new();
    for row in rows {
        for sample in row.refused() {
            let outcomes = row.readings.iter().map(|&reading| row.read(&sample.bytes, reading, &strict));
            // An invalid scene may be valid as tables.
            let is_refused = outcomes.into_iter().any(|outcome| outcome.error().is_some());
            complaints
                .extend((!is_refused).then(|| format!("{}: {} is read without a warning", row.name(), sample.name)));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
