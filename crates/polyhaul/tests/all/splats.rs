//! Gaussian splat formats: handmade files, and written files.

use crate::support::read_options;
use polyhaul::model::splats::{ANTIALIASED, SplatColumns, Splats, harmonic_of, opacity_of, unit_quaternion};
use polyhaul::model::{Mesh, Scene, Values};
use polyhaul::options::{RunOptions, SplatWriteOptions};
use polyhaul::{ErrorKind, Format, Input, Loaded, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::output::bytes;
use polyhaul_testkit::scene::splats as scene;
use std::io::Read;

const FORMATS: [Format; 3] = [Format::Spz, Format::Splat, Format::CompressedPly];

fn load(bytes: Vec<u8>, format: Format) -> Loaded<Scene> {
    Reader::new(Input::Memory(bytes, "x".into())).format(format).scene().unwrap()
}

fn mesh(scene: &Scene) -> &Mesh {
    &scene.meshes[0]
}

fn written(format: Format, run: RunOptions) -> WriteOptions {
    WriteOptions::default().with_format(Some(format)).with_run(run)
}

/// The largest differences: positions, opacities, scales, rotations (as 1 - cosine of half the angle), constant
/// harmonics and others.
fn differences(a: &Splats<'_>, b: &Splats<'_>) -> [f32; 6] {
    let far = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let max_far =
        |pairs: &mut dyn Iterator<Item = (&&[f32], &&[f32])>| pairs.map(|(a, b)| far(a, b)).fold(0.0, f32::max);
    let opacities =
        |splats: &Splats<'_>| splats.opacities.iter().map(|opacity| opacity_of(*opacity)).collect::<Vec<_>>();
    let angle = |at: usize| {
        let a = unit_quaternion(a.rotation(at));
        let b = unit_quaternion(b.rotation(at));
        1.0 - a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().abs()
    };
    let constants = |splats: &Splats<'_>| splats.harmonics.each_ref().map(|channel| channel[0].to_vec());
    let colors = constants(a).iter().zip(constants(b)).map(|(a, b)| far(a, &b)).fold(0.0, f32::max);
    let others = a.harmonics.iter().zip(&b.harmonics).flat_map(|(a, b)| a[1..].iter().zip(&b[1..]));
    [
        far(a.positions.as_flattened(), b.positions.as_flattened()),
        far(&opacities(a), &opacities(b)),
        max_far(&mut a.scales.iter().zip(&b.scales)),
        (0..a.len()).map(angle).fold(0.0, f32::max),
        colors,
        max_far(&mut others.into_iter()),
    ]
}

#[test]
fn files_made_by_hand_are_read() {
    let mut count = 0;
    for (folder, ending) in
        [("splat/good", "splat"), ("spz/good", "spz"), ("packed_ply/good", "ply"), ("sog/good", "sog")]
    {
        for file in samples(folder, ending) {
            let loaded = Reader::new(Input::Memory(file.bytes(), format!("x.{ending}"))).scene().unwrap();
            let scene = &loaded.value;
            assert!(scene.tables.is_empty() && scene.meshes.len() == 1, "{}", file.name);
            let splats = Splats::from_mesh(mesh(scene)).unwrap();
            let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
            let Mesh { vertex_columns, .. } = mesh(scene);
            assert!(
                vertex_columns.iter().all(|column| matches!(&column.values, Values::F32(values) if finite(values))),
                "{}",
                file.name
            );
            assert_eq!(splats.column_count(), vertex_columns.len(), "{}", file.name);
            let dropped = file.name.contains("extension");
            assert_eq!(loaded.report.warnings.counts().contains_key("left-out-extensions"), dropped, "{}", file.name);
            count += 1;
        }
    }
    assert!(count >= 15, "{count}");
}

#[test]
fn scales_without_a_logarithm_are_counted() {
    let mut row = [0; 32];
    for (place, scale) in [-1.0_f32, f32::NAN, 0.0].into_iter().enumerate() {
        row[12 + 4 * place..][..4].copy_from_slice(&scale.to_le_bytes());
    }
    let Loaded { value, report, .. } = load(row.to_vec(), Format::Splat);
    assert_eq!(report.warnings.counts().get("clamped-numbers"), Some(&2));
    let scales = Splats::from_mesh(mesh(&value)).unwrap().scales.map(|scale| scale[0]);
    assert_eq!(scales, [f32::MIN_POSITIVE.ln(); 3]);
}

#[test]
fn numbers_of_files_are_what_their_codes_mean() {
    let read = |folder: &str, name: &str| {
        let file =
            samples(folder, name.rsplit_once('.').unwrap().1).into_iter().find(|sample| sample.name.ends_with(name));
        Reader::new(Input::Memory(file.unwrap().bytes(), name.into())).scene().unwrap().value
    };
    for name in ["v1_degree3.spz", "v2_degree3.spz", "v3_degree3.spz", "v4.spz"] {
        let scene = read("spz/good", name);
        let splats = Splats::from_mesh(mesh(&scene)).unwrap();
        // Positions in steps of 1/4, 1 and 0; y and z are negated.
        assert_eq!(splats.positions[4], [1.0, 4.0, -0.5], "{name}");
        assert!((opacity_of(splats.opacities[1]) - 14.0 / 255.0).abs() < 1e-6, "{name}");
        assert!((splats.harmonics[2][0][1] - (96.0 / 255.0 - 0.5) / 0.15).abs() < 1e-5, "{name}");
        assert!((splats.scales[1][0] - (40.0 / 16.0 - 10.0)).abs() < 1e-6, "{name}");
        // Green of the first harmonic, which is odd in y: code (41 + 11), negated.
        assert_eq!(splats.harmonics[1][1][0], -(52.0 - 128.0) / 128.0, "{name}");
        // Blue of the third harmonic, which is even in both axes: code 8 · 41 + 11, modulo 256.
        assert_eq!(splats.harmonics[2][3][0], (83.0 - 128.0) / 128.0, "{name}");
    }
    let scene = read("splat/good", "rows.splat");
    let splats = Splats::from_mesh(mesh(&scene)).unwrap();
    assert_eq!((splats.len(), splats.positions[2]), (20, [1.0, -2.0, 0.5]));
    assert_eq!(splats.scales.map(|scale| scale[4]), [2f32, 1.0, 0.25].map(f32::ln));
    assert_eq!(splats.harmonics[1][0][3], harmonic_of(252.0 / 255.0));
    let unit = unit_quaternion([1.0 / 128.0, 0.0, -0.5, 72.0 / 128.0]);
    assert_eq!(splats.rotation(1), unit);
    let scene = read("packed_ply/good", "chunks.ply");
    let splats = Splats::from_mesh(mesh(&scene)).unwrap();
    assert_eq!((splats.len(), splats.degree()), (300, 1));
    // Splat 256 is the first of the second chunk: its x is between -2 and 1.
    let part = ((256u64 * 2_654_435_761 + 12_345) as u32 >> 21) as f32 / 2047.0;
    assert!((splats.positions[256][0] - (-2.0 + 3.0 * part)).abs() < 1e-5);
    assert_eq!(splats.harmonics[0][1][0], ((5.0 + 0.5) / 256.0 - 0.5) * 8.0);
}

#[test]
fn splats_come_back_as_precise_as_is_said() {
    // Half a step each, plus rounding: positions, opacities, scales, rotations, colors, harmonics.
    let spz = [0.51 / 4096.0, 0.51 / 255.0, 0.51 / 16.0, 5e-6, 0.51 / 38.25, 0.067];
    let splat = [0.0, 0.51 / 255.0, 1e-5, 1e-4, 0.51 / 255.0 / 0.282, 0.0];
    let packed = [0.51 * 40.0 / 1023.0, 0.51 / 255.0, 0.51 * 10.0 / 1023.0, 2e-6, 0.51 * 3.5 / 255.0, 0.51 / 32.0];
    for degree in 0..=4 {
        let scene = scene(700, degree);
        for (format, tolerances) in FORMATS.into_iter().zip([spz, splat, packed]) {
            let splats = SplatWriteOptions::default().with_keep_order(true);
            let options = written(format, RunOptions::default()).with_splats(splats);
            let loaded = load(bytes(&scene, &options), format);
            assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
            let a = Splats::from_mesh(mesh(&scene)).unwrap();
            let b = Splats::from_mesh(mesh(&loaded.value)).unwrap();
            let stored = [4, 0, 3][FORMATS.iter().position(|other| *other == format).unwrap()];
            assert_eq!((b.len(), b.degree()), (700, degree.min(stored)), "{format:?}");
            let far = differences(&a.up_to_degree(stored), &b);
            assert!(
                far.iter().zip(tolerances).all(|(far, tolerance)| *far <= tolerance),
                "{format:?} {degree}: {far:?} {tolerances:?}"
            );
        }
    }
}

#[test]
fn version_2_of_spz_has_short_rotations() {
    let scene = scene(100, 1);
    let splats = SplatWriteOptions::default().with_spz_version(2).with_spz_level(6);
    let file = bytes(&scene, &written(Format::Spz, RunOptions::default()).with_splats(splats));
    let loaded = load(file, Format::Spz).value;
    let a = Splats::from_mesh(mesh(&scene)).unwrap();
    let b = Splats::from_mesh(mesh(&loaded)).unwrap();
    let far = differences(&a, &b);
    assert!(far[0] < 2e-4 && far[3] < 8e-3 && far[3] > 1e-6, "{far:?}");
}

fn spz(version: u8, run: RunOptions) -> WriteOptions {
    written(Format::Spz, run).with_splats(SplatWriteOptions::default().with_spz_version(version))
}

#[test]
fn version_4_of_spz_has_the_values_of_version_3() {
    for degree in 0..=4 {
        let mut scene = scene(2000, degree);
        scene.infos.push(ANTIALIASED.into());
        let [three, four] = [3, 4].map(|version| bytes(&scene, &spz(version, RunOptions::default())));
        assert_eq!((four[4], four[15]), (4, if degree == 0 { 5 } else { 6 }));
        assert!(load(four, Format::Spz).value == load(three, Format::Spz).value, "{degree}");
    }
    let empty = SplatColumns::default().into_scene().unwrap();
    let file = bytes(&empty, &spz(4, RunOptions::default()));
    assert_eq!((file.len(), mesh(&load(file, Format::Spz).value).positions.len()), (44, 0));
}

#[test]
fn frames_of_version_4_depend_on_the_splats_alone() {
    // Frames end inside streams; with little memory, all are compressed twice.
    let scene = scene(400_000, 1);
    let run = |threads, memory: u64| {
        RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory).with_chunk_bytes(Some(5000))
    };
    let single_threaded = bytes(&scene, &spz(4, run(1, 64 << 20)));
    for (threads, memory) in [(3, 64 << 20), (3, 20 << 20), (3, 1 << 10), (1, 1 << 10)] {
        assert!(single_threaded == bytes(&scene, &spz(4, run(threads, memory))), "{threads} {memory}");
    }
    let level = SplatWriteOptions::default().with_spz_version(4).with_spz_level(19);
    let small = bytes(&scene, &spz(4, run(2, 64 << 20)).with_splats(level));
    assert!(small != single_threaded && load(small, Format::Spz).value == load(single_threaded, Format::Spz).value);
}

#[test]
fn versions_and_levels_of_spz_that_do_not_exist_are_refused() {
    let folder = Folder::new("splats-levels").unwrap();
    let write = |name: &str, version, level| {
        let splats = SplatWriteOptions::default().with_spz_version(version).with_spz_level(level);
        Writer::new(folder.join(name)).options(&WriteOptions::default().with_splats(splats)).scene(&scene(3, 0))
    };
    for (version, level) in [(2, 12), (3, 12), (4, 22)] {
        assert!(write("x.spz", version, level).is_ok());
        assert_eq!(write("x.spz", version, level + 1).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(write("x.spz.gz", version, level).unwrap_err().kind(), ErrorKind::Usage);
    }
    assert_eq!(write("x.spz", 1, 1).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(write("x.spz", 5, 1).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn bytes_are_the_same_for_any_threads() {
    let scene = scene(100_000, 1);
    for format in FORMATS {
        let single_threaded = bytes(&scene, &written(format, RunOptions::default().with_threads(Some(1))));
        let run = RunOptions::default().with_threads(Some(7));
        assert!(single_threaded == bytes(&scene, &written(format, run)), "{format:?}");
        let read = |threads: usize, chunk: Option<usize>| {
            let options = read_options(threads, chunk).with_format(Some(format));
            Reader::new(Input::Memory(single_threaded.clone(), "x".into())).options(&options).scene().unwrap().value
        };
        let expected = read(1, None);
        assert!(read(3, Some(1000)) == expected && read(7, None) == expected, "{format:?}");
    }
}

#[test]
fn spz_is_one_gzip_member() {
    let file = bytes(&scene(100_000, 3), &written(Format::Spz, RunOptions::default()));
    let mut plain = Vec::new();
    let mut rest = &file[..];
    // This reader stops after the first member.
    flate2::bufread::GzDecoder::new(&mut rest).read_to_end(&mut plain).unwrap();
    assert_eq!((plain.len(), rest.len()), (16 + 100_000 * 65, 0));
    assert_eq!(&plain[..16], b"NGSP\x03\0\0\0\xa0\x86\x01\0\x03\x0c\0\0");
}

#[test]
fn splats_far_away_have_fewer_fractional_bits() {
    let mut scene = scene(10, 0);
    scene.meshes[0].positions = vec![[5000.0, -4000.0, 0.25]; 10].into();
    let loaded = load(bytes(&scene, &written(Format::Spz, RunOptions::default())), Format::Spz).value;
    assert_eq!(mesh(&loaded).positions[3], [5000.0, -4000.0, 0.25]);
}

#[test]
fn splats_that_are_close_follow_each_other_in_compressed_ply() {
    let scene = scene(2000, 0);
    let options = |keep: bool| {
        let splats = SplatWriteOptions::default().with_keep_order(keep);
        written(Format::CompressedPly, RunOptions::default()).with_splats(splats)
    };
    let walk = |keep: bool| {
        let loaded = load(bytes(&scene, &options(keep)), Format::CompressedPly).value;
        let positions = &mesh(&loaded).positions;
        let step = |pair: &[[f32; 3]]| (0..3).map(|axis| (pair[0][axis] - pair[1][axis]).powi(2)).sum::<f32>().sqrt();
        positions.windows(2).map(step).sum::<f32>()
    };
    assert!(walk(false) < 0.3 * walk(true), "{} {}", walk(false), walk(true));
    let report =
        Writer::new(Output::Writer(Box::new(std::io::sink()), "x".into())).options(&options(false)).scene(&scene);
    assert!(report.unwrap().warnings.counts().contains_key("changed-order"));
}

#[test]
fn losses_are_counted_and_other_scenes_refused() {
    let mut lossy = scene(10, 2);
    lossy.infos.push(ANTIALIASED.into());
    lossy.comments.push("a comment".into());
    lossy.meshes[0].normals = vec![[0.0; 3]; 10].into();
    lossy.meshes[0].normal_domain = polyhaul::model::Domain::Vertex;
    for format in FORMATS {
        let options = written(format, RunOptions::default());
        let write = |scene: &Scene, options: &WriteOptions| {
            Writer::new(Output::Writer(Box::new(std::io::sink()), "x".into())).options(options).scene(scene)
        };
        let counts = write(&lossy, &options).unwrap().warnings.counts().clone();
        let remarks = match format {
            Format::Spz => Some(&1),
            Format::CompressedPly => None,
            _ => Some(&2),
        };
        assert_eq!(counts.get("left-out-remarks"), remarks, "{format:?}");
        assert_eq!(counts.get("left-out-normals"), None, "{format:?}: {counts:?}");
        assert_eq!(counts.get("changed-numbers"), Some(&10), "{format:?}");
        let harmonics = if format == Format::Splat { Some(&24) } else { None };
        assert_eq!(counts.get("left-out-harmonics"), harmonics, "{format:?}");
        let kinds = |scene: &Scene, options: &WriteOptions| write(scene, options).unwrap_err().kind();
        assert_eq!(kinds(&lossy, &options.clone().with_strict(true)), ErrorKind::Unsupported);
        let triangle = polyhaul_testkit::corpus::samples("obj/good", "obj").remove(0);
        let triangle = Reader::new(Input::Memory(triangle.bytes(), "x.obj".into())).scene().unwrap().value;
        assert_eq!(kinds(&triangle, &options), ErrorKind::Unsupported);
    }
}

#[test]
fn antialiasing_is_kept() {
    let mut scene = scene(3, 0);
    scene.infos.push(ANTIALIASED.into());
    let remark = std::mem::take(&mut scene.infos).remove(0);
    for (format, remarks) in [(Format::Spz, &["SplatRenderMode: mip"][..]), (Format::CompressedPly, &[])] {
        for remark in [&remark, "SplatRenderMode: mip", "antialiased 1", "splat_model: antialiased"] {
            scene.comments = vec![remark.to_owned()];
            let file = bytes(&scene, &written(format, RunOptions::default()));
            let loaded = load(file.clone(), format).value;
            assert!(loaded.comments.iter().any(|comment| comment == "SplatRenderMode: mip"), "{remark}");
            assert!(remarks.is_empty() || loaded.comments == remarks, "{:?}", loaded.comments);
            // Writing the result again gives the same bytes.
            let again = load(bytes(&loaded, &written(Format::Spz, RunOptions::default())), Format::Spz).value;
            assert_eq!(again.comments, ["SplatRenderMode: mip"]);
        }
        scene.comments = vec!["antialiased 0".into()];
        let loaded = load(bytes(&scene, &written(format, RunOptions::default())), format).value;
        assert!(!loaded.comments.iter().any(|comment| comment == "SplatRenderMode: mip"));
    }
}

#[test]
fn broken_files_are_errors() {
    for (folder, ending) in [("splat/bad", "splat"), ("spz/bad", "spz"), ("packed_ply/bad", "ply")] {
        for file in samples(folder, ending) {
            let options = ReadOptions::default().with_strict(true);
            let input = Input::Memory(file.bytes(), format!("x.{ending}"));
            let error = Reader::new(input).options(&options).scene().unwrap_err();
            let is_data = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Limit);
            assert!(is_data, "{}: {error}", file.name);
        }
    }
}

#[test]
fn names_and_contents_tell_formats() {
    for (name, format) in [
        ("a.compressed.ply", Some(Format::CompressedPly)),
        ("a.b.Compressed.PLY", Some(Format::CompressedPly)),
        ("compressed.ply", Some(Format::Ply)),
        ("a.compressed.ply.gz", Some(Format::CompressedPly)),
        ("a.ply", Some(Format::Ply)),
        ("a.spz", Some(Format::Spz)),
        ("a.splat", Some(Format::Splat)),
        (".ply", None),
    ] {
        assert_eq!(Format::of_path(std::path::Path::new(name)), format, "{name}");
    }
    let scene = scene(3, 0);
    let folder = Folder::new("splats-names").unwrap();
    let path = folder.join("a.compressed.ply");
    polyhaul::write(&scene, &path).unwrap();
    // Detected by its content, it is a PLY file with splats, whose elements are also available as tables.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(mesh(&load(bytes.clone(), Format::Ply).value).positions.len(), 3);
    let tables = Reader::new(Input::Memory(bytes, "x.ply".into())).tables().unwrap().value.tables;
    assert_eq!(tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["chunk", "vertex"]);
    let spz = polyhaul_testkit::output::bytes(&scene, &written(Format::Spz, RunOptions::default()));
    let loaded = Reader::new(Input::Memory(spz, "unnamed".into())).scene().unwrap();
    assert_eq!(mesh(&loaded.value).positions.len(), 3);
    let error = polyhaul::write(&scene, folder.join("x.spz.gz")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn gltf_has_splats_upright_and_gives_them_back() {
    let scene = scene(300, 3);
    let loaded = load(bytes(&scene, &written(Format::Glb, RunOptions::default())), Format::Glb);
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    let a = Splats::from_mesh(mesh(&scene)).unwrap();
    let b = Splats::from_mesh(mesh(&loaded.value)).unwrap();
    assert_eq!((b.len(), b.degree(), loaded.value.axes), (300, 3, scene.axes));
    let far = differences(&a, &b);
    assert!(far.iter().zip([0.0, 1e-6, 1e-6, 1e-6, 0.0, 0.0]).all(|(far, max)| *far <= max), "{far:?}");
    // The file negates y and z, where viewers expect splats.
    let file = bytes(&scene, &written(Format::Glb, RunOptions::default()));
    let start = 28 + u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let first = [0, 4, 8].map(|at| f32::from_le_bytes(file[start + at..start + at + 4].try_into().unwrap()));
    let [x, y, z] = a.positions[0];
    assert_eq!(first, [x, -y, -z]);
    // A mesh next to the splats is turned as well, and keeps its place among them.
    let mut both = scene.clone();
    both.meshes.push(Mesh { positions: vec![[1.0, 2.0, 3.0]].into(), ..Mesh::default() });
    both.objects.clear();
    let again = load(bytes(&both, &written(Format::Glb, RunOptions::default())), Format::Glb).value;
    assert_eq!(again.meshes[1].positions, [[1.0, 2.0, 3.0]]);
    assert_eq!(again.meshes[0], *mesh(&loaded.value));
}

#[test]
fn splats_of_moved_objects_are_moved_where_a_format_has_no_objects() {
    let turned = [[0.0, -2.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]];
    let mut placed = scene(50, 3);
    placed.objects[0].transform = Some(turned);
    let mut moved = scene(50, 3);
    let matrix = turned.map(|row| row.map(f64::from));
    polyhaul::ops::MeshOps::transform_with(&mut moved.meshes[0], &matrix, &RunOptions::default()).unwrap();
    for format in [Format::Ply, Format::Spz, Format::Splat, Format::CompressedPly] {
        let options = written(format, RunOptions::default());
        assert!(bytes(&placed, &options) == bytes(&moved, &options), "{format:?}");
    }
    // glTF has nodes: splats stay unchanged, and the object keeps its transform.
    let loaded = load(bytes(&placed, &written(Format::Glb, RunOptions::default())), Format::Glb).value;
    assert_eq!(loaded.objects[0].transform, Some(turned));
    assert_eq!(
        Splats::from_mesh(mesh(&loaded)).unwrap().positions,
        Splats::from_mesh(mesh(&placed)).unwrap().positions
    );
    // The same for axes and scale.
    let axes = polyhaul::model::Axes::BLENDER;
    let mut options = written(Format::Spz, RunOptions::default());
    options.scene =
        options.scene.with_forward_axis(Some(axes.forward)).with_up_axis(Some(axes.up)).with_global_scale(3.0);
    let mut expected = moved.clone();
    polyhaul::ops::SceneOps::transform_axes(&mut expected, axes, 3.0).unwrap();
    assert!(bytes(&placed, &options) == bytes(&expected, &written(Format::Spz, RunOptions::default())));
    let mut sheared = placed.clone();
    sheared.objects[0].transform = Some([[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], turned[3]]);
    for format in [Format::Ply, Format::Glb] {
        let output = Output::Writer(Box::new(std::io::sink()), "x".into());
        let error = Writer::new(output).options(&written(format, RunOptions::default())).scene(&sheared).unwrap_err();
        let kinds = [ErrorKind::Usage, ErrorKind::Unsupported];
        assert!(kinds.contains(&error.kind()) && error.to_string().contains("shear"), "{format:?}: {error}");
    }
}
