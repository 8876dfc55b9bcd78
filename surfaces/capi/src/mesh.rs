//! The arrays of a mesh in C.

use crate::raw::{self, Record, pointer, usage};
use crate::text::{self, ph_string, view};
use polyhaul::Result;
use polyhaul::model::{Counts, Domain, Elements, Mesh, Run};
use std::mem::offset_of;

/// How UVs or normals are assigned to the corners of a mesh: one of the `PH_DOMAIN_` constants.
pub type ph_domain = u32;

/// Indexed per corner, by `corner_uvs` or `corner_normals`.
pub const PH_DOMAIN_INDEXED: ph_domain = 0;
/// One value per corner, in the order of the corners.
pub const PH_DOMAIN_CORNER: ph_domain = 1;
/// One value per position.
pub const PH_DOMAIN_VERTEX: ph_domain = 2;
/// One value per face.
pub const PH_DOMAIN_FACE: ph_domain = 3;

/// Whether a scene copies or borrows the arrays of a mesh: PH_COPY or PH_BORROW.
pub type ph_keep = u32;

/// Copy the arrays.
pub const PH_COPY: ph_keep = 0;
/// Use the caller's arrays, which must stay valid and unchanged until the scene is freed.
pub const PH_BORROW: ph_keep = 1;

/// Faces or lines. Element `i` has the corners from `offsets[i]` up to, but excluding, `offsets[i + 1]`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_elements {
    /// `count + 1` offsets, from 0 to `corner_count`. May be null if `count` is 0.
    pub offsets: *const u32,
    /// Number of elements.
    pub count: usize,
    /// Position index of each corner.
    pub corner_positions: *const u32,
    /// UV index of each corner, or PH_NONE. Null if no corner has a UV, or the domain is not PH_DOMAIN_INDEXED.
    pub corner_uvs: *const u32,
    /// Normal index of each corner, or PH_NONE. Null if no corner has a normal, or the domain is not PH_DOMAIN_INDEXED.
    pub corner_normals: *const u32,
    /// Number of corners of all elements.
    pub corner_count: usize,
}

/// A value for all faces from `first_face` up to the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ph_run {
    /// Index of the first face.
    pub first_face: u32,
    /// Index of a material or group, or PH_NONE; in `smoothing_runs`, the number of a smoothing group, or 0 for flat
    /// faces.
    pub value: u32,
}

/// The number of elements of each kind in a mesh, or an index into each of its arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ph_counts {
    /// Positions.
    pub positions: u32,
    /// UVs.
    pub uvs: u32,
    /// Normals.
    pub normals: u32,
    /// Faces.
    pub faces: u32,
    /// Polylines.
    pub lines: u32,
    /// Points.
    pub points: u32,
    /// Curves.
    pub curves: u32,
}

/// The arrays of a mesh, returned by ph_scene_mesh or passed to ph_scene_add_mesh.
///
/// Positions, UVs and normals keep the order and count of the file, and have separate indices. Absent arrays are null
/// with a count of 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_mesh {
    /// `sizeof(ph_mesh)`.
    pub struct_size: usize,
    /// x, y, z of each position.
    pub positions: *const f32,
    /// Number of positions.
    pub position_count: usize,
    /// Red, green, blue, alpha of each position; NaN for positions without a color. May be null.
    pub colors: *const f32,
    /// u, v of each texture coordinate.
    pub uvs: *const f32,
    /// Number of UVs.
    pub uv_count: usize,
    /// x, y, z of each normal.
    pub normals: *const f32,
    /// Number of normals.
    pub normal_count: usize,
    /// Domain of the UVs.
    pub uv_domain: ph_domain,
    /// Domain of the normals.
    pub normal_domain: ph_domain,
    /// Polygons of three or more corners.
    pub faces: ph_elements,
    /// Polylines of two or more corners.
    pub lines: ph_elements,
    /// Position index of each point.
    pub points: *const u32,
    /// Number of points.
    pub point_count: usize,
    /// Material of each face, as runs in face order.
    pub material_runs: *const ph_run,
    /// Number of material runs.
    pub material_run_count: usize,
    /// Smoothing group of each face, as runs in face order.
    pub smoothing_runs: *const ph_run,
    /// Number of smoothing group runs.
    pub smoothing_run_count: usize,
    /// Group of each face, as runs in face order: an index into `groups`.
    pub group_runs: *const ph_run,
    /// Number of group runs.
    pub group_run_count: usize,
    /// Names of groups. An entry may contain several names, separated by spaces.
    pub groups: *const ph_string,
    /// Number of entries in `groups`.
    pub group_count: usize,
    /// Material slot of each face, for objects with material slots: an index into `material_slots` of ph_object. Null
    /// means slot 0.
    pub face_materials: *const i32,
    /// 0 for flat faces, any other value for smooth ones. May be null.
    pub face_smooth: *const u8,
    /// Number of columns available from ph_scene_vertex_column; ignored by ph_scene_add_mesh.
    pub vertex_column_count: usize,
    /// Number of columns available from ph_scene_face_column; ignored by ph_scene_add_mesh.
    pub face_column_count: usize,
    /// x, y, z of each position in double precision; `positions` has the nearest floats. Null if floats are precise
    /// enough.
    pub exact_positions: *const f64,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and pointers: any bytes are values.
unsafe impl Record for ph_mesh {
    const NAME: &'static str = "ph_mesh";
    const FIRST_BYTES: usize = offset_of!(ph_mesh, exact_positions);
}

/// The arrays whose layout differs between C and the model.
pub(crate) struct MeshView {
    /// Material, smoothing and group runs.
    runs: [Vec<ph_run>; 3],
    groups: Vec<ph_string>,
}

impl MeshView {
    pub(crate) fn new(mesh: &Mesh) -> Result<MeshView> {
        let faces = mesh.faces.len() as u64;
        let runs = |runs| by_faces(runs, faces);
        let runs = [runs(&mesh.material_runs)?, runs(&mesh.smoothing_runs)?, runs(&mesh.group_runs)?];
        let mut groups = Vec::new();
        groups.try_reserve_exact(mesh.groups.len())?;
        groups.extend(mesh.groups.iter().map(|name| view(name)));
        Ok(MeshView { runs, groups })
    }

    /// Returns the arrays of `mesh`, which must be the mesh of this view.
    pub(crate) fn lend(&self, mesh: &Mesh) -> ph_mesh {
        let [materials, smoothing, groups] = &self.runs;
        ph_mesh {
            struct_size: size_of::<ph_mesh>(),
            positions: pointer(&mesh.positions).cast(),
            position_count: mesh.positions.len(),
            colors: pointer(&mesh.colors).cast(),
            uvs: pointer(&mesh.uvs).cast(),
            uv_count: mesh.uvs.len(),
            normals: pointer(&mesh.normals).cast(),
            normal_count: mesh.normals.len(),
            uv_domain: domain_number(mesh.uv_domain),
            normal_domain: domain_number(mesh.normal_domain),
            faces: lend_elements(&mesh.faces),
            lines: lend_elements(&mesh.lines),
            points: pointer(&mesh.points),
            point_count: mesh.points.len(),
            material_runs: pointer(materials),
            material_run_count: materials.len(),
            smoothing_runs: pointer(smoothing),
            smoothing_run_count: smoothing.len(),
            group_runs: pointer(groups),
            group_run_count: groups.len(),
            groups: pointer(&self.groups),
            group_count: self.groups.len(),
            face_materials: pointer(&mesh.face_materials),
            face_smooth: pointer(&mesh.face_smooth),
            vertex_column_count: mesh.vertex_columns.len(),
            face_column_count: mesh.face_columns.len(),
            exact_positions: pointer(&mesh.exact_positions).cast(),
        }
    }
}

/// Converts runs over all arrays to runs over faces. If several runs start at the same face, the last one applies.
fn by_faces(runs: &[Run], face_count: u64) -> Result<Vec<ph_run>> {
    let mut result: Vec<ph_run> = Vec::new();
    result.try_reserve_exact(runs.len())?;
    for run in runs.iter().filter(|run| u64::from(run.at.faces) < face_count) {
        result.pop_if(|last| last.first_face == run.at.faces);
        if result.last().is_none_or(|last| last.value != run.value) {
            result.push(ph_run { first_face: run.at.faces, value: run.value });
        }
    }
    Ok(result)
}

fn lend_elements(elements: &Elements) -> ph_elements {
    ph_elements {
        offsets: pointer(&elements.offsets),
        count: elements.len(),
        corner_positions: pointer(&elements.corner_positions),
        corner_uvs: pointer(&elements.corner_uvs),
        corner_normals: pointer(&elements.corner_normals),
        corner_count: elements.corner_positions.len(),
    }
}

const DOMAINS: [Domain; 4] = [Domain::Indexed, Domain::Corner, Domain::Vertex, Domain::Face];

fn domain_number(domain: Domain) -> ph_domain {
    DOMAINS.iter().position(|&candidate| candidate == domain).map_or(PH_DOMAIN_INDEXED, |index| index as u32)
}

fn domain(number: ph_domain) -> Result<Domain> {
    let domain = DOMAINS.get(number as usize).copied();
    domain.ok_or_else(|| usage(format!("{number} is not a domain (PH_DOMAIN_)")))
}

/// Converts the caller's mesh. Its indices are checked when it is written.
///
/// # Safety
/// Every array of `given` is null, or valid for the count that [`ph_mesh`] documents. With `borrow`, the arrays stay
/// valid and unchanged as long as the mesh and its clones.
pub(crate) unsafe fn mesh(given: &ph_mesh, borrow: bool) -> Result<Mesh> {
    let positions = given.position_count;
    let uvs = given.uv_count;
    let normals = given.normal_count;
    let faces = given.faces.count;
    let counted = |pointer: bool, count: usize| if pointer { 0 } else { count };
    // SAFETY: each array is valid for the count that `ph_mesh` documents, by this function's contract; the count of
    // null optional arrays is 0. `array` checks null and alignment.
    let mut mesh = unsafe {
        Mesh {
            positions: raw::array(given.positions.cast::<[f32; 3]>(), positions, "positions", borrow)?,
            exact_positions: {
                let count = counted(given.exact_positions.is_null(), positions);
                raw::array(given.exact_positions.cast(), count, "exact_positions", borrow)?
            },
            colors: raw::array(given.colors.cast(), counted(given.colors.is_null(), positions), "colors", borrow)?,
            uvs: raw::array(given.uvs.cast(), uvs, "uvs", borrow)?,
            uv_domain: domain(given.uv_domain)?,
            normals: raw::array(given.normals.cast(), normals, "normals", borrow)?,
            normal_domain: domain(given.normal_domain)?,
            faces: elements(&given.faces, "faces", borrow)?,
            lines: elements(&given.lines, "lines", borrow)?,
            points: raw::array(given.points, given.point_count, "points", borrow)?,
            face_materials: {
                let count = counted(given.face_materials.is_null(), faces);
                raw::array(given.face_materials, count, "face_materials", borrow)?
            },
            face_smooth: {
                let count = counted(given.face_smooth.is_null(), faces);
                raw::array(given.face_smooth, count, "face_smooth", borrow)?
            },
            ..Mesh::default()
        }
    };
    // SAFETY: `groups` points to `group_count` strings by this function's contract.
    let names = unsafe { raw::slice(given.groups, given.group_count, "groups") }?;
    mesh.groups.try_reserve_exact(names.len())?;
    for &name in names {
        // SAFETY: each name is valid for its size by this function's contract.
        mesh.groups.push(unsafe { text::owned(name, "the name of a group") }?);
    }
    let end = mesh.counts();
    // SAFETY: each array of runs is valid for its count by this function's contract.
    unsafe {
        mesh.material_runs = runs(given.material_runs, given.material_run_count, "material_runs", end)?;
        mesh.smoothing_runs = runs(given.smoothing_runs, given.smoothing_run_count, "smoothing_runs", end)?;
        mesh.group_runs = runs(given.group_runs, given.group_run_count, "group_runs", end)?;
    }
    Ok(mesh)
}

/// # Safety
/// As for [`mesh`].
unsafe fn elements(given: &ph_elements, what: &str, borrow: bool) -> Result<Elements> {
    let offset_count = if given.count == 0 { 0 } else { given.count.saturating_add(1) };
    let corners = given.corner_count;
    let counted = |pointer: *const u32| if pointer.is_null() { 0 } else { corners };
    // SAFETY: `offsets` has `count + 1` elements, and each index array has `corner_count`, by this function's contract;
    // the count of null optional arrays is 0.
    unsafe {
        Ok(Elements {
            offsets: raw::array(given.offsets, offset_count, what, borrow)?,
            corner_positions: raw::array(given.corner_positions, corners, what, borrow)?,
            corner_uvs: raw::array(given.corner_uvs, counted(given.corner_uvs), what, borrow)?,
            corner_normals: raw::array(given.corner_normals, counted(given.corner_normals), what, borrow)?,
        })
    }
}

/// Converts runs over faces to runs over all arrays. Each run starts after all positions, UVs and normals, and before
/// all lines, points and curves.
///
/// # Safety
/// `given` is null or valid for `count` runs.
unsafe fn runs(given: *const ph_run, count: usize, what: &str, end: Counts) -> Result<Vec<Run>> {
    // SAFETY: `given` is valid for `count` runs by this function's contract; `slice` checks null and alignment.
    let given = unsafe { raw::slice(given, count, what) }?;
    let mut runs = Vec::new();
    runs.try_reserve_exact(given.len())?;
    let at = |faces| Counts { faces, lines: 0, points: 0, curves: 0, ..end };
    runs.extend(given.iter().map(|run| Run { at: at(run.first_face), value: run.value }));
    Ok(runs)
}

impl From<Counts> for ph_counts {
    fn from(Counts { positions, uvs, normals, faces, lines, points, curves }: Counts) -> ph_counts {
        ph_counts { positions, uvs, normals, faces, lines, points, curves }
    }
}

impl From<ph_counts> for Counts {
    fn from(ph_counts { positions, uvs, normals, faces, lines, points, curves }: ph_counts) -> Counts {
        Counts { positions, uvs, normals, faces, lines, points, curves }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_that_starts_at_a_face_counts_and_no_run_repeats_the_one_before() {
        let run = |faces, value| Run { at: Counts { faces, ..Counts::default() }, value };
        let runs = [run(0, 1), run(0, 2), run(3, 2), run(4, 3), run(5, 2), run(5, 3), run(9, 7)];
        let runs_of_faces = by_faces(&runs, 9).unwrap();
        assert_eq!(runs_of_faces, [ph_run { first_face: 0, value: 2 }, ph_run { first_face: 4, value: 3 }]);
    }
}
