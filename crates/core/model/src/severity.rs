//! Severities of warnings: the table of kinds, which conversions refuse, and which are allowed.
//!
//! [`KINDS`] has a row for every kind of warning, written by hand: its words, its severity, and the targets for which
//! it has another one. The guide's page of losses and every surface have their severities from it. A target is the name
//! of a format, or empty if a file is read for a program rather than for a conversion.
//! `tools/testkit/src/losses.rs` classifies losses without it.

use std::borrow::Cow;

/// How bad a warning is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The target has no slot for it and everybody expects that, or it carries no information.
    #[default]
    Note,
    /// The target has a slot that was not used, or a value, an element or a reference is changed or gone.
    Loss,
    /// The file breaks its format.
    Fault,
}

use Severity::{Fault, Loss, Note};

impl Severity {
    /// All severities, the mildest first.
    pub const ALL: [Severity; 3] = [Note, Loss, Fault];

    /// The name on every surface: `note`, `loss` or `fault`.
    pub const fn name(self) -> &'static str {
        match self {
            Note => "note",
            Loss => "loss",
            Fault => "fault",
        }
    }
}

/// A kind of warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningKind {
    /// The short, stable name, such as `left-out-uvs`.
    pub code: &'static str,
    /// The subjects, singular and plural.
    pub words: [&'static str; 2],
    /// The severity, except for the targets in `exception`.
    pub severity: Severity,
    /// Another severity, and the targets that have it: names of formats and groups, separated by spaces.
    exception: Option<(Severity, &'static str)>,
    /// Whether the size of the change decides instead.
    pub is_by_value: bool,
}

impl WarningKind {
    /// The severity in a conversion to `target`, the name of a format; empty if there is no target.
    pub fn severity_for(&self, target: &str) -> Severity {
        match self.exception {
            Some((severity, _)) if self.is_exception(target) => severity,
            _ => self.severity,
        }
    }

    /// The other severity, and the formats that have it as targets.
    pub fn exception(&self) -> Option<(Severity, Vec<&'static str>)> {
        self.exception.map(|(severity, names)| (severity, names.split(' ').flat_map(members).collect()))
    }

    fn is_exception(&self, target: &str) -> bool {
        let names = self.exception.map_or("", |(_, names)| names);
        !target.is_empty() && names.split(' ').flat_map(members).any(|member| member == target)
    }

    /// The row with another severity for these targets.
    const fn but(self, severity: Severity, targets: &'static str) -> WarningKind {
        WarningKind { exception: Some((severity, targets)), ..self }
    }

    /// The row of a kind whose severity depends on the size of the change.
    const fn by_value(self) -> WarningKind {
        WarningKind { is_by_value: true, ..self }
    }
}

/// Groups of targets in the table.
const GROUPS: [(&str, &[&str]); 5] = [
    ("tables", &["csv", "tsv", "txt", "xyz", "pts", "npy"]),
    ("splats", &["spz", "splat", "compressed.ply", "sog"]),
    // Geometry and values, without materials, lights and cameras.
    (
        "geometry",
        &["ply", "stl", "off", "csv", "tsv", "txt", "xyz", "pts", "npy", "spz", "splat", "compressed.ply", "sog"],
    ),
    // Formats of scenes without animations.
    (
        "still",
        &[
            "obj",
            "pbrt",
            "ply",
            "stl",
            "off",
            "csv",
            "tsv",
            "txt",
            "xyz",
            "pts",
            "npy",
            "spz",
            "splat",
            "compressed.ply",
            "sog",
        ],
    ),
    // Images without named channels and attributes, which only EXR has.
    ("pixels", &["tga", "hdr", "png", "jpg", "dds", "ktx2"]),
];

/// The formats that a name in the table stands for.
fn members(name: &'static str) -> Vec<&'static str> {
    let group = GROUPS.iter().find(|(group, _)| *group == name);
    group.map_or_else(|| vec![name], |(_, members)| members.to_vec())
}

const fn row(code: &'static str, words: [&'static str; 2], severity: Severity) -> WarningKind {
    WarningKind { code, words, severity, exception: None, is_by_value: false }
}

/// The number of kinds of warnings.
pub const KIND_COUNT: usize = 200;

/// Every kind of warning, in alphabetical order.
#[rustfmt::skip]
pub static KINDS: [WarningKind; KIND_COUNT] = [
    row("array-size", ["wrong array size", "wrong array sizes"], Fault),
    row("bad-checksum", ["invalid checksum", "invalid checksums"], Fault),
    row("bad-declaration", ["invalid declaration", "invalid declarations"], Fault),
    row("bad-escape", ["invalid escape", "invalid escapes"], Fault),
    row("bad-number", ["invalid number", "invalid numbers"], Fault),
    row("bad-value", ["invalid value", "invalid values"], Fault),
    row("broken-animation", ["invalid animation", "invalid animations"], Fault),
    row("broken-facet", ["invalid facet", "invalid facets"], Fault),
    row("broken-mesh", ["invalid mesh file", "invalid mesh files"], Fault),
    row("broken-primitive", ["invalid primitive", "invalid primitives"], Fault),
    row("broken-splats", ["splat with a non-finite value", "splats with non-finite values"], Fault),
    row("changed-channels", ["enlarged channel", "enlarged channels"], Loss),
    row("changed-color-space", ["changed color space", "changed color spaces"], Loss),
    row("changed-colors", ["rounded color", "rounded colors"], Loss),
    row("changed-columns", ["rounded column", "rounded columns"], Loss),
    row("changed-faces", ["triangulated polygon", "triangulated polygons"], Loss).but(Note, "stl pbrt glb"),
    row("changed-materials", ["converted material", "converted materials"], Loss).but(Note, "glb"),
    row("changed-names", ["changed name", "changed names"], Loss),
    row("changed-normals", ["changed normal", "changed normals"], Loss),
    row("changed-numbers", ["rounded number", "rounded numbers"], Loss),
    row("changed-order", ["reordered splat", "reordered splats"], Loss),
    row("changed-positions", ["rounded position", "rounded positions"], Loss),
    row("changed-reference", ["changed reference", "changed references"], Loss),
    row("changed-remarks", ["changed comment", "changed comments"], Note),
    row("changed-samples", ["approximate sample", "approximate samples"], Loss),
    row("changed-shapes", ["approximate shape", "approximate shapes"], Loss),
    row("changed-splats", ["reinterpreted splat property", "reinterpreted splat properties"], Loss),
    row("changed-transforms", ["changed transform", "changed transforms"], Loss).by_value(),
    row("changed-uvs", ["rounded UV", "rounded UVs"], Loss),
    row("clamped-color", ["clamped color", "clamped colors"], Loss),
    row("clamped-numbers", ["clamped number", "clamped numbers"], Loss),
    row("coarse-picture", ["coarse picture", "coarse pictures"], Note),
    row("coarse-texture", ["texture drawn in one color", "textures drawn in one color"], Note),
    row("conflicting-opacity", ["conflicting opacity", "conflicting opacities"], Fault),
    row("continued-comment", ["continued comment", "continued comments"], Note),
    row("cut-run", ["truncated run", "truncated runs"], Fault),
    row("cut-samples", ["clamped sample", "clamped samples"], Loss),
    row("decimal-integer", ["integer written as a decimal", "integers written as decimals"], Fault),
    row("degenerate-face", ["degenerate face", "degenerate faces"], Note),
    row("duplicate-material", ["duplicate material", "duplicate materials"], Fault),
    row("element-left-out", ["dropped element", "dropped elements"], Loss),
    row("empty-index", ["missing index", "missing indices"], Fault),
    row("empty-picture", ["empty picture", "empty pictures"], Note),
    row("empty-solid", ["empty solid", "empty solids"], Note),
    row("extra-colors", ["extra color", "extra colors"], Fault),
    row("extra-data", ["piece of extra data", "pieces of extra data"], Fault),
    row("extra-value", ["extra value", "extra values"], Fault),
    row("flat-splats", ["flat splat", "flat splats"], Note),
    row("incomplete-harmonics", ["incomplete set of harmonics", "incomplete sets of harmonics"], Fault),
    row("index-out-of-range", ["index out of range", "indices out of range"], Fault),
    row("irregular-mesh", ["mesh that is not a regular file", "meshes that are not regular files"], Loss),
    row("irregular-texture", ["texture that is not a regular file", "textures that are not regular files"], Loss),
    row("left-in-files", ["mesh left in its file", "meshes left in their files"], Note),
    row("left-out-alpha", ["dropped alpha value", "dropped alpha values"], Loss).but(Note, "obj stl pbrt xyz pts splats hdr jpg"),
    row("left-out-alpha-cutoffs", ["dropped alpha cutoff", "dropped alpha cutoffs"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-alpha-modes", ["dropped alpha mode", "dropped alpha modes"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-animations", ["dropped animation", "dropped animations"], Loss).but(Note, "still"),
    row("left-out-attributes", ["dropped attribute", "dropped attributes"], Loss).but(Note, "obj stl off xyz pts pbrt splats pixels"),
    row("left-out-cameras", ["dropped camera", "dropped cameras"], Loss).but(Note, "obj geometry"),
    row("left-out-channels", ["dropped channel", "dropped channels"], Loss).but(Note, "pixels"),
    row("left-out-colors", ["dropped color", "dropped colors"], Loss).but(Note, "stl pbrt splats"),
    row("left-out-column-names", ["dropped column name", "dropped column names"], Loss).but(Note, "obj stl off pbrt txt xyz pts splats"),
    row("left-out-columns", ["dropped column", "dropped columns"], Loss).but(Note, "obj stl off xyz pts pbrt splats"),
    row("left-out-culling", ["material made double-sided", "materials made double-sided"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-curves", ["dropped curve", "dropped curves"], Loss).but(Note, "pbrt glb geometry"),
    row("left-out-empty-nodes", ["dropped empty node", "dropped empty nodes"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-extensions", ["dropped extension", "dropped extensions"], Loss),
    row("left-out-extras", ["dropped set of extras", "dropped sets of extras"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-face-colors", ["dropped face color", "dropped face colors"], Loss).but(Note, "obj stl pbrt glb tables splats"),
    row("left-out-faces", ["dropped face", "dropped faces"], Loss).but(Note, "tables splats"),
    row("left-out-flags", ["dropped flag", "dropped flags"], Loss),
    row("left-out-frames", ["dropped frame", "dropped frames"], Loss).but(Note, "tga hdr jpg exr dds ktx2"),
    row("left-out-groups", ["dropped group", "dropped groups"], Loss).but(Note, "pbrt glb geometry"),
    row("left-out-harmonics", ["dropped column of spherical harmonics", "dropped columns of spherical harmonics"], Loss).but(Note, "splat"),
    row("left-out-images", ["texture without a usable image", "textures without a usable image"], Loss).but(Note, "geometry"),
    row("left-out-layers", ["dropped layer", "dropped layers"], Loss),
    row("left-out-levels", ["dropped mipmap level", "dropped mipmap levels"], Note),
    row("left-out-lights", ["dropped light", "dropped lights"], Loss).but(Note, "obj geometry"),
    row("left-out-lines", ["dropped line", "dropped lines"], Loss).but(Note, "stl pbrt tables splats"),
    row("left-out-maps", ["dropped texture map", "dropped texture maps"], Loss).but(Note, "geometry"),
    row("left-out-material-properties", ["dropped property of a material", "dropped properties of materials"], Loss).but(Note, "glb geometry"),
    row("left-out-materials", ["dropped material", "dropped materials"], Loss).but(Note, "geometry"),
    row("left-out-media", ["dropped medium", "dropped media"], Loss).but(Note, "obj glb geometry"),
    row("left-out-meshes", ["dropped mesh", "dropped meshes"], Loss),
    row("left-out-morph-targets", ["dropped morph target", "dropped morph targets"], Loss).but(Note, "still"),
    row("left-out-motion", ["dropped motion", "dropped motions"], Loss).but(Note, "obj geometry"),
    row("left-out-names", ["dropped name", "dropped names"], Loss).but(Note, "pbrt geometry"),
    row("left-out-nodes", ["dropped node", "dropped nodes"], Loss),
    row("left-out-normals", ["dropped normal", "dropped normals"], Loss).but(Note, "stl off pts splats"),
    row("left-out-objects", ["object without elements", "objects without elements"], Loss),
    row("left-out-occlusion-maps", ["dropped occlusion map", "dropped occlusion maps"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-parts", ["dropped part", "dropped parts"], Loss),
    row("left-out-points", ["dropped point", "dropped points"], Loss).but(Note, "ply stl pbrt tables splats"),
    row("left-out-primitives", ["dropped primitive", "dropped primitives"], Loss),
    row("left-out-remarks", ["dropped comment", "dropped comments"], Note),
    row("left-out-settings", ["dropped renderer setting", "dropped renderer settings"], Loss).but(Note, "obj glb geometry"),
    row("left-out-shapes", ["dropped shape", "dropped shapes"], Loss),
    row("left-out-sharp-edges", ["dropped sharp edge", "dropped sharp edges"], Loss).but(Note, "pbrt glb geometry"),
    row("left-out-skin-weights", ["vertex without its skin weights", "vertices without their skin weights"], Loss).but(Note, "still"),
    row("left-out-skins", ["dropped skin", "dropped skins"], Loss).but(Note, "still"),
    row("left-out-slices", ["dropped slice", "dropped slices"], Loss),
    row("left-out-smoothing", ["dropped smoothing setting", "dropped smoothing settings"], Loss).but(Note, "pbrt glb geometry"),
    row("left-out-tables", ["dropped table", "dropped tables"], Loss).but(Note, "obj stl off pbrt glb splats"),
    row("left-out-tangents", ["dropped tangent", "dropped tangents"], Loss).but(Note, "obj stl off xyz pts splats"),
    row("left-out-texture-coordinates", ["texture with another UV set", "textures with another UV set"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-texture-rotations", ["dropped rotation of a texture", "dropped rotations of textures"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-textures", ["dropped texture", "dropped textures"], Loss).but(Note, "geometry"),
    row("left-out-unlit", ["unlit material made lit", "unlit materials made lit"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-uv-depths", ["dropped `w` coordinate of a UV", "dropped `w` coordinates of UVs"], Loss).but(Note, "stl off xyz pts pbrt glb splats"),
    row("left-out-uvs", ["dropped UV", "dropped UVs"], Loss).but(Note, "stl xyz pts splats"),
    row("left-out-vertex-groups", ["dropped vertex group", "dropped vertex groups"], Loss).but(Note, "obj stl off xyz pts pbrt glb splats"),
    row("left-out-vertices", ["unused vertex", "unused vertices"], Loss).but(Note, "stl pbrt"),
    row("left-out-visibility", ["hidden node made visible", "hidden nodes made visible"], Loss).but(Note, "obj pbrt geometry"),
    row("left-out-weights", ["dropped position weight", "dropped position weights"], Loss).but(Note, "stl off xyz pts pbrt glb splats"),
    row("left-out-wrap-modes", ["dropped wrap mode", "dropped wrap modes"], Loss).but(Note, "geometry"),
    row("listed-node", ["redundant scene node", "redundant scene nodes"], Fault),
    row("malformed", ["malformed statement", "malformed statements"], Fault),
    row("misaligned-accessor", ["misaligned accessor", "misaligned accessors"], Fault),
    row("mismatched-scopes", ["mismatched scope", "mismatched scopes"], Fault),
    row("missing-color", ["missing color", "missing colors"], Loss),
    row("missing-coordinate-system", ["undefined coordinate system", "undefined coordinate systems"], Fault),
    row("missing-corner-value", ["missing UV or normal", "missing UVs or normals"], Fault),
    row("missing-endsolid", ["missing `endsolid`", "missing `endsolid`s"], Fault),
    row("missing-file", ["unreadable file", "unreadable files"], Fault),
    row("missing-file-name", ["missing file name", "missing file names"], Fault),
    row("missing-library", ["unreadable material library", "unreadable material libraries"], Loss),
    row("missing-material", ["undefined material", "undefined materials"], Loss),
    row("missing-merged-image", ["missing merged image", "missing merged images"], Loss),
    row("missing-mesh", ["missing mesh", "missing meshes"], Fault),
    row("missing-name", ["missing name", "missing names"], Fault),
    row("missing-number", ["missing number", "missing numbers"], Fault),
    row("missing-object", ["undefined object", "undefined objects"], Fault),
    row("missing-operand", ["missing operand", "missing operands"], Fault),
    row("missing-parameter", ["missing parameter", "missing parameters"], Fault),
    row("missing-property", ["missing property", "missing properties"], Fault),
    row("missing-reference", ["reference to a missing file", "references to missing files"], Loss),
    row("missing-slot", ["material slot without a material", "material slots without a material"], Loss),
    row("missing-texture", ["missing texture", "missing textures"], Loss),
    row("missing-value", ["missing value", "missing values"], Fault),
    row("mixed-corners", ["element with mixed corners", "elements with mixed corners"], Fault),
    row("nested-object", ["nested object", "nested objects"], Fault),
    row("no-values", ["parameter without values", "parameters without values"], Fault),
    row("no-world", ["missing `WorldBegin`", "missing `WorldBegin`s"], Fault),
    row("non-finite", ["number that is not finite", "numbers that are not finite"], Loss),
    row("non-utf8-name", ["name that is not UTF-8", "names that are not UTF-8"], Loss),
    row("not-a-number", ["value that is not a number", "values that are not numbers"], Fault),
    row("not-compressed", ["file that is not compressed as its name says", "files that are not compressed as their names say"], Fault),
    row("odd-property", ["unusual property", "unusual properties"], Fault),
    row("odd-statement", ["unusual statement", "unusual statements"], Fault),
    row("old-syntax", ["outdated statement", "outdated statements"], Fault),
    row("old-version", ["outdated name", "outdated names"], Fault),
    row("other-case", ["name that differs in case", "names that differ in case"], Note),
    row("other-format", ["file that looks like another format", "files that look like another format"], Note),
    row("out-of-range", ["value out of range", "values out of range"], Fault),
    row("outside-mesh", ["mesh outside the scene's folder", "meshes outside the scene's folder"], Note),
    row("outside-reference", ["reference outside the scene's folder", "references outside the scene's folder"], Loss),
    row("outside-texture", ["texture outside the scene's folder", "textures outside the scene's folder"], Note),
    row("point-count", ["wrong number of points", "wrong numbers of points"], Fault),
    row("ragged-row", ["row of a different length", "rows of a different length"], Fault),
    row("redefined", ["repeated definition", "repeated definitions"], Fault),
    row("repeated-parameter", ["repeated parameter", "repeated parameters"], Fault),
    row("repeated-statement", ["repeated statement", "repeated statements"], Fault),
    row("rounded", ["rounded number", "rounded numbers"], Loss).by_value(),
    row("short-face", ["face with fewer than 3 corners", "faces with fewer than 3 corners"], Fault),
    row("statement-outside-material", ["statement outside a material", "statements outside a material"], Fault),
    row("stray-bytes", ["stray byte", "stray bytes"], Fault),
    row("too-many-parameters", ["parameter above the maximum", "parameters above the maximum"], Fault),
    row("trailing-bytes", ["piece of trailing data", "pieces of trailing data"], Fault),
    row("trailing-data", ["piece of trailing data", "pieces of trailing data"], Fault),
    row("trailing-garbage", ["piece of trailing garbage", "pieces of trailing garbage"], Fault),
    row("transform-begin", ["outdated `TransformBegin`", "outdated `TransformBegin`s"], Note),
    row("truncated", ["truncated file", "truncated files"], Fault),
    row("unapplied-orientation", ["unapplied orientation", "unapplied orientations"], Loss),
    row("unapplied-swizzle", ["unapplied swizzle", "unapplied swizzles"], Loss),
    row("unchecked-mesh", ["unchecked mesh", "unchecked meshes"], Note),
    row("unchecked-texture", ["unchecked texture", "unchecked textures"], Note),
    row("unclosed-list", ["unclosed list", "unclosed lists"], Fault),
    row("unclosed-quote", ["unclosed quote", "unclosed quotes"], Fault),
    row("unclosed-scope", ["unclosed scope", "unclosed scopes"], Fault),
    row("uncopied-reference", ["reference that was not copied", "references that were not copied"], Loss),
    row("undeclared-alpha", ["undeclared alpha channel", "undeclared alpha channels"], Fault),
    row("undefined-material", ["undefined material", "undefined materials"], Fault),
    row("undefined-medium", ["undefined medium", "undefined media"], Fault),
    row("undefined-texture", ["undefined texture", "undefined textures"], Fault),
    row("unexpected-token", ["unexpected token", "unexpected tokens"], Fault),
    row("unknown-class", ["unknown name of a plugin", "unknown names of plugins"], Fault),
    row("unknown-color-space", ["unknown color space", "unknown color spaces"], Fault),
    row("unknown-directive", ["unknown directive", "unknown directives"], Fault),
    row("unknown-option", ["unknown option", "unknown options"], Fault),
    row("unknown-parameter", ["unknown parameter", "unknown parameters"], Fault),
    row("unknown-statement", ["unknown statement", "unknown statements"], Fault),
    row("unmatched-end", ["unmatched end", "unmatched ends"], Fault),
    row("unpadded-chunk", ["chunk without padding", "chunks without padding"], Fault),
    row("unresolved-reference", ["unresolved reference", "unresolved references"], Loss),
    row("unsupported-statement", ["unsupported statement", "unsupported statements"], Loss),
    row("unterminated-string", ["unterminated string", "unterminated strings"], Fault),
    row("unused-alpha", ["unused alpha channel", "unused alpha channels"], Note),
    row("wrong-block", ["misplaced directive", "misplaced directives"], Fault),
    row("wrong-count", ["wrong number of values", "wrong numbers of values"], Fault),
    row("wrong-file-size", ["wrong file size", "wrong file sizes"], Fault),
];

/// The row of a kind.
pub fn kind(code: &str) -> Option<&'static WarningKind> {
    KINDS.get(position(code)?)
}

fn position(code: &str) -> Option<usize> {
    KINDS.binary_search_by(|kind| kind.code.cmp(code)).ok()
}

/// The severity of a kind in a conversion to `target`; that of a fault if it is not in the table.
pub fn severity(code: &str, target: &str) -> Severity {
    let kind = kind(code);
    debug_assert!(kind.is_some(), "`{code}` is not in the table of kinds of warnings");
    kind.map_or(Fault, |kind| kind.severity_for(target))
}

/// Describes `count` warnings of a kind: `undefined materials`. Kinds that are not in the table are named:
/// `` `odd` warnings ``.
pub fn kind_words(code: &str, count: u64) -> Cow<'static, str> {
    let is_many = count != 1;
    match kind(code) {
        Some(kind) => Cow::Borrowed(kind.words[usize::from(is_many)]),
        None => Cow::Owned(format!("`{code}` warning{}", if is_many { "s" } else { "" })),
    }
}

/// Which warnings are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strict {
    /// None.
    #[default]
    Off,
    /// Losses and faults.
    Losses,
    /// All, notes too.
    All,
}

impl From<bool> for Strict {
    fn from(is_strict: bool) -> Strict {
        if is_strict { Strict::Losses } else { Strict::Off }
    }
}

/// A set of kinds of warnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindSet {
    /// A bit for each row of the table.
    bits: [u64; KIND_COUNT.div_ceil(64)],
}

impl KindSet {
    /// Whether a kind is in the set.
    pub fn contains(&self, code: &str) -> bool {
        position(code).is_some_and(|at| self.has_row(at))
    }

    fn has_row(&self, at: usize) -> bool {
        self.bits[at / 64] & (1 << (at % 64)) != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bits == KindSet::default().bits
    }

    /// The codes in the set, in alphabetical order.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        let set = *self;
        KINDS.iter().enumerate().filter(move |&(at, _)| set.has_row(at)).map(|(_, kind)| kind.code)
    }

    /// The kinds of both sets.
    #[must_use]
    pub fn union(self, other: KindSet) -> KindSet {
        KindSet { bits: std::array::from_fn(|at| self.bits[at] | other.bits[at]) }
    }

    /// Adds a kind.
    ///
    /// # Errors
    /// The message for a kind that does not exist, with the nearest one that does.
    pub fn insert(&mut self, code: &str) -> Result<(), String> {
        let Some(at) = position(code) else {
            return Err(format!("there is no kind of warning `{code}`; did you mean `{}`?", nearest(code)));
        };
        self.bits[at / 64] |= 1 << (at % 64);
        Ok(())
    }
}

/// The code of the table that needs the fewest edits to become `code`.
fn nearest(code: &str) -> &'static str {
    let code = code.to_ascii_lowercase().replace('_', "-");
    let distance = |kind: &&WarningKind| edits(kind.code.as_bytes(), code.as_bytes());
    KINDS.iter().min_by_key(distance).map_or("", |kind| kind.code)
}

/// How many bytes must be inserted, removed or replaced to turn `a` into `b`: Levenshtein's distance. Text beyond the
/// longest code counts as inserted.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let rest = b.len().saturating_sub(MAX_CODE_BYTES);
    let b = &b[..b.len() - rest];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (number, &byte) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], number + 1);
        for at in 0..b.len() {
            let replaced = diagonal + usize::from(byte != b[at]);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()] + rest
}

/// No code is longer.
const MAX_CODE_BYTES: usize = 64;

/// Which warnings are errors, and which kinds pass anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strictness {
    /// The severities that are errors.
    pub level: Strict,
    /// Kinds that are warnings all the same.
    pub allow: KindSet,
}

impl Strictness {
    /// Whether a warning of this kind and severity is an error.
    pub fn refuses(&self, code: &str, severity: Severity) -> bool {
        let is_severe = match self.level {
            Strict::Off => false,
            Strict::Losses => severity > Note,
            Strict::All => true,
        };
        is_severe && !self.allow.contains(code)
    }
}

impl<T: Into<Strict>> From<T> for Strictness {
    fn from(level: T) -> Strictness {
        Strictness { level: level.into(), allow: KindSet::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;

    #[test]
    fn the_table_is_sorted_and_names_formats() {
        assert!(KINDS.is_sorted_by(|a, b| a.code < b.code));
        for kind in &KINDS {
            assert!(kind.code.len() < MAX_CODE_BYTES && kind.words[0] != kind.words[1], "{kind:?}");
            let Some((severity, targets)) = kind.exception() else { continue };
            assert!(severity != kind.severity && !targets.is_empty(), "{kind:?}");
            for target in targets {
                assert!(
                    ["obj", "pbrt", "glb", "exr"].contains(&target)
                        || GROUPS.iter().any(|(_, names)| names.contains(&target)),
                    "{target} of {kind:?}"
                );
            }
        }
    }

    #[test]
    fn targets_have_severities_of_their_own() {
        assert_eq!(severity("left-out-uvs", "stl"), Note);
        assert_eq!(severity("left-out-uvs", "ply"), Loss);
        assert_eq!(severity("left-out-uvs", ""), Loss);
        assert_eq!(severity("left-out-columns", "compressed.ply"), Note);
        assert_eq!(severity("index-out-of-range", "stl"), Fault);
    }

    #[test]
    fn kinds_have_words() {
        assert_eq!(kind_words("missing-material", 1), "undefined material");
        assert_eq!(kind_words("missing-material", 60), "undefined materials");
        assert_eq!(kind_words("odd", 2), "`odd` warnings");
    }

    #[test]
    fn sets_of_kinds_are_lists() {
        let set = KindSet::parse("wrong-count, left-out-uvs").unwrap();
        assert_eq!(set.print(), "left-out-uvs,wrong-count");
        assert!(set.contains("left-out-uvs") && !set.contains("left-out-names") && !set.contains("odd"));
        assert!(KindSet::parse("").unwrap().is_empty());
        let error = KindSet::parse("left_out_uv").unwrap_err();
        assert_eq!(error, "there is no kind of warning `left_out_uv`; did you mean `left-out-uvs`?");
        assert!(KindSet::parse(&"x".repeat(100_000)).is_err());
    }

    #[test]
    fn strict_refuses_losses_and_faults_except_those_allowed() {
        let losses = Strictness::from(true);
        let refused =
            |strictness: Strictness| Severity::ALL.map(|severity| strictness.refuses("left-out-uvs", severity));
        assert_eq!(refused(Strictness::default()), [false; 3]);
        assert_eq!(refused(losses), [false, true, true]);
        assert_eq!(refused(Strict::All.into()), [true; 3]);
        let allow = KindSet::parse("left-out-uvs").unwrap();
        assert_eq!(refused(Strictness { level: Strict::All, allow }), [false; 3]);
        for (text, strict) in [("true", Strict::Losses), ("losses", Strict::Losses), ("off", Strict::Off)] {
            assert_eq!(Strict::parse(text), Ok(strict));
        }
        assert_eq!(Strict::parse("yes"), Err("expected false, true or all".into()));
    }
}
