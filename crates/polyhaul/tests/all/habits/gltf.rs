//! Deviations in glTF.

use super::{Change, Changed, hold};
use polyhaul_testkit::random::Random;
use serde_json::{Value, json};

/// The JSON of a .glb file, and the bytes after its chunk.
fn parts(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let length = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
    let json = serde_json::from_slice(bytes.get(20..20 + length)?).ok()?;
    Some((json, &bytes[20 + length..]))
}

fn joined(mut json: Vec<u8>, rest: &[u8], pads: bool) -> Vec<u8> {
    while pads && !json.len().is_multiple_of(4) {
        json.push(b' ');
    }
    let size = (20 + json.len() + rest.len()) as u32;
    [b"glTF\x02\0\0\0", &size.to_le_bytes()[..], &(json.len() as u32).to_le_bytes(), b"JSON", &json, rest].concat()
}

fn rebuilt(json: &Value, rest: &[u8]) -> Vec<u8> {
    joined(json.to_string().into_bytes(), rest, true)
}

/// Writes all integers of a value with a decimal point or an exponent.
fn decimals(value: &Value, random: &mut Random) -> String {
    match value {
        Value::Number(number) if number.is_u64() && random.once_in(2) => format!("{number}.0"),
        Value::Number(number) if number.is_u64() => format!("{number}e0"),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| decimals(value, random)).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| format!("{}:{}", json!(key), decimals(value, random)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn glb_decimals(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (json, rest) = parts(bytes)?;
    Changed::silent(joined(decimals(&json, random).into_bytes(), rest, true))
}

fn glb_unpadded(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (json, rest) = parts(bytes)?;
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4) + 1 + random.below(3), b' ');
    Changed::warned(joined(text, rest, false), "unpadded-chunk")
}

fn glb_child_in_scene(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (mut json, rest) = parts(bytes)?;
    let parents = json["nodes"].as_array()?.iter();
    let children: Vec<Value> = parents.filter_map(|node| node["children"].as_array()).flatten().cloned().collect();
    let child = children.get(random.below(children.len()))?.clone();
    json["scenes"][0]["nodes"].as_array_mut()?.push(child);
    Changed::warned(rebuilt(&json, rest), "listed-node")
}

/// Extensions that only images need, and one that geometry needs.
fn glb_required_images(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (mut json, rest) = parts(bytes)?;
    let name = ["KHR_texture_basisu", "EXT_texture_webp", "EXT_texture_avif", "MSFT_texture_dds"][random.below(4)];
    for list in ["extensionsUsed", "extensionsRequired"] {
        match json[list].as_array_mut() {
            Some(names) => names.push(json!(name)),
            None => json[list] = json!([name]),
        }
    }
    Changed::silent(rebuilt(&json, rest))
}

fn glb_required_geometry(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (mut json, rest) = parts(bytes)?;
    let name = ["KHR_draco_mesh_compression", "EXT_unknown_geometry"][random.below(2)];
    json["extensionsUsed"] = json!([name]);
    json["extensionsRequired"] = json!([name]);
    Changed::refused(rebuilt(&json, rest), name)
}

/// Materials with other names are the same materials.
fn glb_renamed(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let (mut json, rest) = parts(bytes)?;
    let materials = json["materials"].as_array_mut()?;
    materials.iter_mut().enumerate().for_each(|(number, material)| material["name"] = json!(format!("other {number}")));
    Some(Changed::silent(rebuilt(&json, rest))?.but("material names"))
}

/// Reordered members, and unknown members.
fn glb_unknown(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let (mut json, rest) = parts(bytes)?;
    json["asset"]["somethingNew"] = json!({"a": [1, 2.5, null]});
    json["somethingNew"] = json!("é");
    Changed::silent(rebuilt(&json, rest))
}

#[test]
fn glb() {
    let changes: [(&str, Change); 7] = [
        ("other names of materials", glb_renamed),
        ("integers as decimals", glb_decimals),
        ("a chunk without padding", glb_unpadded),
        ("a scene that lists a child", glb_child_in_scene),
        ("extensions for images", glb_required_images),
        ("extensions for geometry", glb_required_geometry),
        ("unknown members", glb_unknown),
    ];
    hold("glb", "glb", &changes);
}
