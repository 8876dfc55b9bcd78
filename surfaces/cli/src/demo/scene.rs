//! The demo's mesh scene: one heavy mesh surrounded by several thousand small ones.
//!
//! All are quad tori with positions, UVs and normals. The scene depends only on the size.

use polyhaul::model::{Color, Counts, Elements, Material, Mesh, Object, Run, Scene};
use std::f64::consts::TAU;

/// Bytes per quad in OBJ with the default digits, including its share of positions, UVs and normals.
const QUAD_BYTES: u64 = 170;
/// Bytes per small object.
const SMALL_BYTES: u64 = 8_000;
/// Share of the heavy mesh in percent.
const HEAVY_PERCENT: u64 = 70;
const MATERIALS: u32 = 8;

/// Generates a scene of about this many bytes as OBJ.
pub fn of_size(bytes: u64) -> Scene {
    let heavy_quads = bytes * HEAVY_PERCENT / 100 / QUAD_BYTES;
    let rows = (heavy_quads / 2).isqrt().max(3) as u32;
    let mut scene = Scene { materials: (0..MATERIALS).map(material).collect(), ..Scene::default() };
    add(&mut scene, "heavy".into(), &Torus { rows, columns: rows * 2, center: [0.0; 3], radius: 8.0, ripple: 0.05 });
    for index in 0..bytes * (100 - HEAVY_PERCENT) / 100 / SMALL_BYTES {
        let radius = 0.05 + 0.1 * fraction(index, 4);
        add(
            &mut scene,
            format!("small_{index:05}"),
            &Torus { rows: 6, columns: 9, center: place(index), radius, ripple: 0.0 },
        );
    }
    scene
}

fn material(index: u32) -> Material {
    let part = |n: u32| ((index * n) % MATERIALS) as f32 / MATERIALS as f32;
    Material {
        name: format!("material_{index}"),
        diffuse: Some(Color::Rgb([part(1), part(3), part(5)])),
        roughness: Some(part(7)),
        ..Material::default()
    }
}

fn add(scene: &mut Scene, name: String, torus: &Torus) {
    let mut mesh = torus.mesh();
    let material = scene.meshes.len() as u32 % MATERIALS;
    mesh.material_runs = vec![Run { at: Counts::default(), value: material }];
    let object = Object { name, mesh: scene.meshes.len(), end: mesh.counts(), ..Object::default() };
    scene.objects.push(object);
    scene.meshes.push(mesh);
}

/// A pseudorandom position that depends only on the index.
fn place(index: u64) -> [f64; 3] {
    [1, 2, 3].map(|axis| 20.0 * fraction(index, axis) - 10.0)
}

/// A pseudorandom number in 0..1 for an index and a stream from 0 to 7: the mixing step of the SplitMix64 generator.
pub(super) fn fraction(index: u64, stream: u64) -> f64 {
    let mut x = (index * 8 + stream).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x >> 40) as f64 / (1u64 << 24) as f64
}

/// A torus.
pub(super) struct Torus {
    /// Quads around the tube.
    pub(super) rows: u32,
    /// Quads along the ring.
    pub(super) columns: u32,
    pub(super) center: [f64; 3],
    /// The radius of the ring; the tube's radius is a third of it.
    pub(super) radius: f64,
    /// Relative variation of the tube's radius along the ring.
    pub(super) ripple: f64,
}

impl Torus {
    pub(super) fn mesh(&self) -> Mesh {
        let mut positions = Vec::new();
        let mut normals = Vec::new();
        for column in 0..self.columns {
            let (along_sin, along_cos) = turn(column, self.columns).sin_cos();
            let swing = 1.0 + self.ripple * (24.0 * turn(column, self.columns)).sin();
            for row in 0..self.rows {
                let (sin, cos) = turn(row, self.rows).sin_cos();
                let tube = self.radius / 3.0 * swing;
                let ring = self.radius + tube * cos;
                let [x, y, z] = self.center;
                positions.push([x + ring * along_cos, y + tube * sin, z + ring * along_sin].map(|c| c as f32));
                normals.push([cos * along_cos, sin, cos * along_sin].map(|c| c as f32));
            }
        }
        Mesh {
            positions: positions.into(),
            normals: normals.into(),
            uvs: self.uvs().into(),
            faces: self.faces(),
            ..Mesh::default()
        }
    }

    /// The UV grid has one more row and column than the quads, since both sides of a seam have their own UVs.
    fn uvs(&self) -> Vec<[f32; 2]> {
        let part = |index: u32, count: u32| (f64::from(index) / f64::from(count)) as f32;
        let column = |c| (0..=self.rows).map(move |r| [part(c, self.columns), part(r, self.rows)]);
        (0..=self.columns).flat_map(column).collect()
    }

    fn faces(&self) -> Elements {
        let mut points = Vec::new();
        let mut uvs = Vec::new();
        for (c, r) in (0..self.columns).flat_map(|c| (0..self.rows).map(move |r| (c, r))) {
            for (c, r) in [(c, r), (c, r + 1), (c + 1, r + 1), (c + 1, r)] {
                points.push(c % self.columns * self.rows + r % self.rows);
                uvs.push(c * (self.rows + 1) + r);
            }
        }
        let offsets = (0..=self.columns * self.rows).map(|quad| quad * 4).collect();
        Elements {
            offsets,
            corner_normals: points.clone().into(),
            corner_positions: points.into(),
            corner_uvs: uvs.into(),
        }
    }
}

fn turn(index: u32, count: u32) -> f64 {
    TAU * f64::from(index) / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scene_is_sound_and_always_the_same() {
        let scene = of_size(1_000_000);
        assert_eq!(scene, of_size(1_000_000));
        assert_eq!(scene.objects.len(), 38);
        for (mesh, object) in scene.meshes.iter().zip(&scene.objects) {
            let faces = &mesh.faces;
            assert_eq!(object.end.faces as usize, faces.len());
            assert_eq!(*faces.offsets.last().unwrap() as usize, faces.corner_positions.len());
            assert!(faces.corner_positions.iter().all(|&i| (i as usize) < mesh.positions.len()));
            assert!(faces.corner_uvs.iter().all(|&i| (i as usize) < mesh.uvs.len()));
            assert!(mesh.normals.iter().all(|n| (n.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5));
        }
    }
}
