//! The guide's page of messages: examples of the warnings and errors of the test data.
//!
//! `cargo xtask option-page` writes the page: it reads the test data and converts it to every format, and keeps the
//! first example of each message. The test repeats the examples on the page, so that their texts are current, and fails
//! if a kind of warning has none. A kind that no file of the test data shows has an example in [`INLINE`].

use polyhaul::inspect::validate;
use polyhaul::options::OnError;
use polyhaul::severity::KINDS;
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Format, Input, Output, ReadOptions, Reader, Writer};
use polyhaul_testkit::corpus;
use polyhaul_testkit::output::Shared;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = "../docs/guide/messages.md";

const INTRODUCTION: &str = "\
# Messages

Examples of warnings, one for each kind that the test data causes, and of errors. The second table lists the errors that
stop a read by default. With `--on-error warn`, and in `validate`, most of them are warnings with the same text.
[Losses](losses.md) lists all kinds of warnings and explains severities.

An input in the tables is a file in `testdata`, or a small file at the end of this page; `→ ply` means that it was
converted to that format. This page is generated (`cargo xtask option-page`).

";

/// Examples of kinds that no file of the test data shows: file name, content, target.
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
    ("scopes.pbrt", "WorldBegin\nAttributeBegin\nTransformEnd\n", ""),
    ("quote.pbrt", "WorldBegin\nShape \"sphere\n", ""),
    ("token.pbrt", "WorldBegin\n5\n", ""),
    ("old.pbrt", "Film \"image\"\nWorldBegin\nMaterial \"matte\"\n", ""),
    ("camera.pbrt", "Camera \"perspective\"\nCamera \"perspective\"\nWorldBegin\n", ""),
    ("image.pbrt", "WorldBegin\nTexture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"none.png\"\n", ""),
    (
        "irregular.pbrt",
        "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1]\n",
        "obj",
    ),
    ("colors.obj", "#MRGB ffaabbccffaabbccffaabbcc\nv 0 0 0\n", ""),
    ("decimal.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\ns 1.0\nf 1.0 2 3\n", ""),
    ("decimal.off", "OFF\n3.0 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", ""),
    ("degenerate.obj", "v 0 0 0\nv 1 0 0\nf 1 2 2\n", "stl"),
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
    ("uv.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.123456789 0\nf 1/1 2/1 3/1\n", "ply"),
];

/// Kinds that need other files, options, or a scene of a program, or whose example is still to be written.
const WITHOUT_EXAMPLE: &[&str] = &[
    "broken-mesh",
    "broken-splats",
    "changed-channels",
    "changed-positions",
    "changed-reference",
    "changed-splats",
    "changed-uvs",
    "coarse-picture",
    "coarse-texture",
    "decimal-integer",
    "empty-picture",
    "flat-splats",
    "incomplete-harmonics",
    "irregular-mesh",
    "left-in-files",
    "left-out-alpha-modes",
    "left-out-flags",
    "left-out-layers",
    "left-out-occlusion-maps",
    "left-out-sharp-edges",
    "left-out-skin-weights",
    "left-out-slices",
    "left-out-vertex-groups",
    "misaligned-accessor",
    "mismatched-scopes",
    "missing-merged-image",
    "missing-reference",
    "missing-slot",
    "odd-property",
    "other-case",
    "other-format",
    "outside-mesh",
    "outside-reference",
    "outside-texture",
    "repeated-statement",
    "too-many-parameters",
    "trailing-data",
    "trailing-garbage",
    "unapplied-swizzle",
    "unchecked-mesh",
    "unchecked-texture",
    "unclosed-quote",
    "uncopied-reference",
    "unexpected-token",
    "unpadded-chunk",
    "unresolved-reference",
    "wrong-file-size",
];

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
    ["weights", "", r#"}, "attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 1"#, ""],
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

/// An input that is validated or, with a target, converted.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    input: String,
    target: Option<Format>,
}

impl Trial {
    /// Returns the input and the target, as shown in a cell of the page.
    fn name(&self) -> String {
        match self.target {
            Some(target) => format!("{} → {}", self.input, target.name()),
            None => self.input.clone(),
        }
    }

    fn from_cell(cell: &str) -> Trial {
        match cell.split_once(" → ") {
            Some((input, target)) => Trial { input: input.into(), target: Format::named(target) },
            None => Trial { input: cell.into(), target: None },
        }
    }

    /// Returns a message as shown in the page: without the paths of this machine and the name of the input.
    fn shown(&self, text: &str) -> String {
        let root = format!("{}/", corpus::root().display());
        let text = text.replace(&root, "");
        let text =
            text.strip_prefix(&*self.input).map_or(&*text, |rest| rest.trim_start_matches([':', '/']).trim_start());
        cell(text)
    }

    fn source(&self) -> Input {
        if let Some((name, content, _)) = INLINE.iter().find(|(name, ..)| *name == self.input) {
            return Input::Memory(content.as_bytes().to_vec(), (*name).into());
        }
        let stem = self.input.trim_end_matches(".gltf");
        match IN_GLTF.iter().find(|[name, ..]| *name == stem) {
            Some(example) => Input::Memory(gltf(example).into_bytes(), self.input.clone()),
            None => Input::Path(corpus::root().join(&self.input)),
        }
    }

    /// Validates or converts the input; returns the warnings and the error.
    fn run(&self) -> (Warnings, Option<Error>) {
        let options = ReadOptions::default().with_on_error(OnError::Warn);
        let result = match self.target {
            Some(target) => {
                let output = Output::Writer(Box::new(Shared::default()), format!("out.{}", target.name()));
                let writer = Writer::new(output).format(target).threads(1);
                Reader::new(self.source()).options(&options).convert(writer).map(|report| (report.warnings, None))
            }
            None => validate(self.source(), &options).map(|checked| (checked.report.warnings, checked.error)),
        };
        result.unwrap_or_else(|error| (Warnings::default(), Some(error)))
    }
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
        if let Some(error) = error.filter(|_| trial.target.is_none()) {
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
        let texts = INLINE.iter().map(|(name, text, _)| ((*name).to_owned(), (*text).to_owned()));
        for (name, text) in texts.chain(IN_GLTF.iter().map(|example| (format!("{}.gltf", example[0]), gltf(example)))) {
            if page.contains(&format!("| {name} ")) {
                page += &format!("\n`{name}`:\n\n```text\n{}\n```\n", text.trim_end());
            }
        }
        page
    }
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
        examples.add(&Trial { input: (*name).into(), target: Format::named(target) });
    }
    for [name, ..] in IN_GLTF {
        for target in [None, Some(Format::Obj)] {
            examples.add(&Trial { input: format!("{name}.gltf"), target });
        }
    }
    for input in inputs() {
        examples.add(&Trial { input: input.clone(), target: None });
        for target in Format::ALL.into_iter().filter(|format| format.is_written() && input.contains("/good/")) {
            examples.add(&Trial { input: input.clone(), target: Some(target) });
        }
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
    assert_eq!(missing, WITHOUT_EXAMPLE, "kinds without an example");
}
