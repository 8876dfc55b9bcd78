//! Reads a PLY file as a scene: vertices, faces, strips and edges become a mesh, other elements become tables.
//!
//! The role of each element and property depends only on names and types, and is determined before any row is read
//! ([`plan`]).

use super::header::{EDGE_ENDS, Element, PlyHeader};
use super::packed::{self, is_packed};
use super::reader::{PlyReaderRows, Read, read_header};
use super::rows::PlyOutcome;
use super::scatter::{PlyOp, PlyScatterTarget};
use super::sink::{Check, ListSink, PlyChecked, PlySink};
use super::store::{PlyStore, paired};
use super::tables::{PlyBuilder, PlyTablesHome, columns, offsets, parts, table};
use super::{repair, strips, textures, vectors};
use polyhaul_model::error::{Diagnostic, Error, Result, planted, try_copy, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{
    Column, Domain, Elements, Mesh, NONE, Object, ObjectKind, Precision, Scalar, Scene, Table, Values,
};
use polyhaul_pipeline::column;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::precision::PrecisionWatch;
use std::sync::Arc;

/// Role of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlyRole {
    Table,
    /// Indices of the stores of positions, normals, uvs and colors.
    Vertices([Option<usize>; 4]),
    /// Index of the list of corners, and index of the list of two texture coordinates per corner.
    Faces(usize, Option<usize>),
    /// Index of the list of positions.
    Strips(usize),
    /// Index of the store of position pairs.
    Edges(usize),
}

/// An element with its role.
struct PlyPlanned {
    sink: PlySink,
    homes: Vec<PlyTablesHome>,
    role: PlyRole,
}

/// Name of the element with the edges.
pub(super) const EDGE: &str = "edge";

/// Reads a file as a scene.
pub fn scene(feed: Feed<'_>, options: &ParseOptions) -> Result<Read<Scene>> {
    let file = feed.name().clone();
    let opened = read_header(feed.kept()?, options)?;
    if is_packed(&opened.header) {
        return packed::read(opened);
    }
    let mut sinks = Vec::new();
    let mut roles = Vec::new();
    for PlyPlanned { sink, homes, role } in plan(&opened.header, opened.swap())? {
        try_push(&mut sinks, sink, "elements")?;
        try_push(&mut roles, (homes, role), "elements")?;
    }
    let PlyReaderRows { mut header, outcomes, mut warnings, threads } = opened.rows(&sinks)?;
    let mut made = PlyMade::default();
    for (((element, sink), (homes, role)), outcome) in header.elements.iter().zip(sinks).zip(&roles).zip(&outcomes) {
        // SAFETY: `opened.rows` returned no error, so all rows of all elements were published to their sinks, and
        // `outcome` has their counts.
        unsafe { made.element(element, sink, homes, *role, outcome)? };
        if outcome.rounded {
            let message = format!("numbers of `{}` were rounded to 32-bit floats", names::shown(&element.name));
            let diagnostic = Diagnostic { place: element.place.clone(), ..Diagnostic::new(message) };
            warnings.rounded(options.faults, false, 1, diagnostic)?;
        }
    }
    // Elements before the end of a truncated file may refer to vertices after it.
    if outcomes.iter().any(|outcome| outcome.row_count.is_some()) {
        made.broken = [true; 3];
    }
    made.scale_colors(&header, options, &mut warnings)?;
    note_unusable(&header, options, &mut warnings)?;
    made.settle_positions(options, &file, &mut warnings)?;
    let mut scene = made.finish(&mut warnings)?;
    textures::take_materials(&mut scene, &mut header.comments, options.faults, &mut warnings)?;
    scene.comments = std::mem::take(&mut header.comments);
    scene.infos = std::mem::take(&mut header.infos);
    Ok(Read { content: scene, header, warnings, threads })
}

/// Assigns roles to all elements.
fn plan(header: &PlyHeader, swap: bool) -> Result<Vec<PlyPlanned>> {
    let vertices = header.elements.iter().find(|element| is_vertices(element));
    let has_faces = header.elements.iter().any(|element| element.name == "face" && corners(element).is_some());
    let mut plans = Vec::new();
    for element in &header.elements {
        let builder = PlyBuilder::new(element, swap)?;
        let planned = match (vertices, element.name.as_str()) {
            (Some(vertices), "vertex") if std::ptr::eq(vertices, element) => plan_vertices(builder)?,
            (Some(vertices), "face") if has_faces => plan_faces(builder, vertices)?,
            (Some(vertices), "tristrips") if !has_faces && is_strips(element) => plan_strips(builder, vertices)?,
            (Some(vertices), EDGE) if is_edges(element) => plan_edges(builder, vertices)?,
            _ => plan_table(builder)?,
        };
        try_push(&mut plans, planned, "elements")?;
    }
    Ok(plans)
}

pub(super) fn is_vertices(element: &Element) -> bool {
    element.name == names::VERTEX && group(element, &["x", "y", "z"]).is_some()
}

/// Returns the indices of the properties with these names, if all exist and none is a list.
pub(super) fn group<const N: usize>(element: &Element, names: &[&str; N]) -> Option<[usize; N]> {
    let mut numbers = [0; N];
    for (place, name) in numbers.iter_mut().zip(names) {
        *place = element.property(name).filter(|&at| element.properties[at].count.is_none())?;
    }
    Some(numbers)
}

/// Returns the index of the property with the corner list of faces or strips.
pub(super) fn corners(element: &Element) -> Option<usize> {
    let is_list = |&at: &usize| element.properties[at].count.is_some();
    names::CORNERS.iter().find_map(|name| element.property(name).filter(is_list))
}

/// Warns about elements that do not become part of the mesh despite their names, and about unusual corner lists.
fn note_unusable(header: &PlyHeader, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
    let has_vertices = header.elements.iter().any(is_vertices);
    for element in &header.elements {
        let (code, message) = match element.name.as_str() {
            names::VERTEX if !has_vertices => {
                let missing = ["x", "y", "z"].into_iter().find(|name| group(element, &[name]).is_none());
                let missing = missing.unwrap_or("x");
                let message = format!("`vertex` has no property `{missing}`: it is not read as positions");
                ("missing-property", message)
            }
            "face" if has_vertices => match corners(element).map(|at| &element.properties[at]) {
                None => {
                    let message = "`face` has no list `vertex_indices`: it is not read as faces".to_owned();
                    ("missing-property", message)
                }
                Some(property) if is_float(property.item) => {
                    let message = format!("the indices of `{}` are floating-point numbers", property.name);
                    ("odd-property", message)
                }
                Some(property) if !names::CORNERS[..2].contains(&property.name.as_str()) => {
                    let message = format!("nonstandard list name `{}`; read as `vertex_indices`", property.name);
                    ("odd-property", message)
                }
                Some(_) => continue,
            },
            _ => continue,
        };
        let diagnostic = Diagnostic { place: element.place.clone(), ..Diagnostic::new(message) };
        warnings.note(options.faults, code, diagnostic)?;
    }
    Ok(())
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F32 | Scalar::F64)
}

fn is_strips(element: &Element) -> bool {
    element.properties.len() == 1 && corners(element).is_some()
}

fn is_edges(element: &Element) -> bool {
    let Some([a, b]) = group(element, &EDGE_ENDS).map(|ends| ends.map(|end| element.properties[end].item)) else {
        return false;
    };
    a == b && !is_float(a)
}

fn plan_table(mut builder: PlyBuilder<'_>) -> Result<PlyPlanned> {
    for property in &builder.element.properties {
        builder.keep(property)?;
    }
    Ok(PlyPlanned { sink: builder.sink, homes: builder.homes, role: PlyRole::Table })
}

/// Float colors with fractions are read as 0 to 255 if a channel is at least this: HDR colors are not expected to be
/// that bright.
const MIN_BYTE_COLOR: f32 = 64.0;
/// Property names of texture coordinates.
const UVS: [[&str; 2]; 4] = [["u", "v"], ["s", "t"], ["texture_u", "texture_v"], ["texture_s", "texture_t"]];
/// Property names of colors.
const COLORS: [[&str; 4]; 3] = [
    ["red", "green", "blue", "alpha"],
    ["diffuse_red", "diffuse_green", "diffuse_blue", "diffuse_alpha"],
    ["r", "g", "b", "a"],
];

/// Returns the properties for red, green and blue of vertices, and for alpha if present.
pub(super) fn colors(element: &Element) -> Option<([usize; 3], Option<usize>)> {
    let is_channel =
        |&at: &usize| matches!(element.properties[at].item, Scalar::U8 | Scalar::U16 | Scalar::F32 | Scalar::F64);
    COLORS.iter().find_map(|[red, green, blue, alpha]| {
        let rgb = group(element, &[red, green, blue]).filter(|rgb| rgb.iter().all(is_channel))?;
        Some((rgb, group(element, &[alpha]).map(|[at]| at).filter(is_channel)))
    })
}

/// Returns the properties for the texture coordinates of vertices.
pub(super) fn uvs(element: &Element) -> Option<[usize; 2]> {
    UVS.iter().find_map(|names| group(element, names))
}

fn plan_vertices(mut builder: PlyBuilder<'_>) -> Result<PlyPlanned> {
    let element = builder.element;
    let swap = builder.sink.layout.swap;
    // For each property: its store, its offset in the store's items, and the operation.
    let mut places = Vec::new();
    places.try_reserve_exact(element.properties.len())?;
    places.resize(element.properties.len(), None);
    let op = |target, property: usize| PlyOp::to(target, element.properties[property].item, swap);
    let float = |property: usize| op(PlyScatterTarget::Float, property);
    let mut stores = [None; 4];
    let position = group(element, &["x", "y", "z"]);
    for (kind, axes) in [(0, position), (1, group(element, &["nx", "ny", "nz"]))] {
        let Some(axes) = axes else { continue };
        let name = ["positions", "normals"][kind];
        let is_double = |&property: &usize| element.properties[property].item == Scalar::F64;
        if kind == 0 && axes.iter().all(is_double) {
            let store = builder.store(PlyStore::ExactTriples(column::Column::new(name)))?;
            for (at, property) in axes.into_iter().enumerate() {
                places[property] = Some((store, 8 * at, PlyOp::same(Scalar::F64, swap)));
            }
            stores[kind] = Some(store);
            continue;
        }
        let store = builder.store(PlyStore::Triples(column::Column::new(name)))?;
        for (at, property) in axes.into_iter().enumerate() {
            places[property] = Some((store, 4 * at, float(property)));
        }
        stores[kind] = Some(store);
    }
    if let Some(axes) = uvs(element) {
        let store = builder.store(PlyStore::Pairs(column::Column::new("uvs")))?;
        for (at, property) in axes.into_iter().enumerate() {
            places[property] = Some((store, 4 * at, float(property)));
        }
        stores[2] = Some(store);
    }
    if let Some((rgb, alpha)) = colors(element) {
        let store = builder.store(PlyStore::Quads(column::Column::new("colors")))?;
        let channels = rgb.into_iter().chain(alpha).enumerate();
        channels
            .for_each(|(at, property)| places[property] = Some((store, 4 * at, op(PlyScatterTarget::Unit, property))));
        if alpha.is_none() {
            builder.fill(store, 12, 1.0)?;
        }
        stores[3] = Some(store);
    }
    for (property, place) in element.properties.iter().zip(places) {
        match place {
            Some((store, to, op)) => builder.part(property, store, to, op)?,
            None => builder.keep(property)?,
        }
    }
    Ok(PlyPlanned { sink: builder.sink, homes: builder.homes, role: PlyRole::Vertices(stores) })
}

/// Creates the check that indices of type `scalar` refer to vertices.
pub(super) fn check(of: PlyChecked, scalar: Scalar, vertices: &Element) -> Check {
    let count = u32::try_from(vertices.count).unwrap_or(u32::MAX - 1);
    // `i32` indices are copied as `u32`, so negative indices become 2^31 or more.
    let limit = if scalar == Scalar::I32 { count.min(1 << 31) } else { count };
    let limit = limit + u32::from(planted("ply-index"));
    Check { of, scalar, limit, restarts: false, least: 0 }
}

fn plan_faces(mut builder: PlyBuilder<'_>, vertices: &Element) -> Result<PlyPlanned> {
    let element = builder.element;
    let Some(corners) = corners(element) else { return plan_table(builder) };
    // `texcoord` is unneeded if vertices have uvs.
    let texcoord = element.property("texcoord").filter(|&at| {
        let property = &element.properties[at];
        property.count.is_some() && property.item == Scalar::F32 && uvs(vertices).is_none()
    });
    let mut role = (0, None);
    for (at, property) in element.properties.iter().enumerate() {
        let list = builder.sink.lists.len();
        if at == corners {
            let op = PlyOp::to(PlyScatterTarget::Index, property.item, builder.sink.layout.swap);
            builder.list(PlyStore::from_scalar(Scalar::U32, "corners"), op)?;
            role.0 = list;
            let check = check(PlyChecked::List(list), property.item, vertices);
            builder.sink.check = Some(Check { least: 3, ..check });
        } else {
            builder.keep(property)?;
            role.1 = if Some(at) == texcoord { Some(list) } else { role.1 };
        }
    }
    Ok(PlyPlanned { sink: builder.sink, homes: builder.homes, role: PlyRole::Faces(role.0, role.1) })
}

fn plan_strips(mut builder: PlyBuilder<'_>, vertices: &Element) -> Result<PlyPlanned> {
    for property in &builder.element.properties {
        let op = PlyOp::to(PlyScatterTarget::Index, property.item, builder.sink.layout.swap);
        builder.list(PlyStore::from_scalar(Scalar::U32, "strips"), op)?;
        let check = check(PlyChecked::List(0), property.item, vertices);
        builder.sink.check = Some(Check { restarts: true, ..check });
    }
    Ok(PlyPlanned { sink: builder.sink, homes: builder.homes, role: PlyRole::Strips(0) })
}

fn plan_edges(mut builder: PlyBuilder<'_>, vertices: &Element) -> Result<PlyPlanned> {
    let store = builder.store(PlyStore::Pairs(column::Column::new("edges")))?;
    for property in &builder.element.properties {
        let Some(at) = EDGE_ENDS.iter().position(|end| *end == property.name) else {
            builder.keep(property)?;
            continue;
        };
        let op = PlyOp::to(PlyScatterTarget::Index, property.item, builder.sink.layout.swap);
        builder.part(property, store, 4 * at, op)?;
        builder.sink.check = Some(check(PlyChecked::Pairs(store), property.item, vertices));
    }
    Ok(PlyPlanned { sink: builder.sink, homes: builder.homes, role: PlyRole::Edges(store) })
}

/// A scene under construction.
#[derive(Default)]
struct PlyMade {
    scene: Scene,
    mesh: Option<Mesh>,
    /// Per-corner texture coordinates, as a face column.
    texcoord: Option<Column>,
    /// Other columns of edges.
    edge_columns: Vec<Column>,
    /// Whether faces, strips or lines have flaws.
    broken: [bool; 3],
    /// Vertex rows to remove.
    bad_vertices: Vec<u64>,
    /// Strips, until the positions are known.
    strips: Option<(Vec<u32>, Vec<u32>)>,
}

impl PlyMade {
    /// Adds an element's data.
    ///
    /// # Safety
    /// All rows of the element were published to the sink, with as many list values as `outcome` counts.
    unsafe fn element(
        &mut self,
        element: &Element,
        sink: PlySink,
        homes: &[PlyTablesHome],
        role: PlyRole,
        outcome: &PlyOutcome,
    ) -> Result<()> {
        // SAFETY: everything finished here has its `rows` items, or its `total` list values and offsets, written, by
        // this function's contract.
        unsafe {
            if role == PlyRole::Table {
                return try_push(&mut self.scene.tables, table(element, sink, homes, outcome)?, "tables");
            }
            let (mut stores, mut lists) = parts(sink)?;
            let rows = element.count as usize;
            let mesh = self.mesh.get_or_insert_default();
            match role {
                PlyRole::Table => {}
                PlyRole::Vertices(store_numbers) => {
                    take_vertices(mesh, &mut stores, store_numbers, rows)?;
                    mesh.vertex_columns = columns(element, &mut stores, &mut lists, homes, outcome)?;
                    vectors::join(&mut mesh.vertex_columns)?;
                    self.bad_vertices = try_copy(&outcome.left_out, "rows")?;
                }
                PlyRole::Faces(corners, texcoord) => {
                    let total = outcome.totals.get(corners).copied().unwrap_or(0) as usize;
                    if let Some(list) = lists.get_mut(corners).and_then(Option::take) {
                        mesh.faces = take_elements(list, rows, total)?;
                    }
                    let mut columns = columns(element, &mut stores, &mut lists, homes, outcome)?;
                    if texcoord.is_some()
                        && let Some(at) = columns.iter().position(|column| column.name == "texcoord")
                    {
                        self.texcoord = Some(columns.remove(at));
                    }
                    mesh.face_columns = columns;
                    self.broken[0] = outcome.broken;
                }
                PlyRole::Strips(list) => {
                    let total = outcome.totals.get(list).copied().unwrap_or(0) as usize;
                    if let Some(list) = lists.get_mut(list).and_then(Option::take) {
                        self.strips = Some((offsets(list.offsets, rows)?, list.values.finish(total)));
                    }
                    self.broken[1] = outcome.broken;
                }
                PlyRole::Edges(store) => {
                    if let Some(store) = stores.get_mut(store).and_then(Option::take) {
                        mesh.lines = strips::rows_of(store.finish::<[u32; 2]>(rows).into_flattened(), 2)?;
                    }
                    for &row in &outcome.left_out {
                        mesh.lines.corner_positions.to_mut()?[2 * row as usize] = NONE;
                    }
                    self.edge_columns = columns(element, &mut stores, &mut lists, homes, outcome)?;
                    self.broken[2] = outcome.broken || !outcome.left_out.is_empty();
                }
            }
        }
        Ok(())
    }

    /// Scales float colors from 0 to 255 to the range 0 to 1.
    fn scale_colors(&mut self, header: &PlyHeader, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
        let Some(mesh) = &mut self.mesh else { return Ok(()) };
        let Some(element) = header.elements.iter().find(|element| is_vertices(element)) else { return Ok(()) };
        let is_floats =
            colors(element).is_some_and(|(rgb, _)| rgb.iter().all(|&at| is_float(element.properties[at].item)));
        if !is_floats {
            return Ok(());
        }
        let channels = || mesh.colors.iter().flat_map(|color| &color[..3]);
        let largest = channels().fold(0.0, |largest: f32, &channel| largest.max(channel));
        let smallest = channels().fold(0.0, |smallest: f32, &channel| smallest.min(channel));
        let are_whole = || channels().all(|channel| channel.fract() == 0.0);
        let are_bytes =
            smallest >= 0.0 && (2.0..=255.0).contains(&largest) && (largest >= MIN_BYTE_COLOR || are_whole());
        if !are_bytes {
            return Ok(());
        }
        let has_byte_alpha = mesh.colors.iter().any(|color| color[3] > 1.0);
        for color in mesh.colors.to_mut()? {
            color[..3].iter_mut().for_each(|channel| *channel /= 255.0);
            color[3] /= if has_byte_alpha { 255.0 } else { 1.0 };
        }
        let message = "the colors of `vertex` are floats from 0 to 255: they were divided by 255";
        let diagnostic = Diagnostic { place: element.place.clone(), ..Diagnostic::new(message) };
        warnings.note(options.faults, "odd-property", diagnostic)
    }

    /// Drops double-precision positions unless they are requested, or needed in automatic mode.
    fn settle_positions(&mut self, options: &ParseOptions, file: &Arc<str>, warnings: &mut Warnings) -> Result<()> {
        let Some(mesh) = &mut self.mesh else { return Ok(()) };
        match options.precision.precision {
            Precision::Double => {}
            Precision::Auto => mesh.drop_needless_precision(),
            Precision::Single => {
                let exact = std::mem::take(&mut mesh.exact_positions);
                PrecisionWatch::of_doubles(&exact, options.precision).finish(
                    options.precision,
                    mesh.bounds(),
                    options.faults,
                    file,
                    warnings,
                )?;
            }
        }
        Ok(())
    }

    /// Completes the scene.
    fn finish(mut self, warnings: &mut Warnings) -> Result<Scene> {
        let Some(mut mesh) = self.mesh else { return Ok(self.scene) };
        let positions = mesh.positions.len() as u32;
        if let Some((offsets, values)) = self.strips {
            mesh.faces = strips::triangles(&offsets, &values, positions)?;
        }
        if !self.bad_vertices.is_empty() {
            repair::mark_corners(&mut mesh.faces.corner_positions, &self.bad_vertices)?;
            repair::mark_corners(&mut mesh.lines.corner_positions, &self.bad_vertices)?;
            self.broken = [true; 3];
        }
        let mut dropped = 0;
        if self.broken[0] {
            let texcoord = self.texcoord.iter_mut();
            dropped += repair::drop_faces(&mut mesh.faces, mesh.face_columns.iter_mut().chain(texcoord), positions)?;
        }
        if self.broken[2] {
            dropped += repair::drop_lines(&mut mesh.lines, self.edge_columns.iter_mut(), positions)?;
        }
        if !self.bad_vertices.is_empty() {
            repair::drop_vertices(&mut mesh, &self.bad_vertices)?;
        }
        if !self.edge_columns.is_empty() {
            let row_count = mesh.lines.len();
            let table = Table { name: try_string(EDGE)?, row_count, columns: self.edge_columns };
            try_push(&mut self.scene.tables, table, "tables")?;
        }
        let words = [
            "face or edge that uses a missing or skipped vertex was dropped",
            "faces and edges that use missing or skipped vertices were dropped",
        ];
        let message = counted(dropped, words);
        warnings.push_many("element-left-out", dropped, Diagnostic::new(message));
        if let Some(texcoord) = self.texcoord {
            take_texcoord(&mut mesh, texcoord)?;
        }
        take_face_normals(&mut mesh)?;
        let end = mesh.counts();
        if end != Default::default() {
            let object = Object { kind: ObjectKind::Unnamed, end, ..Object::default() };
            try_push(&mut self.scene.objects, object, "objects")?;
        }
        try_push(&mut self.scene.meshes, mesh, "meshes")?;
        Ok(self.scene)
    }
}

/// # Safety
/// The first `rows` items of each store were written.
unsafe fn take_vertices(
    mesh: &mut Mesh,
    stores: &mut [Option<PlyStore>],
    store_numbers: [Option<usize>; 4],
    rows: usize,
) -> Result<()> {
    let [positions, normals, uvs, colors] =
        store_numbers.map(|at| at.and_then(|at| stores.get_mut(at)).and_then(Option::take));
    // SAFETY: each store has `rows` items written, by this function's contract.
    unsafe {
        if let Some(store) = positions {
            take_positions(mesh, store, rows)?;
        }
        if let Some(store) = normals.filter(|_| rows > 0) {
            mesh.normals = store.finish::<[f32; 3]>(rows).into();
            mesh.normal_domain = Domain::Vertex;
        }
        if let Some(store) = uvs.filter(|_| rows > 0) {
            mesh.uvs = store.finish::<[f32; 2]>(rows).into();
            mesh.uv_domain = Domain::Vertex;
        }
        if let Some(store) = colors {
            mesh.colors = store.finish::<[f32; 4]>(rows).into();
        }
    }
    Ok(())
}

/// # Safety
/// The first `rows` items of the store were written.
unsafe fn take_positions(mesh: &mut Mesh, store: PlyStore, rows: usize) -> Result<()> {
    // SAFETY: by this function's contract.
    unsafe {
        if matches!(store, PlyStore::ExactTriples(_)) {
            return mesh.set_exact_positions(store.finish::<[f64; 3]>(rows));
        }
        mesh.positions = store.finish::<[f32; 3]>(rows).into();
    }
    Ok(())
}

/// # Safety
/// The first `total` values were written, and if `rows` is not 0, the first `rows + 1` offsets.
unsafe fn take_elements(list: ListSink, rows: usize, total: usize) -> Result<Elements> {
    // SAFETY: both conditions are part of this function's contract.
    let (offsets, corners) = unsafe { (offsets(list.offsets, rows)?, list.values.finish::<u32>(total)) };
    let offsets = if rows == 0 { Vec::new() } else { offsets };
    Ok(Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() })
}

/// Turns three floats per face into face normals, if vertices have no normals. The PLY writer stores face normals this
/// way.
fn take_face_normals(mesh: &mut Mesh) -> Result<()> {
    let count = mesh.faces.len();
    let is_axis = |column: &Column, name: &str| {
        column.name == name
            && column.offsets.is_none()
            && matches!(&column.values, Values::F32(all) if all.len() == count)
    };
    let place = |name: &str| mesh.face_columns.iter().position(|column| is_axis(column, name));
    let [Some(x), Some(y), Some(z)] = ["nx", "ny", "nz"].map(place) else { return Ok(()) };
    if !mesh.normals.is_empty() || count == 0 {
        return Ok(());
    }
    let mut normals = Vec::new();
    normals.try_reserve_exact(count).map_err(|_| Error::memory("normals"))?;
    if let [Values::F32(x), Values::F32(y), Values::F32(z)] = [x, y, z].map(|axis| &mesh.face_columns[axis].values) {
        normals.extend(x.iter().zip(y.iter()).zip(z.iter()).map(|((x, y), z)| [*x, *y, *z]));
    }
    mesh.normals = normals.into();
    mesh.normal_domain = Domain::Face;
    mesh.face_columns.retain(|column| !["nx", "ny", "nz"].iter().any(|name| is_axis(column, name)));
    Ok(())
}

/// Turns a column with two numbers per face corner into uvs; any other column remains a column.
fn take_texcoord(mesh: &mut Mesh, column: Column) -> Result<()> {
    let offsets = column.offsets.as_deref().unwrap_or(&[]);
    let faces = &mesh.faces.offsets;
    let is_whole = faces.len() == offsets.len()
        && faces.iter().zip(offsets).all(|(&corner, &number)| u64::from(corner) * 2 == u64::from(number));
    match column.values {
        Values::F32(values) if is_whole && !values.is_empty() => {
            mesh.uvs = paired(values.into_vec()?)?.into();
            mesh.uv_domain = Domain::Corner;
            Ok(())
        }
        values => try_push(&mut mesh.face_columns, Column { values, ..column }, "columns"),
    }
}
