//! Converts scenes to dicts and back. The classes are in `surfaces/python/polyhaul/_scene.py`.

use crate::arrays::Held;
use crate::material::{FolderParts, folder_from_python, folder_to_python, material_from_python, material_to_python};
use crate::mesh::NativeMesh;
use crate::options;
use crate::render::NativeRender;
use crate::tables::{self, TableIn};
use polyhaul::model::{Axes, Counts, Mesh, Object, ObjectKind, Scene};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// The Python names of the kinds of object declarations.
const KINDS: [(ObjectKind, &str); 3] =
    [(ObjectKind::Object, "object"), (ObjectKind::Group, "group"), (ObjectKind::Unnamed, "unnamed")];

/// The counts of all kinds, as Python represents them.
type CountRow = [u32; Counts::KINDS];

/// An object for Python: name, mesh name, kind, mesh, start, end, transform, materials.
#[derive(IntoPyObject)]
struct ObjectOut(
    String,
    String,
    Option<&'static str>,
    usize,
    CountRow,
    CountRow,
    Option<[[f64; 4]; 4]>,
    Option<Vec<Option<usize>>>,
);

/// An object from Python, with the fields of [`ObjectOut`]. Without counts it covers its whole mesh.
#[derive(FromPyObject)]
struct ObjectIn(
    String,
    String,
    String,
    usize,
    Option<CountRow>,
    Option<CountRow>,
    Option<Held<[[f64; 4]; 4]>>,
    Option<Vec<Option<usize>>>,
);

/// A scene from Python, whose arrays are not copied.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SceneIn<'py> {
    meshes: Vec<Py<NativeMesh>>,
    objects: Vec<ObjectIn>,
    materials: Vec<Bound<'py, PyDict>>,
    material_libraries: Vec<String>,
    folder: Option<FolderParts>,
    forward_axis: String,
    up_axis: String,
    tables: Vec<TableIn>,
    comments: Vec<String>,
    header: Vec<u8>,
    infos: Vec<String>,
    /// If set, all other fields are ignored.
    render: Option<Py<NativeRender>>,
}

/// Moves a scene to Python, as a dict. If `is_writable`, Python may write to its arrays.
pub(crate) fn scene_to_python(py: Python<'_>, mut scene: Scene, is_writable: bool) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyDict::new(py);
    let native = |mesh| if is_writable { NativeMesh::writable(mesh) } else { Ok(NativeMesh::new(mesh)) };
    let meshes: Vec<_> = std::mem::take(&mut scene.meshes).into_iter().map(native).collect::<PyResult<_>>()?;
    let render = scene.render.take().map(|render| {
        let meshes = meshes.iter().map(|mesh| mesh.as_mesh().clone()).collect();
        let axes = scene.axes;
        let folder = scene.folder.clone();
        NativeRender::new(Scene { render: Some(render), meshes, axes, folder, ..Scene::default() })
    });
    fields.set_item("render", render)?;
    fields.set_item("meshes", meshes)?;
    fields.set_item("objects", scene.objects.into_iter().map(ObjectOut::from).collect::<Vec<_>>())?;
    let materials: PyResult<Vec<_>> = scene.materials.iter().map(|material| material_to_python(py, material)).collect();
    fields.set_item("materials", materials?)?;
    fields.set_item("material_libraries", scene.material_libraries)?;
    fields.set_item("folder", folder_to_python(&scene.folder))?;
    fields.set_item("forward_axis", options::axis_name(scene.axes.forward))?;
    fields.set_item("up_axis", options::axis_name(scene.axes.up))?;
    fields.set_item("tables", tables::tables_to_python(scene.tables)?)?;
    fields.set_item("comments", scene.comments)?;
    fields.set_item("header", PyBytes::new(py, &scene.header))?;
    fields.set_item("infos", scene.infos)?;
    Ok(fields)
}

impl SceneIn<'_> {
    /// Converts to a scene of the library.
    pub(crate) fn scene(self, py: Python<'_>) -> PyResult<Arc<Scene>> {
        if let Some(render) = &self.render {
            return Ok(render.get().scene());
        }
        let meshes: Vec<_> = self.meshes.iter().map(|mesh| mesh.get().mesh(py)).collect();
        let objects: PyResult<_> = self.objects.into_iter().map(|object| object.object(&meshes)).collect();
        let materials: PyResult<_> = self.materials.iter().map(material_from_python).collect();
        Ok(Arc::new(Scene {
            objects: objects?,
            meshes,
            materials: materials?,
            material_libraries: self.material_libraries,
            folder: folder_from_python(self.folder),
            axes: Axes { forward: options::axis(&self.forward_axis)?, up: options::axis(&self.up_axis)? },
            tables: tables::tables_from_python(self.tables),
            comments: self.comments,
            header: self.header,
            infos: self.infos,
            render: None,
        }))
    }
}

impl From<Object> for ObjectOut {
    fn from(object: Object) -> ObjectOut {
        let kind = KINDS.iter().find(|(kind, _)| *kind == object.kind).map(|(_, name)| *name);
        let Object { name, mesh_name, mesh, start, end, transform, materials, .. } = object;
        ObjectOut(name, mesh_name, kind, mesh, start.to_array(), end.to_array(), transform, materials)
    }
}

impl ObjectIn {
    /// Converts to an object of a scene with these meshes.
    fn object(self, meshes: &[Mesh]) -> PyResult<Object> {
        let ObjectIn(name, mesh_name, kind, mesh, start, end, transform, materials) = self;
        let object_kind = KINDS.iter().find(|(_, object_kind)| *object_kind == kind).map(|(kind, _)| *kind);
        let kind = object_kind.ok_or_else(|| PyValueError::new_err(format!("unknown kind of object {kind:?}")))?;
        let start = start.map_or_else(Counts::default, Counts::from_array);
        let whole = || meshes.get(mesh).map(Mesh::counts).unwrap_or_default();
        let end = end.map_or_else(whole, Counts::from_array);
        let transform = transform.and_then(|held| held.as_ref().first().copied());
        Ok(Object { name, mesh_name, kind, mesh, start, end, transform, materials })
    }
}
