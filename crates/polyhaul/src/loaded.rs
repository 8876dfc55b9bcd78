//! What reading gives: the content, and what reading did.

use crate::report::Report;
use polyhaul_model::{Image, Scene, Table, Texture, Values};

/// A scene that was read, and what reading did.
#[derive(Debug)]
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// What reading did; the warnings are here.
    pub report: Report,
}

/// An image that was read, and what reading did.
#[derive(Debug)]
pub struct LoadedImage {
    /// The image.
    pub image: Image,
    /// What reading did; the warnings are here.
    pub report: Report,
}

/// A texture that was read, and what reading did.
#[derive(Debug)]
pub struct LoadedTexture {
    /// The texture.
    pub texture: Texture,
    /// What reading did; the warnings are here.
    pub report: Report,
}

/// The tables of a file that was read, and what reading did.
#[derive(Debug)]
pub struct LoadedTables {
    /// A table for each element of the file, in its order.
    pub tables: Vec<Table>,
    /// Comments of the file, without what makes them one (`comment` in PLY).
    pub comments: Vec<String>,
    /// Remarks about the object (`obj_info` in PLY).
    pub infos: Vec<String>,
    /// What reading did; the warnings are here.
    pub report: Report,
}

/// The text of a table as one array, and what reading did.
#[derive(Debug)]
pub struct LoadedArray {
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
    /// What reading did; the warnings are here.
    pub report: Report,
}
