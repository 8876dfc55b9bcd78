//! The content of a scene file, in order: operations of constant size, which refer to the scene.
//!
//! A page is the text between two [`PbrtCursor`]s, which may be in the middle of an array. The text of an item depends
//! only on the script and not on the cuts.

use polyhaul_model::render::{Motion, Name};
use std::ops::Range;

/// A step of a script, and its depth in scopes.
#[derive(Clone, Debug)]
pub(super) struct PbrtOp {
    pub(super) what: ScriptItem,
    pub(super) depth: u32,
}

/// The content of a step.
#[derive(Clone, Debug)]
pub(super) enum ScriptItem {
    /// `Option`: an index.
    Setting(u32),
    /// A directive of the first block.
    Entity(UniqueEntity),
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
    /// The transform of the following items.
    Move(Motion),
    /// Names a node: its number among the named ones.
    System(u32),
    Attribute(u32),
    Material(u32),
    AreaLight(u32),
    /// Consecutive items with transforms.
    Items(ItemList, Range<u32>),
    /// Instances; whether the transform before their matrices was already written.
    Instances(Range<u32>, bool),
    /// A part of the scene in a separate file: its number.
    Import(u32),
}

/// The entities that are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UniqueEntity {
    Sampler,
    Film,
    Filter,
    Integrator,
    Accelerator,
    Camera,
}

/// Lists of items with transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemList {
    Media,
    Textures,
    Lights,
    Shapes,
}

/// A position in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PbrtCursor {
    pub(super) op: u32,
    /// The index of the item in the operation.
    pub(super) item: u32,
    /// The index of its parameter.
    pub(super) parameter: u32,
    /// The index of the parameter's value.
    pub(super) value: u32,
}

impl ScriptItem {
    /// The number of items in it.
    pub(super) fn count(&self) -> u32 {
        match self {
            ScriptItem::Items(_, range) | ScriptItem::Instances(range, _) => range.end - range.start,
            _ => 1,
        }
    }
}
