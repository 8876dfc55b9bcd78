//! Finds assets whose source no longer exists, and removes their outputs.
//!
//! An asset is gone if it is in the log but not in the plan, and its source exists neither at its path nor below the
//! inputs of this run. Sources that cannot be looked up count as existing. Sources in an input in which nothing was
//! found also count as existing, and so do sources outside all inputs if they are URLs, or if their folder is missing
//! or empty: the disk may not be mounted. Only files listed in rows are removed.

use crate::hash::{ByHash, name_hash};
use crate::log::{io, read_rows};
use crate::plan::{Asset, Plan, Shard, key};
use crate::row::{Row, RowHeader};
use polyhaul::Result;
use polyhaul::place;
use polyhaul_fault::planted;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// An asset whose source no longer exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoneAsset {
    /// Asset name.
    pub asset: String,
    /// Path or URL of the source, as in its row.
    pub source: String,
    /// Outputs that still have their recorded size and belong to no other asset, relative to the output folder.
    pub outputs: Vec<String>,
    attempt: u32,
}

impl GoneAsset {
    /// Removes the outputs, and folders below `outputs` that become empty. Returns a row that records the removal.
    ///
    /// # Errors
    /// [`polyhaul::ErrorKind::Io`] if an output cannot be removed.
    pub fn remove(&self, outputs: &Path) -> Result<Row> {
        for output in &self.outputs {
            let path = outputs.join(output);
            place::remove(&path).map_err(|error| io("remove", &path, error))?;
            if !place::is_url(&path) {
                // From the innermost folder outward, since a folder becomes empty only after the folders in it are
                // removed.
                let above = Path::new(output).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
                // Folders with other files stay: removing them fails.
                let _ = above.into_iter().try_for_each(|folder| std::fs::remove_dir(outputs.join(folder)));
            }
        }
        let asset = self.asset.clone();
        let source = self.source.clone();
        Ok(Row {
            asset,
            source,
            attempt: self.attempt.saturating_add(1),
            started: crate::now(),
            pruned: true,
            ..Row::default()
        })
    }
}

/// Log information about an asset that is not in the plan.
#[derive(Default)]
struct LoggedAsset {
    name: String,
    source: String,
    attempt: u32,
    is_pruned: bool,
    /// Outputs of the last successful attempt, with their sizes.
    outputs: Vec<(String, u64)>,
}

/// Finds assets in the log of `outputs` whose source no longer exists, sorted by name. With `shard`, finds only the
/// assets of this shard. `output_of` returns the output of a planned asset.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`] if the log cannot be read, and errors of `output_of`.
pub fn find_gone(
    outputs: &Path,
    plan: &Plan,
    shard: Option<Shard>,
    output_of: impl Fn(&Asset) -> Result<PathBuf>,
) -> Result<Vec<GoneAsset>> {
    // If nothing was found in any input, the disks of the inputs may not be mounted.
    if plan.empty_roots.len() == plan.roots.len() {
        return Ok(Vec::new());
    }
    let mut claimed = HashSet::new();
    let mut present = HashSet::new();
    for asset in &plan.assets {
        present.insert(name_hash(&key(&asset.name)));
        claimed.insert(name_hash(&key(&output_of(asset)?)));
    }
    let claim = |path: &str| name_hash(&key(&outputs.join(path)));
    let mut logged = ByHash::<LoggedAsset>::default();
    read_rows(outputs, &mut |json| {
        let Some(row) = RowHeader::parse(json) else { return Ok(false) };
        let name = name_hash(&row.asset);
        // Assets of other shards are not in the plan, but may exist.
        let is_of_shard = shard.is_none_or(|shard| shard.has(&row.asset));
        if present.contains(&name) || !is_of_shard {
            claimed.extend(row.outputs.iter().map(|output| claim(&output.path)));
        } else {
            logged.entry(name).or_default().add(&row);
        }
        Ok(true)
    })?;
    let is_gone = |asset: &&LoggedAsset| !asset.is_pruned && !exists(plan, asset);
    let mut gone = Vec::new();
    for asset in logged.values() {
        if is_gone(&asset) {
            let is_ours = |(path, bytes): &&(String, u64)| {
                is_below(Path::new(path))
                    && !claimed.contains(&claim(path))
                    && place::find(&outputs.join(path))
                        .is_ok_and(|info| info.bytes == Some(*bytes) || planted("prune-changed"))
            };
            let outputs = asset.outputs.iter().filter(is_ours).map(|(path, _)| path.clone()).collect();
            let LoggedAsset { name, source, attempt, .. } = asset;
            gone.push(GoneAsset { asset: name.clone(), source: source.clone(), outputs, attempt: *attempt });
        } else {
            claimed.extend(asset.outputs.iter().map(|(path, _)| claim(path)));
        }
    }
    // An asset may share outputs, such as copied textures, with an existing asset that was checked after it.
    for asset in &mut gone {
        asset.outputs.retain(|path| !claimed.contains(&claim(path)));
    }
    gone.sort_unstable_by(|a, b| a.asset.cmp(&b.asset));
    Ok(gone)
}

impl LoggedAsset {
    fn add(&mut self, row: &RowHeader<'_>) {
        if row.attempt < self.attempt {
            return;
        }
        self.name = row.asset.clone().into_owned();
        self.source = row.source.clone().into_owned();
        self.attempt = row.attempt;
        self.is_pruned = row.pruned;
        if row.error.is_none() {
            self.outputs = row.outputs.iter().map(|output| (output.path.clone().into_owned(), output.bytes)).collect();
        }
    }
}

/// Whether a relative path stays below the output folder. Logs are untrusted, so a row may list any path.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether the source of an asset exists, or may exist.
fn exists(plan: &Plan, asset: &LoggedAsset) -> bool {
    let is_there = |path: &Path| !place::find(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let source = Path::new(&asset.source);
    let is_in = |root: &PathBuf| source.starts_with(place::absolute(root));
    let was_looked_for = !plan.empty_roots.iter().any(is_in) && (plan.roots.iter().any(is_in) || has_neighbors(source));
    let mut folders = plan.roots.iter().filter(|root| place::is_folder(root));
    !was_looked_for || is_there(source) || folders.any(|root| is_there(&root.join(&asset.name)))
}

/// Whether the folder of a path contains anything. If not, its disk may not be mounted. False for URLs.
fn has_neighbors(path: &Path) -> bool {
    let folder = path.parent().filter(|_| !place::is_url(path));
    folder.and_then(|folder| std::fs::read_dir(folder).ok()).is_some_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::RowOutput;
    use crate::{DoneRow, LogWriter, PlanOptions};
    use std::slice;

    /// A folder with sources `in/NAME`, and outputs `out/NAME` of assets that share `out/shared`.
    struct Library(PathBuf);

    impl Library {
        fn new(name: &str, assets: &[&str]) -> Library {
            let folder = std::env::temp_dir().join(format!("polyhaul-batch-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            let library = Library(folder);
            let inputs = library.inputs();
            let outputs = library.outputs();
            std::fs::create_dir_all(&inputs).unwrap();
            let mut log = LogWriter::create(&outputs).unwrap();
            for asset in assets {
                let source = inputs.join(asset);
                let paths = [(*asset).to_owned(), "shared".to_owned()];
                paths.iter().map(|path| outputs.join(path)).chain([source.clone()]).for_each(|path| {
                    std::fs::write(path, "x").unwrap();
                });
                let outputs = paths.map(|path| RowOutput { path, bytes: 1, ..RowOutput::default() }).into();
                let source = source.to_str().unwrap().to_owned();
                let asset = (*asset).to_owned();
                let row = Row { asset, source, outputs, attempt: 1, ..Row::default() };
                log.append(&[DoneRow::Made(Box::new(row))]).unwrap();
            }
            log.finish().unwrap();
            library
        }

        fn inputs(&self) -> PathBuf {
            self.0.join("in")
        }

        fn outputs(&self) -> PathBuf {
            self.0.join("out")
        }

        /// Returns the outputs of each asset that is gone.
        fn gone(&self, inputs: &[PathBuf], shard: Option<Shard>) -> Vec<Vec<String>> {
            let plan = Plan::find(inputs, &PlanOptions::default().with_shard(shard), |_| true).unwrap();
            let outputs = self.outputs();
            let gone = find_gone(&outputs, &plan, shard, |asset| Ok(outputs.join(&asset.name))).unwrap();
            gone.into_iter().map(|asset| asset.outputs).collect()
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn shard_of(name: &str) -> Option<Shard> {
        [1, 2].map(|index| Shard { index, count: 2 }).into_iter().find(|shard| shard.has(name))
    }

    #[test]
    fn outputs_that_other_shards_have_stay() {
        let names = ["a.obj", "b.obj", "c.obj", "d.obj", "e.obj", "f.obj", "g.obj", "h.obj"];
        let first = shard_of(names[0]);
        let other = names.into_iter().find(|name| shard_of(name) != first).unwrap();
        let same = names.into_iter().skip(1).find(|name| shard_of(name) == first).unwrap();
        let library = Library::new("prune-shards", &[names[0], other]);
        std::fs::remove_file(library.inputs().join(names[0])).unwrap();
        std::fs::write(library.inputs().join(same), "x").unwrap();
        assert_eq!(library.gone(&[library.inputs()], first), [[names[0]]]);
    }

    #[test]
    fn folders_without_assets_prune_nothing() {
        let library = Library::new("prune-empty", &["a.obj", "b.obj"]);
        std::fs::remove_file(library.inputs().join("a.obj")).unwrap();
        std::fs::remove_file(library.inputs().join("b.obj")).unwrap();
        let nothing: [[&str; 0]; 0] = [];
        assert_eq!(library.gone(&[library.inputs()], shard_of("a.obj")), nothing);
        // The same together with another input.
        let more = library.0.join("more");
        std::fs::create_dir(&more).unwrap();
        std::fs::write(more.join("c.obj"), "x").unwrap();
        assert_eq!(library.gone(&[more.clone(), library.inputs()], None), nothing);
        // An input of an earlier run, whose disk may not be mounted.
        assert_eq!(library.gone(slice::from_ref(&more), None), nothing);
        std::fs::write(library.inputs().join("notes"), "x").unwrap();
        assert_eq!(library.gone(slice::from_ref(&more), None).len(), 2);
        std::fs::remove_dir_all(library.inputs()).unwrap();
        assert_eq!(library.gone(&[more], None), nothing);
    }

    #[test]
    fn inputs_that_are_files_prune_too() {
        let library = Library::new("prune-files", &["a.obj", "b.obj"]);
        std::fs::remove_file(library.inputs().join("b.obj")).unwrap();
        assert_eq!(library.gone(&[library.inputs().join("a.obj")], None), [["b.obj"]]);
    }
}
