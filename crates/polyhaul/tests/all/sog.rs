//! SOG: handmade files, and a file from another program.

use polyhaul::model::splats::{ANTIALIASED_COMMENT, Splats, harmonic_of, logit_of, opacity_of};
use polyhaul::model::{Scene, Values};
use polyhaul::options::{Limits, OnError, RunOptions};
use polyhaul::{ErrorKind, Format, Input, ReadOptions, Reader};
use polyhaul_testkit::corpus::{Folder, Sample, samples};
use std::path::PathBuf;

fn sample(folder: &str, name: &str) -> Sample {
    let (_, ending) = name.rsplit_once('.').unwrap();
    samples(folder, ending).into_iter().find(|file| file.path.ends_with(name)).unwrap()
}

fn read(file: &Sample, options: &ReadOptions) -> polyhaul::Result<polyhaul::Loaded<Scene>> {
    Reader::new(Input::Memory(file.bytes(), "x.sog".into())).options(options).scene()
}

fn good(name: &str) -> Scene {
    let loaded = read(&sample("sog/good", name), &ReadOptions::default()).unwrap();
    assert!(loaded.report.warnings.is_empty(), "{name}");
    loaded.value
}

fn splats(scene: &Scene) -> Splats<'_> {
    Splats::from_mesh(&scene.meshes[0]).unwrap()
}

/// Byte of a pixel in handmade files.
fn byte(at: usize, step: usize) -> u8 {
    ((at * step + 11) % 256) as u8
}

fn close(decoded: &[f32], expected: &[f64]) -> bool {
    decoded
        .iter()
        .zip(expected)
        .all(|(decoded, expected)| (f64::from(*decoded) - expected).abs() <= 1e-6 * expected.abs().max(1.0))
}

/// Position of a splat in handmade files.
fn position(at: usize) -> [f64; 3] {
    let ranges = [(-1.0, 1.0, 3, 17), (-2.0, 2.0, 5, 19), (0.0, 3.0, 7, 23)];
    ranges.map(|(min, max, low, high): (f64, f64, usize, usize)| {
        let part = f64::from(u16::from_le_bytes([byte(at, low), byte(at, high)])) / 65_535.0;
        let logarithm = min + (max - min) * part;
        logarithm.signum() * (logarithm.abs().exp() - 1.0)
    })
}

#[test]
fn numbers_of_files_are_what_their_bytes_mean() {
    let [second, first] = [good("v2_degree1.sog"), good("v1_degree1.sog")];
    assert_eq!((second.comments, first.comments.len()), (vec![ANTIALIASED_COMMENT.to_owned()], 0));
    let second = good("v2_degree1.sog");
    let second = splats(&second);
    let first = splats(&first);
    assert_eq!([second.len(), second.degree(), first.len(), first.degree()], [10, 1, 10, 1]);
    for at in 0..10 {
        assert!(close(&second.positions[at], &position(at)) && close(&first.positions[at], &position(at)), "{at}");
        let part = |step| (f64::from(byte(at, step)) / 255.0 * 2.0 - 1.0) * 0.5f64.sqrt();
        let mut rotation = vec![part(29), part(31), part(37)];
        let square: f64 = rotation.iter().map(|part| part * part).sum();
        rotation.insert(at % 4, (1.0 - square).max(0.0).sqrt());
        assert!(close(&second.rotation(at), &rotation) && close(&first.rotation(at), &rotation), "{at}");
        // Codebooks of the second version: the byte number times 3, 7 and 1, modulo 10.
        let code = |byte: u8, step: u32| (u32::from(byte) * step % 10) as f32;
        assert_eq!(second.scales.map(|scale| scale[at])[1], code(byte(at, 2), 3));
        assert_eq!(second.harmonics[2][0][at], code(byte(at, 47), 7));
        assert_eq!(second.opacities[at], logit_of((at * 17) as f32 / 255.0));
        // Ranges of the first version.
        let even = |byte: u8, min: f64, max: f64| min + (max - min) * f64::from(byte) / 255.0;
        assert!(close(&[first.scales[2][at]], &[even(255 - at as u8, -6.0, 2.0)]));
        assert!(close(&[first.harmonics[1][0][at]], &[even(byte(at, 43), -2.0, 2.0)]));
        assert!(close(&[first.opacities[at]], &[even((at * 17) as u8, -4.0, 4.0)]));
        // Entry 9 · `at`, modulo 70, of a palette with 3 pixels per entry; green is in the second pixel, blue in the
        // third.
        let pixel = |number: usize| 3 * (at * 9 % 70) + number;
        assert_eq!(second.harmonics[0][2][at], code(byte(pixel(1), 3), 1));
        assert!(close(&[first.harmonics[2][3][at]], &[even(byte(pixel(2), 7), -0.5, 1.5)]));
    }
}

#[test]
fn another_program_reads_the_same_numbers() {
    let ours = read(&sample("sog/peer", "degree1.sog"), &ReadOptions::default()).unwrap().value;
    let ply = sample("sog/peer", "degree1.ply");
    let theirs = Reader::new(Input::Path(ply.path)).scene().unwrap().value;
    let ours = &ours.meshes[0];
    let theirs = &theirs.meshes[0];
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    assert!(close(ours.positions.as_flattened(), &wide(theirs.positions.as_flattened())));
    assert_eq!((ours.positions.len(), ours.vertex_columns.len()), (40, 20));
    for column in &ours.vertex_columns {
        let other = theirs.vertex_columns.iter().find(|other| other.name == column.name).unwrap();
        let Values::F32(ours) = &column.values else { panic!("{}", column.name) };
        let Values::F32(theirs) = &other.values else { panic!("{}", column.name) };
        assert!(close(ours, &wide(theirs)), "{}: {ours:?} {theirs:?}", column.name);
    }
}

#[test]
fn archives_and_folders_are_the_same_splats() {
    let expected = good("v2_degree1.sog");
    // In a folder of the archive, compressed.
    assert_eq!(good("packed.sog").meshes, expected.meshes);
    let folder: PathBuf = sample("sog/good", "v2.sog").path.parent().unwrap().with_file_name("folder");
    let loaded = Reader::new(folder.join("meta.json")).scene().unwrap();
    assert_eq!(loaded.value.meshes, expected.meshes);
    let bytes = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>();
    assert_eq!(loaded.report.bytes_in, bytes);
    // For any archive name, and with an explicit format.
    let bytes = sample("sog/good", "v2_degree1.sog").bytes();
    for options in [ReadOptions::default(), ReadOptions::default().with_format(Some(Format::Sog))] {
        let loaded = Reader::new(Input::Memory(bytes.clone(), "splats.zip".into())).options(&options).scene().unwrap();
        assert_eq!(loaded.value.meshes, expected.meshes);
    }
    // JSON without its images.
    let json = std::fs::read(folder.join("meta.json")).unwrap();
    let error = Reader::new(Input::Memory(json, "x".into())).scene().unwrap_err();
    assert!(error.to_string().contains("cannot read the image `means_l.webp`"), "{error}");
    assert_eq!(Reader::new(Input::Path(sample("sog/good", "v2.sog").path)).scene().unwrap().value, good("v2.sog"));
}

#[test]
fn many_splats_are_the_same_for_any_threads() {
    let file = sample("sog/good", "many.sog");
    let with = |threads| {
        let run = RunOptions::default().with_threads(Some(threads));
        read(&file, &ReadOptions::default().with_run(run)).unwrap().value
    };
    let single_threaded = with(1);
    assert!(single_threaded == with(3) && single_threaded == with(7));
    let splats = splats(&single_threaded);
    assert_eq!(splats.len(), 50_000);
    for at in [0, 32_767, 32_768, 49_999] {
        assert!(close(&splats.positions[at], &position(at)), "{at}");
        let opacity = opacity_of(splats.opacities[at]);
        assert!((opacity - (at * 17 % 256) as f32 / 255.0).abs() < 2e-6, "{at}");
    }
}

#[test]
fn a_codebook_may_lack_its_first_number() {
    let scene = good("null.sog");
    // (3 + (3 - 5) / 255): the second number of the codebook, and the last one, 255 · 3 modulo 10.
    assert!(close(&[splats(&scene).scales[0][0]], &[3.0 + (3.0 - 5.0) / 255.0]));
    assert_eq!(splats(&scene).scales[0][1], 3.0);
    let empty = good("empty.sog");
    assert_eq!((empty.meshes.len(), empty.objects.len()), (1, 0));
    assert_eq!(good("extended.sog").meshes, good("v2.sog").meshes);
    assert!(harmonic_of(0.5).abs() < 1e-9);
}

#[test]
fn broken_files_say_what_is_wrong() {
    use ErrorKind::{Io, Limit, Malformed, Unsupported};
    let messages = [
        ("animated", Unsupported, "the image is animated"),
        ("bands", Malformed, "the palette is 192 pixels wide"),
        ("codebook", Malformed, "`sh0.codebook` has length 255; expected 256"),
        ("count", Malformed, "the image has only 4 x 3 pixels for 13 splats"),
        ("cut", Malformed, "unexpected end of file"),
        ("files", Malformed, "`means.files` has length 1; expected 2"),
        ("huge", Malformed, "only 4 x 3 pixels for 4000000000 splats"),
        ("json", Malformed, "invalid JSON: unexpected end of file in"),
        ("label", Malformed, "invalid value for splat 8: the palette entry does not exist"),
        ("large", Limit, "`image_ratio`"),
        ("lossy", Unsupported, "the image is lossy WebP"),
        ("missing", Io, "cannot read the image `quats.webp`"),
        ("no_count", Malformed, "missing number of splats (`count`)"),
        ("no_files", Malformed, "`shN.files` has length 0; expected 2"),
        ("no_pixels", Malformed, "it has no pixels"),
        ("null", Malformed, "a value of `sh0` is not a finite number"),
        ("outside", Unsupported, "outside the scene's folder"),
        ("overflow", Malformed, "a value of `scales` is not a finite number"),
        ("palette", Malformed, "the palette has room for 128 entries; expected 129"),
        ("png", Unsupported, "the image is not WebP"),
        ("quat", Malformed, "invalid value for splat 1: the alpha of a rotation"),
        ("range", Malformed, "too large for a position"),
        ("ranges", Malformed, "`means.mins` has length 2; expected 3"),
        ("version", Unsupported, "unsupported SOG version 3"),
    ];
    let files = samples("sog/bad", "sog");
    assert_eq!(files.len(), messages.len());
    for (name, kind, message) in messages {
        let error = read(&sample("sog/bad", &format!("{name}.sog")), &ReadOptions::default()).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(message), "{name}: {:?} {error}", error.kind());
        assert!(name == "missing" || !error.place().file.is_empty() || kind == Unsupported, "{name}: {error}");
    }
    let limits = Limits::default().with_pixels(11);
    let error = read(&sample("sog/good", "v2.sog"), &ReadOptions::default().with_limits(limits)).unwrap_err();
    assert!(error.kind() == Limit && error.to_string().contains("`pixels`"), "{error}");
    let limits = Limits::default().with_elements(9);
    assert_eq!(
        read(&sample("sog/good", "v2.sog"), &ReadOptions::default().with_limits(limits)).unwrap_err().kind(),
        Limit
    );
}

#[test]
fn values_without_meaning_are_counted_if_faults_are_skipped() {
    let options = ReadOptions::default().with_on_error(OnError::Warn);
    let loaded = read(&sample("sog/bad", "quat.sog"), &options).unwrap();
    assert_eq!(loaded.report.warnings.counts().get("bad-value"), Some(&10));
    assert_eq!(splats(&loaded.value).rotation(3), [1.0, 0.0, 0.0, 0.0]);
    let loaded = read(&sample("sog/bad", "label.sog"), &options).unwrap();
    assert_eq!(loaded.report.warnings.counts().get("bad-value"), Some(&1));
    assert_eq!(splats(&loaded.value).harmonics[1][2][7], 0.0);
}

#[test]
fn sog_is_read_only() {
    let folder = Folder::new("sog-writing").unwrap();
    let error = polyhaul::write(&good("v2.sog"), folder.join("x.sog")).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("sog is read-only"), "{error}");
}
