//! Three columns of floats, as the text of `%.6f` and as numpy's array of the same numbers.

use super::{Failure, Text, hash};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Half of the requested size, in rows of about 30 bytes: five million at 300 MB.
const ROWS_PER_MEGABYTE: f64 = 50_000.0 / 3.0;
/// The size of an array's header: a multiple of 64.
const ARRAY_HEAD_BYTES: usize = 128;

/// Writes the text, and the array to `array`.
pub fn write(text: &mut Text, megabytes: u64, array: &Path) -> Result<(), Failure> {
    let row_count = (megabytes as f64 * ROWS_PER_MEGABYTE).round() as u32;
    let mut array = BufWriter::with_capacity(1 << 20, File::create(array)?);
    array.write_all(&array_head(row_count))?;
    for row in 0..row_count {
        // Below 10: 8 bytes of text, and a sign for half of them.
        let value = |column: usize| hash(row, column as u32, 4) as i32 as f32 / 2_147_483_648.0 * 10.0;
        let values: [f32; 3] = std::array::from_fn(value);
        text.numbers(&values)?;
        for value in values {
            array.write_all(&value.to_le_bytes())?;
        }
    }
    text.counts[0] = u64::from(row_count);
    Ok(array.flush()?)
}

/// The head of version 1.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
fn array_head(row_count: u32) -> Vec<u8> {
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((ARRAY_HEAD_BYTES as u16 - 10).to_le_bytes());
    head.extend(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({row_count}, 3), }}").bytes());
    head.resize(ARRAY_HEAD_BYTES - 1, b' ');
    head.push(b'\n');
    head
}
