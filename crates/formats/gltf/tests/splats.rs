//! Gaussian splats: written and read, compared with values computed by hand.

use polyhaul_bytes::{Sink, Source};
use polyhaul_geometry::parts::parts;
use polyhaul_gltf::{GltfFile, GltfFound, GltfImages, GltfJob, GltfWriteOptions, read};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::{Instances, Placement};
use polyhaul_model::splats::{CONSTANT_HARMONIC, HARMONICS, LINEAR_COLORS, SplatColumns, Splats, logit_of, opacity_of};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Axes, Column, Mesh, Scene, Values};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use polyhaul_pipeline::write::Writing;
use serde_json::{Value, json};

/// Prefix of splat attributes.
const EXTENSION: &str = "KHR_gaussian_splatting";

/// Writes a Y-up scene.
fn write(scene: &Scene, options: GltfWriteOptions, degree: u8, threads: usize) -> Result<(Vec<u8>, Warnings)> {
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts(scene, &objects, &evaluated, &Placement { axes: Some(Axes::OBJ), ..Placement::default() })?;
    let run = RunOptions::default().with_threads(Some(threads));
    let mut warnings = Warnings::default();
    let mut bytes = Vec::new();
    let job = GltfJob {
        scene,
        parts: &parts,
        evaluated: &evaluated,
        materials: &[],
        images: &GltfImages::default(),
        origin: [0.0; 3],
        output: "x.glb",
        options: &options,
        instances: Instances::Auto,
        harmonics_degree: degree,
        run: &run,
        strict: false.into(),
    };
    let mut file = GltfFile::new(&job, &mut warnings)?;
    let mut writing = Writing::new(Sink::writer(Box::new(&mut bytes), "x.glb"), None, &run)?;
    file.write_glb(&mut writing)?;
    writing.finish()?.finish().map_err(|error| Error::io("write", "x.glb", error))?;
    Ok((bytes, warnings))
}

fn read_glb(bytes: Vec<u8>) -> Result<GltfFound> {
    let source = Source::named_memory(bytes, "x.glb");
    let mut files = |name: &str, _: u64| Err(Error::new(ErrorKind::Io, format!("no file {name}")));
    read(Bytes::new(&source, None), None, &ParseOptions::default(), &mut files)
}

/// Converts a scene to Y-up, as the caller of the writer does.
fn upright(scene: &Scene) -> Scene {
    let mut scene = Scene { axes: polyhaul_model::splats::AXES, ..scene.clone() };
    polyhaul_geometry::transform::transform_axes(&mut scene, Axes::OBJ, 1.0, &RunOptions::default()).unwrap();
    scene
}

/// Creates splats with distinct values everywhere, and unit quaternions.
fn splats(count: usize, degree: usize) -> SplatColumns {
    let mut state = 9_u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    let mut column = |factor: f32| -> Vec<f32> { (0..count).map(|_| factor * number()).collect() };
    let angles = column(3.0);
    SplatColumns {
        positions: column(10.0).into_iter().map(|x| [x, -x, 0.5 * x]).collect(),
        opacities: column(6.0),
        scales: [0, 1, 2].map(|_| column(6.0)),
        rotations: [
            angles.iter().map(|angle| angle.cos()).collect(),
            vec![0.0; count],
            angles.iter().map(|angle| -0.6 * angle.sin()).collect(),
            angles.iter().map(|angle| 0.8 * angle.sin()).collect(),
        ],
        constants: [0, 1, 2].map(|_| column(2.0)),
        rest: (0..3 * HARMONICS[degree]).map(|_| column(1.0)).collect(),
    }
}

fn scene(count: usize, degree: usize) -> Scene {
    splats(count, degree).into_scene().unwrap()
}

fn glb_json(bytes: &[u8]) -> Value {
    let len = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + len]).unwrap()
}

/// Returns the values of an attribute of the only primitive, as floats or codes.
fn values(bytes: &[u8], name: &str) -> Vec<f64> {
    let json = glb_json(bytes);
    let accessor =
        &json["accessors"][json["meshes"][0]["primitives"][0]["attributes"][name].as_u64().unwrap() as usize];
    let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
    let start = view["byteOffset"].as_u64().unwrap_or(0) + accessor["byteOffset"].as_u64().unwrap_or(0);
    let width = match accessor["type"].as_str().unwrap() {
        "SCALAR" => 1,
        "VEC3" => 3,
        _ => 4,
    };
    let json_bytes = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let body = &bytes[28 + json_bytes + start as usize..];
    let count = accessor["count"].as_u64().unwrap() as usize * width;
    match accessor["componentType"].as_u64().unwrap() {
        5126 => body.as_chunks::<4>().0[..count].iter().map(|part| f64::from(f32::from_le_bytes(*part))).collect(),
        5123 => body.as_chunks::<2>().0[..count].iter().map(|part| f64::from(u16::from_le_bytes(*part))).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn attributes_match_the_specification() {
    let columns = SplatColumns {
        positions: vec![[1.0, 2.0, 3.0], [-1.0, 0.0, 0.5]],
        opacities: vec![0.0, f32::INFINITY],
        scales: [vec![0.0, 1.0], vec![-2.0, 2.0], vec![f32::NEG_INFINITY, 3.0]],
        // The first has a length of 2.
        rotations: [vec![2.0, 0.0], vec![0.0, 0.6], vec![0.0, 0.0], vec![0.0, -0.8]],
        constants: [vec![0.0, 1.0], vec![5.0, -5.0], vec![0.5, 0.25]],
        rest: (0..24).map(|number| vec![number as f32, 0.5]).collect(),
    };
    let mut scene = columns.into_scene().unwrap();
    let extra = |name: &str, values: Values| Column { name: name.into(), values, offsets: None };
    scene.meshes[0].vertex_columns.push(extra("label", Values::U8(vec![7, 9].into())));
    let (bytes, warnings) = write(&scene, GltfWriteOptions::default(), 4, 1).unwrap();
    let json = glb_json(&bytes);
    assert_eq!(json["extensionsUsed"], json!([EXTENSION]));
    assert!(json["extensionsRequired"].is_null());
    let primitive = &json["meshes"][0]["primitives"][0];
    assert_eq!(primitive["mode"], 0);
    let properties = json!({"kernel": "ellipse", "colorSpace": "srgb_rec709_display", "projection": "perspective",
        "sortingMethod": "cameraDistance"});
    assert_eq!(primitive["extensions"][EXTENSION], properties);
    let names: Vec<_> = primitive["attributes"].as_object().unwrap().keys().cloned().collect();
    let harmonics = |degree: usize| (0..=2 * degree).map(move |n| format!("{EXTENSION}:SH_DEGREE_{degree}_COEF_{n}"));
    let mut expected: Vec<String> = ["COLOR_0", "POSITION", "_label"].map(String::from).into();
    expected.extend(["ROTATION", "SCALE", "OPACITY"].map(|name| format!("{EXTENSION}:{name}")));
    expected.extend((0..3).flat_map(harmonics));
    expected.sort();
    assert_eq!(names, expected);
    let splat_values = |name: &str| values(&bytes, &format!("{EXTENSION}:{name}"));
    assert_eq!(values(&bytes, "POSITION"), [1.0, 2.0, 3.0, -1.0, 0.0, 0.5]);
    let floats = |values: &[f64]| values.iter().map(|&value| f64::from(value as f32)).collect::<Vec<_>>();
    // x, y, z, w.
    assert_eq!(splat_values("ROTATION"), floats(&[0.0, 0.0, 0.0, 1.0, 0.6, 0.0, -0.8, 0.0]));
    assert_eq!(splat_values("SCALE"), floats(&[1.0, (-2f64).exp(), 0.0, 1f64.exp(), 2f64.exp(), 3f64.exp()]));
    assert_eq!(splat_values("OPACITY"), [0.5, 1.0]);
    assert_eq!(splat_values("SH_DEGREE_0_COEF_0"), [0.0, 5.0, 0.5, 1.0, -5.0, 0.25]);
    // Red, green and blue have 8 harmonics each.
    assert_eq!(splat_values("SH_DEGREE_1_COEF_0"), [0.0, 8.0, 16.0, 0.5, 0.5, 0.5]);
    assert_eq!(splat_values("SH_DEGREE_2_COEF_4"), [7.0, 15.0, 23.0, 0.5, 0.5, 0.5]);
    // sRGB colors as 16-bit linear values, clamped, with opacity.
    let linear = |color: f64| (((color + 0.055) / 1.055).powf(2.4) * 65535.0).round();
    let expected = [linear(0.5), 65535.0, linear(0.5 + 0.5 * CONSTANT_HARMONIC), 32768.0];
    assert!(values(&bytes, "COLOR_0")[..4].iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1.0));
    assert_eq!(values(&bytes, "COLOR_0")[7], 65535.0);
    let codes: Vec<_> = warnings.counts().keys().copied().collect();
    assert_eq!(codes, ["changed-numbers"]);
    let reread = read_glb(bytes).unwrap();
    assert!(reread.warnings.is_empty(), "{:?}", reread.warnings);
    let label = reread.scene.meshes[0].vertex_columns.last().unwrap();
    assert_eq!((&*label.name, &label.values), ("label", &Values::F32(vec![7.0, 9.0].into())));
}

#[test]
fn a_second_trip_changes_no_bit() {
    for degree in 0..=3 {
        for options in [GltfWriteOptions::default(), GltfWriteOptions::default().with_quantize(true)] {
            let scene = scene(3000, degree);
            let once = read_glb(write(&upright(&scene), options, 4, 1).unwrap().0).unwrap();
            assert!(once.warnings.is_empty(), "{:?}", once.warnings);
            let old_mesh = &scene.meshes[0];
            let new_mesh = &once.scene.meshes[0];
            assert!(old_mesh.positions == new_mesh.positions);
            for (old, new) in old_mesh.vertex_columns.iter().zip(&new_mesh.vertex_columns) {
                assert_eq!(old.name, new.name);
                let Values::F32(old_values) = &old.values else { panic!() };
                let Values::F32(new_values) = &new.values else { panic!() };
                let max_difference = match &*old.name {
                    // Near 1, an opacity has 24 significant bits, its logit fewer.
                    "opacity" => 1e-3,
                    name if name.starts_with("scale_") => 1e-6,
                    _ => 0.0,
                };
                let difference =
                    old_values.iter().zip(new_values.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(difference <= max_difference, "{} {difference}", old.name);
            }
            let (bytes, _) = write(&upright(&once.scene), options, 4, 1).unwrap();
            let (others, _) = write(&upright(&once.scene), options, 4, 7).unwrap();
            assert!(bytes == others, "the bytes depend on the threads");
            assert!(read_glb(bytes).unwrap().scene.meshes == once.scene.meshes);
        }
    }
}

#[cfg(feature = "meshopt")]
#[test]
fn compressed_splats_are_the_same() {
    let scene = upright(&scene(70_000, 1));
    let plain = read_glb(write(&scene, GltfWriteOptions::default(), 4, 2).unwrap().0).unwrap();
    let small = read_glb(write(&scene, GltfWriteOptions::default().with_meshopt(true), 4, 2).unwrap().0).unwrap();
    assert!(plain.scene == small.scene);
}

#[test]
fn splat_data_that_gltf_cannot_store_is_counted() {
    let mut scene = scene(5, 4);
    scene.infos = vec![LINEAR_COLORS.into(), "splats antialiased".into()];
    scene.meshes[0].colors = vec![[0.5, 2.0, 0.5, 1.0]; 5].into();
    scene.meshes[0].normals = vec![[0.0; 3], [0.0; 3], [1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]].into();
    let (bytes, warnings) = write(&scene, GltfWriteOptions::default(), 4, 1).unwrap();
    let counts: Vec<_> = warnings.counts().iter().map(|(&code, &count)| (code, count)).collect();
    let expected = [
        ("changed-numbers", 5),
        ("left-out-colors", 5),
        ("left-out-harmonics", 27),
        ("left-out-normals", 1),
        ("left-out-remarks", 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(
        glb_json(&bytes)["meshes"][0]["primitives"][0]["extensions"][EXTENSION]["colorSpace"],
        "lin_rec709_display"
    );
    // `COLOR_0` is linear in every color space.
    let constants = Splats::from_mesh(&scene.meshes[0]).unwrap().harmonics.map(|channel| f64::from(channel[0][0]));
    let expected = constants.map(|constant| (0.5 + constant * CONSTANT_HARMONIC).clamp(0.0, 1.0) * 65535.0);
    assert!(values(&bytes, "COLOR_0")[..3].iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1.0));
    let reread = read_glb(bytes).unwrap().scene;
    assert_eq!(reread.infos, [LINEAR_COLORS]);
    let splats = Splats::from_mesh(&reread.meshes[0]).unwrap();
    assert_eq!((splats.degree(), reread.meshes[0].colors.len(), reread.meshes[0].points.len()), (3, 0, 0));
    let (bytes, _) = write(&scene, GltfWriteOptions::default(), 1, 1).unwrap();
    assert_eq!(Splats::from_mesh(&read_glb(bytes).unwrap().scene.meshes[0]).unwrap().degree(), 1);
}

#[test]
fn numbers_that_gltf_cannot_store_are_errors() {
    for (name, value) in [("opacity", f32::NAN), ("scale_1", 100.0), ("rot_3", f32::INFINITY), ("f_rest_8", f32::NAN)] {
        let mut scene = scene(5, 1);
        let column = scene.meshes[0].vertex_columns.iter_mut().find(|column| column.name == name).unwrap();
        let Values::F32(values) = &mut column.values else { panic!() };
        values.to_mut().unwrap()[3] = value;
        let error = write(&scene, GltfWriteOptions::default(), 4, 1).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(name), "{error}");
        assert!(error.to_string().contains("splat 3"), "{error}");
    }
}

/// Builds a file with one mesh.
#[derive(Default)]
struct SplatFileMaker {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl SplatFileMaker {
    fn add(&mut self, bytes: &[u8], component: u32, kind: &str, count: usize, is_normalized: bool) -> usize {
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.accessors.push(json!({"bufferView": self.views.len() - 1, "componentType": component, "type": kind,
            "count": count, "normalized": is_normalized}));
        self.accessors.len() - 1
    }

    fn floats(&mut self, values: &[f32], kind: &str, count: usize) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.add(&bytes, 5126, kind, count, false)
    }

    fn glb(&self, mut json: Value) -> Vec<u8> {
        json["asset"] = json!({"version": "2.0"});
        json["buffers"] = json!([{"byteLength": self.bytes.len()}]);
        json["bufferViews"] = json!(self.views);
        json["accessors"] = json!(self.accessors);
        json["extensionsUsed"] = json!([EXTENSION]);
        let mut text = serde_json::to_vec(&json).unwrap();
        text.resize(text.len().next_multiple_of(4), b' ');
        let total = 28 + text.len() + self.bytes.len();
        let head = [b"glTF".to_vec(), 2_u32.to_le_bytes().into(), (total as u32).to_le_bytes().into()];
        let mut out = head.concat();
        out.extend((text.len() as u32).to_le_bytes().iter().chain(b"JSON").chain(&text));
        out.extend((self.bytes.len() as u32).to_le_bytes().iter().chain(b"BIN\0").chain(&self.bytes));
        out
    }
}

/// Reads two splats stored as integers, which the specification allows, with `change` applied to the primitive.
fn quantized(change: impl Fn(&mut Value, &mut SplatFileMaker)) -> Result<GltfFound> {
    let mut maker = SplatFileMaker::default();
    let position = maker.floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "VEC3", 2);
    let rotation = maker.add(&[0, 0, 0, 127, 127, 0, 0, 0], 5120, "VEC4", 2, true);
    let scale = maker.add(&[1, 2, 255, 0, 1, 1], 5121, "VEC3", 2, false);
    let shorts: Vec<u8> = [13107_u16, 65535].iter().flat_map(|code| code.to_le_bytes()).collect();
    let opacity = maker.add(&shorts, 5123, "SCALAR", 2, true);
    let constant = maker.floats(&[0.25, 0.5, 0.75, -1.0, -2.0, -3.0], "VEC3", 2);
    let mut primitive = json!({"mode": 0, "attributes": {"POSITION": position, "COLOR_0": constant},
        "extensions": {EXTENSION: {"kernel": "ellipse", "colorSpace": "srgb_rec709_display"}}});
    for (name, index) in
        [("ROTATION", rotation), ("SCALE", scale), ("OPACITY", opacity), ("SH_DEGREE_0_COEF_0", constant)]
    {
        primitive["attributes"][format!("{EXTENSION}:{name}")] = json!(index);
    }
    change(&mut primitive, &mut maker);
    let primitives = if primitive.is_array() { primitive } else { json!([primitive]) };
    read_glb(maker.glb(json!({"meshes": [{"primitives": primitives}],
        "nodes": [{"mesh": 0, "translation": [1.0, 2.0, 3.0]}], "scenes": [{"nodes": [0]}], "scene": 0})))
}

#[test]
fn integers_are_read_and_axes_converted() {
    let result = quantized(|_, _| {}).unwrap();
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    let mesh = &result.scene.meshes[0];
    let splats = Splats::from_mesh(mesh).unwrap();
    // y and z change sign in positions, quaternions and the translation.
    assert_eq!(splats.positions, [[1.0, -2.0, -3.0], [4.0, -5.0, -6.0]]);
    let [.., shift] = result.scene.objects[0].transform.unwrap()[..3].iter().map(|row| row[3]).collect::<Vec<_>>()[..]
    else {
        panic!()
    };
    assert_eq!((shift, result.scene.axes), (-3.0, Axes::default()));
    assert_eq!([splats.rotation(0), splats.rotation(1)], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]);
    assert_eq!(splats.scales.map(|axis| axis[0]), [1f32, 2.0, 255.0].map(f32::ln));
    // A size of 0 becomes the smallest normal number before the logarithm.
    assert_eq!(splats.scales[0][1], f32::MIN_POSITIVE.ln());
    assert_eq!(splats.opacities, [0.2, 1.0].map(logit_of));
    assert!((opacity_of(splats.opacities[1]) - 1.0).abs() < 2e-6);
    assert_eq!(splats.harmonics[2][0], [0.75, -3.0]);
    assert_eq!((splats.column_count(), mesh.vertex_columns.len(), mesh.colors.len()), (11, 11, 0));
}

#[test]
fn splats_that_break_rules_are_errors() {
    let failed = |change: &dyn Fn(&mut Value, &mut SplatFileMaker)| quantized(change).unwrap_err().to_string();
    let attribute = |name: &str| format!("{EXTENSION}:{name}");
    for name in ["ROTATION", "SCALE", "OPACITY", "SH_DEGREE_0_COEF_0"] {
        let message = failed(&|primitive, _| {
            primitive["attributes"].as_object_mut().unwrap().remove(&attribute(name));
        });
        assert!(message.contains(&format!("lack the attribute `{}`", attribute(name))), "{message}");
    }
    let message = failed(&|primitive, _| {
        primitive["attributes"][attribute("SH_DEGREE_2_COEF_1")] =
            primitive["attributes"][attribute("SH_DEGREE_0_COEF_0")].clone();
    });
    assert!(message.contains("lack the attribute `KHR_gaussian_splatting:SH_DEGREE_1_COEF_0`"), "{message}");
    let message = failed(&|primitive, maker| {
        primitive["attributes"][attribute("SCALE")] = json!(maker.floats(&[1.0; 4], "SCALAR", 4));
    });
    assert!(message.contains("wrong type `SCALAR`"), "{message}");
    let message = failed(&|primitive, maker| {
        primitive["attributes"][attribute("OPACITY")] = json!(maker.floats(&[1.0; 3], "SCALAR", 3));
    });
    assert!(message.contains("3 elements for 2 positions"), "{message}");
    let message = failed(&|primitive, maker| {
        primitive["attributes"][attribute("OPACITY")] = json!(maker.add(&[0; 8], 5125, "SCALAR", 2, false));
    });
    assert!(message.contains("wrong componentType 5125"), "{message}");
    assert!(failed(&|primitive, _| primitive["mode"] = json!(4)).contains("mode 0 (POINTS)"));
    let message = failed(&|primitive, _| {
        primitive["attributes"] = json!({"POSITION": 0});
        primitive["extensions"][EXTENSION]["extensions"] = json!({"KHR_gaussian_splatting_compression_spz_2": {}});
    });
    assert!(message.contains("`KHR_gaussian_splatting_compression_spz_2` are not supported"), "{message}");
}

#[test]
fn unknown_values_and_numbers_out_of_range_are_warnings() {
    let counts = |change: &dyn Fn(&mut Value, &mut SplatFileMaker)| -> Vec<(&str, u64)> {
        let result = quantized(change).unwrap();
        assert!(Splats::from_mesh(&result.scene.meshes[0]).is_some());
        result.warnings.counts().iter().map(|(&code, &count)| (code, count)).collect()
    };
    let unknown = counts(&|primitive, _| {
        primitive["extensions"][EXTENSION] = json!({"kernel": "box", "colorSpace": "x", "projection": "p",
            "sortingMethod": "z", "extensions": {"EXT_box": {}}});
    });
    assert_eq!(unknown, [("changed-splats", 4), ("left-out-extensions", 1)]);
    assert_eq!(counts(&|primitive, _| primitive["extensions"][EXTENSION] = json!({})), [("missing-property", 2)]);
    let cut = counts(&|primitive, maker| {
        let logarithms = maker.floats(&[-3.0, -2.0, 1.0, f32::NAN, 0.0, f32::INFINITY], "VEC3", 2);
        primitive["attributes"][format!("{EXTENSION}:SCALE")] = json!(logarithms);
    });
    assert_eq!(cut, [("clamped-numbers", 4)]);
    let others = counts(&|primitive, maker| {
        let normal = maker.floats(&[0.0; 6], "VEC3", 2);
        primitive["attributes"]["NORMAL"] = json!(normal);
        primitive["attributes"]["_opacity"] = json!(maker.floats(&[0.0; 2], "SCALAR", 2));
    });
    assert_eq!(others, [("left-out-attributes", 1), ("left-out-normals", 2)]);
}

#[test]
fn primitives_of_a_mesh_are_all_splats_or_points() {
    let two = |change: &dyn Fn(&mut Value, &mut SplatFileMaker)| {
        quantized(|primitive, maker| {
            let mut other = primitive.clone();
            change(&mut other, maker);
            *primitive = json!([primitive.clone(), other]);
        })
        .unwrap()
    };
    let both = two(&|other, maker| {
        for number in 0..3 {
            let harmonic = maker.floats(&[number as f32; 6], "VEC3", 2);
            other["attributes"][format!("{EXTENSION}:SH_DEGREE_1_COEF_{number}")] = json!(harmonic);
        }
    });
    let splats = Splats::from_mesh(&both.scene.meshes[0]).unwrap();
    // Harmonics missing from the first primitive are 0. In the first degree, the first goes with y, the second with z.
    assert_eq!((splats.len(), splats.degree()), (4, 1));
    assert_eq!(splats.harmonics[0][1..], [&[0.0, 0.0, 0.0, 0.0], &[0.0, 0.0, -1.0, -1.0], &[0.0, 0.0, 2.0, 2.0]]);
    let mixed = two(&|other, _| *other = json!({"mode": 0, "attributes": {"POSITION": 0}}));
    assert!(Splats::from_mesh(&mixed.scene.meshes[0]).is_none());
    assert_eq!(mixed.warnings.counts()["changed-splats"], 1);
    assert_eq!((mixed.scene.meshes[0].points.len(), mixed.scene.meshes[0].positions[0]), (4, [1.0, 2.0, 3.0]));
    // Indices select splats, and the selection is preserved.
    let chosen = quantized(|primitive, maker| primitive["indices"] = json!(maker.add(&[1], 5121, "SCALAR", 1, false)));
    let Mesh { points, positions, .. } = &chosen.unwrap().scene.meshes[0];
    assert_eq!((&points[..], positions.len()), (&[1][..], 2));
}
