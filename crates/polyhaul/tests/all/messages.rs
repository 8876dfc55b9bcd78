//! The guide's page of messages: examples of the warnings and errors of the test data.
//!
//! `cargo xtask option-page` writes the page: it reads the test data and converts it to every format, and keeps the
//! first example of each message. The test repeats the examples on the page, so that their texts are current, and fails
//! if a kind of warning has none. For kinds that no file of the test data shows, there are [`INLINE`], [`IN_GLTF`],
//! [`PATCHED`], [`IN_FOLDER`] and [`MADE`].

use crate::support::data_bytes;
use polyhaul::inspect::validate;
use polyhaul::model::VertexGroup;
use polyhaul::options::{OnError, OptionGroup};
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::severity::KINDS;
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Format, Input, Output, ReadOptions, Reader, Report, Result, WriteOptions, Writer};
use polyhaul_testkit::corpus::{self, Folder};
use polyhaul_testkit::exr::{ExrChannel, ExrPart, exr};
use polyhaul_testkit::output::Shared;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = "../docs/guide/messages.md";

const INTRODUCTION: &str = "\
# Messages

This page shows an example of every kind of warning, and the errors that reading the test data produces. These errors
stop the read by default; with `--on-error warn`, and in `validate`, most of them are reported as warnings with the same
text. [Losses](losses.md) lists all kinds of warnings and explains severities.

An input in the tables is a file in `testdata`, or is described at the end of this page; `→ ply` means that it was
converted to that format, and `→ preview` that a preview of it was drawn. This page is generated
(`cargo xtask option-page`).

";

/// The header of an image that exceeds the budget of a preview.
const LARGE: &str = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 6000 +X 6000\n";

/// Examples of kinds that no file of the test data shows: file name, content, target (a format or `preview`).
const INLINE: &[(&str, &str, &str)] = &[
    ("plymesh.pbrt", "WorldBegin\nShape \"plymesh\"\n", ""),
    ("twice.pbrt", "WorldBegin\nMakeNamedMaterial \"a\"\nMakeNamedMaterial \"a\"\n", ""),
    ("texture.pbrt", "WorldBegin\nMaterial \"diffuse\" \"texture reflectance\" \"none\"\n", ""),
    ("medium.pbrt", "WorldBegin\nMediumInterface \"a\" \"b\"\nShape \"sphere\"\n", ""),
    ("class.pbrt", "WorldBegin\nShape \"blob\"\n", ""),
    ("parameter.pbrt", "WorldBegin\nShape \"sphere\" \"float radios\" 1\n", ""),
    ("option.pbrt", "Option \"float x\" 1\nWorldBegin\n", ""),
    ("color_space.pbrt", "ColorSpace \"foo\"\nWorldBegin\n", ""),
    ("coordinates.pbrt", "CoordSysTransform \"x\"\nWorldBegin\n", ""),
    ("scopes.pbrt", "WorldBegin\nObjectBegin \"a\"\nAttributeEnd\nObjectEnd\n", ""),
    ("quote.pbrt", "WorldBegin\nShape \"sphere\n", ""),
    ("token.pbrt", "WorldBegin\n5\n", ""),
    ("old.pbrt", "Film \"image\"\nWorldBegin\nMaterial \"matte\"\n", ""),
    ("string.pbrt", "WorldBegin\nShape sphere\n", ""),
    (
        "irregular.pbrt",
        "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1]\n",
        "obj",
    ),
    ("colors.obj", "#MRGB ffaabbccffaabbccffaabbcc\nv 0 0 0\n", ""),
    ("decimal.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\ns 1.0\nf 1.0 2 3\n", ""),
    ("decimal.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3.0 0 1 2\n", ""),
    ("solid.obj", "solid a\nv 0 0 0\n", ""),
    ("quote.csv", "x,y\n1,2\n\"3,4\n", ""),
    ("large.hdr", LARGE, "preview"),
    ("point.obj", "v 0 0 0\nf 1 1 1\n", "preview"),
    ("unpadded.glb", "glTF\x02\0\0\0;\0\0\0\x1B\0\0\0JSON{\"asset\":{\"version\":\"2.0\"}}\x04\0\0\0BIN\0\0\0\0\0", ""),
    (
        "empty.stl",
        "solid a\nendsolid a\nsolid b\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid b\n",
        "",
    ),
    ("color.obj", "v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "ply"),
    ("bright.obj", "v 0 0 0 2 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n", "ply"),
    (
        "trailing.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n4 5 6\n",
        "",
    ),
    (
        "indices.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
         element face 0\nproperty list uchar int indices\nend_header\n0 0 0\n",
        "",
    ),
    (
        "nan.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
         property float f_dc_0\nproperty float f_dc_1\nproperty float f_dc_2\nproperty float opacity\n\
         property float scale_0\nproperty float scale_1\nproperty float scale_2\nproperty float rot_0\n\
         property float rot_1\nproperty float rot_2\nproperty float rot_3\nend_header\n\
         0 0 0 0 0 0 nan 0 0 0 1 0 0 0\n",
        "",
    ),
    (
        "harmonics.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
         property float f_dc_0\nproperty float f_dc_1\nproperty float f_dc_2\nproperty float opacity\n\
         property float scale_0\nproperty float scale_1\nproperty float scale_2\nproperty float rot_0\n\
         property float rot_1\nproperty float rot_2\nproperty float rot_3\nproperty float f_rest_0\n\
         end_header\n0 0 0 0 0 0 0 0 0 0 1 0 0 0 0\n",
        "",
    ),
    (
        "flat.ply",
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
         property float f_dc_0\nproperty float f_dc_1\nproperty float f_dc_2\nproperty float opacity\n\
         property float scale_0\nproperty float scale_1\nproperty float rot_0\nproperty float rot_1\n\
         property float rot_2\nproperty float rot_3\nend_header\n0 0 0 0 0 0 0 0 0 1 0 0 0\n",
        "glb",
    ),
    (
        "misaligned.gltf",
        r#"{"asset": {"version": "2.0"}, "nodes": [{"mesh": 0}],
"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 0}]}],
"accessors": [{"bufferView": 0, "byteOffset": 1, "componentType": 5126, "count": 1, "type": "VEC3"}],
"bufferViews": [{"buffer": 0, "byteLength": 13}],
"buffers": [{"byteLength": 13, "uri": "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAA=="}]}"#,
        "",
    ),
];

/// Examples in binary formats, made from test data: name, file, offset, bytes to put there, target.
const PATCHED: &[(&str, &str, usize, &[u8], &str)] = &[
    ("flags.spz", "spz/good/v4.spz", 14, b"\x05", ""),
    ("garbage.ply.gz", "gz/good/mesh.ply.single.gz", 2424, b"!", ""),
    // Half the height, and two layers or slices.
    ("layers.ktx2", "ktx2/good/rgba8.ktx2", 24, b"\x04\0\0\0\0\0\0\0\x02", "tga"),
    ("slices.ktx2", "ktx2/good/rgba8.ktx2", 24, b"\x04\0\0\0\x02", "tga"),
    ("length.glb", "glb/good/quad.glb", 9, b"\x01", ""),
    ("merged.psd", "psd/good/gray_raw.psd", 50, b"\0", ""),
    ("swizzle.ktx2", "ktx2/good/bc1_mips.ktx2", 248, b"KTXswizzle\0rrr1", ""),
    ("trailing.npy", "table/good/rows.npy", 176, b"!", ""),
];

/// An example that needs several files or options.
struct InFolder {
    /// Names and contents. The first file is the input.
    files: &'static [(&'static str, &'static str)],
    /// Names and values.
    options: &'static [(&'static str, &'static str)],
    target: &'static str,
}

const MESH: &str = "WorldBegin\nShape \"plymesh\" \"string filename\" \"a.ply\"\n";
const MESHES: &str = "WorldBegin\nShape \"plymesh\" \"string filename\" \".\"\n\
    Shape \"plymesh\" \"string filename\" \"../a.ply\"\nShape \"plymesh\" \"string filename\" \"b.ply\"\n";
const POINT: &str = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
    end_header\n0 0 0\n";
const QUANTIZED: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.3 0.7\nf 1/1 2/1 3/1\n";
const TEXTURED: &str = "mtllib a.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
const TEXTURES: &str = "WorldBegin\nTexture \"1\" \"spectrum\" \"imagemap\" \"string filename\" \"A.png\"\n\
    Texture \"2\" \"spectrum\" \"imagemap\" \"string filename\" \"../b.png\"\n\
    Texture \"3\" \"spectrum\" \"imagemap\" \"string filename\" \".\"\n\
    Texture \"4\" \"spectrum\" \"imagemap\" \"string filename\" \"none.png\"\n";

const IN_FOLDER: &[InFolder] = &[
    InFolder { files: &[("broken.pbrt", MESH), ("a.ply", "ply\n")], options: &[], target: "" },
    InFolder {
        files: &[("textured.obj", TEXTURED), ("a.mtl", "newmtl a\nmap_Kd a.hdr\n"), ("a.hdr", LARGE)],
        options: &[],
        target: "preview",
    },
    InFolder {
        files: &[("inline.pbrt", MESH), ("a.ply", POINT)],
        options: &[("pbrt.meshes", "inline")],
        target: "pbrt",
    },
    InFolder {
        files: &[("meshes.pbrt", MESHES)],
        options: &[("load_meshes", "false"), ("limits.files", "1")],
        target: "",
    },
    InFolder { files: &[("quantized.obj", QUANTIZED)], options: &[("gltf.quantize", "true")], target: "glb" },
    InFolder {
        files: &[("repeated.obj", "mtllib a.mtl\n"), ("a.mtl", "newmtl a\nKd 1 0 0\nKd 0 1 0\n")],
        options: &[],
        target: "",
    },
    InFolder {
        files: &[("textures.pbrt", TEXTURES), ("a.png", ""), ("../b.png", "")],
        options: &[("limits.files", "2")],
        target: "",
    },
    InFolder { files: &[("references.pbrt", TEXTURES), ("a.png", ""), ("../b.png", "")], options: &[], target: "pbrt" },
    InFolder {
        files: &[("copied.pbrt", TEXTURES), ("a.png", ""), ("../b.png", "")],
        options: &[("copy_assets", "true")],
        target: "pbrt",
    },
];

type MadeExample = (&'static str, &'static str, fn() -> Result<Report>);

/// Examples made by a program: name, description, and a function that makes the example and reads or writes it.
const MADE: &[MadeExample] = &[
    ("parameters.pbrt", "a sphere with 65,536 parameters", parameters),
    ("subsampled.exr", "2 x 2 pixels, with one sample in the channel `Z`", subsampled),
    ("triangle", "a scene with a sharp edge, a vertex group and a face in material slot 1, written as OBJ", triangle),
];

fn parameters() -> Result<Report> {
    let parameters: String = (0..=u16::MAX).map(|number| format!(" \"float p{number}\" 1")).collect();
    let text = format!("WorldBegin\nShape \"sphere\"{parameters}\n");
    let input = Input::Memory(text.into_bytes(), "parameters.pbrt".into());
    validate(input, &ReadOptions::default()).map(|checked| checked.report)
}

fn subsampled() -> Result<Report> {
    let channel = |name: &str| ExrChannel::new(name, 1, |_, _| 0);
    let depth = ExrChannel { sampling: [2, 2], ..channel("Z") };
    let bytes = exr(&[ExrPart::new(2, 2, vec![channel("B"), channel("G"), channel("R"), depth])]);
    Reader::new(Input::Memory(bytes, "subsampled.exr".into())).image().map(|loaded| loaded.report)
}

fn triangle() -> Result<Report> {
    let text = b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec();
    let mut scene = polyhaul::read(Input::Memory(text, "a.obj".into()))?;
    let mesh = &mut scene.meshes[0];
    mesh.sharp_edges = vec![[0, 1]].into();
    mesh.vertex_groups = vec![VertexGroup { name: "arm".into(), weights: vec![1.0; 3].into() }];
    mesh.face_materials = vec![1].into();
    let output = Output::Writer(Box::new(Shared::default()), "out.obj".into());
    Writer::new(output).format(Format::Obj).scene(&scene)
}

/// Examples in glTF: the name, properties of the node, attributes and other properties of the primitive, and properties
/// of the document.
const IN_GLTF: &[[&str; 4]] = &[
    [
        "animations",
        "",
        "",
        r#""animations": [{"channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}], "samplers": [{"input": 0, "output": 0}]}]"#,
    ],
    ["skins", r#""skin": 0"#, "", r#""skins": [{"joints": [0]}]"#],
    ["weights", "", r#", "JOINTS_0": 1, "WEIGHTS_0": 1"#, ""],
    ["splats", "", r#"}, "mode": 0, "extensions": {"KHR_gaussian_splatting": {}}}, {"attributes": {"POSITION": 0"#, ""],
    [
        "blended",
        "",
        r#"}, "material": 0, "extras": {"#,
        r#""materials": [{"alphaMode": "BLEND", "occlusionTexture": {"index": 0}}], "textures": [{"source": 0}], "images": [{"uri": "a.png"}]"#,
    ],
    ["morphs", "", r#"}, "targets": [{"POSITION": 0}], "extras": {"#, ""],
    ["tangents", "", r#", "TANGENT": 1"#, ""],
    ["attribute", "", r#", "_MATRIX": 2"#, ""],
    ["primitive", "", r#"}}, {"attributes": {"NORMAL": 0"#, ""],
    ["child", r#""children": [1]"#, "", r#""scenes": [{"nodes": [0, 1]}]"#],
    ["outside", "", "", r#""scenes": [{"nodes": [1]}]"#],
    [
        "mirrored",
        "",
        r#"}, "material": 0, "extras": {"#,
        r#""materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}], "textures": [{"sampler": 0, "source": 0}], "samplers": [{"wrapS": 33648}], "images": [{"uri": "a.png"}]"#,
    ],
    [
        "rotated",
        "",
        r#"}, "material": 0, "extras": {"#,
        r#""materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 1, "extensions": {"KHR_texture_transform": {"rotation": 1}}}}, "occlusionTexture": {"index": 1}, "alphaMode": "BLEND"}], "textures": [{"source": 0}, {}], "images": [{"uri": "a.png"}]"#,
    ],
];

/// Returns the text of an example in glTF.
fn gltf([_, node, primitive, document]: &[&str; 4]) -> String {
    let [node, document] =
        [node, document].map(|extra| if extra.is_empty() { String::new() } else { format!(", {extra}") });
    let scenes = if document.contains("scenes") { "" } else { r#", "scenes": [{"nodes": [0]}]"# };
    let data = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA";
    format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0{scenes}{document},
"nodes": [{{"mesh": 0{node}}}, {{"name": "b"}}],
"meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0{primitive}}}}}]}}],
"accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}},
{{"componentType": 5126, "count": 3, "type": "VEC4"}}, {{"componentType": 5126, "count": 3, "type": "MAT2"}}],
"bufferViews": [{{"buffer": 0, "byteLength": 36}}],
"buffers": [{{"byteLength": 36, "uri": "data:application/octet-stream;base64,{data}"}}]}}"#
    )
}

/// Maximum size of a file to try: examples should be small.
const MAX_BYTES: u64 = 1 << 17;

/// An input that is validated or, with a target, converted or drawn.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    input: String,
    /// The name of a format, or `preview`; empty if the input is only validated.
    target: String,
}

impl Trial {
    fn new(input: &str, target: &str) -> Trial {
        Trial { input: input.into(), target: target.into() }
    }

    /// Returns the input and the target, as shown in a cell of the page.
    fn name(&self) -> String {
        if self.target.is_empty() { self.input.clone() } else { format!("{} → {}", self.input, self.target) }
    }

    fn from_cell(cell: &str) -> Trial {
        let (input, target) = cell.split_once(" → ").unwrap_or((cell, ""));
        Trial::new(input, target)
    }

    /// Returns a message as shown in the page: without the paths of this machine and the name of the input.
    fn shown(&self, text: &str) -> String {
        let root = format!("{}/", corpus::root().display());
        let text = without_folders(&text.replace(&root, ""));
        let text =
            text.strip_prefix(&*self.input).map_or(&*text, |rest| rest.trim_start_matches([':', '/']).trim_start());
        cell(text)
    }

    fn source(&self) -> Input {
        if let Some((name, content, _)) = INLINE.iter().find(|(name, ..)| *name == self.input) {
            return Input::Memory(content.as_bytes().to_vec(), (*name).into());
        }
        if let Some((name, file, offset, bytes, _)) = PATCHED.iter().find(|(name, ..)| *name == self.input) {
            let mut content = data_bytes(file);
            let end = content.len().min(offset + bytes.len());
            content.splice(*offset..end, bytes.iter().copied());
            return Input::Memory(content, (*name).into());
        }
        let stem = self.input.trim_end_matches(".gltf");
        match IN_GLTF.iter().find(|[name, ..]| *name == stem) {
            Some(example) => Input::Memory(gltf(example).into_bytes(), self.input.clone()),
            None => Input::Path(corpus::root().join(&self.input)),
        }
    }

    /// Validates, converts or draws the input; returns the warnings and the error.
    fn run(&self) -> (Warnings, Option<Error>) {
        let made = MADE.iter().find(|(name, ..)| *name == self.input);
        let example = IN_FOLDER.iter().find(|example| example.files[0].0 == self.input);
        let result = match (made, example) {
            (Some((.., make)), _) => make().map(|report| (report.warnings, None)),
            (None, Some(InFolder { files, options, .. })) => {
                let folder = Folder::new("messages").unwrap();
                for (name, content) in *files {
                    folder.file(&format!("scene/{name}"), content).unwrap();
                }
                std::fs::create_dir(folder.join("out")).unwrap();
                let input = Input::Path(folder.join("scene").join(&self.input));
                self.process(input, Output::Path(folder.join(&format!("out/out.{}", self.target))), options)
            }
            (None, None) => {
                let output = Output::Writer(Box::new(Shared::default()), format!("out.{}", self.target));
                self.process(self.source(), output, &[])
            }
        };
        result.unwrap_or_else(|error| (Warnings::default(), Some(error)))
    }

    fn process(&self, input: Input, output: Output, options: &[(&str, &str)]) -> Result<(Warnings, Option<Error>)> {
        let mut read = ReadOptions::default().with_on_error(OnError::Warn);
        let mut write = WriteOptions::default();
        for (name, value) in options {
            match ReadOptions::row(name) {
                Some(_) => read.set(name, value).unwrap(),
                None => write.set(name, value).unwrap(),
            }
        }
        match &*self.target {
            "" => validate(input, &read).map(|checked| (checked.report.warnings, checked.error)),
            "preview" => {
                let style = PreviewOptions::default().with_size([64, 48]);
                preview(input, &read, &style).map(|drawn| (drawn.report.warnings, None))
            }
            target => {
                let writer = Writer::new(output).options(&write).format(Format::named(target).unwrap()).threads(1);
                Reader::new(input).options(&read).convert(writer).map(|report| (report.warnings, None))
            }
        }
    }
}

/// Removes the paths of temporary folders: `/tmp/polyhaul-messages-1-2/scene/a.obj` becomes `a.obj`.
fn without_folders(text: &str) -> String {
    let root = std::env::temp_dir().join("polyhaul-messages-");
    let root = root.to_string_lossy();
    let mut parts = text.split(&*root);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    // `scene` or `out` follows the number of the folder.
    shown.extend(parts.filter_map(|part| part.splitn(3, '/').last()));
    shown
}

/// Escapes text for a table. Backslashes are literal in code spans, so only text outside them is escaped.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ");
    let parts = text.split('`').enumerate().map(|(number, part)| match number % 2 {
        0 => part.replace('\\', r"\\").replace('<', r"\<"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`").replace('|', r"\|")
}

/// Examples of warnings by code, and of errors by their text without numbers and names.
#[derive(Default)]
struct Examples {
    warnings: BTreeMap<&'static str, [String; 4]>,
    errors: BTreeMap<String, [String; 3]>,
}

impl Examples {
    fn add(&mut self, trial: &Trial) {
        let (warnings, error) = trial.run();
        for warning in warnings.kept() {
            let text = trial.shown(&warning.diagnostic.to_string());
            let hint = cell(warning.diagnostic.hint.as_deref().unwrap_or_default());
            let row = || [warning.severity.name().to_owned(), text, hint, trial.name()];
            self.warnings.entry(warning.code).or_insert_with(row);
        }
        if let Some(error) = error.filter(|_| trial.target.is_empty()) {
            let text = trial.shown(&error.to_string());
            let row = || [cell(error.diagnostic().hint.as_deref().unwrap_or_default()), text.clone(), trial.name()];
            self.errors.entry(template(&text)).or_insert_with(row);
        }
    }

    fn page(&self) -> String {
        let mut page = INTRODUCTION.to_owned()
            + "## Warnings\n\n| kind | severity | example | hint | input |\n| --- | --- | --- | --- | --- |\n";
        for (code, [severity, text, hint, input]) in &self.warnings {
            page += &format!("| `{code}` | {severity} | {text} | {hint} | {input} |\n");
        }
        page += "\n## Errors\n\n| message | hint | input |\n| --- | --- | --- |\n";
        // Sorted by format.
        let mut errors: Vec<_> = self.errors.values().collect();
        errors.sort_by_key(|[_, text, input]| (input, text));
        for [hint, text, input] in errors {
            page += &format!("| {text} | {hint} | {input} |\n");
        }
        page += "\n## Inputs that are not in `testdata`\n";
        for (name, text) in descriptions() {
            if page.contains(&format!("| {name} ")) {
                page += &format!("\n`{name}`{text}\n");
            }
        }
        page
    }
}

/// Returns the inputs that are not test data: their names, and the text that follows the name on the page.
fn descriptions() -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> =
        INLINE.iter().map(|(name, text, _)| ((*name).to_owned(), block(text))).collect();
    texts.extend(IN_GLTF.iter().map(|example| (format!("{}.gltf", example[0]), block(&gltf(example)))));
    for (name, file, offset, bytes, _) in PATCHED {
        texts.push(((*name).to_owned(), format!(": `{file}` with `{}` at byte {offset}", bytes.escape_ascii())));
    }
    for InFolder { files, options, .. } in IN_FOLDER {
        let options: Vec<String> = options.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
        let options = match &options[..] {
            [] => String::new(),
            [option] => format!(", with the option {option}"),
            options => format!(", with the options {}", options.join(" and ")),
        };
        let contents: Vec<String> = files.iter().map(|(name, content)| format!("{name}:\n{content}")).collect();
        texts.push((files[0].0.to_owned(), options + &block(&contents.join("\n"))));
    }
    texts.extend(MADE.iter().map(|(name, text, _)| ((*name).to_owned(), format!(": {text}"))));
    texts
}

/// Makes a block of text on the page, with control characters escaped.
fn block(text: &str) -> String {
    let visible = |c: char| if c == '\n' || !c.is_control() { c.to_string() } else { c.escape_debug().to_string() };
    let text: String = text.trim_end().chars().map(visible).collect();
    format!(":\n\n```text\n{text}\n```")
}

/// Replaces the file name, numbers and names, so that each message is listed once.
fn template(text: &str) -> String {
    let message = text.rsplit_once(": ").map_or(text, |(_, message)| message);
    let mut template = String::new();
    for (number, part) in message.split('`').enumerate() {
        match number % 2 {
            0 => template.extend(part.chars().filter(|c| !c.is_ascii_digit())),
            _ => template.push('`'),
        }
    }
    template
}

/// Lists the files of the test data, the project's own and small ones first.
fn inputs() -> Vec<String> {
    let mut paths = Vec::new();
    collect(&corpus::root(), &mut paths);
    let mut inputs: Vec<(bool, u64, String)> = paths
        .into_iter()
        .filter_map(|path| {
            let bytes = path.metadata().ok()?.len();
            let name = path.strip_prefix(corpus::root()).ok()?.to_string_lossy().replace('\\', "/");
            (bytes <= MAX_BYTES).then_some((!name.contains("/own/"), bytes, name))
        })
        .collect();
    inputs.sort();
    inputs.into_iter().map(|(.., name)| name).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("expected") {
            collect(&path, paths);
        } else if Format::of_path(&path).is_some() {
            paths.push(path);
        }
    }
}

fn all_examples() -> Examples {
    let mut examples = Examples::default();
    for (name, _, target) in INLINE {
        examples.add(&Trial::new(name, target));
    }
    for [name, ..] in IN_GLTF {
        for target in ["", "obj"] {
            examples.add(&Trial::new(&format!("{name}.gltf"), target));
        }
    }
    for input in inputs() {
        examples.add(&Trial::new(&input, ""));
        for target in Format::ALL.into_iter().filter(|format| format.is_written() && input.contains("/good/")) {
            examples.add(&Trial::new(&input, target.name()));
        }
    }
    let patched = PATCHED.iter().map(|(name, .., target)| (*name, *target));
    let in_folder = IN_FOLDER.iter().map(|example| (example.files[0].0, example.target));
    let made = MADE.iter().map(|(name, ..)| (*name, ""));
    for (name, target) in patched.chain(in_folder).chain(made) {
        examples.add(&Trial::new(name, target));
    }
    examples
}

/// Returns the cells of the page's tables.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| --- ") && !line.contains(" | input |"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
}

#[test]
#[cfg_attr(windows, ignore = "messages contain paths")]
fn the_page_of_messages_is_current() {
    let path = corpus::root().join(PAGE);
    if std::env::var_os("POLYHAUL_WRITE_PAGE").is_some() {
        std::fs::write(&path, all_examples().page()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    let mut codes = BTreeSet::new();
    for row in rows(&page) {
        let trial = Trial::from_cell(row.last().unwrap());
        let (warnings, error) = trial.run();
        let mut texts: Vec<String> =
            warnings.kept().iter().map(|warning| trial.shown(&warning.diagnostic.to_string())).collect();
        texts.extend(error.map(|error| trial.shown(&error.to_string())));
        let is_warning = row.len() == 5;
        let expected = if is_warning { row[2] } else { row[0] };
        assert!(
            texts.iter().any(|text| text == expected),
            "{trial:?}: {expected}\n{texts:?}: run `cargo xtask option-page`"
        );
        codes.extend(row.first().filter(|_| is_warning).map(|code| code.trim_matches('`').to_owned()));
    }
    let missing: Vec<&str> = KINDS.iter().map(|kind| kind.code).filter(|code| !codes.contains(*code)).collect();
    assert!(missing.is_empty(), "kinds without an example: {missing:?}");
}
