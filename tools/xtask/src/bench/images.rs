//! Image benchmarks: the programs that decode the files, and their results. Every program prints a line for each reader
//! of each file; programs alternate in rounds.

use super::plan::{Part, Place};
use super::runs::{fields, median, output};
use crate::term;
use serde::{Deserialize, Serialize};

/// Textures made from an image, and their names.
pub(super) const MADE: [(&str, &str); 4] = [
    (BC1, "Making BC1"),
    (BC7, "Making BC7, fast"),
    ("mips-box", "All mip levels, box, sRGB"),
    ("mips-kaiser", "All mip levels, Kaiser, sRGB"),
];
pub(super) const BC1: &str = "bc1";
pub(super) const BC7: &str = "bc7-fast";

/// Title of the README's table.
pub(super) const HEAD: &str = "Reading images";
/// Columns of the README's table.
const SHOWN: [(&str, &str); 4] = [
    ("story.tga", "TGA, ms"),
    ("story-rle.tga", "TGA in packets, ms"),
    ("story.png", "PNG, ms"),
    ("story.hdr", "HDR, ms"),
];
/// Rows of the README's table; their numbers of host calls come from the same programs with callbacks.
const ROWS: [&str; 8] =
    ["polyhaul, 2 threads", "polyhaul, 1 thread", "image", "png", "stb image", "FreeImage", "Pillow", "OpenImageIO"];

/// Result of a reader for a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Picture {
    /// File name.
    #[serde(rename(serialize = "file"))]
    pub(super) group: String,
    /// Reader name.
    pub(super) name: String,
    /// Minimum and median of all rounds.
    pub(super) seconds: f64,
    pub(super) median_seconds: f64,
    pub(super) pixels: u64,
    /// Sum of all samples, or 0 for readers that do not compute it.
    pub(super) sum: f64,
    /// Number of host calls, or 0 without callbacks.
    pub(super) calls: u64,
    /// Additional memory, or 0 if not measured.
    pub(super) extra_bytes: u64,
}

impl Picture {
    /// Returns whether both results are for the same reader and file.
    fn is_like(&self, other: &Picture) -> bool {
        (&self.group, &self.name) == (&other.group, &other.name)
    }

    /// Megapixels per second.
    pub(super) fn rate(&self) -> f64 {
        self.pixels as f64 / self.seconds / 1e6
    }
}

/// Returns whether a reader decoded the same pixels as the first reader of the file, judged by the sum of all samples,
/// or `None` without sums.
pub(super) fn agrees(pictures: &[Picture], picture: &Picture) -> Option<bool> {
    let first = pictures.iter().find(|other| other.group == picture.group && other.sum != 0.0)?;
    (picture.sum != 0.0).then(|| (picture.sum - first.sum).abs() <= first.sum.abs() * 1e-9)
}

/// Formats the README's table with its header: minimum times for 2048 x 2048 pixels, and the largest number of host
/// calls.
pub(super) fn readme(pictures: &[Picture]) -> Option<Vec<[String; 6]>> {
    let find = |file: &str, name: &str| pictures.iter().find(|picture| picture.group == file && picture.name == name);
    find(SHOWN[0].0, ROWS[0])?;
    let heads = SHOWN.map(|(_, head)| head.to_owned());
    let row = |name: &str, cells: [String; 4], calls: &str| {
        let [a, b, c, d] = cells;
        [name.to_owned(), a, b, c, d, calls.to_owned()]
    };
    let mut table = vec![row(HEAD, heads, "most calls of a host")];
    for name in ROWS {
        let time = |file| find(file, name).map_or("-".into(), |picture| format!("{:.1}", picture.seconds * 1e3));
        let (called, _) = name.split_once(", ").unwrap_or((name, ""));
        let with_host = pictures.iter().filter(|picture| picture.name.starts_with(&format!("{called}, callbacks")));
        let is_shown = |picture: &&Picture| SHOWN.iter().any(|(file, _)| picture.group == *file);
        let max_calls = with_host.filter(is_shown).map(|picture| picture.calls).max();
        let shown = if called == "polyhaul" { format!("**{name}**") } else { name.into() };
        let cells = SHOWN.map(|(file, _)| time(file));
        if cells.iter().any(|cell| cell != "-") {
            table.push(row(&shown, cells, &max_calls.map_or("-".into(), |calls| calls.to_string())));
        }
    }
    Some(table)
}

/// Describes the quality of a result: the error of compressed blocks, or whether the pixels equal the pixels from other
/// readers.
pub(super) fn result(pictures: &[Picture], picture: &Picture) -> String {
    if [BC1, BC7].contains(&&*picture.group) {
        return format!("{:.2} dB", picture.sum);
    }
    agrees(pictures, picture).map_or("-", |same| if same { "right" } else { "OTHER" }).into()
}

/// Creates the files, and decodes them with all programs.
pub(super) fn run(part: &Part, place: &Place, rounds: usize) -> Result<Vec<Picture>, String> {
    term::out(format!("images: {rounds} rounds\n"));
    if let Some(make) = &part.make {
        output(&place.fill(make, &[])?.unwrap_or_default())?;
    }
    let mut pictures = Vec::new();
    for _ in 0..rounds {
        for command in &part.commands {
            let Some(program) = place.fill(command, &[])? else { continue };
            let text = output(&[&place.tools.prefix[..], &program].concat())?;
            pictures.extend(text.lines().filter_map(picture));
        }
    }
    Ok(merged(&pictures))
}

fn picture(line: &str) -> Option<Picture> {
    let picture: Picture = fields(line.strip_prefix("image ")?)?;
    Some(Picture { name: picture.name.replace('_', " "), ..picture })
}

/// Merges the rounds of each program and file: the minimum of the times, and the median of the median times. Files keep
/// the order of their first occurrence.
fn merged(pictures: &[Picture]) -> Vec<Picture> {
    let mut firsts: Vec<&Picture> = Vec::new();
    for picture in pictures {
        if !firsts.iter().any(|first| first.is_like(picture)) {
            firsts.push(picture);
        }
    }
    firsts.sort_by_key(|first| pictures.iter().position(|picture| picture.group == first.group));
    firsts.into_iter().map(|first| merge(pictures, first)).collect()
}

fn merge(pictures: &[Picture], first: &Picture) -> Picture {
    let rounds = || pictures.iter().filter(|picture| picture.is_like(first));
    let seconds = rounds().map(|round| round.seconds).fold(f64::INFINITY, f64::min);
    let median_seconds = median(rounds().map(|round| round.median_seconds)).unwrap_or(seconds);
    Picture { seconds, median_seconds, ..first.clone() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fabricates a result of a million pixels.
    pub(crate) fn made(group: &str, name: &str, seconds: f64, calls: u64) -> Picture {
        Picture {
            group: group.into(),
            name: name.into(),
            seconds,
            median_seconds: seconds,
            pixels: 1_000_000,
            sum: 9.0,
            calls,
            extra_bytes: 0,
        }
    }

    #[test]
    fn lines_are_read_and_rounds_merged() {
        let line = |name: &str, seconds: f64| {
            format!(
                "image group=a.tga name={name} seconds={seconds} median_seconds=3 pixels=4 sum=5 calls=6 extra_bytes=7"
            )
        };
        let lines = [line("a,_b", 2.0), line("c", 9.0), line("a,_b", 1.0), "numbers group=a".into()];
        let merged = merged(&lines.iter().filter_map(|text| picture(text)).collect::<Vec<_>>());
        assert_eq!(merged.len(), 2);
        assert_eq!((merged[0].name.as_str(), merged[0].seconds, merged[0].calls), ("a, b", 1.0, 6));
    }

    #[test]
    fn the_readme_has_the_most_calls() {
        let file = "story.tga";
        let pictures = [
            made(file, "polyhaul, 2 threads", 0.001, 0),
            made(file, "polyhaul, callbacks, 2 threads", 0.001, 7),
            made("large.tga", "polyhaul, callbacks, 2 threads", 0.001, 900),
            made(file, "image", 0.002, 0),
        ];
        let table = readme(&pictures).unwrap();
        assert_eq!(table[1], ["**polyhaul, 2 threads**", "1.0", "-", "-", "-", "7"]);
        assert_eq!((table.len(), table[2][1].as_str(), table[2][5].as_str()), (3, "2.0", "-"));
        assert_eq!(readme(&[]), None);
    }

    #[test]
    fn other_pixels_are_seen() {
        let [first, mut other] = ["polyhaul", "stb"].map(|name| made("a.tga", name, 1.0, 0));
        other.sum = 9.1;
        let silent = Picture { sum: 0.0, ..first.clone() };
        let pictures = [silent.clone(), first.clone(), other.clone()];
        let agree = [&first, &other, &silent].map(|picture| agrees(&pictures, picture));
        assert_eq!(agree, [Some(true), Some(false), None]);
    }
}
