//! Selects rows of tables and vertices of meshes, and transforms them.
//!
//! [`RowOptions`] describes the selection. A [`Chooser`] evaluates rows in parts, adds the results in order, and builds
//! a [`RowSet`]. The other rows are removed in a second step ([`table`], [`mesh`]), so the number of selected rows is
//! known before the first of them is written. Nothing here reads or writes a file.
//!
//! `expression`: the filter language. `chooser`: builds sets of rows. `set`: sets, one bit per row. `fields`: values
//! that filters can access. `elements`: faces and edges that refer to rows. `place`: transforms.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod chooser;
mod elements;
mod expression;
mod fields;
pub mod mesh;
mod options;
mod place;
mod set;
pub mod table;

pub use chooser::{Chooser, Passed};
pub use expression::Expression;
pub use fields::Fields;
pub use options::RowOptions;
pub use place::move_table;
pub use set::RowSet;
