//! The document of a scene, and the spans of its binary part.
//!
//! Objects become nodes, or instances of one. Objects with the same mesh share its vertices and indices; objects that
//! are sections of one mesh have vertices of their own. Every value is checked here, so that the bytes, which are made
//! later, need no second look. Materials are in [`crate::looks`], and what is left out is counted in [`crate::losses`].

use crate::document::{Accessor, Asset, Document, Extensions, GltfMaterial, GltfMesh, Node, Primitive, SceneNodes};
use crate::document::{component, mode};
use crate::geometry::{GltfGeometry, VertexBlock};
use crate::instances;
use crate::instancing::{self, ATTRIBUTES, Candidate};
use crate::looks::{self, Looks};
use crate::pages::{Block, Content, GltfData, InstanceValue, Span, TriangleIndices, as_float};
use crate::quantize::{self, Lattice};
use crate::splats::{self, SplatAttribute, SplatPlaces};
use crate::transforms::{IDENTITY, InstancePlace, Matrix, UNROTATED, column_major, is_decomposable};
use crate::views::{MESHOPT, View, Views};
use crate::writer::GltfJob;
use polyhaul_geometry::frame::Frame;
use polyhaul_geometry::parts::Part;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Bounds, Column, Counts, Mesh, NONE};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most vertices that indices of 16 bits tell apart: the largest index means something else to some programs.
const SHORT_VERTICES: usize = 65_535;
/// The fewest objects that become instances.
const MIN_INSTANCES: usize = 2;

/// A scene as glTF, before its bytes are made.
pub(crate) struct GltfPlan<'a> {
    /// Its views have no places yet.
    pub(crate) document: Document,
    pub(crate) data: GltfData<'a>,
    pub(crate) views: Vec<View>,
    /// What will differ from the scene.
    pub(crate) changes: Changes,
}

/// What is not stored as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes {
    /// Normals that were missing or had no direction.
    pub(crate) repaired_normals: u64,
    /// Names of objects that became instances.
    pub(crate) names: u64,
    /// Transforms that are no translation, rotation and scale but for rounding.
    pub(crate) transforms: u64,
    /// The largest change of those, in lengths of the matrix's columns.
    pub(crate) transform_error: f64,
    /// Values with fewer bits.
    pub(crate) positions: u64,
    pub(crate) normals: u64,
    pub(crate) uvs: u64,
    pub(crate) colors: u64,
    /// The most that a coordinate of a position changes.
    pub(crate) position_error: f64,
}

/// What the accessors of a section are; shared by the objects that show it.
struct SectionAccessors {
    triangles: BTreeMap<String, usize>,
    /// The indices of each material.
    groups: Vec<usize>,
    lines: Option<(BTreeMap<String, usize>, usize)>,
    points: Option<BTreeMap<String, usize>>,
    /// Around the positions of all, if they are quantized.
    lattice: Option<Lattice>,
}

/// What an object shows.
#[derive(Clone, Copy)]
struct Shown {
    accessors: usize,
    /// `None` if it has no elements.
    mesh: Option<usize>,
    /// Whether its positions are in the file as its transform moves them.
    is_moved: bool,
}

/// How values become those of the file.
#[derive(Clone, Copy)]
struct Coding {
    block: Block,
    frame: Option<Frame>,
    lattice: Option<Lattice>,
}

struct Builder<'a, 'j> {
    job: &'j GltfJob<'a>,
    document: Document,
    data: GltfData<'a>,
    views: Views,
    changes: Changes,
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
    let data = GltfData { geometries, instances: Vec::new(), images: job.images };
    let views = Views::new(job.options.meshopt);
    let (changes, sections, accessors, bare, meshes) = Default::default();
    let mut builder = Builder { job, document, data, views, changes, sections, accessors, bare, meshes };
    builder.add_nodes(&places)?;
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
        let splats = SplatPlaces::of(mesh, usize::from(job.harmonics_degree));
        splats.iter().try_for_each(|splats| splats.check(mesh))?;
        other_columns(mesh, splats.as_ref()).try_for_each(|(_, _, column)| check_finite(column))?;
        let geometry = GltfGeometry::new(mesh, cuts, has_slots, job.run)?;
        try_push(&mut all, GltfGeometry { splats, ..geometry }, "the plan")?;
    }
    Ok((all, places))
}

impl<'a> Builder<'a, '_> {
    /// Adds the nodes of all objects.
    fn add_nodes(&mut self, places: &[SectionPlace]) -> Result<()> {
        let mut shown = Vec::new();
        shown.try_reserve_exact(places.len())?;
        for (object, (part, &place)) in self.job.parts.iter().zip(places).enumerate() {
            let frame = part.frame.filter(|frame| !is_decomposable(&frame.matrix()));
            if frame.is_some() && self.data.geometries[place.0].splats.is_some() {
                let what = format!("the transform of object `{}`: it shears Gaussian splats", part.object.name);
                return Err(Error::new(ErrorKind::Unsupported, format!("glTF cannot store {what}")));
            }
            let accessors = self.section(place, frame.map(|frame| (object, frame)))?;
            let mesh = self.mesh(accessors, place, part)?;
            shown.push(Shown { accessors, mesh, is_moved: frame.is_some() });
        }
        let candidates = self.job.parts.iter().zip(&shown).map(|(part, shown)| {
            let is_instance =
                |_: &usize| InstancePlace::from_matrix(&self.matrix(part, *shown).unwrap_or(IDENTITY)).is_some();
            Candidate { name: &part.object.name, mesh: shown.mesh.filter(is_instance) }
        });
        let nodes = instancing::assign(candidates, self.job.options.instances)?;
        let mut objects = Vec::new();
        objects.try_reserve_exact(nodes.len())?;
        objects.extend(0..nodes.len());
        objects.sort_by_key(|&object| nodes[object]);
        for own in objects.chunk_by(|&a, &b| nodes[a] == nodes[b]) {
            self.add_node(own, &shown)?;
        }
        Ok(())
    }

    /// The transform of an object's node.
    fn matrix(&self, part: &Part<'_>, shown: Shown) -> Option<Matrix> {
        let own = part.frame.filter(|_| !shown.is_moved).map(|frame| frame.matrix());
        match self.accessors[shown.accessors].lattice {
            Some(lattice) => Some(lattice.placed(own)).filter(|matrix| *matrix != IDENTITY),
            None => own,
        }
    }

    /// Adds the node of an object, or of several that show the same mesh.
    fn add_node(&mut self, objects: &[usize], shown: &[Shown]) -> Result<()> {
        let job = self.job;
        let first = objects[0];
        let mut node = Node { mesh: shown[first].mesh, ..Node::default() };
        if objects.len() < MIN_INSTANCES {
            node.name = named(&job.parts[first].object.name);
            let matrix = self.matrix(&job.parts[first], shown[first]);
            check_matrix(matrix.as_ref(), &job.parts[first].object.name)?;
            node.matrix = matrix.map(column_major);
        } else {
            let (name, lost) = instancing::common_name(objects.iter().map(|&own| &*job.parts[own].object.name));
            self.changes.names += lost;
            node.name = named(name);
            let attributes = self.instances(objects, shown)?;
            node.extensions.insert(instances::NAME.into(), serde_json::json!({ "attributes": attributes }));
        }
        try_push(&mut self.document.nodes, node, "the plan")
    }

    /// The attributes of instances.
    fn instances(&mut self, objects: &[usize], shown: &[Shown]) -> Result<BTreeMap<&'static str, usize>> {
        let mut places = Vec::new();
        places.try_reserve_exact(objects.len())?;
        for &object in objects {
            let matrix = self.matrix(&self.job.parts[object], shown[object]).unwrap_or(IDENTITY);
            let place = InstancePlace::from_matrix(&matrix).ok_or_else(|| wrong("an instance has no place"))?;
            let error = place.error(&matrix);
            self.changes.transforms += u64::from(error > 0.0);
            self.changes.transform_error = self.changes.transform_error.max(error);
            places.push(place);
        }
        let [are_turned, are_scaled] = [
            places.iter().any(|place| place.rotation != UNROTATED),
            places.iter().any(|place| place.scale != [1.0; 3]),
        ];
        let (node, count) = (self.data.instances.len(), places.len());
        try_push(&mut self.data.instances, places, "the plan")?;
        let values = [
            (InstanceValue::Translation, "VEC3", true),
            (InstanceValue::Rotation, "VEC4", are_turned),
            (InstanceValue::Scale, "VEC3", are_scaled),
        ];
        let mut attributes = BTreeMap::new();
        for (name, (value, kind, _)) in ATTRIBUTES.into_iter().zip(values).filter(|(_, (.., is_used))| *is_used) {
            let span = Span { geometry: 0, section: 0, content: Content::Instances(node, value), count };
            attributes.insert(name, self.add(span, Accessor { kind: kind.into(), ..floats(count) })?);
        }
        Ok(attributes)
    }

    /// The mesh of an object; `None` if it has no elements.
    fn mesh(&mut self, accessors: usize, (geometry, section): SectionPlace, part: &Part<'_>) -> Result<Option<usize>> {
        let has_slots = self.data.geometries[geometry].has_slots;
        let groups = &self.data.geometries[geometry].sections[section].triangles;
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
        let extensions = match &self.data.geometries[geometry].splats {
            Some(_) => splats::extensions(self.job.scene),
            None => Extensions::default(),
        };
        let points = of.points.iter().map(|attributes| Primitive {
            extensions: extensions.clone(),
            ..primitive(attributes, None, mode::POINTS)
        });
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
        let place = (geometry, section);
        let bounds = self.bounds(place, frame)?;
        let all = bounds.iter().flatten().copied().reduce(Bounds::union);
        // Scales of splats would grow with the lattice.
        let is_quantized = self.job.options.quantize && self.data.geometries[geometry].splats.is_none();
        let lattice = all.filter(|_| is_quantized).map(Lattice::around);
        let coding = |block| Coding { block, frame, lattice };
        let triangles = self.attributes(place, coding(Block::Triangles), bounds[0])?;
        let groups = self.triangles(place, frame)?;
        let lines = self.attributes(place, coding(Block::Lines), bounds[1])?;
        let lines = self.segments(place)?.map(|indices| (lines, indices));
        let points = self.attributes(place, coding(Block::Points), bounds[2])?;
        let points = bounds[2].map(|_| points);
        let number = self.accessors.len();
        let own = SectionAccessors { triangles, groups, lines, points, lattice };
        try_push(&mut self.accessors, own, "the plan")?;
        self.sections.insert(key, number);
        Ok(number)
    }

    /// The boxes of triangles, lines and points, if there are some.
    fn bounds(&self, (geometry, section): SectionPlace, frame: Option<Frame>) -> Result<[Option<Bounds>; 3]> {
        let own = &self.data.geometries[geometry];
        let mut all = [None; 3];
        for (bounds, block) in all.iter_mut().zip([Block::Triangles, Block::Lines, Block::Points]) {
            let vertices = own.sections[section].block(block);
            if vertices.count() > 0 {
                *bounds = Some(own.bounds(vertices, frame.as_ref(), self.job.run)?);
            }
        }
        Ok(all)
    }

    /// The indices of each material of a section.
    fn triangles(&mut self, (geometry, section): SectionPlace, frame: Option<Frame>) -> Result<Vec<usize>> {
        let own = &self.data.geometries[geometry].sections[section];
        let is_wide = own.vertices.count() > SHORT_VERTICES;
        let is_mirrored = frame.is_some_and(|frame| frame.is_mirrored);
        let component_type = if is_wide { component::UNSIGNED_INT } else { component::UNSIGNED_SHORT };
        let counts: Vec<_> = own.triangles.iter().map(|group| group.count()).collect();
        let mut groups = Vec::new();
        for (group, count) in counts.into_iter().enumerate() {
            let content = Content::Triangles(TriangleIndices { group, is_wide, is_mirrored });
            let accessor = Accessor { component_type, count: 3 * count as u64, ..scalar() };
            try_push(&mut groups, self.add(Span { geometry, section, content, count }, accessor)?, "the plan")?;
        }
        Ok(groups)
    }

    /// The indices of the segments of a section, if it has some.
    fn segments(&mut self, (geometry, section): SectionPlace) -> Result<Option<usize>> {
        let Some((segments, _)) = &self.data.geometries[geometry].sections[section].lines else { return Ok(None) };
        let count = segments.len();
        let accessor = Accessor { component_type: component::UNSIGNED_INT, count: 2 * count as u64, ..scalar() };
        self.add(Span { geometry, section, content: Content::Segments, count }, accessor).map(Some)
    }

    /// The attributes of the vertices in a box; none if there are no vertices.
    fn attributes(
        &mut self,
        (geometry, section): SectionPlace,
        coding: Coding,
        bounds: Option<Bounds>,
    ) -> Result<BTreeMap<String, usize>> {
        let Some(bounds) = bounds else { return Ok(BTreeMap::new()) };
        let Coding { block, frame, lattice } = coding;
        let own = &self.data.geometries[geometry];
        let vertices = own.sections[section].block(block);
        let (count, is_quantized) = (vertices.count(), lattice.is_some());
        let mut wanted = vec![(
            "POSITION".to_owned(),
            Content::Positions { block, frame, lattice },
            positions(bounds, lattice, count),
        )];
        let coded = |component_type| Accessor { component_type, normalized: true, ..floats(count) };
        for attribute in own.splats.iter().flat_map(SplatPlaces::attributes) {
            let accessor =
                if attribute == SplatAttribute::Color { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: attribute.kind().into(), ..accessor };
            wanted.push((attribute.name(), Content::Splat(block, attribute), accessor));
        }
        if has_normals(own, vertices) {
            let accessor = if is_quantized { coded(component::BYTE) } else { floats(count) };
            let accessor = Accessor { kind: "VEC3".into(), ..accessor };
            wanted.push(("NORMAL".into(), Content::Normals { block, frame, is_quantized }, accessor));
        }
        if vertices.is_welded() && !own.welded.vertex_uvs.is_empty() {
            let is_quantized = own.has_unit_uvs(vertices)? && is_quantized;
            let accessor = if is_quantized { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: "VEC2".into(), ..accessor };
            wanted.push(("TEXCOORD_0".into(), Content::Uvs { is_quantized }, accessor));
        }
        if !own.mesh.colors.is_empty() && own.splats.is_none() {
            let has_alpha = own.has_alpha;
            let accessor = if is_quantized { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: if has_alpha { "VEC4" } else { "VEC3" }.into(), ..accessor };
            wanted.push(("COLOR_0".into(), Content::Colors { block, has_alpha, is_quantized }, accessor));
        }
        for (number, name, _) in other_columns(&own.mesh, own.splats.as_ref()) {
            if !wanted.iter().any(|(known, ..)| *known == name) {
                let accessor = Accessor { component_type: component::FLOAT, ..scalar() };
                wanted.push((name, Content::Column(block, number), Accessor { count: count as u64, ..accessor }));
            }
        }
        let mut attributes = BTreeMap::new();
        for (name, content, accessor) in wanted {
            self.changes.note(&content, count);
            attributes.insert(name, self.add(Span { geometry, section, content, count }, accessor)?);
        }
        Ok(attributes)
    }

    /// Appends a span to a view, and the accessor of its values.
    fn add(&mut self, span: Span, accessor: Accessor) -> Result<usize> {
        let number = self.document.accessors.len();
        let (view, byte_offset) = self.views.add(span)?;
        let accessor = Accessor { buffer_view: Some(view), byte_offset, ..accessor };
        try_push(&mut self.document.accessors, accessor, "the plan")?;
        Ok(number)
    }

    fn finish(mut self) -> Result<GltfPlan<'a>> {
        let views = self.views.finish(&mut self.document)?;
        let used = [
            (instances::NAME, !self.data.instances.is_empty()),
            (quantize::NAME, self.accessors.iter().any(|own| own.lattice.is_some())),
            (MESHOPT, self.job.options.meshopt && !views.is_empty()),
        ];
        // Readers without them would show other meshes, or one instance of many.
        let required: Vec<_> =
            used.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| (*name).to_owned()).collect();
        self.document.extensions_used.extend_from_slice(&required);
        // Readers without it show points.
        let has_splats = self.data.geometries.iter().any(|own| own.splats.is_some());
        self.document.extensions_used.extend(has_splats.then(|| splats::NAME.to_owned()));
        self.document.extensions_used.sort_unstable();
        self.document.extensions_required = required;
        let nodes = (0..self.document.nodes.len()).collect();
        self.document.scenes = vec![SceneNodes { nodes, ..SceneNodes::default() }];
        self.document.scene = Some(0);
        let repaired = self.data.geometries.iter().map(|geometry| geometry.repaired.len() as u64).sum();
        let changes = Changes { repaired_normals: repaired, ..self.changes };
        Ok(GltfPlan { document: self.document, data: self.data, views, changes })
    }
}

impl Changes {
    /// Counts values with fewer bits.
    fn note(&mut self, content: &Content, count: usize) {
        let place = match content {
            Content::Positions { lattice: Some(lattice), .. } => {
                self.position_error = self.position_error.max(lattice.error());
                &mut self.positions
            }
            Content::Normals { is_quantized: true, .. } => &mut self.normals,
            Content::Uvs { is_quantized: true } => &mut self.uvs,
            Content::Colors { is_quantized: true, .. } => &mut self.colors,
            _ => return,
        };
        *place += count as u64;
    }
}

/// The accessor of positions in a box.
fn positions(bounds: Bounds, lattice: Option<Lattice>, count: usize) -> Accessor {
    let Some(lattice) = lattice else {
        let (min, max) = (bounds.min.to_vec(), bounds.max.to_vec());
        return Accessor { kind: "VEC3".into(), min, max, ..floats(count) };
    };
    let [min, max] = [bounds.min, bounds.max].map(|corner| lattice.code(corner).map(f32::from).to_vec());
    let component_type = component::SHORT;
    Accessor { kind: "VEC3".into(), component_type, normalized: true, min, max, ..floats(count) }
}

/// An accessor of floats, or of other components.
fn floats(count: usize) -> Accessor {
    Accessor { component_type: component::FLOAT, count: count as u64, ..Accessor::default() }
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
        _ if geometry.splats.is_some() => false,
        VertexBlock::Welded(..) => !geometry.welded.vertex_normals.is_empty(),
        VertexBlock::Listed(_) => false,
        VertexBlock::Positions(_) => geometry.has_point_normals,
    }
}

/// The columns that are attributes of their own, with their numbers and attributes: `_NAME` for numbers. Lists and
/// columns of splats have none.
fn other_columns<'m>(
    mesh: &'m Mesh,
    splats: Option<&'m SplatPlaces>,
) -> impl Iterator<Item = (usize, String, &'m Column)> {
    let columns = mesh.vertex_columns.iter().enumerate().filter(|(_, column)| column.offsets.is_none());
    let is_other = move |number, column: &Column| splats.is_none_or(|splats| !splats.has(number, &column.name));
    let others = columns.filter(move |&(number, column)| is_other(number, column));
    others.map(|(number, column)| (number, format!("_{}", column.name), column))
}

/// How many columns of a mesh have no attribute: lists, those whose name another one has, and all of a mesh without
/// vertices, which has no attributes.
pub(crate) fn columns_left_out(mesh: &Mesh, splats: Option<&SplatPlaces>) -> usize {
    if mesh.positions.is_empty() {
        return mesh.vertex_columns.len();
    }
    let kept: HashSet<_> = other_columns(mesh, splats).map(|(_, name, _)| name).collect();
    let of_splats = mesh.vertex_columns.iter().enumerate();
    let of_splats = of_splats.filter(|(number, own)| splats.is_some_and(|splats| splats.has(*number, &own.name)));
    mesh.vertex_columns.len() - kept.len() - of_splats.count()
}

/// An error for a transform that overflows: quantized positions have their size in it.
fn check_matrix(matrix: Option<&Matrix>, name: &str) -> Result<()> {
    if matrix.is_none_or(|matrix| matrix.as_flattened().iter().all(|entry| entry.is_finite())) {
        return Ok(());
    }
    let message = format!("glTF cannot store the transform of object `{name}`: it is not finite");
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn check_finite(column: &Column) -> Result<()> {
    let place = (0..column.values.len()).find(|&place| !as_float(&column.values, place).is_finite());
    let Some(place) = place else { return Ok(()) };
    let message = format!("glTF cannot store value {place} of vertex column `{}`: it is not finite", column.name);
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}
