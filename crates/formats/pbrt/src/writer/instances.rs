//! Looks up instances by index, with their placement as written, and formats their matrices.

use super::text::are_plain;
use polyhaul_model::render::{InstanceRun, Motion, Placing, Render, Step, StepKind, Transform};
use polyhaul_text::format::{MAX_SHORTEST_F64, NumberLines, Page};
use std::ops::Range;

/// Placement of an instance, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InstancePlacement {
    At(Motion),
    /// A matrix of the instance, applied after the transform `parent`.
    Matrix {
        parent: Transform,
        step: StepKind,
        segment: u32,
        at: u32,
    },
}

/// Looks up instances by index. Caches the last run, so that sequential access is fast.
pub(super) struct InstanceCursor<'a> {
    render: &'a Render,
    run: usize,
}

impl<'a> InstanceCursor<'a> {
    pub(super) fn new(render: &'a Render) -> InstanceCursor<'a> {
        InstanceCursor { render, run: 0 }
    }

    /// Returns the name of the object that an instance shows.
    pub(super) fn object(&self, index: u32) -> &'a str {
        let object = self.render.instances.objects().get(index as usize);
        let object = object.and_then(|&object| self.render.objects.get(object as usize));
        object.map_or("", |object| self.render.text(object.name))
    }

    pub(super) fn placement(&mut self, index: u32) -> InstancePlacement {
        let runs = &self.render.instances.runs;
        let is_in = |run: usize| {
            runs.get(run).is_some_and(|run| run.first <= index)
                && runs.get(run + 1).is_none_or(|next| next.first > index)
        };
        if !is_in(self.run) {
            self.run = if is_in(self.run + 1) {
                self.run + 1
            } else {
                runs.partition_point(|run| run.first <= index).saturating_sub(1)
            };
        }
        let Some(&InstanceRun { first, placing }) = runs.get(self.run) else {
            return InstancePlacement::At(Motion::IDENTITY);
        };
        match placing {
            Placing::Matrices { parent, step, segment, at } => {
                let at = at + 12 * (index - first);
                InstancePlacement::Matrix { parent: Transform(parent), step, segment, at }
            }
            Placing::Motion(motion) => self.of_node(motion),
        }
    }

    /// Returns the placement for a node. A matrix node is written as its matrix, even if it is referenced elsewhere.
    fn of_node(&self, motion: Motion) -> InstancePlacement {
        match self.render.nodes.get(motion.start.0 as usize) {
            Some(node) if !motion.is_animated() && matches!(node.step, StepKind::Replace | StepKind::Concat) => {
                InstancePlacement::Matrix {
                    parent: Transform(node.parent),
                    step: node.step,
                    segment: node.segment,
                    at: node.at,
                }
            }
            _ => InstancePlacement::At(motion),
        }
    }
}

impl InstancePlacement {
    /// Returns the transform before the matrix, or the instance's transform if there is no matrix.
    pub(super) fn base(self) -> Motion {
        match self {
            InstancePlacement::At(motion) => motion,
            InstancePlacement::Matrix { parent, .. } => Motion { start: parent, end: parent },
        }
    }

    pub(super) fn step(self, render: &Render) -> Option<Step> {
        match self {
            InstancePlacement::At(_) => None,
            InstancePlacement::Matrix { step, segment, at, .. } => Some(render.step_of(step, segment, at)),
        }
    }
}

/// Number of matrices that are formatted together.
const BATCH: usize = 16;
/// Maximum size of the text of a matrix, in bytes.
const MATRIX_BYTES: usize = 12 * (MAX_SHORTEST_F64 + 4) + 64;

/// Formats the numbers of instances' matrices in batches, for the vectorized formatter.
pub(super) struct Matrices {
    left: Range<u32>,
    /// Instances whose text is formatted, and the end of each text.
    made: Range<u32>,
    ends: [usize; BATCH],
    text: [u8; BATCH * MATRIX_BYTES],
}

impl Matrices {
    /// Creates the formatter for a range of instances.
    pub(super) fn new(range: Range<u32>) -> Matrices {
        let made = range.start..range.start;
        Matrices { left: range, made, ends: [0; BATCH], text: [0; BATCH * MATRIX_BYTES] }
    }

    /// Formats an instance and the instances after it, up to a batch, if all are plain matrices.
    pub(super) fn prepare(&mut self, index: u32, render: &Render) {
        // The batch with this instance was already tried.
        if index < self.left.start {
            return;
        }
        let end = self.left.end.min(index + BATCH as u32);
        self.made = index..index;
        self.left.start = end;
        let mut instances = InstanceCursor::new(render);
        let mut numbers = [[0.0; 12]; BATCH];
        for (place, index) in numbers.iter_mut().zip(index..end) {
            // A batch with other placements is formatted instance by instance.
            let InstancePlacement::Matrix { segment, at, .. } = instances.placement(index) else { return };
            *place = render.columns(segment, at);
        }
        let count = (end - index) as usize;
        let numbers = numbers[..count].as_flattened();
        if !are_plain(numbers) {
            return;
        }
        let lines = NumberLines::new(3, b' ', [b" 0 ", b" 0 ", b" 0 ", b" 1\n"]);
        let mut page = Page::new(&mut self.text);
        if page.shortest_lines(&lines, 0, numbers) == numbers.len() {
            let ends = memchr::memchr_iter(b'\n', page.as_bytes());
            self.ends.iter_mut().zip(ends).for_each(|(place, end)| *place = end);
            self.made.end = end;
        }
    }

    /// Returns the text of an instance's 16 numbers, if it was formatted.
    pub(super) fn text(&self, index: u32) -> Option<&[u8]> {
        let place = index.checked_sub(self.made.start).filter(|_| index < self.made.end)? as usize;
        let start = if place == 0 { 0 } else { self.ends[place - 1] + 1 };
        self.text.get(start..self.ends[place])
    }
}
