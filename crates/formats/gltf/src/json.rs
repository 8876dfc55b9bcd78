//! Parses the JSON of a file, and checks its version and required extensions.

use crate::document::Document;
use crate::log::{over_limit, unsupported};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use serde::de::DeserializeOwned;

/// Objects of JSON per object of a scene: a node, its mesh, primitives, accessors and views. An object of JSON takes up
/// to 600 bytes, so the parser needs a bound before it runs.
const OBJECTS_PER_OBJECT: u64 = 8;

/// Values of JSON per object of a scene.
const VALUES_PER_OBJECT: u64 = 64;

/// Extensions that the reader supports and a file can require.
const READ: [&str; 7] = [
    "KHR_gaussian_splatting",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "EXT_mesh_gpu_instancing",
    "EXT_texture_webp",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
];

/// Extensions that can be required although their data is dropped: the rest of the scene does not depend on it.
const HARMLESS: [&str; 2] = ["KHR_lights_punctual", "KHR_xmp_json_ld"];

/// Other extensions that are read, or that another warning covers.
const COVERED: [&str; 8] = [
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_clearcoat",
    "KHR_materials_sheen",
    "KHR_materials_anisotropy",
    "KHR_texture_basisu",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
];

/// The location of the JSON, for messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonLocation {
    /// The whole file.
    File,
    /// The first chunk of a `.glb`, at this offset.
    Chunk(u64),
}

/// Parses the JSON of `file`.
pub(crate) fn parse(text: &[u8], file: &str, location: JsonLocation, limits: &Limits) -> Result<Document> {
    let document: Document = parse_part(text, file, location, limits)?;
    check_version(&document)?;
    let materials = document.materials.len() as u64;
    if materials > limits.materials {
        return Err(over_limit(&format!("{materials} materials"), limits.materials, "materials"));
    }
    Ok(document)
}

/// Parses the properties of `T`, and ignores others.
pub(crate) fn parse_part<T: DeserializeOwned>(
    text: &[u8],
    file: &str,
    location: JsonLocation,
    limits: &Limits,
) -> Result<T> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    check_size(text, limits)?;
    serde_json::from_slice(text).map_err(|error| invalid(&error, file, location))
}

/// Returns an error for a file that requires an unsupported extension.
pub(crate) fn check_extensions(document: &Document) -> Result<()> {
    for name in &document.extensions_required {
        // Without its extension, a material is still usable.
        let is_read = READ.contains(&name.as_str()) || HARMLESS.contains(&name.as_str());
        if !is_read && !name.starts_with("KHR_materials_") {
            return Err(unsupported(format!("the file requires the extension `{}`", names::shown(name))));
        }
    }
    Ok(())
}

/// The extensions whose data is ignored.
pub(crate) fn unread_extensions(document: &Document) -> impl Iterator<Item = &str> {
    let used = document.extensions_used.iter().map(String::as_str);
    used.filter(|name| !READ.contains(name) && !COVERED.contains(name))
}

/// Counts objects and values roughly, including braces and commas in strings, before anything is parsed.
fn check_size(text: &[u8], limits: &Limits) -> Result<()> {
    let mut objects = 0_u64;
    let mut values = 0_u64;
    for block in text.chunks(4096) {
        objects += block.iter().map(|&byte| u64::from(byte == b'{')).sum::<u64>();
        values += block.iter().map(|&byte| u64::from(byte == b',')).sum::<u64>();
    }
    let too_many = |limit: u64, count: u64| count > limit.saturating_add(1024);
    if too_many(limits.objects.saturating_mul(OBJECTS_PER_OBJECT), objects)
        || too_many(limits.objects.saturating_mul(VALUES_PER_OBJECT), values)
    {
        return Err(over_limit(&format!("the JSON has {objects} objects"), limits.objects, "objects"));
    }
    Ok(())
}

fn check_version(document: &Document) -> Result<()> {
    let asset = &document.asset;
    let needed = asset.min_version.as_ref().unwrap_or(&asset.version);
    if needed.starts_with("2.") && (asset.min_version.is_none() || needed == "2.0") {
        return Ok(());
    }
    if asset.version.is_empty() {
        return Err(Error::new(ErrorKind::Malformed, "asset.version is missing"));
    }
    Err(unsupported(format!("version {} of glTF is not supported", names::shown(needed))).with_hint("2.0 is supported"))
}

/// The error of the JSON parser, with its position.
fn invalid(error: &serde_json::Error, file: &str, location: JsonLocation) -> Error {
    let text = error.to_string();
    let what = text.rfind(" at line ").map_or(&*text, |end| &text[..end]);
    // A message can quote a long string.
    let what = names::shown(what);
    let line = error.line() as u64;
    let column = error.column() as u64;
    let mut place = Place { file: file.into(), ..Place::default() };
    let message = match location {
        JsonLocation::File => {
            place.line = Some(line.max(1));
            place.column = Some(column.max(1));
            format!("invalid glTF: {what}")
        }
        JsonLocation::Chunk(offset) => {
            place.offset = Some(offset);
            format!("invalid glTF: {what} (line {line}, column {column} of the JSON)")
        }
    };
    Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> Error {
        let parsed = parse(text.as_bytes(), "a.gltf", JsonLocation::File, &Limits::default());
        parsed.and_then(|document| check_extensions(&document)).unwrap_err()
    }

    #[test]
    fn errors_have_line_and_column() {
        let error = failed("{\n \"asset\": {\"version\": 2}\n}");
        assert_eq!((error.kind(), error.place().line), (ErrorKind::Malformed, Some(2)));
        assert!(error.to_string().contains("invalid type") && !error.to_string().contains(" at line"), "{error}");
        assert_eq!(failed("").place().line, Some(1));
        let deep = "[".repeat(100_000);
        assert_eq!(failed(&format!("{{\"extensions\":{{\"a\":{deep}")).kind(), ErrorKind::Malformed);
        assert_eq!(failed(&format!("{{\"unknown\":{deep}")).kind(), ErrorKind::Malformed);
        for text in
            ["nonsense", "[]", "{\"nodes\":{}}", "{\"nodes\":[-1]}", "{\"scene\":1e99}", "{\"scene\":0,\"scene\":0}"]
        {
            assert_eq!(failed(text).kind(), ErrorKind::Malformed, "{text}");
        }
    }

    #[test]
    fn versions_and_extensions() {
        assert_eq!(failed("{}").to_string(), "asset.version is missing");
        for version in ["1.0", "3.0", "2"] {
            assert_eq!(failed(&format!("{{\"asset\":{{\"version\":\"{version}\"}}}}")).kind(), ErrorKind::Unsupported);
        }
        assert!(failed("{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.1\"}}").to_string().contains("version 2.1"));
        let needs = |name: &str| format!("{{\"asset\":{{\"version\":\"2.0\"}},\"extensionsRequired\":[\"{name}\"]}}");
        for name in ["KHR_draco_mesh_compression", "KHR_texture_basisu", "X"] {
            let error = failed(&needs(name));
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(name));
        }
        let fine = parse(
            ("\u{feff}".to_owned() + &needs("KHR_mesh_quantization")).as_bytes(),
            "",
            JsonLocation::File,
            &Limits::default(),
        );
        assert!(check_extensions(&fine.unwrap()).is_ok());
    }

    #[test]
    fn objects_are_bounded_before_they_are_parsed() {
        let limits = Limits::default().with_objects(10);
        let text = format!("{{\"nodes\":[{}{{}}]}}", "{},".repeat(2000));
        assert_eq!(parse(text.as_bytes(), "", JsonLocation::File, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
