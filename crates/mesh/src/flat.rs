//! Sections of a mesh as other programs keep meshes: everything per corner or per face, without statements.
//!
//! Positions and indices of sections are in [`crate::section`], values per corner in [`crate::corners`], edges in
//! [`crate::edges`].

use crate::clean::has_clean_faces;
use crate::corners::{normals_of, uvs_of};
use crate::edges::{Edges, edges};
use crate::section::{SectionPositions, section};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Array, Counts, Domain, Elements, Mesh, NONE, Run};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::HashMap;
use std::ops::Range;

/// A section whose uvs and normals are per corner, and whose materials and smoothing are per face.
#[derive(Clone, Debug, Default)]
pub struct FlatSection {
    /// The section, with the positions that its elements use. `face_materials` are indices into `materials`, -1 for
    /// none; `face_smooth` is empty if the mesh does not say anything about smoothing.
    pub mesh: Mesh,
    /// The materials of its faces, each once, in the order of their first faces: indices into the scene's materials,
    /// or slots of an object.
    pub materials: Vec<u32>,
    /// Whether every corner of its faces has a normal other than zero.
    pub has_all_normals: bool,
}

/// Returns some sections of a mesh, each from its first counts up to its second. Corners without a uv get `missing`,
/// those without a normal NaN. Groups stay, as in [`section`].
///
/// # Errors
///
/// [`ErrorKind::Usage`] if the mesh has no such section or an index is out of range; [`ErrorKind::Memory`];
/// [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
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
/// let sections = polyhaul_mesh::flat::flat_sections(&mesh, &cuts, 0.0, &RunOptions::default())?;
/// assert_eq!(sections[1].mesh.positions, [[1.0; 3], [2.0; 3], [3.0; 3]]);
/// assert_eq!(sections[1].mesh.normals, [[0.0, 1.0, 0.0]; 3]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn flat_sections(
    mesh: &Mesh,
    cuts: &[(Counts, Counts)],
    missing: f32,
    options: &RunOptions,
) -> Result<Vec<FlatSection>> {
    if let Some((_, end)) = cuts.iter().find(|(_, end)| !end.precedes(mesh.counts())) {
        return Err(Error::new(ErrorKind::Usage, format!("the mesh has no section up to {end:?}")));
    }
    let bare = bare(mesh);
    let mut sections = Vec::new();
    sections.try_reserve_exact(cuts.len())?;
    sections.resize_with(cuts.len(), FlatSection::default);
    // Many sections share the threads; one has all of them.
    let threads = options.worker_threads();
    let own_threads = if cuts.len() > 1 { 1 } else { threads };
    let work = |(): &mut (), (flat, &(start, end)): (&mut FlatSection, &(Counts, Counts))| {
        *flat = flat_section(mesh, &bare, (start, end), missing, own_threads)?;
        Ok(())
    };
    try_for_each_item(threads, &options.cancel, sections.iter_mut().zip(cuts), || (), work)?;
    Ok(sections)
}

/// How the faces of a mesh are connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Its edges.
    pub edges: Edges,
    /// Whether [`has_clean_faces`].
    pub has_clean_faces: bool,
}

/// Returns the topology of each mesh.
///
/// # Errors
///
/// As for [`edges`], and [`ErrorKind::Cancelled`].
pub fn topologies(meshes: &[&Mesh], options: &RunOptions) -> Result<Vec<Topology>> {
    enum Part<'a> {
        Edges(&'a mut Edges),
        IsClean(&'a mut bool),
    }
    let mut all = Vec::new();
    all.try_reserve_exact(meshes.len())?;
    all.resize_with(meshes.len(), Topology::default);
    let parts = all.iter_mut().zip(meshes).flat_map(|(Topology { edges, has_clean_faces }, mesh)| {
        [(Part::Edges(edges), *mesh), (Part::IsClean(has_clean_faces), *mesh)]
    });
    let one_thread = RunOptions::default().with_threads(Some(1));
    let work = |(): &mut (), (part, mesh): (Part<'_>, &Mesh)| {
        match part {
            Part::Edges(found) => *found = edges(mesh)?,
            Part::IsClean(found) => *found = has_clean_faces(mesh, &one_thread)?,
        }
        Ok(())
    };
    try_for_each_item(options.worker_threads(), &options.cancel, parts, || (), work)?;
    Ok(all)
}

/// The mesh without what is per corner or per face in sections.
fn bare(mesh: &Mesh) -> Mesh {
    let without = |elements: &Elements| Elements {
        corner_uvs: Array::default(),
        corner_normals: Array::default(),
        ..elements.clone()
    };
    Mesh {
        faces: without(&mesh.faces),
        lines: without(&mesh.lines),
        uvs: Array::default(),
        uv_depths: Array::default(),
        normals: Array::default(),
        material_runs: Vec::new(),
        smoothing_runs: Vec::new(),
        group_runs: mesh.group_runs.iter().map(|run| Run { at: without_values(run.at), ..*run }).collect(),
        face_materials: Array::default(),
        face_smooth: Array::default(),
        ..mesh.clone()
    }
}

/// Counts of a mesh without uvs and normals.
fn without_values(counts: Counts) -> Counts {
    Counts { uvs: 0, normals: 0, ..counts }
}

fn flat_section(
    mesh: &Mesh,
    bare: &Mesh,
    (start, end): (Counts, Counts),
    missing: f32,
    threads: usize,
) -> Result<FlatSection> {
    let own = section(bare, without_values(start), without_values(end), SectionPositions::Used)?;
    let faces = start.faces as usize..end.faces as usize;
    let (face_materials, materials) = slots(mesh, faces.clone())?;
    let mesh = Mesh {
        uvs: uvs_of(mesh, faces.clone(), [missing; 2], threads)?.unwrap_or_default().into(),
        uv_domain: Domain::Corner,
        normals: normals_of(mesh, faces.clone(), [f32::NAN; 3], threads)?.unwrap_or_default().into(),
        normal_domain: Domain::Corner,
        face_materials: face_materials.into(),
        face_smooth: smooth(mesh, faces)?.into(),
        ..own
    };
    let has_normal = |normal: &[f32; 3]| normal.iter().any(|value| *value != 0.0) && !normal[0].is_nan();
    let has_all_normals = !mesh.normals.is_empty() && mesh.normals.iter().all(has_normal);
    Ok(FlatSection { mesh, materials, has_all_normals })
}

/// The material of each face as an index into those that are used, and these.
fn slots(mesh: &Mesh, faces: Range<usize>) -> Result<(Vec<i32>, Vec<u32>)> {
    let (mut slots, mut used) = (Vec::new(), Vec::new());
    if mesh.face_materials.is_empty() && mesh.material_runs.is_empty() {
        return Ok((slots, used));
    }
    slots.try_reserve_exact(faces.len())?;
    let mut numbers: HashMap<u32, i32> = HashMap::new();
    let mut number = |material: u32| -> Result<i32> {
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
        for same in given.chunk_by(|a, b| a == b) {
            let slot = number(same[0] as u32)?;
            slots.resize(slots.len() + same.len(), slot);
        }
    }
    Ok((slots, used))
}

/// Whether each face is smooth; nothing if the mesh does not say.
fn smooth(mesh: &Mesh, faces: Range<usize>) -> Result<Vec<u8>> {
    let mut flags = Vec::new();
    if mesh.face_smooth.is_empty() && mesh.smoothing_runs.is_empty() {
        return Ok(flags);
    }
    flags.try_reserve_exact(faces.len())?;
    if mesh.face_smooth.is_empty() {
        for (group, count) in spans(&mesh.smoothing_runs, faces) {
            flags.resize(flags.len() + count, u8::from(group != NONE && group != 0));
        }
    } else {
        flags.extend_from_slice(mesh.face_smooth.get(faces).ok_or_else(too_few)?);
    }
    Ok(flags)
}

fn too_few() -> Error {
    Error::new(ErrorKind::Usage, "the mesh has more faces than values for them")
}

/// The values of runs for some faces, and for how many of them each holds. Before the first run that is [`NONE`].
fn spans(runs: &[Run], faces: Range<usize>) -> impl Iterator<Item = (u32, usize)> {
    let first = runs.partition_point(|run| run.at.faces as usize <= faces.start);
    let before = first.checked_sub(1).map_or(NONE, |last| runs[last].value);
    let rest = runs[first..].iter().map(|run| (run.value, run.at.faces as usize));
    let starts = std::iter::once((before, faces.start)).chain(rest);
    let ends = runs[first..].iter().map(|run| run.at.faces as usize).chain([usize::MAX]);
    let end = faces.end;
    starts
        .zip(ends)
        .take_while(move |((_, start), _)| *start < end)
        .map(move |((value, start), next)| (value, next.min(end) - start))
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
        let all = |faces| spans(&runs, faces).collect::<Vec<_>>();
        assert_eq!(all(0..6), [(NONE, 1), (7, 2), (8, 2), (7, 1)]);
        assert_eq!(all(2..4), [(7, 1), (8, 1)]);
        assert_eq!(all(4..4), []);
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
