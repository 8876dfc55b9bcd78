//! MTL: material libraries, read and written as Blender does.
//!
//! This module converts bytes to [`Material`](polyhaul_model::Material)s and back. It opens no files, so texture names
//! are kept unchanged. Nothing in a library is fatal unless the caller sets `strict` or a limit is exceeded: a scene is
//! useful even without its library.
//!
//! Decisions where dialects differ:
//! - Keywords and options are case-insensitive. Lines end with LF, CRLF or CR. A backslash at the end of a line
//!   continues it, except in a comment, where it is more likely the end of a Windows path.
//! - A name is the rest of its line, blanks inside included, so a `#` in a name begins no comment.
//!   After numbers it does.
//! - If two materials have the same name, the first counts; if a parameter is given twice, the last counts.
//! - `d` takes precedence over `Tr` in either order: some exporters write both and mean `d`.
//! - Unusable values are dropped with a warning; merely unusual ones (a number that is not finite, an opacity of 5) are
//!   kept with a warning.
//!
//! `lines` cuts text into statements, `statement` splits a statement into words, and `reader` interprets them.

mod lines;
mod reader;
mod statement;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::read;
pub use writer::write;

use polyhaul_model::MapKind;

/// The keywords of texture maps; the first of each kind is the default for writing.
const MAPS: [(&str, MapKind); 23] = [
    ("map_Ka", MapKind::Ambient),
    ("map_Kd", MapKind::Diffuse),
    ("map_Ks", MapKind::Specular),
    ("map_Ke", MapKind::Emission),
    ("map_emissive", MapKind::Emission),
    ("map_Ns", MapKind::Shininess),
    ("map_d", MapKind::Opacity),
    ("map_Tr", MapKind::Transparency),
    ("map_Bump", MapKind::Bump),
    ("bump", MapKind::Bump),
    ("disp", MapKind::Displacement),
    ("map_disp", MapKind::Displacement),
    ("decal", MapKind::Decal),
    ("map_decal", MapKind::Decal),
    ("map_refl", MapKind::Reflection),
    ("refl", MapKind::Reflection),
    ("map_Pr", MapKind::Roughness),
    ("map_Pm", MapKind::Metallic),
    ("map_Ps", MapKind::Sheen),
    ("map_Pc", MapKind::Clearcoat),
    ("map_Pcr", MapKind::ClearcoatRoughness),
    ("norm", MapKind::Normal),
    ("map_Kn", MapKind::Normal),
];
