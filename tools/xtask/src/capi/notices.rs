//! Collects the licenses of the packages that a build contains into one text: most of them must accompany copies.

use crate::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// Prefixes of license file names, in upper case.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
/// Maximum depth below a package's folder: bundled C sources keep their licenses in subfolders.
const MAX_DEPTH: usize = 2;

/// Returns the license texts with the packages that they apply to, for a build of `root` with these arguments of Cargo,
/// or `None` if Cargo cannot list them.
pub(crate) fn text(root: &str, args: &[&str]) -> Option<String> {
    let mut packages_of_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let folders = folders(root, args)?;
    let mut text = String::from("polyhaul contains these packages:\n\n");
    for (package, license) in packages(root, args)? {
        text.push_str(&format!("  {package} ({license})\n"));
        let mut files = Vec::new();
        find(folders.get(&package)?, MAX_DEPTH, &mut files);
        for file in files {
            let license = String::from_utf8_lossy(&fs::read(file).ok()?).replace("\r\n", "\n");
            packages_of_text.entry(license.trim().to_owned()).or_default().insert(package.clone());
        }
    }
    text.push_str("\nThe JPEG encoder is based in part on the work of the Independent JPEG Group.\n");
    for (license, packages) in packages_of_text {
        let packages = packages.into_iter().collect::<Vec<_>>().join(", ");
        text.push_str(&format!("\n{}\n{packages}\n\n{license}\n", "-".repeat(80)));
    }
    Some(text)
}

/// Returns the packages in a build with their licenses, without workspace members and build-time packages.
fn packages(root: &str, args: &[&str]) -> Option<BTreeMap<String, String>> {
    let mut tree = root::cargo();
    tree.args(["tree", "--package", root, "--edges", "normal,no-proc-macro", "--prefix", "none"]).args(args);
    let listed = root::output(tree.args(["--format", "{p}\t{l}"]))?;
    let lines = listed.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'));
    let foreign = lines.filter(|(package, _)| !package.contains('('));
    Some(foreign.map(|(package, license)| (package.to_owned(), license.to_owned())).collect())
}

/// Returns the folder of each package, by its name and version in `cargo tree`. Packages that only other features need
/// are not listed, and not downloaded either.
fn folders(root: &str, args: &[&str]) -> Option<HashMap<String, PathBuf>> {
    let features = args.iter().skip_while(|arg| **arg != "--features").nth(1);
    let features = features.map(|features| format!("--features={root}/{features}"));
    let metadata = root::output(root::cargo().args(["metadata", "--format-version", "1"]).args(features))?;
    let metadata: Value = serde_json::from_str(&metadata).ok()?;
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let name = format!("{} v{}", package["name"].as_str()?, package["version"].as_str()?);
        Some((name, manifest.parent()?.to_path_buf()))
    };
    metadata["packages"].as_array()?.iter().map(folder).collect()
}

/// Collects the license files in a folder, sorted.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let is_code = [".RS", ".C", ".H", ".PY"].iter().any(|extension| name.ends_with(extension));
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files);
        } else if path.is_file() && !is_code && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packages_in_the_library_are_listed_with_their_licenses() {
        let text = text("polyhaul-capi", &[]).unwrap();
        for expected in ["zstd-sys v", "Permission is hereby granted", "Independent JPEG Group", "Meta Platforms"] {
            assert!(text.contains(expected), "{expected}");
        }
        assert!(!text.contains("polyhaul-model v") && !text.contains("  syn v"));
        let command = super::text("polyhaul-cli", &["--features", "full"]).unwrap();
        assert!(command.contains("\n  parquet v") && !text.contains("\n  parquet v"));
    }
}
