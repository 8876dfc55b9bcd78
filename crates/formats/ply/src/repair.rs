//! Removes invalid faces, edges and vertices that were reported as warnings.

use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Array, Column, Domain, Elements, Mesh, NONE, Values};
use std::ops::Range;

/// Removes faces with fewer than three corners or an out-of-range index, and their rows in `columns`; returns how many
/// were removed.
pub(super) fn drop_faces<'a>(
    faces: &mut Elements,
    columns: impl Iterator<Item = &'a mut Column>,
    positions: u32,
) -> Result<u64> {
    let keep = compact(faces, 3, positions)?;
    keep_rows(columns, &keep)?;
    Ok(dropped(&keep))
}

/// Removes lines with an out-of-range index, and their rows in `columns`; returns how many were removed.
pub(super) fn drop_lines<'a>(
    lines: &mut Elements,
    columns: impl Iterator<Item = &'a mut Column>,
    positions: u32,
) -> Result<u64> {
    let keep = compact(lines, 2, positions)?;
    keep_rows(columns, &keep)?;
    Ok(dropped(&keep))
}

/// Removes rows of columns; returns how many of `count` remain.
pub(super) fn drop_rows<'a>(
    columns: impl Iterator<Item = &'a mut Column>,
    rows: &[u64],
    count: usize,
) -> Result<usize> {
    let keep = all_but(rows, count)?;
    keep_rows(columns, &keep)?;
    Ok(keep.iter().filter(|&&is_kept| is_kept).count())
}

/// Marks the corners at `vertices`, which will be removed, as out of range.
pub(super) fn mark_corners(corners: &mut Array<u32>, vertices: &[u64]) -> Result<()> {
    for corner in corners.to_mut()? {
        if vertices.binary_search(&u64::from(*corner)).is_ok() {
            *corner = NONE;
        }
    }
    Ok(())
}

/// Removes these vertices, which no element may use, and renumbers the others.
pub(super) fn drop_vertices(mesh: &mut Mesh, vertices: &[u64]) -> Result<()> {
    let keep = all_but(vertices, mesh.positions.len())?;
    let mut retained = PlyRepairRows(&keep);
    retained.on(mesh.positions.to_mut()?);
    retained.on(mesh.exact_positions.to_mut()?);
    retained.on(mesh.normals.to_mut()?);
    retained.on(mesh.uvs.to_mut()?);
    retained.on(mesh.colors.to_mut()?);
    keep_rows(mesh.vertex_columns.iter_mut(), &keep)?;
    if mesh.positions.is_empty() {
        mesh.normal_domain = Domain::default();
        mesh.uv_domain = Domain::default();
    }
    for corners in [&mut mesh.faces.corner_positions, &mut mesh.lines.corner_positions] {
        for corner in corners.to_mut()? {
            *corner -= vertices.partition_point(|&vertex| vertex < u64::from(*corner)) as u32;
        }
    }
    Ok(())
}

/// Returns which of `count` rows to keep: all except `rows`.
fn all_but(rows: &[u64], count: usize) -> Result<Vec<bool>> {
    let mut keep = Vec::new();
    keep.try_reserve_exact(count).map_err(|_| Error::memory("rows"))?;
    keep.resize(count, true);
    for &row in rows {
        if let Some(is_kept) = usize::try_from(row).ok().and_then(|row| keep.get_mut(row)) {
            *is_kept = false;
        }
    }
    Ok(keep)
}

fn keep_rows<'a>(columns: impl Iterator<Item = &'a mut Column>, keep: &[bool]) -> Result<()> {
    for column in columns {
        match &mut column.offsets {
            Some(offsets) => with_array(&mut column.values, &mut PlyLists { offsets: offsets.to_mut()?, keep })?,
            None => with_array(&mut column.values, &mut PlyRepairRows(keep))?,
        }
    }
    Ok(())
}

/// Removes invalid elements. Returns for each element whether it was kept.
fn compact(elements: &mut Elements, min_corners: usize, positions: u32) -> Result<Vec<bool>> {
    let keep = valid(elements, min_corners, positions)?;
    compact_lists(elements.offsets.to_mut()?, elements.corner_positions.to_mut()?, &keep);
    if elements.is_empty() {
        *elements = Elements::default();
    }
    Ok(keep)
}

fn dropped(keep: &[bool]) -> u64 {
    keep.iter().filter(|&&is_kept| !is_kept).count() as u64
}

/// Returns whether each element is valid.
fn valid(elements: &Elements, min_corners: usize, positions: u32) -> Result<Vec<bool>> {
    let mut keep = Vec::new();
    keep.try_reserve_exact(elements.len()).map_err(|_| Error::memory("elements"))?;
    keep.extend(elements.offsets.windows(2).map(|pair| {
        let corners = elements.corner_positions.get(pair[0] as usize..pair[1] as usize).unwrap_or(&[]);
        corners.len() >= min_corners && corners.iter().all(|&corner| corner < positions)
    }));
    Ok(keep)
}

/// An operation on an array of any type.
trait PlyWork {
    fn on<T: Copy>(&mut self, items: &mut Vec<T>);
}

struct PlyRepairRows<'a>(&'a [bool]);

struct PlyLists<'a> {
    offsets: &'a mut Vec<u32>,
    keep: &'a [bool],
}

impl PlyWork for PlyRepairRows<'_> {
    fn on<T: Copy>(&mut self, items: &mut Vec<T>) {
        let mut flags = self.0.iter();
        items.retain(|_| flags.next().copied().unwrap_or(false));
    }
}

impl PlyWork for PlyLists<'_> {
    fn on<T: Copy>(&mut self, items: &mut Vec<T>) {
        compact_lists(self.offsets, items, self.keep);
    }
}

fn with_array(values: &mut Values, work: &mut impl PlyWork) -> Result<()> {
    match values {
        Values::I8(array) => work.on(array.to_mut()?),
        Values::U8(array) => work.on(array.to_mut()?),
        Values::I16(array) => work.on(array.to_mut()?),
        Values::U16(array) => work.on(array.to_mut()?),
        Values::I32(array) => work.on(array.to_mut()?),
        Values::U32(array) => work.on(array.to_mut()?),
        Values::I64(array) => work.on(array.to_mut()?),
        Values::U64(array) => work.on(array.to_mut()?),
        Values::F32(array) => work.on(array.to_mut()?),
        Values::F64(array) => work.on(array.to_mut()?),
    }
    Ok(())
}

/// Removes the lists that `keep` does not mark.
fn compact_lists<T: Copy>(offsets: &mut Vec<u32>, items: &mut Vec<T>, keep: &[bool]) {
    let mut lists = 0;
    let mut end = 0;
    for (list, _) in keep.iter().enumerate().filter(|(_, is_kept)| **is_kept) {
        let corners: Range<usize> = offsets[list] as usize..offsets[list + 1] as usize;
        let size = corners.len();
        items.copy_within(corners, end);
        end += size;
        lists += 1;
        // At most the end of the list just read, so this overwrites no offset that is still needed.
        offsets[lists] = end as u32;
    }
    items.truncate(end);
    offsets.truncate(lists + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_columns_go_with_their_faces() {
        let mut faces = Elements {
            offsets: [0, 3, 5, 8, 11].into(),
            corner_positions: [0, 1, 2, 0, 1, 0, 1, 9, 2, 1, 0].into(),
            ..Elements::default()
        };
        let flags = Column { values: Values::U8([1, 2, 3, 4].into()), ..Column::default() };
        let lists = Column {
            offsets: Some([0, 1, 1, 3, 5].into()),
            values: Values::I16([1, 2, 3, 4, 5].into()),
            ..Column::default()
        };
        let mut columns = [flags, lists];
        assert_eq!(drop_faces(&mut faces, columns.iter_mut(), 3).unwrap(), 2);
        assert_eq!((&*faces.offsets, &*faces.corner_positions), (&[0, 3, 6][..], &[0, 1, 2, 2, 1, 0][..]));
        assert_eq!(columns[0].values, Values::U8([1, 4].into()));
        assert_eq!(columns[1].offsets, Some(Array::from([0, 1, 3])));
        assert_eq!(columns[1].values, Values::I16([1, 4, 5].into()));
        assert_eq!(drop_lines(&mut faces, [].iter_mut(), 0).unwrap(), 2);
        assert_eq!(faces, Elements::default());
    }
}
