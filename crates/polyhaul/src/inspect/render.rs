//! Counts the contents of a renderer scene.
//!
//! Counts triangles in two ways, without flattening the scene: once per shape, and once per instance, as rendered.
//! Locates textures, and meshes that were not read: see [`super::textures`].

use super::contents::{copies, counts};
use super::textures::{Looked, MESH, Search, TEXTURE};
use crate::containers::Near;
use crate::options::ReadOptions;
use crate::paths::slashed;
use crate::read_job::{FileSum, SceneFiles};
use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::render::{Entity, ParameterValues, Render, Shape};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Mesh, Scene};
use std::collections::BTreeMap;

counts! {
    /// Counts of a renderer scene.
    RenderContents {
        /// Shapes. The shapes of an object definition count once.
        shapes,
        /// Object definitions.
        definitions,
        /// Instances.
        instances,
        /// Positions of all meshes, except unread meshes; see `unread_meshes`.
        positions,
        /// Triangles of all meshes, except unread meshes, each once. Larger faces of a PLY file count as the triangles
        /// they are split into.
        unique_triangles,
        /// Triangles as rendered: the triangles of a definition count once per instance. Excludes unread meshes.
        instanced_triangles,
        /// Shapes whose PLY file was not read: it is missing, or [`crate::options::ReadOptions::load_meshes`] is off.
        /// Their positions and triangles are unknown.
        unread_meshes,
        /// Materials, named or not.
        materials,
        /// Textures.
        textures,
        /// Lights.
        lights,
        /// Area lights of shapes.
        area_lights,
        /// Media.
        media,
    }
}

/// A summary of a renderer scene, without its arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderInventory {
    /// The counts.
    pub contents: RenderContents,
    /// The number of shapes of each class, by name.
    pub classes: Vec<(String, u64)>,
    /// The number of occurrences of each directive in the files, sorted by name. A file that is included twice counts
    /// twice. Like `files` and `missing_textures`, empty for a scene that was not read by [`super::info`].
    pub directives: Vec<(String, u64)>,
    /// The files, by kind: text files and, if they could be located, meshes and textures.
    pub files: Vec<FileSummary>,
    /// Images that textures, materials, lights and shapes refer to, as written in the file, sorted and without
    /// duplicates.
    pub texture_files: Vec<String>,
    /// Images that do not exist, or are not regular files.
    pub missing_textures: Vec<String>,
    /// Images outside the scene's folder, which are not looked up.
    pub outside_textures: Vec<String>,
}

/// A summary of the files of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// `pbrt`, `ply` or `texture`.
    pub kind: &'static str,
    /// The number of files. Text that is included twice is read twice, and counts twice.
    pub count: u64,
    /// The number of missing files, which `count` excludes.
    pub missing: u64,
    /// Their stored size in bytes, compressed or not. Textures provided by a resolver are not counted.
    pub bytes: u64,
    /// Their decompressed size in bytes, or `None` for files that were not read.
    pub plain_bytes: Option<u64>,
}

impl RenderInventory {
    /// Summarizes the renderer content of a scene, if any.
    pub(super) fn from_scene(scene: &Scene) -> Result<Option<RenderInventory>> {
        let Some(render) = &scene.render else { return Ok(None) };
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for shape in render.shapes() {
            *classes.entry(shape.class()).or_default() += 1;
        }
        let mut counted = Vec::new();
        for (class, count) in classes {
            try_push(&mut counted, (try_string(class)?, count), "names")?;
        }
        let contents = RenderContents::from_render(render, &scene.meshes)?;
        let texture_files = texture_files(render)?;
        Ok(Some(RenderInventory { contents, classes: counted, texture_files, ..RenderInventory::default() }))
    }

    /// Adds statistics of the files that were read, and locates the files that were not.
    pub(super) fn look_around(
        &mut self,
        render: &Render,
        seen: SceneFiles,
        near: &Near,
        file: &str,
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        for (name, count) in seen.directives {
            try_push(&mut self.directives, (try_string(name)?, count), "names")?;
        }
        self.files.push(FileSummary::read("pbrt", seen.text));
        if let Some(meshes) = seen.meshes {
            self.files.push(FileSummary::read("ply", meshes));
        }
        let folders = seen.folders.iter().map(|folder| slashed(folder)).filter(|folder| folder.is_relative());
        let Some(mut search) = Search::new(near, file, folders, options)? else { return Ok(()) };
        if seen.meshes.is_none() {
            let looked = search.look_for(&mesh_files(render)?, MESH, &String::new, warnings)?;
            self.files.push(FileSummary::looked("ply", &looked));
        }
        let looked = search.look_for(&self.texture_files, TEXTURE, &|| nameless_owner(render), warnings)?;
        self.files.push(FileSummary::looked("texture", &looked));
        self.missing_textures = looked.missing;
        self.outside_textures = looked.outside;
        Ok(())
    }

    /// Adds the counts of another scene; names are not merged.
    pub(super) fn add(&mut self, other: &RenderInventory) {
        self.contents.add(&other.contents);
        add_counts(&mut self.classes, &other.classes);
        add_counts(&mut self.directives, &other.directives);
        for files in &other.files {
            match self.files.iter_mut().find(|summary| summary.kind == files.kind) {
                Some(summary) => summary.add(files),
                None => self.files.push(files.clone()),
            }
        }
    }
}

/// Merges sorted counts by name.
fn add_counts(counts: &mut Vec<(String, u64)>, others: &[(String, u64)]) {
    for (name, count) in others {
        match counts.binary_search_by(|(present, _)| present.cmp(name)) {
            Ok(at) => counts[at].1 += count,
            Err(at) => counts.insert(at, (name.clone(), *count)),
        }
    }
}

impl FileSummary {
    /// Summary of files that were read.
    fn read(kind: &'static str, FileSum { count, missing, bytes, plain_bytes }: FileSum) -> FileSummary {
        FileSummary { kind, count, missing, bytes, plain_bytes: Some(plain_bytes) }
    }

    /// Summary of files that were only located.
    fn looked(kind: &'static str, looked: &Looked) -> FileSummary {
        let missing = looked.missing.len() as u64;
        FileSummary { kind, count: looked.count, missing, bytes: looked.bytes, plain_bytes: None }
    }

    fn add(&mut self, other: &FileSummary) {
        self.count += other.count;
        self.missing += other.missing;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.plain_bytes = self.plain_bytes.zip(other.plain_bytes).map(|(left, right)| left.saturating_add(right));
    }
}

impl RenderContents {
    fn from_render(render: &Render, meshes: &[Mesh]) -> Result<RenderContents> {
        let mut contents = RenderContents {
            shapes: render.shape_count() as u64,
            definitions: render.objects.iter().filter(|object| !object.missing).count() as u64,
            instances: render.instances.len() as u64,
            materials: render.materials.len() as u64,
            textures: render.textures.len() as u64,
            lights: render.lights.len() as u64,
            area_lights: render.area_lights.len() as u64,
            media: render.media.len() as u64,
            ..RenderContents::default()
        };
        let mut triangles = Vec::new();
        triangles.try_reserve_exact(render.shape_count())?;
        for shape in render.shapes() {
            let size = Size::from_shape(&shape, meshes);
            contents.unread_meshes += u64::from(shape.class() == "plymesh" && shape.mesh().is_none());
            contents.positions += size.positions;
            contents.unique_triangles += size.triangles;
            triangles.push(size.triangles);
        }
        contents.instanced_triangles = instanced(render, &triangles)?;
        Ok(contents)
    }
}

/// Counts rendered triangles, given the number in each shape.
fn instanced(render: &Render, triangles: &[u64]) -> Result<u64> {
    let sum = |shapes: std::ops::Range<usize>| -> u64 { triangles.get(shapes).unwrap_or_default().iter().sum() };
    let mut shown: Vec<u64> = Vec::new();
    shown.try_reserve_exact(render.objects.len()).map_err(|_| Error::memory("counts"))?;
    shown.extend(render.objects.iter().map(|object| sum(object.shapes.clone())));
    let world: u64 = render.world_shapes().into_iter().map(sum).sum();
    let objects = render.instances.objects().iter();
    Ok(objects.fold(world, |total, &object| total.saturating_add(shown.get(object as usize).copied().unwrap_or(0))))
}

/// Size of a triangle mesh, or 0 for other shapes.
#[derive(Default)]
struct Size {
    positions: u64,
    triangles: u64,
}

impl Size {
    fn from_shape(shape: &Shape<'_>, meshes: &[Mesh]) -> Size {
        if let Some(mesh) = shape.mesh().and_then(|mesh| meshes.get(mesh)) {
            let corners = mesh.faces.corner_positions.len() as u64;
            let triangles = corners.saturating_sub(2 * mesh.faces.len() as u64);
            return Size { positions: mesh.positions.len() as u64, triangles };
        }
        let parameters = shape.parameters();
        let width = match shape.class() {
            "trianglemesh" | "loopsubdiv" => 3,
            _ => return Size::default(),
        };
        let positions =
            parameters.get("P").and_then(|parameter| parameter.values.rows::<3>()).map_or(0, <[_]>::len) as u64;
        let triangles = match parameters.get("indices").map(|parameter| parameter.values) {
            Some(ParameterValues::Integers(indices)) => (indices.len() / width) as u64,
            _ => positions / width as u64,
        };
        Size { positions, triangles }
    }
}

/// Image files of textures, lights, normal maps and emission, sorted and without duplicates.
fn texture_files(render: &Render) -> Result<Vec<String>> {
    let of = |entity: &Entity, name: &str| render.parameters(entity).string(name);
    let textures = render.textures.iter().filter_map(|texture| of(&texture.entity, "filename"));
    let lights = render.lights.iter().chain(&render.area_lights).filter_map(|light| of(light, "filename"));
    let materials = render.materials.iter().filter_map(|material| of(&material.entity, "normalmap"));
    let patches = render.shapes().filter(|shape| shape.class() == "bilinearmesh");
    let emitted = patches.filter_map(|shape| shape.parameters().string("emissionfilename"));
    each_once(textures.chain(lights).chain(materials).chain(emitted))
}

/// Describes the first texture, light, material or shape whose image file has an empty name, for messages.
fn nameless_owner(render: &Render) -> String {
    let is_nameless = |entity: &Entity, name: &str| render.parameters(entity).string(name) == Some("");
    let shown = |entity: &Entity| names::shown(render.text(entity.name)).into_owned();
    if let Some(texture) = render.textures.iter().find(|texture| is_nameless(&texture.entity, "filename")) {
        return format!(" `{}`", shown(&texture.entity));
    }
    if let Some(light) = render.lights.iter().chain(&render.area_lights).find(|light| is_nameless(light, "filename")) {
        return format!(" of light `{}`", shown(light));
    }
    if let Some(material) = render.materials.iter().find(|material| is_nameless(&material.entity, "normalmap")) {
        return format!(" of material `{}`", shown(&material.entity));
    }
    " of shape `bilinearmesh`".to_owned()
}

/// Mesh files of shapes, sorted and without duplicates.
fn mesh_files(render: &Render) -> Result<Vec<String>> {
    let meshes = render.shapes().filter(|shape| shape.class() == "plymesh");
    each_once(meshes.filter_map(|shape| shape.parameters().string("filename")))
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut sorted = Vec::new();
    for name in names {
        try_push(&mut sorted, name, "names")?;
    }
    sorted.sort_unstable();
    sorted.dedup();
    copies(sorted.into_iter())
}
