//! `EXT_mesh_gpu_instancing`: a node whose mesh is drawn many times.
//!
//! Nothing here makes objects; the number of instances is that of accessors, which are checked.

use crate::accessors::{Component, Layout, Values};
use crate::convert::Finish;
use crate::document::Node;
use crate::fills::Fill;
use crate::hierarchy::{Matrix, multiply, placed};
use crate::log::{Log, malformed, over_limit};
use crate::materials::extension;
use polyhaul_model::error::{Result, try_push};
use polyhaul_pipeline::arrays::zeroed;
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

/// The instances of a node, checked.
pub(crate) struct Instances {
    pub(crate) count: usize,
    translations: Option<(Layout, Vec<[f32; 3]>)>,
    rotations: Option<(Layout, Vec<[f32; 4]>)>,
    scales: Option<(Layout, Vec<[f32; 3]>)>,
}

impl Instances {
    /// Checks the instances of a node; `None` if it is drawn once.
    pub(crate) fn plan(
        values: &mut Values<'_, '_>,
        log: &mut Log,
        index: usize,
        node: &Node,
    ) -> Result<Option<Instances>> {
        let path = format!("nodes[{index}]");
        let Some(own) = extension::<Instancing>(&node.extensions, NAME, &path)? else { return Ok(None) };
        let mut planner = InstancePlanner { values, log, path: format!("{path}.extensions.{NAME}"), own, count: None };
        let translations = planner.layout("TRANSLATION")?;
        let (rotations, scales) = (planner.layout("ROTATION")?, planner.layout("SCALE")?);
        Ok(planner.count.map(|count| Instances { count, translations, rotations, scales }))
    }

    /// Adds the values to be read.
    pub(crate) fn add_fills<'m>(&'m mut self, fills: &mut Vec<Fill<'m>>) -> Result<()> {
        add(&mut self.translations, fills)?;
        add(&mut self.rotations, fills)?;
        add(&mut self.scales, fills)
    }

    /// Where an instance is, once the values were read, if the node is at `world`.
    pub(crate) fn place(&self, instance: usize, world: &Matrix) -> Matrix {
        let translation = value(&self.translations, instance).unwrap_or([0.0; 3]);
        let rotation = value(&self.rotations, instance).unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let scale = value(&self.scales, instance).unwrap_or([1.0; 3]);
        multiply(world, &placed(translation, rotation, scale))
    }
}

fn add<'m, const N: usize>(
    attribute: &'m mut Option<(Layout, Vec<[f32; N]>)>,
    fills: &mut Vec<Fill<'m>>,
) -> Result<()> {
    let Some((layout, values)) = attribute else { return Ok(()) };
    try_push(fills, Fill::floats(layout, values.as_flattened_mut(), (N, Finish::Keep), None), "instances")
}

fn value<const N: usize>(attribute: &Option<(Layout, Vec<[f32; N]>)>, instance: usize) -> Option<[f32; N]> {
    attribute.as_ref().and_then(|(_, values)| values.get(instance).copied())
}

struct InstancePlanner<'v, 'a, 'f> {
    values: &'v mut Values<'a, 'f>,
    log: &'v mut Log,
    path: String,
    own: Instancing,
    /// The number of instances, once it is known.
    count: Option<usize>,
}

impl InstancePlanner<'_, '_, '_> {
    /// The accessor of an attribute, with room for its values.
    fn layout<const N: usize>(&mut self, name: &str) -> Result<Option<(Layout, Vec<[f32; N]>)>> {
        let Some(&index) = self.own.attributes.get(name) else { return Ok(None) };
        let layout = self.values.layout(index, &self.path, &[N], self.log)?;
        let count = *self.count.get_or_insert(layout.count);
        if count != layout.count || layout.component == Component::U32 {
            return Err(malformed(format!("{}: attributes of {count} and {} instances", self.path, layout.count)));
        }
        let limit = self.values.limits.instanced_objects;
        if count as u64 > limit {
            return Err(over_limit(&format!("{}: {count} instances", self.path), limit, "instanced_objects"));
        }
        Ok(Some((layout, zeroed(count, "instances")?)))
    }
}
