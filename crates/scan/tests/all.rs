//! Compares filters with the same conditions in Rust, and filtered tables and meshes with the original rows, one by
//! one.

use polyhaul_model::error::ErrorKind;
use polyhaul_model::{Bounds, Column, Counts, Domain, Elements, Mesh, NONE, Object, Run, Scene, Table, Values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_scan::table::{cut, keep_tables, target};
use polyhaul_scan::{Chooser, Expression, Fields, RowOptions, mesh, move_table};

fn run(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads))
}

fn column(name: &str, values: Values) -> Column {
    Column { name: name.into(), values, offsets: None }
}

/// Some thousand rows, including NaN and large integers.
fn points(rows: usize) -> Table {
    let float = |row: usize, step: f32| if row % 97 == 96 { f32::NAN } else { (row as f32 * step).sin() * 10.0 };
    let columns = vec![
        column("x", Values::F32((0..rows).map(|row| float(row, 0.1)).collect())),
        column("y", Values::F64((0..rows).map(|row| f64::from(float(row, 0.7))).collect())),
        column("z", Values::I16((0..rows).map(|row| (row % 1000) as i16 - 500).collect())),
        column("scan angle", Values::U8((0..rows).map(|row| row as u8).collect())),
        column("time", Values::U64((0..rows).map(|row| row as u64 * 1_000_000_007).collect())),
    ];
    Table { name: "vertex".into(), row_count: rows, columns }
}

/// The rows that the options keep.
fn rows(table: &Table, options: &RowOptions, threads: usize) -> Vec<usize> {
    let run = run(threads);
    let mut chooser = Chooser::new(options, &run).unwrap();
    chooser.add(chooser.look(&Fields::of_table(table)).unwrap()).unwrap();
    let set = chooser.finish().unwrap();
    set.among(0, table.row_count).collect()
}

fn filter(text: &str) -> RowOptions {
    RowOptions::default().with_filter(Some(text.parse().unwrap()))
}

/// The values of a row of [`points`].
type Point = [f64; 5];

fn point(table: &Table, row: usize) -> Point {
    let value = |at: usize| match &table.columns[at].values {
        Values::F32(values) => f64::from(values[row]),
        Values::F64(values) => values[row],
        Values::I16(values) => f64::from(values[row]),
        Values::U8(values) => f64::from(values[row]),
        Values::U64(values) => values[row] as f64,
        _ => unreachable!(),
    };
    [0, 1, 2, 3, 4].map(value)
}

#[test]
fn filters_mean_what_they_say() {
    let table = points(5000);
    type Wanted = fn(Point) -> bool;
    let cases: [(&str, Wanted); 16] = [
        ("x > 0", |[x, ..]| x > 0.0),
        ("x <= y", |[x, y, ..]| x <= y),
        ("x != x", |[x, ..]| x.is_nan()),
        ("not x == x", |[x, ..]| x.is_nan()),
        ("is_finite(x) and x < -2.5e0", |[x, ..]| x < -2.5),
        ("x > 5 or y > 5 and z > 0", |[x, y, z, ..]| x > 5.0 || y > 5.0 && z > 0.0),
        ("(x > 5 or y > 5) and z > 0", |[x, y, z, ..]| (x > 5.0 || y > 5.0) && z > 0.0),
        ("not (x > 5 or y > 5)", |[x, y, ..]| !(x > 5.0 || y > 5.0)),
        ("1 - 2 - 3 == -4", |_| true),
        ("-z - 2 * -3 >= - - 1", |[_, _, z, ..]| -z + 6.0 >= 1.0),
        ("`scan angle` % 7 == 3", |[.., angle, _]| angle % 7.0 == 3.0),
        ("column(3) / 2 == floor(column(3) / 2)", |[.., angle, _]| angle % 2.0 == 0.0),
        ("abs(x) < 1 and sqrt(y * y) < 2", |[x, y, ..]| x.abs() < 1.0 && y.abs() < 2.0),
        ("max(x, y) > 8 or min(x, y) < -8", |[x, y, ..]| x.max(y) > 8.0 || x.min(y) < -8.0),
        ("sigmoid(x) > 0.5 and exp(log(y)) > 1", |[x, y, ..]| x > 0.0 && y.ln().exp() > 1.0),
        ("time >= 3e12", |[.., time]| time >= 3e12),
    ];
    for (text, is_expected) in cases {
        let expected: Vec<_> = (0..table.row_count).filter(|&row| is_expected(point(&table, row))).collect();
        for threads in [1, 3] {
            assert_eq!(rows(&table, &filter(text), threads), expected, "{text}");
        }
    }
}

#[test]
fn wrong_filters_are_explained_at_their_place() {
    let cases = [
        ("", "filter:1:1: expected a number, a column or `(`"),
        ("x", "filter:1:1: expected a condition, found a number"),
        ("x + 1", "filter:1:1: expected a condition, found a number"),
        ("x < ", "filter:1:4: expected a number, a column or `(`"),
        ("x < 1 and y", "filter:1:11: expected a condition, found a number"),
        ("(x < 1) + 1 > 0", "filter:1:1: expected a number, found a condition"),
        ("0 < x < 1", "filter:1:7: comparisons cannot be chained"),
        ("x = 1", "filter:1:3: unexpected `=`"),
        ("x < 1 && y < 1", "filter:1:7: unexpected `&&`"),
        ("x <> 1", "filter:1:3: unexpected `<>`"),
        ("x < 1 y", "filter:1:7: expected an operator, `and` or `or`"),
        ("(x < 1", "filter:1:7: expected `)`"),
        ("max(x) < 1", "filter:1:6: expected `,`: `max` takes 2 numbers"),
        ("sin(x) < 1", "filter:1:1: no function named `sin`"),
        ("x < 1e999", "filter:1:5: `1e999` is out of range"),
        ("x < 1.2.3", "filter:1:5: `1.2.3` is not a number"),
        ("`x < 1", "filter:1:1: missing closing backquote"),
        ("column(-1) < 1", "filter:1:8: expected a column number, starting at 0"),
        ("x < 1 and", "filter:1:10: expected a number, a column or `(`"),
        ("\u{e9} < 1 \u{20ac}", "filter:1:8: unexpected `\u{20ac}`"),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Expression>().unwrap_err().to_string(), expected, "{text}");
    }
    let deep = format!("{}x < 1{}", "(".repeat(200), ")".repeat(200));
    assert!(deep.parse::<Expression>().unwrap_err().to_string().contains("nested more than 100 levels deep"));
    assert!("not ".repeat(200).parse::<Expression>().is_err() && "-".repeat(200).parse::<Expression>().is_err());
    let long = format!("x < {}", "1".repeat(1 << 17));
    assert!(long.parse::<Expression>().unwrap_err().to_string().contains("more than the limit"));
}

#[test]
fn unknown_columns_are_named_with_those_there_are() {
    let mut table = points(3);
    let error = |table: &Table, text: &str| {
        let mut tables = [table.clone()];
        let error = keep_tables(&mut tables, 0, &filter(text), &run(1)).unwrap_err();
        (error.to_string(), error.diagnostic().hint.clone().unwrap_or_default())
    };
    let (message, hint) = error(&table, "x < 1 and opacty > 0");
    assert_eq!(message, "filter:1:11: no column named `opacty`");
    assert_eq!(hint, "the columns are x, y, z, scan angle, time");
    assert_eq!(error(&table, "column(5) > 0").0, "filter:1:1: no column 5: the table has 5 columns");
    table.columns.iter_mut().for_each(|column| column.name.clear());
    assert!(error(&table, "x < 1").1.contains("`column(0)`"));
    table.columns[0].offsets = Some(vec![0, 1, 2, 3].into());
    assert!(error(&table, "column(0) < 1").0.contains("contains lists"));
}

#[test]
fn parts_choose_what_the_whole_chooses() {
    let table = points(3000);
    let bounds = Bounds { min: [-5.0, -9.0, -400.0], max: [5.0, 9.0, 400.0] };
    let base = filter("x > -4").with_bounds(Some(bounds));
    for options in [
        base.clone(),
        base.clone().with_every(7),
        base.clone().with_sample(Some(100)),
        base.clone().with_every(2).with_sample(Some(33)),
        RowOptions::default().with_every(7),
        RowOptions::default().with_sample(Some(10_000)),
        RowOptions::default().with_sample(Some(0)),
    ] {
        let whole = rows(&table, &options, 1);
        for step in [1, 63, 64, 65, 1000] {
            let run = run(2);
            let mut chooser = Chooser::new(&options, &run).unwrap();
            for start in (0..3000).step_by(step) {
                let part = cut(&table, start..3000.min(start + step)).unwrap();
                chooser.add(chooser.look(&Fields::of_table(&part)).unwrap()).unwrap();
            }
            assert_eq!(chooser.finish().unwrap().among(0, 3000).collect::<Vec<_>>(), whole, "{options:?} {step}");
        }
    }
    let passing = rows(&table, &base, 1);
    let inside = |row: &usize| {
        let [x, y, z, ..] = point(&table, *row);
        x > -4.0 && (-5.0..=5.0).contains(&x) && (-9.0..=9.0).contains(&y) && (-400.0..=400.0).contains(&z)
    };
    assert_eq!(passing, (0..3000).filter(inside).collect::<Vec<_>>());
    assert_eq!(rows(&table, &base.clone().with_every(7), 1), passing.iter().copied().step_by(7).collect::<Vec<_>>());
    let sample = rows(&table, &base.clone().with_sample(Some(100)), 1);
    assert_eq!(sample.len(), 100);
    assert!(sample.iter().all(|row| passing.contains(row)));
    // The sample is not taken only from the start.
    assert!(sample[..50].iter().any(|row| *row > 500) && sample.iter().any(|row| *row > 2500));
    assert_eq!(rows(&table, &RowOptions::default().with_sample(Some(10_000)), 1).len(), 3000);
}

#[test]
fn nonsense_is_refused() {
    let run = run(1);
    for options in [
        RowOptions::default().with_every(0),
        RowOptions::default().with_bounds(Some(Bounds { min: [0.0; 3], max: [1.0, -1.0, 1.0] })),
        RowOptions::default().with_bounds(Some(Bounds { min: [f64::NAN; 3], max: [1.0; 3] })),
    ] {
        assert!(Chooser::new(&options, &run).is_err(), "{options:?}");
    }
}

/// A table of faces over `vertices` vertices.
fn faces(vertices: usize, count: usize) -> Table {
    let mut offsets = vec![0];
    let mut corners = Vec::new();
    for face in 0..count {
        corners.extend((0..3 + face % 3).map(|corner| ((face * 7 + corner * 3) % vertices) as i32));
        offsets.push(corners.len() as u32);
    }
    let lists =
        Column { name: "vertex_index".into(), values: Values::I32(corners.into()), offsets: Some(offsets.into()) };
    let columns = vec![lists, column("mark", Values::U32((0..count as u32).collect()))];
    Table { name: "face".into(), row_count: count, columns }
}

#[test]
fn faces_and_edges_go_with_their_vertices() {
    let vertices = points(200);
    let ends = |step: u32| Values::U32((0..150).map(|row| row * step % 200).collect());
    let edges = Table {
        name: "edge".into(),
        row_count: 150,
        columns: vec![column("vertex1", ends(1)), column("vertex2", ends(3))],
    };
    let other =
        Table { name: "camera".into(), row_count: 2, columns: vec![column("x", Values::F32(vec![1.0, 2.0].into()))] };
    let before = [faces(200, 300), vertices.clone(), edges, other];
    let mut tables = before.clone();
    let options = filter("z % 4 != 0");
    assert_eq!(target(&tables, None).unwrap(), 1);
    keep_tables(&mut tables, 1, &options, &run(2)).unwrap();
    let chosen = rows(&vertices, &options, 1);
    assert_eq!(tables[1].row_count, chosen.len());
    for (new, &old) in chosen.iter().enumerate() {
        let [a, b] = [point(&tables[1], new), point(&vertices, old)];
        assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let lists = |table: &Table| -> Vec<Vec<usize>> {
        let Values::I32(corners) = &table.columns[0].values else { unreachable!() };
        let offsets = table.columns[0].offsets.as_ref().unwrap();
        offsets
            .windows(2)
            .map(|ends| corners[ends[0] as usize..ends[1] as usize].iter().map(|&i| i as usize).collect())
            .collect()
    };
    let expected: Vec<Vec<usize>> =
        lists(&before[0]).into_iter().filter(|face| face.iter().all(|corner| chosen.contains(corner))).collect();
    let actual: Vec<Vec<usize>> =
        lists(&tables[0]).iter().map(|face| face.iter().map(|&corner| chosen[corner]).collect()).collect();
    assert!(!actual.is_empty() && actual.len() < 300);
    assert_eq!(actual, expected);
    assert_eq!(tables[0].columns[1].values.len(), expected.len());
    let pairs = |table: &Table| -> Vec<[usize; 2]> {
        let [Values::U32(a), Values::U32(b)] = [&table.columns[0].values, &table.columns[1].values] else {
            unreachable!()
        };
        a.iter().zip(b).map(|(&a, &b)| [a as usize, b as usize]).collect()
    };
    let actual: Vec<_> = pairs(&tables[2]).iter().map(|ends| ends.map(|end| chosen[end])).collect();
    let expected: Vec<_> =
        pairs(&before[2]).into_iter().filter(|ends| ends.iter().all(|end| chosen.contains(end))).collect();
    assert!(!actual.is_empty() && actual.len() < 150);
    assert_eq!(actual, expected);
    assert_eq!(tables[3], before[3]);
}

/// A table of two triangles with the given vertex indices.
fn triangles(name: &str, corners: Values) -> Table {
    let lists = Column { name: name.into(), values: corners, offsets: Some(vec![0, 3, 6].into()) };
    Table { name: "face".into(), row_count: 2, columns: vec![lists] }
}

#[test]
fn faces_with_other_names_and_types_of_indices_go_with_their_vertices() {
    let floats = Values::F32(vec![0.0, 1.0, 2.0, 9.0, 8.0, 7.0].into());
    for (name, corners) in [("vertex_ids", Values::U8(vec![0, 1, 2, 9, 8, 7].into())), ("vertex_index", floats)] {
        let mut tables = [points(10), triangles(name, corners)];
        keep_tables(&mut tables, 0, &filter("z > -497"), &run(1)).unwrap();
        assert_eq!((tables[0].row_count, tables[1].row_count), (6, 1));
        let indices: Vec<f64> = match &tables[1].columns[0].values {
            Values::U8(corners) => corners.iter().map(|&corner| f64::from(corner)).collect(),
            Values::F32(corners) => corners.iter().map(|&corner| f64::from(corner)).collect(),
            _ => unreachable!(),
        };
        assert_eq!(indices, [5.0, 4.0, 3.0], "{name}");
    }
    for (odd, shown) in [(0.5, "0.5"), (f64::NAN, "NaN"), (-1.0, "-1")] {
        let corners = Values::F64(vec![0.0, 1.0, 2.0, odd, 8.0, 7.0].into());
        let mut tables = [points(10), triangles("indices", corners)];
        let error = keep_tables(&mut tables, 0, &filter("z > -497"), &run(1)).unwrap_err();
        assert!(error.to_string().contains(&format!("refers to vertex {shown},")), "{error}");
    }
}

#[test]
fn mirrored_faces_are_turned_around() {
    let [mut mirror, shift] =
        [-1.0, 1.0].map(|x| [[x, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
    let indices = Values::I32(vec![0, 1, 2, 9, 8, 7].into());
    let mut faces = triangles("vertex_indices", indices.clone());
    let uvs = Values::U8((0..12).collect());
    faces.columns.push(Column { name: "texcoord".into(), values: uvs.clone(), offsets: Some(vec![0, 6, 12].into()) });
    let moved = |matrix| {
        let mut tables = [points(10), faces.clone()];
        let options = RowOptions::default().with_transform(Some(matrix));
        keep_tables(&mut tables, 0, &options, &run(1)).unwrap();
        let [_, faces] = tables;
        [0, 1].map(|at| faces.columns[at].values.clone())
    };
    assert_eq!(moved(shift), [indices, uvs]);
    let turned = Values::U8(vec![0, 1, 4, 5, 2, 3, 6, 7, 10, 11, 8, 9].into());
    assert_eq!(moved(mirror), [Values::I32(vec![0, 2, 1, 9, 7, 8].into()), turned]);
    // Two reflections are a rotation.
    mirror[1][1] = -1.0;
    assert_eq!(moved(mirror), moved(shift));
    let strips = Table { name: "tristrips".into(), ..faces.clone() };
    let options = RowOptions::default().with_transform(Some(shift));
    keep_tables(&mut [points(10), strips], 0, &options, &run(1)).unwrap();
}

#[test]
fn faces_of_vertices_that_do_not_exist_are_an_error() {
    let mut tables = [points(10), faces(11, 30)];
    let error = keep_tables(&mut tables, 0, &filter("z < 0"), &run(1)).unwrap_err();
    assert_eq!(error.to_string(), "element `face` refers to vertex 10, but the file has only 10 vertices");
    let strips = Table { name: "tristrips".into(), ..faces(10, 3) };
    let error = keep_tables(&mut [points(10), strips], 0, &filter("z < 0"), &run(1)).unwrap_err();
    assert!(error.to_string().contains("triangle strips"), "{error}");
}

#[test]
fn tables_are_moved_in_their_own_types() {
    let matrix = [[0.0, -2.0, 0.0, 10.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.5], [0.0, 0.0, 0.0, 1.0]];
    let mut table = points(2000);
    table.columns.extend(["nx", "ny", "nz"].map(|name| column(name, Values::F32(vec![0.5; 2000].into()))));
    let before = table.clone();
    let options = RowOptions::default().with_transform(Some(matrix));
    keep_tables(std::slice::from_mut(&mut table), 0, &options, &run(1)).unwrap();
    let Values::F64(z) = &table.columns[2].values else { panic!("integers become floats") };
    for row in (0..2000).filter(|row| row % 97 != 96) {
        let [x, y, old_z, ..] = point(&before, row);
        let [new_x, ..] = point(&Table { columns: vec![table.columns[0].clone(); 5], ..table.clone() }, row);
        assert_eq!((new_x, z[row]), (f64::from((-2.0 * y + 10.0) as f32), 2.0 * old_z + 0.5), "{x}");
    }
    let Values::F32(nx) = &table.columns[5].values else { unreachable!() };
    assert!((nx[0] + 3f32.sqrt().recip()).abs() < 1e-6);
    let mut shift = [[1.0, 0.0, 0.0, 10.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let only_shift = RowOptions::default().with_transform(Some(shift));
    keep_tables(std::slice::from_mut(&mut table), 0, &only_shift, &run(1)).unwrap();
    shift[3][3] = 2.0;
    let wrong = RowOptions::default().with_transform(Some(shift));
    assert!(keep_tables(std::slice::from_mut(&mut table), 0, &wrong, &run(1)).is_err());
}

#[test]
fn splats_move_in_parts_as_they_do_in_a_mesh() {
    const ROWS: usize = 3000;
    let mut next = 1_u32;
    let mut values = || -> Vec<f32> {
        let mut number = || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (next >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..ROWS).map(|_| number()).collect()
    };
    let positions: Vec<[f32; 3]> = values().into_iter().map(|x| [x, 2.0 * x, 1.0 - x]).collect();
    let rest = (0..24).map(|number| format!("f_rest_{number}"));
    let names = ["opacity", "rot_0", "rot_1", "rot_2", "rot_3", "scale_0", "scale_1", "scale_2"].map(String::from);
    let names = names.into_iter().chain((0..3).map(|channel| format!("f_dc_{channel}")));
    let splat_columns: Vec<_> = names.chain(rest).map(|name| column(&name, Values::F32(values().into()))).collect();
    let whole = Mesh { positions: positions.clone().into(), vertex_columns: splat_columns.clone(), ..Mesh::default() };
    let mut scene = Scene { meshes: vec![whole], ..Scene::default() };
    let axis = |axis: usize| Values::F32(positions.iter().map(|position| position[axis]).collect::<Vec<_>>().into());
    let columns =
        ["x", "y", "z"].into_iter().zip(0..3).map(|(name, at)| column(name, axis(at))).chain(splat_columns).collect();
    let table = Table { row_count: ROWS, columns, ..Table::default() };
    let (s, c) = 0.7_f64.sin_cos();
    let matrix =
        [[2.0 * c, 0.0, 2.0 * s, 1.0], [0.0, -2.0, 0.0, 2.0], [-2.0 * s, 0.0, 2.0 * c, 3.0], [0.0, 0.0, 0.0, 1.0]];
    let options = RowOptions::default().with_transform(Some(matrix));
    mesh::keep_scene(&mut scene, None, &options, &run(2)).unwrap();
    let moved = &scene.meshes[0];
    for (start, end) in [(0, 1), (1, 700), (700, ROWS)] {
        let mut part = cut(&table, start..end).unwrap();
        move_table(&mut part, &matrix, &run(1)).unwrap();
        for (at, position) in moved.positions[start..end].iter().enumerate() {
            assert_eq!([0, 1, 2].map(|axis| value_of(&part.columns[axis], at)), *position);
        }
        for (column, whole) in part.columns[3..].iter().zip(&moved.vertex_columns) {
            assert!((start..end).all(|row| value_of(column, row - start) == value_of(whole, row)));
        }
    }
    let uneven = [[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let error = move_table(&mut table.clone(), &uneven, &run(1)).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("cannot be sheared"), "{error}");
}

fn value_of(column: &Column, row: usize) -> f32 {
    let Values::F32(values) = &column.values else { panic!("{}", column.name) };
    values[row]
}

/// A mesh with everything that refers to vertices, faces, corners or counts; each value identifies its item.
fn everything(rows: usize, faces: usize, domain: Domain) -> Mesh {
    let mut offsets = vec![0_u32];
    let mut corners = Vec::new();
    for face in 0..faces {
        corners.extend((0..3 + face % 2).map(|corner| ((face + corner * 2) % rows) as u32));
        offsets.push(corners.len() as u32);
    }
    let count = match domain {
        Domain::Indexed => 17,
        Domain::Corner => corners.len(),
        Domain::Vertex => rows,
        Domain::Face => faces,
    };
    let indexed: Vec<u32> = match domain {
        Domain::Indexed => {
            (0..corners.len() as u32).map(|corner| if corner % 5 == 0 { NONE } else { corner % 17 }).collect()
        }
        _ => Vec::new(),
    };
    let at = |faces: usize| Counts { faces: faces as u32, positions: rows as u32 / 2, ..Counts::default() };
    Mesh {
        positions: (0..rows).map(|row| [row as f32, 0.0, 1.0]).collect(),
        colors: (0..rows).map(|row| [row as f32; 4]).collect(),
        uvs: (0..count).map(|at| [at as f32, 0.0]).collect(),
        uv_domain: domain,
        faces: Elements {
            offsets: offsets.into(),
            corner_positions: corners.into(),
            corner_uvs: indexed.into(),
            ..Elements::default()
        },
        lines: Elements {
            offsets: vec![0, 2, 5].into(),
            corner_positions: vec![0, 1, 2, 4, 6].into(),
            ..Elements::default()
        },
        points: (0..rows as u32).step_by(3).collect(),
        material_runs: (0..faces).step_by(5).map(|face| Run { at: at(face), value: face as u32 }).collect(),
        face_materials: (0..faces as i32).collect(),
        sharp_edges: vec![[0, 1], [2, 4]].into(),
        vertex_columns: vec![column("row", Values::U32((0..rows as u32).collect()))],
        face_columns: vec![column("face", Values::U32((0..faces as u32).collect()))],
        ..Mesh::default()
    }
}

fn numbers(values: &Values) -> &[u32] {
    match values {
        Values::U32(values) => values,
        _ => unreachable!(),
    }
}

#[test]
fn what_is_left_of_a_mesh_is_what_it_was() {
    for domain in [Domain::Indexed, Domain::Corner, Domain::Vertex, Domain::Face] {
        let [first, second] = [everything(40, 60, domain), everything(25, 30, domain)];
        let objects = [(0, &first), (1, &second)]
            .map(|(mesh, source)| Object { mesh, end: source.counts(), ..Object::default() })
            .to_vec();
        let before = Scene { meshes: vec![first, second], objects, ..Scene::default() };
        let mut scene = before.clone();
        let options = filter("row % 4 != 3");
        mesh::keep_scene(&mut scene, None, &options, &run(2)).unwrap();
        for ((old, new), object) in before.meshes.iter().zip(&scene.meshes).zip(&scene.objects) {
            let rows = numbers(&new.vertex_columns[0].values);
            assert_eq!(rows, (0..old.positions.len() as u32).filter(|row| row % 4 != 3).collect::<Vec<_>>());
            assert!(rows.iter().zip(&new.positions).all(|(&row, position)| position[0] == row as f32));
            assert!(rows.iter().zip(&new.colors).all(|(&row, color)| color[0] == row as f32));
            let faces = numbers(&new.face_columns[0].values);
            assert!(!faces.is_empty() && faces.len() < old.faces.len() && faces.len() == new.faces.len());
            for (at, &face) in faces.iter().enumerate() {
                let corners = new.faces.corners(at);
                let old_corners = old.faces.corners(face as usize);
                let positions = new.faces.corner_positions[corners.clone()].iter().map(|&at| rows[at as usize]);
                let expected = &old.faces.corner_positions[old_corners.clone()];
                assert_eq!(positions.collect::<Vec<_>>(), expected);
                assert_eq!(new.face_materials[at], face as i32);
                assert_eq!(Run::at_face(&new.material_runs, at), Run::at_face(&old.material_runs, face as usize));
                for (corner, old_corner) in corners.zip(old_corners) {
                    let uv = |mesh: &Mesh, face: usize, corner: usize| match domain {
                        Domain::Indexed => mesh.faces.corner_uvs[corner] as f32,
                        Domain::Corner => mesh.uvs[corner][0],
                        Domain::Vertex => mesh.uvs[mesh.faces.corner_positions[corner] as usize][0],
                        Domain::Face => mesh.uvs[face][0],
                    };
                    assert_eq!(uv(new, at, corner), uv(old, face as usize, old_corner), "{domain:?}");
                }
            }
            assert_eq!(object.end, new.counts(), "{domain:?}");
            assert_eq!(new.lines.len(), 2);
            assert_eq!(new.sharp_edges, [[0, 1], [2, 3]]);
            let points: Vec<u32> = new.points.iter().map(|&at| rows[at as usize]).collect();
            assert!(points.iter().all(|row| row % 3 == 0 && row % 4 != 3) && points.len() > 4);
        }
    }
}

#[test]
fn filters_see_positions_where_objects_are() {
    let matrix = [[1.0, 0.0, 0.0, 100.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let mesh = everything(20, 0, Domain::Vertex);
    let object = Object { end: mesh.counts(), transform: Some(matrix), ..Object::default() };
    let mut scene = Scene { meshes: vec![mesh], objects: vec![object.clone()], ..Scene::default() };
    let mut other = scene.clone();
    mesh::keep_scene(
        &mut scene,
        None,
        &filter("x >= 105").with_transform(Some(matrix.map(|row| row.map(f64::from)))),
        &run(1),
    )
    .unwrap();
    assert_eq!(numbers(&scene.meshes[0].vertex_columns[0].values), (5..20).collect::<Vec<_>>());
    assert_eq!(scene.objects[0].transform.unwrap()[0][3], 200.0);
    other.objects.push(Object { transform: None, ..object });
    let error = mesh::keep_scene(&mut other, None, &filter("x >= 105"), &run(1)).unwrap_err();
    assert!(error.to_string().contains("their transforms differ"), "{error}");
    let mut broken = matrix;
    broken[3][3] = 2.0;
    let options = RowOptions::default().with_transform(Some(broken));
    let error = mesh::keep_scene(&mut scene, None, &options, &run(1)).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && scene.objects[0].transform.unwrap()[3][3] == 1.0, "{error}");
    mesh::keep_scene(&mut other, None, &filter("row >= 5"), &run(1)).unwrap();
    // An identity matrix is no other place than none.
    other.objects[0].transform =
        Some(std::array::from_fn(|row| std::array::from_fn(|column| f64::from(u8::from(row == column)))));
    mesh::keep_scene(&mut other, None, &filter("x >= 10"), &run(1)).unwrap();
    assert_eq!(numbers(&other.meshes[0].vertex_columns[0].values), (10..20).collect::<Vec<_>>());
}
