//! Scenes: reading, inspecting and writing. `compose.rs` builds them.

use crate::error::{free, guard, ph_status};
use crate::mesh::{MeshView, ph_counts, ph_mesh};
use crate::options::{self, ph_options};
use crate::raw::{self, Out, Record, handle, usage};
use crate::report::{ReportOut, ph_report};
use crate::source::{self, ph_input, ph_output};
use crate::table::{self, ph_column};
use crate::text::{ph_string, view};
use polyhaul::model::{Axes, Axis, NONE, Object, Scene};
use polyhaul::{Error, Reader, Result};
use std::mem::MaybeUninit;
use std::mem::offset_of;

/// No index, such as for a corner without a UV or a face without a material.
pub const PH_NONE: u32 = u32::MAX;

/// An axis direction: one of the `PH_AXIS_` constants.
pub type ph_axis = u32;

/// +X.
pub const PH_AXIS_X: ph_axis = 1;
/// +Y.
pub const PH_AXIS_Y: ph_axis = 2;
/// +Z.
pub const PH_AXIS_Z: ph_axis = 3;
/// -X.
pub const PH_AXIS_NEGATIVE_X: ph_axis = 4;
/// -Y.
pub const PH_AXIS_NEGATIVE_Y: ph_axis = 5;
/// -Z.
pub const PH_AXIS_NEGATIVE_Z: ph_axis = 6;

const AXES: [Axis; 6] = [Axis::X, Axis::Y, Axis::Z, Axis::NegativeX, Axis::NegativeY, Axis::NegativeZ];

/// A scene: meshes, objects that refer to a mesh or a section of it, and materials. Free it with ph_scene_free.
///
/// The arrays and strings that a scene returns are valid until the scene is changed or freed.
pub struct ph_scene {
    pub(crate) scene: Scene,
    /// The arrays of each mesh whose layout differs between C and the model.
    pub(crate) meshes: Vec<MeshView>,
    /// The material slots of each object.
    pub(crate) slots: Vec<Vec<u32>>,
}

/// Counts, axes and bounds of a scene.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_scene_info {
    /// `sizeof(ph_scene_info)`.
    pub struct_size: usize,
    /// Number of meshes.
    pub mesh_count: usize,
    /// Number of objects. If it is 0, each mesh is an object.
    pub object_count: usize,
    /// Number of materials.
    pub material_count: usize,
    /// Axis that points forward.
    pub forward_axis: ph_axis,
    /// Axis that points up.
    pub up_axis: ph_axis,
    /// Number of positions in all meshes.
    pub position_count: u64,
    /// Number of faces in all meshes.
    pub face_count: u64,
    /// Minimum of all finite positions, before object transforms. Greater than `bounds_max` if no position is finite.
    pub bounds_min: [f32; 3],
    /// Maximum of all finite positions, before object transforms.
    pub bounds_max: [f32; 3],
}

/// An object: a mesh or a section of a mesh, with a name.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_object {
    /// `sizeof(ph_object)`.
    pub struct_size: usize,
    /// Name; may be empty.
    pub name: ph_string,
    /// Index of the mesh.
    pub mesh: usize,
    /// First element of each kind.
    pub start: ph_counts,
    /// One past the last element of each kind. If it is all zeros, ph_scene_add_object uses the end of the mesh.
    pub end: ph_counts,
    /// Whether `transform` is set. If not, positions are in world space.
    pub has_transform: u32,
    /// Object-to-world matrix in row-major order, for column vectors.
    pub transform: [f32; 16],
    /// Material indices, or PH_NONE, selected by `face_materials` of the mesh. May be null.
    pub material_slots: *const u32,
    /// Number of slots.
    pub material_slot_count: usize,
    /// `transform` in double precision. If it is all zeros, ph_scene_add_object uses `transform`.
    pub exact_transform: [f64; 16],
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers: any bytes are values.
unsafe impl Record for ph_scene_info {
    const NAME: &'static str = "ph_scene_info";
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers and strings: any bytes are values.
unsafe impl Record for ph_object {
    const NAME: &'static str = "ph_object";
    const FIRST_BYTES: usize = offset_of!(ph_object, exact_transform);
}

impl ph_scene {
    /// Creates a handle for a scene.
    pub(crate) fn new(scene: Scene) -> Result<ph_scene> {
        let mut result = ph_scene { scene, meshes: Vec::new(), slots: Vec::new() };
        result.look()?;
        Ok(result)
    }

    /// Adds views of the meshes and objects that have none.
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

/// Reads a scene. From a pbrt scene, reads everything that meshes can represent, and drops the rest with a warning;
/// ph_convert from pbrt to pbrt is lossless.
///
/// `options` and `report` may be null. Free the scene with ph_scene_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_read(
    input: *const ph_input,
    options: Option<&ph_options>,
    scene: Option<&mut MaybeUninit<*mut ph_scene>>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let scene = Out::new(scene);
        let report = ReportOut::new(report);
        // SAFETY: `input` is null or valid by the header's rules until this call returns; the job ends before that.
        let (input, _held) = unsafe { source::input(input) }?;
        let scene = scene?;
        let report = report?;
        let options = options::for_reading(options);
        let loaded = Reader::new(input).options(&options).scene()?.flattened(&options.limits)?;
        options::unless_cancelled(&options)?;
        scene.give(ph_scene::new(loaded.value)?);
        report.give(loaded.report);
        Ok(())
    })
}

/// Writes a scene.
///
/// `options` and `report` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_write(
    scene: Option<&ph_scene>,
    output: *const ph_output,
    options: Option<&ph_options>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let report = ReportOut::new(report)?;
        // SAFETY: `output` is null or valid by the header's rules until this call returns; the job ends before that.
        let (target, _held) = unsafe { source::output(output) }?;
        // SAFETY: as above.
        let named_format = unsafe { source::format_named(output) }?;
        let mut options = options::for_writing(options);
        options.format = options.format.or(named_format);
        report.give(polyhaul::Writer::new(target).options(&options).scene(&handle(scene, "the scene")?.scene)?);
        Ok(())
    })
}

/// Frees a scene, and all arrays and strings that it returned. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn ph_scene_free(scene: Option<Box<ph_scene>>) {
    free(scene);
}

/// Returns the counts, axes and bounds of a scene.
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
        // SAFETY: `info` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(info, lent) }
    })
}

fn axis(number: ph_axis) -> Result<Axis> {
    let axis = number.checked_sub(1).and_then(|index| AXES.get(index as usize).copied());
    axis.ok_or_else(|| usage(format!("{number} is not a valid axis (PH_AXIS_)")))
}

fn axis_number(axis: Axis) -> ph_axis {
    AXES.iter().position(|&candidate| candidate == axis).map_or(0, |index| index as u32 + 1)
}

/// Converts two axis constants.
pub(crate) fn axes(forward: ph_axis, up: ph_axis) -> Result<Axes> {
    Ok(Axes { forward: axis(forward)?, up: axis(up)? })
}

/// Returns the error for an index out of range.
pub(crate) fn no_such(what: &str, index: usize, count: usize) -> Error {
    usage(format!("{what} {index} is out of range: the count is {count}"))
}

/// Returns the arrays of a mesh, without copying them. `index` must be less than `mesh_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_mesh(scene: Option<&ph_scene>, index: usize, mesh: *mut ph_mesh) -> ph_status {
    guard(|| {
        let scene = handle(scene, "the scene")?;
        let mesh_and_view = scene.scene.meshes.get(index).zip(scene.meshes.get(index));
        let (model, view) = mesh_and_view.ok_or_else(|| no_such("mesh", index, scene.meshes.len()))?;
        // SAFETY: `mesh` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(mesh, view.lend(model)) }
    })
}

/// Returns a column of additional vertex data, with one row per position. `index` must be less than
/// `vertex_column_count` of the mesh.
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
        // SAFETY: `column` is null, or points to `struct_size` writable bytes by the header's rules, as `put_column`
        // requires.
        unsafe { table::put_column(columns, index, column) }
    })
}

/// Returns a column of additional face data, with one row per face. `index` must be less than `face_column_count` of
/// the mesh.
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
        // SAFETY: `column` is null, or points to `struct_size` writable bytes by the header's rules, as `put_column`
        // requires.
        unsafe { table::put_column(columns, index, column) }
    })
}

/// Returns an object. `index` must be less than `object_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_object(scene: Option<&ph_scene>, index: usize, object: *mut ph_object) -> ph_status {
    guard(|| {
        let scene = handle(scene, "the scene")?;
        let object_and_slots = scene.scene.objects.get(index).zip(scene.slots.get(index));
        let (model, slots) = object_and_slots.ok_or_else(|| no_such("object", index, scene.slots.len()))?;
        let mut exact_transform = [0.0; 16];
        let entries = model.transform.iter().flatten().flatten();
        exact_transform.iter_mut().zip(entries).for_each(|(to, &from)| *to = from);
        let transform = exact_transform.map(|entry| entry as f32);
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
            exact_transform,
        };
        // SAFETY: `object` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(object, lent) }
    })
}
