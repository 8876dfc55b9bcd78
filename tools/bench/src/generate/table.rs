//! Generates three columns of floats, as text (`%.6f`) and as a NumPy array of the same numbers; and tables in other
//! styles: `tidy` (`%.6f`, as here), `crlf`, `aligned` (columns of equal width), `csv`, `quotes`, `e6` and `savetxt`
//! (`%.6e` and NumPy's `%.18e`), `g7` (`%.7g`), `repr` (the shortest digits of doubles), `integers`.

use super::styles::{general, scientific};
use super::{Failure, Text, hash};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Uses half of the requested size, with rows of about 30 bytes: five million at 300 MB.
const ROWS_PER_MEGABYTE: f64 = 50_000.0 / 3.0;
/// Size of an array's header: a multiple of 64.
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

/// Writes four columns in a style until the file has this many megabytes.
pub fn write_style(text: &mut Text, style: &str, megabytes: u64) -> Result<(), Failure> {
    let (separator, newline) = match style {
        "tidy" | "aligned" | "e6" | "savetxt" | "g7" | "integers" => (" ", "\n"),
        "crlf" => (" ", "\r\n"),
        "csv" | "quotes" | "repr" => (",", "\n"),
        _ => return Err(format!("no style {style} of table").into()),
    };
    let number = |value: f64| match style {
        "aligned" => format!("{value:12.6}"),
        "quotes" => format!("\"{value:.6}\""),
        "e6" => scientific(value, 6),
        "savetxt" => scientific(value, 18),
        "g7" => general(value, 7),
        "repr" => format!("{value}"),
        "integers" => format!("{:.0}", value * 1000.0),
        _ => format!("{value:.6}"),
    };
    let mut row = 0;
    while text.counts[3] < megabytes * 1_000_000 {
        let values = [0, 1, 2, 3].map(|column| number(f64::from(hash(row, column, 6) as i32) / 2_147_483.648 / 10.0));
        text.bytes(values.join(separator).as_bytes());
        text.bytes(newline.as_bytes());
        text.spill()?;
        row += 1;
    }
    text.counts[0] = u64::from(row);
    Ok(())
}

/// Formats the header of version 1.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
fn array_head(row_count: u32) -> Vec<u8> {
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((ARRAY_HEAD_BYTES as u16 - 10).to_le_bytes());
    head.extend(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({row_count}, 3), }}").bytes());
    head.resize(ARRAY_HEAD_BYTES - 1, b' ');
    head.push(b'\n');
    head
}
