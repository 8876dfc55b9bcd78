//! Defines the script of a file: an ordered list of operations of constant size that refer to the scene.
//!
//! A page is the text between two [`PbrtCursor`]s, which may be inside an array. The text of an item depends only on
//! the script, not on page breaks.

use polyhaul_model::render::{Motion, Name};
use std::ops::Range;

/// An operation and its depth in scopes.
#[derive(Clone, Debug)]
pub(super) struct PbrtOp {
    pub(super) what: ScriptItem,
    pub(super) depth: u32,
}

/// Content of an operation.
#[derive(Clone, Debug)]
pub(super) enum ScriptItem {
    /// `Option`, with its index.
    Setting(u32),
    /// A directive before `WorldBegin`.
    Entity(UniqueEntity),
    TransformTimes,
    World,
    Begin,
    End,
    /// `ObjectBegin`, with the index of the object.
    ObjectBegin(u32),
    ObjectEnd,
    ColorSpace(Option<Name>),
    Media([Option<Name>; 2]),
    Reverse,
    NamedMaterial(Name),
    /// Transform of the following items.
    Move(Motion),
    /// Definition of a coordinate system, with its index among the named nodes.
    System(u32),
    Attribute(u32),
    Material(u32),
    AreaLight(u32),
    /// Consecutive items with transforms.
    Items(ItemList, Range<u32>),
    /// Instances, and whether the transform before their matrices was already written.
    Instances(Range<u32>, bool),
    /// A part of the scene in a separate file, with its index.
    Import(u32),
}

/// Entities that a scene has at most one of.
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

/// Position in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PbrtCursor {
    pub(super) op: u32,
    /// Index of the item in the operation.
    pub(super) item: u32,
    /// Index of the item's parameter.
    pub(super) parameter: u32,
    /// Index of the parameter's value.
    pub(super) value: u32,
}

impl ScriptItem {
    /// Returns the number of items in the operation.
    pub(super) fn count(&self) -> u32 {
        match self {
            ScriptItem::Items(_, range) | ScriptItem::Instances(range, _) => range.end - range.start,
            _ => 1,
        }
    }
}
