//! Which rows of tables and which vertices of meshes are kept, and where they go.
//!
//! [`RowOptions`] says what to keep. A [`Chooser`] looks at rows, part by part and in order, and makes a [`RowSet`] of
//! them. Keeping those rows is a second step ([`table`], [`mesh`]), so that the number of rows is known before the
//! first is written. Nothing here reads or writes a file.
//!
//! `expression`: the language of filters. `chooser`: rows to sets. `set`: sets, one bit per row. `fields`: the numbers
//! that filters see. `elements`: faces and edges that refer to rows. `place`: transforms.

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
