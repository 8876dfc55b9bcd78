//! TGA, HDR, PNG, JPEG, EXR, BMP and PSD.

use super::made::{image, image_file, with_bytes, with_word};
use crate::content::{Content, Reading};
use crate::samples::{
    LimitSample, NO_SAMPLES, Prefix, Sample, Samples, Shape, Way, bad, good, has_offset, limited, refused, shape,
};
use polyhaul::Format;
use polyhaul::model::{Channels, Image};
use polyhaul::options::ImageWriteOptions;
use polyhaul_testkit::corpus;
use polyhaul_testkit::exr::{ExrChannel, ExrPart, exr, half};
use polyhaul_testkit::images;

const IMAGE: Samples =
    Samples { readings: &[Reading::Image], has_place: has_offset, prefix: is_whole_image, ..NO_SAMPLES };

/// A prefix that is read has all pixels. Whether colors are premultiplied may be stored after them.
fn is_whole_image(prefix: &Prefix<'_>) -> Option<String> {
    let Content::Image(whole) = prefix.whole else { return None };
    let Content::Image(content) = prefix.content else { return None };
    let pixels = |image: &Image| Image { premultiplied: false, ..image.clone() };
    (pixels(whole) != pixels(content)).then(|| "other pixels were read".into())
}

/// Images of a format that the test kit generates.
fn made_of(format: Format) -> Vec<Sample> {
    let made = images::made().into_iter().filter(|picture| picture.format == format);
    made.map(|picture| good(picture.name, picture.bytes)).collect()
}

fn claims_of(format: Format) -> Vec<Sample> {
    let claims = images::claims().into_iter().filter(|picture| picture.format == format);
    claims.map(|picture| bad(picture.name, picture.bytes)).collect()
}

fn shapes_of(format: Format) -> Vec<Shape> {
    let shapes = images::SHAPES.iter().filter(|(_, of, _)| *of == format);
    shapes.map(|(name, _, make)| shape(*name, make)).collect()
}

/// The pixel limit that each file that must be readable needs. Every four channels, or the rest, count as an image.
fn pixel_limits(row: &Samples) -> Vec<LimitSample> {
    let samples = row.good().into_iter().filter(|sample| sample.bytes.len() < 60_000);
    let limit = |sample: Sample| {
        let outcome = row.read(&sample.bytes, Reading::Image, &Way::default());
        let Ok(Content::Image(image)) = outcome.content else { panic!("{} is not an image", sample.name) };
        let images = (image.channels.count() + image.extra.len()).div_ceil(4);
        let mut limit = limited("pixels", (image.width * image.height * images) as u64, sample.bytes);
        limit.name = sample.name;
        limit
    };
    samples.map(limit).collect()
}

/// Writes an uncompressed image of about the given size.
fn written(format: Format, channels: Channels) -> Shape {
    shape(format!("{channels:?}"), move |size| {
        image_file(format, &image(50, size / 50 / channels.count(), channels), ImageWriteOptions::default())
    })
}

fn test_file(name: &str) -> Vec<u8> {
    std::fs::read(corpus::root().join(name)).unwrap()
}

pub const TGA: Samples = Samples {
    format: Format::Tga,
    file_name: "x.tga",
    folders: &[("tga/good", "tga"), ("tga/bad", "tga"), ("tga/regression", "tga")],
    made: || made_of(Format::Tga),
    limits: || pixel_limits(&TGA),
    claims: || claims_of(Format::Tga),
    shapes: || shapes_of(Format::Tga),
    ..IMAGE
};

pub const HDR: Samples = Samples {
    format: Format::Hdr,
    file_name: "x.hdr",
    folders: &[("hdr/good", "hdr"), ("hdr/bad", "hdr"), ("hdr/regression", "hdr")],
    made: || made_of(Format::Hdr),
    limits: || pixel_limits(&HDR),
    claims: || claims_of(Format::Hdr),
    shapes: || shapes_of(Format::Hdr),
    ..IMAGE
};

pub const PNG: Samples = Samples {
    format: Format::Png,
    file_name: "x.png",
    folders: &[("png/good", "png"), ("png/bad", "png"), ("png/regression", "png")],
    is_refused: |name| {
        // Taking much memory is not a fault.
        let is_right = ["bomb_10000", "iccp_bomb", "idat_long", "ztxt_bomb"].iter().any(|file| name.contains(file));
        name.contains("/bad/") && !is_right
    },
    limits: || {
        let mut limits = pixel_limits(&PNG);
        // Declares 546,000,000 bytes of pixels, and has none.
        let pixels =
            png(&[chunk(b"IHDR", &[&13_000_u32.to_be_bytes()[..], &14_000_u32.to_be_bytes(), &[8, 2, 0, 0, 0]])]);
        let needed = 3 * 13_000 * 14_000_u64 / pixels.len() as u64;
        let is_exact = needed * pixels.len() as u64 == 3 * 13_000 * 14_000;
        limits.push(limited("image_ratio", if is_exact { needed } else { needed + 1 }, pixels).unreadable());
        limits
    },
    claims: || {
        let header = |width: u32, height: u32, bits: u8, kind: u8| {
            chunk(b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, kind, 0, 0, 0]])
        };
        vec![
            bad("2^31 - 1 squared", png(&[header(i32::MAX as u32, i32::MAX as u32, 16, 6)])),
            bad("16,384 squared", png(&[header(16_384, 16_384, 8, 6), chunk(b"IDAT", &[&[0x78, 1]])])),
            bad("a row of 2^30 pixels", png(&[header(1 << 30, 1, 1, 0)])),
            bad("a chunk of 2 GB", png(&[vec![0x7F, 0xFF, 0xFF, 0xFF, b'I', b'D', b'A', b'T', 0]])),
        ]
    },
    shapes: || {
        let text = |name: &'static str, kind: &'static [u8; 4], chunk_bytes: usize| {
            shape(name, move |size| {
                let mut chunks = vec![chunk(b"IHDR", &[&[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]])];
                let filler = chunk(kind, &[&vec![b'x'; chunk_bytes.min(size)]]);
                chunks.extend((0..(size / filler.len()).max(1)).map(|_| filler.clone()));
                chunks.push(chunk(b"IDAT", &[&[0x78, 1, 1, 2, 0, 0xFD, 0xFF, 0, 7, 0, 0x09, 0, 8]]));
                png(&chunks)
            })
        };
        vec![
            written(Format::Png, Channels::Rgb),
            written(Format::Png, Channels::GrayAlpha),
            text("empty chunks", b"teXt", 0),
            text("small chunks", b"tEXt", 10),
            text("one chunk", b"teXt", usize::MAX),
        ]
    },
    ..IMAGE
};

/// Creates a chunk with its checksum.
fn chunk(kind: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let data = parts.concat();
    let crc = !kind.iter().chain(&data).fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    [&(data.len() as u32).to_be_bytes()[..], kind, &data, &crc.to_be_bytes()].concat()
}

/// Creates a file with these chunks between the signature and the end.
fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.concat(), chunk(b"IEND", &[])].concat()
}

pub const JPEG: Samples = Samples {
    format: Format::Jpeg,
    file_name: "x.jpg",
    folders: &[("jpg/good", "jpg"), ("jpg/bad", "jpg"), ("jpg/regression", "jpg")],
    made: || {
        let bytes = test_file("jpg/good/own/rgb_420.jpg");
        let quarter = bytes.len() / 4;
        vec![
            bad("a part is missing", [&bytes[..2 * quarter], &bytes[3 * quarter..]].concat()),
            refused("no end", &bytes[..bytes.len() - 2]),
        ]
    },
    limits: || pixel_limits(&JPEG),
    claims: || {
        let claim = |name: &str, side: u16| {
            let bytes = test_file(&format!("jpg/good/own/{name}.jpg"));
            let frame = bytes.windows(2).position(|mark| matches!(mark, [0xFF, 0xC0 | 0xC2])).unwrap();
            let [high, low] = side.to_be_bytes();
            bad(format!("{name} of {side} squared"), with_bytes(bytes, frame + 5, &[high, low, high, low]))
        };
        ["gray", "rgb_420", "rgb_420_progressive", "cmyk"]
            .into_iter()
            .flat_map(|name| [16_384, u16::MAX].map(|side| claim(name, side)))
            .collect()
    },
    shapes: || {
        let filled = |name: &'static str, unit: &'static [u8]| {
            shape(name, move |size| {
                let bytes = test_file("jpg/good/own/gray_1x1.jpg");
                [&bytes[..2], &unit.repeat(size / unit.len()), &bytes[2..]].concat()
            })
        };
        vec![
            written(Format::Jpeg, Channels::Rgb),
            written(Format::Jpeg, Channels::Gray),
            filled("empty comments", b"\xFF\xFE\0\x02"),
            filled("fill bytes", b"\xFF"),
        ]
    },
    ..IMAGE
};

pub const EXR: Samples = Samples {
    format: Format::Exr,
    // In a file with several parts, a damaged window of one part allocates rows in all of them.
    known_excess: 128 << 20,
    file_name: "x.exr",
    folders: &[("exr/good", "exr"), ("exr/bad", "exr"), ("exr/regression", "exr")],
    made: || {
        let halves =
            |name: &str, factor: i32| ExrChannel::new(name, 1, move |x, y| half((x * factor + y) as f32 / 4.0));
        let few = |name: &str| ExrChannel { sampling: [2, 2], ..halves(name, 1) };
        let ids = ExrChannel::new("id", 0, |x, y| (x * 1000 + y) as u32);
        let channels = vec![few("BY"), few("RY"), halves("Y", 2), ids];
        let parts = ["left", "right"].map(|name| {
            ExrPart::new(3, 2, vec![halves("B", 1), halves("G", 2), halves("R", 3)])
                .with("name", "string", name.as_bytes())
                .with("type", "string", b"scanlineimage")
        });
        // The last row consists of a word for its number, one for its size, and two pixels of 2 bytes.
        let rows = exr(&[ExrPart::new(2, 2, vec![halves("Y", 1)])]);
        let last_row = rows.len() - 12;
        vec![
            good("luminance and chroma", exr(&[ExrPart::new(9, 7, channels)])),
            good("two parts", exr(&parts)),
            refused("a row twice", with_word(rows, last_row, 0)),
        ]
    },
    limits: || {
        let mut limits = pixel_limits(&EXR);
        let part = ExrPart::new(2, 2, vec![ExrChannel::new("Y", 1, |_, _| 0)]);
        let long = exr(&[part.with("comments", "string", &[b'c'; 5000])]);
        // The header is followed by the offsets of two rows, and two rows of two pixels.
        let header_bytes = long.len() - 2 * 8 - 2 * (8 + 4);
        limits.push(limited("header_bytes", header_bytes as u64, long));
        limits
    },
    claims: || {
        let window = |name: &str, bytes: Vec<u8>, corner: [i32; 4]| {
            let offset = bytes.windows(11).position(|part| part == b"dataWindow\0").unwrap() + 11 + 6 + 4;
            let corner: Vec<u8> = corner.iter().flat_map(|side| side.to_le_bytes()).collect();
            bad(name, with_bytes(bytes, offset, &corner))
        };
        let half = test_file("exr/good/openexr/zip_half.exr");
        let tiled = test_file("exr/good/openimageio/rgba_tiled.exr");
        vec![
            window("2^31 rows", half.clone(), [0, 0, 20, i32::MAX]),
            window("2^31 columns", half.clone(), [0, 0, i32::MAX, 36]),
            window("all pixels", half.clone(), [i32::MIN, i32::MIN, i32::MAX, i32::MAX]),
            window("16,384 squared", half, [0, 0, 16_383, 16_383]),
            window("tiles of 16,384 squared", tiled.clone(), [0, 0, 16_383, 16_383]),
            window("tiles of 2^31 squared", tiled, [0, 0, i32::MAX, i32::MAX]),
        ]
    },
    shapes: || {
        let part = |name: &'static str, part_of: fn(usize) -> ExrPart| shape(name, move |size| exr(&[part_of(size)]));
        vec![
            written(Format::Exr, Channels::Rgb),
            part("rows of one pixel", |size| {
                ExrPart::new(1, size as i32 / 20, vec![ExrChannel::new("Y", 1, |_, _| 0)])
            }),
            part("one row", |size| ExrPart::new(size as i32 / 2, 1, vec![ExrChannel::new("Y", 1, |_, _| 0)])),
            part("channels", |size| {
                let channels = (0..size / 30).map(|number| ExrChannel::new(&format!("c{number:05}"), 1, |_, _| 0));
                ExrPart::new(1, 1, channels.collect())
            }),
            part("attributes", |size| {
                let part = ExrPart::new(1, 1, vec![ExrChannel::new("Y", 1, |_, _| 0)]);
                (0..size / 30).fold(part, |part, number| part.with(&format!("a{number:05}"), "string", b"text"))
            }),
        ]
    },
    ..IMAGE
};

pub const BMP: Samples = Samples {
    format: Format::Bmp,
    file_name: "x.bmp",
    folders: &[("bmp/good", "bmp"), ("bmp/bad", "bmp"), ("bmp/regression", "bmp")],
    made: || {
        vec![
            good("runs and a jump", bmp_in_runs(4, 2, &[0, 3, 1, 2, 3, 0, 0, 2, 0, 1, 1, 1, 0, 1])),
            refused("a jump out of the image", bmp_in_runs(4, 2, &[0, 2, 5, 0])),
            refused("a color that the palette lacks", bmp_in_runs(4, 2, &[1, 4, 0, 0, 0, 1])),
        ]
    },
    limits: || pixel_limits(&BMP),
    claims: || {
        let plain = test_file("bmp/good/rgb24.bmp");
        vec![
            bad("2^31 columns", with_word(plain.clone(), 18, i32::MAX as u32)),
            bad("2^31 rows", with_word(plain.clone(), 22, 1 << 31)),
            bad("30,000 rows", with_word(with_word(plain.clone(), 18, 30_000), 22, 30_000)),
            bad("pixels far away", with_word(plain, 10, u32::MAX)),
            bad("skipped pixels", bmp_in_runs(16_000, 16_000, &[0, 1])),
            bad("skipped pixels of a small image", bmp_in_runs(2_000, 2_000, &[0, 1])),
        ]
    },
    shapes: || {
        let runs = |name: &'static str, unit: &'static [u8]| {
            shape(name, move |size| bmp_in_runs(200, size as u32, &unit.repeat(size / unit.len())))
        };
        vec![
            shape("rows", |size| {
                let header = with_word(test_file("bmp/good/rgb24.bmp")[..54].to_vec(), 18, 100);
                let rows = size / 300;
                [with_word(header, 22, rows as u32), vec![7; rows * 300]].concat()
            }),
            runs("runs of a row", &[200, 1, 0, 0]),
            runs("runs of a pixel", &[1, 1]),
            runs("runs of no pixel", &[0, 0]),
            runs("jumps", &[0, 2, 0, 1]),
        ]
    },
    ..IMAGE
};

/// A run-length encoded 8-bit bitmap with four colors.
fn bmp_in_runs(width: u32, height: u32, runs: &[u8]) -> Vec<u8> {
    let words = [0, 0, 70, 40, width, height, 8 << 16 | 1, 1, 0, 0, 0, 4, 0];
    let words: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let palette = [0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0];
    [b"BM", &words[..], &palette, runs].concat()
}

pub const PSD: Samples = Samples {
    format: Format::Psd,
    file_name: "x.psd",
    folders: &[("psd/good", "psd"), ("psd/bad", "psd"), ("psd/regression", "psd")],
    made: || {
        vec![
            good("gray", psd([2, 1], 1, 0, &[7, 8])),
            bad("packed rows that are cut", psd([2, 1], 1, 1, &[0, 3, 1, 7, 8, 9])),
            refused("packed rows that are long", psd([2, 1], 1, 1, &[0, 2, 0xF0, 8])),
        ]
    },
    limits: || pixel_limits(&PSD),
    claims: || {
        vec![
            bad("30,000 squared", psd([30_000; 2], 1, 0, &[0; 9])),
            bad("30,000 squared in runs", psd([30_000; 2], 1, 1, &[0; 9])),
            bad("2^32 - 1 squared", psd([u32::MAX; 2], 1, 0, &[0; 9])),
            bad("a palette of 4 GB", with_bytes(psd([2, 1], 1, 0, &[7, 8]), 26, &[0xFF; 4])),
            bad("resources of 4 GB", with_bytes(psd([2, 1], 1, 0, &[7, 8]), 30, &[0xFF; 4])),
            bad("layers of 4 GB", with_bytes(psd([2, 1], 1, 0, &[7, 8]), 34, &[0xFF; 4])),
        ]
    },
    shapes: || {
        vec![
            shape("rows", |size| psd([100, size as u32 / 100], 1, 0, &vec![7; size / 100 * 100])),
            shape("rows of a pixel", |size| psd([1, size as u32], 1, 0, &vec![7; size])),
            shape("packed rows", |size| {
                let rows = size / 4;
                psd([100, rows as u32], 1, 1, &[[0, 2].repeat(rows), [0x9D, 7].repeat(rows)].concat())
            }),
        ]
    },
    ..IMAGE
};

/// An 8-bit grayscale document without resources and layers.
fn psd([width, height]: [u32; 2], channels: u16, method: u16, pixels: &[u8]) -> Vec<u8> {
    let header = [
        &b"8BPS\0\x01\0\0\0\0\0\0"[..],
        &channels.to_be_bytes(),
        &height.to_be_bytes(),
        &width.to_be_bytes(),
        &[0, 8, 0, 1],
        &[0; 12],
        &method.to_be_bytes(),
        pixels,
    ];
    header.concat()
}
