//! The same for any number of threads, any chunks, and any way the bytes come.

use crate::stl::*;
use polyhaul::model::{Counts, Object, Scene};
use polyhaul::options::{Codec, SceneWriteOptions};
use polyhaul::{Format, WriteOptions};
use polyhaul_testkit::output::bytes;
use polyhaul_testkit::random::Random;

/// Several solids of random triangles.
pub fn solids(sizes: &[usize]) -> Scene {
    let mut random = Random::new(3);
    let mut scene = Scene::default();
    for (number, &size) in sizes.iter().enumerate() {
        let mut text = format!("solid s{number}\n").into_bytes();
        for _ in 0..size {
            let mut vector = || format!("{} {} {}", random.unit() - 0.5, random.unit() * 1e-9, random.unit() * 1e9);
            let mut facet = format!("facet normal {}\nouter loop\n", vector());
            (0..3).for_each(|_| facet += &format!("vertex {}\n", vector()));
            text.extend((facet + "endloop\nendfacet\n").into_bytes());
        }
        text.extend(b"endsolid\n");
        let read = load(text).unwrap().value;
        let mesh = scene.meshes.len();
        let solid = read.meshes.into_iter().next().unwrap();
        let end: Counts = solid.counts();
        scene.meshes.push(solid);
        scene.objects.push(Object { name: format!("s{number}"), mesh, end, ..Object::default() });
    }
    scene
}

fn options(ascii: bool, count: usize, chunk_bytes: Option<usize>) -> WriteOptions {
    let stl = WriteOptions::default().with_scene(SceneWriteOptions::default().with_ascii(ascii));
    stl.with_format(Some(Format::Stl)).with_run(threads(count, chunk_bytes))
}

#[test]
fn what_is_written_is_what_is_read() {
    let scene = solids(&[700, 1, 300]);
    for ascii in [false, true] {
        let written = bytes(&scene, &options(ascii, 1, None));
        let expected = load(written.clone()).unwrap();
        if ascii {
            assert!(expected.value.meshes == scene.meshes && expected.value.objects == scene.objects);
        }
        assert!(expected.report.warnings.is_empty());
        for count in [1, 2, 3, 7, 64] {
            for chunk_bytes in [None, Some(1), Some(77), Some(4000)] {
                assert!(
                    bytes(&scene, &options(ascii, count, chunk_bytes)) == written,
                    "{ascii} {count} {chunk_bytes:?}"
                );
                let read = ReadOptions::default().with_run(threads(count, chunk_bytes));
                let actual = load_with(written.clone(), &read).unwrap();
                assert!(actual.value == expected.value, "{ascii} {count} {chunk_bytes:?}");
                let streamed = polyhaul::Reader::new(stream(written.clone())).options(&read).scene().unwrap();
                assert!(streamed.value == expected.value, "{ascii} {count} {chunk_bytes:?}");
            }
        }
        for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
            let packed = bytes(&scene, &options(ascii, 2, None).with_compression(codec.into()));
            let actual = load(packed).unwrap();
            assert!(actual.value == expected.value && actual.report.codec == Some(codec));
        }
    }
}

#[test]
fn welding_is_the_same_everywhere() {
    let cube = file("good/cube_binary.stl");
    let many: Vec<u8> = {
        let facets = cube[84..].repeat(200);
        let mut bytes = cube[..80].to_vec();
        bytes.extend((facets.len() as u32 / 50).to_le_bytes());
        bytes.extend(facets);
        bytes
    };
    let expected = load_with(many.clone(), &welded()).unwrap().value;
    assert_eq!(expected.meshes[0].positions.len(), 8);
    for count in [2, 7] {
        let options = welded().with_run(threads(count, Some(999)));
        assert!(load_with(many.clone(), &options).unwrap().value == expected);
    }
}
