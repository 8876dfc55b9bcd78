//! Compares the library with a naive reader that reads line by line, without chunks.

use crate::off::*;
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::off;
use polyhaul_testkit::random::Random;

#[derive(Default)]
struct Naive {
    /// Positions, normals, colors, uvs.
    rows: [Vec<f32>; 4],
    faces: Vec<Vec<u32>>,
}

/// Reads a valid file.
fn read(bytes: &[u8]) -> Naive {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let content = |line: &str| line.split('#').next().unwrap_or_default().to_owned();
    let mut lines = text.split('\n').map(content).filter(|line| !line.trim().is_empty());
    let mut header = lines.next().unwrap();
    let keyword: String = header.trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    header = header.replacen(&keyword, "", 1);
    if header.trim().is_empty() {
        header = lines.next().unwrap();
    }
    let counts: Vec<usize> = header.split_whitespace().take(2).map(|word| word.parse().unwrap()).collect();
    let mut naive = Naive::default();
    let meshlab = keyword.starts_with("NC");
    let is_large = |color: &[f32]| color.iter().any(|channel| *channel >= 2.0);
    for _ in 0..counts[0] {
        let words: Vec<f32> = lines.next().unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [normals, colors, uvs] =
            [("N", 3), ("C", 4), ("ST", 2)].map(|(part, size)| if keyword.contains(part) { size } else { 0 });
        let has_no_alpha = usize::from(colors > 0 && words.len() < 3 + normals + colors + uvs);
        let (position, rest) = words.split_at(3);
        let at = if meshlab { 0 } else { normals };
        let color = &rest[at..at + colors - has_no_alpha];
        let normal_at = if meshlab { color.len() } else { 0 };
        naive.rows[0].extend(position);
        naive.rows[1].extend(&rest[normal_at..normal_at + normals]);
        naive.rows[2].extend(color);
        naive.rows[2].extend(std::iter::repeat_n(-1.0, has_no_alpha));
        naive.rows[3].extend(&rest[normals + color.len()..][..uvs]);
    }
    let scale = if is_large(&naive.rows[2]) { 255.0 } else { 1.0 };
    let channel = |value: &mut f32| *value = if *value == -1.0 { 1.0 } else { *value / scale };
    naive.rows[2].iter_mut().for_each(channel);
    for _ in 0..counts[1] {
        let line = lines.next().unwrap();
        let mut words = line.split_whitespace();
        let size: usize = words.next().unwrap().parse().unwrap();
        naive.faces.push(words.take(size).map(|word| word.parse().unwrap()).collect());
    }
    naive
}

/// Asserts that the library reads the same content.
#[track_caller]
fn compare(bytes: &[u8], run: RunOptions) {
    let shown = String::from_utf8_lossy(bytes);
    let options = ReadOptions::default().with_run(run);
    let loaded = load_with(bytes, &options).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    let mesh = &loaded.value.meshes[0];
    let naive = read(bytes);
    let arrays = [
        mesh.positions.as_flattened(),
        mesh.normals.as_flattened(),
        mesh.colors.as_flattened(),
        mesh.uvs.as_flattened(),
    ];
    let bits = |values: &[f32]| {
        values.iter().map(|value| if value.is_nan() { 1 } else { value.to_bits() }).collect::<Vec<_>>()
    };
    for (arrays, naive) in arrays.into_iter().zip(&naive.rows) {
        assert_eq!(bits(arrays), bits(naive), "{shown}");
    }
    let corners = |list: &polyhaul::model::Elements| {
        (0..list.len()).map(|face| list.corner_positions[list.corners(face)].to_vec()).collect::<Vec<_>>()
    };
    let of_size =
        |is_it: fn(usize) -> bool| naive.faces.iter().filter(|face| is_it(face.len())).cloned().collect::<Vec<_>>();
    assert_eq!(corners(&mesh.faces), of_size(|size| size > 2), "{shown}");
    assert_eq!(corners(&mesh.lines), of_size(|size| size == 2), "{shown}");
    assert_eq!(mesh.points.to_vec(), of_size(|size| size == 1).concat(), "{shown}");
}

#[test]
fn every_number_is_that_of_the_slow_reader() {
    let files = samples("off/good", "off");
    assert!(files.len() > 20);
    for file in files.iter().filter(|file| file.name != "off/good/extra_values.off") {
        compare(&file.bytes(), RunOptions::default());
    }
}

#[test]
fn random_files_are_read_alike() {
    let mut random = Random::new(11);
    for round in 0..600 {
        let text = off::random(&mut random, if round % 50 == 0 { 400 } else { 12 });
        compare(&text, run(1 + round % 3, [None, Some(1), Some(30), Some(500)][round % 4]));
    }
}

/// A file of several chunks with mostly plain lines.
#[test]
fn large_files_are_read_alike() {
    let mut random = Random::new(12);
    let mut text = "OFF\n30000 30000 0\n".to_owned();
    for row in 0..30_000 {
        let odd = if row % 997 == 0 { "# odd\n\n" } else { "" };
        text +=
            &format!("{odd}{} {} {}\n", random.unit(), random.unit() * 1e6, if row % 501 == 0 { 1e-20 } else { 0.25 });
    }
    for row in 0..30_000usize {
        let corner = |random: &mut Random| random.below(30_000);
        let [a, b, c] = [0; 3].map(|_| corner(&mut random));
        text += &match row % 300 {
            0 => format!("2 {a} {b}\n"),
            1 => format!("1 {a} # {b}\n"),
            2 => format!("5 {a} {b} {c} {a} {b} 0.5 0.5 1\n"),
            3 => format!("4 {a} {b} {c} {a} 255 0 0\n"),
            4 => format!("3 {a:010} +{b} {c}\n"),
            _ => format!("3 {a} {b} {c}\n"),
        };
    }
    for (count, chunk_bytes) in [(1, None), (3, None), (2, Some(3001))] {
        compare(text.as_bytes(), run(count, chunk_bytes));
    }
}
