//! Shortest numbers are read back with the same bits.

use super::support::*;
use polyhaul::model::{Mesh, Scene};

fn values() -> Vec<f32> {
    let mut values = vec![
        0.0,
        1.0,
        0.1,
        0.5,
        1.5,
        2.5,
        0.25,
        0.125,
        0.0625,
        0.03125,
        1e-6,
        5e-7,
        4.9999997e-7,
        1e-7,
        999_999.94,
        1e6,
        9_999_999.0,
        16_777_216.0,
        1e9,
        4_294_967_296.0,
        1.844_674_4e19,
        1e30,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        1.1754942e-38,
        0.999_999_94,
        0.999_999_5,
        123_456.79,
        f32::EPSILON,
        f32::INFINITY,
        f32::NAN,
    ];
    let mut random = Random::new(11);
    values.extend((0..3000).map(|_| f32::from_bits(random.bits() as u32)));
    values.extend((0..3000).map(|_| random.below(1 << 20) as f32 / (1 << random.below(20)) as f32));
    let negative: Vec<f32> = values.iter().map(|value| -value).collect();
    values.extend(negative);
    values
}

/// A scene whose numbers are all taken from the values.
fn scene(colored: bool) -> Scene {
    let values = values();
    let rows: Vec<[f32; 3]> = values.chunks_exact(3).map(|row| [row[0], row[1], row[2]]).collect();
    let mut mesh = Mesh {
        normals: rows.clone().into(),
        uvs: rows.iter().map(|row| [row[0], row[1]]).collect(),
        ..Mesh::default()
    };
    if colored {
        mesh.colors = rows.iter().map(|row| [row[0], row[1], 0.5, row[2]]).collect();
        mesh.uv_depths = rows.iter().map(|row| row[2]).collect();
    }
    mesh.positions = rows.into();
    Scene { meshes: vec![mesh], ..Scene::default() }
}

#[test]
fn shortest_digits_are_the_same_bits() {
    let same =
        |actual: f32, expected: f32| actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
    for colored in [false, true] {
        let scene = scene(colored);
        let again = read(bytes(&scene, &shortest()));
        let mesh_read = &again.meshes[0];
        let mut expected = scene.meshes[0].clone();
        // The file stores no alpha.
        expected.colors = expected.colors.iter().map(|&[red, green, blue, _]| [red, green, blue, 1.0]).collect();
        let pairs = [
            (mesh_read.positions.as_flattened(), expected.positions.as_flattened()),
            (mesh_read.normals.as_flattened(), expected.normals.as_flattened()),
            (mesh_read.uvs.as_flattened(), expected.uvs.as_flattened()),
            (mesh_read.colors.as_flattened(), expected.colors.as_flattened()),
        ];
        for (actual, expected) in pairs {
            assert_eq!(actual.len(), expected.len());
            let wrong = actual.iter().zip(expected).find(|(actual, expected)| !same(**actual, **expected));
            assert!(wrong.is_none(), "{wrong:?}");
        }
        // A depth of -0 is not written, and read as 0.
        let depths = mesh_read.uv_depths.iter().zip(&expected.uv_depths);
        assert!(depths.clone().all(|(actual, expected)| same(*actual, *expected) || *expected == 0.0));
    }
}

#[test]
fn weights_keep_their_bits() {
    let position_weights: Vec<f32> = values();
    let mesh = Mesh {
        positions: vec![[0.5; 3]; position_weights.len()].into(),
        position_weights: position_weights.into(),
        ..Mesh::default()
    };
    let scene = Scene { meshes: vec![mesh], ..Scene::default() };
    let again = read(bytes(&scene, &shortest()));
    let pairs = again.meshes[0].position_weights.iter().zip(&scene.meshes[0].position_weights);
    assert!(pairs.clone().count() > 1000);
    assert!(
        pairs
            .clone()
            .all(|(pairs, expected)| pairs.to_bits() == expected.to_bits() || pairs.is_nan() && expected.is_nan())
    );
}
