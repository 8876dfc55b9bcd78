//! What must hold for any bytes taken as an image.

use super::options;
use super::scans::{no_fault, same_in_all_ways};
use crate::output::Shared;
use crate::random::Random;
use crate::summary;
use polyhaul::model::{Image, Samples};
use polyhaul::options::ImageStyle;
use polyhaul::{Format, Input, Output, ReadOptions, WriteOptions, load_image, load_texture, save_image, save_texture};

const NAME: &str = "image that came back";

/// Larger images only slow the search down.
const MOST_PIXELS: u64 = 1 << 16;

/// Reads a TGA file in many ways, which must all come to the same; the image comes back when it is written, with
/// packets and without.
pub fn tga(data: &[u8]) {
    if let Some(image) = image(data, "fuzz.tga") {
        for tga_rle in [false, true] {
            assert_eq!(
                come_back(&image, Format::Tga, ImageStyle { tga_rle, ..ImageStyle::default() }),
                image,
                "in packets: {tga_rle}"
            );
        }
    }
}

/// Reads an HDR file in many ways, which must all come to the same; the image comes back when it is written.
pub fn hdr(data: &[u8]) {
    if let Some(mut image) = image(data, "fuzz.hdr") {
        let back = come_back(&image, Format::Hdr, ImageStyle::default());
        blacken(&mut image);
        assert_eq!(back, image);
    }
}

/// Reads a BMP file in many ways, which must all come to the same.
pub fn bmp(data: &[u8]) {
    image(data, "fuzz.bmp");
}

/// Reads a Photoshop document in many ways, which must all come to the same.
pub fn psd(data: &[u8]) {
    image(data, "fuzz.psd");
}

/// Reads a DDS file in many ways, which must all come to the same; the texture comes back when it is written.
pub fn dds(data: &[u8]) {
    texture(data, "fuzz.dds");
}

/// Reads a KTX 2 file in many ways, which must all come to the same; the texture comes back when it is written.
pub fn ktx2(data: &[u8]) {
    texture(data, "fuzz.ktx2");
}

/// Holds that a texture is read and decoded whatever way it is read, and that it comes back from a KTX 2 file, which
/// holds all that there are.
fn texture(data: &[u8], name: &str) {
    let Some(image) = image(data, name) else { return };
    let input = || Input::Memory(data.to_vec(), name.into());
    let mut options = ReadOptions::default();
    options.limits.pixels = MOST_PIXELS;
    let found = load_texture(input(), &options).expect("an image that was read is a texture").texture;
    assert_eq!((found.width, found.height), (image.width, image.height));
    let shared = Shared::default();
    let write = WriteOptions { format: Some(Format::Ktx2), ..WriteOptions::default() };
    save_texture(&found, Output::Writer(Box::new(shared.clone()), NAME.into()), &write)
        .expect("a texture that was read is written");
    let options = ReadOptions { format: Some(Format::Ktx2), ..options };
    let back = load_texture(Input::Memory(shared.take(), NAME.into()), &options).expect("what is written is read");
    assert_eq!(back.texture, found);
}

/// Reads a PNG file in many ways, which must all come to the same; the image comes back when it is written.
pub fn png(data: &[u8]) {
    if let Some(image) = image(data, "fuzz.png") {
        assert_eq!(come_back(&image, Format::Png, ImageStyle::default()), image);
    }
}

/// Reads a JPEG file in many ways, which must all come to the same.
pub fn jpeg(data: &[u8]) {
    image(data, "fuzz.jpg");
}

/// Reads an EXR file in many ways, which must all come to the same; the image comes back when it is written.
pub fn exr(data: &[u8]) {
    if let Some(image) = image(data, "fuzz.exr") {
        let back = come_back(&image, Format::Exr, ImageStyle { exr_float: true, ..ImageStyle::default() });
        assert_eq!(Exact(back), Exact(image));
    }
}

/// Bit by bit: samples may be no numbers, which are equal to nothing.
#[derive(Debug)]
struct Exact(Image);

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        let bits = |image: &Image| match &image.samples {
            Samples::F32(samples) => samples.iter().map(|sample| sample.to_bits()).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let shape = |image: &Image| (image.width, image.height, image.channels, image.color_space, image.premultiplied);
        let floats = matches!((&self.0.samples, &other.0.samples), (Samples::F32(_), Samples::F32(_)));
        let samples = if floats { bits(&self.0) == bits(&other.0) } else { self.0.samples == other.0.samples };
        samples && shape(&self.0) == shape(&other.0)
    }
}

/// The image, where it is one, whatever way it is read.
fn image(data: &[u8], name: &str) -> Option<Image> {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let mut options = options(&mut random);
    options.limits.pixels = MOST_PIXELS;
    let read = |input: &dyn Fn() -> Input, options: &ReadOptions| {
        let result = load_image(input(), options).map(|loaded| loaded.image);
        result.as_ref().err().into_iter().for_each(no_fault);
        let sample_count = result.as_ref().ok().map(|image| image.samples.len());
        assert_eq!(sample_count, result.as_ref().ok().and_then(Image::sample_count));
        result.map(Exact).map_err(|error| summary::error(&error))
    };
    same_in_all_ways(data, name, &options, &mut random, read);
    read(&|| Input::Memory(data.to_vec(), name.into()), &options).ok().map(|Exact(image)| image)
}

/// An image that was read, written and read again.
fn come_back(image: &Image, format: Format, style: ImageStyle) -> Image {
    let shared = Shared::default();
    let options = WriteOptions { format: Some(format), image: style, ..WriteOptions::default() };
    save_image(image, Output::Writer(Box::new(shared.clone()), NAME.into()), &options)
        .expect("an image that was read is written");
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    load_image(Input::Memory(shared.take(), NAME.into()), &options).expect("what is written is read").image
}

/// Makes the one pixel black that HDR has, but that a plain row cannot say: three mantissas of 1 with the least
/// exponent, which would be a run.
fn blacken(image: &mut Image) {
    let Samples::F32(samples) = &mut image.samples else { return };
    for pixel in samples.to_mut().expect("memory").as_chunks_mut::<3>().0 {
        if *pixel == [2_f32.powi(-135); 3] {
            *pixel = [0.0; 3];
        }
    }
}
