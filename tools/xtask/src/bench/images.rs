//! Textures: the programs that decode the files, and their results. Every program prints a line for each reader of each
//! file; they alternate, round after round.

use super::plan::{Part, Place};
use super::runs::{fields, median, output};
use crate::term;
use serde::{Deserialize, Serialize};

/// The textures made from an image, and their names.
pub(super) const MADE: [(&str, &str); 4] = [
    (BC1, "Making BC1"),
    (BC7, "Making BC7, fast"),
    ("mips-box", "All mip levels, box, sRGB"),
    ("mips-kaiser", "All mip levels, Kaiser, sRGB"),
];
pub(super) const BC1: &str = "bc1";
pub(super) const BC7: &str = "bc7-fast";

/// The title of the README's table.
pub(super) const HEAD: &str = "Reading images";
/// Its columns.
const SHOWN: [(&str, &str); 4] = [
    ("story.tga", "TGA, ms"),
    ("story-rle.tga", "TGA in packets, ms"),
    ("story.png", "PNG, ms"),
    ("story.hdr", "HDR, ms"),
];
/// Its rows: those that were measured with callbacks, by their names without.
const ROWS: [&str; 8] =
    ["polyhaul, 2 threads", "polyhaul, 1 thread", "image", "png", "stb image", "FreeImage", "Pillow", "OpenImageIO"];

/// The result of a reader for a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Picture {
    /// The file.
    #[serde(rename(serialize = "file"))]
    pub(super) group: String,
    /// The reader.
    pub(super) name: String,
    /// The least and the median of all rounds.
    pub(super) seconds: f64,
    pub(super) median_seconds: f64,
    pub(super) pixels: u64,
    /// The sum of all samples; 0 for readers that do not examine them.
    pub(super) sum: f64,
    /// How often a host was called; 0 without callbacks.
    pub(super) calls: u64,
    /// Additional memory; 0 if it was not measured.
    pub(super) extra_bytes: u64,
}

impl Picture {
    /// Whether it is of the same file by the same reader.
    fn is_like(&self, other: &Picture) -> bool {
        (&self.group, &self.name) == (&other.group, &other.name)
    }

    /// Millions of pixels per second.
    pub(super) fn rate(&self) -> f64 {
        self.pixels as f64 / self.seconds / 1e6
    }
}

/// Whether a reader found the pixels that the first reader of the file found.
pub(super) fn agrees(all: &[Picture], one: &Picture) -> Option<bool> {
    let first = all.iter().find(|other| other.group == one.group && other.sum != 0.0)?;
    (one.sum != 0.0).then(|| (one.sum - first.sum).abs() <= first.sum.abs() * 1e-9)
}

/// The README's table, its head first: the least times of 2048 x 2048 pixels, and how often a host was asked.
pub(super) fn readme(all: &[Picture]) -> Option<Vec<[String; 6]>> {
    let find = |file: &str, name: &str| all.iter().find(|it| it.group == file && it.name == name);
    find(SHOWN[0].0, ROWS[0])?;
    let heads = SHOWN.map(|(_, head)| head.to_owned());
    let row = |name: &str, cells: [String; 4], calls: &str| {
        let [a, b, c, d] = cells;
        [name.to_owned(), a, b, c, d, calls.to_owned()]
    };
    let mut table = vec![row(HEAD, heads, "most calls of a host")];
    for name in ROWS {
        let time = |file| find(file, name).map_or("-".into(), |it| format!("{:.1}", it.seconds * 1e3));
        let (called, _) = name.split_once(", ").unwrap_or((name, ""));
        let asked = all.iter().filter(|it| it.name.starts_with(&format!("{called}, callbacks")));
        let most = asked.filter(|it| SHOWN.iter().any(|(file, _)| it.group == *file)).map(|it| it.calls).max();
        let shown = if called == "polyhaul" { format!("**{name}**") } else { name.into() };
        let cells = SHOWN.map(|(file, _)| time(file));
        if cells.iter().any(|cell| cell != "-") {
            table.push(row(&shown, cells, &most.map_or("-".into(), |calls| calls.to_string())));
        }
    }
    Some(table)
}

/// The quality of a result: the error of blocks, or whether the pixels equal those of others.
pub(super) fn result(all: &[Picture], one: &Picture) -> String {
    if [BC1, BC7].contains(&&*one.group) {
        return format!("{:.2} dB", one.sum);
    }
    agrees(all, one).map_or("-", |same| if same { "right" } else { "OTHER" }).into()
}

/// Makes the files, and has all programs decode them.
pub(super) fn run(part: &Part, place: &Place, rounds: usize) -> Result<Vec<Picture>, String> {
    term::out(format!("images: {rounds} rounds\n"));
    if let Some(make) = &part.make {
        output(&place.fill(make, &[])?.unwrap_or_default())?;
    }
    let mut found = Vec::new();
    for _ in 0..rounds {
        for command in &part.commands {
            let Some(program) = place.fill(command, &[])? else { continue };
            let text = output(&[&place.tools.prefix[..], &program].concat())?;
            found.extend(text.lines().filter_map(picture));
        }
    }
    Ok(merged(&found))
}

fn picture(line: &str) -> Option<Picture> {
    let picture: Picture = fields(line.strip_prefix("image ")?)?;
    Some(Picture { name: picture.name.replace('_', " "), ..picture })
}

/// One of each, with the least time of all rounds, in the order of the first; those of a file together.
fn merged(found: &[Picture]) -> Vec<Picture> {
    let mut firsts: Vec<&Picture> = Vec::new();
    for one in found {
        if !firsts.iter().any(|it| it.is_like(one)) {
            firsts.push(one);
        }
    }
    firsts.sort_by_key(|one| found.iter().position(|it| it.group == one.group));
    firsts.into_iter().map(|one| merge(found, one)).collect()
}

fn merge(found: &[Picture], one: &Picture) -> Picture {
    let rounds = || found.iter().filter(|it| it.is_like(one));
    let seconds = rounds().map(|round| round.seconds).fold(f64::INFINITY, f64::min);
    let median_seconds = median(rounds().map(|round| round.median_seconds)).unwrap_or(seconds);
    Picture { seconds, median_seconds, ..one.clone() }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A made-up result of a million pixels.
    pub(crate) fn made(group: &str, name: &str, seconds: f64, calls: u64) -> Picture {
        let (group, name) = (group.into(), name.into());
        Picture { group, name, seconds, median_seconds: seconds, pixels: 1_000_000, sum: 9.0, calls, extra_bytes: 0 }
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
        let all = [
            made(file, "polyhaul, 2 threads", 0.001, 0),
            made(file, "polyhaul, callbacks, 2 threads", 0.001, 7),
            made("large.tga", "polyhaul, callbacks, 2 threads", 0.001, 900),
            made(file, "image", 0.002, 0),
        ];
        let table = readme(&all).unwrap();
        assert_eq!(table[1], ["**polyhaul, 2 threads**", "1.0", "-", "-", "-", "7"]);
        assert_eq!((table.len(), table[2][1].as_str(), table[2][5].as_str()), (3, "2.0", "-"));
        assert_eq!(readme(&[]), None);
    }

    #[test]
    fn other_pixels_are_seen() {
        let [first, mut other] = ["polyhaul", "stb"].map(|name| made("a.tga", name, 1.0, 0));
        other.sum = 9.1;
        let silent = Picture { sum: 0.0, ..first.clone() };
        let all = [silent.clone(), first.clone(), other.clone()];
        assert_eq!([&first, &other, &silent].map(|one| agrees(&all, one)), [Some(true), Some(false), None]);
    }
}
