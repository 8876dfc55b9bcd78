//! Inner loops that copy, byte-swap or convert numbers from rows to arrays.
//!
//! A loop moves one number, or a few adjacent ones, from many rows to one array. [`super::sink`] decides where each
//! number goes; nothing here accesses more than the numbers it moves.

use polyhaul_model::Scalar;

/// Operation on the numbers being moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PlyOp {
    /// Copies this many bytes unchanged.
    Copy(usize),
    /// Byte-swaps `count` numbers of `width` bytes each.
    Swap { width: usize, count: usize },
    /// Converts one number to 4 bytes. If `swap`, swaps its bytes first.
    Convert { from: Scalar, to: PlyScatterTarget, swap: bool },
    /// Reads nothing, and writes these 4 bytes.
    Fill(f32),
}

/// Target type of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyScatterTarget {
    /// Nearest f32.
    Float,
    /// f32 with `u8` and `u16` scaled so that their maximum is 1; other types are converted as for `Float`.
    Unit,
    /// u32 index: -1 becomes `u32::MAX`; any other value that does not fit becomes `u32::MAX - 1`.
    Index,
}

impl PlyOp {
    /// Returns the operation that stores a number of type `from` unconverted.
    pub(super) fn same(from: Scalar, swap: bool) -> PlyOp {
        match from.bytes() {
            width if swap && width > 1 => PlyOp::Swap { width, count: 1 },
            width => PlyOp::Copy(width),
        }
    }

    /// Returns the operation that converts a number of type `from` to `to`.
    pub(super) fn to(to: PlyScatterTarget, from: Scalar, swap: bool) -> PlyOp {
        match (to, from) {
            // In two's complement, -1 already has this value.
            (PlyScatterTarget::Index, Scalar::I32 | Scalar::U32)
            | (PlyScatterTarget::Float | PlyScatterTarget::Unit, Scalar::F32) => PlyOp::same(from, swap),
            _ => PlyOp::Convert { from, to, swap },
        }
    }

    /// Number of bytes read from a row.
    pub(super) fn source_bytes(self) -> usize {
        match self {
            PlyOp::Copy(bytes) => bytes,
            PlyOp::Swap { width, count } => width * count,
            PlyOp::Convert { from, .. } => from.bytes(),
            PlyOp::Fill(_) => 0,
        }
    }

    /// Returns the operation for `count` adjacent numbers, if a single operation can move them.
    pub(super) fn times(self, count: usize) -> Option<PlyOp> {
        match self {
            PlyOp::Copy(bytes) => bytes.checked_mul(count).map(PlyOp::Copy),
            PlyOp::Swap { width, count: own } => Some(PlyOp::Swap { width, count: own.checked_mul(count)? }),
            _ if count == 1 => Some(self),
            _ => None,
        }
    }

    /// Number of bytes written.
    pub(super) fn target_bytes(self) -> usize {
        match self {
            PlyOp::Copy(_) | PlyOp::Swap { .. } => self.source_bytes(),
            _ => 4,
        }
    }

    /// Merges this with the operation for the next numbers, if a single operation can do both.
    pub(super) fn joined(self, next: PlyOp) -> Option<PlyOp> {
        match (self, next) {
            (PlyOp::Copy(a), PlyOp::Copy(b)) => Some(PlyOp::Copy(a + b)),
            (PlyOp::Swap { width, count }, PlyOp::Swap { width: other, count: more }) if width == other => {
                Some(PlyOp::Swap { width, count: count + more })
            }
            _ => None,
        }
    }
}

/// The starts of rows.
pub(super) trait Starts: Copy {
    /// Returns the start of row `row`.
    ///
    /// # Safety
    /// There is a row `row`.
    unsafe fn row(self, row: usize) -> usize;
}

/// Rows of one size.
#[derive(Clone, Copy)]
pub(super) struct Even {
    pub(super) first: usize,
    pub(super) step: usize,
}

/// Rows at arbitrary starts.
#[derive(Clone, Copy)]
pub(super) struct PlyListed<'a>(pub(super) &'a [u32]);

impl Starts for Even {
    #[inline(always)]
    unsafe fn row(self, row: usize) -> usize {
        self.first + row * self.step
    }
}

impl Starts for PlyListed<'_> {
    #[inline(always)]
    unsafe fn row(self, row: usize) -> usize {
        // SAFETY: there is a row `row`, by this function's contract, and the slice has an element for each.
        unsafe { *self.0.get_unchecked(row) as usize }
    }
}

/// Source of numbers.
#[derive(Clone, Copy)]
pub(super) struct From<S> {
    pub(super) bytes: *const u8,
    pub(super) starts: S,
    /// Offset of the number in its row.
    pub(super) at: usize,
    pub(super) rows: usize,
}

/// Destination: items `step` bytes apart.
#[derive(Clone, Copy)]
pub(super) struct PlyTo {
    pub(super) bytes: *mut u8,
    pub(super) step: usize,
}

/// Moves one number per row. Returns whether any was rounded.
///
/// # Safety
/// - For each row, `op.source_bytes()` bytes are readable, starting `from.at` bytes after the start of the row.
/// - For each row, `op.target_bytes()` bytes are writable at its item, and no other thread uses them.
pub(super) unsafe fn run<S: Starts>(op: PlyOp, from: From<S>, to: PlyTo) -> bool {
    // SAFETY: each arm reads `source_bytes` and writes `target_bytes` of its operation once per row, by this function's
    // contract.
    unsafe {
        match op {
            PlyOp::Copy(1) => each::<1, 1, S>(from, to, |bytes| bytes),
            PlyOp::Copy(2) => each::<2, 2, S>(from, to, |bytes| bytes),
            PlyOp::Copy(4) => each::<4, 4, S>(from, to, |bytes| bytes),
            PlyOp::Copy(8) => each::<8, 8, S>(from, to, |bytes| bytes),
            PlyOp::Copy(12) => each::<12, 12, S>(from, to, |bytes| bytes),
            PlyOp::Copy(16) => each::<16, 16, S>(from, to, |bytes| bytes),
            PlyOp::Swap { width: 2, count: 1 } => each::<2, 2, S>(from, to, reversed),
            PlyOp::Swap { width: 8, count: 1 } => each::<8, 8, S>(from, to, reversed),
            PlyOp::Swap { width: 4, count: 1 } => each::<4, 4, S>(from, to, reversed),
            PlyOp::Swap { width: 4, count: 2 } => each::<8, 8, S>(from, to, words_reversed),
            PlyOp::Swap { width: 4, count: 3 } => each::<12, 12, S>(from, to, words_reversed),
            PlyOp::Swap { width: 4, count: 4 } => each::<16, 16, S>(from, to, words_reversed),
            PlyOp::Convert { from: scalar, to: PlyScatterTarget::Float, swap } => {
                return floats(scalar, swap, from, to);
            }
            PlyOp::Convert { from: scalar, to: PlyScatterTarget::Unit, swap } => return units(scalar, swap, from, to),
            PlyOp::Convert { from: scalar, to: PlyScatterTarget::Index, swap } => indices(scalar, swap, from, to),
            PlyOp::Fill(value) => each::<0, 4, S>(from, to, |_| value.to_ne_bytes()),
            PlyOp::Copy(_) | PlyOp::Swap { .. } => {
                for row in 0..from.rows {
                    let source = from.bytes.add(from.starts.row(row) + from.at);
                    items(op, source, 1, to.bytes.add(row * to.step));
                }
            }
        }
    }
    false
}

/// Moves `count` adjacent numbers, or groups of them, of a list. Returns whether any was rounded.
///
/// # Safety
/// `count * op.source_bytes()` bytes are readable at `source`, and `count * op.target_bytes()` are writable at
/// `target`. The two ranges do not overlap, and no other thread uses the target.
#[inline]
pub(super) unsafe fn items(op: PlyOp, source: *const u8, count: usize, target: *mut u8) -> bool {
    // SAFETY: a copy and a swap read and write the same number of bytes, `source_bytes` for each of `count` items; for
    // `run`, each item is a row. An array of bytes has an alignment of 1.
    unsafe {
        match op {
            PlyOp::Copy(4) => {
                // Lists are short: a call to `memcpy` would take longer than the loop.
                for item in 0..count {
                    target.cast::<[u8; 4]>().add(item).write(source.cast::<[u8; 4]>().add(item).read());
                }
            }
            PlyOp::Copy(bytes) => std::ptr::copy_nonoverlapping(source, target, bytes * count),
            PlyOp::Swap { width, count: own } => {
                for item in 0..count * own {
                    for byte in 0..width {
                        *target.add(item * width + byte) = *source.add((item + 1) * width - 1 - byte);
                    }
                }
            }
            _ => {
                let starts = Even { first: 0, step: op.source_bytes() };
                let to = PlyTo { bytes: target, step: op.target_bytes() };
                return run(op, From { bytes: source, starts, at: 0, rows: count }, to);
            }
        }
    }
    false
}

/// # Safety
/// As for [`run`], with `N` bytes to read and `M` bytes to write for each row.
#[inline(always)]
unsafe fn each<const N: usize, const M: usize, S: Starts>(
    from: From<S>,
    to: PlyTo,
    mut convert: impl FnMut([u8; N]) -> [u8; M],
) {
    for row in 0..from.rows {
        // SAFETY: `N` bytes are readable at the row's number, and `M` bytes are writable at its item, by this
        // function's contract. An array of bytes has an alignment of 1.
        unsafe {
            let bytes = from.bytes.add(from.starts.row(row) + from.at).cast::<[u8; N]>().read();
            to.bytes.add(row * to.step).cast::<[u8; M]>().write(convert(bytes));
        }
    }
}

#[inline(always)]
fn reversed<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    bytes.reverse();
    bytes
}

#[inline(always)]
fn words_reversed<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    for word in bytes.as_chunks_mut::<4>().0 {
        *word = u32::from_ne_bytes(*word).swap_bytes().to_ne_bytes();
    }
    bytes
}

/// Runs `each` with a conversion of the decoded numbers.
macro_rules! each_number {
    ($scalar:expr, $swap:expr, $from:expr, $to:expr, $number:ident => $convert:expr, [$($name:ident: $type:ty),+]) => {
        match $scalar {
            $(Scalar::$name => each::<{ size_of::<$type>() }, 4, S>($from, $to, |bytes| {
                let $number = <$type>::from_ne_bytes(if $swap { reversed(bytes) } else { bytes });
                ($convert).to_ne_bytes()
            }),)+
        }
    };
}

/// # Safety
/// As for [`run`], for a conversion of `scalar`.
unsafe fn floats<S: Starts>(scalar: Scalar, swap: bool, from: From<S>, to: PlyTo) -> bool {
    let mut rounded = false;
    // SAFETY: `each` reads the bytes of `scalar` and writes 4, as the conversion does.
    unsafe {
        each_number!(scalar, swap, from, to, number => {
            let float = number as f32;
            // NaN is unequal to itself, and stays NaN. An integer beyond 2^53 may already be rounded when it becomes an
            // f64: if the result is an f32, the loss goes unnoticed.
            rounded |= f64::from(float) != number as f64 && !float.is_nan();
            float
        }, [I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32, I64: i64, U64: u64, F32: f32, F64: f64]);
    }
    rounded
}

/// # Safety
/// As for [`run`], for a conversion of `scalar`.
unsafe fn units<S: Starts>(scalar: Scalar, swap: bool, from: From<S>, to: PlyTo) -> bool {
    // SAFETY: `each` reads the bytes of `scalar` and writes 4, as the conversion does.
    unsafe {
        match scalar {
            Scalar::U8 => each::<1, 4, S>(from, to, |[byte]| (f32::from(byte) / 255.0).to_ne_bytes()),
            Scalar::U16 => each::<2, 4, S>(from, to, |bytes| {
                let number = u16::from_ne_bytes(if swap { reversed(bytes) } else { bytes });
                (f32::from(number) / 65535.0).to_ne_bytes()
            }),
            _ => return floats(scalar, swap, from, to),
        }
    }
    false
}

/// # Safety
/// As for [`run`], for a conversion of `scalar`.
unsafe fn indices<S: Starts>(scalar: Scalar, swap: bool, from: From<S>, to: PlyTo) {
    // SAFETY: `each` reads the bytes of `scalar` and writes 4, as the conversion does.
    unsafe {
        each_number!(scalar, swap, from, to, number => {
            // Fractions are invalid as indices.
            let is_whole = number as i128 as f64 == number as f64;
            match number as i128 {
                -1 if is_whole => u32::MAX,
                index if is_whole => u32::try_from(index).unwrap_or(u32::MAX - 1),
                _ => u32::MAX - 1,
            }
        }, [I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32, I64: i64, U64: u64, F32: f32, F64: f64]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves one number of two rows of `step` bytes.
    fn moved(op: PlyOp, bytes: &[u8], at: usize, step: usize) -> (Vec<u8>, bool) {
        let size = op.target_bytes();
        let mut out = vec![0; 2 * size];
        let starts = [0, step as u32];
        let bytes = bytes.as_ptr();
        let to = PlyTo { bytes: out.as_mut_ptr(), step: size };
        // SAFETY: `bytes` has two rows of `step` bytes, and `to` two items.
        let rounded = unsafe { run(op, From { bytes, starts: Even { first: 0, step }, at, rows: 2 }, to) };
        let mut listed = vec![0; 2 * size];
        let to = PlyTo { bytes: listed.as_mut_ptr(), step: size };
        // SAFETY: as above.
        let again = unsafe { run(op, From { bytes, starts: PlyListed(&starts), at, rows: 2 }, to) };
        assert_eq!((&listed, again), (&out, rounded));
        (out, rounded)
    }

    #[test]
    fn bytes_are_copied_and_turned_around() {
        let rows: Vec<u8> = (0..42).collect();
        for size in 1..=20 {
            let want: Vec<u8> = (1..1 + size).chain(22..22 + size).collect();
            assert_eq!(moved(PlyOp::Copy(size.into()), &rows, 1, 21).0, want);
        }
        for (width, count) in [(2, 1), (4, 1), (4, 2), (4, 3), (4, 4), (4, 5), (8, 1), (8, 2), (2, 3)] {
            let row = |at: u8| -> Vec<u8> {
                let bytes: Vec<u8> = (at..at + width * count).collect();
                bytes.chunks(width.into()).flat_map(|number| number.iter().rev().copied()).collect()
            };
            let op = PlyOp::Swap { width: width.into(), count: count.into() };
            assert_eq!(moved(op, &rows, 1, 21).0, [row(1), row(22)].concat());
        }
    }

    #[test]
    fn numbers_are_converted() {
        let floats = |op, bytes: &[u8], step| {
            let (out, rounded) = moved(op, bytes, 0, step);
            let read = |at: usize| f32::from_ne_bytes(out[at..at + 4].try_into().unwrap());
            ([read(0), read(4)], rounded)
        };
        let convert = |from, to, swap| PlyOp::Convert { from, to, swap };
        assert_eq!(floats(convert(Scalar::U8, PlyScatterTarget::Unit, false), &[255, 51], 1), ([1.0, 0.2], false));
        assert_eq!(floats(convert(Scalar::U8, PlyScatterTarget::Float, false), &[255, 51], 1), ([255.0, 51.0], false));
        let bytes = [1e300f64.to_be_bytes(), 0.5f64.to_be_bytes()].concat();
        let swap = cfg!(target_endian = "little");
        assert_eq!(
            floats(convert(Scalar::F64, PlyScatterTarget::Float, swap), &bytes, 8),
            ([f32::INFINITY, 0.5], true)
        );
        assert_eq!(floats(PlyOp::Fill(1.0), &[], 0), ([1.0, 1.0], false));
        let indices = |from, bytes: &[u8], step| {
            let out = moved(convert(from, PlyScatterTarget::Index, false), bytes, 0, step).0;
            [0, 4].map(|at| u32::from_ne_bytes(out[at..at + 4].try_into().unwrap()))
        };
        assert_eq!(indices(Scalar::I8, &[255, 254], 1), [u32::MAX, u32::MAX - 1]);
        let bytes = [5u64.to_ne_bytes(), (1u64 << 32).to_ne_bytes()].concat();
        assert_eq!(indices(Scalar::U64, &bytes, 8), [5, u32::MAX - 1]);
    }
}
