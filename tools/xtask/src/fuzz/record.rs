//! `tools/fuzz/RECORD.md`: how often each target ran, for how long, and how often it found something.
//!
//! The table is the only store of these totals; the text around it is written by people and stays unchanged.

use crate::root;
use std::io;

/// Where the record is, below the root folder.
pub(super) const PATH: &str = "tools/fuzz/RECORD.md";

/// The first line of the table.
const HEADER: &str = "| target | executions | seconds | per second | turns that found something |";

/// The result of a target's turn.
#[derive(Debug, PartialEq)]
pub(super) struct Turn {
    pub(super) executions: u64,
    pub(super) seconds: u64,
    pub(super) found_something: bool,
}

/// The totals of a target.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    target: String,
    executions: u64,
    seconds: u64,
    findings: u64,
}

/// The whole page.
pub(super) struct Record {
    before: String,
    rows: Vec<Row>,
    after: String,
}

impl Record {
    /// Reads the page.
    pub(super) fn load() -> io::Result<Record> {
        let text = std::fs::read_to_string(root::root().join(PATH))?;
        Record::parse(&text).ok_or_else(|| io::Error::other(format!("the table `{HEADER}` is missing")))
    }

    fn parse(text: &str) -> Option<Record> {
        let (before, table) = text.split_once(HEADER)?;
        let mut lines = table.split_inclusive('\n').skip(2).peekable();
        let mut rows = Vec::new();
        while let Some(row) = lines.peek().and_then(|line| Row::parse(line)) {
            rows.push(row);
            lines.next();
        }
        Some(Record { before: before.to_owned(), rows, after: lines.collect() })
    }

    /// How often a target ran in all.
    pub(super) fn executions(&self, target: &str) -> u64 {
        self.rows.iter().find(|row| row.target == target).map_or(0, |row| row.executions)
    }

    /// Adds a turn to the totals.
    pub(super) fn add(&mut self, target: &str, turn: &Turn) {
        let index = self.rows.iter().position(|row| row.target == target).unwrap_or_else(|| {
            self.rows.push(Row { target: target.to_owned(), ..Row::default() });
            self.rows.len() - 1
        });
        let row = &mut self.rows[index];
        row.executions += turn.executions;
        row.seconds += turn.seconds;
        row.findings += u64::from(turn.found_something);
    }

    /// Writes the page.
    pub(super) fn save(&self) -> io::Result<()> {
        std::fs::write(root::root().join(PATH), self.text())
    }

    fn text(&self) -> String {
        let rows: String = self.rows.iter().map(Row::line).collect();
        format!("{}{HEADER}\n| --- | ---: | ---: | ---: | ---: |\n{rows}{}", self.before, self.after)
    }
}

impl Row {
    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [target, executions, seconds, _, findings] = cells[..] else { return None };
        let number = |cell: &str| cell.replace(',', "").parse().ok();
        Some(Row {
            target: target.to_owned(),
            executions: number(executions)?,
            seconds: number(seconds)?,
            findings: number(findings)?,
        })
    }

    fn line(&self) -> String {
        let Row { target, executions, seconds, findings } = self;
        let rate = executions / (*seconds).max(1);
        let [executions, seconds, rate] = [*executions, *seconds, rate].map(grouped);
        format!("| {target} | {executions} | {seconds} | {rate} | {findings} |\n")
    }
}

/// A number with commas: `1,234`.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The number of executions that a line of libFuzzer shows: a line of its progress, or one of its final figures.
pub(super) fn executions(line: &str) -> Option<u64> {
    let number = match line.strip_prefix("stat::number_of_executed_units:") {
        Some(number) => number.trim(),
        None => line.strip_prefix('#')?.split('\t').next()?.trim(),
    };
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Fuzzing

| target | executions | seconds | per second | turns that found something |
| --- | ---: | ---: | ---: | ---: |
| obj | 1,234,567 | 1,000 | 1,234 | 1 |

More text, | with bars |.
";

    #[test]
    fn the_page_comes_back_and_turns_are_added() {
        let mut record = Record::parse(PAGE).unwrap();
        assert_eq!(record.text(), PAGE);
        assert_eq!((record.executions("obj"), record.executions("ply")), (1_234_567, 0));
        record.add("obj", &Turn { executions: 3, seconds: 1000, found_something: false });
        record.add("ply", &Turn { executions: 10, seconds: 0, found_something: true });
        assert!(
            record.text().contains("| obj | 1,234,570 | 2,000 | 617 | 1 |\n| ply | 10 | 0 | 10 | 1 |\n\nMore text")
        );
        assert!(Record::parse("no table").is_none());
    }

    #[test]
    fn executions_are_read_from_what_libfuzzer_prints() {
        assert_eq!(executions("#2097152\tpulse  cov: 5212 ft: 21002 exec/s: 5000"), Some(2_097_152));
        assert_eq!(executions("stat::number_of_executed_units: 12345"), Some(12_345));
        assert_eq!(executions("    #0 0x55 in __sanitizer_print_stack_trace"), None);
        assert_eq!(executions("INFO: Seed: 1"), None);
    }

    #[test]
    fn the_committed_page_is_read() {
        assert!(Record::load().is_ok());
    }
}
