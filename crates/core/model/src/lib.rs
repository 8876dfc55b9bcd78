//! The data model of polyhaul: plain arrays and small structs, with no processing.
//!
//! A [`Scene`] owns [`Mesh`]es (arrays), [`Object`]s (named sections of a mesh), [`Material`]s and [`Table`]s (columns
//! of numbers that do not belong to a mesh). An [`Image`] is independent of scenes. This crate reads no files and
//! starts no threads. To read a scene, see `polyhaul::read`; to modify one, see `polyhaul::ops`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod array;
pub mod copy;
pub mod error;
mod folder;
mod image;
pub mod limits;
mod material;
mod mesh;
pub mod names;
mod objects;
pub mod options;
pub mod pixels;
pub mod precision;
pub mod printable;
pub mod render;
mod scene;
pub mod severity;
pub mod shared_slice;
pub mod splats;
pub mod srgb;
mod table;
mod texture;
pub mod warnings;

pub use array::Array;
pub use folder::{FolderPlace, SourceFolder};
pub use image::{
    ChannelSamples, ChannelType, Channels, ColorChannel, ColorProfile, ColorSpace, Image, ImageAttribute, ImageChannel,
    ImagePart, PartChannel, SampleType, Samples,
};
pub use material::{Color, Illumination, MapKind, Material, TextureMap};
pub use mesh::{Counts, Curve, Domain, Elements, Mesh, Run, VertexGroup};
pub use precision::Precision;
pub use scene::{Axes, Axis, Bounds, Object, ObjectKind, Scene};
pub use table::{Column, Scalar, Table, Values};
pub use texture::{Encoding, Texel, Texture};

/// The index that means "none", for corners without a UV or faces without a group.
pub const NONE: u32 = u32::MAX;
