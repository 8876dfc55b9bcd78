//! Conversions of any bytes: nothing is lost without a warning.

use super::Effort;
use crate::losses::faults;
use crate::output::Shared;
use polyhaul::options::{Digits, Limits, RunOptions};
use polyhaul::{Format, Input, Output, ReadOptions, WriteOptions};

/// The formats that are converted into one another; two bytes choose.
const FORMATS: [&str; 10] = ["obj", "ply", "stl", "pbrt", "csv", "tsv", "txt", "xyz", "pts", "npy"];

/// Converts the bytes behind the first two, which say from what to what, and compares what was written.
/// Each input is converted once, whatever the effort.
pub fn convert(data: &[u8], _: Effort) {
    let [from, to, bytes @ ..] = data else { return };
    let [from, to] = [from, to].map(|byte| FORMATS[usize::from(*byte) % FORMATS.len()]);
    let run = RunOptions { threads: Some(1), ..RunOptions::default() };
    let limits = Limits { elements: 1 << 16, decompressed_bytes: 1 << 22, ..Limits::default() };
    let read = ReadOptions { run: run.clone(), limits, ..ReadOptions::default() };
    let write = WriteOptions { format: Format::named(to), run, ..WriteOptions::default() };
    let write = write.with_digits(Digits::Shortest);
    let source = || Input::Memory(bytes.to_vec(), format!("x.{from}"));
    let out = Shared::default();
    let output = Output::Writer(Box::new(out.clone()), "out".into());
    let Ok(report) = polyhaul::convert(source(), output, &read, &write) else { return };
    let written = out.take();
    let target = || Input::Memory(written.clone(), format!("out.{to}"));
    match polyhaul::diff(source(), target(), &read, 0.0) {
        Ok(found) => {
            let mut wrong = faults(from, to, &found.differences, &report);
            // A stream has no material library beside it.
            wrong.retain(|fault| to != "obj" || !fault.starts_with("material"));
            assert!(wrong.is_empty(), "{from} to {to}: {wrong:?}");
        }
        // What cannot be read as a scene may be a table still.
        Err(error) => {
            let is_source =
                polyhaul::diff(source(), source(), &read, 0.0).is_err() || polyhaul::load(source(), &read).is_err();
            assert!(is_source, "{from} to {to}: what was written cannot be read: {error}");
        }
    }
}
