//! Creates meshes from arrays that can be used unchanged: with the right type and layout, and all values in range.
//!
//! This fast path covers only the usual arguments, and examines each array once. `surfaces/python/polyhaul/_given.py`
//! converts or rejects everything else.

use crate::arrays::{Held, Row};
use crate::mesh::domain_of;
use polyhaul::model::{Array, Domain, Elements, Mesh, NONE};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyTuple, PyType};

/// The user's arguments, named like those of `polyhaul.Mesh`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FittingInput<'py> {
    positions: Bound<'py, PyAny>,
    corner_positions: Argument<'py>,
    face_offsets: Argument<'py>,
    normals: Argument<'py>,
    normal_domain: Argument<'py>,
    corner_normals: Argument<'py>,
    uvs: Argument<'py>,
    uv_domain: Argument<'py>,
    corner_uvs: Argument<'py>,
    colors: Argument<'py>,
    material_slots: Argument<'py>,
    smooth: Argument<'py>,
    sharp_edges: Argument<'py>,
    vertex_groups: Argument<'py>,
    line_positions: Argument<'py>,
    line_offsets: Argument<'py>,
    points: Argument<'py>,
    position_weights: Argument<'py>,
    vertex_columns: Argument<'py>,
    face_columns: Argument<'py>,
    curves: Bound<'py, PyAny>,
}

type Argument<'py> = Option<Bound<'py, PyAny>>;

/// Creates a mesh if all arguments fit.
pub(crate) fn fitting(given: &FittingInput<'_>) -> Option<Mesh> {
    let is_empty = given.curves.cast::<PyTuple>().is_ok_and(|curves| curves.is_empty());
    let others = [&given.vertex_groups, &given.vertex_columns, &given.face_columns];
    if !is_empty || others.into_iter().any(Option::is_some) {
        return None;
    }
    let positions = rows(&given.positions)?;
    let count = positions.len();
    let faces = elements(&given.corner_positions, &given.face_offsets, count, 3)?;
    let lines = elements(&given.line_positions, &given.line_offsets, count, 2)?;
    let face_count = faces.offsets.len().saturating_sub(1);
    let sizes = Sizes { corners: faces.corner_positions.len(), positions: count, faces: face_count };
    let (normals, normal_domain, corner_normals) =
        attribute(&given.normals, &given.normal_domain, &given.corner_normals, &sizes)?;
    let (uvs, uv_domain, corner_uvs) = attribute(&given.uvs, &given.uv_domain, &given.corner_uvs, &sizes)?;
    Some(Mesh {
        positions,
        uvs,
        uv_domain,
        normals,
        normal_domain,
        faces: Elements { corner_uvs, corner_normals, ..faces },
        lines,
        colors: optional(&given.colors, |colors| rows(colors).filter(|colors| colors.len() == count))?,
        points: optional(&given.points, |points| indices(points, count))?,
        position_weights: optional(&given.position_weights, |weights| values(weights, count))?,
        face_materials: optional(&given.material_slots, |materials| values(materials, face_count))?,
        face_smooth: optional(&given.smooth, |smooth| flags(smooth, face_count))?,
        sharp_edges: optional(&given.sharp_edges, |edges| pairs(edges, count))?,
        ..Mesh::default()
    })
}

/// The number of values that an attribute has in each domain.
struct Sizes {
    corners: usize,
    positions: usize,
    faces: usize,
}

/// Accepts normals or UVs, with their domain and indices.
fn attribute<const N: usize>(
    value: &Argument<'_>,
    domain: &Argument<'_>,
    stream: &Argument<'_>,
    sizes: &Sizes,
) -> Option<(Array<[f32; N]>, Domain, Array<u32>)>
where
    [f32; N]: Row,
{
    let Some(value) = value else {
        return (domain.is_none() && stream.is_none()).then(Default::default);
    };
    let rows = rows(value)?;
    let usual = if stream.is_none() { Domain::Corner } else { Domain::Indexed };
    let domain = match domain {
        Some(name) => domain_of(name.extract().ok()?)?,
        None => usual,
    };
    let count = match domain {
        Domain::Corner => sizes.corners,
        Domain::Vertex => sizes.positions,
        Domain::Face => sizes.faces,
        Domain::Indexed => rows.len(),
    };
    let is_right = |index: &u32| *index == NONE || (*index as usize) < rows.len();
    let stream = optional(stream, |indices| held(indices).filter(|held| held.as_ref().iter().all(is_right)))?;
    let fits = rows.len() == count
        && (domain == Domain::Indexed) != stream.is_empty()
        && (stream.is_empty() || stream.len() == sizes.corners);
    fits.then_some((rows, domain, stream))
}

/// Accepts faces or lines with at least `min_corners` corners each and indices below `count`.
fn elements(positions: &Argument<'_>, offsets: &Argument<'_>, count: usize, min_corners: u32) -> Option<Elements> {
    let Some(positions) = positions else {
        return offsets.is_none().then(Elements::default);
    };
    let positions = held(positions)?;
    let offsets = match (offsets, positions.shape()) {
        (Some(offsets), [_]) => held(offsets).filter(|held| held.shape().len() == 1)?.into(),
        (None, &[_, corners]) => even_offsets(positions.as_ref().len(), corners)?,
        _ => return None,
    };
    let corner_positions = below(positions, count)?;
    let fits = are_offsets(&offsets, corner_positions.len(), min_corners);
    fits.then(|| Elements { offsets, corner_positions, ..Elements::default() })
}

/// Whether the offsets increase from 0 to `corners` in steps of at least `min_corners`.
fn are_offsets(offsets: &[u32], corners: usize, min_corners: u32) -> bool {
    // Faster than `all`, because the loop has no early exit.
    let are_steps = |starts: &[u32], ends: &[u32]| {
        let pairs = starts.iter().zip(ends);
        pairs.fold(true, |fits, (&start, &end)| fits & (end >= min_corners) & (end.wrapping_sub(min_corners) >= start))
    };
    match offsets {
        [0, ends @ ..] => offsets.last().is_some_and(|&last| last as usize == corners) && are_steps(offsets, ends),
        _ => false,
    }
}

/// The offsets of elements with `size` corners each, for a total of `corners`.
fn even_offsets(corners: usize, size: usize) -> Option<Array<u32>> {
    let corners = u32::try_from(corners).ok()?;
    let step = u32::try_from(size).ok().filter(|size| *size > 0)?;
    let mut offsets = Vec::new();
    offsets.try_reserve_exact((corners / step) as usize + 1).ok()?;
    offsets.extend((0..=corners).step_by(size));
    Some(offsets.into())
}

/// Accepts rows of `N` numbers, or a flat array of them.
fn rows<const N: usize>(value: &Bound<'_, PyAny>) -> Option<Array<[f32; N]>>
where
    [f32; N]: Row,
{
    let held = held(value)?;
    let fits = matches!(held.shape(), [_]) || held.shape().last() == Some(&N);
    fits.then(|| held.into())
}

/// Accepts an array with `count` values.
fn values<T: Row>(value: &Bound<'_, PyAny>, count: usize) -> Option<Array<T>> {
    held(value).filter(|held| *held.shape() == [count]).map(Array::from)
}

/// Accepts indices below `end`, in any shape.
fn indices(value: &Bound<'_, PyAny>, end: usize) -> Option<Array<u32>> {
    below(held(value)?, end)
}

/// Accepts pairs of indices below `end`.
fn pairs(value: &Bound<'_, PyAny>, end: usize) -> Option<Array<[u32; 2]>> {
    let held: Held<[u32; 2]> = held(value)?;
    let fits = matches!(held.shape(), [_, 2]) && are_below(held.as_ref().as_flattened(), end);
    fits.then(|| held.into())
}

fn below(held: Held<u32>, end: usize) -> Option<Array<u32>> {
    are_below(held.as_ref(), end).then(|| held.into())
}

fn are_below(indices: &[u32], end: usize) -> bool {
    let end = u32::try_from(end).unwrap_or(NONE);
    indices.iter().fold(true, |fits, index| fits & (*index < end))
}

/// Accepts an array of `count` flags, or a single flag for all.
fn flags(value: &Bound<'_, PyAny>, count: usize) -> Option<Array<u8>> {
    if let Ok(flag) = value.cast::<PyBool>() {
        let mut flags = Vec::new();
        flags.try_reserve_exact(count).ok()?;
        flags.resize(count, u8::from(flag.is_true()));
        return (count > 0).then(|| flags.into());
    }
    values(value, count).filter(|flags: &Array<u8>| flags.iter().fold(true, |fits, flag| fits & (*flag <= 1)))
}

/// Accepts a missing argument as an empty array. Returns `None` if the argument is present but does not fit.
fn optional<T, A: Into<Array<T>>>(
    value: &Argument<'_>,
    take: impl FnOnce(&Bound<'_, PyAny>) -> Option<A>,
) -> Option<Array<T>> {
    value.as_ref().map_or_else(|| Some(Array::default()), |value| take(value).map(Into::into))
}

/// Accepts a buffer with at least one and fewer than [`NONE`] items. Rejects bytes, which numpy treats as text, and
/// masked values.
fn held<T: Row>(value: &Bound<'_, PyAny>) -> Option<Held<T>> {
    let is_usual = |held: &Held<T>| (1..NONE as usize).contains(&held.as_ref().len());
    Held::get(value).filter(is_usual).filter(|_| !value.is_instance_of::<PyBytes>() && !has_mask(value))
}

/// Whether an array has masked values, which its buffer does not distinguish from valid values.
fn has_mask(value: &Bound<'_, PyAny>) -> bool {
    static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let masked = MASKED.import(value.py(), "numpy.ma", "MaskedArray");
    masked.and_then(|masked| value.is_instance(masked)).unwrap_or(false)
        && value.getattr("mask").and_then(|mask| mask.call_method0("any")?.is_truthy()).unwrap_or(true)
}
