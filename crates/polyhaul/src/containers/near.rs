//! The location of an input, for finding the files that it refers to.

use super::archive::{self, Member, Shelf};
use crate::options::ReadOptions;
use crate::paths::folder_of;
use crate::plain::regular;
use polyhaul_bytes::place;
use polyhaul_model::error::Result;
use polyhaul_model::{FolderPlace, SourceFolder};
use std::path::{Path, PathBuf};

/// The location of an input.
#[derive(Clone)]
pub(crate) enum Near {
    /// A stream or memory, without neighbors.
    Nothing,
    /// A file.
    File(PathBuf),
    /// A member of an archive.
    Archive(Member),
}

impl Near {
    /// The path, if it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Near::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether it may have neighboring files.
    pub(crate) fn has_files(&self) -> bool {
        !matches!(self, Near::Nothing)
    }

    /// Finds the location of a scene that was read from `path`.
    pub(crate) fn of_path(path: &Path, options: &ReadOptions) -> Result<Near> {
        let member = match regular(path, options) {
            Ok(source) if archive::is_archive(&source)? => {
                Some(Shelf::open(source, 1, options)?.only_member()?.resolved(options)?)
            }
            Ok(_) => None,
            Err(_) => archive::member_at(path, options)?,
        };
        Ok(match member {
            Some(member) => Near::Archive(member.resolved(options)?),
            None => Near::File(path.to_path_buf()),
        })
    }

    /// The folder for relative names in the input.
    pub(crate) fn source_folder(&self, options: &ReadOptions) -> SourceFolder {
        let (folder, in_archive) = match self {
            Near::Nothing => return SourceFolder::default(),
            Near::File(path) => (folder_of(path), false),
            Near::Archive(member) => (folder_of(Path::new(&**member.shown())), true),
        };
        let mut place = FolderPlace::default();
        // Absolute, because the working directory may change before the scene is written.
        place.scene = place::absolute(&folder);
        place.in_archive = in_archive;
        place.allow_outside = options.allow_outside;
        place.has_resolver = options.resolver.is_some();
        place.into()
    }
}
