//! Model to model: weld, triangulate, transform.
//!
//! Each operation takes a mesh or a scene and [`RunOptions`](crate::options::RunOptions), works in
//! parallel, and gives the same bytes for any number of threads. Nothing here reads or writes
//! files, and nothing trusts the model: an index out of range is an error
//! ([`ErrorKind::Usage`](crate::ErrorKind::Usage)), never a panic.
//!
//! - [`weld()`]: separate index streams become one, as graphics hardware wants it
//! - [`triangulate()`], [`triangulate_scene`]: polygons become triangles
//! - [`transform_axes`]: other axes, another scale
//! - [`flatten()`]: a scene for a renderer becomes meshes and objects
//! - [`expand()`]: a scene for a renderer without instances; [`inline_meshes`]: one without meshes in files;
//!   [`Builder`]: one that is made by hand
//! - [`places64()`], [`places32()`]: where things of a scene for a renderer stand
//! - [`convert_samples`], [`with_channels`]: images in other types, colour spaces and channels
//! - [`mipmaps`]: an image at half, a quarter and so on of its size
//! - [`compress`]: images as a texture, in blocks or plain
//! - [`index_attributes`]: attributes per corner, position or face become indexed ones
//! - [`blocks`]: pictures of textures as images

mod arrays;
pub mod blocks;
mod build;
pub(crate) mod dedup;
mod domains;
mod flatten;
mod inline;
mod instances;
mod looks;
mod mipmaps;
mod place;
mod samples;
mod transform;
mod triangulate;
pub(crate) mod vertices;
mod weld;

pub(crate) use arrays::multiples;
pub use blocks::{Quality, compress};
pub use build::{Builder, Given, GivenValues};
pub use domains::index_attributes;
pub use flatten::{Flat, flatten};
pub(crate) use flatten::{check_elements, flatten_named};
pub use inline::inline_meshes;
pub use instances::expand;
pub use mipmaps::{Edges, Filter, MipmapContent, MipmapOptions, mipmaps};
pub use place::{Matrix32, Matrix64, Places32, Places64, places32, places64};
pub use samples::{Adjusted, Cut, SampleType, convert_samples, with_channels};
pub(crate) use samples::{check_image, half, is_opaque};
pub use transform::transform_axes;
pub(crate) use transform::{UNMOVED, axes_matrix, check_scale};
pub(crate) use triangulate::triangulate_scene_as_blender;
pub use triangulate::{TriangleMap, triangulate, triangulate_scene};
pub use weld::{Welded, weld};
