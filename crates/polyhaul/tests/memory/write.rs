//! Memory beyond the model stays within the limit, and the number of allocations does not depend on the size.

use polyhaul::model::{Counts, Elements, Material, Mesh, Object, Run, Scene};
use polyhaul::options::RunOptions;
use polyhaul::{Output, WriteOptions};
use polyhaul_testkit::alloc::{self, Use};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the bytes written to it.
struct Length(&'static AtomicU64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Memory use of a write, and the number of bytes written.
fn measure(scene: &Scene, threads: usize, memory_limit: u64, options: &WriteOptions) -> (Use, u64) {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
    let options = options.clone().with_run(run);
    WRITTEN.store(0, Relaxed);
    let output = Output::Writer(Box::new(Length(&WRITTEN)), "counter".into());
    let (result, used) = alloc::measure(|| polyhaul::Writer::new(output).options(&options).scene(scene));
    result.unwrap();
    (used, WRITTEN.load(Relaxed))
}

const MIB: u64 = 1 << 20;
/// Allowed memory of a write beyond its limit.
const EXTRA_BYTES: u64 = 16 * MIB;

/// Complaints about writes that exceed their allowance.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    fn check(
        &mut self,
        what: &str,
        scene: &Scene,
        threads: usize,
        memory_limit: u64,
        options: &WriteOptions,
    ) -> (Use, u64) {
        let (used, written_bytes) = measure(scene, threads, memory_limit, options);
        if used.peak_bytes > memory_limit + EXTRA_BYTES {
            let peak = used.peak_bytes / MIB;
            let limit = memory_limit / MIB;
            let written = written_bytes / MIB;
            self.0.push(format!(
                "{what}, {threads} threads: {peak} MiB with a limit of {limit} MiB, {written} MiB written"
            ));
        }
        (used, written_bytes)
    }
}

fn whole(name: &str, mesh: &Mesh) -> Object {
    Object { name: name.into(), end: mesh.counts(), ..Object::default() }
}

/// Rows of quads with all attributes: about 140 bytes of text each.
fn quads(count: u32) -> Scene {
    let mut mesh = Mesh::default();
    for i in 0..count {
        let x = i as f32 / 7.0;
        mesh.positions.to_mut().unwrap().push([x, 1.0 - x, 0.5]);
        mesh.uvs.to_mut().unwrap().push([x, 0.25]);
        mesh.normals.to_mut().unwrap().push([0.6, -0.8, 0.0]);
    }
    let corners: Vec<u32> = (0..count).flat_map(|i| [0, 1, 2, 3].map(|k| (i + k) % count)).collect();
    let offsets = (0..=count).map(|i| 4 * i).collect();
    mesh.faces = Elements {
        offsets,
        corner_positions: corners.clone().into(),
        corner_uvs: corners.clone().into(),
        corner_normals: corners.into(),
    };
    Scene { objects: vec![whole("grid", &mesh)], meshes: vec![mesh], ..Scene::default() }
}

/// Triangles first, then large polygons: the average represents neither.
fn uneven(triangles: u32, polygons: u32, corners: u32) -> Scene {
    let mut mesh = Mesh { positions: vec![[0.5; 3]; 100_000].into(), ..Mesh::default() };
    let sizes = (0..triangles).map(|_| 3).chain((0..polygons).map(|_| corners));
    let mut end = 0;
    mesh.faces.offsets.to_mut().unwrap().push(0);
    mesh.faces.offsets.to_mut().unwrap().extend(sizes.map(|size| {
        end += size;
        end
    }));
    mesh.faces.corner_positions = (0..end).map(|i| i % 100_000).collect();
    Scene { objects: vec![whole("uneven", &mesh)], meshes: vec![mesh], ..Scene::default() }
}

/// Two materials, alternating by face, with long names.
fn long_names(faces: u32, name_bytes: usize) -> Scene {
    let mut mesh = Mesh { positions: vec![[0.5; 3]; 3].into(), ..Mesh::default() };
    mesh.faces.offsets = (0..=faces).map(|i| 3 * i).collect();
    mesh.faces.corner_positions = (0..3 * faces).map(|i| i % 3).collect();
    mesh.material_runs =
        (0..faces).map(|i| Run { at: Counts { faces: i, ..Counts::default() }, value: i % 2 }).collect();
    let materials = ["a", "b"].map(|name| Material { name: name.repeat(name_bytes), ..Material::default() }).to_vec();
    Scene { objects: vec![whole("o", &mesh)], meshes: vec![mesh], materials, ..Scene::default() }
}

/// Triangles that are an object each.
fn many_objects(count: u32) -> Scene {
    let at = |i: u32| Counts { positions: 3 * i, faces: i, ..Counts::default() };
    let mesh = Mesh {
        positions: vec![[0.5; 3]; 3 * count as usize].into(),
        faces: Elements {
            offsets: (0..=count).map(|i| 3 * i).collect(),
            corner_positions: (0..3 * count).collect(),
            ..Elements::default()
        },
        ..Mesh::default()
    };
    let object = |i| Object { name: format!("o{i}"), start: at(i), end: at(i + 1), ..Object::default() };
    Scene { objects: (0..count).map(object).collect(), meshes: vec![mesh], ..Scene::default() }
}

/// Runs a test alone.
fn alone(test: impl FnOnce(&mut Complaints)) {
    let _turn = crate::alone();
    let mut complaints = Complaints::default();
    test(&mut complaints);
    assert!(complaints.0.is_empty(), "{:#?}", complaints.0);
}

#[test]
fn even_scenes_stay_within_the_limit() {
    alone(|complaints| {
        let small = quads(210_000);
        let large = quads(420_000);
        for threads in [1, 2, 7] {
            for memory_limit in [64 * MIB, 8 * MIB, MIB, 1] {
                let (small_run, small_bytes) =
                    complaints.check("quads", &small, threads, memory_limit, &WriteOptions::default());
                let (large_run, large_bytes) =
                    complaints.check("quads", &large, threads, memory_limit, &WriteOptions::default());
                assert!(small_bytes > 25_000_000 && large_bytes > 50_000_000, "{small_bytes} {large_bytes}");
                if large_run.count.abs_diff(small_run.count) > 20 {
                    complaints.0.push(format!("{threads} threads, {memory_limit} bytes: {small_run:?}, {large_run:?}"));
                }
            }
        }
    });
}

#[test]
fn uneven_polygons_stay_within_the_limit() {
    alone(|complaints| {
        let polygons = uneven(100_000, 5_000, 1_000);
        for (threads, memory_limit) in [(1, 8), (7, 8), (64, 64)] {
            complaints.check(
                "polygons after triangles",
                &polygons,
                threads,
                memory_limit * MIB,
                &WriteOptions::default(),
            );
        }
    });
}

#[test]
fn long_names_stay_within_the_limit() {
    alone(|complaints| {
        complaints.check("names of 60 KB", &long_names(1000, 60_000), 2, 8 * MIB, &WriteOptions::default());
        complaints.check("names of 2 KB", &long_names(20_000, 2_000), 7, 8 * MIB, &WriteOptions::default());
    });
}

#[test]
fn many_objects_stay_within_the_limit() {
    alone(|complaints| {
        complaints.check("objects", &many_objects(200_000), 2, 8 * MIB, &WriteOptions::default());
    });
}
