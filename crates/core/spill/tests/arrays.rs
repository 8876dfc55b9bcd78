//! Arrays keep their contents when they move to disk, and the process stays small.
#![cfg(all(target_os = "linux", not(miri)))]

use polyhaul_spill::{Spill, SpillAllocator, relieve};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

const MIB: usize = 1 << 20;

/// Serializes the tests: only one `Spill` can exist at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start_spill(memory: usize) -> Spill {
    Spill::start(&std::env::temp_dir(), memory as u64).unwrap().unwrap()
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn byte(index: usize) -> u8 {
    (index * 31 / 7) as u8
}

#[test]
fn an_array_that_grows_and_shrinks_keeps_its_values() {
    let _alone = alone();
    let spill = start_spill(8 * MIB);
    let mut array = Vec::new();
    let mut largest = 0;
    for size in [1000, 3 * MIB, 20 * MIB + 5, 90 * MIB, 2 * MIB, 500, 40 * MIB] {
        array.truncate(size);
        array.shrink_to_fit();
        array.extend((array.len()..size).map(byte));
        largest = largest.max(size);
        assert!(array.iter().enumerate().all(|(index, &value)| value == byte(index)), "{size}");
    }
    assert!(spill.peak_bytes() >= largest as u64, "{}", spill.peak_bytes());
    assert!(!spill.is_disk_full());
    // The array may outlive its `Spill`.
    drop(spill);
    array.push(1);
    assert!(array[..40 * MIB].iter().enumerate().all(|(index, &value)| value == byte(index)));
}

#[test]
fn the_process_does_not_grow_with_its_arrays() {
    let _alone = alone();
    let resident_before = resident();
    let memory = 32 * MIB;
    let spill = start_spill(memory);
    let mut arrays = Vec::new();
    let mut max_resident = 0;
    for number in 0..16u8 {
        let mut array = vec![0u8; 16 * MIB];
        for piece in array.chunks_mut(MIB) {
            piece.fill(number);
            // Between two pieces, the process is checked again.
            std::thread::sleep(std::time::Duration::from_millis(1));
            relieve();
            max_resident = max_resident.max(resident());
        }
        arrays.push(array);
    }
    assert!(arrays.iter().zip(0u8..).all(|(array, number)| array.iter().all(|&value| value == number)));
    assert!(max_resident < resident_before + memory + 24 * MIB, "{max_resident} bytes, {resident_before} before");
    assert!(spill.peak_bytes() >= 200 * MIB as u64, "{}", spill.peak_bytes());
}

#[test]
fn threads_move_arrays_at_the_same_time() {
    let _alone = alone();
    let _spill = start_spill(4 * MIB);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            scope.spawn(move || {
                for round in 0..20 {
                    let size = MIB + (thread * 77_777 + round * 99_991) % (3 * MIB);
                    let mut array: Vec<usize> = (0..size / 8).collect();
                    array.extend(size / 8..size / 4);
                    assert!(array.iter().enumerate().all(|(index, &value)| value == index));
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
    let _spill = start_spill(0);
    let zeros = vec![0u64; MIB];
    assert!(zeros.iter().all(|&value| value == 0));
    let wide = vec![Wide([7; 16384]); 100];
    assert!(wide.as_ptr().addr().is_multiple_of(16384) && wide.iter().all(|item| item.0 == [7; 16384]));
}

#[test]
fn only_one_at_a_time_in_a_folder_that_exists() {
    let _alone = alone();
    let missing = std::env::temp_dir().join("polyhaul-no-such-folder");
    assert!(Spill::start(&missing, 1).is_err());
    let first = start_spill(MIB);
    assert_eq!(Spill::start(&std::env::temp_dir(), 1).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    drop(first);
    drop(start_spill(MIB));
}

/// With a limit of 0 bytes, the warden releases pages from the start.
#[test]
fn a_folder_that_is_missing_is_an_error_while_pages_are_released() {
    let _alone = alone();
    let array = {
        let _spill = start_spill(0);
        vec![1u8; 64 * MIB]
    };
    for _ in 0..20 {
        assert!(Spill::start(std::path::Path::new("/polyhaul/no/such/folder"), 0).is_err());
        drop(start_spill(0));
    }
    assert!(array.iter().all(|&byte| byte == 1));
}
