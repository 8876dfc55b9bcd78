//! Metadata about pixels: colors, orientation, channel order.

use crate::images::*;
use crate::support::try_converted;
use polyhaul::model::{Array, ColorProfile};
use polyhaul::options::ImageReadOptions;

fn png(name: &str) -> Vec<u8> {
    file("png", &format!("good/own/{name}.png"))
}

fn jpg(name: &str) -> Vec<u8> {
    file("jpg", &format!("good/own/{name}.jpg"))
}

/// Converts a file; returns the bytes and the warnings of reading and writing.
fn converted(name: &str, bytes: Vec<u8>, format: Format) -> (Vec<u8>, Vec<(&'static str, u64)>) {
    let write = WriteOptions::default().with_format(Some(format));
    let input = Input::Memory(bytes, name.into());
    let (bytes, report) = try_converted(input, &ReadOptions::default(), &write).unwrap();
    (bytes, codes(&report))
}

#[test]
fn descriptions_of_colors_are_kept_with_the_image_and_programs_are_warned() {
    let of = |profile: &ColorProfile| {
        [
            profile.icc.is_some(),
            profile.code_points.is_some(),
            profile.gamma.is_some(),
            profile.chromaticities.is_some(),
        ]
    };
    for (name, bytes, expected) in [
        ("x.png", png("profile"), [true, false, false, false]),
        ("x.png", png("gray_profile"), [true, false, false, false]),
        ("x.png", png("cicp_pq"), [false, true, false, false]),
        ("x.png", png("gamma_1_8"), [false, false, true, true]),
        ("x.jpg", jpg("rgb_profile"), [true, false, false, false]),
        ("x.png", png("srgb_profile"), [false; 4]),
        ("x.jpg", jpg("rgb_srgb_profile"), [false; 4]),
    ] {
        let (image, counts) = warned(name, &bytes);
        assert_eq!(of(&image.profile), expected);
        let is_described = expected.contains(&true);
        assert_eq!(counts, if is_described { vec![("changed-color-space", 1)] } else { vec![] });
    }
}

#[test]
fn png_keeps_descriptions_and_jpeg_profiles() {
    for name in ["profile", "gray_profile", "cicp_pq", "gamma_1_8"] {
        let before = load("x.png", png(name), &ReadOptions::default()).unwrap();
        let (bytes, counts) = converted("x.png", png(name), Format::Png);
        assert_eq!(counts, [], "{name}");
        assert!(load("x.png", bytes, &ReadOptions::default()).unwrap() == before, "{name}");
        let (bytes, counts) = converted("x.png", png(name), Format::Jpeg);
        let after = load("x.jpg", bytes, &ReadOptions::default()).unwrap();
        assert_eq!(after.profile, ColorProfile { icc: before.profile.icc.clone(), ..ColorProfile::default() });
        let is_lost = counts.contains(&("changed-color-space", 1));
        assert_eq!(is_lost, before.profile.icc.is_none(), "{name} {counts:?}");
        for format in [Format::Tga, Format::Exr] {
            let (_, counts) = converted("x.png", png(name), format);
            assert!(counts.contains(&("changed-color-space", 1)), "{name} {counts:?}");
        }
    }
}

#[test]
fn a_profile_of_many_parts_comes_back_from_jpeg() {
    let mut icc = vec![0; 200_000];
    icc.iter_mut().enumerate().for_each(|(place, byte)| *byte = ((place * place) >> 9) as u8);
    icc[16..20].copy_from_slice(b"RGB ");
    let profile = ColorProfile { icc: Some(icc), ..ColorProfile::default() };
    let samples = Samples::U8(Array::from(vec![100; 3 * 64]));
    let image = Image { width: 8, height: 8, samples, profile, ..Image::default() };
    for name in ["x.jpg", "x.png"] {
        let bytes = written_by_all(name, &image, ImageWriteOptions::default());
        assert_eq!(load(name, bytes, &ReadOptions::default()).unwrap().profile, image.profile);
    }
    // The number of a part is a byte.
    let profile = ColorProfile { icc: Some(vec![1; 255 * 65_519 + 1]), ..ColorProfile::default() };
    let options = WriteOptions::default().with_format(Some(Format::Jpeg));
    let (_, report) = try_written_image(&Image { profile, ..image.clone() }, &options).unwrap();
    assert_eq!(report.warnings.counts().get("changed-color-space"), Some(&1));
    // Without all of its parts, it is dropped.
    let mut bytes = written_by_all("x.jpg", &image, ImageWriteOptions::default());
    let second = bytes.windows(13).position(|window| window == b"ICC_PROFILE\0\x02").unwrap();
    bytes[second + 12] = 9;
    let (without, counts) = warned("x.jpg", &bytes);
    assert_eq!((without.profile.icc, counts), (None, vec![("changed-color-space", 1)]));
}

#[test]
fn pictures_are_turned_on_request() {
    for (name, bytes, size) in [("x.jpg", jpg("rgb_orientation_6"), 21), ("x.png", png("orientation_8"), 21)] {
        let (stored, counts) = warned(name, &bytes);
        assert_eq!((stored.width, counts), (30, vec![("unapplied-orientation", 1)]));
        let options = ReadOptions::default().with_image(ImageReadOptions::default().with_orient(true));
        let (turned, counts) = load_warned(name, bytes, &options).unwrap();
        assert_eq!((turned.width, turned.height, counts), (size, 30, vec![]));
        // The first row of the stored image is the last column of the rotated one (6), or its first (8).
        let at = |image: &Image, x: usize, y: usize| byte_samples(image)[3 * (y * image.width + x)..][..3].to_vec();
        let [x, y] = if name == "x.jpg" { [20, 4] } else { [0, 25] };
        assert_eq!(at(&turned, x, y), at(&stored, 4, 0));
    }
}

#[test]
fn chunks_that_pixels_do_not_need_may_be_damaged() {
    let (image, counts) = warned("x.png", &png("bad_text_sum"));
    assert_eq!((image.width, counts), (30, vec![("bad-checksum", 1)]));
}

#[test]
fn exposure_is_kept_in_hdr_and_exr() {
    let header = "#?RADIANCE\nEXPOSURE=2\nEXPOSURE=1.5\nPRIMARIES=.6 .3 .2 .7 .1 .1 .3 .3\nCOLORCORR=1 2 .5\n";
    let bytes = [header.as_bytes(), b"FORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x80\x40\x20\x81"].concat();
    let (image, counts) = warned("x.hdr", &bytes);
    assert_eq!(counts, []);
    let names: Vec<&str> = image.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    assert_eq!(names, ["EXPOSURE", "COLORCORR", "chromaticities"]);
    assert_eq!(image.attributes[0].value, 3.0_f32.to_le_bytes());
    for (format, name) in [(Format::Hdr, "x.hdr"), (Format::Exr, "x.exr")] {
        let (again, counts) = converted("x.hdr", bytes.clone(), format);
        assert_eq!(counts, [], "{name}");
        let mut attributes = load(name, again, &ReadOptions::default()).unwrap().attributes;
        // EXR sorts attributes differently.
        attributes.sort_by_key(|attribute| names.iter().position(|name| *name == attribute.name));
        assert_eq!(attributes, image.attributes, "{name}");
    }
    let (_, counts) = converted("x.hdr", bytes, Format::Png);
    assert!(counts.contains(&("left-out-attributes", 3)), "{counts:?}");
}

/// The color profile of the test data.
fn icc() -> Vec<u8> {
    load("x.png", png("profile"), &ReadOptions::default()).unwrap().profile.icc.unwrap()
}

#[test]
fn profiles_of_bitmaps_and_documents_are_kept() {
    let icc = icc();
    let mut bmp = b"BM\0\0\0\0\0\0\0\0\x8A\0\0\0".to_vec();
    bmp.extend([124_u32, 1, 1, 1 | 24 << 16, 0, 4, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
    bmp.resize(138, 0);
    bmp[70..74].copy_from_slice(b"DEBM");
    bmp[126..130].copy_from_slice(&128_u32.to_le_bytes());
    bmp[130..134].copy_from_slice(&(icc.len() as u32).to_le_bytes());
    bmp.extend([1, 2, 3, 0]);
    let cut = bmp.clone();
    bmp.extend_from_slice(&icc);
    // The same color in a palette, run-length encoded.
    let mut runs = bmp[..138].to_vec();
    runs[10] = 142;
    runs[28..34].copy_from_slice(&[8, 0, 1, 0, 0, 0]);
    runs[46] = 1;
    runs[126] = 132;
    runs.extend([1, 2, 3, 0, 1, 0, 0, 1]);
    runs.extend_from_slice(&icc);
    let size = icc.len() + icc.len() % 2 + 12;
    let mut psd = b"8BPS\0\x01\0\0\0\0\0\0\0\x03\0\0\0\x01\0\0\0\x01\0\x08\0\x03\0\0\0\0".to_vec();
    psd.extend((size as u32).to_be_bytes());
    psd.extend(b"8BIM\x04\x0F\0\0");
    psd.extend((icc.len() as u32).to_be_bytes());
    psd.extend_from_slice(&icc);
    psd.extend(vec![0; icc.len() % 2]);
    psd.extend([0, 0, 0, 0, 0, 0, 3, 2, 1]);
    for (name, bytes) in [("x.bmp", bmp), ("x.bmp", runs), ("x.psd", psd)] {
        let (image, counts) = warned(name, &bytes);
        assert_eq!((byte_samples(&image), counts), (&[3, 2, 1][..], vec![("changed-color-space", 1)]), "{name}");
        assert_eq!(image.profile.icc.as_ref(), Some(&icc), "{name}");
        let (png, counts) = converted(name, bytes, Format::Png);
        assert_eq!(counts, [], "{name}");
        assert_eq!(load("x.png", png, &ReadOptions::default()).unwrap().profile, image.profile);
    }
    // A truncated profile is dropped.
    let (image, counts) = warned("x.bmp", &cut);
    assert_eq!((image.profile.icc, counts), (None, vec![("changed-color-space", 1)]));
}
