//! Operations on models: weld, triangulate, transform, and convert images.
//!
//! Operations on meshes, scenes and images are methods of the traits in this module: `mesh.weld()` uses the default
//! options, `mesh.weld_with(&run)` takes [`RunOptions`]. Operations on renderer scenes are functions. All of them run
//! in parallel and produce identical results for any number of threads. They never read or write files, and never trust
//! the model: an out-of-range index is an error ([`ErrorKind::Usage`](crate::ErrorKind::Usage)), not a panic. The
//! implementations are in `polyhaul-geometry`, `polyhaul-image` and `polyhaul-pbrt`.
//!
//! - [`flatten()`]: converts a renderer scene to meshes and objects
//! - [`expand()`]: replaces the instances of a renderer scene with shapes; [`inline_meshes`]: moves meshes from files
//!   into it; [`Builder`]: builds a renderer scene from scratch
//! - [`topologies()`]: computes the edges of meshes, and checks for degenerate and duplicate faces
//! - [`places64()`], [`places32()`]: compute the transforms of a renderer scene
//! - [`compress`]: converts images to a texture, block-compressed or not; [`blocks`]: decodes textures to images

pub use crate::image_ops::{Adjusted, Cut, ImageOps, MipmapContent, MipmapEdges, MipmapFilter, MipmapOptions};
#[cfg(feature = "textures")]
pub use crate::image_ops::{BlockQuality, blocks, compress};
#[cfg(feature = "pbrt")]
pub use crate::pbrt_ops::{
    Builder, Flat, Given, GivenValues, Places32, Places64, expand, flatten, inline_meshes, places32, places64,
};
pub use polyhaul_geometry::edges::Edges;
pub use polyhaul_geometry::flat::{FlatOptions, FlatSection, Topology, topologies};
pub use polyhaul_geometry::linear::Matrix4;
pub use polyhaul_geometry::section::SectionPositions;
pub use polyhaul_geometry::surface::{Surface, SurfacePositions};
pub use polyhaul_geometry::triangulate::TriangleMap;
pub use polyhaul_geometry::weld::Welded;
pub use polyhaul_model::SampleType;

use crate::options::RunOptions;
use polyhaul_geometry::{
    affine, clean, corners, domains, edges, flat, normals, section, surface, transform, triangulate, weld, welded,
};
use polyhaul_model::error::Result;
use polyhaul_model::{Axes, Counts, Mesh, Scene};

/// Operations on a [`Mesh`].
///
/// ```
/// use polyhaul::ops::MeshOps;
/// use polyhaul::{Input, Reader};
///
/// let text = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n".to_vec();
/// let mut mesh = Reader::new(Input::Memory(text, "quad.obj".into())).scene()?.value.meshes.remove(0);
/// mesh.triangulate()?;
/// let welded = mesh.weld()?;
/// assert_eq!((welded.vertex_positions.len(), welded.corner_vertices.len()), (4, 6));
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub trait MeshOps {
    /// Merges the separate indices of positions, uvs and normals into a single index, as graphics hardware requires;
    /// see [`Welded`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn weld(&self) -> Result<Welded> {
        self.weld_with(&RunOptions::default())
    }

    /// Like [`MeshOps::weld`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::weld`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn weld_with(&self, run: &RunOptions) -> Result<Welded>;

    /// Splits polygons into triangles, and returns the source face of each triangle.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn triangulate(&mut self) -> Result<TriangleMap> {
        self.triangulate_with(&RunOptions::default())
    }

    /// Like [`MeshOps::triangulate`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::triangulate`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<TriangleMap>;

    /// Converts attributes stored per corner, position or face to indexed attributes. Corners with equal values share
    /// an index.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of values does not match the attribute's domain.
    fn index_attributes(&mut self) -> Result<()> {
        self.index_attributes_with(&RunOptions::default())
    }

    /// Like [`MeshOps::index_attributes`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::index_attributes`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn index_attributes_with(&mut self, run: &RunOptions) -> Result<()>;

    /// Returns a mesh whose corners have a single index, with uvs and normals per vertex; see
    /// [`polyhaul_geometry::welded::welded`].
    ///
    /// # Errors
    /// The same errors as [`MeshOps::weld_with`].
    fn welded_with(&self, run: &RunOptions) -> Result<Mesh>;

    /// Transforms positions by a matrix, and normals accordingly; see [`polyhaul_geometry::affine::transform`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the matrix has a last row other than 0 0 0 1, or entries that
    /// are not finite.
    fn transform_with(&mut self, matrix: &[[f64; 4]; 4], run: &RunOptions) -> Result<()>;

    /// Extracts the section of an object as a separate mesh, with indices renumbered from 0; see
    /// [`polyhaul_geometry::section::section`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if there is no such section, or an index is out of range.
    fn section(&self, start: Counts, end: Counts, which: SectionPositions) -> Result<Mesh>;

    /// Extracts sections with uvs and normals per corner, and materials and smoothing per face; see
    /// [`polyhaul_geometry::flat::flat_sections`].
    ///
    /// # Errors
    /// The same errors as [`MeshOps::section`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn flat_sections_with(
        &self,
        cuts: &[(Counts, Counts)],
        flat: &FlatOptions,
        run: &RunOptions,
    ) -> Result<Vec<FlatSection>>;

    /// Returns the unique edges of lines and faces; see [`polyhaul_geometry::edges::edges`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn edges(&self) -> Result<Edges>;

    /// Whether no face repeats a position and no two faces have the same positions; see
    /// [`polyhaul_geometry::clean::has_clean_faces`].
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory) if memory runs out.
    fn has_clean_faces_with(&self, run: &RunOptions) -> Result<bool>;

    /// Checks the surface formed by the faces: holes, flipped neighbors, duplicates, area, volume; see
    /// [`polyhaul_geometry::surface::check_surface`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn check_surface(&self) -> Result<Surface> {
        self.check_surface_with(SurfacePositions::Merged, &RunOptions::default())
    }

    /// Like [`MeshOps::check_surface`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::check_surface`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn check_surface_with(&self, which: SurfacePositions, run: &RunOptions) -> Result<Surface>;

    /// Returns a smooth normal for each position; see [`polyhaul_geometry::normals::position_normals`].
    ///
    /// # Errors
    /// The same errors as [`MeshOps::check_surface_with`].
    fn position_normals_with(&self, which: SurfacePositions, run: &RunOptions) -> Result<Vec<[f32; 3]>>;

    /// Returns the normal of each face.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::check_surface_with`].
    fn face_normals_with(&self, run: &RunOptions) -> Result<Vec<[f32; 3]>>;

    /// Returns the uv of every corner (`missing` for corners without one), or `None` if the mesh has no uvs.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of values does not match the attribute's domain.
    fn corner_uvs_with(&self, missing: [f32; 2], run: &RunOptions) -> Result<Option<Vec<[f32; 2]>>>;

    /// Returns the normal of every corner (`missing` for corners without one), or `None` if the mesh has no normals.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::corner_uvs_with`].
    fn corner_normals_with(&self, missing: [f32; 3], run: &RunOptions) -> Result<Option<Vec<[f32; 3]>>>;

    /// Returns the color of every corner, or `None` if the mesh has no colors.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::corner_uvs_with`].
    fn corner_colors_with(&self, run: &RunOptions) -> Result<Option<Vec<[f32; 4]>>>;
}

impl MeshOps for Mesh {
    fn weld_with(&self, run: &RunOptions) -> Result<Welded> {
        weld::weld(self, run)
    }

    fn triangulate_with(&mut self, run: &RunOptions) -> Result<TriangleMap> {
        triangulate::triangulate(self, run)
    }

    fn index_attributes_with(&mut self, run: &RunOptions) -> Result<()> {
        domains::index_attributes(self, run)
    }

    fn welded_with(&self, run: &RunOptions) -> Result<Mesh> {
        welded::welded(self, run)
    }

    fn transform_with(&mut self, matrix: &[[f64; 4]; 4], run: &RunOptions) -> Result<()> {
        affine::transform(self, matrix, run)
    }

    fn section(&self, start: Counts, end: Counts, which: SectionPositions) -> Result<Mesh> {
        section::section(self, start, end, which)
    }

    fn flat_sections_with(
        &self,
        cuts: &[(Counts, Counts)],
        options: &FlatOptions,
        run: &RunOptions,
    ) -> Result<Vec<FlatSection>> {
        flat::flat_sections(self, cuts, options, run)
    }

    fn edges(&self) -> Result<Edges> {
        edges::edges(self)
    }

    fn has_clean_faces_with(&self, run: &RunOptions) -> Result<bool> {
        clean::has_clean_faces(self, run)
    }

    fn check_surface_with(&self, which: SurfacePositions, run: &RunOptions) -> Result<Surface> {
        surface::check_surface(self, 0..self.faces.len(), which, run)
    }

    fn position_normals_with(&self, which: SurfacePositions, run: &RunOptions) -> Result<Vec<[f32; 3]>> {
        normals::position_normals(self, which, run)
    }

    fn face_normals_with(&self, run: &RunOptions) -> Result<Vec<[f32; 3]>> {
        normals::face_normals(self, run)
    }

    fn corner_uvs_with(&self, missing: [f32; 2], run: &RunOptions) -> Result<Option<Vec<[f32; 2]>>> {
        corners::corner_uvs(self, missing, run)
    }

    fn corner_normals_with(&self, missing: [f32; 3], run: &RunOptions) -> Result<Option<Vec<[f32; 3]>>> {
        corners::corner_normals(self, missing, run)
    }

    fn corner_colors_with(&self, run: &RunOptions) -> Result<Option<Vec<[f32; 4]>>> {
        corners::corner_colors(self, run)
    }
}

/// Operations on a [`Scene`].
pub trait SceneOps {
    /// Splits the polygons of all meshes into triangles.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::triangulate`].
    fn triangulate(&mut self) -> Result<()> {
        self.triangulate_with(&RunOptions::default())
    }

    /// Like [`SceneOps::triangulate`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`MeshOps::triangulate_with`].
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<()>;

    /// Converts positions, normals and transforms to other axes, and scales positions.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the axes are parallel, or the scale is 0 or not finite.
    fn transform_axes(&mut self, to: Axes, scale: f64) -> Result<()> {
        self.transform_axes_with(to, scale, &RunOptions::default())
    }

    /// Like [`SceneOps::transform_axes`], but with the given options.
    ///
    /// # Errors
    /// The same errors as [`SceneOps::transform_axes`], plus [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn transform_axes_with(&mut self, to: Axes, scale: f64, run: &RunOptions) -> Result<()>;
}

impl SceneOps for Scene {
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<()> {
        triangulate::triangulate_scene(self, run)
    }

    fn transform_axes_with(&mut self, to: Axes, scale: f64, run: &RunOptions) -> Result<()> {
        transform::transform_axes(self, to, scale, run)
    }
}
