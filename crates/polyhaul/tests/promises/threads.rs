//! Content, warnings and errors do not depend on the number of threads and the chunk size.

use crate::is_whole;
use crate::samples::{Sample, Samples, Source, Way};
use polyhaul_testkit::hostile::Sizes;
use polyhaul_testkit::random::Random;

crate::test_each_format!(check);

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNK_BYTES: [Option<usize>; 7] = [Some(1), Some(2), Some(7), Some(64), Some(601), Some(4000), None];

/// Larger files are skipped, without `POLYHAUL_PROMISES=whole`.
const MAX_BYTES: usize = 30_000;
/// Files up to this size are read in all combinations of threads and chunks.
const ALL_WAYS_BYTES: usize = 600;
/// Larger files are read in one combination out of this many.
const WAYS_SHARE: usize = 3;
/// More chunks only take time.
const MAX_CHUNKS: usize = 1500;
/// Maximum number of chunks for which many threads are started.
const MAX_CHUNKS_OF_MANY_THREADS: usize = 100;

fn check(rows: &[&Samples], _: &str) {
    for row in rows {
        let is_small = |sample: &Sample| is_whole() || sample.bytes.len() <= MAX_BYTES;
        for (number, sample) in row.all().iter().filter(|sample| is_small(sample)).enumerate() {
            let strict = Way { strict: true, ..Way::default() };
            for way in [Way::default(), Way::lenient(), strict] {
                check_sample(row, sample, &way, number);
            }
        }
    }
}

fn check_sample(row: &Samples, sample: &Sample, way: &Way, number: usize) {
    for &reading in row.readings {
        let expected = row.read(&sample.bytes, reading, way);
        for (index, (threads, chunk_bytes)) in combinations(sample.bytes.len(), number).into_iter().enumerate() {
            let mut other = way.with_run(threads, chunk_bytes);
            if index % 2 == 1 {
                other.source = Source::Stream(Sizes::Random(Random::new(index as u64)));
            }
            if row.is_same_from(&other.source, &sample.bytes) {
                let outcome = row.read(&sample.bytes, reading, &other);
                let difference = outcome.difference(&expected);
                assert_eq!(difference, None, "{}, as {reading:?}, {other:?}", sample.name);
            }
        }
    }
}

/// Threads and chunk sizes for a file of `size` bytes: all combinations for small files, different ones for each larger
/// file.
fn combinations(size: usize, number: usize) -> Vec<(usize, Option<usize>)> {
    let mut combinations = Vec::new();
    for (index, threads) in THREADS.into_iter().enumerate() {
        for (other_index, chunk_bytes) in CHUNK_BYTES.into_iter().enumerate() {
            let chunks = chunk_bytes.map_or(1, |chunk_bytes| size / chunk_bytes);
            let is_chosen = size <= ALL_WAYS_BYTES || (index + other_index + number).is_multiple_of(WAYS_SHARE);
            let is_crowded = threads == 64 && chunks > MAX_CHUNKS_OF_MANY_THREADS;
            if is_chosen && chunks <= MAX_CHUNKS && !is_crowded {
                combinations.push((threads, chunk_bytes));
            }
        }
    }
    combinations
}
