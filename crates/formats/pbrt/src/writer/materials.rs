//! Converts MTL materials to pbrt-v4 materials.
//!
//! - `d` below 1 with a refractive model (an `illum` of 4, 6, 7 or 9, or no `illum` and an `Ni` above 1): `dielectric`,
//!   with `Ni` as `eta` (1.5 by default) and the roughness.
//! - Metallic (`Pm` of at least 0.5), or a black `Kd` without a map and a `Ks` other than black: `conductor`, whose
//!   `reflectance` is `Kd` or `Ks`.
//! - A `Ks` other than black, or a clearcoat: `coateddiffuse`, with `Kd`, the roughness, and `Ni` as `eta` if above 1.
//! - Otherwise: `diffuse`.
//!
//! The roughness is `Pcr` for a coat, or else `Pr`, or else sqrt(2 / (`Ns` + 2)), the width of a microfacet
//! distribution for that exponent; it is not remapped. `map_Kd` becomes an `imagemap` that replaces the color, and
//! `map_Pr` one that replaces the roughness, unless a coat has a `Pcr`. Image maps keep `-s`, `-o`, `-clamp`, `-bm`,
//! `-mm` if its base is 0 or 1, and `-colorspace`. `map_Bump`, or else `disp`, becomes `displacement`; `norm` becomes
//! `normalmap`. Colors are linear, and reflectances are clamped to the range 0 to 1; XYZ is converted to linear sRGB,
//! and spectral curves are dropped. `Ke` makes shapes area lights; `d` and `map_d` of materials that do not refract
//! become `alpha` of the shapes. Other maps are dropped with a warning.

use crate::build::{Builder, Given, GivenValues};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::render;
use polyhaul_model::render::ParameterType;
use polyhaul_model::{Color, MapKind, Material, TextureMap};

/// Parameters that a material adds to its shapes.
#[derive(Default)]
pub(super) struct ShapeParameters {
    /// Index of the shapes' area light.
    pub(super) area_light: Option<u32>,
    /// Alpha of the shapes, unless they are opaque.
    alpha: Option<f32>,
    alpha_texture: Option<String>,
    /// MTL keywords of dropped texture maps, and the reasons, as the ends of messages.
    pub(super) dropped: Vec<(String, &'static str)>,
}

impl ShapeParameters {
    /// Returns the alpha parameter of a shape, if it needs one.
    pub(super) fn alpha(&self) -> Option<Given<'static>> {
        match (&self.alpha_texture, self.alpha) {
            (Some(name), _) => Some((ParameterType::Texture, "alpha", strings(name))),
            (None, Some(alpha)) => Some((ParameterType::Float, "alpha", GivenValues::Floats(vec![alpha]))),
            (None, None) => None,
        }
    }
}

fn strings(text: &str) -> GivenValues {
    GivenValues::Strings(vec![text.to_owned()])
}

fn float(name: &str, value: f32) -> Given<'_> {
    (ParameterType::Float, name, GivenValues::Floats(vec![value]))
}

fn rgb(name: &str, value: [f32; 3]) -> Given<'_> {
    (ParameterType::Rgb, name, GivenValues::Floats(value.to_vec()))
}

/// Converts a color to linear sRGB. Returns `None` for spectral curves.
fn linear(color: &Color) -> Option<[f32; 3]> {
    match *color {
        Color::Rgb(rgb) => Some(rgb),
        Color::Xyz([x, y, z]) => Some([
            3.240_97 * x - 1.537_383_2 * y - 0.498_610_76 * z,
            -0.969_243_6 * x + 1.875_967_5 * y + 0.041_555_06 * z,
            0.055_630_08 * x - 0.203_976_96 * y + 1.056_971_5 * z,
        ]),
        Color::Spectral { .. } => None,
    }
}

fn color_of(color: &Option<Color>) -> Option<[f32; 3]> {
    color.as_ref().and_then(linear)
}

/// Clamps a color to the range of reflectances.
fn bounded(color: [f32; 3]) -> [f32; 3] {
    color.map(|part| if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) })
}

/// Returns whether [`add`] writes a reflectance unchanged.
pub(super) fn keeps_color(color: &Color) -> bool {
    linear(color).is_some_and(|color| bounded(color) == color)
}

/// Returns whether [`add`] writes a map with all of its options.
pub(super) fn keeps_map(map: &TextureMap) -> bool {
    let TextureMap { kind, keyword, file, offset, scale, clamp, base_gain, bump_multiplier, color_space, .. } =
        map.clone();
    let keeps_place = |place: Option<[f32; 3]>, depth: f32| {
        place.is_none_or(|[u, v, w]| u.is_finite() && v.is_finite() && w == depth)
    };
    let keeps_gain =
        |[base, gain]: [f32; 2]| bump_multiplier.is_none() && (base == 0.0 || base == 1.0) && gain.is_finite();
    let keeps_values = keeps_place(offset, 0.0)
        && keeps_place(scale, 1.0)
        && base_gain.is_none_or(keeps_gain)
        && bump_multiplier.is_none_or(f32::is_finite)
        && matches!(color_space.as_deref(), None | Some("linear" | "sRGB"));
    let written = TextureMap {
        kind,
        keyword,
        file,
        offset,
        scale,
        clamp,
        base_gain,
        bump_multiplier,
        color_space,
        ..TextureMap::default()
    };
    keeps_values && *map == written
}

/// Returns the map of a kind that applies, and its index; pbrt cannot embed an image, so it must have a file name.
fn named_map(material: &Material, kind: MapKind) -> Option<(usize, &TextureMap)> {
    material.maps_of(kind).find(|(_, map)| !map.file.is_empty())
}

fn is_lit(color: Option<[f32; 3]>) -> bool {
    color.is_some_and(|color| color.iter().any(|&part| part > 0.0))
}

/// Adds a material under its name, with its textures and area light.
pub(super) fn add(builder: &mut Builder, material: &Material) -> Result<ShapeParameters> {
    let map = |kind| named_map(material, kind).map(|(_, map)| map);
    let diffuse = color_of(&material.diffuse).map(bounded);
    let specular = color_of(&material.specular).map(bounded);
    let opacity = material.opacity.filter(|opacity| *opacity < 1.0);
    let eta = material.refraction_index.filter(|eta| *eta > 1.0);
    let refracts =
        opacity.is_some() && material.illumination.map_or(eta.is_some(), |model| matches!(model, 4 | 6 | 7 | 9));
    let is_black = diffuse == Some([0.0; 3]) && map(MapKind::Diffuse).is_none();
    let is_metal = material.metallic.is_some_and(|metallic| metallic >= 0.5) || is_black && is_lit(specular);
    let is_coated = is_lit(specular) || material.clearcoat.is_some_and(|coat| coat > 0.0);
    let class = match () {
        () if refracts => "dielectric",
        () if is_metal => "conductor",
        () if is_coated => "coateddiffuse",
        () => "diffuse",
    };
    let mut given = vec![(ParameterType::String, "type", strings(class))];
    if class != "dielectric" {
        let color = if is_metal && is_black { specular } else { diffuse };
        given.push(match map(MapKind::Diffuse) {
            Some(map) => (ParameterType::Texture, "reflectance", strings(&texture(builder, material, map, true)?)),
            None => rgb("reflectance", color.unwrap_or([0.5; 3])),
        });
    }
    if class != "diffuse" {
        let coat = material.clearcoat_roughness.filter(|_| class == "coateddiffuse");
        let of_exponent = material.shininess.map(|exponent| (2.0 / (exponent.max(0.0) + 2.0)).sqrt());
        // A coat has its own roughness.
        let map = map(MapKind::Roughness).filter(|_| coat.is_none());
        if let Some(map) = map {
            let name = texture(builder, material, map, false)?;
            given.push((ParameterType::Texture, "roughness", strings(&name)));
            given.push((ParameterType::Bool, "remaproughness", GivenValues::Bools(vec![false])));
        } else if let Some(roughness) =
            coat.or(material.roughness).or(of_exponent).filter(|roughness| roughness.is_finite())
        {
            given.push(float("roughness", roughness));
            given.push((ParameterType::Bool, "remaproughness", GivenValues::Bools(vec![false])));
        }
    }
    if matches!(class, "dielectric" | "coateddiffuse") && eta.is_some_and(f32::is_finite) {
        given.push(float("eta", eta.unwrap_or(1.5)));
    }
    if let Some(map) = map(MapKind::Bump).or(map(MapKind::Displacement)) {
        let name = texture(builder, material, map, false)?;
        given.push((ParameterType::Texture, "displacement", strings(&name)));
    }
    if let Some(map) = map(MapKind::Normal) {
        given.push((ParameterType::String, "normalmap", strings(&map.file)));
    }
    let entity = builder.entity(&material.name, given)?;
    try_push(&mut builder.render.materials, render::Material { entity, is_named: true }, "materials")?;
    let mut shape_parameters = ShapeParameters::default();
    if let Some(color) =
        color_of(&material.emission).filter(|color| is_lit(Some(*color)) && color.iter().all(|c| c.is_finite()))
    {
        let light = builder.entity("diffuse", vec![rgb("L", color.map(|part| part.max(0.0)))])?;
        shape_parameters.area_light = Some(builder.render.area_lights.len() as u32);
        try_push(&mut builder.render.area_lights, light, "lights")?;
    }
    if !refracts {
        shape_parameters.alpha = opacity.map(|opacity| opacity.max(0.0));
        if let Some(map) = map(MapKind::Opacity) {
            shape_parameters.alpha_texture = Some(texture(builder, material, map, false)?);
        }
    }
    shape_parameters.dropped = dropped(material, class);
    Ok(shape_parameters)
}

/// Returns the keywords of maps that a material of this class does not use, and the reasons.
fn dropped(material: &Material, class: &str) -> Vec<(String, &'static str)> {
    use MapKind::{Bump, Diffuse, Displacement, Normal, Opacity, Roughness};
    let has_bump = named_map(material, Bump).is_some();
    let has_coat = class == "coateddiffuse" && material.clearcoat_roughness.is_some();
    let reason = |at: usize, map: &TextureMap| {
        let is_repeated = named_map(material, map.kind).is_some_and(|(used, _)| used != at);
        match map.kind {
            Diffuse | Opacity if class == "dielectric" => Some(", which dielectric materials cannot use"),
            Roughness if class == "diffuse" => Some(", which diffuse materials cannot use"),
            Roughness if has_coat => Some(": `Pcr` sets the roughness"),
            Displacement if has_bump => Some(": the bump map is already written as `displacement`"),
            Diffuse | Opacity | Roughness | Displacement | Bump | Normal => {
                is_repeated.then_some(": only the last map of a kind is used")
            }
            _ => Some(", which pbrt materials cannot use"),
        }
    };
    let maps = material.maps.iter().enumerate().filter(|(_, map)| !map.file.is_empty());
    maps.filter_map(|(at, map)| Some((keyword(map), reason(at, map)?))).collect()
}

/// Returns the MTL keyword of a map.
fn keyword(map: &TextureMap) -> String {
    if map.keyword.is_empty() { format!("{:?}", map.kind).to_lowercase() } else { map.keyword.clone() }
}

/// Adds an image texture; returns its name.
fn texture(builder: &mut Builder, material: &Material, map: &TextureMap, is_spectrum: bool) -> Result<String> {
    // The number of textures makes the name unique.
    let name = format!("{}:{}", material.name, builder.render.textures.len());
    let mut given = vec![(ParameterType::String, "filename", strings(&map.file))];
    for (values, names) in [(map.scale, ["uscale", "vscale"]), (map.offset, ["udelta", "vdelta"])] {
        if let Some([u, v, _]) = values.filter(|values| values.iter().all(|value| value.is_finite())) {
            given.extend([float(names[0], u), float(names[1], v)]);
        }
    }
    if map.clamp == Some(true) {
        given.push((ParameterType::String, "wrap", strings("clamp")));
    }
    if let Some(scale) = map.bump_multiplier.filter(|scale| scale.is_finite()) {
        given.push(float("scale", scale));
    } else if let Some([base, gain]) = map.base_gain.filter(|values| values.iter().all(|value| value.is_finite())) {
        match base {
            0.0 => given.push(float("scale", gain)),
            1.0 => {
                // `invert` is 1 minus the scaled value: 1 + gain * v is 1 - (-gain) * v.
                given.push(float("scale", -gain));
                given.push((ParameterType::Bool, "invert", GivenValues::Bools(vec![true])));
            }
            _ => {}
        }
    }
    if let Some(encoding @ ("linear" | "sRGB")) = map.color_space.as_deref() {
        given.push((ParameterType::String, "encoding", strings(encoding)));
    }
    let entity = builder.entity(&name, given)?;
    let class = builder.name("imagemap")?;
    let texture = render::Texture { entity, class, is_spectrum };
    try_push(&mut builder.render.textures, texture, "textures")?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_outside_the_range_and_spectral_ones_are_not_kept() {
        assert!(keeps_color(&Color::Rgb([0.0, 0.5, 1.0])));
        for color in [[1.5, 0.0, 0.0], [-0.1, 0.0, 0.0], [f32::NAN, 0.0, 0.0]] {
            assert!(!keeps_color(&Color::Rgb(color)), "{color:?}");
        }
        assert!(!keeps_color(&Color::Spectral { file: "gold.rfl".into(), factor: 1.0 }));
    }

    #[test]
    fn maps_with_options_that_pbrt_lacks_are_not_kept() {
        let plain = TextureMap { kind: MapKind::Diffuse, file: "a.png".into(), ..TextureMap::default() };
        let written = TextureMap {
            offset: Some([0.5, 0.25, 0.0]),
            scale: Some([2.0, 2.0, 1.0]),
            base_gain: Some([1.0, -1.0]),
            clamp: Some(true),
            color_space: Some("sRGB".into()),
            ..plain.clone()
        };
        assert!(keeps_map(&plain) && keeps_map(&written));
        for lost in [
            TextureMap { turbulence: Some([0.1; 3]), ..plain.clone() },
            TextureMap { channel: Some('r'), ..plain.clone() },
            TextureMap { base_gain: Some([0.5, 1.0]), ..plain.clone() },
            TextureMap { base_gain: Some([0.0, 2.0]), bump_multiplier: Some(1.0), ..plain.clone() },
            TextureMap { offset: Some([0.0, 0.0, 1.0]), ..plain.clone() },
            TextureMap { scale: Some([f32::INFINITY, 1.0, 1.0]), ..plain.clone() },
            TextureMap { color_space: Some("ACEScg".into()), ..plain.clone() },
        ] {
            assert!(!keeps_map(&lost), "{lost:?}");
        }
    }
}
