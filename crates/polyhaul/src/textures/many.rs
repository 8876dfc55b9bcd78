//! Imports many images as textures: only those that changed, and as many at a time as memory allows.
//!
//! A failure is recorded and does not stop the other imports. [`crate::many`] finds the files and runs the imports.

use super::manifest;
use super::manifest::{Entry, Manifest};
use super::{Imported, TextureOptions, import_texture};
use crate::format::Format;
use crate::input::{Input, Output};
use crate::many::{self, FindOptions, Source};
use polyhaul_bytes::Codec;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_pipeline::options::RunOptions;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The outcome for one image.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one for each image, which takes far more")]
pub enum Outcome {
    /// The texture was written.
    Made(Imported),
    /// The texture is up to date: neither the image nor the options have changed.
    Unchanged,
    /// The import failed.
    Failed(Error),
}

/// The outcome of importing many images.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// One outcome per image, in order.
    pub outcomes: Vec<Outcome>,
}

impl Imports {
    /// The number of textures written, unchanged and failed.
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
/// folders are recognized by extension, excluding DDS and KTX2; symbolic links to folders are not followed. A file
/// given directly is always included.
///
/// # Errors
/// [`ErrorKind::Io`] if a folder cannot be listed.
pub fn find_images(inputs: &[PathBuf]) -> Result<Vec<Source>> {
    let options = FindOptions::default().with_recursive(true);
    many::find(inputs, &options, |format| format.is_image() && !format.is_texture())
}

/// Imports images into a folder, creating it if needed.
///
/// An image is skipped if the image, the options and the texture are unchanged since the last import, as recorded in
/// the file `.polyhaul-textures` in the folder; `force` disables this check. If the job is cancelled, finished textures
/// are kept, and the next run continues from there. Calls `observe` for each image, in order, from any thread, and
/// [`crate::options::RunOptions::progress`] with the number of finished images and the total.
///
/// # Errors
/// [`ErrorKind::Usage`] if two images would be written to the same texture, or if the format is not a texture format;
/// [`ErrorKind::Cancelled`] if the job was cancelled; [`ErrorKind::Io`] if the folder cannot be written. An image that
/// fails does not fail the whole job.
pub fn import_textures(
    sources: &[Source],
    folder: &Path,
    options: &TextureOptions,
    force: bool,
    observe: &(dyn Fn(&Source, &Outcome) + Sync),
) -> Result<Imports> {
    let format = options.format.map_or_else(default_format, Ok)?;
    if !format.is_texture() {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("{} cannot store textures; expected dds or ktx2", format.name()),
        ));
    }
    let mut names = Vec::new();
    let mut outputs = Vec::new();
    for source in sources {
        let name = texture_name(&source.name, format)?;
        try_push(&mut outputs, folder.join(&name), "names")?;
        try_push(&mut names, name, "names")?;
    }
    many::check_outputs(sources.iter().zip(&outputs).map(|(source, output)| (&*source.path, &**output)))?;
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create the folder", &folder.display().to_string(), e))?;
    let manifest = Mutex::new(Manifest::open(folder));
    let options = TextureOptions { format: Some(format), ..options.clone() };
    let batch = Batch { folder, format, options, force, manifest };
    batch.run(sources, &names, observe)
}

/// Default format: the first texture format of the registry.
fn default_format() -> Result<Format> {
    let format = Format::ALL.into_iter().find(|format| format.is_texture());
    format.ok_or_else(|| Error::new(ErrorKind::Internal, "no format stores textures"))
}

/// Name of the texture for an image.
fn texture_name(name: &Path, format: Format) -> Result<String> {
    let text = try_string(&name.to_string_lossy())?;
    let plain = Codec::of_name(&text).map_or(&*text, |(_, plain)| plain);
    Ok(Path::new(plain).with_extension(format.name()).to_string_lossy().into_owned())
}

struct Batch<'a> {
    folder: &'a Path,
    format: Format,
    options: TextureOptions,
    force: bool,
    manifest: Mutex<Manifest>,
}

impl Batch<'_> {
    fn run(
        self,
        sources: &[Source],
        names: &[String],
        observe: &(dyn Fn(&Source, &Outcome) + Sync),
    ) -> Result<Imports> {
        let run = &self.options.run;
        let mut outcomes = Vec::new();
        outcomes.try_reserve_exact(sources.len())?;
        let import = |number: usize, run: RunOptions| self.import(&sources[number], &names[number], run);
        let observe_in_order = |number: usize, outcome: Outcome| {
            if matches!(&outcome, Outcome::Failed(error) if error.kind() == ErrorKind::Cancelled) {
                return ControlFlow::Break(());
            }
            observe(&sources[number], &outcome);
            outcomes.push(outcome);
            ControlFlow::Continue(())
        };
        let bytes = |number: usize| many::claimed_bytes(&sources[number].path);
        let cancel = run.cancel.clone();
        let ran = many::for_each_file(sources.len(), run, bytes, import, observe_in_order);
        self.manifest.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        // `for_each_file` reports a break as success, even if a cancelled import caused it.
        cancel.check()?;
        ran.map(|()| Imports { outcomes })
    }

    fn import(&self, source: &Source, name: &str, run: RunOptions) -> Outcome {
        match self.try_import(source, name, run) {
            Ok(Some(made)) => Outcome::Made(made),
            Ok(None) => Outcome::Unchanged,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Imports one image. Returns `None` if nothing changed.
    fn try_import(&self, source: &Source, name: &str, run: RunOptions) -> Result<Option<Imported>> {
        let manifest = || self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let output = self.folder.join(Path::new(name));
        let of_options = manifest::hash_options(&source.name.to_string_lossy(), self.format, &self.options);
        let hash = manifest::hash_file(&source.path, &self.options.run)?;
        if let Some(hash) = hash
            && !self.force
            && manifest().has(name, &output, hash, of_options)
        {
            return Ok(None);
        }
        if let Some(parent) = output.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|e| Error::io("create the folder", &parent.display().to_string(), e))?;
        }
        let options = TextureOptions { run, ..self.options.clone() };
        let made = import_texture(Input::Path(source.path.clone()), Output::Path(output.clone()), &options)?;
        if let Some(input) = hash
            && let Ok(metadata) = std::fs::metadata(&output)
        {
            manifest().add(name, Entry { input, options: of_options, size: metadata.len() })?;
        }
        Ok(Some(made))
    }
}
