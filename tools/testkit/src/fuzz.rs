//! Properties that must hold for any bytes: the bodies of the fuzz targets, which also run as normal tests.
//!
//! A body panics if a property does not hold; everything else, including errors, is fine. How much it does with one
//! input is in `fuzz/trial.rs`: see [`Effort`]. The properties for each kind of bytes are in the other modules.

mod archives;
mod convert;
mod filters;
mod images;
mod numbers;
mod obj;
mod pbrt;
mod scans;
mod splats;
mod tables;
mod trial;

pub use archives::{packed, zip};
pub use convert::convert;
pub use filters::filter;
pub use images::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
pub use numbers::numbers;
pub use obj::{complete, mtl, obj};
pub use pbrt::pbrt;
pub use scans::{gltf, off, ply, stl};
pub use splats::{sog, splat, spz};
pub use tables::table;
pub use trial::Effort;

use polyhaul::{Error, ErrorKind};

/// Checks the properties of any bytes of a kind.
pub type Body = fn(&[u8], Effort);

/// The fuzz target that reads each format, and its body. A format that is added must be written down here.
pub const TARGETS: [(&str, &str, Body); 25] = [
    ("obj", "obj", obj),
    ("ply", "ply", ply),
    ("stl", "stl", stl),
    ("pbrt", "pbrt", pbrt),
    ("csv", "table", table),
    ("tsv", "table", table),
    ("txt", "table", table),
    ("xyz", "table", table),
    ("pts", "table", table),
    ("npy", "table", table),
    ("tga", "tga", tga),
    ("hdr", "hdr", hdr),
    ("png", "png", png),
    ("jpg", "jpeg", jpeg),
    ("exr", "exr", exr),
    ("bmp", "bmp", bmp),
    ("psd", "psd", psd),
    ("dds", "dds", dds),
    ("ktx2", "ktx2", ktx2),
    ("off", "off", off),
    ("glb", "gltf", gltf),
    ("spz", "spz", spz),
    ("splat", "splat", splat),
    ("compressed.ply", "ply", ply),
    ("sog", "sog", sog),
];

/// No input may cause these.
fn no_fault(error: &Error) {
    assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
}
