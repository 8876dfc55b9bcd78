//! Checks that arrays keep their contents when they move to disk, and that the process stays within its limit.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::disallowed_methods, reason = "shrinking is what is tested")]

use polyhaul_spill::{Spill, SpillAllocator, relieve};
use std::alloc::{Layout, alloc, dealloc};
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
            // Check the size of the process between two pieces of work.
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

/// The files have no names; each exists only as long as it is open.
#[test]
fn files_of_arrays_go_with_them() {
    let _alone = alone();
    let _spill = start_spill(0);
    let count_files = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| entry.path().read_link());
        links.flatten().filter(|link| link.to_string_lossy().ends_with(" (deleted)")).count()
    };
    let before = count_files();
    let mut arrays: Vec<_> = (0..3).map(|_| vec![1u8; 2 * MIB]).collect();
    assert_eq!(count_files(), before + 3);
    arrays.pop();
    assert_eq!(count_files(), before + 2);
    drop(arrays);
    assert_eq!(count_files(), before);
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

/// Blocks of all sizes, each with its own content.
fn blocks(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| (0..1 + number % 97 * (number % 13)).map(|index| byte(number + index)).collect()).collect()
}

fn assert_blocks(blocks: &[Vec<u8>]) {
    for (number, block) in blocks.iter().enumerate() {
        assert!(block.iter().enumerate().all(|(index, &value)| value == byte(number + index)), "{number}");
    }
}

#[test]
fn the_process_does_not_grow_with_small_blocks() {
    let _alone = alone();
    let resident_before = resident();
    let spill = start_spill(32 * MIB);
    let mut lists = Vec::new();
    let mut max_resident = 0;
    for _ in 0..32 {
        lists.push(blocks(40_000));
        max_resident = max_resident.max(resident());
    }
    lists.iter().for_each(|list| assert_blocks(list));
    max_resident = max_resident.max(resident());
    let bytes: usize = lists.iter().flatten().map(Vec::len).sum();
    assert!(bytes > 300 * MIB, "{bytes}");
    assert!(max_resident < resident_before + (32 + 64) * MIB, "{max_resident} bytes, {resident_before} before");
    assert!(spill.peak_bytes() >= 250 * MIB as u64, "{}", spill.peak_bytes());
}

#[test]
fn blocks_that_change_keep_their_values_and_outlive_their_spill() {
    let _alone = alone();
    let filler = {
        let _spill = start_spill(0);
        blocks(200_000)
    };
    for round in 0..3 {
        let spill = start_spill(0);
        let mut list = blocks(30_000);
        list.iter_mut().step_by(3).for_each(Vec::shrink_to_fit);
        list.iter_mut().step_by(2).for_each(|block| *block = Vec::new());
        for (number, block) in list.iter_mut().enumerate().step_by(2) {
            let count = if number % 1000 == 0 { 3 * MIB } else { 100 + number % 70 };
            block.extend((0..count).map(|index| byte(number + index)));
        }
        let zeros = vec![0u8; 5000 + round];
        assert!(zeros.iter().all(|&value| value == 0));
        assert_blocks(&list);
        drop(spill);
        assert_blocks(&list);
        list.truncate(10 + round);
        assert_blocks(&list);
    }
    assert_blocks(&filler);
}

/// Each array on disk keeps a file open, but processes are usually limited to 1024 open files, and `MAX_ARRAYS` is 512.
#[test]
fn more_arrays_than_files() {
    let _alone = alone();
    let _spill = start_spill(0);
    let arrays: Vec<Vec<u8>> = (0..700).map(|number| vec![number as u8; MIB + number]).collect();
    assert!(arrays.iter().enumerate().all(|(number, array)| array.iter().all(|&value| value == number as u8)));
}

/// Blocks of the shared file are aligned to 16 bytes.
#[test]
fn aligned_arrays_without_a_file_are_not_blocks() {
    let _alone = alone();
    let _spill = start_spill(0);
    let filler = blocks(200_000);
    let arrays: Vec<Vec<u8>> = (0..512).map(|_| vec![1; MIB]).collect();
    let layout = Layout::from_size_align(MIB, 4096).unwrap();
    for _ in 0..8 {
        // The end of the blocks so far is hardly ever a multiple of 4096.
        let more = blocks(100);
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null() && start.addr().is_multiple_of(4096), "{start:?}");
        // SAFETY: the array comes from `alloc` with this layout.
        unsafe { dealloc(start, layout) };
        assert_blocks(&more);
    }
    assert_blocks(&filler);
    drop(arrays);
}

#[test]
fn threads_use_small_blocks_at_the_same_time() {
    let _alone = alone();
    let _spill = start_spill(0);
    let filler = blocks(200_000);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| assert_blocks(&blocks(5000))));
        }
        // Freed by a different thread than the allocating one.
        let made = scope.spawn(|| blocks(5000)).join().unwrap();
        assert_blocks(&made);
    });
    assert_blocks(&filler);
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
