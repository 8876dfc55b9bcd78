//! How much of everything a scene for a renderer holds.
//!
//! Triangles are counted twice: each once, and as often as a renderer sees them. Nothing is flattened for that.

use super::contents::{copies, counts};
use crate::error::{Error, Result, try_push, try_string};
use crate::model::render::{ParameterValues, Render, Shape};
use crate::model::{Mesh, Scene};
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
        /// Positions of all meshes, those of PLY files that were read included.
        positions,
        /// Triangles of all meshes, each once. A face of a PLY file with more corners counts as those that it is cut
        /// into.
        unique_triangles,
        /// Triangles as a renderer sees them: those of a definition once per instance.
        instanced_triangles,
        /// Meshes in PLY files that were not read.
        missing_meshes,
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
    /// The files that textures name, as they name them: sorted, each once.
    pub texture_files: Vec<String>,
}

impl RenderInventory {
    /// Looks through the scene for a renderer that a scene holds.
    pub(super) fn of(scene: &Scene) -> Result<Option<RenderInventory>> {
        let Some(render) = &scene.render else { return Ok(None) };
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for shape in render.shapes() {
            *classes.entry(shape.class()).or_default() += 1;
        }
        let mut counted = Vec::new();
        for (class, count) in classes {
            try_push(&mut counted, (try_string(class)?, count), "names")?;
        }
        let contents = RenderContents::of(render, &scene.meshes)?;
        Ok(Some(RenderInventory { contents, classes: counted, texture_files: texture_files(render)? }))
    }

    /// Adds the counts of another scene; names stay with their scenes.
    pub(super) fn add(&mut self, other: &RenderInventory) {
        self.contents.add(&other.contents);
        for (class, count) in &other.classes {
            match self.classes.binary_search_by(|(known, _)| known.cmp(class)) {
                Ok(at) => self.classes[at].1 += count,
                Err(at) => self.classes.insert(at, (class.clone(), *count)),
            }
        }
    }
}

impl RenderContents {
    fn of(render: &Render, meshes: &[Mesh]) -> Result<RenderContents> {
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
            let size = Size::of(&shape, meshes);
            contents.missing_meshes += u64::from(shape.class() == "plymesh" && shape.mesh().is_none());
            contents.positions += size.positions;
            contents.unique_triangles += size.triangles;
            triangles.push(size.triangles);
        }
        contents.instanced_triangles = instanced(render, &triangles)?;
        Ok(contents)
    }
}

/// Triangles as a renderer sees them, of so many in each shape.
fn instanced(render: &Render, triangles: &[u64]) -> Result<u64> {
    let sum = |shapes: std::ops::Range<usize>| -> u64 { triangles.get(shapes).unwrap_or_default().iter().sum() };
    let mut shown: Vec<u64> = Vec::new();
    shown.try_reserve_exact(render.objects.len()).map_err(|_| Error::memory("counts"))?;
    shown.extend(render.objects.iter().map(|object| sum(object.shapes.clone())));
    let world: u64 = render.world_shapes().into_iter().map(sum).sum();
    let objects = render.instances.objects().iter();
    Ok(objects.fold(world, |total, &object| total.saturating_add(shown.get(object as usize).copied().unwrap_or(0))))
}

/// How large a shape's mesh is; nothing for shapes that are none.
#[derive(Default)]
struct Size {
    positions: u64,
    triangles: u64,
}

impl Size {
    fn of(shape: &Shape<'_>, meshes: &[Mesh]) -> Size {
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
        let positions = parameters.get("P").and_then(|it| it.values.rows::<3>()).map_or(0, <[_]>::len) as u64;
        let triangles = match parameters.get("indices").map(|it| it.values) {
            Some(ParameterValues::Integers(indices)) => (indices.len() / width) as u64,
            _ => positions / width as u64,
        };
        Size { positions, triangles }
    }
}

/// The files that textures name, sorted and each once.
fn texture_files(render: &Render) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for texture in &render.textures {
        if let Some(file) = render.parameters(&texture.entity).string("filename") {
            try_push(&mut files, file, "names")?;
        }
    }
    files.sort_unstable();
    files.dedup();
    copies(files.into_iter())
}
