//! Splats as written by other programs: 2D splats, doubles, incomplete harmonics, values that are not finite, and the
//! axes of SPZ.

use polyhaul::model::splats::{SplatColumns, Splats};
use polyhaul::model::{Mesh, Scene, Values};
use polyhaul::options::{OnError, RunOptions, SplatReadOptions, SplatWriteOptions, SpzAxes};
use polyhaul::preview::{PreviewOptions, preview_scene};
use polyhaul::{Error, Format, Input, Output, ReadOptions, Reader, Result, WriteOptions, Writer, inspect};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::output::Shared;

const TARGETS: [Format; 4] = [Format::Spz, Format::Splat, Format::CompressedPly, Format::Glb];

/// Splats with different values in all columns.
fn scene(count: usize, degree: usize) -> Scene {
    let harmonics = [0, 3, 8, 15, 24][degree];
    let column =
        |seed: usize| (0..count).map(|at| ((at * 37 + seed * 11) % 19) as f32 / 19.0 - 0.5).collect::<Vec<_>>();
    let columns = SplatColumns {
        positions: (0..count).map(|at| [at as f32, 2.0 - at as f32, 0.25 * at as f32]).collect(),
        opacities: column(1),
        scales: [2, 3, 4].map(column),
        rotations: [5, 6, 7, 8].map(|seed| column(seed).iter().map(|part| part + 0.6).collect()),
        constants: [9, 10, 11].map(column),
        rest: (0..3 * harmonics).map(|number| column(12 + number)).collect(),
    };
    columns.into_scene().unwrap()
}

fn column<'m>(mesh: &'m mut Mesh, name: &str) -> &'m mut Values {
    &mut mesh.vertex_columns.iter_mut().find(|column| column.name == name).unwrap().values
}

fn set(scene: &mut Scene, name: &str, at: usize, value: f32) {
    let values = column(&mut scene.meshes[0], name);
    let Values::F32(floats) = &*values else { panic!("{name}") };
    let mut floats = floats.to_vec();
    floats[at] = value;
    *values = Values::F32(floats.into());
}

fn remove(scene: &mut Scene, name: &str) {
    scene.meshes[0].vertex_columns.retain(|column| column.name != name);
}

fn run() -> RunOptions {
    RunOptions::default().with_threads(Some(2))
}

fn written(scene: &Scene, format: Format, splats: SplatWriteOptions) -> Result<(Vec<u8>, polyhaul::report::Report)> {
    let shared = Shared::default();
    let options = WriteOptions::default().with_format(Some(format)).with_run(run()).with_splats(splats);
    let output = Output::Writer(Box::new(shared.clone()), "x".into());
    let report = Writer::new(output).options(&options).scene(scene)?;
    Ok((shared.take(), report))
}

fn ply(scene: &Scene) -> Vec<u8> {
    written(scene, Format::Ply, SplatWriteOptions::default()).unwrap().0
}

fn read(bytes: Vec<u8>, format: Format, axes: SpzAxes) -> Scene {
    let splats = SplatReadOptions::default().with_spz_axes(axes);
    let options = ReadOptions::default().with_run(run()).with_splats(splats);
    let input = Input::Memory(bytes, format!("x.{}", format.name()));
    Reader::new(input).options(&options).scene().unwrap().value
}

/// Converts a PLY file; returns the warnings, and the number of remaining splats.
fn convert(ply: Vec<u8>, format: Format, on_error: OnError) -> Result<(polyhaul::report::Report, usize)> {
    let folder = Folder::new("splat-habits").unwrap();
    let input = folder.file("in.ply", ply).unwrap();
    let output = folder.path().join(format!("out.{}", format.name()));
    let read = ReadOptions::default().with_run(run()).with_on_error(on_error);
    let write = WriteOptions::default().with_run(run());
    let report = Reader::new(input).options(&read).convert(Writer::new(&*output).options(&write))?;
    let scene = Reader::new(&*output).scene()?.value;
    Ok((report, scene.meshes[0].positions.len()))
}

fn refused(scene: &Scene, format: Format) -> Error {
    written(scene, format, SplatWriteOptions::default()).unwrap_err()
}

#[test]
fn incomplete_harmonics_are_refused_everywhere() {
    let mut cases = Vec::new();
    for name in ["f_rest_44", "f_rest_20", "f_rest_0"] {
        let mut scene = scene(5, 3);
        remove(&mut scene, name);
        cases.push((scene, "found 44 `f_rest_N` columns; expected 0, 9, 24, 45 or 72"));
    }
    let mut renamed = scene(5, 1);
    renamed.meshes[0].vertex_columns.iter_mut().filter(|column| column.name == "f_rest_4").for_each(|column| {
        column.name = "f_rest_9".into();
    });
    cases.push((renamed, "found 9 `f_rest_N` columns, but no `f_rest_4`"));
    for (scene, expected) in cases {
        for format in TARGETS {
            let error = refused(&scene, format);
            assert!(error.to_string().contains(expected), "{format:?}: {error}");
            let low = SplatWriteOptions::default().with_sh_degree(0);
            assert!(written(&scene, format, low).is_err(), "{format:?}");
        }
        let error = preview_scene(&scene, &PreviewOptions::default().with_size([16, 16])).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let file = Input::Memory(ply(&scene), "x.ply".into());
        let validation = inspect::validate(file, &ReadOptions::default()).unwrap();
        assert!(!validation.valid && validation.report.warnings.counts()["incomplete-harmonics"] == 1);
    }
}

#[test]
fn values_that_are_not_finite_are_errors_or_left_out() {
    let names = ["opacity", "scale_1", "rot_2", "f_dc_0", "f_rest_7"];
    for (name, value) in names.into_iter().zip([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::INFINITY]) {
        let mut scene = scene(5, 1);
        set(&mut scene, name, 3, value);
        let file = Input::Memory(ply(&scene), "x.ply".into());
        let validation = inspect::validate(file, &ReadOptions::default()).unwrap();
        assert!(!validation.valid && validation.report.warnings.counts()["broken-splats"] == 1, "{name}");
        for format in TARGETS {
            if format == Format::Splat && name == "f_rest_7" {
                continue; // it has no harmonics
            }
            let error = refused(&scene, format);
            assert!(error.to_string().contains(&format!("splat 3: its `{name}`")), "{format:?}: {error}");
            let (report, left) = convert(ply(&scene), format, OnError::Warn).unwrap();
            assert_eq!((report.warnings.counts()["broken-splats"], left), (1, 4), "{format:?} {name}");
            assert!(convert(ply(&scene), format, OnError::Raise).is_err(), "{format:?} {name}");
        }
    }
    // Columns of a higher degree than the output do not matter.
    let mut scene = scene(5, 2);
    set(&mut scene, "f_rest_5", 3, f32::NAN);
    let low = SplatWriteOptions::default().with_sh_degree(1);
    assert!(written(&scene, Format::Spz, low).is_ok());
    set(&mut scene, "f_rest_8", 4, f32::NAN);
    let error = written(&scene, Format::Spz, low).unwrap_err();
    assert!(error.to_string().contains("splat 4: its `f_rest_8`"), "{error}");
    let mut scene = self::scene(5, 0);
    let mut positions = scene.meshes[0].positions.to_vec();
    positions[2][1] = f32::NAN;
    scene.meshes[0].positions = positions.into();
    assert!(refused(&scene, Format::Spz).to_string().contains("splat 2: its `y`"));
}

#[test]
fn infinite_opacities_and_no_size_are_values() {
    let mut scene = scene(4, 0);
    for (at, value) in [(0, f32::INFINITY), (1, f32::NEG_INFINITY)] {
        set(&mut scene, "opacity", at, value);
    }
    set(&mut scene, "scale_0", 2, f32::NEG_INFINITY);
    for format in TARGETS {
        let (bytes, _) = written(&scene, format, SplatWriteOptions::default()).unwrap();
        assert!(!bytes.is_empty(), "{format:?}");
    }
}

#[test]
fn flat_splats_and_doubles_are_completed() {
    let mut flat = scene(6, 1);
    remove(&mut flat, "scale_2");
    let mut doubles = scene(6, 1);
    for column in &mut doubles.meshes[0].vertex_columns {
        let Values::F32(floats) = &column.values else { panic!() };
        column.values = Values::F64(floats.iter().map(|&value| f64::from(value) + 1e-12).collect::<Vec<_>>().into());
    }
    for format in TARGETS {
        let (bytes, report) = written(&flat, format, SplatWriteOptions::default()).unwrap();
        assert_eq!(report.warnings.counts()["flat-splats"], 6, "{format:?}");
        let thin = read(bytes, format, SpzAxes::Rub);
        let smallest = Splats::from_mesh(&thin.meshes[0]).unwrap().scales[2].iter().fold(0.0, |a: f32, b| a.min(*b));
        assert!(smallest < -9.0, "{format:?}: {smallest}");
        let (bytes, report) = written(&doubles, format, SplatWriteOptions::default()).unwrap();
        let rounded =
            report.warnings.kept().iter().find(|warning| warning.diagnostic.message.contains("were rounded to"));
        assert!(rounded.is_some_and(|warning| warning.count > 50), "{format:?}");
        assert_eq!(read(bytes, format, SpzAxes::Rub).meshes[0].positions.len(), 6);
    }
    let picture = preview_scene(&flat, &PreviewOptions::default().with_size([16, 16])).unwrap();
    assert_eq!(picture.report.warnings.counts()["flat-splats"], 6);
    // The message names the column.
    let mut lacking = scene(2, 0);
    remove(&mut lacking, "rot_3");
    assert!(refused(&lacking, Format::Spz).to_string().contains("the column `rot_3` is missing"));
    let mut other = scene(2, 0);
    *column(&mut other.meshes[0], "opacity") = Values::I32(vec![1, 2].into());
    assert!(written(&other, Format::Splat, SplatWriteOptions::default()).is_ok());
}

/// A column with only whole numbers has integers.
#[test]
fn tables_of_splats_may_have_integers() {
    let names = "x,y,z,f_dc_0,f_dc_1,f_dc_2,opacity,scale_0,scale_1,scale_2,rot_0,rot_1,rot_2,rot_3";
    let [whole, decimal] = ["1,2,3,0,0,0,1,-3,-3,-3,1,0,0,0", "1.0,2.0,3.0,0.,0.,0.,1.0,-3.0,-3.,-3.,1.0,0.,0.,0."];
    for format in TARGETS {
        let [integers, floats] = [whole, decimal].map(|row| {
            let write = WriteOptions::default().with_format(Some(format)).with_run(run());
            let input = Input::Memory(format!("{names}\n{row}\n").into_bytes(), "x.csv".into());
            crate::support::try_converted(input, &ReadOptions::default(), &write).unwrap().0
        });
        assert!(integers == floats, "{format:?}");
    }
}

#[test]
fn axes_of_spz_are_declared_or_given() {
    let scene = scene(20, 3);
    let positions = &scene.meshes[0].positions;
    let apart = |scene: &Scene| {
        let values = |mesh: &Mesh| mesh.positions.as_flattened().to_vec();
        let pairs = values(&scene.meshes[0]).into_iter().zip(positions.as_flattened().to_vec());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    for version in [2, 3, 4] {
        let options = SplatWriteOptions::default().with_spz_version(version);
        let [rub, rdf] =
            [SpzAxes::Rub, SpzAxes::Rdf].map(|axes| written(&scene, Format::Spz, options.with_spz_axes(axes)));
        let [(rub, _), (rdf, _)] = [rub.unwrap(), rdf.unwrap()];
        assert_ne!(rub, rdf);
        let expected = read(rub.clone(), Format::Spz, SpzAxes::Rub);
        let turned = read(rdf.clone(), Format::Spz, SpzAxes::Rdf);
        assert!(apart(&expected) < 1e-3 && apart(&turned) < 1e-3, "{version}");
        // Harmonics and rotations equal those of the original splats.
        let [a, b] = [&expected, &turned].map(|scene| Splats::from_mesh(&scene.meshes[0]).unwrap());
        for (a, b) in a.harmonics.iter().flatten().zip(b.harmonics.iter().flatten()) {
            assert!(a.iter().zip(*b).all(|(a, b)| (a - b).abs() <= 0.13), "{version}");
        }
        for at in 0..a.len() {
            let dot: f32 = a.rotation(at).iter().zip(b.rotation(at)).map(|(a, b)| a * b).sum();
            assert!(dot.abs() > 0.999, "{version}");
        }
        // Version 4 declares its axes, which override the option.
        let is_declared = version == 4;
        assert_eq!(apart(&read(rdf, Format::Spz, SpzAxes::Rub)) < 1e-3, is_declared);
        assert_eq!(apart(&read(rub, Format::Spz, SpzAxes::Rdf)) < 1e-3, is_declared);
    }
}

/// A file of version 4 with other extensions.
fn with_extensions(file: &[u8], extensions: &[u8]) -> Vec<u8> {
    let mut bytes = file[..16].to_vec();
    bytes[14] |= 2;
    bytes.extend((32 + extensions.len() as u32).to_le_bytes());
    bytes.resize(32, 0);
    bytes.extend(extensions);
    bytes.extend(&file[44..]);
    bytes
}

#[test]
fn declared_axes_are_understood_and_other_extensions_counted() {
    let scene = scene(20, 2);
    let options = SplatWriteOptions::default().with_spz_version(4);
    let (file, report) = written(&scene, Format::Spz, options).unwrap();
    assert!(!report.warnings.counts().contains_key("left-out-extensions"));
    let record = |kind: u32, payload: &[u8]| {
        let size = payload.len() as u32;
        [&kind.to_le_bytes(), &size.to_le_bytes(), payload].concat()
    };
    let axes = |number: u32| record(0xADBE_0003, &number.to_le_bytes());
    let other = record(0xADBE_0002, &[0; 12]);
    let load = |extensions: &[u8]| {
        let input = Input::Memory(with_extensions(&file, extensions), "x.spz".into());
        let loaded = Reader::new(input).scene().unwrap();
        (loaded.value, loaded.report.warnings.counts().get("left-out-extensions").copied().unwrap_or(0))
    };
    let (rub, _) = load(&axes(4));
    let position = |scene: &Scene| scene.meshes[0].positions[3].map(|value| value + 0.0);
    let [x, y, z] = position(&rub);
    for (extensions, expected, dropped) in [
        (axes(0), [x, y, z], 0),
        (axes(6), [x, -y, -z], 0),
        (axes(5), [-x, -y, -z], 0),
        (axes(8), [x, y, -z], 0),
        (axes(12), [x, z, -y], 0),
        (axes(17), [x, y, z], 1),
        (record(0xADBE_0003, &[6]), [x, y, z], 1),
        ([other.clone(), axes(6)].concat(), [x, -y, -z], 1),
        ([axes(6), other[..9].to_vec()].concat(), [x, -y, -z], 1),
        (vec![1, 2, 3], [x, y, z], 1),
        (Vec::new(), [x, y, z], 0),
    ] {
        let (scene, count) = load(&extensions);
        assert_eq!((position(&scene), count), (expected.map(|value| value + 0.0), dropped), "{extensions:?}");
    }
}

#[test]
fn counts_and_order_of_compressed_ply_are_checked() {
    let scene = scene(300, 1);
    let (file, _) = written(&scene, Format::CompressedPly, SplatWriteOptions::default()).unwrap();
    let head = String::from_utf8_lossy(&file).find("end_header\n").unwrap() + 11;
    let header = std::str::from_utf8(&file[..head]).unwrap();
    let load = |header: String, body: &[u8]| {
        let bytes = [header.as_bytes(), body].concat();
        Reader::new(Input::Memory(bytes, "x.ply".into())).scene().map(|loaded| loaded.value)
    };
    for (from, to, expected) in [
        ("chunk 2", "chunk 3", "found 3 chunks for 300 splats"),
        ("chunk 2", "chunk 1", "found 1 chunks for 300 splats"),
        ("sh 300", "sh 299", "spherical harmonics for 299 of 300 splats"),
        ("property uchar f_rest_8\n", "", "found 8 spherical harmonics properties"),
    ] {
        let error = load(header.replace(from, to), &file[head..]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), polyhaul::ErrorKind::Malformed);
    }
    // Elements in another order.
    let start = |name: &str| header.find(&format!("element {name}")).unwrap();
    let [chunk, vertex, harmonics, end] = [start("chunk"), start("vertex"), start("sh"), head - 11];
    let parts = [&header[chunk..vertex], &header[vertex..harmonics], &header[harmonics..end]];
    let sizes = [2 * 72, 300 * 16, 300 * 9];
    let mut bodies = Vec::new();
    let mut at = head;
    for size in sizes {
        bodies.push(&file[at..at + size]);
        at += size;
    }
    let expected = read(file.clone(), Format::CompressedPly, SpzAxes::Rub);
    for order in [[1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        let header = format!("{}{}end_header\n", &header[..chunk], order.map(|part| parts[part]).concat());
        let scene = load(header, &order.map(|part| bodies[part]).concat()).unwrap();
        assert!(scene == expected, "{order:?}");
    }
}
