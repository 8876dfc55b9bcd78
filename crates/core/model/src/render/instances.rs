//! Instances of objects, stored compactly: about a hundred bytes each, including a matrix of twelve numbers.
//!
//! Instances whose matrices are consecutive in a segment, as in files with one matrix per instance, form a run, which
//! stores their shared data once.

use super::{Motion, Render, Step, StepKind, Transform};
use std::ops::Range;

/// The instances of a scene, in file order.
#[derive(Clone, Debug, Default)]
pub struct Instances {
    /// Per instance: an index into [`Render::objects`].
    pub objects: Vec<u32>,
    /// The transforms, as runs in the order of their first instance.
    pub runs: Vec<InstanceRun>,
}

/// A run of instances that starts at `first`.
#[derive(Clone, Copy, Debug)]
pub struct InstanceRun {
    /// The index of the first instance.
    pub first: u32,
    /// The transforms.
    pub placing: Placing,
}

/// The transforms of a run's instances.
#[derive(Clone, Copy, Debug)]
pub enum Placing {
    /// The same transform for all instances.
    Motion(Motion),
    /// Each instance has the next matrix of a segment.
    Matrices {
        /// The parent node of all instances.
        parent: u32,
        /// The kind of step of each matrix: [`StepKind::Replace`] or [`StepKind::Concat`].
        step: StepKind,
        /// The segment with the matrices.
        segment: u32,
        /// The index in the segment's doubles at which the first matrix starts.
        at: u32,
    },
}

/// An instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance {
    /// The object: an index into [`Render::objects`].
    pub object: usize,
    /// The transform, or the parent of `step`.
    pub motion: Motion,
    /// The last step, if no other instance uses it.
    pub step: Option<Step>,
}

/// Number of stored values of a matrix whose last row is 0 0 0 1.
const MATRIX: u32 = 12;

impl Instances {
    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns whether there are no instances.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the object of each instance, as indices into [`Render::objects`].
    pub fn objects(&self) -> &[u32] {
        &self.objects
    }
}

impl Render {
    /// Returns the instances in file order.
    pub fn instances(&self) -> impl Iterator<Item = Instance> {
        self.instances_in(0..self.instances.len())
    }

    /// Returns the instances in `range`, in file order.
    pub fn instances_in(&self, range: Range<usize>) -> impl Iterator<Item = Instance> {
        let runs = &self.instances.runs;
        let mut run = runs.partition_point(|run| run.first as usize <= range.start).saturating_sub(1);
        let range = range.start..range.end.min(self.instances.len());
        let objects = self.instances.objects.get(range.clone()).unwrap_or_default();
        objects.iter().zip(range).filter_map(move |(&object, index)| {
            while runs.get(run + 1).is_some_and(|next| next.first as usize <= index) {
                run += 1;
            }
            let InstanceRun { first, placing } = runs.get(run)?;
            let object = object as usize;
            Some(match *placing {
                Placing::Motion(motion) => Instance { object, motion, step: None },
                Placing::Matrices { parent, step, segment, at } => {
                    let at = at + (index as u32 - first) * MATRIX;
                    let parent = Transform(parent);
                    let motion = Motion { start: parent, end: parent };
                    Instance { object, motion, step: Some(self.step_of(step, segment, at)) }
                }
            })
        })
    }
}
