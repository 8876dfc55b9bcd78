//! Properties of any bytes read as an image or a texture.

use super::no_fault;
use super::trial::{Effort, MAX_PIXELS, RETURN_SHARE, Trial};
use crate::output::Shared;
use crate::summary;
use polyhaul::model::{Image, Samples};
use polyhaul::options::ImageWriteOptions;
use polyhaul::{Format, Input, Output, ReadOptions, Reader, Writer};

const NAME: &str = "image that came back";

/// Reads a TGA file; all ways of reading must agree, and the image must survive a round trip, with and without
/// run-length encoding.
pub fn tga(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.tga", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        for tga_rle in [false, true] {
            assert_eq!(
                come_back(&trial, &image, Format::Tga, ImageWriteOptions::default().with_rle(tga_rle)),
                image,
                "in packets: {tga_rle}"
            );
        }
    }
}

/// Reads an HDR file; all ways of reading must agree, and the image must survive a round trip.
pub fn hdr(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.hdr", effort);
    if let Some(mut image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Hdr, ImageWriteOptions::default());
        blacken(&mut image);
        assert_eq!(back, image);
    }
}

/// Reads a BMP file; all ways of reading must agree.
pub fn bmp(data: &[u8], effort: Effort) {
    Trial::new(data, "fuzz.bmp", effort).image();
}

/// Reads a Photoshop document; all ways of reading must agree.
pub fn psd(data: &[u8], effort: Effort) {
    Trial::new(data, "fuzz.psd", effort).image();
}

/// Reads a DDS file; all ways of reading must agree, and the texture must survive a round trip.
pub fn dds(data: &[u8], effort: Effort) {
    texture(Trial::new(data, "fuzz.dds", effort));
}

/// Reads a KTX2 file; all ways of reading must agree, and the texture must survive a round trip.
pub fn ktx2(data: &[u8], effort: Effort) {
    texture(Trial::new(data, "fuzz.ktx2", effort));
}

/// Reads an image in several ways, and checks that its texture survives a round trip through KTX2, which can store
/// every texture.
fn texture(mut trial: Trial<'_>) {
    let Some(image) = trial.image() else { return };
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    let mut options = trial.plain_options();
    options.limits.pixels = MAX_PIXELS;
    let decoded =
        Reader::new(trial.memory()).options(&options).texture().expect("an image that was read is a texture").value;
    assert_eq!((decoded.width, decoded.height), (image.width, image.height));
    let shared = Shared::default();
    let write = trial.write_options().with_format(Some(Format::Ktx2));
    Writer::new(Output::Writer(Box::new(shared.clone()), NAME.into()))
        .options(&write)
        .texture(&decoded)
        .expect("a texture that was read is written");
    let options = options.with_format(Some(Format::Ktx2));
    let back = Reader::new(Input::Memory(shared.take(), NAME.into()))
        .options(&options)
        .texture()
        .expect("what is written is read");
    assert_eq!(back.value, decoded);
}

/// Reads a PNG file; all ways of reading must agree, and the image must survive a round trip.
pub fn png(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.png", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        assert_eq!(come_back(&trial, &image, Format::Png, ImageWriteOptions::default()), image);
    }
}

/// Reads a JPEG file; all ways of reading must agree, and a JPEG written from it must have the same size and channels.
pub fn jpeg(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.jpg", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Jpeg, ImageWriteOptions::default());
        assert_eq!((back.width, back.height, back.channels), (image.width, image.height, image.channels));
    }
}

/// Reads an EXR file; all ways of reading must agree, and the image must survive a round trip.
pub fn exr(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.exr", effort);
    if let Some(image) = trial.image()
        && trial.draws(RETURN_SHARE)
    {
        let back = come_back(&trial, &image, Format::Exr, ImageWriteOptions::default().with_exr_float(true));
        assert_eq!(Exact(back), Exact(image));
    }
}

/// An image that compares by bits, since samples may be NaN.
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
    /// Reads the image in several ways. Returns `None` if it is invalid.
    fn image(&mut self) -> Option<Image> {
        let options = self.options();
        let read = |input: &dyn Fn() -> Input, options: &ReadOptions| {
            let result = Reader::new(input()).options(options).image().map(|loaded| loaded.value);
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

/// Writes an image and reads it back.
fn come_back(trial: &Trial<'_>, image: &Image, format: Format, style: ImageWriteOptions) -> Image {
    let shared = Shared::default();
    let options = trial.write_options().with_format(Some(format)).with_image(style);
    Writer::new(Output::Writer(Box::new(shared.clone()), NAME.into()))
        .options(&options)
        .image(image)
        .expect("an image that was read is written");
    let options = trial.plain_options().with_format(Some(format));
    Reader::new(Input::Memory(shared.take(), NAME.into()))
        .options(&options)
        .image()
        .expect("what is written is read")
        .value
}

/// Makes pixels black that HDR can represent but not store in an uncompressed row: three mantissas of 1 with the
/// minimum exponent mark a run.
fn blacken(image: &mut Image) {
    let Samples::F32(samples) = &mut image.samples else { return };
    for pixel in samples.to_mut().expect("memory").as_chunks_mut::<3>().0 {
        if *pixel == [f32::from_bits(1 << 14); 3] {
            *pixel = [0.0; 3];
        }
    }
}
