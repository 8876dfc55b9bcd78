//! Compares the generated scene for a renderer with the one that was read back, whose large meshes are files.

use super::check::{CheckDifference, equal};
use polyhaul::Result;
use polyhaul::model::render::{Instance, Parameter, ParameterValues, Parameters, Render, Shape};
use polyhaul::model::{Mesh, Scene};
use polyhaul::ops::places64;

/// An error if the scenes differ in any bit of what they show.
pub fn compare(made: &Scene, read: &Scene) -> Result<CheckDifference> {
    let (Some(one), Some(other)) = (&made.render, &read.render) else {
        return Ok(Err("not a renderer scene".into()));
    };
    let [of_one, of_other] = [places64(one)?, places64(other)?];
    let a = one.instances().map(|it| (name(one, &it), of_one.of_instance(one, &it)));
    let b = other.instances().map(|it| (name(other, &it), of_other.of_instance(other, &it)));
    Ok(equal("instance", a, b).and_then(|()| shapes(one, other, &read.meshes)))
}

/// The name of the object that an instance shows.
fn name<'a>(render: &'a Render, instance: &Instance) -> Option<&'a str> {
    render.objects.get(instance.object).map(|object| render.text(object.name))
}

fn shapes(one: &Render, other: &Render, meshes: &[Mesh]) -> CheckDifference {
    equal("number of shapes", [one.shape_count()].into_iter(), [other.shape_count()].into_iter())?;
    for (index, (a, b)) in one.shapes().zip(other.shapes()).enumerate() {
        match b.mesh().and_then(|mesh| meshes.get(mesh)) {
            Some(mesh) => file(&a, mesh),
            None => same(a.parameters(), b.parameters()),
        }
        .map_err(|what| format!("{what} of shape {index}"))?;
    }
    Ok(())
}

/// Whether a shape's arrays equal those of a mesh.
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
    fn declared<'a>(it: Parameter<'a>) -> (polyhaul::model::render::ParameterType, &'a str) {
        (it.kind, it.name)
    }
    equal("parameter", a.iter().map(declared), b.iter().map(declared))?;
    equal("value", a.iter().map(|it| it.values), b.iter().map(|it| it.values))
}

#[cfg(test)]
mod tests {
    use super::super::island;
    use super::*;
    use polyhaul::options::PbrtMeshes;
    use polyhaul::{Reader, WriteOptions, Writer};

    /// The island as it comes back.
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
