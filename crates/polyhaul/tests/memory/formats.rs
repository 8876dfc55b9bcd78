//! Memory beyond the model stays within the limit while PLY, STL and OFF are written, and STL and OFF are read.

use polyhaul::model::{Column, Domain, Elements, Mesh, Scene, Values};
use polyhaul::options::{Digits, RunOptions, SceneWriteOptions};
use polyhaul::{Format, Output, ReadOptions, WriteOptions};
use polyhaul_testkit::alloc;
use polyhaul_testkit::options::PlyEncoding;

const MIB: u64 = 1 << 20;
/// Allowed memory beyond the limit.
const EXTRA_BYTES: u64 = 8 * MIB;

/// A strip of triangles with an attribute of each kind.
fn strip(count: u32) -> Scene {
    let value = |i: u32| i as f32 / 7.0;
    let mesh = Mesh {
        positions: (0..count).map(|i| [value(i), 1.0, -value(i)]).collect(),
        normals: (0..count).map(|i| [0.0, value(i), 1.0]).collect(),
        normal_domain: Domain::Vertex,
        faces: Elements {
            offsets: (0..=count).map(|i| 3 * i).collect(),
            corner_positions: (0..count).flat_map(|i| [0, 1, 2].map(|k| (i + k) % count)).collect(),
            ..Elements::default()
        },
        vertex_columns: vec![Column {
            name: "chain".into(),
            values: Values::U8((0..2 * count).map(|i| i as u8).collect()),
            offsets: Some((0..=count).map(|i| 2 * i).collect()),
        }],
        ..Mesh::default()
    };
    Scene { meshes: vec![mesh], ..Scene::default() }
}

#[test]
fn the_limit_holds_whatever_the_size() {
    let _alone = crate::alone();
    let scene = strip(600_000);
    for encoding in [PlyEncoding::Ascii, PlyEncoding::LittleEndian] {
        for format in [Format::Ply, Format::Stl, Format::Off] {
            for (threads, memory_limit) in [(1, MIB), (2, 8 * MIB), (7, 8 * MIB), (64, 64 * MIB)] {
                let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
                let digits = Digits::Fixed(6);
                let mut options = encoding.options().with_format(Some(format)).with_run(run);
                options.scene.digits = Some(digits);
                let output = Output::Writer(Box::new(std::io::sink()), "nowhere".into());
                let (result, used) = alloc::measure(|| polyhaul::Writer::new(output).options(&options).scene(&scene));
                assert!(result.unwrap().bytes_out > 20_000_000);
                let what = format!(
                    "{encoding:?} {format:?} {threads}: {} of {} KiB",
                    used.peak_bytes >> 10,
                    memory_limit >> 10
                );
                assert!(used.peak_bytes <= memory_limit + EXTRA_BYTES, "{what}");
            }
        }
    }
    let folder = polyhaul_testkit::corpus::Folder::new("memory").unwrap();
    for (ascii, name) in [(false, "a.stl"), (true, "a.stl"), (true, "a.off")] {
        let path = folder.join(name);
        let options = WriteOptions::default().with_scene(SceneWriteOptions::default().with_ascii(ascii));
        polyhaul::Writer::new(&path).options(&options).scene(&scene).unwrap();
        for (threads, memory_limit) in [(1, MIB), (7, 8 * MIB)] {
            let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
            let options = ReadOptions::default().with_run(run);
            let (loaded, used) = alloc::measure(|| polyhaul::Reader::new(&path).options(&options).scene());
            let model: u64 = loaded.unwrap().value.meshes.iter().map(Mesh::heap_bytes).sum();
            // Arrays of unknown size double as they grow.
            let max_bytes = if ascii { 2 * model } else { model };
            assert!(
                used.peak_bytes <= max_bytes + memory_limit + EXTRA_BYTES,
                "{name} {ascii} {threads}: {used:?} {model}"
            );
        }
    }
}
