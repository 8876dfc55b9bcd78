//! Sections of a mesh in the form in which most programs store meshes: per-corner uvs and normals, and per-face
//! materials and smoothing.
//!
//! For positions and indices of sections, see [`crate::section`]. For per-corner values, see [`crate::corners`]. For
//! edges, see [`crate::edges`].

use crate::clean::has_clean_faces;
use crate::corners::{normals_of, uvs_of};
use crate::edges::{Edges, edges};
use crate::section::{SectionPositions, groups, section};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Counts, Curve, Domain, Elements, Mesh, NONE, Run};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::HashMap;
use std::ops::Range;

polyhaul_model::options! {
    /// Options for [`flat_sections`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FlatOptions {
        /// The value of both uv coordinates for corners without a uv (0).
        pub missing_uv: f32 = 0.0, with_missing_uv;
        /// Whether to return normals (true).
        pub normals: bool = true, with_normals;
        /// The positions that sections contain (the used positions).
        pub positions: SectionPositions = SectionPositions::Used, with_positions;
    }
}

/// A section with per-corner uvs and normals, and per-face materials and smoothing.
#[derive(Clone, Debug, Default)]
pub struct FlatSection {
    /// The section. `face_materials` are indices into `materials`, or -1 for no material. `face_smooth` is empty if the
    /// mesh does not define smoothing.
    pub mesh: Mesh,
    /// The distinct materials of its faces, in the order of their first faces: indices into the scene's materials or,
    /// if the mesh has [`Mesh::face_materials`], slots of the object.
    pub materials: Vec<u32>,
    /// Whether every corner of its faces has a finite normal other than zero.
    pub has_all_normals: bool,
    /// Whether all normals have unit length, up to the rounding of a file with three decimals.
    pub has_unit_normals: bool,
}

/// Returns sections of a mesh, each between a pair of counts. Corners without a normal get NaN. Groups are kept, as in
/// [`section`]. Third uv coordinates and the uvs of polylines are dropped.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if a section extends past the mesh or an index is out of range; [`ErrorKind::Memory`];
/// [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_geometry::flat::{FlatOptions, flat_sections};
/// use polyhaul_model::{Counts, Domain, Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let faces = Elements {
///     offsets: vec![0, 3, 6].into(),
///     corner_positions: vec![0, 1, 2, 3, 2, 1].into(),
///     ..Elements::default()
/// };
/// let mesh = Mesh {
///     positions: vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]].into(),
///     normals: vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
///     normal_domain: Domain::Face,
///     faces,
///     ..Mesh::default()
/// };
/// let start = Counts { positions: 3, faces: 1, ..Counts::default() };
/// let cuts = [(Counts::default(), start), (start, mesh.counts())];
/// let sections = flat_sections(&mesh, &cuts, &FlatOptions::default(), &RunOptions::default())?;
/// assert_eq!(sections[1].mesh.positions, [[1.0; 3], [2.0; 3], [3.0; 3]]);
/// assert_eq!(sections[1].mesh.normals, [[0.0, 1.0, 0.0]; 3]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn flat_sections(
    mesh: &Mesh,
    cuts: &[(Counts, Counts)],
    flat: &FlatOptions,
    options: &RunOptions,
) -> Result<Vec<FlatSection>> {
    if let Some((_, end)) = cuts.iter().find(|(_, end)| !end.precedes(mesh.counts())) {
        return Err(Error::new(ErrorKind::Usage, format!("the section ends at {end:?}, past the end of the mesh")));
    }
    let bare = bare(mesh)?;
    let mut sections = Vec::new();
    sections.try_reserve_exact(cuts.len())?;
    sections.resize_with(cuts.len(), FlatSection::default);
    // Parallel over sections, or within the only section.
    let threads = options.worker_threads();
    let own_threads = if cuts.len() > 1 { 1 } else { threads };
    let work = |(): &mut (), (made, cut): (&mut FlatSection, &(Counts, Counts))| {
        *made = flat_section(mesh, &bare, *cut, flat, own_threads)?;
        Ok(())
    };
    try_for_each_item(threads, &options.cancel, sections.iter_mut().zip(cuts), || (), work)?;
    Ok(sections)
}

/// Connectivity of the faces of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The unique edges.
    pub edges: Edges,
    /// The result of [`has_clean_faces`].
    pub has_clean_faces: bool,
}

/// Returns the topology of each mesh.
///
/// # Errors
///
/// See [`edges`]; [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let faces = Elements { offsets: vec![0, 3].into(), corner_positions: vec![0, 1, 2].into(), ..Elements::default() };
/// let mesh = Mesh { positions: vec![[0.0; 3]; 3].into(), faces, ..Mesh::default() };
/// let topologies = polyhaul_geometry::flat::topologies(&[&mesh], &RunOptions::default())?;
/// assert_eq!((topologies[0].edges.positions.len(), topologies[0].has_clean_faces), (3, true));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn topologies(meshes: &[&Mesh], options: &RunOptions) -> Result<Vec<Topology>> {
    enum Part<'a> {
        Edges(&'a mut Edges),
        IsClean(&'a mut bool),
    }
    let mut topologies = Vec::new();
    topologies.try_reserve_exact(meshes.len())?;
    topologies.resize_with(meshes.len(), Topology::default);
    // Two items per mesh: `edges` uses a single thread, so another thread can check the faces meanwhile.
    let parts = topologies.iter_mut().zip(meshes).flat_map(|(Topology { edges, has_clean_faces }, mesh)| {
        [(Part::Edges(edges), *mesh), (Part::IsClean(has_clean_faces), *mesh)]
    });
    let one_thread = options.clone().with_threads(Some(1));
    let work = |(): &mut (), (part, mesh): (Part<'_>, &Mesh)| {
        match part {
            Part::Edges(target) => *target = edges(mesh)?,
            Part::IsClean(target) => *target = has_clean_faces(mesh, &one_thread)?,
        }
        Ok(())
    };
    try_for_each_item(options.worker_threads(), &options.cancel, parts, || (), work)?;
    Ok(topologies)
}

/// Copies a mesh without the attributes that sections store per corner or per face, and without groups, of which a file
/// can have a hundred thousand.
fn bare(mesh: &Mesh) -> Result<Mesh> {
    let elements = |elements: &Elements| -> Result<Elements> {
        let offsets = elements.offsets.try_clone()?;
        let corner_positions = elements.corner_positions.try_clone()?;
        Ok(Elements { offsets, corner_positions, ..Elements::default() })
    };
    let curve = |curve: &Curve| Curve { at: without_values(curve.at), ..curve.clone() };
    Ok(Mesh {
        positions: mesh.positions.try_clone()?,
        exact_positions: mesh.exact_positions.try_clone()?,
        position_weights: mesh.position_weights.try_clone()?,
        colors: mesh.colors.try_clone()?,
        faces: elements(&mesh.faces)?,
        lines: elements(&mesh.lines)?,
        points: mesh.points.try_clone()?,
        curves: mesh.curves.iter().map(curve).collect(),
        sharp_edges: mesh.sharp_edges.try_clone()?,
        vertex_groups: mesh.vertex_groups.clone(),
        vertex_columns: mesh.vertex_columns.clone(),
        face_columns: mesh.face_columns.clone(),
        ..Mesh::default()
    })
}

/// Returns counts with uvs and normals set to 0.
fn without_values(counts: Counts) -> Counts {
    Counts { uvs: 0, normals: 0, ..counts }
}

fn flat_section(
    mesh: &Mesh,
    bare: &Mesh,
    cut: (Counts, Counts),
    options: &FlatOptions,
    threads: usize,
) -> Result<FlatSection> {
    let (start, end) = cut;
    let (mut group_runs, groups) = groups(mesh, start, end)?;
    // The section numbers its positions, uvs and normals differently than the mesh.
    group_runs.iter_mut().for_each(|run| run.at = Counts { positions: 0, ..without_values(run.at) });
    let section = section(bare, without_values(start), without_values(end), options.positions)?;
    let faces = start.faces as usize..end.faces as usize;
    let (face_materials, materials) = slots(mesh, faces.clone())?;
    let normals = if options.normals { normals_of(mesh, faces.clone(), [f32::NAN; 3], threads)? } else { None };
    let mut flat = Mesh {
        uvs: uvs_of(mesh, faces.clone(), [options.missing_uv; 2], threads)?.unwrap_or_default().into(),
        uv_domain: Domain::Corner,
        normals: normals.unwrap_or_default().into(),
        normal_domain: Domain::Corner,
        face_materials: face_materials.into(),
        face_smooth: smooth(mesh, faces)?.into(),
        group_runs,
        groups,
        ..section
    };
    flat.move_curves_behind();
    let (has_all_normals, has_unit_normals) = lengths(&flat.normals);
    Ok(FlatSection { mesh: flat, materials, has_all_normals, has_unit_normals })
}

/// Returns whether there are normals and all are finite and nonzero, and whether all have unit length.
fn lengths(normals: &[[f32; 3]]) -> (bool, bool) {
    let mut are_normals = !normals.is_empty();
    let mut are_unit = are_normals;
    for normal in normals {
        let [x, y, z] = normal.map(f64::from);
        // Infinite and NaN parts make the square infinite or NaN, which fails both comparisons below.
        let square = x * x + y * y + z * z;
        // Rounding to three decimals changes each part by up to 0.0005, and thus the square by up to 2 * 0.0005 *
        // sqrt(3), about 0.0017.
        are_unit &= (square - 1.0).abs() <= 2e-3;
        are_normals &= square < f64::INFINITY && *normal != [0.0; 3];
    }
    (are_normals, are_unit)
}

/// Returns the material of each face as an index into the used materials, and these materials.
fn slots(mesh: &Mesh, faces: Range<usize>) -> Result<(Vec<i32>, Vec<u32>)> {
    let mut slots = Vec::new();
    let mut used = Vec::new();
    if mesh.face_materials.is_empty() && mesh.material_runs.is_empty() {
        return Ok((slots, used));
    }
    slots.try_reserve_exact(faces.len())?;
    let mut numbers: HashMap<u32, i32> = HashMap::new();
    let mut number = |material: u32| -> Result<i32> {
        // [`NONE`] and negative slots mean no material.
        if i32::try_from(material).is_err() {
            return Ok(-1);
        }
        let next = used.len() as i32;
        let slot = *numbers.entry(material).or_insert(next);
        if slot == next {
            try_push(&mut used, material, "materials")?;
        }
        Ok(slot)
    };
    if mesh.face_materials.is_empty() {
        for (material, count) in spans(&mesh.material_runs, faces) {
            let slot = number(material)?;
            slots.resize(slots.len() + count, slot);
        }
    } else {
        let given = mesh.face_materials.get(faces).ok_or_else(too_few)?;
        // One lookup per run of equal faces instead of one per face.
        for same in given.chunk_by(|a, b| a == b) {
            let slot = number(same[0] as u32)?;
            slots.resize(slots.len() + same.len(), slot);
        }
    }
    Ok((slots, used))
}

/// Returns a flag per face, nonzero for smooth, or an empty list if the mesh does not define smoothing.
fn smooth(mesh: &Mesh, faces: Range<usize>) -> Result<Vec<u8>> {
    let mut flags = Vec::new();
    if mesh.face_smooth.is_empty() && mesh.smoothing_runs.is_empty() {
        return Ok(flags);
    }
    flags.try_reserve_exact(faces.len())?;
    if mesh.face_smooth.is_empty() {
        // Before the first run, faces are flat. A group with all 32 bits equals [`NONE`], but is smooth.
        let first = mesh.smoothing_runs.first().map_or(0, |run| run.at.faces as usize);
        let first = first.min(faces.end).max(faces.start);
        flags.resize(first - faces.start, 0);
        for (group, count) in spans(&mesh.smoothing_runs, first..faces.end) {
            flags.resize(flags.len() + count, u8::from(group != 0));
        }
    } else {
        flags.extend_from_slice(mesh.face_smooth.get(faces).ok_or_else(too_few)?);
    }
    Ok(flags)
}

fn too_few() -> Error {
    Error::new(ErrorKind::Usage, "the mesh has fewer face values than faces")
}

/// Returns the values of runs in a range of faces, each with the number of consecutive faces that have it. Before the
/// first run, the value is [`NONE`].
pub fn spans(runs: &[Run], faces: Range<usize>) -> impl Iterator<Item = (u32, usize)> {
    spans_of(runs, faces, |at| at.faces)
}

/// Returns the same for a range of other elements: lines, points or curves. `count` returns their number.
pub fn spans_of(runs: &[Run], elements: Range<usize>, count: fn(&Counts) -> u32) -> impl Iterator<Item = (u32, usize)> {
    let start = move |run: &Run| count(&run.at) as usize;
    let first = runs.partition_point(|run| start(run) <= elements.start);
    let before = first.checked_sub(1).map_or(NONE, |last| runs[last].value);
    let rest = runs[first..].iter().map(move |run| (run.value, start(run)));
    let starts = std::iter::once((before, elements.start)).chain(rest);
    let ends = runs[first..].iter().map(start).chain([usize::MAX]);
    let end = elements.end;
    starts
        .zip(ends)
        .take_while(move |((_, start), _)| *start < end)
        .map(move |((value, start), next)| (value, next.min(end).saturating_sub(start)))
        // If several runs start at the same element, the last applies: the others have no elements.
        .filter(|(_, count)| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(faces: u32, value: u32) -> Run {
        Run { at: Counts { faces, ..Counts::default() }, value }
    }

    #[test]
    fn runs_become_values_of_faces() {
        let runs = [run(1, 7), run(3, NONE), run(3, 8), run(5, 7)];
        let spans_of = |faces| spans(&runs, faces).collect::<Vec<_>>();
        assert_eq!(spans_of(0..6), [(NONE, 1), (7, 2), (8, 2), (7, 1)]);
        assert_eq!(spans_of(2..4), [(7, 1), (8, 1)]);
        assert_eq!(spans_of(4..4), []);
    }

    #[test]
    fn a_smoothing_group_with_all_bits_is_smooth() {
        let smoothing_runs = vec![run(1, u32::MAX), run(2, 0), run(3, 1)];
        let mesh = Mesh { smoothing_runs, ..Mesh::default() };
        assert_eq!(smooth(&mesh, 0..4).unwrap(), [0, 1, 0, 1]);
        assert_eq!([smooth(&mesh, 0..1).unwrap(), smooth(&mesh, 1..2).unwrap()], [[0], [1]]);
    }

    #[test]
    fn normals_are_missing_or_have_other_lengths() {
        assert_eq!(lengths(&[]), (false, false));
        assert_eq!(lengths(&[[0.0, 0.6, 0.8], [0.577, 0.577, 0.577]]), (true, true));
        assert_eq!(lengths(&[[0.0, 0.6, 0.8], [0.0, 0.0, 2.0]]), (true, false));
        for missing in [[0.0; 3], [f32::NAN; 3], [0.0, f32::INFINITY, 0.0]] {
            assert_eq!(lengths(&[[1.0, 0.0, 0.0], missing]), (false, false));
        }
    }

    #[test]
    fn materials_are_numbered_by_their_first_faces() {
        let mesh = Mesh { material_runs: vec![run(1, 5), run(2, 3), run(4, 5)], ..Mesh::default() };
        assert_eq!(slots(&mesh, 0..5).unwrap(), (vec![-1, 0, 1, 1, 0], vec![5, 3]));
        assert_eq!(slots(&mesh, 2..4).unwrap(), (vec![0, 0], vec![3]));
        let mesh = Mesh { face_materials: vec![2, 2, -1, 0].into(), ..Mesh::default() };
        assert_eq!(slots(&mesh, 0..4).unwrap(), (vec![0, 0, -1, 1], vec![2, 0]));
        assert!(slots(&mesh, 2..6).is_err());
    }
}
