//! Tests of reading and writing material libraries: files from Blender, other valid files, and malformed input.

use super::{read, write};
use polyhaul_model::error::{ErrorKind, Result, Warning};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::options::{Dialect, FormatOptions, ObjWriteOptions, SceneWriteOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Color, MapKind, Material, TextureMap};
use polyhaul_pipeline::options::ParseOptions;
use std::path::PathBuf;

/// All statements, options and line endings, and some invalid statements.
const EVERYTHING: &[u8] = b"\xef\xbb\xbf# all\r\nnewmtl  every thing \r\n\tKA 1\rKd .1 2. -3e-2 # red\n\
    Ks xyz 1 2 3\nKe spectral my curve.rfl 2\nTf spectral c.rfl\nNs 10\nNi 1.5\nd -halo 0.5\nTr .5\n\
    sharpness 60\nillum 2.0\nPr .1\nPm .2\nPs .3\nPc .4\nPcr .5\naniso .6\nanisor .7\nmap_aat ON\n\
    map_ka -blendu on -blendv off -cc on -clamp off -imfchan L -texres 512 -boost 2 -bm -1 a b.png\n\
    map_Kd -o 1 -s 2 3 -t 1 2 3 -mm .5 2 -colorspace sRGB C:\\x\\y.png\nrefl -type cube_top c.png\n\
    bump \\\r\n -bm .25 \\\n d.png\nmap_Tr -odd.png\nmap_Pc e\nmap_Pcr e\nnorm e\nmap_Ks e\nweird  x\ty\n\
    newmtl \xc3\xa9\nnewmtl \xe9\nnewmtl #2\nmap_Kd #1.png\nKd 1e-5 1e20 -0\nnewmtl end\nKd 1 2 3 \\";

fn testdata(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/obj").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_with(text: &[u8], options: &ParseOptions) -> Result<(Vec<Material>, Warnings)> {
    let mut warnings = Warnings::default();
    let materials = read(text, &"lib.mtl".into(), options, &mut warnings)?;
    Ok((materials, warnings))
}

fn written_with(materials: &[Material], options: &ObjWriteOptions) -> Vec<u8> {
    write(materials, FormatOptions { scene: &SceneWriteOptions::default(), own: options }).unwrap()
}

fn read_text(text: impl AsRef<[u8]>) -> (Vec<Material>, Warnings) {
    read_with(text.as_ref(), &ParseOptions::default()).unwrap()
}

/// Reads a text with a single material and no warnings.
fn read_one(text: impl AsRef<[u8]>) -> Material {
    let (mut materials, warnings) = read_text(text);
    assert_eq!(described(&warnings), [""; 0]);
    assert_eq!(materials.len(), 1);
    materials.remove(0)
}

fn write_text(materials: &[Material]) -> String {
    String::from_utf8(written_with(materials, &ObjWriteOptions::default())).unwrap()
}

fn describe(warning: &Warning) -> String {
    let place = &warning.diagnostic.place;
    let excerpt = warning.diagnostic.excerpt.as_ref().unwrap();
    let marked = &excerpt.text[excerpt.marked.clone()];
    format!("{}:{} {} [{marked}]", place.line.unwrap(), place.column.unwrap(), warning.code)
}

fn described(warnings: &Warnings) -> Vec<String> {
    warnings.kept().iter().map(describe).collect()
}

/// Returns the messages about `statements` of a material.
fn said_about(statements: &str) -> Vec<String> {
    described(&read_text(format!("newmtl m\n{statements}")).1)
}

fn map(kind: MapKind, keyword: &str, file: &str) -> TextureMap {
    TextureMap { kind, keyword: keyword.into(), file: file.into(), ..TextureMap::default() }
}

#[test]
fn blender_files_come_back_byte_for_byte() {
    let mut files = 0;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/obj/blender");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mtl") {
            continue;
        }
        files += 1;
        let text = std::fs::read(&path).unwrap();
        let (materials, warnings) = read_text(&text);
        assert!(warnings.is_empty(), "{}: {:?}", path.display(), described(&warnings));
        let written = write_text(&materials);
        let body = |text: &str| text.split_inclusive('\n').skip_while(|l| l.starts_with('#')).collect::<String>();
        assert_eq!(body(&written), body(str::from_utf8(&text).unwrap()), "{}", path.display());
    }
    assert!(files >= 20, "{files} files");
}

#[test]
fn own_sample_has_every_value() {
    let diffuse_map = TextureMap {
        scale: Some([1.0, 2.0, 3.0]),
        offset: Some([0.5, 0.0, 0.0]),
        base_gain: Some([0.0, 1.0]),
        clamp: Some(true),
        ..map(MapKind::Diffuse, "map_Kd", "dir with space/tiny.png")
    };
    let expected = Material {
        name: "mat one".into(),
        diffuse: Some(Color::Rgb([1.0, 0.5, 0.0])),
        ambient: Some(Color::Spectral { file: "f.rfl".into(), factor: 1.0 }),
        specular: Some(Color::Xyz([0.1, 0.2, 0.3])),
        transmission: Some(Color::Rgb([1.0; 3])),
        shininess: Some(100.0),
        opacity: Some(0.5),
        halo: true,
        illumination: Some(2),
        roughness: Some(0.1),
        metallic: Some(0.2),
        maps: vec![
            diffuse_map,
            TextureMap { bump_multiplier: Some(0.5), ..map(MapKind::Bump, "bump", "b.png") },
            map(MapKind::Displacement, "disp", "d.png"),
            TextureMap { projection: Some("sphere".into()), ..map(MapKind::Reflection, "refl", "r.png") },
            map(MapKind::Normal, "norm", "n.png"),
        ],
        ..Material::default()
    };
    let (materials, warnings) = read_text(testdata("good/own/a.mtl"));
    assert_eq!(materials, [expected]);
    // Its `d` is .5 and its `Tr` 0.25.
    assert_eq!(described(&warnings), ["8:1 conflicting-opacity [Tr]"]);
}

#[test]
fn bad_sample_has_exactly_these_warnings() {
    let (materials, warnings) = read_text(testdata("bad/generated/mtl_bad.mtl"));
    assert_eq!(materials, [Material { name: "x".into(), ..Material::default() }]);
    let expected = [
        "1:1 statement-outside-material [Kd]",
        "2:7 missing-name []",
        "5:8 duplicate-material [x]",
        "6:4 non-finite [nan]",
        "7:4 bad-number [abc]",
        "8:7 out-of-range [99999999999999]",
        "9:7 missing-file-name []",
        "10:10 missing-number []",
        "11:16 missing-file-name []",
        "12:11 bad-number [a]",
        "13:3 out-of-range [5]",
        "14:4 out-of-range [-3]",
        "14:1 conflicting-opacity [Tr]",
    ];
    assert_eq!(described(&warnings), expected);
    let path = "map_Kd ../../../../../../etc/passwd";
    assert_eq!(read_one(format!("newmtl x\n{path}")).maps[0].file, "../../../../../../etc/passwd");
}

#[test]
fn good_samples_give_no_warnings() {
    let names = [
        "assimp/concave_polygon.mtl",
        "rapidobj/mtllib/cube.mtl",
        "tinyobjloader/cornell_box.mtl",
        "tinyobjloader/issue-235.mtl",
        "tinyobjloader/leading-decimal-dot-issue-201.mtl",
        "tinyobjloader/smoothing-normal.mtl",
    ];
    for name in names {
        let (materials, warnings) = read_text(testdata(&format!("good/{name}")));
        assert_eq!(described(&warnings), [""; 0], "{name}");
        assert!(!materials.is_empty(), "{name}");
    }
}

#[test]
fn every_statement_is_read() {
    let (materials, warnings) = read_text(EVERYTHING);
    let said = [
        "28:8 unknown-option [-odd.png]",
        "33:1 unknown-statement [weird]",
        "35:8 non-utf8-name [\u{fffd}]",
        "35:8 duplicate-material [\u{fffd}]",
    ];
    assert_eq!(described(&warnings), said);
    let names: Vec<_> = materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["every thing", "\u{e9}", "#2", "end"]);
    let first = &materials[0];
    assert_eq!(first.ambient, Some(Color::Rgb([1.0; 3])));
    assert_eq!(first.diffuse, Some(Color::Rgb([0.1, 2.0, -0.03])));
    assert_eq!(first.specular, Some(Color::Xyz([1.0, 2.0, 3.0])));
    assert_eq!(first.emission, Some(Color::Spectral { file: "my curve.rfl".into(), factor: 2.0 }));
    assert_eq!(first.transmission, Some(Color::Spectral { file: "c.rfl".into(), factor: 1.0 }));
    let numbers = [first.shininess, first.refraction_index, first.opacity, first.sharpness, first.roughness];
    assert_eq!(numbers, [10.0, 1.5, 0.5, 60.0, 0.1].map(Some));
    let numbers = [first.metallic, first.sheen, first.clearcoat, first.clearcoat_roughness, first.anisotropy];
    assert_eq!(numbers, [0.2, 0.3, 0.4, 0.5, 0.6].map(Some));
    assert_eq!((first.anisotropy_rotation, first.halo), (Some(0.7), true));
    assert_eq!((first.illumination, first.texture_antialiasing), (Some(2), Some(true)));
    assert_eq!(first.other, ["weird  x\ty"]);
    assert_eq!(materials[2].maps, [map(MapKind::Diffuse, "map_Kd", "#1.png")]);
    assert_eq!(materials[3].diffuse, Some(Color::Rgb([1.0, 2.0, 3.0])));
}

#[test]
fn every_map_option_is_read() {
    let maps = read_text(EVERYTHING).0.remove(0).maps;
    let ambient = TextureMap {
        blend_u: Some(true),
        blend_v: Some(false),
        color_correction: Some(true),
        clamp: Some(false),
        channel: Some('l'),
        resolution: Some(512.0),
        boost: Some(2.0),
        bump_multiplier: Some(-1.0),
        ..map(MapKind::Ambient, "map_ka", "a b.png")
    };
    let diffuse = TextureMap {
        offset: Some([1.0, 0.0, 0.0]),
        scale: Some([2.0, 3.0, 1.0]),
        turbulence: Some([1.0, 2.0, 3.0]),
        base_gain: Some([0.5, 2.0]),
        color_space: Some("sRGB".into()),
        ..map(MapKind::Diffuse, "map_Kd", "C:\\x\\y.png")
    };
    let expected = [
        ambient,
        diffuse,
        TextureMap { projection: Some("cube_top".into()), ..map(MapKind::Reflection, "refl", "c.png") },
        TextureMap { bump_multiplier: Some(0.25), ..map(MapKind::Bump, "bump", "d.png") },
        map(MapKind::Transparency, "map_Tr", "-odd.png"),
        map(MapKind::Clearcoat, "map_Pc", "e"),
        map(MapKind::ClearcoatRoughness, "map_Pcr", "e"),
        map(MapKind::Normal, "norm", "e"),
        map(MapKind::Specular, "map_Ks", "e"),
    ];
    assert_eq!(maps, expected);
}

#[test]
fn everything_survives_a_round_trip() {
    let (materials, _) = read_text(EVERYTHING);
    let mut again = read_text(write_text(&materials)).0;
    let last = &mut again[2].diffuse;
    assert_eq!(*last, Some(Color::Rgb([1e-5, 1e20, -0.0])));
    assert_eq!(again, materials);
}

#[test]
fn d_goes_before_tr() {
    let opacity = |text: &str| read_text(format!("newmtl m\n{text}")).0[0].opacity;
    assert_eq!(opacity("Tr .25"), Some(0.75));
    assert_eq!(opacity("d .5\nTr .25"), Some(0.5));
    assert_eq!(opacity("Tr .25\nd .5"), Some(0.5));
    assert_eq!(opacity("Tr .25\nd .5\nTr 1"), Some(0.5));
    assert_eq!(said_about("d .9\nTr .1"), [""; 0]);
    assert_eq!(said_about("d 1\nTr 1"), ["3:1 conflicting-opacity [Tr]"]);
    assert_eq!(said_about("Tr 1\nd 1"), ["3:1 conflicting-opacity [d]"]);
}

#[test]
fn broken_statements_are_left_out_with_a_warning() {
    let cases = [
        ("Kd 1 2", "2:7 missing-number []"),
        ("Kd", "2:3 missing-number []"),
        ("Kd # 1", "2:7 missing-number []"),
        ("Kd 1 2 x", "2:8 bad-number [x]"),
        ("Kd 1,5 0 0", "2:4 bad-number [1,5]"),
        ("Kd 0x10 0 0", "2:4 bad-number [0x10]"),
        ("Kd 1_0 0 0", "2:4 bad-number [1_0]"),
        ("Kd infin 0 0", "2:4 bad-number [infin]"),
        ("Kd - . e", "2:4 bad-number [-]"),
        ("Kd xyz", "2:7 missing-number []"),
        ("Kd spectral", "2:12 missing-file-name []"),
        ("illum -1", "2:7 out-of-range [-1]"),
        ("illum 1.5", "2:7 out-of-range [1.5]"),
        ("illum 11", "2:7 out-of-range [11]"),
        ("map_Kd -clamp yes a.png", "2:15 bad-value [yes]"),
        ("map_Kd -clamp", "2:14 missing-value []"),
        ("map_Kd -imfchan rg a.png", "2:17 bad-value [rg]"),
        ("refl -type", "2:11 missing-value []"),
        ("map_Kd -bm a.png", "2:12 bad-number [a.png]"),
        ("map_aat", "2:8 missing-value []"),
        ("d -halo", "2:8 missing-number []"),
    ];
    for (statement, expected) in cases {
        assert_eq!(said_about(statement), [expected], "{statement}");
        let (materials, _) = read_text(format!("newmtl m\n{statement}"));
        assert_eq!(materials, [Material { name: "m".into(), ..Material::default() }], "{statement}");
    }
}

#[test]
fn unusual_statements_are_kept_with_a_warning() {
    assert_eq!(said_about("Ns 1 2 # x"), ["2:6 extra-value [2 # x]"]);
    assert_eq!(said_about("Ns 1\nns 2"), ["3:1 repeated-statement [ns]"]);
    assert_eq!(read_text("newmtl m\nNs 1\nns 2").0[0].shininess, Some(2.0));
    assert_eq!(said_about("Kd nan inf 1e999"), ["2:4 non-finite [nan]"]);
    let material = read_text("newmtl m\nNs -inf\nNi 1e999\nPr NaN").0.remove(0);
    assert_eq!(material.shininess, Some(f32::NEG_INFINITY));
    assert_eq!(material.refraction_index, Some(f32::INFINITY));
    assert!(material.roughness.is_some_and(f32::is_nan));
    assert_eq!(write_text(&[material]), "# polyhaul MTL File\n\nnewmtl m\nNs -inf\nNi inf\nPr nan\n");
}

#[test]
fn a_second_material_of_a_name_is_checked_and_left_out() {
    let (materials, warnings) = read_text("newmtl a\nNs 1\nnewmtl a\nNs 2\nNs x\nnewmtl b\nNs 3");
    let values: Vec<_> = materials.iter().map(|m| (m.name.as_str(), m.shininess)).collect();
    assert_eq!(values, [("a", Some(1.0)), ("b", Some(3.0))]);
    assert_eq!(described(&warnings), ["3:8 duplicate-material [a]", "5:4 bad-number [x]"]);
}

#[test]
fn lines_end_in_three_ways_and_continue() {
    let expected = read_one("newmtl a b\nKd 1 2 3\nNs 4\n");
    let texts = [
        "\u{feff}newmtl a b\r\nKd 1 2 3\r\nNs 4\r\n",
        "\r\rnewmtl a b\rKd 1 2 3\rNs 4",
        "  newmtl\ta b \n\tKd\t1\t2\t3\t\n# x \\\n Ns 4",
        "newmtl a b\nKd 1 \\\n2\\\r\n\\\r 3\\\n\nNs 4\\",
        "newmtl a b\nKd 1 2 3\nNs 4\\\n",
    ];
    for text in texts {
        assert_eq!(read_one(text), expected, "{text:?}");
    }
    let (_, warnings) = read_text("newmtl m\nKd 1 \\\r\n 2 \\\n  x\nNs y");
    assert_eq!(described(&warnings), ["4:3 bad-number [x]", "5:4 bad-number [y]"]);
    assert_eq!(warnings.kept()[0].diagnostic.excerpt.as_ref().unwrap().text, "  x");
    assert_eq!(warnings.kept()[1].diagnostic.place.offset, Some(29));
    assert_eq!(described(&read_text("\u{feff}Kd 1").1), ["1:1 statement-outside-material [Kd]"]);
    assert_eq!(read_text("").0, []);
}

#[test]
fn a_diagnostic_says_what_where_and_what_was_expected() {
    let (_, warnings) = read_text("newmtl m\n Ns \u{e9}\u{1}\n");
    let diagnostic = &warnings.kept()[0].diagnostic;
    let message = "lib.mtl:2:5: `\u{e9}\u{fffd}` is not a number; expected a number such as 0.5";
    assert_eq!(diagnostic.to_string(), message);
    assert_eq!(diagnostic.excerpt.as_ref().unwrap().text, " Ns \u{e9}\u{fffd}");
    let long = format!("newmtl m\nNs {0}x{0}", "\u{e9}".repeat(500));
    let (_, warnings) = read_text(long);
    let diagnostic = &warnings.kept()[0].diagnostic;
    assert!(diagnostic.message.len() < 200);
    let excerpt = diagnostic.excerpt.as_ref().unwrap();
    assert_eq!((excerpt.text.len(), excerpt.marked.clone()), (123, 3..63));
    assert!(!excerpt.text.contains('\u{fffd}'));
}

#[test]
fn strict_makes_an_error_of_the_first_warning() {
    let options = ParseOptions {
        faults: FaultPolicy { strict: true.into(), ..FaultPolicy::default() },
        ..ParseOptions::default()
    };
    let error = read_with(b"newmtl m\nNs x\nKd y", &options).unwrap_err();
    assert_eq!((error.kind(), error.place().to_string()), (ErrorKind::Malformed, "lib.mtl:2:4".into()));
}

#[test]
fn limits_are_errors_that_name_the_limit() {
    let texts = ["newmtl 12345678", "newmtl m\nmap_Kd 12345678", "newmtl m\nKd spectral 12345678 1"];
    for text in texts {
        for (name_bytes, fits) in [(7, false), (8, true), (9, true)] {
            let mut options = ParseOptions::default();
            options.limits.name_bytes = name_bytes;
            let result = read_with(text.as_bytes(), &options);
            assert_eq!(result.is_ok(), fits, "{text} {name_bytes}");
            if let Err(error) = result {
                assert_eq!(error.kind(), ErrorKind::Limit);
                assert!(error.diagnostic().hint.as_ref().unwrap().contains("limit `name_bytes`"));
            }
        }
    }
    for (line_bytes, fits) in [(9, false), (10, true), (11, true)] {
        let mut options = ParseOptions::default();
        options.limits.line_bytes = line_bytes;
        let result = read_with(b"newmtl m\r\nKd 1 \\\n 2 \r\n", &options);
        assert_eq!(result.is_ok(), fits, "{line_bytes}");
        if let Err(error) = result {
            assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(2)));
            assert!(error.diagnostic().hint.as_ref().unwrap().contains("limit `line_bytes`"));
        }
    }
}

#[test]
fn writing_leaves_out_what_was_not_asked_for() {
    let text = "newmtl m\nPr 1\naniso 1\nTf 1\nmap_Kd a\nmap_Pr b\nnorm c\nweird";
    let materials = read_text(text).0;
    let options = ObjWriteOptions::default().with_pbr_extensions(false);
    let written = String::from_utf8(written_with(&materials, &options)).unwrap();
    let body = "newmtl m\nTf 1.000000 1.000000 1.000000\nmap_Kd a\nweird\n";
    assert_eq!(written, format!("# polyhaul MTL File\n\n{body}"));
    let missing = Material { name: "m".into(), missing: true, ..Material::default() };
    assert_eq!(write_text(&[missing]), "# polyhaul MTL File\n");
}

#[test]
fn names_from_elsewhere_do_not_break_the_text() {
    let material = Material {
        name: "two\nlines\\".into(),
        maps: vec![map(MapKind::Bump, "", "a\\"), map(MapKind::Bump, "", "")],
        other: vec!["x\ry".into()],
        ..Material::default()
    };
    let written = write_text(&[material]);
    assert_eq!(written, "# polyhaul MTL File\n\nnewmtl two_lines\\ \nmap_Bump a\\ \nx_y\n");
    let again = read_text(&written).0;
    assert_eq!((again[0].name.as_str(), again[0].maps[0].file.as_str()), ("two_lines\\", "a\\"));
}

#[test]
fn map_options_keep_their_values_and_the_digits_of_cpp() {
    let line = "map_Bump -o 1e-05 0.0001 1e+20 -s 0.1 100000 -1.5 -bm 0.300000 t.png";
    let written = write_text(&[read_one(format!("newmtl m\n{line}"))]);
    assert!(written.ends_with(&format!("\n{line}\n")), "{written}");
    let tiny = read_one("newmtl m\nbump -bm 1e-9 -mm 0.1234567 3 t.png");
    assert_eq!(read_one(write_text(std::slice::from_ref(&tiny))), tiny);
}

/// Reads a library, and checks that the result survives writing and reading.
fn survives(text: &[u8]) {
    let written = write_text(&read_text(text).0);
    let again = write_text(&read_text(&written).0);
    assert_eq!(written, again, "{:?}", String::from_utf8_lossy(text));
}

fn samples() -> [Vec<u8>; 4] {
    let pbr = testdata("blender/opt_pbr_extensions.mtl")[..330].to_vec();
    [testdata("good/own/a.mtl"), testdata("bad/generated/mtl_bad.mtl"), pbr, EVERYTHING.to_vec()]
}

#[test]
fn one_changed_byte_never_breaks_it() {
    for sample in samples() {
        let mut text = sample.clone();
        for (i, &byte) in sample.iter().enumerate() {
            let up = byte.wrapping_add(1);
            let down = byte.wrapping_sub(1);
            for changed in [0x00, 0x7f, 0x80, 0xff, up, down, b'\n', b'-', b'9'] {
                text[i] = changed;
                survives(&text);
            }
            text[i] = byte;
        }
    }
}

#[test]
fn every_prefix_is_a_library() {
    for sample in samples() {
        let mut materials = 0;
        for end in 0..=sample.len() {
            survives(&sample[..end]);
            let count = read_text(&sample[..end]).0.len();
            // A truncated name may equal another name, so a prefix can temporarily have one fewer material.
            assert!(count + 1 >= materials, "{materials} materials, then {count}");
            materials = count;
        }
    }
}

#[test]
fn small_numbers_become_0_only_in_the_dialect_of_blender() {
    let written = |shininess: f32, dialect: Dialect| {
        let material = Material { shininess: Some(shininess), ..Material::default() };
        let scene = SceneWriteOptions::default().with_dialect(dialect);
        let library = write(&[material], FormatOptions { scene: &scene, own: &ObjWriteOptions::default() }).unwrap();
        String::from_utf8(library).unwrap()
    };
    for (value, text) in [(1e-7, "1e-07"), (-4e-7, "-4e-07"), (5e-7, "5e-07"), (6e-7, "0.000001"), (0.25, "0.250000")] {
        let library = written(value, Dialect::Common);
        assert!(library.contains(&format!("Ns {text}\n")), "{library}");
        let library = written(value, Dialect::Blender);
        assert!(library.contains(&format!("Ns {value:.6}\n")), "{library}");
    }
}

/// Quadratic time for any of these would take hours.
#[test]
fn work_is_linear() {
    let repeated = |start: &str, part: &str| format!("newmtl m\n{start}{}", part.repeat((1 << 19) / part.len()));
    let texts = [
        repeated("map_Kd ", "-clamp on "),
        repeated("map_Kd -type \u{1}\u{80}", " -type \u{80}"),
        repeated("Kd ", "1 "),
        repeated("Kd ", "1 \\\n"),
        repeated("Kd ", "1\\\nx"),
        repeated("Ns ", "9"),
        repeated("", "newmtl m\n"),
        repeated("", "\r"),
        repeated("", " "),
        repeated("x ", "\\\n"),
        repeated("Ka spectral ", "\u{80} "),
        repeated("", "x\n"),
        repeated("", "Ns 1\n"),
        repeated("# ", "\\\n#"),
    ];
    for text in texts {
        let mut bytes = text.into_bytes();
        // This makes some of the texts invalid UTF-8.
        bytes.iter_mut().filter(|byte| **byte == 0xc2).for_each(|byte| *byte = 0xff);
        let mut options = ParseOptions::default();
        options.limits.name_bytes = u64::MAX;
        assert!(read_with(&bytes, &options).is_ok());
    }
}
