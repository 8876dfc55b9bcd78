//! The document of a scene, and the spans of its binary part.
//!
//! Objects become nodes. Objects with the same mesh share its vertices and indices; objects that are sections of one
//! mesh have vertices of their own. Every value is checked here, so that the bytes, which are made later, need no
//! second look. Materials are in [`crate::looks`], and what is left out is counted in [`crate::losses`].

use crate::document::{
    Accessor, Asset, Buffer, BufferView, Document, GltfMaterial, GltfMesh, Node, Primitive, SceneNodes,
};
use crate::document::{component, mode};
use crate::geometry::{GltfGeometry, VertexBlock};
use crate::looks::{self, GltfImages, Looks};
use crate::pages::{Block, Content, Span, TriangleIndices, as_float};
use crate::writer::GltfJob;
use polyhaul_mesh::frame::Frame;
use polyhaul_mesh::parts::Part;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Column, Counts, Mesh, NONE};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Kinds of values, each of which has a view; in this order in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum View {
    Positions,
    Normals,
    Uvs,
    Colors,
    OpaqueColors,
    Columns,
    Indices,
    ShortIndices,
}

const VIEWS: [View; 8] = [
    View::Positions,
    View::Normals,
    View::Uvs,
    View::Colors,
    View::OpaqueColors,
    View::Columns,
    View::Indices,
    View::ShortIndices,
];
/// The targets of views.
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;
/// The most vertices that indices of 16 bits tell apart: the largest index means something else to some programs.
const SHORT_VERTICES: usize = 65_535;

impl View {
    /// The bytes from one value of vertices to the next.
    fn stride(self) -> Option<u64> {
        match self {
            View::Positions | View::Normals | View::OpaqueColors => Some(12),
            View::Uvs => Some(8),
            View::Colors => Some(16),
            View::Columns => Some(4),
            View::Indices | View::ShortIndices => None,
        }
    }
}

/// A scene as glTF, before its bytes are made.
pub(crate) struct GltfPlan<'a> {
    pub(crate) document: Document,
    pub(crate) geometries: Vec<GltfGeometry<'a>>,
    pub(crate) images: &'a GltfImages,
    /// In the order of the file.
    pub(crate) spans: Vec<Span>,
    /// The size of the binary part.
    pub(crate) bytes: u64,
    /// How many normals were missing or had no direction.
    pub(crate) repaired_normals: u64,
}

/// What the accessors of a section are; shared by the objects that show it.
struct SectionAccessors {
    triangles: BTreeMap<String, usize>,
    /// The indices of each material.
    groups: Vec<usize>,
    lines: Option<(BTreeMap<String, usize>, usize)>,
    points: Option<BTreeMap<String, usize>>,
}

struct Builder<'a, 'j> {
    job: &'j GltfJob<'a>,
    document: Document,
    geometries: Vec<GltfGeometry<'a>>,
    spans: Vec<Vec<Span>>,
    sizes: [u64; VIEWS.len()],
    /// Accessors by geometry, section, and the object whose frame moves it.
    sections: HashMap<(usize, usize, Option<usize>), usize>,
    accessors: Vec<SectionAccessors>,
    /// Materials without textures, by the material with them.
    bare: HashMap<usize, usize>,
    /// Meshes by accessors and materials.
    meshes: HashMap<(usize, Vec<Option<usize>>), usize>,
}

/// Plans a scene.
pub(crate) fn plan<'a>(job: &GltfJob<'a>) -> Result<GltfPlan<'a>> {
    let (geometries, places) = geometries(job)?;
    let Looks { materials, textures, images, samplers, extensions } = looks::looks(job.materials, job.images);
    let asset = Asset {
        version: "2.0".into(),
        generator: Some(concat!("polyhaul ", env!("CARGO_PKG_VERSION")).into()),
        ..Asset::default()
    };
    let document =
        Document { asset, materials, textures, images, samplers, extensions_used: extensions, ..Document::default() };
    let mut spans = Vec::new();
    spans.resize_with(VIEWS.len(), Vec::new);
    let (sections, accessors, bare, meshes) = Default::default();
    let mut builder =
        Builder { job, document, geometries, spans, sizes: [0; VIEWS.len()], sections, accessors, bare, meshes };
    for (object, (part, place)) in job.parts.iter().zip(places).enumerate() {
        builder.add_node(object, part, place)?;
    }
    builder.finish()
}

/// A geometry, and a section of it.
type SectionPlace = (usize, usize);

/// The geometries of all meshes, and the place of each object.
fn geometries<'a>(job: &GltfJob<'a>) -> Result<(Vec<GltfGeometry<'a>>, Vec<SectionPlace>)> {
    let mut cuts: Vec<Vec<(Counts, Counts)>> = Vec::new();
    cuts.try_reserve_exact(job.scene.meshes.len())?;
    cuts.resize_with(job.scene.meshes.len(), Vec::new);
    let mut places = Vec::new();
    for part in job.parts {
        let number = part.object.mesh;
        // Objects of an evaluated mesh show all of it.
        let own = if job.evaluated[number] {
            (Counts::default(), part.mesh.counts())
        } else {
            (part.object.start, part.object.end)
        };
        let cuts = &mut cuts[number];
        if !job.evaluated[number] || cuts.is_empty() {
            try_push(cuts, own, "the plan")?;
        }
        try_push(&mut places, (number, cuts.len() - 1), "the plan")?;
    }
    let mut all = Vec::new();
    for (mesh, (cuts, &is_evaluated)) in job.scene.meshes.iter().zip(cuts.iter().zip(job.evaluated)) {
        let has_slots = is_evaluated && mesh.material_runs.is_empty();
        mesh.vertex_columns.iter().filter(|column| column_attribute(column).is_some()).try_for_each(check_finite)?;
        try_push(&mut all, GltfGeometry::new(mesh, cuts, has_slots, job.run)?, "the plan")?;
    }
    Ok((all, places))
}

impl<'a> Builder<'a, '_> {
    fn add_node(&mut self, object: usize, part: &Part<'a>, place: SectionPlace) -> Result<()> {
        let matrix = part.frame.map(|frame| frame.matrix());
        let baked = part.frame.filter(|_| matrix.is_some_and(|matrix| !is_decomposable(&matrix)));
        let accessors = self.section(place, baked.map(|frame| (object, frame)))?;
        let mesh = self.mesh(accessors, place, part)?;
        let node = Node {
            name: named(&part.object.name),
            mesh,
            matrix: matrix.filter(|_| baked.is_none()).map(column_major),
            ..Node::default()
        };
        try_push(&mut self.document.nodes, node, "the plan")
    }

    /// The mesh of an object; `None` if it has no elements.
    fn mesh(&mut self, accessors: usize, (geometry, section): SectionPlace, part: &Part<'_>) -> Result<Option<usize>> {
        let has_slots = self.geometries[geometry].has_slots;
        let groups = &self.geometries[geometry].sections[section].triangles;
        let material = |material: u32| match (has_slots, &part.object.materials) {
            (true, Some(slots)) => slots.get(material as usize).copied().flatten(),
            (true, None) => None,
            (false, _) => (material != NONE).then_some(material as usize),
        };
        let mut materials: Vec<_> = groups.iter().map(|group| material(group.material)).collect();
        for material in &mut materials {
            *material = material.filter(|&number| number < self.document.materials.len());
            if !self.accessors[accessors].triangles.contains_key("TEXCOORD_0") {
                *material = material.map(|number| bare_material(&mut self.document.materials, &mut self.bare, number));
            }
        }
        let of = &self.accessors[accessors];
        if of.groups.is_empty() && of.lines.is_none() && of.points.is_none() {
            return Ok(None);
        }
        let next = self.document.meshes.len();
        let number = *self.meshes.entry((accessors, materials.clone())).or_insert(next);
        if number < next {
            return Ok(Some(number));
        }
        let primitive = |attributes: &BTreeMap<String, usize>, indices, topology| Primitive {
            attributes: attributes.clone(),
            indices,
            mode: (topology != mode::TRIANGLES).then_some(topology),
            ..Primitive::default()
        };
        let triangles = of.groups.iter().zip(materials).map(|(&indices, material)| Primitive {
            material,
            ..primitive(&of.triangles, Some(indices), mode::TRIANGLES)
        });
        let lines = of.lines.iter().map(|(attributes, indices)| primitive(attributes, Some(*indices), mode::LINES));
        let points = of.points.iter().map(|attributes| primitive(attributes, None, mode::POINTS));
        let primitives = triangles.chain(lines).chain(points).collect();
        let name = named(&part.object.mesh_name).or_else(|| named(&part.object.name));
        try_push(&mut self.document.meshes, GltfMesh { name, primitives, ..GltfMesh::default() }, "the plan")?;
        Ok(Some(number))
    }

    /// The accessors of a section, which `moved` moves.
    fn section(&mut self, (geometry, section): SectionPlace, moved: Option<(usize, Frame)>) -> Result<usize> {
        let key = (geometry, section, moved.map(|(object, _)| object));
        if let Some(&known) = self.sections.get(&key) {
            return Ok(known);
        }
        let frame = moved.map(|(_, frame)| frame);
        let own = &self.geometries[geometry].sections[section];
        let counts: Vec<_> = own.triangles.iter().map(|group| group.count()).collect();
        let (vertices, segments) = (own.vertices.count(), own.lines.as_ref().map(|(segments, _)| segments.len()));
        let has_points = own.points.is_some();
        let place = (geometry, section);
        let triangles =
            if counts.is_empty() { BTreeMap::new() } else { self.attributes(place, Block::Triangles, frame)? };
        let mut groups = Vec::new();
        for (group, count) in counts.into_iter().enumerate() {
            let (is_wide, is_mirrored) = (vertices > SHORT_VERTICES, frame.is_some_and(|frame| frame.is_mirrored));
            let content = Content::Triangles(TriangleIndices { group, is_wide, is_mirrored });
            let view = if is_wide { View::Indices } else { View::ShortIndices };
            let component_type = if is_wide { component::UNSIGNED_INT } else { component::UNSIGNED_SHORT };
            let accessor = Accessor { component_type, count: 3 * count as u64, ..scalar() };
            try_push(&mut groups, self.add(view, Span { geometry, section, content, count }, accessor)?, "the plan")?;
        }
        let lines = match segments {
            Some(count) => {
                let attributes = self.attributes(place, Block::Lines, frame)?;
                let accessor =
                    Accessor { component_type: component::UNSIGNED_INT, count: 2 * count as u64, ..scalar() };
                let span = Span { geometry, section, content: Content::Segments, count };
                Some((attributes, self.add(View::Indices, span, accessor)?))
            }
            None => None,
        };
        let points = if has_points { Some(self.attributes(place, Block::Points, frame)?) } else { None };
        let number = self.accessors.len();
        try_push(&mut self.accessors, SectionAccessors { triangles, groups, lines, points }, "the plan")?;
        self.sections.insert(key, number);
        Ok(number)
    }

    /// The attributes of a block's vertices.
    fn attributes(
        &mut self,
        (geometry, section): SectionPlace,
        block: Block,
        frame: Option<Frame>,
    ) -> Result<BTreeMap<String, usize>> {
        let own = &self.geometries[geometry];
        let vertices = own.sections[section].block(block);
        let bounds = own.bounds(vertices, frame.as_ref(), self.job.run)?;
        let count = vertices.count();
        let accessor = |kind: &str| Accessor {
            component_type: component::FLOAT,
            kind: kind.into(),
            count: count as u64,
            ..Accessor::default()
        };
        let positions = Accessor { min: bounds.min.to_vec(), max: bounds.max.to_vec(), ..accessor("VEC3") };
        let mut wanted = vec![("POSITION".to_owned(), View::Positions, Content::Positions(block, frame), positions)];
        if has_normals(own, vertices) {
            wanted.push(("NORMAL".into(), View::Normals, Content::Normals(block, frame), accessor("VEC3")));
        }
        if vertices.is_welded() && !own.welded.vertex_uvs.is_empty() {
            if let Some(number) = own.infinite_uv(vertices) {
                let message = format!("glTF cannot store the uv of vertex {number}: it is not finite");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            wanted.push(("TEXCOORD_0".into(), View::Uvs, Content::Uvs, accessor("VEC2")));
        }
        if !own.mesh.colors.is_empty() {
            let has_alpha = own.has_alpha;
            let view = if has_alpha { View::Colors } else { View::OpaqueColors };
            let accessor = accessor(if has_alpha { "VEC4" } else { "VEC3" });
            wanted.push(("COLOR_0".into(), view, Content::Colors(block, has_alpha), accessor));
        }
        for (number, column) in own.mesh.vertex_columns.iter().enumerate() {
            let name = column_attribute(column).filter(|name| !wanted.iter().any(|(known, ..)| known == name));
            if let Some(name) = name {
                wanted.push((name, View::Columns, Content::Column(block, number), accessor("SCALAR")));
            }
        }
        let mut attributes = BTreeMap::new();
        for (name, view, content, accessor) in wanted {
            let number = self.add(view, Span { geometry, section, content, count }, accessor)?;
            attributes.insert(name, number);
        }
        Ok(attributes)
    }

    /// Appends a span to a view, and the accessor of its values.
    fn add(&mut self, view: View, span: Span, accessor: Accessor) -> Result<usize> {
        let number = self.document.accessors.len();
        let size = &mut self.sizes[view as usize];
        let accessor = Accessor { buffer_view: Some(view as usize), byte_offset: *size, ..accessor };
        *size += span.content.bytes() as u64 * span.count as u64;
        try_push(&mut self.document.accessors, accessor, "the plan")?;
        try_push(&mut self.spans[view as usize], span, "the plan")?;
        Ok(number)
    }

    fn finish(mut self) -> Result<GltfPlan<'a>> {
        let (mut offset, mut numbers) = (0, [None; VIEWS.len()]);
        for view in VIEWS.into_iter().filter(|&view| self.sizes[view as usize] > 0) {
            numbers[view as usize] = Some(self.document.buffer_views.len());
            let (byte_length, byte_stride) = (self.sizes[view as usize], view.stride());
            let target = Some(if byte_stride.is_some() { VERTICES } else { INDICES });
            let own = BufferView {
                buffer: Some(0),
                byte_offset: offset,
                byte_length,
                byte_stride,
                target,
                ..BufferView::default()
            };
            self.document.buffer_views.push(own);
            offset += byte_length;
        }
        for accessor in &mut self.document.accessors {
            accessor.buffer_view = accessor.buffer_view.and_then(|view| numbers[view]);
        }
        let mut spans: Vec<Span> = self.spans.into_iter().flatten().collect();
        offset = add_images(self.job.images, &mut self.document, &mut spans, offset);
        if offset > 0 {
            self.document.buffers = vec![Buffer { byte_length: offset, ..Buffer::default() }];
        }
        let nodes = (0..self.document.nodes.len()).collect();
        self.document.scenes = vec![SceneNodes { nodes, ..SceneNodes::default() }];
        self.document.scene = Some(0);
        let repaired_normals = self.geometries.iter().map(|geometry| geometry.repaired.len() as u64).sum();
        let (document, geometries, images) = (self.document, self.geometries, self.job.images);
        Ok(GltfPlan { document, geometries, images, spans, bytes: offset, repaired_normals })
    }
}

/// Appends the images that the document has, each with a view; returns the new end.
fn add_images(images: &GltfImages, document: &mut Document, spans: &mut Vec<Span>, mut offset: u64) -> u64 {
    // What is before may end in indices of 16 bits.
    let mut padding = offset.next_multiple_of(4) - offset;
    for image in &mut document.images {
        let Some(number) = image.buffer_view else { continue };
        if padding > 0 {
            spans.push(Span { geometry: 0, section: 0, content: Content::Zeros, count: padding as usize });
            offset += std::mem::take(&mut padding);
        }
        let byte_length = images.images[number].bytes.len() as u64;
        image.buffer_view = Some(document.buffer_views.len());
        let view = BufferView { buffer: Some(0), byte_offset: offset, byte_length, ..BufferView::default() };
        document.buffer_views.push(view);
        let count = byte_length.next_multiple_of(4);
        spans.push(Span { geometry: 0, section: 0, content: Content::Image(number), count: count as usize });
        offset += count;
    }
    offset
}

/// The number of a material without textures, for triangles without uvs: the same if it has none.
fn bare_material(materials: &mut Vec<GltfMaterial>, known: &mut HashMap<usize, usize>, number: usize) -> usize {
    if let Some(&bare) = known.get(&number) {
        return bare;
    }
    let bare = materials[number].without_textures();
    let own = if bare == materials[number] { number } else { materials.len() };
    if own == materials.len() {
        materials.push(bare);
    }
    known.insert(number, own);
    own
}

fn scalar() -> Accessor {
    Accessor { kind: "SCALAR".into(), ..Accessor::default() }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether vertices have normals: by corner, or by position for points.
pub(crate) fn has_normals(geometry: &GltfGeometry<'_>, vertices: &VertexBlock) -> bool {
    match vertices {
        VertexBlock::Welded(..) => !geometry.welded.vertex_normals.is_empty(),
        VertexBlock::Listed(_) => false,
        VertexBlock::Positions(_) => geometry.has_point_normals,
    }
}

/// The attribute that holds a column: `_NAME` for numbers. Lists have none.
pub(crate) fn column_attribute(column: &Column) -> Option<String> {
    column.offsets.is_none().then(|| format!("_{}", column.name))
}

/// How many columns of a mesh have no attribute: lists, and those whose name another one has.
pub(crate) fn columns_left_out(mesh: &Mesh) -> usize {
    let kept: HashSet<_> = mesh.vertex_columns.iter().filter_map(column_attribute).collect();
    mesh.vertex_columns.len() - kept.len()
}

fn check_finite(column: &Column) -> Result<()> {
    let place = (0..column.values.len()).find(|&place| !as_float(&column.values, place).is_finite());
    let Some(place) = place else { return Ok(()) };
    let message = format!("glTF cannot store value {place} of vertex column `{}`: it is not finite", column.name);
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Whether a matrix is a translation, a rotation and a scale, which is all that nodes may have.
fn is_decomposable(matrix: &[[f32; 4]; 4]) -> bool {
    let column = |column: usize| [0, 1, 2].map(|row| f64::from(matrix[row][column]));
    let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let columns = [column(0), column(1), column(2)];
    let lengths = columns.map(|own| dot(own, own).sqrt());
    let is_square = |a: usize, b: usize| dot(columns[a], columns[b]).abs() <= 1e-5 * lengths[a] * lengths[b];
    let is_finite = matrix.as_flattened().iter().all(|entry| entry.is_finite());
    is_finite && lengths.iter().all(|&length| length > 1e-12) && is_square(0, 1) && is_square(0, 2) && is_square(1, 2)
}

fn column_major(matrix: [[f32; 4]; 4]) -> [f32; 16] {
    std::array::from_fn(|entry| matrix[entry % 4][entry / 4])
}
