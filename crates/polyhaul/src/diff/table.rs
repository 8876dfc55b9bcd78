//! Compares tables column by column.

use super::{Differences, Gap};
use crate::table_fit::KNOWN;
use polyhaul_fault::planted;
use polyhaul_model::error::Result;
use polyhaul_model::names;
use polyhaul_model::{Column, Table, Values};
use std::borrow::Cow;
use std::collections::HashMap;

/// Compares the columns of two tables by name, ignoring letter case, or by index if a column has no name.
pub(super) fn compare([a, b]: [&Table; 2], differences: &mut Differences) -> Result<()> {
    differences.counts("rows", [a.row_count as u64, b.row_count as u64]);
    let pairs = pairs([&a.columns, &b.columns]);
    let renamed = pairs.iter().filter(|[first, second]| is_renamed(&a.columns[*first].name, &b.columns[*second].name));
    match renamed.count() as u64 {
        0 => {}
        count => differences.only("column names", count, "in different letter case"),
    }
    let mut names = [0, 0];
    let mut matched = [vec![false; a.columns.len()], vec![false; b.columns.len()]];
    for &[first, second] in &pairs {
        matched[0][first] = true;
        matched[1][second] = true;
        names[0] += u64::from(is_named(first, [&a.columns[first], &b.columns[second]]));
        names[1] += u64::from(is_named(second, [&b.columns[second], &a.columns[first]]));
    }
    for ((table, matched), (count, side)) in
        [a, b].into_iter().zip(matched).zip(names.into_iter().zip(["first", "second"]))
    {
        if count > 0 {
            differences.only("column names", count, &format!("named only in the {side} file"));
        }
        let missing: Vec<_> = (0..)
            .zip(&table.columns)
            .filter(|(place, _)| !matched[*place])
            .map(|(place, column)| title(place, column))
            .collect();
        if !missing.is_empty() {
            let list = missing.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
            differences.only("columns", missing.len() as u64, &format!("only in the {side} file: {list}"));
        }
    }
    pairs
        .into_iter()
        .skip(planted("diff-column").into())
        .for_each(|[first, second]| column([&a.columns[first], &b.columns[second]], differences));
    Ok(())
}

/// Whether the first column has a name, but not the second. Fields of numpy have names in any case: by default, `f` and
/// their index.
fn is_named(place: usize, [first, second]: [&Column; 2]) -> bool {
    !first.name.is_empty() && second.name.is_empty() && first.name != format!("f{place}")
}

/// Whether two names of a column differ, except that conversions to PLY make some names lowercase.
fn is_renamed(first: &str, second: &str) -> bool {
    let is_known = KNOWN.iter().any(|name| name.eq_ignore_ascii_case(first));
    !first.is_empty() && !second.is_empty() && first != second && !is_known
}

/// Pairs columns with equal names, in order, then columns whose names differ only in letter case (`X` and `x`), then
/// columns without a name with the column at the same index.
fn pairs([a, b]: [&[Column]; 2]) -> Vec<[usize; 2]> {
    let mut partners = vec![None; a.len()];
    let mut is_taken = vec![false; b.len()];
    pair_names([a, b], |name| name.into(), &mut partners, &mut is_taken);
    pair_names([a, b], |name| name.to_ascii_lowercase().into(), &mut partners, &mut is_taken);
    for (place, partner) in partners.iter_mut().enumerate().take(b.len()) {
        let is_nameless = a[place].name.is_empty() || b[place].name.is_empty();
        if partner.is_none() && !is_taken[place] && is_nameless {
            *partner = Some(place);
        }
    }
    partners.into_iter().enumerate().filter_map(|(first, second)| Some([first, second?])).collect()
}

/// Pairs the remaining columns whose names have equal keys.
fn pair_names<'a>(
    [a, b]: [&'a [Column]; 2],
    key: impl Fn(&'a str) -> Cow<'a, str>,
    partners: &mut [Option<usize>],
    is_taken: &mut [bool],
) {
    let mut by_name: HashMap<Cow<'a, str>, Vec<usize>> = HashMap::new();
    // In reverse, because `pop` takes the last.
    for (place, column) in b.iter().enumerate().rev() {
        if !column.name.is_empty() && !is_taken[place] {
            by_name.entry(key(&column.name)).or_default().push(place);
        }
    }
    for (column, partner) in a.iter().zip(partners) {
        if partner.is_none() {
            *partner = by_name.get_mut(&key(&column.name)).and_then(Vec::pop);
            partner.iter().for_each(|&place| is_taken[place] = true);
        }
    }
}

/// Name of a column in messages.
fn title(place: usize, column: &Column) -> String {
    match &*column.name {
        "" => format!("column {}", place + 1),
        name => names::shown(name).into_owned(),
    }
}

/// Compares the values of two columns, unless they have different numbers of values or lists of different lengths.
pub(super) fn column([a, b]: [&Column; 2], differences: &mut Differences) {
    let lists = [a, b].map(|column| column.offsets.as_ref().map(|offsets| offsets.as_slice()));
    if lists[0] != lists[1] || a.values.len() != b.values.len() {
        let of = names::shown(&a.name).into_owned();
        if lists[0] != lists[1] {
            differences.only("columns", 1, &format!("has lists of different lengths: `{of}`"));
        }
        return;
    }
    // Text files store an f32 as its shortest decimals, which parse to a different f64.
    let single = [a, b].iter().any(|column| matches!(column.values, Values::F32(_)));
    let mut gap = Gap::default();
    for row in 0..a.values.len() {
        match (whole(&a.values, row), whole(&b.values, row)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                // Compare the exact integer difference: conversion to f64 could make large integers equal.
                gap.compare((a - b) as f64, 0.0, differences.tolerance, || format!("row {row}"));
            }
            _ => gap.compare(
                number(&a.values, row, single),
                number(&b.values, row, single),
                differences.tolerance,
                || format!("row {row}"),
            ),
        }
    }
    differences.gap("columns", &names::shown(&a.name), gap);
}

/// A value as an integer, or `None` for floating-point columns.
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

/// A value as a float, rounded to f32 if `single`.
fn number(values: &Values, row: usize, single: bool) -> f64 {
    let value = match values {
        Values::F32(values) => f64::from(values[row]),
        Values::F64(values) => values[row],
        values => whole(values, row).unwrap_or(0) as f64,
    };
    if single { f64::from(value as f32) } else { value }
}
