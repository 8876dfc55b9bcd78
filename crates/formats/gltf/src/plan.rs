//! Plans the document of a scene and the spans of its binary part.
//!
//! Each object becomes a node or an instance of a node. Objects with the same mesh share its vertices and indices;
//! objects that are sections of one mesh have separate vertices. No bytes are generated here, but every value is
//! checked, so that formatting needs no further checks. [`crate::looks`] converts materials; [`crate::losses`] reports
//! differences.

use crate::document::{Accessor, Asset, Document, Extensions, GltfMaterial, GltfMesh, Node, Primitive, SceneNodes};
use crate::document::{component, mode};
use crate::geometry::{GltfGeometry, VertexBlock};
use crate::instances;
use crate::instancing::{self, ATTRIBUTES, Candidate};
use crate::job::GltfJob;
use crate::looks::{MaterialSet, convert_materials};
use crate::pages::{GltfData, as_float};
use crate::quantize::{self, Lattice};
use crate::serial::collected;
use crate::spans::{BlockKind, InstanceValue, SpanContent, TriangleIndices, ValueSpan};
use crate::splats::{self, SplatAttribute, SplatPlaces};
use crate::transforms::{InstanceTransform, UNROTATED, column_major, is_decomposable, shortest_double};
use crate::views::{GltfView, MESHOPT, Views};
use polyhaul_geometry::frame::Frame;
use polyhaul_geometry::linear::{IDENTITY32, Matrix4};
use polyhaul_geometry::losses::LeftOut;
use polyhaul_geometry::parts::Part;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Bounds, Column, Counts, Mesh, NONE, Scene};
use polyhaul_spill::paced;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum number of vertices for 16-bit indices, because graphics APIs may reserve the largest index as primitive
/// restart.
const SHORT_VERTICES: usize = 65_535;
/// Minimum number of objects for a node with instances.
const MIN_INSTANCES: usize = 2;

/// The plan of a file, except for its binary part.
pub(crate) struct GltfPlan<'a> {
    /// The document. Its views have no offsets yet.
    pub(crate) document: Document,
    pub(crate) data: GltfData<'a>,
    pub(crate) views: Vec<GltfView>,
    /// Differences between the scene and the file.
    pub(crate) changes: Changes,
}

/// Counts of differences between the scene and the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Number of normals that were computed because they were missing or had no direction.
    pub(crate) repaired_normals: u64,
    /// Names of objects that were lost because the objects became instances.
    pub(crate) names: LeftOut,
    /// Number of transforms that were rounded when decomposed into translation, rotation and scale.
    pub(crate) transforms: u64,
    /// Maximum change of these transforms, relative to the length of the matrix columns.
    pub(crate) transform_error: f64,
    /// Number of quantized values, for each of these attributes.
    pub(crate) positions: u64,
    pub(crate) normals: u64,
    pub(crate) uvs: u64,
    pub(crate) colors: u64,
    /// Maximum change of a coordinate of a position.
    pub(crate) position_error: f64,
}

/// Accessors of a section, shared by the objects that show it.
struct SectionAccessors {
    triangles: BTreeMap<String, usize>,
    /// Accessor with the indices of each material group.
    groups: Vec<usize>,
    lines: Option<(BTreeMap<String, usize>, usize)>,
    points: Option<BTreeMap<String, usize>>,
    /// Lattice of all positions, if they are quantized.
    lattice: Option<Lattice>,
}

/// Accessors and mesh of an object.
#[derive(Clone, Copy)]
struct ShownObject {
    accessors: usize,
    /// Index of the mesh; `None` if the object has no elements.
    mesh: Option<usize>,
    /// Whether positions are stored transformed, because the node cannot store the transform.
    is_moved: bool,
}

/// Encoding of a block's vertices.
#[derive(Clone, Copy)]
struct Coding {
    block: BlockKind,
    frame: Option<Frame>,
    lattice: Option<Lattice>,
}

struct PlanBuilder<'a, 'j> {
    job: &'j GltfJob<'a>,
    document: Document,
    data: GltfData<'a>,
    views: Views,
    changes: Changes,
    /// Indices of accessors, by section, and by object if its frame is applied to the vertices.
    sections: HashMap<(SectionIndex, Option<usize>), usize>,
    accessors: Vec<SectionAccessors>,
    /// Index of the copy without textures, by the material that was copied.
    bare: HashMap<usize, usize>,
    /// Index of the mesh, by accessors and materials.
    meshes: HashMap<(usize, Vec<Option<usize>>), usize>,
}

/// Prefix of a comment that was read from a copyright.
pub(crate) const COPYRIGHT: &str = "copyright: ";

/// Returns the scene's copyright: the first comment that is a copyright notice, without the prefix [`COPYRIGHT`].
pub(crate) fn copyright(scene: &Scene) -> Option<&str> {
    let comment = scene.comments.iter().find(|comment| is_copyright(comment))?;
    Some(comment.strip_prefix(COPYRIGHT).unwrap_or(comment))
}

/// Returns whether a comment looks like a copyright notice.
pub(crate) fn is_copyright(comment: &str) -> bool {
    let text = comment.trim_start();
    let starts = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    starts("copyright") || starts("(c)") || text.starts_with('\u{a9}')
}

/// Plans the file of a scene.
pub(crate) fn plan<'a>(job: &GltfJob<'a>) -> Result<GltfPlan<'a>> {
    let (geometries, sections) = geometries(job)?;
    let MaterialSet { materials, textures, images, samplers, extensions } =
        convert_materials(job.materials, job.images)?;
    let asset = Asset {
        version: "2.0".into(),
        generator: Some(concat!("polyhaul ", env!("CARGO_PKG_VERSION")).into()),
        copyright: copyright(job.scene).map(str::to_owned),
        ..Asset::default()
    };
    let document =
        Document { asset, materials, textures, images, samplers, extensions_used: extensions, ..Document::default() };
    let mut builder = PlanBuilder {
        job,
        document,
        data: GltfData { geometries, instances: Vec::new(), images: job.images },
        views: Views::new(job.options.meshopt),
        changes: Changes::default(),
        sections: HashMap::new(),
        accessors: Vec::new(),
        bare: HashMap::new(),
        meshes: HashMap::new(),
    };
    builder.reserve()?;
    builder.add_nodes(&sections)?;
    builder.finish()
}

/// Index of a geometry, and of a section in the geometry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SectionIndex {
    geometry: usize,
    section: usize,
}

/// Plans the geometries of all meshes. Returns them and the section of each object.
fn geometries<'a>(job: &GltfJob<'a>) -> Result<(Vec<GltfGeometry<'a>>, Vec<SectionIndex>)> {
    let mut cuts: Vec<Vec<(Counts, Counts)>> = Vec::new();
    cuts.try_reserve_exact(job.scene.meshes.len())?;
    cuts.resize_with(job.scene.meshes.len(), Vec::new);
    let mut sections = Vec::new();
    for part in paced(job.parts) {
        let number = part.object.mesh;
        // An object of an evaluated mesh shows the whole mesh.
        let cut = if job.evaluated[number] {
            (Counts::default(), part.mesh.counts())
        } else {
            (part.object.start, part.object.end)
        };
        let cuts = &mut cuts[number];
        if !job.evaluated[number] || cuts.is_empty() {
            try_push(cuts, cut, "the plan")?;
        }
        try_push(&mut sections, SectionIndex { geometry: number, section: cuts.len() - 1 }, "the plan")?;
    }
    let mut geometries = Vec::new();
    for (mesh, (cuts, &is_evaluated)) in paced(&job.scene.meshes).zip(cuts.iter().zip(job.evaluated)) {
        let has_slots = is_evaluated && mesh.material_runs.is_empty();
        let splats = SplatPlaces::of(mesh, usize::from(job.harmonics_degree));
        let splats = splats.map(|splats| splats.in_scene(job.scene));
        splats.iter().try_for_each(|splats| splats.check(mesh))?;
        other_columns(mesh, splats.as_ref()).try_for_each(|(_, _, column)| check_finite(column))?;
        let geometry = GltfGeometry::new(mesh, cuts, has_slots, job.run)?;
        try_push(&mut geometries, GltfGeometry { splats, ..geometry }, "the plan")?;
    }
    Ok((geometries, sections))
}

impl<'a> PlanBuilder<'a, '_> {
    /// Reserves map entries for all sections. Growing a map rehashes all of its keys, and each key may be in a
    /// different spilled page.
    fn reserve(&mut self) -> Result<()> {
        let count = paced(&self.data.geometries).map(|geometry| geometry.sections.len()).sum();
        self.sections.try_reserve(count)?;
        self.meshes.try_reserve(count)?;
        Ok(())
    }

    /// Adds the nodes of all objects.
    fn add_nodes(&mut self, sections: &[SectionIndex]) -> Result<()> {
        let mut shown = Vec::new();
        shown.try_reserve_exact(sections.len())?;
        for (object, (part, &section)) in paced(self.job.parts).zip(sections).enumerate() {
            let frame = part.frame.filter(|frame| !is_decomposable(&frame.matrix()));
            if frame.is_some() && self.data.geometries[section.geometry].splats.is_some() {
                let what = format!("the transform of object `{}`: it shears Gaussian splats", part.object.name);
                return Err(Error::new(ErrorKind::Unsupported, format!("glTF cannot store {what}")));
            }
            let accessors = self.section(section, frame.map(|frame| (object, frame)))?;
            let mesh = self.mesh(accessors, section, part)?;
            if let Some(lattice) = self.accessors[accessors].lattice {
                let matrix = part.frame.filter(|_| frame.is_none()).map(|frame| frame.matrix());
                let error = lattice.error() + lattice.transform_error(matrix);
                self.changes.position_error = self.changes.position_error.max(error);
            }
            shown.push(ShownObject { accessors, mesh, is_moved: frame.is_some() });
            self.pause()?;
        }
        let candidates = paced(self.job.parts).zip(&shown).map(|(part, shown)| {
            let is_instance =
                |_: &usize| InstanceTransform::from_matrix(&self.matrix(part, *shown).unwrap_or(IDENTITY32)).is_some();
            Candidate { name: &part.object.name, mesh: shown.mesh.filter(is_instance) }
        });
        let nodes = instancing::assign(candidates, self.job.instances)?;
        let mut objects = Vec::new();
        objects.try_reserve_exact(nodes.len())?;
        objects.extend(0..nodes.len());
        // A stable sort, so that the objects of a node stay in order.
        objects.sort_by_key(|&object| nodes[object]);
        for node_objects in objects.chunk_by(|&a, &b| nodes[a] == nodes[b]) {
            self.pause()?;
            self.add_node(node_objects, &shown)?;
        }
        Ok(())
    }

    /// Checks for cancellation and relieves memory between objects. There may be millions of objects.
    fn pause(&self) -> Result<()> {
        polyhaul_spill::relieve();
        self.job.run.cancel.check()
    }

    /// Returns the transform of an object's node, which includes its lattice; `None` if the node needs no transform.
    fn matrix(&self, part: &Part<'_>, shown: ShownObject) -> Option<Matrix4<f32>> {
        let matrix = part.frame.filter(|_| !shown.is_moved).map(|frame| frame.matrix());
        match self.accessors[shown.accessors].lattice {
            Some(lattice) => Some(lattice.placed(matrix)).filter(|matrix| *matrix != IDENTITY32),
            None => matrix,
        }
    }

    /// Adds the node of one object, or of several objects that become its instances.
    fn add_node(&mut self, objects: &[usize], shown: &[ShownObject]) -> Result<()> {
        let job = self.job;
        let first = objects[0];
        let mut node = Node { mesh: shown[first].mesh, ..Node::default() };
        if objects.len() < MIN_INSTANCES {
            node.name = named(&job.parts[first].object.name);
            let matrix = self.matrix(&job.parts[first], shown[first]);
            check_matrix(matrix.as_ref(), &job.parts[first].object.name)?;
            node.matrix = matrix.map(column_major).map(|entries| entries.map(shortest_double));
        } else {
            let names = objects.iter().map(|&object| &*job.parts[object].object.name);
            match instancing::common_name(names.clone()) {
                Some(name) => node.name = named(name),
                None => names.filter(|name| !name.is_empty()).for_each(|name| self.changes.names.add(name)),
            }
            let attributes = self.instances(objects, shown)?;
            node.extensions.insert(instances::NAME.into(), serde_json::json!({ "attributes": attributes }));
        }
        try_push(&mut self.document.nodes, node, "the plan")
    }

    /// Adds the attributes of instances. Rotations and scales are added only if any of them differs from the default.
    fn instances(&mut self, objects: &[usize], shown: &[ShownObject]) -> Result<BTreeMap<&'static str, usize>> {
        let mut transforms = Vec::new();
        transforms.try_reserve_exact(objects.len())?;
        for &object in objects {
            let matrix = self.matrix(&self.job.parts[object], shown[object]).unwrap_or(IDENTITY32);
            let transform = InstanceTransform::from_matrix(&matrix)
                .ok_or_else(|| wrong("the transform of an instance cannot be decomposed"))?;
            let error = transform.error(&matrix);
            self.changes.transforms += u64::from(error > 0.0);
            self.changes.transform_error = self.changes.transform_error.max(error);
            transforms.push(transform);
        }
        let [are_turned, are_scaled] = [
            transforms.iter().any(|transform| transform.rotation != UNROTATED),
            transforms.iter().any(|transform| transform.scale != [1.0; 3]),
        ];
        let node = self.data.instances.len();
        let count = transforms.len();
        try_push(&mut self.data.instances, transforms, "the plan")?;
        let values = [
            (InstanceValue::Translation, "VEC3", true),
            (InstanceValue::Rotation, "VEC4", are_turned),
            (InstanceValue::Scale, "VEC3", are_scaled),
        ];
        let mut attributes = BTreeMap::new();
        for (name, (value, kind, _)) in ATTRIBUTES.into_iter().zip(values).filter(|(_, (.., is_used))| *is_used) {
            let span = ValueSpan { geometry: 0, section: 0, content: SpanContent::Instances(node, value), count };
            attributes.insert(name, self.add(span, Accessor { kind: kind.into(), ..floats(count) })?);
        }
        Ok(attributes)
    }

    /// Returns the mesh of an object, which is shared by objects with the same accessors and materials; `None` if the
    /// object has no elements.
    fn mesh(&mut self, accessors: usize, section: SectionIndex, part: &Part<'_>) -> Result<Option<usize>> {
        let geometry = &self.data.geometries[section.geometry];
        let has_slots = geometry.has_slots;
        let groups = &geometry.sections[section.section].triangles;
        let material = |material: u32| match (has_slots, &part.object.materials) {
            (true, Some(slots)) => slots.get(material as usize).copied().flatten(),
            (true, None) => None,
            (false, _) => (material != NONE).then_some(material as usize),
        };
        let mut materials = collected(groups.iter().map(|group| material(group.material)))?;
        let section_accessors = &self.accessors[accessors];
        // Without faces, or as the only slot, the first slot is the material of lines and points, as in the reader.
        let has_single_slot = part.object.materials.as_ref().is_some_and(|slots| slots.len() == 1);
        let keeps_first = has_slots && (geometry.mesh.faces.is_empty() || has_single_slot);
        let has_others = section_accessors.lines.is_some() || section_accessors.points.is_some();
        // The last material is that of lines and points.
        let others = match (has_slots, has_others) {
            (true, true) if keeps_first => material(0),
            (false, true) => material(geometry.sections[section.section].others.material),
            _ => None,
        };
        try_push(&mut materials, others, "the plan")?;
        // Reserved here, because `bare_material` cannot report a failed allocation.
        self.document.materials.try_reserve(materials.len())?;
        self.bare.try_reserve(materials.len())?;
        for (place, material) in materials.iter_mut().enumerate() {
            // A slot may refer to a material that does not exist.
            *material = material.filter(|&number| number < self.document.materials.len());
            // Without UVs, textures would be invalid. Lines and points have none.
            if place >= groups.len() || !section_accessors.triangles.contains_key("TEXCOORD_0") {
                *material = material.map(|number| bare_material(&mut self.document.materials, &mut self.bare, number));
            }
        }
        if section_accessors.groups.is_empty() && !has_others {
            return Ok(None);
        }
        let next = self.document.meshes.len();
        self.meshes.try_reserve(1)?;
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
        let material = materials.last().copied().flatten();
        let triangles = section_accessors.groups.iter().zip(materials).map(|(&indices, material)| Primitive {
            material,
            ..primitive(&section_accessors.triangles, Some(indices), mode::TRIANGLES)
        });
        let lines = section_accessors
            .lines
            .iter()
            .map(|(attributes, indices)| Primitive { material, ..primitive(attributes, Some(*indices), mode::LINES) });
        let extensions = match &geometry.splats {
            Some(_) => splats::extensions(self.job.scene),
            None => Extensions::default(),
        };
        let points = section_accessors.points.iter().map(|attributes| Primitive {
            material,
            extensions: extensions.clone(),
            ..primitive(attributes, None, mode::POINTS)
        });
        let mut primitives = Vec::new();
        primitives.try_reserve_exact(section_accessors.groups.len() + 2)?;
        primitives.extend(triangles.chain(lines).chain(points));
        let name = named(&part.object.mesh_name).or_else(|| named(&part.object.name));
        try_push(&mut self.document.meshes, GltfMesh { name, primitives, ..GltfMesh::default() }, "the plan")?;
        Ok(Some(number))
    }

    /// Returns the accessors of a section. `moved` is the object whose frame is applied to the vertices, if any.
    fn section(&mut self, section: SectionIndex, moved: Option<(usize, Frame)>) -> Result<usize> {
        let key = (section, moved.map(|(object, _)| object));
        if let Some(&number) = self.sections.get(&key) {
            return Ok(number);
        }
        let frame = moved.map(|(_, frame)| frame);
        let bounds = self.bounds(section, frame)?;
        let union = bounds.iter().flatten().copied().reduce(Bounds::union);
        // Splats are not quantized, because a lattice scales the node and thus the splats.
        let is_quantized = self.job.options.quantize && self.data.geometries[section.geometry].splats.is_none();
        // One lattice for all kinds of elements, because the transform of a single node converts its codes to
        // positions.
        let lattice = union.filter(|_| is_quantized).map(Lattice::around);
        let coding = |block| Coding { block, frame, lattice };
        let triangles = self.attributes(section, coding(BlockKind::Triangles), bounds[0])?;
        let groups = self.triangles(section, frame)?;
        let lines = self.attributes(section, coding(BlockKind::Lines), bounds[1])?;
        let lines = self.segments(section)?.map(|indices| (lines, indices));
        let points = self.attributes(section, coding(BlockKind::Points), bounds[2])?;
        let points = bounds[2].map(|_| points);
        let number = self.accessors.len();
        let accessors = SectionAccessors { triangles, groups, lines, points, lattice };
        try_push(&mut self.accessors, accessors, "the plan")?;
        self.sections.try_reserve(1)?;
        self.sections.insert(key, number);
        Ok(number)
    }

    /// Computes the bounding boxes of triangles, lines and points; `None` for kinds without vertices.
    fn bounds(&self, section: SectionIndex, frame: Option<Frame>) -> Result<[Option<Bounds>; 3]> {
        let geometry = &self.data.geometries[section.geometry];
        let mut boxes = [None; 3];
        for (bounds, block) in boxes.iter_mut().zip([BlockKind::Triangles, BlockKind::Lines, BlockKind::Points]) {
            let vertices = geometry.sections[section.section].block(block);
            if vertices.count() > 0 {
                *bounds = Some(geometry.bounds(vertices, frame.as_ref(), self.job.run)?);
            }
        }
        Ok(boxes)
    }

    /// Adds the triangle indices of each material group.
    fn triangles(&mut self, index: SectionIndex, frame: Option<Frame>) -> Result<Vec<usize>> {
        let SectionIndex { geometry, section } = index;
        let mesh_section = &self.data.geometries[geometry].sections[section];
        let is_wide = mesh_section.vertices.count() > SHORT_VERTICES;
        let is_mirrored = frame.is_some_and(|frame| frame.is_mirrored);
        let component_type = if is_wide { component::UNSIGNED_INT } else { component::UNSIGNED_SHORT };
        let counts = collected(mesh_section.triangles.iter().map(|group| group.count()))?;
        let mut groups = Vec::new();
        for (group, count) in counts.into_iter().enumerate() {
            let content = SpanContent::Triangles(TriangleIndices { group, is_wide, is_mirrored });
            let accessor = Accessor { component_type, count: 3 * count as u64, ..scalar() };
            try_push(&mut groups, self.add(ValueSpan { geometry, section, content, count }, accessor)?, "the plan")?;
        }
        Ok(groups)
    }

    /// Adds the indices of segments, if there are any.
    fn segments(&mut self, index: SectionIndex) -> Result<Option<usize>> {
        let SectionIndex { geometry, section } = index;
        let Some((segments, _)) = &self.data.geometries[geometry].sections[section].lines else { return Ok(None) };
        let count = segments.len();
        let accessor = Accessor { component_type: component::UNSIGNED_INT, count: 2 * count as u64, ..scalar() };
        self.add(ValueSpan { geometry, section, content: SpanContent::Segments, count }, accessor).map(Some)
    }

    /// Adds the attributes of a block's vertices. A block without vertices has no `bounds` and gets no attributes.
    fn attributes(
        &mut self,
        index: SectionIndex,
        coding: Coding,
        bounds: Option<Bounds>,
    ) -> Result<BTreeMap<String, usize>> {
        let Some(bounds) = bounds else { return Ok(BTreeMap::new()) };
        let Coding { block, frame, lattice } = coding;
        let SectionIndex { geometry, section } = index;
        let mesh_geometry = &self.data.geometries[geometry];
        let vertices = mesh_geometry.sections[section].block(block);
        let count = vertices.count();
        let is_quantized = lattice.is_some();
        let mut planned = vec![(
            "POSITION".to_owned(),
            SpanContent::Positions { block, frame, lattice },
            positions(bounds, lattice, count),
        )];
        let coded = |component_type| Accessor { component_type, normalized: true, ..floats(count) };
        for attribute in mesh_geometry.splats.iter().flat_map(SplatPlaces::attributes) {
            let accessor =
                if attribute == SplatAttribute::Color { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: attribute.kind().into(), ..accessor };
            planned.push((attribute.name(), SpanContent::Splat(block, attribute), accessor));
        }
        if has_normals(mesh_geometry, vertices) {
            let accessor = if is_quantized { coded(component::BYTE) } else { floats(count) };
            let accessor = Accessor { kind: "VEC3".into(), ..accessor };
            planned.push(("NORMAL".into(), SpanContent::Normals { block, frame, is_quantized }, accessor));
        }
        if vertices.is_welded() && !mesh_geometry.welded.vertex_uvs.is_empty() {
            // Also called without quantization, because it rejects values that are not finite.
            let is_quantized = mesh_geometry.has_unit_uvs(vertices)? && is_quantized;
            let accessor = if is_quantized { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: "VEC2".into(), ..accessor };
            planned.push(("TEXCOORD_0".into(), SpanContent::Uvs { is_quantized }, accessor));
        }
        if !mesh_geometry.mesh.colors.is_empty() && mesh_geometry.splats.is_none() {
            let has_alpha = mesh_geometry.has_alpha;
            let accessor = if is_quantized { coded(component::UNSIGNED_SHORT) } else { floats(count) };
            let accessor = Accessor { kind: if has_alpha { "VEC4" } else { "VEC3" }.into(), ..accessor };
            planned.push(("COLOR_0".into(), SpanContent::Colors { block, has_alpha, is_quantized }, accessor));
        }
        for (number, name, _) in other_columns(&mesh_geometry.mesh, mesh_geometry.splats.as_ref()) {
            // Only the first column of each name is stored; `columns_left_out` counts the other columns.
            if !planned.iter().any(|(planned_name, ..)| *planned_name == name) {
                let accessor = Accessor { component_type: component::FLOAT, ..scalar() };
                planned.push((name, SpanContent::Column(block, number), Accessor { count: count as u64, ..accessor }));
            }
        }
        let mut attributes = BTreeMap::new();
        for (name, content, accessor) in planned {
            self.changes.note(&content, count);
            attributes.insert(name, self.add(ValueSpan { geometry, section, content, count }, accessor)?);
        }
        Ok(attributes)
    }

    /// Adds a span to a view, and its accessor to the document.
    fn add(&mut self, span: ValueSpan, accessor: Accessor) -> Result<usize> {
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
            (quantize::NAME, paced(&self.accessors).any(|accessors| accessors.lattice.is_some())),
            (MESHOPT, self.job.options.meshopt && !views.is_empty()),
        ];
        // Required, because readers without these extensions would show distorted meshes, a single instance, or
        // nothing.
        let required: Vec<_> =
            used.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| (*name).to_owned()).collect();
        self.document.extensions_used.extend_from_slice(&required);
        // Optional, because readers without this extension show points.
        let has_splats = paced(&self.data.geometries).any(|geometry| geometry.splats.is_some());
        self.document.extensions_used.extend(has_splats.then(|| splats::NAME.to_owned()));
        self.document.extensions_used.sort_unstable();
        self.document.extensions_required = required;
        let mut nodes = collected(0..self.document.nodes.len())?;
        if self.job.origin != [0.0; 3] && !nodes.is_empty() {
            let root = Node { translation: Some(self.job.origin), children: nodes, ..Node::default() };
            nodes = vec![self.document.nodes.len()];
            try_push(&mut self.document.nodes, root, "the plan")?;
        }
        self.document.scenes = vec![SceneNodes { nodes, ..SceneNodes::default() }];
        self.document.scene = Some(0);
        let repaired = paced(&self.data.geometries).map(|geometry| geometry.repaired.len() as u64).sum();
        let changes = Changes { repaired_normals: repaired, ..self.changes };
        Ok(GltfPlan { document: self.document, data: self.data, views, changes })
    }
}

impl Changes {
    /// Counts quantized values.
    fn note(&mut self, content: &SpanContent, count: usize) {
        let counter = match content {
            SpanContent::Positions { lattice: Some(lattice), .. } => {
                self.position_error = self.position_error.max(lattice.error());
                &mut self.positions
            }
            SpanContent::Normals { is_quantized: true, .. } => &mut self.normals,
            SpanContent::Uvs { is_quantized: true } => &mut self.uvs,
            SpanContent::Colors { is_quantized: true, .. } => &mut self.colors,
            _ => return,
        };
        *counter += count as u64;
    }
}

/// Creates the accessor of positions, which must have bounds in glTF.
fn positions(bounds: Bounds, lattice: Option<Lattice>, count: usize) -> Accessor {
    let Some(lattice) = lattice else {
        let min = bounds.min.to_vec();
        let max = bounds.max.to_vec();
        return Accessor { kind: "VEC3".into(), min, max, ..floats(count) };
    };
    // glTF stores the bounds of normalized integers as integers.
    // Rounding is monotonic, so the codes of the corners bound the codes of all positions.
    let [min, max] = [bounds.min, bounds.max].map(|corner| lattice.code(corner).map(f32::from).to_vec());
    let component_type = component::SHORT;
    Accessor { kind: "VEC3".into(), component_type, normalized: true, min, max, ..floats(count) }
}

/// Creates an accessor of floats. Callers set its type and may change the component type.
fn floats(count: usize) -> Accessor {
    Accessor { component_type: component::FLOAT, count: count as u64, ..Accessor::default() }
}

/// Returns the index of a copy of material `number` without textures, for triangles without UVs, or `number` itself if
/// the material has no textures.
fn bare_material(materials: &mut Vec<GltfMaterial>, bare_numbers: &mut HashMap<usize, usize>, number: usize) -> usize {
    if let Some(&bare) = bare_numbers.get(&number) {
        return bare;
    }
    let bare = materials[number].without_textures();
    let bare_number = if bare == materials[number] { number } else { materials.len() };
    if bare_number == materials.len() {
        materials.push(bare);
    }
    bare_numbers.insert(number, bare_number);
    bare_number
}

fn scalar() -> Accessor {
    Accessor { kind: "SCALAR".into(), ..Accessor::default() }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns whether vertices have normals: welded vertices by corner, points by position.
pub(crate) fn has_normals(geometry: &GltfGeometry<'_>, vertices: &VertexBlock) -> bool {
    match vertices {
        _ if geometry.splats.is_some() => false,
        VertexBlock::Welded(..) => !geometry.welded.vertex_normals.is_empty(),
        VertexBlock::Listed(_) => false,
        VertexBlock::Positions(_) => geometry.has_point_normals,
    }
}

/// Returns the columns that become separate attributes, with their indices and attribute names (`_NAME`). Lists and the
/// columns of splats do not become separate attributes.
fn other_columns<'m>(
    mesh: &'m Mesh,
    splats: Option<&'m SplatPlaces>,
) -> impl Iterator<Item = (usize, String, &'m Column)> {
    let columns = mesh.vertex_columns.iter().enumerate().filter(|(_, column)| column.offsets.is_none());
    let is_other = move |number, column: &Column| splats.is_none_or(|splats| !splats.has(number, &column.name));
    let others = columns.filter(move |&(number, column)| is_other(number, column));
    others.map(|(number, column)| (number, format!("_{}", column.name), column))
}

/// Returns the columns without an attribute: face columns, lists, columns with the name of an earlier column, and all
/// columns of a mesh without vertices.
pub(crate) fn columns_left_out<'m>(mesh: &'m Mesh, splats: Option<&SplatPlaces>) -> Vec<&'m str> {
    let mut seen = HashSet::new();
    let is_left_out = |&(number, column): &(usize, &'m Column)| {
        let is_of_splats = splats.is_some_and(|splats| splats.has(number, &column.name));
        let is_first = column.offsets.is_none() && seen.insert(&*column.name);
        mesh.positions.is_empty() || !is_of_splats && !is_first
    };
    let of_vertices = mesh.vertex_columns.iter().enumerate().filter(is_left_out).map(|(_, column)| column);
    of_vertices.chain(&mesh.face_columns).map(|column| &*column.name).collect()
}

/// Fails if a transform is not finite. If positions are quantized, the transform includes the lattice and can overflow.
fn check_matrix(matrix: Option<&Matrix4<f32>>, name: &str) -> Result<()> {
    if matrix.is_none_or(|matrix| matrix.as_flattened().iter().all(|entry| entry.is_finite())) {
        return Ok(());
    }
    let message = format!("glTF cannot store the transform of object `{name}`: it is not finite");
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn check_finite(column: &Column) -> Result<()> {
    let index = (0..column.values.len()).find(|&index| !as_float(&column.values, index).is_finite());
    let Some(index) = index else { return Ok(()) };
    let message = format!("glTF cannot store value {index} of vertex column `{}`: it is not finite", column.name);
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}
