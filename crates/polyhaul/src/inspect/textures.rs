//! Locates referenced files that the readers do not open: textures, and meshes that are not loaded.
//!
//! Searches the scene's folder and the folders of its other files, as other programs do. Never opens a file, and looks
//! up files outside the scene's folder only if the options allow it.

use super::validate::complaint;
use crate::containers;
use crate::containers::Near;
use crate::letter_case::{LetterCase, actual_path};
use crate::options::ReadOptions;
use crate::paths::{LONGEST_NAME_BYTES, below, folder_of, slashed};
use crate::resolve::{OUTSIDE_HINT, Resolver, note_case};
use polyhaul_bytes::place::{self, PlaceKind};
use polyhaul_model::Scene;
use polyhaul_model::error::{Diagnostic, Error, Result, limit_hint, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A kind of file to look up, and the codes of its warnings.
#[derive(Clone, Copy)]
pub(super) struct TextureKind {
    name: &'static str,
    missing: &'static str,
    outside: &'static str,
    irregular: &'static str,
    unchecked: &'static str,
}

pub(super) const TEXTURE: TextureKind = TextureKind {
    name: "texture",
    missing: "missing-texture",
    outside: "outside-texture",
    irregular: "irregular-texture",
    unchecked: "unchecked-texture",
};
pub(super) const MESH: TextureKind = TextureKind {
    name: "mesh",
    missing: "missing-mesh",
    outside: "outside-mesh",
    irregular: "irregular-mesh",
    unchecked: "unchecked-mesh",
};

/// Result of a lookup.
#[derive(Debug, PartialEq, Eq)]
enum FoundTextures {
    /// Exists, with its size in bytes, or 0 if it comes from the host or is inside another file.
    There(u64),
    Missing,
    /// Outside the scene's folder.
    Outside,
    /// A folder, FIFO or device.
    Irregular,
    /// Not looked up, or not in all folders.
    Unknown,
}

/// Results of looking up several files.
#[derive(Default)]
pub(super) struct Looked {
    /// The number of existing files.
    pub(super) count: u64,
    /// Their total size in bytes, excluding files from the host and files inside other files.
    pub(super) bytes: u64,
    /// Missing or irregular files.
    pub(super) missing: Vec<String>,
    /// Files outside the scene's folder.
    pub(super) outside: Vec<String>,
}

/// A search of folders with a budget of [`crate::options::Limits::files`] lookups: a hostile scene could have any
/// number of names and folders.
pub(super) struct Search<'o> {
    near: &'o Near,
    resolver: Resolver<'o>,
    folders: Vec<PathBuf>,
    left: u64,
    options: &'o ReadOptions,
    /// The name of the scene's file, for messages.
    file: &'o str,
    letter_case: LetterCase,
    /// Actual name of the last file, if it differs in case.
    other_name: Option<String>,
}

impl<'o> Search<'o> {
    /// Creates a search of the scene's folder and of `others`, which are relative to it. Messages call the scene
    /// `file`. The resolver is called first. Returns `None` if there is neither a resolver nor a folder.
    pub(super) fn new(
        near: &'o Near,
        file: &'o str,
        others: impl IntoIterator<Item = PathBuf>,
        options: &'o ReadOptions,
    ) -> Result<Option<Search<'o>>> {
        if !near.has_files() && options.resolver.is_none() {
            return Ok(None);
        }
        let mut folders = Vec::new();
        if near.has_files() {
            let folder = near.path().and_then(Path::parent).unwrap_or(Path::new(""));
            try_push(&mut folders, folder.to_path_buf(), "names")?;
            for other in others {
                try_push(&mut folders, folder.join(other), "names")?;
            }
        }
        let resolver = Resolver::beside(near, options);
        let left = options.limits.files;
        let letter_case = LetterCase::default();
        Ok(Some(Search { near, resolver, folders, left, options, file, letter_case, other_name: None }))
    }

    /// Looks up files, and warns about those that cannot be read. `nameless` describes the owner of an empty name.
    pub(super) fn look_for(
        &mut self,
        names: &[String],
        kind: TextureKind,
        nameless: &dyn Fn() -> String,
        warnings: &mut Warnings,
    ) -> Result<Looked> {
        let mut looked = Looked::default();
        for name in names {
            let of = || if name.is_empty() { nameless() } else { String::new() };
            match self.check(name, kind, of, warnings)? {
                FoundTextures::There(bytes) => {
                    looked.count += 1;
                    looked.bytes = looked.bytes.saturating_add(bytes);
                }
                FoundTextures::Missing | FoundTextures::Irregular => {
                    try_push(&mut looked.missing, try_string(name)?, "names")?
                }
                FoundTextures::Outside => try_push(&mut looked.outside, try_string(name)?, "names")?,
                FoundTextures::Unknown => {}
            }
        }
        Ok(looked)
    }

    /// Looks up a file; `of` describes its owner in warnings.
    fn check(
        &mut self,
        name: &str,
        TextureKind { name: what, missing, outside, irregular, unchecked }: TextureKind,
        of: impl FnOnce() -> String,
        warnings: &mut Warnings,
    ) -> Result<FoundTextures> {
        self.options.run.cancel.check()?;
        let shown = names::shown(name);
        let outcome = self.find(name)?;
        let (code, message) = match outcome {
            FoundTextures::There(_) => {
                if let Some(other) = self.other_name.take() {
                    note_case(name, &other, warnings);
                }
                return Ok(outcome);
            }
            FoundTextures::Outside => (outside, format!("{what} `{shown}`{} is outside the scene's folder", of())),
            FoundTextures::Missing => (missing, format!("{what} `{shown}`{} does not exist", of())),
            FoundTextures::Irregular if name.is_empty() => {
                let owner = of();
                let article = if owner.is_empty() { "a" } else { "the" };
                (irregular, format!("{article} {what}{owner} has an empty file name"))
            }
            FoundTextures::Irregular => (irregular, format!("{what} `{shown}`{} is not a regular file", of())),
            FoundTextures::Unknown => {
                let limit = self.options.limits.files;
                (unchecked, format!("{what} `{shown}` was not checked: more files than the limit `files` ({limit})"))
            }
        };
        let hint = match outcome {
            FoundTextures::Outside => Some(OUTSIDE_HINT.to_owned()),
            FoundTextures::Unknown => Some(limit_hint("files")),
            _ => None,
        };
        warnings.push(code, Diagnostic { hint, ..complaint(message, self.file).about(name) });
        Ok(outcome)
    }

    fn find(&mut self, name: &str) -> Result<FoundTextures> {
        if self.resolver.has_host() {
            if self.left == 0 {
                return Ok(FoundTextures::Unknown);
            }
            self.left -= 1;
            if self.resolver.ask(name)?.is_some() {
                return Ok(FoundTextures::There(0));
            }
        }
        Ok(self.find_file(name))
    }

    fn find_file(&mut self, name: &str) -> FoundTextures {
        let path = match below(name) {
            Some(path) => path,
            None if self.options.allow_outside => slashed(name),
            None => return FoundTextures::Outside,
        };
        if name.len() > LONGEST_NAME_BYTES {
            return FoundTextures::Missing;
        }
        let mut best = FoundTextures::Missing;
        for number in 0..self.folders.len() {
            if self.left == 0 {
                return FoundTextures::Unknown;
            }
            self.left -= 1;
            match self.look_at(&self.folders[number].join(&path)) {
                FoundTextures::Missing => {
                    let actual = self.letter_case.find(&self.folders[number], &path);
                    let actual = actual.filter(|_| !matches!(self.near, Near::Archive(_)));
                    let Some(actual) = actual else { continue };
                    let outcome = self.look_at(&self.folders[number].join(&actual));
                    if matches!(outcome, FoundTextures::There(_)) {
                        self.other_name = Some(actual.to_string_lossy().into_owned());
                        return outcome;
                    }
                }
                found @ FoundTextures::There(_) => {
                    let actual = actual_path(&self.folders[number], &path);
                    self.other_name = actual.map(|actual| actual.to_string_lossy().into_owned());
                    return found;
                }
                outcome => best = outcome,
            }
        }
        best
    }

    /// Checks a path, which in an archive is relative to the scene's folder.
    fn look_at(&self, path: &Path) -> FoundTextures {
        let allow_outside = self.options.allow_outside;
        if let Near::Archive(scene) = self.near {
            let member = scene.beside(path, allow_outside).and_then(Result::ok);
            return member.map_or(FoundTextures::Missing, |member| FoundTextures::There(member.claimed_bytes()));
        }
        let is_inside = || {
            let folder = self.near.path().map(folder_of).and_then(|folder| place::real(&folder).ok());
            folder.is_none_or(|folder| containers::real(path).is_ok_and(|real| real.starts_with(folder)))
        };
        let is_image = containers::is_inner_file(path);
        let place = place::find(path).ok().filter(|_| !is_image);
        match place {
            None if !is_image => FoundTextures::Missing,
            _ if !allow_outside && !is_inside() => FoundTextures::Outside,
            None => FoundTextures::There(0),
            Some(place) if place.kind == PlaceKind::File => FoundTextures::There(place.bytes.unwrap_or(0)),
            Some(_) => FoundTextures::Irregular,
        }
    }
}

/// Warns about each material texture that does not exist or cannot be read. `file` is the name of the scene for
/// messages.
pub(super) fn check(
    scene: &Scene,
    near: &Near,
    file: &str,
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    let Some(mut search) = Search::new(near, file, library_folders(scene)?, options)? else { return Ok(()) };
    let mut seen = HashSet::new();
    for material in &scene.materials {
        for map in material.maps.iter().filter(|map| !map.file.is_empty()) {
            seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
            if seen.insert(map.file.as_str()) {
                let of = || format!(" of material `{}`", names::shown(&material.name));
                search.check(&map.file, TEXTURE, of, warnings)?;
            }
        }
    }
    Ok(())
}

/// Folders of material libraries below the scene's folder, in order.
fn library_folders(scene: &Scene) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    let mut seen = HashSet::from([PathBuf::new()]);
    let near = scene.material_libraries.iter().filter(|library| library.len() <= LONGEST_NAME_BYTES);
    for library in near.filter_map(|library| below(library)) {
        let Some(folder) = library.parent() else { continue };
        seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if seen.insert(folder.to_path_buf()) {
            try_push(&mut folders, folder.to_path_buf(), "names")?;
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::{Material, TextureMap};

    const FILES: [&str; 8] =
        ["lib.rs", ".\\lib.rs", "none.png", "none.png", "choose.rs", "../Cargo.toml", "/etc/passwd", "C:\\a.png"];

    /// Counts of missing, outside and unchecked textures for a scene in this crate's `src`.
    fn counts(libraries: &[&str], files: u64) -> [u64; 3] {
        let map = |file: &str| TextureMap { file: file.into(), ..TextureMap::default() };
        let materials = vec![Material { maps: FILES.map(map).into(), ..Material::default() }];
        let material_libraries = libraries.iter().map(|&library| library.into()).collect();
        let scene = Scene { materials, material_libraries, ..Scene::default() };
        let mut options = ReadOptions::default();
        options.limits.files = files;
        let mut warnings = Warnings::default();
        let near = Near::File(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/x.obj"));
        check(&scene, &near, "x.obj", &options, &mut warnings).unwrap();
        let count = |code| warnings.counts().get(code).copied().unwrap_or(0);
        ["missing-texture", "outside-texture", "unchecked-texture"].map(count)
    }

    #[test]
    fn textures_are_looked_for_below_the_folders_only() {
        assert_eq!(counts(&[], 100), [2, 3, 0]);
        assert_eq!(counts(&["textures/a.mtl", "a.mtl", "textures/b.mtl", "../ops/a.mtl"], 100), [1, 3, 0]);
    }

    #[test]
    fn lookups_are_limited() {
        assert_eq!(counts(&[], 3), [1, 3, 1]);
        assert_eq!(counts(&[], 0), [0, 3, 4]);
        assert_eq!(counts(&["model/a.mtl", "ops/a.mtl"], 4), [0, 3, 2]);
    }

    #[test]
    fn a_name_that_is_no_path_is_missing() {
        let mut options = ReadOptions::default();
        options.limits.files = 1;
        let near = Near::File("x".into());
        let mut search = Search::new(&near, "x", [], &options).unwrap().unwrap();
        assert_eq!(search.find_file(&"a".repeat(LONGEST_NAME_BYTES + 1)), FoundTextures::Missing);
        assert_eq!(search.find_file("none\0.png"), FoundTextures::Missing);
        assert_eq!(search.find_file("none.png"), FoundTextures::Unknown);
    }
}
