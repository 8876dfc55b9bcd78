//! The formats that polyhaul reads and writes, and how to tell them apart.

mod mtl;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Wavefront OBJ with its material library, MTL.
    Obj,
}
