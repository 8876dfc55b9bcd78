//! Instances by their index, and which of them stand at one place.

use crate::model::render::{InstanceRun, Motion, Placing, Render, Step, StepKind, Transform};

/// Where an instance stands, as the text says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stand {
    At(Motion),
    /// By a matrix of its own, on top of a transform.
    Matrix {
        parent: Transform,
        step: StepKind,
        segment: u32,
        at: u32,
    },
}

/// The instances of a scene, one after another; it remembers the run that it is in.
pub(super) struct Instances<'a> {
    render: &'a Render,
    run: usize,
}

impl<'a> Instances<'a> {
    pub(super) fn new(render: &'a Render) -> Instances<'a> {
        Instances { render, run: 0 }
    }

    /// The name of what an instance shows.
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

    /// A node that is a matrix stands for that, whoever else refers to it.
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
    /// The transform that a matrix is on top of, or where the instance stands.
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
