//! Every format of the registry has rows with samples for every promise.

use crate::content::Reading;
use crate::rows;
use crate::samples::{Samples, Way};
use crate::{bytes, growth, hosts, limits, memory, prefixes, refused, splits, threads, written};
use polyhaul::options::Limits;
use polyhaul::{ErrorKind, Format};

/// Name of a format's tests.
fn test_name(format: Format) -> String {
    format.name().replace('.', "_")
}

fn built_formats() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|format| format.is_built())
}

#[test]
fn every_format_has_a_test_for_every_promise() {
    let names: Vec<String> = Format::ALL.into_iter().map(test_name).collect();
    let promises = [
        bytes::TESTED,
        growth::TESTED,
        hosts::TESTED,
        limits::TESTED,
        memory::TESTED,
        prefixes::TESTED,
        refused::TESTED,
        splits::TESTED,
        threads::TESTED,
        written::TESTED,
    ];
    for tested in promises {
        assert_eq!(tested, names, "list the formats of the registry in `test_each_format`");
    }
}

#[test]
fn every_format_has_samples_for_every_promise() {
    let mut missing = Vec::new();
    for format in built_formats() {
        let rows = rows::of(&test_name(format));
        let has = |is_there: fn(&Samples) -> bool| rows.iter().any(|row| is_there(row));
        let promises = [
            ("a row in tests/promises/rows", has(|_| true)),
            ("readings", has(|row| !row.readings.is_empty())),
            ("samples that are read", has(|row| !row.good().is_empty())),
            ("samples that are broken", has(|row| row.all().iter().any(|sample| !sample.is_good))),
            ("samples that are refused", has(|row| !row.refused().is_empty())),
            ("samples of at most 4 KB", has(|row| row.all().iter().any(|sample| sample.bytes.len() <= 4096))),
            ("limits", has(|row| !(row.limits)().is_empty())),
            ("claims", has(|row| !(row.claims)().is_empty())),
            ("shapes", has(|row| !(row.shapes)().is_empty())),
        ];
        let lacks = promises.into_iter().filter(|(_, is_there)| !is_there);
        missing.extend(lacks.map(|(name, _)| format!("{} has no {name}", format.name())));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A row lists everything that its format can be read as.
#[test]
fn every_reading_of_a_format_is_tested() {
    for format in built_formats() {
        let row = rows::of(&test_name(format))[0];
        let sample = row.good().remove(0);
        for reading in Reading::ALL {
            let outcome = row.read(&sample.bytes, reading, &Way::default());
            let is_refused = outcome.error().is_some_and(|error| error.kind() == ErrorKind::Usage);
            assert_eq!(row.readings.contains(&reading), !is_refused, "{} as {reading:?}: {outcome:?}", row.name());
        }
    }
}

/// Limits that are tested elsewhere.
const ELSEWHERE: [(&str, &str); 2] = [
    ("decompressed_bytes", "every format, in limits.rs"),
    ("decompressed_ratio", "64 MiB of text, in tools/testkit/tests/reading/limits.rs"),
];

#[test]
fn every_limit_is_tested() {
    let limits = rows::ROWS.iter().filter(|row| row.format.is_built()).flat_map(|row| (row.limits)());
    let tested: Vec<&str> = limits.map(|sample| sample.limit).chain(ELSEWHERE.map(|(name, _)| name)).collect();
    let fields = format!("{:?}", Limits::default());
    let names = fields.split(['{', ',']).filter_map(|field| field.split_once(':')).map(|(name, _)| name.trim());
    let untested: Vec<&str> = names.filter(|name| !tested.contains(name)).collect();
    assert!(untested.is_empty(), "no row has a sample for the limits {untested:?}");
}
