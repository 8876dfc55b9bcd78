//! Textures of all formats: output can be read again, and does not depend on threads.

use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::WriteOptions;
use polyhaul::model::{ColorSpace, Encoding, Texel, Texture};

/// Every encoding.
pub fn encodings() -> Vec<Encoding> {
    let plain = [1, 2, 4].into_iter().flat_map(|channels| {
        [Texel::U8, Texel::U16, Texel::F16, Texel::F32].map(|texel| Encoding::Plain { channels, texel })
    });
    let signs = [false, true]
        .into_iter()
        .flat_map(|signed| [Encoding::Bc4 { signed }, Encoding::Bc5 { signed }, Encoding::Bc6h { signed }]);
    plain.chain(signs).chain([Encoding::Bc1, Encoding::Bc2, Encoding::Bc3, Encoding::Bc7]).collect()
}

/// A linear texture of random bytes, with this many levels.
pub fn texture(
    encoding: Encoding,
    [width, height, depth]: [usize; 3],
    layers: usize,
    faces: usize,
    levels: usize,
) -> Texture {
    let color_space = ColorSpace::Linear;
    let mut texture = Texture { width, height, depth, layers, faces, encoding, color_space, ..Texture::default() };
    for level in 0..levels {
        let size = texture.level_bytes(level).unwrap();
        let byte = |at: usize| ((at + 7 * level).wrapping_mul(2_654_435_761) >> 11) as u8;
        texture.levels.push((0..size).map(byte).collect());
    }
    texture
}

pub fn written_texture(name: &str, texture: &Texture, style: ImageWriteOptions, run: &RunOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    let format = Format::of_path(Path::new(name));
    let options = WriteOptions::default().with_format(format).with_image(style).with_run(run.clone());
    polyhaul::Writer::new(Output::Writer(Box::new(shared.clone()), name.into())).options(&options).texture(texture)?;
    Ok(shared.take())
}

pub fn load_texture(name: &str, bytes: &[u8]) -> Result<Texture> {
    let input = Input::Memory(bytes.to_vec(), name.into());
    polyhaul::Reader::new(input).texture().map(|loaded| loaded.value)
}

/// Like [`load_texture`] from a reader.
pub fn load_texture_stream(name: &str, bytes: &[u8]) -> Result<Texture> {
    let input = Input::Reader(Box::new(Parts(std::io::Cursor::new(bytes.to_vec()), 3000)), name.into());
    polyhaul::Reader::new(input).texture().map(|loaded| loaded.value)
}

fn styles() -> [ImageWriteOptions; 2] {
    [0, 1].map(|zstd_level| ImageWriteOptions::default().with_zstd_level(zstd_level))
}

#[track_caller]
fn comes_back(name: &str, texture: &Texture) {
    for style in styles() {
        let bytes = written_texture(name, texture, style, &RunOptions::default()).unwrap();
        for options in [read_options(1, Some(1)), read_options(2, Some(700)), read_options(7, Some(1 << 20))] {
            assert!(written_texture(name, texture, style, &options.run).unwrap() == bytes, "{name} {options:?}");
        }
        assert!(load_texture(name, &bytes).unwrap() == *texture, "{name} {:?}", texture.encoding);
        assert!(load_texture_stream(name, &bytes).unwrap() == *texture, "{name} {:?}", texture.encoding);
    }
}

#[test]
fn every_encoding_comes_back() {
    for encoding in encodings() {
        for premultiplied in [false, true] {
            for name in ["x.dds", "x.ktx2"] {
                let texture = Texture { premultiplied, ..texture(encoding, [21, 6, 1], 1, 1, 5) };
                comes_back(name, &texture);
            }
        }
    }
}

#[test]
fn srgb_comes_back_where_the_format_has_it() {
    for encoding in encodings() {
        let texture = Texture { color_space: ColorSpace::Srgb, ..texture(encoding, [8, 8, 1], 1, 1, 1) };
        comes_back("x.ktx2", &texture);
        let is_color = matches!(encoding, Encoding::Bc1 | Encoding::Bc2 | Encoding::Bc3 | Encoding::Bc7);
        if is_color || encoding == Encoding::default() {
            comes_back("x.dds", &texture)
        } else {
            let result = written_texture("x.dds", &texture, ImageWriteOptions::default(), &RunOptions::default());
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Usage, "{encoding:?}");
        }
    }
}

#[test]
fn cubes_arrays_and_volumes_come_back() {
    let rgba = Encoding::default();
    for (size, layers, faces, levels) in [
        ([16, 16, 1], 1, 6, 5),
        ([16, 16, 1], 3, 6, 1),
        ([5, 9, 1], 4, 1, 4),
        ([12, 6, 5], 1, 1, 4),
        ([1, 1, 1], 1, 1, 1),
        ([300, 200, 1], 2, 1, 9),
    ] {
        for encoding in [rgba, Encoding::Bc1, Encoding::Bc7] {
            for name in ["x.dds", "x.ktx2"] {
                comes_back(name, &texture(encoding, size, layers, faces, levels));
            }
        }
    }
}

/// Read as an image, a single picture is kept, and the others are reported by kind.
#[test]
fn pictures_that_an_image_drops_are_warnings() {
    for (size, layers, faces, levels, expected) in [
        ([16, 16, 1], 1, 6, 5, vec![("left-out-faces", 5), ("left-out-levels", 4)]),
        ([16, 16, 1], 3, 6, 1, vec![("left-out-faces", 5), ("left-out-layers", 2)]),
        ([5, 9, 1], 4, 1, 4, vec![("left-out-layers", 3), ("left-out-levels", 3)]),
        ([12, 6, 5], 1, 1, 4, vec![("left-out-levels", 3), ("left-out-slices", 4)]),
        ([12, 6, 1], 1, 1, 4, vec![("left-out-levels", 3)]),
        ([12, 6, 1], 1, 1, 1, vec![]),
    ] {
        for name in ["x.dds", "x.ktx2"] {
            let whole = texture(Encoding::default(), size, layers, faces, levels);
            let bytes = written_texture(name, &whole, ImageWriteOptions::default(), &RunOptions::default()).unwrap();
            let (image, counts) = warned(name, &bytes);
            assert_eq!((image.width, image.height), (size[0], size[1]));
            assert_eq!(counts, expected, "{name}");
            // Read as a texture, nothing is dropped.
            let strict = ReadOptions::default().with_strict(true);
            assert!(polyhaul::Reader::new(Input::Memory(bytes, name.into())).options(&strict).texture().is_ok());
        }
    }
}

#[test]
fn compressed_files_of_textures_are_read() {
    let whole = texture(Encoding::Bc3, [64, 64, 1], 1, 1, 7);
    for name in ["x.dds", "x.ktx2"] {
        let shared = Shared::default();
        let compression = polyhaul::options::Compression::Gzip;
        let options =
            WriteOptions::default().with_format(Format::of_path(Path::new(name))).with_compression(compression);
        polyhaul::Writer::new(Output::Writer(Box::new(shared.clone()), name.into()))
            .options(&options)
            .texture(&whole)
            .unwrap();
        assert!(load_texture(name, &shared.take()).unwrap() == whole);
    }
}

#[test]
fn textures_that_there_are_not_are_refused() {
    let good = texture(Encoding::default(), [8, 8, 1], 1, 1, 4);
    let three = Encoding::Plain { channels: 3, texel: Texel::U8 };
    let mut long = good.clone();
    long.levels.push([0; 4].into());
    let mut short = good.clone();
    short.levels[1] = [0; 63].into();
    let bad = [
        Texture { width: 9, ..good.clone() },
        Texture { width: 0, ..good.clone() },
        Texture { height: usize::MAX, ..good.clone() },
        Texture { layers: 0, ..good.clone() },
        Texture { faces: 2, ..good.clone() },
        Texture { levels: Vec::new(), ..good.clone() },
        texture(three, [8, 8, 1], 1, 1, 1),
        texture(Encoding::Bc1, [8, 4, 1], 1, 6, 1),
        texture(Encoding::Bc1, [8, 8, 2], 2, 1, 1),
        long,
        short,
    ];
    for (number, texture) in bad.iter().enumerate() {
        for name in ["x.dds", "x.ktx2"] {
            let result = written_texture(name, texture, ImageWriteOptions::default(), &RunOptions::default());
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Usage, "{number}");
        }
    }
    let style = ImageWriteOptions::default().with_zstd_level(23);
    assert_eq!(written_texture("x.ktx2", &good, style, &RunOptions::default()).unwrap_err().kind(), ErrorKind::Usage);
    for name in ["x.tga", "x.obj"] {
        let result = written_texture(name, &good, ImageWriteOptions::default(), &RunOptions::default());
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Usage, "{name}");
    }
    let error = load_texture("x.tga", &file("tga", "good/pillow/200x32_l_bl_raw.tga")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}

#[test]
fn limits_hold_to_the_pixel() {
    for name in ["x.dds", "x.ktx2"] {
        let whole = texture(Encoding::Bc1, [10, 10, 1], 3, 1, 1);
        let bytes = written_texture(name, &whole, ImageWriteOptions::default(), &RunOptions::default()).unwrap();
        for (pixels, is_ok) in [(299, false), (300, true), (301, true)] {
            let mut options = ReadOptions::default();
            options.limits.pixels = pixels;
            let result = polyhaul::Reader::new(Input::Memory(bytes.clone(), name.into())).options(&options).texture();
            match result {
                Ok(_) => assert!(is_ok, "{name} {pixels}"),
                Err(error) => assert!(!is_ok && error.kind() == ErrorKind::Limit, "{name} {pixels}: {error}"),
            }
        }
    }
}

#[test]
fn info_tells_levels_without_decoding() {
    let cube = texture(Encoding::Bc7, [16, 16, 1], 2, 6, 5);
    for name in ["x.dds", "x.ktx2"] {
        let bytes = written_texture(name, &cube, ImageWriteOptions::default(), &RunOptions::default()).unwrap();
        let input = Input::Memory(bytes.clone(), name.into());
        let image = polyhaul::inspect::info(input, &ReadOptions::default()).unwrap().0.image.unwrap();
        let texture = image.texture.unwrap();
        assert_eq!(
            (texture.encoding, texture.levels, texture.layers, texture.faces, texture.depth),
            (Encoding::Bc7, 5, 2, 6, 1)
        );
        let decoded = load(name, bytes, &ReadOptions::default()).unwrap();
        let again = polyhaul::inspect::ImageSummary::from_image(&decoded);
        assert_eq!(again, polyhaul::inspect::ImageSummary { texture: None, ..image });
    }
}

#[test]
fn one_colour_comes_back_however_small_it_packs() {
    let texture = Texture {
        width: 4097,
        height: 4096,
        depth: 1,
        layers: 1,
        faces: 1,
        levels: vec![vec![7; 4097 * 4096 * 4].into()],
        ..Texture::default()
    };
    // Higher ratios are not accepted.
    assert!(texture.levels[0].len() > 64 << 20);
    for style in styles() {
        let bytes = written_texture("large.ktx2", &texture, style, &RunOptions::default()).unwrap();
        assert!(load_texture("large.ktx2", &bytes).unwrap() == texture);
        assert!(load_texture_stream("large.ktx2", &bytes).unwrap() == texture);
    }
}

#[test]
fn pixels_of_three_channels_are_no_texture() {
    let encoding = Encoding::Plain { channels: 3, texel: Texel::U8 };
    let levels = vec![vec![0; 12].into()];
    let texture =
        Texture { width: 2, height: 2, depth: 1, layers: 1, faces: 1, encoding, levels, ..Texture::default() };
    let error = polyhaul::ops::blocks::decode(&texture, 0, 0, &RunOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}
