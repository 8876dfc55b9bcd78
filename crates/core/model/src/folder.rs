//! The folder that the file names in a scene are relative to. It is recorded when a scene is read, and used when the
//! scene is written elsewhere.
//!
//! Plain data: this module does not access the file system. The folder does not count as content, so scenes that differ
//! only in their folders are equal. The `references` module of `polyhaul` resolves names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder that file names in a [`Scene`](super::Scene) or a [`Material`](super::Material) are relative to. Unknown
/// by default; names are then written unchanged.
///
/// Values always compare equal, so that comparing scenes compares their content.
///
/// ```
/// use polyhaul_model::{Scene, SourceFolder};
///
/// let scene = Scene { folder: SourceFolder::new("assets/chair"), ..Scene::default() };
/// assert_eq!(scene.folder.path().unwrap().to_str(), Some("assets/chair"));
/// assert_eq!(scene, Scene::default());
/// ```
#[derive(Clone, Default)]
pub struct SourceFolder(Option<Arc<FolderPlace>>);

/// The details of a [`SourceFolder`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FolderPlace {
    /// The scene's folder. For a scene in an archive: the path of the archive, followed by the folder in it.
    pub scene: PathBuf,
    /// The folder of the material library, where names are looked up first.
    pub library: Option<PathBuf>,
    /// Whether reading files outside the scene's folder was allowed.
    pub allow_outside: bool,
    /// Whether the scene is in an archive.
    pub in_archive: bool,
    /// Whether a resolver was set; it may supply files that do not exist on disk.
    pub has_resolver: bool,
}

impl SourceFolder {
    /// Creates a folder that names are relative to. Files outside it will not be copied.
    pub fn new(folder: impl Into<PathBuf>) -> SourceFolder {
        FolderPlace { scene: folder.into(), ..FolderPlace::default() }.into()
    }

    /// Returns the same folder with a material library's folder, where names are looked up first. An unknown folder
    /// stays unknown.
    #[must_use]
    pub fn with_library(&self, library: impl Into<PathBuf>) -> SourceFolder {
        self.0.as_deref().map_or_else(SourceFolder::default, |place| {
            FolderPlace { library: Some(library.into()), ..place.clone() }.into()
        })
    }

    /// Returns the scene's folder, if known.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|place| &*place.scene)
    }

    /// Returns the details, if the folder is known.
    pub fn place(&self) -> Option<&FolderPlace> {
        self.0.as_deref()
    }

    /// Returns this folder, or `other` if this folder is unknown.
    pub fn or<'a>(&'a self, other: &'a SourceFolder) -> &'a SourceFolder {
        if self.0.is_some() { self } else { other }
    }
}

impl From<FolderPlace> for SourceFolder {
    fn from(place: FolderPlace) -> SourceFolder {
        SourceFolder(Some(Arc::new(place)))
    }
}

/// Always equal: the folder is not part of a scene's content.
impl PartialEq for SourceFolder {
    fn eq(&self, _: &SourceFolder) -> bool {
        true
    }
}

impl Eq for SourceFolder {}

/// Omits the folder, so that equal scenes have the same debug output.
impl fmt::Debug for SourceFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SourceFolder")
    }
}
