//! Tables as columns.

use crate::error::{free, guard, ph_status};
use crate::options::{self, ph_options};
use crate::raw::{self, Out, Record, handle, pointer};
use crate::report::{ReportOut, ph_report};
use crate::scene::no_such;
use crate::source::{self, ph_input};
use crate::text::{ph_string, view};
use polyhaul::Result;
use polyhaul::model::{Column, Table, Values};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Type of the numbers in an array: one of the `PH_SCALAR_` constants.
pub type ph_scalar = u32;

/// `int8_t`
pub const PH_SCALAR_I8: ph_scalar = 1;
/// `uint8_t`
pub const PH_SCALAR_U8: ph_scalar = 2;
/// `int16_t`
pub const PH_SCALAR_I16: ph_scalar = 3;
/// `uint16_t`
pub const PH_SCALAR_U16: ph_scalar = 4;
/// `int32_t`
pub const PH_SCALAR_I32: ph_scalar = 5;
/// `uint32_t`
pub const PH_SCALAR_U32: ph_scalar = 6;
/// `int64_t`
pub const PH_SCALAR_I64: ph_scalar = 7;
/// `uint64_t`
pub const PH_SCALAR_U64: ph_scalar = 8;
/// `float`
pub const PH_SCALAR_F32: ph_scalar = 9;
/// `double`
pub const PH_SCALAR_F64: ph_scalar = 10;

/// The tables of a file: the elements of a PLY file, or the single table of a csv, tsv, txt, xyz, pts or npy file. Free
/// them with ph_tables_free.
pub struct ph_tables(Vec<Table>);

/// A table.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_table {
    /// `sizeof(ph_table)`.
    pub struct_size: usize,
    /// Name of the table in the file, such as `vertex`; may be empty.
    pub name: ph_string,
    /// Number of rows.
    pub row_count: usize,
    /// Number of columns.
    pub column_count: usize,
}

/// A column of a table, with one number or one list of numbers per row.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_column {
    /// `sizeof(ph_column)`.
    pub struct_size: usize,
    /// Name; may be empty.
    pub name: ph_string,
    /// Values of type `scalar`.
    pub values: *const c_void,
    /// Number of values.
    pub value_count: usize,
    /// For lists, `row_count + 1` offsets: row `i` has the values from `offsets[i]` up to, but excluding,
    /// `offsets[i + 1]`. Null if each row has one number.
    pub offsets: *const u32,
    /// Number of rows.
    pub row_count: usize,
    /// Type of the values.
    pub scalar: ph_scalar,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and strings: any bytes are values.
unsafe impl Record for ph_table {
    const NAME: &'static str = "ph_table";
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers and strings: any bytes are values.
unsafe impl Record for ph_column {
    const NAME: &'static str = "ph_column";
}

/// Reads the tables of a file.
///
/// `options` and `report` may be null. Free the tables with ph_tables_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_tables_read(
    input: *const ph_input,
    options: Option<&ph_options>,
    tables: Option<&mut MaybeUninit<*mut ph_tables>>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let tables = Out::new(tables);
        let report = ReportOut::new(report);
        // SAFETY: `input` is null or valid by the header's rules until this call returns; the job ends before that.
        let (input, _held) = unsafe { source::input(input) }?;
        let tables = tables?;
        let report = report?;
        let options = options::for_reading(options);
        let loaded = polyhaul::Reader::new(input).options(&options).tables()?;
        options::unless_cancelled(&options)?;
        tables.give(ph_tables(loaded.value.tables));
        report.give(loaded.report);
        Ok(())
    })
}

/// Returns the number of tables; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn ph_tables_count(tables: Option<&ph_tables>) -> usize {
    tables.map_or(0, |tables| tables.0.len())
}

/// Returns the name and size of a table. `index` must be less than ph_tables_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_tables_table(tables: Option<&ph_tables>, index: usize, table: *mut ph_table) -> ph_status {
    guard(|| {
        let tables = &handle(tables, "the tables")?.0;
        let stored = tables.get(index).ok_or_else(|| no_such("table", index, tables.len()))?;
        let lent = ph_table {
            struct_size: size_of::<ph_table>(),
            name: view(&stored.name),
            row_count: stored.row_count,
            column_count: stored.columns.len(),
        };
        // SAFETY: `table` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(table, lent) }
    })
}

/// Returns a column of a table, without copying it. `index` must be less than `column_count` of the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_tables_column(
    tables: Option<&ph_tables>,
    table: usize,
    index: usize,
    column: *mut ph_column,
) -> ph_status {
    guard(|| {
        let tables = &handle(tables, "the tables")?.0;
        let stored = tables.get(table).ok_or_else(|| no_such("table", table, tables.len()))?;
        // SAFETY: `column` is null, or points to `struct_size` writable bytes by the header's rules, as `put_column`
        // requires.
        unsafe { put_column(&stored.columns, index, column) }
    })
}

/// Frees tables, and all arrays and strings that they returned. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn ph_tables_free(tables: Option<Box<ph_tables>>) {
    free(tables);
}

/// Writes one of `columns` to the caller's struct.
///
/// # Safety
/// As for [`raw::put`].
pub(crate) unsafe fn put_column(columns: &[Column], index: usize, out: *mut ph_column) -> Result<()> {
    let column = columns.get(index).ok_or_else(|| no_such("column", index, columns.len()))?;
    let (scalar, values) = values(&column.values);
    let lent = ph_column {
        struct_size: size_of::<ph_column>(),
        name: view(&column.name),
        values,
        value_count: column.values.len(),
        offsets: column.offsets.as_ref().map_or(std::ptr::null(), |offsets| pointer(offsets)),
        row_count: column.row_count(),
        scalar,
    };
    // SAFETY: `out` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
    unsafe { raw::put(out, lent) }
}

fn values(values: &Values) -> (ph_scalar, *const c_void) {
    match values {
        Values::I8(array) => (PH_SCALAR_I8, pointer(array).cast()),
        Values::U8(array) => (PH_SCALAR_U8, pointer(array).cast()),
        Values::I16(array) => (PH_SCALAR_I16, pointer(array).cast()),
        Values::U16(array) => (PH_SCALAR_U16, pointer(array).cast()),
        Values::I32(array) => (PH_SCALAR_I32, pointer(array).cast()),
        Values::U32(array) => (PH_SCALAR_U32, pointer(array).cast()),
        Values::I64(array) => (PH_SCALAR_I64, pointer(array).cast()),
        Values::U64(array) => (PH_SCALAR_U64, pointer(array).cast()),
        Values::F32(array) => (PH_SCALAR_F32, pointer(array).cast()),
        Values::F64(array) => (PH_SCALAR_F64, pointer(array).cast()),
    }
}
