//! Every strict prefix of a sample is an error, or a valid result with everything that its bytes declare.

use crate::is_whole;
use crate::samples::{Prefix, Sample, Samples, Source, Way};
use polyhaul::ErrorKind;
use polyhaul_testkit::hostile::Sizes;
use polyhaul_testkit::mutate;
use polyhaul_testkit::packed::{CODECS, pack};
use polyhaul_testkit::random::Random;

crate::test_each_format!(check);

/// Larger files are cut at random positions.
const MAX_ALL_CUTS_BYTES: usize = 64 << 10;
/// The same, without `POLYHAUL_PROMISES=whole`.
const MAX_FEW_CUTS_BYTES: usize = 700;
/// Number of cuts in larger files.
const CUTS: usize = 100;
/// One in this many prefixes is also read in another way.
const OTHER_WAY_SHARE: usize = 5;
/// Larger content is only cut near its start and its end.
const LARGE_CONTENT_BYTES: u64 = 16 << 20;
/// Shorter prefixes of compressed files may not look compressed.
const MIN_PACKED_BYTES: usize = 10;
/// Number of cuts in compressed files.
const PACKED_CUTS: usize = 20;

fn check(rows: &[&Samples], _: &str) {
    for row in rows {
        for sample in row.all() {
            check_sample(row, &sample);
        }
        let is_long = |sample: &&Sample| sample.bytes.len() > 100 && !row.is_always_read;
        row.good().iter().filter(is_long).take(2).for_each(|sample| check_packed(row, sample));
    }
}

fn check_sample(row: &Samples, sample: &Sample) {
    let max_all = if is_whole() { MAX_ALL_CUTS_BYTES } else { MAX_FEW_CUTS_BYTES };
    for &reading in row.readings {
        let whole = row.read(&sample.bytes, reading, &Way::default());
        let must_be_read = sample.is_good && reading == row.readings[0];
        assert!(whole.content.is_ok() || !must_be_read, "{}: {:?}", sample.name, whole.error());
        let cuts = if whole.content_bytes > LARGE_CONTENT_BYTES { 0 } else { CUTS };
        for cut in mutate::cuts(sample.bytes.len(), max_all, cuts) {
            let bytes = &sample.bytes[..cut];
            let outcome = row.read(bytes, reading, &Way::default());
            let broken_rule = row.broken_rule(bytes, &outcome);
            assert_eq!(broken_rule, None, "{} cut at {cut}, as {reading:?}", sample.name);
            if let [Ok(whole), Ok(content)] = [&whole.content, &outcome.content] {
                let warnings = &outcome.warnings;
                let prefix = Prefix { whole_bytes: &sample.bytes, whole, bytes, content, warnings };
                let complaint = (row.prefix)(&prefix);
                assert_eq!(complaint, None, "{} cut at {cut}, as {reading:?}", sample.name);
            }
            if cut % OTHER_WAY_SHARE == 0 {
                let way = other_way(cut);
                let other = row.read(bytes, reading, &way);
                let difference = other.difference(&outcome).filter(|_| row.is_same_from(&way.source, bytes));
                assert_eq!(difference, None, "{} cut at {cut}, {way:?}", sample.name);
            }
        }
    }
}

/// A way other than memory on one thread, different for each number.
fn other_way(number: usize) -> Way {
    let mut random = Random::new(number as u64);
    let chunk_bytes = [None, Some(1 + random.below(50))][random.below(2)];
    let sizes = if random.once_in(3) { Sizes::One } else { Sizes::Random(Random::new(7)) };
    let source = if random.once_in(3) { Source::Memory } else { Source::Stream(sizes) };
    Way::default().with_source(source).with_run(1 + usize::from(random.once_in(8)), chunk_bytes)
}

/// A missing end of compressed data is an error, even if all uncompressed bytes are present.
fn check_packed(row: &Samples, sample: &Sample) {
    for (codec, extension) in CODECS {
        let packed = pack(codec, &sample.bytes, 5000);
        for cut in mutate::cuts(packed.len(), 0, PACKED_CUTS).into_iter().filter(|&cut| cut >= MIN_PACKED_BYTES) {
            let outcome = row.read_plainly(&packed[..cut]);
            let kind = outcome.error().map(polyhaul::Error::kind);
            assert_eq!(kind, Some(ErrorKind::Malformed), "{}.{extension} cut at {cut}: {outcome:?}", sample.name);
        }
    }
}
