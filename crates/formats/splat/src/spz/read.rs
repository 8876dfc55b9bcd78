//! Reads SPZ files. Memory for the sizes declared in a file is allocated only once the file's length or data confirms
//! them.

use super::axes::SpzSystem;
use super::extensions::SpzExtensions;
use super::header::{
    HAS_ANTIALIASING, HAS_EXTENSIONS, HEADER_BYTES, LONG_HEADER_BYTES, LONG_ROTATIONS, STREAMS, SpzHeader,
    TABLE_ROW_BYTES,
};
use super::quantize::{colors, half, harmonics, integer, of_long_rotation, of_short_rotation, opacities, scales};
use super::turn;
use crate::SplatsFound;
use crate::records::{ByteTable, RecordReader, resize_column};
use polyhaul_bytes::{Codec, DecompressLimits, Source, decompressed};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted, try_push};
use polyhaul_model::options::SplatReadOptions;
use polyhaul_model::splats::{ANTIALIASED_COMMENT, HARMONICS, SplatColumns};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::{Extent, Garbage, ask};
use std::ops::Range;

/// Message about dropped extensions.
const EXTENSION_BYTES: [&str; 2] = ["byte of extensions was dropped", "bytes of extensions were dropped"];
/// Number of splats to allocate memory for at first if the size of a file is unknown.
const ROUND: usize = 1 << 16;
/// Maximum compression ratio of gzip.
const GZIP_RATIO: u64 = 1032;

/// Attributes, in file order.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpzAttribute {
    Positions,
    Opacities,
    Colors,
    Scales,
    Rotations,
    Harmonics,
}

impl SpzAttribute {
    pub(super) const ALL: [SpzAttribute; 6] = [
        SpzAttribute::Positions,
        SpzAttribute::Opacities,
        SpzAttribute::Colors,
        SpzAttribute::Scales,
        SpzAttribute::Rotations,
        SpzAttribute::Harmonics,
    ];

    /// Returns the number of bytes per splat.
    pub(super) fn bytes(self, version: u32, degree: usize) -> usize {
        match self {
            SpzAttribute::Positions if version == 1 => 6,
            SpzAttribute::Positions => 9,
            SpzAttribute::Opacities => 1,
            SpzAttribute::Colors | SpzAttribute::Scales => 3,
            SpzAttribute::Rotations if version >= LONG_ROTATIONS => 4,
            SpzAttribute::Rotations => 3,
            SpzAttribute::Harmonics => 3 * HARMONICS[degree],
        }
    }

    fn name(self) -> &'static str {
        match self {
            SpzAttribute::Positions => "positions",
            SpzAttribute::Opacities => "opacities",
            SpzAttribute::Colors => "colors",
            SpzAttribute::Scales => "scales",
            SpzAttribute::Rotations => "rotations",
            SpzAttribute::Harmonics => "spherical harmonics",
        }
    }
}

/// Reads splats from a source of uncompressed bytes.
///
/// # Errors
/// [`ErrorKind::Malformed`] for files that are truncated or contradict their header; `Unsupported` for other versions
/// and degrees; `Limit`, `Memory`, `Cancelled`; errors of the source.
pub fn read(
    source: Source<'static>,
    garbage: Option<Garbage>,
    options: &ParseOptions<SplatReadOptions>,
) -> Result<SplatsFound> {
    let mut feed = Feed::new(source.clone(), garbage.clone());
    let header = SpzHeader::read(&mut feed, &options.limits)?;
    let system = SpzSystem::from_axes(options.own.spz_axes);
    let mut reader = SpzReader { header, columns: SplatColumns::default(), system, options, threads: 1 };
    let mut warnings = Warnings::default();
    if header.version >= STREAMS {
        reader.streams(&source, &mut feed, &mut warnings)?;
    } else {
        reader.whole(max_bytes(&source), &mut feed, &mut warnings)?;
    }
    feed.check_end(Extent::Whole, &options.run.cancel)?;
    let SpzReader { columns, system, threads, .. } = reader;
    let mut scene = columns.into_scene()?;
    for mesh in &mut scene.meshes {
        system.correct(mesh, &options.run)?;
    }
    if header.flags & HAS_ANTIALIASING != 0 {
        try_push(&mut scene.comments, ANTIALIASED_COMMENT.to_owned(), "remarks")?;
    }
    let unknown = header.flags & !(HAS_ANTIALIASING | HAS_EXTENSIONS);
    let diagnostic = Diagnostic::at(feed.name(), 14, format!("unknown flags {unknown:#x} were dropped"));
    warnings.note_dropped(options.faults, "left-out-flags", u64::from(unknown.count_ones()), diagnostic)?;
    Ok(SplatsFound { scene, warnings, threads })
}

/// Returns the maximum number of uncompressed bytes of a source, if known.
fn max_bytes(source: &Source<'_>) -> Option<u64> {
    match source.codec() {
        Some(Codec::Gzip) => source.compressed()?.len().map(|bytes| bytes.saturating_mul(GZIP_RATIO)),
        Some(_) => None,
        None => source.len(),
    }
}

struct SpzReader<'o> {
    header: SpzHeader,
    columns: SplatColumns,
    /// Axes of the file.
    system: SpzSystem,
    options: &'o ParseOptions<SplatReadOptions>,
    threads: usize,
}

impl SpzReader<'_> {
    fn bytes(&self, attribute: SpzAttribute) -> usize {
        attribute.bytes(self.header.version, self.header.degree)
    }

    /// Reads consecutive attributes, as in versions 1 to 3.
    fn whole(&mut self, max_bytes: Option<u64>, feed: &mut Feed<'_>, warnings: &mut Warnings) -> Result<()> {
        let splat_bytes: usize = SpzAttribute::ALL.iter().map(|attribute| self.bytes(*attribute)).sum();
        let end = (HEADER_BYTES as u64).saturating_add(splat_bytes as u64 * self.header.count as u64);
        // A file that is too short is read to its end like a stream, so that both fail with the same error.
        let is_backed = max_bytes.is_some_and(|size| size >= end);
        for attribute in SpzAttribute::ALL {
            self.attribute(attribute, is_backed, feed)?;
        }
        let faults = self.options.faults;
        if self.header.flags & HAS_EXTENSIONS != 0 {
            return self.extensions(feed, end, None, warnings);
        }
        let rest = feed.drain()?;
        if rest > 0 {
            let words = ["byte of extra data was ignored", "bytes of extra data were ignored"];
            let message = format!("{} after the last splat", counted(rest, words));
            warnings.note(faults, "trailing-bytes", Diagnostic::at(feed.name(), end, message))?;
        }
        Ok(())
    }

    /// Reads the extensions at `start`, up to the given size or, without a size, up to the end.
    fn extensions(
        &mut self,
        feed: &mut Feed<'_>,
        start: u64,
        size: Option<u64>,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let SpzExtensions { system, unknown_bytes } = SpzExtensions::read(feed, size)?;
        // A declaration in the file takes precedence over the option.
        self.system = system.unwrap_or(self.system);
        let diagnostic = Diagnostic::at(feed.name(), start, counted(unknown_bytes, EXTENSION_BYTES));
        let is_lost = u64::from(unknown_bytes > 0);
        warnings.note_dropped(self.options.faults, "left-out-extensions", is_lost, diagnostic)
    }

    /// Reads separately compressed attributes, as in version 4.
    fn streams(&mut self, source: &Source<'static>, feed: &mut Feed<'_>, warnings: &mut Warnings) -> Result<()> {
        let name = feed.name().clone();
        let mut rest = [0; LONG_HEADER_BYTES - HEADER_BYTES];
        let is_cut = feed.take(&mut rest) < rest.len();
        if is_cut && let Some(error) = feed.failed() {
            return Err(error);
        }
        let table = if is_cut { 0 } else { u64::from(u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]])) };
        if table < LONG_HEADER_BYTES as u64 {
            return Err(fault(&name, HEADER_BYTES as u64, "the table of streams overlaps the header"));
        }
        let start = LONG_HEADER_BYTES as u64;
        self.extensions(feed, start, Some(table - start), warnings)?;
        let SpzHeader { count, degree, version, .. } = self.header;
        let is_there = |attribute: &SpzAttribute| count > 0 && attribute.bytes(version, degree) > 0;
        let present: Vec<SpzAttribute> = SpzAttribute::ALL.into_iter().filter(is_there).collect();
        if usize::from(self.header.streams) != present.len() {
            let message = format!("the header declares {} streams; expected {}", self.header.streams, present.len());
            return Err(fault(&name, 15, message));
        }
        let mut sizes = [[0u8; TABLE_ROW_BYTES]; SpzAttribute::ALL.len()];
        let sizes = &mut sizes[..present.len()];
        if feed.take(sizes.as_flattened_mut()) < sizes.as_flattened().len() {
            return Err(feed
                .failed()
                .unwrap_or_else(|| fault(&name, table, "unexpected end of file in the table of streams")));
        }
        for (attribute, sizes) in present.into_iter().zip(sizes.iter()) {
            let [packed, plain] =
                [0, 8].map(|at| sizes[at..at + 8].iter().rev().fold(0, |size, &byte| size << 8 | u64::from(byte)));
            let expected = self.bytes(attribute) as u64 * count as u64;
            if plain != expected {
                let name_of_stream = attribute.name();
                let message =
                    format!("the stream of {name_of_stream} has {plain} bytes; expected {expected} for {count} splats");
                return Err(fault(&name, table, message));
            }
            self.stream(attribute, packed, source, feed)?;
        }
        // Attributes without a stream also need their columns.
        for attribute in SpzAttribute::ALL.into_iter().filter(|attribute| !is_there(attribute)) {
            let mut nothing = Feed::new(Source::memory([]), None);
            self.attribute(attribute, false, &mut nothing)?;
        }
        let end = feed.at();
        if feed.drain()? > 0 {
            let message = "extra data after the last stream was ignored";
            warnings.note(self.options.faults, "trailing-bytes", Diagnostic::at(&name, end, message))?;
        }
        Ok(())
    }

    /// Reads an attribute from the next `packed` bytes, which are compressed.
    fn stream(
        &mut self,
        attribute: SpzAttribute,
        packed: u64,
        source: &Source<'static>,
        feed: &mut Feed<'_>,
    ) -> Result<()> {
        let start = feed.at();
        let part = if feed.is_positioned() {
            let end = start.checked_add(packed).filter(|end| feed.size().is_none_or(|size| *end <= size));
            let Some(end) = end else { return Err(cut_stream(feed, feed.size().unwrap_or(start))) };
            // The part reads the source itself, so this feed skips its bytes.
            feed.skip(packed);
            Source::part(feed.name().to_string(), source.clone(), start..end)
        } else {
            Source::named_memory(taken(feed, packed)?, feed.name().to_string())
        };
        let limits = &self.options.limits;
        let limits = DecompressLimits::default()
            .with_bytes(limits.decompressed_bytes)
            .with_ratio(limits.decompressed_ratio)
            .with_memory_bytes(self.options.run.memory_limit.max(DecompressLimits::default().memory_bytes));
        let plain = ask(&part, || decompressed(part.clone(), &limits))?;
        if plain.codec().is_none() {
            return Err(fault(
                feed.name(),
                start,
                format!("the stream of {} is not compressed with zstd", attribute.name()),
            ));
        }
        let mut stream_feed = Feed::new(plain, None);
        let is_backed = stream_feed.size().is_some();
        self.attribute(attribute, is_backed, &mut stream_feed)?;
        if stream_feed.drain()? > 0 {
            return Err(fault(
                feed.name(),
                start,
                format!("the stream of {} is longer than its declared size", attribute.name()),
            ));
        }
        stream_feed.check_end(Extent::Whole, &self.options.run.cancel)
    }

    /// Reads the next attribute of all splats. Unless the file's size confirms the number of splats (`is_backed`),
    /// columns grow as data arrives, so that the header alone reserves no memory.
    fn attribute(&mut self, attribute: SpzAttribute, is_backed: bool, feed: &mut Feed<'_>) -> Result<()> {
        let header = self.header;
        let bytes = self.bytes(attribute);
        let start = feed.at();
        let decode = decoder(attribute, &header);
        let mut decoded = 0;
        while decoded < header.count && bytes > 0 {
            let left = header.count - decoded;
            // Rounds grow with the columns, so that reallocations stay rare.
            let requested = if is_backed { left } else { left.min(ROUND.max(decoded)) };
            let columns = targets(&mut self.columns, attribute, &header, decoded..decoded + requested)?;
            let read =
                RecordReader { count: requested, bytes, decode: &*decode }.read(feed, columns, &self.options.run)?;
            self.threads = self.threads.max(read.threads);
            decoded += read.count;
            if read.count < requested {
                if planted("spz-cut") {
                    break;
                }
                let end = start + (decoded * bytes) as u64;
                let message = format!("unexpected end of file in the {} of splat {}", attribute.name(), decoded + 1);
                let expected = Some(format!("{} splats", header.count));
                let diagnostic = Diagnostic { expected, ..Diagnostic::at(feed.name(), end, message) };
                return Err(diagnostic.into_error(ErrorKind::Malformed));
            }
        }
        // The loop did not run, but the columns must exist.
        if header.count == 0 {
            targets(&mut self.columns, attribute, &header, 0..0)?;
        }
        Ok(())
    }
}

/// Resizes the columns of an attribute. Returns their slices for a range of splats.
fn targets<'c>(
    columns: &'c mut SplatColumns,
    attribute: SpzAttribute,
    header: &SpzHeader,
    splats: Range<usize>,
) -> Result<Vec<&'c mut [f32]>> {
    let attribute_columns: &mut [Vec<f32>] = match attribute {
        SpzAttribute::Positions => {
            resize_column(&mut columns.positions, splats.end)?;
            return Ok(vec![columns.positions[splats].as_flattened_mut()]);
        }
        SpzAttribute::Opacities => std::slice::from_mut(&mut columns.opacities),
        SpzAttribute::Colors => &mut columns.constants,
        SpzAttribute::Scales => &mut columns.scales,
        SpzAttribute::Rotations => &mut columns.rotations,
        SpzAttribute::Harmonics => {
            columns.rest.resize_with(3 * HARMONICS[header.degree], Vec::new);
            &mut columns.rest
        }
    };
    attribute_columns.iter_mut().try_for_each(|column| resize_column(column, splats.end))?;
    Ok(attribute_columns.iter_mut().map(|column| &mut column[splats.clone()]).collect())
}

/// Converts records to column values.
type SpzDecoder = Box<dyn Fn(&[u8], &mut [&mut [f32]]) + Sync>;

/// Returns the conversion for an attribute.
fn decoder(attribute: SpzAttribute, header: &SpzHeader) -> SpzDecoder {
    let equal = |table: ByteTable, count: usize| {
        by_table(count, [table, table], (0..count).map(|column| (column, 0)).collect())
    };
    match attribute {
        SpzAttribute::Positions if header.version == 1 => positions(|bytes: &[u8; 6]| {
            let halves = bytes.as_chunks::<2>().0;
            std::array::from_fn(|axis| half(u16::from_le_bytes(halves[axis])))
        }),
        SpzAttribute::Positions => {
            // A power of two, and 24-bit integers: every product below is exact.
            let scale = 1.0 / (1u32 << header.fractional_bits.min(31)) as f32;
            positions(move |bytes: &[u8; 9]| {
                let integers = bytes.as_chunks::<3>().0;
                std::array::from_fn(|axis| integer(integers[axis]) as f32 * scale)
            })
        }
        SpzAttribute::Opacities => equal(opacities(), 1),
        SpzAttribute::Colors => equal(colors(), 3),
        SpzAttribute::Scales => equal(scales(), 3),
        SpzAttribute::Rotations if header.version >= LONG_ROTATIONS => rotations(of_long_rotation),
        SpzAttribute::Rotations => rotations(of_short_rotation),
        SpzAttribute::Harmonics => {
            let more = HARMONICS[header.degree];
            let sources = (0..3 * more).map(|column| {
                let channel = column / more;
                let number = column % more;
                (3 * number + channel, usize::from(turn::harmonic(number) < 0.0))
            });
            by_table(3 * more, [harmonics(1.0), harmonics(-1.0)], sources.collect())
        }
    }
}

fn positions<const N: usize>(decode: impl Fn(&[u8; N]) -> [f32; 3] + Sync + 'static) -> SpzDecoder {
    Box::new(move |bytes, columns| {
        let targets = columns.iter_mut().flat_map(|column| column.as_chunks_mut::<3>().0);
        for (position, record) in targets.zip(bytes.as_chunks::<N>().0) {
            let [x, y, z] = decode(record);
            let [a, b, c] = turn::POSITION;
            // Adding 0 turns -0 into 0.
            *position = [a * x, b * y + 0.0, c * z + 0.0];
        }
    })
}

fn rotations<const N: usize>(decode: fn([u8; N]) -> [f32; 4]) -> SpzDecoder {
    Box::new(move |bytes, columns| {
        for (at, record) in bytes.as_chunks::<N>().0.iter().enumerate() {
            columns.iter_mut().zip(decode(*record)).for_each(|(column, part)| column[at] = part);
        }
    })
}

/// Looks up bytes in tables. For each column, `sources` has the offset in a record and the index of the table.
fn by_table(record_bytes: usize, tables: [ByteTable; 2], sources: Vec<(usize, usize)>) -> SpzDecoder {
    Box::new(move |bytes, columns| {
        for (column, (offset, table)) in columns.iter_mut().zip(&sources) {
            let table = &tables[*table];
            for (value, record) in column.iter_mut().zip(bytes.chunks_exact(record_bytes)) {
                *value = table[usize::from(record[*offset])];
            }
        }
    })
}

/// Creates the error for a file that ends at `end`, within a stream.
fn cut_stream(feed: &Feed<'_>, end: u64) -> Error {
    fault(feed.name(), end, "unexpected end of file in a stream")
}

/// Reads the next `count` bytes. The buffer grows as bytes arrive, since the declared size cannot be trusted.
fn taken(feed: &mut Feed<'_>, count: u64) -> Result<Vec<u8>> {
    const STEP_BYTES: usize = 1 << 20;
    let mut bytes: Vec<u8> = Vec::new();
    while (bytes.len() as u64) < count {
        let have = bytes.len();
        // Steps grow with the buffer, so that reallocations stay rare.
        let step = usize::try_from(count - have as u64).map_or(STEP_BYTES, |left| left.min(STEP_BYTES.max(have)));
        bytes.try_reserve_exact(step).map_err(|_| Error::memory("a stream"))?;
        bytes.resize(have + step, 0);
        let read = feed.take(&mut bytes[have..]);
        if read < step {
            let end = feed.at();
            return Err(feed.failed().unwrap_or_else(|| cut_stream(feed, end)));
        }
    }
    Ok(bytes)
}
