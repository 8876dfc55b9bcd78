//! Counts of everything in a scene for a renderer.
//!
//! Triangles are counted twice: each once, and as often as a renderer sees them, without flattening the scene.
//! Textures, and meshes if they were not read, are located: see [`super::textures`].

use super::contents::{copies, counts};
use super::textures::{Looked, MESH, Search, TEXTURE};
use crate::containers::Near;
use crate::options::ReadOptions;
use crate::paths::slashed;
use crate::read_job::{FileSum, SceneFiles};
use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::render::{Entity, ParameterValues, Render, Shape};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Mesh, Scene};
use std::collections::BTreeMap;

counts! {
    /// The counts of a scene for a renderer.
    RenderContents {
        /// Shapes, those of object definitions once.
        shapes,
        /// Object definitions that instances may show.
        definitions,
        /// Instances.
        instances,
        /// Positions of all meshes but those that were not read, see `unread_meshes`.
        positions,
        /// Triangles of all meshes, each once. A face of a PLY file with more corners counts as those that it is cut
        /// into. Without those that were not read.
        unique_triangles,
        /// Triangles as a renderer sees them: those of a definition once per instance. Without those not read.
        instanced_triangles,
        /// Shapes whose PLY file was not read: it is missing, or [`crate::options::ReadOptions::load_meshes`] is off.
        /// How many positions and triangles those have is not known.
        unread_meshes,
        /// Materials, named and not.
        materials,
        /// Textures.
        textures,
        /// Lights.
        lights,
        /// Lights that shapes give.
        area_lights,
        /// Media.
        media,
    }
}

/// All there is to tell about a scene for a renderer without showing its arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderInventory {
    /// The counts.
    pub contents: RenderContents,
    /// How many shapes of each class there are, by its name.
    pub classes: Vec<(String, u64)>,
    /// How often each directive stands in the files, by its name: sorted. A file that is included twice counts twice.
    /// Empty for a scene that was not read by [`super::info`], as are `files` and `missing_textures`.
    pub directives: Vec<(String, u64)>,
    /// The files, by kind: those with text and, where that could be looked for, those with meshes and with textures.
    pub files: Vec<FileSummary>,
    /// The images that textures, materials, lights and shapes name, as they name them: sorted, each once.
    pub texture_files: Vec<String>,
    /// Those of them that do not exist, or are not regular files.
    pub missing_textures: Vec<String>,
    /// Those of them that lie outside the scene's folder, where they are not looked up.
    pub outside_textures: Vec<String>,
}

/// Files of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// `pbrt`, `ply` or `texture`.
    pub kind: &'static str,
    /// How many there are. Text that is included twice is read twice, and counts twice.
    pub count: u64,
    /// How many are named and missing; they are not in `count`.
    pub missing: u64,
    /// Their bytes as they are stored, compressed or not. Textures that a resolver has are not counted.
    pub bytes: u64,
    /// What those bytes came to when they were decompressed; `None` for files that were not read.
    pub plain_bytes: Option<u64>,
}

impl RenderInventory {
    /// Looks through the scene for a renderer that a scene holds.
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

    /// Adds the statistics of the files that were read, and locates those that were not opened.
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
            let looked = search.look_for(&mesh_files(render)?, MESH, warnings)?;
            self.files.push(FileSummary::looked("ply", &looked));
        }
        let looked = search.look_for(&self.texture_files, TEXTURE, warnings)?;
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

/// Adds counts by name to others; both are sorted.
fn add_counts(counts: &mut Vec<(String, u64)>, others: &[(String, u64)]) {
    for (name, count) in others {
        match counts.binary_search_by(|(present, _)| present.cmp(name)) {
            Ok(at) => counts[at].1 += count,
            Err(at) => counts.insert(at, (name.clone(), *count)),
        }
    }
}

impl FileSummary {
    /// Files that were read.
    fn read(kind: &'static str, FileSum { count, missing, bytes, plain_bytes }: FileSum) -> FileSummary {
        FileSummary { kind, count, missing, bytes, plain_bytes: Some(plain_bytes) }
    }

    /// Files that were looked for.
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

/// Triangles as a renderer sees them, given the number in each shape.
fn instanced(render: &Render, triangles: &[u64]) -> Result<u64> {
    let sum = |shapes: std::ops::Range<usize>| -> u64 { triangles.get(shapes).unwrap_or_default().iter().sum() };
    let mut shown: Vec<u64> = Vec::new();
    shown.try_reserve_exact(render.objects.len()).map_err(|_| Error::memory("counts"))?;
    shown.extend(render.objects.iter().map(|object| sum(object.shapes.clone())));
    let world: u64 = render.world_shapes().into_iter().map(sum).sum();
    let objects = render.instances.objects().iter();
    Ok(objects.fold(world, |total, &object| total.saturating_add(shown.get(object as usize).copied().unwrap_or(0))))
}

/// The size of a shape's mesh; zero for shapes that are not meshes.
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

/// The images that a scene names, sorted and each once: those of textures and lights, normal maps, and images of
/// emission.
fn texture_files(render: &Render) -> Result<Vec<String>> {
    let of = |entity: &Entity, name: &str| render.parameters(entity).string(name);
    let textures = render.textures.iter().filter_map(|texture| of(&texture.entity, "filename"));
    let lights = render.lights.iter().chain(&render.area_lights).filter_map(|light| of(light, "filename"));
    let materials = render.materials.iter().filter_map(|material| of(&material.entity, "normalmap"));
    let patches = render.shapes().filter(|shape| shape.class() == "bilinearmesh");
    let emitted = patches.filter_map(|shape| shape.parameters().string("emissionfilename"));
    each_once(textures.chain(lights).chain(materials).chain(emitted))
}

/// The files with meshes that shapes name, sorted and each once.
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
