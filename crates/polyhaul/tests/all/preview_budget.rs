//! Pictures of small files that would take minutes without a work budget.

use polyhaul::model::{Channels, Image, Samples};
use polyhaul::options::RunOptions;
use polyhaul::preview::{PreviewOptions, View, WorkBudget, preview};
use polyhaul::{Input, Loaded, ReadOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use std::fmt::Write;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";

fn draw(file: impl Into<Vec<u8>>, name: &str, threads: usize) -> Loaded<Image> {
    let run = RunOptions::default().with_threads(Some(threads));
    let options = PreviewOptions::default().with_size([160, 120]).with_run(run.clone());
    preview(Input::Memory(file.into(), name.into()), &ReadOptions::default().with_run(run), &options).unwrap()
}

fn count(drawn: &Loaded<Image>, code: &str) -> u64 {
    drawn.report.warnings.counts().get(code).copied().unwrap_or(0)
}

fn bytes(image: &Image) -> &[u8] {
    let Samples::U8(bytes) = &image.samples else { panic!("not bytes") };
    bytes
}

#[test]
fn what_is_repeated_is_drawn_once() {
    let once = draw(format!("{TRIANGLE}f 1 2 3\n"), "a.obj", 1).value;
    let materials: String = (0..20_000).fold(TRIANGLE.to_owned(), |mut text, number| {
        writeln!(text, "usemtl {number:x}\nf 1 2 3").unwrap();
        text
    });
    for text in [format!("{TRIANGLE}{}", "f 1 2 3\n".repeat(50_000)), materials] {
        let drawn = draw(text, "a.obj", 2);
        assert!(drawn.value == once);
        assert_eq!(count(&drawn, "coarse-picture"), 0);
    }
}

/// A file of instances: a mesh drawn 10,000 times in the same place.
fn instances() -> Vec<u8> {
    let json = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"extensions":
        {"EXT_mesh_gpu_instancing":{"attributes":{"TRANSLATION":1}}}}],"extensionsUsed":["EXT_mesh_gpu_instancing"],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[
        {"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"},
        {"componentType":5126,"count":10000,"type":"VEC3"}],"bufferViews":[{"buffer":0,"byteLength":36}],
        "buffers":[{"byteLength":36}]}"#;
    let json = format!("{json:width$}", width = json.len().next_multiple_of(4));
    let positions: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend((28 + json.len() as u32 + 36).to_le_bytes());
    file.extend((json.len() as u32).to_le_bytes());
    file.extend([b"JSON", json.as_bytes(), &36u32.to_le_bytes(), b"BIN\0"].concat());
    file.extend(positions.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[test]
fn instances_at_the_same_place_are_drawn_once() {
    let drawn = draw(instances(), "a.glb", 2);
    let once = draw(format!("{TRIANGLE}f 1 2 3\n"), "a.obj", 1).value;
    let pairs = bytes(&drawn.value).chunks(4).zip(bytes(&once).chunks(4));
    assert!(pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 16)).count() < 100);
    assert_eq!(count(&drawn, "coarse-picture"), 0);
}

#[test]
fn a_polygon_of_many_random_corners_is_triangulated_in_part_and_says_so() {
    let mut seed = 1u32;
    let mut random = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    let mut text = String::new();
    for _ in 0..5_000 {
        writeln!(text, "v {} {} 0", random() % 1000, random() % 1000).unwrap();
    }
    text.push('f');
    for _ in 0..100_000 {
        write!(text, " {}", 1 + random() % 5_000).unwrap();
    }
    text.push('\n');
    let drawn = draw(text.as_str(), "a.obj", 1);
    assert!(count(&drawn, "coarse-picture") > 0);
    assert!(draw(text, "a.obj", 3).value == drawn.value);
}

/// A PNG image in a single color.
fn plain_png(path: &std::path::Path, side: usize, color: [u8; 3]) {
    let samples = Samples::U8(color.repeat(side * side).into());
    let image = Image { width: side, height: side, channels: Channels::Rgb, samples, ..Image::default() };
    Writer::new(path).image(&image).unwrap();
}

#[test]
fn large_textures_count_and_their_average_color_stands_in() {
    let folder = Folder::new("preview-budget").unwrap();
    plain_png(&folder.join("a.png"), 2100, [200, 30, 30]);
    folder.file("a.mtl", "newmtl m\nmap_Kd a.png\n").unwrap();
    let text = format!("mtllib a.mtl\n{TRIANGLE}vt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n");
    let mesh = folder.file("a.obj", text).unwrap();
    let draw = |budget: WorkBudget| {
        let options = PreviewOptions::default().with_size([60, 60]).with_view(View::Front).with_budget(budget);
        preview(&*mesh, &ReadOptions::default(), &options).unwrap()
    };
    let exact = draw(WorkBudget::Proportional);
    let coarse = draw(WorkBudget::Fixed);
    assert_eq!((count(&exact, "coarse-texture"), count(&coarse, "coarse-texture")), (0, 1));
    assert!(coarse.report.warnings.kept()[0].diagnostic.message.contains("`a.png` has 4,410,000 pixels"));
    let pairs = bytes(&exact.value).iter().zip(bytes(&coarse.value));
    assert!(pairs.clone().all(|(a, b)| a.abs_diff(*b) <= 2));
    assert!(bytes(&coarse.value).chunks(4).any(|pixel| pixel[0] > 100 && pixel[1] < 80));
}

#[test]
fn an_image_of_too_many_pixels_is_drawn_in_its_average_color() {
    let folder = Folder::new("preview-budget-image").unwrap();
    let path = folder.join("a.png");
    plain_png(&path, 2100, [30, 200, 30]);
    let options = PreviewOptions::default().with_size([60, 40]);
    let draw =
        |budget: WorkBudget| preview(&*path, &ReadOptions::default(), &options.clone().with_budget(budget)).unwrap();
    assert_eq!(count(&draw(WorkBudget::Proportional), "coarse-picture"), 0);
    let coarse = draw(WorkBudget::Fixed);
    assert_eq!(count(&coarse, "coarse-picture"), 1);
    assert_eq!([coarse.value.width, coarse.value.height], [40, 40]);
    assert!(bytes(&coarse.value).chunks(4).all(|pixel| pixel == [30, 200, 30, 255]));
}
