//! Shades the visible samples: each pixel is the mean of its samples' colors.
//!
//! Samples of a pixel with the same payload are shaded once, at their mean position. Lights are attached to the camera,
//! so that no view is dark: a key light from the upper left, a fill light from the right, and ambient light that is
//! stronger from above. [`Surfaces`] maps payloads to surfaces.

use crate::camera::Camera;
use crate::color::{encoded, encoded_part, id_color, linear, linear_of};
use crate::frame::{Frame, PLACES, SAMPLES};
use crate::ground::Ground;
use crate::occlusion::Occlusion;
use crate::parallel::draw_each;
use crate::{PreviewOptions, Style};
use polyhaul_geometry::linear::{Vector, dot};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Channels, Image, Samples};

/// Directions toward the lights in camera space (right, up, toward the camera), with intensities.
const KEY: ([f64; 3], f64) = ([-0.45, 0.65, 0.61], 0.66);
const FILL: ([f64; 3], f64) = ([0.8, 0.1, 0.59], 0.2);
/// Ambient light: mean intensity, and the increase for upward normals.
const AROUND: [f64; 2] = [0.16, 0.08];
/// Linear grays of uncolored surfaces, and of lines and points, which are unlit.
pub(crate) const GRAY: [f32; 3] = [0.6; 3];
pub(crate) const DARK_GRAY: [f32; 3] = [0.15; 3];

/// Maps payloads to surfaces.
pub(crate) trait Surfaces: Sync {
    /// The surface at a pixel position.
    fn surface(&self, payload: u64, place: [f64; 2]) -> SeenSurface;
}

/// The properties of a visible surface point.
pub(crate) struct SeenSurface {
    /// Unit normal facing the camera, or `None` for lines and points without a normal.
    pub(crate) normal: Option<Vector>,
    /// Linear RGB.
    pub(crate) color: [f32; 3],
    /// Whether its color ignores lighting.
    pub(crate) emits: bool,
    pub(crate) uv: Option<[f32; 2]>,
    /// Distance to the nearest polygon edge in pixels.
    pub(crate) edge: f32,
    pub(crate) id: [f32; 3],
}

impl SeenSurface {
    /// A surface with the color of `id` for [`Style::Id`].
    pub(crate) fn new(normal: Option<Vector>, color: [f32; 3], id: u32) -> SeenSurface {
        SeenSurface { normal, color, emits: false, uv: None, edge: f32::INFINITY, id: id_color(id) }
    }
}

/// Half the line width in [`Style::Wire`], in pixels.
const WIRE_PIXELS: f32 = 0.4;

/// Shades all pixels.
pub(crate) fn shade(
    surfaces: &impl Surfaces,
    camera: &Camera,
    ground: Option<&Ground>,
    frame: &Frame,
    options: &PreviewOptions,
) -> Result<Image> {
    let [width, height] = frame.size();
    let is_lit = matches!(options.style, Style::Shaded | Style::Wire);
    let occlusion = if is_lit { Some(Occlusion::new(frame, camera, &options.run)?) } else { None };
    let shader = Shader { surfaces, camera, ground, occlusion, options };
    // 8 bits are too coarse for depth.
    let samples = match options.style {
        Style::Depth => Samples::U16(shader.pixels(frame, |part| (65_535.0 * part).round() as u16)?.into()),
        _ => Samples::U8(shader.pixels(frame, |part| (255.0 * part).round() as u8)?.into()),
    };
    Ok(Image { width, height, channels: Channels::Rgba, samples, ..Image::default() })
}

struct Shader<'a, S> {
    surfaces: &'a S,
    camera: &'a Camera,
    ground: Option<&'a Ground>,
    occlusion: Option<Occlusion>,
    options: &'a PreviewOptions,
}

impl<S: Surfaces> Shader<'_, S> {
    /// RGBA of all pixels. `stored` converts each channel from a value between 0 and 1.
    fn pixels<T: Copy + Default + Send>(&self, frame: &Frame, stored: impl Fn(f32) -> T + Sync) -> Result<Vec<T>> {
        let [width, height] = frame.size();
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(4 * width * height).map_err(|_| Error::memory("a picture"))?;
        pixels.resize(4 * width * height, T::default());
        let rows = pixels.chunks_exact_mut(4 * width).enumerate();
        let draw = |(): &mut (), (y, row): (usize, &mut [T])| {
            for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *pixel = self.pixel(frame, x, y).map(&stored);
            }
            Ok(())
        };
        draw_each(&self.options.run, rows, || (), draw)?;
        Ok(pixels)
    }

    /// sRGB and alpha of a pixel.
    fn pixel(&self, frame: &Frame, x: usize, y: usize) -> [f32; 4] {
        let hits = frame.hits(x, y);
        let background = self.background(x, y);
        let plain = background.map(|byte| f32::from(byte) / 255.0);
        if hits.iter().all(Option::is_none) {
            return plain;
        }
        let open = self.occlusion.as_ref().map_or(1.0, |occlusion| occlusion.open(x, y));
        // Mixes linear colors, weighted by alpha.
        let mut sum = [0.0f32; 3];
        let mut alpha = 0.0;
        let mut mix = |color: [f32; 3], weight: f32| {
            sum = std::array::from_fn(|channel| sum[channel] + weight * color[channel]);
            alpha += weight;
        };
        let part = 1.0 / SAMPLES as f32;
        for sample in 0..SAMPLES {
            let payload = hits[sample].map(|hit| hit.payload);
            if hits[..sample].iter().any(|hit| hit.map(|hit| hit.payload) == payload) {
                continue;
            }
            let same = (sample..SAMPLES).filter(|&at| hits[at].map(|hit| hit.payload) == payload);
            let (count, place, depth) = same.fold((0.0, [0.0; 2], 0.0), |(count, [sx, sy], depth), at| {
                let [dx, dy] = PLACES[at].map(|place| place as f64 / 256.0);
                (count + 1.0, [sx + dx, sy + dy], depth + hits[at].map_or(0.0, |hit| f64::from(hit.depth)))
            });
            let weight = part * count as f32;
            let Some(hit) = hits[sample] else {
                let [r, g, b, a] = background;
                mix([r, g, b].map(linear), weight * f32::from(a) / 255.0);
                continue;
            };
            let place = [x as f64 + place[0] / count, y as f64 + place[1] / count];
            mix(self.color(hit.payload, (depth / count) as f32, place, open), weight);
        }
        if alpha <= 0.0 {
            return plain;
        }
        let [r, g, b] = sum.map(|value| encoded_part(value / alpha));
        [r, g, b, alpha]
    }

    /// Background color of a pixel (sRGB and alpha), with the ground shadow.
    fn background(&self, x: usize, y: usize) -> [u8; 4] {
        let [r, g, b, a] = self.options.background;
        let Some(ground) = self.ground else { return [r, g, b, a] };
        let open = ground.open(self.camera.eye(), self.camera.ray([x as f64 + 0.5, y as f64 + 0.5]));
        if open >= 1.0 {
            return [r, g, b, a];
        }
        // On a transparent background the shadow is translucent black.
        let alpha = f32::from(a) / 255.0;
        let whole = alpha + (1.0 - alpha) * (1.0 - open);
        let [r, g, b] = [r, g, b].map(|channel| encoded(linear(channel) * open * alpha / whole));
        [r, g, b, (255.0 * whole).round() as u8]
    }

    /// Linear color of a surface at a pixel position.
    fn color(&self, payload: u64, depth: f32, place: [f64; 2], open: f32) -> [f32; 3] {
        let surface = self.surfaces.surface(payload, place);
        match self.options.style {
            Style::Shaded => self.lit(&surface, open),
            Style::Normals => {
                let normal = surface.normal.unwrap_or(self.camera.rows()[2]);
                self.camera.rows().map(|row| linear_of(0.5 + 0.5 * dot(row, normal) as f32))
            }
            Style::Depth => [linear_of(1.0 - 0.9 * depth); 3],
            Style::Id => surface.id,
            Style::Uv => surface.uv.map_or(DARK_GRAY, checkered),
            Style::Wire => {
                let light = self.lit(&surface, open);
                // Edges are as wide as lines, and antialiased over a pixel.
                let part = (WIRE_PIXELS + 0.5 - surface.edge).clamp(0.0, 1.0);
                light.map(|channel| channel + part * (0.02 - channel))
            }
        }
    }

    /// Lit color; `open` is the unoccluded fraction of the light.
    fn lit(&self, surface: &SeenSurface, open: f32) -> [f32; 3] {
        if surface.emits {
            return surface.color;
        }
        let Some(normal) = surface.normal else { return surface.color.map(|channel| channel * open) };
        let normal = self.camera.rows().map(|row| dot(row, normal));
        let from = |(direction, strength): ([f64; 3], f64)| strength * dot(direction, normal).max(0.0);
        let light = from(KEY) + from(FILL) + AROUND[0] + AROUND[1] * normal[1];
        surface.color.map(|channel| channel * light.max(0.0) as f32 * open)
    }
}

/// Visualizes texture coordinates: red is u, green is v, with an 8 x 8 checkerboard.
fn checkered([u, v]: [f32; 2]) -> [f32; 3] {
    let x = (u - u.floor()).clamp(0.0, 1.0);
    let y = (v - v.floor()).clamp(0.0, 1.0);
    let is_dark = ((8.0 * x) as u32 + (8.0 * y) as u32).is_multiple_of(2);
    let shade = if is_dark { 0.55 } else { 1.0 };
    [x, y, 0.35].map(|channel| linear_of(shade * channel))
}
