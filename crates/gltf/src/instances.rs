//! `EXT_mesh_gpu_instancing`: a node whose mesh is drawn many times.
//!
//! Nothing here makes objects; the number of instances is that of accessors, which are checked.

use crate::accessors::{Component, Values};
use crate::document::Node;
use crate::hierarchy::{Matrix, multiply, placed};
use crate::log::{Log, malformed, over_limit};
use crate::materials::extension;
use polyhaul_model::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The name of the extension.
pub(crate) const NAME: &str = "EXT_mesh_gpu_instancing";

/// Its content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Instancing {
    attributes: BTreeMap<String, usize>,
}

/// The places of the instances of a node that lies at `world`; `None` if it is drawn once.
pub(crate) fn places(
    values: &mut Values<'_, '_>,
    log: &mut Log,
    index: usize,
    node: &Node,
    world: &Matrix,
) -> Result<Option<Vec<Matrix>>> {
    let path = format!("nodes[{index}]");
    let Some(own) = extension::<Instancing>(&node.extensions, NAME, &path)? else { return Ok(None) };
    let mut reader = InstanceReader { values, log, path: format!("{path}.extensions.{NAME}"), own, count: None };
    let translations = reader.read("TRANSLATION", |value: [f32; 3]| value)?;
    let rotations = reader.read("ROTATION", |value: [f32; 4]| value)?;
    let scales = reader.read("SCALE", |value: [f32; 3]| value)?;
    let Some(count) = reader.count else { return Ok(None) };
    let mut places = Vec::new();
    places.try_reserve_exact(count).map_err(|_| Error::memory("instances"))?;
    places.extend((0..count).map(|instance| {
        let translation = translations.get(instance).copied().unwrap_or([0.0; 3]);
        let rotation = rotations.get(instance).copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let scale = scales.get(instance).copied().unwrap_or([1.0; 3]);
        multiply(world, &placed(translation, rotation, scale))
    }));
    Ok(Some(places))
}

struct InstanceReader<'v, 'a, 'f> {
    values: &'v mut Values<'a, 'f>,
    log: &'v mut Log,
    path: String,
    own: Instancing,
    /// The number of instances, once it is known.
    count: Option<usize>,
}

impl InstanceReader<'_, '_, '_> {
    /// The values of an attribute; empty if it is missing.
    fn read<const N: usize>(&mut self, name: &str, finish: impl Fn([f32; N]) -> [f32; N]) -> Result<Vec<[f32; N]>> {
        let Some(&index) = self.own.attributes.get(name) else { return Ok(Vec::new()) };
        let layout = self.values.layout(index, &self.path, &[N], self.log)?;
        let count = *self.count.get_or_insert(layout.count);
        if count != layout.count || layout.component == Component::U32 {
            return Err(malformed(format!("{}: attributes of {count} and {} instances", self.path, layout.count)));
        }
        let limit = self.values.limits.instanced_objects;
        if count as u64 > limit {
            return Err(over_limit(&format!("{}: {count} instances", self.path), limit, "instanced_objects"));
        }
        let mut values = Vec::new();
        self.values.floats(&layout, &mut values, finish)?;
        Ok(values)
    }
}
