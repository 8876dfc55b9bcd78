//! Remote objects in builds without the `cloud` feature: values of these types cannot exist.

use crate::place::{ListedObject, PlaceInfo};
use crate::stop::StopFlag;
use std::borrow::Cow;
use std::io::{self, Read};

#[allow(dead_code, reason = "no URL can be opened")]
pub(crate) enum Remote {
    Object(RemoteObject),
    Stream(Box<dyn Read + Send>),
}

pub(crate) enum RemoteObject {}

pub(crate) enum RemoteUpload {}

fn refuse<T>() -> io::Result<T> {
    let message = "this build does not support URLs: build it with `--features cloud`, or use a released binary";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

pub(crate) fn check_name(_: &str) -> io::Result<()> {
    Ok(())
}

pub(crate) fn stored_name(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(name)
}

pub(crate) fn open(_: &str, _: &StopFlag) -> io::Result<Remote> {
    refuse()
}

pub(crate) fn stat(_: &str, _: &StopFlag) -> io::Result<PlaceInfo> {
    refuse()
}

pub(crate) fn list(_: &str, _: bool, _: &StopFlag) -> io::Result<Vec<ListedObject>> {
    refuse()
}

pub(crate) fn remove(_: &str, _: &StopFlag) -> io::Result<()> {
    refuse()
}

impl RemoteObject {
    pub(crate) fn len(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl RemoteUpload {
    pub(crate) fn create(_: &str, _: &StopFlag) -> io::Result<RemoteUpload> {
        refuse()
    }

    pub(crate) fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn complete(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn put_in_place(self) -> io::Result<()> {
        match self {}
    }
}
