//! Gaussian splats and glTF: a failed allocation is an error, never an abort.

use crate::there_and_back;
use polyhaul_testkit::starve::{Plan, every_allocation};

/// Splats in PLY with harmonics of degree 1.
fn splats(count: usize) -> Vec<u8> {
    let rest = (0..9).map(|number| format!("f_rest_{number}"));
    let names = ["x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0", "scale_1", "scale_2"];
    let names: Vec<String> = names.into_iter().map(String::from).chain(rest).collect();
    let rotation = (0..4).map(|number| format!("rot_{number}"));
    let properties: String =
        names.iter().cloned().chain(rotation).map(|name| format!("property float {name}\n")).collect();
    let mut file =
        format!("ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{properties}end_header\n").into_bytes();
    for splat in 0..count {
        let values = (0..names.len()).map(|column| ((splat * 31 + column * 7) % 100) as f32 / 50.0 - 1.0);
        values.chain([1.0, 0.0, 0.0, 0.0]).for_each(|value| file.extend(value.to_le_bytes()));
    }
    file
}

/// Converts splats to a format and back.
fn check(test: &str, name: &'static str) {
    // Splats have at most 62 columns, and lists of these take up to 4 KB.
    let test = format!("splats::{test}");
    let plan = Plan { min_bytes: 4096, ..Plan::of(&test) };
    every_allocation(plan, |folder| {
        let points = folder.join("in.ply");
        std::fs::write(&points, splats(3000)).unwrap();
        (there_and_back(points, folder.join(name), folder.join("back.ply")), |_| {})
    });
}

#[test]
fn spz() {
    check("spz", "a.spz");
}

#[test]
fn plain_splats() {
    check("plain_splats", "a.splat");
}

#[test]
fn compressed_ply() {
    check("compressed_ply", "a.compressed.ply");
}
