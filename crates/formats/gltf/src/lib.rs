//! glTF 2.0: meshes with one index per corner, a hierarchy of nodes, and metallic-roughness materials.
//!
//! A file is JSON that describes buffers of binary values: `.glb` holds both, `.gltf` is the JSON with its buffers
//! next to it or inside it. Source: <https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html>.
//!
//! The JSON, as types, is in `document`; the container in `container`. Writing: `plan` (which vertices and indices),
//! `looks` (materials), `instancing` (nodes of many objects), `views` (the layout of values), `pages` and `compress`
//! (their bytes), `writer` (the file). Reading: `reader` (the scene), `accessors` and `fills` (values), `meshopt`,
//! `materials`, `images` (inside the file). Reading and writing Gaussian splats: `splats`. The caller opens the files
//! of buffers and images.

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
mod json;
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
mod splats;
mod streams;
mod transforms;
mod uri;
mod views;
mod writer;

pub use buffers::OpenBufferFile;
pub use container::looks_like_glb;
pub use images::{OpenRange, media_type, read_image, split_image_name};
pub use looks::{GltfImages, ImageData, shows};
pub use polyhaul_model::options::GltfWriteOptions;
pub use reader::{GltfFound, read};
pub use writer::{GltfFile, GltfJob};
