//! Arrays for parallel work: fallible allocation, splitting and gathering.

use crate::huge::{HUGE_PAGE_BYTES, HugePages};
use crate::parallel::for_each_item;
use polyhaul_model::NONE;
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::alloc::{Layout, alloc_zeroed};
use std::ops::Range;
use std::sync::atomic::AtomicU32;

/// The number of elements in one piece of a simple loop over arrays.
pub const PIECE: usize = 1 << 15;

/// A type for which all-zero bytes are a valid value.
///
/// # Safety
///
/// The all-zero bit pattern must be a valid value, and dropping it must have no effect.
pub unsafe trait Zero: Copy {}

// SAFETY: all bytes zero are the number 0, and numbers are not dropped.
unsafe impl Zero for u8 {}
// SAFETY: as for `u8`.
unsafe impl Zero for u16 {}
// SAFETY: as for `u8`.
unsafe impl Zero for u32 {}
// SAFETY: as for `u8`.
unsafe impl Zero for u64 {}
// SAFETY: as for `u8`.
unsafe impl Zero for i32 {}
// SAFETY: all bytes zero are the number 0.0.
unsafe impl Zero for f32 {}
// SAFETY: as for `f32`.
unsafe impl Zero for f64 {}
// SAFETY: if all bytes of an array are zero, so are all bytes of its values, which `T` allows.
unsafe impl<T: Zero, const N: usize> Zero for [T; N] {}

/// Returns `count` zeros. The system clears pages on first use, so the threads that fill the array share that cost too.
pub fn zeroed<T: Zero>(count: usize, what: &str) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(count).map_err(|_| Error::memory(what))?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: layouts of size 0 returned above.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return Err(Error::memory(what));
    }
    let pages = HugePages::default();
    pages.request(start, count);
    // Touching the first huge page shows whether the other pages would stall.
    let first = count.min(2 * HUGE_PAGE_BYTES / size_of::<T>());
    // SAFETY: the memory is not shared yet, and touching it leaves it zero.
    unsafe { pages.touch(start, count, 0..first) };
    // SAFETY: `start` is from the global allocator with the layout of `count` values of type `T`, as a vector of this
    // capacity requires. All bytes are zero, which is a valid value by the contract of `Zero`.
    Ok(unsafe { Vec::from_raw_parts(start, count, count) })
}

/// If a vector has fewer than `count` values, extends it with zeros to a quarter more than `count`, so that a reused
/// vector seldom grows.
pub fn grow<T: Zero>(values: &mut Vec<T>, count: usize) -> Result<()> {
    if count > values.len() { grow_exact(values, count + count / 4, "a chunk's values") } else { Ok(()) }
}

/// Extends a vector with zeros to at least `count` values. The out-of-memory error names `what`.
pub fn grow_exact<T: Zero>(values: &mut Vec<T>, count: usize, what: &str) -> Result<()> {
    let Some(more) = count.checked_sub(values.len()) else { return Ok(()) };
    values.try_reserve_exact(more).map_err(|_| Error::memory(what))?;
    // Not `resize`: Miri and the instrumentation of fuzzers run its loop value by value.
    // SAFETY: `more` values were reserved, and all bytes zero are a valid value by the contract of `Zero`.
    unsafe {
        values.spare_capacity_mut().as_mut_ptr().write_bytes(0, more);
        values.set_len(count);
    }
    Ok(())
}

/// Returns the first number of `range` for which `is_before` is false, or the end of the range, like `partition_point`
/// of slices.
pub fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let mut low = range.start;
    let mut high = range.end;
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Returns `count` multiples of `step`: 0, `step`, twice `step` and so on, wrapping on overflow.
pub fn multiples(count: usize, step: u32, threads: usize) -> Result<Vec<u32>> {
    let mut values = zeroed(count, "indices")?;
    for_each_item(
        threads,
        values.chunks_mut(PIECE).enumerate(),
        || (),
        |(), (piece, values)| {
            let first = ((piece * PIECE) as u32).wrapping_mul(step);
            (0..)
                .zip(values)
                .for_each(|(index, value): (u32, _)| *value = first.wrapping_add(index.wrapping_mul(step)));
        },
    );
    Ok(values)
}

/// Returns the values as atomics, for threads that store to scattered elements.
pub fn as_atomics(values: &mut [u32]) -> &[AtomicU32] {
    const { assert!(align_of::<AtomicU32>() == align_of::<u32>()) };
    // SAFETY: `AtomicU32` has the size and bit validity of `u32`, and the alignment was checked above. The exclusive
    // borrow lasts as long as the result, so no other access to the numbers exists.
    unsafe { &*(std::ptr::from_mut(values) as *const [AtomicU32]) }
}

/// Splits a slice into consecutive pieces of the given lengths.
pub fn split<T: Send>(
    mut rest: &mut [T],
    lengths: impl Iterator<Item = usize> + Send,
) -> impl Iterator<Item = &mut [T]> + Send {
    lengths.map(move |length| rest.split_off_mut(..length).unwrap_or_default())
}

/// Fails unless the UV and normal indices are each empty or have one index per corner.
pub fn check_streams(faces: &polyhaul_model::Elements) -> Result<()> {
    let corners = faces.corner_positions.len();
    for (stream, name) in [(&faces.corner_uvs, "corner_uvs"), (&faces.corner_normals, "corner_normals")] {
        if !stream.is_empty() && stream.len() != corners {
            let message = format!("{name} has {} indices for {corners} corners", stream.len());
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    Ok(())
}

/// Creates the error for an index that is out of range.
pub fn out_of_range(corner: usize, what: &str, index: u32, count: usize) -> Error {
    let index = if index == NONE { "NONE".into() } else { index.to_string() };
    let message = format!("corner {corner} has {what} {index}, but the mesh has {count} {what}s");
    Error::new(ErrorKind::Usage, message)
}

/// Returns `values[indices[i]]` for every `i`, or `missing` if the index is [`NONE`].
pub fn gather<T: Zero + Send + Sync>(threads: usize, values: &[T], indices: &[u32], missing: T) -> Result<Vec<T>> {
    if let Some(invalid) = indices.iter().find(|&&index| index != NONE && index as usize >= values.len()) {
        let message =
            format!("index {invalid} is out of range for {} values: the map belongs to a different mesh", values.len());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let mut gathered = zeroed(indices.len(), "gathered values")?;
    let pieces = gathered.chunks_mut(PIECE).zip(indices.chunks(PIECE));
    for_each_item(
        threads,
        pieces,
        || (),
        |(), (gathered, indices)| {
            for (value, &index) in gathered.iter_mut().zip(indices) {
                *value = values.get(index as usize).copied().unwrap_or(missing);
            }
        },
    );
    Ok(gathered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_an_error() {
        // Miri would abort instead.
        if !cfg!(miri) {
            assert!(zeroed::<u64>(usize::MAX / 16, "a test").is_err());
        }
        assert!(zeroed::<u16>(0, "a test").unwrap().is_empty());
        assert_eq!(zeroed::<u16>(3, "a test").unwrap(), [0; 3]);
    }

    #[test]
    fn a_slice_is_split_by_lengths() {
        let mut values = [1, 2, 3, 4, 5];
        let pieces: Vec<Vec<i32>> = split(&mut values, [2, 0, 3].into_iter()).map(|piece| piece.to_vec()).collect();
        assert_eq!(pieces, [vec![1, 2], vec![], vec![3, 4, 5]]);
    }

    #[test]
    fn gathering_fills_in_what_is_missing() {
        let values = [[1.0], [2.0]];
        assert_eq!(gather(3, &values, &[1, NONE, 0], [9.0]).unwrap(), [[2.0], [9.0], [1.0]]);
        assert_eq!(gather(3, &values, &[2], [9.0]).unwrap_err().kind(), ErrorKind::Usage);
    }
}
