//! Outputs whose source is gone.
//!
//! An asset is gone if the log has it, the plan does not, and its source does not exist, neither where it was nor below
//! the inputs of this run. A source that cannot be looked up counts as existing. Files that no row lists are not
//! touched.

use crate::hash::{ByHash, name_hash};
use crate::log::{io, read_rows};
use crate::plan::{Asset, Plan, Shard, invalid_row, key};
use crate::row::{Row, RowHeader};
use polyhaul::Result;
use polyhaul::place;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// An asset whose source is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoneAsset {
    /// Its name.
    pub asset: String,
    /// The path or URL of its source, as in its row.
    pub source: String,
    /// Its outputs that still are what was written, and belong to no other asset: paths below the output folder.
    pub outputs: Vec<String>,
    attempt: u32,
}

impl GoneAsset {
    /// Removes the outputs, and the folders below `outputs` that become empty. The row says so.
    ///
    /// # Errors
    /// [`polyhaul::ErrorKind::Io`] if an output cannot be removed.
    pub fn remove(&self, outputs: &Path) -> Result<Row> {
        for output in &self.outputs {
            let path = outputs.join(output);
            place::remove(&path).map_err(|error| io("removing", &path, error))?;
            if !place::is_url(&path) {
                let above = Path::new(output).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
                // Folders with other files stay.
                let _ = above.into_iter().try_for_each(|folder| std::fs::remove_dir(outputs.join(folder)));
            }
        }
        let asset = self.asset.clone();
        let source = self.source.clone();
        Ok(Row { asset, source, attempt: self.attempt + 1, started: crate::now(), pruned: true, ..Row::default() })
    }
}

/// What the log says about an asset that the plan does not have.
#[derive(Default)]
struct LoggedAsset {
    name: String,
    source: String,
    attempt: u32,
    is_pruned: bool,
    /// The outputs of the last success, with their sizes.
    outputs: Vec<(String, u64)>,
}

/// Finds the assets in the log of `outputs` whose source is gone, in the order of their names. `output_of` returns the
/// output of an asset of the plan.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`], and errors of `output_of`.
pub fn find_gone(
    outputs: &Path,
    plan: &Plan,
    shard: Option<Shard>,
    output_of: impl Fn(&Asset) -> Result<PathBuf>,
) -> Result<Vec<GoneAsset>> {
    let mut claimed = HashSet::new();
    let mut present = HashSet::new();
    for asset in &plan.assets {
        present.insert(name_hash(&key(&asset.name)));
        claimed.insert(name_hash(&key(&output_of(asset)?)));
    }
    let claim = |path: &str| name_hash(&key(&outputs.join(path)));
    let mut logged = ByHash::<LoggedAsset>::default();
    read_rows(outputs, &mut |json| {
        let row: RowHeader<'_> = serde_json::from_str(json).map_err(invalid_row)?;
        let name = name_hash(&row.asset);
        if present.contains(&name) {
            claimed.extend(row.outputs.iter().map(|output| claim(&output.path)));
        } else if shard.is_none_or(|shard| shard.has(&row.asset)) {
            logged.entry(name).or_default().add(&row);
        }
        Ok(())
    })?;
    let is_gone = |asset: &&LoggedAsset| !asset.is_pruned && !exists(plan, asset);
    let mut gone = Vec::new();
    for asset in logged.values() {
        if is_gone(&asset) {
            let is_ours = |(path, bytes): &&(String, u64)| {
                is_below(Path::new(path))
                    && !claimed.contains(&claim(path))
                    && place::find(&outputs.join(path)).is_ok_and(|info| info.bytes == Some(*bytes))
            };
            let outputs = asset.outputs.iter().filter(is_ours).map(|(path, _)| path.clone()).collect();
            let LoggedAsset { name, source, attempt, .. } = asset;
            gone.push(GoneAsset { asset: name.clone(), source: source.clone(), outputs, attempt: *attempt });
        } else {
            claimed.extend(asset.outputs.iter().map(|(path, _)| claim(path)));
        }
    }
    // Assets may share outputs, such as copies of textures, with one that was looked up later.
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

/// Whether a path below the output folder stays there. A log may have been written by anybody.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether the source of an asset exists, or may exist.
fn exists(plan: &Plan, asset: &LoggedAsset) -> bool {
    let is_there = |path: &Path| !place::find(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    is_there(Path::new(&asset.source)) || plan.roots.iter().any(|root| is_there(&root.join(&asset.name)))
}
