//! Converts scenes of meshes and materials to scenes for a renderer.
//!
//! Each object becomes a `trianglemesh` per material, with one list of indices for positions, UVs and normals; its
//! transform is a `ConcatTransform`. Objects that share a mesh and materials become instances. [`super::materials`]
//! converts materials. The result gets a film, a white sky, and a perspective camera that sees the whole scene from the
//! front. The camera's x axis is flipped, since pbrt's cameras are left-handed.

use super::materials;
use super::materials::ShapeParameters;
use crate::build::{Builder, Given, GivenValues};
use polyhaul_geometry::exact::rounded;
use polyhaul_geometry::linear::{IDENTITY32, IDENTITY64};
use polyhaul_geometry::losses::{LeftOut, note_dropped, note_left_out};
use polyhaul_geometry::parts::{THIRD_COORDINATES, columns, loose_vertices, tables};
use polyhaul_geometry::weld::{Welded, weld};
use polyhaul_model::error::{Diagnostic, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::render::{MaterialUse, Motion, ParameterType, Render, ShapeState, Step, Transform};
use polyhaul_model::warnings::{Warnings, counted, grouped};
use polyhaul_model::{Bounds, MapKind, Material, Mesh, NONE, Object, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::paced;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// Converts a scene of triangles with indexed attributes. Counts the content that pbrt cannot store.
pub fn from_meshes(
    scene: &Scene,
    objects: &[Object],
    materials: &[Material],
    run: &RunOptions,
) -> Result<(Render, Warnings)> {
    let mut warnings = Warnings::for_target("pbrt");
    note(scene, run, &mut warnings)?;
    let mut converter = Converter {
        builder: Builder::default(),
        looks: Vec::new(),
        defined: HashSet::new(),
        nameless: LeftOut::new("left-out-names", ["object name", "object names"], 0),
        normals: 0,
        run,
    };
    converter.settings(scene, objects)?;
    converter.materials(materials)?;
    converter.note_dropped(&mut warnings);
    let mut of_mesh: Vec<Vec<&Object>> = Vec::new();
    of_mesh.try_reserve_exact(scene.meshes.len())?;
    of_mesh.resize(scene.meshes.len(), Vec::new());
    for object in objects {
        if let Some(objects) = of_mesh.get_mut(object.mesh) {
            try_push(objects, object, "the plan")?;
        }
    }
    for (mesh, objects) in paced(&scene.meshes).zip(of_mesh) {
        converter.mesh(mesh, &objects)?;
    }
    let names = |is_listed: &dyn Fn(&Material) -> bool| -> Vec<&str> {
        materials.iter().filter(|material| is_listed(material)).map(|material| material.name.as_str()).collect()
    };
    let approximated = names(&|material| !material.missing && !is_exact(material));
    let listed = names::listed(&approximated);
    let count = approximated.len() as u64;
    let words = ["material was approximated", "materials were approximated"];
    let message = format!("{} for pbrt: {listed}", counted(count, words));
    let named = approximated.into_iter().take(names::MAX_LISTED).map(str::to_owned).collect();
    warnings.push_many("changed-materials", count, Diagnostic { names: named, ..Diagnostic::new(message) });
    let undefined = names(&|material| material.missing && !material.name.is_empty());
    let undefined_names = ["name of an undefined material", "names of undefined materials"];
    let partial_normals = [
        "normal of a shape in which some vertices lack normals",
        "normals of shapes in which some vertices lack normals",
    ];
    let kinds = [
        LeftOut::named("left-out-materials", undefined_names, undefined),
        converter.nameless,
        LeftOut::new("left-out-normals", partial_normals, converter.normals),
    ];
    note_left_out("pbrt", kinds, "", &mut warnings);
    Ok((converter.builder.finish(), warnings))
}

/// Returns whether pbrt represents a material exactly: it has only a color or a color map, and pbrt keeps all of its
/// values.
fn is_exact(material: &Material) -> bool {
    let Material { name, diffuse, maps, .. } = material.clone();
    let keeps_images = maps.iter().all(|map| map.kind == MapKind::Diffuse && materials::keeps_map(map));
    let keeps_values = keeps_images && diffuse.as_ref().is_none_or(materials::keeps_color);
    keeps_values && *material == Material { name, diffuse, maps, ..Material::default() }
}

fn note(scene: &Scene, run: &RunOptions, warnings: &mut Warnings) -> Result<()> {
    let mut loose = 0;
    for mesh in paced(&scene.meshes) {
        loose += loose_vertices(mesh, run.worker_threads())?;
    }
    let sum = |count: fn(&Mesh) -> usize| paced(&scene.meshes).map(|mesh| count(mesh) as u64).sum::<u64>();
    let kinds = [
        ("left-out-colors", ["vertex color", "vertex colors"], sum(|mesh| mesh.colors.len())),
        ("left-out-lines", ["line", "lines"], sum(|mesh| mesh.lines.len())),
        ("left-out-points", ["point", "points"], sum(|mesh| mesh.points.len())),
        ("left-out-curves", ["free-form curve", "free-form curves"], sum(|mesh| mesh.curves.len())),
        ("left-out-vertices", ["unused vertex", "unused vertices"], loose),
        (
            "left-out-smoothing",
            ["smoothing setting", "smoothing settings"],
            sum(|mesh| mesh.smoothing_runs.len().max(mesh.face_smooth.len())),
        ),
        ("left-out-sharp-edges", ["sharp edge", "sharp edges"], sum(|mesh| mesh.sharp_edges.len())),
        ("left-out-weights", ["position weight", "position weights"], sum(|mesh| mesh.position_weights.len())),
        ("left-out-uv-depths", THIRD_COORDINATES, sum(|mesh| mesh.uv_depths.len())),
    ];
    let groups = paced(&scene.meshes).flat_map(|mesh| mesh.groups.iter().map(String::as_str));
    let vertex_groups =
        paced(&scene.meshes).flat_map(|mesh| mesh.vertex_groups.iter().map(|group| group.name.as_str()));
    let named = [
        columns(paced(&scene.meshes), |_| false),
        tables(scene),
        LeftOut::named("left-out-groups", ["face group", "face groups"], groups),
        LeftOut::named("left-out-vertex-groups", ["vertex group", "vertex groups"], vertex_groups),
    ];
    note_left_out("pbrt", kinds.map(LeftOut::from).into_iter().chain(named), "", warnings);
    let comments = (scene.comments.len() + scene.infos.len()) as u64;
    let comments = [("left-out-remarks", ["comment", "comments"], comments)];
    note_dropped(", which polyhaul does not write to pbrt", comments, "", warnings);
    Ok(())
}

/// Vertex indices in the current group of faces.
struct PbrtScratch {
    /// For each vertex of the mesh: the last group that contains it, and its index in that group.
    seen: Vec<(u32, u32)>,
    // Marking vertices with the group avoids clearing the list for each group.
    group: u32,
}

impl PbrtScratch {
    fn new(count: usize) -> Result<PbrtScratch> {
        let mut seen = Vec::new();
        seen.try_reserve_exact(count)?;
        seen.resize(count, (0, 0));
        Ok(PbrtScratch { seen, group: 0 })
    }
}

struct Converter<'a> {
    builder: Builder,
    /// For each material: the value that shapes use, and the parameters that the material adds to shapes.
    looks: Vec<(MaterialUse, ShapeParameters)>,
    /// Names of definitions that are already taken.
    defined: HashSet<String>,
    /// Names of objects, which are dropped.
    nameless: LeftOut,
    /// Number of normals that were dropped because other vertices of their shape have none.
    normals: u64,
    run: &'a RunOptions,
}

impl Converter<'_> {
    /// Adds camera, film and light.
    fn settings(&mut self, scene: &Scene, objects: &[Object]) -> Result<()> {
        let builder = &mut self.builder;
        let Bounds { min, max } = bounds(scene, objects).unwrap_or(Bounds { min: [-1.0; 3], max: [1.0; 3] });
        let center = [0, 1, 2].map(|i| (f64::from(min[i]) + f64::from(max[i])) / 2.0);
        let size = [0, 1, 2].map(|i| (f64::from(max[i]) - f64::from(min[i])) / 2.0);
        // A scene that is a single point still needs a distance above 0.
        let radius = size.iter().map(|part| part * part).sum::<f64>().sqrt().max(1e-6);
        let forward = scene.axes.forward.direction();
        let up = scene.axes.up.direction();
        // From this distance, the bounding sphere fits in half the field of view, 20 degrees.
        let distance = radius / 20f64.to_radians().sin() * 1.05;
        let eye = [0, 1, 2].map(|i| center[i] - forward[i] * distance + up[i] * distance * 0.35);
        let flipped = builder.transform(Transform::IDENTITY, Step::Scale([-1.0, 1.0, 1.0]))?;
        let numbers: Vec<f64> = [eye, center, up].concat().iter().map(|&number| f64::from(number as f32)).collect();
        let look = Step::LookAt(numbers.try_into().unwrap_or([0.0; 9]));
        let place = builder.transform(flipped, look)?;
        let number = |kind, name, value: i32| -> Given<'static> { (kind, name, GivenValues::Integers(vec![value])) };
        let mut camera =
            builder.entity("perspective", vec![(ParameterType::Float, "fov", GivenValues::Floats(vec![40.0]))])?;
        camera.motion = Motion { start: place, end: place };
        builder.render.camera = Some(camera);
        let film = vec![
            number(ParameterType::Integer, "xresolution", 1280),
            number(ParameterType::Integer, "yresolution", 720),
            (ParameterType::String, "filename", GivenValues::Strings(vec!["image.exr".into()])),
        ];
        builder.render.film = Some(builder.entity("rgb", film)?);
        let sky = builder.entity("infinite", vec![(ParameterType::Rgb, "L", GivenValues::Floats(vec![1.0; 3]))])?;
        try_push(&mut builder.render.lights, sky, "lights")
    }

    fn materials(&mut self, materials: &[Material]) -> Result<()> {
        let mut names = HashSet::new();
        for material in materials {
            let look = if names.insert(material.name.as_str()) && !material.missing {
                materials::add(&mut self.builder, material)?
            } else {
                ShapeParameters::default()
            };
            let named = MaterialUse::Named(self.builder.name(&material.name)?);
            let named = if material.missing { MaterialUse::Default } else { named };
            try_push(&mut self.looks, (named, look), "materials")?;
        }
        Ok(())
    }

    /// Warns about texture maps that were dropped.
    fn note_dropped(&self, warnings: &mut Warnings) {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (keyword, reason) in self.looks.iter().flat_map(|look| &look.1.dropped) {
            *counts.entry((keyword.as_str(), *reason)).or_default() += 1;
        }
        for ((keyword, reason), count) in counts {
            let keyword = names::shown(keyword);
            let maps = if count == 1 { "map" } else { "maps" };
            let message = format!("dropped {} `{keyword}` {maps}{reason}", grouped(count));
            warnings.push_many("left-out-textures", count, Diagnostic::new(message));
        }
    }

    /// Adds the objects that show a mesh. They become instances if they differ only in their transforms.
    fn mesh(&mut self, mesh: &Mesh, objects: &[&Object]) -> Result<()> {
        let welded = weld(mesh, self.run)?;
        let mut scratch = PbrtScratch::new(welded.vertex_count())?;
        let emits_light = |object: &Object| {
            let materials = object.materials.iter().flatten().flatten();
            let mut looks = materials.filter_map(|&material| self.looks.get(material));
            looks.any(|look| look.1.area_light.is_some())
        };
        // pbrt ignores emission in instances, so objects that emit light are written separately.
        let shared = match objects {
            [first, others @ ..] if !others.is_empty() && first.materials.is_some() && !emits_light(first) => others
                .iter()
                .all(|object| {
                    object.materials == first.materials && (object.start, object.end) == (first.start, first.end)
                })
                .then_some(*first),
            _ => None,
        };
        let Some(first) = shared else {
            let names = objects.iter().map(|object| &*object.name).filter(|name| !name.is_empty());
            names.for_each(|name| self.nameless.add(name));
            return objects.iter().try_for_each(|object| {
                let transform = self.place(object)?;
                self.object(mesh, &welded, object, transform, &mut scratch)
            });
        };
        let is_other = |object: &&&Object| !object.name.is_empty() && object.name != first.name;
        objects.iter().filter(is_other).for_each(|object| self.nameless.add(&object.name));
        let first_shape = self.builder.render.shapes.len();
        self.object(mesh, &welded, first, Transform::IDENTITY, &mut scratch)?;
        let mut name = first.name.clone();
        // Definitions need unique names.
        while !self.defined.insert(name.clone()) {
            name = format!("{name}-{}", first_shape + 1);
        }
        let number = self.builder.object(&name, first_shape)?;
        for object in objects {
            let transform = self.place(object)?;
            self.builder.instance(number, transform)?;
        }
        Ok(())
    }

    /// Adds the transform of an object.
    fn place(&mut self, object: &Object) -> Result<Transform> {
        let Some(rows) = object.transform.filter(|transform| *transform != IDENTITY64) else {
            return Ok(Transform::IDENTITY);
        };
        let columns = std::array::from_fn(|at| rows[at % 4][at / 4]);
        self.builder.transform(Transform::IDENTITY, Step::Concat(columns))
    }

    fn object(
        &mut self,
        mesh: &Mesh,
        welded: &Welded,
        object: &Object,
        transform: Transform,
        scratch: &mut PbrtScratch,
    ) -> Result<()> {
        for (material, faces) in groups(mesh, object)? {
            let state = self.state(material);
            let parameters = self.arrays(mesh, welded, &faces, material, scratch)?;
            self.builder.shape("trianglemesh", parameters, state, transform)?;
        }
        Ok(())
    }

    fn state(&self, material: Option<usize>) -> ShapeState {
        let look = material.and_then(|material| self.looks.get(material));
        ShapeState {
            material: look.map_or(MaterialUse::Default, |look| look.0),
            area_light: look.and_then(|look| look.1.area_light),
            inside: None,
            outside: None,
            reverse_orientation: false,
            attributes: None,
            color_space: None,
        }
    }

    /// Returns the parameters for faces with the same material.
    fn arrays(
        &mut self,
        mesh: &Mesh,
        welded: &Welded,
        faces: &[Range<usize>],
        material: Option<usize>,
        scratch: &mut PbrtScratch,
    ) -> Result<Vec<Given<'static>>> {
        let corner_count: usize = faces.iter().map(|range| 3 * range.len()).sum();
        let mut indices = Vec::new();
        let mut vertices = Vec::new();
        indices.try_reserve_exact(corner_count)?;
        // The first group is 1, because 0 marks vertices that no group contains.
        scratch.group += 1;
        for corner in faces.iter().flat_map(|range| 3 * range.start..3 * range.end) {
            let Some(&vertex) = welded.corner_vertices.get(corner) else { continue };
            let Some(seen) = scratch.seen.get_mut(vertex as usize) else { continue };
            if seen.0 != scratch.group {
                *seen = (scratch.group, vertices.len() as u32);
                try_push(&mut vertices, vertex, "vertices")?;
            }
            indices.push(seen.1 as i32);
        }
        let mut given = vec![(ParameterType::Integer, "indices", GivenValues::Integers(indices))];
        let positions = gather(&vertices, &welded.vertex_positions, &mesh.positions)?;
        given.push((ParameterType::Point3, "P", GivenValues::Floats(positions.0)));
        let (normals, normal_count) = gather(&vertices, &welded.vertex_normals, &mesh.normals)?;
        // pbrt needs a normal for every point or for none.
        if normal_count == vertices.len() && !normals.is_empty() {
            given.push((ParameterType::Normal, "N", GivenValues::Floats(normals)));
        } else {
            self.normals += normal_count as u64;
        }
        let (uvs, uv_count) = gather(&vertices, &welded.vertex_uvs, &mesh.uvs)?;
        if uv_count > 0 {
            given.push((ParameterType::Point2, "uv", GivenValues::Floats(uvs)));
        }
        given.extend(material.and_then(|material| self.looks.get(material)?.1.alpha()));
        self.run.cancel.check().map(|()| given)
    }
}

/// Collects the values of vertices, with zeros for missing values. Also returns how many exist.
fn gather<const N: usize>(vertices: &[u32], indices: &[u32], values: &[[f32; N]]) -> Result<(Vec<f32>, usize)> {
    let mut gathered = Vec::new();
    if indices.is_empty() || values.is_empty() {
        return Ok((gathered, 0));
    }
    gathered.try_reserve_exact(N * vertices.len())?;
    let mut value_count = 0;
    for &vertex in vertices {
        let value = indices.get(vertex as usize).filter(|&&index| index != NONE).and_then(|&i| values.get(i as usize));
        value_count += usize::from(value.is_some());
        gathered.extend(value.copied().unwrap_or([0.0; N]));
    }
    Ok((gathered, value_count))
}

/// A material and its faces.
type PbrtGroup = (Option<usize>, Vec<Range<usize>>);

/// Groups the faces of an object by material, in the order of their first faces.
fn groups(mesh: &Mesh, object: &Object) -> Result<Vec<PbrtGroup>> {
    let mut groups: Vec<PbrtGroup> = Vec::new();
    let mut number_of = std::collections::HashMap::new();
    let faces = object.start.faces as usize..object.end.faces as usize;
    for (material, range) in material_ranges(mesh, object, faces)? {
        let number = *number_of.entry(material).or_insert(groups.len());
        if number == groups.len() {
            try_push(&mut groups, (material, Vec::new()), "the plan")?;
        }
        try_push(&mut groups[number].1, range, "the plan")?;
    }
    Ok(groups)
}

fn material_ranges(mesh: &Mesh, object: &Object, faces: Range<usize>) -> Result<Vec<(Option<usize>, Range<usize>)>> {
    let mut ranges = Vec::new();
    let mut add = |material, range: Range<usize>| {
        if range.is_empty() { Ok(()) } else { try_push(&mut ranges, (material, range), "the plan") }
    };
    let slots = object.materials.as_deref();
    if let Some(slots) = slots {
        let slot = |slot: i32| usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        let Some(of_faces) = mesh.face_materials.get(faces.clone()) else {
            add(slot(0), faces)?;
            return Ok(ranges);
        };
        let mut at = faces.start;
        for run in of_faces.chunk_by(|a, b| a == b) {
            add(slot(run[0]), at..at + run.len())?;
            at += run.len();
        }
        return Ok(ranges);
    }
    let runs = &mesh.material_runs;
    // The run that is in effect at the first face.
    let first = runs.partition_point(|run| run.at.faces as usize <= faces.start).saturating_sub(1);
    let mut at = faces.start;
    let mut material = None;
    for run in &runs[first.min(runs.len())..] {
        let start = (run.at.faces as usize).clamp(at, faces.end);
        add(material, at..start)?;
        at = start;
        material = Some(run.value as usize);
        if run.at.faces as usize >= faces.end {
            break;
        }
    }
    add(material, at..faces.end)?;
    Ok(ranges)
}

fn bounds(scene: &Scene, objects: &[Object]) -> Option<Bounds> {
    let mut union: Option<Bounds> = None;
    for object in objects {
        let Some(bounds) = scene.meshes.get(object.mesh).and_then(Mesh::bounds) else { continue };
        let rows = object.transform.as_ref().map_or(IDENTITY32, rounded);
        for corner in 0..8 {
            let corner = [0, 1, 2].map(|i| if corner >> i & 1 == 0 { bounds.min[i] } else { bounds.max[i] });
            let place = [0, 1, 2].map(|i| {
                let [x, y, z, shift] = rows[i];
                x * corner[0] + y * corner[1] + z * corner[2] + shift
            });
            if place.iter().all(|part| part.is_finite()) {
                let point = Bounds { min: place, max: place };
                union = Some(union.map_or(point, |union| union.union(point)));
            }
        }
    }
    union
}
