//! Random scenes are read back unchanged, for any threads and chunks.

use super::generate::{self, ALL, SceneSpec};
use super::meaning::meaning;
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::Scene;

fn scenes(seed: u64, count: usize, spec: SceneSpec) -> Vec<Scene> {
    let mut random = Random::new(seed);
    (0..count).map(|_| generate::scene(&mut random, spec)).collect()
}

#[track_caller]
fn check(scenes: &[Scene]) {
    for (number, scene) in scenes.iter().enumerate() {
        for options in [plain(), shortest()] {
            let first = text(scene, &options);
            let again = parse(first.as_str()).unwrap_or_else(|error| panic!("scene {number}: {error}\n{first}"));
            let reread = meaning(&again);
            let expected = meaning(scene);
            assert!(reread == expected, "scene {number}: {}\n{first}", difference(&reread, &expected));
            let second = text(&again, &options);
            assert!(second == first, "scene {number}: {}", difference(&second, &first));
            assert_same(&read(second), &again, &format!("scene {number}"));
        }
    }
}

#[test]
fn faces_come_back() {
    check(&scenes(1, 300, SceneSpec { lines_and_points: false, curves: false, mixed: false, ..ALL }));
}

#[test]
fn mixed_corners_come_back() {
    check(&scenes(2, 300, SceneSpec { lines_and_points: false, curves: false, ..ALL }));
}

#[test]
fn lines_and_points_come_back() {
    check(&scenes(3, 300, SceneSpec { curves: false, group_objects: false, ..ALL }));
}

/// A point may be in the group of the object's header while the faces before it are in others.
#[test]
fn lines_and_points_of_group_objects_come_back() {
    check(&scenes(9, 300, SceneSpec { curves: false, ..ALL }));
}

#[test]
fn curves_come_back() {
    check(&scenes(4, 300, SceneSpec { lines_and_points: false, ..ALL }));
}

/// Nothing resets material, group or smoothing before their first statement.
#[test]
fn what_is_in_no_group_stays_in_none() {
    check(&scenes(5, 300, SceneSpec { late_state: true, curves: false, ..ALL }));
}

#[test]
fn many_small_objects_come_back() {
    check(&scenes(6, 60, SceneSpec { objects: 60, things: 6, lines_and_points: false, ..ALL }));
}

/// Objects that do not cover their meshes from end to end.
#[test]
fn scattered_objects_come_back() {
    let mut random = Random::new(10);
    let scenes: Vec<Scene> = (0..300).map(|_| generate::scattered(&mut random)).collect();
    check(&scenes);
    for scene in &scenes[..10] {
        let expected = bytes(scene, &plain());
        for (threads, chunk_bytes) in [(1, 1), (3, 7), (7, 100)] {
            let options = WriteOptions::default().with_run(run(threads, Some(chunk_bytes)));
            assert!(bytes(scene, &options) == expected);
        }
    }
}
