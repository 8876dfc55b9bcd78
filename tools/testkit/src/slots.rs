//! Slots of each format, written by hand from the formats' descriptions, and the severities that follow.
//!
//! Independent of the table of warning kinds (`polyhaul::severity`), which it never reads: losing an attribute without
//! a slot is a note, losing an attribute with a slot is a loss, and a kind that reports a violation of the format is a
//! fault. [`crate::losses`] compares the severities of warnings with those of the values read back.

use polyhaul::diff::Difference;
use polyhaul::severity::Severity;

/// Outcome of a conversion for an attribute, judged by the values read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Values are the same.
    Equal,
    /// Values exist, but differ.
    Moved,
    /// Values are missing, although the format has a slot for them.
    Gone,
    /// The format has no slot for them.
    NoSlot,
}

impl Fate {
    /// Returns the severity that a warning about the attribute must have, or `None` if the values do not determine it.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Fate::Equal => None,
            Fate::Moved | Fate::Gone => Some(Severity::Loss),
            Fate::NoSlot => Some(Severity::Note),
        }
    }
}

/// Returns the fate of the attribute that warning kind `code` is about, in a conversion to `to` with these differences.
pub fn fate(code: &str, to: &str, differences: &[Difference]) -> Option<Fate> {
    let attribute = attribute(code)?;
    if !has_slot(to, attribute) {
        return Some(Fate::NoSlot);
    }
    let names = compared(attribute);
    let mut of_attribute = differences.iter().filter(|difference| names.contains(&difference.what)).peekable();
    if of_attribute.peek().is_none() {
        return Some(Fate::Equal);
    }
    let is_gone = of_attribute.any(|difference| difference.message.contains("only in the first"));
    Some(if is_gone { Fate::Gone } else { Fate::Moved })
}

/// Maps an attribute to its names in comparisons.
fn compared(attribute: &str) -> &'static [&'static str] {
    match attribute {
        "polygons" => &["faces"],
        "uvs" => &["uvs"],
        "normals" | "face normals" => &["normals"],
        "colors" => &["colors"],
        "alpha" => &["alpha"],
        "columns" => &["columns"],
        "column-names" => &["column names"],
        "names" => &["names"],
        "materials" => &["materials", "material definitions"],
        "phong" | "maps" | "textures" => &["material definitions"],
        "vertices" => &["vertices"],
        "lines" => &["lines"],
        "points" => &["points"],
        "tables" => &["tables"],
        "lights" => &["lights"],
        "cameras" => &["cameras"],
        "media" => &["media"],
        "settings" => &["settings"],
        "motion" => &["motion"],
        "shapes" => &["shapes"],
        "pixels" => &["pixels"],
        "channels" => &["channels"],
        "attributes" => &["attributes"],
        "color-space" => &["color-space"],
        _ => &[],
    }
}

/// Returns the attribute that a warning kind reports as left out or changed, if any.
pub fn attribute(code: &str) -> Option<&str> {
    Some(match code {
        "changed-faces" => "polygons",
        "changed-materials" => "phong",
        "changed-remarks" => "remarks",
        "changed-samples" | "cut-samples" => "pixels",
        "changed-positions" | "changed-numbers" | "changed-order" | "changed-transforms" | "clamped-numbers" => {
            "positions"
        }
        "clamped-color" | "missing-color" => "colors",
        "changed-splats" | "changed-channels" | "changed-reference" | "changed-names" => return None,
        _ => code.strip_prefix("left-out-").or_else(|| code.strip_prefix("changed-"))?,
    })
}

/// Returns whether a format has a slot for an attribute. Every format has slots for the elements themselves.
fn has_slot(to: &str, attribute: &str) -> bool {
    // Samples always have a color space, whether or not the file names it.
    const ELEMENTS: &str = "positions, objects, shapes, meshes, nodes, primitives, extensions, flags, parts, layers, slices, pixels, \
                            color-space";
    let has = |list: &str| list.split(", ").any(|slot| slot == attribute);
    // Comments carry no data, and smaller mip levels are derived from the largest.
    attribute != "remarks" && attribute != "levels" && (has(ELEMENTS) || has(slots(to)))
}

/// Lists the attributes that a format stores; the empty name stands for the program itself, which accepts everything.
fn slots(to: &str) -> &'static str {
    match to {
        "" => {
            "faces, polygons, normals, uvs, uv-depths, colors, alpha, face-colors, lines, points, curves, weights, vertices, \
             groups, smoothing, sharp-edges, vertex-groups, names, column-names, columns, tables, attributes, channels, \
             frames, materials, material-properties, phong, maps, textures, images, wrap-modes, alpha-cutoffs, culling, \
             alpha-modes, occlusion-maps, unlit, extras, empty-nodes, visibility, texture-coordinates, texture-rotations, \
             harmonics, lights, cameras, media, settings, motion, skins, skin-weights, animations, morph-targets, tangents"
        }
        // MTL materials have no alpha test, texture rotation or occlusion.
        "obj" => {
            "faces, polygons, normals, uvs, uv-depths, colors, lines, points, curves, weights, vertices, groups, smoothing, \
             sharp-edges, names, materials, material-properties, phong, maps, textures, images, wrap-modes"
        }
        // Vertex properties can have any name, and points are vertices.
        "ply" => {
            "faces, polygons, normals, uvs, uv-depths, colors, alpha, face-colors, lines, weights, vertices, vertex-groups, \
             column-names, columns, tables, attributes, harmonics, tangents"
        }
        // Stores one normal per facet, not per corner.
        "stl" => "faces",
        // Stores vertex normals; the warning about left-out normals is about face normals.
        "off" => "faces, polygons, uvs, colors, alpha, face-colors, lines, points, vertices",
        "pbrt" => {
            "faces, normals, uvs, materials, material-properties, phong, maps, textures, images, wrap-modes, lights, cameras, \
             media, settings, motion, tangents"
        }
        // Materials are metallic-roughness only.
        "glb" => {
            "faces, normals, uvs, colors, alpha, lines, points, vertices, names, column-names, columns, attributes, \
             materials, maps, textures, images, wrap-modes, alpha-cutoffs, alpha-modes, culling, occlusion-maps, unlit, \
             extras, empty-nodes, visibility, texture-coordinates, texture-rotations, harmonics, lights, cameras, motion, skins, skin-weights, animations, morph-targets, tangents"
        }
        "csv" | "tsv" | "npy" => {
            "normals, uvs, uv-depths, colors, alpha, weights, vertices, vertex-groups, column-names, columns, tables, \
             attributes, tangents"
        }
        // Like CSV, without names.
        "txt" => {
            "normals, uvs, uv-depths, colors, alpha, weights, vertices, vertex-groups, columns, tables, attributes, tangents"
        }
        "xyz" => "normals, colors, vertices, tables",
        "pts" => "colors, vertices, tables",
        "spz" | "compressed.ply" | "sog" => "vertices, harmonics",
        "splat" => "vertices",
        "png" => "colors, alpha, faces, frames",
        "tga" | "dds" | "ktx2" => "colors, alpha, faces",
        "hdr" | "jpg" => "colors, faces",
        "exr" => "colors, alpha, faces, channels, attributes",
        _ => "",
    }
}

/// Attributes of images.
const OF_IMAGES: &str = "alpha, attributes, channels, colors, faces, frames, layers, levels, parts, pixels, slices";
/// Attributes that images have and scenes do not.
const OF_IMAGES_ALONE: &str = "channels, frames, layers, levels, parts, pixels, slices";

/// Returns the severity that follows from a format's slots, or `None` if conversions to it never give this kind of
/// warning.
pub fn expected(code: &str, to: &str) -> Option<Severity> {
    if ["bmp", "psd"].contains(&to) {
        // Both are read-only.
        return None;
    }
    let is_image = ["png", "tga", "hdr", "jpg", "exr", "dds", "ktx2"].contains(&to);
    let is_scene = !is_image && !to.is_empty();
    let is_among = |list: &str, attribute: &str| list.split(", ").any(|other| other == attribute);
    let Some(attribute) = attribute(code) else { return Some(without_slot(code)) };
    let is_elsewhere = is_image && !is_among(OF_IMAGES, attribute) || is_scene && is_among(OF_IMAGES_ALONE, attribute);
    // Only splats have harmonics, and only mesh, table and splat formats are written from them.
    let is_unreached = attribute == "harmonics" && !["", "glb", "spz", "splat", "compressed.ply", "sog"].contains(&to);
    // A value can only change where it is stored, except polygons and Phong materials, which are replaced by triangles
    // and other materials.
    let is_changed = !code.starts_with("left-out-") && !has_slot(to, attribute);
    let is_replaced =
        attribute == "polygons" && has_slot(to, "faces") || attribute == "phong" && has_slot(to, "materials");
    if is_elsewhere || is_unreached || is_changed && !is_replaced && attribute != "remarks" {
        return None;
    }
    Some(if has_slot(to, attribute) { Severity::Loss } else { Severity::Note })
}

/// Returns the severity of a kind without an attribute: a note, a loss, or otherwise a fault.
fn without_slot(code: &str) -> Severity {
    const NOTES: &str = "coarse-picture, coarse-texture, continued-comment, degenerate-face, empty-picture, empty-solid, flat-splats, left-in-files, other-case, other-format, outside-mesh, \
                         outside-texture, transform-begin, unchecked-mesh, unchecked-texture, unused-alpha";
    const LOSSES: &str = "changed-channels, changed-names, changed-reference, changed-splats, element-left-out, irregular-mesh, \
                          irregular-texture, missing-library, missing-material, missing-merged-image, missing-reference, missing-slot, missing-texture, non-finite, non-utf8-name, \
                          outside-reference, rounded, unapplied-orientation, unapplied-swizzle, uncopied-reference, unresolved-reference, unsupported-statement";
    let is_among = |list: &str| list.split(", ").any(|other| other == code);
    match code {
        _ if is_among(NOTES) => Severity::Note,
        _ if is_among(LOSSES) => Severity::Loss,
        _ => Severity::Fault,
    }
}
