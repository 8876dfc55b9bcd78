//! The blocks of an EXR file to an image: taken one after another, unpacked side by side.

use super::layer::Layer;
use crate::error::{Diagnostic, Error, ErrorKind, Result, fault};
use crate::formats::raster::{Raster, check_size};
use crate::model::{ColorSpace, Image, Samples};
use crate::ops::half::of_half;
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;
use crate::pipeline::reader::{BlockReader, Decoding};
use crate::pipeline::run::Phase;
use crate::pipeline::run::{Crew, Job, run};
use exr::block::UncompressedBlock;
use exr::block::chunk::{Chunk, CompressedBlock, CompressedScanLineBlock, CompressedTileBlock};
use exr::block::reader::{AllChunksReader, ChunksReader};
use exr::compression::Compression;
use exr::meta::attribute::SampleType;
use exr::meta::header::Header;
use exr::meta::{BlockDescription, MetaData};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// What a part of a block that is packed by DWA may have on top of its pixels: names of channels, and sides that are
/// rounded to 8.
const DWA_BYTES: usize = 64 << 10;

/// Why reading stops.
enum Stop {
    Decoder(exr::error::Error),
    Own(Error),
}

impl From<exr::error::Error> for Stop {
    fn from(error: exr::error::Error) -> Stop {
        Stop::Decoder(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Own(error)
    }
}

/// Reads a file; says too how many threads worked.
pub(crate) fn read(bytes: Bytes<'_>, options: &ReadOptions) -> Result<(Image, usize)> {
    let file: Arc<str> = bytes.name().into();
    let decoding = Decoding::new(&bytes, &options.run);
    let result = decode(&decoding, &bytes, &file, options);
    if let Some(error) = decoding.failed() {
        return Err(error);
    }
    let read = result.map_err(|stop| match stop {
        Stop::Own(error) => error,
        Stop::Decoder(error) => of_decoder(error, &file, decoding.at()),
    })?;
    decoding.finish()?;
    Ok(read)
}

fn decode(
    decoding: &Decoding<'_>,
    bytes: &Bytes<'_>,
    file: &Arc<str>,
    options: &ReadOptions,
) -> std::result::Result<(Image, usize), Stop> {
    let reader = guarded(|| exr::block::read(decoding.reader(), false))?;
    let layer = Layer::first(reader.headers(), file)?;
    let header = &reader.headers()[layer.part];
    let (width, height) = (header.layer_size.width(), header.layer_size.height());
    if width == 0 || height == 0 {
        return Err(fault(file, decoding.at(), format!("an image of {width} x {height} pixels has none")).into());
    }
    check_size([width, height], &options.limits, file, decoding.at())?;
    for header in reader.headers() {
        check_block(header, options, file, decoding.at())?;
    }
    let slot_bytes = 3 * block_bytes(header).unwrap_or(usize::MAX);
    let backed = bytes.len().filter(|_| bytes.is_backed()).unwrap_or(0);
    let raster = Raster::new(width * layer.channels.count(), height, false, backed)?;
    let blocks = Blocks::of(header);
    let meta = reader.meta_data().clone();
    // Behind this there are at least 8 bytes of the file for each block.
    let chunks = guarded(|| reader.all_chunks(false))?;
    let mut seen = Vec::new();
    seen.try_reserve_exact(blocks.count()).map_err(|_| Error::memory("the blocks of an image"))?;
    seen.resize(blocks.count(), false);
    let taking = Mutex::new(Taking { chunks, missing: seen.len(), seen });
    let channels = layer.channels;
    let job = BlocksJob { decoding, file, meta, layer, raster, blocks, taking };
    let threads = options.run.worker_threads().min(job.blocks.count());
    let crew = Crew::new(threads, options.run.memory_limit, slot_bytes);
    run(&job, &mut (), crew, &options.run.cancel)?;
    // SAFETY: each block was there once, and they cover the image.
    let samples = Samples::F32(unsafe { job.raster.finish(None) }.into());
    let premultiplied = channels.has_alpha();
    let image = Image { width, height, channels, samples, color_space: ColorSpace::Linear, premultiplied };
    Ok((image, crew.threads))
}

/// Calls the decoder, which panics where some data is damaged (B44 whose blocks are cut): that is an error like others.
fn guarded<T>(call: impl FnOnce() -> exr::error::Result<T>) -> exr::error::Result<T> {
    let damaged = |_| Err(exr::error::Error::Invalid("its decoder panicked".into()));
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(damaged)
}

/// Bytes of an unpacked block, where they can be counted.
fn block_bytes(header: &Header) -> Option<usize> {
    let (width, height) = match header.blocks {
        BlockDescription::Tiles(tiles) => (tiles.tile_size.width(), tiles.tile_size.height()),
        BlockDescription::ScanLines => (header.layer_size.width(), header.compression.scan_lines_per_block()),
    };
    width.checked_mul(height)?.checked_mul(header.channels.bytes_per_pixel)
}

/// An error where a block takes more memory than the limit.
fn check_block(header: &Header, options: &ReadOptions, file: &Arc<str>, at: u64) -> Result<()> {
    if block_bytes(header).is_some_and(|bytes| bytes as u64 <= options.run.memory_limit) {
        return Ok(());
    }
    let limit = options.run.memory_limit;
    let message = format!("a block takes more memory than the limit of {limit} bytes (memory_limit)");
    let error = Diagnostic::at(file, at, message).into_error(ErrorKind::Limit);
    Err(error.with_hint("raise RunOptions::memory_limit (--memory-limit SIZE) to read it"))
}

fn of_decoder(error: exr::error::Error, file: &Arc<str>, at: u64) -> Error {
    use exr::error::Error::{Invalid, NotSupported};
    match error {
        NotSupported(what) => {
            Diagnostic::at(file, at, format!("this kind of EXR is not read: {what}")).into_error(ErrorKind::Unsupported)
        }
        Invalid(what) if what == "reference to missing bytes" => fault(file, at, "the file ends too early"),
        Invalid(what) => fault(file, at, format!("this is no sound EXR: {what}")),
        error => fault(file, at, format!("this is no sound EXR: {error}")),
    }
}

/// Whether a block that is packed by DWA says of a part of it that it has more than `most` bytes. The decoder takes
/// memory for what is said there: a version, nine sizes and counts, and how one part is packed, in 8 bytes each.
fn claims_much(packed: &[u8], most: usize) -> bool {
    let numbers = packed.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    numbers.skip(1).take(9).any(|size| size > most as u64)
}

/// How blocks of the full size are counted: row after row.
struct Blocks {
    columns: usize,
    rows: usize,
}

impl Blocks {
    fn of(header: &Header) -> Blocks {
        let (width, height) = (header.layer_size.width(), header.layer_size.height());
        match header.blocks {
            BlockDescription::ScanLines => {
                Blocks { columns: 1, rows: height.div_ceil(header.compression.scan_lines_per_block()) }
            }
            BlockDescription::Tiles(tiles) => Blocks {
                columns: width.div_ceil(tiles.tile_size.width().max(1)),
                rows: height.div_ceil(tiles.tile_size.height().max(1)),
            },
        }
    }

    fn count(&self) -> usize {
        self.columns * self.rows
    }
}

/// Chunks that are still to come.
struct Taking<'a> {
    chunks: AllChunksReader<BlockReader<'a>>,
    seen: Vec<bool>,
    missing: usize,
}

struct BlocksJob<'a> {
    decoding: &'a Decoding<'a>,
    file: &'a Arc<str>,
    meta: MetaData,
    layer: Layer,
    raster: Raster<f32>,
    blocks: Blocks,
    taking: Mutex<Taking<'a>>,
}

#[derive(Default)]
struct Slot {
    chunk: Option<Chunk>,
    /// Where the chunk ends.
    end: u64,
    /// Bytes of the block when it is unpacked.
    bytes: usize,
}

/// Where the block of a chunk belongs.
struct Placed {
    number: usize,
    /// The row behind it.
    end: usize,
    /// Bytes of it when it is unpacked.
    bytes: usize,
}

impl BlocksJob<'_> {
    fn header(&self) -> &Header {
        &self.meta.headers[self.layer.part]
    }

    fn error(&self, error: exr::error::Error, at: u64) -> Error {
        self.decoding.failed().unwrap_or_else(|| of_decoder(error, self.file, at))
    }

    /// Where a chunk belongs; `None` if it is not part of the image.
    fn place(&self, chunk: &Chunk) -> exr::error::Result<Option<Placed>> {
        let tile = self.header().get_block_data_indices(&chunk.compressed_block)?;
        if tile.level_index.0 != 0 || tile.level_index.1 != 0 {
            return Ok(None);
        }
        let bounds = self.header().get_absolute_block_pixel_coordinates(tile)?;
        bounds.validate(Some(self.header().layer_size))?;
        let end = bounds.position.to_usize("position")?.1 + bounds.size.height();
        let (column, row) = (tile.tile_index.0, tile.tile_index.1);
        let is_inside = column < self.blocks.columns && row < self.blocks.rows;
        let number = if is_inside { row * self.blocks.columns + column } else { usize::MAX };
        Ok(Some(Placed { number, end, bytes: bounds.size.area() * self.header().channels.bytes_per_pixel }))
    }
}

impl Job for BlocksJob<'_> {
    type Slot = Slot;
    type State = ();

    fn stages(&self) -> usize {
        1
    }

    fn takes_in_order(&self) -> bool {
        true
    }

    fn ends_in_order(&self) -> bool {
        true
    }

    fn slot(&self) -> Result<Slot> {
        Ok(Slot::default())
    }

    fn take(&self, _: u64, slot: &mut Slot) -> Result<bool> {
        let mut taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let chunk = guarded(|| taking.chunks.read_next_chunk().transpose());
            let at = self.decoding.at();
            let Some(chunk) = chunk.map_err(|error| self.error(error, at))? else {
                return match taking.missing {
                    0 => Ok(false),
                    missing => Err(fault(self.file, at, format!("{missing} blocks of the image are missing"))),
                };
            };
            if chunk.layer_index != self.layer.part {
                continue;
            }
            let place = guarded(|| self.place(&chunk)).map_err(|error| self.error(error, at))?;
            let Some(Placed { number, end, bytes }) = place else { continue };
            match taking.seen.get_mut(number) {
                Some(seen @ false) => *seen = true,
                Some(_) => return Err(fault(self.file, at, "a block of the image is there twice")),
                None => return Err(fault(self.file, at, "a block lies outside of the image")),
            }
            taking.missing -= 1;
            self.raster.reserve(end)?;
            (slot.chunk, slot.end, slot.bytes) = (Some(chunk), at, bytes);
            return Ok(true);
        }
    }

    fn phase(&self, _: usize) -> Phase {
        Phase::Decode
    }

    fn work(&self, _: usize, slot: &mut Slot) -> Result<()> {
        let Some(chunk) = slot.chunk.take() else { return Ok(()) };
        if let CompressedBlock::DeepScanLine(_) | CompressedBlock::DeepTile(_) = chunk.compressed_block {
            let error = Diagnostic::at(self.file, slot.end, "deep images are not read");
            return Err(error.into_error(ErrorKind::Unsupported));
        }
        if let (
            Compression::DWAA(_) | Compression::DWAB(_),
            CompressedBlock::ScanLine(CompressedScanLineBlock { compressed_pixels_le: packed, .. })
            | CompressedBlock::Tile(CompressedTileBlock { compressed_pixels_le: packed, .. }),
        ) = (self.header().compression, &chunk.compressed_block)
            && packed.len() != slot.bytes
            && claims_much(packed, 4 * slot.bytes + DWA_BYTES)
        {
            return Err(fault(self.file, slot.end, "a block says that it unpacks to more than it has pixels"));
        }
        let block = guarded(|| UncompressedBlock::decompress_chunk(chunk, &self.meta, false));
        let block = block.map_err(|error| self.error(error, slot.end))?;
        let (list, size) = (&self.header().channels, self.layer.channels.count());
        for line in block.lines(list) {
            let (Some(Some(place)), Some(channel)) =
                (self.layer.places.get(line.location.channel), list.list.get(line.location.channel))
            else {
                continue;
            };
            let (left, top) = (line.location.position.0, line.location.position.1);
            let part = left * size..(left + line.location.sample_count) * size;
            let fill = |to: &mut [MaybeUninit<f32>]| {
                fill(channel.sample_type, line.value, to.iter_mut().skip(*place).step_by(size));
            };
            // SAFETY: no two blocks have the same pixels, and a block belongs to one thread.
            unsafe { self.raster.part(top, part, fill)? };
        }
        Ok(())
    }

    fn commit(&self, _: usize, (): &mut (), _: &mut Slot) -> Result<()> {
        Ok(())
    }
}

/// The samples of a line, in the order of this machine's bytes.
fn fill<'a>(kind: SampleType, line: &[u8], to: impl Iterator<Item = &'a mut MaybeUninit<f32>>) {
    match kind {
        SampleType::F16 => {
            let samples = line.as_chunks().0.iter().map(|bytes| of_half(u16::from_ne_bytes(*bytes)));
            to.zip(samples).for_each(|(to, sample)| *to = MaybeUninit::new(sample));
        }
        SampleType::F32 => {
            let samples = line.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
            to.zip(samples).for_each(|(to, sample)| *to = MaybeUninit::new(sample));
        }
        SampleType::U32 => {
            let samples = line.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes) as f32);
            to.zip(samples).for_each(|(to, sample)| *to = MaybeUninit::new(sample));
        }
    }
}
