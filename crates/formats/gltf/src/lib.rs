//! Reads and writes glTF 2.0 (`.gltf`, `.glb`): indexed meshes, a node hierarchy, and metallic-roughness materials.
//!
//! A file is JSON that describes binary buffers. A `.glb` contains both; a `.gltf` has its buffers inline or in
//! separate files. Source: <https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html>. This crate opens no files and
//! decodes no images: the caller opens the files of buffers and images, and images remain encoded.
//!
//! - Shared: `document` has the JSON as types, `container` the layout of `.glb`, `splats` the attributes of Gaussian
//!   splats.
//! - Writing: `job` is the input; `plan` chooses vertices and indices, `looks` materials, `instancing` the objects that
//!   become instances of one node; `spans` and `views` lay out values, `pages` and `compress` encode them; `writer`
//!   assembles the file.
//! - Reading: `reader` builds the scene; `accessors` validates values and returns their `layout`, `fills` reads them;
//!   `meshopt` decodes compressed views, `materials` and `images` read these parts; `whole` rewrites integers written
//!   as decimals.

mod accessors;
mod budget;
mod buffers;
mod chunks;
mod color;
mod compress;
mod container;
mod convert;
mod document;
mod fills;
mod geometry;
mod hierarchy;
mod images;
mod instances;
mod instancing;
mod job;
mod json;
mod layout;
mod left_out;
mod log;
mod looks;
mod losses;
mod materials;
mod meshes;
mod meshopt;
mod pages;
mod plan;
mod primitives;
mod quantize;
mod reader;
mod serial;
mod spans;
mod splats;
mod streams;
mod transforms;
mod uri;
mod views;
mod whole;
mod writer;

pub use buffers::OpenBufferFile;
pub use container::looks_like_glb;
pub use images::{OpenRange, media_type, read_image, split_image_name};
pub use job::GltfJob;
pub use looks::{GltfImages, ImageData, shows};
pub use polyhaul_model::options::GltfWriteOptions;
pub use reader::{GltfFound, read};
pub use writer::GltfFile;
