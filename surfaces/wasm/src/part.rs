//! Reads one part of an OBJ file, and joins it with parts read by other instances.
//!
//! Each instance reads its part and returns the data that JavaScript needs for joining: statements, counts, and the
//! maximum indices. It then receives the statements of all parts as one list, and the vertices of the other parts, to
//! which its faces may refer. All instances divide the mesh into the same shapes, and each draws the corners of its own
//! elements.

use crate::answer;
use crate::shapes::{Shape, divided};
use crate::statements::{Before, Placed, sort, statements};
use crate::{INSTANCE, Instance};
use polyhaul::model::{Array, Mesh, NONE, Scene};
use polyhaul::{Error, ErrorKind, Result};
use polyhaul_fault::planted;
use polyhaul_insight::json::Json;

/// A description of all parts by JavaScript, in lines:
///
/// | line | content |
/// |---|---|
/// | `base` | the counts of faces, lines and points before this part, and of the corners of these faces and lines |
/// | `end` | the same counts for the whole file |
/// | `before` | the counts of positions, UVs and normals before this part |
/// | `total` | the same counts for the whole file |
/// | `colors` | 1 if any position has a color |
/// | `statement` | a statement: see [`Placed::parse`] |
#[derive(Default)]
struct JoinedParts<'a> {
    base: Before,
    end: Before,
    before: [usize; 3],
    total: [usize; 3],
    has_colors: bool,
    statements: Vec<Placed<'a>>,
}

impl<'a> JoinedParts<'a> {
    fn parse(text: &'a str) -> Option<JoinedParts<'a>> {
        let mut whole = JoinedParts::default();
        for line in text.lines() {
            match line.split_once(' ')? {
                ("base", rest) => whole.base = Before::from_array(numbers(rest)?),
                ("end", rest) => whole.end = Before::from_array(numbers(rest)?),
                ("before", rest) => whole.before = numbers(rest)?,
                ("total", rest) => whole.total = numbers(rest)?,
                ("colors", rest) => whole.has_colors = rest == "1",
                ("statement", rest) => whole.statements.push(Placed::parse(rest)?),
                _ => return None,
            }
        }
        Some(whole)
    }
}

fn numbers<const N: usize>(text: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> = text.split(' ').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Joins the part of the previous request with the other parts, as this request describes them. Returns a pointer to
/// the addresses for their positions, UVs, normals and colors, or null on failure.
#[cfg_attr(feature = "obj", unsafe(no_mangle))]
extern "C" fn polyhaul_join() -> *const [usize; 4] {
    INSTANCE.with_borrow_mut(|Instance { request, answer, scene, shapes, places, .. }| {
        match join(scene.get_or_insert_default(), &String::from_utf8_lossy(request)) {
            Ok(joined) => {
                (*shapes, *places) = joined;
                &raw const *places
            }
            Err(error) => {
                *answer = answer::error(&error);
                std::ptr::null()
            }
        }
    })
}

/// Describes the shapes of the whole file in the answer, once all vertices are present. Drawing a shape then draws its
/// elements in this part.
#[cfg_attr(feature = "obj", unsafe(no_mangle))]
extern "C" fn polyhaul_joined() {
    INSTANCE.with_borrow_mut(|Instance { answer, scene, shapes, .. }| {
        if let Some(mesh) = scene.as_ref().and_then(|scene| scene.meshes.first()) {
            *answer = joined(shapes, mesh);
        }
    });
}

/// Describes a part for joining: its statements, the counts of its elements, and its maximum indices, counting from 1.
pub(crate) fn describe(scene: &Scene, lines: u64, json: &mut Json) {
    let Some(mesh) = scene.meshes.first() else { return };
    json.key("statements").list(&statements(scene, 0), |json, placed| placed.describe(json));
    let end = Before::of(mesh, mesh.counts());
    json.key("end").list(end.to_array(), |json, count| json.integer(count as u64));
    let [faces, lines_of] = [&mesh.faces, &mesh.lines];
    let positions = [&faces.corner_positions, &lines_of.corner_positions, &mesh.points];
    let uvs = [&faces.corner_uvs, &lines_of.corner_uvs];
    let largest = [
        positions.map(|indices| largest(indices)).into_iter().max(),
        uvs.map(|indices| largest(indices)).into_iter().max(),
        Some(largest(&faces.corner_normals)),
    ];
    json.key("largest").list(largest, |json, index| json.integer(index.unwrap_or(0).into()));
    json.key("lines").integer(lines);
}

/// The maximum index, counting from 1, or 0 without indices.
fn largest(indices: &[u32]) -> u32 {
    // [`NONE`] becomes 0.
    const { assert!(NONE.wrapping_add(1) == 0) };
    indices.iter().map(|index| index.wrapping_add(1)).max().unwrap_or(0)
}

/// Pads the vertex arrays to the sizes in the whole file, and divides the whole file into shapes. Returns the addresses
/// of positions, UVs, normals and colors, where the other parts' vertices belong.
///
/// # Errors
/// [`ErrorKind::Usage`] if `text` is not a valid description; [`ErrorKind::Memory`].
fn join(scene: &mut Scene, text: &str) -> Result<(Vec<Shape>, [usize; 4])> {
    let refused = || Error::new(ErrorKind::Usage, "invalid description of the parts of a file");
    let mut whole = JoinedParts::parse(text).ok_or_else(refused)?;
    let mesh = scene.meshes.first_mut().ok_or_else(refused)?;
    let [positions, uvs, normals] =
        [0, 1, 2].map(|kind| PaddedRange { before: whole.before[kind], total: whole.total[kind] });
    let color_places = if whole.has_colors { positions } else { PaddedRange::default() };
    let addresses = [
        surround(&mut mesh.positions, positions, [0.0; 3])?,
        surround(&mut mesh.uvs, uvs, [0.0; 2])?,
        surround(&mut mesh.normals, normals, [0.0; 3])?,
        surround(&mut mesh.colors, color_places, [f32::NAN; 4])?,
    ];
    sort(&mut whole.statements);
    let shapes = divided(whole.statements, &whole.end);
    Ok((shapes.into_iter().map(|shape| shape.within(&whole.base, mesh)).collect(), addresses))
}

/// The range of a part's values within the values of the whole file.
#[derive(Clone, Copy, Default)]
struct PaddedRange {
    /// The number of values in earlier parts.
    before: usize,
    /// The number of values in all parts.
    total: usize,
}

/// Pads an array with `empty` to the size of the whole file; returns its address.
fn surround<T: Copy>(values: &mut Array<T>, range: PaddedRange, empty: T) -> Result<usize> {
    let PaddedRange { before, total } = range;
    let mut padded = Vec::new();
    padded.try_reserve_exact(total)?;
    padded.resize(total, empty);
    let before = before.saturating_sub(planted("part-base").into());
    if let Some(slots) = padded.get_mut(before..before + values.len()) {
        slots.copy_from_slice(values);
    }
    *values = padded.into();
    Ok(values.as_ptr() as usize)
}

/// Describes the shapes, once the vertices of the other parts are present.
fn joined(shapes: &mut [Shape], mesh: &Mesh) -> String {
    shapes.iter_mut().for_each(|shape| shape.describe(0, mesh));
    answer::joined(shapes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{Drawing, shapes_of};
    use polyhaul::{Input, ReadOptions, Reader};

    fn read(text: &str, is_part: bool) -> Result<Scene> {
        let options = ReadOptions::default().with_obj_part(is_part);
        Ok(Reader::new(Input::Memory(text.into(), "a.obj".into())).options(&options).scene()?.value)
    }

    /// The positions, normals and UVs of a shape's corners in this part.
    fn drawn(scene: &Scene, shape: &Shape) -> [Vec<f32>; 3] {
        let mut drawing = Drawing::default();
        let mut drawn_values = <[Vec<f32>; 3]>::default();
        drawing.start(scene, shape);
        while drawing.next(scene) > 0 {
            let values = drawing.values(shape);
            drawn_values.iter_mut().zip(values).for_each(|(drawn, values)| drawn.extend(values));
        }
        drawn_values
    }

    /// Reads parts and joins them like JavaScript; returns each shape with its corners.
    fn joined(texts: &[&str]) -> Vec<(Shape, [Vec<f32>; 3])> {
        let scenes: Vec<Scene> = texts.iter().map(|text| read(text, true).unwrap()).collect();
        let meshes: Vec<&Mesh> = scenes.iter().map(|scene| &scene.meshes[0]).collect();
        let ends: Vec<[usize; 5]> = meshes.iter().map(|mesh| Before::of(mesh, mesh.counts()).to_array()).collect();
        let vertices: Vec<[usize; 3]> =
            meshes.iter().map(|mesh| [mesh.positions.len(), mesh.uvs.len(), mesh.normals.len()]).collect();
        let sums: Vec<u64> = meshes.iter().map(|mesh| mesh.counts().to_array().map(u64::from).iter().sum()).collect();
        let mut names: Vec<&str> = Vec::new();
        for material in scenes.iter().flat_map(|scene| &scene.materials) {
            if !names.contains(&&*material.name) {
                names.push(&material.name);
            }
        }
        let number = |name: &str| names.iter().position(|other| *other == name).unwrap();
        let mut text = format!("end {}\ntotal {}\n", line(&ends, ends.len()), line(&vertices, vertices.len()));
        text += &format!("colors {}\n", u8::from(meshes.iter().any(|mesh| !mesh.colors.is_empty())));
        for (at, scene) in scenes.iter().enumerate() {
            for Placed { place, before, mut statement } in statements(scene, 0) {
                if let crate::statements::Statement::Material(Some(material)) = &mut statement {
                    *material = number(&scene.materials[*material as usize].name) as u32;
                }
                let place = place + sums[..at].iter().sum::<u64>();
                let before = Before::from_array(sum(&ends, at, before.to_array()));
                text += &format!("statement {}\n", Placed { place, before, statement }.to_text());
            }
        }
        let mut joined_shapes: Vec<(Shape, [Vec<f32>; 3])> = Vec::new();
        for (at, scene) in scenes.iter().enumerate() {
            let request = format!("{text}base {}\nbefore {}\n", line(&ends, at), line(&vertices, at));
            let mut scene = scene.clone();
            let (mut shapes, _) = join(&mut scene, &request).unwrap();
            for (other, mesh) in meshes.iter().enumerate().filter(|(other, _)| *other != at) {
                let [p, u, n] = sum(&vertices, other, [0; 3]);
                let target = &mut scene.meshes[0];
                target.positions.to_mut().unwrap()[p..][..mesh.positions.len()].copy_from_slice(&mesh.positions);
                target.uvs.to_mut().unwrap()[u..][..mesh.uvs.len()].copy_from_slice(&mesh.uvs);
                target.normals.to_mut().unwrap()[n..][..mesh.normals.len()].copy_from_slice(&mesh.normals);
            }
            super::joined(&mut shapes, &scene.meshes[0]);
            for (number, shape) in shapes.into_iter().enumerate() {
                let corners = drawn(&scene, &shape);
                match joined_shapes.get_mut(number) {
                    Some((_, values)) => {
                        values.iter_mut().zip(corners).for_each(|(values, corners)| values.extend(corners))
                    }
                    None => joined_shapes.push((shape, corners)),
                }
            }
        }
        joined_shapes
    }

    fn sum<const N: usize>(counts: &[[usize; N]], end: usize, start: [usize; N]) -> [usize; N] {
        counts[..end].iter().fold(start, |sum, counts| std::array::from_fn(|at| sum[at] + counts[at]))
    }

    fn line<const N: usize>(counts: &[[usize; N]], end: usize) -> String {
        sum(counts, end, [0; N]).map(|count| count.to_string()).join(" ")
    }

    const CORNERS: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvt 0 0.5\nvt 1 0\nvn 0 0 1\nvn 0 1 0\n";

    #[test]
    fn parts_give_the_shapes_of_the_whole_wherever_they_are_cut() {
        let shapes = "usemtl red\nf 1/1/1 2/2/2 3/1/1\no a\ns off\nf 3/1/1 4/2/1 1/1/1 2/2/2\nf 1/1 2/1 3/2\nusemtl blue\n\
                      s 1\nf 1/2/1 5/1/2 2/1/1\nl 1 2 3\nusemtl red\nf 2/1/1 3/1/1 4/1/1\ng b\nf 1/1/1 2/1/1 5/1/1\n\
                      s off\ng c\nl 2 3\nl 4 5 1\np 3\nusemtl green\no d\nf 4/1/1 5/1/1 1/1/1\nv 7 7 7\no e\n";
        for text in [format!("{CORNERS}{shapes}"), format!("{shapes}{CORNERS}")] {
            let whole = read(&text, false).unwrap();
            let expected: Vec<_> = shapes_of(&whole).into_iter().map(|shape| (drawn(&whole, &shape), shape)).collect();
            let cuts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
            for (number, &cut) in cuts.iter().enumerate() {
                let later = cuts[(number + cuts.len()) / 2];
                let joined_shapes = joined(&[&text[..cut], &text[cut..later], &text[later..]]);
                assert_eq!(joined_shapes.len(), expected.len());
                for ((shape, corners), (expected_corners, expected)) in joined_shapes.iter().zip(&expected) {
                    assert_eq!(
                        (&shape.name, shape.kind, shape.corners),
                        (&expected.name, expected.kind, expected.corners)
                    );
                    let name = &expected.name;
                    assert_eq!((&shape.uses, corners), (&expected.uses, expected_corners), "{name} at {cut}");
                }
            }
        }
    }

    #[test]
    fn what_needs_earlier_parts_is_refused() {
        for text in ["f -1 -2 -3\n", "v 0 0 0\nf 1 2 -1\n", "#MRGB ffffffff\n", "cstype bezier\n"] {
            assert_eq!(read(text, true).unwrap_err().kind(), ErrorKind::Unsupported, "{text}");
        }
        assert!(read("f 7 8 9\n", true).is_ok() && read("f 7 8 9\n", false).is_err());
    }

    #[test]
    fn the_largest_indices_are_counted_from_one() {
        assert_eq!([largest(&[]), largest(&[NONE]), largest(&[3, NONE, 5])], [0, 0, 6]);
    }
}
