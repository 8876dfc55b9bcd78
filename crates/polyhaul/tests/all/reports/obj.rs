//! OBJ files by other programs, and damaged ones.

use crate::support::{memory, read_options, try_converted, try_written};
use polyhaul::model::{Color, Elements, Material, Mesh, NONE, Object, Scene};
use polyhaul::options::{Dialect, ObjWriteOptions, OnError};
use polyhaul::{ErrorKind, Format, Loaded, ReadOptions, Reader, Result, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;

fn lenient() -> ReadOptions {
    ReadOptions::default().with_on_error(OnError::Warn)
}

fn try_read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(memory(text, "a.obj")).options(options).scene()
}

/// The mesh of a text, and the number of warnings of a kind.
fn read(text: impl AsRef<[u8]>, options: &ReadOptions, code: &str) -> (Mesh, u64) {
    let mut loaded = try_read(text, options).unwrap();
    let count = loaded.report.warnings.counts().get(code).copied().unwrap_or(0);
    (loaded.value.meshes.remove(0), count)
}

/// The corners of all faces, as positions.
fn corners(mesh: &Mesh) -> Vec<[f32; 3]> {
    mesh.faces.corner_positions.iter().map(|&index| mesh.positions[index as usize]).collect()
}

/// Many lines, so that a file has several chunks.
fn padding() -> String {
    "# a comment that fills a chunk\n".repeat(40)
}

#[test]
fn a_skipped_line_keeps_its_number() {
    let bad = ["v 9 bad 9", "v 1", "v 1 2 3 4 5", "v 1 2 3 4 5 6 7 8", "v"];
    for bad in bad {
        let text = format!(
            "v 0 0 0\n{bad}\n{}v 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 3 4\nf 2 3 4\nl 2 3\nl 3 4\np 2 5\nf -4 -3 -1\nf -3 -2 -1\n",
            padding()
        );
        for (threads, chunk_bytes) in [(1, None), (2, Some(64)), (3, Some(700))] {
            let options = read_options(threads, chunk_bytes).with_on_error(OnError::Warn);
            let (mesh, dropped) = read(&text, &options, "element-left-out");
            assert_eq!(mesh.positions[..], [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [5.0; 3]], "{bad}");
            let expected = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [5.0; 3]];
            assert_eq!(corners(&mesh), expected, "{bad}");
            assert_eq!((mesh.lines.len(), mesh.points.len(), dropped), (1, 1, 4), "{bad}");
        }
    }
}

#[test]
fn skipped_uvs_and_normals_keep_their_numbers_too() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt x\nvt .5 1 .25\nvn 0 0 1\nvn 0\nvn 1 0 0\n\
        f 1/1/1 2/3/3 3/1/1\nf 1/2/1 2/3/3 3/1/1\nf 1/1/2 2/3/3 3/1/1\nf 1/3/3 2/1/1 3/3/3\n";
    let (mesh, dropped) = read(text, &lenient(), "element-left-out");
    assert_eq!((mesh.faces.len(), dropped), (2, 2));
    assert_eq!(mesh.uvs[..], [[0.0, 0.0], [0.5, 1.0]]);
    assert_eq!(mesh.uv_depths[..], [0.0, 0.25]);
    assert_eq!(mesh.normals[..], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    assert_eq!(mesh.faces.corner_uvs[..], [0, 1, 0, 1, 0, 1]);
    assert_eq!(mesh.faces.corner_normals[..], [0, 1, 0, 1, 0, 1]);
}

/// Weights, colors, doubles, objects and groups stay with their vertices.
#[test]
fn what_belongs_to_later_vertices_stays_with_them() {
    let text = "o first\nv 0 0 0 1 0 0\nv x\nv 5411234.456 0 0 0 1 0\ng a\nusemtl m\nf 1 3 3\no second\nv 2 0 0 0 0 1\nv y\n\
        v 3 0 0 1 1 1\nusemtl n\nf 3 4 6\nf 4 5 6\n";
    let loaded = try_read(text, &lenient()).unwrap();
    let mesh = &loaded.value.meshes[0];
    assert_eq!(mesh.exact_positions[..], [[0.0; 3], [5411234.456, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
    assert_eq!(mesh.colors[1], [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(mesh.colors[3], [1.0; 4]);
    let second = &loaded.value.objects[1];
    assert_eq!((second.start.positions, second.end.positions, second.start.faces, second.end.faces), (2, 4, 1, 2));
    assert_eq!(mesh.material_runs.iter().map(|run| run.at.positions).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(mesh.faces.corner_positions[..], [0, 1, 1, 1, 2, 3]);
}

#[test]
fn an_index_of_a_uv_or_normal_that_does_not_exist_is_dropped() {
    let start = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (rest, uvs, normals, count) in [
        ("f 1//1 2//1 3//1\n", None, None, 3),
        ("f 1/7 2/8 3/9\n", None, None, 3),
        ("f 1/-1 2/-1 3/-1\n", None, None, 3),
        ("vt 0 0\nf 1/1 2/2 3/1\n", Some([0, NONE, 0]), None, 1),
        ("vn 0 0 1\nvt 0 0\nf 1/1/2 2/1/1 3/1/1\n", Some([0; 3]), Some([NONE, 0, 0]), 1),
        ("f 1/1/1 2/1/1 3/1/1\n", None, None, 6),
        ("f 1/1 2/1 3/1\nvt .5 .5\n", Some([0; 3]), None, 0),
        ("vt 0 0\nl 1/1 2/9\nf 1 2 3\n", None, None, 1),
    ] {
        for padding in [String::new(), padding()] {
            for options in [read_options(1, None), read_options(2, Some(100))] {
                let text = format!("{start}{padding}{rest}");
                let (mesh, dropped) = read(&text, &options, "missing-corner-value");
                assert_eq!(mesh.faces.len(), 1, "{rest}");
                assert_eq!(dropped, count, "{rest}");
                let stream = |values: &[u32]| values.first_chunk().copied();
                assert_eq!(stream(&mesh.faces.corner_uvs), uvs, "{rest}");
                assert_eq!(stream(&mesh.faces.corner_normals), normals, "{rest}");
            }
        }
        let strict = try_read(format!("{start}{rest}"), &ReadOptions::default().with_strict(true));
        assert_eq!(strict.is_err(), count > 0, "{rest}");
    }
    let loaded = try_read(format!("{start}f 1//1 2//1 3//1\n"), &ReadOptions::default()).unwrap();
    let warning = &loaded.report.warnings.kept()[0].diagnostic;
    assert_eq!(warning.message, "dropped 3 indices of nonexistent normals: the file has no normals");
    assert_eq!((warning.place.line, warning.place.column), (Some(4), Some(6)));
    // Missing positions are an error.
    assert!(try_read(format!("{start}f 1 2 4\n"), &ReadOptions::default()).is_err());
}

#[test]
fn numbers_that_are_none_have_many_spellings() {
    for (spelling, is_infinite) in
        [("-nan(ind)", false), ("nan(snan)", false), ("-1.#IND00", false), ("1.#QNAN0", false), ("1.#INF00", true)]
    {
        let text = format!("v 0 0 0\nv 1 0 {spelling}\nv 0 1 0\nvn {spelling} 0 0\nf 1 2 3\n");
        let (mesh, count) = read(text, &ReadOptions::default(), "non-finite");
        assert_eq!(count, 2, "{spelling}");
        assert_eq!(mesh.positions[1][2].is_infinite(), is_infinite, "{spelling}");
        assert_eq!(mesh.normals[0][0].is_nan(), !is_infinite, "{spelling}");
    }
    assert!(try_read("v 1.#FOO 0 0\n", &ReadOptions::default()).is_err());
}

#[test]
fn lines_of_nul_are_blank() {
    for end in ["\0", "\0\0\0\0\n", "\0\n\0\n", "\r\n\0"] {
        let (mesh, count) = read(format!("v 0 0 0\n{end}"), &ReadOptions::default(), "malformed");
        assert_eq!((mesh.positions.len(), count), (1, 0));
    }
    assert!(try_read("v 0 0 0\n\0x\n", &ReadOptions::default()).is_err());
}

#[test]
fn a_comment_that_ends_with_a_backslash_swallows_no_statement() {
    for newline in ["\n", "\r\n"] {
        for next in ["v 1 0 0", "", "# more", "  v 1 0 0"] {
            let text = format!("v 0 0 0\n# C:\\models\\\n{next}\nv 0 1 0\nf -1 -2 -1\n").replace('\n', newline);
            let (mesh, count) = read(&text, &ReadOptions::default(), "continued-comment");
            let is_vertex = next.contains('v');
            assert_eq!((mesh.positions.len(), count), (2 + usize::from(is_vertex), 1), "{text:?}");
        }
        // Text that is not a statement belongs to the comment.
        let text = "# first \\\nsecond part\nv 0 0 0\n".replace('\n', newline);
        assert_eq!(read(text, &ReadOptions::default(), "continued-comment").0.positions.len(), 1);
    }
}

#[test]
fn a_text_without_a_statement_is_an_error_that_says_what_it_seems_to_be() {
    for (text, what) in [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 9\n", Some("Git LFS pointer")),
        ("<!DOCTYPE html>\n<html></html>\n", Some("web page")),
        ("{\"message\": \"Not Found\"}\n", Some("error message in JSON")),
        ("V 0 0 0\nF 1 1 1\n", None),
        ("hello\n", None),
    ] {
        for options in [ReadOptions::default(), lenient()] {
            let error = try_read(text, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{text}");
            let hint = error.diagnostic().hint.clone().unwrap_or_default();
            assert_eq!(hint.contains(what.unwrap_or("?")), what.is_some(), "{text}: {hint}");
        }
    }
    let stl = [&[b'x'; 80][..], &1u32.to_le_bytes(), &[0; 50]].concat();
    let error = try_read(&stl, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("binary data instead of text"), "{error}");
    assert!(try_read(stl, &lenient()).is_err());
    for text in ["", "# nothing\n", "o a\n", "vp 1 2\n", "usemtl a\nwhatever\n"] {
        assert!(try_read(text, &ReadOptions::default()).is_ok(), "{text:?}");
    }
}

fn scene_with(names: &[&str]) -> Scene {
    let colors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let material = |(name, color): (&&str, [f32; 3])| Material {
        name: name.to_string(),
        diffuse: Some(Color::Rgb(color)),
        ..Material::default()
    };
    let corners = [0, 1, 2].repeat(names.len() + 1);
    let offsets = (0..=names.len() as u32 + 1).map(|face| 3 * face).collect::<Vec<u32>>();
    let face_materials: Vec<i32> = (0..=names.len() as i32).collect();
    let mesh = Mesh {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
        faces: Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() },
        face_materials: face_materials.into(),
        ..Mesh::default()
    };
    let slots = (0..names.len()).map(Some).chain([None]).collect();
    let object = Object { end: mesh.counts(), materials: Some(slots), ..Object::default() };
    let materials = names.iter().zip(colors).map(material).collect();
    Scene { meshes: vec![mesh], objects: vec![object], materials, ..Scene::default() }
}

/// Materials whose written names would be equal must not be merged, and faces without a material must not get an empty
/// name.
#[test]
fn materials_whose_written_names_coincide_stay_apart() {
    for (names, written) in [
        (["red paint", "red_paint", "x"], ["red_paint", "red_paint.001", "x"]),
        (["a", "a", "a.001"], ["a", "a.001", "a.001.001"]),
        (["", "material", ""], ["material", "material.001", "material.002"]),
        (["a\nb", "a_b", "a b"], ["a_b", "a_b.001", "a_b.002"]),
    ] {
        let folder = Folder::new("names").unwrap();
        Writer::new(folder.join("a.obj")).scene(&scene_with(&names)).unwrap();
        let text = folder.text("a.obj");
        let stated: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("usemtl ")).collect();
        assert_eq!(stated, [&written[..], &["(null)"]].concat(), "{names:?}");
        let loaded = Reader::new(folder.join("a.obj")).scene().unwrap();
        assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
        let materials = &loaded.value.materials;
        let colors: Vec<_> = materials.iter().map(|material| material.diffuse.clone()).collect();
        let expected = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|color| Some(Color::Rgb(color)));
        assert_eq!(colors[..3], expected, "{names:?}");
        assert!(materials[3].missing && materials[3].name.is_empty());
    }
}

#[test]
fn a_slot_that_an_object_lacks_is_a_loss_where_there_are_materials() {
    let folder = Folder::new("slots").unwrap();
    // Slots 0 to 2 are used.
    for (slot_count, missing) in [(0, 1), (1, 1), (2, 1), (3, 0)] {
        let mut scene = scene_with(&["a", "b"]);
        scene.objects[0].materials = Some([Some(0), Some(1), None][..slot_count].to_vec());
        scene.objects.push(scene.objects[0].clone());
        for (format, has_materials) in [("obj", true), ("glb", true), ("pbrt", true), ("ply", false), ("stl", false)] {
            let report = Writer::new(folder.join(&format!("a.{format}"))).scene(&scene).unwrap();
            let count = report.warnings.counts().get("missing-slot").copied().unwrap_or(0);
            assert_eq!(count, if has_materials { 2 * missing } else { 0 }, "{format}, {slot_count} slots");
        }
    }
    let mut scene = scene_with(&["a"]);
    scene.objects[0].materials = None;
    let unwanted = WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false));
    let report = Writer::new(folder.join("a.obj")).options(&unwanted).scene(&scene).unwrap();
    assert!(!report.warnings.counts().contains_key("missing-slot"));
}

#[test]
fn a_scene_without_materials_names_none() {
    let folder = Folder::new("unnamed").unwrap();
    let scene = scene_with(&[]);
    Writer::new(folder.join("a.obj")).scene(&scene).unwrap();
    assert_eq!(folder.names(), ["a.obj"]);
    let text = folder.text("a.obj");
    assert!(!text.contains("mtl"), "{text}");
    let mut blender = WriteOptions::default();
    blender.scene.dialect = Dialect::Blender;
    Writer::new(folder.join("b.obj")).options(&blender).scene(&scene).unwrap();
    assert!(folder.text("b.obj").contains("\nusemtl \n"));
}

#[test]
fn numbers_that_are_written_as_they_are_are_not_called_dropped() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn nan 0 inf\nf 1//1 2//1 3//1\n";
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    let (bytes, report) = try_converted(memory(text, "a.obj"), &ReadOptions::default(), &options).unwrap();
    let written = String::from_utf8(bytes).unwrap();
    assert!(written.contains("vn nan 0.0000 inf"), "{written}");
    let messages: Vec<&str> = report.warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect();
    assert!(messages.iter().any(|message| message.contains("2 non-finite numbers were written as")));
    assert!(!messages.iter().any(|message| message.contains("dropped")), "{messages:?}");
}

#[test]
fn a_continued_keyword_after_a_comment_is_a_statement() {
    for newline in ["\n", "\r\n"] {
        for next in ["v\\\n 1 0 0", "v\\\n\\\n 1 0 0", "\\\nv 1 0 0", "  v \\\n1 0 0", "vn\\\n 0 0 1\nv 1 0 0"] {
            let text = format!("v 0 0 0\n# C:\\models\\\n{next}\nv 0 1 0\nf -1 -2 -3\n").replace('\n', newline);
            let (mesh, count) = read(&text, &ReadOptions::default(), "continued-comment");
            assert_eq!((mesh.positions.len(), count), (3, 1), "{text:?}");
        }
    }
}

#[test]
fn lines_that_are_no_statements_in_other_programs_either() {
    // Remarks with a dollar sign, and Ctrl-Z at the end of a file.
    for (line, count) in [("$ remark\n", 1), ("$\n$GROUP 1\n", 2), ("\x1a", 0), ("\x1a\x1a\n", 0)] {
        let (mesh, skipped) = read(format!("v 0 0 0\n{line}"), &ReadOptions::default(), "unknown-statement");
        assert_eq!((mesh.positions.len(), skipped), (1, count), "{line:?}");
    }
}

/// The same as in PLY and OFF.
#[test]
fn elements_with_too_few_corners_are_skipped() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1 2\nf 1/1\nf\nl 3\nl\nf 1 2 3\nl 1 2\nf -1 -2\n";
    for options in [ReadOptions::default(), read_options(2, Some(10))] {
        let (mesh, count) = read(text, &options, "short-face");
        assert_eq!((mesh.faces.len(), mesh.lines.len(), count), (1, 1, 6));
        assert_eq!(mesh.faces.corner_positions[..], [0, 1, 2]);
    }
    assert!(try_read(text, &ReadOptions::default().with_strict(true)).is_err());
    assert!(try_read("v 0 0 0\np\n", &ReadOptions::default()).is_err());
}

#[test]
fn comments_need_no_space_before_them() {
    let text =
        "v 5411234.456 0 0#a\nv 1 0 0 # b\nv 0 1 0#\nvt 0 0#c\nvn 0 0 1#\nf 1/1/1 2/1/1 3/1/1#x 7\no a#b\nv 0 0 0\n";
    let loaded = try_read(text, &ReadOptions::default()).unwrap();
    let mesh = &loaded.value.meshes[0];
    assert_eq!((mesh.exact_positions[0], mesh.faces.len()), ([5411234.456, 0.0, 0.0], 1));
    assert_eq!(loaded.value.objects[1].name, "a#b");
}

#[test]
fn further_numbers_of_uvs_and_normals_are_dropped() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt .5 .5 0 0\nvn 0 0 1 1 1\nf 1/1/1 2/1/1 3/1/1\n";
    let (mesh, count) = read(text, &ReadOptions::default(), "extra-value");
    assert_eq!((mesh.uvs[..].to_vec(), mesh.normals[..].to_vec(), count), (vec![[0.5; 2]], vec![[0.0, 0.0, 1.0]], 2));
}

/// Metashape writes names with spaces in quotes.
#[test]
fn names_of_files_may_be_in_quotes() {
    let folder = Folder::new("quotes").unwrap();
    folder.file("m m.mtl", "newmtl a\nKd 1 0 0\nmap_Kd \"t t.png\"\nmap_Ks -s 2 2 2 \"u.png\"\n").unwrap();
    folder.file("n.mtl", "newmtl b\nKd 0 1 0\n").unwrap();
    for names in ["\"m m.mtl\"", "\"m m.mtl\" n.mtl", "\"m m.mtl\" \"n.mtl\"", "n.mtl \"m m.mtl\""] {
        let text = format!("mtllib {names}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n");
        let loaded = Reader::new(folder.file("a.obj", text).unwrap()).scene().unwrap();
        assert!(loaded.report.warnings.is_empty(), "{names}: {:?}", loaded.report.warnings);
        let scene = loaded.value;
        let material = scene.materials.iter().find(|material| material.name == "a").unwrap();
        let files: Vec<&str> = material.maps.iter().map(|map| &*map.file).collect();
        assert_eq!((files, material.missing), (vec!["t t.png", "u.png"], false));
        assert_eq!(scene.material_libraries.len(), 1 + usize::from(names.contains('n')), "{names}");
    }
}

/// Any white space may separate the words of a statement.
#[test]
fn rational_curves_may_have_a_tab_in_their_type() {
    for (kind, is_rational) in [("rat bspline", true), ("rat\tbspline", true), ("bspline", false)] {
        let curve = format!("cstype {kind}\ndeg 1\ncurv 0 1 -2 -1\nparm u 0 0 1 1\nend\n");
        let loaded = try_read(format!("v 0 0 0 1\nv 1 0 0 2\n{curve}"), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.value.meshes[0].curves[0].rational, is_rational, "{kind:?}");
    }
}

/// A vertex has a weight or a color, and an object with a transform has neither third coordinates nor UVs of lines.
#[test]
fn values_that_are_not_written_are_counted() {
    let text = "v 0 0 0 .5\n#MRGB ff102030\nv 1 0 0\nv 0 1 0 2\nvt 0 0 .5\nvt 1 0 0\nl 1/1 2/2\nf 1/1 2/2 3/2\n";
    let mut scene = try_read(text, &ReadOptions::default()).unwrap().value;
    let mut write = WriteOptions::default().with_format(Some(Format::Obj));
    let counts = |scene: &Scene, write: &WriteOptions| {
        let (_, report) = try_written(scene, write).unwrap();
        let codes = ["left-out-weights", "left-out-uv-depths", "left-out-uvs", "changed-remarks"];
        codes.map(|code| report.warnings.counts().get(code).copied().unwrap_or(0))
    };
    assert_eq!(counts(&scene, &write), [1, 0, 0, 0]);
    scene.objects[0].transform =
        Some([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
    scene.comments = vec!["a\u{7}b".into()];
    assert_eq!(counts(&scene, &write), [1, 1, 2, 1]);
    write.scene.colors = false;
    write.scene.uv = false;
    assert_eq!(counts(&scene, &write), [0, 0, 0, 1]);
}

/// Normals of objects with a transform get unit length; those of others are written as they were read.
#[test]
fn normals_that_are_scaled_are_counted() {
    let normals = "vn 0 0 1\nvn .577 .577 .577\nvn 0 0 2\nvn 0 0 0\nvn 0 1e30 0\nvn 0 .9 0\n";
    let text = format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{normals}f 1//1 2//2 3//3\nf 1//4 2//5 3//6\n");
    let mut scene = try_read(text, &ReadOptions::default()).unwrap().value;
    let mut write = WriteOptions::default().with_format(Some(Format::Obj));
    let warnings_of = |scene: &Scene, write: &WriteOptions| {
        let (_, report) = try_written(scene, write).unwrap();
        let messages = report.warnings.kept().iter().map(|warning| warning.diagnostic.message.clone());
        messages.filter(|message| message.contains("normal")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(warnings_of(&scene, &write), "");
    scene.objects[0].transform =
        Some([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
    let expected = "2 normals were scaled to unit length; 1 normal was too short or too long to be normalized and was \
                    written as zero";
    assert_eq!(warnings_of(&scene, &write), expected);
    write.scene.normals = false;
    assert_eq!(warnings_of(&scene, &write), "");
}
