//! Scenes with several files: order, depth, cycles, permissions, limits.

use crate::pbrt::dump::dump;
use crate::pbrt::support::{lenient, options, render, same, shown, text};
use polyhaul::model::Scene;
use polyhaul::options::Codec;
use polyhaul::{ErrorKind, Loaded, ReadOptions, Reader, Result};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::packed::pack;

/// A folder with files.
fn filled(name: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(&format!("pbrt-{name}")).unwrap();
    files.iter().for_each(|(file, text)| _ = folder.file(file, text).unwrap());
    folder
}

/// Reads the scene in a folder.
fn main_of(folder: &Folder, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(folder.join("main.pbrt")).options(options).scene()
}

#[test]
fn includes_and_imports_come_in_the_order_of_the_scene() {
    let folder = filled(
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
    let expected = main_of(&folder, &options(1, None));
    let loaded = expected.as_ref().unwrap();
    let names: Vec<_> = render(loaded).shapes().map(|shape| shape.class()).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
    let places = polyhaul::ops::places64(render(loaded)).unwrap();
    let x: Vec<_> =
        render(loaded).shapes().map(|shape| places.matrix(render(loaded), shape.motion().start)[0][3]).collect();
    assert_eq!(x, [0.0, 0.0, 1.0, 1.0, 1.0, 3.0, 3.0, 1.0]);
    for threads in [1, 2, 7] {
        for chunk_bytes in [1, 20, 1000] {
            let actual = main_of(&folder, &options(threads, Some(chunk_bytes)));
            assert!(same(&actual, &expected), "{}", shown(&actual));
        }
    }
}

/// State set by an included file persists after it; state set by an imported file does not, although the imported file
/// sees the state before it.
#[test]
fn an_import_has_a_state_of_its_own() {
    let part = "Translate 0 1 0 Material \"m\" ReverseOrientation Attribute \"shape\" \"float a\" 1 CoordinateSystem \"part\"\n\
                MediumInterface \"x\" Shape \"in\" ActiveTransform EndTime MakeNamedMaterial \"named\"\n";
    let inside = "shape \"in\" of 0 reversed inside \"x\" outside \"x\" +float a: 1 @ 1 0 0 1, 0 1 0 1, 0 0 1 0";
    for (directive, behind) in [
        ("Import", "shape \"out\" of \"named\" @ 1 0 0 1, 0 1 0 0, 0 0 1 3"),
        (
            "Include",
            "shape \"out\" of \"named\" reversed inside \"x\" outside \"x\" +float a: 1 \
             @ 1 0 0 1, 0 1 0 1, 0 0 1 0 to 1 0 0 1, 0 1 0 1, 0 0 1 3",
        ),
    ] {
        let main = format!(
            "WorldBegin\nTranslate 1 0 0\n{directive} \"part.pbrt\"\nCoordSysTransform \"part\"\n\
                            Translate 0 0 3\nNamedMaterial \"named\"\nShape \"out\"\n"
        );
        let folder = filled("import", &[("main.pbrt", &*main), ("part.pbrt", part)]);
        for threads in [1, 2] {
            let loaded = main_of(&folder, &options(threads, None)).unwrap();
            assert_eq!(dump(render(&loaded)), ["material \"m\"", "named \"named\"", inside, behind], "{directive}");
            let is_there = !loaded.report.warnings.counts().contains_key("missing-coordinate-system");
            assert_eq!(is_there, directive == "Include");
        }
    }
    // Scopes of an import are independent: it can neither leave one open nor close an outer one.
    for (part, expected) in
        [("AttributeBegin", "part.pbrt:1:15: `AttributeBegin`"), ("AttributeEnd\nFoo", "part.pbrt:2:1: ")]
    {
        let main = "WorldBegin\nAttributeBegin\nImport \"part.pbrt\"\nAttributeEnd\n";
        let folder = filled("import", &[("main.pbrt", main), ("part.pbrt", part)]);
        let error = main_of(&folder, &options(2, None)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    // An included file can open a scope that the including file closes.
    let main = "WorldBegin\nInclude \"part.pbrt\"\nAttributeEnd\nShape \"a\"\n";
    let folder = filled("include", &[("main.pbrt", main), ("part.pbrt", "AttributeBegin Translate 1 1 1")]);
    assert_eq!(dump(render(&main_of(&folder, &options(2, None)).unwrap())), ["shape \"a\""]);
}

#[test]
fn errors_say_which_files_led_there() {
    let folder = filled(
        "chain",
        &[
            ("main.pbrt", "WorldBegin\n\nInclude \"a.pbrt\"\n"),
            ("a.pbrt", "# one\n Include \"b.pbrt\"\n"),
            ("b.pbrt", "Shape \"x\"\nShape 1\n"),
        ],
    );
    let error = main_of(&folder, &options(2, None)).unwrap_err().to_string();
    assert!(error.contains("b.pbrt:2:7: "), "{error}");
    assert!(error.contains("a.pbrt:2:2, ") && error.contains("main.pbrt:3:1)"), "{error}");
    let loaded = main_of(&folder, &lenient(options(2, None))).unwrap();
    assert_eq!((render(&loaded).shape_count(), loaded.report.warnings.total()), (1, 1));
}

#[test]
fn depth_rings_and_counts_are_limited() {
    let mut files: Vec<(String, String)> =
        (0..80).map(|n| (format!("f{n}.pbrt"), format!("Include \"f{}.pbrt\"\n", n + 1))).collect();
    files.push(("f80.pbrt".into(), "WorldBegin\n".into()));
    files.push(("main.pbrt".into(), "Include \"f0.pbrt\"\n".into()));
    let names: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = filled("deep", &names);
    let error = main_of(&folder, &options(2, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("more than 64 levels deep"), "{error}");

    let wide = "Include \"a.pbrt\"\n".repeat(50);
    let folder = filled("wide", &[("main.pbrt", &*format!("WorldBegin\n{wide}")), ("a.pbrt", "Shape \"s\"\n")]);
    for (limit, fits) in [(49, false), (50, true), (51, true)] {
        for threads in [1, 2] {
            let mut options = options(threads, None);
            options.limits.files = limit;
            let result = main_of(&folder, &options);
            assert_eq!(result.is_ok(), fits, "{limit}: {}", shown(&result));
            let Err(error) = result else { continue };
            assert!(error.to_string().contains("main.pbrt:51:1: ") && error.kind() == ErrorKind::Limit, "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn only_regular_files_below_the_scene_are_opened() {
    let folder = filled("outside", &[("in/main.pbrt", ""), ("secret.pbrt", "WorldBegin\n")]);
    let inner = folder.join("in");
    std::os::unix::fs::symlink(folder.join("secret.pbrt"), inner.join("link.pbrt")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", inner.join("zero.pbrt")).unwrap();
    let absolute = folder.join("secret.pbrt").display().to_string();
    for name in ["../secret.pbrt", "..\\\\secret.pbrt", &absolute, "link.pbrt", "zero.pbrt", ".", "C:/x"] {
        std::fs::write(inner.join("main.pbrt"), format!("Include \"{name}\"\n")).unwrap();
        let error = Reader::new(inner.join("main.pbrt")).options(&options(2, None)).scene().unwrap_err();
        assert!(error.to_string().contains("main.pbrt:1:1: cannot read the file `"), "{name}: {error}");
    }
    let mut allowed = options(2, None);
    allowed.allow_outside = true;
    std::fs::write(inner.join("main.pbrt"), "Include \"../secret.pbrt\"\n").unwrap();
    Reader::new(inner.join("main.pbrt")).options(&allowed).scene().unwrap();
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
        assert!(fits || error.unwrap_err().to_string().contains("x.pbrt:3:1: the scene has more shapes"));
    }
}

#[test]
fn a_missing_mesh_is_a_warning_and_a_lazy_reading_looks_for_none() {
    let scene = "WorldBegin\nShape \"plymesh\" \"string filename\" \"nope.ply\"\n";
    let folder = filled("mesh", &[("main.pbrt", scene)]);
    let loaded = main_of(&folder, &options(2, None)).unwrap();
    assert_eq!(loaded.report.warnings.counts()["missing-mesh"], 1);
    assert_eq!(render(&loaded).shape(0).unwrap().mesh(), None);
    let lazy = options(2, None).with_load_meshes(false);
    assert!(main_of(&folder, &lazy).unwrap().report.warnings.is_empty());
}

#[test]
fn notes_of_files_come_in_the_order_of_the_scene() {
    let count = 24;
    let imports: String = (0..count).map(|n| format!("Import \"{n}.pbrt.gz\"\n")).collect();
    let folder = filled("notes", &[("main.pbrt", &format!("WorldBegin\n{imports}"))]);
    for n in 0..count {
        // The first are the longest, so that others finish before them.
        let text = "Shape \"s\"\n".repeat(40 * (count - n));
        let packed = [&pack(Codec::Gzip, text.as_bytes(), 1 << 20)[..], b"garbage"].concat();
        folder.file(&format!("{n}.pbrt.gz"), packed).unwrap();
    }
    for threads in [1, 2, 7] {
        for _ in 0..8 {
            let loaded = main_of(&folder, &lenient(options(threads, None))).unwrap();
            let places = loaded.report.warnings.kept().iter().map(|warning| warning.diagnostic.place.file.to_string());
            let expected = (0..count).map(|n| folder.join(&format!("{n}.pbrt.gz")).display().to_string());
            assert_eq!(places.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{threads} threads");
        }
    }
}
