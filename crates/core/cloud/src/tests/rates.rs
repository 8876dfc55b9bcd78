//! Slow servers.

use super::server::HostileServer;
use super::{failure, hurried, read};
use crate::settings::NetworkSettings;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PART: &str = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9999/10000\r\nContent-Length: 10000\r\n\r\n";
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n";
const ENDLESS: &str = "HTTP/1.1 200 OK\r\n\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Sends `start`, then `drip` every 20 ms while the client is connected.
fn dripping(start: &'static str, drip: &'static [u8]) -> HostileServer {
    HostileServer::start(move |request, stream| {
        stream.set_nodelay(true)?;
        stream.write_all(start.as_bytes())?;
        while request.is_wanted() {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(drip)?;
        }
        Ok(())
    })
}

#[test]
fn servers_that_drip_are_given_up() {
    let cases: [(&str, &[u8]); 4] = [(PART, b"v"), (STREAM, b"v"), (ENDLESS, b"\n"), (CHUNKED, b"1\r\nv\r\n")];
    for (start, drip) in cases {
        let server = dripping(start, drip);
        let start = Instant::now();
        let message = failure(hurried(1000), &server.url("a"));
        let host = format!("127.0.0.1:{} sent ", server.port);
        assert!(message.contains(&host) && message.contains("below the minimum of 1000"), "{message}");
        assert!(message.contains("POLYHAUL_NETWORK_MIN_RATE"), "{message}");
        // Three attempts for a part.
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

#[test]
fn servers_that_stop_time_out() {
    let starts = [
        "",
        "H",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        PART,
        STREAM,
        ENDLESS,
        CHUNKED,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nv",
    ];
    for start in starts {
        let server = HostileServer::start(move |request, stream| {
            stream.write_all(start.as_bytes())?;
            wait(&mut *stream, || request.is_wanted())
        });
        let message = failure(hurried(300), &server.url("a"));
        assert!(message.contains("timed out") && message.contains("POLYHAUL_NETWORK_TIMEOUT"), "{start:?} {message}");
    }
}

/// Keeps a connection open while the test needs it.
fn wait(_: &mut TcpStream, is_wanted: impl Fn() -> bool) -> io::Result<()> {
    while is_wanted() {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[test]
fn heads_that_never_end_are_given_up() {
    let cases: [(&str, &[u8]); 3] = [
        ("HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nA: ", b"b"),
        ("HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ];
    for (start, drip) in cases {
        let server = dripping(start, drip);
        assert!(failure(hurried(300), &server.url("a")).contains("timed out"));
    }
}

#[test]
fn the_minimum_can_be_changed() {
    // At most 50 bytes per second, for longer than the averaging window.
    let server = HostileServer::start(|_, stream| {
        stream.set_nodelay(true)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 75\r\n\r\n")?;
        (0..75).try_for_each(|_| {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b"v")
        })
    });
    let with_rate = |min_rate| NetworkSettings { min_rate, ..hurried(1000) };
    assert!(failure(with_rate(200), &server.url("a")).contains("below the minimum of 200"));
    assert_eq!(read(with_rate(0), &server.url("a")).unwrap().len(), 75);
    assert_eq!(read(with_rate(1), &server.url("a")).unwrap().len(), 75);
}

#[test]
fn a_slow_reader_is_not_a_slow_server() {
    use crate::object::{OpenedObject, open_store};
    let size = 4 << 20;
    let server = HostileServer::start(move |_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
        stream.write_all(&vec![b'v'; size])
    });
    let (engine, store, check) = super::connect(hurried(1000), &server.url("a"));
    let Ok(OpenedObject::Stream(mut stream)) = open_store(engine, store, &check) else { panic!("no stream") };
    let mut total = 0;
    let mut piece = vec![0; 3 << 20];
    loop {
        // Longer than the timeout.
        std::thread::sleep(Duration::from_millis(1200));
        match io::Read::read(&mut stream, &mut piece).unwrap() {
            0 => break,
            count => total += count,
        }
    }
    assert_eq!(total, size);
}
