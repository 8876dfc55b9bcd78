//! Scenes: reading, examining, writing. Building one is in `compose.rs`.

use crate::error::{free, guard, ph_status};
use crate::mesh::{MeshView, ph_counts, ph_mesh};
use crate::options::{self, axis_number, ph_axis, ph_read_options, ph_write_options};
use crate::raw::{self, Out, Record, handle, usage};
use crate::report::{ReportOut, ph_report};
use crate::source::{self, ph_input, ph_output};
use crate::table::{self, ph_column};
use crate::text::{ph_string, view};
use polyhaul::model::{NONE, Object, Scene};
use polyhaul::{Error, Reader, Result};
use std::mem::MaybeUninit;

/// The index for nothing: a corner without a uv, a face without a material.
pub const PH_NONE: u32 = u32::MAX;

/// Meshes, the objects that show them or sections of them, and materials.
///
/// Functions that take `const ph_scene *` may be called from many threads at once; those that take `ph_scene *` must be
/// the only ones on that scene. The arrays and texts they return live until the scene is changed or freed.
pub struct ph_scene {
    pub(crate) scene: Scene,
    /// For each mesh, the parts that differ between C and the model.
    pub(crate) meshes: Vec<MeshView>,
    /// For each object, its material slots.
    pub(crate) slots: Vec<Vec<u32>>,
}

/// The contents of a scene.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_scene_info {
    /// `sizeof(ph_scene_info)`.
    pub struct_size: usize,
    /// The number of meshes.
    pub mesh_count: usize,
    /// The number of objects. A scene may have only meshes: each then counts as an object.
    pub object_count: usize,
    /// The number of materials.
    pub material_count: usize,
    /// The axis that faces forward.
    pub forward_axis: ph_axis,
    /// The axis that points up.
    pub up_axis: ph_axis,
    /// Positions of all meshes.
    pub position_count: u64,
    /// Faces of all meshes.
    pub face_count: u64,
    /// The box around all finite positions; without any, `bounds_min` is greater than `bounds_max`.
    pub bounds_min: [f32; 3],
    /// Its other end.
    pub bounds_max: [f32; 3],
}

/// An object: a mesh, or a section of it, with a name.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_object {
    /// `sizeof(ph_object)`.
    pub struct_size: usize,
    /// The name; it may be empty.
    pub name: ph_string,
    /// The index of its mesh.
    pub mesh: usize,
    /// The first element of each kind in this object.
    pub start: ph_counts,
    /// One past the last of each kind. In ph_scene_add_object all zeros mean the whole mesh.
    pub end: ph_counts,
    /// Whether `transform` applies; otherwise the positions are in world space.
    pub has_transform: u32,
    /// A matrix of four rows, one row after the other, that multiplies column vectors from the left.
    pub transform: [f32; 16],
    /// The slots that `face_materials` of the mesh refers to: indices of materials, or PH_NONE. Null if it has none.
    pub material_slots: *const u32,
    /// The number of slots.
    pub material_slot_count: usize,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers: any bytes are values.
unsafe impl Record for ph_scene_info {
    const NAME: &'static str = "ph_scene_info";
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers and texts: any bytes are values.
unsafe impl Record for ph_object {
    const NAME: &'static str = "ph_object";
}

impl ph_scene {
    /// A scene as C sees it.
    pub(crate) fn new(scene: Scene) -> Result<ph_scene> {
        let mut result = ph_scene { scene, meshes: Vec::new(), slots: Vec::new() };
        result.look()?;
        Ok(result)
    }

    /// Adds the views of new meshes and objects.
    pub(crate) fn look(&mut self) -> Result<()> {
        let new = &self.scene.meshes[self.meshes.len()..];
        self.meshes.try_reserve(new.len())?;
        for mesh in new {
            self.meshes.push(MeshView::new(mesh)?);
        }
        let new = &self.scene.objects[self.slots.len()..];
        self.slots.try_reserve(new.len())?;
        for object in new {
            self.slots.push(slots(object)?);
        }
        Ok(())
    }
}

fn slots(object: &Object) -> Result<Vec<u32>> {
    let given = object.materials.as_deref().unwrap_or_default();
    let mut slots = Vec::new();
    slots.try_reserve_exact(given.len())?;
    slots.extend(given.iter().map(|slot| slot.and_then(|material| u32::try_from(material).ok()).unwrap_or(NONE)));
    Ok(slots)
}

/// Reads a scene. From a scene for a renderer (pbrt), everything that can be represented as meshes is read; the rest is
/// dropped, with a warning. ph_convert keeps everything.
///
/// `options` and `report` may be null. Free the scene with ph_scene_free; it is null if the job failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_read(
    input: *const ph_input,
    options: *const ph_read_options,
    scene: Option<&mut MaybeUninit<*mut ph_scene>>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let scene = Out::new(scene);
        let report = ReportOut::new(report);
        // SAFETY: `input` is null or valid by the header's rules until this call returns, and the job ends before that.
        let (input, _held) = unsafe { source::input(input) }?;
        let scene = scene?;
        let report = report?;
        // SAFETY: `options` is null or valid by the header's rules until this call returns, and the job ends before
        // that.
        let options = unsafe { options::read(options) }?;
        let loaded = Reader::new(input).options(&options).scene()?.flattened(&options.limits)?;
        options::not_cancelled(&options)?;
        scene.give(ph_scene::new(loaded.value)?);
        report.give(loaded.report);
        Ok(())
    })
}

/// Writes a scene.
///
/// `options` and `report` may be null. A file is replaced as a whole, or unchanged if the job fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_write(
    scene: Option<&ph_scene>,
    output: *const ph_output,
    options: *const ph_write_options,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let report = ReportOut::new(report)?;
        // SAFETY: `output` is null or valid by the header's rules until this call returns, and the job ends before
        // that.
        let (target, _held) = unsafe { source::output(output) }?;
        // SAFETY: the same `output`: null or valid by the header's rules until this call returns.
        let named = unsafe { source::format_named(output) }?;
        // SAFETY: `options` is null or valid by the header's rules until this call returns, and the job ends before
        // that.
        let mut options = unsafe { options::write(options) }?;
        options.format = options.format.or(named);
        report.give(polyhaul::Writer::new(target).options(&options).scene(&handle(scene, "the scene")?.scene)?);
        Ok(())
    })
}

/// Frees a scene and everything it lent; null does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn ph_scene_free(scene: Option<Box<ph_scene>>) {
    free(scene);
}

/// Returns the contents of a scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_get(scene: Option<&ph_scene>, info: *mut ph_scene_info) -> ph_status {
    guard(|| {
        let scene = &handle(scene, "the scene")?.scene;
        let [positions, _, _, faces, ..] = scene.totals();
        let (min, max) = scene.bounds().map_or(([1.0; 3], [-1.0; 3]), |bounds| (bounds.min, bounds.max));
        let lent = ph_scene_info {
            struct_size: size_of::<ph_scene_info>(),
            mesh_count: scene.meshes.len(),
            object_count: scene.objects.len(),
            material_count: scene.materials.len(),
            forward_axis: axis_number(scene.axes.forward),
            up_axis: axis_number(scene.axes.up),
            position_count: positions,
            face_count: faces,
            bounds_min: min,
            bounds_max: max,
        };
        // SAFETY: `info` is null or valid by the header's rules: then `struct_size` bytes are there, which is what
        // `put` requires.
        unsafe { raw::put(info, lent) }
    })
}

/// The error for an index out of range.
pub(crate) fn no_such(what: &str, index: usize, count: usize) -> Error {
    usage(format!("{what} {index} is out of range: there are {count}"))
}

/// Lends the arrays of a mesh, by an index below `mesh_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_mesh(scene: Option<&ph_scene>, index: usize, mesh: *mut ph_mesh) -> ph_status {
    guard(|| {
        let scene = handle(scene, "the scene")?;
        let mesh_and_view = scene.scene.meshes.get(index).zip(scene.meshes.get(index));
        let (model, view) = mesh_and_view.ok_or_else(|| no_such("mesh", index, scene.meshes.len()))?;
        // SAFETY: `mesh` is null or valid by the header's rules: then `struct_size` bytes are there, which is what
        // `put` requires.
        unsafe { raw::put(mesh, view.lend(model)) }
    })
}

/// Lends other data of the positions of a mesh, by an index below `vertex_column_count`: a column of one row per
/// position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_vertex_column(
    scene: Option<&ph_scene>,
    mesh: usize,
    index: usize,
    column: *mut ph_column,
) -> ph_status {
    guard(|| {
        let meshes = &handle(scene, "the scene")?.scene.meshes;
        let columns = &meshes.get(mesh).ok_or_else(|| no_such("mesh", mesh, meshes.len()))?.vertex_columns;
        // SAFETY: `column` is null or valid by the header's rules: then `struct_size` bytes are there, as `put_column`
        // requires.
        unsafe { table::put_column(columns, index, column) }
    })
}

/// Lends other data of the faces of a mesh, by an index below `face_column_count`: a column of one row per face.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_face_column(
    scene: Option<&ph_scene>,
    mesh: usize,
    index: usize,
    column: *mut ph_column,
) -> ph_status {
    guard(|| {
        let meshes = &handle(scene, "the scene")?.scene.meshes;
        let columns = &meshes.get(mesh).ok_or_else(|| no_such("mesh", mesh, meshes.len()))?.face_columns;
        // SAFETY: `column` is null or valid by the header's rules: then `struct_size` bytes are there, as `put_column`
        // requires.
        unsafe { table::put_column(columns, index, column) }
    })
}

/// Tells of an object, by an index below `object_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_object(scene: Option<&ph_scene>, index: usize, object: *mut ph_object) -> ph_status {
    guard(|| {
        let scene = handle(scene, "the scene")?;
        let object_and_slots = scene.scene.objects.get(index).zip(scene.slots.get(index));
        let (model, slots) = object_and_slots.ok_or_else(|| no_such("object", index, scene.slots.len()))?;
        let mut transform = [0.0; 16];
        transform.iter_mut().zip(model.transform.iter().flatten().flatten()).for_each(|(to, &from)| *to = from);
        let lent = ph_object {
            struct_size: size_of::<ph_object>(),
            name: view(&model.name),
            mesh: model.mesh,
            start: model.start.into(),
            end: model.end.into(),
            has_transform: model.transform.is_some().into(),
            transform,
            material_slots: raw::pointer(slots),
            material_slot_count: slots.len(),
        };
        // SAFETY: `object` is null or valid by the header's rules: then `struct_size` bytes are there, which is what
        // `put` requires.
        unsafe { raw::put(object, lent) }
    })
}
