//! Textures that materials name and that are not there.
//!
//! They are looked for beside the scene and beside its material libraries, where programs look for them. None is
//! opened.

use super::validate::complaint;
use crate::error::{Error, Result, try_push};
use crate::formats::names;
use crate::model::Scene;
use crate::options::ReadOptions;
use crate::resolve::{LONGEST_NAME_BYTES, Resolver, below};
use crate::warnings::Warnings;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Complains about each texture that does not exist, or that lies outside of the scene's folder.
///
/// `scene_path` is the file of the scene, `file` the name for messages. The resolver is asked first; where
/// there is neither, there is nothing to look into. At most [`crate::options::Limits::files`] names are looked
/// up: a hostile scene could have as many as there are textures, times folders.
pub(super) fn check(
    scene: &Scene,
    scene_path: Option<&Path>,
    file: &str,
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    if scene_path.is_none() && options.resolver.is_none() {
        return Ok(());
    }
    let folders = scene_path.map_or(Ok(Vec::new()), |path| folders(scene, path))?;
    let resolver = Resolver::beside(None, options);
    let mut search = Search { resolver, folders, left: options.limits.files };
    let mut seen = HashSet::new();
    for material in &scene.materials {
        for map in material.maps.iter().filter(|map| !map.file.is_empty()) {
            seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
            if !seen.insert(map.file.as_str()) {
                continue;
            }
            if options.run.cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            let texture = names::shown(&map.file);
            let (code, message) = match search.find(&map.file)? {
                Found::There => continue,
                Found::Outside => ("outside-texture", format!("texture {texture} lies outside of the scene's folder")),
                Found::Missing => {
                    let material = names::shown(&material.name);
                    ("missing-texture", format!("texture {texture} of material {material} does not exist"))
                }
                Found::Unknown => {
                    let limit = options.limits.files;
                    let why = format!("more than {limit} files would have to be looked for (files)");
                    ("unchecked-texture", format!("texture {texture} was not looked for: {why}"))
                }
            };
            warnings.push(code, complaint(message, file));
        }
    }
    Ok(())
}

/// What became of a texture.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    There,
    Missing,
    /// Its name leads out of the folders.
    Outside,
    /// It was not looked for, or not everywhere.
    Unknown,
}

/// Where textures are looked for, and how many more times that may be done.
struct Search<'o> {
    resolver: Resolver<'o>,
    folders: Vec<PathBuf>,
    left: u64,
}

impl Search<'_> {
    fn find(&mut self, name: &str) -> Result<Found> {
        if self.resolver.has_host() {
            if self.left == 0 {
                return Ok(Found::Unknown);
            }
            self.left -= 1;
            if self.resolver.ask(name)?.is_some() {
                return Ok(Found::There);
            }
        }
        Ok(self.find_file(name))
    }

    fn find_file(&mut self, name: &str) -> Found {
        let Some(path) = below(name) else { return Found::Outside };
        if name.len() > LONGEST_NAME_BYTES {
            return Found::Missing;
        }
        for folder in &self.folders {
            if self.left == 0 {
                return Found::Unknown;
            }
            self.left -= 1;
            if folder.join(&path).is_file() {
                return Found::There;
            }
        }
        Found::Missing
    }
}

/// The scene's folder, and those of its material libraries below it.
fn folders(scene: &Scene, scene_path: &Path) -> Result<Vec<PathBuf>> {
    let own = scene_path.parent().unwrap_or(Path::new(""));
    let mut folders = vec![own.to_path_buf()];
    let mut seen = HashSet::from([PathBuf::new()]);
    let near = scene.material_libraries.iter().filter(|library| library.len() <= LONGEST_NAME_BYTES);
    for library in near.filter_map(|library| below(library)) {
        let Some(folder) = library.parent() else { continue };
        seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if seen.insert(folder.to_path_buf()) {
            try_push(&mut folders, own.join(folder), "names")?;
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Material, TextureMap};

    const FILES: [&str; 8] =
        ["lib.rs", ".\\lib.rs", "none.png", "none.png", "mesh.rs", "../Cargo.toml", "/etc/passwd", "C:\\a.png"];

    /// Counts of missing, outside and unchecked textures beside a scene in this crate's `src`.
    fn counts(libraries: &[&str], files: u64) -> [u64; 3] {
        let map = |file: &str| TextureMap { file: file.into(), ..TextureMap::default() };
        let materials = vec![Material { maps: FILES.map(map).into(), ..Material::default() }];
        let material_libraries = libraries.iter().map(|&library| library.into()).collect();
        let scene = Scene { materials, material_libraries, ..Scene::default() };
        let mut options = ReadOptions::default();
        options.limits.files = files;
        let mut warnings = Warnings::default();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/x.obj");
        check(&scene, Some(&path), "x.obj", &options, &mut warnings).unwrap();
        let count = |code| warnings.counts().get(code).copied().unwrap_or(0);
        ["missing-texture", "outside-texture", "unchecked-texture"].map(count)
    }

    #[test]
    fn textures_are_looked_for_below_the_folders_only() {
        assert_eq!(counts(&[], 100), [2, 3, 0]);
        assert_eq!(counts(&["model/a.mtl", "a.mtl", "model/b.mtl", "../ops/a.mtl"], 100), [1, 3, 0]);
    }

    #[test]
    fn lookups_are_limited() {
        assert_eq!(counts(&[], 3), [1, 3, 1]);
        assert_eq!(counts(&[], 0), [0, 3, 4]);
        assert_eq!(counts(&["model/a.mtl", "ops/a.mtl"], 4), [0, 3, 2]);
    }

    #[test]
    fn a_name_that_is_no_path_is_missing() {
        let options = ReadOptions::default();
        let resolver = Resolver::beside(None, &options);
        let mut search = Search { resolver, folders: vec![PathBuf::new()], left: 1 };
        assert_eq!(search.find_file(&"a".repeat(LONGEST_NAME_BYTES + 1)), Found::Missing);
        assert_eq!(search.find_file("none\0.png"), Found::Missing);
        assert_eq!(search.find_file("none.png"), Found::Unknown);
    }
}
