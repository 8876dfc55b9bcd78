//! pbrt scenes, with their referenced files.

use crate::content::Reading;
use crate::samples::{
    FilePart, LimitSample, NO_SAMPLES, Prefix, Sample, Samples, bad, file_part, good, limited, shape,
};
use polyhaul::Format;
use polyhaul_testkit::corpus;
use polyhaul_testkit::pbrt::hostile::Trap;
use std::sync::OnceLock;

pub const PBRT: Samples = Samples {
    format: Format::Pbrt,
    file_name: "x.pbrt",
    readings: &[Reading::Scene],
    folders: &[("pbrt/good", "pbrt"), ("pbrt/bad", "pbrt"), ("pbrt/regression", "pbrt")],
    // The other files are parts of scenes.
    is_good: |name| {
        let others = ["include", "import.", "v3"];
        name.contains("/good/0") && !others.iter().any(|other| name.contains(other))
    },
    // Deep nesting is valid.
    is_refused: |name| name.contains("/bad/") && !name.contains("nesting_"),
    made,
    split: Some(with_referenced_files),
    has_place: |place, _| place.line.is_some() && place.column.is_some() || &*place.file == "huge.ply",
    prefix,
    limits,
    claims: || {
        vec![
            bad("a string without an end", format!("WorldBegin\nShape \"{}", "a".repeat(1_000_000))),
            bad("numbers without an end", format!("WorldBegin\nShape \"a\" \"float x\" [ {}", "1 ".repeat(500_000))),
            bad("scopes", format!("WorldBegin\n{}", "AttributeBegin\n".repeat(100_000))),
            bad("a file that includes itself", "WorldBegin\nInclude \"again.pbrt\"\n"),
            bad("a mesh of 4e9 vertices", "WorldBegin\nShape \"plymesh\" \"string filename\" \"huge.ply\"\n"),
        ]
    },
    shapes: || Trap::ALL.map(|trap| shape(format!("{trap:?}"), move |size| trap.text(size as u64 / 3))).into(),
    ..NO_SAMPLES
};

/// Files of the test data that scenes refer to, by their names relative to the scenes.
fn with_referenced_files(bytes: &[u8]) -> Vec<FilePart> {
    static FILES: OnceLock<Vec<FilePart>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let kinds = ["pbrt", "ply", "gz", "spd", "tga", "png"];
        let files = kinds.into_iter().flat_map(|kind| corpus::samples("pbrt/good", kind));
        let part = |file: corpus::Sample| file_part(file.name.replacen("pbrt/good/", "", 1), file.bytes());
        let mut parts: Vec<FilePart> = files.map(part).collect();
        let header = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\n\
                      property float y\nproperty float z\nend_header\n";
        parts.push(file_part("again.pbrt", *b"Include \"again.pbrt\"\n"));
        parts.push(file_part("huge.ply", header));
        parts.push(file_part("spheres.pbrt", SPHERES));
        parts
    });
    std::iter::once(file_part("x.pbrt", bytes)).chain(files.iter().cloned()).collect()
}

/// 60 bytes.
const SPHERES: &str = "Shape \"sphere\"\nShape \"sphere\"\nShape \"sphere\"\nShape \"sphere\"\n";

/// A scene with much valid and some invalid content.
const MIXED: &str = "Film \"rgb\"\nLookAt 0 0 1\n 2 3 4 0\n1 0\nWorldBegin\nAttributeBegin\n Transform [1 0 0 0 0 1 0 0\n\
    0 0 1 0 2 3 4 1]\nShape \"sphere\" \"float radius\"\n[ 1\n # two\n]\nShape \"curve\" \"point3 P\" [ 1 2 3\n4 5 x ]\n\
    Shape \"disk\"\nActiveTransform\nEndTime\nTranslate 1 2 3\nShape \"sphere\"\nAttributeEnd\nFoo 1 2\n\"string\"\n\
    ObjectBegin \"a\"\nShape \"sphere\n\"float radius\" 2\nShape \"disk\" \"float radius\" [ 1 2\nObjectEnd\n\
    ObjectInstance \"a\"\n  ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 ]\nObjectInstance \"a\"\nObjectInstance\n\
    \"b\"\nShape \"x\" \"integer i\" [ 1 2 3\n 4 5 99999999999 ]\nAttribute \"shape\" \"float alpha\" .5\n\
    Shape \"sphere\" \"bool b\" [ true\nfalse ]\n";

fn made() -> Vec<Sample> {
    let flaws: String = (0..1100).map(|line| format!("Thing{line} 1\n")).collect();
    let mut made = vec![
        bad("much that is right and some that is not", MIXED),
        bad("more flaws than are kept", format!("WorldBegin\n{flaws}")),
        bad("other flaws behind them", format!("WorldBegin\n{flaws}{}", "AttributeEnd\n".repeat(5))),
        good("instances and curves", instances()),
        good("files", "WorldBegin\nInclude \"spheres.pbrt\"\nImport \"spheres.pbrt\"\nShape \"disk\"\n"),
    ];
    let comment = format!("# {}\n 1 ", "1 2 3 ".repeat(300));
    let numbers = format!("] \"string s\" [ \"{}\" ] \"float f\" [ 1 ", "4 5 6 ".repeat(300));
    let specials = ["1.5 ", "0x10 ", "1e999 ", "-0 ", "-nan ", "99999999999 ", "x ", "] ", "[ ", "\"s\" ", "1.2.3 "];
    for special in specials.into_iter().chain(["] Shape \"disk\" ", &comment, &numbers]) {
        made.push(bad(format!("a long list with {special:.20}"), long_lists(special)));
    }
    made
}

/// Many instances and curves, so that every array crosses chunk boundaries.
fn instances() -> String {
    let mut scene = String::from("WorldBegin\nObjectBegin \"o\"\nShape \"sphere\"\nObjectEnd\n");
    for number in 0..120 {
        let x = number as f32 * 0.37 - 40.0;
        let y = number % 7;
        let directive = if number % 5 == 0 { "Transform" } else { "ConcatTransform" };
        let w = if number % 50 == 49 { 2 } else { 1 };
        scene += &format!(
            "AttributeBegin\n{directive} [ 1 0 0 0 0 {x} 0 0 0 0 1 0 {y} {x} 3.25 {w} ]\nObjectInstance \"o\"\n\
             AttributeEnd\nShape \"curve\" \"point3 P\" [ {x} 0 1 {y} 2 3 ] \"float width\" {x}\n",
        );
    }
    scene
}

/// A directive with lists of thousands of numbers, and `special` in the middle of one.
fn long_lists(special: &str) -> String {
    let mut scene = String::from("WorldBegin\nShape \"trianglemesh\" \"integer indices\" [");
    for number in 0..1200 {
        let separator = if number % 50 == 49 { "\n  " } else { " " };
        scene += &format!("{separator}{}", (number * 7919) % 400);
    }
    scene += " ]\n\"point3 P\" [ ";
    for number in 0..1200 {
        let value = f64::from(number * number % 977) * 0.013_7 - 5.0;
        match (number, number % 5) {
            (700, _) => scene += special,
            (_, 0) => scene += &format!("{value:.17e} "),
            (_, 1) => scene += &format!("{number}\t"),
            (_, 2) => scene += &format!("{value:.4}\r\n"),
            _ => scene += &format!("{value:.6} "),
        }
    }
    scene += "] \"float width\" [ 1 ]\nShape \"curve\" \"point3 P\" [";
    (0..1500).for_each(|number| scene += &format!(" {number}"));
    scene += " ]\nShape \"sphere\"\nBroken\n";
    scene
}

/// Scenes have no end: a prefix may have fewer shapes than the complete scene, but not more.
fn prefix(prefix: &Prefix<'_>) -> Option<String> {
    let [whole, shapes] = [prefix.whole.counts()[0], prefix.content.counts()[0]];
    (shapes > whole).then(|| format!("{shapes} shapes of {whole}"))
}

fn limits() -> Vec<LimitSample> {
    let long = format!("Shape \"curve\" \"float a\" [\n{}]\n\n# more\n", "1 2 3\n".repeat(40));
    let text = format!("WorldBegin\n{long}Shape \"b\"\n");
    let include = "Include \"spheres.pbrt\"\n";
    let instances = format!(
        "WorldBegin\nObjectBegin \"a\"\n{}ObjectEnd\n{}",
        "Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 1 0 0 0 1 0 ] \"integer indices\" [ 0 1 2 ]\n".repeat(5),
        "ObjectInstance \"a\"\n".repeat(7)
    );
    vec![
        limited("line_bytes", long.len() as u64 - 1, text.clone()),
        limited("name_bytes", 7, text.clone()),
        limited("elements", 2, text),
        limited("files", 3, format!("WorldBegin\n{}", include.repeat(3))).with(&[("elements", 100)]),
        limited("included_bytes", 9 * SPHERES.len() as u64, format!("WorldBegin\n{}", include.repeat(10))),
        limited("instanced_elements", 7 * 5 * 3, instances.clone()).converted_to(Format::Stl),
        limited("instanced_objects", 7 * 5, instances).converted_to(Format::Obj),
    ]
}
