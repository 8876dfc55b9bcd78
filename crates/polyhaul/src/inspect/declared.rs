//! The header of a PLY file: its declarations before its rows.
//!
//! Nothing here is counted or checked; reading did that.

use crate::read_job::ReadDetails;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::{Scalar, Scene};
#[cfg(feature = "ply")]
use polyhaul_ply as ply;

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
    /// The header's declarations, if the format has one, together with the scene's part of it.
    #[cfg(feature = "ply")]
    pub(super) fn from_details(details: &mut ReadDetails, scene: &mut Scene) -> Result<Option<Declared>> {
        details.header.take().map(|header| Declared::from_ply(header, scene)).transpose()
    }

    /// `None`: only PLY has a header that is shown.
    #[cfg(not(feature = "ply"))]
    pub(super) fn from_details(_: &mut ReadDetails, _: &mut Scene) -> Result<Option<Declared>> {
        Ok(None)
    }

    #[cfg(feature = "ply")]
    fn from_ply(header: ply::PlyHeader, scene: &mut Scene) -> Result<Declared> {
        let mut elements = Vec::new();
        for element in header.elements {
            let mut properties = Vec::new();
            for property in element.properties {
                let ply::Property { name, item, count, .. } = property;
                try_push(&mut properties, DeclaredProperty { name, scalar: item, count }, "names")?;
            }
            try_push(&mut elements, DeclaredElement { name: element.name, count: element.count, properties }, "names")?;
        }
        let (comments, infos) = (std::mem::take(&mut scene.comments), std::mem::take(&mut scene.infos));
        let encoding = header.encoding;
        Ok(Declared { format: encoding.title(), elements, comments, infos })
    }
}
