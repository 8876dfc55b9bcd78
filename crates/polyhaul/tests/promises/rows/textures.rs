//! DDS and KTX2.

use super::made::{texture, texture_file, with_word};
use crate::content::{Content, Reading};
use crate::samples::{
    LimitSample, NO_SAMPLES, Prefix, Sample, Samples, Shape, bad, good, has_offset, limited, refused, shape,
};
use polyhaul::Format;
use polyhaul::model::{Encoding, Texel};
use polyhaul::options::ImageWriteOptions;

const TEXTURE: Samples = Samples {
    readings: &[Reading::Texture, Reading::Image],
    has_place: has_offset,
    prefix: is_whole_texture,
    ..NO_SAMPLES
};

/// A prefix that is read has all levels, or all pixels of the image.
fn is_whole_texture(prefix: &Prefix<'_>) -> Option<String> {
    let is_whole = match (prefix.whole, prefix.content) {
        (Content::Texture(whole), Content::Texture(content)) => whole == content,
        (Content::Image(whole), Content::Image(content)) => whole == content,
        _ => false,
    };
    (!is_whole).then(|| "other pixels were read".into())
}

const PLAIN: Encoding = Encoding::Plain { channels: 4, texel: Texel::U8 };

fn styles() -> [ImageWriteOptions; 2] {
    [0, 1].map(|level| ImageWriteOptions::default().with_zstd_level(level))
}

/// Textures with several levels.
fn made(format: Format) -> Vec<Sample> {
    let encodings = [Encoding::Bc1, Encoding::Bc6h { signed: true }, PLAIN];
    let files = encodings.into_iter().flat_map(|encoding| {
        styles().map(|style| {
            let bytes = texture_file(format, &texture(encoding, 13, 3), style);
            good(format!("{encoding:?}, zstd {:?}", style.zstd_level), bytes)
        })
    });
    files.collect()
}

/// The limit applies to the pixels of the largest level.
fn limits(format: Format) -> Vec<LimitSample> {
    let file = texture_file(format, &texture(Encoding::Bc1, 10, 3), ImageWriteOptions::default());
    [Reading::Texture, Reading::Image].map(|reading| limited("pixels", 100, file.clone()).read_as(reading)).into()
}

fn shapes(format: Format) -> Vec<Shape> {
    let of_pixels = |encoding: Encoding, style: ImageWriteOptions| {
        shape(format!("{encoding:?}, zstd {:?}", style.zstd_level), move |size| {
            let side = (size as f64 / 4.0).sqrt() as usize;
            texture_file(format, &texture(encoding, side, 1), style)
        })
    };
    let [plain, packed] = styles();
    vec![of_pixels(PLAIN, plain), of_pixels(Encoding::Bc3, plain), of_pixels(PLAIN, packed)]
}

pub const DDS: Samples = Samples {
    format: Format::Dds,
    file_name: "x.dds",
    folders: &[("dds/good", "dds"), ("dds/bad", "dds"), ("dds/regression", "dds")],
    made: || {
        // A side of 4 pixels allows at most 3 levels.
        let mut levels = texture_file(Format::Dds, &texture(Encoding::Bc1, 4, 3), ImageWriteOptions::default());
        levels.extend([0; 8]);
        let mut made = made(Format::Dds);
        made.push(refused("a level too many", with_word(levels, 28, 4)));
        made
    },
    limits: || limits(Format::Dds),
    claims: || {
        let file = texture_file(Format::Dds, &texture(Encoding::Bc1, 8, 1), ImageWriteOptions::default());
        vec![
            bad("2^32 - 1 rows", with_word(file.clone(), 12, u32::MAX)),
            bad("16,384 squared", with_word(with_word(file.clone(), 12, 16_384), 16, 16_384)),
            bad("2^32 - 1 levels", with_word(file.clone(), 28, u32::MAX)),
            bad("2^32 - 1 layers", with_word(file, 140, u32::MAX)),
        ]
    },
    shapes: || shapes(Format::Dds),
    ..TEXTURE
};

pub const KTX2: Samples = Samples {
    format: Format::Ktx2,
    file_name: "x.ktx2",
    folders: &[("ktx2/good", "ktx2"), ("ktx2/bad", "ktx2"), ("ktx2/regression", "ktx2")],
    made: || {
        let file = texture_file(Format::Ktx2, &texture(PLAIN, 13, 3), ImageWriteOptions::default());
        let mut made = made(Format::Ktx2);
        made.push(refused("a level behind the end", with_word(file.clone(), 80, file.len() as u32)));
        let smaller_level = u32::from_le_bytes(file[104..108].try_into().unwrap());
        made.push(refused("a level inside another one", with_word(file.clone(), 80, smaller_level)));
        made.push(refused("a level that is too small", with_word(file.clone(), 88, 1)));
        made.push(refused("a level in the header", with_word(file, 80, 20)));
        made
    },
    limits: || limits(Format::Ktx2),
    claims: || {
        let [plain, packed] = styles();
        let file = |style| texture_file(Format::Ktx2, &texture(PLAIN, 1, 1), style);
        let claim = |name: &str, style, side: u32| {
            let bytes = with_word(with_word(file(style), 20, side), 24, side);
            let size = 4 * u64::from(side) * u64::from(side);
            bad(
                format!("{name} of {side} squared"),
                with_word(with_word(bytes, 96, size as u32), 100, (size >> 32) as u32),
            )
        };
        vec![
            claim("plain", plain, 1 << 13),
            claim("plain", plain, 1 << 16),
            claim("packed", packed, 1 << 13),
            claim("packed", packed, 1 << 14),
            claim("packed", packed, 1 << 16),
            bad("2^32 - 1 levels", with_word(file(plain), 40, u32::MAX)),
            bad("2^32 - 1 layers", with_word(file(plain), 32, u32::MAX)),
        ]
    },
    shapes: || shapes(Format::Ktx2),
    ..TEXTURE
};
