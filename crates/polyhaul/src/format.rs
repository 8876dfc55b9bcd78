//! Identifies a format by its index in the registry.
//!
//! Nothing here knows individual formats: see `registry`.

/// A file format.
///
/// Each is a constant: `Format::Obj`, `Format::Ply`. [`Format::named`] and [`Format::of_path`] find them by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format(u8);

impl Format {
    /// The format with the row `index` of the registry.
    pub(crate) const fn of_row(index: u8) -> Format {
        Format(index)
    }

    /// Its row.
    pub(crate) fn row(self) -> usize {
        usize::from(self.0)
    }
}
