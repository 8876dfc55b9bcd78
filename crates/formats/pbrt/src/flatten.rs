//! Converts scenes for a renderer to scenes of meshes. `drawn` substitutes meshes for other shapes in previews, and
//! `looks` converts materials.

use crate::looks::{NameFile, PbrtLooks};
use crate::places::{Places64, places64};
use polyhaul_geometry::affine::reverse_faces;
use polyhaul_geometry::exact::settle_transforms;
use polyhaul_geometry::linear::{Matrix4, multiply};
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint, try_copy, try_push, try_string};
use polyhaul_model::limits::Limits;
use polyhaul_model::options::Instances;
use polyhaul_model::render::{ObjectDefinition, Parameter, ParameterValues, Render, Shape};
use polyhaul_model::warnings::grouped;
use polyhaul_model::{Array, Color, Domain, Elements, Material, Mesh, Object, ObjectKind, Scene};
use polyhaul_spill::paced;
use std::collections::{BTreeMap, HashMap};

/// Result of [`flatten`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Flat {
    /// Meshes, objects and materials.
    pub scene: Scene,
    /// Number of shapes that are not meshes, by class.
    pub left_out: BTreeMap<String, u64>,
    /// Number of textures that MTL cannot represent, in materials and shapes, by description, such as `checkerboard as
    /// reflectance`. A material shared by several shapes counts once.
    pub left_out_textures: BTreeMap<String, u64>,
    /// Number of material classes and parameters that MTL cannot represent, by description.
    pub left_out_properties: BTreeMap<String, u64>,
    /// Number of shape parameters that meshes cannot store, by name: `S`, `faceIndices`, normals or UVs whose count
    /// differs from the number of points, and the displacement and the emission of shapes with meshes.
    pub left_out_arrays: BTreeMap<String, u64>,
    /// Number of subdivision surfaces replaced with their control meshes.
    pub subdivided: u64,
}

/// Converts a scene for a renderer to meshes, objects and materials. `meshes` are the contents of its mesh files.
///
/// Shapes that are meshes are converted: `trianglemesh` unchanged, `bilinearmesh` to quads, `plymesh` if it was loaded,
/// `loopsubdiv` to its control mesh. A shape outside definitions becomes an object with a transform; a shape of a
/// definition becomes one object per instance, all of which share its mesh. Objects are named after their classes or
/// definitions. With [`Instances::Once`], each definition appears once instead, whether it is used or not, and
/// instances are ignored. All other shapes are dropped and counted. Moving shapes use their transform at the start of
/// the shutter interval. Reversed orientation flips faces.
///
/// Materials keep `reflectance`, `roughness` and the `eta` of dielectrics; conductors become metallic. Image textures
/// are kept, including normal and displacement maps and the shapes' `alpha`. Image file names are not changed.
///
/// # Errors
/// [`ErrorKind::Limit`] if instances expand to more objects than [`Limits::instanced_objects`], [`ErrorKind::Memory`],
/// and [`ErrorKind::Usage`] for meshes with out-of-range indices.
pub fn flatten(render: &Render, meshes: Vec<Mesh>, instances: Instances, limits: &Limits) -> Result<Flat> {
    flatten_named(render, meshes, instances, limits, &mut |_, _| Ok(None))
}

/// Like [`flatten`], but `name_of` may rename image files. It gets the folder of the file that refers to the image,
/// relative to the scene's folder, and the image's name.
pub fn flatten_named(
    render: &Render,
    meshes: Vec<Mesh>,
    instances: Instances,
    limits: &Limits,
    name_of: NameFile<'_>,
) -> Result<Flat> {
    // Checked before any object is created, because a small scene may expand to very many objects.
    if instances != Instances::Once {
        check_objects(render, limits)?;
    }
    let mut flat = Flattener::new(render, name_of)?;
    flat.meshes(meshes, |_| Ok(None))?;
    flat.world()?;
    match instances {
        Instances::Once => flat.definitions()?,
        _ => flat.instances()?,
    }
    flat.finish()
}

/// Fails if expanding a scene's instances into separate objects or shapes would exceed the limit.
pub(super) fn check_objects(render: &Render, limits: &Limits) -> Result<()> {
    let shapes = |object: usize| render.objects.get(object).map_or(0, |object| object.shapes.len() as u64);
    let count = render.instances().fold(0, |sum: u64, instance| sum.saturating_add(shapes(instance.object)));
    if count > limits.instanced_objects {
        Err(too_many("objects", count, "instanced_objects", limits.instanced_objects))
    } else {
        Ok(())
    }
}

/// Fails if the elements of instanced meshes, counted once per use, exceed the limit. Meshes that are used once do not
/// count.
pub fn check_elements(scene: &Scene, limits: &Limits) -> Result<()> {
    let mut uses: Vec<u64> = Vec::new();
    uses.try_reserve_exact(scene.meshes.len())?;
    uses.resize(scene.meshes.len(), 0);
    for object in paced(&scene.objects) {
        if let Some(uses) = uses.get_mut(object.mesh) {
            *uses += 1;
        }
    }
    type Count = fn(&Mesh) -> usize;
    let vertices: Count = |mesh| mesh.positions.len();
    let faces: Count = |mesh| mesh.faces.offsets.len().saturating_sub(1);
    for (what, count) in [("vertices", vertices), ("faces", faces)] {
        let sum = |sum: u64, (mesh, &uses): (&Mesh, &u64)| sum.saturating_add(uses.saturating_mul(count(mesh) as u64));
        let shown = paced(&scene.meshes).zip(&uses).filter(|(_, uses)| **uses > 1).fold(0, sum);
        if shown > limits.instanced_elements {
            return Err(too_many(what, shown, "instanced_elements", limits.instanced_elements));
        }
    }
    Ok(())
}

#[cold]
fn too_many(what: &str, count: u64, name: &str, limit: u64) -> Error {
    let message =
        format!("the scene's instances expand to {} {what}, more than the limit `{name}` ({limit})", grouped(count));
    let hint = format!("write each definition once with `--instances once`, or {} to {count}", limit_hint(name));
    Error::new(ErrorKind::Limit, message).with_hint(hint)
}

pub(super) struct Flattener<'a> {
    pub(super) render: &'a Render,
    pub(super) places: Places64,
    pub(super) flat: Flat,
    mesh_of_shape: Vec<Option<usize>>,
    looks: PbrtLooks<'a>,
    /// Materials of area lights; `None` if emission is not shown.
    lights: Option<HashMap<u32, usize>>,
}

/// Substitute for a shape that is not a mesh.
pub(super) enum ShapeSubstitute {
    /// A new mesh.
    Mesh(Box<Mesh>),
    /// The mesh of an earlier shape, given by its index.
    Same(usize),
    /// No mesh, because another shape's mesh contains it.
    Elsewhere,
}

impl<'a> Flattener<'a> {
    pub(super) fn new(render: &'a Render, name_of: NameFile<'a>) -> Result<Flattener<'a>> {
        let places = places64(render)?;
        let looks = PbrtLooks::new(render, name_of);
        Ok(Flattener { render, places, flat: Flat::default(), mesh_of_shape: Vec::new(), looks, lights: None })
    }

    /// Creates the mesh of each shape that is a mesh or has a substitute.
    pub(super) fn meshes(
        &mut self,
        mut loaded: Vec<Mesh>,
        mut substitute: impl FnMut(&Shape<'a>) -> Result<Option<ShapeSubstitute>>,
    ) -> Result<()> {
        self.mesh_of_shape.try_reserve_exact(self.render.shape_count())?;
        // Shapes that reference the same file share a mesh, unless their orientations differ.
        let mut number_of: HashMap<(usize, bool), usize> = HashMap::new();
        for shape in self.render.shapes() {
            // Shapes that share a mesh can have different ones.
            if shape.mesh().is_some() && shape.parameters().get("displacement").is_some() {
                count(&mut self.flat.left_out_arrays, "displacement")?;
            }
            let reverse = shape.state().is_some_and(|state| state.reverse_orientation);
            let key = shape.mesh().map(|mesh| (mesh, reverse));
            if let Some(&number) = key.and_then(|key| number_of.get(&key)) {
                self.mesh_of_shape.push(Some(number));
                continue;
            }
            let stored_mesh = match shape.mesh().and_then(|mesh| loaded.get_mut(mesh)) {
                Some(mesh) => Some(shared(mesh)),
                None => inline_mesh(&shape)?,
            };
            let mesh = match stored_mesh {
                Some(mesh) => Some(mesh),
                None => match substitute(&shape)? {
                    Some(ShapeSubstitute::Mesh(mesh)) => Some(*mesh),
                    Some(ShapeSubstitute::Same(earlier)) => {
                        let number = self.mesh_of_shape.get(earlier).copied().flatten();
                        self.mesh_of_shape.push(number);
                        continue;
                    }
                    Some(ShapeSubstitute::Elsewhere) => {
                        self.mesh_of_shape.push(None);
                        continue;
                    }
                    None => None,
                },
            };
            let Some(mut mesh) = mesh else {
                count(&mut self.flat.left_out, shape.class())?;
                self.mesh_of_shape.push(None);
                continue;
            };
            self.flat.subdivided += u64::from(shape.class() == "loopsubdiv");
            for parameter in shape.parameters().iter().filter(|parameter| is_lost(parameter, mesh.positions.len())) {
                count(&mut self.flat.left_out_arrays, parameter.name)?;
            }
            if reverse {
                reverse_faces(&mut mesh)?;
            }
            let number = self.flat.scene.meshes.len();
            try_push(&mut self.flat.scene.meshes, mesh, "meshes")?;
            if let Some(key) = key {
                number_of.try_reserve(1).map_err(|_| Error::memory("meshes"))?;
                number_of.insert(key, number);
            }
            self.mesh_of_shape.push(Some(number));
        }
        Ok(())
    }

    pub(super) fn world(&mut self) -> Result<()> {
        let render = self.render;
        for index in render.world_shapes().into_iter().flatten() {
            let Some(shape) = render.shape(index) else { continue };
            let place = self.places.matrix(render, shape.motion().start);
            self.object(&shape, place, "")?;
        }
        Ok(())
    }

    fn definitions(&mut self) -> Result<()> {
        let render = self.render;
        paced(&render.objects).try_for_each(|object| self.definition(object))
    }

    pub(super) fn definition(&mut self, object: &ObjectDefinition) -> Result<()> {
        let render = self.render;
        for index in object.shapes.clone() {
            let Some(shape) = render.shape(index) else { continue };
            let place = self.places.matrix(render, shape.motion().start);
            self.object(&shape, place, render.text(object.name))?;
        }
        Ok(())
    }

    fn instances(&mut self) -> Result<()> {
        let render = self.render;
        for instance in render.instances() {
            let Some(object) = render.objects.get(instance.object) else { continue };
            let outer = self.places.of_instance(render, &instance);
            let name = render.text(object.name);
            for index in object.shapes.clone() {
                let Some(shape) = render.shape(index) else { continue };
                let inner = self.places.matrix(render, shape.motion().start);
                self.object(&shape, multiply(&outer, &inner), name)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Flat> {
        let left_out = self.looks.into_left_out();
        self.flat.left_out_textures = left_out.textures;
        self.flat.left_out_properties = left_out.properties;
        settle_transforms(&mut self.flat.scene)?;
        Ok(self.flat)
    }

    /// From now on, shows shapes with area lights in the color of their light.
    pub(super) fn show_lights(&mut self) {
        self.lights = Some(HashMap::new());
    }

    fn material(&mut self, shape: &Shape<'a>) -> Result<Option<usize>> {
        let light = shape.state().and_then(|state| state.area_light);
        let Some((lights, light)) = self.lights.as_mut().zip(light) else {
            return self.looks.material(shape, &mut self.flat.scene.materials);
        };
        if let Some(&number) = lights.get(&light) {
            return Ok(Some(number));
        }
        let parameters = self.render.area_lights.get(light as usize).map(|light| self.render.parameters(light));
        let color = match parameters.and_then(|parameters| parameters.get("L")).map(|color| color.values) {
            Some(ParameterValues::Floats(&[r, g, b])) => [r, g, b],
            _ => [1.0; 3],
        };
        // Normalized to full brightness for the preview.
        // The minimum is above 0, so that the color of a black light is not divided by 0.
        let brightest = color.into_iter().fold(f32::MIN_POSITIVE, f32::max);
        let color = Color::Rgb(color.map(|channel| (channel / brightest).clamp(0.0, 1.0)));
        let material = Material { emission: Some(color), ..Material::default() };
        try_push(&mut self.flat.scene.materials, material, "materials")?;
        let number = self.flat.scene.materials.len() - 1;
        lights.insert(light, number);
        Ok(Some(number))
    }

    fn object(&mut self, shape: &Shape<'a>, place: Matrix4, name: &str) -> Result<()> {
        let Some(mesh) = self.mesh_of_shape.get(shape.index).copied().flatten() else { return Ok(()) };
        let material = self.material(shape)?;
        let object = Object {
            name: match name {
                "" => format!("{}-{}", shape.class(), shape.index + 1),
                name => try_string(name)?,
            },
            kind: ObjectKind::Object,
            mesh,
            end: self.flat.scene.meshes[mesh].counts(),
            transform: Some(place),
            materials: Some(vec![material]),
            ..Object::default()
        };
        try_push(&mut self.flat.scene.objects, object, "objects")
    }
}

/// Increments the count of a name.
fn count(counts: &mut BTreeMap<String, u64>, name: &str) -> Result<()> {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => _ = counts.insert(try_string(name)?, 1),
    }
    Ok(())
}

/// Returns whether a mesh with `points` points cannot store this array of its shape.
fn is_lost(parameter: &Parameter<'_>, points: usize) -> bool {
    match parameter.name {
        "uv" => parameter.values.rows::<2>().is_none_or(|uvs| uvs.len() != points),
        "N" => parameter.values.rows::<3>().is_none_or(|normals| normals.len() != points),
        "S" | "faceIndices" | "emissionfilename" => true,
        _ => false,
    }
}

/// Clones a mesh without copying its arrays.
fn shared(mesh: &mut Mesh) -> Mesh {
    mesh.positions.share();
    mesh.colors.share();
    mesh.uvs.share();
    mesh.normals.share();
    let Elements { offsets, corner_positions, corner_uvs, corner_normals } = &mut mesh.faces;
    [offsets, corner_positions, corner_uvs, corner_normals].into_iter().for_each(|stream| stream.share());
    mesh.clone()
}

/// Creates a mesh from the arrays of a shape. Returns `None` if its class has no arrays.
fn inline_mesh(shape: &Shape<'_>) -> Result<Option<Mesh>> {
    let quads = match shape.class() {
        "trianglemesh" | "loopsubdiv" => false,
        "bilinearmesh" => true,
        _ => return Ok(None),
    };
    let parameters = shape.parameters();
    let coordinates = parameters.get("P");
    let points = coordinates.and_then(|points| points.values.rows::<3>()).unwrap_or_default();
    let exact = coordinates.map_or(&[][..], |points| points.exact.as_chunks().0);
    let width = if quads { 4 } else { 3 };
    let indices = parameters.get("indices").map(|indices| indices.values);
    let mut corners: Vec<u32> = Vec::new();
    match indices {
        Some(ParameterValues::Integers(indices)) => {
            corners.try_reserve_exact(indices.len())?;
            // Negative indices become large and fail the check below.
            corners.extend(indices.iter().map(|&index| index as u32));
        }
        // pbrt allows triangle and bilinear meshes without indices if they are a single face.
        _ => corners.extend(0..points.len().min(width) as u32),
    }
    // Drop an incomplete last face.
    corners.truncate(corners.len() / width * width);
    if corners.iter().any(|&corner| corner as usize >= points.len()) {
        let message = format!(
            "shape {} ({}) has an index out of range (it has {} points)",
            shape.index,
            shape.class(),
            points.len()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if quads {
        // pbrt orders the corners of a patch row by row; meshes order them around the face.
        corners.chunks_exact_mut(4).for_each(|quad| quad.swap(2, 3));
    }
    let mut offsets = Vec::new();
    offsets.try_reserve_exact(corners.len() / width + 1)?;
    offsets.extend((0..=corners.len() / width).map(|face| (width * face) as u32));
    let faces = if corners.is_empty() {
        Elements::default()
    } else {
        Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() }
    };
    let uvs = parameters.get("uv").and_then(|uvs| uvs.values.rows::<2>()).filter(|uvs| uvs.len() == points.len());
    let normals = parameters.get("N").and_then(|normals| normals.values.rows::<3>());
    let normals = normals.filter(|normals| normals.len() == points.len());
    Ok(Some(Mesh {
        positions: array(points)?,
        exact_positions: array(exact)?,
        uvs: array(uvs.unwrap_or_default())?,
        uv_domain: Domain::Vertex,
        normals: array(normals.unwrap_or_default())?,
        normal_domain: Domain::Vertex,
        faces,
        ..Mesh::default()
    }))
}

fn array<T: Copy>(values: &[T]) -> Result<Array<T>> {
    try_copy(values, "an array").map(Array::from)
}
