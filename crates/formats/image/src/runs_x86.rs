//! Unpacks packets of runs and literals with up to 64 bytes per step: one shuffle order repeats an item, another copies
//! bytes, and a packet only selects one of these orders. Only the end of a long packet depends on branch prediction.

use crate::runs::{RunCode, RunsProgress, SLACK};
use polyhaul_text::cpu::Level;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm512_loadu_si512, _mm512_permutexvar_epi8,
    _mm512_storeu_si512,
};

/// Does the work of [`crate::runs::unpack`]. Returns `false` if the level has no loop here. [`SLACK`] bytes must follow
/// `progress` in `to`.
pub(super) fn unpack<C: RunCode, const SIZE: usize>(
    level: Level,
    from: &[u8],
    to: &mut [u8],
    progress: &mut RunsProgress,
) -> bool {
    // Miri lacks the instruction of the loop for AVX-512.
    let best = if cfg!(miri) { Level::Avx2 } else { Level::best() };
    match level.min(best) {
        Level::Portable | Level::Vector => return false,
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX2; `runs::unpack` checked `progress.made + SLACK
        // <= to.len()`.
        Level::Avx2 => unsafe { unpack_avx2::<C, SIZE>(from, to, progress) },
        // SAFETY: `Level::best()` bounds the level, and AVX-512 here includes VBMI; `runs::unpack` checked the room.
        Level::Avx512 => unsafe { unpack_avx512::<C, SIZE>(from, to, progress) },
    }
    true
}

/// A packet that ends far enough before the ends of both slices.
struct RunsPacket {
    is_run: bool,
    /// Number of bytes of the packet after its first byte.
    stored: usize,
    /// Number of bytes that the packet produces.
    size: usize,
}

/// Decodes the packet at `progress`. Returns `None` if it is empty, or too close to the end of either slice.
#[inline(always)]
fn packet<C: RunCode, const SIZE: usize>(from: &[u8], to: &[u8], progress: RunsProgress) -> Option<RunsPacket> {
    let (count, is_run) = C::decode(*from.get(progress.used)?);
    let size = count * SIZE;
    // Branch-free: the kind of the next packet is unpredictable.
    let stored = SIZE.wrapping_add(size.wrapping_sub(SIZE) & usize::from(is_run).wrapping_sub(1));
    // A size of 0 wraps around and is rejected, too.
    let has_room = size.wrapping_sub(1) < to.len() - SLACK - progress.made;
    (has_room && progress.used + 1 + stored + SLACK <= from.len()).then_some(RunsPacket { is_run, stored, size })
}

/// Shuffle orders for `COUNT` bytes: the identity for literals, and the first item repeated for runs.
const fn orders<const SIZE: usize, const COUNT: usize>() -> [[u8; COUNT]; 2] {
    let mut orders = [[0; COUNT]; 2];
    let mut at = 0;
    while at < COUNT {
        orders[0][at] = at as u8;
        orders[1][at] = (at % SIZE) as u8;
        at += 1;
    }
    orders
}

/// # Safety
/// The CPU has AVX-512 F and VBMI, and `end.made + SLACK <= to.len()`.
#[target_feature(enable = "avx512f,avx512vbmi")]
unsafe fn unpack_avx512<C: RunCode, const SIZE: usize>(from: &[u8], to: &mut [u8], end: &mut RunsProgress) {
    // Whole items per step.
    let step = 64 - 64 % SIZE;
    // SAFETY: an order is an array of 64 bytes, as many as the load reads.
    let orders: [__m512i; 2] = orders::<SIZE, 64>().map(|order| unsafe { _mm512_loadu_si512(order.as_ptr().cast()) });
    let mut progress = *end;
    while let Some(RunsPacket { is_run, stored, size }) = packet::<C, SIZE>(from, to, progress) {
        let order = orders[usize::from(is_run)];
        let mut at = 0;
        loop {
            // SAFETY: `packet` checked `made + size + SLACK <= to.len()` and `used + 1 + stored + SLACK <= from.len()`,
            // and `SLACK` is 64. Here `at < size`, and the source offset is less than `stored` or 0, so load and store
            // of 64 bytes stay in bounds.
            unsafe {
                let source = from.as_ptr().add(progress.used + 1 + (at & usize::from(is_run).wrapping_sub(1)));
                let bytes = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(source.cast()));
                _mm512_storeu_si512(to.as_mut_ptr().add(progress.made + at).cast(), bytes);
            }
            at += step;
            if at >= size {
                break;
            }
        }
        progress = RunsProgress { used: progress.used + 1 + stored, made: progress.made + size };
    }
    *end = progress;
}

/// # Safety
/// The CPU has AVX2, and `end.made + SLACK <= to.len()`.
#[target_feature(enable = "avx2")]
unsafe fn unpack_avx2<C: RunCode, const SIZE: usize>(from: &[u8], to: &mut [u8], end: &mut RunsProgress) {
    // Whole items per part.
    let step = 16 - 16 % SIZE;
    // SAFETY: an order is an array of 16 bytes, as many as the load reads.
    let orders: [__m128i; 2] = orders::<SIZE, 16>().map(|order| unsafe { _mm_loadu_si128(order.as_ptr().cast()) });
    let mut progress = *end;
    while let Some(RunsPacket { is_run, stored, size }) = packet::<C, SIZE>(from, to, progress) {
        let order = orders[usize::from(is_run)];
        // All bits are set for literals; the mask of 0 for runs keeps the source at the repeated item.
        let moved = usize::from(is_run).wrapping_sub(1);
        let mut at = 0;
        loop {
            for part in [0, step, 2 * step, 3 * step] {
                // SAFETY: `packet` checked `made + size + SLACK <= to.len()` and `used + 1 + stored + SLACK <=
                // from.len()`, and `SLACK` is 64. Here `at < size`, and a part is at most 48 with a vector of 16 bytes,
                // so at most 64 bytes from `at` are accessed in the target and in the source.
                unsafe {
                    let source = from.as_ptr().add(progress.used + 1 + ((at + part) & moved));
                    let bytes = _mm_shuffle_epi8(_mm_loadu_si128(source.cast()), order);
                    _mm_storeu_si128(to.as_mut_ptr().add(progress.made + at + part).cast(), bytes);
                }
            }
            at += 4 * step;
            if at >= size {
                break;
            }
        }
        progress = RunsProgress { used: progress.used + 1 + stored, made: progress.made + size };
    }
    *end = progress;
}
