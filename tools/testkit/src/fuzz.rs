//! Properties that must hold for any bytes: the bodies of the fuzz targets, which also run as normal tests.
//!
//! A body panics if a property is violated; errors are a valid outcome. [`Effort`] in `fuzz/trial.rs` bounds the work
//! per input. The other modules hold the properties for each kind of input.

mod archives;
mod built;
mod convert;
mod filters;
mod images;
mod logs;
mod numbers;
mod obj;
mod pbrt;
mod scans;
mod splats;
mod tables;
mod trial;

pub use archives::{packed, zip};
pub use built::{gltf_built, pbrt_built};
pub use convert::convert;
pub use filters::filter;
pub use images::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
pub use logs::{LogLibrary, logs};
pub use numbers::numbers;
pub use obj::{complete, mtl, obj};
pub use pbrt::pbrt;
pub use scans::{gltf, off, ply, stl};
pub use splats::{sog, splat, spz};
pub use tables::table;
pub use trial::Effort;

use polyhaul::{Error, ErrorKind};

/// Body of a fuzz target.
pub type Body = fn(&[u8], Effort);

/// Fuzz targets by name.
pub const TARGETS: [(&str, Body); 28] = [
    ("obj", obj),
    ("mtl", mtl),
    ("numbers", numbers),
    ("filter", filter),
    ("logs", logs),
    ("packed", packed),
    ("zip", zip),
    ("ply", ply),
    ("stl", stl),
    ("off", off),
    ("gltf", gltf),
    ("gltf-built", gltf_built),
    ("spz", spz),
    ("splat", splat),
    ("sog", sog),
    ("pbrt", pbrt),
    ("pbrt-built", pbrt_built),
    ("table", table),
    ("convert", convert),
    ("tga", tga),
    ("hdr", hdr),
    ("bmp", bmp),
    ("psd", psd),
    ("dds", dds),
    ("ktx2", ktx2),
    ("png", png),
    ("jpeg", jpeg),
    ("exr", exr),
];

/// Formats and the fuzz target of each. Every new format needs an entry.
pub const FORMATS: [(&str, &str); 25] = [
    ("obj", "obj"),
    ("ply", "ply"),
    ("stl", "stl"),
    ("pbrt", "pbrt"),
    ("csv", "table"),
    ("tsv", "table"),
    ("txt", "table"),
    ("xyz", "table"),
    ("pts", "table"),
    ("npy", "table"),
    ("tga", "tga"),
    ("hdr", "hdr"),
    ("png", "png"),
    ("jpg", "jpeg"),
    ("exr", "exr"),
    ("bmp", "bmp"),
    ("psd", "psd"),
    ("dds", "dds"),
    ("ktx2", "ktx2"),
    ("off", "off"),
    ("glb", "gltf"),
    ("spz", "spz"),
    ("splat", "splat"),
    ("compressed.ply", "ply"),
    ("sog", "sog"),
];

/// Panics on errors that no input may cause: internal errors, and lack of memory.
fn no_fault(error: &Error) {
    assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
}
