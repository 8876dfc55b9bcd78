//! Who may know whom between crates, by their manifests. Inside one crate it is [`super::modules`].

use super::Finding;
use super::tree::{File, Tree, numbered};

/// Each crate's folder, and the project's crates that it may depend on.
const KNOWS: &[(&str, &[&str])] = &[
    ("crates/text", &[]),
    ("crates/bytes", &[]),
    ("crates/polyhaul", &["polyhaul-text", "polyhaul-bytes"]),
    ("crates/cli", &["polyhaul"]),
    ("crates/capi", &["polyhaul"]),
    ("python", &["polyhaul"]),
    ("crates/testkit", &["polyhaul-text", "polyhaul-bytes", "polyhaul"]),
    ("bench", &["polyhaul-text", "polyhaul-bytes", "polyhaul", "polyhaul-testkit"]),
    ("fuzz", &["polyhaul-testkit"]),
    ("xtask", &[]),
];

/// What the tests of any crate may depend on besides.
const KNOWN_TO_TESTS: &[&str] = &["polyhaul-testkit"];

/// A dependency in a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The package, not the name it may be given here.
    pub(super) package: String,
    pub(super) line: usize,
    /// Whether only tests, benches and examples get it.
    pub(super) dev: bool,
}

/// Every crate depends only on the crates of its row.
pub(super) fn crates_know(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.crates().into_iter().filter_map(|folder| Some((folder, manifest(tree, folder)?)));
    manifests.flat_map(|(folder, file)| check(folder, file)).collect()
}

/// The manifest of the crate in `folder`.
pub(super) fn manifest<'a>(tree: &'a Tree, folder: &str) -> Option<&'a File> {
    tree.file(&format!("{folder}/Cargo.toml"))
}

/// The findings in one manifest.
fn check(folder: &str, file: &File) -> Vec<Finding> {
    let Some((_, known)) = KNOWS.iter().find(|(row, _)| *row == folder) else {
        let message = "this crate has no row in the table of xtask/src/tidy/manifest.rs";
        return vec![Finding::new(&file.path, 1, "who-knows-whom", message)];
    };
    let own = |d: &Dependency| d.package == "polyhaul" || d.package.starts_with("polyhaul-");
    let allowed =
        |d: &Dependency| known.contains(&d.package.as_str()) || d.dev && KNOWN_TO_TESTS.contains(&d.package.as_str());
    let wrong = dependencies(&file.text).into_iter().filter(|d| own(d) && !allowed(d));
    wrong
        .map(|d| {
            let section = if d.dev { "its tests may not know" } else { "may not know" };
            Finding::new(&file.path, d.line, "who-knows-whom", format!("{folder}: {section} {}", d.package))
        })
        .collect()
}

/// The dependencies of a manifest, those of build scripts and single targets with them.
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (line, content) in numbered(text) {
        let content = content.trim();
        if let Some(header) = content.strip_prefix('[') {
            section = header.trim_end_matches(']').into();
            if let Some((kind, name)) = section.rsplit_once('.').filter(|(kind, _)| is_section(kind)) {
                found.push(Dependency { package: name.trim_matches('"').into(), line, dev: is_dev(kind) });
            }
        } else if is_section(&section) {
            let dev = is_dev(&section);
            found.extend(package(content).map(|package| Dependency { package, line, dev }));
        }
    }
    found
}

/// Whether a section lists dependencies of this package: `dependencies`, `target.….dependencies`.
fn is_section(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section);
    !section.starts_with("workspace") && matches!(last, "dependencies" | "dev-dependencies" | "build-dependencies")
}

/// Whether the section is for tests, benches and examples.
fn is_dev(section: &str) -> bool {
    section.ends_with("dev-dependencies")
}

/// The package that `name = …` or `name.workspace = true` stands for.
fn package(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
    let renamed = value.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
    let key = key.trim().split('.').next()?.trim_matches('"');
    Some(renamed.unwrap_or(key).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &str, sections: &str) -> Vec<String> {
        let path = format!("{folder}/Cargo.toml");
        let tree = Tree::of(&[(path.as_str(), &format!("[package]\nname = \"x\"\n{sections}"))]);
        crates_know(&tree).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn text_and_bytes_know_no_crate_of_the_project() {
        let known = found("crates/text", "[dependencies]\nmemchr = \"2\"\npolyhaul-bytes.workspace = true\n");
        assert_eq!(known, ["5: crates/text: may not know polyhaul-bytes"]);
    }

    #[test]
    fn the_command_knows_the_library_alone() {
        let planted = "[dependencies]\npolyhaul = { path = \"../polyhaul\" }\nt = { package = \"polyhaul-text\" }\n";
        assert_eq!(found("crates/cli", planted), ["5: crates/cli: may not know polyhaul-text"]);
    }

    #[test]
    fn testkit_is_for_tests() {
        assert_eq!(found("crates/bytes", "[dev-dependencies]\npolyhaul-testkit.workspace = true\n"), [""; 0]);
        let planted = "[target.'cfg(unix)'.dependencies]\npolyhaul-testkit.workspace = true\n";
        assert_eq!(found("crates/bytes", planted), ["4: crates/bytes: may not know polyhaul-testkit"]);
        let planted = "[dev-dependencies]\npolyhaul-bytes.workspace = true\n";
        assert_eq!(found("crates/cli", planted), ["4: crates/cli: its tests may not know polyhaul-bytes"]);
    }

    #[test]
    fn a_section_of_its_own_is_a_dependency() {
        let planted = "[dependencies.polyhaul]\npath = \"../polyhaul\"\n";
        assert_eq!(found("crates/text", planted), ["3: crates/text: may not know polyhaul"]);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert!(found("crates/extra", "")[0].contains("no row"));
    }
}
