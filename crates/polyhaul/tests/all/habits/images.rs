//! Deviations in PNG, JPEG, KTX2, DDS and HDR.

use super::{Change, Changed, hold};
use crate::support::{byte_samples, memory};
use polyhaul::Reader;
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::zip::crc32;

/// Adds a chunk after the header of a PNG file; `damage` changes its checksum.
pub fn with_chunk(bytes: &[u8], kind: &[u8; 4], data: &[u8], damage: u32) -> Option<Vec<u8>> {
    const HEADER_END: usize = 33;
    // Existing color profiles take precedence.
    let has = |kind: &[u8]| bytes.windows(4).any(|window| window == kind);
    [&b"gAMA"[..], b"cHRM", b"sRGB", b"iCCP", b"cICP", b"eXIf"].into_iter().all(|kind| !has(kind)).then_some(())?;
    let named = [kind, data].concat();
    let length = (data.len() as u32).to_be_bytes();
    let sum = (crc32(&named) ^ damage).to_be_bytes();
    let (head, rest) = bytes.split_at_checked(HEADER_END)?;
    Some([head, &length, &named, &sum, rest].concat())
}

fn png_text(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let damage = 1 << random.below(32);
    let kind = [b"tEXt", b"tIME", b"prVt"][random.below(3)];
    Changed::warned(with_chunk(bytes, kind, b"Comment\0words", damage)?, "bad-checksum")
}

fn png_gamma(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let gamma = [55_555_u32, 100_001, 20_000][random.below(3)];
    let changed = with_chunk(bytes, b"gAMA", &gamma.to_be_bytes(), 0)?;
    Some(Changed::warned(changed, "changed-color-space")?.but("color-space"))
}

fn png_usual_gamma(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    Changed::silent(with_chunk(bytes, b"gAMA", &45_455_u32.to_be_bytes(), 0)?)
}

fn png_code_points(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let points = [[9, 16, 0, 1], [9, 18, 0, 1], [12, 13, 0, 1]][random.below(3)];
    Some(Changed::warned(with_chunk(bytes, b"cICP", &points, 0)?, "changed-color-space")?.but("color-space"))
}

/// An Exif directory with one entry.
pub fn exif(orientation: u8, is_big: bool) -> Vec<u8> {
    let number = |number: u32, bytes: usize| {
        if is_big { number.to_be_bytes()[4 - bytes..].to_vec() } else { number.to_le_bytes()[..bytes].to_vec() }
    };
    let mark: &[u8] = if is_big { b"MM" } else { b"II" };
    // A padded short is at the start of its field.
    let value = [number(u32::from(orientation), 2), vec![0, 0]].concat();
    [
        mark,
        &number(42, 2),
        &number(8, 4),
        &number(1, 2),
        &number(0x112, 2),
        &number(3, 2),
        &number(1, 4),
        &value,
        &[0; 4],
    ]
    .concat()
}

fn png_orientation(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let exif = exif(2 + random.below(7) as u8, random.once_in(2));
    Changed::warned(with_chunk(bytes, b"eXIf", &exif, 0)?, "unapplied-orientation")
}

#[test]
fn png() {
    let changes: [(&str, Change); 5] = [
        ("a bad checksum of a chunk that pixels do not need", png_text),
        ("another gamma", png_gamma),
        ("the usual gamma", png_usual_gamma),
        ("code points", png_code_points),
        ("an orientation", png_orientation),
    ];
    hold("png", "png", &changes);
}

/// Adds a segment at the start of a JPEG file.
pub fn with_segment(bytes: &[u8], marker: u8, data: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(b"\xff\xd8")?;
    Some([b"\xff\xd8\xff", &[marker][..], &(data.len() as u16 + 2).to_be_bytes(), data, rest].concat())
}

fn jpg_orientation(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    (!bytes.windows(4).any(|window| window == b"Exif")).then_some(())?;
    let exif = [b"Exif\0\0", &exif(2 + random.below(7) as u8, random.once_in(2))[..]].concat();
    Changed::warned(with_segment(bytes, 0xe1, &exif)?, "unapplied-orientation")
}

fn jpg_comment(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    Changed::silent(with_segment(bytes, 0xfe, b"\xff\xd9 is not the end")?)
}

/// Fill bytes before a marker, which decoders skip.
fn jpg_fill(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let rest = bytes.strip_prefix(b"\xff\xd8")?;
    Changed::silent([b"\xff\xd8", &[0xff; 4][..=random.below(4)], &rest[1..]].concat())
}

fn jpg_after(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    Changed::silent([bytes, b"\0\0"].concat())
}

#[test]
fn jpg() {
    let changes: [(&str, Change); 4] = [
        ("an orientation", jpg_orientation),
        ("a comment with a marker", jpg_comment),
        ("fill bytes", jpg_fill),
        ("bytes behind the end", jpg_after),
    ];
    hold("jpg", "jpg", &changes);
}

/// Some writers set the size of the pixel format to 24, or omit it.
fn dds_size(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut changed = bytes.to_vec();
    *changed.get_mut(76)? = [24, 0][random.below(2)];
    Changed::warned(changed, "bad-declaration")
}

fn dds_after(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    Changed::silent([bytes, &[7; 9][..=random.below(8)]].concat())
}

#[test]
fn dds() {
    let changes: [(&str, Change); 2] = [("another size of the pixel format", dds_size), ("more data", dds_after)];
    hold("dds", "dds", &changes);
}

/// Adds a key/value pair to a KTX2 file.
fn with_pair(bytes: &[u8], key: &str, value: &str) -> Option<Vec<u8>> {
    const LEVELS: usize = 80;
    let word = |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    (word(60)? == 0).then_some(())?;
    let mut pair = [key.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat();
    let size = pair.len() as u32;
    pair.splice(0..0, size.to_le_bytes());
    // Levels keep their aligned offsets.
    pair.resize(pair.len().next_multiple_of(4), 0);
    let used = pair.len();
    pair.resize(used.next_multiple_of(48), 0);
    let at = (word(48)? + word(52)?) as usize;
    let mut changed = bytes.to_vec();
    changed[56..60].copy_from_slice(&(at as u32).to_le_bytes());
    changed[60..64].copy_from_slice(&(used as u32).to_le_bytes());
    for level in 0..word(40)?.max(1) as usize {
        let offset = &mut changed[LEVELS + 24 * level..][..4];
        let moved = u32::from_le_bytes([offset[0], offset[1], offset[2], offset[3]]) + pair.len() as u32;
        offset.copy_from_slice(&moved.to_le_bytes());
    }
    changed.splice(at..at, pair);
    Some(changed)
}

/// Orientation and channel order are applied to the pixels.
#[test]
fn ktx2() {
    let load = |bytes: &[u8]| Reader::new(memory(bytes, "x.ktx2")).image().unwrap().value;
    let mut tried = 0;
    for sample in samples("ktx2/good", "ktx2") {
        let plain = sample.bytes();
        let pairs =
            [("KTXorientation", "ru"), ("KTXorientation", "rd"), ("KTXswizzle", "bgra"), ("KTXswizzle", "rgba")];
        for (key, value) in pairs {
            let Some(changed) = with_pair(&plain, key, value) else { continue };
            let [image, changed] = [&plain, &changed].map(|bytes| load(bytes));
            let channels = image.channels.count();
            let mut rows: Vec<Vec<u8>> =
                byte_samples(&image).chunks(image.width * channels).map(<[u8]>::to_vec).collect();
            match value {
                "ru" => rows.reverse(),
                "bgra" => rows.iter_mut().flat_map(|row| row.chunks_mut(channels)).for_each(|pixel| pixel.swap(0, 2)),
                _ => {}
            }
            assert!(rows.concat() == byte_samples(&changed), "{} with {key} {value}", sample.name);
            tried += 1;
        }
    }
    assert!(tried > 0);
}
