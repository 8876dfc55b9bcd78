//! Tables column by column.

use super::{Differences, Gap};
use crate::error::Result;
use crate::formats::names;
use crate::model::{Column, Table, Values};

/// Compares the columns of two tables, by name; by place where either has no names.
pub(super) fn compare([a, b]: [&Table; 2], found: &mut Differences) -> Result<()> {
    found.counts("rows", [a.row_count as u64, b.row_count as u64]);
    let is_named = |table: &Table| table.columns.iter().any(|column| !column.name.is_empty());
    if !(is_named(a) && is_named(b)) {
        if is_named(a) != is_named(b) {
            let (named, side) = if is_named(a) { (a, "first") } else { (b, "second") };
            let count = named.columns.len() as u64;
            found.only("column names", count, &format!("columns have names only in the {side} file"));
        }
        found.counts("columns", [a.columns.len() as u64, b.columns.len() as u64]);
        for (a, b) in a.columns.iter().zip(&b.columns) {
            column([a, b], found);
        }
        return Ok(());
    }
    let has = |table: &Table, name: &str| table.columns.iter().any(|column| column.name == name);
    for (one, other) in [(a, b), (b, a)] {
        let missing = one.columns.iter().filter(|column| !has(other, &column.name));
        let missing: Vec<_> = missing.map(|column| names::shown(&column.name).into_owned()).collect();
        if !missing.is_empty() {
            let first = if std::ptr::eq(one, a) { "first" } else { "second" };
            let list = missing.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
            found.only("columns", missing.len() as u64, &format!("only in the {first} file: {list}"));
        }
    }
    // Columns of one name are compared in order.
    for (place, own) in a.columns.iter().enumerate() {
        let number = a.columns[..place].iter().filter(|it| it.name == own.name).count();
        if let Some(other) = b.columns.iter().filter(|it| it.name == own.name).nth(number) {
            column([own, other], found);
        }
    }
    Ok(())
}

/// Compares the values of two columns of as many rows.
pub(super) fn column([a, b]: [&Column; 2], found: &mut Differences) {
    let lists = [a, b].map(|column| column.offsets.as_ref().map(|offsets| offsets.as_slice()));
    if lists[0] != lists[1] || a.values.len() != b.values.len() {
        let of = names::shown(&a.name).into_owned();
        if lists[0] != lists[1] {
            found.only("columns", 1, &format!("has lists of different lengths: `{of}`"));
        }
        return;
    }
    // Text of f32s has their shortest digits, which are another f64.
    let single = [a, b].iter().any(|column| matches!(column.values, Values::F32(_)));
    let mut gap = Gap::default();
    for row in 0..a.values.len() {
        match (whole(&a.values, row), whole(&b.values, row)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                // The difference of two large integers is exact, and so is whether they differ.
                gap.compare((a - b) as f64, 0.0, found.tolerance, || format!("row {row}"));
            }
            _ => gap.compare(number(&a.values, row, single), number(&b.values, row, single), found.tolerance, || {
                format!("row {row}")
            }),
        }
    }
    found.gap("columns", &a.name, gap);
}

/// A value as an integer, where the column has integers.
fn whole(values: &Values, row: usize) -> Option<i128> {
    Some(match values {
        Values::I8(values) => values[row].into(),
        Values::U8(values) => values[row].into(),
        Values::I16(values) => values[row].into(),
        Values::U16(values) => values[row].into(),
        Values::I32(values) => values[row].into(),
        Values::U32(values) => values[row].into(),
        Values::I64(values) => values[row].into(),
        Values::U64(values) => values[row].into(),
        Values::F32(_) | Values::F64(_) => return None,
    })
}

/// A value as a float, rounded to an f32 for `single`.
fn number(values: &Values, row: usize, single: bool) -> f64 {
    let value = match values {
        Values::F32(values) => f64::from(values[row]),
        Values::F64(values) => values[row],
        values => whole(values, row).unwrap_or(0) as f64,
    };
    if single { f64::from(value as f32) } else { value }
}
