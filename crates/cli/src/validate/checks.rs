//! Complaints beyond those of reading: faces that fold, textures that are missing.

use crate::{format, human};
use polyhaul::error::{Diagnostic, Place};
use polyhaul::model::{Elements, Scene};
use polyhaul::warnings::{KEPT, Warnings};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Faces that use one position more than once.
pub fn degenerate_faces(scene: &Scene, path: &Path, warnings: &mut Warnings) {
    let mut scratch = Vec::new();
    for (mesh, arrays) in scene.meshes.iter().enumerate() {
        for index in 0..arrays.faces.len() {
            let Some(position) = repeated(&arrays.faces, index, &mut scratch) else {
                continue;
            };
            // Beyond the cap a complaint is only counted, so its words are not worth the time.
            let message = if warnings.kept().len() < KEPT {
                let owner = owner(scene, mesh, index);
                format!("face {} uses position {} twice{owner}", index + 1, u64::from(position) + 1)
            } else {
                String::new()
            };
            warnings.push("degenerate-face", complaint(message, path));
        }
    }
}

/// The first position that the face repeats.
fn repeated(faces: &Elements, index: usize, scratch: &mut Vec<u32>) -> Option<u32> {
    let corners = faces.corner_positions.get(faces.corners(index)).unwrap_or(&[]);
    if let &[a, b, c] = corners {
        return if a == b || a == c { Some(a) } else { (b == c).then_some(b) };
    }
    scratch.clear();
    scratch.extend_from_slice(corners);
    scratch.sort_unstable();
    scratch.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The object that a face belongs to, as a part of a message.
fn owner(scene: &Scene, mesh: usize, face: usize) -> String {
    let face = face as u32;
    let owns = |object: &&polyhaul::model::Object| {
        object.mesh == mesh && object.start.faces <= face && face < object.end.faces
    };
    match scene.objects.iter().find(owns) {
        Some(object) if !object.name.is_empty() => format!(" (object {})", object.name),
        _ => String::new(),
    }
}

/// Textures that materials name and that do not exist beside the scene or beside a material library.
pub fn missing_textures(scene: &Scene, path: &Path, warnings: &mut Warnings) {
    if format::is_stream(path) {
        return;
    }
    let folders = folders(scene, path);
    let mut seen = BTreeSet::new();
    for material in &scene.materials {
        for map in material.maps.iter().filter(|map| !map.file.is_empty()) {
            if !seen.insert(map.file.as_str()) {
                continue;
            }
            let Some(file) = relative(&map.file) else {
                let message = format!("texture {} lies outside of the scene's folder", map.file);
                warnings.push("outside-texture", complaint(message, path));
                continue;
            };
            if !folders.iter().any(|folder| folder.join(&file).is_file()) {
                let message = format!("texture {} of material {} does not exist", map.file, material.name);
                warnings.push("missing-texture", complaint(message, path));
            }
        }
    }
}

/// The scene's folder, and those of its material libraries.
fn folders(scene: &Scene, path: &Path) -> Vec<PathBuf> {
    let own = path.parent().unwrap_or(Path::new(""));
    let libraries = scene.material_libraries.iter().filter_map(|library| relative(library));
    let mut folders = vec![own.to_path_buf()];
    folders.extend(libraries.filter_map(|library| Some(own.join(library.parent()?))));
    folders.dedup();
    folders
}

/// A file name as a path below a folder; `None` where it leaves the folder.
fn relative(file: &str) -> Option<PathBuf> {
    let file = PathBuf::from(file.replace('\\', "/"));
    let drive = file.as_os_str().as_encoded_bytes().get(1) == Some(&b':');
    let below = file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (below && !drive).then_some(file)
}

/// A complaint about the file as a whole: the model does not say on which line a face stood.
fn complaint(message: String, path: &Path) -> Diagnostic {
    let file = format::input_name(path).into();
    Diagnostic { place: Place { file, ..Place::default() }, ..Diagnostic::new(human::safe(&message)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::model::{Counts, MapKind, Material, Mesh, Object, TextureMap};

    fn scene(faces: &[&[u32]]) -> Scene {
        let mut elements = Elements { offsets: vec![0].into(), ..Elements::default() };
        for face in faces {
            elements.corner_positions.to_mut().unwrap().extend_from_slice(face);
            elements.offsets.to_mut().unwrap().push(elements.corner_positions.len() as u32);
        }
        let end = Counts { faces: faces.len() as u32, ..Counts::default() };
        let object = Object { name: "box".into(), end, ..Object::default() };
        let mesh = Mesh { faces: elements, ..Mesh::default() };
        Scene { meshes: vec![mesh], objects: vec![object], ..Scene::default() }
    }

    #[test]
    fn folded_faces_are_found() {
        let faces: [&[u32]; 5] = [&[0, 1, 2], &[4, 5, 5], &[0, 1, 2, 3], &[3, 1, 2, 3], &[0, 1, 2, 3, 1]];
        let mut warnings = Warnings::default();
        degenerate_faces(&scene(&faces), Path::new("a.obj"), &mut warnings);
        let messages: Vec<_> = warnings.kept().iter().map(|w| w.diagnostic.message.as_str()).collect();
        let words = |face, position| format!("face {face} uses position {position} twice (object box)");
        assert_eq!(messages, [words(2, 6), words(4, 4), words(5, 2)]);
    }

    #[test]
    fn textures_are_looked_for_below_the_folder_only() {
        let map = |file: &str| TextureMap { kind: MapKind::Diffuse, file: file.into(), ..TextureMap::default() };
        let files = ["main.rs", ".\\main.rs", "none.png", "none.png", "../Cargo.toml", "/etc/passwd", "C:\\a.png"];
        let material = Material { maps: files.map(map).into(), ..Material::default() };
        let scene = Scene { materials: vec![material], ..Scene::default() };
        let mut warnings = Warnings::default();
        missing_textures(&scene, &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/x.obj"), &mut warnings);
        assert_eq!(warnings.counts().get("missing-texture"), Some(&1));
        assert_eq!(warnings.counts().get("outside-texture"), Some(&3));
    }
}
