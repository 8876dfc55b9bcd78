//! Module tree of a crate: the file that defines each module, and path resolution.
//!
//! Ignores code that is only built for tests. Names from macros are unknown: a path to one resolves to the module that
//! would define it.

use super::Tree;
use super::paths::Import;
use super::tokens::Code;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Maximum number of modules that an import may lead through; longer chains are treated as circular.
const MAX_DEPTH: usize = 8;

/// A module, in a separate file or inline.
pub(super) struct Module<'a> {
    /// Parent module; the root is its own parent.
    parent: usize,
    /// Index of its file in the tree.
    pub(super) file: usize,
    /// Range of its tokens in the file.
    tokens: Range<usize>,
    /// Several for one name if a `cfg` selects among them.
    children: HashMap<&'a str, Vec<usize>>,
    items: HashSet<&'a str>,
    /// Names imported by `use` at the top level of the module.
    imports: HashMap<&'a str, Vec<&'a str>>,
    globs: Vec<Vec<&'a str>>,
    /// Whether a macro may define more items.
    has_macro: bool,
}

/// Result of resolving a path.
pub(super) struct Target {
    /// Several if a `cfg` selects among them.
    pub(super) modules: Vec<usize>,
    /// Whether the path continues to an item of the module.
    is_item: bool,
}

/// Modules of a crate: the root first, parents before children.
pub(super) struct Modules<'a> {
    pub(super) modules: Vec<Module<'a>>,
    /// Modules of each file, outermost first.
    by_file: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Modules<'a> {
    /// Loads the modules below the file `root`.
    pub(super) fn load(tree: &'a Tree<'_>, root: usize) -> Modules<'a> {
        let mut loader =
            Loader { tree, files: tree.files.iter().map(|file| file.path).zip(0..).collect(), modules: Vec::new() };
        loader.file(root, 0, true);
        let mut by_file: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, module) in loader.modules.iter().enumerate() {
            by_file.entry(module.file).or_default().push(index);
        }
        Modules { modules: loader.modules, by_file }
    }

    /// Returns the files of the crate, as indices into the files of the tree.
    pub(super) fn files(&self) -> impl Iterator<Item = usize> {
        self.by_file.keys().copied()
    }

    /// Returns the innermost module that contains the token.
    pub(super) fn module_at(&self, file: usize, token: usize) -> Option<usize> {
        let modules = self.by_file.get(&file)?;
        modules.iter().rev().copied().find(|module| self.modules[*module].tokens.contains(&token))
    }

    /// Returns the name of the ancestor of `module` directly below the root, or `None` for the root.
    pub(super) fn top_level(&self, mut module: usize) -> Option<&'a str> {
        while module != 0 && self.modules[module].parent != 0 {
            module = self.modules[module].parent;
        }
        let mut names = self.modules[0].children.iter();
        names.find(|(_, children)| children.contains(&module)).map(|(name, _)| *name)
    }

    /// Returns whether `module` is `above` or a descendant of it.
    pub(super) fn is_below(&self, mut module: usize, above: usize) -> bool {
        while module != above && module != 0 {
            module = self.modules[module].parent;
        }
        module == above
    }

    /// Returns every module: its name, or `None` for the root, the names in it, and whether it may have more.
    pub(super) fn members(&self) -> impl Iterator<Item = (Option<&'a str>, Vec<&'a str>, bool)> {
        let name_of = |index: usize| {
            let mut children = self.modules[self.modules[index].parent].children.iter();
            children.find(|(_, children)| children.contains(&index)).map(|(name, _)| *name)
        };
        self.modules.iter().enumerate().map(move |(index, module)| {
            let names = module.children.keys().chain(&module.items).chain(module.imports.keys()).copied();
            (name_of(index), names.collect(), module.has_macro || !module.globs.is_empty())
        })
    }

    /// Resolves a path in the module `from`. Returns `None` if it leads out of this crate.
    pub(super) fn resolve(&self, from: usize, path: &[&str]) -> Option<Target> {
        self.resolve_within(from, path, 0)
    }

    fn resolve_within(&self, from: usize, path: &[&str], depth: usize) -> Option<Target> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut target = Target { modules: vec![from], is_item: false };
        for (position, segment) in path.iter().enumerate() {
            let module = *target.modules.first()?;
            match *segment {
                "crate" if position == 0 => target.modules = vec![0],
                "self" => {}
                "super" => target.modules = vec![self.modules[module].parent],
                name => {
                    // Otherwise, the first segment is another crate, or a type in scope.
                    if position == 0 && !self.names(module, name, depth) {
                        return None;
                    }
                    let mut next = Target { modules: Vec::new(), is_item: false };
                    for module in &target.modules {
                        let member = self.member(*module, name, depth)?;
                        next.is_item |= member.is_item;
                        next.modules.extend(member.modules);
                    }
                    target = next;
                    if target.is_item {
                        return Some(target);
                    }
                }
            }
        }
        Some(target)
    }

    /// Returns whether the module defines or imports `name`.
    fn names(&self, module: usize, name: &str, depth: usize) -> bool {
        let this = &self.modules[module];
        this.children.contains_key(name)
            || this.items.contains(name)
            || this.imports.contains_key(name)
            || this.globs.iter().any(|path| self.glob_names(module, path, name, depth))
    }

    fn glob_names(&self, module: usize, path: &[&str], name: &str, depth: usize) -> bool {
        let target = self.resolve_within(module, path, depth + 1);
        target.is_some_and(|target| {
            !target.is_item
                && depth < MAX_DEPTH
                && target.modules.iter().any(|other| *other != module && self.names(*other, name, depth + 1))
        })
    }

    /// Resolves `name` in `module`. Returns `None` if it belongs to another crate.
    fn member(&self, module: usize, name: &str, depth: usize) -> Option<Target> {
        let this = &self.modules[module];
        let item = Target { modules: vec![module], is_item: true };
        if let Some(children) = this.children.get(name) {
            return Some(Target { modules: children.clone(), is_item: false });
        }
        if this.items.contains(name) {
            return Some(item);
        }
        if let Some(path) = this.imports.get(name) {
            // In `use a::a`, the path starts with another crate.
            return if path[..] == [name] { None } else { self.resolve_within(module, path, depth + 1) };
        }
        let glob = this.globs.iter().find(|path| self.glob_names(module, path, name, depth));
        match glob {
            Some(path) => {
                let path: Vec<&str> = path.iter().copied().chain([name]).collect();
                self.resolve_within(module, &path, depth + 1)
            }
            None => Some(item),
        }
    }
}

struct Loader<'a, 't> {
    tree: &'a Tree<'t>,
    files: HashMap<&'a str, usize>,
    modules: Vec<Module<'a>>,
}

impl<'a> Loader<'a, '_> {
    /// Adds the module of a file and its descendants, and returns its index.
    fn file(&mut self, file: usize, parent: usize, is_root: bool) -> usize {
        let path = self.tree.files[file].path;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = match name {
            "mod.rs" => folder.into(),
            _ if is_root => folder.into(),
            _ => path.trim_end_matches(".rs").into(),
        };
        let code = self.tree.files[file].code();
        self.module(file, 0..code.len(), parent, folder)
    }

    /// Adds the module of a range of tokens, whose children have their files in `folder`.
    fn module(&mut self, file: usize, tokens: Range<usize>, parent: usize, folder: String) -> usize {
        let this = self.modules.len();
        self.modules.push(Module {
            parent,
            file,
            tokens: tokens.clone(),
            children: HashMap::new(),
            items: HashSet::new(),
            imports: HashMap::new(),
            globs: Vec::new(),
            has_macro: false,
        });
        let tree = self.tree;
        let code = tree.files[file].code();
        let mut index = tokens.start;
        let mut path_attribute = None;
        loop {
            index = code.skip_test(index);
            if index >= tokens.end {
                return this;
            }
            match code.text(index) {
                "#" if code.is(index + 1, "[") => {
                    if code.is(index + 2, "path") {
                        path_attribute = Some(code.text(index + 4).trim_matches('"'));
                    }
                    index = code.partner(index + 1) + 1;
                }
                "mod" => {
                    index = self.child(file, index, this, &folder, path_attribute.take());
                }
                "use" => {
                    self.imports(file, index, this);
                    index = skip_statement(code, index);
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" | "macro_rules" => {
                    index = self.item(code, index, this);
                }
                "#" if code.is(index + 1, "!") => index = code.partner(index + 2) + 1,
                "!" => {
                    self.modules[this].has_macro = true;
                    index += 1;
                }
                "(" | "[" | "{" => index = code.partner(index).max(index) + 1,
                _ => index += 1,
            }
        }
    }

    /// Adds the module that `mod` at `index` declares, and returns the index after it.
    fn child(&mut self, file: usize, index: usize, parent: usize, folder: &str, attribute: Option<&str>) -> usize {
        let tree = self.tree;
        let code = tree.files[file].code();
        let name = code.text(index + 1);
        let after = index + 2;
        let child = if code.is(after, "{") {
            Some(self.module(file, after + 1..code.partner(after), parent, format!("{folder}/{name}")))
        } else {
            // Relative to the folder of the declaring file.
            let declaring = tree.files[file].path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let paths = match attribute {
                Some(path) => vec![format!("{declaring}/{path}")],
                None => vec![format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")],
            };
            let child = paths.iter().find_map(|path| self.files.get(path.as_str()).copied());
            child.map(|child| self.file(child, parent, false))
        };
        if let Some(child) = child {
            self.modules[parent].children.entry(name).or_default().push(child);
        }
        if code.is(after, "{") { code.partner(after) + 1 } else { after + 1 }
    }

    /// Adds the imports of the `use` at `index`.
    fn imports(&mut self, file: usize, index: usize, module: usize) {
        let imports: &'a [Import<'a>] = &self.tree.files[file].paths.imports;
        let first = imports.partition_point(|import| import.token < index);
        for import in imports[first..].iter().take_while(|import| import.token == index) {
            if import.name == "*" {
                self.modules[module].globs.push(import.path.clone());
            } else {
                self.modules[module].imports.insert(import.name, import.path.clone());
            }
        }
    }

    /// Adds the item whose keyword is at `index`, and returns an index after its name.
    fn item(&mut self, code: Code<'a, '_>, index: usize, module: usize) -> usize {
        let mut at = index + 1;
        // `const fn`, `const unsafe fn`, `static mut`, `macro_rules!`
        while matches!(code.text(at), "unsafe" | "extern" | "async" | "mut" | "!" | "fn") {
            at += 1;
        }
        if code.is_word(at) {
            self.modules[module].items.insert(code.text(at));
        }
        at + 1
    }
}

/// Returns the index after the `;` of a statement without blocks.
fn skip_statement(code: Code<'_, '_>, mut index: usize) -> usize {
    while index < code.len() && code.first(index) != b';' {
        index += 1;
    }
    index + 1
}
