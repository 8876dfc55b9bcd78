//! Checks that the targets of links in pages and of references in comments exist.
//!
//! rustdoc checks links in the documentation of public items; this also covers comments of private items.

use super::modules::Modules;
use super::packages::Package;
use super::{File, Finding, Tree};
use std::collections::{HashMap, HashSet};

/// Prefixes of paths in backticks that must exist.
const PLACES: &[&str] = &["crates/", "surfaces/", "tools/", "testdata/", "docs/", ".ci/"];

/// Names that are in scope everywhere, and modules and types of the standard library that comments use.
const PRELUDE: &[&str] = &[
    "crate", "self", "super", "Self", "std", "core", "alloc", "io", "array", "str", "slice", "char", "bool", "u8",
    "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "Box", "Clone",
    "Copy", "Default", "Drop", "Err", "Fn", "FnMut", "FnOnce", "From", "Into", "Iterator", "None", "Ok", "Option",
    "Result", "Send", "Some", "String", "Sync", "ToString", "Vec",
];

/// Pages about the past, which may refer to removed things.
const HISTORY: &[&str] = &["CHANGELOG.md", "tools/bench/record/", "tools/fuzz/RECORD.md"];

/// Rule: relative links of pages lead to existing files and headings, and paths in backticks exist.
pub(super) fn pages(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files.iter().filter(|file| file.is("md")) {
        let mut is_code = false;
        for (number, line) in file.lines() {
            is_code ^= line.trim_start().starts_with("```");
            for path in spans(line).filter(|path| is_place(path) && !tree.exists(path.trim_end_matches('/'))) {
                if !HISTORY.iter().any(|history| file.path.starts_with(history)) {
                    findings.push(Finding::new(file.path, number, format!("there is no `{path}`")));
                }
            }
            for target in targets(line).filter(|_| !is_code) {
                if let Some(problem) = problem_of(tree, file, target) {
                    findings.push(Finding::new(
                        file.path,
                        number,
                        format!("the link {target} leads nowhere: {problem}"),
                    ));
                }
            }
        }
    }
}

/// Returns the targets of the links in a line of a page, without external links.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    let inline = prose.flat_map(|text| text.split("](").skip(1)).filter_map(|text| text.split([')', ' ']).next());
    let targets = inline.chain(definition.map(|(_, target)| target.trim()));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// Describes what is missing at the target of a link in `file`.
fn problem_of(tree: &Tree, file: &File, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { file.path.into() } else { join(file.path, path) };
    if !tree.exists(&path) {
        return Some(format!("{path} does not exist"));
    }
    let page = tree.file(&path).filter(|page| page.is("md"))?;
    let has_heading = anchor.is_none_or(|anchor| anchors(page).iter().any(|heading| heading == anchor));
    (!has_heading).then(|| format!("{path} has no such heading"))
}

/// Resolves `link` relative to the folder of `from`; the result is relative to the root.
fn join(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchors of a page's headings, as GitHub generates them.
fn anchors(page: &File) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in page.lines().filter(|(_, line)| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let characters = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = characters.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = anchors.iter().filter(|other| **other == anchor).count();
        anchors.push(if count == 0 { anchor } else { format!("{anchor}-{count}") });
    }
    anchors
}

/// Rule: paths of files and modules in comments exist, and so do the targets of links in documentation.
pub(super) fn references(tree: &Tree, findings: &mut Vec<Finding>) {
    let names = Names::load(tree);
    for file in tree.rust() {
        let package = tree.packages.iter().find(|package| file.path.starts_with(&format!("{}/", package.folder)));
        let comments = file.lines().map(|(number, line)| (number, line.trim_start()));
        for (number, comment) in comments.filter(|(_, line)| line.starts_with("//")) {
            let mut dead = Vec::new();
            dead.extend(sources(comment).filter(|path| !has_source(tree, package, path)));
            for span in spans(comment) {
                let is_dead = if is_place(span) { !tree.exists(span.trim_end_matches('/')) } else { !names.has(span) };
                dead.extend(is_dead.then_some(span));
            }
            dead.extend(links(comment).filter(|link| !names.leads_somewhere(tree, file, package, link)));
            dead.dedup();
            findings.extend(dead.iter().map(|name| Finding::new(file.path, number, format!("there is no `{name}`"))));
        }
    }
}

/// Returns the texts in backticks.
fn spans(comment: &str) -> impl Iterator<Item = &str> {
    comment.split('`').skip(1).step_by(2)
}

/// Returns the words that are names of Rust files.
fn sources(comment: &str) -> impl Iterator<Item = &str> {
    let words = comment.split(|c: char| !c.is_ascii_alphanumeric() && !"_-./:".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| !word.contains("://"));
    words.filter(|word| word.len() > 3 && word.ends_with(".rs") && !word.starts_with('.'))
}

/// Returns whether a Rust file matches a name in a comment of the package: by its last components, with or without
/// `src`. A name without folders must be in the same package.
fn has_source(tree: &Tree, package: Option<&Package<'_>>, name: &str) -> bool {
    let ends = |path: &str| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let is_near = |path: &str| name.contains('/') || package.is_some_and(|package| path.starts_with(package.folder));
    let mut paths = tree.paths.iter().filter(|path| path.ends_with(".rs"));
    paths.any(|path| is_near(path) && (ends(path) || ends(&path.replace("/src/", "/"))))
}

/// Returns whether a text in backticks is a path from the root, and not a pattern or placeholder.
fn is_place(span: &str) -> bool {
    let is_plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let is_placeholder = span.split('/').any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()));
    is_plain && !is_placeholder && PLACES.iter().any(|place| span.starts_with(place))
}

/// Returns the targets of intra-doc shortcut links such as [`Names::load`].
fn links(comment: &str) -> impl Iterator<Item = &str> {
    comment.split("[`").skip(1).filter_map(|rest| {
        let (link, after) = rest.split_once("`]")?;
        let link = link.rsplit('@').next()?.trim_end_matches("()").trim_end_matches('!');
        let link = link.split('<').next()?;
        let is_path = !link.is_empty() && link.chars().all(|c| c.is_alphanumeric() || "_:".contains(c));
        (is_path && !after.starts_with(['(', ':'])).then_some(link)
    })
}

/// Names that comments may refer to.
struct Names<'a> {
    /// Items by module or crate name; modules with the same name are merged. Crates are listed with and without
    /// `polyhaul_`.
    members: HashMap<String, HashSet<&'a str>>,
    /// Modules that may have more items, from macros and glob imports.
    open: HashSet<String>,
    /// Third-party dependencies.
    external: HashSet<String>,
}

impl<'a> Names<'a> {
    fn load(tree: &'a Tree) -> Names<'a> {
        let mut names = Names { members: HashMap::new(), open: HashSet::new(), external: HashSet::new() };
        for package in &tree.packages {
            names.external.extend(package.dependencies().iter().map(|(_, name)| name.replace('-', "_")));
            let root_name = package.name.replace('-', "_");
            for root in package.roots(tree).into_iter().chain(package.test_roots(tree)) {
                for (name, members, has_more) in Modules::load(tree, root).members() {
                    let name = name.unwrap_or(&root_name);
                    for name in [name, name.trim_start_matches("polyhaul_")] {
                        names.members.entry(name.into()).or_default().extend(&members);
                        if has_more {
                            names.open.insert(name.into());
                        }
                    }
                }
            }
        }
        names
    }

    /// Returns whether the modules and items in a path such as `pipeline::run` exist. Returns `true` for any text that
    /// is not such a path.
    fn has(&self, span: &str) -> bool {
        let is_path = span.contains("::") && span.chars().all(|c| c.is_alphanumeric() || "_:".contains(c));
        let segments: Vec<&str> = span.split("::").collect();
        if !is_path || PRELUDE.contains(&segments[0]) {
            return true;
        }
        for (above, name) in segments.iter().copied().zip(segments.iter().copied().skip(1)) {
            if above.starts_with(char::is_uppercase) || above.is_empty() {
                return true;
            }
            match self.members.get(above) {
                None => return self.external.contains(above),
                Some(members) if !members.contains(name) && !self.open.contains(above) => return false,
                Some(_) => {}
            }
        }
        true
    }

    /// Returns whether the first component of a link is in scope in the file, as far as this can be determined.
    fn leads_somewhere(&self, tree: &Tree, file: &File, package: Option<&Package<'_>>, link: &str) -> bool {
        let first = link.split("::").next().unwrap_or(link);
        if PRELUDE.contains(&first) || self.external.contains(first) || has_word(file, first) {
            return true;
        }
        let defines_link = format!("[`{link}`]: ");
        if file.text.contains(&defines_link) {
            return true;
        }
        // The items of a glob import are somewhere in the crate.
        let has_glob = file.paths.imports.iter().any(|import| import.name == "*");
        let near = package.map_or("", |package| package.folder);
        has_glob && tree.rust().any(|other| other.path.starts_with(near) && has_word(other, first))
    }
}

/// Returns whether the code of a file contains the word.
fn has_word(file: &File, word: &str) -> bool {
    let code = file.code();
    (0..code.len()).any(|index| code.is(index, word))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn dead_links_of_pages_are_found() {
        let readme = "# A `b`, c\n[a](docs/b.md) [b](docs/b.md#two-words) [c](#a-b-c) [d](https://a.org/x) [e](docs/)\n\
            [f](gone.md) [g](docs/b.md#gone) ![h](gone.png \"i\")\n```\n[j](gone)\n```\n`[k](gone)`\n[l]: docs/gone.md\n\
            `crates/gone/src`, `docs/b.md`, `docs/*.md`\n";
        let files = [
            ("CHANGELOG.md", "`crates/gone/src`\n"),
            ("README.md", readme),
            ("docs/b.md", "## Two words\n[a](../README.md#gone) [b](b.md)\n"),
        ];
        assert_eq!(
            findings_of(pages, &files),
            [
                "README.md:3: the link docs/b.md#gone leads nowhere: docs/b.md has no such heading",
                "README.md:3: the link gone.md leads nowhere: gone.md does not exist",
                "README.md:3: the link gone.png leads nowhere: gone.png does not exist",
                "README.md:8: the link docs/gone.md leads nowhere: docs/gone.md does not exist",
                "README.md:9: there is no `crates/gone/src`",
                "docs/b.md:2: the link ../README.md#gone leads nowhere: README.md has no such heading",
            ]
        );
    }

    fn dead(comments: &str) -> Vec<String> {
        let lib = format!("{comments}#![deny(a)]\nmod run;\nuse run::Job;\nstruct Local;\n");
        let files = [
            (
                "crates/core/pipeline/Cargo.toml",
                "[package]\nname = \"polyhaul-pipeline\"\n[dependencies]\nlibc = \"1\"\n",
            ),
            ("crates/core/pipeline/src/lib.rs", lib.as_str()),
            ("crates/core/pipeline/src/run.rs", "pub struct Job;\n"),
            ("crates/core/pipeline/tests/promises/main.rs", "mod each;\n"),
            ("crates/core/pipeline/tests/promises/each.rs", "fn cut() {}\n"),
            ("crates/core/text/src/pen.rs", ""),
        ];
        let findings = findings_of(references, &files);
        findings.iter().filter_map(|finding| Some(finding.rsplit_once("there is no ")?.1.into())).collect()
    }

    #[test]
    fn dead_references_in_comments_are_found() {
        let dead_ones = [
            ("/// See `crates/core/gone/src`.\n", "`crates/core/gone/src`"),
            ("//! See `gone/run.rs`.\n", "`gone/run.rs`"),
            ("// As in pen.rs: fast.\n", "`pen.rs`"),
            ("/// See `pipeline::gone`.\n", "`pipeline::gone`"),
            ("/// See `formats::run`.\n", "`formats::run`"),
            ("/// See [`Gone::run`].\n", "`Gone::run`"),
        ];
        for (comment, name) in dead_ones {
            assert_eq!(dead(comment), [name], "{comment}");
        }
    }

    #[test]
    fn live_references_pass() {
        let comments = [
            "`crates/core/pipeline/src/run.rs`, `crates/core/*/src`, `tools/FOLDER`, `core/text/pen.rs`",
            "pipeline/run.rs, run.rs, <https://a.org/b.rs>, `polyhaul_pipeline::run::Job`, `pipeline::run`",
            "`std::gone::a`, `libc::gone`, `Local::new`, [`Job`], [`run`], [`Local::new()`], [`mod@run`], [`Vec<u8>`]",
            "[`Gone`](https://a.org), [`Elsewhere`], a token that ends at `[`, `]` or `\"`.",
            "[`Elsewhere`]: crate::run::Job",
            "`each::cut`",
        ];
        let comments: String = comments.iter().map(|comment| format!("//! {comment}\n")).collect();
        assert_eq!(dead(&comments), [""; 0]);
    }
}
