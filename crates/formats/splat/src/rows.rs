//! Reads and writes `.splat`, which has 32 bytes per splat and no header. Source: the first program that wrote it,
//! <https://github.com/antimatter15/splat>.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 12 | x, y, z: f32s, little-endian |
//! | 12 | 12 | standard deviations along the axes: f32s, not their logarithms |
//! | 24 | 4 | red, green, blue, opacity: 0 to 255 for 0 to 1 |
//! | 28 | 4 | rotation: w, x, y, z; 128 is 0, and 256 would be 1 |
//!
//! Spherical harmonics above the constant cannot be stored. Other programs sort rows by size and opacity, because
//! viewers draw the first rows first; here, the order is kept. Coordinates are the same as in PLY files.

use crate::SplatsFound;
use crate::pages::{RecordStream, byte, write_streams};
use crate::records::{DecodeRecords, RecordReader, resize_column};
use polyhaul_geometry::splats::{SplatsJob, SplatsTarget, note_clamped, splats_to_write};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, elements_hint, planted};
use polyhaul_model::splats::{
    SplatColumns, Splats, color_of, harmonic_of, log_of, logit_of, opacity_of, unit_quaternion,
};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::write::Writing;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes per splat.
pub(crate) const ROW_BYTES: usize = 32;
/// Minimum number of rows to read at once from a stream of unknown length.
const STREAM_ROWS: usize = 1 << 18;
/// Byte for a rotation component of zero.
const NO_ROTATION: f32 = 128.0;

/// Limits of the format.
pub(crate) const TARGET: SplatsTarget<'static> = SplatsTarget {
    format: ".splat",
    max_degree: 0,
    precision: "colors and opacities to 1/255, rotations to 1/128",
    has_antialiasing: false,
    has_comments: false,
};

/// Reads splats.
///
/// # Errors
/// Errors of the source; [`ErrorKind::Malformed`] for an incomplete row at the end, unless faults are skipped;
/// [`ErrorKind::Limit`]; [`ErrorKind::Memory`].
pub fn read(mut feed: Feed<'_>, options: &ParseOptions) -> Result<SplatsFound> {
    let mut columns = SplatColumns::default();
    let mut warnings = Warnings::default();
    let mut threads = 1;
    let row_count = feed.size().map(|size| size / ROW_BYTES as u64);
    let limit = options.limits.elements.min(u64::from(u32::MAX) - 1);
    let max_rows = usize::try_from(limit).unwrap_or(usize::MAX);
    if row_count.is_some_and(|row_count| row_count > limit) {
        return Err(too_many(limit));
    }
    let clamped = AtomicU64::new(0);
    let decode: DecodeRecords<'_> = &|bytes, columns| {
        clamped.fetch_add(decode(bytes, columns), Ordering::Relaxed);
    };
    let mut count = 0;
    loop {
        // For streams of unknown length, the number of rows doubles each time, so that columns are rarely reallocated.
        let requested =
            row_count.map_or(STREAM_ROWS.max(count), |row_count| row_count as usize - count).min(max_rows - count);
        resize(&mut columns, count + requested)?;
        let records = RecordReader { count: requested, bytes: ROW_BYTES, decode };
        let read = records.read(&mut feed, targets(&mut columns, count), &options.run)?;
        threads = threads.max(read.threads);
        count += read.count;
        if read.count < requested || requested == 0 || row_count.is_some() {
            break;
        }
    }
    resize(&mut columns, count)?;
    let rest = feed.drain()?;
    feed.check_end(Extent::Whole, &options.run.cancel)?;
    // At the limit, one more complete row shows that the limit was exceeded.
    if rest >= ROW_BYTES as u64 && count == max_rows {
        return Err(too_many(limit));
    }
    let end = count as u64 * ROW_BYTES as u64;
    let missing = row_count.is_some_and(|row_count| row_count > count as u64);
    if (rest > 0 || missing || feed.at() > end) && !planted("splat-cut") {
        let message = format!("unexpected end of file in splat {}", count + 1);
        let expected = Some(format!("{ROW_BYTES} bytes per splat"));
        let diagnostic = Diagnostic { expected, ..Diagnostic::at(feed.name(), end, message) };
        warnings.broken(options.faults, "truncated", diagnostic)?;
    }
    // Comes last: with `strict`, it may be an error, and a limit is exceeded before the end if the size is known.
    note_scales(clamped.load(Ordering::Relaxed), &feed, options, &mut warnings)?;
    Ok(SplatsFound { scene: columns.into_scene()?, warnings, threads })
}

/// Warns about scales that have no logarithm.
fn note_scales(count: u64, feed: &Feed<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
    let words = ["scale of a splat was clamped", "scales of splats were clamped"];
    let message = format!("{}: negative or not a number", counted(count, words));
    warnings.note_dropped(options.faults, "clamped-numbers", count, Diagnostic::of_file(feed.name(), message))
}

fn too_many(limit: u64) -> Error {
    let message = format!("more splats than the limit `elements` ({limit})");
    Diagnostic { hint: elements_hint(limit), ..Diagnostic::new(message) }.into_error(ErrorKind::Limit)
}

/// Resizes every column.
fn resize(columns: &mut SplatColumns, count: usize) -> Result<()> {
    let SplatColumns { positions, opacities, scales, rotations, constants, .. } = columns;
    resize_column(positions, count)?;
    let others = scales.iter_mut().chain(rotations).chain(constants);
    std::iter::once(opacities).chain(others).try_for_each(|column| resize_column(column, count))
}

/// Returns the columns, starting at splat `first`: positions, opacities, scales, rotations, colors.
fn targets(columns: &mut SplatColumns, first: usize) -> Vec<&mut [f32]> {
    let SplatColumns { positions, opacities, scales, rotations, constants, .. } = columns;
    let others = scales.iter_mut().chain(rotations).chain(constants);
    let others = std::iter::once(opacities).chain(others).map(|column| &mut column[first..]);
    std::iter::once(positions[first..].as_flattened_mut()).chain(others).collect()
}

/// Decodes rows. Returns the number of scales that are negative or NaN.
fn decode(bytes: &[u8], columns: &mut [&mut [f32]]) -> u64 {
    let [positions, opacities, others @ ..] = columns else { return 0 };
    let rows = bytes.as_chunks::<ROW_BYTES>().0;
    let Some((scales, others)) = others.split_first_chunk_mut::<3>() else { return 0 };
    let Some((rotations, colors)) = others.split_first_chunk_mut::<4>() else { return 0 };
    let mut clamped = 0;
    let float = |row: &[u8; ROW_BYTES], number: usize| {
        row.as_chunks::<4>().0.get(number).map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    };
    for (at, (row, position)) in rows.iter().zip(positions.as_chunks_mut::<3>().0).enumerate() {
        *position = [0, 1, 2].map(|axis| float(row, axis));
        for (column, number) in scales.iter_mut().zip(3..) {
            let scale = float(row, number);
            clamped += u64::from(!(0.0..=f32::INFINITY).contains(&scale));
            column[at] = log_of(scale);
        }
        let unit = |byte: u8| f32::from(byte) / 255.0;
        colors.iter_mut().zip(&row[24..27]).for_each(|(column, &byte)| column[at] = harmonic_of(unit(byte)));
        opacities[at] = logit_of(unit(row[27]));
        let quaternion = [28, 29, 30, 31].map(|offset| (f32::from(row[offset]) - NO_ROTATION) / NO_ROTATION);
        let unit = unit_quaternion(quaternion);
        rotations.iter_mut().zip(unit).for_each(|(column, part)| column[at] = part);
    }
    clamped
}

/// Writes the splats of a scene.
///
/// # Errors
/// As for [`splats_to_write`]; errors of the output.
pub fn write(job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    let splats = splats_to_write(job, &TARGET, warnings)?;
    let clamped = write_streams(&[rows(&splats)], splats.len(), Vec::new(), job.run, writing)?;
    note_clamped(job, &TARGET, clamped, warnings);
    Ok(())
}

/// Returns the stream of rows.
pub(crate) fn rows<'s>(splats: &'s Splats<'_>) -> RecordStream<'s> {
    let format = |splats_of: Range<usize>, out: &mut [u8]| encode(splats, splats_of, out);
    RecordStream { bytes: ROW_BYTES, format: Box::new(format) }
}

fn encode(splats: &Splats<'_>, range: Range<usize>, out: &mut [u8]) -> u64 {
    let mut clamped = 0;
    let mut cut = |value: f32| {
        let (byte, is_cut) = byte(value);
        clamped += is_cut;
        byte
    };
    for (row, at) in out.as_chunks_mut::<ROW_BYTES>().0.iter_mut().zip(range) {
        let scales = splats.scales.map(|scale| scale[at].exp());
        let floats = splats.positions[at].into_iter().chain(scales);
        row.as_chunks_mut::<4>().0.iter_mut().zip(floats).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
        for (color, channel) in row[24..27].iter_mut().zip(&splats.harmonics) {
            *color = cut(255.0 * color_of(channel[0][at]));
        }
        row[27] = cut(255.0 * opacity_of(splats.opacities[at]));
        let unit = unit_quaternion(splats.rotation(at));
        // 1.0 would be 256, but the byte saturates at 255.
        row[28..]
            .iter_mut()
            .zip(unit)
            .for_each(|(rotation, part)| *rotation = byte(NO_ROTATION + NO_ROTATION * part).0);
    }
    clamped
}
