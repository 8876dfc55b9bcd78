//! Throughput of mip level generation in MPix/s of the image: with the box filter, with and without alpha weighting,
//! and the Kaiser filter, with one and two threads.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --bench mipmaps`, with `portable` or `avx2` after `--`
//! to limit the instruction set, and `--only` with a part of a task's name to select tasks. Prints the minimum and the
//! median of several alternating rounds, and a hash of all levels, which reveals changes of the output between
//! versions.
#![allow(clippy::print_stdout, reason = "what it measures goes to the terminal")]

use polyhaul_image::mipmaps::{MipmapFilter, MipmapOptions, mipmaps};
use polyhaul_model::{Channels, Image, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_text::cpu::Level;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::time::Instant;

/// Number of rounds and side length in pixels: for measurements, and for a test that only checks that this runs.
const MEASURE_SIZE: (usize, usize) = (9, 2048);
const TRIAL_SIZE: (usize, usize) = (1, 64);

struct Task<'a> {
    name: String,
    image: &'a Image,
    options: MipmapOptions,
    threads: usize,
    times: Vec<f64>,
}

fn main() {
    // Cargo passes `--bench` to benchmarks, but not when it runs them as tests.
    let (rounds, side) = if std::env::args().any(|argument| argument == "--bench") { MEASURE_SIZE } else { TRIAL_SIZE };
    let only = std::env::args().skip_while(|argument| argument != "--only").nth(1).unwrap_or_default();
    for level in Level::all() {
        if std::env::args().any(|argument| format!("{level:?}").eq_ignore_ascii_case(&argument)) {
            level.cap();
        }
    }
    println!("{side} x {side} pixels, instructions: {:?}", Level::best());
    let opaque = picture(side, Channels::Rgba, |_, _| 255);
    let veiled = picture(side, Channels::Rgba, |x, y| wave(x, y, 9.0));
    let leaves = picture(side, Channels::Rgba, |x, y| wave(x, y, 5.0).saturating_sub(112).saturating_mul(8));
    let colors = picture(side, Channels::Rgb, |_, _| 255);
    let box_ = MipmapFilter::Box;
    let kaiser = MipmapFilter::Kaiser;
    let kinds = [
        ("box, opaque", &opaque, box_, Some(false)),
        ("box by alpha, opaque", &opaque, box_, None),
        ("box by alpha, cut out", &leaves, box_, None),
        ("box by alpha, varying", &veiled, box_, None),
        ("Kaiser, RGB", &colors, kaiser, None),
        ("Kaiser, RGBA unweighted", &opaque, kaiser, Some(false)),
        ("Kaiser by alpha, opaque", &opaque, kaiser, None),
        ("Kaiser by alpha, varying", &veiled, kaiser, None),
    ];
    let mut tasks = Vec::new();
    for (name, image, filter, weighs) in kinds {
        for threads in [1, 2] {
            let options = MipmapOptions::default().with_filter(filter).with_weigh_by_alpha(weighs);
            tasks.push(Task { name: format!("{name}, {threads} threads"), image, options, threads, times: Vec::new() });
        }
    }
    tasks.retain(|task| task.name.contains(&only));
    for _ in 0..rounds {
        tasks.iter_mut().for_each(Task::measure);
    }
    tasks.iter_mut().for_each(|task| task.report(side * side));
}

impl Task<'_> {
    fn levels(&self) -> Vec<Image> {
        mipmaps(self.image, &self.options, &RunOptions::default().with_threads(Some(self.threads))).unwrap()
    }

    fn measure(&mut self) {
        let start = Instant::now();
        black_box(self.levels());
        self.times.push(start.elapsed().as_secs_f64());
    }

    fn report(&mut self, pixels: usize) {
        self.times.sort_by(f64::total_cmp);
        let rate = |time: f64| pixels as f64 / time / 1e6;
        let fastest = rate(self.times[0]);
        let median = rate(self.times[self.times.len() / 2]);
        let mut hash = DefaultHasher::new();
        for level in self.levels() {
            let Samples::U8(samples) = level.samples else { unreachable!("levels have the type of the image") };
            samples.hash(&mut hash);
        }
        println!("{:36} {fastest:6.0} MPix/s   median {median:6.0}   hash {:016x}", self.name, hash.finish());
    }
}

/// Returns a smooth value at a pixel.
fn wave(x: usize, y: usize, waves: f32) -> u8 {
    let u = x as f32 / 2048.0 * waves;
    let v = y as f32 / 2048.0 * waves;
    (127.5 + 127.5 * (7.0 * u).sin() * (5.0 * v + u).cos()) as u8
}

/// Generates smooth colors with noise.
fn picture(side: usize, channels: Channels, alpha: impl Fn(usize, usize) -> u8) -> Image {
    let mut samples = Vec::new();
    let mut noise = 1_u64;
    for (y, x) in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let grain = |shift: u32| (noise >> shift) as u8 & 15;
        let colors = [(3.0, 60), (4.0, 52), (7.0, 44)].map(|(waves, shift)| wave(x, y, waves) ^ grain(shift));
        samples.extend_from_slice(&colors);
        if channels.has_alpha() {
            samples.push(alpha(x, y));
        }
    }
    Image { width: side, height: side, channels, samples: Samples::U8(samples.into()), ..Image::default() }
}
