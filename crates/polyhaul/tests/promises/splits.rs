//! Content, warnings and errors do not depend on how the bytes arrive: from memory, a file or a host, uncompressed or
//! compressed, in pieces of any size. Hosts are called rarely, for large blocks, and never after the end.

use crate::content::Outcome;
use crate::is_whole;
use crate::samples::{Sample, Samples, Source, Way, bad, files_in};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::hostile::{Fault, Log, Sizes};
use polyhaul_testkit::packed::CODECS;
use polyhaul_testkit::random::Random;
use std::sync::atomic::Ordering::Relaxed;

crate::test_each_format!(check);

/// Larger files are skipped, without `POLYHAUL_PROMISES=whole`.
const MAX_BYTES: usize = 30_000;
/// Size of a file for which a host is called several times.
const LARGE_BYTES: usize = 1 << 20;
/// Minimum block size of a host call.
const BLOCK_BYTES: usize = 64 << 10;
/// Calls beyond one per block.
const EXTRA_CALLS: usize = 4;

fn check(rows: &[&Samples], test: &str) {
    let folder = Folder::new(&test.replace("::", "-")).unwrap();
    for row in rows {
        let is_small = |sample: &Sample| is_whole() || sample.bytes.len() <= MAX_BYTES;
        for sample in row.all().iter().filter(|sample| is_small(sample)) {
            check_sample(row, sample, &folder);
        }
        check_large(row);
    }
}

fn check_sample(row: &Samples, sample: &Sample, folder: &Folder) {
    for way in [Way::default(), Way::lenient()] {
        for &reading in row.readings {
            let expected = row.read(&sample.bytes, reading, &way);
            assert_eq!(row.broken_rule(&sample.bytes, &expected), None, "{}", sample.name);
            for other in ways(&way, folder) {
                let (outcome, logs) = row.read_logged(&sample.bytes, reading, &other);
                logs.iter().for_each(|log| check_calls(log, &other, sample));
                if !row.is_same_from(&other.source, &sample.bytes) || differs(&expected, &other.source) {
                    continue;
                }
                assert_eq!(outcome.difference(&expected), None, "{}, as {reading:?}, {other:?}", sample.name);
            }
        }
    }
}

/// Checks the calls for a large file.
fn check_large(row: &Samples) {
    let Some(shape) = (row.shapes)().into_iter().next() else { return };
    let sample = bad(shape.name, (shape.make)(LARGE_BYTES));
    let way = Way::default().with_source(Source::Stream(Sizes::All)).with_run(2, None);
    let (_, logs) = row.read_logged(&sample.bytes, row.readings[0], &way);
    logs.iter().for_each(|log| check_calls(log, &way, &sample));
}

/// Other ways in which the bytes can arrive.
fn ways(way: &Way, folder: &Folder) -> Vec<Way> {
    let streams = [Sizes::All, Sizes::One, Sizes::Random(Random::new(5))].map(Source::Stream);
    let packed = (0..CODECS.len()).flat_map(|codec| {
        [97, 1 << 20].map(|member_bytes| Source::Packed { codec, member_bytes, is_streamed: member_bytes == 97 })
    });
    let plain = streams.into_iter().chain([files_in(folder)]);
    let sources = plain.chain(packed);
    sources
        .enumerate()
        .map(|(number, source)| {
            let mut way = way.with_source(source).with_run(1 + number % 2, [None, Some(50)][number / 2 % 2]);
            way.fault = if number == 0 { Fault::Nothing } else { Fault::Interrupted };
            way
        })
        .collect()
}

/// Whether the message depends on the source: decompressed bytes are not compared with other formats, and only files
/// have a folder.
fn differs(expected: &Outcome, source: &Source) -> bool {
    let words = match source {
        Source::Packed { .. } => "the content looks like",
        Source::File(_) => "its folder is unknown",
        Source::Memory | Source::Stream(_) => return false,
    };
    expected.text().contains(words)
}

fn check_calls(log: &Log, way: &Way, sample: &Sample) {
    let min_asked = log.least_asked.load(Relaxed);
    assert!(min_asked >= BLOCK_BYTES, "{}, {way:?}: a block of {min_asked} bytes", sample.name);
    assert_eq!(log.calls_too_late.load(Relaxed), 0, "{}, {way:?}: calls after the end", sample.name);
    if matches!(way.source, Source::Stream(Sizes::All)) {
        let max_calls = sample.bytes.len().div_ceil(BLOCK_BYTES) + EXTRA_CALLS;
        let calls = log.calls.load(Relaxed);
        assert!(calls <= max_calls, "{}: {calls} calls for {} bytes", sample.name, sample.bytes.len());
    }
}
