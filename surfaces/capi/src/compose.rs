//! Building scenes from the caller's arrays. Indices are checked when a scene is written.
//!
//! `material.rs` adds materials.

use crate::error::{guard, ph_status};
use crate::mesh::{self, PH_BORROW, PH_COPY, ph_counts, ph_keep, ph_mesh};
use crate::raw::{self, Out, handle_mut, usage};
use crate::scene::{PH_NONE, axes, no_such, ph_axis, ph_object, ph_scene};
use crate::text;
use polyhaul::Result;
use polyhaul::model::{Object, Scene};
use std::mem::MaybeUninit;

/// Creates an empty scene. Free it with ph_scene_free.
#[unsafe(no_mangle)]
pub extern "C" fn ph_scene_new(scene: Option<&mut MaybeUninit<*mut ph_scene>>) -> ph_status {
    guard(|| {
        Out::new(scene)?.give(ph_scene::new(Scene::default())?);
        Ok(())
    })
}

/// Sets the axes of a scene. By default, -Z is forward and Y is up.
#[unsafe(no_mangle)]
pub extern "C" fn ph_scene_set_axes(scene: Option<&mut ph_scene>, forward: ph_axis, up: ph_axis) -> ph_status {
    guard(|| {
        let scene = handle_mut(scene, "the scene")?;
        scene.scene.axes = axes(forward, up)?;
        Ok(())
    })
}

/// Adds a mesh to a scene; its index is the previous `mesh_count`. `keep` is PH_COPY or PH_BORROW; runs and names are
/// always copied.
///
/// Indices are checked when the scene is written: an index out of range fails with PH_ERROR_USAGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_add_mesh(
    scene: Option<&mut ph_scene>,
    mesh: *const ph_mesh,
    keep: ph_keep,
) -> ph_status {
    guard(|| {
        let scene = handle_mut(scene, "the scene")?;
        let borrow = match keep {
            PH_COPY => false,
            PH_BORROW => true,
            other => return Err(usage(format!("{other} is neither PH_COPY nor PH_BORROW"))),
        };
        // SAFETY: `mesh` is null or valid by the header's rules, and so are its arrays; with `PH_BORROW`, the arrays
        // outlive the scene by these rules.
        let mesh = unsafe { mesh::mesh(&raw::need(mesh)?, borrow) }?;
        scene.scene.meshes.try_reserve(1)?;
        scene.scene.meshes.push(mesh);
        // After a failure, the caller may free the arrays of the mesh, so the scene must not keep it.
        scene.look().inspect_err(|_| drop(scene.scene.meshes.pop()))
    })
}

/// Adds a copy of an object to a scene. Its mesh must already be in the scene.
///
/// An object must cover its whole mesh if it has a transform or material slots, or if the UVs or normals of the mesh
/// have a domain other than PH_DOMAIN_INDEXED. Writing such a mesh merges equal UVs and equal normals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_add_object(scene: Option<&mut ph_scene>, object: *const ph_object) -> ph_status {
    guard(|| {
        let scene = handle_mut(scene, "the scene")?;
        // SAFETY: `object` is null or valid by the header's rules, and so are its name and slots, which are copied.
        let object = unsafe { owned(&scene.scene, &raw::need(object)?) }?;
        scene.scene.objects.try_reserve(1)?;
        scene.scene.objects.push(object);
        scene.look().inspect_err(|_| drop(scene.scene.objects.pop()))
    })
}

/// Converts the caller's object.
///
/// # Safety
/// `given.name` and `given.material_slots` are valid for their sizes, or null with a size of 0.
unsafe fn owned(scene: &Scene, given: &ph_object) -> Result<Object> {
    let mesh = scene.meshes.get(given.mesh).ok_or_else(|| no_such("mesh", given.mesh, scene.meshes.len()))?;
    let end = if given.end == ph_counts::default() { mesh.counts() } else { given.end.into() };
    let mut transform = [[0.0; 4]; 4];
    let is_exact = given.exact_transform.iter().any(|entry| *entry != 0.0);
    let entries = if is_exact { given.exact_transform } else { given.transform.map(f64::from) };
    transform.iter_mut().flatten().zip(entries).for_each(|(to, from)| *to = from);
    Ok(Object {
        // SAFETY: `given.name` is valid for its size by this function's contract.
        name: unsafe { text::owned(given.name, "the name of an object") }?,
        mesh: given.mesh,
        start: given.start.into(),
        end,
        transform: (given.has_transform != 0).then_some(transform),
        // SAFETY: `slots` has the same contract.
        materials: unsafe { slots(given) }?,
        ..Object::default()
    })
}

/// # Safety
/// As for [`owned`].
unsafe fn slots(given: &ph_object) -> Result<Option<Vec<Option<usize>>>> {
    // SAFETY: `material_slots` points to `material_slot_count` numbers by this function's contract; `slice` checks
    // null and alignment.
    let given = unsafe { raw::slice(given.material_slots, given.material_slot_count, "material_slots") }?;
    let mut slots = Vec::new();
    slots.try_reserve_exact(given.len())?;
    slots.extend(given.iter().map(|&slot| (slot != PH_NONE).then_some(slot as usize)));
    Ok((!slots.is_empty()).then_some(slots))
}
