//! Resolves negative indices, which count backward from the statement: first, during parsing, to values relative to the
//! chunk, then, in file order, to absolute values.
//!
//! A file usually has either only negative indices or none. [`rows`](super::rows) parses whole runs of such faces;
//! [`Statement`](super::statement::Statement) parses single faces.

use super::parsed::{ElementKind, ObjComplaint, ObjParsed, ObjStream, RelativeRun};
use super::suspects::{BEFORE_START, before_first, place_in_run};
use polyhaul_model::error::Result;
use polyhaul_model::warnings::Weight;
use polyhaul_model::{Counts, NONE};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::excerpt;

/// Makes a run of negative `i32`s (as bits) relative to the chunk: 1 is the first element in the chunk, 0 the last
/// element before it. `before` counts the elements of each stream in the chunk before the run. Returns the minimum per
/// stream.
pub(super) fn relate(values: &mut [u32], stride: usize, has: [bool; 3], before: [u32; 3]) -> [i32; 3] {
    // Streams without indices keep this maximum, and thus never count as before the start of the file.
    let mut lowest = [i32::MAX; 3];
    for corner in values.chunks_exact_mut(stride) {
        for (stream, value) in corner.iter_mut().enumerate().filter(|(stream, _)| has[*stream]) {
            let local = (*value as i32).wrapping_add(before[stream] as i32).wrapping_add(1);
            lowest[stream] = local.min(lowest[stream]);
            *value = local as u32;
        }
    }
    lowest
}

/// Makes all negative indices of a chunk absolute, given the counts `before` the chunk.
///
/// An index before the start of the file deliberately becomes an out-of-range value, so that its element is dropped at
/// the end, unless the first such position index stops reading here.
pub(super) fn resolve(parsed: &mut ObjParsed, before: Counts, text: &[u8], options: &ParseOptions) -> Result<()> {
    let before = [before.positions, before.uvs, before.normals];
    let broken = [resolve_each(parsed, before), resolve_runs(parsed, before, text)];
    if options.raises() {
        for token in broken.into_iter().flatten() {
            parsed.complain(before_start(token, text), options)?;
            order_last(&mut parsed.complaints);
        }
    }
    Ok(())
}

/// Moves the last complaint to its position by offset, among the other complaints, which are sorted. (A stable sort
/// would allocate.)
fn order_last(complaints: &mut [ObjComplaint]) {
    let Some((last, others)) = complaints.split_last() else { return };
    let at = others.partition_point(|complaint| complaint.token.0 <= last.token.0);
    complaints[at..].rotate_right(1);
}

/// Location of an index in the chunk's text: offset and length.
type ObjIndexPlace = (u32, u32);

/// Resolves single indices; returns the location of the first invalid position index.
fn resolve_each(parsed: &mut ObjParsed, before: [u32; 3]) -> Option<ObjIndexPlace> {
    let mut broken = None;
    for relative in &parsed.relatives {
        let value = i64::from(before[relative.stream as usize]) + relative.local;
        let values = parsed.elements[relative.kind as usize].values.as_mut_slice();
        let Some(place) = values.get_mut(relative.value as usize) else { continue };
        *place = if value >= 1 { value.min(i64::from(NONE - 1)) as u32 } else { BEFORE_START };
        if value < 1 && relative.stream == ObjStream::Position {
            broken.get_or_insert(relative.token);
        }
    }
    broken
}

/// Resolves runs of faces; returns the location of the first invalid position index.
fn resolve_runs(parsed: &mut ObjParsed, before: [u32; 3], text: &[u8]) -> Option<ObjIndexPlace> {
    let mut broken = None;
    let values = parsed.elements[ElementKind::Face as usize].values.as_mut_slice();
    for run in &parsed.relative_runs {
        let Some(run_values) = values.get_mut(run.values.clone()) else { continue };
        let is_whole = |stream: usize| i64::from(before[stream]) + i64::from(run.lowest[stream]) >= 1;
        if (0..3).all(is_whole) {
            let add: [u32; 3] = std::array::from_fn(|stream| if run.has[stream] { before[stream] } else { 0 });
            let corners = run_values.chunks_exact_mut(run.stride);
            corners.for_each(|corner| {
                corner.iter_mut().zip(add).for_each(|(value, add)| *value = value.wrapping_add(add))
            });
        } else {
            let first = resolve_broken_run(run, run_values, before);
            broken = broken.or_else(|| first.map(|at| place_in_run(text, run, at)));
        }
    }
    broken
}

/// Resolves a run with invalid indices. Returns the offset in `values` of the first invalid position index.
fn resolve_broken_run(run: &RelativeRun, values: &mut [u32], before: [u32; 3]) -> Option<usize> {
    let mut broken = None;
    for (at, local) in values.iter_mut().enumerate().filter(|(at, _)| run.has[at % run.stride]) {
        let value = i64::from(before[at % run.stride]) + i64::from(*local as i32);
        *local = if value >= 1 { value as u32 } else { BEFORE_START };
        if value < 1 && at % run.stride == ObjStream::Position as usize {
            broken.get_or_insert(at);
        }
    }
    broken
}

fn before_start(token: ObjIndexPlace, text: &[u8]) -> ObjComplaint {
    let (start, size) = token;
    let index = text.get(start as usize..(start + size) as usize).unwrap_or_default();
    ObjComplaint {
        weight: Weight::Broken,
        code: "index-out-of-range",
        message: before_first(index, ObjStream::Position),
        expected: None,
        hint: Some("a negative index counts back from the last position before the statement"),
        token,
        excerpt: excerpt(text, token),
    }
}
