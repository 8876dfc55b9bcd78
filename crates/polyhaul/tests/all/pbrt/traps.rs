//! Hostile text and folders: the outcome of each and its location, in linear time.

use crate::pbrt::support::{data, lenient, options, render, same, shown, text};
use polyhaul::model::Scene;
use polyhaul::options::Limits;
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions, Reader, Result};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::growth;
use polyhaul_testkit::pbrt::hostile::{IncludeKind, Trap, chain, fan, ring, wide};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn read(text: &Arc<Vec<u8>>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(Input::Shared(text.clone(), "x.pbrt".into())).options(options).scene()
}

/// Error of each trap, its location, and the number of complaints if broken directives are skipped; for readable traps,
/// the contents of the scene: shapes, instances, objects, and warnings by code.
const OUTCOMES: [(Trap, &str); 33] = [
    (Trap::Plain, "3000 shapes"),
    (Trap::OpenString, "4:10 this string is not terminated on its line | 1"),
    (Trap::OpenStringOfLines, "4:10 this string is not terminated on its line | 1"),
    (Trap::OpenEscape, "4:10 this string is not terminated on its line | 1"),
    (Trap::OpenBracket, "4:33 this list is not closed with `]` | 1"),
    (Trap::NestedBrackets, "4:35 expected numbers, found a bracket | 1"),
    (Trap::ClosingBrackets, "4:1 expected a directive, found a bracket | 1"),
    (Trap::LongArray, "1 shapes"),
    (Trap::LongStringArray, "1 shapes"),
    (Trap::OneLine, "3000 shapes"),
    (Trap::LongString, "0 shapes, undefined-material 1"),
    (Trap::EscapedString, "0 shapes, undefined-material 1"),
    (Trap::LongNumber, "1 shapes"),
    (
        Trap::LongWord,
        "4:1 `WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW...` is not a pbrt directive | 1",
    ),
    (Trap::LongComment, "0 shapes"),
    (Trap::Comments, "0 shapes"),
    (Trap::Blank, "0 shapes"),
    (Trap::DeepAttributes, "0 shapes"),
    (
        Trap::OpenAttributes,
        "3005:1 `AttributeBegin` at x.pbrt:3003:1 is not closed (the innermost of 3000 open scopes) | 1",
    ),
    (Trap::DeepTransforms, "0 shapes, transform-begin 1"),
    (Trap::ClosingAttributes, "0 shapes, unmatched-end 3000"),
    (Trap::NestedObjects, "5:1 `ObjectBegin` is not allowed between `ObjectBegin` and `ObjectEnd` | 5998"),
    (Trap::EmptyObjects, "0 shapes, 3000 objects"),
    (Trap::UnknownInstances, "4:1 undefined object `0` | 3000"),
    (Trap::InstancesInObjects, "5:17 `ObjectInstance` is not allowed between `ObjectBegin` and `ObjectEnd` | 6000"),
    (Trap::Materials, "0 shapes"),
    (Trap::CoordinateSystems, "0 shapes"),
    (Trap::Parameters, "1 shapes"),
    (Trap::SameParameter, "1 shapes, repeated-parameter 1"),
    (Trap::Scales, "0 shapes"),
    (Trap::OutOfRange, "4:44 the index 1 of this `trianglemesh` is out of range: it has 1 points | 3000"),
    (Trap::Unknown, "4:1 `Unknown` is not a pbrt directive | 3000"),
    (Trap::MissingFiles, "3000 shapes, missing-mesh 3000"),
];

/// Result of a read, in one line.
fn outcome(text: &Arc<Vec<u8>>, way: &ReadOptions) -> String {
    let counts = |loaded: &Loaded<Scene>| loaded.report.warnings.total();
    match read(text, way) {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            let place = error.place();
            let place = format!("{}:{}", place.line.unwrap(), place.column.unwrap());
            let left =
                read(text, &lenient(way.clone())).map_or_else(|error| error.to_string(), |l| counts(&l).to_string());
            format!("{place} {} | {left}", error.diagnostic().message)
        }
        Ok(loaded) => {
            let scene = render(&loaded);
            let mut line = format!("{} shapes", scene.shape_count());
            let others = [(scene.objects.len(), "objects"), (scene.instances.len(), "instances")];
            others
                .iter()
                .filter(|(count, _)| *count > 0)
                .for_each(|(count, what)| line += &format!(", {count} {what}"));
            loaded.report.warnings.counts().iter().for_each(|(code, count)| line += &format!(", {code} {count}"));
            line
        }
    }
}

#[test]
fn each_comes_to_what_it_should() {
    let mut wrong = Vec::new();
    for (trap, expected) in OUTCOMES {
        let text = Arc::new(trap.text(3000));
        for (threads, chunk_bytes) in [(1, None), (2, Some(500)), (7, Some(20_000)), (64, None)] {
            let actual = outcome(&text, &options(threads, chunk_bytes));
            if actual != expected {
                wrong.push(format!("{trap:?}, {threads} threads, {chunk_bytes:?}: {actual}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(Trap::ALL.iter().zip(OUTCOMES).all(|(trap, (other, _))| *trap == other));
}

/// Constructs left open at the end are reported where they started.
#[test]
fn unclosed_constructs_are_reported_where_they_start() {
    for (text, expected) in [
        ("WorldBegin\n  Shape \"sphere", "2:9: this string is not terminated on its line"),
        ("WorldBegin\nShape \"a\" \"float x\" [ 1 2\n\n# end\n", "2:21: this list is not closed with `]`"),
        ("WorldBegin\nShape \"a\" \"float x\" [ 1\n2\nShape \"b\"\n", "2:21: this list is not closed with `]`"),
        (
            "WorldBegin\nShape \"a\" \"string x\" [ \"1\" \"2\n] Shape",
            "2:28: this string is not terminated on its line",
        ),
        ("WorldBegin\nTransform [ 1 2 3\n4 5", "2:11: this list is not closed with `]`"),
        ("WorldBegin\nShape \"a\" \"float x\"", "2:11: this parameter has no values"),
        ("WorldBegin\nShape \"a\" \"bool x\" [ true", "2:20: this list is not closed with `]`"),
        ("WorldBegin\nShape \"a\" \"integer x\" [ 1\nShape", "2:23: this list is not closed with `]`"),
        ("WorldBegin\nTranslate 1 2", "2:1: `Translate` has 2 numbers; expected 3"),
        ("WorldBegin\nShape", "2:1: `Shape` is incomplete"),
        (
            "WorldBegin\nAttributeBegin\n ObjectBegin \"o\" # open",
            "3:24: `ObjectBegin` at x.pbrt:3:2 is not closed (the innermost of 2 open scopes)",
        ),
        ("Camera \"perspective\"\n", "2:1: the scene has no `WorldBegin`"),
        ("", "1:1: the scene has no `WorldBegin`"),
    ] {
        for chunk_bytes in [None, Some(1), Some(15)] {
            let error = read(&Arc::new(text.into()), &options(2, chunk_bytes)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("x.pbrt:{expected}")), "{text}: {error}");
        }
    }
}

/// The object ends with the scene, even if it encloses another open scope.
#[test]
fn an_unclosed_object_keeps_its_shapes() {
    for scope in ["", "AttributeBegin"] {
        let scene = format!("WorldBegin ObjectBegin \"o\" {scope} Shape \"sphere\" Shape \"disk\"");
        let loaded = text(&scene, &lenient(options(2, None))).unwrap();
        assert_eq!(render(&loaded).objects[0].shapes, 0..2, "{scene}");
    }
}

/// Each use of a name that is not UTF-8 is counted: as a parameter, an option or a string, in one piece or in many.
#[test]
fn names_that_are_not_utf8_are_counted_wherever_they_are() {
    let shape = b"Shape \"sphere\" \"float caf\xe9\" 1\n";
    let start = &b"Option \"seed\" \xe9\nWorldBegin\n"[..];
    let scene = [start, shape, shape, b"NamedMaterial \"caf\xe9\"\n"].concat();
    for chunk_bytes in [None, Some(1), Some(15)] {
        let loaded = read(&Arc::new(scene.clone()), &options(2, chunk_bytes)).unwrap();
        assert_eq!(loaded.report.warnings.counts()["non-utf8-name"], 4, "{chunk_bytes:?}");
    }
}

#[test]
fn a_million_scopes_and_numbers_are_read() {
    const MILLION: u64 = 1_000_000;
    for (trap, expected) in [
        (Trap::DeepAttributes, "0 shapes"),
        (Trap::NestedObjects, "5:1 `ObjectBegin` is not allowed between `ObjectBegin` and `ObjectEnd` | 1999998"),
        (Trap::OpenBracket, "4:33 this list is not closed with `]` | 1"),
        (Trap::LongNumber, "1 shapes"),
    ] {
        let text = Arc::new(trap.text(MILLION));
        assert_eq!(outcome(&text, &options(2, None)), expected, "{trap:?}");
    }
    // A shape in the middle, and a transform for each scope.
    let text = format!(
        "WorldBegin\n{}Shape \"sphere\"\n{}",
        "AttributeBegin Scale 1 1 1\n".repeat(MILLION as usize),
        "AttributeEnd\n".repeat(MILLION as usize)
    );
    let loaded = read(&Arc::new(text.into()), &options(2, None)).unwrap();
    let scene = render(&loaded);
    let places = polyhaul::ops::places64(scene).unwrap();
    assert_eq!(places.matrix(scene, scene.shape(0).unwrap().motion().start)[3], [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(scene.transform_count(), MILLION as usize);
}

fn file(path: PathBuf, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(path).options(options).scene()
}

#[test]
fn rings_are_told_where_they_close() {
    for way in [IncludeKind::Include, IncludeKind::Import] {
        for count in [1, 2, 40] {
            let folder = Folder::new("pbrt-ring").unwrap();
            let path = ring(folder.path(), way, count).unwrap();
            for threads in [1, 2, 7] {
                let error = file(path.clone(), &options(threads, None)).unwrap_err();
                let last = format!("file_{}.pbrt:1:1: cannot read the file `file_0.pbrt`: ", count - 1);
                assert!(error.to_string().contains(&last), "{way:?} {count}: {error}");
                assert!(error.to_string().contains("it includes itself (included at "), "{error}");
                let loaded = file(path.clone(), &lenient(options(threads, None))).unwrap();
                assert_eq!(loaded.report.warnings.counts()["missing-file"], 1);
            }
        }
    }
}

/// A host's names lack identity: a cycle is detected by its depth.
#[test]
fn a_ring_of_a_host_is_too_deep() {
    let give = |name: &str| Ok(Some(Input::Memory(b"Include \"other\"\n".to_vec(), name.into())));
    let resolver = Some(polyhaul::options::Resolve(Arc::new(give)));
    let way = options(2, None).with_resolver(resolver);
    let error = read(&Arc::new(b"WorldBegin\nInclude \"other\"\n".to_vec()), &way).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("more than 64 levels deep"), "{error}");
}

#[test]
fn files_may_be_64_deep() {
    for way in [IncludeKind::Include, IncludeKind::Import] {
        for (count, fits) in [(63, true), (64, true), (65, false)] {
            let folder = Folder::new("pbrt-chain").unwrap();
            let path = chain(folder.path(), way, count).unwrap();
            for threads in [1, 2] {
                let result = file(path.clone(), &options(threads, None));
                assert_eq!(result.is_ok(), fits, "{count} {}", shown(&result));
                if let Ok(loaded) = &result {
                    assert_eq!(render(loaded).shape_count(), 1);
                    continue;
                }
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Limit);
                assert!(
                    error.to_string().contains("file_63.pbrt:1:1: includes are nested more than 64 levels deep"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_million_includes_are_limited_and_twenty_thousand_may_be_allowed() {
    let folder = Folder::new("pbrt-wide").unwrap();
    for way in [IncludeKind::Include, IncludeKind::Import] {
        let path = wide(folder.path(), way, 1_000_000).unwrap();
        for threads in [1, 2] {
            let error = file(path.clone(), &options(threads, None)).unwrap_err();
            assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(10_004)), "{error}");
            assert!(
                error.to_string().contains("the scene includes more files than the limit `files` (10000)"),
                "{error}"
            );
            assert_eq!(error.diagnostic().hint.as_deref(), Some("raise the limit `files`"));
        }
        let path = wide(folder.path(), way, 20_000).unwrap();
        let mut way = options(2, None);
        way.limits.files = 20_000;
        assert_eq!(render(&file(path, &way).unwrap()).shape_count(), 20_000);
    }
}

/// A few bytes that request ten billion files.
#[test]
fn a_fan_of_files_is_limited() {
    for way in [IncludeKind::Include, IncludeKind::Import] {
        let folder = Folder::new("pbrt-fan").unwrap();
        let path = fan(folder.path(), way, 10, 10).unwrap();
        let expected = file(path.clone(), &options(1, None));
        assert_eq!(expected.as_ref().unwrap_err().kind(), ErrorKind::Limit);
        assert!(same(&file(path, &options(7, None)), &expected));
    }
}

/// A limit names the line that exceeds it, for any chunks.
#[test]
fn limits_name_the_line_for_any_pieces() {
    let long = format!("Shape \"curve\" \"float a\" [\n{}]\n\n# more\n", "1 2 3\n".repeat(40));
    let text = Arc::new(format!("WorldBegin\n{long}Shape \"b\"\n").into_bytes());
    type Set = fn(&mut Limits);
    let limits: [(&str, u64, Set); 3] = [
        ("line_bytes", 2, |limits| limits.line_bytes = 200),
        ("name_bytes", 2, |limits| limits.name_bytes = 6),
        ("elements", 46, |limits| limits.elements = 1),
    ];
    for (name, line, set) in limits {
        for (threads, chunk_bytes) in [(1, None), (1, Some(1)), (2, Some(100)), (7, Some(long.len() + 2))] {
            let mut way = options(threads, chunk_bytes);
            set(&mut way.limits);
            let error = read(&text, &way).unwrap_err();
            assert_eq!(error.place().line, Some(line), "{name} {chunk_bytes:?}: {error}");
        }
    }
}

/// The boundaries before and after a long line may be anywhere in a chunk or at its end.
#[test]
fn a_long_line_is_found_wherever_pieces_end() {
    let text = std::fs::read(data("regression/long_lines.pbrt")).unwrap();
    let long_lines = [(4215, 3), (5015, 5)];
    for limit in [4214, 4215, 5014, 5015] {
        let expected = long_lines.iter().find(|(size, _)| *size > limit).map(|(_, line)| *line);
        for chunk_bytes in 1..120 {
            let mut way = options(1, Some(chunk_bytes));
            way.limits.line_bytes = limit;
            let stream = Input::Reader(Box::new(std::io::Cursor::new(text.clone())), "x.pbrt".into());
            for input in [Input::Memory(text.clone(), "x.pbrt".into()), stream] {
                let loaded = Reader::new(input).options(&way).scene().err();
                assert!(
                    loaded.iter().all(|error| error.kind() == ErrorKind::Limit),
                    "{limit} {chunk_bytes}: {loaded:?}"
                );
                let line = loaded.and_then(|error| error.place().line);
                assert_eq!(line, expected, "{limit}, pieces of {chunk_bytes}");
            }
        }
    }
}

#[test]
fn work_is_linear_in_the_number_of_files() {
    for way in [IncludeKind::Include, IncludeKind::Import] {
        let folders = [Folder::new("pbrt-wide").unwrap(), Folder::new("pbrt-wider").unwrap()];
        let paths = [0, 1].map(|number| wide(folders[number].path(), way, [600, 9600][number]).unwrap());
        let complaint = growth::too_fast(&paths, |path| drop(file(path.clone(), &options(1, None)).unwrap()));
        assert_eq!(complaint, None);
    }
}

/// Files opened ahead have the same names as files opened in their turn.
#[test]
fn errors_name_files_the_same_whoever_opened_them() {
    let folder = Folder::new("pbrt-names").unwrap();
    folder
        .file("main.pbrt", format!("WorldBegin\n{}", "Import \"sub/a.pbrt\"\nInclude \"b.pbrt\"\n".repeat(20)))
        .unwrap();
    folder.file("sub/a.pbrt", "Shape \"s\"\nInclude \"c.pbrt\"\nTranslate 1\n").unwrap();
    folder.file("sub/c.pbrt", "Foo\n").unwrap();
    folder.file("b.pbrt", "Include \"gone.pbrt\"\n").unwrap();
    let way = |threads| lenient(options(threads, None));
    let expected = file(folder.join("main.pbrt"), &way(1));
    let kept_warnings = expected.as_ref().unwrap().report.warnings.kept();
    assert_eq!(kept_warnings.len(), 60);
    let names: Vec<_> = kept_warnings[..3].iter().map(|warning| Path::new(&*warning.diagnostic.place.file)).collect();
    assert_eq!(names, ["sub/c.pbrt", "sub/a.pbrt", "b.pbrt"].map(|name| folder.join(name)));
    for threads in [1, 2, 7] {
        for _ in 0..10 {
            let loaded = file(folder.join("main.pbrt"), &way(threads));
            assert!(same(&loaded, &expected), "{threads} threads: {}\n{}", shown(&loaded), shown(&expected));
        }
    }
}

#[test]
fn each_naming_of_a_file_is_one_reading() {
    let folder = Folder::new("pbrt-once").unwrap();
    let main = format!("WorldBegin\n{}", "Include \"a.pbrt\"\n".repeat(200));
    folder.file("main.pbrt", &main).unwrap();
    folder.file("a.pbrt", "Shape \"s\"\n").unwrap();
    for threads in [1, 2, 7, 64] {
        for _ in 0..5 {
            let loaded = file(folder.join("main.pbrt"), &options(threads, None)).unwrap();
            assert_eq!(loaded.report.bytes_in, main.len() as u64 + 200 * 10, "{threads} threads");
        }
    }
}

#[test]
fn every_complaint_is_short_and_on_one_line() {
    let long = |what: &str| what.repeat(5000);
    for text in [
        format!("WorldBegin\nNamedMaterial \"{}\"\n", long("a\\n\\\"")),
        format!("WorldBegin\nShape \"{}\" 1\n", long("\u{e9}\u{1b}")),
        format!("WorldBegin\nInclude \"{}\"\n", long("\\n\u{1b}[2J")),
        format!("WorldBegin\n{}\n", long("\u{1b}\u{7f}")),
        format!("WorldBegin\nShape \"a\" \"{} b\" 1\n", long("\u{1b}x\\n")),
        format!("WorldBegin\nShape \"a\" \"float {0}\" 1 \"float {0}\" 2\n", long("\u{1b}x\\r")),
        format!("WorldBegin\nShape \"plymesh\" \"string filename\" \"{}\"\n", long("\\n\u{1b}")),
        format!("WorldBegin\nCoordSysTransform \"{}\"\n", long("\\r")),
    ] {
        let result = read(&Arc::new(text.into()), &lenient(options(1, None)));
        let loaded = result.unwrap();
        assert!(loaded.report.warnings.total() > 0);
        for warning in loaded.report.warnings.kept() {
            let message = &warning.diagnostic.message;
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message:?}");
        }
    }
}
