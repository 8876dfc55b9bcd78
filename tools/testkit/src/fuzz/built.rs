//! Builds scenes from bytes: each byte is a decision, so mutations change the structure of a pbrt scene or a glTF file,
//! and most inputs are syntactically valid.
//!
//! Scenes are mostly valid: most names and indices refer to something, and blocks are closed. The properties are the
//! same as for other bytes of the format.

use super::pbrt;
use super::scans::gltf;
use super::trial::Effort;
use std::fmt::Write;

/// Decisions read from bytes, with zeros after the end.
struct Choices<'d>(&'d [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a number below `limit`, which is at most 256.
    fn below(&mut self, limit: usize) -> usize {
        self.byte() % limit.max(1)
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    /// Returns a count that is mostly small, but sometimes may overflow arithmetic.
    fn count(&mut self) -> u64 {
        const LARGE: [u64; 8] =
            [255, 256, 65_535, 65_536, u32::MAX as u64, 1 << 32, i64::MAX as u64, (1 << 62) / 3 + 1];
        if self.once_in(24) { LARGE[self.below(LARGE.len())] } else { self.below(40) as u64 }
    }

    /// Returns an index, mostly below `count`.
    fn index(&mut self, count: usize) -> u64 {
        if self.once_in(32) { self.count() } else { self.below(count) as u64 }
    }

    /// Formats a number. A few of these numbers are awkward to parse.
    fn number(&mut self) -> String {
        const AWKWARD: [&str; 8] = ["1e38", "-1e39", "1e-45", "1e999", "0.1", "-0", "123456789.123456789", "7e-320"];
        if self.once_in(24) { self.pick(&AWKWARD).to_owned() } else { format!("{}", self.byte() as f64 / 16.0 - 4.0) }
    }

    fn numbers(&mut self, count: usize) -> String {
        (0..count).map(|_| self.number()).collect::<Vec<_>>().join(" ")
    }
}

/// Builds a pbrt scene and reads it with [`pbrt`].
pub fn pbrt_built(data: &[u8], effort: Effort) {
    pbrt(pbrt_text(data).as_bytes(), effort);
}

const NAMES: [&str; 5] = ["a", "b", "metal", "", "ground plane"];

/// Writes directives with closed blocks.
fn pbrt_text(data: &[u8]) -> String {
    let mut choices = Choices(data);
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    if !choices.once_in(16) {
        text.push_str("LookAt 0 0 5 0 0 0 0 1 0\nCamera \"perspective\" \"float fov\" 40\nWorldBegin\n");
    }
    while !choices.is_done() {
        pbrt_directive(&mut choices, &mut open, &mut text);
    }
    while let Some(end) = open.pop() {
        text.push_str(end);
    }
    text
}

fn pbrt_directive(choices: &mut Choices<'_>, open: &mut Vec<&str>, text: &mut String) {
    let name = choices.pick(&NAMES);
    let _ = match choices.below(20) {
        0 => {
            open.push("AttributeEnd\n");
            writeln!(text, "AttributeBegin")
        }
        1 => {
            open.push("ObjectEnd\n");
            writeln!(text, "ObjectBegin \"{name}\"")
        }
        2 | 3 => write!(text, "{}", open.pop().unwrap_or("\n")),
        4 => writeln!(text, "ObjectInstance \"{name}\""),
        5 => writeln!(text, "Translate {}", choices.numbers(3)),
        6 => writeln!(text, "Rotate {}", choices.numbers(4)),
        7 => writeln!(text, "Scale {}", choices.numbers(3)),
        8 => writeln!(text, "{} [{}]", choices.pick(&["Transform", "ConcatTransform"]), choices.numbers(16)),
        9 => writeln!(
            text,
            "{}",
            choices.pick(&["ReverseOrientation", "Identity", "ReverseOrientation", "ActiveTransform EndTime"])
        ),
        10 => writeln!(text, "NamedMaterial \"{name}\""),
        11 => writeln!(text, "MakeNamedMaterial \"{name}\" {}", pbrt_material(choices)),
        12 => {
            let class = choices.pick(&["constant", "imagemap", "scale", "mix", "checkerboard"]);
            let kind = choices.pick(&["spectrum", "float"]);
            writeln!(text, "Texture \"{name}\" \"{kind}\" \"{class}\" {}", pbrt_parameters(choices))
        }
        13 => writeln!(text, "Material {}", pbrt_material(choices).replacen("\"string type\"", "", 1)),
        14 => writeln!(text, "AreaLightSource \"diffuse\" {}", pbrt_parameters(choices)),
        15 => writeln!(
            text,
            "LightSource \"{}\" {}",
            choices.pick(&["point", "infinite", "distant"]),
            pbrt_parameters(choices)
        ),
        16 => writeln!(
            text,
            "{} \"{name}\"",
            choices.pick(&["CoordinateSystem", "CoordSysTransform", "Include", "Import"])
        ),
        _ => writeln!(text, "Shape {}", pbrt_shape(choices)),
    };
}

fn pbrt_material(choices: &mut Choices<'_>) -> String {
    let class = choices.pick(&["diffuse", "coateddiffuse", "conductor", "dielectric", "mix", "interface"]);
    format!("\"string type\" \"{class}\" {}", pbrt_parameters(choices))
}

/// Writes a few parameters of any type; some refer to textures.
fn pbrt_parameters(choices: &mut Choices<'_>) -> String {
    const NAMES_OF_PARAMETERS: [&str; 8] =
        ["reflectance", "roughness", "value", "filename", "alpha", "L", "scale", "tex1"];
    let mut text = String::new();
    for _ in 0..choices.below(4) {
        let name = choices.pick(&NAMES_OF_PARAMETERS);
        let kind = choices.pick(&["float", "rgb", "texture", "string", "spectrum", "bool", "integer", "blackbody"]);
        let _ = match kind {
            "texture" | "string" => write!(text, "\"{kind} {name}\" \"{}\" ", choices.pick(&NAMES)),
            "bool" => write!(text, "\"bool {name}\" {} ", choices.pick(&["true", "false"])),
            "rgb" => write!(text, "\"rgb {name}\" [{}] ", choices.numbers(3)),
            "integer" => write!(text, "\"integer {name}\" {} ", choices.count()),
            "float" => write!(text, "\"float {name}\" {} ", choices.number()),
            _ => write!(text, "\"{kind} {name}\" [{}] ", choices.numbers(2)),
        };
    }
    text
}

fn pbrt_shape(choices: &mut Choices<'_>) -> String {
    let class = choices.pick(&[
        "trianglemesh",
        "trianglemesh",
        "bilinearmesh",
        "loopsubdiv",
        "sphere",
        "disk",
        "cylinder",
        "curve",
        "plymesh",
    ]);
    let mut text = format!("\"{class}\" ");
    if matches!(class, "trianglemesh" | "bilinearmesh" | "loopsubdiv" | "curve") {
        let points = choices.below(9) + 3;
        let _ = write!(text, "\"point3 P\" [{}] ", choices.numbers(points * 3));
        if !choices.once_in(4) {
            let corners = (choices.below(4) + 1) * if class == "bilinearmesh" { 4 } else { 3 };
            let indices: Vec<String> = (0..corners).map(|_| choices.index(points).to_string()).collect();
            let _ = write!(text, "\"integer indices\" [{}] ", indices.join(" "));
        }
        if choices.once_in(3) {
            let rows = points - usize::from(choices.once_in(8));
            let _ = match choices.below(3) {
                0 => write!(text, "\"normal N\" [{}] ", choices.numbers(rows * 3)),
                1 => write!(text, "\"point2 uv\" [{}] ", choices.numbers(rows * 2)),
                _ => write!(text, "\"vector3 S\" [{}] ", choices.numbers(rows * 3)),
            };
        }
    } else if class == "plymesh" {
        let _ = write!(text, "\"string filename\" \"{}\" ", choices.pick(&["a.ply", "geometry/b.ply.gz", ""]));
    }
    text + &pbrt_parameters(choices)
}

/// Builds a binary glTF file and reads it with [`gltf`].
pub fn gltf_built(data: &[u8], effort: Effort) {
    gltf(&gltf_file(data), effort);
}

/// Lengths of the lists that indices refer to.
struct Counts {
    views: usize,
    accessors: usize,
    materials: usize,
    meshes: usize,
    nodes: usize,
    buffer_bytes: usize,
}

fn gltf_file(data: &[u8]) -> Vec<u8> {
    // Decisions come first; the second half becomes the buffer.
    let [decisions, buffer] = [&data[..data.len().div_ceil(2)], &data[data.len().div_ceil(2)..]];
    let mut buffer = buffer.to_vec();
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    let mut json = gltf_json(&mut Choices(decisions), buffer.len()).into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut file = b"glTF\x02\0\0\0".to_vec();
    let total = 12 + 8 + json.len() + 8 + buffer.len();
    file.extend_from_slice(&(total as u32).to_le_bytes());
    for (kind, bytes) in [(b"JSON", json), (b"BIN\0", buffer)] {
        file.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        file.extend_from_slice(kind);
        file.extend_from_slice(&bytes);
    }
    file
}

fn gltf_json(choices: &mut Choices<'_>, buffer_bytes: usize) -> String {
    let counts = Counts {
        views: choices.below(5),
        accessors: choices.below(9),
        materials: choices.below(4),
        meshes: choices.below(4),
        nodes: choices.below(7),
        buffer_bytes,
    };
    let mut list = |name: &str, count: usize, item: fn(&mut Choices<'_>, &Counts, usize) -> String| {
        let items: Vec<String> = (0..count).map(|number| item(choices, &counts, number)).collect();
        format!(",\"{name}\":[{}]", items.join(","))
    };
    let lists = [
        list("bufferViews", counts.views, gltf_view),
        list("accessors", counts.accessors, gltf_accessor),
        list("materials", counts.materials, gltf_material),
        list("meshes", counts.meshes, gltf_mesh),
        list("nodes", counts.nodes, gltf_node),
    ];
    let roots = (0..choices.below(counts.nodes + 1))
        .map(|_| choices.index(counts.nodes).to_string())
        .collect::<Vec<_>>()
        .join(",");
    let version = if choices.once_in(16) { "1.0" } else { "2.0" };
    format!(
        "{{\"asset\":{{\"version\":\"{version}\"}},\"buffers\":[{{\"byteLength\":{buffer_bytes}}}]{}\
         ,\"scenes\":[{{\"nodes\":[{roots}]}}],\"scene\":0}}",
        lists.concat()
    )
}

fn gltf_view(choices: &mut Choices<'_>, counts: &Counts, _: usize) -> String {
    let offset = if choices.once_in(8) { choices.count() } else { choices.below(8) as u64 * 4 };
    let rest = (counts.buffer_bytes as u64).saturating_sub(offset);
    let length = if choices.once_in(8) { choices.count() } else { rest };
    let stride = if choices.once_in(4) { format!(",\"byteStride\":{}", 4 * choices.below(12)) } else { String::new() };
    format!("{{\"buffer\":{},\"byteOffset\":{offset},\"byteLength\":{length}{stride}}}", choices.index(1))
}

fn gltf_accessor(choices: &mut Choices<'_>, counts: &Counts, number: usize) -> String {
    let class = choices.pick(&["VEC3", "VEC3", "SCALAR", "VEC2", "VEC4", "MAT4", "MAT3"]);
    let component = choices.pick(&["5126", "5126", "5125", "5123", "5121", "5120", "5122", "5124"]);
    let mut text = format!("{{\"componentType\":{component},\"type\":\"{class}\",\"count\":{}", choices.count());
    if !choices.once_in(6) {
        let view = choices.index(counts.views);
        let _ = write!(text, ",\"bufferView\":{view},\"byteOffset\":{}", choices.index(8).saturating_mul(4));
    }
    if choices.once_in(4) {
        text.push_str(",\"normalized\":true");
    }
    if choices.once_in(6) {
        let [count, indices, values] = [choices.count(), choices.index(counts.views), choices.index(counts.views)];
        let _ = write!(
            text,
            ",\"sparse\":{{\"count\":{count},\"indices\":{{\"bufferView\":{indices},\"componentType\":{}}},\
             \"values\":{{\"bufferView\":{values}}}}}",
            choices.pick(&["5121", "5123", "5125", "5126"])
        );
    }
    if choices.once_in(8) {
        let _ = write!(text, ",\"name\":\"{number}\",\"min\":[0,0,0],\"max\":[{},1]", choices.number());
    }
    text + "}"
}

fn gltf_material(choices: &mut Choices<'_>, _: &Counts, number: usize) -> String {
    let [red, alpha] = [choices.number(), choices.number()];
    let mode = choices.pick(&["OPAQUE", "MASK", "BLEND", "?"]);
    let texture = if choices.once_in(8) { ",\"baseColorTexture\":{\"index\":0}" } else { "" };
    format!(
        "{{\"name\":\"{number}\",\"alphaMode\":\"{mode}\",\"pbrMetallicRoughness\":\
         {{\"baseColorFactor\":[{red},0.5,0.5,{alpha}]{texture}}}}}"
    )
}

fn gltf_mesh(choices: &mut Choices<'_>, counts: &Counts, _: usize) -> String {
    let mut primitive = |_| {
        let mut text = format!("{{\"attributes\":{{\"POSITION\":{}", choices.index(counts.accessors));
        for name in ["NORMAL", "TEXCOORD_0", "COLOR_0", "TANGENT", "JOINTS_0", "_OWN"] {
            if choices.once_in(4) {
                let _ = write!(text, ",\"{name}\":{}", choices.index(counts.accessors));
            }
        }
        text.push('}');
        if choices.once_in(2) {
            let _ = write!(text, ",\"indices\":{}", choices.index(counts.accessors));
        }
        if choices.once_in(3) {
            let _ = write!(text, ",\"mode\":{}", choices.below(9));
        }
        if choices.once_in(3) {
            let _ = write!(text, ",\"material\":{}", choices.index(counts.materials));
        }
        text + "}"
    };
    let primitives: Vec<String> = (0..2).map(&mut primitive).collect();
    format!("{{\"primitives\":[{}]}}", primitives.join(","))
}

/// Writes a node, whose child is usually the next node.
fn gltf_node(choices: &mut Choices<'_>, counts: &Counts, number: usize) -> String {
    let mut text = format!("{{\"name\":\"{number}\"");
    if !choices.once_in(3) {
        let _ = write!(text, ",\"mesh\":{}", choices.index(counts.meshes));
    }
    if choices.once_in(3) {
        let child = if choices.once_in(8) { choices.index(counts.nodes) } else { number as u64 + 1 };
        let _ = write!(text, ",\"children\":[{child}]");
    }
    if choices.once_in(3) {
        let [x, y, z] = [choices.number(), choices.number(), choices.number()];
        let _ = write!(text, ",\"translation\":[{x},{y},{z}],\"scale\":[{z},{x},1],\"rotation\":[{y},0,0,1]");
    }
    if choices.once_in(6) {
        let _ = write!(
            text,
            ",\"extensions\":{{\"EXT_mesh_gpu_instancing\":{{\"attributes\":{{\"TRANSLATION\":{},\"SCALE\":{}}}}}}}",
            choices.index(counts.accessors),
            choices.index(counts.accessors)
        );
    }
    text + "}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use polyhaul::{Input, Reader};

    /// Returns the number of readable scenes among 300 built from random bytes.
    fn read(name: &str, build: fn(&[u8]) -> Vec<u8>) -> usize {
        let mut random = Random::new(5);
        let bytes: Vec<Vec<u8>> = (0..300).map(|_| (0..120).map(|_| random.below(256) as u8).collect()).collect();
        let is_read = |bytes: &&Vec<u8>| Reader::new(Input::Memory(build(bytes), name.into())).scene().is_ok();
        bytes.iter().filter(is_read).count()
    }

    #[test]
    fn many_are_read_and_some_are_not() {
        let pbrt = read("x.pbrt", |data| pbrt_text(data).into_bytes());
        let gltf = read("x.glb", gltf_file);
        assert!((20..290).contains(&pbrt) && (20..290).contains(&gltf), "{pbrt} {gltf}");
    }
}
