//! Compares a generated renderer scene with the one read back, whose large meshes are in PLY files.

use super::check::{CheckDifference, equal};
use polyhaul::Result;
use polyhaul::model::render::{Instance, Parameter, ParameterValues, Parameters, Render, Shape};
use polyhaul::model::{Mesh, Scene};
use polyhaul::ops::places64;

/// Fails if the instances or shapes of the scenes differ in any bit.
pub fn compare(made: &Scene, read: &Scene) -> Result<CheckDifference> {
    let Some(made_render) = &made.render else { return Ok(Err("not a renderer scene".into())) };
    let Some(read_render) = &read.render else { return Ok(Err("not a renderer scene".into())) };
    let made_places = places64(made_render)?;
    let read_places = places64(read_render)?;
    let made_instances = made_render
        .instances()
        .map(|instance| (name(made_render, &instance), made_places.of_instance(made_render, &instance)));
    let read_instances = read_render
        .instances()
        .map(|instance| (name(read_render, &instance), read_places.of_instance(read_render, &instance)));
    Ok(equal("instance", made_instances, read_instances).and_then(|()| shapes(made_render, read_render, &read.meshes)))
}

/// The name of the instanced object.
fn name<'a>(render: &'a Render, instance: &Instance) -> Option<&'a str> {
    render.objects.get(instance.object).map(|object| render.text(object.name))
}

fn shapes(made: &Render, read: &Render, meshes: &[Mesh]) -> CheckDifference {
    equal("number of shapes", [made.shape_count()].into_iter(), [read.shape_count()].into_iter())?;
    for (index, (a, b)) in made.shapes().zip(read.shapes()).enumerate() {
        match b.mesh().and_then(|mesh| meshes.get(mesh)) {
            Some(mesh) => file(&a, mesh),
            None => same(a.parameters(), b.parameters()),
        }
        .map_err(|what| format!("{what} of shape {index}"))?;
    }
    Ok(())
}

/// Compares the arrays of a shape and a mesh.
fn file(shape: &Shape<'_>, mesh: &Mesh) -> CheckDifference {
    let floats = |name| match shape.parameters().get(name).map(|parameter| parameter.values) {
        Some(ParameterValues::Floats(values)) => values,
        _ => &[],
    };
    let indices = match shape.parameters().get("indices").map(|parameter| parameter.values) {
        Some(ParameterValues::Integers(values)) => values,
        _ => &[],
    };
    let bits = |value: &f32| value.to_bits();
    equal("P", floats("P").iter().map(bits), mesh.positions.as_flattened().iter().map(bits))?;
    equal("N", floats("N").iter().map(bits), mesh.normals.as_flattened().iter().map(bits))?;
    equal("index", indices.iter().copied(), mesh.faces.corner_positions.iter().map(|&index| index as i32))
}

fn same(a: Parameters<'_>, b: Parameters<'_>) -> CheckDifference {
    fn declared<'a>(parameter: Parameter<'a>) -> (polyhaul::model::render::ParameterType, &'a str) {
        (parameter.kind, parameter.name)
    }
    equal("parameter", a.iter().map(declared), b.iter().map(declared))?;
    equal("value", a.iter().map(|parameter| parameter.values), b.iter().map(|parameter| parameter.values))
}

#[cfg(test)]
mod tests {
    use super::super::island;
    use super::*;
    use polyhaul::options::PbrtMeshes;
    use polyhaul::{Reader, WriteOptions, Writer};

    /// Writes the island and reads it back.
    fn read_back(made: &Scene, meshes: PbrtMeshes) -> Scene {
        let folder = super::super::Folder::new(None).unwrap();
        let file = folder.path().join("a.pbrt");
        let pbrt = island::style().with_meshes(meshes);
        Writer::new(&file).options(&WriteOptions::default().with_pbrt(pbrt)).scene(made).unwrap();
        Reader::new(file).scene().unwrap().value
    }

    #[test]
    fn differences_are_found() {
        let made = island::of_size(1_000_000).unwrap();
        let mut read = read_back(&made, PbrtMeshes::Ply { vertices: 1 });
        assert_eq!(read.meshes.len(), 4);
        assert_eq!(compare(&made, &read).unwrap(), Ok(()));
        read.meshes[0].positions.to_mut().unwrap()[7][1] += 0.001;
        assert!(compare(&made, &read).unwrap().unwrap_err().ends_with("of shape 0"));
        let others = read_back(&island::of_size(1_000_500).unwrap(), PbrtMeshes::Keep);
        assert!(compare(&made, &others).unwrap().is_err());
    }
}
