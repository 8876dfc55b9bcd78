//! Runs the bodies of the fuzz targets over mutated test files, a fixed number of times from a fixed seed, so that
//! failures are reproducible.

use polyhaul_testkit::corpus::{Sample, samples};
use polyhaul_testkit::fuzz::Effort;
use polyhaul_testkit::off::random as off_text;
use polyhaul_testkit::packed::CODECS;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::zip::{self as archive, METHODS};
use polyhaul_testkit::{fuzz, generate, mutate};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Larger files would take most of the time.
const LARGEST_SEED_BYTES: u64 = 4000;

/// Returns the small test files with this extension.
fn seeds(extension: &str) -> Vec<Vec<u8>> {
    let own_samples = [
        "ply", "stl", "off", "glb", "pbrt", "tga", "hdr", "bmp", "psd", "dds", "ktx2", "png", "jpg", "exr", "spz",
        "splat",
    ];
    let folder = if own_samples.contains(&extension) { extension } else { "obj" };
    let files = samples(folder, extension).into_iter();
    let small = files.filter(|file| file.size <= LARGEST_SEED_BYTES);
    small.map(|file| file.bytes()).collect()
}

thread_local! {
    /// Whether panics of this thread are collected for a single message at the end.
    static SILENT: Cell<bool> = const { Cell::new(false) };
    /// Message and location of the last panic.
    static MESSAGE: Cell<String> = const { Cell::new(String::new()) };
}

fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(
            move |info| if SILENT.get() { MESSAGE.set(info.to_string()) } else { hook(info) },
        ));
    });
}

/// Runs a body over `inputs`; fails with the shortest input for each kind of fault.
fn run(body: fn(&[u8], Effort), inputs: impl Iterator<Item = Vec<u8>>) {
    let mut faults: BTreeMap<String, (Vec<u8>, String)> = BTreeMap::new();
    let mut count = 0;
    silence();
    for input in inputs {
        count += 1;
        SILENT.set(true);
        let result = catch_unwind(AssertUnwindSafe(|| body(&input, Effort::Full)));
        SILENT.set(false);
        if result.is_err() {
            let message = MESSAGE.take();
            let kind = kind_of(&message);
            let shortest = faults.entry(kind).or_insert_with(|| (input.clone(), String::new()));
            if input.len() <= shortest.0.len() {
                *shortest = (input, message);
            }
        }
    }
    let show = |(input, message): &(Vec<u8>, String)| format!("{:?}\n{message}\n", String::from_utf8_lossy(input));
    let shown: Vec<_> = faults.values().take(12).map(show).collect();
    assert!(faults.is_empty(), "{} kinds of faults in {count} inputs:\n{}", faults.len(), shown.concat());
}

/// Reduces a panic message to its location and the start of its lines, without digits.
fn kind_of(message: &str) -> String {
    let mut lines = message.lines();
    let place = lines.next().unwrap_or_default().to_owned();
    let words = |line: &str| line.chars().filter(|c| c.is_alphabetic()).take(18).collect::<String>();
    lines.map(words).fold(place, |kind, line| kind + &line)
}

fn shaken(seeds: Vec<Vec<u8>>, count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(20);
    let fresh = seeds.clone().into_iter();
    fresh.chain((0..count).map(move |_| {
        let mut text = random.pick(&seeds).clone();
        mutate::shake(&mut text, &mut random);
        text
    }))
}

#[test]
fn obj() {
    let mut random = Random::new(21);
    let mut seeds = seeds("obj");
    seeds.extend((0..20).map(|_| generate::random(&mut random, 20)));
    run(fuzz::obj, shaken(seeds, 3000));
}

#[test]
fn mtl() {
    run(fuzz::mtl, shaken(seeds("mtl"), 2500));
}

#[test]
fn ply() {
    let mut seeds = seeds("ply");
    let packed = samples("packed_ply", "ply").into_iter().filter(|file| file.size <= LARGEST_SEED_BYTES);
    seeds.extend(packed.map(|file| file.bytes()));
    run(fuzz::ply, shaken(seeds, 4000));
}

#[test]
fn stl() {
    run(fuzz::stl, shaken(seeds("stl"), 4000));
}

#[test]
fn off() {
    let mut random = Random::new(24);
    let mut seeds = seeds("off");
    seeds.extend((0..20).map(|_| off_text(&mut random, 12)));
    run(fuzz::off, shaken(seeds, 4000));
}

#[test]
fn gltf() {
    let mut seeds = seeds("glb");
    seeds.extend(samples("glb", "gltf").iter().map(|file| file.bytes()));
    run(fuzz::gltf, shaken(seeds, 4000));
}

#[test]
fn spz() {
    run(fuzz::spz, shaken(seeds("spz"), 3000));
}

#[test]
fn sog() {
    let seeds = samples("sog/joined", "joined").iter().map(|file| file.bytes()).collect();
    run(fuzz::sog, shaken(seeds, 2000));
}

#[test]
fn splat() {
    run(fuzz::splat, shaken(seeds("splat"), 2000));
}

#[test]
fn pbrt() {
    run(fuzz::pbrt, shaken(seeds("pbrt"), 4000));
}

#[test]
fn built() {
    let mut random = Random::new(24);
    let bytes: Vec<Vec<u8>> = (0..3000).map(|_| (0..150).map(|_| random.below(256) as u8).collect()).collect();
    run(fuzz::pbrt_built, bytes.iter().cloned());
    run(fuzz::gltf_built, bytes.into_iter());
}

#[test]
fn tga() {
    run(fuzz::tga, shaken(seeds("tga"), 4000));
}

#[test]
fn hdr() {
    run(fuzz::hdr, shaken(seeds("hdr"), 4000));
}

#[test]
fn bmp() {
    run(fuzz::bmp, shaken(seeds("bmp"), 4000));
}

#[test]
fn psd() {
    run(fuzz::psd, shaken(seeds("psd"), 4000));
}

#[test]
fn dds() {
    run(fuzz::dds, shaken(seeds("dds"), 4000));
}

#[test]
fn ktx2() {
    run(fuzz::ktx2, shaken(seeds("ktx2"), 4000));
}

#[test]
fn png() {
    run(fuzz::png, shaken(small("png"), 2000));
}

#[test]
fn jpeg() {
    run(fuzz::jpeg, shaken(small("jpg"), 2000));
}

#[test]
fn exr() {
    run(fuzz::exr, shaken(small("exr"), 2000));
}

/// Returns the seeds that are fast to read.
fn small(folder: &str) -> Vec<Vec<u8>> {
    seeds(folder).into_iter().filter(|seed| seed.len() < 16 << 10).collect()
}

#[test]
fn packed() {
    let files = CODECS.into_iter().flat_map(|(_, extension)| samples(extension, extension));
    let small = files.filter(|file| file.size <= LARGEST_SEED_BYTES);
    run(fuzz::packed, shaken(small.map(|file| file.bytes()).collect(), 1500));
}

#[test]
fn zip() {
    let mut seeds: Vec<_> = samples("zip", "zip").iter().map(Sample::bytes).collect();
    seeds.extend(METHODS.map(|method| archive::simple(&[("a.obj", b"v 0 0 0\n"), ("b/c.obj", &[b'#'; 300])], method)));
    run(fuzz::zip, shaken(seeds, 3000));
}

#[test]
fn numbers() {
    let mut random = Random::new(22);
    let mut seeds = seeds("obj");
    for _ in 0..40 {
        let numbers: Vec<String> = (0..60).map(|_| generate::number(&mut random)).collect();
        seeds.push(numbers.join(" ").into_bytes());
    }
    run(fuzz::numbers, shaken(seeds, 800));
}

#[test]
fn filter() {
    let files = samples("filter", "filter");
    run(fuzz::filter, shaken(files.iter().map(Sample::bytes).collect(), 4000));
}

#[test]
fn logs() {
    let files = samples("logs", "ops");
    run(fuzz::logs, shaken(files.iter().map(Sample::bytes).collect(), 600));
}

#[test]
fn convert() {
    let kinds = ["csv", "xyz", "pts", "npy"].into_iter();
    let mut seeds: Vec<_> = kinds.flat_map(|extension| samples("table", extension)).map(|file| file.bytes()).collect();
    seeds.extend(PAIRED.into_iter().flat_map(|(extension, from)| seeds_of_pairs(extension, from)));
    seeds.extend(seeds_of_images());
    // Found by fuzzing: a table whose column `Z` is `z` in PLY.
    seeds.push(b"\x04\x01x,y,Z\n\n".to_vec());
    // Found by fuzzing: a name with a separator that a reader of csv detects.
    seeds.push(b"\x100;#".to_vec());
    // Found by fuzzing: numpy names columns without a name.
    seeds.push(b"\x33\x2a8 1 2 3.5 0\n".to_vec());
    // Found by fuzzing: the normals of objects get unit length in OBJ.
    for normal in ["0.5 0.7 0.7", "0 1e31 0"] {
        let facet = format!("facet normal {normal} outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endloop endfacet");
        seeds.push(format!("\u{2}\0solid a\n{facet}\nendsolid a\n").into_bytes());
    }
    // Found by fuzzing: colors above 255 are clamped in OFF.
    seeds.push(b"\x33\x0a1 2 3 441 2 3\n".to_vec());
    run(fuzz::convert, shaken(seeds, 500));
}

/// Mesh formats with the byte that selects them.
const PAIRED: [(&str, u8); 4] = [("obj", 0), ("ply", 1), ("stl", 2), ("off", 10)];

/// Prefixes files with two bytes that select source and target format.
fn seeds_of_pairs(extension: &str, from: u8) -> Vec<Vec<u8>> {
    let numbered = seeds(extension).into_iter().zip(0u8..);
    numbered.map(|(bytes, number)| [&[from, number % 11][..], &bytes].concat()).collect()
}

/// Prefixes images with two such bytes; first bytes from 128 on select images.
fn seeds_of_images() -> Vec<Vec<u8>> {
    let formats = ["tga", "hdr", "png", "jpg", "exr", "bmp", "psd", "dds", "ktx2"].into_iter().zip(135u8..);
    let of_format = |(extension, from): (&str, u8)| {
        let numbered = seeds(extension).into_iter().zip(0u8..).step_by(5);
        numbered.map(|(bytes, number)| [&[from, number][..], &bytes].concat()).collect::<Vec<_>>()
    };
    formats.flat_map(of_format).collect()
}

#[test]
fn table() {
    let kinds = ["csv", "tsv", "xyz", "pts", "npy"].into_iter();
    let mut seeds: Vec<_> = kinds.flat_map(|extension| samples("table", extension)).map(|file| file.bytes()).collect();
    let mut random = Random::new(23);
    for columns in [1, 2, 3, 5] {
        let row = |random: &mut Random| (0..columns).map(|_| generate::number(random)).collect::<Vec<_>>().join(",");
        let rows: Vec<String> = (0..30).map(|_| row(&mut random)).collect();
        seeds.push(rows.join("\n").into_bytes());
    }
    run(fuzz::table, shaken(seeds, 4000));
}
