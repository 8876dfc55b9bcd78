//! Deviations in references: files are found despite spelling differences.

use polyhaul::ReadOptions;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::zip::{Member, Method, archive};

/// Scenes with files named `part/NAME`, and the files.
pub const SCENES: [(&str, &str); 3] = [
    ("x.obj", "mtllib part/looks.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n"),
    ("y.pbrt", "WorldBegin\nInclude \"part/more.pbrt\"\nShape \"plymesh\" \"string filename\" \"part/mesh.ply\"\n"),
    (
        "z.gltf",
        r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"part/data.bin","byteLength":36}],
            "bufferViews":[{"buffer":0,"byteLength":36}],
            "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],
            "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],"scenes":[{"nodes":[0]}]}"#,
    ),
];

/// Other spellings of `part/`, and whether the names are in upper case.
const SPELLINGS: [(&str, bool); 8] = [
    ("part\\", false),
    ("./part/", false),
    ("part//", false),
    ("none/../part/", false),
    ("part/../part/", false),
    ("Part/", true),
    ("part/", true),
    ("PART/./", true),
];

pub fn folder() -> Folder {
    let folder = Folder::new("spellings").unwrap();
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    folder.file("part/looks.mtl", "newmtl a\nKd 1 0 0\nmap_Kd wood.png\n").unwrap();
    folder.file("part/wood.png", b"not read").unwrap();
    folder.file("part/more.pbrt", "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0]\n").unwrap();
    folder.file("part/mesh.ply", ply).unwrap();
    let corners = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    folder.file("part/data.bin", corners.map(f32::to_le_bytes).concat()).unwrap();
    for (name, text) in SCENES {
        folder.file(name, text).unwrap();
    }
    folder
}

/// The text with the names after `part/` in upper case.
fn in_capitals(text: &str) -> String {
    let mut pieces = text.split("part/");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let end = piece.find(['"', '\n']).unwrap_or(piece.len());
        text + "part/" + &piece[..end].to_uppercase() + &piece[end..]
    })
}

#[test]
fn files_are_found_however_their_names_are_spelled() {
    let folder = folder();
    let options = ReadOptions::default();
    let mut faults = Vec::new();
    for (name, text) in SCENES {
        for (spelling, has_capitals) in SPELLINGS {
            let mut changed = if has_capitals { in_capitals(text) } else { text.to_owned() };
            // Backslashes are escaped in quotes.
            let in_text = if !name.ends_with("obj") { spelling.replace('\\', "\\\\") } else { spelling.into() };
            changed = changed.replace("part/", &in_text);
            let path = folder.file(&format!("other-{name}"), &changed).unwrap();
            match polyhaul::diff(path, folder.join(name), &options, 0.0) {
                Err(error) => faults.push(format!("{spelling} {name}: {error}")),
                Ok(compared) => {
                    let is_warned = compared.report.warnings.counts().contains_key("other-case");
                    let differences = compared.differences.iter();
                    faults.extend(differences.map(|difference| format!("{spelling} {name}: {}", difference.message)));
                    if is_warned != has_capitals {
                        faults.push(format!("{spelling} {name}: warnings {:?}", compared.report.warnings.counts()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The same in an archive with names in code page 437.
#[test]
fn members_are_found_however_their_names_are_spelled() {
    let folder = folder();
    let options = ReadOptions::default();
    let mut faults = Vec::new();
    let parts = ["looks.mtl", "more.pbrt", "mesh.ply", "data.bin"];
    let files: Vec<(&str, Vec<u8>)> =
        parts.iter().map(|name| (*name, std::fs::read(folder.join("part").join(name)).unwrap())).collect();
    for (name, text) in SCENES {
        let spellings =
            [("part/", b"part/".as_slice(), false), ("Part/", b"part/", true), ("p\u{e4}rt/", b"p\x84rt/", false)];
        for (spelling, stored, is_other_case) in spellings {
            let text = text.replace("part/", spelling);
            let mut members: Vec<Member> = Vec::new();
            members.push(Member::new(name.as_bytes(), text.as_bytes(), Method::Deflate));
            members.extend(
                files
                    .iter()
                    .map(|(part, bytes)| Member::new([stored, part.as_bytes()].concat(), bytes, Method::Stored)),
            );
            let path = folder.file("x.zip", archive(&members, b"")).unwrap().join(name);
            match polyhaul::diff(path, folder.join(name), &options, 0.0) {
                Err(error) => faults.push(format!("{spelling} {name}: {error}")),
                Ok(compared) => {
                    let is_warned = compared.report.warnings.counts().contains_key("other-case");
                    // Renderer scenes keep the name as written.
                    let differences = compared.differences.iter().filter(|difference| difference.what != "renderer");
                    faults.extend(differences.map(|difference| format!("{spelling} {name}: {}", difference.message)));
                    if is_warned != is_other_case {
                        faults.push(format!("{spelling} {name}: warnings {:?}", compared.report.warnings.counts()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
