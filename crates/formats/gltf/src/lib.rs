//! glTF 2.0: meshes with one index per corner, a hierarchy of nodes, and metallic-roughness materials.
//!
//! A file is JSON that describes buffers of binary values: `.glb` holds both, `.gltf` is the JSON with its buffers
//! next to it or inside it. Source: <https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html>.
//!
//! - Reading and writing: `document` is the JSON as types, `container` the chunks of a `.glb` file, `splats` the
//!   attributes of Gaussian splats.
//! - Writing: `job` is the input, `plan` chooses vertices and indices, `looks` materials, `instancing` the nodes of
//!   many objects; `spans` and `views` lay out values, `pages` and `compress` format them; `writer` assembles the file.
//! - Reading: `reader` builds the scene; `accessors` checks values as `layout` describes them, `fills` reads them;
//!   `meshopt`, `materials` and `images` read these parts; `whole` rewrites integers that are written as decimals.
//!
//! The caller opens the files of buffers and images. Images stay encoded: the caller decodes them as any other file.

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
