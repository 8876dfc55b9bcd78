//! Objects in stores, if this build can open them: the border to the crate `polyhaul-cloud`.
//!
//! Without the feature `cloud` there are no such objects, and every attempt is an error that says so.

#[cfg(feature = "cloud")]
mod cloud;
#[cfg(not(feature = "cloud"))]
mod none;

#[cfg(feature = "cloud")]
pub(crate) use cloud::{Remote, RemoteObject, RemoteUpload, list, open, remove, stat};
#[cfg(not(feature = "cloud"))]
pub(crate) use none::{Remote, RemoteObject, RemoteUpload, list, open, remove, stat};
