//! Text readers keep doubles in the same cases for any chunks, threads and source.

use crate::precise::samples::{self, TEXTS, points, positions};
use crate::support::{codes, memory, read_options, stream};
use polyhaul::model::Mesh;
use polyhaul::options::Precision;
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions, Reader};

fn read(input: Input, options: &ReadOptions) -> Loaded<polyhaul::model::Scene> {
    Reader::new(input).options(options).scene().unwrap()
}

fn is_exact(loaded: &Loaded<polyhaul::model::Scene>) -> bool {
    loaded.value.meshes.iter().any(Mesh::is_exact)
}

/// Positions of ordinary size with six digits, as programs print floats.
fn plain(count: usize) -> String {
    (0..count).map(|at| format!("v {}.{:04} -0.{:05} 0.5\n", at % 9, at % 9973, at % 99_991)).collect()
}

#[test]
fn every_text_keeps_its_coordinates() {
    for (name, text) in TEXTS {
        let text = text(&points());
        let loaded = read(memory(&text, name), &read_options(2, None));
        assert!(codes(&loaded.report).is_empty(), "{name}: {:?}", loaded.report.warnings);
        assert_eq!(samples::error(&positions(&loaded.value), &points()), 0.0, "{name}");
        let mesh = &loaded.value.meshes[0];
        let nearest: Vec<[f32; 3]> = mesh.exact_positions.iter().map(|row| row.map(|value| value as f32)).collect();
        assert_eq!(mesh.positions, nearest, "{name}");
    }
}

#[test]
fn chunks_threads_and_pipes_change_nothing() {
    for (name, text) in TEXTS {
        let text = text(&points());
        let expected = format!("{:?}", read(memory(&text, name), &read_options(1, None)).value.meshes);
        for threads in [1, 2, 5] {
            for chunk_bytes in [40, 100, 1000, 100_000] {
                for input in [memory(&text, name), stream(&text, name)] {
                    let loaded = read(input, &read_options(threads, chunk_bytes));
                    assert!(format!("{:?}", loaded.value.meshes) == expected, "{name} {threads} {chunk_bytes}");
                }
            }
        }
    }
}

/// A single number that needs doubles is sufficient, wherever it is.
#[test]
fn one_number_decides_wherever_it_is() {
    let lines = plain(5000);
    let plain_file = read(memory(&lines, "a.obj"), &read_options(2, 10_000));
    assert!(!is_exact(&plain_file) && codes(&plain_file.report).is_empty());
    let lines: Vec<&str> = lines.lines().collect();
    for at in [0, 1, 63, 64, 2500, 4998, 4999] {
        for threads in [1, 3] {
            let mut lines = lines.clone();
            lines[at] = "v 1 5411234.456 2";
            let loaded = read(memory(lines.join("\n"), "a.obj"), &read_options(threads, 10_000));
            let mesh = &loaded.value.meshes[0];
            assert_eq!(mesh.exact_positions[at], [1.0, 5_411_234.456, 2.0], "{at}");
            assert_eq!(mesh.exact_positions.len(), 5000);
            let expected: f64 = lines[4997].split(' ').nth(1).unwrap().parse().unwrap();
            assert_eq!(mesh.exact_positions[4997][0].to_bits(), expected.to_bits(), "digits of the others");
        }
    }
}

/// Longer numbers matter only if floats are coarse for the size of the model.
#[test]
fn long_numbers_matter_far_from_the_origin() {
    let text = |offset: &str| {
        (0..50)
            .map(|at| format!("v {offset}{at:02}.12345678901234567 {at}.1 0.333333333333333333\n"))
            .collect::<String>()
    };
    let near = read(memory(text(""), "a.obj"), &read_options(1, None));
    assert!(!is_exact(&near));
    assert_eq!(codes(&near.report), [("rounded", 100)]);
    let message = &near.report.warnings.kept()[0].diagnostic.message;
    assert_eq!(message, "100 coordinates were rounded to 32-bit floats, by at most 1.91e-6");
    let far = read(memory(text("45000"), "a.obj"), &read_options(1, None));
    assert!(is_exact(&far) && codes(&far.report).is_empty());
    let strict = ReadOptions::default().with_strict(true);
    Reader::new(memory(text(""), "a.obj")).options(&strict).scene().unwrap();
}

#[test]
fn the_caller_may_choose() {
    for (name, text) in TEXTS {
        let text = text(&points());
        let single = ReadOptions::default().with_precision(Precision::Single);
        let loaded = read(memory(&text, name), &single);
        assert!(!is_exact(&loaded), "{name}");
        let count = loaded.report.warnings.counts()["rounded"];
        assert!(count >= 40, "{name}: {:?}", loaded.report.warnings);
        let error = Reader::new(memory(&text, name)).options(&single.with_strict(true)).scene().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        let double = ReadOptions::default().with_precision(Precision::Double);
        let ones = [[1.0, 2.0, 4.0]; 40];
        let floats = TEXTS.iter().find(|(other, _)| *other == name).unwrap().1(&ones);
        assert!(!is_exact(&read(memory(&floats, name), &ReadOptions::default())), "{name}");
        let doubles = read(memory(&floats, name), &double);
        assert!(name == "a.ply" || name == "a.csv" || name == "a.xyz" || is_exact(&doubles), "{name}");
    }
}

/// A pipe is recorded up to the memory limit.
#[test]
fn a_pipe_is_read_again_if_enough_was_kept() {
    let long = plain(400_000);
    assert!(long.len() > 8_000_000);
    let late = format!("{long}v 1 5411234.456 2\n");
    let early = format!("v 1 5411234.456 2\n{long}");
    let mut options = read_options(2, 50_000);
    options.run.memory_limit = 1 << 20;
    for (text, is_kept) in [(&early, true), (&late, false)] {
        let loaded = read(stream(text, "a.obj"), &options);
        assert_eq!(is_exact(&loaded), is_kept);
        let noted = loaded.report.warnings.counts().get("rounded").copied();
        assert_eq!(noted, if is_kept { None } else { Some(1) });
    }
    let loaded = read(stream(&late, "a.obj"), &options);
    let diagnostic = &loaded.report.warnings.kept()[0].diagnostic;
    assert_eq!(diagnostic.message, "1 coordinate was rounded to 32-bit floats, by up to 0.0440");
    assert_eq!(diagnostic.hint.as_deref(), Some("use `--precision double`, or read a file instead of a pipe"));
    options.precision = Precision::Double;
    assert!(is_exact(&read(stream(&late, "a.obj"), &options)));
    assert!(is_exact(&read(memory(&late, "a.obj"), &read_options(2, 50_000))));
}
