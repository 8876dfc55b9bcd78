//! Computes mip levels: an image at half, a quarter and so on of its size, down to one pixel.
//!
//! Each level is computed from the previous one as stored; averaging halves the rounding error of the previous level.
//! Colors are averaged as linear light. `kernel` computes filter weights, `across` filters rows, and `mix` computes
//! weighted sums; `halve` is the fast path for a box filter over bytes.

mod across;
mod coverage;
mod halve;
mod kernel;
mod lights;
mod mix;

use crate::samples::{SampleStore, check_image, load, sized};
use across::MipmapAcross;
use kernel::MipmapKernel;
use lights::LIGHTS;
use mix::mix;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Array, ColorSpace, Image, Samples};
use polyhaul_pipeline::arrays::{Zero, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_text::cpu::Level;

polyhaul_model::choices! {
    /// The filter that computes the pixels of a level.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum MipmapFilter = Box {
        /// Each pixel is the mean of the area that it covers: no ringing, and little blur.
        "box" => Box,
        /// Sharper: a Kaiser-windowed sinc. It reaches three pixels of the smaller image to each side and has an
        /// alpha of 4, as in NVIDIA's texture tools.
        "kaiser" => Kaiser,
    }
}

polyhaul_model::choices! {
    /// The pixels beyond the edges of an image, for filters that extend past them.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum MipmapEdges = Clamp {
        /// The pixels at the edge.
        "clamp" => Clamp,
        /// The pixels at the opposite edge, for textures that repeat.
        "wrap" => Wrap,
    }
}

/// The meaning of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MipmapContent {
    /// Colors, which are mixed as light.
    #[default]
    Colors,
    /// Directions, with x, y and z as red, green and blue; -1 is stored as 0, and 1 as the highest sample. Directions
    /// are averaged as vectors and normalized again.
    Normals,
}

polyhaul_model::options! {
    /// Options for mipmaps.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MipmapOptions {
        /// The filter that computes the pixels of a level (box).
        pub filter: MipmapFilter = MipmapFilter::default(), with_filter;
        /// The pixels beyond the edges of an image (clamp).
        pub edges: MipmapEdges = MipmapEdges::default(), with_edges;
        /// The meaning of the samples (colors).
        pub content: MipmapContent = MipmapContent::default(), with_content;
        /// Whether the color of a pixel is weighted by its alpha, so that invisible colors do not bleed; `None`: if
        /// there is alpha and colors are not premultiplied.
        pub weigh_by_alpha: Option<bool> = None, with_weigh_by_alpha;
        /// Scale the alpha of each level so that the same share of its pixels is at or above this value (0 to 1) as in
        /// the image: cut-outs then do not shrink (Ignacio Castaño, "Computing Alpha Mipmaps", 2010). `None`: alpha
        /// stays.
        pub alpha_cutoff: Option<f32> = None, with_alpha_cutoff;
    }
}

/// Computes the levels below an image. Width and height are half those of the previous level, rounded down, and at
/// least 1.
///
/// Width and height need not be powers of two: a box then includes fractions of the pixels at its border. sRGB is
/// averaged as linear light, and samples are rounded to nearest. The result does not depend on the number of threads.
///
/// ```
/// use polyhaul_model::{Channels, Image, Samples};
/// use polyhaul_image::mipmaps::mipmaps;
///
/// // Black and white make half of the light, which is 188 in sRGB.
/// let samples = Samples::U8([0, 255, 255, 0].into());
/// let image = Image { width: 2, height: 2, channels: Channels::Gray, samples, ..Image::default() };
/// let levels = mipmaps(&image, &Default::default(), &Default::default())?;
/// assert_eq!(levels.len(), 1);
/// assert_eq!(levels[0].samples, Samples::U8([188].into()));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] if the image is inconsistent (see [`check_image`]), if normals do not have three channels, or
/// for an alpha cutoff outside 0 to 1 or with premultiplied colors; [`ErrorKind::Cancelled`] if the job was cancelled;
/// [`ErrorKind::Memory`] if there is not enough memory.
pub fn mipmaps(image: &Image, options: &MipmapOptions, run: &RunOptions) -> Result<Vec<Image>> {
    check(image, options)?;
    let mut levels: Vec<Image> = Vec::new();
    // Each level halves the longer side, so there are at most as many levels as a side has bits.
    levels.try_reserve_exact(usize::BITS as usize)?;
    loop {
        let last = levels.last().unwrap_or(image);
        // An empty image has no levels.
        if last.width.max(last.height) <= 1 || last.width.min(last.height) == 0 {
            break;
        }
        let next = half_of(last, options, run)?;
        levels.push(next);
    }
    if let Some(cutoff) = options.alpha_cutoff {
        coverage::keep(image, &mut levels, cutoff)?;
    }
    Ok(levels)
}

fn check(image: &Image, options: &MipmapOptions) -> Result<()> {
    check_image(image)?;
    let refuse = |message| Err(Error::new(ErrorKind::Usage, message));
    if options.content == MipmapContent::Normals && image.channels.colors() < 3 {
        return refuse("a normal map needs red, green and blue");
    }
    if options.alpha_cutoff.is_some() && image.premultiplied {
        return refuse("alpha coverage cannot be preserved for premultiplied colors");
    }
    Ok(())
}

/// The way in which samples are averaged.
#[derive(Clone, Copy)]
struct MipmapWork {
    content: MipmapContent,
    /// Whether samples are sRGB and averaged as linear light.
    is_bent: bool,
    /// Whether colors are weighted by alpha.
    weighs: bool,
}

impl MipmapWork {
    fn from_image(image: &Image, options: &MipmapOptions) -> MipmapWork {
        let is_bent = image.color_space == ColorSpace::Srgb && options.content == MipmapContent::Colors;
        let has_alpha = image.channels.has_alpha() && options.content == MipmapContent::Colors;
        MipmapWork {
            content: options.content,
            is_bent,
            weighs: has_alpha && options.weigh_by_alpha.unwrap_or(!image.premultiplied),
        }
    }
}

/// Computes the next level.
fn half_of(image: &Image, options: &MipmapOptions, run: &RunOptions) -> Result<Image> {
    let [width, height] = [image.width, image.height].map(|count| if count > 1 { count / 2 } else { count });
    let count = width.checked_mul(height).and_then(|count| count.checked_mul(image.channels.count()));
    let count = count.ok_or_else(|| Error::memory("a mip level"))?;
    let work = MipmapWork::from_image(image, options);
    let is_even = image.width == 2 * width && image.height == 2 * height;
    let samples = match &image.samples {
        Samples::U8(samples)
            if is_even
                && options.filter == MipmapFilter::Box
                && work.content == MipmapContent::Colors
                && !(work.is_bent && image.premultiplied) =>
        {
            let mut half = zeroed(count, "a mip level")?;
            halve::halve(samples, image, work.is_bent, work.weighs, &mut half, run)?;
            Samples::U8(half.into())
        }
        Samples::U8(_) => filtered(image, [width, height], count, options, run, Samples::U8)?,
        Samples::U16(_) => filtered(image, [width, height], count, options, run, Samples::U16)?,
        Samples::F32(_) => filtered(image, [width, height], count, options, run, Samples::F32)?,
    };
    let Image { channels, color_space, premultiplied, .. } = *image;
    Ok(Image { width, height, channels, samples, color_space, premultiplied, ..Image::default() })
}

/// Limits on the output pixels and rows per parallel step. Small bands are slow: neighboring rows that the filter
/// reaches are computed again for the next band.
const MIN_PIXELS: usize = 1 << 14;
const MIN_ROWS: usize = 16;
const MAX_ROWS: usize = 128;

fn filtered<T: SampleStore + Zero + Send>(
    image: &Image,
    [width, height]: [usize; 2],
    count: usize,
    options: &MipmapOptions,
    run: &RunOptions,
    wrap: fn(Array<T>) -> Samples,
) -> Result<Samples> {
    let job = Filtering::new(image, [width, height], options)?;
    let mut samples = zeroed::<T>(count, "a mip level")?;
    let min_rows = (MIN_PIXELS / width.max(1)).max(MIN_ROWS);
    // About four bands per thread, to balance the load.
    let rows = (height / (4 * run.worker_threads().max(1))).clamp(min_rows, min_rows.max(MAX_ROWS));
    let bands = samples.chunks_mut((job.row * rows).max(1)).enumerate();
    let threads = run.worker_threads().min(height.div_ceil(rows));
    try_for_each_item(threads, &run.cancel, bands, MipmapScratch::default, |scratch, (number, band)| {
        scratch.band(&job, number * rows, band)
    })?;
    Ok(wrap(samples.into()))
}

/// A level to filter.
struct Filtering<'a> {
    image: &'a Image,
    work: MipmapWork,
    across: MipmapAcross,
    down: MipmapKernel,
    /// Samples per output row.
    row: usize,
    /// Start of each row of the ring buffer, listed twice, so that the rows for an output row are consecutive entries.
    ring: Vec<usize>,
    level: Level,
}

/// Scratch memory of one thread.
#[derive(Default)]
struct MipmapScratch {
    /// Pixels of a row after loading or before storing.
    piece: Vec<f32>,
    /// A row before horizontal filtering.
    row: Vec<f32>,
    /// A ring buffer with as many horizontally filtered rows as taps.
    ring: Vec<f32>,
}

/// Pixels loaded or stored at a time: few enough to stay in cache.
const PIECE_PIXELS: usize = 512;

impl MipmapScratch {
    /// Computes the rows of a band, starting with row `first`.
    fn band<T: SampleStore>(&mut self, job: &Filtering<'_>, first: usize, band: &mut [T]) -> Result<()> {
        let size = job.image.channels.count();
        let reach = job.down.reach(first..first + band.len() / job.row);
        let ring = sized(&mut self.ring, job.down.max_taps() * job.row)?;
        let row = sized(&mut self.row, job.across.room())?;
        let piece = sized(&mut self.piece, PIECE_PIXELS * size)?;
        let mut loaded = reach.start;
        for (number, out) in (first..).zip(band.chunks_exact_mut(job.row)) {
            let (start, weights) = job.down.taps(number);
            // Each row is filtered horizontally once per band, when a tap first needs it.
            while loaded < start + weights.len() as isize {
                job.load_row(loaded, piece, row)?;
                let place = job.ring[(loaded - reach.start) as usize % job.down.max_taps()];
                job.across.mix(job.level, row, &mut ring[place..place + job.row]);
                loaded += 1;
            }
            let rows = &job.ring[(start - reach.start) as usize % job.down.max_taps()..];
            for (number, out) in out.chunks_mut(PIECE_PIXELS * size).enumerate() {
                let mixed = &mut piece[..out.len()];
                mix(job.level, &ring[number * PIECE_PIXELS * size..], rows, weights, mixed);
                job.finish(mixed);
                T::store(mixed, job.image.channels, job.work.is_bent && !job.image.premultiplied, out)?;
            }
        }
        Ok(())
    }
}

/// Added to alpha as a weight: determines the color if alpha is 0 everywhere, and is negligible elsewhere.
const TRACE: f32 = 1.0 / (1 << 24) as f32;

/// Returns the weight of a pixel with this alpha.
fn weight(alpha: f32) -> f32 {
    alpha + TRACE
}

impl Filtering<'_> {
    fn new<'a>(image: &'a Image, [width, height]: [usize; 2], options: &MipmapOptions) -> Result<Filtering<'a>> {
        let across = MipmapKernel::new(image.width, width, options.filter, options.edges)?;
        let down = MipmapKernel::new(image.height, height, options.filter, options.edges)?;
        let taps = down.max_taps();
        let row = width * image.channels.count();
        let mut ring = Vec::new();
        ring.try_reserve_exact(2 * taps).map_err(|_| Error::memory("the weights of a filter"))?;
        ring.extend((0..2 * taps).map(|number| number % taps * row));
        let across = MipmapAcross::new(across, width, image.channels.count())?;
        let work = MipmapWork::from_image(image, options);
        Ok(Filtering { image, work, across, down, row, ring, level: Level::best() })
    }

    /// Loads and prepares a row, which may be beyond the edges.
    fn load_row(&self, at: isize, piece: &mut [f32], row: &mut [f32]) -> Result<()> {
        let width = self.image.width;
        let size = self.image.channels.count();
        let first = self.down.place(at) * width;
        match &self.image.samples {
            Samples::U8(samples) if self.work.is_bent && !self.image.premultiplied && size == 4 => {
                self.put_bytes(&samples[4 * first..][..4 * width], row);
            }
            _ => {
                for start in (0..width).step_by(PIECE_PIXELS) {
                    let piece = &mut piece[..(width - start).min(PIECE_PIXELS) * size];
                    load(self.image, (first + start) * size, self.work.is_bent, piece)?;
                    self.prepare(piece);
                    self.across.put(start, piece, row);
                }
            }
        }
        self.across.close(row);
        Ok(())
    }

    /// Loads and prepares sRGB pixels with alpha, the most common pixels, in one step.
    fn put_bytes(&self, pixels: &[u8], row: &mut [f32]) {
        let lights = &*LIGHTS;
        if self.work.weighs {
            self.across.put_with(0, pixels, row, |pixel| lights.weighted(pixel));
        } else {
            self.across.put_with(0, pixels, row, |pixel| lights.pixel(pixel));
        }
    }

    /// Prepares samples for averaging.
    fn prepare(&self, values: &mut [f32]) {
        let size = self.image.channels.count();
        if self.work.content == MipmapContent::Normals {
            for pixel in values.chunks_exact_mut(size) {
                pixel.iter_mut().take(3).for_each(|value| *value = 2.0 * *value - 1.0);
            }
        } else if self.work.weighs {
            self.scale_colors(values, weight);
        }
    }

    /// Scales colors by the factor that `by` returns for their alpha; called only for images with alpha.
    fn scale_colors(&self, values: &mut [f32], by: impl Fn(f32) -> f32) {
        match self.image.channels.count() {
            2 => scale_colors_of::<2>(values, by),
            _ => scale_colors_of::<4>(values, by),
        }
    }

    /// Reverses [`Filtering::prepare`].
    fn finish(&self, values: &mut [f32]) {
        let size = self.image.channels.count();
        if self.work.content == MipmapContent::Normals {
            values.chunks_exact_mut(size).for_each(normalize);
        } else if self.work.weighs {
            // The negative weights of a Kaiser filter can make alpha negative, and the divisor could become 0.
            self.scale_colors(values, |alpha| 1.0 / weight(alpha.max(0.0)));
        }
        if self.work.is_bent && self.image.premultiplied {
            crate::samples::encode_premultiplied(values, size);
        }
    }
}

/// Scales colors by the factor that `by` returns for their alpha.
fn scale_colors_of<const SIZE: usize>(values: &mut [f32], by: impl Fn(f32) -> f32) {
    for pixel in values.as_chunks_mut::<SIZE>().0 {
        // Alpha also has a factor, so that the pixel is one vector operation.
        let by = by(pixel[SIZE - 1]);
        let factors: [f32; SIZE] = std::array::from_fn(|at| if at + 1 < SIZE { by } else { 1.0 });
        *pixel = std::array::from_fn(|at| pixel[at] * factors[at]);
    }
}

/// Normalizes a vector stored as samples from 0 to 1; a vector without length becomes (0, 0, 1).
fn normalize(pixel: &mut [f32]) {
    let [x, y, z, ..] = pixel else { return };
    let length = (*x * *x + *y * *y + *z * *z).sqrt();
    let arrow = if length > 1e-6 && length.is_finite() { [*x, *y, *z].map(|v| v / length) } else { [0.0, 0.0, 1.0] };
    [*x, *y, *z] = arrow.map(|v| 0.5 * v + 0.5);
}
