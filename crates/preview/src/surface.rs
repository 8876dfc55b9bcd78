//! What a scene shows at a place of the picture: the part behind a payload, its normal and its color.
//!
//! Light and styles are in [`crate::shade`].

use crate::camera::Camera;
use crate::color::{id_color, linear_of};
use crate::scene::{Part, PartKind, Parts};
use crate::shade::{DARK_GRAY, GRAY, Surface, Surfaces};
use crate::vector::{Vector, add, cross, dot, scale, subtract, unit, wide};
use polyhaul_model::{Color, Domain, NONE, Run, Scene};

/// The surfaces of a scene.
pub(crate) struct SceneSurfaces<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) parts: &'a Parts<'a>,
    pub(crate) camera: &'a Camera,
}

impl Surfaces for SceneSurfaces<'_> {
    fn surface(&self, payload: u64, place: [f64; 2]) -> Surface {
        match self.parts.find(payload) {
            Some((part, index)) => self.of_part(part, index, place),
            None => Surface { normal: None, color: GRAY, id: id_color(0) },
        }
    }
}

impl SceneSurfaces<'_> {
    /// What is at a place in the picture.
    pub(crate) fn of_part(&self, part: &Part<'_>, index: usize, place: [f64; 2]) -> Surface {
        match part.kind {
            PartKind::Faces => self.face(part, index, place),
            PartKind::Lines => self.line(part, index),
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

    /// A line from a corner on. One with a width is a ribbon that faces the camera.
    fn line(&self, part: &Part<'_>, corner: usize) -> Surface {
        let material = part.slots.and_then(|slots| *slots.first()?);
        let id = id_color(material.map_or(corner as u32, |number| 1 + number as u32));
        if material.is_none() {
            return Surface { normal: None, color: DARK_GRAY, id };
        }
        let [a, b] = [corner, corner + 1].map(|corner| wide(part.corner(corner)));
        let (along, toward) = (subtract(b, a), subtract(self.camera.eye(), a));
        let normal = facing(cross(cross(along, toward), along), toward);
        Surface { normal, color: self.color_of(material), id }
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
        if let Some(slots) = part.slots {
            let slot = part.mesh.face_materials.get(face).copied().unwrap_or(0);
            return usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        }
        run_value(&part.mesh.material_runs, face).map(|value| value as usize)
    }

    fn material_color(&self, part: &Part<'_>, face: usize) -> [f32; 3] {
        self.color_of(self.material(part, face))
    }

    /// The linear color of a material.
    fn color_of(&self, material: Option<usize>) -> [f32; 3] {
        let material = material.and_then(|number| self.scene.materials.get(number));
        match material.and_then(|material| material.diffuse.as_ref()) {
            Some(Color::Rgb(color)) => color.map(|channel| channel.clamp(0.0, 1.0)),
            _ => GRAY,
        }
    }
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
pub(crate) fn facing(normal: Vector, toward: Vector) -> Option<Vector> {
    let normal = unit(normal);
    let side = dot(normal, toward);
    let normal = if side < 0.0 { scale(normal, -1.0) } else { normal };
    (dot(normal, normal) > 0.5).then_some(normal)
}

fn mixed([a, b, c]: [Vector; 3], weights: [f64; 3]) -> Vector {
    add(add(scale(a, weights[0]), scale(b, weights[1])), scale(c, weights[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_before_a_face_counts() {
        let run = |faces: u32, value: u32| Run { at: polyhaul_model::Counts { faces, ..Default::default() }, value };
        let runs = [run(2, 5), run(2, 6), run(4, NONE), run(5, 1)];
        let values: Vec<_> = (0..7).map(|face| run_value(&runs, face)).collect();
        assert_eq!(values, [None, None, Some(6), Some(6), None, Some(1), Some(1)]);
    }
}
