//! Materials: the classic parameters of MTL, its PBR extensions, and texture maps with options.

use super::SourceFolder;

/// A material with the parameters of MTL, all optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Material {
    /// The name, as in `usemtl`.
    pub name: String,
    /// Whether the material is used but not defined in any library. It then has only a name, and there is a warning.
    pub missing: bool,
    /// `Ka`: ambient color.
    pub ambient: Option<Color>,
    /// `Kd`: diffuse color.
    pub diffuse: Option<Color>,
    /// `Ks`: specular color.
    pub specular: Option<Color>,
    /// `Ke`: emitted color.
    pub emission: Option<Color>,
    /// `Tf`: transmission filter.
    pub transmission: Option<Color>,
    /// `Ns`: specular exponent, 0 to 1000.
    pub shininess: Option<f32>,
    /// `Ni`: index of refraction.
    pub refraction_index: Option<f32>,
    /// `d`, or 1 - `Tr`: 1 is opaque.
    pub opacity: Option<f32>,
    /// `d -halo`: the opacity depends on the viewing angle.
    pub halo: bool,
    /// `sharpness`: sharpness of local reflections.
    pub sharpness: Option<f32>,
    /// `illum`: the illumination model.
    pub illumination: Option<Illumination>,
    /// `Pr`: roughness.
    pub roughness: Option<f32>,
    /// `Pm`: metallic.
    pub metallic: Option<f32>,
    /// `Ps`: sheen.
    pub sheen: Option<f32>,
    /// `Pc`: clearcoat thickness.
    pub clearcoat: Option<f32>,
    /// `Pcr`: clearcoat roughness.
    pub clearcoat_roughness: Option<f32>,
    /// `aniso`: anisotropy.
    pub anisotropy: Option<f32>,
    /// `anisor`: rotation of the anisotropy.
    pub anisotropy_rotation: Option<f32>,
    /// Whether alpha is blended (`true`) or ignored (`false`); `None` if the opacity decides, as in MTL. This and the
    /// next four fields are from glTF.
    pub alpha_blended: Option<bool>,
    /// Alpha cutoff: pixels with at least this alpha are opaque, and other pixels are not drawn.
    pub alpha_cutoff: Option<f32>,
    /// Whether back faces are culled.
    pub single_sided: bool,
    /// Whether the color is shown without lighting.
    pub unlit: bool,
    /// Application-specific data, as JSON.
    pub extras: Option<String>,
    /// `map_aat`: antialiasing of the textures.
    pub texture_antialiasing: Option<bool>,
    /// Texture maps, in file order; several may have the same kind.
    pub maps: Vec<TextureMap>,
    /// Unknown statements, one unchanged line each.
    pub other: Vec<String>,
    /// The folder that the material's file names are relative to: its library's or, without one, its scene's.
    pub folder: SourceFolder,
}

impl Material {
    /// Returns whether alpha is blended: as [`Material::alpha_blended`] specifies or, if it is `None`, whether the
    /// opacity is below 1 or a map controls it.
    pub fn blends(&self) -> bool {
        let is_transparent = self.opacity.is_some_and(|opacity| opacity < 1.0);
        let has_map = || self.maps.iter().any(|map| matches!(map.kind, MapKind::Opacity | MapKind::Transparency));
        self.alpha_blended.unwrap_or_else(|| is_transparent || has_map())
    }

    /// Returns the maps of a kind with their indices in [`Material::maps`], the one that applies first: a later
    /// statement of MTL replaces earlier ones.
    pub fn maps_of(&self, kind: MapKind) -> impl Iterator<Item = (usize, &TextureMap)> {
        self.maps.iter().enumerate().rev().filter(move |(_, map)| map.kind == kind)
    }
}

/// The number after `illum`. The specification defines 0 to 10.
pub type Illumination = u32;

/// The value of a color statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Color {
    /// Red, green, blue.
    Rgb([f32; 3]),
    /// CIE XYZ.
    Xyz([f32; 3]),
    /// A spectral curve file and a factor.
    Spectral {
        /// The `.rfl` file.
        file: String,
        /// Factor for the curve.
        factor: f32,
    },
}

/// The material parameter that a texture map controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapKind {
    /// `map_Ka`.
    Ambient,
    /// `map_Kd`.
    #[default]
    Diffuse,
    /// `map_Ks`.
    Specular,
    /// `map_Ke`.
    Emission,
    /// `map_Ns`.
    Shininess,
    /// `map_d`: white is opaque.
    Opacity,
    /// `map_Tr`: white is transparent.
    Transparency,
    /// `map_Bump` or `bump`.
    Bump,
    /// `disp` or `map_disp`.
    Displacement,
    /// `decal`.
    Decal,
    /// `map_refl` or `refl`.
    Reflection,
    /// `map_Pr`.
    Roughness,
    /// `map_Pm`.
    Metallic,
    /// `map_Ps`.
    Sheen,
    /// `map_Pc`.
    Clearcoat,
    /// `map_Pcr`.
    ClearcoatRoughness,
    /// `norm` or `map_Kn`.
    Normal,
    /// Ambient occlusion (glTF only). In [`TextureMap::base_gain`], the gain is the strength, and the base is 1 -
    /// strength.
    Occlusion,
}

/// A texture map and its options; `None` means unset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextureMap {
    /// The parameter that the map controls.
    pub kind: MapKind,
    /// The keyword as written in the file (`map_Bump` and `bump` are the same kind); empty for the usual keyword.
    pub keyword: String,
    /// The image file, as written in the file.
    pub file: String,
    /// `-o`: offset of u, v, w.
    pub offset: Option<[f32; 3]>,
    /// `-s`: scale of u, v, w.
    pub scale: Option<[f32; 3]>,
    /// `-t`: turbulence of u, v, w.
    pub turbulence: Option<[f32; 3]>,
    /// `-mm`: base and gain of the values.
    pub base_gain: Option<[f32; 2]>,
    /// `-bm`: bump multiplier.
    pub bump_multiplier: Option<f32>,
    /// `-boost`: sharpness of the mip levels.
    pub boost: Option<f32>,
    /// `-texres`: resolution of the texture.
    pub resolution: Option<f32>,
    /// `-blendu`: blending in the direction of u.
    pub blend_u: Option<bool>,
    /// `-blendv`: blending in the direction of v.
    pub blend_v: Option<bool>,
    /// `-clamp`: whether the texture is restricted to coordinates from 0 to 1.
    pub clamp: Option<bool>,
    /// `-cc`: color correction.
    pub color_correction: Option<bool>,
    /// `-imfchan`: the channel used (r, g, b, m, l or z).
    pub channel: Option<char>,
    /// `-type` of a reflection map (`sphere`, `cube_top`, ...).
    pub projection: Option<String>,
    /// `-colorspace` (`sRGB`, `linear`).
    pub color_space: Option<String>,
}
