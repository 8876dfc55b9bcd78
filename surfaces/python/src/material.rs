//! Converts materials to dicts and back, with a key for each field of the library's struct. The classes are in
//! `surfaces/python/polyhaul/_material.py`.

use polyhaul::model::{Color, FolderPlace, MapKind, Material, SourceFolder, TextureMap};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The Python names of the kinds of texture maps.
const KINDS: [(MapKind, &str); 18] = [
    (MapKind::Ambient, "ambient"),
    (MapKind::Diffuse, "diffuse"),
    (MapKind::Specular, "specular"),
    (MapKind::Emission, "emission"),
    (MapKind::Shininess, "shininess"),
    (MapKind::Opacity, "opacity"),
    (MapKind::Transparency, "transparency"),
    (MapKind::Bump, "bump"),
    (MapKind::Displacement, "displacement"),
    (MapKind::Decal, "decal"),
    (MapKind::Reflection, "reflection"),
    (MapKind::Roughness, "roughness"),
    (MapKind::Metallic, "metallic"),
    (MapKind::Sheen, "sheen"),
    (MapKind::Clearcoat, "clearcoat"),
    (MapKind::ClearcoatRoughness, "clearcoat_roughness"),
    (MapKind::Normal, "normal"),
    (MapKind::Occlusion, "occlusion"),
];

/// Applies macros to the fields of a material, grouped by their conversion.
macro_rules! material_fields {
    ($as_is:ident, $number:ident, $color:ident) => {
        $as_is!(name missing halo alpha_blended single_sided unlit extras illumination texture_antialiasing other);
        $number!(shininess refraction_index opacity alpha_cutoff sharpness roughness metallic sheen clearcoat
            clearcoat_roughness anisotropy anisotropy_rotation);
        $color!(ambient diffuse specular emission transmission);
    };
}

/// Applies macros to the fields of a texture map, grouped by their conversion.
macro_rules! map_fields {
    ($as_is:ident, $number:ident, $numbers:ident) => {
        $as_is!(keyword file blend_u blend_v clamp color_correction channel projection color_space);
        $number!(bump_multiplier boost resolution);
        $numbers!(offset scale turbulence base_gain);
    };
}

/// Converts a material to a dict.
pub(crate) fn material_to_python<'py>(py: Python<'py>, material: &Material) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    macro_rules! as_is { ($($name:ident)*) => { $(fields.set_item(stringify!($name), &material.$name)?;)* } }
    macro_rules! number { ($($name:ident)*) => { $(fields.set_item(stringify!($name), material.$name.map(short))?;)* } }
    macro_rules! color { ($($name:ident)*) => {
        $(fields.set_item(
            stringify!($name),
            material.$name.as_ref().map(|color| color_to_python(py, color)).transpose()?,
        )?;)*
    } }
    material_fields!(as_is, number, color);
    let maps: PyResult<Vec<_>> = material.maps.iter().map(|map| map_to_python(py, map)).collect();
    fields.set_item("maps", maps?)?;
    fields.set_item("_folder", folder_to_python(&material.folder))?;
    Ok(fields)
}

/// A source folder in Python: the folders of the scene and the material library, then the flags of [`FolderPlace`].
pub(crate) type FolderParts = (PathBuf, Option<PathBuf>, bool, bool, bool);

/// Converts a folder to a tuple. Returns `None` if unknown.
pub(crate) fn folder_to_python(folder: &SourceFolder) -> Option<FolderParts> {
    let place = folder.place()?;
    Some((place.scene.clone(), place.library.clone(), place.allow_outside, place.in_archive, place.has_resolver))
}

/// Converts a tuple to a folder.
pub(crate) fn folder_from_python(parts: Option<FolderParts>) -> SourceFolder {
    let Some((scene, library, allow_outside, in_archive, has_resolver)) = parts else { return SourceFolder::default() };
    let mut place = FolderPlace::default();
    place.scene = scene;
    place.library = library;
    place.allow_outside = allow_outside;
    place.in_archive = in_archive;
    place.has_resolver = has_resolver;
    place.into()
}

/// Converts a dict, which must have all keys, to a material.
pub(crate) fn material_from_python(fields: &Bound<'_, PyDict>) -> PyResult<Material> {
    let mut material = Material::default();
    macro_rules! as_is { ($($name:ident)*) => { $(material.$name = get(fields, stringify!($name))?.extract()?;)* } }
    macro_rules! color { ($($name:ident)*) => {
        $(material.$name = optional(get(fields, stringify!($name))?, color_from_python)?;)*
    } }
    material_fields!(as_is, as_is, color);
    material.folder = folder_from_python(get(fields, "_folder")?.extract()?);
    for map in get(fields, "maps")?.try_iter()? {
        material.maps.push(map_from_python(map?.cast()?)?);
    }
    Ok(material)
}

fn map_to_python<'py>(py: Python<'py>, map: &TextureMap) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    let kind = KINDS.iter().find(|(kind, _)| *kind == map.kind).map(|(_, name)| *name);
    fields.set_item("kind", kind)?;
    macro_rules! as_is { ($($name:ident)*) => { $(fields.set_item(stringify!($name), &map.$name)?;)* } }
    macro_rules! number { ($($name:ident)*) => { $(fields.set_item(stringify!($name), map.$name.map(short))?;)* } }
    macro_rules! numbers { ($($name:ident)*) => {
        $(fields.set_item(stringify!($name), map.$name.map(|values| values.map(short)))?;)*
    } }
    map_fields!(as_is, number, numbers);
    Ok(fields)
}

fn map_from_python(fields: &Bound<'_, PyDict>) -> PyResult<TextureMap> {
    let kind: String = get(fields, "kind")?.extract()?;
    let map_kind = KINDS.iter().find(|(_, name)| *name == kind).map(|(kind, _)| *kind);
    let unknown = || PyValueError::new_err(format!("unknown kind of texture map {kind:?}"));
    let mut map = TextureMap { kind: map_kind.ok_or_else(unknown)?, ..TextureMap::default() };
    macro_rules! as_is { ($($name:ident)*) => { $(map.$name = get(fields, stringify!($name))?.extract()?;)* } }
    map_fields!(as_is, as_is, as_is);
    Ok(map)
}

/// Converts a color to its kind and value.
fn color_to_python<'py>(py: Python<'py>, color: &Color) -> PyResult<Bound<'py, PyAny>> {
    Ok(match color {
        Color::Rgb(values) => ("rgb", values.map(short)).into_pyobject(py)?.into_any(),
        Color::Xyz(values) => ("xyz", values.map(short)).into_pyobject(py)?.into_any(),
        Color::Spectral { file, factor } => ("spectral", (file, short(*factor))).into_pyobject(py)?.into_any(),
    })
}

fn color_from_python(color: Bound<'_, PyAny>) -> PyResult<Color> {
    let (kind, value): (String, Bound<'_, PyAny>) = color.extract()?;
    Ok(match kind.as_str() {
        "rgb" => Color::Rgb(value.extract()?),
        "xyz" => Color::Xyz(value.extract()?),
        _ => {
            let (file, factor) = value.extract()?;
            Color::Spectral { file, factor }
        }
    })
}

/// Converts a number via its shortest decimal form: 0.8, where a direct conversion yields 0.800000011920929. It
/// converts back to the same `f32`.
pub(crate) fn short(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn get<'py>(fields: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    fields.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

fn optional<'py, T>(
    value: Bound<'py, PyAny>,
    convert: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { convert(value).map(Some) }
}
