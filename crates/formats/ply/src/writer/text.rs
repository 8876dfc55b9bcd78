//! Formats binary rows as lines of text.
//!
//! Rows arrive as little-endian bytes, a block at a time, from the same fields as for binary files. Only this module
//! formats numbers as text.

use super::fields::BLOCK;
use polyhaul_model::Scalar;
use polyhaul_model::error::Result;
use polyhaul_model::options::{Dialect, Digits};
use polyhaul_pipeline::out::Out;
use polyhaul_text::format::{FixedLine, IndexLine, NumberLines, Page, Real};

/// An entry of a row: a number, or a count and the numbers after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlyKind {
    pub(super) scalar: Scalar,
    /// Type of the count, for lists.
    pub(super) count: Option<Scalar>,
}

/// Format of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlyTextForm {
    pub(super) digits: Digits,
    pub(super) dialect: Dialect,
}

/// Appends a line for each of `count` rows, at most [`BLOCK`].
pub(super) fn lines(out: &mut Out, kinds: &[PlyKind], form: PlyTextForm, count: usize, rows: &[u8]) -> Result<()> {
    let PlyTextForm { digits, dialect } = form;
    match (kinds, digits) {
        ([PlyKind { scalar: Scalar::I32 | Scalar::U32, count: Some(Scalar::U8) }], _) => faces(out, kinds, count, rows),
        (_, Digits::Fixed(digits)) if kinds.iter().all(|kind| *kind == FLOAT) => {
            floats(out, kinds.len(), digits.into(), rows)?;
            // Rows with too many columns, or none, are formatted value by value.
            if matches!(kinds.len(), 1..=MAX_COLUMNS) {
                Ok(())
            } else {
                each(out, kinds, Digits::Fixed(digits), count, rows)
            }
        }
        (_, Digits::Shortest) if holds(kinds, Scalar::F32) => numbers(out, kinds, dialect, rows, single),
        (_, Digits::Shortest) if holds(kinds, Scalar::F64) => numbers(out, kinds, dialect, rows, double),
        _ => each(out, kinds, digits, count, rows),
    }
}

/// Returns whether rows consist of values of type `float`, at least one, and integers that this type represents
/// exactly. All of them can be formatted as floats, because integers have the same text as floats.
fn holds(kinds: &[PlyKind], float: Scalar) -> bool {
    let is_held = |kind: &PlyKind| match kind.scalar {
        _ if kind.count.is_some() => false,
        Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 => true,
        Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64 => float == Scalar::F64,
        scalar => scalar == float,
    };
    kinds.iter().all(is_held) && kinds.iter().any(|kind| kind.scalar == float)
}

fn single(scalar: Scalar, rest: &mut &[u8]) -> f32 {
    match scalar {
        Scalar::I8 => i8::from_le_bytes(take(rest)).into(),
        Scalar::U8 => u8::from_le_bytes(take(rest)).into(),
        Scalar::I16 => i16::from_le_bytes(take(rest)).into(),
        Scalar::U16 => u16::from_le_bytes(take(rest)).into(),
        _ => f32::from_le_bytes(take(rest)),
    }
}

fn double(scalar: Scalar, rest: &mut &[u8]) -> f64 {
    match scalar {
        Scalar::F64 => f64::from_le_bytes(take(rest)),
        Scalar::I32 | Scalar::I64 => i32::from_le_bytes(take(rest)).into(),
        Scalar::U32 | Scalar::U64 => u32::from_le_bytes(take(rest)).into(),
        _ => single(scalar, rest).into(),
    }
}

/// Formats rows of numbers with shortest digits.
fn numbers<R: Real + Default>(
    out: &mut Out,
    kinds: &[PlyKind],
    dialect: Dialect,
    mut rows: &[u8],
    number: fn(Scalar, &mut &[u8]) -> R,
) -> Result<()> {
    let lines = NumberLines::new(kinds.len(), b' ', [b"\n"]).python(dialect == Dialect::Blender);
    let mut tile = [R::default(); TILE];
    let mut place = 0;
    let mut scalars = kinds.iter().map(|kind| kind.scalar).cycle();
    while !rows.is_empty() {
        let mut count = 0;
        for (value, scalar) in tile.iter_mut().zip(&mut scalars) {
            *value = number(scalar, &mut rows);
            count += 1;
            if rows.is_empty() {
                break;
            }
        }
        let mut written = 0;
        out.format(|page| {
            written += page.shortest_lines(&lines, place + written, &tile[written..count]);
            written == count
        })?;
        place += count;
    }
    Ok(())
}

/// Numbers per batch.
const TILE: usize = 512;

const FLOAT: PlyKind = PlyKind { scalar: Scalar::F32, count: None };

/// Maximum number of columns that are formatted row by row in one step.
const MAX_COLUMNS: usize = 12;

/// Consumes the first `N` bytes.
#[inline(always)]
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    match rest.split_first_chunk::<N>() {
        Some((first, others)) => {
            *rest = others;
            *first
        }
        None => [0; N],
    }
}

/// Formats rows value by value.
fn each(out: &mut Out, kinds: &[PlyKind], digits: Digits, count: usize, mut rest: &[u8]) -> Result<()> {
    let mut left = count;
    out.format(|page| {
        while left > 0 {
            let mut row = rest;
            if !page.whole(|page| line(page, kinds, digits, &mut row)) {
                return false;
            }
            rest = row;
            left -= 1;
        }
        true
    })
}

fn line(page: &mut Page<'_>, kinds: &[PlyKind], digits: Digits, rest: &mut &[u8]) {
    for (place, kind) in kinds.iter().enumerate() {
        if place > 0 {
            page.byte(b' ');
        }
        let Some(count) = kind.count else {
            number(page, kind.scalar, digits, rest);
            continue;
        };
        let count = match count {
            Scalar::U8 => u32::from(take::<1>(rest)[0]),
            Scalar::U16 => u32::from(u16::from_le_bytes(take(rest))),
            _ => u32::from_le_bytes(take(rest)),
        };
        page.u32(count);
        for _ in 0..count {
            page.byte(b' ');
            number(page, kind.scalar, digits, rest);
            if page.overflowed() {
                return;
            }
        }
    }
    page.byte(b'\n');
}

#[inline]
fn number(page: &mut Page<'_>, scalar: Scalar, digits: Digits, rest: &mut &[u8]) {
    match scalar {
        Scalar::I8 => page.i32(i8::from_le_bytes(take(rest)).into()),
        Scalar::U8 => page.u32(u8::from_le_bytes(take(rest)).into()),
        Scalar::I16 => page.i32(i16::from_le_bytes(take(rest)).into()),
        Scalar::U16 => page.u32(u16::from_le_bytes(take(rest)).into()),
        Scalar::I32 | Scalar::I64 => page.i32(i32::from_le_bytes(take(rest))),
        Scalar::U32 | Scalar::U64 => page.u32(u32::from_le_bytes(take(rest))),
        Scalar::F32 => match digits {
            Digits::Fixed(digits) => page.fixed_f32(f32::from_le_bytes(take(rest)), digits.into()),
            Digits::Shortest => page.shortest_f32(f32::from_le_bytes(take(rest))),
        },
        Scalar::F64 => match digits {
            Digits::Fixed(digits) => page.fixed_f64(f64::from_le_bytes(take(rest)), digits.into()),
            Digits::Shortest => page.shortest_f64(f64::from_le_bytes(take(rest))),
        },
    }
}

/// Formats rows that consist of floats.
fn floats(out: &mut Out, columns: usize, digits: usize, rows: &[u8]) -> Result<()> {
    macro_rules! by_columns {
        ($($count:literal)+) => {
            match columns {
                $($count => rows_of_floats::<$count>(out, digits, rows),)+
                _ => Ok(()),
            }
        };
    }
    by_columns!(1 2 3 4 5 6 7 8 9 10 11 12)
}

fn rows_of_floats<const N: usize>(out: &mut Out, digits: usize, rows: &[u8]) -> Result<()> {
    const { assert!(N <= MAX_COLUMNS) };
    let mut values = [[0.0; N]; BLOCK];
    let line = FixedLine::new(b"", digits);
    let (numbers, _) = rows.as_chunks::<4>();
    let count = numbers.len() / N;
    for (place, number) in values.as_flattened_mut().iter_mut().zip(numbers) {
        *place = f32::from_le_bytes(*number);
    }
    let mut rest = values.get(..count).unwrap_or_default();
    out.format(|page| {
        let written = page.fixed_lines(&line, rest);
        rest = &rest[written..];
        rest.is_empty()
    })
}

/// Formats rows that consist of one index list with an 8-bit count.
fn faces(out: &mut Out, kinds: &[PlyKind], count: usize, rows: &[u8]) -> Result<()> {
    let three = IndexLine::new(b"3");
    let four = IndexLine::new(b"4");
    let mut left = count;
    let mut rest = rows;
    out.format(|page| {
        while left > 0 {
            let corners = rest.get(1..).unwrap_or_default();
            let index = |bytes: &[u8; 4]| [u32::from_le_bytes(*bytes)];
            let mut row = rest;
            let fits = match rest.first() {
                // Indices below 2^31 are the same with and without a sign.
                Some(3) if kinds[0].scalar == Scalar::U32 || is_positive::<3>(corners) => {
                    row = rest.get(13..).unwrap_or_default();
                    page.whole(|page| page.index_line(&three, corners.as_chunks().0.iter().take(3).map(index)))
                }
                Some(4) if kinds[0].scalar == Scalar::U32 || is_positive::<4>(corners) => {
                    row = rest.get(17..).unwrap_or_default();
                    page.whole(|page| page.index_line(&four, corners.as_chunks().0.iter().take(4).map(index)))
                }
                _ => page.whole(|page| line(page, kinds, Digits::Shortest, &mut row)),
            };
            if !fits {
                return false;
            }
            rest = row;
            left -= 1;
        }
        true
    })
}

/// Returns whether the first `N` numbers are below 2^31.
fn is_positive<const N: usize>(numbers: &[u8]) -> bool {
    numbers.as_chunks::<4>().0.iter().take(N).all(|bytes| bytes[3] < 128)
}
