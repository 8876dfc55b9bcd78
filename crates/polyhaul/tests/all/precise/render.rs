//! Points in renderer scenes: each list has doubles if it needs them, for any chunks.

use crate::precise::samples::{self, converted, error, points, positions, to};
use crate::support::{memory, read_options, try_converted};
use polyhaul::model::Scene;
use polyhaul::model::render::Parameter;
use polyhaul::options::{OptionGroup, PbrtMeshes, Precision};
use polyhaul::{ErrorKind, Format, ReadOptions, Reader, Writer};
use polyhaul_testkit::corpus::Folder;

/// The sample's points as a mesh of a scene; its uvs have more digits than 32-bit floats can store.
fn pbrt(points: &[[f64; 3]]) -> String {
    let triangles: String = (1..points.len() - 1).map(|at| format!("0 {at} {} ", at + 1)).collect();
    let uvs = "0.123456789 0.1234567890123456 ".repeat(points.len());
    let points: String = points.iter().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    format!(
        "WorldBegin\nShape \"trianglemesh\" \"integer indices\" [ {triangles}] \"point2 uv\" [{uvs}]\n\
         \"point3 P\" [\n{points}]\nShape \"trianglemesh\" \"point3 P\" [0 0 0  .1 0 0  0 .1 0]\n"
    )
}

fn read(text: &str, options: &ReadOptions) -> Scene {
    Reader::new(memory(text, "a.pbrt")).options(options).scene().unwrap().value
}

/// The points of the shape at `index`.
fn of_shape(scene: &Scene, index: usize) -> Parameter<'_> {
    scene.render.as_deref().unwrap().shape(index).unwrap().parameters().get("P").unwrap()
}

/// Many points, the last of which needs doubles.
fn long(last: &str) -> String {
    let points: String = (0..40_000).map(|at| format!("{}.25 {at}.5 -{at}\n", at % 97)).collect();
    format!("WorldBegin\nShape \"trianglemesh\" \"point3 P\" [\n{points}# a comment\n{last} ]\n")
}

#[test]
fn every_bit_reaches_other_formats_and_the_same() {
    let text = pbrt(&points());
    for format in [Format::Obj, Format::Ply, Format::Off] {
        let (scene, report) = converted(&text, "a.pbrt", &to(format));
        assert_eq!(error(&positions(&scene), &points()), 0.0, "{}", format.name());
        assert!(!report.warnings.counts().contains_key("rounded"), "{}", format.name());
    }
    let (bytes, report) = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &to(Format::Pbrt)).unwrap();
    let written = String::from_utf8(bytes).unwrap();
    assert!(written.contains("454123.125 5411234.456 100.5 "), "{written}");
    assert!(!report.warnings.counts().contains_key("rounded"));
    let again = read(&written, &ReadOptions::default());
    let exact: Vec<f64> = points().into_iter().flatten().collect();
    assert_eq!(of_shape(&again, 0).exact, exact);
    assert!(of_shape(&again, 1).exact.is_empty(), "a list that needs no doubles has none");
    assert!(again.render.as_deref().unwrap() == read(&text, &ReadOptions::default()).render.as_deref().unwrap());
}

#[test]
fn numbers_parsed_in_advance_have_doubles_as_well() {
    for (last, is_exact) in [
        ("5411234.456 0 0", true),
        ("0 0 16777217", true),
        ("5411234.5 0 1.5", false),
        ("0 0.1234567890123456 0", false),
        ("1e-3 2E0 .5", false),
    ] {
        let text = long(last);
        let expected: Vec<f64> = last.split(' ').map(|number| number.parse().unwrap()).collect();
        for (threads, chunk_bytes) in [(1, None), (2, None), (2, Some(1 << 16)), (3, Some(997))] {
            let mut options = read_options(threads, chunk_bytes);
            options.precision = Precision::Auto;
            let scene = read(&text, &options);
            let points = of_shape(&scene, 0);
            assert_eq!(points.values.len(), 120_003);
            assert_eq!(!points.exact.is_empty(), is_exact, "{last}, {threads} threads, {chunk_bytes:?}");
            let Some(exact) = points.exact.last_chunk::<3>() else { continue };
            assert_eq!(exact[..], expected, "{last}");
            assert_eq!(points.exact[..3], [0.25, 0.5, 0.0]);
        }
    }
}

#[test]
fn what_rounding_costs_is_counted_for_points_alone() {
    let text = pbrt(&points());
    let numbers: Vec<f64> = points().into_iter().flatten().collect();
    let moved = |value: f64| (value - f64::from(value as f32)).abs();
    let largest = numbers.iter().copied().map(moved).fold(0.0, f64::max);
    let is_lost = |value: &&f64| {
        let places = value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        moved(**value) > 0.501 * 0.1f64.powi(places as i32)
    };
    for threads in [1, 2] {
        let options = read_options(threads, None).with_precision(Precision::Single);
        let scene = Reader::new(memory(&text, "a.pbrt")).options(&options).scene().unwrap();
        assert!(of_shape(&scene.value, 0).exact.is_empty());
        let rounded = scene.report.warnings.counts()["rounded"];
        assert_eq!(rounded, numbers.iter().filter(is_lost).count() as u64);
        let message = &scene.report.warnings.kept()[0].diagnostic.message;
        assert!(message.contains(&format!("by up to {largest:.3}")), "{message}");
        let strict = options.with_strict(true);
        let error = Reader::new(memory(&text, "a.pbrt")).options(&strict).scene().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn long_numbers_near_the_origin_stay_floats_with_a_note() {
    let text = "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0  0.1234567890123456 0 0  0 .1 0]\n";
    let scene = Reader::new(memory(text, "a.pbrt")).scene().unwrap();
    assert!(of_shape(&scene.value, 0).exact.is_empty());
    assert_eq!(scene.report.warnings.counts()["rounded"], 1);
    let double = read(text, &ReadOptions::default().with_precision(Precision::Double));
    assert_eq!(of_shape(&double, 0).exact[3..6], [0.123_456_789_012_345_6, 0.0, 0.0]);
    assert_eq!(of_shape(&double, 0).exact[7], 0.1);
}

#[test]
fn a_broken_directive_counts_nothing() {
    let text = "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [5411234.456 0 0] \"foo bar\" 7\nShape \"sphere\"\n";
    let options =
        ReadOptions::default().with_precision(Precision::Single).with_on_error(polyhaul::options::OnError::Warn);
    let scene = Reader::new(memory(text, "a.pbrt")).options(&options).scene().unwrap();
    assert!(!scene.report.warnings.counts().contains_key("rounded"));
}

/// Doubles of a list become doubles of a mesh file.
#[test]
fn meshes_are_moved_to_files_with_doubles() {
    let folder = Folder::new("render-moved").unwrap();
    let mut options = to(Format::Pbrt);
    options.pbrt.meshes = PbrtMeshes::Ply { vertices: 1 };
    let output = Writer::new(folder.join("b.pbrt")).options(&options);
    Reader::new(memory(pbrt(&points()), "a.pbrt")).convert(output).unwrap();
    let scene = Reader::new(folder.join("b-mesh-1.ply")).scene().unwrap().value;
    assert_eq!(error(&positions(&scene), &points()), 0.0);
}

/// Doubles of a mesh file become doubles of a list.
#[test]
fn meshes_in_files_are_inlined_with_doubles() {
    let folder = Folder::new("render-exact").unwrap();
    folder.file("a.ply", samples::ply(&points())).unwrap();
    // Arrays of the shape itself, which pbrt does not allow, do not hide those of the file.
    let text = "WorldBegin\nShape \"plymesh\" \"string filename\" \"a.ply\" \"integer indices\" [1 2 3]\n";
    let scene = folder.file("a.pbrt", text).unwrap();
    let mut options = to(Format::Pbrt);
    options.set("meshes", "inline").unwrap();
    Reader::new(scene).convert(Writer::new(folder.join("b.pbrt")).options(&options)).unwrap();
    let written = folder.text("b.pbrt");
    assert!(written.contains("454123.125 5411234.456 100.5 "), "{written}");
    assert_eq!(written.matches("integer indices").count(), 1, "{written}");
}
