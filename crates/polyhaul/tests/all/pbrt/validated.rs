//! Validation finds faults that make a renderer or a conversion stop: undefined names, and invalid meshes.

use crate::support::{memory, try_converted};
use polyhaul::inspect::validate;
use polyhaul::options::{OnError, RunOptions};
use polyhaul::severity::Severity;
use polyhaul::{ErrorKind, Format, ReadOptions, WriteOptions};
use polyhaul_testkit::corpus::samples;

/// Kinds and locations of the faults that validation finds.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let validation = validate(memory(text, "a.pbrt"), &ReadOptions::default()).unwrap();
    let warnings = &validation.report.warnings;
    assert_eq!(validation.valid, warnings.total_of(Severity::Fault) == 0, "{text}");
    warnings.kept().iter().map(|warning| (warning.code, warning.diagnostic.place.to_string())).collect()
}

#[test]
fn names_that_do_not_exist_are_found() {
    let cases = [
        ("Material \"difuse\"", "unknown-class", 1),
        ("LightSource \"pont\"", "unknown-class", 1),
        ("MakeNamedMaterial \"a\" \"string type\" \"glas\"", "unknown-class", 1),
        ("Texture \"t\" \"float\" \"chekerboard\"", "unknown-class", 1),
        ("Shape \"sphere\" \"float radious\" 2", "unknown-parameter", 1),
        ("LightSource \"point\" \"rgb J\" [1 1 1]", "unknown-parameter", 1),
        ("NamedMaterial \"nowhere\"", "undefined-material", 1),
        ("Material \"diffuse\" \"texture reflectance\" \"nowhere\"", "undefined-texture", 1),
        ("MediumInterface \"nowhere\" \"\"", "undefined-medium", 1),
        ("Material \"mix\" \"string materials\" [\"nowhere\" \"nowhere\"]", "undefined-material", 1),
        ("MakeNamedMaterial \"a\" \"rgb reflectance\" [1 0 0]", "missing-parameter", 1),
        ("MakeNamedMedium \"a\" \"float scale\" 2", "missing-parameter", 1),
        ("ObjectInstance \"nowhere\"", "missing-object", 1),
    ];
    for (directive, code, column) in cases {
        let place = format!("a.pbrt:2:{column}");
        let listed = found(&format!("WorldBegin\n{directive}\n"));
        assert_eq!(listed, [(code, place)], "{directive}");
        // Reading keeps content that it does not need.
        let read = polyhaul::Reader::new(memory(format!("WorldBegin\n{directive}\n"), "a.pbrt")).scene();
        assert_eq!(read.is_err(), code == "missing-object", "{directive}");
    }
}

#[test]
fn meshes_that_cannot_be_drawn_are_found() {
    let mesh = |more: &str| format!("WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] {more}\n");
    let cases = [
        ("\"integer indices\" [0 1 3]", "index-out-of-range", "2:76"),
        ("\"integer indices\" [0\t1 -1 7]", "index-out-of-range", "2:76"),
        ("\n # 9 9\n\"integer  indices\" [ 0 # 9\n\n 17 1]", "index-out-of-range", "6:2"),
        ("\"integer level\" 7 \"integer indices\" [4]", "index-out-of-range", "2:90"),
        ("\"integer indices\" [0 1 2 0]", "wrong-count", "2:78"),
        ("\"integer indices\" [0 1 2\n2\n 0]", "wrong-count", "3:1"),
        ("\"integer indices\" 2", "wrong-count", "2:71"),
        ("\"normal N\" [0 0 1]", "wrong-count", "2:1"),
        ("\"point2 uv\" [0 0]", "wrong-count", "2:1"),
    ];
    for (more, code, place) in cases {
        let listed = found(&mesh(more));
        let listed: Vec<_> = listed.iter().filter(|(code, _)| *code != "unknown-parameter").collect();
        assert_eq!(listed, [&(code, format!("a.pbrt:{place}"))], "{more}");
    }
    assert_eq!(found("WorldBegin\nShape \"trianglemesh\"\n"), [("missing-parameter", "a.pbrt:2:1".to_owned())]);
    assert!(found(&mesh("\"integer indices\" [0 1 2]")).is_empty() && found(&mesh("")).is_empty());
}

/// Valid scenes of the test data have no unknown classes or parameters.
#[test]
fn good_scenes_have_known_names() {
    for sample in samples("pbrt/good", "pbrt") {
        let options = ReadOptions::default().with_allow_outside(true);
        let Ok(validation) = validate(sample.path.as_path(), &options) else { continue };
        let counts = validation.report.warnings.counts();
        let unknown = ["unknown-class", "unknown-parameter"].map(|code| counts.get(code).copied().unwrap_or(0));
        assert_eq!(unknown, [0; 2], "{}: {:?}", sample.name, validation.report.warnings.kept());
    }
}

/// A conversion to meshes also reports the location, and can continue without the shape.
#[test]
fn a_conversion_places_an_index_that_is_out_of_range() {
    let good = "Shape \"trianglemesh\" \"point3 P\" [0 0 0  1 0 0  0 1 0] \"integer indices\" [0 1 2]\n";
    for index in ["3", "-1", "2147483647"] {
        let text = format!(
            "WorldBegin\n{good}  Shape \"bilinearmesh\" \"integer indices\" [0 1 2 {index}]\n \
             \"point3 P\" [0 0 0  1 0 0  0 1 0]\n{good}"
        );
        let options = WriteOptions::default().with_format(Some(Format::Obj));
        let error = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        let place = &error.diagnostic().place;
        assert_eq!((&*place.file, place.line, place.column), ("a.pbrt", Some(3), Some(49)));
        assert!(error.to_string().contains(&format!("the index {index} of this `bilinearmesh`")), "{error}");
        let lenient = ReadOptions::default().with_on_error(OnError::Warn);
        let (bytes, report) = try_converted(memory(&text, "a.pbrt"), &lenient, &options).unwrap();
        assert_eq!(report.warnings.counts()["index-out-of-range"], 1);
        assert_eq!(String::from_utf8(bytes).unwrap().matches("\nf ").count(), 2);
        // A scene keeps its parameters.
        let scene = WriteOptions::default().with_format(Some(Format::Pbrt));
        try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &scene).unwrap();
    }
}

/// As in pbrt, the last of several parameters with one name is used, by validation and by conversions.
#[test]
fn repeated_parameters_are_used_as_the_warning_says() {
    let mesh = |indices: &str| {
        format!(
            "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0  1 0 0  0 1 0] \
             \"point3 P\" [7 0 0  8 0 0  7 1 0]\n{indices}\n"
        )
    };
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    let text = mesh("\"integer indices\" [7 8 9] \"integer indices\" [0 1 2]");
    let (bytes, report) = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options).unwrap();
    let obj = String::from_utf8(bytes).unwrap();
    assert!(obj.contains("\nv 7.0") && !obj.contains("\nv 0.0") && obj.contains("\nf "), "{obj}");
    assert_eq!(report.warnings.counts()["repeated-parameter"], 1);
    let text = mesh("\"integer indices\" [0 1 2] \"integer indices\" [0 1 9]");
    let error = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options).unwrap_err();
    assert_eq!((error.kind(), error.diagnostic().place.to_string()), (ErrorKind::Malformed, "a.pbrt:3:50".into()));
}

#[test]
fn excess_indices_are_a_warning_with_their_place() {
    for (class, indices) in [("trianglemesh", "0 1 2 0"), ("trianglemesh", "0 1 2 0 1"), ("bilinearmesh", "0 1 2 0 1")]
    {
        let text = format!(
            "WorldBegin\n Shape \"{class}\" \"integer indices\" [{indices}] \"point3 P\" [0 0 0 1 0 0 0 1 0]\n"
        );
        let options = WriteOptions::default().with_format(Some(Format::Obj));
        let (bytes, report) = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap().matches("\nf ").count(), 1);
        let warning = &report.warnings.kept()[0];
        assert_eq!((warning.code, warning.diagnostic.place.line), ("wrong-count", Some(2)), "{text}");
        let column = text.lines().nth(1).unwrap().find("0 1 2 ").unwrap() + 7;
        let column = if class == "bilinearmesh" { column + 2 } else { column };
        assert_eq!(found(&text), [("wrong-count", format!("a.pbrt:2:{column}"))]);
    }
}

/// The numbers of long lists are parsed in advance, without keeping their text.
#[test]
fn an_index_in_a_long_list_has_its_place() {
    let indices: String = (0..30_000).map(|at| if at == 29_000 { "70000\n" } else { "0 1 2\n" }).collect();
    let text = format!(
        "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [\n{indices}]\n"
    );
    for threads in [1, 4] {
        for chunk in [None, Some(1 << 16)] {
            let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk);
            let options = ReadOptions::default().with_run(run);
            let validation = validate(memory(&text, "a.pbrt"), &options).unwrap();
            let warnings = validation.report.warnings.kept();
            assert_eq!(warnings[0].code, "index-out-of-range");
            assert_eq!(warnings[0].diagnostic.place.to_string(), "a.pbrt:29003:1", "{threads} {chunk:?}");
        }
    }
}

/// pbrt skips such shapes; without indices, only the points of a single triangle or patch are a mesh.
#[test]
fn meshes_without_points_or_indices_are_no_meshes() {
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    let six = "\"point3 P\" [0 0 0 1 0 0 0 1 0 0 0 1 1 0 1 0 1 1]";
    let four = "\"point3 P\" [0 0 0 1 0 0 0 1 0 1 1 0]";
    let three = "\"point3 P\" [0 0 0 1 0 0 0 1 0]";
    for (class, parameters, is_mesh) in [
        ("trianglemesh", three, true),
        ("bilinearmesh", four, true),
        ("trianglemesh", six, false),
        ("trianglemesh", four, false),
        ("bilinearmesh", three, false),
        ("loopsubdiv", six, false),
        ("trianglemesh", "\"integer indices\" [0 1 2]", false),
        ("trianglemesh", "", false),
    ] {
        let text = format!("WorldBegin\nShape \"{class}\" {parameters}\nShape \"trianglemesh\" {three}\n");
        let converted = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options);
        assert_eq!(converted.is_ok(), is_mesh, "{text}");
        let lenient = ReadOptions::default().with_on_error(OnError::Warn);
        let (bytes, _) = try_converted(memory(&text, "a.pbrt"), &lenient, &options).unwrap();
        let faces = String::from_utf8(bytes).unwrap().matches("\nf ").count();
        assert_eq!((faces, found(&text).is_empty()), (1 + usize::from(is_mesh), is_mesh), "{text}");
    }
}

#[test]
fn an_empty_file_name_is_named_as_such() {
    let text = "WorldBegin\nShape \"plymesh\" \"string filename\" \"\"\n";
    let validation = validate(memory(text, "a.pbrt"), &ReadOptions::default()).unwrap();
    let warnings = validation.report.warnings.kept();
    let is_named = warnings.iter().any(|warning| warning.diagnostic.message.contains("file name is empty"));
    assert!(is_named, "{warnings:?}");
}

/// MTL has no equivalent of many materials and of spectra.
#[test]
fn properties_of_materials_that_meshes_cannot_have_are_counted() {
    let shape = "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0]\n";
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    for (material, expected) in [
        ("\"diffuse\" \"rgb reflectance\" [1 0 0]", &[][..]),
        ("\"diffuse\" \"spectrum reflectance\" [400 .1 700 .9]", &["`spectrum reflectance`"]),
        ("\"diffuse\" \"blackbody reflectance\" 5000", &["`blackbody reflectance`"]),
        ("\"dielectric\" \"float eta\" 1.3", &[]),
        ("\"dielectric\" \"spectrum eta\" \"glass-BK7\"", &["`spectrum eta`"]),
        (
            "\"conductor\" \"spectrum eta\" \"metal-Au-eta\" \"spectrum k\" \"metal-Au-k\"",
            &["`spectrum eta`", "`spectrum k`"],
        ),
        ("\"conductor\" \"float uroughness\" .1 \"bool remaproughness\" false", &["`float uroughness`"]),
        ("\"mix\" \"string materials\" [\"a\" \"b\"] \"float amount\" .5", &["a `mix` material"]),
        ("\"hair\" \"float eumelanin\" .3", &["`float eumelanin`", "a `hair` material"]),
        ("\"interface\"", &["the invisible material `interface`"]),
        (
            "\"diffuse\" ColorSpace \"rec2020\" Material \"diffuse\" \"rgb reflectance\" [1 0 0]",
            &["color space `rec2020`"],
        ),
        ("\"diffuse\" Attribute \"shape\" \"float alpha\" .5", &["`float alpha` of `Attribute \"shape\"`"]),
        ("\"diffuse\" Attribute \"light\" \"float scale\" 2", &[]),
    ] {
        let text = format!("WorldBegin\nMaterial {material}\n{shape}{shape}");
        let (_, report) = try_converted(memory(&text, "a.pbrt"), &ReadOptions::default(), &options).unwrap();
        let warnings = report.warnings.kept().iter();
        let losses = warnings.filter(|warning| warning.code == "left-out-material-properties");
        let described: Vec<_> = losses.map(|warning| &*warning.diagnostic.message).collect();
        let of = |what: &&str| format!("dropped 1 property of a material ({what}), which MTL cannot express");
        assert_eq!(described, expected.iter().map(of).collect::<Vec<_>>(), "{material}");
    }
}
