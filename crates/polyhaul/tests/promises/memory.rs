//! Declarations take no memory before data backs them: at most 64 MiB and 4 times the input, plus the content if the
//! file is valid.

use crate::content::Outcome;
use crate::isolated::isolated;
use crate::samples::{Sample, Samples, Source, Way, files_in};
use polyhaul::ErrorKind;
use polyhaul_testkit::alloc::measure;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::hostile::{Fault, Sizes};
use polyhaul_testkit::packed::CODECS;
use polyhaul_testkit::random::Random;
use std::path::Path;

crate::test_each_format!(check);

const MIB: u64 = 1 << 20;
/// Allowance for any input.
const BASE_BYTES: u64 = 64 * MIB;
/// Other memory of the program: codec windows, and the end of a file.
const PROGRAM_BYTES: u64 = 3 * MIB;
/// Disables the limit on image sizes.
const MANY_PIXELS: u64 = u64::MAX;

/// Maximum number of bytes in use at a time while reading `size` bytes with this result. A growing array exists twice
/// while it is moved.
pub fn allowed_bytes(size: usize, outcome: &Outcome) -> u64 {
    BASE_BYTES + PROGRAM_BYTES + 4 * size as u64 + 2 * outcome.content_bytes
}

fn check(rows: &[&Samples], test: &str) {
    isolated(test, || {
        let folder = Folder::new(&test.replace("::", "-")).unwrap();
        for row in rows {
            for sample in row.all() {
                let check = if sample.is_good { check_sample } else { check_bad };
                check(row, &sample, &folder);
            }
            (row.claims)().iter().for_each(|sample| check_bad(row, sample, &folder));
        }
    });
}

fn check_sample(row: &Samples, sample: &Sample, folder: &Folder) {
    for way in ways(folder) {
        let reading = row.readings[way.threads % row.readings.len()];
        let (outcome, used) = measure(|| row.read(&sample.bytes, reading, &way));
        let allowed = allowed_bytes(sample.bytes.len(), &outcome);
        let what = format!("{}, {way:?}: {} KiB", sample.name, used.peak_bytes >> 10);
        assert!(used.peak_bytes <= allowed, "{what}");
        assert!(outcome.error().is_none_or(|error| error.kind() != ErrorKind::Memory), "{what}: no memory");
    }
}

/// The kernel's figure for the process also includes memory that libraries allocate themselves.
fn check_bad(row: &Samples, sample: &Sample, folder: &Folder) {
    check_sample(row, sample, folder);
    for mut way in ways(folder).into_iter().take(2) {
        way.limits = way.limits.with_pixels(MANY_PIXELS);
        // 5 resets the peak to the current usage.
        let _unsupported_by_system = std::fs::write(Path::new("/proc/self/clear_refs"), "5");
        let before = peak_resident_bytes().unwrap_or(0);
        let outcome = row.read(&sample.bytes, row.readings[0], &way);
        let used = peak_resident_bytes().unwrap_or(0).saturating_sub(before);
        let allowed = allowed_bytes(sample.bytes.len(), &outcome);
        assert!(used <= allowed, "{}, {way:?}: {} KiB of the process", sample.name, used >> 10);
        assert_eq!(row.broken_rule(&sample.bytes, &outcome), None, "{}, {way:?}", sample.name);
    }
}

fn ways(folder: &Folder) -> Vec<Way> {
    let mut sources = vec![files_in(folder), Source::Stream(Sizes::Random(Random::new(5)))];
    sources.extend((0..CODECS.len()).map(|codec| Source::Packed {
        codec,
        member_bytes: 100_000,
        is_streamed: codec % 2 == 1,
    }));
    let ways = sources.into_iter().enumerate().map(|(number, source)| {
        let base = if number % 2 == 0 { Way::default() } else { Way::lenient() };
        let mut way = base.with_source(source).with_run([1, 4][number / 2 % 2], None);
        way.fault = Fault::Interrupted;
        way.limits = way.limits.with_pixels(MANY_PIXELS);
        way
    });
    ways.collect()
}

/// Peak memory of this process since the last reset, as counted by the kernel.
fn peak_resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
