//! Random scenes compared with the reference, byte for byte, for any number of threads, chunk size and memory limit.

use super::reference;
use super::scenes::{self, Numbers};
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Object, Scene};
use polyhaul_geometry::exact::is_exact;

/// The sign of NaN depends on the processor.
fn unsigned_nan(text: &str) -> String {
    text.replace("-nan", "nan")
}

#[track_caller]
pub fn compare(what: &str, actual: &str, expected: &str) {
    let actual = unsigned_nan(actual);
    let expected = unsigned_nan(expected);
    assert!(actual == expected, "{what}: {}", difference(&actual, &expected));
}

fn random(seed: u64, numbers: Numbers) -> (Scene, WriteOptions) {
    let mut random = Random::new(seed);
    (scenes::scene(&mut random, numbers), scenes::options(&mut random))
}

fn check(seeds: std::ops::Range<u64>, numbers: Numbers) {
    let mut far = 0;
    for seed in seeds {
        let (scene, obj) = random(seed, numbers);
        // Blender and the reference only have single precision.
        if is_exact(&scene).unwrap() {
            far += 1;
            continue;
        }
        let written = text(&scene, &with(&obj));
        compare(&format!("seed {seed}, {obj:?}"), &written, &reference::write(&scene, &obj, None));
    }
    assert!(far < 20, "{far} scenes need double precision");
}

#[test]
fn tame_scenes_are_as_the_rules_say() {
    check(0..2000, Numbers::Tame);
}

#[test]
fn wild_scenes_are_as_the_rules_say() {
    check(10_000..12_000, Numbers::Wild);
}

/// The comparison itself can fail: a scene with its last position moved is different.
#[test]
fn the_reference_tells_scenes_apart() {
    let (mut scene, obj) = random(4, Numbers::Tame);
    let before = reference::write(&scene, &obj, None);
    let mesh = scene.objects[0].mesh;
    scene.meshes[mesh].positions.to_mut().unwrap().last_mut().unwrap()[0] += 1.0;
    assert_ne!(reference::write(&scene, &obj, None), before);
}

#[track_caller]
fn check_runs(what: &str, scene: &Scene, obj: &WriteOptions, threads: &[usize]) {
    let expected = bytes(scene, &with(obj));
    for &threads in threads {
        for chunk_bytes in CHUNKS {
            for limit in LIMITS {
                let written = bytes(scene, &with_run(obj, run(threads, chunk_bytes, limit)));
                let same = written == expected;
                assert!(same, "{what}: {threads} threads, chunks of {chunk_bytes:?}, {limit} bytes of memory");
            }
        }
    }
}

#[test]
fn threads_chunks_and_memory_change_nothing() {
    for seed in 0..30 {
        let (scene, obj) = random(seed, if seed % 2 == 0 { Numbers::Tame } else { Numbers::Wild });
        check_runs(&format!("seed {seed}"), &scene, &obj, &THREADS);
    }
}

/// Many objects, so that small ones fill several pages in several batches.
#[test]
fn many_objects_are_the_same_for_any_threads() {
    let mut scene = Scene::default();
    for seed in 0..50 {
        let (mut other, _) = random(seed, Numbers::Wild);
        let meshes = scene.meshes.len();
        let is_known = |slot: &Option<usize>| slot.is_none_or(|slot| slot < 2);
        for object in &mut other.objects {
            object.mesh += meshes;
            object.materials.iter_mut().for_each(|slots| slots.retain(is_known));
        }
        scene.meshes.append(&mut other.meshes);
        scene.objects.append(&mut other.objects);
        scene.materials = if other.materials.len() > 2 { other.materials[..2].to_vec() } else { scene.materials };
    }
    let again: Vec<Object> = (0..6).flat_map(|_| scene.objects.clone()).collect();
    scene.objects = again;
    let obj = WriteOptions::default();
    compare("many", &text(&scene, &with(&obj)), &reference::write(&scene, &obj, None));
    check_runs("many", &scene, &obj, &[2, 64]);
}
