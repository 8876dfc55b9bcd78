//! Parses numbers in lines `v x y z` and `f a/b/c a/b/c a/b/c a/b/c`.
//!
//! polyhaul first indexes the ends of tokens and then converts many at once; the other contenders proceed token by
//! token. All parse the same text into a reused array.

use super::{Contender, Group};
use crate::Failure;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::rows::{VALUE_SLACK, Window, face_rows, float_rows};
use polyhaul_text::scan::{Index, MAX_ENDS, MAX_LINES, PADDING};
use std::cell::RefCell;
use std::fmt::Write;
use std::hint::black_box;
use std::rc::Rc;

/// Parses an entire padded text.
type Parse<T> = Box<dyn FnMut(&[u8], &mut Vec<T>)>;

pub(super) fn groups(measure: &mut dyn FnMut(Group<'_>)) -> Result<(), Failure> {
    let floats = float_text()?;
    let indices = face_text()?;
    measure(group("lines_of_3_floats_f32", &floats, float_entries()));
    measure(group("lines_of_4_corners", &indices, face_entries()));
    Ok(())
}

fn float_text() -> Result<Vec<u8>, Failure> {
    let mut text = String::new();
    for [x, y, z] in super::floats().as_chunks::<3>().0 {
        writeln!(text, "v {x:.6} {y:.6} {z:.6}")?;
    }
    Ok(padded(&text))
}

/// Formats quads from the middle of a grid of 1.7 million vertices.
fn face_text() -> Result<Vec<u8>, Failure> {
    let mut text = String::new();
    for face in 0..super::VALUES / 12 {
        text.push('f');
        for offset in [0, 1, 1311, 1310] {
            let index = 912_345 + face + offset;
            write!(text, " {index}/{}/{index}", index + 700)?;
        }
        text.push('\n');
    }
    Ok(padded(&text))
}

fn padded(text: &str) -> Vec<u8> {
    let padding = [0; PADDING];
    [&padding, text.as_bytes(), &padding].concat()
}

/// Returns the text without its padding.
fn text_of(padded: &[u8]) -> &[u8] {
    &padded[PADDING..padded.len() - PADDING]
}

/// Creates a group; the last entry is the reference, which only uses the standard library.
fn group<'a, T: PartialEq + 'static>(
    name: &'static str,
    text: &'a [u8],
    entries: Vec<(&'static str, Parse<T>)>,
) -> Group<'a> {
    let values = Rc::new(RefCell::new(Vec::new()));
    let mut expected = Vec::new();
    let mut contenders = Vec::new();
    for (name, mut parse) in entries.into_iter().rev() {
        let mut parsed = Vec::new();
        parse(text, &mut parsed);
        if expected.is_empty() {
            expected = parsed;
            parsed = Vec::new();
            parse(text, &mut parsed);
        }
        let values = values.clone();
        let run = move || {
            let mut values = values.borrow_mut();
            values.clear();
            parse(black_box(text), &mut values);
            black_box(values.len());
        };
        contenders.push(Contender { name, agrees: Some(parsed == expected), run: Box::new(run) });
    }
    contenders.reverse();
    Group { name, values: expected.len(), contenders }
}

fn float_entries() -> Vec<(&'static str, Parse<f32>)> {
    let fast = |token: &[u8]| fast_float2::parse_partial::<f32, _>(token).ok();
    vec![
        ("polyhaul", Box::new(float_windows(Level::best()))),
        ("polyhaul_portable", Box::new(float_windows(Level::Portable))),
        ("fast_float2", Box::new(move |text, out| float_tokens(text_of(text), out, fast))),
        ("rust", Box::new(|text, out| float_tokens(text_of(text), out, rust_float))),
    ]
}

/// Parses like polyhaul: indexes a window, then converts its rows.
fn float_windows(level: Level) -> impl FnMut(&[u8], &mut Vec<f32>) {
    let mut index = Box::new(Index::new());
    let mut rows = vec![[0.0; 3]; MAX_LINES * 2];
    move |padded, out| {
        let mut start = PADDING;
        let end = padded.len() - PADDING;
        while start < end {
            index.scan(padded, start, end, level);
            let count = float_rows(Window { padded, index: &index, level }, 0, b"v", &mut rows);
            assert_eq!(count, index.lines().len(), "all lines are plain");
            out.extend_from_slice(rows[..count].as_flattened());
            start = index.next_start();
        }
    }
}

/// Parses token by token; `parse` returns the value and the length of its token.
fn float_tokens(text: &[u8], out: &mut Vec<f32>, parse: impl Fn(&[u8]) -> Option<(f32, usize)>) {
    let mut at = 0;
    while at < text.len() {
        at += b"v ".len();
        for _ in 0..3 {
            let Some((value, count)) = parse(&text[at..]) else { return };
            out.push(value);
            at += count + 1;
        }
    }
}

fn rust_float(text: &[u8]) -> Option<(f32, usize)> {
    let count = text.iter().position(|&byte| byte == b' ' || byte == b'\n')?;
    Some((std::str::from_utf8(&text[..count]).ok()?.parse().ok()?, count))
}

fn face_entries() -> Vec<(&'static str, Parse<u32>)> {
    vec![
        ("polyhaul", Box::new(face_windows(Level::best()))),
        ("polyhaul_portable", Box::new(face_windows(Level::Portable))),
        ("digit_loop", Box::new(|text, out| digit_loop(text_of(text), out))),
        ("rust", Box::new(|text, out| rust_indices(text_of(text), out))),
    ]
}

fn face_windows(level: Level) -> impl FnMut(&[u8], &mut Vec<u32>) {
    let mut index = Box::new(Index::new());
    let mut values = vec![0; MAX_ENDS * 2 + VALUE_SLACK];
    let mut row_ends = vec![0; MAX_LINES * 2];
    move |padded, out| {
        let mut start = PADDING;
        let end = padded.len() - PADDING;
        while start < end {
            index.scan(padded, start, end, level);
            let window = Window { padded, index: &index, level };
            let rows_parsed = face_rows(window, 0, b"f", &mut values, &mut row_ends);
            assert_eq!(rows_parsed.rows, index.lines().len(), "all lines are plain");
            out.extend_from_slice(&values[..rows_parsed.values]);
            start = index.next_start();
        }
    }
}

/// The digit loop that most readers use.
fn digit_loop(text: &[u8], out: &mut Vec<u32>) {
    let mut at = 0;
    while at < text.len() {
        at += b"f ".len();
        loop {
            let mut value = 0;
            while text[at].is_ascii_digit() {
                value = value * 10 + u32::from(text[at] - b'0');
                at += 1;
            }
            out.push(value);
            at += 1;
            if text[at - 1] == b'\n' {
                break;
            }
        }
    }
}

fn rust_indices(text: &[u8], out: &mut Vec<u32>) {
    for line in std::str::from_utf8(text).unwrap_or_default().lines() {
        let tokens = line.split([' ', '/']).skip(1);
        out.extend(tokens.filter_map(|token| token.parse::<u32>().ok()));
    }
}
