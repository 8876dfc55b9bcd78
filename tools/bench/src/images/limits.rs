//! The machine's limits: reading a file's bytes, and swapping them into fresh memory.

use super::Decoded;
use crate::Failure;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BLOCK_BYTES: usize = 252 << 10;

/// Bytes per vector step.
const STEP_BYTES: usize = 16;

/// Calls `each` with each block of the file.
fn blocks(path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(()),
            count => each(&block[..count]),
        }
    }
}

/// Reads the file and discards it.
pub fn read(path: &Path) -> Result<(Decoded, u64), Failure> {
    blocks(path, |block| {
        std::hint::black_box(block);
    })?;
    Ok((Decoded::None, 0))
}

/// Reads the file and swaps red and blue of each pixel into fresh memory.
pub fn read_and_swizzle(path: &Path, pixel_bytes: usize) -> Result<(Decoded, u64), Failure> {
    let size = usize::try_from(path.metadata()?.len())?;
    // Padding: a step also writes bytes past its last pixel, which the next step overwrites.
    let mut pixels = vec![0; size + STEP_BYTES];
    let mut end = 0;
    blocks(path, |block| {
        swap(block, &mut pixels[end..], pixel_bytes);
        end += block.len();
    })?;
    std::hint::black_box(pixels);
    Ok((Decoded::None, 0))
}

fn swap(from: &[u8], to: &mut [u8], pixel_bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") {
        // SAFETY: the CPU has SSSE3.
        return unsafe { swap_wide(from, to, pixel_bytes) };
    }
    swap_each(from, to, pixel_bytes);
}

fn swap_each(from: &[u8], to: &mut [u8], pixel_bytes: usize) {
    for (from, to) in from.chunks_exact(pixel_bytes).zip(to.chunks_exact_mut(pixel_bytes)) {
        to.copy_from_slice(from);
        to.swap(0, 2);
    }
}

/// Like [`swap_each`], with 12 or 16 bytes per step.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "ssse3")]
fn swap_wide(from: &[u8], to: &mut [u8], pixel_bytes: usize) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_setr_epi8, _mm_shuffle_epi8, _mm_storeu_si128};
    let order = match pixel_bytes {
        3 => _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 12, 13, 14, 15),
        _ => _mm_setr_epi8(2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15),
    };
    let step = STEP_BYTES / pixel_bytes * pixel_bytes;
    let mut copied = 0;
    while copied + STEP_BYTES <= from.len().min(to.len()) {
        // SAFETY: the loop condition leaves at least 16 bytes after `copied` on both sides.
        unsafe {
            let pixels = _mm_loadu_si128(from.as_ptr().add(copied).cast());
            _mm_storeu_si128(to.as_mut_ptr().add(copied).cast(), _mm_shuffle_epi8(pixels, order));
        }
        copied += step;
    }
    swap_each(&from[copied..], &mut to[copied..], pixel_bytes);
}
