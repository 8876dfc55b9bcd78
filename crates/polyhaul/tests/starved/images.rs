//! Images: a failed allocation is an error, never an abort, never a broken file, and no memory leaks.

use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::options::{Compression, ImageWriteOptions, RunOptions};
use polyhaul::{Format, Input, ReadOptions, WriteOptions};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::images::{self, Picture, is_own};
use polyhaul_testkit::packed::{CODECS, pack};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::starve::{Plan, every_allocation, every_allocation_of_saving};

/// The source of the bytes of an image.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    File,
    Stream,
    Packed,
    PackedStream,
}

/// An image of 200 x 150 pixels.
fn image(samples: Samples, channels: Channels) -> Image {
    let is_light = matches!(samples, Samples::F32(_));
    let color_space = if is_light { ColorSpace::Linear } else { ColorSpace::Srgb };
    Image { width: 200, height: 150, channels, samples, color_space, ..Image::default() }
}

fn bytes(channels: Channels) -> Image {
    let samples: Vec<u8> = (0..30_000 * channels.count()).map(|at| (at / 7 % 251) as u8).collect();
    Image { premultiplied: channels.has_alpha(), ..image(Samples::U8(samples.into()), channels) }
}

fn floats() -> Image {
    let samples: Vec<f32> = (0..90_000).map(|at| (at / 30 % 251) as f32).collect();
    image(Samples::F32(samples.into()), Channels::Rgb)
}

fn input(way: Way, folder: &std::path::Path, picture: &Picture) -> Box<dyn Fn() -> Input> {
    let bytes = match way {
        Way::Packed | Way::PackedStream => pack(CODECS[0].0, &picture.bytes, 10_000),
        _ => picture.bytes.clone(),
    };
    let name = picture.file_name();
    let path = folder.join(picture.file_name());
    if matches!(way, Way::Stream | Way::PackedStream) {
        let bytes: std::sync::Arc<[u8]> = bytes.into();
        let reader = move || Hostile::new(bytes.clone(), Sizes::Random(Random::new(3))).with(Fault::Interrupted);
        return Box::new(move || Input::Reader(Box::new(reader()), name.clone()));
    }
    std::fs::write(&path, bytes).unwrap();
    Box::new(move || Input::Path(path.clone()))
}

/// Reads images with this library's decoders, in sequence.
fn check_reading(test: &str, threads: usize, way: Way) {
    let test = &format!("images::{test}");
    every_allocation(Plan::of(test), |folder| {
        let mut expected: Vec<Picture> = images::good().into_iter().filter(|picture| is_own(picture.format)).collect();
        // One file of each kind is sufficient.
        expected.retain(|picture| picture.bytes.len() > 2000 || !picture.name.contains('/'));
        expected.retain(|picture| !picture.name.contains("_tl_") && picture.bytes.len() < 30_000);
        let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(5000));
        let options = ReadOptions::default().with_run(run);
        let inputs = expected.iter().enumerate().map(|(number, picture)| {
            let folder = folder.join(number.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            input(way, &folder, picture)
        });
        let inputs: Vec<_> = inputs.collect();
        assert!(inputs.len() > 8);
        (
            move || {
                inputs.iter().try_for_each(|input| polyhaul::Reader::new(input()).options(&options).image().map(drop))
            },
            |_| {},
        )
    });
}

#[test]
fn files() {
    check_reading("files", 1, Way::File);
}

#[test]
fn files_on_two_threads() {
    check_reading("files_on_two_threads", 2, Way::File);
}

#[test]
fn streams() {
    check_reading("streams", 1, Way::Stream);
}

#[test]
fn compressed_files() {
    check_reading("compressed_files", 1, Way::Packed);
}

#[test]
fn compressed_streams() {
    check_reading("compressed_streams", 2, Way::PackedStream);
}

fn check_writing(test: &str, file: Option<&str>, threads: usize, compression: Compression, format: Format) {
    let test = &format!("images::{test}");
    // Pages are few, and their memory is reused.
    let plan = Plan { least_errors: 3, ..Plan::of(test) };
    every_allocation_of_saving(plan, file, || {
        let images = match format {
            Format::Hdr => vec![(floats(), ImageWriteOptions::default())],
            _ => vec![
                (bytes(Channels::Rgba), ImageWriteOptions::default()),
                (bytes(Channels::Rgb), ImageWriteOptions::default().with_rle(true)),
            ],
        };
        let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(20_000));
        let options = WriteOptions::default().with_format(Some(format)).with_run(run).with_compression(compression);
        let last = images.len() - 1;
        let options: Vec<_> = images.iter().map(|(_, style)| options.clone().with_image(*style)).collect();
        move |output| {
            // Only the last result is kept.
            for ((image, _), options) in images.iter().zip(&options).take(last) {
                let nowhere = polyhaul::Output::Writer(Box::new(std::io::sink()), "nowhere".into());
                polyhaul::Writer::new(nowhere).options(options).image(image)?;
            }
            polyhaul::Writer::new(output).options(&options[last]).image(&images[last].0).map(drop)
        }
    });
}

#[test]
fn tga_to_memory() {
    check_writing("tga_to_memory", None, 1, Compression::None, Format::Tga);
}

#[test]
fn tga_to_a_file() {
    check_writing("tga_to_a_file", Some("x.tga"), 2, Compression::None, Format::Tga);
}

#[test]
fn hdr_to_memory() {
    check_writing("hdr_to_memory", None, 2, Compression::None, Format::Hdr);
}

#[test]
fn hdr_to_a_file() {
    check_writing("hdr_to_a_file", Some("x.hdr"), 1, Compression::None, Format::Hdr);
}

#[test]
fn hdr_compressed() {
    check_writing("hdr_compressed", Some("x.hdr.gz"), 2, CODECS[0].0.into(), Format::Hdr);
}
