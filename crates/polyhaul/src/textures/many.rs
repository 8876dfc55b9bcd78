//! Many images to textures: those that changed, as many at a time as memory allows.
//!
//! Small files are imported in parallel, each by one thread; large ones one after another, each by all. A file that
//! fails is recorded and does not stop the others.

use super::manifest;
use super::manifest::{Entry, Manifest};
use super::{Imported, TextureOptions, import_texture};
use crate::format::Format;
use crate::input::{Input, Output};
use polyhaul_bytes::Codec;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_trace as trace;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// An image to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its file.
    pub path: PathBuf,
    /// Where the texture goes below the folder of textures, with the image's own name and extension.
    pub name: PathBuf,
}

/// The outcome for one image.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The texture was made.
    Made(Imported),
    /// The texture is up to date: neither the image nor the options have changed.
    Unchanged,
    /// It failed.
    Failed(Error),
}

/// The outcome of importing many images.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// One for each image, in their order.
    pub outcomes: Vec<Outcome>,
}

impl Imports {
    /// How many textures were made, were there already, and failed.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for outcome in &self.outcomes {
            counts[match outcome {
                Outcome::Made(_) => 0,
                Outcome::Unchanged => 1,
                Outcome::Failed(_) => 2,
            }] += 1;
        }
        counts
    }
}

/// Finds images: the given files, and all images in the given folders and their subfolders, ordered by name. Files in
/// folders are recognized by extension, excluding DDS and KTX 2; symbolic links to folders are not followed. A file
/// given directly is always included.
///
/// # Errors
/// [`ErrorKind::Io`] if a folder cannot be listed.
pub fn find_images(inputs: &[PathBuf]) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            let name = input.file_name().unwrap_or(input.as_os_str()).into();
            try_push(&mut found, Source { path: input.clone(), name }, "a list of files")?;
            continue;
        }
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            list(input, &folder, &mut folders, &mut found)?;
        }
    }
    Ok(found)
}

/// Lists the folder `below` of `input`.
fn list(input: &Path, below: &Path, folders: &mut Vec<PathBuf>, found: &mut Vec<Source>) -> Result<()> {
    let folder = input.join(below);
    let failed = |e| Error::io("listing", &folder.display().to_string(), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        try_push(&mut names, (entry.file_name(), entry.file_type().map_err(failed)?), "a list of files")?;
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let first = folders.len();
    for (name, kind) in names {
        let name = below.join(name);
        if kind.is_dir() {
            try_push(folders, name, "a list of folders")?;
        } else if is_image(&name) && input.join(&name).is_file() {
            try_push(found, Source { path: input.join(&name), name }, "a list of files")?;
        }
    }
    // The last one is taken first.
    folders[first..].reverse();
    Ok(())
}

fn is_image(name: &Path) -> bool {
    Format::of_path(name).is_some_and(|format| format.is_image() && !format.is_texture())
}

/// Imports images to a folder, creating it if needed.
///
/// An image is skipped if the image, the options and the texture are unchanged since the last import, as recorded in
/// the file `.polyhaul-textures` in the folder; `force` disables this check. If the job is cancelled, finished textures
/// are kept, and the next run continues from there. `observe` is called after each image, from any thread;
/// [`crate::options::RunOptions::progress`] is called with the number of images done and the total.
///
/// # Errors
/// [`ErrorKind::Usage`] if two images would be written to the same texture, or if the format is not a texture format;
/// [`ErrorKind::Cancelled`]; [`ErrorKind::Io`] if the folder cannot be written. An image that fails does not fail the
/// whole job.
pub fn import_textures(
    sources: &[Source],
    folder: &Path,
    options: &TextureOptions,
    force: bool,
    observe: &(dyn Fn(&Source, &Outcome) + Sync),
) -> Result<Imports> {
    let format = options.format.unwrap_or(Format::Dds);
    if !format.is_texture() {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("{} cannot store textures; expected dds or ktx2", format.name()),
        ));
    }
    let mut names = Vec::new();
    for source in sources {
        try_push(&mut names, (texture_name(&source.name, format)?, &*source.path), "names")?;
    }
    if let Some([one, other]) = manifest::same_name(&names)? {
        let message = format!("{} and {} would be written to the same texture", one.display(), other.display());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("rename one of them, or use two output folders"));
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::io("making", &folder.display().to_string(), e))?;
    let known = Manifest::open(folder);
    let own = TextureOptions { format: Some(format), ..options.clone() };
    let batch = Batch { folder, options: own, force, known: Mutex::new(known) };
    within(&options.run, || batch.run(sources, &names, observe))
}

/// The texture's name for an image's.
fn texture_name(name: &Path, format: Format) -> Result<String> {
    let text = try_string(&name.to_string_lossy())?;
    let plain = Codec::of_name(&text).map_or(&*text, |(_, plain)| plain);
    Ok(Path::new(plain).with_extension(format.name()).to_string_lossy().into_owned())
}

struct Batch<'a> {
    folder: &'a Path,
    options: TextureOptions,
    force: bool,
    known: Mutex<Manifest>,
}

impl Batch<'_> {
    fn run(
        self,
        sources: &[Source],
        names: &[(String, &Path)],
        observe: &(dyn Fn(&Source, &Outcome) + Sync),
    ) -> Result<Imports> {
        let run = &self.options.run;
        let threads = run.worker_threads();
        let mut outcomes: Vec<Mutex<Option<Outcome>>> = Vec::new();
        outcomes.try_reserve_exact(sources.len())?;
        outcomes.resize_with(sources.len(), || Mutex::new(None));
        let done = AtomicU64::new(0);
        let import = |number: usize, threads: usize| {
            if run.cancel.is_cancelled() {
                return;
            }
            let outcome = self.import(&sources[number], &names[number].0, threads);
            if matches!(&outcome, Outcome::Failed(error) if error.kind() == ErrorKind::Cancelled) {
                return;
            }
            let told = trace::callback();
            observe(&sources[number], &outcome);
            drop(told);
            *outcomes[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = &run.progress {
                progress.tell(done, Some(sources.len() as u64));
            }
        };
        let share = run.memory_limit / threads as u64;
        let is_small = |number: &usize| threads > 1 && claimed_bytes(&sources[*number]) <= share;
        let small = (0..sources.len()).filter(is_small);
        for_each_item(threads, small, || (), |(), number| import(number, 1));
        for number in (0..sources.len()).filter(|number| !is_small(number)) {
            import(number, threads);
        }
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        known.finish()?;
        if run.cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        let outcomes = outcomes.into_iter().filter_map(|o| o.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(Imports { outcomes: outcomes.collect() })
    }

    fn import(&self, source: &Source, name: &str, threads: usize) -> Outcome {
        match self.try_import(source, name, threads) {
            Ok(Some(made)) => Outcome::Made(made),
            Ok(None) => Outcome::Unchanged,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Imports one image; `None` if nothing changed.
    fn try_import(&self, source: &Source, name: &str, threads: usize) -> Result<Option<Imported>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let output = self.folder.join(Path::new(name));
        let format = self.options.format.unwrap_or(Format::Dds);
        let of_options = manifest::hash_options(&source.name.to_string_lossy(), format, &self.options);
        let hash = manifest::hash_file(&source.path, &self.options.run)?;
        if let Some(hash) = hash
            && !self.force
            && known().has(name, &output, hash, of_options)
        {
            return Ok(None);
        }
        if let Some(parent) = output.parent() {
            std::fs::create_dir_all(parent).map_err(|e| Error::io("making", &parent.display().to_string(), e))?;
        }
        let run = self.options.run.clone().with_threads(Some(threads));
        let options = TextureOptions { run, ..self.options.clone() };
        let made = import_texture(Input::Path(source.path.clone()), Output::Path(output.clone()), &options)?;
        let size = std::fs::metadata(&output).map(|found| found.len());
        if let (Some(input), Ok(size)) = (hash, size) {
            known().add(name, Entry { input, options: of_options, size })?;
        }
        Ok(Some(made))
    }
}

/// About how many bytes importing an image takes, by the size of its file.
fn claimed_bytes(source: &Source) -> u64 {
    let size = std::fs::metadata(&source.path).map_or(0, |found| found.len());
    // Compressed formats are about this much smaller than their content.
    let is_packed = Format::of_path(&source.path).is_some_and(|format| format.readers().is_packed);
    size.saturating_mul(if is_packed { 16 } else { 2 })
}
