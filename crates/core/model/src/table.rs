//! Tables: rows of numbers, stored as typed columns.
//!
//! The elements of a PLY file are tables, and so are numeric data files. Data for which a mesh has dedicated arrays is
//! stored there, not in tables; see [`super::Mesh`].

use super::Array;
use crate::error::{Error, ErrorKind, Result};
use std::collections::TryReserveError;

/// Rows of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The name of the rows in the source, such as `vertex` or `edge`; empty if the source has no name.
    pub name: String,
    /// The number of rows.
    pub row_count: usize,
    /// The columns in the source's order, with [`Table::row_count`] rows each.
    pub columns: Vec<Column>,
}

/// A column of a table, with a number or a list of numbers per row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The name; empty if the source has none.
    pub name: String,
    /// The values: one per row, or all lists concatenated.
    pub values: Values,
    /// For lists: row `i` has the values `offsets[i]..offsets[i + 1]`, so there is one more offset than rows. `None` if
    /// each row is a single number.
    pub offsets: Option<Array<u32>>,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl Scalar {
    /// The size of a value, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }
}

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// See [`Scalar::I8`].
    I8(Array<i8>),
    /// See [`Scalar::U8`].
    U8(Array<u8>),
    /// See [`Scalar::I16`].
    I16(Array<i16>),
    /// See [`Scalar::U16`].
    U16(Array<u16>),
    /// See [`Scalar::I32`].
    I32(Array<i32>),
    /// See [`Scalar::U32`].
    U32(Array<u32>),
    /// See [`Scalar::I64`].
    I64(Array<i64>),
    /// See [`Scalar::U64`].
    U64(Array<u64>),
    /// See [`Scalar::F32`].
    F32(Array<f32>),
    /// See [`Scalar::F64`].
    F64(Array<f64>),
}

impl Default for Values {
    fn default() -> Self {
        Values::F32(Array::default())
    }
}

/// Evaluates `$body` with `$array` bound to the array of `$values`, for any type.
#[macro_export]
macro_rules! with_values {
    ($values:expr, $array:pat => $body:expr) => {
        match $values {
            $crate::Values::I8($array) => $body,
            $crate::Values::U8($array) => $body,
            $crate::Values::I16($array) => $body,
            $crate::Values::U16($array) => $body,
            $crate::Values::I32($array) => $body,
            $crate::Values::U32($array) => $body,
            $crate::Values::I64($array) => $body,
            $crate::Values::U64($array) => $body,
            $crate::Values::F32($array) => $body,
            $crate::Values::F64($array) => $body,
        }
    };
}

/// Returns `$values` with its array, which is bound to `$array`, replaced with `$body`, an array of the same type.
#[macro_export]
macro_rules! map_values {
    ($values:expr, $array:pat => $body:expr) => {
        match $values {
            $crate::Values::I8($array) => $crate::Values::I8($body),
            $crate::Values::U8($array) => $crate::Values::U8($body),
            $crate::Values::I16($array) => $crate::Values::I16($body),
            $crate::Values::U16($array) => $crate::Values::U16($body),
            $crate::Values::I32($array) => $crate::Values::I32($body),
            $crate::Values::U32($array) => $crate::Values::U32($body),
            $crate::Values::I64($array) => $crate::Values::I64($body),
            $crate::Values::U64($array) => $crate::Values::U64($body),
            $crate::Values::F32($array) => $crate::Values::F32($body),
            $crate::Values::F64($array) => $crate::Values::F64($body),
        }
    };
}

impl Values {
    /// Returns the type of the numbers.
    pub fn scalar(&self) -> Scalar {
        match self {
            Values::I8(_) => Scalar::I8,
            Values::U8(_) => Scalar::U8,
            Values::I16(_) => Scalar::I16,
            Values::U16(_) => Scalar::U16,
            Values::I32(_) => Scalar::I32,
            Values::U32(_) => Scalar::U32,
            Values::I64(_) => Scalar::I64,
            Values::U64(_) => Scalar::U64,
            Values::F32(_) => Scalar::F32,
            Values::F64(_) => Scalar::F64,
        }
    }

    /// Returns an empty array of a type.
    pub fn empty(scalar: Scalar) -> Values {
        match scalar {
            Scalar::I8 => Values::I8(Array::default()),
            Scalar::U8 => Values::U8(Array::default()),
            Scalar::I16 => Values::I16(Array::default()),
            Scalar::U16 => Values::U16(Array::default()),
            Scalar::I32 => Values::I32(Array::default()),
            Scalar::U32 => Values::U32(Array::default()),
            Scalar::I64 => Values::I64(Array::default()),
            Scalar::U64 => Values::U64(Array::default()),
            Scalar::F32 => Values::F32(Array::default()),
            Scalar::F64 => Values::F64(Array::default()),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        with_values!(self, array => array.len())
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory used by the values, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        with_values!(self, array => array.heap_bytes())
    }

    /// Copies the array. If it is shared, the copy shares the same memory.
    ///
    /// # Errors
    /// Fails if there is no memory for the copy.
    pub fn try_clone(&self) -> std::result::Result<Values, TryReserveError> {
        Ok(map_values!(self, array => array.try_clone()?))
    }
}

impl Column {
    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        match &self.offsets {
            Some(offsets) => offsets.len().saturating_sub(1),
            None => self.values.len(),
        }
    }

    /// Returns the memory used by the arrays, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        self.values.heap_bytes() + self.offsets.as_ref().map_or(0, Array::heap_bytes)
    }
}

impl Table {
    /// Returns the column called `name`, if any.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the memory used by the arrays, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        self.columns.iter().map(Column::heap_bytes).sum()
    }
}

impl Column {
    /// Returns whether the column has `count` rows, and its lists cover all of its values in order.
    pub fn is_whole(&self, count: usize) -> bool {
        let lists_match = self.offsets.as_ref().is_none_or(|offsets| {
            offsets.first() == Some(&0)
                && offsets.last().is_some_and(|&end| end as usize == self.values.len())
                && offsets.is_sorted()
        });
        lists_match && self.row_count() == count
    }
}

impl Table {
    /// Checks that every column has as many rows as the table, and that lists cover all values of their column in
    /// order.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if a column does not.
    pub fn check(&self) -> Result<()> {
        if let Some(column) = self.columns.iter().find(|column| !column.is_whole(self.row_count)) {
            let message =
                format!("column `{}` of table `{}` does not have {} rows", column.name, self.name, self.row_count);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(())
    }
}
