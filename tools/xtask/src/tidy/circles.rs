//! Finds import cycles: files of a crate that need each other cannot be read, moved or tested separately.
//!
//! An edge leads from a file to each file that defines an item it names, with re-exports resolved; declaring a module
//! and re-exporting its items are not edges. The files of one folder may form a cycle; cycles across folders are
//! limited in size, and so are cycles of the modules directly below a crate's root, whatever their folders. Tests are
//! ignored.

use super::modules::Modules;
use super::{Finding, Tree};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Maximum size of a cycle.
const MAX_CIRCLE: usize = 3;

/// Kind of the members of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CircleKind {
    /// Files in several folders.
    Files,
    /// Modules directly below the root of a crate.
    Modules,
}

/// A cycle that is too large.
struct Circle<'a> {
    /// Folder of its crate.
    folder: &'a str,
    kind: CircleKind,
    members: Vec<String>,
    /// Edges between its members: path, line and target.
    arrows: Vec<(&'a str, usize, String)>,
}

/// Rule: no cycle of more than [`MAX_CIRCLE`] files in several folders, or of modules below the root of a crate.
/// Reports the edges too.
pub(super) fn circles(tree: &Tree, findings: &mut Vec<Finding>) {
    for circle in load(tree) {
        let noun = match circle.kind {
            CircleKind::Files => "files",
            CircleKind::Modules => "modules",
        };
        let count = circle.members.len();
        let members = circle.members.join(" ");
        let message = format!("{count} {noun} import each other in a circle (the limit is {MAX_CIRCLE}): {members}");
        findings.push(Finding::new(&format!("{}/Cargo.toml", circle.folder), 1, message));
        for (path, line, target) in circle.arrows {
            findings.push(Finding::new(path, line, format!("leads to {target} in a circle of {noun}")));
        }
    }
}

fn load<'a>(tree: &'a Tree) -> Vec<Circle<'a>> {
    let mut circles = Vec::new();
    for package in &tree.packages {
        for root in package.roots(tree) {
            let modules = Modules::load(tree, root);
            let graph = Graph::load(tree, &modules);
            for members in components(&graph.files).into_iter().filter(|members| spans_folders(tree, members)) {
                let name = |file: &usize| tree.files[*file].path.trim_start_matches(package.folder).into();
                circles.push(Circle {
                    folder: package.folder,
                    kind: CircleKind::Files,
                    arrows: graph.files.between(&members, name),
                    members: members.iter().map(name).collect(),
                });
            }
            for members in components(&graph.modules) {
                let name = |module: &&str| module.to_string();
                circles.push(Circle {
                    folder: package.folder,
                    kind: CircleKind::Modules,
                    arrows: graph.modules.between(&members, name),
                    members: members.iter().map(name).collect(),
                });
            }
        }
    }
    circles.retain(|circle| circle.members.len() > MAX_CIRCLE);
    circles
}

/// Successors of each node, with the path and line that cause the edge.
struct Arrows<'a, N>(BTreeMap<N, BTreeMap<N, (&'a str, usize)>>);

impl<'a, N: Copy + Ord> Arrows<'a, N> {
    fn add(&mut self, from: N, to: N, path: &'a str, line: usize) {
        if from != to {
            self.0.entry(from).or_default().entry(to).or_insert((path, line));
        }
    }

    /// Returns the edges between `members`: path, line, and name of the target.
    fn between(&self, members: &[N], name: impl Fn(&N) -> String) -> Vec<(&'a str, usize, String)> {
        let mut arrows = Vec::new();
        for from in members {
            for (to, (path, line)) in self.0.get(from).into_iter().flatten() {
                if members.contains(to) {
                    arrows.push((*path, *line, name(to)));
                }
            }
        }
        arrows
    }
}

/// Import graph of a crate.
struct Graph<'a> {
    files: Arrows<'a, usize>,
    /// Edges between the modules directly below the root.
    modules: Arrows<'a, &'a str>,
}

impl<'a> Graph<'a> {
    fn load(tree: &'a Tree, modules: &Modules<'a>) -> Graph<'a> {
        let mut graph = Graph { files: Arrows(BTreeMap::new()), modules: Arrows(BTreeMap::new()) };
        for index in modules.files() {
            let file = &tree.files[index];
            let code = file.code();
            let imports = file.paths.imports.iter().map(|import| (import.token, &import.path, import.is_public));
            let qualified = file.paths.qualified.iter().map(|path| (path.token, &path.segments, false));
            for (token, path, is_public) in imports.chain(qualified).filter(|(token, _, _)| !code.is_test(*token)) {
                let Some(from) = modules.module_at(index, token) else { continue };
                let targets = modules.resolve(from, path).into_iter().flat_map(|target| target.modules);
                // A module may re-export its own descendants.
                for to in targets.filter(|to| !(is_public && modules.is_below(*to, from))) {
                    let line = code.line(token);
                    graph.files.add(modules.modules[from].file, modules.modules[to].file, file.path, line);
                    if let Some(from) = modules.top_level(from)
                        && let Some(to) = modules.top_level(to)
                    {
                        graph.modules.add(from, to, file.path, line);
                    }
                }
            }
        }
        graph
    }
}

/// Returns the strongly connected components: sets of nodes that can reach each other. Each is sorted.
fn components<N: Copy + Ord>(arrows: &Arrows<'_, N>) -> Vec<Vec<N>> {
    let mut walk =
        Walk { arrows, numbers: BTreeMap::new(), lowest: BTreeMap::new(), stack: Vec::new(), components: Vec::new() };
    for node in arrows.0.keys() {
        walk.visit(*node);
    }
    walk.components
}

/// State of Tarjan's algorithm.
struct Walk<'a, N> {
    arrows: &'a Arrows<'a, N>,
    /// Order in which nodes were visited.
    numbers: BTreeMap<N, usize>,
    /// Lowest number on the stack that a node can reach.
    lowest: BTreeMap<N, usize>,
    stack: Vec<N>,
    components: Vec<Vec<N>>,
}

impl<N: Copy + Ord> Walk<'_, N> {
    fn visit(&mut self, node: N) {
        let number = self.numbers.len();
        if self.numbers.contains_key(&node) {
            return;
        }
        self.numbers.insert(node, number);
        self.stack.push(node);
        let mut lowest = number;
        for next in self.arrows.0.get(&node).into_iter().flat_map(|targets| targets.keys()) {
            self.visit(*next);
            if self.stack.contains(next) {
                lowest = lowest.min(self.lowest.get(next).copied().unwrap_or(self.numbers[next]));
            }
        }
        self.lowest.insert(node, lowest);
        if lowest == number {
            let start = self.stack.iter().position(|other| *other == node).unwrap_or(0);
            let mut component = self.stack.split_off(start);
            component.sort();
            self.components.push(component);
        }
    }
}

/// Returns whether no folder contains all files. A module's file counts as part of both its parent's folder and the
/// folder of its submodules.
fn spans_folders(tree: &Tree, files: &[usize]) -> bool {
    let mut shared = folders(tree.files[files[0]].path);
    for file in &files[1..] {
        let others = folders(tree.files[*file].path);
        shared.retain(|folder| others.contains(folder));
    }
    shared.is_empty()
}

/// Returns the folder of a file, and the folder of its submodules.
fn folders(path: &str) -> Vec<&str> {
    let above = |path: &str| path.rfind('/').unwrap_or(0);
    match path.strip_suffix("/mod.rs") {
        Some(folder) => vec![folder, &folder[..above(folder)]],
        None => vec![path.trim_end_matches(".rs"), &path[..above(path)]],
    }
}

#[cfg(test)]
mod tests {
    use super::super::with_tree;
    use super::*;

    const MANIFEST: (&str, &str) = ("c/Cargo.toml", "[package]\nname = \"c\"\n");

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(&str, &str)> = [MANIFEST].iter().chain(files).copied().collect();
        with_tree(&files, |tree| {
            let mut findings = Vec::new();
            circles(tree, &mut findings);
            let messages = findings.iter().map(|finding| finding.message.clone());
            messages.filter(|message| !message.starts_with("leads to")).collect()
        })
    }

    /// Four files in two folders: `a → b → b/c → d → a`, by different kinds of paths.
    const CIRCLE: [(&str, &str); 5] = [
        ("c/src/lib.rs", "mod a;\nmod b;\nmod d;\npub use d::D;\nuse a::A;\n"),
        ("c/src/a.rs", "use crate::b::{self, B};\npub struct A;\n"),
        ("c/src/b.rs", "mod c;\npub struct B;\nfn b() { c::f() }\n"),
        ("c/src/b/c.rs", "use super::super::D;\npub fn f() {}\n"),
        ("c/src/d.rs", "pub struct D(crate::a::A);\n"),
    ];

    #[test]
    fn circles_are_found() {
        assert_eq!(
            messages(&CIRCLE),
            ["4 files import each other in a circle (the limit is 3): /src/a.rs /src/b.rs /src/b/c.rs /src/d.rs"]
        );
        let mut cut = CIRCLE;
        cut[4].1 = "pub struct D;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n// crate::a::A\n";
        assert_eq!(messages(&cut), [""; 0]);
    }

    #[test]
    fn circles_of_modules_are_found() {
        let files = [
            ("c/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("c/src/a/mod.rs", "mod e;\n"),
            ("c/src/a/e.rs", "use crate::b;\n"),
            ("c/src/b.rs", "pub use crate::c::*;\n"),
            ("c/src/c.rs", "pub struct C;\nuse crate::d::D;\n"),
            ("c/src/d.rs", "pub struct D;\nuse crate::a::A;\n"),
        ];
        assert_eq!(messages(&files), ["4 modules import each other in a circle (the limit is 3): a b c d"]);
    }

    #[test]
    fn folders_and_re_exports_make_no_circle() {
        let folder = [
            ("c/src/lib.rs", "mod a;\n"),
            ("c/src/a/mod.rs", "mod b;\nmod c;\nmod d;\npub struct A;\nfn a() { b::f() }\n"),
            ("c/src/a/b.rs", "use super::c;\npub fn f() {}\n"),
            ("c/src/a/c.rs", "use super::d;\n"),
            ("c/src/a/d.rs", "use super::A;\n"),
        ];
        assert_eq!(messages(&folder), [""; 0]);
        let exporting = [
            ("c/src/lib.rs", "mod a;\npub use a::*;\npub struct L;\n"),
            ("c/src/a/mod.rs", "mod b;\nmod c;\npub use b::B;\nuse super::L;\n"),
            ("c/src/a/b/mod.rs", "mod d;\npub use d::B;\nuse super::super::L;\n"),
            ("c/src/a/b/d.rs", "use crate::L;\npub struct B(super::super::c::C);\n"),
            ("c/src/a/c.rs", "pub struct C;\n"),
        ];
        assert_eq!(messages(&exporting), [""; 0]);
    }
}
