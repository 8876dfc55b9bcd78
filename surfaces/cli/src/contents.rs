//! Formats the contents of files, as tables for people and as JSON.
//!
//! `polyhaul::inspect` collects the contents; `channels` formats the parts of EXR files.

use crate::channels::{self, NamedChannel, PartOfFile};
use crate::human;
use polyhaul::inspect::{
    ColumnSummary, Contents, Declared, DeclaredProperty, FileSummary, ImageSummary, Inventory, Number, RenderContents,
    RenderInventory, TextureSummary,
};
use polyhaul::model::{Bounds, Channels, ColorSpace, Scalar};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of names per row of a table.
const NAMES: usize = 8;

/// Maximum number of columns to show of a table of numbers.
const COLUMNS: usize = 40;

/// An inventory in JSON.
#[derive(Serialize)]
pub struct Listed<'a> {
    #[serde(flatten, serialize_with = "counts")]
    contents: Contents,
    bounds: Option<Extent>,
    object_names: &'a [String],
    material_names: &'a [String],
    material_libraries: &'a [String],
    texture_files: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<ContentsHeader<'a>>,
    /// The number of rows in a table of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<ContentsNumbers<'a>>,
    /// The counts of a renderer scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    render: Option<Rendered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Pixels>,
}

/// The sums of several inventories in JSON.
#[derive(Serialize)]
pub struct Summed {
    #[serde(flatten, serialize_with = "counts")]
    contents: Contents,
    bounds: Option<Extent>,
    /// The total number of rows in tables of numbers.
    rows: u64,
    /// The counts of renderer scenes, or `null` if there are none.
    render: Option<SummedRender>,
}

#[derive(Serialize)]
struct SummedRender {
    #[serde(flatten, serialize_with = "render_counts")]
    contents: RenderContents,
}

impl Summed {
    /// Creates the sums from an inventory to which all other inventories were added.
    pub fn new(sum: &Inventory) -> Summed {
        Summed {
            contents: sum.contents,
            bounds: sum.bounds.map(Extent::from),
            rows: sum.rows,
            render: sum.render.as_ref().map(|render| SummedRender { contents: render.contents }),
        }
    }
}

/// The properties of an image.
#[derive(Serialize)]
pub struct Pixels {
    width: usize,
    height: usize,
    channels: &'static str,
    bits: u32,
    color_space: &'static str,
    premultiplied: bool,
    /// Properties of textures.
    #[serde(skip_serializing_if = "Option::is_none")]
    texture: Option<Levels>,
    /// The channels other than color and alpha.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra: Vec<NamedChannel>,
    /// The names of the file's attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<String>,
    /// The parts of a multi-part file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartOfFile>,
}

/// Properties of a texture beyond its first image.
#[derive(Serialize)]
struct Levels {
    encoding: String,
    levels: usize,
    depth: usize,
    layers: usize,
    faces: usize,
}

/// The contents of a renderer scene.
#[derive(Serialize)]
struct Rendered<'a> {
    #[serde(flatten, serialize_with = "render_counts")]
    contents: RenderContents,
    classes: BTreeMap<&'a str, u64>,
    directives: BTreeMap<&'a str, u64>,
    /// By kind of file.
    files: BTreeMap<&'a str, ContentsFiles>,
    texture_files: &'a [String],
    missing_textures: &'a [String],
    outside_textures: &'a [String],
}

/// The files of one kind.
#[derive(Serialize)]
struct ContentsFiles {
    count: u64,
    missing: u64,
    bytes: u64,
    plain_bytes: Option<u64>,
}

/// A column of a table of numbers.
#[derive(Serialize)]
struct ContentsNumbers<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    scalar: &'static str,
    count: u64,
    min: Option<ContentsEnd>,
    max: Option<ContentsEnd>,
}

/// The minimum or maximum of a column. Infinity is `null`, since JSON cannot represent it.
#[derive(Serialize)]
#[serde(untagged)]
enum ContentsEnd {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl ContentsEnd {
    fn from_number(number: Number) -> Option<ContentsEnd> {
        match number {
            Number::Integer(value) => match i64::try_from(value) {
                Ok(value) => Some(ContentsEnd::Signed(value)),
                Err(_) => u64::try_from(value).ok().map(ContentsEnd::Unsigned),
            },
            Number::Float(value) => value.is_finite().then_some(ContentsEnd::Float(value)),
        }
    }
}

impl<'a> ContentsNumbers<'a> {
    fn from_column(column: &'a ColumnSummary) -> Self {
        let [min, max] = match column.range {
            Some(range) => range.map(ContentsEnd::from_number),
            None => [None, None],
        };
        ContentsNumbers { name: &column.name, scalar: number_type(column.scalar), count: column.count, min, max }
    }
}

/// The declarations in a PLY file's header.
#[derive(Serialize)]
struct ContentsHeader<'a> {
    format: &'a str,
    elements: Vec<ContentsElement<'a>>,
    comments: &'a [String],
    obj_infos: &'a [String],
}

#[derive(Serialize)]
struct ContentsElement<'a> {
    name: &'a str,
    count: u64,
    properties: Vec<ContentsProperty<'a>>,
}

#[derive(Serialize)]
struct ContentsProperty<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    scalar: &'static str,
    /// The count type of a list property.
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<&'static str>,
}

/// A bounding box.
#[derive(Serialize)]
pub struct Extent {
    min: [f64; 3],
    max: [f64; 3],
}

impl From<Bounds<f64>> for Extent {
    fn from(Bounds { min, max }: Bounds<f64>) -> Extent {
        Extent { min, max }
    }
}

impl<'a> Listed<'a> {
    /// Lists the counts and names of an inventory.
    pub fn new(inventory: &'a Inventory) -> Self {
        Listed {
            contents: inventory.contents,
            bounds: inventory.bounds.map(Extent::from),
            object_names: &inventory.object_names,
            material_names: &inventory.material_names,
            material_libraries: &inventory.material_libraries,
            texture_files: &inventory.texture_files,
            header: inventory.declared.as_ref().map(ContentsHeader::new),
            rows: (!inventory.columns.is_empty()).then_some(inventory.rows),
            columns: inventory.columns.iter().map(ContentsNumbers::from_column).collect(),
            render: inventory.render.as_ref().map(Rendered::from_render),
            image: inventory.image.as_ref().map(Pixels::from_image),
        }
    }
}

impl Pixels {
    /// Converts the properties to the stable names that JSON uses.
    pub fn from_image(image: &ImageSummary) -> Pixels {
        let &ImageSummary { width, height, bits, premultiplied, .. } = image;
        let channels = match image.channels {
            Channels::Gray => "gray",
            Channels::GrayAlpha => "gray-alpha",
            Channels::Rgb => "rgb",
            Channels::Rgba => "rgba",
        };
        let color_space = match image.color_space {
            ColorSpace::Srgb => "srgb",
            ColorSpace::Linear => "linear",
        };
        Pixels {
            width,
            height,
            channels,
            bits,
            color_space,
            premultiplied,
            texture: image.texture.as_ref().map(Levels::from_texture),
            extra: image.extra.iter().map(NamedChannel::from_channel).collect(),
            attributes: image.attributes.clone(),
            parts: image.parts.iter().map(PartOfFile::from_part).collect(),
        }
    }

    /// Describes the image: `2048 x 2048 pixels, rgb, 8 bits, srgb`. For a texture, `, bc7, 12 levels` follows.
    pub fn words(&self) -> String {
        let Pixels { width, height, channels, bits, color_space, premultiplied, texture, .. } = self;
        let alpha = if *premultiplied { ", premultiplied" } else { "" };
        let texture = texture.as_ref().map(Levels::words).unwrap_or_default();
        let extra = match self.extra.len() {
            0 => String::new(),
            1 => ", 1 more channel".into(),
            count => format!(", {count} more channels"),
        };
        format!("{width} x {height} pixels, {channels}, {bits} bits, {color_space}{alpha}{texture}{extra}")
    }
}

impl Levels {
    fn from_texture(texture: &TextureSummary) -> Levels {
        let TextureSummary { levels, depth, layers, faces, .. } = *texture;
        Levels { encoding: texture.encoding.to_string(), levels, depth, layers, faces }
    }

    fn words(&self) -> String {
        let Levels { encoding, levels, depth, layers, faces } = self;
        let several = [(levels, "levels"), (depth, "slices"), (layers, "layers"), (faces, "faces")];
        let several = several.into_iter().filter(|(count, _)| **count > 1);
        several.fold(format!(", {encoding}"), |words, (count, what)| format!("{words}, {count} {what}"))
    }
}

impl<'a> Rendered<'a> {
    fn from_render(render: &'a RenderInventory) -> Self {
        let by_name =
            |counts: &'a [(String, u64)]| counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let files = |&FileSummary { kind, count, missing, bytes, plain_bytes }: &FileSummary| {
            (kind, ContentsFiles { count, missing, bytes, plain_bytes })
        };
        Rendered {
            contents: render.contents,
            classes: by_name(&render.classes),
            directives: by_name(&render.directives),
            files: render.files.iter().map(files).collect(),
            texture_files: &render.texture_files,
            missing_textures: &render.missing_textures,
            outside_textures: &render.outside_textures,
        }
    }
}

impl<'a> ContentsHeader<'a> {
    fn new(declared: &'a Declared) -> Self {
        let property = |property: &'a DeclaredProperty| ContentsProperty {
            name: &property.name,
            scalar: type_name(property.scalar),
            list: property.count.map(type_name),
        };
        let elements = declared.elements.iter().map(|element| ContentsElement {
            name: &element.name,
            count: element.count,
            properties: element.properties.iter().map(property).collect(),
        });
        let Declared { format, comments, infos, .. } = declared;
        ContentsHeader { format, elements: elements.collect(), comments, obj_infos: infos }
    }
}

/// The PLY name of a scalar type.
fn type_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I8 => "char",
        Scalar::U8 => "uchar",
        Scalar::I16 => "short",
        Scalar::U16 => "ushort",
        Scalar::I32 => "int",
        Scalar::U32 => "uint",
        Scalar::I64 => "int64",
        Scalar::U64 => "uint64",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The numpy name of a scalar type.
fn number_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I8 => "int8",
        Scalar::U8 => "uint8",
        Scalar::I16 => "int16",
        Scalar::U16 => "uint16",
        Scalar::I32 => "int32",
        Scalar::U32 => "uint32",
        Scalar::I64 => "int64",
        Scalar::U64 => "uint64",
        Scalar::F32 => "float32",
        Scalar::F64 => "float64",
    }
}

/// Serializes the counts as keys of a JSON object.
pub fn counts<S: Serializer>(contents: &Contents, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(contents.by_name())
}

fn render_counts<S: Serializer>(contents: &RenderContents, to: S) -> Result<S::Ok, S::Error> {
    let with_known = |(name, count)| (name, Some(count).filter(|_| is_known(contents, name)));
    to.collect_map(contents.by_name().map(with_known))
}

/// Whether a count is complete. Counts of positions and triangles are incomplete if meshes were not read.
fn is_known(contents: &RenderContents, name: &str) -> bool {
    contents.unread_meshes == 0 || !matches!(name, "positions" | "unique_triangles" | "instanced_triangles")
}

/// Formats the table for people.
pub fn table(inventory: &Inventory) -> String {
    if let Some(image) = &inventory.image {
        let pixels = Pixels::from_image(image);
        return format!("  {}\n", pixels.words()) + &channels::lines(&pixels.extra, &pixels.attributes, &pixels.parts);
    }
    match &inventory.render {
        Some(render) => {
            let bounds = inventory.bounds.map(|bounds| wide_bounds_row(Some(bounds), 20));
            render_rows(render) + &bounds.unwrap_or_default()
        }
        None if inventory.columns.is_empty() => scene_rows(inventory),
        None => column_rows(inventory),
    }
}

/// The rows of a renderer scene; empty categories are omitted.
fn render_rows(render: &RenderInventory) -> String {
    let mut text = String::new();
    let mut row = |name: &str, count: u64, note: String| {
        let note = if note.is_empty() { note } else { format!("  {note}") };
        let _ = writeln!(text, "  {name:<20}{:>14}{note}", human::count(count));
    };
    let names = |names: &[String]| human::names(names.iter().map(String::as_str), NAMES);
    if !render.directives.is_empty() {
        row("directives", render.directives.iter().map(|(_, count)| count).sum(), by_count(&render.directives));
    }
    for (name, count) in render.contents.by_name() {
        let note = match name {
            "shapes" => by_count(&render.classes),
            "textures" => names(&render.texture_files),
            _ if is_known(&render.contents, name) => String::new(),
            _ => format!("excluding {} that were not read", human::plural(render.contents.unread_meshes, "PLY shape")),
        };
        if count > 0 || name == "shapes" || !is_known(&render.contents, name) {
            row(&name.replace('_', " "), count, note);
        }
    }
    for files in render.files.iter().filter(|files| files.count + files.missing > 0) {
        row(&format!("{} files", files.kind), files.count, stored(files));
    }
    if !render.missing_textures.is_empty() {
        row("missing textures", render.missing_textures.len() as u64, names(&render.missing_textures));
    }
    if !render.outside_textures.is_empty() {
        row("outside textures", render.outside_textures.len() as u64, names(&render.outside_textures));
    }
    text
}

/// Lists counts with their names, in descending order.
fn by_count(counts: &[(String, u64)]) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = sorted.iter().take(NAMES);
    let words: Vec<_> = shown.map(|(name, count)| format!("{} {}", human::count(*count), human::safe(name))).collect();
    let more = counts.len().saturating_sub(NAMES);
    words.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// The total size of files, and the number of missing files.
fn stored(files: &FileSummary) -> String {
    let plain = match files.plain_bytes {
        Some(plain) if plain != files.bytes => format!(", {} decompressed", human::bytes(plain)),
        Some(_) => String::new(),
        None => ", not read".into(),
    };
    let missing = if files.missing > 0 { format!(", {} missing", human::count(files.missing)) } else { String::new() };
    format!("{}{plain}{missing}", human::bytes(files.bytes))
}

/// The rows of a table of numbers: its size, and one row per column.
fn column_rows(inventory: &Inventory) -> String {
    let Inventory { rows, columns, bounds, .. } = inventory;
    let mut text = format!(
        "  {:<10}{:>14}\n  {:<10}{:>14}\n",
        "rows",
        human::count(*rows),
        "columns",
        human::count(columns.len() as u64)
    );
    let end = |number: Number| match number {
        Number::Integer(value) => value.to_string(),
        Number::Float(value) => human::number(value),
    };
    for (place, column) in columns.iter().enumerate().take(COLUMNS) {
        let name = if column.name.is_empty() { place.to_string() } else { human::safe(&column.name) };
        let ends = column.range.map_or("no numbers".to_owned(), |[min, max]| format!("{} to {}", end(min), end(max)));
        let missing = match rows.saturating_sub(column.count) {
            0 => String::new(),
            missing => format!(", {} missing", human::count(missing)),
        };
        let _ = writeln!(text, "    {name:<12} {:<8}  {ends}{missing}", number_type(column.scalar));
    }
    if columns.len() > COLUMNS {
        let _ = writeln!(text, "    and {} more", human::count((columns.len() - COLUMNS) as u64));
    }
    if bounds.is_some() {
        text.push_str(&bounds_row(*bounds));
    }
    text
}

/// The rows of a scene.
fn scene_rows(inventory: &Inventory) -> String {
    let c = &inventory.contents;
    let mut text = inventory.declared.as_ref().map(header_rows).unwrap_or_default();
    let mut row = |name: &str, count: u64, note: String| {
        let note = if note.is_empty() { note } else { format!("  {note}") };
        let _ = writeln!(text, "  {name:<10}{:>14}{note}", human::count(count));
    };
    row("objects", c.objects, named(&inventory.object_names));
    row("positions", c.positions, if c.colors > 0 { "with colors".into() } else { String::new() });
    row("uvs", c.uvs, String::new());
    row("normals", c.normals, String::new());
    row("faces", c.faces, sizes(c));
    row("corners", c.corners, String::new());
    for (name, count) in [("lines", c.lines), ("points", c.points), ("curves", c.curves), ("groups", c.groups)] {
        if count > 0 {
            row(name, count, String::new());
        }
    }
    row("materials", c.materials, named(&inventory.material_names));
    if c.missing_materials > 0 {
        row("undefined", c.missing_materials, String::new());
    }
    if c.textures > 0 {
        row("textures", c.textures, named(&inventory.texture_files));
    }
    text.push_str(&bounds_row(inventory.bounds));
    text
}

/// The rows of a header: the format, and each element with its properties grouped by type.
fn header_rows(declared: &Declared) -> String {
    let mut text = format!("  {:<10}{:>14}  {}\n", "format", "", declared.format);
    for element in &declared.elements {
        let runs = element.properties.chunk_by(|a, b| (a.scalar, a.count) == (b.scalar, b.count));
        let runs: Vec<&[DeclaredProperty]> = runs.collect();
        let shown = runs.iter().take(NAMES).map(|run| {
            let kind = match run[0].count {
                Some(count) => format!("list {} {}", type_name(count), type_name(run[0].scalar)),
                None => type_name(run[0].scalar).to_owned(),
            };
            format!("{kind} {}", human::names(run.iter().map(|property| property.name.as_str()), NAMES))
        });
        let name = human::safe(&element.name);
        let mut properties = shown.collect::<Vec<_>>().join("; ");
        let more: usize = runs.iter().skip(NAMES).map(|run| run.len()).sum();
        if more > 0 {
            properties.push_str(&format!("; and {} more", human::count(more as u64)));
        }
        let _ = writeln!(text, "  {name:<10}{:>14}  {properties}", human::count(element.count));
    }
    text
}

fn sizes(c: &Contents) -> String {
    let sizes = [("triangle", c.triangles), ("quad", c.quads), ("larger", c.polygons)];
    let present = sizes.into_iter().filter(|(_, count)| *count > 0);
    let words = present.map(|(word, count)| match word {
        "larger" => format!("{} larger", human::count(count)),
        _ => human::plural(count, word),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn bounds_row(bounds: Option<Bounds<f64>>) -> String {
    wide_bounds_row(bounds, 10)
}

/// The row of the bounding box, with a name column of `width` characters.
pub fn wide_bounds_row(bounds: Option<Bounds<f64>>, width: usize) -> String {
    match bounds {
        Some(Bounds { min: [a, b, c], max: [x, y, z] }) => {
            let [a, b, c, x, y, z] = [a, b, c, x, y, z].map(human::coordinate);
            format!("  {:<width$}{:>14}  {a} {b} {c} to {x} {y} {z}\n", "bounds", "")
        }
        None => format!("  {:<width$}{:>14}\n", "bounds", "none"),
    }
}

fn named(names: &[String]) -> String {
    let named: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    human::names(named.into_iter(), NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let contents = Contents { faces: 2, triangles: 1, quads: 1, ..Contents::default() };
        let bounds = Some(Bounds { min: [0.0, 0.0, -2.0], max: [1.0, 1.0, 0.0] });
        Inventory { contents, bounds, material_names: vec!["paint".into()], ..Inventory::default() }
    }

    #[test]
    fn json_has_counts_bounds_and_names() {
        let value = serde_json::to_value(Listed::new(&inventory())).unwrap();
        assert_eq!((&value["faces"], &value["curves"]), (&2.into(), &0.into()));
        assert_eq!((&value["bounds"]["min"][2], &value["material_names"][0]), (&(-2.0).into(), &"paint".into()));
        let value = serde_json::to_value(Listed::new(&Inventory::default())).unwrap();
        assert!(value["bounds"].is_null());
    }

    #[test]
    fn headers_are_shown() {
        let property = |name: &str, scalar, count| DeclaredProperty { name: name.into(), scalar, count };
        let properties = vec![
            property("x", Scalar::F32, None),
            property("y", Scalar::F32, None),
            property("tags", Scalar::I16, Some(Scalar::U8)),
        ];
        let elements = vec![polyhaul::inspect::DeclaredElement { name: "vertex".into(), count: 3, properties }];
        let declared = Some(Declared { format: "PLY ascii", elements, ..Declared::default() });
        let inventory = Inventory { declared, ..inventory() };
        let lines = table(&inventory);
        assert!(lines.contains("  format                    PLY ascii\n"), "{lines}");
        assert!(lines.contains("  vertex                 3  float x, y; list uchar short tags\n"), "{lines}");
        let value = serde_json::to_value(Listed::new(&inventory)).unwrap();
        assert_eq!(value["header"]["elements"][0]["properties"][2]["list"], "uchar");
        // Properties that are not shown are counted.
        let types = [Scalar::F32, Scalar::I16];
        let properties = (0..=NAMES + 1).map(|at| property("p", types[at % 2], None)).collect();
        let elements = vec![polyhaul::inspect::DeclaredElement { name: "vertex".into(), count: 3, properties }];
        let lines = header_rows(&Declared { format: "PLY ascii", elements, ..Declared::default() });
        assert!(lines.ends_with("; short p; and 2 more\n"), "{lines}");
    }

    fn render(unread_meshes: u64) -> RenderInventory {
        let contents = RenderContents { shapes: 5, unique_triangles: 7, unread_meshes, ..RenderContents::default() };
        let named = |counts: &[(&str, u64)]| counts.iter().map(|(name, count)| ((*name).into(), *count)).collect();
        let files = |kind, count, missing, bytes, plain_bytes| FileSummary { kind, count, missing, bytes, plain_bytes };
        RenderInventory {
            contents,
            classes: named(&[("curve", 1), ("plymesh", 4)]),
            directives: named(&[("Include", 2), ("Shape", 1000)]),
            files: vec![
                files("pbrt", 3, 0, 1500, Some(20_000)),
                files("ply", 2, 1, 900, Some(900)),
                files("texture", 4, 2, 5000, None),
            ],
            texture_files: vec!["a.png".into(), "b.png".into()],
            missing_textures: vec!["b.png".into()],
            outside_textures: vec!["../c.png".into()],
        }
    }

    #[test]
    fn scenes_for_renderers_are_told_with_their_files() {
        let inventory = |unread| Inventory { render: Some(render(unread)), ..Inventory::default() };
        let lines = table(&inventory(0));
        for line in [
            "  directives                   1,002  1,000 Shape, 2 Include\n",
            "  shapes                           5  4 plymesh, 1 curve\n",
            "  unique triangles                 7\n",
            "  pbrt files                       3  1.5 kB, 20.0 kB decompressed\n",
            "  ply files                        2  900 B, 1 missing\n",
            "  texture files                    4  5.0 kB, not read, 2 missing\n",
            "  missing textures                 1  b.png\n",
            "  outside textures                 1  ../c.png\n",
        ] {
            assert!(lines.contains(line), "{line}{lines}");
        }
        let value = serde_json::to_value(Listed::new(&inventory(0))).unwrap();
        let render = &value["render"];
        assert_eq!((&render["directives"]["Shape"], &render["unique_triangles"]), (&1000.into(), &7.into()));
        let pbrt = serde_json::json!({"count": 3, "missing": 0, "bytes": 1500, "plain_bytes": 20_000});
        assert_eq!((&render["files"]["pbrt"], &render["missing_textures"][0]), (&pbrt, &"b.png".into()));
        assert!(render["files"]["texture"]["plain_bytes"].is_null());
        // Incomplete counts have a note.
        let lines = table(&inventory(4));
        assert!(
            lines.contains("unique triangles                 7  excluding 4 PLY shapes that were not read\n"),
            "{lines}"
        );
        assert!(
            lines.contains("instanced triangles              0  excluding 4 PLY shapes that were not read\n"),
            "{lines}"
        );
        let value = serde_json::to_value(Listed::new(&inventory(4))).unwrap();
        for name in ["positions", "unique_triangles", "instanced_triangles"] {
            assert!(value["render"][name].is_null(), "{name}");
        }
        assert_eq!(value["render"]["unread_meshes"], 4);
    }

    #[test]
    fn tables_line_up() {
        let lines = table(&inventory());
        assert!(lines.contains("  faces                  2  1 triangle, 1 quad\n"), "{lines}");
        assert!(lines.contains("bounds                    0 0 -2 to 1 1 0\n"), "{lines}");
        assert!(table(&Inventory::default()).contains("none"));
    }
}
