//! Textures of a scene: comments with their names, and the texture number of each face.
//!
//! PLY stores only the diffuse map of a material that applies; everything else is dropped with a warning.

use super::scene::{PlyJob, PlySpan};
use crate::textures::{material_name, plain_name, texture_comment};
use polyhaul_geometry::losses::LeftOut;
use polyhaul_geometry::parts::{each_material, used_materials};
use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::{Color, MapKind, Material, TextureMap, Values, names};

/// Textures of the faces.
#[derive(Default)]
pub(super) struct PlyTextures {
    /// Comments of the file, including one per texture.
    pub(super) comments: Vec<String>,
    /// Texture numbers of the faces of each span, -1 for no texture; empty if all faces use the first texture.
    pub(super) numbers: Vec<Values>,
    /// Per material, whether the file stores its texture.
    is_stored: Vec<bool>,
}

/// Returns the map of a material that PLY can store, if any.
fn diffuse_map(material: &Material) -> Option<&TextureMap> {
    let (_, map) = material.maps_of(MapKind::Diffuse).next()?;
    let file = &*map.file;
    // The reader drops quotes and blanks around a name.
    let is_kept = !file.is_empty() && plain_name(file) == file && names::remark(file) == file;
    is_kept.then_some(map)
}

impl PlyTextures {
    pub(super) fn new(job: &PlyJob<'_>, spans: &[PlySpan]) -> Result<PlyTextures> {
        let mut textures = PlyTextures::default();
        if job.materials.is_empty() {
            return Ok(textures);
        }
        let mut files: Vec<&str> = Vec::new();
        let mut number_of = Vec::new();
        for (material, is_used) in job.materials.iter().zip(used_materials(job.parts, job.materials.len())?) {
            let map = diffuse_map(material).filter(|_| is_used);
            try_push(&mut textures.is_stored, map.is_some(), "materials")?;
            let number = map.map_or(Ok(-1), |map| number_of_file(&mut files, &map.file))?;
            try_push(&mut number_of, number, "materials")?;
        }
        if files.is_empty() {
            return Ok(textures);
        }
        textures.comments.try_reserve_exact(job.comments.len() + files.len())?;
        textures.comments.extend(files.iter().map(|file| texture_comment(file)));
        for comment in job.comments {
            textures.comments.push(try_string(comment)?);
        }
        let number = |material: Option<usize>| material.and_then(|at| number_of.get(at).copied()).unwrap_or(-1);
        let mut is_needed = files.len() > 1;
        for span in spans {
            let part = &job.parts[span.part];
            each_material(part, span.start..span.end, |material, _| is_needed |= number(material) != 0);
        }
        for span in spans.iter().filter(|_| is_needed) {
            let part = &job.parts[span.part];
            let mut numbers = Vec::new();
            numbers.try_reserve_exact(span.end - span.start).map_err(|_| Error::memory("materials"))?;
            each_material(part, span.start..span.end, |material, count| {
                numbers.resize(numbers.len() + count, number(material));
            });
            try_push(&mut textures.numbers, Values::I32(numbers.into()), "materials")?;
        }
        Ok(textures)
    }

    /// Returns the parts of materials that PLY cannot store.
    pub(super) fn left_out(&self, materials: &[Material]) -> [LeftOut; 4] {
        let mut whole = LeftOut::new("left-out-materials", ["material", "materials"], 0);
        let mut maps = LeftOut::new("left-out-maps", ["texture map", "texture maps"], 0);
        let of_materials = ["property of a material", "properties of materials"];
        let mut properties = LeftOut::new("left-out-material-properties", of_materials, 0);
        let mut names = LeftOut::new("left-out-names", ["material name", "material names"], 0);
        for (number, material) in materials.iter().enumerate() {
            let stored = diffuse_map(material).filter(|_| self.is_stored.get(number) == Some(&true));
            let Some(stored) = stored else {
                whole.add(&material.name);
                continue;
            };
            for map in material.maps.iter().filter(|map| !std::ptr::eq(*map, stored)) {
                let kind = format!("{:?}", map.kind).to_lowercase();
                maps.add(&format!("{kind} map {} of {}", map.file, material.name));
            }
            lost_properties(material, stored).for_each(|property| {
                properties.add(&format!("{property} of {}", material.name));
            });
            if material.name != material_name(&stored.file) {
                names.add(&material.name);
            }
        }
        [whole, maps, properties, names]
    }
}

/// Returns the number of a texture; adds it if it is new.
fn number_of_file<'f>(files: &mut Vec<&'f str>, file: &'f str) -> Result<i32> {
    let number = files.iter().position(|other| *other == file).unwrap_or(files.len());
    if number == files.len() {
        try_push(files, file, "materials")?;
    }
    Ok(i32::try_from(number).unwrap_or(-1))
}

/// Returns the MTL names of a textured material's properties that PLY cannot store. A white `Kd` is not among them,
/// because it leaves the texture unchanged.
fn lost_properties<'m>(material: &'m Material, map: &'m TextureMap) -> impl Iterator<Item = &'m str> {
    let is_seen = |color: &Option<Color>| color.as_ref().is_some_and(|color| *color != Color::Rgb([0.0; 3]));
    let is_tinted = material.diffuse.as_ref().is_some_and(|color| *color != Color::Rgb([1.0; 3]));
    let plain =
        TextureMap { kind: map.kind, keyword: map.keyword.clone(), file: map.file.clone(), ..TextureMap::default() };
    let properties = [
        ("Kd", is_tinted),
        ("Ka", is_seen(&material.ambient)),
        ("Ks", is_seen(&material.specular)),
        ("Ke", is_seen(&material.emission)),
        ("Tf", is_seen(&material.transmission)),
        ("Ns", material.shininess.is_some()),
        ("Ni", material.refraction_index.is_some()),
        ("d", material.opacity.is_some_and(|opacity| opacity != 1.0)),
        ("illum", material.illumination.is_some()),
        ("sharpness", material.sharpness.is_some()),
        ("Pr", material.roughness.is_some()),
        ("Pm", material.metallic.is_some()),
        ("Ps", material.sheen.is_some()),
        ("Pc", material.clearcoat.is_some()),
        ("Pcr", material.clearcoat_roughness.is_some()),
        ("aniso", material.anisotropy.is_some()),
        ("anisor", material.anisotropy_rotation.is_some()),
        ("map_aat", material.texture_antialiasing.is_some()),
        ("options of map_Kd", *map != plain),
    ];
    let lost = properties.into_iter().filter(|(_, is_lost)| *is_lost).map(|(property, _)| property);
    lost.chain(material.other.iter().map(|other| other.split_whitespace().next().unwrap_or_default()))
}
