//! Attributes that a conversion from one format to another loses, listed by hand, and a check that a conversion loses
//! no others.
//!
//! The expectations are independent of the warnings, and never come from the library. An attribute that differs after a
//! conversion must be listed here, and the conversion must have given one of its warnings.

use crate::slots;
use polyhaul::Report;
use polyhaul::diff::Difference;
use polyhaul::model::{Image, Samples};

/// Table formats.
const TABLES: [&str; 6] = ["csv", "tsv", "txt", "xyz", "pts", "npy"];

/// Returns the attributes lost in a conversion between two formats, comma-separated, or `None` if the conversion is
/// unsupported.
pub fn lost(from: &str, to: &str) -> Option<&'static str> {
    if SPLATS.contains(&to) {
        return lost_of_splats(from);
    }
    if SPLATS.contains(&from) && TABLES.contains(&to) {
        // Without names, columns are read as normals or colors.
        return Some("columns, column names, normals, colors, alpha");
    }
    // Splats are loaded like PLY: vertices with columns.
    let from = if SPLATS.contains(&from) { "ply" } else { from };
    if [from, to].contains(&"glb") { lost_of_gltf(from, to) } else { lost_of_others(from, to) }
}

/// [`lost`] for all formats except splats and glTF.
fn lost_of_others(from: &str, to: &str) -> Option<&'static str> {
    let tables = TABLES;
    Some(match (from, to) {
        ("obj", "obj") => "alpha",
        ("obj", "ply") => {
            "materials, material definitions, material names, groups, smoothing, names, points, curves, weights, uv depths"
        }
        ("obj", "stl") => {
            "faces, vertices, normals, uvs, colors, materials, material definitions, material names, groups, smoothing, names, lines, \
             points, curves, weights, uv depths"
        }
        ("obj", "pbrt") => {
            "faces, vertices, normals, colors, materials, material definitions, material names, groups, smoothing, names, lines, points, \
             curves, weights, uv depths"
        }
        ("obj", "off") => {
            "colors, alpha, materials, material definitions, material names, groups, smoothing, names, curves, weights, uv depths"
        }
        ("obj", _) => {
            "faces, vertices, normals, uvs, colors, alpha, materials, material definitions, material names, groups, smoothing, names, lines, \
             points, curves, weights, uv depths"
        }
        ("ply", "obj") => "alpha, columns, tables, normals, positions",
        ("ply", "ply") => "",
        ("ply", "stl") => {
            "faces, vertices, normals, uvs, colors, alpha, lines, columns, tables, materials, material definitions"
        }
        ("ply", "pbrt") => {
            "faces, vertices, normals, colors, alpha, lines, columns, tables, materials, material definitions"
        }
        ("ply", "csv" | "tsv") => "faces, lines, tables",
        ("ply", "txt") => "faces, lines, tables, column names, columns",
        ("ply", "npy") => "faces, lines, tables, column names, columns",
        ("ply", "xyz" | "pts") => "faces, lines, tables, columns, column names, colors, alpha, normals",
        ("ply", "off") => "normals, colors, alpha, columns, tables, materials, material definitions",
        ("stl", "off") => "normals, columns, names",
        ("off", "obj") => "alpha, normals, positions",
        ("off", "ply") => "points, colors, alpha",
        ("off", "stl") => "faces, vertices, normals, uvs, colors, alpha, lines, points",
        ("off", "pbrt") => "faces, vertices, normals, colors, alpha, lines, points",
        ("off", "off") => "colors, alpha",
        ("off", _) => "faces, vertices, normals, uvs, colors, alpha, lines, points",
        ("stl", "obj") => "columns, names, positions, normals",
        ("stl", "ply") => "names",
        ("stl", "stl") => "columns, names",
        ("stl", "pbrt") => "columns, names, vertices",
        ("stl", _) => "faces, vertices, normals, names, columns",
        ("pbrt", "pbrt") => "",
        ("pbrt", "obj") => {
            "lights, cameras, media, settings, motion, shapes, columns, names, materials, material definitions, material names"
        }
        ("pbrt", "ply" | "off") => {
            "lights, cameras, media, settings, motion, shapes, materials, material definitions, material names, names, columns"
        }
        ("pbrt", "stl") => {
            "lights, cameras, media, settings, motion, shapes, materials, material definitions, material names, names, faces, vertices, \
             normals, uvs, columns"
        }
        ("pbrt", _) => {
            "lights, cameras, media, settings, motion, shapes, materials, material definitions, material names, names, faces, vertices, \
             normals, uvs, columns"
        }
        (from, "obj") if tables.contains(&from) => "columns, alpha, normals, positions",
        (from, "stl" | "pbrt") if tables.contains(&from) => "vertices, normals, colors, alpha, columns",
        (from, "ply") if tables.contains(&from) => "columns",
        (from, "off") if tables.contains(&from) => "columns, colors, alpha",
        (from, "csv" | "tsv") if tables.contains(&from) => "columns, column names",
        (from, "txt" | "npy") if tables.contains(&from) => "column names, columns",
        (from, "xyz" | "pts") if tables.contains(&from) => "columns, column names, colors, alpha, normals",
        _ => return None,
    })
}

/// Formats that store coordinates with at most 32 bits.
const SINGLES: [&str; 7] = ["stl", "pbrt", "glb", "spz", "splat", "compressed.ply", "sog"];

/// Gaussian splat formats.
const SPLATS: [&str; 4] = ["spz", "splat", "compressed.ply", "sog"];

/// [`lost`] for splat formats, which store only splats; PLY files may have additional columns. Scenes without splats
/// are refused.
fn lost_of_splats(from: &str) -> Option<&'static str> {
    match from {
        "ply" => Some("positions, normals, uvs, colors, alpha, columns, tables"),
        "spz" | "splat" | "compressed.ply" | "sog" => Some("positions, columns"),
        from if TABLES.contains(&from) => Some("positions, columns, column names, normals, colors, alpha"),
        "glb" => Some("positions, normals, uvs, colors, alpha, columns, names"),
        "obj" | "stl" | "off" | "pbrt" => Some(""),
        _ => None,
    }
}

/// [`lost`] for glTF on either side.
fn lost_of_gltf(from: &str, to: &str) -> Option<&'static str> {
    let tables = TABLES;
    Some(match (from, to) {
        ("glb", "glb") => "positions, order, normals, colors, columns, names",
        ("glb", "obj") => "alpha, columns, names, materials, material definitions, material names, normals, positions",
        ("glb", "ply" | "off") => {
            "normals, columns, names, materials, material definitions, material names, points, colors, alpha"
        }
        ("glb", "stl") => {
            "faces, vertices, normals, uvs, colors, alpha, columns, names, materials, material definitions, material names, lines, points"
        }
        ("glb", "pbrt") => {
            "faces, vertices, normals, colors, alpha, columns, names, materials, material definitions, material names, lines, points"
        }
        ("glb", _) => {
            "faces, vertices, normals, uvs, colors, alpha, columns, names, column names, materials, material definitions, material names, \
             lines, points"
        }
        ("obj", "glb") => {
            "faces, vertices, normals, colors, alpha, materials, material definitions, material names, groups, smoothing, names, points, \
             curves, weights, uv depths"
        }
        ("ply", "glb") => "faces, vertices, normals, uvs, colors, alpha, columns, tables, material definitions",
        ("stl", "glb") => "columns, normals",
        ("off", "glb") => "faces, vertices, normals, uvs, colors, alpha",
        ("pbrt", "glb") => {
            "faces, lights, cameras, media, settings, motion, shapes, columns, names, materials, material definitions, material names, \
             positions, normals"
        }
        (from, "glb") if tables.contains(&from) => "columns, column names, normals, colors, alpha",
        _ => return None,
    })
}

/// Returns the attributes that a target format requires and the writer adds: normals per face for STL; zeros for
/// corners without normal or uv for PLY and OFF; a camera, a light, film, shape names, and zeros for corners without uv
/// for pbrt; names of columns.
pub fn added(from: &str, to: &str) -> &'static [&'static str] {
    match (from, to) {
        (_, "pbrt") => &["lights", "cameras", "settings", "names", "uvs"],
        (_, "stl") => &["normals"],
        // Instances of one mesh are grouped.
        ("glb", "glb") => &["normals", "uvs", "vertices", "points", "order"],
        (_, "glb") => &["normals", "uvs", "vertices", "points"],
        (_, "ply") => &["normals", "uvs", "column names"],
        (_, "off") => &["normals", "uvs"],
        (_, "xyz" | "pts") => &["column names"],
        (from, "txt" | "npy") if from == "glb" || SPLATS.contains(&from) => &["normals", "colors"],
        _ => &[],
    }
}

/// Returns the warnings of which at least one must be given if attribute `what` differs.
pub fn warnings(what: &str) -> &'static [&'static str] {
    match what {
        "faces" => &["left-out-faces", "changed-faces"],
        "vertices" => &["left-out-vertices", "left-out-faces", "left-out-lines"],
        "positions" => &["changed-numbers", "changed-order", "changed-transforms", "rounded"],
        "normals" => &[
            "left-out-normals",
            "changed-normals",
            "changed-transforms",
            "changed-numbers",
            "left-out-columns",
            "left-out-vertices",
            "left-out-faces",
        ],
        "uvs" => &["left-out-uvs"],
        "colors" => &["left-out-colors", "changed-colors", "clamped-color", "missing-color", "left-out-vertices"],
        "alpha" => &["left-out-alpha", "left-out-colors", "changed-colors", "clamped-color", "missing-color"],
        "materials" => &["left-out-materials", "changed-names"],
        "material names" => &["changed-names", "changed-materials", "left-out-materials"],
        "material definitions" => &[
            "left-out-materials",
            "changed-materials",
            "changed-names",
            "left-out-alpha-cutoffs",
            "left-out-alpha-modes",
            "left-out-culling",
            "left-out-extras",
            "left-out-occlusion-maps",
            "left-out-unlit",
        ],
        "groups" => &["left-out-groups"],
        "smoothing" => &["left-out-smoothing"],
        "names" => &["left-out-names", "left-out-objects", "changed-names"],
        "lines" => &["left-out-lines"],
        "points" => &["left-out-points"],
        "curves" => &["left-out-curves"],
        "weights" => &["left-out-weights"],
        "uv depths" => &["left-out-uv-depths"],
        "columns" => &[
            "changed-numbers",
            "changed-order",
            "left-out-columns",
            "left-out-harmonics",
            "changed-columns",
            "left-out-names",
            "left-out-column-names",
            "changed-names",
            "changed-colors",
            "clamped-color",
        ],
        "column names" => &["left-out-column-names", "changed-names"],
        "tables" => &["left-out-tables", "left-out-faces", "left-out-lines"],
        "lights" => &["left-out-lights"],
        "cameras" => &["left-out-cameras"],
        "media" => &["left-out-media"],
        "settings" => &["left-out-settings"],
        "motion" => &["left-out-motion"],
        "shapes" => &["left-out-shapes"],
        _ => &[],
    }
}

/// Returns the faults of a successful conversion: attributes that differ unexpectedly or without a warning.
pub fn faults(from: &str, to: &str, differences: &[Difference], report: &Report) -> Vec<String> {
    let lost = lost(from, to).unwrap_or_default();
    let counts = report.warnings.counts();
    let mut faults = wrong_severities(to, differences, report);
    for difference in differences {
        let what = difference.what;
        // Colors may be rounded to bytes, if values that were bytes before stay the same. Normals this short have no
        // direction, and are written as zero; in OBJ, others get unit length, with a note if three decimals do not
        // explain the change.
        let noise = match what {
            "colors" | "alpha" => 2.5e-4,
            "normals" if to == "obj" => 1.1e-3,
            "normals" => 1e-17,
            _ => 0.0,
        };
        let is_rounding = difference.largest.is_some_and(|largest| largest < noise);
        let is_one_sided = !difference.message.contains("only in the first") && difference.largest.is_none();
        let is_added = added(from, to).contains(&what) && is_one_sided;
        if is_rounding || is_added {
            continue;
        }
        let is_rounded = what == "positions" && SINGLES.contains(&to);
        if !is_rounded && !lost.split(", ").any(|loss| loss == what) {
            faults.push(format!("{} is not expected to differ: {}", what, difference.message));
        } else if !warnings(what).iter().any(|code| counts.contains_key(code)) {
            faults.push(format!("{} differs without a warning: {} ({counts:?})", what, difference.message));
        }
    }
    faults
}

/// Returns warnings whose severity contradicts the values read back.
fn wrong_severities(to: &str, differences: &[Difference], report: &Report) -> Vec<String> {
    let severities = report.warnings.severities().keys();
    let wrong = severities.filter_map(|&(code, severity)| {
        let fate = slots::fate(code, to, differences)?;
        let expected = fate.severity()?;
        (expected != severity).then(|| format!("{code} is a {}, and the values are {fate:?}", severity.name()))
    });
    wrong.collect()
}

/// [`lost`] for images. All formats store the size.
pub fn lost_of_image(from: &str, to: &str) -> &'static str {
    match (from, to) {
        // 8 bits without alpha, or a target with as many bits.
        ("tga" | "bmp", "tga") | ("png" | "jpg" | "bmp", "png") => "",
        // PNG stores all color space metadata, JPEG only profiles.
        ("jpg", "tga" | "exr") => "color-space",
        ("hdr", "hdr") | ("exr", "exr") => "",
        // Only EXR stores arbitrary channels and attributes.
        ("exr", "tga" | "png") => "pixels, channels, attributes",
        ("exr", _) => "pixels, alpha, channels, attributes",
        ("png", "exr" | "tga") => "pixels, color-space",
        // Exposure and similar attributes.
        ("hdr", "tga" | "png" | "jpg") => "pixels, attributes",
        ("jpg", "hdr") => "pixels, color-space",
        ("png", _) => "pixels, alpha, color-space",
        // Colors of transparent pixels, and floats that need more than 16 bits, are changed.
        (_, "exr") => "pixels",
        ("hdr" | "jpg", _) => "pixels",
        (_, "tga" | "png") => "pixels",
        _ => "pixels, alpha",
    }
}

/// [`warnings`] for attributes of images.
pub fn image_warnings(what: &str) -> &'static [&'static str] {
    match what {
        "pixels" => &["changed-samples", "cut-samples", "left-out-colors"],
        "alpha" => &["left-out-alpha"],
        "channels" => &["left-out-channels"],
        "attributes" => &["left-out-attributes"],
        "color-space" => &["changed-color-space"],
        _ => &[],
    }
}

/// Returns the largest difference of samples that counts as equal: the last digits of floats. Halves distinguish all
/// 8-bit samples, even if color and alpha are both rounded, each with a relative error of at most 2^-11.
pub fn image_noise(image: &Image, to: &str) -> f64 {
    match &image.samples {
        Samples::U8(samples) if to == "exr" => {
            let pixels = samples.chunks_exact(image.channels.count());
            1e-3 * pixels.map(|pixel| brightest(pixel, image.premultiplied)).fold(1.0, f64::max)
        }
        _ => 1e-6,
    }
}

/// Returns the brightness of a pixel, which exceeds 1 if a premultiplied color exceeds its alpha.
fn brightest(pixel: &[u8], premultiplied: bool) -> f64 {
    let alpha = pixel.last().copied().unwrap_or(0);
    let color = pixel.iter().copied().max().unwrap_or(0);
    let [alpha, color] = [alpha, color].map(|sample| f64::from(sample) / 255.0);
    if premultiplied && alpha > 0.0 { ((color / alpha + 0.055) / 1.055).powf(2.4) * alpha } else { 1.0 }
}

/// Like [`faults`], for an image whose samples may differ by `noise`.
pub fn image_faults(from: &str, to: &str, noise: f64, differences: &[Difference], report: &Report) -> Vec<String> {
    let counts = report.warnings.counts();
    let mut faults = wrong_severities(to, differences, report);
    for Difference { what, message, largest, .. } in differences {
        let is_noise = *what == "pixels" && largest.is_some_and(|largest| largest < noise);
        // EXR always stores premultiplied colors, PNG never.
        let is_stored_so = *what == "premultiplied" && ["exr", "png"].contains(&to);
        if is_noise || is_stored_so {
            continue;
        }
        if !lost_of_image(from, to).split(", ").any(|loss| loss == *what) {
            faults.push(format!("{what} is not expected to differ: {message}"));
        } else if !image_warnings(what).iter().any(|code| counts.contains_key(code)) {
            faults.push(format!("{what} differs without a warning: {message} ({counts:?})"));
        }
    }
    faults
}
