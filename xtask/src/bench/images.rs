//! Textures: which programs decode the files, and what they found. Every program prints a line for each reader of each
//! file; they take turns, round after round.

use super::build::Tools;
use super::json::{ToJson, object};
use super::runs::field;
use crate::term;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// How often a program decodes a file each time it is started.
const TURNS: usize = 3;
/// Files that all peers read, in the order of the tables.
pub(super) const FILES: [&str; 7] =
    ["story.tga", "story-32.tga", "story-rle.tga", "story.png", "story.hdr", "large.tga", "large-rle.tga"];

/// What textures are made of an image, and what that is called.
pub(super) const MADE: [(&str, &str); 4] = [
    (BC1, "Making BC1"),
    (BC7, "Making BC7, fast"),
    ("mips-box", "All mip levels, box, sRGB"),
    ("mips-kaiser", "All mip levels, Kaiser, sRGB"),
];
pub(super) const BC1: &str = "bc1";
pub(super) const BC7: &str = "bc7-fast";

/// What the README's table is of.
pub(super) const HEAD: &str = "Reading images";
/// Its columns.
const SHOWN: [(&str, &str); 4] = [
    ("story.tga", "TGA, ms"),
    ("story-rle.tga", "TGA in packets, ms"),
    ("story.png", "PNG, ms"),
    ("story.hdr", "HDR, ms"),
];
/// Its rows: those that were measured with callbacks, by the names that they have without.
const ROWS: [&str; 8] =
    ["polyhaul, 2 threads", "polyhaul, 1 thread", "image", "png", "stb image", "FreeImage", "Pillow", "OpenImageIO"];

/// What a reader made of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    /// The file.
    pub(super) group: String,
    /// The reader.
    pub(super) name: String,
    /// The least and the median of all rounds.
    pub(super) seconds: f64,
    pub(super) median_seconds: f64,
    pub(super) pixels: u64,
    /// The sum of all samples; 0 of who does not look at them.
    pub(super) sum: f64,
    /// How often a host was asked; 0 without callbacks.
    pub(super) calls: u64,
    /// Memory on top of what there was before; 0 where that was not measured.
    pub(super) extra_bytes: u64,
}

impl Picture {
    /// Millions of pixels per second.
    pub(super) fn rate(&self) -> f64 {
        self.pixels as f64 / self.seconds / 1e6
    }

    pub(super) fn json(&self) -> String {
        object(&[
            ("file", self.group.json()),
            ("name", self.name.json()),
            ("seconds", self.seconds.json()),
            ("median_seconds", self.median_seconds.json()),
            ("pixels", self.pixels.json()),
            ("sum", self.sum.json()),
            ("calls", self.calls.json()),
            ("extra_bytes", self.extra_bytes.json()),
        ])
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

/// What a result is worth: the error of blocks, or whether the pixels are those that others found.
pub(super) fn result(all: &[Picture], one: &Picture) -> String {
    if [BC1, BC7].contains(&&*one.group) {
        return format!("{:.2} dB", one.sum);
    }
    agrees(all, one).map_or("-", |same| if same { "right" } else { "OTHER" }).into()
}

/// Makes the files, and has all programs decode them.
pub(super) fn run(tools: &Tools, data: &Path, rounds: usize) -> Result<Vec<Picture>, String> {
    term::out(format!("images: {rounds} rounds\n"));
    let folder = data.join("images");
    let own = |words: &[&str], rest: &[OsString]| {
        let words = [OsString::from(&tools.bench), "images".into()].into_iter().chain(words.iter().map(OsString::from));
        words.chain(rest.iter().cloned()).collect::<Vec<OsString>>()
    };
    lines(&own(&["make"], &[folder.clone().into()]))?;
    let turns = || OsString::from(TURNS.to_string());
    let mut programs = vec![own(&["measure"], &[folder.clone().into(), turns()])];
    let others = [tools.images.clone().map(|it| vec![it.into()]), pillow(tools)];
    for start in others.into_iter().flatten() {
        let rest = [folder.clone().into(), turns()].into_iter().chain(FILES.map(OsString::from));
        programs.push(start.into_iter().chain(rest).collect());
    }
    let mut found = Found::default();
    for _ in 0..rounds {
        for program in &programs {
            let words: Vec<OsString> = tools.prefix.iter().chain(program).cloned().collect();
            lines(&words)?.lines().filter_map(picture).for_each(|picture| found.add(picture));
        }
    }
    Ok(found.merged())
}

fn pillow(tools: &Tools) -> Option<Vec<OsString>> {
    let script = crate::root::root().join("bench").join("python").join("images.py");
    Some(vec![tools.pythons.images.clone()?.into(), script.into()])
}

fn lines(words: &[OsString]) -> Result<String, String> {
    let output = Command::new(&words[0]).args(&words[1..]).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into())
    }
}

fn picture(line: &str) -> Option<Picture> {
    let line = line.strip_prefix("image ")?;
    Some(Picture {
        group: field(line, "group")?.into(),
        name: field(line, "name")?.replace('_', " "),
        seconds: field(line, "seconds")?.parse().ok()?,
        median_seconds: field(line, "median_seconds")?.parse().ok()?,
        pixels: field(line, "pixels")?.parse().ok()?,
        sum: field(line, "sum")?.parse().ok()?,
        calls: field(line, "calls")?.parse().ok()?,
        extra_bytes: field(line, "extra_bytes")?.parse().ok()?,
    })
}

/// What was found in all rounds, in the order of the first.
#[derive(Default)]
struct Found {
    order: Vec<(String, String)>,
    all: BTreeMap<(String, String), Vec<Picture>>,
}

impl Found {
    fn add(&mut self, picture: Picture) {
        let key = (picture.group.clone(), picture.name.clone());
        if !self.all.contains_key(&key) {
            self.order.push(key.clone());
        }
        self.all.entry(key).or_default().push(picture);
    }

    /// One of each, with the least time of all rounds; those of a file together.
    fn merged(mut self) -> Vec<Picture> {
        let files: Vec<String> = self.order.iter().map(|(file, _)| file.clone()).collect();
        self.order.sort_by_key(|(file, _)| files.iter().position(|other| other == file));
        self.order.iter().filter_map(|key| merge(&self.all[key])).collect()
    }
}

fn merge(rounds: &[Picture]) -> Option<Picture> {
    let mut medians: Vec<f64> = rounds.iter().map(|round| round.median_seconds).collect();
    medians.sort_by(f64::total_cmp);
    let first = rounds.first()?.clone();
    let seconds = rounds.iter().map(|round| round.seconds).fold(f64::INFINITY, f64::min);
    Some(Picture { seconds, median_seconds: medians[medians.len() / 2], ..first })
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
        let mut found = Found::default();
        for text in [line("a,_b", 2.0), line("c", 9.0), line("a,_b", 1.0), "numbers group=a".into()] {
            picture(&text).into_iter().for_each(|picture| found.add(picture));
        }
        let merged = found.merged();
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
