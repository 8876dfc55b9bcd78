//! Type-erased arrays into which rows are scattered: only the size of their items is known.
//!
//! Numbers are written as bytes, whatever their type; only the finished array is typed. Nothing here is specific to
//! PLY.

use polyhaul_model::error::Result;
use polyhaul_model::{Scalar, Values};
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::column::pin::PinnedColumn;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// An array that several threads fill. Items are numbers of 1 to 8 bytes, 2 to 4 numbers of 4 bytes, or 3 of 8 bytes.
pub(super) enum PlyStore {
    Bytes1(Column<u8>),
    Bytes2(Column<u16>),
    Bytes4(Column<u32>),
    Bytes8(Column<u64>),
    Pairs(Column<[u32; 2]>),
    Triples(Column<[u32; 3]>),
    Quads(Column<[u32; 4]>),
    ExactTriples(Column<[u64; 3]>),
}

/// A pinned part of a [`PlyStore`].
pub(super) enum Pinned<'a> {
    Bytes1(PinnedColumn<'a, u8>),
    Bytes2(PinnedColumn<'a, u16>),
    Bytes4(PinnedColumn<'a, u32>),
    Bytes8(PinnedColumn<'a, u64>),
    Pairs(PinnedColumn<'a, [u32; 2]>),
    Triples(PinnedColumn<'a, [u32; 3]>),
    Quads(PinnedColumn<'a, [u32; 4]>),
    ExactTriples(PinnedColumn<'a, [u64; 3]>),
}

/// Runs `$body` with `$inner` bound to the column in a [`PlyStore`] or [`Pinned`], whatever its type.
macro_rules! with {
    ($type:ident, $store:expr, $inner:pat => $body:expr) => {
        match $store {
            $type::Bytes1($inner) => $body,
            $type::Bytes2($inner) => $body,
            $type::Bytes4($inner) => $body,
            $type::Bytes8($inner) => $body,
            $type::Pairs($inner) => $body,
            $type::Triples($inner) => $body,
            $type::Quads($inner) => $body,
            $type::ExactTriples($inner) => $body,
        }
    };
}

impl PlyStore {
    /// Creates a store for numbers of a type; `name` is used in errors.
    pub(super) fn from_scalar(scalar: Scalar, name: &'static str) -> PlyStore {
        match scalar.bytes() {
            1 => PlyStore::Bytes1(Column::new(name)),
            2 => PlyStore::Bytes2(Column::new(name)),
            4 => PlyStore::Bytes4(Column::new(name)),
            _ => PlyStore::Bytes8(Column::new(name)),
        }
    }

    /// Creates an empty store for items of the same type.
    pub(super) fn emptied(&self) -> PlyStore {
        const NAME: &str = "lists";
        match self {
            PlyStore::Bytes1(_) => PlyStore::Bytes1(Column::new(NAME)),
            PlyStore::Bytes2(_) => PlyStore::Bytes2(Column::new(NAME)),
            PlyStore::Bytes4(_) => PlyStore::Bytes4(Column::new(NAME)),
            PlyStore::Bytes8(_) => PlyStore::Bytes8(Column::new(NAME)),
            PlyStore::Pairs(_) => PlyStore::Pairs(Column::new(NAME)),
            PlyStore::Triples(_) => PlyStore::Triples(Column::new(NAME)),
            PlyStore::Quads(_) => PlyStore::Quads(Column::new(NAME)),
            PlyStore::ExactTriples(_) => PlyStore::ExactTriples(Column::new(NAME)),
        }
    }

    /// Bytes per item.
    pub(super) fn item_bytes(&self) -> usize {
        match self {
            PlyStore::Bytes1(_) => 1,
            PlyStore::Bytes2(_) => 2,
            PlyStore::Bytes4(_) => 4,
            PlyStore::Bytes8(_) | PlyStore::Pairs(_) => 8,
            PlyStore::Triples(_) => 12,
            PlyStore::Quads(_) => 16,
            PlyStore::ExactTriples(_) => 24,
        }
    }

    /// Reserves slots for `total` items.
    pub(super) fn reserve(&self, total: usize) -> Result<()> {
        with!(PlyStore, self, column => column.reserve(total))
    }

    /// Pins a reserved range.
    ///
    /// # Safety
    /// As for [`Column::pin`].
    pub(super) unsafe fn pin(&self, range: Range<usize>) -> Result<Pinned<'_>> {
        // SAFETY: by this function's contract.
        Ok(unsafe {
            match self {
                PlyStore::Bytes1(column) => Pinned::Bytes1(column.pin(range)?),
                PlyStore::Bytes2(column) => Pinned::Bytes2(column.pin(range)?),
                PlyStore::Bytes4(column) => Pinned::Bytes4(column.pin(range)?),
                PlyStore::Bytes8(column) => Pinned::Bytes8(column.pin(range)?),
                PlyStore::Pairs(column) => Pinned::Pairs(column.pin(range)?),
                PlyStore::Triples(column) => Pinned::Triples(column.pin(range)?),
                PlyStore::Quads(column) => Pinned::Quads(column.pin(range)?),
                PlyStore::ExactTriples(column) => Pinned::ExactTriples(column.pin(range)?),
            }
        })
    }

    /// Returns the finished array: `total` items as `T`. The array is empty if the size or the alignment of `T` differs
    /// from the items.
    ///
    /// # Safety
    /// The first `total` items must have been written.
    pub(super) unsafe fn finish<T: PlyWord>(self, total: usize) -> Vec<T> {
        // SAFETY: the caller upholds the contract of `Column::finish`, which is the same.
        unsafe { with!(PlyStore, self, column => recast(column.finish(total))) }
    }

    /// Returns the finished array as numbers of type `scalar`, which must have the same size as the items.
    ///
    /// # Safety
    /// The first `total` items must have been written.
    pub(super) unsafe fn values(self, scalar: Scalar, total: usize) -> Values {
        // SAFETY: the caller upholds the contract of `finish`, which is the same, and only one arm runs.
        unsafe {
            match scalar {
                Scalar::I8 => Values::I8(self.finish(total).into()),
                Scalar::U8 => Values::U8(self.finish(total).into()),
                Scalar::I16 => Values::I16(self.finish(total).into()),
                Scalar::U16 => Values::U16(self.finish(total).into()),
                Scalar::I32 => Values::I32(self.finish(total).into()),
                Scalar::U32 => Values::U32(self.finish(total).into()),
                Scalar::I64 => Values::I64(self.finish(total).into()),
                Scalar::U64 => Values::U64(self.finish(total).into()),
                Scalar::F32 => Values::F32(self.finish(total).into()),
                Scalar::F64 => Values::F64(self.finish(total).into()),
            }
        }
    }
}

impl Pinned<'_> {
    /// Returns the first byte of the range. Only one thread at a time may use a byte of the range.
    pub(super) fn start(&self) -> *mut u8 {
        with!(Pinned, self, pin => pin.start().cast())
    }
}

/// A type for which all bytes are valid.
///
/// # Safety
/// Every bit pattern is valid, and there is no padding.
pub(super) unsafe trait PlyWord: Copy {}

macro_rules! words {
    ($($type:ty),+) => {
        $(
            // SAFETY: integers, floats and arrays of them have no padding, and every bit pattern is a value.
            unsafe impl PlyWord for $type {}
        )+
    };
}

words!(
    i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, [u32; 2], [u32; 3], [u32; 4], [u64; 3], [f32; 2], [f32; 3],
    [f32; 4], [f64; 3]
);

/// Reinterprets an array as another type. Returns an empty array if the types differ in size or alignment, which no
/// caller requests.
pub(super) fn recast<A: PlyWord, B: PlyWord>(items: Vec<A>) -> Vec<B> {
    if size_of::<A>() != size_of::<B>() || align_of::<A>() != align_of::<B>() {
        debug_assert!(false, "items of other sizes");
        return Vec::new();
    }
    let mut items = ManuallyDrop::new(items);
    let start = items.as_mut_ptr().cast::<B>();
    let len = items.len();
    let capacity = items.capacity();
    // SAFETY: sizes and alignments are equal, as checked above, so the allocation has the layout of a `Vec<B>` of this
    // capacity; by the contract of `PlyWord`, any bytes are values of `B`. `ManuallyDrop` keeps the old vector from
    // freeing it.
    unsafe { Vec::from_raw_parts(start, len, capacity) }
}

/// Reinterprets numbers as pairs. If their number is odd, drops the last one.
pub(super) fn paired(mut numbers: Vec<f32>) -> Result<Vec<[f32; 2]>> {
    numbers.truncate(numbers.len() / 2 * 2);
    polyhaul_spill::shrink(&mut numbers);
    if numbers.capacity().is_multiple_of(2) {
        let mut numbers = ManuallyDrop::new(numbers);
        let start = numbers.as_mut_ptr().cast();
        let len = numbers.len() / 2;
        let capacity = numbers.capacity() / 2;
        // SAFETY: a pair has the alignment of a number and twice its size, and capacity and length are even, so half of
        // each describes the same allocation. `ManuallyDrop` keeps the old vector from freeing it.
        return Ok(unsafe { Vec::from_raw_parts(start, len, capacity) });
    }
    let mut pairs = Vec::new();
    pairs.try_reserve_exact(numbers.len() / 2)?;
    pairs.extend_from_slice(numbers.as_chunks().0);
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_bytes() {
        let store = PlyStore::from_scalar(Scalar::F32, "numbers");
        store.reserve(2).unwrap();
        // SAFETY: two items of four bytes are pinned, by this thread alone.
        unsafe {
            let pinned = store.pin(0..2).unwrap();
            pinned.start().cast::<[f32; 2]>().write_unaligned([1.5, -2.0]);
            drop(pinned);
            assert!(store.pin(1..3).is_err());
        }
        // SAFETY: both were written.
        assert_eq!(unsafe { store.values(Scalar::F32, 2) }, Values::F32(vec![1.5, -2.0].into()));
    }
}
