//! Renders Gaussian splats: projects, sorts by depth and blends them front to back.
//!
//! Follows "3D Gaussian Splatting for Real-Time Radiance Field Rendering" (Kerbl et al., 2023); for the columns, see
//! [`polyhaul_model::splats`]. Spherical harmonics are evaluated up to degree 3, and colors are blended as stored, in
//! sRGB. Bands of rows are drawn in parallel: the splats that touch a band are selected in depth order, then for each
//! tile of the band.

use crate::PreviewOptions;
use crate::camera::Camera;
use crate::parallel::draw_each;
use crate::work::PictureWork;
use polyhaul_geometry::linear::{IDENTITY64, Vector, dot, rotation, subtract, unit, wide};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::splats::{CONSTANT_HARMONIC, Splats, opacity_of};
use polyhaul_model::{Bounds, Channels, Image, Object, Samples, Scene};

/// Tile side in pixels.
const TILE: usize = 16;
/// Splats projected per task.
const TURN: usize = 16 << 10;
/// Added to the screen-space variance, so that no splat is smaller than a pixel.
const BLUR: f64 = 0.3;
/// Minimum opacity of a drawn splat, and minimum alpha of a splat at a pixel. A pixel is complete when its
/// transmittance is at most [`OPAQUE`].
const FAINTEST: f32 = 1.0 / 255.0;
const OPAQUE: f32 = 1e-4;
/// Maximum alpha of a splat at a pixel.
const MAX_ALPHA: f32 = 0.999;
/// The projection is linearized at most this far off the view axis, as a multiple of the picture's extent.
const STRAIGHT: f64 = 1.3;
/// Fraction of splats ignored for framing at each end of each axis: captures contain distant outliers.
const STRAYS: f64 = 0.02;
/// Maximum number of positions sampled for framing.
const SAMPLE: usize = 100_000;
/// Work units for blending a splat into a tile, and work units granted per splat.
const BLEND_WORK: u64 = 256;
const SPLAT_WORK: u64 = 8192;

/// The splats of a scene, by mesh.
pub(crate) struct DrawnSplats<'a>(Vec<Splats<'a>>);

/// A splat in screen space.
#[derive(Clone, Copy)]
struct Drawn {
    depth: f32,
    center: [f32; 2],
    /// Inverse covariance: xx, xy, yy.
    conic: [f32; 3],
    /// Half extents of its visible area in pixels.
    reach: [f32; 2],
    color: [f32; 3],
    opacity: f32,
}

impl<'a> DrawnSplats<'a> {
    /// The splats of a scene. Returns `None` if it contains other meshes, or transforms other than the identity.
    pub(crate) fn from_scene(scene: &'a Scene) -> Option<DrawnSplats<'a>> {
        let stays = |object: &Object| object.transform.is_none_or(|transform| transform == IDENTITY64);
        if !scene.objects.iter().all(stays) {
            return None;
        }
        let meshes = scene.meshes.iter().filter(|mesh| !mesh.positions.is_empty());
        let splats = meshes.map(Splats::from_mesh).collect::<Option<Vec<_>>>()?;
        (!splats.is_empty()).then_some(DrawnSplats(splats))
    }

    /// Bounding box without outliers.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        let count: usize = self.0.iter().map(Splats::len).sum();
        let step = count.div_ceil(SAMPLE).max(1);
        let finite = |position: &&[f32; 3]| position.iter().all(|value| value.is_finite());
        let positions = self.0.iter().flat_map(|splats| splats.positions);
        let sample: Vec<_> = positions.step_by(step).filter(finite).copied().collect();
        let mut bounds = Bounds::of(&sample)?;
        for axis in 0..3 {
            let mut values: Vec<f32> = sample.iter().map(|position| position[axis]).collect();
            values.sort_by(f32::total_cmp);
            let strays = (values.len() as f64 * STRAYS) as usize;
            bounds.min[axis] = values[strays];
            bounds.max[axis] = values[values.len() - 1 - strays];
        }
        Some(bounds)
    }

    /// Draws all splats or, in a tile with more splats than the work budget allows, only the nearest of them.
    pub(crate) fn draw(&self, camera: &Camera, options: &PreviewOptions, work: &PictureWork<'_>) -> Result<Image> {
        let drawn = self.project(camera, options)?;
        let [width, height] = options.size;
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(4 * width * height).map_err(|_| Error::memory("a picture"))?;
        pixels.resize(4 * width * height, 0u8);
        let count: usize = self.0.iter().map(Splats::len).sum();
        let bands = pixels.chunks_mut(4 * width * TILE).enumerate();
        let limit = work.limit(SPLAT_WORK * count as u64);
        let is_done = work.share(limit, bands, Vec::new, |touching, (band, pixels), granted| {
            draw_band(&drawn, *band * TILE, pixels, touching, options, granted)
        })?;
        if !is_done {
            work.note_coarse();
        }
        let samples = Samples::U8(pixels.into());
        Ok(Image { width, height, channels: Channels::Rgba, samples, ..Image::default() })
    }

    /// Projects all splats and sorts the visible splats front to back.
    fn project(&self, camera: &Camera, options: &PreviewOptions) -> Result<Vec<Drawn>> {
        let turns = self.0.iter().flat_map(|splats| {
            let count = splats.positions.len();
            (0..count).step_by(TURN).map(move |start| (ProjectedSplats { splats, camera, options }, start))
        });
        let mut parts: Vec<Vec<Drawn>> = Vec::new();
        let count = self.0.iter().map(|splats| splats.positions.len().div_ceil(TURN)).sum();
        parts.try_reserve_exact(count)?;
        parts.resize_with(count, Vec::new);
        let run = &options.run;
        draw_each(
            run,
            turns.zip(&mut parts),
            || (),
            |(), ((projection, start), part)| {
                part.try_reserve(TURN)?;
                let end = projection.splats.positions.len().min(start + TURN);
                part.extend((start..end).filter_map(|at| projection.projected(at)));
                // Stable sort: the order of equal depths is deterministic.
                part.sort_by(|a, b| a.depth.total_cmp(&b.depth));
                Ok(())
            },
        )?;
        let mut drawn = Vec::new();
        drawn.try_reserve_exact(parts.iter().map(Vec::len).sum())?;
        parts.into_iter().for_each(|part| drawn.extend(part));
        // The parts are sorted already: a stable sort merges them, and keeps the order of equal depths.
        drawn.sort_by(|a, b| a.depth.total_cmp(&b.depth));
        Ok(drawn)
    }
}

/// Projects the splats of a mesh.
#[derive(Clone, Copy)]
struct ProjectedSplats<'a, 's> {
    splats: &'a Splats<'s>,
    camera: &'a Camera,
    options: &'a PreviewOptions,
}

impl ProjectedSplats<'_, '_> {
    /// Projects a splat. Returns `None` if it is not visible.
    fn projected(&self, at: usize) -> Option<Drawn> {
        let ProjectedSplats { splats, camera, options } = *self;
        let [right, up, depth] = camera.seen(splats.positions[at]);
        let near = 1e-3 * camera.middle_distance();
        let opacity = opacity_of(splats.opacities[at]);
        if depth.is_nan() || depth <= near || opacity.is_nan() || opacity < FAINTEST {
            return None;
        }
        // y points down from here on, like pixels.
        let x = right / depth;
        let y = -up / depth;
        let focal = camera.focal();
        let [across, down] = camera.reach().map(|reach| reach * STRAIGHT);
        let slope_x = x.clamp(-across, across);
        let slope_y = y.clamp(-down, down);
        let covariance = self.covariance(at);
        // Jacobian rows of the projection: pixels right and down by camera-space right, down and forward.
        let rows = [[focal / depth, 0.0, -focal * slope_x / depth], [0.0, focal / depth, -focal * slope_y / depth]];
        let times = |row: [f64; 3]| -> Vector {
            std::array::from_fn(|column| (0..3).map(|k| row[k] * covariance[k][column]).sum())
        };
        let first = times(rows[0]);
        let second = times(rows[1]);
        let xx = dot(first, rows[0]) + BLUR;
        let xy = dot(first, rows[1]);
        let yy = dot(second, rows[1]) + BLUR;
        let determinant = xx * yy - xy * xy;
        // Distance in standard deviations at which alpha falls to `FAINTEST`.
        let far = (2.0 * f64::from(opacity / FAINTEST).ln()).sqrt();
        let reach = [xx, yy].map(|variance| (far * variance.sqrt()) as f32);
        let center = camera.pixel([x, -y]);
        let [width, height] = options.size.map(|side| side as f32);
        let inside = center[0] + reach[0] > 0.0
            && center[0] - reach[0] < width
            && center[1] + reach[1] > 0.0
            && center[1] - reach[1] < height;
        if !(determinant > 0.0 && determinant.is_finite() && inside) {
            return None;
        }
        let conic = [yy / determinant, -xy / determinant, xx / determinant].map(|value| value as f32);
        let color = self.color(at);
        Some(Drawn { depth: depth as f32, center, conic, reach, color, opacity })
    }

    /// Camera-space covariance: right, down, forward.
    fn covariance(&self, at: usize) -> [Vector; 3] {
        let quaternion = self.splats.rotation(at).map(f64::from);
        let length = quaternion.iter().map(|part| part * part).sum::<f64>().sqrt();
        let [w, x, y, z] = quaternion.map(|part| part / length);
        let rotation = rotation([x, y, z, w]);
        let scales = self.splats.scales.map(|scale| f64::from(scale[at]).exp());
        let [right, up, toward] = self.camera.rows();
        // Principal axes in camera space, scaled by their standard deviations.
        let axes: [Vector; 3] = std::array::from_fn(|axis| {
            let world: Vector = std::array::from_fn(|row| rotation[row][axis] * scales[axis]);
            [dot(right, world), -dot(up, world), -dot(toward, world)]
        });
        std::array::from_fn(|a| std::array::from_fn(|b| axes.iter().map(|axis| axis[a] * axis[b]).sum()))
    }

    /// View-dependent color.
    fn color(&self, at: usize) -> [f32; 3] {
        let basis = harmonics(unit(subtract(wide(self.splats.positions[at]), self.camera.eye())));
        std::array::from_fn(|channel| {
            let coefficients = self.splats.harmonics[channel].iter().zip(basis);
            let sum: f64 = coefficients.map(|(values, basis)| f64::from(values[at]) * basis).sum();
            // Infinities and NaNs would spread to neighboring pixels.
            if sum.is_nan() { 0.0 } else { (sum + 0.5).clamp(0.0, 1e4) as f32 }
        })
    }
}

/// Real spherical harmonics up to degree 3 (Sloan, Stupid Spherical Harmonics Tricks, 2008), with the signs of Kerbl et
/// al.'s implementation.
fn harmonics([x, y, z]: Vector) -> [f64; 16] {
    let xx = x * x;
    let yy = y * y;
    let zz = z * z;
    [
        CONSTANT_HARMONIC,
        -0.488_602_511_902_919_9 * y,
        0.488_602_511_902_919_9 * z,
        -0.488_602_511_902_919_9 * x,
        1.092_548_430_592_079_2 * x * y,
        -1.092_548_430_592_079_2 * y * z,
        0.315_391_565_252_520_05 * (2.0 * zz - xx - yy),
        -1.092_548_430_592_079_2 * x * z,
        0.546_274_215_296_039_6 * (xx - yy),
        -0.590_043_589_926_643_5 * y * (3.0 * xx - yy),
        2.890_611_442_640_554 * x * y * z,
        -0.457_045_799_464_465_8 * y * (4.0 * zz - xx - yy),
        0.373_176_332_590_115_4 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
        -0.457_045_799_464_465_8 * x * (4.0 * zz - xx - yy),
        1.445_305_721_320_277 * z * (xx - yy),
        -0.590_043_589_926_643_5 * x * (xx - 3.0 * yy),
    ]
}

/// Draws a band of pixel rows starting at `top`. Returns the work units spent, more than `granted` if splats were
/// dropped.
fn draw_band(
    drawn: &[Drawn],
    top: usize,
    pixels: &mut [u8],
    touching: &mut Vec<u32>,
    options: &PreviewOptions,
    granted: u64,
) -> Result<u64> {
    let width = options.size[0];
    let height = pixels.len() / (4 * width);
    touching.clear();
    let touches = |splat: &Drawn| {
        splat.center[1] + splat.reach[1] > top as f32 && splat.center[1] - splat.reach[1] < (top + height) as f32
    };
    let numbers = drawn.iter().enumerate().filter(|(_, splat)| touches(splat)).map(|(number, _)| number as u32);
    touching.try_reserve(numbers.clone().count())?;
    touching.extend(numbers);
    let mut spent = 0;
    let mut is_cut = false;
    for (number, left) in (0..width).step_by(TILE).enumerate() {
        options.run.cancel.check()?;
        // Units unused by earlier tiles are available to later tiles.
        let tiles_left = (width.div_ceil(TILE) - number) as u64;
        let until = spent + granted.saturating_sub(spent) / tiles_left;
        let mut tile = Tile::new([left, top]);
        spent += touching.len() as u64 / 8;
        for splat in touching.iter().map(|&number| &drawn[number as usize]) {
            let [x, reach] = [splat.center[0], splat.reach[0]];
            let is_near = x + reach > left as f32 && x - reach < (left + TILE) as f32;
            if !is_near {
                continue;
            }
            if spent >= until {
                is_cut = true;
                break;
            }
            spent += BLEND_WORK;
            if tile.blend_splat(splat) {
                break;
            }
        }
        for row in 0..height {
            for column in 0..TILE.min(width - left) {
                let at = 4 * (row * width + left + column);
                pixels[at..at + 4].copy_from_slice(&tile.pixel(row, column, options.background));
            }
        }
    }
    Ok(if is_cut { spent.max(granted + 1) } else { spent.min(granted) })
}

/// The accumulators of a tile.
struct Tile {
    corner: [f32; 2],
    /// Red, green, blue (premultiplied) and transmittance.
    /// Each channel has its own array, so that loops over a row vectorize.
    channels: [[[f32; TILE]; TILE]; 4],
}

impl Tile {
    fn new([left, top]: [usize; 2]) -> Tile {
        let none = [[0.0; TILE]; TILE];
        let unobstructed = [[1.0; TILE]; TILE];
        Tile { corner: [left as f32 + 0.5, top as f32 + 0.5], channels: [none, none, none, unobstructed] }
    }

    /// Blends a splat behind all earlier splats. Returns whether the tile is opaque.
    fn blend_splat(&mut self, splat: &Drawn) -> bool {
        let [xx, xy, yy] = splat.conic;
        let (first, last) = self.rows_of(splat);
        for row in first..last {
            let down = self.corner[1] + row as f32 - splat.center[1];
            for column in 0..TILE {
                let across = self.corner[0] + column as f32 - splat.center[0];
                let power = -0.5 * (xx * across * across + yy * down * down) - xy * across * down;
                let alpha = splat.opacity * exponential(power);
                let alpha = if alpha < MAX_ALPHA { alpha } else { MAX_ALPHA };
                let passes = self.channels[3][row][column];
                let is_seen = (alpha >= FAINTEST) & (power <= 0.0) & (passes > OPAQUE);
                let alpha = if is_seen { alpha } else { 0.0 };
                for channel in 0..3 {
                    self.channels[channel][row][column] += passes * alpha * splat.color[channel];
                }
                self.channels[3][row][column] = passes * (1.0 - alpha);
            }
        }
        let passes = self.channels[3].as_flattened().iter();
        passes.fold(0.0, |max: f32, &value| if value > max { value } else { max }) <= OPAQUE
    }

    /// Range of rows whose centers a splat reaches.
    fn rows_of(&self, splat: &Drawn) -> (usize, usize) {
        let clamped = |row: f32| row.clamp(0.0, TILE as f32) as usize;
        let center = splat.center[1] - self.corner[1];
        (clamped((center - splat.reach[1]).ceil()), clamped((center + splat.reach[1]).floor() + 1.0))
    }

    /// A pixel composited over the background, unpremultiplied.
    fn pixel(&self, row: usize, column: usize, background: [u8; 4]) -> [u8; 4] {
        let passes = self.channels[3][row][column];
        let [r, g, b, a] = background.map(|byte| f32::from(byte) / 255.0);
        let behind = passes * a;
        let alpha = 1.0 - passes + behind;
        let channel = |number: usize, back: f32| {
            let value = self.channels[number][row][column] + behind * back;
            (255.0 * (value / alpha.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0)).round() as u8
        };
        [channel(0, r), channel(1, g), channel(2, b), (255.0 * alpha.clamp(0.0, 1.0)).round() as u8]
    }
}

/// e^`power` for a nonpositive power, to six digits: a power of two times a polynomial of the fraction. Branch-free
/// without calls, so that loops over a row vectorize.
#[inline(always)]
fn exponential(power: f32) -> f32 {
    const ROUNDING: f32 = 12_582_912.0;
    // e^-80 is still a normal float; the exponent of a much smaller result would wrap around.
    let power = if power > -80.0 { power } else { -80.0 };
    let twos = power * std::f32::consts::LOG2_E;
    let whole = (twos + ROUNDING) - ROUNDING;
    let part = (twos - whole) * std::f32::consts::LN_2;
    let sum = 1.0
        + part * (1.0 + part * (0.5 + part * (1.0 / 6.0 + part * (1.0 / 24.0 + part * (1.0 / 120.0 + part / 720.0)))));
    // Adding `ROUNDING` moves the biased exponent to the lowest bits, as in `batch`; the shift drops the other bits.
    let exponent = (whole + (ROUNDING + 127.0)).to_bits() << 23;
    sum * f32::from_bits(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splat_reaches_as_many_rows_down_as_up() {
        let tile = Tile::new([0, 0]);
        let rows = |reach: f32| {
            let reach = [reach; 2];
            let conic = [1.0, 0.0, 1.0];
            tile.rows_of(&Drawn { depth: 1.0, center: [8.0; 2], conic, reach, color: [1.0; 3], opacity: 0.5 })
        };
        // The centers of rows are at half coordinates.
        assert_eq!([0.4, 0.6, 2.4, 2.7, 99.0].map(rows), [(8, 8), (7, 9), (6, 10), (5, 11), (0, 16)]);
    }

    #[test]
    fn powers_have_six_digits() {
        for step in 0..6000 {
            let power = -0.001 * step as f32;
            let computed = f64::from(exponential(power));
            let expected = f64::from(power).exp();
            assert!((computed - expected).abs() <= 1e-6 * expected, "{power}: {computed} {expected}");
        }
    }
}
