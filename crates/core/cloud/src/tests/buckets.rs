//! Object stores that misbehave.

use super::server::{HostileServer, Request};
use super::{hurried, settings};
use crate::bucket::BucketConnector;
use crate::engine::CloudEngine;
use crate::object::{OpenedObject, open_store};
use crate::settings::{NetworkSettings, retries};
use crate::store::Store;
use futures_util::TryStreamExt;
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

const HEAD: &str = "ETag: \"1\"\r\nLast-Modified: Thu, 26 Nov 2026 12:00:00 GMT\r\n";

/// Returns an S3 bucket at `server`, and the engine that connects to it.
fn bucket(server: &HostileServer, settings: NetworkSettings) -> (Arc<CloudEngine>, Arc<dyn ObjectStore>) {
    let engine = CloudEngine::new(settings).unwrap();
    let settings = engine.settings.clone();
    let builder = AmazonS3Builder::new()
        .with_bucket_name("b")
        .with_endpoint(server.url("").trim_end_matches('/'))
        .with_access_key_id("me")
        .with_secret_access_key("secret")
        .with_token("secret-token")
        .with_retry(retries())
        .with_client_options(settings.client_options().with_allow_http(true))
        .with_http_connector(BucketConnector { settings });
    (engine, Arc::new(builder.build().unwrap()))
}

#[test]
fn an_honest_store_is_read_written_and_listed() {
    let object = "v 0 0 0\n".repeat(100_000);
    let served = object.clone();
    let server = HostileServer::start(move |request, stream| {
        if request.head.starts_with("put ") {
            return write!(stream, "HTTP/1.1 200 O\r\n{HEAD}Connection: close\r\nContent-Length: 0\r\n\r\n");
        }
        let Some((start, last)) = request.range() else {
            let keys = "<Key>a//b.obj</Key>";
            let entry = "<LastModified>2026-11-26T12:00:00.000Z</LastModified><ETag>1</ETag><Size>3</Size>";
            let list = format!("<ListBucketResult><Contents>{keys}{entry}</Contents></ListBucketResult>");
            return write!(
                stream,
                "HTTP/1.1 200 O\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{list}",
                list.len()
            );
        };
        let last = last.min(served.len() - 1);
        let part = &served[start..=last];
        let range = format!("Content-Range: bytes {start}-{last}/{}", served.len());
        write!(
            stream,
            "HTTP/1.1 206 P\r\n{HEAD}{range}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{part}",
            part.len()
        )
    });
    let (engine, bucket) = bucket(&server, settings(""));
    let check: crate::StopCheck = Arc::new(|| Ok(()));
    let store = Store::Bucket(bucket.clone(), "a.obj".into());
    let Ok(OpenedObject::Object(opened)) = open_store(engine.clone(), store.clone(), &check) else {
        panic!("a stream")
    };
    let mut bytes = vec![0; object.len()];
    assert_eq!(opened.read_at(0, &mut bytes).unwrap(), object.len());
    assert!(bytes == object.as_bytes());
    engine.run(&check, async move { store.put("v".into()).await }).unwrap().unwrap();
    let listed = engine.run(&check, async move { bucket.list(None).try_collect::<Vec<_>>().await }).unwrap().unwrap();
    assert_eq!(crate::stored_name(listed[0].location.as_ref()), "a//b.obj");
}

/// Returns the message of a failure to open an object. Checks that the message contains no secrets.
fn failure(server: &HostileServer, settings: NetworkSettings) -> String {
    let (engine, bucket) = bucket(server, settings);
    let opened = open_store(engine, Store::Bucket(bucket, "a.obj".into()), &(Arc::new(|| Ok(())) as _));
    let message = opened.map(|_| ()).unwrap_err().to_string();
    assert!(!message.contains("secret"), "{message}");
    message
}

#[test]
fn redirects_take_no_credentials_along() {
    let other = HostileServer::with_response("HTTP/1.1 200 OK\r\n\r\n");
    let locations = [
        format!("http://127.0.0.1:{}/b/a.obj?secret", other.port),
        format!("http://localhost:{}/b/a.obj", other.port),
        format!("http://secret@127.0.0.1:{}/b/a.obj", other.port),
    ];
    for status in [301, 302, 303, 307, 308] {
        for location in &locations {
            let response = format!(
                "HTTP/1.1 {status} Away\r\nLocation: {location}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            );
            let server = HostileServer::with_response(response);
            let message = failure(&server, settings("*,private"));
            assert!(message.contains(&other.port.to_string()) && message.contains("AWS_REGION"), "{message}");
            assert!(server.requests()[0].head.contains("x-amz-security-token: secret-token"));
        }
    }
    assert!(other.requests().is_empty());
}

/// Sends `start`, then `more` again and again until the test ends.
fn endless(stream: &mut TcpStream, request: &Request, start: &str, more: &[u8]) -> io::Result<()> {
    stream.write_all(start.as_bytes())?;
    while request.is_wanted() {
        stream.write_all(more)?;
    }
    Ok(())
}

#[test]
fn endless_answers_are_cut_off() {
    let megabyte = vec![b'<'; 1 << 20];
    let starts = [
        format!("HTTP/1.1 206 P\r\n{HEAD}Content-Range: bytes 0-99/100\r\n\r\n"),
        "HTTP/1.1 403 No\r\n\r\n".into(),
        "HTTP/1.1 404 No\r\n\r\n".into(),
    ];
    for start in starts {
        let megabyte = megabyte.clone();
        let server = HostileServer::start(move |request, stream| endless(stream, request, &start, &megabyte));
        failure(&server, settings(""));
    }
    let server =
        HostileServer::start(move |request, stream| endless(stream, request, "HTTP/1.1 200 O\r\n\r\n", &megabyte));
    let (engine, bucket) = bucket(&server, settings(""));
    let check: crate::StopCheck = Arc::new(|| Ok(()));
    let listed = engine.run(&check, async move { bucket.list(None).try_collect::<Vec<_>>().await }).unwrap();
    assert!(format!("{:?}", listed.unwrap_err()).contains("too long"));
}

#[test]
fn stores_that_drip_are_given_up() {
    let server = HostileServer::start(|request, stream| {
        stream.set_nodelay(true)?;
        write!(
            stream,
            "HTTP/1.1 206 P\r\n{HEAD}Content-Range: bytes 0-9999/10000\r\nConnection: close\r\nContent-Length: 10000\r\n\r\n"
        )?;
        while request.is_wanted() {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b"v")?;
        }
        Ok(())
    });
    let message = failure(&server, hurried(1000));
    assert!(message.contains("POLYHAUL_NETWORK_MIN_RATE"), "{message}");
}

#[test]
fn parts_that_were_not_requested_are_errors() {
    let answers = [
        format!("206 P\r\n{HEAD}Content-Range: bytes 5-9/10\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("206 P\r\n{HEAD}Content-Range: bytes 0-9/10\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("206 P\r\n{HEAD}Content-Range: bytes 0-1/2\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("206 P\r\n{HEAD}Content-Range: bytes 0-4/*\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("206 P\r\n{HEAD}Content-Range: bytes 9-0/*\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("206 P\r\n{HEAD}Connection: close\r\nContent-Length: 5\r\n\r\nabcde"),
        format!("200 O\r\n{HEAD}Connection: close\r\nContent-Length: 5\r\n\r\nabcde"),
    ];
    for answer in answers {
        let server = HostileServer::with_response(format!("HTTP/1.1 {answer}"));
        failure(&server, settings(""));
    }
}

/// As for the parts of an abandoned upload: they must not arrive after it was aborted.
#[test]
fn aborted_tasks_end() {
    let engine = CloudEngine::new(NetworkSettings::default()).unwrap();
    let held = Arc::new(());
    let copy = held.clone();
    let endless = async move {
        std::future::pending::<()>().await;
        drop(copy);
    };
    engine.start(endless).abort();
    assert!((0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        Arc::strong_count(&held) == 1
    }));
}
