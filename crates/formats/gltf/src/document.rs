//! Types for the JSON of a glTF file: the properties that polyhaul reads or writes, named as in the specification.
//!
//! Other properties are ignored. Deserialization checks only types, so indices may be out of range.

use crate::log::malformed;
use crate::serial::{floats, list, text};
use crate::whole;
use polyhaul_model::error::Result;
use polyhaul_model::names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Accessor component types by number.
pub(crate) mod component {
    pub(crate) const BYTE: u32 = 5120;
    pub(crate) const UNSIGNED_BYTE: u32 = 5121;
    pub(crate) const SHORT: u32 = 5122;
    pub(crate) const UNSIGNED_SHORT: u32 = 5123;
    pub(crate) const UNSIGNED_INT: u32 = 5125;
    pub(crate) const FLOAT: u32 = 5126;
}

/// Primitive topologies by number.
pub(crate) mod mode {
    pub(crate) const POINTS: u32 = 0;
    pub(crate) const LINES: u32 = 1;
    pub(crate) const LINE_LOOP: u32 = 2;
    pub(crate) const LINE_STRIP: u32 = 3;
    pub(crate) const TRIANGLES: u32 = 4;
    pub(crate) const TRIANGLE_STRIP: u32 = 5;
    pub(crate) const TRIANGLE_FAN: u32 = 6;
}

/// Sampler wrapping mode that clamps.
pub(crate) const CLAMP_TO_EDGE: u32 = 33071;

/// Properties of an `extensions` object, by name.
pub(crate) type Extensions = BTreeMap<String, Value>;

/// Deserializes the extension `name`, if present.
pub(crate) fn extension<T>(extensions: &Extensions, name: &str, path: &str) -> Result<Option<T>>
where
    T: for<'de> Deserialize<'de>,
{
    let Some(value) = extensions.get(name) else { return Ok(None) };
    // Some writers write integers as decimals, which serde rejects for integer fields.
    let parsed = T::deserialize(value).or_else(|_| T::deserialize(&whole::value(value)));
    parsed
        .map(Some)
        .map_err(|error| malformed(format!("{path}.extensions.{name}: {}", names::shown(&error.to_string()))))
}

/// A value that is ignored; only its presence matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Skipped, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Skipped)
    }
}

impl Serialize for Skipped {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Whether there are extras. Empty objects and `null` count as none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Extras(pub(crate) bool);

impl<'de> Deserialize<'de> for Extras {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Extras, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Object(BTreeMap<String, serde::de::IgnoredAny>),
            Other(Option<serde::de::IgnoredAny>),
        }
        Form::deserialize(deserializer).map(|form| {
            Extras(match form {
                Form::Object(fields) => !fields.is_empty(),
                Form::Other(value) => value.is_some(),
            })
        })
    }
}

/// Required by `objects!`, but unused: the writer writes no [`Extras`], and defaults are skipped.
impl Serialize for Extras {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

// Every property is optional, and skipped if it has its default value, because the same types are read and written.
macro_rules! objects {
    ($($(#[$docs:meta])+ $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)+ })+) => {$(
        $(#[$docs])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct $name {
            $(
                $(#[$attribute])*
                #[serde(skip_serializing_if = "is_default")]
                pub(crate) $field: $type,
            )+
        }
    )+};
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

objects! {
    /// Root of the JSON.
    Document {
        asset: Asset,
        #[serde(deserialize_with = "list")]
        extensions_used: Vec<String>,
        #[serde(deserialize_with = "list")]
        extensions_required: Vec<String>,
        scene: Option<usize>,
        #[serde(deserialize_with = "list")]
        scenes: Vec<SceneNodes>,
        #[serde(deserialize_with = "list")]
        nodes: Vec<Node>,
        #[serde(deserialize_with = "list")]
        meshes: Vec<GltfMesh>,
        #[serde(deserialize_with = "list")]
        accessors: Vec<Accessor>,
        #[serde(deserialize_with = "list")]
        buffer_views: Vec<BufferView>,
        #[serde(deserialize_with = "list")]
        buffers: Vec<Buffer>,
        #[serde(deserialize_with = "list")]
        materials: Vec<GltfMaterial>,
        #[serde(deserialize_with = "list")]
        textures: Vec<GltfTexture>,
        #[serde(deserialize_with = "list")]
        images: Vec<GltfImage>,
        #[serde(deserialize_with = "list")]
        samplers: Vec<Sampler>,
        #[serde(deserialize_with = "list")]
        skins: Vec<Skin>,
        #[serde(deserialize_with = "list")]
        animations: Vec<UnreadItem>,
        #[serde(deserialize_with = "list")]
        cameras: Vec<UnreadItem>,
        extensions: Extensions,
        extras: Extras,
    }
    /// An item of which only the name is read.
    UnreadItem {
        name: Option<String>,
    }
    /// A skin; only its name and joints are read.
    Skin {
        name: Option<String>,
        joints: Option<Value>,
    }
    /// The part of a document that locates images.
    ImageDocument {
        #[serde(deserialize_with = "list")]
        buffer_views: Vec<BufferView>,
        #[serde(deserialize_with = "list")]
        buffers: Vec<Buffer>,
        #[serde(deserialize_with = "list")]
        images: Vec<GltfImage>,
    }
    /// Format version, generator and copyright.
    Asset {
        version: String,
        min_version: Option<String>,
        generator: Option<String>,
        copyright: Option<String>,
        extras: Extras,
    }
    /// A scene: the root nodes of a hierarchy.
    SceneNodes {
        name: Option<String>,
        #[serde(deserialize_with = "list")]
        nodes: Vec<usize>,
        extras: Extras,
    }
    /// A node of the hierarchy: a transform, a mesh, and children.
    Node {
        name: Option<String>,
        #[serde(deserialize_with = "list")]
        children: Vec<usize>,
        mesh: Option<usize>,
        skin: Option<usize>,
        camera: Option<Skipped>,
        /// Column-major.
        matrix: Option<[f64; 16]>,
        translation: Option<[f64; 3]>,
        /// x, y, z, w.
        rotation: Option<[f64; 4]>,
        scale: Option<[f64; 3]>,
        extensions: Extensions,
        extras: Extras,
    }
    /// A group of primitives.
    GltfMesh {
        name: Option<String>,
        #[serde(deserialize_with = "list")]
        primitives: Vec<Primitive>,
        #[serde(deserialize_with = "list")]
        weights: Vec<f32>,
        extras: Extras,
    }
    /// Triangles, lines or points with one material.
    Primitive {
        /// Accessors by semantic: `POSITION`, `NORMAL`, `TEXCOORD_0`, `COLOR_0`, `_NAME`.
        attributes: BTreeMap<String, usize>,
        indices: Option<usize>,
        material: Option<usize>,
        /// [`mode::TRIANGLES`] if missing.
        mode: Option<u32>,
        #[serde(deserialize_with = "list")]
        targets: Vec<Skipped>,
        extensions: Extensions,
        extras: Extras,
    }
    /// A typed view of a part of a buffer.
    Accessor {
        name: Option<String>,
        buffer_view: Option<usize>,
        byte_offset: u64,
        component_type: u32,
        normalized: bool,
        count: u64,
        /// `SCALAR`, `VEC2`, `VEC3`, `VEC4`, `MAT2`, `MAT3`, `MAT4`.
        #[serde(rename = "type")]
        kind: String,
        #[serde(deserialize_with = "floats")]
        min: Vec<f32>,
        #[serde(deserialize_with = "floats")]
        max: Vec<f32>,
        sparse: Option<Sparse>,
        extras: Extras,
    }
    /// Replacements for some values of an accessor.
    Sparse {
        count: u64,
        indices: SparseIndices,
        values: SparseValues,
    }
    /// Indices of the replaced values, in ascending order.
    SparseIndices {
        buffer_view: Option<usize>,
        byte_offset: u64,
        component_type: u32,
    }
    /// Replacement values.
    SparseValues {
        buffer_view: Option<usize>,
        byte_offset: u64,
    }
    /// A part of a buffer.
    BufferView {
        name: Option<String>,
        buffer: Option<usize>,
        byte_offset: u64,
        byte_length: u64,
        byte_stride: Option<u64>,
        target: Option<u32>,
        extensions: Extensions,
        extras: Extras,
    }
    /// Bytes from a URI, or from the second chunk of a `.glb`.
    Buffer {
        name: Option<String>,
        #[serde(deserialize_with = "text")]
        uri: Option<String>,
        byte_length: u64,
        extensions: Extensions,
        extras: Extras,
    }
    /// A material. Missing factors have the defaults of the specification.
    GltfMaterial {
        name: Option<String>,
        pbr_metallic_roughness: Option<MetallicRoughness>,
        normal_texture: Option<TextureInfo>,
        occlusion_texture: Option<TextureInfo>,
        emissive_texture: Option<TextureInfo>,
        emissive_factor: Option<[f32; 3]>,
        /// `OPAQUE`, `MASK`, `BLEND`.
        alpha_mode: Option<String>,
        alpha_cutoff: Option<f32>,
        double_sided: bool,
        extensions: Extensions,
        extras: Option<Value>,
    }
    /// Core parameters of materials.
    MetallicRoughness {
        base_color_factor: Option<[f32; 4]>,
        base_color_texture: Option<TextureInfo>,
        metallic_factor: Option<f32>,
        roughness_factor: Option<f32>,
        metallic_roughness_texture: Option<TextureInfo>,
    }
    /// A reference to a texture.
    TextureInfo {
        index: Option<usize>,
        tex_coord: usize,
        /// For normal textures only.
        scale: Option<f32>,
        /// For occlusion textures only.
        strength: Option<f32>,
        extensions: Extensions,
    }
    /// An image and its sampler.
    GltfTexture {
        sampler: Option<usize>,
        source: Option<usize>,
        name: Option<String>,
        extensions: Extensions,
        extras: Extras,
    }
    /// An encoded image: a URI or a view.
    GltfImage {
        name: Option<String>,
        #[serde(deserialize_with = "text")]
        uri: Option<String>,
        mime_type: Option<String>,
        buffer_view: Option<usize>,
        extras: Extras,
    }
    /// Filtering and wrapping of textures.
    Sampler {
        mag_filter: Option<u32>,
        min_filter: Option<u32>,
        wrap_s: Option<u32>,
        wrap_t: Option<u32>,
        extras: Extras,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_left_out_and_zero_indices_stay() {
        let view = BufferView { buffer: Some(0), byte_length: 12, ..BufferView::default() };
        assert_eq!(serde_json::to_string(&view).unwrap(), r#"{"buffer":0,"byteLength":12}"#);
        let text = r#"{"asset":{"version":"2.0"},"skins":[{"joints":[1,2]},[]],"unknown":{"a":[]}}"#;
        let document: Document = serde_json::from_str(text).unwrap();
        assert_eq!((document.asset.version.as_str(), document.skins.len()), ("2.0", 2));
    }
}
