//! Decodes attributes: for each byte of an element, deltas between consecutive elements, in groups of 16 with as few
//! bits per delta as the group allows. See appendix A of the extension, mode 0.

use super::{CUT, EXTRA, MeshoptResult, take};

/// Number of deltas per group.
const GROUP: usize = 16;

/// Maximum number of elements per block, and maximum bytes per block.
const BLOCK: usize = 256;
const BLOCK_BYTES: usize = 8192;

/// Bits per delta, indexed by the two bits in the header: for control modes 0 and 1, and for version 0.
const BITS: [[u8; 4]; 2] = [[0, 1, 2, 4], [1, 2, 4, 8]];
const BITS_OF_VERSION_0: [u8; 4] = [0, 2, 4, 8];

/// Encoding of the deltas of four adjacent bytes.
#[derive(Clone, Copy)]
enum Channel {
    Bytes,
    Shorts,
    /// XOR of 32-bit numbers, rotated by this many bits.
    Bits(u32),
}

impl Channel {
    fn from_byte(byte: u8) -> MeshoptResult<Channel> {
        match (byte & 15, byte >> 4) {
            (0, 0) => Ok(Channel::Bytes),
            (1, 0) => Ok(Channel::Shorts),
            (2, bits) => Ok(Channel::Bits(u32::from(bits))),
            _ => Err("unknown channel mode"),
        }
    }
}

/// Decodes elements of `stride` bytes, a multiple of 4 up to 256, until `out` is full.
pub(super) fn decode(bytes: &[u8], stride: usize, out: &mut [u8]) -> MeshoptResult<()> {
    let (&head, mut data) = bytes.split_first().ok_or(CUT)?;
    let is_new = match head {
        0xa0 => false,
        0xa1 => true,
        _ => return Err("unknown attribute codec version"),
    };
    // The tail, after padding, holds the baseline of the first element and, in version 1, one channel mode per four
    // bytes of an element.
    let tail_bytes = if is_new { stride + stride / 4 } else { stride };
    // The minimum tail size in the format: decoders may read 24 bytes for any group, even the last one.
    let padded = tail_bytes.max(if is_new { 24 } else { 32 });
    let tail = data.len().checked_sub(padded).and_then(|start| data.split_off(start..)).ok_or(CUT)?;
    let (baseline, channels) = tail[padded - tail_bytes..].split_at(stride);
    let mut last = [0; BLOCK];
    last[..stride].copy_from_slice(baseline);
    // Rounded down to whole groups, as encoders do, because block sizes are not stored.
    let max_elements = (BLOCK_BYTES / stride / GROUP * GROUP).min(BLOCK);
    for block in out.chunks_mut(max_elements * stride) {
        let controls = if is_new { Some(take(&mut data, stride / 4)?) } else { None };
        for (at, last) in last[..stride].as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut deltas = [[0; BLOCK]; 4];
            for (byte, deltas) in deltas.iter_mut().enumerate() {
                let control = controls.map(|controls| controls[at] >> (2 * byte) & 3);
                take_deltas(&mut data, control, &mut deltas[..block.len() / stride])?;
            }
            let channel = channels.get(at).map_or(Ok(Channel::Bytes), |&byte| Channel::from_byte(byte))?;
            let elements = block.chunks_exact_mut(stride).filter_map(|element| element[4 * at..].first_chunk_mut());
            restore(channel, &deltas, last, elements);
        }
    }
    if data.is_empty() { Ok(()) } else { Err(EXTRA) }
}

/// Decodes the deltas of one byte for all elements in a block.
fn take_deltas(data: &mut &[u8], control: Option<u8>, deltas: &mut [u8]) -> MeshoptResult<()> {
    let bits = match control {
        None => BITS_OF_VERSION_0,
        // Control mode 2: all deltas are zero, as they already are in `deltas`.
        Some(2) => return Ok(()),
        Some(3) => {
            deltas.copy_from_slice(take(data, deltas.len())?);
            return Ok(());
        }
        Some(control) => BITS[usize::from(control & 1)],
    };
    let header = take(data, deltas.len().div_ceil(GROUP).div_ceil(4))?;
    for (number, group) in deltas.chunks_mut(GROUP).enumerate() {
        let code = header[number / 4] >> (2 * (number % 4)) & 3;
        let differences = take_group(data, bits[usize::from(code)])?;
        group.copy_from_slice(&differences[..group.len()]);
    }
    Ok(())
}

/// Decodes 16 deltas of `bits` bits each. A delta with all bits set is replaced by a byte that follows the group.
fn take_group(data: &mut &[u8], bits: u8) -> MeshoptResult<[u8; GROUP]> {
    let mut group = [0; GROUP];
    match bits {
        0 => return Ok(group),
        8 => {
            group.copy_from_slice(take(data, GROUP)?);
            return Ok(group);
        }
        _ => {}
    }
    let packed = take(data, 2 * usize::from(bits))?;
    let per_byte = 8 / usize::from(bits);
    let escape = (1 << bits) - 1;
    for (at, delta) in group.iter_mut().enumerate() {
        let offset = (at % per_byte) as u8 * bits;
        // 1-bit deltas start at the lowest bit of a byte, wider deltas at the highest bits.
        let shift = if bits == 1 { offset } else { 8 - bits - offset };
        *delta = packed[at / per_byte] >> shift & escape;
        if *delta == escape {
            *delta = *data.split_off_first().ok_or(CUT)?;
        }
    }
    Ok(group)
}

/// Accumulates deltas onto `last` and stores the result in each element.
fn restore<'e>(
    channel: Channel,
    deltas: &[[u8; BLOCK]; 4],
    last: &mut [u8; 4],
    elements: impl Iterator<Item = &'e mut [u8; 4]>,
) {
    let [a, b, c, d] = deltas;
    let deltas = a.iter().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [*a, *b, *c, *d]);
    for (element, delta) in elements.zip(deltas) {
        *last = match channel {
            Channel::Bytes => std::array::from_fn(|at| last[at].wrapping_add(unfolded_byte(delta[at]))),
            Channel::Shorts => {
                let [a, b, c, d] = *last;
                let [e, f, g, h] = delta;
                let [a, b] = add_short([a, b], [e, f]);
                let [c, d] = add_short([c, d], [g, h]);
                [a, b, c, d]
            }
            Channel::Bits(rotation) => {
                let changed = u32::from_le_bytes(delta).rotate_right(rotation);
                (u32::from_le_bytes(*last) ^ changed).to_le_bytes()
            }
        };
        *element = *last;
    }
}

/// Decodes a zigzag byte, whose lowest bit is the sign.
fn unfolded_byte(value: u8) -> u8 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

fn add_short(last: [u8; 2], delta: [u8; 2]) -> [u8; 2] {
    let delta = u16::from_le_bytes(delta);
    let delta = (delta >> 1) ^ (delta & 1).wrapping_neg();
    u16::from_le_bytes(last).wrapping_add(delta).to_le_bytes()
}
