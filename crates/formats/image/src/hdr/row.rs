//! Decodes and encodes a row of an HDR file.
//!
//! Converts between bytes and floats only; `reader` and `writer` handle files and the order of rows.
//!
//! A row with runs by channel starts with 2, 2 and its width in 2 bytes, big-endian. Red, green, blue and exponents
//! follow, each in packets: a first byte `n` above 128 repeats the next byte `n` - 128 times; any other `n` is followed
//! by `n` literal bytes.

use crate::runs;
use crate::runs::{RunCode, RunsProgress, SLACK};
use polyhaul_text::cpu::Level;
use std::mem::MaybeUninit;

/// A stored pixel: red, green, blue, and the exponent.
pub(super) type HdrStored = [u8; 4];

/// Scale of a mantissa, by exponent.
static SCALES: [f32; 256] = {
    let mut scales = [0.0; 256];
    let mut exponent = 1;
    while exponent < 256 {
        // 2^(exponent - 136); the first nine are subnormal, with a single mantissa bit set.
        let bits = if exponent < 10 { 1 << (exponent + 13) } else { (exponent - 9) << 23 };
        scales[exponent as usize] = f32::from_bits(bits);
        exponent += 1;
    }
    scales
};

/// The largest sample: 255 · 2^(255 - 136).
pub(super) const LARGEST: f32 = f32::from_bits(0x7EFF_0000);

/// Widths of rows with runs by channel: the width has at most 15 bits, and the format does not allow narrower rows.
pub(super) const WIDTHS: std::ops::Range<usize> = 8..0x8000;

/// The reason why a row is invalid, and its offset in the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HdrFault {
    /// The bytes end before the end of the row.
    Cut,
    At(usize, &'static str),
}

/// Returns whether a row of this width starts like a row with runs by channel.
pub(super) fn is_by_channel(width: usize, bytes: &[u8]) -> bool {
    WIDTHS.contains(&width) && matches!(bytes, [2, 2, high, ..] if *high < 0x80)
}

/// Returns the maximum size of a row with runs by channel.
pub(super) const fn max_bytes(width: usize) -> usize {
    4 + 8 * width
}

/// Returns the size of the planes of a row: red, green, blue and exponents.
pub(super) const fn plane_bytes(width: usize) -> usize {
    4 * width
}

/// Decodes the first byte of a packet.
struct HdrHeads;

impl RunCode for HdrHeads {
    #[inline(always)]
    fn decode(head: u8) -> (usize, bool) {
        let is_run = head > 128;
        (usize::from(head) - if is_run { 128 } else { 0 }, is_run)
    }
}

/// Unpacks a row with runs by channel into four planes. Returns the packed size in bytes. The planes are followed by
/// [`SLACK`] bytes, which may be overwritten.
pub(super) fn planes(level: Level, bytes: &[u8], width: usize, planes: &mut [u8]) -> Result<usize, HdrFault> {
    let Some(&[_, _, high, low]) = bytes.first_chunk() else { return Err(HdrFault::Cut) };
    if usize::from(u16::from_be_bytes([high, low])) != width {
        return Err(HdrFault::At(0, "the width of this row differs from the width in the header"));
    }
    let mut used = 4;
    for plane in 0..4 {
        let plane = &mut planes[plane * width..][..width + SLACK];
        let mut progress = RunsProgress { used, made: 0 };
        while progress.made < width {
            runs::unpack::<HdrHeads, 1>(level, bytes, plane, &mut progress);
            if progress.made < width {
                packet(bytes, &mut plane[..width], &mut progress)?;
            }
        }
        used = progress.used;
    }
    Ok(used)
}

/// Unpacks a packet near the end of either slice, where [`runs::unpack`] stops.
fn packet(bytes: &[u8], plane: &mut [u8], RunsProgress { used, made }: &mut RunsProgress) -> Result<(), HdrFault> {
    let (count, is_run) = match *bytes.get(*used).ok_or(HdrFault::Cut)? {
        0 => return Err(HdrFault::At(*used, "a run has length 0")),
        head => HdrHeads::decode(head),
    };
    let Some(to) = plane.get_mut(*made..*made + count) else {
        return Err(HdrFault::At(*used, "a run extends past the end of its row"));
    };
    let stored = bytes.get(*used + 1..).ok_or(HdrFault::Cut)?;
    if is_run {
        to.fill(*stored.first().ok_or(HdrFault::Cut)?);
    } else {
        to.copy_from_slice(stored.get(..count).ok_or(HdrFault::Cut)?);
    }
    *used += 1 + if is_run { 1 } else { count };
    *made += count;
    Ok(())
}

/// Converts four planes to pixels. The result is the same for every level.
pub(super) fn of_planes(level: Level, planes: &[u8], to: &mut [MaybeUninit<f32>]) {
    let width = planes.len() / 4;
    let (red, rest) = planes.split_at(width);
    let (green, rest) = rest.split_at(width);
    let (blue, exponents) = rest.split_at(width);
    let to = to.as_chunks_mut::<3>().0;
    #[cfg(target_arch = "x86_64")]
    let converted = super::row_x86::of_planes(level, [red, green, blue, exponents], to);
    #[cfg(not(target_arch = "x86_64"))]
    let converted = 0;
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    let stored = red.iter().zip(green).zip(blue).zip(exponents);
    for (to, (((red, green), blue), exponent)) in to.iter_mut().zip(stored).skip(converted) {
        *to = pixel([*red, *green, *blue, *exponent]).map(MaybeUninit::new);
    }
}

/// Decodes a pixel.
#[inline]
pub(super) fn pixel([red, green, blue, exponent]: HdrStored) -> [f32; 3] {
    let scale = SCALES[usize::from(exponent)];
    [red, green, blue].map(|mantissa| f32::from(mantissa) * scale)
}

/// Encodes the nearest pixel: negative samples and NaN become 0, and samples that are too large become [`LARGEST`].
/// Three mantissas of 1 would be a run in a row without runs by channel; only the darkest pixel has such mantissas, and
/// becomes black.
pub(super) fn stored(pixel: [f32; 3]) -> HdrStored {
    let pixel = pixel.map(|value| if value > 0.0 { f64::from(value.min(f32::MAX)) } else { 0.0 });
    let largest = pixel.iter().fold(0.0_f64, |largest, value| largest.max(*value));
    // The largest mantissa is 128 to 255, so the exponent equals the exponent of the largest sample, plus one if the
    // mantissa rounds to 256. At the smallest exponent, mantissas can be smaller.
    let mut power = ((largest.to_bits() >> 52) as i32 - 1023).max(-128);
    let scaled = |exponent: i32| pixel.map(|value| (value * 2_f64.powi(7 - exponent)).round());
    let mut mantissas = scaled(power);
    if mantissas.contains(&256.0) {
        power += 1;
        mantissas = scaled(power);
    }
    let bytes = |mantissas: [f64; 3], exponent: u8| {
        let [red, green, blue] = mantissas.map(|mantissa| mantissa.min(255.0) as u8);
        [red, green, blue, exponent]
    };
    // Mantissas were scaled by 2^(7 - power), and a stored exponent e stands for 2^(e - 136).
    match u8::try_from(power + 129) {
        Ok(_) if mantissas == [0.0; 3] || mantissas == [1.0; 3] => [0; 4],
        Ok(exponent) => bytes(mantissas, exponent),
        // Too large for any exponent: the mantissas saturate at 255 with the largest exponent.
        Err(_) => bytes(scaled(126), u8::MAX),
    }
}

/// Returns whether a pixel with samples from 0 to [`LARGEST`] is stored exactly.
#[inline]
pub(super) fn is_exact(numbers: [f32; 3]) -> bool {
    let [red, green, blue] = numbers;
    let exponent = red.max(green).max(blue).to_bits() >> 23;
    // Slow path for black, and for exponents for which the scale below is not a normal float.
    if !(30..250).contains(&exponent) {
        return pixel(stored(numbers)) == numbers;
    }
    // Scales the largest sample to at least 128 and less than 256.
    let scale = f32::from_bits((261 - exponent) << 23);
    numbers.into_iter().all(|number| {
        // A small number may underflow to 0, which would pass as a whole mantissa.
        let mantissa = number * scale;
        mantissa == (mantissa as u32) as f32 && (mantissa != 0.0 || number == 0.0)
    })
}

/// Appends a plane as packets: runs of at least three equal bytes, and literals. `out` must have enough capacity.
pub(super) fn pack(mut plane: &[u8], out: &mut Vec<u8>) {
    // The first byte of a run is 128 plus its length.
    const RUN: usize = 127;
    // A shorter run saves nothing, since it interrupts literals.
    const WORTH: usize = 3;
    let run_of =
        |plane: &[u8], max_count: usize| plane.iter().take(max_count).take_while(|byte| **byte == plane[0]).count();
    while !plane.is_empty() {
        let run = run_of(plane, RUN);
        let count = if run >= WORTH {
            out.extend_from_slice(&[128 + run as u8, plane[0]]);
            run
        } else {
            // Larger first bytes mark runs.
            let max_count = plane.len().min(128);
            let count = (1..max_count).find(|&at| run_of(&plane[at..], WORTH) == WORTH).unwrap_or(max_count);
            out.push(count as u8);
            out.extend_from_slice(&plane[..count]);
            count
        };
        plane = &plane[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_mantissas_times_powers_of_two() {
        for exponent in 1..=255 {
            let expected = [1.0, 128.0, 255.0].map(|mantissa| (mantissa * 2_f64.powi(exponent - 136)) as f32);
            assert_eq!(pixel([1, 128, 255, exponent as u8]), expected, "{exponent}");
        }
        assert_eq!(pixel([255, 255, 255, 0]), [0.0; 3]);
        assert_eq!(pixel([128, 64, 0, 129]), [1.0, 0.5, 0.0]);
    }

    #[test]
    fn exact_pixels_are_distinguished_from_others() {
        assert_eq!(pixel([255, 0, 0, 255]), [LARGEST, 0.0, 0.0]);
        let mut seed = 7_u32;
        let mut byte = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        for _ in 0..100_000 {
            let exact = pixel([byte(), byte(), byte(), byte()]);
            let other = exact.map(|number| if byte() < 128 { number } else { number.next_up().min(LARGEST) });
            for numbers in [exact, other, [exact[0], other[1], 1e-30]] {
                assert_eq!(is_exact(numbers), pixel(stored(numbers)) == numbers, "{numbers:?}");
            }
        }
    }

    #[test]
    fn stored_pixels_stay_the_same() {
        for exponent in 1..=255 {
            for mantissas in [[128, 0, 255], [1, 200, 3], [255, 255, 255], [5, 0, 130]] {
                let [red, green, blue] = mantissas;
                let stored_pixel = [red, green, blue, exponent];
                assert_eq!(stored(pixel(stored_pixel)), stored_pixel);
            }
        }
    }

    #[test]
    fn other_pixels_become_the_nearest() {
        assert_eq!(stored([0.0; 3]), [0; 4]);
        assert_eq!(stored([-1.0, f32::NAN, 0.5]), [0, 0, 128, 128]);
        assert_eq!(stored([f32::INFINITY, 0.0, 0.0])[3], 255);
        assert_eq!(stored([1e-42; 3]), [0; 4]);
        assert_eq!(stored(pixel([0, 3, 64, 1])), [0, 3, 64, 1]);
        // 255.6 / 256 rounds up to the next exponent.
        assert_eq!(stored([255.6 / 256.0, 0.0, 0.0]), [128, 0, 0, 129]);
    }

    #[test]
    fn no_pixel_looks_like_a_run() {
        for exponent in 1..=255 {
            let stored = stored(pixel([1, 1, 1, exponent]));
            assert_eq!(stored == [0; 4], exponent == 1, "{stored:?}");
            assert_ne!(stored[..3], [1; 3]);
        }
    }

    #[test]
    fn packed_planes_unpack_to_the_same() {
        let width = 301;
        let plain: Vec<u8> = (0..4 * width).map(|at: usize| (at / (1 + at / 50 % 200)) as u8).collect();
        let mut packed = vec![2, 2, (width >> 8) as u8, width as u8];
        plain.chunks(width).for_each(|plane| pack(plane, &mut packed));
        for level in Level::all() {
            let mut unpacked = vec![0; plain.len() + SLACK];
            assert_eq!(planes(level, &packed, width, &mut unpacked), Ok(packed.len()));
            assert!(unpacked[..plain.len()] == plain);
            for size in 0..packed.len() {
                assert_eq!(planes(level, &packed[..size], width, &mut unpacked), Err(HdrFault::Cut), "{size}");
            }
        }
    }

    #[test]
    fn invalid_packets_are_found_at_every_level() {
        // No pixels, a run past the end of a plane, and literals past it: far from the end of the input and near it.
        for (wrong, message) in [
            (&[0, 9][..], "a run has length 0"),
            (&[128 + 5, 9], "a run extends past the end of its row"),
            (&[5, 9, 9, 9, 9, 9], "a run extends past the end of its row"),
        ] {
            for behind in [0, 500] {
                let mut packed = [&[2, 2, 0, 100, 128 + 96, 7], wrong].concat();
                packed.resize(packed.len() + behind, 1);
                for level in Level::all() {
                    let result = planes(level, &packed, 100, &mut [0; 400 + SLACK]);
                    assert_eq!(result, Err(HdrFault::At(6, message)), "{level:?}");
                }
            }
        }
    }

    #[test]
    fn every_level_converts_all_pixels_the_same() {
        // All mantissas with all exponents, in rows of many widths.
        let pixels: Vec<HdrStored> =
            (0..=255).flat_map(|exponent| (0..=255_u8).map(move |m| [m, !m, m.reverse_bits(), exponent])).collect();
        for width in (1..70).chain([1000, pixels.len()]) {
            for stored in pixels.chunks(width).step_by(1 + 70 / width) {
                let planes: Vec<u8> = (0..4).flat_map(|plane| stored.iter().map(move |pixel| pixel[plane])).collect();
                let expected: Vec<f32> = stored.iter().flat_map(|stored| pixel(*stored)).collect();
                for level in Level::all() {
                    let mut floats = vec![MaybeUninit::new(-1.0); 3 * stored.len() + 3];
                    of_planes(level, &planes, &mut floats[..3 * stored.len()]);
                    // SAFETY: all elements were initialized by the constructor of the vector.
                    let floats: Vec<f32> = floats.iter().map(|value| unsafe { value.assume_init() }).collect();
                    assert!(
                        floats[..expected.len()] == expected && floats[expected.len()..] == [-1.0; 3],
                        "{level:?} {width}"
                    );
                }
            }
        }
    }
}
