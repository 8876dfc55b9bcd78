//! Lists the assets of a library and determines which to convert.
//!
//! A library may have a million assets, so an [`Asset`] is small (name, size, version), and the log is matched line by
//! line. Files are listed, and their sizes and times looked up, but only files that may be prose are opened.

use crate::hash::{ByHash, name_hash};
use crate::log::{Damage, io, read_rows};
use crate::row::{OutputHeader, RowHeader, Task};
use polyhaul::many::{self, FindOptions, Source};
use polyhaul::options::RunOptions;
use polyhaul::place;
use polyhaul::{Error, ErrorKind, Format, Result};
use polyhaul_fault::planted;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Maximum number of threads for file lookups.
const MAX_THREADS: usize = 16;
/// Minimum number of files per thread.
const MIN_SHARE: usize = 1000;

/// A part of a library for one of several machines, selected by hashing asset names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// One-based index of the part.
    pub index: u32,
    /// Number of parts.
    pub count: u32,
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `i/n`.
    fn from_str(text: &str) -> std::result::Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index, count }),
            _ => Err(format!("expected i/n with i from 1 to n, such as 1/4; found `{text}`")),
        }
    }
}

impl Shard {
    /// Whether the asset with this name belongs to this part.
    pub fn has(self, name: &str) -> bool {
        // Depends only on the name, so that machines agree on the parts even if their lists of files differ.
        name_hash(name) % u64::from(self.count) == u64::from(self.index - 1)
    }
}

/// State of an asset according to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetState {
    /// Not attempted yet, pruned, or failed with other options or another version of the source.
    New,
    /// Converted with these options; source and outputs are unchanged.
    Done,
    /// Failed with these options; the source is unchanged.
    Failed,
    /// Converted, but source, options or outputs have changed since.
    Changed,
}

/// An asset of a library.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Path relative to the folder in which it was found; the file name if the file itself was an input.
    pub name: Box<Path>,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    /// State according to the log.
    pub state: AssetState,
    /// Number of the last attempt or removal in the log, or 0 if there is none.
    pub attempts: u32,
    /// Whether the last attempt used other options.
    has_other_options: bool,
    root: u32,
    /// ETag or modification time, which changes with the content; empty if unknown.
    version: Box<str>,
}

impl Asset {
    fn new(root: u32, source: Source) -> Asset {
        let (bytes, version) = source.found.map_or((None, None), |metadata| (metadata.bytes, metadata.version));
        let name = source.name.into_boxed_path();
        let version = version.unwrap_or_default().into();
        Asset { name, bytes, state: AssetState::New, attempts: 0, has_other_options: false, root, version }
    }
}

/// Selects the assets of a [`Plan`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Files to include from folders (default: files of known formats, without subfolders).
    pub find: FindOptions,
    /// Part of the library to include (default: all).
    pub shard: Option<Shard>,
}

impl PlanOptions {
    /// Sets [`PlanOptions::find`].
    pub fn with_find(self, find: FindOptions) -> Self {
        PlanOptions { find, ..self }
    }

    /// Sets [`PlanOptions::shard`].
    pub fn with_shard(self, shard: Option<Shard>) -> Self {
        PlanOptions { shard, ..self }
    }
}

/// The assets of a library.
#[derive(Debug, Default)]
pub struct Plan {
    /// Assets in the order in which they were found.
    pub assets: Vec<Asset>,
    /// Inputs: folders that were searched, or single files.
    pub(crate) roots: Vec<PathBuf>,
    /// Inputs in which nothing was found for any shard.
    pub(crate) empty_roots: Vec<PathBuf>,
    /// Options hash of the last row with other options.
    other_options: String,
}

impl Plan {
    /// Lists the assets in `inputs`: files, and the files in folders and URLs that `options` selects. Without patterns
    /// in [`PlanOptions::find`], a file in a folder is an asset if `is_wanted` accepts the format of its extension.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if a folder cannot be listed or a file does not exist; [`ErrorKind::Usage`] if two assets have
    /// the same name.
    pub fn find(inputs: &[PathBuf], options: &PlanOptions, is_wanted: impl Fn(Format) -> bool) -> Result<Plan> {
        let mut plan = Plan::default();
        for input in inputs {
            let mut sources = many::find(std::slice::from_ref(input), &options.find, &is_wanted)?;
            if !place::is_folder(input) {
                place::find(input).map_err(|error| io("open", input, error))?;
            }
            if sources.is_empty() {
                plan.empty_roots.push(input.clone());
            }
            // Before the lookup, so that a machine looks up only the files of its own part.
            sources.retain(|source| options.shard.is_none_or(|shard| shard.has(&key(&source.name))));
            look_up(&mut sources);
            // Exact, since a vector that doubles could waste much memory with a million assets.
            plan.assets.reserve_exact(sources.len());
            let root = plan.roots.len() as u32;
            plan.assets.extend(sources.into_iter().map(|source| Asset::new(root, source)));
            plan.roots.push(input.clone());
        }
        // Names within a single input are unique.
        if plan.roots.len() > 1 {
            plan.check_names(|asset| Ok(asset.name.to_path_buf()), "have the same name")?;
        }
        Ok(plan)
    }

    /// Checks that `of` returns a different path for each asset, ignoring case on Windows and macOS. `what` follows the
    /// names of two assets in the error message, for example "have the same name".
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] naming the first two assets that collide; errors of `of`.
    pub fn check_names(&self, of: impl Fn(&Asset) -> Result<PathBuf>, what: &str) -> Result<()> {
        let ignores_case = cfg!(any(windows, target_os = "macos"));
        let numbers = self.numbers(|asset| {
            let name = key(&of(asset)?);
            Ok(if ignores_case { name.to_lowercase() } else { name })
        })?;
        // Equal hashes are sorted by index, so the first asset of each pair was found first.
        let twins = numbers.windows(2).filter(|pair| pair[0].0 == pair[1].0).min_by_key(|pair| pair[0].1);
        let Some(twins) = twins else { return Ok(()) };
        let [first, second] = [twins[0].1, twins[1].1].map(|at| place::shown(&self.source(&self.assets[at as usize])));
        Err(Error::new(ErrorKind::Usage, format!("{first} and {second} {what}")))
    }

    /// Checks that no output is an input, since a run would then overwrite the inputs of the next run. `outputs` is the
    /// output folder or URL; `of` returns the output of an asset.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] naming the first output that is an input; errors of `of`.
    pub fn check_sources(&self, outputs: &Path, of: impl Fn(&Asset) -> Result<PathBuf>) -> Result<()> {
        // An output folder that does not exist yet contains no input.
        let Ok(outputs) = place::real(outputs) else { return Ok(()) };
        let reals = self.roots.iter().filter_map(|root| place::real(root).ok());
        if !reals.into_iter().any(|root| root.starts_with(&outputs) || outputs.starts_with(root)) {
            return Ok(());
        }
        let real = |path: &Path| place::real(path).ok().map(|real| name_hash(&real.to_string_lossy()));
        let sources: HashSet<u64> = self.assets.iter().filter_map(|asset| real(&self.source(asset))).collect();
        for asset in &self.assets {
            let output = of(asset)?;
            if real(&output).is_some_and(|output| sources.contains(&output)) {
                let message = format!("{} is an input, and would be overwritten", place::shown(&output));
                return Err(Error::new(ErrorKind::Usage, message).with_hint("use another output folder"));
            }
        }
        Ok(())
    }

    /// Returns the hash of each asset's name with the asset's index, sorted by hash.
    fn numbers(&self, name: impl Fn(&Asset) -> Result<String>) -> Result<Vec<(u64, u32)>> {
        let numbered = |(number, asset)| Ok((name_hash(&name(asset)?), number as u32));
        let mut numbers = self.assets.iter().enumerate().map(numbered).collect::<Result<Vec<_>>>()?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns the path or URL of an asset.
    pub fn source(&self, asset: &Asset) -> PathBuf {
        let root = &self.roots[asset.root as usize];
        if place::is_folder(root) { root.join(&asset.name) } else { root.clone() }
    }

    /// Sets the state of each asset from the log in `outputs`, a folder or URL; `options` is the options hash of this
    /// run. Returns the damaged lines of the log.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the log cannot be read or the outputs cannot be listed.
    pub fn resume(&mut self, outputs: &Path, options: &str) -> Result<Damage> {
        let numbers = self.numbers(|asset| Ok(key(&asset.name)))?;
        let numbers: ByHash<u32> = numbers.into_iter().collect();
        let mut outputs = Outputs { folder: outputs, listed: None };
        read_rows(outputs.folder, &mut |json| {
            let Some(row) = RowHeader::parse(json) else { return Ok(false) };
            let Some(&number) = numbers.get(&name_hash(&row.asset)) else { return Ok(true) };
            let asset = &mut self.assets[number as usize];
            // Logs are ordered by start time, and the clock of one machine may be ahead of the others.
            if row.attempt < asset.attempts && !planted("clock-order") {
                return Ok(true);
            }
            asset.attempts = row.attempt;
            asset.has_other_options = row.options != options && !row.pruned;
            if asset.has_other_options {
                self.other_options = row.options.into_owned();
                asset.state = if row.error.is_none() { AssetState::Changed } else { AssetState::New };
                return Ok(true);
            }
            let is_same = (asset.bytes.unwrap_or(0), &*asset.version) == (row.source_bytes, &*row.source_version);
            asset.state = match (row.error, is_same) {
                _ if row.pruned => AssetState::New,
                (None, true) if outputs.have(&row.outputs)? => AssetState::Done,
                (None, _) => AssetState::Changed,
                (Some(_), true) => AssetState::Failed,
                (Some(_), false) => AssetState::New,
            };
            Ok(true)
        })
    }

    /// Returns the number of assets whose last attempt used other options, and the hash of the other options last seen
    /// in the log, or `None` if there are no such assets. Call [`Plan::resume`] first.
    pub fn other_options(&self) -> Option<(usize, &str)> {
        let count = self.assets.iter().filter(|asset| asset.has_other_options).count();
        (count > 0).then_some((count, self.other_options.as_str()))
    }

    /// Creates the task for the next attempt to convert `assets[number]`, with one thread. Options hash and limits are
    /// left at their defaults.
    pub fn task(&self, number: usize, output: &Path, folder: &Path) -> Task {
        let asset = &self.assets[number];
        Task {
            id: number as u64,
            asset: key(&asset.name),
            source: path_text(&self.source(asset)),
            output: path_text(output),
            folder: path_text(folder),
            attempt: asset.attempts.saturating_add(1),
            threads: 1,
            bytes: asset.bytes.unwrap_or(0),
            version: asset.version.to_string(),
            ..Task::default()
        }
    }
}

/// Looks up sizes and versions missing from the listing, in parallel. Files that cannot be looked up fail later, when a
/// worker opens them, and then get a row.
fn look_up(sources: &mut [Source]) {
    let threads = RunOptions::default().worker_threads().min(MAX_THREADS);
    let share = sources.len().div_ceil(threads).max(MIN_SHARE);
    std::thread::scope(|scope| {
        for sources in sources.chunks_mut(share) {
            scope.spawn(|| {
                for source in sources.iter_mut().filter(|source| source.found.is_none()) {
                    source.found = place::find(&source.path).ok();
                }
            });
        }
    });
}

/// Checks which outputs exist.
struct Outputs<'a> {
    folder: &'a Path,
    /// Objects below the URL with sizes; listed on first use.
    listed: Option<HashMap<String, Option<u64>>>,
}

impl Outputs<'_> {
    /// Whether all outputs exist with the expected sizes.
    fn have(&mut self, outputs: &[OutputHeader<'_>]) -> Result<bool> {
        // Listing the objects once takes far fewer requests than one request per output.
        if place::is_url(self.folder) && self.listed.is_none() {
            let listed = place::list_objects(self.folder, true);
            let listed = listed.map_err(|error| io("list", self.folder, error))?;
            self.listed = Some(listed.into_iter().map(|object| (key(&object.name), object.info.bytes)).collect());
        }
        let has = |output: &OutputHeader<'_>| match &self.listed {
            Some(listed) => listed.get(&*output.path) == Some(&Some(output.bytes)),
            None => self
                .folder
                .join(&*output.path)
                .metadata()
                .is_ok_and(|file| file.is_file() && file.len() == output.bytes),
        };
        Ok(outputs.iter().all(has))
    }
}

/// Returns a name as written in the log, with forward slashes.
pub(crate) fn key(name: &Path) -> String {
    let text = name.to_string_lossy();
    let text = place::stored_name(&text);
    if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() }
}

/// Returns an absolute path as text, so that workers can run in any directory. Workers cannot find files whose names
/// are not UTF-8; such assets fail.
fn path_text(path: &Path) -> String {
    place::absolute(path).to_string_lossy().into_owned()
}
