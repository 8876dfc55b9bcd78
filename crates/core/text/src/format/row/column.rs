//! Where the values of one column are: bytes at equal distances, in the byte order of this machine.

use std::fmt;

use super::cells::ROWS;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
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
    /// One byte: false for 0, true for all else.
    Bool,
    /// Text of at most this many bytes, filled up with NUL bytes.
    Bytes(usize),
    /// UTF-8 of at most this many bytes, padded with NUL bytes: text in every dialect, with width and precision in
    /// characters.
    Text(usize),
}

impl Kind {
    /// Bytes of one value.
    pub const fn bytes(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 | Kind::Bool => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
            Kind::Bytes(count) | Kind::Text(count) => count,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Kind::I8 => "i8",
            Kind::I16 => "i16",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::U8 => "u8",
            Kind::U16 => "u16",
            Kind::U32 => "u32",
            Kind::U64 => "u64",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::Bool => "bool",
            Kind::Bytes(count) => return write!(f, "bytes[{count}]"),
            Kind::Text(count) => return write!(f, "text[{count}]"),
        };
        f.write_str(name)
    }
}

/// Values of one type at equal distances, in bytes that the caller owns.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    bytes: &'a [u8],
    stride_bytes: usize,
    count: usize,
    kind: Kind,
}

impl<'a> Column<'a> {
    /// `count` values of type `kind`: the first at `offset`, each `stride_bytes` after the previous one.
    ///
    /// `None` unless all of them are inside `bytes`. They need no alignment; a stride of 0 repeats one value.
    pub fn new(bytes: &'a [u8], offset: usize, stride_bytes: usize, count: usize, kind: Kind) -> Option<Self> {
        let bytes = match count {
            0 => &[],
            _ => {
                let span = (count - 1).checked_mul(stride_bytes)?.checked_add(kind.bytes())?;
                bytes.get(offset..)?.get(..span)?
            }
        };
        Some(Self { bytes, stride_bytes, count, kind })
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Their type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// All bytes from a value on; none if there is no such value.
    #[inline(always)]
    fn from(&self, row: usize) -> &'a [u8] {
        self.bytes.get(row * self.stride_bytes..).unwrap_or_default()
    }

    /// The first `K` bytes of a value; zeros if there is none.
    #[inline(always)]
    pub(super) fn get<const K: usize>(&self, row: usize) -> [u8; K] {
        self.from(row).first_chunk().copied().unwrap_or([0; K])
    }

    /// All bytes of a value.
    #[inline]
    pub(super) fn text(&self, row: usize) -> &'a [u8] {
        self.from(row).get(..self.kind.bytes()).unwrap_or_default()
    }

    /// A value that is an integer or a bool: whether it is negative, and its magnitude.
    #[inline(always)]
    pub(super) fn integer(&self, row: usize) -> (bool, u64) {
        let signed = |value: i64| (value < 0, value.unsigned_abs());
        match self.kind {
            Kind::I8 => signed(i8::from_ne_bytes(self.get(row)).into()),
            Kind::I16 => signed(i16::from_ne_bytes(self.get(row)).into()),
            Kind::I32 => signed(i32::from_ne_bytes(self.get(row)).into()),
            Kind::I64 => signed(i64::from_ne_bytes(self.get(row))),
            Kind::U8 => (false, u8::from_ne_bytes(self.get(row)).into()),
            Kind::U16 => (false, u16::from_ne_bytes(self.get(row)).into()),
            Kind::U32 => (false, u32::from_ne_bytes(self.get(row)).into()),
            Kind::U64 => (false, u64::from_ne_bytes(self.get(row))),
            Kind::Bool => (false, u64::from(self.flag(row))),
            Kind::F32 | Kind::F64 | Kind::Bytes(_) | Kind::Text(_) => (false, 0),
        }
    }

    /// A value that is a number or a bool. Integers are rounded to nearest, ties to even.
    #[inline(always)]
    pub(super) fn real(&self, row: usize) -> f64 {
        match self.kind {
            Kind::F32 => f32::from_ne_bytes(self.get(row)).into(),
            Kind::F64 => f64::from_ne_bytes(self.get(row)),
            _ => match self.integer(row) {
                (false, magnitude) => magnitude as f64,
                (true, magnitude) => -(magnitude as f64),
            },
        }
    }

    /// A value that is a bool.
    #[inline(always)]
    pub(super) fn flag(&self, row: usize) -> bool {
        self.get::<1>(row) != [0]
    }

    /// `count` values (at most [`ROWS`]) that are bools, and false after them.
    #[inline]
    pub(super) fn flags(&self, row: usize, count: usize) -> [bool; ROWS] {
        self.block(row, count, |[byte]: [u8; 1]| byte != 0)
    }

    /// `count` values (at most [`ROWS`]) that are f32, and zeros after them.
    pub(super) fn reals_f32(&self, row: usize, count: usize) -> [f32; ROWS] {
        self.block(row, count, f32::from_ne_bytes)
    }

    /// `count` values (at most [`ROWS`]) that are numbers or bools, and zeros after them.
    pub(super) fn reals(&self, row: usize, count: usize) -> [f64; ROWS] {
        match self.kind {
            Kind::I8 => self.block(row, count, |bytes| i8::from_ne_bytes(bytes).into()),
            Kind::I16 => self.block(row, count, |bytes| i16::from_ne_bytes(bytes).into()),
            Kind::I32 => self.block(row, count, |bytes| i32::from_ne_bytes(bytes).into()),
            Kind::I64 => self.block(row, count, |bytes| i64::from_ne_bytes(bytes) as f64),
            Kind::U8 => self.block(row, count, |bytes| u8::from_ne_bytes(bytes).into()),
            Kind::U16 => self.block(row, count, |bytes| u16::from_ne_bytes(bytes).into()),
            Kind::U32 => self.block(row, count, |bytes| u32::from_ne_bytes(bytes).into()),
            Kind::U64 => self.block(row, count, |bytes| u64::from_ne_bytes(bytes) as f64),
            Kind::F32 => self.block(row, count, |bytes| f32::from_ne_bytes(bytes).into()),
            Kind::F64 => self.block(row, count, f64::from_ne_bytes),
            Kind::Bool => self.block(row, count, |[byte]: [u8; 1]| f64::from(byte != 0)),
            Kind::Bytes(_) | Kind::Text(_) => [0.0; ROWS],
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
        let bytes = self.from(row);
        if self.stride_bytes == K && count == ROWS {
            for (place, &bytes) in values.iter_mut().zip(bytes.as_chunks::<K>().0) {
                *place = value(bytes);
            }
            return values;
        }
        let places = values.iter_mut().take(count);
        if self.stride_bytes < K {
            places.enumerate().for_each(|(index, place)| *place = value(self.get(row + index)));
            return values;
        }
        for (place, bytes) in places.zip(bytes.chunks_exact(self.stride_bytes)) {
            *place = value(bytes.first_chunk().copied().unwrap_or([0; K]));
        }
        // The last value of a column has no whole stride.
        if let Some(last) = values[..count].last_mut() {
            *last = value(self.get(row + count - 1));
        }
        values
    }
}
