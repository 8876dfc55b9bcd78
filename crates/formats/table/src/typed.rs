//! A column of any numeric type, which chunks fill in parallel.

use polyhaul_model::error::Result;
use polyhaul_model::{Scalar, Values};
use polyhaul_pipeline::column::Column;

/// A column of numbers of one type.
pub(super) enum TypedColumn {
    I8(Column<i8>),
    U8(Column<u8>),
    I16(Column<i16>),
    U16(Column<u16>),
    I32(Column<i32>),
    U32(Column<u32>),
    I64(Column<i64>),
    U64(Column<u64>),
    F32(Column<f32>),
    F64(Column<f64>),
}

/// Runs `$body` with `$column` bound to the column, regardless of its type.
macro_rules! with_column {
    ($typed:expr, $column:ident => $body:expr) => {
        match $typed {
            $crate::typed::TypedColumn::I8($column) => $body,
            $crate::typed::TypedColumn::U8($column) => $body,
            $crate::typed::TypedColumn::I16($column) => $body,
            $crate::typed::TypedColumn::U16($column) => $body,
            $crate::typed::TypedColumn::I32($column) => $body,
            $crate::typed::TypedColumn::U32($column) => $body,
            $crate::typed::TypedColumn::I64($column) => $body,
            $crate::typed::TypedColumn::U64($column) => $body,
            $crate::typed::TypedColumn::F32($column) => $body,
            $crate::typed::TypedColumn::F64($column) => $body,
        }
    };
}
pub(super) use with_column;

impl TypedColumn {
    pub(super) fn new(scalar: Scalar) -> TypedColumn {
        const NAME: &str = "a column";
        match scalar {
            Scalar::I8 => TypedColumn::I8(Column::new(NAME)),
            Scalar::U8 => TypedColumn::U8(Column::new(NAME)),
            Scalar::I16 => TypedColumn::I16(Column::new(NAME)),
            Scalar::U16 => TypedColumn::U16(Column::new(NAME)),
            Scalar::I32 => TypedColumn::I32(Column::new(NAME)),
            Scalar::U32 => TypedColumn::U32(Column::new(NAME)),
            Scalar::I64 => TypedColumn::I64(Column::new(NAME)),
            Scalar::U64 => TypedColumn::U64(Column::new(NAME)),
            Scalar::F32 => TypedColumn::F32(Column::new(NAME)),
            Scalar::F64 => TypedColumn::F64(Column::new(NAME)),
        }
    }

    /// Reserves space for `count` values in total.
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        with_column!(self, column => column.reserve(count))
    }

    /// Returns the finished numbers.
    ///
    /// # Safety
    /// The first `count` values must have been written.
    pub(super) unsafe fn finish(self, count: usize) -> Values {
        // SAFETY: the caller upholds the contract of `Column::finish`, which is the same.
        unsafe {
            match self {
                TypedColumn::I8(column) => Values::I8(column.finish(count).into()),
                TypedColumn::U8(column) => Values::U8(column.finish(count).into()),
                TypedColumn::I16(column) => Values::I16(column.finish(count).into()),
                TypedColumn::U16(column) => Values::U16(column.finish(count).into()),
                TypedColumn::I32(column) => Values::I32(column.finish(count).into()),
                TypedColumn::U32(column) => Values::U32(column.finish(count).into()),
                TypedColumn::I64(column) => Values::I64(column.finish(count).into()),
                TypedColumn::U64(column) => Values::U64(column.finish(count).into()),
                TypedColumn::F32(column) => Values::F32(column.finish(count).into()),
                TypedColumn::F64(column) => Values::F64(column.finish(count).into()),
            }
        }
    }
}
