//! Elements and properties as parts of a scene.

use crate::ply::support::{header, scene};
use polyhaul::model::{Array, Domain, ObjectKind, Values};
use polyhaul::options::Precision;

#[test]
fn vertices_have_attributes_under_all_names() {
    for (uv, colors) in [
        ("u v", "uchar red;uchar green;uchar blue;uchar alpha"),
        ("s t", "ushort diffuse_red;ushort diffuse_green;ushort diffuse_blue"),
        ("texture_u texture_v", "float r;float g;float b;float a"),
        ("texture_s texture_t", "double red;double green;double blue"),
    ] {
        let (u, v) = uv.split_once(' ').unwrap();
        let colors: String = colors.split(';').map(|property| format!("property {property}\n")).collect();
        let channels = colors.lines().count();
        let full = if colors.contains("uchar") {
            "255"
        } else if colors.contains("ushort") {
            "65535"
        } else {
            "1.0"
        };
        let lines = format!(
            "element vertex 2\nproperty float {v}\nproperty double y\nproperty short scan\nproperty float x\n\
             property float ny\nproperty float nz\nproperty float nx\n{colors}property float z\nproperty float {u}\n"
        );
        let row = |n: &str| format!("{n}.25 2 {n} 1 5 6 4 {}3 {n}.5\n", format!("{full} ").repeat(channels));
        let loaded = scene(header("ascii", &lines) + &row("8") + &row("9")).value;
        let mesh = &loaded.meshes[0];
        assert_eq!(mesh.positions, [[1.0, 2.0, 3.0]; 2]);
        assert_eq!((&mesh.normals, mesh.normal_domain), (&Array::from([[4.0, 5.0, 6.0]; 2]), Domain::Vertex));
        assert_eq!((&mesh.uvs, mesh.uv_domain), (&Array::from([[8.5, 8.25], [9.5, 9.25]]), Domain::Vertex));
        assert_eq!(mesh.colors, [[1.0; 4]; 2]);
        assert_eq!(mesh.vertex_columns.len(), 1);
        assert_eq!(
            (mesh.vertex_columns[0].name.as_str(), &mesh.vertex_columns[0].values),
            ("scan", &Values::I16([8, 9].into()))
        );
        assert_eq!((loaded.objects.len(), loaded.objects[0].kind), (1, ObjectKind::Unnamed));
        assert_eq!(loaded.objects[0].end, mesh.counts());
    }
}

#[test]
fn doubles_that_are_not_floats_are_kept() {
    let lines = "element vertex 1\nproperty double x\nproperty double y\nproperty double z\n";
    let floats = scene(header("ascii", lines) + "0.5 nan -inf\n");
    assert!(floats.report.warnings.is_empty() && !floats.value.meshes[0].is_exact());
    let text = header("ascii", lines) + "0.5 0.123456789 0\n";
    let doubles = scene(&text);
    assert!(doubles.report.warnings.is_empty());
    assert_eq!(doubles.value.meshes[0].exact_positions, [[0.5, 0.123456789, 0.0]]);
    assert_eq!(doubles.value.meshes[0].positions, [[0.5, 0.123_456_789_f64 as f32, 0.0]]);
    let single = crate::ply::support::options(1, None).with_precision(Precision::Single);
    let rounded = polyhaul::Reader::new(crate::ply::support::memory(text.as_bytes())).options(&single).scene().unwrap();
    assert_eq!(rounded.report.warnings.counts()["rounded"], 1);
    assert!(!rounded.value.meshes[0].is_exact());
}

/// A number with one digit more or less than f32s need, or close to the midpoint between two f32s; from row `from` on,
/// it needs a double.
fn long_double(row: usize, from: usize) -> String {
    let value = f32::from_bits(0x3E00_0001 + 40_503 * row as u32);
    let middle = f64::from(value) + f64::from(value) / f64::from(1 << 25);
    match row % 4 {
        _ if row < from => format!("{:.17}", f64::from(value)),
        0 => format!("{:.16}", 0.1 * row as f64),
        1 => format!("-{middle:.17}"),
        2 => format!("{:.20}", middle * (1.0 + f64::EPSILON)),
        _ => format!("{:.17}", middle * 1.000_001),
    }
}

#[test]
fn long_doubles_are_the_nearest_and_kept_for_any_pieces() {
    const ROWS: usize = 1500;
    for (time_property, from) in [("", 0), ("", 200), ("", 1499), ("", ROWS), ("property double time\n", 0)] {
        let lines =
            format!("element vertex {ROWS}\nproperty double x\nproperty uchar red\nproperty double y\n{time_property}");
        let lines = lines + "property uchar green\nproperty uchar blue\nproperty double z\n";
        let word = |row: usize, at: usize| long_double(row + 7 * at, from + 7 * at);
        let time = |row: usize| if time_property.is_empty() { String::new() } else { word(row, 3) };
        let row = |row: usize| {
            format!("{} {} {} {} 0 255 {}\n", word(row, 0), row % 256, word(row, 1), time(row), word(row, 2))
        };
        let text = header("ascii", &lines) + &(0..ROWS).map(row).collect::<String>();
        for chunk_bytes in [None, Some(50), Some(1000), Some(20_000)] {
            let input = crate::ply::support::memory(text.as_bytes());
            let loaded = polyhaul::Reader::new(input).options(&crate::ply::support::options(2, chunk_bytes)).scene();
            let loaded = loaded.unwrap();
            let mesh = &loaded.value.meshes[0];
            assert_eq!(mesh.is_exact(), from < ROWS, "{from} {chunk_bytes:?}");
            for (number, position) in mesh.exact_positions.iter().enumerate() {
                let expected = [0, 1, 2].map(|at| word(number, at).parse::<f64>().unwrap());
                assert_eq!(position.map(f64::to_bits), expected.map(f64::to_bits), "row {number}, {chunk_bytes:?}");
            }
            for (number, position) in mesh.positions.iter().enumerate() {
                let expected = [0, 1, 2].map(|at| word(number, at).parse::<f64>().unwrap() as f32);
                assert_eq!(position.map(f32::to_bits), expected.map(f32::to_bits), "row {number}, {chunk_bytes:?}");
            }
            assert_eq!(mesh.colors[1], [1.0 / 255.0, 0.0, 1.0, 1.0]);
            if let Some(column) = mesh.vertex_columns.first() {
                let expected: Vec<f64> = (0..ROWS).map(|number| time(number).parse().unwrap()).collect();
                assert_eq!(column.values, Values::F64(expected.into()));
            }
        }
    }
}

const VERTICES: &str = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n";
const FOUR: &str = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";

#[test]
fn faces_of_any_index_type_before_their_vertices() {
    for item in ["char", "uchar", "short", "ushort", "int", "uint", "int64", "uint64"] {
        for name in ["vertex_indices", "vertex_index"] {
            let lines = format!("element face 2\nproperty list uchar {item} {name}\nproperty int id\n{VERTICES}");
            let loaded = scene(header("ascii", &lines) + "3 0 1 2 7\n4 0 1 2 3 8\n" + FOUR).value;
            let mesh = &loaded.meshes[0];
            assert_eq!(
                (&*mesh.faces.offsets, &*mesh.faces.corner_positions),
                (&[0, 3, 7][..], &[0, 1, 2, 0, 1, 2, 3][..])
            );
            assert_eq!(mesh.face_columns[0].values, Values::I32([7, 8].into()));
        }
    }
}

#[test]
fn texture_coordinates_of_corners() {
    let lines = format!(
        "{VERTICES}element face 2\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\n"
    );
    let whole = scene(header("ascii", &lines) + FOUR + "3 0 1 2 6 0 1 2 3 4 5\n3 0 2 3 6 6 7 8 9 10 11\n").value;
    let mesh = &whole.meshes[0];
    assert_eq!((mesh.uv_domain, mesh.uvs.len(), mesh.uvs[5]), (Domain::Corner, 6, [10.0, 11.0]));
    assert!(mesh.face_columns.is_empty());
    let partial = scene(header("ascii", &lines) + FOUR + "3 0 1 2 6 0 1 2 3 4 5\n3 0 2 3 0\n").value;
    let mesh = &partial.meshes[0];
    assert!(mesh.uvs.is_empty());
    assert_eq!(mesh.face_columns[0].offsets, Some([0, 6, 6].into()));
}

#[test]
fn strips_edges_and_other_elements() {
    let lines = format!(
        "{VERTICES}element tristrips 1\nproperty list int int vertex_indices\nelement edge 2\nproperty int vertex1\n\
         property int vertex2\nelement material 1\nproperty uchar shine\n"
    );
    let loaded = scene(header("ascii", &lines) + FOUR + "7 0 1 2 3 -1 0 1\n0 2\n1 3\n9\n").value;
    let mesh = &loaded.meshes[0];
    assert_eq!(mesh.faces.corner_positions, [0, 1, 2, 2, 1, 3]);
    assert_eq!((&*mesh.lines.offsets, &*mesh.lines.corner_positions), (&[0, 2, 4][..], &[0, 2, 1, 3][..]));
    assert_eq!((loaded.tables.len(), loaded.tables[0].name.as_str()), (1, "material"));
    let lines =
        format!("{VERTICES}element edge 1\nproperty int vertex1\nproperty int vertex2\nproperty uchar crease\n");
    let loaded = scene(header("ascii", &lines) + FOUR + "0 2 5\n").value;
    assert_eq!(loaded.meshes[0].lines.corner_positions, [0, 2]);
    assert_eq!((loaded.tables[0].name.as_str(), loaded.tables[0].columns.len()), ("edge", 1));
}

#[test]
fn what_has_no_positions_is_tables() {
    let loaded = scene(header("ascii", "element vertex 1\nproperty float x\nproperty float y\n") + "1 2\n").value;
    assert!(loaded.meshes.is_empty() && loaded.tables.len() == 1 && loaded.objects.is_empty());
}

#[test]
fn info_says_what_the_file_says() {
    let lines = format!("comment made by hand\n{VERTICES}element face 0\nproperty list uchar int vertex_indices\n");
    let input = crate::ply::support::memory((header("ascii", &lines) + FOUR).as_bytes());
    let (inventory, _) = polyhaul::inspect::info(input, &crate::ply::support::options(1, None)).unwrap();
    let declared = inventory.declared.unwrap();
    assert_eq!((declared.format, declared.comments.len()), ("PLY ascii", 1));
    assert_eq!((declared.elements[0].count, declared.elements[1].properties[0].name.as_str()), (4, "vertex_indices"));
    assert_eq!(inventory.bounds.unwrap().max, [1.0, 1.0, 0.0]);
}
