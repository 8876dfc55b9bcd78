//! Formats numbers: fixed and shortest digits, one or three values per line.
//!
//! Every contender fills a buffer and clears it after [`PAGE_VALUES`] values, like a writer, so that no fresh memory is
//! measured.

use super::{Contender, Group};
use polyhaul_text::format::{FixedLine, Page};
use std::ffi::CStr;
use std::hint::black_box;
use std::io::Write;

/// Values per page; their text fits in the L1 cache.
const PAGE_VALUES: usize = 3 * 256;
const PAGE_BYTES: usize = 32 << 10;

/// Receives the text of a page.
type Sink<'s> = &'s mut dyn FnMut(&[u8]);
/// Formats all values, page by page.
type Format<'a, T> = Box<dyn Fn(&[T], Sink<'_>) + 'a>;

pub(super) fn groups(measure: &mut dyn FnMut(Group<'_>)) {
    let floats = super::floats();
    let doubles = super::values();
    measure(group("fixed_6_digits_f32", &floats, fixed(6, c"%.6f\n")));
    measure(group("fixed_2_digits_f32", &floats, fixed(2, c"%.2f\n")));
    measure(group("lines_of_3_fixed_6_digits_f32", &floats, lines()));
    measure(group("shortest_f32", &floats, shortest(|page, value| page.shortest_f32(value))));
    measure(group("shortest_f64", &doubles, shortest(|page, value| page.shortest_f64(value))));
}

/// A contender and how its text is compared.
struct Entry<'a, T> {
    name: &'static str,
    judge: Judge,
    format: Format<'a, T>,
}

#[derive(Clone, Copy)]
enum Judge {
    /// The text must equal the first contender's.
    SameText,
    /// Parsing the text must return the values.
    SameValues,
    /// The job differs.
    Other,
}

fn group<'a, T: Copy + Into<f64>>(name: &'static str, values: &'a [T], entries: Vec<Entry<'a, T>>) -> Group<'a> {
    let expected = entries.first().map(|entry| text(&entry.format, values)).unwrap_or_default();
    let contender = |entry: Entry<'a, T>| {
        let agrees = match entry.judge {
            Judge::SameText => Some(text(&entry.format, values) == expected),
            Judge::SameValues => Some(reads_back(&text(&entry.format, values), values)),
            Judge::Other => None,
        };
        let run = move || (entry.format)(black_box(values), &mut |text| _ = black_box(text));
        Contender { name: entry.name, agrees, run: Box::new(run) }
    };
    Group { name, values: values.len(), contenders: entries.into_iter().map(contender).collect() }
}

/// Returns the entire text.
fn text<T>(format: &Format<'_, T>, values: &[T]) -> Vec<u8> {
    let mut whole = Vec::new();
    format(values, &mut |text| whole.extend_from_slice(text));
    whole
}

/// Returns whether each line parses as its value, as f32 if values are f32.
fn reads_back<T: Copy + Into<f64>>(text: &[u8], values: &[T]) -> bool {
    let narrow = size_of::<T>() == size_of::<f32>();
    let parse = |line: &str| match narrow {
        true => line.parse::<f32>().ok().map(f64::from),
        false => line.parse().ok(),
    };
    let read = std::str::from_utf8(text).unwrap_or_default().lines().map(parse);
    read.eq(values.iter().map(|&value| Some(value.into())))
}

fn fixed<'a>(digits: usize, pattern: &'static CStr) -> Vec<Entry<'a, f32>> {
    let same = |name, format| Entry { name, judge: Judge::SameText, format };
    vec![
        same("polyhaul_lines", page_lines(FixedLine::new(b"", digits))),
        same("polyhaul_lines_portable", page_lines(FixedLine::new(b"", digits).portable())),
        same("polyhaul_value", page_values(move |page, value| page.fixed_f32(value, digits))),
        same("rust", written(move |rest, value| _ = writeln!(rest, "{value:.digits$}"))),
        same("snprintf", written(move |rest, value| print_f(rest, pattern, [value]))),
        Entry { judge: Judge::Other, ..zmij("zmij_shortest") },
    ]
}

fn lines<'a>() -> Vec<Entry<'a, f32>> {
    let same = |name, format| Entry { name, judge: Judge::SameText, format };
    vec![
        same("polyhaul_lines", page_rows(FixedLine::new(b"v ", 6))),
        same("polyhaul_lines_portable", page_rows(FixedLine::new(b"v ", 6).portable())),
        same("rust", written_rows(|rest, [x, y, z]| _ = writeln!(rest, "v {x:.6} {y:.6} {z:.6}"))),
        same("snprintf", written_rows(|rest, row| print_f(rest, c"v %.6f %.6f %.6f\n", row))),
    ]
}

fn shortest<'a, T>(append: impl Fn(&mut Page<'_>, T) + 'a) -> Vec<Entry<'a, T>>
where
    T: Copy + zmij::Float + ryu::Float + std::fmt::Display + 'a,
{
    let same = |name, format| Entry { name, judge: Judge::SameValues, format };
    let ryu = written(|rest: &mut &mut [u8], value: T| {
        append_line(rest, ryu::Buffer::new().format_finite(value));
    });
    vec![
        same("polyhaul_value", page_values(append)),
        zmij("zmij"),
        same("ryu", ryu),
        same("rust", written(|rest, value| _ = writeln!(rest, "{value}"))),
    ]
}

fn zmij<'a, T: Copy + zmij::Float + 'a>(name: &'static str) -> Entry<'a, T> {
    let format = written(|rest: &mut &mut [u8], value: T| {
        append_line(rest, zmij::Buffer::new().format_finite(value));
    });
    Entry { name, judge: Judge::SameValues, format }
}

/// Appends values to a page one by one.
fn page_values<'a, T: Copy>(append: impl Fn(&mut Page<'_>, T) + 'a) -> Format<'a, T> {
    Box::new(move |values, sink| {
        let mut buffer = [0; PAGE_BYTES];
        for part in values.chunks(PAGE_VALUES) {
            let mut page = Page::new(&mut buffer);
            for &value in part {
                append(&mut page, value);
                page.byte(b'\n');
            }
            sink(page.as_bytes());
        }
    })
}

/// Appends lines of one value each.
fn page_lines<'a>(line: FixedLine<'a>) -> Format<'a, f32> {
    Box::new(move |values, sink| {
        let mut buffer = [0; PAGE_BYTES];
        for part in values.chunks(PAGE_VALUES) {
            let mut page = Page::new(&mut buffer);
            page.fixed_lines(&line, part.as_chunks::<1>().0);
            sink(page.as_bytes());
        }
    })
}

/// Appends lines of three values each.
fn page_rows<'a>(line: FixedLine<'a>) -> Format<'a, f32> {
    Box::new(move |values, sink| {
        let mut buffer = [0; PAGE_BYTES];
        for part in values.chunks(PAGE_VALUES) {
            let mut page = Page::new(&mut buffer);
            page.fixed_lines(&line, part.as_chunks::<3>().0);
            sink(page.as_bytes());
        }
    })
}

/// Writes values to the rest of a buffer one by one.
fn written<'a, T: Copy>(write: impl Fn(&mut &mut [u8], T) + 'a) -> Format<'a, T> {
    Box::new(move |values, sink| {
        let mut buffer = [0; PAGE_BYTES];
        for part in values.chunks(PAGE_VALUES) {
            let mut rest = &mut buffer[..];
            for &value in part {
                write(&mut rest, value);
            }
            let len = PAGE_BYTES - rest.len();
            sink(&buffer[..len]);
        }
    })
}

/// Writes rows of three values to the rest of a buffer.
fn written_rows<'a>(write: impl Fn(&mut &mut [u8], [f32; 3]) + 'a) -> Format<'a, f32> {
    let rows = written(write);
    Box::new(move |values, sink| rows(values.as_chunks::<3>().0, sink))
}

fn append_line(rest: &mut &mut [u8], text: &str) {
    let written = rest.write_all(text.as_bytes()).and_then(|()| rest.write_all(b"\n"));
    assert!(written.is_ok(), "a page holds all values");
}

/// Formats with the C library. `pattern` must have `N` conversions for doubles.
fn print_f<const N: usize>(rest: &mut &mut [u8], pattern: &CStr, values: [f32; N]) {
    let value = |index: usize| f64::from(values[index.min(N - 1)]);
    // SAFETY: the size of the buffer is passed; C ignores arguments beyond those of the pattern.
    let written =
        unsafe { libc::snprintf(rest.as_mut_ptr().cast(), rest.len(), pattern.as_ptr(), value(0), value(1), value(2)) };
    let room = std::mem::take(rest);
    *rest = &mut room[written as usize..];
}
