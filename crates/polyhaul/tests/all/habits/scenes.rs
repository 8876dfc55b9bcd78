//! Deviations in pbrt.

use super::words::{lines, pick};
use super::{Change, Changed, hold};
use polyhaul_testkit::random::Random;

/// A scene with one triangle more, whose indices are these.
fn with_triangle(bytes: &[u8], indices: &str) -> Option<String> {
    let text = lines(bytes)?.concat();
    (text.contains("WorldBegin") && !text.contains("WorldEnd") && !text.contains("Import")).then_some(())?;
    Some(format!("{text}\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [{indices}]\n"))
}

fn excess(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let usual = with_triangle(bytes, "0 1 2")?;
    let excess = ["0 1 2 0", "0 1 2 2 1"][random.below(2)];
    // What a scene states is kept, and compared as it is.
    Some(Changed::warned(with_triangle(bytes, excess)?, "wrong-count")?.meaning(usual).but("renderer"))
}

fn out_of_range(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let indices = ["0 1 3", "0 -1 2", "2000000000 1 0"][random.below(3)];
    Changed::refused(with_triangle(bytes, indices)?, "x.pbrt:")
}

/// A comment at the end of a line, or a line break between two parameters.
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
