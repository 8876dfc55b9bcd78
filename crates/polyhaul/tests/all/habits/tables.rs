//! Deviations in text tables.

use super::words::{lines, pick, with_word};
use super::{Change, Changed, hold};
use polyhaul_testkit::random::Random;

/// Spellings of NaN and infinity by C libraries, and the usual ones.
const VALUES: [[&str; 2]; 6] = [
    ["1.#QNAN", "nan"],
    ["-1.#IND", "nan"],
    ["1.#INF", "inf"],
    ["-1.#INF00", "-inf"],
    ["1.#SNAN", "nan"],
    ["-nan(ind)", "nan"],
];

/// Whether a line is a row of numbers.
fn is_row(line: &str) -> bool {
    let mut words = line.trim().split([',', ' ', '\t']).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| word.trim_matches('"').parse::<f64>().is_ok())
}

/// Replaces a value with an unusual spelling of a number; the second file has the usual spelling.
fn nan(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let at = pick(&lines, random, is_row)?;
    let [other, usual] = VALUES[random.below(VALUES.len())];
    let separator = if lines[at].contains(',') { ',' } else { '\t' };
    let mut fields: Vec<&str> = lines[at].trim_end_matches('\n').split(separator).collect();
    (fields.len() > 1).then_some(())?;
    let place = random.below(fields.len());
    let mut both = [other, usual].map(|value| {
        fields[place] = value;
        fields.join(&separator.to_string()) + "\n"
    });
    let mut expected = lines.clone();
    [&mut lines[at], &mut expected[at]].into_iter().zip(&mut both).for_each(|(line, new)| std::mem::swap(line, new));
    Some(Changed::silent(lines.concat())?.meaning(expected.concat()))
}

/// A header with a comment mark before its first name, and a line with the row count, as written by scanners.
fn marked_header(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let lines = lines(bytes)?;
    lines.iter().all(|line| !line.contains('#') && is_row(line)).then_some(())?;
    let columns = lines.first()?.split_ascii_whitespace().count();
    (columns == 3 || columns == 6).then_some(())?;
    let names = ["X Y Z", "X Y Z Nx Ny Nz"][columns / 6];
    let mark = ["//", "#", "%"][random.below(3)];
    let count = if random.once_in(2) { format!("{}\n", lines.len()) } else { String::new() };
    let changed = Changed::silent(format!("{mark}{names}\n{count}{}", lines.concat()))?;
    Some(changed.meaning(format!("{names}\n{}", lines.concat())))
}

/// A quoted name with a line break.
fn broken_name(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let at = lines.iter().position(|line| !line.starts_with('#'))?;
    (!is_row(&lines[at]) && !lines[at].contains('"')).then_some(())?;
    let mut names: Vec<&str> = lines[at].trim_end().split(',').collect();
    let place = random.below(names.len());
    let name = format!("\"{} \nof two lines\"", names[place]);
    names[place] = &name;
    lines[at] = names.join(",") + "\n";
    Some(Changed::silent(lines.concat())?.but("columns"))
}

/// A first line that declares the separator, as in spreadsheets.
fn stated_separator(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let text = lines(bytes)?.concat();
    (!text.contains([';', '"', '#'])).then_some(())?;
    Changed::silent(format!("sep=;\n{}", text.replace(',', ";")))
}

#[test]
fn csv() {
    let changes: [(&str, Change); 3] =
        [("NaN of C libraries", nan), ("a name of two lines", broken_name), ("a stated separator", stated_separator)];
    hold("table", "csv", &changes);
}

#[test]
fn points() {
    let plain = |bytes: &[u8], random: &mut Random| {
        let mut rows = lines(bytes)?;
        rows.retain(|line| is_row(line));
        marked_header(rows.concat().as_bytes(), random)
    };
    hold("table", "xyz", &[("a header with a mark", plain as Change)]);
}

/// A mistyped number in the first row is an error, not a name.
#[test]
fn a_typing_error_is_no_header() {
    let typo = |bytes: &[u8], random: &mut Random| {
        let mut rows = lines(bytes)?;
        rows.retain(|line| is_row(line));
        let word = ["3.O", "1.5e", "-2.x", "+1,5."][random.below(4)];
        let columns = rows.first()?.split_ascii_whitespace().count();
        rows[0] = with_word(&rows[0], random.below(columns), word)?;
        Changed::refused(rows.concat(), "x.xyz:1:")
    };
    hold("table", "xyz", &[("a typing error in the first row", typo as Change)]);
}
