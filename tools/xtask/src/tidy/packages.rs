//! Cargo packages, from their manifests.

use super::Tree;
use toml::Table;

/// A package.
pub(super) struct Package<'a> {
    /// Folder of the manifest, relative to the root.
    pub(super) folder: &'a str,
    pub(super) name: String,
    /// Text of the manifest.
    pub(super) text: &'a str,
    manifest: Table,
}

/// Names of dependency tables, in a manifest or in one of its targets.
const DEPENDENCIES: &[&str] = &["dependencies", "build-dependencies", "dev-dependencies"];

impl<'a> Package<'a> {
    /// Loads the package with the manifest at `path`. Returns `None` for a plain workspace or an unreadable manifest.
    pub(super) fn load(path: &'a str, text: &'a str) -> Option<Package<'a>> {
        let folder = path.strip_suffix("/Cargo.toml")?;
        let manifest: Table = text.parse().ok()?;
        let name = manifest.get("package")?.get("name")?.as_str()?.into();
        Some(Package { folder, name, text, manifest })
    }

    /// Returns the names of its dependencies, with the table that lists each.
    pub(super) fn dependencies(&self) -> Vec<(&'static str, &str)> {
        let targets = self.manifest.get("target").and_then(|targets| targets.as_table());
        let targets = targets.into_iter().flat_map(|targets| targets.values()).filter_map(|target| target.as_table());
        let mut dependencies = Vec::new();
        for manifest in targets.chain([&self.manifest]) {
            for kind in DEPENDENCIES {
                let table = manifest.get(*kind).and_then(|table| table.as_table());
                for (name, value) in table.into_iter().flatten() {
                    let package = value.get("package").and_then(|package| package.as_str());
                    dependencies.push((*kind, package.unwrap_or(name)));
                }
            }
        }
        dependencies
    }

    /// Returns a string of `[package.metadata.polyhaul]`.
    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        self.manifest.get("package")?.get("metadata")?.get("polyhaul")?.get(key)?.as_str()
    }

    /// Returns the root files of its library and programs, as indices into the files of the tree.
    pub(super) fn roots(&self, tree: &Tree<'_>) -> Vec<usize> {
        let mut paths = vec![format!("{}/src/lib.rs", self.folder), format!("{}/src/main.rs", self.folder)];
        let targets = self.manifest.get("bin").and_then(|bin| bin.as_array()).into_iter().flatten();
        let targets = targets.filter_map(|target| target.get("path").and_then(|path| path.as_str()));
        paths.extend(targets.map(|path| format!("{}/{path}", self.folder)));
        paths.sort();
        paths.dedup();
        let is_root = |path: &str| paths.iter().any(|root| root == path);
        (0..tree.files.len()).filter(|index| is_root(tree.files[*index].path)).collect()
    }

    /// Returns the root files of its tests and benchmarks, as indices into the files of the tree.
    pub(super) fn test_roots(&self, tree: &Tree<'_>) -> Vec<usize> {
        let is_root = |path: &str| {
            let Some(path) = path.strip_prefix(self.folder).and_then(|path| path.strip_suffix(".rs")) else {
                return false;
            };
            let path = path.strip_suffix("/main").unwrap_or(path);
            ["/tests/", "/benches/"]
                .iter()
                .any(|folder| path.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
        };
        (0..tree.files.len()).filter(|index| is_root(tree.files[*index].path)).collect()
    }
}
