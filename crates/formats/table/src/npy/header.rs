//! Parses the header of an npy file: types, shape and order (numpy.lib.format).
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 6 | `\x93NUMPY` |
//! | 6 | 2 | version, major and minor |
//! | 8 | 2, or 4 since version 2 | size of the text that follows, little-endian |
//! | 10 or 12 | | a Python dict literal: `descr`, `fortran_order`, `shape` |
//!
//! The text is Latin-1, or UTF-8 since version 3.

use super::literal::{Literal, parse};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, limit_hint, truncated, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use std::sync::Arc;

/// Types, number and order of the values.
#[derive(Debug)]
pub(super) struct NpyHeader {
    pub(super) fields: Vec<NpyField>,
    /// Number of bytes per row or, if columns are stored consecutively, per element.
    pub(super) record_bytes: usize,
    pub(super) row_count: u64,
    /// Whether columns are stored consecutively (Fortran order). If so, all columns have the same type and the offset
    /// 0.
    pub(super) by_columns: bool,
    /// Offset of the data in the file.
    pub(super) body: u64,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NpyField {
    pub(super) name: String,
    /// Byte offset in a row.
    pub(super) offset: usize,
    pub(super) scalar: Scalar,
    pub(super) is_big_endian: bool,
}

/// First bytes of every file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Magic, version, and the size of the header in the longer form.
pub(super) const MAX_PREFIX: usize = 12;
/// Maximum header size in bytes. It is more than the default limit of columns needs.
const MAX_BYTES: u32 = 16 << 20;

/// Returns the size of the header and its offset, given the first [`MAX_PREFIX`] bytes, or fewer bytes if the file is
/// shorter.
pub(super) fn prefix(bytes: &[u8], file: &Arc<str>) -> Result<(usize, usize)> {
    if bytes.is_empty() {
        return Err(truncated(file, 0, "the header"));
    }
    let [b'\x93', b'N', b'U', b'M', b'P', b'Y', major, _minor, rest @ ..] = bytes else {
        let error = Diagnostic::at(file, 0, "not an npy file: it does not start with \\x93NUMPY");
        return Err(error.into_error(ErrorKind::Malformed));
    };
    let (size, start) = match (major, rest) {
        (1, [a, b, ..]) => (u32::from(u16::from_le_bytes([*a, *b])), 10),
        (2 | 3, [a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]), 12),
        (1..=3, _) => {
            return Err(truncated(file, bytes.len() as u64, "the header"));
        }
        (major, _) => {
            let message = format!("unsupported npy version {major}; expected 1 to 3");
            return Err(Diagnostic::at(file, 6, message).into_error(ErrorKind::Unsupported));
        }
    };
    if size > MAX_BYTES {
        let message = format!("the header of {size} bytes is longer than the limit of {MAX_BYTES} bytes");
        return Err(Diagnostic::at(file, 8, message).into_error(ErrorKind::Limit));
    }
    Ok((size as usize, start))
}

/// Parses the text of a header, which starts at offset `start` of a file of version `major`.
pub(super) fn header(bytes: &[u8], major: u8, start: usize, file: &Arc<str>, limits: &Limits) -> Result<NpyHeader> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if major >= 3 || text.is_ascii() => text.into(),
        // Before version 3, and where UTF-8 is invalid.
        _ => std::borrow::Cow::Owned(names::latin1(bytes)?),
    };
    let malformed = |message: &str| Err(fault(file, start as u64, message));
    let entries = match parse(&text)? {
        Ok(Literal::Dict(entries)) => entries,
        Ok(_) => return malformed("the header is not a dict"),
        Err((at, expected)) => {
            let diagnostic = Diagnostic::at(file, (start + at) as u64, "invalid header");
            let expected = Some(expected.into());
            return Err(Diagnostic { expected, ..diagnostic }.into_error(ErrorKind::Malformed));
        }
    };
    let entry = |name: &str| {
        let entry = entries.iter().find(|(key, _)| matches!(key, Literal::Text(key) if key == name));
        entry.map(|(_, value)| value)
    };
    let [Some(descr), Some(Literal::Bool(by_columns)), Some(Literal::Items(shape))] =
        ["descr", "fortran_order", "shape"].map(entry)
    else {
        return malformed("the header must contain `descr`, `fortran_order` and `shape`");
    };
    let refused = |message: String| Diagnostic::at(file, start as u64, message).into_error(ErrorKind::Unsupported);
    let (row_count, width) = match &shape[..] {
        [Literal::Integer(rows)] => (*rows, None),
        [Literal::Integer(rows), Literal::Integer(width)] => (*rows, Some(*width)),
        shape => {
            return Err(refused(format!("this array has {} dimensions; a table has one or two", shape.len())));
        }
    };
    let too_many = |what: &str, limit: u64| {
        let message = format!("more {what} than the limit `{what}` ({limit})");
        Diagnostic::at(file, start as u64, message).into_error(ErrorKind::Limit).with_hint(limit_hint(what))
    };
    if row_count > limits.elements || usize::try_from(row_count).is_err() {
        return Err(too_many("elements", limits.elements));
    }
    let (fields, record_bytes) = match descr {
        Literal::Text(text) => {
            let (scalar, is_big_endian) = scalar(text).ok_or_else(|| refused(refusal(text)))?;
            let width = width.unwrap_or(1);
            if width > limits.columns {
                return Err(too_many("columns", limits.columns));
            }
            let step = if *by_columns { 0 } else { scalar.bytes() };
            let mut fields = Vec::new();
            fields.try_reserve_exact(width as usize)?;
            let field = |place| NpyField { name: String::new(), offset: place * step, scalar, is_big_endian };
            fields.extend((0..width as usize).map(field));
            (fields, if *by_columns { scalar.bytes() } else { width as usize * scalar.bytes() })
        }
        Literal::Items(_) if width.is_some_and(|width| width != 1) => {
            return Err(refused("this array has records in two dimensions; a table has one".into()));
        }
        Literal::Items(items) if items.len() as u64 > limits.columns => {
            return Err(too_many("columns", limits.columns));
        }
        Literal::Items(items) => records(items, &refused)?,
        _ => return malformed("`descr` is neither a type nor a list of fields"),
    };
    let is_record = matches!(descr, Literal::Items(_));
    let body = (start + bytes.len()) as u64;
    // Records have one dimension, in which both orders are the same.
    Ok(NpyHeader { fields, record_bytes, row_count, by_columns: *by_columns && !is_record, body })
}

/// Returns the fields of a record, and its size in bytes.
fn records(items: &[Literal], refused: &impl Fn(String) -> Error) -> Result<(Vec<NpyField>, usize)> {
    let mut fields = Vec::new();
    let mut offset = 0usize;
    for item in items {
        let (name, descr) = match item {
            Literal::Items(parts) => match &parts[..] {
                [Literal::Text(name), Literal::Text(descr)] => (name, descr),
                // A title, followed by the name.
                [Literal::Items(names), Literal::Text(descr)] => match &names[..] {
                    [_, Literal::Text(name)] => (name, descr),
                    _ => return Err(refused("a record field has no name".into())),
                },
                [Literal::Text(name), ..] => {
                    let message = "is nested or contains several numbers; a table has one number per field";
                    return Err(refused(format!("the field `{}` {message}", names::shown(name))));
                }
                _ => return Err(refused("a record field has no name".into())),
            },
            _ => return Err(refused("a record field is not a tuple".into())),
        };
        let overflow = || refused("the records are too large".into());
        if let Some(padding) = descr.strip_prefix("|V").filter(|_| name.is_empty()) {
            let padding: usize = padding.parse().map_err(|_| overflow())?;
            offset = offset.checked_add(padding).filter(|&offset| offset <= 1 << 30).ok_or_else(overflow)?;
            continue;
        }
        let (scalar, is_big_endian) = scalar(descr).ok_or_else(|| refused(refusal(descr)))?;
        try_push(&mut fields, NpyField { name: name.clone(), offset, scalar, is_big_endian }, "columns")?;
        offset += scalar.bytes();
    }
    Ok((fields, offset))
}

/// Returns the type for a descriptor such as `<f4`, and whether it is big-endian.
fn scalar(descr: &str) -> Option<(Scalar, bool)> {
    let is_big_endian = match descr.as_bytes().first()? {
        b'<' | b'|' => false,
        b'>' => true,
        b'=' => cfg!(target_endian = "big"),
        _ => return None,
    };
    let scalar = match descr.get(1..)? {
        "b1" | "u1" => Scalar::U8,
        "i1" => Scalar::I8,
        "i2" => Scalar::I16,
        "u2" => Scalar::U16,
        "i4" => Scalar::I32,
        "u4" => Scalar::U32,
        "i8" => Scalar::I64,
        "u8" => Scalar::U64,
        "f4" => Scalar::F32,
        "f8" => Scalar::F64,
        _ => return None,
    };
    Some((scalar, is_big_endian))
}

fn refusal(descr: &str) -> String {
    let what = match descr.get(1..2) {
        Some("f") => "floats of that size are",
        Some("c") => "complex numbers are",
        Some("O") => "Python objects are",
        Some("S" | "U" | "a") => "strings are",
        Some("m" | "M") => "dates and times are",
        _ => "that type is",
    };
    format!("the array has the type `{}`; {what} not supported", names::shown(descr))
}
