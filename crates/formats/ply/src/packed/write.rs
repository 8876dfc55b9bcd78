//! Writes splats as compressed PLY.

use super::super::writer::note_remarks;
use super::order::by_place;
use super::{CHUNK, LARGEST_HARMONIC, LARGEST_OTHER, PACKED, RANGES, TRIPLE};
use polyhaul_geometry::losses::note;
use polyhaul_geometry::splats::{SplatsJob, SplatsTarget, are_antialiased, note_clamped, splats_to_write};
use polyhaul_model::Mesh;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::splats::{
    ANTIALIASED, ANTIALIASED_COMMENT, SplatColumns, Splats, color_of, opacity_of, unit_quaternion,
};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::arrays::{Zero, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::write::{Pages, Writing};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum magnitude of a log scale; larger values are clamped.
const LARGEST_SCALE: f32 = 20.0;
/// Smaller ranges count as a single value.
const MIN_RANGE: f32 = 0.00001;
/// Bytes per splat.
const SPLAT_BYTES: usize = 16;
/// Approximate bytes per page.
const PAGE_BYTES: usize = 512 << 10;

const TARGET: SplatsTarget<'static> = SplatsTarget {
    format: "compressed PLY",
    max_degree: 3,
    precision: "positions and scales to 1/2047 of the range of 256 splats (1/1023 along y), colors to 1/255 of it, \
                opacities to 1/255, rotations to 0.0014, harmonics to 0.031",
    has_antialiasing: true,
    has_comments: true,
};

/// Value ranges of a chunk, in the order of [`RANGES`].
type ChunkRanges = [f32; RANGES.len()];

/// Writes the splats of a scene.
pub fn write(job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    let splats = splats_to_write(job, &TARGET, warnings)?;
    let order = if job.options.own.keep_order { None } else { Some(by_place(splats.positions, job.run)?) };
    let moved = order.iter().flatten().zip(0..).filter(|(number, place)| *number != place).count();
    let what = counted(moved as u64, ["splat was", "splats were"]);
    let message = format!("{what} reordered: splats are now sorted by position");
    note(job.output, "changed-order", moved as u64, message, warnings);
    warnings.refuse_losses(job.strict)?;
    let moved = match &order {
        // A page would read values at random positions on disk; copying column by column makes them adjacent.
        Some(order) if polyhaul_spill::has_arrays_on_disk() => Some(in_order(&splats, order, job.run)?),
        _ => None,
    };
    let source = match moved.as_ref().and_then(Splats::from_mesh) {
        Some(splats) => OrderedSplats { splats, order: None },
        None => OrderedSplats { splats, order },
    };
    let ranges = source.ranges(job.run)?;
    let head = header(&source.splats, ranges.len(), &remarks(job)?)?;
    note_remarks([&job.scene.comments, &job.scene.infos], job.output, warnings);
    let pages = PackedPages::new(&source, &ranges, job.run);
    writing.announce(head.len() as u64 + pages.bytes());
    writing.set_head(head);
    writing.pages(&pages, &mut (), pages.count(), pages.page_bytes)?;
    note_clamped(job, &TARGET, pages.clamped.load(Ordering::Relaxed), warnings);
    Ok(())
}

/// Formats the comments of a scene as header lines. If the splats were trained for antialiased rendering, they include
/// the comment that other programs look for.
fn remarks(job: &SplatsJob<'_>) -> Result<String> {
    let failed = |_| Error::memory("the header");
    let mut text = String::new();
    // Do not repeat the comment that this program wrote to an earlier file.
    let comments = job.scene.comments.iter().filter(|comment| !comment.starts_with("polyhaul "));
    let infos = job.scene.infos.iter().filter(|info| *info != ANTIALIASED);
    for (word, remark) in comments.map(|text| ("comment", text)).chain(infos.map(|text| ("obj_info", text))) {
        for line in remark.split(['\n', '\r']) {
            writeln!(text, "{word} {}", names::remark(line)).map_err(failed)?;
        }
    }
    let is_marked = job.scene.comments.iter().any(|comment| comment == ANTIALIASED_COMMENT);
    if are_antialiased(job) && !is_marked {
        writeln!(text, "comment {ANTIALIASED_COMMENT}").map_err(failed)?;
    }
    Ok(text)
}

fn header(splats: &Splats<'_>, chunks: usize, remarks: &str) -> Result<Vec<u8>> {
    let mut text = String::from("ply\nformat binary_little_endian 1.0\n");
    let failed = |_| Error::memory("the header");
    writeln!(text, "comment polyhaul {}", env!("CARGO_PKG_VERSION")).map_err(failed)?;
    text.push_str(remarks);
    writeln!(text, "element chunk {chunks}").map_err(failed)?;
    RANGES.iter().try_for_each(|name| writeln!(text, "property float {name}")).map_err(failed)?;
    writeln!(text, "element vertex {}", splats.len()).map_err(failed)?;
    PACKED.iter().try_for_each(|name| writeln!(text, "property uint {name}")).map_err(failed)?;
    let rest = rest(splats);
    if rest > 0 {
        writeln!(text, "element sh {}", splats.len()).map_err(failed)?;
        (0..rest).try_for_each(|number| writeln!(text, "property uchar f_rest_{number}")).map_err(failed)?;
    }
    text.push_str("end_header\n");
    Ok(text.into_bytes())
}

/// Number of harmonics per splat, excluding the constants.
fn rest(splats: &Splats<'_>) -> usize {
    splats.harmonics.iter().map(|channel| channel.len().saturating_sub(1)).sum()
}

/// Splats between two checks of the process's memory.
const RELIEVED: usize = 1 << 14;
/// Bytes of source values per pass.
const BLOCK_BYTES: usize = 32 << 20;

/// Copies splats into another order.
fn in_order(splats: &Splats<'_>, order: &[u32], run: &RunOptions) -> Result<Mesh> {
    let column = |values: &[f32]| picked(values, order, run);
    let mut columns = SplatColumns {
        positions: picked(splats.positions, order, run)?,
        opacities: column(splats.opacities)?,
        ..SplatColumns::default()
    };
    for (to, from) in columns.scales.iter_mut().zip(splats.scales) {
        *to = column(from)?;
    }
    for (to, from) in columns.rotations.iter_mut().zip(splats.rotations) {
        *to = column(from)?;
    }
    for (to, from) in columns.constants.iter_mut().zip(&splats.harmonics) {
        *to = column(from[0])?;
    }
    for from in splats.harmonics.iter().flat_map(|channel| &channel[1..]) {
        try_push(&mut columns.rest, column(from)?, "columns")?;
    }
    columns.into_mesh()
}

/// Gathers values in this order. Goes through the source in blocks, so that only one block must be in memory, however
/// random the order is.
fn picked<T: Zero + Send + Sync>(values: &[T], order: &[u32], run: &RunOptions) -> Result<Vec<T>> {
    let mut picked: Vec<T> = zeroed(order.len(), "columns")?;
    let block_values = BLOCK_BYTES / size_of::<T>().max(1);
    for (block, first) in values.chunks(block_values).zip((0..).step_by(block_values)) {
        let pieces = picked.chunks_mut(RELIEVED).zip(order.chunks(RELIEVED));
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            pieces,
            || (),
            |(), (picked, order)| {
                for (to, &from) in picked.iter_mut().zip(order) {
                    if let Some(value) = (from as usize).checked_sub(first).and_then(|from| block.get(from)) {
                        *to = *value;
                    }
                }
                Ok(())
            },
        )?;
    }
    Ok(picked)
}

/// Splats in file order.
struct OrderedSplats<'a> {
    splats: Splats<'a>,
    order: Option<Vec<u32>>,
}

impl OrderedSplats<'_> {
    /// Returns the index of the splat at position `place` in the file.
    fn number(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place] as usize)
    }

    /// Returns the position, the clamped scales and the color of a splat, with non-finite components set to 0.
    fn values(&self, number: usize) -> [[f32; 3]; 3] {
        let Splats { positions, scales, harmonics, .. } = &self.splats;
        let scales = scales.map(|scale| scale[number].clamp(-LARGEST_SCALE, LARGEST_SCALE));
        let colors = std::array::from_fn(|channel: usize| color_of(harmonics[channel][0][number]));
        [positions[number], scales, colors]
            .map(|values| values.map(|value| if value.is_finite() { value } else { 0.0 }))
    }

    fn ranges(&self, run: &RunOptions) -> Result<Vec<ChunkRanges>> {
        let count = self.splats.len().div_ceil(CHUNK);
        let mut flat: Vec<[f32; RANGES.len()]> = zeroed(count, "ranges of chunks")?;
        const TURN: usize = 256;
        let turns = flat.chunks_mut(TURN).enumerate();
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            turns,
            || (),
            |(), (turn, ranges)| {
                for (chunk, range) in (turn * TURN..).zip(ranges) {
                    *range = self.range(chunk * CHUNK..self.splats.len().min((chunk + 1) * CHUNK));
                }
                Ok(())
            },
        )?;
        Ok(flat)
    }

    fn range(&self, places: Range<usize>) -> ChunkRanges {
        let mut min = [[f32::INFINITY; 3]; 3];
        let mut max = [[f32::NEG_INFINITY; 3]; 3];
        for place in places {
            let values = self.values(self.number(place));
            for (kind, values) in values.iter().enumerate() {
                for (axis, &value) in values.iter().enumerate() {
                    min[kind][axis] = value.min(min[kind][axis]);
                    max[kind][axis] = value.max(max[kind][axis]);
                }
            }
        }
        let mut ranges = [0.0; RANGES.len()];
        let bounds = min.iter().zip(&max).flat_map(|(min, max)| min.iter().chain(max));
        ranges.iter_mut().zip(bounds).for_each(|(range, &value)| *range = value);
        ranges
    }

    /// Packs a splat into four integers. Also returns how many numbers were clamped.
    fn packed(&self, place: usize, ranges: &ChunkRanges) -> ([u32; 4], u64) {
        let number = self.number(place);
        let values = self.values(number);
        let part = |kind: usize, axis: usize| {
            let min = ranges[6 * kind + axis];
            let max = ranges[6 * kind + 3 + axis];
            if max - min < MIN_RANGE { 0.0 } else { (values[kind][axis] - min) / (max - min) }
        };
        let triple = |kind: usize| -> u32 {
            let parts = TRIPLE.iter().enumerate();
            parts.map(|(axis, &(bits, shift))| packed_part(part(kind, axis), bits) << shift).sum()
        };
        let opacity = opacity_of(self.splats.opacities[number]);
        let color = [part(2, 0), part(2, 1), part(2, 2), opacity];
        let color = color.iter().fold(0, |bytes, part| bytes << 8 | packed_part(*part, 8));
        let given = self.splats.positions[number].into_iter().chain(self.splats.scales.map(|scale| scale[number]));
        let clamped = values[0].into_iter().chain(values[1]);
        let cut = given.zip(clamped).filter(|(given, clamped)| given != clamped).count();
        ([triple(0), packed_rotation(self.splats.rotation(number)), triple(1), color], cut as u64)
    }
}

/// Quantizes a fraction from 0 to 1.
fn packed_part(part: f32, bits: u32) -> u32 {
    let max_code = ((1 << bits) - 1) as f32;
    (part.clamp(0.0, 1.0) * max_code + 0.5) as u32
}

fn packed_rotation(quaternion: [f32; 4]) -> u32 {
    let unit = unit_quaternion(quaternion);
    let largest = (1..4).fold(0, |largest: usize, at| if unit[at].abs() > unit[largest].abs() { at } else { largest });
    // A quaternion and its negative are the same rotation, so the largest component, which is not stored, can be
    // positive.
    let sign = if unit[largest] < 0.0 { -1.0 } else { 1.0 };
    let others = (0..4).filter(|at| *at != largest).map(|at| sign * unit[at] / (2.0 * LARGEST_OTHER) + 0.5);
    others.fold(largest as u32, |bits, part| bits << 10 | packed_part(part, 10))
}

/// Quantizes a harmonic. Also returns whether it was clamped.
fn packed_harmonic(value: f32) -> (u8, bool) {
    let scaled = (value / (2.0 * LARGEST_HARMONIC) + 0.5) * 256.0;
    // NaN becomes 0.
    let scaled = if scaled.is_nan() { 128.0 } else { scaled };
    // The conversion saturates, so values outside the range become 0 or 255.
    (scaled as u8, value.is_nan() || value.abs() > LARGEST_HARMONIC)
}

/// Rows of the elements, in pages.
struct PackedPages<'a> {
    source: &'a OrderedSplats<'a>,
    ranges: &'a [ChunkRanges],
    page_bytes: usize,
    /// Number of values outside the format's range.
    clamped: AtomicU64,
}

/// An element of the file.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum PackedElement {
    #[default]
    Chunks,
    Splats,
    Harmonics,
}

#[derive(Default)]
struct PackedSlot {
    element: PackedElement,
    rows: Range<usize>,
    bytes: Vec<u8>,
}

impl<'a> PackedPages<'a> {
    fn new(source: &'a OrderedSplats<'a>, ranges: &'a [ChunkRanges], run: &RunOptions) -> Self {
        let page_bytes = run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
        PackedPages { source, ranges, page_bytes, clamped: AtomicU64::new(0) }
    }

    /// Returns the elements, each with its bytes per row and its number of rows.
    fn elements(&self) -> [(PackedElement, usize, usize); 3] {
        let count = self.source.splats.len();
        [
            (PackedElement::Chunks, 4 * RANGES.len(), self.ranges.len()),
            (PackedElement::Splats, SPLAT_BYTES, count),
            (PackedElement::Harmonics, rest(&self.source.splats), count),
        ]
    }

    fn page_rows(&self, row_bytes: usize) -> usize {
        (self.page_bytes / row_bytes.max(1)).max(1)
    }

    fn bytes(&self) -> u64 {
        self.elements().iter().map(|(_, bytes, rows)| *bytes as u64 * *rows as u64).sum()
    }

    fn count(&self) -> u64 {
        self.elements().iter().map(|&(_, bytes, rows)| rows.div_ceil(self.page_rows(bytes)) as u64).sum()
    }

    fn splats(&self, rows: &Range<usize>, out: &mut Vec<u8>) -> u64 {
        let mut clamped = 0;
        for place in rows.clone() {
            let (packed, cut) = self.source.packed(place, &self.ranges[place / CHUNK]);
            packed.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
            clamped += cut;
        }
        clamped
    }

    fn harmonics(&self, rows: &Range<usize>, out: &mut Vec<u8>) -> u64 {
        let mut clamped = 0;
        for place in rows.clone() {
            let number = self.source.number(place);
            for column in self.source.splats.harmonics.iter().flat_map(|channel| &channel[1..]) {
                let (byte, is_cut) = packed_harmonic(column[number]);
                out.push(byte);
                clamped += u64::from(is_cut);
            }
        }
        clamped
    }
}

impl Pages for PackedPages<'_> {
    type Slot = PackedSlot;
    type State = ();

    fn slot(&self) -> Result<PackedSlot> {
        Ok(PackedSlot::default())
    }

    fn take(&self, number: u64, slot: &mut PackedSlot) -> Result<bool> {
        let mut number = usize::try_from(number).unwrap_or(usize::MAX);
        for (element, row_bytes, rows) in self.elements().into_iter().filter(|(_, bytes, _)| *bytes > 0) {
            let page_rows = self.page_rows(row_bytes);
            let pages = rows.div_ceil(page_rows);
            if number < pages {
                slot.element = element;
                slot.rows = number * page_rows..rows.min((number + 1) * page_rows);
                return Ok(true);
            }
            number -= pages;
        }
        Ok(false)
    }

    fn format(&self, slot: &mut PackedSlot) -> Result<()> {
        let PackedSlot { element, rows, bytes } = slot;
        let row_bytes = self.elements().iter().find(|(other, ..)| other == element).map_or(0, |&(_, bytes, _)| bytes);
        bytes.clear();
        bytes.try_reserve_exact(rows.len() * row_bytes).map_err(|_| Error::memory("a page"))?;
        let clamped = match element {
            PackedElement::Chunks => {
                let ranges = self.ranges[rows.clone()].as_flattened();
                ranges.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
                0
            }
            PackedElement::Splats => self.splats(rows, bytes),
            PackedElement::Harmonics => self.harmonics(rows, bytes),
        };
        self.clamped.fetch_add(clamped, Ordering::Relaxed);
        Ok(())
    }

    fn bytes<'b>(&'b self, slot: &'b PackedSlot) -> &'b [u8] {
        &slot.bytes
    }
}
