//! Servers that redirect.

use super::server::{HostileServer, Request};
use super::{failure, read, settings};
use std::io::Write;

const OBJECT: &[u8] = b"v 0 0 0\n";

/// Serves [`OBJECT`] in one part.
fn object_server() -> HostileServer {
    HostileServer::with_response([object_head().as_bytes(), OBJECT].concat())
}

fn object_head() -> String {
    let size = OBJECT.len();
    format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-{}/{size}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n",
        size - 1
    )
}

/// Redirects each request with `status` to `location`, in which `PORT` stands for the port of the server and `N` for
/// the index of the request. Serves [`OBJECT`] at `/end`.
fn redirecting(status: u16, location: &str) -> HostileServer {
    let location = location.to_owned();
    HostileServer::start(move |request, stream| {
        if request.head.starts_with("get /end") {
            stream.write_all(object_head().as_bytes())?;
            return stream.write_all(OBJECT);
        }
        let port = stream.local_addr()?.port().to_string();
        let location = location.replace("PORT", &port).replace('N', &request.index.to_string());
        write!(
            stream,
            "HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    })
}

fn has_credentials(request: &Request) -> bool {
    request.head.contains("authorization") || request.head.contains("cookie") || request.head.contains("referer")
}

#[test]
fn redirects_within_the_host_are_followed() {
    for status in [301, 302, 303, 307, 308] {
        for location in
            ["/end", "end", "//127.0.0.1:PORT/end", "http://2130706433:PORT/end", "HTTP://0x7f.1:PORT/x/../end"]
        {
            let server = redirecting(status, location);
            let url = server.url("start").replace("//", "//me:secret@");
            assert_eq!(read(settings(""), &url).unwrap(), OBJECT, "{status} {location}");
            // Credentials in the URL are sent again after redirects within its host.
            assert!(server.requests().iter().all(|request| request.head.contains("authorization: basic")));
        }
    }
}

#[test]
fn redirects_elsewhere_need_permission() {
    let victim = object_server();
    let port = victim.port;
    let elsewhere = [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://0177.1:{port}/"),
        format!("http://127.0.0.2:{port}/"),
        format!("http://0:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://10.0.0.1/".into(),
        "http://[fd00:ec2::254]/".into(),
        format!("http://user:secret@127.0.0.1:{port}/?secret"),
        "https://example.invalid/".into(),
    ];
    for location in elsewhere {
        let server = redirecting(302, &location);
        let message = failure(settings(""), &server.url("a?secret"));
        assert!(message.contains("another host") && message.contains("POLYHAUL_NETWORK_REDIRECTS="), "{message}");
        assert_eq!(server.requests().len(), 1, "{location}");
    }
    assert!(victim.requests().is_empty());
}

#[test]
fn permission_for_all_hosts_excludes_private_addresses() {
    let victim = object_server();
    let port = victim.port;
    let names = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:7f00:1]", "2130706433", "127.1"];
    for host in names {
        let server = redirecting(307, &format!("http://{host}:{port}/"));
        let message = failure(settings("*"), &server.url("a"));
        assert!(message.contains("private address") && message.contains("POLYHAUL_NETWORK_REDIRECTS"), "{message}");
    }
    assert!(victim.requests().is_empty());
    for rules in ["*,private", "localhost,private"] {
        let server = redirecting(307, &format!("http://localhost:{port}/"));
        assert_eq!(read(settings(rules), &server.url("a")).unwrap(), OBJECT);
    }
    for rules in ["127.0.0.1".to_owned(), format!("127.0.0.1:{port}")] {
        let server = redirecting(307, &format!("http://127.1:{port}/"));
        assert_eq!(read(settings(&rules), &server.url("a")).unwrap(), OBJECT);
    }
}

#[test]
fn credentials_stay_with_their_host() {
    let other = object_server();
    for location in ["http://localhost:PORT/", "http://them:other@localhost:PORT/"] {
        let server = redirecting(302, &location.replace("PORT", &other.port.to_string()));
        let url = server.url("a?sig=secret").replace("//", "//me:secret@");
        assert_eq!(read(settings("localhost,private"), &url).unwrap(), OBJECT);
        assert!(server.requests().iter().all(has_credentials));
    }
    assert_eq!(other.requests().len(), 2);
    for request in other.requests() {
        assert!(!has_credentials(&request) && !request.head.contains("sig="), "{}", request.head);
    }
}

#[test]
fn credentials_do_not_come_back() {
    let back = HostileServer::start(|request, stream| {
        let home = request.head.split("home=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{home}/end\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    });
    let server = redirecting(302, &format!("http://localhost:{}/?home=PORT", back.port));
    let url = server.url("a").replace("//", "//me:secret@");
    assert_eq!(read(settings("*,private"), &url).unwrap(), OBJECT);
    let requests = server.requests();
    assert!(has_credentials(&requests[0]) && !has_credentials(&requests[1]));
}

#[test]
fn redirects_end() {
    for location in ["/again", "/N", "?N", "http://127.0.0.1:PORT/N"] {
        let server = redirecting(302, location);
        let message = failure(settings("*,private"), &server.url("a"));
        assert!(message.contains("redirected more than 10 times"), "{message}");
        // Requests are repeated if the server closes the connection in between.
        assert!((11..=33).contains(&server.requests().len()));
    }
}

#[test]
fn other_schemes_and_damaged_locations_are_refused() {
    let locations = [
        "file:///etc/passwd",
        "ftp://127.0.0.1/a",
        "data:text/plain,v",
        "javascript:alert(1)",
        "gopher://127.0.0.1/",
        "http://",
        "http://[::1",
        "https://",
        "http://a b/",
        "http://127.0.0.1:99999/",
        "\u{e9}",
        "http:///",
    ];
    for location in locations {
        let server = redirecting(301, location);
        let message = failure(settings("*,private"), &server.url("a"));
        assert!(message.contains("redirected"), "{location}: {message}");
        assert_eq!(server.requests().len(), 1, "{location}: {message}");
    }
    let server = HostileServer::with_response("HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert!(failure(settings(""), &server.url("a")).contains("without a valid location"));
}

#[test]
fn statuses_that_are_no_redirects_are_not_followed() {
    for status in [300, 304, 305, 306, 310] {
        let server = redirecting(status, "/end");
        let message = failure(settings("*,private"), &server.url("a"));
        assert!(message.contains(&status.to_string()), "{message}");
    }
}

#[test]
fn uploads_follow_only_redirects_that_keep_them() {
    for (status, is_sent) in [(301, false), (302, false), (303, false), (307, true), (308, true)] {
        let server = HostileServer::start(move |request, stream| {
            let is_end = request.head.starts_with("put /end");
            let status = if is_end { 201 } else { status };
            write!(stream, "HTTP/1.1 {status} So\r\nLocation: /end\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        });
        let (engine, store, check) = super::connect(settings(""), &server.url("a"));
        let put = engine.run(&check, async move { store.put("v".into()).await }).unwrap();
        assert_eq!(put.is_ok(), is_sent, "{status}");
    }
}
