//! Parses the JSON of a file, and checks its version and required extensions.

use crate::document::{Asset, Document};
use crate::log::{over_limit, unsupported};
use crate::serial::NO_MEMORY;
use crate::whole;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of JSON objects per scene object: a node, its mesh, and their primitives, accessors and views. A JSON
/// object takes up to 600 bytes of memory, so the number of objects must be limited before parsing.
const OBJECTS_PER_OBJECT: u64 = 8;

/// Maximum number of JSON values per scene object.
const VALUES_PER_OBJECT: u64 = 64;

/// Supported extensions that a file may require.
const READ: [&str; 6] = [
    "KHR_gaussian_splatting",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
];

/// Extensions for image formats. A file may require them, although embedded images in these formats are dropped:
/// dropped images are counted, and the geometry does not depend on them.
const IMAGES: [&str; 5] =
    ["EXT_texture_webp", "EXT_texture_avif", "KHR_texture_basisu", "MSFT_texture_dds", "MSFT_texture_ktx"];

/// Name prefixes of extensions that affect only materials.
const MATERIALS: [&str; 4] = ["KHR_materials_", "EXT_materials_", "MSFT_packing_", "ADOBE_materials_"];

/// Extensions that a file may require, although their data is dropped: the rest of the scene does not depend on it.
const HARMLESS: [&str; 11] = [
    "KHR_lights_punctual",
    "KHR_xmp_json_ld",
    "KHR_xmp",
    "KHR_animation_pointer",
    "KHR_node_selectability",
    "KHR_node_hoverability",
    "KHR_interactivity",
    "EXT_lights_image_based",
    "EXT_lights_ies",
    "EXT_structural_metadata",
    "EXT_mesh_features",
];

/// Other extensions that are read or covered by another warning.
const COVERED: [&str; 9] = [
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_unlit",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_clearcoat",
    "KHR_materials_sheen",
    "KHR_materials_anisotropy",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
];

/// Location of the JSON, for messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonLocation {
    /// The whole file.
    File,
    /// The first chunk of a `.glb`, whose content starts at this offset.
    Chunk(u64),
}

/// Fields that identify version 1, in which collections are objects with named items instead of arrays.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VersionDocument {
    asset: Value,
    scenes: Value,
    nodes: Value,
    meshes: Value,
    accessors: Value,
    buffers: Value,
}

/// Parses the JSON of `file`, and checks its version and size.
pub(crate) fn parse(text: &[u8], file: &str, location: JsonLocation, limits: &Limits) -> Result<Document> {
    let document: Document = match parse_part(text, file, location, limits) {
        Ok(document) => document,
        Err(error) => {
            // Version 1 has objects instead of arrays, which makes the parser fail: report the version instead.
            parse_part::<VersionDocument>(text, file, location, limits).ok().map_or(Ok(()), |part| part.check())?;
            return Err(error);
        }
    };
    check_version(&document.asset)?;
    let materials = document.materials.len() as u64;
    if materials > limits.materials {
        return Err(over_limit(&format!("the {materials} materials of the file"), limits.materials, "materials"));
    }
    Ok(document)
}

/// Parses the fields of `T` and ignores all others.
pub(crate) fn parse_part<T: DeserializeOwned>(
    text: &[u8],
    file: &str,
    location: JsonLocation,
    limits: &Limits,
) -> Result<T> {
    // JSON forbids a byte order mark, but some programs write one.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    check_size(text, limits)?;
    let error = match serde_json::from_slice(text) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    // Rewriting is tried only after an error, so that files without such integers never pay for it.
    let rewritten = if error.is_data() { whole::rewritten(text)? } else { None };
    let parsed = rewritten.map_or(Err(error), |text| serde_json::from_slice(&text));
    parsed.map_err(|error| invalid(&error, file, location))
}

/// Fails if the file requires an unsupported extension.
pub(crate) fn check_extensions(document: &Document) -> Result<()> {
    for name in &document.extensions_required {
        let is_listed = [&READ[..], &HARMLESS, &IMAGES].iter().any(|list| list.contains(&name.as_str()));
        // A material is usable without its extension.
        if !is_listed && !MATERIALS.iter().any(|start| name.starts_with(start)) {
            return Err(unsupported(format!("the file requires the unsupported extension `{}`", names::shown(name))));
        }
    }
    Ok(())
}

/// Returns the extensions whose data is ignored.
pub(crate) fn unread_extensions(document: &Document) -> impl Iterator<Item = &str> {
    let used = document.extensions_used.iter().map(String::as_str);
    used.filter(|name| ![&READ[..], &COVERED, &IMAGES].iter().any(|list| list.contains(name)))
}

/// Limits the number of objects and of values before parsing, by counting braces and commas, including those in
/// strings.
fn check_size(text: &[u8], limits: &Limits) -> Result<()> {
    let mut objects = 0_u64;
    let mut values = 0_u64;
    for block in text.chunks(4096) {
        objects += block.iter().map(|&byte| u64::from(byte == b'{')).sum::<u64>();
        values += block.iter().map(|&byte| u64::from(byte == b',')).sum::<u64>();
    }
    // The constant prevents low limits from rejecting small documents.
    let too_many = |limit: u64, count: u64| count > limit.saturating_add(1024);
    let counts = [("objects", objects, OBJECTS_PER_OBJECT), ("values", values, VALUES_PER_OBJECT)];
    let over = counts.iter().find(|(_, count, factor)| too_many(limits.objects.saturating_mul(*factor), *count));
    match over {
        Some((noun, count, _)) => {
            Err(over_limit(&format!("the {count} {noun} of the JSON"), limits.objects, "objects"))
        }
        None => Ok(()),
    }
}

impl VersionDocument {
    /// Fails if the file has, or appears to have, an unsupported version.
    fn check(&self) -> Result<()> {
        let is_old = [&self.nodes, &self.meshes, &self.accessors, &self.buffers, &self.scenes];
        match self.asset.get("version") {
            Some(Value::String(version)) => check_version(&Asset { version: version.clone(), ..Asset::default() }),
            // Some early exporters wrote the version as a number.
            Some(Value::Number(version)) if version.as_f64().is_some_and(|version| version < 2.0) => {
                Err(unsupported_version(&version.to_string()))
            }
            None if is_old.into_iter().any(Value::is_object) => Err(unsupported_version("1.0")),
            _ => Ok(()),
        }
    }
}

fn check_version(asset: &Asset) -> Result<()> {
    // `minVersion`, if present, is the version that readers must support.
    let needed = asset.min_version.as_ref().unwrap_or(&asset.version);
    // Without `minVersion`, supporting the major version suffices (section 3.2).
    if needed.starts_with("2.") && (asset.min_version.is_none() || needed == "2.0") {
        return Ok(());
    }
    if asset.version.is_empty() {
        return Err(Error::new(ErrorKind::Malformed, "asset.version is missing"));
    }
    Err(unsupported_version(needed))
}

/// Creates the error for an unsupported version.
pub(crate) fn unsupported_version(version: &str) -> Error {
    let message = format!("glTF {} is not supported", names::shown(version));
    unsupported(message).with_hint("convert it to glTF 2.0 with the program that wrote it")
}

/// Converts an error of the JSON parser, with its position.
fn invalid(error: &serde_json::Error, file: &str, location: JsonLocation) -> Error {
    let text = error.to_string();
    // Errors of serde carry only text, so out-of-memory errors are identified by it.
    if text.starts_with(NO_MEMORY) {
        return Error::memory("the document");
    }
    // The position is reported separately.
    let what = text.rfind(" at line ").map_or(&*text, |end| &text[..end]);
    // Messages can quote long strings.
    let what = match what.strip_prefix("EOF while parsing ") {
        Some(part) => format!("unexpected end of file in {part}"),
        None => names::shown(what).into_owned(),
    };
    let subject = if error.is_data() { "glTF" } else { "JSON" };
    let line = error.line() as u64;
    let column = error.column() as u64;
    let mut place = Place { file: file.into(), ..Place::default() };
    let message = match location {
        JsonLocation::File => {
            place.line = Some(line.max(1));
            place.column = Some(column.max(1));
            format!("invalid {subject}: {what}")
        }
        JsonLocation::Chunk(offset) => {
            place.offset = Some(offset);
            format!("invalid {subject}: {what} (line {line}, column {column} of the JSON)")
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
            ["nonsense", "[]", "{\"nodes\":3}", "{\"nodes\":[-1]}", "{\"scene\":1e99}", "{\"scene\":0,\"scene\":0}"]
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
        assert!(failed("{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.1\"}}").to_string().contains("glTF 2.1"));
        let needs = |name: &str| format!("{{\"asset\":{{\"version\":\"2.0\"}},\"extensionsRequired\":[\"{name}\"]}}");
        for name in ["KHR_draco_mesh_compression", "CESIUM_RTC", "KHR_texture_new", "X"] {
            let error = failed(&needs(name));
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(name));
        }
        let fine = ["KHR_mesh_quantization", "EXT_structural_metadata", "KHR_materials_new", "ADOBE_materials_thin"];
        for name in fine.into_iter().chain(IMAGES) {
            let text = format!("\u{feff}{}", needs(name));
            let document = parse(text.as_bytes(), "", JsonLocation::File, &Limits::default()).unwrap();
            check_extensions(&document).unwrap();
        }
    }

    #[test]
    fn files_of_version_1_are_named() {
        let cases = [
            r#"{"asset":{"version":"1.0"},"meshes":{"m":{}},"nodes":{}}"#,
            r#"{"asset":{"version":"1.0","profile":{}},"accessors":{"a":{}},"scene":"s"}"#,
            r#"{"asset":{"version":1.0},"meshes":{}}"#,
            r#"{"meshes":{"m":{}}}"#,
            r#"{"asset":{},"scenes":{}}"#,
        ];
        for text in cases {
            let error = failed(text);
            let version = error.to_string().replace("glTF 1 ", "glTF 1.0 ");
            assert_eq!((error.kind(), &*version), (ErrorKind::Unsupported, "glTF 1.0 is not supported"), "{text}");
        }
        for text in [r#"{"asset":{"version":"2.0"},"meshes":{}}"#, r#"{"asset":[],"meshes":3}"#, "{\"asset\":"] {
            assert_eq!(failed(text).kind(), ErrorKind::Malformed, "{text}");
        }
    }

    #[test]
    fn integers_may_be_decimals() {
        let text = r#"{"asset":{"version":"2.0"},"scene":0.0,"nodes":[{"children":[1.0,2e0],"scale":[1.5,2,-0.0]},{}],
            "accessors":[{"componentType":5126.0,"count":3.6e1}],"textures":[{"source":1.0}]}"#;
        let document = parse(text.as_bytes(), "", JsonLocation::File, &Limits::default()).unwrap();
        assert_eq!((document.scene, &document.nodes[0].children[..]), (Some(0), &[1, 2][..]));
        assert_eq!((document.accessors[0].component_type, document.accessors[0].count), (5126, 36));
        assert_eq!(document.nodes[0].scale, Some([1.5, 2.0, -0.0]));
        for text in ["0.5", "-1.0", "1e300", "\"0\""] {
            let error = failed(&format!("{{\n\"asset\":{{\"version\":\"2.0\"}},\"nodes\":[1.0],\n\"scene\":{text}}}"));
            assert_eq!(error.kind(), ErrorKind::Malformed, "{text}");
        }
    }

    #[test]
    fn numbers_are_the_nearest_doubles_and_bounds_may_be_infinite() {
        let text = r#"{"asset":{"version":"2.0"},"nodes":[{"translation":[31.245270191439438,121.48791951161945,
            100.78399658203125]}],
            "accessors":[{"min":[1.7976931348623157e308,-0.5],"max":[-1.7976931348623157e308]}]}"#;
        let document = parse(text.as_bytes(), "", JsonLocation::File, &Limits::default()).unwrap();
        let translation = [31.245270191439438, 121.48791951161945, 100.78399658203125];
        assert_eq!(document.nodes[0].translation, Some(translation));
        assert_eq!(document.accessors[0].min, [f32::INFINITY, -0.5]);
        assert_eq!(document.accessors[0].max, [f32::NEG_INFINITY]);
    }

    #[test]
    fn objects_are_bounded_before_they_are_parsed() {
        let limits = Limits::default().with_objects(10);
        let text = format!("{{\"nodes\":[{}{{}}]}}", "{},".repeat(2000));
        assert_eq!(parse(text.as_bytes(), "", JsonLocation::File, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
