//! Files that a scene for a renderer names, and what they are called from another folder.
//!
//! A name is relative to the folder of the scene, or to that of the file that says it (see [`crate::scene_files`]).
//! A scene that is written elsewhere, or as one file, would lose both; so names of files that are there are written as
//! they are found from the new place. Nothing is opened or copied; what is not there keeps its name.

use crate::error::{Diagnostic, Error, Result};
use crate::formats::pbrt::writer::Renamed;
use crate::model::render::{ParameterValues, Parameters, Render};
use crate::resolve::{LONGEST_NAME_BYTES, folder_of, slashed};
use crate::warnings::Warnings;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// The names that change where a scene is written to `output`; a stream is taken for a file beside the scene.
/// Files that end up outside of the new scene's folder are noted.
pub(crate) fn renamed<'a>(render: &'a Render, output: Option<&Path>, warnings: &mut Warnings) -> Result<Renamed<'a>> {
    let mut renamed = Renamed::default();
    let Some(folder) = &render.folder else { return Ok(renamed) };
    let from_output = match output {
        Some(output) => way(&folder_of(output), folder),
        None => Some(PathBuf::new()),
    };
    // Where folders cannot be told apart nothing is known about names.
    let Some(way) = from_output else { return Ok(renamed) };
    if way.as_os_str().is_empty() && render.segments.iter().all(|segment| segment.folder.is_empty()) {
        return Ok(renamed);
    }
    let mut outside: (u64, Option<String>) = (0, None);
    each(render, &mut |parameters| {
        for parameter in parameters.iter() {
            let ParameterValues::Strings(strings) = parameter.values else { continue };
            let (true, Some(name)) = (parameter.names_file(), strings.get(0)) else { continue };
            let key = (parameters.folder(), name);
            if renamed.names.contains_key(&key) {
                continue;
            }
            let new = found(folder, key).and_then(|found| text(&way.join(found)));
            outside.0 += u64::from(new.as_deref().is_some_and(leads_out));
            outside.1 = outside.1.take().or_else(|| new.clone().filter(|new| leads_out(new)));
            renamed.names.try_reserve(1).map_err(|_| Error::memory("names"))?;
            // A name that means the same stays as it is spelled.
            let old = text(&slashed(name));
            renamed.names.insert(key, new.filter(|new| old.as_ref() != Some(new)));
        }
        Ok(())
    })?;
    if let (count, Some(first)) = outside {
        let message = format!("files that the scene names lie outside of its new folder: {count}, such as `{first}`");
        let hint = "they stay where they are; reading the new scene takes leave to go there (allow_outside)".into();
        let diagnostic = Diagnostic { hint: Some(hint), ..Diagnostic::new(message) };
        warnings.push("outside-reference", diagnostic);
    }
    renamed.names.retain(|_, new| new.is_some());
    Ok(renamed)
}

/// Files of meshes that the scene names, as it will name them, in small letters: no new file may take their place.
pub(crate) fn taken(render: &Render, renamed: &Renamed<'_>) -> Result<HashSet<String>> {
    let mut taken = HashSet::new();
    for shape in render.shapes().filter(|shape| shape.class() == "plymesh") {
        let parameters = shape.parameters();
        let Some(name) = parameters.string("filename") else { continue };
        let new = renamed.names.get(&(parameters.folder(), name)).and_then(Option::as_deref).unwrap_or(name);
        if let Some(name) = text(&slashed(new)) {
            taken.try_reserve(1).map_err(|_| Error::memory("names"))?;
            taken.insert(name.to_lowercase());
        }
    }
    Ok(taken)
}

/// Shows all parameters that may name a file to be read.
fn each<'a>(render: &'a Render, see: &mut dyn FnMut(Parameters<'a>) -> Result<()>) -> Result<()> {
    let entities = render.camera.iter().chain(&render.media).chain(&render.lights).chain(&render.area_lights);
    let entities = entities.chain(render.textures.iter().map(|it| &it.entity));
    let entities = entities.chain(render.materials.iter().map(|it| &it.entity));
    let mut entities = entities.chain(render.attributes.iter().map(|it| &it.entity));
    entities.try_for_each(|entity| see(render.parameters(entity)))?;
    render.shapes().try_for_each(|shape| see(shape.parameters()))
}

/// The path of the file that a name means, from the folder of the scene.
fn found(scene: &Path, (folder, name): (&str, &str)) -> Option<PathBuf> {
    if name.is_empty() || name.len() > LONGEST_NAME_BYTES {
        return None;
    }
    let beside = || slashed(&format!("{folder}{name}"));
    [slashed(name), beside()].into_iter().find(|path| scene.join(path).is_file())
}

/// The way from one folder to another, without links; `None` where there is none.
fn way(from: &Path, to: &Path) -> Option<PathBuf> {
    let (from, to) = (from.canonicalize().ok()?, to.canonicalize().ok()?);
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    (shared > 0).then(|| up.chain(to.components().skip(shared)).collect())
}

/// A path as scenes have it: with slashes, and without steps that lead nowhere.
fn text(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return path.to_str().map(str::to_owned),
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part.as_os_str().to_str()?),
        }
    }
    Some(parts.join("/"))
}

fn leads_out(name: &str) -> bool {
    name.starts_with("../") || Path::new(name).is_absolute()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_from_folder_to_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let way = |from: &str, to: &str| text(&way(&root.join(from), &root.join(to)).unwrap()).unwrap();
        assert_eq!(way("src", "src"), "");
        assert_eq!(way("src/model", "src/ops"), "../ops");
        assert_eq!(way(".", "src/model/render"), "src/model/render");
        assert_eq!(way("src/model/render", "."), "../../..");
        assert!(super::way(&root.join("src"), &root.join("none")).is_none());
    }

    #[test]
    fn names_are_short_and_have_slashes() {
        for (path, name) in [("./a.ply", "a.ply"), ("../a/../b/c.ply", "../b/c.ply"), ("a/../../b", "../b")] {
            assert_eq!(text(Path::new(path)).as_deref(), Some(name));
        }
        assert!(leads_out("../a") && leads_out("/a") && !leads_out("..a") && !leads_out("a/b"));
    }
}
