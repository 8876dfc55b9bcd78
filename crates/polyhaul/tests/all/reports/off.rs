//! OFF files by other programs, and damaged ones.

use crate::support::{memory, read_options, stream};
use polyhaul::model::Scene;
use polyhaul::options::OnError;
use polyhaul::{Loaded, ReadOptions, Reader, Result};

fn try_read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(memory(text, "a.off")).options(options).scene()
}

fn lenient() -> ReadOptions {
    ReadOptions::default().with_on_error(OnError::Warn)
}

#[test]
fn rows_may_be_anywhere_on_lines() {
    let vertices = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";
    let tidy = format!("OFF\n4 2 0\n{vertices}4 0 1 2 3\n3 0 1 2\n");
    let expected = try_read(&tidy, &ReadOptions::default()).unwrap().value;
    for text in [
        format!("OFF\n4 2 0\n{vertices}4 0 1\n2 3\n3 0 1 2\n"),
        format!("OFF\n4 2 0\n{vertices}4 0 1 # c\n# d\n\n2\n3\n3 0 1 2 # e\n"),
        format!("OFF\r\n4 2 0\r\n{}4\r\n0 1 2 3\r\n3\r\n0 1 2", vertices.replace('\n', "\r\n")),
        format!("OFF 4 2 0\n{vertices}4\n0\n1\n2\n3\n3 0 1\n2"),
        format!("OFF\n4\n2\n0\n{vertices}4 0 1 2 3\n3 0 1 2\n"),
        format!("OFF\n4\n2\n{vertices}4 0 1 2 3\n3 0 1 2\n"),
        format!("OFF 4\n2 0\n{vertices}4 0 1 2 3\n3 0 1 2\n"),
        format!("OFF\n4 2 0\n{}\n4 0 1 2 3 3 0 1 2\n", vertices.replace('\n', " ")),
        tidy.replace('\n', " "),
        tidy.replace(' ', "\n"),
    ] {
        for options in [ReadOptions::default(), lenient(), read_options(2, Some(7))] {
            let loaded = try_read(&text, &options).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(loaded.value.meshes, expected.meshes, "{text:?}");
            assert!(loaded.report.warnings.counts()["odd-statement"] > 0);
        }
        assert_eq!(Reader::new(stream(&text, "a.off")).scene().unwrap().value.meshes, expected.meshes, "{text:?}");
    }
}

/// A missing number must not shift all others.
#[test]
fn rows_that_do_not_fit_are_errors_at_their_place() {
    let vertices = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";
    for (text, line) in [
        (format!("OFF\n4 2 0\n{vertices}3 0 1\n3 0 1 2\n"), 7),
        (format!("OFF\n4 2 0\n{vertices}3 0 1\n2\n"), 7),
        ("OFF\n4 1 0\n0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n".to_owned(), 3),
        (format!("OFF\n4 1 0\n{vertices}3 0 1\n2 7 8 9 5 6\n"), 7),
        (format!("OFF\n4 1 0\n{vertices}3 0 x 2\n"), 7),
    ] {
        let error = try_read(&text, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.place().line, Some(line), "{text:?}: {error}");
    }
}

#[test]
fn numbers_have_other_spellings_too() {
    for (spelling, is_nan) in [("-nan(ind)", true), ("1.#QNAN", true), ("-1.#INF", false)] {
        for keyword in ["OFF", "off", "Off"] {
            let text = format!("{keyword}\n3 1 0\n0 0 0\n1 0 {spelling}\n0 1 0\n3 0 1 2\n");
            let position = try_read(text, &ReadOptions::default()).unwrap().value.meshes[0].positions[1];
            assert_eq!((position[2].is_nan(), position[2].is_infinite()), (is_nan, !is_nan), "{spelling}");
        }
    }
    for (face, count) in [("3.0 0 1 2", 1), ("3 0.0 1.0 2e0", 3), ("3.0 0. 1 2 255 0 0", 2)] {
        let text = format!("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n{face}\n");
        let loaded = try_read(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.value.meshes[0].faces.corner_positions[..], [0, 1, 2]);
        assert_eq!(loaded.report.warnings.counts()["decimal-integer"], count);
    }
    assert!(try_read("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1.5 2\n", &ReadOptions::default()).is_err());
}

#[test]
fn a_truncated_text_keeps_its_rows_past_errors() {
    for (text, positions, faces) in [
        ("OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", 3, 1),
        ("OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n", 3, 0),
        ("OFF\n3 2 0\n0 0 0\n", 1, 0),
    ] {
        assert!(try_read(text, &ReadOptions::default()).is_err());
        let loaded = try_read(text, &lenient()).unwrap();
        let mesh = &loaded.value.meshes[0];
        assert_eq!((mesh.positions.len(), mesh.faces.len()), (positions, faces));
        assert_eq!(loaded.report.warnings.counts()["truncated"], 1);
    }
}

/// An invalid row is dropped but keeps its number; elements that use it are dropped and counted.
#[test]
fn a_bad_row_keeps_its_number() {
    for bad in ["1 0 x", "1", "one 2 3"] {
        let text = format!(
            "OFF\n6 7 0\n0 0 0\n{bad}\n5411234.456 0 0\n0 1 0\n5 5 5\n6 6 6\n\
            3 0 2 3\n3 0 1 2\n3 2 y 4\n4 2 3 4 5\n2 0 1\n2 3 4\n3 4 5\n"
        );
        for options in [lenient(), read_options(2, Some(9)).with_on_error(OnError::Warn)] {
            for input in [memory, stream] {
                let loaded = Reader::new(input(&text, "a.off")).options(&options).scene().unwrap();
                let mesh = &loaded.value.meshes[0];
                let xs: Vec<f64> = mesh.exact_positions.iter().map(|position| position[0]).collect();
                assert_eq!(xs, [0.0, 5411234.456, 0.0, 5.0, 6.0], "{bad}");
                assert_eq!(mesh.faces.corner_positions[..], [0, 1, 2, 1, 2, 3, 4]);
                assert_eq!(mesh.lines.corner_positions[..], [2, 3]);
                let counts = loaded.report.warnings.counts();
                assert_eq!((counts["malformed"], counts["element-left-out"]), (3, 2), "{bad} {counts:?}");
            }
        }
        assert!(try_read(&text, &ReadOptions::default()).is_err());
    }
}
