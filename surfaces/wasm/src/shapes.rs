//! Expands a scene to shapes with unindexed vertex buffers, in blocks, ready to render.
//!
//! In OBJ, a shape extends from one `o` or `g` statement to the next, as in three.js: the first shape also includes the
//! elements before the first of these statements, and a shape starts with the material of the previous shape. In other
//! formats, each object is a shape. Faces, lines and points of an object become separate shapes. Polygons become
//! triangle fans around their first corner, and polylines become pairs of corners. Corners without a normal get the
//! normal of their triangle.

use crate::host;
use crate::statements::{Before, Placed, Statement, statements};
use polyhaul::model::{Domain, Elements, Mesh, NONE, Scene};
use std::ops::Range;

/// Triangles per block, so that its arrays stay in a core's private cache.
const BLOCK_TRIANGLES: usize = 4096;
const BLOCK_CORNERS: usize = 3 * BLOCK_TRIANGLES;

/// Elements of one kind that are drawn together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) kind: ShapeKind,
    pub(crate) mesh: usize,
    pub(crate) elements: Range<usize>,
    /// Number of corners to draw.
    pub(crate) corners: usize,
    /// Number of corners in this part of the file.
    pub(crate) own_corners: usize,
    pub(crate) has_normals: bool,
    pub(crate) has_colors: bool,
    pub(crate) has_uvs: bool,
    /// The materials of ranges of corners.
    pub(crate) uses: Vec<Use>,
    /// The opacity of the whole shape, if the file declares it.
    pub(crate) alpha: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ShapeKind {
    #[default]
    Faces,
    Lines,
    Points,
}

/// The material of a range of corners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) material: Option<u32>,
    pub(crate) smooth: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The elements of all kinds between two statements that start a shape.
#[derive(Default)]
struct Section {
    name: String,
    /// By kind.
    elements: [Range<usize>; 3],
    corners: [usize; 3],
    uses: Vec<SectionUse>,
    is_smooth: bool,
    is_declared: bool,
}

/// The material of a range of a section, given in corners by kind.
#[derive(Clone, Copy, Default)]
struct SectionUse {
    material: Option<u32>,
    smooth: bool,
    start: [usize; 3],
    end: [usize; 3],
}

/// Divides a scene into shapes; those without corners are omitted.
pub(crate) fn shapes_of(scene: &Scene) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (number, mesh) in scene.meshes.iter().enumerate() {
        let mut shapes_of_mesh = divided(statements(scene, number), &Before::of(mesh, mesh.counts()));
        shapes_of_mesh.iter_mut().for_each(|shape| shape.describe(number, mesh));
        shapes.append(&mut shapes_of_mesh);
    }
    shapes
}

/// Divides a mesh that ends at `end` into the shapes between statements.
pub(crate) fn divided(statements: Vec<Placed<'_>>, end: &Before) -> Vec<Shape> {
    let mut section = Section { is_smooth: true, ..Section::default() };
    let mut last = Before::default();
    let mut shapes = Vec::new();
    for Placed { before, statement, .. } in statements {
        section.extend(&last, &before);
        last = before;
        match statement {
            Statement::Object(name) | Statement::Group(name) => section.declare(&name, &mut shapes),
            Statement::Material(material) => section.use_material(material),
            Statement::Smoothing(is_smooth) => section.smoothen(is_smooth),
        }
    }
    section.extend(&last, end);
    section.finish(&mut shapes);
    shapes
}

impl Section {
    /// Adds the elements between two positions.
    fn extend(&mut self, from: &Before, to: &Before) {
        for (kind, drawn) in from.drawn_until(to).into_iter().enumerate() {
            let start = if self.corners[kind] == 0 { from.elements[kind] } else { self.elements[kind].start };
            self.elements[kind] = start..to.elements[kind];
            self.corners[kind] += drawn;
        }
    }

    /// Finishes the current section and starts the next section. If the current section has no name yet, only names it.
    fn declare(&mut self, name: &str, shapes: &mut Vec<Shape>) {
        if !self.is_declared {
            self.name = name.to_owned();
            self.is_declared = true;
            return;
        }
        let inherited = self.uses.last().map(|&last| SectionUse { start: [0; 3], end: [0; 3], ..last });
        let next = Section {
            name: name.to_owned(),
            uses: inherited.into_iter().collect(),
            is_smooth: true,
            is_declared: true,
            ..Section::default()
        };
        std::mem::replace(self, next).finish(shapes);
    }

    fn use_material(&mut self, material: Option<u32>) {
        let before = self.uses.last_mut().map(|last| {
            last.end = self.corners;
            *last
        });
        if before.is_some_and(|last| last.start == last.end) {
            self.uses.pop();
        }
        let (smooth, start) = before.map_or((self.is_smooth, [0; 3]), |last| (last.smooth, last.end));
        self.uses.push(SectionUse { material, smooth, start, end: start });
    }

    fn smoothen(&mut self, is_smooth: bool) {
        self.is_smooth = is_smooth;
        if let Some(last) = self.uses.last_mut() {
            last.smooth = is_smooth;
        }
    }

    fn finish(mut self, shapes: &mut Vec<Shape>) {
        match self.uses.last_mut() {
            Some(last) => last.end = self.corners,
            None => self.uses.push(SectionUse { smooth: self.is_smooth, end: self.corners, ..SectionUse::default() }),
        }
        for (at, kind) in [ShapeKind::Faces, ShapeKind::Lines, ShapeKind::Points].into_iter().enumerate() {
            let corners = self.corners[at];
            if corners == 0 {
                continue;
            }
            let uses = self.uses.iter().filter(|section| section.start[at] < section.end[at]);
            let uses = uses.map(|section| Use {
                material: section.material,
                smooth: section.smooth,
                start: section.start[at],
                end: section.end[at],
            });
            let name = self.name.clone();
            let elements = self.elements[at].clone();
            let uses = uses.collect();
            shapes.push(Shape { name, kind, elements, corners, own_corners: corners, uses, ..Shape::default() });
        }
    }
}

impl ShapeKind {
    /// The kind of three.js object that draws it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ShapeKind::Faces => "mesh",
            ShapeKind::Lines => "lines",
            ShapeKind::Points => "points",
        }
    }
}

impl Shape {
    /// Restricts a shape of a whole file to this part, whose `mesh` contains the elements starting at `base`.
    pub(crate) fn within(mut self, base: &Before, mesh: &Mesh) -> Shape {
        let kind = self.kind as usize;
        let counts = Before::of(mesh, mesh.counts());
        let local = |element: usize| element.saturating_sub(base.elements[kind]).min(counts.elements[kind]);
        self.elements = local(self.elements.start)..local(self.elements.end);
        let at = |element: usize| Before::at(mesh, kind, element);
        self.own_corners = at(self.elements.start).drawn_until(&at(self.elements.end))[kind];
        self
    }

    /// Determines which attributes the corners have.
    pub(crate) fn describe(&mut self, number: usize, mesh: &Mesh) {
        self.mesh = number;
        let of_elements = |elements: &Elements| {
            let offset = |element: usize| elements.offsets.get(element).map_or(0, |&offset| offset as usize);
            offset(self.elements.start)..offset(self.elements.end)
        };
        let (indices, corners_of_shape) = match self.kind {
            ShapeKind::Faces => (&mesh.faces.corner_positions, of_elements(&mesh.faces)),
            ShapeKind::Lines => (&mesh.lines.corner_positions, of_elements(&mesh.lines)),
            ShapeKind::Points => (&mesh.points, self.elements.clone()),
        };
        let has_color = |&vertex: &u32| mesh.colors.get(vertex as usize).is_some_and(|[red, ..]| !red.is_nan());
        self.has_colors = !mesh.colors.is_empty() && indices[corners_of_shape.clone()].iter().any(has_color);
        self.has_normals = self.kind == ShapeKind::Faces;
        self.has_uvs = self.kind == ShapeKind::Faces
            && !mesh.uvs.is_empty()
            && match mesh.uv_domain {
                Domain::Indexed => {
                    mesh.faces.corner_uvs.get(corners_of_shape).is_some_and(|uvs| uvs.iter().any(|&uv| uv != NONE))
                }
                _ => true,
            };
    }
}

/// The state of drawing a shape: the next element to draw, and the block.
#[derive(Default)]
pub(crate) struct Drawing {
    mesh: usize,
    kind: ShapeKind,
    /// The elements that are not drawn completely.
    elements: Range<usize>,
    /// The number of triangles or segments already drawn of the first of these elements.
    parts: usize,
    /// The mesh's colors as in three.js: linear, without alpha.
    colors: Vec<[f32; 3]>,
    block: Block,
    addresses: [usize; 4],
}

/// A block of corners, of which the first `filled` are in use.
#[derive(Default)]
struct Block {
    filled: usize,
    /// The corners of triangles, and the face of each triangle.
    corners: Vec<u32>,
    faces: Vec<u32>,
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    colors: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
}

impl Drawing {
    /// Starts drawing a shape; returns a pointer to the addresses of the block's arrays.
    pub(crate) fn start(&mut self, scene: &Scene, shape: &Shape) -> *const [usize; 4] {
        if self.block.positions.is_empty() {
            self.block.make_room();
        }
        if self.mesh != shape.mesh {
            self.colors.clear();
        }
        self.mesh = shape.mesh;
        self.kind = shape.kind;
        self.elements = shape.elements.clone();
        self.parts = 0;
        let colors = &scene.meshes[self.mesh].colors;
        if self.colors.len() != colors.len() {
            self.colors = colors.iter().map(|&[r, g, b, _]| [r, g, b].map(light)).collect();
        }
        let Block { positions, normals, colors, uvs, .. } = &self.block;
        let positions = positions.as_ptr() as usize;
        self.addresses = [positions, normals.as_ptr() as usize, colors.as_ptr() as usize, uvs.as_ptr() as usize];
        &self.addresses
    }

    /// The positions, normals and UVs of the block's corners.
    #[cfg(test)]
    pub(crate) fn values(&self, shape: &Shape) -> [&[f32]; 3] {
        let Block { filled, positions, normals, uvs, .. } = &self.block;
        let of_faces = if shape.kind == ShapeKind::Faces { *filled } else { 0 };
        [positions[..*filled].as_flattened(), normals[..of_faces].as_flattened(), uvs[..of_faces].as_flattened()]
    }

    /// Fills the block with the next corners; returns their number.
    pub(crate) fn next(&mut self, scene: &Scene) -> usize {
        let mesh = &scene.meshes[self.mesh];
        self.block.filled = 0;
        match self.kind {
            ShapeKind::Faces => self.draw_faces(mesh),
            ShapeKind::Lines => self.draw_lines(mesh),
            ShapeKind::Points => self.draw_points(mesh),
        }
        self.block.filled
    }

    fn draw_faces(&mut self, mesh: &Mesh) {
        let Drawing { block, elements, parts, colors, .. } = self;
        block.corners.clear();
        block.faces.clear();
        while elements.start < elements.end && block.corners.len() + 3 <= BLOCK_CORNERS {
            let corners = mesh.faces.corners(elements.start);
            let room = (BLOCK_CORNERS - block.corners.len()) / 3;
            let triangles = corners.len().saturating_sub(2);
            let end = triangles.min(*parts + room);
            for second in corners.start + 1 + *parts..corners.start + 1 + end {
                block.corners.extend([corners.start, second, second + 1].map(|corner| corner as u32));
                block.faces.push(elements.start as u32);
            }
            (elements.start, *parts) = if end == triangles { (elements.start + 1, 0) } else { (elements.start, end) };
        }
        block.fill(mesh, colors);
    }

    fn draw_lines(&mut self, mesh: &Mesh) {
        while self.elements.start < self.elements.end {
            let corners = mesh.lines.corners(self.elements.start);
            while self.parts + 1 < corners.len() {
                if self.block.filled + 2 > BLOCK_CORNERS {
                    return;
                }
                for corner in [self.parts, self.parts + 1] {
                    self.draw_position(mesh, mesh.lines.corner_positions[corners.start + corner]);
                }
                self.parts += 1;
            }
            self.elements.start += 1;
            self.parts = 0;
        }
    }

    fn draw_points(&mut self, mesh: &Mesh) {
        let end = self.elements.end.min(self.elements.start + BLOCK_CORNERS);
        for point in self.elements.start..end {
            self.draw_position(mesh, mesh.points[point]);
        }
        self.elements.start = end;
    }

    fn draw_position(&mut self, mesh: &Mesh, vertex: u32) {
        let slot = self.block.filled;
        self.block.positions[slot] = value(&mesh.positions, vertex);
        if !self.colors.is_empty() {
            self.block.colors[slot] = value(&self.colors, vertex);
        }
        self.block.filled += 1;
    }
}

impl Block {
    fn make_room(&mut self) {
        self.corners.reserve(BLOCK_CORNERS);
        self.faces.reserve(BLOCK_TRIANGLES);
        self.positions = vec![[0.0; 3]; BLOCK_CORNERS];
        self.normals = vec![[0.0; 3]; BLOCK_CORNERS];
        self.colors = vec![[0.0; 3]; BLOCK_CORNERS];
        self.uvs = vec![[0.0; 2]; BLOCK_CORNERS];
    }

    /// Gathers the attributes of the corners, one attribute at a time, so that each loop reads few arrays.
    fn fill(&mut self, mesh: &Mesh, colors: &[[f32; 3]]) {
        let Block { filled, corners, faces, positions, normals, uvs, colors: lights } = self;
        *filled = corners.len();
        let vertices = |&corner: &u32| mesh.faces.corner_positions[corner as usize];
        let index = |indices: &[u32], domain: Domain, at: usize, corner: &u32| match domain {
            Domain::Indexed => indices.get(*corner as usize).copied().unwrap_or(NONE),
            Domain::Corner => *corner,
            Domain::Vertex => vertices(corner),
            Domain::Face => faces[at / 3],
        };
        for (slot, corner) in positions.iter_mut().zip(&*corners) {
            *slot = value(&mesh.positions, vertices(corner));
        }
        let triangles = normals.as_chunks_mut::<3>().0.iter_mut().zip(positions.as_chunks::<3>().0);
        for (triangle, (slots, triangle_corners)) in triangles.enumerate().take(faces.len()) {
            let corner_normals = [0, 1, 2].map(|at| {
                let at = 3 * triangle + at;
                mesh.normals.get(index(&mesh.faces.corner_normals, mesh.normal_domain, at, &corners[at]) as usize)
            });
            *slots = match corner_normals {
                [Some(&a), Some(&b), Some(&c)] => [a, b, c],
                _ => [normal(*triangle_corners); 3],
            };
        }
        if !mesh.uvs.is_empty() {
            for (at, (slot, corner)) in uvs.iter_mut().zip(&*corners).enumerate() {
                *slot = value(&mesh.uvs, index(&mesh.faces.corner_uvs, mesh.uv_domain, at, corner));
            }
        }
        if !colors.is_empty() {
            for (slot, corner) in lights.iter_mut().zip(&*corners) {
                *slot = value(colors, vertices(corner));
            }
        }
    }
}

/// The value at an index; zeros if it is out of range.
#[inline]
fn value<T: Copy + Default>(values: &[T], index: u32) -> T {
    values.get(index as usize).copied().unwrap_or_default()
}

/// The unit normal of a triangle.
fn normal([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let minus = |a: [f32; 3], b: [f32; 3]| [0, 1, 2].map(|axis| f64::from(a[axis]) - f64::from(b[axis]));
    let u = minus(c, b);
    let v = minus(a, b);
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = cross.iter().map(|value| value * value).sum::<f64>().sqrt();
    // The normal of a triangle without area is zero.
    cross.map(|value| (value / if length > 0.0 { length } else { 1.0 }) as f32)
}

/// Converts an sRGB value to linear (IEC 61966-2-1). NaN, which stands for no color, becomes white.
pub(crate) fn light(value: f32) -> f32 {
    match f64::from(value) {
        value if value.is_nan() => 1.0,
        value if value <= 0.04045 => (value / 12.92) as f32,
        value => host::power((value + 0.055) / 1.055, 2.4) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::{Input, Reader};

    fn read(text: &str) -> Scene {
        Reader::new(Input::Memory(text.into(), "a.obj".into())).scene().unwrap().value
    }

    /// Draws all corners of a shape.
    fn drawn(scene: &Scene, shape: &Shape) -> Vec<[f32; 3]> {
        let mut drawing = Drawing::default();
        let mut positions = Vec::new();
        drawing.start(scene, shape);
        loop {
            let count = drawing.next(scene);
            positions.extend_from_slice(&drawing.block.positions[..count]);
            if count == 0 {
                return positions;
            }
        }
    }

    const CORNERS: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

    #[test]
    fn shapes_start_at_objects_and_groups_and_inherit_materials() {
        let first = "usemtl red\nf 1 2 3\no first\nf 1 2 3\nusemtl blue\ns 1\nf 1 2 3 4\n";
        let scene = read(&format!("{CORNERS}{first}g second\nf 1 2 3\nusemtl red\ng third\nl 1 2 3\n"));
        let shapes = shapes_of(&scene);
        let summaries: Vec<_> =
            shapes.iter().map(|shape| (shape.name.as_str(), shape.kind.name(), shape.corners)).collect();
        assert_eq!(summaries, [("first", "mesh", 12), ("second", "mesh", 3), ("third", "lines", 4)]);
        let uses = |shape: usize| -> Vec<_> {
            shapes[shape]
                .uses
                .iter()
                .map(|material_use| (material_use.material, material_use.start, material_use.end))
                .collect()
        };
        assert_eq!(uses(0), [(Some(0), 0, 6), (Some(1), 6, 12)]);
        assert_eq!(uses(1), [(Some(1), 0, 3)]);
        assert_eq!(uses(2), [(Some(0), 0, 4)]);
        assert_eq!(drawn(&scene, &shapes[2]), [[0., 0., 0.], [1., 0., 0.], [1., 0., 0.], [1., 1., 0.]]);
    }

    /// The first group includes the elements before it, whether or not positions follow its statement.
    #[test]
    fn a_group_followed_by_positions_starts_one_shape() {
        for between in ["", "v 5 5 5\n"] {
            let scene = read(&format!("{CORNERS}f 1 2 3\ng first\n{between}f 1 2 3\ng second\n{between}f 2 3 4\n"));
            let shapes = shapes_of(&scene);
            let summaries: Vec<_> = shapes.iter().map(|shape| (shape.name.as_str(), shape.corners)).collect();
            assert_eq!(summaries, [("first", 6), ("second", 3)], "{between}");
        }
    }

    /// The three.js exporter writes unnamed meshes like this.
    #[test]
    fn objects_without_names_are_shapes_too() {
        let shapes = shapes_of(&read(&format!("{CORNERS}o a\nf 1 2 3\no \nf 1 2 3\no\nf 2 3 4\n")));
        let summaries: Vec<_> = shapes.iter().map(|shape| (shape.name.as_str(), shape.corners)).collect();
        assert_eq!(summaries, [("a", 3), ("", 3), ("", 3)]);
    }

    #[test]
    fn polygons_are_fans_across_blocks() {
        let count = 3 * BLOCK_TRIANGLES;
        let mut text = String::new();
        (0..count).for_each(|at| text += &format!("v {at} 0 0\n"));
        text += "f";
        (1..=count).for_each(|at| text += &format!(" {at}"));
        let scene = read(&(text + "\n"));
        let shapes = shapes_of(&scene);
        let corners: Vec<f32> = drawn(&scene, &shapes[0]).into_iter().map(|[x, _, _]| x).collect();
        let expected: Vec<f32> = (1..count - 1).flat_map(|at| [0.0, at as f32, (at + 1) as f32]).collect();
        assert!(corners == expected && corners.len() == shapes[0].corners);
    }

    #[test]
    fn corners_without_normals_get_those_of_their_triangle_and_colors_are_light() {
        let scene = read("v 0 0 0 1 0.5 0\nv 2 0 0 0 0 0\nv 2 2 0 1 1 1\nvt 0.25 0.5\nf 1/1 2/1 3\n");
        let shapes = shapes_of(&scene);
        assert!(shapes[0].has_normals && shapes[0].has_colors && shapes[0].has_uvs);
        let mut drawing = Drawing::default();
        drawing.start(&scene, &shapes[0]);
        assert_eq!(drawing.next(&scene), 3);
        assert_eq!(drawing.block.normals[..3], [[0.0, 0.0, 1.0]; 3]);
        assert_eq!(drawing.block.uvs[..3], [[0.25, 0.5], [0.25, 0.5], [0.0, 0.0]]);
        assert!((drawing.block.colors[0][1] - 0.214_041_14).abs() < 1e-6);
        assert_eq!(drawing.next(&scene), 0);
    }
}
