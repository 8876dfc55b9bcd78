//! Files inside files, such as the images in a glTF file: `chair.glb#image0.png`.
//!
//! Such a name is valid wherever a path is, unless a file with that name exists. The outer file must be a regular file,
//! an object in an object store, or a member of an archive (see `archive`). `resolve` and `references` decide whether
//! it may be opened.

use crate::format::{Format, InnerFiles, ReadRange};
use crate::options::ReadOptions;
use crate::plain::{Plain, regular};
use polyhaul_bytes::{Codec, Source, place};
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// Path of a file inside a file.
pub(crate) struct InnerFile {
    outer: PathBuf,
    index: usize,
    /// Suffix, such as `#image0.png`.
    suffix: String,
    files: InnerFiles,
}

impl InnerFile {
    /// Parses a path. Returns `None` if its name does not refer to an inner file, if the outer file does not exist, or
    /// if a file with this name exists.
    pub(crate) fn at(path: &Path) -> Option<InnerFile> {
        let name = path.file_name()?.to_str()?;
        let (files, outer, index) = split_name(name)?;
        let suffix = name.get(outer.len()..)?.to_owned();
        let outer = path.with_file_name(outer);
        // A web server would ignore the part after the `#`.
        let is_taken = !place::is_url(path) && place::find(path).is_ok();
        (!is_taken && place::is_file(&outer)).then_some(InnerFile { outer, index, suffix, files })
    }

    /// Path of the outer file.
    pub(crate) fn outer(&self) -> &Path {
        &self.outer
    }

    /// The canonical path of the outer file, followed by the suffix.
    pub(crate) fn real(&self) -> io::Result<PathBuf> {
        let mut real = place::real(&self.outer)?.into_os_string();
        real.push(&self.suffix);
        Ok(real.into())
    }

    /// File name for an extracted copy: `chair_image0.png`.
    pub(crate) fn file_name(&self) -> Option<String> {
        let name = self.outer.file_name()?.to_string_lossy();
        inner_file_name(&format!("{name}{}", self.suffix))
    }

    /// Opens its contents; `name` is its name in messages. `beside` reads ranges of files that the outer file refers
    /// to.
    pub(crate) fn source(
        &self,
        name: String,
        options: &ReadOptions,
        beside: &mut ReadRange<'_>,
    ) -> Result<Source<'static>> {
        let shown = place::shown(&self.outer);
        let source = regular(&self.outer, options).map_err(|error| Error::io("read", &shown, error))?;
        let plain = Plain::new(&source, source.name(), options)?;
        let bytes = Bytes::new(plain.source(), plain.garbage());
        let max_bytes = options.limits.referenced_file_bytes;
        let inner = (self.files.read)(bytes, self.index, &plain.options(options), max_bytes, beside)?;
        Ok(Source::named_memory(inner, name))
    }
}

/// Whether a name may refer to a file inside a file.
pub(crate) fn is_inner_name(name: &str) -> bool {
    split_name(name).is_some()
}

/// File name for an extracted copy: `chair_image0.png` for `chair.glb#image0.png`.
pub(super) fn inner_file_name(name: &str) -> Option<String> {
    let (_, outer, _) = split_name(name)?;
    let suffix = name.get(outer.len()..)?;
    let outer = outer.rsplit('/').next()?;
    let plain = Codec::of_name(outer).map_or(outer, |(_, plain)| plain);
    let stem = Path::new(plain).file_stem()?.to_string_lossy();
    Some(format!("{stem}_{}", suffix.trim_start_matches('#')))
}

/// Splits a name into the outer file's name and the index of the inner file, using the first format that recognizes it.
pub(super) fn split_name(name: &str) -> Option<(InnerFiles, &str, usize)> {
    let mut formats = Format::ALL.into_iter().filter_map(Format::inner_files);
    formats.find_map(|files| (files.split_name)(name).map(|(outer, index)| (files, outer, index)))
}
