//! Formats records: 1,024 pages of 1,024 records, each a bool and an f32, into one buffer provided by the caller.
//!
//! Peers with two threads format half of the records each, and then move the second half up to the first.

use super::{Contender, Group};
use polyhaul::options::RunOptions;
use polyhaul::rows::{self, RowFormat, StridedColumn, ValueType};
use std::hint::black_box;
use std::io::Write;

const RECORDS: usize = 1024 * 1024;
/// Maximum length of a formatted record.
const ROOM_BYTES: usize = 16;

/// A record of 8 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Record {
    flag: u32,
    value: f32,
}

/// Formats records; returns the number of bytes written.
type Format = fn(&[Record], &mut [u8]) -> usize;
/// A formatter with its records.
type Writer<'a> = Box<dyn Fn(&mut [u8]) -> usize + 'a>;

pub(super) fn groups(measure: &mut dyn FnMut(Group<'_>)) -> Result<(), crate::Failure> {
    let records: Vec<Record> = super::floats().into_iter().cycle().take(RECORDS).map(Record::of).collect();
    let memory: Vec<u8> = records.iter().flat_map(|record| record.bytes()).collect();
    let columns = [(0, ValueType::Bool), (4, ValueType::F32)]
        .map(|(offset, kind)| StridedColumn::new(&memory, offset, size_of::<Record>(), RECORDS, kind));
    let [Some(flags), Some(values)] = columns else { return Err("the columns lie outside of the records".into()) };
    let columns = [flags, values];
    let format = rows::fields("{flag:y/n} {value:.2f}\n", |name| match name {
        "flag" => Some((0, ValueType::Bool)),
        _ => Some((1, ValueType::F32)),
    })?;
    let mut expected = vec![0; ROOM_BYTES * RECORDS];
    let length = printed(&records, &mut expected);
    expected.truncate(length);
    let contenders = vec![
        contender("polyhaul_1_thread", &expected, polyhaul(&format, &columns, 1)),
        contender("polyhaul_2_threads", &expected, polyhaul(&format, &columns, 2)),
        contender("rust", &expected, peer(&records, written, 1)),
        contender("rust_2_threads", &expected, peer(&records, written, 2)),
        contender("snprintf", &expected, peer(&records, printed, 1)),
        contender("snprintf_2_threads", &expected, peer(&records, printed, 2)),
    ];
    measure(Group { name: "records", values: RECORDS, contenders });
    Ok(())
}

impl Record {
    fn of(value: f32) -> Record {
        Record { flag: value.to_bits() & 1, value }
    }

    fn bytes(&self) -> [u8; size_of::<Record>()] {
        let mut bytes = [0; size_of::<Record>()];
        bytes[0] = self.flag as u8;
        bytes[4..].copy_from_slice(&self.value.to_ne_bytes());
        bytes
    }

    fn letter(&self) -> char {
        if self.flag != 0 { 'y' } else { 'n' }
    }
}

fn contender<'a>(name: &'static str, expected: &[u8], write: Writer<'a>) -> Contender<'a> {
    let mut out = vec![1; ROOM_BYTES * RECORDS];
    let length = write(&mut out);
    let agrees = Some(out[..length] == *expected);
    Contender { name, agrees, run: Box::new(move || _ = black_box(write(black_box(&mut out)))) }
}

fn polyhaul<'a>(format: &'a RowFormat, columns: &'a [StridedColumn<'a>], threads: usize) -> Writer<'a> {
    let run = RunOptions::default().with_threads(Some(threads));
    Box::new(move |out| rows::format_rows(format, columns, out, &run).unwrap_or(0))
}

fn peer(records: &[Record], format: Format, threads: usize) -> Writer<'_> {
    Box::new(move |out| halves(format, records, out, threads))
}

fn halves(format: Format, records: &[Record], out: &mut [u8], threads: usize) -> usize {
    if threads == 1 {
        return format(records, out);
    }
    let (first, second) = records.split_at(records.len() / 2);
    let middle = out.len() / 2;
    let (front, back) = out.split_at_mut(middle);
    let lengths = std::thread::scope(|scope| {
        let back = scope.spawn(|| format(second, back));
        [format(first, front), back.join().unwrap_or(0)]
    });
    out.copy_within(middle..middle + lengths[1], lengths[0]);
    lengths[0] + lengths[1]
}

fn written(records: &[Record], out: &mut [u8]) -> usize {
    let room = out.len();
    let mut rest = out;
    for record in records {
        _ = writeln!(rest, "{} {:.2}", record.letter(), record.value);
    }
    room - rest.len()
}

fn printed(records: &[Record], out: &mut [u8]) -> usize {
    let mut length = 0;
    for record in records {
        let rest = &mut out[length..];
        // SAFETY: the size of the buffer is passed, and the pattern takes an int and a double.
        let written = unsafe {
            let letter = record.letter() as libc::c_int;
            let value = f64::from(record.value);
            libc::snprintf(rest.as_mut_ptr().cast(), rest.len(), c"%c %.2f\n".as_ptr(), letter, value)
        };
        length += written as usize;
    }
    length
}
