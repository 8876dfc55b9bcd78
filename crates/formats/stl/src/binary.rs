//! Reads binary STL in blocks of whole triangles. Each block goes into its own slots.

use super::facets::{Facets, Solid, StlPlaces, StlReadFacet, StlRoom, check_count};
use super::reader::StlFound;
use super::{FACET_BYTES, HEADER_BYTES};
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::{Diagnostic, Error, Result, fault, planted, try_push};
use polyhaul_model::options::StlReadOptions;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::blocks::{Block, Blocks, Source};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::read::{Garbage, ask};
use polyhaul_pipeline::run::{Crew, run};
use std::array::from_fn;
use std::sync::Arc;

/// Triangles per block: 256 KiB, which fit in a core's private cache.
const BLOCK_FACETS: usize = 5243;

struct StlBinaryJob<'a, 'o> {
    blocks: Blocks<'a>,
    block_facets: usize,
    /// Number of triangles to read.
    count: u64,
    size: Option<u64>,
    facets: Facets<'o>,
    options: &'o ParseOptions<StlReadOptions>,
}

#[derive(Default)]
struct StlBinarySlot {
    number: u64,
    block: Block,
    has_attributes: bool,
    places: StlPlaces,
    room: StlRoom,
}

/// State of the ordered step.
#[derive(Default)]
struct StlBinaryState {
    bytes: u64,
    progress: ProgressSteps,
}

/// Reads the triangles after a header that declares `count` triangles.
pub fn read(
    source: Source<'_>,
    garbage: Option<Garbage>,
    count: u32,
    options: &ParseOptions<StlReadOptions>,
    consumer: Option<&dyn MeshConsumer>,
    mut warnings: Warnings,
) -> Result<StlFound> {
    let name: Arc<str> = source.name().into();
    let size = source.len();
    let block_facets = options.run.chunk_bytes.map_or(BLOCK_FACETS, |bytes| bytes / FACET_BYTES).clamp(1, 1 << 24);
    let block_bytes = block_facets * FACET_BYTES;
    let declared = count;
    let counted = counted_by_size(declared, size);
    let count = counted.unwrap_or(u64::from(declared));
    // A placeholder is not a count, so the size decides. For a stream without a size, the triangles are checked once
    // they have been read.
    let by_size = size.map(|size| size.saturating_sub(HEADER_BYTES as u64) / FACET_BYTES as u64);
    check_count(if is_placeholder(declared) { by_size.unwrap_or(0).min(count) } else { count }, options)?;
    // A known size is reliable, whereas a header may declare more.
    let known_count = size.map(|size| count.min(size.saturating_sub(HEADER_BYTES as u64) / FACET_BYTES as u64));
    if let Some(consumer) = consumer {
        start(consumer, &source, known_count)?;
    }
    let blocks = Blocks::new(source, garbage, HEADER_BYTES as u64, block_bytes);
    let job = StlBinaryJob { blocks, block_facets, count, size, facets: Facets::new(consumer), options };
    if let Some(known_count) = known_count {
        job.facets.reserve(known_count as usize)?;
    }
    let blocks = known_count.unwrap_or(count).div_ceil(block_facets as u64).max(1);
    let crew = Crew::for_chunks(blocks, block_bytes, &options.run);
    let mut state = StlBinaryState::default();
    run(&job, &mut state, crew, &options.run.cancel)?;
    job.blocks.finish(&options.run.cancel)?;
    let whole = match (is_open(declared, size), counted) {
        (true, _) => settle_open(state.bytes, declared, &name, options, &mut warnings)?,
        (false, Some(_)) => {
            let bytes = size.unwrap_or_default().saturating_sub(HEADER_BYTES as u64);
            settle_counted(bytes, declared, &name, options, &mut warnings)?
        }
        (false, None) => settle(state.bytes, count, size, &name, options, &mut warnings)?,
    };
    let mut solids = Vec::new();
    try_push(&mut solids, Solid { name: String::new(), first: 0 }, "the scene")?;
    // SAFETY: the run finished without an error, so every block was placed and published; `whole` is at most the number
    // of their triangles.
    let scene = unsafe { job.facets.finish(whole as usize, Vec::new(), solids, options)? };
    Ok(StlFound { scene, warnings, threads: crew.threads })
}

/// Whether a header's count is a placeholder. Programs write placeholders before they know the number of triangles.
fn is_placeholder(declared: u32) -> bool {
    matches!(declared, 0 | 0x7fff_ffff | u32::MAX)
}

/// Whether to read triangles up to the end of a stream, because its header has a placeholder.
fn is_open(declared: u32, size: Option<u64>) -> bool {
    size.is_none() && is_placeholder(declared)
}

/// If the header has a placeholder, returns the number of triangles according to the file size, or the maximum for a
/// stream. Returns `None` if the header's count applies.
fn counted_by_size(declared: u32, size: Option<u64>) -> Option<u64> {
    if is_open(declared, size) {
        return Some(u64::from(u32::MAX));
    }
    let bytes = size?.checked_sub(HEADER_BYTES as u64)?;
    let count = bytes / FACET_BYTES as u64;
    (is_placeholder(declared) && count > 0 && count != u64::from(declared)).then_some(count)
}

/// Returns the number of triangles in a stream that has ended after `bytes` of triangles.
fn settle_open(
    bytes: u64,
    declared: u32,
    name: &Arc<str>,
    options: &ParseOptions<StlReadOptions>,
    warnings: &mut Warnings,
) -> Result<u64> {
    let count = bytes / FACET_BYTES as u64;
    check_count(count, options)?;
    if count > 0 && count != u64::from(declared) {
        settle_counted(bytes, declared, name, options, warnings)
    } else {
        settle(bytes, declared.into(), None, name, options, warnings)
    }
}

/// Returns the number of whole triangles in `bytes` that follow a header with a placeholder.
fn settle_counted(
    bytes: u64,
    declared: u32,
    name: &Arc<str>,
    options: &ParseOptions<StlReadOptions>,
    warnings: &mut Warnings,
) -> Result<u64> {
    let count = bytes / FACET_BYTES as u64;
    note_count(declared, count, name, options, warnings)?;
    if !bytes.is_multiple_of(FACET_BYTES as u64) {
        let message = format!("unexpected end of file in triangle {}", count + 1);
        warnings.broken(options.faults, "truncated", Diagnostic::at(name, HEADER_BYTES as u64 + bytes, message))?;
    }
    Ok(count)
}

/// Warns about a header without a valid count.
fn note_count(
    declared: u32,
    count: u64,
    name: &Arc<str>,
    options: &ParseOptions<StlReadOptions>,
    warnings: &mut Warnings,
) -> Result<()> {
    let message = format!("the header declares {declared} triangles, but {count} follow; all were read");
    let offset = HEADER_BYTES as u64 - size_of::<u32>() as u64;
    warnings.note(options.faults, "wrong-count", Diagnostic::at(name, offset, message))
}

/// Sends sample positions to a consumer, from up to 1024 locations in the file. This takes about a millisecond and,
/// together with the blocks, makes less than one read per 64 KiB. Equally spaced locations might all fall into the same
/// columns of a grid; multiples of the golden ratio do not.
fn start(consumer: &dyn MeshConsumer, source: &Source<'_>, count: Option<u64>) -> Result<()> {
    const TOGETHER: usize = 32;
    let Some(count) = count.filter(|_| source.is_positioned()) else {
        return consumer.start(KnownPositions::Unknown);
    };
    let places = (count * FACET_BYTES as u64 / (128 << 10)).clamp(1, 1024);
    let mut bytes = [0; TOGETHER * FACET_BYTES];
    let mut sample = Vec::new();
    for place in 0..places {
        // Fractional part of `place` times the golden ratio, in units of 2^-64.
        let fraction = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let room = u128::from(count.saturating_sub(TOGETHER as u64));
        let first = ((u128::from(fraction) * room) >> 64) as u64;
        let at = HEADER_BYTES as u64 + first * FACET_BYTES as u64;
        // Do not sample any data after the last triangle.
        let run = &mut bytes[..TOGETHER.min(count as usize) * FACET_BYTES];
        let have = ask(source, || source.read_at(at, run))?;
        sample.try_reserve(3 * TOGETHER)?;
        sample.extend(facets(&bytes[..have]).flat_map(|([_, a, b, c], _)| [a, b, c]));
    }
    consumer.start(KnownPositions::Sample(&sample))
}

/// Compares the bytes of triangles read with the declared `count`. Returns the number of triangles to keep.
fn settle(
    read_bytes: u64,
    count: u64,
    size: Option<u64>,
    name: &Arc<str>,
    options: &ParseOptions<StlReadOptions>,
    warnings: &mut Warnings,
) -> Result<u64> {
    let facet_bytes = FACET_BYTES as u64;
    let facet_count = read_bytes / facet_bytes;
    let start = HEADER_BYTES as u64;
    if facet_count < count && !planted("stl-truncated") {
        let message = format!("unexpected end of file in triangle {} of {count}", facet_count + 1);
        let diagnostic = Diagnostic {
            expected: Some(format!("{} bytes", start + count * facet_bytes)),
            ..Diagnostic::at(name, start + read_bytes, message)
        };
        warnings.broken(options.faults, "truncated", diagnostic)?;
    }
    let bytes = size.map_or(read_bytes, |size| size.saturating_sub(start));
    if bytes > count * facet_bytes && count == 0 {
        let message = format!("the header declares no triangles, but {bytes} bytes follow");
        let diagnostic = Diagnostic::at(name, start - size_of::<u32>() as u64, message);
        warnings.broken(options.faults, "wrong-count", diagnostic)?;
    } else if bytes > count * facet_bytes {
        warnings.note(options.faults, "trailing-bytes", trailing(name, start + count * facet_bytes, count))?;
    }
    Ok(facet_count.min(count))
}

/// Describes the data at `offset`, after the last of `count` triangles.
pub(super) fn trailing(name: &Arc<str>, offset: u64, count: u64) -> Diagnostic {
    let message = format!("extra data after the {count} triangles that the header declares was ignored");
    Diagnostic::at(name, offset, message)
}

/// Decodes the triangles in some bytes.
fn facets(bytes: &[u8]) -> impl Iterator<Item = (StlReadFacet, u16)> + Clone {
    bytes.as_chunks::<FACET_BYTES>().0.iter().map(|facet| {
        // Array reads at constant offsets compile to wide loads, but a loop over the twelve numbers does not.
        let number = |at: usize| f32::from_le_bytes([facet[at], facet[at + 1], facet[at + 2], facet[at + 3]]);
        let values = from_fn(|row| from_fn(|column| number(4 * (3 * row + column))));
        (values, u16::from_le_bytes([facet[48], facet[49]]))
    })
}

impl StlBinaryJob<'_, '_> {
    /// Returns the bytes of the block's whole triangles, excluding data after the last triangle of the file.
    fn facet_bytes<'a>(&self, slot: &'a StlBinarySlot) -> &'a [u8] {
        let left = self.count.saturating_sub(slot.number.saturating_mul(self.block_facets as u64));
        let max_bytes = usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(FACET_BYTES);
        let bytes = slot.block.bytes();
        &bytes[..bytes.len().min(max_bytes) / FACET_BYTES * FACET_BYTES]
    }
}

impl ChunkJob for StlBinaryJob<'_, '_> {
    type Slot = StlBinarySlot;
    type State = StlBinaryState;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.blocks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.blocks.ahead()
    }

    fn slot(&self) -> Result<StlBinarySlot> {
        Ok(StlBinarySlot::default())
    }

    fn take(&self, number: u64, slot: &mut StlBinarySlot) -> Result<bool> {
        slot.number = number;
        // In a stream, only further reading shows whether data follows; for a file, the size shows it.
        let end = if self.blocks.in_order() { self.count + 1 } else { self.count };
        Ok(number.saturating_mul(self.block_facets as u64) < end && self.blocks.take(number, &mut slot.block)?)
    }

    fn parse(&self, slot: &mut StlBinarySlot) -> Result<()> {
        slot.has_attributes =
            self.facets.keeps_attributes() && facets(self.facet_bytes(slot)).any(|(_, attribute)| attribute != 0);
        Ok(())
    }

    fn publish(&self, slot: &mut StlBinarySlot) -> Result<()> {
        let mut room = std::mem::take(&mut slot.room);
        // SAFETY: `place` stored the slots that `Facets::place` returned for this block alone.
        let published = unsafe { self.facets.publish(&slot.places, facets(self.facet_bytes(slot)), &mut room) };
        slot.room = room;
        published
    }

    fn place(&self, state: &mut StlBinaryState, slot: &mut StlBinarySlot) -> Result<()> {
        let first = usize::try_from(slot.number).unwrap_or(usize::MAX).saturating_mul(self.block_facets);
        let count = self.facet_bytes(slot).len() / FACET_BYTES;
        slot.places = self.facets.place(first..first + count, slot.has_attributes)?;
        state.bytes += slot.block.bytes().len() as u64;
        state.progress.report(&self.options.run, state.bytes, self.size);
        Ok(())
    }
}

/// Creates the error for a file that is too short for its header.
pub(super) fn short(bytes: u64, name: &Arc<str>) -> Error {
    let message = "not an STL file: a binary file has at least 84 bytes, and a text file starts with `solid`";
    fault(name, bytes, message)
}
