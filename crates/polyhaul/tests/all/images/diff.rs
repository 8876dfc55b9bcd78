//! Compares images by their meaning, whatever their formats.

use crate::images::*;
use polyhaul::model::{ChannelSamples, ImageAttribute, ImageChannel};

/// Describes the differences between two images in files with these names.
#[track_caller]
fn differences([a, b]: [(&str, &Image); 2]) -> Vec<(&'static str, String)> {
    let style = ImageWriteOptions::default().with_exr_float(true);
    let inputs = [a, b]
        .map(|(name, image)| Input::Memory(written(name, image, style, &RunOptions::default()).unwrap(), name.into()));
    let [a, b] = inputs;
    let comparison = polyhaul::diff(a, b, &ReadOptions::default(), 1e-6).unwrap();
    comparison.differences.into_iter().map(|difference| (difference.what, difference.message)).collect()
}

fn gray(samples: &[f32]) -> Image {
    let samples = Samples::F32(samples.iter().copied().collect());
    Image {
        width: 2,
        height: 1,
        channels: Channels::Gray,
        samples,
        color_space: ColorSpace::Linear,
        ..Image::default()
    }
}

fn attribute(name: &str, value: &[u8]) -> ImageAttribute {
    ImageAttribute { name: name.into(), kind: "string".into(), value: value.to_vec() }
}

#[test]
fn attributes_are_compared_by_name() {
    let with = |attributes: &[ImageAttribute]| Image { attributes: attributes.to_vec(), ..gray(&[0.0, 1.0]) };
    let me = attribute("owner", b"me");
    let you = attribute("owner", b"you");
    let scene = attribute("scene", b"a");
    let two_parts = with(&[me.clone(), scene.clone()]);
    // The order of attributes does not matter.
    assert_eq!(differences([("a.exr", &two_parts), ("b.exr", &with(&[scene.clone(), me.clone()]))]), []);
    assert_eq!(
        differences([("a.exr", &two_parts), ("b.exr", &with(&[you]))]),
        [
            ("attributes", "attributes: 1 only in the first file: `scene`".into()),
            ("attributes", "attributes: 1 with different values: `owner`".into())
        ]
    );
    let listed = differences([("a.png", &gray(&[0.0, 1.0])), ("b.exr", &two_parts)]);
    assert_eq!(listed, [("attributes", "attributes: 2 only in the second file: `owner`, `scene`".into())]);
}

#[test]
fn channels_are_compared_by_name_and_value() {
    let with = |name: &str, samples| {
        let extra = vec![ImageChannel { name: name.into(), samples }];
        Image { extra, ..gray(&[0.0, 1.0]) }
    };
    let floats = with("Z", ChannelSamples::F32([0.5, 7.0].into()));
    // A half stores 0.5 and 7 as well: the type does not matter.
    let halves = with("Z", ChannelSamples::F16([0x3800, 0x4700].into()));
    assert_eq!(differences([("a.exr", &floats), ("b.exr", &halves)]), []);
    let other = with("Z", ChannelSamples::F32([0.5, 8.0].into()));
    let listed = differences([("a.exr", &floats), ("b.exr", &other)]);
    assert_eq!(listed, [("channels", "channels `Z`: 1 value differs, by 1e0 at most, at pixel 1,0".into())]);
    let listed = differences([("a.exr", &floats), ("b.exr", &with("id", ChannelSamples::U32([1, 2].into())))]);
    let expected = ["channels: 1 only in the first file: `Z`", "channels: 1 only in the second file: `id`"];
    assert_eq!(listed, expected.map(|message| ("channels", message.to_owned())));
}

#[test]
fn sizes_are_compared() {
    let tall = Image { width: 1, height: 2, ..gray(&[0.0, 1.0]) };
    assert_eq!(
        differences([("a.exr", &gray(&[0.0, 1.0])), ("b.exr", &tall)]),
        [("size", "size: 1 size differs: 2x1 and 1x2".into())]
    );
}

#[test]
fn alpha_is_compared_where_it_means_something() {
    let with = |samples: &[u8], channels| {
        let samples = Samples::U8(samples.to_vec().into());
        Image { width: 2, height: 1, channels, samples, ..Image::default() }
    };
    let plain = with(&[9, 200], Channels::Gray);
    let kinds = |both: [(&str, &Image); 2]| differences(both).into_iter().map(|(what, _)| what).collect::<Vec<_>>();
    assert_eq!(differences([("a.tga", &plain), ("b.png", &with(&[9, 255, 200, 255], Channels::GrayAlpha))]), []);
    let clear = with(&[9, 255, 200, 7], Channels::GrayAlpha);
    assert_eq!(kinds([("a.tga", &plain), ("b.png", &clear)]), ["alpha"]);
    // Also if only one of the images has colors.
    let colors = with(&[9, 9, 9, 255, 200, 200, 200, 7], Channels::Rgba);
    assert_eq!(differences([("a.tga", &clear), ("b.png", &colors)]), []);
    let other = with(&[9, 9, 9, 255, 200, 200, 200, 8], Channels::Rgba);
    assert_eq!(kinds([("a.tga", &clear), ("b.png", &other)]), ["pixels"]);
}

#[test]
fn colours_that_are_multiplied_with_alpha_are_divided_by_it() {
    let with = |samples: [u8; 4]| Image {
        width: 1,
        height: 1,
        channels: Channels::Rgba,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    };
    let kinds = |both: [(&str, &Image); 2]| differences(both).into_iter().map(|(what, _)| what).collect::<Vec<_>>();
    // EXR stores premultiplied colors.
    let straight = with([200, 100, 50, 128]);
    assert_eq!(kinds([("a.png", &straight), ("b.exr", &straight)]), ["premultiplied"]);
    assert_eq!(kinds([("a.png", &straight), ("b.exr", &with([200, 101, 50, 128]))]), ["premultiplied", "pixels"]);
    // Colors hidden by alpha are lost.
    let hidden = with([200, 100, 50, 0]);
    assert_eq!(kinds([("a.png", &hidden), ("b.exr", &hidden)]), ["premultiplied", "pixels"]);
    let opaque = with([200, 100, 50, 255]);
    assert_eq!(differences([("a.png", &opaque), ("b.exr", &opaque)]), []);
}
