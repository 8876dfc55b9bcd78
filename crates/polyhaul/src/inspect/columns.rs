//! Summarizes the columns of a table: types, value counts and ranges.

use super::{Contents, Inventory};
use polyhaul_model::error::{Result, try_push, try_string};
use polyhaul_model::{Bounds, Column, Scalar, Table, Values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Summary of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// The name; empty if the file has none.
    pub name: String,
    /// The type of its values.
    pub scalar: Scalar,
    /// The number of values, not counting NaN.
    pub count: u64,
    /// The minimum and maximum values, ignoring NaN, or `None` if there are no other values.
    pub range: Option<[Number; 2]>,
}

/// A number of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A value of an integer type.
    Integer(i128),
    /// A value of a floating-point type.
    Float(f64),
}

impl Number {
    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// Summarizes tables of numbers; tables with x, y and z columns count as points.
pub(super) fn inventory(tables: &[Table], run: &RunOptions) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    for table in tables {
        let mut summaries = Vec::new();
        summaries.try_reserve_exact(table.columns.len())?;
        summaries.resize(table.columns.len(), None);
        let items = table.columns.iter().zip(summaries.iter_mut());
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            items,
            || (),
            |(), (column, summary)| {
                *summary = Some(summarize(column)?);
                Ok(())
            },
        )?;
        for summary in summaries.into_iter().flatten() {
            try_push(&mut inventory.columns, summary, "columns")?;
        }
        inventory.rows += table.row_count as u64;
    }
    (inventory.contents, inventory.bounds) = points(&inventory);
    Ok(inventory)
}

/// Counts positions, normals and colors by column names, and computes the bounds of positions.
fn points(inventory: &Inventory) -> (Contents, Option<Bounds<f64>>) {
    let find = |name: &str| inventory.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    let ranges_of = |names: [&str; 3]| {
        let columns = names.map(find);
        columns.iter().all(Option::is_some).then(|| columns.map(|column| column.and_then(|column| column.range)))
    };
    let Some(ranges) = ranges_of(["x", "y", "z"]) else { return (Contents::default(), None) };
    let count = |names: [[&str; 3]; 2]| {
        if names.into_iter().any(|names| ranges_of(names).is_some()) { inventory.rows } else { 0 }
    };
    let contents = Contents {
        positions: inventory.rows,
        normals: count([["nx", "ny", "nz"]; 2]),
        colors: count([["red", "green", "blue"], ["r", "g", "b"]]),
        ..Contents::default()
    };
    let ends = |end: usize| ranges.map(|range| range.map_or(f64::NAN, |range| range[end].as_f64()));
    let bounds = Bounds { min: ends(0), max: ends(1) };
    let is_whole = bounds.min.iter().chain(&bounds.max).all(|value| value.is_finite());
    (contents, is_whole.then_some(bounds))
}

fn summarize(column: &Column) -> Result<ColumnSummary> {
    let (count, range) = match &column.values {
        Values::I8(values) => integers(values),
        Values::U8(values) => integers(values),
        Values::I16(values) => integers(values),
        Values::U16(values) => integers(values),
        Values::I32(values) => integers(values),
        Values::U32(values) => integers(values),
        Values::I64(values) => integers(values),
        Values::U64(values) => integers(values),
        Values::F32(values) => floats(values),
        Values::F64(values) => floats(values),
    };
    Ok(ColumnSummary { name: try_string(&column.name)?, scalar: column.values.scalar(), count, range })
}

fn integers<T: Copy + Ord + Into<i128>>(values: &[T]) -> (u64, Option<[Number; 2]>) {
    let ends = values.iter().min().zip(values.iter().max());
    let number = |&value: &T| Number::Integer(value.into());
    (values.len() as u64, ends.map(|(min, max)| [number(min), number(max)]))
}

fn floats<T: Copy + Into<f64>>(values: &[T]) -> (u64, Option<[Number; 2]>) {
    let mut count = 0;
    let mut min = f64::INFINITY;
    let mut max = f64::NEG_INFINITY;
    for value in values.iter().map(|&value| value.into()).filter(|value: &f64| !value.is_nan()) {
        count += 1;
        min = min.min(value);
        max = max.max(value);
    }
    (count, (count > 0).then_some([Number::Float(min), Number::Float(max)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::options::ReadOptions;

    fn inventory_of(text: &str) -> Inventory {
        let mut options = ReadOptions::default();
        options.table.missing = polyhaul_model::options::MissingValue::Nan;
        super::super::info(Input::Memory(text.into(), "a.csv".into()), &options).unwrap().0
    }

    #[test]
    fn columns_have_types_counts_and_ends() {
        let inventory = inventory_of("id,weight\n7,0.5\n-3,\n9223372036854775807,-inf\n");
        let [id, weight] = &inventory.columns[..] else { panic!("{inventory:?}") };
        assert_eq!((id.scalar, id.count, inventory.rows), (Scalar::I64, 3, 3));
        assert_eq!(id.range, Some([Number::Integer(-3), Number::Integer(i64::MAX.into())]));
        assert_eq!((weight.scalar, weight.count), (Scalar::F64, 2));
        assert_eq!(weight.range, Some([Number::Float(f64::NEG_INFINITY), Number::Float(0.5)]));
        assert_eq!((inventory.contents, inventory.bounds), (Contents::default(), None));
    }

    #[test]
    fn points_are_told_by_names() {
        let inventory = inventory_of("X,Y,Z,r,g,b\n0,-1,2,0,0,255\n4,5,6.5,1,2,3\n");
        assert_eq!((inventory.contents.positions, inventory.contents.colors, inventory.contents.normals), (2, 2, 0));
        assert_eq!(inventory.bounds, Some(Bounds { min: [0.0, -1.0, 2.0], max: [4.0, 5.0, 6.5] }));
        assert_eq!(inventory_of("x,y,z\n").bounds, None);
    }
}
