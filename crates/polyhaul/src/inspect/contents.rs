//! Counts the contents of a scene, and collects its bounds and names.
//!
//! Never modifies the scene. Copies names, so that an [`Inventory`] can outlive its scene.

use super::extent;
use super::{ColumnSummary, Declared, ImageSummary, RenderInventory};
use polyhaul_model::error::{Result, try_push, try_string};
use polyhaul_model::{Bounds, Scene};
use polyhaul_pipeline::parallel::for_each_item;
use std::sync::atomic::{AtomicU64, Ordering};

/// Declares a struct of counts, and functions that visit its fields in order.
macro_rules! counts {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $name:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl $type {
            /// The number of fields.
            pub const KINDS: usize = [$(stringify!($name)),+].len();

            /// Returns each count with the name of its field, in declaration order.
            pub fn by_name(&self) -> [(&'static str, u64); Self::KINDS] {
                [$((stringify!($name), self.$name)),+]
            }

            /// Adds the counts of another scene.
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.saturating_add(other.$name);)+
            }
        }
    };
}

pub(super) use counts;

counts! {
    /// Counts of a scene, over all meshes.
    Contents {
        /// Objects: sections of meshes.
        objects,
        /// Vertex positions.
        positions,
        /// Texture coordinates.
        uvs,
        /// Normals.
        normals,
        /// Colors: one per position, or none.
        colors,
        /// Faces of any size.
        faces,
        /// Faces with three corners.
        triangles,
        /// Faces with four corners.
        quads,
        /// All other faces.
        polygons,
        /// Corners of all faces.
        corners,
        /// Polylines.
        lines,
        /// Points.
        points,
        /// Free-form curves.
        curves,
        /// Distinct group statements.
        groups,
        /// Materials, including those missing from all libraries.
        materials,
        /// Materials that are used but missing from all libraries.
        missing_materials,
        /// Texture maps of all materials; a file used by two materials counts twice.
        textures,
    }
}

/// A summary of a scene, without its arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// The counts.
    pub contents: Contents,
    /// Bounds of all finite positions in world space, including all instances, in the source's units, or `None` if
    /// there are no such positions. Bounds of single-precision positions are rounded to the shortest decimals that
    /// identify the floats.
    pub bounds: Option<Bounds<f64>>,
    /// The name of each object, in file order; empty for unnamed objects.
    pub object_names: Vec<String>,
    /// The name of each material, in the scene's order.
    pub material_names: Vec<String>,
    /// The material libraries, as written in the file.
    pub material_libraries: Vec<String>,
    /// The files that texture maps refer to, as written in the file, sorted and without duplicates.
    pub texture_files: Vec<String>,
    /// The file's header, if its format has one.
    pub declared: Option<Declared>,
    /// The columns of a table of numbers, in the file's order; empty for everything else.
    pub columns: Vec<ColumnSummary>,
    /// The number of rows of a table of numbers.
    pub rows: u64,
    /// The contents of a renderer scene (pbrt), or `None` for everything else.
    pub render: Option<RenderInventory>,
    /// The summary of an image, or `None` for everything else.
    pub image: Option<ImageSummary>,
}

impl Contents {
    /// Counts the contents of a scene.
    pub fn from_scene(scene: &Scene) -> Contents {
        Contents::by_threads(scene, 1)
    }

    fn by_threads(scene: &Scene, threads: usize) -> Contents {
        let [positions, uvs, normals, faces, lines, points, curves] = scene.totals();
        let mut contents = Contents { positions, uvs, normals, faces, lines, points, curves, ..Contents::default() };
        contents.objects = scene.objects.len() as u64;
        contents.materials = scene.materials.len() as u64;
        contents.missing_materials = scene.materials.iter().filter(|material| material.missing).count() as u64;
        contents.textures = scene.materials.iter().map(|material| material.maps.len() as u64).sum();
        for mesh in &scene.meshes {
            contents.colors += mesh.colors.len() as u64;
            contents.groups += mesh.groups.len() as u64;
            contents.corners += mesh.faces.corner_positions.len() as u64;
            let [triangles, quads] = sizes(&mesh.faces.offsets, threads);
            contents.triangles += triangles;
            contents.quads += quads;
            contents.polygons += mesh.faces.len() as u64 - triangles - quads;
        }
        contents
    }
}

/// Number of elements per work item.
const BLOCK: usize = 1 << 18;

/// Counts triangles and quads.
fn sizes(offsets: &[u32], threads: usize) -> [u64; 2] {
    let sums = [const { AtomicU64::new(0) }; 2];
    let faces = offsets.len().saturating_sub(1);
    let blocks = (0..faces).step_by(BLOCK).map(|at| &offsets[at..=faces.min(at + BLOCK)]);
    for_each_item(
        threads,
        blocks,
        || (),
        |(), block| {
            // A scene built by a caller may have decreasing offsets.
            let sizes = block.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
            let counts =
                sizes.fold([0, 0], |[three, four], size| [three + u64::from(size == 3), four + u64::from(size == 4)]);
            for (sum, count) in sums.iter().zip(counts) {
                sum.fetch_add(count, Ordering::Relaxed);
            }
        },
    );
    sums.map(AtomicU64::into_inner)
}

impl Inventory {
    /// Builds the inventory of a scene.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Memory`] if there is not enough memory for the names.
    pub fn from_scene(scene: &Scene) -> Result<Inventory> {
        Inventory::by_threads(scene, 1)
    }

    /// Like [`Inventory::from_scene`], but uses several threads.
    pub(super) fn by_threads(scene: &Scene, threads: usize) -> Result<Inventory> {
        Ok(Inventory {
            contents: Contents::by_threads(scene, threads),
            bounds: extent::bounds(scene, threads)?,
            object_names: copies(scene.objects.iter().map(|object| object.name.as_str()))?,
            material_names: copies(scene.materials.iter().map(|material| material.name.as_str()))?,
            material_libraries: copies(scene.material_libraries.iter().map(String::as_str))?,
            texture_files: copies(texture_files(scene)?.into_iter())?,
            declared: None,
            columns: Vec::new(),
            rows: 0,
            render: RenderInventory::from_scene(scene)?,
            image: None,
        })
    }

    /// Adds the counts and the bounds of another scene; names are not merged.
    pub fn add(&mut self, other: &Inventory) {
        self.contents.add(&other.contents);
        self.rows = self.rows.saturating_add(other.rows);
        if let Some(render) = &other.render {
            self.render.get_or_insert_default().add(render);
        }
        self.bounds = [self.bounds, other.bounds].into_iter().flatten().reduce(Bounds::union);
    }
}

/// File names of texture maps, sorted and without duplicates.
fn texture_files(scene: &Scene) -> Result<Vec<&str>> {
    let mut files = Vec::new();
    for map in scene.materials.iter().flat_map(|material| &material.maps).filter(|map| !map.file.is_empty()) {
        try_push(&mut files, map.file.as_str(), "names")?;
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

pub(super) fn copies<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut copies = Vec::new();
    for name in names {
        try_push(&mut copies, try_string(name)?, "names")?;
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use polyhaul_model::{Elements, Mesh};

    #[test]
    fn any_number_of_threads_finds_the_same() {
        let count = 3 * BLOCK + 7;
        let mut positions: Vec<[f32; 3]> = (0..count).map(|at| [at as f32, -(at as f32), 0.0]).collect();
        positions[BLOCK + 3][2] = -0.0;
        let sizes = (0..count).map(|at| 3 + (at % 3 == 0) as u32 + (at % 7 == 0) as u32);
        let offsets: Vec<u32> = std::iter::once(0)
            .chain(sizes.scan(0, |sum, size| {
                Some({
                    *sum += size;
                    *sum
                })
            }))
            .collect();
        let faces = Elements { offsets: offsets.into(), ..Elements::default() };
        let mesh = Mesh { positions: positions.into(), faces, ..Mesh::default() };
        let scene = Scene { meshes: vec![mesh.clone(), mesh], ..Scene::default() };
        let single = Inventory::from_scene(&scene).unwrap();
        assert_eq!(single.bounds, scene.exact_bounds());
        assert_eq!(single.contents.triangles + single.contents.quads + single.contents.polygons, 2 * count as u64);
        assert!(single.contents.polygons > 0 && single.contents.quads > single.contents.polygons);
        for threads in [2, 5] {
            assert_eq!(Inventory::by_threads(&scene, threads).unwrap(), single);
        }
    }
    const TEXT: &[u8] = b"usemtl paint\no a\nv 0 .1 0\nv 1 0 0\nv 1 1 0\nv 0 1 -2\nf 1 2 3\no b\nf 1 2 3 4\n";

    fn scene() -> Scene {
        crate::Reader::new(Input::Memory(TEXT.into(), "a.obj".into())).scene().unwrap().value
    }

    #[test]
    fn counts_and_bounds_add_up() {
        let single = Inventory::from_scene(&scene()).unwrap();
        let mut both = Inventory::from_scene(&Scene::default()).unwrap();
        assert_eq!(both, Inventory::default());
        both.add(&single);
        both.add(&single);
        let counts = both.contents;
        assert_eq!((counts.faces, counts.corners, counts.triangles, counts.quads), (4, 14, 2, 2));
        assert_eq!((counts.materials, counts.missing_materials), (2, 2));
        assert_eq!(both.bounds.map(|bounds| bounds.min), Some([0.0, 0.0, -2.0]));
        assert!(
            both.object_names.is_empty() && single.object_names == ["a", "b"] && single.material_names == ["paint"]
        );
    }

    #[test]
    fn counts_go_by_the_names_of_their_fields() {
        let counts = Contents { objects: 1, quads: 2, textures: 3, ..Contents::default() };
        let present: Vec<_> = counts.by_name().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(present, [("objects", 1), ("quads", 2), ("textures", 3)]);
    }

    #[test]
    fn offsets_that_go_down_are_no_panic() {
        assert_eq!(sizes(&[0, 4, 1, u32::MAX, 2], 2), [1, 1]);
    }

    #[test]
    fn texture_files_are_sorted_and_each_once() {
        let mut scene = Scene::default();
        let map = |file: &str| polyhaul_model::TextureMap { file: file.into(), ..Default::default() };
        let maps = ["b.png", "", "a.png", "b.png"].map(map).into();
        scene.materials.push(polyhaul_model::Material { maps, ..Default::default() });
        let inventory = Inventory::from_scene(&scene).unwrap();
        assert_eq!((inventory.contents.textures, inventory.texture_files), (4, vec!["a.png".into(), "b.png".into()]));
    }
}
