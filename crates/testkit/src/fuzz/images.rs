//! What must hold for any bytes taken as an image.

use super::no_fault;
use super::trial::{Effort, MAX_PIXELS, RETURN_SHARE, Trial};
use crate::output::Shared;
use crate::summary;
use polyhaul::model::{Image, Samples};
use polyhaul::options::ImageStyle;
use polyhaul::{Format, Input, Output, ReadOptions, WriteOptions, load_image, load_texture, save_image, save_texture};

const NAME: &str = "image that came back";

/// Reads a TGA file which must come to the same in every way; the image comes back when it is written, with
/// packets and without.
pub fn tga(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.tga", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        for tga_rle in [false, true] {
            assert_eq!(
                come_back(&trial, &image, Format::Tga, ImageStyle { tga_rle, ..ImageStyle::default() }),
                image,
                "in packets: {tga_rle}"
            );
        }
    }
}

/// Reads an HDR file which must come to the same in every way; the image comes back when it is written.
pub fn hdr(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.hdr", effort);
    if let Some(mut image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Hdr, ImageStyle::default());
        blacken(&mut image);
        assert_eq!(back, image);
    }
}

/// Reads a BMP file which must come to the same in every way.
pub fn bmp(data: &[u8], effort: Effort) {
    Trial::new(data, "fuzz.bmp", effort).image();
}

/// Reads a Photoshop document which must come to the same in every way.
pub fn psd(data: &[u8], effort: Effort) {
    Trial::new(data, "fuzz.psd", effort).image();
}

/// Reads a DDS file which must come to the same in every way; the texture comes back when it is written.
pub fn dds(data: &[u8], effort: Effort) {
    texture(Trial::new(data, "fuzz.dds", effort));
}

/// Reads a KTX 2 file which must come to the same in every way; the texture comes back when it is written.
pub fn ktx2(data: &[u8], effort: Effort) {
    texture(Trial::new(data, "fuzz.ktx2", effort));
}

/// Holds that a texture is read and decoded whatever way it is read, and that it comes back from a KTX 2 file, which
/// holds all that there are.
fn texture(mut trial: Trial<'_>) {
    let Some(image) = trial.image() else { return };
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    let mut options = trial.plain_options();
    options.limits.pixels = MAX_PIXELS;
    let found = load_texture(trial.memory(), &options).expect("an image that was read is a texture").texture;
    assert_eq!((found.width, found.height), (image.width, image.height));
    let shared = Shared::default();
    let write = WriteOptions { format: Some(Format::Ktx2), ..trial.write_options() };
    save_texture(&found, Output::Writer(Box::new(shared.clone()), NAME.into()), &write)
        .expect("a texture that was read is written");
    let options = ReadOptions { format: Some(Format::Ktx2), ..options };
    let back = load_texture(Input::Memory(shared.take(), NAME.into()), &options).expect("what is written is read");
    assert_eq!(back.texture, found);
}

/// Reads a PNG file which must come to the same in every way; the image comes back when it is written.
pub fn png(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.png", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        assert_eq!(come_back(&trial, &image, Format::Png, ImageStyle::default()), image);
    }
}

/// Reads a JPEG file which must come to the same in every way; what is written of it has its size and channels.
pub fn jpeg(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.jpg", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Jpeg, ImageStyle::default());
        assert_eq!((back.width, back.height, back.channels), (image.width, image.height, image.channels));
    }
}

/// Reads an EXR file which must come to the same in every way; the image comes back when it is written.
pub fn exr(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.exr", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Exr, ImageStyle { exr_float: true, ..ImageStyle::default() });
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

impl Trial<'_> {
    /// The image, where it is one, whatever way it is read.
    fn image(&mut self) -> Option<Image> {
        let options = self.options();
        let read = |input: &dyn Fn() -> Input, options: &ReadOptions| {
            let result = load_image(input(), options).map(|loaded| loaded.image);
            result.as_ref().err().into_iter().for_each(no_fault);
            let sample_count = result.as_ref().ok().map(|image| image.samples.len());
            assert_eq!(sample_count, result.as_ref().ok().and_then(Image::sample_count));
            result
        };
        let text = |result: &polyhaul::Result<Image>| match result {
            Ok(image) => Ok(Exact(image.clone())),
            Err(error) => Err(summary::error(error)),
        };
        self.read(&options, read, text).ok()
    }
}

/// An image that was read, written and read again.
fn come_back(trial: &Trial<'_>, image: &Image, format: Format, style: ImageStyle) -> Image {
    let shared = Shared::default();
    let options = WriteOptions { format: Some(format), image: style, ..trial.write_options() };
    save_image(image, Output::Writer(Box::new(shared.clone()), NAME.into()), &options)
        .expect("an image that was read is written");
    let options = ReadOptions { format: Some(format), ..trial.plain_options() };
    load_image(Input::Memory(shared.take(), NAME.into()), &options).expect("what is written is read").image
}

/// Makes the one pixel black that HDR has, but that a plain row cannot say: three mantissas of 1 with the least
/// exponent, which would be a run.
fn blacken(image: &mut Image) {
    let Samples::F32(samples) = &mut image.samples else { return };
    for pixel in samples.to_mut().expect("memory").as_chunks_mut::<3>().0 {
        if *pixel == [f32::from_bits(1 << 14); 3] {
            *pixel = [0.0; 3];
        }
    }
}
