//! Samples, mip levels and textures: a failed allocation is an error, never an abort.

use polyhaul::model::{Channels, ColorSpace, Encoding, Image, Samples};
use polyhaul::ops::{ImageOps, MipmapFilter, MipmapOptions, SampleType, compress};
use polyhaul::options::RunOptions;
use polyhaul_testkit::starve::{Plan, every_allocation};

fn check(test: &str, threads: usize, filter: MipmapFilter, encoding: Encoding) {
    let test = &format!("textures::{test}");
    // The sRGB tables are kept.
    every_allocation(Plan { kept_bytes: 1 << 20, ..Plan::of(test) }, |_| {
        let samples = Samples::U16((0..70 * 50 * 4_u32).map(|i| (i * 7919) as u16).collect());
        let image = Image { width: 70, height: 50, channels: Channels::Rgba, samples, ..Image::default() };
        let run = RunOptions::default().with_threads(Some(threads));
        let work = move || {
            let bytes = image.convert_samples_with(SampleType::U8, ColorSpace::Linear, &run)?.image;
            let options = MipmapOptions::default().with_filter(filter).with_alpha_cutoff(Some(0.5));
            let wide = image.mipmaps_with(&options, &run)?;
            let levels = bytes.mipmaps_with(&options, &run)?;
            compress(&[&image, &wide[0]], Encoding::Bc6h { signed: false }, Default::default(), &run)?;
            compress(&[&bytes, &levels[0]], encoding, Default::default(), &run).map(drop)
        };
        (work, |_| ())
    });
}

#[test]
fn plain_pixels_out_of_boxes() {
    check("plain_pixels_out_of_boxes", 1, MipmapFilter::Box, Encoding::default());
}

#[test]
fn blocks_out_of_a_sharp_filter() {
    check("blocks_out_of_a_sharp_filter", 2, MipmapFilter::Kaiser, Encoding::Bc1);
}
