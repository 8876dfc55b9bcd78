//! The colors of what was drawn: for each pixel, the mean of its samples' colors.
//!
//! Samples of a pixel that show the same triangle are shaded once, where their mean is. Light comes from the camera's
//! side, so that no view is dark: a key light from the upper left, a fill light from the right, and more from above
//! than from below.

use crate::camera::Camera;
use crate::frame::{Frame, PLACES, SAMPLES};
use crate::scene::{Part, PartKind, Parts};
use crate::vector::{Vector, add, cross, dot, scale, subtract, unit, wide};
use crate::{PreviewOptions, Style};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Channels, Color, Domain, Image, NONE, Run, Samples, Scene};
use polyhaul_pipeline::parallel::try_for_each_item;

/// Directions toward the lights in the camera's coordinates (right, up, near), and their strengths.
const KEY: ([f64; 3], f64) = ([-0.45, 0.65, 0.61], 0.66);
const FILL: ([f64; 3], f64) = ([0.8, 0.1, 0.59], 0.2);
/// The light from all sides: its mean, and how much more there is from above.
const AROUND: [f64; 2] = [0.16, 0.08];
/// The linear gray of surfaces without a color, and that of lines and points, which no light makes darker.
const GRAY: [f32; 3] = [0.6; 3];
const DARK_GRAY: [f32; 3] = [0.15; 3];

/// Colors every pixel.
pub(crate) fn shade(
    scene: &Scene,
    parts: &Parts<'_>,
    camera: &Camera,
    frame: &Frame,
    options: &PreviewOptions,
) -> Result<Image> {
    let [width, height] = frame.size();
    let mut pixels = Vec::new();
    pixels.try_reserve_exact(4 * width * height).map_err(|_| Error::memory("a picture"))?;
    pixels.resize(4 * width * height, 0u8);
    let shader = Shader { scene, parts, camera, options };
    let rows = pixels.chunks_exact_mut(4 * width).enumerate();
    try_for_each_item(
        options.run.worker_threads(),
        &options.run.cancel,
        rows,
        || (),
        |(), (y, row)| {
            for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *pixel = shader.pixel(frame, x, y);
            }
            Ok(())
        },
    )?;
    let samples = Samples::U8(pixels.into());
    Ok(Image { width, height, channels: Channels::Rgba, samples, ..Image::default() })
}

struct Shader<'a> {
    scene: &'a Scene,
    parts: &'a Parts<'a>,
    camera: &'a Camera,
    options: &'a PreviewOptions,
}

impl Shader<'_> {
    /// Red, green, blue and alpha of a pixel.
    fn pixel(&self, frame: &Frame, x: usize, y: usize) -> [u8; 4] {
        let hits = frame.hits(x, y);
        let background = self.options.background;
        if hits.iter().all(Option::is_none) {
            return background;
        }
        // Colors are mixed as light, by their alpha.
        let (mut sum, mut alpha) = ([0.0f32; 3], 0.0);
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
            let (count, place) = same.fold((0.0, [0.0; 2]), |(count, [sx, sy]), at| {
                let [dx, dy] = PLACES[at].map(|place| place as f64 / 256.0);
                (count + 1.0, [sx + dx, sy + dy])
            });
            let weight = part * count as f32;
            let Some(hit) = hits[sample] else {
                let [r, g, b, a] = background;
                mix([r, g, b].map(linear), weight * f32::from(a) / 255.0);
                continue;
            };
            let place = [x as f64 + place[0] / count, y as f64 + place[1] / count];
            mix(self.color(hit.payload, hit.depth, place), weight);
        }
        if alpha <= 0.0 {
            return background;
        }
        let [r, g, b] = sum.map(|value| encoded(value / alpha));
        [r, g, b, (alpha * 255.0).round() as u8]
    }

    /// The linear color of something at a place in the picture.
    fn color(&self, payload: u32, depth: f32, place: [f64; 2]) -> [f32; 3] {
        let Some((part, index)) = self.parts.find(payload) else { return GRAY };
        let surface = self.surface(part, index, place);
        match self.options.style {
            Style::Shaded => self.lit(&surface),
            Style::Normals => {
                let normal = surface.normal.unwrap_or(self.camera.rows()[2]);
                self.camera.rows().map(|row| linear_of(0.5 + 0.5 * dot(row, normal) as f32))
            }
            Style::Depth => [linear_of(1.0 - 0.9 * depth); 3],
            Style::Id => surface.id,
        }
    }

    /// A surface in the light.
    fn lit(&self, surface: &Surface) -> [f32; 3] {
        let Some(normal) = surface.normal else { return surface.color };
        let normal = self.camera.rows().map(|row| dot(row, normal));
        let from = |(direction, strength): ([f64; 3], f64)| strength * dot(direction, normal).max(0.0);
        let light = from(KEY) + from(FILL) + AROUND[0] + AROUND[1] * normal[1];
        surface.color.map(|channel| channel * light.max(0.0) as f32)
    }

    /// What is at a place in the picture.
    fn surface(&self, part: &Part<'_>, index: usize, place: [f64; 2]) -> Surface {
        match part.kind {
            PartKind::Faces => self.face(part, index, place),
            PartKind::Lines => Surface { normal: None, color: DARK_GRAY, id: id_color(index as u32) },
            PartKind::Points | PartKind::Positions => {
                let position = part.point(index);
                let normal = match part.mesh.normal_domain {
                    Domain::Vertex => part.mesh.normals.get(position).map(|&normal| part.direction(normal)),
                    _ => None,
                };
                let toward = subtract(self.camera.eye(), wide(part.position(position)));
                let normal = normal.and_then(|normal| facing(normal, toward));
                let gray = if normal.is_some() { GRAY } else { DARK_GRAY };
                let color = vertex_color(part, position).unwrap_or(gray);
                Surface { normal, color, id: id_color(position as u32) }
            }
        }
    }

    /// A face at a place in the picture, where `corner` is the second of a triangle's.
    fn face(&self, part: &Part<'_>, corner: usize, place: [f64; 2]) -> Surface {
        let (face, first) = part.face_of(corner);
        let corners = [first, corner, corner + 1];
        let [a, b, c] = corners.map(|corner| wide(part.corner(corner)));
        let (ab, ac) = (subtract(b, a), subtract(c, a));
        let flat = cross(ab, ac);
        let ray = self.camera.ray(place);
        // Where the ray meets the triangle's plane, as weights of its corners (Möller and Trumbore, 1997).
        let from = subtract(self.camera.eye(), a);
        let (p, q) = (cross(ray, ac), cross(from, ab));
        let scale_by = 1.0 / dot(ab, p);
        let (v, w) = (scale_by * dot(from, p), scale_by * dot(ray, q));
        let weights = if (v + w).is_finite() { [1.0 - v - w, v, w] } else { [1.0 / 3.0; 3] };
        let toward = scale(ray, -1.0);
        let smooth = self.corner_normals(part, face, corners).map(|normals| mixed(normals, weights));
        // A normal that points away from the camera is the other side's.
        let flat = facing(flat, toward);
        let normal = smooth.and_then(|normal| facing(normal, toward)).or(flat);
        let colors = corners.map(|corner| {
            let position = part.mesh.faces.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize);
            vertex_color(part, position)
        });
        let color = match colors {
            [Some(a), Some(b), Some(c)] => mixed([a, b, c].map(wide), weights).map(|channel| channel as f32),
            _ => self.material_color(part, face),
        };
        Surface { normal, color, id: id_color(self.material(part, face).map_or(0, |number| 1 + number as u32)) }
    }

    /// The normals of three corners of a face, if the mesh has any.
    fn corner_normals(&self, part: &Part<'_>, face: usize, corners: [usize; 3]) -> Option<[Vector; 3]> {
        let mesh = part.mesh;
        if mesh.face_smooth.get(face) == Some(&0) {
            return None;
        }
        let normal = |corner: usize| {
            let index = match mesh.normal_domain {
                Domain::Indexed => *mesh.faces.corner_normals.get(corner).filter(|&&index| index != NONE)? as usize,
                Domain::Corner => corner,
                Domain::Vertex => *mesh.faces.corner_positions.get(corner)? as usize,
                Domain::Face => face,
            };
            mesh.normals.get(index).map(|&normal| unit(part.direction(normal)))
        };
        let [a, b, c] = corners.map(normal);
        Some([a?, b?, c?])
    }

    /// The material of a face: its index in the scene.
    fn material(&self, part: &Part<'_>, face: usize) -> Option<usize> {
        let slots = part.object.and_then(|object| object.materials.as_ref());
        if let Some(slots) = slots {
            let slot = part.mesh.face_materials.get(face).copied().unwrap_or(0);
            return usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        }
        run_value(&part.mesh.material_runs, face).map(|value| value as usize)
    }

    fn material_color(&self, part: &Part<'_>, face: usize) -> [f32; 3] {
        let material = self.material(part, face).and_then(|number| self.scene.materials.get(number));
        match material.and_then(|material| material.diffuse.as_ref()) {
            Some(Color::Rgb(color)) => color.map(|channel| channel.clamp(0.0, 1.0)),
            _ => GRAY,
        }
    }
}

/// What is seen at a place.
struct Surface {
    /// Toward the camera, of length 1; `None` for what has no surface.
    normal: Option<Vector>,
    /// Linear.
    color: [f32; 3],
    id: [f32; 3],
}

/// The value of the last run that begins at a face or before it.
fn run_value(runs: &[Run], face: usize) -> Option<u32> {
    let after = runs.partition_point(|run| run.at.faces as usize <= face);
    runs.get(after.checked_sub(1)?).map(|run| run.value).filter(|&value| value != NONE)
}

/// The linear color of a position, if it has one.
fn vertex_color(part: &Part<'_>, position: usize) -> Option<[f32; 3]> {
    let &[r, g, b, _] = part.mesh.colors.get(position)?;
    (!r.is_nan()).then(|| [r, g, b].map(linear_of))
}

/// The direction or its opposite of length 1, whichever points to a viewer; `None` if it has no length.
fn facing(normal: Vector, toward: Vector) -> Option<Vector> {
    let normal = unit(normal);
    let side = dot(normal, toward);
    let normal = if side < 0.0 { scale(normal, -1.0) } else { normal };
    (dot(normal, normal) > 0.5).then_some(normal)
}

fn mixed([a, b, c]: [Vector; 3], weights: [f64; 3]) -> Vector {
    add(add(scale(a, weights[0]), scale(b, weights[1])), scale(c, weights[2]))
}

/// A color for a number: neighbors differ.
fn id_color(number: u32) -> [f32; 3] {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B1);
    [mixed >> 24, mixed >> 16 & 0xFF, mixed >> 8 & 0xFF].map(|byte| linear_of(0.25 + 0.75 * byte as f32 / 255.0))
}

/// An sRGB value as light (IEC 61966-2-1).
fn linear_of(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

fn linear(byte: u8) -> f32 {
    linear_of(f32::from(byte) / 255.0)
}

/// Light as an sRGB byte.
fn encoded(value: f32) -> u8 {
    let value = value.clamp(0.0, 1.0);
    let value = if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    (255.0 * value).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_as_they_were() {
        assert!((0..=255u8).all(|byte| encoded(linear(byte)) == byte));
        assert_eq!((encoded(-1.0), encoded(2.0), encoded(f32::NAN)), (0, 255, 0));
    }

    #[test]
    fn the_last_run_before_a_face_counts() {
        let run = |faces: u32, value: u32| Run { at: polyhaul_model::Counts { faces, ..Default::default() }, value };
        let runs = [run(2, 5), run(2, 6), run(4, NONE), run(5, 1)];
        let values: Vec<_> = (0..7).map(|face| run_value(&runs, face)).collect();
        assert_eq!(values, [None, None, Some(6), Some(6), None, Some(1), Some(1)]);
    }
}
