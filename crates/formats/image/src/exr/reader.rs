//! Reads EXR blocks sequentially and decodes them into an image in parallel.
//!
//! Colors become interleaved floats; all other channels become planes in their stored types. Blocks of other parts and
//! smaller levels are skipped.

use super::chroma;
use super::chroma::Chroma;
use super::header;
use super::header::{ExrChannel, ExrPart, FileHeader};
use super::layer::{ExrPicture, about, layers, listed};
use super::plane::{Plane, fill};
use super::unpack::{self, BlockPlace, ExrRows, Unpacked, multiples, unpack};
use crate::raster::{Raster, is_believed};
use exr::compression::Compression;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, limit_hint, planted, try_push};
use polyhaul_model::names::shown;
use polyhaul_model::options::ImageReadOptions;
use polyhaul_model::pixels::{check_pixels, check_ratio, min_file_bytes};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{ChannelType, ColorSpace, Image, ImageChannel, ImagePart, PartChannel, Samples};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::{BlockReader, Decoding};
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::run::{Crew, run};
use std::io::{Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes read at a time, so that no memory is allocated for an invalid block size.
const STEP_BYTES: usize = 256 << 10;

/// A decoded image.
pub struct ExrFound {
    pub image: Image,
    /// All parts of the file.
    pub parts: Vec<ImagePart>,
    /// Number of threads used.
    pub threads: usize,
}

/// Reads a file. Warns about data that the image does not contain.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions<ImageReadOptions>, warnings: &mut Warnings) -> Result<ExrFound> {
    let file: Arc<str> = bytes.name().into();
    let decoding = Decoding::new(&bytes, &options.run);
    let result = decode(&decoding, &bytes, &file, options, warnings);
    if let Some(error) = decoding.failed() {
        return Err(error);
    }
    let decoded = result?;
    decoding.finish()?;
    Ok(decoded)
}

fn decode(
    decoding: &Decoding<'_>,
    bytes: &Bytes<'_>,
    file: &Arc<str>,
    options: &ParseOptions<ImageReadOptions>,
    warnings: &mut Warnings,
) -> Result<ExrFound> {
    let mut reader = decoding.reader();
    let FileHeader { parts, is_multipart } = header::read(&mut reader, file, options, warnings)?;
    let picture = ExrPicture::choose(&parts, &options.own, file)?;
    let part = &parts[picture.part];
    check_part(part, &picture, options, file, reader.offset())?;
    check_file(&mut reader, image_bytes(part, &picture), options, file)?;
    note_losses(&parts, &picture, options, file, warnings)?;
    let blocks = parts.iter().map(ExrPart::block_count).fold(0, u64::saturating_add);
    // Blocks are read in file order, so the offset table is not needed.
    skip(&mut reader, blocks.saturating_mul(8), file, decoding)?;
    // The 8 bytes skipped per block exist, so the number of blocks is plausible for allocating memory.
    let grid = ExrGrid::new(part);
    let mut seen = Vec::new();
    seen.try_reserve_exact(grid.count()).map_err(|_| Error::memory("the blocks of an image"))?;
    seen.resize(grid.count(), false);
    let remaining = Mutex::new(RemainingBlocks { reader, left: blocks, missing: seen.len(), seen });
    let backed = bytes.len().filter(|_| bytes.is_backed()).unwrap_or(0);
    let canvas = ExrCanvas::new(part, &picture, backed)?;
    let slot_bytes = block_bytes(part).unwrap_or(usize::MAX).saturating_mul(3);
    let job = ExrJob { decoding, file, parts: &parts, number: picture.part, is_multipart, canvas, grid, remaining };
    let crew = Crew::for_chunks(job.grid.count() as u64, slot_bytes, &options.run);
    run(&job, &mut (), crew, &options.run.cancel)?;
    // SAFETY: `run` succeeded, so every block of the grid was taken once (`seen`, `missing`) and stored; together they
    // cover the image.
    let image = unsafe { job.canvas.finish(part, &picture, options, file) }?;
    Ok(ExrFound { image, parts: summaries(&parts, picture.part), threads: crew.threads })
}

/// Checks the image against the limits and the supported features.
fn check_part(
    part: &ExrPart,
    picture: &ExrPicture,
    options: &ParseOptions<ImageReadOptions>,
    file: &Arc<str>,
    at: u64,
) -> Result<()> {
    let [width, height] = part.data.size();
    let is_extra = |(number, channel): &(usize, &ExrChannel)| {
        let is_color = picture.colors.samples.contains(&Some(*number)) && channel.kind != ChannelType::U32;
        let is_chroma = picture.colors.chroma.is_some_and(|chroma| chroma.contains(number));
        picture.is_read[*number] && !is_color && !is_chroma
    };
    let extra = part.channels.iter().enumerate().filter(is_extra).count();
    // The limit counts pixels of up to four samples, so every four channels count as an image.
    let pictures = (picture.colors.channels.count() + extra).div_ceil(4);
    check_pixels([width, height, pictures], &options.limits, file, at)?;
    // The format does not allow subsampled channels in tiled images.
    if part.tiles.is_some() && part.channels.iter().any(|channel| channel.sampling != [1, 1]) {
        return Err(fault(file, at, "a tiled image has subsampled channels"));
    }
    if let Compression::HTJ2K256 | Compression::HTJ2K32 = part.compression {
        let error = Diagnostic::at(file, at, "HTJ2K compression is not supported");
        return Err(error.into_error(ErrorKind::Unsupported));
    }
    let limit = options.run.memory_limit;
    if block_bytes(part).is_some_and(|bytes| bytes as u64 <= limit) {
        return Ok(());
    }
    let message = format!("a block needs more memory than the limit `memory_limit` ({limit} bytes)");
    let error = Diagnostic::at(file, at, message).into_error(ErrorKind::Limit);
    Err(error.with_hint(limit_hint("memory_limit")))
}

/// Returns whether a channel is read into a separate plane. This holds for all channels that are read, except for
/// colors that are not subsampled and that floats represent exactly.
fn has_plane(part: &ExrPart, picture: &ExrPicture, number: usize) -> bool {
    let ExrChannel { kind, sampling, .. } = &part.channels[number];
    let is_color = picture.colors.samples.contains(&Some(number)) && *sampling == [1, 1];
    picture.is_read[number] && !(is_color && *kind != ChannelType::U32)
}

/// Returns the memory in bytes that an image needs while it is read.
fn image_bytes(part: &ExrPart, picture: &ExrPicture) -> u64 {
    let bytes = |[width, height]: [usize; 2], sample: usize| {
        (width as u64).saturating_mul(height as u64).saturating_mul(sample as u64)
    };
    let planes = (0..part.channels.len()).filter(|number| has_plane(part, picture, *number));
    let plane = |number: usize| {
        let channel = &part.channels[number];
        bytes(Plane::area(channel, part.data), channel.kind.bytes())
    };
    planes.map(plane).fold(bytes(part.data.size(), 4 * picture.colors.channels.count()), u64::saturating_add)
}

/// Fails if the file is implausibly small for the image.
fn check_file(
    reader: &mut BlockReader<'_>,
    image_bytes: u64,
    options: &ParseOptions<ImageReadOptions>,
    file: &Arc<str>,
) -> Result<()> {
    let at = reader.offset();
    let min_bytes = min_file_bytes(image_bytes, &options.limits).saturating_sub(at);
    let min_bytes = usize::try_from(min_bytes).unwrap_or(usize::MAX);
    let available = reader.ensure(min_bytes)?.len().min(min_bytes);
    check_ratio(image_bytes, at + available as u64, &options.limits, file, at)
}

/// Returns the size of an unpacked block, or `None` on overflow.
fn block_bytes(part: &ExrPart) -> Option<usize> {
    let (width, height) = match part.tiles {
        Some(tiles) => (tiles.tile_size.width(), tiles.tile_size.height()),
        None => (part.data.size()[0], part.block_rows()),
    };
    let pixel: usize = part.channels.iter().map(|channel| channel.kind.bytes()).sum();
    width.checked_mul(height)?.checked_mul(pixel)
}

/// Warns about differences between the image and the file, unless the caller chose them.
fn note_losses(
    parts: &[ExrPart],
    picture: &ExrPicture,
    options: &ParseOptions<ImageReadOptions>,
    file: &Arc<str>,
    warnings: &mut Warnings,
) -> Result<()> {
    let mut note = |code, count: u64, message: String| {
        if count > 0 {
            warnings.note(options.faults, code, about(file, message))?;
            warnings.count(code, count - 1);
        }
        Ok(())
    };
    let part = &parts[picture.part];
    if options.own.part.is_none() && options.own.layer.is_none() {
        let others = || (0..parts.len()).filter(|number| *number != picture.part);
        let names = listed(others().map(|number| parts[number].label(number)));
        let message = format!("only {} was read; use `--part` for the others: {names}", part.label(picture.part));
        note("left-out-parts", others().count() as u64, message)?;
    }
    let levels = part.small_levels();
    let what = counted(levels, ["smaller level was skipped", "smaller levels were skipped"]);
    note("left-out-levels", levels, format!("only the largest mip level was read; {what}"))?;
    let is_enlarged = |(number, channel): &(usize, &ExrChannel)| {
        let is_chroma = picture.colors.chroma.is_some_and(|chroma| chroma.contains(number));
        picture.is_read[*number] && channel.sampling != [1, 1] && !is_chroma
    };
    let enlarged = || part.channels.iter().enumerate().filter(is_enlarged);
    let names = listed(enlarged().map(|(_, channel)| format!("`{}`", shown(&channel.name))));
    let message = format!("subsampled channels were upsampled by repeating samples: {names}");
    note("changed-channels", enlarged().count() as u64, message)
}

/// Summarizes each part.
fn summaries(parts: &[ExrPart], chosen: usize) -> Vec<ImagePart> {
    let summary = |(number, part): (usize, &ExrPart)| {
        let [width, height] = part.data.size();
        let channel = |channel: &ExrChannel| PartChannel {
            name: channel.name.clone(),
            kind: channel.kind,
            sampling: channel.sampling,
        };
        ImagePart {
            name: part.name.clone(),
            view: part.view.clone(),
            width,
            height,
            is_deep: part.is_deep,
            is_chosen: number == chosen,
            levels: 1 + part.small_levels() as usize,
            layers: layers(part),
            channels: part.channels.iter().map(channel).collect(),
        }
    };
    parts.iter().enumerate().map(summary).collect()
}

/// Skips bytes of the file. Fails if they do not exist.
fn skip(reader: &mut BlockReader<'_>, count: u64, file: &Arc<str>, decoding: &Decoding<'_>) -> Result<()> {
    let end = reader.offset().saturating_add(count);
    let position = reader.seek(SeekFrom::Current(i64::try_from(count).unwrap_or(i64::MAX)));
    match position {
        Ok(at) if at == end => Ok(()),
        _ => Err(decoding.failed().unwrap_or_else(|| fault(file, reader.offset(), "unexpected end of file"))),
    }
}

/// Reads the next `N` bytes.
fn exact<const N: usize>(reader: &mut BlockReader<'_>, file: &Arc<str>) -> Result<[u8; N]> {
    let available = reader.ensure(N)?;
    let Some(bytes) = available.first_chunk().copied() else {
        let count = available.len();
        reader.pass(count);
        return Err(fault(file, reader.offset(), "unexpected end of file"));
    };
    reader.pass(N);
    Ok(bytes)
}

/// The blocks of the largest level, numbered in row-major order.
struct ExrGrid {
    /// Block size in pixels.
    size: [usize; 2],
    columns: usize,
    rows: usize,
}

impl ExrGrid {
    fn new(part: &ExrPart) -> ExrGrid {
        let [width, height] = part.data.size();
        let size = match part.tiles {
            None => [width, part.block_rows()],
            Some(tiles) => [tiles.tile_size.width(), tiles.tile_size.height()],
        };
        ExrGrid { size, columns: width.div_ceil(size[0]), rows: height.div_ceil(size[1]) }
    }

    fn count(&self) -> usize {
        self.columns * self.rows
    }

    /// Returns the number and the pixels of the block at a column and row, or `None` if it is outside the image.
    fn place(&self, part: &ExrPart, [column, row]: [usize; 2]) -> Option<(usize, ExrRows)> {
        if column >= self.columns || row >= self.rows {
            return None;
        }
        let min = [0, 1].map(|axis| part.data.min[axis] + ([column, row][axis] * self.size[axis]) as i32);
        // In 64 bits, because a tile may be much larger than the image.
        let last = |axis: usize| (min[axis] as i64 + self.size[axis] as i64 - 1).min(part.data.max[axis].into()) as i32;
        Some((row * self.columns + column, ExrRows { min, max: [last(0), last(1)] }))
    }
}

/// The samples of an image while it is read.
struct ExrCanvas {
    /// Interleaved colors.
    colors: Raster<f32>,
    /// Samples per pixel.
    size: usize,
    /// Per channel of the part: its index among the samples of a pixel.
    places: Vec<Option<usize>>,
    /// Indices of the samples of a pixel that have no channel.
    empty: Vec<usize>,
    /// Per channel of the part: its plane.
    planes: Vec<Option<Plane>>,
}

impl ExrCanvas {
    fn new(part: &ExrPart, picture: &ExrPicture, backed: u64) -> Result<ExrCanvas> {
        let size = picture.colors.channels.count();
        let place = |number: usize| picture.colors.samples.iter().position(|sample| *sample == Some(number));
        let is_whole = |number: usize| part.channels[number].sampling == [1, 1];
        let places: Vec<_> =
            (0..part.channels.len()).map(|number| place(number).filter(|_| is_whole(number))).collect();
        let empty = (0..size).filter(|place| !places.contains(&Some(*place))).collect();
        let [width, height] = part.data.size();
        let is_placed = is_believed(image_bytes(part, picture), backed);
        let colors = Raster::placed(width * size, height, is_placed)?;
        let plane = |number: usize| {
            let channel = &part.channels[number];
            let area = Plane::area(channel, part.data);
            has_plane(part, picture, number).then(|| Plane::new(channel.kind, area, is_placed)).transpose()
        };
        let planes = (0..part.channels.len()).map(plane).collect::<Result<_>>()?;
        Ok(ExrCanvas { colors, size, places, empty, planes })
    }

    /// Allocates the rows of a block.
    fn reserve(&self, part: &ExrPart, rows: &ExrRows) -> Result<()> {
        self.colors.reserve(multiples(1, part.data.min[1], rows.max[1]))?;
        for (channel, plane) in part.channels.iter().zip(&self.planes) {
            let count = multiples(channel.sampling[1], part.data.min[1], rows.max[1]);
            plane.iter().try_for_each(|plane| plane.reserve(count))?;
        }
        Ok(())
    }

    /// Stores the samples of a block.
    ///
    /// # Safety
    /// No other thread stores a block with the same pixels. `block` has the bytes of `rows` for all channels, as
    /// checked by [`unpack`].
    unsafe fn put(&self, part: &ExrPart, rows: &ExrRows, block: &Unpacked) -> Result<()> {
        let mut rest = block.bytes.as_slice();
        let left = (rows.min[0] - part.data.min[0]) as usize;
        let width = multiples(1, rows.min[0], rows.max[0]);
        for row in rows.rows() {
            let top = (row - part.data.min[1]) as usize;
            let pixels = left * self.size..(left + width) * self.size;
            for place in &self.empty {
                let clear = |to: &mut [MaybeUninit<f32>]| {
                    to.iter_mut().skip(*place).step_by(self.size).for_each(|to| *to = MaybeUninit::new(0.0));
                };
                // SAFETY: only this thread uses the pixels of this block, by this function's condition.
                unsafe { self.colors.part(top, pixels.clone(), clear)? };
            }
            for (number, channel) in part.channels.iter().enumerate().filter(|(_, channel)| rows.has_row(channel, row))
            {
                let count = rows.size(channel)[0];
                let Some((line, behind)) = rest.split_at_checked(count * channel.kind.bytes()) else { return Ok(()) };
                rest = behind;
                if let Some(place) = self.places[number] {
                    let fill = |to: &mut [MaybeUninit<f32>]| {
                        fill(channel.kind, line, block.is_little, to.iter_mut().skip(place).step_by(self.size));
                    };
                    // SAFETY: only this thread uses the pixels of this block, by this function's condition.
                    unsafe { self.colors.part(top, pixels.clone(), fill)? };
                }
                if let Some(plane) = &self.planes[number] {
                    let [across, down] = channel.sampling;
                    let top = multiples(down, part.data.min[1], row) - 1;
                    // The number of samples to the left of the block.
                    let left = multiples(across, part.data.min[0], rows.min[0] - 1);
                    // SAFETY: only this thread uses the samples of this block in a plane, as for its pixels.
                    unsafe { plane.put(top, left..left + count, line, block.is_little)? };
                }
            }
        }
        Ok(())
    }

    /// Assembles the image.
    ///
    /// # Safety
    /// Every block of the image must have been stored.
    unsafe fn finish(
        self,
        part: &ExrPart,
        picture: &ExrPicture,
        options: &ParseOptions<ImageReadOptions>,
        file: &Arc<str>,
    ) -> Result<Image> {
        let [width, height] = part.data.size();
        let size = self.size;
        // SAFETY: every block was stored, by this function's condition, and each fills all colors of its pixels: colors
        // without a channel are cleared.
        let mut samples = unsafe { self.colors.finish(None) };
        let mut planes = Vec::new();
        for plane in self.planes {
            // SAFETY: every block was stored, by this function's condition, and with it all samples of the plane.
            planes.push(plane.map(|plane| unsafe { plane.finish() }));
        }
        let mut extra = Vec::new();
        let is_chroma = |number: usize| picture.colors.chroma.is_some_and(|chroma| chroma.contains(&number));
        for ((number, channel), plane) in part.channels.iter().enumerate().zip(&mut planes) {
            let Some(mut plane) = plane.take_if(|_| !is_chroma(number)) else { continue };
            if channel.sampling != [1, 1] {
                plane = super::plane::enlarged(plane, channel, part.data)?;
                if let Some(place) = picture.colors.samples.iter().position(|sample| *sample == Some(number)) {
                    super::plane::spread(&plane, &mut samples, [place, size]);
                    continue;
                }
            }
            try_push(&mut extra, ImageChannel { name: channel.name.clone(), samples: plane }, "channels")?;
        }
        // After the luminance is complete.
        if let Some(chroma) = picture.colors.chroma {
            let [red, blue] = chroma.map(|number| {
                let channel = &part.channels[number];
                let samples = planes[number].take().unwrap_or_default();
                Chroma::new(channel, samples, part.data)
            });
            let weights = weights(part, file)?;
            chroma::convert(&mut samples, [width, size], [&red, &blue], weights, &options.run)?;
        }
        let channels = picture.colors.channels;
        Ok(Image {
            width,
            height,
            channels,
            samples: Samples::F32(samples.into()),
            color_space: ColorSpace::Linear,
            premultiplied: channels.has_alpha(),
            extra,
            stored: picture.colors.stored(&part.channels),
            attributes: part.attributes.clone(),
            ..Image::default()
        })
    }
}

/// Returns the luminance weights of red, green and blue for a part.
fn weights(part: &ExrPart, file: &Arc<str>) -> Result<[f64; 3]> {
    let Some(value) = part.attribute("chromaticities", "chromaticities") else {
        // Never the fallback: the constant is valid.
        return Ok(chroma::luminance_weights(chroma::REC_709).unwrap_or([1.0; 3]));
    };
    let numbers = value.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let numbers: Option<[f32; 8]> = numbers.collect::<Vec<_>>().try_into().ok();
    let weights = numbers.and_then(chroma::luminance_weights);
    weights.ok_or_else(|| fault(file, 0, "the attribute `chromaticities` is invalid"))
}

/// The blocks left to read.
struct RemainingBlocks<'a> {
    reader: BlockReader<'a>,
    left: u64,
    seen: Vec<bool>,
    missing: usize,
}

struct ExrJob<'a> {
    decoding: &'a Decoding<'a>,
    file: &'a Arc<str>,
    parts: &'a [ExrPart],
    /// Index of the part to read.
    number: usize,
    is_multipart: bool,
    canvas: ExrCanvas,
    grid: ExrGrid,
    remaining: Mutex<RemainingBlocks<'a>>,
}

/// A compressed block.
struct PackedBlock {
    bytes: Vec<u8>,
    rows: ExrRows,
    /// Offset of its end in the file.
    at: u64,
}

impl ExrJob<'_> {
    fn part(&self) -> &ExrPart {
        &self.parts[self.number]
    }

    /// Reads the next block of the image. Returns `None` after the last block.
    fn next(&self, remaining: &mut RemainingBlocks<'_>) -> Result<Option<PackedBlock>> {
        while remaining.left > 0 {
            remaining.left -= 1;
            let number =
                if self.is_multipart { i32::from_le_bytes(exact(&mut remaining.reader, self.file)?) } else { 0 };
            let part = usize::try_from(number).ok().and_then(|number| self.parts.get(number));
            let Some(part) = part else {
                return Err(fault(self.file, remaining.reader.offset(), format!("invalid part number {number}")));
            };
            if let Some(block) = self.block(remaining, part, number as usize == self.number)? {
                return Ok(Some(block));
            }
        }
        match remaining.missing {
            0 => Ok(None),
            missing => {
                Err(fault(self.file, remaining.reader.offset(), format!("missing blocks of the image: {missing}")))
            }
        }
    }

    /// Reads the next block in file order. Returns `None` if it is not part of the image and was skipped.
    fn block(
        &self,
        remaining: &mut RemainingBlocks<'_>,
        part: &ExrPart,
        is_wanted: bool,
    ) -> Result<Option<PackedBlock>> {
        let file = self.file;
        let reader = &mut remaining.reader;
        let place = match part.tiles {
            Some(_) => {
                exact::<16>(reader, file)?.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()
            }
            None => vec![i32::from_le_bytes(exact(reader, file)?)],
        };
        if part.is_deep {
            // The compressed sizes of the sample counts and of the samples, then the uncompressed size of the samples.
            let sizes: [u8; 24] = exact(reader, file)?;
            let sizes = sizes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
            skip(reader, sizes.take(2).fold(0, u64::saturating_add), file, self.decoding)?;
            return Ok(None);
        }
        let size = i32::from_le_bytes(exact(reader, file)?);
        // Tiles have a column, a row, and two level numbers.
        let is_small = place.get(2..).is_some_and(|levels| levels.iter().any(|level| *level != 0));
        let size =
            // A block that compression would enlarge is stored uncompressed, so no block is larger than its pixels.
            usize::try_from(size).ok().filter(|size| block_bytes(part).is_none_or(|max_bytes| *size <= max_bytes));
        let size = size.ok_or_else(|| fault(file, reader.offset(), "invalid block size"))?;
        if !is_wanted || is_small {
            skip(reader, size as u64, file, self.decoding)?;
            return Ok(None);
        }
        let outside = || fault(file, reader.offset(), "a block lies outside the image");
        let (number, rows) = self.placed(&place).ok_or_else(outside)?;
        match remaining.seen.get_mut(number) {
            Some(seen) if !*seen || planted("exr-twice") => *seen = true,
            _ => return Err(fault(file, reader.offset(), "a block of the image is stored twice")),
        }
        remaining.missing -= 1;
        let bytes = packed(reader, size, file)?;
        if !unpack::is_backed(self.part(), bytes.len(), &rows) {
            return Err(fault(file, reader.offset(), "invalid data in a block"));
        }
        self.canvas.reserve(self.part(), &rows)?;
        Ok(Some(PackedBlock { bytes, rows, at: reader.offset() }))
    }

    /// Returns the number and the pixels of the block at a position: a row, or the column and row of a tile.
    fn placed(&self, place: &[i32]) -> Option<(usize, ExrRows)> {
        let part = self.part();
        let at = match *place {
            [row] => {
                // Blocks of rows start at multiples of their height, counted from the top of the data window.
                let row = usize::try_from(i64::from(row) - i64::from(part.data.min[1])).ok()?;
                [0, row.is_multiple_of(self.grid.size[1]).then(|| row / self.grid.size[1])?]
            }
            [column, row, ..] => [usize::try_from(column).ok()?, usize::try_from(row).ok()?],
            [] => return None,
        };
        self.grid.place(part, at)
    }
}

/// Reads the bytes of a block.
fn packed(reader: &mut BlockReader<'_>, size: usize, file: &Arc<str>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let step = STEP_BYTES.min(size - bytes.len());
        let available = reader.ensure(step)?;
        let available = &available[..available.len().min(step)];
        let count = available.len();
        bytes.try_reserve(count).map_err(|_| Error::memory("a block"))?;
        bytes.extend_from_slice(available);
        reader.pass(count);
        if count < step {
            return Err(fault(file, reader.offset(), "unexpected end of file"));
        }
    }
    Ok(bytes)
}

impl ChunkJob for ExrJob<'_> {
    type Slot = Option<PackedBlock>;
    type State = ();
    const PHASE: Phase = Phase::Decode;

    fn slot(&self) -> Result<Self::Slot> {
        Ok(None)
    }

    fn take(&self, _: u64, slot: &mut Self::Slot) -> Result<bool> {
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = self.next(&mut remaining)?;
        Ok(slot.is_some())
    }

    fn parse(&self, slot: &mut Self::Slot) -> Result<()> {
        let Some(PackedBlock { bytes, rows, at }) = slot.take() else { return Ok(()) };
        let block = unpack(self.part(), bytes, &rows, BlockPlace { file: self.file, at })?;
        // SAFETY: `next` returns each block of the grid once, so no two slots have the same pixels; `unpack` returned
        // all bytes of the block.
        unsafe { self.canvas.put(self.part(), &rows, &block) }
    }

    fn place(&self, (): &mut (), _: &mut Self::Slot) -> Result<()> {
        Ok(())
    }
}
