//! Replaces `flat` in builds without the `pbrt` feature, which cannot read or convert renderer scenes.

use crate::format::Format;
#[cfg(feature = "preview")]
use crate::options::ReadOptions;
use crate::options::{Limits, WriteOptions};
use polyhaul_model::Scene;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::warnings::Warnings;
#[cfg(feature = "preview")]
use polyhaul_preview::{PlacedInstance, SceneCamera};
use std::borrow::Cow;
#[cfg(feature = "preview")]
use std::ops::Range;

/// Always fails: without the feature, renderer scenes can only be built by the caller.
pub(crate) fn to_write(_: Cow<'_, Scene>, _: &WriteOptions, _: &mut Warnings) -> Result<Scene> {
    Err(unsupported())
}

/// Always fails: without the feature, renderer scenes can only be built by the caller.
pub(crate) fn with_instances(_: Scene, _: &Limits, _: &mut Warnings) -> Result<Scene> {
    Err(unsupported())
}

#[cfg(feature = "preview")]
/// Always fails: without the feature, renderer scenes can only be built by the caller.
pub(crate) fn shown(_: Scene, _: &ReadOptions, _: &mut Warnings) -> Result<ShownScene> {
    Err(unsupported())
}

#[cfg(feature = "preview")]
/// Placeholder; never constructed.
pub(crate) struct ShownScene {
    pub(crate) scene: Scene,
    pub(crate) definitions: Vec<Range<usize>>,
    pub(crate) instances: Vec<PlacedInstance>,
    pub(crate) camera: Option<SceneCamera>,
}

fn unsupported() -> Error {
    let error = Format::Pbrt.built().err();
    error.unwrap_or_else(|| Error::new(ErrorKind::Internal, "scenes for a renderer are not supported"))
}
