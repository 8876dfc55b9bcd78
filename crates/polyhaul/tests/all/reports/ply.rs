//! PLY files by other programs, and damaged ones.

use crate::support::{data, memory, read_options, scene_of, square, try_converted, try_written};
use polyhaul::model::{Column, Scene, Values};
use polyhaul::options::OnError;
use polyhaul::{ErrorKind, Format, Loaded, ReadOptions, Reader, Result, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;

const VERTICES: &str = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
const ROWS: &str = "0 0 0\n1 0 0\n0 1 0\n";

fn try_read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(memory(text, "a.ply")).options(options).scene()
}

fn ply(elements: &str, rows: &str) -> String {
    format!("ply\nformat ascii 1.0\n{elements}end_header\n{rows}")
}

fn to(format: Format) -> WriteOptions {
    let mut options = WriteOptions::default().with_format(Some(format));
    options.scene.ascii = format == Format::Ply;
    options
}

/// Edges become lines, with or without other properties; PLY keeps those.
#[test]
fn edges_with_further_columns_are_lines() {
    let edges =
        "element edge 2\nproperty int vertex1\nproperty uchar red\nproperty int vertex2\nproperty float crease\n";
    let text = ply(&format!("{VERTICES}{edges}"), &format!("{ROWS}0 255 1 .5\n1 0 2 .25\n"));
    let loaded = try_read(&text, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.value.meshes[0].lines.corner_positions[..], [0, 1, 1, 2]);
    let (obj, report) = try_converted(memory(&text, "a.ply"), &ReadOptions::default(), &to(Format::Obj)).unwrap();
    let obj = String::from_utf8(obj).unwrap();
    assert!(obj.contains("l 1 2\n") && obj.contains("l 2 3\n"), "{obj}");
    assert_eq!(report.warnings.counts()["left-out-tables"], 1);
    let (again, report) = try_written(&loaded.value, &to(Format::Ply)).unwrap();
    let again = String::from_utf8(again).unwrap();
    assert!(again.contains("0 1 255 0.5\n") && again.contains("1 2 0 0.25\n"), "{again}");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    // Dropped edges take their columns along.
    let lenient = ReadOptions::default().with_on_error(OnError::Warn);
    let scene = try_read(text.replace("1 0 2 .25", "1 0 9 .25"), &lenient).unwrap().value;
    assert_eq!((scene.meshes[0].lines.len(), scene.tables[0].row_count), (1, 1));
}

#[test]
fn lists_of_corners_have_many_names_and_types() {
    for (list, code) in [
        ("list uchar int vertex_indices", None),
        ("list uchar int vertex_index", None),
        ("list uchar int indices", Some("odd-property")),
        ("list uchar uint vertex_ids", Some("odd-property")),
        ("list uchar float vertex_indices", Some("odd-property")),
        ("list int double vertex_index", Some("odd-property")),
        ("list uchar int something", Some("missing-property")),
    ] {
        let text = ply(&format!("{VERTICES}element face 1\nproperty {list}\n"), &format!("{ROWS}3 0 1 2\n"));
        let loaded = try_read(&text, &ReadOptions::default()).unwrap();
        let faces = usize::from(code != Some("missing-property"));
        assert_eq!(loaded.value.meshes[0].faces.len(), faces, "{list}");
        let codes: Vec<&str> = loaded.report.warnings.counts().keys().copied().collect();
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{list}");
    }
    let text = ply(
        &format!("{VERTICES}element face 1\nproperty list uchar float vertex_indices\n"),
        &format!("{ROWS}3 0 1.5 2\n"),
    );
    assert!(try_read(text, &ReadOptions::default()).is_err(), "a fraction is no index");
}

#[test]
fn a_vertex_without_an_axis_is_named() {
    for axis in ["x", "y", "z"] {
        let text = ply(&VERTICES.replace(&format!(" {axis}\n"), " other\n"), ROWS);
        let (_, report) = try_converted(memory(&text, "a.ply"), &ReadOptions::default(), &to(Format::Obj)).unwrap();
        let message = &report.warnings.kept()[0].diagnostic.message;
        assert!(message.contains(&format!("no property `{axis}`")), "{message}");
    }
}

#[test]
fn integers_may_be_written_as_decimals() {
    let elements = format!(
        "{VERTICES}property uchar red\nproperty uchar green\nproperty uchar blue\n\
        element face 1\nproperty list uchar int vertex_indices\n"
    );
    for (red, is_whole) in
        [("255.0", true), ("2.55e2", true), ("0.0", true), ("12.5", false), ("256.0", false), ("-1.0", false)]
    {
        let rows = format!("0 0 0 {red} 0 0\n1 0 0 0 255.0 0\n0 1 0 0 0 255\n3.0 0.0 1 2\n");
        for (threads, chunk_bytes) in [(1, None), (2, Some(9))] {
            let text = ply(&elements, &rows);
            let result = try_read(&text, &read_options(threads, chunk_bytes));
            assert_eq!(result.is_ok(), is_whole, "{red}");
            let Ok(loaded) = result else { continue };
            assert_eq!(loaded.value.meshes[0].colors[1], [0.0, 1.0, 0.0, 1.0]);
            assert_eq!(loaded.value.meshes[0].faces.corner_positions[..], [0, 1, 2]);
            assert_eq!(loaded.report.warnings.counts()["decimal-integer"], 4);
            let strict = try_read(&text, &read_options(threads, chunk_bytes).with_strict(true));
            assert_eq!(strict.unwrap_err().kind(), ErrorKind::Malformed);
        }
    }
}

#[test]
fn numbers_that_are_none_have_many_spellings() {
    for spelling in ["-nan(ind)", "1.#QNAN", "-1.#IND00", "nan"] {
        let text = ply(VERTICES, &ROWS.replacen("0 0 0", &format!("0 0 {spelling}"), 1));
        assert!(try_read(text, &ReadOptions::default()).unwrap().value.meshes[0].positions[0][2].is_nan());
    }
}

/// A binary file of any size that was transferred as text.
#[test]
fn binary_data_that_a_text_conversion_damaged_are_an_error_with_the_cause() {
    let header = |count: usize| {
        format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {count}\nproperty float x\nproperty float y\n\
             property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
    };
    let converted = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] }).collect()
    };
    for count in [3, 11, 5000] {
        let values = (0..3 * count as u32).map(|at| f32::from_bits(0x3f80_0000 + at * 10));
        let mut bytes = header(count).into_bytes();
        values.for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes.extend([3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert!(try_read(&bytes, &ReadOptions::default()).unwrap().report.warnings.is_empty());
        for options in [ReadOptions::default(), ReadOptions::default().with_on_error(OnError::Warn)] {
            let error = try_read(converted(&bytes), &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed);
            assert!(error.to_string().contains("every LF was replaced by CR LF"), "{error}");
        }
        // A header with CR LF before intact data is read.
        let sound = [converted(header(count).as_bytes()), bytes[header(count).len()..].to_vec()].concat();
        assert_eq!(try_read(sound, &ReadOptions::default()).unwrap().value.meshes[0].positions.len(), count);
    }
}

/// An invalid row is dropped but keeps its number; elements that use it are dropped and counted.
#[test]
fn a_bad_row_of_text_keeps_its_number() {
    let elements = format!(
        "{VERTICES}property uchar red\nproperty uchar green\nproperty uchar blue\nproperty float quality\n\
        element face 5\nproperty list uchar int vertex_indices\nproperty int label\n\
        element edge 3\nproperty int vertex1\nproperty int vertex2\nproperty float crease\n"
    )
    .replace("vertex 3", "vertex 6");
    let good = "1 0 0 0 9 0 2";
    for bad in ["1 0 abc 1 1 1 1", "1 0 0 1 1", "x", "1 0 0 300 1 1 1", "1 0 0 1 1 1 1,5"] {
        let rows = format!(
            "0 0 0 255 0 0 1\n{bad}\n{good}\n0 1 0 0 0 9 3\n5 5 5 1 2 3 4\n6 6 6 1 2 3 5\n\
            3 0 2 3 10\n3 0 1 2 11\n3 2 y 4 12\n4 2 3 4 5 13\n3 3 4 5\n\
            0 1 .25\n2 5 .5\n3 z .75\n"
        );
        for (threads, chunk_bytes) in [(1, None), (2, Some(9)), (3, Some(40))] {
            let options = read_options(threads, chunk_bytes).with_on_error(OnError::Warn);
            let loaded = try_read(ply(&elements, &rows), &options).unwrap();
            let mesh = &loaded.value.meshes[0];
            let xs: Vec<f32> = mesh.positions.iter().map(|position| position[0]).collect();
            assert_eq!(xs, [0.0, 1.0, 0.0, 5.0, 6.0], "{bad}");
            assert_eq!(mesh.vertex_columns[0].values, Values::F32([1.0, 2.0, 3.0, 4.0, 5.0].into()));
            assert_eq!(mesh.colors[1], [0.0, 9.0 / 255.0, 0.0, 1.0]);
            assert_eq!(mesh.faces.corner_positions[..], [0, 1, 2, 1, 2, 3, 4], "{bad}");
            assert_eq!(mesh.face_columns[0].values, Values::I32([10, 13].into()));
            assert_eq!(mesh.lines.corner_positions[..], [1, 4]);
            assert_eq!(loaded.value.tables[0].columns[0].values, Values::F32([0.5].into()));
            let counts = loaded.report.warnings.counts();
            assert_eq!((counts["malformed"], counts["element-left-out"]), (4, 5), "{bad} {counts:?}");
        }
        assert!(try_read(ply(&elements, &rows), &ReadOptions::default()).is_err());
    }
    // Tables drop the row.
    let text = ply("element data 3\nproperty int a\nproperty list uchar int b\n", "1 1 5\n2 x\n3 2 6 7\n");
    let tables = Reader::new(memory(text, "a.ply")).options(&lenient()).tables().unwrap().value.tables;
    assert_eq!((tables[0].row_count, &tables[0].columns[0].values), (2, &Values::I32([1, 3].into())));
}

fn lenient() -> ReadOptions {
    ReadOptions::default().with_on_error(OnError::Warn)
}

#[test]
fn lines_may_have_more_values_than_declared() {
    let faces = "element face 1\nproperty list uchar int vertex_indices\n";
    let elements = format!("{VERTICES}{faces}");
    for (vertex, face) in [(" 7 8", ""), (" 7", " 255 0 0"), (" 1 2 3", " 9"), ("", " 1 2 3 4 5"), (" 1 2 3", "")] {
        let rows = format!("0 0 0{vertex}\n1 0 0{vertex}\n0 1 0{vertex}\n3 0 1 2{face}\n");
        for options in [lenient(), read_options(2, Some(9)).with_on_error(OnError::Warn)] {
            let loaded = try_read(ply(&elements, &rows), &options).unwrap();
            let mesh = &loaded.value.meshes[0];
            assert_eq!(mesh.positions[..], [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "{rows}");
            assert_eq!(mesh.faces.corner_positions[..], [0, 1, 2], "{rows}");
            let values = vertex.split_whitespace().count() * 3 + face.split_whitespace().count();
            assert_eq!(loaded.report.warnings.counts()["extra-value"], values as u64, "{rows}");
        }
        // By default, the result is never garbage.
        let Ok(loaded) = try_read(ply(&elements, &rows), &ReadOptions::default()) else { continue };
        assert_eq!(loaded.value.meshes[0].faces.corner_positions[..], [0, 1, 2], "{rows}");
    }
    // Rows can be split across lines in any way, with any policy.
    for options in [ReadOptions::default(), lenient()] {
        let loaded = try_read(ply(&elements, "0 0 0 1 0\n0 0 1 0 3\n0\n1 2"), &options).unwrap();
        assert_eq!(loaded.value.meshes[0].faces.corner_positions[..], [0, 1, 2]);
        assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    }
    let error = try_read(ply(VERTICES, "0 0 0 1\n1 0 0 1\n0 1 0 1\n"), &ReadOptions::default()).unwrap_err();
    let hint = error.diagnostic().hint.clone().unwrap_or_default();
    assert!(hint.contains("line 8 has 4 values, but the header declares 3"), "{error} {hint}");
}

#[test]
fn a_truncated_text_keeps_its_rows_past_errors() {
    let elements = format!("{VERTICES}element face 2\nproperty list uchar int vertex_indices\nproperty int label\n");
    for (rows, positions, faces) in [
        ("0 0 0\n1 0 0\n0 1 0\n3 0 1 2 5\n3 0", 3, 1),
        ("0 0 0\n1 0 0\n0 1 0\n", 3, 0),
        ("0 0 0\n1 0", 1, 0),
        ("", 0, 0),
    ] {
        assert!(try_read(ply(&elements, rows), &ReadOptions::default()).is_err());
        for options in [lenient(), read_options(2, Some(9)).with_on_error(OnError::Warn)] {
            let loaded = try_read(ply(&elements, rows), &options).unwrap();
            let mesh = &loaded.value.meshes[0];
            assert_eq!((mesh.positions.len(), mesh.faces.len()), (positions, faces), "{rows}");
            assert_eq!(loaded.report.warnings.counts()["truncated"], 1);
        }
    }
    // Faces before the missing vertices.
    let elements = format!("element face 2\nproperty list uchar int vertex_indices\n{VERTICES}");
    let loaded = try_read(ply(&elements, "3 0 1 2\n3 0 1 1\n0 0 0\n1 0 0\n"), &lenient()).unwrap();
    assert_eq!(loaded.value.meshes[0].faces.corner_positions[..], [0, 1, 1]);
}

/// Textures in MeshLab's notation become materials, and are written in the same way.
#[test]
fn textures_are_materials() {
    let folder = Folder::new("ply-textures").unwrap();
    for name in ["first.png", "second.png"] {
        std::fs::copy(data("glb/programs/paint.png"), folder.join(name)).unwrap();
    }
    let first = "comment TextureFile  first.png\n";
    let two = "comment kept\ncomment TextureFile first.png\ncomment texturefile second.png\n";
    let corners = "property list uchar float texcoord\n";
    let number = "property int texnumber\n";
    let face = |properties: &str| format!("element face 2\nproperty list uchar int vertex_indices\n{properties}");
    let uvs = " 6 0 0 1 0 0 1";
    for (head, properties, rows, names, slots) in [
        (first, "", "3 0 1 2\n3 2 1 0\n".to_owned(), &["first"][..], &[][..]),
        (first, number, "3 0 1 2 0\n3 2 1 0 0\n".to_owned(), &["first"], &[]),
        (first, number, "3 0 1 2 0\n3 2 1 0 -1\n".to_owned(), &["first"], &[0, -1]),
        (two, number, "3 0 1 2 1\n3 2 1 0 0\n".to_owned(), &["first", "second"], &[1, 0]),
        (
            two,
            &format!("{corners}property uchar texnumber\n"),
            format!("3 0 1 2{uvs} 1\n3 2 1 0{uvs} 0\n"),
            &["first", "second"],
            &[1, 0],
        ),
        (two, corners, format!("3 0 1 2{uvs}\n3 2 1 0{uvs}\n"), &["first", "second"], &[]),
    ] {
        let text = ply(&format!("{head}{VERTICES}{}", face(properties)), &format!("{ROWS}{rows}"));
        let path = folder.file("a.ply", &text).unwrap();
        let loaded = Reader::new(path.clone()).scene().unwrap();
        let scene = &loaded.value;
        let material_names: Vec<&str> = scene.materials.iter().map(|material| &*material.name).collect();
        assert_eq!(material_names, names);
        assert_eq!(scene.materials[0].maps[0].file, "first.png");
        assert_eq!(scene.meshes[0].face_materials[..], *slots, "{text}");
        assert_eq!(scene.meshes[0].uvs.is_empty(), !properties.contains("texcoord"));
        assert_eq!(scene.comments, if head == two { vec!["kept".to_owned()] } else { Vec::new() });
        let counts = loaded.report.warnings.counts();
        assert_eq!(counts.get("missing-property"), (properties == corners).then_some(&1));
        // Back to PLY, and from a subfolder to OBJ and glTF.
        let options = to(Format::Ply);
        let again = folder.join("again.ply");
        let report = Writer::new(again.clone()).options(&options).scene(scene).unwrap();
        let is_unused = slots.is_empty() && names.len() > 1;
        assert_eq!(report.warnings.total(), u64::from(is_unused), "{:?}", report.warnings);
        let read = Reader::new(again).scene().unwrap().value;
        let used = if slots.is_empty() { 1 } else { names.len() };
        assert_eq!(read.meshes[0].face_materials, scene.meshes[0].face_materials);
        assert_eq!(read.materials, scene.materials[..used]);
        let below = folder.join("below");
        std::fs::create_dir_all(&below).unwrap();
        Writer::new(below.join("a.obj")).scene(scene).unwrap();
        let library = std::fs::read_to_string(below.join("a.mtl")).unwrap();
        assert!(library.contains("map_Kd ../first.png"), "{library}");
        Writer::new(below.join("a.ply")).options(&options).scene(scene).unwrap();
        let written = std::fs::read_to_string(below.join("a.ply")).unwrap();
        assert!(written.contains("comment TextureFile ../first.png\n"), "{written}");
        let copying = WriteOptions::default().with_copy_assets(true);
        Writer::new(below.join("b.obj")).options(&copying).scene(scene).unwrap();
        assert!(below.join("first.png").exists());
        Writer::new(below.join("a.glb")).scene(scene).unwrap();
        let glb = Reader::new(below.join("a.glb")).scene().unwrap().value;
        assert!(glb.materials[0].maps[0].file.contains("a.glb#"), "{:?}", glb.materials[0].maps);
        std::fs::remove_dir_all(&below).unwrap();
    }
    // A number without a texture is counted, and a point cloud keeps the comment.
    let text = ply(&format!("{first}{VERTICES}{}", face(number)), &format!("{ROWS}3 0 1 2 0\n3 2 1 0 7\n"));
    assert_eq!(try_read(text, &ReadOptions::default()).unwrap().report.warnings.counts()["missing-texture"], 1);
    let cloud = try_read(ply(&format!("{first}{VERTICES}"), ROWS), &ReadOptions::default()).unwrap().value;
    assert_eq!((cloud.comments.len(), cloud.materials.len()), (1, 0));
}

/// The reader drops quotes around a name, so a name with quotes cannot be stored.
#[test]
fn textures_with_quotes_in_their_names_are_counted() {
    let face = "element face 1\nproperty list uchar int vertex_indices\n";
    let text = ply(&format!("comment TextureFile first.png\n{VERTICES}{face}"), &format!("{ROWS}3 0 1 2\n"));
    let mut scene = try_read(text, &ReadOptions::default()).unwrap().value;
    scene.materials[0].maps[0].file = "\"first.png\"".into();
    let (written, report) = try_written(&scene, &to(Format::Ply)).unwrap();
    assert_eq!(report.warnings.counts().get("left-out-materials"), Some(&1));
    assert!(!String::from_utf8_lossy(&written).contains("TextureFile"));
}

/// A PLY file stores one texture of a material; the others are counted by name.
#[test]
fn what_a_file_cannot_hold_of_a_material_is_counted() {
    let folder = Folder::new("ply-losses").unwrap();
    let library = "newmtl wood\nKd .5 1 1\nNs 10\nmap_Kd first.png\nmap_Bump bump.png\nnewmtl first\nKd 1 1 1\n\
        map_Kd first.png\nnewmtl plain\nKd 1 0 0\n";
    folder.file("a.mtl", library).unwrap();
    folder.file("first.png", "x").unwrap();
    folder.file("bump.png", "x").unwrap();
    let mut text = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n".to_owned();
    for name in ["wood", "first", "plain"] {
        text += &format!("usemtl {name}\nf 1/1 2/2 3/3\n");
    }
    let scene = Reader::new(folder.file("a.obj", text).unwrap()).scene().unwrap().value;
    let report = Writer::new(folder.join("b.ply")).options(&to(Format::Ply)).scene(&scene).unwrap();
    let counts = report.warnings.counts();
    let expected =
        [("left-out-maps", 1), ("left-out-material-properties", 2), ("left-out-materials", 1), ("left-out-names", 1)];
    assert_eq!(counts.iter().map(|(code, count)| (*code, *count)).collect::<Vec<_>>(), expected);
    let written = folder.text("b.ply");
    assert!(written.contains("comment TextureFile first.png\nelement"), "one texture, named once: {written}");
    assert!(written.contains("3 0 1 2 0\n3 0 1 2 0\n3 0 1 2 -1\n"), "{written}");
}

/// Blender's reader rejects lists in `vertex`.
#[test]
fn attributes_of_several_numbers_are_properties_of_their_own() {
    let list = |name: &str, values: Values, width: u32| Column {
        name: name.into(),
        values,
        offsets: Some((0..=4).map(|row| row * width).collect::<Vec<u32>>().into()),
    };
    let floats = |count: usize| Values::F32((0..count).map(|at| at as f32 / 2.0).collect::<Vec<f32>>().into());
    let mut mesh = square();
    mesh.vertex_columns = vec![
        list("TEXCOORD_1", floats(8), 2),
        list("TANGENT", floats(16), 4),
        list("JOINTS_0", Values::U8((0..16).collect::<Vec<u8>>().into()), 4),
        list("_WIND", floats(12), 3),
        list("neighbors", floats(8), 2),
        Column { name: "scale_0".into(), values: floats(4), offsets: None },
        Column { name: "scale_1".into(), values: floats(4), offsets: None },
    ];
    let scene = scene_of(mesh);
    for ascii in [false, true] {
        let mut options = WriteOptions::default().with_format(Some(Format::Ply));
        options.scene.ascii = ascii;
        let (bytes, report) = try_written(&scene, &options).unwrap();
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("property float TEXCOORD_1_0\nproperty float TEXCOORD_1_1\nproperty float TANGENT_0\n"));
        assert!(text.contains("property uchar JOINTS_0_3\nproperty float _WIND_0\n"), "{text}");
        let read = try_read(&bytes, &ReadOptions::default()).unwrap().value;
        assert_eq!(read.meshes[0].vertex_columns, scene.meshes[0].vertex_columns);
    }
    // Vertices without the attribute have zeros, with a warning; if the name is taken, the list stays a list.
    let mut mesh = square();
    let offsets = Some([0, 2, 2, 4, 4].into());
    mesh.vertex_columns = vec![Column { name: "TEXCOORD_1".into(), values: floats(4), offsets }];
    let (bytes, report) = try_written(&scene_of(mesh.clone()), &to(Format::Ply)).unwrap();
    assert_eq!(report.warnings.counts()["changed-columns"], 2);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(" 0 0.5\n") && text.contains(" 1 1.5\n") && !text.contains("list uchar float"), "{text}");
    mesh.vertex_columns.push(Column { name: "TEXCOORD_1_1".into(), values: floats(4), offsets: None });
    let (bytes, _) = try_written(&scene_of(mesh), &to(Format::Ply)).unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("list uchar float TEXCOORD_1\n"));
}

#[test]
fn a_byte_order_mark_is_no_content() {
    let mark = "\u{feff}";
    for text in [format!("{mark}{}", ply(VERTICES, ROWS)), ply(VERTICES, &format!("{mark}{ROWS}"))] {
        for options in [ReadOptions::default(), read_options(2, Some(5))] {
            assert_eq!(try_read(&text, &options).unwrap().value.meshes[0].positions[1], [1.0, 0.0, 0.0]);
        }
    }
}

/// Floats are normally from 0 to 1; brighter light is kept.
#[test]
fn colors_of_floats_up_to_255_are_scaled() {
    for (colors, expected, count) in [
        (["255 0 0", "0 51 0", "0 0 1"], [1.0, 0.2, 1.0 / 255.0], 1),
        (["0.5 0 0", "0 1 0", "0 0 1"], [0.5, 1.0, 1.0], 0),
        (["1.5 0 0", "0 3.25 0", "0 0 1"], [1.5, 3.25, 1.0], 0),
        (["127.5 0 0", "0 3.1875 0", "0 0 255"], [0.5, 0.0125, 1.0], 1),
        (["500 0 0", "0 3 0", "0 0 1"], [500.0, 3.0, 1.0], 0),
    ] {
        for scalar in ["float", "double"] {
            let channels = ["red", "green", "blue"].map(|name| format!("property {scalar} {name}\n")).concat();
            let rows = ["0 0 0", "1 0 0", "0 1 0"].iter().zip(colors);
            let rows: String = rows.map(|(row, color)| format!("{row} {color}\n")).collect();
            let loaded = try_read(ply(&format!("{VERTICES}{channels}"), &rows), &ReadOptions::default()).unwrap();
            let read = &loaded.value.meshes[0].colors;
            assert_eq!([read[0][0], read[1][1], read[2][2]], expected);
            assert_eq!(loaded.report.warnings.counts().get("odd-property").copied().unwrap_or(0), count);
        }
    }
}
