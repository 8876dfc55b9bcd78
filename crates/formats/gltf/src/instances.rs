//! Reads `EXT_mesh_gpu_instancing`: nodes that draw their mesh many times.
//!
//! The accessors of all attributes have the same count, the number of instances. [`crate::instancing`] writes the
//! extension.

use crate::accessors::AccessorValues;
use crate::convert::Finish;
use crate::document::{Node, extension};
use crate::fills::AccessorFill;
use crate::hierarchy::{NodeWorld, multiply, placed};
use crate::instancing::ATTRIBUTES;
use crate::layout::{AccessorLayout, Component};
use crate::log::{GltfLog, malformed, over_limit};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::names::shown;
use polyhaul_pipeline::arrays::zeroed;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name of the extension.
pub(crate) const NAME: &str = "EXT_mesh_gpu_instancing";

/// Content of the extension.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Instancing {
    attributes: BTreeMap<String, usize>,
}

/// Validated instances of a node.
pub(crate) struct NodeInstances {
    pub(crate) count: usize,
    translations: Option<(AccessorLayout, Vec<[f32; 3]>)>,
    rotations: Option<(AccessorLayout, Vec<[f32; 4]>)>,
    scales: Option<(AccessorLayout, Vec<[f32; 3]>)>,
}

impl NodeInstances {
    /// Validates the instances of a node. Returns `None` if it has none.
    pub(crate) fn plan(
        values: &mut AccessorValues<'_, '_>,
        log: &mut GltfLog,
        index: usize,
        node: &Node,
    ) -> Result<Option<NodeInstances>> {
        let path = format!("nodes[{index}]");
        let Some(instancing) = extension::<Instancing>(&node.extensions, NAME, &path)? else { return Ok(None) };
        let path = format!("{path}.extensions.{NAME}");
        let mut planner = InstancePlanner { values, log, path, instancing, count: None };
        let translations = planner.layout("TRANSLATION")?;
        let rotations = planner.layout("ROTATION")?;
        let scales = planner.layout("SCALE")?;
        planner.note_others()?;
        Ok(planner.count.map(|count| NodeInstances { count, translations, rotations, scales }))
    }

    /// Returns the bytes per instance in the file; 0 if no value is stored.
    pub(crate) fn stored_bytes(&self) -> usize {
        let translations = self.translations.as_ref().map(|(layout, _)| layout);
        let rotations = self.rotations.as_ref().map(|(layout, _)| layout);
        let scales = self.scales.as_ref().map(|(layout, _)| layout);
        let layouts = [translations, rotations, scales].into_iter().flatten();
        layouts.filter(|layout| layout.span.is_some()).map(AccessorLayout::element_bytes).sum()
    }

    /// Adds the reads of all attributes.
    pub(crate) fn add_fills<'m>(&'m mut self, fills: &mut Vec<AccessorFill<'m>>) -> Result<()> {
        add(&mut self.translations, fills)?;
        add(&mut self.rotations, fills)?;
        add(&mut self.scales, fills)
    }

    /// Returns the world transform of an instance, given the world transform of its node. The values must have been
    /// read.
    pub(crate) fn world(&self, instance: usize, world: &NodeWorld) -> NodeWorld {
        let translation = value(&self.translations, instance).unwrap_or([0.0; 3]);
        let rotation = value(&self.rotations, instance).unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let is_quantized = self.rotations.as_ref().is_some_and(|(layout, _)| layout.component != Component::F32);
        let rotation = if is_quantized { unit(rotation.map(f64::from)) } else { rotation.map(f64::from) };
        let scale = value(&self.scales, instance).unwrap_or([1.0; 3]);
        let local = placed(translation.map(f64::from), rotation, scale.map(f64::from));
        // The values of instances are stored as floats, so one local transform serves both precisions.
        NodeWorld { single: multiply(&world.single, &local), exact: multiply(&world.exact, &local) }
    }
}

/// Normalizes a quaternion of integers, which does not have exactly unit length and would scale the instance.
fn unit(quaternion: [f64; 4]) -> [f64; 4] {
    let length = quaternion.iter().map(|part| part * part).sum::<f64>().sqrt();
    if length > 0.0 { quaternion.map(|part| part / length) } else { quaternion }
}

fn add<'m, const N: usize>(
    attribute: &'m mut Option<(AccessorLayout, Vec<[f32; N]>)>,
    fills: &mut Vec<AccessorFill<'m>>,
) -> Result<()> {
    let Some((layout, values)) = attribute else { return Ok(()) };
    try_push(fills, AccessorFill::floats(layout, values.as_flattened_mut(), N, Finish::Keep, None), "instances")
}

fn value<const N: usize>(attribute: &Option<(AccessorLayout, Vec<[f32; N]>)>, instance: usize) -> Option<[f32; N]> {
    attribute.as_ref().and_then(|(_, values)| values.get(instance).copied())
}

struct InstancePlanner<'v, 'a, 'f> {
    values: &'v mut AccessorValues<'a, 'f>,
    log: &'v mut GltfLog,
    path: String,
    instancing: Instancing,
    /// Number of instances, according to the first attribute.
    count: Option<usize>,
}

impl InstancePlanner<'_, '_, '_> {
    /// Validates the accessor of an attribute and allocates its values.
    fn layout<const N: usize>(&mut self, name: &str) -> Result<Option<(AccessorLayout, Vec<[f32; N]>)>> {
        let Some(&index) = self.instancing.attributes.get(name) else { return Ok(None) };
        let layout = self.values.layout(index, &self.path, &[N], self.log)?;
        let count = *self.count.get_or_insert(layout.count);
        if count != layout.count {
            return Err(malformed(format!("{}: attributes differ in count: {count} and {}", self.path, layout.count)));
        }
        if layout.component == Component::U32 {
            return Err(malformed(format!("{}: attributes of instances cannot have 32-bit integers", self.path)));
        }
        let limit = self.values.limits.instanced_objects;
        if count as u64 > limit {
            return Err(over_limit(&format!("{}: {count} instances", self.path), limit, "instanced_objects"));
        }
        Ok(Some((layout, zeroed(count, "instances")?)))
    }

    /// Counts application-specific attributes, which are dropped.
    fn note_others(&mut self) -> Result<()> {
        let InstancePlanner { log, path, instancing, .. } = self;
        for name in instancing.attributes.keys().filter(|name| !ATTRIBUTES.contains(&name.as_str())) {
            let message = || format!("{path}: the attribute `{}` was dropped: only transforms are read", shown(name));
            log.lose_about("left-out-attributes", 1, message, Some(name))?;
        }
        Ok(())
    }
}
