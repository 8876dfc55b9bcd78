//! Objects in object stores: the interface to the `polyhaul-cloud` crate.
//!
//! Without the `cloud` feature, every access to an object returns an error that names the feature.

#[cfg(feature = "cloud")]
mod cloud;
#[cfg(not(feature = "cloud"))]
mod none;

#[cfg(feature = "cloud")]
pub(crate) use cloud::{Remote, RemoteObject, RemoteUpload, check_name, list, open, remove, stat, stored_name};
#[cfg(not(feature = "cloud"))]
pub(crate) use none::{Remote, RemoteObject, RemoteUpload, check_name, list, open, remove, stat, stored_name};
