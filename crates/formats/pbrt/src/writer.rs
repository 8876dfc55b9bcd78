//! Writes scenes as pretty or compact text, in pages that are formatted in parallel.
//!
//! [`PbrtPlan`] orders a scene (`plan`): settings, named coordinate systems, media, textures, lights, shapes with their
//! materials and object definitions, and finally instances. Everything with a transform has its own short scope.
//! Reading and writing the output again reproduces it byte for byte.
//!
//! - Numbers have the minimum number of digits that read back as the same value. Infinities are written as `1e999`,
//!   with their sign.
//! - Lists wrap after a fixed number of values; single values have no brackets.
//! - Unused coordinate systems are dropped. Nodes deep in the tree get generated names.
//! - `Attribute` directives precede the entities that they affect.
//!
//! The caller opens files and supplies the names of parts ([`PbrtPlan::parts`]) and meshes.

mod convert;
mod instances;
mod materials;
pub mod meshes;
mod pages;
mod places;
mod plan;
mod script;
mod text;

pub use convert::from_meshes;
use instances::{InstanceCursor, InstancePlacement};
use pages::PbrtPages;
use places::{PbrtPlaces, StepPath};
use plan::Planner;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::render::RenamedFiles;
use polyhaul_model::render::{Motion, Render};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::Writing;
use script::{PbrtOp, ScriptItem};
use text::PbrtPen;

/// Planned text of a scene.
pub struct PbrtPlan<'a> {
    render: &'a Render,
    places: PbrtPlaces<'a>,
    main: Vec<PbrtOp>,
    parts: Vec<Vec<PbrtOp>>,
    part_names: Vec<String>,
    /// Shapes whose arrays are in files, in ascending order, with the names of these files.
    meshes: &'a [(u32, String)],
    renamed: &'a RenamedFiles<'a>,
}

/// Content to move to other files.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// Shapes whose arrays are in PLY files, in ascending order, with the names of these files.
    pub meshes: &'a [(u32, String)],
    /// Number of files for shapes and instances. If it is less than 2, there are none.
    pub parts: usize,
    /// New names of files that the scene references.
    pub renamed: &'a RenamedFiles<'a>,
}

impl<'a> PbrtPlan<'a> {
    /// Plans the text of a scene. `part_name` returns the file name of a part.
    pub fn new(render: &'a Render, split: Split<'a>, part_name: impl Fn(usize) -> String) -> Result<PbrtPlan<'a>> {
        let places = PbrtPlaces::new(render, |each| motions(render, each))?;
        let mut planner = Planner::new(render)?;
        planner.settings()?;
        for number in 0..places.named_count() {
            planner.push(ScriptItem::System(number as u32))?;
        }
        planner.items()?;
        planner.end_scopes()?;
        planner.shapes()?;
        instance_ops(render, &mut planner)?;
        let main = std::mem::take(&mut planner.ops);
        let Split { meshes, renamed, .. } = split;
        let mut plan = PbrtPlan { render, places, main, parts: Vec::new(), part_names: Vec::new(), meshes, renamed };
        // Imported files do not see coordinate systems named in the main file.
        if split.parts > 1 && plan.places.named_count() == 0 {
            plan.split(split.parts)?;
        }
        for number in 0..plan.parts.len() {
            try_push(&mut plan.part_names, part_name(number), "the plan")?;
        }
        Ok(plan)
    }

    /// Returns the names of the files that the main file imports.
    pub fn parts(&self) -> &[String] {
        &self.part_names
    }

    /// Writes the main file (`None`) or a part.
    pub fn write(
        &self,
        part: Option<usize>,
        compact: bool,
        run: &RunOptions,
        writing: &mut Writing<'_, '_>,
    ) -> Result<()> {
        let ops = match part {
            Some(part) => self.parts.get(part).map_or(&[][..], |ops| ops),
            None => &self.main,
        };
        let pages = PbrtPages::new(self, ops, compact, run.chunk_bytes)?;
        writing.announce(pages.expected);
        writing.pages(&pages, &mut (), pages.count(), PbrtPages::slot_bytes(run.chunk_bytes))
    }

    /// Returns the file with the arrays of a shape, if they were moved to one.
    fn file_of_mesh(&self, shape: usize) -> Option<&'a str> {
        let at = self.meshes.binary_search_by_key(&(shape as u32), |&(shape, _)| shape).ok()?;
        self.meshes.get(at).map(|(_, name)| name.as_str())
    }

    /// Moves long runs of shapes and instances to parts of about equal size.
    fn split(&mut self, count: usize) -> Result<()> {
        // Weights approximate the length of the text, measured in values.
        let weigh = |op: &PbrtOp| match &op.what {
            ScriptItem::Items(script::ItemList::Shapes, range) => {
                let values = |index: u32| match self.render.shape(index as usize) {
                    Some(shape) if self.file_of_mesh(index as usize).is_none() => {
                        shape.parameters().iter().map(|parameter| parameter.values.len() as u64 + 4).sum::<u64>() + 8
                    }
                    _ => 16,
                };
                range.clone().map(values).sum::<u64>()
            }
            // Instances under a shared transform have no weight: they stay in the main file, which contains their
            // scope.
            ScriptItem::Instances(range, false) => 24 * u64::from(range.end - range.start),
            _ => 0,
        };
        let total: u64 = self.main.iter().map(weigh).sum();
        let part_weight = total.div_ceil(count as u64).max(1);
        let mut main = Vec::new();
        let mut parts = Vec::new();
        for op in &self.main {
            // Rounded to the nearest number of parts. Short operations stay in the main file.
            let pieces = (weigh(op) + part_weight / 2) / part_weight;
            let range = match &op.what {
                ScriptItem::Items(script::ItemList::Shapes, range) | ScriptItem::Instances(range, _) if pieces > 0 => {
                    range.clone()
                }
                _ => {
                    try_push(&mut main, op.clone(), "the plan")?;
                    continue;
                }
            };
            let mut from = range.start;
            for piece in 1..=pieces {
                let to = range.start + (u64::from(range.end - range.start) * piece / pieces) as u32;
                let to = self.next_placement(&op.what, from.max(to), range.end);
                if to == from {
                    continue;
                }
                let what = match &op.what {
                    ScriptItem::Instances(_, is_based) => ScriptItem::Instances(from..to, *is_based),
                    _ => ScriptItem::Items(script::ItemList::Shapes, from..to),
                };
                let mut part = Vec::new();
                try_push(&mut part, PbrtOp { what, depth: 0 }, "the plan")?;
                let import = PbrtOp { what: ScriptItem::Import(parts.len() as u32), depth: op.depth };
                try_push(&mut main, import, "the plan")?;
                try_push(&mut parts, part, "the plan")?;
                from = to;
            }
        }
        self.main = main;
        self.parts = parts;
        Ok(())
    }

    /// Returns the first item, starting at `at`, whose placement differs from the previous item's placement, because a
    /// part must not start within a scope.
    fn next_placement(&self, what: &ScriptItem, at: u32, end: u32) -> u32 {
        let mut instances = InstanceCursor::new(self.render);
        let mut is_same = |at: u32| match what {
            ScriptItem::Instances(..) => instances.placement(at - 1) == instances.placement(at),
            _ => {
                let motion = |at: u32| self.render.shape(at as usize).map(|shape| shape.motion());
                motion(at) == motion(at - 1) && motion(at) != Some(Motion::IDENTITY)
            }
        };
        (at..end).find(|&at| at == 0 || !is_same(at)).unwrap_or(end)
    }

    /// Writes an operation without parameters.
    fn small(&self, pen: &mut PbrtPen<'_, '_>, op: &PbrtOp, path: &mut StepPath) -> Result<()> {
        let render = self.render;
        let depth = op.depth;
        let named = |name: Option<polyhaul_model::render::Name>| name.map_or("", |name| render.text(name));
        match &op.what {
            ScriptItem::Move(motion) => return self.places.go(pen, depth, *motion, path),
            ScriptItem::System(number) => return self.places.name(pen, depth, *number, path),
            ScriptItem::World => pen.line(depth, "WorldBegin"),
            ScriptItem::Begin => pen.line(depth, "AttributeBegin"),
            ScriptItem::End => pen.line(depth, "AttributeEnd"),
            ScriptItem::ObjectEnd => pen.line(depth, "ObjectEnd"),
            ScriptItem::Reverse => pen.line(depth, "ReverseOrientation"),
            ScriptItem::ObjectBegin(index) => {
                let object = render.objects.get(*index as usize);
                pen.named(depth, "ObjectBegin", &[named(object.map(|object| object.name))]);
            }
            ScriptItem::ColorSpace(space) => {
                pen.named(depth, "ColorSpace", &[space.map_or("srgb", |space| render.text(space))]);
            }
            ScriptItem::Media([inside, outside]) => {
                pen.named(depth, "MediumInterface", &[named(*inside), named(*outside)]);
            }
            ScriptItem::NamedMaterial(name) => pen.named(depth, "NamedMaterial", &[render.text(*name)]),
            ScriptItem::Import(part) => {
                let name = self.part_names.get(*part as usize);
                pen.named(depth, "Import", &[name.map_or("", String::as_str)]);
            }
            ScriptItem::TransformTimes => {
                if let Some(times) = render.transform_times {
                    pen.numbers("TransformTimes", &times);
                    pen.page.byte(b'\n');
                }
            }
            ScriptItem::Setting(index) => {
                let Some(setting) = render.options.get(*index as usize) else { return Ok(()) };
                pen.head("Option", &[render.text(setting.name)]);
                pen.page.byte(b' ');
                if setting.quoted {
                    pen.string(render.text(setting.value))
                } else {
                    pen.page.bytes(render.text(setting.value).as_bytes())
                }
                pen.page.byte(b'\n');
            }
            _ => {}
        }
        Ok(())
    }
}

/// Calls `each` with the transforms of all media, textures, lights, shapes and instances.
fn motions(render: &Render, each: &mut dyn FnMut(Motion)) {
    render.media.iter().for_each(|medium| each(medium.motion));
    render.textures.iter().for_each(|texture| each(texture.entity.motion));
    render.lights.iter().for_each(|light| each(light.motion));
    render.shapes().for_each(|shape| each(shape.motion()));
    let mut instances = InstanceCursor::new(render);
    (0..render.instances.len() as u32).for_each(|index| each(instances.placement(index).base()));
}

/// Adds instances. Groups consecutive instances whose matrices follow the same transform.
fn instance_ops(render: &Render, planner: &mut Planner<'_>) -> Result<()> {
    let count = render.instances.len() as u32;
    let mut instances = InstanceCursor::new(render);

    let base = |placement: InstancePlacement| match placement {
        InstancePlacement::Matrix { .. } if placement.base() != Motion::IDENTITY => Some(placement.base()),
        _ => None,
    };
    let mut from = 0;
    while from < count {
        let first = instances.placement(from);
        let shared = base(first);
        let mut to = from + 1;
        let mut is_single = true;
        while to < count {
            let placement = instances.placement(to);
            if base(placement) != shared {
                break;
            }
            is_single &= placement == first;
            to += 1;
        }
        match shared {
            Some(motion) if !is_single => {
                planner.start_scope()?;
                planner.push(ScriptItem::Move(motion))?;
                planner.push(ScriptItem::Instances(from..to, true))?;
                planner.end_scope()?;
            }
            _ => planner.push(ScriptItem::Instances(from..to, false))?,
        }
        from = to;
    }
    Ok(())
}
