//! The meaning of files: keywords, counts, colors, comments, and faces of all sizes.

use crate::off::*;
use polyhaul::Output;
use polyhaul::WriteOptions;
use polyhaul::inspect;
use polyhaul::model::{Domain, ObjectKind};

const CUBE: &str = "good/cube.off";

/// A triangle after a header.
fn triangle(header: &str) -> String {
    format!("{header}0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
}

#[test]
fn a_cube_is_a_cube_in_every_layout() {
    let loaded = load(file(CUBE)).unwrap();
    let cube = &loaded.value.meshes[0];
    assert_eq!((cube.positions.len(), cube.faces.len()), (8, 6));
    assert_eq!(cube.positions[..2], [[-0.5, -0.5, 0.5], [0.5, -0.5, 0.5]]);
    assert_eq!((&cube.faces.offsets[..3], &cube.faces.corner_positions[..4]), (&[0, 4, 8][..], &[0, 1, 3, 2][..]));
    let object = &loaded.value.objects[0];
    assert_eq!((object.kind, object.end), (ObjectKind::Unnamed, cube.counts()));
    let layouts = ["cube_crlf", "cube_cr", "no_newline", "no_keyword", "glued", "one_line_header", "byte_order_mark"];
    for name in layouts.into_iter().chain(["comments"]) {
        assert!(mesh(file(&format!("good/{name}.off"))) == *cube, "{name}");
    }
}

#[test]
fn headers_stand_on_one_line_or_two() {
    let expected = mesh(triangle("OFF\n3 1 0\n"));
    for header in
        ["OFF 3 1 0\n", "OFF3 1\n", "3 1 0\n", "\n# a\n \t3 1\n", "OFF # a\n\n# b\n3 1 -7 # c\n", "OFF\t3\t1\t3\r\n"]
    {
        assert_eq!(mesh(triangle(header)), expected, "{header:?}");
    }
    let keywords =
        ["COFF 3 1 0\n", "NOFF 3 1 0\n", "STOFF 3 1 0\n", "CNOFF\n3 1 0\n", "STCNOFF3 1 0\n", "NCOFF\n3 1\n"];
    for keyword in keywords {
        assert!(load(triangle(keyword)).is_err(), "{keyword}: vertices have too few values");
    }
}

#[test]
fn vertices_have_what_the_keyword_says() {
    let complete = mesh(file("good/all.off"));
    assert_eq!((complete.normal_domain, complete.uv_domain), (Domain::Vertex, Domain::Vertex));
    assert_eq!(
        (complete.normals[0], complete.uvs[1], complete.colors[6]),
        ([0.0, 0.0, 1.0], [0.125, 0.875], [0.0, 128.0 / 255.0, 1.0, 1.0])
    );
    assert!(mesh(file("good/all_meshlab.off")) == complete);
    for (name, has) in
        [("normals", [true, false, false]), ("uvs", [false, true, false]), ("color_bytes", [false, false, true])]
    {
        let loaded = mesh(file(&format!("good/{name}.off")));
        let has_optional = [!loaded.normals.is_empty(), !loaded.uvs.is_empty(), !loaded.colors.is_empty()];
        assert_eq!(has_optional, has, "{name}");
        assert!(loaded.positions == complete.positions && loaded.faces == complete.faces, "{name}");
        assert!([&loaded.normals[..], &complete.normals].contains(&&loaded.normals[..]));
    }
}

#[test]
fn colors_are_bytes_if_one_of_them_is_large() {
    let colors = |keyword: &str, rows: &str| mesh(format!("{keyword} {} 0 0\n{rows}", rows.lines().count())).colors;
    assert_eq!(colors("COFF", "0 0 0 1 1 1 1\n0 0 0 0 0.5 1 0"), [[1.0; 4], [0.0, 0.5, 1.0, 0.0]]);
    assert_eq!(colors("COFF", "0 0 0 1 1 1 1\n0 0 0 255 0 51 255"), [[1.0 / 255.0; 4], [1.0, 0.0, 0.2, 1.0]]);
    // A missing alpha is 1, whatever the other values are.
    assert_eq!(colors("COFF", "0 0 0 .5 1 1\n0 0 0 0 0 0 .5\n"), [[0.5, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.5]]);
    assert_eq!(colors("COFF", "0 0 0 51 0 0\n0 0 0 0 0 0 51\n"), [[0.2, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.2]]);
    assert_eq!(colors("STCOFF", "0 0 0 51 0 0 7 8\n"), [[0.2, 0.0, 0.0, 1.0]]);
    assert_eq!(colors("COFF", "0 0 0 1.5 1 1 1\n"), [[1.5, 1.0, 1.0, 1.0]]);
    assert_eq!(mesh("STCOFF 1 0 0\n0 0 0 51 0 0 7 8\n").uvs, [[7.0, 8.0]]);
    let mut many = "1 2 3 1 0 1 1\n".repeat(30_000) + "1 2 3 2 0 0 0\n";
    assert_eq!(colors("COFF", &many)[0], [1.0 / 255.0, 0.0, 1.0 / 255.0, 1.0 / 255.0], "the last line decides for all");
    many = many.replace("2 0 0 0", "1 0 0 0");
    assert_eq!(colors("COFF", &many)[0], [1.0, 0.0, 1.0, 1.0]);
}

#[test]
fn small_faces_are_lines_and_points() {
    let loaded = load(file("good/lines_and_points.off")).unwrap();
    let read = &loaded.value.meshes[0];
    assert!(read.faces == mesh(file(CUBE)).faces);
    assert_eq!((&*read.lines.offsets, &*read.lines.corner_positions), (&[0, 2, 4][..], &[0, 1, 3, 2][..]));
    assert_eq!((&*read.points, codes(&loaded.report)), (&[7, 0][..], vec![("short-face", 1)]));
    assert_eq!(loaded.value.objects[0].end, read.counts());
}

#[test]
fn colors_of_faces_are_one_warning() {
    let loaded = load(file("good/face_colors.off")).unwrap();
    assert!(loaded.value.meshes[0] == mesh(file(CUBE)));
    assert_eq!(codes(&loaded.report), [("left-out-face-colors", 5)]);
    let [only] = loaded.report.warnings.kept() else { panic!("{:?}", loaded.report.warnings) };
    assert_eq!((only.count, &*only.diagnostic.message), (5, "the colors of 5 faces were dropped"));
    assert_eq!((only.diagnostic.place.line, only.diagnostic.place.column), (Some(12), Some(11)));
    let strict = ReadOptions::default().with_strict(true);
    let error = load_with(file("good/face_colors.off"), &strict).unwrap_err();
    assert_eq!((error.kind(), error.place().line), (polyhaul::ErrorKind::Unsupported, Some(12)));
}

#[test]
fn what_is_too_much_is_noted() {
    let loaded = load(file("good/extra_values.off")).unwrap();
    assert!(loaded.value.meshes[0] == mesh(file(CUBE)));
    assert_eq!(codes(&loaded.report), [("extra-value", 3)]);
    let loaded = load(file("good/trailing.off")).unwrap();
    assert!(loaded.value.meshes[0] == mesh(file(CUBE)));
    assert_eq!(codes(&loaded.report), [("extra-data", 1)]);
    assert_eq!(loaded.report.warnings.kept()[0].diagnostic.place.line, Some(19));
}

#[test]
fn comments_of_the_header_are_kept() {
    let scene = load(file("good/comments.off")).unwrap().value;
    assert_eq!(scene.comments, ["made by hand", "a cube", "\t8 6 12 are its numbers", "vertices, faces, edges"]);
    let again = load(text(&scene, WriteOptions::default())).unwrap().value;
    assert_eq!((again.comments, again.meshes), (scene.comments, scene.meshes));
}

#[test]
fn files_without_faces_or_vertices_are_read() {
    assert_eq!(mesh(file("good/empty.off")), Mesh::default());
    assert_eq!(load(file("good/empty.off")).unwrap().value.objects, []);
    let cloud = mesh(file("good/cloud.off"));
    assert!(cloud.positions == mesh(file(CUBE)).positions && cloud.faces.is_empty());
    assert_eq!(mesh("STCNOFF 0 0 0").uv_domain, Domain::Indexed);
}

#[test]
fn numbers_have_any_notation() {
    let loaded = mesh(file("good/numbers.off"));
    let rows = &loaded.positions;
    assert_eq!(rows[0], [-0.5, 5.0, 1e-3]);
    assert_eq!((rows[1], rows[1][2].to_bits()), ([100.0, 0.123_456_79, 0.0], (-0.0f32).to_bits()));
    assert_eq!(rows[2], [12_345_678_901_234_567_000.0, 0.0, f32::INFINITY]);
    assert!(rows[3][0].is_nan() && rows[3][1..] == [f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(loaded.faces.corner_positions, [0, 1, 2, 0, 1, 2, 3, 4]);
}

#[test]
fn content_tells_the_format() {
    let read =
        |text: &str, name: &str| polyhaul::Reader::new(Input::Memory(text.as_bytes().to_vec(), name.into())).scene();
    for header in ["OFF\n3 1 0\n", "OFF3 1 0\n", "# a\n\n OFF 3 1 0\n"] {
        let loaded = read(&triangle(header), "x").unwrap();
        assert_eq!(loaded.value.meshes[0].faces.len(), 1, "{header:?}");
    }
    // Without the keyword, the name must identify the format.
    assert!(read(&triangle("3 1 0\n"), "x").is_err() && read(&triangle("3 1 0\n"), "x.OFF").is_ok());
    assert!(read("OFFER\n3 1 0\n", "x").is_err());
    let error = read(&triangle("OFF\n3 1 0\n"), "x.ply").unwrap_err();
    assert_eq!(
        error.diagnostic().hint.as_deref(),
        Some("the content looks like OFF but was read as PLY: use `--from off`")
    );
}

#[test]
fn it_is_inspected_like_any_scene() {
    let input = |name: &str| Input::Path(corpus::root().join("off").join(name));
    let (inventory, report) = inspect::info(input("good/all.off"), &ReadOptions::default()).unwrap();
    assert_eq!(
        (inventory.contents.quads, inventory.contents.positions, report.bytes_in),
        (6, 8, file("good/all.off").len() as u64)
    );
    assert!(inspect::validate(input(CUBE), &ReadOptions::default()).unwrap().valid);
    let validation = inspect::validate(input("bad/index.off"), &ReadOptions::default()).unwrap();
    assert!(!validation.valid && validation.error.unwrap().place().line == Some(13));
    let output = Output::Writer(Box::new(std::io::sink()), "x.obj".into());
    let report = polyhaul::Reader::new(input("good/all.off")).convert(polyhaul::Writer::new(output)).unwrap();
    assert!(report.bytes_out > 300);
}
