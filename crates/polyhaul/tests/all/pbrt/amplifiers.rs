//! Amplification in small scenes: text included repeatedly, and instances that multiply. Tests each limit at one less
//! than needed, at the exact value, and at one more; the error states the count, the limit and the remedy.

use crate::pbrt::support::{options, text};
use polyhaul::options::{Instances, Limits, SceneWriteOptions};
use polyhaul::{Error, ErrorKind, Format, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use std::path::{Path, PathBuf};

/// Calls `run` with a limit at and around `needed`.
fn check<T>(name: &str, needed: u64, set: fn(&mut Limits) -> &mut u64, run: impl Fn(Limits) -> Result<T, Error>) {
    for limit in [needed - 1, needed, needed + 1] {
        let mut limits = Limits::default();
        *set(&mut limits) = limit;
        let error = match run(limits) {
            Ok(_) => {
                assert!(limit >= needed, "{name}: {limit} of {needed} was enough");
                continue;
            }
            Err(error) => error,
        };
        assert!(limit < needed, "{name}: {limit} of {needed}: {error}");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let message = error.to_string();
        let hint = error.diagnostic().hint.clone().unwrap_or_default();
        for part in [format!("`{name}`"), needed.to_string(), limit.to_string()] {
            assert!(message.contains(&part), "{part}: {message}");
        }
        assert!(hint.contains(&format!("limit `{name}` to {needed}")), "{hint}");
    }
}

/// A scene that includes a file of `size` bytes `count` times.
fn including(folder: &Folder, count: usize, size: usize) -> PathBuf {
    let line = "Shape \"sphere\" \"float radius\" 12\n";
    let mut included = line.repeat(size / line.len());
    included.extend(std::iter::repeat_n(' ', size - included.len()));
    folder.file("a.pbrt", &included).unwrap();
    folder.file("main.pbrt", format!("WorldBegin\n{}", "Include \"a.pbrt\"\n".repeat(count))).unwrap()
}

#[test]
fn text_that_is_included_again_has_a_limit() {
    let folder = Folder::new("included").unwrap();
    let scene = including(&folder, 10, 5_000);
    for (threads, chunk_bytes) in [(1, None), (2, Some(1)), (3, Some(700)), (7, Some(4_000))] {
        check(
            "included_bytes",
            9 * 5_000,
            |limits| &mut limits.included_bytes,
            |limits| Reader::new(&scene).options(&options(threads, chunk_bytes).with_limits(limits)).scene(),
        );
    }
    // The error is at the first excessive Include, for any threads and chunks.
    for (threads, chunk_bytes) in [(1, None), (2, Some(1)), (7, Some(700))] {
        let mut options = options(threads, chunk_bytes);
        options.limits.included_bytes = 20_000;
        let error = Reader::new(&scene).options(&options).scene().unwrap_err().to_string();
        assert!(error.contains("main.pbrt:7:1: ") && error.contains("add 25000 bytes"), "{error}");
    }
}

#[test]
fn what_a_scene_has_may_be_read_as_often_again() {
    let folder = Folder::new("included").unwrap();
    folder.file("a.pbrt", "Shape \"sphere\"\n".repeat(100)).unwrap();
    folder.file("b.pbrt", "Shape \"sphere\"\n".repeat(400)).unwrap();
    // `a` twice, after `b`: 3000 more bytes, while `a` and `b` have 7500.
    let text = format!("WorldBegin\nInclude \"b.pbrt\"\n{}", "Include \"a.pbrt\"\n".repeat(3));
    let scene = folder.file("main.pbrt", text).unwrap();
    let mut options = options(2, None);
    options.limits.included_bytes = 0;
    assert!(Reader::new(scene).options(&options).scene().is_ok());
}

/// A file that is included indirectly counts each time.
#[test]
fn includes_that_multiply_are_bounded() {
    let folder = Folder::new("included").unwrap();
    let mut options = options(2, None);
    options.limits.files = u64::MAX;
    options.limits.included_bytes = 1 << 20;
    for level in 0..6 {
        let text = format!("Include \"{}.pbrt\"\n", level + 1).repeat(10);
        folder.file(&format!("{level}.pbrt"), text).unwrap();
    }
    folder.file("6.pbrt", "Shape \"sphere\"\n".repeat(100)).unwrap();
    let scene = folder.file("main.pbrt", "WorldBegin\nInclude \"0.pbrt\"\n").unwrap();
    let error = Reader::new(scene).options(&options).scene().unwrap_err();
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("`included_bytes`"), "{error}");
}

/// `count` instances of an object with `shapes` shapes of three vertices and one face each.
fn instanced(count: usize, shapes: usize) -> String {
    let shape = "Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 1 0 0 0 1 0 ] \"integer indices\" [ 0 1 2 ]\n";
    format!(
        "WorldBegin\nObjectBegin \"a\"\n{}ObjectEnd\n{}",
        shape.repeat(shapes),
        "ObjectInstance \"a\"\n".repeat(count)
    )
}

fn converted(scene: &Path, to: Format, limits: Limits, instances: Instances) -> Result<(), Error> {
    let folder = Folder::new("amplified").unwrap();
    let output = folder.path().join(format!("out.{}", to.name()));
    let read = options(2, None).with_limits(limits);
    let write = WriteOptions::default()
        .with_format(Some(to))
        .with_scene(SceneWriteOptions::default().with_instances(instances));
    let result = Reader::new(scene).options(&read).convert(Writer::new(&output).options(&write));
    assert_eq!(result.is_ok(), output.exists());
    result.map(drop)
}

#[test]
fn vertices_that_instances_multiply_to_have_a_limit() {
    let folder = Folder::new("instanced").unwrap();
    let scene = folder.file("a.pbrt", instanced(7, 2)).unwrap();
    let elements: fn(&mut Limits) -> &mut u64 = |limits| &mut limits.instanced_elements;
    for to in [Format::Obj, Format::Ply, Format::Stl, Format::Xyz] {
        check("instanced_elements", 7 * 2 * 3, elements, |limits| converted(&scene, to, limits, Instances::Auto));
        let none = Limits::default().with_instanced_elements(0);
        assert!(converted(&scene, to, none, Instances::Once).is_ok());
    }
    let none = Limits::default().with_instanced_elements(0);
    assert!(converted(&scene, Format::Pbrt, none, Instances::Auto).is_ok());
}

#[test]
fn objects_that_instances_multiply_to_have_a_limit() {
    let folder = Folder::new("instanced").unwrap();
    let source = instanced(7, 5);
    let scene = folder.file("a.pbrt", &source).unwrap();
    let objects: fn(&mut Limits) -> &mut u64 = |limits| &mut limits.instanced_objects;
    check("instanced_objects", 35, objects, |limits| converted(&scene, Format::Obj, limits, Instances::Auto));
    check("instanced_objects", 35, objects, |limits| converted(&scene, Format::Pbrt, limits, Instances::Flatten));
    check("instanced_objects", 35, objects, |limits| text(&source, &options(2, None))?.flattened(&limits));
    let none = Limits::default().with_instanced_objects(0);
    for (to, instances) in
        [(Format::Pbrt, Instances::Auto), (Format::Pbrt, Instances::Once), (Format::Obj, Instances::Once)]
    {
        assert!(converted(&scene, to, none, instances).is_ok());
    }
}

/// A mesh used by many shapes is multiplied like instances; a mesh used once is not.
#[test]
fn meshes_in_files_multiply_too() {
    let folder = Folder::new("instanced").unwrap();
    let mesh = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
                element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    folder.file("a.ply", mesh).unwrap();
    folder.file("b.ply", mesh).unwrap();
    let shapes = "Shape \"plymesh\" \"string filename\" \"a.ply\"\n".repeat(9);
    let once = "Shape \"plymesh\" \"string filename\" \"b.ply\"\n";
    let scene = folder.file("a.pbrt", format!("WorldBegin\n{shapes}{once}")).unwrap();
    let elements: fn(&mut Limits) -> &mut u64 = |limits| &mut limits.instanced_elements;
    check("instanced_elements", 27, elements, |limits| converted(&scene, Format::Stl, limits, Instances::Auto));
}

/// 20,000,000,000 vertices from 1 MB: rejected before anything is allocated, with the default limits.
#[test]
fn a_scene_of_billions_is_refused_at_once() {
    let folder = Folder::new("instanced").unwrap();
    let points = "0 0 0 ".repeat(100_000);
    let shape = format!("Shape \"trianglemesh\" \"point3 P\" [ {points}] \"integer indices\" [ 0 1 2 ]\n");
    let instances = "ObjectInstance \"a\"\n".repeat(200_000);
    let source = format!("WorldBegin\nObjectBegin \"a\"\n{shape}ObjectEnd\n{instances}");
    let scene = folder.file("a.pbrt", source).unwrap();
    let error = converted(&scene, Format::Obj, Limits::default(), Instances::Auto).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("20,000,000,000 vertices") && message.contains("1000000000"), "{message}");
    let hint = error.diagnostic().hint.clone().unwrap_or_default();
    assert!(hint.contains("--instances once"), "{hint}");
}
