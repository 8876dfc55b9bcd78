//! The table of samples: a row for each format, in the order of the registry, and one for each kind of referenced file.

mod images;
mod made;
mod meshes;
mod obj;
mod pbrt;
mod scenes;
mod splats;
mod tables;
mod textures;

use crate::samples::{Prefix, Samples};

/// All rows.
pub const ROWS: &[&Samples] = &[
    &obj::OBJ,
    &obj::MTL,
    &obj::LIBRARIES,
    &meshes::PLY,
    &meshes::STL,
    &pbrt::PBRT,
    &tables::CSV,
    &tables::TSV,
    &tables::TXT,
    &tables::XYZ,
    &tables::PTS,
    &tables::NPY,
    &images::TGA,
    &images::HDR,
    &images::PNG,
    &images::JPEG,
    &images::EXR,
    &images::BMP,
    &images::PSD,
    &textures::DDS,
    &textures::KTX2,
    &meshes::OFF,
    &scenes::GLB,
    &scenes::GLTF,
    &splats::SPZ,
    &splats::SPLAT,
    &splats::COMPRESSED_PLY,
    &splats::SOG,
    &splats::SOG_FILES,
];

/// Rows of the format with this name, with `_` in place of `.`.
pub fn of(format: &str) -> Vec<&'static Samples> {
    let is_named = |row: &&&Samples| row.format.name().replace('.', "_") == format;
    ROWS.iter().filter(is_named).copied().collect()
}

/// No strict prefix of a file is valid.
fn is_never_read(_: &Prefix<'_>) -> Option<String> {
    Some("a part of the file was read".into())
}

/// A prefix that is read has as many rows of each kind as the complete file.
fn has_all_rows(prefix: &Prefix<'_>) -> Option<String> {
    let [expected, counts] = [prefix.whole.counts(), prefix.content.counts()];
    (counts != expected).then(|| format!("{counts:?} rows of {expected:?}"))
}
