//! Pixels of every format, with bits described by another library or by masks.

use crate::support::memory;
use polyhaul::Reader;
use polyhaul::model::{Channels, Image, Samples};
use polyhaul_testkit::random::Random;

/// KTX2 formats with the same pixels as a DDS format.
const SAME_IN_DDS: [(u32, u32); 15] = [
    (4, 85),
    (8, 86),
    (10, 63),
    (17, 51),
    (38, 31),
    (64, 24),
    (71, 58),
    (78, 37),
    (92, 13),
    (106, 6),
    (122, 26),
    (123, 67),
    (1_000_340_000, 115),
    (2, 191),
    (109, 2),
];

/// Unsupported formats: two channels in a byte; packed, reversed or three signed channels; depth.
const UNREAD: [u32; 14] = [1, 24, 31, 45, 52, 59, 65, 85, 124, 125, 126, 128, 129, 130];

/// A channel of a pixel.
struct Bits {
    /// 0 to 3: red, green, blue and alpha.
    channel: usize,
    offset: usize,
    size: usize,
    is_float: bool,
    is_signed: bool,
    is_exponent: bool,
}

impl Bits {
    fn value(&self, pixel: u128) -> u64 {
        (pixel >> self.offset) as u64 & (u64::MAX >> (64 - self.size))
    }

    /// Decodes the bits.
    fn number(&self, pixel: u128) -> f64 {
        let value = self.value(pixel);
        let full = ((1_u64 << (self.size - u32::from(self.is_signed) as usize)) - 1) as f64;
        match (self.is_float, self.size) {
            (true, 32) => f64::from(f32::from_bits(value as u32)),
            (true, 16) => half(value),
            // An unsigned float with fewer mantissa bits.
            (true, size) => half(value << (15 - size)),
            (false, size) if self.is_signed => {
                let signed = (value << (64 - size)) as i64 >> (64 - size);
                (signed as f64 / full).max(-1.0)
            }
            _ => value as f64 / full,
        }
    }
}

/// Decodes a 16-bit float.
fn half(bits: u64) -> f64 {
    let sign = if bits >> 15 & 1 == 1 { -1.0 } else { 1.0 };
    let fraction = (bits & 0x3FF) as f64 / 1024.0;
    match (bits >> 10 & 0x1F) as i32 {
        0 => sign * fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

/// Red, green, blue and alpha of a pixel; `None` for missing channels.
fn numbers(bits: &[Bits], pixel: u128) -> [Option<f64>; 4] {
    let mut numbers = [None; 4];
    for part in bits.iter().filter(|part| !part.is_exponent) {
        let shared = bits.iter().find(|other| other.is_exponent && other.channel == part.channel);
        numbers[part.channel] = Some(match shared {
            Some(shared) => part.value(pixel) as f64 * 2_f64.powi(shared.value(pixel) as i32 - 24),
            None => part.number(pixel),
        });
    }
    numbers
}

/// A pixel with only finite values.
fn random_pixel(bits: &[Bits], pixel_bytes: usize, random: &mut Random) -> Vec<u8> {
    loop {
        let bytes: Vec<u8> = (0..pixel_bytes).map(|_| random.below(256) as u8).collect();
        if numbers(bits, number_of(&bytes)).into_iter().flatten().all(f64::is_finite) {
            return bytes;
        }
    }
}

fn number_of(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// Samples of a pixel as red, green, blue and alpha, and the allowed difference.
fn samples(image: &Image, at: usize) -> ([f64; 4], f64) {
    let count = image.channels.count();
    let range = at * count..(at + 1) * count;
    let (values, step): (Vec<f64>, f64) = match &image.samples {
        Samples::U8(samples) => (samples[range].iter().map(|&value| f64::from(value) / 255.0).collect(), 1.0 / 255.0),
        Samples::U16(samples) => {
            (samples[range].iter().map(|&value| f64::from(value) / 65_535.0).collect(), 1.0 / 65_535.0)
        }
        Samples::F32(samples) => (samples[range].iter().map(|&value| f64::from(value)).collect(), 0.0),
    };
    let pixel = match (image.channels, &values[..]) {
        (Channels::Gray, &[gray]) => [gray, gray, gray, 1.0],
        (Channels::GrayAlpha, &[gray, alpha]) => [gray, gray, gray, alpha],
        (Channels::Rgb, &[red, green, blue]) => [red, green, blue, 1.0],
        (_, &[red, green, blue, alpha]) => [red, green, blue, alpha],
        _ => [f64::NAN; 4],
    };
    (pixel, step)
}

/// Describes the fault in a row of pixels read from a file, if any.
fn fault(file: Vec<u8>, name: &str, bits: &[Bits], pixels: &[Vec<u8>]) -> Option<String> {
    let image = match Reader::new(memory(file, name)).image() {
        Ok(loaded) => loaded.value,
        Err(error) => return Some(format!("it is not read: {error}")),
    };
    if bits.iter().any(|part| part.size > 8) && matches!(image.samples, Samples::U8(_)) {
        return Some("it has 8 bits a channel".into());
    }
    for (at, pixel) in pixels.iter().enumerate() {
        let expected = numbers(bits, number_of(pixel));
        let (actual, step) = samples(&image, at);
        for (expected, actual) in expected.into_iter().zip(actual) {
            let Some(expected) = expected else { continue };
            let tolerance = 0.501 * step + 1e-6 * expected.abs();
            let distance = (actual - expected).abs();
            if distance.is_nan() || distance > tolerance {
                return Some(format!("{actual} in place of {expected} in {pixel:x?}"));
            }
        }
    }
    None
}

/// A file with one row of pixels; the other library writes its descriptor.
fn ktx2(format: u32, descriptor: &::ktx2::dfd::Basic, type_bytes: u32, pixels: &[Vec<u8>]) -> Vec<u8> {
    const HEAD_BYTES: u32 = 104;
    let basic = descriptor.to_vec();
    let block = [&[0, 0, 0, 0, 2, 0][..], &(basic.len() as u16 + 8).to_le_bytes(), &basic].concat();
    let size = block.len() as u32 + 4;
    let start = (HEAD_BYTES + size).next_multiple_of(48);
    let data = pixels.concat();
    let mut file = b"\xABKTX 20\xBB\r\n\x1A\n".to_vec();
    let words = [format, type_bytes, pixels.len() as u32, 1, 0, 0, 1, 1, 0, HEAD_BYTES, size, 0, 0, 0, 0, 0, 0];
    file.extend(words.into_iter().flat_map(u32::to_le_bytes));
    file.extend([u64::from(start), data.len() as u64, data.len() as u64].into_iter().flat_map(u64::to_le_bytes));
    file.extend(size.to_le_bytes());
    file.extend(block);
    file.resize(start as usize, 0);
    file.extend(data);
    file
}

/// A DDS file with one row of pixels.
fn dds(words: [u32; 7], second: &[u32], pixels: &[Vec<u8>]) -> Vec<u8> {
    let mut header = [0_u32; 32];
    header[..5].copy_from_slice(&[u32::from_le_bytes(*b"DDS "), 124, 0x1007, 1, pixels.len() as u32]);
    header[19] = 32;
    header[20..27].copy_from_slice(&words);
    header[27] = 0x1000;
    let words = header.iter().chain(second).flat_map(|word| word.to_le_bytes());
    words.chain(pixels.concat()).collect()
}

#[test]
fn every_format_with_a_number_has_the_pixels_of_its_description() {
    let mut faults = Vec::new();
    let numbers = (1..=130).chain([1_000_340_000, 1_000_340_001, 1_000_470_000, 1_000_470_001]);
    for number in numbers.filter(|number| !UNREAD.contains(number)) {
        let Some(format) = ::ktx2::Format::new(number) else { continue };
        let name = format!("{format:?}");
        let Ok((descriptor, type_bytes)) = ::ktx2::dfd::Basic::from_format(format) else { continue };
        if !["UNORM", "SRGB", "FLOAT", "SNORM"].iter().any(|kind| name.contains(kind)) || name.contains("64") {
            continue;
        }
        let pixel_bytes = usize::from(descriptor.bytes_planes[0]);
        let bits: Vec<Bits> = descriptor
            .sample_information
            .iter()
            .map(|sample| {
                use ::ktx2::dfd::ChannelTypeQualifiers as Qualifiers;
                let has = |qualifier| sample.channel_type_qualifiers.contains(qualifier);
                Bits {
                    channel: usize::from(sample.channel_type).min(3),
                    offset: sample.bit_offset.into(),
                    size: sample.bit_length.get().into(),
                    is_float: has(Qualifiers::FLOAT) && !name.contains("E5B9G9R9"),
                    is_signed: has(Qualifiers::SIGNED),
                    is_exponent: has(Qualifiers::EXPONENT),
                }
            })
            .collect();
        let mut random = Random::new(u64::from(number));
        let pixels: Vec<Vec<u8>> = (0..40).map(|_| random_pixel(&bits, pixel_bytes, &mut random)).collect();
        let file = ktx2(number, &descriptor, type_bytes, &pixels);
        faults.extend(fault(file, "x.ktx2", &bits, &pixels).map(|fault| format!("{name}: {fault}")));
        for (_, other) in SAME_IN_DDS.into_iter().filter(|(same, _)| *same == number) {
            let file = dds([4, u32::from_le_bytes(*b"DX10"), 0, 0, 0, 0, 0], &[other, 3, 0, 1, 0], &pixels);
            faults.extend(fault(file, "x.dds", &bits, &pixels).map(|fault| format!("{name} in DDS: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Any masks of up to 10 bits, in BMP and DDS.
#[test]
fn channels_are_the_bits_of_their_masks() {
    let mut faults = Vec::new();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut places = [0, 1, 2];
        places.rotate_left(random.below(3));
        let mut offset = 0;
        let mut bits = Vec::new();
        for channel in places {
            let size = 2 + random.below(9);
            bits.push(Bits { channel, offset, size, is_float: false, is_signed: false, is_exponent: false });
            offset += size;
        }
        let mask = |channel: usize| {
            let part = bits.iter().find(|part| part.channel == channel);
            part.map_or(0, |part| ((1_u32 << part.size) - 1) << part.offset)
        };
        let masks = [mask(0), mask(1), mask(2)];
        let pixels: Vec<Vec<u8>> = (0..8).map(|_| random_pixel(&bits, 4, &mut random)).collect();
        let file = dds([0x40, 0, 32, masks[0], masks[1], masks[2], 0], &[], &pixels);
        faults.extend(fault(file, "x.dds", &bits, &pixels).map(|fault| format!("DDS, seed {seed}: {fault}")));
        let mut file = b"BM\0\0\0\0\0\0\0\0\x7A\0\0\0".to_vec();
        file.extend([108_u32, 8, 1, 1 | 32 << 16, 3, 32, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
        file.extend(masks.into_iter().flat_map(u32::to_le_bytes));
        file.resize(122, 0);
        file.extend(pixels.concat());
        faults.extend(fault(file, "x.bmp", &bits, &pixels).map(|fault| format!("BMP, seed {seed}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
