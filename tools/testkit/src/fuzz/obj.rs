//! Properties of any bytes read as OBJ or MTL.

use super::no_fault;
use super::trial::{Effort, RETURN_SHARE, Trial};
use crate::naive;
use crate::output::try_named;
use crate::scene::broken_rule;
use crate::summary::{self, outcome};
use polyhaul::model::Scene;
use polyhaul::options::{Digits, Limits, OnError, Resolve, SceneWriteOptions, Strict};
use polyhaul::{ErrorKind, Input, Reader};
use std::sync::Arc;

const NAME: &str = "fuzz.obj";

/// One input in this many is also counted by the naive reader.
const COUNT_SHARE: usize = 4;

/// Reads OBJ text; all ways of reading must agree, and valid scenes must survive a round trip.
pub fn obj(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, NAME, effort);
    let options = trial.options();
    match trial.read(&options, |input, options| Reader::new(input()).options(options).scene(), outcome) {
        Ok(loaded) => {
            assert_eq!(broken_rule(&loaded.value), None);
            if options.on_error == OnError::Raise && trial.draws(COUNT_SHARE) {
                complete(data, &loaded.value);
            }
            if trial.draws(RETURN_SHARE) {
                comes_back(&trial, &loaded.value);
            }
        }
        Err(error) => no_fault(&error),
    }
}

/// Checks that a scene has all elements that the text declares.
pub fn complete(text: &[u8], scene: &Scene) {
    let totals = scene.totals();
    let counts: naive::Totals = std::array::from_fn(|kind| totals[kind] as usize);
    assert_eq!(naive::declared(text), counts, "declared and found");
}

/// Checks that a scene survives a round trip, and that the text is stable from the second time on.
///
/// The first text may differ from the second: numbers with more digits than a float are loaded as doubles, which may be
/// shorter when written.
fn comes_back(trial: &Trial<'_>, scene: &Scene) {
    let Some(first) = written(trial, scene) else { return };
    let again = read_back(trial, &first);
    assert_eq!(values(scene), values(&again), "values that come back");
    let second = written(trial, &again).unwrap_or_default();
    if first == second {
        return;
    }
    let third = written(trial, &read_back(trial, &second)).unwrap_or_default();
    let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    assert_eq!(show(&second), show(&third), "the same text when written again");
}

fn read_back(trial: &Trial<'_>, text: &[u8]) -> Scene {
    let input = Input::Memory(text.to_vec(), NAME.into());
    match Reader::new(input).options(&trial.plain_options()).scene() {
        Ok(loaded) => loaded.value,
        Err(error) => panic!("what was written is not read: {error:?}"),
    }
}

/// Writes a scene as exact OBJ text. Returns `None` if it cannot be stored.
fn written(trial: &Trial<'_>, scene: &Scene) -> Option<Vec<u8>> {
    let exact = SceneWriteOptions::default().with_digits(Some(Digits::Shortest));
    match try_named(scene, NAME, &trial.write_options().with_scene(exact)) {
        Ok(text) => Some(text),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            None
        }
    }
}

/// Prints the arrays of a scene; all NaNs are equal.
fn values(scene: &Scene) -> String {
    let mut scene = scene.clone();
    for mesh in &mut scene.meshes {
        // The shortest text of a double may round to a different float than the double itself.
        if !mesh.exact_positions.is_empty() {
            mesh.positions = mesh.exact_positions.iter().map(|row| row.map(|value| value as f32)).collect();
        }
        let rows = mesh.positions.to_mut().unwrap().iter_mut().chain(mesh.normals.to_mut().unwrap()).flatten();
        for value in rows.chain(mesh.uvs.to_mut().unwrap().iter_mut().flatten()) {
            *value = if value.is_nan() { f32::NAN } else { *value };
        }
        // OBJ cannot store alpha; the loss has a warning.
        mesh.colors.to_mut().unwrap().iter_mut().for_each(|color| color[3] = 1.0);
        mesh.material_runs.clear();
        mesh.group_runs.clear();
        mesh.smoothing_runs.clear();
        mesh.groups.clear();
        mesh.curves.clear();
        // Weights of 1 and depths of 0 are the defaults.
        if mesh.position_weights.iter().all(|&weight| weight == 1.0) {
            mesh.position_weights.to_mut().unwrap().clear();
        }
        if mesh.uv_depths.iter().all(|&depth| depth == 0.0) {
            mesh.uv_depths.to_mut().unwrap().clear();
        }
    }
    scene.objects.clear();
    scene.materials.clear();
    scene.material_libraries.clear();
    summary::scene(&scene)
}

/// Reads a material library: only limits and `strict` may make it fail, and names must be distinct.
pub fn mtl(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.mtl", effort);
    let mut options = trial.options();
    let library = data.to_vec();
    let resolve = move |name: &str| Ok(Some(Input::Memory(library.clone(), name.into())));
    options.resolver = Some(Resolve(Arc::new(resolve)));
    let read = || Reader::new(Input::Memory(b"mtllib fuzz.mtl\n".to_vec(), NAME.into())).options(&options).scene();
    let result = read();
    if trial.draws(8) {
        assert_eq!(outcome(&result), outcome(&read()));
    }
    match result {
        Ok(loaded) => {
            let mut names: Vec<_> = loaded.value.materials.iter().map(|m| &m.name).collect();
            names.sort();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
        Err(error) => match error.kind() {
            ErrorKind::Limit => assert_ne!(options.limits, Limits::default(), "{error}"),
            ErrorKind::Malformed => assert!(options.strict != Strict::Off, "{error}"),
            kind => panic!("{kind:?}: {error}"),
        },
    }
}
