//! Conversions between any two formats: nothing may be lost without a warning.

use super::Effort;
use crate::losses::{faults, image_faults, image_noise};
use crate::output::Shared;
use polyhaul::diff::Difference;
use polyhaul::options::{Digits, Limits, RunOptions, SceneWriteOptions};
use polyhaul::{Format, Input, Output, ReadOptions, Report, WriteOptions};

/// Formats of scenes and tables, selected by the first two bytes.
const FORMATS: [&str; 11] = ["obj", "ply", "stl", "pbrt", "csv", "tsv", "txt", "xyz", "pts", "npy", "off"];
/// Image formats, selected if the first byte is at least 128; the first five can be written.
const IMAGES: [&str; 9] = ["tga", "hdr", "png", "jpg", "exr", "bmp", "psd", "dds", "ktx2"];

/// Source and target format.
struct Pair {
    from: &'static str,
    to: &'static str,
    is_image: bool,
}

impl Pair {
    fn choose(from: u8, to: u8) -> Pair {
        let is_image = from >= 128;
        let [sources, targets] = if is_image { [&IMAGES[..], &IMAGES[..5]] } else { [&FORMATS[..]; 2] };
        let [from, to] = [(sources, from), (targets, to)].map(|(names, byte)| names[usize::from(byte) % names.len()]);
        Pair { from, to, is_image }
    }

    /// Returns the faults of a conversion.
    fn faults(&self, source: Input, read: &ReadOptions, differences: &[Difference], report: &Report) -> Vec<String> {
        let Pair { from, to, is_image } = *self;
        if is_image {
            let image = polyhaul::Reader::new(source).options(read).image().expect("an image that was converted").value;
            return image_faults(from, to, image_noise(&image, to), differences, report);
        }
        let mut wrong = faults(from, to, differences, report);
        // A stream has no material library.
        wrong.retain(|fault| to != "obj" || !fault.starts_with("material"));
        wrong
    }

    /// Returns whether the source cannot be compared although it was converted: not every table is a scene.
    fn is_incomparable(&self, source: &dyn Fn() -> Input, read: &ReadOptions) -> bool {
        polyhaul::diff(source(), source(), read, 0.0).is_err()
            || !self.is_image && polyhaul::Reader::new(source()).options(read).scene().is_err()
    }
}

/// Converts the bytes after the first two, which select the formats, and compares the result. Converts each input once,
/// for any effort.
pub fn convert(data: &[u8], _: Effort) {
    let [from, to, bytes @ ..] = data else { return };
    let pair = Pair::choose(*from, *to);
    let run = RunOptions::default().with_threads(Some(1));
    let limits = Limits::default().with_elements(1 << 16).with_pixels(1 << 16).with_decompressed_bytes(1 << 22);
    let read = ReadOptions::default().with_run(run.clone()).with_limits(limits);
    let write = WriteOptions::default().with_format(Format::named(pair.to)).with_run(run);
    let write = write.with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Shortest)));
    let source = || Input::Memory(bytes.to_vec(), format!("x.{}", pair.from));
    let out = Shared::default();
    let output = Output::Writer(Box::new(out.clone()), "out".into());
    let Ok(report) =
        polyhaul::Reader::new(source()).options(&read).convert(polyhaul::Writer::new(output).options(&write))
    else {
        return;
    };
    let target = Input::Memory(out.take(), format!("out.{}", pair.to));
    let Pair { from, to, .. } = pair;
    match polyhaul::diff(source(), target, &read, 0.0) {
        Ok(comparison) => {
            let wrong = pair.faults(source(), &read, &comparison.differences, &report);
            assert!(wrong.is_empty(), "{from} to {to}: {wrong:?}");
        }
        Err(error) => {
            let is_source = pair.is_incomparable(&source, &read);
            assert!(is_source, "{from} to {to}: what was written cannot be read: {error}");
        }
    }
}
