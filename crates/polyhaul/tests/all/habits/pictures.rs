//! Habits of PSD, HDR and MPO writers, applied orientations, and DDS cube maps.

use super::images::{exif, with_chunk, with_segment};
use super::{Change, Changed, hold};
use crate::support::{memory, try_converted};
use polyhaul::model::{Image, Samples};
use polyhaul::options::ImageReadOptions;
use polyhaul::{Format, ReadOptions, Reader, WriteOptions};
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;

/// A document whose version indicates that no merged image was saved.
fn psd_without_merged(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    const HEADER_BYTES: usize = 26;
    let long = |at: usize| bytes.get(at..at + 4).map(|long| u32::from_be_bytes([long[0], long[1], long[2], long[3]]));
    let at = HEADER_BYTES + 4 + long(HEADER_BYTES)? as usize;
    let size = long(at)?;
    let content = [&1_u32.to_be_bytes()[..], &[0], &[0; 8], &1_u32.to_be_bytes(), &[0]].concat();
    let resource = [b"8BIM\x04\x21\0\0", &17_u32.to_be_bytes()[..], &content].concat();
    let mut changed = bytes.to_vec();
    if let Some(version) = bytes.windows(8).position(|window| window == &resource[..8]) {
        changed[version + 16] = 0;
        return Changed::warned(changed, "missing-merged-image");
    }
    changed[at..at + 4].copy_from_slice(&(size + resource.len() as u32).to_be_bytes());
    changed.splice(at + 4..at + 4, resource);
    Changed::warned(changed, "missing-merged-image")
}

#[test]
fn psd() {
    hold("psd", "psd", &[("no merged image", psd_without_merged as Change)]);
}

/// A second image after the first one, with an index, as cameras write them.
fn jpg_pictures(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    (!bytes.windows(4).any(|window| window == b"MPF\0")).then_some(())?;
    let count = 2 + random.below(3) as u32;
    let field = |tag: u16, kind: u16, count: u32, value: u32| {
        [&tag.to_be_bytes()[..], &kind.to_be_bytes(), &count.to_be_bytes(), &value.to_be_bytes()].concat()
    };
    let head = [b"MM\0*\0\0\0\x08\0\x03", &field(0xB000, 7, 4, u32::from_be_bytes(*b"0100"))[..]].concat();
    let fields = [field(0xB001, 4, 1, count), field(0xB002, 7, 16 * count, 50)].concat();
    let mut list = [b"MPF\0", &head[..], &fields, &[0; 4]].concat();
    list.extend((0..count).flat_map(|picture| {
        let kind: u32 = if picture == 0 { 0x2003_0000 } else { 0x0002_0003 };
        [kind, bytes.len() as u32, 0, 0].map(u32::to_be_bytes).concat()
    }));
    let changed = with_segment(bytes, 0xe2, &list)?;
    Changed::warned([&changed[..], bytes].concat(), "left-out-frames")
}

#[test]
fn jpg() {
    hold("jpg", "jpg", &[("further pictures", jpg_pictures as Change)]);
}

/// Header lines about the meaning of pixels are kept in the output.
#[test]
fn hdr() {
    let to_hdr = WriteOptions::default().with_format(Some(Format::Hdr));
    let lines =
        ["EXPOSURE=2", "COLORCORR=1 0.5 0.25", "PIXASPECT=1.5", "PRIMARIES=0.64 0.33 0.29 0.6 0.15 0.06 0.33 0.33"];
    for sample in samples("hdr/good", "hdr") {
        let plain = sample.bytes();
        let Some(end) = plain.windows(2).position(|window| window == b"\n\n") else { continue };
        for line in lines {
            let word = line.split('=').next().unwrap_or_default();
            if String::from_utf8_lossy(&plain[..end]).contains(word) {
                continue;
            }
            let file = [&plain[..=end], line.as_bytes(), &plain[end..]].concat();
            let (written, _) = try_converted(memory(file, "x.hdr"), &ReadOptions::default(), &to_hdr).unwrap();
            let head = String::from_utf8_lossy(&written[..written.len().min(400)]).into_owned();
            assert!(head.lines().any(|other| other == line), "{} loses {line}: {head}", sample.name);
        }
    }
}

/// The bytes of each pixel of an image.
fn pixels(image: &Image) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = match &image.samples {
        Samples::U8(samples) => samples.to_vec(),
        Samples::U16(samples) => samples.iter().flat_map(|sample| sample.to_le_bytes()).collect(),
        Samples::F32(samples) => samples.iter().flat_map(|sample| sample.to_le_bytes()).collect(),
    };
    let count = image.width * image.height;
    bytes.chunks(bytes.len() / count.max(1)).map(<[u8]>::to_vec).collect()
}

/// With `orient`, pixels are moved as specified in EXIF's table.
#[test]
fn orientations_are_applied() {
    let image = |bytes: &[u8], name: &str, orient: bool| {
        let read = ReadOptions::default().with_image(ImageReadOptions::default().with_orient(orient));
        Reader::new(memory(bytes, name)).options(&read).image().map(|loaded| loaded.value)
    };
    let mut tried = 0;
    let files = ["png", "jpg"].into_iter().flat_map(|format| samples(&format!("{format}/good"), format));
    for sample in files.filter(|sample| sample.size < 20_000) {
        let plain = sample.bytes();
        let name = if sample.name.ends_with("png") { "x.png" } else { "x.jpg" };
        let Ok(stored) = image(&plain, name, false) else { continue };
        let width = stored.width;
        let height = stored.height;
        let before = pixels(&stored);
        for number in 1..=8 {
            let exif = exif(number, number % 2 == 0);
            let has_exif = plain.windows(4).any(|window| window == b"Exif");
            let changed = match name {
                "x.png" => with_chunk(&plain, b"eXIf", &exif, 0),
                _ if has_exif => None,
                _ => with_segment(&plain, 0xe1, &[b"Exif\0\0", &exif[..]].concat()),
            };
            let Some(changed) = changed else { continue };
            let shown = image(&changed, name, true).unwrap();
            let is_turned = number > 4;
            let size = if is_turned { [height, width] } else { [width, height] };
            assert_eq!([shown.width, shown.height], size, "{} {number}", sample.name);
            let after = pixels(&shown);
            // EXIF's table states on which side of the displayed image the 0th row and the 0th column are.
            for y in 0..size[1] {
                for x in 0..size[0] {
                    let [across, down] = if is_turned { [y, x] } else { [x, y] };
                    let is_from_right = matches!(number, 2 | 3 | 7 | 8);
                    let is_from_bottom = matches!(number, 3 | 4 | 6 | 7);
                    let across = if is_from_right { width - 1 - across } else { across };
                    let down = if is_from_bottom { height - 1 - down } else { down };
                    let at = format!("{} {number} {x} {y}", sample.name);
                    assert!(after[y * size[0] + x] == before[down * width + across], "{at}");
                }
            }
            tried += 1;
        }
    }
    assert!(tried > 0);
}

/// Cube maps made from every square DX10 file: declared by only one of the headers, or with their faces counted as
/// layers.
#[test]
fn cubes_are_found() {
    let texture = |bytes: &[u8]| Reader::new(memory(bytes, "x.dds")).texture().unwrap().value;
    let mut tried = 0;
    for sample in samples("dds/good", "dds") {
        let plain = sample.bytes();
        let word = |at: usize| u32::from_le_bytes([plain[at], plain[at + 1], plain[at + 2], plain[at + 3]]);
        if &plain[84..88] != b"DX10" || word(12) != word(16) || word(140) > 1 || plain.len() > 100_000 {
            continue;
        }
        let cube = |caps: u32, misc: u32, layers: u32| {
            let mut head = plain[..148].to_vec();
            for (at, word) in [(112, caps), (136, misc), (140, layers)] {
                head[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
            }
            texture(&[head, plain[148..].repeat(6)].concat())
        };
        let usual = cube(0xFE00, 4, 1);
        assert_eq!([usual.layers, usual.faces], [1, 6], "{}", sample.name);
        for (caps, misc, layers) in [(0, 4, 1), (0xFE00, 0, 1), (0xFE00, 4, 6), (0, 4, 6), (0xFE00, 0, 6)] {
            assert!(cube(caps, misc, layers) == usual, "{} {caps:x} {misc} {layers}", sample.name);
        }
        tried += 1;
    }
    assert!(tried > 0);
}
