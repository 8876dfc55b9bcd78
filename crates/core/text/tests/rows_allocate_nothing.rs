//! Checks with a counting allocator that a compiled row format runs without allocations on every path.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use polyhaul_text::format::{Page, PrintfDialect, RowFormat, StridedColumn, ValueType};

struct CountingAllocator;

thread_local! {
    /// Number of calls by this thread only, because the test harness has other threads.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: all calls are forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller upholds the conditions.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Number of rows: Miri takes a thousand times as long.
const ROWS: usize = if cfg!(miri) { 60 } else { 5000 };

#[test]
fn nothing_is_allocated() {
    let mut data = Vec::new();
    for index in 0..ROWS as i32 {
        let value = f64::from(index * 7 - 9000) / 64.0;
        let odd = [1e300, f64::NAN, 1e-310][index as usize % 3];
        data.extend((if index % 50 == 3 { odd } else { value }).to_ne_bytes());
        data.extend(*b"a name\0\0");
    }
    let kinds = [
        ValueType::F64,
        ValueType::Bool,
        ValueType::I32,
        ValueType::F32,
        ValueType::Bytes(8),
        ValueType::F64,
        ValueType::F64,
    ];
    let columns = kinds.map(|kind| {
        let offset = if matches!(kind, ValueType::Bytes(_)) { 8 } else { 0 };
        StridedColumn::new(&data, offset, 16, ROWS, kind).unwrap()
    });
    let templates = [
        "%.6f,%d,%d,%.2f,%s,%.18e,%g\n",
        "%12.3f %s %u %e %-20s a text of more than sixteen bytes%.40f %.33g\n",
        "%s %5s %09d %s %.3s %.25e %.0f\n",
    ];
    let mut buffer = vec![0; 10_000];
    for dialect in [PrintfDialect::C, PrintfDialect::Python] {
        for template in templates {
            let format = RowFormat::printf(template, &kinds, dialect).unwrap();
            let mut row = 0;
            let mut bytes = 0;
            let before = CALLS.get();
            let rows = format.over(&columns).unwrap();
            while row < rows.count() {
                let mut page = Page::new(&mut buffer);
                row += rows.write(&mut page, row..rows.count()).unwrap().max(1);
                bytes += page.len();
            }
            let calls = CALLS.get() - before;
            assert_eq!(calls, 0, "{template}");
            assert!(bytes > 20 * ROWS);
        }
    }
    // Check the counter itself.
    let before = CALLS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(CALLS.get() - before, 2);
}
