//! The repository's own files, loaded once: sources and documents with their text, test data by
//! path alone.
//!
//! Skips what `.gitignore` names, and every folder that says of itself that it holds products of a
//! tool (`CACHEDIR.TAG`, `pyvenv.cfg`). Never follows a symbolic link.

use super::rust::Rust;
use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// The endings of text that people write here. Everything else (data, pictures, lock files) is left
/// alone.
const TEXT: &[&str] = &["rs", "py", "pyi", "toml", "md", "sh", "yml", "yaml", "h", "c", "cpp", "dict"];

/// A file with its text.
pub(super) struct File {
    /// Relative to the root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// Where the file is Rust, its view without comments and strings.
    pub(super) rust: Option<Rust>,
}

impl File {
    /// Takes a file in, and looks through it where it is Rust.
    fn new(path: &str, text: String) -> Self {
        let rust = path.ends_with(".rs").then(|| Rust::new(&text));
        File { path: path.into(), text, rust }
    }

    /// Lines with their numbers, from 1, without the line feed.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.text)
    }
}

/// Lines with their numbers, from 1, without the line feed (a carriage return stays).
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}

/// The repository as the rules see it.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// Every other file, by path.
    pub(super) data: Vec<String>,
    /// Files that a `#[cfg(test)] mod name;` makes part of the tests.
    test_modules: BTreeSet<String>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub(super) fn load(root: &Path) -> io::Result<Tree> {
        let ignore = Ignore::new(&fs::read_to_string(root.join(".gitignore")).unwrap_or_default());
        let mut tree = Tree::default();
        tree.add_folder(root, "", &ignore)?;
        tree.finish();
        Ok(tree)
    }

    /// A tree of made-up files, for the tests of the rules.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            match is_text(path, text.as_bytes()) {
                true => tree.files.push(File::new(path, (*text).into())),
                false => tree.data.push((*path).into()),
            }
        }
        tree.finish();
        tree
    }

    /// The file at `path`.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Rust files with their view.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&File, &Rust)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// Rust files that users run: `src` of the crates, without testkit and without test modules.
    pub(super) fn product(&self) -> impl Iterator<Item = (&File, &Rust)> {
        self.rust().filter(|(file, _)| is_product(&file.path) && !self.test_modules.contains(&file.path))
    }

    /// Whether a file or folder is at `path`.
    pub(super) fn exists(&self, path: &str) -> bool {
        let inside = |p: &str| p.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.paths().any(inside)
    }

    /// All paths, of texts and of data.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str()).chain(self.data.iter().map(String::as_str))
    }

    /// Folders with a manifest of a package, such as `crates/text`.
    pub(super) fn crates(&self) -> Vec<&str> {
        let package = |file: &&File| file.text.lines().any(|line| line.trim() == "[package]");
        let manifests = self.files.iter().filter(package);
        manifests.filter_map(|file| file.path.strip_suffix("/Cargo.toml")).collect()
    }

    /// Takes in a folder and all below it, in the order of names.
    fn add_folder(&mut self, folder: &Path, prefix: &str, ignore: &Ignore) -> io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if ignore.covers(&path) {
                continue;
            }
            if kind.is_dir() && !is_product_of_a_tool(&entry.path()) {
                self.add_folder(&entry.path(), &format!("{path}/"), ignore)?;
            } else if kind.is_file() {
                self.add_file(&entry.path(), path)?;
            }
        }
        Ok(())
    }

    /// Takes in one file: its text where people wrote it, its path otherwise.
    fn add_file(&mut self, file: &Path, path: String) -> io::Result<()> {
        if !may_be_text(&path) {
            self.data.push(path);
            return Ok(());
        }
        match String::from_utf8(fs::read(file)?) {
            Ok(text) if is_text(&path, text.as_bytes()) => self.files.push(File::new(&path, text)),
            _ => self.data.push(path),
        }
        Ok(())
    }

    /// Finds the files of test modules, once all files are there.
    fn finish(&mut self) {
        let modules = self.rust().flat_map(|(file, rust)| {
            let folder = module_folder(&file.path);
            rust.test_modules.iter().map(move |name| format!("{folder}/{name}"))
        });
        let stems: Vec<String> = modules.collect();
        let below = |path: &str, stem: &String| {
            path.strip_prefix(stem.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        let of_tests = self.rust().filter(|(file, _)| stems.iter().any(|stem| below(&file.path, stem)));
        self.test_modules = of_tests.map(|(file, _)| file.path.clone()).collect();
    }
}

/// The folder in which the child modules of the file at `path` lie.
pub(super) fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.into(),
        _ => path.trim_end_matches(".rs").into(),
    }
}

/// Whether the path is one of the crates that users get.
fn is_product(path: &str) -> bool {
    let in_crate = path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/testkit/");
    in_crate || path.starts_with("python/src/")
}

/// Whether a tool marked the folder as its own: build products, caches, virtual environments.
fn is_product_of_a_tool(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").exists() || folder.join("pyvenv.cfg").exists()
}

/// Whether the file is worth reading: test data is not, its notes are.
fn may_be_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if path.starts_with("testdata/") {
        return name == "README.md";
    }
    name.rsplit_once('.').is_none_or(|(_, ending)| TEXT.contains(&ending))
}

/// A name without an ending is text where it is a script (`.ci/run`) or a licence.
fn is_text(path: &str, bytes: &[u8]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    may_be_text(path) && (name.contains('.') || bytes.starts_with(b"#!") || name.starts_with("LICENSE"))
}

/// The little of `.gitignore` that this repository uses: `/path` at the root, `name` or `name/`
/// anywhere, `*.ending`.
struct Ignore {
    anchored: Vec<String>,
    names: Vec<String>,
    endings: Vec<String>,
}

impl Ignore {
    /// Reads the lines of a `.gitignore` at the root.
    fn new(text: &str) -> Ignore {
        let mut ignore = Ignore { anchored: vec![".git".into()], names: vec!["__pycache__".into()], endings: vec![] };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let line = line.trim_end_matches('/');
            if let Some(ending) = line.strip_prefix('*') {
                ignore.endings.push(ending.into());
            } else if line.contains('/') {
                ignore.anchored.push(line.trim_start_matches('/').into());
            } else {
                ignore.names.push(line.into());
            }
        }
        ignore
    }

    /// Whether the file or folder at `path` is ignored.
    fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.anchored.iter().any(|p| p == path)
            || self.names.iter().any(|n| n == name)
            || self.endings.iter().any(|e| path.ends_with(e.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gitignore_lines_of_the_three_shapes_are_obeyed() {
        let ignore = Ignore::new("/target\n/bench/target\n# note\nvenv/\n*.profraw\n");
        for path in ["target", "bench/target", "python/venv", "a/b.profraw", ".git", "python/__pycache__"] {
            assert!(ignore.covers(path), "{path}");
        }
        for path in ["crates/target.rs", "targets", "note"] {
            assert!(!ignore.covers(path), "{path}");
        }
    }

    #[test]
    fn product_code_leaves_out_tests_and_test_modules() {
        let tree = Tree::of(&[
            ("crates/text/src/lib.rs", "#[cfg(test)]\nmod checks;\nmod parse;\n"),
            ("crates/text/src/checks.rs", ""),
            ("crates/text/src/checks/deep.rs", ""),
            ("crates/text/src/parse.rs", ""),
            ("crates/text/tests/all.rs", ""),
            ("crates/testkit/src/lib.rs", ""),
            ("xtask/src/main.rs", ""),
        ]);
        let product: Vec<&str> = tree.product().map(|(file, _)| file.path.as_str()).collect();
        assert_eq!(product, ["crates/text/src/lib.rs", "crates/text/src/parse.rs"]);
    }

    #[test]
    fn data_is_listed_by_path_alone() {
        let tree =
            Tree::of(&[("testdata/obj/good/a.obj", "v"), ("testdata/obj/README.md", "x"), (".ci/run", "#!/x\n")]);
        assert_eq!(tree.data, ["testdata/obj/good/a.obj"]);
        assert!(tree.file(".ci/run").is_some() && tree.file("testdata/obj/README.md").is_some());
        assert!(tree.exists("testdata/obj/good") && tree.exists(".ci/run") && !tree.exists("testdata/ob"));
    }
}
