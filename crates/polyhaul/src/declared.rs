//! The header of a PLY file: its declarations before its rows.
//!
//! Nothing here is counted or checked; reading has already done that.

use polyhaul_model::{Scalar, Scene};

/// The header of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// The format: `PLY ascii`, `PLY binary little endian` or `PLY binary big endian`.
    pub format: &'static str,
    /// The elements, in the file's order.
    pub elements: Vec<DeclaredElement>,
    /// The comments, in the file's order.
    pub comments: Vec<String>,
    /// The remarks about the object, in the file's order.
    pub infos: Vec<String>,
}

/// An element: a kind of row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredElement {
    /// The name.
    pub name: String,
    /// How many rows there are.
    pub count: u64,
    /// The properties of a row, in the file's order.
    pub properties: Vec<DeclaredProperty>,
}

/// A number of a row, or a list of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredProperty {
    /// The name.
    pub name: String,
    /// The type of the number, or of the list's values.
    pub scalar: Scalar,
    /// The type of a list's count; `None` if the property is a single number.
    pub count: Option<Scalar>,
}

impl Declared {
    /// The same header, with the comments and remarks of the scene that was read.
    pub(crate) fn with_remarks_of(self, scene: &mut Scene) -> Declared {
        let comments = std::mem::take(&mut scene.comments);
        let infos = std::mem::take(&mut scene.infos);
        Declared { comments, infos, ..self }
    }
}
