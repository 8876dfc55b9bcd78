//! Extracts a section of a mesh as a separate mesh.
//!
//! Readers produce one mesh per file. Objects are sections of that mesh, with a range of each kind of element.
//! [`crate::parts`] writes sections without copying them.

use polyhaul_model::copy::{self, CopiedRows, pick};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Array, Counts, Curve, Domain, Elements, Mesh, NONE, Run, VertexGroup};
use polyhaul_pipeline::arrays::zeroed;
use std::collections::HashMap;
use std::ops::Range;

/// The positions that a section contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SectionPositions {
    /// The positions of its own range, in order, followed by the other positions that its elements refer to.
    #[default]
    Own,
    /// The positions that its elements refer to, in order, or its own range if it has no elements.
    Used,
}

/// Returns the section from `start` up to `end`, with indices renumbered from 0.
///
/// It contains the uvs and normals of its own ranges, in order, followed by the other uvs and normals that its elements
/// refer to. `which` selects the positions. Materials, groups and smoothing in effect at `start` apply from its first
/// element on. A section that covers the whole mesh is a clone of it.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if the section extends past the mesh or an index is out of range; [`ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_geometry::section::{SectionPositions, section};
/// use polyhaul_model::{Counts, Elements, Mesh};
///
/// let faces = Elements {
///     offsets: vec![0, 3, 6].into(),
///     corner_positions: vec![0, 1, 2, 3, 2, 1].into(),
///     ..Elements::default()
/// };
/// let positions = vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]];
/// let mesh = Mesh { positions: positions.into(), faces, ..Mesh::default() };
/// let start = Counts { positions: 3, faces: 1, ..Counts::default() };
/// let second = section(&mesh, start, mesh.counts(), SectionPositions::Own)?;
/// assert_eq!(second.positions, [[3.0; 3], [1.0; 3], [2.0; 3]]);
/// assert_eq!(second.faces.corner_positions, [0, 2, 1]);
///
/// let used = section(&mesh, start, mesh.counts(), SectionPositions::Used)?;
/// assert_eq!(used.positions, [[1.0; 3], [2.0; 3], [3.0; 3]]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn section(mesh: &Mesh, start: Counts, end: Counts, which: SectionPositions) -> Result<Mesh> {
    if !start.precedes(end) || !end.precedes(mesh.counts()) {
        return Err(Error::new(ErrorKind::Usage, "the section is out of range"));
    }
    let range = |part: fn(&Counts) -> u32| part(&start) as usize..part(&end) as usize;
    let (faces, face_corners) = elements(&mesh.faces, range(|counts| counts.faces));
    let (lines, line_corners) = elements(&mesh.lines, range(|counts| counts.lines));
    let points = range(|counts| counts.points);
    let mut curves = curves(mesh, start, end)?;

    let control_points = || curves.iter().flat_map(|curve| &curve.control_points).copied();
    let streams = [
        part(&mesh.faces.corner_positions, &face_corners),
        part(&mesh.lines.corner_positions, &line_corners),
        part(&mesh.points, &points),
    ];
    let of_section = range(|counts| counts.positions);
    let count = mesh.positions.len();
    let positions = match which {
        SectionPositions::Own => Picked::new(of_section, count, &streams, control_points())?,
        SectionPositions::Used => Picked::used(of_section, count, &streams, control_points())?,
    };
    if start == Counts::default() && end == mesh.counts() && positions.range == (0..count) {
        return Ok(mesh.clone());
    }
    let mut faces = copied(&mesh.faces, faces, &face_corners)?;
    let mut lines = copied(&mesh.lines, lines, &line_corners)?;
    let mut points = pick(&mesh.points, &points.into())?;
    let indexed = |domain: Domain, of_section: Range<usize>, count: usize, streams: [&[u32]; 2]| match domain {
        Domain::Indexed => Picked::new(of_section, count, &streams, std::iter::empty()),
        _ => Picked::new(0..0, 0, &[], std::iter::empty()),
    };
    let uvs = [&faces.corner_uvs[..], &lines.corner_uvs[..]];
    let uvs = indexed(mesh.uv_domain, range(|counts| counts.uvs), mesh.uvs.len(), uvs)?;
    let normals = [&faces.corner_normals[..], &lines.corner_normals[..]];
    let normals = indexed(mesh.normal_domain, range(|counts| counts.normals), mesh.normals.len(), normals)?;

    for stream in [&mut faces.corner_positions, &mut lines.corner_positions, &mut points] {
        positions.renumber(stream.to_mut()?);
    }
    curves.iter_mut().for_each(|curve| positions.renumber(&mut curve.control_points));
    for stream in [&mut faces.corner_uvs, &mut lines.corner_uvs] {
        uvs.renumber(stream.to_mut()?);
    }
    for stream in [&mut faces.corner_normals, &mut lines.corner_normals] {
        normals.renumber(stream.to_mut()?);
    }

    let of_faces = start.faces as usize..end.faces as usize;
    let picks = SectionPicks { positions: &positions, faces: of_faces, corners: face_corners };
    let (group_runs, groups) = groups(mesh, start, end)?;
    let mut section = Mesh {
        uvs: picks.attribute(&mesh.uvs, mesh.uv_domain, &uvs)?,
        uv_domain: mesh.uv_domain,
        uv_depths: picks.attribute(&mesh.uv_depths, mesh.uv_domain, &uvs)?,
        normals: picks.attribute(&mesh.normals, mesh.normal_domain, &normals)?,
        normal_domain: mesh.normal_domain,
        material_runs: runs(&mesh.material_runs, start, end)?,
        group_runs,
        smoothing_runs: runs(&mesh.smoothing_runs, start, end)?,
        groups,
        faces,
        lines,
        points,
        curves,
        ..picks.rest(mesh)?
    };
    section.move_curves_behind();
    Ok(section)
}

/// The elements of one kind that a section contains.
struct Picked {
    range: Range<usize>,
    /// Elements outside of the range, ascending.
    others: Vec<u32>,
    /// If the used elements have gaps: the new index of each old index from `first` on, and `first`, the lowest used
    /// index.
    numbers: Option<(Vec<u32>, usize)>,
}

impl Picked {
    fn new(range: Range<usize>, count: usize, streams: &[&[u32]], more: impl Iterator<Item = u32>) -> Result<Picked> {
        let mut others: Vec<u32> = Vec::new();
        let is_other = |index: u32| index != NONE && !range.contains(&(index as usize));
        for stream in streams {
            // In the usual case, no index points outside the section, and one scan per stream suffices.
            if stream.iter().any(|&index| is_other(index)) {
                for &index in stream.iter().filter(|&&index| is_other(index)) {
                    try_push(&mut others, index, "a section")?;
                }
            }
        }
        for index in more.filter(|&index| is_other(index)) {
            try_push(&mut others, index, "a section")?;
        }
        others.sort_unstable();
        others.dedup();
        others.last().map_or(Ok(()), |&last| check(last, count))?;
        Ok(Picked { range, others, numbers: None })
    }

    /// Selects the elements that the streams use, or the section's own range if they use none.
    fn used(
        range: Range<usize>,
        count: usize,
        streams: &[&[u32]],
        more: impl Iterator<Item = u32> + Clone,
    ) -> Result<Picked> {
        // One stream at a time, so that the loops are vectorized.
        let last = streams.iter().filter_map(|stream| stream.iter().copied().max()).chain(more.clone()).max();
        let first = streams.iter().filter_map(|stream| stream.iter().copied().min()).chain(more.clone()).min();
        let Some((first, last)) = first.zip(last) else {
            return Ok(Picked { range, others: Vec::new(), numbers: None });
        };
        check(last, count)?;
        let first = first as usize;
        let mut numbers: Vec<u32> = zeroed(last as usize + 1 - first, "a section")?;
        for stream in streams {
            stream.iter().for_each(|&index| numbers[index as usize - first] = 1);
        }
        more.for_each(|index| numbers[index as usize - first] = 1);
        let mut others = Vec::new();
        others.try_reserve_exact(numbers.iter().filter(|&&is_used| is_used == 1).count())?;
        for (at, number) in numbers.iter_mut().enumerate().filter(|(_, is_used)| **is_used == 1) {
            *number = others.len() as u32;
            others.push((first + at) as u32);
        }
        // Without gaps, a subtraction renumbers indices, so the table is not kept.
        if others.len() == numbers.len() {
            return Ok(Picked { range: first..last as usize + 1, others: Vec::new(), numbers: None });
        }
        Ok(Picked { range: 0..0, others, numbers: Some((numbers, first)) })
    }

    /// Replaces old indices with new ones.
    fn renumber(&self, indices: &mut [u32]) {
        let start = self.range.start as u32;
        if let Some((numbers, first)) = &self.numbers {
            // `NONE` is beyond the table, so it stays `NONE`.
            let number = |index: u32| numbers.get((index as usize).wrapping_sub(*first)).copied().unwrap_or(NONE);
            indices.iter_mut().for_each(|index| *index = number(*index));
            return;
        }
        if self.others.is_empty() {
            for index in indices {
                *index = if *index == NONE { NONE } else { index.wrapping_sub(start) };
            }
            return;
        }
        for index in indices.iter_mut().filter(|index| **index != NONE) {
            *index = match self.others.binary_search(index) {
                Ok(place) => (self.range.len() + place) as u32,
                Err(_) => index.wrapping_sub(start),
            };
        }
    }

    /// Returns the old indices in their new order.
    fn all(&self) -> CopiedRows<'_> {
        CopiedRows { range: self.range.clone(), others: &self.others }
    }
}

fn check(index: u32, count: usize) -> Result<()> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("index {index} is out of range: there are {count} elements")))
}

/// The elements of a section, per domain.
struct SectionPicks<'a> {
    positions: &'a Picked,
    faces: Range<usize>,
    corners: Range<usize>,
}

impl SectionPicks<'_> {
    /// Copies the section's values of an attribute. `indexed` selects the values if the attribute has an index stream.
    fn attribute<T: Copy>(&self, values: &Array<T>, domain: Domain, indexed: &Picked) -> Result<Array<T>> {
        match domain {
            Domain::Indexed => pick(values, &indexed.all()),
            Domain::Vertex => pick(values, &self.positions.all()),
            Domain::Corner => pick(values, &self.corners.clone().into()),
            Domain::Face => pick(values, &self.faces.clone().into()),
        }
    }

    /// Copies the per-position and per-face data except uvs and normals. The other fields are empty.
    fn rest(&self, mesh: &Mesh) -> Result<Mesh> {
        let vertices = self.positions.all();
        let faces = self.faces.clone().into();
        let mut rest = Mesh {
            positions: pick(&mesh.positions, &vertices)?,
            exact_positions: pick(&mesh.exact_positions, &vertices)?,
            position_weights: pick(&mesh.position_weights, &vertices)?,
            colors: pick(&mesh.colors, &vertices)?,
            face_materials: pick(&mesh.face_materials, &faces)?,
            face_smooth: pick(&mesh.face_smooth, &faces)?,
            sharp_edges: self.sharp_edges(&mesh.sharp_edges)?,
            ..Mesh::default()
        };
        for group in &mesh.vertex_groups {
            let weights = pick(&group.weights, &vertices)?;
            try_push(&mut rest.vertex_groups, VertexGroup { name: group.name.clone(), weights }, "a section")?;
        }
        for column in &mesh.vertex_columns {
            try_push(&mut rest.vertex_columns, copy::rows(column, &vertices)?, "a section")?;
        }
        for column in &mesh.face_columns {
            try_push(&mut rest.face_columns, copy::rows(column, &faces)?, "a section")?;
        }
        Ok(rest)
    }

    /// Returns the sharp edges between positions of the section.
    fn sharp_edges(&self, edges: &[[u32; 2]]) -> Result<Array<[u32; 2]>> {
        let has = |index: u32| {
            self.positions.range.contains(&(index as usize)) || self.positions.others.binary_search(&index).is_ok()
        };
        let mut inside = Vec::new();
        for edge in edges.iter().filter(|edge| edge.iter().all(|&index| has(index))) {
            try_push(&mut inside, *edge, "a section")?;
        }
        self.positions.renumber(inside.as_flattened_mut());
        Ok(inside.into())
    }
}

/// Returns a range of elements and the range of their corners.
fn elements(elements: &Elements, range: Range<usize>) -> (Range<usize>, Range<usize>) {
    let at = |index: usize| elements.offsets.get(index).map_or(0, |&offset| offset as usize);
    (range.clone(), at(range.start)..at(range.end))
}

/// Returns a range of a stream, or an empty slice if it is out of range.
fn part<'a>(stream: &'a [u32], range: &Range<usize>) -> &'a [u32] {
    stream.get(range.clone()).unwrap_or_default()
}

/// Copies a range of elements with their original indices.
fn copied(elements: &Elements, range: Range<usize>, corners: &Range<usize>) -> Result<Elements> {
    if range.is_empty() {
        return Ok(Elements::default());
    }
    let mut offsets = pick(&elements.offsets, &(range.start..range.end + 1).into())?;
    offsets.to_mut()?.iter_mut().for_each(|offset| *offset = offset.wrapping_sub(corners.start as u32));
    let corners = corners.clone().into();
    Ok(Elements {
        offsets,
        corner_positions: pick(&elements.corner_positions, &corners)?,
        corner_uvs: pick(&elements.corner_uvs, &corners)?,
        corner_normals: pick(&elements.corner_normals, &corners)?,
    })
}

fn curves(mesh: &Mesh, start: Counts, end: Counts) -> Result<Vec<Curve>> {
    let mut curves = Vec::new();
    for curve in &mesh.curves[start.curves as usize..end.curves as usize] {
        try_push(&mut curves, Curve { at: since(curve.at, start), ..curve.clone() }, "a section")?;
    }
    Ok(curves)
}

/// Returns the runs that start in a section, preceded by the run in effect at its start.
fn runs(runs: &[Run], start: Counts, end: Counts) -> Result<Vec<Run>> {
    let first = runs.partition_point(|run| run.at.precedes(start));
    let mut taken = Vec::new();
    if let Some(before) = first.checked_sub(1).and_then(|before| runs.get(before)) {
        try_push(&mut taken, Run { at: Counts::default(), value: before.value }, "a section")?;
    }
    // A run that starts at the end belongs to the next section.
    for run in runs[first..].iter().take_while(|run| run.at.precedes(end) && run.at != end) {
        try_push(&mut taken, Run { at: since(run.at, start), ..*run }, "a section")?;
    }
    Ok(taken)
}

/// Returns the group runs of a section and the names they refer to. Only used names are copied, since a file can have a
/// hundred thousand groups.
pub fn groups(mesh: &Mesh, start: Counts, end: Counts) -> Result<(Vec<Run>, Vec<String>)> {
    let mut runs_of_section = runs(&mesh.group_runs, start, end)?;
    let mut names = Vec::new();
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for run in runs_of_section.iter_mut().filter(|run| run.value != NONE) {
        let Some(name) = mesh.groups.get(run.value as usize) else { continue };
        let next = names.len() as u32;
        let number = *numbers.entry(run.value).or_insert(next);
        if number == next {
            try_push(&mut names, name.clone(), "a section")?;
        }
        run.value = number;
    }
    Ok((runs_of_section, names))
}

/// Returns counts relative to the start of a section.
fn since(counts: Counts, start: Counts) -> Counts {
    let counts = counts.to_array();
    let start = start.to_array();
    Counts::from_array(std::array::from_fn(|kind| counts[kind].saturating_sub(start[kind])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_of_lines_are_renumbered() {
        let line = Elements {
            offsets: vec![0, 2].into(),
            corner_positions: vec![1, 2].into(),
            corner_normals: vec![2, NONE].into(),
            ..Elements::default()
        };
        let normals = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mesh =
            Mesh { positions: vec![[0.0; 3]; 3].into(), normals: normals.into(), lines: line, ..Mesh::default() };
        let end = Counts { normals: 0, ..mesh.counts() };
        let of_line = section(&mesh, Counts::default(), end, SectionPositions::Used).unwrap();
        assert_eq!(of_line.normals, [[0.0, 0.0, 1.0]]);
        assert_eq!(of_line.lines.corner_normals, [0, NONE]);
    }

    #[test]
    fn runs_stay_inside_a_section_with_fewer_positions() {
        let faces =
            Elements { offsets: vec![0, 3].into(), corner_positions: vec![1, 2, 3].into(), ..Elements::default() };
        let run = Run { at: Counts { positions: 5, ..Counts::default() }, value: 0 };
        let mesh = Mesh { positions: vec![[0.0; 3]; 5].into(), material_runs: vec![run], faces, ..Mesh::default() };
        let used = section(&mesh, Counts::default(), mesh.counts(), SectionPositions::Used).unwrap();
        assert_eq!(used.material_runs, [Run { at: Counts { positions: 3, ..Counts::default() }, value: 0 }]);
    }
}
