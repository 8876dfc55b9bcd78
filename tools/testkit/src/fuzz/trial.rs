//! Bounds the work per input: all checks, or a share that a fuzzer can afford thousands of times per second.
//!
//! Many cheap executions find more bugs than a few thorough ones. So most inputs are read once, on the calling thread.
//! A share of them is also read with other chunk sizes, from streams and with more threads, or written and read back. A
//! hash of the bytes selects these inputs, so that failures are reproducible. The properties of each format are in the
//! other modules.

use crate::hostile::{Fault, Hostile, Sizes};
use crate::random::Random;
use polyhaul::options::{Limits, OnError};
use polyhaul::{Input, ReadOptions, WriteOptions};
use std::fmt::Debug;

/// Thoroughness of the checks of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For fuzzers: cheap checks of every input, and expensive checks of a share of the inputs.
    Spread,
    /// For tests: all checks of every input.
    Full,
}

/// One input in this many is read with several threads and tiny chunks, from memory and from streams.
const MATRIX_SHARE: usize = 256;

/// One input in this many is read a second time on the same thread, with other chunks or as a stream.
const SECOND_SHARE: usize = 6;

/// One input in this many is written and read back.
pub(super) const RETURN_SHARE: usize = 2;

/// Chunk size of the first reading; most inputs fit in one chunk.
const MAX_CHUNK_BYTES: usize = 1 << 16;

/// Maximum number of pixels of an image: larger images only slow down the search.
pub(super) const MAX_PIXELS: u64 = 1 << 14;

/// An input, and the state of its checks.
pub(super) struct Trial<'d> {
    pub(super) data: &'d [u8],
    pub(super) random: Random,
    name: &'static str,
    effort: Effort,
    /// Whether reading from a stream must have the same result as from memory.
    has_streams: bool,
}

/// Settings for an additional reading of the same bytes.
#[derive(Debug)]
struct RunSettings {
    chunk_bytes: usize,
    threads: usize,
    is_stream: bool,
}

impl<'d> Trial<'d> {
    /// Creates a trial of an input with this file name.
    pub(super) fn new(data: &'d [u8], name: &'static str, effort: Effort) -> Trial<'d> {
        Trial { data, random: Random::new(hash(data)), name, effort, has_streams: true }
    }

    /// Disables reading from streams.
    pub(super) fn without_streams(mut self) -> Trial<'d> {
        self.has_streams = false;
        self
    }

    /// Selects one of these file names.
    pub(super) fn rename<const N: usize>(&mut self, names: [&'static str; N]) {
        self.name = *self.random.pick(&names);
    }

    /// Returns whether to do work that is done for one input in `share`.
    pub(super) fn draws(&mut self, share: usize) -> bool {
        self.random.once_in(share) || self.effort == Effort::Full
    }

    /// Selects read options, with small limits for half of the inputs.
    pub(super) fn options(&mut self) -> ReadOptions {
        let random = &mut self.random;
        let mut options = ReadOptions::default();
        options.run.threads = Some(1);
        // Chunks are zeroed for each input, which would dominate the time at the default size.
        options.run.chunk_bytes = Some(MAX_CHUNK_BYTES);
        options.strict = random.once_in(8).into();
        options.on_error = if random.once_in(4) { OnError::Warn } else { OnError::Raise };
        options.limits = Limits::default().with_pixels(MAX_PIXELS).with_decompressed_bytes(1 << 20);
        if random.once_in(2) {
            options.limits.line_bytes = 200 + random.below(4000) as u64;
            options.limits.name_bytes = random.below(40) as u64;
            options.limits.elements = random.below(200) as u64;
            options.limits.files = random.below(4) as u64;
        }
        options
    }

    /// Returns the default read options, on one thread when fuzzing.
    pub(super) fn plain_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.run.threads = self.threads();
        options
    }

    /// Returns the default write options, on one thread when fuzzing.
    pub(super) fn write_options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.run.threads = self.threads();
        options
    }

    fn threads(&self) -> Option<usize> {
        (self.effort == Effort::Spread).then_some(1)
    }

    /// Returns the bytes as an input in memory.
    pub(super) fn memory(&self) -> Input {
        Input::Memory(self.data.to_vec(), self.name.into())
    }

    /// Returns the bytes as a stream with short reads and interruptions.
    fn stream(&self) -> Input {
        let reader = Hostile::new(self.data, Sizes::Random(self.random.clone())).with(Fault::Interrupted);
        Input::Reader(Box::new(reader), self.name.into())
    }

    /// Reads the bytes from memory and, if selected, with other settings; panics if the results differ. `text` prints
    /// the entire result.
    pub(super) fn read<R, T: PartialEq + Debug>(
        &mut self,
        options: &ReadOptions,
        read: impl Fn(&dyn Fn() -> Input, &ReadOptions) -> R,
        text: impl Fn(&R) -> T,
    ) -> R {
        let first = read(&|| self.memory(), options);
        let ways = self.ways();
        if ways.is_empty() {
            return first;
        }
        let expected = text(&first);
        for way in ways {
            let mut other = options.clone();
            other.run.chunk_bytes = Some(way.chunk_bytes);
            other.run.threads = Some(way.threads);
            let input = || if way.is_stream { self.stream() } else { self.memory() };
            assert_eq!(expected, text(&read(&input, &other)), "{way:?}");
        }
        first
    }

    /// Selects additional settings for this input.
    fn ways(&mut self) -> Vec<RunSettings> {
        let has_streams = self.has_streams;
        if self.draws(MATRIX_SHARE) {
            let trials = (0..4).map(|number| {
                let chunk_bytes = 1 + self.random.below(80);
                let threads = 1 + self.random.below(2);
                RunSettings { chunk_bytes, threads, is_stream: number % 2 == 1 }
            });
            return trials.filter(|way| has_streams || !way.is_stream).collect();
        }
        if !self.random.once_in(SECOND_SHARE) {
            return Vec::new();
        }
        let chunk_bytes = 16 + self.random.below(self.data.len().max(64));
        vec![RunSettings { chunk_bytes, threads: 1, is_stream: has_streams && self.random.once_in(2) }]
    }
}

/// Hashes bytes, eight at a time.
fn hash(data: &[u8]) -> u64 {
    let (words, rest) = data.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    crate::summary::hash(words.chain([data.len() as u64]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(number: u64, effort: Effort) -> (usize, usize) {
        let data = number.to_le_bytes();
        let ways = Trial::new(&data, "x", effort).ways();
        (ways.len(), ways.iter().filter(|way| way.threads > 1).count())
    }

    #[test]
    fn a_fuzzer_reads_most_inputs_once_and_starts_threads_for_few() {
        let trials: Vec<_> = (0..10_000).map(|number| trial(number, Effort::Spread)).collect();
        let once = trials.iter().filter(|(ways, _)| *ways == 0).count();
        let with_threads = trials.iter().filter(|(_, threads)| *threads > 0).count();
        assert!((7_800..8_700).contains(&once) && (10..80).contains(&with_threads), "{once} {with_threads}");
        assert_eq!(trials, (0..10_000).map(|number| trial(number, Effort::Spread)).collect::<Vec<_>>());
        assert!((0..100).all(|number| trial(number, Effort::Full).0 == 4));
    }

    #[test]
    fn the_hash_sees_every_byte_and_the_length() {
        let hashes = [&b""[..], b"\0", b"\0\0", b"abcdefgh", b"abcdefgh\0", b"abcdefgi", b"abcdefghi"].map(hash);
        assert_eq!(std::collections::HashSet::from(hashes).len(), hashes.len());
    }
}
