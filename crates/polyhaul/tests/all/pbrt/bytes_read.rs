//! Reading a scene reads each byte of its files once, for all kinds of files, threads and chunks. Compressed files need
//! a few additional reads for the sizes of their members.

use crate::pbrt::support::options;
use polyhaul::Reader;
use polyhaul::options::Codec;
use polyhaul::trace::{Detail, Trace};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::packed::pack;
use std::path::Path;

/// Threads and chunk sizes.
const RUNS: [(usize, Option<usize>); 3] = [(1, None), (7, None), (3, Some(70_000))];

#[derive(Clone, Copy)]
enum Encoding {
    Ascii,
    Little,
    Big,
}

/// A mesh with `count` vertices and as many faces, in which faces from `odd_from` on have an additional corner,
/// followed by another element.
fn ply(encoding: Encoding, count: u32, odd_from: u32) -> Vec<u8> {
    let name = match encoding {
        Encoding::Ascii => "ascii",
        Encoding::Little => "binary_little_endian",
        Encoding::Big => "binary_big_endian",
    };
    let mut out = format!(
        "ply\nformat {name} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\nproperty float z\n\
         element face {count}\nproperty list uchar int vertex_indices\n\
         element edge {count}\nproperty int vertex1\nproperty int vertex2\nend_header\n"
    )
    .into_bytes();
    let number = |out: &mut Vec<u8>, number: u32| match encoding {
        Encoding::Ascii => out.extend(format!("{number} ").bytes()),
        Encoding::Little => out.extend(number.to_le_bytes()),
        Encoding::Big => out.extend(number.to_be_bytes()),
    };
    let end = |out: &mut Vec<u8>| {
        if matches!(encoding, Encoding::Ascii) {
            out.push(b'\n');
        }
    };
    for vertex in 0..count {
        for axis in 0..3 {
            let value = (vertex.wrapping_mul(2_654_435_761 + axis) >> 12) as f32;
            number(&mut out, if matches!(encoding, Encoding::Ascii) { value as u32 } else { value.to_bits() });
        }
        end(&mut out);
    }
    for face in 0..count {
        let corners = if face < odd_from { 3 } else { 4 };
        match encoding {
            Encoding::Ascii => out.extend(format!("{corners} ").bytes()),
            _ => out.push(corners as u8),
        }
        (0..corners).for_each(|corner| number(&mut out, (face + corner) % count));
        end(&mut out);
    }
    for edge in 0..count {
        [edge, (edge + 1) % count].into_iter().for_each(|vertex| number(&mut out, vertex));
        end(&mut out);
    }
    out
}

/// A directive of about `bytes` bytes.
fn large_shape(bytes: usize) -> String {
    let points = "0.25 1 -0.5\n".repeat(bytes / 12);
    format!("Shape \"trianglemesh\" \"point3 P\" [\n{points}] \"integer indices\" [ 0 1 2 ]\n")
}

fn small_shapes(count: usize) -> String {
    (0..count).map(|i| format!("Shape \"sphere\" \"float radius\" {i}\n")).collect()
}

/// Reads the scene in every way: all bytes of its files, and at most `looks` more from each.
fn check(what: &str, scene: &Path, bytes: u64, looks: u64) {
    for (threads, chunk_bytes) in RUNS {
        let mut options = options(threads, chunk_bytes);
        let trace = Trace::new(Detail::Totals);
        options.run.trace = Some(trace.clone());
        let loaded = Reader::new(scene).options(&options).scene().unwrap();
        let files = trace.recording().files;
        let read: u64 = files.iter().filter(|file| file.is_file).map(|file| file.calls.bytes).sum();
        assert_eq!(loaded.report.bytes_in, bytes, "{what}");
        assert!(
            (bytes..=bytes + looks).contains(&read),
            "{what}: {threads} threads, chunks of {chunk_bytes:?}: {read} bytes were read of {bytes}"
        );
    }
}

fn naming(meshes: &[&str]) -> String {
    let shapes: String =
        meshes.iter().map(|name| format!("Shape \"plymesh\" \"string filename\" \"{name}\"\n")).collect();
    format!("WorldBegin\n{shapes}")
}

#[test]
fn each_byte_of_a_mesh_is_read_once() {
    let folder = Folder::new("bytes").unwrap();
    for (encoding, kind) in [(Encoding::Ascii, "ascii"), (Encoding::Little, "little"), (Encoding::Big, "big")] {
        for count in [3, 30_000] {
            for odd_from in [count, count / 2, 1] {
                let mesh = ply(encoding, count, odd_from);
                let text = naming(&["a.ply"]);
                folder.file("a.ply", &mesh).unwrap();
                let scene = folder.file("a.pbrt", &text).unwrap();
                let what = format!("{kind}, {count} vertices, other faces from {odd_from} on");
                check(&what, &scene, (text.len() + mesh.len()) as u64, 0);
            }
        }
    }
}

#[test]
fn each_byte_of_a_long_header_is_read_once() {
    let folder = Folder::new("bytes").unwrap();
    for encoding in [Encoding::Ascii, Encoding::Little] {
        let mesh = ply(encoding, 5_000, 2_500);
        let at = mesh.windows(7).position(|word| word == b"element").unwrap();
        let comments = "comment of one line among many\n".repeat(10_000);
        let mesh = [&mesh[..at], comments.as_bytes(), &mesh[at..]].concat();
        folder.file("a.ply", &mesh).unwrap();
        let text = naming(&["a.ply"]);
        let scene = folder.file("a.pbrt", &text).unwrap();
        check("a long header", &scene, (text.len() + mesh.len()) as u64, 0);
    }
}

#[test]
fn each_byte_of_a_compressed_mesh_is_read_once() {
    let folder = Folder::new("bytes").unwrap();
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Big] {
        for (codec, ending) in [(Codec::Gzip, "gz"), (Codec::Zstd, "zst"), (Codec::Lz4, "lz4")] {
            for (count, member) in [(2_000, 1 << 20), (30_000, 300_000)] {
                let mesh = pack(codec, &ply(encoding, count, count / 2), member);
                let name = format!("a.ply.{ending}");
                let text = naming(&[&name]);
                folder.file(&name, &mesh).unwrap();
                let scene = folder.file("a.pbrt", &text).unwrap();
                // At most 64 bytes for each member or block of a member.
                let looks = 64 * (2 + 20);
                check(&name, &scene, (text.len() + mesh.len()) as u64, looks);
            }
        }
    }
}

#[test]
fn a_mesh_that_many_shapes_name_is_read_once() {
    let folder = Folder::new("bytes").unwrap();
    let mesh = ply(Encoding::Little, 1_000, 1_000);
    folder.file("a.ply", &mesh).unwrap();
    folder.file("more/b.ply", &mesh).unwrap();
    let more = "Shape \"plymesh\" \"string filename\" \"b.ply\"\nShape \"plymesh\" \"string filename\" \"../a.ply\"\n";
    folder.file("more/more.pbrt", more).unwrap();
    let names = ["a.ply", "a.ply", "./a.ply", "more/../a.ply", "more/b.ply", "more/./b.ply"];
    let text = format!("{}Include \"more/more.pbrt\"\n", naming(&names[..3]));
    let scene = folder.file("a.pbrt", &text).unwrap();
    let mut options = options(2, None);
    options.allow_outside = true;
    let loaded = Reader::new(scene).options(&options).scene().unwrap();
    assert_eq!(loaded.report.bytes_in, (text.len() + more.len() + 2 * mesh.len()) as u64);
    assert_eq!(loaded.value.meshes.len(), 2);
    let render = loaded.value.render.unwrap();
    let meshes: Vec<_> = render.shapes().map(|shape| shape.mesh()).collect();
    assert_eq!(meshes, [Some(0), Some(0), Some(0), Some(1), Some(0)]);
}

#[test]
fn each_byte_of_text_is_read_once() {
    let folder = Folder::new("bytes").unwrap();
    let texts = [
        ("small directives", format!("WorldBegin\n{}", small_shapes(20_000))),
        ("a large directive", format!("WorldBegin\n{}", large_shape(2 << 20))),
        (
            "large directives among small ones",
            format!(
                "WorldBegin\n{}{}{}{}{}",
                small_shapes(9_000),
                large_shape(1 << 20),
                small_shapes(5),
                large_shape(600_000),
                small_shapes(9_000)
            ),
        ),
    ];
    for (what, text) in &texts {
        let scene = folder.file("a.pbrt", text).unwrap();
        check(what, &scene, text.len() as u64, 0);
        let main = format!("WorldBegin\nInclude \"b.pbrt\"\nImport \"c.pbrt\"\n{}", small_shapes(10));
        let included = text.trim_start_matches("WorldBegin\n");
        folder.file("b.pbrt", included).unwrap();
        folder.file("c.pbrt", included).unwrap();
        let scene = folder.file("a.pbrt", &main).unwrap();
        check(what, &scene, (main.len() + 2 * included.len()) as u64, 0);
        for (codec, ending) in [(Codec::Gzip, "gz"), (Codec::Zstd, "zst"), (Codec::Lz4, "lz4")] {
            let packed = pack(codec, text.as_bytes(), 1 << 20);
            let scene = folder.file(&format!("d.pbrt.{ending}"), &packed).unwrap();
            check(&format!("{what} in {ending}"), &scene, packed.len() as u64, 64 * 200);
        }
    }
}
