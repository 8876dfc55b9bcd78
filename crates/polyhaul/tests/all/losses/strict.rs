//! With `strict`, every loss of writing is an error; with `all`, every note is, too. The error comes before the first
//! byte is written, and preserves an existing file.

use crate::support::{memory, try_converted, try_written};
use polyhaul::model::{Array, Channels, Column, Domain, Image, Samples, Scene, Table, Values, VertexGroup};
use polyhaul::options::{Digits, KindSet, OptionValue, PbrtMeshes, RunOptions, Smoothing, Strict};
use polyhaul::severity::Severity;
use polyhaul::{Error, ErrorKind, Format, Input, Output, ReadOptions, Report, WriteOptions};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::output::Shared;
use std::collections::BTreeMap;

/// Faces with materials, groups, smoothing, uvs; lines; two named objects.
const OBJ: &str = "mtllib a.mtl\no one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\ng wall\ns 1\nusemtl brick\nf 1/1 2/1 3/1\n\
    o two\nl 1 2\n";
const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
    property float weight\nelement camera 1\nproperty double view_px\nend_header\n1 2 3 4\n5\n";
const PBRT: &str = "WorldBegin LightSource \"point\" Shape \"sphere\"\n";

fn options(format: Format, strict: impl Into<Strict>, threads: usize) -> (ReadOptions, WriteOptions) {
    let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(7));
    let resolve = |name: &str| Ok(Some(Input::Memory(b"newmtl brick\nKd 1 0 0\n".to_vec(), name.into())));
    let resolver = Some(polyhaul::options::Resolve(std::sync::Arc::new(resolve)));
    let read = ReadOptions::default().with_run(run.clone()).with_resolver(resolver);
    (read, WriteOptions::default().with_format(Some(format)).with_run(run).with_strict(strict))
}

/// The error of a strict conversion, and the warnings of a lenient one.
fn both(text: &str, name: &str, format: Format, strict: Strict) -> (Error, Report) {
    let mut errors = Vec::new();
    for threads in [1, 2, 3, 7, 64] {
        let out = Shared::default();
        let (read, write) = options(format, strict, threads);
        let error = polyhaul::Reader::new(memory(text, name))
            .options(&read)
            .convert(polyhaul::Writer::new(Output::Writer(Box::new(out.clone()), "out".into())).options(&write))
            .unwrap_err();
        assert!(out.take().is_empty(), "{name} to {format:?}: bytes before the error");
        errors.push(error);
    }
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    let (read, write) = options(format, false, 2);
    (errors.remove(0), try_converted(memory(text, name), &read, &write).unwrap().1)
}

#[test]
fn a_loss_is_an_error_that_names_it_and_its_count() {
    let cases = [
        (OBJ, "a.obj", Format::Stl, Strict::All, "dropped 1 material, which STL cannot store"),
        (OBJ, "a.obj", Format::Ply, Strict::All, "dropped 1 material, which PLY cannot store"),
        (PLY, "a.ply", Format::Obj, Strict::All, "dropped 1 vertex or face column, which OBJ cannot store"),
        (PLY, "a.ply", Format::Csv, Strict::Losses, "dropped 1 element besides `vertex`, because CSV stores one table"),
        (PLY, "a.ply", Format::Xyz, Strict::Losses, "dropped 1 element besides `vertex`, because XYZ stores one table"),
        (PBRT, "a.pbrt", Format::Obj, Strict::Losses, "dropped 1 shape of type"),
        (PBRT, "a.pbrt", Format::Obj, Strict::All, "dropped 1 light, which polyhaul writes only to pbrt"),
        (PBRT, "a.pbrt", Format::Ply, Strict::All, "dropped 1 light, which polyhaul writes only to pbrt"),
    ];
    for (text, name, format, strict, said) in cases {
        let (error, report) = both(text, name, format, strict);
        let what = format!("{name} to {format:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{what}");
        assert!(error.to_string().contains(said), "{what}");
        let first = report.warnings.first_refused(strict.into()).unwrap().code;
        let hint = format!("without `--strict` this is a warning; `--allow {first}` accepts it");
        assert_eq!(error.diagnostic().hint, Some(hint), "{what}");
        // Every rejected kind is listed with its count, the first with its message.
        for ((code, severity), count) in report.warnings.severities().iter().filter(|((code, _), _)| *code != first) {
            let is_refused = strict == Strict::All || *severity > Severity::Note;
            assert_eq!(error.to_string().contains(&format!("{code}: {count}")), is_refused, "{what}");
        }
    }
}

/// Blender's output for its default cube, except numbers.
const CUBE: &str = "mtllib a.mtl\no Cube\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
    s 0\nusemtl brick\nf 1/1/1 2/2/1 3/3/1 4/4/1\n";

#[test]
fn what_everybody_expects_is_only_a_note() {
    for format in [Format::Glb, Format::Stl, Format::Ply, Format::Off] {
        let (read, write) = options(format, true, 2);
        let report = try_converted(memory(CUBE, "a.obj"), &read, &write).unwrap().1;
        assert!(report.warnings.total() > 0, "{format:?}");
        assert_eq!(report.warnings.total_of(Severity::Note), report.warnings.total(), "{format:?}");
        both(CUBE, "a.obj", format, Strict::All);
    }
    // A table could have uv columns.
    let (error, _) = both(CUBE, "a.obj", Format::Csv, Strict::Losses);
    assert!(
        error.to_string().contains("left-out-normals: 1") && error.to_string().contains("dropped 4 UVs,"),
        "{error}"
    );
}

#[test]
fn allowed_kinds_pass() {
    let (read, write) = options(Format::Csv, true, 2);
    let convert = |codes: &str| {
        let allow = KindSet::parse(codes).unwrap();
        try_converted(memory(CUBE, "a.obj"), &read.clone().with_allow(allow), &write.clone().with_allow(allow))
    };
    assert!(convert("left-out-uvs").unwrap_err().to_string().contains("dropped 1 normal,"));
    assert_eq!(convert("left-out-uvs,left-out-normals").unwrap().1.warnings.counts()["left-out-uvs"], 4);
}

/// A single-sided triangle.
const SINGLE_SIDED: &str = r#"{
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
    "materials": [{"doubleSided": false}],
    "accessors": [
        {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}
    ],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]
}"#;

#[test]
fn what_a_reader_drops_is_judged_by_the_format_that_is_written() {
    let convert = |format| {
        let (read, write) = options(format, true, 2);
        try_converted(memory(SINGLE_SIDED, "a.gltf"), &read.with_strict(true), &write)
    };
    assert_eq!(convert(Format::Stl).unwrap().1.warnings.counts()["left-out-culling"], 1);
    assert!(convert(Format::Glb).unwrap().1.warnings.is_empty());
    let with_extras = SINGLE_SIDED.replace("\"doubleSided\"", "\"extras\": {\"a\": 1}, \"doubleSided\"");
    let with_extras = with_extras.replacen('{', "{\"extras\": {\"a\": 1},", 1);
    let (read, write) = options(Format::Glb, true, 2);
    let error = try_converted(memory(with_extras, "a.gltf"), &read.with_strict(true), &write).unwrap_err();
    assert!(error.to_string().contains("document extras"), "{error}");
    assert!(
        polyhaul::inspect::validate(memory(SINGLE_SIDED, "a.gltf"), &options(Format::Glb, true, 2).0).unwrap().valid
    );
}

#[test]
fn what_loses_nothing_is_written() {
    let plain = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    for format in [Format::Obj, Format::Stl, Format::Ply, Format::Pbrt] {
        let (read, write) = options(format, true, 2);
        try_converted(memory(plain, "a.obj"), &read, &write).unwrap();
    }
}

/// Writes over an existing file, which must be preserved.
fn refused_over_an_old_file(name: &str, write: impl FnOnce(Output) -> Result<Report, Error>) {
    let folder = Folder::new("strict").unwrap();
    let path = folder.file(name, "old").unwrap();
    let error = write(Output::Path(path.clone())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!((folder.names(), folder.text(name)), (vec![name.to_owned()], "old".to_owned()));
}

/// Counts of warnings from writing a scene to a stream.
fn written(scene: &Scene, write: &WriteOptions) -> BTreeMap<&'static str, u64> {
    try_written(scene, write).unwrap().1.warnings.counts().clone()
}

fn read(text: &str, name: &str) -> Scene {
    let input = Input::Memory(text.as_bytes().to_vec(), name.into());
    polyhaul::Reader::new(input).options(&options(Format::Obj, false, 2).0).scene().unwrap().value
}

#[test]
fn obj_cannot_store_all_of_a_mesh() {
    let mut write = options(Format::Obj, false, 2).1;
    let mut scene = read("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "a.obj");
    assert!(written(&scene, &write).is_empty());
    let weights = Array::from(vec![1.0, 0.5, f32::NAN]);
    scene.meshes[0].vertex_groups = vec![VertexGroup { name: "arm".into(), weights }];
    scene.meshes[0].sharp_edges = vec![[0, 1], [1, 2]].into();
    assert_eq!(written(&scene, &write), [("left-out-sharp-edges", 2), ("left-out-vertex-groups", 1)].into());
    // Smoothing groups end at sharp edges.
    write.obj.smoothing = Smoothing::Groups;
    assert_eq!(written(&scene, &write), [("left-out-vertex-groups", 1)].into());
}

#[test]
fn values_of_vertices_without_faces_are_counted() {
    let mut write = options(Format::Obj, false, 2).1;
    let mut scene = read("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\n", "a.obj");
    scene.objects.clear();
    let mesh = &mut scene.meshes[0];
    mesh.normals = vec![[0.0, 0.0, 1.0]; 4].into();
    mesh.normal_domain = Domain::Vertex;
    mesh.uvs = vec![[0.0, 0.5]; 4].into();
    mesh.uv_domain = Domain::Vertex;
    assert_eq!(written(&scene, &write), [("left-out-normals", 1), ("left-out-uvs", 1)].into());
    scene.meshes[0].faces = Default::default();
    assert_eq!(written(&scene, &write), [("left-out-normals", 4), ("left-out-uvs", 4)].into());
    // Zeros and non-finite normals only fill the arrays.
    let mut filled = scene.clone();
    filled.meshes[0].normals = vec![[0.0; 3], [-0.0; 3], [0.0, 2.0, 0.0], [0.0; 3]].into();
    filled.meshes[0].uvs = vec![[0.0; 2], [-0.0, 0.0], [0.0; 2], [0.0; 2]].into();
    assert_eq!(written(&filled, &write), [("left-out-normals", 1)].into());
    write.scene.normals = false;
    write.scene.uv = false;
    assert!(written(&scene, &write).is_empty());
}

#[test]
fn numbers_that_are_written_and_not_finite_are_counted() {
    let mut write = options(Format::Obj, false, 2).1;
    let mut scene = read("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt nan 0\nf 1/1 2/1 3/1\n", "a.obj");
    scene.meshes[0].colors = vec![[f32::INFINITY, 0.5, f32::NAN, 1.0], [f32::NAN; 4], [1.0; 4]].into();
    let mut count = |has_colors, has_uvs| {
        write.scene.colors = has_colors;
        write.scene.uv = has_uvs;
        written(&scene, &write).get("changed-numbers").copied().unwrap_or(0)
    };
    assert_eq!([count(true, true), count(false, true), count(false, false)], [3, 1, 0]);
}

#[test]
fn a_stream_has_no_material_library() {
    let write = options(Format::Obj, false, 2).1;
    let mut scene = read(OBJ, "a.obj");
    assert_eq!(written(&scene, &write), [("left-out-materials", 1)].into());
    scene.materials[0].missing = true;
    assert!(written(&scene, &write).is_empty());
}

/// Six decimals are too few for a scene of a tenth of a millimeter, in meters.
#[test]
fn tiny_scenes_say_that_they_lose_digits() {
    for (size, count) in [("0.0001", 3), ("0.00499", 3), ("0.00501", 0), ("1", 0), ("1e-30", 3), ("0", 0)] {
        let scene = read(&format!("v 0 0 0\nv {size} 0 0\nv 0 -{size} 0\nf 1 2 3\n"), "a.obj");
        for (digits, count) in [(Digits::Fixed(6), count), (Digits::Shortest, 0)] {
            let mut write = options(Format::Obj, false, 2).1;
            write.scene.digits = Some(digits);
            assert_eq!(
                written(&scene, &write).get("changed-numbers").copied().unwrap_or(0),
                count,
                "{size} {digits:?}"
            );
        }
    }
}

#[test]
fn shapes_that_a_mesh_only_approximates_are_counted() {
    let mesh = |class: &str, more: &str| {
        let points = "\"point3 P\" [ 0 0 0 1 0 0 0 1 0 ] \"integer indices\" [ 0 1 2 ]";
        format!("Shape \"{class}\" {points} {more}\n")
    };
    let odd = mesh("trianglemesh", "\"normal N\" [ 0 0 1 ] \"vector3 S\" [ 1 0 0 1 0 0 1 0 0 ]");
    let text = format!("WorldBegin\n{}{}{odd}", mesh("loopsubdiv", ""), mesh("trianglemesh", ""));
    let report = both(&text, "a.pbrt", Format::Obj, Strict::Losses).1;
    assert_eq!(*report.warnings.counts(), [("changed-shapes", 1), ("left-out-columns", 2)].into());
}

#[test]
fn an_old_file_stays_whatever_is_written() {
    let scene = polyhaul::Reader::new(Input::Memory(OBJ.into(), "a.obj".into()))
        .options(&options(Format::Stl, true, 2).0)
        .scene()
        .unwrap()
        .value;
    for format in [Format::Stl, Format::Ply] {
        let write = options(format, Strict::All, 2).1;
        refused_over_an_old_file(&format!("a.{}", format.name()), |out| {
            polyhaul::Writer::new(out).options(&write).scene(&scene)
        });
    }
    let samples = Samples::U8([1, 2, 3, 4].into());
    let image = Image { width: 1, height: 1, channels: Channels::Rgba, samples, ..Image::default() };
    let write = options(Format::Hdr, true, 2).1;
    refused_over_an_old_file("a.hdr", |out| polyhaul::Writer::new(out).options(&write).image(&image));
    let (_, write) = options(Format::Csv, true, 2);
    let read = ReadOptions::default();
    refused_over_an_old_file("a.csv", |out| {
        polyhaul::Reader::new(Input::Memory(PLY.into(), "a.ply".into()))
            .options(&read)
            .convert(polyhaul::Writer::new(out).options(&write))
    });
}

#[test]
fn tables_that_fit_are_written() {
    let column = Column { name: "a".into(), values: Values::F64(vec![0.5].into()), offsets: None };
    let tables = [Table { name: "t".into(), row_count: 1, columns: vec![column] }];
    for format in [Format::Csv, Format::Tsv, Format::Ply] {
        let (_, write) = options(format, true, 2);
        let out = Output::Writer(Box::new(Shared::default()), "out".into());
        polyhaul::Writer::new(out).options(&write).tables(&tables).unwrap();
    }
}

#[test]
fn a_scene_of_many_files_is_refused_as_one() {
    let folder = Folder::new("strict").unwrap();
    let path = folder.file("a.pbrt", "old").unwrap();
    let read = ReadOptions::default();
    let (_, mut write) = options(Format::Pbrt, true, 2);
    write.pbrt.meshes = PbrtMeshes::Ply { vertices: 1 };
    // The other vertices of the shape have no normals.
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1//1 2//1 3//1\nf 2 3 4\n";
    let error = polyhaul::Reader::new(Input::Memory(text.into(), "a.obj".into()))
        .options(&read)
        .convert(polyhaul::Writer::new(&path).options(&write));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!((folder.names(), folder.text("a.pbrt")), (vec!["a.pbrt".to_owned()], "old".to_owned()));
}
