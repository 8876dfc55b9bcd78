//! Writing: a failed allocation is an error, never an abort, and never a broken file.

use polyhaul::WriteOptions;
use polyhaul::options::{RunOptions, SceneWriteOptions};
use polyhaul_testkit::corpus;
use polyhaul_testkit::starve::{Plan, every_allocation_of_writing};

fn check(test: &str, threads: usize, to_file: bool, options: WriteOptions) {
    let test = &format!("write::{test}");
    every_allocation_of_writing(Plan::of(test), to_file, || {
        let scene = polyhaul::read(corpus::root().join("obj/blender/splash60.obj")).unwrap();
        let run = RunOptions::default().with_threads(Some(threads));
        (scene, options.clone().with_run(run))
    });
}

#[test]
fn on_one_thread() {
    check("on_one_thread", 1, false, WriteOptions::default());
}

#[test]
fn on_two_threads() {
    check("on_two_threads", 2, false, WriteOptions::default());
}

#[test]
fn into_a_file() {
    check("into_a_file", 1, true, WriteOptions::default());
}

#[test]
fn on_seven_threads_into_a_file() {
    check("on_seven_threads_into_a_file", 7, true, WriteOptions::default());
}

#[test]
fn with_triangles() {
    let obj = WriteOptions::default().with_scene(SceneWriteOptions::default().with_triangulate(true));
    check("with_triangles", 2, false, obj);
}

#[test]
fn with_another_scale() {
    check(
        "with_another_scale",
        2,
        false,
        WriteOptions::default().with_scene(SceneWriteOptions::default().with_global_scale(2.0)),
    );
}
