//! Decodes index sequences: each index is a delta from one of two earlier indices. See appendix A of the extension,
//! mode 2.

use super::{CUT, EXTRA, MeshoptResult, take_varint, unfolded};

/// Decodes indices of `N` bytes until `out` is full.
pub(super) fn decode<const N: usize>(
    bytes: &[u8],
    out: &mut [u8],
    to_bytes: impl Fn(u32) -> [u8; N],
) -> MeshoptResult<()> {
    let data = bytes.strip_prefix(&[0xd1]).ok_or("unknown index codec version")?;
    // A tail of 4 bytes follows the data.
    let mut data = data.len().checked_sub(4).and_then(|end| data.get(..end)).ok_or(CUT)?;
    let mut last = [0_u32; 2];
    for out_index in out.as_chunks_mut::<N>().0 {
        let value = take_varint(&mut data)?;
        let last = &mut last[(value & 1) as usize];
        *last = last.wrapping_add(unfolded(value >> 1));
        *out_index = to_bytes(*last);
    }
    if data.is_empty() { Ok(()) } else { Err(EXTRA) }
}
