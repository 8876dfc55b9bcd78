//! Header of a PLY file.
//!
//! Nothing here is counted or checked; reading has already done that.

use polyhaul_model::{Scalar, Scene};

/// The header of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// `PLY ascii`, `PLY binary little endian` or `PLY binary big endian`.
    pub format: &'static str,
    /// The elements, in the file's order.
    pub elements: Vec<DeclaredElement>,
    /// The comments, in the file's order.
    pub comments: Vec<String>,
    /// Remarks about the object (`obj_info`), in the file's order.
    pub infos: Vec<String>,
}

/// A declared element: a table of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredElement {
    /// The name.
    pub name: String,
    /// The number of rows.
    pub count: u64,
    /// The properties of a row, in the file's order.
    pub properties: Vec<DeclaredProperty>,
}

/// A declared property: a number, or a list of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredProperty {
    /// The name.
    pub name: String,
    /// The type of the number, or of the values in the list.
    pub scalar: Scalar,
    /// The type of the list's length, or `None` if the property is a single number.
    pub count: Option<Scalar>,
}

impl Declared {
    /// Moves the comments and remarks of a scene into the header.
    pub(crate) fn with_remarks_of(self, scene: &mut Scene) -> Declared {
        let comments = std::mem::take(&mut scene.comments);
        let infos = std::mem::take(&mut scene.infos);
        Declared { comments, infos, ..self }
    }
}
