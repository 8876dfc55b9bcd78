//! Formats the record of a run: Markdown, JSON, and the tables for the README.

use super::images::{self, Picture};
use super::machine::Machine;
use super::plan::{BEFORE, ONE_THREAD, TWO_THREADS};
use super::runs::{Kernel, Outcome, Row};
use super::sweeps::Sweep;
use serde::Serialize;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Markers around the README's tables in a record.
const README_START: &str = "<!-- readme: begin -->";
const README_END: &str = "<!-- readme: end -->";
/// The README's tables: titles, two groups, and the memory to show.
const README: [(&str, &str, &str, Memory); 8] = [
    ("Reading OBJ", "read single", "read objects", Memory::Peak),
    ("Writing OBJ", "write single", "write objects", Memory::Peak),
    ("Reading OBJ in Python", "python large", "python small", Memory::Peak),
    ("Writing Blender's meshes", "export monkey", "export many", Memory::Extra),
    ("Reading PLY", "read ply binary", "read ply ascii", Memory::Peak),
    ("Reading STL", "read stl binary", "read stl ascii", Memory::Peak),
    ("Numbers as text", "write table", "read table", Memory::Peak),
    ("Reading pbrt", "read pbrt one", "read pbrt many", Memory::Peak),
];

/// Method of measurement, for readers of a record.
const METHOD: &str = "\
Each measurement is a new process, except for programs that write arrays: these keep the arrays in memory, and the \
second of two runs counts. The programs of a table take turns, and every other round runs in reverse order; slow ones \
skip some rounds. Times and ratios are those of the fastest round; MB/s refers to the input's text. Files are in the \
page cache. Starting a program and freeing the model are not measured, except where whole processes are. For a pipe, \
CPU time and memory are the reader's. Peak memory is the maximum resident set of all rounds; extra memory excludes the \
model's arrays and what the process held before. Both release profiles, polyhaul's and the benchmark's, are the same. \
Compare ratios: absolute figures depend on the machine.
";

/// Method of sweeps.
const SWEPT: &str = "\
What `polyhaul sweep` says after `polyhaul limits --again`: seconds, the middle one of three loads, and in brackets what \
the model predicts. Rates are of stored bytes, held back by a throttle; files are in the page cache but in the last line.
";

/// All results of a run.
#[derive(Serialize)]
pub(super) struct Record {
    pub(super) machine: Machine,
    pub(super) rounds: usize,
    pub(super) peers: Vec<String>,
    /// Missing contestants, with reasons.
    #[serde(rename = "left_out")]
    pub(super) notes: Vec<String>,
    #[serde(rename = "groups")]
    pub(super) outcomes: Vec<Outcome>,
    #[serde(rename = "numbers")]
    pub(super) kernels: Vec<Kernel>,
    #[serde(rename = "images")]
    pub(super) pictures: Vec<Picture>,
    /// Loads at many data rates.
    pub(super) sweeps: Vec<Sweep>,
}

/// Memory column of a table.
#[derive(Clone, Copy)]
enum Memory {
    /// Peak memory of the process.
    Peak,
    /// Peak memory minus the data and the initial size.
    Extra,
}

/// A Markdown table.
struct Table(String);

impl Table {
    /// Creates a table with `words` left-aligned columns, followed by right-aligned numbers.
    fn new(words: usize, heads: &[&str]) -> Table {
        let mut table = Table(String::new());
        table.row(heads.iter().map(|head| head.to_string()));
        table.row(heads.iter().enumerate().map(|(i, _)| if i < words { "---".into() } else { "---:".into() }));
        table
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        let _ = writeln!(self.0, "| {} |", cells.join(" | "));
    }
}

/// Returns the README's tables from the records in `folder`, each from the latest record that contains it, with the
/// notes of that record.
pub(super) fn readme(folder: &Path) -> Result<String, String> {
    let none = || format!("no record with a table in {}", folder.display());
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .map_err(|_| none())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    // File names start with the date.
    names.sort();
    let texts = names.iter().rev().filter_map(|path| std::fs::read_to_string(path).ok());
    Some(newest(texts)).filter(|text| !text.is_empty()).ok_or_else(none)
}

/// Returns the newest version of each table, grouped by record; `records` starts with the newest.
fn newest(records: impl Iterator<Item = String>) -> String {
    let heads: Vec<&str> = README.iter().map(|(head, ..)| *head).chain([images::HEAD]).collect();
    let mut seen = vec![false; heads.len()];
    // Position of a record's first table, and its text.
    let mut parts: Vec<(usize, String)> = Vec::new();
    for record in records {
        let Some(part) = readme_part(&record) else { continue };
        let mut text = String::new();
        let mut first = heads.len();
        for paragraph in part.trim().split("\n\n") {
            let of_table =
                |head: &str| paragraph.strip_prefix("| ").is_some_and(|rest| rest.split(" |").next() == Some(head));
            match heads.iter().position(|head| of_table(head)) {
                Some(place) if seen[place] => continue,
                Some(place) => {
                    seen[place] = true;
                    first = first.min(place);
                }
                None if text.is_empty() => continue,
                None => {}
            }
            text += &format!("{paragraph}\n\n");
        }
        parts.push((first, text));
    }
    parts.sort();
    parts.into_iter().map(|(_, text)| text).collect()
}

fn readme_part(record: &str) -> Option<&str> {
    let (_, rest) = record.split_once(README_START)?;
    Some(rest.split_once(README_END)?.0.trim_start())
}

impl Record {
    /// Returns the base name of the record's files.
    pub(super) fn name(&self, suffix: &str) -> String {
        format!("{}-{}{suffix}", self.machine.date, self.machine.slug())
    }

    /// Formats the entire record as a page.
    pub(super) fn markdown(&self) -> String {
        let mut page = format!("# Benchmark record of {}\n\n{}\n{METHOD}", self.machine.date, self.place());
        for outcome in &self.outcomes {
            let input = &outcome.group.input;
            let name = input.path.file_name().unwrap_or_default().display();
            let _ = write!(
                page,
                "\n## {}\n\n`{name}`: {:.1} MB, {}.\n\n{}",
                outcome.group.title,
                input.bytes as f64 / 1e6,
                contents(input.positions, input.faces),
                outcome_table(outcome).0
            );
        }
        self.before_table(&mut page);
        if !self.kernels.is_empty() {
            let _ = write!(
                page,
                "\n## Numbers\n\nNanoseconds per value, record or kilobyte of a file, on one thread unless the name says otherwise.\n\n{}",
                self.kernel_table().0
            );
        }
        self.picture_tables(&mut page);
        if !self.sweeps.is_empty() {
            let _ = write!(page, "\n## Sweeps\n\n{SWEPT}");
        }
        for Sweep { title, text, .. } in &self.sweeps {
            let _ = write!(page, "\n### {title}\n\n```text\n{text}```\n");
        }
        if let Some(readme) = self.readme() {
            let _ = write!(page, "\n## For the README\n\n{README_START}\n{readme}{README_END}\n");
        }
        page
    }

    /// Adds a table of the rows that were also measured with an earlier build. Above 1.00×, the current build is
    /// faster.
    fn before_table(&self, page: &mut String) {
        let mut table = Table::new(2, &["job", "by", "before", "now", "min", "median"]);
        let heads = table.0.len();
        let rows = self.outcomes.iter().flat_map(|outcome| outcome.rows.iter().map(move |row| (outcome, row)));
        for (outcome, now) in rows {
            let Some(before) = outcome.row(&format!("{}{BEFORE}", now.name)) else { continue };
            let seconds = |row: &Row| row.least_seconds().map_or("-".into(), |seconds| format!("{seconds:.4}"));
            let speed = |of: fn(&Row) -> Option<f64>| of(before).zip(of(now)).map_or("-".into(), |(a, b)| times(a / b));
            let names = [outcome.group.title.to_owned(), now.name.to_owned()];
            let cells = [seconds(before), seconds(now), speed(Row::least_seconds), speed(Row::median_seconds)];
            table.row(names.into_iter().chain(cells));
        }
        if table.0.len() > heads {
            let _ = write!(page, "\n## Beside the earlier build\n\n{}", table.0);
        }
    }

    /// Lists the machine, the peers, and missing contestants.
    fn place(&self) -> String {
        let Machine { cpu, cores, level, memory_gib, kernel, rustc, revision, real_time, .. } = &self.machine;
        let class = match real_time {
            true => "real-time class (`chrt -f 5`)",
            false => "normal class: the real-time class is not allowed here",
        };
        let mut list = format!(
            "- CPU: {cpu}, {cores} cores, polyhaul's instructions: {level}\n- Memory: {memory_gib} GiB\n- System: {kernel}\n\
             - Compiler: {rustc}\n- Revision: {revision}\n- Rounds: {}, {class}\n- Peers: {}\n",
            self.rounds,
            if self.peers.is_empty() { "none".into() } else { self.peers.join(", ") }
        );
        for note in &self.notes {
            let _ = writeln!(list, "- Left out: {note}");
        }
        list
    }

    fn kernel_table(&self) -> Table {
        let mut table = Table::new(2, &["job", "by", "min ns", "median ns", "against rust", "result"]);
        for kernel in &self.kernels {
            let rust = self.kernels.iter().find(|other| other.group == kernel.group && other.name == "rust");
            table.row([
                kernel.group.clone(),
                kernel.name.clone(),
                format!("{:.2}", kernel.ns),
                format!("{:.2}", kernel.median_ns),
                rust.map_or("-".into(), |rust| times(rust.ns / kernel.ns)),
                match kernel.agrees.as_str() {
                    "yes" => "right".into(),
                    "no" => "WRONG".into(),
                    _ => "another job".into(),
                },
            ]);
        }
        table
    }

    /// Adds a table for each image file.
    fn picture_tables(&self, page: &mut String) {
        for group in self.pictures.chunk_by(|a, b| a.group == b.group) {
            let head = ["by", "min ms", "median ms", "MPix/s", "calls", "extra memory", "pixels"];
            let mut table = Table::new(1, &head);
            for picture in group {
                table.row([
                    picture.name.clone(),
                    format!("{:.2}", picture.seconds * 1e3),
                    format!("{:.2}", picture.median_seconds * 1e3),
                    format!("{:.0}", picture.rate()),
                    if picture.calls == 0 { "-".into() } else { picture.calls.to_string() },
                    if picture.extra_bytes == 0 {
                        "-".into()
                    } else {
                        format!("{:.1} MiB", mebibytes(picture.extra_bytes))
                    },
                    images::result(&self.pictures, picture),
                ]);
            }
            let made = images::MADE.iter().find(|(name, _)| *name == group[0].group);
            let title = made.map_or_else(|| format!("Reading `{}`", group[0].group), |(_, title)| (*title).to_owned());
            let _ = write!(page, "\n## {title}\n\n{}", table.0);
        }
    }

    /// Returns the README's tables of the record, if any.
    fn readme(&self) -> Option<String> {
        let outcome = |key| self.outcomes.iter().find(|outcome| outcome.group.key == key);
        let mut text = String::new();
        for (head, left, right, memory) in README {
            if let Some(left) = outcome(left)
                && let Some(right) = outcome(right)
            {
                text += &readme_table(head, left, right, memory).0;
                text.push('\n');
            }
        }
        if let Some([head, rows @ ..]) = images::readme(&self.pictures).as_deref() {
            let mut table = Table::new(1, &head.each_ref().map(String::as_str));
            rows.iter().for_each(|row| table.row(row.clone()));
            text += &table.0;
            text.push('\n');
        }
        if text.is_empty() {
            return None;
        }
        let Machine { cpu, cores, date, .. } = &self.machine;
        let _ = writeln!(
            text,
            "{cpu}, {cores} cores, {date}; fastest of {} rounds, files in the page cache. Every figure comes from \
             `cargo xtask bench`.",
            self.rounds
        );
        Some(text)
    }

    /// Formats the entire record with all samples.
    pub(super) fn json(&self) -> String {
        #[derive(Serialize)]
        struct Dated<'a> {
            date: &'a str,
            #[serde(flatten)]
            record: &'a Record,
        }
        let mut text = Vec::new();
        let mut writer = serde_json::Serializer::with_formatter(&mut text, Lines::default());
        let whole = Dated { date: &self.machine.date, record: self };
        // Cannot fail: writing to a vector succeeds, and all map keys are strings.
        let _ = whole.serialize(&mut writer);
        String::from_utf8_lossy(&text).into_owned() + "\n"
    }
}

/// JSON formatter with a line for each group and row; the samples of a row are on its line.
#[derive(Default)]
struct Lines {
    open_arrays: usize,
}

/// Maximum depth of arrays with an element per line: groups and their rows.
const MAX_LINE_DEPTH: usize = 2;

impl serde_json::ser::Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open_arrays += 1;
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        let is_line = self.open_arrays <= MAX_LINE_DEPTH;
        writer.write_all(match (first, is_line) {
            (true, true) => b"\n",
            (true, false) => b"",
            (false, true) => b",\n",
            (false, false) => b", ",
        })
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_line = self.open_arrays <= MAX_LINE_DEPTH;
        self.open_arrays -= 1;
        writer.write_all(if is_line { b"\n]" } else { b"]" })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Formats all figures of a group, including the speedup over the baseline, and the time relative to the limit.
fn outcome_table(outcome: &Outcome) -> Table {
    let baseline = outcome.group.baseline;
    let limit = outcome.group.limit;
    let faster = format!("speed against {baseline}");
    let longer = format!("time against {limit}");
    let heads =
        ["", "min s", "median s", "p90 s", "MB/s", "CPU s", &faster, &longer, "peak MiB", "extra MiB", "result"];
    let mut table = Table::new(1, &heads);
    let baseline = outcome.seconds(baseline);
    let limit = outcome.seconds(limit);
    for row in &outcome.rows {
        let seconds = row.least_seconds();
        let show = |value: Option<f64>, digits| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        table.row([
            row.name.into(),
            show(seconds, 4),
            show(row.median_seconds(), 4),
            show(row.late_seconds(), 4),
            show(outcome.rate(row).map(|rate| rate / 1e6), 0),
            show(row.least_cpu_seconds(), 4),
            baseline.zip(seconds).map_or("-".into(), |(baseline, seconds)| times(baseline / seconds)),
            limit.zip(seconds).map_or("-".into(), |(limit, seconds)| times(seconds / limit)),
            show(row.peak_bytes().map(mebibytes), 0),
            show(row.extra_bytes().map(mebibytes), 1),
            result(outcome, row),
        ]);
    }
    table
}

/// Describes the result of a contestant; briefly if it is correct.
fn result(outcome: &Outcome, row: &Row) -> String {
    if let Some(why) = &row.failure {
        // A bar would end the cell.
        return format!("failed: {}", why.replace('|', "/"));
    }
    let Some(sample) = row.samples.last() else { return "-".into() };
    let input = &outcome.group.input;
    match (sample.positions, sample.faces, sample.identical) {
        (Some(positions), Some(faces), _) if (positions, faces) == (input.positions, input.faces) => "all".into(),
        (Some(positions), Some(faces), _) => contents(positions, faces),
        (_, _, Some(true)) => "same bytes".into(),
        (_, _, Some(false)) => "other bytes".into(),
        _ => "-".into(),
    }
}

/// Describes the content of a file, as rows if there are no faces.
fn contents(positions: u64, faces: u64) -> String {
    match faces {
        0 => format!("{positions} rows"),
        _ => format!("{positions} positions, {faces} faces"),
    }
}

/// Formats two groups with the same contestants next to each other; memory is that of the left group. The machine's
/// limit is the last row.
fn readme_table(head: &str, left: &Outcome, right: &Outcome, memory: Memory) -> Table {
    // Two jobs on the same file are labeled with their titles.
    let is_one = left.group.input.title == right.group.input.title;
    let size = |Outcome { group, .. }: &Outcome| {
        let title = if is_one { group.title } else { group.input.title };
        format!("{title}, {:.0} MB", group.input.bytes as f64 / 1e6)
    };
    let against = |outcome: &Outcome| format!("against {}", outcome.group.baseline);
    let memory_head = match memory {
        Memory::Peak => "peak memory",
        Memory::Extra => "extra memory",
    };
    let mut table = Table::new(1, &[head, &size(left), &against(left), &size(right), &against(right), memory_head]);
    let (limits, mut rows): (Vec<&Row>, Vec<&Row>) =
        left.rows.iter().filter(|row| !row.name.ends_with(BEFORE)).partition(|row| row.name.starts_with("limit"));
    // Fastest first.
    rows.sort_by(|a, b| a.least_seconds().unwrap_or(f64::MAX).total_cmp(&b.least_seconds().unwrap_or(f64::MAX)));
    for row in rows.into_iter().chain(limits) {
        let cells = |outcome: &Outcome| {
            let seconds = outcome.seconds(row.name);
            let ratio = outcome.seconds(outcome.group.baseline).zip(seconds).map(|(a, b)| times(a / b));
            let time = seconds.map_or("-".into(), |seconds| format!("{seconds:.3} s"));
            [time, ratio.unwrap_or("-".into())]
        };
        let bytes = match memory {
            Memory::Peak => row.peak_bytes(),
            Memory::Extra => row.extra_bytes(),
        };
        let bytes = bytes.map_or("-".into(), |bytes| format!("{:.0} MiB", mebibytes(bytes)));
        let name = match row.name {
            ONE_THREAD | TWO_THREADS => format!("**{}**", row.name),
            name => name.into(),
        };
        table.row([name].into_iter().chain(cells(left)).chain(cells(right)).chain([bytes]));
    }
    table
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}×") } else { format!("{ratio:.1}×") }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::group;
    use super::super::runs::tests::row;
    use super::*;

    #[test]
    fn the_readmes_part_is_cut_out() {
        let record = format!("# a\n{README_START}\n| b |\n{README_END}\nc\n");
        assert_eq!(readme_part(&record), Some("| b |\n"));
        assert_eq!(readme_part("# a\n"), None);
    }

    #[test]
    fn the_readme_has_the_newest_of_each_table() {
        let record = |text: &str| format!("{README_START}\n{text}{README_END}\n");
        let new = record("| Reading PLY | s |\n| new | 1 |\n\nnew day\n");
        let old = record("| Reading OBJ | s |\n| old | 2 |\n\n| Reading PLY | s |\n| old | 3 |\n\nold day\n");
        let older = record("| Reading PLY | s |\n| older | 4 |\n\nolder day\n");
        let text = newest([new, "# nothing\n".into(), old, older].into_iter());
        assert_eq!(
            text,
            "| Reading OBJ | s |\n| old | 2 |\n\nold day\n\n| Reading PLY | s |\n| new | 1 |\n\nnew day\n\n"
        );
    }

    #[test]
    fn a_record_tells_everything() {
        let mut failed = Row { name: "tobj", ..Row::default() };
        failed.failure = Some("a | b".into());
        let before = row("polyhaul, 2 threads, before", &[0.6, 0.5], 1, 1);
        let rows = vec![row(TWO_THREADS, &[0.5, 0.25], 3 << 20, 1 << 20), before, failed];
        let record = Record {
            machine: Machine { date: "2026-11-20".into(), cpu: "Fast".into(), cores: 2, ..Machine::default() },
            rounds: 2,
            peers: vec!["tobj 4".into()],
            notes: vec!["nobody".into()],
            outcomes: vec![Outcome { group: group("read single"), rows }],
            kernels: Vec::new(),
            pictures: Vec::new(),
            sweeps: Vec::new(),
        };
        assert_eq!(record.name(""), "2026-11-20-fast-2-cores");
        let page = record.markdown();
        let line = |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_string();
        let row = "| polyhaul, 2 threads | 0.2500 | 0.5000 | 0.5000 | 0 | 0.2500 | - | - | 3 | 2.0 | all |";
        assert_eq!(line("| polyhaul, 2 threads"), row);
        let beside = "| read single | polyhaul, 2 threads | 0.5000 | 0.2500 | 2.00× | 1.20× |";
        assert_eq!(line("| read single"), beside);
        assert!(line("| tobj").ends_with("| failed: a / b |"));
        assert_eq!(line("- Left out"), "- Left out: nobody");
        let json = record.json();
        assert!(json.contains("\"failure\": \"a | b\""));
        let fast = json.lines().find(|line| line.contains("\"name\": \"polyhaul, 2 threads\"")).unwrap();
        assert!(fast.contains("\"seconds\": 0.5") && fast.contains("\"seconds\": 0.25"), "all samples are on the line");
        assert!(!page.contains(README_START), "a part alone has no table for the README");
    }

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(1, &["a", "b"]);
        table.row(["1".into(), times(12.34)]);
        assert_eq!(table.0, "| a | b |\n| --- | ---: |\n| 1 | 12.3× |\n");
    }
}
