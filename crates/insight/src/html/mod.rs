//! Generates the report of a job: one self-contained HTML file.
//!
//! Text (verdict, phases, files) is static HTML, readable without scripts; charts (threads, rates, memory) are data
//! drawn by `page.js`. Untrusted text enters the page only through [`escaped`] and [`Json`](super::json::Json).
//! `tables` generates the text, `island` the data, and `shown` (in the parent folder) reduces recordings to screen
//! resolution. `program` generates the page of a watched program from the same parts, with `flames`.

mod flames;
mod island;
mod program;
mod tables;

#[cfg(test)]
mod tests;

pub use program::{ProgramPage, ProgramTable};
pub(super) use tables::headline;

use super::chart;
use super::shown;
use super::shown::{Extent, ShownRows, Steps};
use super::words::{escaped, phase_words};
use crate::ceilings::Ceilings;
use crate::verdict::Verdict;
use polyhaul_trace::{Phase, Recording, Sample};
use std::fmt::Write;

/// Disk traffic below this is assumed to be unrelated to the job and hidden.
const FEW_BYTES: u64 = 64 << 10;
/// Maximum number of thread bars on a page.
const MAX_BARS: usize = 20_000;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Heading of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// Description of the job, such as its command line.
    pub command: String,
    /// Description of the machine; if empty, taken from the ceilings.
    pub machine: String,
    /// Start time of the job, in seconds since 1970.
    pub began_unix_s: Option<u64>,
}

/// Input of the page generators.
pub(super) struct HtmlJob<'a> {
    recording: &'a Recording,
    heading: &'a Heading,
    verdict: Option<&'a Verdict>,
    ceilings: Option<&'a Ceilings>,
    extent: Extent,
    rows: ShownRows,
    steps: Steps,
}

impl<'a> HtmlJob<'a> {
    fn new(
        recording: &'a Recording,
        heading: &'a Heading,
        verdict: Option<&'a Verdict>,
        ceilings: Option<&'a Ceilings>,
    ) -> HtmlJob<'a> {
        let extent = Extent::from_recording(recording);
        let rows = shown::rows(recording, extent, MAX_BARS);
        let steps = shown::steps(recording, extent);
        HtmlJob { recording, heading, verdict, ceilings, extent, rows, steps }
    }
}

/// Generates the report of a job: a self-contained HTML file of less than 1 MB, for light and dark screens, phones and
/// print.
///
/// Shows the verdict, time per phase, activity per thread, cores in use, read and write rates in steps of at most 10 ms
/// (more if the job takes over 40 s) next to the machine's ceilings, memory, and the calls on each file. Time charts
/// need a trace with [spans](polyhaul_trace::Detail::Spans); the system's figures for cores, disks and memory need
/// samples. Spans too short to be visible are merged, which the page notes.
///
/// ```
/// use polyhaul_insight::{Heading, html};
/// use polyhaul_trace::{self as trace, Detail, Trace};
///
/// let trace = Trace::new(Detail::Spans);
/// trace::within(Some(&trace), 1, || drop(trace::span(trace::Phase::Parse)));
/// let heading = Heading { command: "a job".into(), ..Heading::default() };
/// assert!(html(&trace.recording(), &heading, None, None).starts_with("<!doctype html>"));
/// ```
pub fn html(
    recording: &Recording,
    heading: &Heading,
    verdict: Option<&Verdict>,
    ceilings: Option<&Ceilings>,
) -> String {
    let job = HtmlJob::new(recording, heading, verdict, ceilings);
    let main = filled(include_str!("job.html"), |name| match name {
        "verdict" => tables::verdict(&job),
        "phases" => tables::phases(&job),
        "charts" => charts(&job),
        "files" => tables::files(&job),
        "ceilings" => tables::ceilings(&job),
        "notes" => tables::notes(&job),
        _ => String::new(),
    });
    page(&job, &main)
}

/// Adds the frame of a page: head, title, data and script.
fn page(job: &HtmlJob<'_>, main: &str) -> String {
    filled(PAGE, |name| match name {
        "title" => escaped(&job.heading.command),
        "style" => STYLE.to_owned(),
        "colors" => colors(),
        "facts" => tables::facts(job),
        "main" => main.to_owned(),
        "data" => island::island(job),
        "script" => SCRIPT.to_owned(),
        _ => String::new(),
    })
}

/// Replaces every `{{name}}` with `value(name)`. Replacements are not expanded again.
fn filled(text: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        out.push_str(&value(name));
        out.push_str(rest);
    }
    out
}

/// CSS variables for the phase colors.
fn colors() -> String {
    let of = |theme: usize| {
        let colors = Phase::ALL.iter().map(|&phase| (phase as usize, chart::color(phase)));
        colors.fold(String::new(), |mut css, (index, color)| {
            let _ = write!(css, "--p{index}:{};", color.get(theme).unwrap_or(&""));
            css
        })
    };
    let light = of(0);
    let dark = of(1);
    format!(
        ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         :root[data-theme=dark]{{{dark}}}\n"
    )
}

/// Empty chart canvases. Their heights are fixed, so the layout does not shift when they are drawn.
fn charts(job: &HtmlJob<'_>) -> String {
    let mut out = String::new();
    let recording = job.recording;
    let has_spans = job.rows.rows.iter().flatten().any(|bar| bar.end_ns > bar.start_ns);
    let has_samples = recording.samples.len() > 1;
    let is_any = |steps: &[f64]| steps.iter().any(|value| *value > 0.0);
    let grew = |of: fn(&Sample) -> u64, min_growth: u64| {
        let [first, last] = [recording.samples.first(), recording.samples.last()].map(|sample| sample.map_or(0, of));
        last.saturating_sub(first) >= min_growth.max(1)
    };
    if has_spans {
        let height = 44 + job.rows.rows.len() * row_height(job.rows.rows.len());
        figure(&mut out, "threads", "Threads", height, &legend(job), &tables::about_threads(job));
    }
    let is_busy = is_any(&job.steps.computing) || is_any(&job.steps.calling);
    let has_cores = grew(|sample| sample.cpu_ns, 1);
    if is_busy || has_cores {
        let keys = key("work", "computing", is_busy)
            + &key("call", "reading and writing", is_busy)
            + &key("line", "cores in use", has_cores);
        figure(&mut out, "cpu", "Cores", 150, &keys, &tables::about_cores(job));
    }
    let disk_read = grew(|sample| sample.disk_read_bytes, FEW_BYTES);
    let disk_written = grew(|sample| sample.disk_write_bytes, FEW_BYTES);
    for (id, title, steps, disk) in [
        ("read", "Reading", &job.steps.read_bytes, disk_read),
        ("write", "Writing", &job.steps.written_bytes, disk_written),
    ] {
        if disk || has_spans && is_any(steps) {
            let keys =
                key(id, "calls", true) + &key("line", "disk", disk) + &key("ceiling", "ceiling", has_ceiling(job, id));
            figure(&mut out, id, title, 180, &keys, &tables::about_rates(job, steps));
        }
    }
    if has_samples && recording.samples.iter().any(|sample| sample.resident_bytes > 0) {
        figure(&mut out, "memory", "Memory", 130, &key("memory", "resident", true), &tables::about_memory(job));
    }
    if out.is_empty() {
        return "<p class=soft>No charts: no spans were recorded.</p>".into();
    }
    filled(include_str!("charts.html"), |name| if name == "figures" { out.clone() } else { tables::about_steps(job) })
}

/// Row height of a thread in pixels; `page.js` divides the canvas height evenly.
fn row_height(rows: usize) -> usize {
    match rows {
        0..=8 => 40,
        9..=24 => 24,
        25..=64 => 14,
        _ => 8,
    }
}

fn has_ceiling(job: &HtmlJob<'_>, id: &str) -> bool {
    job.ceilings.is_some_and(|ceilings| ceilings.lines(id == "write").next().is_some())
}

fn figure(out: &mut String, id: &str, title: &str, height: usize, keys: &str, about: &str) {
    let about = escaped(about);
    let _ = writeln!(
        out,
        "<figure><figcaption><h3>{title}</h3><div class=keys>{keys}</div></figcaption>\
         <canvas id={id} style=\"height:{height}px\" role=img aria-label=\"{title}. {about}\"></canvas></figure>"
    );
}

/// A legend entry; empty if the item does not occur.
fn key(class: &str, name: &str, is_there: bool) -> String {
    if is_there { format!("<span class=key><i class=\"{class}\"></i>{name}</span>") } else { String::new() }
}

/// Legend of the phases that occur, with one button per phase that highlights it.
fn legend(job: &HtmlJob<'_>) -> String {
    let mut seen = [false; polyhaul_trace::PHASE_COUNT];
    job.rows.rows.iter().flatten().for_each(|bar| seen[bar.phase as usize] = true);
    let seen = Phase::ALL.into_iter().filter(|&phase| seen[phase as usize]);
    seen.fold(String::new(), |mut html, phase| {
        let index = phase as usize;
        let name = phase_words(phase);
        let _ = write!(
            html,
            "<button type=button class=key aria-pressed=false data-phase={index}>\
             <i style=\"background:var(--p{index})\"></i>{name}</button>"
        );
        html
    })
}
