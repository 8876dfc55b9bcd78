//! Servers that lie about sizes and ranges.

use super::server::{HostileServer, Request};
use super::{failure, read, settings};
use std::io::{self, Write};
use std::net::TcpStream;

/// An object of several parts.
fn object() -> Vec<u8> {
    (0..700_000_u32).map(|i| (i % 251) as u8).collect()
}

/// Serves ranges of [`object`], with headers and body modified by `change`.
fn serving(change: impl Fn(&Request, &mut String, &mut Vec<u8>) + Send + Sync + 'static) -> HostileServer {
    let object = object();
    HostileServer::start(move |request, stream| {
        let (status, range, content_range) = match request.range() {
            Some((start, last)) => {
                let last = last.min(object.len() - 1);
                ("206 Partial Content", start..last + 1, format!("bytes {start}-{last}/{}", object.len()))
            }
            None => ("200 OK", 0..object.len(), "none".to_owned()),
        };
        let mut body = object[range].to_vec();
        let mut head = format!(
            "HTTP/1.1 {status}\r\nContent-Range: {content_range}\r\nETag: \"1\"\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        change(request, &mut head, &mut body);
        respond(stream, &head, &body)
    })
}

fn respond(stream: &mut TcpStream, head: &str, body: &[u8]) -> io::Result<()> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(body)
}

/// Replaces the value of a header.
fn set(head: &mut String, name: &str, value: &str) {
    let start = head.find(name).unwrap();
    let end = start + head[start..].find("\r\n").unwrap();
    head.replace_range(start..end, &format!("{name}: {value}"));
}

#[test]
fn an_honest_server_is_read() {
    assert_eq!(read(settings(""), &serving(|_, _, _| ()).url("a")).unwrap(), object());
}

#[test]
fn an_unknown_size_is_found_by_reading() {
    let size = object().len();
    for total in ["*", " * "] {
        let server = serving(move |_, head, _| *head = head.replace(&format!("/{size}"), &format!("/{total}")));
        let url = server.url("a");
        if total == "*" {
            assert_eq!(read(settings(""), &url).unwrap(), object());
        } else {
            assert!(failure(settings(""), &url).contains("without a valid Content-Range"));
        }
    }
    // The same with a server whose object is shorter than the part.
    let short = HostileServer::start(|request, stream| match request.range() {
        Some(_) => respond(
            stream,
            "HTTP/1.1 206 P\r\nContent-Range: bytes 0-2/*\r\nConnection: close\r\nContent-Length: 3\r\n",
            b"v 0",
        ),
        None => respond(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n", b"v 0"),
    });
    assert_eq!(read(settings(""), &short.url("a")).unwrap(), b"v 0");
    // A server that sends a part of an object of unknown size, even if the whole object is requested.
    let part = "HTTP/1.1 206 P\r\nContent-Range: bytes 0-2/*\r\nConnection: close\r\nContent-Length: 3\r\n\r\nv 0";
    assert!(failure(settings(""), &HostileServer::with_response(part).url("a")).contains("206"));
    // A server that declares the size at first but not later.
    let server = serving(move |request, head, _| {
        if request.index > 0 {
            *head = head.replace(&format!("/{size}"), "/*");
        }
    });
    assert!(failure(settings(""), &server.url("a")).contains("changed"));
}

#[test]
fn servers_may_send_less_than_requested() {
    let shorter = |max_bytes: usize| {
        serving(move |request, head, body| {
            let (start, _) = request.range().unwrap();
            body.truncate(max_bytes);
            set(head, "Content-Range", &format!("bytes {start}-{}/{}", start + body.len() - 1, object().len()));
            set(head, "Content-Length", &body.len().to_string());
        })
    };
    assert_eq!(read(settings(""), &shorter(100_000).url("a")).unwrap(), object());
    let message = failure(settings(""), &shorter(100).url("a"));
    assert!(message.contains("too small"), "{message}");
}

#[test]
fn wrong_content_ranges_are_errors() {
    let wrong = [
        "bytes 1-262143/700000",
        "bytes 0-262144/700000",
        "bytes 5-104/700000",
        "bytes 262144-524287/700000",
        "bytes 0-99/50",
        "bytes 9-0/700000",
        "bytes */700000",
        "bytes 0-99",
        "bytes 0-99/-1",
        "bytes 0-99/1e9",
        "bytes 0-18446744073709551615/18446744073709551615",
        "bytes 0-99/9223372036854775808",
        "0-99/700000",
        "",
        "bytes 0-99/99999999999999999999999",
        "bytes +0-99/700000",
        "chunks 0-1/2",
        "bytes 0-99,200-299/700000",
        "bytes 0-99/700000\r\nContent-Range: bytes 0-98/700000",
        "bytes \u{e9}",
    ];
    for content_range in wrong {
        let server = serving(move |_, head, _| set(head, "Content-Range", content_range));
        let message = failure(settings(""), &server.url("a"));
        let expected = ["without a valid Content-Range", "a different range than requested"];
        assert!(expected.iter().any(|words| message.contains(words)), "{content_range:?}: {message}");
        assert_eq!(server.requests().len(), 1, "an error that no retry mends: {content_range:?}");
    }
    let missing = "HTTP/1.1 206 P\r\nConnection: close\r\nContent-Length: 3\r\n\r\nv 0";
    assert!(failure(settings(""), &HostileServer::with_response(missing).url("a")).contains("valid Content-Range"));
    let multipart = "HTTP/1.1 206 P\r\nContent-Type: multipart/byteranges; boundary=x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n--x\r\n";
    assert!(failure(settings(""), &HostileServer::with_response(multipart).url("a")).contains("valid Content-Range"));
}

#[test]
fn huge_sizes_cost_nothing() {
    // The first bytes are read; the rest does not exist.
    for size in [i64::MAX as u64, 1 << 62, 1 << 40] {
        let server = serving(move |request, head, _| match request.index {
            0 => *head = head.replace("/700000", &format!("/{size}")),
            _ => *head = "HTTP/1.1 416 No\r\nConnection: close\r\nContent-Length: 0\r\n".into(),
        });
        assert!(failure(settings(""), &server.url("a")).contains("416"));
    }
}

#[test]
fn bodies_that_do_not_match_their_range_are_errors() {
    type Change = fn(&mut String, &mut Vec<u8>);
    let cases: [(Change, &str); 6] = [
        // Shorter than the range, with a `Content-Length` that matches the body and with one that does not.
        (
            |head, body| {
                body.truncate(1000);
                set(head, "Content-Length", "1000")
            },
            "ends after 1000 of 262144 bytes",
        ),
        (|_, body| body.truncate(1000), "body"),
        (
            |head, body| {
                body.clear();
                set(head, "Content-Length", "0")
            },
            "ends after 0 of",
        ),
        // Longer than the range.
        (
            |head, body| {
                body.push(0);
                set(head, "Content-Length", "262145")
            },
            "more than the 262144 bytes",
        ),
        (
            |head, body| {
                body.resize(1 << 26, 0);
                set(head, "Content-Length", "67108864")
            },
            "more than the 262144",
        ),
        (
            |head, body| {
                body.resize(1 << 26, 0);
                head.replace_range(head.find("Content-Length").unwrap().., "")
            },
            "more",
        ),
    ];
    for (index, (change, expected)) in cases.into_iter().enumerate() {
        let server = serving(move |_, head, body| change(head, body));
        let message = failure(settings(""), &server.url("a"));
        assert!(message.contains(expected), "{index}: {message}");
    }
    // Bytes after the declared length are not part of the response.
    let server = serving(|_, _, body| body.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\nsurplus"));
    assert_eq!(read(settings(""), &server.url("a")).unwrap(), object());
}

#[test]
fn streams_that_are_cut_off_are_errors() {
    let cut = [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nv 0 0 0\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nv 0 0 0\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nv 0",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nv 0 0 0\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nv",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 18446744073709551615\r\n\r\nv",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: -1\r\n\r\nv",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nv",
        "HTTP/1.1 200",
        "",
        "v 0 0 0\n",
        "HTTP/9.9 200 OK\r\n\r\n",
    ];
    for response in cut {
        let server = HostileServer::with_response(response);
        assert!(read(settings(""), &server.url("a")).is_err(), "{response:?}");
    }
}

#[test]
fn objects_that_change_between_parts_are_errors() {
    type Change = fn(&mut String, &mut Vec<u8>);
    let changes: [Change; 6] = [
        |head, _| set(head, "ETag", "\"2\""),
        |head, _| *head = head.replace("ETag: \"1\"\r\n", ""),
        |head, _| *head = head.replace("ETag: \"1\"", "Last-Modified: Thu, 26 Nov 2026 12:00:00 GMT"),
        |head, _| *head = head.replace("/700000", "/700001"),
        |head, _| *head = head.replace("/700000", "/9223372036854775807"),
        |head, body| *head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n", body.len()),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let server = serving(move |request, head, body| match request.index {
            0 => (),
            _ => change(head, body),
        });
        let message = failure(settings(""), &server.url("a"));
        assert!(message.contains("the object changed while it was being read"), "{index}: {message}");
    }
}

#[test]
fn errors_are_not_empty_objects() {
    // The HEAD response of a failing server also has length zero.
    for status in ["400 No", "500 No", "501 No"] {
        let server = HostileServer::with_response(format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ));
        assert!(failure(settings(""), &server.url("a")).contains(&status[..3]));
        let get_fails = HostileServer::start(move |request, stream| {
            let status = if request.head.starts_with("head") { "200 OK" } else { status };
            respond(stream, &format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n"), b"")
        });
        assert!(failure(settings(""), &get_fails.url("a")).contains(&status[..3]));
    }
    for status in ["204 No Content", "202 Accepted", "205 Reset", "299 What"] {
        let server = HostileServer::with_response(format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ));
        assert!(failure(settings(""), &server.url("a")).contains(&status[..3]));
    }
    let empty = HostileServer::start(|request, stream| {
        let status = if request.head.starts_with("head") { "200 OK" } else { "416 No" };
        respond(stream, &format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n"), b"")
    });
    assert_eq!(read(settings(""), &empty.url("a")).unwrap(), b"");
}

#[test]
fn codings_that_no_reader_knows_are_errors() {
    for coding in ["br", "deflate", "compress", "gzip, br", "x\u{e9}", "BR"] {
        let server = serving(move |_, head, _| head.push_str(&format!("Content-Encoding: {coding}\r\n")));
        let message = failure(settings(""), &server.url("a"));
        assert!(message.contains("compressed the object"), "{message}");
    }
    // These are detected by content, whatever the header says.
    for coding in ["gzip", "GZIP", "identity", "zstd"] {
        let server = serving(move |_, head, _| head.push_str(&format!("Content-Encoding: {coding}\r\n")));
        assert_eq!(read(settings(""), &server.url("a")).unwrap(), object());
        assert!(server.requests()[0].head.contains("accept-encoding: identity"));
    }
}
