//! Reads MTL material libraries, and writes them the way Blender does.
//!
//! Converts between bytes and [`Material`](polyhaul_model::Material)s. Opens no files, so texture names are kept
//! unchanged. A fault in a library is fatal only if the caller sets `strict` or a limit is exceeded, because a scene is
//! useful without its library.
//!
//! Decisions where dialects differ:
//! - Keywords and options are case-insensitive. Lines end with LF, CR LF or CR. A backslash at the end of a line
//!   continues it, except in a comment, where it is more likely the end of a Windows path.
//! - A name is the rest of its line, including spaces, so `#` does not start a comment in a name. After numbers, it
//!   does.
//! - For duplicate material names, the first material counts; for duplicate parameters, the last value counts.
//! - `d` takes precedence over `Tr` in either order: some exporters write both and mean `d`.
//! - Unusable values are dropped with a warning; unusual values (not finite, an opacity of 5) are kept with a warning.
//!
//! `lines` splits text into logical lines, `statement` splits a line into words, and `reader` interprets them.

mod lines;
mod reader;
mod statement;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::read;
pub use writer::write;

use polyhaul_model::MapKind;

/// Keywords of texture maps. The first keyword of each kind is the one that is written.
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
