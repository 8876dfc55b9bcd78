//! Remote objects in builds with the `cloud` feature.

use crate::place::{ListedObject, PlaceInfo, PlaceKind};
use crate::stop::StopFlag;
use polyhaul_cloud::{OpenedObject, Stat, StopCheck};
use std::io::{self, Read};
use std::sync::Arc;

pub(crate) use polyhaul_cloud::{CloudObject as RemoteObject, check_name, stored_name};

/// An opened URL.
pub(crate) enum Remote {
    Object(RemoteObject),
    Stream(Box<dyn Read + Send>),
}

fn check(stop: &StopFlag) -> StopCheck {
    let stop = stop.clone();
    Arc::new(move || stop.check())
}

pub(crate) fn open(url: &str, stop: &StopFlag) -> io::Result<Remote> {
    Ok(match polyhaul_cloud::open(url, &check(stop))? {
        OpenedObject::Object(object) => Remote::Object(object),
        OpenedObject::Stream(stream) => Remote::Stream(stream),
    })
}

fn info(stat: Stat) -> PlaceInfo {
    PlaceInfo { kind: PlaceKind::File, bytes: stat.bytes, version: stat.etag.or(stat.modified) }
}

pub(crate) fn stat(url: &str, stop: &StopFlag) -> io::Result<PlaceInfo> {
    polyhaul_cloud::stat(url, &check(stop)).map(info)
}

pub(crate) fn list(url: &str, is_recursive: bool, stop: &StopFlag) -> io::Result<Vec<ListedObject>> {
    let listed = polyhaul_cloud::list(url, is_recursive, &check(stop))?;
    Ok(listed.into_iter().map(|entry| ListedObject { name: entry.name.into(), info: info(entry.stat) }).collect())
}

pub(crate) fn remove(url: &str, stop: &StopFlag) -> io::Result<()> {
    polyhaul_cloud::remove(url, &check(stop))
}

/// An object being written.
pub(crate) struct RemoteUpload(polyhaul_cloud::Upload);

impl RemoteUpload {
    pub(crate) fn create(url: &str, stop: &StopFlag) -> io::Result<RemoteUpload> {
        polyhaul_cloud::Upload::create(url, &check(stop)).map(RemoteUpload)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map(|()| bytes.len())
    }

    pub(crate) fn complete(&mut self) -> io::Result<()> {
        self.0.complete()
    }

    pub(crate) fn put_in_place(self) -> io::Result<()> {
        self.0.put_in_place()
    }
}
