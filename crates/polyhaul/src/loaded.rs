//! The result of reading: the content and a report.

use crate::flat;
use crate::options::Limits;
use crate::report::Report;
use polyhaul_model::error::Result;
use polyhaul_model::{Scene, Table, Values};

/// The result of reading: the content and a report.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The content.
    pub value: T,
    /// The report of the read, including its warnings.
    pub report: Report,
}

/// The tables of a file.
#[derive(Debug, Default)]
pub struct Tables {
    /// One table per element of the file, in file order.
    pub tables: Vec<Table>,
    /// The comments in the file, without the comment keyword or marker (`comment` in PLY).
    pub comments: Vec<String>,
    /// Remarks about the object (`obj_info` in PLY).
    pub infos: Vec<String>,
}

/// A text table as one array.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableArray {
    /// The values, row by row.
    pub values: Values,
    /// The number of rows.
    pub row_count: usize,
    /// The number of values per row.
    pub column_count: usize,
    /// The name of each column; empty if the file has none.
    pub names: Vec<String>,
    /// Comments before the first row.
    pub comments: Vec<String>,
}

impl<T> Loaded<T> {
    pub(crate) fn new(value: T, report: Report) -> Self {
        Loaded { value, report }
    }
}

impl Loaded<Scene> {
    /// Converts a renderer scene (pbrt) to meshes, objects and materials, as [`crate::ops::flatten`] does; any other
    /// scene is returned unchanged. Shapes that are not meshes are dropped, with a warning in the report.
    ///
    /// ```
    /// use polyhaul::options::Limits;
    /// use polyhaul::{Input, Reader};
    ///
    /// let text = b"WorldBegin Shape \"bilinearmesh\" \"point3 P\" [ 0 0 0  1 0 0  0 1 0  1 1 0 ] Shape \"disk\"";
    /// let loaded = Reader::new(Input::Memory(text.to_vec(), "a.pbrt".into())).scene()?;
    /// let loaded = loaded.flattened(&Limits::default())?;
    /// assert_eq!((loaded.value.objects.len(), loaded.value.totals()[0]), (1, 4));
    /// assert_eq!(loaded.report.warnings.counts()["left-out-shapes"], 1);
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same errors as [`crate::ops::flatten`].
    pub fn flattened(mut self, limits: &Limits) -> Result<Self> {
        if self.value.render.is_some() {
            self.value = flat::with_instances(self.value, limits, &mut self.report.warnings)?;
        }
        Ok(self)
    }
}
