//! A host that fails, panics or claims more bytes than requested is blamed, at any byte, and is not called again.

use crate::samples::{Samples, Source, Way};
use polyhaul::ErrorKind;
use polyhaul_testkit::hostile::{Fault, Sizes};
use polyhaul_testkit::mutate;
use polyhaul_testkit::random::Random;
use std::sync::atomic::Ordering::Relaxed;

crate::test_each_format!(check);

/// Number of samples per row.
const SAMPLES: usize = 4;
/// Number of fault positions per sample.
const PLACES: usize = 12;

fn check(rows: &[&Samples], _: &str) {
    for row in rows {
        for sample in row.good().iter().filter(|sample| sample.bytes.len() > 20).take(SAMPLES) {
            let size = row.split.map_or(sample.bytes.len(), |split| split(&sample.bytes)[0].bytes.len());
            for at in mutate::cuts(size, 40, PLACES) {
                for fault in [Fault::FailsAt(at), Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
                    check_fault(row, &sample.bytes, fault, &sample.name);
                }
            }
        }
    }
}

fn check_fault(row: &Samples, bytes: &[u8], fault: Fault, name: &str) {
    let way = Way { fault, ..Way::default() };
    let way = way.with_source(Source::Stream(Sizes::Random(Random::new(9)))).with_run(2, Some(64));
    let (outcome, logs) = row.read_logged(bytes, row.readings[0], &way);
    let kind = outcome.error().map(polyhaul::Error::kind);
    assert!(matches!(kind, Some(ErrorKind::Io | ErrorKind::Host)), "{name}, {fault:?}: {outcome:?}");
    for log in logs {
        assert_eq!(log.calls_too_late.load(Relaxed), 0, "{name}, {fault:?}: called again");
    }
}
