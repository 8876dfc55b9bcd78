//! Chart of a sweep: seconds against rate, both logarithmic, with a panel per thread count.
//!
//! Measured curves are lines with dots, and predicted curves are dashed lines. The unthrottled page cache and the disk
//! have their own columns on the right. Only positions are computed here.

use super::{Device, Sweep, SweepKind};
use crate::chart::{Anchor, Picture, log_marks};
use crate::words::{bytes, rate, time};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 32.0;
/// Space for axis labels.
const LEFT: f64 = 76.0;
const PLOT_HEIGHT: f64 = 400.0;
/// Height of a panel with up to two lines of advice.
const PANEL_HEIGHT: f64 = PLOT_HEIGHT + 110.0;
/// Width of a column for a device without a rate.
const COLUMN: f64 = 76.0;
/// Height of a line of advice below a panel, and its maximum length in characters.
const ADVICE_HEIGHT: f64 = 17.0;
const ADVICE_CHARS: usize = 75;

const GROUND: &str = "#ffffff";
const INK: &str = "#1c1f24";
const SOFT: &str = "#626a75";
const LINE: &str = "#e2e4e7";
const MARK: &str = "#8b929c";
/// Colors that differ in lightness as well as hue.
const COLORS: [&str; 6] = ["#1c1f24", "#d1622b", "#2f6fb7", "#1a936f", "#b5509c", "#e0a21b"];

/// Draws a sweep as an SVG document.
pub(super) fn svg(sweep: &Sweep) -> String {
    let threads = sweep.threads();
    let columns = threads.len().clamp(1, 2);
    let rows = threads.len().div_ceil(columns).max(1);
    let advice_lines = threads.iter().map(|&threads| advice(sweep, threads).len()).max().unwrap_or(0);
    let panel_height = PANEL_HEIGHT + ADVICE_HEIGHT * advice_lines.saturating_sub(2) as f64;
    let height = 132.0 + rows as f64 * panel_height;
    let interrupted = sweep.interruption().map_or(String::new(), |note| format!(" ({note})"));
    let what = if sweep.kind == SweepKind::Storage { "Time to load" } else { "Run time of" };
    let title = format!("{what} {}{interrupted}", sweep.asset);
    let mut picture = Picture::new(WIDTH, height, &title);
    picture.bar([0.0, 0.0, WIDTH, height], GROUND, 1.0);
    picture.text([MARGIN, 44.0], Anchor::Start, 24.0, INK, &title);
    legend(&mut picture, sweep);
    let width = (WIDTH - MARGIN) / columns as f64;
    for (index, &threads) in threads.iter().enumerate() {
        let left = (index % columns) as f64 * width + MARGIN + LEFT;
        let top = 132.0 + (index / columns) as f64 * panel_height;
        let right = left + width - LEFT - MARGIN;
        if let Some(mut panel) = Panel::new(&mut picture, sweep, threads, [left, top, right]) {
            panel.draw();
        }
    }
    picture.finish()
}

/// Draws the legend of colors and line styles.
fn legend(picture: &mut Picture, sweep: &Sweep) {
    let mut x = MARGIN;
    for (index, stored) in sweep.stored.iter().enumerate() {
        let says = format!("{} ({})", stored.name, bytes(stored.bytes as f64));
        picture.line([x, 76.0, x + 26.0, 76.0], color(index), "stroke-width=\"3\"");
        picture.text([x + 34.0, 80.5], Anchor::Start, 14.0, INK, &says);
        x += 62.0 + 7.6 * says.chars().count() as f64;
    }
    let is_predicted = sweep.cells.iter().any(|cell| cell.predicted_seconds.is_some());
    let lines = match (sweep.is_measured(), is_predicted) {
        (true, true) => "solid: measured, dashed: predicted",
        (true, false) => "measured",
        (false, _) => "predicted only",
    };
    picture.text([WIDTH - MARGIN, 80.5], Anchor::End, 13.0, SOFT, lines);
}

fn color(stored: usize) -> &'static str {
    COLORS[stored % COLORS.len()]
}

/// A panel: the curves of one thread count, and its scales.
struct Panel<'a> {
    picture: &'a mut Picture,
    sweep: &'a Sweep,
    threads: usize,
    /// Left, top and right edge of the plot.
    edges: [f64; 3],
    /// Minimum and maximum rate of the axis.
    rates: [f64; 2],
    /// Minimum and maximum time of the axis, in seconds.
    seconds: [f64; 2],
    /// Devices without a rate, one column each.
    columns: Vec<Device>,
}

impl<'a> Panel<'a> {
    /// Returns `None` if no cell has a time.
    fn new(picture: &'a mut Picture, sweep: &'a Sweep, threads: usize, edges: [f64; 3]) -> Option<Panel<'a>> {
        let mut rates = [f64::INFINITY, 0.0];
        let mut seconds = [f64::INFINITY, 0.0];
        let widen = |ends: &mut [f64; 2], value: f64| *ends = [ends[0].min(value), ends[1].max(value)];
        for cell in sweep.cells.iter().filter(|cell| cell.threads == threads) {
            if let Device::Rate(rate) = cell.device {
                widen(&mut rates, rate as f64);
            }
            let times = [false, true].into_iter().filter_map(|is_model| cell.seconds(is_model));
            times.for_each(|time| widen(&mut seconds, time));
        }
        if seconds[1] <= 0.0 {
            return None;
        }
        // Margins keep the ends distinct and values off the border.
        let seconds = [seconds[0] * 0.8, seconds[1] * 1.25];
        let rates = if rates[1] <= 0.0 { [1e6, 1e9] } else { [rates[0] * 0.9, rates[1] * 1.1] };
        let columns = sweep.devices().into_iter().filter(|device| !matches!(device, Device::Rate(_))).collect();
        Some(Panel { picture, sweep, threads, edges, rates, seconds, columns })
    }

    fn draw(&mut self) {
        let [left, top, _] = self.edges;
        let head = format!("{} {}", self.threads, if self.threads == 1 { "thread" } else { "threads" });
        self.picture.text([left, top - 14.0], Anchor::Start, 15.0, INK, &head);
        self.axes();
        for stored in 0..self.sweep.stored.len() {
            self.curve(stored, true);
            self.curve(stored, false);
        }
        self.crossings();
        let bottom = top + PLOT_HEIGHT;
        self.picture.text([(left + self.end()) / 2.0, bottom + 46.0], Anchor::Middle, 13.0, SOFT, "device rate");
        for (number, line) in advice(self.sweep, self.threads).iter().enumerate() {
            self.picture.text([left, bottom + 70.0 + ADVICE_HEIGHT * number as f64], Anchor::Start, 13.0, INK, line);
        }
    }

    /// Right end of the rate axis, where the columns start.
    fn end(&self) -> f64 {
        self.edges[2] - self.columns.len() as f64 * COLUMN
    }

    fn x(&self, device: Device) -> f64 {
        match device {
            Device::Rate(rate) => {
                let share = (rate as f64 / self.rates[0]).ln() / (self.rates[1] / self.rates[0]).ln();
                self.edges[0] + share * (self.end() - self.edges[0])
            }
            column => {
                let place = self.columns.iter().position(|other| *other == column).unwrap_or(0);
                self.end() + (place as f64 + 0.5) * COLUMN
            }
        }
    }

    fn y(&self, seconds: f64) -> f64 {
        let share = (seconds / self.seconds[0]).ln() / (self.seconds[1] / self.seconds[0]).ln();
        self.edges[1] + PLOT_HEIGHT * (1.0 - share)
    }

    fn axes(&mut self) {
        let [left, top, right] = self.edges;
        let bottom = top + PLOT_HEIGHT;
        let end = self.end();
        for seconds in log_marks(self.seconds) {
            let y = self.y(seconds);
            self.picture.line([left, y, right, y], LINE, "");
            let says = time((1e9 * seconds) as u64);
            self.picture.text([left - 10.0, y + 4.0], Anchor::End, 12.0, SOFT, &says);
        }
        let mut free = 0.0;
        for value in log_marks(self.rates) {
            let x = self.x(Device::Rate(value as u64));
            self.picture.line([x, top, x, bottom], LINE, "");
            // Skip labels that would overlap.
            if x >= free {
                self.picture.text([x, bottom + 20.0], Anchor::Middle, 12.0, SOFT, &rate(value));
                free = x + 66.0;
            }
        }
        for device in self.columns.clone() {
            let x = self.x(device);
            self.picture.text([x, bottom + 20.0], Anchor::Middle, 12.0, SOFT, &device.words());
        }
        self.picture.line([left, bottom, right, bottom], MARK, "");
        self.picture.line([end, top, end, bottom], MARK, "stroke-dasharray=\"2 4\"");
    }

    /// Draws a curve: a solid line with dots for measurements, a dashed line for predictions. In a column, draws only a
    /// dot or a dash.
    fn curve(&mut self, stored: usize, is_model: bool) {
        let seconds = |device| self.sweep.cell(stored, self.threads, device)?.seconds(is_model);
        let places = self.sweep.devices().into_iter().filter_map(|device| Some((device, seconds(device)?)));
        let places: Vec<_> = places.map(|(device, seconds)| (device, self.x(device), self.y(seconds))).collect();
        let along = places.iter().filter(|place| matches!(place.0, Device::Rate(_))).map(|place| (place.1, place.2));
        let stroke = color(stored);
        let dashes = if is_model { "stroke-dasharray=\"7 5\" stroke-opacity=\"0.6\"" } else { "" };
        let look = format!("fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\" {dashes}");
        self.picture.path(along, &look);
        for (device, x, y) in places {
            match (is_model, device) {
                (false, _) => self.picture.bar([x - 3.5, y - 3.5, 7.0, 7.0], stroke, 1.0),
                (true, Device::Rate(_)) => {}
                (true, _) => self.picture.line([x - 12.0, y, x + 12.0, y], stroke, "stroke-dasharray=\"5 3\""),
            }
        }
    }

    /// Draws crossings of the original with other variants.
    fn crossings(&mut self) {
        let bottom = self.edges[1] + PLOT_HEIGHT;
        for crossing in self.sweep.crossings(self.threads) {
            if crossing.above != 0 && crossing.below != 0 {
                continue;
            }
            let other = crossing.above.max(crossing.below);
            let x = self.x(Device::Rate(crossing.rate as u64));
            let y = self.y(crossing.seconds);
            self.picture.line([x, y, x, bottom], color(other), "stroke-dasharray=\"2 3\"");
            let says = rate(super::two_digits(crossing.rate));
            self.picture.text(
                [x + 4.0, bottom - 6.0 - 15.0 * (other - 1) as f64],
                Anchor::Start,
                12.0,
                color(other),
                &says,
            );
        }
    }
}

/// The lines of advice for a thread count.
fn advice(sweep: &Sweep, threads: usize) -> Vec<String> {
    lines(&sweep.advice(threads).join("; "))
}

/// Wraps advice between words.
fn lines(advice: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in advice.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < ADVICE_CHARS) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_chart_has_every_curve_and_crossing() {
        let mut sweep = sample(&[50_000_000, 200_000_000, 900_000_000, 4_000_000_000]);
        let text = svg(&sweep);
        // One measured and one predicted curve each.
        assert_eq!(text.matches("<polyline").count(), 4);
        assert!(text.contains("island.pbrt") && text.contains("2 threads") && text.contains("unlimited"));
        assert!(text.contains("store it as zstd below 670 MB/s and as is above that"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf\""));
        sweep.cells.iter_mut().for_each(|cell| cell.measured = None);
        assert!(svg(&sweep).contains("predicted only"));
    }

    #[test]
    fn nothing_to_show_is_no_failure() {
        assert!(svg(&Sweep::default()).starts_with("<svg"));
        let mut sweep = sample(&[]);
        sweep.cells.truncate(1);
        assert!(svg(&sweep).contains("unlimited"));
        sweep.cells[0].measured = None;
        sweep.cells[0].predicted_seconds = Some(0.0);
        assert!(svg(&sweep).starts_with("<svg"));
    }

    #[test]
    fn long_advice_takes_several_lines() {
        let advice =
            "store it as zstd below 290 MB/s, as lz4 up to 540 MB/s, as is up to 1.5 GB/s and as none above that, more";
        let lines_of_advice = lines(advice);
        assert!(
            lines_of_advice.len() == 2 && lines_of_advice.iter().all(|line| line.len() <= ADVICE_CHARS),
            "{lines_of_advice:?}"
        );
        assert_eq!((lines_of_advice.join(" "), lines("as is")), (advice.to_owned(), vec!["as is".to_owned()]));
    }

    #[test]
    fn advice_with_many_lines_makes_room() {
        let mut sweep = sample(&[50_000_000, 4_000_000_000]);
        assert!(svg(&sweep).contains(" height=\"642\" viewBox"));
        // A name with a line of its own makes a third line, which would overlap the next panel or leave the picture.
        sweep.stored[1].name = "z".repeat(ADVICE_CHARS);
        assert_eq!(advice(&sweep, 2).len(), 3);
        assert!(svg(&sweep).contains(" height=\"659\" viewBox"));
    }
}
