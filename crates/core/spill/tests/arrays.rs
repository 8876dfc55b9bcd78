//! Arrays keep their contents when they move to disk, and the process stays small.
#![cfg(target_os = "linux")]

use polyhaul_spill::{Spill, SpillAllocator, relieve};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

const MIB: usize = 1 << 20;

/// There is one `Spill` at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(memory: usize) -> Spill {
    Spill::begin(&std::env::temp_dir(), memory as u64).unwrap().unwrap()
}

/// The memory of this process now, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn byte(place: usize) -> u8 {
    (place * 31 / 7) as u8
}

#[test]
fn an_array_that_grows_and_shrinks_keeps_its_values() {
    let _alone = alone();
    let spill = begin(8 * MIB);
    let mut array = Vec::new();
    let mut largest = 0;
    for size in [1000, 3 * MIB, 20 * MIB + 5, 90 * MIB, 2 * MIB, 500, 40 * MIB] {
        array.truncate(size);
        array.shrink_to_fit();
        array.extend((array.len()..size).map(byte));
        largest = largest.max(size);
        assert!(array.iter().enumerate().all(|(place, &value)| value == byte(place)), "{size}");
    }
    assert!(spill.peak_bytes() >= largest as u64, "{}", spill.peak_bytes());
    assert!(!spill.is_disk_full());
    // It may outlive what moved it.
    drop(spill);
    array.push(1);
    assert!(array[..40 * MIB].iter().enumerate().all(|(place, &value)| value == byte(place)));
}

#[test]
fn the_process_does_not_grow_with_its_arrays() {
    let _alone = alone();
    let (before, memory) = (resident(), 32 * MIB);
    let spill = begin(memory);
    let mut arrays = Vec::new();
    let mut most = 0;
    for number in 0..16u8 {
        let mut array = vec![0u8; 16 * MIB];
        for piece in array.chunks_mut(MIB) {
            piece.fill(number);
            // A piece takes less than the time after which the process is looked at again.
            std::thread::sleep(std::time::Duration::from_millis(1));
            relieve();
            most = most.max(resident());
        }
        arrays.push(array);
    }
    assert!(arrays.iter().zip(0u8..).all(|(array, number)| array.iter().all(|&value| value == number)));
    assert!(most < before + memory + 24 * MIB, "{most} bytes, {before} before");
    assert!(spill.peak_bytes() >= 200 * MIB as u64, "{}", spill.peak_bytes());
}

#[test]
fn threads_move_arrays_at_the_same_time() {
    let _alone = alone();
    let _spill = begin(4 * MIB);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            scope.spawn(move || {
                for round in 0..20 {
                    let size = MIB + (thread * 77_777 + round * 99_991) % (3 * MIB);
                    let mut array: Vec<usize> = (0..size / 8).collect();
                    array.extend(size / 8..size / 4);
                    assert!(array.iter().enumerate().all(|(place, &value)| value == place));
                    relieve();
                }
            });
        }
    });
}

#[test]
fn zeroed_arrays_are_zeros_and_aligned_ones_aligned() {
    let _alone = alone();
    #[derive(Clone, Copy)]
    #[repr(align(16384))]
    struct Wide([u8; 16384]);
    let _spill = begin(0);
    let zeros = vec![0u64; MIB];
    assert!(zeros.iter().all(|&value| value == 0));
    let wide = vec![Wide([7; 16384]); 100];
    assert!(wide.as_ptr().addr().is_multiple_of(16384) && wide.iter().all(|item| item.0 == [7; 16384]));
}

#[test]
fn only_one_at_a_time_in_a_folder_that_exists() {
    let _alone = alone();
    let missing = std::env::temp_dir().join("polyhaul-no-such-folder");
    assert!(Spill::begin(&missing, 1).is_err());
    let first = begin(MIB);
    assert_eq!(Spill::begin(&std::env::temp_dir(), 1).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    drop(first);
    drop(begin(MIB));
}

/// No memory at all is allowed: the warden is at work from the first moment.
#[test]
fn a_folder_that_is_missing_is_an_error_while_pages_are_released() {
    let _alone = alone();
    let array = {
        let _spill = begin(0);
        vec![1u8; 64 * MIB]
    };
    for _ in 0..20 {
        assert!(Spill::begin(std::path::Path::new("/polyhaul/no/such/folder"), 0).is_err());
        drop(begin(0));
    }
    assert!(array.iter().all(|&byte| byte == 1));
}
