//! Throughput of reading PNG, JPEG and EXR files from memory, with one and two threads, compared with the libraries
//! that decode them.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --bench decode`, with `--only` and a part of a task's
//! name to select tasks. Prints MPix/s of the minimum and the median of several alternating rounds, and the speedup
//! over the bare library, which decodes with one thread into new memory in the model's layout.
#![allow(clippy::print_stdout, reason = "what it measures goes to the terminal")]

use exr::prelude as exr_library;
use exr_library::{ReadChannels, ReadLayers, WritableImage};
use polyhaul_bytes::Source;
use polyhaul_model::options::ImageReadOptions;
use polyhaul_model::{Image, Samples, warnings::Warnings};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

/// Number of rounds and side length in pixels: for measurements, and for a test that only checks that this runs.
const MEASURE_SIZE: (usize, usize) = (9, 2048);
const TRIAL_SIZE: (usize, usize) = (1, 64);

/// Reads a file with this many threads; 0 uses the bare library.
type Read = fn(&Arc<[u8]>, usize) -> Samples;

struct Task {
    name: &'static str,
    file: Arc<[u8]>,
    read: Read,
    /// Times of the library, of one thread and of two.
    times: [Vec<f64>; 3],
}

fn main() {
    // Cargo passes `--bench` to benchmarks, but not when it runs them as tests.
    let (rounds, side) = if std::env::args().any(|argument| argument == "--bench") { MEASURE_SIZE } else { TRIAL_SIZE };
    let only = std::env::args().skip_while(|argument| argument != "--only").nth(1).unwrap_or_default();
    use exr::compression::Compression;
    use jpeg_encoder::SamplingFactor;
    type Make = Box<dyn Fn() -> Vec<u8>>;
    let png = |color, channels| -> Make { Box::new(move || to_png(&picture(side, channels), side, color)) };
    let flat = || -> Make { Box::new(move || to_png(&tiles(side), side, png::ColorType::Rgb)) };
    let jpeg = |sampling| -> Make { Box::new(move || to_jpeg(&picture(side, 3), side, sampling, false)) };
    let progressive: Make = Box::new(move || to_jpeg(&picture(side, 3), side, SamplingFactor::F_2_2, true));
    let exr = |compression| -> Make { Box::new(move || to_exr(&picture(side, 4), side, compression)) };
    let files: [(&str, Make, Read); 10] = [
        ("PNG, RGB", png(png::ColorType::Rgb, 3), read_png),
        ("PNG, RGBA", png(png::ColorType::Rgba, 4), read_png),
        ("PNG, RGB, mostly flat", flat(), read_png),
        ("JPEG, 4:2:0", jpeg(SamplingFactor::F_2_2), read_jpeg),
        ("JPEG, 4:2:2", jpeg(SamplingFactor::F_2_1), read_jpeg),
        ("JPEG, 4:4:4", jpeg(SamplingFactor::F_1_1), read_jpeg),
        ("JPEG, 4:2:0, progressive", progressive, read_jpeg),
        ("EXR, ZIP, halves", exr(Compression::ZIP16), read_exr),
        ("EXR, PIZ, halves", exr(Compression::PIZ), read_exr),
        ("EXR, uncompressed halves", exr(Compression::Uncompressed), read_exr),
    ];
    let mut tasks: Vec<Task> = files
        .into_iter()
        .filter(|(name, ..)| name.contains(&only))
        .map(|(name, make, read)| Task { name, file: make().into(), read, times: Default::default() })
        .collect();
    for task in &mut tasks {
        let expected = (task.read)(&task.file, 0);
        let is_same = |threads| are_alike(&(task.read)(&task.file, threads), &expected);
        assert!((1..3).all(is_same), "{}: other samples", task.name);
    }
    for _ in 0..rounds {
        tasks.iter_mut().for_each(Task::measure);
    }
    tasks.iter_mut().for_each(|task| task.report(side * side));
}

/// Returns whether samples are equal. JPEG decoders round differently: bytes may differ by one on average.
fn are_alike(samples: &Samples, others: &Samples) -> bool {
    match [samples, others] {
        [Samples::U8(samples), Samples::U8(others)] => {
            let distance: u64 = samples.iter().zip(others.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            samples.len() == others.len() && distance <= samples.len() as u64
        }
        _ => samples == others,
    }
}

impl Task {
    fn measure(&mut self) {
        for (threads, times) in self.times.iter_mut().enumerate() {
            let start = Instant::now();
            black_box((self.read)(&self.file, threads));
            times.push(start.elapsed().as_secs_f64());
        }
    }

    fn report(&mut self, pixels: usize) {
        self.times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let library = self.times[0][0];
        for (who, times) in ["library", "1 thread", "2 threads"].into_iter().zip(&self.times) {
            let rate = |time: f64| pixels as f64 / time / 1e6;
            let fastest = rate(times[0]);
            let median = rate(times[times.len() / 2]);
            let name = format!("{}, {who}", self.name);
            println!("{name:36} {fastest:6.1} MPix/s   median {median:6.1}   {:.2} x", library / times[0]);
        }
    }
}

/// Generates smooth colors with edges and a little noise.
fn picture(side: usize, channels: usize) -> Vec<u8> {
    let wave = |x: usize, y: usize, waves: f32| {
        let u = x as f32 / 2048.0 * waves;
        let v = y as f32 / 2048.0 * waves;
        let edge = if (u * 3.0).fract() > 0.6 { 20.0 } else { 0.0 };
        (110.0 + edge + 110.0 * (7.0 * u).sin() * (5.0 * v + u).cos()) as u8
    };
    let mut noise = 1_u64;
    let sample = |(y, x, channel): (usize, usize, usize)| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        wave(x, y, [3.0, 4.0, 7.0, 2.0][channel]).saturating_add((noise >> 60) as u8 / 5)
    };
    let places = (0..side).flat_map(|y| (0..side).flat_map(move |x| (0..channels).map(move |channel| (y, x, channel))));
    places.map(sample).collect()
}

/// Generates tiles of one color, of slow ramps, and of noise.
fn tiles(side: usize) -> Vec<u8> {
    let mut noise = 1_u64;
    let mut sample = |(y, x, channel): (usize, usize, usize)| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let tile = (x / 128 * 7 + y / 128 * 13) % 5;
        let across = (x % 128 + y % 128) / 8;
        let base = 40 * tile + 20 * channel;
        (base + [0, 0, across, across, (noise >> 59) as usize][tile]) as u8
    };
    (0..side * side * 3).map(|at| sample((at / 3 / side, at / 3 % side, at % 3))).collect::<Vec<u8>>()
}

fn to_png(samples: &[u8], side: usize, color: png::ColorType) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side as u32, side as u32);
    encoder.set_color(color);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(samples)).unwrap();
    file
}

fn to_jpeg(samples: &[u8], side: usize, sampling: jpeg_encoder::SamplingFactor, is_progressive: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut file, 90);
    encoder.set_sampling_factor(sampling);
    encoder.set_progressive(is_progressive);
    encoder.encode(samples, side as u16, side as u16, jpeg_encoder::ColorType::Rgb).unwrap();
    file
}

fn to_exr(samples: &[u8], side: usize, compression: exr::compression::Compression) -> Vec<u8> {
    let pixels = samples.as_chunks::<4>().0;
    let half = |byte: u8| exr_library::f16::from_f32((f32::from(byte) / 255.0).powi(2));
    let channels = exr_library::SpecificChannels::rgba(|place: exr_library::Vec2<usize>| {
        let [r, g, b, a] = pixels[place.1 * side + place.0].map(half);
        (r, g, b, a)
    });
    let encoding = exr_library::Encoding { compression, ..exr_library::Encoding::FAST_LOSSLESS };
    let layer = exr_library::Layer::new((side, side), exr_library::LayerAttributes::named("x"), encoding, channels);
    let mut file = Cursor::new(Vec::new());
    exr_library::Image::from_layer(layer).write().non_parallel().to_buffered(&mut file).unwrap();
    file.into_inner()
}

fn options(threads: usize) -> ParseOptions {
    ParseOptions { run: RunOptions::default().with_threads(Some(threads)), ..ParseOptions::default() }
}

/// Reads with this crate, from memory that is not copied.
fn by_this_crate(file: &Arc<[u8]>, read: impl FnOnce(Bytes<'_>, &mut Warnings) -> Image) -> Samples {
    let source = Source::memory(Arc::clone(file));
    read(Bytes::new(&source, None), &mut Warnings::default()).samples
}

fn read_png(file: &Arc<[u8]>, threads: usize) -> Samples {
    if threads > 0 {
        return by_this_crate(file, |bytes, log| {
            polyhaul_image::png::read(bytes, &options(threads), false, log).unwrap()
        });
    }
    let mut reader = png::Decoder::new(Cursor::new(&file[..])).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut samples).unwrap();
    Samples::U8(samples.into())
}

fn read_jpeg(file: &Arc<[u8]>, threads: usize) -> Samples {
    if threads > 0 {
        return by_this_crate(file, |bytes, log| {
            polyhaul_image::jpeg::read(bytes, &options(threads), false, log).unwrap()
        });
    }
    let mut decoder = zune_jpeg::JpegDecoder::new(Cursor::new(&file[..]));
    Samples::U8(decoder.decode().unwrap().into())
}

fn read_exr(file: &Arc<[u8]>, threads: usize) -> Samples {
    if threads > 0 {
        let options = options(threads).with(ImageReadOptions::default());
        return by_this_crate(file, |bytes, log| polyhaul_image::exr::read(bytes, &options, log).unwrap().image);
    }
    type Pixel = (f32, f32, f32, f32);
    let create = |size: exr_library::Vec2<usize>, _: &_| (size.0, vec![0.0_f32; 4 * size.0 * size.1]);
    let set = |(width, samples): &mut (usize, Vec<f32>), place: exr_library::Vec2<usize>, (r, g, b, a): Pixel| {
        samples[4 * (place.1 * *width + place.0)..][..4].copy_from_slice(&[r, g, b, a]);
    };
    let reader = exr_library::read().no_deep_data().largest_resolution_level().rgba_channels(create, set);
    let reader = reader.first_valid_layer().all_attributes().non_parallel();
    let image = reader.from_buffered(Cursor::new(&file[..])).unwrap();
    Samples::F32(image.layer_data.channel_data.pixels.1.into())
}
