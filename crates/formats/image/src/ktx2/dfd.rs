//! The data format descriptor: the bit layout of a block or pixel, and the meaning of colors.
//!
//! Numbers follow the basic descriptor block of the Khronos Data Format Specification 1.3.

use polyhaul_model::error::{Error, Result};
use polyhaul_model::{ColorSpace, Encoding, Texel, Texture};

/// Size of the descriptor without samples, including its size field.
const FIXED_BYTES: usize = 28;
/// Size of a sample description.
const SAMPLE_BYTES: usize = 16;

const IS_LINEAR: u8 = 0x10;
const IS_SIGNED: u8 = 0x40;
const IS_FLOAT: u8 = 0x80;

const ALPHA: u8 = 15;
/// The bits of 1.0 and -1.0.
const ONE: u32 = 0x3F80_0000;
const MINUS_ONE: u32 = 0xBF80_0000;

/// The bit range of a channel in a block or pixel.
struct Ktx2Sample {
    start: u16,
    bits: u8,
    channel: u8,
    lower: u32,
    upper: u32,
}

impl Ktx2Sample {
    fn new(start: u16, bits: u8, channel: u8) -> Ktx2Sample {
        let upper = if bits < 32 { (1 << bits) - 1 } else { u32::MAX };
        Ktx2Sample { start, bits, channel, lower: 0, upper }
    }

    /// Makes the sample a signed integer that represents -1 to 1.
    fn signed(self) -> Ktx2Sample {
        Ktx2Sample { channel: self.channel | IS_SIGNED, lower: 0x8000_0000, upper: 0x7FFF_FFFF, ..self }
    }

    /// Makes the sample a float.
    fn float(self, signed: bool) -> Ktx2Sample {
        let (channel, lower) = if signed { (IS_FLOAT | IS_SIGNED, MINUS_ONE) } else { (IS_FLOAT, 0) };
        Ktx2Sample { channel: self.channel | channel, lower, upper: ONE, ..self }
    }
}

/// Returns the number of the color model.
fn model(encoding: Encoding) -> u8 {
    match encoding {
        Encoding::Plain { .. } => 1,
        Encoding::Bc1 => 128,
        Encoding::Bc2 => 129,
        Encoding::Bc3 => 130,
        Encoding::Bc4 { .. } => 131,
        Encoding::Bc5 { .. } => 132,
        Encoding::Bc6h { .. } => 133,
        Encoding::Bc7 => 134,
    }
}

fn samples(encoding: Encoding) -> Vec<Ktx2Sample> {
    match encoding {
        // Channel 1 of BC1 declares punch-through alpha.
        Encoding::Bc1 => vec![Ktx2Sample::new(0, 64, 1)],
        Encoding::Bc2 | Encoding::Bc3 => vec![Ktx2Sample::new(0, 64, ALPHA), Ktx2Sample::new(64, 64, 0)],
        Encoding::Bc4 { signed: false } => vec![Ktx2Sample::new(0, 64, 0)],
        Encoding::Bc4 { signed: true } => vec![Ktx2Sample::new(0, 64, 0).signed()],
        Encoding::Bc5 { signed: false } => vec![Ktx2Sample::new(0, 64, 0), Ktx2Sample::new(64, 64, 1)],
        Encoding::Bc5 { signed: true } => vec![Ktx2Sample::new(0, 64, 0).signed(), Ktx2Sample::new(64, 64, 1).signed()],
        Encoding::Bc6h { signed } => vec![Ktx2Sample::new(0, 128, 0).float(signed)],
        Encoding::Bc7 => vec![Ktx2Sample::new(0, 128, 0)],
        Encoding::Plain { channels, texel } => {
            let bits = 8 * texel.bytes() as u8;
            let sample = |number: u8| {
                let channel = if number == 3 { ALPHA } else { number };
                let sample = Ktx2Sample::new(u16::from(number) * u16::from(bits), bits, channel);
                if matches!(texel, Texel::F16 | Texel::F32) { sample.float(true) } else { sample }
            };
            (0..channels).map(sample).collect()
        }
    }
}

/// Builds the descriptor of a texture.
pub(super) fn descriptor(texture: &Texture) -> Result<Vec<u8>> {
    let samples = samples(texture.encoding);
    let total = FIXED_BYTES + samples.len() * SAMPLE_BYTES;
    let is_srgb = texture.color_space == ColorSpace::Srgb;
    // The descriptor stores dimensions and bit lengths minus 1.
    let side = texture.encoding.side() as u8 - 1;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(total).map_err(|_| Error::memory("a header"))?;
    bytes.extend_from_slice(&(total as u32).to_le_bytes());
    // Vendor 0 (Khronos), type 0 (basic descriptor).
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&2_u16.to_le_bytes());
    bytes.extend_from_slice(&(total as u16 - 4).to_le_bytes());
    // Primaries 1 is BT.709, shared by sRGB.
    bytes.extend_from_slice(&[model(texture.encoding), 1, if is_srgb { 2 } else { 1 }, texture.premultiplied.into()]);
    bytes.extend_from_slice(&[side, side, 0, 0]);
    bytes.extend_from_slice(&[texture.encoding.bytes() as u8, 0, 0, 0, 0, 0, 0, 0]);
    for Ktx2Sample { start, bits, channel, lower, upper } in samples {
        // Alpha is always linear.
        let linear = if is_srgb && channel & 15 == ALPHA { IS_LINEAR } else { 0 };
        bytes.extend_from_slice(&start.to_le_bytes());
        bytes.extend_from_slice(&[bits - 1, channel | linear, 0, 0, 0, 0]);
        bytes.extend_from_slice(&lower.to_le_bytes());
        bytes.extend_from_slice(&upper.to_le_bytes());
    }
    Ok(bytes)
}

/// Returns the color space and whether colors are premultiplied. Returns `None` if the descriptor is invalid.
pub fn read(descriptor: &[u8]) -> Option<(ColorSpace, bool)> {
    let kind = descriptor.get(4..8)?;
    let transfer = *descriptor.get(14)?;
    let flags = *descriptor.get(15)?;
    if kind != [0; 4] {
        return None;
    }
    // KHR_DF_TRANSFER_SRGB and KHR_DF_FLAG_ALPHA_PREMULTIPLIED.
    Some((if transfer == 2 { ColorSpace::Srgb } else { ColorSpace::Linear }, flags & 1 == 1))
}

/// Returns the primaries if they are specified and not BT.709, the primaries of sRGB.
pub(super) fn other_primaries(descriptor: &[u8]) -> Option<u8> {
    descriptor.get(13).copied().filter(|primaries| *primaries > 1)
}

/// Returns the color model of a descriptor.
pub(super) fn model_of(descriptor: &[u8]) -> Option<u8> {
    descriptor.get(12).copied()
}
