//! Meshes and tables whose headers claim more rows, lists and columns than they store, and rows that take no bytes.

use super::WorstInput;
use crate::packed::pack;
use crate::random::Random;
use crate::zip::{self, Method};
use polyhaul::options::Codec;
use std::fmt::Write;

/// Encodes a binary PLY file with this data.
fn ply(elements: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("ply\nformat binary_little_endian 1.0\n{elements}end_header\n");
    [header.as_bytes(), data].concat()
}

const POSITION: &str = "property float x\nproperty float y\nproperty float z\n";

/// Encodes a binary STL file that claims `claimed` triangles, with zeros as data.
fn stl(claimed: u32, bytes: usize) -> Vec<u8> {
    [&[0; 80][..], &claimed.to_le_bytes(), &vec![0; bytes]].concat()
}

pub(super) fn meshes() -> Vec<WorstInput> {
    let properties: String = (0..40_000).map(|number| format!("property uchar p{number}\n")).collect();
    let elements: String = (0..20_000).map(|number| format!("element e{number} 1\nproperty uchar a\n")).collect();
    let empty_lists = format!("element vertex 1\n{POSITION}element face 1000000\nproperty list uchar int v\n");
    let solids = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n";
    let mut random = Random::new(17);
    let mut polygon = String::from("OFF\n50000 1 0\n");
    (0..50_000).for_each(|_| _ = writeln!(polygon, "{} {} 0", random.below(1000), random.below(1000)));
    polygon += "50000";
    (0..50_000).for_each(|index| _ = write!(polygon, " {index}"));
    vec![
        WorstInput::new(
            "rows that are not there",
            "a.ply",
            ply(&format!("element vertex 4000000000\n{POSITION}"), &[]),
        ),
        WorstInput::new("a list that is not there", "b.ply", {
            ply("element face 1\nproperty list uint int vertex_indices\n", &u32::MAX.to_le_bytes())
        }),
        WorstInput::new("rows without bytes", "c.ply", ply("element nothing 4000000000\n", &[])),
        WorstInput::new("properties", "d.ply", ply(&format!("element many 1\n{properties}"), &vec![1; 40_000]))
            .content(40_000 * 400),
        WorstInput::new("elements", "e.ply", ply(&elements, &vec![1; 20_000])).content(20_000 * 1200),
        WorstInput::new("empty lists", "f.ply", ply(&empty_lists, &vec![0; 1_000_012])).content(1_000_000 * 12),
        WorstInput::new("triangles that are not there", "a.stl", stl(u32::MAX, 50)),
        WorstInput::new("triangles that are all equal", "b.stl", stl(20_000, 1_000_000)).content(20_000 * 60),
        WorstInput::new("solids", "c.stl", solids.repeat(10_000)).content(10_000 * 3000),
        WorstInput::new("counts that are not there", "a.off", "OFF\n4000000000 4000000000 0\n0 0 0\n"),
        WorstInput::new("a polygon of random corners", "b.off", polygon).content(50_000 * 100),
    ]
}

/// Encodes an SPZ header, uncompressed.
fn spz_header(count: u32) -> Vec<u8> {
    [b"NGSP", &2u32.to_le_bytes()[..], &count.to_le_bytes(), &[3, 12, 0, 0]].concat()
}

/// Encodes a NumPy file that claims a shape.
fn npy(shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// Encodes splats that each cover the whole image: position, scale, color and rotation.
fn large_splats(count: usize) -> Vec<u8> {
    let splat = |number: usize| {
        let floats = [number as f32 / 1e4, 0.0, 0.0, 50.0, 50.0, 50.0].map(f32::to_le_bytes);
        [floats.as_flattened(), &[200, 100, 50, 9], &[255, 128, 128, 128]].concat()
    };
    (0..count).flat_map(splat).collect()
}

pub(super) fn tables() -> Vec<WorstInput> {
    let meta = r#"{"version":2,"count":2000000000,"means":{"mins":[0,0,0],"maxs":[1,1,1],"files":["a.webp","b.webp"]},
        "scales":{"codebook":[],"files":["c.webp"]},"quats":{"files":["d.webp"]},"sh0":{"codebook":[],"files":["e.webp"]}}"#;
    let columns: String = (0..200_000).map(|number| format!("{},", number % 10)).collect();
    vec![
        WorstInput::new("a shape that is not there", "a.npy", npy("(1000000000000, 3)", &[0; 12])),
        WorstInput::new("rows without columns", "b.npy", npy("(4000000000, 0)", &[])),
        WorstInput::new("columns", "a.csv", format!("{columns}1\n{columns}1\n")).content(200_000 * 400),
        WorstInput::new("blank lines", "b.csv", "\n".repeat(1_000_000)),
        WorstInput::new("short rows", "c.xyz", "1 1 1\n".repeat(170_000)).content(170_000 * 24),
        WorstInput::new("splats that are not there", "a.spz", pack(Codec::Gzip, &spz_header(10_000_000), usize::MAX)),
        WorstInput::new("splats of zeros", "b.spz", {
            let splats = [spz_header(500_000), vec![0; 500_000 * 64]].concat();
            pack(Codec::Gzip, &splats, usize::MAX)
        })
        .content(500_000 * 300),
        WorstInput::new("splats in images that are not there", "a.sog", {
            zip::simple(&[("meta.json", meta.as_bytes())], Method::Deflate)
        }),
        WorstInput::new("splats", "a.splat", vec![7; 1_000_000]).content(31_250 * 300),
        WorstInput::new("splats across the picture", "b.splat", large_splats(31_250)).content(31_250 * 300),
    ]
}
