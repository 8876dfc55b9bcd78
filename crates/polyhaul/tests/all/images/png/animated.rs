//! Animations: the still image is read, and damage to other frames does not affect it.

use super::*;

/// Control chunk of a frame with this size and offset.
fn frame(sequence: u32, [width, height]: [u32; 2], [left, top]: [u32; 2]) -> Vec<u8> {
    let words = [sequence, width, height, left, top];
    let data: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).chain([0, 1, 0, 10, 0, 0]).collect();
    chunk(b"fcTL", &data)
}

/// Control chunk of an animation with this number of frames.
fn control(frames: u32) -> Vec<u8> {
    chunk(b"acTL", &[frames.to_be_bytes(), [0; 4]].concat())
}

/// Pixels of a frame other than the still image.
fn moving(sequence: u32, rows: &[u8]) -> Vec<u8> {
    let pixels = pixels(rows);
    chunk(b"fdAT", &[&sequence.to_be_bytes(), &pixels[8..pixels.len() - 4]].concat())
}

const STILL: [u8; 6] = [0, 10, 20, 0, 30, 40];
const MOVED: [u8; 6] = [0, 50, 60, 0, 70, 80];

/// Three frames of 2 x 2 gray pixels, the first of which is the still image.
fn parts() -> [Vec<u8>; 8] {
    [
        header([2, 2], 8, 0),
        control(3),
        frame(0, [2, 2], [0, 0]),
        pixels(&STILL),
        frame(1, [2, 2], [0, 0]),
        moving(2, &MOVED),
        frame(3, [1, 1], [1, 1]),
        moving(4, &MOVED[..2]),
    ]
}

/// Asserts that the still image is read, with these warnings.
#[track_caller]
fn is_still(bytes: &[u8], expected: &[(&'static str, u64)], what: &str) {
    let (image, counts) = warned("x.png", bytes);
    assert_eq!(image.samples, Samples::U8([10, 20, 30, 40].into()), "{what}");
    assert_eq!(counts, expected, "{what}");
}

#[test]
fn frames_that_are_dropped_are_counted() {
    is_still(&of_chunks(&parts()), &[("left-out-frames", 2)], "a still image that is a frame");
    let [header, _, _, still, ..] = parts();
    let apart = [
        header.clone(),
        control(2),
        still.clone(),
        frame(0, [2, 2], [0, 0]),
        moving(1, &MOVED),
        frame(2, [2, 2], [0, 0]),
        moving(3, &MOVED),
    ];
    is_still(&of_chunks(&apart), &[("left-out-frames", 2)], "a still image that is not a frame");
    is_still(&of_chunks(&[header, control(1), frame(0, [2, 2], [0, 0]), still]), &[], "one frame");
    let place = polyhaul::Reader::new(Input::Memory(of_chunks(&parts()), "x.png".into())).image();
    let report = place.unwrap().report;
    let diagnostic = &report.warnings.kept()[0].diagnostic;
    assert_eq!(
        diagnostic.to_string(),
        "x.png: byte 120: only the still image of the animation was read; 2 frames were dropped"
    );
}

#[test]
fn damage_to_the_animation_does_not_affect_the_still_image() {
    let damaged = |place: usize, chunk: Vec<u8>| {
        let mut parts = parts();
        parts[place] = chunk;
        of_chunks(&parts)
    };
    let both = [("broken-animation", 1), ("left-out-frames", 2)];
    for (what, bytes) in [
        ("more frames declared", damaged(1, control(4))),
        ("none declared", damaged(1, Vec::new())),
        ("declared twice", damaged(1, control(3).repeat(2))),
        ("a short acTL", damaged(1, chunk(b"acTL", &[0, 0, 0, 3]))),
        ("a still image of another size", damaged(2, frame(0, [3, 2], [0, 0]))),
        ("no size", damaged(2, frame(0, [0, 2], [0, 0]))),
        ("a frame outside", damaged(6, frame(3, [2, 2], [1, 1]))),
        ("a frame far outside", damaged(6, frame(3, [1, 1], [u32::MAX, 1]))),
        ("a sequence number", damaged(5, moving(7, &MOVED))),
        ("a long fcTL", damaged(4, chunk(b"fcTL", &[&frame(1, [2, 2], [0, 0])[8..34], &[0; 4]].concat()))),
        ("a short fdAT", damaged(5, chunk(b"fdAT", &[0, 0]))),
        ("pixels before the frame", damaged(4, [moving(1, &MOVED), frame(2, [2, 2], [0, 0])].concat())),
    ] {
        is_still(&bytes, &both, what);
    }
    is_still(&damaged(6, Vec::new()), &[("broken-animation", 1), ("left-out-frames", 1)], "a frame without control");
    // Invalid pixels of a dropped frame are not examined.
    is_still(&damaged(7, chunk(b"fdAT", &[0, 0, 0, 4, 9, 9])), &[("left-out-frames", 2)], "no pixels");
}

/// Changes each byte of the animation chunks except their types, which could become those of other chunks.
#[test]
fn any_byte_of_the_animation_may_be_wrong() {
    let parts = parts();
    let mut at = 8;
    for part in &parts {
        let is_animated = [&b"acTL"[..], b"fcTL", b"fdAT"].contains(&&part[4..8]);
        for place in (0..part.len()).filter(|place| is_animated && !(4..8).contains(place)) {
            let mut bytes = of_chunks(&parts);
            bytes[at + place] ^= 0x55;
            let (image, counts) = load_warned("x.png", bytes, &read_options(1, None)).unwrap();
            assert_eq!(image.samples, Samples::U8([10, 20, 30, 40].into()), "{place}");
            // A wrong length includes the data after the chunk.
            assert_eq!(counts[0], ("broken-animation", 1), "{place} of {part:?}");
        }
        at += part.len();
    }
}

#[test]
fn an_animation_may_end_early() {
    let whole = of_chunks(&parts());
    let still_end = 8 + parts()[..4].iter().map(Vec::len).sum::<usize>();
    for size in still_end..whole.len() {
        let loaded = load_warned("x.png", whole[..size].to_vec(), &read_options(1, None));
        // Truncated before the first frame after the still image, the file is like any other truncated file.
        let is_read = size >= still_end + 8;
        assert_eq!(loaded.is_ok(), is_read, "{size}: {:?}", loaded.err());
        if is_read {
            let (image, counts) = loaded.unwrap();
            assert_eq!(image.samples, Samples::U8([10, 20, 30, 40].into()));
            assert_eq!(counts[0], ("broken-animation", 1));
        }
    }
    // Garbage in place of a chunk, which is an error without an animation.
    let garbage = [&whole[..whole.len() - 12], &[0xEE; 30]].concat();
    is_still(&garbage, &[("broken-animation", 1), ("left-out-frames", 2)], "garbage");
    let [header, _, _, still, ..] = parts();
    let plain = of_chunks(&[header, still]);
    let garbage = [&plain[..plain.len() - 12], &[0xEE; 30]].concat();
    assert_eq!(error("x.png", &garbage).kind(), ErrorKind::Malformed);
}

/// The image's own chunks are still read strictly.
#[test]
fn damage_to_the_still_image_is_an_error() {
    let mut parts = parts();
    let last = parts[3].len() - 1;
    parts[3][last] ^= 1;
    assert!(error("x.png", &of_chunks(&parts)).to_string().contains("checksum"));
}
