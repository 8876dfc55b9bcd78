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

pub use polyhaul_image::blocks::{self, Quality, compress};
pub use polyhaul_image::mipmaps::{Edges, Filter, MipmapContent, MipmapOptions, mipmaps};
pub use polyhaul_image::samples::{Adjusted, Cut, SampleType, convert_samples, with_channels};
pub use polyhaul_mesh::domains::index_attributes;
pub use polyhaul_mesh::transform::transform_axes;
pub use polyhaul_mesh::triangulate::{TriangleMap, triangulate, triangulate_scene};
pub use polyhaul_mesh::weld::{Welded, weld};
pub use polyhaul_pbrt::build::{Builder, Given, GivenValues};
pub use polyhaul_pbrt::flatten::{Flat, flatten};
pub use polyhaul_pbrt::inline::inline_meshes;
pub use polyhaul_pbrt::instances::expand;
pub use polyhaul_pbrt::places::{Matrix32, Matrix64, Places32, Places64, places32, places64};
