//! Renders a picture of a job: verdict, thread activity, and reads and writes next to the ceilings.
//!
//! One standalone SVG on a light background. It shows less than the HTML page (`html`), which can be zoomed.

use super::chart::{Anchor, Picture, color, marks};
use super::html::{Heading, headline};
use super::shown;
use super::shown::{Bar, Extent, ShownRows, Steps, What};
use super::words::{bytes, date, phase_words, rate, time};
use crate::ceilings::Ceilings;
use crate::verdict::Verdict;
use polyhaul_trace::{PHASE_COUNT, Phase, Recording};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = WIDTH - 32.0;
const CHART_HEIGHT: f64 = 120.0;
/// Maximum length of the name of a thread in characters.
const NAME_CHARS: usize = 15;
/// Line height of the legend.
const KEY_HEIGHT: f64 = 20.0;
/// Maximum number of bars that can be distinguished at this width.
const MAX_BARS: usize = 6_000;

const GROUND: &str = "#ffffff";
const INK: &str = "#1c1f24";
const SOFT: &str = "#626a75";
const LINE: &str = "#e2e4e7";
const MARK: &str = "#8b929c";
const FLAG: &str = "#a33c0c";

/// The picture and its layout state.
struct Chart<'a> {
    picture: Picture,
    recording: &'a Recording,
    extent: Extent,
    /// Top of the next part.
    y: f64,
}

/// Renders a job as SVG on white, with common sans-serif fonts. It is 1200 pixels wide, and its height grows with the
/// number of threads.
///
/// Shows the verdict in one line, a row per thread in phase colors, and read and write rates in steps of at most 10 ms
/// (more if the job takes over 40 s) next to the machine's ceilings. The trace must contain the same data as for
/// [`html`](super::html()).
///
/// ```
/// use polyhaul_insight::{Heading, svg};
/// use polyhaul_trace::{Detail, Trace};
///
/// let picture = svg(&Trace::new(Detail::Spans).recording(), &Heading::default(), None, None);
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn svg(recording: &Recording, heading: &Heading, verdict: Option<&Verdict>, ceilings: Option<&Ceilings>) -> String {
    let extent = Extent::from_recording(recording);
    let rows = shown::rows(recording, extent, MAX_BARS);
    let steps = shown::steps(recording, extent);
    let sides: Vec<_> = [(false, &steps.read_bytes), (true, &steps.written_bytes)]
        .into_iter()
        .filter(|(_, bytes)| bytes.iter().any(|bytes| *bytes > 0.0))
        .collect();
    let threads_height = (rows.rows.len() as f64 * row_height(rows.rows.len())).max(20.0);
    let height = 150.0 + keys_height(&rows) + threads_height + 50.0 + sides.len() as f64 * (CHART_HEIGHT + 62.0);
    let picture = Picture::new(WIDTH, height, &sentence(recording, verdict));
    let mut chart = Chart { picture, recording, extent, y: 0.0 };
    chart.picture.bar([0.0, 0.0, WIDTH, height], GROUND, 1.0);
    chart.heading(heading, verdict);
    chart.legend(&rows);
    chart.threads(&rows, threads_height);
    for (is_output, bytes) in sides {
        chart.rates(is_output, bytes, &steps, ceilings);
    }
    chart.picture.finish()
}

/// The phases that occur, with the place of each in the legend: x coordinate and line.
fn keys(rows: &ShownRows) -> Vec<(Phase, f64, usize)> {
    let mut seen = [false; PHASE_COUNT];
    rows.rows.iter().flatten().for_each(|bar| seen[bar.phase as usize] = true);
    let mut x = LEFT;
    let mut line = 0;
    let place = |phase| {
        let width = 34.0 + 7.2 * phase_words(phase).len() as f64;
        if x + width > RIGHT {
            x = LEFT;
            line += 1;
        }
        let place = (phase, x, line);
        x += width;
        place
    };
    Phase::ALL.into_iter().filter(|&phase| seen[phase as usize]).map(place).collect()
}

/// Height of the lines of the legend after the first.
fn keys_height(rows: &ShownRows) -> f64 {
    keys(rows).last().map_or(0.0, |(_, _, line)| *line as f64 * KEY_HEIGHT)
}

fn row_height(rows: usize) -> f64 {
    if rows <= 8 {
        40.0
    } else if rows <= 32 {
        22.0
    } else {
        8.0
    }
}

/// Title: the verdict, or else the elapsed time.
fn sentence(recording: &Recording, verdict: Option<&Verdict>) -> String {
    let Some(verdict) = verdict else { return format!("Elapsed: {}", time(recording.elapsed_ns)) };
    format!("{} ({})", headline(verdict), time((1e9 * verdict.seconds).max(0.0) as u64))
}

impl Chart<'_> {
    fn x(&self, at_ns: u64) -> f64 {
        let share = at_ns.saturating_sub(self.extent.start_ns) as f64 / self.extent.length_ns() as f64;
        LEFT + share.min(1.0) * (RIGHT - LEFT)
    }

    fn heading(&mut self, heading: &Heading, verdict: Option<&Verdict>) {
        let title = sentence(self.recording, verdict);
        self.picture.text([32.0, 44.0], Anchor::Start, 24.0, INK, &title);
        let began = heading.began_unix_s.map(date).unwrap_or_default();
        let parts = [&heading.command, &heading.machine, &began];
        let line = parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("  ·  ");
        let line: String = match line.char_indices().nth(160) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        };
        self.picture.text([32.0, 70.0], Anchor::Start, 13.0, SOFT, &line);
        self.y = 104.0;
    }

    fn legend(&mut self, rows: &ShownRows) {
        for (phase, x, line) in keys(rows) {
            let y = self.y + line as f64 * KEY_HEIGHT;
            self.picture.bar([x, y - 9.0, 10.0, 10.0], color(phase)[0], 1.0);
            self.picture.text([x + 16.0, y], Anchor::Start, 12.0, SOFT, phase_words(phase));
        }
        self.y += 26.0 + keys_height(rows);
    }

    fn threads(&mut self, rows: &ShownRows, height: f64) {
        let top = self.y + 8.0;
        let each = height / rows.rows.len().max(1) as f64;
        for (index, bars) in rows.rows.iter().enumerate() {
            let y = top + index as f64 * each;
            if each > 12.0 || index % 4 == 0 {
                let name = self.recording.thread_name(index);
                // Names of programs end with the ID of the thread.
                let name =
                    if name.chars().count() > NAME_CHARS { name.rsplit(' ').next().unwrap_or("") } else { &name };
                self.picture.text([LEFT - 12.0, y + each / 2.0 + 4.0], Anchor::End, 12.0, SOFT, name);
            }
            // In order of level, so that inner spans are on top.
            bars.iter().for_each(|bar| self.bar(bar, y, each));
        }
        self.sections(top, top + height, true);
        self.axis(top + height);
        self.y = top + height + 50.0;
    }

    fn bar(&mut self, bar: &Bar, y: f64, each: f64) {
        let gap = if each > 20.0 { 6.0 } else { 1.0 };
        let opacity = if let What::Merged(_, covered) = bar.what { covered.max(0.25) } else { 1.0 };
        let from = self.x(bar.start_ns);
        let to = self.x(bar.end_ns);
        self.picture.bar([from, y + gap / 2.0, (to - from).max(0.4), each - gap], color(bar.phase)[0], opacity);
    }

    /// Draws section boundaries, and names where they fit.
    fn sections(&mut self, top: f64, bottom: f64, with_names: bool) {
        let mut free = 0.0;
        for section in self.recording.sections.iter().take(200) {
            let from = self.x(section.start_ns);
            let to = self.x(section.end_ns);
            let names_width = 8.0 * section.name.len() as f64;
            if from >= free {
                self.picture.line([from, top - 12.0, from, bottom], MARK, "stroke-dasharray=\"4 4\"");
                free = from + 2.0;
            }
            if with_names && to - from > names_width {
                self.picture.label([from + 5.0, top - 4.0], Anchor::Start, SOFT, GROUND, section.name);
            }
            if to >= free {
                self.picture.line([to, top - 12.0, to, bottom], MARK, "stroke-dasharray=\"4 4\"");
                free = to + 2.0;
            }
        }
    }

    fn axis(&mut self, y: f64) {
        self.picture.line([LEFT, y, RIGHT, y], LINE, "");
        self.picture.text([LEFT, y + 18.0], Anchor::Middle, 12.0, SOFT, "0");
        for at in marks(self.extent.length_ns() as f64, 10.0) {
            let x = LEFT + at / self.extent.length_ns() as f64 * (RIGHT - LEFT);
            self.picture.line([x, y, x, y + 4.0], MARK, "");
            self.picture.text([x, y + 18.0], Anchor::Middle, 12.0, SOFT, &time(at as u64));
        }
    }

    fn rates(&mut self, is_output: bool, moved: &[f64], steps: &Steps, ceilings: Option<&Ceilings>) {
        let per_second = 1e9 / steps.step_ns as f64;
        let named = |(name, value)| (format!("{name} {}", rate(value)), value);
        let lines: Vec<_> = ceilings.iter().flat_map(|ceilings| ceilings.lines(is_output)).map(named).collect();
        let max_rate = moved.iter().copied().fold(0.0, f64::max) * per_second;
        let seen = lines.iter().map(|(_, rate)| *rate).filter(|rate| *rate <= 4.0 * max_rate);
        let top_rate = seen.fold(max_rate, f64::max) * 1.12;
        let top = self.y;
        let bottom = self.y + CHART_HEIGHT;
        let y = |rate: f64| bottom - rate / top_rate * CHART_HEIGHT;
        for value in marks(top_rate, 3.0) {
            self.picture.line([LEFT, y(value), RIGHT, y(value)], LINE, "");
            self.picture.text([LEFT - 12.0, y(value) + 4.0], Anchor::End, 12.0, SOFT, &rate(value));
        }
        let title = if is_output { "Writing" } else { "Reading" };
        let about = format!("{title}: {}", bytes(moved.iter().sum()));
        self.picture.text([LEFT + 6.0, top - 8.0], Anchor::Start, 13.0, INK, &about);
        let outline = outline(moved, per_second, steps.step_ns, self.extent.length_ns());
        let fill = color(if is_output { Phase::Write } else { Phase::Read })[0];
        let points = outline.into_iter().map(|(x, rate)| (x, y(rate)));
        self.picture.path(points, &format!("fill=\"{fill}\" stroke=\"{fill}\" stroke-width=\"0.5\""));
        self.sections(top, bottom, false);
        let above = lines.iter().filter(|(_, rate)| *rate > top_rate);
        let above: Vec<_> = above.map(|(name, _)| format!("{name} ↑")).collect();
        self.picture.text([RIGHT - 6.0, top - 8.0], Anchor::End, 12.0, FLAG, &above.join(", "));
        for (name, rate) in lines.iter().filter(|(_, rate)| *rate <= top_rate) {
            self.picture.line([LEFT, y(*rate), RIGHT, y(*rate)], FLAG, "stroke-dasharray=\"6 4\"");
            self.picture.label([RIGHT - 6.0, y(*rate) - 5.0], Anchor::End, FLAG, GROUND, name);
        }
        self.axis(bottom);
        self.y = bottom + 62.0;
    }
}

/// Outline of a step chart, as x coordinates and rates.
fn outline(moved: &[f64], per_second: f64, step_ns: u64, length_ns: u64) -> Vec<(f64, f64)> {
    let x = |index: usize| LEFT + (index as f64 * step_ns as f64 / length_ns as f64).min(1.0) * (RIGHT - LEFT);
    let edge = moved.iter().enumerate().flat_map(|(index, bytes)| {
        let rate = bytes * per_second;
        [(x(index), rate), (x(index + 1), rate)]
    });
    std::iter::once((LEFT, 0.0)).chain(edge).chain([(x(moved.len()), 0.0)]).collect()
}
