//! Repairs a mesh after reading: clears out-of-range uv and normal indices, drops elements whose vertices are missing,
//! and removes the values of skipped lines.
//!
//! Until then, skipped lines have placeholder values, so that later indices remain valid.

use super::parsed::ObjStream;
use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Array, Counts, Elements, Mesh, NONE, Object, ObjectKind};

/// Indices of skipped `v`, `vt` and `vn` lines, ascending per stream.
#[derive(Debug, Default)]
pub(super) struct SkippedLines([Vec<u32>; 3]);

impl SkippedLines {
    pub(super) fn add(&mut self, stream: ObjStream, index: u32) -> Result<()> {
        let indices = &mut self.0[stream as usize];
        indices.try_reserve(1).map_err(|_| Error::memory("index maps"))?;
        indices.push(index);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    fn has(&self, stream: usize, index: u32) -> bool {
        self.0[stream].binary_search(&index).is_ok()
    }

    /// Returns the number of skipped lines of a stream before `index`.
    fn before(&self, stream: ObjStream, index: u32) -> u32 {
        self.0[stream as usize].partition_point(|&skipped| skipped < index) as u32
    }

    /// Removes the values of skipped lines from an array that is empty or has one value per line.
    fn take_from<T: Copy>(&self, stream: ObjStream, values: &mut Array<T>) -> Result<()> {
        let skipped = &self.0[stream as usize];
        if skipped.is_empty() || values.is_empty() {
            return Ok(());
        }
        let mut next = skipped.iter().peekable();
        let mut index = 0;
        values.to_mut()?.retain(|_| {
            let is_skipped = next.next_if(|&&skipped| skipped == index).is_some();
            index += 1;
            !is_skipped
        });
        Ok(())
    }

    /// Returns the index of a value after the skipped values before it are removed. Keeps [`NONE`].
    fn moved(&self, stream: ObjStream, index: u32) -> u32 {
        if index == NONE { NONE } else { index - self.before(stream, index) }
    }

    fn move_counts(&self, at: &mut Counts) {
        at.positions -= self.before(ObjStream::Position, at.positions);
        at.uvs -= self.before(ObjStream::Uv, at.uvs);
        at.normals -= self.before(ObjStream::Normal, at.normals);
    }
}

/// Clears out-of-range uv or normal indices; returns how many were cleared.
pub(super) fn drop_missing(mesh: &mut Mesh, stream: ObjStream) -> Result<u64> {
    let Mesh { faces, lines, uvs, normals, .. } = mesh;
    let count = if stream == ObjStream::Uv { uvs.len() } else { normals.len() };
    let mut dropped = 0;
    for elements in [faces, lines] {
        let corners = match stream {
            ObjStream::Uv => elements.corner_uvs.to_mut()?,
            _ => elements.corner_normals.to_mut()?,
        };
        for index in corners.iter_mut().filter(|index| **index != NONE && **index as usize >= count) {
            *index = NONE;
            dropped += 1;
        }
        clear_unused(corners);
    }
    Ok(dropped)
}

/// Clears the stream if no corner has an index.
fn clear_unused(corners: &mut Vec<u32>) {
    if corners.iter().all(|&index| index == NONE) {
        corners.clear();
    }
}

/// Drops elements that use an out-of-range position or a skipped line, then drops the skipped values, and updates the
/// ranges of objects and runs.
pub(super) fn drop_broken(
    mesh: &mut Mesh,
    objects: &mut Vec<Object>,
    skipped: &SkippedLines,
    warnings: &mut Warnings,
) -> Result<()> {
    let counts = mesh.counts();
    let element_count = |counts: Counts| [counts.faces, counts.lines, counts.points].map(u64::from).iter().sum::<u64>();
    let is_whole = |stream: usize, index: u32| {
        !skipped.has(stream, index) && (stream != ObjStream::Position as usize || index < counts.positions)
    };
    // Elements first, while their indices still count the skipped lines.
    let faces = compact(&mut mesh.faces, is_whole)?;
    let lines = compact(&mut mesh.lines, is_whole)?;
    let points = compact_points(mesh.points.to_mut()?, is_whole)?;
    let curves = compact_curves(mesh, is_whole)?;
    let moved = |at: &mut Counts| {
        at.faces = faces[at.faces as usize];
        at.lines = lines[at.lines as usize];
        at.points = points[at.points as usize];
        at.curves = curves.get(at.curves as usize).copied().unwrap_or(at.curves);
        skipped.move_counts(at);
    };
    let runs = [&mut mesh.material_runs, &mut mesh.group_runs, &mut mesh.smoothing_runs];
    runs.into_iter().flatten().for_each(|run| moved(&mut run.at));
    mesh.curves.iter_mut().for_each(|curve| moved(&mut curve.at));
    for object in objects.iter_mut() {
        moved(&mut object.start);
        moved(&mut object.end);
    }
    objects.retain(|object| object.kind != ObjectKind::Unnamed || object.start != object.end);
    take_skipped(mesh, skipped)?;
    let dropped = element_count(counts) - element_count(mesh.counts());
    let message = counted(
        dropped,
        [
            "element that uses a missing or skipped vertex was dropped",
            "elements that use missing or skipped vertices were dropped",
        ],
    );
    warnings.push_many("element-left-out", dropped, Diagnostic::new(message));
    Ok(())
}

/// Removes the values of skipped lines, which elements no longer use, and renumbers all indices.
fn take_skipped(mesh: &mut Mesh, skipped: &SkippedLines) -> Result<()> {
    if skipped.is_empty() {
        return Ok(());
    }
    skipped.take_from(ObjStream::Position, &mut mesh.positions)?;
    skipped.take_from(ObjStream::Position, &mut mesh.exact_positions)?;
    skipped.take_from(ObjStream::Position, &mut mesh.position_weights)?;
    skipped.take_from(ObjStream::Position, &mut mesh.colors)?;
    if mesh.colors.iter().all(|color| color[..3].iter().all(|value| value.is_nan())) {
        mesh.colors = Array::default();
    }
    skipped.take_from(ObjStream::Uv, &mut mesh.uvs)?;
    skipped.take_from(ObjStream::Uv, &mut mesh.uv_depths)?;
    skipped.take_from(ObjStream::Normal, &mut mesh.normals)?;
    let renumber = |stream: ObjStream, indices: &mut [u32]| {
        indices.iter_mut().for_each(|index| *index = skipped.moved(stream, *index));
    };
    for elements in [&mut mesh.faces, &mut mesh.lines] {
        renumber(ObjStream::Position, elements.corner_positions.to_mut()?);
        renumber(ObjStream::Uv, elements.corner_uvs.to_mut()?);
        renumber(ObjStream::Normal, elements.corner_normals.to_mut()?);
    }
    renumber(ObjStream::Position, mesh.points.to_mut()?);
    mesh.curves.iter_mut().for_each(|curve| renumber(ObjStream::Position, &mut curve.control_points));
    Ok(())
}

/// Drops incomplete elements. Returns the new index for each old index, followed by the new count.
fn compact(elements: &mut Elements, is_whole: impl Fn(usize, u32) -> bool) -> Result<Vec<u32>> {
    let in_range = |number: usize, stream: &[u32], range: std::ops::Range<usize>| {
        stream.get(range).is_none_or(|indices| indices.iter().all(|&index| index == NONE || is_whole(number, index)))
    };
    let count = elements.len();
    let offsets = elements.offsets.to_mut()?;
    let mut streams =
        [elements.corner_positions.to_mut()?, elements.corner_uvs.to_mut()?, elements.corner_normals.to_mut()?];
    let mut map = room_for(count + 1)?;
    let mut kept_count = 0;
    let mut corner = 0;
    for element in 0..count {
        map.push(kept_count as u32);
        let corners = offsets[element] as usize..offsets[element + 1] as usize;
        if streams.iter().enumerate().all(|(number, stream)| in_range(number, stream, corners.clone())) {
            for stream in &mut streams {
                if !stream.is_empty() {
                    stream.copy_within(corners.clone(), corner);
                }
            }
            corner += corners.len();
            kept_count += 1;
            // Before an element is dropped, this changes nothing; afterward, it overwrites an offset that was already
            // used.
            offsets[kept_count] = corner as u32;
        }
    }
    map.push(kept_count as u32);
    // Without elements, there are no offsets, not even the first 0.
    offsets.truncate(if kept_count == 0 { 0 } else { kept_count + 1 });
    for stream in streams {
        stream.truncate(corner);
        clear_unused(stream);
    }
    Ok(map)
}

fn compact_points(points: &mut Vec<u32>, is_whole: impl Fn(usize, u32) -> bool) -> Result<Vec<u32>> {
    let mut map = room_for(points.len() + 1)?;
    let mut kept_count = 0;
    let is_kept = |point: u32| is_whole(ObjStream::Position as usize, point);
    for &point in points.iter() {
        map.push(kept_count);
        kept_count += u32::from(is_kept(point));
    }
    map.push(kept_count);
    points.retain(|&point| is_kept(point));
    Ok(map)
}

fn compact_curves(mesh: &mut Mesh, is_whole: impl Fn(usize, u32) -> bool) -> Result<Vec<u32>> {
    let mut map = room_for(mesh.curves.len() + 1)?;
    let mut kept_count = 0;
    mesh.curves.retain(|curve| {
        map.push(kept_count);
        let is_kept = curve.control_points.iter().all(|&point| is_whole(ObjStream::Position as usize, point));
        kept_count += u32::from(is_kept);
        is_kept
    });
    map.push(kept_count);
    Ok(map)
}

fn room_for(count: usize) -> Result<Vec<u32>> {
    let mut map = Vec::new();
    map.try_reserve_exact(count).map_err(|_| Error::memory("index maps"))?;
    Ok(map)
}
