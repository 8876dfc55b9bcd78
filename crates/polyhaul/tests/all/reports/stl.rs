//! STL files by other programs, and damaged ones.

use crate::support::{memory, read_options, stream, try_converted};
use polyhaul::model::Scene;
use polyhaul::options::{Limits, OnError};
use polyhaul::{ErrorKind, Format, Input, Loaded, ReadOptions, Reader, Result, WriteOptions};

fn try_read(input: Input, options: &ReadOptions) -> Result<Loaded<Scene>> {
    Reader::new(input).options(options).scene()
}

/// A text triangle whose first corner has this x.
fn facet(x: u32) -> String {
    format!("facet normal 0 0 1\nouter loop\nvertex {x} 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n")
}

fn binary(count: u32, triangles: usize, rest: &[u8]) -> Vec<u8> {
    let mut triangle = [0; 50];
    triangle[24..28].copy_from_slice(&1f32.to_le_bytes());
    triangle[40..44].copy_from_slice(&1f32.to_le_bytes());
    [&[b' '; 80][..], &count.to_le_bytes(), &triangle.repeat(triangles), rest].concat()
}

#[test]
fn a_header_without_a_count_is_followed_by_all_triangles() {
    for count in [0, u32::MAX, 0x7fff_ffff] {
        for triangles in [1, 2, 7000] {
            let bytes = binary(count, triangles, &[]);
            for input in [memory, stream] {
                for options in [read_options(1, None), read_options(2, Some(1000))] {
                    let loaded = try_read(input(&bytes, "a.stl"), &options).unwrap();
                    assert_eq!(loaded.value.meshes[0].faces.len(), triangles, "{count}");
                    assert_eq!(loaded.report.warnings.counts()["wrong-count"], 1);
                }
            }
        }
        let bytes = binary(count, 2, &[1, 2, 3]);
        for input in [memory(&bytes, "a.stl"), stream(&bytes, "a.stl")] {
            assert_eq!(try_read(input, &ReadOptions::default()).unwrap_err().kind(), ErrorKind::Malformed, "{count}");
        }
    }
    for input in [memory(binary(0, 0, &[]), "a.stl"), stream(binary(0, 0, &[]), "a.stl")] {
        assert!(try_read(input, &ReadOptions::default()).unwrap().report.warnings.is_empty());
    }
}

/// What precedes the cut is the same for a scene, a stream and a conversion.
#[test]
fn a_header_without_a_count_and_a_partial_last_triangle() {
    let warn = |threads| read_options(threads, Some(1000)).with_on_error(OnError::Warn);
    let ply = WriteOptions::default().with_format(Some(Format::Ply));
    let whole = try_converted(memory(binary(2, 2, &[]), "a.stl"), &read_options(1, None), &ply).unwrap().0;
    for count in [0, u32::MAX, 0x7fff_ffff] {
        let bytes = binary(count, 2, &[1, 2, 3]);
        for input in [memory, stream] {
            let error = try_read(input(&bytes, "a.stl"), &ReadOptions::default()).unwrap_err();
            assert_eq!(error.to_string(), "a.stl: byte 187: unexpected end of file in triangle 3");
            for threads in [1, 2] {
                let loaded = try_read(input(&bytes, "a.stl"), &warn(threads)).unwrap();
                assert_eq!(loaded.value.meshes[0].faces.len(), 2, "{count}");
                let counts = loaded.report.warnings.counts();
                assert_eq!((counts["wrong-count"], counts["truncated"]), (1, 1));
                let converted = try_converted(input(&bytes, "a.stl"), &warn(threads), &ply).unwrap().0;
                assert!(converted == whole, "{count}");
            }
        }
    }
}

/// The limit applies to a stream whose header has no count, even if the stream ends inside a triangle.
#[test]
fn a_stream_without_a_count_has_a_limit() {
    let limits = Limits::default().with_elements(30);
    let options = ReadOptions::default().with_on_error(OnError::Warn).with_limits(limits);
    for rest in [&b""[..], b"x"] {
        let loaded = try_read(stream(binary(u32::MAX, 10, rest), "a.stl"), &options).unwrap();
        assert_eq!(loaded.value.meshes[0].faces.len(), 10);
        let error = try_read(stream(binary(u32::MAX, 11, rest), "a.stl"), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}

/// Each deviation is a warning, and the triangles equal those of the regular text.
#[test]
fn text_in_the_habits_of_other_writers_is_read() {
    let tidy = format!("solid a\n{}{}endsolid a\n", facet(2), facet(3));
    let expected = try_read(memory(&tidy, "a.stl"), &ReadOptions::default()).unwrap().value;
    let replaced = |from: &str, to: &str| tidy.replace(from, to);
    for (text, count) in [
        (replaced("endloop", "end loop"), 2),
        (replaced("endfacet", "END Facet"), 2),
        (replaced("endsolid a", "end solid a"), 1),
        (replaced("endsolid a", "endsolidAssimpScene"), 1),
        (replaced("outer loop", "outerloop"), 2),
        (replaced("facet normal", "facetnormal"), 2),
        (replaced("endfacet", "endfacet 12 0.5"), 2),
        (replaced("vertex 1 0 0", "vertex 1 0 0 255 0 0"), 2),
        (replaced("endloop", "endloop ;"), 2),
        (replaced("outer loop", "# by hand\nouter loop // a loop"), 4),
        (format!("# made by hand\n{tidy}"), 1),
        (replaced("facet normal", "; units mm\n! or % or --\nfacet normal"), 4),
        (replaced("endsolid a\n", "").replace("solid a\n", ""), 0),
    ] {
        for (threads, chunk_bytes) in [(1, None), (2, Some(60)), (2, Some(7))] {
            let loaded = try_read(memory(&text, "a.stl"), &read_options(threads, chunk_bytes)).unwrap();
            let mesh = &loaded.value.meshes[0];
            assert_eq!(mesh.positions, expected.meshes[0].positions, "{text}");
            assert_eq!(loaded.report.warnings.counts().get("odd-statement").copied().unwrap_or(0), count, "{text}");
        }
        let strict = try_read(memory(&text, "a.stl"), &ReadOptions::default().with_strict(true));
        assert_eq!(strict.is_err(), count > 0 || !text.contains("solid"), "{text}");
    }
    let bare = tidy.replace("facet normal 0 0 1", "facet");
    let loaded = try_read(memory(bare, "a.stl"), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.value.meshes[0].positions, expected.meshes[0].positions);
}

#[test]
fn normals_that_are_none_have_many_spellings() {
    for spelling in ["-nan(ind)", "nan", "1.#QNAN", "-1.#IND00", "1.#INF"] {
        let text = format!("solid\n{}endsolid\n", facet(1).replace("normal 0 0 1", &format!("normal {spelling} 0 0")));
        assert_eq!(try_read(memory(text, "a.stl"), &ReadOptions::default()).unwrap().value.meshes[0].faces.len(), 1);
    }
}

#[test]
fn text_that_is_no_stl_says_so() {
    for text in ["v 0 0 0\nv 1 0 0\n", "hello", &"words without meaning ".repeat(50)] {
        for options in [ReadOptions::default(), ReadOptions::default().with_on_error(OnError::Warn)] {
            let error = try_read(memory(text, "a.stl"), &options).unwrap_err();
            assert!(error.to_string().contains("not an STL file"), "{error}");
        }
    }
    let text = facet(1);
    assert_eq!(try_read(memory(text, "a.stl"), &ReadOptions::default()).unwrap().value.meshes[0].faces.len(), 1);
}

/// Programs store colors and other values in the header.
#[test]
fn the_header_stays_as_it_is() {
    let options = WriteOptions::default().with_format(Some(Format::Stl));
    let mut bytes = binary(2, 2, &[]);
    bytes[..14].copy_from_slice(b"COLOR=\xa9\xa9\xff\xff,MAT");
    bytes[40..47].copy_from_slice(b"\0after\0");
    let (written, report) = try_converted(memory(&bytes, "a.stl"), &ReadOptions::default(), &options).unwrap();
    assert!(written == bytes && report.warnings.is_empty(), "{:?}", report.warnings);
    // A changed comment is written; a header is kept even if it starts with the keyword of text.
    let mut scene = Reader::new(memory(&bytes, "a.stl")).scene().unwrap().value;
    scene.comments = vec!["other".into()];
    let (written, _) = crate::support::try_written(&scene, &options).unwrap();
    assert!(written.starts_with(b"other\0"));
    bytes[..5].copy_from_slice(b"solid");
    let (written, _) = try_converted(memory(&bytes, "a.stl"), &ReadOptions::default(), &options).unwrap();
    assert!(written == bytes);
}

/// A binary triangle with an attribute count, followed by bytes.
fn with_payload(attribute: u16, payload: &[u8]) -> Vec<u8> {
    let mut triangle = binary(0, 1, &[]).split_off(84);
    triangle[48..].copy_from_slice(&attribute.to_le_bytes());
    [&triangle, payload].concat()
}

/// The two bytes after a triangle are the length of the following data in some files, and a color in most.
#[test]
fn bytes_of_attributes_are_dropped() {
    let file = |triangles: &[Vec<u8>], rest: &[u8]| {
        let count = (triangles.len() as u32).to_le_bytes();
        [&[b' '; 80][..], &count, &triangles.concat(), rest].concat()
    };
    let expected = try_read(memory(binary(3, 3, &[]), "a.stl"), &ReadOptions::default()).unwrap().value;
    let long = vec![7; 30_000];
    for triangles in [
        [with_payload(4, b"abcd"), with_payload(0, b""), with_payload(10, b"0123456789")],
        [with_payload(0, b""), with_payload(0, b""), with_payload(50, &[1; 50])],
        [with_payload(30_000, &long), with_payload(30_000, &long), with_payload(30_000, &long)],
    ] {
        for rest in [&b""[..], b"\n"] {
            for options in [ReadOptions::default(), read_options(2, Some(100))] {
                let loaded = try_read(memory(file(&triangles, rest), "a.stl"), &options).unwrap();
                assert_eq!(loaded.value.meshes[0], expected.meshes[0]);
                let counts = loaded.report.warnings.counts();
                assert!(counts["left-out-attributes"] > 0);
                assert_eq!(counts.contains_key("trailing-bytes"), !rest.is_empty());
            }
        }
        let strict = ReadOptions::default().with_strict(true);
        assert!(try_read(memory(file(&triangles, b""), "a.stl"), &strict).is_err());
    }
    // Colors stay colors, whatever follows the triangles.
    let colored = [with_payload(0x801f, b""), with_payload(1, b""), with_payload(9, b"")];
    for rest in [&b""[..], b"\n", &[0; 512]] {
        let loaded = try_read(memory(file(&colored, rest), "a.stl"), &ReadOptions::default()).unwrap();
        let columns = &loaded.value.meshes[0].face_columns;
        assert_eq!(columns[0].values, polyhaul::model::Values::U16([0x801f, 1, 9].into()));
    }
}

#[test]
fn text_may_end_with_filler() {
    for end in ["\0", "\0\0\0\n", "\x1a", "\r\n\x1a", "\0 \0"] {
        for text in
            [format!("solid a\n{}endsolid a\n{end}", facet(1)), format!("solid a\n{}{end}", facet(1).repeat(40))]
        {
            for options in [ReadOptions::default(), read_options(2, Some(64))] {
                let loaded = try_read(memory(&text, "a.stl"), &options).unwrap();
                assert!(!loaded.value.meshes[0].faces.is_empty(), "{end:?}");
            }
        }
    }
}

#[test]
fn text_of_16_bits_says_so() {
    let text = format!("solid a\n{}endsolid a\n", facet(1));
    for (mark, swap) in [([0xff, 0xfe], false), ([0xfe, 0xff], true)] {
        let units = text.encode_utf16().flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() });
        let bytes: Vec<u8> = mark.into_iter().chain(units).collect();
        let error = try_read(memory(bytes, "a.stl"), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("UTF-16"), "{error}");
    }
}

/// A name does not hide the triangles on its line.
#[test]
fn a_whole_text_may_be_one_line() {
    for name in ["", "a", "my facet part"] {
        let text = format!("solid {name}\n{}{}endsolid {name}\n", facet(2), facet(3));
        let line = text.replace('\n', " ");
        let scene = try_read(memory(&line, "a.stl"), &ReadOptions::default()).unwrap().value;
        assert_eq!((scene.meshes[0].faces.len(), &*scene.objects[0].name), (2, name), "{line}");
    }
}

#[test]
fn colors_in_text_are_skipped() {
    let inside = facet(1).replace("outer loop", "color 1 0 0\nouter loop");
    for text in [format!("solid a\ncolor 1 0 0\n{}endsolid a\n", facet(1)), format!("solid a\n{inside}endsolid a\n")] {
        let loaded = try_read(memory(&text, "a.stl"), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.value.meshes[0].faces.len(), 1);
        assert_eq!(loaded.report.warnings.counts()["odd-statement"], 1);
    }
}
