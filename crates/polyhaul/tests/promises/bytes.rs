//! A single changed byte never breaks a read: the result is an error or valid content, equal in every way of reading,
//! and takes no more memory than the bytes justify.

use crate::content::{Outcome, Reading};
use crate::is_whole;
use crate::isolated::isolated;
use crate::memory::allowed_bytes;
use crate::samples::{Sample, Samples, Source, Way};
use polyhaul_testkit::alloc::measure;
use polyhaul_testkit::hostile::{Fault, Sizes};
use polyhaul_testkit::mutate;
use polyhaul_testkit::random::Random;

crate::test_each_format!(check);

/// Larger files are skipped.
const MAX_BYTES: usize = 64 << 10;
/// Reading takes about the same time up to this size.
const SMALL_BYTES: usize = 400;
/// One in this many changes is also read in another way.
const OTHER_WAY_SHARE: usize = 6;

fn check(rows: &[&Samples], test: &str) {
    isolated(test, || rows.iter().for_each(|row| check_row(row)));
}

fn check_row(row: &Samples) {
    let mut samples = row.all();
    samples.retain(|sample| sample.bytes.len() <= MAX_BYTES);
    let max_places = places_of_small_samples(&samples, row.changed_bytes);
    let mut number = 0;
    for (index, sample) in samples.iter().enumerate() {
        let step = sample.bytes.len().div_ceil(places(sample.bytes.len(), max_places)).max(1);
        let places = (index % step..sample.bytes.len()).step_by(step);
        mutate::bytes_at(&sample.bytes, places, |at, byte, bytes| {
            number += 1;
            check_change(row, bytes, number, &|| format!("{} with {byte:#04x} at {at}", sample.name));
        });
    }
}

/// Number of bytes of a sample to change: up to `max` in a small sample, fewer in samples that take longer to read.
fn places(size: usize, max: usize) -> usize {
    if is_whole() { size.max(1) } else { size.min(max * SMALL_BYTES / size.max(SMALL_BYTES)).max(1) }
}

/// Number of bytes to change in each small sample, for a total of `changed_bytes` over all samples.
fn places_of_small_samples(samples: &[Sample], changed_bytes: usize) -> usize {
    let changed = |max: usize| samples.iter().map(|sample| places(sample.bytes.len(), max)).sum::<usize>();
    (1..MAX_BYTES).find(|&max| changed(max) >= changed_bytes).unwrap_or(MAX_BYTES)
}

fn check_change(row: &Samples, bytes: &[u8], number: usize, what: &dyn Fn() -> String) {
    let reading = row.readings[number % row.readings.len()];
    let is_lenient = number.is_multiple_of(2) && !matches!(reading, Reading::Image | Reading::Texture);
    let way = if is_lenient { Way::lenient() } else { Way::default() };
    let (outcome, used) = measure(|| row.read(bytes, reading, &way));
    assert_eq!(row.broken_rule(bytes, &outcome), None, "{}, as {reading:?}", what());
    let allowed = allowed_bytes(bytes.len(), &outcome) + row.known_excess;
    assert!(used.peak_bytes <= allowed, "{}: {} KiB", what(), used.peak_bytes >> 10);
    if number.is_multiple_of(OTHER_WAY_SHARE) {
        check_other_way(row, bytes, reading, &way, &outcome, number, what);
    }
}

fn check_other_way(
    row: &Samples,
    bytes: &[u8],
    reading: Reading,
    way: &Way,
    outcome: &Outcome,
    number: usize,
    what: &dyn Fn() -> String,
) {
    let mut random = Random::new(number as u64);
    let is_streamed = random.once_in(2);
    let source = if is_streamed { Source::Stream(Sizes::Random(random.clone())) } else { Source::Memory };
    let mut way = way.with_source(source).with_run(1 + usize::from(random.once_in(8)), Some(1 + random.below(60)));
    way.fault = Fault::Interrupted;
    let other = row.read(bytes, reading, &way);
    let difference = other.difference(outcome).filter(|_| row.is_same_from(&way.source, bytes));
    assert_eq!(difference, None, "{}, {way:?}", what());
}
