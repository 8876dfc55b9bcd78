//! Formats materials as Blender does: the same statements and order, and in its dialect the same digits.
//!
//! Formats into memory, because libraries are small. `reader` can read back everything written here.

use super::MAPS;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::names;
use polyhaul_model::options::{Dialect, FormatOptions, ObjWriteOptions};
use polyhaul_model::{Color, Material, TextureMap};

/// First line of a library.
const HEADER: &[u8] = b"# polyhaul MTL File\n";

/// Formats a library with these materials.
///
/// Parameters have 6 decimals or, except in Blender's dialect, the shortest form if 6 decimals would make them 0.
/// Numbers of map options have the shortest form, except that `-bm` has 6 decimals if these are exact. The only options
/// that matter are `pbr_extensions` and the dialect. `missing` materials are skipped.
///
/// # Errors
/// [`ErrorKind::Memory`](polyhaul_model::error::ErrorKind::Memory).
pub fn write<'a>(
    materials: impl IntoIterator<Item = &'a Material>,
    options: FormatOptions<'_, ObjWriteOptions>,
) -> Result<Vec<u8>> {
    let mut writer = MtlWriter { out: HEADER.to_vec(), dialect: options.scene.dialect };
    for material in materials.into_iter().filter(|material| !material.missing) {
        // Reserve enough for the whole material, so that no allocation below can fail.
        writer.out.try_reserve(most_bytes(material)).map_err(|_| Error::memory("the material library"))?;
        writer.material(material, options.own.pbr_extensions);
    }
    Ok(writer.out)
}

/// Upper bound for the text bytes of a material: its 16 colors and numbers, its names, its maps and other statements.
fn most_bytes(material: &Material) -> usize {
    const NUMBERS: usize = 4096;
    let map = |map: &TextureMap| 1024 + map.keyword.len() + map.file.len();
    let color = |color: &Option<Color>| match color {
        Some(Color::Spectral { file, .. }) => file.len(),
        _ => 0,
    };
    let colors = [&material.ambient, &material.diffuse, &material.specular, &material.emission, &material.transmission];
    NUMBERS
        + material.name.len()
        + colors.into_iter().map(color).sum::<usize>()
        + material.maps.iter().map(map).sum::<usize>()
        + material.other.iter().map(|line| line.len() + 2).sum::<usize>()
}

struct MtlWriter {
    out: Vec<u8>,
    dialect: Dialect,
}

impl MtlWriter {
    fn material(&mut self, material: &Material, pbr: bool) {
        self.out.extend_from_slice(b"\nnewmtl ");
        self.line(&names::written(&material.name));
        self.parameters(material);
        if pbr {
            self.pbr_parameters(material);
        }
        self.color("Tf", &material.transmission);
        self.number("sharpness", material.sharpness);
        self.switch("map_aat", material.texture_antialiasing);
        for map in material.maps.iter().filter(|map| pbr || !is_pbr(map)) {
            self.map(map);
        }
        for statement in &material.other {
            self.line(statement);
        }
    }

    fn parameters(&mut self, material: &Material) {
        self.number("Ns", material.shininess);
        self.color("Ka", &material.ambient);
        self.color("Kd", &material.diffuse);
        self.color("Ks", &material.specular);
        self.color("Ke", &material.emission);
        self.number("Ni", material.refraction_index);
        self.number(if material.halo { "d -halo" } else { "d" }, material.opacity);
        if let Some(illumination) = material.illumination {
            self.line(&format!("illum {illumination}"));
        }
    }

    fn pbr_parameters(&mut self, material: &Material) {
        self.number("Pr", material.roughness);
        self.number("Pm", material.metallic);
        self.number("Ps", material.sheen);
        self.number("Pc", material.clearcoat);
        self.number("Pcr", material.clearcoat_roughness);
        self.number("aniso", material.anisotropy);
        self.number("anisor", material.anisotropy_rotation);
    }

    fn number(&mut self, keyword: &str, value: Option<f32>) {
        if let Some(value) = value {
            self.fixed(keyword, &[value]);
            self.out.push(b'\n');
        }
    }

    fn switch(&mut self, keyword: &str, value: Option<bool>) {
        if let Some(on) = value {
            self.line(&format!("{keyword} {}", on_off(on)));
        }
    }

    fn color(&mut self, keyword: &str, color: &Option<Color>) {
        match color {
            None => return,
            Some(Color::Rgb(rgb)) => self.fixed(keyword, rgb),
            Some(Color::Xyz(xyz)) => self.fixed(&format!("{keyword} xyz"), xyz),
            Some(Color::Spectral { file, factor }) => {
                self.fixed(&format!("{keyword} spectral {}", names::on_a_line(file)), &[*factor]);
            }
        }
        self.out.push(b'\n');
    }

    /// Writes a keyword and numbers with 6 decimals. In Blender's dialect, small numbers become 0.
    fn fixed(&mut self, keyword: &str, values: &[f32]) {
        self.out.extend_from_slice(keyword.as_bytes());
        for &value in values {
            self.out.push(b' ');
            // As a float, 5e-7 is less than it, so it is rounded down, too.
            let is_lost = self.dialect != Dialect::Blender && value != 0.0 && value.abs() <= 5e-7;
            let text = if is_lost { shortest(value) } else { finite(value, |value| format!("{value:.6}")) };
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes a texture map, unless its file name is empty, because it could not be read back.
    fn map(&mut self, map: &TextureMap) {
        if map.file.is_empty() {
            return;
        }
        let usual = MAPS.iter().find(|(_, kind)| *kind == map.kind).map_or("", |(keyword, _)| keyword);
        let keyword = if map.keyword.is_empty() { usual } else { &map.keyword };
        self.line(&format!("{keyword}{} {}", map_options(map), map.file));
    }

    /// Writes text, with line endings in it replaced, and then a newline.
    fn line(&mut self, text: &str) {
        self.out.extend_from_slice(names::on_a_line(text).as_bytes());
        self.out.push(b'\n');
    }
}

/// Formats the options of a map, each with a leading space. The options that Blender writes come first, in its order.
fn map_options(map: &TextureMap) -> String {
    let triple = |v: [f32; 3]| v.map(shortest).join(" ");
    let switch = |on: bool| on_off(on).to_owned();
    let options = [
        ("-o", map.offset.map(triple)),
        ("-s", map.scale.map(triple)),
        ("-bm", map.bump_multiplier.map(multiplier)),
        ("-t", map.turbulence.map(triple)),
        ("-mm", map.base_gain.map(|v| v.map(shortest).join(" "))),
        ("-boost", map.boost.map(shortest)),
        ("-texres", map.resolution.map(shortest)),
        ("-blendu", map.blend_u.map(switch)),
        ("-blendv", map.blend_v.map(switch)),
        ("-clamp", map.clamp.map(switch)),
        ("-cc", map.color_correction.map(switch)),
        ("-imfchan", map.channel.map(String::from)),
        ("-type", map.projection.clone()),
        ("-colorspace", map.color_space.clone()),
    ];
    let given = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
    given.map(|(option, value)| format!(" {option} {value}")).collect()
}

fn is_pbr(map: &TextureMap) -> bool {
    use polyhaul_model::MapKind::*;
    matches!(map.kind, Roughness | Metallic | Sheen | Clearcoat | ClearcoatRoughness | Normal)
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Formats `-bm` with 6 decimals, as Blender does, or with more if 6 decimals would change the value.
fn multiplier(value: f32) -> String {
    let fixed = format!("{value:.6}");
    if fixed.parse() == Ok(value) { fixed } else { shortest(value) }
}

/// Formats the shortest text that reads back as the same value, with an exponent where C++ writes one, as in 1e-05.
fn shortest(value: f32) -> String {
    finite(value, |value| {
        let scientific = format!("{value:e}");
        match scientific.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
            Some((digits, Ok(exponent))) if value != 0.0 && !(-4..16).contains(&exponent) => {
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", exponent.abs())
            }
            _ => value.to_string(),
        }
    })
}

/// Formats a finite value, or C's words for NaN and infinity.
fn finite(value: f32, format: impl Fn(f32) -> String) -> String {
    match value {
        v if v.is_finite() => format(v),
        v if v.is_nan() => "nan".to_owned(),
        v if v < 0.0 => "-inf".to_owned(),
        _ => "inf".to_owned(),
    }
}
