//! MTL: material libraries, read and written as Blender does.
//!
//! The module turns bytes into [`Material`](polyhaul_model::Material)s and back; it opens no files, so texture
//! names are kept as they stand. Nothing in a library is fatal unless the caller asks for `strict` or a limit
//! is passed: a library is an extra, and a scene is worth having without it.
//!
//! Decisions where the dialects differ:
//! - Keywords and options count in any case. Lines end with LF, CRLF or CR. A backslash at the end of a line
//!   continues it, except in a comment, where it is more likely the end of a Windows path.
//! - A name is the rest of its line, blanks inside included, so a `#` in a name begins no comment.
//!   After numbers it does.
//! - Of two materials with one name the first counts; of a parameter given twice, the last.
//! - `d` goes before `Tr`, whichever comes first: some exporters write both and mean `d`.
//! - What is unusable is left out with a warning; what is merely unusual (a number that is not finite, an
//!   opacity of 5) is kept with a warning.
//!
//! `lines` cuts text into statements, `statement` takes the words of one apart, `reader` knows what they mean.

mod lines;
mod reader;
mod statement;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::read;
pub use writer::write;

use polyhaul_model::MapKind;

/// The keywords of texture maps; the first of a kind is the one that is written by default.
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
