//! Streams a mesh to a consumer while it is read: positions are kept, faces are not.
//!
//! This works only for binary files that have vertices, optionally followed by faces, and no other content that
//! consumers need. Other files are read as scenes ([`super::scene`]).

use super::binary::PlyReader;
use super::delivery::PlyPieces;
use super::header::{Element, PlyHeaderEncoding};
use super::reader::read_header;
use super::rows::PlyRowsTarget;
use super::scatter::{PlyOp, PlyScatterTarget};
use super::scene::{check, colors, corners, group, is_vertices};
use super::sink::{Check, PlyChecked, PlySink};
use super::store::PlyStore;
use super::tables::{PlyBuilder, parts};
use super::textures;
use polyhaul_model::Scalar;
use polyhaul_model::error::Result;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer};
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::read::Extent;

/// Result of streaming, apart from the pieces.
pub struct PlyPiecesRead {
    /// Warnings from reading.
    pub warnings: Warnings,
    /// Number of reader threads.
    pub threads: usize,
}

/// Stores for the vertices.
struct PlyVertexPlan {
    sink: PlySink,
    has_colors: bool,
}

/// Vertices kept in memory.
struct PlyVertices {
    positions: Vec<[f32; 3]>,
    colors: Vec<[u8; 4]>,
}

/// Streams a mesh to a consumer; declines if the file must be read as a scene.
pub fn pieces(feed: Feed<'_>, options: &ParseOptions, consumer: &dyn MeshConsumer) -> Result<Attempt<PlyPiecesRead>> {
    let opened = read_header(feed, options)?;
    let swap = opened.swap();
    let (vertices, faces) = match &opened.header.elements[..] {
        _ if opened.header.encoding == PlyHeaderEncoding::Ascii => return Ok(Attempt::Declined),
        // Whether the rows are damaged is known only after all of them have been read.
        _ if opened.may_be_converted => return Ok(Attempt::Declined),
        _ if opened.header.comments.iter().any(|comment| textures::texture_name(comment).is_some()) => {
            return Ok(Attempt::Declined);
        }
        [vertices] if is_vertices(vertices) && is_plain_cloud(vertices) => (vertices, None),
        [vertices, faces]
            if is_vertices(vertices) && has_corners_alone(faces) && (faces.count > 0 || is_plain_cloud(vertices)) =>
        {
            (vertices, Some(faces))
        }
        _ => return Ok(Attempt::Declined),
    };
    let Some(PlyVertexPlan { sink, has_colors }) = plan_vertices(vertices, swap)? else { return Ok(Attempt::Declined) };
    let mut feed = opened.feed;
    let mut warnings = opened.warnings;
    feed.skip(opened.header.body);
    let progress = ProgressSteps::default();
    let mut reader = PlyReader { feed, options, warnings: &mut warnings, threads: 1, progress };
    reader.element(PlyRowsTarget { element: vertices, sink: &sink, pieces: None })?;
    // SAFETY: all rows were read without an error, so each store has an item for each.
    let PlyVertices { positions, colors } = unsafe { arrays(sink, vertices.count as usize, has_colors)? };
    consumer.start(KnownPositions::All(&positions))?;
    let pieces = PlyPieces { consumer, positions: &positions, colors: &colors };
    match faces {
        Some(faces) if faces.count > 0 => {
            let sink = plan_faces(faces, vertices, swap)?;
            reader.element(PlyRowsTarget { element: faces, sink: &sink, pieces: Some(pieces) })?;
        }
        _ => pieces.points(options)?,
    }
    reader.finish()?;
    reader.feed.check_end(Extent::Whole, &options.run.cancel)?;
    let threads = reader.threads;
    Ok(Attempt::Done(PlyPiecesRead { warnings, threads }))
}

/// Returns whether vertices are a point cloud without normals, and not splats.
fn is_plain_cloud(vertices: &Element) -> bool {
    ["nx", "scale_0", "f_dc_0"].iter().all(|name| vertices.property(name).is_none())
}

/// Returns whether an element is `face` and its only list holds the corners.
fn has_corners_alone(faces: &Element) -> bool {
    let lists = faces.properties.iter().filter(|property| property.count.is_some()).count();
    faces.name == "face" && corners(faces).is_some() && lists == 1
}

/// Plans stores for positions and for byte colors; `None` if the vertices must be read as a scene.
fn plan_vertices(element: &Element, swap: bool) -> Result<Option<PlyVertexPlan>> {
    let channels: Vec<usize> =
        colors(element).into_iter().flat_map(|(rgb, alpha)| rgb.into_iter().chain(alpha)).collect();
    let is_byte = |&at: &usize| element.properties[at].item == Scalar::U8;
    let has_lists = element.properties.iter().any(|property| property.count.is_some());
    let axes = group(element, &["x", "y", "z"]).filter(|_| channels.iter().all(is_byte) && !has_lists);
    let is_double = |&axis: &usize| element.properties[axis].item == Scalar::F64;
    // Whether positions need double precision is known only after all of them have been read.
    let Some(axes) = axes.filter(|axes| !axes.iter().all(is_double)) else { return Ok(None) };
    let mut builder = PlyBuilder::new(element, swap)?;
    let positions = builder.store(PlyStore::Triples(Column::new("positions")))?;
    let has_colors = !channels.is_empty();
    let bytes = builder.store(PlyStore::Bytes4(Column::new("colors")))?;
    // Opaque black, overwritten by the channels in the file.
    builder.fill(bytes, 0, f32::from_ne_bytes([0, 0, 0, u8::MAX]))?;
    for (at, property) in element.properties.iter().enumerate() {
        let place = |properties: &[usize]| properties.iter().position(|&property| property == at);
        match (place(&axes), place(&channels)) {
            (Some(axis), _) => {
                let op = PlyOp::to(PlyScatterTarget::Float, property.item, swap);
                builder.part(property, positions, 4 * axis, op)?;
            }
            (_, Some(channel)) => builder.part(property, bytes, channel, PlyOp::Copy(1))?,
            _ => builder.skip(property)?,
        }
    }
    if !has_colors {
        builder.sink.stores.pop();
        builder.sink.moves.retain(|step| step.store != bytes);
    }
    Ok(Some(PlyVertexPlan { sink: builder.sink, has_colors }))
}

/// Finishes the arrays of vertices.
///
/// # Safety
/// The first `rows` items of each store were written.
unsafe fn arrays(sink: PlySink, rows: usize, has_colors: bool) -> Result<PlyVertices> {
    let (stores, _) = parts(sink)?;
    let mut stores = stores.into_iter().flatten();
    let positions = stores.next();
    let colors = stores.next().filter(|_| has_colors);
    // SAFETY: by this function's contract.
    let (positions, colors) = unsafe {
        (positions.map(|store| store.finish::<[f32; 3]>(rows)), colors.map(|store| store.finish::<u32>(rows)))
    };
    let mut bytes = Vec::new();
    if let Some(colors) = colors {
        bytes.try_reserve_exact(colors.len())?;
        bytes.extend(colors.into_iter().map(u32::to_ne_bytes));
    }
    Ok(PlyVertices { positions: positions.unwrap_or_default(), colors: bytes })
}

fn plan_faces(element: &Element, vertices: &Element, swap: bool) -> Result<PlySink> {
    let mut builder = PlyBuilder::new(element, swap)?;
    for property in &element.properties {
        if property.count.is_none() {
            builder.skip(property)?;
            continue;
        }
        let op = PlyOp::to(PlyScatterTarget::Index, property.item, swap);
        builder.list(PlyStore::from_scalar(Scalar::U32, "corners"), op)?;
        let check = check(PlyChecked::List(0), property.item, vertices);
        builder.sink.check = Some(Check { least: 3, ..check });
    }
    Ok(builder.sink)
}
