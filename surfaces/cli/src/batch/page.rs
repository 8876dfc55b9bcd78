//! The HTML report of `batch status --html`: one self-contained file.

use crate::human;
use polyhaul::Source;
use polyhaul::place;
use polyhaul_batch::{ErrorGroup, Summary};
use std::fmt::Write;
use std::path::Path;

/// Maximum size of an embedded picture, in bytes.
const PICTURE_BYTES: u64 = 200_000;

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1a1a1a; --dim: #667; --bar: #3b6ea8; --line: #d5d8dd; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --dim: #9aa; --bar: #79a8dd; --line: #3a3f46; --bad: #f2837b } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.sums { display: flex; flex-wrap: wrap; gap: 1.5rem } .sums div { min-width: 7rem } .sums b { display: block; font-size: 1.4rem } .sums span, figcaption { color: var(--dim) } .bad { color: var(--bad) }
svg { width: 100%; height: 9rem } rect { fill: var(--bar) } summary { cursor: pointer }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .8rem } figure { margin: 0 } img { width: 100% } figcaption { font-size: .8rem; overflow-wrap: anywhere }";

/// Formats the page.
pub fn page(outputs: &Path, summary: &Summary) -> String {
    let title = format!("Library {}", escape(&human::path(outputs)));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n"
    );
    text.push_str(&sums(summary));
    text.push_str(&rates(summary));
    text.push_str(&errors(&summary.errors));
    text.push_str(&slowest(summary));
    text.push_str(&counts("Limits", "Limited by", summary.verdicts.iter()));
    text.push_str(&counts("Warnings", "Kind", summary.warnings.iter()));
    text.push_str(&pictures(outputs, &summary.pictures));
    text
}

fn sums(summary: &Summary) -> String {
    let seconds = summary.span.map_or(0.0, |(start, end)| end - start);
    let failed = if summary.failed > 0 { " class=\"bad\"" } else { "" };
    let items = [
        (human::count(summary.done), "done", ""),
        (human::count(summary.failed), "failed", failed),
        (human::bytes(summary.bytes_in), "read", ""),
        (human::bytes(summary.bytes_out), "written", ""),
        (human::seconds(seconds), "first to last attempt", ""),
        (human::rate(summary.bytes_in, seconds), "read", ""),
    ];
    let item = |(value, what, class): &(String, &str, &str)| {
        format!("<div><b{class}>{}</b><span>{what}</span></div>", escape(value))
    };
    format!("<div class=\"sums\">{}</div>\n", items.iter().map(item).collect::<String>())
}

/// Draws the throughput chart, with one bar per time interval.
fn rates(summary: &Summary) -> String {
    let top = summary.rates.iter().copied().fold(0.0, f64::max);
    if top <= 0.0 {
        return String::new();
    }
    let mut bars = String::new();
    for (number, rate) in summary.rates.iter().enumerate() {
        let height = 100.0 * rate / top;
        let x = number * 10;
        let y = 100.0 - height;
        let shown = human::rate(*rate as u64, 1.0);
        let _ = write!(
            bars,
            "<rect x=\"{x}\" y=\"{y:.1}\" width=\"9\" height=\"{height:.1}\"><title>{shown}</title></rect>"
        );
    }
    let width = summary.rates.len() * 10;
    let top = human::rate(top as u64, 1.0);
    format!(
        "<h2>Throughput</h2>\n<svg viewBox=\"0 0 {width} 100\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Bytes read per second over time\">{bars}</svg>\n<p>Peak: {top}. The bars span the time from \
         the first attempt to the last.</p>\n"
    )
}

fn errors(groups: &[ErrorGroup]) -> String {
    let mut text = String::new();
    for group in groups {
        let rows: String = group
            .examples
            .iter()
            .map(|(asset, message)| format!("<tr><td>{}</td><td>{}</td></tr>", escape(asset), escape(message)))
            .collect();
        let _ = writeln!(
            text,
            "<details open><summary>{}: {}</summary><table>{rows}</table></details>",
            escape(&group.kind),
            human::plural(group.count, "asset")
        );
    }
    if text.is_empty() { text } else { format!("<h2>Errors</h2>\n{text}") }
}

fn slowest(summary: &Summary) -> String {
    let row = |slow: &polyhaul_batch::SlowAsset| {
        let asset = escape(&slow.asset);
        let bytes = human::bytes(slow.bytes);
        let seconds = human::seconds(slow.seconds);
        format!("<tr><td>{asset}</td><td class=\"number\">{bytes}</td><td class=\"number\">{seconds}</td></tr>")
    };
    let rows: String = summary.slowest.iter().map(row).collect();
    if rows.is_empty() { rows } else { format!("<h2>Slowest</h2>\n<table>{rows}</table>\n") }
}

fn counts<'c>(title: &str, what: &str, counts: impl Iterator<Item = (&'c String, &'c u64)>) -> String {
    let row = |(name, count): (&String, &u64)| {
        format!("<tr><td>{}</td><td class=\"number\">{}</td></tr>", escape(name), human::count(*count))
    };
    let rows: String = counts.map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("<h2>{title}</h2>\n<table><tr><th>{what}<th class=\"number\">Count</tr>{rows}</table>\n")
}

fn pictures(outputs: &Path, names: &[String]) -> String {
    let picture = |name: &String| {
        let bytes = small_file(&outputs.join(name))?;
        let name = escape(name);
        let data = base64(&bytes);
        Some(format!(
            "<figure><img alt=\"{name}\" src=\"data:image/png;base64,{data}\"><figcaption>{name}</figcaption></figure>"
        ))
    };
    let figures: String = names.iter().filter_map(picture).collect();
    if figures.is_empty() {
        return figures;
    }
    format!("<h2>Pictures</h2>\n<div class=\"pictures\">{figures}</div>\n")
}

/// Reads a file of at most [`PICTURE_BYTES`]. Returns `None` if it is missing or larger.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let bytes = place::find(path).ok()?.bytes.filter(|&bytes| bytes <= PICTURE_BYTES)?;
    let mut data = vec![0; bytes as usize];
    let count = Source::open(path).ok()?.read_next(&mut data).ok()?;
    (count == data.len()).then_some(data)
}

/// Encodes bytes as Base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit <= group.len() { DIGITS[value] as char } else { '=' });
        }
    }
    text
}

fn escape(text: &str) -> String {
    human::safe(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_written_as_text() {
        assert_eq!([b"".as_slice(), b"f", b"fo", b"foo"].map(base64), ["", "Zg==", "Zm8=", "Zm9v"]);
    }

    #[test]
    fn names_are_escaped() {
        let group = ErrorGroup { kind: "<b>".into(), count: 1, examples: vec![("a&b".into(), "\"x\"".into())] };
        let text = errors(&[group]);
        assert!(text.contains("&lt;b&gt;") && text.contains("a&amp;b") && text.contains("&quot;x&quot;"));
    }
}
