//! Instances by their index, and which of them share a place.

use super::text::are_plain;
use polyhaul_model::render::{InstanceRun, Motion, Placing, Render, Step, StepKind, Transform};
use polyhaul_text::format::{MAX_SHORTEST_F64, NumberLines, Page};
use std::ops::Range;

/// The place of an instance as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stand {
    At(Motion),
    /// By its own matrix after a transform.
    Matrix {
        parent: Transform,
        step: StepKind,
        segment: u32,
        at: u32,
    },
}

/// The instances of a scene, one after another; it remembers the current run.
pub(super) struct Instances<'a> {
    render: &'a Render,
    run: usize,
}

impl<'a> Instances<'a> {
    pub(super) fn new(render: &'a Render) -> Instances<'a> {
        Instances { render, run: 0 }
    }

    /// The name of the object that an instance shows.
    pub(super) fn object(&self, index: u32) -> &'a str {
        let object = self.render.instances.objects().get(index as usize);
        let object = object.and_then(|&object| self.render.objects.get(object as usize));
        object.map_or("", |object| self.render.text(object.name))
    }

    pub(super) fn stand(&mut self, index: u32) -> Stand {
        let runs = &self.render.instances.runs;
        let is_in = |run: usize| {
            runs.get(run).is_some_and(|it| it.first <= index) && runs.get(run + 1).is_none_or(|it| it.first > index)
        };
        if !is_in(self.run) {
            self.run = if is_in(self.run + 1) {
                self.run + 1
            } else {
                runs.partition_point(|run| run.first <= index).saturating_sub(1)
            };
        }
        let Some(&InstanceRun { first, placing }) = runs.get(self.run) else { return Stand::At(Motion::IDENTITY) };
        match placing {
            Placing::Matrices { parent, step, segment, at } => {
                let at = at + 12 * (index - first);
                Stand::Matrix { parent: Transform(parent), step, segment, at }
            }
            Placing::Motion(motion) => self.of_node(motion),
        }
    }

    /// A node that is a matrix is written as that matrix, even if others refer to it too.
    fn of_node(&self, motion: Motion) -> Stand {
        match self.render.nodes.get(motion.start.0 as usize) {
            Some(node) if !motion.is_animated() && matches!(node.step, StepKind::Replace | StepKind::Concat) => {
                Stand::Matrix { parent: Transform(node.parent), step: node.step, segment: node.segment, at: node.at }
            }
            _ => Stand::At(motion),
        }
    }
}

impl Stand {
    /// The transform before a matrix, or the place of the instance.
    pub(super) fn base(self) -> Motion {
        match self {
            Stand::At(motion) => motion,
            Stand::Matrix { parent, .. } => Motion { start: parent, end: parent },
        }
    }

    pub(super) fn step(self, render: &Render) -> Option<Step> {
        match self {
            Stand::At(_) => None,
            Stand::Matrix { step, segment, at, .. } => Some(render.step_of(step, segment, at)),
        }
    }
}

/// Matrices whose text is made together.
const BATCH: usize = 16;
/// Room for the text of a matrix, and to spare.
const MATRIX_BYTES: usize = 12 * (MAX_SHORTEST_F64 + 4) + 64;

/// The numbers of instances' matrices as text, made many at a time in advance.
pub(super) struct Matrices {
    left: Range<u32>,
    /// Those whose text exists, and its end.
    made: Range<u32>,
    ends: [usize; BATCH],
    text: [u8; BATCH * MATRIX_BYTES],
}

impl Matrices {
    /// The matrices of these instances.
    pub(super) fn new(range: Range<u32>) -> Matrices {
        let made = range.start..range.start;
        Matrices { left: range, made, ends: [0; BATCH], text: [0; BATCH * MATRIX_BYTES] }
    }

    /// Makes the texts of an instance and of those that follow, if they are all plain matrices.
    pub(super) fn prepare(&mut self, index: u32, render: &Render) {
        if index < self.left.start {
            return;
        }
        let end = self.left.end.min(index + BATCH as u32);
        (self.made, self.left.start) = (index..index, end);
        let mut instances = Instances::new(render);
        let mut numbers = [[0.0; 12]; BATCH];
        for (place, index) in numbers.iter_mut().zip(index..end) {
            let Stand::Matrix { segment, at, .. } = instances.stand(index) else { return };
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

    /// The 16 numbers of an instance, if they were made.
    pub(super) fn text(&self, index: u32) -> Option<&[u8]> {
        let place = index.checked_sub(self.made.start).filter(|_| index < self.made.end)? as usize;
        let start = if place == 0 { 0 } else { self.ends[place - 1] + 1 };
        self.text.get(start..self.ends[place])
    }
}
