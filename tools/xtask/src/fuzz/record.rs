//! Reads and writes `tools/fuzz/RECORD.md`: executions, time, coverage and findings of each target.
//!
//! The table is the only store of these totals; the text around it is written by hand and stays unchanged.

use crate::root;
use std::io;

/// Path of the record, relative to the root folder.
pub(super) const PATH: &str = "tools/fuzz/RECORD.md";

/// First line of the table.
const HEADER: &str =
    "| target | executions | seconds | per second | turns that found something | edges reached after executions |";

/// Coverage is recorded after this many executions, and whenever their number has quadrupled.
const FIRST_POINT: u64 = 4096;

/// Progress reported by libFuzzer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress {
    pub(super) executions: u64,
    /// Number of control-flow edges that the corpus covers.
    pub(super) edges: u64,
}

/// Result of a target's turn.
#[derive(Debug, PartialEq)]
pub(super) struct Turn {
    /// Never empty.
    pub(super) points: Vec<Progress>,
    pub(super) seconds: u64,
    pub(super) found_something: bool,
}

/// Totals of a target.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    target: String,
    executions: u64,
    seconds: u64,
    findings: u64,
    growth: Vec<Progress>,
}

/// Content of the page.
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

    /// Returns the total number of executions of a target.
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
        for point in &turn.points {
            row.grow(row.executions + point.executions, point.edges);
        }
        row.executions += turn.points.last().map_or(0, |point| point.executions);
        row.seconds += turn.seconds;
        row.findings += u64::from(turn.found_something);
    }

    /// Writes the page.
    pub(super) fn save(&self) -> io::Result<()> {
        std::fs::write(root::root().join(PATH), self.text())
    }

    fn text(&self) -> String {
        let rows: String = self.rows.iter().map(Row::line).collect();
        format!("{}{HEADER}\n| --- | ---: | ---: | ---: | ---: | --- |\n{rows}{}", self.before, self.after)
    }
}

impl Row {
    /// Records the coverage if the number of executions reaches the next number to record.
    fn grow(&mut self, executions: u64, edges: u64) {
        let mut next = self.growth.last().map_or(FIRST_POINT, |point| point.executions * 4);
        while executions >= next {
            self.growth.push(Progress { executions: next, edges });
            next *= 4;
        }
    }

    fn parse(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [target, executions, seconds, _, findings, growth] = cells[..] else { return None };
        let number = |cell: &str| cell.replace(',', "").parse().ok();
        let point = |text: &str| {
            let (executions, edges) = text.split_once(": ")?;
            Some(Progress { executions: number(executions)?, edges: number(edges)? })
        };
        Some(Row {
            target: target.to_owned(),
            executions: number(executions)?,
            seconds: number(seconds)?,
            findings: number(findings)?,
            growth: growth.split("; ").filter(|text| !text.is_empty()).map(point).collect::<Option<_>>()?,
        })
    }

    fn line(&self) -> String {
        let Row { target, executions, seconds, findings, growth } = self;
        let rate = executions / (*seconds).max(1);
        let [executions, seconds, rate] = [*executions, *seconds, rate].map(grouped);
        let point = |point: &Progress| format!("{}: {}", grouped(point.executions), grouped(point.edges));
        let growth = growth.iter().map(point).collect::<Vec<_>>().join("; ");
        format!("| {target} | {executions} | {seconds} | {rate} | {findings} | {growth} |\n")
    }
}

/// Formats a number with commas: `1,234`.
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

/// Parses a progress line of libFuzzer, or its final number of executions, which has no coverage.
pub(super) fn progress(line: &str) -> Option<Progress> {
    if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
        return Some(Progress { executions: number.trim().parse().ok()?, edges: 0 });
    }
    let (number, rest) = line.strip_prefix('#')?.split_once('\t')?;
    let edges = rest.split_once("cov: ").and_then(|(_, rest)| rest.split_ascii_whitespace().next()?.parse().ok());
    Some(Progress { executions: number.trim().parse().ok()?, edges: edges.unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Fuzzing

| target | executions | seconds | per second | turns that found something | edges reached after executions |
| --- | ---: | ---: | ---: | ---: | --- |
| obj | 1,234,567 | 1,000 | 1,234 | 1 | 4,096: 900; 16,384: 1,100 |

More text, | with bars |.
";

    #[test]
    fn the_page_comes_back_and_turns_are_added() {
        let mut record = Record::parse(PAGE).unwrap();
        assert_eq!(record.text(), PAGE);
        assert_eq!((record.executions("obj"), record.executions("ply")), (1_234_567, 0));
        let turn = |points: &[(u64, u64)], seconds, found_something| {
            let points = points.iter().map(|&(executions, edges)| Progress { executions, edges }).collect();
            Turn { points, seconds, found_something }
        };
        record.add("obj", &turn(&[(3, 1200)], 1000, false));
        record.add("ply", &turn(&[(10, 5), (4096, 7), (20_000, 9)], 0, true));
        let rows = "\
| obj | 1,234,570 | 2,000 | 617 | 1 | 4,096: 900; 16,384: 1,100; 65,536: 1,200; 262,144: 1,200; 1,048,576: 1,200 |
| ply | 20,000 | 0 | 20,000 | 1 | 4,096: 7; 16,384: 9 |

More text";
        assert!(record.text().contains(rows), "{}", record.text());
        assert!(Record::parse("no table").is_none());
    }

    #[test]
    fn progress_is_read_from_what_libfuzzer_prints() {
        let line = "#2097152\tpulse  cov: 5212 ft: 21002 exec/s: 5000";
        assert_eq!(progress(line), Some(Progress { executions: 2_097_152, edges: 5212 }));
        let line = "stat::number_of_executed_units: 12345";
        assert_eq!(progress(line), Some(Progress { executions: 12_345, edges: 0 }));
        assert_eq!(progress("    #0 0x55 in __sanitizer_print_stack_trace"), None);
        assert_eq!(progress("INFO: Seed: 1"), None);
    }

    #[test]
    fn the_committed_page_is_read() {
        assert!(Record::load().is_ok());
    }
}
