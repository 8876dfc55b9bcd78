//! Model to model: weld, triangulate, transform, and what is done to images.
//!
//! Operations on meshes, scenes and images are methods of the traits here: `mesh.weld()` with the default options,
//! `mesh.weld_with(&run)` with a caller's [`RunOptions`]. Those on scenes for a renderer are functions. Each works in
//! parallel and gives the same bytes for any number of threads. Nothing here reads or writes files, and nothing trusts
//! the model: an index out of range is an error ([`ErrorKind::Usage`](crate::ErrorKind::Usage)), never a panic. How
//! they work is in `polyhaul-mesh`, `polyhaul-image` and `polyhaul-pbrt`.
//!
//! - [`flatten()`]: a scene for a renderer becomes meshes and objects
//! - [`expand()`]: a scene for a renderer without instances; [`inline_meshes`]: one without meshes in files;
//!   [`Builder`]: one that is made by hand
//! - [`places64()`], [`places32()`]: where things of a scene for a renderer stand
//! - [`compress`]: images as a texture, in blocks or plain; [`blocks`]: pictures of textures as images

#[cfg(feature = "textures")]
pub use polyhaul_image::blocks::{self, BlockQuality, compress};
pub use polyhaul_image::mipmaps::{MipmapContent, MipmapEdges, MipmapFilter, MipmapOptions};
pub use polyhaul_image::samples::{Adjusted, Cut, SampleType};
pub use polyhaul_mesh::triangulate::TriangleMap;
pub use polyhaul_mesh::weld::Welded;
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::build::{Builder, Given, GivenValues};
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::flatten::{Flat, flatten};
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::inline::inline_meshes;
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::instances::expand;
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::places::{Matrix32, Matrix64, Places32, Places64, places32, places64};

use crate::options::RunOptions;
use polyhaul_image::{mipmaps, samples};
use polyhaul_mesh::{domains, transform, triangulate, weld};
use polyhaul_model::error::Result;
use polyhaul_model::{Axes, Channels, ColorSpace, Image, Mesh, Scene};

/// What can be done to a [`Mesh`].
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
    /// Joins the separate indices of positions, uvs and normals into one, as graphics hardware needs it, see
    /// [`Welded`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn weld(&self) -> Result<Welded> {
        self.weld_with(&RunOptions::default())
    }

    /// As [`MeshOps::weld`], with these options.
    ///
    /// # Errors
    /// Those of [`MeshOps::weld`], and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn weld_with(&self, run: &RunOptions) -> Result<Welded>;

    /// Cuts polygons into triangles, and tells which triangle came from which face.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if an index is out of range.
    fn triangulate(&mut self) -> Result<TriangleMap> {
        self.triangulate_with(&RunOptions::default())
    }

    /// As [`MeshOps::triangulate`], with these options.
    ///
    /// # Errors
    /// Those of [`MeshOps::triangulate`], and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<TriangleMap>;

    /// Makes attributes per corner, position or face indexed ones.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of values does not match the attribute's domain.
    fn index_attributes(&mut self) -> Result<()>;
}

impl MeshOps for Mesh {
    fn weld_with(&self, run: &RunOptions) -> Result<Welded> {
        weld::weld(self, run)
    }

    fn triangulate_with(&mut self, run: &RunOptions) -> Result<TriangleMap> {
        triangulate::triangulate(self, run)
    }

    fn index_attributes(&mut self) -> Result<()> {
        domains::index_attributes(self)
    }
}

/// What can be done to a [`Scene`].
pub trait SceneOps {
    /// Cuts the polygons of all meshes into triangles.
    ///
    /// # Errors
    /// Those of [`MeshOps::triangulate`].
    fn triangulate(&mut self) -> Result<()> {
        self.triangulate_with(&RunOptions::default())
    }

    /// As [`SceneOps::triangulate`], with these options.
    ///
    /// # Errors
    /// Those of [`MeshOps::triangulate_with`].
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<()>;

    /// Turns positions, normals and transforms to other axes and multiplies positions by a scale.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if axes are parallel or the scale is not finite or 0.
    fn transform_axes(&mut self, to: Axes, scale: f32) -> Result<()> {
        self.transform_axes_with(to, scale, &RunOptions::default())
    }

    /// As [`SceneOps::transform_axes`], with these options.
    ///
    /// # Errors
    /// Those of [`SceneOps::transform_axes`], and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn transform_axes_with(&mut self, to: Axes, scale: f32, run: &RunOptions) -> Result<()>;
}

impl SceneOps for Scene {
    fn triangulate_with(&mut self, run: &RunOptions) -> Result<()> {
        triangulate::triangulate_scene(self, run)
    }

    fn transform_axes_with(&mut self, to: Axes, scale: f32, run: &RunOptions) -> Result<()> {
        transform::transform_axes(self, to, scale, run)
    }
}

/// What can be done to an [`Image`].
///
/// ```
/// use polyhaul::model::{Channels, Image, Samples};
/// use polyhaul::ops::{ImageOps, MipmapOptions};
///
/// let samples = Samples::U8([0, 255, 255, 0].into());
/// let image = Image { width: 2, height: 2, channels: Channels::Gray, samples, ..Image::default() };
/// let levels = image.mipmaps(&MipmapOptions::default())?;
/// assert_eq!((levels.len(), levels[0].width), (1, 1));
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub trait ImageOps {
    /// The image with samples of another type and in another color space, and what that clipped.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size.
    fn convert_samples(&self, to: SampleType, space: ColorSpace) -> Result<Adjusted> {
        self.convert_samples_with(to, space, &RunOptions::default())
    }

    /// As [`ImageOps::convert_samples`], with these options.
    ///
    /// # Errors
    /// Those of [`ImageOps::convert_samples`].
    fn convert_samples_with(&self, to: SampleType, space: ColorSpace, run: &RunOptions) -> Result<Adjusted>;

    /// The image with other channels: alpha added as 1 or dropped, colors as their brightness or gray as colors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size.
    fn convert_channels(&self, channels: Channels) -> Result<Image> {
        self.convert_channels_with(channels, &RunOptions::default())
    }

    /// As [`ImageOps::convert_channels`], with these options.
    ///
    /// # Errors
    /// Those of [`ImageOps::convert_channels`].
    fn convert_channels_with(&self, channels: Channels, run: &RunOptions) -> Result<Image>;

    /// The levels below the image: each side is half of the one before, rounded down, and at least 1.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the number of samples does not match the size or the options do
    /// not fit the image.
    fn mipmaps(&self, options: &MipmapOptions) -> Result<Vec<Image>> {
        self.mipmaps_with(options, &RunOptions::default())
    }

    /// As [`ImageOps::mipmaps`], with these options.
    ///
    /// # Errors
    /// Those of [`ImageOps::mipmaps`], and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    fn mipmaps_with(&self, options: &MipmapOptions, run: &RunOptions) -> Result<Vec<Image>>;
}

impl ImageOps for Image {
    fn convert_samples_with(&self, to: SampleType, space: ColorSpace, run: &RunOptions) -> Result<Adjusted> {
        samples::convert_samples(self, to, space, run)
    }

    fn convert_channels_with(&self, channels: Channels, run: &RunOptions) -> Result<Image> {
        samples::with_channels(self, channels, run)
    }

    fn mipmaps_with(&self, options: &MipmapOptions, run: &RunOptions) -> Result<Vec<Image>> {
        mipmaps::mipmaps(self, options, run)
    }
}
