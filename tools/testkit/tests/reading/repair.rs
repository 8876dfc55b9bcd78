//! `OnError::Warn`, `strict`, and warnings: exactly the skipped elements are counted.

use crate::{lenient, options, read, read_text};
use polyhaul::options::{OnError, Strict};
use polyhaul::warnings::{KEPT, KEPT_PER_KIND};
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::scene::broken_rule;

/// Invalid statements, and the code of their warning.
const BROKEN: [(&str, &str); 17] = [
    ("v 1 2", "malformed"),
    ("v 1 2 3 4 5", "malformed"),
    ("v 1 2 3 4 5 6 7 8", "malformed"),
    ("v 1 2 x", "malformed"),
    ("vt", "malformed"),
    ("vt 1 2 x", "malformed"),
    ("vn 1 2", "malformed"),
    ("f 0 1 2", "malformed"),
    ("f 1 2 3/1/1/1", "malformed"),
    ("f 1 2 x", "malformed"),
    ("f 1 2 9", "index-out-of-range"),
    ("f 1 2 -9", "index-out-of-range"),
    ("l 1 9", "index-out-of-range"),
    ("p 9", "index-out-of-range"),
    ("s x", "malformed"),
    ("\u{1}", "malformed"),
    ("#MRGB 123", "malformed"),
];

fn around(broken: &str) -> String {
    format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n{broken}\nv 1 1 1\nf 1 2 4\nl 1 2\np 4\n")
}

#[test]
fn a_broken_statement_is_an_error_with_its_place() {
    for (broken, _) in BROKEN {
        let error = read_text(around(broken), &options(1, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{broken}");
        let place = error.place();
        assert_eq!(place.line, Some(5), "{broken}: {error}");
        assert!(place.offset.is_some() && place.column.is_some(), "{broken}");
        let excerpt = error.diagnostic().excerpt.clone().unwrap_or_default();
        assert_eq!(excerpt.text.trim_end(), broken.replace('\u{1}', " ").trim_end(), "{broken}");
    }
}

#[test]
fn a_broken_statement_can_be_left_out() {
    for (broken, code) in BROKEN {
        for mut options in [lenient(), lenient().with_run(options(2, 3).run)] {
            options.limits.elements = 100;
            let Loaded { value: scene, report } = read_text(around(broken), &options).unwrap();
            assert_eq!(broken_rule(&scene), None, "{broken}");
            // A skipped vertex keeps its number, and elements that use it are skipped too.
            let expected = if broken.starts_with("v ") { [4, 0, 0, 1, 1, 0] } else { [4, 0, 0, 2, 1, 1] };
            assert_eq!(scene.totals()[..6], expected, "{broken}");
            let count = report.warnings.counts().get(code);
            assert!(count.is_some(), "{broken}: {:?}", report.warnings.counts());
        }
    }
}

/// Counts are exact, whatever the number of warnings that are kept.
#[test]
fn every_left_out_element_is_counted() {
    let count = 2500;
    let text = format!("v 0 0 0\n{}", "p 2\nf 1 1\nf 1 1 y\nx\n".repeat(count));
    for chunk_bytes in [None, Some(100), Some(1 << 20)] {
        let options = lenient().with_run(options(2, chunk_bytes).run);
        let warnings = read_text(&text, &options).unwrap().report.warnings;
        for code in ["index-out-of-range", "element-left-out", "malformed", "short-face", "unknown-statement"] {
            assert_eq!(warnings.counts().get(code), Some(&(count as u64)), "{code} {chunk_bytes:?}");
        }
        assert!(warnings.kept().len() <= KEPT + KEPT_PER_KIND * warnings.counts().len());
    }
}

/// Faces may precede their positions; an invalid one must be found among many valid ones.
#[test]
fn a_wrong_index_behind_many_forward_references() {
    let mut text = "f 1 2 3\n".repeat(1100) + "f 1 2 9999\n";
    let positions_at = text.len() + 2000;
    while text.len() < positions_at {
        text += "# fill\n";
    }
    text += "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for chunk_bytes in [64, 10_000, 1 << 20] {
        for (on_error, strict) in [(OnError::Raise, false), (OnError::Warn, false), (OnError::Warn, true)] {
            let options = options(1, chunk_bytes).with_on_error(on_error).with_strict(strict);
            let way = format!("chunks of {chunk_bytes}, {on_error:?}, strict {strict}");
            match read_text(&text, &options) {
                Ok(Loaded { value: scene, .. }) => {
                    assert!(on_error == OnError::Warn && !strict, "{way}: no error");
                    assert_eq!(broken_rule(&scene), None, "{way}");
                    assert_eq!(scene.totals()[3], 1100, "{way}");
                }
                Err(error) => assert_eq!(error.place().line, Some(1101), "{way}: {error}"),
            }
        }
    }
}

/// Streams are empty if no corner has a value, even after an element was skipped; so is the list of objects if nothing
/// remains.
#[test]
fn nothing_stays_of_what_is_left_out() {
    let text = "v 0 0 0\nvt 0 0\nvn 0 0 1\nf 1 1 1\nf 1/1/1 1/1/1 9/1/1\n";
    let scene = read_text(text, &lenient()).unwrap().value;
    let faces = &scene.meshes[0].faces;
    assert_eq!((faces.len(), faces.corner_uvs.len(), faces.corner_normals.len()), (1, 0, 0));
    assert!(read_text("f 1 2 3\n", &lenient()).unwrap().value.objects.is_empty());
}

/// `strict` turns warnings into errors, and changes nothing else.
#[test]
fn strict_turns_warnings_into_errors() {
    let notes = [
        ("x", "unknown-statement"),
        ("vp 1 2", "unsupported-statement"),
        ("v nan 0 0", "non-finite"),
        ("v 1e39 0 0", "non-finite"),
        ("vt 0 0\nf 1/1 1 1", "mixed-corners"),
        ("f 1/ 1/ 1/", "empty-index"),
        ("# a\\\nb", "continued-comment"),
        ("cstype bezier", "unsupported-statement"),
        ("usemtl nowhere", "missing-material"),
        ("mtllib nowhere.mtl", "missing-library"),
    ];
    let strict = options(1, None).with_strict(Strict::All);
    let lenient_and_strict = strict.clone().with_on_error(OnError::Warn);
    let folder = Folder::new("repair").unwrap();
    for (note, code) in notes {
        let path = folder.file("x.obj", format!("v 0 0 0\n{note}\n")).unwrap();
        let read = |options: &ReadOptions| read(Input::Path(path.clone()), options);
        let warnings = read(&options(1, None)).unwrap().report.warnings;
        assert_eq!(warnings.counts().keys().copied().collect::<Vec<_>>(), [code], "{note}");
        let place = &warnings.kept()[0].diagnostic.place;
        assert!(place.line >= Some(2), "{note}: {place:?}");
        for strict in [&strict, &lenient_and_strict] {
            let error = read(strict).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{note}");
            assert_eq!(error.place(), place, "{note}");
        }
    }
    let names = options(1, None).with_strict(true);
    assert!(read_text("o \u{e9}\nv 0 0 0\nf 1 1 1\ns off\ng\n# fine\n", &names).is_ok());
    assert!(read_text(b"o \xe9\n", &names).is_err());
}

/// Rules of the model for lines and points.
#[test]
fn elements_keep_to_the_model() {
    for text in ["l 1//1 1//1", "l 1/1/1 1/1/1", "p 1/1", "p 1//1"] {
        let text = format!("v 0 0 0\nvt 0 0\nvn 0 0 1\n{text}\n");
        let silent = match read_text(&text, &options(1, None)) {
            Ok(Loaded { value: scene, report }) => {
                assert_eq!(broken_rule(&scene), None, "{text:?}");
                report.warnings.is_empty()
            }
            Err(_) => false,
        };
        assert!(!silent, "{text:?}: what the model cannot hold is lost without a word");
    }
    // The degree of a curve is at least 1.
    let text = "v 0 0 0\ncstype bspline\ncurv 0 1 1 1\nparm u 0 0 1 1\nend\n";
    let curves = read_text(text, &options(1, None)).map(|loaded| loaded.value.meshes[0].curves.clone());
    assert!(curves.is_err_and(|e| e.kind() == ErrorKind::Malformed), "a curve without a degree");
    // Colors for more positions than exist.
    let text = "v 0 0 0\n#MRGB ff112233ff445566\n";
    let lost = read_text(text, &options(1, None)).is_ok_and(|loaded| loaded.report.warnings.is_empty());
    assert!(!lost, "a colour that no position has is lost without a word");
}

/// `curv` starts a curve that only `end` completes: a curve that is incomplete at the end of the text is lost.
#[test]
fn a_curve_without_an_end_is_not_lost_without_a_word() {
    let text = "v 0 0 0\ncstype bspline\ndeg 1\ncurv 0 1 1 1\nparm u 0 0 1 1\n";
    let result = read_text(text, &options(1, None));
    let silent =
        result.is_ok_and(|loaded| loaded.report.warnings.is_empty() && loaded.value.meshes[0].curves.is_empty());
    assert!(!silent);
}
