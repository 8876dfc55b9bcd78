//! Resolves payloads of a scene to surfaces: normal, color and texture coordinates at a pixel position.
//!
//! Lighting and styles are in [`crate::shade`].

use crate::camera::Camera;
use crate::color::linear_of;
use crate::scene::{PartKind, ScenePart, SceneParts};
use crate::shade::{DARK_GRAY, GRAY, SeenSurface, Surfaces};
use crate::texture::{MapPurpose, Textures};
use polyhaul_geometry::linear::{Vector, add, cross, dot, scale, subtract, unit, wide};
use polyhaul_model::{Color, Domain, NONE, Scene};

/// Maps the payloads of a scene to surfaces.
pub(crate) struct SceneSurfaces<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) parts: &'a SceneParts<'a>,
    pub(crate) camera: &'a Camera,
    pub(crate) textures: &'a Textures,
}

impl Surfaces for SceneSurfaces<'_> {
    fn surface(&self, payload: u64, place: [f64; 2]) -> SeenSurface {
        match self.parts.find(payload) {
            Some((part, index)) => self.of_part(part, index, place),
            None => SeenSurface::new(None, GRAY, 0),
        }
    }
}

impl SceneSurfaces<'_> {
    /// The surface of a part at a pixel position.
    pub(crate) fn of_part(&self, part: &ScenePart<'_>, index: usize, place: [f64; 2]) -> SeenSurface {
        match part.kind {
            // A thinned face is drawn as a point, with the color at its corner.
            PartKind::Faces if part.density.step > 1 => {
                let [x, y, _] = self.camera.project(part.corner(index));
                self.face(part, index, [x.into(), y.into()])
            }
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
                SeenSurface::new(normal, color, position as u32)
            }
        }
    }

    /// The segment that starts at a corner. With a material, it is lit as a ribbon facing the camera.
    fn line(&self, part: &ScenePart<'_>, corner: usize) -> SeenSurface {
        let material = part.slots.and_then(|slots| *slots.first()?);
        let Some(number) = material else { return SeenSurface::new(None, DARK_GRAY, corner as u32) };
        let [a, b] = [corner, corner + 1].map(|corner| wide(part.corner(corner)));
        let along = subtract(b, a);
        let toward = subtract(self.camera.eye(), a);
        let normal = facing(cross(cross(along, toward), along), toward);
        let surface = SeenSurface::new(normal, self.color_of(material), 1 + number as u32);
        SeenSurface { emits: self.emits(material), ..surface }
    }

    /// The surface of a face at a pixel position. `corner` is the second corner of the triangle that was hit.
    fn face(&self, part: &ScenePart<'_>, corner: usize, place: [f64; 2]) -> SeenSurface {
        let (face, first) = part.face_of(corner);
        let corners = [first, corner, corner + 1];
        let triangle = SeenTriangle::new(corners.map(|corner| wide(part.corner(corner))), self.camera);
        let weights = triangle.weights(place);
        let toward = scale(self.camera.ray(place), -1.0);
        let smooth = self.corner_normals(part, face, corners).map(|normals| mixed(normals, weights));
        // Interpolated normals that face away belong to the other side: flip them.
        let flat = facing(triangle.normal(), toward);
        let normal = smooth.and_then(|normal| facing(normal, toward)).or(flat);
        let material = part.material(face);
        let uvs = part.corner_uvs(corners);
        let color =
            self.vertex_colors(part, corners).map(|colors| mixed(colors, weights).map(|channel| channel as f32));
        let texel = || uvs.and_then(|uvs| self.texel(material, uvs, &triangle, place));
        let color = color.or_else(texel).unwrap_or_else(|| self.color_of(material));
        let surface = SeenSurface::new(normal, color, material.map_or(0, |number| 1 + number as u32));
        let last = part.mesh.faces.corners(face).end.saturating_sub(1);
        SeenSurface {
            emits: self.emits(material),
            uv: uvs.map(|uvs| mixed_uv(uvs, weights)),
            // Polygon edges only, without the diagonals of the triangulation.
            edge: triangle.edge(place, [true, corner + 1 == last, corner == first + 1]),
            ..surface
        }
    }

    /// Samples the material's color texture, at the mip level that matches the number of texels per pixel.
    fn texel(
        &self,
        material: Option<usize>,
        uvs: [[f32; 2]; 3],
        triangle: &SeenTriangle<'_>,
        [x, y]: [f64; 2],
    ) -> Option<[f32; 3]> {
        let (map, image) = self.textures.find(material, MapPurpose::Color)?;
        let at = |place: [f64; 2]| mixed_uv(uvs, triangle.weights(place));
        let here = at([x, y]);
        let size = image.size();
        let covered = [at([x + 1.0, y]), at([x, y + 1.0])].map(|there| {
            let pixels = |axis: usize| (there[axis] - here[axis]) * map.scale[axis] * size[axis];
            pixels(0).hypot(pixels(1))
        });
        let [r, g, b, _] = image.color(map, here, covered[0].max(covered[1]));
        Some([r, g, b])
    }

    fn vertex_colors(&self, part: &ScenePart<'_>, corners: [usize; 3]) -> Option<[Vector; 3]> {
        let color = |corner: usize| {
            let position = part.mesh.faces.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize);
            vertex_color(part, position).map(wide)
        };
        let [a, b, c] = corners.map(color);
        Some([a?, b?, c?])
    }

    /// Normals of three face corners (stored, or computed from smoothing groups), or `None` for flat shading.
    fn corner_normals(&self, part: &ScenePart<'_>, face: usize, corners: [usize; 3]) -> Option<[Vector; 3]> {
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
            mesh.normals.get(index).copied()
        };
        let normal = |corner: usize| {
            let normal = normal(corner).or_else(|| self.parts.smooth_normal(part, face, corner));
            normal.map(|normal| unit(part.direction(normal)))
        };
        let [a, b, c] = corners.map(normal);
        Some([a?, b?, c?])
    }

    /// Whether a material has an emission other than black.
    fn emits(&self, material: Option<usize>) -> bool {
        let material = material.and_then(|number| self.scene.materials.get(number));
        // Many exporters write an emission of 0 0 0.
        let emission = material.and_then(|material| material.emission.as_ref());
        matches!(emission, Some(Color::Rgb(color)) if color.iter().any(|&channel| channel > 0.0))
    }

    /// Linear material color: diffuse, or else emission, or else gray.
    fn color_of(&self, material: Option<usize>) -> [f32; 3] {
        let material = material.and_then(|number| self.scene.materials.get(number));
        match material.and_then(|material| material.diffuse.as_ref()) {
            Some(Color::Rgb(color)) => color.map(|channel| channel.clamp(0.0, 1.0)),
            _ => match material.and_then(|material| material.emission.as_ref()) {
                Some(Color::Rgb(color)) if color.iter().any(|&channel| channel > 0.0) => {
                    color.map(|channel| channel.clamp(0.0, 1.0))
                }
                _ => GRAY,
            },
        }
    }
}

/// Linear vertex color, if any.
fn vertex_color(part: &ScenePart<'_>, position: usize) -> Option<[f32; 3]> {
    let &[r, g, b, _] = part.mesh.colors.get(position)?;
    (!r.is_nan()).then(|| [r, g, b].map(linear_of))
}

/// The unit normal, flipped to face the viewer, or `None` for a zero vector.
pub(crate) fn facing(normal: Vector, toward: Vector) -> Option<Vector> {
    let normal = unit(normal);
    let side = dot(normal, toward);
    let normal = if side < 0.0 { scale(normal, -1.0) } else { normal };
    // `unit` returns a vector of length 1, unless the length was 0 or NaN.
    (dot(normal, normal) > 0.5).then_some(normal)
}

fn mixed([a, b, c]: [Vector; 3], weights: [f64; 3]) -> Vector {
    add(add(scale(a, weights[0]), scale(b, weights[1])), scale(c, weights[2]))
}

/// A triangle with its camera.
struct SeenTriangle<'a> {
    camera: &'a Camera,
    corner: Vector,
    edges: [Vector; 2],
}

impl SeenTriangle<'_> {
    fn new([a, b, c]: [Vector; 3], camera: &Camera) -> SeenTriangle<'_> {
        SeenTriangle { camera, corner: a, edges: [subtract(b, a), subtract(c, a)] }
    }

    fn normal(&self) -> Vector {
        cross(self.edges[0], self.edges[1])
    }

    /// Barycentric weights of the ray-plane intersection at a pixel position (Möller and Trumbore, 1997).
    fn weights(&self, place: [f64; 2]) -> [f64; 3] {
        let [ab, ac] = self.edges;
        let ray = self.camera.ray(place);
        let from = subtract(self.camera.eye(), self.corner);
        let p = cross(ray, ac);
        let q = cross(from, ab);
        let scale_by = 1.0 / dot(ab, p);
        let v = scale_by * dot(from, p);
        let w = scale_by * dot(ray, q);
        // A ray within the plane of the triangle has no single intersection.
        if (v + w).is_finite() { [1.0 - v - w, v, w] } else { [1.0 / 3.0; 3] }
    }

    /// Distance in pixels to the nearest edge; `counts` selects edges by their opposite corner.
    fn edge(&self, [x, y]: [f64; 2], counts: [bool; 3]) -> f32 {
        let here = self.weights([x, y]);
        let right = self.weights([x + 1.0, y]);
        let below = self.weights([x, y + 1.0]);
        let distance = |corner: usize| {
            // A weight is 0 at its edge; dividing by the gradient yields pixels.
            let slope = (right[corner] - here[corner]).hypot(below[corner] - here[corner]);
            if counts[corner] && slope > 0.0 { here[corner].abs() / slope } else { f64::INFINITY }
        };
        distance(0).min(distance(1)).min(distance(2)) as f32
    }
}

fn mixed_uv([a, b, c]: [[f32; 2]; 3], weights: [f64; 3]) -> [f32; 2] {
    let [u, v, w] = weights.map(|weight| weight as f32);
    std::array::from_fn(|axis| u * a[axis] + v * b[axis] + w * c[axis])
}
