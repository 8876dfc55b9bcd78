//! Scenes for a renderer as scenes of meshes.

use super::place::{Matrix64, Places64, multiply64, places64};
use crate::error::{Error, ErrorKind, Result, try_copy, try_push, try_string};
use crate::model::render::{MaterialUse, ParameterValues, Render, Shape};
use crate::model::{Array, Color, Domain, Elements, Material, Mesh, Object, ObjectKind, Scene};
use crate::options::Instances;
use std::collections::{BTreeMap, HashMap};

/// What [`flatten`] makes.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    /// Meshes, objects and materials.
    pub scene: Scene,
    /// How many shapes are no meshes, by class.
    pub left_out: BTreeMap<String, u64>,
}

/// Makes meshes, objects and materials of a scene for a renderer; `meshes` are those that it loaded.
///
/// Each shape that is a mesh becomes one: `trianglemesh` as it is, `bilinearmesh` as quads, `plymesh` where it was
/// loaded, `loopsubdiv` as its control mesh. Each is an object with a transform, and once more for each instance, which
/// shows the same mesh: objects have the names of what they show. With [`Instances::Once`] each definition stands there
/// once instead, shown or not, and no instance. All other shapes are left out and counted.
/// What moves stands where it is when the shutter opens. Reversed orientation turns faces around.
///
/// Of materials `reflectance`, `roughness`, `eta` and metals are taken over.
///
/// # Errors
/// [`ErrorKind::Memory`], and [`ErrorKind::Usage`] for a mesh whose indices are out of range.
pub fn flatten(render: &Render, meshes: Vec<Mesh>, instances: Instances) -> Result<Flat> {
    let mut flat = Flattener {
        render,
        places: places64(render)?,
        flat: Flat::default(),
        mesh_of_shape: Vec::new(),
        materials: HashMap::new(),
    };
    flat.meshes(meshes)?;
    flat.world()?;
    match instances {
        Instances::Once => flat.definitions()?,
        Instances::AsFormat | Instances::Flatten => flat.instances()?,
    }
    Ok(flat.flat)
}

struct Flattener<'a> {
    render: &'a Render,
    places: Places64,
    flat: Flat,
    mesh_of_shape: Vec<Option<usize>>,
    materials: HashMap<MaterialUse, Option<usize>>,
}

impl<'a> Flattener<'a> {
    /// Makes the mesh of each shape that is one.
    fn meshes(&mut self, mut loaded: Vec<Mesh>) -> Result<()> {
        self.mesh_of_shape.try_reserve_exact(self.render.shape_count())?;
        // A file that many shapes name, and the orientation.
        let mut known: HashMap<(usize, bool), usize> = HashMap::new();
        for shape in self.render.shapes() {
            let reverse = shape.state().is_some_and(|state| state.reverse_orientation);
            let key = shape.mesh().map(|mesh| (mesh, reverse));
            if let Some(&number) = key.and_then(|key| known.get(&key)) {
                self.mesh_of_shape.push(Some(number));
                continue;
            }
            let made = match shape.mesh().and_then(|mesh| loaded.get_mut(mesh)) {
                Some(mesh) => Some(shared(mesh)),
                None => own_mesh(&shape)?,
            };
            let Some(mut mesh) = made else {
                self.leave_out(shape.class())?;
                self.mesh_of_shape.push(None);
                continue;
            };
            if reverse {
                turn_around(&mut mesh)?;
            }
            let number = self.flat.scene.meshes.len();
            try_push(&mut self.flat.scene.meshes, mesh, "meshes")?;
            if let Some(key) = key {
                known.try_reserve(1).map_err(|_| Error::memory("meshes"))?;
                known.insert(key, number);
            }
            self.mesh_of_shape.push(Some(number));
        }
        Ok(())
    }

    fn leave_out(&mut self, class: &str) -> Result<()> {
        match self.flat.left_out.get_mut(class) {
            Some(count) => *count += 1,
            None => _ = self.flat.left_out.insert(try_string(class)?, 1),
        }
        Ok(())
    }

    fn world(&mut self) -> Result<()> {
        let render = self.render;
        for index in render.world_shapes().into_iter().flatten() {
            let Some(shape) = render.shape(index) else { continue };
            let place = self.places.of(render, shape.motion().start);
            self.object(&shape, place, "")?;
        }
        Ok(())
    }

    fn definitions(&mut self) -> Result<()> {
        let render = self.render;
        for object in &render.objects {
            for index in object.shapes.clone() {
                let Some(shape) = render.shape(index) else { continue };
                let place = self.places.of(render, shape.motion().start);
                self.object(&shape, place, render.text(object.name))?;
            }
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
                let inner = self.places.of(render, shape.motion().start);
                self.object(&shape, multiply64(outer, inner), name)?;
            }
        }
        Ok(())
    }

    fn object(&mut self, shape: &Shape<'a>, place: Matrix64, name: &str) -> Result<()> {
        let Some(mesh) = self.mesh_of_shape.get(shape.index).copied().flatten() else { return Ok(()) };
        let material = match shape.state() {
            Some(state) => self.material(state.material)?,
            None => None,
        };
        let object = Object {
            name: match name {
                "" => format!("{}-{}", shape.class(), shape.index + 1),
                name => try_string(name)?,
            },
            kind: ObjectKind::Object,
            mesh,
            end: self.flat.scene.meshes[mesh].counts(),
            transform: Some(place.map(|row| row.map(|number| number as f32))),
            materials: Some(vec![material]),
            ..Object::default()
        };
        try_push(&mut self.flat.scene.objects, object, "objects")
    }

    /// The material that shapes name.
    fn material(&mut self, named: MaterialUse) -> Result<Option<usize>> {
        if let Some(&known) = self.materials.get(&named) {
            return Ok(known);
        }
        let render = self.render;
        let found = match named {
            MaterialUse::Default => None,
            MaterialUse::Index(index) => render.materials.get(index as usize).map(|it| (it, index as usize)),
            MaterialUse::Named(name) => {
                let all = render.materials.iter().enumerate();
                let same = |&(_, it): &(usize, &crate::model::render::Material)| it.is_named && it.entity.name == name;
                all.into_iter().find(same).map(|(index, it)| (it, index))
            }
        };
        let made = match (named, found) {
            (_, Some((material, index))) => Some(self.mapped(material, index)),
            (MaterialUse::Named(name), None) => {
                Some(Material { name: try_string(render.text(name))?, missing: true, ..Material::default() })
            }
            _ => None,
        };
        let number = match made {
            Some(made) => {
                try_push(&mut self.flat.scene.materials, made, "materials")?;
                Some(self.flat.scene.materials.len() - 1)
            }
            None => None,
        };
        self.materials.try_reserve(1).map_err(|_| Error::memory("materials"))?;
        self.materials.insert(named, number);
        Ok(number)
    }

    /// What MTL says of a material of pbrt.
    fn mapped(&self, material: &crate::model::render::Material, index: usize) -> Material {
        let parameters = self.render.parameters(&material.entity);
        let own = self.render.text(material.entity.name);
        let class = if material.is_named { parameters.string("type").unwrap_or_default() } else { own };
        let color = |name| match parameters.get(name)?.values.rows::<3>()? {
            [rgb] => Some(Color::Rgb(*rgb)),
            _ => None,
        };
        let number = |name| match parameters.get(name)?.values {
            ParameterValues::Floats([number]) => Some(*number),
            _ => None,
        };
        let mut made = Material {
            name: if material.is_named { own.to_owned() } else { format!("{own}-{}", index + 1) },
            diffuse: color("reflectance"),
            roughness: number("roughness"),
            ..Material::default()
        };
        match class {
            "conductor" | "coatedconductor" => made.metallic = Some(1.0),
            "dielectric" | "thindielectric" => {
                made.refraction_index = Some(number("eta").unwrap_or(1.5));
                made.illumination = Some(7);
            }
            "coateddiffuse" => made.specular = Some(Color::Rgb([0.5; 3])),
            _ => {}
        }
        made
    }
}

/// A mesh with the same arrays, which are not copied.
fn shared(mesh: &mut Mesh) -> Mesh {
    mesh.positions.share();
    mesh.colors.share();
    mesh.uvs.share();
    mesh.normals.share();
    let Elements { offsets, corner_positions, corner_uvs, corner_normals } = &mut mesh.faces;
    [offsets, corner_positions, corner_uvs, corner_normals].into_iter().for_each(|stream| stream.share());
    mesh.clone()
}

/// The mesh that a shape's arrays are.
fn own_mesh(shape: &Shape<'_>) -> Result<Option<Mesh>> {
    let quads = match shape.class() {
        "trianglemesh" | "loopsubdiv" => false,
        "bilinearmesh" => true,
        _ => return Ok(None),
    };
    let parameters = shape.parameters();
    let points = parameters.get("P").and_then(|it| it.values.rows::<3>()).unwrap_or_default();
    let width = if quads { 4 } else { 3 };
    let indices = parameters.get("indices").map(|it| it.values);
    let mut corners: Vec<u32> = Vec::new();
    match indices {
        Some(ParameterValues::Integers(indices)) => {
            corners.try_reserve_exact(indices.len())?;
            corners.extend(indices.iter().map(|&index| index as u32));
        }
        _ => corners.extend(0..points.len().min(width) as u32),
    }
    corners.truncate(corners.len() / width * width);
    if corners.iter().any(|&corner| corner as usize >= points.len()) {
        let message =
            format!("shape {} ({}) has an index past its {} points", shape.index, shape.class(), points.len());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if quads {
        // pbrt has the corners of a patch row by row.
        corners.chunks_exact_mut(4).for_each(|quad| quad.swap(2, 3));
    }
    let mut offsets = Vec::new();
    offsets.try_reserve_exact(corners.len() / width + 1)?;
    offsets.extend((0..=corners.len() / width).map(|face| (width * face) as u32));
    let faces = match corners.is_empty() {
        true => Elements::default(),
        false => Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() },
    };
    let uvs = parameters.get("uv").and_then(|it| it.values.rows::<2>()).filter(|uvs| uvs.len() == points.len());
    let normals = parameters.get("N").and_then(|it| it.values.rows::<3>()).filter(|it| it.len() == points.len());
    Ok(Some(Mesh {
        positions: array(points)?,
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

/// Turns the corners of every face around; the first one stays.
fn turn_around(mesh: &mut Mesh) -> Result<()> {
    let Elements { offsets, corner_positions, corner_uvs, corner_normals } = &mut mesh.faces;
    for stream in [corner_positions, corner_uvs, corner_normals] {
        let stream = stream.to_mut()?;
        for face in offsets.windows(2) {
            if let Some([_, others @ ..]) = stream.get_mut(face[0] as usize..face[1] as usize) {
                others.reverse();
            }
        }
    }
    Ok(())
}
