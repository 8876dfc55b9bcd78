//! Reads a glTF file as a scene: parses the JSON, reads the meshes that nodes use, and creates an object for each use.
//!
//! Differences between the model and glTF:
//!
//! - A glTF mesh becomes one mesh, and each node with a mesh becomes an object with a transform. Nodes can share a
//!   mesh. Only the default scene is read, or the first scene if there is no default; meshes and nodes with meshes
//!   outside this scene are dropped with a warning.
//! - v is flipped to 1 - v. Vertex colors are converted from linear to sRGB, the convention of OBJ and PLY; alpha is
//!   unchanged.
//! - Additional UV and color sets and application-specific attributes become vertex columns, with the values in the
//!   file.
//! - Gaussian splats get the columns and the axes of PLY files (see `splats`). A scene with splats is converted to
//!   these axes.
//! - Material names are made unique. Embedded images get names by which they can be read later: see `images`.
//! - Tangents, skins, morph targets, animations, cameras and lights are dropped with a warning.
//! - Objects have no name if neither the node nor the mesh has one.
//! - Misaligned values are read with a warning.
//!
//! The accessors of all instances, and then the accessors of each batch of meshes, are validated before their values
//! are read in parallel. The caller opens files. The parts: `chunks`, `json`, `buffers`, `meshopt` (compressed views),
//! `accessors` (validation), `fills` and `convert` (values), `meshes`, `streams`, `primitives`, `hierarchy`,
//! `instances`, `materials`.

use crate::accessors::AccessorValues;
use crate::buffers::{Buffers, OpenBufferFile};
use crate::chunks::{Chunks, chunks};
use crate::document::{Document, Node, component};
use crate::hierarchy::{Hierarchy, NodeWorld};
use crate::instances::NodeInstances;
use crate::json;
use crate::left_out::{self, EmptyNodes};
use crate::log::{GltfLog, located, malformed, over_limit, unsupported};
use crate::materials::{check_name, materials};
use crate::meshes::{FoundMesh, MeshReader};
use crate::plan::{COPYRIGHT, is_copyright};
use crate::splats::SplatPrimitive;
use polyhaul_geometry::exact::{moved_bounds, rounded, single};
use polyhaul_geometry::transform::transform_axes;
use polyhaul_model::error::{Error, Result, try_copy, try_push, try_string};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::precision::MAX_MOVE;
use polyhaul_model::splats::{AXES, LINEAR_COLORS};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Axes, Bounds, Object, ObjectKind, Precision, Scene};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::precision::shown;
use polyhaul_pipeline::read::Extent;

/// Number of meshes that are read together: enough to keep all threads busy, but few enough for their plans to stay in
/// the cache.
const MESHES_AT_ONCE: usize = 512;

/// Bytes of memory per instance while a file is read: a [`PlacedMesh`], and an object with a short name.
const INSTANCE_BYTES: usize = size_of::<PlacedMesh>() + size_of::<Object>() + 64;

/// A scene read from a file.
#[derive(Debug)]
pub struct GltfFound {
    /// Objects of the default scene with their meshes, and all materials.
    pub scene: Scene,
    /// Warnings about dropped data, repaired values and skipped primitives.
    pub warnings: Warnings,
    /// Number of threads used.
    pub threads: usize,
}

/// Reads a `.glb` or `.gltf` file. `open_file` reads buffers in separate files. It gets the file's name, without
/// percent-encoding, and the maximum number of bytes needed.
///
/// Material maps refer to embedded images by names that start with `file_name`, such as `chair.glb#image0.png`; see
/// [`split_image_name`](crate::split_image_name) and [`read_image`](crate::read_image). Without `file_name`, all
/// embedded images are dropped with a warning; with it, only images that are invalid or neither PNG nor JPEG are
/// dropped.
///
/// # Errors
/// [`Malformed`](polyhaul_model::error::ErrorKind::Malformed) if the file violates the specification, unless
/// `options.faults` tolerates the fault, [`Unsupported`](polyhaul_model::error::ErrorKind::Unsupported) if the file
/// needs an unsupported version, extension or feature, or if `options.faults` refuses a loss,
/// [`Limit`](polyhaul_model::error::ErrorKind::Limit) if the file exceeds the limits in `options`, and errors of the
/// source and of `open_file`.
pub fn read(
    bytes: Bytes<'_>,
    file_name: Option<&str>,
    options: &ParseOptions,
    open_file: &mut OpenBufferFile<'_>,
) -> Result<GltfFound> {
    let name = bytes.name();
    let mut log = GltfLog::new(name, options.faults);
    let result = read_scene(&bytes, file_name, options, open_file, &mut log);
    let (scene, threads) = result.map_err(|error| located(error, name))?;
    bytes.finish(&options.run.cancel)?;
    bytes.check_end(Extent::Whole, &options.run.cancel)?;
    Ok(GltfFound { scene, warnings: log.finish()?, threads })
}

/// Reads the scene. Returns it with the number of threads used.
fn read_scene(
    bytes: &Bytes<'_>,
    file_name: Option<&str>,
    options: &ParseOptions,
    open_file: &mut OpenBufferFile<'_>,
    log: &mut GltfLog,
) -> Result<(Scene, usize)> {
    let Chunks { json, location, binary, faults } = chunks(bytes, &options.limits)?;
    faults.into_iter().try_for_each(|(code, message)| log.note(code, message))?;
    let document = json::parse(&json, bytes.name(), location, &options.limits)?;
    drop(json);
    json::check_extensions(&document)?;
    left_out::note(&document, log)?;
    let buffers = Buffers::new(&document.buffers, binary, open_file)?;
    let mut values = AccessorValues::new(&document, buffers, options.limits, &options.run).sized(bytes.len());
    let materials = materials(&mut values, file_name, log)?;
    let placed = placed_meshes(&mut values, log)?;
    let mut scene = Scene { materials, ..Scene::default() };
    let copyright = document.asset.copyright.as_deref().filter(|text| !text.is_empty());
    let marked = |text: &str| if is_copyright(text) { try_string(text) } else { Ok(format!("{COPYRIGHT}{text}")) };
    scene.comments.extend(copyright.map(marked).transpose()?);
    let mut builder = SceneBuilder { scene, values, log, indices: Vec::new(), splats: Vec::new() };
    builder.read_meshes(&placed)?;
    // After reading the meshes, because their bounds determine whether rounded transforms would move them noticeably.
    let is_exact = builder.needs_doubles(&placed, options.precision.precision, options.faults)?;
    builder.add_objects(placed, is_exact)?;
    builder.turn_splats()?;
    Ok((builder.scene, builder.values.threads))
}

/// A use of a mesh by a node or an instance.
struct PlacedMesh {
    /// Index of the node; `None` if the file has no nodes.
    node: Option<usize>,
    mesh: usize,
    world: NodeWorld,
    /// Index among the instances of the node; `None` if the node has no instances.
    instance: Option<usize>,
}

/// Finds the uses of meshes in the scene, and reads the transforms of instances.
fn placed_meshes(values: &mut AccessorValues<'_, '_>, log: &mut GltfLog) -> Result<Vec<PlacedMesh>> {
    let document = values.document;
    let mut placed = Vec::new();
    let hierarchy = Hierarchy::new(document, log)?;
    if document.nodes.is_empty() {
        for mesh in 0..document.meshes.len() {
            push(
                &mut placed,
                PlacedMesh { node: None, mesh, world: NodeWorld::IDENTITY, instance: None },
                values.limits.objects,
            )?;
        }
        return Ok(placed);
    }
    let mut uses = Vec::new();
    let mut empty = EmptyNodes::of(document)?;
    hierarchy.walk(|index, world| {
        let node = &document.nodes[index];
        let Some(mesh) = node.mesh else { return empty.see(index, node) };
        if mesh >= document.meshes.len() {
            return Err(malformed(format!("nodes[{index}]: meshes[{mesh}] does not exist")));
        }
        let instances = NodeInstances::plan(values, log, index, node)?;
        if let Some(instances) = &instances {
            values.budget.charge_instances(instances.count, INSTANCE_BYTES, instances.stored_bytes())?;
        }
        let mesh_use = PlacedMesh { node: Some(index), mesh, world: *world, instance: None };
        try_push(&mut uses, (mesh_use, instances), "nodes")
    })?;
    empty.note(log)?;
    let mut fills = Vec::new();
    uses.iter_mut().flat_map(|(_, instances)| instances).try_for_each(|instances| instances.add_fills(&mut fills))?;
    values.fill(&mut fills)?;
    drop(fills);
    let reached = uses.len();
    let mut is_reached = Vec::new();
    is_reached.try_reserve_exact(document.nodes.len())?;
    is_reached.resize(document.nodes.len(), false);
    uses.iter().filter_map(|(mesh_use, _)| mesh_use.node).for_each(|node| is_reached[node] = true);
    let count: usize =
        uses.iter().map(|(_, instances)| instances.as_ref().map_or(1, |instances| instances.count)).sum();
    // If the limits are exceeded, `push` fails before much is allocated.
    if count as u64 <= values.limits.objects.max(values.limits.instanced_objects) {
        placed.try_reserve_exact(count).map_err(|_| Error::memory("objects"))?;
    }
    for (mesh_use, instances) in uses {
        let Some(instances) = instances else {
            push(&mut placed, mesh_use, values.limits.objects.max(values.limits.instanced_objects))?;
            continue;
        };
        for instance in 0..instances.count {
            let world = instances.world(instance, &mesh_use.world);
            push(
                &mut placed,
                PlacedMesh { world, instance: Some(instance), ..mesh_use },
                values.limits.instanced_objects,
            )?;
        }
    }
    if reached as u64 > values.limits.objects {
        return Err(over_limit(&format!("the {reached} mesh nodes of the scene"), values.limits.objects, "objects"));
    }
    let others = document.nodes.iter().enumerate().filter(|(number, node)| node.mesh.is_some() && !is_reached[*number]);
    let words =
        ["mesh node outside the default scene was dropped", "mesh nodes outside the default scene were dropped"];
    log.lose_named("left-out-nodes", words, others.map(|(_, node)| node.name.as_deref()))?;
    Ok(placed)
}

fn push(placed: &mut Vec<PlacedMesh>, mesh_use: PlacedMesh, limit: u64) -> Result<()> {
    if placed.len() as u64 >= limit {
        return Err(over_limit("the objects of the scene", limit, "objects"));
    }
    try_push(placed, mesh_use, "objects")
}

/// A scene to which meshes and objects are added.
struct SceneBuilder<'l, 'a, 'f> {
    scene: Scene,
    values: AccessorValues<'a, 'f>,
    log: &'l mut GltfLog,
    /// Model mesh and material slots for each mesh of the file; `None` if no object uses the mesh.
    indices: Vec<Option<UsedMesh>>,
    /// The splat extensions of all meshes that have one.
    splats: Vec<SplatPrimitive>,
}

/// A mesh of the model that was read.
struct UsedMesh {
    index: usize,
    slots: Vec<Option<usize>>,
}

impl SceneBuilder<'_, '_, '_> {
    /// Reads the meshes that are used, in file order.
    fn read_meshes(&mut self, placed: &[PlacedMesh]) -> Result<()> {
        let count = self.values.document.meshes.len();
        let mut is_used = Vec::new();
        let mut used = Vec::new();
        is_used.try_reserve_exact(count)?;
        is_used.resize(count, false);
        placed.iter().for_each(|placed| is_used[placed.mesh] = true);
        used.try_reserve_exact(count)?;
        used.extend((0..count).filter(|&index| is_used[index]));
        self.indices.try_reserve_exact(count)?;
        self.indices.resize_with(count, || None);
        self.scene.meshes.try_reserve_exact(used.len()).map_err(|_| Error::memory("meshes"))?;
        for indices in used.chunks(MESHES_AT_ONCE) {
            let meshes = MeshReader { values: &mut self.values, log: self.log }.read(indices)?;
            for (&index, FoundMesh { mesh, slots, splats }) in indices.iter().zip(meshes) {
                if let Some(splats) = splats {
                    try_push(&mut self.splats, splats, "meshes")?;
                }
                self.indices[index] = Some(UsedMesh { index: self.scene.meshes.len(), slots });
                self.scene.meshes.push(mesh);
            }
        }
        let others = self.values.document.meshes.iter().zip(is_used).filter(|(_, is_used)| !is_used);
        let words = ["mesh outside the default scene was dropped", "meshes outside the default scene were dropped"];
        self.log.lose_named("left-out-meshes", words, others.map(|(mesh, _)| mesh.name.as_deref()))
    }

    /// Returns whether object transforms are stored in double precision. Warns if they would need it but are rounded.
    fn needs_doubles(&mut self, placed: &[PlacedMesh], precision: Precision, faults: FaultPolicy) -> Result<bool> {
        let is_double = |placed: &PlacedMesh| single(&placed.world.exact).is_none();
        if precision == Precision::Double || !placed.iter().any(is_double) {
            return Ok(precision == Precision::Double);
        }
        let boxes = placed.iter().filter_map(|placed| {
            let used = self.indices.get(placed.mesh)?.as_ref()?;
            // Bounds declared in the file avoid a pass over the positions.
            let declared = declared_bounds(self.values.document, placed.mesh);
            let bounds = declared.or_else(|| self.scene.meshes[used.index].exact_bounds())?;
            Some(moved_bounds(bounds, &placed.world.exact))
        });
        let Some(bounds) = boxes.reduce(Bounds::union).filter(Bounds::is_coarse) else { return Ok(false) };
        if precision == Precision::Auto {
            return Ok(true);
        }
        let error = bounds.spacing() / 2.0;
        let count = placed.iter().filter(|placed| is_double(placed)).count() as u64;
        let message =
            format!("transforms of objects were rounded to 32-bit floats: positions move by up to {}", shown(error));
        let is_loss = error > MAX_MOVE * bounds.longest_side();
        self.log.rounded(faults, is_loss, count, message)?;
        Ok(false)
    }

    fn add_objects(&mut self, placed: Vec<PlacedMesh>, is_exact: bool) -> Result<()> {
        self.scene.objects.try_reserve_exact(placed.len()).map_err(|_| Error::memory("objects"))?;
        for PlacedMesh { node, mesh, world, instance } in placed {
            let document = self.values.document;
            let Some(used) = self.indices.get(mesh).and_then(Option::as_ref) else { continue };
            let mesh_name = document.meshes[mesh].name.as_deref().unwrap_or_default();
            let name = object_name(node.map(|node| &document.nodes[node]), mesh_name, instance)?;
            check_name(&name, &self.values.limits)?;
            check_name(mesh_name, &self.values.limits)?;
            // Many objects may have the same long names and slots, and each object gets a copy.
            let bytes = name.len() + mesh_name.len() + size_of_val(&*used.slots);
            self.values.budget.charge(bytes as u64)?;
            let kind = if name.is_empty() { ObjectKind::Unnamed } else { ObjectKind::Object };
            self.scene.objects.push(Object {
                name,
                kind,
                mesh_name: try_string(mesh_name)?,
                mesh: used.index,
                end: self.scene.meshes[used.index].counts(),
                transform: Some(if is_exact {
                    world.exact
                } else {
                    rounded(&world.single).map(|row| row.map(f64::from))
                }),
                materials: Some(try_copy(&used.slots, "material slots")?),
                ..Object::default()
            });
        }
        Ok(())
    }
}

impl SceneBuilder<'_, '_, '_> {
    /// Converts a scene with splats to the axes that splats have in memory. Other scenes are unchanged. Fails if the
    /// meshes of splats have different color spaces.
    fn turn_splats(&mut self) -> Result<()> {
        let Some(first) = self.splats.first() else { return Ok(()) };
        if first.has_linear_colors {
            try_push(&mut self.scene.infos, LINEAR_COLORS.to_owned(), "remarks")?;
        }
        if self.splats.iter().any(|other| other.has_linear_colors != first.has_linear_colors) {
            return Err(unsupported("splats with mixed color spaces are not supported"));
        }
        transform_axes(&mut self.scene, AXES, 1.0, self.values.run)?;
        self.scene.axes = Axes::default();
        Ok(())
    }
}

/// Returns the bounding box that the accessors of a mesh declare; `None` unless all of them declare valid bounds as
/// floats.
fn declared_bounds(document: &Document, mesh: usize) -> Option<Bounds<f64>> {
    let mut union: Option<Bounds<f64>> = None;
    for primitive in &document.meshes.get(mesh)?.primitives {
        let accessor = document.accessors.get(*primitive.attributes.get("POSITION")?)?;
        // The bounds of quantized positions are integers.
        let is_float = accessor.component_type == component::FLOAT;
        let min = accessor.min.first_chunk::<3>().filter(|_| is_float)?.map(f64::from);
        let max = accessor.max.first_chunk::<3>()?.map(f64::from);
        // Some programs write the largest numbers, in the wrong order, as the bounds of unvisited positions.
        if (0..3).any(|axis| !(max[axis] - min[axis]).is_finite() || max[axis] < min[axis]) {
            return None;
        }
        let bounds = Bounds { min, max };
        union = union.into_iter().chain([bounds]).reduce(Bounds::union);
    }
    union
}

/// Returns the name of an object: the name of the node, or of the mesh if the node has none. For an instance, `_` and
/// its index are appended, unless the name is empty.
fn object_name(node: Option<&Node>, mesh_name: &str, instance: Option<usize>) -> Result<String> {
    let node_name = node.and_then(|node| node.name.as_deref()).filter(|name| !name.is_empty());
    let base = try_string(node_name.unwrap_or(mesh_name))?;
    Ok(match instance {
        Some(instance) if !base.is_empty() => format!("{base}_{instance}"),
        _ => base,
    })
}
