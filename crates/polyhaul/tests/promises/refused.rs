//! Files that break a rule of their format are not read as if they were right: reading fails, or warns.

use crate::samples::{Samples, Way};

crate::test_each_format!(check);

fn check(rows: &[&Samples], _: &str) {
    let strict = Way { strict: true, ..Way::default() };
    let mut complaints = Vec::new();
    for row in rows {
        for sample in row.refused() {
            let outcomes = row.readings.iter().map(|&reading| row.read(&sample.bytes, reading, &strict));
            // What is wrong as a scene may be right as tables.
            let is_refused = outcomes.into_iter().any(|outcome| outcome.error().is_some());
            complaints
                .extend((!is_refused).then(|| format!("{}: {} is read without a warning", row.name(), sample.name)));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
