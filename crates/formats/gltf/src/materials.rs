//! Converts glTF materials to MTL materials with PBR extensions.
//!
//! Missing factors get the specification's defaults. Textures become maps with the names of their images; image files
//! are not opened. Properties that the model cannot store are counted. [`crate::looks`] converts in the opposite
//! direction.

use crate::accessors::AccessorValues;
use crate::document::{CLAMP_TO_EDGE, Document, GltfMaterial, TextureInfo, extension};
use crate::images::ImageNames;
use crate::log::{GltfLog, malformed, over_limit};
use crate::uri::{UriTarget, target};
use crate::whole;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_model::names::DistinctNames;
use polyhaul_model::{Color, MapKind, Material, TextureMap, names};
use serde::Deserialize;
use serde_json::Value;

/// Extension for materials without lighting.
pub(crate) const UNLIT: &str = "KHR_materials_unlit";
/// Extension with the specular-glossiness model, the predecessor of the core model.
pub(crate) const SPECULAR_GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";
/// Default of `alphaCutoff`.
pub(crate) const DEFAULT_CUTOFF: f32 = 0.5;

/// Default wrapping mode: repeat.
const REPEAT: u32 = 10497;

/// Code of warnings about properties.
const PROPERTIES: &str = "left-out-material-properties";

/// Reads the materials of a file. Embedded images get names that start with `file_name`.
pub(crate) fn materials<'a>(
    values: &mut AccessorValues<'a, '_>,
    file_name: Option<&'a str>,
    log: &mut GltfLog,
) -> Result<Vec<Material>> {
    let document = values.document;
    let mut materials = Vec::new();
    let mut images = ImageNames::new(document, file_name);
    materials.try_reserve_exact(document.materials.len()).map_err(|_| Error::memory("materials"))?;
    // Other formats refer to materials by name, so names must be unique.
    let mut names = DistinctNames::default();
    for (index, gltf) in document.materials.iter().enumerate() {
        let name = gltf.name.as_deref().filter(|name| !name.is_empty());
        let name = names.distinct(&name.map_or_else(|| format!("Material_{index}"), str::to_owned))?;
        check_name(&name, &values.limits)?;
        let material = Material { name, ..Material::default() };
        let mut reader = MaterialReader { document, values, images: &mut images, log, index, material };
        reader.read(gltf)?;
        materials.push(reader.material);
    }
    Ok(materials)
}

/// Fails if a name exceeds the limit.
pub(crate) fn check_name(name: &str, limits: &Limits) -> Result<()> {
    if name.len() as u64 > limits.name_bytes {
        return Err(over_limit(&format!("the {} bytes of a name", name.len()), limits.name_bytes, "name_bytes"));
    }
    Ok(())
}

/// Fields of all supported material extensions. An extension leaves the fields of other extensions empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MaterialExtension {
    emissive_strength: Option<f32>,
    diffuse_factor: Option<[f32; 4]>,
    diffuse_texture: Option<TextureInfo>,
    specular_factor: Option<[f32; 3]>,
    glossiness_factor: Option<f32>,
    specular_glossiness_texture: Option<TextureInfo>,
    ior: Option<f32>,
    clearcoat_factor: f32,
    clearcoat_roughness_factor: f32,
    clearcoat_texture: Option<TextureInfo>,
    clearcoat_roughness_texture: Option<TextureInfo>,
    clearcoat_normal_texture: Option<TextureInfo>,
    sheen_color_factor: [f32; 3],
    sheen_color_texture: Option<TextureInfo>,
    sheen_roughness_factor: f32,
    sheen_roughness_texture: Option<TextureInfo>,
    anisotropy_strength: f32,
    anisotropy_rotation: f32,
    anisotropy_texture: Option<TextureInfo>,
}

/// `KHR_texture_transform`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TextureTransform {
    offset: Option<[f32; 2]>,
    rotation: f32,
    scale: Option<[f32; 2]>,
    tex_coord: Option<usize>,
}

/// A property and the channel of an image that stores it; `None` for all color channels.
struct MapRole {
    kind: MapKind,
    channel: Option<char>,
}

/// Builds one material.
struct MaterialReader<'d, 'f, 'l> {
    document: &'d Document,
    values: &'l mut AccessorValues<'d, 'f>,
    images: &'l mut ImageNames<'d>,
    log: &'l mut GltfLog,
    index: usize,
    material: Material,
}

impl MaterialReader<'_, '_, '_> {
    fn read(&mut self, gltf: &GltfMaterial) -> Result<()> {
        let mode = gltf.alpha_mode.as_deref().unwrap_or("OPAQUE");
        let is_opaque = mode == "OPAQUE";
        self.material.alpha_cutoff = (mode == "MASK").then(|| gltf.alpha_cutoff.unwrap_or(DEFAULT_CUTOFF));
        self.material.alpha_blended = (mode != "MASK").then_some(!is_opaque);
        self.material.single_sided = !gltf.double_sided;
        self.material.unlit = gltf.extensions.contains_key(UNLIT);
        let is_empty = |extras: &&Value| extras.as_object().is_some_and(serde_json::Map::is_empty);
        self.material.extras = gltf.extras.as_ref().filter(|extras| !is_empty(extras)).map(Value::to_string);
        let emission = gltf.emissive_factor.unwrap_or([0.0; 3]);
        let emissive = self.extension(gltf, "KHR_materials_emissive_strength")?;
        let strength = emissive.and_then(|extension| extension.emissive_strength).unwrap_or(1.0);
        self.material.emission = Some(Color::Rgb(emission.map(|value| value * strength)));
        match self.extension(gltf, SPECULAR_GLOSSINESS)? {
            Some(extension) => self.read_specular(&extension, is_opaque)?,
            None => self.read_metallic(gltf, is_opaque)?,
        }
        self.map(MapKind::Normal, gltf.normal_texture.as_ref(), None)?;
        self.map(MapKind::Emission, gltf.emissive_texture.as_ref(), None)?;
        self.map(MapKind::Occlusion, gltf.occlusion_texture.as_ref(), Some('r'))?;
        self.read_extensions(gltf)
    }

    /// Reads the core model.
    fn read_metallic(&mut self, gltf: &GltfMaterial, is_opaque: bool) -> Result<()> {
        let pbr = gltf.pbr_metallic_roughness.clone().unwrap_or_default();
        self.material.metallic = Some(pbr.metallic_factor.unwrap_or(1.0));
        self.material.roughness = Some(pbr.roughness_factor.unwrap_or(1.0));
        self.base(pbr.base_color_factor, pbr.base_color_texture.as_ref(), is_opaque)?;
        let roughness = MapRole { kind: MapKind::Roughness, channel: Some('g') };
        let metallic = MapRole { kind: MapKind::Metallic, channel: Some('b') };
        self.two_maps([roughness, metallic], pbr.metallic_roughness_texture.as_ref())
    }

    /// Reads the specular-glossiness model, which replaces the core model. Glossiness is 1 - roughness.
    fn read_specular(&mut self, extension: &MaterialExtension, is_opaque: bool) -> Result<()> {
        self.material.specular = Some(Color::Rgb(extension.specular_factor.unwrap_or([1.0; 3])));
        self.material.roughness = Some(1.0 - extension.glossiness_factor.unwrap_or(1.0));
        self.base(extension.diffuse_factor, extension.diffuse_texture.as_ref(), is_opaque)?;
        let specular = MapRole { kind: MapKind::Specular, channel: None };
        // The alpha channel holds the glossiness.
        let shininess = MapRole { kind: MapKind::Shininess, channel: Some('m') };
        self.two_maps([specular, shininess], extension.specular_glossiness_texture.as_ref())
    }

    /// Reads the base color and its alpha.
    fn base(&mut self, factor: Option<[f32; 4]>, texture: Option<&TextureInfo>, is_opaque: bool) -> Result<()> {
        let [r, g, b, alpha] = factor.unwrap_or([1.0; 4]);
        self.material.diffuse = Some(Color::Rgb([r, g, b]));
        self.material.opacity = (!is_opaque).then_some(alpha);
        if is_opaque {
            return self.map(MapKind::Diffuse, texture, None);
        }
        let color = MapRole { kind: MapKind::Diffuse, channel: None };
        // The alpha channel of the same image holds the opacity.
        let opacity = MapRole { kind: MapKind::Opacity, channel: Some('m') };
        self.two_maps([color, opacity], texture)
    }

    /// Reads the supported material extensions.
    fn read_extensions(&mut self, gltf: &GltfMaterial) -> Result<()> {
        if let Some(extension) = self.extension(gltf, "KHR_materials_ior")? {
            self.material.refraction_index = Some(extension.ior.unwrap_or(1.5));
        }
        if let Some(extension) = self.extension(gltf, "KHR_materials_clearcoat")? {
            self.material.clearcoat = Some(extension.clearcoat_factor);
            self.material.clearcoat_roughness = Some(extension.clearcoat_roughness_factor);
            self.map(MapKind::Clearcoat, extension.clearcoat_texture.as_ref(), Some('r'))?;
            self.map(MapKind::ClearcoatRoughness, extension.clearcoat_roughness_texture.as_ref(), Some('g'))?;
            self.lose_texture(extension.clearcoat_normal_texture.as_ref(), "left-out-maps", "clearcoat normal map")?;
        }
        if let Some(extension) = self.extension(gltf, "KHR_materials_sheen")? {
            // MTL has one number instead of a color.
            let color @ [red, green, blue] = extension.sheen_color_factor;
            self.material.sheen = Some(color.into_iter().fold(0.0, f32::max));
            let is_colored = red != green || green != blue;
            // Without a color, there is no sheen, whatever its roughness.
            let is_rough = color != [0.0; 3] && extension.sheen_roughness_factor != 0.0;
            self.lose(PROPERTIES, is_colored, "the color of the sheen was changed to gray")?;
            self.lose(PROPERTIES, is_rough, "the roughness of the sheen was dropped")?;
            self.map(MapKind::Sheen, extension.sheen_color_texture.as_ref(), None)?;
            self.lose_texture(extension.sheen_roughness_texture.as_ref(), "left-out-maps", "sheen roughness map")?;
        }
        if let Some(extension) = self.extension(gltf, "KHR_materials_anisotropy")? {
            self.material.anisotropy = Some(extension.anisotropy_strength);
            // In turns instead of radians, as in Blender.
            self.material.anisotropy_rotation = Some(extension.anisotropy_rotation / std::f32::consts::TAU);
            self.lose_texture(extension.anisotropy_texture.as_ref(), "left-out-maps", "anisotropy map")?;
        }
        Ok(())
    }

    fn extension(&self, gltf: &GltfMaterial, name: &str) -> Result<Option<MaterialExtension>> {
        extension(&gltf.extensions, name, &format!("materials[{}]", self.index))
    }

    /// Adds the map of a texture, if there is one.
    fn map(&mut self, kind: MapKind, info: Option<&TextureInfo>, channel: Option<char>) -> Result<()> {
        let Some(info) = info else { return Ok(()) };
        let Some(file) = self.file(info)? else { return Ok(()) };
        let path = format!("materials[{}]", self.index);
        let transform: Option<TextureTransform> = extension(&info.extensions, "KHR_texture_transform", &path)?;
        let transform = transform.unwrap_or_default();
        let coordinates = transform.tex_coord.unwrap_or(info.tex_coord) as u64;
        self.lose("left-out-texture-coordinates", coordinates != 0, "a texture was changed to use the first UV set")?;
        self.lose("left-out-texture-rotations", transform.rotation != 0.0, "the rotation of a texture was dropped")?;
        let mut map = TextureMap { kind, file, channel, clamp: self.clamp(info)?, ..TextureMap::default() };
        if transform.offset.is_some() || transform.scale.is_some() {
            // v in the model is 1 - v in glTF: 1 - (scale (1 - v) + offset) = scale v + (1 - scale - offset).
            let [offset_u, offset_v] = transform.offset.unwrap_or_default();
            let [u, v] = transform.scale.unwrap_or([1.0; 2]);
            map.offset = Some([offset_u, 1.0 - v - offset_v, 0.0]);
            map.scale = transform.scale.map(|_| [u, v, 1.0]);
        }
        let strength = info.strength.filter(|&strength| kind == MapKind::Occlusion && strength != 1.0);
        map.base_gain = strength.map(|strength| [1.0 - strength, strength]);
        map.bump_multiplier = info.scale.filter(|&scale| kind == MapKind::Normal && scale != 1.0);
        try_push(&mut self.material.maps, map, "materials")
    }

    /// Adds two maps of a texture, if there is one, whose channels store two properties. Counts its losses once.
    fn two_maps(&mut self, maps: [MapRole; 2], info: Option<&TextureInfo>) -> Result<()> {
        let [first, second] = maps;
        let number = self.material.maps.len();
        self.map(first.kind, info, first.channel)?;
        let Some(map) = self.material.maps.get(number) else { return Ok(()) };
        let map = TextureMap { kind: second.kind, channel: second.channel, ..map.clone() };
        try_push(&mut self.material.maps, map, "materials")
    }

    /// Returns the name of a texture's image; `None` if the image cannot be read.
    fn file(&mut self, info: &TextureInfo) -> Result<Option<String>> {
        let path = format!("materials[{}]", self.index);
        let index = info.index.ok_or_else(|| malformed(format!("{path}: the index of a texture is missing")))?;
        let Some(texture) = self.document.textures.get(index) else {
            return Err(malformed(format!("{path}: textures[{index}] does not exist")));
        };
        // Prefer the core image: extensions offer alternatives to it in formats that fewer programs can read.
        let sources = texture.extensions.values().filter_map(|value| value.get("source").and_then(whole::index));
        let other = sources.filter_map(|source| usize::try_from(source).ok()).next();
        let Some(source) = texture.source.or(other) else {
            self.lose("left-out-images", true, "a texture without an image was dropped")?;
            return Ok(None);
        };
        let Some(image) = self.document.images.get(source) else {
            return Err(malformed(format!("textures[{index}]: images[{source}] does not exist")));
        };
        let name = match image.uri.as_deref().map(target).transpose()? {
            Some(UriTarget::File(name)) => Ok(name),
            _ => self.images.name(source, image, self.values)?,
        };
        if let Err(why) = &name {
            self.lose("left-out-images", true, why)?;
        }
        name.iter().try_for_each(|name| check_name(name, &self.values.limits))?;
        Ok(name.ok())
    }

    /// Returns `Some(true)` if the texture clamps in both directions, otherwise `None`. Mirroring, and clamping in only
    /// one direction, are counted as losses; filters are hints, which are not.
    fn clamp(&mut self, info: &TextureInfo) -> Result<Option<bool>> {
        let texture = info.index.and_then(|index| self.document.textures.get(index));
        let Some(index) = texture.and_then(|texture| texture.sampler) else { return Ok(None) };
        let Some(sampler) = self.document.samplers.get(index) else {
            return Err(malformed(format!("materials[{}]: samplers[{index}] does not exist", self.index)));
        };
        let modes = [sampler.wrap_s, sampler.wrap_t].map(|mode| mode.unwrap_or(REPEAT));
        self.lose(
            "left-out-wrap-modes",
            modes[0] != modes[1] || !matches!(modes[0], CLAMP_TO_EDGE | REPEAT),
            "the wrap mode of a texture (mirrored, or clamped in one direction) was changed to repeat",
        )?;
        Ok((modes == [CLAMP_TO_EDGE; 2]).then_some(true))
    }

    fn lose_texture(&mut self, info: Option<&TextureInfo>, code: &'static str, what: &str) -> Result<()> {
        self.lose(code, info.is_some(), &format!("the {what} was dropped"))
    }

    fn lose(&mut self, code: &'static str, is_lost: bool, what: &str) -> Result<()> {
        let name = &self.material.name;
        let message = || format!("material `{}`: {what}", names::shown(name));
        self.log.lose_about(code, u64::from(is_lost), message, Some(name))
    }
}

/// Reads the materials of a document without buffers.
#[cfg(test)]
pub(crate) fn read_for_test(json: Value) -> Vec<Material> {
    tests::read(json).map(|(materials, _)| materials).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{Binary, Buffers};
    use polyhaul_model::error::ErrorKind;
    use polyhaul_model::limits::FaultPolicy;
    use polyhaul_pipeline::options::RunOptions;
    use serde_json::json;

    pub(super) fn read(json: Value) -> Result<(Vec<Material>, Vec<String>)> {
        let document: Document = serde_json::from_value(json).unwrap();
        let mut log = GltfLog::new("", FaultPolicy::default());
        let run = RunOptions::default();
        let mut none = |name: &str, _: u64| Err(malformed(format!("no file {name}")));
        let buffers = Buffers::new(&document.buffers, Binary::Missing, &mut none)?;
        let mut values = AccessorValues::new(&document, buffers, Limits::default(), &run);
        let materials = materials(&mut values, Some("x.glb"), &mut log)?;
        let warnings = log.finish()?;
        Ok((materials, warnings.counts().iter().map(|(code, count)| format!("{code} {count}")).collect()))
    }

    #[test]
    fn factors_have_the_defaults_of_the_specification() {
        let (materials, warnings) = read(json!({"materials": [{}, {"name": "a", "alphaMode": "BLEND",
            "pbrMetallicRoughness":
                {"baseColorFactor": [0.1, 0.2, 0.3, 0.4], "metallicFactor": 0, "roughnessFactor": 0.5},
            "emissiveFactor": [1, 0.5, 0], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4},
            "KHR_materials_ior": {"ior": 1.3}, "KHR_materials_clearcoat": {"clearcoatFactor": 0.7},
            "KHR_materials_sheen": {"sheenColorFactor": [0.1, 0.9, 0.2]},
            "KHR_materials_anisotropy": {"anisotropyStrength": 0.6}}}]}))
        .unwrap();
        let plain = Material {
            name: "Material_0".into(),
            diffuse: Some(Color::Rgb([1.0; 3])),
            emission: Some(Color::Rgb([0.0; 3])),
            metallic: Some(1.0),
            roughness: Some(1.0),
            alpha_blended: Some(false),
            single_sided: true,
            ..Material::default()
        };
        assert_eq!(materials[0], plain);
        let other = &materials[1];
        assert_eq!((other.opacity, other.metallic, other.roughness), (Some(0.4), Some(0.0), Some(0.5)));
        assert_eq!(other.emission, Some(Color::Rgb([4.0, 2.0, 0.0])));
        assert_eq!((other.refraction_index, other.clearcoat, other.sheen), (Some(1.3), Some(0.7), Some(0.9)));
        assert_eq!((other.clearcoat_roughness, other.anisotropy), (Some(0.0), Some(0.6)));
        assert_eq!(warnings, ["left-out-material-properties 1"]);
    }

    #[test]
    fn sheen_that_mtl_lacks_is_counted_but_filters_are_not() {
        let sheen = |color: [f32; 3], roughness: f32| {
            json!({"extensions": {"KHR_materials_sheen":
            {"sheenColorFactor": color, "sheenRoughnessFactor": roughness}}})
        };
        let (_, warnings) = read(json!({"images": [{"uri": "a.png"}], "textures": [{"source": 0, "sampler": 0},
                {"source": 0, "sampler": 1}],
            "samplers": [{"magFilter": 9728}, {"magFilter": 9729, "minFilter": 9728}],
            "materials": [sheen([0.5; 3], 0.0), sheen([0.5, 0.25, 0.5], 0.3), sheen([0.0; 3], 0.3),
                {"normalTexture": {"index": 0}}, {"normalTexture": {"index": 1}}]}))
        .unwrap();
        assert_eq!(warnings, ["left-out-material-properties 2"]);
    }

    #[test]
    fn textures_become_maps() {
        let (materials, warnings) = read(json!({"images": [{"uri": "a%20b.png"}, {"uri": "data:image/webp;base64,"}],
            "textures": [{"source": 0, "sampler": 0}, {"source": 1},
                {"extensions": {"EXT_texture_webp": {"source": 0}}}],
            "samplers": [{"wrapS": 33071, "wrapT": 33071}],
            "materials": [{"pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0},
                "baseColorTexture": {"index": 0, "extensions": {"KHR_texture_transform":
                    {"offset": [0.1, 0.25], "scale": [2, 3], "rotation": 1}}}},
                "normalTexture": {"index": 2, "scale": 0.5, "texCoord": 1}, "emissiveTexture": {"index": 1},
                "occlusionTexture": {"index": 0}}]}))
        .unwrap();
        let maps = &materials[0].maps;
        let kinds: Vec<_> = maps.iter().map(|map| (map.kind, map.channel)).collect();
        let expected = [
            (MapKind::Diffuse, None),
            (MapKind::Roughness, Some('g')),
            (MapKind::Metallic, Some('b')),
            (MapKind::Normal, None),
            (MapKind::Occlusion, Some('r')),
        ];
        assert_eq!(kinds, expected);
        assert!(maps.iter().all(|map| map.file == "a b.png"));
        assert_eq!((maps[0].offset, maps[0].scale), (Some([0.1, -2.25, 0.0]), Some([2.0, 3.0, 1.0])));
        assert_eq!((maps[0].clamp, maps[3].clamp, maps[3].bump_multiplier), (Some(true), None, Some(0.5)));
        let expected = ["left-out-images 1", "left-out-texture-coordinates 1", "left-out-texture-rotations 1"];
        assert_eq!(warnings, expected);
    }

    #[test]
    fn losses_of_a_texture_with_two_properties_are_counted_once() {
        let info = json!({"index": 0, "texCoord": 1});
        let (materials, warnings) = read(json!({"images": [{"uri": "a.png"}], "textures": [{"source": 0}, {}],
            "materials": [{"pbrMetallicRoughness": {"metallicRoughnessTexture": info}},
                {"extensions": {SPECULAR_GLOSSINESS: {"specularGlossinessTexture": info}}},
                {"pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 1}}}]}))
        .unwrap();
        assert_eq!([0, 1, 2].map(|number: usize| materials[number].maps.len()), [2, 2, 0]);
        assert_eq!(warnings, ["left-out-images 1", "left-out-texture-coordinates 2"]);
    }

    #[test]
    fn images_inside_the_file_have_names() {
        let textures: Vec<_> = (0..11).map(|source| json!({"source": source})).collect();
        let materials: Vec<_> = (0..11).map(|index| json!({"normalTexture": {"index": index}})).collect();
        let (read_materials, warnings) = read(json!({"images": [
                {"bufferView": 0, "mimeType": "image/png"}, {"bufferView": 0, "mimeType": "image/png"},
                {"bufferView": 1, "mimeType": "image/jpeg"}, {"bufferView": 2}, {"bufferView": 3, "mimeType": "image/png"},
                {"uri": "data:;base64,/9j/AAAA"}, {"uri": "data:image/jpeg,x"}, {"uri": "data:,%89PNG%0D%0A%1a%0A"},
                {"bufferView": 4, "mimeType": "image/png"},
                {"uri": "data:;base64,?"}, {"bufferView": 5}],
            "bufferViews": [{"buffer": 0, "byteLength": 4}, {"buffer": 0, "byteOffset": 1, "byteLength": 5},
                {"buffer": 1, "byteLength": 8}, {"buffer": 0, "byteOffset": u64::MAX, "byteLength": 1},
                {"buffer": 0, "byteLength": 9}, {"buffer": 2, "byteLength": 9}],
            "buffers": [{"byteLength": 9, "uri": "a"},
                {"byteLength": 8, "uri": "data:;base64,iVBORw0KGgo="}, {"byteLength": 9, "uri": "b"}],
            "textures": textures, "materials": materials}))
        .unwrap();
        let names: Vec<_> = read_materials.iter().map(|material| material.maps.first().map(|map| &*map.file)).collect();
        let expected = [
            Some("x.glb#image0.png"),
            Some("x.glb#image0.png"),
            Some("x.glb#image2.jpg"),
            Some("x.glb#image3.png"),
            None,
            Some("x.glb#image5.jpg"),
            Some("x.glb#image6.jpg"),
            Some("x.glb#image7.png"),
            // Other images use all bytes of its buffer.
            None,
            // Neither can be read.
            None,
            None,
        ];
        assert_eq!((&*names, &*warnings), (&expected[..], &["left-out-images 4"].map(str::to_owned)[..]));
    }

    #[test]
    fn transparency_is_the_alpha_of_the_same_image() {
        let (materials, _) = read(json!({"images": [{"uri": "a.png"}], "textures": [{"source": 0}], "materials": [
            {"alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]}))
        .unwrap();
        let kinds: Vec<_> = materials[0].maps.iter().map(|map| (map.kind, map.channel, &*map.file)).collect();
        assert_eq!(kinds, [(MapKind::Diffuse, None, "a.png"), (MapKind::Opacity, Some('m'), "a.png")]);
        assert_eq!(materials[0].opacity, Some(1.0));
    }

    #[test]
    fn specular_glossiness_becomes_the_parameters_of_mtl() {
        let (materials, warnings) = read(json!({"images": [{"uri": "d.png"}, {"uri": "s.png"}],
            "textures": [{"source": 0}, {"source": 1}], "materials": [{"doubleSided": true, "alphaMode": "BLEND",
            "pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}, "extensions": {SPECULAR_GLOSSINESS: {
                "diffuseFactor": [0.2, 0.4, 0.6, 0.5], "diffuseTexture": {"index": 0}, "glossinessFactor": 0.75,
                "specularFactor": [0.1, 0.2, 0.3], "specularGlossinessTexture": {"index": 1}}}},
            {"extensions": {SPECULAR_GLOSSINESS: {}}}]}))
        .unwrap();
        let material = &materials[0];
        assert_eq!(material.diffuse, Some(Color::Rgb([0.2, 0.4, 0.6])));
        assert_eq!(material.specular, Some(Color::Rgb([0.1, 0.2, 0.3])));
        assert_eq!((material.roughness, material.metallic, material.opacity), (Some(0.25), None, Some(0.5)));
        let kinds: Vec<_> = material.maps.iter().map(|map| (map.kind, map.channel, &*map.file)).collect();
        let expected = [
            (MapKind::Diffuse, None, "d.png"),
            (MapKind::Opacity, Some('m'), "d.png"),
            (MapKind::Specular, None, "s.png"),
            (MapKind::Shininess, Some('m'), "s.png"),
        ];
        assert_eq!((&*kinds, warnings.is_empty()), (&expected[..], true));
        assert_eq!((materials[1].roughness, &materials[1].specular), (Some(0.0), &Some(Color::Rgb([1.0; 3]))));
    }

    #[test]
    fn properties_of_gltf_alone_are_kept() {
        let (materials, warnings) = read(json!({"images": [{"uri": "o.png"}], "textures": [{"source": 0}],
            "materials": [{"alphaMode": "MASK", "alphaCutoff": 0.3, "extras": {"price": 4}, "extensions": {UNLIT: {}},
                "occlusionTexture": {"index": 0, "strength": 0.25}}, {"alphaMode": "MASK", "doubleSided": true}]}))
        .unwrap();
        let material = &materials[0];
        assert_eq!((material.alpha_cutoff, material.alpha_blended), (Some(0.3), None));
        assert!(material.single_sided && material.unlit && warnings.is_empty());
        assert_eq!(material.extras.as_deref(), Some("{\"price\":4}"));
        assert_eq!(material.maps[0].base_gain, Some([0.75, 0.25]));
        assert_eq!((materials[1].alpha_cutoff, materials[1].single_sided), (Some(0.5), false));
    }

    #[test]
    fn names_become_distinct() {
        let names = ["a", "a", "a.001", "a"].map(|name| json!({"name": name}));
        let (materials, _) = read(json!({"materials": names})).unwrap();
        let names: Vec<_> = materials.iter().map(|material| &*material.name).collect();
        assert_eq!(names, ["a", "a.001", "a.001.001", "a.002"]);
    }

    #[test]
    fn broken_references_are_errors() {
        let textured =
            |info: Value, textures: Value| json!({"materials": [{"normalTexture": info}], "textures": textures});
        let cases = [
            textured(json!({}), json!([])),
            textured(json!({"index": 1}), json!([{}])),
            textured(json!({"index": 0}), json!([{"source": 3}])),
            json!({"materials": [{"extensions": {"KHR_materials_ior": {"ior": "x"}}}]}),
            json!({"materials": [{"extensions": {"KHR_materials_ior": 1.5}}]}),
            json!({"images": [{"uri": "a"}], "textures": [{"source": 0, "sampler": 0}],
                "materials": [{"normalTexture": {"index": 0}}]}),
            json!({"images": [{"uri": "a"}], "textures": [{"source": 0}], "materials": [{"normalTexture": {"index": 0,
                "extensions": {"KHR_texture_transform": {"offset": [1]}}}}]}),
        ];
        for json in cases {
            let error = read(json.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{json}: {error}");
        }
        let (materials, warnings) = read(textured(json!({"index": 0}), json!([{}]))).unwrap();
        assert!(materials[0].maps.is_empty() && warnings == ["left-out-images 1"]);
    }
}
