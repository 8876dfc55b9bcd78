//! Decodes pixels into columns in parallel: each piece of the columns is filled independently.

use super::image::SogImage;
use super::meta::{CENTROIDS, LABELS, MEANS, QUATS, SCALES, SH0, SogMeta};
use crate::records::ByteTable;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::splats::{HARMONICS, SplatColumns};
use polyhaul_pipeline::arrays::PIECE;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alpha value that marks a rotation whose first component is the largest.
const FIRST_LARGEST: u8 = 252;

/// Invalid values found while decoding.
#[derive(Default)]
pub(super) struct SogFaults {
    rotations: FaultCount,
    labels: FaultCount,
}

struct FaultCount {
    count: AtomicU64,
    /// Index of the first splat with a fault.
    first: AtomicU64,
}

impl Default for FaultCount {
    fn default() -> FaultCount {
        FaultCount { count: AtomicU64::new(0), first: AtomicU64::new(u64::MAX) }
    }
}

impl FaultCount {
    fn add(&self, splat: usize) {
        // Relaxed: the counts are read only after all threads have finished.
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.fetch_min(splat as u64, Ordering::Relaxed);
    }

    /// Returns the number of faults, and the index of the first splat with a fault.
    fn get(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.first.load(Ordering::Relaxed))
    }
}

impl SogFaults {
    /// Returns the number of rotations with an invalid alpha, and the index of the first such splat.
    pub(super) fn rotations(&self) -> (u64, u64) {
        self.rotations.get()
    }

    /// Returns the number of labels without a palette entry, and the index of the first such splat.
    pub(super) fn labels(&self) -> (u64, u64) {
        self.labels.get()
    }
}

/// Parts of columns for a range of splats.
struct SplatPiece<'m> {
    /// Index of the first splat.
    first: usize,
    positions: &'m mut [[f32; 3]],
    opacities: &'m mut [f32],
    scales: [&'m mut [f32]; 3],
    rotations: [&'m mut [f32]; 4],
    constants: [&'m mut [f32]; 3],
    rest: Vec<&'m mut [f32]>,
}

/// Splits columns into pieces.
fn pieces(columns: &mut SplatColumns) -> impl Iterator<Item = SplatPiece<'_>> + Send {
    let count = columns.positions.len();
    let SplatColumns { positions, opacities, scales, rotations, constants, rest } = columns;
    let mut positions = &mut positions[..];
    let mut opacities = &mut opacities[..];
    let mut scales = scales.each_mut().map(|column| &mut column[..]);
    let mut rotations = rotations.each_mut().map(|column| &mut column[..]);
    let mut constants = constants.each_mut().map(|column| &mut column[..]);
    let mut rest: Vec<&mut [f32]> = rest.iter_mut().map(|column| &mut column[..]).collect();
    (0..count).step_by(PIECE).map(move |first| {
        let size = PIECE.min(count - first);
        SplatPiece {
            first,
            positions: positions.split_off_mut(..size).unwrap_or_default(),
            opacities: taken(&mut opacities, size),
            scales: scales.each_mut().map(|column| taken(column, size)),
            rotations: rotations.each_mut().map(|column| taken(column, size)),
            constants: constants.each_mut().map(|column| taken(column, size)),
            rest: rest.iter_mut().map(|column| taken(column, size)).collect(),
        }
    })
}

/// Removes and returns the first values of a slice.
fn taken<'m>(values: &mut &'m mut [f32], count: usize) -> &'m mut [f32] {
    values.split_off_mut(..count).unwrap_or_default()
}

/// Fills columns with the values of all splats. Returns the faults that were found.
pub(super) fn decode(
    meta: &SogMeta,
    images: &[SogImage],
    columns: &mut SplatColumns,
    degree: usize,
    run: &RunOptions,
) -> Result<SogFaults> {
    let image = |number: usize| {
        let missing = || Error::new(ErrorKind::Internal, "an image of SOG is missing");
        images.get(number).map(SogImage::pixels).ok_or_else(missing)
    };
    let [low, high] = [image(MEANS[0])?, image(MEANS[1])?];
    let [scales, quats, sh0] = [image(SCALES)?, image(QUATS)?, image(SH0)?];
    let palette = match &meta.harmonics {
        Some(harmonics) => {
            let entries = image(CENTROIDS)?;
            let labels = image(LABELS)?;
            let more = HARMONICS[degree];
            let count = harmonics.count.unwrap_or(entries.len() / more.max(1));
            Some(SogPalette { entries, labels, table: &harmonics.table, more, count })
        }
        None => None,
    };
    let parts = part_table();
    let faults = SogFaults::default();
    try_for_each_item(
        run.worker_threads(),
        &run.cancel,
        pieces(columns),
        || (),
        |(), piece| {
            let splats = piece.first..piece.first + piece.positions.len();
            let within = |pixels| part(pixels, &splats);
            positions(piece.positions, within(low), within(high), &meta.means);
            by_tables(piece.scales, within(scales), &meta.scales);
            by_tables(piece.constants, within(sh0), &meta.colors);
            let opacities = piece.opacities.iter_mut().zip(within(sh0));
            opacities.for_each(|(value, pixel)| *value = meta.opacities[usize::from(pixel[3])]);
            rotations(piece.rotations, within(quats), &parts, |at| faults.rotations.add(piece.first + at));
            if let Some(palette) = &palette {
                palette.look_up(piece.rest, splats.clone(), |splat| faults.labels.add(splat));
            }
            Ok(())
        },
    )?;
    Ok(faults)
}

/// Returns the pixels of some splats.
fn part<'p>(pixels: &'p [[u8; 4]], splats: &Range<usize>) -> &'p [[u8; 4]] {
    pixels.get(splats.clone()).unwrap_or_default()
}

fn positions(out: &mut [[f32; 3]], low: &[[u8; 4]], high: &[[u8; 4]], ranges: &[[f64; 2]; 3]) {
    for ((position, low), high) in out.iter_mut().zip(low).zip(high) {
        *position = std::array::from_fn(|axis| {
            let [min, max] = ranges[axis];
            let part = f64::from(u16::from_le_bytes([low[axis], high[axis]])) / 65_535.0;
            let logarithm = min + (max - min) * part;
            // The inverse of sign(x) · ln(1 + abs(x)); `exp_m1` keeps its precision near zero.
            logarithm.abs().exp_m1().copysign(logarithm) as f32
        });
    }
}

/// Decodes red, green and blue, each with its own table.
fn by_tables(columns: [&mut [f32]; 3], pixels: &[[u8; 4]], tables: &[ByteTable; 3]) {
    for (channel, (column, table)) in columns.into_iter().zip(tables).enumerate() {
        column.iter_mut().zip(pixels).for_each(|(value, pixel)| *value = table[usize::from(pixel[channel])]);
    }
}

/// Returns the table with the rotation component for each byte.
fn part_table() -> ByteTable {
    std::array::from_fn(|byte| ((byte as f64 / 255.0 * 2.0 - 1.0) * FRAC_1_SQRT_2) as f32)
}

/// Decodes rotations: w, x, y, z. Reports rotations with an invalid alpha, which become the identity.
fn rotations(columns: [&mut [f32]; 4], pixels: &[[u8; 4]], parts: &ByteTable, mut report: impl FnMut(usize)) {
    let [w, x, y, z] = columns;
    let out = w.iter_mut().zip(x).zip(y).zip(z);
    for (at, ((((w, x), y), z), &[red, green, blue, alpha])) in out.zip(pixels).enumerate() {
        let [a, b, c] = [red, green, blue].map(|byte| parts[usize::from(byte)]);
        // Rounding may push the sum above 1.
        let largest = (1.0 - (a * a + b * b + c * c)).max(0.0).sqrt();
        [*w, *x, *y, *z] = match alpha.checked_sub(FIRST_LARGEST) {
            Some(0) => [largest, a, b, c],
            Some(1) => [a, largest, b, c],
            Some(2) => [a, b, largest, c],
            Some(_) => [a, b, c, largest],
            None => {
                report(at);
                [1.0, 0.0, 0.0, 0.0]
            }
        };
    }
}

/// Palette of harmonics.
struct SogPalette<'a> {
    entries: &'a [[u8; 4]],
    labels: &'a [[u8; 4]],
    table: &'a ByteTable,
    /// Number of harmonics per channel.
    more: usize,
    /// Number of entries.
    count: usize,
}

impl SogPalette<'_> {
    /// Fills the columns of some splats. Reports labels without an entry; the harmonics of these splats remain 0.
    fn look_up(&self, mut columns: Vec<&mut [f32]>, splats: Range<usize>, mut report: impl FnMut(usize)) {
        let more = self.more;
        let labels = part(self.labels, &splats);
        for (at, &[low, high, ..]) in labels.iter().enumerate() {
            let label = usize::from(u16::from_le_bytes([low, high]));
            // Each row has a whole number of entries, so entries are consecutive across rows.
            let entry = self.entries.get(label * more..(label + 1) * more).filter(|_| label < self.count);
            let Some(entry) = entry else {
                report(splats.start + at);
                continue;
            };
            for (number, pixel) in entry.iter().enumerate() {
                for (channel, byte) in pixel[..3].iter().enumerate() {
                    columns[channel * more + number][at] = self.table[usize::from(*byte)];
                }
            }
        }
    }
}
