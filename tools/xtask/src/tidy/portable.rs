//! File names that Windows forbids: cloning would fail, or a test would open a device.

use super::{Finding, Tree};
use std::collections::HashMap;

/// Names that refer to a device in every folder, with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Rule: every path of the repository is valid on Windows, and no two differ only in case.
pub(super) fn names(tree: &Tree, findings: &mut Vec<Finding>) {
    let mut by_lowercase: HashMap<String, &str> = HashMap::new();
    for &path in &tree.paths {
        if let Some(name) = path.split('/').find(|name| !is_portable(name)) {
            findings.push(Finding::new(path, 1, format!("Windows cannot have a file named `{name}`")));
        }
        // During a merge, git lists a path once per side.
        if let Some(other) = by_lowercase.insert(path.to_lowercase(), path).filter(|&other| other != path) {
            findings.push(Finding::new(path, 1, format!("differs from {other} in case alone")));
        }
    }
}

fn is_portable(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let is_port = |prefix| stem.strip_prefix(prefix).is_some_and(|rest| matches!(rest.as_bytes(), [b'1'..=b'9']));
    let is_device = DEVICES.contains(&stem.as_str()) || is_port("com") || is_port("lpt");
    let is_forbidden = |c: char| c < ' ' || r#"<>:"\|?*"#.contains(c);
    !is_device && !name.ends_with(['.', ' ']) && !name.contains(is_forbidden)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn names_that_windows_cannot_have_are_found() {
        let paths =
            ["a/Nul.pbrt", "com1/b", "lpt10", "a.nul", "what?.rs", "end.", "Same.rs", "same.rs"].map(|path| (path, ""));
        assert_eq!(
            findings_of(names, &paths),
            [
                "a/Nul.pbrt:1: Windows cannot have a file named `Nul.pbrt`",
                "com1/b:1: Windows cannot have a file named `com1`",
                "end.:1: Windows cannot have a file named `end.`",
                "same.rs:1: differs from Same.rs in case alone",
                "what?.rs:1: Windows cannot have a file named `what?.rs`",
            ]
        );
    }
}
