//! Deviations in pbrt.

use super::words::{lines, pick};
use super::{Change, Changed, hold};
use crate::support::{memory, try_converted};
use polyhaul::inspect::validate;
use polyhaul::{Format, ReadOptions, WriteOptions};
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;
use std::collections::BTreeSet;

/// Adds a triangle with these indices to a scene.
fn with_triangle(bytes: &[u8], indices: &str) -> Option<String> {
    let text = lines(bytes)?.concat();
    (text.contains("WorldBegin") && !text.contains("WorldEnd") && !text.contains("Import")).then_some(())?;
    Some(format!("{text}\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [{indices}]\n"))
}

fn excess(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let usual = with_triangle(bytes, "0 1 2")?;
    let excess = ["0 1 2 0", "0 1 2 2 1"][random.below(2)];
    // A scene keeps its parameters, which are compared as written.
    Some(Changed::warned(with_triangle(bytes, excess)?, "wrong-count")?.meaning(usual).but("renderer"))
}

fn out_of_range(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let indices = ["0 1 3", "0 -1 2", "2000000000 1 0"][random.below(3)];
    Changed::refused(with_triangle(bytes, indices)?, "x.pbrt:")
}

/// A comment with a quote and a bracket at the end of a line.
fn comments(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let at = pick(&lines, random, |line| !line.contains(['"', '#']) && line.ends_with('\n'))?;
    let line = lines[at].trim_end().to_string();
    lines[at] = format!("{line} # \"a [ comment\n");
    Changed::silent(lines.concat())
}

#[test]
fn pbrt() {
    let changes: [(&str, Change); 3] = [
        ("more indices than triangles", excess),
        ("indices that are out of range", out_of_range),
        ("a comment at the end of a line", comments),
    ];
    hold("pbrt", "pbrt", &changes);
}

/// Meshes without points, or without indices although their points form more than one face.
#[test]
fn meshes_without_arrays_are_not_converted() {
    let arrays = ["", "\"integer indices\" [0 1 2]", "\"point3 P\" [0 0 0 1 0 0 0 1 0 1 1 0]"];
    for class in ["trianglemesh", "loopsubdiv"] {
        for arrays in arrays {
            let text = format!("WorldBegin\nShape \"{class}\" {arrays}\n");
            for format in [Format::Obj, Format::Ply, Format::Glb, Format::Stl] {
                let write = WriteOptions::default().with_format(Some(format));
                let converted = try_converted(memory(&text, "x.pbrt"), &ReadOptions::default(), &write);
                let message = converted.map_err(|error| error.to_string()).unwrap_err();
                assert!(message.contains("x.pbrt:2:"), "{text}: {message}");
            }
        }
    }
}

/// Typing errors in any class or parameter name are found.
#[test]
fn misspelled_names_are_found() {
    let codes_of = |text: &str| -> BTreeSet<&'static str> {
        let validation = validate(memory(text, "x.pbrt"), &ReadOptions::default()).unwrap();
        validation.report.warnings.counts().keys().copied().collect()
    };
    let mut tried = 0;
    for sample in samples("pbrt/good", "pbrt").into_iter().filter(|sample| sample.size < 20_000) {
        let Ok(text) = String::from_utf8(sample.bytes()) else { continue };
        if !text.contains("WorldBegin") {
            continue;
        }
        if validate(memory(&text, "x.pbrt"), &ReadOptions::default()).is_err() {
            continue;
        }
        for (directive, code) in [("Shape \"sphere", "unknown-class"), ("\"float radius", "unknown-parameter")] {
            let Some(at) = text.find(directive) else { continue };
            let mut changed = text.clone();
            changed.insert(at + directive.len(), 'q');
            assert!(codes_of(&changed).contains(code), "{} {directive}q", sample.name);
            tried += 1;
        }
    }
    assert!(tried > 0);
}
