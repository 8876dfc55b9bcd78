//! Running out of memory for a block is an error, not an abort.

use polyhaul_bytes::{BLOCK_BYTES, Buffer, Sink, Source};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{BufRead, ErrorKind};

thread_local! {
    /// Minimum size of allocations that fail on this thread.
    static FAIL_BYTES: Cell<usize> = const { Cell::new(usize::MAX) };
}

struct FailingAllocator;

// SAFETY: forwards every request unchanged to the system's allocator, or returns null, which callers must expect.
unsafe impl GlobalAlloc for FailingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= FAIL_BYTES.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract, as the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block came from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: FailingAllocator = FailingAllocator;

fn with_allocations_below<T>(size_bytes: usize, run: impl FnOnce() -> T) -> T {
    FAIL_BYTES.set(size_bytes);
    let result = run();
    FAIL_BYTES.set(usize::MAX);
    result
}

#[test]
fn a_buffer_without_memory_reports_it_and_can_continue() {
    let data = vec![1; 10 * BLOCK_BYTES];
    let mut buffer = Buffer::new(Source::memory(&data));
    let error = with_allocations_below(BLOCK_BYTES, || buffer.fill_buf().map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let error = with_allocations_below(4 * BLOCK_BYTES, || buffer.record(0).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(buffer.record(0).unwrap().unwrap().len(), data.len());
}

#[test]
fn a_stream_without_memory_reports_it_and_can_continue() {
    let source = Source::reader(Box::new(&b"abc"[..]), "host");
    let error = with_allocations_below(BLOCK_BYTES, || source.read_next(&mut [0; 9])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(source.read_next(&mut [0; 9]).unwrap(), 3);
}

#[test]
fn a_memory_sink_without_memory_reports_it() {
    let block = vec![1; BLOCK_BYTES];
    let mut sink = Sink::memory();
    sink.write_all(&block).unwrap();
    let error = with_allocations_below(BLOCK_BYTES, || sink.write_all(&block)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(sink.finish().is_err());
}
