//! Converts MTL materials to metallic-roughness materials.
//!
//! | MTL | glTF |
//! | --- | --- |
//! | `Kd` | `baseColorFactor`; white if there is a `map_Kd`, as in MTL renderers, unless the material was read from
//! glTF |
//! | `map_Kd` | `baseColorTexture` |
//! | `d`, `Tr` | the alpha of `baseColorFactor`; `alphaMode` BLEND if alpha is below 1 and the material has no mode |
//! | `map_d` with the same file as `map_Kd` | `alphaMode` BLEND if the material has no mode |
//! | `Pm` | `metallicFactor` (default 0) |
//! | `Pr` | `roughnessFactor`; without `Pr`, 1 - sqrt(`Ns` / 1000), as in Blender; without either, 1 |
//! | `map_Pr`, `map_Pm` with the same file | `metallicRoughnessTexture` |
//! | `Ke`, `map_Ke` | `emissiveFactor`, `emissiveTexture`; values above 1 by KHR_materials_emissive_strength |
//! | `norm`, `map_Bump` | `normalTexture`, scaled by `-bm` |
//! | `Ni` | KHR_materials_ior |
//! | `Pc`, `Pcr` | KHR_materials_clearcoat |
//! | `Ps` | KHR_materials_sheen |
//! | `aniso`, `anisor` | KHR_materials_anisotropy |
//! | `Ks` and `Pr` without `Ns` and `Pm` | KHR_materials_pbrSpecularGlossiness, which is read back as these parameters
//! |
//! | `map_Ks`, `map_Ns` with the same file | the texture of this extension |
//! | `-o`, `-s` | KHR_texture_transform |
//! | `-clamp` | a sampler that clamps |
//!
//! Parameters that come only from glTF, such as alpha modes and occlusion maps, are written back. Images are PNG and
//! JPEG, the formats that glTF supports, embedded or referenced. [`left_out`] lists the properties and maps that are
//! not written.

use crate::document::{
    CLAMP_TO_EDGE, Extensions, GltfImage, GltfMaterial, GltfTexture, MetallicRoughness, Sampler, TextureInfo,
};
use crate::materials::{DEFAULT_CUTOFF, SPECULAR_GLOSSINESS, UNLIT};
use crate::uri::encode_name;
use polyhaul_model::error::Result;
use polyhaul_model::{Color, MapKind, Material, TextureMap};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Default index of refraction.
const DEFAULT_IOR: f32 = 1.5;

/// Images to embed in a file.
#[derive(Clone, Debug, Default)]
pub struct GltfImages {
    /// Encoded images.
    pub images: Vec<ImageData>,
    /// Index of the image for each embedded map, by the material's index and the map's index in the material.
    pub uses: HashMap<(usize, usize), usize>,
}

/// A PNG or JPEG file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageData {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Media type: `image/png` or `image/jpeg`.
    pub mime_type: &'static str,
}

/// Returns whether glTF stores maps of this kind for a material.
pub fn shows(material: &Material, kind: MapKind) -> bool {
    use MapKind::{Bump, Diffuse, Emission, Metallic, Normal, Occlusion, Opacity, Roughness, Shininess, Specular};
    match kind {
        Diffuse | Opacity | Roughness | Metallic | Normal | Bump | Emission | Occlusion => true,
        Specular | Shininess => has_specular_glossiness(material),
        _ => false,
    }
}

/// Returns whether a material has the parameters that the reader sets for specular-glossiness: `Ks` and `Pr`, but
/// neither `Pm` nor `Ns`.
fn has_specular_glossiness(material: &Material) -> bool {
    material.specular.as_ref().is_some_and(|color| rgb(color).is_some())
        && material.roughness.is_some()
        && material.metallic.is_none()
        && material.shininess.is_none()
}

/// Returns whether a material was read from glTF, where factors multiply textures.
fn has_factors(material: &Material) -> bool {
    material.alpha_blended.is_some() || material.alpha_cutoff.is_some() || has_specular_glossiness(material)
}

/// Returns the index of refraction if glTF can store it. An index of 0 means full reflection in glTF, but nothing in
/// MTL.
fn stored_ior(material: &Material) -> Option<f32> {
    material.refraction_index.filter(|&ior| ior.is_finite() && (ior >= 1.0 || ior == 0.0 && has_factors(material)))
}

/// Location of an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ImageSource {
    Embedded(usize),
    Uri(String),
}

/// A material, its index, and the embedded images.
#[derive(Clone, Copy)]
struct MaterialImages<'a> {
    material: &'a Material,
    number: usize,
    images: &'a GltfImages,
}

impl<'a> MaterialImages<'a> {
    /// Returns the map of a kind that applies, among those whose image glTF can embed or reference, and the location of
    /// the image.
    fn usable(self, kind: MapKind) -> Option<(&'a TextureMap, ImageSource)> {
        self.material.maps_of(kind).find_map(|(number, map)| match self.images.uses.get(&(self.number, number)) {
            Some(&image) => Some((map, ImageSource::Embedded(image))),
            None => is_image(&map.file).then(|| (map, ImageSource::Uri(encode_name(&map.file)))),
        })
    }

    /// Returns whether the maps of two kinds use the same image.
    fn are_same(self, first: MapKind, second: MapKind) -> bool {
        self.usable(first).zip(self.usable(second)).is_some_and(|((_, first), (_, second))| first == second)
    }
}

/// Materials of a document, with their textures, images and samplers.
#[derive(Default)]
pub(crate) struct MaterialSet {
    pub(crate) materials: Vec<GltfMaterial>,
    pub(crate) textures: Vec<GltfTexture>,
    pub(crate) images: Vec<GltfImage>,
    pub(crate) samplers: Vec<Sampler>,
    /// Extensions in use, in alphabetical order.
    pub(crate) extensions: Vec<String>,
}

/// Converts materials, which keep their indices.
pub(crate) fn convert_materials(materials: &[Material], images: &GltfImages) -> Result<MaterialSet> {
    let mut builder = MaterialBuilder::new(images);
    builder.set.materials.try_reserve_exact(materials.len())?;
    for (number, material) in materials.iter().enumerate() {
        builder.reserve()?;
        let converted = builder.material(MaterialImages { material, number, images });
        builder.set.materials.push(converted);
    }
    builder.used.sort_unstable();
    builder.used.dedup();
    let extensions = builder.used.into_iter().map(str::to_owned).collect();
    Ok(MaterialSet { extensions, ..builder.set })
}

/// Maximum number of textures and of extensions that one material adds.
const MAX_TEXTURES: usize = 8;
const MAX_EXTENSIONS: usize = 24;

struct MaterialBuilder<'a> {
    embedded: &'a GltfImages,
    set: MaterialSet,
    /// Extensions in use, possibly listed more than once.
    used: Vec<&'static str>,
    images: HashMap<ImageSource, usize>,
    /// Texture indices, by image and by whether they clamp.
    textures: HashMap<(usize, bool), usize>,
}

impl GltfMaterial {
    /// Returns a copy of the material without textures.
    pub(crate) fn without_textures(&self) -> GltfMaterial {
        let pbr = self.pbr_metallic_roughness.clone().map(|pbr| MetallicRoughness {
            base_color_texture: None,
            metallic_roughness_texture: None,
            ..pbr
        });
        let mut extensions = self.extensions.clone();
        if let Some(Value::Object(fields)) = extensions.get_mut(SPECULAR_GLOSSINESS) {
            fields.retain(|name, _| !name.ends_with("Texture"));
        }
        GltfMaterial {
            pbr_metallic_roughness: pbr,
            normal_texture: None,
            occlusion_texture: None,
            emissive_texture: None,
            extensions,
            ..self.clone()
        }
    }
}

impl<'a> MaterialBuilder<'a> {
    fn new(embedded: &'a GltfImages) -> MaterialBuilder<'a> {
        MaterialBuilder {
            embedded,
            set: MaterialSet::default(),
            used: Vec::new(),
            images: HashMap::new(),
            textures: HashMap::new(),
        }
    }

    fn material(&mut self, source: MaterialImages<'_>) -> GltfMaterial {
        let material = source.material;
        let map = |kind: MapKind| source.usable(kind);
        let base = map(MapKind::Diffuse);
        let [red, green, blue] = match &base {
            // MTL renderers ignore `Kd` if there is a map; glTF multiplies them.
            Some(_) if !has_factors(material) => [1.0; 3],
            _ => material.diffuse.as_ref().and_then(rgb).unwrap_or([1.0; 3]).map(unit_interval),
        };
        let opacity = unit_interval(material.opacity.unwrap_or(1.0));
        // glTF reads alpha only from the base color texture, so both maps must be the same image.
        let is_cut = source.are_same(MapKind::Opacity, MapKind::Diffuse);
        // glTF has a single texture for roughness and metalness.
        let metallic_map = map(MapKind::Roughness).filter(|_| source.are_same(MapKind::Roughness, MapKind::Metallic));
        let by_shininess = material.shininess.map(|exponent| 1.0 - (exponent.clamp(0.0, 1000.0) / 1000.0).sqrt());
        let roughness = unit_interval(material.roughness.or(by_shininess).unwrap_or(1.0));
        let metallic = unit_interval(material.metallic.unwrap_or(0.0));
        let has_own = metallic_map.is_none() || has_factors(material);
        // As for `Kd`, a map replaces the numbers of MTL, but glTF would multiply them.
        let factor = if has_own { [metallic, roughness] } else { [1.0; 2] };
        let pbr = MetallicRoughness {
            base_color_factor: Some([red, green, blue, opacity]).filter(|&factor| factor != [1.0; 4]),
            base_color_texture: base.map(|(map, source)| self.texture(map, source)),
            metallic_factor: Some(factor[0]).filter(|&factor| factor != 1.0),
            roughness_factor: Some(factor[1]).filter(|&factor| factor != 1.0),
            metallic_roughness_texture: metallic_map.map(|(map, source)| self.texture(map, source)),
        };
        let normal_map = map(MapKind::Normal).or_else(|| map(MapKind::Bump));
        let mut converted = GltfMaterial {
            name: Some(material.name.clone()).filter(|name| !name.is_empty()),
            pbr_metallic_roughness: Some(pbr),
            normal_texture: normal_map.map(|(map, source)| TextureInfo {
                scale: map.bump_multiplier.filter(|&scale| scale != 1.0 && scale.is_finite()),
                ..self.texture(map, source)
            }),
            emissive_texture: map(MapKind::Emission).map(|(map, source)| self.texture(map, source)),
            occlusion_texture: map(MapKind::Occlusion).map(|(map, source)| TextureInfo {
                strength: map.base_gain.map(|[_, gain]| gain).filter(|&gain| gain != 1.0 && gain.is_finite()),
                ..self.texture(map, source)
            }),
            alpha_mode: alpha_mode(material, opacity < 1.0 || is_cut).map(str::to_owned),
            // JSON has no infinity; any cutoff above 1 hides everything.
            alpha_cutoff: material
                .alpha_cutoff
                .filter(|&cutoff| cutoff != DEFAULT_CUTOFF && cutoff >= 0.0)
                .map(|cutoff| cutoff.min(f32::MAX)),
            double_sided: !material.single_sided,
            extras: material.extras.as_deref().and_then(|extras| serde_json::from_str(extras).ok()),
            ..GltfMaterial::default()
        };
        self.emission(material, &mut converted);
        self.extensions(material, &mut converted.extensions);
        self.specular_glossiness(source, &mut converted);
        converted
    }

    /// Writes the specular-glossiness model in addition to the core model, for readers that support it.
    fn specular_glossiness(&mut self, source: MaterialImages<'_>, converted: &mut GltfMaterial) {
        let material = source.material;
        let Some(specular) = material.specular.as_ref().and_then(rgb).filter(|_| has_specular_glossiness(material))
        else {
            return;
        };
        let pbr = converted.pbr_metallic_roughness.clone().unwrap_or_default();
        let glossiness = 1.0 - unit_interval(material.roughness.unwrap_or(1.0));
        let mut value = json!({
            "diffuseFactor": pbr.base_color_factor.unwrap_or([1.0; 4]).map(short),
            "specularFactor": specular.map(unit_interval).map(short),
            "glossinessFactor": short(glossiness),
        });
        let map = source.usable(MapKind::Specular).filter(|_| source.are_same(MapKind::Specular, MapKind::Shininess));
        let textures = [
            ("diffuseTexture", pbr.base_color_texture),
            ("specularGlossinessTexture", map.map(|(map, source)| self.texture(map, source))),
        ];
        for (name, info) in textures {
            if let Some(info) = info.and_then(|info| serde_json::to_value(info).ok()) {
                value[name] = info;
            }
        }
        self.extend(&mut converted.extensions, SPECULAR_GLOSSINESS, value);
    }

    fn emission(&mut self, material: &Material, converted: &mut GltfMaterial) {
        // Factors are limited to 1; the extension stores the excess.
        let missing = if converted.emissive_texture.is_some() { [1.0; 3] } else { [0.0; 3] };
        let color = material.emission.as_ref().and_then(rgb).map(|color| color.map(|part| part.max(0.0)));
        // A black factor hides the texture, which only a material from glTF can mean.
        let is_meant = |color: &[f32; 3]| *color != [0.0; 3] || has_factors(material);
        let color = color.filter(|color| is_meant(color) && are_finite(color)).unwrap_or(missing);
        // At least 1, so that colors within the range are not scaled.
        let strength = color.into_iter().fold(1.0, f32::max);
        converted.emissive_factor = Some(color.map(|part| part / strength)).filter(|factor| *factor != [0.0; 3]);
        if strength > 1.0 {
            self.extend(
                &mut converted.extensions,
                "KHR_materials_emissive_strength",
                json!({"emissiveStrength": short(strength)}),
            );
        }
    }

    fn extensions(&mut self, material: &Material, extensions: &mut Extensions) {
        if material.unlit {
            self.extend(extensions, UNLIT, json!({}));
        }
        if let Some(ior) = stored_ior(material).filter(|&ior| ior != DEFAULT_IOR) {
            self.extend(extensions, "KHR_materials_ior", json!({"ior": short(ior)}));
        }
        if let Some(factor) = material.clearcoat.map(unit_interval).filter(|&factor| factor > 0.0) {
            let roughness = unit_interval(material.clearcoat_roughness.unwrap_or(0.0));
            let value = json!({"clearcoatFactor": short(factor), "clearcoatRoughnessFactor": short(roughness)});
            self.extend(extensions, "KHR_materials_clearcoat", value);
        }
        if let Some(sheen) = material.sheen.map(unit_interval).filter(|&factor| factor > 0.0) {
            self.extend(extensions, "KHR_materials_sheen", json!({"sheenColorFactor": vec![short(sheen); 3]}));
        }
        if let Some(strength) = material.anisotropy.map(unit_interval).filter(|&strength| strength > 0.0) {
            let rotation = material.anisotropy_rotation.map(|turns| turns * std::f32::consts::TAU);
            let rotation = rotation.filter(|rotation| rotation.is_finite()).unwrap_or(0.0);
            let value = json!({"anisotropyStrength": short(strength), "anisotropyRotation": short(rotation)});
            self.extend(extensions, "KHR_materials_anisotropy", value);
        }
    }

    /// Reserves capacity for one more material.
    fn reserve(&mut self) -> Result<()> {
        // Reserved before a material is converted, because its textures are added in code that cannot report a failed
        // allocation.
        self.used.try_reserve(MAX_EXTENSIONS)?;
        self.set.images.try_reserve(MAX_TEXTURES)?;
        self.set.textures.try_reserve(MAX_TEXTURES)?;
        self.images.try_reserve(MAX_TEXTURES)?;
        self.textures.try_reserve(MAX_TEXTURES)?;
        Ok(())
    }

    fn extend(&mut self, extensions: &mut Extensions, name: &'static str, value: serde_json::Value) {
        extensions.insert(name.into(), value);
        self.used.push(name);
    }

    /// Returns a reference to the texture of a map.
    fn texture(&mut self, map: &TextureMap, source: ImageSource) -> TextureInfo {
        let next = self.set.images.len();
        let image = *self.images.entry(source.clone()).or_insert(next);
        if image == next {
            // For an embedded image, the index of the image is stored in place of its view until `views` adds the view.
            self.set.images.push(match source {
                ImageSource::Uri(uri) => GltfImage { uri: Some(uri), ..GltfImage::default() },
                ImageSource::Embedded(number) => {
                    let mime_type = Some(self.embedded.images[number].mime_type.to_owned());
                    GltfImage { buffer_view: Some(number), mime_type, ..GltfImage::default() }
                }
            });
        }
        let clamps = map.clamp == Some(true);
        let next = self.set.textures.len();
        let index = *self.textures.entry((image, clamps)).or_insert(next);
        if index == next {
            let sampler = clamps.then(|| self.sampler());
            self.set.textures.push(GltfTexture { sampler, source: Some(image), ..GltfTexture::default() });
        }
        let mut info = TextureInfo { index: Some(index), ..TextureInfo::default() };
        if let Some([offset, scale]) = uv_transform(map).filter(|transform| *transform != [[0.0; 2], [1.0; 2]]) {
            let value = json!({"offset": offset.map(short), "scale": scale.map(short)});
            self.extend(&mut info.extensions, "KHR_texture_transform", value);
        }
        info
    }

    fn sampler(&mut self) -> usize {
        if self.set.samplers.is_empty() {
            self.set.samplers.push(Sampler {
                wrap_s: Some(CLAMP_TO_EDGE),
                wrap_t: Some(CLAMP_TO_EDGE),
                ..Sampler::default()
            });
        }
        0
    }
}

/// Returns the offset and the scale of a map in glTF. Returns `None` if a number is not finite: JSON cannot store it.
fn uv_transform(map: &TextureMap) -> Option<[[f32; 2]; 2]> {
    let [u, v] = map.offset.map_or([0.0; 2], |[u, v, _]| [u, v]);
    let [scale_u, scale_v] = map.scale.map_or([1.0; 2], |[u, v, _]| [u, v]);
    // The UV origin is the lower left corner of an image in MTL and the upper left corner in glTF: v becomes 1 - v.
    let transform = [[u, 1.0 - scale_v - v], [scale_u, scale_v]];
    are_finite(transform.as_flattened()).then_some(transform)
}

/// Returns the alpha mode, unless it is OPAQUE. If the material has no mode, `is_seen_through` decides.
fn alpha_mode(material: &Material, is_seen_through: bool) -> Option<&'static str> {
    match (material.alpha_cutoff, material.alpha_blended) {
        (Some(_), _) => Some("MASK"),
        (None, is_blended) => is_blended.unwrap_or(is_seen_through).then_some("BLEND"),
    }
}

/// Returns whether glTF supports images with the extension of this file.
fn is_image(file: &str) -> bool {
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| ["png", "jpg", "jpeg"].contains(&&*extension))
}

fn rgb(color: &Color) -> Option<[f32; 3]> {
    match color {
        Color::Rgb(color) => Some(*color),
        _ => None,
    }
}

fn are_finite(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite())
}

fn unit_interval(value: f32) -> f32 {
    if value.is_nan() { 1.0 } else { value.clamp(0.0, 1.0) }
}

/// Converts to the `f64` with the same shortest decimal form, so that the JSON has `0.1` instead of
/// `0.10000000149011612`.
fn short(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Lists the material properties and the texture maps that glTF cannot store.
pub(crate) fn left_out(materials: &[Material], images: &GltfImages) -> [Vec<String>; 2] {
    let mut maps = Vec::new();
    for (number, material) in materials.iter().enumerate() {
        let source = MaterialImages { material, number, images };
        let is_used = |map: &TextureMap| source.usable(map.kind).is_some_and(|(used, _)| std::ptr::eq(used, map));
        let is_stored = |map: &&TextureMap| is_used(map) && has_property(source, map.kind);
        let lost = material.maps.iter().filter(|map| !is_stored(map));
        let described = |map: &TextureMap| {
            let kind = format!("{:?}", map.kind).to_lowercase();
            format!("{kind} map {} of {}", map.file, material.name)
        };
        maps.extend(lost.map(described));
    }
    [materials.iter().flat_map(left_out_properties).collect(), maps]
}

/// Lists the properties of a material that glTF cannot store, by their MTL statements.
fn left_out_properties(material: &Material) -> Vec<String> {
    let is_seen = |color: &Option<Color>| color.as_ref().is_some_and(|color| rgb(color) != Some([0.0; 3]));
    let is_spectral = |color: &Option<Color>| color.as_ref().is_some_and(|color| rgb(color).is_none());
    let is_infinite = |color: [f32; 3]| color.contains(&f32::INFINITY);
    let is_invalid = |extras: &str| serde_json::from_str::<Value>(extras).is_err();
    let properties = [
        ("Ke", material.emission.as_ref().and_then(rgb).is_some_and(is_infinite)),
        // An index of 0 means nothing in MTL, so nothing is lost.
        ("Ni", material.refraction_index.is_some_and(|ior| ior != 0.0) && stored_ior(material).is_none()),
        ("Ks", is_seen(&material.specular) && !has_specular_glossiness(material)),
        ("Tf", is_seen(&material.transmission)),
        ("Kd spectral", is_spectral(&material.diffuse)),
        ("Ke spectral", is_spectral(&material.emission)),
        ("d -halo", material.halo),
        ("sharpness", material.sharpness.is_some()),
        ("extras (invalid JSON)", material.extras.as_deref().is_some_and(is_invalid)),
    ];
    let lost = properties.into_iter().filter(|(_, is_lost)| *is_lost).map(|(property, _)| property);
    let others = material.other.iter().map(|other| other.split_whitespace().next().unwrap_or_default());
    let placements = material.maps.iter().filter(|map| uv_transform(map).is_none()).map(|_| "-o and -s");
    lost.chain(placements).chain(others).map(|property| format!("{property} of {}", material.name)).collect()
}

/// Returns whether glTF has a property for a map whose image can be used.
fn has_property(source: MaterialImages<'_>, kind: MapKind) -> bool {
    match kind {
        MapKind::Diffuse | MapKind::Emission | MapKind::Normal | MapKind::Occlusion => true,
        MapKind::Specular | MapKind::Shininess => {
            has_specular_glossiness(source.material) && source.are_same(MapKind::Specular, MapKind::Shininess)
        }
        MapKind::Bump => source.usable(MapKind::Normal).is_none(),
        MapKind::Opacity => source.are_same(MapKind::Opacity, MapKind::Diffuse),
        MapKind::Roughness | MapKind::Metallic => source.are_same(MapKind::Roughness, MapKind::Metallic),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(kind: MapKind, file: &str) -> TextureMap {
        TextureMap { kind, file: file.into(), ..TextureMap::default() }
    }

    #[test]
    fn mtl_becomes_metallic_roughness() {
        let material = Material {
            name: "steel".into(),
            diffuse: Some(Color::Rgb([0.5, 0.25, 0.125])),
            emission: Some(Color::Rgb([4.0, 2.0, 0.0])),
            opacity: Some(0.5),
            shininess: Some(250.0),
            refraction_index: Some(1.45),
            maps: vec![map(MapKind::Bump, "a b.png"), map(MapKind::Specular, "s.png"), map(MapKind::Opacity, "o.tga")],
            ..Material::default()
        };
        let set = convert_materials(std::slice::from_ref(&material), &GltfImages::default()).unwrap();
        let converted = &set.materials[0];
        let pbr = converted.pbr_metallic_roughness.as_ref().unwrap();
        assert_eq!(pbr.base_color_factor, Some([0.5, 0.25, 0.125, 0.5]));
        assert_eq!((pbr.metallic_factor, pbr.roughness_factor), (Some(0.0), Some(0.5)));
        assert_eq!(
            (converted.emissive_factor, converted.alpha_mode.as_deref()),
            (Some([1.0, 0.5, 0.0]), Some("BLEND"))
        );
        assert_eq!(set.images[0].uri.as_deref(), Some("a%20b.png"));
        assert_eq!(set.extensions, ["KHR_materials_emissive_strength", "KHR_materials_ior"]);
        assert_eq!(left_out(&[material], &GltfImages::default()).map(|lost| lost.len()), [0, 2]);
    }

    #[test]
    fn infinite_numbers_are_left_out_and_counted() {
        let infinite = TextureMap { offset: Some([f32::INFINITY, 0.0, 0.0]), ..map(MapKind::Diffuse, "a.png") };
        let material = Material {
            emission: Some(Color::Rgb([f32::INFINITY, 0.5, 0.0])),
            refraction_index: Some(f32::INFINITY),
            anisotropy: Some(0.5),
            anisotropy_rotation: Some(f32::MAX),
            alpha_cutoff: Some(f32::INFINITY),
            maps: vec![infinite],
            ..Material::default()
        };
        let set = convert_materials(std::slice::from_ref(&material), &GltfImages::default()).unwrap();
        let text = serde_json::to_string(&set.materials).unwrap();
        assert!(!text.contains("null"), "{text}");
        assert_eq!(left_out(&[material], &GltfImages::default()).map(|lost| lost.len()), [3, 0]);
    }

    /// Reads the materials of a document and converts them back.
    fn again(json: serde_json::Value) -> (serde_json::Value, [usize; 2]) {
        let read = crate::materials::read_for_test(json);
        let left_out = left_out(&read, &GltfImages::default()).map(|lost| lost.len());
        let set = convert_materials(&read, &GltfImages::default()).unwrap();
        (serde_json::to_value(&set.materials).unwrap(), left_out)
    }

    #[test]
    fn materials_of_gltf_stay_what_they_are() {
        let materials = json!([
            {"name": "a", "alphaMode": "MASK", "alphaCutoff": 0.25, "extras": {"id": [1]},
                "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 1.0, 0.75], "baseColorTexture": {"index": 0},
                    "metallicFactor": 0.5, "roughnessFactor": 0.25, "metallicRoughnessTexture": {"index": 1}},
                "occlusionTexture": {"index": 1, "strength": 0.5}},
            {"name": "b", "alphaMode": "BLEND", "doubleSided": true, "extensions": {"KHR_materials_unlit": {}},
                "pbrMetallicRoughness": {}},
            {"name": "c", "doubleSided": true, "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}},
            {"name": "d", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0.125, 1.0],
                    "baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.25},
                "extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0.5, 0.25, 0.125, 1.0],
                    "diffuseTexture": {"index": 0}, "specularFactor": [0.5, 0.0, 1.0], "glossinessFactor": 0.75,
                    "specularGlossinessTexture": {"index": 1}}}},
        ]);
        let document = json!({"images": [{"uri": "a.png"}, {"uri": "b.png"}],
            "textures": [{"source": 0}, {"source": 1}], "materials": materials});
        assert_eq!(again(document), (materials, [0, 0]));
    }

    #[test]
    fn black_emission_and_full_reflection_of_gltf_stay() {
        let materials = json!([{"name": "a", "pbrMetallicRoughness": {}, "emissiveTexture": {"index": 0},
            "extensions": {"KHR_materials_ior": {"ior": 0.0}}}]);
        let document = json!({"images": [{"uri": "a.png"}], "textures": [{"source": 0}], "materials": materials});
        let (written, left_out) = again(document);
        assert_eq!((&written[0]["emissiveFactor"], left_out), (&serde_json::Value::Null, [0, 0]));
        assert_eq!(written[0]["extensions"]["KHR_materials_ior"]["ior"], 0.0);
    }

    #[test]
    fn indices_of_refraction_below_1_are_left_out_and_counted() {
        let material = |index: f32| Material { refraction_index: Some(index), ..Material::default() };
        let materials = [0.0, 0.5, f32::NAN, 1.0, DEFAULT_IOR].map(material);
        // 0 means nothing.
        assert_eq!(left_out(&materials, &GltfImages::default()).map(|lost| lost.len()), [2, 0]);
    }

    #[test]
    fn extras_that_are_not_json_are_left_out_and_counted() {
        let material = |extras: &str| Material { extras: Some(extras.into()), ..Material::default() };
        let materials = ["{\"id\":1}", "{id:1}"].map(material);
        assert_eq!(left_out(&materials, &GltfImages::default()).map(|lost| lost.len()), [1, 0]);
    }

    #[test]
    fn textures_are_shared_and_transformed() {
        let clamped = TextureMap {
            clamp: Some(true),
            offset: Some([0.25, 0.5, 0.0]),
            scale: Some([2.0, 4.0, 1.0]),
            ..map(MapKind::Emission, "c.jpg")
        };
        let maps = vec![map(MapKind::Diffuse, "c.jpg"), map(MapKind::Opacity, "c.jpg"), clamped];
        let set = convert_materials(&[Material { maps, ..Material::default() }], &GltfImages::default()).unwrap();
        let converted = &set.materials[0];
        assert_eq!((set.images.len(), set.textures.len(), set.samplers.len()), (1, 2, 1));
        assert_eq!(converted.alpha_mode.as_deref(), Some("BLEND"));
        let transform = &converted.emissive_texture.as_ref().unwrap().extensions["KHR_texture_transform"];
        assert_eq!(*transform, json!({"offset": [0.25, -3.5], "scale": [2.0, 4.0]}));
    }
}
