//! Finds files in folders, and processes many files under one memory budget.
//!
//! Small files are processed in parallel, each with one thread; large files sequentially, each with all threads. The
//! caller's function does the work on a file; this module opens files only to distinguish prose from tables of numbers.

use crate::format::Format;
use crate::prose::is_prose_file;
use crate::registry::SceneWriter;
use glob::{MatchOptions, Pattern};
use polyhaul_bytes::Codec;
use polyhaul_bytes::place::{self, PlaceInfo};
use polyhaul_fault::planted;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf, is_separator};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file to be processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its path relative to the searched folder; only the file name if the file was given directly.
    pub name: PathBuf,
    /// Metadata from the listing of an object store.
    pub found: Option<PlaceInfo>,
}

/// Selects the files to find in folders.
///
/// ```
/// use polyhaul::many::FindOptions;
///
/// let options = FindOptions::default().with_recursive(true).with_include(["*.obj", "scans/*.ply"])?;
/// assert!(options.includes("chairs/a.obj".as_ref()) && !options.includes("chairs/b.ply".as_ref()));
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FindOptions {
    /// Whether to search subfolders (default: no). Symbolic links to folders are not followed, and names that start
    /// with a dot are skipped.
    pub recursive: bool,
    /// A subfolder to skip, such as the output folder (default: none).
    pub exclude: Option<PathBuf>,
    /// Patterns from [`FindOptions::with_include`].
    include: Vec<Pattern>,
}

impl FindOptions {
    /// Sets [`FindOptions::recursive`].
    pub fn with_recursive(self, recursive: bool) -> Self {
        FindOptions { recursive, ..self }
    }

    /// Sets [`FindOptions::exclude`].
    pub fn with_exclude(self, folder: impl Into<PathBuf>) -> Self {
        FindOptions { exclude: Some(folder.into()), ..self }
    }

    /// Finds files that match one of these patterns, whatever their format. Without patterns, files are recognized by
    /// extension.
    ///
    /// `*` matches any characters, `?` one character, `[a-z]` one of a set, and `**` any folders; case is ignored. A
    /// pattern with a `/` is matched against the path below the folder, other patterns against the file name.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid pattern.
    pub fn with_include<'a>(self, patterns: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let parse = |text: &str| {
            Pattern::new(text).map_err(|error| {
                let message = format!("invalid pattern `{text}`: {} at character {}", error.msg, error.pos + 1);
                Error::new(ErrorKind::Usage, message)
            })
        };
        Ok(FindOptions { include: patterns.into_iter().map(parse).collect::<Result<_>>()?, ..self })
    }

    /// Whether a pattern matches a path below a folder.
    pub fn includes(&self, name: &Path) -> bool {
        let options = MatchOptions { require_literal_separator: true, case_sensitive: false, ..MatchOptions::new() };
        let file_name = name.file_name().map(Path::new);
        self.include.iter().any(|pattern| {
            let compared = if pattern.as_str().contains(is_separator) { Some(name) } else { file_name };
            compared.is_some_and(|name| pattern.matches_with(&name.to_string_lossy(), options))
        })
    }

    /// Whether a file below a folder matches a pattern or, without patterns, has a wanted format and is not prose.
    fn finds(&self, name: &Path, path: &Path, is_wanted: impl Fn(Format) -> bool) -> bool {
        if !self.include.is_empty() {
            return self.includes(name);
        }
        Format::of_path(name)
            .is_some_and(|format| is_wanted(format) && !(format.is_often_prose() && is_prose_file(path)))
    }

    /// Whether a name below a folder is hidden: it starts with a dot, or is the folder that macOS adds to archives.
    /// Nothing is hidden if a pattern contains such a name.
    fn is_hidden(&self, name: &OsStr) -> bool {
        let is_dotted = |name: &str| name.starts_with('.') || name == "__MACOSX";
        // Names such as `..` in an object store are not valid paths; opening them reports that.
        is_dotted(&name.to_string_lossy())
            && place::check_name(Path::new(name)).is_ok()
            && !self.include.iter().any(|pattern| pattern.as_str().split(is_separator).any(is_dotted))
    }
}

/// Finds files: the given files, and those files in the given folders (or below URLs that end in a slash) that match
/// `options`, ordered by name. Without patterns, a file matches if `is_wanted` accepts the format of its extension,
/// unless it is prose such as `license.txt`.
///
/// # Errors
/// [`ErrorKind::Io`] if a folder cannot be listed.
pub fn find(inputs: &[PathBuf], options: &FindOptions, is_wanted: impl Fn(Format) -> bool) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let excluded = options.exclude.as_ref().and_then(|folder| place::real(folder).ok());
    for input in inputs {
        if place::is_url(input) && place::is_folder(input) {
            find_objects(input, options, &is_wanted, &mut sources)?;
        } else if input.is_dir() {
            let excluded = excluded.as_deref();
            let folders = vec![PathBuf::new()];
            let mut search = Search { input, options, excluded, is_wanted: &is_wanted, folders };
            while let Some(folder) = search.folders.pop() {
                search.list(&folder, &mut sources)?;
            }
        } else {
            let name = input.file_name().unwrap_or(input.as_os_str()).into();
            try_push(&mut sources, Source { path: input.clone(), name, found: None }, "a list of files")?;
        }
    }
    Ok(sources)
}

/// Finds the objects below a URL.
fn find_objects(
    folder: &Path,
    options: &FindOptions,
    is_wanted: &dyn Fn(Format) -> bool,
    sources: &mut Vec<Source>,
) -> Result<()> {
    let failed = |e| Error::io("list", &place::shown(folder), e);
    for object in place::list_objects(folder, options.recursive).map_err(failed)? {
        let path = folder.join(&object.name);
        let is_excluded = options.exclude.as_ref().is_some_and(|excluded| path.starts_with(excluded));
        let is_hidden = object.name.iter().any(|part| options.is_hidden(part));
        if !is_excluded && !is_hidden && options.finds(&object.name, &path, is_wanted) {
            check_object_name(&object.name)?;
            try_push(sources, Source { path, name: object.name, found: Some(object.info) }, "a list of files")?;
        }
    }
    Ok(())
}

/// Checks that an object name stays below any folder that it is appended to. On Windows, `C:/a.obj` refers to a drive,
/// and `a\b.obj` to a file in a folder.
fn check_object_name(name: &Path) -> Result<()> {
    if !cfg!(windows) || !name.as_os_str().as_encoded_bytes().iter().any(|byte| b":\\".contains(byte)) {
        return Ok(());
    }
    let message = format!("the object name `{}` is not valid as a path on Windows", place::shown(name));
    Err(Error::new(ErrorKind::Usage, message).with_hint("rename the object, or exclude it with `--include`"))
}

/// Whether a symlink points to a folder or a device. A dangling symlink counts as a missing asset instead.
fn is_special(link: &Path) -> bool {
    link.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// Depth-first search of a folder.
struct Search<'a> {
    input: &'a Path,
    options: &'a FindOptions,
    excluded: Option<&'a Path>,
    is_wanted: &'a dyn Fn(Format) -> bool,
    /// Stack of folders to list, relative to `input`.
    folders: Vec<PathBuf>,
}

impl Search<'_> {
    /// Lists a folder, relative to `input`.
    fn list(&mut self, below: &Path, sources: &mut Vec<Source>) -> Result<()> {
        let folder = self.input.join(below);
        let failed = |e| Error::io("list", &folder.display().to_string(), e);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if self.options.is_hidden(&entry.file_name()) {
                continue;
            }
            try_push(&mut names, (entry.file_name(), entry.file_type().map_err(failed)?), "a list of files")?;
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let first = self.folders.len();
        for (name, kind) in names {
            let name = below.join(name);
            let path = self.input.join(&name);
            if kind.is_dir() || planted("folder-link") && path.is_dir() {
                if self.options.recursive && !self.is_excluded(&path) {
                    try_push(&mut self.folders, name, "a list of folders")?;
                }
            } else if (kind.is_file() || kind.is_symlink() && !is_special(&path))
                && self.options.finds(&name, &path, self.is_wanted)
            {
                try_push(sources, Source { path, name, found: None }, "a list of files")?;
            }
        }
        // Folders are popped from the end.
        self.folders[first..].reverse();
        Ok(())
    }

    fn is_excluded(&self, folder: &Path) -> bool {
        self.excluded.is_some_and(|excluded| place::real(folder).is_ok_and(|folder| folder == excluded))
    }
}

/// Calls `work` with the index of each file and its options: in parallel for files that need at most one thread's share
/// of [`RunOptions::memory_limit`], then sequentially for the larger files. `bytes` estimates the memory that a file
/// needs; see [`claimed_bytes`]. Each file gets the memory limit of the job, because the limit also decides which
/// content is accepted.
///
/// Calls `take` with one result at a time, in file order, from any thread, until it returns `Break`. Calls
/// [`RunOptions::progress`] with the number of finished files and the total. If the job is cancelled, `take` still gets
/// the results of all processed files.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if the job was cancelled before all files were processed; [`ErrorKind::Memory`] if memory
/// runs out.
pub fn for_each_file<T: Send>(
    count: usize,
    run: &RunOptions,
    bytes: impl Fn(usize) -> u64 + Sync,
    work: impl Fn(usize, RunOptions) -> T + Sync,
    take: impl FnMut(usize, T) -> ControlFlow<()> + Send,
) -> Result<()> {
    let threads = run.worker_threads();
    let share = run.memory_limit / threads as u64;
    let large = Mutex::new(Vec::new());
    let files = Files {
        results: Mutex::new(InOrder { next: 0, waiting: BTreeMap::new(), done: take }),
        stops: AtomicBool::new(false),
        finished: AtomicU64::new(0),
    };
    let work_on = |number: usize, file_run: RunOptions| {
        if !files.stops.load(Ordering::Relaxed) && !run.cancel.is_cancelled() {
            files.put(number, work(number, file_run.with_progress(None)));
            let finished = files.finished.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = &run.progress {
                progress.report(finished, Some(count as u64));
            }
        }
    };
    within(run, || {
        let alone = || run.clone().with_threads(Some(1));
        let small_or_later = |(): &mut (), number| {
            // A single thread takes all files in the second loop, in order.
            if threads > 1 && bytes(number) <= share {
                return work_on(number, alone());
            }
            lock(&large).push(number);
        };
        // Reserved here, because `small_or_later` cannot report an error.
        lock(&large).try_reserve_exact(count)?;
        for_each_item(threads, 0..count, || (), small_or_later);
        let mut large = std::mem::take(&mut *lock(&large));
        // Threads append numbers in any order.
        large.sort_unstable();
        large.into_iter().for_each(|number| work_on(number, run.clone()));
        Result::Ok(())
    })?;
    files.put_rest();
    if files.stops.into_inner() || files.finished.into_inner() == count as u64 {
        Ok(())
    } else {
        Err(Error::cancelled())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of a job.
struct Files<T, D> {
    results: Mutex<InOrder<T, D>>,
    stops: AtomicBool,
    finished: AtomicU64,
}

/// Results, passed on in order.
struct InOrder<T, D> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    done: D,
}

impl<T, D: FnMut(usize, T) -> ControlFlow<()>> Files<T, D> {
    /// Passes on a result and the results that wait for it.
    fn put(&self, number: usize, result: T) {
        // Locked until the callback returns, so that results are passed on one at a time.
        let results = &mut *lock(&self.results);
        results.waiting.insert(number, result);
        if planted("files-order") && results.waiting.len() == 1 {
            results.next = number;
        }
        while let Some(result) = results.waiting.remove(&results.next) {
            self.pass_on(results, results.next, result);
            results.next += 1;
        }
    }

    /// Passes on waiting results whose predecessors were cancelled.
    fn put_rest(&self) {
        let results = &mut *lock(&self.results);
        while let Some((number, result)) = results.waiting.pop_first() {
            self.pass_on(results, number, result);
        }
    }

    fn pass_on(&self, results: &mut InOrder<T, D>, number: usize, result: T) {
        if self.stops.load(Ordering::Relaxed) {
            return;
        }
        let _told = polyhaul_trace::callback();
        if (results.done)(number, result).is_break() {
            self.stops.store(true, Ordering::Relaxed);
        }
    }
}

/// Estimates the memory for reading a file, in bytes, from its size and extension; [`u64::MAX`] if unknown.
pub fn claimed_bytes(path: &Path) -> u64 {
    let Some(bytes) = place::find(path).ok().and_then(|info| info.bytes) else { return u64::MAX };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Rough factors: compressed content expands 8 times, and the arrays of a mesh are as large as its text.
    let packed = if Codec::of_name(&name).is_some() { 8 } else { 1 };
    let factor = match Format::of_path(path) {
        Some(format) if format.readers().is_packed => 16,
        // Renderer scenes refer to files of any size.
        Some(format) if matches!(format.writers().scene, Some(SceneWriter::Render(_))) => return u64::MAX,
        Some(_) => 2,
        None => return u64::MAX,
    };
    bytes.saturating_mul(packed * factor)
}

/// Checks pairs of input and output: no two inputs may have the same output, and no output may be another input. On
/// Windows and macOS, output names that differ only in case are the same.
///
/// # Errors
/// [`ErrorKind::Usage`], naming the first two files that conflict.
pub fn check_outputs<'a>(outputs: impl Iterator<Item = (&'a Path, &'a Path)> + Clone) -> Result<()> {
    let ignores_case = cfg!(any(windows, target_os = "macos"));
    let mut sorted = Vec::new();
    for (input, output) in outputs.clone() {
        let key =
            if ignores_case { output.to_string_lossy().to_lowercase().into() } else { output.as_os_str().to_owned() };
        try_push(&mut sorted, (key, input), "names")?;
    }
    sorted.sort();
    if let Some(twins) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let first = twins[0].1.display();
        let second = twins[1].1.display();
        let error = Error::new(ErrorKind::Usage, format!("{first} and {second} would be written to the same file"));
        return Err(error.with_hint("rename one of them, or use two output folders"));
    }
    let mut existing: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    // Only an output that exists can be an input.
    existing.extend(outputs.clone().filter_map(|(input, output)| Some((place::real(output).ok()?, input))));
    if existing.is_empty() {
        return Ok(());
    }
    for (input, _) in outputs {
        let writer = place::real(input).ok().and_then(|real| existing.get(&real));
        // A file may replace itself.
        if let Some(writer) = writer.filter(|writer| **writer != input) {
            let message = format!("{} is an input, and would be overwritten by {}", input.display(), writer.display());
            return Err(Error::new(ErrorKind::Usage, message).with_hint("use another output folder"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_pipeline::options::Cancel;

    const COUNT: usize = 50;

    /// Every fourth file is large.
    fn bytes(number: usize) -> u64 {
        if number.is_multiple_of(4) { u64::MAX } else { 1000 }
    }

    #[test]
    fn results_come_in_order_with_options_by_size() {
        for threads in [1, 2, 7] {
            let run = RunOptions::default().with_threads(Some(threads));
            let mut seen = Vec::new();
            let work = |number: usize, file_run: RunOptions| (number, file_run.threads, file_run.memory_limit);
            for_each_file(COUNT, &run, bytes, work, |at, (number, file_threads, memory)| {
                let is_alone = threads > 1 && !number.is_multiple_of(4);
                assert_eq!((at, file_threads), (number, Some(if is_alone { 1 } else { threads })));
                assert_eq!(memory, run.memory_limit);
                seen.push(number);
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(seen, (0..COUNT).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_break_is_an_end_and_a_cancellation_an_error() {
        for threads in [1, 3] {
            let run = RunOptions::default().with_threads(Some(threads)).with_cancel(Cancel::default());
            let mut seen = 0;
            let stop = |number, ()| {
                seen += 1;
                if number == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            for_each_file(COUNT, &run, bytes, |_, _| (), stop).unwrap();
            assert_eq!(seen, 6);
            let mut seen = Vec::new();
            let begun = AtomicU64::new(0);
            let work = |number, _| {
                begun.fetch_add(1, Ordering::Relaxed);
                if number == 9 {
                    run.cancel.cancel();
                }
            };
            let take = |number, ()| {
                seen.push(number);
                ControlFlow::Continue(())
            };
            assert!(for_each_file(COUNT, &run, bytes, work, take).is_err_and(|e| e.kind() == ErrorKind::Cancelled));
            // Large files and their results wait for the small files; no result is lost.
            assert_eq!(seen.len() as u64, begun.into_inner());
            assert!(seen.len() < COUNT && seen.contains(&9) && seen.is_sorted());
        }
    }

    #[test]
    fn object_names_do_not_lead_elsewhere_on_windows() {
        for name in ["C:/a.obj", "C:a.obj", "a/b:c.obj", "..\\a.obj", "a\\b.obj"] {
            assert_eq!(check_object_name(Path::new(name)).is_err(), cfg!(windows), "{name}");
        }
        assert!(check_object_name(Path::new("a/b c.obj")).is_ok());
    }

    #[test]
    fn outputs_must_differ() {
        let check =
            |outputs: [&str; 2]| check_outputs(outputs.iter().map(|output| (Path::new("in"), Path::new(*output))));
        assert!(check(["a/b.ply", "a/c.ply"]).is_ok());
        assert_eq!(check(["a/b.ply", "a/b.ply"]).unwrap_err().kind(), ErrorKind::Usage);
        let is_same = cfg!(any(windows, target_os = "macos"));
        assert_eq!(check(["a/b.ply", "a/B.ply"]).is_err(), is_same);
        let check = |pairs: [[&str; 2]; 2]| check_outputs(pairs.iter().map(|[a, b]| (Path::new(*a), Path::new(*b))));
        assert!(check([["Cargo.toml", "Cargo.toml"], ["src/lib.rs", "none"]]).is_ok());
        let error = check([["Cargo.toml", "none"], ["src/lib.rs", "src/../Cargo.toml"]]).unwrap_err();
        assert_eq!(error.to_string(), "Cargo.toml is an input, and would be overwritten by src/lib.rs");
    }

    #[test]
    #[cfg(unix)]
    fn links_to_folders_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = std::env::temp_dir().join(format!("polyhaul-many-links-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for below in ["in/sub", "elsewhere"] {
            std::fs::create_dir_all(folder.join(below)).unwrap();
        }
        for file in ["in/a.obj", "in/sub/b.obj", "elsewhere/c.obj"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        // A link to a file counts as the file; links to folders lead in circles, or out.
        symlink(folder.join("elsewhere/c.obj"), folder.join("in/d.obj")).unwrap();
        symlink(folder.join("in"), folder.join("in/sub/circle")).unwrap();
        symlink(folder.join("elsewhere"), folder.join("in/elsewhere")).unwrap();
        let options = FindOptions::default().with_recursive(true);
        let names: Vec<_> =
            find(&[folder.join("in")], &options, |_| true).unwrap().into_iter().map(|source| source.name).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["a.obj", "d.obj", "sub/b.obj"].map(PathBuf::from));
    }
}
