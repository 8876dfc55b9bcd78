//! Output that other programs reject or misread, and faults that a comparison of values does not find.
//!
//! Derived manually from the rules of importers, without using the library; `polyhaul_testkit::losses` compares the
//! values.

use polyhaul::Report;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Faults of a file in format `to` at `path`, converted from these bytes in format `from`.
pub fn faults(from: &str, to: &str, source: &[u8], path: &Path, report: &Report) -> Vec<String> {
    let written = std::fs::read(path).unwrap_or_default();
    match (from, to) {
        ("glb", "obj") => [obj(&written, path), used_materials(source, path)].concat(),
        (_, "obj") => obj(&written, path),
        ("stl", "stl") => stl(source, &written),
        (_, "ply") if from != "ply" => ply(&written),
        ("glb", "glb") => [glb(&written, report), members(source, &written, report)].concat(),
        (_, "glb") => glb(&written, report),
        ("csv" | "tsv", "csv" | "tsv") => integers(source, &written, report),
        _ => Vec::new(),
    }
}

/// Keywords without a name, materials without a definition, duplicate definitions.
fn obj(written: &[u8], path: &Path) -> Vec<String> {
    let text = String::from_utf8_lossy(written);
    let mut faults = Vec::new();
    let defined = definitions(&text, path, &mut faults);
    for line in text.lines() {
        let (keyword, name) = line.split_once(' ').unwrap_or((line, ""));
        let is_empty = name.trim().is_empty();
        match keyword {
            "usemtl" | "mtllib" if is_empty => faults.push(format!("`{keyword}` has no name")),
            "usemtl" if name != "(null)" && defined.as_ref().is_some_and(|names| !names.contains(name)) => {
                faults.push(format!("undefined material `{name}`"));
            }
            _ => {}
        }
    }
    faults
}

/// Materials defined by the libraries next to an OBJ file; `None` without libraries.
fn definitions(text: &str, path: &Path, faults: &mut Vec<String>) -> Option<BTreeSet<String>> {
    let library = text.lines().find_map(|line| line.strip_prefix("mtllib "))?;
    let library = std::fs::read(path.with_file_name(library.trim())).ok()?;
    let mut names = BTreeSet::new();
    for name in String::from_utf8_lossy(&library).lines().filter_map(|line| line.strip_prefix("newmtl ")) {
        if !names.insert(name.to_owned()) {
            faults.push(format!("the material `{name}` is defined twice"));
        }
    }
    Some(names)
}

/// glTF materials that were merged: the library must have as many as elements use.
fn used_materials(source: &[u8], path: &Path) -> Vec<String> {
    let Some(json) = json(source) else { return Vec::new() };
    let Ok(library) = std::fs::read(path.with_extension("mtl")) else { return Vec::new() };
    let library = String::from_utf8_lossy(&library).into_owned();
    let primitives = json["meshes"].as_array().into_iter().flatten().filter_map(|mesh| mesh["primitives"].as_array());
    let used: BTreeSet<u64> = primitives.flatten().filter_map(|primitive| primitive["material"].as_u64()).collect();
    let count = library.lines().filter(|line| line.starts_with("newmtl ")).count();
    let is_fewer = count < used.len() && !json.to_string().contains("KHR_materials_variants");
    if is_fewer { vec![format!("{} materials became {count}", used.len())] } else { Vec::new() }
}

/// The 80 bytes of a header, in which other programs store colors.
fn stl(source: &[u8], written: &[u8]) -> Vec<String> {
    const HEADER: usize = 80;
    let is_binary = |bytes: &[u8]| {
        let count =
            bytes.get(HEADER..HEADER + 4).map(|count| u32::from_le_bytes([count[0], count[1], count[2], count[3]]));
        count.is_some_and(|count| bytes.len() as u64 == 84 + 50 * u64::from(count))
    };
    let differs = is_binary(source) && is_binary(written) && source[..HEADER] != written[..HEADER];
    if differs { vec!["the 80 bytes of the header differ".into()] } else { Vec::new() }
}

/// List properties of vertices, which Blender rejects.
fn ply(written: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(&written[..written.len().min(4096)]);
    let header = text.split("end_header").next().unwrap_or_default();
    let vertex = header.split("element ").find(|element| element.starts_with("vertex ")).unwrap_or_default();
    let lists = vertex.lines().filter(|line| line.starts_with("property list"));
    lists.map(|line| format!("vertices have a list: {line}")).collect()
}

/// The JSON of a .glb file.
fn json(bytes: &[u8]) -> Option<Value> {
    let length = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
    serde_json::from_slice(bytes.get(20..20 + length)?).ok()
}

/// Warnings that justify images next to a file that should embed them.
const OUTSIDE: [&str; 3] = ["uncopied-reference", "left-out-textures", "missing-reference"];

/// Images next to a file that should embed them, without a warning.
fn glb(written: &[u8], report: &Report) -> Vec<String> {
    let Some(json) = json(written) else { return vec!["it is no .glb file".into()] };
    if OUTSIDE.iter().any(|code| report.warnings.counts().contains_key(code)) {
        return Vec::new();
    }
    let images = json["images"].as_array().into_iter().flatten();
    let outside = images.filter(|image| image["uri"].as_str().is_some_and(|uri| !uri.starts_with("data:")));
    outside.map(|image| format!("an image is not in the file: {}", image["uri"])).collect()
}

/// glTF members with meaning, and the kind of warning if they are dropped.
const MEMBERS: [(&str, &str); 12] = [
    ("baseColorFactor", "changed-materials"),
    ("KHR_node_visibility", "left-out-visibility"),
    ("alphaCutoff", "left-out-alpha-cutoffs"),
    ("alphaMode", "left-out-alpha-modes"),
    ("copyright", "left-out-remarks"),
    ("diffuseFactor", "changed-materials"),
    ("doubleSided", "left-out-culling"),
    ("extras", "left-out-extras"),
    ("occlusionTexture", "left-out-occlusion-maps"),
    ("emissiveFactor", "changed-materials"),
    ("KHR_materials_unlit", "left-out-unlit"),
    ("COLOR_0", "left-out-colors"),
];

/// The number of nodes without content.
fn empty_nodes(json: &Value) -> usize {
    let is_used =
        |node: &Value| ["mesh", "children", "camera", "skin", "extensions"].iter().any(|key| node.get(key).is_some());
    json["nodes"].as_array().into_iter().flatten().filter(|node| !is_used(node)).count()
}

/// Members that disappeared or became fewer, without a warning.
fn members(source: &[u8], written: &[u8], report: &Report) -> Vec<String> {
    let [Some(before), Some(after)] = [json(source), json(written)] else { return Vec::new() };
    let [mut old, mut new] = [BTreeMap::new(), BTreeMap::new()];
    keys(&before, &mut old);
    keys(&after, &mut new);
    let counts = report.warnings.counts();
    // Materials keep their numbers, so each is counted separately.
    let [mut old_materials, mut new_materials] = [BTreeMap::new(), BTreeMap::new()];
    keys(&before["materials"], &mut old_materials);
    keys(&after["materials"], &mut new_materials);
    let of = |names: &BTreeMap<String, usize>, member: &str| names.get(member).copied().unwrap_or(0);
    let is_gone = |member: &str| {
        of(&old, member) > 0 && of(&new, member) == 0 || of(&old_materials, member) > of(&new_materials, member)
    };
    let mut faults: Vec<String> = MEMBERS
        .iter()
        .filter(|(member, code)| is_gone(member) && !counts.contains_key(code))
        .map(|(member, _)| format!("`{member}` is gone without a warning"))
        .collect();
    if of(&new_materials, "doubleSided") > of(&old_materials, "doubleSided") && !counts.contains_key("left-out-culling")
    {
        faults.push("materials are double-sided without a warning".into());
    }
    if empty_nodes(&before) > empty_nodes(&after) && !counts.contains_key("left-out-empty-nodes") {
        faults.push("empty nodes are gone without a warning".into());
    }
    faults
}

/// Counts the occurrences of each member, except those with the default value.
fn keys(value: &Value, names: &mut BTreeMap<String, usize>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, names)),
        Value::Object(object) => {
            for (name, value) in object {
                let is_default = match name.as_str() {
                    "baseColorFactor" => {
                        value.as_array().is_some_and(|parts| parts.iter().all(|part| part.as_f64() == Some(1.0)))
                    }
                    "emissiveFactor" => {
                        value.as_array().is_some_and(|parts| parts.iter().all(|part| part.as_f64() == Some(0.0)))
                    }
                    "doubleSided" => *value == Value::Bool(false),
                    "alphaMode" => value == "OPAQUE",
                    _ => false,
                };
                *names.entry(name.clone()).or_default() += usize::from(!is_default);
                keys(value, names);
            }
        }
        _ => {}
    }
}

/// Long integers written with other digits, without a warning, or although 64 bits can store all of them.
fn integers(source: &[u8], written: &[u8], report: &Report) -> Vec<String> {
    let is_long = |word: &&str| word.len() > 15 && word.bytes().all(|byte| byte.is_ascii_digit());
    let [before, after] = [source, written].map(String::from_utf8_lossy);
    let words = |text: &'static [char]| before.split(text).filter(is_long).collect::<Vec<_>>();
    let lost = words(&[',', '\t', '\n', '\r', ' ', '"']).into_iter().filter(|word| !after.contains(*word));
    let is_whole = words(&[',', '\t', '\n', '\r', ' ', '"']).iter().all(|word| word.parse::<u64>().is_ok());
    let has_others = before.contains(['.', '-']);
    if report.warnings.is_empty() || is_whole && !has_others {
        lost.map(|word| format!("{word} has other digits")).collect()
    } else {
        Vec::new()
    }
}
