//! Textures as MeshLab writes them: a comment `TextureFile NAME` for each texture, and a texture number for each face.
//!
//! Every texture becomes a material with a diffuse map. If faces have no property `texnumber`, they use the first
//! texture. In a file without faces, the comments remain comments.

use polyhaul_model::error::{Diagnostic, Error, Result, try_push, try_string};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::names::DistinctNames;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Color, Column, MapKind, Material, Scene, TextureMap, Values};

/// Keyword of texture comments, in lower case.
const TEXTURE_WORD: &str = "texturefile";
/// Property with the number of a face's texture.
pub(super) const TEXTURE_NUMBER: &str = "texnumber";

/// Returns the texture named in a comment.
pub(super) fn texture_name(comment: &str) -> Option<&str> {
    let (word, name) = comment.trim_start().split_once([' ', '\t'])?;
    Some(plain_name(name)).filter(|name| !name.is_empty() && word.eq_ignore_ascii_case(TEXTURE_WORD))
}

/// Returns a name without the blanks and the quotes around it.
pub(super) fn plain_name(name: &str) -> &str {
    let name = name.trim();
    let unquoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    unquoted.unwrap_or(name)
}

/// Formats the comment for a texture.
pub(super) fn texture_comment(file: &str) -> String {
    format!("TextureFile {file}")
}

/// Returns the name of a texture's material: the file name without folders and extension.
pub(super) fn material_name(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// Turns texture comments into materials, and removes them.
pub(super) fn take_materials(
    scene: &mut Scene,
    comments: &mut Vec<String>,
    faults: FaultPolicy,
    warnings: &mut Warnings,
) -> Result<()> {
    let [mesh] = &mut scene.meshes[..] else { return Ok(()) };
    if mesh.faces.is_empty() || !comments.iter().any(|comment| texture_name(comment).is_some()) {
        return Ok(());
    }
    let mut names = DistinctNames::default();
    for name in comments.iter().filter_map(|comment| texture_name(comment)) {
        try_push(&mut scene.materials, material(name, &mut names)?, "materials")?;
    }
    comments.retain(|comment| texture_name(comment).is_none());
    let count = scene.materials.len();
    let is_number = |column: &Column| column.name == TEXTURE_NUMBER && column.offsets.is_none();
    match mesh.face_columns.iter().position(is_number) {
        Some(at) => {
            let numbers = whole_numbers(&mesh.face_columns.remove(at).values)?;
            let missing = numbers.iter().filter(|&&number| number >= 0 && number as usize >= count).count() as u64;
            let textures = counted(count as u64, ["texture", "textures"]);
            let faces = counted(missing, ["face refers", "faces refer"]);
            let message = format!("{faces} to an undefined texture: the file defines {textures}");
            warnings.note_many(faults, "missing-texture", missing, Diagnostic::new(message))?;
            // Without these numbers, all faces use the first material anyway.
            if count > 1 || numbers.iter().any(|&number| number != 0) {
                mesh.face_materials = numbers.into();
            }
        }
        None if count > 1 => {
            let message = format!("faces have no `{TEXTURE_NUMBER}`: all of them use the first of {count} textures");
            warnings.note(faults, "missing-property", Diagnostic::new(message))?;
        }
        None => {}
    }
    if let Some(object) = scene.objects.last_mut() {
        let mut slots = Vec::new();
        slots.try_reserve_exact(count)?;
        slots.extend((0..count).map(Some));
        object.materials = Some(slots);
    }
    Ok(())
}

/// Creates a white material with a texture.
fn material(file: &str, names: &mut DistinctNames) -> Result<Material> {
    let mut maps = Vec::new();
    let map = TextureMap { kind: MapKind::Diffuse, file: try_string(file)?, ..TextureMap::default() };
    try_push(&mut maps, map, "materials")?;
    let name = names.distinct(material_name(file))?;
    Ok(Material { name, diffuse: Some(Color::Rgb([1.0; 3])), maps, ..Material::default() })
}

/// Converts texture numbers to integers. Negative and invalid numbers become -1, and numbers that are too large become
/// the largest integer.
fn whole_numbers(values: &Values) -> Result<Vec<i32>> {
    fn whole<T: Copy + Into<f64>>(values: &[T]) -> Result<Vec<i32>> {
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(values.len()).map_err(|_| Error::memory("materials"))?;
        numbers.extend(values.iter().map(|&value| {
            let value: f64 = value.into();
            if value >= 0.0 { value as i32 } else { -1 }
        }));
        Ok(numbers)
    }
    match values {
        Values::I8(values) => whole(values),
        Values::U8(values) => whole(values),
        Values::I16(values) => whole(values),
        Values::U16(values) => whole(values),
        Values::I32(values) => whole(values),
        Values::U32(values) => whole(values),
        Values::F32(values) => whole(values),
        Values::F64(values) => whole(values),
        Values::I64(values) => wide(values, |value| value.clamp(-1, i32::MAX.into()) as i32),
        Values::U64(values) => wide(values, |value| i32::try_from(value).unwrap_or(i32::MAX)),
    }
}

/// Converts 64-bit texture numbers.
fn wide<T: Copy>(values: &[T], number: impl Fn(T) -> i32) -> Result<Vec<i32>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(values.len()).map_err(|_| Error::memory("materials"))?;
    numbers.extend(values.iter().map(|&value| number(value)));
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_textures() {
        assert_eq!(texture_name("TextureFile  a b.png "), Some("a b.png"));
        assert_eq!(texture_name("texturefile\tx/y.jpg"), Some("x/y.jpg"));
        assert_eq!(texture_name("TextureFile \"a b.jpg\""), Some("a b.jpg"));
        assert_eq!([texture_name("TextureFile"), texture_name("TextureFile "), texture_name("Texture a")], [None; 3]);
        let names = ["a.png", "x/y.b.jpg", "C:\\t\\z.png", ".png", "plain"].map(material_name);
        assert_eq!(names, ["a", "y.b", "z", ".png", "plain"]);
    }

    #[test]
    fn numbers_that_are_too_large_stay_undefined_textures() {
        let wide = Values::I64([i64::MIN, -1, 0, 7, 5_000_000_000].into());
        assert_eq!(whole_numbers(&wide).unwrap(), [-1, -1, 0, 7, i32::MAX]);
        assert_eq!(whole_numbers(&Values::U64([0, u64::MAX].into())).unwrap(), [0, i32::MAX]);
        assert_eq!(whole_numbers(&Values::F64([f64::NAN, 5e9].into())).unwrap(), [-1, i32::MAX]);
    }
}
