//! Materials and their texture maps.

use crate::error::{guard, ph_status};
use crate::raw::{self, Record, handle, handle_mut, usage};
use crate::scene::{no_such, ph_scene};
use crate::text::{self, ph_string, view};
use polyhaul::Result;
use polyhaul::model::{Color, MapKind, Material, TextureMap};

/// Flags for the fields of a ph_material that are set: a combination of the `PH_HAS_` constants.
pub type ph_has = u32;

/// `ambient`
pub const PH_HAS_AMBIENT: ph_has = 1 << 0;
/// `diffuse`
pub const PH_HAS_DIFFUSE: ph_has = 1 << 1;
/// `specular`
pub const PH_HAS_SPECULAR: ph_has = 1 << 2;
/// `emission`
pub const PH_HAS_EMISSION: ph_has = 1 << 3;
/// `transmission`
pub const PH_HAS_TRANSMISSION: ph_has = 1 << 4;
/// `shininess`
pub const PH_HAS_SHININESS: ph_has = 1 << 5;
/// `refraction_index`
pub const PH_HAS_REFRACTION_INDEX: ph_has = 1 << 6;
/// `opacity`
pub const PH_HAS_OPACITY: ph_has = 1 << 7;
/// `roughness`
pub const PH_HAS_ROUGHNESS: ph_has = 1 << 8;
/// `metallic`
pub const PH_HAS_METALLIC: ph_has = 1 << 9;
/// `sheen`
pub const PH_HAS_SHEEN: ph_has = 1 << 10;
/// `clearcoat`
pub const PH_HAS_CLEARCOAT: ph_has = 1 << 11;
/// `clearcoat_roughness`
pub const PH_HAS_CLEARCOAT_ROUGHNESS: ph_has = 1 << 12;
/// `illumination`
pub const PH_HAS_ILLUMINATION: ph_has = 1 << 13;

/// The property that a texture map controls: one of the `PH_MAP_` constants.
pub type ph_map = u32;

/// Ambient color.
pub const PH_MAP_AMBIENT: ph_map = 1;
/// Diffuse color.
pub const PH_MAP_DIFFUSE: ph_map = 2;
/// Specular color.
pub const PH_MAP_SPECULAR: ph_map = 3;
/// Emitted color.
pub const PH_MAP_EMISSION: ph_map = 4;
/// Specular exponent.
pub const PH_MAP_SHININESS: ph_map = 5;
/// Opacity; white is opaque.
pub const PH_MAP_OPACITY: ph_map = 6;
/// Transparency; white is transparent.
pub const PH_MAP_TRANSPARENCY: ph_map = 7;
/// Bump map.
pub const PH_MAP_BUMP: ph_map = 8;
/// Displacement.
pub const PH_MAP_DISPLACEMENT: ph_map = 9;
/// Decal.
pub const PH_MAP_DECAL: ph_map = 10;
/// Reflection.
pub const PH_MAP_REFLECTION: ph_map = 11;
/// Roughness.
pub const PH_MAP_ROUGHNESS: ph_map = 12;
/// Metalness.
pub const PH_MAP_METALLIC: ph_map = 13;
/// Sheen.
pub const PH_MAP_SHEEN: ph_map = 14;
/// Clearcoat thickness.
pub const PH_MAP_CLEARCOAT: ph_map = 15;
/// Clearcoat roughness.
pub const PH_MAP_CLEARCOAT_ROUGHNESS: ph_map = 16;
/// Normal map.
pub const PH_MAP_NORMAL: ph_map = 17;
/// Ambient occlusion (glTF only).
pub const PH_MAP_OCCLUSION: ph_map = 18;

const KINDS: [MapKind; 18] = [
    MapKind::Ambient,
    MapKind::Diffuse,
    MapKind::Specular,
    MapKind::Emission,
    MapKind::Shininess,
    MapKind::Opacity,
    MapKind::Transparency,
    MapKind::Bump,
    MapKind::Displacement,
    MapKind::Decal,
    MapKind::Reflection,
    MapKind::Roughness,
    MapKind::Metallic,
    MapKind::Sheen,
    MapKind::Clearcoat,
    MapKind::ClearcoatRoughness,
    MapKind::Normal,
    MapKind::Occlusion,
];

/// A material, with the parameters of MTL files. Fields whose flag is not in `has` are not set.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_material {
    /// `sizeof(ph_material)`.
    pub struct_size: usize,
    /// Name.
    pub name: ph_string,
    /// Flags of the fields that are set.
    pub has: ph_has,
    /// Whether the material is used, but not defined in any material library. Such a material has only a name.
    pub missing: u32,
    /// Red, green, blue.
    pub ambient: [f32; 3],
    /// Red, green, blue.
    pub diffuse: [f32; 3],
    /// Red, green, blue.
    pub specular: [f32; 3],
    /// Red, green, blue.
    pub emission: [f32; 3],
    /// Red, green, blue of the transmitted light.
    pub transmission: [f32; 3],
    /// Specular exponent, 0 to 1000.
    pub shininess: f32,
    /// Index of refraction.
    pub refraction_index: f32,
    /// 0 is transparent, 1 is opaque.
    pub opacity: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub sheen: f32,
    /// Clearcoat thickness.
    pub clearcoat: f32,
    /// Clearcoat roughness.
    pub clearcoat_roughness: f32,
    /// Illumination model, 0 to 10.
    pub illumination: u32,
    /// Number of texture maps available from ph_scene_texture; ignored by ph_scene_add_material.
    pub texture_count: usize,
}

/// A texture map of a material.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_texture {
    /// `sizeof(ph_texture)`.
    pub struct_size: usize,
    /// Image file, as named in the material.
    pub file: ph_string,
    /// Property that the map controls.
    pub map: ph_map,
    /// Whether `offset` is set.
    pub has_offset: u32,
    /// Whether `scale` is set.
    pub has_scale: u32,
    /// Offset of u, v, w.
    pub offset: [f32; 3],
    /// Scale of u, v, w.
    pub scale: [f32; 3],
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and strings (a pointer and a size): any bytes are values.
unsafe impl Record for ph_material {
    const NAME: &'static str = "ph_material";
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and strings: any bytes are values.
unsafe impl Record for ph_texture {
    const NAME: &'static str = "ph_texture";
}

/// The flags of colors.
const COLORS: [ph_has; 5] = [PH_HAS_AMBIENT, PH_HAS_DIFFUSE, PH_HAS_SPECULAR, PH_HAS_EMISSION, PH_HAS_TRANSMISSION];

/// The flags of numbers.
const NUMBERS: [ph_has; 8] = [
    PH_HAS_SHININESS,
    PH_HAS_REFRACTION_INDEX,
    PH_HAS_OPACITY,
    PH_HAS_ROUGHNESS,
    PH_HAS_METALLIC,
    PH_HAS_SHEEN,
    PH_HAS_CLEARCOAT,
    PH_HAS_CLEARCOAT_ROUGHNESS,
];

/// Returns the fields of `c` and `m` for each color, in the order of [`COLORS`].
fn colors<'a>(c: &'a mut ph_material, m: &'a mut Material) -> [(&'a mut [f32; 3], &'a mut Option<Color>); 5] {
    [
        (&mut c.ambient, &mut m.ambient),
        (&mut c.diffuse, &mut m.diffuse),
        (&mut c.specular, &mut m.specular),
        (&mut c.emission, &mut m.emission),
        (&mut c.transmission, &mut m.transmission),
    ]
}

/// Returns the fields of `c` and `m` for each number, in the order of [`NUMBERS`].
fn numbers<'a>(c: &'a mut ph_material, m: &'a mut Material) -> [(&'a mut f32, &'a mut Option<f32>); 8] {
    [
        (&mut c.shininess, &mut m.shininess),
        (&mut c.refraction_index, &mut m.refraction_index),
        (&mut c.opacity, &mut m.opacity),
        (&mut c.roughness, &mut m.roughness),
        (&mut c.metallic, &mut m.metallic),
        (&mut c.sheen, &mut m.sheen),
        (&mut c.clearcoat, &mut m.clearcoat),
        (&mut c.clearcoat_roughness, &mut m.clearcoat_roughness),
    ]
}

/// Converts a material for C. Colors other than RGB, such as spectra, are omitted.
fn lend(material: &Material) -> ph_material {
    // SAFETY: `ph_material` is a `Record`, for which all zeros are a value.
    let mut lent: ph_material = unsafe { std::mem::zeroed() };
    let mut copy = Material { name: String::new(), maps: Vec::new(), other: Vec::new(), ..material.clone() };
    let mut has = 0;
    for (bit, (to, from)) in COLORS.into_iter().zip(colors(&mut lent, &mut copy)) {
        if let Some(Color::Rgb(color)) = from {
            *to = *color;
            has |= bit;
        }
    }
    for (bit, (to, from)) in NUMBERS.into_iter().zip(numbers(&mut lent, &mut copy)) {
        if let Some(number) = from {
            *to = *number;
            has |= bit;
        }
    }
    if let Some(illumination) = material.illumination {
        lent.illumination = illumination;
        has |= PH_HAS_ILLUMINATION;
    }
    let struct_size = size_of::<ph_material>();
    let name = view(&material.name);
    let texture_count = material.maps.len();
    let missing = material.missing.into();
    ph_material { struct_size, name, has, missing, texture_count, ..lent }
}

/// Converts the caller's material.
///
/// # Safety
/// `given.name` is valid for its size, or null with a size of 0.
unsafe fn owned(mut given: ph_material) -> Result<Material> {
    // SAFETY: `given.name` is valid for its size by this function's contract.
    let name = unsafe { text::owned(given.name, "the name of a material") }?;
    let mut material = Material { name, ..Material::default() };
    let has = given.has;
    for (bit, (from, to)) in COLORS.into_iter().zip(colors(&mut given, &mut material)) {
        *to = (has & bit != 0).then_some(Color::Rgb(*from));
    }
    for (bit, (from, to)) in NUMBERS.into_iter().zip(numbers(&mut given, &mut material)) {
        *to = (has & bit != 0).then_some(*from);
    }
    material.illumination = (has & PH_HAS_ILLUMINATION != 0).then_some(given.illumination);
    material.missing = given.missing != 0;
    Ok(material)
}

/// Returns a material. `index` must be less than `material_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_material(
    scene: Option<&ph_scene>,
    index: usize,
    material: *mut ph_material,
) -> ph_status {
    guard(|| {
        let materials = &handle(scene, "the scene")?.scene.materials;
        let stored = materials.get(index).ok_or_else(|| no_such("material", index, materials.len()))?;
        // SAFETY: `material` is null, or points to `struct_size` writable bytes by the header's rules, as `put`
        // requires.
        unsafe { raw::put(material, lend(stored)) }
    })
}

/// Returns a texture map of a material. `index` must be less than `texture_count` of the material.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_texture(
    scene: Option<&ph_scene>,
    material: usize,
    index: usize,
    texture: *mut ph_texture,
) -> ph_status {
    guard(|| {
        let materials = &handle(scene, "the scene")?.scene.materials;
        let maps = &materials.get(material).ok_or_else(|| no_such("material", material, materials.len()))?.maps;
        let map = maps.get(index).ok_or_else(|| no_such("texture", index, maps.len()))?;
        let lent = ph_texture {
            struct_size: size_of::<ph_texture>(),
            file: view(&map.file),
            map: KINDS.iter().position(|&kind| kind == map.kind).map_or(0, |index| index as u32 + 1),
            has_offset: map.offset.is_some().into(),
            has_scale: map.scale.is_some().into(),
            offset: map.offset.unwrap_or_default(),
            scale: map.scale.unwrap_or([1.0; 3]),
        };
        // SAFETY: `texture` is null, or points to `struct_size` writable bytes by the header's rules, as `put`
        // requires.
        unsafe { raw::put(texture, lent) }
    })
}

/// Adds a copy of a material to a scene; its index is the previous `material_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_add_material(
    scene: Option<&mut ph_scene>,
    material: *const ph_material,
) -> ph_status {
    guard(|| {
        let materials = &mut handle_mut(scene, "the scene")?.scene.materials;
        // SAFETY: `material` is null or valid by the header's rules, and so is its name, which is copied.
        let material = unsafe { owned(raw::need(material)?) }?;
        materials.try_reserve(1)?;
        materials.push(material);
        Ok(())
    })
}

/// Adds a copy of a texture map to a material of a scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_scene_add_texture(
    scene: Option<&mut ph_scene>,
    material: usize,
    texture: *const ph_texture,
) -> ph_status {
    guard(|| {
        let materials = &mut handle_mut(scene, "the scene")?.scene.materials;
        let count = materials.len();
        let maps = &mut materials.get_mut(material).ok_or_else(|| no_such("material", material, count))?.maps;
        // SAFETY: `texture` is null, or points to `struct_size` bytes by the header's rules, as `need` requires.
        let given = unsafe { raw::need(texture) }?;
        let kind = given.map.checked_sub(1).and_then(|index| KINDS.get(index as usize));
        let map = TextureMap {
            kind: *kind.ok_or_else(|| usage(format!("{} is not a kind of map (PH_MAP_)", given.map)))?,
            // SAFETY: `file` of a valid `ph_texture` is valid for its size by the header's rules.
            file: unsafe { text::owned(given.file, "the file of a texture") }?,
            offset: (given.has_offset != 0).then_some(given.offset),
            scale: (given.has_scale != 0).then_some(given.scale),
            ..TextureMap::default()
        };
        maps.try_reserve(1)?;
        maps.push(map);
        Ok(())
    })
}
