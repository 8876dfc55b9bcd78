//! Double-precision coordinates in each format, and the warnings about them.

use crate::precise::samples::{self, TEXTS, converted, points, positions, to};
use crate::support::{memory, read_options, try_converted, try_written};
use polyhaul::options::{Digits, OptionGroup, Origin, Precision};
use polyhaul::{ErrorKind, Format, ReadOptions, Reader, WriteOptions};

/// Formats that store doubles or text.
const DOUBLES: [Format; 9] = [
    Format::Obj,
    Format::Ply,
    Format::Off,
    Format::Csv,
    Format::Tsv,
    Format::Txt,
    Format::Xyz,
    Format::Pts,
    Format::Npy,
];
/// Half the spacing of 32-bit floats at the sample's coordinates.
const HALF_STEP: f64 = 0.25;

/// The points in one of the axis conventions of formats.
fn turned(turn: usize) -> Vec<[f64; 3]> {
    let point = |[x, y, z]: [f64; 3]| [[x, y, z], [x, -z, y], [x, z, -y]][turn];
    points().into_iter().map(point).collect()
}

/// Maximum distance from the sample's positions, for any axes.
fn error(positions: &[[f64; 3]], origin: [f64; 3]) -> f64 {
    let moved: Vec<[f64; 3]> =
        positions.iter().map(|position| [0, 1, 2].map(|axis| position[axis] + origin[axis])).collect();
    (0..3).map(|turn| samples::error(&moved, &turned(turn))).fold(f64::MAX, f64::min)
}

#[test]
fn text_and_doubles_keep_every_bit() {
    for (name, text) in TEXTS {
        for format in DOUBLES {
            if name == "a.stl" && format == Format::Npy {
                continue;
            }
            let (scene, report) = converted(text(&points()), name, &to(format));
            assert_eq!(error(&positions(&scene), [0.0; 3]), 0.0, "{name} to {}", format.name());
            assert!(!report.warnings.counts().contains_key("rounded"), "{name} to {}", format.name());
        }
    }
    let (scene, _) = converted(samples::obj(&points()), "a.obj", &ascii(Format::Stl));
    assert_eq!(error(&positions(&scene), [0.0; 3]), 0.0);
    let (scene, _) = converted(samples::obj(&points()), "a.obj", &ascii(Format::Ply));
    assert_eq!(error(&positions(&scene), [0.0; 3]), 0.0);
}

fn ascii(format: Format) -> WriteOptions {
    let mut options = to(format);
    options.set("ascii", "true").unwrap();
    options
}

#[test]
fn digits_are_those_asked_for() {
    let mut options = to(Format::Obj);
    options.scene.digits = Some(Digits::Fixed(2));
    let (bytes, _) =
        try_converted(memory(samples::obj(&points()), "a.obj"), &ReadOptions::default(), &options).unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("v 454123.12 5411234.46 100.50\n"));
}

/// Formats with an offset keep local coordinates exact; others report the loss and the remedy.
#[test]
fn formats_of_floats_have_an_origin_or_warn() {
    for (format, has_place) in [(Format::Stl, false), (Format::Glb, true), (Format::Pbrt, true)] {
        for (name, text) in TEXTS {
            let is_cloud = name.ends_with("csv") || name.ends_with("xyz");
            if is_cloud && format != Format::Glb {
                continue;
            }
            let text = text(&points());
            let (scene, report) = converted(&text, name, &to(format));
            let placed = positions(&placed(scene));
            let rounded = report.warnings.counts().get("rounded").copied().unwrap_or(0);
            assert!(rounded > 0, "{name} to {}", format.name());
            let message = &report.warnings.kept()[0].diagnostic;
            if has_place {
                assert!(error(&placed, [0.0; 3]) < 1e-6, "{name} to {}: {message:?}", format.name());
            } else {
                let error = error(&placed, [0.0; 3]);
                assert!(error > HALF_STEP / 2.0 && error <= HALF_STEP, "{name} to {}: {error}", format.name());
                let hint = message.hint.as_deref().unwrap();
                assert!(hint.contains("`--origin`"), "{hint}");
            }
            let strict = to(format).with_strict(true);
            let result = try_converted(memory(&text, name), &ReadOptions::default(), &strict);
            assert_eq!(
                result.err().map(|error| error.kind()),
                (!has_place).then_some(ErrorKind::Unsupported),
                "{name} to {}",
                format.name()
            );
        }
    }
}

/// Applies all transforms of a scene.
fn placed(scene: polyhaul::model::Scene) -> polyhaul::model::Scene {
    let (bytes, _) = try_written(&scene, &to(Format::Ply)).unwrap();
    Reader::new(memory(bytes, "placed.ply")).scene().unwrap().value
}

#[test]
fn an_origin_is_subtracted_or_stored() {
    // Floats cannot store this origin, so it is subtracted before coordinates are rounded.
    let origin = [454_123.2, 5_411_234.7, 0.1];
    for format in DOUBLES.into_iter().chain([Format::Stl]) {
        let mut options = to(format);
        options.scene.origin = Origin::At(origin);
        let (scene, report) = converted(samples::obj(&points()), "a.obj", &options);
        let positions = positions(&scene);
        let largest = positions.iter().flatten().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        assert!(largest < 110.0, "{}: {largest}", format.name());
        // The origin is converted to the file's axes, too.
        let turned = [origin, [origin[0], -origin[2], origin[1]]];
        let error = turned.into_iter().map(|origin| error(&positions, origin)).fold(f64::MAX, f64::min);
        assert!(error < 4e-6, "{}: {error} {:?}", format.name(), report.warnings);
    }
    for format in [Format::Glb, Format::Pbrt] {
        for origin in [Origin::At(origin), Origin::None] {
            let mut options = to(format);
            options.scene.origin = origin;
            let (scene, report) = converted(samples::obj(&points()), "a.obj", &options);
            let error = error(&positions(&placed(scene)), [0.0; 3]);
            let is_right = if origin == Origin::None { (1e-3..=HALF_STEP).contains(&error) } else { error <= 4e-6 };
            assert!(is_right, "{}: {error}", format.name());
            assert!(report.warnings.counts()["rounded"] > 0);
        }
    }
}

/// `diff` finds a change of the last digit.
#[test]
fn a_last_digit_is_a_difference() {
    for (name, text) in TEXTS {
        let text = text(&points());
        let changed = text.replacen("5411264.846", "5411264.847", 1);
        assert_ne!(text, changed, "{name}");
        let compare = |other: &str| {
            polyhaul::diff(memory(&text, name), memory(other, name), &read_options(1, None), 0.0).unwrap().differences
        };
        assert!(compare(&text).is_empty(), "{name}");
        let differences = compare(&changed);
        let largest = differences[0].largest.unwrap();
        assert!((largest - 0.001).abs() < 1e-8, "{name}: {differences:?}");
    }
    // A file of doubles is compared with all digits of a text, even if its coordinates are ordinary.
    let points: Vec<[f64; 3]> = (0..40).map(|at| [1.0 / f64::from(at + 3), 0.1, 0.2 * f64::from(at)]).collect();
    let compared = polyhaul::diff(
        memory(samples::ply(&points), "a.ply"),
        memory(samples::obj(&points), "a.obj"),
        &ReadOptions::default(),
        0.0,
    );
    assert!(compared.unwrap().is_equal());
}

/// A file written with all digits is read and written unchanged.
#[test]
fn a_second_pass_changes_nothing() {
    for (name, text) in TEXTS {
        for format in DOUBLES {
            if name == "a.stl" && format == Format::Npy {
                continue;
            }
            let once = try_converted(memory(text(&points()), name), &read_options(1, None), &to(format)).unwrap().0;
            let name = format!("b.{}", format.name());
            let twice = try_converted(memory(&once, &name), &read_options(3, 100), &to(format)).unwrap().0;
            assert!(once == twice, "{name}");
        }
    }
}

/// Single precision on request.
#[test]
fn single_precision_rounds_and_says_so() {
    let read = ReadOptions::default().with_precision(Precision::Single);
    let (bytes, report) = try_converted(memory(samples::obj(&points()), "a.obj"), &read, &to(Format::Obj)).unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("v 454123.125000 5411234.500000 100.500000\n"));
    let diagnostic = &report.warnings.kept()[0].diagnostic;
    assert!(diagnostic.message.contains("were rounded to 32-bit floats, by up to 0.2"), "{}", diagnostic.message);
    assert_eq!(diagnostic.hint.as_deref(), Some("use `--precision auto` or `--precision double`"));
}
