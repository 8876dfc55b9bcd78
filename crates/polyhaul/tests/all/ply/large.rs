//! Files with many chunks: every row is in its place.

use crate::ply::support::{header, memory, options, stream};
use polyhaul::Reader;
use polyhaul::model::Values;

const ROWS: u32 = 60_000;

/// A mesh of `ROWS` vertices and faces in an encoding; every `odd`-th face has four corners.
fn mesh(form: &str, odd: u32) -> Vec<u8> {
    let lines = format!(
        "element vertex {ROWS}\nproperty float x\nproperty float y\nproperty float z\nproperty uint id\n\
         element face {ROWS}\nproperty list uchar int vertex_indices\n"
    );
    let mut file = header(form, &lines).into_bytes();
    let corners = |row: u32| (0..if row % odd == odd - 1 { 4 } else { 3 }).map(move |corner| (row + corner * 7) % ROWS);
    for row in 0..ROWS {
        let place = [row as f32, row as f32 * 0.5, -(row as f32)];
        match form {
            "ascii" => file.extend(format!("{} {} {} {row}\n", place[0], place[1], place[2]).bytes()),
            "binary_big_endian" => {
                place.iter().for_each(|number| file.extend(number.to_be_bytes()));
                file.extend(row.to_be_bytes());
            }
            _ => {
                place.iter().for_each(|number| file.extend(number.to_le_bytes()));
                file.extend(row.to_le_bytes());
            }
        }
    }
    for row in 0..ROWS {
        let corners: Vec<u32> = corners(row).collect();
        match form {
            "ascii" => {
                let words: Vec<String> = corners.iter().map(u32::to_string).collect();
                file.extend(format!("{} {}\n", corners.len(), words.join(" ")).bytes());
            }
            _ => {
                file.push(corners.len() as u8);
                let big = form == "binary_big_endian";
                let bytes = |corner: &u32| if big { corner.to_be_bytes() } else { corner.to_le_bytes() };
                file.extend(corners.iter().flat_map(bytes));
            }
        }
    }
    file
}

#[test]
fn every_row_is_in_its_place() {
    for form in ["ascii", "binary_little_endian", "binary_big_endian"] {
        for odd in [5, 40_000, ROWS + 1] {
            let file = mesh(form, odd);
            for input in [memory(&file), stream(&file, 9)] {
                let scene = Reader::new(input).options(&options(3, 10_000)).scene().unwrap().value;
                let mesh = &scene.meshes[0];
                assert!(
                    (0..ROWS).all(|row| mesh.positions[row as usize] == [row as f32, row as f32 * 0.5, -(row as f32)])
                );
                let Values::U32(ids) = &mesh.vertex_columns[0].values else { panic!("no ids") };
                assert!((0..).zip(ids).all(|(row, &id)| row == id));
                assert_eq!(mesh.faces.len(), ROWS as usize);
                for row in 0..ROWS {
                    let corners = &mesh.faces.corner_positions[mesh.faces.corners(row as usize)];
                    let size = if row % odd == odd - 1 { 4 } else { 3 };
                    assert!(
                        corners.iter().copied().eq((0..size).map(|corner| (row + corner * 7) % ROWS)),
                        "{form} {row}"
                    );
                }
            }
        }
    }
}

/// Lines that do not coincide with rows: the slow path over many chunks.
#[test]
fn rows_over_several_lines() {
    let text = String::from_utf8(mesh("ascii", 5)).unwrap();
    let (head, rows) = text.split_once("end_header\n").unwrap();
    let words: Vec<&str> = rows.split_whitespace().collect();
    let lines: Vec<String> = words.chunks(7).map(|words| words.join(" ")).collect();
    let loose = format!("{head}end_header\n{}\n", lines.join("\n"));
    let expected = Reader::new(memory(text.as_bytes())).options(&options(2, 5000)).tables().unwrap().value.tables;
    for input in [memory(loose.as_bytes()), stream(loose.as_bytes(), 4)] {
        assert_eq!(Reader::new(input).options(&options(3, 5000)).tables().unwrap().value.tables, expected);
    }
}
