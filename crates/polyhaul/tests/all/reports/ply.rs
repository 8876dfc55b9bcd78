//! PLY as other programs write it, and as it arrives.

use crate::support::{memory, read_options, try_converted, try_written};
use polyhaul::model::Scene;
use polyhaul::options::OnError;
use polyhaul::{ErrorKind, Format, Loaded, ReadOptions, Reader, Result, WriteOptions};

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

/// Edges are lines, whatever else they have; PLY keeps the rest.
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
    // Rows of edges that go take their columns along.
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

/// A binary file that was transferred as text, of any size.
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
            assert!(error.to_string().contains("every LF in them is a CR LF"), "{error}");
        }
        // A header with CR LF before sound data is read.
        let sound = [converted(header(count).as_bytes()), bytes[header(count).len()..].to_vec()].concat();
        assert_eq!(try_read(sound, &ReadOptions::default()).unwrap().value.meshes[0].positions.len(), count);
    }
}
