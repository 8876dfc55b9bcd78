//! Generates data for measuring this library: a mesh, a table and images of about the requested size.
//!
//! Deterministic for each size. Numbers have as many digits as in real files, and neighbors are similar but not equal.
//! Nothing here measures.

use polyhaul_model::{Channels, ColorSpace, Column, Elements, Image, Mesh, Object, Samples, Scene, Table, Values};

/// Size of a quad with its positions, uvs and normals in OBJ, with default digits.
const QUAD_BYTES: usize = 136;
/// Size of a row as text.
const ROW_BYTES: usize = 48;
/// Size of an RGBA pixel.
const PIXEL_BYTES: usize = 4;
/// Minimum side length, so that no data is empty.
const MIN_SIDE: usize = 4;

/// Pseudorandom number from 0 to 1 (SplitMix64).
fn random(index: usize, stream: usize) -> f64 {
    let mut x = (index as u64 * 8 + stream as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x >> 40) as f64 / (1u64 << 24) as f64
}

/// A rough square of quads, with separate indices for positions, uvs and normals, as in OBJ files.
pub(super) fn scene(bytes: usize) -> Scene {
    let side = (bytes / QUAD_BYTES).isqrt().max(MIN_SIDE);
    let points = || (0..=side).flat_map(move |y| (0..=side).map(move |x| (y * (side + 1) + x, x, y)));
    let along = |place: usize| place as f64 / side as f64;
    let position = |(index, x, y): (usize, usize, usize)| {
        [10.0 * along(x) - 5.0, 0.25 * random(index, 0), 10.0 * along(y) - 5.0].map(|value| value as f32)
    };
    let normal = |(index, ..): (usize, usize, usize)| {
        let [x, z] = [1, 2].map(|stream| random(index, stream) - 0.5);
        let length = (x * x + z * z + 1.0).sqrt();
        [x / length, 1.0 / length, z / length].map(|value| value as f32)
    };
    let mesh = Mesh {
        positions: points().map(position).collect::<Vec<_>>().into(),
        uvs: points().map(|(_, x, y)| [along(x) as f32, along(y) as f32]).collect::<Vec<_>>().into(),
        normals: points().map(normal).collect::<Vec<_>>().into(),
        faces: quads(side),
        ..Mesh::default()
    };
    let object = Object { name: "field".into(), end: mesh.counts(), ..Object::default() };
    Scene { objects: vec![object], meshes: vec![mesh], ..Scene::default() }
}

fn quads(side: usize) -> Elements {
    let corner = |x: usize, y: usize| (y * (side + 1) + x) as u32;
    let quad = |x, y| [corner(x, y), corner(x, y + 1), corner(x + 1, y + 1), corner(x + 1, y)];
    let corners: Vec<u32> = (0..side).flat_map(|y| (0..side).flat_map(move |x| quad(x, y))).collect();
    Elements {
        offsets: (0..=side * side).map(|index| index as u32 * 4).collect::<Vec<_>>().into(),
        corner_uvs: corners.clone().into(),
        corner_normals: corners.clone().into(),
        corner_positions: corners.into(),
    }
}

/// Rows with an identifier, a position and a measured value.
pub(super) fn table(bytes: usize) -> Table {
    let row_count = (bytes / ROW_BYTES).max(MIN_SIDE);
    let column = |name: &str, values| Column { name: name.into(), values, offsets: None };
    let floats = |stream| (0..row_count).map(|row| (200.0 * random(row, stream) - 100.0) as f32).collect::<Vec<_>>();
    let mut columns = vec![column("id", Values::I64((0..row_count as i64).collect::<Vec<_>>().into()))];
    columns
        .extend([("x", 1), ("y", 2), ("z", 3)].map(|(name, stream)| column(name, Values::F32(floats(stream).into()))));
    let level: Vec<_> = (0..row_count).map(|row| (1e4 * random(row, 4)).round() / 100.0).collect();
    columns.push(column("level", Values::F64(level.into())));
    Table { name: "reading".into(), row_count, columns }
}

/// An image with soft colors and some noise.
pub(super) fn picture(bytes: usize) -> Image {
    let side = side(bytes);
    let pixel = |index: usize| {
        let noise = (6.0 * random(index, 5)) as usize;
        let x = index % side * 240 / side;
        let y = index / side * 240 / side;
        [x + noise, y + noise, (x + y) / 2 + noise, 255].map(|sample| sample as u8)
    };
    let samples: Vec<u8> = (0..side * side).flat_map(pixel).collect();
    image(side, Channels::Rgba, Samples::U8(samples.into()), ColorSpace::Srgb)
}

/// A similar image in linear floats.
pub(super) fn light(bytes: usize) -> Image {
    let side = side(bytes);
    let pixel = |index: usize| {
        let x = (index % side) as f64 / side as f64;
        let y = (index / side) as f64 / side as f64;
        [4.0 * x, 2.0 * y, x + y].map(|sample| (sample * (1.0 + 0.1 * random(index, 6))) as f32)
    };
    let samples: Vec<f32> = (0..side * side).flat_map(pixel).collect();
    image(side, Channels::Rgb, Samples::F32(samples.into()), ColorSpace::Linear)
}

fn side(bytes: usize) -> usize {
    (bytes / PIXEL_BYTES).isqrt().max(MIN_SIDE)
}

fn image(side: usize, channels: Channels, samples: Samples, color_space: ColorSpace) -> Image {
    Image { width: side, height: side, channels, samples, color_space, ..Image::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_gives_the_same_data() {
        assert_eq!((scene(9_999), table(9_999)), (scene(9_999), table(9_999)));
        assert_eq!((picture(9_999), light(9_999)), (picture(9_999), light(9_999)));
        assert_eq!((scene(0).totals()[0], table(0).row_count, picture(0).width), (25, MIN_SIDE, MIN_SIDE));
    }

    #[test]
    fn what_is_made_keeps_the_rules() {
        let scene = scene(50_000);
        let mesh = &scene.meshes[0];
        let faces = &mesh.faces;
        assert!(faces.corner_positions.iter().all(|&index| (index as usize) < mesh.positions.len()));
        assert_eq!([mesh.uvs.len(), mesh.normals.len()], [mesh.positions.len(); 2]);
        assert!(mesh.normals.iter().all(|n| (n.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5));
        for image in [picture(5_000), light(5_000)] {
            assert_eq!(Some(image.samples.len()), image.sample_count());
        }
    }
}
