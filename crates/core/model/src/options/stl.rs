//! Options for reading STL. For writing, STL has only the options that all formats share.

crate::options! {
    /// Options for reading STL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StlReadOptions in "stl" {
        /// Merge equal positions. Otherwise each triangle has three positions of its own, as in the file.
        pub weld: bool = false, with_weld => [stl];
    }
}
