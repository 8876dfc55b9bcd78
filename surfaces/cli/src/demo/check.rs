//! Compares a generated scene with the one read back.
//!
//! The two scenes may be split into meshes differently, so the arrays of all meshes are concatenated for comparison,
//! with indices into the concatenated arrays.

use crate::file::io;
use polyhaul::Result;
use polyhaul::WriteOptions;
use polyhaul::model::{Elements, Mesh, Scene};
use polyhaul::options::Digits;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// `Err` describes the first difference.
pub type CheckDifference = std::result::Result<(), String>;

/// Fails if the scenes differ by more than the rounding of the written digits.
pub fn compare(made: &Scene, read: &Scene, options: &WriteOptions) -> CheckDifference {
    let [position_digits, uv_digits, normal_digits, _] = options.obj.all_digits(&options.scene);
    let names = |scene: &Scene| scene.objects.iter().map(|object| object.name.clone()).collect::<Vec<_>>();
    equal("object", names(made).into_iter(), names(read).into_iter())?;
    let spans = |scene: &Scene| scene.objects.iter().map(span).collect::<Vec<_>>();
    equal("size of object", spans(made).into_iter(), spans(read).into_iter())?;
    close("position", numbers(made, |m| &m.positions), numbers(read, |m| &m.positions), position_digits)?;
    close("uv", numbers(made, |m| &m.uvs), numbers(read, |m| &m.uvs), uv_digits)?;
    close("normal", numbers(made, |m| &m.normals), numbers(read, |m| &m.normals), normal_digits)?;
    let sizes = |scene| elements(scene).flat_map(|faces| faces.offsets.windows(2).map(|pair| pair[1] - pair[0]));
    equal("size of face", sizes(made), sizes(read))?;
    let positions = |scene| indices(scene, |faces| &faces.corner_positions, |mesh| mesh.positions.len());
    equal("position of corner", positions(made), positions(read))?;
    let uvs = |scene| indices(scene, |faces| &faces.corner_uvs, |mesh| mesh.uvs.len());
    equal("uv of corner", uvs(made), uvs(read))?;
    let normals = |scene| indices(scene, |faces| &faces.corner_normals, |mesh| mesh.normals.len());
    equal("normal of corner", normals(made), normals(read))?;
    equal("material", used(made), used(read))
}

fn span(object: &polyhaul::model::Object) -> Vec<u32> {
    let pairs = object.end.to_array().into_iter().zip(object.start.to_array());
    pairs.map(|(end, start)| end.wrapping_sub(start)).collect()
}

fn elements(scene: &Scene) -> impl Iterator<Item = &Elements> {
    scene.meshes.iter().map(|mesh| &mesh.faces)
}

/// Concatenates an array over all meshes.
fn numbers<const N: usize>(scene: &Scene, array: fn(&Mesh) -> &[[f32; N]]) -> impl Iterator<Item = f32> {
    scene.meshes.iter().flat_map(move |mesh| array(mesh).as_flattened().iter().copied())
}

/// Concatenates an index stream over all meshes, with indices into the concatenated arrays.
fn indices(scene: &Scene, stream: fn(&Elements) -> &[u32], count: fn(&Mesh) -> usize) -> impl Iterator<Item = usize> {
    let mut next = 0;
    scene.meshes.iter().flat_map(move |mesh| {
        let base = next;
        next += count(mesh);
        stream(&mesh.faces).iter().map(move |&index| base + index as usize)
    })
}

/// The material names in the order of use.
fn used(scene: &Scene) -> impl Iterator<Item = &str> {
    let runs = scene.meshes.iter().flat_map(|mesh| &mesh.material_runs);
    runs.map(|run| scene.materials.get(run.value as usize).map_or("", |material| &material.name))
}

/// Fails at the first item in which two sequences differ.
pub fn equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    made: impl Iterator<Item = T>,
    read: impl Iterator<Item = T>,
) -> CheckDifference {
    each(what, made, read, |a, b| a == b)
}

fn close(
    what: &str,
    made: impl Iterator<Item = f32>,
    read: impl Iterator<Item = f32>,
    digits: Digits,
) -> CheckDifference {
    let printed = match digits {
        Digits::Fixed(digits) => 0.5 * 10f64.powi(-i32::from(digits)),
        _ => 0.0,
    };
    let near = |a: &f32, b: &f32| {
        let rounding = f64::from(a.abs().max(b.abs())) * f64::from(f32::EPSILON);
        (f64::from(*a) - f64::from(*b)).abs() <= printed * 1.000_001 + rounding
    };
    each(what, made, read, near)
}

fn each<T: std::fmt::Debug>(
    what: &str,
    mut made: impl Iterator<Item = T>,
    mut read: impl Iterator<Item = T>,
    same: impl Fn(&T, &T) -> bool,
) -> CheckDifference {
    for index in 0u64.. {
        match (made.next(), read.next()) {
            (None, None) => break,
            (Some(a), Some(b)) if same(&a, &b) => {}
            (Some(a), Some(b)) => {
                return Err(format!("{what} {index} was written as {a:?} but read back as {b:?}"));
            }
            (Some(_), None) => return Err(format!("{what} {index} is missing")),
            (None, Some(_)) => return Err(format!("{what} {index} is unexpected")),
        }
    }
    Ok(())
}

/// The offset of the first difference between two files, or `None` if they are equal.
pub fn first_difference(first: &Path, second: &Path) -> Result<Option<u64>> {
    let open = |path: &Path| match File::open(path) {
        Ok(file) => Ok(BufReader::with_capacity(1 << 20, file)),
        Err(error) => Err(io("open", path, error)),
    };
    let mut a = open(first)?;
    let mut b = open(second)?;
    let mut offset = 0;
    loop {
        let left = a.fill_buf().map_err(|error| io("read", first, error))?;
        let right = b.fill_buf().map_err(|error| io("read", second, error))?;
        let count = left.len().min(right.len());
        if left[..count] != right[..count] {
            let equal = left.iter().zip(right).take_while(|(a, b)| a == b).count();
            return Ok(Some(offset + equal as u64));
        }
        if count == 0 {
            return Ok((left.len() != right.len()).then_some(offset));
        }
        a.consume(count);
        b.consume(count);
        offset += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Folder, scene};
    use super::*;

    #[test]
    fn differences_are_found() {
        let made = scene::of_size(100_000);
        let options = WriteOptions::default();
        assert_eq!(compare(&made, &made.clone(), &options), Ok(()));
        let changes: [fn(&mut Scene); 6] = [
            |scene| scene.objects[1].name.push('x'),
            |scene| scene.meshes[0].positions.to_mut().unwrap()[3][1] += 0.001,
            |scene| scene.meshes[1].normals.to_mut().unwrap().truncate(5),
            |scene| scene.meshes[0].faces.corner_uvs.to_mut().unwrap()[7] += 1,
            |scene| scene.meshes[0].material_runs[0].value += 1,
            |scene| scene.objects[0].end.faces -= 1,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut read = made.clone();
            change(&mut read);
            assert!(compare(&made, &read, &options).is_err(), "change {index}");
        }
    }

    #[test]
    fn files_differ_where_they_differ() {
        let folder = Folder::new(None).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let first = file("a", b"12345");
        let changed = file("b", b"12845");
        let longer = file("c", b"123456");
        assert_eq!(first_difference(&first, &first).unwrap(), None);
        assert_eq!(first_difference(&first, &changed).unwrap(), Some(2));
        assert_eq!(first_difference(&first, &longer).unwrap(), Some(5));
    }
}
