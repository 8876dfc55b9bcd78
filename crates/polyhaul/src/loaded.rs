//! What reading gives: the content, and what reading did.

use crate::flat;
use crate::options::Limits;
use crate::report::Report;
use polyhaul_model::error::Result;
use polyhaul_model::{Scene, Table, Values};

/// Content that was read, and what reading did.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The content.
    pub value: T,
    /// What reading did; the warnings are here.
    pub report: Report,
}

/// The tables of a file.
#[derive(Debug, Default)]
pub struct Tables {
    /// A table for each element of the file, in its order.
    pub tables: Vec<Table>,
    /// Comments of the file, without what makes them one (`comment` in PLY).
    pub comments: Vec<String>,
    /// Remarks about the object (`obj_info` in PLY).
    pub infos: Vec<String>,
}

/// The text of a table as one array.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableArray {
    /// The numbers, row by row.
    pub values: Values,
    /// How many rows there are.
    pub row_count: usize,
    /// How many numbers a row has.
    pub column_count: usize,
    /// A name for each column; empty where the file gave none.
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
    /// The same as meshes, objects and materials if it is a scene for a renderer (pbrt), see [`crate::ops::flatten`];
    /// any other scene stays as it is. Shapes that are not meshes are dropped, with a warning in the report.
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
    /// Those of [`crate::ops::flatten`].
    pub fn flattened(mut self, limits: &Limits) -> Result<Self> {
        if self.value.render.is_some() {
            self.value = flat::with_instances(self.value, limits, &mut self.report.warnings)?;
        }
        Ok(self)
    }
}
