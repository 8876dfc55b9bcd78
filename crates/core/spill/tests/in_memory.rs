//! Checks that without a `Spill`, the allocator keeps arrays of any size in memory. Miri can run this test, because it
//! needs no files.
#![allow(clippy::disallowed_methods, reason = "shrinking is what is tested")]

use polyhaul_spill::{SpillAllocator, has_arrays_on_disk, relieve};

#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

const MIB: usize = 1 << 20;

/// Returns only four values at each end of an array, whatever its size: Miri is slow.
fn ends(array: &[u8]) -> [&[u8]; 2] {
    [&array[..4], &array[array.len() - 4..]]
}

#[test]
fn arrays_grow_and_shrink_in_memory() {
    let mut array = vec![0u8; 3 * MIB];
    array[..4].copy_from_slice(&[1, 2, 3, 4]);
    // A large array that grows, stays large, and then becomes small.
    array.reserve_exact(2 * MIB);
    assert_eq!(ends(&array), [[1, 2, 3, 4], [0; 4]]);
    array.truncate(2 * MIB);
    array.shrink_to_fit();
    array.truncate(1000);
    array.shrink_to_fit();
    assert_eq!(ends(&array), [[1, 2, 3, 4], [0; 4]]);
    // A small array that becomes large.
    array.reserve_exact(MIB);
    array.extend_from_slice(&[5, 6, 7, 8]);
    assert_eq!(ends(&array), [[1, 2, 3, 4], [5, 6, 7, 8]]);
    let unset: Vec<u64> = Vec::with_capacity(MIB);
    assert!(unset.is_empty());
    relieve();
    assert!(!has_arrays_on_disk());
}
