//! What other programs refuse or misread in written files, and what a comparison of values does not see.
//!
//! Written by hand from what importers accept. Nothing here asks the library; `polyhaul_testkit::losses` compares the
//! values.

use polyhaul::Report;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The faults of a file of format `to` at `path`, made of these bytes of format `from`.
pub fn faults(from: &str, to: &str, source: &[u8], path: &Path, report: &Report) -> Vec<String> {
    let written = std::fs::read(path).unwrap_or_default();
    match (from, to) {
        (_, "obj") => obj(&written, path),
        ("stl", "stl") => stl(source, &written),
        (_, "ply") if from != "ply" => ply(&written),
        ("glb", "glb") => [glb(&written, report), members(source, &written, report)].concat(),
        (_, "glb") => glb(&written, report),
        ("csv" | "tsv", "csv" | "tsv") => integers(source, &written, report),
        _ => Vec::new(),
    }
}

/// Keywords without a name, materials without a definition, two definitions of one name.
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
                faults.push(format!("the material `{name}` is not defined"));
            }
            _ => {}
        }
    }
    faults
}

/// The materials that the libraries beside an OBJ file define; `None` if it has none.
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

/// The 80 bytes of a header, which other programs keep colors in.
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

/// Lists in vertices, which Blender refuses.
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

/// Images beside a file that holds its images, without a warning.
fn glb(written: &[u8], report: &Report) -> Vec<String> {
    let Some(json) = json(written) else { return vec!["it is no .glb file".into()] };
    let images = json["images"].as_array().into_iter().flatten();
    let outside = images.filter(|image| image["uri"].as_str().is_some_and(|uri| !uri.starts_with("data:")));
    if report.warnings.is_empty() {
        outside.map(|image| format!("an image is not in the file: {}", image["uri"])).collect()
    } else {
        Vec::new()
    }
}

/// Members of glTF that say something, and the kind of warning about those that are left out.
const MEMBERS: [(&str, &str); 10] = [
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

/// Members that are gone without a warning.
fn members(source: &[u8], written: &[u8], report: &Report) -> Vec<String> {
    let [Some(before), Some(after)] = [json(source), json(written)] else { return Vec::new() };
    let [mut old, mut new] = [BTreeSet::new(), BTreeSet::new()];
    keys(&before, &mut old);
    keys(&after, &mut new);
    let counts = report.warnings.counts();
    let is_gone = |member: &str| old.contains(member) && !new.contains(member);
    let lost = MEMBERS.iter().filter(|(member, code)| is_gone(member) && !counts.contains_key(code));
    lost.map(|(member, _)| format!("`{member}` is gone without a warning")).collect()
}

/// The names of all members.
fn keys(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, names)),
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                keys(value, names);
            }
        }
        _ => {}
    }
}

/// Long integers that are written with other digits, without a warning.
fn integers(source: &[u8], written: &[u8], report: &Report) -> Vec<String> {
    let is_long = |word: &&str| word.len() > 15 && word.bytes().all(|byte| byte.is_ascii_digit());
    let [before, after] = [source, written].map(String::from_utf8_lossy);
    let words = |text: &'static [char]| before.split(text).filter(is_long).collect::<Vec<_>>();
    let lost = words(&[',', '\t', '\n', '\r', ' ', '"']).into_iter().filter(|word| !after.contains(*word));
    if report.warnings.is_empty() { lost.map(|word| format!("{word} has other digits")).collect() } else { Vec::new() }
}
