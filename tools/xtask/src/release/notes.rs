//! The release notes: the newest section of the changelog.

use super::files::{Release, VERSION, of};
use crate::root;
use crate::steps::Outcome;
use std::fs;
use std::io;

pub(super) fn step(release: &Release) -> Outcome {
    of(write(release))
}

fn write(release: &Release) -> io::Result<()> {
    let changelog = fs::read_to_string(root::root().join("CHANGELOG.md"))?;
    let notes = newest(&changelog).ok_or_else(|| io::Error::other("CHANGELOG.md has no section"))?;
    fs::write(release.files.join(format!("polyhaul-{VERSION}-notes.md")), notes)
}

/// Returns the text of the first section, without its heading.
fn newest(changelog: &str) -> Option<&str> {
    let (_, section) = changelog.split_once("\n## ")?;
    let (_, text) = section.split_once('\n')?;
    Some(text.split("\n## ").next().unwrap_or(text).trim_start())
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_notes_are_the_newest_section() {
        let changelog = "# Changelog\n\nIntroduction.\n\n## 0.2.0\n\n### New\n\n- b\n\n## 0.1.0\n\n- a\n";
        assert_eq!(newest(changelog), Some("### New\n\n- b\n"));
        assert_eq!(newest("# Changelog\n"), None);
    }
}
