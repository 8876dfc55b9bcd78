//! Properties of any bytes read as PLY, STL, OFF or glTF.

use super::no_fault;
use super::trial::{Effort, RETURN_SHARE, Trial};
use crate::options::PlyEncoding;
use crate::output::{Shared, try_named};
use crate::scene::broken_rule;
use crate::summary::{self, outcome};
use polyhaul::model::{Scalar, Scene, Table};
use polyhaul::options::{Digits, OnError, SceneWriteOptions};
use polyhaul::{Error, ErrorKind, Format, Input, Loaded, Output, ReadOptions, Reader, Tables, WriteOptions, Writer};

/// Reads a PLY file as a scene and as tables; all ways of reading must agree, and valid content must survive a round
/// trip.
pub fn ply(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.ply", effort);
    let options = trial.options();
    let has_scene = trial.draws(2);
    if has_scene {
        let text = |result: &Result<Loaded<Scene>, Error>| (outcome(result), whole(result));
        let result = trial.read(&options, |input, options| Reader::new(input()).options(options).scene(), text);
        result.as_ref().err().into_iter().for_each(no_fault);
        if let Ok(loaded) = &result {
            assert_eq!(broken_rule(&loaded.value), None);
            if trial.draws(RETURN_SHARE) {
                scene_comes_back(&trial, &loaded.value);
            }
        }
    }
    if !has_scene || effort == Effort::Full {
        ply_tables(&mut trial, &options);
    }
}

fn ply_tables(trial: &mut Trial<'_>, options: &ReadOptions) {
    let text = |result: &Result<Loaded<Tables>, Error>| match result {
        Ok(loaded) => format!("{:?} {:?}", loaded.value.tables, loaded.report.warnings),
        Err(error) => summary::error(error),
    };
    let result = trial.read(options, |input, options| Reader::new(input()).options(options).tables(), text);
    result.as_ref().err().into_iter().for_each(no_fault);
    if let Ok(loaded) = &result {
        let is_whole = |table: &Table| table.columns.iter().all(|column| column.row_count() == table.row_count);
        assert!(loaded.value.tables.iter().all(is_whole));
        if trial.draws(RETURN_SHARE) {
            tables_come_back(trial, &loaded.value.tables);
        }
    }
}

/// Prints the entire scene, including arrays that [`summary`] hashes.
fn whole(result: &Result<Loaded<Scene>, Error>) -> String {
    result.as_ref().map(|loaded| format!("{:?}", loaded.value)).unwrap_or_default()
}

/// Reads an STL file, ASCII or binary; all ways of reading must agree, and the triangles of valid scenes must survive a
/// round trip.
pub fn stl(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.stl", effort);
    // The size of a stream is unknown, so binary files that look like text are ambiguous.
    if data.trim_ascii_start().to_ascii_lowercase().starts_with(b"solid") {
        trial = trial.without_streams();
    }
    let mut options = trial.options();
    options.stl.weld = trial.random.once_in(2);
    let Some(scene) = valid_scene(&mut trial, &options) else { return };
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    if !options.stl.weld {
        return triangles_come_back(&trial, &scene);
    }
    options.stl.weld = false;
    if let Ok(loaded) = Reader::new(trial.memory()).options(&options).scene() {
        triangles_come_back(&trial, &loaded.value);
    }
}

/// Reads and validates a scene; all ways of reading must agree.
pub(super) fn valid_scene(trial: &mut Trial<'_>, options: &ReadOptions) -> Option<Scene> {
    let text = |result: &Result<Loaded<Scene>, Error>| (outcome(result), whole(result));
    let result = trial.read(options, |input, options| Reader::new(input()).options(options).scene(), text);
    result.as_ref().err().into_iter().for_each(no_fault);
    let scene = result.ok()?.value;
    assert_eq!(broken_rule(&scene), None);
    Some(scene)
}

/// Reads an OFF file; all ways of reading must agree, and valid scenes must survive a round trip, except that colors
/// are rounded.
pub fn off(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.off", effort);
    let options = trial.options();
    let Some(scene) = &valid_scene(&mut trial, &options) else { return };
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    for float_colors in [false, true] {
        let off = SceneWriteOptions::default().with_float_colors(float_colors);
        let options = trial.write_options().with_format(Some(Format::Off)).with_scene(off);
        let bytes = try_named(scene, "x.off", &options).expect("a scene that was read is written");
        let back = Reader::new(Input::Memory(bytes, "x.off".into()))
            .options(&trial.plain_options())
            .scene()
            .expect("what is written is read");
        let mut codes = back.report.warnings.counts().keys();
        assert!(codes.all(|code| *code == "rounded"), "{:?}", back.report.warnings);
        // In text, all NaNs are equal; colors may be rounded, and are compared below.
        let plain = |scene: &Scene| {
            let mut meshes = scene.meshes.clone();
            meshes.iter_mut().for_each(|mesh| mesh.colors = Vec::new().into());
            format!("{meshes:?} {:?}", scene.objects)
        };
        assert_eq!(plain(&back.value), plain(scene));
        for (mesh_read, expected) in back.value.meshes.iter().zip(&scene.meshes) {
            assert_eq!(mesh_read.colors.len(), expected.colors.len());
            let channels = mesh_read.colors.as_flattened().iter().zip(expected.colors.as_flattened());
            let step = if float_colors { 0.0 } else { 0.503 / 255.0 };
            for (actual, expected) in channels.filter(|(_, expected)| !expected.is_nan()) {
                assert!((actual - expected.clamp(0.0, 1.0)).abs() <= step, "{actual} {expected} {float_colors}");
            }
        }
    }
}

/// Reads a glTF file; all ways of reading must agree, and the face count of valid scenes must survive a round trip,
/// unless glTF cannot store their numbers.
pub fn gltf(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.glb", effort);
    let options = trial.options();
    let Some(scene) = &valid_scene(&mut trial, &options) else { return };
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    let bytes = match try_named(scene, "x.glb", &trial.write_options().with_format(Some(Format::Glb))) {
        Ok(bytes) => bytes,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    };
    let input = Input::Memory(bytes, "x.glb".into());
    let back = Reader::new(input).options(&trial.plain_options()).scene().expect("what is written is read").value;
    assert_eq!(broken_rule(&back), None);
    let faces = |scene: &Scene| {
        let shown = scene.objects.iter().map(|object| scene.meshes[object.mesh].faces.len());
        shown.sum::<usize>()
    };
    assert_eq!(faces(&back), faces(scene));
}

const ENCODINGS: [PlyEncoding; 3] = PlyEncoding::ALL;

fn encoded(trial: &Trial<'_>, encoding: PlyEncoding) -> WriteOptions {
    let mut options = trial.write_options().with_format(Some(Format::Ply));
    encoding.set(&mut options);
    options
}

/// Checks that tables survive a round trip, except tables with 64-bit integers, which PLY cannot store.
fn tables_come_back(trial: &Trial<'_>, tables: &[Table]) {
    let is_wide = |scalar| matches!(scalar, Scalar::I64 | Scalar::U64);
    if tables.iter().flat_map(|table| &table.columns).any(|column| is_wide(column.values.scalar())) {
        return;
    }
    // Names with control characters or whitespace are changed when written.
    let is_odd = |name: &str| name.contains(char::is_control) || name.contains(char::is_whitespace);
    let names = tables.iter().flat_map(|table| table.columns.iter().map(|column| &column.name).chain([&table.name]));
    if names.into_iter().any(|name| is_odd(name)) {
        return;
    }
    for encoding in ENCODINGS {
        let shared = Shared::default();
        let output = Output::Writer(Box::new(shared.clone()), "x.ply".into());
        Writer::new(output)
            .options(&encoded(trial, encoding))
            .tables(tables)
            .expect("tables that were read are written");
        let input = Input::Memory(shared.take(), "x.ply".into());
        let back =
            Reader::new(input).options(&trial.plain_options()).tables().expect("what is written is read").value.tables;
        let shown = |tables: &[Table]| format!("{tables:?}");
        assert_eq!(shown(&back), shown(tables), "{encoding:?}");
    }
}

/// Checks that the number of faces survives a round trip.
fn scene_comes_back(trial: &Trial<'_>, scene: &Scene) {
    for encoding in ENCODINGS {
        let bytes = match try_named(scene, "x.ply", &encoded(trial, encoding)) {
            Ok(bytes) => bytes,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::Usage, "{error}"),
        };
        let back = Reader::new(Input::Memory(bytes, "x.ply".into()))
            .options(&trial.plain_options())
            .scene()
            .expect("what is written is read");
        assert_eq!(broken_rule(&back.value), None);
        let faces = |scene: &Scene| scene.meshes.iter().map(|mesh| mesh.faces.len()).sum::<usize>();
        assert_eq!(faces(&back.value), faces(scene), "{encoding:?}");
    }
}

/// Checks that every bit of every triangle survives a round trip, in ASCII and binary; in ASCII, all NaNs are equal.
fn triangles_come_back(trial: &Trial<'_>, scene: &Scene) {
    for ascii in [false, true] {
        let stl = SceneWriteOptions::default().with_ascii(ascii).with_digits(Some(Digits::Shortest));
        let options = trial.write_options().with_format(Some(Format::Stl)).with_scene(stl);
        let bytes = match try_named(scene, "x.stl", &options) {
            Ok(bytes) => bytes,
            Err(error) => panic!("a scene that was read is not written: {error}"),
        };
        let strict = trial.plain_options().with_on_error(OnError::Raise);
        let back = Reader::new(Input::Memory(bytes, "x.stl".into()))
            .options(&strict)
            .scene()
            .expect("what is written is read");
        assert_eq!(triangles(&back.value), triangles(scene), "as text: {ascii}");
    }
}

fn triangles(scene: &Scene) -> Vec<String> {
    let mut lines = Vec::new();
    for mesh in &scene.meshes {
        for (face, corners) in mesh.faces.corner_positions.chunks(3).enumerate() {
            let corners: Vec<_> = corners.iter().map(|&corner| mesh.positions[corner as usize]).collect();
            lines.push(format!("{:?} {corners:?}", mesh.normals[face]));
        }
    }
    lines
}
