//! Meshes that are consumed while they are read, without building a model.
//!
//! A format that supports this passes on each parsed chunk as a [`MeshPiece`] and then drops it. Memory use does not
//! grow with the file, except for positions that later faces refer to. A consumer that needs file order restores it
//! from [`MeshPiece::first_face`]. For tables, see [`crate::table_parts`].

use polyhaul_model::error::Result;

/// The positions known before the first piece of a mesh.
#[derive(Clone, Copy, Debug)]
pub enum KnownPositions<'a> {
    /// All positions.
    All(&'a [[f32; 3]]),
    /// A sample of positions from all over the file.
    Sample(&'a [[f32; 3]]),
    /// No positions.
    Unknown,
}

/// A part of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct MeshPiece<'a> {
    /// The number of faces, or of points, before this piece in the file.
    pub first_face: u64,
    /// The positions that corners index, of this piece or of the whole mesh.
    pub positions: &'a [[f32; 3]],
    /// Per-position sRGB colors with alpha; empty if there are none.
    pub colors: &'a [[u8; 4]],
    /// The faces of this piece.
    pub faces: PieceFaces<'a>,
    /// Per-face normals, as in STL; empty if there are none.
    pub face_normals: &'a [[f32; 3]],
    /// Per-face attributes of a binary STL file; empty if there are none.
    pub face_attributes: &'a [u16],
}

impl Default for MeshPiece<'_> {
    /// An empty piece.
    fn default() -> Self {
        MeshPiece {
            first_face: 0,
            positions: &[],
            colors: &[],
            faces: PieceFaces::Points,
            face_normals: &[],
            face_attributes: &[],
        }
    }
}

/// The faces of a piece.
#[derive(Clone, Copy, Debug)]
pub enum PieceFaces<'a> {
    /// Every position is a point.
    Points,
    /// Every three positions are a triangle.
    Triangles,
    /// Faces with any number of corners, even fewer than three.
    Lists {
        /// Face `f` has the corners `offsets[f]..offsets[f + 1]`.
        offsets: &'a [u32],
        /// Position indices. Unlike position indices in a model, they may be out of range.
        corners: &'a [u32],
    },
}

/// Receives a mesh piece by piece.
pub trait MeshConsumer: Sync {
    /// Called once, before the first piece.
    ///
    /// # Errors
    /// Any error stops the reading.
    fn start(&self, positions: KnownPositions<'_>) -> Result<()>;

    /// Receives a piece. Called on any thread, in any order, and concurrently.
    ///
    /// # Errors
    /// Any error stops the reading.
    fn take(&self, piece: &MeshPiece<'_>) -> Result<()>;
}
