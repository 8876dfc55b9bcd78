//! Decoding spans ahead changes neither the bytes nor the error, for any division into spans.

use super::*;
use crate::compress::testing::{Noise, deflated};
use crate::inflated;

/// Generates small numbers, runs, noise, and copies from up to 32 KiB back.
fn plain(len: usize) -> Vec<u8> {
    let mut noise = Noise(9);
    let mut plain = Vec::<u8>::new();
    while plain.len() < len {
        let count = 1 + noise.below(80) as usize;
        let back = plain.len().checked_sub(1 + noise.below(32 << 10) as usize);
        match (plain.len() / 40_000 % 4, noise.below(3), back) {
            (0, ..) => plain.resize(plain.len() + 9 * count, noise.below(3) as u8),
            (1, ..) => plain.extend((0..count).map(|_| noise.below(256) as u8)),
            (_, 0, Some(back)) => plain.extend_from_within(back..(back + count).min(plain.len())),
            _ => plain.extend((0..count).map(|_| (noise.below(5) * noise.below(5)) as u8)),
        }
    }
    plain
}

fn packed(plain: &[u8], level: i32, block: usize) -> Vec<u8> {
    deflated(plain, level, 15, block)
}

/// A division of data: the sizes in bytes of a span, of the data after it, of the memory for a part and of a step, and
/// the interval between the spans that are decoded ahead.
#[derive(Clone, Copy, Debug)]
struct Division {
    span: usize,
    beyond: usize,
    memory: usize,
    step: usize,
    every: usize,
}

const IN_ORDER: Division = Division { span: 5000, beyond: 1000, memory: 0, step: 30_000, every: usize::MAX };

/// Returns the uncompressed bytes, whether the stream is complete or the error, and the number of parts taken.
fn decoded(packed: &[u8], division: Division) -> (Vec<u8>, Result<bool, String>, u64) {
    let mut span = ZlibSpan::new().unwrap();
    let mut decoder = ZlibDecoder::new().unwrap();
    let mut out = Vec::new();
    let mut plain = ZlibPlain::default();
    for (number, at) in (0..packed.len()).step_by(division.span).enumerate() {
        let end = packed.len().min(at + division.span);
        let mut bytes = span.take_bytes();
        bytes.extend_from_slice(&packed[at..packed.len().min(end + division.beyond)]);
        span.set(bytes, at as u64..end as u64);
        if number % division.every == division.every.min(2) - 1 {
            span.decode_ahead(division.memory);
        }
        loop {
            let result = decoder.decode(&mut span, division.step, &mut plain);
            out.extend_from_slice(plain.bytes());
            plain.clear();
            match result {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return (out, Err(error.to_string()), decoder.parts),
            }
        }
    }
    (out, Ok(decoder.is_over() && decoder.offset() == packed.len() as u64), decoder.parts)
}

fn divisions() -> impl Iterator<Item = Division> {
    let beyond = |beyond| Division { beyond, memory: 1 << 20, every: 1, ..IN_ORDER };
    let base = beyond(3000);
    [
        base,
        beyond(700),
        Division { every: 2, ..base },
        Division { every: 3, step: 777, ..base },
        Division { memory: 300 << 10, ..base },
        Division { span: 40_000, beyond: 20_000, ..base },
    ]
    .into_iter()
}

#[test]
fn the_bytes_are_the_same_whichever_spans_are_decoded_ahead() {
    let plain = plain(400_000);
    for level in 0..10 {
        for block in [700, 9000, usize::MAX] {
            let packed = packed(&plain, level, block);
            assert!(decoded(&packed, IN_ORDER) == (plain.clone(), Ok(true), 0), "{level} {block}");
            for division in divisions() {
                let (bytes, end, parts) = decoded(&packed, division);
                assert!(bytes == plain && end == Ok(true), "{level} {block} {division:?} {end:?}");
                assert!(parts > 1 || level < 2 || block == usize::MAX, "{level} {block} {division:?} {parts}");
            }
        }
    }
}

#[test]
fn the_errors_are_the_same_whichever_spans_are_decoded_ahead() {
    let packed = packed(&plain(200_000), 6, 4000);
    for at in (0..packed.len()).step_by(packed.len() / 200) {
        let mut broken = packed.clone();
        broken[at] ^= 1 << (at % 8);
        for broken in [&broken, &packed[..at]] {
            let (expected, end, _) = decoded(broken, IN_ORDER);
            assert_eq!(end.clone().unwrap_or(false), inflated(broken, usize::MAX).is_ok(), "{at}");
            for division in divisions() {
                let (bytes, ahead_end, _) = decoded(broken, Division { step: IN_ORDER.step, ..division });
                assert!(bytes == expected && ahead_end == end, "{at} {division:?} {ahead_end:?} {end:?}");
            }
        }
    }
}

/// Stored bytes that are compressed data themselves contain blocks that are not part of the stream.
#[test]
fn blocks_that_only_look_so_are_not_taken() {
    let inner = packed(&plain(300_000), 6, 5000);
    let outer = packed(&[&plain(40_000)[..], &inner].concat(), 0, usize::MAX);
    let expected = decoded(&outer, IN_ORDER);
    assert_eq!(expected.1, Ok(true));
    for division in divisions() {
        assert!(decoded(&outer, division) == expected, "{division:?}");
    }
}

#[test]
fn a_span_that_does_not_follow_is_an_error() {
    let packed = packed(&plain(100_000), 6, 4000);
    let mut span = ZlibSpan::new().unwrap();
    let mut decoder = ZlibDecoder::new().unwrap();
    span.set(packed[100..].to_vec(), 100..packed.len() as u64);
    assert!(decoder.decode(&mut span, 1000, &mut ZlibPlain::default()).is_err());
}
