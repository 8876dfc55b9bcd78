//! What a file of a scene says, in order: operations that are small, whatever the things they name are.
//!
//! Pages are cut between two [`Cursor`]s, which may lie in the middle of an array. The text of a thing depends on
//! the script alone and not on the cuts.

use polyhaul_model::render::{Motion, Name};
use std::ops::Range;

/// A step of a script, and how deep in scopes it stands.
#[derive(Clone, Debug)]
pub(super) struct PbrtOp {
    pub(super) what: ScriptItem,
    pub(super) depth: u32,
}

/// What a step says.
#[derive(Clone, Debug)]
pub(super) enum ScriptItem {
    /// `Option`: an index.
    Setting(u32),
    /// A directive of the first block.
    Entity(Whose),
    TransformTimes,
    World,
    Begin,
    End,
    /// An index of an object.
    ObjectBegin(u32),
    ObjectEnd,
    ColorSpace(Option<Name>),
    Media([Option<Name>; 2]),
    Reverse,
    NamedMaterial(Name),
    /// The transforms that lead to a place.
    Move(Motion),
    /// A node gets a name: its number among the named ones.
    System(u32),
    Attribute(u32),
    Material(u32),
    AreaLight(u32),
    /// Things that stand somewhere, one after another.
    Things(Things, Range<u32>),
    /// Instances; whether the transform that their matrices have in common was said.
    Instances(Range<u32>, bool),
    /// A part of the scene in a file of its own: its number.
    Import(u32),
}

/// The entities of which there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Sampler,
    Film,
    Filter,
    Integrator,
    Accelerator,
    Camera,
}

/// Lists of things that stand somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Things {
    Media,
    Textures,
    Lights,
    Shapes,
}

/// A place in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PbrtCursor {
    pub(super) op: u32,
    /// Which thing of the operation.
    pub(super) item: u32,
    /// Which of its parameters.
    pub(super) parameter: u32,
    /// Which value of that.
    pub(super) value: u32,
}

impl ScriptItem {
    /// How many things it says.
    pub(super) fn count(&self) -> u32 {
        match self {
            ScriptItem::Things(_, range) | ScriptItem::Instances(range, _) => range.end - range.start,
            _ => 1,
        }
    }
}
