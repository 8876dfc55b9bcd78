//! The values of one column: bytes with a stride, in native byte order.

use std::fmt;

use super::cells::ROWS;

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// 8 bits, signed.
    I8,
    /// 16 bits, signed.
    I16,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, unsigned.
    U64,
    /// 32 bits, floating point.
    F32,
    /// 64 bits, floating point.
    F64,
    /// One byte: false for 0, true otherwise.
    Bool,
    /// Bytes of text, at most this many, padded with NUL bytes.
    Bytes(usize),
    /// UTF-8 text of at most this many bytes, padded with NUL bytes. It is written as text in every dialect; width and
    /// precision count characters.
    Text(usize),
}

impl ValueType {
    /// Returns the size of one value in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            ValueType::I8 | ValueType::U8 | ValueType::Bool => 1,
            ValueType::I16 | ValueType::U16 => 2,
            ValueType::I32 | ValueType::U32 | ValueType::F32 => 4,
            ValueType::I64 | ValueType::U64 | ValueType::F64 => 8,
            ValueType::Bytes(count) | ValueType::Text(count) => count,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            ValueType::I8 => "i8",
            ValueType::I16 => "i16",
            ValueType::I32 => "i32",
            ValueType::I64 => "i64",
            ValueType::U8 => "u8",
            ValueType::U16 => "u16",
            ValueType::U32 => "u32",
            ValueType::U64 => "u64",
            ValueType::F32 => "f32",
            ValueType::F64 => "f64",
            ValueType::Bool => "bool",
            ValueType::Bytes(count) => return write!(f, "bytes[{count}]"),
            ValueType::Text(count) => return write!(f, "text[{count}]"),
        };
        f.write_str(name)
    }
}

/// Values of one type with a stride, in the caller's bytes.
#[derive(Clone, Copy, Debug)]
pub struct StridedColumn<'a> {
    bytes: &'a [u8],
    stride_bytes: usize,
    count: usize,
    kind: ValueType,
}

impl<'a> StridedColumn<'a> {
    /// Creates a column of `count` values of type `kind`: the first at `offset`, each `stride_bytes` after the previous
    /// one.
    ///
    /// Returns `None` unless all values are inside `bytes`. No alignment is required; a stride of 0 repeats one value.
    pub fn new(bytes: &'a [u8], offset: usize, stride_bytes: usize, count: usize, kind: ValueType) -> Option<Self> {
        let bytes = match count {
            0 => &[],
            _ => {
                let span = (count - 1).checked_mul(stride_bytes)?.checked_add(kind.bytes())?;
                bytes.get(offset..)?.get(..span)?
            }
        };
        Some(Self { bytes, stride_bytes, count, kind })
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the type of the values.
    pub fn kind(&self) -> ValueType {
        self.kind
    }

    /// Returns all bytes from the start of a value on, or none if the value does not exist.
    #[inline(always)]
    fn bytes_from(&self, row: usize) -> &'a [u8] {
        self.bytes.get(row * self.stride_bytes..).unwrap_or_default()
    }

    /// Returns the first `K` bytes of a value, or zeros if the value does not exist.
    #[inline(always)]
    pub(super) fn get<const K: usize>(&self, row: usize) -> [u8; K] {
        self.bytes_from(row).first_chunk().copied().unwrap_or([0; K])
    }

    /// Returns all bytes of a value.
    #[inline]
    pub(super) fn text(&self, row: usize) -> &'a [u8] {
        self.bytes_from(row).get(..self.kind.bytes()).unwrap_or_default()
    }

    /// Returns the sign (`true` if negative) and magnitude of an integer or a bool. Returns 0 for other types.
    #[inline(always)]
    pub(super) fn integer(&self, row: usize) -> (bool, u64) {
        let signed = |value: i64| (value < 0, value.unsigned_abs());
        match self.kind {
            ValueType::I8 => signed(i8::from_ne_bytes(self.get(row)).into()),
            ValueType::I16 => signed(i16::from_ne_bytes(self.get(row)).into()),
            ValueType::I32 => signed(i32::from_ne_bytes(self.get(row)).into()),
            ValueType::I64 => signed(i64::from_ne_bytes(self.get(row))),
            ValueType::U8 => (false, u8::from_ne_bytes(self.get(row)).into()),
            ValueType::U16 => (false, u16::from_ne_bytes(self.get(row)).into()),
            ValueType::U32 => (false, u32::from_ne_bytes(self.get(row)).into()),
            ValueType::U64 => (false, u64::from_ne_bytes(self.get(row))),
            ValueType::Bool => (false, u64::from(self.flag(row))),
            ValueType::F32 | ValueType::F64 | ValueType::Bytes(_) | ValueType::Text(_) => (false, 0),
        }
    }

    /// Returns a number or bool as f64. Integers are rounded to nearest, ties to even.
    #[inline(always)]
    pub(super) fn real(&self, row: usize) -> f64 {
        match self.kind {
            ValueType::F32 => f32::from_ne_bytes(self.get(row)).into(),
            ValueType::F64 => f64::from_ne_bytes(self.get(row)),
            _ => match self.integer(row) {
                (false, magnitude) => magnitude as f64,
                (true, magnitude) => -(magnitude as f64),
            },
        }
    }

    /// Returns a bool.
    #[inline(always)]
    pub(super) fn flag(&self, row: usize) -> bool {
        self.get::<1>(row) != [0]
    }

    /// Returns `count` bools (at most [`ROWS`]), padded with false.
    #[inline]
    pub(super) fn flags(&self, row: usize, count: usize) -> [bool; ROWS] {
        self.block(row, count, |[byte]: [u8; 1]| byte != 0)
    }

    /// Returns `count` f32 values (at most [`ROWS`]), padded with zeros.
    pub(super) fn reals_f32(&self, row: usize, count: usize) -> [f32; ROWS] {
        self.block(row, count, f32::from_ne_bytes)
    }

    /// Returns `count` numbers or bools (at most [`ROWS`]) as f64, padded with zeros.
    pub(super) fn reals(&self, row: usize, count: usize) -> [f64; ROWS] {
        match self.kind {
            ValueType::I8 => self.block(row, count, |bytes| i8::from_ne_bytes(bytes).into()),
            ValueType::I16 => self.block(row, count, |bytes| i16::from_ne_bytes(bytes).into()),
            ValueType::I32 => self.block(row, count, |bytes| i32::from_ne_bytes(bytes).into()),
            ValueType::I64 => self.block(row, count, |bytes| i64::from_ne_bytes(bytes) as f64),
            ValueType::U8 => self.block(row, count, |bytes| u8::from_ne_bytes(bytes).into()),
            ValueType::U16 => self.block(row, count, |bytes| u16::from_ne_bytes(bytes).into()),
            ValueType::U32 => self.block(row, count, |bytes| u32::from_ne_bytes(bytes).into()),
            ValueType::U64 => self.block(row, count, |bytes| u64::from_ne_bytes(bytes) as f64),
            ValueType::F32 => self.block(row, count, |bytes| f32::from_ne_bytes(bytes).into()),
            ValueType::F64 => self.block(row, count, f64::from_ne_bytes),
            ValueType::Bool => self.block(row, count, |[byte]: [u8; 1]| f64::from(byte != 0)),
            ValueType::Bytes(_) | ValueType::Text(_) => [0.0; ROWS],
        }
    }

    #[inline(always)]
    fn block<const K: usize, T: Copy + Default>(
        &self,
        row: usize,
        count: usize,
        value: impl Fn([u8; K]) -> T,
    ) -> [T; ROWS] {
        let mut values = [T::default(); ROWS];
        let bytes = self.bytes_from(row);
        // The usual case, a whole block of contiguous values, needs no bounds check for each value.
        if self.stride_bytes == K && count == ROWS {
            for (slot, &bytes) in values.iter_mut().zip(bytes.as_chunks::<K>().0) {
                *slot = value(bytes);
            }
            return values;
        }
        let slots = values.iter_mut().take(count);
        // Values that overlap, or one value that repeats, cannot be split into chunks.
        if self.stride_bytes < K {
            slots.enumerate().for_each(|(index, slot)| *slot = value(self.get(row + index)));
            return values;
        }
        for (slot, bytes) in slots.zip(bytes.chunks_exact(self.stride_bytes)) {
            *slot = value(bytes.first_chunk().copied().unwrap_or([0; K]));
        }
        // The bytes may end before the full stride of the last value.
        if let Some(last) = values[..count].last_mut() {
            *last = value(self.get(row + count - 1));
        }
        values
    }
}
