//! Writes SPZ files as one gzip member or, in version 4, as separately compressed streams.

use super::axes::SpzSystem;
use super::extensions::declaration;
use super::frames::{SLOT_BYTES, SpzFrames};
use super::header::{HAS_ANTIALIASING, HAS_EXTENSIONS, LONG_ROTATIONS, STREAMS, SpzHeader};
use super::quantize::{color, coordinate, harmonic, long_rotation, scale, short_rotation};
use super::read::SpzAttribute;
use super::turn;
use crate::pages::{FormatRecords, RecordStream, byte, write_streams};
use polyhaul_geometry::splats::{SplatsJob, SplatsTarget, are_antialiased, note_clamped, splats_to_write};
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy};
use polyhaul_model::options::{SplatWriteOptions, SpzAxes};
use polyhaul_model::splats::{SplatColumns, Splats, opacity_of};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Bounds, Mesh};
use polyhaul_pipeline::write::Writing;
use std::ops::Range;

/// Maximum degree of spherical harmonics.
const MAX_DEGREE: usize = 4;
/// Number of fractional bits of positions. Fewer are used if a position would not fit otherwise.
const FRACTIONAL_BITS: u8 = 12;
/// Maximum 24-bit coordinate without fractional bits.
const MAX_COORDINATE: f32 = 8_388_607.0;
/// Number of levels for harmonics of the first degree, and for harmonics of higher degrees. Fewer levels compress
/// better.
const FIRST_STEPS: u32 = 32;
const STEPS: u32 = 16;

/// Checks the version in the options.
///
/// # Errors
/// [`ErrorKind::Usage`] for versions that cannot be written.
pub fn check_options(options: &SplatWriteOptions) -> Result<()> {
    if (2..=4).contains(&options.spz_version) {
        return Ok(());
    }
    let message = format!("cannot write SPZ version {}", options.spz_version);
    Err(Error::new(ErrorKind::Usage, message).with_hint("set `spz_version` to 2, 3 or 4"))
}

/// Writes the splats of a scene as one gzip member or, in version 4, as streams.
///
/// # Errors
/// As for [`check_options`] and [`splats_to_write`]; [`ErrorKind::Usage`] for an unsupported compression level; errors
/// of the output.
pub fn write(job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    check_options(job.options.own)?;
    let fractional_bits = fractional_bits(job.scene.meshes.first().map_or(&[], |mesh| &mesh.positions));
    let precision = precision(fractional_bits, job.options.own.spz_version);
    let target = target(&precision);
    let splats = splats_to_write(job, &target, warnings)?;
    let axes = job.options.own.spz_axes;
    let turned = if axes == SpzAxes::Rub { None } else { Some(turned(&splats, axes, job)?) };
    let splats = turned.as_ref().and_then(Splats::from_mesh).unwrap_or(splats);
    let header = header(job, [splats.len(), splats.degree()], fractional_bits);
    let streams = SpzAttribute::ALL.map(|attribute| stream(attribute, &header, &splats));
    let clamped = write_all(&streams, header, job, writing)?;
    note_clamped(job, &target, clamped, warnings);
    Ok(())
}

/// Copies splats, transformed so that writing the copy with SPZ's axes produces the requested axes.
fn turned(splats: &Splats<'_>, axes: SpzAxes, job: &SplatsJob<'_>) -> Result<Mesh> {
    let columns =
        |values: &[&[f32]]| values.iter().map(|values| try_copy(values, "splats")).collect::<Result<Vec<_>>>();
    let three = |values: [&[f32]; 3]| -> Result<[Vec<f32>; 3]> {
        let [first, second, third] = values.map(|values| try_copy(values, "splats"));
        Ok([first?, second?, third?])
    };
    let [w, x, y, z] = splats.rotations.map(|values| try_copy(values, "splats"));
    let mut rest = Vec::new();
    for channel in &splats.harmonics {
        rest.append(&mut columns(&channel[1..])?);
    }
    let copied = SplatColumns {
        positions: try_copy(splats.positions, "splats")?,
        opacities: try_copy(splats.opacities, "splats")?,
        scales: three(splats.scales)?,
        rotations: [w?, x?, y?, z?],
        constants: three(splats.harmonics.each_ref().map(|channel| channel[0]))?,
        rest,
    };
    let mut mesh = copied.into_mesh()?;
    SpzSystem::from_axes(axes).correct(&mut mesh, job.run)?;
    Ok(mesh)
}

/// Returns the limits of the format, with a description of its precision.
pub(crate) fn target(precision: &str) -> SplatsTarget<'_> {
    SplatsTarget { format: "SPZ", max_degree: MAX_DEGREE, precision, has_antialiasing: true, has_comments: false }
}

fn header(job: &SplatsJob<'_>, [count, degree]: [usize; 2], fractional_bits: u8) -> SpzHeader {
    let is_declared = u32::from(job.options.own.spz_version) >= STREAMS;
    let flags = if are_antialiased(job) { HAS_ANTIALIASING } else { 0 };
    let flags = flags | if is_declared { HAS_EXTENSIONS } else { 0 };
    SpzHeader { version: u32::from(job.options.own.spz_version), count, degree, fractional_bits, flags, streams: 0 }
}

/// Writes the streams of a file in order. Returns the number of clamped values.
fn write_all(
    streams: &[RecordStream<'_>],
    header: SpzHeader,
    job: &SplatsJob<'_>,
    writing: &mut Writing<'_, '_>,
) -> Result<u64> {
    if header.version >= STREAMS {
        return write_frames(streams, header, job, writing);
    }
    writing.one_member(Some(job.options.own.spz_level))?;
    write_streams(streams, header.count, header.to_bytes().to_vec(), job.run, writing)
}

/// Returns the streams of all attributes except positions, whose integers depend on the largest position.
pub(crate) fn streams_after_positions<'s>(
    version: u8,
    splats: &'s Splats<'_>,
) -> impl Iterator<Item = RecordStream<'s>> {
    let header = SpzHeader { version: u32::from(version), degree: splats.degree(), ..SpzHeader::default() };
    SpzAttribute::ALL.into_iter().skip(1).map(move |attribute| stream(attribute, &header, splats))
}

/// Returns the number of bytes per record for each stream of [`streams_after_positions`].
pub(crate) fn bytes_after_positions(version: u8, degree: usize) -> impl Iterator<Item = usize> {
    SpzAttribute::ALL.into_iter().skip(1).map(move |attribute| attribute.bytes(u32::from(version), degree))
}

/// Writes splats that were packed while they were read: their positions, and the records of the other streams. Returns
/// a description of the precision, and the number of clamped values.
pub(crate) fn write_packed(
    positions: &[[f32; 3]],
    others: Vec<RecordStream<'_>>,
    degree: usize,
    job: &SplatsJob<'_>,
    writing: &mut Writing<'_, '_>,
) -> Result<(String, u64)> {
    let fractional_bits = fractional_bits(positions);
    let header = header(job, [positions.len(), degree], fractional_bits);
    let splats = Splats { positions, ..Splats::default() };
    let mut streams = Vec::new();
    streams.try_reserve_exact(1 + others.len())?;
    streams.push(stream(SpzAttribute::Positions, &header, &splats));
    streams.extend(others);
    let clamped = write_all(&streams, header, job, writing)?;
    Ok((precision(fractional_bits, job.options.own.spz_version), clamped))
}

/// Writes separately compressed streams. Returns the number of clamped values.
fn write_frames(
    streams: &[RecordStream<'_>],
    header: SpzHeader,
    job: &SplatsJob<'_>,
    writing: &mut Writing<'_, '_>,
) -> Result<u64> {
    writing.check_plain()?;
    let frames = SpzFrames::new(streams, header.count, Some(job.options.own.spz_level), job.run)?;
    let head = header.with_table(&declaration(SpzSystem::from_axes(job.options.own.spz_axes)), frames.sizes());
    let packed: u64 = frames.sizes().map(|[packed, _]| packed).sum();
    writing.announce(head.len() as u64 + packed);
    writing.set_head(head);
    // Taken before writing, because frames that were not kept are compressed again, and their values counted again.
    let clamped = frames.clamped();
    // The kept frames use half of the memory.
    writing.pages(&frames, &mut (), frames.count(), 2 * SLOT_BYTES)?;
    Ok(clamped)
}

/// Returns the maximum number of fractional bits, up to [`FRACTIONAL_BITS`], for which all positions fit.
fn fractional_bits(positions: &[[f32; 3]]) -> u8 {
    let bounds = Bounds::of(positions);
    let corners = bounds.iter().flat_map(|bounds| bounds.min.iter().chain(&bounds.max));
    let largest = corners.fold(0.0, |largest: f32, value| largest.max(value.abs()));
    // Multiplying by a power of two is exact, and so is the comparison.
    let fits = |bits: &u8| largest * (1u32 << bits) as f32 <= MAX_COORDINATE;
    (0..=FRACTIONAL_BITS).rev().find(fits).unwrap_or(0)
}

fn precision(fractional_bits: u8, version: u8) -> String {
    let rotations = if u32::from(version) >= LONG_ROTATIONS { "0.0014" } else { "0.008" };
    format!(
        "positions to 1/{}, opacities to 1/255, colors to 1/38, log scales to 1/16, rotations to {rotations}, \
         harmonics to 1/16 in the first degree and 1/8 above",
        1u32 << fractional_bits
    )
}

/// Returns the stream of an attribute.
fn stream<'s>(attribute: SpzAttribute, header: &SpzHeader, splats: &'s Splats<'_>) -> RecordStream<'s> {
    let format: FormatRecords<'s> = match attribute {
        SpzAttribute::Positions => {
            let scale = (1u32 << header.fractional_bits) as f32;
            Box::new(move |range, out| positions(splats.positions.get(range).unwrap_or_default(), scale, out))
        }
        SpzAttribute::Opacities => {
            Box::new(|range, out| bytes(&[splats.opacities], range, out, |_| |logit| byte(255.0 * opacity_of(logit))))
        }
        SpzAttribute::Colors => {
            let constants = splats.harmonics.each_ref().map(|channel| channel.first().copied().unwrap_or_default());
            Box::new(move |range, out| bytes(&constants, range, out, |_| color))
        }
        SpzAttribute::Scales => Box::new(|range, out| bytes(&splats.scales, range, out, |_| scale)),
        SpzAttribute::Rotations if header.version >= LONG_ROTATIONS => {
            Box::new(|range, out| rotations(splats, range, out, long_rotation))
        }
        SpzAttribute::Rotations => Box::new(|range, out| rotations(splats, range, out, short_rotation)),
        SpzAttribute::Harmonics => {
            let more = splats.harmonics[0].len().saturating_sub(1);
            // The red, green and blue of each harmonic.
            let columns: Vec<&[f32]> =
                (0..more).flat_map(|number| splats.harmonics.each_ref().map(|channel| channel[1 + number])).collect();
            Box::new(move |range, out| {
                bytes(&columns, range, out, |column| {
                    let number = column / 3;
                    let sign = turn::harmonic(number);
                    let steps = if number < 3 { FIRST_STEPS } else { STEPS };
                    move |value| harmonic(sign * value, steps)
                })
            })
        }
    };
    RecordStream { bytes: attribute.bytes(header.version, header.degree), format }
}

fn positions(positions: &[[f32; 3]], scale: f32, out: &mut [u8]) -> u64 {
    let mut clamped = 0;
    for (record, position) in out.as_chunks_mut::<9>().0.iter_mut().zip(positions) {
        for ((bytes, value), sign) in record.as_chunks_mut::<3>().0.iter_mut().zip(position).zip(turn::POSITION) {
            let (integer, is_cut) = coordinate(sign * value, scale);
            *bytes = integer;
            clamped += is_cut;
        }
    }
    clamped
}

fn rotations<const N: usize>(
    splats: &Splats<'_>,
    range: Range<usize>,
    out: &mut [u8],
    pack: fn([f32; 4]) -> [u8; N],
) -> u64 {
    let records = out.as_chunks_mut::<N>().0.iter_mut();
    records.zip(range).for_each(|(record, at)| *record = pack(splats.rotation(at)));
    0
}

/// Formats one byte per column. `pack` returns the conversion for a column.
#[inline(always)]
fn bytes<P: Fn(f32) -> (u8, u64)>(
    columns: &[&[f32]],
    range: Range<usize>,
    out: &mut [u8],
    pack: impl Fn(usize) -> P,
) -> u64 {
    let mut clamped = 0;
    for (number, column) in columns.iter().enumerate() {
        let values = column.get(range.clone()).unwrap_or_default();
        // One conversion per column, so that the inner loop does not branch on the column.
        let pack = pack(number);
        for (record, value) in out.chunks_exact_mut(columns.len()).zip(values) {
            let (byte, is_cut) = pack(*value);
            record[number] = byte;
            clamped += is_cut;
        }
    }
    clamped
}
