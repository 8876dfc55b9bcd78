//! Meshes that are used while they are read, in place of a model.
//!
//! A format that can do so hands over its chunks as [`MeshPiece`]s once they are parsed, and forgets them: memory does
//! not grow with the file, apart from positions that later faces refer to. A consumer that needs the
//! file's order restores it from [`MeshPiece::first_face`]. Tables are in [`crate::table_parts`].

use polyhaul_model::error::Result;

/// What is known of a mesh before its first piece.
#[derive(Clone, Copy, Debug)]
pub enum KnownPositions<'a> {
    /// All positions.
    All(&'a [[f32; 3]]),
    /// Some of them, from all parts of the file.
    Sample(&'a [[f32; 3]]),
    /// None.
    Unknown,
}

/// A part of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct MeshPiece<'a> {
    /// The number of faces, or of points, in the file before this piece.
    pub first_face: u64,
    /// What the corners refer to: positions of this piece, or all of the mesh.
    pub positions: &'a [[f32; 3]],
    /// A color for each position, red, green, blue and alpha (sRGB); empty if there are none.
    pub colors: &'a [[u8; 4]],
    /// The faces of this piece.
    pub faces: PieceFaces<'a>,
    /// A normal for each face, as STL has them; empty if there are none.
    pub face_normals: &'a [[f32; 3]],
    /// The attribute of each face of a binary STL file; empty if there are none.
    pub face_attributes: &'a [u16],
}

impl Default for MeshPiece<'_> {
    /// A piece of nothing.
    fn default() -> Self {
        let (positions, colors, faces): (&[_], &[_], _) = (&[], &[], PieceFaces::Points);
        MeshPiece { first_face: 0, positions, colors, faces, face_normals: &[], face_attributes: &[] }
    }
}

/// The faces of a piece.
#[derive(Clone, Copy, Debug)]
pub enum PieceFaces<'a> {
    /// Every position is a point.
    Points,
    /// Every three positions are a triangle.
    Triangles,
    /// Faces of any number of corners, even fewer than three.
    Lists {
        /// Face `f` has the corners `offsets[f]..offsets[f + 1]`.
        offsets: &'a [u32],
        /// Indices of positions. Unlike those of a model, they may be out of range.
        corners: &'a [u32],
    },
}

/// Takes a mesh piece by piece.
pub trait MeshConsumer: Sync {
    /// Called once, before the first piece.
    ///
    /// # Errors
    /// Any; it ends the reading.
    fn begin(&self, known: KnownPositions<'_>) -> Result<()>;

    /// Takes a piece: on any thread, in any order, several at the same time.
    ///
    /// # Errors
    /// Any; it ends the reading.
    fn take(&self, piece: &MeshPiece<'_>) -> Result<()>;
}
