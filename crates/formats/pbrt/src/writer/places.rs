//! Writes transforms as directives, following the transform tree from the origin of the world.
//!
//! A deep node with descendants becomes a named coordinate system, from which its descendants continue, so that the
//! text grows linearly with the tree instead of quadratically. Transforms under the camera's inverse use the name of
//! the camera; other inverses, and very deep animated transforms, are written as a matrix.

use super::text::PbrtPen;
use crate::places::{Places64, places64};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::render::{Motion, Render, Step, Transform};

/// Nodes whose depth is a multiple of this may be named.
const NAME_EVERY: u32 = 16;
/// Maximum depth at which an animated transform is written as steps.
const MAX_DEPTH: usize = 64;
/// Prefix of generated names.
const PREFIX: &str = "polyhaul-";

/// Transforms of a scene.
pub(super) struct PbrtPlaces<'a> {
    render: &'a Render,
    /// Indices of the named nodes, in ascending order.
    named: Vec<u32>,
    /// World transforms, if any of them may be written as matrices.
    matrices: Option<Places64>,
}

/// Steps to a transform, starting with the last step; reused memory.
#[derive(Default)]
pub(super) struct StepPath {
    steps: Vec<Step>,
}

/// Start of a path.
#[derive(Clone, Copy, PartialEq)]
enum PlacesBase {
    Origin,
    Named(u32),
    Inverse(Transform),
}

impl<'a> PbrtPlaces<'a> {
    /// Selects the nodes to name. `motions` calls its argument with all transforms in use.
    pub(super) fn new(render: &'a Render, motions: impl Fn(&mut dyn FnMut(Motion))) -> Result<PbrtPlaces<'a>> {
        let mut places = PbrtPlaces { render, named: Vec::new(), matrices: None };
        let count = render.transform_count();
        let mut depths: Vec<u32> = Vec::new();
        depths.try_reserve_exact(count).map_err(|_| Error::memory("the plan"))?;
        let mut deepest = 0;
        let mut has_inverse = false;
        for node in 0..count {
            let Some((parent, step)) = render.step(render.transform(node)) else { break };
            let above = render.transform_index(parent).and_then(|parent| depths.get(parent));
            let is_base = matches!(step, Step::Inverse | Step::Replace(_));
            has_inverse |= matches!(step, Step::Inverse);
            // Inverses and replacements start a new path.
            let depth = if is_base { 1 } else { above.map_or(0, |above| *above) + 1 };
            deepest = deepest.max(depth);
            depths.push(depth);
        }
        // A named node has a child, which is deeper than the node.
        if deepest > NAME_EVERY {
            places.name_nodes(&depths, motions)?;
        }
        if has_inverse || deepest as usize > MAX_DEPTH {
            places.matrices = Some(places64(render)?);
        }
        Ok(places)
    }

    fn name_nodes(&mut self, depths: &[u32], motions: impl Fn(&mut dyn FnMut(Motion))) -> Result<()> {
        let mut used = Vec::new();
        used.try_reserve_exact(depths.len()).map_err(|_| Error::memory("the plan"))?;
        used.resize(depths.len(), false);
        motions(&mut |motion| {
            if let Some(node) = self.render.transform_index(motion.start)
                && !motion.is_animated()
            {
                used[node] = true;
            }
        });
        // Children follow their parents, so in reverse order, all descendants of a node are visited before the node.
        for node in (0..depths.len()).rev().filter(|&node| depths[node] > 1) {
            if !used[node] {
                continue;
            }
            let step = self.render.step(self.render.transform(node));
            let Some(parent) = step.and_then(|(parent, _)| self.render.transform_index(parent)) else { continue };
            used[parent] = true;
            // Avoids repeated names of siblings that follow each other; `dedup` removes the others.
            if depths[parent].is_multiple_of(NAME_EVERY) && self.named.last() != Some(&(parent as u32)) {
                try_push(&mut self.named, parent as u32, "the plan")?;
            }
        }
        self.named.sort_unstable();
        self.named.dedup();
        Ok(())
    }

    /// Returns the number of named nodes.
    pub(super) fn named_count(&self) -> usize {
        self.named.len()
    }

    /// Defines a named node as a coordinate system.
    pub(super) fn name(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, number: u32, path: &mut StepPath) -> Result<()> {
        let Some(&node) = self.named.get(number as usize) else { return Ok(()) };
        let node = self.render.transform(node as usize);
        pen.line(depth, "AttributeBegin");
        let base = self.path(node, Some(node), path)?;
        self.still(pen, depth + 1, base, path);
        pen.indent(depth + 1);
        pen.head("CoordinateSystem", &[&format!("{PREFIX}{number}")]);
        pen.page.byte(b'\n');
        pen.line(depth, "AttributeEnd");
        Ok(())
    }

    /// Finds the steps from the nearest named node other than `except` down to a node.
    fn path(&self, to: Transform, except: Option<Transform>, path: &mut StepPath) -> Result<PlacesBase> {
        path.steps.clear();
        let mut at = to;
        while let Some((parent, step)) = self.render.step(at) {
            let number = self.render.transform_index(at).and_then(|node| self.named.binary_search(&(node as u32)).ok());
            match (number, step) {
                (Some(number), _) if except != Some(at) => return Ok(PlacesBase::Named(number as u32)),
                (_, Step::Inverse) => return Ok(PlacesBase::Inverse(at)),
                _ => {}
            }
            try_push(&mut path.steps, step, "the plan")?;
            if matches!(step, Step::Replace(_)) {
                break;
            }
            at = parent;
        }
        Ok(PlacesBase::Origin)
    }

    /// Writes a transform, starting from the origin.
    pub(super) fn go(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, motion: Motion, path: &mut StepPath) -> Result<()> {
        if motion.is_animated() {
            return self.moving(pen, depth, motion, path);
        }
        let base = self.path(motion.start, None, path)?;
        self.still(pen, depth, base, path);
        Ok(())
    }

    fn still(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, base: PlacesBase, path: &StepPath) {
        match base {
            PlacesBase::Origin => {}
            PlacesBase::Named(number) => self.start_at(pen, depth, &format!("{PREFIX}{number}")),
            PlacesBase::Inverse(node) if self.is_of_camera([node, node]) => self.start_at(pen, depth, "camera"),
            PlacesBase::Inverse(node) => self.matrix(pen, depth, node),
        }
        path.steps.iter().rev().for_each(|step| pen.step(depth, step));
    }

    fn start_at(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, name: &str) {
        pen.indent(depth);
        pen.head("CoordSysTransform", &[name]);
        pen.page.byte(b'\n');
    }

    /// Returns whether the camera's coordinate system has these two transforms.
    fn is_of_camera(&self, nodes: [Transform; 2]) -> bool {
        let Some(camera) = self.render.camera else { return false };
        let parents = nodes.map(|node| self.render.step(node).map(|(parent, _)| parent));
        parents == [Some(camera.motion.start), Some(camera.motion.end)]
    }

    fn matrix(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, node: Transform) {
        let rows = self.matrices.as_ref().map_or([[0.0; 4]; 4], |matrices| matrices.matrix(self.render, node));
        let columns = std::array::from_fn(|at| rows[at % 4][at / 4]);
        pen.step(depth, &Step::Replace(columns));
    }

    fn moving(&self, pen: &mut PbrtPen<'_, '_>, depth: u32, motion: Motion, path: &mut StepPath) -> Result<()> {
        let ends = [(motion.start, "ActiveTransform StartTime"), (motion.end, "ActiveTransform EndTime")];
        // Only the bases are needed here. The loop below finds the steps again, because both ends use the same memory.
        let bases = [self.whole(ends[0].0, path)?, self.whole(ends[1].0, path)?];
        let is_camera = match bases {
            [PlacesBase::Inverse(start), PlacesBase::Inverse(end)] => self.is_of_camera([start, end]),
            _ => false,
        };
        if is_camera {
            self.start_at(pen, depth, "camera");
        }
        for (node, word) in ends {
            if node == Transform::IDENTITY {
                continue;
            }
            pen.line(depth, word);
            match self.whole(node, path)? {
                // Named coordinate systems are not animated, so deep animated transforms become matrices.
                _ if path.steps.len() > MAX_DEPTH => {
                    self.matrix(pen, depth, node);
                    continue;
                }
                PlacesBase::Inverse(node) if !is_camera => self.matrix(pen, depth, node),
                _ => {}
            }
            path.steps.iter().rev().for_each(|step| pen.step(depth, step));
        }
        pen.line(depth, "ActiveTransform All");
        Ok(())
    }

    /// Finds the steps from the origin or from an inverse, ignoring names, up to one more than [`MAX_DEPTH`].
    fn whole(&self, to: Transform, path: &mut StepPath) -> Result<PlacesBase> {
        path.steps.clear();
        let mut at = to;
        while let Some((parent, step)) = self.render.step(at) {
            if matches!(step, Step::Inverse) {
                return Ok(PlacesBase::Inverse(at));
            }
            try_push(&mut path.steps, step, "the plan")?;
            if matches!(step, Step::Replace(_)) || path.steps.len() > MAX_DEPTH {
                break;
            }
            at = parent;
        }
        Ok(PlacesBase::Origin)
    }
}
