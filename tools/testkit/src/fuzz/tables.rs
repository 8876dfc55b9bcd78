//! Properties of any bytes read as a table.

use super::no_fault;
use super::trial::{Effort, RETURN_SHARE, Trial};
use crate::output::Shared;
use polyhaul::model::{Scalar, Table};
use polyhaul::options::{ColumnTypes, MissingValue, TableHeader, TableReadOptions, TableWriteOptions};
use polyhaul::{Format, Input, Loaded, Output, Reader, Tables, Writer};

/// Reads bytes as a NumPy array if they have its signature, otherwise as a text table; all ways of reading must agree,
/// and the table must survive a round trip.
pub fn table(data: &[u8], effort: Effort) {
    const NAMES: [&str; 5] = ["x.csv", "x.tsv", "x.txt", "x.xyz", "x.pts"];
    let is_array = data.starts_with(b"\x93NUM");
    let mut trial = Trial::new(data, "x.npy", effort);
    if !is_array {
        trial.rename(NAMES);
    }
    let mut options = trial.options();
    let random = &mut trial.random;
    options.limits.columns = 1 + random.below(200) as u64;
    options.table.missing = *random.pick(&[MissingValue::Error, MissingValue::Nan, MissingValue::Value(-1.5)]);
    options.table.header = *random.pick(&[TableHeader::Auto, TableHeader::Absent, TableHeader::Present]);
    options.table.skip_lines = random.below(3) as u64;
    options.table.max_rows = random.once_in(4).then(|| random.below(9) as u64);
    if random.once_in(3) && !is_array {
        options.table.types = ColumnTypes::All(*random.pick(&[Scalar::F32, Scalar::F64, Scalar::U8, Scalar::I64]));
    }
    match trial.read(&options, |input, options| Reader::new(input()).options(options).tables(), table_outcome) {
        Ok(loaded) if trial.draws(RETURN_SHARE) => table_comes_back(&trial, &loaded.value.tables[0]),
        Ok(_) => {}
        Err(error) => no_fault(&error),
    }
}

/// Prints the result of reading tables, since NaN does not equal itself.
fn table_outcome(result: &polyhaul::Result<Loaded<Tables>>) -> String {
    match result {
        Ok(loaded) => format!("{:?} {:?} {:?}", loaded.value.tables, loaded.value.comments, loaded.report.warnings),
        Err(error) => format!("{error:?} {:?}", error.diagnostic()),
    }
}

/// Checks that the values of a table with columns and rows survive a round trip; names are not written.
fn table_comes_back(trial: &Trial<'_>, table: &Table) {
    let types = table.columns.iter().map(|column| Some(column.values.scalar())).collect();
    let bare = TableReadOptions::default().with_header(TableHeader::Absent).with_types(ColumnTypes::Each(types));
    if table.columns.is_empty() || table.row_count == 0 {
        return;
    }
    for (format, name) in [(Format::Csv, "x.csv"), (Format::Txt, "x.txt")] {
        let shared = Shared::default();
        let style = TableWriteOptions::default().with_out_header(TableHeader::Absent);
        let options = trial.write_options().with_format(Some(format)).with_table(style);
        let output = Output::Writer(Box::new(shared.clone()), name.into());
        Writer::new(output)
            .options(&options)
            .tables(std::slice::from_ref(table))
            .expect("a table that was read is written");
        let options = trial.plain_options().with_table(bare.clone());
        let back = Reader::new(Input::Memory(shared.take(), name.into()))
            .options(&options)
            .tables()
            .expect("what is written is read");
        for (column, original) in back.value.tables[0].columns.iter().zip(&table.columns) {
            assert_eq!(format!("{:?}", column.values), format!("{:?}", original.values));
        }
    }
}
