//! Limits at N - 1, N and N + 1, and memory that nothing backs.

use crate::ply::support::{header, memory, options, stream};
use polyhaul::options::Limits;
use polyhaul::{Error, ErrorKind, Input, Reader};

fn read(input: Input, set: impl Fn(&mut Limits)) -> Result<(), Error> {
    let mut way = options(2, 64);
    set(&mut way.limits);
    Reader::new(input).options(&way).tables().map(drop)
}

/// The file is read with a limit of `limit` and more, and refused with less.
fn check(name: &str, file: &[u8], limit: u64, set: impl Fn(&mut Limits, u64) + Copy) {
    for input in [|file: &[u8]| memory(file), |file: &[u8]| stream(file, 7)] {
        for limit in [limit, limit + 1] {
            read(input(file), |limits| set(limits, limit)).unwrap();
        }
        let error = read(input(file), |limits| set(limits, limit - 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn rows_and_values() {
    let rows = header("ascii", "element a 3\nproperty int b\n") + "1\n2\n3\n";
    check("elements", rows.as_bytes(), 3, |limits, limit| limits.elements = limit);
    let lists = "element a 2\nproperty list uchar uchar b\n";
    let text = header("ascii", lists) + "2 1 2\n3 1 2 3\n";
    check("elements", text.as_bytes(), 5, |limits, limit| limits.elements = limit);
    let text = header("ascii", lists) + "2 1 2 3 1\n2 3\n";
    check("elements", text.as_bytes(), 5, |limits, limit| limits.elements = limit);
    let binary = [header("binary_little_endian", lists).as_bytes(), &[2, 1, 2, 3, 1, 2, 3]].concat();
    check("elements", &binary, 5, |limits, limit| limits.elements = limit);
    let binary = [header("binary_little_endian", lists).as_bytes(), &[2, 1, 2, 2, 1, 2]].concat();
    check("elements", &binary, 4, |limits, limit| limits.elements = limit);
}

#[test]
fn lines_and_names() {
    let long = header("ascii", "element a 1\nproperty int a_rather_long_name_of_a_property_this_is\n") + "1\n";
    let size = "property int a_rather_long_name_of_a_property_this_is".len() as u64;
    check("name_bytes", long.as_bytes(), size, |limits, limit| limits.name_bytes = limit);
    let row = header("binary_little_endian", "element a 1\nproperty list uchar uchar b\n");
    let row = [row.as_bytes(), &[99; 100]].concat();
    check("line_bytes", &row, 100, |limits, limit| (limits.line_bytes, limits.name_bytes) = (limit, 90));
    let line = header("ascii", "element a 1\nproperty list uchar uchar b\n") + "60" + &" 7".repeat(60) + "\n";
    check("line_bytes", line.as_bytes(), 122, |limits, limit| (limits.line_bytes, limits.name_bytes) = (limit, 90));
}

#[test]
fn properties_and_headers() {
    let many: String = (0..30).map(|n| format!("property uchar p{n}\n")).collect();
    let file = header("binary_little_endian", &format!("element a 0\n{many}"));
    check("properties", file.as_bytes(), 31, |limits, limit| limits.properties = limit);
    check("header_bytes", file.as_bytes(), file.len() as u64 - 1, |limits, limit| limits.header_bytes = limit);
    let error = read(memory(file.as_bytes()), |limits| limits.properties = 30).unwrap_err();
    assert_eq!(error.place().line, Some(33));
    assert_eq!(
        error.diagnostic().hint.as_deref(),
        Some("raise the limit with `--limit properties=N`, or `Limits::properties` in the API")
    );
    let many: String = (0..10_000).map(|n| format!("property uchar p{n}\n")).collect();
    let file = header("binary_little_endian", &format!("element a 1\n{many}"));
    let error = read(memory(file.as_bytes()), |_| ()).unwrap_err();
    assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(10_003)));
}

#[test]
fn an_endless_header_is_refused() {
    struct Endless(usize);
    impl std::io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let text = b"ply\nformat ascii 1.0\n";
            for byte in out.iter_mut() {
                *byte = *text.get(self.0).unwrap_or(&b"comment\n"[(self.0 - text.len().min(self.0)) % 8]);
                self.0 += 1;
            }
            Ok(out.len())
        }
    }
    let error = read(Input::Reader(Box::new(Endless(0)), "x.ply".into()), |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}
