//! Options for reading and writing STL.

use super::{Digits, Placement};

crate::options! {
    /// Options for reading STL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StlReadOptions {
        /// Merge positions with the same coordinates. Otherwise each triangle has three of its own, as in the file.
        pub weld: bool = false, with_weld;
    }
}

crate::options! {
    /// Options for writing STL. Faces always become triangles.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StlWriteOptions {
        /// Axes and scale.
        pub placement: Placement = Placement::default(), with_placement;
        /// Write text and not 50 bytes per triangle.
        pub ascii: bool = false, with_ascii;
        /// Digits of numbers in text (the fewest that read back as the same number).
        pub digits: Digits = Digits::Shortest, with_digits;
    }
}
