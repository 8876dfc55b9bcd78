//! Converts meshes to dicts of buffers for Python, and back. The public class is in
//! `surfaces/python/polyhaul/_mesh.py`; `fitting` creates meshes from the user's arrays without a dict.

use crate::arrays::{Array, Held, Row};
use crate::fitting::{FittingInput, fitting};
use crate::tables::{self, ColumnIn, ColumnOut};
use polyhaul::model::{self, Counts, Curve, Domain, Elements, Mesh, Run, VertexGroup};
use polyhaul::ops::{MeshOps, SectionPositions};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::TryReserveError;

/// A mesh of the library, which never changes unless Python may write to its arrays. The arrays are shared, so views of
/// them may outlive the mesh.
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct NativeMesh {
    mesh: Mesh,
    is_writable: bool,
    /// Whether the memory of `exact_positions` may change, so that `positions` may not be the nearest floats.
    has_open_doubles: bool,
}

/// Runs `$body` with `$array` as each array of a mesh in turn, except columns.
macro_rules! each_array {
    ($mesh:ident, $array:ident => $body:expr) => {
        each_array!(@fields $mesh, $array => $body, positions, exact_positions, position_weights, colors, uvs, uv_depths, normals, points,
            face_materials, face_smooth, sharp_edges);
        for elements in [&mut $mesh.faces, &mut $mesh.lines] {
            each_array!(@fields elements, $array => $body, offsets, corner_positions, corner_uvs, corner_normals);
        }
        for group in &mut $mesh.vertex_groups {
            each_array!(@fields group, $array => $body, weights);
        }
    };
    (@fields $owner:ident, $array:ident => $body:expr, $($field:ident),*) => {
        $({ let $array = &mut $owner.$field; $body; })*
    };
}

#[pymethods]
impl NativeMesh {
    /// Creates a mesh from arrays as returned by [`NativeMesh::arrays`].
    #[new]
    fn from_arrays(arrays: MeshIn) -> PyResult<NativeMesh> {
        // Read-only arrays may be views of memory that the caller changes.
        let has_open_doubles = arrays.exact_positions.is_some();
        Ok(NativeMesh { has_open_doubles, ..NativeMesh::of_python(arrays.mesh()?) })
    }

    /// Creates a mesh from a user's arguments, if all of them can be used unchanged.
    #[staticmethod]
    fn fitting(given: FittingInput<'_>) -> Option<NativeMesh> {
        fitting(&given).map(NativeMesh::of_python)
    }

    /// All arrays, named like the library's fields.
    fn arrays(&self) -> MeshOut {
        MeshOut::new(&self.mesh, self.is_writable)
    }

    /// The count of each kind of element.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.mesh.counts().to_array())
    }
}

impl NativeMesh {
    /// Wraps a mesh whose arrays are in Python's memory.
    fn of_python(mesh: Mesh) -> NativeMesh {
        NativeMesh { mesh, is_writable: false, has_open_doubles: false }
    }

    /// Wraps a mesh of the library whose arrays Python may change, except columns, which stay read-only.
    pub(crate) fn writable(mut mesh: Mesh) -> PyResult<NativeMesh> {
        // Borrowed memory is copied, since Python must own what it may change.
        own(&mut mesh).map_err(|_| PyMemoryError::new_err("out of memory for writable arrays"))?;
        let has_open_doubles = !mesh.exact_positions.is_empty();
        Ok(NativeMesh { is_writable: true, has_open_doubles, ..NativeMesh::new(mesh) })
    }

    /// Wraps a mesh of the library, whose arrays become shared without moving.
    pub(crate) fn new(mut mesh: Mesh) -> NativeMesh {
        each_array!(mesh, array => array.share());
        tables::share(&mut mesh.vertex_columns);
        tables::share(&mut mesh.face_columns);
        NativeMesh { mesh, is_writable: false, has_open_doubles: false }
    }

    /// Wraps a mesh that the library made from this one, whose doubles it may share.
    pub(crate) fn derived(&self, mesh: Mesh) -> NativeMesh {
        let has_open_doubles = self.has_open_doubles && self.shares_doubles(&mesh);
        NativeMesh { has_open_doubles, ..NativeMesh::new(mesh) }
    }

    fn shares_doubles(&self, other: &Mesh) -> bool {
        std::ptr::eq(self.mesh.exact_positions.as_slice(), other.exact_positions.as_slice())
    }

    pub(crate) fn as_mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Clones the mesh for the library, with positions that are nearest to the current doubles. The arrays are shared.
    pub(crate) fn mesh(&self, py: Python<'_>) -> Mesh {
        if !self.has_open_doubles || self.mesh.exact_positions.is_empty() {
            return self.mesh.clone();
        }
        let positions = py.detach(|| nearest_floats(&self.mesh.exact_positions));
        Mesh { positions: positions.into(), ..self.mesh.clone() }
    }

    /// Extracts a section. Only its own doubles are converted, because a mesh may have a hundred thousand sections.
    pub(crate) fn section(&self, start: Counts, end: Counts, which: SectionPositions) -> polyhaul::Result<NativeMesh> {
        let mut section = self.mesh.section(start, end, which)?;
        if self.has_open_doubles && !section.exact_positions.is_empty() && !self.shares_doubles(&section) {
            section.positions = nearest_floats(&section.exact_positions).into();
        }
        Ok(self.derived(section))
    }
}

fn nearest_floats(positions: &[[f64; 3]]) -> Vec<[f32; 3]> {
    positions.iter().map(|position| position.map(|value| value as f32)).collect()
}

/// The Python names of attribute domains, the preferred one first.
const DOMAINS: [(Domain, &str); 5] = [
    (Domain::Indexed, "indexed"),
    (Domain::Corner, "corner"),
    (Domain::Vertex, "vertex"),
    (Domain::Vertex, "point"),
    (Domain::Face, "face"),
];

/// A mesh for Python.
#[derive(IntoPyObject)]
pub(crate) struct MeshOut {
    positions: Array,
    exact_positions: Array,
    position_weights: Array,
    colors: Array,
    uvs: Array,
    uv_domain: Option<&'static str>,
    uv_depths: Array,
    normals: Array,
    normal_domain: Option<&'static str>,
    faces: ElementsOut,
    lines: ElementsOut,
    points: Array,
    curves: Vec<CurveOut>,
    material_runs: Array,
    group_runs: Array,
    smoothing_runs: Array,
    groups: Vec<String>,
    face_materials: Array,
    face_smooth: Array,
    sharp_edges: Array,
    vertex_groups: Vec<(String, Array)>,
    vertex_columns: Vec<ColumnOut>,
    face_columns: Vec<ColumnOut>,
}

/// Faces or lines for Python: offsets, and the position, UV and normal indices of each corner.
#[derive(IntoPyObject)]
struct ElementsOut(Array, Array, Array, Array);

#[derive(IntoPyObject)]
struct CurveOut {
    degree: u32,
    rational: bool,
    range: [f32; 2],
    control_points: Array,
    knots: Array,
    at: [u32; Counts::KINDS],
}

/// A run in Python: the counts, then the value.
type RunRow = [u32; Counts::KINDS + 1];

impl MeshOut {
    fn new(mesh: &Mesh, is_writable: bool) -> MeshOut {
        MeshOut {
            positions: Array::from_values(&mesh.positions, is_writable),
            exact_positions: Array::from_values(&mesh.exact_positions, is_writable),
            position_weights: Array::from_values(&mesh.position_weights, is_writable),
            colors: Array::from_values(&mesh.colors, is_writable),
            uvs: Array::from_values(&mesh.uvs, is_writable),
            uv_domain: domain_name(mesh.uv_domain),
            uv_depths: Array::from_values(&mesh.uv_depths, is_writable),
            normals: Array::from_values(&mesh.normals, is_writable),
            normal_domain: domain_name(mesh.normal_domain),
            faces: ElementsOut::new(&mesh.faces, is_writable),
            lines: ElementsOut::new(&mesh.lines, is_writable),
            points: Array::from_values(&mesh.points, is_writable),
            curves: mesh.curves.iter().map(CurveOut::from).collect(),
            material_runs: runs_out(&mesh.material_runs),
            group_runs: runs_out(&mesh.group_runs),
            smoothing_runs: runs_out(&mesh.smoothing_runs),
            groups: mesh.groups.clone(),
            face_materials: Array::from_values(&mesh.face_materials, is_writable),
            face_smooth: Array::from_values(&mesh.face_smooth, is_writable),
            sharp_edges: Array::from_values(&mesh.sharp_edges, is_writable),
            vertex_groups: mesh
                .vertex_groups
                .iter()
                .map(|group| (group.name.clone(), Array::from_values(&group.weights, is_writable)))
                .collect(),
            vertex_columns: tables::columns_to_python(&mesh.vertex_columns),
            face_columns: tables::columns_to_python(&mesh.face_columns),
        }
    }
}

fn domain_name(domain: Domain) -> Option<&'static str> {
    DOMAINS.iter().find(|(candidate, _)| *candidate == domain).map(|(_, name)| *name)
}

/// Copies the borrowed arrays of a mesh, except columns, so that the mesh owns them.
fn own(mesh: &mut Mesh) -> Result<(), TryReserveError> {
    each_array!(mesh, array => array.to_mut().map(drop)?);
    Ok(())
}

impl ElementsOut {
    fn new(elements: &Elements, is_writable: bool) -> ElementsOut {
        let Elements { offsets, corner_positions, corner_uvs, corner_normals } = elements;
        let [offsets, positions, uvs, normals] = [offsets, corner_positions, corner_uvs, corner_normals]
            .map(|values| Array::from_values(values, is_writable));
        ElementsOut(offsets, positions, uvs, normals)
    }
}

impl From<&Curve> for CurveOut {
    fn from(curve: &Curve) -> CurveOut {
        let &Curve { degree, rational, range, at, .. } = curve;
        let control_points = Array::new(curve.control_points.clone());
        let knots = Array::new(curve.knots.clone());
        CurveOut { degree, rational, range, control_points, knots, at: at.to_array() }
    }
}

fn runs_out(runs: &[Run]) -> Array {
    let row = |run: &Run| -> RunRow {
        let [a, b, c, d, e, f, g] = run.at.to_array();
        [a, b, c, d, e, f, g, run.value]
    };
    Array::new(runs.iter().map(row).collect::<Vec<_>>())
}

/// A mesh from Python, whose arrays are not copied. `None` stands for an empty array.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MeshIn {
    positions: Rows<[f32; 3]>,
    exact_positions: Rows<[f64; 3]>,
    position_weights: Rows<f32>,
    colors: Rows<[f32; 4]>,
    uvs: Rows<[f32; 2]>,
    uv_domain: String,
    uv_depths: Rows<f32>,
    normals: Rows<[f32; 3]>,
    normal_domain: String,
    faces: ElementsIn,
    lines: ElementsIn,
    points: Indices,
    curves: Vec<CurveIn>,
    material_runs: Option<Held<RunRow>>,
    group_runs: Option<Held<RunRow>>,
    smoothing_runs: Option<Held<RunRow>>,
    groups: Vec<String>,
    face_materials: Option<Held<i32>>,
    face_smooth: Option<Held<u8>>,
    sharp_edges: Option<Held<[u32; 2]>>,
    vertex_groups: Vec<(String, Held<f32>)>,
    vertex_columns: Vec<ColumnIn>,
    face_columns: Vec<ColumnIn>,
}

type Rows<T> = Option<Held<T>>;
type Indices = Option<Held<u32>>;

#[derive(FromPyObject)]
struct ElementsIn(Indices, Indices, Indices, Indices);

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CurveIn {
    degree: u32,
    rational: bool,
    range: [f32; 2],
    control_points: Held<u32>,
    knots: Held<f32>,
    at: [u32; Counts::KINDS],
}

impl MeshIn {
    /// Converts to a mesh of the library.
    pub(crate) fn mesh(self) -> PyResult<Mesh> {
        let group = |(name, weights): (String, Held<f32>)| VertexGroup { name, weights: weights.into() };
        Ok(Mesh {
            positions: array(self.positions),
            exact_positions: array(self.exact_positions),
            position_weights: array(self.position_weights),
            colors: array(self.colors),
            uvs: array(self.uvs),
            uv_domain: domain(&self.uv_domain)?,
            uv_depths: array(self.uv_depths),
            normals: array(self.normals),
            normal_domain: domain(&self.normal_domain)?,
            faces: self.faces.into(),
            lines: self.lines.into(),
            points: array(self.points),
            curves: self.curves.into_iter().map(CurveIn::curve).collect(),
            material_runs: runs_in(self.material_runs.as_ref()),
            group_runs: runs_in(self.group_runs.as_ref()),
            smoothing_runs: runs_in(self.smoothing_runs.as_ref()),
            groups: self.groups,
            face_materials: array(self.face_materials),
            face_smooth: array(self.face_smooth),
            sharp_edges: array(self.sharp_edges),
            vertex_groups: self.vertex_groups.into_iter().map(group).collect(),
            vertex_columns: tables::columns_from_python(self.vertex_columns),
            face_columns: tables::columns_from_python(self.face_columns),
        })
    }
}

/// Converts a buffer to an array; empty without a buffer.
fn array<T: Row>(held: Option<Held<T>>) -> model::Array<T> {
    held.map(Into::into).unwrap_or_default()
}

/// The domain with this Python name.
pub(crate) fn domain_of(name: &str) -> Option<Domain> {
    DOMAINS.iter().find(|(_, candidate)| *candidate == name).map(|(domain, _)| *domain)
}

fn domain(name: &str) -> PyResult<Domain> {
    domain_of(name).ok_or_else(|| PyValueError::new_err(format!("unknown domain {name:?}")))
}

impl From<ElementsIn> for Elements {
    fn from(ElementsIn(offsets, positions, uvs, normals): ElementsIn) -> Elements {
        let [offsets, corner_positions, corner_uvs, corner_normals] = [offsets, positions, uvs, normals].map(array);
        Elements { offsets, corner_positions, corner_uvs, corner_normals }
    }
}

impl CurveIn {
    fn curve(self) -> Curve {
        let CurveIn { degree, rational, range, .. } = self;
        let control_points = self.control_points.as_ref().to_vec();
        let knots = self.knots.as_ref().to_vec();
        Curve { degree, rational, range, control_points, knots, at: Counts::from_array(self.at) }
    }
}

fn runs_in(runs: Option<&Held<RunRow>>) -> Vec<Run> {
    let run = |&[a, b, c, d, e, f, g, value]: &RunRow| Run { at: Counts::from_array([a, b, c, d, e, f, g]), value };
    runs.map_or(&[][..], AsRef::as_ref).iter().map(run).collect()
}
