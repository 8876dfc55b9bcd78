//! Shared helpers.

pub use crate::support::read_options as options;
use polyhaul::model::Scene;
use polyhaul::model::render::Render;
use polyhaul::options::OnError;
use polyhaul::{Input, Loaded, ReadOptions, Reader, Result};
use std::path::PathBuf;

/// Path of a test data file or folder.
pub fn data(name: &str) -> PathBuf {
    crate::support::data("pbrt").join(name)
}

/// Names of the scenes in a folder.
pub fn scenes(folder: &str) -> Vec<String> {
    let names = std::fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".pbrt") || name.ends_with(".gz")).collect();
    names.sort();
    assert!(!names.is_empty());
    names.into_iter().map(|name| format!("{folder}/{name}")).collect()
}

/// Skips broken directives.
pub fn lenient(mut options: ReadOptions) -> ReadOptions {
    options.on_error = OnError::Warn;
    options
}

pub fn text(text: &str, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(Input::Memory(text.as_bytes().to_vec(), "x.pbrt".into())).options(options).scene()
}

pub fn render(loaded: &Loaded<Scene>) -> &Render {
    loaded.value.render.as_ref().unwrap()
}

/// Reads a valid scene.
pub fn read(name: &str) -> Loaded<Scene> {
    Reader::new(data(name)).options(&options(2, None)).scene().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Whether two results are equal: the scene or the error, and the warnings.
pub fn same(a: &Result<Loaded<Scene>>, b: &Result<Loaded<Scene>>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.value == b.value && a.report.warnings == b.report.warnings,
        (Err(a), Err(b)) => a.kind() == b.kind() && a.diagnostic() == b.diagnostic(),
        _ => false,
    }
}

/// Describes a result in messages.
pub fn shown(result: &Result<Loaded<Scene>>) -> String {
    match result {
        Ok(loaded) => format!("{} {:?}", summary(render(loaded)), loaded.report.warnings),
        Err(error) => error.to_string(),
    }
}

/// Summarizes a scene in one line.
pub fn summary(render: &Render) -> String {
    let shapes: Vec<_> = render.shapes().map(|shape| shape.class()).collect();
    let objects: Vec<_> =
        render.objects.iter().map(|o| format!("{}:{}", render.text(o.name), o.shapes.len())).collect();
    let named = render.materials.iter().filter(|material| material.is_named).count();
    format!(
        "{} | objects {} | instances {} | materials {}+{named} | textures {} | lights {}+{} | media {} | options {}",
        shapes.join(" "),
        objects.join(" "),
        render.instances.len(),
        render.materials.len() - named,
        render.textures.len(),
        render.lights.len(),
        render.area_lights.len(),
        render.media.len(),
        render.options.len(),
    )
}
