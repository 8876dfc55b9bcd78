//! Generates the text of a page: verdict, phases, files, ceilings and chart captions.
//!
//! The text needs no scripts. Long lists are truncated with a note. Computes only sums, means and shares.

use super::HtmlJob;
use super::island::shortened;
use crate::ceilings::Ceilings;
use crate::verdict::{Bound, Verdict};
use crate::words::{bytes, count, date, escaped, phase_words, rate, seconds, share, size_class, time};
use polyhaul_model::warnings::counted;
use polyhaul_trace::{FileUse, Phase, Recording};
use std::fmt::Write;

/// Maximum number of files shown initially, and in total.
const FIRST_FILES: usize = 8;
const MAX_FILES: usize = 200;
/// Maximum length of a file name in characters.
const NAME_CHARS: usize = 120;
/// Calls on a file are flagged as small if their mean size is below this and there are more than [`FEW_CALLS`].
const SMALL_CALL_BYTES: u64 = 64 * 1024;
const FEW_CALLS: u64 = 16;

/// The bottleneck of a job and its distance from the machine's best: `Limited by parsing, 2.0× slower than this
/// machine's best`.
pub(crate) fn headline(verdict: &Verdict) -> String {
    let cause = match verdict.bound {
        _ if !verdict.is_telling() => "Too short to judge".to_owned(),
        Bound::Unknown => "No single cause".to_owned(),
        _ => format!("Limited by {}", verdict.limit),
    };
    let distance = verdict.distance().filter(|_| verdict.is_telling());
    // Drops the time in parentheses, which the figures contain.
    let distance =
        distance.map(|distance| distance.rsplit_once(" (").map_or(distance.clone(), |(words, _)| words.to_owned()));
    distance.map_or(cause.clone(), |distance| format!("{cause}, {distance}"))
}

/// The phase whose color represents a cause.
fn phase_of(bound: Bound) -> Phase {
    match bound {
        Bound::Read | Bound::CachedRead => Phase::Read,
        Bound::Write => Phase::Write,
        Bound::Decompress => Phase::Decompress,
        Bound::Compress => Phase::Compress,
        Bound::Parse => Phase::Parse,
        Bound::Format => Phase::Format,
        Bound::Build => Phase::Build,
        Bound::Decode => Phase::Decode,
        Bound::Encode => Phase::Encode,
        Bound::Transform => Phase::Transform,
        Bound::Draw => Phase::Draw,
        Bound::Serial => Phase::Place,
        Bound::Locks => Phase::Lock,
        Bound::Host | Bound::SmallReads => Phase::Host,
        Bound::Memory | Bound::Container | Bound::OtherPrograms => Phase::Throttle,
        Bound::Unknown => Phase::WaitEnd,
    }
}

/// The line below the title: date, machine, disk, threads.
pub(super) fn facts(job: &HtmlJob<'_>) -> String {
    let machine = match job.ceilings {
        Some(ceilings) if job.heading.machine.is_empty() => &ceilings.machine,
        _ => &job.heading.machine,
    };
    let disk = job.ceilings.map_or("", |ceilings| &ceilings.disk);
    let threads = match job.recording.wanted_threads {
        0 => String::new(),
        1 => "1 thread".to_owned(),
        many => format!("{many} threads"),
    };
    let began = job.heading.began_unix_s.map(date).unwrap_or_default();
    let labels = [began.as_str(), machine, disk, &threads];
    let shown = labels.into_iter().filter(|label| !label.is_empty());
    shown.map(|label| format!("<span>{}</span>", escaped(label))).collect::<Vec<_>>().join(" ")
}

/// The verdict: headline, figures, causes and advice. Without a verdict, only elapsed time and bytes.
pub(super) fn verdict(job: &HtmlJob<'_>) -> String {
    let Some(verdict) = job.verdict else {
        let words = "<p class=verdict id=verdict>No verdict</p>";
        return format!("{words}<dl class=figures>{}</dl>", moved(job));
    };
    let mut out = format!("<p class=verdict id=verdict>{}</p><dl class=figures>", escaped(&headline(verdict)));
    figure(&mut out, &seconds(verdict.seconds), "elapsed");
    if let Some(best) = verdict.best_possible_seconds {
        figure(&mut out, &seconds(best), "this machine’s best");
    }
    if verdict.bound != Bound::Unknown {
        figure(&mut out, &share(verdict.share), "of the cores’ time");
    }
    out += &moved_bytes(job);
    out.push_str("</dl>");
    causes(&mut out, verdict);
    if !verdict.advice.is_empty() {
        out.push_str("<ul class=advice>");
        verdict.advice.iter().for_each(|advice| out += &format!("<li>{}</li>", escaped(advice)));
        out.push_str("</ul>");
    }
    out
}

pub(super) fn figure(out: &mut String, value: &str, name: &str) {
    let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
}

fn moved(job: &HtmlJob<'_>) -> String {
    let mut out = String::new();
    figure(&mut out, &time(job.recording.elapsed_ns), "elapsed");
    out + &moved_bytes(job)
}

fn moved_bytes(job: &HtmlJob<'_>) -> String {
    let mut out = String::new();
    let border = job.recording.files.iter().filter(|file| file.phase != Phase::Decompress);
    let sum =
        |is_output| border.clone().filter(|file| file.is_output == is_output).map(|file| file.calls.bytes as f64).sum();
    for (moved, name) in [(sum(false), "read"), (sum(true), "written")] {
        if moved > 0.0 {
            figure(&mut out, &bytes(moved), name);
        }
    }
    out
}

/// A stacked bar of all causes, in whole percentages that add up to 100.
fn causes(out: &mut String, verdict: &Verdict) {
    let percents = verdict.percents();
    if percents.len() < 2 {
        return;
    }
    out.push_str("<div class=causes aria-hidden=true>");
    for (bound, percent) in &percents {
        let index = phase_of(*bound) as usize;
        let _ = write!(out, "<i style=\"width:{percent}%;background:var(--p{index})\"></i>");
    }
    out.push_str("</div><p class=keys>");
    for (bound, percent) in &percents {
        let index = phase_of(*bound) as usize;
        let name = bound.words();
        let _ =
            write!(out, "<span class=key><i style=\"background:var(--p{index})\"></i>{name} <b>{percent}%</b></span>");
    }
    out.push_str("</p>");
}

/// Table of phases, longest first.
pub(super) fn phases(job: &HtmlJob<'_>) -> String {
    let totals = job.recording.totals();
    let total_ns = totals.sum();
    let mut rows: Vec<_> =
        Phase::ALL.into_iter().map(|phase| (phase, totals.total(phase))).filter(|(_, ns)| *ns > 0).collect();
    rows.sort_by_key(|(phase, ns)| (std::cmp::Reverse(*ns), *phase));
    let Some(max_ns) = rows.first().map(|(_, ns)| *ns) else {
        return "<p class=soft>No phases were recorded.</p>".into();
    };
    let mut out = String::from(
        "<table class=phases><thead><tr><th scope=col>Phase<th scope=col class=graph><span class=unseen>bar</span>\
         <th scope=col>Time<th scope=col>Rate</tr></thead><tbody>",
    );
    for (phase, ns) in rows {
        let index = phase as usize;
        let name = phase_words(phase);
        let width = 100.0 * ns as f64 / max_ns as f64;
        let moved: u64 =
            job.recording.files.iter().filter(|file| file.phase == phase).map(|file| file.calls.bytes).sum();
        let rate = if moved > 0 { rate(moved as f64 * 1e9 / ns as f64) } else { String::new() };
        let _ = write!(
            out,
            "<tr><th scope=row><i style=\"background:var(--p{index})\"></i>{name}</th><td class=graph>\
             <i style=\"width:{width:.1}%;background:var(--p{index})\"></i></td>\
             <td>{}</td><td>{rate}</td></tr>",
            time(ns)
        );
    }
    let _ = write!(
        out,
        "</tbody><tfoot><tr><th scope=row>all threads</th><td class=graph></td><td>{}</td><td></td></tr></tfoot>\
         </table><p class=soft>Times are summed over threads. Rates are per thread, while it is in the phase. <b>Splitting</b> \
         finds where chunks of the input start; <b>ordering</b> puts the results of chunks into sequence, one chunk at a \
         time.</p><p class=soft><b>Serial work</b> is done by one thread while the others wait; a <b>ceiling</b> is a maximum rate that \
         <code>polyhaul limits</code> measured; <b>unattributed</b> time has no known cause.</p>",
        time(total_ns)
    );
    out
}

/// Table of files with their calls, longest wait first.
pub(super) fn files(job: &HtmlJob<'_>) -> String {
    let mut files: Vec<_> = job.recording.files.iter().filter(|file| file.calls.calls > 0).collect();
    files.sort_by_key(|file| std::cmp::Reverse((file.calls.waiting_ns, file.calls.calls)));
    if files.is_empty() {
        return "<p class=soft>No file calls were recorded.</p>".into();
    }
    let left_out = files.len().saturating_sub(MAX_FILES) as u64 + job.recording.dropped_files;
    files.truncate(MAX_FILES);
    let (first, rest) = files.split_at(files.len().min(FIRST_FILES));
    let mut out = file_table(first, true);
    if !rest.is_empty() {
        let more = counted(rest.len() as u64, ["more file", "more files"]);
        let _ = write!(out, "<details><summary>{more}</summary>{}</details>", file_table(rest, false));
    }
    if left_out > 0 {
        let more = counted(left_out, ["more file is", "more files are"]);
        let _ = write!(out, "<p class=note>{more} not shown.</p>");
    }
    out + "<p class=soft>Files with the longest waits come first. Each histogram counts calls by size, from the smallest to \
           the largest.</p>"
}

fn file_table(files: &[&FileUse], with_sizes: bool) -> String {
    let sizes = if with_sizes { "<th scope=col class=sizes>Sizes" } else { "" };
    let mut out = format!(
        "<table class=files><thead><tr><th scope=col>File<th scope=col>Calls<th scope=col>Bytes<th scope=col>Mean\
         <th scope=col>Waiting<th scope=col>During{sizes}</tr></thead><tbody>"
    );
    for file in files {
        file_row(&mut out, file, with_sizes);
    }
    out + "</tbody></table>"
}

fn file_row(out: &mut String, file: &FileUse, with_sizes: bool) {
    let calls = &file.calls;
    let mean = calls.bytes / calls.calls.max(1);
    let is_small = mean < SMALL_CALL_BYTES && calls.calls > FEW_CALLS;
    let flag = if is_small { " <em class=flag>small</em>" } else { "" };
    let does = match (file.phase, file.is_output) {
        (Phase::Decompress, _) => "decompressed",
        (Phase::Host, true) => "written by the host",
        (Phase::Host, false) => "read by the host",
        (_, true) => "written",
        (_, false) => "read",
    };
    let mut callers = file.callers.clone();
    callers.sort_by_key(|(phase, calls)| std::cmp::Reverse((*calls, *phase)));
    let callers: Vec<_> = callers.iter().take(3).map(|(phase, _)| phase_words(*phase)).collect();
    let sizes = if with_sizes { format!("<td class=sizes>{}</td>", histogram(file)) } else { String::new() };
    let _ = write!(
        out,
        "<tr><th scope=row><span class=name>{}</span> <small>{does}</small></th><td data-is=calls>{}</td>\
         <td data-is=bytes>{}</td><td data-is=mean>{}{flag}</td><td data-is=waiting>{}</td><td data-is=during>{}</td>{sizes}</tr>",
        escaped(&shortened(&file.name, NAME_CHARS)),
        count(calls.calls),
        bytes(calls.bytes as f64),
        bytes(mean as f64),
        time(calls.waiting_ns),
        callers.join(", "),
    );
}

/// Histogram of call sizes, one column per size class.
fn histogram(file: &FileUse) -> String {
    let classes: Vec<_> = file.calls.histogram().collect();
    let place = |size: u64| u64::from(u64::BITS - size.leading_zeros());
    let Some(((smallest, _), (largest, _))) = classes.first().copied().zip(classes.last().copied()) else {
        return String::new();
    };
    let max_calls = classes.iter().map(|(_, calls)| *calls).max().unwrap_or(1).max(1);
    let columns = (place(largest) - place(smallest) + 1).max(6);
    let mut out = format!(
        "<svg viewBox=\"0 0 {} 32\" width={} height=32 role=img aria-label=\"calls by size\">",
        8 * columns,
        8 * columns
    );
    for (size, calls) in &classes {
        let x = 8 * (place(*size) - place(smallest));
        let height = (30.0 * *calls as f64 / max_calls as f64).max(1.5);
        let about = format!("{}: {}", size_range(*size), counted(*calls, ["call", "calls"]));
        let _ =
            write!(out, "<rect x={x} y={:.1} width=7 height={height:.1}><title>{about}</title></rect>", 32.0 - height);
    }
    let _ = write!(out, "</svg><small>{}</small>", range(smallest, largest));
    out
}

fn size_range(size: u64) -> String {
    match size {
        0 => "0 B".to_owned(),
        _ => format!("{} to {}", size_class(size), size_class(size.saturating_mul(2))),
    }
}

fn range(smallest: u64, largest: u64) -> String {
    if smallest == largest {
        size_class(smallest)
    } else {
        format!("{} – {}", size_class(smallest), size_class(largest))
    }
}

/// Table of the machine's ceilings; empty if unknown.
pub(super) fn ceilings(job: &HtmlJob<'_>) -> String {
    let Some(ceilings) = job.ceilings else { return String::new() };
    let mut out = String::from("<details><summary>Ceilings of this machine</summary><table class=ceilings><tbody>");
    let mut row = |name: &str, value: f64| {
        if value > 0.0 {
            let _ = write!(out, "<tr><th scope=row>{}</th><td>{}</td></tr>", escaped(name), rate(value));
        }
    };
    row("cold read, all cores", ceilings.cold_read.unwrap_or(0.0));
    row("cached read, one core", ceilings.cached_read);
    row("cached read, all cores", ceilings.cached_read_all);
    row("write", ceilings.write);
    row("write and sync", ceilings.write_sync);
    row("memory copy", ceilings.copy);
    row("fresh memory", ceilings.fresh_memory);
    ceilings.kernels.iter().for_each(|kernel| row(&format!("{}, one core", kernel.name), kernel.rate));
    let measured = measured(ceilings);
    out + &format!("</tbody></table><p class=soft>{measured}</p></details>")
}

fn measured(ceilings: &Ceilings) -> String {
    let [machine, disk] = [&ceilings.machine, &ceilings.disk].map(|name| escaped(name));
    match ceilings.measured_unix_s {
        0 => format!("Quick measurement of {machine}. Run <code>polyhaul limits</code> to include the disk."),
        when => format!("Measured {}: {machine}, {disk}.", date(when)),
    }
}

/// Notes about merged or omitted data.
pub(super) fn notes(job: &HtmlJob<'_>) -> String {
    let recording = job.recording;
    let rows = &job.rows;
    let mut notes = Vec::new();
    if rows.merged_spans > 0 {
        notes.push(format!(
            "{} spans shorter than {} were merged with their neighbors. A merged bar has the color of the phase that took \
             most of its time.",
            count(rows.merged_spans),
            time(rows.merged_below_ns)
        ));
    }
    if recording.dropped_spans > 0 {
        notes.push(format!(
            "{} spans were not recorded because there were too many. They are missing from the charts, but not from the \
             table of phases.",
            count(recording.dropped_spans)
        ));
    }
    if rows.hidden_threads > 0 {
        notes.push(counted(rows.hidden_threads as u64, ["more thread has no row.", "more threads have no row."]));
    }
    let notes: String = notes.iter().map(|note| format!("<p class=note>{note}</p>")).collect();
    notes
}

/// Note on the step size of the charts.
pub(super) fn about_steps(job: &HtmlJob<'_>) -> String {
    format!("Rates and cores are shown in steps of {}.", time(job.steps.step_ns))
}

/// Caption of the thread chart.
pub(super) fn about_threads(job: &HtmlJob<'_>) -> String {
    let totals = job.recording.totals();
    let mut phases: Vec<_> = Phase::ALL.into_iter().map(|phase| (totals.total(phase), phase_words(phase))).collect();
    phases.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let longest: Vec<_> = phases.iter().filter(|(ns, _)| *ns > 0).take(3).map(|(_, words)| *words).collect();
    let threads = counted(job.rows.rows.len() as u64, ["thread", "threads"]);
    format!("{threads} over {}, mostly {}.", time(job.extent.length_ns()), longest.join(", "))
}

/// Caption of the core chart.
pub(super) fn about_cores(job: &HtmlJob<'_>) -> String {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let computing = mean(&job.steps.computing);
    let calling = mean(&job.steps.calling);
    let threads = counted(job.recording.wanted_threads as u64, ["thread was", "threads were"]);
    format!("On average {computing:.1} of {threads} computing and {calling:.1} reading or writing.")
}

/// Caption of a rate chart.
pub(super) fn about_rates(job: &HtmlJob<'_>, steps: &[f64]) -> String {
    let max_rate = steps.iter().copied().fold(0.0, f64::max) * 1e9 / job.steps.step_ns as f64;
    format!(
        "{} in total, at most {} in a step of {}.",
        bytes(steps.iter().sum()),
        rate(max_rate),
        time(job.steps.step_ns)
    )
}

/// Caption of the memory chart.
pub(super) fn about_memory(job: &HtmlJob<'_>) -> String {
    format!("At most {} resident.", bytes(most_memory(job.recording) as f64))
}

fn most_memory(recording: &Recording) -> u64 {
    recording.samples.iter().map(|sample| sample.resident_bytes).max().unwrap_or_default()
}
