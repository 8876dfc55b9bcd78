//! A slow reader of PLY, derived from the rules of the format: no fast path, no threads, and a single kind of error.

use crate::ply::support::rows_of;
use polyhaul::model::{Scalar, Table};

/// An element: its name, and each property with name, type and rows as text.
pub type Element = (String, Vec<(String, Scalar, Vec<Vec<String>>)>);

/// Rows of a file, as bytes or words.
enum Body<'a> {
    Words(Box<dyn Iterator<Item = &'a str> + 'a>),
    Bytes { bytes: &'a [u8], big: bool },
}

/// Reads all elements of a file; `None` if it is invalid or has names that are not UTF-8.
pub fn read(file: &[u8]) -> Option<Vec<Element>> {
    let mark = b"end_header";
    let at = file.windows(mark.len()).position(|window| window == mark)? + mark.len();
    let head = std::str::from_utf8(&file[..at]).ok()?.replace('\r', "\n");
    let newline = if file[at..].starts_with(b"\r\n") { 2 } else { 1 };
    let body = file.get(at + newline..).unwrap_or(&[]);
    let mut elements: Vec<(String, usize, Vec<[String; 3]>)> = Vec::new();
    let mut form = String::new();
    for line in head.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["format", name, _] => form = (*name).to_owned(),
            ["element", name, count] => elements.push(((*name).into(), count.parse().ok()?, Vec::new())),
            ["property", "list", count, item, name] => {
                elements.last_mut()?.2.push([(*name).into(), (*item).into(), (*count).into()]);
            }
            ["property", item, name] => {
                elements.last_mut()?.2.push([(*name).into(), (*item).into(), String::new()]);
            }
            _ => {}
        }
    }
    let mut body = match form.as_str() {
        "ascii" => Body::Words(Box::new(std::str::from_utf8(body).ok()?.split_ascii_whitespace())),
        name => Body::Bytes { bytes: body, big: name.contains("big") },
    };
    elements.into_iter().map(|(name, count, properties)| element(name, count, &properties, &mut body)).collect()
}

fn element(name: String, count: usize, properties: &[[String; 3]], body: &mut Body<'_>) -> Option<Element> {
    let mut columns = Vec::new();
    for [name, item, _] in properties {
        columns.push((name.clone(), scalar(item)?, Vec::new()));
    }
    for _ in 0..count {
        for ([_, item, list], column) in properties.iter().zip(&mut columns) {
            let size = if list.is_empty() { 1 } else { body.number(scalar(list)?)?.parse().ok()? };
            let item = scalar(item)?;
            column.2.push((0..size).map(|_| body.number(item)).collect::<Option<Vec<String>>>()?);
        }
    }
    Some((name, columns))
}

fn scalar(name: &str) -> Option<Scalar> {
    let names = [
        (["char", "int8"], Scalar::I8),
        (["uchar", "uint8"], Scalar::U8),
        (["short", "int16"], Scalar::I16),
        (["ushort", "uint16"], Scalar::U16),
        (["int", "int32"], Scalar::I32),
        (["uint", "uint32"], Scalar::U32),
        (["float", "float32"], Scalar::F32),
        (["double", "float64"], Scalar::F64),
        (["int64", "int64"], Scalar::I64),
        (["uint64", "uint64"], Scalar::U64),
    ];
    names.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, scalar)| scalar)
}

impl Body<'_> {
    /// Reads the next number, and formats it by its type.
    fn number(&mut self, scalar: Scalar) -> Option<String> {
        macro_rules! number {
            ($type:ty) => {
                match self {
                    Body::Words(words) => format!("{:?}", words.next()?.parse::<$type>().ok()?),
                    Body::Bytes { bytes, big } => {
                        let (value_bytes, rest) = bytes.split_first_chunk()?;
                        *bytes = rest;
                        let number = if *big {
                            <$type>::from_be_bytes(*value_bytes)
                        } else {
                            <$type>::from_le_bytes(*value_bytes)
                        };
                        format!("{number:?}")
                    }
                }
            };
        }
        Some(match scalar {
            Scalar::I8 => number!(i8),
            Scalar::U8 => number!(u8),
            Scalar::I16 => number!(i16),
            Scalar::U16 => number!(u16),
            Scalar::I32 => number!(i32),
            Scalar::U32 => number!(u32),
            Scalar::I64 => number!(i64),
            Scalar::U64 => number!(u64),
            Scalar::F32 => number!(f32),
            Scalar::F64 => number!(f64),
        })
    }
}

/// Converts tables to the form of [`read`].
pub fn of_tables(tables: &[Table]) -> Vec<Element> {
    let columns = |table: &Table| {
        let columns = table.columns.iter();
        columns.map(|column| (column.name.clone(), column.values.scalar(), rows_of(column))).collect()
    };
    tables.iter().map(|table| (table.name.clone(), columns(table))).collect()
}
