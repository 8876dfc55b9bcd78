//! Reads from memory and from hostile readers, and formats results as text.

pub use crate::support::read_options as options;
use polyhaul::model::{Column, Scene, Table};
use polyhaul::{Error, Input, Loaded, ReadOptions, Reader, Result};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;
use std::fmt::Debug;

pub const NAME: &str = "x.ply";

pub fn memory(bytes: &[u8]) -> Input {
    Input::Memory(bytes.to_vec(), NAME.into())
}

/// A reader that returns any number of bytes, and is sometimes interrupted.
pub fn stream(bytes: &[u8], seed: u64) -> Input {
    let sizes = if seed == 0 { Sizes::One } else { Sizes::Random(Random::new(seed)) };
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(Fault::Interrupted)), NAME.into())
}

pub fn lenient() -> ReadOptions {
    options(1, None).with_on_error(polyhaul::options::OnError::Warn)
}

pub fn tables(text: impl AsRef<[u8]>) -> Vec<Table> {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).tables().unwrap().value.tables
}

pub fn scene(text: impl AsRef<[u8]>) -> Loaded<Scene> {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).scene().unwrap()
}

/// Returns the error of reading a text.
pub fn error(text: impl AsRef<[u8]>) -> Error {
    Reader::new(memory(text.as_ref())).options(&options(1, None)).scene().map(|_| ()).unwrap_err()
}

/// A header in this encoding, with some lines and the end line.
pub fn header(form: &str, lines: &str) -> String {
    format!("ply\nformat {form} 1.0\n{lines}end_header\n")
}

/// Result of a read, as text.
pub fn outcome<T: Debug>(result: &Result<Loaded<T>>) -> String {
    match result {
        Ok(loaded) => format!("{:?}\n{:?}", loaded.value, loaded.report.warnings),
        Err(error) => format!("{:?} {:?}", error.kind(), error.diagnostic()),
    }
}

/// Rows of a column as lists of numbers, each as text.
pub fn rows_of(column: &Column) -> Vec<Vec<String>> {
    let text = format!("{:?}", column.values);
    let (_, numbers) = text.trim_end_matches("])").split_once("([").unwrap();
    let values: Vec<String> = numbers.split(", ").filter(|number| !number.is_empty()).map(str::to_owned).collect();
    match &column.offsets {
        Some(offsets) => {
            let list = |pair: &[u32]| values[pair[0] as usize..pair[1] as usize].to_vec();
            offsets.windows(2).map(list).collect()
        }
        None => values.into_iter().map(|value| vec![value]).collect(),
    }
}
