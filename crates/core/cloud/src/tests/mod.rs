//! Tests with hostile servers on the loopback interface: redirects, low rates, and false sizes and ranges.

mod buckets;
mod ranges;
mod rates;
mod redirects;
mod server;

use crate::engine::CloudEngine;
use crate::object::{OpenedObject, connect_with, open_store};
use crate::settings::NetworkSettings;
use crate::store::Store;
use crate::{StopCheck, redirect::RedirectRules};
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

/// Returns the default settings with rules for redirects.
fn settings(redirects: &str) -> NetworkSettings {
    NetworkSettings { redirects: RedirectRules::parse(redirects).unwrap(), ..NetworkSettings::default() }
}

/// Returns the default settings with a short timeout.
fn hurried(milliseconds: u64) -> NetworkSettings {
    NetworkSettings { timeout: Duration::from_millis(milliseconds), ..NetworkSettings::default() }
}

fn connect(settings: NetworkSettings, url: &str) -> (Arc<CloudEngine>, Store, StopCheck) {
    let check: StopCheck = Arc::new(|| Ok(()));
    let (engine, store) = connect_with(CloudEngine::new(settings).unwrap(), url, &check).unwrap();
    (engine, store, check)
}

/// Opens a URL and reads all of it.
fn read(settings: NetworkSettings, url: &str) -> io::Result<Vec<u8>> {
    let (engine, store, check) = connect(settings, url);
    let mut bytes = Vec::new();
    match open_store(engine, store, &check)? {
        OpenedObject::Stream(mut stream) => stream.read_to_end(&mut bytes).map(drop)?,
        OpenedObject::Object(object) => {
            // A false size must not make the test allocate that much.
            let mut piece = vec![0; 1 << 20];
            while (bytes.len() as u64) < object.len() {
                let count = object.read_at(bytes.len() as u64, &mut piece)?;
                bytes.extend_from_slice(&piece[..count]);
            }
        }
    }
    Ok(bytes)
}

/// Returns the message of a failed read, which must not contain secrets.
fn failure(settings: NetworkSettings, url: &str) -> String {
    let message = read(settings, url).map(|bytes| bytes.len()).unwrap_err().to_string();
    assert!(!message.contains("secret"), "{message}");
    message
}
