//! Options for selecting and transforming rows.

use crate::expression::Expression;
use polyhaul_model::Bounds;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::{OptionKind, OptionValue};

polyhaul_model::options! {
    /// The rows of a table, or vertices of a mesh, to keep, and their transform. By default, everything is kept
    /// unchanged.
    ///
    /// The filter and the box are evaluated on the values of the file. Of the rows that pass both, every n-th is kept;
    /// of those, a random sample; the rows that remain are transformed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RowOptions in "rows" {
        /// Keep rows or vertices that match, such as `opacity > 0.05 and z < 10`. Columns are named as in the file; in
        /// formats without columns they are x, y, z, nx, ny, nz, u, v, red, green, blue and alpha. Quote other names
        /// with backquotes; `column(0)` is the first column. Operators: + - * / %, < <= > >= == !=, and, or, not.
        /// Functions: abs, sqrt, exp, log, floor, min, max, sigmoid, is_finite. Faces are removed with their vertices.
        pub filter: Option<Expression> = None, with_filter => [];
        /// Keep rows or vertices in this box. Bounds are inclusive.
        pub bounds: Option<Bounds<f64>> = None, with_bounds => [], alias "box";
        /// Then keep every Nth, starting with the first.
        pub every: u64 = 1, with_every => [] in 1..=(u64::MAX as i128);
        /// Then keep a random sample of N, in file order; repeated runs choose the same sample. All are kept if there
        /// are fewer.
        pub sample: Option<u64> = None, with_sample => [];
        /// Transform the result by an affine matrix for column vectors. Normals are transformed too.
        pub transform: Option<[[f64; 4]; 4]> = None, with_transform => [];
    }
}

impl RowOptions {
    /// Whether all rows are kept and none of them is transformed.
    pub fn is_everything(&self) -> bool {
        *self == RowOptions::default()
    }

    /// Whether all rows are kept, transformed or not.
    pub fn keeps_all(&self) -> bool {
        RowOptions { transform: None, ..self.clone() }.is_everything()
    }

    /// Adds a condition that must also be true.
    ///
    /// # Errors
    /// The same errors as [`Expression::and`].
    pub fn and_filter(self, filter: Expression) -> Result<RowOptions> {
        let filter = match &self.filter {
            Some(other) => other.and(&filter)?,
            None => filter,
        };
        Ok(self.with_filter(Some(filter)))
    }

    /// Fails if the options are invalid.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if `every` is 0 or the box is empty.
    pub fn check(&self) -> Result<()> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        if self.every == 0 {
            return usage("invalid `every`: expected 1 or more, found 0".into());
        }
        let is_box = |bounds: Bounds<f64>| (0..3).all(|axis| bounds.min[axis] <= bounds.max[axis]);
        match self.bounds {
            Some(bounds) if !is_box(bounds) => {
                usage(format!("the box from {:?} to {:?} is empty", bounds.min, bounds.max))
            }
            _ => Ok(()),
        }
    }
}

impl OptionValue for Expression {
    const KIND: OptionKind = OptionKind::Special { name: "Filter", expected: "a condition on columns", words: &[] };

    fn parse(text: &str) -> std::result::Result<Expression, String> {
        text.parse().map_err(|error: Error| {
            let diagnostic = error.diagnostic();
            let column = diagnostic.place.column.map_or(String::new(), |column| format!(" at column {column}"));
            let hint = diagnostic.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
            format!("{}{column}{hint}", diagnostic.message)
        })
    }

    fn print(&self) -> String {
        self.to_string()
    }
}
