//! Replaces mesh files that shapes reference with arrays in the scene. The caller reads the files.

use crate::build::{Builder, Given, GivenValues};
use crate::writer::meshes::MOVED;
use polyhaul_model::error::{Result, try_copy, try_push, try_string};
use polyhaul_model::render::{Parameter, ParameterType, ParameterValues, Render};
use polyhaul_model::{Domain, Elements, Mesh};

/// Replaces each shape whose mesh was read from a file with a shape that contains the arrays: a `trianglemesh`, or a
/// `bilinearmesh` if all faces are quads. Returns how many shapes remain unchanged, because their faces are neither all
/// triangles nor all quads, or because they use displacement, which only `plymesh` supports.
///
/// # Errors
/// [`polyhaul_model::error::ErrorKind::Memory`].
pub fn inline_meshes(render: &mut Render, meshes: &[Mesh]) -> Result<u64> {
    let mut builder = Builder::default();
    std::mem::swap(&mut builder.render, render);
    let inlined = inline(&mut builder, meshes);
    *render = builder.finish();
    inlined
}

fn inline(builder: &mut Builder, meshes: &[Mesh]) -> Result<u64> {
    let uses = std::mem::take(&mut builder.render.meshes);
    let mut unchanged = Vec::new();
    for (shape, mesh) in uses {
        let arrays = meshes.get(mesh as usize).map(arrays).transpose()?.flatten();
        let others = other_parameters(&builder.render, shape as usize)?;
        let Some(((class, mut given), others)) = arrays.zip(others) else {
            try_push(&mut unchanged, (shape, mesh), "meshes")?;
            continue;
        };
        given.extend(others.iter().map(|(kind, name, values)| (*kind, name.as_str(), values.clone())));
        let class = builder.name(class)?;
        let parameters = builder.parameters(given)?;
        if let Some(stored) = builder.render.shapes.get_mut(shape as usize) {
            stored.class = class;
            stored.parameters = parameters;
        }
    }
    let count = unchanged.len() as u64;
    builder.render.meshes = unchanged;
    Ok(count)
}

/// Converts a mesh to a class of shapes and its arrays. Returns `None` if no class supports its faces.
fn arrays(mesh: &Mesh) -> Result<Option<(&'static str, Vec<Given<'static>>)>> {
    let Elements { offsets, corner_positions, .. } = &mesh.faces;
    let is_each = |size| offsets.windows(2).all(|face| face[1].wrapping_sub(face[0]) == size);
    let class = match () {
        () if corner_positions.is_empty() => return Ok(None),
        () if is_each(3) => "trianglemesh",
        () if is_each(4) => "bilinearmesh",
        () => return Ok(None),
    };
    let mut indices = Vec::new();
    indices.try_reserve_exact(corner_positions.len())?;
    indices.extend(corner_positions.iter().map(|&index| index as i32));
    if class == "bilinearmesh" {
        // pbrt orders the corners of a patch row by row; meshes order them around the face.
        indices.chunks_exact_mut(4).for_each(|quad| quad.swap(2, 3));
    }
    let mut given = vec![(ParameterType::Integer, "indices", GivenValues::Integers(indices))];
    let points = if mesh.is_exact() {
        GivenValues::Doubles(try_copy(mesh.exact_positions.as_flattened(), "values")?)
    } else {
        floats(mesh.positions.as_flattened())?
    };
    given.push((ParameterType::Point3, "P", points));
    if mesh.normal_domain == Domain::Vertex && mesh.normals.len() == mesh.positions.len() {
        given.push((ParameterType::Normal, "N", floats(mesh.normals.as_flattened())?));
    }
    if mesh.uv_domain == Domain::Vertex && mesh.uvs.len() == mesh.positions.len() {
        given.push((ParameterType::Point2, "uv", floats(mesh.uvs.as_flattened())?));
    }
    Ok(Some((class, given)))
}

fn floats(values: &[f32]) -> Result<GivenValues> {
    Ok(GivenValues::Floats(try_copy(values, "values")?))
}

/// A parameter with an owned name.
type OwnedParameter = (ParameterType, String, GivenValues);

/// Copies the parameters of a shape, except its file name. Returns `None` if another class would not support them.
fn other_parameters(render: &Render, shape: usize) -> Result<Option<Vec<OwnedParameter>>> {
    let mut others = Vec::new();
    let parameters = render.shape(shape).into_iter().flat_map(|shape| shape.parameters().iter());
    for Parameter { kind, name, values, exact } in parameters {
        match name {
            "filename" => continue,
            // The last parameter of a name counts, so these would hide the arrays of the file.
            name if MOVED.contains(&name) => continue,
            "displacement" | "edgelength" => return Ok(None),
            _ => {}
        }
        let values = match values {
            ParameterValues::Floats(_) if !exact.is_empty() => GivenValues::Doubles(try_copy(exact, "values")?),
            ParameterValues::Floats(values) => GivenValues::Floats(try_copy(values, "values")?),
            ParameterValues::Integers(values) => GivenValues::Integers(try_copy(values, "values")?),
            ParameterValues::Bools(values) => GivenValues::Bools(try_copy(values, "values")?),
            ParameterValues::Strings(values) => GivenValues::Strings(values.iter().map(str::to_owned).collect()),
        };
        try_push(&mut others, (kind, try_string(name)?, values), "values")?;
    }
    Ok(Some(others))
}
