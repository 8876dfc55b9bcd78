//! Scenes of many files: order, depth, rings, what may be opened, limits.

use crate::support::{lenient, options, render, same, shown, text};
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions, Result, load};
use std::path::PathBuf;

/// A folder with files, which goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let folder = std::env::temp_dir().join(format!("polyhaul-pbrt-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Folder(folder)
    }

    fn load(&self, options: &ReadOptions) -> Result<Loaded> {
        load(Input::Path(self.0.join("main.pbrt")), options)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn includes_and_imports_come_in_the_order_of_the_scene() {
    let folder = Folder::new(
        "order",
        &[
            (
                "main.pbrt",
                "WorldBegin\nShape \"s0\"\nInclude \"a.pbrt\"\nShape \"s3\"\nImport \"sub/b.pbrt\"\nShape \"s7\"\n",
            ),
            ("a.pbrt", "Shape \"s1\"\nTranslate 1 0 0\nShape \"s2\""),
            ("sub/b.pbrt", "Shape \"s4\"\nTranslate 2 0 0\nInclude \"c.pbrt\"\nShape \"s6\"\n"),
            ("sub/c.pbrt", "Shape \"s5\"\n"),
        ],
    );
    let wanted = folder.load(&options(1, None));
    let loaded = wanted.as_ref().unwrap();
    let names: Vec<_> = render(loaded).shapes().map(|shape| shape.class()).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
    let places = polyhaul::ops::places64(render(loaded)).unwrap();
    let x: Vec<_> =
        render(loaded).shapes().map(|shape| places.of(render(loaded), shape.motion().start)[0][3]).collect();
    assert_eq!(x, [0.0, 0.0, 1.0, 1.0, 1.0, 3.0, 3.0, 1.0]);
    for threads in [1, 2, 7] {
        for chunk_bytes in [1, 20, 1000] {
            let found = folder.load(&options(threads, Some(chunk_bytes)));
            assert!(same(&found, &wanted), "{}", shown(&found));
        }
    }
}

#[test]
fn errors_say_which_files_led_there() {
    let folder = Folder::new(
        "chain",
        &[
            ("main.pbrt", "WorldBegin\n\nInclude \"a.pbrt\"\n"),
            ("a.pbrt", "# one\n Include \"b.pbrt\"\n"),
            ("b.pbrt", "Shape \"x\"\nShape 1\n"),
        ],
    );
    let error = folder.load(&options(2, None)).unwrap_err().to_string();
    assert!(error.contains("b.pbrt:2:7: "), "{error}");
    assert!(error.contains("a.pbrt:2:2, ") && error.contains("main.pbrt:3:1)"), "{error}");
    let loaded = folder.load(&lenient(options(2, None))).unwrap();
    assert_eq!((render(&loaded).shape_count(), loaded.report.warnings.total()), (1, 1));
}

#[test]
fn depth_rings_and_counts_are_limited() {
    let mut files: Vec<(String, String)> =
        (0..80).map(|n| (format!("f{n}.pbrt"), format!("Include \"f{}.pbrt\"\n", n + 1))).collect();
    files.push(("f80.pbrt".into(), "WorldBegin\n".into()));
    files.push(("main.pbrt".into(), "Include \"f0.pbrt\"\n".into()));
    let names: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = Folder::new("deep", &names);
    let error = folder.load(&options(2, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("more than 64 deep"), "{error}");

    let wide = "Include \"a.pbrt\"\n".repeat(50);
    let folder = Folder::new("wide", &[("main.pbrt", &format!("WorldBegin\n{wide}")), ("a.pbrt", "Shape \"s\"\n")]);
    for (limit, fits) in [(49, false), (50, true), (51, true)] {
        for threads in [1, 2] {
            let mut options = options(threads, None);
            options.limits.files = limit;
            let result = folder.load(&options);
            assert_eq!(result.is_ok(), fits, "{limit}: {}", shown(&result));
            let Err(error) = result else { continue };
            assert!(error.to_string().contains("main.pbrt:51:1: ") && error.kind() == ErrorKind::Limit, "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn only_regular_files_below_the_scene_are_opened() {
    let folder = Folder::new("outside", &[("in/main.pbrt", ""), ("secret.pbrt", "WorldBegin\n")]);
    let inner = folder.0.join("in");
    std::os::unix::fs::symlink(folder.0.join("secret.pbrt"), inner.join("link.pbrt")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", inner.join("zero.pbrt")).unwrap();
    let absolute = folder.0.join("secret.pbrt").display().to_string();
    for name in ["../secret.pbrt", "..\\\\secret.pbrt", &absolute, "link.pbrt", "zero.pbrt", ".", "C:/x"] {
        std::fs::write(inner.join("main.pbrt"), format!("Include \"{name}\"\n")).unwrap();
        let error = load(Input::Path(inner.join("main.pbrt")), &options(2, None)).unwrap_err();
        assert!(error.to_string().contains("main.pbrt:1:1: the file `"), "{name}: {error}");
    }
    let mut allowed = options(2, None);
    allowed.allow_outside = true;
    std::fs::write(inner.join("main.pbrt"), "Include \"../secret.pbrt\"\n").unwrap();
    load(Input::Path(inner.join("main.pbrt")), &allowed).unwrap();
}

#[test]
fn scopes_may_be_very_deep_and_names_must_be_short() {
    let deep = format!("WorldBegin\n{}{}", "AttributeBegin\n".repeat(100_000), "AttributeEnd\n".repeat(100_000));
    text(&deep, &options(2, None)).unwrap();
    let long = format!("WorldBegin\nMaterial \"{}\"\n", "x".repeat(101));
    for (limit, fits) in [(100, false), (101, true)] {
        let mut options = options(1, None);
        options.limits.name_bytes = limit;
        assert_eq!(text(&long, &options).is_ok(), fits);
    }
    for (limit, fits) in [(1, false), (2, true)] {
        let mut options = options(1, None);
        options.limits.elements = limit;
        let error = text("WorldBegin\nShape \"a\"\nShape \"b\"\n", &options);
        assert_eq!(error.is_ok(), fits);
        assert!(fits || error.unwrap_err().to_string().contains("x.pbrt:3:1: there are more shapes"));
    }
}

#[test]
fn a_missing_mesh_is_a_warning_and_a_lazy_reading_looks_for_none() {
    let scene = "WorldBegin\nShape \"plymesh\" \"string filename\" \"nope.ply\"\n";
    let folder = Folder::new("mesh", &[("main.pbrt", scene)]);
    let loaded = folder.load(&options(2, None)).unwrap();
    assert_eq!(loaded.report.warnings.counts()["missing-mesh"], 1);
    assert_eq!(render(&loaded).shape(0).unwrap().mesh(), None);
    let lazy = ReadOptions { load_meshes: false, ..options(2, None) };
    assert!(folder.load(&lazy).unwrap().report.warnings.is_empty());
}
