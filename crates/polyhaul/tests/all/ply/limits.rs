//! Errors of limits: their locations and hints.

use crate::ply::support::{header, memory, options};
use polyhaul::options::Limits;
use polyhaul::{Error, ErrorKind, Input, Reader};

fn read(input: Input, set: impl Fn(&mut Limits)) -> Result<(), Error> {
    let mut way = options(2, 64);
    set(&mut way.limits);
    Reader::new(input).options(&way).tables().map(drop)
}

#[test]
fn many_properties_are_refused() {
    let many: String = (0..30).map(|n| format!("property uchar p{n}\n")).collect();
    let file = header("binary_little_endian", &format!("element a 0\n{many}"));
    let error = read(memory(file.as_bytes()), |limits| limits.properties = 30).unwrap_err();
    assert_eq!(error.place().line, Some(33));
    assert_eq!(error.diagnostic().hint.as_deref(), Some("raise the limit `properties`"));
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

#[test]
fn long_header_lines_name_the_limit_that_they_exceed() {
    let file = header("ascii", "element a 0\n");
    let error = read(memory(file.as_bytes()), |limits| limits.line_bytes = 10).unwrap_err();
    assert_eq!(error.diagnostic().hint.as_deref(), Some("raise the limit `line_bytes`"));
    let error = read(memory(file.as_bytes()), |limits| limits.name_bytes = 10).unwrap_err();
    assert_eq!(error.diagnostic().hint.as_deref(), Some("raise the limit `name_bytes`"));
}
