//! Finds the files of an asset: the files that a load opened, or that the text of the asset appears to name.
//!
//! Sizes and times are recorded during the search; callers that keep copies compare them later. Nothing is written.

use crate::args::sweep::Until;
use crate::file::io;
use polyhaul::model::Samples;
use polyhaul::options::Resolve;
use polyhaul::place;
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::trace::{Detail, Phase, Recording, Trace};
use polyhaul::{Error, ErrorKind, Format, Input, Loaded, ReadOptions, Report, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// A file, with its size and modification time when it was inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFile {
    /// The resolved path, without symbolic links.
    pub path: PathBuf,
    pub bytes: u64,
    pub modified_ns: u128,
    /// The format by the name under which the file was opened, since the target of a symlink may have another name.
    pub format: Option<Format>,
}

/// All files of an asset, starting with the main file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    pub files: Vec<SweepFile>,
    /// The deepest common folder of the files.
    pub root: PathBuf,
    /// The names by which the load requested files, with their indices in `files`.
    pub names: Vec<(String, usize)>,
}

/// Collects the names of files requested by a load.
#[derive(Default)]
pub struct RequestedNames(Arc<Mutex<BTreeSet<String>>>);

impl RequestedNames {
    /// A resolver that records all names and resolves none.
    pub fn listener(&self) -> Resolve {
        let names = self.0.clone();
        Resolve(Arc::new(move |name| {
            let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
            if !names.contains(name) {
                names.insert(name.to_owned());
            }
            Ok(None)
        }))
    }
}

/// The result of one load.
pub struct Load {
    pub report: Report,
    /// Counts of the content, which are equal for equal content.
    pub counts: Vec<u64>,
    pub seen: Recording,
}

/// Loads a file of any kind and drops the content; returns the load and its seconds.
pub fn load(path: &Path, options: &ReadOptions, until: &Until) -> Result<(Load, f64)> {
    let trace = Trace::new(Detail::Totals);
    let run = options.run.clone().with_trace(Some(trace.clone()));
    let options = options.clone().with_run(run);
    let input = Input::Path(path.into());
    if *until == Until::FirstPixel {
        return draw(input, &options, &trace);
    }
    let start = std::time::Instant::now();
    if options.format.or_else(|| Format::of_path(path)).is_some_and(Format::is_image) {
        let loaded = polyhaul::Reader::new(input).options(&options).image()?;
        let seconds = start.elapsed().as_secs_f64();
        let counts = vec![loaded.value.width as u64, loaded.value.height as u64];
        return Ok((Load { report: loaded.report, counts, seen: trace.recording() }, seconds));
    }
    let loaded = polyhaul::Reader::new(input).options(&options).scene()?;
    let seconds = start.elapsed().as_secs_f64();
    let mut counts: Vec<u64> = loaded.value.totals().to_vec();
    let lists = [loaded.value.objects.len(), loaded.value.materials.len(), loaded.value.meshes.len()];
    counts.extend(lists.map(|count| count as u64));
    counts.push(loaded.value.tables.iter().map(|table| table.row_count as u64).sum());
    if let Some(render) = &loaded.value.render {
        counts.extend([render.shape_count(), render.instances.len()].map(|count| count as u64));
    }
    // Copies have other extensions and no trailing data, so these warnings differ between equal contents.
    let is_kept = |code: &str| !matches!(code, "not-compressed" | "trailing-garbage");
    counts.push(loaded.report.warnings.counts().iter().filter(|count| is_kept(count.0)).map(|count| count.1).sum());
    Ok((Load { report: loaded.report, counts, seen: trace.recording() }, seconds))
}

/// Draws a file; returns the load and the seconds to the first picture.
fn draw(input: Input, options: &ReadOptions, trace: &Trace) -> Result<(Load, f64)> {
    let look = PreviewOptions::default().with_run(options.run.clone());
    let Loaded { value: picture, report } = preview(input, options, &look)?;
    let sum = match &picture.samples {
        Samples::U8(samples) => samples.iter().map(|&sample| u64::from(sample)).sum(),
        _ => 0,
    };
    let counts = vec![picture.width as u64, picture.height as u64, sum];
    let seconds = report.first_pixel.unwrap_or(report.elapsed()).as_secs_f64();
    Ok((Load { report, counts, seen: trace.recording() }, seconds))
}

impl Asset {
    /// Finds the files that a load opened, and the names it used.
    pub fn of_load(main: &Path, seen: &Recording, requested: &RequestedNames, options: &ReadOptions) -> Result<Asset> {
        if seen.dropped_files > 0 {
            let what = format!("{} refers to too many files; the maximum is {}", main.display(), seen.files.len());
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let mut asset = Asset::new(main, opened(seen))?;
        let folder = folder_of(main);
        let names = std::mem::take(&mut *requested.0.lock().unwrap_or_else(PoisonError::into_inner));
        let numbered = asset.files.iter().enumerate().map(|(number, file)| (&*file.path, number));
        let mut numbers: BTreeMap<&Path, usize> = BTreeMap::new();
        numbers.extend(numbered);
        let inside = place::real(folder).unwrap_or_default();
        let place = |name: String| {
            let real = place::real(&beside(folder, &name)).ok()?;
            // Exclude files that the load refused to open, so that they stay refused.
            let is_open = options.allow_outside || is_below(&name) && real.starts_with(&inside);
            numbers.get(&*real).filter(|_| is_open).map(|&number| (name, number))
        };
        let names = names.into_iter().filter_map(place).collect();
        asset.names = names;
        Ok(asset)
    }

    /// Finds the existing files that the text of a scene names in quotes, without loading the scene.
    pub fn of_names(main: &Path, options: &ReadOptions) -> Result<Asset> {
        if options.format.or_else(|| Format::of_path(main)) != Some(Format::Pbrt) {
            return Asset::new(main, []);
        }
        let folder = folder_of(main);
        let mut files = vec![main.to_path_buf()];
        let mut next = 0;
        // Several names may lead to the same file, for example through different folders.
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        seen.extend(place::real(main));
        while let Some(file) = files.get(next).cloned() {
            next += 1;
            options.run.cancel.check()?;
            if Format::of_path(&file) != Some(Format::Pbrt) && file != main {
                continue;
            }
            // Most quoted strings are not file names, so filter them before storing.
            let mut names = BTreeSet::new();
            let mut keep = |name: &str| {
                if is_file_of_a_scene(name, options) && !names.contains(name) {
                    names.insert(name.to_owned());
                }
            };
            polyhaul::inspect::quoted(Input::Path(file.clone()), options, &mut keep)?;
            for name in names {
                let paths = [beside(folder, &name), beside(folder_of(&file), &name)];
                let path = paths.into_iter().find(|path| path.is_file());
                files.extend(path.filter(|path| place::real(path).is_ok_and(|real| seen.insert(real))));
            }
        }
        Asset::new(main, files)
    }

    fn new(main: &Path, files: impl IntoIterator<Item = PathBuf>) -> Result<Asset> {
        let mut seen = BTreeSet::new();
        let mut asset = Asset { files: Vec::new(), root: PathBuf::new(), names: Vec::new() };
        for path in std::iter::once(main.to_path_buf()).chain(files) {
            let failed = |error| io("open", &path, error);
            let real = place::real(&path).map_err(failed)?;
            let format = Format::of_path(&path).or_else(|| Format::of_path(&real));
            if !seen.insert(real.clone()) {
                continue;
            }
            let metadata = real.metadata().map_err(failed)?;
            if !metadata.is_file() {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("{} is not a regular file, so it cannot be read repeatedly", path.display()),
                ));
            }
            let modified_ns = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let modified_ns = modified_ns.map_or(0, |since| since.as_nanos());
            asset.files.push(SweepFile { path: real, bytes: metadata.len(), modified_ns, format });
        }
        asset.root = shared(&asset.files);
        Ok(asset)
    }

    pub fn main(&self) -> &Path {
        self.files.first().map_or(Path::new(""), |file| &file.path)
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The input files that a load opened, by the names it used.
pub fn opened(seen: &Recording) -> impl Iterator<Item = PathBuf> {
    let files = seen.files.iter().filter(|file| file.is_file && !file.is_output && file.phase == Phase::Read);
    files.map(|file| PathBuf::from(&file.name))
}

/// The parent folder of a file; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a name, taken as text, stays below the scene's folder.
fn is_below(name: &str) -> bool {
    let path = beside(Path::new(""), name);
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The path of a name in a scene in `folder`. Backslashes, which some scenes use, become slashes.
pub fn beside(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.replace('\\', "/"))
}

/// Whether a name may be a file that loading a scene opens.
fn is_file_of_a_scene(name: &str, options: &ReadOptions) -> bool {
    let path = Path::new(name);
    matches!(Format::of_path(path), Some(Format::Pbrt | Format::Ply)) && (options.allow_outside || is_below(name))
}

/// The deepest common folder of the files.
fn shared(files: &[SweepFile]) -> PathBuf {
    let mut folders = files.iter().filter_map(|file| file.path.parent());
    let mut root = folders.next().unwrap_or(Path::new("")).to_path_buf();
    for folder in folders {
        while !folder.starts_with(&root) {
            if !root.pop() {
                break;
            }
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_their_deepest_folder() {
        let of = |paths: &[&str]| {
            let file = |path: &&str| SweepFile { path: path.into(), bytes: 0, modified_ns: 0, format: None };
            shared(&paths.iter().map(file).collect::<Vec<_>>())
        };
        assert_eq!(of(&["/a/b/c.obj", "/a/b/d/e.mtl"]), Path::new("/a/b"));
        assert_eq!(of(&["/a/b/c.obj", "/a/x.mtl", "/a/b/y"]), Path::new("/a"));
        assert_eq!(of(&["/a/c.obj", "/b/x.mtl"]), Path::new("/"));
    }
}
