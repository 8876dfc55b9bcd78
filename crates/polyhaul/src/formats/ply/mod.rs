//! PLY, the Stanford polygon format: elements with properties, as text or as bytes.

pub(crate) mod writer;

pub(crate) use writer::{Job, write_scene, write_tables};
