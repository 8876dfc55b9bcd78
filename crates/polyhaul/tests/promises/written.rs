//! Output does not depend on the number of threads and the chunk size, and can be read again, compressed or not. A
//! writer that fails at any byte causes an error, and is not called again.

use crate::content::{Content, Reading};
use crate::samples::{Sample, Samples, Way};
use polyhaul::options::{RunOptions, SceneWriteOptions};
use polyhaul::{Error, ErrorKind, Format, Input, Output, Reader, WriteOptions, Writer};
use polyhaul_testkit::hostile::{Faulty, WriteFault};
use polyhaul_testkit::output::Shared;
use polyhaul_testkit::packed::CODECS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

crate::test_each_format!(check);

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNK_BYTES: [Option<usize>; 4] = [None, Some(1), Some(77), Some(4000)];
/// Larger files are skipped.
const MAX_BYTES: usize = 20_000;
/// Small enough for several chunks in progress when the writer fails.
const FAULT_CHUNK_BYTES: usize = 500;
/// Number of samples per row.
const SAMPLES: usize = 8;

fn check(rows: &[&Samples], _: &str) {
    for row in rows {
        let mut samples = row.good();
        samples.retain(|sample| sample.bytes.len() <= MAX_BYTES);
        // Some small samples, and some large ones.
        samples.sort_by_key(|sample| sample.bytes.len());
        let step = samples.len().div_ceil(SAMPLES).max(1);
        for sample in samples.iter().rev().step_by(step) {
            row.readings.iter().for_each(|reading| check_sample(row, sample, *reading));
        }
    }
}

fn check_sample(row: &Samples, sample: &Sample, reading: Reading) {
    let Ok(content) = row.read(&sample.bytes, reading, &Way::default()).content else { return };
    let expected = match written(&content, row.format, &WriteOptions::default()) {
        Some(Ok(bytes)) => bytes,
        // The format cannot store this content, for any number of threads.
        Some(Err(_)) | None => return,
    };
    check_threads(row, sample, &content, &WriteOptions::default(), &expected);
    if matches!(row.format, Format::Ply | Format::Stl) {
        let text = WriteOptions::default().with_scene(SceneWriteOptions::default().with_ascii(true));
        let expected = written(&content, row.format, &text).unwrap().unwrap();
        check_threads(row, sample, &content, &text, &expected);
    }
    check_compressed(row, sample, &content, &expected, reading);
    check_faults(row, sample, &content, expected.len());
}

fn check_threads(row: &Samples, sample: &Sample, content: &Content, options: &WriteOptions, expected: &[u8]) {
    for threads in THREADS {
        for chunk_bytes in CHUNK_BYTES {
            let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
            let bytes = written(content, row.format, &options.clone().with_run(run)).unwrap().unwrap();
            assert!(bytes == expected, "{} by {threads} threads in chunks of {chunk_bytes:?}", sample.name);
        }
    }
}

/// Writes content; `None` if the format has no writer for it.
fn written(content: &Content, format: Format, options: &WriteOptions) -> Option<Result<Vec<u8>, Error>> {
    let shared = Shared::default();
    let output = Output::Writer(Box::new(shared.clone()), "written".into());
    write(content, format, options, output).map(|result| result.map(|()| shared.take()))
}

fn write(content: &Content, format: Format, options: &WriteOptions, output: Output) -> Option<Result<(), Error>> {
    let options = options.clone().with_format(Some(format));
    let writer = Writer::new(output).options(&options);
    let result = match content {
        Content::Texture(texture) => writer.texture(texture),
        _ if !format.is_written() => return None,
        Content::Scene(scene) => writer.scene(scene),
        Content::Tables(tables) => writer.tables(&tables.tables),
        Content::Image(image) => writer.image(image),
        Content::Array(_) => return None,
    };
    Some(result.map(drop))
}

/// Compressed output is read again like uncompressed output.
fn check_compressed(row: &Samples, sample: &Sample, content: &Content, plain: &[u8], reading: Reading) {
    let read = |bytes: &[u8]| {
        let options = row.options_of(&Way::default());
        let reader = Reader::new(Input::Memory(bytes.to_vec(), row.file_name.into())).options(&options);
        crate::samples::read_as(reading, reader)
    };
    let (expected, _) = read(plain).unwrap_or_else(|error| panic!("{} is not read again: {error}", sample.name));
    for (codec, extension) in CODECS {
        let packed = written(content, row.format, &WriteOptions::default().with_compression(codec.into()));
        let packed = match packed.unwrap() {
            Err(error) if error.kind() == ErrorKind::Usage => {
                assert!(error.to_string().contains("already compressed"), "{}: {error}", sample.name);
                continue;
            }
            packed => packed.unwrap(),
        };
        let (again, report) = read(&packed).unwrap();
        assert_eq!(report.codec, Some(codec), "{}.{extension}", sample.name);
        assert_eq!(format!("{again:?}"), format!("{expected:?}"), "{}.{extension}", sample.name);
    }
}

fn check_faults(row: &Samples, sample: &Sample, content: &Content, size: usize) {
    for place in [0, 1, 17, size / 2, size.saturating_sub(1)].into_iter().filter(|&place| place < size) {
        let full = std::io::ErrorKind::StorageFull;
        for (threads, fault) in [
            (1, WriteFault::Fails(full)),
            (3, WriteFault::Fails(full)),
            (2, WriteFault::TakesNothing),
            (2, WriteFault::ClaimsTooMuch),
            (2, WriteFault::Panics),
        ] {
            let (writer, late_calls) = Faulty::new(place, fault);
            let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(FAULT_CHUNK_BYTES));
            let options = WriteOptions::default().with_run(run);
            let output = Output::Writer(Box::new(writer), "host".into());
            // A host's panic becomes an error, or is propagated.
            let work = AssertUnwindSafe(|| write(content, row.format, &options, output).unwrap());
            let result = catch_unwind(work).unwrap_or(Err(Error::new(ErrorKind::Host, "a panic")));
            let kind = result.as_ref().err().map(Error::kind);
            let is_blamed = matches!(kind, Some(ErrorKind::Io | ErrorKind::Host | ErrorKind::Internal));
            assert!(is_blamed, "{}: {fault:?} at {place}: {result:?}", sample.name);
            assert_eq!(late_calls.load(Relaxed), 0, "{}: {fault:?} at {place}: called again", sample.name);
        }
    }
}
