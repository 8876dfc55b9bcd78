//! Tests every limit at one less than needed, at the exact value, and at one more. The error names the limit, its value
//! and how to raise it, for any threads and chunks.

use crate::content::Outcome;
use crate::samples::{LimitSample, Sample, Samples, Source, Way, is_packed, limit_of, limited};
use polyhaul::options::{Limits, OnError};
use polyhaul::{Error, ErrorKind, Input, Output, Reader, WriteOptions, Writer};
use polyhaul_testkit::hostile::Sizes;
use polyhaul_testkit::packed::{CODECS, pack};

crate::test_each_format!(check);

/// Number of compressed samples per row.
const PACKED_SAMPLES: usize = 3;

fn check(rows: &[&Samples], _: &str) {
    for row in rows {
        for sample in (row.limits)() {
            check_limit(row, &sample);
        }
        let is_small = |sample: &&Sample| (20..60_000).contains(&sample.bytes.len());
        for sample in row.good().iter().filter(is_small).take(PACKED_SAMPLES) {
            check_decompressed_bytes(row, sample);
        }
    }
}

/// For compressed files, the decompressed bytes of the main file count.
fn check_decompressed_bytes(row: &Samples, sample: &Sample) {
    if row.split.is_some() || is_packed(&sample.bytes) {
        return;
    }
    for (codec, extension) in CODECS {
        let packed = pack(codec, &sample.bytes, usize::MAX);
        let mut limit = limited("decompressed_bytes", sample.bytes.len() as u64, packed);
        limit.name = format!("{}.{extension}", sample.name);
        check_limit(row, &limit);
    }
}

fn check_limit(row: &Samples, sample: &LimitSample) {
    let lenient = Way { on_error: OnError::Warn, ..Way::default() };
    let streamed = Way::default().with_source(Source::Stream(Sizes::All)).with_run(2, Some(64));
    for base in [Way::default(), Way::default().with_run(2, Some(1)), lenient, streamed] {
        for limit in [sample.needed - 1, sample.needed, sample.needed + 1] {
            let mut limits = Limits::default();
            for (name, value) in sample.others {
                *limit_of(&mut limits, name) = *value;
            }
            *limit_of(&mut limits, sample.limit) = limit;
            let error = read(row, sample, &Way { limits, ..base.clone() });
            let what = format!("{} {}: {} at {limit} of {}", row.name(), sample.name, sample.limit, sample.needed);
            match (limit >= sample.needed, error) {
                (true, error) if sample.is_readable => assert!(error.is_none(), "{what}: {}", error.unwrap()),
                (true, error) => assert!(error.is_some_and(|error| error.kind() != ErrorKind::Limit), "{what}"),
                (false, None) => panic!("{what} is enough"),
                (false, Some(error)) => check_error(&error, sample.limit, limit, &what),
            }
        }
    }
}

/// Reads or converts a sample; returns the error, if any.
fn read(row: &Samples, sample: &LimitSample, way: &Way) -> Option<Error> {
    let Some(target) = sample.target else {
        let Outcome { content, .. } = row.read(&sample.bytes, sample.reading.unwrap_or(row.readings[0]), way);
        return content.err();
    };
    let input = Input::Memory(sample.bytes.clone(), row.file_name.into());
    let options = WriteOptions::default().with_format(Some(target));
    let output = Output::Writer(Box::new(std::io::sink()), "nowhere".into());
    let writer = Writer::new(output).options(&options);
    Reader::new(input).options(&row.options_of(way)).convert(writer).err()
}

fn check_error(error: &Error, name: &str, limit: u64, what: &str) {
    assert_eq!(error.kind(), ErrorKind::Limit, "{what}: {error}");
    let hint = error.diagnostic().hint.clone().unwrap_or_default();
    let message = format!("{error} {hint}");
    assert!(message.contains(name) && message.contains(&limit.to_string()), "{what}: {message}");
    assert!(hint.contains(&format!("limit `{name}`")), "{what}: {hint:?}");
}
