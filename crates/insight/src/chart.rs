//! Building blocks of charts: phase colors, axis ticks and SVG elements.
//!
//! Contains nothing about jobs. `svg` draws a job's picture with it; pages use the same colors (`html`).

use super::words::escaped;
use polyhaul_trace::Phase;
use std::fmt::{Display, Write};

/// Font stack available to browsers and rasterizers.
pub(super) const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/// Color of a phase on light and dark backgrounds. Colors differ in lightness as well as hue, so that color-blind
/// readers can distinguish them; waiting is pale.
pub(super) fn color(phase: Phase) -> [&'static str; 2] {
    match phase {
        Phase::Read => ["#2f6fb7", "#5b9be0"],
        Phase::Write => ["#d1622b", "#e8824f"],
        Phase::Sync => ["#8f3d14", "#b86a41"],
        Phase::Host => ["#b5509c", "#d27fbd"],
        Phase::Throttle => ["#9297a0", "#767c87"],
        Phase::Decompress => ["#e0a21b", "#f0bd4c"],
        Phase::Compress => ["#a97a06", "#c99a2e"],
        Phase::Cut => ["#7cc4ea", "#a5dbf7"],
        Phase::Parse => ["#1a936f", "#2fae86"],
        Phase::Format => ["#c9bd2f", "#dcd25a"],
        Phase::Place => ["#6a4fb3", "#9a82dd"],
        Phase::Build => ["#8fd3b4", "#bfe9d3"],
        Phase::Decode => ["#0f6b75", "#2f96a1"],
        Phase::Encode => ["#f0907f", "#f7ab9d"],
        Phase::Transform => ["#a38cd8", "#c4b3ee"],
        Phase::Draw => ["#c2569b", "#e08bc2"],
        Phase::WaitInput => ["#c3cbd8", "#414b5c"],
        Phase::WaitTurn => ["#dcd3bd", "#585040"],
        Phase::WaitEnd => ["#dfe1e5", "#363b43"],
        Phase::Lock => ["#7a1f3d", "#c04a72"],
        Phase::Await => ["#8c2f55", "#c45a80"],
        Phase::Run => ["#2c9a74", "#37b98e"],
        Phase::Ready => ["#e3a9a0", "#7d453d"],
        Phase::Sleep => ["#e6e8eb", "#2b3038"],
        _ => ["#eceef0", "#23272e"],
    }
}

/// Round axis values above 0 up to `max`, about `count` of them.
pub(super) fn marks(max: f64, count: f64) -> Vec<f64> {
    let rough = max / count.max(1.0);
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough).unwrap_or(10.0) * power;
    // The tolerance keeps the last tick if rounding moves it slightly beyond `max`.
    (1..=100).map(|index| index as f64 * step).take_while(|value| *value <= max * 1.000_001).collect()
}

/// Minimum number of ticks on a logarithmic axis.
const MIN_MARKS: usize = 3;

/// Round values between `low` and `high` for a logarithmic axis: 1, 2 and 5 times powers of ten, or finer steps if
/// those yield fewer than [`MIN_MARKS`].
pub(super) fn log_marks([low, high]: [f64; 2]) -> Vec<f64> {
    if !low.is_finite() || !high.is_finite() || low <= 0.0 || low >= high {
        return Vec::new();
    }
    let first = low.log10().floor() as i32;
    let last = high.log10().floor() as i32;
    let digits = |digits: &[f64]| -> Vec<f64> {
        let candidates = (first..=last).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        candidates.filter(|value| (low..=high).contains(value)).collect()
    };
    let steps: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]];
    let values = steps.into_iter().map(digits).find(|values| values.len() >= MIN_MARKS);
    values.unwrap_or_else(|| even_marks([low, high]))
}

/// Evenly spaced round values between `low` and `high`: [`MIN_MARKS`] or slightly more.
fn even_marks([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / (MIN_MARKS + 1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= rough).unwrap_or(1.0) * power;
    let first = (low / step).ceil();
    (0..20).map(|index| (first + f64::from(index)) * step).take_while(|value| *value <= high).collect()
}

/// An SVG document under construction.
#[derive(Debug)]
pub(super) struct Picture {
    text: String,
}

/// Alignment of a text relative to its position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Picture {
    /// An empty picture; `title` is the accessible description.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Picture {
        let title = escaped(title);
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" font-family=\"{FONT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
        );
        Picture { text }
    }

    /// Adds a filled rectangle.
    pub(super) fn bar(&mut self, [x, y, width, height]: [f64; 4], fill: &str, opacity: f64) {
        let [x, y, width, height] = [x, y, width, height].map(Short);
        let _ = write!(self.text, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"");
        if opacity < 1.0 {
            let _ = write!(self.text, " fill-opacity=\"{}\"", Short(opacity));
        }
        self.text.push_str("/>\n");
    }

    /// Adds a line with additional attributes.
    pub(super) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], stroke: &str, more: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(Short);
        let _ =
            writeln!(self.text, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{stroke}\" {more}/>");
    }

    /// Adds a polyline with additional attributes.
    pub(super) fn path(&mut self, points: impl IntoIterator<Item = (f64, f64)>, more: &str) {
        self.text.push_str("<polyline points=\"");
        for (x, y) in points {
            let _ = write!(self.text, "{},{} ", Short(x), Short(y));
        }
        let _ = writeln!(self.text, "\" {more}/>");
    }

    /// Adds text; escapes it, since it may be untrusted.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, size: f64, fill: &str, says: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let x = Short(x);
        let y = Short(y);
        let says = escaped(says);
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\" text-anchor=\"{anchor}\">{says}</text>"
        );
    }

    /// Adds 12 px text on a background, readable on top of anything.
    pub(super) fn label(&mut self, [x, y]: [f64; 2], anchor: Anchor, fill: &str, ground: &str, says: &str) {
        let width = 6.8 * says.chars().count() as f64 + 8.0;
        let left = match anchor {
            Anchor::Start => x - 4.0,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x + 4.0 - width,
        };
        self.bar([left, y - 12.0, width, 16.0], ground, 0.88);
        self.text([x, y], anchor, 12.0, fill, says);
    }

    /// Returns the complete document.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Formats a number with at most two decimals.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 100.0).round() / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(marks(10.0, 4.0), [5.0, 10.0]);
        assert_eq!(marks(9e9, 4.0), [5e9]);
        assert_eq!(marks(2.0, 4.0), [0.5, 1.0, 1.5, 2.0]);
        assert!(marks(0.0, 4.0).is_empty() && marks(f64::NAN, 4.0).is_empty() && marks(f64::INFINITY, 1.0).is_empty());
    }

    #[test]
    fn marks_of_logarithmic_axes_lie_between_the_ends() {
        assert_eq!(log_marks([0.3, 20.0]), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
        assert!(log_marks([0.0, 1.0]).is_empty() && log_marks([2.0, f64::INFINITY]).is_empty());
        assert!(log_marks([3.0, 3.0]).is_empty());
        // Short axes have ticks, too.
        assert_eq!(log_marks([6.0, 9.0]), [6.0, 7.0, 8.0, 9.0]);
        for (low, high) in [(0.61, 0.69), (1.0, 1.01), (0.0123, 0.0125), (99.0, 101.0), (4.1e8, 4.2e8)] {
            let marks = log_marks([low, high]);
            assert!(
                marks.len() >= MIN_MARKS && marks.iter().all(|mark| (low..=high).contains(mark)),
                "{low} {marks:?}"
            );
        }
    }

    #[test]
    fn no_two_phases_look_the_same() {
        for theme in 0..2 {
            let colors: std::collections::BTreeSet<_> = Phase::ALL.iter().map(|&phase| color(phase)[theme]).collect();
            assert_eq!(colors.len(), Phase::ALL.len());
        }
    }

    #[test]
    fn text_from_outside_stays_text() {
        let mut picture = Picture::new(10.0, 20.5, "<\"");
        picture.text([1.0, 1.0 / 3.0], Anchor::Middle, 12.0, "#000", "</svg><script>");
        let text = picture.finish();
        assert!(text.contains("y=\"0.33\"") && text.contains("&#60;/svg&#62;&#60;script&#62;"));
        assert_eq!(text.matches("</svg>").count(), 1);
    }
}
